/* Rounding, signs, extremes: functions of 6.12.2 that are a few instructions, written once for float and double.

   The includer defines: T the type, I and U integers of its size, AS_T, AS_I, AS_U the reinterpretations, MANTISSA the
   stored bits of the mantissa (23, 52), EXPONENTS the number of exponents (255, 2047), K(x) a constant of type T. */

#define INF_BITS ((U)EXPONENTS << MANTISSA)

PURE T fabs(T x) { return __builtin_elementwise_abs(x); }
PURE T ceil(T x) { return __builtin_elementwise_ceil(x); }
PURE T floor(T x) { return __builtin_elementwise_floor(x); }
PURE T trunc(T x) { return __builtin_elementwise_trunc(x); }
PURE T rint(T x) { return __builtin_elementwise_roundeven(x); }
PURE T round(T x) { return __builtin_elementwise_round(x); }
PURE T sqrt(T x) { return __builtin_elementwise_sqrt(x); }
PURE T copysign(T x, T y) { return __builtin_elementwise_copysign(x, y); }
PURE T fma(T a, T b, T c) { return __builtin_elementwise_fma(a, b, c); }
PURE T mad(T a, T b, T c) { return __builtin_elementwise_fma(a, b, c); }

/* One NaN gives the other argument. */
PURE T fmax(T x, T y) { return __builtin_elementwise_maxnum(x, y); }
PURE T fmin(T x, T y) { return __builtin_elementwise_minnum(x, y); }
PURE T maxmag(T x, T y) {
  T a = ABS(x), b = ABS(y);
  return a > b ? x : b > a ? y : fmax(x, y);
}
PURE T minmag(T x, T y) {
  T a = ABS(x), b = ABS(y);
  return a < b ? x : b < a ? y : fmin(x, y);
}
PURE T fdim(T x, T y) { return x <= y ? K(0.0) : x - y; }
PURE T nan(U code) { return AS_T(INF_BITS | (U)1 << (MANTISSA - 1) | (code & (((U)1 << (MANTISSA - 1)) - 1))); }
