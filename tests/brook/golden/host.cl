/* OpenCL C translated from host.br by Headwater. */

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

/* kernel void scale(float a<>, float k, out float b<>), line 21 */
void scale_body(const float a, const float k, float *b)
{
    *b = k * a;
}

__kernel void scale_linear(
    __global const float *restrict a,
    const float k,
    __global float *restrict b,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float b_value = 0.0f;
    scale_body(a[i], k, &b_value);
    b[i] = b_value;
}

__kernel void scale_linear4(
    __global const float *restrict a,
    const float k,
    __global float *restrict b,
    const int count)
{
    const int four = get_global_id(0);
    if (four < count / 4) {
        const float4 a4 = ((__global const float4 *)a)[four];
        float b_x = 0.0f, b_y = 0.0f, b_z = 0.0f, b_w = 0.0f;
        scale_body(a4.x, k, &b_x);
        scale_body(a4.y, k, &b_y);
        scale_body(a4.z, k, &b_z);
        scale_body(a4.w, k, &b_w);
        ((__global float4 *)b)[four] = (float4)(b_x, b_y, b_z, b_w);
    } else if (four == count / 4) {
        for (int i = 4 * four; i < count; ++i) {
            float b_value = 0.0f;
            scale_body(a[i], k, &b_value);
            b[i] = b_value;
        }
    }
}

__kernel void scale_mapped(
    __global const float *restrict a,
    const float k,
    __global float *restrict b,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map,
    __global const int *restrict b_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int a_at = hw_mapped(a_map, p, domain);
    const int b_at = hw_mapped(b_map, p, domain);
    const int4 position = p + origin;
    float b_value = 0.0f;
    scale_body(a[a_at], k, &b_value);
    b[b_at] = b_value;
}

/* kernel void shift(float a<>, out float b<>), line 30 */
void shift_body(const float a, float *b)
{
    *b = a + 1.0f;
}

__kernel void shift_linear(
    __global const float *restrict a,
    __global float *restrict b,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float b_value = 0.0f;
    shift_body(a[i], &b_value);
    b[i] = b_value;
}

__kernel void shift_linear4(
    __global const float *restrict a,
    __global float *restrict b,
    const int count)
{
    const int four = get_global_id(0);
    if (four < count / 4) {
        const float4 a4 = ((__global const float4 *)a)[four];
        float b_x = 0.0f, b_y = 0.0f, b_z = 0.0f, b_w = 0.0f;
        shift_body(a4.x, &b_x);
        shift_body(a4.y, &b_y);
        shift_body(a4.z, &b_z);
        shift_body(a4.w, &b_w);
        ((__global float4 *)b)[four] = (float4)(b_x, b_y, b_z, b_w);
    } else if (four == count / 4) {
        for (int i = 4 * four; i < count; ++i) {
            float b_value = 0.0f;
            shift_body(a[i], &b_value);
            b[i] = b_value;
        }
    }
}

__kernel void shift_mapped(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map,
    __global const int *restrict b_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int a_at = hw_mapped(a_map, p, domain);
    const int b_at = hw_mapped(b_map, p, domain);
    const int4 position = p + origin;
    float b_value = 0.0f;
    shift_body(a[a_at], &b_value);
    b[b_at] = b_value;
}
