// Logarithms of float (OpenCL C 1.2 specification 6.12.2; accuracy: table 7.4, 3 ULP, log1p 2 ULP).
// Provides f: log log2 log10 log1p native_log native_log2 native_log10 half_log half_log2 half_log10
#include "internal.h"
#include "float_log.h"

PURE float log(float x) {
  float k, f = reduce_log(x, &k);
  float r = f + FMA(k, -0x1.05c61p-29f, log_tail(f));
  return log_special(x, FMA(k, 0x1.62e43p-1f, r));
}

PURE float log2(float x) {
  float k, f = reduce_log(x, &k);
  float r = f + log_tail(f);
  return log_special(x, FMA(r, 0x1.715476p+0f, FMA(r, 0x1.4ae0cp-26f, k)));
}

PURE float log10(float x) {
  float k, f = reduce_log(x, &k);
  float r = f + log_tail(f);
  float low = FMA(k, -0x1.ec10cp-27f, r * -0x1.5b235ep-27f);
  return log_special(x, FMA(k, 0x1.344136p-2f, FMA(r, 0x1.bcb7b2p-2f, low)));
}

PURE float log1p(float x) {
  float u = 1.0f + x, c = x - (u - 1.0f); /* u + c = 1 + x exactly where it matters */
  float k, f = reduce_log(u, &k);
  int e = k > 100.0f ? 100 : (int)k; /* beyond, c no longer counts */
  f = FMA(c, as_float(0x3f800000 - (int)((uint)e << 23)), f);
  float r = f + FMA(k, -0x1.05c61p-29f, log_tail(f));
  r = log_special(u, FMA(k, 0x1.62e43p-1f, r));
  return x == 0.0f || !(x < INFINITY) ? x : r;
}

/* The native forms take normal positive numbers only. */
HELPER float quick_log(float x, private float *k) {
  int e = (as_int(x) - 0x3f2aaaab) >> 23;
  *k = (float)e;
  float f = as_float(as_int(x) - (int)((uint)e << 23)) - 1.0f;
  return f + log_tail(f);
}
PURE float native_log(float x) {
  float k, r = quick_log(x, &k);
  return FMA(k, 0x1.62e43p-1f, r);
}
PURE float native_log2(float x) {
  float k, r = quick_log(x, &k);
  return FMA(r, 0x1.715476p+0f, k);
}
PURE float native_log10(float x) {
  float k, r = quick_log(x, &k);
  return FMA(k, 0x1.344136p-2f, r * 0x1.bcb7b2p-2f);
}
PURE float half_log(float x) { return log(x); }
PURE float half_log2(float x) { return log2(x); }
PURE float half_log10(float x) { return log10(x); }
