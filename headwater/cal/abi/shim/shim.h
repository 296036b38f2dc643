// What the files of CAL's library offer each other. Devices, resources and contexts live in the server; here are
// objects and images (their bytes), mappings of resources, and texts of errors.
#pragma once
#include <stdatomic.h>

#include "bridge.h"
#include "cal.h"

#define HW_API __attribute__((visibility("default")))

// The text that calGetErrorString or calclGetErrorString gives: the calling thread's own last one, or else the last.
struct hw_errors {
  hw_mutex lock;
  char text[1024];
};
extern struct hw_errors hw_runtime_errors, hw_compiler_errors;
CALresult hw_fail(struct hw_errors *errors, CALresult result, const char *text, size_t bytes);
CALresult hw_null(const char *function, const char *parameter);

// A call that is answered by the server.
struct hw_call {
  struct hw_writer request;
  struct hw_reader reply;
  char *memory;
  struct hw_talk talk;
  bool talking;
};
// Ask for what belongs to the session that calInit began. A failure's text is kept for calGetErrorString.
CALresult hw_call(struct hw_call *call, uint32_t message);
// The same, and go on talking: what follows the reply can be received until `hw_end_call`.
CALresult hw_call_talking(struct hw_call *call, uint32_t message);
// Ask for what needs no session: of the compiler, or calInit.
CALresult hw_call_any(struct hw_call *call, uint32_t message, struct hw_errors *errors);
void hw_end_call(struct hw_call *call);

// CAL_RESULT_OK between calInit and calShutdown.
CALresult hw_session(void);

// Resources' memory in this process; `hw_pinned` is the file of what the host pins.
extern struct hw_arena hw_pinned;
void hw_forget_all_mappings(void);
void hw_lock_memory(void);
void hw_unlock_memory(void);
void hw_forget_parents_memory(void);

// Functions of extensions, which calExtGetProc gives.
CALresult calCtxRunProgramParams(CALevent *, CALcontext, CALfunc, const CALdomain *, const CALdomainparam *);
CALresult calResCreate2D(CALresource *, CALdevice, CALvoid *, CALuint, CALuint, CALformat, CALuint, CALuint);
CALresult calResCreate1D(CALresource *, CALdevice, CALvoid *, CALuint, CALformat, CALuint, CALuint);
CALresult calCtxSetSamplerParams(CALcontext, CALname, CALsamplerParameter, CALvoid *);
CALresult calCtxGetSamplerParams(CALcontext, CALname, CALsamplerParameter, CALvoid *);
CALresult calCtxCreateCounter(CALcounter *, CALcontext, CALcountertype);
CALresult calCtxDestroyCounter(CALcontext, CALcounter);
CALresult calCtxBeginCounter(CALcontext, CALcounter);
CALresult calCtxEndCounter(CALcontext, CALcounter);
CALresult calCtxGetCounter(CALfloat *, CALcontext, CALcounter);
CALresult calCtxWaitForEvents(CALcontext, CALevent *, CALuint, CALuint);
