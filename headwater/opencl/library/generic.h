/* The functions of generic pointers, by two that tell whether an address is of local, and of private memory. */
#include "internal.h"

#define DEFINE_GENERIC(in_local, in_private) \
  __attribute__((always_inline, const)) global void *__to_global(generic void *p) { \
    ulong at = (ulong)p; \
    return in_local(at) | in_private(at) ? (global void *)0 : (global void *)at; \
  } \
  __attribute__((always_inline, const)) local void *__to_local(generic void *p) { \
    return in_local((ulong)p) ? (local void *)p : (local void *)0; \
  } \
  __attribute__((always_inline, const)) private void *__to_private(generic void *p) { \
    return in_private((ulong)p) ? (private void *)p : (private void *)0; \
  } \
  PURE cl_mem_fence_flags get_fence(generic void *p) { \
    ulong at = (ulong)p; \
    return in_local(at) ? CLK_LOCAL_MEM_FENCE : in_private(at) ? 0 : CLK_GLOBAL_MEM_FENCE; \
  } \
  PURE cl_mem_fence_flags get_fence(const generic void *p) { return get_fence((generic void *)p); }
