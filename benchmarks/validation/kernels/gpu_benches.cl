/* RRZE-HPC, gpu-benches: latency of a chain of pointers; bandwidth of caches; strides. */
kernel void chase(global const ulong *next, global ulong *out, int steps) {
  global const ulong *at = next + get_local_id(0); /* so that loads are vector memory's */
  for (int i = 0; i < steps; i += 32) {
#pragma unroll
    for (int k = 0; k < 32; k++) at = (global const ulong *)*at;
  }
  out[0] = (ulong)at;
}

/* Every work-group reads the same `count` elements again and again. */
kernel void cache(global const double2 *in, global double2 *out, int count, int repeat) {
  double2 sum = 0;
  int quarter = count / 4, end = max(quarter, (int)get_local_size(0));
  for (int n = 0; n < repeat; n++) {
    for (int i = get_local_id(0); i < end; i += get_local_size(0)) {
      global const double2 *at = in + (i & (quarter - 1));
      sum += at[0] + at[quarter] + at[2 * quarter] + at[3 * quarter];
    }
    if (sum.x == 1.5) out[0] = sum;
  }
  out[get_global_id(0)] = sum;
}

/* One work-group of 1024, whose wavefronts read elements `stride` apart, or blocks of rows; what is read lies in the L1. */
#define LOADS(T, first) \
  T sum = 0; \
  global const T *at = in + (first); \
  _Pragma("nounroll") for (int n = 0; n < repeat; n += 8) { \
    at += zero; \
    sum += at[0] * at[4]; \
    sum += at[8] * at[12]; \
    sum += at[20] * at[16]; \
    sum += at[24] * at[28]; \
  } \
  if (sum == (T)123123.23) out[get_local_id(0) % 64] = sum;
#define STRIDES(T) LOADS(T, get_local_id(0) % 64 * stride)
#define BLOCKS(T) LOADS(T, (get_local_id(0) % 64 + get_local_id(1) % 32 * pitch + pitch) | zero)
kernel __attribute__((reqd_work_group_size(1024, 1, 1)))
void strides1(global const float *in, global float *out, int zero, int stride, int repeat) { STRIDES(float) }
kernel __attribute__((reqd_work_group_size(1024, 1, 1)))
void strides2(global const double *in, global double *out, int zero, int stride, int repeat) { STRIDES(double) }
#ifndef WIDTH
#define WIDTH 1
#endif
kernel __attribute__((reqd_work_group_size(WIDTH, 1024 / WIDTH, 1)))
void blocks1(global const float *in, global float *out, int zero, int pitch, int repeat) { BLOCKS(float) }
kernel __attribute__((reqd_work_group_size(WIDTH, 1024 / WIDTH, 1)))
void blocks2(global const double *in, global double *out, int zero, int pitch, int repeat) { BLOCKS(double) }
