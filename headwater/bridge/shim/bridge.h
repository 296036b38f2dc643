// Asking the server: what every shim has of it, and what each tells of itself.
#pragma once
#include <stdbool.h>

#include "protocol.h"
#include "system.h"

// What a shim tells the bridge. The first two messages of every protocol are HW_HELLO and HW_CONNECT.
struct hw_door {
  const char *module;      // of Python, that serves
  int32_t lost, no_memory; // statuses: no server answers; there is no memory for a request
  // Make what is shared with the server; false, having said why, if there is no memory.
  bool (*prepare)(struct hw_arena **arena);
  void (*greet)(struct hw_writer *request);
  bool (*greeted)(struct hw_reader *reply); // whether it keeps what the reply points to
  bool (*repeatable)(uint32_t message);     // whether another server can answer it, too
  // Around fork; locks of the bridge are taken after those of the shim.
  void (*before_fork)(void), (*after_fork)(void), (*in_child)(void);
};
extern const struct hw_door hw_door;

// Ask and wait: the reply's bytes are the caller's to free. The reply's status; the door's `lost` where no server answers.
int32_t hw_ask(uint32_t message, const struct hw_writer *request, struct hw_reader *reply, char **memory);
// The same of one server only, as `hw_generation` counts them: a number that it gave may mean something else to the next.
int32_t hw_ask_of(uint32_t generation, uint32_t message, const struct hw_writer *request, struct hw_reader *reply,
                  char **memory);

// The same for requests whose replies come one by one.
struct hw_talk {
  hw_connection connection;
  uint32_t generation;
};
bool hw_begin(struct hw_talk *talk, uint32_t message, const struct hw_writer *request);
bool hw_begin_with(struct hw_talk *talk, uint32_t generation, uint32_t message, const struct hw_writer *request);
bool hw_next(struct hw_talk *talk, int32_t *status, struct hw_reader *reply, char **memory);
void hw_end(struct hw_talk *talk, bool good);

// Counts servers: what an earlier one knew is gone. Starts one where there is none; 0 if none can be started.
uint32_t hw_generation(void);
