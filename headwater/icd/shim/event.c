// Events: status, callbacks, times, waiting.
#include <stdlib.h>

#include "api.h"

hw_mutex hw_graph = HW_MUTEX_INIT;
static hw_condition changed = HW_CONDITION_INIT; // some event has ended, or a queue has
static _Atomic(uint32_t) waiting;

cl_event hw_new_event(cl_context context, cl_command_queue queue, cl_uint type) {
  cl_event event = hw_new(sizeof *event, MAGIC_EVENT);
  if (event) {
    hw_hold(event->context = context);
    hw_hold(event->queue = queue);
    event->type = type;
    event->status = queue ? CL_QUEUED : CL_SUBMITTED;
    event->queued = queue ? hw_now() : 0;
  }
  return event;
}

void hw_free_event(cl_event event) {
  while (event->calls) {
    struct event_call *next = event->calls->next;
    free(event->calls);
    event->calls = next;
  }
  hw_drop(event->queue);
  hw_drop(event->context);
}

void hw_wait_for_change(void) { // hw_graph held
  waiting++;
  hw_wait(&changed, &hw_graph);
  waiting--;
}

void hw_tell_change(void) {
  if (waiting)
    hw_signal_all(&changed);
}

void hw_set_status(cl_event event, cl_int status) {
  event->status = status;
  if (status == CL_SUBMITTED)
    event->submitted = hw_now();
}

// The program sees that a command failed: its queue need not tell it again.
static void told(cl_event event) {
  if (event->queue && event->status < 0)
    event->queue->failure = CL_SUCCESS;
}

void hw_call_back(cl_event event) {
  for (;;) {
    hw_lock(&hw_graph);
    cl_int status = event->status;
    struct event_call **at = &event->calls;
    while (*at && (*at)->status < status)
      at = &(*at)->next;
    struct event_call *call = *at;
    if (call)
      *at = call->next;
    hw_unlock(&hw_graph);
    if (!call)
      return;
    told(event);
    // A command that failed is reported as failed; else the callback gets the status that it asked for.
    call->call(event, status < 0 ? status : call->status, call->data);
    free(call);
  }
}

cl_int CL_API_CALL clRetainEvent(cl_event event) { return hw_retain(event, MAGIC_EVENT, CL_INVALID_EVENT); }
cl_int CL_API_CALL clReleaseEvent(cl_event event) { return hw_release(event, MAGIC_EVENT, CL_INVALID_EVENT); }

cl_event CL_API_CALL clCreateUserEvent(cl_context context, cl_int *errcode_ret) {
  cl_event event = NULL;
  cl_int error = CL_INVALID_CONTEXT;
  if (hw_is(context, MAGIC_CONTEXT)) {
    event = hw_new_event(context, NULL, CL_COMMAND_USER);
    error = event ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
  }
  hw_set(errcode_ret, error);
  return event;
}

void hw_wake_queues(void);

cl_int CL_API_CALL clSetUserEventStatus(cl_event event, cl_int status) {
  if (!hw_is(event, MAGIC_EVENT) || event->queue)
    return CL_INVALID_EVENT;
  if (status > CL_COMPLETE)
    return CL_INVALID_VALUE;
  hw_lock(&hw_graph);
  bool again = event->user_set;
  event->user_set = true;
  if (!again) {
    hw_set_status(event, status);
    hw_wake_queues();
    hw_tell_change();
  }
  hw_unlock(&hw_graph);
  if (again)
    return CL_INVALID_OPERATION;
  hw_hold(event);
  hw_call_back(event);
  hw_drop(event);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clSetEventCallback(cl_event event, cl_int status, event_callback call, void *data) {
  if (!hw_is(event, MAGIC_EVENT))
    return CL_INVALID_EVENT;
  if (!call || (status != CL_SUBMITTED && status != CL_RUNNING && status != CL_COMPLETE))
    return CL_INVALID_VALUE;
  struct event_call *made = malloc(sizeof *made);
  if (!made)
    return CL_OUT_OF_HOST_MEMORY;
  *made = (struct event_call){NULL, call, data, status};
  hw_lock(&hw_graph);
  struct event_call **at = &event->calls;
  while (*at)
    at = &(*at)->next;
  *at = made;
  if (event->queue)
    hw_flush_queue(event->queue);
  hw_unlock(&hw_graph);
  hw_hold(event);
  hw_call_back(event);
  hw_drop(event);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clWaitForEvents(cl_uint count, const cl_event *events) {
  if (!count || !events)
    return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < count; i++)
    if (!hw_is(events[i], MAGIC_EVENT))
      return CL_INVALID_EVENT;
  for (cl_uint i = 1; i < count; i++)
    if (events[i]->context != events[0]->context)
      return CL_INVALID_CONTEXT;
  hw_lock(&hw_graph);
  for (cl_uint i = 0; i + 1 < count; i++) // they may run side by side; the last one's queue is worked on here
    if (events[i]->queue && events[i]->queue != events[count - 1]->queue)
      hw_flush_queue(events[i]->queue);
  hw_unlock(&hw_graph);
  cl_int result = CL_SUCCESS;
  for (cl_uint i = count; i-- > 0;)
    if (hw_wait_event(events[i]) < 0) {
      told(events[i]);
      result = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
  return result;
}

cl_int CL_API_CALL clGetEventInfo(cl_event event, cl_uint key, size_t size, void *value, size_t *size_ret) {
  if (!hw_is(event, MAGIC_EVENT))
    return CL_INVALID_EVENT;
  switch (key) {
  case CL_EVENT_COMMAND_QUEUE:
    ANSWER(cl_command_queue, event->queue);
  case CL_EVENT_CONTEXT:
    ANSWER(cl_context, event->context);
  case CL_EVENT_COMMAND_TYPE:
    ANSWER(cl_uint, event->type);
  case CL_EVENT_COMMAND_EXECUTION_STATUS:
    // Programs that ask again and again never flush, some of them.
    if (event->queue && event->status > CL_COMPLETE) {
      hw_lock(&hw_graph);
      hw_flush_queue(event->queue);
      hw_unlock(&hw_graph);
    }
    told(event);
    ANSWER(cl_int, event->status);
  case CL_EVENT_REFERENCE_COUNT:
    ANSWER(cl_uint, event->object.references);
  }
  return CL_INVALID_VALUE;
}

cl_int CL_API_CALL clGetEventProfilingInfo(cl_event event, cl_uint key, size_t size, void *value, size_t *size_ret) {
  if (!hw_is(event, MAGIC_EVENT))
    return CL_INVALID_EVENT;
  if (!event->queue || !(event->queue->flags & CL_QUEUE_PROFILING_ENABLE) || event->status != CL_COMPLETE)
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  switch (key) {
  case CL_PROFILING_COMMAND_QUEUED:
    ANSWER(cl_ulong, event->queued);
  case CL_PROFILING_COMMAND_SUBMIT:
    ANSWER(cl_ulong, event->submitted);
  case CL_PROFILING_COMMAND_START:
    ANSWER(cl_ulong, event->started);
  case CL_PROFILING_COMMAND_END:
  case CL_PROFILING_COMMAND_COMPLETE:
    ANSWER(cl_ulong, event->ended);
  }
  return CL_INVALID_VALUE;
}
