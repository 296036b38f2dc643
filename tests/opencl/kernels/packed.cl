// Vectors of work-items that can stay as they lie in memory, and everything that takes them apart.

__kernel void extremes(__global const uchar4 *a, __global const uchar4 *b, __global uchar4 *out)
{
    const int i = get_global_id(0);
    const uchar4 low = min(a[i], b[i]), high = max(a[i], b[i]);
    out[i] = high - low + (uchar4)(1, 2, 3, 4);
}

__kernel void blend(__global const uchar4 *a, __global const uchar4 *b, __global uchar4 *out, float4 weights, int n)
{
    const int i = get_global_id(0);
    if (i >= n)
        return;
    const float4 x = convert_float4(a[i]), y = convert_float4(b[i]);
    out[i] = convert_uchar4_sat(mad(x - y, weights, y));
}

// A divergent loop around whole vectors, a divergent store, and a condition for all components.
__kernel void masked(__global const short8 *a, __global short8 *out, __global const int *trips)
{
    const int i = get_global_id(0);
    short8 sum = a[i], other = 0;
    for (int k = 0; k < trips[i]; ++k) {
        sum = k & 1 ? sum + a[i] : sum * (short8)3;
        if (trips[i] == 2 * k + 1)
            other = max(sum, other);
    }
    if (trips[i] % 3 != 1)
        out[i] = trips[i] > 4 ? sum : sum ^ other;
}

__kernel void swizzles(__global const float4 *a, __global float4 *out, __global uint *words, __global const uchar4 *p)
{
    const int i = get_global_id(0);
    float4 v = a[i];
    v = v.wzyx * 2.0f + v.xxyy;
    v.z = (float)i;
    v.lo = v.hi + a[i].even;
    out[2 * i] = select(v, a[i], isless(v, a[i]));
    out[2 * i + 1] = v.y > 0.0f ? fmin(v, 1.0f) : (float4)(v.x, 7.0f, i, v.w);
    const uchar4 q = p[i].zyxw + (uchar4)7;
    words[i] = as_uint(q) ^ (uint)q.y;
}

// Vectors at other steps than their own size, and at unknown places.
__kernel void places(__global const float4 *a, __global const uchar4 *b, __global const short4 *c,
                     __global const int *index, __global float4 *x, __global uchar4 *y, __global short4 *z, int n)
{
    const int i = get_global_id(0);
    x[3 * i + 1] = a[2 * i] + a[index[i]] - a[n - 1 - i];
    y[2 * i] = b[index[i]] + b[3 * i];
    y[2 * index[i] + 1] = max(b[index[i]], b[i]);
    z[index[i]] = c[index[n - 1 - i]] * c[i];
    if (index[i] & 1) {
        x[3 * i] = a[index[i] ^ 1] * a[3 * i];
        x[3 * index[i] + 2] = -a[i];
    }
}

__kernel void across_barriers(__global const int4 *a, __global int4 *out, __local int4 *shared)
{
    const int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
    const int4 mine = a[i] * 3;
    const int4 large = mine > 100;
    shared[l] = max(mine, 50);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int4 next = shared[(l + 1) % n];
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[l] = next - mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = select(shared[n - 1 - l], next, large);
}

// Private arrays lie element by element; divisions, dot products and single components need the components.
__kernel void taken_apart(__global const int4 *a, __global int4 *out, __global float *dots, __global const float4 *f)
{
    const int i = get_global_id(0);
    int4 kept[3];
    for (int k = 0; k < 3; ++k)
        kept[k] = a[i] * k;
    const int4 quotient = kept[i % 3] / (a[i] & 3);
    out[i] = quotient + (max(kept[0], kept[2]) - kept[1]).s3210 % 7;
    out[i].y += out[i].w;
    dots[i] = dot(f[i] * 2.0f, f[i + 1]) + length(f[i].xy);
}

// Neighbours in two dimensions, at addresses that may wrap around as far as the compiler knows.
__kernel void neighbours(__global const uchar4 *image, __global uchar4 *out, int width)
{
    const int x = get_global_id(0) + 1, y = get_global_id(1) + 1, i = y * width + x;
    uchar4 most = 0;
    for (int dy = -1; dy <= 1; ++dy)
        most = max(most, max(image[i + dy * width - 1], image[i + dy * width + 1]));
    out[i] = rhadd(most, image[i]);
}

__kernel void wide(__global const uchar16 *a, __global const uchar16 *b, __global uchar16 *out, __global ushort16 *sums,
                   __global double2 *halves)
{
    const int i = get_global_id(0);
    const uchar16 x = a[i], y = b[i];
    out[i] = add_sat(x, y) & ~(uchar16)(1);
    sums[i] = convert_ushort16(x) + convert_ushort16(y).sfedcba9876543210;
    halves[i] = convert_double2(x.s01) * 0.5 - halves[i];
}

// Scalar operations on all components, which belong together; one group is asked for by component, too.
__kernel void by_hand(__global const float4 *a, __global float4 *out, __global float *one)
{
    const int i = get_global_id(0);
    const float4 v = a[i];
    const float x = fma(v.x, 2.0f, 1.0f), y = fma(v.y, 2.0f, 1.0f), z = fma(v.z, 2.0f, 1.0f), w = fma(v.w, 2.0f, 1.0f);
    const float s = v.x > v.y ? 2.0f : 3.0f;
    out[i] = (float4)(x * s, y * s, z * s, w * s);
    one[i] = fmax(x, w) - y;
}

// Elements of a private array, at an index of each work-item's own, between values that stay whole.
__kernel void kept(__global const uchar4 *a, __global uchar4 *out)
{
    const int i = get_global_id(0);
    uchar4 own[4];
    for (int k = 0; k < 4; ++k)
        own[k] = a[(i + k) % 64];
    own[(i * 3) & 3] = a[i] ^ (uchar4)(5);
    out[i] = (own[i & 3] ^ a[i]) - own[(i / 2) & 3] * (a[i] >> (uchar4)(1));
}

// Loads of neighbours, which become one load of a vector, but for those before and after a store that may change them.
__kernel void loads_of_neighbours(__global const uchar *bytes, __global int *numbers, __global const int *index,
                                  __global int *sums, __global int *others)
{
    const int i = get_global_id(0);
    sums[i] = bytes[4 * i] + 3 * bytes[4 * i + 1] + 5 * bytes[4 * i + 2] + 7 * bytes[4 * i + 3];
    const int at = 4 * index[i];
    const int a = numbers[at + 1], b = numbers[at];
    numbers[at + 2] = a * b;
    const int c = numbers[at + 2], d = numbers[at + 3];
    numbers[at] = c - d;
    others[i] = numbers[at] + 10 * numbers[at + 1] + 100 * numbers[at + 2] + 1000 * numbers[at + 3];
}

// An index of 32 bits that wraps around within a chunk, for a launch that begins just before.
__kernel void wrapping(__global const uchar *bytes, __global uchar *out)
{
    const uint i = get_global_id(0);
    out[get_global_id(0) - get_global_offset(0)] = bytes[4 * i] + bytes[4 * i + 1];
}
