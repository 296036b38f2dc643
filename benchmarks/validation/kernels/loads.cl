/* perftest: 256 loads of each work-item from a few cache lines that the L1 holds. */
uint start(uint id, int random) { return random ? (id * 0x9e3779b9u >> 16) & 15 : id; }

#define LOADS(T, load) \
  uint at = start(get_local_id(0), random); \
  T sum = 0; \
  _Pragma("nounroll") for (int i = 0; i < 256; i += 8) { \
    _Pragma("unroll") for (int k = 0; k < 8; k++) sum += load; \
  } \
  out[get_global_id(0)] = sum;

kernel void loads1(global const uint *in, global uint *out, int random) { LOADS(uint, in[at + 16 * k + i / 8]) }
kernel void loads2(global const uint2 *in, global uint2 *out, int random) { LOADS(uint2, in[at + 16 * k + i / 8]) }
kernel void loads4(global const uint4 *in, global uint4 *out, int random) { LOADS(uint4, in[at + 16 * k + i / 8]) }
kernel void loads3(global const uint *in, global uint *out, int random) {
  uint at = start(get_local_id(0), random);
  uint3 sum = 0;
  _Pragma("nounroll") for (int i = 0; i < 256; i += 8) {
    _Pragma("unroll") for (int k = 0; k < 8; k++) sum += vload3(at + 16 * k + i / 8, in);
  }
  out[get_global_id(0)] = sum.x + sum.y + sum.z;
}
