/* OpenCL C translated from elementwise.br by Headwater. */

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

/* kernel void sum(float a<>, float b<>, out float c<>), line 2 */
void sum_body(const float a, const float b, float *c)
{
    *c = a + b;
}

__kernel void sum_linear(
    __global const float *restrict a,
    __global const float *restrict b,
    __global float *restrict c,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float c_value = 0.0f;
    sum_body(a[i], b[i], &c_value);
    c[i] = c_value;
}

__kernel void sum_linear4(
    __global const float *restrict a,
    __global const float *restrict b,
    __global float *restrict c,
    const int count)
{
    const int four = get_global_id(0);
    if (four < count / 4) {
        const float4 a4 = ((__global const float4 *)a)[four];
        const float4 b4 = ((__global const float4 *)b)[four];
        float c_x = 0.0f, c_y = 0.0f, c_z = 0.0f, c_w = 0.0f;
        sum_body(a4.x, b4.x, &c_x);
        sum_body(a4.y, b4.y, &c_y);
        sum_body(a4.z, b4.z, &c_z);
        sum_body(a4.w, b4.w, &c_w);
        ((__global float4 *)c)[four] = (float4)(c_x, c_y, c_z, c_w);
    } else if (four == count / 4) {
        for (int i = 4 * four; i < count; ++i) {
            float c_value = 0.0f;
            sum_body(a[i], b[i], &c_value);
            c[i] = c_value;
        }
    }
}

__kernel void sum_mapped(
    __global const float *restrict a,
    __global const float *restrict b,
    __global float *restrict c,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map,
    __global const int *restrict b_map,
    __global const int *restrict c_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int a_at = hw_mapped(a_map, p, domain);
    const int b_at = hw_mapped(b_map, p, domain);
    const int c_at = hw_mapped(c_map, p, domain);
    const int4 position = p + origin;
    float c_value = 0.0f;
    sum_body(a[a_at], b[b_at], &c_value);
    c[c_at] = c_value;
}

/* kernel void split(int a<>, int limit, out int low<>, out int high<>), line 8 */
void split_body(const int a, const int limit, int *low, int *high)
{
    *low = a;
    *high = 0;
    if (a < limit) {
        return;
    }
    *low = limit;
    *high = a - limit;
}

__kernel void split_linear(
    __global const int *restrict a,
    const int limit,
    __global int *restrict low,
    __global int *restrict high,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    int low_value = 0;
    int high_value = 0;
    split_body(a[i], limit, &low_value, &high_value);
    low[i] = low_value;
    high[i] = high_value;
}

__kernel void split_linear4(
    __global const int *restrict a,
    const int limit,
    __global int *restrict low,
    __global int *restrict high,
    const int count)
{
    const int four = get_global_id(0);
    if (four < count / 4) {
        const int4 a4 = ((__global const int4 *)a)[four];
        int low_x = 0, low_y = 0, low_z = 0, low_w = 0;
        int high_x = 0, high_y = 0, high_z = 0, high_w = 0;
        split_body(a4.x, limit, &low_x, &high_x);
        split_body(a4.y, limit, &low_y, &high_y);
        split_body(a4.z, limit, &low_z, &high_z);
        split_body(a4.w, limit, &low_w, &high_w);
        ((__global int4 *)low)[four] = (int4)(low_x, low_y, low_z, low_w);
        ((__global int4 *)high)[four] = (int4)(high_x, high_y, high_z, high_w);
    } else if (four == count / 4) {
        for (int i = 4 * four; i < count; ++i) {
            int low_value = 0;
            int high_value = 0;
            split_body(a[i], limit, &low_value, &high_value);
            low[i] = low_value;
            high[i] = high_value;
        }
    }
}

__kernel void split_mapped(
    __global const int *restrict a,
    const int limit,
    __global int *restrict low,
    __global int *restrict high,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map,
    __global const int *restrict low_map,
    __global const int *restrict high_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int a_at = hw_mapped(a_map, p, domain);
    const int low_at = hw_mapped(low_map, p, domain);
    const int high_at = hw_mapped(high_map, p, domain);
    const int4 position = p + origin;
    int low_value = 0;
    int high_value = 0;
    split_body(a[a_at], limit, &low_value, &high_value);
    low[low_at] = low_value;
    high[high_at] = high_value;
}

/* kernel void pack3(float3 a<>, uchar4 b<>, short2 c<>, out float3 d<>, out uchar4 e<>, out short2 f<>), line 17 */
void pack3_body(const float3 a, const uchar4 b, const short2 c, float3 *d, uchar4 *e, short2 *f)
{
    *d = a.zyx * (float3)(2.0f, 2.0f, 2.0f);
    *e = b.wzyx;
    *f = c + c;
}

__kernel void pack3_linear(
    __global const float *restrict a,
    __global const uchar4 *restrict b,
    __global const short2 *restrict c,
    __global float *restrict d,
    __global uchar4 *restrict e,
    __global short2 *restrict f,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float3 d_value = (float3)(0.0f);
    uchar4 e_value = (uchar4)(0);
    short2 f_value = (short2)(0);
    pack3_body(vload3(i, a), b[i], c[i], &d_value, &e_value, &f_value);
    vstore3(d_value, i, d);
    e[i] = e_value;
    f[i] = f_value;
}

__kernel void pack3_mapped(
    __global const float *restrict a,
    __global const uchar4 *restrict b,
    __global const short2 *restrict c,
    __global float *restrict d,
    __global uchar4 *restrict e,
    __global short2 *restrict f,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map,
    __global const int *restrict b_map,
    __global const int *restrict c_map,
    __global const int *restrict d_map,
    __global const int *restrict e_map,
    __global const int *restrict f_map)
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
    const int f_at = hw_mapped(f_map, p, domain);
    const int4 position = p + origin;
    float3 d_value = (float3)(0.0f);
    uchar4 e_value = (uchar4)(0);
    short2 f_value = (short2)(0);
    pack3_body(vload3(a_at, a), b[b_at], c[c_at], &d_value, &e_value, &f_value);
    vstore3(d_value, d_at, d);
    e[e_at] = e_value;
    f[f_at] = f_value;
}
