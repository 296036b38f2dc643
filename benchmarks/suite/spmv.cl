__kernel void spmv(__global const float *values, __global const int *columns, __global const int *starts,
                   __global const float *x, __global float *y)
{
    const int row = get_global_id(0);
    float total = 0.0f;
    for (int k = starts[row]; k < starts[row + 1]; ++k)
        total += values[k] * x[columns[k]];
    y[row] = total;
}
