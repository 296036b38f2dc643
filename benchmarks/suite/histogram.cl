__kernel void clear(__global uint *bins)
{
    bins[get_global_id(0)] = 0;
}

__kernel void histogram(__global const uchar *values, __global uint *bins, uint count)
{
    __local uint own[256];
    for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
        own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < count; i += get_global_size(0))
        atomic_inc(&own[values[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
        atomic_add(&bins[i], own[i]);
}
