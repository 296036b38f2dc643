/* OpenCL C translated from builtins.br by Headwater. */

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

/* sign of Brook+: 1 for NaN. */
float hw_sign_float(float x)
{
    return x == 0.0f ? (float)(0.0f) : x < 0.0f ? (float)(-1.0f) : (float)(1.0f);
}

/* The fraction of x above the integer below it. */
float hw_frac_float(float x)
{
    return x - floor(x);
}

/* max of Brook+: b if one is NaN or both are equal. */
float hw_max_float(float a, float b)
{
    return a > b ? a : b;
}

/* min of Brook+: b if one is NaN or both are equal. */
float hw_min_float(float a, float b)
{
    return a < b ? a : b;
}

/* clamp of Brook+: NaN stays. */
float hw_clamp_float(float x, float low, float high)
{
    return x > high ? high : x < low ? low : x;
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

/* normalize of Brook+: NaN for zeros. */
float3 hw_normalize_float3(float3 x)
{
    return x / sqrt(dot(x, x));
}

/* The fraction of x above the integer below it. */
float3 hw_frac_float3(float3 x)
{
    return x - floor(x);
}

/* sign of Brook+: 1 for NaN. */
double2 hw_sign_double2(double2 x)
{
    return x == 0.0 ? (double2)(0.0) : x < 0.0 ? (double2)(-1.0) : (double2)(1.0);
}

/* normalize of Brook+: NaN for zeros. */
double2 hw_normalize_double2(double2 x)
{
    return x / sqrt(dot(x, x));
}

int3 hw_cross_int3(int3 a, int3 b)
{
    return a.yzx * b.zxy - a.zxy * b.yzx;
}

int hw_dot_int3(int3 a, int3 b)
{
    return (int)(a.x * b.x + a.y * b.y + a.z * b.z);
}

char hw_dot_char4(char4 a, char4 b)
{
    return (char)(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
}

/* kernel void reals(float a<>, float b<>, out float c<>), line 1 */
void reals_body(const float a, const float b, float *c)
{
    *c = hw_sign_float(a) + fabs(a) + exp(a) + pow(a, b) + log(a) + sqrt(a) + rsqrt(a) + cos(a) + sin(a) + acos(a) + asin(a);
    *c += (float)isfinite(a) + (float)isinf(a) + (float)isnan(a) + hw_frac_float(a) + floor(a) + round(a) + fmod(a, b) + hw_max_float(a, b) + hw_min_float(a, b);
    *c = hw_clamp_float(*c, a, b) + mix(a, b, *c) + a * b;
}

__kernel void reals_linear(
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
    reals_body(a[i], b[i], &c_value);
    c[i] = c_value;
}

__kernel void reals_linear4(
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
        reals_body(a4.x, b4.x, &c_x);
        reals_body(a4.y, b4.y, &c_y);
        reals_body(a4.z, b4.z, &c_z);
        reals_body(a4.w, b4.w, &c_w);
        ((__global float4 *)c)[four] = (float4)(c_x, c_y, c_z, c_w);
    } else if (four == count / 4) {
        for (int i = 4 * four; i < count; ++i) {
            float c_value = 0.0f;
            reals_body(a[i], b[i], &c_value);
            c[i] = c_value;
        }
    }
}

__kernel void reals_mapped(
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
    reals_body(a[a_at], b[b_at], &c_value);
    c[c_at] = c_value;
}

/* kernel void vectors(float3 a<>, float3 b<>, out float3 c<>, out float d<>), line 8 */
void vectors_body(const float3 a, const float3 b, float3 *c, float *d)
{
    *c = hw_normalize_float3(cross(a, b)) + hw_frac_float3(a) + convert_float3(isnan(b) & 1);
    *d = dot(a, b) + (float)any(a != (float3)(0.0f)) + (float)all(b < a);
}

__kernel void vectors_linear(
    __global const float *restrict a,
    __global const float *restrict b,
    __global float *restrict c,
    __global float *restrict d,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    float3 c_value = (float3)(0.0f);
    float d_value = 0.0f;
    vectors_body(vload3(i, a), vload3(i, b), &c_value, &d_value);
    vstore3(c_value, i, c);
    d[i] = d_value;
}

__kernel void vectors_mapped(
    __global const float *restrict a,
    __global const float *restrict b,
    __global float *restrict c,
    __global float *restrict d,
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
    float3 c_value = (float3)(0.0f);
    float d_value = 0.0f;
    vectors_body(vload3(a_at, a), vload3(b_at, b), &c_value, &d_value);
    vstore3(c_value, c_at, c);
    d[d_at] = d_value;
}

/* kernel void doubles(double2 a<>, out double2 b<>, out double c<>), line 14 */
void doubles_body(const double2 a, double2 *b, double *c)
{
    *b = sqrt(a) + hw_sign_double2(a) + convert_double2(isfinite(a) & 1) + hw_normalize_double2(a);
    *c = dot(a, *b);
    *b = convert_double2((a > *b) & 1);
}

__kernel void doubles_linear(
    __global const double2 *restrict a,
    __global double2 *restrict b,
    __global double *restrict c,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    double2 b_value = (double2)(0.0);
    double c_value = 0.0;
    doubles_body(a[i], &b_value, &c_value);
    b[i] = b_value;
    c[i] = c_value;
}

__kernel void doubles_mapped(
    __global const double2 *restrict a,
    __global double2 *restrict b,
    __global double *restrict c,
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
    double2 b_value = (double2)(0.0);
    double c_value = 0.0;
    doubles_body(a[a_at], &b_value, &c_value);
    b[b_at] = b_value;
    c[c_at] = c_value;
}

/* kernel void integers(int3 a<>, uint2 b<>, char4 c<>, out int3 d<>, out uint2 e<>, out char4 f<>), line 21 */
void integers_body(const int3 a, const uint2 b, const char4 c, int3 *d, uint2 *e, char4 *f)
{
    *d = clamp(a, (int3)(-1), (int3)(1)) + max(a, as_int3(abs(a))) + hw_cross_int3(a, *d);
    (*d).x = hw_dot_int3(a, *d);
    *e = min(b, min(b, (uint2)(1)));
    *f = max(c, as_char4(abs(c))) + clamp(c, (char4)(-1), (char4)(1));
    (*f).x = hw_dot_char4(c, c);
}

__kernel void integers_linear(
    __global const int *restrict a,
    __global const uint2 *restrict b,
    __global const char4 *restrict c,
    __global int *restrict d,
    __global uint2 *restrict e,
    __global char4 *restrict f,
    const int count)
{
    const int i = get_global_id(0);
#ifndef HW_EXACT_RANGE
    if (i >= count) return;
#endif
    int3 d_value = (int3)(0);
    uint2 e_value = (uint2)(0);
    char4 f_value = (char4)(0);
    integers_body(vload3(i, a), b[i], c[i], &d_value, &e_value, &f_value);
    vstore3(d_value, i, d);
    e[i] = e_value;
    f[i] = f_value;
}

__kernel void integers_mapped(
    __global const int *restrict a,
    __global const uint2 *restrict b,
    __global const char4 *restrict c,
    __global int *restrict d,
    __global uint2 *restrict e,
    __global char4 *restrict f,
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
    int3 d_value = (int3)(0);
    uint2 e_value = (uint2)(0);
    char4 f_value = (char4)(0);
    integers_body(vload3(a_at, a), b[b_at], c[c_at], &d_value, &e_value, &f_value);
    vstore3(d_value, d_at, d);
    e[e_at] = e_value;
    f[f_at] = f_value;
}
