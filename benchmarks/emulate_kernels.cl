// What benchmarks/emulate.py measures: compute-bound loops, a tiled matrix product, a sum, a kernel of about 300
// instructions; and what memory is accessed by otherwise, for the cost of watching.

kernel void hash(global uint *out, int n) {
  uint x = get_global_id(0);
  for (int i = 0; i < n; i++) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    x = x * 1664525u + 1013904223u;
    x = rotate(x, 7u) + (x & 0xffu);
  }
  out[get_global_id(0)] = x;
}

kernel void fmas(global float *out, int n) {
  float a = get_global_id(0) * 1e-6f, b = a + 1, c = a + 2, d = a + 3;
  for (int i = 0; i < n; i++) {
    a = fma(a, 0.5f, b);
    b = fma(b, 0.25f, c);
    c = fma(c, 0.125f, d);
    d = fma(d, 0.3f, a);
  }
  out[get_global_id(0)] = a + b + c + d;
}

kernel void mandelbrot(global int *out, int n) {
  float cr = -2.0f + 3.0f * (get_global_id(0) & 1023) / 1024, ci = -1.0f + 2.0f * (get_global_id(0) >> 10) / 64;
  float zr = 0, zi = 0;
  int i = 0;
  while (i < n && zr * zr + zi * zi < 4.0f) {
    float t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    i++;
  }
  out[get_global_id(0)] = i;
}

#define TILE 16

kernel void matmul(global const float *a, global const float *b, global float *c, int n) {
  local float tile_a[TILE][TILE], tile_b[TILE][TILE];
  int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int t = 0; t < n; t += TILE) {
    tile_a[y][x] = a[row * n + t + x];
    tile_b[y][x] = b[(t + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++) sum = fma(tile_a[y][k], tile_b[k][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

kernel void add(global const float *a, global const float *b, global float *c) {
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}

kernel void stencil(global const float *a, global float *b, int width) {
  int i = get_global_id(0), x = i % width, rows = get_global_size(0) / width, y = i / width;
  float sum = a[i];
  if (x > 0) sum += a[i - 1];
  if (x < width - 1) sum += a[i + 1];
  if (y > 0) sum += a[i - width];
  if (y < rows - 1) sum += a[i + width];
  b[i] = sum;
}

kernel void transpose(global const float *a, global float *b) {
  local float tile[TILE][TILE + 1];
  int x = get_local_id(0), y = get_local_id(1), side = get_global_size(0);
  tile[y][x] = a[get_global_id(1) * side + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  b[(get_group_id(0) * TILE + y) * side + get_group_id(1) * TILE + x] = tile[x][y];
}

kernel void reduce(global const float *a, global float *sums) {
  local float part[256];
  int i = get_local_id(0);
  part[i] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 128; s > 0; s >>= 1) {
    if (i < s) part[i] += part[i + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i == 0) sums[get_group_id(0)] = part[0];
}

kernel void gather(global const int *places, global const float *a, global float *b) {
  size_t i = get_global_id(0);
  b[i] = a[places[i]];
}

// Reads at random what it also writes: other places, and the same.
kernel void walk(global const int *places, global float *a) {
  size_t i = get_global_id(0);
  a[get_global_size(0) + i] = a[places[i]];
}

kernel void permuted(global const int *places, global float *a) {
  size_t i = places[get_global_id(0)];
  a[i] = a[i] * 0.5f + 1;
}

kernel void histogram(global const uint *data, global uint *counts) {
  local uint own[256];
  int i = get_local_id(0);
  own[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 16; k++) atomic_inc(&own[data[get_group_id(0) * 4096 + k * 256 + i] & 255]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&counts[i], own[i]);
}

#ifndef SALT
#define SALT 0
#endif

kernel void medium(global uint *out, int n) {
  uint x = get_global_id(0) + SALT;
  for (int i = 0; i < n; i++) {
#pragma unroll
    for (int k = 0; k < 28; k++) {
      x ^= x << 13;
      x ^= x >> 17;
      x ^= x << 5;
      x = x * 1664525u + 1013904223u;
      x = rotate(x, 7u) + (x & 0xffu);
    }
  }
  out[get_global_id(0)] = x;
}
