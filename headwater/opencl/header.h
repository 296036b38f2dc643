/* Types, macros and constants of OpenCL C; the built-in functions themselves are declared by clang (-fdeclare-opencl-builtins).
   Values: OpenCL C 1.2 specification 6.1-6.12, OpenCL C 3.0 specification 6.3-6.15, cl.h of the Khronos headers 3.0. */
#ifndef HEADWATER_OPENCL_HEADER
#define HEADWATER_OPENCL_HEADER

/* The version of the device, as against __OPENCL_C_VERSION__, that of the language chosen by -cl-std (6.10). */
#define __OPENCL_VERSION__ 300

/* The target that is this machine: translations of IL ask for it. */
#ifdef __SPIR64__
#define HEADWATER_CPU 1
#endif

/* AMD's extensions that every device has here (amd_media_ops.h). */
#define cl_amd_media_ops 1
#define cl_amd_media_ops2 1

/* Without generic pointers, clang declares vload, fract, modf, ... once per named address space. */
#ifndef __opencl_c_generic_address_space
#define __opencl_c_named_address_space_builtins 1
#endif

/* The name by which clang declares functions of sub-groups. */
#if defined(cl_khr_subgroups) || defined(__opencl_c_subgroups)
#define __opencl_subgroup_builtins 1
#endif

/* ---- scalar types (6.1.1) */
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#define NULL ((void *)0)

/* ---- vector types (6.1.2) */
typedef char char2 __attribute__((ext_vector_type(2)));
typedef char char3 __attribute__((ext_vector_type(3)));
typedef char char4 __attribute__((ext_vector_type(4)));
typedef char char8 __attribute__((ext_vector_type(8)));
typedef char char16 __attribute__((ext_vector_type(16)));
typedef uchar uchar2 __attribute__((ext_vector_type(2)));
typedef uchar uchar3 __attribute__((ext_vector_type(3)));
typedef uchar uchar4 __attribute__((ext_vector_type(4)));
typedef uchar uchar8 __attribute__((ext_vector_type(8)));
typedef uchar uchar16 __attribute__((ext_vector_type(16)));
typedef short short2 __attribute__((ext_vector_type(2)));
typedef short short3 __attribute__((ext_vector_type(3)));
typedef short short4 __attribute__((ext_vector_type(4)));
typedef short short8 __attribute__((ext_vector_type(8)));
typedef short short16 __attribute__((ext_vector_type(16)));
typedef ushort ushort2 __attribute__((ext_vector_type(2)));
typedef ushort ushort3 __attribute__((ext_vector_type(3)));
typedef ushort ushort4 __attribute__((ext_vector_type(4)));
typedef ushort ushort8 __attribute__((ext_vector_type(8)));
typedef ushort ushort16 __attribute__((ext_vector_type(16)));
typedef int int2 __attribute__((ext_vector_type(2)));
typedef int int3 __attribute__((ext_vector_type(3)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef int int8 __attribute__((ext_vector_type(8)));
typedef int int16 __attribute__((ext_vector_type(16)));
typedef uint uint2 __attribute__((ext_vector_type(2)));
typedef uint uint3 __attribute__((ext_vector_type(3)));
typedef uint uint4 __attribute__((ext_vector_type(4)));
typedef uint uint8 __attribute__((ext_vector_type(8)));
typedef uint uint16 __attribute__((ext_vector_type(16)));
typedef long long2 __attribute__((ext_vector_type(2)));
typedef long long3 __attribute__((ext_vector_type(3)));
typedef long long4 __attribute__((ext_vector_type(4)));
typedef long long8 __attribute__((ext_vector_type(8)));
typedef long long16 __attribute__((ext_vector_type(16)));
typedef ulong ulong2 __attribute__((ext_vector_type(2)));
typedef ulong ulong3 __attribute__((ext_vector_type(3)));
typedef ulong ulong4 __attribute__((ext_vector_type(4)));
typedef ulong ulong8 __attribute__((ext_vector_type(8)));
typedef ulong ulong16 __attribute__((ext_vector_type(16)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float3 __attribute__((ext_vector_type(3)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));
#ifdef cl_khr_fp64
typedef double double2 __attribute__((ext_vector_type(2)));
typedef double double3 __attribute__((ext_vector_type(3)));
typedef double double4 __attribute__((ext_vector_type(4)));
typedef double double8 __attribute__((ext_vector_type(8)));
typedef double double16 __attribute__((ext_vector_type(16)));
#endif
#ifdef cl_khr_fp16
typedef half half2 __attribute__((ext_vector_type(2)));
typedef half half3 __attribute__((ext_vector_type(3)));
typedef half half4 __attribute__((ext_vector_type(4)));
typedef half half8 __attribute__((ext_vector_type(8)));
typedef half half16 __attribute__((ext_vector_type(16)));
#endif

/* ---- reinterpretation (6.2.4.2) */
#define as_char(x) __builtin_astype((x), char)
#define as_char2(x) __builtin_astype((x), char2)
#define as_char3(x) __builtin_astype((x), char3)
#define as_char4(x) __builtin_astype((x), char4)
#define as_char8(x) __builtin_astype((x), char8)
#define as_char16(x) __builtin_astype((x), char16)
#define as_uchar(x) __builtin_astype((x), uchar)
#define as_uchar2(x) __builtin_astype((x), uchar2)
#define as_uchar3(x) __builtin_astype((x), uchar3)
#define as_uchar4(x) __builtin_astype((x), uchar4)
#define as_uchar8(x) __builtin_astype((x), uchar8)
#define as_uchar16(x) __builtin_astype((x), uchar16)
#define as_short(x) __builtin_astype((x), short)
#define as_short2(x) __builtin_astype((x), short2)
#define as_short3(x) __builtin_astype((x), short3)
#define as_short4(x) __builtin_astype((x), short4)
#define as_short8(x) __builtin_astype((x), short8)
#define as_short16(x) __builtin_astype((x), short16)
#define as_ushort(x) __builtin_astype((x), ushort)
#define as_ushort2(x) __builtin_astype((x), ushort2)
#define as_ushort3(x) __builtin_astype((x), ushort3)
#define as_ushort4(x) __builtin_astype((x), ushort4)
#define as_ushort8(x) __builtin_astype((x), ushort8)
#define as_ushort16(x) __builtin_astype((x), ushort16)
#define as_int(x) __builtin_astype((x), int)
#define as_int2(x) __builtin_astype((x), int2)
#define as_int3(x) __builtin_astype((x), int3)
#define as_int4(x) __builtin_astype((x), int4)
#define as_int8(x) __builtin_astype((x), int8)
#define as_int16(x) __builtin_astype((x), int16)
#define as_uint(x) __builtin_astype((x), uint)
#define as_uint2(x) __builtin_astype((x), uint2)
#define as_uint3(x) __builtin_astype((x), uint3)
#define as_uint4(x) __builtin_astype((x), uint4)
#define as_uint8(x) __builtin_astype((x), uint8)
#define as_uint16(x) __builtin_astype((x), uint16)
#define as_long(x) __builtin_astype((x), long)
#define as_long2(x) __builtin_astype((x), long2)
#define as_long3(x) __builtin_astype((x), long3)
#define as_long4(x) __builtin_astype((x), long4)
#define as_long8(x) __builtin_astype((x), long8)
#define as_long16(x) __builtin_astype((x), long16)
#define as_ulong(x) __builtin_astype((x), ulong)
#define as_ulong2(x) __builtin_astype((x), ulong2)
#define as_ulong3(x) __builtin_astype((x), ulong3)
#define as_ulong4(x) __builtin_astype((x), ulong4)
#define as_ulong8(x) __builtin_astype((x), ulong8)
#define as_ulong16(x) __builtin_astype((x), ulong16)
#define as_float(x) __builtin_astype((x), float)
#define as_float2(x) __builtin_astype((x), float2)
#define as_float3(x) __builtin_astype((x), float3)
#define as_float4(x) __builtin_astype((x), float4)
#define as_float8(x) __builtin_astype((x), float8)
#define as_float16(x) __builtin_astype((x), float16)
#define as_double(x) __builtin_astype((x), double)
#define as_double2(x) __builtin_astype((x), double2)
#define as_double3(x) __builtin_astype((x), double3)
#define as_double4(x) __builtin_astype((x), double4)
#define as_double8(x) __builtin_astype((x), double8)
#define as_double16(x) __builtin_astype((x), double16)
#define as_half(x) __builtin_astype((x), half)
#define as_half2(x) __builtin_astype((x), half2)
#define as_half3(x) __builtin_astype((x), half3)
#define as_half4(x) __builtin_astype((x), half4)
#define as_half8(x) __builtin_astype((x), half8)
#define as_half16(x) __builtin_astype((x), half16)
#define as_size_t(x) __builtin_astype((x), size_t)
#define as_ptrdiff_t(x) __builtin_astype((x), ptrdiff_t)
#define as_intptr_t(x) __builtin_astype((x), intptr_t)
#define as_uintptr_t(x) __builtin_astype((x), uintptr_t)

/* ---- attributes */
#define __kernel_exec(X, typen) \
  __kernel __attribute__((work_group_size_hint(X, 1, 1))) __attribute__((vec_type_hint(typen)))
#define kernel_exec(X, typen) __kernel_exec(X, typen)

/* ---- integer limits (6.12.3) */
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 0xffffffffU
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-0x7fffffffffffffffL - 1L)
#define ULONG_MAX 0xffffffffffffffffUL

/* ---- floating-point limits (6.12.2.1) */
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP 38
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MIN_EXP (-125)
#define FLT_RADIX 2
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MAX_10_EXP 308
#define DBL_MAX_EXP 1024
#define DBL_MIN_10_EXP (-307)
#define DBL_MIN_EXP (-1021)
#define DBL_RADIX 2
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1.0p-1022
#define DBL_EPSILON 0x1.0p-52
#define HALF_DIG 3
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP 4
#define HALF_MAX_EXP 16
#define HALF_MIN_10_EXP (-4)
#define HALF_MIN_EXP (-13)
#define HALF_RADIX 2
#define HALF_MAX 0x1.ffcp15h
#define HALF_MIN 0x1.0p-14h
#define HALF_EPSILON 0x1.0p-10h
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN 2147483647
#define MAXFLOAT 0x1.fffffep127f
#define HUGE_VALF __builtin_huge_valf()
#define HUGE_VAL __builtin_huge_val()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define FP_FAST_FMAF 1
#define FP_FAST_FMA 1

/* ---- mathematical constants (6.12.2.1) */
#define M_E_F 2.718281828459045235360287471352662498f
#define M_E 2.718281828459045235360287471352662498
#define M_E_H 2.718281828459045235360287471352662498h
#define M_LOG2E_F 1.442695040888963407359924681001892137f
#define M_LOG2E 1.442695040888963407359924681001892137
#define M_LOG2E_H 1.442695040888963407359924681001892137h
#define M_LOG10E_F 0.434294481903251827651128918916605082f
#define M_LOG10E 0.434294481903251827651128918916605082
#define M_LOG10E_H 0.434294481903251827651128918916605082h
#define M_LN2_F 0.693147180559945309417232121458176568f
#define M_LN2 0.693147180559945309417232121458176568
#define M_LN2_H 0.693147180559945309417232121458176568h
#define M_LN10_F 2.302585092994045684017991454684364208f
#define M_LN10 2.302585092994045684017991454684364208
#define M_LN10_H 2.302585092994045684017991454684364208h
#define M_PI_F 3.141592653589793238462643383279502884f
#define M_PI 3.141592653589793238462643383279502884
#define M_PI_H 3.141592653589793238462643383279502884h
#define M_PI_2_F 1.570796326794896619231321691639751442f
#define M_PI_2 1.570796326794896619231321691639751442
#define M_PI_2_H 1.570796326794896619231321691639751442h
#define M_PI_4_F 0.785398163397448309615660845819875721f
#define M_PI_4 0.785398163397448309615660845819875721
#define M_PI_4_H 0.785398163397448309615660845819875721h
#define M_1_PI_F 0.318309886183790671537767526745028724f
#define M_1_PI 0.318309886183790671537767526745028724
#define M_1_PI_H 0.318309886183790671537767526745028724h
#define M_2_PI_F 0.636619772367581343075535053490057448f
#define M_2_PI 0.636619772367581343075535053490057448
#define M_2_PI_H 0.636619772367581343075535053490057448h
#define M_2_SQRTPI_F 1.128379167095512573896158903121545172f
#define M_2_SQRTPI 1.128379167095512573896158903121545172
#define M_2_SQRTPI_H 1.128379167095512573896158903121545172h
#define M_SQRT2_F 1.414213562373095048801688724209698079f
#define M_SQRT2 1.414213562373095048801688724209698079
#define M_SQRT2_H 1.414213562373095048801688724209698079h
#define M_SQRT1_2_F 0.707106781186547524400844362104849039f
#define M_SQRT1_2 0.707106781186547524400844362104849039
#define M_SQRT1_2_H 0.707106781186547524400844362104849039h
/* Chips without doubles: the vendors' compilers took these for floats there, with a warning. */
#ifndef cl_khr_fp64
#undef M_E
#define M_E M_E_F
#undef M_LOG2E
#define M_LOG2E M_LOG2E_F
#undef M_LOG10E
#define M_LOG10E M_LOG10E_F
#undef M_LN2
#define M_LN2 M_LN2_F
#undef M_LN10
#define M_LN10 M_LN10_F
#undef M_PI
#define M_PI M_PI_F
#undef M_PI_2
#define M_PI_2 M_PI_2_F
#undef M_PI_4
#define M_PI_4 M_PI_4_F
#undef M_1_PI
#define M_1_PI M_1_PI_F
#undef M_2_PI
#define M_2_PI M_2_PI_F
#undef M_2_SQRTPI
#define M_2_SQRTPI M_2_SQRTPI_F
#undef M_SQRT2
#define M_SQRT2 M_SQRT2_F
#undef M_SQRT1_2
#define M_SQRT1_2 M_SQRT1_2_F
#endif

/* ---- synchronisation (6.12.8, 6.12.9) */
typedef uint cl_mem_fence_flags;
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define CLK_IMAGE_MEM_FENCE 4

/* ---- atomics (OpenCL C 2.0 specification 6.13.11) */
typedef enum memory_scope {
  memory_scope_work_item = __OPENCL_MEMORY_SCOPE_WORK_ITEM,
  memory_scope_work_group = __OPENCL_MEMORY_SCOPE_WORK_GROUP,
  memory_scope_device = __OPENCL_MEMORY_SCOPE_DEVICE,
  memory_scope_all_svm_devices = __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES,
  memory_scope_all_devices = memory_scope_all_svm_devices,
  memory_scope_sub_group = __OPENCL_MEMORY_SCOPE_SUB_GROUP
} memory_scope;
typedef enum memory_order {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST
} memory_order;
#define ATOMIC_VAR_INIT(x) (x)
#define ATOMIC_FLAG_INIT 0
#define atomic_init(object, value) __opencl_atomic_init((object), (value))

/* ---- samplers (6.12.14.3), encoded as clang's __translate_sampler_initializer expects */
#define CLK_ADDRESS_NONE 0
#define CLK_ADDRESS_CLAMP_TO_EDGE 2
#define CLK_ADDRESS_CLAMP 4
#define CLK_ADDRESS_REPEAT 6
#define CLK_ADDRESS_MIRRORED_REPEAT 8
#define CLK_NORMALIZED_COORDS_FALSE 0
#define CLK_NORMALIZED_COORDS_TRUE 1
#define CLK_FILTER_NEAREST 0x10
#define CLK_FILTER_LINEAR 0x20

/* ---- image channel types and orders (6.12.14.5), the values of cl.h */
#define CLK_SNORM_INT8 0x10D0
#define CLK_SNORM_INT16 0x10D1
#define CLK_UNORM_INT8 0x10D2
#define CLK_UNORM_INT16 0x10D3
#define CLK_UNORM_SHORT_565 0x10D4
#define CLK_UNORM_SHORT_555 0x10D5
#define CLK_UNORM_INT_101010 0x10D6
#define CLK_SIGNED_INT8 0x10D7
#define CLK_SIGNED_INT16 0x10D8
#define CLK_SIGNED_INT32 0x10D9
#define CLK_UNSIGNED_INT8 0x10DA
#define CLK_UNSIGNED_INT16 0x10DB
#define CLK_UNSIGNED_INT32 0x10DC
#define CLK_HALF_FLOAT 0x10DD
#define CLK_FLOAT 0x10DE
#define CLK_UNORM_INT24 0x10DF
#define CLK_UNORM_INT_101010_2 0x10E0
#define CLK_R 0x10B0
#define CLK_A 0x10B1
#define CLK_RG 0x10B2
#define CLK_RA 0x10B3
#define CLK_RGB 0x10B4
#define CLK_RGBA 0x10B5
#define CLK_BGRA 0x10B6
#define CLK_ARGB 0x10B7
#define CLK_INTENSITY 0x10B8
#define CLK_LUMINANCE 0x10B9
#define CLK_Rx 0x10BA
#define CLK_RGx 0x10BB
#define CLK_RGBx 0x10BC
#define CLK_DEPTH 0x10BD
#define CLK_DEPTH_STENCIL 0x10BE
#define CLK_sRGB 0x10BF
#define CLK_sRGBx 0x10C0
#define CLK_sRGBA 0x10C1
#define CLK_sBGRA 0x10C2
#define CLK_ABGR 0x10C3

/* clang gives them the type long long, of 128 bits in OpenCL C, and values of 64. */
#define __builtin_readcyclecounter() ((ulong)__builtin_readcyclecounter())
#define __builtin_readsteadycounter() ((ulong)__builtin_readsteadycounter())

/* Variadic functions came with OpenCL C 1.2. */
#if __OPENCL_C_VERSION__ >= 120
int printf(__constant const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif

#endif
