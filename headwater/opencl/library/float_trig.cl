// Trigonometric functions of float (OpenCL C 1.2 specification 6.12.2; accuracy: table 7.4, sin, cos 4 ULP, tan 5 ULP).
// Provides f: sin cos tan sincos sinpi cospi tanpi native_sin native_cos native_tan half_sin half_cos half_tan
#include "internal.h"

#define ROUNDER 0x1.8p23f

/* 2/pi, 24 bits from each byte on: a window of 32 bits of it starts at byte i. Bits as in Payne and Hanek, "Radian
   reduction for trigonometric functions", SIGNUM 18, 1983. */
__constant uint __hw_two_over_pi_f[24] = {
    0x000000a2, 0x0000a2f9, 0x00a2f983, 0xa2f9836e, 0xf9836e4e, 0x836e4e44, 0x6e4e4415, 0x4e441529,
    0x441529fc, 0x1529fc27, 0x29fc2757, 0xfc2757d1, 0x2757d1f5, 0x57d1f534, 0xd1f534dd, 0xf534ddc0,
    0x34ddc0db, 0xddc0db62, 0xc0db6295, 0xdb629599, 0x6295993c, 0x95993c43, 0x993c4390, 0x3c439041};

/* x = n pi/2 + r for |x| >= 2^17: 96 bits of 2/pi times the mantissa, in integers. */
HELPER float reduce_huge(float x, private int *n) {
  uint bits = as_uint(x) & 0x7fffffff, at = (bits >> 26) & 15, shift = (bits >> 23) & 7;
  uint m = ((bits & 0x7fffff) | 0x800000) << shift;
  ulong top = (ulong)(m * __hw_two_over_pi_f[at]) << 32;
  ulong middle = (ulong)m * __hw_two_over_pi_f[at + 4], low = (ulong)m * __hw_two_over_pi_f[at + 8];
  ulong product = top + middle + (low >> 32);
  ulong quadrant = (product + (1UL << 61)) >> 62;
  long fraction = (long)(product - (quadrant << 62));
  float r = (float)fraction * 0x1.921fb6p-62f;
  bool negative = as_int(x) < 0;
  *n = negative ? -(int)quadrant : (int)quadrant;
  return negative ? -r : r;
}

/* x = n pi/2 + r, |r| <= pi/4, for |x| < 2^17: pi/2 in three parts (Cody and Waite); the first product cancels exactly. */
HELPER float reduce_small(float x, private int *n) {
  float t = FMA(x, 0x1.45f306p-1f, ROUNDER);
  float k = t - ROUNDER;
  *n = as_int(t);
  float r = FMA(k, -0x1.921fb6p+0f, x);
  r = FMA(k, 0x1.777a5cp-25f, r);
  return FMA(k, 0x1.ee59dap-50f, r);
}

HELPER float reduce(float x, private int *n) {
  float r = reduce_small(x, n);
  if (!(ABS(x) < 0x1p17f)) {
    r = reduce_huge(x, n);
    r = ABS(x) < INFINITY ? r : NAN;
  }
  return r;
}

HELPER float sin_kernel(float r, float z) {
  return FMA(r * z, FMA(FMA(-0x1.9952d8p-13f, z, 0x1.110776p-7f), z, -0x1.555546p-3f), r);
}
HELPER float cos_kernel(float z) {
  return FMA(z * z, FMA(FMA(0x1.99e806p-16f, z, -0x1.6c0c28p-10f), z, 0x1.55554ap-5f), FMA(z, -0.5f, 1.0f));
}
HELPER float flip(float value, int quadrant) { return as_float(as_uint(value) ^ ((uint)(quadrant & 2) << 30)); }

HELPER float sin_in(float r, int n) {
  float z = r * r, s = sin_kernel(r, z), c = cos_kernel(z);
  return flip(n & 1 ? c : s, n);
}
HELPER float tan_in(float r, int n) {
  float z = r * r, s = sin_kernel(r, z), c = cos_kernel(z);
  return (n & 1 ? -c : s) / (n & 1 ? s : c);
}

PURE float sin(float x) {
  int n;
  float r = reduce(x, &n);
  return x == 0.0f ? x : sin_in(r, n); /* keeps the sign of a zero */
}
PURE float cos(float x) {
  int n;
  float r = reduce(x, &n);
  return sin_in(r, n + 1);
}
PURE float tan(float x) {
  int n;
  float r = reduce(x, &n);
  return x == 0.0f ? x : tan_in(r, n);
}
#define SINCOS(space) \
  OVER float sincos(float x, space float *cosine) { \
    int n; \
    float r = reduce(x, &n), z = r * r, s = sin_kernel(r, z), c = cos_kernel(z); \
    *cosine = flip(n & 1 ? s : c, n + 1); \
    return x == 0.0f ? x : flip(n & 1 ? c : s, n); \
  }
SINCOS(private) SINCOS(global) SINCOS(local) SINCOS(generic)

/* The native forms are for |x| < 2^17. */
PURE float native_sin(float x) {
  int n;
  float r = reduce_small(x, &n);
  return sin_in(r, n);
}
PURE float native_cos(float x) {
  int n;
  float r = reduce_small(x, &n);
  return sin_in(r, n + 1);
}
PURE float native_tan(float x) {
  int n;
  float r = reduce_small(x, &n);
  return tan_in(r, n);
}

/* The half forms are for |x| <= 2^16; of larger ones they give a value that a sine, cosine or tangent can have. */
HELPER float within(float x) { return ABS(x) < 0x1p17f ? x : x * 0.0f; }
PURE float half_sin(float x) { return native_sin(within(x)); }
PURE float half_cos(float x) { return native_cos(within(x)); }
PURE float half_tan(float x) { return native_tan(within(x)); }

/* x = n/2 + r exactly, n modulo 4; r times pi. */
HELPER float reduce_pi(float x, private int *n) {
  float y = FMA(__builtin_elementwise_roundeven(0.5f * x), -2.0f, x);
  float k = __builtin_elementwise_roundeven(2.0f * y);
  *n = (int)(ABS(k) <= 2.0f ? k : 0.0f);
  float r = FMA(k, -0.5f, y);
  return FMA(r, 0x1.921fb6p+1f, r * -0x1.777a5cp-24f);
}
PURE float sinpi(float x) {
  int n;
  float r = sin_in(reduce_pi(x, &n), n);
  return r == 0.0f ? __builtin_elementwise_copysign(0.0f, x) : r;
}
PURE float cospi(float x) {
  int n;
  float r = reduce_pi(x, &n);
  r = sin_in(r, n + 1);
  return r == 0.0f ? 0.0f : r;
}
PURE float tanpi(float x) {
  int n;
  float r = reduce_pi(x, &n), t = tan_in(r, n);
  /* Zeros and poles alternate in sign (7.5.1). */
  float zero = __builtin_elementwise_copysign(0.0f, n & 2 ? -x : x);
  float pole = (n & 3) == 1 ? INFINITY : -INFINITY;
  return r == 0.0f ? (n & 1 ? pole : zero) : t;
}
