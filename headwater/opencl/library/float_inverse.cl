// Inverse trigonometric functions of float (OpenCL C 1.2 specification 6.12.2; accuracy: table 7.4, 4 to 6 ULP).
// Provides f: asin acos atan atan2 asinpi acospi atanpi atan2pi
#include "internal.h"

#define PI_HI 0x1.921fb6p+1f
#define PI_LO -0x1.777a5cp-24f

/* asin(s)/s for z = s^2 <= 1/4 is 1 + z q(z), and (asin(s) - s)/s = z q(z): minimax fit, 2^-27. */
HELPER float asin_tail(float z) {
  float q = FMA(FMA(FMA(0x1.596dd6p-5f, z, 0x1.8c2d34p-6f), z, 0x1.747d0ap-5f), z, 0x1.3301fcp-4f);
  return z * FMA(q, z, 0x1.5555c8p-3f);
}
/* For |x| > 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x)/2)). Gives the angle and whether it is that complement. */
HELPER float asin_angle(float x, private bool *complement) {
  float a = ABS(x);
  bool far = a > 0.5f;
  float z = far ? FMA(a, -0.5f, 0.5f) : a * a;
  float s = far ? __builtin_elementwise_sqrt(z) : a;
  float r = FMA(s, asin_tail(z), s);
  *complement = far;
  return far ? 2.0f * r : r;
}
PURE float asin(float x) {
  bool far;
  float r = asin_angle(x, &far);
  return __builtin_elementwise_copysign(far ? 0.5f * PI_HI - (r - 0.5f * PI_LO) : r, x);
}
PURE float acos(float x) {
  bool far;
  float r = asin_angle(x, &far);
  float near = as_int(x) < 0 ? r : -r;
  float beyond = as_int(x) < 0 ? (PI_HI - r) + PI_LO : r;
  return far ? beyond : 0.5f * PI_HI + (near + 0.5f * PI_LO);
}
HELPER float over_pi(float r) { return FMA(r, 0x1.45f306p-2f, r * 0x1.b9391p-27f); }
PURE float asinpi(float x) {
  bool far;
  float r = over_pi(asin_angle(x, &far));
  return __builtin_elementwise_copysign(far ? 0.5f - r : r, x);
}
PURE float acospi(float x) {
  bool far;
  float r = over_pi(asin_angle(x, &far));
  float near = as_int(x) < 0 ? r : -r;
  return far ? (as_int(x) < 0 ? 1.0f - r : r) : 0.5f + near;
}

/* atan(q) for 0 <= q <= 1: minimax fit, 2^-28. */
HELPER float atan_kernel(float q) {
  float z = q * q;
  float p = FMA(FMA(FMA(-0x1.d3452cp-10f, z, 0x1.641c7p-7f), z, -0x1.fd78e2p-6f), z, 0x1.da2882p-5f);
  p = FMA(FMA(FMA(FMA(p, z, -0x1.5808e4p-4f), z, 0x1.c08c48p-4f), z, -0x1.242086p-3f), z, 0x1.9991e4p-3f);
  return FMA(q * z, FMA(p, z, -0x1.55553ep-2f), q);
}
HELPER float atan_angle(float x, private bool *complement) {
  float a = ABS(x);
  bool far = a > 1.0f;
  *complement = far;
  return atan_kernel(far ? 1.0f / a : a);
}
PURE float atan(float x) {
  bool far;
  float r = atan_angle(x, &far);
  return __builtin_elementwise_copysign(far ? 0.5f * PI_HI - (r - 0.5f * PI_LO) : r, x);
}
/* An eighth of a turn is 1/4 exactly. */
HELPER float angle_over_pi(float r) { return r == atan_kernel(1.0f) ? 0.25f : over_pi(r); }
PURE float atanpi(float x) {
  bool far;
  float r = angle_over_pi(atan_angle(x, &far));
  return __builtin_elementwise_copysign(far ? 0.5f - r : r, x);
}

/* The angle of (|x|, |y|) below the diagonal it is nearer to. */
HELPER float atan2_angle(float y, float x, private bool *steep) {
  float a = ABS(x), b = ABS(y);
  *steep = b > a;
  float top = b > a ? a : b, bottom = b > a ? b : a;
  float q = top / bottom;
  q = bottom == 0.0f ? 0.0f : q;
  q = top == INFINITY ? 1.0f : q;
  return x != x || y != y ? x + y : atan_kernel(q);
}
PURE float atan2(float y, float x) {
  bool steep;
  float r = atan2_angle(y, x, &steep);
  r = steep ? 0.5f * PI_HI - (r - 0.5f * PI_LO) : r;
  r = as_int(x) < 0 ? PI_HI - (r - PI_LO) : r;
  return __builtin_elementwise_copysign(r, y);
}
PURE float atan2pi(float y, float x) {
  bool steep;
  float r = angle_over_pi(atan2_angle(y, x, &steep));
  r = steep ? 0.5f - r : r;
  r = as_int(x) < 0 ? 1.0f - r : r;
  return __builtin_elementwise_copysign(r, y);
}
