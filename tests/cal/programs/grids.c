// Compute programs: grids, arrays of grids, pinned memory, counters, waiting; several threads, each with a context.
#include <pthread.h>

#include "check.h"

static const char IL[] = "il_cs_2_0\n"
                         "dcl_num_thread_per_group 64\n"
                         "dcl_cb cb0[1]\n"
                         "mov r0, vaTid0.xxxx\n"
                         "itof r1, r0\n"
                         "mul r1, r1, cb0[0]\n"
                         "mov g[vaTid0.x], r1\n"
                         "end\n";
static const char PS[] = "il_ps_2_0\n"
                         "dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__\n"
                         "dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\n"
                         "dcl_output_generic o0\n"
                         "sample_resource(0)_sampler(0) r0, vWinCoord0.xyxx\n"
                         "add o0, r0, r0\n"
                         "end\n";
enum { ITEMS = 256 };

static CALdevice dev;
static CALtarget target;
static void *extension(CALextid id, const char *name) {
  CALextproc found;
  OK(calExtGetProc(&found, id, name));
  return found;
}

static void *work(void *given) {
  float factor = (float)(size_t)given;
  CALcontext ctx;
  CALresource out, constant;
  CALfunc func;
  CALevent event;
  CALuint pitch;
  void *memory;
  OK(calCtxCreate(&ctx, dev));
  CALmodule module = load(ctx, IL, target);
  OK(calModuleGetEntry(&func, ctx, module, "main"));
  OK(calResAllocLocal2D(&out, dev, ITEMS, 1, CAL_FORMAT_FLOAT_4, CAL_RESALLOC_GLOBAL_BUFFER));
  OK(calResAllocRemote1D(&constant, &dev, 1, 1, CAL_FORMAT_FLOAT_4, 0));
  OK(calResMap(&memory, &pitch, constant, 0));
  for (int i = 0; i < 4; i++)
    ((float *)memory)[i] = factor;
  OK(calResUnmap(constant));
  CALmem mems[2] = {bind(ctx, module, "g[]", out), bind(ctx, module, "cb0", constant)};
  PFNCALCTXRUNPROGRAMGRIDARRAY run = (PFNCALCTXRUNPROGRAMGRIDARRAY)extension(CAL_EXT_COMPUTE_SHADER, "calCtxRunProgramGridArray");
  PFNCALCTXWAITFOREVENTS wait = (PFNCALCTXWAITFOREVENTS)extension(CAL_EXT_SYNC_OBJECT, "calCtxWaitForEvents");
  CALprogramGrid grids[2] = {{func, {64, 1, 1}, {2, 1, 1}, 0}, {func, {64, 1, 1}, {ITEMS / 64, 1, 1}, 0}};
  CALprogramGridArray array = {grids, 2, 0};
  for (int round = 0; round < 5; round++) {
    OK(run(&event, ctx, &array));
    OK(wait(ctx, &event, 1, 0));
    OK(calResMap(&memory, &pitch, out, 0));
    for (int i = 0; i < 4 * ITEMS; i++)
      TRUE(((float *)memory)[i] == factor * (float)(i / 4));
    memset(memory, 0, ITEMS * 16);
    OK(calResUnmap(out));
  }
  grids[0].gridBlock.width = 32;
  IS(CAL_RESULT_INVALID_PARAMETER, calCtxRunProgramGrid(&event, ctx, grids));
  for (int i = 0; i < 2; i++)
    OK(calCtxReleaseMem(ctx, mems[i]));
  OK(calCtxDestroy(ctx));
  return NULL;
}

// The caller's own memory, at an odd place, beside other memory in the same pages.
static void pin(void) {
  enum { WIDTH = 64, HEIGHT = 9, BYTES = WIDTH * HEIGHT * 16 };
  PFNCALRESCREATE2D create = (PFNCALRESCREATE2D)extension(CAL_EXT_RES_CREATE, "calResCreate2D");
  char *whole = malloc(4 * BYTES), *first = whole + (256 - (size_t)whole % 256), *second = first + BYTES;
  memset(whole, 0x11, 4 * BYTES);
  for (int i = 0; i < BYTES / 4; i++)
    ((float *)first)[i] = (float)i;
  CALcontext ctx;
  CALresource in, out, none;
  CALfunc func;
  CALevent event;
  CALuint pitch;
  void *memory;
  OK(calCtxCreate(&ctx, dev));
  IS(CAL_RESULT_INVALID_PARAMETER, create(&none, dev, first + 4, WIDTH, HEIGHT, CAL_FORMAT_FLOAT_4, BYTES, 0));
  IS(CAL_RESULT_INVALID_PARAMETER, create(&none, dev, first, WIDTH, HEIGHT, CAL_FORMAT_FLOAT_4, 64, 0));
  OK(create(&in, dev, first, WIDTH, HEIGHT, CAL_FORMAT_FLOAT_4, BYTES, 0));
  OK(create(&out, dev, second, WIDTH, HEIGHT, CAL_FORMAT_FLOAT_4, BYTES, 0));
  CALmodule module = load(ctx, PS, target);
  OK(calModuleGetEntry(&func, ctx, module, "main"));
  CALmem mems[2] = {bind(ctx, module, "i0", in), bind(ctx, module, "o0", out)};
  CALdomain domain = {0, 0, WIDTH, HEIGHT};
  for (int round = 0; round < 2; round++) {
    OK(calCtxRunProgram(&event, ctx, func, &domain));
    finish(ctx, event);
    for (int i = 0; i < BYTES / 4; i++)
      TRUE(((float *)second)[i] == 2 * ((float *)first)[i]);
    ((float *)first)[7] = 1000; // seen by the next launch
  }
  OK(calResMap(&memory, &pitch, out, 0));
  TRUE(memory == second && pitch == WIDTH);
  OK(calResUnmap(out));
  for (char *c = whole; c < first; c++)
    TRUE(*c == 0x11);
  for (char *c = second + BYTES; c < whole + 4 * BYTES; c++)
    TRUE(*c == 0x11);
  for (int i = 0; i < 2; i++)
    OK(calCtxReleaseMem(ctx, mems[i]));
  OK(calResFree(in));
  OK(calResFree(out));
  whole = realloc(whole, 1 << 24); // its pages are still the heap's
  TRUE(whole && whole[0] == 0x11);
  free(whole);
  OK(calCtxDestroy(ctx));
}

static void count(void) {
  PFNCALCTXCREATECOUNTER create = (PFNCALCTXCREATECOUNTER)extension(CAL_EXT_COUNTERS, "calCtxCreateCounter");
  PFNCALCTXBEGINCOUNTER begin = (PFNCALCTXBEGINCOUNTER)extension(CAL_EXT_COUNTERS, "calCtxBeginCounter");
  PFNCALCTXENDCOUNTER end = (PFNCALCTXENDCOUNTER)extension(CAL_EXT_COUNTERS, "calCtxEndCounter");
  PFNCALCTXGETCOUNTER get = (PFNCALCTXGETCOUNTER)extension(CAL_EXT_COUNTERS, "calCtxGetCounter");
  PFNCALCTXDESTROYCOUNTER destroy = (PFNCALCTXDESTROYCOUNTER)extension(CAL_EXT_COUNTERS, "calCtxDestroyCounter");
  PFNCALSETSAMPLERPARAMS set = (PFNCALSETSAMPLERPARAMS)extension(CAL_EXT_SAMPLER_PARAM, "calCtxSetSamplerParams");
  PFNCALGETSAMPLERPARAMS ask = (PFNCALGETSAMPLERPARAMS)extension(CAL_EXT_SAMPLER_PARAM, "calCtxGetSamplerParams");
  CALcontext ctx;
  CALresource in, out;
  CALfunc func;
  CALevent event;
  CALcounter idle, hits;
  CALname sampler;
  float share = -1, rate = -1, colour[4] = {1, 2, 3, 4}, told[4];
  OK(calCtxCreate(&ctx, dev));
  OK(calResAllocLocal2D(&in, dev, 64, 64, CAL_FORMAT_FLOAT_4, 0));
  OK(calResAllocLocal2D(&out, dev, 64, 64, CAL_FORMAT_FLOAT_4, 0));
  CALmodule module = load(ctx, PS, target);
  OK(calModuleGetEntry(&func, ctx, module, "main"));
  bind(ctx, module, "i0", in);
  bind(ctx, module, "o0", out);
  OK(create(&idle, ctx, CAL_COUNTER_IDLE));
  OK(create(&hits, ctx, CAL_COUNTER_INPUT_CACHE_HIT_RATE));
  IS(CAL_RESULT_ERROR, get(&share, ctx, idle));
  OK(begin(ctx, idle));
  OK(begin(ctx, hits));
  OK(calCtxRunProgram(&event, ctx, func, &(CALdomain){0, 0, 64, 64}));
  OK(end(ctx, idle));
  OK(end(ctx, hits));
  OK(get(&share, ctx, idle));
  OK(get(&rate, ctx, hits));
  TRUE(share > 0 && share < 1 && rate >= 0 && rate < 1);
  printf("%a %a\n", share, rate);
  OK(destroy(ctx, idle));
  IS(CAL_RESULT_BAD_HANDLE, destroy(ctx, idle));
  OK(calModuleGetName(&sampler, ctx, module, "s0"));
  OK(set(ctx, sampler, CAL_SAMPLER_PARAM_BORDER_COLOR, colour));
  OK(set(ctx, sampler, CAL_SAMPLER_PARAM_WRAP_S, &(CALuint){CAL_SAMPLER_WRAP_CLAMP_TO_BORDER}));
  OK(ask(ctx, sampler, CAL_SAMPLER_PARAM_BORDER_COLOR, told));
  TRUE(!memcmp(colour, told, sizeof told));
  OK(calCtxDestroy(ctx));
}

int main(void) {
  CALdeviceinfo info;
  pthread_t threads[4];
  OK(calInit());
  OK(calDeviceGetInfo(&info, 0));
  target = info.target;
  OK(calDeviceOpen(&dev, 0));
  if (attributes(0).computeShader) {
    for (size_t i = 0; i < 4; i++)
      TRUE(!pthread_create(&threads[i], NULL, work, (void *)(i + 2)));
    for (int i = 0; i < 4; i++)
      pthread_join(threads[i], NULL);
  }
  pin();
  count();
  OK(calShutdown());
  return 0;
}
