// Common functions of float (OpenCL C 1.2 specification 6.12.4).
// Provides f: min max clamp mix step smoothstep sign degrees radians
#include "internal.h"
#define T float
#define K(x) x##f
#include "common.h"
