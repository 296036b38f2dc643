// Counting references, and answering questions about objects.
#include <stdlib.h>

#include "shim.h"

uint32_t hw_epoch;

void *hw_new(size_t bytes, uint32_t magic) {
  struct object *object = calloc(1, bytes);
  if (object) {
    object->dispatch = hw_dispatch;
    object->magic = magic;
    object->epoch = hw_epoch;
    object->references = 1;
    object->holds = 1;
  }
  return object;
}

void hw_hold(void *object) {
  if (object)
    atomic_fetch_add_explicit(&((struct object *)object)->holds, 1, memory_order_relaxed);
}

void hw_drop(void *handle) {
  struct object *object = handle;
  if (!object || atomic_fetch_sub(&object->holds, 1) != 1)
    return;
  uint32_t magic = object->magic;
  switch (magic) {
  case MAGIC_CONTEXT:
    hw_free_context(handle);
    break;
  case MAGIC_QUEUE:
    hw_destroy_queue(handle);
    break;
  case MAGIC_MEM:
    hw_free_mem(handle);
    break;
  case MAGIC_SAMPLER:
    hw_free_sampler(handle);
    break;
  case MAGIC_PROGRAM:
    hw_free_program(handle);
    break;
  case MAGIC_KERNEL:
    hw_free_kernel(handle);
    break;
  case MAGIC_EVENT:
    hw_free_event(handle);
    break;
  }
  object->magic = 0; // a handle that is used afterwards is refused, as long as nothing else lies there
  free(object);
}

cl_int hw_retain(void *handle, uint32_t magic, cl_int error) {
  if (!hw_is(handle, magic))
    return error;
  if (atomic_fetch_add(&((struct object *)handle)->references, 1) == 0)
    hw_hold(handle); // the program's references together are one hold, which it had given up
  return CL_SUCCESS;
}

cl_int hw_release(void *handle, uint32_t magic, cl_int error) {
  if (!hw_is(handle, magic))
    return error;
  atomic_uint *references = &((struct object *)handle)->references;
  uint32_t count = atomic_load(references);
  do
    if (!count)
      return error; // released already: what holds it still is not the program
  while (!atomic_compare_exchange_weak(references, &count, count - 1));
  if (count == 1)
    hw_drop(handle);
  return CL_SUCCESS;
}

cl_int hw_answer(const void *data, size_t bytes, size_t room, void *value, size_t *size) {
  if (value && room < bytes)
    return CL_INVALID_VALUE;
  if (value && bytes)
    memcpy(value, data, bytes);
  if (size)
    *size = bytes;
  return CL_SUCCESS;
}

cl_int hw_answer_text(const char *text, size_t room, void *value, size_t *size) {
  return hw_answer(text, strlen(text) + 1, room, value, size);
}

cl_properties *hw_copy_properties(const cl_properties *properties, size_t *bytes) {
  *bytes = 0;
  if (!properties)
    return NULL;
  size_t count = 0;
  while (properties[count])
    count += 2;
  size_t size = (count + 1) * sizeof *properties;
  cl_properties *copy = malloc(size);
  if (copy) {
    memcpy(copy, properties, size);
    *bytes = size;
  }
  return copy;
}

struct hw_bytes hw_text(const char *text) { return (struct hw_bytes){text, (uint32_t)strlen(text)}; }

char *hw_copy_text(const char *text, size_t size) {
  char *copy = malloc(size + 1);
  if (copy) {
    if (size)
      memcpy(copy, text, size);
    copy[size] = 0;
  }
  return copy;
}
