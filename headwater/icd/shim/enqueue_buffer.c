// Commands on buffers, mapping, migration and native kernels. They run in the host's process, on the arena.
#include <stdlib.h>

#include "api.h"
#include "transfer.h"

static bool is_buffer(cl_mem mem) { return hw_is(mem, MAGIC_MEM) && !hw_is_image(mem); }
static bool inside(cl_mem mem, size_t offset, size_t size) { return offset <= mem->size && size <= mem->size - offset; }

// A part of a buffer has to begin where the queue's device wants it.
static bool misaligned(cl_command_queue q, cl_mem mem) { return mem->parent && mem->origin % q->device->base_align_bytes; }

static cl_int check_buffer(cl_command_queue q, cl_mem mem) {
  if (!is_buffer(mem))
    return CL_INVALID_MEM_OBJECT;
  if (mem->context != q->context)
    return CL_INVALID_CONTEXT;
  return misaligned(q, mem) ? CL_MISALIGNED_SUB_BUFFER_OFFSET : CL_SUCCESS;
}

// -- reading and writing

static cl_int run_read(struct command *c) {
  memcpy(c->pointer, c->mems[0]->data + c->offset, c->size);
  return CL_SUCCESS;
}

static cl_int run_write(struct command *c) {
  memcpy(c->mems[0]->data + c->offset, c->pointer, c->size);
  return CL_SUCCESS;
}

static cl_int transfer(cl_command_queue q, cl_mem mem, bool wait, size_t offset, size_t size, void *pointer, bool reads,
                       cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (!error)
    error = check_buffer(q, mem);
  if (!error && (!pointer || !inside(mem, offset, size)))
    error = CL_INVALID_VALUE;
  if (!error && (reads ? NO_READ(mem) : NO_WRITE(mem)))
    error = CL_INVALID_OPERATION;
  if (error)
    return error;
  struct command *c = hw_command(q, reads ? CL_COMMAND_READ_BUFFER : CL_COMMAND_WRITE_BUFFER, count, waits,
                                 reads ? run_read : run_write);
  if (c) {
    c->mems[0] = mem;
    c->pointer = pointer;
    c->offset = offset;
    c->size = size;
  }
  return hw_enqueue(q, c, wait, event);
}

cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue q, cl_mem mem, cl_bool wait, size_t offset, size_t size,
                                       void *pointer, cl_uint count, const cl_event *waits, cl_event *event) {
  return transfer(q, mem, wait, offset, size, pointer, true, count, waits, event);
}

cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue q, cl_mem mem, cl_bool wait, size_t offset, size_t size,
                                        const void *pointer, cl_uint count, const cl_event *waits, cl_event *event) {
  return transfer(q, mem, wait, offset, size, (void *)pointer, false, count, waits, event);
}

// -- boxes

void hw_copy_box(char *to, const struct rectangle *to_box, const char *from, const struct rectangle *from_box,
                 const size_t region[3]) {
  const size_t *t = to_box->offset, *f = from_box->offset;
  for (size_t z = 0; z < region[2]; z++)
    for (size_t y = 0; y < region[1]; y++)
      memcpy(to + t[0] + (t[1] + y) * to_box->row + (t[2] + z) * to_box->slice,
             from + f[0] + (f[1] + y) * from_box->row + (f[2] + z) * from_box->slice, region[0]);
}

// mems[0]: from, mems[1]: to; where there is none, the program's memory.
cl_int hw_run_copy_box(struct command *c) {
  const char *from = c->mems[0] ? c->mems[0]->data : c->pointer;
  char *to = c->mems[1] ? c->mems[1]->data : c->pointer;
  hw_copy_box(to, &c->to, from, &c->from, c->region);
  return CL_SUCCESS;
}

// The pitches that were given, or those of a box without gaps; false if they are too small.
static bool set_box(struct rectangle *box, const size_t *origin, const size_t *region, size_t row, size_t slice) {
  box->row = row ? row : region[0];
  box->slice = slice ? slice : region[1] * box->row;
  memcpy(box->offset, origin, sizeof box->offset);
  return box->row >= region[0] && box->slice >= region[1] * box->row && (!slice || slice % box->row == 0);
}

// Whether a box ends within `size` bytes. Sizes are the program's own, and may be anything.
static bool box_inside(const struct rectangle *box, const size_t *region, size_t size) {
  for (int i = 0; i < 3; i++)
    if (box->offset[i] > size || region[i] > size)
      return false;
  size_t rows = box->offset[1] + region[1] - 1, slices = box->offset[2] + region[2] - 1;
  size_t line = box->offset[0] + region[0];
  if (line > size || (rows && box->row > (size - line) / rows))
    return false;
  line += rows * box->row;
  return !slices || box->slice <= (size - line) / slices;
}

static cl_int transfer_box(cl_command_queue q, cl_mem mem, bool wait, const size_t *origin, const size_t *host_origin,
                           const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice,
                           void *pointer, bool reads, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (!error)
    error = check_buffer(q, mem);
  struct rectangle box, host;
  if (!error &&
      (!pointer || !origin || !host_origin || !region || !region[0] || !region[1] || !region[2] ||
       !set_box(&box, origin, region, row, slice) || !set_box(&host, host_origin, region, host_row, host_slice) ||
       !box_inside(&box, region, mem->size)))
    error = CL_INVALID_VALUE;
  if (!error && (reads ? NO_READ(mem) : NO_WRITE(mem)))
    error = CL_INVALID_OPERATION;
  if (error)
    return error;
  struct command *c =
      hw_command(q, reads ? CL_COMMAND_READ_BUFFER_RECT : CL_COMMAND_WRITE_BUFFER_RECT, count, waits, hw_run_copy_box);
  if (c) {
    c->mems[!reads] = mem;
    c->pointer = pointer;
    c->from = reads ? box : host;
    c->to = reads ? host : box;
    memcpy(c->region, region, sizeof c->region);
  }
  return hw_enqueue(q, c, wait, event);
}

cl_int CL_API_CALL clEnqueueReadBufferRect(cl_command_queue q, cl_mem mem, cl_bool wait, const size_t *origin,
                                           const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                                           size_t host_row, size_t host_slice, void *pointer, cl_uint count,
                                           const cl_event *waits, cl_event *event) {
  return transfer_box(q, mem, wait, origin, host_origin, region, row, slice, host_row, host_slice, pointer, true, count,
                      waits, event);
}

cl_int CL_API_CALL clEnqueueWriteBufferRect(cl_command_queue q, cl_mem mem, cl_bool wait, const size_t *origin,
                                            const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                                            size_t host_row, size_t host_slice, const void *pointer, cl_uint count,
                                            const cl_event *waits, cl_event *event) {
  return transfer_box(q, mem, wait, origin, host_origin, region, row, slice, host_row, host_slice, (void *)pointer,
                      false, count, waits, event);
}

// -- copying and filling

static cl_int run_copy(struct command *c) {
  memcpy(c->mems[1]->data + c->bytes, c->mems[0]->data + c->offset, c->size);
  return CL_SUCCESS;
}

static cl_int check_two(cl_command_queue q, cl_mem from, cl_mem to) {
  cl_int error = check_buffer(q, from);
  return error ? error : check_buffer(q, to);
}

cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                                       size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (!error)
    error = check_two(q, from, to);
  if (!error && (!inside(from, from_offset, size) || !inside(to, to_offset, size)))
    error = CL_INVALID_VALUE;
  uint64_t f = error ? 0 : from->offset + from_offset, t = error ? 0 : to->offset + to_offset;
  if (!error && f < t + size && t < f + size)
    error = CL_MEM_COPY_OVERLAP;
  if (error)
    return error;
  struct command *c = hw_command(q, CL_COMMAND_COPY_BUFFER, count, waits, run_copy);
  if (c) {
    c->mems[0] = from;
    c->mems[1] = to;
    c->offset = from_offset;
    c->bytes = to_offset;
    c->size = size;
  }
  return hw_enqueue(q, c, false, event);
}

// Whether two boxes of the same memory meet: exactly, where they have the same pitches; else by their ends.
static bool overlap(uint64_t from, const struct rectangle *f, uint64_t to, const struct rectangle *t,
                    const size_t *region) {
  uint64_t a = from + f->offset[0] + f->offset[1] * f->row + f->offset[2] * f->slice;
  uint64_t b = to + t->offset[0] + t->offset[1] * t->row + t->offset[2] * t->slice;
  uint64_t a_end = a + region[0] + (region[1] - 1) * f->row + (region[2] - 1) * f->slice;
  uint64_t b_end = b + region[0] + (region[1] - 1) * t->row + (region[2] - 1) * t->slice;
  if (a_end <= b || b_end <= a)
    return false;
  if (f->row != t->row || f->slice != t->slice || from != to)
    return true;
  for (int i = 0; i < 3; i++)
    if (f->offset[i] + region[i] <= t->offset[i] || t->offset[i] + region[i] <= f->offset[i])
      return false;
  return true;
}

cl_int CL_API_CALL clEnqueueCopyBufferRect(cl_command_queue q, cl_mem from, cl_mem to, const size_t *from_origin,
                                           const size_t *to_origin, const size_t *region, size_t from_row,
                                           size_t from_slice, size_t to_row, size_t to_slice, cl_uint count,
                                           const cl_event *waits, cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (!error)
    error = check_two(q, from, to);
  struct rectangle f, t;
  if (!error && (!from_origin || !to_origin || !region || !region[0] || !region[1] || !region[2] ||
                 !set_box(&f, from_origin, region, from_row, from_slice) ||
                 !set_box(&t, to_origin, region, to_row, to_slice) || !box_inside(&f, region, from->size) ||
                 !box_inside(&t, region, to->size)))
    error = CL_INVALID_VALUE;
  if (!error && from == to && (f.row != t.row || f.slice != t.slice))
    error = CL_INVALID_VALUE;
  if (!error && overlap(from->offset, &f, to->offset, &t, region))
    error = CL_MEM_COPY_OVERLAP;
  if (error)
    return error;
  struct command *c = hw_command(q, CL_COMMAND_COPY_BUFFER_RECT, count, waits, hw_run_copy_box);
  if (c) {
    c->mems[0] = from;
    c->mems[1] = to;
    c->from = f;
    c->to = t;
    memcpy(c->region, region, sizeof c->region);
  }
  return hw_enqueue(q, c, false, event);
}

// Repeat `bytes` bytes that stand at `to` until `size` are filled.
static void repeat(char *to, size_t bytes, size_t size) {
  for (size_t done = bytes; done < size;) {
    size_t part = done < size - done ? done : size - done;
    memcpy(to + done, to, part);
    done += part;
  }
}

static cl_int run_fill(struct command *c) {
  char *to = c->mems[0] ? c->mems[0]->data + c->offset : c->pointer;
  if (c->size) {
    memcpy(to, c->pattern, c->pattern_bytes);
    repeat(to, c->pattern_bytes, c->size);
  }
  return CL_SUCCESS;
}

// OpenCL's types have 1 to 128 bytes.
static bool pattern_valid(const void *pattern, size_t bytes) {
  return pattern && bytes && bytes <= 128 && !(bytes & (bytes - 1));
}

cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue q, cl_mem mem, const void *pattern, size_t bytes, size_t offset,
                                       size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (!error)
    error = check_buffer(q, mem);
  if (!error && (!inside(mem, offset, size) || !pattern_valid(pattern, bytes) || offset % bytes || size % bytes))
    error = CL_INVALID_VALUE;
  if (error)
    return error;
  struct command *c = hw_command(q, CL_COMMAND_FILL_BUFFER, count, waits, run_fill);
  if (c) {
    c->mems[0] = mem;
    c->offset = offset;
    c->size = size;
    c->pattern_bytes = bytes;
    memcpy(c->pattern, pattern, bytes);
  }
  return hw_enqueue(q, c, false, event);
}

// -- mapping

struct map *hw_add_map(cl_mem mem, void *pointer, cl_map_flags flags) {
  struct map *map = calloc(1, sizeof *map);
  if (!map)
    return NULL;
  map->pointer = pointer;
  map->flags = flags;
  hw_lock(&mem->lock);
  map->next = mem->maps;
  mem->maps = map;
  mem->map_count++;
  hw_unlock(&mem->lock);
  return map;
}

// A mapping that the program never got.
void hw_remove_map(cl_mem mem, struct map *map) {
  hw_lock(&mem->lock);
  struct map **at = &mem->maps;
  while (*at && *at != map)
    at = &(*at)->next;
  if (*at) {
    *at = map->next;
    mem->map_count--;
    free(map);
  }
  hw_unlock(&mem->lock);
}

// Bring a mapped part to or from the program's own memory.
static void exchange(cl_mem mem, const struct map *map, bool to_host) {
  if (!mem->host || mem->host_is_svm)
    return;
  if (!hw_is_image(mem)) {
    char *own = (char *)mem->host + map->offset, *ours = mem->data + map->offset;
    memcpy(to_host ? own : ours, to_host ? ours : own, map->bytes);
    return;
  }
  struct rectangle ours = {{map->origin[0] * mem->pixel, map->origin[1], map->origin[2]}, IMAGE_ROW(mem), IMAGE_SLICE(mem)};
  struct rectangle own = {{map->origin[0] * mem->pixel, map->origin[1], map->origin[2]}, mem->host_row, mem->host_slice};
  size_t region[3] = {map->region[0] * mem->pixel, map->region[1], map->region[2]};
  if (to_host)
    hw_copy_box(mem->host, &own, mem->data, &ours, region);
  else
    hw_copy_box(mem->data, &ours, mem->host, &own, region);
}

cl_int hw_run_map(struct command *c) {
  if (!(c->map->flags & CL_MAP_WRITE_INVALIDATE_REGION))
    exchange(c->mems[0], c->map, true);
  return CL_SUCCESS;
}

void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue q, cl_mem mem, cl_bool wait, cl_map_flags flags, size_t offset,
                                     size_t size, cl_uint count, const cl_event *waits, cl_event *event,
                                     cl_int *errcode_ret) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (!error)
    error = check_buffer(q, mem);
  if (!error && (!size || !inside(mem, offset, size) || !hw_map_flags_valid(flags)))
    error = CL_INVALID_VALUE;
  if (!error && ((flags & CL_MAP_READ && NO_READ(mem)) ||
                 (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) && NO_WRITE(mem))))
    error = CL_INVALID_OPERATION;
  void *pointer = NULL;
  if (!error) {
    pointer = (mem->host ? (char *)mem->host : mem->data) + offset;
    struct command *c = hw_command(q, CL_COMMAND_MAP_BUFFER, count, waits, hw_run_map);
    struct map *map = c ? hw_add_map(mem, pointer, flags) : NULL;
    if (map) {
      map->offset = offset;
      map->bytes = size;
      c->mems[0] = mem;
      c->map = map;
      if ((error = hw_enqueue(q, c, wait, event)))
        hw_remove_map(mem, map);
    } else {
      if (c)
        hw_free_command(c);
      error = CL_OUT_OF_HOST_MEMORY;
    }
  }
  hw_set(errcode_ret, error);
  return error ? NULL : pointer;
}

static cl_int run_unmap(struct command *c) {
  if (c->map->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
    exchange(c->mems[0], c->map, false);
  c->mems[0]->map_count--;
  return CL_SUCCESS;
}

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue q, cl_mem mem, void *pointer, cl_uint count,
                                           const cl_event *waits, cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (error)
    return error;
  if (!hw_is(mem, MAGIC_MEM))
    return CL_INVALID_MEM_OBJECT;
  if (mem->context != q->context)
    return CL_INVALID_CONTEXT;
  struct command *c = hw_command(q, CL_COMMAND_UNMAP_MEM_OBJECT, count, waits, run_unmap);
  if (!c)
    return CL_OUT_OF_HOST_MEMORY;
  hw_lock(&mem->lock);
  struct map **at = &mem->maps;
  while (*at && (*at)->pointer != pointer)
    at = &(*at)->next;
  struct map *map = *at;
  if (map)
    *at = map->next;
  hw_unlock(&mem->lock);
  if (!map) {
    hw_free_command(c);
    return CL_INVALID_VALUE;
  }
  c->mems[0] = mem;
  c->map = c->owned = map;
  return hw_enqueue(q, c, false, event);
}

// -- migration: all devices work on the same memory

cl_int CL_API_CALL clEnqueueMigrateMemObjects(cl_command_queue q, cl_uint mem_count, const cl_mem *mems,
                                              cl_bitfield flags, cl_uint count, const cl_event *waits,
                                              cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (error)
    return error;
  if (!mem_count || !mems ||
      flags & ~(cl_bitfield)(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED))
    return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < mem_count; i++) {
    if (!hw_is(mems[i], MAGIC_MEM))
      return CL_INVALID_MEM_OBJECT;
    if (mems[i]->context != q->context)
      return CL_INVALID_CONTEXT;
  }
  return hw_enqueue(q, hw_command(q, CL_COMMAND_MIGRATE_MEM_OBJECTS, count, waits, NULL), false, event);
}

// -- native kernels: functions of the host, called in a thread of the queue's

static cl_int run_native(struct command *c) {
  c->native(c->pointer);
  return CL_SUCCESS;
}

static void clear_native(struct command *c) {
  for (uint32_t i = 0; i < c->kernel_mem_count; i++)
    hw_drop(c->kernel_mems[i]);
  free(c->kernel_mems);
}

cl_int CL_API_CALL clEnqueueNativeKernel(cl_command_queue q, native_kernel function, void *arguments, size_t bytes,
                                         cl_uint mem_count, const cl_mem *mems, const void **places, cl_uint count,
                                         const cl_event *waits, cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (error)
    return error;
  if (!function || (!arguments && (bytes || mem_count)) || (arguments && !bytes) || (mem_count && (!mems || !places)) ||
      (!mem_count && (mems || places)))
    return CL_INVALID_VALUE;
  if (q->device->type != CL_DEVICE_TYPE_CPU)
    return CL_INVALID_OPERATION;
  for (cl_uint i = 0; i < mem_count; i++)
    if (!is_buffer(mems[i]))
      return CL_INVALID_MEM_OBJECT;
  struct command *c = hw_command(q, CL_COMMAND_NATIVE_KERNEL, count, waits, run_native);
  char *copy = c ? malloc(bytes + 1) : NULL;
  cl_mem *held = copy && mem_count ? malloc(mem_count * sizeof *held) : NULL;
  if (!copy || (mem_count && !held)) {
    free(copy);
    if (c)
      hw_free_command(c);
    return CL_OUT_OF_HOST_MEMORY;
  }
  if (bytes)
    memcpy(copy, arguments, bytes);
  for (cl_uint i = 0; i < mem_count; i++) { // handles become addresses
    size_t at = (size_t)((const char *)places[i] - (const char *)arguments);
    void *address = mems[i]->data;
    if (bytes >= sizeof address && at <= bytes - sizeof address)
      memcpy(copy + at, &address, sizeof address);
    hw_hold(held[i] = mems[i]);
  }
  c->native = function;
  c->pointer = c->owned = copy;
  c->kernel_mems = held;
  c->kernel_mem_count = mem_count;
  c->clear = clear_native;
  return hw_enqueue(q, c, false, event);
}
