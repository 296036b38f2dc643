// Reductions, scans, sorts, histograms: work-items that depend on each other.

kernel void reduce(global const float *in, global float *out, local float *part, uint n) {
  uint t = get_local_id(0), i = get_global_id(0);
  float sum = 0;
  for (uint k = i; k < n; k += get_global_size(0))
    sum += in[k];
  part[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint d = get_local_size(0) / 2; d > 0; d >>= 1) {
    if (t < d)
      part[t] += part[t + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0)
    out[get_group_id(0)] = part[0];
}

// The work-efficient exclusive scan of n values by n / 2 work-items.
kernel void scan(global const int *in, global int *out, local int *t, int n) {
  int l = get_local_id(0);
  int off = 1;
  t[2 * l] = in[2 * l];
  t[2 * l + 1] = in[2 * l + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < d) {
      int ai = off * (2 * l + 1) - 1, bi = off * (2 * l + 2) - 1;
      t[bi] += t[ai];
    }
    off *= 2;
  }
  if (l == 0)
    t[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    off >>= 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < d) {
      int ai = off * (2 * l + 1) - 1, bi = off * (2 * l + 2) - 1;
      int x = t[ai];
      t[ai] = t[bi];
      t[bi] += x;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[2 * l] = t[2 * l];
  out[2 * l + 1] = t[2 * l + 1];
}

kernel void histogram(global const uchar *in, global uint *bins, uint n) {
  local uint own[256];
  uint l = get_local_id(0);
  for (uint i = l; i < 256; i += get_local_size(0))
    own[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < n; i += get_global_size(0))
    atomic_inc(&own[in[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = l; i < 256; i += get_local_size(0))
    atomic_add(&bins[i], own[i]);
}

kernel void bitonic(global uint *a, uint stage, uint pass, uint dir) {
  uint order = dir, t = get_global_id(0);
  uint distance = 1u << (stage - pass);
  uint width = 2 * distance;
  uint left = (t % distance) + (t / distance) * width;
  uint right = left + distance;
  uint x = a[left], y = a[right];
  uint block = 1u << stage;
  if ((t / block) % 2 == 1)
    order = 1 - order;
  uint more = x > y ? x : y, less = x > y ? y : x;
  a[left] = order ? less : more;
  a[right] = order ? more : less;
}

kernel void atomics(global int *a, global uint *b, global int *c) {
  int i = get_global_id(0);
  c[i] = atomic_add(a, i);
  atomic_max(b, (uint)i);
  atomic_cmpxchg(a + 1, i, i + 1);
  atomic_xchg(a + 2, 77);
  atomic_sub(a + 3, 2);
  atomic_or(b + 1, 1u << (i & 31));
  atomic_min(a + 4, 100 - i);
  atomic_and(b + 2, ~(1u << (i % 20)));
  atomic_xor(b + 3, (uint)i * 2654435761u);
  atomic_inc(b + 4);
  atomic_dec(b + 5);
}

// Adds floats by compare-and-exchange: nobody waits for another, only tries again.
kernel void add_floats(global const float *in, global volatile uint *sums, int bins) {
  int i = get_global_id(0);
  global volatile uint *sum = &sums[i % bins];
  uint old = *sum, seen;
  for (;;) {
    seen = old;
    old = atomic_cmpxchg(sum, seen, as_uint(as_float(seen) + in[i]));
    if (old == seen)
      break;
  }
}

kernel void local_atomics(global const int *in, global int *out, global uint *many) {
  local int sum, least, most;
  local uint bits, seen[16];
  int l = get_local_id(0);
  if (l == 0) {
    sum = 0;
    least = INT_MAX;
    most = INT_MIN;
    bits = 0;
  }
  if (l < 16)
    seen[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  int v = in[get_global_id(0)];
  atomic_add(&sum, v);
  atomic_min(&least, v);
  atomic_max(&most, v);
  atomic_or(&bits, 1u << (v & 31));
  uint rank = atomic_inc(&seen[v & 15]);
  many[get_global_id(0)] = rank < get_local_size(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint total = 0;
  for (int k = 0; k < 16; k++)
    total += seen[k];
  if (l == 0) {
    int g = get_group_id(0);
    out[5 * g] = sum;
    out[5 * g + 1] = least;
    out[5 * g + 2] = most;
    out[5 * g + 3] = (int)bits;
    out[5 * g + 4] = (int)total;
  }
}

kernel void nbody(global const float4 *p, global float4 *v, global float4 *next, int n, float dt, float eps,
                  local float4 *tile) {
  int g = get_global_id(0), l = get_local_id(0), ls = get_local_size(0);
  float4 me = p[g];
  float4 a = (float4)(0, 0, 0, 0);
  for (int t = 0; t < n / ls; t++) {
    tile[l] = p[t * ls + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < ls; j++) {
      float4 r = tile[j] - me;
      float d = r.x * r.x + r.y * r.y + r.z * r.z + eps;
      float inverse = rsqrt(d);
      float s = tile[j].w * inverse * inverse * inverse;
      a += s * r;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float4 moved = me + v[g] * dt + a * 0.5f * dt * dt;
  moved.w = me.w;
  next[g] = moved;
  v[g] = v[g] + a * dt;
}

// Each work-item sends its value round the group once: a barrier in a loop, after work that differs between work-items.
kernel void ring(global int *a, int n) {
  local int cell[256];
  int l = get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2));
  int size = get_local_size(0) * get_local_size(1) * get_local_size(2);
  int group = get_group_id(0) + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2));
  int at = group * size + l;
  int x = a[at];
  for (int k = 0; k < n; k++) {
    cell[l] = x;
    for (int j = 0; j < (x & 3); j++)
      x = x * 3 + j;
    barrier(CLK_LOCAL_MEM_FENCE);
    x ^= cell[(l + 1) % size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  a[at] = x;
}

// Some work-items leave before the barrier; the others go on without them.
kernel void leave_before_barrier(global int *a, int n) {
  local int cell[64];
  int i = get_global_id(0), l = get_local_id(0);
  cell[l] = -1;
  if (i >= n)
    return;
  cell[l] = a[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  int next = cell[(l + 1) & 63];
  a[i] = next < 0 ? a[i] : next;
}

// Values of many kinds that must survive a barrier in a private frame.
kernel void across_barrier(global const int *in, global float4 *out, local uchar *seen) {
  int i = get_global_id(0), l = get_local_id(0), size = get_local_size(0);
  int mine[5];
  for (int k = 0; k < 5; k++)
    mine[k] = in[i] * k;
  bool odd = in[i] & 1;
  float4 v = (float4)(in[i], 1, 2, 3);
  short s = (short)in[i];
  global const int *at = in + i;
  seen[l] = (uchar)in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  int other = seen[(l + size - 1) % size];
  mine[other % 5] += 1000;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (odd)
    v.y += mine[(l + other) % 5];
  v.z = s + *at;
  out[i] = v;
}

// A barrier under a condition that the whole group shares, and one in a loop that each group leaves when it likes.
kernel void group_decides(global const int *in, global int *out) {
  local int cell[128];
  int l = get_local_id(0), i = get_global_id(0), size = get_local_size(0), g = get_group_id(0);
  int x = in[i];
  if (g & 1) {
    cell[l] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    x += cell[size - 1 - l];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int k = 0; ; k++) {
    if (k == g + 1)
      break;
    cell[l] = x + k;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (cell[0] % 7 == 0)
      break;
    x = cell[(l * 3 + k) % size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[i] = x;
}
