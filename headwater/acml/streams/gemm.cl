// C = alpha op(A) op(B) + beta C for any shape: element (i, l) of op(A) is a[a_at + i * a_row + l * a_column], and so on,
// so that transposes and both orders of memory are the same kernel. T: float, double, float2 or double2 (complex).
// A work-item makes RM x RN elements of C, a work-group (GROUP x GROUP) RM * GROUP x RN * GROUP.

#pragma OPENCL FP_CONTRACT ON

#ifdef COMPLEX
#define ZERO ((T)(0))
#define MULTIPLY_ADD(sum, p, q) \
    sum.x = mad((p).x, (q).x, mad(-(p).y, (q).y, sum.x)); \
    sum.y = mad((p).x, (q).y, mad((p).y, (q).x, sum.y))
#define IS_ZERO(p) ((p).x == 0 && (p).y == 0)
T product(T x, T y) { return (T)(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); }
T conjugate(T x) { return (T)(x.x, -x.y); }
#else
#define ZERO ((T)0)
#define MULTIPLY_ADD(sum, p, q) sum = mad(p, q, sum)
#define IS_ZERO(p) ((p) == 0)
T product(T x, T y) { return x * y; }
T conjugate(T x) { return x; }
#endif
#ifdef CONJUGATE_A
#define OF_A(x) conjugate(x)
#else
#define OF_A(x) (x)
#endif
#ifdef CONJUGATE_B
#define OF_B(x) conjugate(x)
#else
#define OF_B(x) (x)
#endif

void put(__global T *c, T sum, T alpha, T beta)
{
    const T value = product(alpha, sum);
    *c = IS_ZERO(beta) ? value : value + product(beta, *c);
}

#ifdef BUFFERED
// For GPUs: the next tiles are on their way from memory, into registers, while those in local memory are multiplied.
// Of A, neighbours in memory are along k (A_ALONG_K) or along the rows; of B, along the columns or along k (B_ALONG_K).
// ALIGNED: all three matrices can be read and written by vectors V of 16 bytes, WIDTH elements. An item makes rows and
// columns in runs of WIDTH that are GROUP * WIDTH apart, so that a wavefront's reads from local memory have no conflicts.
#define ITEMS (GROUP * GROUP)
#define TILE_M (RM * GROUP)
#define TILE_N (RN * GROUP)
#define PAD (16 / (int)sizeof(T))
#define VECTORS_A (DEPTH * TILE_M / WIDTH / ITEMS)
#define VECTORS_B (DEPTH * TILE_N / WIDTH / ITEMS)
typedef struct { T part[WIDTH] __attribute__((aligned(16))); } Vector; // no union: PoCL 3.0 loses those in loops
#define WHOLE(v) (*(V *)(v).part)

// WIDTH neighbours at p, of which those from `count` on are beyond the matrix.
Vector load(__global const T *p, int count)
{
    Vector v;
#ifdef ALIGNED
    if (count >= WIDTH) {
        WHOLE(v) = *(__global const V *)p;
        return v;
    }
#endif
#pragma unroll
    for (int q = 0; q < WIDTH; ++q)
        v.part[q] = q < count ? p[q] : ZERO;
    return v;
}

__kernel __attribute__((reqd_work_group_size(GROUP, GROUP, 1)))
void gemm(int m, int n, int k, T alpha, __global const T *a, int a_at, int a_row, int a_column, __global const T *b,
          int b_at, int b_row, int b_column, T beta, __global T *c, int c_at, int c_row, int c_column)
{
    __local T tile_a[2][DEPTH][TILE_M + PAD] __attribute__((aligned(16)));
    __local T tile_b[2][DEPTH][TILE_N + PAD] __attribute__((aligned(16)));
    const int x = get_local_id(0), y = get_local_id(1), item = y * GROUP + x;
    const int row = get_group_id(1) * TILE_M, column = get_group_id(0) * TILE_N;
    Vector next_a[VECTORS_A], next_b[VECTORS_B];
    T sums[RM][RN];
#pragma unroll
    for (int i = 0; i < RM; ++i)
#pragma unroll
        for (int j = 0; j < RN; ++j)
            sums[i][j] = ZERO;
    int at = 0;
    for (int start = -DEPTH; start < k; start += DEPTH) {
        const int ahead = start + DEPTH;
        if (ahead < k) {
#pragma unroll
            for (int v = 0; v < VECTORS_A; ++v) {
                const int e = v * ITEMS + item;
#ifdef A_ALONG_K
                const int l = e % (DEPTH / WIDTH) * WIDTH, i = e / (DEPTH / WIDTH);
                next_a[v] = load(a + a_at + (row + i) * a_row + ahead + l, row + i < m ? k - ahead - l : 0);
#else
                const int i = e % (TILE_M / WIDTH) * WIDTH, l = e / (TILE_M / WIDTH);
                next_a[v] = load(a + a_at + row + i + (ahead + l) * a_column, ahead + l < k ? m - row - i : 0);
#endif
            }
#pragma unroll
            for (int v = 0; v < VECTORS_B; ++v) {
                const int e = v * ITEMS + item;
#ifdef B_ALONG_K
                const int l = e % (DEPTH / WIDTH) * WIDTH, j = e / (DEPTH / WIDTH);
                next_b[v] = load(b + b_at + (column + j) * b_column + ahead + l, column + j < n ? k - ahead - l : 0);
#else
                const int j = e % (TILE_N / WIDTH) * WIDTH, l = e / (TILE_N / WIDTH);
                next_b[v] = load(b + b_at + column + j + (ahead + l) * b_row, ahead + l < k ? n - column - j : 0);
#endif
            }
        }
        if (start >= 0) {
#pragma unroll
            for (int l = 0; l < DEPTH; ++l) {
                Vector left[RM / WIDTH], right[RN / WIDTH];
#pragma unroll
                for (int i = 0; i < RM / WIDTH; ++i)
                    WHOLE(left[i]) = *(__local const V *)&tile_a[at][l][(i * GROUP + y) * WIDTH];
#pragma unroll
                for (int j = 0; j < RN / WIDTH; ++j)
                    WHOLE(right[j]) = *(__local const V *)&tile_b[at][l][(j * GROUP + x) * WIDTH];
#pragma unroll
                for (int i = 0; i < RM; ++i)
#pragma unroll
                    for (int j = 0; j < RN; ++j) {
                        MULTIPLY_ADD(sums[i][j], left[i / WIDTH].part[i % WIDTH], right[j / WIDTH].part[j % WIDTH]);
                    }
            }
            at ^= 1;
        }
        if (ahead < k) {
#pragma unroll
            for (int v = 0; v < VECTORS_A; ++v)
#pragma unroll
                for (int q = 0; q < WIDTH; ++q) {
                    const int e = v * ITEMS + item;
#ifdef A_ALONG_K
                    tile_a[at][e % (DEPTH / WIDTH) * WIDTH + q][e / (DEPTH / WIDTH)] = OF_A(next_a[v].part[q]);
#else
                    tile_a[at][e / (TILE_M / WIDTH)][e % (TILE_M / WIDTH) * WIDTH + q] = OF_A(next_a[v].part[q]);
#endif
                }
#pragma unroll
            for (int v = 0; v < VECTORS_B; ++v)
#pragma unroll
                for (int q = 0; q < WIDTH; ++q) {
                    const int e = v * ITEMS + item;
#ifdef B_ALONG_K
                    tile_b[at][e % (DEPTH / WIDTH) * WIDTH + q][e / (DEPTH / WIDTH)] = OF_B(next_b[v].part[q]);
#else
                    tile_b[at][e / (TILE_N / WIDTH)][e % (TILE_N / WIDTH) * WIDTH + q] = OF_B(next_b[v].part[q]);
#endif
                }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < RM; ++i)
#pragma unroll
        for (int j = 0; j < RN; j += WIDTH) {
            const int at_row = row + (i / WIDTH * GROUP + y) * WIDTH + i % WIDTH;
            const int at_column = column + (j / WIDTH * GROUP + x) * WIDTH;
            __global T *to = c + c_at + at_row * c_row + at_column * c_column;
            int count = at_row < m ? n - at_column : 0;
#ifdef ALIGNED
            if (IS_ZERO(beta) && count >= WIDTH) {
                Vector v;
#pragma unroll
                for (int q = 0; q < WIDTH; ++q)
                    v.part[q] = product(alpha, sums[i][j + q]);
                *(__global V *)to = WHOLE(v);
                count = 0;
            }
#endif
#pragma unroll
            for (int q = 0; q < WIDTH; ++q)
                if (q < count)
                    put(to + q * c_column, sums[i][j + q], alpha, beta);
        }
}
#elif defined(DEPTH)
// Through local memory, DEPTH of the inner dimension at a time.
__kernel __attribute__((reqd_work_group_size(GROUP, GROUP, 1)))
void gemm(int m, int n, int k, T alpha, __global const T *a, int a_at, int a_row, int a_column, __global const T *b,
          int b_at, int b_row, int b_column, T beta, __global T *c, int c_at, int c_row, int c_column)
{
    __local T tile_a[DEPTH][RM * GROUP + 1], tile_b[DEPTH][RN * GROUP + 1];
    const int x = get_local_id(0), y = get_local_id(1), item = y * GROUP + x;
    const int row = get_group_id(1) * (RM * GROUP), column = get_group_id(0) * (RN * GROUP);
    T sums[RM][RN];
    for (int i = 0; i < RM; ++i)
        for (int j = 0; j < RN; ++j)
            sums[i][j] = ZERO;
    for (int start = 0; start < k; start += DEPTH) {
        for (int e = item; e < DEPTH * RM * GROUP; e += GROUP * GROUP) {
            const int i = e % (RM * GROUP), l = e / (RM * GROUP);
            tile_a[l][i] = row + i < m && start + l < k
                ? OF_A(a[a_at + (row + i) * a_row + (start + l) * a_column]) : ZERO;
        }
        for (int e = item; e < DEPTH * RN * GROUP; e += GROUP * GROUP) {
            const int j = e % (RN * GROUP), l = e / (RN * GROUP);
            tile_b[l][j] = column + j < n && start + l < k
                ? OF_B(b[b_at + (start + l) * b_row + (column + j) * b_column]) : ZERO;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = 0; l < DEPTH; ++l) {
            T one[RN];
            for (int j = 0; j < RN; ++j)
                one[j] = tile_b[l][j * GROUP + x];
            for (int i = 0; i < RM; ++i) {
                const T other = tile_a[l][i * GROUP + y];
                for (int j = 0; j < RN; ++j) {
                    MULTIPLY_ADD(sums[i][j], other, one[j]);
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < RM; ++i)
        for (int j = 0; j < RN; ++j) {
            const int at_row = row + i * GROUP + y, at_column = column + j * GROUP + x;
            if (at_row < m && at_column < n)
                put(c + c_at + at_row * c_row + at_column * c_column, sums[i][j], alpha, beta);
        }
}
#else
// Straight from memory, for devices without local memory, and for those whose caches serve as well.
__kernel void gemm(int m, int n, int k, T alpha, __global const T *a, int a_at, int a_row, int a_column,
                   __global const T *b, int b_at, int b_row, int b_column, T beta, __global T *c, int c_at, int c_row,
                   int c_column)
{
    const int row = get_global_id(1) * RM, column = get_global_id(0) * RN;
    if (row >= m || column >= n)
        return;
    T sums[RM][RN];
    for (int i = 0; i < RM; ++i)
        for (int j = 0; j < RN; ++j)
            sums[i][j] = ZERO;
    int a_from[RM], b_from[RN]; // rows and columns beyond the edge read the last one's elements
    for (int i = 0; i < RM; ++i)
        a_from[i] = a_at + min(row + i, m - 1) * a_row;
    for (int j = 0; j < RN; ++j)
        b_from[j] = b_at + min(column + j, n - 1) * b_column;
    for (int l = 0; l < k; ++l) {
        T one[RN];
        for (int j = 0; j < RN; ++j)
            one[j] = OF_B(b[b_from[j] + l * b_row]);
        for (int i = 0; i < RM; ++i) {
            const T other = OF_A(a[a_from[i] + l * a_column]);
            for (int j = 0; j < RN; ++j) {
                MULTIPLY_ADD(sums[i][j], other, one[j]);
            }
        }
    }
    for (int i = 0; i < RM; ++i)
        for (int j = 0; j < RN; ++j)
            if (row + i < m && column + j < n)
                put(c + c_at + (row + i) * c_row + (column + j) * c_column, sums[i][j], alpha, beta);
}
#endif

// Rows [first, last) change places with those that pivots name, from 0, in the columns [left, right).
__kernel void swap_rows(__global T *a, int row, int column, int left, int right, int first, int last,
                        __global const int *pivots)
{
    const int j = left + get_global_id(0);
    if (j >= right)
        return;
    for (int i = first; i < last; ++i) {
        const int other = pivots[i - first];
        const T value = a[i * row + j * column];
        a[i * row + j * column] = a[other * row + j * column];
        a[other * row + j * column] = value;
    }
}

// A block of rows x columns, without gaps, goes into a matrix.
__kernel void paste(__global const T *block, int rows, int columns, __global T *a, int at, int row)
{
    const int j = get_global_id(0), i = get_global_id(1);
    if (i < rows && j < columns)
        a[at + i * row + j] = block[i * columns + j];
}

// One triangle of a matrix of n columns becomes zeros; `upper`: the one above the diagonal.
__kernel void clear_triangle(__global T *a, int rows, int n, int upper)
{
    const int j = get_global_id(0), i = get_global_id(1);
    if (i < rows && j < n && (upper ? j > i : j < i))
        a[i * n + j] = ZERO;
}

#ifndef COMPLEX
// `found` becomes 1 if a number is infinite or NaN.
__kernel void find_others(__global const T *a, int n, __global int *found)
{
    const int i = get_global_id(0);
    if (i < n && !isfinite(a[i]))
        found[0] = 1;
}
#endif
