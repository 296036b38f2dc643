/* SHOC, DeviceMemory: coalesced and strided global memory, local memory. */
#define SUM16(at) \
  (at(0) + at(1) + at(2) + at(3) + at(4) + at(5) + at(6) + at(7) + at(8) + at(9) + at(10) + at(11) + at(12) + at(13) + \
   at(14) + at(15))

kernel void read_coalesced(global const float *data, global float *output, int size, int repeat) {
  int s = get_global_id(0);
  float sum = 0;
  for (int j = 0; j < repeat; j++) {
#define AT(k) data[(s + 32768 * k) & (size - 1)]
    sum += SUM16(AT);
#undef AT
    s = (s + 32768 * 16) & (size - 1);
  }
  output[get_global_id(0)] = sum;
}

kernel void write_coalesced(global float *output, int size, int repeat) {
  int s = get_global_id(0);
  for (int j = 0; j < repeat; j++) {
#pragma unroll
    for (int k = 0; k < 16; k++) output[(s + 32768 * k) & (size - 1)] = get_global_id(0);
    s = (s + 32768 * 16) & (size - 1);
  }
}

kernel void read_strided(global const float *data, global float *output, int size, int repeat) {
  int s = get_global_id(0) * 1024;
  float sum = 0;
  for (int j = 0; j < repeat; j++) {
#define AT(k) data[(s + k) & (size - 1)]
    sum += SUM16(AT);
#undef AT
    s = (s + 16) & (size - 1);
  }
  output[get_global_id(0)] = sum;
}

kernel void write_strided(global float *output, int size, int repeat) {
  int s = get_global_id(0) * 1024;
  for (int j = 0; j < repeat; j++) {
#pragma unroll
    for (int k = 0; k < 16; k++) output[(s + k) & (size - 1)] = get_global_id(0);
    s = (s + 16) & (size - 1);
  }
}

kernel void read_local(global const float *data, global float *output, int repeat) {
  local float buffer[2048];
  int at = get_local_id(0), s = at;
  float sum = 0;
  for (int k = 0; k < 2048 / 256; k++) buffer[at + 256 * k] = data[at + 256 * k];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int j = 0; j < repeat; j++) {
#define AT(k) buffer[(s + k) & 2047]
    sum += SUM16(AT);
#undef AT
    s = (s + 16) & 2047;
  }
  output[get_global_id(0)] = sum;
}
