// Sum of floats in two stages: every work-group strides through the data and folds its part in local memory, leaving
// one partial sum per group; a second launch with one group folds those.
//
// The local size is a power of two; shared holds one float per work-item.

__kernel void sum(__global const float *values, __global float *partial, int count, __local float *shared)
{
    const int l = get_local_id(0);
    float own = 0.0f;
    for (int i = get_global_id(0); i < count; i += get_global_size(0))
        own += values[i];
    shared[l] = own;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (l < half_size)
            shared[l] += shared[l + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        partial[get_group_id(0)] = shared[0];
}
