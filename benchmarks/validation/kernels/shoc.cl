/* SHOC, DeviceMemory: what its generator makes for global and local memory. It starts five work-groups of 256 a compute unit,
   THREADS in all, and has it written into the kernel; 16 accesses a turn. Its 1024, 512 and 3000 turns are `repeat` here: fewer
   of them meet the same caches, as no work-item comes back to a place. */
#define EACH16(at) at(0) at(1) at(2) at(3) at(4) at(5) at(6) at(7) at(8) at(9) at(10) at(11) at(12) at(13) at(14) at(15)
#define ADD(k) sum += AT(k);
#define PUT(k) AT(k) = get_global_id(0);

#define AT(k) (array)[(s + (k) * (stride)) & (size - 1)]
#define TURNS(what) \
  for (int j = 0; j < repeat; j++) { \
    EACH16(what) \
    s = (s + 16 * stride) & (size - 1); \
  }

#ifndef THREADS
#define THREADS 25600
#endif

kernel void read_coalesced(global const float *array, global float *output, int size, int repeat) {
  const int stride = THREADS;
  int s = get_global_id(0);
  float sum = 0;
  TURNS(ADD)
  output[get_global_id(0)] = sum;
}

kernel void write_coalesced(global float *array, int size, int repeat) {
  const int stride = THREADS;
  int s = get_global_id(0);
  TURNS(PUT)
}

kernel void read_strided(global const float *array, global float *output, int size, int repeat) {
  const int stride = 1;
  int s = get_global_id(0) * 1024;
  float sum = 0;
  TURNS(ADD)
  output[get_global_id(0)] = sum;
}

kernel void write_strided(global float *array, int size, int repeat) {
  const int stride = 1;
  int s = get_global_id(0) * 1024;
  TURNS(PUT)
}

/* Half of the 32 KiB that a work-group may have, so that two work-groups of R800's fit in a SIMD engine. */
#define LOCAL_FLOATS 4096

kernel void read_local(global const float *data, global float *output, int repeat) {
  local float array[LOCAL_FLOATS];
  const int stride = 1, size = LOCAL_FLOATS;
  int each = LOCAL_FLOATS / get_local_size(0), first = get_local_id(0) * each, s = get_local_id(0);
  int from = get_local_size(0) * get_group_id(0) + first;
  float sum = 0;
  for (int k = 0; k < each; k++) array[first + k] = data[from + k];
  barrier(CLK_LOCAL_MEM_FENCE);
  TURNS(ADD)
  output[get_global_id(0)] = sum;
}

kernel void write_local(global float *output, int repeat) {
  local float array[LOCAL_FLOATS];
  const int stride = 1, size = LOCAL_FLOATS;
  int each = LOCAL_FLOATS / get_local_size(0), s = get_local_id(0);
  TURNS(PUT)
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < each; k++) output[get_global_id(0)] = array[get_local_id(0)];
}

/* TextureRepeatedRandomAccess: texels of an image, in an order that looks random; shoc_texels.il reads them through texture
   units. */
kernel void read_texels(global const float4 *image, global float *output, int repeat, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1), place = x * get_global_size(1) + y;
  float sum = 0;
  for (int i = 0; i < repeat; i++) {
    sum += image[y * width + x].x;
    x = (x * 3 + 29) & (width - 1);
    y = (y * 5 + 11) & (height - 1);
  }
  output[place] = sum;
}
