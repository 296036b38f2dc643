// C = A B for row-major float matrices, A n x k, B k x m, C n x m: the three versions of the ATI Stream Computing
// technical overview (section 1.1), and a fourth that keeps tiles in local memory.

// The CPU code: one work-item (global size 1) runs the three loops.
__kernel void matmult_loops(__global const float *a, __global const float *b, __global float *c, int n, int k, int m)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j) {
            float total = 0.0f;
            for (int l = 0; l < k; ++l)
                total += a[i * k + l] * b[l * m + j];
            c[i * m + j] = total;
        }
}

// The outer two loops are the domain: one work-item per element of C; global size (m, n).
__kernel void matmult(__global const float *a, __global const float *b, __global float *c, int n, int k, int m)
{
    const int j = get_global_id(0);
    const int i = get_global_id(1);
    if (i >= n || j >= m)
        return;
    float total = 0.0f;
    for (int l = 0; l < k; ++l)
        total += a[i * k + l] * b[l * m + j];
    c[i * m + j] = total;
}

// Four elements of C per work-item over B transposed; global size (m / 4, n); k and m are multiples of 4. (The
// overview's listing adds up the products of one row of B' only; four rows make the four elements of C.)
__kernel void matmult_float4(__global const float4 *a, __global const float4 *bt, __global float4 *c,
                             int n, int k, int m)
{
    const int j = get_global_id(0);
    const int i = get_global_id(1);
    if (i >= n || 4 * j >= m)
        return;
    const int k4 = k / 4;
    __global const float4 *row = a + i * k4;
    __global const float4 *column = bt + 4 * j * k4;
    float4 x = 0.0f, y = 0.0f, z = 0.0f, w = 0.0f;
    for (int l = 0; l < k4; ++l) {
        const float4 value = row[l];
        x += value * column[l];
        y += value * column[l + k4];
        z += value * column[l + 2 * k4];
        w += value * column[l + 3 * k4];
    }
    c[i * (m / 4) + j] = (float4)(dot(x, (float4)(1.0f)), dot(y, (float4)(1.0f)),
                                  dot(z, (float4)(1.0f)), dot(w, (float4)(1.0f)));
}

#define TILE 16

// One tile of C per work-group, tiles of A and B shared through local memory; global size (m, n), local size
// (16, 16); n, k and m are multiples of 16.
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmult_tiled(__global const float *a, __global const float *b, __global float *c, int n, int k, int m)
{
    __local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const int x = get_local_id(0), y = get_local_id(1);
    const int j = get_global_id(0), i = get_global_id(1);
    float total = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        tile_a[y][x] = a[i * k + start + x];
        tile_b[y][x] = b[(start + y) * m + j];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = 0; l < TILE; ++l)
            total += tile_a[y][l] * tile_b[l][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[i * m + j] = total;
}
