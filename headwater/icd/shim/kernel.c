// Kernels, their arguments, and launches.
//
// Arguments are kept as launches have them (see protocol.py), so that setting one is a copy of a few bytes.
#include <stdio.h>
#include <stdlib.h>

#include "api.h"

static cl_kernel new_kernel(cl_program program, const struct kernel_shape *shape) {
  cl_kernel kernel = hw_new(sizeof *kernel, MAGIC_KERNEL);
  if (!kernel)
    return NULL;
  kernel->lock = (hw_mutex)HW_MUTEX_INIT;
  kernel->shape = shape;
  kernel->missing = shape->count;
  kernel->arguments = calloc(1, shape->arguments_bytes + 1);
  kernel->mems = calloc(shape->count + 1, sizeof *kernel->mems);
  kernel->given = calloc(shape->count + 1, sizeof *kernel->given);
  hw_hold(kernel->program = program);
  program->kernels++;
  if (kernel->arguments && kernel->mems && kernel->given)
    return kernel;
  hw_drop(kernel);
  return NULL;
}

void hw_free_kernel(cl_kernel kernel) {
  free(kernel->arguments);
  free(kernel->mems);
  free(kernel->given);
  free(kernel->svm);
  kernel->program->kernels--;
  hw_drop(kernel->program);
}

static const struct build *first_build(cl_program program) {
  for (cl_uint i = 0; i < program->device_count; i++)
    if (program->builds[i].status == CL_BUILD_SUCCESS &&
        program->builds[i].binary_type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE)
      return program->builds + i;
  return NULL;
}

// Whether a kernel has the same arguments on two devices, where pointers may be of different sizes.
static bool same_arguments(const struct kernel_shape *a, const struct kernel_shape *b) {
  if (a->count != b->count)
    return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (a->arguments[i].kind != b->arguments[i].kind || a->arguments[i].room != b->arguments[i].room)
      return false;
  return true;
}

cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char *name, cl_int *errcode_ret) {
  cl_int error = CL_INVALID_KERNEL_NAME;
  const struct kernel_shape *shape = NULL;
  cl_kernel kernel = NULL;
  if (!hw_is(program, MAGIC_PROGRAM))
    error = CL_INVALID_PROGRAM;
  else if (!name)
    error = CL_INVALID_VALUE;
  else if (!first_build(program))
    error = CL_INVALID_PROGRAM_EXECUTABLE;
  else
    for (cl_uint i = 0; i < program->device_count; i++) {
      uint32_t index;
      const struct kernel_shape *found = hw_find_kernel(program->builds + i, name, &index);
      if (found && shape && !same_arguments(shape, found)) {
        error = CL_INVALID_KERNEL_DEFINITION;
        shape = NULL;
        break;
      }
      shape = shape ? shape : found;
    }
  if (shape) {
    kernel = new_kernel(program, shape);
    error = kernel ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
  }
  hw_set(errcode_ret, error);
  return kernel;
}

cl_int CL_API_CALL clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel *kernels, cl_uint *found) {
  if (!hw_is(program, MAGIC_PROGRAM))
    return CL_INVALID_PROGRAM;
  const struct build *build = first_build(program);
  if (!build)
    return CL_INVALID_PROGRAM_EXECUTABLE;
  if (kernels && count < build->kernel_count)
    return CL_INVALID_VALUE;
  for (uint32_t k = 0; kernels && k < build->kernel_count; k++)
    if (!(kernels[k] = new_kernel(program, build->kernels + k)))
      return CL_OUT_OF_HOST_MEMORY;
  if (found)
    *found = build->kernel_count;
  return CL_SUCCESS;
}

cl_kernel CL_API_CALL clCloneKernel(cl_kernel kernel, cl_int *errcode_ret) {
  cl_kernel made = NULL;
  cl_int error = CL_INVALID_KERNEL;
  if (hw_is(kernel, MAGIC_KERNEL)) {
    made = new_kernel(kernel->program, kernel->shape);
    error = made ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
  }
  if (made) {
    hw_lock(&kernel->lock);
    memcpy(made->arguments, kernel->arguments, kernel->shape->arguments_bytes);
    memcpy(made->mems, kernel->mems, kernel->shape->count * sizeof *made->mems);
    memcpy(made->given, kernel->given, kernel->shape->count * sizeof *made->given);
    made->missing = kernel->missing;
    hw_unlock(&kernel->lock);
  }
  hw_set(errcode_ret, error);
  return made;
}

cl_int CL_API_CALL clRetainKernel(cl_kernel kernel) { return hw_retain(kernel, MAGIC_KERNEL, CL_INVALID_KERNEL); }
cl_int CL_API_CALL clReleaseKernel(cl_kernel kernel) { return hw_release(kernel, MAGIC_KERNEL, CL_INVALID_KERNEL); }

// -- arguments

static cl_int set_buffer(cl_kernel kernel, cl_uint index, char *place, size_t size, const void *value) {
  if (size != sizeof(cl_mem))
    return CL_INVALID_ARG_SIZE;
  cl_mem mem = NULL;
  if (value)
    memcpy(&mem, value, sizeof mem);
  uint64_t where[3] = {HW_NULL_OFFSET, 0, 0};
  if (mem) {
    if (!hw_is(mem, MAGIC_MEM) || mem->context != kernel->program->context || hw_is_image(mem))
      return CL_INVALID_MEM_OBJECT;
    where[0] = mem->offset;
    where[1] = mem->size;
    where[2] = hw_checks ? hw_told_of(mem, 0) : 0;
  }
  memcpy(place, where, kernel->shape->arguments[index].room);
  kernel->mems[index] = mem;
  return CL_SUCCESS;
}

static uint32_t dimensions_of(cl_mem mem) {
  switch (mem->type) {
  case CL_MEM_OBJECT_IMAGE1D:
    return HW_1D;
  case CL_MEM_OBJECT_IMAGE1D_BUFFER:
    return HW_1D_BUFFER;
  case CL_MEM_OBJECT_IMAGE1D_ARRAY:
    return HW_1D_ARRAY;
  case CL_MEM_OBJECT_IMAGE2D:
    return HW_2D;
  case CL_MEM_OBJECT_IMAGE2D_ARRAY:
    return HW_2D_ARRAY;
  }
  return HW_3D;
}

static cl_int set_image(cl_kernel kernel, cl_uint index, char *place, size_t size, const void *value) {
  const struct argument *argument = kernel->shape->arguments + index;
  if (size != sizeof(cl_mem))
    return CL_INVALID_ARG_SIZE;
  cl_mem mem = NULL;
  if (value)
    memcpy(&mem, value, sizeof mem);
  if (!hw_is(mem, MAGIC_MEM) || mem->context != kernel->program->context || !hw_is_image(mem))
    return CL_INVALID_MEM_OBJECT;
  if (dimensions_of(mem) != argument->dimensions)
    return CL_INVALID_ARG_VALUE;
  // CL_KERNEL_ARG_ACCESS: what a kernel may do with it must be allowed for the image.
  if ((mem->flags & CL_MEM_WRITE_ONLY && argument->access & 1) ||
      (mem->flags & CL_MEM_READ_ONLY && argument->access & 2))
    return CL_INVALID_ARG_VALUE;
  const cl_image_desc *d = &mem->image;
  struct hw_writer w = {place, 0, argument->room, 0};
  struct hw_image image = {mem->offset,
                           mem->size,
                           mem->format.image_channel_order,
                           mem->format.image_channel_data_type,
                           argument->dimensions,
                           (uint32_t)mem->pixel,
                           d->image_width,
                           d->image_height ? d->image_height : 1,
                           d->image_depth ? d->image_depth : 1,
                           d->image_array_size ? d->image_array_size : 1};
  hw_put_image(&w, &image);
  kernel->mems[index] = mem;
  return CL_SUCCESS;
}

static cl_int set_sampler(char *place, size_t size, const void *value) {
  if (size != sizeof(cl_sampler))
    return CL_INVALID_ARG_SIZE;
  cl_sampler sampler = NULL;
  if (value)
    memcpy(&sampler, value, sizeof sampler);
  if (!hw_is(sampler, MAGIC_SAMPLER))
    return CL_INVALID_SAMPLER;
  uint32_t bits = (sampler->normalized ? HW_SAMPLER_NORMALIZED : 0) |
                  (sampler->addressing - CL_ADDRESS_NONE) << HW_SAMPLER_ADDRESSING_SHIFT |
                  (sampler->filter - CL_FILTER_NEAREST) << HW_SAMPLER_FILTER_SHIFT;
  memcpy(place, &bits, sizeof bits);
  return CL_SUCCESS;
}

static void set_given(cl_kernel kernel, cl_uint index) {
  if (!kernel->given[index]) {
    kernel->given[index] = true;
    kernel->missing--;
  }
}

cl_int CL_API_CALL clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
  if (!hw_is(kernel, MAGIC_KERNEL))
    return CL_INVALID_KERNEL;
  if (index >= kernel->shape->count)
    return CL_INVALID_ARG_INDEX;
  const struct argument *argument = kernel->shape->arguments + index;
  char *place = kernel->arguments + argument->place;
  cl_int error = CL_SUCCESS;
  switch (argument->kind) {
  case HW_KIND_BUFFER:
  case HW_KIND_CONSTANT:
    error = set_buffer(kernel, index, place, size, value);
    break;
  case HW_KIND_IMAGE:
    error = set_image(kernel, index, place, size, value);
    break;
  case HW_KIND_SAMPLER:
    error = set_sampler(place, size, value);
    break;
  case HW_KIND_LOCAL: {
    uint64_t bytes = size;
    if (value)
      error = CL_INVALID_ARG_VALUE;
    else if (!size)
      error = CL_INVALID_ARG_SIZE;
    else
      memcpy(place, &bytes, sizeof bytes);
    break;
  }
  default:
    if (!value)
      error = CL_INVALID_ARG_VALUE;
    else if (size != argument->bytes)
      error = CL_INVALID_ARG_SIZE;
    else
      memcpy(place, value, size);
  }
  if (!error)
    set_given(kernel, index);
  return error;
}

// Whether a device of the kernel's program has shared virtual memory, and it lies where the server has it.
static bool offers_svm(cl_kernel kernel) {
  bool offered = false;
  for (cl_uint i = 0; i < kernel->program->device_count; i++)
    offered |= kernel->program->devices[i]->svm != 0;
  return offered && hw_same_address;
}

cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void *value) {
  if (!hw_is(kernel, MAGIC_KERNEL))
    return CL_INVALID_KERNEL;
  if (!offers_svm(kernel))
    return CL_INVALID_OPERATION;
  if (index >= kernel->shape->count)
    return CL_INVALID_ARG_INDEX;
  const struct argument *argument = kernel->shape->arguments + index;
  if (argument->kind != HW_KIND_BUFFER && argument->kind != HW_KIND_CONSTANT)
    return CL_INVALID_ARG_VALUE;
  struct svm svm;
  uint64_t where[3] = {HW_NULL_OFFSET, 0, 0};
  if (value) {
    if (!hw_find_svm(value, &svm))
      return CL_INVALID_ARG_VALUE;
    where[0] = (uint64_t)((const char *)value - hw_arena.base);
    where[1] = svm.offset + svm.bytes - where[0];
  }
  memcpy(kernel->arguments + argument->place, where, argument->room);
  kernel->mems[index] = NULL;
  set_given(kernel, index);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel kernel, cl_uint key, size_t size, const void *value) {
  if (!hw_is(kernel, MAGIC_KERNEL))
    return CL_INVALID_KERNEL;
  if (!offers_svm(kernel))
    return CL_INVALID_OPERATION;
  switch (key) {
  case CL_KERNEL_EXEC_INFO_SVM_PTRS: // the arena is all there already; no pointers at all unset those that were set
    return (value != NULL) == (size != 0) && size % sizeof(void *) == 0 ? CL_SUCCESS : CL_INVALID_VALUE;
  case CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM:
    if (!value || size != sizeof(cl_bool))
      return CL_INVALID_VALUE;
    return *(const cl_bool *)value ? CL_INVALID_OPERATION : CL_SUCCESS;
  }
  return CL_INVALID_VALUE;
}

// -- asking

cl_int CL_API_CALL clGetKernelInfo(cl_kernel kernel, cl_uint key, size_t size, void *value, size_t *size_ret) {
  if (!hw_is(kernel, MAGIC_KERNEL))
    return CL_INVALID_KERNEL;
  switch (key) {
  case CL_KERNEL_FUNCTION_NAME:
    return hw_answer_text(kernel->shape->name, size, value, size_ret);
  case CL_KERNEL_NUM_ARGS:
    ANSWER(cl_uint, kernel->shape->count);
  case CL_KERNEL_REFERENCE_COUNT:
    ANSWER(cl_uint, kernel->object.references);
  case CL_KERNEL_CONTEXT:
    ANSWER(cl_context, kernel->program->context);
  case CL_KERNEL_PROGRAM:
    ANSWER(cl_program, kernel->program);
  case CL_KERNEL_ATTRIBUTES:
    return hw_answer_text(kernel->shape->attributes, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_uint key, size_t size, void *value,
                                      size_t *size_ret) {
  if (!hw_is(kernel, MAGIC_KERNEL))
    return CL_INVALID_KERNEL;
  if (index >= kernel->shape->count)
    return CL_INVALID_ARG_INDEX;
  const struct argument *argument = kernel->shape->arguments + index;
  switch (key) {
  case CL_KERNEL_ARG_ADDRESS_QUALIFIER: {
    static const cl_uint spaces[] = {CL_KERNEL_ARG_ADDRESS_PRIVATE, CL_KERNEL_ARG_ADDRESS_GLOBAL,
                                     CL_KERNEL_ARG_ADDRESS_CONSTANT, CL_KERNEL_ARG_ADDRESS_LOCAL};
    ANSWER(cl_uint, spaces[argument->space & 3]);
  }
  case CL_KERNEL_ARG_ACCESS_QUALIFIER: {
    static const cl_uint accesses[] = {CL_KERNEL_ARG_ACCESS_NONE, CL_KERNEL_ARG_ACCESS_READ_ONLY,
                                       CL_KERNEL_ARG_ACCESS_WRITE_ONLY, CL_KERNEL_ARG_ACCESS_READ_WRITE};
    ANSWER(cl_uint, argument->kind == HW_KIND_IMAGE ? accesses[argument->access & 3] : CL_KERNEL_ARG_ACCESS_NONE);
  }
  case CL_KERNEL_ARG_TYPE_NAME:
    return hw_answer_text(argument->type_name, size, value, size_ret);
  case CL_KERNEL_ARG_TYPE_QUALIFIER:
    ANSWER(cl_bitfield, argument->qualifiers);
  case CL_KERNEL_ARG_NAME:
    return hw_answer_text(argument->name, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

// The place of a device in the program's list, and of the kernel in what was built for it.
static cl_int find_device(cl_kernel kernel, cl_device_id device, int *at, uint32_t *index) {
  cl_program program = kernel->program;
  if (!device && program->device_count == 1)
    device = program->devices[0];
  *at = hw_is_device(device) ? hw_device_index(program, device) : -1;
  if (*at < 0 || !hw_find_kernel(program->builds + *at, kernel->shape->name, index))
    return CL_INVALID_DEVICE;
  return CL_SUCCESS;
}

static uint64_t local_arguments(cl_kernel kernel) {
  uint64_t sum = 0, one;
  for (uint32_t i = 0; i < kernel->shape->count; i++)
    if (kernel->shape->arguments[i].kind == HW_KIND_LOCAL && kernel->given[i]) {
      memcpy(&one, kernel->arguments + kernel->shape->arguments[i].place, sizeof one);
      sum += one;
    }
  return sum;
}

static cl_int ask_kernel(cl_kernel kernel, int at, uint32_t index, bool memory_too, struct hw_kernel_info_reply *reply) {
  uint32_t id, generation;
  cl_int error = hw_server_program(kernel->program, at, &id, &generation);
  if (error)
    return error;
  struct hw_writer request = {0};
  struct hw_kernel_info_request ask = {id, index, memory_too};
  hw_put_kernel_info_request(&request, &ask);
  struct hw_reader reader;
  char *memory;
  error = hw_ask_of(generation, HW_KERNEL_INFO, &request, &reader, &memory);
  if (!error)
    hw_get_kernel_info_reply(&reader, reply);
  free(memory);
  free(request.data);
  return error;
}

cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_uint key, size_t size,
                                            void *value, size_t *size_ret) {
  if (!hw_is(kernel, MAGIC_KERNEL))
    return CL_INVALID_KERNEL;
  int at;
  uint32_t index;
  cl_int error = find_device(kernel, device, &at, &index);
  if (error)
    return error;
  struct hw_kernel_info_reply info;
  switch (key) {
  case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
    return hw_answer(kernel->shape->group, sizeof kernel->shape->group, size, value, size_ret);
  case CL_KERNEL_GLOBAL_WORK_SIZE: // for devices of type CUSTOM and built-in kernels
    return CL_INVALID_VALUE;
  case CL_KERNEL_WORK_GROUP_SIZE:
  case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
  case CL_KERNEL_LOCAL_MEM_SIZE:
  case CL_KERNEL_PRIVATE_MEM_SIZE:
    break;
  default:
    return CL_INVALID_VALUE;
  }
  if ((error = ask_kernel(kernel, at, index, key == CL_KERNEL_LOCAL_MEM_SIZE || key == CL_KERNEL_PRIVATE_MEM_SIZE, &info)))
    return error;
  switch (key) {
  case CL_KERNEL_WORK_GROUP_SIZE:
    ANSWER(size_t, (size_t)info.group);
  case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
    ANSWER(size_t, (size_t)info.multiple);
  case CL_KERNEL_LOCAL_MEM_SIZE:
    ANSWER(cl_ulong, info.local + local_arguments(kernel));
  }
  ANSWER(cl_ulong, info.private);
}

cl_int CL_API_CALL clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id device, cl_uint key, size_t input_size,
                                           const void *input, size_t size, void *value, size_t *size_ret) {
  if (!hw_is(kernel, MAGIC_KERNEL))
    return CL_INVALID_KERNEL;
  int at;
  uint32_t index;
  cl_int error = find_device(kernel, device, &at, &index);
  if (error)
    return error;
  const struct device_info *most = hw_device_info(kernel->program->devices[at], CL_DEVICE_MAX_NUM_SUB_GROUPS);
  uint32_t groups = 0;
  if (most)
    memcpy(&groups, most->value, sizeof groups);
  if (!groups)
    return CL_INVALID_OPERATION;
  // A sub-group is what the largest work-group has as many of.
  size_t width = kernel->program->devices[at]->max_group / groups, local = 1;
  switch (key) {
  case CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE:
  case CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE:
    if (!input || !input_size || input_size % sizeof(size_t) || input_size > 3 * sizeof(size_t))
      return CL_INVALID_VALUE;
    for (size_t i = 0; i < input_size / sizeof(size_t); i++)
      local *= ((const size_t *)input)[i];
    ANSWER(size_t, key == CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE ? (local + width - 1) / width : local < width ? local : width);
  case CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT: {
    size_t answer[3] = {0, 1, 1};
    size_t bytes = value ? size : sizeof answer; // as many dimensions as the program has room for
    if (!input || input_size != sizeof(size_t) || !bytes || bytes % sizeof(size_t) || bytes > sizeof answer)
      return CL_INVALID_VALUE;
    size_t wanted = *(const size_t *)input * width;
    if (wanted <= kernel->program->devices[at]->max_group)
      answer[0] = wanted;
    else
      answer[1] = answer[2] = 0;
    return hw_answer(answer, bytes, size, value, size_ret);
  }
  case CL_KERNEL_MAX_NUM_SUB_GROUPS:
    ANSWER(size_t, groups);
  case CL_KERNEL_COMPILE_NUM_SUB_GROUPS:
    ANSWER(size_t, 0);
  }
  return CL_INVALID_VALUE;
}

// -- launches

bool hw_is_launch(const struct command *command) { return command->kernel != NULL; }

static void clear_launch(struct command *c) {
  for (uint32_t i = 0; i < c->kernel_mem_count; i++)
    hw_drop(c->kernel_mems[i]);
  free(c->kernel_mems);
  hw_drop(c->kernel);
}

static void end_launch(struct command *c, cl_int status, struct hw_reader *reader) {
  struct hw_launch_reply reply = {0};
  if (reader)
    hw_get_launch_reply(reader, &reply);
  if (reply.start) {
    c->event->started = reply.start;
    c->event->ended = reply.end;
  }
  if (reply.printed.size) { // the program may have sent its output elsewhere
    fwrite(reply.printed.data, 1, reply.printed.size, stdout);
    fflush(stdout);
  }
  if (reply.message.size) {
    char *message = hw_copy_text(reply.message.data, reply.message.size);
    if (message)
      hw_report(c->event->context, message);
    free(message);
  } else if (!reader && c->event->context->notify) { // standard error has it already
    char message[256];
    snprintf(message, sizeof message, "%.128s: no server answers, and the launch is lost", c->kernel->shape->name);
    hw_report(c->event->context, message);
  }
  hw_finished(c, status > 0 ? CL_OUT_OF_RESOURCES : status);
}

// Tell the server's checks which of a launch's buffers nobody has written so far.
static void tell_of_memory(struct command *c, uint32_t generation) {
  const struct kernel_shape *shape = c->kernel->shape;
  for (uint32_t i = 0; i < shape->count; i++) {
    const struct argument *argument = shape->arguments + i;
    if (argument->kind != HW_KIND_BUFFER && argument->kind != HW_KIND_CONSTANT)
      continue;
    char *place = (char *)c->owned + argument->place + 2 * sizeof(uint64_t);
    uint64_t told;
    memcpy(&told, place, sizeof told);
    for (uint32_t m = 0; m < c->kernel_mem_count && told / HW_MEMORY_SERIAL; m++)
      if (c->kernel_mems[m]->serial == told / HW_MEMORY_SERIAL) {
        told = hw_told_of(c->kernel_mems[m], generation);
        memcpy(place, &told, sizeof told);
        break;
      }
  }
}

// Send launches of programs that the server `generation` knows, and end them as their replies come.
static void send_launches(struct command **commands, uint32_t count, uint32_t generation) {
  struct hw_writer entries = {0}, request = {0};
  for (uint32_t i = 0; i < count; i++) {
    if (hw_checks)
      tell_of_memory(commands[i], generation);
    hw_put_launch(&entries, &commands[i]->launch);
  }
  struct hw_launch_request launch = {{count, (uint32_t)entries.size, entries.data}};
  hw_put_launch_request(&request, &launch);
  struct hw_talk talk;
  bool good = !entries.failed && hw_begin_with(&talk, generation, HW_LAUNCH, &request);
  bool begun = good;
  for (uint32_t i = 0; i < count; i++) {
    struct hw_reader reader;
    char *memory = NULL;
    cl_int status = CL_OUT_OF_RESOURCES;
    good = good && hw_next(&talk, &status, &reader, &memory);
    if (!good && begun) {
      hw_end(&talk, false); // says so on standard error, before callbacks hear of it
      begun = false;
    }
    end_launch(commands[i], good ? status : CL_OUT_OF_RESOURCES, good ? &reader : NULL);
    free(memory);
  }
  if (begun)
    hw_end(&talk, good);
  free(entries.data);
  free(request.data);
}

void hw_run_launches(struct command **commands, uint32_t count) {
  struct command *sent[64];
  uint32_t sent_count = 0, known = 0;
  for (uint32_t i = 0; i < count; i++) {
    struct command *c = commands[i];
    uint32_t generation;
    cl_int error = hw_server_program(c->kernel->program, c->device, &c->launch.program, &generation);
    if (sent_count && (error || generation != known)) { // a server ended meanwhile; order is kept
      send_launches(sent, sent_count, known);
      sent_count = 0;
    }
    known = generation;
    if (error)
      end_launch(c, error, NULL);
    else
      sent[sent_count++] = c;
  }
  if (sent_count)
    send_launches(sent, sent_count, known);
}

// Sizes that the specification refuses when a launch is enqueued.
static cl_int check_sizes(cl_command_queue q, const struct kernel_shape *shape, const struct build *build, cl_uint dim,
                          const size_t *offset, const size_t *global, const size_t *local) {
  if (dim < 1 || dim > 3)
    return CL_INVALID_WORK_DIMENSION;
  const size_t most = q->device->address_bits < 8 * sizeof most ? UINT32_MAX : SIZE_MAX;
  for (cl_uint d = 0; global && d < dim; d++) {
    if (global[d] > most)
      return CL_INVALID_GLOBAL_WORK_SIZE;
    if (offset && offset[d] > most - global[d])
      return CL_INVALID_GLOBAL_OFFSET;
  }
  bool required = shape->group[0] != 0;
  if (!local && !required)
    return CL_SUCCESS;
  if (!local)
    local = shape->group;
  size_t items = 1;
  for (cl_uint d = 0; d < dim; d++) {
    if (!local[d])
      return CL_INVALID_WORK_GROUP_SIZE;
    if (local[d] > q->device->max_items[d])
      return CL_INVALID_WORK_ITEM_SIZE;
    items *= local[d];
    if (required && local[d] != shape->group[d])
      return CL_INVALID_WORK_GROUP_SIZE;
  }
  if (items > q->device->max_group)
    return CL_INVALID_WORK_GROUP_SIZE;
  // Smaller groups at the edge: from OpenCL C 2.0 on.
  const char *std = build->options ? strstr(build->options, "-cl-std=CL") : NULL;
  bool uniform = !std || std[10] < '2' || strstr(build->options, "-cl-uniform-work-group-size");
  for (cl_uint d = 0; uniform && global && d < dim; d++)
    if (global[d] % local[d])
      return CL_INVALID_WORK_GROUP_SIZE;
  return CL_SUCCESS;
}

static cl_int enqueue_launch(cl_command_queue q, cl_kernel kernel, cl_uint type, cl_uint dim, const size_t *offset,
                             const size_t *global, const size_t *local, cl_uint count, const cl_event *waits,
                             cl_event *event) {
  cl_int error = hw_check_enqueue(q, count, waits);
  if (error)
    return error;
  if (!hw_is(kernel, MAGIC_KERNEL))
    return CL_INVALID_KERNEL;
  cl_program program = kernel->program;
  if (program->context != q->context)
    return CL_INVALID_CONTEXT;
  int at = hw_device_index(program, q->device);
  uint32_t index;
  const struct kernel_shape *shape = at < 0 ? NULL : hw_find_kernel(program->builds + at, kernel->shape->name, &index);
  if (!shape)
    return CL_INVALID_PROGRAM_EXECUTABLE;
  if (kernel->missing)
    return CL_INVALID_KERNEL_ARGS;
  if ((error = check_sizes(q, shape, program->builds + at, dim, offset, global, local)))
    return error;
  uint64_t local_bytes = local_arguments(kernel);
  if (local_bytes > q->device->local_bytes)
    return CL_OUT_OF_RESOURCES;
  for (uint32_t i = 0; i < shape->count; i++) {
    cl_mem mem = kernel->mems[i];
    if (!mem)
      continue;
    if (!hw_is(mem, MAGIC_MEM)) // released since it was set
      return CL_INVALID_KERNEL_ARGS;
    if (mem->parent && mem->origin % q->device->base_align_bytes)
      return CL_MISALIGNED_SUB_BUFFER_OFFSET;
    if (mem->size > q->device->max_alloc)
      return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (hw_is_image(mem) && !q->device->images)
      return CL_INVALID_OPERATION;
  }
  struct command *c = hw_command(q, type, count, waits, NULL);
  if (!c)
    return CL_OUT_OF_HOST_MEMORY;
  bool empty = !global;
  for (cl_uint d = 0; d < dim && !empty; d++)
    empty = !global[d];
  if (empty) // nothing runs, and the event ends when its turn comes
    return hw_enqueue(q, c, false, event);
  size_t bytes = shape->arguments_bytes;
  char *copy = malloc(bytes + 1);
  cl_mem *mems = shape->count ? malloc(shape->count * sizeof *mems) : NULL;
  if (!copy || (shape->count && !mems)) {
    free(copy);
    free(mems);
    hw_free_command(c);
    return CL_OUT_OF_HOST_MEMORY;
  }
  memcpy(copy, kernel->arguments, bytes);
  c->owned = copy;
  c->kernel_mems = mems;
  for (uint32_t i = 0; i < shape->count; i++)
    if (kernel->mems[i])
      hw_hold(mems[c->kernel_mem_count++] = kernel->mems[i]);
  hw_hold(c->kernel = kernel);
  c->clear = clear_launch;
  c->device = at;
  c->launch = (struct hw_launch){0, index, dim, local != NULL, 1, 1, 1, 1, 1, 1, 0, 0, 0, {copy, (uint32_t)bytes}};
  uint64_t *sizes[3] = {&c->launch.global_x, &c->launch.group_x, &c->launch.offset_x};
  const size_t *given[3] = {global, local, offset};
  for (int s = 0; s < 3; s++)
    for (cl_uint d = 0; given[s] && d < dim; d++)
      sizes[s][d] = given[s][d];
  return hw_enqueue(q, c, false, event);
}

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel kernel, cl_uint dim, const size_t *offset,
                                          const size_t *global, const size_t *local, cl_uint count,
                                          const cl_event *waits, cl_event *event) {
  return enqueue_launch(q, kernel, CL_COMMAND_NDRANGE_KERNEL, dim, offset, global, local, count, waits, event);
}

cl_int CL_API_CALL clEnqueueTask(cl_command_queue q, cl_kernel kernel, cl_uint count, const cl_event *waits,
                                 cl_event *event) {
  size_t one = 1;
  return enqueue_launch(q, kernel, CL_COMMAND_TASK, 1, NULL, &one, &one, count, waits, event);
}

cl_int CL_API_CALL clGetKernelSuggestedLocalWorkSize(cl_command_queue q, cl_kernel kernel, cl_uint dim,
                                                     const size_t *offset, const size_t *global, size_t *suggested) {
  if (!hw_is(q, MAGIC_QUEUE))
    return CL_INVALID_COMMAND_QUEUE;
  if (!hw_is(kernel, MAGIC_KERNEL))
    return CL_INVALID_KERNEL;
  if (kernel->program->context != q->context)
    return CL_INVALID_CONTEXT;
  int at = hw_device_index(kernel->program, q->device);
  uint32_t index;
  const struct kernel_shape *shape =
      at < 0 ? NULL : hw_find_kernel(kernel->program->builds + at, kernel->shape->name, &index);
  if (!shape)
    return CL_INVALID_PROGRAM_EXECUTABLE;
  if (kernel->missing)
    return CL_INVALID_KERNEL_ARGS;
  if (dim < 1 || dim > 3)
    return CL_INVALID_WORK_DIMENSION;
  for (cl_uint d = 0; d < dim; d++)
    if (!global || !global[d])
      return CL_INVALID_GLOBAL_WORK_SIZE;
  if (!suggested)
    return CL_INVALID_VALUE;
  cl_int error = check_sizes(q, shape, kernel->program->builds + at, dim, offset, global, NULL);
  uint32_t id, generation;
  if (!error)
    error = hw_server_program(kernel->program, at, &id, &generation);
  if (error)
    return error;
  struct hw_launch launch = {id, index, dim, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, {kernel->arguments, shape->arguments_bytes}};
  for (cl_uint d = 0; d < dim; d++)
    (&launch.global_x)[d] = global[d];
  struct hw_writer entry = {0}, request = {0};
  hw_put_launch(&entry, &launch);
  struct hw_suggest_request ask = {{1, (uint32_t)entry.size, entry.data}};
  hw_put_suggest_request(&request, &ask);
  struct hw_reader reader;
  char *memory;
  error = hw_ask_of(generation, HW_SUGGEST, &request, &reader, &memory);
  if (!error) {
    struct hw_suggest_reply reply;
    hw_get_suggest_reply(&reader, &reply);
    for (cl_uint d = 0; d < dim; d++)
      suggested[d] = (&reply.group_x)[d];
  }
  free(memory);
  free(entry.data);
  free(request.data);
  return error;
}
