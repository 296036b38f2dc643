/* Numbers: C's mathematical functions for both precisions, HIP's and CUDA's own, conversions and bits. */
#pragma once
#include "math.h"
#define __HW_1(name) __HW_LIB float name(float); __HW_LIB double name(double);
#define __HW_2(name) __HW_LIB float name(float, float); __HW_LIB double name(double, double);
#define __HW_3(name) __HW_LIB float name(float, float, float); __HW_LIB double name(double, double, double);
/* Of the device library by the same name; C's name for float alone is made of it. */
#define __HW_C1(name) __HW_1(name) __HW float name##f(float x) { return name(x); }
#define __HW_C2(name) __HW_2(name) __HW float name##f(float x, float y) { return name(x, y); } \
  __HW double name(double x, float y) { return name(x, (double)y); } \
  __HW double name(float x, double y) { return name((double)x, y); }
__HW_C1(sin) __HW_C1(cos) __HW_C1(tan) __HW_C1(asin) __HW_C1(acos) __HW_C1(atan)
__HW_C1(sinh) __HW_C1(cosh) __HW_C1(tanh) __HW_C1(asinh) __HW_C1(acosh) __HW_C1(atanh)
__HW_C1(sinpi) __HW_C1(cospi) __HW_C1(exp) __HW_C1(exp2) __HW_C1(exp10) __HW_C1(expm1)
__HW_C1(log) __HW_C1(log2) __HW_C1(log10) __HW_C1(log1p) __HW_C1(sqrt) __HW_C1(rsqrt) __HW_C1(cbrt)
__HW_C1(ceil) __HW_C1(floor) __HW_C1(trunc) __HW_C1(rint) __HW_C1(round) __HW_C1(fabs)
__HW_C1(tgamma) __HW_C1(lgamma) __HW_C1(erf) __HW_C1(erfc) __HW_C1(logb)
__HW_C2(atan2) __HW_C2(pow) __HW_C2(fmod) __HW_C2(remainder) __HW_C2(hypot) __HW_C2(fmax) __HW_C2(fmin)
__HW_C2(fdim) __HW_C2(copysign) __HW_C2(nextafter)
__HW_3(fma) __HW float fmaf(float x, float y, float z) { return fma(x, y, z); }
__HW_LIB float ldexp(float, int);
__HW_LIB double ldexp(double, int);
__HW_LIB int ilogb(float);
__HW_LIB int ilogb(double);
__HW_LIB float pown(float, int);
__HW_LIB double pown(double, int);
__HW float ldexpf(float x, int n) { return ldexp(x, n); }
__HW float scalbnf(float x, int n) { return ldexp(x, n); }
__HW double scalbn(double x, int n) { return ldexp(x, n); }
__HW int ilogbf(float x) { return ilogb(x); }
__HW float pow(float x, int n) { return pown(x, n); }
__HW double pow(double x, int n) { return pown(x, n); }
__HW double pow(int x, int n) { return pown((double)x, n); }
__HW float nearbyintf(float x) { return rint(x); }
__HW double nearbyint(double x) { return rint(x); }
#define __HW_WHOLE(T, name, function) \
  __HW T name##f(float x) { return (T)function(x); } \
  __HW T name(float x) { return (T)function(x); } \
  __HW T name(double x) { return (T)function(x); }
__HW_WHOLE(long, lrint, rint) __HW_WHOLE(long, lround, round)
__HW_WHOLE(long long, llrint, rint) __HW_WHOLE(long long, llround, round)
__HW void sincosf(float x, float *s, float *c) { *s = sin(x); *c = cos(x); }
__HW void sincos(float x, float *s, float *c) { *s = sin(x); *c = cos(x); }
__HW void sincos(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
__HW float modff(float x, float *whole) { *whole = trunc(x); return copysign(__builtin_isinf(x) ? 0.0f : x - *whole, x); }
__HW double modf(double x, double *whole) { *whole = trunc(x); return copysign(__builtin_isinf(x) ? 0.0 : x - *whole, x); }
#define __HW_FREXP(T, name) __HW T name(T x, int *exponent) { \
  bool other = x == 0 || __builtin_isinf(x) || __builtin_isnan(x); \
  *exponent = other ? 0 : ilogb(x) + 1; \
  return other ? x : ldexp(x, -*exponent); }
__HW_FREXP(float, frexpf) __HW_FREXP(float, frexp) __HW_FREXP(double, frexp)
__HW float norm3df(float x, float y, float z) { return hypot(hypot(x, y), z); }
__HW float rnorm3df(float x, float y, float z) { return 1 / hypot(hypot(x, y), z); }
__HW float rhypotf(float x, float y) { return 1 / hypot(x, y); }
__HW float normcdff(float x) { return 0.5f * erfc(x * -0.70710678f); }

#define __HW_TESTS(T) \
  __HW bool isnan(T x) { return __builtin_isnan(x); } \
  __HW bool isinf(T x) { return __builtin_isinf(x); } \
  __HW bool isfinite(T x) { return __builtin_isfinite(x); } \
  __HW bool signbit(T x) { return __builtin_signbit(x); }
__HW_TESTS(float) __HW_TESTS(double)

/* ---- the lesser and the greater */
#define __HW_ORDERED(T) \
  __HW T min(T a, T b) { return b < a ? b : a; } \
  __HW T max(T a, T b) { return a < b ? b : a; }
__HW_ORDERED(int) __HW_ORDERED(uint) __HW_ORDERED(long) __HW_ORDERED(ulong)
__HW_ORDERED(long long) __HW_ORDERED(unsigned long long)
__HW float min(float a, float b) { return fmin(a, b); }
__HW float max(float a, float b) { return fmax(a, b); }
__HW double min(double a, double b) { return fmin(a, b); }
__HW double max(double a, double b) { return fmax(a, b); }
__HW double min(double a, float b) { return fmin(a, (double)b); }
__HW double max(double a, float b) { return fmax(a, (double)b); }
__HW double min(float a, double b) { return fmin((double)a, b); }
__HW double max(float a, double b) { return fmax((double)a, b); }
__HW uint min(uint a, int b) { return min(a, (uint)b); }
__HW uint min(int a, uint b) { return min((uint)a, b); }
__HW uint max(uint a, int b) { return max(a, (uint)b); }
__HW uint max(int a, uint b) { return max((uint)a, b); }
__HW int abs(int x) { return x < 0 ? -x : x; }
__HW long abs(long x) { return x < 0 ? -x : x; }
__HW long long abs(long long x) { return x < 0 ? -x : x; }
__HW float abs(float x) { return fabs(x); }
__HW double abs(double x) { return fabs(x); }
__HW long labs(long x) { return abs(x); }
__HW long long llabs(long long x) { return abs(x); }

/* ---- intrinsics: here as exact as the functions that they are quicker forms of */
__HW float __sinf(float x) { return sin(x); }
__HW float __cosf(float x) { return cos(x); }
__HW float __tanf(float x) { return tan(x); }
__HW void __sincosf(float x, float *s, float *c) { sincos(x, s, c); }
__HW float __expf(float x) { return exp(x); }
__HW float __exp10f(float x) { return exp10(x); }
__HW float __logf(float x) { return log(x); }
__HW float __log2f(float x) { return log2(x); }
__HW float __log10f(float x) { return log10(x); }
__HW float __powf(float x, float y) { return pow(x, y); }
__HW float __fdividef(float x, float y) { return x / y; }
__HW float fdividef(float x, float y) { return x / y; }
__HW float __saturatef(float x) { return fmin(fmax(x, 0.0f), 1.0f); }
__HW float __frcp_rn(float x) { return 1 / x; }
__HW float __fsqrt_rn(float x) { return sqrt(x); }
__HW float __frsqrt_rn(float x) { return rsqrt(x); }
__HW float __fmaf_rn(float x, float y, float z) { return fma(x, y, z); }
__HW double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
__HW double __dsqrt_rn(double x) { return sqrt(x); }
__HW float __fdiv_rn(float x, float y) { return x / y; }
__HW double __ddiv_rn(double x, double y) { return x / y; }
#pragma clang fp contract(off)
__HW float __fadd_rn(float x, float y) { return x + y; }
__HW float __fsub_rn(float x, float y) { return x - y; }
__HW float __fmul_rn(float x, float y) { return x * y; }
__HW double __dadd_rn(double x, double y) { return x + y; }
__HW double __dsub_rn(double x, double y) { return x - y; }
__HW double __dmul_rn(double x, double y) { return x * y; }
#pragma clang fp contract(fast)

/* ---- bits */
__HW int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__HW uint __float_as_uint(float x) { return __builtin_bit_cast(uint, x); }
__HW float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__HW float __uint_as_float(uint x) { return __builtin_bit_cast(float, x); }
__HW long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__HW double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
__HW int __double2hiint(double x) { return (int)(__builtin_bit_cast(unsigned long long, x) >> 32); }
__HW int __double2loint(double x) { return (int)__builtin_bit_cast(unsigned long long, x); }
__HW double __hiloint2double(int high, int low) {
  return __builtin_bit_cast(double, (unsigned long long)(uint)high << 32 | (uint)low);
}
__HW int __clz(int x) { return x ? __builtin_clz((uint)x) : 32; }
__HW int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
__HW int __ffs(int x) { return x ? __builtin_ctz((uint)x) + 1 : 0; }
__HW int __ffsll(long long x) { return x ? __builtin_ctzll((unsigned long long)x) + 1 : 0; }
__HW int __popc(uint x) { return __builtin_popcount(x); }
__HW int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__HW uint __brev(uint x) { return __builtin_bitreverse32(x); }
__HW unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
__HW int __mul24(int x, int y) { return (int)((uint)((x << 8) >> 8) * (uint)((y << 8) >> 8)); }
__HW uint __umul24(uint x, uint y) { return (x & 0xffffffu) * (y & 0xffffffu); }
__HW int __mulhi(int x, int y) { return (int)((long)x * y >> 32); }
__HW uint __umulhi(uint x, uint y) { return (uint)((ulong)x * y >> 32); }
__HW unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  ulong a = (uint)x, b = x >> 32, c = (uint)y, d = y >> 32;
  ulong left = b * c + (a * c >> 32), right = a * d + (uint)left;
  return b * d + (left >> 32) + (right >> 32);
}
__HW long long __mul64hi(long long x, long long y) {
  return (long long)(__umul64hi((ulong)x, (ulong)y) - (x < 0 ? (ulong)y : 0) - (y < 0 ? (ulong)x : 0));
}
__HW uint __sad(int x, int y, uint z) { return z + (x < y ? (uint)y - (uint)x : (uint)x - (uint)y); }
__HW uint __usad(uint x, uint y, uint z) { return z + (x < y ? y - x : x - y); }
__HW int __hadd(int x, int y) { return (int)(((long)x + y) >> 1); }
__HW int __rhadd(int x, int y) { return (int)(((long)x + y + 1) >> 1); }
__HW uint __uhadd(uint x, uint y) { return (uint)(((ulong)x + y) >> 1); }
__HW uint __urhadd(uint x, uint y) { return (uint)(((ulong)x + y + 1) >> 1); }
__HW uint __funnelshift_l(uint low, uint high, uint n) { return (uint)((((ulong)high << 32 | low) << (n & 31)) >> 32); }
__HW uint __funnelshift_r(uint low, uint high, uint n) { return (uint)(((ulong)high << 32 | low) >> (n & 31)); }
__HW uint __funnelshift_lc(uint low, uint high, uint n) { return n < 32 ? __funnelshift_l(low, high, n) : low; }
__HW uint __funnelshift_rc(uint low, uint high, uint n) { return n < 32 ? __funnelshift_r(low, high, n) : high; }
__HW uint __byte_perm(uint x, uint y, uint selector) {
  ulong bytes = (ulong)y << 32 | x;
  uint result = 0;
  for (int i = 0; i < 4; i++) result |= (uint)(bytes >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
  return result;
}

/* ---- conversions: rn to nearest, rz towards zero, ru up, rd down. Numbers out of range give the nearest one that there
   is and NaN gives 0, as the instructions of GCN do (v_cvt_i32_f32: "Vega" ISA manual, 2017, table of VOP1). */
#define __HW_TO_ROUNDED(from, name, T, way, mode) \
  __HW_LIB T convert_##T##_sat_##mode(from); \
  __HW T __##from##2##name##_##way(from x) { return convert_##T##_sat_##mode(x); }
#define __HW_TO(from, name, T) \
  __HW_TO_ROUNDED(from, name, T, rn, rte) __HW_TO_ROUNDED(from, name, T, rz, rtz) \
  __HW_TO_ROUNDED(from, name, T, ru, rtp) __HW_TO_ROUNDED(from, name, T, rd, rtn)
__HW_TO(float, int, int) __HW_TO(float, uint, uint) __HW_TO(float, ll, long) __HW_TO(float, ull, ulong)
__HW_TO(double, int, int) __HW_TO(double, uint, uint) __HW_TO(double, ll, long) __HW_TO(double, ull, ulong)
#define __HW_FROM_ROUNDED(from, name, T, way, mode) \
  __HW_LIB T convert_##T##_##mode(from); \
  __HW T __##name##2##T##_##way(from x) { return convert_##T##_##mode(x); }
#define __HW_FROM(from, name, T) \
  __HW T __##name##2##T##_rn(from x) { return (T)x; } \
  __HW_FROM_ROUNDED(from, name, T, rz, rtz) __HW_FROM_ROUNDED(from, name, T, ru, rtp) \
  __HW_FROM_ROUNDED(from, name, T, rd, rtn)
__HW_FROM(int, int, float) __HW_FROM(uint, uint, float) __HW_FROM(long, ll, float) __HW_FROM(ulong, ull, float)
__HW_FROM(long, ll, double) __HW_FROM(ulong, ull, double) __HW_FROM(double, double, float)
__HW double __int2double_rn(int x) { return (double)x; }
__HW double __uint2double_rn(uint x) { return (double)x; }

template <class T> __HW T __ldg(const T *p) { return *p; }

/* ---- half precision */
typedef _Float16 __half, half;
typedef _Float16 __half2 __attribute__((ext_vector_type(2))), half2 __attribute__((ext_vector_type(2)));
__HW half __float2half(float x) { return (half)x; }
__HW half __float2half_rn(float x) { return (half)x; }
__HW float __half2float(half x) { return (float)x; }
__HW half __int2half_rn(int x) { return (half)x; }
__HW half2 __floats2half2_rn(float x, float y) { return half2{(half)x, (half)y}; }
__HW half2 __float2half2_rn(float x) { return half2{(half)x, (half)x}; }
__HW half2 __halves2half2(half x, half y) { return half2{x, y}; }
__HW half2 __half2half2(half x) { return half2{x, x}; }
__HW half __low2half(half2 x) { return x.x; }
__HW half __high2half(half2 x) { return x.y; }
__HW float __low2float(half2 x) { return (float)x.x; }
__HW float __high2float(half2 x) { return (float)x.y; }
__HW float2 __half22float2(half2 x) { return float2{(float)x.x, (float)x.y}; }
__HW half __hadd(half x, half y) { return x + y; }
__HW half __hsub(half x, half y) { return x - y; }
__HW half __hmul(half x, half y) { return x * y; }
__HW half __hdiv(half x, half y) { return x / y; }
__HW half __hneg(half x) { return -x; }
__HW half __hfma(half x, half y, half z) { return (half)fma((double)x, (double)y, (double)z); }
__HW half2 __hadd2(half2 x, half2 y) { return x + y; }
__HW half2 __hsub2(half2 x, half2 y) { return x - y; }
__HW half2 __hmul2(half2 x, half2 y) { return x * y; }
__HW half2 __hfma2(half2 x, half2 y, half2 z) { return half2{__hfma(x.x, y.x, z.x), __hfma(x.y, y.y, z.y)}; }
__HW bool __hgt(half x, half y) { return x > y; }
__HW bool __hlt(half x, half y) { return x < y; }
__HW bool __heq(half x, half y) { return x == y; }
__HW half __hmax(half x, half y) { return (half)fmax((float)x, (float)y); }
__HW half __hmin(half x, half y) { return (half)fmin((float)x, (float)y); }
__HW half hexp(half x) { return (half)exp((float)x); }
__HW half hlog(half x) { return (half)log((float)x); }
__HW half hsqrt(half x) { return (half)sqrt((float)x); }

namespace std {
using ::abs; using ::acos; using ::asin; using ::atan; using ::atan2; using ::ceil; using ::cos; using ::cosh; using ::erf;
using ::exp; using ::fabs; using ::floor; using ::fma; using ::fmax; using ::fmin; using ::fmod; using ::hypot;
using ::isfinite; using ::isinf; using ::isnan; using ::log; using ::log10; using ::log1p; using ::log2; using ::pow;
using ::rint; using ::round; using ::sin; using ::sinh; using ::sqrt; using ::tan; using ::tanh; using ::trunc;
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::size_t; using ::ptrdiff_t;
template <class T> __host__ __device__ constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }
template <class T> __host__ __device__ constexpr void swap(T &a, T &b) { T c = a; a = b; b = c; }
}
