// Programs: sources, building, compiling and linking, binaries.
//
// The server compiles. What it is given, a list of units with their sources, options and headers, is kept here: a
// binary is such a list with a heading, and a server that starts anew builds from it.
#include <stdio.h>
#include <stdlib.h>

#include "api.h"

static const char BINARY[8] = {'H', 'W', 'C', 'L', 0, 0, 0, 1};

int hw_device_index(cl_program program, cl_device_id device) {
  for (cl_uint i = 0; i < program->device_count; i++)
    if (program->devices[i] == device)
      return (int)i;
  return -1;
}

static void clear_build(struct build *build) {
  for (uint32_t k = 0; k < build->kernel_count; k++) {
    struct kernel_shape *shape = build->kernels + k;
    for (uint32_t a = 0; a < shape->count; a++) {
      free(shape->arguments[a].name);
      free(shape->arguments[a].type_name);
    }
    free(shape->arguments);
    free(shape->name);
    free(shape->attributes);
  }
  free(build->kernels);
  free(build->options);
  free(build->log);
  free(build->request.data);
  memset(build, 0, sizeof *build);
  build->status = CL_BUILD_NONE;
}

// The server forgets the program; one that has gone has done so.
static void release_at_server(struct build *build) {
  if (!build->server_program || build->generation != hw_generation())
    return;
  struct hw_writer request = {0};
  struct hw_release_request release = {build->server_program};
  hw_put_release_request(&request, &release);
  struct hw_reader reader;
  char *memory;
  hw_ask_of(build->generation, HW_RELEASE, &request, &reader, &memory);
  free(memory);
  free(request.data);
}

void hw_free_program(cl_program program) {
  while (program->destructors) {
    struct program_destructor *next = program->destructors->next;
    program->destructors->call(program, program->destructors->data);
    free(program->destructors);
    program->destructors = next;
  }
  for (cl_uint i = 0; program->builds && i < program->device_count; i++) {
    release_at_server(program->builds + i);
    clear_build(program->builds + i);
    free(program->units[i].data);
  }
  free(program->builds);
  free(program->units);
  free(program->unit_counts);
  free(program->devices);
  free(program->source);
  hw_drop(program->context);
}

static cl_program new_program(cl_context context, cl_uint count, const cl_device_id *devices) {
  cl_program program = hw_new(sizeof *program, MAGIC_PROGRAM);
  if (!program)
    return NULL;
  hw_hold(program->context = context);
  program->lock = (hw_mutex)HW_MUTEX_INIT;
  program->devices = malloc(count * sizeof *devices);
  program->builds = calloc(count, sizeof *program->builds);
  program->units = calloc(count, sizeof *program->units);
  program->unit_counts = calloc(count, sizeof *program->unit_counts);
  program->source = hw_copy_text("", 0);
  if (!program->devices || !program->builds || !program->units || !program->unit_counts || !program->source) {
    free(program->builds);
    program->builds = NULL;
    hw_drop(program);
    return NULL;
  }
  memcpy(program->devices, devices, count * sizeof *devices);
  program->device_count = count;
  for (cl_uint i = 0; i < count; i++)
    program->builds[i].status = CL_BUILD_NONE;
  return program;
}

// -- making

cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
                                                 const size_t *lengths, cl_int *errcode_ret) {
  cl_int error = CL_SUCCESS;
  cl_program program = NULL;
  if (!hw_is(context, MAGIC_CONTEXT))
    error = CL_INVALID_CONTEXT;
  else if (!count || !strings)
    error = CL_INVALID_VALUE;
  size_t bytes = 0;
  for (cl_uint i = 0; !error && i < count; i++) {
    if (!strings[i])
      error = CL_INVALID_VALUE;
    else
      bytes += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
  }
  if (!error) {
    program = new_program(context, context->device_count, context->devices);
    char *source = program ? malloc(bytes + 1) : NULL;
    if (source) {
      char *at = source;
      for (cl_uint i = 0; i < count; i++) {
        size_t length = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
        memcpy(at, strings[i], length);
        at += length;
      }
      *at = 0;
      free(program->source);
      program->source = source;
      program->source_bytes = strlen(source); // what stands behind a null character is no source
      program->from_source = true;
    } else {
      hw_drop(program);
      program = NULL;
      error = CL_OUT_OF_HOST_MEMORY;
    }
  }
  hw_set(errcode_ret, error);
  return program;
}

cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count, const cl_device_id *devices,
                                                         const char *names, cl_int *errcode_ret) {
  (void)names; // there are none
  cl_int error = !hw_is(context, MAGIC_CONTEXT) ? CL_INVALID_CONTEXT : CL_INVALID_VALUE;
  for (cl_uint i = 0; error == CL_INVALID_VALUE && devices && i < count; i++)
    if (!hw_is_device(devices[i]) || !hw_in_context(context, devices[i]))
      error = CL_INVALID_DEVICE;
  hw_set(errcode_ret, error);
  return NULL;
}

cl_program CL_API_CALL clCreateProgramWithIL(cl_context context, const void *il, size_t bytes, cl_int *errcode_ret) {
  (void)il, (void)bytes; // CL_DEVICE_IL_VERSION is empty
  hw_set(errcode_ret, hw_is(context, MAGIC_CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
  return NULL;
}

// A binary: its heading, the program's type, the number of units, the device's name, build options, the units.
static bool read_binary(cl_program program, cl_uint i, const unsigned char *data, size_t bytes) {
  struct hw_reader r = {(const char *)data, (const char *)data + bytes, 0};
  char heading[sizeof BINARY];
  hw_get(&r, heading, sizeof heading);
  uint32_t type = hw_get_u32(&r);
  struct hw_bytes name = hw_get_bytes(&r), options = hw_get_bytes(&r);
  struct hw_list units = hw_get_list(&r);
  const struct device_info *own = hw_device_info(program->devices[i], CL_DEVICE_NAME);
  if (r.failed || memcmp(heading, BINARY, sizeof BINARY) || name.size + 1 != own->size ||
      memcmp(name.data, own->value, name.size))
    return false;
  struct hw_reader check = hw_entries(units);
  for (uint32_t u = 0; u < units.count; u++) {
    struct hw_unit unit;
    hw_get_unit(&check, &unit);
  }
  if (check.failed || type < CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT || type > CL_PROGRAM_BINARY_TYPE_EXECUTABLE)
    return false;
  hw_put(&program->units[i], units.data, units.size);
  program->unit_counts[i] = units.count;
  program->builds[i].binary_type = type;
  program->builds[i].options = hw_copy_text(options.data, options.size);
  return true;
}

static void write_binary(cl_program program, cl_uint i, struct hw_writer *w) {
  struct build *build = program->builds + i;
  const struct device_info *name = hw_device_info(program->devices[i], CL_DEVICE_NAME);
  if (!build->binary_type)
    return;
  hw_put(w, BINARY, sizeof BINARY);
  hw_put_u32(w, build->binary_type);
  hw_put_bytes(w, (struct hw_bytes){name->value, name->size - 1});
  hw_put_bytes(w, hw_text(build->options ? build->options : ""));
  hw_put_list(w, (struct hw_list){program->unit_counts[i], (uint32_t)program->units[i].size, program->units[i].data});
}

cl_program CL_API_CALL clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                                 const size_t *lengths, const unsigned char **binaries, cl_int *statuses,
                                                 cl_int *errcode_ret) {
  cl_int error = CL_SUCCESS;
  cl_program program = NULL;
  if (!hw_is(context, MAGIC_CONTEXT))
    error = CL_INVALID_CONTEXT;
  else if (!count || !devices || !lengths || !binaries)
    error = CL_INVALID_VALUE;
  for (cl_uint i = 0; !error && i < count; i++)
    if (!hw_is_device(devices[i]) || !hw_in_context(context, devices[i]))
      error = CL_INVALID_DEVICE;
  for (cl_uint i = 0; !error && i < count; i++) {
    bool empty = !lengths[i] || !binaries[i];
    if (statuses)
      statuses[i] = empty ? CL_INVALID_VALUE : CL_SUCCESS;
    if (empty)
      error = CL_INVALID_VALUE;
  }
  if (!error && !(program = new_program(context, count, devices)))
    error = CL_OUT_OF_HOST_MEMORY;
  for (cl_uint i = 0; program && i < count; i++) {
    bool good = read_binary(program, i, binaries[i], lengths[i]);
    if (statuses)
      statuses[i] = good ? CL_SUCCESS : CL_INVALID_BINARY;
    if (!good)
      error = CL_INVALID_BINARY;
  }
  if (error && program) {
    hw_drop(program);
    program = NULL;
  }
  hw_set(errcode_ret, error);
  return program;
}

cl_int CL_API_CALL clRetainProgram(cl_program program) { return hw_retain(program, MAGIC_PROGRAM, CL_INVALID_PROGRAM); }
cl_int CL_API_CALL clReleaseProgram(cl_program program) {
  return hw_release(program, MAGIC_PROGRAM, CL_INVALID_PROGRAM);
}

// -- building

static uint32_t argument_room(const struct argument *argument) {
  switch (argument->kind) {
  case HW_KIND_BUFFER:
  case HW_KIND_CONSTANT:
    return hw_checks ? 24 : 16;
  case HW_KIND_LOCAL:
    return 8;
  case HW_KIND_IMAGE:
    return 64;
  case HW_KIND_SAMPLER:
    return 4;
  }
  return argument->bytes;
}

static bool read_kernels(struct build *build, struct hw_list list) {
  struct hw_reader r = hw_entries(list);
  build->kernels = calloc(list.count + 1, sizeof *build->kernels);
  for (uint32_t k = 0; build->kernels && k < list.count; k++) {
    struct hw_kernel kernel;
    struct kernel_shape *shape = build->kernels + k;
    hw_get_kernel(&r, &kernel);
    shape->name = hw_copy_text(kernel.name.data, kernel.name.size);
    shape->attributes = hw_copy_text(kernel.attributes.data, kernel.attributes.size);
    shape->group[0] = kernel.group_x;
    shape->group[1] = kernel.group_y;
    shape->group[2] = kernel.group_z;
    shape->arguments = calloc(kernel.arguments.count + 1, sizeof *shape->arguments);
    build->kernel_count = k + 1;
    struct hw_reader arguments = hw_entries(kernel.arguments);
    for (; shape->arguments && shape->count < kernel.arguments.count; shape->count++) {
      struct hw_argument a;
      hw_get_argument(&arguments, &a);
      struct argument *made = shape->arguments + shape->count;
      *made = (struct argument){a.kind, a.bytes, a.access, a.space, a.qualifiers, a.dimensions, NULL, NULL,
                                shape->arguments_bytes, 0};
      made->name = hw_copy_text(a.name.data, a.name.size);
      made->type_name = hw_copy_text(a.type_name.data, a.type_name.size);
      made->room = argument_room(made);
      shape->arguments_bytes += made->room;
    }
    if (!shape->name || !shape->attributes || !shape->arguments)
      return false;
  }
  return build->kernels && !r.failed;
}

// Ask the server to build what `build->request` says. A CL error.
static cl_int ask_build(struct build *build, bool first) {
  struct hw_reader reader;
  struct hw_talk talk;
  char *memory = NULL;
  cl_int status = CL_OUT_OF_RESOURCES;
  if (hw_begin(&talk, HW_BUILD, &build->request))
    hw_end(&talk, hw_next(&talk, &status, &reader, &memory));
  struct hw_build_reply reply = {0};
  if (memory)
    hw_get_build_reply(&reader, &reply);
  if (first) {
    free(build->log);
    build->log = hw_copy_text(reply.log.data ? reply.log.data : "", reply.log.size);
  }
  if (!status) {
    build->server_program = reply.program;
    build->generation = talk.generation;
    build->variable_bytes = reply.variable_bytes;
    if (first && !read_kernels(build, reply.kernels))
      status = CL_OUT_OF_HOST_MEMORY;
  }
  free(memory);
  return status;
}

cl_int hw_server_program(cl_program program, int device, uint32_t *id, uint32_t *generation) {
  struct build *build = program->builds + device;
  *generation = hw_generation();
  cl_int error = *generation ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
  hw_lock(&program->lock);
  if (!error && build->generation != *generation)
    error = ask_build(build, false) ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
  *id = build->server_program;
  *generation = build->generation;
  hw_unlock(&program->lock);
  return error;
}

static void begin_build(struct build *build, const char *options) {
  release_at_server(build);
  clear_build(build);
  build->options = hw_copy_text(options ? options : "", options ? strlen(options) : 0);
  build->status = CL_BUILD_IN_PROGRESS;
}

static cl_int build_for(cl_program program, cl_uint i, const char *options, bool linking) {
  struct build *build = program->builds + i;
  struct hw_build_request request = {program->devices[i]->index, linking, hw_text(options ? options : ""),
                                     {program->unit_counts[i], (uint32_t)program->units[i].size, program->units[i].data}};
  hw_put_build_request(&build->request, &request);
  cl_int error = build->request.failed ? CL_OUT_OF_HOST_MEMORY : ask_build(build, true);
  build->status = error ? CL_BUILD_ERROR : CL_BUILD_SUCCESS;
  build->binary_type = error ? CL_PROGRAM_BINARY_TYPE_NONE : CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
  return error;
}

// The devices meant, as places in the program's list; CL_INVALID_DEVICE if one is not the program's.
static cl_int devices_meant(cl_program program, cl_uint count, const cl_device_id *devices, bool *meant) {
  if ((count != 0) != (devices != NULL))
    return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < program->device_count; i++)
    meant[i] = !devices;
  for (cl_uint i = 0; i < count; i++) {
    int at = hw_device_index(program, devices[i]);
    if (at < 0)
      return CL_INVALID_DEVICE;
    meant[at] = true;
  }
  return CL_SUCCESS;
}

static void source_unit(cl_program program, cl_uint i, const char *options, struct hw_list headers) {
  struct hw_unit unit = {{program->source, (uint32_t)program->source_bytes}, hw_text(options ? options : ""), headers};
  program->units[i].size = 0;
  hw_put_unit(&program->units[i], &unit);
  program->unit_counts[i] = 1;
}

cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                                  program_callback notify, void *data) {
  if (!hw_is(program, MAGIC_PROGRAM))
    return CL_INVALID_PROGRAM;
  if (!notify && data)
    return CL_INVALID_VALUE;
  bool *meant = calloc(program->device_count, sizeof *meant);
  cl_int error = meant ? devices_meant(program, count, devices, meant) : CL_OUT_OF_HOST_MEMORY;
  if (!error && program->kernels)
    error = CL_INVALID_OPERATION;
  if (error) {
    free(meant);
    return error;
  }
  hw_lock(&program->lock);
  for (cl_uint i = 0; i < program->device_count; i++) {
    if (!meant[i])
      continue;
    cl_uint type = program->builds[i].binary_type;
    if (program->from_source)
      source_unit(program, i, options, (struct hw_list){0});
    else if (type != CL_PROGRAM_BINARY_TYPE_EXECUTABLE) {
      error = CL_INVALID_OPERATION;
      continue;
    }
    begin_build(program->builds + i, options);
    // A binary was built with the options of its units.
    cl_int status = build_for(program, i, program->from_source ? options : "", !program->from_source);
    if (status)
      error = status;
  }
  hw_unlock(&program->lock);
  free(meant);
  if (notify)
    notify(program, data);
  return error;
}

cl_int CL_API_CALL clCompileProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                                    cl_uint header_count, const cl_program *headers, const char **names,
                                    program_callback notify, void *data) {
  if (!hw_is(program, MAGIC_PROGRAM))
    return CL_INVALID_PROGRAM;
  if ((!notify && data) || (!header_count && (headers || names)) || (header_count && (!headers || !names)))
    return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < header_count; i++)
    if (!hw_is(headers[i], MAGIC_PROGRAM) || !headers[i]->from_source || !names[i])
      return hw_is(headers[i], MAGIC_PROGRAM) ? CL_INVALID_VALUE : CL_INVALID_PROGRAM;
  bool *meant = calloc(program->device_count, sizeof *meant);
  cl_int error = meant ? devices_meant(program, count, devices, meant) : CL_OUT_OF_HOST_MEMORY;
  if (!error && (!program->from_source || program->kernels))
    error = CL_INVALID_OPERATION;
  struct hw_writer list = {0};
  for (cl_uint h = 0; !error && h < header_count; h++) {
    struct hw_header header = {hw_text(names[h]), {headers[h]->source, (uint32_t)headers[h]->source_bytes}};
    hw_put_header(&list, &header);
  }
  if (!error && list.failed)
    error = CL_OUT_OF_HOST_MEMORY;
  if (error) {
    free(meant);
    free(list.data);
    return error;
  }
  hw_lock(&program->lock);
  for (cl_uint i = 0; i < program->device_count; i++) {
    if (!meant[i])
      continue;
    struct build *build = program->builds + i;
    source_unit(program, i, options, (struct hw_list){header_count, (uint32_t)list.size, list.data});
    begin_build(build, options);
    struct hw_writer request = {0};
    struct hw_compile_request compile = {program->devices[i]->index,
                                         {1, (uint32_t)program->units[i].size, program->units[i].data}};
    hw_put_compile_request(&request, &compile);
    struct hw_reader reader;
    char *memory;
    cl_int status = request.failed ? CL_OUT_OF_HOST_MEMORY : hw_ask(HW_COMPILE, &request, &reader, &memory);
    struct hw_compile_reply reply = {0};
    if (!request.failed && memory)
      hw_get_compile_reply(&reader, &reply);
    build->log = hw_copy_text(reply.log.data ? reply.log.data : "", reply.log.size);
    if (!status && reply.units.count) {
      program->units[i].size = 0;
      hw_put(&program->units[i], reply.units.data, reply.units.size);
      program->unit_counts[i] = reply.units.count;
      if (program->units[i].failed)
        status = CL_OUT_OF_HOST_MEMORY;
    }
    if (!request.failed)
      free(memory);
    free(request.data);
    build->status = status ? CL_BUILD_ERROR : CL_BUILD_SUCCESS;
    build->binary_type = status ? CL_PROGRAM_BINARY_TYPE_NONE : CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
    if (status)
      error = status == CL_BUILD_PROGRAM_FAILURE    ? CL_COMPILE_PROGRAM_FAILURE
              : status == CL_INVALID_BUILD_OPTIONS ? CL_INVALID_COMPILER_OPTIONS
                                                   : status;
  }
  hw_unlock(&program->lock);
  free(list.data);
  free(meant);
  if (notify)
    notify(program, data);
  return error;
}

// Whether a word stands in the options.
static bool has_option(const char *options, const char *word) {
  size_t length = strlen(word);
  for (const char *at = options; at && (at = strstr(at, word)); at += length)
    if ((at == options || at[-1] == ' ') && (!at[length] || at[length] == ' '))
      return true;
  return false;
}

static bool link_options_known(const char *options) {
  static const char *const known[] = {"-create-library", "-enable-link-options", "-cl-denorms-are-zero",
                                      "-cl-no-signed-zeros", "-cl-unsafe-math-optimizations", "-cl-finite-math-only",
                                      "-cl-fast-relaxed-math", "-cl-no-subgroup-ifp"};
  for (const char *at = options; at && *at;) {
    size_t length = strcspn(at, " ");
    bool found = !length;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      found |= strlen(known[i]) == length && !strncmp(at, known[i], length);
    if (!found)
      return false;
    at += length + (at[length] == ' ');
  }
  return true;
}

cl_program CL_API_CALL clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices, const char *options,
                                     cl_uint input_count, const cl_program *inputs, program_callback notify, void *data,
                                     cl_int *errcode_ret) {
  cl_int error = CL_SUCCESS;
  cl_program program = NULL;
  if (!hw_is(context, MAGIC_CONTEXT))
    error = CL_INVALID_CONTEXT;
  else if ((count != 0) != (devices != NULL) || !input_count || !inputs || (!notify && data))
    error = CL_INVALID_VALUE;
  for (cl_uint i = 0; !error && i < input_count; i++)
    if (!hw_is(inputs[i], MAGIC_PROGRAM) || inputs[i]->context != context)
      error = CL_INVALID_PROGRAM;
  for (cl_uint i = 0; !error && i < count; i++)
    if (!hw_is_device(devices[i]) || !hw_in_context(context, devices[i]))
      error = CL_INVALID_DEVICE;
  if (!error && !link_options_known(options))
    error = CL_INVALID_LINKER_OPTIONS;
  if (!error && !(program = devices ? new_program(context, count, devices)
                                    : new_program(context, context->device_count, context->devices)))
    error = CL_OUT_OF_HOST_MEMORY;
  bool library = has_option(options, "-create-library");
  for (cl_uint i = 0; !error && i < program->device_count; i++) {
    begin_build(program->builds + i, options);
    for (cl_uint p = 0; p < input_count; p++) {
      int at = hw_device_index(inputs[p], program->devices[i]);
      cl_uint type = at < 0 ? 0 : inputs[p]->builds[at].binary_type;
      if (type != CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT && type != CL_PROGRAM_BINARY_TYPE_LIBRARY) {
        error = CL_INVALID_OPERATION;
        break;
      }
      hw_put(&program->units[i], inputs[p]->units[at].data, inputs[p]->units[at].size);
      program->unit_counts[i] += inputs[p]->unit_counts[at];
    }
  }
  cl_int status = CL_SUCCESS;
  for (cl_uint i = 0; !error && i < program->device_count; i++) {
    if (library) {
      program->builds[i].status = CL_BUILD_SUCCESS;
      program->builds[i].binary_type = CL_PROGRAM_BINARY_TYPE_LIBRARY;
      program->builds[i].log = hw_copy_text("", 0);
    } else if ((status = build_for(program, i, options, true))) {
      break;
    }
  }
  if (error && program) {
    hw_drop(program);
    program = NULL;
  }
  if (!error && status)
    error = status == CL_BUILD_PROGRAM_FAILURE ? CL_LINK_PROGRAM_FAILURE : status;
  if (program && notify)
    notify(program, data);
  hw_set(errcode_ret, error);
  return program;
}

cl_int CL_API_CALL clSetProgramReleaseCallback(cl_program program, program_callback call, void *data) {
  (void)call, (void)data;
  // For programs with destructors of program scope, of which there are none.
  return hw_is(program, MAGIC_PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM;
}

cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program program, cl_uint id, size_t size, const void *value) {
  (void)id, (void)size, (void)value; // for programs in an intermediate language
  return hw_is(program, MAGIC_PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM;
}

// -- asking

static const struct build *built(cl_program program) {
  for (cl_uint i = 0; i < program->device_count; i++)
    if (program->builds[i].binary_type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE &&
        program->builds[i].status == CL_BUILD_SUCCESS)
      return program->builds + i;
  return NULL;
}

const struct kernel_shape *hw_find_kernel(const struct build *build, const char *name, uint32_t *index) {
  for (uint32_t k = 0; build->status == CL_BUILD_SUCCESS && k < build->kernel_count; k++)
    if (!strcmp(build->kernels[k].name, name)) {
      *index = k;
      return build->kernels + k;
    }
  return NULL;
}

static cl_int answer_binaries(cl_program program, cl_uint key, size_t size, void *value, size_t *size_ret) {
  size_t room = program->device_count * (key == CL_PROGRAM_BINARIES ? sizeof(char *) : sizeof(size_t));
  if (value && size < room)
    return CL_INVALID_VALUE;
  cl_int error = CL_SUCCESS;
  for (cl_uint i = 0; value && i < program->device_count; i++) {
    struct hw_writer w = {0};
    write_binary(program, i, &w);
    if (w.failed)
      error = CL_OUT_OF_HOST_MEMORY;
    else if (key == CL_PROGRAM_BINARY_SIZES)
      ((size_t *)value)[i] = w.size;
    else if (((char **)value)[i] && w.size)
      memcpy(((char **)value)[i], w.data, w.size);
    free(w.data);
  }
  if (size_ret)
    *size_ret = room;
  return error;
}

cl_int CL_API_CALL clGetProgramInfo(cl_program program, cl_uint key, size_t size, void *value, size_t *size_ret) {
  if (!hw_is(program, MAGIC_PROGRAM))
    return CL_INVALID_PROGRAM;
  const struct build *build = built(program);
  switch (key) {
  case CL_PROGRAM_REFERENCE_COUNT:
    ANSWER(cl_uint, program->object.references);
  case CL_PROGRAM_CONTEXT:
    ANSWER(cl_context, program->context);
  case CL_PROGRAM_NUM_DEVICES:
    ANSWER(cl_uint, program->device_count);
  case CL_PROGRAM_DEVICES:
    return hw_answer(program->devices, program->device_count * sizeof(cl_device_id), size, value, size_ret);
  case CL_PROGRAM_SOURCE:
    return hw_answer_text(program->source, size, value, size_ret);
  case CL_PROGRAM_IL:
    return hw_answer(NULL, 0, size, value, size_ret);
  case CL_PROGRAM_BINARY_SIZES:
  case CL_PROGRAM_BINARIES:
    return answer_binaries(program, key, size, value, size_ret);
  case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
  case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT:
    ANSWER(cl_bool, CL_FALSE);
  case CL_PROGRAM_NUM_KERNELS:
    if (!build)
      return CL_INVALID_PROGRAM_EXECUTABLE;
    ANSWER(size_t, build->kernel_count);
  case CL_PROGRAM_KERNEL_NAMES: {
    if (!build)
      return CL_INVALID_PROGRAM_EXECUTABLE;
    struct hw_writer w = {0};
    for (uint32_t k = 0; k < build->kernel_count; k++) {
      if (k)
        hw_put(&w, ";", 1);
      hw_put(&w, build->kernels[k].name, strlen(build->kernels[k].name));
    }
    hw_put(&w, "", 1);
    cl_int error = w.failed ? CL_OUT_OF_HOST_MEMORY : hw_answer(w.data, w.size, size, value, size_ret);
    free(w.data);
    return error;
  }
  }
  return CL_INVALID_VALUE;
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_uint key, size_t size, void *value,
                                         size_t *size_ret) {
  if (!hw_is(program, MAGIC_PROGRAM))
    return CL_INVALID_PROGRAM;
  int at = hw_is_device(device) ? hw_device_index(program, device) : -1;
  if (at < 0)
    return CL_INVALID_DEVICE;
  const struct build *build = program->builds + at;
  switch (key) {
  case CL_PROGRAM_BUILD_STATUS:
    ANSWER(cl_int, build->status);
  case CL_PROGRAM_BUILD_OPTIONS:
    return hw_answer_text(build->options ? build->options : "", size, value, size_ret);
  case CL_PROGRAM_BUILD_LOG:
    return hw_answer_text(build->log ? build->log : "", size, value, size_ret);
  case CL_PROGRAM_BINARY_TYPE:
    ANSWER(cl_uint, build->binary_type);
  case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE:
    ANSWER(size_t, build->variable_bytes);
  }
  return CL_INVALID_VALUE;
}
