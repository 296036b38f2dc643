// Which memory a generic pointer is to: local and private memory have apertures of their own among flat addresses (LLVM,
// "User Guide for AMDGPU Backend", Address Spaces).
// Provides *: __to_global __to_local __to_private get_fence
#include "../generic.h"

HELPER int in_local(ulong at) { return __builtin_amdgcn_is_shared((generic void *)at); }
HELPER int in_private(ulong at) { return __builtin_amdgcn_is_private((generic void *)at); }

DEFINE_GENERIC(in_local, in_private)
