/* What the 64 work-items of a wavefront do together: shuffles and votes. On chips these are instructions; on the cpu device the
   work-items of a wavefront are kept in step, and exchange values through local memory. */
#pragma once
static constexpr int warpSize = 64;

__HW uint __hw_item() { return ((uint)get_local_id(2) * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
#ifdef __AMDGCN__
#define __HW_WAVE static __device__ inline __attribute__((always_inline, convergent))
__HW_WAVE uint __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
#if defined(__gfx600__) || defined(__gfx601__) || defined(__gfx602__) || defined(__GFX7__) || defined(__gfx700__) || \
    defined(__gfx701__) || defined(__gfx702__) || defined(__gfx703__) || defined(__gfx704__) || defined(__gfx705__)
/* No ds_bpermute_b32: each lane's value in turn. */
__HW_WAVE uint __hw_from(uint x, uint lane) {
  uint result = 0;
  for (uint n = 0; n < 64; n++) {
    uint value = __builtin_amdgcn_readlane(x, n);
    result = n == lane ? value : result;
  }
  return result;
}
#else
__HW_WAVE uint __hw_from(uint x, uint lane) { return __builtin_amdgcn_ds_bpermute(lane * 4, x); }
#endif
__HW_WAVE unsigned long long __ballot(int x) { return __builtin_amdgcn_ballot_w64(x != 0); }
__HW_WAVE void __hw_wave_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_s_setprio(0); /* changes nothing: tells a check that work-items count on being in step */
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
#else
#define __HW_WAVE static __device__ inline __attribute__((always_inline, convergent))
/* Where the work-items of a wavefront are together. It is convergent, so that LLVM neither copies what is around it for
   some of them, nor moves it out of a branch: between an exchange's writes and reads, and after these, as well. */
extern "C" __device__ __attribute__((convergent)) void __hw_in_step_64x1();
static __shared__ uint __hw_exchange[4096];
static __shared__ uint __hw_votes[2][64];
__HW_WAVE uint __lane_id() { return __hw_item() & 63; }
__HW_WAVE uint __hw_from(uint x, uint lane) {
  __hw_in_step_64x1();
  volatile uint *place = __hw_exchange + (__hw_item() & ~63u);
  place[__lane_id()] = x;
  __hw_in_step_64x1();
  uint result = place[lane & 63];
  __hw_in_step_64x1();
  return result;
}
__HW_WAVE unsigned long long __ballot(int x) {
  __hw_in_step_64x1();
  uint wave = __hw_item() / 64, lane = __lane_id();
  volatile uint *low = &__hw_votes[0][wave], *high = &__hw_votes[1][wave];
  *low = 0;
  *high = 0;
  if (x != 0) {
    __hip_atomic_fetch_or(lane < 32 ? &__hw_votes[0][wave] : &__hw_votes[1][wave], 1u << (lane & 31), __ATOMIC_RELAXED,
                          __HIP_MEMORY_SCOPE_WORKGROUP);
  }
  __hw_in_step_64x1();
  unsigned long long result = (unsigned long long)*high << 32 | *low;
  __hw_in_step_64x1();
  return result;
}
__HW_WAVE void __hw_wave_barrier() {
  __hw_in_step_64x1();
  mem_fence(3);
}
#endif

__HW_WAVE int __any(int x) { return __ballot(x) != 0; }
__HW_WAVE int __all(int x) { return __ballot(x == 0) == 0; }
__HW_WAVE unsigned long long __activemask() { return __ballot(1); }
__HW_WAVE void __syncwarp(unsigned long long = ~0ull) { __hw_wave_barrier(); }

template <class T> __HW_WAVE T __hw_from_lane(T x, uint lane) {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) % 4 == 0, "such values cannot be shuffled");
  if constexpr (sizeof(T) == 1) {
    return __builtin_bit_cast(T, (uchar)__hw_from(__builtin_bit_cast(uchar, x), lane));
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(T, (ushort)__hw_from(__builtin_bit_cast(ushort, x), lane));
  } else {
    struct words { uint word[sizeof(T) / 4]; } whole = __builtin_bit_cast(words, x);
    for (uint i = 0; i < sizeof(T) / 4; i++) whole.word[i] = __hw_from(whole.word[i], lane);
    return __builtin_bit_cast(T, whole);
  }
}
/* HIP, "Warp shuffle functions": a lane outside of the own part of `width` lanes gives the lane's own value. */
template <class T> __HW_WAVE T __shfl(T x, int lane, int width = warpSize) {
  uint self = __lane_id();
  return __hw_from_lane(x, (self & ~(uint)(width - 1)) + ((uint)lane & (uint)(width - 1)));
}
template <class T> __HW_WAVE T __shfl_up(T x, uint delta, int width = warpSize) {
  int self = (int)__lane_id(), other = self - (int)delta;
  return __hw_from_lane(x, (uint)(other < (self & ~(width - 1)) ? self : other));
}
template <class T> __HW_WAVE T __shfl_down(T x, uint delta, int width = warpSize) {
  int self = (int)__lane_id();
  return __hw_from_lane(x, (uint)((self & (width - 1)) + (int)delta >= width ? self : self + (int)delta));
}
template <class T> __HW_WAVE T __shfl_xor(T x, int mask, int width = warpSize) {
  int self = (int)__lane_id(), other = self ^ mask;
  return __hw_from_lane(x, (uint)(other >= ((self + width) & ~(width - 1)) ? self : other));
}
template <class T> __HW_WAVE T __shfl_sync(unsigned long long, T x, int lane, int width = warpSize) {
  return __shfl(x, lane, width);
}
template <class T> __HW_WAVE T __shfl_up_sync(unsigned long long, T x, uint delta, int width = warpSize) {
  return __shfl_up(x, delta, width);
}
template <class T> __HW_WAVE T __shfl_down_sync(unsigned long long, T x, uint delta, int width = warpSize) {
  return __shfl_down(x, delta, width);
}
template <class T> __HW_WAVE T __shfl_xor_sync(unsigned long long, T x, int mask, int width = warpSize) {
  return __shfl_xor(x, mask, width);
}
__HW_WAVE unsigned long long __ballot_sync(unsigned long long mask, int x) { return __ballot(x) & mask; }
__HW_WAVE int __any_sync(unsigned long long mask, int x) { return (__ballot(x) & mask) != 0; }
__HW_WAVE int __all_sync(unsigned long long mask, int x) { return (__ballot(x == 0) & mask) == 0; }

// A mask of 32 bits, as code for warps of 32 has it, would leave half of the wavefront out. HIP refuses it as well.
#define __HW_WIDE_MASK \
  __device__ __attribute__((unavailable("a vote's mask has 64 bits, one for each thread of a wavefront: ~0ull for all")))
__HW_WIDE_MASK unsigned long long __ballot_sync(uint mask, int x);
__HW_WIDE_MASK unsigned long long __ballot_sync(int mask, int x);
__HW_WIDE_MASK int __any_sync(uint mask, int x);
__HW_WIDE_MASK int __any_sync(int mask, int x);
__HW_WIDE_MASK int __all_sync(uint mask, int x);
__HW_WIDE_MASK int __all_sync(int mask, int x);
#undef __HW_WIDE_MASK
