// A matrix product for chips of GCN: C = A B, C m x n without gaps by rows, A given transposed (k x m by rows), for
// sizes that are multiples of what a work-group makes. `tuned.toml` says the sizes that a chip takes.
// There are two kernels: with A in scalar registers (WAVES is defined), and with tiles in local memory.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#ifdef WAVES
// Without local memory: the RM rows of a wavefront's work-items are the same, so A goes through scalar registers, of which
// an FMA takes one without a move. An item's RN columns lie beside those of the next; WAVES wavefronts of a group, one
// below the other, find B in the first cache. k is a multiple of UNROLL.
typedef JOIN(T, RN) W;

__kernel __attribute__((reqd_work_group_size(64, WAVES, 1)))
void product(__global const T *restrict a, __global const T *restrict b, __global T *restrict c, int m, int n, int k)
{
    const int wave = __builtin_amdgcn_readfirstlane(get_local_id(1)); // which the compiler does not know to be uniform
    const int row = (get_group_id(1) * WAVES + wave) * RM, column = (get_group_id(0) * 64 + get_local_id(0)) * RN;
    __global const T *left = a + row, *right = b + column;
    W sums[RM];
#pragma unroll
    for (int i = 0; i < RM; ++i)
        sums[i] = (W)(0);
    for (int l = 0; l < k; l += UNROLL) {
        W other[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            other[u] = JOIN(vload, RN)(0, right + u * n);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int i = 0; i < RM; ++i)
                sums[i] = fma((W)(left[u * m + i]), other[u], sums[i]);
        left += UNROLL * m;
        right += UNROLL * n;
    }
#pragma unroll
    for (int i = 0; i < RM; ++i)
        JOIN(vstore, RN)(sums[i], 0, c + (row + i) * n + column);
}
#else
// Tiles of DEPTH x (GROUP * RM) and DEPTH x (GROUP * RN), read as vectors of WIDTH by each of
// GROUP x GROUP work-items, which makes RM x RN elements: rows in runs of WIDTH that are GROUP * WIDTH apart.
// All addresses are multiples of a vector's size, so that loads are as wide as it.
typedef JOIN(T, WIDTH) V;
#define TILE_M (GROUP * RM)
#define TILE_N (GROUP * RN)

__kernel __attribute__((reqd_work_group_size(GROUP, GROUP, 1)))
void product(__global const T *a, __global const T *b, __global T *c, int m, int n, int k)
{
    __local V tile_a[DEPTH * TILE_M / WIDTH], tile_b[DEPTH * TILE_N / WIDTH];
    const int x = get_local_id(0), y = get_local_id(1), item = y * GROUP + x;
    const int row = get_group_id(1) * TILE_M, column = get_group_id(0) * TILE_N;
    T sums[RM][RN];
#pragma unroll
    for (int i = 0; i < RM; ++i)
#pragma unroll
        for (int j = 0; j < RN; ++j)
            sums[i][j] = 0;
    for (int start = 0; start < k; start += DEPTH) {
#pragma unroll
        for (int e = 0; e < DEPTH * TILE_M / WIDTH / GROUP / GROUP; ++e) {
            const int at = (e * GROUP * GROUP + item) * WIDTH;
            tile_a[at / WIDTH] = *(__global const V *)(a + (start + at / TILE_M) * m + row + at % TILE_M);
        }
#pragma unroll
        for (int e = 0; e < DEPTH * TILE_N / WIDTH / GROUP / GROUP; ++e) {
            const int at = (e * GROUP * GROUP + item) * WIDTH;
            tile_b[at / WIDTH] = *(__global const V *)(b + (start + at / TILE_N) * n + column + at % TILE_N);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll UNROLL
        for (int l = 0; l < DEPTH; ++l) {
            T left[RM], right[RN];
#pragma unroll
            for (int i = 0; i < RM / WIDTH; ++i)
                *(V *)(left + i * WIDTH) = tile_a[l * TILE_M / WIDTH + i * GROUP + y];
#pragma unroll
            for (int j = 0; j < RN / WIDTH; ++j)
                *(V *)(right + j * WIDTH) = tile_b[l * TILE_N / WIDTH + j * GROUP + x];
#pragma unroll
            for (int i = 0; i < RM; ++i)
#pragma unroll
                for (int j = 0; j < RN; ++j)
                    sums[i][j] = mad(left[i], right[j], sums[i][j]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < RM; ++i) {
        __global T *at = c + (row + (i / WIDTH * GROUP + y) * WIDTH + i % WIDTH) * n + column;
#pragma unroll
        for (int j = 0; j < RN / WIDTH; ++j)
            *(__global V *)(at + (j * GROUP + x) * WIDTH) = *(V *)(sums[i] + j * WIDTH);
    }
}
#endif
