// The arena, buffers and parts of buffers, and what all memory objects have in common.
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "memory.h"

// -- the arena: free pieces in a list, in order, none beside another

struct hw_arena hw_arena;
enum { PAGE = 4096 };
// Pieces that are given back keep their memory for the next one if they are smaller.
enum { DISCARD_BYTES = 1 << 18 };

static hw_mutex arena_lock = HW_MUTEX_INIT;
static struct piece {
  struct piece *next;
  uint64_t offset, bytes;
} *pieces;
static uint64_t taken;

bool hw_arena_ready(void) {
  hw_lock(&arena_lock);
  if (!hw_arena.base) {
    // Address space costs nothing; where a process may have little of it, less will do.
    uint64_t size = sizeof(void *) == 8 ? (uint64_t)1 << 40 : (uint64_t)1 << 29;
    while (size >= 1 << 26 && !hw_map_arena(&hw_arena, size))
      size /= 4;
    pieces = hw_arena.base ? malloc(sizeof *pieces) : NULL;
    if (pieces)
      *pieces = (struct piece){NULL, PAGE, hw_arena.size - PAGE}; // offset 0 is nobody's
    else if (!hw_arena.base)
      fprintf(stderr, "headwater: this process may have no memory that it can share\n");
  }
  bool ready = hw_arena.base;
  hw_unlock(&arena_lock);
  return ready;
}

uint64_t hw_arena_take(uint64_t bytes) {
  uint64_t wanted = (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1), found = HW_NULL_OFFSET;
  if (!hw_arena_ready() || wanted < bytes)
    return HW_NULL_OFFSET;
  if (!wanted)
    wanted = PAGE;
  static uint64_t memory;
  hw_lock(&arena_lock);
  if (!memory)
    memory = hw_memory_bytes();
  // More than there is would end the process when it is written, by a signal.
  for (struct piece **at = &pieces; wanted + taken <= memory && *at; at = &(*at)->next) {
    struct piece *piece = *at;
    if (piece->bytes < wanted)
      continue;
    found = piece->offset;
    piece->offset += wanted;
    piece->bytes -= wanted;
    if (!piece->bytes) {
      *at = piece->next;
      free(piece);
    }
    taken += wanted;
    break;
  }
  hw_unlock(&arena_lock);
  return found;
}

void hw_arena_give(uint64_t offset, uint64_t bytes) {
  uint64_t size = (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
  if (!size)
    size = PAGE;
  if (size >= DISCARD_BYTES)
    hw_discard(&hw_arena, offset, size);
  hw_lock(&arena_lock);
  taken -= size;
  struct piece **at = &pieces, *before = NULL;
  while (*at && (*at)->offset < offset) {
    before = *at;
    at = &before->next;
  }
  struct piece *after = *at;
  if (before && before->offset + before->bytes == offset) {
    before->bytes += size;
    if (after && before->offset + before->bytes == after->offset) {
      before->bytes += after->bytes;
      before->next = after->next;
      free(after);
    }
  } else if (after && offset + size == after->offset) {
    after->offset = offset;
    after->bytes += size;
  } else {
    struct piece *made = malloc(sizeof *made);
    if (made) {
      *made = (struct piece){after, offset, size};
      *at = made;
    }
  }
  hw_unlock(&arena_lock);
}

void hw_memory_after_fork(void) {
  // The parent goes on using the arena: the child takes another one when it needs it.
  memset(&hw_arena, 0, sizeof hw_arena);
  pieces = NULL;
  taken = 0;
  arena_lock = (hw_mutex)HW_MUTEX_INIT;
}

// -- memory objects

#define ACCESS_FLAGS (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY)
#define HOST_FLAGS (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)
#define POINTER_FLAGS (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)

static bool at_most_one(cl_mem_flags flags) { return !(flags & (flags - 1)); }

// Flags that exclude each other, or that there are none of.
bool hw_flags_valid(cl_mem_flags flags, bool image) {
  cl_mem_flags known = ACCESS_FLAGS | HOST_FLAGS | POINTER_FLAGS | (image ? CL_MEM_KERNEL_READ_AND_WRITE : 0);
  return !(flags & ~known) && at_most_one(flags & ACCESS_FLAGS) && at_most_one(flags & HOST_FLAGS) &&
         !(flags & CL_MEM_USE_HOST_PTR && flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR));
}

// Those of a part: what it does not say is as the whole's. 0 and false if they contradict it.
bool hw_part_flags(cl_mem parent, cl_mem_flags *flags) {
  cl_mem_flags given = *flags, whole = parent->flags;
  if (given & POINTER_FLAGS || !hw_flags_valid(given, false))
    return false;
  if ((whole & CL_MEM_WRITE_ONLY && given & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY)) ||
      (whole & CL_MEM_READ_ONLY && given & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY)) ||
      (whole & CL_MEM_HOST_WRITE_ONLY && given & CL_MEM_HOST_READ_ONLY) ||
      (whole & CL_MEM_HOST_READ_ONLY && given & CL_MEM_HOST_WRITE_ONLY) ||
      (whole & CL_MEM_HOST_NO_ACCESS && given & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY)))
    return false;
  if (!(given & ACCESS_FLAGS))
    given |= whole & ACCESS_FLAGS;
  if (!(given & HOST_FLAGS))
    given |= whole & HOST_FLAGS;
  *flags = given | (whole & POINTER_FLAGS);
  return true;
}

cl_int hw_check_host_pointer(cl_mem_flags flags, const void *host) {
  bool wanted = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
  return wanted == !host ? CL_INVALID_HOST_PTR : CL_SUCCESS;
}

cl_mem hw_new_mem(cl_context context, cl_uint type, cl_mem_flags flags, size_t bytes, cl_mem parent, size_t origin,
                  cl_int *error) {
  cl_mem mem = hw_new(sizeof *mem, MAGIC_MEM);
  if (!mem) {
    *error = CL_OUT_OF_HOST_MEMORY;
    return NULL;
  }
  mem->lock = (hw_mutex)HW_MUTEX_INIT;
  mem->type = type;
  mem->flags = flags & ACCESS_FLAGS ? flags : flags | CL_MEM_READ_WRITE;
  mem->size = bytes;
  mem->offset = HW_NULL_OFFSET;
  if (parent) {
    parent->unwritten = false; // what is written to its parts is not followed
    mem->offset = parent->offset + origin;
    mem->origin = origin;
    mem->host = parent->host ? (char *)parent->host + origin : NULL;
    mem->host_is_svm = parent->host_is_svm;
  } else {
    mem->offset = hw_arena_take(bytes);
  }
  if (mem->offset == HW_NULL_OFFSET) {
    free(mem);
    *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
  }
  mem->data = hw_arena.base + mem->offset;
  hw_hold(mem->context = context);
  hw_hold(mem->parent = parent);
  *error = CL_SUCCESS;
  return mem;
}

static cl_int check_buffer_properties(const cl_properties *properties) {
  return properties && *properties ? CL_INVALID_PROPERTY : CL_SUCCESS; // none is defined
}

cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context context, const cl_properties *properties, cl_mem_flags flags,
                                                size_t size, void *host, cl_int *errcode_ret) {
  cl_int error = CL_SUCCESS;
  cl_mem mem = NULL;
  struct svm svm;
  if (!hw_is(context, MAGIC_CONTEXT))
    error = CL_INVALID_CONTEXT;
  else if ((error = check_buffer_properties(properties)))
    ;
  else if (!hw_flags_valid(flags, false))
    error = CL_INVALID_VALUE;
  else if (!size)
    error = CL_INVALID_BUFFER_SIZE;
  else
    error = hw_check_host_pointer(flags, host);
  bool fits = false;
  for (cl_uint i = 0; !error && i < context->device_count; i++)
    fits |= size <= context->devices[i]->max_alloc;
  if (!error && !fits)
    error = CL_INVALID_BUFFER_SIZE;
  if (!error && flags & CL_MEM_USE_HOST_PTR && hw_find_svm(host, &svm)) {
    // Shared virtual memory is in the arena already.
    uint64_t offset = (uint64_t)((char *)host - hw_arena.base);
    if (offset + size > svm.offset + svm.bytes) {
      error = CL_INVALID_BUFFER_SIZE;
    } else if ((mem = hw_new(sizeof *mem, MAGIC_MEM))) {
      mem->lock = (hw_mutex)HW_MUTEX_INIT;
      mem->type = CL_MEM_OBJECT_BUFFER;
      mem->flags = flags & ACCESS_FLAGS ? flags : flags | CL_MEM_READ_WRITE;
      mem->size = size;
      mem->offset = offset;
      mem->data = mem->host = host;
      mem->host_is_svm = true;
      hw_hold(mem->context = context);
    } else {
      error = CL_OUT_OF_HOST_MEMORY;
    }
  } else if (!error) {
    mem = hw_new_mem(context, CL_MEM_OBJECT_BUFFER, flags, size, NULL, 0, &error);
    if (mem && host) {
      memcpy(mem->data, host, size);
      if (flags & CL_MEM_USE_HOST_PTR)
        mem->host = host;
    } else if (mem) {
      static uint64_t buffers;
      hw_lock(&arena_lock);
      mem->serial = ++buffers;
      hw_unlock(&arena_lock);
      mem->unwritten = true;
    }
  }
  if (mem && properties)
    mem->properties = hw_copy_properties(properties, &mem->properties_bytes);
  hw_set(errcode_ret, error);
  return mem;
}

cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                                  cl_int *errcode_ret) {
  return clCreateBufferWithProperties(context, NULL, flags, size, host, errcode_ret);
}

cl_mem CL_API_CALL clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_uint type, const void *info,
                                     cl_int *errcode_ret) {
  cl_int error = CL_SUCCESS;
  cl_mem mem = NULL;
  const cl_buffer_region *region = info;
  if (!hw_is(buffer, MAGIC_MEM) || buffer->type != CL_MEM_OBJECT_BUFFER || buffer->parent) {
    error = CL_INVALID_MEM_OBJECT;
  } else if (type != CL_BUFFER_CREATE_TYPE_REGION || !region || !hw_part_flags(buffer, &flags)) {
    error = CL_INVALID_VALUE;
  } else if (!region->size) {
    error = CL_INVALID_BUFFER_SIZE;
  } else if (region->origin > buffer->size || region->size > buffer->size - region->origin) {
    error = CL_INVALID_VALUE;
  } else {
    bool aligned = false;
    for (cl_uint i = 0; i < buffer->context->device_count; i++)
      aligned |= region->origin % buffer->context->devices[i]->base_align_bytes == 0;
    if (aligned)
      mem = hw_new_mem(buffer->context, CL_MEM_OBJECT_BUFFER, flags, region->size, buffer, region->origin, &error);
    else
      error = CL_MISALIGNED_SUB_BUFFER_OFFSET;
  }
  hw_set(errcode_ret, error);
  return mem;
}

uint64_t hw_told_of(cl_mem mem, uint32_t generation) {
  uint64_t told = mem->serial * HW_MEMORY_SERIAL;
  if (mem->flags & CL_MEM_READ_ONLY)
    told |= HW_MEMORY_NO_WRITE;
  if (mem->flags & CL_MEM_WRITE_ONLY)
    told |= HW_MEMORY_NO_READ;
  uint32_t nobody = 0;
  if (generation && mem->unwritten) {
    if (atomic_compare_exchange_strong(&mem->known_by, &nobody, generation) || nobody == generation)
      told |= HW_MEMORY_UNWRITTEN;
    else
      mem->unwritten = false; // an earlier server knew what launches wrote
  }
  return told;
}

cl_int CL_API_CALL clRetainMemObject(cl_mem mem) { return hw_retain(mem, MAGIC_MEM, CL_INVALID_MEM_OBJECT); }
cl_int CL_API_CALL clReleaseMemObject(cl_mem mem) { return hw_release(mem, MAGIC_MEM, CL_INVALID_MEM_OBJECT); }

void hw_free_mem(cl_mem mem) {
  while (mem->destructors) { // the last that was registered is called first
    struct mem_destructor *next = mem->destructors->next;
    mem->destructors->call(mem, mem->destructors->data);
    free(mem->destructors);
    mem->destructors = next;
  }
  while (mem->maps) {
    struct map *next = mem->maps->next;
    free(mem->maps);
    mem->maps = next;
  }
  if (!mem->parent && !mem->host_is_svm)
    hw_arena_give(mem->offset, mem->size);
  free(mem->properties);
  hw_drop(mem->parent);
  hw_drop(mem->context);
}

cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem mem, mem_callback call, void *data) {
  if (!hw_is(mem, MAGIC_MEM))
    return CL_INVALID_MEM_OBJECT;
  if (!call)
    return CL_INVALID_VALUE;
  struct mem_destructor *made = malloc(sizeof *made);
  if (!made)
    return CL_OUT_OF_HOST_MEMORY;
  hw_lock(&mem->lock);
  *made = (struct mem_destructor){mem->destructors, call, data};
  mem->destructors = made;
  hw_unlock(&mem->lock);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem mem, cl_uint key, size_t size, void *value, size_t *size_ret) {
  if (!hw_is(mem, MAGIC_MEM))
    return CL_INVALID_MEM_OBJECT;
  switch (key) {
  case CL_MEM_TYPE:
    ANSWER(cl_uint, mem->type);
  case CL_MEM_FLAGS:
    ANSWER(cl_mem_flags, mem->flags);
  case CL_MEM_SIZE:
    ANSWER(size_t, mem->size);
  case CL_MEM_HOST_PTR:
    ANSWER(void *, mem->flags & CL_MEM_USE_HOST_PTR ? mem->host : NULL);
  case CL_MEM_MAP_COUNT:
    ANSWER(cl_uint, mem->map_count);
  case CL_MEM_REFERENCE_COUNT:
    ANSWER(cl_uint, mem->object.references);
  case CL_MEM_CONTEXT:
    ANSWER(cl_context, mem->context);
  case CL_MEM_ASSOCIATED_MEMOBJECT:
    ANSWER(cl_mem, mem->parent);
  case CL_MEM_OFFSET:
    ANSWER(size_t, mem->origin);
  case CL_MEM_USES_SVM_POINTER:
    ANSWER(cl_bool, mem->host_is_svm);
  case CL_MEM_PROPERTIES:
    return hw_answer(mem->properties, mem->properties_bytes, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

// -- the program's own memory

static void copy_host(cl_mem mem, bool to_arena) {
  if (!mem->host || mem->host_is_svm)
    return;
  if (!hw_is_image(mem)) {
    memcpy(to_arena ? mem->data : mem->host, to_arena ? mem->host : mem->data, mem->size);
    return;
  }
  size_t extent[3];
  hw_image_extent(mem, extent);
  for (size_t z = 0; z < extent[2]; z++)
    for (size_t y = 0; y < extent[1]; y++) {
      char *in_arena = mem->data + z * IMAGE_SLICE(mem) + y * IMAGE_ROW(mem);
      char *own = (char *)mem->host + z * mem->host_slice + y * mem->host_row;
      memcpy(to_arena ? in_arena : own, to_arena ? own : in_arena, extent[0] * mem->pixel);
    }
}

void hw_host_to_arena(cl_mem mem) { copy_host(mem, true); }
void hw_arena_to_host(cl_mem mem) { copy_host(mem, false); }

// -- pipes are not offered (CL_DEVICE_PIPE_SUPPORT is false)

cl_mem CL_API_CALL clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint packet, cl_uint packets,
                                const intptr_t *properties, cl_int *errcode_ret) {
  (void)flags, (void)packet, (void)packets, (void)properties;
  hw_set(errcode_ret, hw_is(context, MAGIC_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
  return NULL;
}

cl_int CL_API_CALL clGetPipeInfo(cl_mem pipe, cl_uint key, size_t size, void *value, size_t *size_ret) {
  (void)pipe, (void)key, (void)size, (void)value, (void)size_ret;
  return CL_INVALID_MEM_OBJECT;
}
