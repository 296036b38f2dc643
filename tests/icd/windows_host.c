// A host program of Windows: it loads the library whose path LIBRARY holds, and prints what it finds. Between its parts
// it waits for a line, so that whoever started it can do something to the server.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

#include "table.h" // enum with the place of each function in the platform's table, from dispatch.c

enum { COUNT = 1000 };
static void **table;
static void *devices[8], *contexts[8];
#define CALL(name, ...) ((intptr_t(*)())table[name])(__VA_ARGS__)
#define P(value) ((void *)(intptr_t)(value))

static void say(const char *format, ...) {
  va_list values;
  va_start(values, format);
  __stdio_common_vfprintf(0, stdout, format, NULL, values);
  va_end(values);
  fflush(stdout);
}

static void await_line(void) {
  char c;
  DWORD got;
  while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), &c, 1, &got, NULL) && got && c != '\n')
    ;
}

// Builds and runs a kernel on a device; the first status that is not 0, or how many elements are wrong.
static int add(int device, float by) {
  int error = 0;
  float data[COUNT], got[COUNT];
  const char *text = "kernel void add(global const float *x, global float *y, float s) {"
                     "  int i = get_global_id(0); y[i] = x[i] + s; }";
  for (int i = 0; i < COUNT; i++)
    data[i] = (float)i;
  void *context = contexts[device], *queue = (void *)CALL(clCreateCommandQueue, context, devices[device], P(0), &error);
  void *x = (void *)CALL(clCreateBuffer, context, P(1 << 2 | 1 << 5), P(sizeof data), data, &error);
  void *y = (void *)CALL(clCreateBuffer, context, P(1 << 1), P(sizeof data), P(0), &error);
  void *program = (void *)CALL(clCreateProgramWithSource, context, P(1), &text, P(0), &error);
  size_t size = COUNT;
  error = (int)CALL(clBuildProgram, program, P(0), P(0), P(0), P(0), P(0));
  if (!error) {
    void *kernel = (void *)CALL(clCreateKernel, program, "add", &error);
    CALL(clSetKernelArg, kernel, P(0), P(sizeof x), &x);
    CALL(clSetKernelArg, kernel, P(1), P(sizeof y), &y);
    CALL(clSetKernelArg, kernel, P(2), P(sizeof by), &by);
    error = (int)CALL(clEnqueueNDRangeKernel, queue, kernel, P(1), P(0), &size, P(0), P(0), P(0), P(0));
    int read = (int)CALL(clEnqueueReadBuffer, queue, y, P(1), P(0), P(sizeof got), got, P(0), P(0), P(0));
    error = error ? error : read;
    CALL(clReleaseKernel, kernel);
  }
  for (int i = 0; !error && i < COUNT; i++)
    error += got[i] != data[i] + by;
  CALL(clReleaseProgram, program);
  CALL(clReleaseMemObject, x);
  CALL(clReleaseMemObject, y);
  CALL(clReleaseCommandQueue, queue);
  return error;
}

static DWORD WINAPI adds(void *by) {
  for (int i = 0; i < 3; i++)
    if (add(0, (float)(intptr_t)by + (float)i))
      return 1;
  return 0;
}

static void threads(void) {
  HANDLE started[4];
  for (intptr_t i = 0; i < 4; i++)
    started[i] = CreateThread(NULL, 0, adds, (void *)i, 0, NULL);
  WaitForMultipleObjects(4, started, TRUE, INFINITE);
  for (int i = 0; i < 4; i++) {
    DWORD code;
    GetExitCodeThread(started[i], &code);
    say("thread %lu\n", code);
  }
}

static void wrong(void) {
  int error;
  char log[4096] = "";
  const char *text = "kernel void f(global int *x) { x[0] = nothing; }";
  void *program = (void *)CALL(clCreateProgramWithSource, contexts[0], P(1), &text, P(0), &error);
  error = (int)CALL(clBuildProgram, program, P(0), P(0), P(0), P(0), P(0));
  CALL(clGetProgramBuildInfo, program, devices[0], P(0x1183), P(sizeof log), log, P(0));
  say("wrong %d %s\n", error, strstr(log, "undeclared identifier 'nothing'") ? "with a log" : log);
  CALL(clReleaseProgram, program);
}

static int run(const char *path) {
  HMODULE library = LoadLibraryA(path);
  if (!library) {
    say("error %lu\n", GetLastError());
    return 1;
  }
  void *(*address)(const char *) = (void *(*)(const char *))(void *)GetProcAddress(library, "clGetExtensionFunctionAddress");
  void *platform = NULL;
  unsigned count = 0;
  int (*platforms)(unsigned, void **, unsigned *) = address("clIcdGetPlatformIDsKHR");
  int error = platforms(1, &platform, &count);
  if (error || count != 1) {
    say("platforms %d\n", error);
    return 1;
  }
  table = *(void ***)platform;
  CALL(clGetDeviceIDs, platform, P(0xffffffff), P(8), devices, &count);
  for (unsigned i = 0; i < count; i++) {
    char name[256];
    CALL(clGetDeviceInfo, devices[i], P(0x102b), P(sizeof name), name, P(0));
    contexts[i] = (void *)CALL(clCreateContext, P(0), P(1), &devices[i], P(0), P(0), &error);
    say("%s: %d\n", name, add((int)i, 3));
  }
  wrong();
  await_line();
  threads();
  await_line();
  int ended = add(0, 1);
  say("after the end %d, then %d\n", ended, add(0, 2));
  return 0;
}

void start(void) {
  char path[1024];
  GetEnvironmentVariableA("LIBRARY", path, sizeof path);
  ExitProcess((UINT)run(path));
}
