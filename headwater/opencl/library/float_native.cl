// Quotients and roots of float as fast as the machine has them: its estimates and one Newton step, specified nowhere
// (OpenCL C 1.2 specification 6.12.2, native_ functions). Infinities and numbers below the normal range may fail.
// Provides f: native_sqrt native_rsqrt native_recip native_divide
// Flags: -fapprox-func -freciprocal-math -fno-signed-zeros
#include "internal.h"

PURE float native_sqrt(float x) { return __builtin_elementwise_sqrt(x); }
PURE float native_rsqrt(float x) { return x == 0.0f ? INFINITY : 1.0f / __builtin_elementwise_sqrt(x); }
PURE float native_recip(float x) { return 1.0f / x; }
PURE float native_divide(float x, float y) { return x / y; }
