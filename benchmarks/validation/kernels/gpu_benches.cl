/* RRZE-HPC, gpu-benches: latency of a chain of pointers; bandwidth of caches; strides. */
kernel void chase(global const ulong *next, global ulong *out, int steps) {
  global const ulong *at = next + get_local_id(0); /* so that loads are vector memory's */
  for (int i = 0; i < steps; i += 32) {
#pragma unroll
    for (int k = 0; k < 32; k++) at = (global const ulong *)*at;
  }
  out[0] = (ulong)at;
}

/* A work-group of each compute unit reads the same two rows of COUNT elements again and again. */
#ifndef COUNT
#define COUNT 512
#define GROUP 512
#endif
/* Eight loads of each row in a turn: theirs is unrolled up to 32 times, and its compiler may let more be under way. */
#define TURN (COUNT / GROUP < 8 ? COUNT / GROUP : 8)
#define TIMES (8 / TURN)
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void cache(global const float4 *in, global float4 *out, int zero, int repeat) {
  float4 sum = 0, one[8], other[8];
  in += get_local_id(0);
  for (int n = 0; n < repeat; n += TIMES)
    for (int at = 0; at < COUNT; at += TURN * GROUP) {
#pragma unroll
      for (int k = 0; k < 8; k++) {
        if (k % TURN == 0) in += zero;
        one[k] = in[at + k % TURN * GROUP];
        other[k] = in[at + k % TURN * GROUP + COUNT];
      }
#pragma unroll
      for (int k = 0; k < 8; k++) sum = (sum + one[k] * other[k]) * 1.3f;
    }
  if (sum.x == 1233) out[get_local_id(0)] += sum;
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

/* gpu-l2-cache: work-groups of 1024 read EACH elements a work-item, of `run` parts that all together read again and again. */
#ifndef EACH
#define EACH 48
#endif
kernel __attribute__((reqd_work_group_size(1024, 1, 1)))
void second_level(global const double *in, global double *out, int run) {
  double sum = 0;
  in += get_group_id(0) % run * 2048 + get_local_id(0);
#pragma unroll
  for (int i = 0; i < EACH / 2; i++) sum += in[2048 * run * i] * in[2048 * run * i + 1024];
  if (sum * 1.3 == 23.12) out[get_local_id(0)] += sum;
}
