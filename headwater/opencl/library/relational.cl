// Relational functions of scalars (OpenCL C 1.2 specification 6.12.6); the vector forms are made from them by rule.
// Provides *: isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isfinite isinf isnan isnormal
// Provides *: isordered isunordered signbit bitselect
#include "internal.h"

#define FLOATING(T, I, AS_I, MANTISSA, EXPONENTS) \
  PURE int isequal(T a, T b) { return a == b; } \
  PURE int isnotequal(T a, T b) { return a != b; } \
  PURE int isgreater(T a, T b) { return a > b; } \
  PURE int isgreaterequal(T a, T b) { return a >= b; } \
  PURE int isless(T a, T b) { return a < b; } \
  PURE int islessequal(T a, T b) { return a <= b; } \
  PURE int islessgreater(T a, T b) { return a < b || a > b; } \
  PURE int isordered(T a, T b) { return a == a && b == b; } \
  PURE int isunordered(T a, T b) { return a != a || b != b; } \
  PURE int isnan(T a) { return a != a; } \
  PURE int isfinite(T a) { return ABS(a) < (T)INFINITY; } \
  PURE int isinf(T a) { return ABS(a) == (T)INFINITY; } \
  PURE int isnormal(T a) { \
    int e = (int)((AS_I(a) >> MANTISSA) & EXPONENTS); \
    return e != 0 && e != EXPONENTS; \
  } \
  PURE int signbit(T a) { return AS_I(a) < 0; }
FLOATING(float, int, as_int, 23, 255)
FLOATING(double, long, as_long, 52, 2047)
FLOATING(half, short, as_short, 10, 31)

#define BITSELECT(T, U, AS_T, AS_U) \
  PURE T bitselect(T a, T b, T c) { return AS_T((U)((AS_U(a) & ~AS_U(c)) | (AS_U(b) & AS_U(c)))); }
BITSELECT(char, uchar, as_char, as_uchar)
BITSELECT(uchar, uchar, as_uchar, as_uchar)
BITSELECT(short, ushort, as_short, as_ushort)
BITSELECT(ushort, ushort, as_ushort, as_ushort)
BITSELECT(int, uint, as_int, as_uint)
BITSELECT(uint, uint, as_uint, as_uint)
BITSELECT(long, ulong, as_long, as_ulong)
BITSELECT(ulong, ulong, as_ulong, as_ulong)
BITSELECT(float, uint, as_float, as_uint)
BITSELECT(double, ulong, as_double, as_ulong)
BITSELECT(half, ushort, as_half, as_ushort)
