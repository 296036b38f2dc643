/* OpenCL C translated from gather.br by Headwater. */

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

/* As hw_at, for a floating-point index: its fraction is dropped. */
int hw_at_float(float i, int n)
{
    return clamp(convert_int_sat(i), 0, n - 1);
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

/* The place of position p in an array of the given extents, x fastest. */
int hw_index(int4 p, int4 extents)
{
    return ((p.w * extents.z + p.z) * extents.y + p.y) * extents.x + p.x;
}

/* As hw_at, for an unsigned index. */
int hw_at_uint(uint i, int n)
{
    return (int)min(i, (uint)(n - 1));
}

/* kernel void one(float index<>, float a[], out float b<>), line 2 */
void one_body(const float index, __global const float *a, const int4 a_shape, float *b)
{
    *b = a[hw_at_float(index, a_shape.x)];
}

__kernel void one_linear(
    __global const float *restrict index,
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict b,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float b_value = 0.0f;
    one_body(index[i], a, a_shape, &b_value);
    b[i] = b_value;
}

__kernel void one_mapped(
    __global const float *restrict index,
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict b,
    const int4 domain,
    const int4 origin,
    __global const int *restrict index_map,
    __global const int *restrict b_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int index_at = hw_mapped(index_map, p, domain);
    const int b_at = hw_mapped(b_map, p, domain);
    const int4 position = p + origin;
    float b_value = 0.0f;
    one_body(index[index_at], a, a_shape, &b_value);
    b[b_at] = b_value;
}

/* kernel void two(float a[][], out float b<>), line 7 */
void two_body(__global const float *a, const int4 a_shape, float *b, const int4 hw_position)
{
    int2 p = hw_position.xy;
    *b = a[hw_at(p.y + 1, a_shape.y) * a_shape.x + hw_at(p.x - 1, a_shape.x)] + a[hw_at(p.x, a_shape.x)];
}

/* The same where gathers near the position stay inside their arrays. */
void two_inside(__global const float *a, const int4 a_shape, float *b, const int4 hw_position)
{
    int2 p = hw_position.xy;
    *b = a[(p.y + 1) * a_shape.x + p.x - 1] + a[p.x];
}

__kernel void two_grid(
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict b,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    float b_value = 0.0f;
    if (p.y < a_shape.y - 1 && p.x >= 1 && p.x < a_shape.x) {
        two_inside(a, a_shape, &b_value, p);
    } else {
        two_body(a, a_shape, &b_value, p);
    }
    b[i] = b_value;
}

__kernel void two_mapped(
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict b,
    const int4 domain,
    const int4 origin,
    __global const int *restrict b_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int b_at = hw_mapped(b_map, p, domain);
    const int4 position = p + origin;
    float b_value = 0.0f;
    if (position.y < a_shape.y - 1 && position.x >= 1 && position.x < a_shape.x) {
        two_inside(a, a_shape, &b_value, position);
    } else {
        two_body(a, a_shape, &b_value, position);
    }
    b[b_at] = b_value;
}

/* kernel void three(uint4 index<>, float3 a[][][], out float3 b<>), line 13 */
void three_body(const uint4 index, __global const float *a, const int4 a_shape, float3 *b)
{
    *b = vload3((hw_at_uint(index.z, a_shape.z) * a_shape.y + hw_at_uint(index.y, a_shape.y)) * a_shape.x + hw_at_uint(index.x, a_shape.x), a);
}

__kernel void three_linear(
    __global const uint4 *restrict index,
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict b,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float3 b_value = (float3)(0.0f);
    three_body(index[i], a, a_shape, &b_value);
    vstore3(b_value, i, b);
}

__kernel void three_mapped(
    __global const uint4 *restrict index,
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict b,
    const int4 domain,
    const int4 origin,
    __global const int *restrict index_map,
    __global const int *restrict b_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int index_at = hw_mapped(index_map, p, domain);
    const int b_at = hw_mapped(b_map, p, domain);
    const int4 position = p + origin;
    float3 b_value = (float3)(0.0f);
    three_body(index[index_at], a, a_shape, &b_value);
    vstore3(b_value, b_at, b);
}

/* kernel void four(int4 index<>, double a[][][][], out double b<>), line 18 */
void four_body(const int4 index, __global const double *a, const int4 a_shape, double *b)
{
    *b = a[((hw_at(index.w, a_shape.w) * a_shape.z + hw_at(index.z, a_shape.z)) * a_shape.y + hw_at(index.y, a_shape.y)) * a_shape.x + hw_at(index.x, a_shape.x)];
}

__kernel void four_linear(
    __global const int4 *restrict index,
    __global const double *restrict a,
    const int4 a_shape,
    __global double *restrict b,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    double b_value = 0.0;
    four_body(index[i], a, a_shape, &b_value);
    b[i] = b_value;
}

__kernel void four_mapped(
    __global const int4 *restrict index,
    __global const double *restrict a,
    const int4 a_shape,
    __global double *restrict b,
    const int4 domain,
    const int4 origin,
    __global const int *restrict index_map,
    __global const int *restrict b_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int index_at = hw_mapped(index_map, p, domain);
    const int b_at = hw_mapped(b_map, p, domain);
    const int4 position = p + origin;
    double b_value = 0.0;
    four_body(index[index_at], a, a_shape, &b_value);
    b[b_at] = b_value;
}

/* kernel void nested(int a[], int b[], out int c<>), line 23 */
void nested_body(__global const int *a, const int4 a_shape, __global const int *b, const int4 b_shape, int *c, const int4 hw_position)
{
    *c = a[hw_at(b[hw_at(convert_int_sat((float)hw_position.x), b_shape.x)], a_shape.x)];
}

/* The same where gathers near the position stay inside their arrays. */
void nested_inside(__global const int *a, const int4 a_shape, __global const int *b, const int4 b_shape, int *c, const int4 hw_position)
{
    *c = a[hw_at(b[hw_position.x], a_shape.x)];
}

__kernel void nested_grid(
    __global const int *restrict a,
    const int4 a_shape,
    __global const int *restrict b,
    const int4 b_shape,
    __global int *restrict c,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    int c_value = 0;
    if (domain.x <= b_shape.x && domain.x <= 16777216) {
        nested_inside(a, a_shape, b, b_shape, &c_value, p);
    } else {
        nested_body(a, a_shape, b, b_shape, &c_value, p);
    }
    c[i] = c_value;
}

__kernel void nested_grid_inside(
    __global const int *restrict a,
    const int4 a_shape,
    __global const int *restrict b,
    const int4 b_shape,
    __global int *restrict c,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    int c_value = 0;
    nested_inside(a, a_shape, b, b_shape, &c_value, p);
    c[i] = c_value;
}

__kernel void nested_mapped(
    __global const int *restrict a,
    const int4 a_shape,
    __global const int *restrict b,
    const int4 b_shape,
    __global int *restrict c,
    const int4 domain,
    const int4 origin,
    __global const int *restrict c_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int c_at = hw_mapped(c_map, p, domain);
    const int4 position = p + origin;
    const int4 end = domain + origin;
    int c_value = 0;
    if (end.x <= b_shape.x && end.x <= 16777216) {
        nested_inside(a, a_shape, b, b_shape, &c_value, position);
    } else {
        nested_body(a, a_shape, b, b_shape, &c_value, position);
    }
    c[c_at] = c_value;
}

/* kernel void vector_index(float2 index<>, float4 a[][], out float4 b<>), line 28 */
void vector_index_body(const float2 index, __global const float4 *a, const int4 a_shape, float4 *b)
{
    int2 t0;
    int2 t1;
    *b = (t0 = convert_int2_sat(index), a[hw_at(t0.y, a_shape.y) * a_shape.x + hw_at(t0.x, a_shape.x)]) + (t1 = convert_int2_sat(index + (float2)(1.0f, 0.0f)), a[hw_at(t1.y, a_shape.y) * a_shape.x + hw_at(t1.x, a_shape.x)]);
}

__kernel void vector_index_linear(
    __global const float2 *restrict index,
    __global const float4 *restrict a,
    const int4 a_shape,
    __global float4 *restrict b,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float4 b_value = (float4)(0.0f);
    vector_index_body(index[i], a, a_shape, &b_value);
    b[i] = b_value;
}

__kernel void vector_index_mapped(
    __global const float2 *restrict index,
    __global const float4 *restrict a,
    const int4 a_shape,
    __global float4 *restrict b,
    const int4 domain,
    const int4 origin,
    __global const int *restrict index_map,
    __global const int *restrict b_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int index_at = hw_mapped(index_map, p, domain);
    const int b_at = hw_mapped(b_map, p, domain);
    const int4 position = p + origin;
    float4 b_value = (float4)(0.0f);
    vector_index_body(index[index_at], a, a_shape, &b_value);
    b[b_at] = b_value;
}

/* kernel void constants(float mask[3][3], float3 row[4], float img[][], out float3 o<>), line 33 */
void constants_body(__constant float *mask, __constant float *row, __global const float *img, const int4 img_shape, float3 *o, const int4 hw_position)
{
    int2 p = hw_position.xy;
    int i;
    float sum = 0.0f;
    for (i = 0; i < 3; ++i) {
        sum += mask[hw_at(i, 3) * 3 + 1] * img[hw_at(p.y + i, img_shape.y) * img_shape.x + hw_at(p.x, img_shape.x)];
    }
    *o = vload3(2, row) + vload3(hw_at(i, 4), row) + (float3)(sum, mask[2], 0.0f);
}

/* The same where gathers near the position stay inside their arrays. */
void constants_inside(__constant float *mask, __constant float *row, __global const float *img, const int4 img_shape, float3 *o, const int4 hw_position)
{
    int2 p = hw_position.xy;
    int i;
    float sum = 0.0f;
    for (i = 0; i < 3; ++i) {
        sum += mask[hw_at(i, 3) * 3 + 1] * img[(p.y + i) * img_shape.x + p.x];
    }
    *o = vload3(2, row) + vload3(hw_at(i, 4), row) + (float3)(sum, mask[2], 0.0f);
}

__kernel void constants_grid(
    __constant float *mask,
    __constant float *row,
    __global const float *restrict img,
    const int4 img_shape,
    __global float *restrict o,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    float3 o_value = (float3)(0.0f);
    if (domain.y <= img_shape.y - 2 && domain.x <= img_shape.x) {
        constants_inside(mask, row, img, img_shape, &o_value, p);
    } else if (p.y < img_shape.y - 2 && p.x < img_shape.x) {
        constants_inside(mask, row, img, img_shape, &o_value, p);
    } else {
        constants_body(mask, row, img, img_shape, &o_value, p);
    }
    vstore3(o_value, i, o);
}

__kernel void constants_grid_inside(
    __constant float *mask,
    __constant float *row,
    __global const float *restrict img,
    const int4 img_shape,
    __global float *restrict o,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    float3 o_value = (float3)(0.0f);
    constants_inside(mask, row, img, img_shape, &o_value, p);
    vstore3(o_value, i, o);
}

__kernel void constants_mapped(
    __constant float *mask,
    __constant float *row,
    __global const float *restrict img,
    const int4 img_shape,
    __global float *restrict o,
    const int4 domain,
    const int4 origin,
    __global const int *restrict o_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int o_at = hw_mapped(o_map, p, domain);
    const int4 position = p + origin;
    const int4 end = domain + origin;
    float3 o_value = (float3)(0.0f);
    if (end.y <= img_shape.y - 2 && end.x <= img_shape.x) {
        constants_inside(mask, row, img, img_shape, &o_value, position);
    } else if (position.y < img_shape.y - 2 && position.x < img_shape.x) {
        constants_inside(mask, row, img, img_shape, &o_value, position);
    } else {
        constants_body(mask, row, img, img_shape, &o_value, position);
    }
    vstore3(o_value, o_at, o);
}

/* kernel void too_large(float table[80][80], out float o<>), line 44 */
void too_large_body(__global const float *table, const int4 table_shape, float *o, const int4 hw_position)
{
    *o = table[hw_at(hw_position.y, table_shape.y) * table_shape.x + hw_at(hw_position.x, table_shape.x)];
}

/* The same where gathers near the position stay inside their arrays. */
void too_large_inside(__global const float *table, const int4 table_shape, float *o, const int4 hw_position)
{
    *o = table[hw_position.y * table_shape.x + hw_position.x];
}

__kernel void too_large_grid(
    __global const float *restrict table,
    const int4 table_shape,
    __global float *restrict o,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    float o_value = 0.0f;
    if (domain.y <= table_shape.y && domain.x <= table_shape.x) {
        too_large_inside(table, table_shape, &o_value, p);
    } else {
        too_large_body(table, table_shape, &o_value, p);
    }
    o[i] = o_value;
}

__kernel void too_large_grid_inside(
    __global const float *restrict table,
    const int4 table_shape,
    __global float *restrict o,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    float o_value = 0.0f;
    too_large_inside(table, table_shape, &o_value, p);
    o[i] = o_value;
}

__kernel void too_large_mapped(
    __global const float *restrict table,
    const int4 table_shape,
    __global float *restrict o,
    const int4 domain,
    const int4 origin,
    __global const int *restrict o_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int o_at = hw_mapped(o_map, p, domain);
    const int4 position = p + origin;
    const int4 end = domain + origin;
    float o_value = 0.0f;
    if (end.y <= table_shape.y && end.x <= table_shape.x) {
        too_large_inside(table, table_shape, &o_value, position);
    } else {
        too_large_body(table, table_shape, &o_value, position);
    }
    o[o_at] = o_value;
}

/* kernel void stencil(float a[][], out float c<>), line 50 */
void stencil_body(__global const float *a, const int4 a_shape, float *c, const int4 hw_position)
{
    int2 p = hw_position.xy;
    int i;
    float s = 0.0f;
    for (i = -1; i <= 1; ++i) {
        s += a[hw_at(p.y + i, a_shape.y) * a_shape.x + hw_at(p.x - 1, a_shape.x)] + a[hw_at(p.y + i, a_shape.y) * a_shape.x + hw_at(p.x + 2, a_shape.x)];
    }
    *c = s;
}

/* The same where gathers near the position stay inside their arrays. */
void stencil_inside(__global const float *a, const int4 a_shape, float *c, const int4 hw_position)
{
    int2 p = hw_position.xy;
    int i;
    float s = 0.0f;
    for (i = -1; i <= 1; ++i) {
        s += a[(p.y + i) * a_shape.x + p.x - 1] + a[(p.y + i) * a_shape.x + p.x + 2];
    }
    *c = s;
}

__kernel void stencil_grid(
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict c,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    float c_value = 0.0f;
    if (p.y >= 1 && p.y < a_shape.y - 1 && p.x >= 1 && p.x < a_shape.x - 2) {
        stencil_inside(a, a_shape, &c_value, p);
    } else {
        stencil_body(a, a_shape, &c_value, p);
    }
    c[i] = c_value;
}

__kernel void stencil_mapped(
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict c,
    const int4 domain,
    const int4 origin,
    __global const int *restrict c_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int c_at = hw_mapped(c_map, p, domain);
    const int4 position = p + origin;
    float c_value = 0.0f;
    if (position.y >= 1 && position.y < a_shape.y - 1 && position.x >= 1 && position.x < a_shape.x - 2) {
        stencil_inside(a, a_shape, &c_value, position);
    } else {
        stencil_body(a, a_shape, &c_value, position);
    }
    c[c_at] = c_value;
}

/* kernel void pairs(float a[], out float b<>), line 61 */
void pairs_body(__global const float *a, const int4 a_shape, float *b, const int4 hw_position)
{
    float2 q = convert_float2(hw_position.xy);
    int k = 2 * hw_position.x;
    *b = a[hw_at(k, a_shape.x)] * 2.0f + a[hw_at(k + 1, a_shape.x)] + a[hw_at_float(q.x - 1.0f, a_shape.x)];
}

/* The same where gathers near the position stay inside their arrays. */
void pairs_inside(__global const float *a, const int4 a_shape, float *b, const int4 hw_position)
{
    float2 q = convert_float2(hw_position.xy);
    int k = 2 * hw_position.x;
    *b = a[k] * 2.0f + a[k + 1] + a[hw_position.x - 1];
}

__kernel void pairs_grid(
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict b,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    float b_value = 0.0f;
    if (p.x < a_shape.x / 2 && p.x >= 1 && p.x - 1 < a_shape.x && p.x < 16777216) {
        pairs_inside(a, a_shape, &b_value, p);
    } else {
        pairs_body(a, a_shape, &b_value, p);
    }
    b[i] = b_value;
}

__kernel void pairs_mapped(
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict b,
    const int4 domain,
    const int4 origin,
    __global const int *restrict b_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int b_at = hw_mapped(b_map, p, domain);
    const int4 position = p + origin;
    float b_value = 0.0f;
    if (position.x < a_shape.x / 2 && position.x >= 1 && position.x - 1 < a_shape.x && position.x < 16777216) {
        pairs_inside(a, a_shape, &b_value, position);
    } else {
        pairs_body(a, a_shape, &b_value, position);
    }
    b[b_at] = b_value;
}

/* kernel void product(float a[][], float b[][], int inner, out float c<>), line 69 */
void product_body(__global const float *a, const int4 a_shape, __global const float *b, const int4 b_shape, const int inner, float *c, const int4 hw_position)
{
    int4 here = hw_position;
    float total = 0.0f;
    int l;
    for (l = 0; l < inner; l += 1) {
        total += a[hw_at(here.y, a_shape.y) * a_shape.x + hw_at(l, a_shape.x)] * b[hw_at(l, b_shape.y) * b_shape.x + hw_at(here.x, b_shape.x)];
    }
    *c = total;
}

/* The same where gathers near the position stay inside their arrays. */
void product_inside(__global const float *a, const int4 a_shape, __global const float *b, const int4 b_shape, const int inner, float *c, const int4 hw_position)
{
    int4 here = hw_position;
    float total = 0.0f;
    int l;
    for (l = 0; l < inner; l += 1) {
        total += a[here.y * a_shape.x + l] * b[l * b_shape.x + here.x];
    }
    *c = total;
}

__kernel void product_grid(
    __global const float *restrict a,
    const int4 a_shape,
    __global const float *restrict b,
    const int4 b_shape,
    const int inner,
    __global float *restrict c,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    float c_value = 0.0f;
    if (domain.y <= a_shape.y && inner <= a_shape.x && inner <= b_shape.y && domain.x <= b_shape.x) {
        product_inside(a, a_shape, b, b_shape, inner, &c_value, p);
    } else {
        product_body(a, a_shape, b, b_shape, inner, &c_value, p);
    }
    c[i] = c_value;
}

__kernel void product_grid_inside(
    __global const float *restrict a,
    const int4 a_shape,
    __global const float *restrict b,
    const int4 b_shape,
    const int inner,
    __global float *restrict c,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    float c_value = 0.0f;
    product_inside(a, a_shape, b, b_shape, inner, &c_value, p);
    c[i] = c_value;
}

__kernel void product_mapped(
    __global const float *restrict a,
    const int4 a_shape,
    __global const float *restrict b,
    const int4 b_shape,
    const int inner,
    __global float *restrict c,
    const int4 domain,
    const int4 origin,
    __global const int *restrict c_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int c_at = hw_mapped(c_map, p, domain);
    const int4 position = p + origin;
    const int4 end = domain + origin;
    float c_value = 0.0f;
    if (end.y <= a_shape.y && inner <= a_shape.x && inner <= b_shape.y && end.x <= b_shape.x) {
        product_inside(a, a_shape, b, b_shape, inner, &c_value, position);
    } else {
        product_body(a, a_shape, b, b_shape, inner, &c_value, position);
    }
    c[c_at] = c_value;
}

/* kernel void total(float a<>, float b[], int count, out float c<>), line 80 */
void total_body(const float a, __global const float *b, const int4 b_shape, const int count, float *c)
{
    int j;
    *c = a;
    for (j = 1; j <= 2 * count; ++j) {
        *c += b[hw_at(j - 1, b_shape.x)] + b[hw_at(j / 2, b_shape.x)];
    }
}

/* The same where gathers near the position stay inside their arrays. */
void total_inside(const float a, __global const float *b, const int4 b_shape, const int count, float *c)
{
    int j;
    *c = a;
    for (j = 1; j <= 2 * count; ++j) {
        *c += b[j - 1] + b[hw_at(j / 2, b_shape.x)];
    }
}

__kernel void total_linear(
    __global const float *restrict a,
    __global const float *restrict b,
    const int4 b_shape,
    const int count,
    __global float *restrict c,
    const int count_)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count_) return;
#endif
    float c_value = 0.0f;
    if ((2 * count) - 1 < b_shape.x) {
        total_inside(a[i], b, b_shape, count, &c_value);
    } else {
        total_body(a[i], b, b_shape, count, &c_value);
    }
    c[i] = c_value;
}

__kernel void total_linear_inside(
    __global const float *restrict a,
    __global const float *restrict b,
    const int4 b_shape,
    const int count,
    __global float *restrict c,
    const int count_)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count_) return;
#endif
    float c_value = 0.0f;
    total_inside(a[i], b, b_shape, count, &c_value);
    c[i] = c_value;
}

__kernel void total_mapped(
    __global const float *restrict a,
    __global const float *restrict b,
    const int4 b_shape,
    const int count,
    __global float *restrict c,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map,
    __global const int *restrict c_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int a_at = hw_mapped(a_map, p, domain);
    const int c_at = hw_mapped(c_map, p, domain);
    const int4 position = p + origin;
    const int4 end = domain + origin;
    float c_value = 0.0f;
    if ((2 * count) - 1 < b_shape.x) {
        total_inside(a[a_at], b, b_shape, count, &c_value);
    } else {
        total_body(a[a_at], b, b_shape, count, &c_value);
    }
    c[c_at] = c_value;
}

/* kernel void doubled(float a[][], out float b<>), line 89 */
void doubled_body(__global const float *a, const int4 a_shape, float *b, const int4 hw_position)
{
    int2 p = hw_position.xy;
    int x = p.x / 2;
    *b = a[hw_at(p.y / 2, a_shape.y) * a_shape.x + hw_at(x, a_shape.x)] + a[hw_at(p.y / 2, a_shape.y) * a_shape.x + hw_at(x + 1, a_shape.x)];
}

/* The same where gathers near the position stay inside their arrays. */
void doubled_inside(__global const float *a, const int4 a_shape, float *b, const int4 hw_position)
{
    int2 p = hw_position.xy;
    int x = p.x / 2;
    *b = a[p.y / 2 * a_shape.x + x] + a[p.y / 2 * a_shape.x + x + 1];
}

__kernel void doubled_grid(
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict b,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    float b_value = 0.0f;
    if ((domain.y - 1) / 2 < a_shape.y && (domain.x - 1) / 2 < a_shape.x - 1) {
        doubled_inside(a, a_shape, &b_value, p);
    } else if (p.y / 2 < a_shape.y && p.x / 2 < a_shape.x - 1) {
        doubled_inside(a, a_shape, &b_value, p);
    } else {
        doubled_body(a, a_shape, &b_value, p);
    }
    b[i] = b_value;
}

__kernel void doubled_grid_inside(
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict b,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    float b_value = 0.0f;
    doubled_inside(a, a_shape, &b_value, p);
    b[i] = b_value;
}

__kernel void doubled_mapped(
    __global const float *restrict a,
    const int4 a_shape,
    __global float *restrict b,
    const int4 domain,
    const int4 origin,
    __global const int *restrict b_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int b_at = hw_mapped(b_map, p, domain);
    const int4 position = p + origin;
    const int4 end = domain + origin;
    float b_value = 0.0f;
    if ((end.y - 1) / 2 < a_shape.y && (end.x - 1) / 2 < a_shape.x - 1) {
        doubled_inside(a, a_shape, &b_value, position);
    } else if (position.y / 2 < a_shape.y && position.x / 2 < a_shape.x - 1) {
        doubled_inside(a, a_shape, &b_value, position);
    } else {
        doubled_body(a, a_shape, &b_value, position);
    }
    b[b_at] = b_value;
}

/* kernel void attract(float a<>, float3 b[], float w[], int2 n, out float c<>), line 97 */
void attract_body(const float a, __global const float *b, const int4 b_shape, __global const float *w, const int4 w_shape, const int2 n, float *c)
{
    int j;
    *c = a;
    for (j = 1; j <= n.y; ++j) {
        float3 d = vload3(hw_at(j, b_shape.x), b);
        if (d.x < a) {
            continue;
        }
        *c += d.x * w[hw_at(j, w_shape.x)] + d.y * w[0] - a * d.z;
    }
    for (int k = 0; k < n.x; k += 1) {
        *c = 0.5f * *c + w[hw_at(k, w_shape.x)];
    }
}

/* The same where gathers near the position stay inside their arrays. */
void attract_inside(const float a, __global const float *b, const int4 b_shape, __global const float *w, const int4 w_shape, const int2 n, float *c)
{
    int j;
    *c = a;
    for (j = 1; j <= n.y; ++j) {
        float3 d = vload3(j, b);
        if (d.x < a) {
            continue;
        }
        *c += d.x * w[j] + d.y * w[0] - a * d.z;
    }
    for (int k = 0; k < n.x; k += 1) {
        *c = 0.5f * *c + w[k];
    }
}

/* The same with the elements that all work-items read in turn brought to local memory. */
void attract_tiled(const float a, __global const float *b, const int4 b_shape, __global const float *w, const int4 w_shape, const int2 n, float *c, __local float3 *b_tile, __local float *w_tile)
{
    int j;
    *c = a;
    for (j = 1; j <= n.y;) {
        const int start = j, item = get_local_id(0);
        const int end = start + min(n.y - start + 1, 256);
        if (start + item < end) {
            b_tile[item] = vload3(start + item, b);
            w_tile[item] = w[start + item];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 8
        for (; j < end; ++j) {
            float3 d = b_tile[j - start];
            if (d.x < a) {
                continue;
            }
            *c += d.x * w_tile[j - start] + d.y * w[0] - a * d.z;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int k = 0; k < n.x;) {
        const int start = k, item = get_local_id(0);
        const int end = start + min(n.x - start, 256);
        if (start + item < end) {
            w_tile[item] = w[start + item];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 8
        for (; k < end; k += 1) {
            *c = 0.5f * *c + w_tile[k - start];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel void attract_linear(
    __global const float *restrict a,
    __global const float *restrict b,
    const int4 b_shape,
    __global const float *restrict w,
    const int4 w_shape,
    const int2 n,
    __global float *restrict c,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float c_value = 0.0f;
    if (n.y < b_shape.x && n.y < w_shape.x && n.x <= w_shape.x) {
        attract_inside(a[i], b, b_shape, w, w_shape, n, &c_value);
    } else {
        attract_body(a[i], b, b_shape, w, w_shape, n, &c_value);
    }
    c[i] = c_value;
}

__kernel void attract_linear_inside(
    __global const float *restrict a,
    __global const float *restrict b,
    const int4 b_shape,
    __global const float *restrict w,
    const int4 w_shape,
    const int2 n,
    __global float *restrict c,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float c_value = 0.0f;
    attract_inside(a[i], b, b_shape, w, w_shape, n, &c_value);
    c[i] = c_value;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void attract_linear_tiled(
    __global const float *restrict a,
    __global const float *restrict b,
    const int4 b_shape,
    __global const float *restrict w,
    const int4 w_shape,
    const int2 n,
    __global float *restrict c,
    const int count)
{
    __local float3 b_tile[256];
    __local float w_tile[256];
    const int i = get_global_id(0);
    const int at = min(i, count - 1);
    float c_value = 0.0f;
    attract_tiled(a[at], b, b_shape, w, w_shape, n, &c_value, b_tile, w_tile);
    if (i < count) c[at] = c_value;
}

__kernel void attract_mapped(
    __global const float *restrict a,
    __global const float *restrict b,
    const int4 b_shape,
    __global const float *restrict w,
    const int4 w_shape,
    const int2 n,
    __global float *restrict c,
    const int4 domain,
    const int4 origin,
    __global const int *restrict a_map,
    __global const int *restrict c_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int a_at = hw_mapped(a_map, p, domain);
    const int c_at = hw_mapped(c_map, p, domain);
    const int4 position = p + origin;
    const int4 end = domain + origin;
    float c_value = 0.0f;
    if (n.y < b_shape.x && n.y < w_shape.x && n.x <= w_shape.x) {
        attract_inside(a[a_at], b, b_shape, w, w_shape, n, &c_value);
    } else {
        attract_body(a[a_at], b, b_shape, w, w_shape, n, &c_value);
    }
    c[c_at] = c_value;
}

/* kernel void confined(float a[][], int width, int row, out float b<>), line 114 */
void confined_body(__global const float *a, const int4 a_shape, const int width, const int row, float *b, const int4 hw_position)
{
    int2 p = hw_position.xy;
    int left = max(p.x - 1, 0);
    int right = min(p.x + 1, width - 1);
    *b = a[hw_at(p.y, a_shape.y) * a_shape.x + hw_at(left, a_shape.x)] + a[hw_at(max(p.y - 2, 0), a_shape.y) * a_shape.x + hw_at(p.x, a_shape.x)] + a[hw_at(p.y, a_shape.y) * a_shape.x + hw_at(right, a_shape.x)] + a[hw_at(row, a_shape.y) * a_shape.x + hw_at(p.x, a_shape.x)];
}

/* The same where gathers near the position stay inside their arrays. */
void confined_inside(__global const float *a, const int4 a_shape, const int width, const int row, float *b, const int4 hw_position)
{
    int2 p = hw_position.xy;
    int left = max(p.x - 1, 0);
    int right = min(p.x + 1, width - 1);
    *b = a[p.y * a_shape.x + hw_at(left, a_shape.x)] + a[hw_at(max(p.y - 2, 0), a_shape.y) * a_shape.x + p.x] + a[p.y * a_shape.x + hw_at(right, a_shape.x)] + a[hw_at(row, a_shape.y) * a_shape.x + p.x];
}

/* The same where the host has shown that these and others stay inside. */
void confined_known(__global const float *a, const int4 a_shape, const int width, const int row, float *b, const int4 hw_position)
{
    int2 p = hw_position.xy;
    int left = max(p.x - 1, 0);
    int right = min(p.x + 1, width - 1);
    *b = a[p.y * a_shape.x + left] + a[max(p.y - 2, 0) * a_shape.x + p.x] + a[p.y * a_shape.x + right] + a[row * a_shape.x + p.x];
}

__kernel void confined_grid(
    __global const float *restrict a,
    const int4 a_shape,
    const int width,
    const int row,
    __global float *restrict b,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    float b_value = 0.0f;
    if (domain.y <= a_shape.y && domain.x <= a_shape.x) {
        confined_inside(a, a_shape, width, row, &b_value, p);
    } else {
        confined_body(a, a_shape, width, row, &b_value, p);
    }
    b[i] = b_value;
}

__kernel void confined_grid_inside(
    __global const float *restrict a,
    const int4 a_shape,
    const int width,
    const int row,
    __global float *restrict b,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    float b_value = 0.0f;
    confined_known(a, a_shape, width, row, &b_value, p);
    b[i] = b_value;
}

__kernel void confined_mapped(
    __global const float *restrict a,
    const int4 a_shape,
    const int width,
    const int row,
    __global float *restrict b,
    const int4 domain,
    const int4 origin,
    __global const int *restrict b_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int b_at = hw_mapped(b_map, p, domain);
    const int4 position = p + origin;
    const int4 end = domain + origin;
    float b_value = 0.0f;
    if (end.y <= a_shape.y && end.x <= a_shape.x) {
        confined_inside(a, a_shape, width, row, &b_value, position);
    } else {
        confined_body(a, a_shape, width, row, &b_value, position);
    }
    b[b_at] = b_value;
}
