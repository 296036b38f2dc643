// Vectors and matrices, stored by rows.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void vadd(global const float *a, global const float *b, global float *c) {
  int i = get_global_id(0);
  c[i] = a[i] + b[i];
}

kernel void daxpy(double a, global const double *x, global double *y) {
  int i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}

kernel void matmul(global const float *a, global const float *b, global float *c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; k++)
    sum += a[y * n + k] * b[k * n + x];
  c[y * n + x] = sum;
}

#define TILE 16
kernel void matmul_tiled(global const float *a, global const float *b, global float *c, int n) {
  local float as[TILE][TILE], bs[TILE][TILE];
  int x = get_local_id(0), y = get_local_id(1);
  int gx = get_group_id(0) * TILE + x, gy = get_group_id(1) * TILE + y;
  float sum = 0;
  for (int t = 0; t < n; t += TILE) {
    as[y][x] = a[gy * n + t + x];
    bs[y][x] = b[(t + y) * n + gx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++)
      sum = mad(as[y][k], bs[k][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[gy * n + gx] = sum;
}

kernel void matmul_double(global const double *a, global const double *b, global double *c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  double sum = 0;
  for (int k = 0; k < n; k++)
    sum = fma(a[y * n + k], b[k * n + x], sum);
  c[y * n + x] = sum;
}

kernel void transpose(global const float *in, global float *out, int w, int h) {
  local float tile[16][17];
  int x = get_global_id(0), y = get_global_id(1);
  tile[get_local_id(1)][get_local_id(0)] = in[y * w + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * 16 + get_local_id(0);
  y = get_group_id(0) * 16 + get_local_id(1);
  out[y * h + x] = tile[get_local_id(0)][get_local_id(1)];
}

// One step of Gaussian elimination below row t.
kernel void gaussian(global const float *m, global float *a, global float *b, int size, int t) {
  int gx = get_global_id(0), gy = get_global_id(1);
  if (gx < size - 1 - t && gy < size - t) {
    a[size * (gx + 1 + t) + gy + t] -= m[size * (gx + 1 + t) + t] * a[size * t + gy + t];
    if (gy == 0)
      b[gx + 1 + t] -= m[size * (gx + 1 + t) + t] * b[t];
  }
}

// The LU decomposition of one 16 x 16 block, in place.
#define BLOCK 16
kernel void lud(global float *m, local float *block, int dim, int off) {
  int i, j;
  int tx = get_local_id(0);
  int at = off * dim + off;
  for (i = 0; i < BLOCK; i++) {
    block[i * BLOCK + tx] = m[at + tx];
    at += dim;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (i = 0; i < BLOCK - 1; i++) {
    if (tx > i) {
      for (j = 0; j < i; j++)
        block[tx * BLOCK + i] -= block[tx * BLOCK + j] * block[j * BLOCK + i];
      block[tx * BLOCK + i] /= block[i * BLOCK + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tx > i) {
      for (j = 0; j < i + 1; j++)
        block[(i + 1) * BLOCK + tx] -= block[(i + 1) * BLOCK + j] * block[j * BLOCK + tx];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  at = (off + 1) * dim + off;
  for (i = 1; i < BLOCK; i++) {
    m[at + tx] = block[i * BLOCK + tx];
    at += dim;
  }
}

kernel void spmv(global const float *values, global const int *columns, global const int *rows, global const float *x,
                 global float *y, int n) {
  int i = get_global_id(0);
  if (i < n) {
    float sum = 0;
    for (int k = rows[i]; k < rows[i + 1]; k++)
      sum += values[k] * x[columns[k]];
    y[i] = sum;
  }
}

// One step of Floyd and Warshall's shortest paths.
kernel void floyd(global uint *d, uint n, uint k) {
  uint x = get_global_id(0), y = get_global_id(1);
  uint old = d[y * n + x];
  uint through = d[y * n + k] + d[k * n + x];
  if (through < old)
    d[y * n + x] = through;
}
