// Exponentials of float (OpenCL C 1.2 specification 6.12.2; accuracy: table 7.4, 3 ULP).
// Provides f: exp exp2 exp10 native_exp native_exp2 native_exp10 half_exp half_exp2 half_exp10
#include "internal.h"
#include "float_exp.h"

PURE float exp(float x) { return exp_scaled(x, 0, 89.0f); }

PURE float exp2(float x) {
  x = -151.0f > x ? -151.0f : x;
  x = 128.0f < x ? 128.0f : x;
  float t = x + ROUNDER;
  float r = x - (t - ROUNDER);
  return times_two_to(FMA(r, exp2_tail(r), 1.0f), INTEGER_IN(t));
}

PURE float exp10(float x) {
  x = -46.0f > x ? -46.0f : x;
  x = 38.6f < x ? 38.6f : x;
  float t = FMA(x, 0x1.a934fp+1f, ROUNDER);
  float k = t - ROUNDER;
  float r = FMA(k, 0x1.ec10cp-27f, FMA(k, -0x1.344136p-2f, x)); /* log10 2 in two parts */
  r = FMA(r, 0x1.26bb1cp+1f, r * -0x1.12aabap-25f);             /* ln 10 in two parts */
  return times_two_to(FMA(r * r, exp_tail(r), r) + 1.0f, INTEGER_IN(t));
}

/* The native and half forms leave out what only results below the normal range need. */
HELPER float quick_exp2(float x) {
  x = -126.0f > x ? -126.0f : x;
  x = 128.0f < x ? 128.0f : x;
  float t = x + ROUNDER;
  float r = x - (t - ROUNDER);
  float p = FMA(FMA(FMA(0x1.5c848ep-10f, r, 0x1.3cf60ap-7f), r, 0x1.c6b612p-5f), r, 0x1.ebf9c2p-3f);
  p = FMA(FMA(p, r, 0x1.62e42ap-1f), r, 1.0f);
  return p * as_float((uint)(INTEGER_IN(t) + 126) << 23) * 2.0f;
}
PURE float native_exp2(float x) { return quick_exp2(x); }
PURE float native_exp(float x) { return quick_exp2(x * 0x1.715476p+0f); }
PURE float native_exp10(float x) { return quick_exp2(x * 0x1.a934fp+1f); }
PURE float half_exp2(float x) { return exp2(x); }
PURE float half_exp(float x) { return exp(x); }
PURE float half_exp10(float x) { return exp10(x); }
