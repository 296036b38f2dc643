// Barriers and fences (OpenCL C 1.2 specification 6.12.8 and 6.12.9; OpenCL C 3.0 specification 6.15.8), prefetch's kin.
// Provides *: barrier work_group_barrier mem_fence read_mem_fence write_mem_fence atomic_work_item_fence
#include "internal.h"

OVER __attribute__((convergent)) void barrier(cl_mem_fence_flags flags) { __hw_barrier(); }
OVER __attribute__((convergent)) void work_group_barrier(cl_mem_fence_flags flags) { __hw_barrier(); }
OVER __attribute__((convergent)) void work_group_barrier(cl_mem_fence_flags flags, memory_scope scope) { __hw_barrier(); }

OVER void mem_fence(cl_mem_fence_flags flags) { __scoped_atomic_thread_fence(__ATOMIC_ACQ_REL, __MEMORY_SCOPE_SYSTEM); }
OVER void read_mem_fence(cl_mem_fence_flags flags) { __scoped_atomic_thread_fence(__ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM); }
OVER void write_mem_fence(cl_mem_fence_flags flags) { __scoped_atomic_thread_fence(__ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM); }
// The strongest order serves every caller: a fence that is not a constant cannot be encoded.
OVER void atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order, memory_scope scope) {
  __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_SYSTEM);
}
