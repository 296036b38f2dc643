// Hand-written counterparts of the Brook+ examples that have no OpenCL C of their own, as one writes them for a GPU.

__kernel void sum_scalar(__global const float *a, __global const float *b, __global float *c)
{
    const size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}

__kernel void sum_float4(__global const float4 *a, __global const float4 *b, __global float4 *c)
{
    const size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}

__kernel void haar_analyze(__global const float *image, __global float *ll, __global float *hl, __global float *lh,
                           __global float *hh)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const int half_width = get_global_size(0);
    const float2 top = vload2(x, image + 2 * y * 2 * half_width);
    const float2 bottom = vload2(x, image + (2 * y + 1) * 2 * half_width);
    const int i = y * half_width + x;
    ll[i] = 0.5f * (top.x + top.y + bottom.x + bottom.y);
    hl[i] = 0.5f * (top.x - top.y + bottom.x - bottom.y);
    lh[i] = 0.5f * (top.x + top.y - bottom.x - bottom.y);
    hh[i] = 0.5f * (top.x - top.y - bottom.x + bottom.y);
}

__kernel void haar_synthesize(__global const float *ll, __global const float *hl, __global const float *lh,
                              __global const float *hh, __global float *image)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const int width = get_global_size(0);
    const int i = (y / 2) * (width / 2) + x / 2;
    const float across = x % 2 == 0 ? 1.0f : -1.0f;
    const float down = y % 2 == 0 ? 1.0f : -1.0f;
    image[y * width + x] = 0.5f * (ll[i] + across * hl[i] + down * lh[i] + across * down * hh[i]);
}

__kernel void scan_step(__global const int *source, int distance, __global int *result)
{
    const int i = get_global_id(0);
    result[i] = i >= distance ? source[i] + source[i - distance] : source[i];
}
