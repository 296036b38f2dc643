// Integer functions (OpenCL C 1.2 specification 6.12.3; ctz: OpenCL C 2.0 specification 6.13.3).
// Provides *: abs abs_diff add_sat sub_sat hadd rhadd clz ctz popcount rotate mul_hi mad_hi mad_sat mul24 mad24 upsample
// Provides c: min max clamp
// Provides h: min max clamp
// Provides s: min max clamp
// Provides t: min max clamp
// Provides i: min max clamp
// Provides j: min max clamp
// Provides l: min max clamp
// Provides m: min max clamp
#include "internal.h"

#define FOR_SIGNED(M) M(char, uchar) M(short, ushort) M(int, uint) M(long, ulong)
#define FOR_UNSIGNED(M) M(uchar) M(ushort) M(uint) M(ulong)
#define BITS(T) ((int)(8 * sizeof(T)))

#define BOTH(T) \
  PURE T min(T a, T b) { return a < b ? a : b; } \
  PURE T max(T a, T b) { return a > b ? a : b; } \
  PURE T clamp(T x, T low, T high) { return min(max(x, low), high); } \
  PURE T add_sat(T a, T b) { return __builtin_elementwise_add_sat(a, b); } \
  PURE T sub_sat(T a, T b) { return __builtin_elementwise_sub_sat(a, b); } \
  /* (a + b) / 2 without the carry: what they share, and half of what they do not. */ \
  PURE T hadd(T a, T b) { return (T)((a & b) + ((T)(a ^ b) >> 1)); } \
  PURE T rhadd(T a, T b) { return (T)((a | b) - ((T)(a ^ b) >> 1)); }

#define SIGNED(T, U) \
  BOTH(T) \
  PURE U abs(T x) { return (U)(x < 0 ? -(U)x : (U)x); } \
  PURE U abs_diff(T a, T b) { return a > b ? (U)((U)a - (U)b) : (U)((U)b - (U)a); } \
  PURE T clz(T x) { return (T)clz((U)x); } \
  PURE T ctz(T x) { return (T)ctz((U)x); } \
  PURE T popcount(T x) { return (T)popcount((U)x); } \
  PURE T rotate(T x, T n) { return (T)rotate((U)x, (U)n); }

#define UNSIGNED(T) \
  BOTH(T) \
  PURE T abs(T x) { return x; } \
  PURE T abs_diff(T a, T b) { return (T)(a > b ? a - b : b - a); } \
  PURE T clz(T x) { return __builtin_elementwise_clzg(x, (T)BITS(T)); } \
  PURE T ctz(T x) { return __builtin_elementwise_ctzg(x, (T)BITS(T)); } \
  PURE T popcount(T x) { return __builtin_elementwise_popcount(x); } \
  PURE T rotate(T x, T n) { return __builtin_elementwise_fshl(x, x, n); }

FOR_UNSIGNED(UNSIGNED)
FOR_SIGNED(SIGNED)

#define MUL_HI(T, W) \
  PURE T mul_hi(T a, T b) { return (T)((W)a * (W)b >> BITS(T)); } \
  PURE T mad_hi(T a, T b, T c) { return (T)((W)mul_hi(a, b) + c); }
MUL_HI(char, short) MUL_HI(uchar, ushort) MUL_HI(short, int) MUL_HI(ushort, uint) MUL_HI(int, long) MUL_HI(uint, ulong)

#ifdef __R600__
/* An instruction that LLVM does not see through: it would make one product of 128 bits of the four. */
uint __hw_vliw_high_product(uint a, uint b) __attribute__((const));
#define HIGH_PRODUCT(a, b) (ulong) __hw_vliw_high_product((uint)(a), (uint)(b))
#else
#define HIGH_PRODUCT(a, b) ((a) * (b) >> 32)
#endif

PURE ulong mul_hi(ulong a, ulong b) {
  ulong a0 = (uint)a, a1 = a >> 32, b0 = (uint)b, b1 = b >> 32;
  ulong middle = a1 * b0 + HIGH_PRODUCT(a0, b0);
  ulong other = a0 * b1 + (uint)middle;
  return a1 * b1 + (middle >> 32) + (other >> 32);
}
PURE long mul_hi(long a, long b) {
  return (long)(mul_hi((ulong)a, (ulong)b) - (a < 0 ? (ulong)b : 0) - (b < 0 ? (ulong)a : 0));
}
PURE ulong mad_hi(ulong a, ulong b, ulong c) { return mul_hi(a, b) + c; }
PURE long mad_hi(long a, long b, long c) { return (long)((ulong)mul_hi(a, b) + (ulong)c); }

/* mad_sat: the exact sum in a type twice as wide, cut to the range. */
#define MAD_SAT(T, W, LOW, HIGH) \
  PURE T mad_sat(T a, T b, T c) { \
    W r = (W)a * (W)b + (W)c; \
    return (T)(r < (W)LOW ? (W)LOW : r > (W)HIGH ? (W)HIGH : r); \
  }
MAD_SAT(char, int, CHAR_MIN, CHAR_MAX)
MAD_SAT(uchar, int, 0, UCHAR_MAX)
MAD_SAT(short, long, SHRT_MIN, SHRT_MAX)
MAD_SAT(ushort, long, 0, USHRT_MAX)
MAD_SAT(int, long, INT_MIN, INT_MAX)
MAD_SAT(uint, ulong, 0, UINT_MAX)
PURE ulong mad_sat(ulong a, ulong b, ulong c) {
  ulong low = a * b, sum = low + c;
  return mul_hi(a, b) != 0 || sum < low ? ULONG_MAX : sum;
}
PURE long mad_sat(long a, long b, long c) {
  ulong low = (ulong)a * (ulong)b, sum = low + (ulong)c;
  /* The high word of the 128-bit sum: c's sign, and the carry of the low words. */
  long high = mul_hi(a, b) + (c >> 63) + (sum < low);
  bool fits = high == ((long)sum >> 63);
  return fits ? (long)sum : high < 0 ? LONG_MIN : LONG_MAX;
}

PURE int mul24(int a, int b) { return (int)((uint)((int)((uint)a << 8) >> 8) * (uint)((int)((uint)b << 8) >> 8)); }
PURE uint mul24(uint a, uint b) { return (a & 0xffffff) * (b & 0xffffff); }
PURE int mad24(int a, int b, int c) { return (int)((uint)mul24(a, b) + (uint)c); }
PURE uint mad24(uint a, uint b, uint c) { return mul24(a, b) + c; }

#define UPSAMPLE(W, T, U) \
  PURE W upsample(T high, U low) { return (W)((W)high << BITS(U) | low); }
PURE short upsample(char high, uchar low) { return (short)((ushort)(uchar)high << 8 | low); }
PURE int upsample(short high, ushort low) { return (int)((uint)(ushort)high << 16 | low); }
PURE long upsample(int high, uint low) { return (long)((ulong)(uint)high << 32 | low); }
UPSAMPLE(ushort, uchar, uchar) UPSAMPLE(uint, ushort, ushort) UPSAMPLE(ulong, uint, uint)
