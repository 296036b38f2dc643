// Inverse trigonometric functions of double (OpenCL C 1.2 specification 6.12.2; accuracy: table 7.4, 4 to 6 ULP).
// Provides d: asin acos atan atan2 asinpi acospi atanpi atan2pi
#include "internal.h"

#define PI_HI 0x1.921fb54442d18p+1
#define PI_LO 0x1.1a62633145c07p-53

/* (asin(s) - s)/s for z = s^2 <= 1/4: minimax fit, 2^-56. */
HELPER double asin_tail(double z) {
  double p = FMA(FMA(FMA(0x1.05a0c1a3809ebp-5, z, -0x1.0a65c9f44975bp-6), z, 0x1.40500414c5845p-6), z, 0x1.ab4d0ab09c99bp-8);
  p = FMA(FMA(FMA(p, z, 0x1.8ed1a9329ff7ep-7), z, 0x1.c6fb95ec9a7c3p-7), z, 0x1.1c6bfce068d92p-6);
  p = FMA(FMA(FMA(p, z, 0x1.6e89f28324a9ep-6), z, 0x1.f1c72c4ab2caap-6), z, 0x1.6db6db42469aap-5);
  p = FMA(FMA(p, z, 0x1.333333336ec9bp-4), z, 0x1.555555555538ep-3);
  return z * p;
}
/* For |x| > 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x)/2)). Gives the angle and whether it is that complement. */
HELPER double asin_angle(double x, private bool *complement) {
  double a = ABS(x);
  bool far = a > 0.5;
  double z = far ? FMA(a, -0.5, 0.5) : a * a;
  double s = far ? __builtin_elementwise_sqrt(z) : a;
  double r = FMA(s, asin_tail(z), s);
  *complement = far;
  return far ? 2.0 * r : r;
}
PURE double asin(double x) {
  bool far;
  double r = asin_angle(x, &far);
  return __builtin_elementwise_copysign(far ? (0.5 * PI_HI - r) + 0.5 * PI_LO : r, x);
}
PURE double acos(double x) {
  bool far;
  double r = asin_angle(x, &far);
  double near = as_long(x) < 0 ? r : -r;
  double beyond = as_long(x) < 0 ? (PI_HI - r) + PI_LO : r;
  return far ? beyond : 0.5 * PI_HI + (near + 0.5 * PI_LO);
}
HELPER double over_pi(double r) { return FMA(r, 0x1.45f306dc9c883p-2, r * -0x1.6b01ec5417056p-56); }
PURE double asinpi(double x) {
  bool far;
  double r = over_pi(asin_angle(x, &far));
  return __builtin_elementwise_copysign(far ? 0.5 - r : r, x);
}
PURE double acospi(double x) {
  bool far;
  double r = over_pi(asin_angle(x, &far));
  double near = as_long(x) < 0 ? r : -r;
  return far ? (as_long(x) < 0 ? 1.0 - r : r) : 0.5 + near;
}

/* atan(q) for 0 <= q <= 1: minimax fit, 2^-54. */
HELPER double atan_kernel(double q) {
  double z = q * q;
  double p = FMA(FMA(FMA(0x1.bbeece7799df8p-17, z, -0x1.3f36ef93ba556p-13), z, 0x1.b3fb6765e7b3cp-11), z, -0x1.7a39f1d199b5p-9);
  p = FMA(FMA(FMA(p, z, 0x1.d7b964d182646p-8), z, -0x1.c78fe70ffb87p-7), z, 0x1.683ccd5005844p-6);
  p = FMA(FMA(FMA(p, z, -0x1.e9fa0803afdc4p-6), z, 0x1.2c2e57fc1b05ep-5), z, -0x1.59a3fb1a1e78dp-5);
  p = FMA(FMA(FMA(p, z, 0x1.82dad5503f1cbp-5), z, -0x1.ae5e71d08bfc5p-5), z, 0x1.e1bba623f3825p-5);
  p = FMA(FMA(FMA(p, z, -0x1.110e511f0cf82p-4), z, 0x1.3b136698e8beap-4), z, -0x1.745d11ae51a21p-4);
  p = FMA(FMA(FMA(p, z, 0x1.c71c717fccf7dp-4), z, -0x1.249249237f4abp-3), z, 0x1.99999999955bp-3);
  p = FMA(p, z, -0x1.5555555555526p-2);
  return FMA(q * z, p, q);
}
HELPER double atan_angle(double x, private bool *complement) {
  double a = ABS(x);
  bool far = a > 1.0;
  *complement = far;
  return atan_kernel(far ? 1.0 / a : a);
}
PURE double atan(double x) {
  bool far;
  double r = atan_angle(x, &far);
  return __builtin_elementwise_copysign(far ? (0.5 * PI_HI - r) + 0.5 * PI_LO : r, x);
}
PURE double atanpi(double x) {
  bool far;
  double r = over_pi(atan_angle(x, &far));
  return __builtin_elementwise_copysign(far ? 0.5 - r : r, x);
}

/* The angle of (|x|, |y|) below the diagonal it is nearer to. */
HELPER double atan2_angle(double y, double x, private bool *steep) {
  double a = ABS(x), b = ABS(y);
  *steep = b > a;
  double top = b > a ? a : b, bottom = b > a ? b : a;
  double q = top / bottom;
  q = bottom == 0.0 ? 0.0 : q;
  q = top == INFINITY ? 1.0 : q;
  return x != x || y != y ? x + y : atan_kernel(q);
}
PURE double atan2(double y, double x) {
  bool steep;
  double r = atan2_angle(y, x, &steep);
  r = steep ? (0.5 * PI_HI - r) + 0.5 * PI_LO : r;
  r = as_long(x) < 0 ? (PI_HI - r) + PI_LO : r;
  return __builtin_elementwise_copysign(r, y);
}
PURE double atan2pi(double y, double x) {
  bool steep;
  double r = over_pi(atan2_angle(y, x, &steep));
  r = steep ? 0.5 - r : r;
  r = as_long(x) < 0 ? 1.0 - r : r;
  return __builtin_elementwise_copysign(r, y);
}
