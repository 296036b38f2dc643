// Hyperbolic functions of double and their inverses, expm1, cbrt, hypot (OpenCL C 1.2 specification 6.12.2, table 7.4).
// Provides d: expm1 sinh cosh tanh asinh acosh atanh cbrt hypot
#include "internal.h"
#include "double_exp.h"
#include "double_log.h"

PURE double expm1(double x) {
  double c = -40.0 > x ? -40.0 : x;
  c = 710.0 < c ? 710.0 : c;
  int n;
  double r = reduce_exp(c, &n);
  double e = FMA(r * r, exp_tail(r), r);
  double half_scale = as_double((ulong)(n + 1022) << 52); /* 2^(n-1): 2^1024 would not fit */
  double result = 2.0 * FMA(half_scale, e, half_scale - 0.5);
  return ABS(x) < 0x1p-54 ? x : result;
}

/* (sinh(s) - s)/s^3 for z = s^2 <= 1: minimax fit, 2^-60. */
HELPER double sinh_tail(double z) {
  double p = FMA(FMA(FMA(0x1.d63cb08a245edp-48, z, 0x1.a64c75ecf754fp-41), z, 0x1.61316f0df8809p-33), z, 0x1.ae6440f4c77c9p-26);
  p = FMA(FMA(FMA(p, z, 0x1.71de3a68f08ebp-19), z, 0x1.a01a01a0071fbp-13), z, 0x1.111111111119bp-7);
  p = FMA(p, z, 0x1.5555555555555p-3);
  return p;
}
PURE double sinh(double x) {
  double a = ABS(x), z = a * a;
  double h = exp_scaled(a, -1, 711.0);
  double r = a < 1.0 ? FMA(a * z, sinh_tail(z), a) : h - 0.25 / h;
  return __builtin_elementwise_copysign(r, x);
}
PURE double cosh(double x) {
  double h = exp_scaled(ABS(x), -1, 711.0);
  return h + 0.25 / h;
}

/* (tanh(s) - s)/s^3 for z = s^2 <= 0.36: minimax fit, 2^-60. */
HELPER double tanh_tail(double z) {
  double p = FMA(FMA(FMA(0x1.b46860e61ddabp-18, z, -0x1.058a0225255fcp-15), z, 0x1.83ed4ff3d41d5p-14), z, -0x1.f219ae4fc064dp-13);
  p = FMA(FMA(FMA(p, z, 0x1.3521c64b6083cp-11), z, -0x1.7d9eadf3e96b8p-10), z, 0x1.d6d3892669819p-9);
  p = FMA(FMA(FMA(p, z, -0x1.226e33f164a47p-7), z, 0x1.664f487982836p-6), z, -0x1.ba1ba1b9f8961p-5);
  p = FMA(FMA(p, z, 0x1.1111111110fp-3), z, -0x1.5555555555554p-2);
  return p;
}
PURE double tanh(double x) {
  double a = ABS(x), z = a * a;
  double t = exp_scaled(2.0 * a, 0, 80.0);
  double r = a < 0.6 ? FMA(a * z, tanh_tail(z), a) : 1.0 - 2.0 / (t + 1.0);
  return __builtin_elementwise_copysign(r, x);
}

/* asinh(a) = log1p(a + a^2 / (1 + sqrt(a^2 + 1))) */
PURE double asinh(double x) {
  double a = ABS(x);
  bool huge = a > 0x1p500;
  double b = huge ? 1.0 : a;
  double d = b + b * b / (1.0 + __builtin_elementwise_sqrt(FMA(b, b, 1.0)));
  double u = huge ? a : 1.0 + d;
  double lost = huge ? 0.0 : d < 1.0 ? d - (u - 1.0) : 1.0 - (u - d);
  double r = log_plus(u, lost, huge ? 0x1.62e42fefa39efp-1 : 0.0);
  r = a < 0x1p-28 ? a : r;
  return a < INFINITY ? __builtin_elementwise_copysign(r, x) : x;
}
PURE double acosh(double x) {
  bool huge = x > 0x1p500;
  double u = x - 1.0; /* exact up to 2 */
  double d = u + __builtin_elementwise_sqrt(FMA(u, u, 2.0 * u));
  double t = huge ? x : 1.0 + d;
  double lost = huge ? 0.0 : d < 1.0 ? d - (t - 1.0) : 1.0 - (t - d);
  double r = log_plus(t, lost, huge ? 0x1.62e42fefa39efp-1 : 0.0);
  r = x < INFINITY ? r : x;
  return x < 1.0 ? NAN : r;
}
/* atanh(a) = log1p(2a / (1 - a)) / 2 */
PURE double atanh(double x) {
  double a = ABS(x);
  double r = 0.5 * log1p_core(2.0 * a / (1.0 - a));
  r = a < 0x1p-28 ? a : r;
  r = a == 1.0 ? INFINITY : r;
  return a <= 1.0 ? __builtin_elementwise_copysign(r, x) : NAN;
}

PURE double cbrt(double x) {
  ulong a = as_ulong(x) & 0x7fffffffffffffff;
  bool tiny = a < 0x0010000000000000;
  double v = tiny ? as_double(a) * 0x1p54 : as_double(a);
  int e = (int)(as_ulong(v) >> 52) - 1023; /* x = m 2^e, m in [1, 2) */
  double m = as_double((as_ulong(v) & 0xfffffffffffff) | 0x3ff0000000000000);
  int third = ((e + 3072) * 43691 >> 17) - 1024; /* floor(e / 3) */
  int rest = e - 3 * third;
  /* t = m^(-1/3) to 2^-14, then to 2^-43; m t^2 is the root but for the residue 1 - m t^3. */
  double t = FMA(FMA(FMA(FMA(0x1.d46eab5963ea5p-6, m, -0x1.c517d30517af2p-3), m, 0x1.641602b7811efp-1), m, -0x1.2c41b9e6ac8fbp+0), m, 0x1.ab857fe77369dp+0);
  double d = FMA(-m * t, t * t, 1.0);
  t = FMA(t * d, FMA(d, 0x1.c71c71c71c71cp-3, 0x1.5555555555555p-2), t);
  double c = m * t * t;
  d = FMA(-c, t, 1.0);
  double r = FMA(c * d, 0x1.5555555555555p-1, c);
  double f = rest == 0 ? 1.0 : rest == 1 ? 0x1.428a2f98d728bp+0 : 0x1.965fea53d6e3dp+0;
  double f_lo = rest == 0 ? 0.0 : rest == 1 ? -0x1.ddc22548ea41ep-56 : -0x1.f53e999952f09p-54;
  r = FMA(r, f, r * f_lo) * as_double((ulong)(third - (tiny ? 18 : 0) + 1023) << 52);
  return a == 0 || a >= 0x7ff0000000000000 ? x : __builtin_elementwise_copysign(r, x);
}

PURE double hypot(double x, double y) {
  double a = ABS(x), b = ABS(y);
  double top = a > b ? a : b, low = a > b ? b : a;
  double down = top > 0x1p500 ? 0x1p-600 : top < 0x1p-500 ? 0x1p600 : 1.0;
  double up = top > 0x1p500 ? 0x1p600 : top < 0x1p-500 ? 0x1p-600 : 1.0;
  top *= down;
  low *= down;
  double r = __builtin_elementwise_sqrt(FMA(top, top, low * low)) * up;
  r = x != x || y != y ? NAN : r;
  return a == INFINITY || b == INFINITY ? INFINITY : r;
}
