// Linux, macOS and other systems of POSIX's kind.
#ifndef _WIN32
#define _GNU_SOURCE
#include "system.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 // macOS has SO_NOSIGPIPE
#endif

struct start {
  void (*body)(void *);
  void *what;
};

static void *run(void *given) {
  struct start start = *(struct start *)given;
  free(given);
  start.body(start.what);
  return NULL;
}

int hw_start_thread(void (*body)(void *), void *what) {
  struct start *start = malloc(sizeof *start);
  if (!start)
    return 0;
  start->body = body;
  start->what = what;
  // Signals are the host's: none is to be handled in a thread that it does not know.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_t thread;
  int failed = pthread_create(&thread, NULL, run, start);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (failed)
    free(start);
  else
    pthread_detach(thread);
  return !failed;
}

uint64_t hw_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t hw_clock_step(void) {
  struct timespec t;
  return clock_getres(CLOCK_MONOTONIC, &t) || !t.tv_nsec ? 1 : (uint64_t)t.tv_nsec;
}

uint64_t hw_memory_bytes(void) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : (uint64_t)1 << 30;
}

void hw_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  pthread_atfork(before, parent, child);
}

static int shared_file(void) {
#ifdef __linux__
  return memfd_create("headwater", MFD_CLOEXEC);
#else
  char name[32];
  snprintf(name, sizeof name, "/headwater.%d", (int)getpid());
  int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file >= 0) {
    shm_unlink(name);
    fcntl(file, F_SETFD, FD_CLOEXEC);
  }
  return file;
#endif
}

int hw_make_shared(struct hw_arena *arena, uint64_t size) {
  int file = shared_file();
  if (file < 0)
    return 0;
  if (ftruncate(file, (off_t)size)) {
    close(file);
    return 0;
  }
  arena->size = size;
  arena->file = file;
  return 1;
}

int hw_map_arena(struct hw_arena *arena, uint64_t size) {
  if (!hw_make_shared(arena, size))
    return 0;
  // A place that processes seldom use: the server can then have the arena at the same addresses.
  void *wanted = sizeof(void *) == 8 ? (void *)(uintptr_t)0x200000000000u : NULL;
  void *base = mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, (int)arena->file, 0);
  if (base == MAP_FAILED) {
    close((int)arena->file);
    *arena = (struct hw_arena){0};
    return 0;
  }
#ifdef MADV_DONTDUMP
  madvise(base, size, MADV_DONTDUMP);
#endif
  arena->base = base;
  return 1;
}

void hw_discard(struct hw_arena *arena, uint64_t offset, uint64_t bytes) {
#ifdef FALLOC_FL_PUNCH_HOLE
  fallocate((int)arena->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
#else
  (void)arena, (void)offset, (void)bytes;
#endif
}

// Files of the host that a server must not hold open, and libraries that it must not load, stay out of it.
static char **server_environment(const char *path) {
  size_t count = 0;
  while (environ[count])
    count++;
  char **made = calloc(count + 3, sizeof *made);
  char *with_path = malloc(strlen(path) + sizeof "PYTHONPATH=");
  size_t n = 0;
  if (!made || !with_path) {
    free(made);
    free(with_path);
    return NULL;
  }
  for (size_t i = 0; i < count; i++) {
    const char *e = environ[i];
    if (strncmp(e, "LD_LIBRARY_PATH=", 16) && strncmp(e, "LD_PRELOAD=", 11) && strncmp(e, "PYTHONPATH=", 11) &&
        strncmp(e, "PYTHONHOME=", 11) && strncmp(e, "OCL_ICD_", 8) && strncmp(e, "DYLD_", 5) &&
        strncmp(e, "HEADWATER_SERVER=", 17))
      made[n++] = environ[i];
  }
  sprintf(with_path, "PYTHONPATH=%s", path);
  if (*path)
    made[n++] = with_path;
  else
    free(with_path);
  made[n++] = "HEADWATER_SERVER=1"; // a server offers no platform to itself
  return made;
}

static int send_with_file(int connection, int file) {
  char byte = 0;
  struct iovec part = {&byte, 1};
  char control[CMSG_SPACE(sizeof(int))];
  memset(control, 0, sizeof control);
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(head), &file, sizeof file);
  ssize_t sent;
  do
    sent = sendmsg(connection, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == 1;
}

intptr_t hw_receive_file(hw_connection connection) {
  char byte, control[CMSG_SPACE(sizeof(int))];
  struct iovec part = {&byte, 1};
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do
    got = recvmsg((int)connection, &message, 0);
  while (got < 0 && errno == EINTR);
  struct cmsghdr *head = got == 1 ? CMSG_FIRSTHDR(&message) : NULL;
  if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
    return -1;
  int file;
  memcpy(&file, CMSG_DATA(head), sizeof file);
  fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
}

void *hw_map_shared(intptr_t file, uint64_t bytes) {
  void *memory = MAP_FAILED;
  if (bytes <= SIZE_MAX)
    memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (int)file, 0);
  close((int)file);
  return memory == MAP_FAILED ? NULL : memory;
}

void hw_unmap_shared(void *memory, uint64_t bytes) { munmap(memory, (size_t)bytes); }

int hw_share_pages(struct hw_arena *arena, void *pages, uint64_t bytes) {
  off_t place = (off_t)(uintptr_t)pages;
  for (uint64_t done = 0; done < bytes;) {
    ssize_t written = pwrite((int)arena->file, (char *)pages + done, (size_t)(bytes - done), place + (off_t)done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return 0;
    done += (uint64_t)written;
  }
  int flags = MAP_SHARED | MAP_FIXED;
  return mmap(pages, (size_t)bytes, PROT_READ | PROT_WRITE, flags, (int)arena->file, place) != MAP_FAILED;
}

static int make_pair(int ends[2]) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
    return 0;
  for (int i = 0; i < 2; i++) {
    fcntl(ends[i], F_SETFD, FD_CLOEXEC);
#ifdef SO_NOSIGPIPE
    setsockopt(ends[i], SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
  }
  return 1;
}

static pid_t server, starter; // the last one that was started, and who started it

static void await(void *process) { waitpid((pid_t)(intptr_t)process, NULL, 0); }

void hw_bury_server(void) {
  pid_t ending = server;
  server = 0;
  // It goes on for a moment after its connections have closed, and is nobody else's to wait for.
  if (ending && starter == getpid())
    hw_start_thread(await, (void *)(intptr_t)ending);
}

hw_connection hw_start_server(struct hw_arena *arena, const char *module, const char *python, const char *path,
                              char *reason, size_t room) {
  int ends[2];
  if (!make_pair(ends)) {
    snprintf(reason, room, "no socket: %s", strerror(errno));
    return HW_NO_CONNECTION;
  }
  char **environment = server_environment(path);
  int status = ENOMEM;
  if (environment) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    // The connection is the server's standard input: a number that cannot be in use for something else.
    posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    // Ctrl-C is the host's.
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGTERM);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char *words[] = {(char *)python, "-m", (char *)module, NULL};
    pid_t child;
    status = posix_spawnp(&child, python, &actions, &attributes, words, environment);
    server = status ? 0 : child;
    starter = getpid();
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(environment);
  }
  close(ends[1]);
  if (status || !send_with_file(ends[0], (int)arena->file)) {
    snprintf(reason, room, "%s", strerror(status ? status : errno));
    close(ends[0]);
    return HW_NO_CONNECTION;
  }
  return ends[0];
}

hw_connection hw_connect(hw_connection first, const void *request, size_t bytes) {
  int ends[2];
  if (!make_pair(ends))
    return HW_NO_CONNECTION;
  int done = hw_send(first, request, bytes) && send_with_file((int)first, ends[1]);
  close(ends[1]);
  if (!done) {
    close(ends[0]);
    return HW_NO_CONNECTION;
  }
  return ends[0];
}

int hw_send(hw_connection connection, const void *data, size_t bytes) {
  const char *at = data;
  while (bytes) {
    ssize_t sent = send((int)connection, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return 0;
    at += sent;
    bytes -= (size_t)sent;
  }
  return 1;
}

// Whether this process may run on several processors. With one, whoever is waited for cannot run while another waits
// awake.
static int several_processors(void) {
#ifdef __linux__
  cpu_set_t allowed;
  return !sched_getaffinity(0, sizeof allowed, &allowed) && CPU_COUNT(&allowed) > 1;
#else
  return sysconf(_SC_NPROCESSORS_ONLN) > 1;
#endif
}

size_t hw_receive_awake(hw_connection connection, void *data, size_t bytes, uint64_t patience_ns) {
  static atomic_flag waiting = ATOMIC_FLAG_INIT; // one thread at a time: the others leave processors to the server
  size_t got = 0;
  if (!several_processors() || atomic_flag_test_and_set(&waiting))
    return 0;
  uint64_t until = hw_now() + patience_ns;
  do {
    ssize_t part = recv((int)connection, data, bytes, MSG_DONTWAIT);
    got = part > 0 ? (size_t)part : 0;
    if (part >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) // all else is `hw_receive`'s to find out
      break;
  } while (hw_now() < until);
  atomic_flag_clear(&waiting);
  return got;
}

int hw_receive(hw_connection connection, void *data, size_t bytes) {
  char *at = data;
  while (bytes) {
    ssize_t got = recv((int)connection, at, bytes, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return 0;
    at += got;
    bytes -= (size_t)got;
  }
  return 1;
}

void hw_close(hw_connection connection) { close((int)connection); }

FILE *hw_open(const char *path) { return fopen(path, "r"); }

int hw_variable(const char *name, char *value, size_t room) {
  const char *found = getenv(name);
  return found && *found && snprintf(value, room, "%s", found) < (int)room;
}

int hw_own_path(char *path, size_t room) {
  Dl_info info;
  if (!dladdr((void *)hw_own_path, &info) || !info.dli_fname || strlen(info.dli_fname) >= room)
    return 0;
  strcpy(path, info.dli_fname);
  return 1;
}
#endif
