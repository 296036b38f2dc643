__kernel void add(__global const float *a, __global const float *b, __global float *c)
{
    const int i = get_global_id(0);
    c[i] = a[i] + b[i];
}
