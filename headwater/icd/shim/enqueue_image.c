// Commands on images.
#include <stdlib.h>

#include "api.h"
#include "transfer.h"

static cl_int check_image(cl_command_queue q, cl_mem mem) {
  if (!hw_is(mem, MAGIC_MEM) || !hw_is_image(mem))
    return CL_INVALID_MEM_OBJECT;
  if (mem->context != q->context)
    return CL_INVALID_CONTEXT;
  if (!q->device->images)
    return CL_INVALID_OPERATION;
  for (uint32_t f = 0; f < q->device->format_count; f++)
    if (q->device->formats[f].order == mem->format.image_channel_order &&
        q->device->formats[f].type == mem->format.image_channel_data_type)
      return CL_SUCCESS;
  return CL_IMAGE_FORMAT_NOT_SUPPORTED;
}

static bool region_inside(cl_mem mem, const size_t *origin, const size_t *region) {
  size_t extent[3];
  hw_image_extent(mem, extent);
  for (int i = 0; origin && region && i < 3; i++)
    if (!region[i] || origin[i] > extent[i] || region[i] > extent[i] - origin[i])
      return false;
  return origin && region;
}

static void image_box(cl_mem mem, const size_t *origin, struct rectangle *box) {
  box->offset[0] = origin[0] * mem->pixel;
  box->offset[1] = origin[1];
  box->offset[2] = origin[2];
  box->row = IMAGE_ROW(mem);
  box->slice = mem->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 0 : IMAGE_SLICE(mem);
}

static void set_region(struct command *c, cl_mem mem, const size_t *region) {
  c->region[0] = region[0] * mem->pixel;
  c->region[1] = region[1];
  c->region[2] = region[2];
}

// The program's memory: `row` and `slice` as given, or without gaps. Layers of a 1-D array are a slice apart.
static bool host_box(cl_mem mem, const size_t *region, size_t row, size_t slice, struct rectangle *box) {
  size_t least = region[0] * mem->pixel;
  bool layers = mem->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  memset(box->offset, 0, sizeof box->offset);
  box->row = row ? row : least;
  if (layers) {
    if (slice && slice < box->row)
      return false;
    box->row = slice ? slice : box->row;
    box->slice = 0;
    return box->row >= least;
  }
  box->slice = slice ? slice : box->row * region[1];
  bool flat = mem->type != CL_MEM_OBJECT_IMAGE3D && mem->type != CL_MEM_OBJECT_IMAGE2D_ARRAY;
  return box->row >= least && (flat ? !slice : box->slice >= box->row * region[1]);
}

static cl_int transfer(cl_command_queue q, cl_mem mem, bool wait, const size_t *origin, const size_t *region, size_t row,
                       size_t slice, void *pointer, bool reads, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (!error)
    error = check_image(q, mem);
  struct rectangle host;
  if (!error && (!pointer || !region_inside(mem, origin, region) || !host_box(mem, region, row, slice, &host)))
    error = CL_INVALID_VALUE;
  if (!error && (reads ? NO_READ(mem) : NO_WRITE(mem)))
    error = CL_INVALID_OPERATION;
  if (error)
    return error;
  struct command *c =
      hw_command(q, reads ? CL_COMMAND_READ_IMAGE : CL_COMMAND_WRITE_IMAGE, count, waits, hw_run_copy_box);
  if (c) {
    c->mems[!reads] = mem;
    c->pointer = pointer;
    image_box(mem, origin, reads ? &c->from : &c->to);
    *(reads ? &c->to : &c->from) = host;
    set_region(c, mem, region);
  }
  return hw_enqueue(q, c, wait, event);
}

cl_int CL_API_CALL clEnqueueReadImage(cl_command_queue q, cl_mem mem, cl_bool wait, const size_t *origin,
                                      const size_t *region, size_t row, size_t slice, void *pointer, cl_uint count,
                                      const cl_event *waits, cl_event *event) {
  return transfer(q, mem, wait, origin, region, row, slice, pointer, true, count, waits, event);
}

cl_int CL_API_CALL clEnqueueWriteImage(cl_command_queue q, cl_mem mem, cl_bool wait, const size_t *origin,
                                       const size_t *region, size_t row, size_t slice, const void *pointer,
                                       cl_uint count, const cl_event *waits, cl_event *event) {
  return transfer(q, mem, wait, origin, region, row, slice, (void *)pointer, false, count, waits, event);
}

cl_int CL_API_CALL clEnqueueCopyImage(cl_command_queue q, cl_mem from, cl_mem to, const size_t *from_origin,
                                      const size_t *to_origin, const size_t *region, cl_uint count,
                                      const cl_event *waits, cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (!error)
    error = check_image(q, from);
  if (!error)
    error = check_image(q, to);
  if (!error && (from->format.image_channel_order != to->format.image_channel_order ||
                 from->format.image_channel_data_type != to->format.image_channel_data_type))
    error = CL_IMAGE_FORMAT_MISMATCH;
  if (!error && (!region_inside(from, from_origin, region) || !region_inside(to, to_origin, region)))
    error = CL_INVALID_VALUE;
  if (!error && from->data == to->data) {
    bool apart = false;
    for (int i = 0; i < 3; i++)
      apart |= from_origin[i] + region[i] <= to_origin[i] || to_origin[i] + region[i] <= from_origin[i];
    if (!apart)
      error = CL_MEM_COPY_OVERLAP;
  }
  if (error)
    return error;
  struct command *c = hw_command(q, CL_COMMAND_COPY_IMAGE, count, waits, hw_run_copy_box);
  if (c) {
    c->mems[0] = from;
    c->mems[1] = to;
    image_box(from, from_origin, &c->from);
    image_box(to, to_origin, &c->to);
    set_region(c, from, region);
  }
  return hw_enqueue(q, c, false, event);
}

// A buffer's part without gaps beside a box of an image.
static cl_int copy_between(cl_command_queue q, cl_mem image, cl_mem buffer, const size_t *origin, const size_t *region,
                           size_t offset, bool to_buffer, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (!error)
    error = check_image(q, image);
  if (!error && (!hw_is(buffer, MAGIC_MEM) || hw_is_image(buffer) || image->parent == buffer))
    error = CL_INVALID_MEM_OBJECT;
  if (!error && buffer->context != q->context)
    error = CL_INVALID_CONTEXT;
  if (!error && buffer->parent && buffer->origin % q->device->base_align_bytes)
    error = CL_MISALIGNED_SUB_BUFFER_OFFSET;
  if (!error && !region_inside(image, origin, region))
    error = CL_INVALID_VALUE;
  size_t bytes = error ? 0 : region[0] * region[1] * region[2] * image->pixel;
  if (!error && (offset > buffer->size || bytes > buffer->size - offset))
    error = CL_INVALID_VALUE;
  if (error)
    return error;
  struct command *c = hw_command(q, to_buffer ? CL_COMMAND_COPY_IMAGE_TO_BUFFER : CL_COMMAND_COPY_BUFFER_TO_IMAGE,
                                 count, waits, hw_run_copy_box);
  if (c) {
    size_t row = region[0] * image->pixel;
    struct rectangle flat = {{offset, 0, 0}, row, row * region[1]};
    c->mems[!to_buffer] = image;
    c->mems[to_buffer] = buffer;
    image_box(image, origin, to_buffer ? &c->from : &c->to);
    *(to_buffer ? &c->to : &c->from) = flat;
    set_region(c, image, region);
  }
  return hw_enqueue(q, c, false, event);
}

cl_int CL_API_CALL clEnqueueCopyImageToBuffer(cl_command_queue q, cl_mem image, cl_mem buffer, const size_t *origin,
                                              const size_t *region, size_t offset, cl_uint count, const cl_event *waits,
                                              cl_event *event) {
  return copy_between(q, image, buffer, origin, region, offset, true, count, waits, event);
}

cl_int CL_API_CALL clEnqueueCopyBufferToImage(cl_command_queue q, cl_mem buffer, cl_mem image, size_t offset,
                                              const size_t *origin, const size_t *region, cl_uint count,
                                              const cl_event *waits, cl_event *event) {
  return copy_between(q, image, buffer, origin, region, offset, false, count, waits, event);
}

void *CL_API_CALL clEnqueueMapImage(cl_command_queue q, cl_mem mem, cl_bool wait, cl_map_flags flags,
                                    const size_t *origin, const size_t *region, size_t *row, size_t *slice,
                                    cl_uint count, const cl_event *waits, cl_event *event, cl_int *errcode_ret) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (!error)
    error = check_image(q, mem);
  bool layered = !error && (mem->image.image_depth || mem->image.image_array_size);
  if (!error && (!region_inside(mem, origin, region) || !hw_map_flags_valid(flags) || !row || (layered && !slice)))
    error = CL_INVALID_VALUE;
  if (!error && ((flags & CL_MAP_READ && NO_READ(mem)) ||
                 (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) && NO_WRITE(mem))))
    error = CL_INVALID_OPERATION;
  char *pointer = NULL;
  if (!error) {
    bool lines = mem->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    size_t row_pitch = mem->host ? mem->host_row : IMAGE_ROW(mem);
    size_t slice_pitch = mem->host ? mem->host_slice : IMAGE_SLICE(mem);
    pointer = mem->host ? mem->host : mem->data;
    pointer += origin[0] * mem->pixel + origin[1] * row_pitch + (lines ? 0 : origin[2] * slice_pitch);
    struct command *c = hw_command(q, CL_COMMAND_MAP_IMAGE, count, waits, hw_run_map);
    struct map *map = c ? hw_add_map(mem, pointer, flags) : NULL;
    if (map) {
      memcpy(map->origin, origin, sizeof map->origin);
      memcpy(map->region, region, sizeof map->region);
      c->mems[0] = mem;
      c->map = map;
      *row = row_pitch;
      if (slice)
        *slice = layered ? slice_pitch : 0;
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

// -- filling

static int clamp(double value, double low, double high) {
  double rounded = value < 0 ? value - 0.5 : value + 0.5;
  return (int)(value != value ? 0 : rounded < low ? low : rounded > high ? high : rounded);
}

static uint16_t to_half(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest >= 0x7f800000)
    return (uint16_t)(sign | (rest > 0x7f800000 ? 0x7e00 : 0x7c00));
  if (rest >= 0x477ff000) // rounds to 65536 or more
    return (uint16_t)(sign | 0x7c00);
  if (rest < 0x33000001) // half of the smallest, or less
    return (uint16_t)sign;
  int exponent = (int)(rest >> 23) - 127, shift = exponent < -14 ? -exponent - 1 : 13;
  uint32_t mantissa = (rest & 0x7fffff) | 0x800000;
  uint32_t kept = mantissa >> shift, left = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
  kept += left > middle || (left == middle && kept & 1);
  return (uint16_t)(sign | (exponent < -14 ? kept : kept + ((uint32_t)(exponent + 14) << 10)));
}

static float srgb(float c) { // linear to sRGB, without a library: x^(1/2.4) by Newton's method on y^12 = x^5
  if (!(c > 0.0031308f))
    return c > 0 ? 12.92f * c : 0;
  if (c >= 1)
    return 1;
  double y = 1, x5 = (double)c * c * c * c * c;
  for (int i = 0; i < 60; i++) {
    double y2 = y * y, y4 = y2 * y2, y11 = y4 * y4 * y2 * y;
    y -= (y11 * y - x5) / (12 * y11);
  }
  return (float)(1.055 * y - 0.055);
}

// A pixel of the image's format from four floats, ints or uints.
static void make_pixel(const cl_image_format *format, const void *color, char *pixel) {
  static const struct {
    cl_uint order;
    signed char from[5];
  } orders[] = {{CL_R, {0, -1}}, {CL_A, {3, -1}}, {CL_RG, {0, 1, -1}}, {CL_RA, {0, 3, -1}}, {CL_RGB, {0, 1, 2, -1}},
                {CL_RGBA, {0, 1, 2, 3, -1}}, {CL_BGRA, {2, 1, 0, 3, -1}}, {CL_ARGB, {3, 0, 1, 2, -1}},
                {CL_ABGR, {3, 2, 1, 0, -1}}, {CL_INTENSITY, {0, -1}}, {CL_LUMINANCE, {0, -1}}, {CL_DEPTH, {0, -1}},
                {CL_sRGBA, {0, 1, 2, 3, -1}}, {CL_sBGRA, {2, 1, 0, 3, -1}}};
  const signed char *from = orders[0].from;
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
    if (orders[i].order == format->image_channel_order)
      from = orders[i].from;
  float f[4];
  int32_t n[4];
  memcpy(f, color, sizeof f);
  memcpy(n, color, sizeof n);
  if (format->image_channel_order == CL_sRGBA || format->image_channel_order == CL_sBGRA)
    for (int i = 0; i < 3; i++)
      f[i] = srgb(f[i]);
  uint32_t packed;
  switch (format->image_channel_data_type) { // red in the highest bits
  case CL_UNORM_SHORT_565:
    packed = (uint32_t)(clamp(f[0] * 31, 0, 31) << 11 | clamp(f[1] * 63, 0, 63) << 5 | clamp(f[2] * 31, 0, 31));
    memcpy(pixel, &packed, 2);
    return;
  case CL_UNORM_SHORT_555:
    packed = (uint32_t)(clamp(f[0] * 31, 0, 31) << 10 | clamp(f[1] * 31, 0, 31) << 5 | clamp(f[2] * 31, 0, 31));
    memcpy(pixel, &packed, 2);
    return;
  case CL_UNORM_INT_101010:
    packed = (uint32_t)(clamp(f[0] * 1023, 0, 1023) << 20 | clamp(f[1] * 1023, 0, 1023) << 10 |
                        clamp(f[2] * 1023, 0, 1023));
    memcpy(pixel, &packed, 4);
    return;
  }
  for (; *from >= 0; from++) {
    float value = f[*from];
    int32_t whole = n[*from];
    uint32_t natural = (uint32_t)whole;
    int16_t made = 0;
    size_t bytes = 1;
    switch (format->image_channel_data_type) {
    case CL_SNORM_INT8:
      made = (int16_t)clamp(value * 127, -128, 127);
      break;
    case CL_UNORM_INT8:
      made = (int16_t)clamp(value * 255, 0, 255);
      break;
    case CL_SNORM_INT16:
      made = (int16_t)clamp(value * 32767, -32768, 32767);
      bytes = 2;
      break;
    case CL_UNORM_INT16:
      made = (int16_t)clamp(value * 65535, 0, 65535);
      bytes = 2;
      break;
    case CL_SIGNED_INT8:
      made = (int16_t)(whole < -128 ? -128 : whole > 127 ? 127 : whole);
      break;
    case CL_UNSIGNED_INT8:
      made = (int16_t)(natural > 255 ? 255 : natural);
      break;
    case CL_SIGNED_INT16:
      made = (int16_t)(whole < -32768 ? -32768 : whole > 32767 ? 32767 : whole);
      bytes = 2;
      break;
    case CL_UNSIGNED_INT16:
      made = (int16_t)(natural > 65535 ? 65535 : natural);
      bytes = 2;
      break;
    case CL_HALF_FLOAT:
      made = (int16_t)to_half(value);
      bytes = 2;
      break;
    default: // 32 bits as they are
      memcpy(pixel, &natural, 4);
      pixel += 4;
      continue;
    }
    memcpy(pixel, &made, bytes);
    pixel += bytes;
  }
}

static cl_int run_fill(struct command *c) {
  cl_mem mem = c->mems[1];
  char *base = mem->data + c->to.offset[0];
  for (size_t z = 0; z < c->region[2]; z++)
    for (size_t y = 0; y < c->region[1]; y++) {
      char *row = base + (c->to.offset[1] + y) * c->to.row + (c->to.offset[2] + z) * c->to.slice;
      for (size_t x = 0; x < c->region[0]; x += mem->pixel)
        memcpy(row + x, c->pattern, mem->pixel);
    }
  return CL_SUCCESS;
}

cl_int CL_API_CALL clEnqueueFillImage(cl_command_queue q, cl_mem mem, const void *color, const size_t *origin,
                                      const size_t *region, cl_uint count, const cl_event *waits, cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (!error)
    error = check_image(q, mem);
  if (!error && (!color || !region_inside(mem, origin, region)))
    error = CL_INVALID_VALUE;
  if (error)
    return error;
  struct command *c = hw_command(q, CL_COMMAND_FILL_IMAGE, count, waits, run_fill);
  if (c) {
    c->mems[1] = mem;
    image_box(mem, origin, &c->to);
    set_region(c, mem, region);
    float depth[4] = {0}; // a depth image's color is one float
    if (mem->format.image_channel_order == CL_DEPTH)
      memcpy(depth, color, sizeof *depth);
    make_pixel(&mem->format, mem->format.image_channel_order == CL_DEPTH ? (const void *)depth : color, c->pattern);
  }
  return hw_enqueue(q, c, false, event);
}
