// The server is killed: errors and a text, memory keeps its contents, and another session works. With an argument, the
// program tells its server's number and waits to be killed itself.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static pid_t server(void) {
  char path[64];
  int child = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  FILE *file = fopen(path, "r");
  TRUE(file && fscanf(file, "%d", &child) == 1);
  fclose(file);
  return child;
}

int main(int argc, char **argv) {
  (void)argv;
  CALuint pitch, count;
  CALdevice dev;
  CALcontext ctx;
  CALresource res;
  CALobject object;
  CALimage image;
  CALdeviceinfo info;
  CALmodule module;
  void *memory;
  for (int round = 0; round < 2; round++) {
    OK(calInit());
    OK(calDeviceGetInfo(&info, 0));
    OK(calDeviceOpen(&dev, 0));
    OK(calCtxCreate(&ctx, dev));
    OK(calResAllocLocal2D(&res, dev, 64, 64, CAL_FORMAT_FLOAT_4, 0));
    OK(calResMap(&memory, &pitch, res, 0));
    memset(memory, 0x22, 64 * pitch * 16);
    if (!round)
      OK(calclCompile(&object, CAL_LANGUAGE_IL, "il_ps_2_0\ndcl_output_generic o0\nmov o0, r0\nend\n", info.target));
    if (argc > 1) {
      printf("%d\n", (int)server());
      fflush(stdout);
      pause();
    }
    OK(calclLink(&image, &object, 1));
    OK(calModuleLoad(&module, ctx, image));
    OK(calclFreeImage(image));
    pid_t child = server();
    kill(child, SIGKILL);
    TRUE(waitpid(child, NULL, 0) == child);
    IS(CAL_RESULT_ERROR, calResUnmap(res));
    TRUE(strstr(calGetErrorString(), "server has ended"));
    IS(CAL_RESULT_ERROR, calDeviceGetCount(&count));
    TRUE(((char *)memory)[64 * pitch * 16 - 1] == 0x22);
    // The compiler's objects are the program's; another server links them, which knows nothing of the session.
    OK(calclLink(&image, &object, 1));
    IS(CAL_RESULT_ERROR, calModuleLoad(&module, ctx, image));
    OK(calclFreeImage(image));
    OK(calShutdown());
  }
  return 0;
}
