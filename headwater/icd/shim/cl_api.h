// Types of OpenCL's C interface, as its specification names them. The numbers are in cl_constants.h, which is generated.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "cl_constants.h"

#ifdef _WIN32
#define CL_API_CALL __stdcall
#define CL_CALLBACK __stdcall
#define HW_EXPORT __declspec(dllexport)
#else
#define CL_API_CALL
#define CL_CALLBACK
#define HW_EXPORT __attribute__((visibility("default")))
#endif

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef cl_uint cl_bool;
typedef cl_ulong cl_bitfield;
typedef cl_bitfield cl_device_type, cl_command_queue_properties, cl_mem_flags, cl_map_flags, cl_properties;
typedef intptr_t cl_context_properties;

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef struct _cl_sampler *cl_sampler;

typedef struct {
  cl_uint image_channel_order, image_channel_data_type;
} cl_image_format;

typedef struct {
  cl_uint image_type;
  size_t image_width, image_height, image_depth, image_array_size, image_row_pitch, image_slice_pitch;
  cl_uint num_mip_levels, num_samples;
  cl_mem mem_object;
} cl_image_desc;

typedef struct {
  size_t origin, size;
} cl_buffer_region;

typedef struct {
  cl_uint version;
  char name[64];
} cl_name_version;

typedef void(CL_CALLBACK *context_callback)(const char *, const void *, size_t, void *);
typedef void(CL_CALLBACK *event_callback)(cl_event, cl_int, void *);
typedef void(CL_CALLBACK *mem_callback)(cl_mem, void *);
typedef void(CL_CALLBACK *program_callback)(cl_program, void *);
typedef void(CL_CALLBACK *destructor_callback)(cl_context, void *);
typedef void(CL_CALLBACK *native_kernel)(void *);
typedef void(CL_CALLBACK *svm_free_callback)(cl_command_queue, cl_uint, void **, void *);
