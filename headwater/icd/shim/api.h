// Functions of OpenCL's interface that other files than their own call.
#pragma once
#include "shim.h"

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
cl_int CL_API_CALL clGetPlatformIDs(cl_uint, cl_platform_id *, cl_uint *);
HW_EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id, cl_uint, size_t, void *, size_t *);
cl_int CL_API_CALL clReleaseProgram(cl_program);
cl_mem CL_API_CALL clCreateImage(cl_context, cl_mem_flags, const cl_image_format *, const cl_image_desc *, void *,
                                 cl_int *);
