// Gamma functions of float in float alone (OpenCL C 1.2 specification 6.12.2; accuracy: table 7.4, tgamma 16 ULP): not all of
// these chips have double precision.
// Provides f: tgamma lgamma lgamma_r
#include "../internal.h"
#include "../float_log.h"

float __attribute__((overloadable, const)) sinpi(float);

/* 1 / Gamma(1.5 + u) for |u| <= 1/2, an entire function: minimax fit by `python benchmarks/minimax.py`, 2^-24. */
HELPER float inverse_gamma(float u) {
  float p = FMA(FMA(FMA(-0x1.6ccb96p-11f, u, 0x1.fb654ep-10f), u, 0x1.a27cep-8f), u, -0x1.58a168p-5f);
  p = FMA(FMA(FMA(p, u, 0x1.a1dc4cp-5f), u, 0x1.6697bp-3f), u, -0x1.0da604p-1f);
  return FMA(FMA(p, u, -0x1.514d3ep-5f), u, 0x1.20dd76p+0f);
}

/* The high half of a float's digits: products of halves are exact. */
HELPER float upper(float x) { return as_float(as_int(x) & ~0xfff); }

PURE float tgamma(float x) {
  float y = x < 36.0f ? x : 36.0f;
  y = y > -42.0f ? y : -41.5f; /* further down Gamma is less than any float */
  /* Gamma(y) = (y - 1) (y - 2) ... z Gamma(z), or the other way round; the product as a sum of two floats, 64 binades lower
     where it is large. Factors are exact: differences of a float and a whole number nearer to 0. */
  float z = y, product = y > 20.0f || y < -20.0f ? 0x1p-64f : 1.0f, rest = 0.0f;
  while (z >= 2.0f || z < 1.0f) {
    float down = z - 1.0f, factor = z >= 2.0f ? down : z;
    z = z >= 2.0f ? down : z + 1.0f;
    float high = upper(product), low = product - high, f = upper(factor), g = factor - f, next = product * factor;
    float error = ((high * f - next) + high * g + low * f) + low * g;
    rest = FMA(rest, factor, error);
    product = next;
  }
  float g = inverse_gamma(z - 1.5f);
  product += rest;
  float r = y >= 2.0f ? product / g : 1.0f / (product * g);
  r *= y > 20.0f ? 0x1p+64f : y < -20.0f ? 0x1p-64f : 1.0f;
  r = x < -42.0f ? 0.0f : r;
  bool whole = __builtin_elementwise_trunc(x) == x;
  r = x < 0.0f && whole ? NAN : r;
  r = x == 0.0f ? __builtin_elementwise_copysign(INFINITY, x) : r;
  return x != x ? x : r;
}

/* log Gamma(x) / ((x - 1) (x - 2)) for x = u + 1.7500003 in [1, 2.5]: minimax fit by the same, 2^-23. */
HELPER float lgamma_fraction(float u) {
  float p = FMA(FMA(FMA(-0x1.91e454p-16f, u, 0x1.8bd418p-13f), u, -0x1.96b58ep-12f), u, 0x1.2539c8p-11f);
  p = FMA(FMA(FMA(FMA(p, u, -0x1.08c1a2p-10f), u, 0x1.0ff13ap-9f), u, -0x1.158898p-8f), u, 0x1.1fc7e4p-7f);
  return FMA(FMA(FMA(FMA(p, u, -0x1.382bdp-6f), u, 0x1.6cb4cep-5f), u, -0x1.e9658p-4f), u, 0x1.ccf15p-2f);
}
HELPER float logarithm(float x) {
  float k, f = reduce_log(x, &k);
  return FMA(k, 0x1.62e43p-1f, f + FMA(k, -0x1.05c61p-29f, log_tail(f)));
}
HELPER float lgamma_core(float x, private int *sign) {
  float a = ABS(x);
  /* Down to [1.5, 2.5] by the recurrence, up from below 1. */
  float v = a < 10.0f ? a : 2.0f, product = 1.0f;
  while (v > 2.5f) {
    v -= 1.0f;
    product *= v;
  }
  bool low = a < 1.0f;
  float near = low ? lgamma_fraction(a - 0.7500003f) * a * (a - 1.0f) : lgamma_fraction(v - 1.7500003f) * (v - 1.0f) * (v - 2.0f);
  float log_a = logarithm(a < 10.0f && !low ? product : a);
  /* Stirling's series, Abramowitz and Stegun 6.1.41. */
  float w = 1.0f / (a < 10.0f ? 10.0f : a);
  float tail = w * FMA(w * w, -1.0f / 360.0f, 1.0f / 12.0f);
  float big = FMA(a - 0.5f, log_a - 1.0f, 0.41893853f + tail); /* (log(2 pi) - 1) / 2 */
  float r = a < 10.0f ? near + (low ? -log_a : log_a) : big;
  r = a < INFINITY ? r : a;
  /* Gamma(x) Gamma(-x) = -pi / (x sin(pi x)) */
  float s = ABS(sinpi(x)) * a;
  float reflection = logarithm(s > 0.0f ? 0x1.921fb6p+1f / s : 1.0f);
  bool negative = x < 0.0f;
  bool pole = x == 0.0f || (negative && __builtin_elementwise_trunc(x) == x);
  float whole = __builtin_elementwise_floor(x);
  bool odd = 2.0f * __builtin_elementwise_floor(0.5f * whole) != whole;
  *sign = as_int(x) < 0 && (odd || x == 0.0f) ? -1 : 1;
  r = negative && a > 0x1p-30f ? reflection - r : r; /* closer to 0 both are -log |x| */
  r = pole ? INFINITY : r;
  return x != x ? x : r;
}
PURE float lgamma(float x) {
  int sign;
  return lgamma_core(x, &sign);
}
#define LGAMMA_R(space) \
  OVER float lgamma_r(float x, space int *sign) { \
    int s; \
    float r = lgamma_core(x, &s); \
    *sign = s; \
    return r; \
  }
LGAMMA_R(private) LGAMMA_R(global) LGAMMA_R(local) LGAMMA_R(generic)
