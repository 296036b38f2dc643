// Powers of double (OpenCL C 1.2 specification 6.12.2 and 7.5.1 for the special cases; accuracy: table 7.4, 16 ULP).
// Provides d: pow pown powr rootn
#include "internal.h"
#include "double_exp.h"
#include "double_power.h"

PURE double pow(double x, double y) {
  double a = ABS(x), l, h = log2_sum(a, &l);
  double p = y * h;
  double r = exp2_sum(p, FMA(y, l, FMA(y, h, -p)));
  r = a == 1.0 ? 1.0 : r;
  bool whole = __builtin_elementwise_trunc(y) == y;
  double half_y = 0.5 * y;
  bool odd = whole && ABS(y) < 0x1p53 && __builtin_elementwise_trunc(half_y) != half_y;
  r = x < 0.0 && a < INFINITY && !whole ? NAN : r;
  r = as_long(x) < 0 && odd ? -r : r;
  r = x != x || y != y ? x + y : r;
  return x == 1.0 || y == 0.0 ? 1.0 : r;
}

PURE double powr(double x, double y) {
  double l, h = log2_sum(ABS(x), &l);
  double p = y * h;
  double r = exp2_sum(p, FMA(y, l, FMA(y, h, -p)));
  r = x == 1.0 ? (ABS(y) < INFINITY ? 1.0 : NAN) : r;
  r = y == 0.0 ? (x == 0.0 || !(x < INFINITY) ? NAN : 1.0) : r;
  r = x < 0.0 ? NAN : r;
  return x != x || y != y ? x + y : r;
}

PURE double pown(double x, int n) {
  double y = (double)n, a = ABS(x), l, h = log2_sum(a, &l);
  double p = y * h;
  double r = exp2_sum(p, FMA(y, l, FMA(y, h, -p)));
  r = a == 1.0 ? 1.0 : r;
  r = as_long(x) < 0 && (n & 1) ? -r : r;
  r = x != x ? x : r;
  return n == 0 ? 1.0 : r;
}

PURE double rootn(double x, int n) {
  double y = (double)n, a = ABS(x), l, h = log2_sum(a, &l);
  double p = h / y;
  double r = exp2_sum(p, (FMA(-p, y, h) + l) / y);
  r = a == 1.0 ? 1.0 : r;
  r = as_long(x) < 0 && (n & 1) ? -r : r;
  r = x < 0.0 && !(n & 1) ? NAN : r;
  r = x != x ? x : r;
  return n == 0 ? NAN : r;
}
