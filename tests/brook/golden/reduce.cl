/* OpenCL C translated from reduce.br by Headwater. */

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

/* The place of position p in an array of the given extents, x fastest. */
int hw_index(int4 p, int4 extents)
{
    return ((p.w * extents.z + p.z) * extents.y + p.y) * extents.x + p.x;
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

/* reduce void total(float a<>, reduce float b<>), line 1 */
void total_body(const float a, float *b)
{
    *b += a;
}

__kernel void total_reduce_full(
    __global const float *restrict a,
    __global float *restrict b,
    __local float *scratch,
    const int count)
{
    const int item = get_local_id(0);
    const int size = get_local_size(0);
    /* Each group folds one stretch of the input, in units of its size; the order does not matter. */
    const long units = count / size + (count % size != 0);
    const int first = (int)(units * get_group_id(0) / get_num_groups(0) * size);
    const ulong end = units * (get_group_id(0) + 1) / get_num_groups(0) * size;
    const int last = (int)min(end, (ulong)count);
    const int rounds = (last - first) / size;
    int i = first + item;
    float value = a[min(i, count - 1)];
    int n = 1;
    if (rounds >= 4) {
        float value2 = a[i + size];
        float value3 = a[i + 2 * size];
        float value4 = a[i + 3 * size];
        for (n = 4; n + 4 <= rounds; n += 4) {
            i += 4 * size;
            total_body(a[i], &value);
            total_body(a[i + size], &value2);
            total_body(a[i + 2 * size], &value3);
            total_body(a[i + 3 * size], &value4);
        }
        i += 3 * size;
        total_body(value2, &value);
        total_body(value4, &value3);
        total_body(value3, &value);
    }
    for (; n < rounds; ++n) {
        i += size;
        total_body(a[i], &value);
    }
    if (rounds > 0 && i < last - size) {
        total_body(a[i + size], &value);
    }
    const int active = min(last - first, size);
    scratch[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int left = active; left > 1;) {
        const int part = (left + 1) / 2;
        if (item + part < left) {
            total_body(scratch[item + part], &value);
            scratch[item] = value;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        left = part;
    }
    if (item == 0 && active > 0) b[get_group_id(0)] = value;
}

__kernel void total_reduce_partial(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 domain,
    const int4 shape)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int4 tile = shape / domain;
    const int4 corner = p * tile;
    float value = a[hw_index(corner, shape)];
    for (int w = 0; w < tile.w; ++w)
        for (int z = 0; z < tile.z; ++z)
            for (int y = 0; y < tile.y; ++y)
                for (int x = (y + z + w == 0); x < tile.x; ++x) {
                    total_body(a[hw_index(corner + (int4)(x, y, z, w), shape)], &value);
                }
    b[hw_index(p, domain)] = value;
}

/* reduce void largest(float4 a<>, reduce float4 b<>), line 2 */
void largest_body(const float4 a, float4 *b)
{
    *b = max(a, *b);
}

__kernel void largest_reduce_full(
    __global const float4 *restrict a,
    __global float4 *restrict b,
    __local float4 *scratch,
    const int count)
{
    const int item = get_local_id(0);
    const int size = get_local_size(0);
    /* Each group folds one stretch of the input, in units of its size; the order does not matter. */
    const long units = count / size + (count % size != 0);
    const int first = (int)(units * get_group_id(0) / get_num_groups(0) * size);
    const ulong end = units * (get_group_id(0) + 1) / get_num_groups(0) * size;
    const int last = (int)min(end, (ulong)count);
    const int rounds = (last - first) / size;
    int i = first + item;
    float4 value = a[min(i, count - 1)];
    int n = 1;
    if (rounds >= 4) {
        float4 value2 = a[i + size];
        float4 value3 = a[i + 2 * size];
        float4 value4 = a[i + 3 * size];
        for (n = 4; n + 4 <= rounds; n += 4) {
            i += 4 * size;
            largest_body(a[i], &value);
            largest_body(a[i + size], &value2);
            largest_body(a[i + 2 * size], &value3);
            largest_body(a[i + 3 * size], &value4);
        }
        i += 3 * size;
        largest_body(value2, &value);
        largest_body(value4, &value3);
        largest_body(value3, &value);
    }
    for (; n < rounds; ++n) {
        i += size;
        largest_body(a[i], &value);
    }
    if (rounds > 0 && i < last - size) {
        largest_body(a[i + size], &value);
    }
    const int active = min(last - first, size);
    scratch[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int left = active; left > 1;) {
        const int part = (left + 1) / 2;
        if (item + part < left) {
            largest_body(scratch[item + part], &value);
            scratch[item] = value;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        left = part;
    }
    if (item == 0 && active > 0) b[get_group_id(0)] = value;
}

__kernel void largest_reduce_partial(
    __global const float4 *restrict a,
    __global float4 *restrict b,
    const int4 domain,
    const int4 shape)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int4 tile = shape / domain;
    const int4 corner = p * tile;
    float4 value = a[hw_index(corner, shape)];
    for (int w = 0; w < tile.w; ++w)
        for (int z = 0; z < tile.z; ++z)
            for (int y = 0; y < tile.y; ++y)
                for (int x = (y + z + w == 0); x < tile.x; ++x) {
                    largest_body(a[hw_index(corner + (int4)(x, y, z, w), shape)], &value);
                }
    b[hw_index(p, domain)] = value;
}

/* reduce void product(reduce float4 a<>, float4 b<>), line 4 */
void product_body(float4 *a, const float4 b)
{
    *a = (float4)((*a).x * b.x + (*a).y * b.z, (*a).x * b.y + (*a).y * b.w, (*a).z * b.x + (*a).w * b.z, (*a).z * b.y + (*a).w * b.w);
}

__kernel void product_reduce_full(
    __global float4 *restrict a,
    __global const float4 *restrict b,
    __local float4 *scratch,
    const int count)
{
    const int item = get_local_id(0);
    const int size = get_global_size(0);
    const int first = get_global_id(0) - item;
    /* Each work-item folds a run of neighbours, so that operands stay in order. */
    const int run = count / size + (count % size != 0);
    const int runs = count / run + (count % run != 0);
    const int active = clamp(runs - first, 0, (int)get_local_size(0));
    int i = (int)min((long)(first + item) * run, (long)(count - 1));
    const int end = (int)min((long)i + run, (long)count);
    float4 value = b[i];
    while (++i < end) {
        product_body(&value, b[i]);
    }
    scratch[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < active; step *= 2) {
        if (item % (2 * step) == 0 && item + step < active) {
            product_body(&value, scratch[item + step]);
            scratch[item] = value;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0 && active > 0) a[get_group_id(0)] = value;
}

__kernel void product_reduce_partial(
    __global float4 *restrict a,
    __global const float4 *restrict b,
    const int4 domain,
    const int4 shape)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int4 tile = shape / domain;
    const int4 corner = p * tile;
    float4 value = b[hw_index(corner, shape)];
    for (int w = 0; w < tile.w; ++w)
        for (int z = 0; z < tile.z; ++z)
            for (int y = 0; y < tile.y; ++y)
                for (int x = (y + z + w == 0); x < tile.x; ++x) {
                    product_body(&value, b[hw_index(corner + (int4)(x, y, z, w), shape)]);
                }
    a[hw_index(p, domain)] = value;
}

/* reduce void any_set(uint3 a<>, reduce uint3 b<>), line 8 */
void any_set_body(const uint3 a, uint3 *b)
{
    *b = *b | a;
}

__kernel void any_set_reduce_full(
    __global const uint *restrict a,
    __global uint *restrict b,
    __local uint3 *scratch,
    const int count)
{
    const int item = get_local_id(0);
    const int size = get_local_size(0);
    /* Each group folds one stretch of the input, in units of its size; the order does not matter. */
    const long units = count / size + (count % size != 0);
    const int first = (int)(units * get_group_id(0) / get_num_groups(0) * size);
    const ulong end = units * (get_group_id(0) + 1) / get_num_groups(0) * size;
    const int last = (int)min(end, (ulong)count);
    const int rounds = (last - first) / size;
    int i = first + item;
    uint3 value = vload3(min(i, count - 1), a);
    int n = 1;
    if (rounds >= 4) {
        uint3 value2 = vload3(i + size, a);
        uint3 value3 = vload3(i + 2 * size, a);
        uint3 value4 = vload3(i + 3 * size, a);
        for (n = 4; n + 4 <= rounds; n += 4) {
            i += 4 * size;
            any_set_body(vload3(i, a), &value);
            any_set_body(vload3(i + size, a), &value2);
            any_set_body(vload3(i + 2 * size, a), &value3);
            any_set_body(vload3(i + 3 * size, a), &value4);
        }
        i += 3 * size;
        any_set_body(value2, &value);
        any_set_body(value4, &value3);
        any_set_body(value3, &value);
    }
    for (; n < rounds; ++n) {
        i += size;
        any_set_body(vload3(i, a), &value);
    }
    if (rounds > 0 && i < last - size) {
        any_set_body(vload3(i + size, a), &value);
    }
    const int active = min(last - first, size);
    scratch[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int left = active; left > 1;) {
        const int part = (left + 1) / 2;
        if (item + part < left) {
            any_set_body(scratch[item + part], &value);
            scratch[item] = value;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        left = part;
    }
    if (item == 0 && active > 0) vstore3(value, get_group_id(0), b);
}

__kernel void any_set_reduce_partial(
    __global const uint *restrict a,
    __global uint *restrict b,
    const int4 domain,
    const int4 shape)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int4 tile = shape / domain;
    const int4 corner = p * tile;
    uint3 value = vload3(hw_index(corner, shape), a);
    for (int w = 0; w < tile.w; ++w)
        for (int z = 0; z < tile.z; ++z)
            for (int y = 0; y < tile.y; ++y)
                for (int x = (y + z + w == 0); x < tile.x; ++x) {
                    any_set_body(vload3(hw_index(corner + (int4)(x, y, z, w), shape), a), &value);
                }
    vstore3(value, hw_index(p, domain), b);
}

/* reduce void smallest(double a<>, reduce double b), line 9 */
void smallest_body(const double a, double *b)
{
    if (a < *b) {
        *b = a;
    }
}

__kernel void smallest_reduce_full(
    __global const double *restrict a,
    __global double *restrict b,
    __local double *scratch,
    const int count)
{
    const int item = get_local_id(0);
    const int size = get_global_size(0);
    const int first = get_global_id(0) - item;
    /* Each work-item folds a run of neighbours, so that operands stay in order. */
    const int run = count / size + (count % size != 0);
    const int runs = count / run + (count % run != 0);
    const int active = clamp(runs - first, 0, (int)get_local_size(0));
    int i = (int)min((long)(first + item) * run, (long)(count - 1));
    const int end = (int)min((long)i + run, (long)count);
    double value = a[i];
    while (++i < end) {
        smallest_body(a[i], &value);
    }
    scratch[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < active; step *= 2) {
        if (item % (2 * step) == 0 && item + step < active) {
            smallest_body(scratch[item + step], &value);
            scratch[item] = value;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0 && active > 0) b[get_group_id(0)] = value;
}

__kernel void smallest_reduce_partial(
    __global const double *restrict a,
    __global double *restrict b,
    const int4 domain,
    const int4 shape)
{
    const int4 p = hw_grid(domain);
#ifndef HW_EXACT_RANGE
    if (hw_outside(p, domain)) return;
#endif
    const int4 tile = shape / domain;
    const int4 corner = p * tile;
    double value = a[hw_index(corner, shape)];
    for (int w = 0; w < tile.w; ++w)
        for (int z = 0; z < tile.z; ++z)
            for (int y = 0; y < tile.y; ++y)
                for (int x = (y + z + w == 0); x < tile.x; ++x) {
                    smallest_body(a[hw_index(corner + (int4)(x, y, z, w), shape)], &value);
                }
    b[hw_index(p, domain)] = value;
}
