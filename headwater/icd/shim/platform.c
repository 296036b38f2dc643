// The platform and its devices.
#include <stdio.h>
#include <stdlib.h>

#include "api.h"

struct _cl_platform_id hw_platform = {hw_dispatch};
struct _cl_device_id *hw_devices;
cl_uint hw_device_count;

#define VERSION_3_0 ((cl_uint)3 << 22)

static size_t number(cl_device_id device, cl_uint key, size_t at) {
  const struct device_info *info = hw_device_info(device, key);
  size_t value = 0;
  if (info && info->size >= (at + 1) * sizeof value)
    memcpy(&value, info->value + at * sizeof value, sizeof value);
  else if (info && info->size == 4 && !at)
    value = *(const uint32_t *)(const void *)info->value;
  return value;
}

void hw_take_devices(struct hw_list list) {
  struct hw_reader r = hw_entries(list);
  hw_devices = calloc(list.count, sizeof *hw_devices);
  for (uint32_t i = 0; hw_devices && i < list.count; i++) {
    cl_device_id device = hw_devices + i;
    struct hw_device record;
    hw_get_device(&r, &record);
    device->object = (struct object){hw_dispatch, MAGIC_DEVICE, 0, 1, 1};
    device->index = i;
    device->infos = calloc(record.infos.count, sizeof *device->infos);
    device->formats = calloc(record.formats.count, sizeof *device->formats);
    if (r.failed || !device->infos || (!device->formats && record.formats.count))
      return;
    struct hw_reader infos = hw_entries(record.infos), formats = hw_entries(record.formats);
    for (device->info_count = 0; device->info_count < record.infos.count; device->info_count++) {
      struct hw_info info;
      hw_get_info(&infos, &info);
      device->infos[device->info_count] = (struct device_info){info.key, info.value.size, info.value.data};
    }
    for (device->format_count = 0; device->format_count < record.formats.count; device->format_count++)
      hw_get_format(&formats, &device->formats[device->format_count]);
    device->type = number(device, CL_DEVICE_TYPE, 0);
    device->max_group = number(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, 0);
    for (size_t d = 0; d < 3; d++)
      device->max_items[d] = number(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, d);
    device->max_alloc = number(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0);
    device->local_bytes = number(device, CL_DEVICE_LOCAL_MEM_SIZE, 0);
    device->svm = number(device, CL_DEVICE_SVM_CAPABILITIES, 0);
    device->base_align_bytes = (cl_uint)number(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 0) / 8;
    device->pitch_pixels = (cl_uint)number(device, CL_DEVICE_IMAGE_PITCH_ALIGNMENT, 0);
    device->images = (cl_uint)number(device, CL_DEVICE_IMAGE_SUPPORT, 0);
    device->address_bits = (cl_uint)number(device, CL_DEVICE_ADDRESS_BITS, 0);
    device->image2d[0] = number(device, CL_DEVICE_IMAGE2D_MAX_WIDTH, 0);
    device->image2d[1] = number(device, CL_DEVICE_IMAGE2D_MAX_HEIGHT, 0);
    device->image3d[0] = number(device, CL_DEVICE_IMAGE3D_MAX_WIDTH, 0);
    device->image3d[1] = number(device, CL_DEVICE_IMAGE3D_MAX_HEIGHT, 0);
    device->image3d[2] = number(device, CL_DEVICE_IMAGE3D_MAX_DEPTH, 0);
    device->image_layers = number(device, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, 0);
    device->image_buffer = number(device, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, 0);
    hw_device_count = i + 1;
  }
}

const struct device_info *hw_device_info(cl_device_id device, cl_uint key) {
  for (uint32_t i = 0; i < device->info_count; i++)
    if (device->infos[i].key == key)
      return device->infos + i;
  return NULL;
}

bool hw_is_device(cl_device_id device) {
  for (cl_uint i = 0; i < hw_device_count; i++)
    if (device == hw_devices + i)
      return true;
  return false;
}

// -- platform

cl_int CL_API_CALL clGetPlatformIDs(cl_uint count, cl_platform_id *platforms, cl_uint *found) {
  if ((!count && platforms) || (!platforms && !found))
    return CL_INVALID_VALUE;
  // A server that starts the loader (it uses OpenCL devices too) must not find itself.
  const char *server = getenv("HEADWATER_SERVER");
  bool ready = !(server && *server) && hw_ready();
  if (found)
    *found = ready;
  if (platforms && ready)
    *platforms = &hw_platform;
  return ready ? CL_SUCCESS : CL_PLATFORM_NOT_FOUND_KHR;
}

HW_EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *platforms, cl_uint *found) {
  return clGetPlatformIDs(count, platforms, found);
}

#define PLATFORM_EXTENSIONS "cl_khr_icd cl_khr_extended_versioning cl_khr_create_command_queue cl_khr_suggested_local_work_size"

HW_EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_uint key, size_t size, void *value, size_t *size_ret) {
  if (platform && platform != &hw_platform)
    return CL_INVALID_PLATFORM;
  switch (key) {
  case CL_PLATFORM_NAME:
    return hw_answer_text("Headwater", size, value, size_ret);
  case CL_PLATFORM_VENDOR:
    return hw_answer_text("The Headwater developers", size, value, size_ret);
  case CL_PLATFORM_VERSION:
    return hw_answer_text("OpenCL 3.0 Headwater " HEADWATER_VERSION, size, value, size_ret);
  case CL_PLATFORM_PROFILE:
    return hw_answer_text("FULL_PROFILE", size, value, size_ret);
  case CL_PLATFORM_EXTENSIONS:
    return hw_answer_text(PLATFORM_EXTENSIONS, size, value, size_ret);
  case CL_PLATFORM_ICD_SUFFIX_KHR:
    return hw_answer_text("HDW", size, value, size_ret);
  case CL_PLATFORM_NUMERIC_VERSION:
    ANSWER(cl_uint, VERSION_3_0);
  case CL_PLATFORM_HOST_TIMER_RESOLUTION:
    ANSWER(cl_ulong, hw_clock_step());
  case CL_PLATFORM_EXTENSIONS_WITH_VERSION: {
    cl_name_version versions[8];
    size_t count = 0;
    char names[] = PLATFORM_EXTENSIONS;
    for (char *name = names; name;) {
      char *end = strchr(name, ' ');
      if (end)
        *end = 0;
      memset(&versions[count], 0, sizeof *versions);
      versions[count].version = (cl_uint)1 << 22;
      strcpy(versions[count++].name, name);
      name = end ? end + 1 : NULL;
    }
    return hw_answer(versions, count * sizeof *versions, size, value, size_ret);
  }
  }
  return CL_INVALID_VALUE;
}

// -- devices

#define KNOWN_TYPES (CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM)

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id *devices,
                                  cl_uint *found) {
  if (platform && platform != &hw_platform)
    return CL_INVALID_PLATFORM;
  if (type != CL_DEVICE_TYPE_ALL && (!type || type & ~(cl_device_type)KNOWN_TYPES))
    return CL_INVALID_DEVICE_TYPE;
  if ((!count && devices) || (!devices && !found))
    return CL_INVALID_VALUE;
  cl_uint n = 0;
  hw_ready();
  for (cl_uint i = 0; i < hw_device_count; i++) {
    bool meant = type == CL_DEVICE_TYPE_ALL || type & hw_devices[i].type || (type & CL_DEVICE_TYPE_DEFAULT && !i);
    if (!meant)
      continue;
    if (devices && n < count)
      devices[n] = hw_devices + i;
    n++;
  }
  if (found)
    *found = n;
  return n ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_uint key, size_t size, void *value, size_t *size_ret) {
  if (!hw_is_device(device))
    return CL_INVALID_DEVICE;
  switch (key) {
  case CL_DEVICE_PLATFORM:
    ANSWER(cl_platform_id, &hw_platform);
  case CL_DEVICE_PARENT_DEVICE:
    ANSWER(cl_device_id, NULL);
  case CL_DEVICE_REFERENCE_COUNT:
    ANSWER(cl_uint, 1);
  case CL_DEVICE_PROFILING_TIMER_RESOLUTION:
    ANSWER(size_t, (size_t)hw_clock_step());
  }
  const struct device_info *info = hw_device_info(device, key);
  return info ? hw_answer(info->value, info->size, size, value, size_ret) : CL_INVALID_VALUE;
}

cl_int CL_API_CALL clRetainDevice(cl_device_id device) { return hw_is_device(device) ? CL_SUCCESS : CL_INVALID_DEVICE; }
cl_int CL_API_CALL clReleaseDevice(cl_device_id device) { return hw_is_device(device) ? CL_SUCCESS : CL_INVALID_DEVICE; }

cl_int CL_API_CALL clCreateSubDevices(cl_device_id device, const intptr_t *properties, cl_uint count,
                                      cl_device_id *devices, cl_uint *found) {
  (void)properties, (void)count, (void)devices, (void)found;
  // CL_DEVICE_PARTITION_PROPERTIES is empty: no kind of partition is supported.
  return hw_is_device(device) ? CL_INVALID_VALUE : CL_INVALID_DEVICE;
}

cl_int CL_API_CALL clGetDeviceAndHostTimer(cl_device_id device, cl_ulong *device_time, cl_ulong *host_time) {
  if (!hw_is_device(device))
    return CL_INVALID_DEVICE;
  if (!device_time || !host_time)
    return CL_INVALID_VALUE;
  *device_time = *host_time = hw_now();
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetHostTimer(cl_device_id device, cl_ulong *host_time) {
  if (!hw_is_device(device))
    return CL_INVALID_DEVICE;
  if (!host_time)
    return CL_INVALID_VALUE;
  *host_time = hw_now();
  return CL_SUCCESS;
}

cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(cl_context context, cl_device_id device, cl_command_queue queue) {
  if (!hw_is(context, MAGIC_CONTEXT))
    return CL_INVALID_CONTEXT;
  if (!hw_is_device(device) || !hw_in_context(context, device))
    return CL_INVALID_DEVICE;
  (void)queue; // there are no queues on devices
  return CL_INVALID_OPERATION;
}

cl_int CL_API_CALL clUnloadCompiler(void) { return CL_SUCCESS; }
cl_int CL_API_CALL clUnloadPlatformCompiler(cl_platform_id platform) {
  return platform == &hw_platform ? CL_SUCCESS : CL_INVALID_PLATFORM;
}
