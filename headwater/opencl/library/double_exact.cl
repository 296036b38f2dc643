// Exponents, fractions and remainders of double (OpenCL C 1.2 specification 6.12.2).
// Provides d: ilogb logb ldexp frexp modf fract nextafter fmod remainder remquo
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
#include "exact_functions.h"
