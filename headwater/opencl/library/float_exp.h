/* The core of the float exponentials; coefficients: minimax fits by `python benchmarks/minimax.py`. */

/* p * 2^n for p in [0.5, 2], -190 < n <= 129, rounded once: results below the normal range are made 64 binades higher.
   So are the lowest normal ones: half of them is no normal number, and 0 on chips that flush. */
HELPER float times_two_to(float p, int n) {
  bool low = n < -124;
  float scale = as_float((uint)(n + (low ? 127 + 64 : 126)) << 23);
  return p * scale * (low ? 0x1p-64f : 2.0f);
}

/* Adding this leaves the nearest integer in the low bits of the sum. */
#define ROUNDER 0x1.8p23f
#define INTEGER_IN(sum) (as_int(sum) - 0x4b400000)

/* x = n ln 2 + r, |r| <= 0.35. */
HELPER float reduce_exp(float x, private int *n) {
  float t = FMA(x, 0x1.715476p+0f, ROUNDER);
  float k = t - ROUNDER;
  *n = INTEGER_IN(t);
  return FMA(k, 0x1.05c61p-29f, FMA(k, -0x1.62e43p-1f, x));
}

/* (e^r - 1 - r) / r^2 for |r| <= 0.35; with it e^r is good to 2^-27. */
HELPER float exp_tail(float r) {
  return FMA(FMA(FMA(FMA(0x1.6a9e32p-10f, r, 0x1.123deep-7f), r, 0x1.55588ap-5f), r, 0x1.555494p-3f), r, 0x1.fffffcp-2f);
}

/* (2^r - 1) / r for |r| <= 0.5; with it 2^r is good to 2^-27. */
HELPER float exp2_tail(float r) {
  float p = FMA(FMA(0x1.42a634p-13f, r, 0x1.5f14fap-10f), r, 0x1.3b2d2ap-7f);
  return FMA(FMA(FMA(p, r, 0x1.c6af7p-5f), r, 0x1.ebfbdcp-3f), r, 0x1.62e43p-1f);
}

/* e^x 2^shift, x cut to [-105, limit], which must give 0 and infinity exactly; a NaN passes both selects. */
HELPER float exp_scaled(float x, int shift, float limit) {
  x = -105.0f > x ? -105.0f : x;
  x = limit < x ? limit : x;
  int n;
  float r = reduce_exp(x, &n);
  float p = FMA(r * r, exp_tail(r), r) + 1.0f;
  n += shift;
  return times_two_to(p, n);
}
