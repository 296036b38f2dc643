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

/* max of Brook+: b if one is NaN or both are equal. */
float4 hw_max_float4(float4 a, float4 b)
{
    return a > b ? a : b;
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

__kernel void total_reduce_columns(
    __global const float *restrict a,
    __global float *restrict b,
    const int4 domain,
    const int count)
{
    const int size = get_local_size(0), width = domain.x;
    /* Each group folds a stretch of rows for a segment of the columns. */
    const int rows = count / width + (count % width != 0);
    const int run = rows / domain.y + (rows % domain.y != 0);
    const int first = get_group_id(1) * run;
    const int full = min(first + run, count / width);
    const int start = get_group_id(0) * domain.w;
    const int end = min(start + domain.w, width);
    const int base = get_group_id(2) * count;
    const int own = (get_group_id(2) * domain.y + get_group_id(1)) * width;
    for (int i = start + get_local_id(0); i < end; i += size) {
        float value = a[base + first * width + i];
        b[own + i] = value;
    }
    int row = first + 1;
    for (; row + 8 <= full; row += 8) {
        for (int i = start + get_local_id(0); i < end; i += size) {
            const int at = base + row * width + i;
            float value = b[own + i];
            for (int k = 0; k < 8; ++k)
                total_body(a[at + k * width], &value);
            b[own + i] = value;
        }
    }
    for (; row < full; ++row) {
        for (int i = start + get_local_id(0); i < end; i += size) {
            float value = b[own + i];
            total_body(a[base + row * width + i], &value);
            b[own + i] = value;
        }
    }
    /* The last row may not be full. */
    if (first + run > full) {
        for (int i = start + get_local_id(0); i < min(end, count - full * width); i += size) {
            float value = b[own + i];
            total_body(a[base + full * width + i], &value);
            b[own + i] = value;
        }
    }
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
    *b = hw_max_float4(a, *b);
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

__kernel void largest_reduce_columns(
    __global const float4 *restrict a,
    __global float4 *restrict b,
    const int4 domain,
    const int count)
{
    const int size = get_local_size(0), width = domain.x;
    /* Each group folds a stretch of rows for a segment of the columns. */
    const int rows = count / width + (count % width != 0);
    const int run = rows / domain.y + (rows % domain.y != 0);
    const int first = get_group_id(1) * run;
    const int full = min(first + run, count / width);
    const int start = get_group_id(0) * domain.w;
    const int end = min(start + domain.w, width);
    const int base = get_group_id(2) * count;
    const int own = (get_group_id(2) * domain.y + get_group_id(1)) * width;
    for (int i = start + get_local_id(0); i < end; i += size) {
        float4 value = a[base + first * width + i];
        b[own + i] = value;
    }
    int row = first + 1;
    for (; row + 8 <= full; row += 8) {
        for (int i = start + get_local_id(0); i < end; i += size) {
            const int at = base + row * width + i;
            float4 value = b[own + i];
            for (int k = 0; k < 8; ++k)
                largest_body(a[at + k * width], &value);
            b[own + i] = value;
        }
    }
    for (; row < full; ++row) {
        for (int i = start + get_local_id(0); i < end; i += size) {
            float4 value = b[own + i];
            largest_body(a[base + row * width + i], &value);
            b[own + i] = value;
        }
    }
    /* The last row may not be full. */
    if (first + run > full) {
        for (int i = start + get_local_id(0); i < min(end, count - full * width); i += size) {
            float4 value = b[own + i];
            largest_body(a[base + full * width + i], &value);
            b[own + i] = value;
        }
    }
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
    /* Each work-item folds a run of neighbours, so that operands stay in order; its parts side by side. */
    const int runs = min(size, count);
    const int active = clamp(runs - first, 0, (int)get_local_size(0));
    const long run = first + item;
    int i = (int)min(count * run / runs, (long)(count - 1));
    const int end = (int)min(count * (run + 1) / runs, (long)count);
    const int part = (end - i) / 8;
    float4 value = b[i];
    if (part > 1) {
        float4 value2 = b[i + part];
        float4 value3 = b[i + 2 * part];
        float4 value4 = b[i + 3 * part];
        float4 value5 = b[i + 4 * part];
        float4 value6 = b[i + 5 * part];
        float4 value7 = b[i + 6 * part];
        float4 value8 = b[i + 7 * part];
        for (int n = 1; n < part; ++n) {
            ++i;
            product_body(&value, b[i]);
            product_body(&value2, b[i + part]);
            product_body(&value3, b[i + 2 * part]);
            product_body(&value4, b[i + 3 * part]);
            product_body(&value5, b[i + 4 * part]);
            product_body(&value6, b[i + 5 * part]);
            product_body(&value7, b[i + 6 * part]);
            product_body(&value8, b[i + 7 * part]);
        }
        product_body(&value, value2);
        product_body(&value, value3);
        product_body(&value, value4);
        product_body(&value, value5);
        product_body(&value, value6);
        product_body(&value, value7);
        product_body(&value, value8);
        i += 7 * part;
    }
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

__kernel void product_reduce_columns(
    __global float4 *restrict a,
    __global const float4 *restrict b,
    const int4 domain,
    const int count)
{
    const int size = get_local_size(0), width = domain.x;
    /* Each group folds a stretch of rows for a segment of the columns. */
    const int rows = count / width + (count % width != 0);
    const int run = rows / domain.y + (rows % domain.y != 0);
    const int first = get_group_id(1) * run;
    const int full = min(first + run, count / width);
    const int start = get_group_id(0) * domain.w;
    const int end = min(start + domain.w, width);
    const int base = get_group_id(2) * count;
    const int own = (get_group_id(2) * domain.y + get_group_id(1)) * width;
    for (int i = start + get_local_id(0); i < end; i += size) {
        float4 value = b[base + first * width + i];
        a[own + i] = value;
    }
    int row = first + 1;
    for (; row + 8 <= full; row += 8) {
        for (int i = start + get_local_id(0); i < end; i += size) {
            const int at = base + row * width + i;
            float4 value = a[own + i];
            for (int k = 0; k < 8; ++k)
                product_body(&value, b[at + k * width]);
            a[own + i] = value;
        }
    }
    for (; row < full; ++row) {
        for (int i = start + get_local_id(0); i < end; i += size) {
            float4 value = a[own + i];
            product_body(&value, b[base + row * width + i]);
            a[own + i] = value;
        }
    }
    /* The last row may not be full. */
    if (first + run > full) {
        for (int i = start + get_local_id(0); i < min(end, count - full * width); i += size) {
            float4 value = a[own + i];
            product_body(&value, b[base + full * width + i]);
            a[own + i] = value;
        }
    }
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

__kernel void any_set_reduce_columns(
    __global const uint *restrict a,
    __global uint *restrict b,
    const int4 domain,
    const int count)
{
    const int size = get_local_size(0), width = domain.x;
    /* Each group folds a stretch of rows for a segment of the columns. */
    const int rows = count / width + (count % width != 0);
    const int run = rows / domain.y + (rows % domain.y != 0);
    const int first = get_group_id(1) * run;
    const int full = min(first + run, count / width);
    const int start = get_group_id(0) * domain.w;
    const int end = min(start + domain.w, width);
    const int base = get_group_id(2) * count;
    const int own = (get_group_id(2) * domain.y + get_group_id(1)) * width;
    for (int i = start + get_local_id(0); i < end; i += size) {
        uint3 value = vload3(base + first * width + i, a);
        vstore3(value, own + i, b);
    }
    int row = first + 1;
    for (; row + 8 <= full; row += 8) {
        for (int i = start + get_local_id(0); i < end; i += size) {
            const int at = base + row * width + i;
            uint3 value = vload3(own + i, b);
            for (int k = 0; k < 8; ++k)
                any_set_body(vload3(at + k * width, a), &value);
            vstore3(value, own + i, b);
        }
    }
    for (; row < full; ++row) {
        for (int i = start + get_local_id(0); i < end; i += size) {
            uint3 value = vload3(own + i, b);
            any_set_body(vload3(base + row * width + i, a), &value);
            vstore3(value, own + i, b);
        }
    }
    /* The last row may not be full. */
    if (first + run > full) {
        for (int i = start + get_local_id(0); i < min(end, count - full * width); i += size) {
            uint3 value = vload3(own + i, b);
            any_set_body(vload3(base + full * width + i, a), &value);
            vstore3(value, own + i, b);
        }
    }
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
    /* Each work-item folds a run of neighbours, so that operands stay in order; its parts side by side. */
    const int runs = min(size, count);
    const int active = clamp(runs - first, 0, (int)get_local_size(0));
    const long run = first + item;
    int i = (int)min(count * run / runs, (long)(count - 1));
    const int end = (int)min(count * (run + 1) / runs, (long)count);
    const int part = (end - i) / 8;
    double value = a[i];
    if (part > 1) {
        double value2 = a[i + part];
        double value3 = a[i + 2 * part];
        double value4 = a[i + 3 * part];
        double value5 = a[i + 4 * part];
        double value6 = a[i + 5 * part];
        double value7 = a[i + 6 * part];
        double value8 = a[i + 7 * part];
        for (int n = 1; n < part; ++n) {
            ++i;
            smallest_body(a[i], &value);
            smallest_body(a[i + part], &value2);
            smallest_body(a[i + 2 * part], &value3);
            smallest_body(a[i + 3 * part], &value4);
            smallest_body(a[i + 4 * part], &value5);
            smallest_body(a[i + 5 * part], &value6);
            smallest_body(a[i + 6 * part], &value7);
            smallest_body(a[i + 7 * part], &value8);
        }
        smallest_body(value2, &value);
        smallest_body(value3, &value);
        smallest_body(value4, &value);
        smallest_body(value5, &value);
        smallest_body(value6, &value);
        smallest_body(value7, &value);
        smallest_body(value8, &value);
        i += 7 * part;
    }
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

__kernel void smallest_reduce_columns(
    __global const double *restrict a,
    __global double *restrict b,
    const int4 domain,
    const int count)
{
    const int size = get_local_size(0), width = domain.x;
    /* Each group folds a stretch of rows for a segment of the columns. */
    const int rows = count / width + (count % width != 0);
    const int run = rows / domain.y + (rows % domain.y != 0);
    const int first = get_group_id(1) * run;
    const int full = min(first + run, count / width);
    const int start = get_group_id(0) * domain.w;
    const int end = min(start + domain.w, width);
    const int base = get_group_id(2) * count;
    const int own = (get_group_id(2) * domain.y + get_group_id(1)) * width;
    for (int i = start + get_local_id(0); i < end; i += size) {
        double value = a[base + first * width + i];
        b[own + i] = value;
    }
    int row = first + 1;
    for (; row + 8 <= full; row += 8) {
        for (int i = start + get_local_id(0); i < end; i += size) {
            const int at = base + row * width + i;
            double value = b[own + i];
            for (int k = 0; k < 8; ++k)
                smallest_body(a[at + k * width], &value);
            b[own + i] = value;
        }
    }
    for (; row < full; ++row) {
        for (int i = start + get_local_id(0); i < end; i += size) {
            double value = b[own + i];
            smallest_body(a[base + row * width + i], &value);
            b[own + i] = value;
        }
    }
    /* The last row may not be full. */
    if (first + run > full) {
        for (int i = start + get_local_id(0); i < min(end, count - full * width); i += size) {
            double value = b[own + i];
            smallest_body(a[base + full * width + i], &value);
            b[own + i] = value;
        }
    }
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
