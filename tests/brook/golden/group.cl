/* OpenCL C translated from group.br by Headwater. */

/* Index i into an extent of n elements; an index outside reads the nearest element. */
int hw_at(int i, int n)
{
    return clamp(i, 0, n - 1);
}

/* Whether index i lies in an extent of n elements; scatter outside is dropped. */
int hw_inside(int i, int n)
{
    return (uint)i < (uint)n;
}

/* The position of the domain's element i. Surplus work-items get one beyond the last dimension, where scatter is
dropped. */
int4 hw_unravel(int i, int4 domain)
{
    int4 p = (int4)(i, 0, 0, 0);
    if (domain.y * domain.z * domain.w > 1) {
        p.y = p.x / domain.x;
        p.x %= domain.x;
    }
    if (domain.z * domain.w > 1) {
        p.z = p.y / domain.y;
        p.y %= domain.y;
    }
    if (domain.w > 1) {
        p.w = p.z / domain.z;
        p.z %= domain.z;
    }
    return p;
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

/* kernel void reverse(float4 a<>, float4 b[], out float4 c[][]), line 4 */
void reverse_body(const float4 a, __global const float4 *b, const int4 b_shape, __global float4 *c, const int4 c_shape, __local float4 *l, const int4 hw_position)
{
    int2 p = hw_position.xy;
    l[hw_at(4 * (int)get_local_id(0), 256)] = a;
    l[hw_at((int)get_local_id(0) * 4 + 3, 256)] = b[hw_at(p.x, b_shape.x)];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (hw_inside(p.y, c_shape.y) && hw_inside(p.x, c_shape.x)) c[p.y * c_shape.x + p.x] = l[hw_at(4 * (64 - 1 - (int)get_local_id(0)), 256)];
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void reverse_group(
    __global const float4 *restrict a,
    __global const float4 *restrict b,
    const int4 b_shape,
    __global float4 *restrict c,
    const int4 c_shape,
    const int4 domain)
{
    __local float4 l[256];
    const int i = get_global_id(0);
    const int count = domain.x * domain.y * domain.z * domain.w;
    const int p = min(i, count - 1);
    reverse_body(a[p], b, b_shape, c, c_shape, l, hw_unravel(i, domain));
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void reverse_group_mapped(
    __global const float4 *restrict a,
    __global const float4 *restrict b,
    const int4 b_shape,
    __global float4 *restrict c,
    const int4 c_shape,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map)
{
    __local float4 l[256];
    const int i = get_global_id(0);
    const int count = domain.x * domain.y * domain.z * domain.w;
    const int4 p = hw_unravel(min(i, count - 1), domain);
    const int a_at = hw_mapped(a_map, p, domain);
    reverse_body(a[a_at], b, b_shape, c, c_shape, l, hw_unravel(i, domain) + origin);
}
