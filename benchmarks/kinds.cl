// One kernel for each of many things that kernels do, as one writes them without a thought for the device.

// Work-items that walk through memory of their own.
kernel void parts(global const float *a, global const float *b, global float *c, int n)
{
    const int first = get_global_id(0) * n;
    for (int i = 0; i < n; ++i)
        c[first + i] = a[first + i] * b[first + i] + 1.0f;
}

kernel void part_sums(global const int *a, global const int *b, global int *sums, int n)
{
    const int first = get_global_id(0) * n;
    int sum = 0;
    for (int i = 0; i < n; ++i)
        sum += a[first + i] * b[first + i];
    sums[get_global_id(0)] = sum;
}

kernel void row_sums(global const float *a, global float *sums, int n)
{
    const int row = get_global_id(0);
    float sum = 0.0f;
    for (int i = 0; i < n; ++i)
        sum += a[row * n + i];
    sums[row] = sum;
}

kernel void row_maxima(global const float *a, global float *maxima, int n)
{
    const int row = get_global_id(0);
    float most = -INFINITY;
    for (int i = 0; i < n; ++i)
        most = fmax(most, a[row * n + i]);
    maxima[row] = most;
}

kernel void unit_rows(global const float *a, global float *unit, int n)
{
    const int row = get_global_id(0);
    float squares = 1e-20f;
    for (int i = 0; i < n; ++i)
        squares += a[row * n + i] * a[row * n + i];
    const float scale = 1.0f / sqrt(squares);
    for (int i = 0; i < n; ++i)
        unit[row * n + i] = a[row * n + i] * scale;
}

kernel void slide_rows(global const float *a, global float *means, int n)
{
    const int row = get_global_id(0);
    float sum = 0.0f;
    for (int i = 0; i < 8; ++i)
        sum += a[row * n + i];
    for (int i = 0; i < n - 8; ++i) {
        means[row * n + i] = sum / 8;
        sum += a[row * n + i + 8] - a[row * n + i];
    }
}

kernel void product_rows(global const float4 *a, global const float4 *b, global float *c, int n)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float4 sum = 0.0f;
    for (int k = 0; k < n / 4; ++k)
        sum += a[y * (n / 4) + k] * b[x * (n / 4) + k];
    c[y * n + x] = sum.x + sum.y + sum.z + sum.w;
}

kernel void insertion_sort(global const int *a, global int *sorted)
{
    const int first = get_global_id(0) * 16;
    int own[16];
    for (int i = 0; i < 16; ++i)
        own[i] = a[first + i];
    for (int i = 1; i < 16; ++i) {
        const int value = own[i];
        int at = i - 1;
        for (; at >= 0 && own[at] > value; --at)
            own[at + 1] = own[at];
        own[at + 1] = value;
    }
    for (int i = 0; i < 16; ++i)
        sorted[first + i] = own[i];
}

// Work-items beside each other in memory.
kernel void column_sums(global const float *a, global float *sums, int n)
{
    const int column = get_global_id(0);
    float sum = 0.0f;
    for (int i = 0; i < n; ++i)
        sum += a[i * n + column];
    sums[column] = sum;
}

kernel void nearest(global const float *points, global const float *centres, global int *which, int n)
{
    const int i = get_global_id(0);
    float least = INFINITY;
    int found = 0;
    for (int c = 0; c < 8; ++c) {
        float distance = 0.0f;
        for (int d = 0; d < 24; ++d) {
            const float apart = points[d * n + i] - centres[c * 24 + d];
            distance += apart * apart;
        }
        if (distance < least) {
            least = distance;
            found = c;
        }
    }
    which[i] = found;
}

kernel void polynomial(global const float *x, global const float *factors, global float *y, int n)
{
    const int i = get_global_id(0);
    float value = 0.0f;
    for (int k = n - 1; k >= 0; --k)
        value = value * x[i] + factors[k];
    y[i] = value;
}

kernel void blocks(global const float *a, global const float *weights, global float *b, int n)
{
    const int x = get_global_id(0), y = get_global_id(1);
    global const float *block = a + (y & ~7) * n + (x & ~7);
    float total = 0.0f;
    for (int j = 0; j < 8; ++j) {
        float line = 0.0f;
        for (int i = 0; i < 8; ++i)
            line += block[j * n + i] * weights[(x & 7) * 8 + i];
        total += weights[(y & 7) * 8 + j] * line;
    }
    b[y * n + x] = total;
}

kernel void life(global const uchar *now, global uchar *next, int n)
{
    const int x = get_global_id(0), y = get_global_id(1);
    int count = 0;
    for (int j = n - 1; j <= n + 1; ++j)
        for (int i = n - 1; i <= n + 1; ++i)
            count += now[(y + j) % n * n + (x + i) % n];
    const uchar alive = now[y * n + x];
    next[y * n + x] = count == 3 || (alive && count == 4);
}

// Bytes, tables and places that others tell.
kernel void grey4(global const uchar4 *rgba, global uchar *grey)
{
    const uchar4 p = rgba[get_global_id(0)];
    grey[get_global_id(0)] = (77 * p.x + 151 * p.y + 28 * p.z) >> 8;
}

kernel void grey3(global const uchar *rgb, global uchar *grey)
{
    const int i = get_global_id(0);
    grey[i] = (77 * rgb[3 * i] + 151 * rgb[3 * i + 1] + 28 * rgb[3 * i + 2]) >> 8;
}

kernel void gamma_curve(global const uchar4 *rgba, global uchar4 *out, float gamma)
{
    const float4 value = convert_float4(rgba[get_global_id(0)]) / 255.0f;
    out[get_global_id(0)] = convert_uchar4_sat_rte(powr(value, (float4)gamma) * 255.0f);
}

kernel void substitute(global const uint *a, global const uchar *table, global uint *b)
{
    uint word = a[get_global_id(0)];
    for (int round = 0; round < 10; ++round) {
        word = (uint)table[word & 255] | (uint)table[word >> 8 & 255] << 8 | (uint)table[word >> 16 & 255] << 16
             | (uint)table[word >> 24] << 24;
        word = word * 5 + round;
    }
    b[get_global_id(0)] = word;
}

kernel void pairs(global const float4 *places, global const int *others, global float4 *forces, int n)
{
    const int i = get_global_id(0);
    const float4 own = places[i];
    float4 force = 0.0f;
    for (int k = 0; k < n; ++k) {
        const float4 apart = places[others[k * get_global_size(0) + i]] - own;
        const float near = 1.0f / (apart.x * apart.x + apart.y * apart.y + apart.z * apart.z + 0.01f);
        force += apart * (near * near * (near - 0.5f));
    }
    forces[i] = force;
}

kernel void fields(global const float *records, global float *energy)
{
    global const float *record = records + 7 * get_global_id(0);
    energy[get_global_id(0)] = record[6] * (record[0] * record[0] + record[1] * record[1] + record[2] * record[2]);
}

kernel void find_word(global const uchar *text, global int *found)
{
    const uchar word[6] = {'s', 't', 'r', 'e', 'a', 'm'};
    const int i = get_global_id(0);
    int same = 0;
    while (same < 6 && text[i + same] == word[same])
        ++same;
    found[i] = same == 6;
}

// Arithmetic.
kernel void functions(global const float *x, global float *y)
{
    const int i = get_global_id(0);
    y[i] = pow(x[i], 1.3f) + atan2(x[i], 2.0f) + tanh(x[i]);
}

kernel void functions_double(global const double *x, global double *y)
{
    const int i = get_global_id(0);
    y[i] = exp(-x[i]) * sin(x[i]) + log(x[i] + 1.0);
}

kernel void escape_double(global int *trips, int n)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const double re = 3.0 * x / n - 2.0, im = 2.0 * y / n - 1.0;
    double a = 0.0, b = 0.0;
    int trip = 0;
    for (; trip < 100 && a * a + b * b < 4.0; ++trip) {
        const double next = a * a - b * b + re;
        b = 2.0 * a * b + im;
        a = next;
    }
    trips[y * n + x] = trip;
}

kernel void mixed(global const ulong *a, global ulong *b)
{
    ulong word = a[get_global_id(0)];
    for (int round = 0; round < 8; ++round) {
        word ^= word >> 31;
        word *= 0x9e3779b97f4a7c15UL;
    }
    b[get_global_id(0)] = word;
}

kernel void darts(global uint *hits)
{
    uint state = get_global_id(0) * 1664525u + 1013904223u, count = 0;
    for (int i = 0; i < 64; ++i) {
        state = state * 1664525u + 1013904223u;
        const float x = (state >> 8) * 0x1p-24f;
        state = state * 1664525u + 1013904223u;
        const float y = (state >> 8) * 0x1p-24f;
        count += x * x + y * y < 1.0f;
    }
    hits[get_global_id(0)] = count;
}

kernel void collatz(global int *steps)
{
    uint n = get_global_id(0) + 1;
    int count = 0;
    for (; n != 1; ++count)
        n = n & 1 ? 3 * n + 1 : n / 2;
    steps[get_global_id(0)] = count;
}

// Work-groups.
kernel void tree(global const float *a, global float *sums, local float *part)
{
    const int i = get_local_id(0);
    part[i] = a[get_global_id(0)];
    for (int reach = get_local_size(0) / 2; reach > 0; reach /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < reach)
            part[i] += part[i + reach];
    }
    if (i == 0)
        sums[get_group_id(0)] = part[0];
}

kernel void relax(global const float *ends, global float *middle, local float *one, local float *other)
{
    const int i = get_local_id(0), n = get_local_size(0);
    one[i] = ends[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 0; step < 32; ++step) {
        other[i] = (one[max(i - 1, 0)] + one[min(i + 1, n - 1)]) * 0.5f;
        barrier(CLK_LOCAL_MEM_FENCE);
        local float *swap = one;
        one = other;
        other = swap;
    }
    middle[get_global_id(0)] = one[i];
}

// Work-items that meet in one place.
kernel void keep(global const int *a, global int *kept, global int *count)
{
    const int i = get_global_id(0);
    if (a[i])
        kept[atomic_inc(count) & (get_global_size(0) - 1)] = a[i];
}

kernel void add_up(global const int *a, global int *sum)
{
    atomic_add(sum, a[get_global_id(0)]);
}

kernel void keep_by_group(global const int *a, global int *kept, global int *counts)
{
    local int count;
    if (get_local_id(0) == 0)
        count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int value = a[get_global_id(0)];
    if (value)
        kept[get_group_id(0) * get_local_size(0) + atomic_inc(&count)] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        counts[get_group_id(0)] = count;
}

kernel void count_bytes(global const uchar *a, global int *bins)
{
    atomic_inc(&bins[a[get_global_id(0)]]);
}

kernel void edge_ends(global const int2 *edges, global int *degrees)
{
    const int2 edge = edges[get_global_id(0)];
    atomic_inc(&degrees[edge.x]);
    atomic_inc(&degrees[edge.y]);
}

// Tables in local memory, gone through by the launch's size.

kernel void local_bytes(global const uchar *a, global int *bins, int n)
{
    local int own[256];
    for (int i = get_local_id(0); i < 256; i += get_local_size(0))
        own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&own[a[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(0); i < 256; i += get_local_size(0))
        atomic_add(&bins[i], own[i]);
}

kernel void local_words(global const uint *a, global int *bins, uint n)
{
    local int own[256];
    for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
        own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_add(&own[a[i] >> 24], a[i] & 3);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
        atomic_add(&bins[i], own[i]);
}

kernel void local_channels(global const uchar *rgb, global int *bins, uint n)
{
    local int own[768];
    for (uint i = get_local_id(0); i < 768; i += get_local_size(0))
        own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        atomic_inc(&own[rgb[3 * i]]);
        atomic_inc(&own[256 + rgb[3 * i + 1]]);
        atomic_inc(&own[512 + rgb[3 * i + 2]]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_local_id(0); i < 768; i += get_local_size(0))
        atomic_add(&bins[i], own[i]);
}

// A group for each row, whose work-items stride along it.
kernel void row_products(global const float *a, global const float *b, global float *c, int n, local float *part)
{
    const int l = get_local_id(0);
    float sum = 0;
    for (int i = l; i < n; i += get_local_size(0))
        sum += a[get_group_id(0) * n + i] * b[i];
    part[l] = sum;
    for (int step = get_local_size(0) / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step)
            part[l] += part[l + step];
    }
    if (l == 0)
        c[get_group_id(0)] = part[0];
}

// Groups as GPUs like them, of a kernel that does not look at them.
kernel void shorter_ways(global int *ways, int n, int k)
{
    const int i = get_global_id(1), j = get_global_id(0), way = ways[i * n + k] + ways[k * n + j];
    if (way < ways[i * n + j])
        ways[i * n + j] = way;
}
