// Error and gamma functions of float (OpenCL C 1.2 specification 6.12.2; accuracy: table 7.4, erf, erfc, tgamma 16 ULP).
// Provides f: erf erfc tgamma lgamma lgamma_r
#include "internal.h"
#include "float_exp.h"

/* erf(x)/x for z = x^2 <= 0.81: minimax fit, 2^-24. */
HELPER float erf_ratio(float z) {
  float p = FMA(FMA(FMA(-0x1.17bc1cp-11f, z, 0x1.3e8c1ep-8f), z, -0x1.b5029ap-6f), z, 0x1.cdfe2ep-4f);
  return FMA(FMA(p, z, -0x1.81263p-2f), z, 0x1.20dd74p+0f);
}
/* erfc(a) for a >= 0.8: (1 + 2a) exp(a^2) erfc(a) is a polynomial of (a - 2)/(a + 2), good to 2^-25. Form: Shepherd and
   Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", Mathematics of Computation 36, 1981. */
HELPER float erfc_far(float a) {
  a = a < 10.5f ? a : 10.5f;
  float p = a + 2.0f, q = FMA(2.0f, a, 1.0f), inverse = 1.0f / (p * q);
  float t = (a - 2.0f) * q * inverse;
  float c = FMA(FMA(FMA(-0x1.9c9e04p-10f, t, 0x1.254fcap-10f), t, 0x1.209d9ep-7f), t, -0x1.06c23cp-7f);
  c = FMA(FMA(FMA(c, t, -0x1.bc4a9ap-5f), t, 0x1.4ff9d4p-3f), t, -0x1.54075p-3f);
  c = FMA(FMA(c, t, -0x1.7bf5ecp-4f), t, 0x1.46e80ep+0f);
  float h = a * a, l = FMA(a, a, -h);
  float e = exp_scaled(-h, 64, 0.0f); /* 2^64 more, so that the product below rounds once */
  return c * p * inverse * FMA(-l, e, e) * 0x1p-64f;
}
PURE float erf(float x) {
  float a = ABS(x);
  float r = a < 0.9f ? a * erf_ratio(a * a) : 1.0f - erfc_far(a);
  return x != x ? x : __builtin_elementwise_copysign(r, x);
}
PURE float erfc(float x) {
  float a = ABS(x), far = erfc_far(a);
  float r = a < 0.8f ? FMA(-x, erf_ratio(a * a), 1.0f) : x < 0.0f ? 2.0f - far : far;
  return x != x ? x : r;
}

/* The gamma functions lose too many digits in float: they are the double ones, rounded. */
double __attribute__((overloadable, const)) tgamma(double);
double __attribute__((overloadable)) lgamma_r(double, private int *);

PURE float tgamma(float x) { return (float)tgamma((double)x); }
PURE float lgamma(float x) {
  int sign;
  return (float)lgamma_r((double)x, &sign);
}
#define LGAMMA_R(space) \
  OVER float lgamma_r(float x, space int *sign) { \
    int s; \
    float r = (float)lgamma_r((double)x, &s); \
    *sign = s; \
    return r; \
  }
LGAMMA_R(private) LGAMMA_R(global) LGAMMA_R(local) LGAMMA_R(generic)
