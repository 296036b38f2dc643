// Barriers and fences (OpenCL C 1.2 specification 6.12.8 and 6.12.9; OpenCL C 3.0 specification 6.15.8): IL's fence says
// which memory it waits for, bit 0 of the flags local, bit 1 global.
// Provides *: __hw_barrier barrier work_group_barrier mem_fence read_mem_fence write_mem_fence atomic_work_item_fence
#include "../internal.h"

__attribute__((convergent)) void __hw_vliw_barrier(uint flags);
void __hw_vliw_fence(uint flags);

#define EVERYTHING (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define CONVERGES __attribute__((overloadable, always_inline, convergent))

__attribute__((always_inline, convergent)) void __hw_barrier(void) { __hw_vliw_barrier(EVERYTHING); }
CONVERGES void barrier(cl_mem_fence_flags flags) { __hw_vliw_barrier(flags); }
CONVERGES void work_group_barrier(cl_mem_fence_flags flags) { __hw_vliw_barrier(flags); }
CONVERGES void work_group_barrier(cl_mem_fence_flags flags, memory_scope scope) { __hw_vliw_barrier(flags); }

OVER void mem_fence(cl_mem_fence_flags flags) { __hw_vliw_fence(flags); }
OVER void read_mem_fence(cl_mem_fence_flags flags) { __hw_vliw_fence(flags); }
OVER void write_mem_fence(cl_mem_fence_flags flags) { __hw_vliw_fence(flags); }
OVER void atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order, memory_scope scope) { __hw_vliw_fence(flags); }
