/* Chains of multiply-additions, as clpeak has them: two values, each made of the other. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define STEP(f) x = f(y, x, y); y = f(x, y, x);
#define FOUR(f) STEP(f) STEP(f)
#define SIXTEEN(f) FOUR(f) FOUR(f) FOUR(f) FOUR(f)
#define SIXTY_FOUR(f) SIXTEEN(f) SIXTEEN(f) SIXTEEN(f) SIXTEEN(f)
#define CHAIN(T, f) \
  T x = (T)a, y = (T)get_local_id(0); \
  for (int i = 0; i < n; i++) { SIXTY_FOUR(f) SIXTY_FOUR(f) } \
  out[get_global_id(0)] = y;

kernel void float32(global float *out, float a, int n) { CHAIN(float, mad) }
kernel void float64(global double *out, double a, int n) { CHAIN(double, mad) }
int product(int a, int b, int c) { return a * b + c; }
kernel void int32(global int *out, int a, int n) { CHAIN(int, product) }
kernel void int24(global int *out, int a, int n) { CHAIN(int, mad24) }
half2 halves(half2 a, half2 b, half2 c) { return a * b + c; }
kernel void half2s(global half2 *out, float a, int n) {
  half2 x = (half2)((half)a), y = (half2)((half)get_local_id(0));
  for (int i = 0; i < n; i++) { SIXTY_FOUR(halves) SIXTY_FOUR(halves) }
  out[get_global_id(0)] = y;
}
