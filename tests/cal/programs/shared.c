// Remote memory that two devices share: one writes it, the other reads it.
#include "check.h"

enum { WIDTH = 100, HEIGHT = 8 };

static void copy(CALcontext ctx, CALresource from, CALresource to) {
  CALmem mems[2];
  CALevent event;
  OK(calCtxGetMem(&mems[0], ctx, from));
  OK(calCtxGetMem(&mems[1], ctx, to));
  OK(calMemCopy(&event, ctx, mems[0], mems[1], 0));
  while (calCtxIsEventDone(ctx, event) == CAL_RESULT_PENDING)
    ;
  OK(calCtxReleaseMem(ctx, mems[0]));
  OK(calCtxReleaseMem(ctx, mems[1]));
}

int main(void) {
  CALdevice dev[2];
  CALcontext ctx[2];
  CALresource local[2], remote;
  CALmem mem;
  CALuint pitch;
  float *memory;
  OK(calInit());
  for (CALuint i = 0; i < 2; i++) {
    OK(calDeviceOpen(&dev[i], i));
    OK(calCtxCreate(&ctx[i], dev[i]));
    OK(calResAllocLocal2D(&local[i], dev[i], WIDTH, HEIGHT, CAL_FORMAT_FLOAT_1, 0));
  }
  OK(calResAllocRemote2D(&remote, dev, 2, WIDTH, HEIGHT, CAL_FORMAT_FLOAT_1, 0));
  IS(CAL_RESULT_ERROR, calCtxGetMem(&mem, ctx[1], local[0]));
  OK(calResMap((void **)&memory, &pitch, local[0], 0));
  for (int i = 0; i < HEIGHT * WIDTH; i++)
    memory[i / WIDTH * pitch + i % WIDTH] = (float)i;
  OK(calResUnmap(local[0]));
  copy(ctx[0], local[0], remote);
  copy(ctx[1], remote, local[1]);
  OK(calResMap((void **)&memory, &pitch, local[1], 0));
  for (int i = 0; i < HEIGHT * WIDTH; i++)
    TRUE(memory[i / WIDTH * pitch + i % WIDTH] == (float)i);
  OK(calResUnmap(local[1]));
  // The memory outlives one of its devices.
  OK(calCtxDestroy(ctx[0]));
  OK(calDeviceClose(dev[0]));
  OK(calCtxGetMem(&mem, ctx[1], remote));
  OK(calCtxReleaseMem(ctx[1], mem));
  OK(calResFree(remote));
  OK(calShutdown());
  return 0;
}
