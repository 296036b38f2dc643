// Error and gamma functions of double (OpenCL C 1.2 specification 6.12.2; accuracy: table 7.4, erf, erfc, tgamma 16 ULP).
// Provides d: erf erfc tgamma lgamma lgamma_r
#include "internal.h"
#include "double_exp.h"
#include "double_log.h"
#include "double_power.h"

/* erf(x)/x for z = x^2 <= 0.81: minimax fit, 2^-55. */
HELPER double erf_ratio(double z) {
  double p = FMA(FMA(FMA(-0x1.3465efccffb03p-31, z, 0x1.b680d8a9f41a6p-27), z, -0x1.58305508ebb4bp-23), z, 0x1.b8fd5bbddb625p-20);
  p = FMA(FMA(FMA(p, z, -0x1.f4bf942386d0cp-17), z, 0x1.f9a22a2a0a4dcp-14), z, -0x1.c02dab5fc2b5p-11);
  p = FMA(FMA(FMA(p, z, 0x1.565bccdf189c6p-8), z, -0x1.b82ce311583f4p-6), z, 0x1.ce2f21a03eccep-4);
  p = FMA(FMA(p, z, -0x1.812746b037995p-2), z, 0x1.20dd750429b6dp+0);
  return p;
}
/* (1 + 2a) exp(a^2) erfc(a), a = 4 (1 + t)/(1 - t) >= 0.8: minimax fit, 2^-54. Form: Shepherd and Laframboise, "Chebyshev
   approximation of (1 + 2x) exp(x^2) erfc x", Mathematics of Computation 36, 1981. */
HELPER double erfc_fraction(double t) {
  double p = FMA(FMA(FMA(-0x1.ff84c085a5bd5p-27, t, 0x1.6dd307f42c014p-24), t, 0x1.1d65a39b7322bp-24), t, -0x1.b06590d1849cap-21);
  p = FMA(FMA(FMA(p, t, 0x1.49f903b6d96e5p-22), t, 0x1.7e8d3feffeb05p-18), t, -0x1.78ece9cf55ce1p-17);
  p = FMA(FMA(FMA(p, t, -0x1.994e03921792dp-16), t, 0x1.3be32ff2ebba5p-13), t, -0x1.a1df6c97735e2p-13);
  p = FMA(FMA(FMA(p, t, -0x1.8d4acc8485173p-11), t, 0x1.49c672d61e69ap-8), t, -0x1.09623844d5e72p-6);
  p = FMA(FMA(FMA(p, t, 0x1.3079edf5894d1p-5), t, -0x1.0fb06dffb8cddp-4), t, 0x1.7fee004e19d56p-4);
  p = FMA(FMA(FMA(p, t, -0x1.9ddb23c3d891p-4), t, 0x1.16ecefcfa5006p-4), t, 0x1.f7f5df66fb341p-7);
  p = FMA(FMA(p, t, -0x1.1df1ad154a28ap-3), t, 0x1.3ba5916e9fd7fp+0);
  return p;
}
HELPER double erfc_far(double a) {
  a = a < 28.0 ? a : 28.0;
  double p = a + 4.0, q = FMA(2.0, a, 1.0), inverse = 1.0 / (p * q);
  double h = a * a, l = FMA(a, a, -h);
  double e = exp_scaled(-h, 128, 0.0); /* 2^128 more, so that the product below rounds once */
  return erfc_fraction((a - 4.0) * q * inverse) * p * inverse * FMA(-l, e, e) * 0x1p-128;
}
PURE double erf(double x) {
  double a = ABS(x);
  double r = a < 0.9 ? a * erf_ratio(a * a) : 1.0 - erfc_far(a);
  return x != x ? x : __builtin_elementwise_copysign(r, x);
}
PURE double erfc(double x) {
  double a = ABS(x), far = erfc_far(a);
  double r = a < 0.8 ? FMA(-x, erf_ratio(a * a), 1.0) : x < 0.0 ? 2.0 - far : far;
  return x != x ? x : r;
}

/* ---- gamma */

/* log Gamma(w) - (w - 1/2) log w + w - log(2 pi)/2 for w >= 10: Stirling's series, Abramowitz and Stegun 6.1.41. */
HELPER double stirling(double w) {
  double v = 1.0 / w, z = v * v;
  double p = FMA(FMA(FMA(-3617.0 / 122400.0, z, 1.0 / 156.0), z, -691.0 / 360360.0), z, 1.0 / 1188.0);
  p = FMA(FMA(FMA(FMA(p, z, -1.0 / 1680.0), z, 1.0 / 1260.0), z, -1.0 / 360.0), z, 1.0 / 12.0);
  return v * p;
}
double __attribute__((overloadable, const)) sinpi(double);

PURE double tgamma(double x) {
  /* Gamma(x) = pi / (sin(pi x) Gamma(1 - x)) */
  bool reflected = x < 0.5;
  double y = reflected ? 1.0 - x : x, lost = reflected ? (1.0 - y) - x : 0.0;
  y = y < 400.0 ? y : 400.0;
  /* Gamma(y) = Gamma(w) / (y (y + 1) ... (w - 1)), w >= 10 */
  double product = 1.0, w = y;
  for (int i = 0; i < 10; i++) {
    bool more = w < 10.0;
    double next = y + (double)(i + 1);
    product *= more ? w : 1.0;
    lost = more && next >= 10.0 ? lost + (y - (next - (double)(i + 1))) : lost;
    w = more ? next : w;
  }
  /* log2 Gamma(w) in two parts; lost is what w lacks, worth psi(w) = log w - 1/(2w) each. */
  double l, h = log2_sum(w, &l);
  double c = w - 0.5, p = c * h, p_lo = FMA(c, h, -p) + c * l;
  double q = w * 0x1.71547652b82fep+0, q_lo = FMA(w, 0x1.71547652b82fep+0, -q) + w * 0x1.777d0ffda0d24p-56;
  double d = p - q, back = p - d, d_lo = back - q;
  d_lo += p_lo - q_lo;
  double e = d + 0x1.536439a4c6efcp+0, e_lo = 0x1.536439a4c6efcp+0 - (e - d);
  e_lo += d_lo - 0x1.49e49a361efebp-54;
  e_lo = FMA(stirling(w), 0x1.71547652b82fep+0, e_lo);
  e_lo = FMA(lost, h - 0x1.71547652b82fep-1 / w, e_lo);
  /* A reciprocal below the normal range is kept 256 binades higher until it meets the sine. */
  bool deep = reflected && e > 900.0;
  double g = exp2_sum(deep ? 256.0 - e : reflected ? -e : e, reflected ? -e_lo : e_lo);
  double s = sinpi(x);
  double r = reflected ? 0x1.921fb54442d18p+1 * product * g / s : g / product;
  r = deep ? r * 0x1p-256 : r;
  bool whole = __builtin_elementwise_trunc(x) == x;
  r = x < 0.0 && whole ? NAN : r;
  r = x == 0.0 ? __builtin_elementwise_copysign((double)INFINITY, x) : r;
  return x != x ? x : r;
}

/* log Gamma(x) / ((x - 1) (x - 2)) for x = u + 1.7500003 in [1, 2.5]: minimax fit, 2^-53. */
HELPER double lgamma_fraction(double u) {
  double p = FMA(FMA(FMA(-0x1.5578910ec3987p-23, u, 0x1.4f0a0be5ff222p-22), u, 0x1.35fbfde6ef4cp-25), u, -0x1.219ac05a7a849p-23);
  p = FMA(FMA(FMA(p, u, -0x1.9605fd77ca737p-21), u, 0x1.8d1a8c06fb56dp-20), u, -0x1.db20d5c3c5139p-20);
  p = FMA(FMA(FMA(p, u, 0x1.ad0f5a9537439p-19), u, -0x1.b33ad31794067p-18), u, 0x1.950b8bb8b9b89p-17);
  p = FMA(FMA(FMA(p, u, -0x1.759e397bcdce4p-16), u, 0x1.5d951626cb981p-15), u, -0x1.4919980b56c4ep-14);
  p = FMA(FMA(FMA(p, u, 0x1.3779222147006p-13), u, -0x1.28f23afda865cp-12), u, 0x1.1daea74c34e5ap-11);
  p = FMA(FMA(FMA(p, u, -0x1.16054c2d5baa6p-10), u, 0x1.12aa6028fb017p-9), u, -0x1.14f7b55af449dp-8);
  p = FMA(FMA(FMA(p, u, 0x1.1f957a5c5dd07p-7), u, -0x1.382e0c2076ae8p-6), u, 0x1.6cb61be230eap-5);
  p = FMA(FMA(p, u, -0x1.e9657f04d22c5p-4), u, 0x1.ccf14f78cf36dp-2);
  return p;
}
HELPER double lgamma_core(double x, private int *sign) {
  double a = ABS(x);
  /* Down to [1.5, 2.5] by the recurrence, up from below 1. */
  double v = a, product = 1.0;
  for (int i = 0; i < 8; i++) {
    bool more = v > 2.5;
    v = more ? v - 1.0 : v;
    product *= more ? v : 1.0;
  }
  bool low = a < 1.0;
  double near = low ? lgamma_fraction(a - 0.7500003) * a * (a - 1.0) : lgamma_fraction(v - 1.7500003) * (v - 1.0) * (v - 2.0);
  double k, f = reduce_log(a < 10.0 ? (low ? a : product) : a, &k);
  double logarithm = FMA(k, 0x1.62e42fefa39efp-1, f + FMA(k, 0x1.abc9e3b39803fp-56, log_tail(f)));
  double big = FMA(a - 0.5, logarithm - 1.0, 0x1.acfe390c97d69p-2 + stirling(a < 10.0 ? 10.0 : a));
  double r = a < 10.0 ? near + (low ? -logarithm : logarithm) : big;
  r = a < INFINITY ? r : a;
  /* Gamma(x) Gamma(-x) = -pi / (x sin(pi x)) */
  double s = ABS(sinpi(x)) * a;
  double kr, fr = reduce_log(s > 0.0 ? 0x1.921fb54442d18p+1 / s : 1.0, &kr);
  double reflection = FMA(kr, 0x1.62e42fefa39efp-1, fr + FMA(kr, 0x1.abc9e3b39803fp-56, log_tail(fr)));
  bool negative = x < 0.0;
  bool pole = x == 0.0 || (negative && __builtin_elementwise_trunc(x) == x);
  double whole = __builtin_elementwise_floor(x);
  bool odd = 2.0 * __builtin_elementwise_floor(0.5 * whole) != whole;
  *sign = as_long(x) < 0 && (odd || x == 0.0) ? -1 : 1;
  r = negative && a > 0x1p-60 ? reflection - r : r; /* closer to 0 both are -log |x| */
  r = pole ? INFINITY : r;
  return x != x ? x : r;
}
PURE double lgamma(double x) {
  int sign;
  return lgamma_core(x, &sign);
}
#define LGAMMA_R(space) \
  OVER double lgamma_r(double x, space int *sign) { \
    int s; \
    double r = lgamma_core(x, &s); \
    *sign = s; \
    return r; \
  }
LGAMMA_R(private) LGAMMA_R(global) LGAMMA_R(local) LGAMMA_R(generic)
