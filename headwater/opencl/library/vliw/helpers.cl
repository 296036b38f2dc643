// What LLVM has an instruction for and ATI IL has none: codegen_vliw.py puts calls of these in their place.
// Provides *: __hw_wide_udiv __hw_wide_urem __hw_wide_sdiv __hw_wide_srem
// Provides *: __hw_wide_fptoui_float __hw_wide_fptosi_float __hw_wide_uitofp_float __hw_wide_sitofp_float
// Provides *: __hw_wide_fptoui_double __hw_wide_fptosi_double __hw_wide_uitofp_double __hw_wide_sitofp_double
// Provides *: __hw_wide_fptoui_sat_float __hw_wide_fptosi_sat_float __hw_wide_fptoui_sat_double
// Provides *: __hw_wide_fptosi_sat_double
// Provides *: __hw_wide_trunc __hw_wide_floor __hw_wide_ceil __hw_wide_rint __hw_wide_round __hw_wide_maxnum
// Provides *: __hw_wide_minnum __hw_float_round __hw_float_fma __hw_float_ldexp __hw_wide_ldexp __hw_wide_fma
// Provides *: __hw_wide_fma_near __hw_double_fma_near __hw_float_fma_near
// Provides *: __hw_float_div __hw_float_sqrt __hw_double_fma __hw_half_round __hw_wide_fdiv
// Provides *: __hw_popcount __hw_clz __hw_ctz __hw_reverse __hw_printf_record
#include "../internal.h"

#define FUNCTION __attribute__((always_inline, const))
#define HIGH(x) ((uint)((x) >> 32))

/* ---- quotients of 64 bits, bit by bit unless 32 bits are enough */
FUNCTION ulong __hw_wide_udiv(ulong a, ulong b) {
  if ((HIGH(a) | HIGH(b)) == 0) return (uint)a / (uint)b;
  ulong quotient = 0, rest = 0;
  for (int i = 63; i >= 0; i--) {
    bool carried = (long)rest < 0;
    rest = rest << 1 | (a >> 63);
    a <<= 1;
    bool fits = carried || rest >= b;
    rest -= fits ? b : 0;
    quotient = quotient << 1 | (fits ? 1 : 0);
  }
  return quotient;
}
FUNCTION ulong __hw_wide_urem(ulong a, ulong b) {
  if ((HIGH(a) | HIGH(b)) == 0) return (uint)a % (uint)b;
  return a - __hw_wide_udiv(a, b) * b;
}
FUNCTION long __hw_wide_sdiv(long a, long b) {
  ulong q = __hw_wide_udiv(a < 0 ? -(ulong)a : (ulong)a, b < 0 ? -(ulong)b : (ulong)b);
  return (long)((a ^ b) < 0 ? -q : q);
}
FUNCTION long __hw_wide_srem(long a, long b) {
  ulong r = __hw_wide_urem(a < 0 ? -(ulong)a : (ulong)a, b < 0 ? -(ulong)b : (ulong)b);
  return (long)(a < 0 ? -r : r);
}

/* ---- conversions of 64-bit integers; beyond the range the result is not defined */
FUNCTION ulong __hw_wide_fptoui_float(float x) {
  uint bits = as_uint(x) & 0x7FFFFFFFu;
  int shift = (int)(bits >> 23) - 150; /* of the 24-bit mantissa */
  ulong m = (bits & 0x7FFFFFu) | 0x800000u;
  ulong value = shift >= 0 ? m << (shift & 63) : shift > -24 ? m >> (-shift & 63) : 0;
  return as_int(x) < 0 ? -value : value;
}
FUNCTION long __hw_wide_fptosi_float(float x) { return (long)__hw_wide_fptoui_float(x); }
FUNCTION float __hw_wide_uitofp_float(ulong x) {
  if (HIGH(x) == 0) return (float)(uint)x;
  int zeros = 31 - (int)(as_uint((float)(HIGH(x) & ~(HIGH(x) >> 1))) >> 23) + 127; /* no bit rounds the exponent up */
  ulong top = x << zeros;
  uint m = (uint)(top >> 40), rest = (uint)(top >> 8);
  bool odd_or_more = (top & 0xFF) != 0 || (m & 1) != 0;
  uint up = rest > 0x80000000u || (rest == 0x80000000u && odd_or_more) ? 1 : 0;
  return as_float(((uint)(190 - zeros) << 23) + m - 0x800000u + up);
}
FUNCTION float __hw_wide_sitofp_float(long x) {
  float f = __hw_wide_uitofp_float(x < 0 ? -(ulong)x : (ulong)x);
  return x < 0 ? -f : f;
}
FUNCTION ulong __hw_wide_fptoui_double(double x) {
  ulong bits = as_ulong(x);
  int shift = (int)(HIGH(bits) >> 20 & 0x7FFu) - 1075;
  ulong m = (bits & 0xFFFFFFFFFFFFFul) | 0x10000000000000ul;
  ulong value = shift >= 0 ? m << (shift & 63) : shift > -53 ? m >> (-shift & 63) : 0;
  return (long)bits < 0 ? -value : value;
}
FUNCTION long __hw_wide_fptosi_double(double x) { return (long)__hw_wide_fptoui_double(x); }
/* The same, saturated; NaN gives 0. */
#define SATURATED(T) \
  FUNCTION ulong __hw_wide_fptoui_sat_##T(T x) { \
    ulong within = x > (T)0 ? __hw_wide_fptoui_##T(x) : 0; \
    return x >= (T)0x1p64 ? ULONG_MAX : within; \
  } \
  FUNCTION long __hw_wide_fptosi_sat_##T(T x) { \
    long within = x > -(T)0x1p63 ? __hw_wide_fptosi_##T(x) : LONG_MIN; \
    within = x >= (T)0x1p63 ? LONG_MAX : within; \
    return x != x ? 0 : within; \
  }
SATURATED(float)
SATURATED(double)
FUNCTION double __hw_wide_uitofp_double(ulong x) { return (double)HIGH(x) * 4294967296.0 + (double)(uint)x; }
FUNCTION double __hw_wide_sitofp_double(long x) { return (double)(int)HIGH(x) * 4294967296.0 + (double)(uint)x; }

/* ---- rounding, extremes and scaling of double */
#define SIGNED_AS(magnitude, x) as_double((as_ulong(magnitude) & 0x7FFFFFFFFFFFFFFFul) | (as_ulong(x) & 0x8000000000000000ul))
#define MAGNITUDE(x) as_double(as_ulong(x) & 0x7FFFFFFFFFFFFFFFul)

FUNCTION double __hw_wide_trunc(double x) {
  ulong bits = as_ulong(x);
  int exponent = (int)(HIGH(bits) >> 20 & 0x7FFu) - 1023;
  ulong fraction = 0xFFFFFFFFFFFFFul >> (exponent & 63);
  ulong kept = exponent < 0 ? bits & 0x8000000000000000ul : exponent > 51 ? bits : bits & ~fraction;
  return as_double(kept);
}
FUNCTION double __hw_wide_floor(double x) {
  double t = __hw_wide_trunc(x);
  return t > x ? t - 1.0 : t;
}
FUNCTION double __hw_wide_ceil(double x) {
  double t = __hw_wide_trunc(x), up = SIGNED_AS(t + 1.0, x);
  return t < x ? up : t;
}
FUNCTION double __hw_wide_rint(double x) {
  double a = MAGNITUDE(x);
  double r = a + 0x1p52;
  r = r - 0x1p52;
  return a < 0x1p52 ? SIGNED_AS(r, x) : x;
}
FUNCTION double __hw_wide_round(double x) {
  double t = __hw_wide_trunc(x);
  return MAGNITUDE(x - t) >= 0.5 ? t + SIGNED_AS(1.0, x) : t;
}
FUNCTION double __hw_wide_maxnum(double x, double y) { return x != x ? y : y > x ? y : x; }
FUNCTION double __hw_wide_minnum(double x, double y) { return x != x ? y : y < x ? y : x; }
FUNCTION double __hw_wide_power(int n) { return as_double((ulong)(uint)(n + 1023) << 52); }
FUNCTION double __hw_wide_ldexp(double x, int n) {
  n = n < -2200 ? -2200 : n > 2200 ? 2200 : n;
  int third = n / 3;
  double step = __hw_wide_power(third);
  return x * step * step * __hw_wide_power(n - 2 * third);
}

/* The fused multiply-add of double where MULADD_64 rounds twice. The product is exact as a sum of two (Dekker, "A
   floating-point technique for extending the available precision", 1971), and of the three parts the two small ones are
   added to an odd last digit, so that the last sum rounds as if it were the only one (Boldo and Melquiond, "Emulation of
   FMA and correctly rounded sums", 2008). Exponents are taken off before and given back at the end. */
FUNCTION double __hw_sum(double a, double b, private double *error) {
  double s = a + b, t = s - a;
  *error = (a - (s - t)) + (b - t);
  return s;
}
/* a + b; where it is inexact, of the two doubles next to it the one whose last digit is odd. */
FUNCTION double __hw_odd_sum(double a, double b) {
  double error, s = __hw_sum(a, b, &error);
  ulong bits = as_ulong(s), odd = (error > 0.0) == (s > 0.0) ? bits + 1 : bits - 1;
  return (bits & 1) == 0 && error != 0.0 ? as_double(odd) : s;
}
/* The significand with its sign, below 2, and what power of two it is to be multiplied by. */
FUNCTION double __hw_significand(double x, private int *exponent) {
  ulong bits = as_ulong(x), one = (bits & 0x8000000000000000ul) | 0x3FF0000000000000ul;
  int field = (int)(HIGH(bits) >> 20 & 0x7FFu);
  *exponent = field == 0 ? -1022 : field - 1023;
  return as_double((bits & 0xFFFFFFFFFFFFFul) | one) - (field == 0 ? as_double(one) : 0.0);
}
/* Rounded to 26 bits, which leaves 26 bits and a sign. */
FUNCTION double __hw_upper_half(double x) {
  return as_double((as_ulong(x) + 0x4000000ul) & 0xFFFFFFFFF8000000ul);
}
/* a × b - product, from halves whose products are exact. */
FUNCTION double __hw_lost(double a, double b, double product, double a_high, double b_high) {
#pragma OPENCL FP_CONTRACT ON
  double a_low = a - a_high, b_low = b - b_high, lost = a_high * b_high - product;
  lost = a_high * b_low + lost;
  lost = a_low * b_high + lost;
  return a_low * b_low + lost;
}
FUNCTION double __hw_wide_fma(double a, double b, double c) {
  bool finite = MAGNITUDE(a) < INFINITY && MAGNITUDE(b) < INFINITY;
  if (a == 0.0 || b == 0.0 || c == 0.0 || !finite || !(MAGNITUDE(c) < INFINITY)) {
    double product = a * b; /* its rounding is all that there is, or does not matter */
    if (finite && !(MAGNITUDE(c) < INFINITY)) return c;
    return a != 0.0 && b != 0.0 && c == 0.0 ? product : product + c; /* -0 may be less than 0 that was rounded */
  }
  int ea, eb, ec;
  a = __hw_significand(a, &ea);
  b = __hw_significand(b, &eb);
  c = __hw_significand(c, &ec);
  /* So far apart, only that the smaller one is there counts. */
  int distance = ec - ea - eb, d = distance < -250 ? -250 : distance > 250 ? 250 : distance, e = ec - d;
  e = distance < -250 ? ea + eb : e;
  c *= __hw_wide_power(d);
  double high = a * b, low = __hw_lost(a, b, high, __hw_upper_half(a), __hw_upper_half(b));
  double c_low, low_sum = __hw_sum(c, low, &c_low), rest, sum = __hw_sum(high, low_sum, &rest);
  rest = __hw_odd_sum(c_low, rest);
  double result = sum + rest;
  /* Below the normal range digits end at 2^-1074: a large number that is added and taken off again ends them there. */
  int exponent = (int)(HIGH(as_ulong(result)) >> 20 & 0x7FFu) - 1023;
  if (result != 0.0 && exponent + e < -1022) {
    double lost, large = SIGNED_AS(__hw_wide_power(-1022 - e), result), total = __hw_sum(large, sum, &lost);
    result = SIGNED_AS((total + __hw_odd_sum(lost, rest)) - large, large);
  }
  int half_e = e >> 1;
  return result * __hw_wide_power(half_e) * __hw_wide_power(e - half_e);
}

/* The quotient of double. IL's rounds to the nearest unless a step falls below the normal range; then it is computed of
   the significands, and rounded as an integer where the quotient itself is below. The steps' smallest terms are some 106
   bits below the quotient: those of 2^-900 are normal, of which the smallest is 2^-1022. */
double __hw_vliw_ddiv(double a, double b) __attribute__((const));
FUNCTION double __hw_wide_fdiv(double a, double b) {
  double quotient = __hw_vliw_ddiv(a, b);
  if (!(MAGNITUDE(quotient) < 0x1p-900) || a == 0.0 || !(MAGNITUDE(b) < INFINITY)) return quotient;
  int ea, eb;
  a = MAGNITUDE(__hw_significand(a, &ea));
  b = MAGNITUDE(__hw_significand(b, &eb));
  double q = __hw_vliw_ddiv(a, b), product = q * b;
  double left = (a - product) - __hw_lost(q, b, product, __hw_upper_half(q), __hw_upper_half(b));
  ulong sign = as_ulong(quotient) & 0x8000000000000000ul, scale = (ulong)(ea - eb) << 52;
  ulong down = as_ulong(q) - (left < 0.0 ? 1 : 0); /* rounded towards zero */
  int exponent = (int)(HIGH(down) >> 20) + ea - eb; /* with its bias: 0 and below are not normal */
  if (exponent > 0) return as_double(sign | (as_ulong(q) + scale));
  ulong digits = (down & 0xFFFFFFFFFFFFFul) | 0x10000000000000ul;
  int shift = exponent < -58 ? 59 : 1 - exponent;
  ulong kept = digits >> shift, rest = digits - (kept << shift), half_unit = 1ul << (shift - 1);
  bool up = rest > half_unit || (rest == half_unit && (left != 0.0 || (kept & 1) != 0));
  return as_double(sign | (kept + (up ? 1 : 0)));
}

/* What the device library's own functions need of a fused multiply-add: that nothing of the product is lost before the
   sum. The sum's last digit is wrong where it would be nearly a tie, and where digits fall below the normal range. */
FUNCTION double __hw_wide_fma_near(double a, double b, double c) {
  ulong upper = 0xFFFFFFFFF8000000ul;
  double product = a * b, rest, sum = __hw_sum(product, c, &rest);
  rest += __hw_lost(a, b, product, as_double(as_ulong(a) & upper), as_double(as_ulong(b) & upper));
  return MAGNITUDE(sum) < INFINITY ? sum + rest : sum;
}
FUNCTION float __hw_double_fma_near(float a, float b, float c) {
#pragma OPENCL FP_CONTRACT ON
  return (float)((double)a * (double)b + (double)c);
}
FUNCTION float __hw_float_fma_near(float a, float b, float c) {
#pragma OPENCL FP_CONTRACT ON
  float product = a * b, sum = product + c, t = sum - product, rest = (product - (sum - t)) + (c - t);
  float a_high = as_float(as_uint(a) & 0xFFFFF000u), b_high = as_float(as_uint(b) & 0xFFFFF000u);
  float a_low = a - a_high, b_low = b - b_high, lost = a_high * b_high - product;
  lost = a_high * b_low + lost;
  lost = a_low * b_high + lost;
  lost = a_low * b_low + lost;
  return ABS(sum) < INFINITY ? sum + (rest + lost) : sum;
}

/* ---- float */
FUNCTION float __hw_float_round(float x) {
  float t = __builtin_elementwise_trunc(x), one = __builtin_elementwise_copysign(1.0f, x);
  return ABS(x - t) >= 0.5f ? t + one : t;
}
FUNCTION float __hw_float_ldexp(float x, int n) {
  n = n < -300 ? -300 : n > 300 ? 300 : n;
  int third = n / 3;
  float step = as_float((uint)(third + 127) << 23);
  return x * step * step * as_float((uint)(n - 2 * third + 127) << 23);
}
/* Exact in 64 bits: product and addend are brought to one exponent, what falls off is kept as one sticky bit. Numbers
   below the normal range count as zero, as these chips have none. */
FUNCTION float __hw_float_fma(float a, float b, float c) {
  uint ua = as_uint(a), ub = as_uint(b), uc = as_uint(c);
  int ea = (int)(ua >> 23 & 255u), eb = (int)(ub >> 23 & 255u), ec = (int)(uc >> 23 & 255u);
  if (ea == 0 || eb == 0 || ec == 0 || ea == 255 || eb == 255 || ec == 255) {
    float product = a * b; /* one of the two operations is exact */
    return product + c;
  }
  ulong p = (ulong)((ua & 0x7FFFFFu) | 0x800000u) * ((ub & 0x7FFFFFu) | 0x800000u) << 14;
  ulong q = (ulong)((uc & 0x7FFFFFu) | 0x800000u) << 38;
  int x = ea + eb - 314, d = x - (ec - 188);
  uint sp = (ua ^ ub) & 0x80000000u, sq = uc & 0x80000000u;
  int off = d < 0 ? -d : d;
  ulong moved = d < 0 ? p : q, kept = d < 0 ? q : p;
  ulong lost = off > 62 ? moved : moved & (((ulong)1 << (off & 63)) - 1);
  moved = (off > 62 ? 0 : moved >> (off & 63)) | (lost != 0 ? 1 : 0);
  x = d < 0 ? ec - 188 : x;
  uint sk = d < 0 ? sq : sp, sign = sk;
  ulong sum = sp == sq ? kept + moved : kept - moved;
  if ((long)sum < 0) {
    sum = -sum;
    sign ^= 0x80000000u;
  }
  if (sum == 0) return 0.0f;
  int zeros = __builtin_elementwise_clzg(sum, (ulong)64);
  sum <<= zeros;
  int exponent = x - zeros + 190; /* biased, of the mantissa's top bit */
  uint m = (uint)(sum >> 40), rest = (uint)(sum >> 8);
  bool more = (sum & 0xFF) != 0;
  uint up = rest > 0x80000000u || (rest == 0x80000000u && (more || (m & 1) != 0)) ? 1 : 0;
  m += up;
  exponent += (int)(m >> 24);
  m = m >> 24 ? 0x800000u : m;
  uint result = exponent > 254 ? 0x7F800000u : exponent < 1 ? 0 : ((uint)exponent << 23) | (m & 0x7FFFFFu);
  return as_float(result | sign);
}

/* ---- bits, for chips that have no instructions for them */
/* Not by fields of 2 bits, as it is mostly written: LLVM makes its popcount of that, which would call this one again. */
FUNCTION uint __hw_popcount(uint x) {
  x = x - (x >> 1 & 0x77777777u) - (x >> 2 & 0x33333333u) - (x >> 3 & 0x11111111u);
  x = (x + (x >> 4)) & 0x0F0F0F0Fu;
  x += x >> 8;
  return (x + (x >> 16)) & 63;
}
/* Of a pair of bits, whose number is 2 × high + low, the low one is added and the high one taken off: LLVM makes its
   bitreverse where all steps only shift. */
FUNCTION uint __hw_reverse(uint x) {
  x = x + (x & 0x55555555u) - (x >> 1 & 0x55555555u);
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
  x = (x >> 8 & 0x00FF00FFu) | (x & 0x00FF00FFu) << 8;
  return x >> 16 | x << 16;
}
/* The exponent of a float is its top bit's place; clearing the second one keeps it from being rounded up. */
FUNCTION uint __hw_clz(uint x) {
  uint place = as_uint((float)(x & ~(x >> 1))) >> 23;
  return x == 0 ? 32 : 158 - place;
}
FUNCTION uint __hw_ctz(uint x) {
  uint place = as_uint((float)(x & (0 - x))) >> 23;
  return x == 0 ? 32 : place - 127;
}

/* ---- quotients and roots of float, rounded to the nearest (-cl-fp32-correctly-rounded-divide-sqrt) */
float __hw_vliw_recip(float x) __attribute__((const));
float __hw_vliw_sqrt(float x) __attribute__((const));

/* mantissa: 26 bits or 27, the last one also set if anything is behind it; exponent: biased, if the first bit is bit 25. */
FUNCTION float __hw_rounded(uint mantissa, int exponent, uint sign) {
  uint large = mantissa >> 26;
  exponent += (int)large;
  mantissa = (mantissa >> large) | (mantissa & large); /* 26 bits: 24, a half, and whether there is more */
  uint up = (mantissa & 3) == 3 || (mantissa & 6) == 6 ? 1 : 0;
  uint m = (mantissa >> 2) + up;
  exponent += (int)(m >> 24);
  m = m >> 24 ? 0x800000u : m;
  uint bits = exponent > 254 ? 0x7F800000u : exponent < 1 ? 0 : ((uint)exponent << 23) | (m & 0x7FFFFFu);
  return as_float(sign | bits);
}
/* The quotient of mantissas in 25 or 26 bits: an estimate, put right by what is left, which is small enough for 32 bits. */
FUNCTION float __hw_float_div(float a, float b) {
  uint ua = as_uint(a), ub = as_uint(b), sign = (ua ^ ub) & 0x80000000u;
  int ea = (int)(ua >> 23 & 255u), eb = (int)(ub >> 23 & 255u);
  /* The reciprocal of a large number is a denormal, and so 0, by which an infinity is NaN. */
  if (ea == 255 && eb != 255) return as_float(ua ^ (ub & 0x80000000u));
  if (ea == 0 || eb == 0 || eb == 255) return a * __hw_vliw_recip(b);
  uint ma = (ua & 0x7FFFFFu) | 0x800000u, mb = (ub & 0x7FFFFFu) | 0x800000u;
  float inverse = __hw_vliw_recip((float)mb);
  uint q = (uint)((float)ma * inverse * 33554432.0f); /* 2 to the 25 */
  int left = (int)((ma << 25) - q * mb);
  int step = (int)__builtin_elementwise_floor((float)left * inverse);
  q += (uint)step;
  left -= step * (int)mb;
  q -= left < 0 ? 1 : 0;
  left += left < 0 ? (int)mb : 0;
  bool over = left >= (int)mb;
  q += over ? 1 : 0;
  left -= over ? (int)mb : 0;
  /* 2^24 < q < 2^26: one more bit for what is left. */
  return __hw_rounded(q << 1 | (left != 0 ? 1 : 0), ea - eb + 126, sign);
}
FUNCTION float __hw_float_sqrt(float x) {
  uint u = as_uint(x);
  int e = (int)(u >> 23);
  float estimate = __hw_vliw_sqrt(x);
  if (e == 0 || e >= 255) return estimate;
  uint odd = (uint)(e ^ 1) & 1; /* the exponent less 127 must be even */
  uint m = ((u & 0x7FFFFFu) | 0x800000u) << (1 + odd); /* times 2^24: the square of 25 bits */
  uint q = (uint)(__hw_vliw_sqrt((float)m) * 4096.0f);
  int left = (int)((m << 24) - q * q);
  int step = (int)__builtin_elementwise_floor((float)left * __hw_vliw_recip((float)(2 * q)));
  left -= step * (int)(2 * q + (uint)step);
  q += (uint)step;
  for (int k = 0; k < 2; k++) {
    bool low = left < 0;
    q -= low ? 1 : 0;
    left += low ? (int)(2 * q + 1) : 0;
    bool high = left > (int)(2 * q);
    left -= high ? (int)(2 * q + 1) : 0;
    q += high ? 1 : 0;
  }
  /* q has 25 bits, the first one bit 24. */
  return __hw_rounded(q << 1 | (left != 0 ? 1 : 0), ((e - 127 - (int)odd) >> 1) + 127, 0);
}

/* The fused multiply-add by way of double, where there is that: the product is exact, the sum is rounded to odd. */
FUNCTION float __hw_double_fma(float a, float b, float c) {
  double p = (double)a * (double)b, d = c;
  double s = p + d;
  double t = s - p;
  double error = (p - (s - t)) + (d - t);
  ulong bits = as_ulong(s);
  bool even = (bits & 1) == 0;
  ulong odd = (error > 0.0) == (s > 0.0) ? bits + 1 : bits - 1;
  bool inexact = error < 0.0 || error > 0.0;
  return (float)as_double(even && inexact ? odd : bits);
}
FUNCTION half __hw_half_round(half x) { return (half)__hw_float_round((float)x); }

/* ---- printf: room for a record, its number written already; null if there is none, which is counted all the same */
global uint *__hw_vliw_printf_memory(void) __attribute__((const));

__attribute__((always_inline)) global uint *__hw_printf_record(uint number, uint bytes) {
  global uint *head = __hw_vliw_printf_memory();
  uint at = __scoped_atomic_fetch_add(head, bytes, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  if (8 + at + bytes > head[1]) return 0;
  global uint *record = head + 2 + (at >> 2);
  record[0] = number;
  return record + 1;
}
