// Where a work-item is, from what VLIW chips hand to a kernel: numbers in registers, sizes in constant buffer 0.
// Provides *: __hw_global_id_0 __hw_global_id_1 __hw_global_id_2 __hw_local_id_0 __hw_local_id_1 __hw_local_id_2
// Provides *: __hw_group_id_0 __hw_group_id_1 __hw_group_id_2 __hw_global_size_0 __hw_global_size_1 __hw_global_size_2
// Provides *: __hw_local_size_0 __hw_local_size_1 __hw_local_size_2 __hw_enqueued_local_size_0
// Provides *: __hw_enqueued_local_size_1 __hw_enqueued_local_size_2 __hw_num_groups_0 __hw_num_groups_1
// Provides *: __hw_num_groups_2 __hw_global_offset_0 __hw_global_offset_1 __hw_global_offset_2 __hw_work_dim
#include "../internal.h"

#define INLINE __attribute__((always_inline, const))

#define VLIW3(name) \
  uint __hw_vliw_##name##_0(void) __attribute__((const)); \
  uint __hw_vliw_##name##_1(void) __attribute__((const)); \
  uint __hw_vliw_##name##_2(void) __attribute__((const));
VLIW3(local_id)
VLIW3(group_id)
VLIW3(global_size)
VLIW3(local_size)
VLIW3(num_groups)
VLIW3(global_offset)
uint __hw_vliw_work_dim(void) __attribute__((const));
/* How many work-items come before this one, counted along x, then y, then z: for chips without work-groups. */
uint __hw_vliw_flat_id(void) __attribute__((const));

#if defined(HEADWATER_VLIW_FLAT) || defined(HEADWATER_VLIW_FLAT_REMAINDERS)
/* All sizes are at least 1 and ids are below 2^31. */
#define PLACE_0 (__hw_vliw_flat_id() % __hw_vliw_global_size_0())
#define PLACE_1 (__hw_vliw_flat_id() / __hw_vliw_global_size_0() % __hw_vliw_global_size_1())
#define PLACE_2 (__hw_vliw_flat_id() / __hw_vliw_global_size_0() / __hw_vliw_global_size_1())
#define LOCAL(d) (PLACE_##d % __hw_vliw_local_size_##d())
#define GROUP(d) (PLACE_##d / __hw_vliw_local_size_##d())
#define PLACE(d) PLACE_##d
#else
#define LOCAL(d) __hw_vliw_local_id_##d()
#define GROUP(d) __hw_vliw_group_id_##d()
#define PLACE(d) (GROUP(d) * __hw_vliw_local_size_##d() + LOCAL(d))
#endif

#if defined(HEADWATER_VLIW_REMAINDERS) || defined(HEADWATER_VLIW_FLAT_REMAINDERS)
/* The groups at the far edge may be smaller. */
#define LEFT(d) (__hw_vliw_global_size_##d() - GROUP(d) * __hw_vliw_local_size_##d())
#define SIZE(d) (LEFT(d) < __hw_vliw_local_size_##d() ? LEFT(d) : __hw_vliw_local_size_##d())
#else
#define SIZE(d) __hw_vliw_local_size_##d()
#endif

#define DIMENSION(d) \
  INLINE ulong __hw_local_id_##d(void) { return LOCAL(d); } \
  INLINE ulong __hw_group_id_##d(void) { return GROUP(d); } \
  INLINE ulong __hw_local_size_##d(void) { return SIZE(d); } \
  INLINE ulong __hw_enqueued_local_size_##d(void) { return __hw_vliw_local_size_##d(); } \
  INLINE ulong __hw_num_groups_##d(void) { return __hw_vliw_num_groups_##d(); } \
  INLINE ulong __hw_global_size_##d(void) { return __hw_vliw_global_size_##d(); } \
  INLINE ulong __hw_global_offset_##d(void) { return __hw_vliw_global_offset_##d(); } \
  INLINE ulong __hw_global_id_##d(void) { return PLACE(d) + __hw_vliw_global_offset_##d(); }
DIMENSION(0) DIMENSION(1) DIMENSION(2)

INLINE uint __hw_work_dim(void) { return __hw_vliw_work_dim(); }
