// The objects behind OpenCL's handles, and what the shim's files offer each other.
//
// All objects live here, in the host's process: their counts, what never changes about them, the queues of commands.
// The server knows programs, and is asked for launches. One lock guards queues and events (`hw_graph`), another the
// arena; what never changes after creation is read without one.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "bridge.h"
#include "cl_api.h"

// -- objects in general

// First member of every object: the loader reads `dispatch`. `references` are the program's; `holds` are ours, and all
// of the program's references together are one of them. The object goes with its last hold.
struct object {
  const void *const *dispatch;
  uint32_t magic;
  uint32_t epoch; // objects that a process had before it was made by fork are its parent's
  atomic_uint references, holds;
};
extern uint32_t hw_epoch;

enum {
  MAGIC_DEVICE = 0x48574431,
  MAGIC_CONTEXT,
  MAGIC_QUEUE,
  MAGIC_MEM,
  MAGIC_SAMPLER,
  MAGIC_PROGRAM,
  MAGIC_KERNEL,
  MAGIC_EVENT
};

extern const void *const hw_dispatch[];

// A new object of `bytes` bytes, cleared, with one reference; NULL if there is no memory.
void *hw_new(size_t bytes, uint32_t magic);
void hw_hold(void *object);
void hw_drop(void *object);

// Whether a handle is of such an object. One that the program has released, but something else still holds, is: a
// kernel is asked for its program, for one. A queue is not, which ends when it is released.
static inline bool hw_is(const void *handle, uint32_t magic) {
  const struct object *object = handle;
  return object && object->dispatch == hw_dispatch && object->magic == magic && object->epoch == hw_epoch &&
         (magic != MAGIC_QUEUE || object->references);
}
cl_int hw_retain(void *handle, uint32_t magic, cl_int error);
cl_int hw_release(void *handle, uint32_t magic, cl_int error);

// What the functions that ask for information have in common: `bytes` bytes of `data` where there is room for them.
cl_int hw_answer(const void *data, size_t bytes, size_t room, void *value, size_t *size);
cl_int hw_answer_text(const char *text, size_t room, void *value, size_t *size);
#define ANSWER(type, ...)                                                                                              \
  do {                                                                                                                 \
    type answer_ = (__VA_ARGS__);                                                                                      \
    return hw_answer(&answer_, sizeof answer_, size, value, size_ret);                                                 \
  } while (0)

static inline void hw_set(cl_int *place, cl_int code) {
  if (place)
    *place = code;
}

// A list of properties with its 0, copied; NULL for none.
cl_properties *hw_copy_properties(const cl_properties *properties, size_t *bytes);

// -- platform and devices

struct _cl_platform_id {
  const void *const *dispatch;
};

struct device_info {
  uint32_t key, size;
  const char *value;
};

struct _cl_device_id {
  struct object object;
  uint32_t index;
  cl_device_type type;
  struct device_info *infos;
  uint32_t info_count;
  struct hw_format *formats;
  uint32_t format_count;
  // Often asked, out of the list of infos.
  size_t max_group, max_items[3];
  cl_ulong max_alloc, local_bytes, svm;
  cl_uint base_align_bytes, images, pitch_pixels, address_bits;
  size_t image2d[2], image3d[3], image_layers, image_buffer;
};

extern struct _cl_platform_id hw_platform;
extern struct _cl_device_id *hw_devices;
extern cl_uint hw_device_count;

// Start the server unless there is one; whether there are devices.
bool hw_ready(void);
bool hw_is_device(cl_device_id device);
const struct device_info *hw_device_info(cl_device_id device, cl_uint key);

// -- the server: see bridge.h; its statuses are CL error codes, CL_OUT_OF_RESOURCES where no server answers

// What a new server said of the devices. Called once, with the first one's.
void hw_take_devices(struct hw_list devices);
extern bool hw_same_address; // the arena has the same addresses on both sides
extern bool hw_checks;       // launches are checked

// -- contexts

struct _cl_context {
  struct object object;
  cl_uint device_count;
  cl_device_id *devices;
  cl_context_properties *properties;
  size_t properties_bytes;
  context_callback notify;
  void *notify_data;
  hw_mutex lock;
  struct destructor {
    struct destructor *next;
    destructor_callback call;
    void *data;
  } *destructors;
};
bool hw_in_context(cl_context context, cl_device_id device);
// Tell the context's callback, and standard error if the program has none, what went wrong in a command.
void hw_report(cl_context context, const char *message);

// -- memory

struct map {
  struct map *next;
  void *pointer;
  cl_map_flags flags;
  size_t offset, bytes;            // of a buffer's part
  size_t origin[3], region[3];     // of an image's part
};

struct _cl_mem {
  struct object object;
  cl_context context;
  cl_mem parent; // of a sub-buffer, or of an image made of a buffer
  cl_uint type;
  cl_mem_flags flags;
  size_t size, origin; // origin: within the parent
  uint64_t offset;     // within the arena
  char *data;
  // For checks: a number that no other buffer has, 0 if it was made with data; whether only launches have written it,
  // and which server knows what they wrote.
  uint64_t serial;
  atomic_bool unwritten;
  atomic_uint known_by;
  void *host; // CL_MEM_USE_HOST_PTR
  bool host_is_svm;
  cl_properties *properties;
  size_t properties_bytes;
  cl_image_format format;
  cl_image_desc image; // row and slice pitch as they lie in the arena
  size_t pixel, host_row, host_slice;
  hw_mutex lock; // guards the lists below
  atomic_uint map_count;
  struct map *maps;
  struct mem_destructor {
    struct mem_destructor *next;
    mem_callback call;
    void *data;
  } *destructors;
};

struct _cl_sampler {
  struct object object;
  cl_context context;
  cl_bool normalized;
  cl_uint addressing, filter;
  cl_properties *properties;
  size_t properties_bytes;
};

extern struct hw_arena hw_arena;
bool hw_arena_ready(void);
// Bytes of the arena, at a multiple of a page, or HW_NULL_OFFSET.
uint64_t hw_arena_take(uint64_t bytes);
void hw_arena_give(uint64_t offset, uint64_t bytes);

// What checks are told of a buffer: bits of HW_MEMORY_…; `generation`: of the server, 0 before a launch.
uint64_t hw_told_of(cl_mem mem, uint32_t generation);

bool hw_is_image(cl_mem mem);
// Extents of an image as copies take them: layers are the last dimension that an image type has.
void hw_image_extent(cl_mem mem, size_t extent[3]);
// The bytes of a pixel of a format; 0 if there is no such format.
size_t hw_pixel_bytes(const cl_image_format *format);
// Pitches of an image's rows and layers in the arena.
#define IMAGE_ROW(mem) ((mem)->image.image_row_pitch)
#define IMAGE_SLICE(mem) ((mem)->image.image_slice_pitch)
// Copy between the program's own memory (CL_MEM_USE_HOST_PTR) and the arena.
void hw_host_to_arena(cl_mem mem);
void hw_arena_to_host(cl_mem mem);

struct svm {
  struct svm *next;
  uint64_t offset, bytes;
  cl_context context;
};
// The allocation of shared virtual memory that holds `pointer`, false if there is none.
bool hw_find_svm(const void *pointer, struct svm *found);

// -- programs and kernels

struct argument {
  uint32_t kind, bytes, access, space, qualifiers, dimensions;
  char *name, *type_name;
  uint32_t place, room; // in a launch's arguments
};

struct kernel_shape {
  char *name, *attributes;
  size_t group[3]; // reqd_work_group_size, or 0
  uint32_t count;
  struct argument *arguments;
  uint32_t arguments_bytes;
};

struct build {
  cl_int status;       // CL_BUILD_…
  cl_uint binary_type; // CL_PROGRAM_BINARY_TYPE_…
  char *options, *log;
  uint64_t variable_bytes; // of the program's own variables
  uint32_t kernel_count;
  struct kernel_shape *kernels;
  uint32_t server_program, generation; // as the server calls it, and which server
  struct hw_writer request;            // to build it again
};

struct _cl_program {
  struct object object;
  cl_context context;
  cl_uint device_count;
  cl_device_id *devices;
  struct build *builds; // one a device
  char *source;         // "" if made from binaries or by linking
  size_t source_bytes;
  bool from_source;
  // Encoded units: of each device for a program that was compiled, linked or made from binaries.
  struct hw_writer *units;
  uint32_t *unit_counts;
  hw_mutex lock; // held while building
  atomic_uint kernels; // objects attached
  struct program_destructor {
    struct program_destructor *next;
    program_callback call;
    void *data;
  } *destructors;
};
int hw_device_index(cl_program program, cl_device_id device);
// The program as the server calls it, built again if the server is a new one, and which server that is.
cl_int hw_server_program(cl_program program, int device, uint32_t *id, uint32_t *generation);
const struct kernel_shape *hw_find_kernel(const struct build *build, const char *name, uint32_t *index);

struct _cl_kernel {
  struct object object;
  cl_program program;
  const struct kernel_shape *shape; // of the first device that has it
  hw_mutex lock;
  char *arguments; // as launches have them
  cl_mem *mems;    // by argument
  bool *given;
  uint32_t missing; // arguments that were never set
  void **svm;
  size_t svm_count;
};

// -- events, commands and queues

struct event_call {
  struct event_call *next;
  event_callback call;
  void *data;
  cl_int status;
};

struct _cl_event {
  struct object object;
  cl_context context;
  cl_command_queue queue; // NULL: a user's
  cl_uint type;
  atomic_int status; // CL_QUEUED … CL_COMPLETE, or an error; written under `hw_graph`
  bool user_set;
  cl_ulong queued, submitted, started, ended;
  struct event_call *calls;
};

struct rectangle {
  size_t offset[3], row, slice;
};

struct command {
  struct command *next;
  cl_event event;
  cl_uint wait_count;
  cl_event *waits;
  bool barrier; // later commands wait for it
  bool all;     // it waits for all before it
  cl_int (*run)(struct command *);
  void (*clear)(struct command *); // gives up what the command holds besides `mems`
  cl_mem mems[2];
  void *pointer;
  void *owned; // memory to free
  size_t offset, size, bytes;
  struct rectangle from, to;
  size_t region[3];
  size_t pattern_bytes;
  char pattern[128];
  struct map *map;
  // launches
  cl_kernel kernel;
  struct hw_launch launch;
  cl_mem *kernel_mems;
  uint32_t kernel_mem_count;
  int device;
  // native kernels and memory to give back
  native_kernel native;
  svm_free_callback free_call;
  void **pointers;
  cl_uint pointer_count;
};

struct _cl_command_queue {
  struct object object;
  cl_context context;
  cl_device_id device;
  cl_command_queue_properties flags;
  cl_properties *properties;
  size_t properties_bytes;
  // Under `hw_graph`:
  struct _cl_command_queue *previous_queue, *next_queue; // all queues
  struct command *first, *last;                      // not begun, in order
  uint32_t count;
  struct command *running;
  bool executing; // some thread works on it
  bool flushed;   // commands may be begun without anybody waiting for them
  bool worker;    // it has a thread
  bool closing;
  hw_condition wake;
  atomic_int failure; // of a launch whose error the program has not seen
};

extern hw_mutex hw_graph;

// What every enqueuing function does first: are queue and events right?
cl_int hw_check_enqueue(cl_command_queue queue, cl_uint count, const cl_event *events);
// A command of a type that runs `run`; NULL if there is no memory. Memory objects are held when it is enqueued.
struct command *hw_command(cl_command_queue queue, cl_uint type, cl_uint count, const cl_event *waits,
                           cl_int (*run)(struct command *));
// Put it into its queue. `wait`: return when it has ended, with its status. `event`: where its event goes, or NULL.
cl_int hw_enqueue(cl_command_queue queue, struct command *command, bool wait, cl_event *event);
void hw_free_command(struct command *command);

cl_event hw_new_event(cl_context context, cl_command_queue queue, cl_uint type);
// Set an event's status, with `hw_graph` held; the callbacks that it asks for are called by `hw_call_back` after it.
void hw_set_status(cl_event event, cl_int status);
void hw_call_back(cl_event event);
void hw_flush_queue(cl_command_queue queue); // `hw_graph` held
cl_int hw_wait_event(cl_event event);
// Launches of one queue that follow each other, sent together.
void hw_run_launches(struct command **commands, uint32_t count);
bool hw_is_launch(const struct command *command);
void hw_finished(struct command *command, cl_int status);
void hw_destroy_queue(cl_command_queue queue);
void hw_queues_after_fork(void);
void hw_memory_after_fork(void);

// Destructors, called by `hw_drop`.
void hw_free_context(cl_context context);
void hw_free_mem(cl_mem mem);
void hw_free_sampler(cl_sampler sampler);
void hw_free_program(cl_program program);
void hw_free_kernel(cl_kernel kernel);
void hw_free_event(cl_event event);

// Whether host access flags forbid what a command does.
#define NO_READ(mem) ((mem)->flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS))
#define NO_WRITE(mem) ((mem)->flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS))

struct hw_bytes hw_text(const char *text);
char *hw_copy_text(const char *text, size_t size);
