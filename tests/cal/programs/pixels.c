// A pixel program over two streams and a constant, by remote memory and copies; prints every element, so that a test
// compares them with what the same calls give in Python.
#include "check.h"

static const char IL[] = "il_ps_2_0\n"
                         "dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__\n"
                         "dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\n"
                         "dcl_cb cb0[1]\n"
                         "dcl_output_generic o0\n"
                         "sample_resource(0)_sampler(0) r0, vWinCoord0.xyxx\n"
                         "mad r0, r0, cb0[0].x, vWinCoord0.xyyx\n"
                         "mov o0, r0\n"
                         "end\n";

int main(void) {
  enum { WIDTH = 70, HEIGHT = 3 };
  CALuint count, pitch;
  CALdevice dev;
  CALcontext ctx;
  CALresource local, remote, out, constant;
  CALdeviceinfo info;
  CALevent event;
  CALfunc main_;
  void *memory;
  OK(calInit());
  OK(calDeviceGetCount(&count));
  TRUE(count == 1);
  OK(calDeviceGetInfo(&info, 0));
  OK(calDeviceOpen(&dev, 0));
  OK(calCtxCreate(&ctx, dev));
  CALmodule module = load(ctx, IL, info.target);
  OK(calModuleGetEntry(&main_, ctx, module, "main"));
  OK(calResAllocRemote2D(&remote, &dev, 1, WIDTH, HEIGHT, CAL_FORMAT_FLOAT_4, CAL_RESALLOC_CACHEABLE));
  OK(calResAllocLocal2D(&local, dev, WIDTH, HEIGHT, CAL_FORMAT_FLOAT_4, 0));
  OK(calResAllocLocal2D(&out, dev, WIDTH, HEIGHT, CAL_FORMAT_FLOAT_4, 0));
  OK(calResAllocRemote1D(&constant, &dev, 1, 1, CAL_FORMAT_FLOAT_4, 0));
  OK(calResMap(&memory, &pitch, constant, 0));
  *(float *)memory = 3;
  OK(calResUnmap(constant));
  OK(calResMap(&memory, &pitch, remote, 0));
  TRUE(pitch >= WIDTH);
  for (CALuint y = 0; y < HEIGHT; y++)
    for (CALuint x = 0; x < 4 * WIDTH; x++)
      ((float *)memory)[4 * pitch * y + x] = (float)(x * y) / 8;
  OK(calResUnmap(remote));
  CALmem from, to;
  OK(calCtxGetMem(&from, ctx, remote));
  bind(ctx, module, "cb0", constant);
  to = bind(ctx, module, "i0", local);
  CALmem result = bind(ctx, module, "o0", out);
  OK(calMemCopy(&event, ctx, from, to, 0));
  TRUE(event);
  CALdomain domain = {0, 0, WIDTH, HEIGHT};
  OK(calCtxRunProgram(&event, ctx, main_, &domain));
  finish(ctx, event);
  OK(calResMap(&memory, &pitch, out, 0));
  IS(CAL_RESULT_ERROR, calCtxRunProgram(&event, ctx, main_, &domain)); // while it is mapped
  TRUE(event == 0);
  for (CALuint y = 0; y < HEIGHT; y++)
    for (CALuint x = 0; x < 4 * WIDTH; x++)
      printf("%08x\n", ((CALuint *)memory)[4 * pitch * y + x]);
  OK(calResUnmap(out));
  IS(CAL_RESULT_BUSY, calResFree(out));
  OK(calCtxReleaseMem(ctx, result));
  OK(calResFree(out));
  IS(CAL_RESULT_BAD_HANDLE, calResFree(out));
  OK(calModuleUnload(ctx, module));
  IS(CAL_RESULT_BUSY, calDeviceClose(dev));
  OK(calCtxDestroy(ctx));
  OK(calDeviceClose(dev));
  OK(calShutdown());
  IS(CAL_RESULT_NOT_INITIALIZED, calResFree(local)); // as Brook+'s run-time does
  return 0;
}
