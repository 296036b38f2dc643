// Trigonometric functions of double (OpenCL C 1.2 specification 6.12.2; accuracy: table 7.4, sin, cos 4 ULP, tan 5 ULP).
// Provides d: sin cos tan sincos sinpi cospi tanpi
#include "internal.h"

#define ROUNDER 0x1.8p52

/* 2/pi in words of 64 bits after one of zeros. Payne and Hanek, "Radian reduction for trigonometric functions", SIGNUM 18,
   1983. */
__constant ulong __hw_two_over_pi_d[21] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    0xf0cfbc209af4361d};

HELPER ulong high_product(ulong a, ulong b) {
  ulong a0 = (uint)a, a1 = a >> 32, b0 = (uint)b, b1 = b >> 32;
  ulong middle = a1 * b0 + (a0 * b0 >> 32);
  ulong other = a0 * b1 + (uint)middle;
  return a1 * b1 + (middle >> 32) + (other >> 32);
}
HELPER ulong window(int bit) {
  int word = bit >> 6, shift = bit & 63;
  ulong left = __hw_two_over_pi_d[word] << shift;
  return shift == 0 ? left : left | __hw_two_over_pi_d[word + 1] >> (64 - shift);
}

/* x = n pi/2 + r for |x| >= 2^25: 192 bits of 2/pi, from where its product with x counts modulo 4, times the mantissa. */
HELPER double reduce_huge(double x, private int *n) {
  ulong bits = as_ulong(x) & 0x7fffffffffffffff;
  int start = (int)(bits >> 52) - 1023 - 52 - 2 + 64; /* 64 for the leading word of zeros */
  start = start > 1088 ? 1088 : start;                /* infinity and NaN */
  ulong m = (bits & 0xfffffffffffff) | 0x10000000000000;
  ulong w0 = window(start), w1 = window(start + 64), w2 = window(start + 128);
  /* the low 128 bits of the 192 that matter are enough beside a guard word's carry */
  ulong low = m * w1 + high_product(m, w2);
  ulong carry = low < m * w1 ? 1 : 0;
  ulong high = m * w0 + high_product(m, w1) + carry;
  ulong quadrant = (high + (1UL << 61)) >> 62;
  high -= quadrant << 62;
  bool below = (long)high < 0;
  ulong magnitude_low = below ? -low : low;
  ulong magnitude_high = below ? ~high + (low == 0 ? 1 : 0) : high;
  double r = FMA((double)magnitude_high, 0x1p64, (double)magnitude_low) * 0x1.921fb54442d18p-126;
  r = below ? -r : r;
  bool negative = as_long(x) < 0;
  *n = negative ? -(int)quadrant : (int)quadrant;
  return negative ? -r : r;
}

/* x = n pi/2 + r, |r| <= pi/4, for |x| < 2^25: pi/2 in three parts (Cody and Waite); the first product cancels exactly. */
HELPER double reduce_small(double x, private int *n) {
  double t = FMA(x, 0x1.45f306dc9c883p-1, ROUNDER);
  double k = t - ROUNDER;
  *n = (int)as_ulong(t);
  double r = FMA(k, -0x1.921fb54442d18p+0, x);
  double p = k * 0x1.1a62633145c07p-54, s = r - p;
  /* what the product's and the difference's roundings lost, and the third part */
  double v = s - r, lost = (r - (s - v)) - (p + v) - FMA(k, 0x1.1a62633145c07p-54, -p);
  return s + FMA(k, 0x1.f1976b7ed8fbcp-110, lost);
}

HELPER double reduce(double x, private int *n) {
  double r = reduce_small(x, n);
  if (!(ABS(x) < 0x1p25)) {
    r = reduce_huge(x, n);
    r = ABS(x) < INFINITY ? r : NAN;
  }
  return r;
}

HELPER double sin_kernel(double r, double z) {
  double p = FMA(FMA(FMA(0x1.5d8b6230f1933p-33, z, -0x1.ae5e4baa3105ep-26), z, 0x1.71de355553a9ep-19), z,
                 -0x1.a01a019be9434p-13);
  return FMA(r * z, FMA(FMA(p, z, 0x1.111111110f731p-7), z, -0x1.5555555555548p-3), r);
}
HELPER double cos_kernel(double z) {
  double p = FMA(FMA(FMA(-0x1.8fa68dc53c8f3p-37, z, 0x1.1ee9dbe1a0e83p-29), z, -0x1.27e4f7f1abbe7p-22), z,
                 0x1.a01a019c8f447p-16);
  p = FMA(FMA(p, z, -0x1.6c16c16c15016p-10), z, 0x1.555555555554bp-5);
  return FMA(z * z, p, FMA(z, -0.5, 1.0));
}
HELPER double flip(double value, int quadrant) {
  return as_double(as_ulong(value) ^ ((ulong)(quadrant & 2) << 62));
}

HELPER double sin_in(double r, int n) {
  double z = r * r, s = sin_kernel(r, z), c = cos_kernel(z);
  return flip(n & 1 ? c : s, n);
}
HELPER double tan_in(double r, int n) {
  double z = r * r, s = sin_kernel(r, z), c = cos_kernel(z);
  return (n & 1 ? -c : s) / (n & 1 ? s : c);
}

PURE double sin(double x) {
  int n;
  double r = reduce(x, &n);
  return x == 0.0 ? x : sin_in(r, n); /* keeps the sign of a zero */
}
PURE double cos(double x) {
  int n;
  double r = reduce(x, &n);
  return sin_in(r, n + 1);
}
PURE double tan(double x) {
  int n;
  double r = reduce(x, &n);
  return x == 0.0 ? x : tan_in(r, n);
}
#define SINCOS(space) \
  OVER double sincos(double x, space double *cosine) { \
    int n; \
    double r = reduce(x, &n), z = r * r, s = sin_kernel(r, z), c = cos_kernel(z); \
    *cosine = flip(n & 1 ? s : c, n + 1); \
    return x == 0.0 ? x : flip(n & 1 ? c : s, n); \
  }
SINCOS(private) SINCOS(global) SINCOS(local) SINCOS(generic)

/* x = n/2 + r exactly, n modulo 4; r times pi. */
HELPER double reduce_pi(double x, private int *n) {
  double y = FMA(__builtin_elementwise_roundeven(0.5 * x), -2.0, x);
  double k = __builtin_elementwise_roundeven(2.0 * y);
  *n = (int)(ABS(k) <= 2.0 ? k : 0.0);
  double r = FMA(k, -0.5, y);
  return FMA(r, 0x1.921fb54442d18p+1, r * 0x1.1a62633145c07p-53);
}
PURE double sinpi(double x) {
  int n;
  double r = sin_in(reduce_pi(x, &n), n);
  return r == 0.0 ? __builtin_elementwise_copysign(0.0, x) : r;
}
PURE double cospi(double x) {
  int n;
  double r = reduce_pi(x, &n);
  r = sin_in(r, n + 1);
  return r == 0.0 ? 0.0 : r;
}
PURE double tanpi(double x) {
  int n;
  double r = reduce_pi(x, &n), t = tan_in(r, n);
  /* Zeros and poles alternate in sign (7.5.1). */
  double zero = __builtin_elementwise_copysign(0.0, n & 2 ? -x : x);
  double pole = (n & 3) == 1 ? INFINITY : -INFINITY;
  return r == 0.0 ? (n & 1 ? pole : zero) : t;
}
