/* The core of the float logarithms; coefficients: minimax fits by `python benchmarks/minimax.py`. */

/* x = 2^k (1 + f), 1 + f in [2/3, 4/3), for positive finite x. */
HELPER float reduce_log(float x, private float *k) {
  bool tiny = x < FLT_MIN;
  x = tiny ? x * 0x1p24f : x;
  int bits = as_int(x) - 0x3f2aaaab;
  int e = bits >> 23;
  *k = (float)e - (tiny ? 24.0f : 0.0f);
  return as_float(as_int(x) - (int)((uint)e << 23)) - 1.0f;
}

/* log(1 + f) - f for f in [-1/3, 1/3]; with it log(1 + f) is good to 2^-27. */
HELPER float log_tail(float f) {
  float p = FMA(FMA(FMA(-0x1.083a34p-3f, f, 0x1.1edcd8p-3f), f, -0x1.f33234p-4f), f, 0x1.1eca24p-3f);
  p = FMA(FMA(FMA(FMA(p, f, -0x1.559b06p-3f), f, 0x1.99d062p-3f), f, -0x1.ffff02p-3f), f, 0x1.555506p-2f);
  return f * f * FMA(f, p, -0.5f);
}

/* What a logarithm gives at 0, below it, and at infinity and NaN; r elsewhere. */
HELPER float log_special(float x, float r) {
  r = x < INFINITY ? r : x;
  r = x < 0.0f ? NAN : r;
  return x == 0.0f ? -INFINITY : r;
}
