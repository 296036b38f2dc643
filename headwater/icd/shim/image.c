// Images and samplers.
#include <stdlib.h>

#include "api.h"
#include "memory.h"

bool hw_is_image(cl_mem mem) { return mem->type != CL_MEM_OBJECT_BUFFER; }

static size_t channels(cl_uint order) {
  switch (order) {
  case CL_R: case CL_A: case CL_INTENSITY: case CL_LUMINANCE: case CL_DEPTH:
    return 1;
  case CL_RG: case CL_RA: case CL_Rx:
    return 2;
  case CL_RGx: case CL_RGB: case CL_sRGB:
    return 3;
  case CL_RGBA: case CL_BGRA: case CL_ARGB: case CL_ABGR: case CL_RGBx: case CL_sRGBA: case CL_sBGRA: case CL_sRGBx:
    return 4;
  }
  return 0;
}

// Which types of channels an order may have: OpenCL 3.0 API specification, tables of channel orders and data types.
static bool goes_with(cl_uint order, cl_uint type) {
  bool bytes = type == CL_SNORM_INT8 || type == CL_UNORM_INT8 || type == CL_SIGNED_INT8 || type == CL_UNSIGNED_INT8;
  bool packed = type == CL_UNORM_SHORT_565 || type == CL_UNORM_SHORT_555 || type == CL_UNORM_INT_101010;
  switch (order) {
  case CL_INTENSITY: case CL_LUMINANCE:
    return type == CL_UNORM_INT8 || type == CL_UNORM_INT16 || type == CL_SNORM_INT8 || type == CL_SNORM_INT16 ||
           type == CL_HALF_FLOAT || type == CL_FLOAT;
  case CL_DEPTH:
    return type == CL_UNORM_INT16 || type == CL_FLOAT;
  case CL_RGB: case CL_RGBx:
    return packed;
  case CL_BGRA: case CL_ARGB: case CL_ABGR:
    return bytes;
  case CL_sRGB: case CL_sRGBx: case CL_sRGBA: case CL_sBGRA:
    return type == CL_UNORM_INT8;
  case CL_RGBA:
    return !packed;
  }
  return !packed && type != CL_UNORM_INT_101010_2;
}

// 0: OpenCL has no such format.
size_t hw_pixel_bytes(const cl_image_format *format) {
  size_t count = channels(format->image_channel_order);
  if (!goes_with(format->image_channel_order, format->image_channel_data_type))
    return 0;
  switch (format->image_channel_data_type) {
  case CL_SNORM_INT8: case CL_UNORM_INT8: case CL_SIGNED_INT8: case CL_UNSIGNED_INT8:
    return count;
  case CL_SNORM_INT16: case CL_UNORM_INT16: case CL_SIGNED_INT16: case CL_UNSIGNED_INT16: case CL_HALF_FLOAT:
    return 2 * count;
  case CL_SIGNED_INT32: case CL_UNSIGNED_INT32: case CL_FLOAT:
    return 4 * count;
  case CL_UNORM_SHORT_565: case CL_UNORM_SHORT_555:
    return 2;
  case CL_UNORM_INT_101010: case CL_UNORM_INT_101010_2:
    return 4;
  }
  return 0;
}

// Whether the devices of a context have a format: all of them if `all`.
static bool offered(cl_context context, const cl_image_format *format, cl_mem_flags flags, bool all) {
  bool some = false, every = true;
  for (cl_uint i = 0; i < context->device_count; i++) {
    cl_device_id device = context->devices[i];
    bool has = false;
    for (uint32_t f = 0; f < device->format_count; f++) {
      const struct hw_format *known = device->formats + f;
      if (known->order == format->image_channel_order && known->type == format->image_channel_data_type)
        has = flags & CL_MEM_KERNEL_READ_AND_WRITE ? known->both
              : flags & CL_MEM_WRITE_ONLY          ? known->write
              : flags & CL_MEM_READ_ONLY           ? known->read
                                                   : known->read && known->write;
    }
    some |= has;
    every &= has;
  }
  return all ? every : some;
}

static bool is_type(cl_uint type) {
  return type == CL_MEM_OBJECT_IMAGE1D || type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE1D_BUFFER ||
         type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE3D;
}

cl_int CL_API_CALL clGetSupportedImageFormats(cl_context context, cl_mem_flags flags, cl_uint type, cl_uint count,
                                              cl_image_format *formats, cl_uint *found) {
  if (!hw_is(context, MAGIC_CONTEXT))
    return CL_INVALID_CONTEXT;
  if (!is_type(type) || (!count && formats) || !hw_flags_valid(flags, true))
    return CL_INVALID_VALUE;
  cl_uint n = 0;
  // The union over the devices; each is asked for those that it has.
  for (cl_uint i = 0; i < context->device_count; i++) {
    cl_device_id device = context->devices[i];
    for (uint32_t f = 0; f < device->format_count; f++) {
      cl_image_format format = {device->formats[f].order, device->formats[f].type};
      bool known = false;
      for (cl_uint j = 0; j < i && !known; j++)
        for (uint32_t g = 0; g < context->devices[j]->format_count; g++)
          known |= context->devices[j]->formats[g].order == format.image_channel_order &&
                   context->devices[j]->formats[g].type == format.image_channel_data_type;
      if (known || !offered(context, &format, flags, false))
        continue;
      if (formats && n < count)
        formats[n] = format;
      n++;
    }
  }
  if (found)
    *found = n;
  return CL_SUCCESS;
}

void hw_image_extent(cl_mem mem, size_t extent[3]) {
  const cl_image_desc *d = &mem->image;
  extent[0] = d->image_width;
  extent[1] = extent[2] = 1;
  switch (mem->type) {
  case CL_MEM_OBJECT_IMAGE1D_ARRAY:
    extent[1] = d->image_array_size;
    break;
  case CL_MEM_OBJECT_IMAGE2D:
    extent[1] = d->image_height;
    break;
  case CL_MEM_OBJECT_IMAGE2D_ARRAY:
    extent[1] = d->image_height;
    extent[2] = d->image_array_size;
    break;
  case CL_MEM_OBJECT_IMAGE3D:
    extent[1] = d->image_height;
    extent[2] = d->image_depth;
    break;
  }
}

// Whether a device has images so large.
static bool fits(cl_device_id device, const cl_image_desc *d) {
  switch (d->image_type) {
  case CL_MEM_OBJECT_IMAGE1D:
    return d->image_width <= device->image2d[0];
  case CL_MEM_OBJECT_IMAGE1D_BUFFER:
    return d->image_width <= device->image_buffer;
  case CL_MEM_OBJECT_IMAGE1D_ARRAY:
    return d->image_width <= device->image2d[0] && d->image_array_size <= device->image_layers;
  case CL_MEM_OBJECT_IMAGE2D:
    return d->image_width <= device->image2d[0] && d->image_height <= device->image2d[1];
  case CL_MEM_OBJECT_IMAGE2D_ARRAY:
    return d->image_width <= device->image2d[0] && d->image_height <= device->image2d[1] &&
           d->image_array_size <= device->image_layers;
  }
  return d->image_width <= device->image3d[0] && d->image_height <= device->image3d[1] &&
         d->image_depth <= device->image3d[2];
}

// The descriptor with the sizes that its type has, others as 1; CL_INVALID_IMAGE_DESCRIPTOR or CL_INVALID_IMAGE_SIZE.
static cl_int check_descriptor(const cl_image_desc *given, cl_image_desc *d) {
  if (!given || !is_type(given->image_type) || given->num_mip_levels || given->num_samples)
    return CL_INVALID_IMAGE_DESCRIPTOR;
  *d = *given;
  bool flat = d->image_type == CL_MEM_OBJECT_IMAGE1D || d->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER ||
              d->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  bool array = d->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY || d->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
  if (flat)
    d->image_height = 0;
  if (d->image_type != CL_MEM_OBJECT_IMAGE3D)
    d->image_depth = 0;
  if (!array)
    d->image_array_size = 0;
  if (!d->image_width || (!flat && !d->image_height) || (d->image_type == CL_MEM_OBJECT_IMAGE3D && !d->image_depth) ||
      (array && !d->image_array_size))
    return CL_INVALID_IMAGE_SIZE;
  return CL_SUCCESS;
}

// An image that shares another one's pixels has its sizes, and its format: the orders that may stand for each other
// (OpenCL 3.0 API specification, "Image Descriptor") are those of sRGB and of depths, which no device has.
static cl_int check_shared_image(cl_mem parent, const cl_image_format *format, const cl_image_desc *d) {
  const cl_image_desc *whole = &parent->image;
  if (parent->type != CL_MEM_OBJECT_IMAGE2D || (d->image_row_pitch && d->image_row_pitch != parent->host_row))
    return CL_INVALID_IMAGE_DESCRIPTOR;
  bool same = format->image_channel_order == parent->format.image_channel_order &&
              format->image_channel_data_type == parent->format.image_channel_data_type &&
              d->image_width == whole->image_width && d->image_height == whole->image_height;
  return same ? CL_SUCCESS : CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
}

static cl_int check_image(cl_context context, const cl_properties *properties, cl_mem_flags flags,
                          const cl_image_format *format, const cl_image_desc *given, const void *host,
                          cl_image_desc *d) {
  if (!hw_is(context, MAGIC_CONTEXT))
    return CL_INVALID_CONTEXT;
  if (properties && *properties)
    return CL_INVALID_PROPERTY;
  if (!hw_flags_valid(flags, true))
    return CL_INVALID_VALUE;
  if (!format || !hw_pixel_bytes(format))
    return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
  cl_int error = check_descriptor(given, d);
  if (error)
    return error;
  size_t pixel = hw_pixel_bytes(format), row = d->image_width * pixel;
  size_t layers = d->image_depth ? d->image_depth : d->image_array_size;
  bool shares = d->mem_object != NULL;
  bool of_buffer = shares && hw_is(d->mem_object, MAGIC_MEM) && !hw_is_image(d->mem_object);
  bool of_image = shares && hw_is(d->mem_object, MAGIC_MEM) && hw_is_image(d->mem_object);
  if (of_buffer && d->image_type == CL_MEM_OBJECT_IMAGE2D)
    return CL_INVALID_OPERATION; // that would be cl_khr_image2d_from_buffer
  if (of_buffer != (d->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER) ||
      (shares && !of_buffer && !(of_image && d->image_type == CL_MEM_OBJECT_IMAGE2D)))
    return CL_INVALID_IMAGE_DESCRIPTOR;
  if (shares && d->mem_object->context != context)
    return CL_INVALID_CONTEXT;
  if (of_image && (error = check_shared_image(d->mem_object, format, d)))
    return error;
  if (!host && !shares && (d->image_row_pitch || d->image_slice_pitch))
    return CL_INVALID_IMAGE_DESCRIPTOR;
  if ((host || of_buffer) && d->image_row_pitch && // Khronos' tests give the pitch of an image of a buffer
      (d->image_row_pitch < row || d->image_row_pitch % pixel))
    return CL_INVALID_IMAGE_DESCRIPTOR;
  size_t host_row = d->image_row_pitch ? d->image_row_pitch : row;
  size_t host_slice = host_row * (d->image_height ? d->image_height : 1);
  if (host && layers && d->image_slice_pitch && (d->image_slice_pitch < host_slice || d->image_slice_pitch % host_row))
    return CL_INVALID_IMAGE_DESCRIPTOR;
  bool some = false, sized = false;
  for (cl_uint i = 0; i < context->device_count; i++) {
    some |= context->devices[i]->images != 0;
    sized |= context->devices[i]->images && fits(context->devices[i], d);
  }
  if (!some)
    return CL_INVALID_OPERATION;
  if (!offered(context, format, flags, false))
    return CL_IMAGE_FORMAT_NOT_SUPPORTED;
  if (!sized)
    return CL_INVALID_IMAGE_SIZE;
  if (of_buffer && d->mem_object->size < row)
    return CL_INVALID_IMAGE_SIZE;
  return hw_check_host_pointer(flags, host);
}

cl_mem CL_API_CALL clCreateImageWithProperties(cl_context context, const cl_properties *properties, cl_mem_flags flags,
                                               const cl_image_format *format, const cl_image_desc *given, void *host,
                                               cl_int *errcode_ret) {
  cl_image_desc d;
  cl_int error = check_image(context, properties, flags, format, given, host, &d);
  cl_mem mem = NULL;
  if (!error) {
    size_t pixel = hw_pixel_bytes(format), row = d.image_width * pixel;
    size_t slice = row * (d.image_height ? d.image_height : 1);
    size_t layers = d.image_depth ? d.image_depth : d.image_array_size ? d.image_array_size : 1;
    uint64_t bytes = (uint64_t)row * (d.image_height ? d.image_height : 1) * layers; // a host of 32 bits may ask for more
    cl_mem parent = d.mem_object;
    if (parent && hw_is_image(parent))
      d.image_row_pitch = parent->host_row;
    if (parent && !hw_part_flags(parent, &flags))
      error = CL_INVALID_VALUE;
    else if (bytes > SIZE_MAX)
      error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    else
      mem = hw_new_mem(context, d.image_type, flags, (size_t)bytes, parent, 0, &error);
    if (mem) {
      mem->format = *format;
      mem->pixel = pixel;
      mem->host_row = d.image_row_pitch ? d.image_row_pitch : row;
      mem->host_slice = d.image_slice_pitch ? d.image_slice_pitch : mem->host_row * (d.image_height ? d.image_height : 1);
      if (d.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY) // its layers are rows
        mem->host_row = mem->host_slice;
      d.image_row_pitch = row;
      d.image_slice_pitch = slice;
      mem->image = d;
      if (host && !parent) {
        mem->host = host;
        hw_host_to_arena(mem);
        if (!(flags & CL_MEM_USE_HOST_PTR))
          mem->host = NULL;
      }
      if (properties)
        mem->properties = hw_copy_properties(properties, &mem->properties_bytes);
    }
  }
  hw_set(errcode_ret, error);
  return mem;
}

cl_mem CL_API_CALL clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                 const cl_image_desc *descriptor, void *host, cl_int *errcode_ret) {
  return clCreateImageWithProperties(context, NULL, flags, format, descriptor, host, errcode_ret);
}

cl_mem CL_API_CALL clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
                                   size_t height, size_t row_pitch, void *host, cl_int *errcode_ret) {
  cl_image_desc d = {CL_MEM_OBJECT_IMAGE2D, width, height, 0, 0, row_pitch, 0, 0, 0, NULL};
  cl_int error;
  cl_mem mem = clCreateImage(context, flags, format, &d, host, &error);
  hw_set(errcode_ret, error == CL_INVALID_IMAGE_DESCRIPTOR ? CL_INVALID_IMAGE_SIZE : error);
  return mem;
}

cl_mem CL_API_CALL clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
                                   size_t height, size_t depth, size_t row_pitch, size_t slice_pitch, void *host,
                                   cl_int *errcode_ret) {
  cl_image_desc d = {CL_MEM_OBJECT_IMAGE3D, width, height, depth, 0, row_pitch, slice_pitch, 0, 0, NULL};
  cl_int error;
  if (depth == 1) // too few, other than for clCreateImage
    d.image_depth = 0;
  cl_mem mem = clCreateImage(context, flags, format, &d, host, &error);
  hw_set(errcode_ret, error == CL_INVALID_IMAGE_DESCRIPTOR ? CL_INVALID_IMAGE_SIZE : error);
  return mem;
}

cl_int CL_API_CALL clGetImageInfo(cl_mem mem, cl_uint key, size_t size, void *value, size_t *size_ret) {
  if (!hw_is(mem, MAGIC_MEM) || !hw_is_image(mem))
    return CL_INVALID_MEM_OBJECT;
  const cl_image_desc *d = &mem->image;
  bool layered = d->image_depth || d->image_array_size;
  switch (key) {
  case CL_IMAGE_FORMAT:
    return hw_answer(&mem->format, sizeof mem->format, size, value, size_ret);
  case CL_IMAGE_ELEMENT_SIZE:
    ANSWER(size_t, mem->pixel);
  case CL_IMAGE_ROW_PITCH:
    ANSWER(size_t, mem->host ? (mem->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? d->image_row_pitch : mem->host_row) : d->image_row_pitch);
  case CL_IMAGE_SLICE_PITCH:
    ANSWER(size_t, !layered ? 0 : mem->host ? mem->host_slice : d->image_slice_pitch);
  case CL_IMAGE_WIDTH:
    ANSWER(size_t, d->image_width);
  case CL_IMAGE_HEIGHT:
    ANSWER(size_t, d->image_height);
  case CL_IMAGE_DEPTH:
    ANSWER(size_t, d->image_depth);
  case CL_IMAGE_ARRAY_SIZE:
    ANSWER(size_t, d->image_array_size);
  case CL_IMAGE_BUFFER:
    ANSWER(cl_mem, mem->parent && !hw_is_image(mem->parent) ? mem->parent : NULL);
  case CL_IMAGE_NUM_MIP_LEVELS:
  case CL_IMAGE_NUM_SAMPLES:
    ANSWER(cl_uint, 0);
  }
  return CL_INVALID_VALUE;
}

// -- samplers

static cl_sampler new_sampler(cl_context context, cl_bool normalized, cl_uint addressing, cl_uint filter,
                              const cl_properties *properties, cl_int *errcode_ret) {
  cl_int error = CL_SUCCESS;
  cl_sampler sampler = NULL;
  bool images = false;
  if (!hw_is(context, MAGIC_CONTEXT)) {
    error = CL_INVALID_CONTEXT;
  } else {
    for (cl_uint i = 0; i < context->device_count; i++)
      images |= context->devices[i]->images != 0;
    if (normalized > CL_TRUE || addressing < CL_ADDRESS_NONE || addressing > CL_ADDRESS_MIRRORED_REPEAT ||
        filter < CL_FILTER_NEAREST || filter > CL_FILTER_LINEAR)
      error = CL_INVALID_VALUE;
    else if (!images)
      error = CL_INVALID_OPERATION;
    else if (!(sampler = hw_new(sizeof *sampler, MAGIC_SAMPLER)))
      error = CL_OUT_OF_HOST_MEMORY;
  }
  if (sampler) {
    hw_hold(sampler->context = context);
    sampler->normalized = normalized;
    sampler->addressing = addressing;
    sampler->filter = filter;
    sampler->properties = hw_copy_properties(properties, &sampler->properties_bytes);
  }
  hw_set(errcode_ret, error);
  return sampler;
}

cl_sampler CL_API_CALL clCreateSampler(cl_context context, cl_bool normalized, cl_uint addressing, cl_uint filter,
                                       cl_int *errcode_ret) {
  return new_sampler(context, normalized, addressing, filter, NULL, errcode_ret);
}

cl_sampler CL_API_CALL clCreateSamplerWithProperties(cl_context context, const cl_properties *properties,
                                                     cl_int *errcode_ret) {
  cl_uint values[3] = {CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST};
  bool given[3] = {false, false, false};
  for (const cl_properties *p = properties; hw_is(context, MAGIC_CONTEXT) && p && *p; p += 2) {
    int which = *p == CL_SAMPLER_NORMALIZED_COORDS ? 0 : *p == CL_SAMPLER_ADDRESSING_MODE ? 1 : *p == CL_SAMPLER_FILTER_MODE ? 2 : -1;
    if (which < 0 || given[which] || p[1] > UINT32_MAX) {
      hw_set(errcode_ret, CL_INVALID_VALUE);
      return NULL;
    }
    given[which] = true;
    values[which] = (cl_uint)p[1];
  }
  return new_sampler(context, values[0], values[1], values[2], properties, errcode_ret);
}

cl_int CL_API_CALL clRetainSampler(cl_sampler sampler) { return hw_retain(sampler, MAGIC_SAMPLER, CL_INVALID_SAMPLER); }
cl_int CL_API_CALL clReleaseSampler(cl_sampler sampler) {
  return hw_release(sampler, MAGIC_SAMPLER, CL_INVALID_SAMPLER);
}

void hw_free_sampler(cl_sampler sampler) {
  free(sampler->properties);
  hw_drop(sampler->context);
}

cl_int CL_API_CALL clGetSamplerInfo(cl_sampler sampler, cl_uint key, size_t size, void *value, size_t *size_ret) {
  if (!hw_is(sampler, MAGIC_SAMPLER))
    return CL_INVALID_SAMPLER;
  switch (key) {
  case CL_SAMPLER_REFERENCE_COUNT:
    ANSWER(cl_uint, sampler->object.references);
  case CL_SAMPLER_CONTEXT:
    ANSWER(cl_context, sampler->context);
  case CL_SAMPLER_NORMALIZED_COORDS:
    ANSWER(cl_bool, sampler->normalized);
  case CL_SAMPLER_ADDRESSING_MODE:
    ANSWER(cl_uint, sampler->addressing);
  case CL_SAMPLER_FILTER_MODE:
    ANSWER(cl_uint, sampler->filter);
  case CL_SAMPLER_PROPERTIES:
    return hw_answer(sampler->properties, sampler->properties_bytes, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}
