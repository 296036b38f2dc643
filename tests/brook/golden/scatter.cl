/* OpenCL C translated from scatter.br by Headwater. */

/* Whether index i lies in an extent of n elements; scatter outside is dropped. */
int hw_inside(int i, int n)
{
    return (uint)i < (uint)n;
}

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

/* The place of position p in an array of the given extents, x fastest. */
int hw_index(int4 p, int4 extents)
{
    return ((p.w * extents.z + p.z) * extents.y + p.y) * extents.x + p.x;
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

/* Index i into an extent of n elements; an index outside reads the nearest element. */
int hw_at(int i, int n)
{
    return clamp(i, 0, n - 1);
}

/* kernel void transpose(float a<>, out float b[][]), line 2 */
void transpose_body(const float a, __global float *b, const int4 b_shape, const int4 hw_position)
{
    int2 p = hw_position.xy;
    if (hw_inside(p.x, b_shape.y) && hw_inside(p.y, b_shape.x)) b[p.x * b_shape.x + p.y] = a;
}

__kernel void transpose_grid(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    transpose_body(a[i], b, b_shape, p);
}

__kernel void transpose_grid_inside(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    transpose_body(a[i], b, b_shape, p);
}

__kernel void transpose_mapped(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
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
    transpose_body(a[a_at], b, b_shape, position);
}

/* kernel void histogram(int a<>, out int b[], out int seen<>), line 8 */
void histogram_body(const int a, __global int *b, const int4 b_shape, int *seen)
{
    int t0;
    *seen = b[hw_at(a, b_shape.x)];
    if (hw_inside(a, b_shape.x)) b[a] += 1;
    t0 = a + 1;
    if (hw_inside(t0, b_shape.x)) b[t0] += 1;
}

__kernel void histogram_linear(
    __global const int *restrict a,
    __global int *restrict b,
    const int4 b_shape,
    __global int *restrict seen,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    int seen_value = 0;
    histogram_body(a[i], b, b_shape, &seen_value);
    seen[i] = seen_value;
}

__kernel void histogram_mapped(
    __global const int *restrict a,
    __global int *restrict b,
    const int4 b_shape,
    __global int *restrict seen,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map,
    __global const int *restrict seen_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int a_at = hw_mapped(a_map, p, domain);
    const int seen_at = hw_mapped(seen_map, p, domain);
    const int4 position = p + origin;
    int seen_value = 0;
    histogram_body(a[a_at], b, b_shape, &seen_value);
    seen[seen_at] = seen_value;
}

/* kernel void parts(float2 a<>, out float4 b[]), line 15 */
void parts_body(const float2 a, __global float4 *b, const int4 b_shape, const int4 hw_position)
{
    int k = hw_position.x;
    if (hw_inside(k, b_shape.x)) b[k].xy = a;
    if (hw_inside(k, b_shape.x)) b[k].zw = b[hw_at(k, b_shape.x)].yx;
}

__kernel void parts_grid(
    __global const float2 *restrict a,
    __global float4 *restrict b,
    const int4 b_shape,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    parts_body(a[i], b, b_shape, p);
}

__kernel void parts_grid_inside(
    __global const float2 *restrict a,
    __global float4 *restrict b,
    const int4 b_shape,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    parts_body(a[i], b, b_shape, p);
}

__kernel void parts_mapped(
    __global const float2 *restrict a,
    __global float4 *restrict b,
    const int4 b_shape,
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
    parts_body(a[a_at], b, b_shape, position);
}

/* kernel void packed(float3 a<>, out float3 b[][][]), line 22 */
void packed_body(const float3 a, __global float *b, const int4 b_shape, const int4 hw_position)
{
    int t0;
    int4 p = hw_position;
    if (hw_inside(p.z, b_shape.z) && hw_inside(p.y, b_shape.y) && hw_inside(p.x, b_shape.x)) {
        float3 element = vload3((p.z * b_shape.y + p.y) * b_shape.x + p.x, b);
        element = a;
        vstore3(element, (p.z * b_shape.y + p.y) * b_shape.x + p.x, b);
    }
    t0 = p.x + 1;
    if (hw_inside(p.z, b_shape.z) && hw_inside(p.y, b_shape.y) && hw_inside(t0, b_shape.x)) {
        float3 element = vload3((p.z * b_shape.y + p.y) * b_shape.x + t0, b);
        element.y += 1.0f;
        vstore3(element, (p.z * b_shape.y + p.y) * b_shape.x + t0, b);
    }
}

__kernel void packed_grid(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    packed_body(vload3(i, a), b, b_shape, p);
}

__kernel void packed_grid_inside(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    packed_body(vload3(i, a), b, b_shape, p);
}

__kernel void packed_mapped(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
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
    packed_body(vload3(a_at, a), b, b_shape, position);
}

/* kernel void shifted(float a<>, out float b[][]), line 29 */
void shifted_body(const float a, __global float *b, const int4 b_shape, const int4 hw_position)
{
    int t0;
    int t1;
    t0 = hw_position.y - 1;
    t1 = hw_position.x + 2;
    if (hw_inside(t0, b_shape.y) && hw_inside(t1, b_shape.x)) b[t0 * b_shape.x + t1] = a;
}

__kernel void shifted_grid(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    shifted_body(a[i], b, b_shape, p);
}

__kernel void shifted_grid_inside(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    shifted_body(a[i], b, b_shape, p);
}

__kernel void shifted_mapped(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
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
    shifted_body(a[a_at], b, b_shape, position);
}

/* kernel void chained(float a<>, out float b[]), line 34 */
void chained_body(const float a, __global float *b, const int4 b_shape, const int4 hw_position)
{
    int t0;
    float t1;
    int t2;
    float c = (t0 = hw_at(hw_position.x, b_shape.x), t1 = b[t0], t1 = a, (hw_inside(hw_position.x, b_shape.x)) ? (b[t0] = t1, 0) : 0, t1);
    t2 = convert_int_sat(c);
    if (hw_inside(t2, b_shape.x)) b[t2] = c;
}

__kernel void chained_grid(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    chained_body(a[i], b, b_shape, p);
}

__kernel void chained_grid_inside(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    chained_body(a[i], b, b_shape, p);
}

__kernel void chained_mapped(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 b_shape,
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
    chained_body(a[a_at], b, b_shape, position);
}
