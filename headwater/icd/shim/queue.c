// Command queues: commands are kept until somebody waits for them or the queue is flushed, then run one by one.
//
// Who waits works along: the thread that calls clFinish or a blocking command runs the queue's commands itself, so that
// no other thread has to be woken. A queue that is flushed gets a thread of its own, which lives as long as the queue.
#include <stdlib.h>

#include "api.h"

void hw_wait_for_change(void);
void hw_tell_change(void);

static cl_command_queue queues;
// So many commands are begun without a flush: a program may go on for long without one.
enum { FLUSH_COMMANDS = 256 };
// Launches that are sent together, at most.
enum { BATCH = 64 };

// -- what may run

// An event that ended well counts as nothing; -1: one ended badly; 1: one has not ended.
static int state_of_waits(const struct command *c) {
  int state = 0;
  for (cl_uint i = 0; i < c->wait_count; i++) {
    cl_int status = c->waits[i]->status;
    if (status > CL_COMPLETE)
      return 1;
    if (status < 0)
      state = -1;
  }
  return state;
}

// The place of the pointer to a command that may run now; NULL if there is none. With hw_graph held.
static struct command **ready(cl_command_queue q) {
  bool in_order = !(q->flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  for (struct command **at = &q->first; *at; at = &(*at)->next) {
    struct command *c = *at;
    bool first = at == &q->first;
    if ((!c->all || first) && state_of_waits(c) <= 0)
      return at;
    if (in_order || c->barrier || c->all)
      return NULL;
  }
  return NULL;
}

static struct command *take(cl_command_queue q, struct command **at) {
  struct command *c = *at;
  *at = c->next;
  if (q->last == c) {
    q->last = NULL;
    for (struct command *l = q->first; l; l = l->next)
      q->last = l;
  }
  q->count--;
  c->next = NULL;
  return c;
}

void hw_wake_queues(void) {
  for (cl_command_queue q = queues; q; q = q->next_queue)
    if (q->worker && q->first && !q->executing)
      hw_signal_all(&q->wake);
}

void hw_free_command(struct command *c) {
  if (c->clear)
    c->clear(c);
  for (cl_uint i = 0; i < c->wait_count; i++)
    hw_drop(c->waits[i]);
  free(c->waits);
  hw_drop(c->mems[0]);
  hw_drop(c->mems[1]);
  free(c->owned);
  hw_drop(c->event);
  free(c);
}

void hw_finished(struct command *c, cl_int status) {
  cl_event event = c->event;
  hw_lock(&hw_graph);
  if (!event->ended)
    event->ended = hw_now();
  if (!event->started)
    event->started = event->ended;
  hw_set_status(event, status);
  if (status < 0 && hw_is_launch(c) && status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    event->queue->failure = status;
  hw_wake_queues();
  hw_tell_change();
  bool calls = event->calls;
  hw_unlock(&hw_graph);
  if (calls)
    hw_call_back(event);
  hw_free_command(c);
}

static void begin(struct command *c) {
  cl_event event = c->event;
  hw_lock(&hw_graph);
  hw_set_status(event, CL_SUBMITTED);
  bool calls = event->calls;
  hw_unlock(&hw_graph);
  if (calls)
    hw_call_back(event);
  event->started = hw_now();
  event->status = CL_RUNNING;
  if (calls)
    hw_call_back(event);
}

// The memory that a command which is no launch writes, or NULL.
static cl_mem written_by(const struct command *c) {
  switch (c->event->type) {
  case CL_COMMAND_READ_BUFFER:
  case CL_COMMAND_READ_BUFFER_RECT:
  case CL_COMMAND_UNMAP_MEM_OBJECT: // it may have been written since it was mapped
    return NULL;
  case CL_COMMAND_MAP_BUFFER:
    return c->map->flags & ~(cl_map_flags)CL_MAP_READ ? c->mems[0] : NULL;
  }
  return c->mems[1] ? c->mems[1] : c->mems[0];
}

static cl_int run_here(struct command *c) {
  cl_mem written = written_by(c);
  if (written)
    written->unwritten = false;
  for (uint32_t i = 0; i < c->kernel_mem_count; i++) // a native kernel's
    c->kernel_mems[i]->unwritten = false;
  return c->run ? c->run(c) : CL_SUCCESS;
}

// Run what is ready, with hw_graph held and given up meanwhile; false if nothing was.
static bool run_some(cl_command_queue q) {
  struct command **at = q->executing ? NULL : ready(q);
  if (!at)
    return false;
  q->executing = true;
  hw_hold(q);
  struct command *batch[BATCH];
  uint32_t count = 0;
  batch[count++] = take(q, at);
  bool failed = state_of_waits(batch[0]) < 0;
  // Launches behind it, of which nothing but their place in the queue says that they wait.
  if (!failed && hw_is_launch(batch[0]) && !(q->flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
    while (count < BATCH && q->first && hw_is_launch(q->first) && !q->first->event->calls &&
           state_of_waits(q->first) == 0)
      batch[count++] = take(q, &q->first);
  hw_unlock(&hw_graph);
  for (uint32_t i = 0; i < count; i++)
    begin(batch[i]);
  if (failed)
    hw_finished(batch[0], CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  else if (hw_is_launch(batch[0]))
    hw_run_launches(batch, count);
  else
    hw_finished(batch[0], run_here(batch[0]));
  hw_lock(&hw_graph);
  q->executing = false;
  if (q->worker && (q->first || q->closing))
    hw_signal_all(&q->wake);
  hw_tell_change();
  hw_unlock(&hw_graph);
  hw_drop(q);
  hw_lock(&hw_graph);
  return true;
}

static void work(void *what) {
  cl_command_queue q = what;
  hw_lock(&hw_graph);
  for (;;) {
    if (!q->first)
      q->flushed = false;
    if (q->closing && !q->first && !q->executing)
      break;
    if ((q->flushed || q->closing) && run_some(q))
      continue;
    hw_wait(&q->wake, &hw_graph);
  }
  q->worker = false;
  hw_unlock(&hw_graph);
  hw_drop(q);
}

void hw_flush_queue(cl_command_queue q) {
  if (!q->first)
    return;
  q->flushed = true;
  // What they wait for must not wait for a flush either.
  for (struct command *c = q->first; c; c = c->next)
    for (cl_uint i = 0; i < c->wait_count; i++) {
      cl_command_queue other = c->waits[i]->queue;
      if (other && other != q && !other->flushed && c->waits[i]->status > CL_COMPLETE)
        hw_flush_queue(other);
    }
  if (!q->worker) {
    hw_hold(q); // its thread's
    q->worker = true;
    if (!hw_start_thread(work, q)) {
      q->worker = false; // whoever waits does the work
      atomic_fetch_sub(&q->object.holds, 1);
    }
  } else if (!q->executing) {
    hw_signal_all(&q->wake);
  }
}

cl_int hw_wait_event(cl_event event) {
  cl_command_queue q = event->queue;
  hw_lock(&hw_graph);
  bool flushed = false;
  while (event->status > CL_COMPLETE) {
    if (q && run_some(q))
      continue;
    if (event->status <= CL_COMPLETE)
      break;
    if (q && !flushed) { // it waits for what other threads or queues do
      flushed = true;
      hw_flush_queue(q);
      continue;
    }
    hw_wait_for_change();
  }
  hw_unlock(&hw_graph);
  return event->status;
}

cl_int hw_check_enqueue(cl_command_queue queue, cl_uint count, const cl_event *events) {
  if (!hw_is(queue, MAGIC_QUEUE))
    return CL_INVALID_COMMAND_QUEUE;
  if ((count != 0) != (events != NULL))
    return CL_INVALID_EVENT_WAIT_LIST;
  for (cl_uint i = 0; i < count; i++) {
    if (!hw_is(events[i], MAGIC_EVENT))
      return CL_INVALID_EVENT_WAIT_LIST;
    if (events[i]->context != queue->context)
      return CL_INVALID_CONTEXT;
  }
  return CL_SUCCESS;
}

struct command *hw_command(cl_command_queue queue, cl_uint type, cl_uint count, const cl_event *waits,
                           cl_int (*run)(struct command *)) {
  struct command *c = calloc(1, sizeof *c);
  if (!c)
    return NULL;
  c->run = run;
  c->event = hw_new_event(queue->context, queue, type);
  c->waits = count ? malloc(count * sizeof *waits) : NULL;
  if (!c->event || (count && !c->waits)) {
    hw_free_command(c);
    return NULL;
  }
  for (; c->wait_count < count; c->wait_count++)
    hw_hold(c->waits[c->wait_count] = waits[c->wait_count]);
  return c;
}

cl_int hw_enqueue(cl_command_queue q, struct command *c, bool wait, cl_event *event) {
  if (!c)
    return CL_OUT_OF_HOST_MEMORY;
  cl_event made = c->event;
  hw_hold(c->mems[0]);
  hw_hold(c->mems[1]);
  // The event's one reference is the program's if it asked for the event; the command has a hold of its own.
  hw_hold(made);
  if (wait) // a failed event in the list of a blocking command is an error of the call
    hw_hold(made);
  hw_lock(&hw_graph);
  for (cl_uint i = 0; i < c->wait_count; i++) {
    cl_command_queue other = c->waits[i]->queue;
    if (other && other != q && c->waits[i]->status > CL_COMPLETE)
      hw_flush_queue(other);
  }
  if (q->last)
    q->last->next = c;
  else
    q->first = c;
  q->last = c;
  if (++q->count >= FLUSH_COMMANDS && !q->executing)
    hw_flush_queue(q);
  else if (q->flushed && q->worker && !q->executing)
    hw_signal_all(&q->wake);
  hw_unlock(&hw_graph);
  cl_int result = CL_SUCCESS;
  if (event)
    *event = made;
  if (wait) {
    result = hw_wait_event(made);
    if (result >= 0) // what it read may be what a launch before it failed to write
      result = atomic_exchange(&q->failure, CL_SUCCESS);
    hw_drop(made);
  }
  if (!event)
    hw_release(made, MAGIC_EVENT, CL_INVALID_EVENT);
  else if (result < 0 && wait) {
    hw_release(made, MAGIC_EVENT, CL_INVALID_EVENT);
    *event = NULL;
  }
  return result;
}

// -- the interface

static cl_command_queue new_queue(cl_context context, cl_device_id device, cl_command_queue_properties flags,
                                  const cl_properties *properties, cl_int *errcode_ret) {
  cl_command_queue q = NULL;
  cl_int error = CL_SUCCESS;
  if (!hw_is(context, MAGIC_CONTEXT))
    error = CL_INVALID_CONTEXT;
  else if (!hw_is_device(device) || !hw_in_context(context, device))
    error = CL_INVALID_DEVICE;
  else if (flags & ~(cl_command_queue_properties)(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE |
                                                  CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT))
    error = CL_INVALID_VALUE;
  else if (flags & (CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT))
    error = CL_INVALID_QUEUE_PROPERTIES;
  else if (!(q = hw_new(sizeof *q, MAGIC_QUEUE)))
    error = CL_OUT_OF_HOST_MEMORY;
  if (q) {
    hw_hold(q->context = context);
    q->device = device;
    q->flags = flags;
    q->properties = hw_copy_properties(properties, &q->properties_bytes);
    hw_condition_init(&q->wake);
    hw_lock(&hw_graph);
    q->next_queue = queues;
    if (queues)
      queues->previous_queue = q;
    queues = q;
    hw_unlock(&hw_graph);
  }
  hw_set(errcode_ret, error);
  return q;
}

void hw_destroy_queue(cl_command_queue q) {
  hw_lock(&hw_graph);
  if (q->previous_queue)
    q->previous_queue->next_queue = q->next_queue;
  else if (queues == q)
    queues = q->next_queue;
  if (q->next_queue)
    q->next_queue->previous_queue = q->previous_queue;
  hw_unlock(&hw_graph);
  hw_condition_free(&q->wake);
  free(q->properties);
  hw_drop(q->context);
}

void hw_queues_after_fork(void) { queues = NULL; }

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                  cl_command_queue_properties flags, cl_int *errcode_ret) {
  return new_queue(context, device, flags, NULL, errcode_ret);
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                                const cl_properties *properties, cl_int *errcode_ret) {
  cl_command_queue_properties flags = 0;
  for (const cl_properties *p = properties; p && *p; p += 2) {
    if (*p == CL_QUEUE_PROPERTIES) {
      flags = p[1];
    } else if (*p != CL_QUEUE_SIZE) {
      hw_set(errcode_ret, CL_INVALID_VALUE);
      return NULL;
    } else { // for queues on devices only
      hw_set(errcode_ret, CL_INVALID_VALUE);
      return NULL;
    }
  }
  return new_queue(context, device, flags, properties, errcode_ret);
}

cl_int CL_API_CALL clRetainCommandQueue(cl_command_queue q) {
  return hw_retain(q, MAGIC_QUEUE, CL_INVALID_COMMAND_QUEUE);
}

cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue q) {
  if (!hw_is(q, MAGIC_QUEUE))
    return CL_INVALID_COMMAND_QUEUE;
  // Releasing flushes; what is in the queue still runs, and its thread keeps the queue until then.
  hw_lock(&hw_graph);
  hw_flush_queue(q);
  bool last = atomic_fetch_sub(&q->object.references, 1) == 1;
  if (last) {
    q->closing = true;
    if (q->worker)
      hw_signal_all(&q->wake);
  }
  hw_unlock(&hw_graph);
  if (last)
    hw_drop(q);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetCommandQueueInfo(cl_command_queue q, cl_uint key, size_t size, void *value, size_t *size_ret) {
  if (!hw_is(q, MAGIC_QUEUE))
    return CL_INVALID_COMMAND_QUEUE;
  switch (key) {
  case CL_QUEUE_CONTEXT:
    ANSWER(cl_context, q->context);
  case CL_QUEUE_DEVICE:
    ANSWER(cl_device_id, q->device);
  case CL_QUEUE_REFERENCE_COUNT:
    ANSWER(cl_uint, q->object.references);
  case CL_QUEUE_PROPERTIES:
    ANSWER(cl_command_queue_properties, q->flags);
  case CL_QUEUE_PROPERTIES_ARRAY:
    return hw_answer(q->properties, q->properties_bytes, size, value, size_ret);
  case CL_QUEUE_SIZE:
    return CL_INVALID_COMMAND_QUEUE; // not a queue on a device
  case CL_QUEUE_DEVICE_DEFAULT:
    ANSWER(cl_command_queue, NULL);
  }
  return CL_INVALID_VALUE;
}

cl_int CL_API_CALL clSetCommandQueueProperty(cl_command_queue q, cl_command_queue_properties properties, cl_bool enable,
                                             cl_command_queue_properties *old) {
  if (!hw_is(q, MAGIC_QUEUE))
    return CL_INVALID_COMMAND_QUEUE;
  if (properties & ~(cl_command_queue_properties)(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE))
    return CL_INVALID_VALUE;
  if (old)
    *old = q->flags;
  hw_lock(&hw_graph);
  q->flags = enable ? q->flags | properties : q->flags & ~properties;
  hw_unlock(&hw_graph);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clFlush(cl_command_queue q) {
  if (!hw_is(q, MAGIC_QUEUE))
    return CL_INVALID_COMMAND_QUEUE;
  hw_lock(&hw_graph);
  hw_flush_queue(q);
  hw_unlock(&hw_graph);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clFinish(cl_command_queue q) {
  if (!hw_is(q, MAGIC_QUEUE))
    return CL_INVALID_COMMAND_QUEUE;
  hw_lock(&hw_graph);
  while (q->first || q->executing) {
    if (run_some(q))
      continue;
    if (!q->first && !q->executing)
      break;
    // It waits for a user's event, for another queue, or for the thread that works on it.
    for (struct command *c = q->first; c; c = c->next)
      for (cl_uint i = 0; i < c->wait_count; i++)
        if (c->waits[i]->queue && c->waits[i]->queue != q && c->waits[i]->status > CL_COMPLETE)
          hw_flush_queue(c->waits[i]->queue);
    hw_wait_for_change();
  }
  hw_unlock(&hw_graph);
  return atomic_exchange(&q->failure, CL_SUCCESS);
}

// -- markers and barriers

static cl_int enqueue_marker(cl_command_queue q, cl_uint type, bool barrier, cl_uint count, const cl_event *waits,
                             cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (error)
    return error;
  struct command *c = hw_command(q, type, count, waits, NULL);
  if (c) {
    c->barrier = barrier;
    c->all = !count;
  }
  return hw_enqueue(q, c, false, event);
}

cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue q, cl_uint count, const cl_event *waits,
                                               cl_event *event) {
  return enqueue_marker(q, CL_COMMAND_MARKER, false, count, waits, event);
}

cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue q, cl_uint count, const cl_event *waits,
                                                cl_event *event) {
  return enqueue_marker(q, CL_COMMAND_BARRIER, true, count, waits, event);
}

cl_int CL_API_CALL clEnqueueMarker(cl_command_queue q, cl_event *event) {
  return event ? enqueue_marker(q, CL_COMMAND_MARKER, false, 0, NULL, event) : CL_INVALID_VALUE;
}

cl_int CL_API_CALL clEnqueueBarrier(cl_command_queue q) {
  return enqueue_marker(q, CL_COMMAND_BARRIER, true, 0, NULL, NULL);
}

cl_int CL_API_CALL clEnqueueWaitForEvents(cl_command_queue q, cl_uint count, const cl_event *events) {
  if (!hw_is(q, MAGIC_QUEUE))
    return CL_INVALID_COMMAND_QUEUE;
  if (!count || !events)
    return CL_INVALID_VALUE;
  cl_int error = hw_check_enqueue(q, count, events);
  if (error)
    return error == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : error;
  return enqueue_marker(q, CL_COMMAND_BARRIER, true, count, events, NULL);
}
