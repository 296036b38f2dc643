// Common functions of double (OpenCL C 1.2 specification 6.12.4).
// Provides d: min max clamp mix step smoothstep sign degrees radians
#include "internal.h"
#define T double
#define K(x) x
#include "common.h"
