/* Atomic operations: relaxed, of the device (those whose names end in _block and _system too, which take no less). */
#pragma once
#define __HW_ATOMIC(T, name, builtin) \
  __HW T name(T *p, T v) { return builtin(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } \
  __HW T name##_system(T *p, T v) { return name(p, v); } \
  __HW T name##_block(T *p, T v) { return name(p, v); }
#define __HW_ATOMICS(T) \
  __HW_ATOMIC(T, atomicAdd, __hip_atomic_fetch_add) \
  __HW_ATOMIC(T, atomicSub, __hip_atomic_fetch_sub) \
  __HW_ATOMIC(T, atomicMin, __hip_atomic_fetch_min) \
  __HW_ATOMIC(T, atomicMax, __hip_atomic_fetch_max) \
  __HW_ATOMIC(T, atomicAnd, __hip_atomic_fetch_and) \
  __HW_ATOMIC(T, atomicOr, __hip_atomic_fetch_or) \
  __HW_ATOMIC(T, atomicXor, __hip_atomic_fetch_xor) \
  __HW_ATOMIC(T, atomicExch, __hip_atomic_exchange) \
  __HW T atomicCAS(T *p, T compare, T v) { \
    __hip_atomic_compare_exchange_strong(p, &compare, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
    return compare; \
  }
__HW_ATOMICS(int) __HW_ATOMICS(uint) __HW_ATOMICS(long) __HW_ATOMICS(ulong)
__HW_ATOMICS(long long) __HW_ATOMICS(unsigned long long)
__HW_ATOMIC(float, atomicAdd, __hip_atomic_fetch_add)
__HW_ATOMIC(double, atomicAdd, __hip_atomic_fetch_add)
__HW float atomicSub(float *p, float v) { return atomicAdd(p, -v); }
__HW double atomicSub(double *p, double v) { return atomicAdd(p, -v); }
__HW float atomicExch(float *p, float v) { return __uint_as_float(atomicExch((uint *)p, __float_as_uint(v))); }
__HW uint atomicInc(uint *p, uint last) {
  uint old = *p, seen;
  do seen = old, old = atomicCAS(p, seen, seen >= last ? 0 : seen + 1);
  while (old != seen);
  return old;
}
__HW uint atomicDec(uint *p, uint last) {
  uint old = *p, seen;
  do seen = old, old = atomicCAS(p, seen, seen == 0 || seen > last ? last : seen - 1);
  while (old != seen);
  return old;
}
#define __HW_ATOMIC_FLOAT(T, U, name, better) \
  __HW T name(T *p, T v) { \
    U old = *(U *)p, seen; \
    do { \
      seen = old; \
      if (!(v better __builtin_bit_cast(T, seen))) break; \
      old = atomicCAS((U *)p, seen, __builtin_bit_cast(U, v)); \
    } while (old != seen); \
    return __builtin_bit_cast(T, old); \
  }
__HW_ATOMIC_FLOAT(float, uint, atomicMin, <) __HW_ATOMIC_FLOAT(float, uint, atomicMax, >)
__HW_ATOMIC_FLOAT(double, ulong, atomicMin, <) __HW_ATOMIC_FLOAT(double, ulong, atomicMax, >)
#define unsafeAtomicAdd atomicAdd
