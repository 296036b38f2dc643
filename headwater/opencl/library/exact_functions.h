/* Exponents, fractions and remainders: the exact functions of 6.12.2, written once for float and double.

   The includer defines: T the type, I and U integers of its size, AS_T, AS_I, AS_U the reinterpretations, MANTISSA the
   stored bits of the mantissa (23, 52), EXPONENTS the number of exponents (255, 2047), K(x) a constant of type T. */

#define BIAS (EXPONENTS / 2)
#define MAGNITUDE (~(U)0 >> 1)
#define INF_BITS ((U)EXPONENTS << MANTISSA)
#define TWO_TO(n) AS_T((U)((n) + BIAS) << MANTISSA)
#define SMALLEST_NORMAL TWO_TO(1 - BIAS)
#define NOT_A_NUMBER AS_T(INF_BITS | (U)1 << (MANTISSA - 1))
#define FOR_SPACES(M) M(private) M(global) M(local) M(generic)

/* ---- exponents */
HELPER int exponent_of(U magnitude) { return (int)(magnitude >> MANTISSA); }
/* A denormal number, 2 to the power of DENORMAL_UP times as large: without arithmetic that flushes it on some chips. */
#define DENORMAL_UP (BIAS - 1 + MANTISSA)
HELPER U normalised(U magnitude) {
  return AS_U(AS_T(magnitude | (U)(BIAS + MANTISSA) << MANTISSA) - TWO_TO(MANTISSA));
}

PURE int ilogb(T x) {
  U a = AS_U(x) & MAGNITUDE;
  bool tiny = a < (U)1 << MANTISSA;
  U n = tiny ? normalised(a) : a;
  int e = exponent_of(n) - BIAS - (tiny ? DENORMAL_UP : 0);
  return a == 0 ? FP_ILOGB0 : a > INF_BITS ? FP_ILOGBNAN : a == INF_BITS ? INT_MAX : e;
}
PURE T logb(T x) {
  U a = AS_U(x) & MAGNITUDE;
  return a == 0 ? -AS_T(INF_BITS) : a >= INF_BITS ? AS_T(a) : (T)ilogb(x);
}

PURE T ldexp(T x, int n) {
  U a = AS_U(x) & MAGNITUDE, sign = AS_U(x) & ~MAGNITUDE;
  bool tiny = a < (U)1 << MANTISSA;
  U m = tiny ? normalised(a) : a;
  /* Beyond these bounds the result is 0 or infinity whatever x. */
  n = n > 3 * EXPONENTS ? 3 * EXPONENTS : n < -3 * EXPONENTS ? -3 * EXPONENTS : n;
  int e = exponent_of(m) - (tiny ? DENORMAL_UP : 0) + n;
  /* Results below the normal range are made 64 binades higher and scaled down, so that they round once. */
  bool low = e <= 0;
  int at = low ? e + 64 : e;
  at = at < 1 ? 1 : at;
  T r = AS_T((m & (((U)1 << MANTISSA) - 1)) | (U)at << MANTISSA) * (low ? TWO_TO(-64) : K(1.0));
  r = e >= EXPONENTS ? AS_T(INF_BITS) : r;
  return a == 0 || a >= INF_BITS ? x : AS_T(AS_U(r) | sign);
}

HELPER T frexp_core(T x, private int *exponent) {
  U a = AS_U(x) & MAGNITUDE;
  bool tiny = a < (U)1 << MANTISSA, special = a == 0 || a >= INF_BITS;
  U m = tiny ? normalised(a) : a;
  *exponent = special ? 0 : exponent_of(m) - (BIAS - 1) - (tiny ? DENORMAL_UP : 0);
  return special ? x : AS_T((m & ~INF_BITS) | (U)(BIAS - 1) << MANTISSA | (AS_U(x) & ~MAGNITUDE));
}
#define FREXP(space) \
  OVER T frexp(T x, space int *exponent) { \
    int e; \
    T r = frexp_core(x, &e); \
    *exponent = e; \
    return r; \
  }
FOR_SPACES(FREXP)

#define MODF(space) \
  OVER T modf(T x, space T *whole) { \
    T w = __builtin_elementwise_trunc(x); \
    *whole = w; \
    return __builtin_elementwise_copysign(ABS(x) == AS_T(INF_BITS) ? K(0.0) : x - w, x); \
  }
FOR_SPACES(MODF)

/* min(x - floor(x), largest below 1): a tiny negative x must not give 1. */
#define FRACT(space) \
  OVER T fract(T x, space T *whole) { \
    T w = __builtin_elementwise_floor(x); \
    *whole = w; \
    T f = x - w, top = AS_T(((U)BIAS << MANTISSA) - 1); \
    f = f > top ? top : f; \
    return ABS(x) == AS_T(INF_BITS) ? __builtin_elementwise_copysign(K(0.0), x) : f; \
  }
FOR_SPACES(FRACT)

PURE T nextafter(T x, T y) {
  I a = AS_I(x), b = AS_I(y);
  /* Order-preserving integers: negative values count down from zero. */
  I ka = a < 0 ? (I)((U)1 << (8 * sizeof(T) - 1)) - a : a;
  I kb = b < 0 ? (I)((U)1 << (8 * sizeof(T) - 1)) - b : b;
  I step = ka < kb ? ka + 1 : ka - 1;
  I bits = step < 0 || (step == 0 && a < 0) ? (I)((U)1 << (8 * sizeof(T) - 1)) - step : step;
  T r = ka == kb ? y : AS_T(bits);
  return x != x || y != y ? x + y : r;
}

/* ---- remainders: |x| mod |y| and the quotient's low bits; the remainder is `up` times as large, which is a power of
   two, so that it is no denormal, which may be zero, where it has to be compared with y. */
HELPER T up_of(T y) { return y < TWO_TO(-BIAS / 2) ? TWO_TO(BIAS / 2) : K(1.0); }
HELPER T down_of(T up) { return up > K(1.0) ? TWO_TO(-BIAS / 2) : K(1.0); }
HELPER T modulo(T x, T y, T up, private uint *quotient) {
  T limit = y * TWO_TO(MANTISSA - 1);
  if (x < limit) {
    x *= up;
    y *= up;
    T q = __builtin_elementwise_trunc(x / y);
    T r = FMA(-q, y, x);
    /* The quotient is at most one off. A remainder below 0 is exact all the same; one of more than y may not be. */
    bool over = r < K(0.0), under = r >= y;
    q += over ? K(-1.0) : under ? K(1.0) : K(0.0);
    r = over ? r + y : under ? FMA(-q, y, x) : r;
    *quotient = (uint)(I)q;
    return r;
  }
  /* Long division, bit by bit. */
  bool tiny = y < SMALLEST_NORMAL;
  U b = AS_U(tiny ? y * TWO_TO(MANTISSA + 1) : y), a = AS_U(x);
  int shift = exponent_of(a) - exponent_of(b) + (tiny ? MANTISSA + 1 : 0);
  int base = exponent_of(b) - (tiny ? MANTISSA + 1 : 0);
  U hidden = (U)1 << MANTISSA, my = (b & (hidden - 1)) | hidden, m = (a & (hidden - 1)) | hidden;
  uint q = 0;
  for (int i = shift; i > 0; i--) {
    bool fits = m >= my;
    m = (fits ? m - my : m) << 1;
    q = q << 1 | fits;
  }
  bool fits = m >= my;
  m = fits ? m - my : m;
  *quotient = q << 1 | fits;
  /* m * 2^(base - MANTISSA): exact, through two powers so that none overflows. */
  T r = (T)m;
  int e = base - BIAS - MANTISSA + (up > K(1.0) ? BIAS / 2 : 0);
  int half_way = e / 2;
  return r * TWO_TO(half_way) * TWO_TO(e - half_way);
}

PURE T fmod(T x, T y) {
  uint q;
  T a = ABS(x), b = ABS(y), r = a;
  bool bad = !(a < AS_T(INF_BITS)) || !(b > K(0.0));
  T up = up_of(b);
  if (!bad && b < AS_T(INF_BITS)) r = modulo(a, b, up, &q) * down_of(up);
  return bad || y != y ? NOT_A_NUMBER : __builtin_elementwise_copysign(r, x);
}

HELPER T remainder_core(T x, T y, private int *quotient) {
  uint q = 0;
  T a = ABS(x), b = ABS(y), r = a;
  bool bad = !(a < AS_T(INF_BITS)) || !(b > K(0.0));
  T up = up_of(b);
  if (!bad && b < AS_T(INF_BITS)) r = modulo(a, b, up, &q);
  b *= up;
  T rest = b - r;
  bool above = r > rest || (r == rest && (q & 1));
  r = above ? r - b : r;
  q = (q + above) & 0x7f;
  bool negative = (AS_I(x) ^ AS_I(y)) < 0;
  *quotient = bad || y != y ? 0 : negative ? -(int)q : (int)q;
  r = (AS_I(x) < 0 ? -r : r) * down_of(up);
  return bad || y != y ? NOT_A_NUMBER : r;
}
PURE T remainder(T x, T y) {
  int q;
  return remainder_core(x, y, &q);
}
#define REMQUO(space) \
  OVER T remquo(T x, T y, space int *quotient) { \
    int q; \
    T r = remainder_core(x, y, &q); \
    *quotient = q; \
    return r; \
  }
FOR_SPACES(REMQUO)
