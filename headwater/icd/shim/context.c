// Contexts.
#include <stdio.h>
#include <stdlib.h>

#include "api.h"

bool hw_in_context(cl_context context, cl_device_id device) {
  for (cl_uint i = 0; i < context->device_count; i++)
    if (context->devices[i] == device)
      return true;
  return false;
}

void hw_report(cl_context context, const char *message) {
  if (context->notify)
    context->notify(message, NULL, 0, context->notify_data);
  else
    fprintf(stderr, "headwater: %s\n", message);
}

// The list of properties is right, and names no platform but ours.
static cl_int check_properties(const cl_context_properties *properties, size_t *bytes) {
  *bytes = 0;
  if (!properties)
    return CL_SUCCESS;
  bool platform = false, sync = false;
  size_t i = 0;
  for (; properties[i]; i += 2) {
    if (properties[i] == CL_CONTEXT_PLATFORM && !platform) {
      platform = true;
      if ((cl_platform_id)properties[i + 1] != &hw_platform)
        return CL_INVALID_PLATFORM;
    } else if (properties[i] == CL_CONTEXT_INTEROP_USER_SYNC && !sync) {
      sync = true;
      if (properties[i + 1] != CL_TRUE && properties[i + 1] != CL_FALSE)
        return CL_INVALID_PROPERTY;
    } else {
      return CL_INVALID_PROPERTY;
    }
  }
  *bytes = (i + 1) * sizeof *properties;
  return CL_SUCCESS;
}

cl_context CL_API_CALL clCreateContext(const cl_context_properties *properties, cl_uint count,
                                       const cl_device_id *devices, context_callback notify, void *data,
                                       cl_int *errcode_ret) {
  size_t bytes;
  cl_int error = check_properties(properties, &bytes);
  if (!error && (!devices || !count || (!notify && data)))
    error = CL_INVALID_VALUE;
  for (cl_uint i = 0; !error && i < count; i++)
    if (!hw_is_device(devices[i]))
      error = CL_INVALID_DEVICE;
  cl_context context = error ? NULL : hw_new(sizeof *context, MAGIC_CONTEXT);
  if (context) {
    context->devices = malloc(count * sizeof *devices);
    context->properties = bytes ? malloc(bytes) : NULL;
    if (!context->devices || (bytes && !context->properties)) {
      hw_drop(context);
      context = NULL;
    }
  }
  if (!context) {
    hw_set(errcode_ret, error ? error : CL_OUT_OF_HOST_MEMORY);
    return NULL;
  }
  for (cl_uint i = 0; i < count; i++) { // a device given twice counts once
    bool known = false;
    for (cl_uint j = 0; j < context->device_count; j++)
      known |= context->devices[j] == devices[i];
    if (!known)
      context->devices[context->device_count++] = devices[i];
  }
  if (bytes)
    memcpy(context->properties, properties, bytes);
  context->properties_bytes = bytes;
  context->notify = notify;
  context->notify_data = data;
  context->lock = (hw_mutex)HW_MUTEX_INIT;
  hw_set(errcode_ret, CL_SUCCESS);
  return context;
}

cl_context CL_API_CALL clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
                                               context_callback notify, void *data, cl_int *errcode_ret) {
  size_t bytes;
  cl_int error = check_properties(properties, &bytes);
  if (!error && !notify && data)
    error = CL_INVALID_VALUE;
  cl_uint count = 0;
  cl_device_id *devices = NULL;
  if (!error)
    error = clGetDeviceIDs(&hw_platform, type, 0, NULL, &count);
  if (!error && !(devices = malloc(count * sizeof *devices)))
    error = CL_OUT_OF_HOST_MEMORY;
  if (error) {
    hw_set(errcode_ret, error);
    return NULL;
  }
  clGetDeviceIDs(&hw_platform, type, count, devices, NULL);
  // CL_DEVICE_TYPE_DEFAULT means one device.
  cl_context context =
      clCreateContext(properties, type == CL_DEVICE_TYPE_DEFAULT ? 1 : count, devices, notify, data, errcode_ret);
  free(devices);
  return context;
}

cl_int CL_API_CALL clRetainContext(cl_context context) { return hw_retain(context, MAGIC_CONTEXT, CL_INVALID_CONTEXT); }
cl_int CL_API_CALL clReleaseContext(cl_context context) {
  return hw_release(context, MAGIC_CONTEXT, CL_INVALID_CONTEXT);
}

void hw_free_context(cl_context context) {
  while (context->destructors) {
    struct destructor *next = context->destructors->next;
    context->destructors->call(context, context->destructors->data);
    free(context->destructors);
    context->destructors = next;
  }
  free(context->devices);
  free(context->properties);
}

cl_int CL_API_CALL clSetContextDestructorCallback(cl_context context, destructor_callback call, void *data) {
  if (!hw_is(context, MAGIC_CONTEXT))
    return CL_INVALID_CONTEXT;
  if (!call)
    return CL_INVALID_VALUE;
  struct destructor *made = malloc(sizeof *made);
  if (!made)
    return CL_OUT_OF_HOST_MEMORY;
  hw_lock(&context->lock);
  *made = (struct destructor){context->destructors, call, data};
  context->destructors = made;
  hw_unlock(&context->lock);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetContextInfo(cl_context context, cl_uint key, size_t size, void *value, size_t *size_ret) {
  if (!hw_is(context, MAGIC_CONTEXT))
    return CL_INVALID_CONTEXT;
  switch (key) {
  case CL_CONTEXT_REFERENCE_COUNT:
    ANSWER(cl_uint, context->object.references);
  case CL_CONTEXT_NUM_DEVICES:
    ANSWER(cl_uint, context->device_count);
  case CL_CONTEXT_DEVICES:
    return hw_answer(context->devices, context->device_count * sizeof(cl_device_id), size, value, size_ret);
  case CL_CONTEXT_PROPERTIES:
    return hw_answer(context->properties, context->properties_bytes, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}
