// Exponents, fractions and remainders of float (OpenCL C 1.2 specification 6.12.2).
// Provides f: ilogb logb ldexp frexp modf fract nextafter fmod remainder remquo
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
#include "exact_functions.h"
