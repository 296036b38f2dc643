// Reciprocal roots of float, 2 ulp (OpenCL C 1.2 specification 6.12.2, 7.4). The flag leaves the quotient to the code
// generator, which has a quicker way where there is an estimate (headwater/llvm/passes/reciprocal_roots.py).
// Provides f: rsqrt half_rsqrt
// Flags: -fapprox-func
#include "internal.h"

PURE float rsqrt(float x) { return 1.0f / __builtin_elementwise_sqrt(x); }
PURE float half_rsqrt(float x) { return 1.0f / __builtin_elementwise_sqrt(x); }
