// Functions of half (cl_khr_fp16, OpenCL extension specification 1.2, 9.5): computed in float and rounded once.
// Provides Dh: acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi erfc erf exp exp2 exp10
// Provides Dh: expm1 fabs floor lgamma log log2 log10 log1p logb rint round rsqrt sin sinh sinpi sqrt tan tanh tanpi
// Provides Dh: tgamma trunc atan2 atan2pi copysign fdim fmax fmin fmod hypot maxmag minmag nextafter pow powr remainder
// Provides Dh: fma mad fract frexp ilogb ldexp lgamma_r modf pown remquo rootn sincos
// Provides Dh: min max clamp mix step smoothstep sign degrees radians
// Provides Dh: cross dot length distance normalize fast_length fast_distance fast_normalize
// Provides t: nan
#include "internal.h"

#define DECLARED __attribute__((overloadable, const))

#define UNARY(name) \
  DECLARED float name(float); \
  PURE half name(half x) { return (half)name((float)x); }
UNARY(acos) UNARY(acosh) UNARY(acospi) UNARY(asin) UNARY(asinh) UNARY(asinpi) UNARY(atan) UNARY(atanh) UNARY(atanpi)
UNARY(cbrt) UNARY(cos) UNARY(cosh) UNARY(cospi) UNARY(erfc) UNARY(erf) UNARY(exp) UNARY(exp2) UNARY(exp10) UNARY(expm1)
UNARY(lgamma) UNARY(log) UNARY(log2) UNARY(log10) UNARY(log1p) UNARY(logb) UNARY(rsqrt) UNARY(sin) UNARY(sinh)
UNARY(sinpi) UNARY(tan) UNARY(tanh) UNARY(tanpi) UNARY(tgamma)

PURE half fabs(half x) { return __builtin_elementwise_abs(x); }
PURE half copysign(half x, half y) { return __builtin_elementwise_copysign(x, y); }
PURE half ceil(half x) { return (half)__builtin_elementwise_ceil((float)x); }
PURE half floor(half x) { return (half)__builtin_elementwise_floor((float)x); }
PURE half trunc(half x) { return (half)__builtin_elementwise_trunc((float)x); }
PURE half rint(half x) { return (half)__builtin_elementwise_roundeven((float)x); }
PURE half round(half x) { return (half)__builtin_elementwise_round((float)x); }
PURE half sqrt(half x) { return (half)__builtin_elementwise_sqrt((float)x); }

#define BINARY(name) \
  DECLARED float name(float, float); \
  PURE half name(half x, half y) { return (half)name((float)x, (float)y); }
BINARY(atan2) BINARY(atan2pi) BINARY(fdim) BINARY(fmax) BINARY(fmin) BINARY(fmod) BINARY(hypot) BINARY(maxmag)
BINARY(minmag) BINARY(pow) BINARY(powr) BINARY(remainder) BINARY(step)

#define WITH_INT(name) \
  DECLARED float name(float, int); \
  PURE half name(half x, int n) { return (half)name((float)x, n); }
WITH_INT(ldexp) WITH_INT(pown) WITH_INT(rootn)
DECLARED int ilogb(float);
PURE int ilogb(half x) { return ilogb((float)x); }
PURE half nan(ushort code) { return as_half((ushort)(0x7e00 | (code & 0x1ff))); }

#if defined(__AMDGCN__)
/* One instruction from gfx8 on; for older chips the translator computes LLVM's operation in double. */
PURE half fma(half a, half b, half c) { return FMA(a, b, c); }
PURE half mad(half a, half b, half c) { return FMA(a, b, c); }
#else
/* The product is exact in float; the sum is rounded to odd there, so that the rounding to half is the only one. */
PURE half fma(half a, half b, half c) {
  float p = (float)a * (float)b, x = (float)c, s = p + x;
  float back = s - p, error = (p - (s - back)) + (x - back);
  bool inexact = error != 0.0f && ABS(s) < INFINITY;
  int step = (error > 0.0f) == (s > 0.0f) ? 1 : -1;
  s = inexact && !(as_int(s) & 1) ? as_float(as_int(s) + step) : s;
  return (half)s;
}
PURE half mad(half a, half b, half c) { return (half)FMA((float)a, (float)b, (float)c); }
#endif

PURE half nextafter(half x, half y) {
  int a = as_short(x), b = as_short(y);
  int ka = a < 0 ? -(a & 0x7fff) : a, kb = b < 0 ? -(b & 0x7fff) : b;
  int step = ka < kb ? ka + 1 : ka - 1;
  half r = as_half((short)(step < 0 || (step == 0 && a < 0) ? -step | 0x8000 : step));
  r = ka == kb ? y : r;
  return x != x ? x : y != y ? y : r;
}

#define FOR_SPACES(M) M(private) M(global) M(local) M(generic)
OVER float frexp(float, private int *);
OVER float remquo(float, float, private int *);
OVER float lgamma_r(float, private int *);
OVER float sincos(float, private float *);
#define POINTERS(space) \
  OVER half fract(half x, space half *whole) { \
    float w = __builtin_elementwise_floor((float)x), f = (float)x - w; \
    *whole = (half)w; \
    /* what rounds to 1 is cut to the largest half below it */ \
    f = f > 0x1.ffcp-1f ? 0x1.ffcp-1f : f; \
    return ABS((float)x) == INFINITY ? __builtin_elementwise_copysign((half)0.0f, x) : (half)f; \
  } \
  OVER half modf(half x, space half *whole) { \
    float w = __builtin_elementwise_trunc((float)x); \
    *whole = (half)w; \
    float f = ABS((float)x) == INFINITY ? 0.0f : (float)x - w; \
    return __builtin_elementwise_copysign((half)f, x); \
  } \
  OVER half frexp(half x, space int *exponent) { \
    int e; \
    half r = (half)frexp((float)x, &e); \
    *exponent = e; \
    return r; \
  } \
  OVER half remquo(half x, half y, space int *quotient) { \
    int q; \
    half r = (half)remquo((float)x, (float)y, &q); \
    *quotient = q; \
    return r; \
  } \
  OVER half lgamma_r(half x, space int *sign) { \
    int s; \
    half r = (half)lgamma_r((float)x, &s); \
    *sign = s; \
    return r; \
  } \
  OVER half sincos(half x, space half *cosine) { \
    float c; \
    half s = (half)sincos((float)x, &c); \
    *cosine = (half)c; \
    return s; \
  }
FOR_SPACES(POINTERS)

/* ---- common */
PURE half min(half x, half y) { return y < x ? y : x; }
PURE half max(half x, half y) { return x < y ? y : x; }
PURE half clamp(half x, half low, half high) { return min(max(x, low), high); }
#define TERNARY(name) \
  DECLARED float name(float, float, float); \
  PURE half name(half x, half y, half z) { return (half)name((float)x, (float)y, (float)z); }
TERNARY(mix) TERNARY(smoothstep)
UNARY(sign) UNARY(degrees) UNARY(radians)

/* ---- geometric */
#define GEOMETRIC(H, F) \
  DECLARED float dot(F, F); \
  DECLARED float length(F); \
  DECLARED float distance(F, F); \
  DECLARED float fast_length(F); \
  DECLARED float fast_distance(F, F); \
  DECLARED F normalize(F); \
  DECLARED F fast_normalize(F); \
  PURE half dot(H a, H b) { return (half)dot(__builtin_convertvector(a, F), __builtin_convertvector(b, F)); } \
  PURE half length(H a) { return (half)length(__builtin_convertvector(a, F)); } \
  PURE half fast_length(H a) { return (half)fast_length(__builtin_convertvector(a, F)); } \
  PURE half distance(H a, H b) { return (half)distance(__builtin_convertvector(a, F), __builtin_convertvector(b, F)); } \
  PURE half fast_distance(H a, H b) { return distance(a, b); } \
  PURE H normalize(H a) { return __builtin_convertvector(normalize(__builtin_convertvector(a, F)), H); } \
  PURE H fast_normalize(H a) { return __builtin_convertvector(fast_normalize(__builtin_convertvector(a, F)), H); }
GEOMETRIC(half2, float2) GEOMETRIC(half3, float3) GEOMETRIC(half4, float4)
PURE half dot(half a, half b) { return a * b; }
PURE half length(half a) { return ABS(a); }
PURE half fast_length(half a) { return ABS(a); }
PURE half distance(half a, half b) { return ABS(a - b); }
PURE half fast_distance(half a, half b) { return ABS(a - b); }
PURE half normalize(half a) { return a > (half)0 ? (half)1 : a < (half)0 ? (half)-1 : a; }
PURE half fast_normalize(half a) { return normalize(a); }
DECLARED float3 cross(float3, float3);
PURE half3 cross(half3 a, half3 b) {
  return __builtin_convertvector(cross(__builtin_convertvector(a, float3), __builtin_convertvector(b, float3)), half3);
}
PURE half4 cross(half4 a, half4 b) { return (half4)(cross(a.xyz, b.xyz), (half)0); }
