// What files that make memory objects share.
#pragma once
#include "shim.h"

bool hw_flags_valid(cl_mem_flags flags, bool image);
bool hw_part_flags(cl_mem parent, cl_mem_flags *flags);
cl_int hw_check_host_pointer(cl_mem_flags flags, const void *host);
// A memory object with memory of its own, or in its parent's.
cl_mem hw_new_mem(cl_context context, cl_uint type, cl_mem_flags flags, size_t bytes, cl_mem parent, size_t origin,
                  cl_int *error);
