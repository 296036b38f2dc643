// Integers and floats: operations whose every bit is defined.
#pragma OPENCL FP_CONTRACT OFF

kernel void divide(global const int *a, global const int *b, global int *q, global int *r, global uint *u) {
  int i = get_global_id(0);
  q[i] = a[i] / b[i];
  r[i] = a[i] % b[i];
  u[i] = (uint)a[i] / (uint)b[i] + (uint)a[i] % 7u;
}

// By zero and beyond the range: any result will do, but nothing may break.
kernel void divide_by_anything(global const int *a, global const int *b, global const long *c, global int *o, global long *l) {
  int i = get_global_id(0);
  o[i] = a[i] / b[i] + a[i] % b[i];
  l[i] = c[i] / (b[i] + (long)a[i]) + c[i] % b[i];
}

kernel void divide_small(global const char *a, global const char *b, global char *q, global const ushort *c,
                         global const ushort *d, global ushort *r) {
  int i = get_global_id(0);
  q[i] = a[i] / b[i];
  r[i] = c[i] % d[i];
}

kernel void divide_long(global const long *a, global const long *b, global long *q, global ulong *r) {
  int i = get_global_id(0);
  q[i] = b[i] != 0 ? a[i] / b[i] : 0;
  r[i] = (ulong)a[i] % ((ulong)b[i] | 1);
}

// Shifts count modulo the width (OpenCL C 1.2 specification 6.3.j).
kernel void shifts(global const int *a, global const int *by, global int *o, global uint *u, global long *l, global uchar *c) {
  int i = get_global_id(0);
  o[i] = a[i] >> by[i];
  u[i] = (uint)a[i] << by[i];
  l[i] = (long)a[i] << by[i];
  c[i] = (uchar)((uchar4)(uchar)a[i] >> (uchar4)(uchar)by[i]).x;
}

kernel void hash(global const ulong *in, global ulong *out, ulong seed) {
  int i = get_global_id(0);
  ulong h = seed ^ in[i];
  h *= 0x9E3779B97F4A7C15UL;
  h ^= h >> 32;
  h = rotate(h, 27UL);
  h *= 0xC2B2AE3D27D4EB4FUL;
  h += in[i] >> 3;
  h ^= h >> 29;
  out[i] = h % 1000003UL == 0 ? 0 : h;
}

#define F(x, y, z) (((x) & (y)) | ((~x) & (z)))
#define G(x, y, z) (((x) & (z)) | ((y) & (~z)))
#define STEP(f, a, b, c, d, x, s, t) \
  a += f(b, c, d) + x + t;           \
  a = rotate(a, (uint)s);            \
  a += b;
kernel void md5(global const uint *in, global uint4 *out) {
  int g = get_global_id(0);
  uint w[16];
  for (int i = 0; i < 16; i++)
    w[i] = in[g * 16 + i];
  uint a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
  for (int i = 0; i < 16; i += 4) {
    STEP(F, a, b, c, d, w[i], 7, 0xd76aa478u)
    STEP(F, d, a, b, c, w[i + 1], 12, 0xe8c7b756u)
    STEP(F, c, d, a, b, w[i + 2], 17, 0x242070dbu)
    STEP(F, b, c, d, a, w[i + 3], 22, 0xc1bdceeeu)
  }
  for (int i = 0; i < 16; i += 4) {
    STEP(G, a, b, c, d, w[(i * 5 + 1) & 15], 5, 0xf61e2562u)
    STEP(G, d, a, b, c, w[(i * 5 + 6) & 15], 9, 0xc040b340u)
    STEP(G, c, d, a, b, w[(i * 5 + 11) & 15], 14, 0x265e5a51u)
    STEP(G, b, c, d, a, w[(i * 5) & 15], 20, 0xe9b6c7aau)
  }
  out[g] = (uint4)(a, b, c, d);
}

constant uint SBOX[256] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
kernel void aes(global const uint4 *in, global uint4 *out, constant uint4 *keys, global const uint *table, int rounds) {
  local uint t[256];
  for (int i = get_local_id(0); i < 256; i += get_local_size(0))
    t[i] = table[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  int g = get_global_id(0);
  uint4 s = in[g] ^ keys[0];
  for (int r = 1; r < rounds; r++) {
    uint4 n;
    n.x = t[s.x >> 24] ^ rotate(t[(s.y >> 16) & 255], 24u) ^ rotate(t[(s.z >> 8) & 255], 16u) ^ rotate(t[s.w & 255], 8u);
    n.y = t[s.y >> 24] ^ rotate(t[(s.z >> 16) & 255], 24u) ^ rotate(t[(s.w >> 8) & 255], 16u) ^ rotate(t[s.x & 255], 8u);
    n.z = t[s.z >> 24] ^ rotate(t[(s.w >> 16) & 255], 24u) ^ rotate(t[(s.x >> 8) & 255], 16u) ^ rotate(t[s.y & 255], 8u);
    n.w = t[s.w >> 24] ^ rotate(t[(s.x >> 16) & 255], 24u) ^ rotate(t[(s.y >> 8) & 255], 16u) ^ rotate(t[s.z & 255], 8u);
    s = n ^ keys[r];
  }
  s.x ^= SBOX[s.y & 255];
  out[g] = s;
}

kernel void random_numbers(global uint4 *state, global float *o, int n) {
  int i = get_global_id(0);
  uint4 s = state[i];
  float a = 0;
  for (int k = 0; k < n; k++) {
    uint t = s.x ^ (s.x << 11);
    s.x = s.y;
    s.y = s.z;
    s.z = s.w;
    s.w = s.w ^ (s.w >> 19) ^ t ^ (t >> 8);
    float u = (float)s.w * 2.3283064e-10f;
    a += u * u < 0.5f ? 1.f : 0.f;
  }
  state[i] = s;
  o[i] = a;
}

// Special values: comparisons with NaN, signed zeros, infinities, denormal numbers.
kernel void special_floats(global const float *a, global const float *b, global int *o, global float *f) {
  int i = get_global_id(0);
  float x = a[i], y = b[i];
  o[i] = (x < y) | (x > y) << 1 | (x == y) << 2 | (x != y) << 3 | (x <= y) << 4 | isnan(x) << 5 | isinf(y) << 6 |
         signbit(x) << 7 | (x < y || x > y) << 8 | !(x < y) << 9;
  f[i] = x > y ? x * y : x + y;
}

kernel void vector_logic(global const int4 *a, global const int4 *b, global int4 *o, global int *p) {
  int i = get_global_id(0);
  int4 c = a[i] < b[i];
  o[i] = (c ? a[i] : b[i] * 2) + (a[i] == b[i]) + !a[i];
  p[i] = any(a[i] > 50) * 2 + all(b[i] > 20);
}
