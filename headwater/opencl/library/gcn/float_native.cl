// Functions of float that are one instruction of the machine, or a few around one (AMD, "Vega" Instruction Set
// Architecture, chapter 12: V_EXP_F32, V_LOG_F32, V_RCP_F32, V_RSQ_F32, V_SQRT_F32 are good to 1 ULP and take or give no
// denormals; V_SIN_F32 and V_COS_F32 count in turns).
// Provides f: rsqrt native_sqrt native_rsqrt native_recip native_divide native_exp native_exp2 native_exp10 native_log
// Provides f: native_log2 native_log10 native_sin native_cos native_tan native_powr
// Provides f: half_sqrt half_rsqrt half_recip half_divide half_exp half_exp2 half_exp10 half_log half_log2 half_log10
#include "../internal.h"

PURE float rsqrt(float x) {
  bool tiny = x < FLT_MIN;
  return __builtin_amdgcn_rsqf(tiny ? x * 0x1p24f : x) * (tiny ? 0x1p12f : 1.0f);
}
PURE float half_sqrt(float x) { return __builtin_elementwise_sqrt(x); }
PURE float half_rsqrt(float x) { return rsqrt(x); }
PURE float half_recip(float x) { return 1.0f / x; }
PURE float half_divide(float x, float y) { return x / y; }

PURE float native_sqrt(float x) { return __builtin_amdgcn_sqrtf(x); }
PURE float native_rsqrt(float x) { return __builtin_amdgcn_rsqf(x); }
PURE float native_recip(float x) { return __builtin_amdgcn_rcpf(x); }
PURE float native_divide(float x, float y) { return x * __builtin_amdgcn_rcpf(y); }
PURE float native_exp2(float x) { return __builtin_amdgcn_exp2f(x); }
PURE float native_exp(float x) { return __builtin_amdgcn_exp2f(x * 0x1.715476p+0f); }
PURE float native_exp10(float x) { return __builtin_amdgcn_exp2f(x * 0x1.a934fp+1f); }
PURE float native_log2(float x) { return __builtin_amdgcn_logf(x); }
PURE float native_log(float x) { return __builtin_amdgcn_logf(x) * 0x1.62e43p-1f; }
PURE float native_log10(float x) { return __builtin_amdgcn_logf(x) * 0x1.344136p-2f; }
PURE float half_exp2(float x) { return native_exp2(x); }
PURE float half_exp(float x) { return native_exp(x); }
PURE float half_exp10(float x) { return native_exp10(x); }
PURE float half_log2(float x) { return native_log2(x); }
PURE float half_log(float x) { return native_log(x); }
PURE float half_log10(float x) { return native_log10(x); }
PURE float native_powr(float x, float y) { return __builtin_amdgcn_exp2f(y * __builtin_amdgcn_logf(x)); }

/* From GFX9 on the instructions want less than 256 turns: the fraction always serves. */
HELPER float turns(float x) { return __builtin_amdgcn_fractf(x * 0x1.45f306p-3f); }
PURE float native_sin(float x) { return __builtin_amdgcn_sinf(turns(x)); }
PURE float native_cos(float x) { return __builtin_amdgcn_cosf(turns(x)); }
PURE float native_tan(float x) { return native_sin(x) * __builtin_amdgcn_rcpf(native_cos(x)); }
