__kernel void clear(__global uint *bins)
{
    bins[get_global_id(0)] = 0;
}

// Every work-group counts a contiguous part of the values in local memory and adds its counts to the bins.
__kernel void histogram(__global const uchar *values, __global uint *bins, int part)
{
    __local uint own[256];
    const int l = get_local_id(0), size = get_local_size(0);
    __global const uchar *own_part = values + get_group_id(0) * part;
    for (int i = l; i < 256; i += size)
        own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = l; i < part; i += size)
        atomic_inc(&own[own_part[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = l; i < 256; i += size)
        atomic_add(&bins[i], own[i]);
}

__kernel void histogram_global(__global const uchar *values, __global uint *bins)
{
    atomic_inc(&bins[values[get_global_id(0)]]);
}
