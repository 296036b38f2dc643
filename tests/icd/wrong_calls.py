"""Call the platform's functions wrongly and print each call whose error is not the specification's.

A program of its own, which the tests start: it calls through the table of functions that an OpenCL loader would use.
"""

import ctypes
import sys
from ctypes import byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

from calls import FAILED, FUNCTIONS, PLATFORM, call, handles, make, sizes

from headwater.icd.constants import CL


def wrong(expected, name, *arguments):
    """Note a call whose error is another one."""
    got = call(name, *arguments)
    if got != CL[expected]:
        FAILED.append(f"{name}: {expected} ({CL[expected]}) was expected, not {got} (row {sys._getframe(1).f_lineno})")


class Format(ctypes.Structure):
    _fields_ = [("order", c_uint32), ("type", c_uint32)]


class Shape(ctypes.Structure):
    _fields_ = [
        ("type", c_uint32), ("width", c_size_t), ("height", c_size_t), ("depth", c_size_t), ("layers", c_size_t),
        ("row", c_size_t), ("slice", c_size_t), ("levels", c_uint32), ("samples", c_uint32), ("memory", c_void_p),
    ]  # fmt: skip


devices = handles(None, None)
count = c_uint32()
assert call("clGetDeviceIDs", PLATFORM, CL["DEVICE_TYPE_ALL"], 2, devices, byref(count)) == 0
device, other_device = c_void_p(devices[0]), c_void_p(devices[1])
bits = c_uint32()
call("clGetDeviceInfo", device, CL["DEVICE_ADDRESS_BITS"], 4, byref(bits), None)
images = c_uint32()
call("clGetDeviceInfo", device, CL["DEVICE_IMAGE_SUPPORT"], 4, byref(images), None)
kind = c_uint64()
call("clGetDeviceInfo", device, CL["DEVICE_TYPE"], 8, byref(kind), None)
svm = c_uint64()
call("clGetDeviceInfo", device, CL["DEVICE_SVM_CAPABILITIES"], 8, byref(svm), None)
one = handles(device)
context = make("clCreateContext", None, 1, one, None, None)
other = make("clCreateContext", None, 1, one, None, None)
queue = make("clCreateCommandQueue", context, device, CL["QUEUE_PROFILING_ENABLE"])
plain = make("clCreateCommandQueue", context, device, 0)
RW, RO, WO = CL["MEM_READ_WRITE"], CL["MEM_READ_ONLY"], CL["MEM_WRITE_ONLY"]
buffer = make("clCreateBuffer", context, RW, 4096, None)
buffer2 = make("clCreateBuffer", context, RW, 4096, None)
strange = make("clCreateBuffer", other, RW, 4096, None)
no_read = make("clCreateBuffer", context, CL["MEM_HOST_WRITE_ONLY"], 4096, None)
no_write = make("clCreateBuffer", context, CL["MEM_HOST_READ_ONLY"], 4096, None)
event = make("clCreateUserEvent", context)
foreign = make("clCreateUserEvent", other)
memory = ctypes.create_string_buffer(8192)
SOURCE = b"""
kernel void f(global int *x, int n, local int *l) { x[get_global_id(0)] = n; }
kernel __attribute__((reqd_work_group_size(8, 1, 1))) void fixed(global int *x) { x[get_global_id(0)] = 1; }
"""
IMAGES = b"""
kernel void reads(read_only image2d_t i, sampler_t s, global float4 *x) { x[0] = read_imagef(i, s, (float2)(0)); }
kernel void writes(write_only image2d_t i) { write_imagef(i, (int2)(0), (float4)(0)); }
"""


def program_of(source, build=True, options=None, where=context):
    made = make("clCreateProgramWithSource", where, 1, (c_char_p * 1)(source), None)
    if build:
        assert call("clBuildProgram", made, 0, None, options, None, None) == 0
    return made


program = program_of(SOURCE)
unbuilt = program_of(SOURCE, build=False)
kernel = make("clCreateKernel", program, b"f")
fixed = make("clCreateKernel", program, b"fixed")
kernel_other = make("clCreateKernel", program_of(SOURCE, where=other), b"fixed")
HUGE = (1 << 64) - 1


def check_queries():
    wrong("INVALID_VALUE", "clGetPlatformIDs", 0, handles(None), None)
    wrong("INVALID_VALUE", "clGetPlatformIDs", 1, None, None)
    wrong("INVALID_PLATFORM", "clGetDeviceIDs", context, CL["DEVICE_TYPE_ALL"], 1, devices, None)
    wrong("INVALID_DEVICE_TYPE", "clGetDeviceIDs", PLATFORM, 0, 1, devices, None)
    wrong("INVALID_DEVICE_TYPE", "clGetDeviceIDs", PLATFORM, 1 << 20, 1, devices, None)
    wrong("INVALID_VALUE", "clGetDeviceIDs", PLATFORM, CL["DEVICE_TYPE_ALL"], 0, devices, None)
    wrong("INVALID_VALUE", "clGetDeviceIDs", PLATFORM, CL["DEVICE_TYPE_ALL"], 1, None, None)
    wrong("DEVICE_NOT_FOUND", "clGetDeviceIDs", PLATFORM, CL["DEVICE_TYPE_ACCELERATOR"], 1, devices, None)
    for error, name, handle, key in (
        ("INVALID_DEVICE", "clGetDeviceInfo", device, "DEVICE_NAME"),
        ("INVALID_CONTEXT", "clGetContextInfo", context, "CONTEXT_NUM_DEVICES"),
        ("INVALID_COMMAND_QUEUE", "clGetCommandQueueInfo", queue, "QUEUE_CONTEXT"),
        ("INVALID_MEM_OBJECT", "clGetMemObjectInfo", buffer, "MEM_SIZE"),
        ("INVALID_PROGRAM", "clGetProgramInfo", program, "PROGRAM_NUM_DEVICES"),
        ("INVALID_KERNEL", "clGetKernelInfo", kernel, "KERNEL_NUM_ARGS"),
        ("INVALID_EVENT", "clGetEventInfo", event, "EVENT_CONTEXT"),
    ):
        wrong(error, name, None, CL[key], 64, memory, None)
        wrong(error, name, buffer if handle is not buffer else queue, CL[key], 64, memory, None)
        wrong("INVALID_VALUE", name, handle, CL[key], 1, memory, None)
        wrong("INVALID_VALUE", name, handle, 0xFFFF, 64, memory, None)
        assert call(name, handle, CL[key], 0, None, None) == 0
    wrong("INVALID_PLATFORM", "clGetPlatformInfo", device, CL["PLATFORM_NAME"], 64, memory, None)
    wrong("INVALID_VALUE", "clGetPlatformInfo", PLATFORM, CL["PLATFORM_NAME"], 1, memory, None)
    wrong("INVALID_VALUE", "clGetPlatformInfo", PLATFORM, 1, 64, memory, None)
    wrong("INVALID_COMMAND_QUEUE", "clGetCommandQueueInfo", queue, CL["QUEUE_SIZE"], 64, memory, None)
    wrong("INVALID_MEM_OBJECT", "clGetImageInfo", buffer, CL["IMAGE_WIDTH"], 64, memory, None)
    wrong("INVALID_MEM_OBJECT", "clGetPipeInfo", buffer, 0x1120, 64, memory, None)
    wrong("INVALID_DEVICE", "clGetHostTimer", None, memory)
    wrong("INVALID_VALUE", "clGetHostTimer", device, None)
    wrong("INVALID_DEVICE", "clGetDeviceAndHostTimer", None, memory, memory)
    wrong("INVALID_VALUE", "clGetDeviceAndHostTimer", device, None, memory)
    wrong("INVALID_DEVICE", "clRetainDevice", context)
    wrong("INVALID_DEVICE", "clReleaseDevice", None)
    wrong("INVALID_DEVICE", "clCreateSubDevices", None, None, 0, None, None)
    wrong("INVALID_VALUE", "clCreateSubDevices", device, None, 0, None, None)
    wrong("INVALID_PLATFORM", "clUnloadPlatformCompiler", None)


def check_counts():
    for word, error in {
        "Context": "INVALID_CONTEXT", "CommandQueue": "INVALID_COMMAND_QUEUE", "MemObject": "INVALID_MEM_OBJECT",
        "Sampler": "INVALID_SAMPLER", "Program": "INVALID_PROGRAM", "Kernel": "INVALID_KERNEL",
        "Event": "INVALID_EVENT",
    }.items():  # fmt: skip
        for what in ("clRetain", "clRelease"):
            wrong(error, what + word, None)
            wrong(error, what + word, device)


def check_contexts_and_queues():
    def properties(*words):
        return (ctypes.c_ssize_t * len(words))(*words)

    platform = CL["CONTEXT_PLATFORM"]
    bad_platform = properties(platform, device.value, 0)
    twice = properties(platform, PLATFORM.value, platform, PLATFORM.value, 0)
    for name, rest in (("clCreateContext", (1, one)), ("clCreateContextFromType", (CL["DEVICE_TYPE_ALL"],))):
        wrong("INVALID_PLATFORM", name, bad_platform, *rest, None, None)
        wrong("INVALID_PLATFORM", name, properties(platform, 0, 0), *rest, None, None)
        wrong("INVALID_PROPERTY", name, properties(0x7777, 1, 0), *rest, None, None)
        wrong("INVALID_PROPERTY", name, properties(CL["CONTEXT_INTEROP_USER_SYNC"], 7, 0), *rest, None, None)
        wrong("INVALID_PROPERTY", name, twice, *rest, None, None)
        wrong("INVALID_VALUE", name, None, *rest, None, memory)
    wrong("INVALID_VALUE", "clCreateContext", None, 1, None, None, None)
    wrong("INVALID_VALUE", "clCreateContext", None, 0, one, None, None)
    wrong("INVALID_DEVICE", "clCreateContext", None, 2, handles(device, None), None, None)
    wrong("INVALID_DEVICE_TYPE", "clCreateContextFromType", None, 0, None, None)
    wrong("DEVICE_NOT_FOUND", "clCreateContextFromType", None, CL["DEVICE_TYPE_CUSTOM"], None, None)
    wrong("INVALID_CONTEXT", "clSetContextDestructorCallback", None, memory, None)
    wrong("INVALID_VALUE", "clSetContextDestructorCallback", context, None, None)
    wrong("INVALID_CONTEXT", "clSetDefaultDeviceCommandQueue", None, device, queue)
    wrong("INVALID_DEVICE", "clSetDefaultDeviceCommandQueue", context, None, queue)
    wrong("INVALID_OPERATION", "clSetDefaultDeviceCommandQueue", context, device, queue)
    wrong("INVALID_CONTEXT", "clCreateCommandQueue", None, device, 0)
    wrong("INVALID_DEVICE", "clCreateCommandQueue", context, None, 0)
    wrong("INVALID_DEVICE", "clCreateCommandQueue", context, other_device, 0)
    wrong("INVALID_VALUE", "clCreateCommandQueue", context, device, 1 << 20)
    listed = CL["QUEUE_PROPERTIES"]
    for error, words in (
        ("INVALID_VALUE", (0x7777, 1, 0)),
        ("INVALID_VALUE", (listed, 1 << 20, 0)),
        ("INVALID_VALUE", (CL["QUEUE_SIZE"], 64, 0)),
        ("INVALID_QUEUE_PROPERTIES", (listed, CL["QUEUE_ON_DEVICE"] | 1, 0)),
    ):
        wrong(error, "clCreateCommandQueueWithProperties", context, device, (c_uint64 * len(words))(*words))
    wrong("INVALID_CONTEXT", "clCreateCommandQueueWithProperties", None, device, None)
    wrong("INVALID_DEVICE", "clCreateCommandQueueWithProperties", context, other_device, None)
    wrong("INVALID_COMMAND_QUEUE", "clSetCommandQueueProperty", None, 1, 1, None)
    wrong("INVALID_VALUE", "clSetCommandQueueProperty", queue, 1 << 20, 1, None)
    wrong("INVALID_COMMAND_QUEUE", "clFlush", context)
    wrong("INVALID_COMMAND_QUEUE", "clFinish", None)


def check_memory():
    wrong("INVALID_CONTEXT", "clCreateBuffer", None, RW, 64, None)
    wrong("INVALID_VALUE", "clCreateBuffer", context, RO | WO, 64, None)
    wrong("INVALID_VALUE", "clCreateBuffer", context, 1 << 40, 64, None)
    use, copy, alloc = CL["MEM_USE_HOST_PTR"], CL["MEM_COPY_HOST_PTR"], CL["MEM_ALLOC_HOST_PTR"]
    wrong("INVALID_VALUE", "clCreateBuffer", context, use | copy, 64, memory)
    wrong("INVALID_VALUE", "clCreateBuffer", context, use | alloc, 64, memory)
    wrong("INVALID_VALUE", "clCreateBuffer", context, CL["MEM_HOST_READ_ONLY"] | CL["MEM_HOST_NO_ACCESS"], 64, None)
    wrong("INVALID_HOST_PTR", "clCreateBuffer", context, RW, 64, memory)
    wrong("INVALID_HOST_PTR", "clCreateBuffer", context, use, 64, None)
    wrong("INVALID_HOST_PTR", "clCreateBuffer", context, copy, 64, None)
    wrong("INVALID_BUFFER_SIZE", "clCreateBuffer", context, RW, 0, None)
    wrong("INVALID_BUFFER_SIZE", "clCreateBuffer", context, RW, 1 << 50, None)
    wrong("INVALID_PROPERTY", "clCreateBufferWithProperties", context, (c_uint64 * 3)(7, 1, 0), RW, 64, None)
    region = CL["BUFFER_CREATE_TYPE_REGION"]
    wrong("INVALID_MEM_OBJECT", "clCreateSubBuffer", None, 0, region, sizes(0, 64))
    wrong("INVALID_VALUE", "clCreateSubBuffer", buffer, 0, region, None)
    wrong("INVALID_VALUE", "clCreateSubBuffer", buffer, 0, 7, sizes(0, 64))
    wrong("INVALID_VALUE", "clCreateSubBuffer", buffer, RO | WO, region, sizes(0, 64))
    wrong("INVALID_VALUE", "clCreateSubBuffer", buffer, use, region, sizes(0, 64))
    wrong("INVALID_VALUE", "clCreateSubBuffer", no_read, CL["MEM_HOST_READ_ONLY"], region, sizes(0, 64))
    wrong("INVALID_VALUE", "clCreateSubBuffer", buffer, 0, region, sizes(4096, 64))
    wrong("INVALID_VALUE", "clCreateSubBuffer", buffer, 0, region, sizes(HUGE, 64))
    wrong("INVALID_BUFFER_SIZE", "clCreateSubBuffer", buffer, 0, region, sizes(0, 0))
    wrong("MISALIGNED_SUB_BUFFER_OFFSET", "clCreateSubBuffer", buffer, 0, region, sizes(4, 64))
    part = make("clCreateSubBuffer", buffer, 0, region, sizes(0, 256))
    wrong("INVALID_MEM_OBJECT", "clCreateSubBuffer", part, 0, region, sizes(0, 64))
    wrong("INVALID_MEM_OBJECT", "clSetMemObjectDestructorCallback", None, memory, None)
    wrong("INVALID_VALUE", "clSetMemObjectDestructorCallback", buffer, None, None)
    wrong("INVALID_OPERATION", "clCreatePipe", context, 0, 4, 4, None)
    if not svm.value:
        assert call("clSVMAlloc", context, RW, 64, 0) is None
        wrong("INVALID_OPERATION", "clEnqueueSVMMap", queue, 1, 1, memory, 4, 0, None, None)
        wrong("INVALID_OPERATION", "clSetKernelArgSVMPointer", kernel, 0, None)
        return
    for flags, size, alignment in ((RO | WO, 64, 0), (RW, 0, 0), (RW, 64, 3), (RW, 1 << 50, 0), (8, 64, 0)):
        assert call("clSVMAlloc", context, flags, size, alignment) is None
    shared = make("clSVMAlloc", context, RW, 256, 0)
    wrong("INVALID_ARG_INDEX", "clSetKernelArgSVMPointer", kernel, 9, shared)
    wrong("INVALID_ARG_VALUE", "clSetKernelArgSVMPointer", kernel, 1, shared)
    wrong("INVALID_KERNEL", "clSetKernelArgSVMPointer", None, 0, shared)
    wrong("INVALID_VALUE", "clSetKernelExecInfo", kernel, CL["KERNEL_EXEC_INFO_SVM_PTRS"], 0, handles(shared))
    wrong("INVALID_VALUE", "clSetKernelExecInfo", kernel, CL["KERNEL_EXEC_INFO_SVM_PTRS"], 8, None)
    wrong("SUCCESS", "clSetKernelExecInfo", kernel, CL["KERNEL_EXEC_INFO_SVM_PTRS"], 0, None)
    wrong("INVALID_VALUE", "clSetKernelExecInfo", kernel, 77, 8, handles(shared))
    wrong("INVALID_VALUE", "clEnqueueSVMMemcpy", queue, 1, None, shared, 4, 0, None, None)
    wrong("MEM_COPY_OVERLAP", "clEnqueueSVMMemcpy", queue, 1, shared, shared.value + 4, 64, 0, None, None)
    wrong("INVALID_VALUE", "clEnqueueSVMMemFill", queue, None, memory, 4, 64, 0, None, None)
    wrong("INVALID_VALUE", "clEnqueueSVMMemFill", queue, shared, memory, 3, 63, 0, None, None)
    wrong("INVALID_VALUE", "clEnqueueSVMMemFill", queue, shared, memory, 4, 63, 0, None, None)
    wrong("INVALID_VALUE", "clEnqueueSVMMemFill", queue, shared.value + 2, memory, 4, 64, 0, None, None)
    wrong("INVALID_VALUE", "clEnqueueSVMMap", queue, 1, 1, None, 64, 0, None, None)
    wrong("INVALID_VALUE", "clEnqueueSVMMap", queue, 1, 1, shared, 0, 0, None, None)
    wrong("INVALID_VALUE", "clEnqueueSVMMap", queue, 1, 1 << 30, shared, 64, 0, None, None)
    wrong("INVALID_VALUE", "clEnqueueSVMUnmap", queue, None, 0, None, None)
    wrong("INVALID_VALUE", "clEnqueueSVMFree", queue, 0, handles(shared), None, None, 0, None, None)
    wrong("INVALID_VALUE", "clEnqueueSVMFree", queue, 1, None, None, None, 0, None, None)
    wrong("INVALID_VALUE", "clEnqueueSVMMigrateMem", queue, 0, handles(shared), None, 0, 0, None, None)
    wrong(
        "INVALID_VALUE", "clEnqueueSVMMigrateMem", queue, 1, handles(ctypes.addressof(memory)), None, 0, 0, None, None
    )
    wrong("INVALID_VALUE", "clEnqueueSVMMigrateMem", queue, 1, handles(shared), sizes(512), 0, 0, None, None)


def check_programs():
    text = (c_char_p * 1)(SOURCE)
    wrong("INVALID_CONTEXT", "clCreateProgramWithSource", None, 1, text, None)
    wrong("INVALID_VALUE", "clCreateProgramWithSource", context, 0, text, None)
    wrong("INVALID_VALUE", "clCreateProgramWithSource", context, 1, None, None)
    wrong("INVALID_VALUE", "clCreateProgramWithSource", context, 1, handles(None), None)
    bad = handles(ctypes.addressof(memory))
    status = (c_int32 * 1)()
    wrong("INVALID_CONTEXT", "clCreateProgramWithBinary", None, 1, one, sizes(64), bad, status)
    wrong("INVALID_VALUE", "clCreateProgramWithBinary", context, 0, one, sizes(64), bad, status)
    wrong("INVALID_VALUE", "clCreateProgramWithBinary", context, 1, None, sizes(64), bad, status)
    wrong("INVALID_VALUE", "clCreateProgramWithBinary", context, 1, one, sizes(0), bad, status)
    wrong("INVALID_VALUE", "clCreateProgramWithBinary", context, 1, one, sizes(64), handles(None), status)
    wrong("INVALID_DEVICE", "clCreateProgramWithBinary", context, 1, handles(other_device), sizes(64), bad, status)
    wrong("INVALID_BINARY", "clCreateProgramWithBinary", context, 1, one, sizes(64), bad, status)
    assert status[0] == CL["INVALID_BINARY"]
    wrong("INVALID_CONTEXT", "clCreateProgramWithBuiltInKernels", None, 1, one, b"f")
    wrong("INVALID_VALUE", "clCreateProgramWithBuiltInKernels", context, 1, one, b"f")
    wrong("INVALID_VALUE", "clCreateProgramWithBuiltInKernels", context, 0, one, b"f")
    wrong("INVALID_DEVICE", "clCreateProgramWithBuiltInKernels", context, 1, handles(other_device), b"f")
    wrong("INVALID_OPERATION", "clCreateProgramWithIL", context, memory, 64)
    wrong("INVALID_PROGRAM", "clBuildProgram", None, 0, None, None, None, None)
    wrong("INVALID_VALUE", "clBuildProgram", unbuilt, 1, None, None, None, None)
    wrong("INVALID_VALUE", "clBuildProgram", unbuilt, 0, one, None, None, None)
    wrong("INVALID_VALUE", "clBuildProgram", unbuilt, 0, None, None, None, memory)
    wrong("INVALID_DEVICE", "clBuildProgram", unbuilt, 1, handles(other_device), None, None, None)
    wrong("INVALID_BUILD_OPTIONS", "clBuildProgram", unbuilt, 0, None, b"-what-is-this", None, None)
    wrong("INVALID_OPERATION", "clBuildProgram", program, 0, None, None, None, None)  # kernels are attached
    broken = program_of(b"kernel void f( {", build=False)
    wrong("BUILD_PROGRAM_FAILURE", "clBuildProgram", broken, 0, None, None, None, None)
    wrong("INVALID_PROGRAM_EXECUTABLE", "clCreateKernel", broken, b"f")
    wrong("COMPILE_PROGRAM_FAILURE", "clCompileProgram", broken, 0, None, None, 0, None, None, None, None)
    compiled = program_of(SOURCE, build=False)
    nothing = (0, None, None, None, None)
    wrong("INVALID_PROGRAM", "clCompileProgram", None, 0, None, None, *nothing)
    wrong("INVALID_VALUE", "clCompileProgram", compiled, 1, None, None, *nothing)
    wrong("INVALID_VALUE", "clCompileProgram", compiled, 0, None, None, 1, None, None, None, None)
    wrong("INVALID_VALUE", "clCompileProgram", compiled, 0, None, None, 0, handles(broken), None, None, None)
    wrong("INVALID_VALUE", "clCompileProgram", compiled, 0, None, None, 0, None, None, None, memory)
    wrong("INVALID_DEVICE", "clCompileProgram", compiled, 1, handles(other_device), None, *nothing)
    wrong("INVALID_COMPILER_OPTIONS", "clCompileProgram", compiled, 0, None, b"-what-is-this", *nothing)
    wrong("INVALID_OPERATION", "clCompileProgram", program, 0, None, None, *nothing)
    assert call("clCompileProgram", compiled, 0, None, None, *nothing) == 0
    parts = handles(compiled)
    wrong("INVALID_CONTEXT", "clLinkProgram", None, 0, None, None, 1, parts, None, None)
    wrong("INVALID_VALUE", "clLinkProgram", context, 1, None, None, 1, parts, None, None)
    wrong("INVALID_VALUE", "clLinkProgram", context, 0, None, None, 0, None, None, None)
    wrong("INVALID_VALUE", "clLinkProgram", context, 0, None, None, 1, None, None, None)
    wrong("INVALID_VALUE", "clLinkProgram", context, 0, None, None, 1, parts, None, memory)
    wrong("INVALID_PROGRAM", "clLinkProgram", context, 0, None, None, 1, handles(None), None, None)
    wrong("INVALID_DEVICE", "clLinkProgram", context, 1, handles(other_device), None, 1, parts, None, None)
    wrong("INVALID_LINKER_OPTIONS", "clLinkProgram", context, 0, None, b"-what-is-this", 1, parts, None, None)
    wrong("INVALID_OPERATION", "clLinkProgram", context, 0, None, None, 1, handles(unbuilt), None, None)
    # A link that fails gives a program all the same, for its log.
    lacking = program_of(b"int g(int); kernel void f(global int *x) { x[0] = g(1); }", build=False)
    assert call("clCompileProgram", lacking, 0, None, None, *nothing) == 0
    error, log = c_int32(), ctypes.create_string_buffer(4096)
    linked = FUNCTIONS["clLinkProgram"][0](context, 0, None, None, 1, handles(lacking), None, None, byref(error))
    assert linked
    assert error.value == CL["LINK_PROGRAM_FAILURE"]
    assert call("clGetProgramBuildInfo", linked, device, CL["PROGRAM_BUILD_LOG"], 4096, log, None) == 0
    assert b"g" in log.value
    wrong("INVALID_PROGRAM_EXECUTABLE", "clGetProgramInfo", unbuilt, CL["PROGRAM_NUM_KERNELS"], 64, memory, None)
    wrong("INVALID_PROGRAM_EXECUTABLE", "clGetProgramInfo", unbuilt, CL["PROGRAM_KERNEL_NAMES"], 64, memory, None)
    wrong("INVALID_DEVICE", "clGetProgramBuildInfo", program, None, CL["PROGRAM_BUILD_STATUS"], 64, memory, None)
    wrong("INVALID_DEVICE", "clGetProgramBuildInfo", program, other_device, CL["PROGRAM_BUILD_LOG"], 64, memory, None)
    wrong("INVALID_PROGRAM", "clGetProgramBuildInfo", None, device, CL["PROGRAM_BUILD_LOG"], 64, memory, None)
    wrong("INVALID_VALUE", "clGetProgramBuildInfo", program, device, 7, 64, memory, None)
    wrong("INVALID_VALUE", "clGetProgramBuildInfo", program, device, CL["PROGRAM_BUILD_STATUS"], 1, memory, None)
    wrong("INVALID_OPERATION", "clSetProgramReleaseCallback", program, memory, None)
    wrong("INVALID_PROGRAM", "clSetProgramSpecializationConstant", None, 0, 4, memory)


def check_kernels():
    wrong("INVALID_PROGRAM", "clCreateKernel", None, b"f")
    wrong("INVALID_VALUE", "clCreateKernel", program, None)
    wrong("INVALID_KERNEL_NAME", "clCreateKernel", program, b"g")
    wrong("INVALID_PROGRAM_EXECUTABLE", "clCreateKernel", unbuilt, b"f")
    wrong("INVALID_PROGRAM", "clCreateKernelsInProgram", None, 2, memory, None)
    wrong("INVALID_PROGRAM_EXECUTABLE", "clCreateKernelsInProgram", unbuilt, 2, memory, None)
    wrong("INVALID_VALUE", "clCreateKernelsInProgram", program, 1, memory, None)
    wrong("INVALID_KERNEL", "clCloneKernel", None)
    wrong("INVALID_KERNEL", "clSetKernelArg", None, 0, 8, byref(buffer))
    wrong("INVALID_ARG_INDEX", "clSetKernelArg", kernel, 3, 8, byref(buffer))
    wrong("INVALID_ARG_SIZE", "clSetKernelArg", kernel, 0, 4, byref(buffer))
    wrong("INVALID_MEM_OBJECT", "clSetKernelArg", kernel, 0, 8, byref(queue))
    wrong("INVALID_MEM_OBJECT", "clSetKernelArg", kernel, 0, 8, byref(strange))
    wrong("INVALID_ARG_VALUE", "clSetKernelArg", kernel, 1, 4, None)
    wrong("INVALID_ARG_SIZE", "clSetKernelArg", kernel, 1, 8, memory)
    wrong("INVALID_ARG_SIZE", "clSetKernelArg", kernel, 2, 0, None)
    wrong("INVALID_ARG_VALUE", "clSetKernelArg", kernel, 2, 64, memory)
    wrong("INVALID_KERNEL", "clGetKernelArgInfo", None, 0, CL["KERNEL_ARG_NAME"], 64, memory, None)
    wrong("INVALID_ARG_INDEX", "clGetKernelArgInfo", kernel, 3, CL["KERNEL_ARG_NAME"], 64, memory, None)
    wrong("INVALID_VALUE", "clGetKernelArgInfo", kernel, 0, 7, 64, memory, None)
    wrong("INVALID_VALUE", "clGetKernelArgInfo", kernel, 0, CL["KERNEL_ARG_NAME"], 1, memory, None)
    group = CL["KERNEL_WORK_GROUP_SIZE"]
    wrong("INVALID_KERNEL", "clGetKernelWorkGroupInfo", None, device, group, 64, memory, None)
    wrong("INVALID_DEVICE", "clGetKernelWorkGroupInfo", kernel, other_device, group, 64, memory, None)
    wrong("INVALID_VALUE", "clGetKernelWorkGroupInfo", kernel, device, 7, 64, memory, None)
    wrong("INVALID_VALUE", "clGetKernelWorkGroupInfo", kernel, device, group, 1, memory, None)
    wrong("INVALID_VALUE", "clGetKernelWorkGroupInfo", kernel, device, CL["KERNEL_GLOBAL_WORK_SIZE"], 64, memory, None)
    widest = CL["KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE"]
    wrong("INVALID_KERNEL", "clGetKernelSubGroupInfo", None, device, widest, 8, sizes(64), 8, memory, None)
    wrong("INVALID_DEVICE", "clGetKernelSubGroupInfo", kernel, other_device, widest, 8, sizes(64), 8, memory, None)
    if call("clGetKernelSubGroupInfo", kernel, device, widest, 8, sizes(64), 8, memory, None) == 0:
        wrong("INVALID_VALUE", "clGetKernelSubGroupInfo", kernel, device, widest, 8, None, 8, memory, None)
        wrong("INVALID_VALUE", "clGetKernelSubGroupInfo", kernel, device, widest, 8, sizes(64), 4, memory, None)
        wrong("INVALID_VALUE", "clGetKernelSubGroupInfo", kernel, device, 7, 8, sizes(64), 8, memory, None)


def check_launches():
    eight = sizes(8)

    def launch(expected, dims=1, offset=None, whole=eight, local=None, count=0, waits=None, which=fixed, where=queue):
        wrong(expected, "clEnqueueNDRangeKernel", where, which, dims, offset, whole, local, count, waits, None)

    launch("INVALID_COMMAND_QUEUE", where=None)
    launch("INVALID_KERNEL", which=None)
    launch("INVALID_KERNEL_ARGS")
    launch("INVALID_CONTEXT", which=kernel_other)
    assert call("clSetKernelArg", fixed, 0, 8, byref(buffer)) == 0
    launch("INVALID_WORK_DIMENSION", dims=0)
    launch("INVALID_WORK_DIMENSION", dims=4)
    launch("INVALID_GLOBAL_OFFSET", offset=sizes(HUGE - 3))
    launch("INVALID_WORK_GROUP_SIZE", local=sizes(4))
    launch("INVALID_WORK_GROUP_SIZE", whole=sizes(12))
    launch("INVALID_WORK_GROUP_SIZE", whole=sizes(12), local=eight)
    launch("INVALID_EVENT_WAIT_LIST", count=1)
    launch("INVALID_EVENT_WAIT_LIST", waits=handles(event))
    launch("INVALID_EVENT_WAIT_LIST", count=1, waits=handles(None))
    launch("INVALID_CONTEXT", count=1, waits=handles(foreign))
    if bits.value == 32:
        launch("INVALID_GLOBAL_WORK_SIZE", whole=sizes(1 << 33))
        launch("INVALID_GLOBAL_OFFSET", offset=sizes((1 << 32) - 4))
    free = make("clCreateKernel", program, b"f")
    for index, size, value in ((0, 8, byref(buffer)), (1, 4, memory), (2, 64, None)):
        assert call("clSetKernelArg", free, index, size, value) == 0
    launch("INVALID_WORK_GROUP_SIZE", local=sizes(3), which=free)
    launch("INVALID_WORK_GROUP_SIZE", local=sizes(0), which=free)
    launch("INVALID_WORK_ITEM_SIZE", whole=sizes(1 << 20), local=sizes(1 << 20), which=free)
    launch("INVALID_WORK_GROUP_SIZE", dims=2, whole=sizes(256, 256), local=sizes(256, 256), which=free)
    assert call("clSetKernelArg", free, 2, 1 << 30, None) == 0
    launch("OUT_OF_RESOURCES", which=free)
    wrong("INVALID_WORK_GROUP_SIZE", "clEnqueueTask", queue, fixed, 0, None, None)
    suggest = "clGetKernelSuggestedLocalWorkSize"
    wrong("INVALID_COMMAND_QUEUE", suggest, None, fixed, 1, None, eight, memory)
    wrong("INVALID_KERNEL", suggest, queue, None, 1, None, eight, memory)
    wrong("INVALID_KERNEL_ARGS", suggest, queue, kernel, 1, None, eight, memory)
    wrong("INVALID_WORK_DIMENSION", suggest, queue, fixed, 4, None, eight, memory)
    wrong("INVALID_GLOBAL_WORK_SIZE", suggest, queue, fixed, 1, None, None, memory)
    wrong("INVALID_GLOBAL_WORK_SIZE", suggest, queue, fixed, 1, None, sizes(0), memory)
    wrong("INVALID_VALUE", suggest, queue, fixed, 1, None, eight, None)
    # Since OpenCL 2.1 nothing to do is no error, and the event ends.
    for whole in (None, sizes(0)):
        done = c_void_p()
        assert call("clEnqueueNDRangeKernel", queue, fixed, 1, None, whole, None, 0, None, byref(done)) == 0
        assert call("clWaitForEvents", 1, handles(done)) == 0


def check_events():
    wrong("INVALID_CONTEXT", "clCreateUserEvent", None)
    wrong("INVALID_VALUE", "clWaitForEvents", 0, handles(event))
    wrong("INVALID_VALUE", "clWaitForEvents", 1, None)
    wrong("INVALID_EVENT", "clWaitForEvents", 1, handles(None))
    wrong("INVALID_CONTEXT", "clWaitForEvents", 2, handles(event, foreign))
    wrong("INVALID_EVENT", "clSetUserEventStatus", None, 0)
    wrong("INVALID_VALUE", "clSetUserEventStatus", event, 1)
    done = c_void_p()
    assert call("clEnqueueMarkerWithWaitList", plain, 0, None, byref(done)) == 0
    wrong("INVALID_EVENT", "clSetUserEventStatus", done, 0)
    wrong("PROFILING_INFO_NOT_AVAILABLE", "clGetEventProfilingInfo", done, CL["PROFILING_COMMAND_END"], 8, memory, None)
    wrong(
        "PROFILING_INFO_NOT_AVAILABLE", "clGetEventProfilingInfo", event, CL["PROFILING_COMMAND_END"], 8, memory, None
    )
    timed = c_void_p()
    assert call("clEnqueueMarkerWithWaitList", queue, 0, None, byref(timed)) == 0
    call("clFinish", queue)
    wrong("INVALID_VALUE", "clGetEventProfilingInfo", timed, 7, 8, memory, None)
    wrong("INVALID_VALUE", "clGetEventProfilingInfo", timed, CL["PROFILING_COMMAND_END"], 4, memory, None)
    wrong("INVALID_EVENT", "clGetEventProfilingInfo", None, CL["PROFILING_COMMAND_END"], 8, memory, None)
    wrong("INVALID_EVENT", "clSetEventCallback", None, 0, memory, None)
    wrong("INVALID_VALUE", "clSetEventCallback", event, 0, None, None)
    wrong("INVALID_VALUE", "clSetEventCallback", event, CL["QUEUED"], memory, None)
    wrong("INVALID_COMMAND_QUEUE", "clEnqueueMarkerWithWaitList", None, 0, None, None)
    wrong("INVALID_EVENT_WAIT_LIST", "clEnqueueMarkerWithWaitList", queue, 1, None, None)
    wrong("INVALID_CONTEXT", "clEnqueueMarkerWithWaitList", queue, 1, handles(foreign), None)
    wrong("INVALID_EVENT_WAIT_LIST", "clEnqueueBarrierWithWaitList", queue, 1, handles(None), None)
    wrong("INVALID_VALUE", "clEnqueueMarker", queue, None)
    wrong("INVALID_VALUE", "clEnqueueWaitForEvents", queue, 0, handles(event))
    wrong("INVALID_EVENT", "clEnqueueWaitForEvents", queue, 1, handles(None))
    failed = make("clCreateUserEvent", context)
    assert call("clSetUserEventStatus", failed, -5) == 0
    wrong("INVALID_OPERATION", "clSetUserEventStatus", failed, 0)
    wrong("EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "clWaitForEvents", 1, handles(failed))
    wrong(
        "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
        "clEnqueueReadBuffer", queue, buffer, 1, 0, 4, memory, 1, handles(failed), None,
    )  # fmt: skip
    unread = c_int32()
    part = c_void_p()
    assert call("clEnqueueMarkerWithWaitList", queue, 1, handles(failed), byref(part)) == 0
    call("clFinish", queue)
    call("clGetEventInfo", part, CL["EVENT_COMMAND_EXECUTION_STATUS"], 4, byref(unread), None)
    assert unread.value < 0


def check_transfers():
    none = (0, None, None)
    for name, refused in (("clEnqueueReadBuffer", no_read), ("clEnqueueWriteBuffer", no_write)):
        wrong("INVALID_COMMAND_QUEUE", name, None, buffer, 1, 0, 4, memory, *none)
        wrong("INVALID_MEM_OBJECT", name, queue, None, 1, 0, 4, memory, *none)
        wrong("INVALID_CONTEXT", name, queue, strange, 1, 0, 4, memory, *none)
        wrong("INVALID_VALUE", name, queue, buffer, 1, 0, 4097, memory, *none)
        wrong("INVALID_VALUE", name, queue, buffer, 1, HUGE, 4, memory, *none)
        wrong("INVALID_VALUE", name, queue, buffer, 1, 4, HUGE, memory, *none)
        wrong("INVALID_VALUE", name, queue, buffer, 1, 0, 4, None, *none)
        wrong("INVALID_OPERATION", name, queue, refused, 1, 0, 4, memory, *none)
        wrong("INVALID_EVENT_WAIT_LIST", name, queue, buffer, 1, 0, 4, memory, 1, None, None)
        wrong("INVALID_CONTEXT", name, queue, buffer, 1, 0, 4, memory, 1, handles(foreign), None)
    zero, region = sizes(0, 0, 0), sizes(4, 4, 4)
    for name, refused in (("clEnqueueReadBufferRect", no_read), ("clEnqueueWriteBufferRect", no_write)):

        def box(expected, mem=buffer, origin=zero, host=zero, size=region, row=0, slice=0, row2=0, slice2=0, at=memory):
            wrong(expected, name, queue, mem, 1, origin, host, size, row, slice, row2, slice2, at, *none)  # noqa: B023

        box("INVALID_MEM_OBJECT", mem=None)
        box("INVALID_CONTEXT", mem=strange)
        box("INVALID_OPERATION", mem=refused)
        box("INVALID_VALUE", size=sizes(4, 0, 4))
        box("INVALID_VALUE", size=sizes(64, 64, 2))
        box("INVALID_VALUE", row=3)
        box("INVALID_VALUE", slice=15)
        box("INVALID_VALUE", row2=3)
        box("INVALID_VALUE", slice2=15)
        box("INVALID_VALUE", row=4, slice=18)
        box("INVALID_VALUE", at=None)
        box("INVALID_VALUE", size=None)
        box("INVALID_VALUE", row=1 << 63, slice=1 << 63)
        box("INVALID_VALUE", size=sizes(4, 3, 1), row=1 << 63)
        box("INVALID_VALUE", origin=sizes(HUGE, 0, 0))
        box("INVALID_VALUE", origin=sizes(0, HUGE, 0), row=1 << 32)
    wrong("INVALID_MEM_OBJECT", "clEnqueueCopyBuffer", queue, None, buffer, 0, 0, 4, *none)
    wrong("INVALID_MEM_OBJECT", "clEnqueueCopyBuffer", queue, buffer, None, 0, 0, 4, *none)
    wrong("INVALID_CONTEXT", "clEnqueueCopyBuffer", queue, buffer, strange, 0, 0, 4, *none)
    wrong("INVALID_VALUE", "clEnqueueCopyBuffer", queue, buffer, buffer2, 4095, 0, 4, *none)
    wrong("INVALID_VALUE", "clEnqueueCopyBuffer", queue, buffer, buffer2, 0, 4095, 4, *none)
    wrong("MEM_COPY_OVERLAP", "clEnqueueCopyBuffer", queue, buffer, buffer, 0, 3, 4, *none)
    copy = "clEnqueueCopyBufferRect"
    wrong("INVALID_VALUE", copy, queue, buffer, buffer2, zero, zero, sizes(0, 1, 1), 0, 0, 0, 0, *none)
    wrong("INVALID_VALUE", copy, queue, buffer, buffer2, zero, zero, region, 3, 0, 0, 0, *none)
    wrong("INVALID_VALUE", copy, queue, buffer, buffer2, zero, zero, region, 0, 0, 0, 15, *none)
    wrong("INVALID_VALUE", copy, queue, buffer, buffer2, zero, sizes(0, 0, 1000), region, 0, 0, 0, 0, *none)
    wrong("INVALID_VALUE", copy, queue, buffer, buffer, zero, zero, region, 8, 0, 16, 0, *none)
    wrong("MEM_COPY_OVERLAP", copy, queue, buffer, buffer, zero, sizes(3, 3, 3), region, 16, 256, 16, 256, *none)
    fill = "clEnqueueFillBuffer"
    for size, offset, length in ((0, 0, 4), (3, 0, 3), (4, 2, 4), (4, 0, 6), (4, 4096, 4), (256, 0, 256)):
        wrong("INVALID_VALUE", fill, queue, buffer, memory, size, offset, length, *none)
    wrong("INVALID_VALUE", fill, queue, buffer, None, 4, 0, 4, *none)
    wrong("INVALID_MEM_OBJECT", fill, queue, None, memory, 4, 0, 4, *none)
    mapping = "clEnqueueMapBuffer"
    wrong("INVALID_MEM_OBJECT", mapping, queue, None, 1, 1, 0, 4, *none)
    wrong("INVALID_CONTEXT", mapping, queue, strange, 1, 1, 0, 4, *none)
    wrong("INVALID_VALUE", mapping, queue, buffer, 1, 1, 0, 0, *none)
    wrong("INVALID_VALUE", mapping, queue, buffer, 1, 1, 4096, 4, *none)
    wrong("INVALID_VALUE", mapping, queue, buffer, 1, 1 << 30, 0, 4, *none)
    wrong("INVALID_VALUE", mapping, queue, buffer, 1, 1 | 4, 0, 4, *none)
    wrong("INVALID_OPERATION", mapping, queue, no_read, 1, CL["MAP_READ"], 0, 4, *none)
    wrong("INVALID_OPERATION", mapping, queue, no_write, 1, CL["MAP_WRITE"], 0, 4, *none)
    wrong("INVALID_VALUE", "clEnqueueUnmapMemObject", queue, buffer, memory, *none)
    wrong("INVALID_MEM_OBJECT", "clEnqueueUnmapMemObject", queue, None, memory, *none)
    migrate = "clEnqueueMigrateMemObjects"
    wrong("INVALID_VALUE", migrate, queue, 0, handles(buffer), 0, *none)
    wrong("INVALID_VALUE", migrate, queue, 1, None, 0, *none)
    wrong("INVALID_VALUE", migrate, queue, 1, handles(buffer), 1 << 9, *none)
    wrong("INVALID_MEM_OBJECT", migrate, queue, 1, handles(None), 0, *none)
    wrong("INVALID_CONTEXT", migrate, queue, 1, handles(strange), 0, *none)
    native, function = "clEnqueueNativeKernel", ctypes.CFUNCTYPE(None, c_void_p)(lambda _: None)
    function = ctypes.cast(function, c_void_p)
    if kind.value != CL["DEVICE_TYPE_CPU"]:
        wrong("INVALID_OPERATION", native, queue, function, memory, 16, 0, None, None, *none)
        return
    wrong("INVALID_VALUE", native, queue, None, memory, 16, 0, None, None, *none)
    wrong("INVALID_VALUE", native, queue, function, None, 16, 0, None, None, *none)
    wrong("INVALID_VALUE", native, queue, function, memory, 0, 0, None, None, *none)
    wrong("INVALID_VALUE", native, queue, function, memory, 16, 1, None, None, *none)
    wrong("INVALID_VALUE", native, queue, function, memory, 16, 0, handles(buffer), None, *none)
    wrong(
        "INVALID_MEM_OBJECT",
        native,
        queue,
        function,
        memory,
        16,
        1,
        handles(None),
        handles(ctypes.addressof(memory)),
        *none,
    )


def shared_images(image, format8):
    """An image of another one's pixels has its sizes and its format."""
    flat, whole = CL["MEM_OBJECT_IMAGE2D"], Shape(CL["MEM_OBJECT_IMAGE2D"], 16, 16)
    parent = make("clCreateImage", context, WO, byref(format8), byref(whole), None)
    rest = (0, 0, 0, 0, parent)
    image("INVALID_IMAGE_FORMAT_DESCRIPTOR", flags=0, described=Shape(flat, 16, 8, 0, 0, *rest))
    other = Format(CL["RGBA"], CL["SIGNED_INT8"])
    image("INVALID_IMAGE_FORMAT_DESCRIPTOR", flags=0, format=other, described=Shape(flat, 16, 16, 0, 0, *rest))
    image("INVALID_IMAGE_DESCRIPTOR", flags=0, described=Shape(CL["MEM_OBJECT_IMAGE3D"], 16, 16, 1, 0, *rest))
    image("INVALID_IMAGE_DESCRIPTOR", flags=0, described=Shape(flat, 16, 16, 0, 0, 128, 0, 0, 0, parent))
    image("INVALID_VALUE", flags=RO, described=Shape(flat, 16, 16, 0, 0, *rest))
    shared = make("clCreateImage", context, 0, byref(format8), byref(Shape(flat, 16, 16, 0, 0, *rest)), None)
    found = (c_void_p * 2)(1, 1)
    assert call("clGetMemObjectInfo", shared, CL["MEM_ASSOCIATED_MEMOBJECT"], 8, byref(found), None) == 0
    assert call("clGetImageInfo", shared, CL["IMAGE_BUFFER"], 8, byref(found, 8), None) == 0
    assert list(found) == [parent.value, None]
    colour, seen = (ctypes.c_float * 4)(1, 0, 1, 0), (ctypes.c_uint8 * 4)()
    begin, pixel, last = sizes(0, 0, 0), sizes(1, 1, 1), sizes(15, 15, 0)
    assert call("clEnqueueFillImage", queue, shared, colour, begin, sizes(16, 16, 1), 0, None, None) == 0
    assert call("clEnqueueReadImage", queue, parent, 1, last, pixel, 0, 0, seen, 0, None, None) == 0
    assert list(seen) == [255, 0, 255, 0]
    for one in (parent, shared):
        assert call("clReleaseMemObject", one) == 0


def check_images():
    format8 = Format(CL["RGBA"], CL["UNORM_INT8"])
    flat = CL["MEM_OBJECT_IMAGE2D"]
    shape = Shape(flat, 16, 16)

    def image(expected, flags=RW, format=format8, described=shape, host=None, where=context):
        wrong(expected, "clCreateImage", where, flags, format and byref(format), described and byref(described), host)

    if not images.value:
        image("INVALID_OPERATION")
        wrong("INVALID_OPERATION", "clCreateSampler", context, 0, CL["ADDRESS_CLAMP"], CL["FILTER_NEAREST"])
        return
    image("INVALID_CONTEXT", where=None)
    image("INVALID_VALUE", flags=RO | WO)
    image("INVALID_IMAGE_FORMAT_DESCRIPTOR", format=None)
    image("INVALID_IMAGE_FORMAT_DESCRIPTOR", format=Format(CL["RGBA"], 7))
    image("INVALID_IMAGE_FORMAT_DESCRIPTOR", format=Format(7, CL["UNORM_INT8"]))
    small = {byte + kind for byte in ("UNORM_INT", "SNORM_INT") for kind in ("8", "16")} | {"HALF_FLOAT", "FLOAT"}
    packed = {"UNORM_SHORT_565", "UNORM_SHORT_555", "UNORM_INT_101010"}
    plain = small | {f"{sign}SIGNED_INT{width}" for sign in ("", "UN") for width in (8, 16, 32)}
    four = {"UNORM_INT8", "SNORM_INT8", "SIGNED_INT8", "UNSIGNED_INT8"}
    legal = {  # OpenCL 3.0 API specification, tables of channel orders and of data types
        **dict.fromkeys(("R", "A", "RG", "RA", "Rx", "RGx"), plain), "RGBA": plain | {"UNORM_INT_101010_2"},
        **dict.fromkeys(("INTENSITY", "LUMINANCE"), small), **dict.fromkeys(("BGRA", "ARGB", "ABGR"), four),
        **dict.fromkeys(("RGB", "RGBx"), packed), "DEPTH": {"UNORM_INT16", "FLOAT"},
        **dict.fromkeys(("sRGB", "sRGBx", "sRGBA", "sBGRA"), frozenset({"UNORM_INT8"})),
    }  # fmt: skip
    offered = (Format * 256)()
    assert call("clGetSupportedImageFormats", context, RW, flat, 256, offered, byref(count)) == 0
    has = {(one.order, one.type) for one in offered[: count.value]}
    for order, types in legal.items():
        for kind in plain | packed | {"UNORM_INT_101010_2"}:
            if (CL[order], CL[kind]) not in has:
                error = "IMAGE_FORMAT_NOT_SUPPORTED" if kind in types else "INVALID_IMAGE_FORMAT_DESCRIPTOR"
                image(error, format=Format(CL[order], CL[kind]))
            elif kind not in types:
                FAILED.append(f"{order} of {kind} is offered")
    image("INVALID_IMAGE_DESCRIPTOR", described=None)
    image("INVALID_IMAGE_DESCRIPTOR", described=Shape(7, 16, 16))
    image("INVALID_IMAGE_DESCRIPTOR", described=Shape(flat, 16, 16, 0, 0, 64))
    image(
        "INVALID_IMAGE_DESCRIPTOR", described=Shape(flat, 16, 16, 0, 0, 3), flags=CL["MEM_COPY_HOST_PTR"], host=memory
    )
    image("INVALID_IMAGE_DESCRIPTOR", described=Shape(flat, 16, 16, 0, 0, 0, 0, 1))
    image("INVALID_IMAGE_DESCRIPTOR", described=Shape(flat, 16, 16, 0, 0, 0, 0, 0, 1))
    image("INVALID_IMAGE_SIZE", described=Shape(flat, 0, 16))
    image("INVALID_IMAGE_SIZE", described=Shape(flat, 1 << 20, 16))
    image("INVALID_HOST_PTR", flags=CL["MEM_COPY_HOST_PTR"])
    image("INVALID_HOST_PTR", host=memory)
    image("INVALID_OPERATION", described=Shape(flat, 16, 16, 0, 0, 0, 0, 0, 0, buffer))  # needs an extension
    row = CL["MEM_OBJECT_IMAGE1D_BUFFER"]
    image("INVALID_IMAGE_DESCRIPTOR", described=Shape(row, 16))
    image("INVALID_IMAGE_DESCRIPTOR", described=Shape(row, 16, 0, 0, 0, 60, 0, 0, 0, buffer))
    image("INVALID_IMAGE_DESCRIPTOR", described=Shape(CL["MEM_OBJECT_IMAGE1D"], 16, 0, 0, 0, 0, 0, 0, 0, buffer))
    image("INVALID_IMAGE_SIZE", described=Shape(row, 1025, 0, 0, 0, 0, 0, 0, 0, buffer))
    image(
        "INVALID_VALUE",
        flags=CL["MEM_COPY_HOST_PTR"],
        host=memory,
        described=Shape(row, 16, 0, 0, 0, 0, 0, 0, 0, buffer),
    )
    image("INVALID_IMAGE_SIZE", described=Shape(CL["MEM_OBJECT_IMAGE3D"], 16, 16, 0))
    made = byref(format8)
    wrong("INVALID_IMAGE_SIZE", "clCreateImage3D", context, RW, made, 16, 16, 1, 0, 0, None)  # OpenCL 1.1: more than 1
    assert call("clReleaseMemObject", make("clCreateImage3D", context, RW, made, 16, 16, 2, 0, 0, None)) == 0
    shared_images(image, format8)
    image("INVALID_IMAGE_SIZE", described=Shape(CL["MEM_OBJECT_IMAGE2D_ARRAY"], 16, 16, 0, 0))
    image("INVALID_IMAGE_SIZE", described=Shape(CL["MEM_OBJECT_IMAGE1D_ARRAY"], 16, 0, 0, 1 << 20))
    wrong("INVALID_CONTEXT", "clGetSupportedImageFormats", None, RW, flat, 1, memory, None)
    wrong("INVALID_VALUE", "clGetSupportedImageFormats", context, RW, 7, 1, memory, None)
    wrong("INVALID_VALUE", "clGetSupportedImageFormats", context, RW, flat, 0, memory, None)
    wrong("INVALID_VALUE", "clGetSupportedImageFormats", context, RO | WO, flat, 1, memory, None)
    wrong("INVALID_CONTEXT", "clCreateSampler", None, 0, CL["ADDRESS_CLAMP"], CL["FILTER_NEAREST"])
    wrong("INVALID_VALUE", "clCreateSampler", context, 0, 7, CL["FILTER_NEAREST"])
    wrong("INVALID_VALUE", "clCreateSampler", context, 0, CL["ADDRESS_CLAMP"], 7)
    wrong("INVALID_VALUE", "clCreateSampler", context, 5, CL["ADDRESS_CLAMP"], CL["FILTER_NEAREST"])
    for words in (
        (7, 1),
        (CL["SAMPLER_FILTER_MODE"], CL["ADDRESS_CLAMP"]),
        (CL["SAMPLER_FILTER_MODE"], 1 << 32 | CL["FILTER_NEAREST"]),
        (CL["SAMPLER_NORMALIZED_COORDS"], 1 << 32),
        (CL["SAMPLER_NORMALIZED_COORDS"], 1, CL["SAMPLER_NORMALIZED_COORDS"], 1),
    ):
        given = (c_uint64 * (len(words) + 1))(*words, 0)
        wrong("INVALID_VALUE", "clCreateSamplerWithProperties", context, given)
        wrong("INVALID_CONTEXT", "clCreateSamplerWithProperties", None, given)
    one_sampler = make("clCreateSampler", context, 0, CL["ADDRESS_CLAMP"], CL["FILTER_NEAREST"])
    wrong("INVALID_SAMPLER", "clGetSamplerInfo", None, CL["SAMPLER_CONTEXT"], 8, memory, None)
    wrong("INVALID_VALUE", "clGetSamplerInfo", one_sampler, CL["SAMPLER_CONTEXT"], 4, memory, None)
    wrong("INVALID_VALUE", "clGetSamplerInfo", one_sampler, 7, 8, memory, None)
    good = make("clCreateImage", context, RW, byref(format8), byref(shape), None)
    written = make("clCreateImage", context, WO, byref(format8), byref(shape), None)
    read = make("clCreateImage", context, RO, byref(format8), byref(shape), None)
    floats = make("clCreateImage", context, RW, byref(Format(CL["RGBA"], CL["FLOAT"])), byref(shape), None)
    hidden = make("clCreateImage", context, CL["MEM_HOST_NO_ACCESS"], byref(format8), byref(shape), None)
    line = make("clCreateImage", context, RW, byref(format8), byref(Shape(CL["MEM_OBJECT_IMAGE1D"], 16)), None)
    deep = make("clCreateImage", context, RW, byref(format8), byref(Shape(CL["MEM_OBJECT_IMAGE3D"], 4, 4, 4)), None)
    of_buffer = make(
        "clCreateImage", context, RW, byref(format8), byref(Shape(row, 16, 0, 0, 0, 0, 0, 0, 0, buffer)), None
    )
    alien = make("clCreateImage", other, RW, byref(format8), byref(shape), None)
    wrong("INVALID_VALUE", "clGetImageInfo", good, 7, 8, memory, None)
    wrong("INVALID_VALUE", "clGetImageInfo", good, CL["IMAGE_WIDTH"], 4, memory, None)
    none, zero, all_of = (0, None, None), sizes(0, 0, 0), sizes(16, 16, 1)
    for name in ("clEnqueueReadImage", "clEnqueueWriteImage"):
        wrong("INVALID_MEM_OBJECT", name, queue, buffer, 1, zero, all_of, 0, 0, memory, *none)
        wrong("INVALID_VALUE", name, queue, good, 1, zero, sizes(17, 16, 1), 0, 0, memory, *none)
        wrong("INVALID_VALUE", name, queue, good, 1, zero, sizes(16, 16, 2), 0, 0, memory, *none)
        wrong("INVALID_VALUE", name, queue, good, 1, zero, sizes(16, 0, 1), 0, 0, memory, *none)
        wrong("INVALID_VALUE", name, queue, good, 1, sizes(HUGE, 0, 0), all_of, 0, 0, memory, *none)
        wrong("INVALID_VALUE", name, queue, good, 1, None, all_of, 0, 0, memory, *none)
        wrong("INVALID_VALUE", name, queue, good, 1, zero, all_of, 63, 0, memory, *none)
        wrong("INVALID_VALUE", name, queue, good, 1, zero, all_of, 0, 0, None, *none)
        wrong("INVALID_OPERATION", name, queue, hidden, 1, zero, all_of, 0, 0, memory, *none)
    wrong("IMAGE_FORMAT_MISMATCH", "clEnqueueCopyImage", queue, good, floats, zero, zero, all_of, *none)
    wrong("INVALID_VALUE", "clEnqueueCopyImage", queue, good, written, sizes(1, 0, 0), zero, all_of, *none)
    wrong("MEM_COPY_OVERLAP", "clEnqueueCopyImage", queue, good, good, zero, sizes(4, 4, 0), sizes(8, 8, 1), *none)
    wrong("INVALID_MEM_OBJECT", "clEnqueueCopyImage", queue, buffer, good, zero, zero, all_of, *none)
    wrong("INVALID_VALUE", "clEnqueueCopyImageToBuffer", queue, good, buffer, zero, all_of, 4000, *none)
    wrong("INVALID_MEM_OBJECT", "clEnqueueCopyImageToBuffer", queue, buffer, buffer, zero, all_of, 0, *none)
    wrong("INVALID_VALUE", "clEnqueueCopyBufferToImage", queue, buffer, good, 4000, zero, all_of, *none)
    wrong("INVALID_MEM_OBJECT", "clEnqueueCopyBufferToImage", queue, good, good, 0, zero, all_of, *none)
    wrong("INVALID_VALUE", "clEnqueueFillImage", queue, good, None, zero, all_of, *none)
    wrong("INVALID_VALUE", "clEnqueueFillImage", queue, good, memory, zero, sizes(17, 1, 1), *none)
    wrong("INVALID_VALUE", "clEnqueueFillImage", queue, good, memory, None, all_of, *none)
    wrong("INVALID_VALUE", "clEnqueueFillImage", queue, good, memory, zero, None, *none)
    wrong("INVALID_VALUE", "clEnqueueFillImage", queue, line, memory, zero, sizes(1, 2, 1), *none)
    wrong("INVALID_VALUE", "clEnqueueFillImage", queue, good, memory, zero, sizes(1, 1, 0), *none)
    wrong("INVALID_MEM_OBJECT", "clEnqueueFillImage", queue, buffer, memory, zero, all_of, *none)
    wrong("INVALID_CONTEXT", "clEnqueueFillImage", queue, alien, memory, zero, all_of, *none)
    wrong("INVALID_CONTEXT", "clEnqueueCopyImage", queue, good, alien, zero, zero, all_of, *none)
    wrong("INVALID_COMMAND_QUEUE", "clEnqueueCopyImage", None, good, good, zero, zero, all_of, *none)
    wrong("INVALID_VALUE", "clEnqueueCopyImage", queue, good, deep, zero, sizes(0, 0, 4), sizes(4, 4, 1), *none)
    wrong("INVALID_VALUE", "clEnqueueCopyImage", queue, good, deep, zero, zero, sizes(4, 4, 2), *none)
    wrong("INVALID_EVENT_WAIT_LIST", "clEnqueueCopyImage", queue, good, written, zero, zero, all_of, 1, None, None)
    one_row = sizes(16, 1, 1)
    wrong("INVALID_MEM_OBJECT", "clEnqueueCopyImageToBuffer", queue, of_buffer, buffer, zero, one_row, 2048, *none)
    wrong("INVALID_MEM_OBJECT", "clEnqueueCopyBufferToImage", queue, buffer, of_buffer, 2048, zero, one_row, *none)
    wrong("INVALID_CONTEXT", "clEnqueueCopyImageToBuffer", queue, good, strange, zero, all_of, 0, *none)
    pitch = sizes(0)
    wrong("INVALID_VALUE", "clEnqueueMapImage", queue, deep, 1, 1, zero, sizes(4, 4, 4), pitch, None, *none)
    wrong("INVALID_VALUE", "clEnqueueMapImage", queue, good, 1, 5, zero, all_of, pitch, None, *none)
    wrong("INVALID_CONTEXT", "clEnqueueMapImage", queue, alien, 1, 1, zero, all_of, pitch, None, *none)
    wrong("INVALID_VALUE", "clEnqueueMapImage", queue, good, 1, 1, zero, sizes(17, 1, 1), pitch, None, *none)
    wrong("INVALID_VALUE", "clEnqueueMapImage", queue, good, 1, 1, zero, all_of, None, None, *none)
    wrong("INVALID_VALUE", "clEnqueueMapImage", queue, good, 1, 1 << 20, zero, all_of, pitch, None, *none)
    wrong("INVALID_OPERATION", "clEnqueueMapImage", queue, hidden, 1, 1, zero, all_of, pitch, None, *none)
    wrong("INVALID_MEM_OBJECT", "clEnqueueMapImage", queue, buffer, 1, 1, zero, all_of, pitch, None, *none)
    built = program_of(IMAGES)
    reads, writes = (make("clCreateKernel", built, name) for name in (b"reads", b"writes"))
    wrong("INVALID_MEM_OBJECT", "clSetKernelArg", reads, 0, 8, byref(buffer))
    wrong("INVALID_MEM_OBJECT", "clSetKernelArg", reads, 0, 8, None)
    wrong("INVALID_ARG_VALUE", "clSetKernelArg", reads, 0, 8, byref(written))
    wrong("INVALID_ARG_VALUE", "clSetKernelArg", writes, 0, 8, byref(read))
    wrong("INVALID_ARG_VALUE", "clSetKernelArg", writes, 0, 8, byref(line))
    wrong("INVALID_ARG_SIZE", "clSetKernelArg", reads, 0, 4, byref(good))
    wrong("INVALID_SAMPLER", "clSetKernelArg", reads, 1, 8, None)
    wrong("INVALID_SAMPLER", "clSetKernelArg", reads, 1, 8, byref(good))
    wrong("INVALID_ARG_SIZE", "clSetKernelArg", reads, 1, 16, byref(one_sampler))
    wrong("INVALID_MEM_OBJECT", "clSetKernelArg", reads, 2, 8, byref(good))


for check in [value for name, value in list(globals().items()) if name.startswith("check_")]:
    check()
call("clSetUserEventStatus", event, 0)
call("clSetUserEventStatus", foreign, 0)
call("clFinish", queue)
print("\n".join(FAILED))
