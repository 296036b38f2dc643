// What the bridge has to know of OpenCL.
#include "api.h"

bool hw_same_address, hw_checks;
static atomic_bool knows_devices;

static bool prepare(struct hw_arena **arena) {
  *arena = &hw_arena;
  return hw_arena_ready();
}

static void greet(struct hw_writer *request) {
  struct hw_hello_request hello = {HW_VERSION, (uint64_t)(uintptr_t)hw_arena.base, hw_arena.size};
  hw_put_hello_request(request, &hello);
}

static bool greeted(struct hw_reader *reader) {
  struct hw_hello_reply reply;
  hw_get_hello_reply(reader, &reply);
  hw_same_address = reply.same_address;
  hw_checks = reply.checks;
  if (knows_devices)
    return false;
  hw_take_devices(reply.devices); // keeps what it points to
  knows_devices = true;
  return true;
}

bool hw_ready(void) { return (knows_devices || hw_generation()) && hw_device_count; }

// The next server does not know the programs that the others name.
static bool repeatable(uint32_t message) { return message == HW_BUILD || message == HW_COMPILE; }

static void before_fork(void) { hw_lock(&hw_graph); }
static void after_fork(void) { hw_unlock(&hw_graph); }

// Objects are as they were, but the parent's.
static void in_child(void) {
  hw_epoch++;
  hw_queues_after_fork();
  hw_memory_after_fork();
}

const struct hw_door hw_door = {
    .module = "headwater.icd.server",
    .lost = CL_OUT_OF_RESOURCES,
    .no_memory = CL_OUT_OF_HOST_MEMORY,
    .prepare = prepare,
    .greet = greet,
    .greeted = greeted,
    .repeatable = repeatable,
    .before_fork = before_fork,
    .after_fork = after_fork,
    .in_child = in_child,
};
