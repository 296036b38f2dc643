// Rounding, signs, extremes, roots of float (OpenCL C 1.2 specification 6.12.2).
// Provides f: ceil floor fabs trunc rint round sqrt copysign fma mad fmax fmin maxmag minmag fdim
// Provides f: half_sqrt half_recip half_divide
// Provides j: nan
#include "internal.h"

#define T float
#define I int
#define U uint
#define AS_T as_float
#define AS_I as_int
#define AS_U as_uint
#define MANTISSA 23
#define EXPONENTS 255
#define K(x) ((float)(x))
#include "basic.h"

PURE float half_sqrt(float x) { return __builtin_elementwise_sqrt(x); }
PURE float half_recip(float x) { return 1.0f / x; }
PURE float half_divide(float x, float y) { return x / y; }
