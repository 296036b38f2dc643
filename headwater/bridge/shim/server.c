// The server's process and the connections to it: starting it, asking it, noticing its end, starting another one.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bridge.h"

// Connections that no thread uses at the moment. More threads than these at once make and drop further ones.
enum { IDLE_LIMIT = 32 };
// A server that ends so often is not started again: something is wrong with its installation.
enum { START_LIMIT = 8 };
// For so long a thread waits for a reply without falling asleep: about twice what it takes to wake one that sleeps on
// another processor.
enum { AWAKE_NS = 40000 };
// So many replies are waited for asleep, at most, after several that did not come so soon: then launches are long, and
// have a use for this thread's processor, or other processes have.
enum { MOST_ASLEEP = 1023 };

static hw_mutex lock = HW_MUTEX_INIT;
static hw_connection idle[IDLE_LIMIT];
static uint32_t idle_count, generation, starts;
static hw_connection first = HW_NO_CONNECTION; // the server ends when this is closed

// What the installation wrote beside this library: the Python to use, and where Headwater lies.
static void read_installation(char *python, char *path, size_t room) {
  char file[4096];
  snprintf(python, room, "%s", HW_PYTHON);
  *path = 0;
  if (hw_own_path(file, sizeof file - 8)) {
    strcat(file, ".server");
    FILE *lines = hw_open(file);
    if (lines) {
      if (fgets(python, (int)room, lines))
        python[strcspn(python, "\r\n")] = 0;
      if (fgets(path, (int)room, lines))
        path[strcspn(path, "\r\n")] = 0;
      fclose(lines);
    }
  }
  hw_variable("HEADWATER_PYTHON", python, room);
  hw_variable("HEADWATER_PYTHONPATH", path, room);
}

static void fault(const char *what, const char *why) { fprintf(stderr, "headwater: %s%s%s\n", what, *why ? ": " : "", why); }

// With the lock held. The server has gone: whoever has a connection will notice by himself.
static void forget(void) {
  for (uint32_t i = 0; i < idle_count; i++)
    hw_close(idle[i]);
  idle_count = 0;
  if (first != HW_NO_CONNECTION)
    hw_close(first);
  first = HW_NO_CONNECTION;
  hw_bury_server();
}

static bool put_request(hw_connection connection, uint32_t message, const struct hw_writer *request) {
  uint32_t bytes = request ? (uint32_t)request->size : 0;
  char small[1024];
  uint32_t head[2] = {message, bytes};
  memcpy(small, head, 8);
  if (8 + bytes <= sizeof small) { // one system call
    if (bytes)
      memcpy(small + 8, request->data, bytes);
    return hw_send(connection, small, 8 + bytes);
  }
  return hw_send(connection, small, 8) && hw_send(connection, request->data, bytes);
}

// The first bytes of a reply, if they come soon.
static size_t receive_awake(hw_connection connection, void *data, size_t bytes) {
  // Of all threads. One that overtakes another between these lines costs a wait that is too long or too short.
  static atomic_uint asleep, next_asleep;
  unsigned left = atomic_load(&asleep);
  if (left) {
    atomic_store(&asleep, left - 1);
    return 0;
  }
  size_t have = hw_receive_awake(connection, data, bytes, AWAKE_NS);
  unsigned next = atomic_load(&next_asleep);
  next = have ? next / 2 : next < MOST_ASLEEP ? 2 * next + 1 : next;
  atomic_store(&next_asleep, next);
  atomic_store(&asleep, have ? 0 : next);
  return have;
}

static bool get_reply(hw_connection connection, int32_t *status, struct hw_reader *reply, char **memory) {
  uint32_t head[2];
  *memory = NULL;
  size_t have = receive_awake(connection, head, sizeof head);
  if (!hw_receive(connection, (char *)head + have, sizeof head - have))
    return false;
  char *data = malloc(head[1] + 1);
  if (!data || !hw_receive(connection, data, head[1])) {
    free(data);
    return false;
  }
  *status = (int32_t)head[0];
  *reply = (struct hw_reader){data, data + head[1], 0};
  *memory = data;
  return true;
}

// With the lock held: a server, if one can be had.
static bool start(void) {
  if (first != HW_NO_CONNECTION)
    return true;
  struct hw_arena *arena;
  if (starts >= START_LIMIT || !hw_door.prepare(&arena))
    return false;
  hw_bury_server();
  starts++;
  char python[4096], path[4096], reason[256];
  read_installation(python, path, sizeof python);
  hw_connection made = hw_start_server(arena, hw_door.module, python, path, reason, sizeof reason);
  if (made == HW_NO_CONNECTION) {
    fault("cannot start the server", reason);
    fprintf(stderr, "  hint: HEADWATER_PYTHON names the Python to use; it was %s\n", python);
    return false;
  }
  struct hw_writer request = {0};
  hw_door.greet(&request);
  struct hw_reader reader;
  char *memory = NULL;
  int32_t status = hw_door.lost;
  bool good = !request.failed && put_request(made, HW_HELLO, &request) && get_reply(made, &status, &reader, &memory);
  free(request.data);
  if (!good || status) {
    fault(good ? "the server refused to work" : "the server ended before it answered", "");
    fprintf(stderr, "  hint: %s -m %s --check says why\n", python, hw_door.module);
    hw_close(made);
    free(memory);
    return false;
  }
  first = made;
  generation++;
  if (!hw_door.greeted(&reader))
    free(memory);
  return true;
}

uint32_t hw_generation(void) {
  hw_lock(&lock);
  uint32_t now = start() ? generation : 0;
  hw_unlock(&lock);
  return now;
}

static bool take_connection(struct hw_talk *talk) {
  hw_lock(&lock);
  bool good = start();
  if (good) {
    talk->generation = generation;
    if (idle_count) {
      talk->connection = idle[--idle_count];
    } else {
      uint32_t head[2] = {HW_CONNECT, 0};
      talk->connection = hw_connect(first, head, sizeof head);
      good = talk->connection != HW_NO_CONNECTION;
      if (!good) {
        fault("the server has ended", "what ran there is lost, and memory keeps what was written to it");
        forget();
      }
    }
  }
  hw_unlock(&lock);
  return good;
}

// Whether a server is known to have ended; none is started to find out.
static bool has_gone(uint32_t server) {
  hw_lock(&lock);
  bool gone = first == HW_NO_CONNECTION || generation != server;
  hw_unlock(&lock);
  return gone;
}

bool hw_begin(struct hw_talk *talk, uint32_t message, const struct hw_writer *request) {
  return hw_begin_with(talk, 0, message, request);
}

bool hw_begin_with(struct hw_talk *talk, uint32_t wanted, uint32_t message, const struct hw_writer *request) {
  // A server that ended while nobody looked is found out here: try once more, with another one.
  for (int attempt = 0; attempt < 2; attempt++) {
    if (request && request->failed)
      return false;
    if (wanted && has_gone(wanted))
      return false;
    if (!take_connection(talk))
      continue;
    if (wanted && talk->generation != wanted) {
      hw_end(talk, true);
      return false;
    }
    if (put_request(talk->connection, message, request))
      return true;
    hw_end(talk, false);
    if (!hw_door.repeatable(message))
      return false;
  }
  return false;
}

bool hw_next(struct hw_talk *talk, int32_t *status, struct hw_reader *reply, char **memory) {
  return get_reply(talk->connection, status, reply, memory);
}

void hw_end(struct hw_talk *talk, bool good) {
  hw_lock(&lock);
  if (good && talk->generation == generation && first != HW_NO_CONNECTION && idle_count < IDLE_LIMIT) {
    idle[idle_count++] = talk->connection;
  } else {
    hw_close(talk->connection);
    if (!good && talk->generation == generation && first != HW_NO_CONNECTION) {
      fault("the server has ended", "what ran there is lost, and memory keeps what was written to it");
      forget();
    }
  }
  hw_unlock(&lock);
}

int32_t hw_ask(uint32_t message, const struct hw_writer *request, struct hw_reader *reply, char **memory) {
  return hw_ask_of(0, message, request, reply, memory);
}

int32_t hw_ask_of(uint32_t wanted, uint32_t message, const struct hw_writer *request, struct hw_reader *reply,
                  char **memory) {
  struct hw_talk talk;
  int32_t status = hw_door.lost;
  *memory = NULL;
  if (!hw_begin_with(&talk, wanted, message, request))
    return request && request->failed ? hw_door.no_memory : hw_door.lost;
  bool good = hw_next(&talk, &status, reply, memory);
  hw_end(&talk, good);
  return good ? status : hw_door.lost;
}

// -- fork: the child has neither threads nor a server; it starts its own.

static void before_fork(void) {
  hw_door.before_fork();
  hw_lock(&lock);
}

static void after_fork(void) {
  hw_unlock(&lock);
  hw_door.after_fork();
}

static void in_child(void) {
  forget();
  generation++;
  starts = 0;
  hw_door.in_child();
  after_fork();
}

#ifdef __GNUC__
__attribute__((constructor)) static void watch_forks(void) { hw_at_fork(before_fork, after_fork, in_child); }
#endif
