/* HIP, "Cooperative groups": blocks, tiles of them, and what the lanes that are active have in common. A grid can be asked
   about itself, but not be waited for: its blocks run one after the other. */
#pragma once
#define __HW_MEMBER __device__ inline __attribute__((always_inline))
#ifdef __AMDGCN__
#define __HW_MEMBER_IN_STEP __device__ inline __attribute__((always_inline, convergent))
#else
#define __HW_MEMBER_IN_STEP __HW_MEMBER
#endif

namespace cooperative_groups {

#define __HW_UNAVAILABLE(why) __device__ __attribute__((unavailable(why)))

struct thread_block {
  __HW_MEMBER void sync() const { __syncthreads(); }
  __HW_MEMBER uint thread_rank() const { return __hw_item(); }
  __HW_MEMBER uint size() const { return blockDim.x * blockDim.y * blockDim.z; }
  __HW_MEMBER uint num_threads() const { return size(); }
  __HW_MEMBER dim3 group_index() const { return blockIdx; }
  __HW_MEMBER dim3 thread_index() const { return threadIdx; }
  __HW_MEMBER dim3 group_dim() const { return blockDim; }
  __HW_MEMBER dim3 dim_threads() const { return blockDim; }
  __HW_MEMBER bool is_valid() const { return true; }
};
__HW thread_block this_thread_block() { return {}; }

/* `Size` neighbours of a wavefront, a power of two. */
template <uint Size> struct __hw_tile {
  static_assert(Size > 0 && Size <= 64 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16, 32 or 64 threads");
  __HW_MEMBER_IN_STEP void sync() const { __hw_wave_barrier(); }
  __HW_MEMBER uint thread_rank() const { return __hw_item() & (Size - 1); }
  __HW_MEMBER static constexpr uint size() { return Size; }
  __HW_MEMBER static constexpr uint num_threads() { return Size; }
  __HW_MEMBER bool is_valid() const { return true; }
  template <class T> __HW_MEMBER_IN_STEP T shfl(T x, int rank) const { return __shfl(x, rank, Size); }
  template <class T> __HW_MEMBER_IN_STEP T shfl_up(T x, uint delta) const { return __shfl_up(x, delta, Size); }
  template <class T> __HW_MEMBER_IN_STEP T shfl_down(T x, uint delta) const { return __shfl_down(x, delta, Size); }
  template <class T> __HW_MEMBER_IN_STEP T shfl_xor(T x, uint mask) const { return __shfl_xor(x, (int)mask, Size); }
  __HW_MEMBER_IN_STEP unsigned long long ballot(int x) const {
    return __ballot(x) >> (__lane_id() & ~(Size - 1)) & (~0ull >> (64 - Size));
  }
  __HW_MEMBER_IN_STEP int any(int x) const { return ballot(x) != 0; }
  __HW_MEMBER_IN_STEP int all(int x) const { return ballot(x == 0) == 0; }
};
template <uint Size, class Parent = void> struct thread_block_tile : __hw_tile<Size> {
  thread_block_tile() = default;
  template <class P> __HW_MEMBER thread_block_tile(const thread_block_tile<Size, P> &) {}
  __HW_MEMBER uint meta_group_rank() const { return __hw_item() % parent_size() / Size; }
  __HW_MEMBER uint meta_group_size() const { return (parent_size() + Size - 1) / Size; }
  __HW_MEMBER static uint parent_size() {
    if constexpr (__is_same(Parent, void) || __is_same(Parent, thread_block)) return thread_block().size();
    else return Parent::size();
  }
};
template <uint Size, class Parent> __HW thread_block_tile<Size, Parent> tiled_partition(const Parent &) {
  return {};
}

/* A part of a wavefront whose size only the run knows. */
struct thread_group {
  uint __hw_size;
  __HW_MEMBER_IN_STEP void sync() const {
    if (__hw_size > 64) __syncthreads();
    else __hw_wave_barrier();
  }
  __HW_MEMBER uint thread_rank() const { return __hw_item() % __hw_size; }
  __HW_MEMBER uint size() const { return __hw_size; }
  __HW_MEMBER uint num_threads() const { return __hw_size; }
  __HW_MEMBER bool is_valid() const { return true; }
};
__HW thread_group tiled_partition(const thread_block &, uint size) { return {size}; }
__HW thread_group tiled_partition(const thread_group &, uint size) { return {size}; }

/* The lanes that were active where it was made. */
struct coalesced_group {
  unsigned long long __hw_lanes;
  __HW_MEMBER_IN_STEP void sync() const { __hw_wave_barrier(); }
  __HW_MEMBER uint thread_rank() const { return (uint)__popcll(__hw_lanes & ((1ull << __lane_id()) - 1)); }
  __HW_MEMBER uint size() const { return (uint)__popcll(__hw_lanes); }
  __HW_MEMBER uint num_threads() const { return size(); }
  __HW_MEMBER bool is_valid() const { return true; }
  template <class T> __HW_MEMBER_IN_STEP T shfl(T x, int rank) const {
    unsigned long long left = __hw_lanes;
    for (int n = 0; n < rank; n++) left &= left - 1;
    return __hw_from_lane(x, (uint)(__ffsll(left) - 1));
  }
  __HW_MEMBER_IN_STEP int any(int x) const { return (__ballot(x) & __hw_lanes) != 0; }
  __HW_MEMBER_IN_STEP int all(int x) const { return (__ballot(x == 0) & __hw_lanes) == 0; }
};
__HW_WAVE coalesced_group coalesced_threads() { return {__activemask()}; }

struct grid_group {
  __HW_UNAVAILABLE("a grid's blocks run one after the other, so that none can wait for all: end the kernel there, and "
                   "launch another") void sync() const;
  __HW_MEMBER dim3 group_dim() const { return gridDim; }
  __HW_MEMBER unsigned long long num_blocks() const { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  __HW_MEMBER unsigned long long size() const { return num_blocks() * thread_block().size(); }
  __HW_MEMBER unsigned long long num_threads() const { return size(); }
  __HW_MEMBER unsigned long long block_rank() const {
    return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  __HW_MEMBER unsigned long long thread_rank() const { return block_rank() * thread_block().size() + __hw_item(); }
  __HW_MEMBER bool is_valid() const { return false; }
};
__HW grid_group this_grid() { return {}; }
__HW_UNAVAILABLE("there is one device") grid_group this_multi_grid();

template <class G> __HW_WAVE void sync(const G &group) { group.sync(); }

template <class T> struct plus {
  __HW_MEMBER T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
  __HW_MEMBER T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T> struct greater {
  __HW_MEMBER T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
  __HW_MEMBER T operator()(T a, T b) const { return a & b; }
};
template <class T> struct bit_or {
  __HW_MEMBER T operator()(T a, T b) const { return a | b; }
};
template <class T> struct bit_xor {
  __HW_MEMBER T operator()(T a, T b) const { return a ^ b; }
};
template <uint Size, class Parent, class T, class F>
__HW_WAVE T reduce(const thread_block_tile<Size, Parent> &tile, T x, F combined) {
  for (uint d = Size / 2; d > 0; d /= 2) x = combined(x, tile.shfl_xor(x, d));
  return x;
}
#undef __HW_UNAVAILABLE
}
