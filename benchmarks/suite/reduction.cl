__kernel void sum(__global const float *values, __global float *partial, int count, __local float *shared)
{
    const int l = get_local_id(0);
    float own = 0.0f;
    for (int i = get_global_id(0); i < count; i += get_global_size(0))
        own += values[i];
    shared[l] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = get_local_size(0) / 2; reach > 0; reach /= 2) {
        if (l < reach)
            shared[l] += shared[l + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        partial[get_group_id(0)] = shared[0];
}
