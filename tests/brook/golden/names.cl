/* OpenCL C translated from names.br by Headwater. */

/* Index i into an extent of n elements; an index outside reads the nearest element. */
int hw_at(int i, int n)
{
    return clamp(i, 0, n - 1);
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

/* kernel float length(float2 v), line 2 */
float length_body(const float2 v)
{
    return sqrt(dot(v, v));
}

/* kernel void global(float2 local<>, float a[], int a_shape, out float half<>), line 4 */
void global_body(const float2 local_, __global const float *a, const int4 a_shape, const int a_shape_, float *half_)
{
    float clamp_, float8_, i = 0.0f, count = 1.0f, hw_at_ = 2.0f;
    clamp_ = local_.x;
    float8_ = local_.y;
    *half_ = mix(clamp_, float8_, i) + length_body(local_) + a[hw_at(a_shape_, a_shape.x)] + count + hw_at_;
}

/* The same where the host has shown that these and others stay inside. */
void global_known(const float2 local_, __global const float *a, const int4 a_shape, const int a_shape_, float *half_)
{
    float clamp_, float8_, i = 0.0f, count = 1.0f, hw_at_ = 2.0f;
    clamp_ = local_.x;
    float8_ = local_.y;
    *half_ = mix(clamp_, float8_, i) + length_body(local_) + a[a_shape_] + count + hw_at_;
}

__kernel void global_linear(
    __global const float2 *restrict local_,
    __global const float *restrict a,
    const int4 a_shape,
    const int a_shape_,
    __global float *restrict half_,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float half__value = 0.0f;
    global_body(local_[i], a, a_shape, a_shape_, &half__value);
    half_[i] = half__value;
}

__kernel void global_linear_inside(
    __global const float2 *restrict local_,
    __global const float *restrict a,
    const int4 a_shape,
    const int a_shape_,
    __global float *restrict half_,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float half__value = 0.0f;
    global_known(local_[i], a, a_shape, a_shape_, &half__value);
    half_[i] = half__value;
}

__kernel void global_mapped(
    __global const float2 *restrict local_,
    __global const float *restrict a,
    const int4 a_shape,
    const int a_shape_,
    __global float *restrict half_,
    const int4 domain,
    const int4 origin,
    __global const int *restrict local__map,
    __global const int *restrict half__map)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int local__at = hw_mapped(local__map, p, domain);
    const int half__at = hw_mapped(half__map, p, domain);
    const int4 position = p + origin;
    float half__value = 0.0f;
    global_body(local_[local__at], a, a_shape, a_shape_, &half__value);
    half_[half__at] = half__value;
}
