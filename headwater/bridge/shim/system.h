// What the shim needs of the operating system: threads, time, the shared arena, and the server's process with its
// connections. One file of its own for each kind of system.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#define HW_PYTHON "python"
typedef SRWLOCK hw_mutex;
typedef CONDITION_VARIABLE hw_condition;
#define HW_MUTEX_INIT SRWLOCK_INIT
#define HW_CONDITION_INIT CONDITION_VARIABLE_INIT
static inline void hw_lock(hw_mutex *m) { AcquireSRWLockExclusive(m); }
static inline void hw_unlock(hw_mutex *m) { ReleaseSRWLockExclusive(m); }
static inline void hw_wait(hw_condition *c, hw_mutex *m) { SleepConditionVariableSRW(c, m, INFINITE, 0); }
static inline void hw_signal_all(hw_condition *c) { WakeAllConditionVariable(c); }
static inline void hw_condition_init(hw_condition *c) { InitializeConditionVariable(c); }
static inline void hw_condition_free(hw_condition *c) { (void)c; }
#else
#include <pthread.h>
#define HW_PYTHON "python3"
typedef pthread_mutex_t hw_mutex;
typedef pthread_cond_t hw_condition;
#define HW_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#define HW_CONDITION_INIT PTHREAD_COND_INITIALIZER
static inline void hw_lock(hw_mutex *m) { pthread_mutex_lock(m); }
static inline void hw_unlock(hw_mutex *m) { pthread_mutex_unlock(m); }
static inline void hw_wait(hw_condition *c, hw_mutex *m) { pthread_cond_wait(c, m); }
static inline void hw_signal_all(hw_condition *c) { pthread_cond_broadcast(c); }
static inline void hw_condition_init(hw_condition *c) { pthread_cond_init(c, NULL); }
static inline void hw_condition_free(hw_condition *c) { pthread_cond_destroy(c); }
#endif

// A thread that nobody waits for; 0 if there can be none.
int hw_start_thread(void (*body)(void *), void *what);

// Nanoseconds of a clock that never goes back; on Linux the one that Python's time.perf_counter reads.
uint64_t hw_now(void);
// Nanoseconds from one tick of that clock to the next.
uint64_t hw_clock_step(void);

// Bytes of this machine's memory.
uint64_t hw_memory_bytes(void);

// Called in a child of fork, whose threads and connections stayed behind.
void hw_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void));

// -- the arena

struct hw_arena {
  char *base;
  uint64_t size;
  intptr_t file;
  char name[1024]; // UTF-8: by which the server finds it, where files cannot be passed on
};

// A file of `size` bytes that another process can share, with no memory behind it. 0 if there is none.
int hw_make_shared(struct hw_arena *arena, uint64_t size);
// Address space of `size` bytes that another process can share; memory is taken as it is touched. 0 if there is none.
int hw_map_arena(struct hw_arena *arena, uint64_t size);
// Give the memory behind whole pages back; their contents are lost.
void hw_discard(struct hw_arena *arena, uint64_t offset, uint64_t bytes);

// -- the server

typedef intptr_t hw_connection;
#define HW_NO_CONNECTION ((hw_connection)-1)

// Start a server, a module of Python, that has the arena and return its first connection, HW_NO_CONNECTION (with a reason) if that failed.
hw_connection hw_start_server(struct hw_arena *arena, const char *module, const char *python, const char *path,
                              char *reason, size_t room);
// Take note that the server has ended, so that nothing of it is left behind.
void hw_bury_server(void);
// One more connection; `request` asks the server for it through `first`.
hw_connection hw_connect(hw_connection first, const void *request, size_t bytes);
// Send or receive all; 0 if the other side is gone.
int hw_send(hw_connection connection, const void *data, size_t bytes);
int hw_receive(hw_connection connection, void *data, size_t bytes);
// Wait for a while without falling asleep, if there are processors for that. The bytes that came, at most so many; 0 if
// none did, for whatever reason.
size_t hw_receive_awake(hw_connection connection, void *data, size_t bytes, uint64_t patience_ns);
void hw_close(hw_connection connection);

// A file that comes behind a reply; negative if it does not come.
intptr_t hw_receive_file(hw_connection connection);
// Map a file that was received, and close it; NULL if there is no address space.
void *hw_map_shared(intptr_t file, uint64_t bytes);
void hw_unmap_shared(void *memory, uint64_t bytes);
// Put pages of this process into the arena's file, at their addresses, with what is in them. 0 if that is impossible.
int hw_share_pages(struct hw_arena *arena, void *pages, uint64_t bytes);

// The file that this code was loaded from. Paths and variables are texts in UTF-8.
int hw_own_path(char *path, size_t room);
// A text file, to be read.
FILE *hw_open(const char *path);
// A variable of the environment; 0 if it is not there, or empty.
int hw_variable(const char *name, char *value, size_t room);
