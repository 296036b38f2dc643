// Every work-group folds a contiguous part of the values: work-items stride through it, a tree in local memory ends it.
__kernel void sum(__global const float *values, __global float *partial, int part, __local float *shared)
{
    const int l = get_local_id(0), size = get_local_size(0);
    __global const float *own_part = values + get_group_id(0) * part;
    float own = 0.0f;
    for (int i = l; i < part; i += size)
        own += own_part[i];
    shared[l] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = size / 2; reach > 0; reach /= 2) {
        if (l < reach)
            shared[l] += shared[l + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        partial[get_group_id(0)] = shared[0];
}
