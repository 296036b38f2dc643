/* OpenCL C translated from control.br by Headwater. */

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

/* The position of this work-item in a three-dimensional launch over the given extents. */
int4 hw_grid(int4 extents)
{
    const int layer = get_global_id(2);
    int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), layer, 0);
    if (extents.w > 1) {
        p.z = layer % extents.z;
        p.w = layer / extents.z;
    }
    return p;
}

/* Whether position p lies beyond the extents: a surplus work-item of a rounded-up launch. */
int hw_outside(int4 p, int4 extents)
{
    return p.x >= extents.x || p.y >= extents.y || p.z >= extents.z || p.w >= extents.w;
}

/* The place of the domain's position p in a stream, by the stream's address table. */
int hw_mapped(__global const int *map, int4 p, int4 domain)
{
    int place = map[p.x];
    map += domain.x;
    place += map[p.y];
    map += domain.y;
    place += map[p.z];
    map += domain.z;
    return place + map[p.w];
}

/* kernel void loops(int n, out int a<>), line 2 */
void loops_body(const int n, int *a)
{
    int i = 0, s = 0;
    do {
        if (i % 2 == 0) {
            continue;
        }
        s += i;
    } while (++i < n);
    while (s > 100) {
        s -= 7;
    }
    for (;;) {
        if (s < 10) {
            break;
        }
        s >>= 1;
        {
            int s = 3;
            i += s;
        }
    }
    for (i = 0, s = 1; i < 4; ++i, s *= 2) {
    }
    *a = s;
}

__kernel void loops_linear(
    const int n,
    __global int *restrict a,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    int a_value = 0;
    loops_body(n, &a_value);
    a[i] = a_value;
}

__kernel void loops_linear4(
    const int n,
    __global int *restrict a,
    const int count)
{
    const int four = get_global_id(0);
    if (four < count / 4) {
        int a_x = 0, a_y = 0, a_z = 0, a_w = 0;
        loops_body(n, &a_x);
        loops_body(n, &a_y);
        loops_body(n, &a_z);
        loops_body(n, &a_w);
        ((__global int4 *)a)[four] = (int4)(a_x, a_y, a_z, a_w);
    } else if (four == count / 4) {
        for (int i = 4 * four; i < count; ++i) {
            int a_value = 0;
            loops_body(n, &a_value);
            a[i] = a_value;
        }
    }
}

__kernel void loops_mapped(
    const int n,
    __global int *restrict a,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int a_at = hw_mapped(a_map, p, domain);
    const int4 position = p + origin;
    int a_value = 0;
    loops_body(n, &a_value);
    a[a_at] = a_value;
}

/* kernel void truth(float a<>, float b<>, out float c<>, out int d<>, out float4 e<>), line 22 */
void truth_body(const float a, const float b, float *c, int *d, float4 *e)
{
    float4 v = (float4)(a, b, a, b);
    float4 w = v.wzyx;
    int n = 0, m = 0;
    *c = (float)(a < b);
    *d = a < b && a != 0.0f || !(b > 1.0f);
    *e = convert_float4((v <= w) & 1);
    if (any(v < w) && !all(v == w)) {
        *e = a > b ? v : w;
    } else if (*d) {
        (*e).x += 1.0f;
        *e += v;
    } else {
        n = (a > 0.0f != 0) & (m++ < 3 != 0);
        (*e).y = (float)(n + m);
    }
}

__kernel void truth_linear(
    __global const float *restrict a,
    __global const float *restrict b,
    __global float *restrict c,
    __global int *restrict d,
    __global float4 *restrict e,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float c_value = 0.0f;
    int d_value = 0;
    float4 e_value = (float4)(0.0f);
    truth_body(a[i], b[i], &c_value, &d_value, &e_value);
    c[i] = c_value;
    d[i] = d_value;
    e[i] = e_value;
}

__kernel void truth_mapped(
    __global const float *restrict a,
    __global const float *restrict b,
    __global float *restrict c,
    __global int *restrict d,
    __global float4 *restrict e,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map,
    __global const int *restrict b_map,
    __global const int *restrict c_map,
    __global const int *restrict d_map,
    __global const int *restrict e_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int a_at = hw_mapped(a_map, p, domain);
    const int b_at = hw_mapped(b_map, p, domain);
    const int c_at = hw_mapped(c_map, p, domain);
    const int d_at = hw_mapped(d_map, p, domain);
    const int e_at = hw_mapped(e_map, p, domain);
    const int4 position = p + origin;
    float c_value = 0.0f;
    int d_value = 0;
    float4 e_value = (float4)(0.0f);
    truth_body(a[a_at], b[b_at], &c_value, &d_value, &e_value);
    c[c_at] = c_value;
    d[d_at] = d_value;
    e[e_at] = e_value;
}

/* kernel void numbers(uint a<>, double b<>, out uint c<>, out double d<>), line 41 */
void numbers_body(const uint a, const double b, uint *c, double *d)
{
    *c = a & 0xFFu | a >> 3u ^ ~a;
    *c %= 7u;
    *d = b > 1.0 ? b * 2.0 : 1.5;
    *d = b > 0.0 && b < 1.0 ? *d : -*d;
}

__kernel void numbers_linear(
    __global const uint *restrict a,
    __global const double *restrict b,
    __global uint *restrict c,
    __global double *restrict d,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    uint c_value = 0;
    double d_value = 0.0;
    numbers_body(a[i], b[i], &c_value, &d_value);
    c[i] = c_value;
    d[i] = d_value;
}

__kernel void numbers_mapped(
    __global const uint *restrict a,
    __global const double *restrict b,
    __global uint *restrict c,
    __global double *restrict d,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map,
    __global const int *restrict b_map,
    __global const int *restrict c_map,
    __global const int *restrict d_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int a_at = hw_mapped(a_map, p, domain);
    const int b_at = hw_mapped(b_map, p, domain);
    const int c_at = hw_mapped(c_map, p, domain);
    const int d_at = hw_mapped(d_map, p, domain);
    const int4 position = p + origin;
    uint c_value = 0;
    double d_value = 0.0;
    numbers_body(a[a_at], b[b_at], &c_value, &d_value);
    c[c_at] = c_value;
    d[d_at] = d_value;
}

/* kernel void small(char a<>, char b<>, ushort3 s<>, out char c<>, out ushort3 t<>), line 49 */
void small_body(const char a, const char b, const ushort3 s, char *c, ushort3 *t)
{
    *c = (char)((char)(a * b) + (char)-a);
    *c -= (char)1;
    *t = s / (s + s);
}

__kernel void small_linear(
    __global const char *restrict a,
    __global const char *restrict b,
    __global const ushort *restrict s,
    __global char *restrict c,
    __global ushort *restrict t,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    char c_value = 0;
    ushort3 t_value = (ushort3)(0);
    small_body(a[i], b[i], vload3(i, s), &c_value, &t_value);
    c[i] = c_value;
    vstore3(t_value, i, t);
}

__kernel void small_mapped(
    __global const char *restrict a,
    __global const char *restrict b,
    __global const ushort *restrict s,
    __global char *restrict c,
    __global ushort *restrict t,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map,
    __global const int *restrict b_map,
    __global const int *restrict s_map,
    __global const int *restrict c_map,
    __global const int *restrict t_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int a_at = hw_mapped(a_map, p, domain);
    const int b_at = hw_mapped(b_map, p, domain);
    const int s_at = hw_mapped(s_map, p, domain);
    const int c_at = hw_mapped(c_map, p, domain);
    const int t_at = hw_mapped(t_map, p, domain);
    const int4 position = p + origin;
    char c_value = 0;
    ushort3 t_value = (ushort3)(0);
    small_body(a[a_at], b[b_at], vload3(s_at, s), &c_value, &t_value);
    c[c_at] = c_value;
    vstore3(t_value, t_at, t);
}
