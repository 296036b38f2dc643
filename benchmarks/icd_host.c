// An OpenCL host that times the platform's calls: benchmarks/icd.py compiles and runs it. Prints a name and microseconds
// a line. `vendor.h` has the places of functions in the platform's table.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cl_api.h"
#include "vendor.h"

typedef int32_t (*any)(void *, ...);
static const void *const *table;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int order(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : 1; }

static double median(double *times, int count) {
  qsort(times, (size_t)count, sizeof *times, order);
  return times[count / 2];
}

static void check(int32_t error, const char *what) {
  if (error) {
    fprintf(stderr, "%s: %d\n", what, error);
    exit(1);
  }
}

#define F(result, name, ...) ((result(CL_API_CALL *)(__VA_ARGS__))table[AT_##name])
#define NDRANGE                                                                                                        \
  F(cl_int, clEnqueueNDRangeKernel, cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,              \
    const size_t *, cl_uint, const cl_event *, cl_event *)
#define FINISH F(cl_int, clFinish, cl_command_queue)
#define SET_ARG F(cl_int, clSetKernelArg, cl_kernel, cl_uint, size_t, const void *)
#define BUFFER F(cl_mem, clCreateBuffer, cl_context, cl_mem_flags, size_t, void *, cl_int *)
#define MAP                                                                                                            \
  F(void *, clEnqueueMapBuffer, cl_command_queue, cl_mem, cl_bool, cl_map_flags, size_t, size_t, cl_uint,              \
    const cl_event *, cl_event *, cl_int *)

int main(int count, char **words) {
  double start = now();
  void *library = dlopen(words[1], RTLD_NOW);
  cl_platform_id platform;
  cl_device_id device;
  cl_int (*platforms)(cl_uint, cl_platform_id *, cl_uint *) =
      (cl_int(*)(cl_uint, cl_platform_id *, cl_uint *))dlsym(library, "clIcdGetPlatformIDsKHR");
  check(platforms(1, &platform, NULL), "clGetPlatformIDs");
  table = *(const void *const **)(void *)platform;
  check(F(cl_int, clGetDeviceIDs, cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *)(
            platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL),
        "clGetDeviceIDs");
  printf("start %g\n", now() - start);
  size_t big = (size_t)atol(words[2]), small = 64;
  const char *source = "kernel void add(global const float *a, global const float *b, global float *c) {"
                       "  size_t i = get_global_id(0); c[i] = a[i] + b[i]; }";
  cl_int error;
  cl_context context = F(cl_context, clCreateContext, const cl_context_properties *, cl_uint, const cl_device_id *,
                         context_callback, void *, cl_int *)(NULL, 1, &device, NULL, NULL, &error);
  check(error, "clCreateContext");
  cl_command_queue queue = F(cl_command_queue, clCreateCommandQueue, cl_context, cl_device_id, cl_bitfield, cl_int *)(
      context, device, 0, &error);
  cl_program program = F(cl_program, clCreateProgramWithSource, cl_context, cl_uint, const char **, const size_t *,
                         cl_int *)(context, 1, &source, NULL, &error);
  check(F(cl_int, clBuildProgram, cl_program, cl_uint, const cl_device_id *, const char *, program_callback,
          void *)(program, 0, NULL, NULL, NULL, NULL),
        "clBuildProgram");
  cl_kernel kernel = F(cl_kernel, clCreateKernel, cl_program, const char *, cl_int *)(program, "add", &error);
  cl_mem buffers[3];
  for (cl_uint i = 0; i < 3; i++) {
    buffers[i] = BUFFER(context, CL_MEM_READ_WRITE, big * 4, NULL, &error);
    check(error, "clCreateBuffer");
    float *data = MAP(queue, buffers[i], 1, CL_MAP_WRITE, 0, big * 4, 0, NULL, NULL, &error);
    check(error, "clEnqueueMapBuffer");
    for (size_t j = 0; j < big; j++)
      data[j] = (float)(j % 1000) * (float)(i + 1);
    F(cl_int, clEnqueueUnmapMemObject, cl_command_queue, cl_mem, void *, cl_uint, const cl_event *, cl_event *)(
        queue, buffers[i], data, 0, NULL, NULL);
    check(SET_ARG(kernel, i, sizeof *buffers, buffers + i), "clSetKernelArg");
  }
  check(FINISH(queue), "clFinish");
  enum { ROUNDS = 2000, BATCH = 200, CALLS = 1000000, PROGRAMS = 11 };
  static double times[ROUNDS];
  for (int i = 0; i < PROGRAMS; i++) { // each is new to the cache
    char text[200];
    const char *given = text;
    snprintf(text, sizeof text, "kernel void add(global const float *a, global const float *b, global float *c) {"
                                "  size_t i = get_global_id(0); c[i] = a[i] + b[i] * %.0f.0f; }", now());
    start = now();
    cl_program made = F(cl_program, clCreateProgramWithSource, cl_context, cl_uint, const char **, const size_t *,
                        cl_int *)(context, 1, &given, NULL, &error);
    check(F(cl_int, clBuildProgram, cl_program, cl_uint, const cl_device_id *, const char *, program_callback,
            void *)(made, 0, NULL, NULL, NULL, NULL),
          "clBuildProgram");
    cl_kernel one = F(cl_kernel, clCreateKernel, cl_program, const char *, cl_int *)(made, "add", &error);
    for (cl_uint j = 0; j < 3; j++)
      check(SET_ARG(one, j, sizeof *buffers, buffers + j), "clSetKernelArg");
    check(NDRANGE(queue, one, 1, NULL, &small, &small, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(FINISH(queue), "clFinish");
    times[i] = now() - start;
  }
  printf("build %g\n", median(times, PROGRAMS));
  for (int i = 0; i < ROUNDS; i++) {
    start = now();
    check(NDRANGE(queue, kernel, 1, NULL, &small, &small, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(FINISH(queue), "clFinish");
    times[i] = now() - start;
  }
  printf("launch %g\n", median(times, ROUNDS));
  for (int i = 0; i < 100; i++) {
    start = now();
    for (int j = 0; j < BATCH; j++)
      check(NDRANGE(queue, kernel, 1, NULL, &small, &small, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    times[i] = (now() - start) / BATCH;
    check(FINISH(queue), "clFinish");
  }
  printf("enqueue %g\n", median(times, 100));
  for (int i = 0; i < 11; i++) {
    start = now();
    for (int j = 0; j < CALLS; j++)
      SET_ARG(kernel, 0, sizeof *buffers, buffers);
    times[i] = (now() - start) / CALLS;
  }
  printf("argument %g\n", median(times, 11));
  for (int i = 0; i < 11; i++) {
    start = now();
    for (int j = 0; j < CALLS; j++) {
      F(cl_int, clRetainMemObject, cl_mem)(buffers[0]);
      F(cl_int, clReleaseMemObject, cl_mem)(buffers[0]);
    }
    times[i] = (now() - start) / CALLS / 2;
  }
  printf("count %g\n", median(times, 11));
  for (int i = 0; i < 15; i++) {
    start = now();
    check(NDRANGE(queue, kernel, 1, NULL, &big, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(FINISH(queue), "clFinish");
    times[i] = now() - start;
  }
  printf("add %g\n", median(times, 15));
  float *sum = MAP(queue, buffers[2], 1, CL_MAP_READ, 0, big * 4, 0, NULL, NULL, &error);
  for (size_t j = 0; j < big; j++)
    if (sum[j] != (float)(j % 1000) * 3)
      check(1, "the sum");
  return count != 3;
}
