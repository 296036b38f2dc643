// Geometric functions of double (OpenCL C 1.2 specification 6.12.5).
// Provides d: cross dot length distance normalize fast_length fast_distance fast_normalize
#include "internal.h"
#define T double
#define K(x) x
#define SCALED(top) ((top) > 0x1p500 ? 0x1p-530 : (top) < 0x1p-500 ? 0x1p560 : 1.0)
#define UNSCALED(top) ((top) > 0x1p500 ? 0x1p530 : (top) < 0x1p-500 ? 0x1p-560 : 1.0)
#include "geometric.h"
