// Inclusive prefix sum: every work-group scans a block of SPAN elements per work-item, then the blocks' totals are
// scanned by one group, and added. CHUNK = work-group size x SPAN elements make a block.
#define SPAN 16

int scan_group(int own, __local int *shared)
{
    const int l = get_local_id(0);
    shared[l] = own;
    for (int distance = 1; distance < get_local_size(0); distance *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int earlier = l >= distance ? shared[l - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[l] += earlier;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return l > 0 ? shared[l - 1] : 0;  // the sum of the work-items before this one
}

__kernel void scan_blocks(__global const int *source, __global int *result, __global int *totals, __local int *shared)
{
    const size_t first = get_global_id(0) * SPAN;
    int own = 0;
    for (int i = 0; i < SPAN; ++i)
        own += source[first + i];
    int running = scan_group(own, shared);
    for (int i = 0; i < SPAN; ++i) {
        running += source[first + i];
        result[first + i] = running;
    }
    if (get_local_id(0) == get_local_size(0) - 1)
        totals[get_group_id(0)] = running;
}

__kernel void add_starts(__global int *result, __global const int *starts)
{
    const int i = get_global_id(0);
    const int block = get_group_id(0);
    if (block > 0)
        for (int k = 0; k < SPAN; ++k)
            result[block * get_local_size(0) * SPAN + k * get_local_size(0) + get_local_id(0)] += starts[block - 1];
}
