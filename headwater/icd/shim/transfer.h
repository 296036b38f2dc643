// What commands that move data share.
#pragma once
#include "memory.h"

cl_int hw_run_copy_box(struct command *c);
// Copy a box of rows between `from` and `to`; offsets are in bytes, rows and layers.
void hw_copy_box(char *to, const struct rectangle *to_box, const char *from, const struct rectangle *from_box,
                 const size_t region[3]);
// Writing to the program's own memory as well, where a buffer or image lies over it, waits for a map.
struct map *hw_add_map(cl_mem mem, void *pointer, cl_map_flags flags);
void hw_remove_map(cl_mem mem, struct map *map);
cl_int hw_run_map(struct command *c);
#define KNOWN_MAP_FLAGS ((cl_map_flags)(CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
static inline bool hw_map_flags_valid(cl_map_flags flags) {
  return !(flags & ~KNOWN_MAP_FLAGS) &&
         !(flags & CL_MAP_WRITE_INVALIDATE_REGION && flags & (CL_MAP_READ | CL_MAP_WRITE));
}
