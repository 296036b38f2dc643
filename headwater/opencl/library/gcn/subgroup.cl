// Sub-groups: what a wavefront's 64 work-items do together (OpenCL C 3.0 specification 6.15.19, cl_khr_subgroups). The
// work-items of a group are dealt to wavefronts in the order of their linear ids.
// Provides *: get_sub_group_size get_max_sub_group_size get_num_sub_groups get_enqueued_num_sub_groups get_sub_group_id
// Provides *: get_sub_group_local_id sub_group_barrier sub_group_all sub_group_any sub_group_broadcast
// Provides *: sub_group_reduce_add sub_group_reduce_min sub_group_reduce_max sub_group_scan_inclusive_add
// Provides *: sub_group_scan_inclusive_min sub_group_scan_inclusive_max sub_group_scan_exclusive_add
// Provides *: sub_group_scan_exclusive_min sub_group_scan_exclusive_max
#include "../internal.h"

#define LANES 64u
#define TOGETHER __attribute__((overloadable, always_inline, convergent))

HELPER uint items(void) { return (uint)(__hw_local_size_0() * __hw_local_size_1() * __hw_local_size_2()); }
HELPER uint enqueued_items(void) {
  return (uint)(__hw_enqueued_local_size_0() * __hw_enqueued_local_size_1() * __hw_enqueued_local_size_2());
}
HELPER uint item(void) {
  return (uint)((__hw_local_id_2() * __hw_local_size_1() + __hw_local_id_1()) * __hw_local_size_0() + __hw_local_id_0());
}
HELPER uint least(uint a, uint b) { return a < b ? a : b; }
HELPER uint lane(void) { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

PURE uint get_sub_group_local_id(void) { return lane(); }
PURE uint get_sub_group_id(void) { return item() / LANES; }
PURE uint get_sub_group_size(void) { return least(items() - item() / LANES * LANES, LANES); }
PURE uint get_max_sub_group_size(void) { return least(enqueued_items(), LANES); }
PURE uint get_num_sub_groups(void) { return (items() + LANES - 1) / LANES; }
PURE uint get_enqueued_num_sub_groups(void) { return (enqueued_items() + LANES - 1) / LANES; }

/* Work-items of a wavefront run in step: only memory has to be put in order. The default priority, which changes nothing, tells
   `--check` that they count on it. */
#define IN_STEP \
  __builtin_amdgcn_wave_barrier(); \
  __builtin_amdgcn_s_setprio(0); \
  __builtin_amdgcn_wave_barrier()
TOGETHER void sub_group_barrier(cl_mem_fence_flags flags) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  IN_STEP;
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
OVER void atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order, memory_scope scope);
TOGETHER void sub_group_barrier(cl_mem_fence_flags flags, memory_scope scope) {
  atomic_work_item_fence(flags, memory_order_release, scope);
  IN_STEP;
  atomic_work_item_fence(flags, memory_order_acquire, scope);
}

TOGETHER int sub_group_any(int x) { return __builtin_amdgcn_ballot_w64(x != 0) != 0; }
TOGETHER int sub_group_all(int x) { return __builtin_amdgcn_ballot_w64(x == 0) == 0; }

/* One lane's value, the same for all. */
TOGETHER static inline uint from_lane(uint x, uint n) { return __builtin_amdgcn_readlane(x, n); }
TOGETHER static inline ulong from_lane(ulong x, uint n) {
  uint2 halves = as_uint2(x);
  return as_ulong((uint2)(from_lane(halves.x, n), from_lane(halves.y, n)));
}

/* The value of the last lane of the lower half, in each block of 2 * k lanes up to 32: of ds_swizzle_b32's pattern bits 0-4 are
   ANDed with the lane's number, and 5-9 ORed. All chips have it; it reads no lane that is not there. */
#define FROM_LAST(k) \
  TOGETHER static inline uint from_last_##k(uint x) { \
    return __builtin_amdgcn_ds_swizzle(x, (~(2 * k - 1) & 31) | (k - 1) << 5); \
  } \
  TOGETHER static inline ulong from_last_##k(ulong x) { \
    uint2 halves = as_uint2(x); \
    return as_ulong((uint2)(from_last_##k(halves.x), from_last_##k(halves.y))); \
  }
FROM_LAST(1) FROM_LAST(2) FROM_LAST(4) FROM_LAST(8) FROM_LAST(16)

/* Blocks of lanes have their scans, and become twice as large: the upper half adds what the lower one's last lane has.
   `through` includes the lane itself, `before` does not. */
#define STEP(k, earlier, OF) \
  { \
    a = OF(earlier); \
    if (lane() & k) { \
      b = before; \
      before = OPERATION; \
      b = through; \
      through = OPERATION; \
    } \
  }
#define SCAN(BITS, OF) \
  STEP(1, from_last_1(BITS(through)), OF) STEP(2, from_last_2(BITS(through)), OF) \
  STEP(4, from_last_4(BITS(through)), OF) STEP(8, from_last_8(BITS(through)), OF) \
  STEP(16, from_last_16(BITS(through)), OF) STEP(32, from_lane(BITS(through), 31), OF)
#define LAST_LANE (63 - (uint)__builtin_clzl(__builtin_amdgcn_ballot_w64(1)))
#define FUNCTIONS(T, BITS, OF, name, identity) \
  TOGETHER T sub_group_scan_inclusive_##name(T x) { \
    T through = x, before = identity, a, b; \
    SCAN(BITS, OF) \
    return through; \
  } \
  TOGETHER T sub_group_scan_exclusive_##name(T x) { \
    T through = x, before = identity, a, b; \
    SCAN(BITS, OF) \
    return before; \
  } \
  TOGETHER T sub_group_reduce_##name(T x) { \
    return OF(from_lane(BITS(sub_group_scan_inclusive_##name(x)), LAST_LANE)); \
  }
#define HALF_BITS(x) ((uint)as_ushort(x))
#define OF_HALF_BITS(x) as_half((ushort)(x))
#define ALL_TYPES(name, i, u, l, ul, f) \
  FUNCTIONS(int, as_uint, as_int, name, i) FUNCTIONS(uint, as_uint, as_uint, name, u) \
  FUNCTIONS(long, as_ulong, as_long, name, l) FUNCTIONS(ulong, as_ulong, as_ulong, name, ul) \
  FUNCTIONS(float, as_uint, as_float, name, f) FUNCTIONS(double, as_ulong, as_double, name, f) \
  FUNCTIONS(half, HALF_BITS, OF_HALF_BITS, name, f)
#define OPERATION (a + b)
ALL_TYPES(add, 0, 0, 0, 0, 0)
#undef OPERATION
#define OPERATION (b < a ? b : a)
ALL_TYPES(min, INT_MAX, UINT_MAX, LONG_MAX, ULONG_MAX, INFINITY)
#undef OPERATION
#define OPERATION (a < b ? b : a)
ALL_TYPES(max, INT_MIN, 0, LONG_MIN, 0, -INFINITY)

#define BROADCAST(T, BITS, OF) \
  TOGETHER T sub_group_broadcast(T x, uint n) { return OF(from_lane(BITS(x), n)); }
BROADCAST(int, as_uint, as_int)
BROADCAST(uint, as_uint, as_uint)
BROADCAST(long, as_ulong, as_long)
BROADCAST(ulong, as_ulong, as_ulong)
BROADCAST(float, as_uint, as_float)
BROADCAST(double, as_ulong, as_double)
BROADCAST(half, HALF_BITS, OF_HALF_BITS)
