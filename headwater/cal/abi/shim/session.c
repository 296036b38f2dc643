// The session between calInit and calShutdown, calls to the server, and the texts of errors.
#include <stdio.h>
#include <stdlib.h>

#include "shim.h"

struct hw_errors hw_runtime_errors = {HW_MUTEX_INIT, ""}, hw_compiler_errors = {HW_MUTEX_INIT, ""};

// Of the calling thread: [0] the run-time's, [1] the compiler's.
static _Thread_local char own_text[2][sizeof hw_runtime_errors.text];

CALresult hw_fail(struct hw_errors *errors, CALresult result, const char *text, size_t bytes) {
  if (bytes >= sizeof errors->text)
    bytes = sizeof errors->text - 1;
  char *own = own_text[errors == &hw_compiler_errors];
  memcpy(own, text, bytes);
  own[bytes] = 0;
  hw_lock(&errors->lock);
  memcpy(errors->text, own, bytes + 1);
  hw_unlock(&errors->lock);
  return result;
}

static const char *last_text(struct hw_errors *errors) {
  char *own = own_text[errors == &hw_compiler_errors];
  if (!*own) {
    hw_lock(&errors->lock);
    memcpy(own, errors->text, sizeof errors->text);
    hw_unlock(&errors->lock);
  }
  return own;
}

HW_API const CALchar *calGetErrorString(void) { return last_text(&hw_runtime_errors); }
HW_API const CALchar *calclGetErrorString(void) { return last_text(&hw_compiler_errors); }

static CALresult fail_text(struct hw_errors *errors, CALresult result, const char *text) {
  return hw_fail(errors, result, text, strlen(text));
}

CALresult hw_null(const char *function, const char *parameter) {
  char text[128];
  int bytes = snprintf(text, sizeof text, "%s: %s is a null pointer", function, parameter);
  bool compiler = !strncmp(function, "calcl", 5);
  return hw_fail(compiler ? &hw_compiler_errors : &hw_runtime_errors, CAL_RESULT_INVALID_PARAMETER, text, (size_t)bytes);
}

// -- the session

static atomic_bool initialised, lost;
static atomic_uint session_generation;
static const char LOST[] = "the server has ended; calShutdown and calInit start another one";

CALresult hw_session(void) {
  return initialised ? CAL_RESULT_OK
                     : fail_text(&hw_runtime_errors, CAL_RESULT_NOT_INITIALIZED, "CAL is not initialised");
}

static CALresult take_failure(struct hw_call *call, CALresult result, struct hw_errors *errors) {
  struct hw_failure failure;
  hw_get_failure(&call->reply, &failure);
  return hw_fail(errors, result, failure.text.data ? failure.text.data : "", failure.text.size);
}

// With a reply's status: PENDING is one of two answers, not a failure.
static CALresult answered(struct hw_call *call, int32_t status, struct hw_errors *errors) {
  return status == CAL_RESULT_OK || status == CAL_RESULT_PENDING ? status : take_failure(call, status, errors);
}

CALresult hw_call_talking(struct hw_call *call, uint32_t message) {
  CALresult result = hw_session();
  if (result != CAL_RESULT_OK)
    return result;
  if (lost)
    return fail_text(&hw_runtime_errors, CAL_RESULT_ERROR, LOST);
  if (call->request.failed)
    return fail_text(&hw_runtime_errors, CAL_RESULT_ERROR, "this process has no more memory");
  int32_t status = CAL_RESULT_ERROR;
  call->talking = hw_generation() == session_generation && hw_begin(&call->talk, message, &call->request);
  bool good = call->talking && hw_next(&call->talk, &status, &call->reply, &call->memory);
  if (call->talking && !good)
    hw_end(&call->talk, false);
  call->talking = good;
  // The compiler, which any server can answer, may have started one that knows nothing of the session.
  if (!good || call->talk.generation != session_generation) {
    lost = true;
    return fail_text(&hw_runtime_errors, CAL_RESULT_ERROR, LOST);
  }
  return answered(call, status, &hw_runtime_errors);
}

CALresult hw_call(struct hw_call *call, uint32_t message) {
  CALresult result = hw_call_talking(call, message);
  if (call->talking)
    hw_end(&call->talk, true);
  call->talking = false;
  return result;
}

CALresult hw_call_any(struct hw_call *call, uint32_t message, struct hw_errors *errors) {
  if (call->request.failed)
    return fail_text(errors, CAL_RESULT_ERROR, "this process has no more memory");
  int32_t status = hw_ask(message, &call->request, &call->reply, &call->memory);
  return call->memory ? answered(call, status, errors) : fail_text(errors, CAL_RESULT_ERROR, "no server answers");
}

void hw_end_call(struct hw_call *call) {
  if (call->talking)
    hw_end(&call->talk, true);
  free(call->request.data);
  free(call->memory);
}

HW_API CALresult calInit(void) {
  if (initialised)
    return fail_text(&hw_runtime_errors, CAL_RESULT_ALREADY, "CAL is initialised already");
  struct hw_call call = {0};
  CALresult result = hw_call_any(&call, HW_CALINIT, &hw_runtime_errors);
  hw_end_call(&call);
  if (result == CAL_RESULT_OK) {
    session_generation = hw_generation();
    lost = false;
    initialised = true;
  }
  return result;
}

HW_API CALresult calShutdown(void) {
  CALresult result = hw_session();
  if (result != CAL_RESULT_OK)
    return result;
  if (!lost) {
    struct hw_call call = {0};
    hw_call(&call, HW_CALSHUTDOWN);
    hw_end_call(&call);
  }
  initialised = false;
  hw_forget_all_mappings();
  return CAL_RESULT_OK;
}

static CALresult version(CALuint *major, CALuint *minor, CALuint *imp, const char *function) {
  if (!major || !minor || !imp)
    return hw_null(function, "a part of the version");
  *major = 1;
  *minor = 4;
  *imp = 0;
  return CAL_RESULT_OK;
}

HW_API CALresult calGetVersion(CALuint *major, CALuint *minor, CALuint *imp) {
  return version(major, minor, imp, "calGetVersion");
}
HW_API CALresult calclGetVersion(CALuint *major, CALuint *minor, CALuint *imp) {
  return version(major, minor, imp, "calclGetVersion");
}

// -- what the bridge has to know of CAL

static bool prepare(struct hw_arena **arena) {
  *arena = &hw_pinned;
  // Pages of the host lie in the file at their addresses; what is not pinned takes no memory.
  if (!hw_pinned.size && !hw_make_shared(&hw_pinned, sizeof(void *) == 8 ? (uint64_t)1 << 47 : (uint64_t)1 << 32)) {
    fprintf(stderr, "headwater: this process may have no memory that it can share\n");
    return false;
  }
  return true;
}

static void greet(struct hw_writer *request) {
  struct hw_hello_request hello = {HW_VERSION};
  hw_put_hello_request(request, &hello);
}

static bool greeted(struct hw_reader *reply) {
  (void)reply;
  return false;
}

// What a session has is its server's; the compiler remembers nothing.
static bool repeatable(uint32_t message) {
  return message == HW_CALINIT || message == HW_CALIMAGEREAD || message >= HW_CALCLCOMPILE;
}

// The session and what is pinned are the parent's.
static void in_child(void) {
  initialised = false;
  hw_forget_parents_memory();
}

const struct hw_door hw_door = {
    .module = "headwater.cal.abi.server",
    .lost = CAL_RESULT_ERROR,
    .no_memory = CAL_RESULT_ERROR,
    .prepare = prepare,
    .greet = greet,
    .greeted = greeted,
    .repeatable = repeatable,
    .before_fork = hw_lock_memory,
    .after_fork = hw_unlock_memory,
    .in_child = in_child,
};
