/* HIP's kernel language, and CUDA's as far as it is the same: what device code sees before its first line.
   HIP, "C++ language extensions"; CUDA C++ Programming Guide, "C++ Language Extensions". Functions of the names of OpenCL C's
   built-ins are Headwater's device library's; their mangled names are the same. */
#pragma once
#define __HIP__ 1
#define __HIPCC__ 1
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define __HEADWATER__ 1

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__), annotate("launch_bounds", __VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_SYMBOL(x) x
#define __HW static __device__ inline __attribute__((always_inline))
#define __HW_LIB __device__ __attribute__((const))

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#ifndef NULL
#define NULL 0
#endif

/* ---- work-items: OpenCL C's functions */
__HW_LIB size_t get_local_id(uint);
__HW_LIB size_t get_group_id(uint);
__HW_LIB size_t get_local_size(uint);
__HW_LIB size_t get_num_groups(uint);
__device__ __attribute__((convergent)) void barrier(uint);
__device__ void mem_fence(uint);

/* ---- vector types. Those of three have no padding, so that they are structures. */
#define __HW_VECTORS(T, name) \
  typedef T name##1 __attribute__((ext_vector_type(1))); \
  typedef T name##2 __attribute__((ext_vector_type(2))); \
  typedef T name##4 __attribute__((ext_vector_type(4))); \
  struct name##3 { \
    T x, y, z; \
    typedef T __hw_element; \
  }; \
  __HW name##1 make_##name##1(T x) { return name##1{x}; } \
  __HW name##2 make_##name##2(T x, T y) { return name##2{x, y}; } \
  __HW name##3 make_##name##3(T x, T y, T z) { return name##3{x, y, z}; } \
  __HW name##4 make_##name##4(T x, T y, T z, T w) { return name##4{x, y, z, w}; }
__HW_VECTORS(char, char)
__HW_VECTORS(uchar, uchar)
__HW_VECTORS(short, short)
__HW_VECTORS(ushort, ushort)
__HW_VECTORS(int, int)
__HW_VECTORS(uint, uint)
__HW_VECTORS(long, long)
__HW_VECTORS(ulong, ulong)
__HW_VECTORS(long long, longlong)
__HW_VECTORS(unsigned long long, ulonglong)
__HW_VECTORS(float, float)
__HW_VECTORS(double, double)

template <class V> using __hw_of = typename V::__hw_element;
#define __HW_OPERATOR(op) \
  template <class V> __HW auto operator op(V a, V b) -> decltype((__hw_of<V>)0, V()) { \
    return V{(__hw_of<V>)(a.x op b.x), (__hw_of<V>)(a.y op b.y), (__hw_of<V>)(a.z op b.z)}; \
  } \
  template <class V> __HW auto operator op(V a, __hw_of<V> b) -> V { \
    return V{(__hw_of<V>)(a.x op b), (__hw_of<V>)(a.y op b), (__hw_of<V>)(a.z op b)}; \
  } \
  template <class V> __HW auto operator op(__hw_of<V> a, V b) -> V { \
    return V{(__hw_of<V>)(a op b.x), (__hw_of<V>)(a op b.y), (__hw_of<V>)(a op b.z)}; \
  } \
  template <class V> __HW auto operator op##=(V &a, V b) -> decltype((__hw_of<V>)0, a) { \
    a.x op##= b.x; \
    a.y op##= b.y; \
    a.z op##= b.z; \
    return a; \
  } \
  template <class V> __HW auto operator op##=(V &a, __hw_of<V> b) -> V & { \
    a.x op##= b; \
    a.y op##= b; \
    a.z op##= b; \
    return a; \
  }
__HW_OPERATOR(+)
__HW_OPERATOR(-)
__HW_OPERATOR(*)
__HW_OPERATOR(/)

struct dim3 {
  uint x, y, z;
  __host__ __device__ constexpr dim3(uint x = 1, uint y = 1, uint z = 1) : x(x), y(y), z(z) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

#define __HW_INDEX(type, function) \
  struct type { \
    __declspec(property(get = __x)) uint x; \
    __declspec(property(get = __y)) uint y; \
    __declspec(property(get = __z)) uint z; \
    __device__ __forceinline__ uint __x() const { return (uint)function(0); } \
    __device__ __forceinline__ uint __y() const { return (uint)function(1); } \
    __device__ __forceinline__ uint __z() const { return (uint)function(2); } \
    __device__ __forceinline__ operator dim3() const { return dim3(__x(), __y(), __z()); } \
    __device__ __forceinline__ operator uint3() const { return uint3{__x(), __y(), __z()}; } \
  };
__HW_INDEX(__hw_thread, get_local_id)
__HW_INDEX(__hw_block, get_group_id)
__HW_INDEX(__hw_block_size, get_local_size)
__HW_INDEX(__hw_grid, get_num_groups)
#define threadIdx (__hw_thread{})
#define blockIdx (__hw_block{})
#define blockDim (__hw_block_size{})
#define gridDim (__hw_grid{})
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

/* ---- synchronisation */
__HW void __syncthreads() { barrier(3); }
__HW void __threadfence() { mem_fence(3); }
__HW void __threadfence_block() { mem_fence(3); }
__HW void __threadfence_system() { mem_fence(3); }

/* ---- output: OpenCL C's printf, whose format is a literal */
extern "C" __device__ int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#include "headwater_hip_math.h"
#include "headwater_hip_atomic.h"
#include "headwater_hip_wave.h"
