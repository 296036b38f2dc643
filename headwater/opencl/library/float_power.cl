// Powers of float (OpenCL C 1.2 specification 6.12.2 and 7.5.1 for the special cases; accuracy: table 7.4, 16 ULP).
// Provides f: pow pown powr rootn native_powr half_powr
#include "internal.h"
#include "float_exp.h"

/* log2 of a non-negative number as a sum hi + lo, good to 2^-29 relative; infinite at 0 and infinity. */
HELPER float log2_sum(float a, private float *lo) {
  bool tiny = a < FLT_MIN;
  float x = tiny ? a * 0x1p24f : a;
  int bits = as_int(x) - 0x3f3504f3; /* 1 + f in [sqrt 1/2, sqrt 2) */
  int e = bits >> 23;
  float k = (float)e - (tiny ? 24.0f : 0.0f);
  float f = as_float(as_int(x) - (int)((uint)e << 23)) - 1.0f;
  /* log(1 + f) = 2 atanh(s), s = f / (2 + f) in two parts */
  float g = 2.0f + f, g_lo = f - (g - 2.0f);
  float reciprocal = 1.0f / g;
  float s = f * reciprocal;
  float s_lo = FMA(-s, g_lo, FMA(-s, g, f)) * reciprocal;
  float z = s * s;
  float w = s * (z * FMA(FMA(FMA(0x1.f16124p-4f, z, 0x1.23d314p-3f), z, 0x1.999c28p-3f), z, 0x1.555554p-2f));
  /* times 2 / ln 2 in two parts */
  float h = s * 0x1.715476p+1f;
  float l = FMA(s, 0x1.715476p+1f, -h) + FMA(s, 0x1.4ae0cp-25f, (s_lo + w) * 0x1.715476p+1f);
  float sum = k + h;
  float rest = (k - sum) + h + l;
  float total = sum + rest;
  rest += sum - total;
  bool edge = a == 0.0f || !(a < INFINITY);
  *lo = edge ? 0.0f : rest;
  return a == 0.0f ? -INFINITY : a < INFINITY ? total : a;
}

/* 2^(hi + lo) */
HELPER float exp2_sum(float hi, float lo) {
  lo = ABS(hi) < 1024.0f ? lo : 0.0f;
  hi = -180.0f > hi ? -180.0f : hi;
  hi = 128.5f < hi ? 128.5f : hi;
  float t = hi + ROUNDER;
  float r = (hi - (t - ROUNDER)) + lo;
  return times_two_to(FMA(r, exp2_tail(r), 1.0f), INTEGER_IN(t));
}

PURE float pow(float x, float y) {
  float a = ABS(x), l, h = log2_sum(a, &l);
  float p = y * h;
  float r = exp2_sum(p, FMA(y, l, FMA(y, h, -p)));
  r = a == 1.0f ? 1.0f : r;
  bool whole = __builtin_elementwise_trunc(y) == y;
  float half_y = 0.5f * y;
  bool odd = whole && ABS(y) < 0x1p24f && __builtin_elementwise_trunc(half_y) != half_y;
  r = x < 0.0f && a < INFINITY && !whole ? NAN : r;
  r = as_int(x) < 0 && odd ? -r : r;
  r = x != x || y != y ? x + y : r;
  return x == 1.0f || y == 0.0f ? 1.0f : r;
}

PURE float powr(float x, float y) {
  float l, h = log2_sum(ABS(x), &l);
  float p = y * h;
  float r = exp2_sum(p, FMA(y, l, FMA(y, h, -p)));
  r = x == 1.0f ? (ABS(y) < INFINITY ? 1.0f : NAN) : r;
  r = y == 0.0f ? (x == 0.0f || !(x < INFINITY) ? NAN : 1.0f) : r;
  r = as_uint(x) > 0x80000000u ? NAN : r; /* negative, if it is denormal, too */
  return x != x || y != y ? x + y : r;
}

/* An int has more bits than a float: two parts. */
HELPER float two_floats(int n, private float *lo) {
  float hi = (float)n;
  hi = hi < 0x1.fffffep30f ? hi : 0x1.fffffep30f;
  *lo = (float)(n - (int)hi);
  return hi;
}

PURE float pown(float x, int n) {
  float y_lo, y = two_floats(n, &y_lo);
  float a = ABS(x), l, h = log2_sum(a, &l);
  float p = y * h;
  float r = exp2_sum(p, FMA(y, l, FMA(y_lo, h, FMA(y, h, -p))));
  r = a == 1.0f ? 1.0f : r;
  r = as_int(x) < 0 && (n & 1) ? -r : r;
  r = x != x ? x : r;
  return n == 0 ? 1.0f : r;
}

PURE float rootn(float x, int n) {
  float y_lo, y = two_floats(n, &y_lo);
  float a = ABS(x), l, h = log2_sum(a, &l);
  float p = h / y;
  float r = exp2_sum(p, (FMA(-p, y_lo, FMA(-p, y, h)) + l) / y);
  r = a == 1.0f ? 1.0f : r;
  r = as_int(x) < 0 && (n & 1) ? -r : r;
  r = x < 0.0f && !(n & 1) ? NAN : r;
  r = x != x ? x : r;
  return n == 0 ? NAN : r;
}

/* native_powr: normal positive x, a result in the normal range. */
PURE float native_powr(float x, float y) {
  float l, h = log2_sum(x, &l);
  float p = y * h;
  return exp2_sum(p, FMA(y, l, FMA(y, h, -p)));
}
PURE float half_powr(float x, float y) { return powr(x, y); }
