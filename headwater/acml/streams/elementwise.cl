// One function of every element. T: the elements' type; FUNCTION(x), or FUNCTION(x, y) with PAIRS; COMPLEX: T is a pair.
// Steps are 0 for numbers, 1 for streams.

#pragma OPENCL FP_CONTRACT OFF

#define ADD(x, y) ((x) + (y))
#define SUBTRACT(x, y) ((x) - (y))
#define DIVIDE(x, y) ((x) / (y))
#define NEGATE(x) (-(x))
#ifdef COMPLEX
T MULTIPLY(T p, T q) { return (T)(p.x * q.x - p.y * q.y, p.x * q.y + p.y * q.x); }
T CONJUGATE(T p) { return (T)(p.x, -p.y); }
#else
#define MULTIPLY(x, y) ((x) * (y))
#endif

#ifdef PAIRS
__kernel void apply(__global const T *x, int x_step, __global const T *y, int y_step, __global T *out, int n)
{
    const int i = get_global_id(0);
    if (i < n)
        out[i] = FUNCTION(x[i * x_step], y[i * y_step]);
}
#else
__kernel void apply(__global const T *x, __global T *out, int n)
{
    const int i = get_global_id(0);
    if (i < n)
        out[i] = FUNCTION(x[i]);
}
#endif
