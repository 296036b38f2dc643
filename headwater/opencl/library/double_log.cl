// Logarithms of double (OpenCL C 1.2 specification 6.12.2; accuracy: table 7.4, 3 ULP, log1p 2 ULP).
// Provides d: log log2 log10 log1p
#include "internal.h"
#include "double_log.h"

PURE double log(double x) {
  double k, f = reduce_log(x, &k);
  double r = f + FMA(k, 0x1.abc9e3b39803fp-56, log_tail(f));
  return log_special(x, FMA(k, 0x1.62e42fefa39efp-1, r));
}

PURE double log2(double x) {
  double k, f = reduce_log(x, &k);
  double r = f + log_tail(f);
  return log_special(x, FMA(r, 0x1.71547652b82fep+0, FMA(r, 0x1.777d0ffda0d24p-56, k)));
}

PURE double log10(double x) {
  double k, f = reduce_log(x, &k);
  double r = f + log_tail(f);
  double low = FMA(k, -0x1.9dc1da994fd21p-59, r * 0x1.95355baaafad3p-57);
  return log_special(x, FMA(k, 0x1.34413509f79ffp-2, FMA(r, 0x1.bcb7b1526e50ep-2, low)));
}

PURE double log1p(double x) {
  double r = log_special(1.0 + x, log1p_core(x));
  return x == 0.0 || !(x < INFINITY) ? x : r;
}
