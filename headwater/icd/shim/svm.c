// Coarse-grained shared virtual memory: pieces of the arena, which the server has at the same addresses.
#include <stdlib.h>

#include "api.h"
#include "transfer.h"

static hw_mutex lock = HW_MUTEX_INIT;
static struct svm *pieces;

bool hw_find_svm(const void *pointer, struct svm *found) {
  uint64_t at = (uint64_t)((const char *)pointer - hw_arena.base);
  bool good = false;
  if (!pointer || !hw_arena.base || (const char *)pointer < hw_arena.base || at >= hw_arena.size)
    return false;
  hw_lock(&lock);
  for (struct svm *piece = pieces; piece && !good; piece = piece->next)
    if (at >= piece->offset && at < piece->offset + piece->bytes) {
      *found = *piece;
      good = true;
    }
  hw_unlock(&lock);
  return good;
}

static bool offered(cl_context context) {
  for (cl_uint i = 0; i < context->device_count; i++)
    if (context->devices[i]->svm && hw_same_address)
      return true;
  return false;
}

void *CL_API_CALL clSVMAlloc(cl_context context, cl_mem_flags flags, size_t bytes, cl_uint alignment) {
  cl_mem_flags access = flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY);
  if (!hw_is(context, MAGIC_CONTEXT) || !offered(context) || flags != access || access & (access - 1) || !bytes ||
      alignment & (alignment - 1) || alignment > 4096)
    return NULL;
  bool fits = false;
  for (cl_uint i = 0; i < context->device_count; i++)
    fits |= bytes <= context->devices[i]->max_alloc;
  struct svm *piece = fits ? malloc(sizeof *piece) : NULL;
  if (!piece)
    return NULL;
  uint64_t offset = hw_arena_take(bytes);
  if (offset == HW_NULL_OFFSET) {
    free(piece);
    return NULL;
  }
  hw_lock(&lock);
  *piece = (struct svm){pieces, offset, bytes, context};
  pieces = piece;
  hw_unlock(&lock);
  return hw_arena.base + offset;
}

void CL_API_CALL clSVMFree(cl_context context, void *pointer) {
  if (!hw_is(context, MAGIC_CONTEXT) || !pointer)
    return;
  uint64_t offset = (uint64_t)((char *)pointer - hw_arena.base);
  hw_lock(&lock);
  struct svm **at = &pieces;
  while (*at && ((*at)->offset != offset || (*at)->context != context))
    at = &(*at)->next;
  struct svm *piece = *at;
  if (piece)
    *at = piece->next;
  hw_unlock(&lock);
  if (piece)
    hw_arena_give(piece->offset, piece->bytes);
  free(piece);
}

// What enqueuing functions check: the device has such memory.
static cl_int check(cl_command_queue q, cl_uint count, const cl_event *waits) {
  cl_int error = hw_check_enqueue(q, count, waits);
  return error ? error : q->device->svm && hw_same_address ? CL_SUCCESS : CL_INVALID_OPERATION;
}

static cl_int run_free(struct command *c) {
  if (c->free_call)
    c->free_call(c->event->queue, c->pointer_count, c->pointers, c->pointer);
  else
    for (cl_uint i = 0; i < c->pointer_count; i++)
      clSVMFree(c->event->context, c->pointers[i]);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clEnqueueSVMFree(cl_command_queue q, cl_uint pointer_count, void *pointers[], svm_free_callback call,
                                    void *data, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int error = check(q, count, waits);
  if (error)
    return error;
  if ((pointer_count != 0) != (pointers != NULL))
    return CL_INVALID_VALUE;
  struct command *c = hw_command(q, CL_COMMAND_SVM_FREE, count, waits, run_free);
  void **copy = c ? malloc((pointer_count + 1) * sizeof *copy) : NULL;
  if (!copy) {
    if (c)
      hw_free_command(c);
    return CL_OUT_OF_HOST_MEMORY;
  }
  if (pointer_count)
    memcpy(copy, pointers, pointer_count * sizeof *copy);
  c->pointers = c->owned = copy;
  c->pointer_count = pointer_count;
  c->free_call = call;
  c->pointer = data;
  return hw_enqueue(q, c, false, event);
}

static cl_int run_copy(struct command *c) {
  memcpy(c->pointers, c->pointer, c->size);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clEnqueueSVMMemcpy(cl_command_queue q, cl_bool wait, void *to, const void *from, size_t size,
                                      cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int error = check(q, count, waits);
  if (error)
    return error;
  if (!to || !from)
    return CL_INVALID_VALUE;
  if ((const char *)to < (const char *)from + size && (const char *)from < (const char *)to + size)
    return CL_MEM_COPY_OVERLAP;
  struct command *c = hw_command(q, CL_COMMAND_SVM_MEMCPY, count, waits, run_copy);
  if (c) {
    c->pointers = to;
    c->pointer = (void *)from;
    c->size = size;
  }
  return hw_enqueue(q, c, wait, event);
}

static cl_int run_fill(struct command *c) {
  for (size_t done = 0; done < c->size; done += c->pattern_bytes)
    memcpy((char *)c->pointer + done, c->pattern, c->pattern_bytes);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clEnqueueSVMMemFill(cl_command_queue q, void *pointer, const void *pattern, size_t bytes,
                                       size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int error = check(q, count, waits);
  if (error)
    return error;
  if (!pointer || !pattern || !bytes || bytes > 128 || bytes & (bytes - 1) || size % bytes ||
      (uintptr_t)pointer % bytes)
    return CL_INVALID_VALUE;
  struct command *c = hw_command(q, CL_COMMAND_SVM_MEMFILL, count, waits, run_fill);
  if (c) {
    c->pointer = pointer;
    c->size = size;
    c->pattern_bytes = bytes;
    memcpy(c->pattern, pattern, bytes);
  }
  return hw_enqueue(q, c, false, event);
}

// Both sides see the same memory: mapping only orders commands.
cl_int CL_API_CALL clEnqueueSVMMap(cl_command_queue q, cl_bool wait, cl_map_flags flags, void *pointer, size_t size,
                                   cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int error = check(q, count, waits);
  if (error)
    return error;
  if (!pointer || !size || !hw_map_flags_valid(flags))
    return CL_INVALID_VALUE;
  return hw_enqueue(q, hw_command(q, CL_COMMAND_SVM_MAP, count, waits, NULL), wait, event);
}

cl_int CL_API_CALL clEnqueueSVMUnmap(cl_command_queue q, void *pointer, cl_uint count, const cl_event *waits,
                                     cl_event *event) {
  cl_int error = check(q, count, waits);
  if (error)
    return error;
  if (!pointer)
    return CL_INVALID_VALUE;
  return hw_enqueue(q, hw_command(q, CL_COMMAND_SVM_UNMAP, count, waits, NULL), false, event);
}

cl_int CL_API_CALL clEnqueueSVMMigrateMem(cl_command_queue q, cl_uint pointer_count, const void **pointers,
                                          const size_t *sizes, cl_bitfield flags, cl_uint count, const cl_event *waits,
                                          cl_event *event) {
  cl_int error = check(q, count, waits);
  if (error)
    return error;
  if (!pointer_count || !pointers ||
      flags & ~(cl_bitfield)(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED))
    return CL_INVALID_VALUE;
  struct svm svm;
  for (cl_uint i = 0; i < pointer_count; i++) {
    if (!hw_find_svm(pointers[i], &svm))
      return CL_INVALID_VALUE;
    uint64_t at = (uint64_t)((const char *)pointers[i] - hw_arena.base);
    if (sizes && sizes[i] > svm.offset + svm.bytes - at)
      return CL_INVALID_VALUE;
  }
  return hw_enqueue(q, hw_command(q, CL_COMMAND_SVM_MIGRATE_MEM, count, waits, NULL), false, event);
}
