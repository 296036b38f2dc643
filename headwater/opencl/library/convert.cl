// Conversions to a floating type with a rounding mode that the hardware's conversion does not have (6.2.3.2), and from
// double to half, which rounds once.
// Provides *: __hw_float_rtz __hw_float_rtp __hw_float_rtn __hw_double_rtz __hw_double_rtp __hw_double_rtn
// Provides *: __hw_half_rte __hw_half_rtz __hw_half_rtp __hw_half_rtn
#include "internal.h"

/* The neighbour of r towards zero, up or down, by its bits; r is neither NaN nor, for the first, 0. */
#define NEIGHBOURS(T, I, U, AS_T, AS_I, SIGN) \
  HELPER T towards_zero(T r) { return AS_T((I)(AS_I(r) - 1)); } \
  HELPER T away_from_zero(T r) { return AS_T((I)(AS_I(r) + 1)); } \
  HELPER T next_up(T r) { return r == (T)0 ? AS_T((I)1) : r < (T)0 ? towards_zero(r) : away_from_zero(r); } \
  HELPER T next_down(T r) { return r == (T)0 ? AS_T((I)(SIGN | 1)) : r < (T)0 ? away_from_zero(r) : towards_zero(r); } \
  /* order: whether the nearest value r lies above (1), on (0) or below (-1) the true one; sign: the true one's. */ \
  HELPER T round_rtz(T r, int order, bool negative) { \
    return (negative ? order < 0 : order > 0) ? towards_zero(r) : r; \
  } \
  HELPER T round_rtp(T r, int order, bool negative) { return order < 0 ? next_up(r) : r; } \
  HELPER T round_rtn(T r, int order, bool negative) { return order > 0 ? next_down(r) : r; }
NEIGHBOURS(float, int, uint, as_float, as_int, 0x80000000u)
NEIGHBOURS(double, long, ulong, as_double, as_long, 0x8000000000000000ul)
NEIGHBOURS(half, short, ushort, as_half, as_short, 0x8000)

#define COMPARE(a, b) ((a) > (b) ? 1 : (a) < (b) ? -1 : 0)
#define MODES(T, S, order) \
  PURE T __hw_##T##_rtz(S x) { T r = (T)x; return round_rtz(r, order, x < (S)0); } \
  PURE T __hw_##T##_rtp(S x) { T r = (T)x; return round_rtp(r, order, x < (S)0); } \
  PURE T __hw_##T##_rtn(S x) { T r = (T)x; return round_rtn(r, order, x < (S)0); }
/* Integers are compared as such, without double, which not all chips have; 2^31 to 2^64 are above all of their type. */
MODES(float, int, (r >= 0x1p31f ? 1 : COMPARE((int)r, x)))
MODES(float, uint, (r >= 0x1p32f ? 1 : COMPARE((uint)r, x)))
MODES(float, long, (r >= 0x1p63f ? 1 : COMPARE((long)r, x)))
MODES(float, ulong, (r >= 0x1p64f ? 1 : COMPARE((ulong)r, x)))
/* Below the normal floats the bits are made as an integer: chips that flush such floats cannot round to them. */
HELPER float below_normal(double x, bool outwards) {
  double scaled = ABS(x) * 0x1p149;
  int bits = (int)scaled;
  bits += outwards && (double)bits != scaled;
  return as_float(bits | (as_long(x) < 0 ? 0x80000000 : 0));
}
#define BELOW_NORMAL(MODE, outwards) \
  PURE float __hw_float_##MODE(double x) { \
    if (ABS(x) < 0x1p-126) \
      return below_normal(x, outwards); \
    float r = (float)x; \
    return round_##MODE(r, COMPARE((double)r, x), x < 0.0); \
  }
BELOW_NORMAL(rtz, false)
BELOW_NORMAL(rtp, x > 0.0)
BELOW_NORMAL(rtn, x < 0.0)
MODES(double, long, (r >= 0x1p63 ? 1 : COMPARE((long)r, x)))
MODES(double, ulong, (r >= 0x1p64 ? 1 : COMPARE((ulong)r, x)))
MODES(half, float, COMPARE((float)r, x))

/* double to half through float: the float is rounded to odd, so that the second rounding sees what the first dropped.
   What is far below all halves becomes a number that is, too, and that chips without subnormal floats tell from 0. */
HELPER float to_odd(double x) {
  float r = (float)x;
  if (x != 0.0 && ABS(x) < 0x1p-100)
    return x < 0.0 ? -0x1.000002p-100f : 0x1.000002p-100f;
  int order = COMPARE((double)r, x);  // 1 or -1, too, if x is beyond all floats: the odd one there is the largest
  bool even = !(as_int(r) & 1);
  bool inwards = x < 0.0 ? order < 0 : order > 0;
  return order != 0 && even ? as_float(as_int(r) + (inwards ? -1 : 1)) : r;
}
PURE half __hw_half_rte(double x) { return (half)to_odd(x); }
PURE half __hw_half_rtz(double x) { return __hw_half_rtz(to_odd(x)); }
PURE half __hw_half_rtp(double x) { return __hw_half_rtp(to_odd(x)); }
PURE half __hw_half_rtn(double x) { return __hw_half_rtn(to_odd(x)); }
