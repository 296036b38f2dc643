#define TILE 16

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void transpose(__global const float *matrix, __global float *result, int width, int height)
{
    __local float tile[TILE][TILE + 1];
    const int x = get_local_id(0), y = get_local_id(1);
    tile[y][x] = matrix[get_global_id(1) * width + get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    const int row = get_group_id(0) * TILE + y;
    const int column = get_group_id(1) * TILE + x;
    result[row * height + column] = tile[x][y];
}
