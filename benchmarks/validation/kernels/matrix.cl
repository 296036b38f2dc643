/* Matrix instructions without memory: four accumulators, so that none waits for the one before. */
typedef float float32_16 __attribute__((ext_vector_type(16)));
typedef double doubles4 __attribute__((ext_vector_type(4)));
typedef short shorts4 __attribute__((ext_vector_type(4)));
#define KERNEL(name, ACCUMULATOR, OPERAND, instruction) \
  kernel __attribute__((reqd_work_group_size(256, 1, 1))) void name(global float *out, int turns) { \
    OPERAND a = (OPERAND)(get_local_id(0)), b = (OPERAND)(turns); \
    ACCUMULATOR c[4] = {0, 1, 2, 3}; \
    for (int n = 0; n < turns; n++) { \
      _Pragma("unroll") for (int k = 0; k < 16; k++) c[k % 4] = instruction(a, b, c[k % 4], 0, 0, 0); \
    } \
    ACCUMULATOR sum = c[0] + c[1] + c[2] + c[3]; \
    if (sum[0] == 12345) out[get_global_id(0)] = sum[1]; \
  }
KERNEL(f16, float32_16, half4, __builtin_amdgcn_mfma_f32_32x32x8f16)
KERNEL(bf16, float32_16, shorts4, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
KERNEL(f32, float32_16, float, __builtin_amdgcn_mfma_f32_32x32x2f32)
KERNEL(f64, doubles4, double, __builtin_amdgcn_mfma_f64_16x16x4f64)
