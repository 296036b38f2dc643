// Geometric functions of float (OpenCL C 1.2 specification 6.12.5).
// Provides f: cross dot length distance normalize fast_length fast_distance fast_normalize
#include "internal.h"
#define T float
#define K(x) x##f
#define SCALED(top) ((top) > 0x1p60f ? 0x1p-66f : (top) < 0x1p-60f ? 0x1p80f : 1.0f)
#define UNSCALED(top) ((top) > 0x1p60f ? 0x1p66f : (top) < 0x1p-60f ? 0x1p-80f : 1.0f)
#include "geometric.h"
