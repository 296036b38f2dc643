// Inclusive prefix sum by "reduce, then scan": the sum of every block, the prefix sums of these sums by one group, and
// then every block's own prefix sums from its start. A block is SPAN elements for each work-item of a group.
#define SPAN 16

__kernel void block_sums(__global const int *source, __global int *sums, __local int *shared)
{
    const int l = get_local_id(0), size = get_local_size(0);
    const size_t first = get_group_id(0) * size * SPAN;
    int own = 0;
    for (int i = 0; i < SPAN; ++i)
        own += source[first + i * size + l];
    shared[l] = own;
    for (int reach = size / 2; reach > 0; reach /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < reach)
            shared[l] += shared[l + reach];
    }
    if (l == 0)
        sums[get_group_id(0)] = shared[0];
}

// starts holds the inclusive prefix sums of the blocks' sums; a single block (the scan of the sums itself) has none.
__kernel void scan_blocks(__global const int *source, __global const int *starts, __global int *result,
                          __local int *shared)
{
    const int l = get_local_id(0), group = get_group_id(0);
    const size_t first = get_global_id(0) * SPAN;
    int own = 0;
    for (int i = 0; i < SPAN; ++i)
        own += source[first + i];
    shared[l] = own;
    for (int distance = 1; distance < get_local_size(0); distance *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int earlier = l >= distance ? shared[l - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[l] += earlier;
    }
    int running = shared[l] - own + (group > 0 ? starts[group - 1] : 0);
    for (int i = 0; i < SPAN; ++i) {
        running += source[first + i];
        result[first + i] = running;
    }
}
