/* What benchmarks/matrices.py measures: C = A Bᵀ of square matrices by matrix instructions. A work-group of four wavefronts
   makes 128 x 128 results from tiles in local memory, whose rows are 64 bytes; each wavefront makes 64 x 64. */
typedef half half4_ __attribute__((ext_vector_type(4)));
typedef short short4_ __attribute__((ext_vector_type(4)));
typedef float float16_ __attribute__((ext_vector_type(16)));
typedef double double4_ __attribute__((ext_vector_type(4)));

/* SIDE: rows of one instruction's result; EACH: factors in a lane; ROW: the row of a lane group's r-th result. */
#define PRODUCT(name, element, operand, result, accumulator, SIDE, EACH, ROW, instruction) \
  kernel __attribute__((reqd_work_group_size(256, 1, 1))) void name( \
      global const uint4 *a, global const uint4 *b, global result *c, int n) { \
    enum { STEP = 64 / sizeof(element), PIECES = 64 / SIDE }; \
    local uint4 tile_a[128][4], tile_b[128][4]; \
    int item = get_local_id(0), wave = item / 64, lane = item % 64, group = lane / SIDE; \
    int first_row = get_group_id(1) * 128, first_column = get_group_id(0) * 128; \
    int row = wave / 2 * 64, column = wave % 2 * 64, width = n / STEP * 4; \
    accumulator sums[PIECES][PIECES] = {}; \
    for (int step = 0; step < width; step += 4) { \
      for (int k = item; k < 512; k += 256) { \
        tile_a[k / 4][k % 4] = a[(first_row + k / 4) * width + step + k % 4]; \
        tile_b[k / 4][k % 4] = b[(first_column + k / 4) * width + step + k % 4]; \
      } \
      barrier(CLK_LOCAL_MEM_FENCE); \
      _Pragma("unroll") for (int depth = 0; depth < STEP; depth += EACH * 64 / SIDE) { \
        operand x[PIECES], y[PIECES]; \
        _Pragma("unroll") for (int p = 0; p < PIECES; p++) { \
          int place = depth / EACH + group, at = p * SIDE + lane % SIDE; \
          x[p] = ((local operand *)tile_a[row + at])[place]; \
          y[p] = ((local operand *)tile_b[column + at])[place]; \
        } \
        _Pragma("unroll") for (int p = 0; p < PIECES; p++) \
          _Pragma("unroll") for (int q = 0; q < PIECES; q++) \
            sums[p][q] = instruction(x[p], y[q], sums[p][q], 0, 0, 0); \
      } \
      barrier(CLK_LOCAL_MEM_FENCE); \
    } \
    _Pragma("unroll") for (int p = 0; p < PIECES; p++) \
      _Pragma("unroll") for (int q = 0; q < PIECES; q++) \
        _Pragma("unroll") for (int r = 0; r < SIDE * SIDE / 64; r++) \
          c[(first_row + row + p * SIDE + ROW) * n + first_column + column + q * SIDE + lane % SIDE] = sums[p][q][r]; \
  }
#define FLOAT_ROW (r / 4 * 8 + group * 4 + r % 4)
#define DOUBLE_ROW (r * 4 + group)
PRODUCT(f16, half, half4_, float, float16_, 32, 4, FLOAT_ROW, __builtin_amdgcn_mfma_f32_32x32x8f16)
PRODUCT(bf16, short, short4_, float, float16_, 32, 4, FLOAT_ROW, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
PRODUCT(f32, float, float, float, float16_, 32, 1, FLOAT_ROW, __builtin_amdgcn_mfma_f32_32x32x2f32)
PRODUCT(f64, double, double, double, double4_, 16, 1, DOUBLE_ROW, __builtin_amdgcn_mfma_f64_16x16x4f64)
