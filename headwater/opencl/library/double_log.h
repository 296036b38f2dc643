/* The core of the double logarithms; coefficients: minimax fits by `python benchmarks/minimax.py`. */

/* x = 2^k (1 + f), 1 + f in [sqrt 1/2, sqrt 2), for positive finite x. */
HELPER double reduce_log(double x, private double *k) {
  bool tiny = x < DBL_MIN;
  x = tiny ? x * 0x1p54 : x;
  long bits = as_long(x) - 0x3fe6a09e667f3bcdL;
  int e = (int)(bits >> 52);
  *k = (double)e - (tiny ? 54.0 : 0.0);
  return as_double(as_long(x) - (long)((ulong)(long)e << 52)) - 1.0;
}

/* log(1 + f) - f: with s = f / (2 + f), log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)); R is good to 2^-61 of the whole. */
HELPER double log_tail(double f) {
  double s = f / (2.0 + f), z = s * s;
  double p = FMA(FMA(FMA(0x1.2f0419a21e222p-3, z, 0x1.39a1e2aff564ap-3), z, 0x1.74663d097a141p-3), z,
                 0x1.c71c52145a0aep-3);
  p = FMA(FMA(FMA(p, z, 0x1.24924941e0ba3p-2), z, 0x1.999999997ff28p-2), z, 0x1.5555555555592p-1);
  double h = 0.5 * f * f;
  return FMA(s, FMA(p, z, h), -h);
}

/* What a logarithm gives at 0, below it, and at infinity and NaN; r elsewhere. */
HELPER double log_special(double x, double r) {
  r = x < INFINITY ? r : x;
  r = x < 0.0 ? NAN : r;
  return x == 0.0 ? -INFINITY : r;
}

/* log(t + lost) + extra for t >= 1/2, lost a rounding error of t. */
HELPER double log_plus(double t, double lost, double extra) {
  double k, f = reduce_log(t, &k);
  int e = k > 1000.0 ? 1000 : (int)k; /* beyond, lost no longer counts */
  f = FMA(lost, as_double((ulong)(1023 - e) << 52), f);
  double r = f + (FMA(k, 0x1.abc9e3b39803fp-56, log_tail(f)) + extra);
  return FMA(k, 0x1.62e42fefa39efp-1, r);
}
HELPER double log1p_core(double x) {
  double u = 1.0 + x;
  return log_plus(u, ABS(x) < 0x1p60 ? (ABS(x) < 1.0 ? x - (u - 1.0) : 1.0 - (u - x)) : 0.0, 0.0);
}
