// Discrete Fourier transforms of any length, by Stockham's passes and Bluestein's convolution. T is a complex number
// (float2, double2), R its part. Element t of sequence s is at place(s, t): sequences are `inner` apart inside one block
// of n * inner elements, so that any axis of an array is transformed where it is.

#pragma OPENCL FP_CONTRACT ON

T product(T x, T y) { return (T)(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); }

int place(int s, int t, int n, int inner) { return s / inner * (n * inner) + s % inner + t * inner; }

#ifdef RADIX
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
