// Barriers and fences (OpenCL C 1.2 specification 6.12.8 and 6.12.9; OpenCL C 3.0 specification 6.15.8).
// Provides *: __hw_barrier mem_fence read_mem_fence write_mem_fence atomic_work_item_fence
#include "../internal.h"

__attribute__((always_inline, convergent)) void __hw_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* They order what one work-item does as its group sees it. */
OVER void mem_fence(cl_mem_fence_flags flags) { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup"); }
OVER void read_mem_fence(cl_mem_fence_flags flags) { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); }
OVER void write_mem_fence(cl_mem_fence_flags flags) { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); }
// The strongest order serves every caller: a fence that is not a constant cannot be encoded.
OVER void atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order, memory_scope scope) {
  if (scope == memory_scope_work_item || scope == memory_scope_sub_group)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
  else if (scope == memory_scope_work_group)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  else
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
