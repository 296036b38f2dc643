// C = A B for square float matrices of n x n: tiles of TILE x TILE in local memory, UNROLL products at a time.
// Global size (n, n), local size (TILE, TILE); n is a multiple of TILE, TILE of UNROLL.
#ifndef TILE
#define TILE 16
#endif
#ifndef UNROLL
#define UNROLL 4
#endif

__kernel void tiled(__global const float *a, __global const float *b, __global float *c, int n)
{
    __local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const int x = get_local_id(0), y = get_local_id(1);
    const int column = get_global_id(0), row = get_global_id(1);
    float total = 0.0f;
    for (int start = 0; start < n; start += TILE) {
        tile_a[y][x] = a[row * n + start + x];
        tile_b[y][x] = b[(start + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll UNROLL
        for (int k = 0; k < TILE; ++k)
            total += tile_a[y][k] * tile_b[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = total;
}
