// Sub-groups of one work-item each (OpenCL C 3.0 specification 6.15.19, cl_khr_subgroups; the size is the device's to
// choose): which work-items a chunk of this device runs together is settled for each launch, and may differ within a group.
// Provides *: get_sub_group_size get_max_sub_group_size get_num_sub_groups get_enqueued_num_sub_groups get_sub_group_id
// Provides *: get_sub_group_local_id sub_group_barrier sub_group_all sub_group_any sub_group_broadcast
// Provides *: sub_group_reduce_add sub_group_reduce_min sub_group_reduce_max sub_group_scan_inclusive_add
// Provides *: sub_group_scan_inclusive_min sub_group_scan_inclusive_max sub_group_scan_exclusive_add
// Provides *: sub_group_scan_exclusive_min sub_group_scan_exclusive_max
#include "internal.h"

PURE uint get_sub_group_local_id(void) { return 0; }
PURE uint get_sub_group_id(void) {
  return (uint)((__hw_local_id_2() * __hw_local_size_1() + __hw_local_id_1()) * __hw_local_size_0() + __hw_local_id_0());
}
PURE uint get_sub_group_size(void) { return 1; }
PURE uint get_max_sub_group_size(void) { return 1; }
PURE uint get_num_sub_groups(void) { return (uint)(__hw_local_size_0() * __hw_local_size_1() * __hw_local_size_2()); }
PURE uint get_enqueued_num_sub_groups(void) {
  return (uint)(__hw_enqueued_local_size_0() * __hw_enqueued_local_size_1() * __hw_enqueued_local_size_2());
}

/* A work-item sees its own accesses to memory in their order. */
OVER void sub_group_barrier(cl_mem_fence_flags flags) {}
OVER void atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order, memory_scope scope);
OVER void sub_group_barrier(cl_mem_fence_flags flags, memory_scope scope) {
  atomic_work_item_fence(flags, memory_order_acq_rel, scope);
}

OVER int sub_group_any(int x) { return x != 0; }
OVER int sub_group_all(int x) { return x != 0; }

#define FUNCTIONS(T, name, identity) \
  OVER T sub_group_reduce_##name(T x) { return x; } \
  OVER T sub_group_scan_inclusive_##name(T x) { return x; } \
  OVER T sub_group_scan_exclusive_##name(T x) { return identity; }
#define TYPE(T, lowest, highest) \
  FUNCTIONS(T, add, 0) FUNCTIONS(T, min, highest) FUNCTIONS(T, max, lowest) \
  OVER T sub_group_broadcast(T x, uint n) { return x; }
TYPE(int, INT_MIN, INT_MAX)
TYPE(uint, 0, UINT_MAX)
TYPE(long, LONG_MIN, LONG_MAX)
TYPE(ulong, 0, ULONG_MAX)
TYPE(float, -INFINITY, INFINITY)
TYPE(double, -INFINITY, INFINITY)
TYPE(half, -INFINITY, INFINITY)
