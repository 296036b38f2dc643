// Inclusive prefix sum in one pass over memory, after Yan, Long and Zhang, "StreamScan: Fast Scan Algorithms for GPUs
// without Global Barrier Synchronization" (PPoPP 2013). A work-group sums its block, waits until the block before says
// where it ends, says where its own ends, and writes its prefix sums while the block is still in the cache. Blocks are
// numbered in the order in which they are begun, so that the one before is always under way or done.
#define SPAN 32  // vectors of 16 elements, one after the other, that a work-item has

__kernel void begin(__global int *chain)
{
    chain[get_global_id(0)] = 0;
}

int total(int16 v)
{
    const int8 eight = v.lo + v.hi;
    const int4 four = eight.lo + eight.hi;
    return four.x + four.y + four.z + four.w;
}

int16 prefix_sums(int16 v)
{
    v += (int16)(0, v.s0123, v.s456789ab, v.scde);
    v += (int16)(0, 0, v.s0123, v.s456789ab, v.scd);
    v += (int16)(0, 0, 0, 0, v.s01234567, v.s89ab);
    return v + (int16)((int8)0, v.lo);
}

// chain: the number of blocks that have been begun, and then for every block whether ends has its last prefix sum.
__kernel void scan(__global const int *source, __global int *result, volatile __global int *chain,
                   volatile __global int *ends, __local int *shared)
{
    __local int number, start;
    const int l = get_local_id(0), size = get_local_size(0);
    if (l == 0)
        number = atomic_inc(&chain[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int block = number;
    const size_t first = ((size_t)block * size + l) * SPAN * 16;

    int16 sums = 0;
    for (int i = 0; i < SPAN; ++i)
        sums += vload16(i, source + first);
    const int own = total(sums);
    shared[l] = own;
    for (int distance = 1; distance < size; distance *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int earlier = l >= distance ? shared[l - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[l] += earlier;
    }

    if (l == size - 1) {
        start = 0;
        if (block > 0) {
            while (atomic_or(&chain[block], 0) == 0)
                ;
            start = atomic_or(&ends[block - 1], 0);
        }
        atomic_xchg(&ends[block], start + shared[l]);
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        atomic_xchg(&chain[block + 1], 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    int running = start + shared[l] - own;
    for (int i = 0; i < SPAN; ++i) {
        const int16 sum = prefix_sums(vload16(i, source + first)) + running;
        vstore16(sum, i, result + first);
        running = sum.sf;
    }
}
