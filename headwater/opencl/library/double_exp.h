/* The core of the double exponentials; coefficients: minimax fits by `python benchmarks/minimax.py`. */

/* p * 2^n for p in [0.5, 2], -1150 < n <= 1025, rounded once: results below the normal range are made 128 binades higher. */
HELPER double times_two_to(double p, int n) {
  bool low = n < -1021;
  double scale = as_double((ulong)(n + (low ? 1023 + 128 : 1022)) << 52);
  return p * scale * (low ? 0x1p-128 : 2.0);
}

/* Adding this leaves the nearest integer in the low bits of the sum. */
#define ROUNDER 0x1.8p52
#define INTEGER_IN(sum) ((int)as_ulong(sum))

/* x = n ln 2 + r, |r| <= 0.35. */
HELPER double reduce_exp(double x, private int *n) {
  double t = FMA(x, 0x1.71547652b82fep+0, ROUNDER);
  double k = t - ROUNDER;
  *n = INTEGER_IN(t);
  return FMA(k, -0x1.abc9e3b39803fp-56, FMA(k, -0x1.62e42fefa39efp-1, x));
}

/* (e^r - 1 - r) / r^2 for |r| <= 0.35; with it e^r is good to 2^-57. */
HELPER double exp_tail(double r) {
  double p = FMA(FMA(FMA(0x1.ad8b1dba46fa1p-26, r, 0x1.28acf12252de8p-22), r, 0x1.71df1814d51a7p-19), r,
                 0x1.a0199a949dc4fp-16);
  p = FMA(FMA(FMA(p, r, 0x1.a01a013477418p-13), r, 0x1.6c16c18402143p-10), r, 0x1.111111112489ep-7);
  return FMA(FMA(FMA(p, r, 0x1.5555555550888p-5), r, 0x1.5555555555511p-3), r, 0x1.000000000000ap-1);
}

/* (2^r - 1) / r for |r| <= 0.5; with it 2^r is good to 2^-59. */
HELPER double exp2_tail(double r) {
  double p = FMA(FMA(FMA(0x1.df87af7d2fc7ep-36, r, 0x1.ec771f4673a9ap-32), r, 0x1.e4bc97a037a7p-28), r,
                 0x1.b5232ee0044b3p-24);
  p = FMA(FMA(FMA(p, r, 0x1.62c026df8f473p-20), r, 0x1.ffcbfd4a7fb8bp-17), r, 0x1.430912f769a77p-13);
  p = FMA(FMA(FMA(p, r, 0x1.5d87fe78741e1p-10), r, 0x1.3b2ab6fba5157p-7), r, 0x1.c6b08d704a1d4p-5);
  return FMA(FMA(p, r, 0x1.ebfbdff82c58ep-3), r, 0x1.62e42fefa39efp-1);
}

/* e^x 2^shift, x cut to [-746, limit], which must give 0 and infinity exactly; a NaN passes both selects. */
HELPER double exp_scaled(double x, int shift, double limit) {
  x = -746.0 > x ? -746.0 : x;
  x = limit < x ? limit : x;
  int n;
  double r = reduce_exp(x, &n);
  double p = FMA(r * r, exp_tail(r), r) + 1.0;
  n += shift;
  return times_two_to(p, n);
}
