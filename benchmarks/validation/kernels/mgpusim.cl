/* Kernels that do what those of MGPUSim's measurements on MI300A do, written anew, with their work-groups. */
kernel void add(global float *out, global const float *x, global const float *y, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = x[i] + y[i];
}

kernel void relu(int n, global const float *in, global float *out) {
  int i = get_global_id(0);
  if (i < n) out[i] = max(in[i], 0.0f);
}

kernel void fir(global float *out, global const float *weights, global const float *in, global const float *before, uint taps) {
  uint i = get_global_id(0);
  float sum = 0;
  for (uint k = 0; k < taps; k++) sum += weights[k] * (i >= k ? in[i - k] : before[taps - (k - i)]);
  out[i] = sum;
}

kernel void convolution(global const uint *in, global const float *mask, global int *out, uint width, uint height, uint side) {
  uint i = get_global_id(0), x = i % width, y = i / width, at = 0;
  if (y >= height) return;
  float sum = 0;
  for (uint row = y; row < y + side; row++)
    for (uint column = x; column < x + side; column++) sum += in[row * (width + side - 1) + column] * mask[at++];
  out[i] = sum + 0.5f;
}

/* 4 x 4 elements a work-item: blocks of 64 x 64, whose numbers are staggered. `width`: of a row, in float4. */
kernel void transpose(global float4 *out, global const float4 *in, int width) {
  local float4 tile[64][16];
  int x = get_local_id(0), y = get_local_id(1);
  int down = get_group_id(0), across = (get_group_id(0) + get_group_id(1)) % get_num_groups(0);
  for (int k = 0; k < 4; k++) tile[4 * y + k][x] = in[(4 * (down * 16 + y) + k) * width + across * 16 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  float4 a = tile[4 * x][y], b = tile[4 * x + 1][y], c = tile[4 * x + 2][y], d = tile[4 * x + 3][y];
  out += 4 * (across * 16 + y) * width + down * 16 + x;
  out[0] = (float4)(a.x, b.x, c.x, d.x);
  out[width] = (float4)(a.y, b.y, c.y, d.y);
  out[2 * width] = (float4)(a.z, b.z, c.z, d.z);
  out[3 * width] = (float4)(a.w, b.w, c.w, d.w);
}
