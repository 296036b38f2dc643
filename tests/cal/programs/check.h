// What the test programs have in common: results are checked, and what went wrong is printed with its line.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cal.h"
#include "cal_ext.h"
#include "cal_ext_counter.h"
#include "calcl.h"

#define IS(wanted, call)                                                                                               \
  do {                                                                                                                 \
    CALresult got_ = (call);                                                                                           \
    if (got_ != (wanted)) {                                                                                            \
      printf("line %d: %s gave %d, not %d: %s / %s\n", __LINE__, #call, got_, wanted, calGetErrorString(),             \
             calclGetErrorString());                                                                                   \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)
#define OK(call) IS(CAL_RESULT_OK, call)
#define TRUE(condition)                                                                                                \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("line %d: not %s\n", __LINE__, #condition);                                                               \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static inline CALmodule load(CALcontext ctx, const char *il, CALtarget target) {
  CALobject object;
  CALimage image;
  CALmodule module;
  OK(calclCompile(&object, CAL_LANGUAGE_IL, il, target));
  OK(calclLink(&image, &object, 1));
  OK(calclFreeObject(object));
  OK(calModuleLoad(&module, ctx, image));
  OK(calclFreeImage(image));
  return module;
}

static inline CALmem bind(CALcontext ctx, CALmodule module, const char *name, CALresource res) {
  CALname found;
  CALmem mem;
  OK(calModuleGetName(&found, ctx, module, name));
  OK(calCtxGetMem(&mem, ctx, res));
  OK(calCtxSetMem(ctx, found, mem));
  return mem;
}

static inline void finish(CALcontext ctx, CALevent event) {
  CALresult result;
  while ((result = calCtxIsEventDone(ctx, event)) == CAL_RESULT_PENDING)
    ;
  OK(result);
}

static inline CALdeviceattribs attributes(CALuint ordinal) {
  CALdeviceattribs found;
  found.struct_size = sizeof found;
  OK(calDeviceGetAttribs(&found, ordinal));
  return found;
}
