// Hyperbolic functions of float and their inverses, expm1, cbrt, hypot (OpenCL C 1.2 specification 6.12.2, table 7.4).
// Provides f: expm1 sinh cosh tanh asinh acosh atanh cbrt hypot
#include "internal.h"
#include "float_exp.h"
#include "float_log.h"

PURE float expm1(float x) {
  float c = -20.0f > x ? -20.0f : x;
  c = 89.0f < c ? 89.0f : c;
  int n;
  float r = reduce_exp(c, &n);
  float e = FMA(r * r, exp_tail(r), r);
  float half_scale = as_float((uint)(n + 126) << 23); /* 2^(n-1): 2^128 would not fit */
  float result = 2.0f * FMA(half_scale, e, half_scale - 0.5f);
  return ABS(x) < 0x1p-24f ? x : result;
}

PURE float sinh(float x) {
  float a = ABS(x), z = a * a;
  float h = exp_scaled(a, -1, 90.0f);
  float p = FMA(FMA(FMA(0x1.756c6p-19f, z, 0x1.a022bcp-13f), z, 0x1.1110ep-7f), z, 0x1.555556p-3f);
  float r = a < 1.0f ? FMA(a * z, p, a) : h - 0.25f / h;
  return __builtin_elementwise_copysign(r, x);
}
PURE float cosh(float x) {
  float h = exp_scaled(ABS(x), -1, 90.0f);
  return h + 0.25f / h;
}
PURE float tanh(float x) {
  float a = ABS(x), z = a * a;
  float t = exp_scaled(2.0f * a, 0, 40.0f);
  float p = FMA(FMA(FMA(-0x1.828864p-8f, z, 0x1.54c3e2p-6f), z, -0x1.b89abcp-5f), z, 0x1.1109bep-3f);
  float small = FMA(a * z, FMA(p, z, -0x1.55553ep-2f), a);
  float r = a < 0.6f ? small : 1.0f - 2.0f / (t + 1.0f);
  return __builtin_elementwise_copysign(r, x);
}

/* log of t >= 1, plus extra. */
HELPER float log_plus(float t, float extra) {
  float k, f = reduce_log(t, &k);
  float r = f + (FMA(k, -0x1.05c61p-29f, log_tail(f)) + extra);
  return FMA(k, 0x1.62e43p-1f, r);
}
PURE float asinh(float x) {
  float a = ABS(x), z = a * a;
  bool huge = a > 0x1p60f;
  float t = huge ? a : a + __builtin_elementwise_sqrt(FMA(a, a, 1.0f));
  float big = log_plus(t, huge ? 0x1.62e43p-1f : 0.0f);
  float p = FMA(FMA(FMA(-0x1.b13daep-7f, z, 0x1.cd6154p-6f), z, -0x1.6b95b4p-5f), z, 0x1.3324f2p-4f);
  float r = a < 0.5f ? FMA(a * z, FMA(p, z, -0x1.555536p-3f), a) : big;
  return a < INFINITY ? __builtin_elementwise_copysign(r, x) : x;
}
PURE float acosh(float x) {
  bool huge = x > 0x1p60f;
  float u = x - 1.0f; /* exact up to 2 */
  float d = u + __builtin_elementwise_sqrt(FMA(u, u, 2.0f * u));
  /* log(1 + d), with what the sum 1 + d loses added back */
  float t = huge ? x : 1.0f + d;
  float lost = huge ? 0.0f : d < 1.0f ? d - (t - 1.0f) : 1.0f - (t - d);
  float k, f = reduce_log(t, &k);
  int e = k > 100.0f ? 100 : (int)k;
  f = FMA(lost, as_float(0x3f800000 - (int)((uint)e << 23)), f);
  float r = f + (FMA(k, -0x1.05c61p-29f, log_tail(f)) + (huge ? 0x1.62e43p-1f : 0.0f));
  r = FMA(k, 0x1.62e43p-1f, r);
  r = x < INFINITY ? r : x;
  return x < 1.0f ? NAN : r;
}
PURE float atanh(float x) {
  float a = ABS(x), z = a * a;
  float p = FMA(FMA(FMA(0x1.6937a2p-3f, z, 0x1.a6c16ep-5f), z, 0x1.e3ff82p-4f), z, 0x1.234d9cp-3f);
  float small = FMA(a * z, FMA(FMA(p, z, 0x1.99a676p-3f), z, 0x1.55554p-2f), a);
  float big = 0.5f * log_plus((1.0f + a) / (1.0f - a), 0.0f);
  float r = a < 0.5f ? small : a == 1.0f ? INFINITY : big;
  return a <= 1.0f ? __builtin_elementwise_copysign(r, x) : NAN;
}

PURE float cbrt(float x) {
  uint a = as_uint(x) & 0x7fffffff;
  bool tiny = a < 0x00800000;
  float v = tiny ? (float)a * 0.25f : as_float(a); /* x 2^147, where denormals are zeros, too */
  int e = (int)(as_uint(v) >> 23) - 127; /* x = m 2^e, m in [1, 2) */
  float m = as_float((as_uint(v) & 0x7fffff) | 0x3f800000);
  int third = ((e + 384) * 43691 >> 17) - 128; /* floor(e / 3) */
  int rest = e - 3 * third;
  /* t = m^(-1/3) to 2^-12; m t^2 is the root but for the residue 1 - m t^3. */
  float t = FMA(FMA(FMA(-0x1.99115cp-5f, m, 0x1.455f94p-2f), m, -0x1.9eb12p-1f), m, 0x1.8ab8a6p+0f);
  float c = m * t * t, d = FMA(-c, t, 1.0f);
  float r = FMA(c * d, FMA(d, 0x1.1c71c8p-1f, 0x1.555556p-1f), c);
  float f = rest == 0 ? 1.0f : rest == 1 ? 0x1.428a3p+0f : 0x1.965feap+0f;
  float f_lo = rest == 0 ? 0.0f : rest == 1 ? -0x1.9ca35ep-26f : 0x1.4f5b9p-26f;
  r = FMA(r, f, r * f_lo) * as_float((uint)(third - (tiny ? 49 : 0) + 127) << 23);
  return a == 0 || a >= 0x7f800000 ? x : __builtin_elementwise_copysign(r, x);
}

PURE float hypot(float x, float y) {
  float a = ABS(x), b = ABS(y);
  float top = a > b ? a : b, low = a > b ? b : a;
  /* Where the smaller one counts, its square is no denormal, which may be zero. */
  float down = top > 0x1p60f ? 0x1p-70f : top < 0x1p-48f ? 0x1p80f : 1.0f;
  float up = top > 0x1p60f ? 0x1p70f : top < 0x1p-48f ? 0x1p-80f : 1.0f;
  top *= down;
  low *= down;
  float r = __builtin_elementwise_sqrt(FMA(top, top, low * low)) * up;
  r = x != x || y != y ? NAN : r;
  return a == INFINITY || b == INFINITY ? INFINITY : r;
}
