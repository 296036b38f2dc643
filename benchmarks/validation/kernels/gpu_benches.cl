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

/* A work-item reads elements `stride` apart from its neighbour's; what is read lies in the L1. */
#define STRIDES(T) \
  T sum = 0; \
  int at = (get_local_id(0) * stride); \
  for (int n = 0; n < repeat; n++) { \
    _Pragma("unroll") for (int k = 0; k < 16; k++) sum += in[(at + k * 64 * stride) & mask]; \
    if (sum == (T)1.5) out[0] = sum; \
  } \
  out[get_global_id(0)] = sum;
kernel void strides1(global const float *in, global float *out, int stride, int repeat, int mask) { STRIDES(float) }
kernel void strides2(global const double *in, global double *out, int stride, int repeat, int mask) { STRIDES(double) }
