/* OpenCL C translated from calls.br by Headwater. */

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

/* kernel float square(float x), line 2 */
float square_body(const float x)
{
    return x * x;
}

/* kernel void both(float a, out float s<>, out float c<>), line 7 */
void both_body(const float a, float *s, float *c)
{
    *s = sin(a);
    *c = cos(a);
}

__kernel void both_linear(
    const float a,
    __global float *restrict s,
    __global float *restrict c,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float s_value = 0.0f;
    float c_value = 0.0f;
    both_body(a, &s_value, &c_value);
    s[i] = s_value;
    c[i] = c_value;
}

__kernel void both_linear4(
    const float a,
    __global float *restrict s,
    __global float *restrict c,
    const int count)
{
    const int four = get_global_id(0);
    if (four < count / 4) {
        float s_x = 0.0f, s_y = 0.0f, s_z = 0.0f, s_w = 0.0f;
        float c_x = 0.0f, c_y = 0.0f, c_z = 0.0f, c_w = 0.0f;
        both_body(a, &s_x, &c_x);
        both_body(a, &s_y, &c_y);
        both_body(a, &s_z, &c_z);
        both_body(a, &s_w, &c_w);
        ((__global float4 *)s)[four] = (float4)(s_x, s_y, s_z, s_w);
        ((__global float4 *)c)[four] = (float4)(c_x, c_y, c_z, c_w);
    } else if (four == count / 4) {
        for (int i = 4 * four; i < count; ++i) {
            float s_value = 0.0f;
            float c_value = 0.0f;
            both_body(a, &s_value, &c_value);
            s[i] = s_value;
            c[i] = c_value;
        }
    }
}

__kernel void both_mapped(
    const float a,
    __global float *restrict s,
    __global float *restrict c,
    const int4 domain,
    const int4 origin,
    __global const int *restrict s_map,
    __global const int *restrict c_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int s_at = hw_mapped(s_map, p, domain);
    const int c_at = hw_mapped(c_map, p, domain);
    const int4 position = p + origin;
    float s_value = 0.0f;
    float c_value = 0.0f;
    both_body(a, &s_value, &c_value);
    s[s_at] = s_value;
    c[c_at] = c_value;
}

/* kernel float at(float a[][], int2 p), line 13 */
float at_body(__global const float *a, const int4 a_shape, const int2 p)
{
    return a[hw_at(p.y, a_shape.y) * a_shape.x + hw_at(p.x, a_shape.x)];
}

/* kernel float here(float a[][]), line 18 */
float here_body(__global const float *a, const int4 a_shape, const int4 hw_position)
{
    return at_body(a, a_shape, hw_position.xy);
}

/* kernel void top(float angle<>, float a[][], out float2 r<>, out float t<>), line 23 */
void top_body(const float angle, __global const float *a, const int4 a_shape, float2 *r, float *t, const int4 hw_position)
{
    float t0;
    float t1;
    float u, v;
    both_body(angle, &u, &v);
    t0 = (*r).x, t1 = (*r).y, both_body(u, &t0, &t1), (*r).x = t0, (*r).y = t1;
    *t = square_body(u) + square_body(v) + here_body(a, a_shape, hw_position) * at_body(a, a_shape, (int2)(0, 1));
}

__kernel void top_grid(
    __global const float *restrict angle,
    __global const float *restrict a,
    const int4 a_shape,
    __global float2 *restrict r,
    __global float *restrict t,
    const int4 domain)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int i = hw_index(p, domain);
    float2 r_value = (float2)(0.0f);
    float t_value = 0.0f;
    top_body(angle[i], a, a_shape, &r_value, &t_value, p);
    r[i] = r_value;
    t[i] = t_value;
}

__kernel void top_grid_inside(
    __global const float *restrict angle,
    __global const float *restrict a,
    const int4 a_shape,
    __global float2 *restrict r,
    __global float *restrict t,
    const int4 domain)
{
    const int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);
#ifndef HW_EXACT_RANGE
    if (p.x >= domain.x || p.y >= domain.y) return;
#endif
    const int i = p.y * domain.x + p.x;
    float2 r_value = (float2)(0.0f);
    float t_value = 0.0f;
    top_body(angle[i], a, a_shape, &r_value, &t_value, p);
    r[i] = r_value;
    t[i] = t_value;
}

__kernel void top_mapped(
    __global const float *restrict angle,
    __global const float *restrict a,
    const int4 a_shape,
    __global float2 *restrict r,
    __global float *restrict t,
    const int4 domain,
    const int4 origin,
    __global const int *restrict angle_map,
    __global const int *restrict r_map,
    __global const int *restrict t_map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int angle_at = hw_mapped(angle_map, p, domain);
    const int r_at = hw_mapped(r_map, p, domain);
    const int t_at = hw_mapped(t_map, p, domain);
    const int4 position = p + origin;
    float2 r_value = (float2)(0.0f);
    float t_value = 0.0f;
    top_body(angle[angle_at], a, a_shape, &r_value, &t_value, position);
    r[r_at] = r_value;
    t[t_at] = t_value;
}
