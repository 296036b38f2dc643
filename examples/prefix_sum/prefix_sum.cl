// Inclusive prefix sum of ints in three launches: sums within blocks, prefix sums of the blocks' totals, and the
// addition of each block's start. A block is one work-group; its size is a power of two.

// Global size: the length rounded up to whole blocks. shared holds one int per work-item.
__kernel void scan_blocks(__global const int *source, __global int *result, __global int *totals, int count,
                          __local int *shared)
{
    const int i = get_global_id(0);
    const int l = get_local_id(0);
    const int size = get_local_size(0);

    shared[l] = i < count ? source[i] : 0;
    for (int distance = 1; distance < size; distance *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int earlier = l >= distance ? shared[l - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[l] += earlier;
    }
    if (i < count)
        result[i] = shared[l];
    if (l == size - 1)
        totals[get_group_id(0)] = shared[l];
}

// Adds to every block the total of the blocks before it; starts holds the inclusive prefix sums of the totals.
__kernel void add_starts(__global int *result, __global const int *starts, int count)
{
    const int i = get_global_id(0);
    const int block = get_group_id(0);
    if (block > 0 && i < count)
        result[i] += starts[block - 1];
}
