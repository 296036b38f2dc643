// What a work-group does together: copies (OpenCL C 1.2 specification 6.12.10) and group functions (3.0, 6.15.16).
// Provides *: __hw_copy_in_1 __hw_copy_in_2 __hw_copy_in_4 __hw_copy_in_8 __hw_copy_in_16 __hw_copy_in_32
// Provides *: __hw_copy_in_64 __hw_copy_in_128 __hw_copy_out_1 __hw_copy_out_2 __hw_copy_out_4 __hw_copy_out_8
// Provides *: __hw_copy_out_16 __hw_copy_out_32 __hw_copy_out_64 __hw_copy_out_128 __hw_copy_strided_in_1
// Provides *: __hw_copy_strided_in_2 __hw_copy_strided_in_4 __hw_copy_strided_in_8 __hw_copy_strided_in_16
// Provides *: __hw_copy_strided_in_32 __hw_copy_strided_in_64 __hw_copy_strided_in_128 __hw_copy_strided_out_1
// Provides *: __hw_copy_strided_out_2 __hw_copy_strided_out_4 __hw_copy_strided_out_8 __hw_copy_strided_out_16
// Provides *: __hw_copy_strided_out_32 __hw_copy_strided_out_64 __hw_copy_strided_out_128
// Provides *: __hw_work_group_all __hw_work_group_any __hw_work_group_broadcast __hw_work_group_reduce_add
// Provides *: __hw_work_group_reduce_min __hw_work_group_reduce_max __hw_work_group_scan_inclusive_add
// Provides *: __hw_work_group_scan_inclusive_min __hw_work_group_scan_inclusive_max
// Provides *: __hw_work_group_scan_exclusive_add __hw_work_group_scan_exclusive_min __hw_work_group_scan_exclusive_max
#include "internal.h"

HELPER ulong item(void) {
  return (__hw_local_id_2() * __hw_local_size_1() + __hw_local_id_1()) * __hw_local_size_0() + __hw_local_id_0();
}
HELPER ulong items(void) { return __hw_local_size_0() * __hw_local_size_1() * __hw_local_size_2(); }

/* The first element that an item copies. Code for checks on chips (`copies_in_flight.py`) goes ahead by one: an item's
   accesses to the element of its own number race with the copy then, as they do by the language's rules. */
HELPER ulong first(ulong me, ulong items) {
  ulong ahead = __hw_copies_ahead(), i = me + ahead;
  return (ahead != 0) & (i == items) ? 0 : i;
}

/* The group's items take turns; by bytes of an element. The stride counts in global memory. */
#define COPY(T, bytes) \
  __attribute__((always_inline)) void __hw_copy_in_##bytes(local T *to, const global T *from, ulong n) { \
    for (ulong me = item(), step = items(), i = first(me, step); i < n; i += step) to[i] = from[i]; \
  } \
  __attribute__((always_inline)) void __hw_copy_out_##bytes(global T *to, const local T *from, ulong n) { \
    for (ulong me = item(), step = items(), i = first(me, step); i < n; i += step) to[i] = from[i]; \
  } \
  __attribute__((always_inline)) void __hw_copy_strided_in_##bytes(local T *to, const global T *from, ulong n, \
                                                                   ulong stride) { \
    for (ulong me = item(), step = items(), i = first(me, step); i < n; i += step) to[i] = from[i * stride]; \
  } \
  __attribute__((always_inline)) void __hw_copy_strided_out_##bytes(global T *to, const local T *from, ulong n, \
                                                                    ulong stride) { \
    for (ulong me = item(), step = items(), i = first(me, step); i < n; i += step) to[i * stride] = from[i]; \
  }
COPY(uchar, 1) COPY(ushort, 2) COPY(uint, 4) COPY(ulong, 8)
COPY(ulong2, 16) COPY(ulong4, 32) COPY(ulong8, 64) COPY(ulong16, 128)

/* Each item writes its value, the first one combines them in order, so that the result does not depend on timing. */
#define GROUP __attribute__((overloadable, always_inline, convergent))
#define REDUCE(T, name, operation) \
  GROUP T __hw_work_group_reduce_##name(T x, local T *scratch) { \
    ulong me = item(), n = items(); \
    __hw_barrier(); \
    scratch[me] = x; \
    __hw_barrier(); \
    if (me == 0) { \
      T a = x; \
      for (ulong i = 1; i < n; i++) { \
        T b = scratch[i]; \
        a = operation; \
      } \
      scratch[0] = a; \
    } \
    __hw_barrier(); \
    return scratch[0]; \
  }
#define SCAN(T, name, identity, operation) \
  GROUP T __hw_work_group_scan_inclusive_##name(T x, local T *scratch) { \
    ulong me = item(), n = items(); \
    __hw_barrier(); \
    scratch[me] = x; \
    __hw_barrier(); \
    if (me == 0) { \
      T a = x; \
      for (ulong i = 1; i < n; i++) { \
        T b = scratch[i]; \
        a = operation; \
        scratch[i] = a; \
      } \
    } \
    __hw_barrier(); \
    return scratch[me]; \
  } \
  GROUP T __hw_work_group_scan_exclusive_##name(T x, local T *scratch) { \
    __hw_work_group_scan_inclusive_##name(x, scratch); \
    ulong me = item(); \
    return me == 0 ? (T)(identity) : scratch[me == 0 ? 0 : me - 1]; \
  }
#define BROADCAST(T) \
  GROUP T __hw_work_group_broadcast(T x, size_t i, size_t j, size_t k, local T *scratch) { \
    __hw_barrier(); \
    if (__hw_local_id_0() == i && __hw_local_id_1() == j && __hw_local_id_2() == k) scratch[0] = x; \
    __hw_barrier(); \
    return scratch[0]; \
  } \
  GROUP T __hw_work_group_broadcast(T x, size_t i, size_t j, local T *scratch) { \
    return __hw_work_group_broadcast(x, i, j, 0, scratch); \
  } \
  GROUP T __hw_work_group_broadcast(T x, size_t i, local T *scratch) { \
    return __hw_work_group_broadcast(x, i, 0, 0, scratch); \
  }
#define FUNCTIONS(T, LEAST, MOST) \
  REDUCE(T, add, a + b) REDUCE(T, min, b < a ? b : a) REDUCE(T, max, a < b ? b : a) \
  SCAN(T, add, 0, a + b) SCAN(T, min, MOST, b < a ? b : a) SCAN(T, max, LEAST, a < b ? b : a) BROADCAST(T)
FUNCTIONS(int, INT_MIN, INT_MAX)
FUNCTIONS(uint, 0, UINT_MAX)
FUNCTIONS(long, LONG_MIN, LONG_MAX)
FUNCTIONS(ulong, 0, ULONG_MAX)
FUNCTIONS(float, -INFINITY, INFINITY)
FUNCTIONS(double, -INFINITY, INFINITY)
FUNCTIONS(half, -INFINITY, INFINITY)
REDUCE(int, and, a && b)
REDUCE(int, or, a || b)
GROUP int __hw_work_group_all(int x, local int *scratch) { return __hw_work_group_reduce_and(x != 0, scratch); }
GROUP int __hw_work_group_any(int x, local int *scratch) { return __hw_work_group_reduce_or(x != 0, scratch); }
