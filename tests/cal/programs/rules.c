// Results of wrong calls, structures that tell their size, texts of errors, extensions, images, and starting again.
// Brook+'s run-time has such macros; constants of these names go on meaning numbers.
#define CAL_RESULT_WARNING(text) puts(text)
#include "check.h"

static char text[1 << 16];
static int lines;
static void keep(const CALchar *line) {
  strncat(text, line, sizeof text - strlen(text) - 1);
  lines++;
}

static const char IL[] = "il_ps_2_0\ndcl_output_generic o0\ndcl_cb cb0[1]\nmov o0, cb0[0]\nend\n";

int main(void) {
  CALuint major, minor, imp, count, size;
  CALdevice dev, other;
  CALcontext ctx, second;
  CALresource res;
  CALmodule module;
  CALname name;
  CALfunc func;
  CALmem mem;
  CALextproc proc;
  CALobject object;
  CALimage image;
  CALdeviceinfo info;
  IS(CAL_RESULT_NOT_INITIALIZED, calDeviceGetCount(&count));
  IS(CAL_RESULT_NOT_INITIALIZED, calShutdown());
  OK(calGetVersion(&major, &minor, &imp));
  OK(calclGetVersion(&major, &minor, &imp));
  TRUE(major == 1 && minor == 4 && CAL_RESULT_WARNING == 10);
  // The compiler needs no device.
  OK(calclCompile(&object, CAL_LANGUAGE_IL, IL, CAL_TARGET_770));
  IS(CAL_RESULT_ERROR, calclCompile(&(CALobject){0}, CAL_LANGUAGE_IL, "il_ps_2_0\nmov r0\nend\n", CAL_TARGET_770));
  TRUE(strstr(calclGetErrorString(), ":2:"));
  IS(CAL_RESULT_INVALID_PARAMETER, calclCompile(&(CALobject){0}, 7, IL, CAL_TARGET_770));
  calclDisassembleObject(&object, keep);
  TRUE(lines > 3 && strstr(text, "END_OF_PROGRAM"));
  OK(calInit());
  IS(CAL_RESULT_ALREADY, calInit());
  TRUE(strlen(calGetErrorString()) > 3);
  IS(CAL_RESULT_ERROR, calDeviceGetInfo(&info, 5));
  OK(calDeviceGetInfo(&info, 0));
  OK(calDeviceOpen(&dev, 0));
  IS(CAL_RESULT_ALREADY, calDeviceOpen(&other, 0));
  TRUE(other == 0);
  IS(CAL_RESULT_INVALID_PARAMETER, calDeviceOpen(NULL, 0));
  // Nothing is written beyond what the caller has room for.
  CALdeviceattribs attribs;
  memset(&attribs, 0x55, sizeof attribs);
  attribs.struct_size = 17 * 4;
  OK(calDeviceGetAttribs(&attribs, 0));
  TRUE(attribs.struct_size == 68 && attribs.target == info.target && attribs.surface_alignment == 256);
  TRUE(attribs.numberOfUAVs == 0x55555555);
  attribs.struct_size = sizeof attribs;
  OK(calDeviceGetAttribs(&attribs, 0));
  TRUE(attribs.numberOfUAVs != 0x55555555 && attribs.totalVisibleHeap == 0);
  CALdevicestatus status = {sizeof status, 0, 0, 0};
  OK(calDeviceGetStatus(&status, dev));
  TRUE(status.availLocalRAM == attribs.localRAM && status.struct_size == sizeof status);
  printf("%s %u %u\n", attribs.boardName, attribs.localRAM, attribs.numberOfSIMD);
  // Resources.
  IS(CAL_RESULT_BAD_HANDLE, calResAllocLocal2D(&res, 77, 4, 4, CAL_FORMAT_FLOAT_1, 0));
  IS(CAL_RESULT_INVALID_PARAMETER, calResAllocLocal2D(&res, dev, 0, 4, CAL_FORMAT_FLOAT_1, 0));
  IS(CAL_RESULT_INVALID_PARAMETER, calResAllocLocal2D(&res, dev, 4, 4, 99, 0));
  IS(CAL_RESULT_ERROR, calResAllocLocal2D(&res, dev, 1 << 20, 4, CAL_FORMAT_FLOAT_1, 0));
  CALdevice two[2] = {dev, dev};
  IS(CAL_RESULT_INVALID_PARAMETER, calResAllocRemote1D(&res, two, 2, 4, CAL_FORMAT_FLOAT_1, 0));
  IS(CAL_RESULT_INVALID_PARAMETER, calResAllocRemote1D(&res, two, 0, 4, CAL_FORMAT_FLOAT_1, 0));
  IS(CAL_RESULT_INVALID_PARAMETER, calResAllocRemote2D(&res, NULL, 2, 4, 4, CAL_FORMAT_FLOAT_1, 0));
  IS(CAL_RESULT_INVALID_PARAMETER, calResAllocRemote1D(&res, two, 0x40000001u, 4, CAL_FORMAT_FLOAT_1, 0));
  two[1] = 77;
  IS(CAL_RESULT_BAD_HANDLE, calResAllocRemote2D(&res, two, 2, 4, 4, CAL_FORMAT_FLOAT_1, 0));
  OK(calResAllocLocal1D(&res, dev, 4, CAL_FORMAT_FLOAT_1, 0));
  void *memory, *again;
  OK(calResMap(&memory, &size, res, 0));
  IS(CAL_RESULT_ERROR, calResMap(&again, &size, res, 0));
  IS(CAL_RESULT_BUSY, calResFree(res));
  OK(calResUnmap(res));
  IS(CAL_RESULT_ERROR, calResUnmap(res));
  // Images: the compiler's bytes are what a module is loaded from.
  OK(calCtxCreate(&ctx, dev));
  OK(calCtxCreate(&second, dev));
  if (info.target != CAL_TARGET_770) {
    OK(calclLink(&image, &object, 1));
    IS(CAL_RESULT_ERROR, calModuleLoad(&module, ctx, image));
    OK(calclFreeImage(image));
  }
  OK(calclFreeObject(object));
  IS(CAL_RESULT_INVALID_PARAMETER, calclLink(&image, NULL, 0));
  OK(calclCompile(&object, CAL_LANGUAGE_IL, IL, info.target));
  OK(calclLink(&image, &object, 1));
  OK(calclImageGetSize(&size, image));
  char *bytes = malloc(size);
  IS(CAL_RESULT_INVALID_PARAMETER, calclImageWrite(bytes, size - 1, image));
  OK(calclImageWrite(bytes, size, image));
  OK(calclFreeImage(image));
  TRUE(!memcmp(bytes, "\177ELF", 4));
  IS(CAL_RESULT_ERROR, calImageRead(&image, bytes, 40));
  OK(calImageRead(&image, bytes, size));
  OK(calModuleLoad(&module, ctx, image));
  OK(calImageFree(image));
  IS(CAL_RESULT_ERROR, calModuleGetEntry(&func, ctx, module, "other"));
  OK(calModuleGetEntry(&func, ctx, module, "main"));
  IS(CAL_RESULT_BAD_HANDLE, calModuleGetEntry(&func, second, module, "main"));
  IS(CAL_RESULT_ERROR, calModuleGetName(&name, ctx, module, "i7"));
  OK(calModuleGetEntry(&func, ctx, module, "main"));
  OK(calModuleGetName(&name, ctx, module, "cb0"));
  OK(calCtxGetMem(&mem, ctx, res));
  IS(CAL_RESULT_BAD_NAME_TYPE, calCtxSetMem(ctx, name, mem)); // a constant buffer has elements of 128 bits
  IS(CAL_RESULT_ERROR, calCtxRunProgram(&(CALevent){0}, ctx, func, &(CALdomain){0, 0, 1, 1}));
  TRUE(strstr(calGetErrorString(), "cb0"));
  IS(CAL_RESULT_BAD_HANDLE, calCtxIsEventDone(ctx, 12345));
  // 76 bytes, whatever lies behind them.
  struct {
    CALfuncInfo info;
    CALuint guard[8];
  } told;
  memset(&told, 0x55, sizeof told);
  OK(calModuleGetFuncInfo(&told.info, ctx, module, func));
  TRUE(sizeof told.info == 76 && told.guard[0] == 0x55555555 && told.info.numGPRsUsed > 0);
  TRUE(told.info.wavefrontSize == attribs.wavefrontSize);
  // Extensions; Direct3D's are not there.
  IS(CAL_RESULT_NOT_SUPPORTED, calExtSupported(CAL_EXT_D3D9));
  IS(CAL_RESULT_NOT_SUPPORTED, calExtGetProc(&proc, CAL_EXT_D3D10, "calD3D10Associate"));
  OK(calExtGetVersion(&major, &minor, CAL_EXT_COUNTERS));
  IS(CAL_RESULT_NOT_SUPPORTED, calExtGetProc(&proc, CAL_EXT_COUNTERS, "calCtxNone"));
  TRUE(proc == NULL);
  IS(CAL_RESULT_NOT_SUPPORTED, calclExtSupported(0x1001));
  OK(calShutdown());
  IS(CAL_RESULT_NOT_INITIALIZED, calExtSupported(CAL_EXT_COUNTERS));
  // Handles of an earlier session are none of this one.
  OK(calInit());
  IS(CAL_RESULT_BAD_HANDLE, calDeviceClose(dev));
  OK(calDeviceOpen(&dev, 0));
  OK(calShutdown());
  free(bytes);
  return 0;
}
