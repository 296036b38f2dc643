/* log2 and exp2 with a dozen bits more than a double holds, as a sum of two. */

/* log2 of a non-negative number as a sum hi + lo, good to 2^-64 relative; infinite at 0 and infinity. */
HELPER double log2_sum(double a, private double *lo) {
  bool tiny = a < DBL_MIN;
  double x = tiny ? a * 0x1p54 : a;
  long bits = as_long(x) - 0x3fe6a09e667f3bcdL; /* 1 + f in [sqrt 1/2, sqrt 2) */
  int e = (int)(bits >> 52);
  double k = (double)e - (tiny ? 54.0 : 0.0);
  double f = as_double(as_long(x) - (long)((ulong)(long)e << 52)) - 1.0;
  /* log(1 + f) = 2 atanh(s), s = f / (2 + f) in two parts */
  double g = 2.0 + f, g_lo = f - (g - 2.0), reciprocal = 1.0 / g;
  double s = f * reciprocal;
  double s_lo = FMA(-s, g_lo, FMA(-s, g, f)) * reciprocal;
  double z = s * s, z_lo = FMA(s, s, -z) + 2.0 * s * s_lo;
  /* atanh(s) / s = 1 + z/3 + z^2 q(z), the first two in two parts */
  double q = FMA(FMA(FMA(0x1.eac68aa992d24p-5, z, 0x1.de3d5e274286ap-5), z, 0x1.11206f7abd6eep-4), z,
                 0x1.3b1364c84f173p-4);
  q = FMA(FMA(FMA(FMA(q, z, 0x1.745d182956af8p-4), z, 0x1.c71c71c59694dp-4), z, 0x1.2492492492f51p-3), z,
          0x1.9999999999996p-3);
  double t = z * 0x1.5555555555555p-2;
  double t_lo = FMA(z, 0x1.5555555555555p-2, -t) + FMA(z, 0x1.5555555555555p-56, z_lo * 0x1.5555555555555p-2);
  t_lo = FMA(z * z, q, t_lo);
  double u = 1.0 + t, u_lo = (1.0 - u) + t + t_lo;
  /* times s, times 2 / ln 2 */
  double m = s * u, m_lo = FMA(s, u, -m) + FMA(s, u_lo, s_lo * u);
  double h = m * 0x1.71547652b82fep+1;
  double l = FMA(m, 0x1.71547652b82fep+1, -h) + FMA(m, 0x1.777d0ffda0d24p-55, m_lo * 0x1.71547652b82fep+1);
  double sum = k + h, rest = (k - sum) + h + l;
  double total = sum + rest;
  rest += sum - total;
  bool edge = a == 0.0 || !(a < INFINITY);
  *lo = edge ? 0.0 : rest;
  return a == 0.0 ? -INFINITY : a < INFINITY ? total : a;
}

/* 2^(hi + lo) */
HELPER double exp2_sum(double hi, double lo) {
  lo = ABS(hi) < 4096.0 ? lo : 0.0;
  hi = -1100.0 > hi ? -1100.0 : hi;
  hi = 1024.5 < hi ? 1024.5 : hi;
  double t = hi + ROUNDER;
  double r = (hi - (t - ROUNDER)) + lo;
  return times_two_to(FMA(r, exp2_tail(r), 1.0), INTEGER_IN(t));
}
