// Addresses of every pattern: strides, vectors, structs, private arrays, constant tables, small types.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void strides(global const int *a, global int *o, int n) {
  int i = get_global_id(0);
  o[i] = a[i] + 3 * a[2 * i] + 5 * a[3 * i + 1] + 7 * a[4 * i + 3] + 11 * a[7 * i] + 13 * a[n - 1 - i] + 17 * a[n - 1 - 2 * i];
}

kernel void scatter_strides(global const int *a, global int *two, global int *three, global int *four, global int *back) {
  int i = get_global_id(0), n = get_global_size(0);
  two[2 * i + 1] = a[i];
  three[3 * i] = a[i] + 1;
  three[3 * i + 2] = a[i] + 2;
  four[4 * i + 2] = a[i] + 3;
  back[n - 1 - i] = a[i] + 4;
  back[2 * n - 1 - i] = a[i] * 2;
}

kernel void long_indices(global const short *a, global short *o, long shift, ulong scale) {
  long i = get_global_id(0);
  ulong u = get_global_id(0);
  o[i] = a[i + shift] + a[u * scale] + a[(i << 1) + 1];
}

kernel void same_address(global int *last, global int *flag, global const int *a, int n) {
  int i = get_global_id(0);
  if (a[i] > 90)
    flag[0] = 1;
  if (a[i] == 1000)
    flag[1] = 1;
  flag[2] = n;
  if (i == n / 2)
    last[0] = a[i];
}

kernel void vectors3(global const float3 *a, global float3 *b, global const float *packed, global float *out) {
  int i = get_global_id(0);
  float3 p = vload3(i, packed);
  b[i] = a[i].zxy * 2.0f + p;
  vstore3(cross(a[i], p), i, out);
}

kernel void vectors4(global const uchar4 *a, global float4 *b, global ushort2 *c, global const char8 *d, global char8 *e) {
  int i = get_global_id(0);
  uchar4 p = a[i];
  b[i] = convert_float4(p.wzyx) / 4.0f;
  c[i] = (ushort2)(p.x + p.y, p.z * p.w);
  char8 x = d[i];
  x.s0246 = x.s1357;
  x.hi += (char4)(1, 2, 3, 4);
  e[i] = x;
}

kernel void vectors16(global const float16 *a, global float16 *b) {
  int i = get_global_id(0);
  float16 x = a[i];
  x = x * x + 2.f;
  x.lo = x.hi + x.even;
  b[i] = x;
}

kernel void dynamic_component(global const int4 *a, global const int *which, global int4 *o, int fixed) {
  int i = get_global_id(0);
  int4 v = a[i];
  v[which[i] & 3] = v[(which[i] + 1) & 3] * 10;
  v[fixed] += 1;
  o[i] = v;
}

kernel void loads_and_stores(global const short *a, global short *o) {
  size_t i = get_global_id(0);
  short2 p = vload2(i, a);
  short4 q = vload4(i, a + 1);
  short8 r = vload8(i, a);
  vstore2((short2)(p.y + r.s7, p.x - q.z), i, o);
}

kernel void halves(global const half *a, global half *b, global float *c) {
  int i = get_global_id(0);
  float f = vload_half(i, a);
  vstore_half(f * 2.f, i, b);
  c[i] = f;
}

kernel void doubles(global const double *a, global double *o, global float *f) {
  int i = get_global_id(0);
  double x = a[i];
  o[i] = x > 0 ? sqrt(x) : x * x - 0.1;
  f[i] = (float)x;
}

kernel void chars_and_shorts(global const char *a, global short *b, global uchar *c) {
  int i = get_global_id(0);
  short v = a[i] * 3;
  b[i] = v + b[i];
  c[i] = (uchar)(c[i] + (v >> 2));
}

typedef struct {
  float3 p;
  float m;
  int id;
  uchar flags[4];
} Particle;
typedef struct {
  Particle a;
  Particle b;
} Pair;

kernel void structs(global Particle *p, global Pair *q, float dt) {
  int i = get_global_id(0);
  Particle x = p[i];
  x.p += dt * (float3)(x.m, x.m * 2, 0);
  x.id ^= x.flags[i & 3];
  p[i] = x;
  q[i].a = x;
  q[i].b.m = x.m;
}

typedef struct {
  int count;
  float weights[3];
  short2 cell;
} Settings;

kernel void struct_by_value(Settings s, global float *o) {
  int i = get_global_id(0);
  o[i] = s.weights[i % 3] * s.count + s.cell.x - s.cell.y;
}

kernel void values(char a, ushort b, long c, float d, double e, uchar4 f, float3 g, int16 h, global double *o) {
  int i = get_global_id(0);
  o[i] = i == 0 ? a : i == 1 ? b : i == 2 ? c : i == 3 ? d : i == 4 ? e : i < 9 ? f[i - 5] : i < 12 ? g[i - 9] : h[i & 15];
}

// An interpreter's stack: a private array at an index that differs between work-items.
kernel void stack(global const int *in, global int *out, int n) {
  int i = get_global_id(0);
  int st[32];
  int sp = 0;
  for (int k = 0; k < n; k++) {
    int v = in[i * n + k];
    if (v >= 0) {
      if (sp < 32)
        st[sp++] = v;
    } else if (sp > 1) {
      int b = st[--sp], a = st[--sp];
      st[sp++] = v == -1 ? a + b : v == -2 ? a - b : a * b;
    }
  }
  out[i] = sp ? st[sp - 1] : 0;
}

// Private arrays of small and wide elements, of structs, and seen through pointers of two sizes.
kernel void private_arrays(global const int *in, global int *out) {
  int i = get_global_id(0);
  char small[10];
  float4 wide[3];
  struct { short a; int b[2]; } records[4];
  union { int whole[4]; uchar bytes[16]; } mixed;
  for (int k = 0; k < 10; k++)
    small[k] = (char)(in[i] * k);
  for (int k = 0; k < 3; k++)
    wide[k] = (float4)(in[i], k, in[i] - k, 1);
  for (int k = 0; k < 4; k++) {
    records[k].a = (short)(in[i] + k);
    records[k].b[k & 1] = k;
    records[k].b[1 - (k & 1)] = in[i];
    mixed.whole[k] = in[i] * 0x01020304 * (k + 1);
  }
  int at = in[i] & 3;
  records[at].b[in[i] & 1] += small[in[i] % 10];
  float4 v = wide[in[i] % 3];
  mixed.bytes[in[i] & 15] = 200;
  out[i] = records[at].a + records[(at + 1) & 3].b[0] * 3 + records[at].b[1] * 7 + (int)(v.x + v.y * 2 + v.z * 3) +
           mixed.whole[at] + mixed.bytes[(in[i] * 5) & 15];
}

typedef struct {
  int v[5];
  char tag;
} Big;

kernel void copied_structs(global const Big *in, global Big *out) {
  int i = get_global_id(0);
  Big a = in[i], b = a;
  b.v[a.v[0] & 3] = -1;
  if (a.tag & 1)
    a = b;
  a.tag++;
  out[i] = a;
}

constant float KERNEL[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
constant uchar REVERSED[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};

kernel void constants(global const float *in, global float *out, constant uint *table, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  float s = 0;
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++)
      s += KERNEL[j][i] * in[(y + j) * (w + 2) + x + i];
  out[y * w + x] = s + REVERSED[(x + y) & 15] + table[x % 5];
}

// Neighbours in three dimensions.
kernel void stencil(global const float *a, global float *b, int nx, int ny, float c0, float c1) {
  int x = get_global_id(0) + 1, y = get_global_id(1) + 1, z = get_global_id(2) + 1;
  int i = (z * ny + y) * nx + x;
  b[i] = c1 * (a[i - 1] + a[i + 1] + a[i - nx] + a[i + nx] + a[i - nx * ny] + a[i + nx * ny]) - c0 * a[i];
}

kernel void geometry(global ulong *o) {
  size_t i = get_global_id(0) - get_global_offset(0) +
             get_global_size(0) * (get_global_id(1) - get_global_offset(1) +
                                   get_global_size(1) * (get_global_id(2) - get_global_offset(2)));
  ulong h = get_work_dim();
  for (uint d = 0; d < 3; d++) {
    h = h * 31 + get_global_id(d);
    h = h * 31 + get_local_id(d);
    h = h * 31 + get_group_id(d);
    h = h * 31 + get_local_size(d);
    h = h * 31 + get_global_size(d);
    h = h * 31 + get_num_groups(d);
    h = h * 31 + get_global_offset(d);
  }
  o[i] = h;
}

// Pointers chosen by data: between two arguments, and between two private arrays.
kernel void chosen_pointers(global const int *a, global const int *b, global int *o) {
  int i = get_global_id(0);
  global const int *p = a[i] & 1 ? a : b;
  int left[4] = {1, 2, 3, 4}, right[4] = {10, 20, 30, 40};
  int *q = a[i] & 2 ? left : right;
  q[i & 3] += i;
  o[i] = p[i] + q[(i + 1) & 3] + left[0] + right[3];
}
