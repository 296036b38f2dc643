/* AMD, APP OpenCL Programming Guide rev. 1.3f, 4.6 and 4.7: copies of one dimension and of two, a whole or a part at a time. */
kernel void copy1(global const float *in, global float *out) { int i = get_global_id(0); out[i] = in[i]; }
kernel void copy4(global const float4 *in, global float4 *out) { int i = get_global_id(0); out[i] = in[i]; }
kernel void copy_complete(global int *in, global int *out) {
  int i = get_global_id(0);
  atomic_xchg(&out[i], atomic_or(&in[i], 0));
}
kernel void copy2d(global const float *in, global float *out, int width) {
  int i = get_global_id(1) * width + get_global_id(0);
  out[i] = in[i];
}
kernel void copy2d4(global const float4 *in, global float4 *out, int width) {
  int i = get_global_id(1) * width + get_global_id(0);
  out[i] = in[i];
}
/* Of every second work-item of 64 the place is turned round. */
int turned() {
  int i = get_global_id(0);
  return i & 1 ? i : (i & ~63) + 62 - get_local_id(0);
}
kernel void copy_turned(global const float *in, global float *out) { int i = turned(); out[i] = in[i]; }
kernel void copy_split(global const float *in, global float *out) {
  int i = get_global_id(0);
  if (i & 4) out[i] = in[i] + 1;
  else out[i] = in[i];
}
kernel void copy_misaligned(global const float *in, global float *out, int offset) {
  int i = get_global_id(0) + offset;
  out[i] = in[i] + 1;
}

/* AMD, APP SDK, LDSBandwidth: 32 dwords of each work-item, all from one place or side by side. */
#define SUM8(at) (at(0) + at(1) + at(2) + at(3) + at(4) + at(5) + at(6) + at(7))
#define SUM32(at) \
  (SUM8(at) + at(8) + at(9) + at(10) + at(11) + at(12) + at(13) + at(14) + at(15) + at(16) + at(17) + at(18) + at(19) + \
   at(20) + at(21) + at(22) + at(23) + at(24) + at(25) + at(26) + at(27) + at(28) + at(29) + at(30) + at(31))
#define LDS_READS(place) \
  local float buffer[2048]; \
  float sum = 0; \
  int s = place; \
  for (int k = get_local_id(0); k < 2048; k += get_local_size(0)) buffer[k] = k; \
  barrier(CLK_LOCAL_MEM_FENCE); \
  for (int j = 0; j < repeat; j++) { sum += SUM32(AT); s = (s + 32) & 1023; } \
  out[get_global_id(0)] = sum;
#define AT(k) buffer[s + k]
kernel void lds_linear(global float *out, int repeat) { LDS_READS(get_local_id(0)) }
kernel void lds_single(global float *out, int repeat) { LDS_READS(0) }
#undef AT

/* SHOC, MaxFlops: eight independent chains of multiply-additions; local writes; pixels. */
#define ROUND(f) s0 = f(s0); s1 = f(s1); s2 = f(s2); s3 = f(s3); s4 = f(s4); s5 = f(s5); s6 = f(s6); s7 = f(s7);
#define FOUR(f) ROUND(f) ROUND(f) ROUND(f) ROUND(f)
#define CHAINS(T, f) \
  T s0 = (T)get_local_id(0), s1 = s0 + 1, s2 = s0 + 2, s3 = s0 + 3, s4 = s0 + 4, s5 = s0 + 5, s6 = s0 + 6, s7 = s0 + 7; \
  for (int i = 0; i < n; i++) { FOUR(f) FOUR(f) FOUR(f) FOUR(f) FOUR(f) FOUR(f) FOUR(f) FOUR(f) } \
  out[get_global_id(0)] = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;
#define MADD(s) mad(s, a, b)
kernel void madd8(global float *out, float a, float b, int n) { CHAINS(float, MADD) }
#define FMA64(s) fma(s, a, b)
kernel void fma8(global double *out, double a, double b, int n) { CHAINS(double, FMA64) }
#define MADD64(s) (s * a + b)
kernel void madd8_64(global double *out, double a, double b, int n) { CHAINS(double, MADD64) }
kernel void constants(constant float4 *in, global float4 *out, int from, int repeat) {
  float4 sum = 0;
  for (int j = 0; j < repeat; j++) {
    int s = from + j;
#define AT(k) in[s + k]
    sum += SUM32(AT);
#undef AT
  }
  out[get_global_id(0)] = sum;
}
/* A walk along a chain of indices. */
kernel void chase(global const uint *next, global uint *out, int n) {
  uint at = 0;
#pragma unroll 8
  for (int i = 0; i < n; i++) at = next[at];
  *out = at;
}
