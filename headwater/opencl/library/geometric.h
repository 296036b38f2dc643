/* Geometric functions of 6.12.5 for one type T; SCALED(max) is a power of two that brings components of that size to
   where their squares neither overflow nor vanish, and UNSCALED(max) its inverse. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define T2 JOIN(T, 2)
#define T3 JOIN(T, 3)
#define T4 JOIN(T, 4)

PURE T dot(T a, T b) { return a * b; }
PURE T dot(T2 a, T2 b) { return FMA(a.x, b.x, a.y * b.y); }
PURE T dot(T3 a, T3 b) { return FMA(a.x, b.x, FMA(a.y, b.y, a.z * b.z)); }
PURE T dot(T4 a, T4 b) { return FMA(a.x, b.x, FMA(a.y, b.y, FMA(a.z, b.z, a.w * b.w))); }

/* a b - c d with the rounding of c d made good (Kahan). */
HELPER T difference(T a, T b, T c, T d) {
  T p = c * d, e = FMA(-c, d, p);
  return FMA(a, b, -p) + e;
}
PURE T3 cross(T3 a, T3 b) {
  return (T3)(difference(a.y, b.z, a.z, b.y), difference(a.z, b.x, a.x, b.z), difference(a.x, b.y, a.y, b.x));
}
PURE T4 cross(T4 a, T4 b) { return (T4)(cross(a.xyz, b.xyz), K(0.0)); }

HELPER T largest(T a) { return ABS(a); }
HELPER T larger(T a, T b) { return a > b ? a : b; }
HELPER T largest(T2 a) { return larger(ABS(a.x), ABS(a.y)); }
HELPER T largest(T3 a) { return larger(larger(ABS(a.x), ABS(a.y)), ABS(a.z)); }
HELPER T largest(T4 a) { return larger(larger(ABS(a.x), ABS(a.y)), larger(ABS(a.z), ABS(a.w))); }

#define FOR_WIDTH(V) \
  PURE T fast_length(V a) { return __builtin_elementwise_sqrt(dot(a, a)); } \
  PURE T length(V a) { \
    T top = largest(a); \
    V s = a * SCALED(top); \
    T r = __builtin_elementwise_sqrt(dot(s, s)) * UNSCALED(top); \
    return top == INFINITY ? (T)INFINITY : r; \
  } \
  PURE T distance(V a, V b) { return length(a - b); } \
  PURE T fast_distance(V a, V b) { return fast_length(a - b); } \
  PURE V fast_normalize(V a) { \
    T d = dot(a, a); \
    return d == K(0.0) ? a : a * (K(1.0) / __builtin_elementwise_sqrt(d)); \
  } \
  PURE V normalize(V a) { \
    T top = largest(a); \
    T up = SCALED(top) > K(1.0) ? SCALED(top) : K(1.0), down = SCALED(top) < K(1.0) ? SCALED(top) : K(1.0); \
    V s = a * SCALED(top); \
    T d = dot(s, s); \
    return d == K(0.0) ? a : a * up * (K(1.0) / __builtin_elementwise_sqrt(d)) * down; \
  }
FOR_WIDTH(T2) FOR_WIDTH(T3) FOR_WIDTH(T4)
PURE T length(T a) { return ABS(a); }
PURE T fast_length(T a) { return ABS(a); }
PURE T distance(T a, T b) { return ABS(a - b); }
PURE T fast_distance(T a, T b) { return ABS(a - b); }
PURE T normalize(T a) { return a > K(0.0) ? K(1.0) : a < K(0.0) ? K(-1.0) : a; }
PURE T fast_normalize(T a) { return a > K(0.0) ? K(1.0) : a < K(0.0) ? K(-1.0) : a; }
