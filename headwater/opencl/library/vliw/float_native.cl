// Functions of float that are one operation of IL, or a few around one (OpenCL C 1.2 specification 6.12.2, native_ and
// half_ functions; ATI IL: exp_vec is 2 to the power, log_vec to base 2, sin_vec and cos_vec take radians).
// Provides f: rsqrt native_sqrt native_rsqrt native_recip native_divide native_exp native_exp2 native_exp10 native_log
// Provides f: native_log2 native_log10 native_sin native_cos native_tan native_powr
// Provides f: half_sqrt half_rsqrt half_recip half_divide half_exp half_exp2 half_exp10 half_log half_log2 half_log10
// Provides f: half_powr
#include "../internal.h"

float __hw_vliw_rsqrt(float x) __attribute__((const));
float __hw_vliw_recip(float x) __attribute__((const));

#define EXP2(x) __builtin_elementwise_exp2(x)
#define LOG2(x) __builtin_elementwise_log2(x)
#define SIN(x) __builtin_elementwise_sin(x)
#define COS(x) __builtin_elementwise_cos(x)

PURE float rsqrt(float x) { return __hw_vliw_rsqrt(x); }
PURE float native_sqrt(float x) { return __builtin_elementwise_sqrt(x); }
PURE float native_rsqrt(float x) { return __hw_vliw_rsqrt(x); }
PURE float native_recip(float x) { return __hw_vliw_recip(x); }
PURE float native_divide(float x, float y) { return x * __hw_vliw_recip(y); }
PURE float native_exp2(float x) { return EXP2(x); }
PURE float native_exp(float x) { return EXP2(x * 0x1.715476p+0f); }
PURE float native_exp10(float x) { return EXP2(x * 0x1.a934fp+1f); }
PURE float native_log2(float x) { return LOG2(x); }
PURE float native_log(float x) { return LOG2(x) * 0x1.62e43p-1f; }
PURE float native_log10(float x) { return LOG2(x) * 0x1.344136p-2f; }
PURE float native_powr(float x, float y) { return EXP2(y * LOG2(x)); }
PURE float native_sin(float x) { return SIN(x); }
PURE float native_cos(float x) { return COS(x); }
PURE float native_tan(float x) { return SIN(x) * __hw_vliw_recip(COS(x)); }

PURE float half_sqrt(float x) { return __builtin_elementwise_sqrt(x); }
PURE float half_rsqrt(float x) { return __hw_vliw_rsqrt(x); }
PURE float half_recip(float x) { return __hw_vliw_recip(x); }
PURE float half_divide(float x, float y) { return x / y; }
PURE float half_exp2(float x) { return EXP2(x); }
PURE float half_exp(float x) { return native_exp(x); }
PURE float half_exp10(float x) { return native_exp10(x); }
PURE float half_log2(float x) { return LOG2(x); }
PURE float half_log(float x) { return native_log(x); }
PURE float half_log10(float x) { return native_log10(x); }
PURE float half_powr(float x, float y) { return native_powr(x, y); }
