// Discrete Fourier transforms of any length, by Stockham's passes and Bluestein's convolution. T is a complex number
// (float2, double2), R its part. Element t of sequence s is at place(s, t): sequences are `inner` apart inside one block
// of n * inner elements, so that any axis of an array is transformed where it is.

#pragma OPENCL FP_CONTRACT ON

T product(T x, T y) { return (T)(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); }

int place(int s, int t, int n, int inner) { return s / inner * (n * inner) + s % inner + t * inner; }

#ifdef STAGES
// For GPUs: a pass of a large RADIX, whose own stages go through local memory. A group of ITEMS transforms COLUMNS
// columns: a column is element j of the RADIX parts of sequence s. STAGES: STAGE(radix, product of the radices before).
#define ELEMENTS (RADIX * COLUMNS)
#define COLUMN (COLUMNS + (COLUMNS > 1)) // one more place, or one in 16, against conflicts of banks
#define PLACE(r, c) (COLUMNS > 1 ? (r) * COLUMN + (c) : (r) + (r) / 16)

T root(__global const T *roots, int at, int direction)
{
    T w = roots[at];
    w.y *= direction;
    return w;
}

T turned(T x, int direction) { return (T)(x.y * direction, -x.x * direction); }

void transform_4(T *a, T *b, T *c, T *d, int direction)
{
    const T even = *a + *c, odd = *b + *d, even_difference = *a - *c, odd_difference = turned(*b - *d, direction);
    *a = even + odd;
    *b = even_difference + odd_difference;
    *c = even - odd;
    *d = even_difference - odd_difference;
}

// x becomes its transform; one of the radices 2, 4, 8, or a prime.
void transform(T *x, const int radix, __global const T *roots, int n, int direction)
{
    if (radix == 2) {
        const T sum = x[0] + x[1];
        x[1] = x[0] - x[1];
        x[0] = sum;
    } else if (radix == 4)
        transform_4(x, x + 1, x + 2, x + 3, direction);
    else if (radix == 8) {
        const R s = (R)0.70710678118654752440;
        transform_4(x, x + 2, x + 4, x + 6, direction);
        transform_4(x + 1, x + 3, x + 5, x + 7, direction);
        const T one = product(x[3], (T)(s, -s * direction)), two = turned(x[5], direction);
        const T three = product(x[7], (T)(-s, -s * direction)), a = x[0], b = x[2], c = x[4], d = x[6], e = x[1];
        x[0] = a + e, x[1] = b + one, x[2] = c + two, x[3] = d + three;
        x[4] = a - e, x[5] = b - one, x[6] = c - two, x[7] = d - three;
    } else {
        T y[13];
#pragma unroll
        for (int r = 0; r < radix; ++r) {
            y[r] = x[0];
#pragma unroll
            for (int q = 1; q < radix; ++q)
                y[r] += product(x[q], root(roots, r * q % radix * (n / radix), direction));
        }
#pragma unroll
        for (int r = 0; r < radix; ++r)
            x[r] = y[r];
    }
}

#define STAGE(radix, before) { \
    T x[(ELEMENTS / radix + ITEMS - 1) / ITEMS][radix]; \
    _Pragma("unroll") for (int u = 0; u * ITEMS < ELEMENTS / radix; ++u) { \
        const int e = u * ITEMS + item, c = e % COLUMNS, b = e / COLUMNS, k = b % before; \
        if (e < ELEMENTS / radix) { \
            _Pragma("unroll") for (int r = 0; r < radix; ++r) { \
                x[u][r] = data[PLACE(b + r * (RADIX / radix), c)]; \
                if (before > 1 && r) \
                    x[u][r] = product(x[u][r], root(roots, k * r * (RADIX / (before * radix)) * part, direction)); \
            } \
            transform(x[u], radix, roots, n, direction); \
        } \
    } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    _Pragma("unroll") for (int u = 0; u * ITEMS < ELEMENTS / radix; ++u) { \
        const int e = u * ITEMS + item, c = e % COLUMNS, b = e / COLUMNS; \
        if (e < ELEMENTS / radix) \
            _Pragma("unroll") for (int r = 0; r < radix; ++r) \
                data[PLACE(b / before * before * radix + b % before + r * before, c)] = x[u][r]; \
    } \
    barrier(CLK_LOCAL_MEM_FENCE); \
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void pass(__global const T *in, __global T *out, __global const T *roots, int n, int inner, int sequences, int done,
          int direction, R scale)
{
    __local T data[COLUMNS > 1 ? RADIX * COLUMN : RADIX + RADIX / 16 + 1];
    const int item = get_local_id(0), part = n / RADIX, step = part / done, first = get_group_id(0) * COLUMNS;
    const int columns = part * sequences;
    // neighbours in memory are elements of a column where it is all of a sequence
    const int whole = part == 1 && inner == 1;
#pragma unroll
    for (int u = 0; u < (ELEMENTS + ITEMS - 1) / ITEMS; ++u) {
        const int e = u * ITEMS + item, c = whole ? e / RADIX : e % COLUMNS, r = whole ? e % RADIX : e / COLUMNS;
        const int column = first + c;
        if (e < ELEMENTS && column < columns) {
            const int j = inner == 1 ? column % part : column / sequences;
            const int s = inner == 1 ? column / part : column % sequences;
            T x = in[place(s, j + r * part, n, inner)];
            if (done > 1)
                x = product(x, root(roots, j % done * r * step, direction));
            data[PLACE(r, c)] = x;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    STAGES
    const int along = inner == 1 && done == 1; // results of a column are neighbours
#pragma unroll
    for (int u = 0; u < (ELEMENTS + ITEMS - 1) / ITEMS; ++u) {
        const int e = u * ITEMS + item, c = along ? e / RADIX : e % COLUMNS, r = along ? e % RADIX : e / COLUMNS;
        const int column = first + c;
        if (e < ELEMENTS && column < columns) {
            const int j = inner == 1 ? column % part : column / sequences;
            const int s = inner == 1 ? column / part : column % sequences;
            out[place(s, j / done * done * RADIX + j % done + r * done, n, inner)] = data[PLACE(r, c)] * scale;
        }
    }
}
#elif defined(RADIX)
// One pass: `done` is the product of the radices of the passes before. roots: exp(-2 pi i t / n); direction: 1 forward,
// -1 backward (conjugated roots). Items: (n / RADIX, sequences).
__kernel void pass(__global const T *in, __global T *out, __global const T *roots, int n, int inner, int sequences,
                   int done, int direction, R scale)
{
    const int j = get_global_id(0), s = get_global_id(1), part = n / RADIX;
    if (j >= part || s >= sequences)
        return;
    const int k = j % done, step = n / (done * RADIX);
    T x[RADIX];
    for (int r = 0; r < RADIX; ++r) {
        T w = roots[k * r * step];
        w.y *= direction;
        x[r] = product(in[place(s, j + r * part, n, inner)], w);
    }
    const int first = j / done * done * RADIX + k;
#if RADIX == 2
    const T sum = x[0] + x[1], difference = x[0] - x[1];
    out[place(s, first, n, inner)] = sum * scale;
    out[place(s, first + done, n, inner)] = difference * scale;
#elif RADIX == 4
    const T even = x[0] + x[2], even_difference = x[0] - x[2], odd = x[1] + x[3], odd_difference = x[1] - x[3];
    const T turned = (T)(odd_difference.y * direction, -odd_difference.x * direction);
    out[place(s, first, n, inner)] = (even + odd) * scale;
    out[place(s, first + done, n, inner)] = (even_difference + turned) * scale;
    out[place(s, first + 2 * done, n, inner)] = (even - odd) * scale;
    out[place(s, first + 3 * done, n, inner)] = (even_difference - turned) * scale;
#else
    for (int r = 0; r < RADIX; ++r) {
        T sum = x[0];
        for (int q = 1; q < RADIX; ++q) {
            T w = roots[r * q % RADIX * part];
            w.y *= direction;
            sum += product(x[q], w);
        }
        out[place(s, first + r * done, n, inner)] = sum * scale;
    }
#endif
}
#else

// in, cut or padded with zeros to n elements a sequence and multiplied with factors (of length n, or none if `plain`),
// becomes out, `length` a sequence. conjugate: bit 0 of `options` conjugates factors, bit 1 the products.
__kernel void weigh(__global const T *in, __global T *out, __global const T *factors, int n, int in_length, int length,
                    int in_inner, int inner, int sequences, int options, R scale)
{
    const int t = get_global_id(0), s = get_global_id(1);
    if (t >= length || s >= sequences)
        return;
    T value = (T)(0);
    if (t < n && t < in_length) {
        T factor = factors[options & 4 ? 0 : t];
        if (options & 1)
            factor.y = -factor.y;
        value = product(in[place(s, t, in_length, in_inner)], factor) * scale;
        if (options & 2)
            value.y = -value.y;
    }
    out[place(s, t, length, inner)] = value;
}

// Real numbers as complex ones, cut or padded to n.
__kernel void widen(__global const R *in, __global T *out, int in_length, int n, int inner, int sequences)
{
    const int t = get_global_id(0), s = get_global_id(1);
    if (t < n && s < sequences)
        out[place(s, t, n, inner)] = (T)(t < in_length ? in[place(s, t, in_length, inner)] : 0, 0);
}

// A Hermitian sequence from its first half.
__kernel void mirror(__global const T *in, __global T *out, int in_length, int n, int inner, int sequences)
{
    const int t = get_global_id(0), s = get_global_id(1);
    if (t >= n || s >= sequences)
        return;
    const int from = t <= n / 2 ? t : n - t;
    T value = from < in_length ? in[place(s, from, in_length, inner)] : (T)(0);
    if (t == 0 || 2 * t == n)
        value.y = 0;
    if (t > n / 2)
        value.y = -value.y;
    out[place(s, t, n, inner)] = value;
}

// The real parts.
__kernel void real_parts(__global const T *in, __global R *out, int size)
{
    const int i = get_global_id(0);
    if (i < size)
        out[i] = in[i].x;
}
#endif
