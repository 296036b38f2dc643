/* Double every element of a stream on the first device that CAL has.
 *
 *   P=$(headwater cal path)
 *   cc examples/cal/double.c -I$P -L$P -laticalrt -laticalcl -o double
 *   headwater cal run --device hd4870 -- ./double
 */
#include <cal.h>
#include <calcl.h>
#include <stdio.h>
#include <stdlib.h>

static const char il[] = "il_ps_2_0\n"
                         "dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__\n"
                         "dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\n"
                         "dcl_output_generic o0\n"
                         "sample_resource(0)_sampler(0) r0, vWinCoord0.xyxx\n"
                         "add o0, r0, r0\n"
                         "end\n";

static void check(CALresult result) {
  if (result != CAL_RESULT_OK) {
    fprintf(stderr, "%s %s\n", calGetErrorString(), calclGetErrorString());
    exit(1);
  }
}

static CALmem bind(CALcontext ctx, CALmodule module, const char *name, CALresource res) {
  CALname found;
  CALmem mem;
  check(calModuleGetName(&found, ctx, module, name));
  check(calCtxGetMem(&mem, ctx, res));
  check(calCtxSetMem(ctx, found, mem));
  return mem;
}

int main(void) {
  enum { WIDTH = 64, HEIGHT = 4 };
  CALdevice dev;
  CALdeviceinfo info;
  CALcontext ctx;
  CALobject object;
  CALimage image;
  CALmodule module;
  CALfunc func;
  CALresource in, out;
  CALevent event;
  CALuint pitch;
  void *memory;

  check(calInit());
  check(calDeviceGetInfo(&info, 0));
  check(calDeviceOpen(&dev, 0));
  check(calCtxCreate(&ctx, dev));
  check(calclCompile(&object, CAL_LANGUAGE_IL, il, info.target));
  check(calclLink(&image, &object, 1));
  check(calModuleLoad(&module, ctx, image));
  check(calModuleGetEntry(&func, ctx, module, "main"));

  check(calResAllocLocal2D(&in, dev, WIDTH, HEIGHT, CAL_FORMAT_FLOAT_1, 0));
  check(calResAllocLocal2D(&out, dev, WIDTH, HEIGHT, CAL_FORMAT_FLOAT_1, 0));
  check(calResMap(&memory, &pitch, in, 0));
  for (CALuint y = 0; y < HEIGHT; y++)
    for (CALuint x = 0; x < WIDTH; x++)
      ((float *)memory)[y * pitch + x] = (float)(100 * y + x);
  check(calResUnmap(in));

  CALmem mems[] = {bind(ctx, module, "i0", in), bind(ctx, module, "o0", out)};
  CALdomain domain = {0, 0, WIDTH, HEIGHT};
  check(calCtxRunProgram(&event, ctx, func, &domain));
  CALresult result;
  while ((result = calCtxIsEventDone(ctx, event)) == CAL_RESULT_PENDING)
    ;
  check(result);
  check(calResMap(&memory, &pitch, out, 0));
  printf("%g %g\n", ((float *)memory)[1], ((float *)memory)[3 * pitch + 63]); /* 2 726 */
  check(calResUnmap(out));

  check(calCtxReleaseMem(ctx, mems[0]));
  check(calCtxReleaseMem(ctx, mems[1]));
  check(calResFree(in));
  check(calResFree(out));
  check(calModuleUnload(ctx, module));
  check(calclFreeImage(image));
  check(calclFreeObject(object));
  check(calCtxDestroy(ctx));
  check(calDeviceClose(dev));
  return calShutdown();
}
