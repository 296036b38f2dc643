// Exponentials of double (OpenCL C 1.2 specification 6.12.2; accuracy: table 7.4, 3 ULP).
// Provides d: exp exp2 exp10
#include "internal.h"
#include "double_exp.h"

PURE double exp(double x) { return exp_scaled(x, 0, 710.0); }

PURE double exp2(double x) {
  x = -1080.0 > x ? -1080.0 : x;
  x = 1024.0 < x ? 1024.0 : x;
  double t = x + ROUNDER;
  double r = x - (t - ROUNDER);
  return times_two_to(FMA(r, exp2_tail(r), 1.0), INTEGER_IN(t));
}

PURE double exp10(double x) {
  x = -325.0 > x ? -325.0 : x;
  x = 308.4 < x ? 308.4 : x;
  double t = FMA(x, 0x1.a934f0979a371p+1, ROUNDER);
  double k = t - ROUNDER;
  double r = FMA(k, 0x1.9dc1da994fd21p-59, FMA(k, -0x1.34413509f79ffp-2, x)); /* log10 2 in two parts */
  r = FMA(r, 0x1.26bb1bbb55516p+1, r * -0x1.f48ad494ea3e9p-53);               /* ln 10 in two parts */
  return times_two_to(FMA(r * r, exp_tail(r), r) + 1.0, INTEGER_IN(t));
}
