// Rounding, signs, extremes, roots of double (OpenCL C 1.2 specification 6.12.2).
// Provides d: ceil floor fabs trunc rint round sqrt rsqrt copysign fma mad fmax fmin maxmag minmag fdim
// Provides m: nan
#include "internal.h"

#define T double
#define I long
#define U ulong
#define AS_T as_double
#define AS_I as_long
#define AS_U as_ulong
#define MANTISSA 52
#define EXPONENTS 2047
#define K(x) (x)
#include "basic.h"

PURE double rsqrt(double x) { return 1.0 / __builtin_elementwise_sqrt(x); }
