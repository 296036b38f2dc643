"""OpenCL's functions as a loader calls them, through the platform's table, for programs that tests start."""

import ctypes
import re
from ctypes import byref, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

from headwater.icd import library

TYPES = {"p": c_void_p, "u": c_uint32, "i": c_int32, "z": c_size_t, "q": c_uint64}
SIGNATURES = """
clGetPlatformIDs upp, clGetPlatformInfo puzpp, clGetDeviceIDs pqupp, clGetDeviceInfo puzpp, clCreateContext pupppe,
clCreateContextFromType pqppe, clGetContextInfo puzpp, clCreateCommandQueue ppqe, clCreateCommandQueueWithProperties pppe,
clGetCommandQueueInfo puzpp, clSetCommandQueueProperty pqup, clCreateBuffer pqzpe, clCreateBufferWithProperties ppqzpe,
clCreateSubBuffer pqupe, clCreateImage pqpppe, clCreateImage3D pqpzzzzzpe, clGetSupportedImageFormats pqqupp, clGetMemObjectInfo puzpp,
clGetImageInfo puzpp, clSetMemObjectDestructorCallback ppp, clCreateSampler puuue, clCreateSamplerWithProperties ppe,
clGetSamplerInfo puzpp, clCreateProgramWithSource puppe, clCreateProgramWithBinary puppppe,
clCreateProgramWithBuiltInKernels puppe, clCreateProgramWithIL ppze, clBuildProgram pupppp, clCompileProgram puppupppp,
clLinkProgram puppupppe, clGetProgramInfo puzpp, clGetProgramBuildInfo ppuzpp, clCreateKernel ppe,
clCreateKernelsInProgram pupp, clCloneKernel pe, clSetKernelArg puzp, clSetKernelArgSVMPointer pup,
clSetKernelExecInfo puzp, clGetKernelInfo puzpp, clGetKernelArgInfo puuzpp, clGetKernelWorkGroupInfo ppuzpp,
clGetKernelSubGroupInfo ppuzpzpp, clGetKernelSuggestedLocalWorkSize ppuppp, clWaitForEvents up, clGetEventInfo puzpp,
clCreateUserEvent pe, clSetUserEventStatus pi, clSetEventCallback pipp, clGetEventProfilingInfo puzpp, clFlush p,
clFinish p, clEnqueueReadBuffer ppuzzpupp, clEnqueueWriteBuffer ppuzzpupp, clEnqueueReadBufferRect ppupppzzzzpupp,
clEnqueueWriteBufferRect ppupppzzzzpupp, clEnqueueFillBuffer pppzzzupp, clEnqueueCopyBuffer pppzzzupp,
clEnqueueCopyBufferRect ppppppzzzzupp, clEnqueueReadImage ppuppzzpupp, clEnqueueWriteImage ppuppzzpupp,
clEnqueueFillImage pppppupp, clEnqueueCopyImage ppppppupp, clEnqueueCopyImageToBuffer ppppppupp,
clEnqueueCopyBufferToImage pppzppupp, clEnqueueMapBuffer ppuqzzuppe, clEnqueueMapImage ppuqppppuppe,
clEnqueueUnmapMemObject pppupp, clEnqueueMigrateMemObjects pupqupp, clEnqueueNDRangeKernel ppupppupp,
clEnqueueTask ppupp, clEnqueueNativeKernel pppzuppupp, clEnqueueMarkerWithWaitList pupp,
clEnqueueBarrierWithWaitList pupp, clEnqueueMarker pp, clEnqueueWaitForEvents pup, clRetainContext p, clReleaseContext p,
clRetainCommandQueue p, clReleaseCommandQueue p, clRetainMemObject p, clReleaseMemObject p, clRetainSampler p,
clReleaseSampler p, clRetainProgram p, clReleaseProgram p, clRetainKernel p, clReleaseKernel p, clRetainEvent p,
clReleaseEvent p, clRetainDevice p, clReleaseDevice p, clCreateSubDevices ppupp, clCreatePipe pquupe, clGetPipeInfo puzpp,
clSVMAlloc pqzu, clEnqueueSVMMemcpy pupppupp, clEnqueueSVMMemFill pppzzupp, clEnqueueSVMMap puqpzupp,
clEnqueueSVMUnmap ppupp, clEnqueueSVMFree pupppupp, clEnqueueSVMMigrateMem pupp qupp, clSetContextDestructorCallback ppp,
clGetDeviceAndHostTimer ppp, clGetHostTimer pp, clSetDefaultDeviceCommandQueue ppp, clUnloadPlatformCompiler p,
clSetProgramSpecializationConstant puzp, clSetProgramReleaseCallback ppp
"""
"""Arguments by `TYPES`; ``e``: the call gives an object, and its error at this address, the last argument."""


def functions():
    """The functions of the table by name, as Python calls them: ``(object, error)`` or the error."""
    made = ctypes.CDLL(str(library.build()))
    platform = c_void_p()
    assert made.clIcdGetPlatformIDsKHR(1, byref(platform), None) == 0
    text = (Path(library.__file__).with_name("shim") / "dispatch.c").read_text(encoding="utf-8")
    names = re.findall(r"\b(?:CALL|NONE)\((\w+)\)", text[text.index("#define ALL(") : text.index("#define DECLARE")])
    table = ctypes.cast(platform, ctypes.POINTER(ctypes.POINTER(c_void_p)))[0]
    found = {}
    for entry in SIGNATURES.replace("pupp qupp", "puppqupp").split(","):
        name, codes = entry.split()
        gives = codes.endswith("e")
        kind = c_void_p if gives or name == "clSVMAlloc" else c_int32
        types = [TYPES[code] for code in codes.rstrip("e")] + ([c_void_p] if gives else [])
        found[name] = ctypes.CFUNCTYPE(kind, *types)(table[names.index(name)]), gives
    return platform, found


PLATFORM, FUNCTIONS = functions()
FAILED = []


def call(name, *arguments):
    """The object that a call makes, or its error code."""
    function, gives = FUNCTIONS[name]
    if not gives:
        return function(*arguments)
    error = c_int32(12345)
    made = function(*arguments, byref(error))
    if (made is None) != (error.value != 0):
        FAILED.append(f"{name}{arguments}: gave {made} and error {error.value}")
    return made if made is not None else error.value


def make(name, *arguments):
    """The object that a right call makes."""
    made = call(name, *arguments)
    assert (made or -1) > 0, (name, arguments, made)
    return c_void_p(made)


def sizes(*numbers):
    return (c_size_t * len(numbers))(*numbers)


def handles(*objects):
    return (c_void_p * len(objects))(*objects)
