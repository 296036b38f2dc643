// Where a work-item is, from what AMD GPUs hand to a kernel: ids in registers, sizes behind the arguments or in the
// dispatch packet (LLVM, "User Guide for AMDGPU Backend": Code Object V5 Metadata, hidden arguments; Initial Kernel
// Execution State), and printf's memory there (ROCm's device libraries: the first 8 bytes are two uints, bytes used and
// bytes in all; a record begins with the number of its format).
// Provides *: __hw_global_id_0 __hw_global_id_1 __hw_global_id_2 __hw_local_id_0 __hw_local_id_1 __hw_local_id_2
// Provides *: __hw_group_id_0 __hw_group_id_1 __hw_group_id_2 __hw_global_size_0 __hw_global_size_1 __hw_global_size_2
// Provides *: __hw_local_size_0 __hw_local_size_1 __hw_local_size_2 __hw_enqueued_local_size_0
// Provides *: __hw_enqueued_local_size_1 __hw_enqueued_local_size_2 __hw_num_groups_0 __hw_num_groups_1
// Provides *: __hw_num_groups_2 __hw_global_offset_0 __hw_global_offset_1 __hw_global_offset_2 __hw_work_dim
// Provides *: __printf_alloc
#include "../internal.h"

#define INLINE __attribute__((always_inline, const))
#define HIDDEN(T, at) (*(const constant T *)((const constant char *)__builtin_amdgcn_implicitarg_ptr() + (at)))
#define PACKET(T, at) (*(const constant T *)((const constant char *)__builtin_amdgcn_dispatch_ptr() + (at)))

/* FULL: the size of a group that is not cut off at the grid's end; LAST: of the one that is; WHOLE: how many are not. */
#ifdef HEADWATER_GCN4
#define FULL(d) ((uint)PACKET(ushort, 4 + 2 * d))
#define GRID(d) PACKET(uint, 12 + 4 * d)
#define LAST(d) (GRID(d) - __builtin_amdgcn_workgroup_id_##d() * FULL(d))
#define WHOLE(d) (GRID(d) / FULL(d))
#define GROUPS(d) ((GRID(d) + FULL(d) - 1) / FULL(d))
#define OFFSET(d) HIDDEN(ulong, 8 * d)
#define DIMENSIONS ((uint)(PACKET(ushort, 2) & 3))
#define PRINTF 24
#else
#define FULL(d) ((uint)HIDDEN(ushort, 12 + 2 * d))
#define LAST(d) ((uint)HIDDEN(ushort, 18 + 2 * d))
#define WHOLE(d) HIDDEN(uint, 4 * d)
#define GROUPS(d) (WHOLE(d) + (LAST(d) != 0))
#define GRID(d) (WHOLE(d) * FULL(d) + LAST(d))
#define OFFSET(d) HIDDEN(ulong, 40 + 8 * d)
#define DIMENSIONS ((uint)HIDDEN(ushort, 64))
#define PRINTF 72
#endif

#define __builtin_amdgcn_workitem_id_0 __builtin_amdgcn_workitem_id_x
#define __builtin_amdgcn_workitem_id_1 __builtin_amdgcn_workitem_id_y
#define __builtin_amdgcn_workitem_id_2 __builtin_amdgcn_workitem_id_z
#define __builtin_amdgcn_workgroup_id_0 __builtin_amdgcn_workgroup_id_x
#define __builtin_amdgcn_workgroup_id_1 __builtin_amdgcn_workgroup_id_y
#define __builtin_amdgcn_workgroup_id_2 __builtin_amdgcn_workgroup_id_z

#define DIMENSION(d) \
  INLINE ulong __hw_local_id_##d(void) { return __builtin_amdgcn_workitem_id_##d(); } \
  INLINE ulong __hw_group_id_##d(void) { return __builtin_amdgcn_workgroup_id_##d(); } \
  INLINE ulong __hw_enqueued_local_size_##d(void) { return FULL(d); } \
  INLINE ulong __hw_local_size_##d(void) { return __builtin_amdgcn_workgroup_id_##d() < WHOLE(d) ? FULL(d) : LAST(d); } \
  INLINE ulong __hw_num_groups_##d(void) { return GROUPS(d); } \
  INLINE ulong __hw_global_size_##d(void) { return GRID(d); } \
  INLINE ulong __hw_global_offset_##d(void) { return OFFSET(d); } \
  INLINE ulong __hw_global_id_##d(void) { \
    return (ulong)(__builtin_amdgcn_workgroup_id_##d() * FULL(d) + __builtin_amdgcn_workitem_id_##d()) + OFFSET(d); \
  }
DIMENSION(0) DIMENSION(1) DIMENSION(2)

INLINE uint __hw_work_dim(void) { return DIMENSIONS; }

/* One addition a work-item, in the order of the wavefront's lanes; what does not fit is counted and lost. */
__attribute__((always_inline)) global char *__printf_alloc(uint bytes) {
  global uint *head = (global uint *)HIDDEN(ulong, PRINTF);
  uint at = __scoped_atomic_fetch_add(head, bytes, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  return 8 + at + bytes <= head[1] ? (global char *)head + 8 + at : (global char *)0;
}
