// The table that an ICD loader calls through, in the order which cl_khr_icd fixes, and what loaders look up by name.
#include <string.h>

#include "cl_api.h"

extern const void *const hw_dispatch[];

// Interoperability with graphics is not offered (no extension says so), and a loader may call these all the same.
static cl_int CL_API_CALL no_operation(void) { return CL_INVALID_OPERATION; }
static void *CL_API_CALL no_gl_buffer(cl_context context, cl_mem_flags flags, cl_uint name, cl_int *errcode_ret) {
  (void)context, (void)flags, (void)name;
  if (errcode_ret)
    *errcode_ret = CL_INVALID_OPERATION;
  return NULL;
}
static void *CL_API_CALL no_gl_texture(cl_context context, cl_mem_flags flags, cl_uint target, cl_int level,
                                       cl_uint name, cl_int *errcode_ret) {
  (void)context, (void)flags, (void)target, (void)level, (void)name;
  if (errcode_ret)
    *errcode_ret = CL_INVALID_OPERATION;
  return NULL;
}
static void *CL_API_CALL no_event(cl_context context, void *sync, cl_int *errcode_ret) {
  (void)context, (void)sync;
  if (errcode_ret)
    *errcode_ret = CL_INVALID_OPERATION;
  return NULL;
}
static void *CL_API_CALL no_egl_image(cl_context context, void *display, void *image, cl_mem_flags flags,
                                      const intptr_t *properties, cl_int *errcode_ret) {
  (void)context, (void)display, (void)image, (void)flags, (void)properties;
  if (errcode_ret)
    *errcode_ret = CL_INVALID_OPERATION;
  return NULL;
}
static void *CL_API_CALL no_egl_sync(cl_context context, void *sync, void *display, cl_int *errcode_ret) {
  (void)context, (void)sync, (void)display;
  if (errcode_ret)
    *errcode_ret = CL_INVALID_OPERATION;
  return NULL;
}

HW_EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name);
HW_EXPORT void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name);

#define ALL(CALL, NONE)                                                                                                \
  CALL(clGetPlatformIDs) CALL(clGetPlatformInfo) CALL(clGetDeviceIDs) CALL(clGetDeviceInfo) CALL(clCreateContext)      \
  CALL(clCreateContextFromType) CALL(clRetainContext) CALL(clReleaseContext) CALL(clGetContextInfo)                    \
  CALL(clCreateCommandQueue) CALL(clRetainCommandQueue) CALL(clReleaseCommandQueue) CALL(clGetCommandQueueInfo)        \
  CALL(clSetCommandQueueProperty) CALL(clCreateBuffer) CALL(clCreateImage2D) CALL(clCreateImage3D)                     \
  CALL(clRetainMemObject) CALL(clReleaseMemObject) CALL(clGetSupportedImageFormats) CALL(clGetMemObjectInfo)           \
  CALL(clGetImageInfo) CALL(clCreateSampler) CALL(clRetainSampler) CALL(clReleaseSampler) CALL(clGetSamplerInfo)       \
  CALL(clCreateProgramWithSource) CALL(clCreateProgramWithBinary) CALL(clRetainProgram) CALL(clReleaseProgram)         \
  CALL(clBuildProgram) CALL(clUnloadCompiler) CALL(clGetProgramInfo) CALL(clGetProgramBuildInfo) CALL(clCreateKernel)  \
  CALL(clCreateKernelsInProgram) CALL(clRetainKernel) CALL(clReleaseKernel) CALL(clSetKernelArg) CALL(clGetKernelInfo) \
  CALL(clGetKernelWorkGroupInfo) CALL(clWaitForEvents) CALL(clGetEventInfo) CALL(clRetainEvent) CALL(clReleaseEvent)   \
  CALL(clGetEventProfilingInfo) CALL(clFlush) CALL(clFinish) CALL(clEnqueueReadBuffer) CALL(clEnqueueWriteBuffer)      \
  CALL(clEnqueueCopyBuffer) CALL(clEnqueueReadImage) CALL(clEnqueueWriteImage) CALL(clEnqueueCopyImage)                \
  CALL(clEnqueueCopyImageToBuffer) CALL(clEnqueueCopyBufferToImage) CALL(clEnqueueMapBuffer) CALL(clEnqueueMapImage)   \
  CALL(clEnqueueUnmapMemObject) CALL(clEnqueueNDRangeKernel) CALL(clEnqueueTask) CALL(clEnqueueNativeKernel)           \
  CALL(clEnqueueMarker) CALL(clEnqueueWaitForEvents) CALL(clEnqueueBarrier) NONE(clGetExtensionFunctionAddress)        \
  NONE(no_gl_buffer) NONE(no_gl_texture) NONE(no_gl_texture) NONE(no_gl_buffer) NONE(no_operation) NONE(no_operation)  \
  NONE(no_operation) NONE(no_operation) NONE(no_operation) NONE(no_operation) NONE(no_gl_buffer) NONE(no_gl_texture)   \
  NONE(no_gl_texture) NONE(no_operation) NONE(no_operation) CALL(clSetEventCallback) CALL(clCreateSubBuffer)           \
  CALL(clSetMemObjectDestructorCallback) CALL(clCreateUserEvent) CALL(clSetUserEventStatus)                            \
  CALL(clEnqueueReadBufferRect) CALL(clEnqueueWriteBufferRect) CALL(clEnqueueCopyBufferRect) NONE(no_operation)        \
  NONE(no_operation) NONE(no_operation) NONE(no_event) CALL(clCreateSubDevices) CALL(clRetainDevice)                   \
  CALL(clReleaseDevice) CALL(clCreateImage) CALL(clCreateProgramWithBuiltInKernels) CALL(clCompileProgram)             \
  CALL(clLinkProgram) CALL(clUnloadPlatformCompiler) CALL(clGetKernelArgInfo) CALL(clEnqueueFillBuffer)                \
  CALL(clEnqueueFillImage) CALL(clEnqueueMigrateMemObjects) CALL(clEnqueueMarkerWithWaitList)                          \
  CALL(clEnqueueBarrierWithWaitList) NONE(clGetExtensionFunctionAddressForPlatform) NONE(no_gl_texture)                \
  NONE(no_operation) NONE(no_gl_buffer) NONE(no_gl_texture) NONE(no_gl_texture) NONE(no_gl_texture)                    \
  NONE(no_operation) NONE(no_operation) NONE(no_operation) NONE(no_operation) NONE(no_operation) NONE(no_egl_image)    \
  NONE(no_operation) NONE(no_operation) NONE(no_egl_sync) CALL(clCreateCommandQueueWithProperties) CALL(clCreatePipe)  \
  CALL(clGetPipeInfo) CALL(clSVMAlloc) CALL(clSVMFree) CALL(clEnqueueSVMFree) CALL(clEnqueueSVMMemcpy)                 \
  CALL(clEnqueueSVMMemFill) CALL(clEnqueueSVMMap) CALL(clEnqueueSVMUnmap) CALL(clCreateSamplerWithProperties)          \
  CALL(clSetKernelArgSVMPointer) CALL(clSetKernelExecInfo) CALL(clGetKernelSubGroupInfo) CALL(clCloneKernel)           \
  CALL(clCreateProgramWithIL) CALL(clEnqueueSVMMigrateMem) CALL(clGetDeviceAndHostTimer) CALL(clGetHostTimer)          \
  CALL(clGetKernelSubGroupInfo) CALL(clSetDefaultDeviceCommandQueue) CALL(clSetProgramReleaseCallback)                 \
  CALL(clSetProgramSpecializationConstant) CALL(clCreateBufferWithProperties) CALL(clCreateImageWithProperties)        \
  CALL(clSetContextDestructorCallback) CALL(clGetKernelSuggestedLocalWorkSize)

// Only the addresses are wanted here. Some functions stand in the table twice.
#define DECLARE(name) extern void name(void);
#define NOTHING(name)
ALL(DECLARE, NOTHING)

#define ADDRESS(name) (const void *)name,
const void *const hw_dispatch[] = {ALL(ADDRESS, ADDRESS)};

static const struct {
  const char *name;
  const void *address;
} extensions[] = {
    {"clIcdGetPlatformIDsKHR", (const void *)clGetPlatformIDs},
    {"clCreateCommandQueueWithPropertiesKHR", (const void *)clCreateCommandQueueWithProperties},
    {"clGetKernelSubGroupInfoKHR", (const void *)clGetKernelSubGroupInfo},
    {"clGetKernelSuggestedLocalWorkSizeKHR", (const void *)clGetKernelSuggestedLocalWorkSize},
    // By their own names, as loaders of later versions ask.
    {"clGetPlatformInfo", (const void *)clGetPlatformInfo},
};

HW_EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
  for (size_t i = 0; name && i < sizeof extensions / sizeof *extensions; i++)
    if (!strcmp(name, extensions[i].name))
      return (void *)extensions[i].address;
  return NULL;
}

HW_EXPORT void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name) {
  return platform ? clGetExtensionFunctionAddress(name) : NULL;
}
