// Work-item functions (OpenCL C 1.2 specification 6.12.1; linear ids: OpenCL C 3.0 specification 6.15.1).
// Provides *: get_work_dim get_global_size get_global_id get_local_size get_enqueued_local_size get_local_id
// Provides *: get_num_groups get_group_id get_global_offset get_global_linear_id get_local_linear_id
// Provides *: __hw_copies_ahead
#include "internal.h"

#define BY_DIMENSION(name, primitive, beyond) \
  PURE size_t name(uint dimension) { \
    return dimension == 0 ? __hw_##primitive##_0() \
         : dimension == 1 ? __hw_##primitive##_1() \
         : dimension == 2 ? __hw_##primitive##_2() \
                          : beyond; \
  }
BY_DIMENSION(get_global_id, global_id, 0)
BY_DIMENSION(get_local_id, local_id, 0)
BY_DIMENSION(get_group_id, group_id, 0)
BY_DIMENSION(get_global_offset, global_offset, 0)
BY_DIMENSION(get_global_size, global_size, 1)
BY_DIMENSION(get_local_size, local_size, 1)
BY_DIMENSION(get_enqueued_local_size, enqueued_local_size, 1)
BY_DIMENSION(get_num_groups, num_groups, 1)

PURE uint get_work_dim(void) { return __hw_work_dim(); }

PURE size_t get_global_linear_id(void) {
  ulong x = __hw_global_id_0() - __hw_global_offset_0();
  ulong y = __hw_global_id_1() - __hw_global_offset_1();
  ulong z = __hw_global_id_2() - __hw_global_offset_2();
  return (z * __hw_global_size_1() + y) * __hw_global_size_0() + x;
}

PURE size_t get_local_linear_id(void) {
  return (__hw_local_id_2() * __hw_local_size_1() + __hw_local_id_1()) * __hw_local_size_0() + __hw_local_id_0();
}

__attribute__((weak, always_inline)) ulong __hw_copies_ahead(void) { return 0; }
