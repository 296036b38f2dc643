// Which memory a generic pointer is to (OpenCL C 3.0 specification, 6.15.11, Address Space Qualifier Functions).
// Provides *: __to_global __to_local __to_private get_fence
#include "generic.h"

/* Local and private memory are scratch memory and the stack of the thread that runs the group; all else is global. */
HELPER int in_local(ulong at) { return at - __hw_local_begin() < __hw_local_end() - __hw_local_begin(); }
HELPER int in_private(ulong at) {
  return at - __hw_stack_begin() < __hw_stack_end() - __hw_stack_begin() ||
         at - __hw_local_end() < __hw_scratch_end() - __hw_local_end();
}

DEFINE_GENERIC(in_local, in_private)
