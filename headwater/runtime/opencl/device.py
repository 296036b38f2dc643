"""OpenCL devices: their drivers compile and run OpenCL C, through PyOpenCL."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headwater.base import cache
from headwater.base.arrays import Array
from headwater.base.once import once, once_property
from headwater.errors import (
    DeviceError,
    HeadwaterError,
    LaunchError,
    OutOfMemoryError,
    ResourceError,
    SourceError,
    Span,
    UsageError,
    span_of_bytes,
)
from headwater.opencl import includes
from headwater.opencl.kernels import HIP_OPTION
from headwater.runtime import signature
from headwater.runtime.interface import Buffer, Device, DeviceKernel, DeviceProgram
from headwater.runtime.opencl.pool import Pool
from headwater.runtime.shapes import Size
from headwater.runtime.values import refuse_lds

if TYPE_CHECKING:
    from headwater.opencl.kernels import ArgInfo, KernelInfo
    from headwater.runtime.opencl.launch import ClLaunch

_INSTALL = 'install it with: pip install "headwater[opencl]"'
_CACHED_SIZES = 512


@functools.cache
def available() -> bool:
    """Whether PyOpenCL is installed and loads."""
    if importlib.util.find_spec("pyopencl") is None:
        return False
    try:
        import pyopencl  # noqa: F401
    except ImportError:
        return False
    return True


def pyopencl() -> Any:
    """The ``pyopencl`` module; DeviceError if it is not installed."""
    if not available():
        raise DeviceError("OpenCL devices need PyOpenCL, which is not installed", hint=_INSTALL)
    import pyopencl as cl

    return cl


def translate_error(error: Exception, doing: str) -> HeadwaterError:
    """A PyOpenCL error as one of ours."""
    cl = pyopencl()
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    code = getattr(error, "code", None)
    status = cl.status_code
    out_of_memory = {
        status.MEM_OBJECT_ALLOCATION_FAILURE,
        status.OUT_OF_RESOURCES,
        status.OUT_OF_HOST_MEMORY,
        status.INVALID_BUFFER_SIZE,
    }
    if isinstance(error, cl.MemoryError) or code in out_of_memory:
        return ResourceError(f"{doing}: {text}", hint="the device is out of memory or another resource")
    return DeviceError(f"{doing}: {text}")


class ClBuffer(Buffer):
    """Device memory: ``mem`` is the ``pyopencl.Buffer``. Memory that nobody asked for by that name is used again."""

    __slots__ = ("_lent", "memory", "pool")

    def __init__(self, device: ClDevice, memory: Any, nbytes: int) -> None:
        self.device: Device = device
        self.memory = memory
        self.nbytes = nbytes
        self.pool = device.pool
        self._lent = False

    @property
    def mem(self) -> Any:
        """The ``pyopencl.Buffer``, which whoever gets it may use as long as they like, in any queue."""
        self._lent = True
        return self.memory

    def __del__(self) -> None:
        if not self._lent:
            self.pool.give(self.nbytes, self.memory)


class ClDevice(Device):
    """One OpenCL device, ``opencl:platform:device``, with a context and an in-order queue of its own."""

    kind: Literal["cpu", "opencl", "simulated"] = "opencl"

    def __init__(self, name: str, device: Any) -> None:
        self.name = name
        self.cl_device = device
        self.platform_name = str(device.platform.name).strip("\0 ")
        self.description = str(device.name).strip("\0 ")
        self.samplers: dict[Any, Any] = {}

    @once_property
    def context(self) -> Any:
        """The ``pyopencl.Context``."""
        cl = pyopencl()
        try:
            return cl.Context([self.cl_device])
        except cl.Error as error:
            raise translate_error(error, f"cannot open {self.description}") from None

    @once_property
    def queue(self) -> Any:
        """The ``pyopencl.CommandQueue`` of launches that name no queue."""
        return self._new_queue()

    @once_property
    def pool(self) -> Pool:
        """Memory to use again."""
        return Pool(self.memory_bytes // 16)

    @property
    def is_gpu(self) -> bool:
        return bool(self.cl_device.type & pyopencl().device_type.GPU)

    @functools.cached_property
    def memory_bytes(self) -> int:
        return int(self.cl_device.global_mem_size)

    @property
    def compute_units(self) -> int:
        return int(self.cl_device.max_compute_units)

    @property
    def max_group_size(self) -> int:
        return int(self.cl_device.max_work_group_size)

    @property
    def local_memory_bytes(self) -> int:
        return int(self.cl_device.local_mem_size)

    @property
    def driver(self) -> str:
        return f"{self.platform_name}, {self.cl_device.version.strip()}, driver {self.cl_device.driver_version}"

    # -- building ------------------------------------------------------------------------------------------------------

    def build(self, source: str, filename: str, options: str = "", only: tuple[str, ...] = ()) -> DeviceProgram:
        if options.startswith(HIP_OPTION):
            raise DeviceError(
                f"{self.name} takes OpenCL C: HIP runs on the cpu device and on chips of GCN and CDNA",
                hint="choose --device cpu, vega64 or mi250x",
            )
        try:
            words = shlex.split(options)
        except ValueError as error:
            raise UsageError(f"options {options!r}: {error}") from None
        if not source.strip():
            raise SourceError("the source is empty", Span(filename))
        # What an #include names can change without the source changing.
        key = None if includes.present(source) else self._cache_key(source, words)
        cached = None if key is None else self._from_cache(key, words)
        if cached is None:
            program, infos, log = self._from_source(source, filename, words)
            if key is not None:
                self._to_cache(key, program, infos, log)
        else:
            program, infos, log = cached
        kernels = {info.name: ClDeviceKernel(self, info, program, options) for info in infos}
        return DeviceProgram(self, kernels, log)

    def _cache_key(self, source: str, words: list[str]) -> str:
        device = self.cl_device
        return cache.key(
            "opencl binary 2",
            source,
            "\0".join(words),
            device.name,
            device.version,
            device.driver_version,
            device.platform.name,
            device.platform.version,
        )

    def _from_source(self, source: str, filename: str, words: list[str]) -> tuple[Any, list[KernelInfo], str]:
        cl = pyopencl()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the log of a good build is kept; PyOpenCL would print it
            program = cl.Program(self.context, source)
            try:
                # Touching the program before it is built keeps PyOpenCL from caching the binary a second time.
                _ = program.reference_count
                program.build([*words, "-cl-kernel-arg-info"])
            except cl.Error as error:
                if getattr(error, "code", None) == cl.status_code.INVALID_BUILD_OPTIONS:
                    raise UsageError(f"{self.description} does not know the options {shlex.join(words)!r}") from None
                raise build_error(str(error), source, filename, self.description) from None
            log = str(program.get_build_info(self.cl_device, cl.program_build_info.LOG)).strip("\0 \n")
        infos = [self._describe(kernel) for kernel in self._kernels(program)]
        return program, with_typedefs(infos, source, filename, shlex.join(words)), log

    def _kernels(self, program: Any) -> list[Any]:
        return list(program.all_kernels())

    def _from_cache(self, key: str, words: list[str]) -> tuple[Any, list[KernelInfo], str] | None:
        entry = cache.get(key)
        if entry is None:
            return None
        cl = pyopencl()
        try:
            stored = json.loads((entry / "kernels.json").read_text(encoding="utf-8"))
            program = cl.Program(self.context, [self.cl_device], [(entry / "program.bin").read_bytes()])
            program.build(words)
            return program, [kernel_info(item) for item in stored["kernels"]], stored["log"]
        except (OSError, cl.Error):
            return None  # evicted just now, or a driver that does not take its own binary back: build from source

    def _to_cache(self, key: str, program: Any, infos: list[KernelInfo], log: str) -> None:
        cl = pyopencl()
        try:
            binary = program.get_info(cl.program_info.BINARIES)[0]
        except cl.Error:
            return  # a driver without binaries
        if binary:
            text = json.dumps({"kernels": [asdict(info) for info in infos], "log": log})
            cache.put(key, {"program.bin": bytes(binary), "kernels.json": text.encode()})

    def _describe(self, kernel: Any) -> KernelInfo:
        """A kernel's arguments, as the driver tells them."""
        from headwater.opencl.kernels import KernelInfo

        cl = pyopencl()
        name = kernel.function_name
        try:
            args = tuple(_argument(cl, kernel, index) for index in range(kernel.num_args))
        except cl.Error as error:
            raise translate_error(error, f"{self.description} does not report the arguments of {name}") from None
        group = tuple(kernel.get_work_group_info(cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE, self.cl_device))
        required = (int(group[0]), int(group[1]), int(group[2])) if any(group) else None
        return KernelInfo(name, args, required)

    # -- memory --------------------------------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> ClBuffer:
        if nbytes < 0:
            raise UsageError(f"a buffer cannot have {nbytes} bytes")
        if nbytes > self.memory_bytes:
            # Some drivers find out only when the memory is used.
            raise ResourceError(
                f"cannot allocate {nbytes} bytes on {self.description}, which has {self.memory_bytes} bytes of memory"
            )
        memory = self.pool.take(nbytes)
        if memory is None:
            try:
                memory = self._new_memory(nbytes)
            except HeadwaterError:
                self.pool.clear()  # which may hold what is missing
                memory = self._new_memory(nbytes)
        return ClBuffer(self, memory, nbytes)

    def _new_memory(self, nbytes: int) -> Any:
        cl = pyopencl()
        try:
            # OpenCL has no empty buffers.
            return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, max(nbytes, 1))
        except (cl.Error, OverflowError, TypeError) as error:
            if not isinstance(error, cl.Error):
                raise OutOfMemoryError(f"not enough memory for a buffer of {nbytes} bytes") from None
            raise translate_error(error, f"cannot allocate {nbytes} bytes on {self.description}") from None

    def wrap(self, array: Array) -> ClBuffer:
        return self.upload(array)

    def upload(self, array: Array) -> ClBuffer:
        buffer = self.allocate(array.nbytes)
        self.write(buffer, array)
        return buffer

    def write(self, buffer: Buffer, array: Array, offset: int = 0) -> None:
        if array.size:
            target = self._part(buffer, array.nbytes, offset)
            self._copy(target, np.ascontiguousarray(array), dst_offset=offset)

    def download(self, buffer: Buffer, array: Array, offset: int = 0) -> None:
        if array.size:
            source = self._part(buffer, array.nbytes, offset)
            if array.flags.c_contiguous:
                self._copy(array, source, src_offset=offset)
            else:
                whole = np.empty(array.shape, array.dtype)
                self._copy(whole, source, src_offset=offset)
                array[...] = whole

    def copy(self, source: Buffer, target: Buffer) -> None:
        nbytes = min(source.nbytes, target.nbytes)
        if nbytes:
            self._copy(self._part(target, nbytes, 0), self._part(source, nbytes, 0), byte_count=nbytes)

    def copy_part(
        self, source: Buffer, target: Buffer, stored: Sequence[int], index: Sequence[slice], itemsize: int
    ) -> None:
        extents, bounds = list(stored), [*index, *(slice(0, n) for n in stored[len(index) :])]
        while len(extents) > 1 and bounds[-1] == slice(0, extents[-1]):  # whole rows are larger elements
            itemsize *= extents.pop()
            bounds.pop()
        if len(extents) > 4:
            super().copy_part(source, target, extents, bounds, itemsize)
            return
        extents = [1] * (4 - len(extents)) + extents
        bounds = [slice(0, 1)] * (4 - len(bounds)) + bounds
        w, z, y, x = bounds
        sizes = [part.stop - part.start for part in bounds]
        row, plane = extents[3] * itemsize, extents[2] * extents[3] * itemsize
        own_row, own_plane = sizes[3] * itemsize, sizes[2] * sizes[3] * itemsize
        mem = self._part(source, 0, 0)
        for k in range(sizes[0]):  # clEnqueueCopyBufferRect has three dimensions
            self._copy(
                self._part(target, 0, 0),
                mem,
                src_origin=(x.start * itemsize, y.start, (w.start + k) * extents[1] + z.start),
                dst_origin=(0, 0, k * sizes[1]),
                region=(own_row, sizes[2], sizes[1]),
                src_pitches=(row, plane),
                dst_pitches=(own_row, own_plane),
            )

    def fill(self, buffer: Buffer, pattern: bytes) -> None:
        cl = pyopencl()
        if not buffer.nbytes:
            return
        if not any(pattern):
            pattern = b"\0"
        memory = self._part(buffer, buffer.nbytes, 0)
        if len(pattern) not in (1, 2, 4, 8, 16, 32, 64, 128):  # clEnqueueFillBuffer takes no other sizes
            self.write(buffer, np.frombuffer(pattern * (buffer.nbytes // len(pattern)), np.uint8))
            return
        try:
            cl.enqueue_fill_buffer(self.queue, memory, np.frombuffer(pattern, np.uint8), 0, buffer.nbytes)
        except cl.Error as error:
            raise translate_error(error, f"cannot fill a buffer on {self.description}") from None

    def _copy(self, target: Any, source: Any, **options: Any) -> None:
        cl = pyopencl()
        if isinstance(target, cl.Buffer) and isinstance(source, np.ndarray):
            options = {"dst_offset": options["dst_offset"]}
        try:
            cl.enqueue_copy(self.queue, target, source, **options)
        except cl.Error as error:
            raise translate_error(error, f"cannot copy to or from {self.description}") from None

    def _part(self, buffer: Buffer, nbytes: int, offset: int) -> Any:
        if not isinstance(buffer, ClBuffer) or buffer.device is not self:
            raise UsageError(f"this buffer is on {buffer.device.name}, not on {self.name}")
        if offset < 0 or offset + nbytes > buffer.nbytes:
            raise UsageError(f"{nbytes} bytes at {offset} are not inside a buffer of {buffer.nbytes} bytes")
        return buffer.memory

    # -- queues --------------------------------------------------------------------------------------------------------

    def new_queue(self, profiling: bool = True) -> Any:
        if self.pool.most_bytes:
            self.pool.close()  # another queue may still use memory that this one would write
            self.finish()  # as may launches of memory's last user, if this queue is given memory from the pool
        return self._new_queue(profiling)

    def _new_queue(self, profiling: bool = True) -> Any:
        cl = pyopencl()
        properties = cl.command_queue_properties.PROFILING_ENABLE if profiling else 0
        try:
            return cl.CommandQueue(self.context, self.cl_device, properties=properties)
        except cl.Error as error:
            raise translate_error(error, f"cannot make a queue on {self.description}") from None

    def finish_queue(self, backend: Any) -> None:
        cl = pyopencl()
        try:
            backend.finish()
        except cl.Error as error:
            raise translate_error(error, f"a launch on {self.description} failed") from None

    def finish(self) -> None:
        self.finish_queue(self.queue)

    def flush(self) -> None:
        cl = pyopencl()
        try:
            self.queue.flush()
        except cl.Error as error:
            raise translate_error(error, f"a launch on {self.description} failed") from None


class ClDeviceKernel(DeviceKernel):
    """A kernel built by an OpenCL driver: ``cl_kernel``, and the ``arguments`` that are set in it or in its like."""

    __slots__ = ("_prepared", "arguments", "cl_kernel", "options")

    def __init__(self, device: ClDevice, info: KernelInfo, program: Any, options: str) -> None:
        from headwater.runtime.opencl.arguments import Arguments

        self.device = device
        self.info = info
        self.options = options
        make = functools.partial(pyopencl().Kernel, program, info.name)
        self.cl_kernel = make()
        self.arguments = Arguments(device, info, self.cl_kernel, make)
        self._prepared: dict[Any, ClLaunch] = {}

    def prepare(
        self,
        global_size: Size,
        local_size: Size | None,
        offset: Size = (),
        *,
        check: bool | None = None,
        lds_bytes: int = 0,
    ) -> ClLaunch:
        from headwater.runtime.opencl.launch import ClLaunch

        refuse_lds(self.info.name, self.device.name, lds_bytes)
        if check:
            raise LaunchError("bounds-checked runs need the cpu device", hint='pass device="cpu"')
        key: Any = (global_size, local_size, offset)
        try:
            launch = self._prepared.get(key)
        except (TypeError, ValueError):  # lists, arrays, memory: they cannot be keys
            return ClLaunch(self, global_size, local_size, offset)
        if launch is None:
            if len(self._prepared) >= _CACHED_SIZES:
                self._prepared.clear()
            launch = self._prepared[key] = ClLaunch(self, global_size, local_size, offset)
        return launch


# -- what the driver tells ---------------------------------------------------------------------------------------------


def _argument(cl: Any, kernel: Any, index: int) -> Any:
    from headwater.opencl.kernels import ArgInfo

    item = cl.kernel_arg_info
    name = str(kernel.get_arg_info(index, item.NAME)).strip("\0")
    type_name = str(kernel.get_arg_info(index, item.TYPE_NAME)).strip("\0")
    space = kernel.get_arg_info(index, item.ADDRESS_QUALIFIER)
    access = kernel.get_arg_info(index, item.ACCESS_QUALIFIER)
    const = bool(kernel.get_arg_info(index, item.TYPE_QUALIFIER) & cl.kernel_arg_type_qualifier.CONST)
    spaces = cl.kernel_arg_address_qualifier
    if "sampler_t" in type_name:
        return ArgInfo(name, "sampler", type_name, 4, "read", 0)
    if type_name.lstrip("_").startswith("image"):
        accesses: dict[Any, Literal["write", "read_write"]] = {
            cl.kernel_arg_access_qualifier.WRITE_ONLY: "write",
            cl.kernel_arg_access_qualifier.READ_WRITE: "read_write",
        }
        return ArgInfo(name, "image", type_name, 8, accesses.get(access, "read"), 0)
    parsed = signature.parse_type(type_name)
    size = 0
    if parsed is not None:
        size = np.dtype(signature.SCALARS[parsed[0]][0]).itemsize * (4 if parsed[1] == 3 else parsed[1])
    if space == spaces.LOCAL:
        return ArgInfo(name, "local", type_name, 8, "read_write", size)
    if space == spaces.CONSTANT:
        return ArgInfo(name, "constant", type_name, 8, "read", size)
    if space == spaces.GLOBAL or type_name.endswith("*"):
        return ArgInfo(name, "buffer", type_name, 8, "read" if const else "read_write", size)
    return ArgInfo(name, "value", type_name, size, "read", 0)


def with_typedefs(infos: list[KernelInfo], source: str, filename: str, options: str) -> list[KernelInfo]:
    """Kernels with the types behind names that the program gave to scalars and vectors: drivers tell the names alone.
    What our front end does not take stays as it is."""
    if all(arg.size_bytes and (arg.pointee_bytes or arg.kind != "buffer") for info in infos for arg in info.args):
        return infos
    from headwater.opencl.clang import compile_to_ir

    try:
        known = compile_to_ir(source, filename, options).kernels
    except HeadwaterError:
        return infos

    def resolved(arg: ArgInfo, own: ArgInfo) -> ArgInfo:
        if own.kind != arg.kind or signature.parse_type(own.base_type) is None:
            return arg
        return replace(arg, base_type=own.base_type, size_bytes=own.size_bytes, pointee_bytes=own.pointee_bytes)

    return [
        replace(info, args=tuple(map(resolved, info.args, known[info.name].args))) if info.name in known else info
        for info in infos
    ]


def kernel_info(stored: dict[str, Any]) -> KernelInfo:
    """A KernelInfo from what `dataclasses.asdict` made of one."""
    from headwater.opencl.kernels import ArgInfo, KernelInfo

    group = stored["reqd_group_size"]
    return KernelInfo(
        stored["name"],
        tuple(ArgInfo(**arg) for arg in stored["args"]),
        None if group is None else (group[0], group[1], group[2]),
    )


# What PyOpenCL puts around a driver's log.
_WRAPPING = re.compile(
    r"\A[^\n]*clBuildProgram failed:.*?\nBuild on <[^\n]*>:\n+|\n\(options: [^\n]*\)\s*\Z", re.DOTALL
)

# "<kernel>:3:5: error: …" (NVIDIA), "/tmp/…/CompileSource:3:5: error: …" (AMD), "1:3:5: error: …" (Intel),
# "error: /tmp/….cl:3:5: …" (PoCL).
_ERROR_LINES = (
    re.compile(r":(\d+):(\d+): (?:fatal )?error: (.+)"),
    re.compile(r"error: [^\n]*?:(\d+):(\d+): (.+)"),
    re.compile(r"()()\b(?:fatal )?error: (.+)"),
)


def build_error(log: str, source: str, filename: str, device: str) -> SourceError:
    """The driver's log as a SourceError, with the position of the first error where it can be made out."""
    log = _WRAPPING.sub("", log)
    for pattern in _ERROR_LINES:
        match = pattern.search(log)
        if match is not None:
            line, column = int(match[1] or 0), int(match[2] or 0)
            lines = source.splitlines()
            text = lines[line - 1] if 0 < line <= len(lines) else ""
            at = span_of_bytes(filename, line, column, text)
            details = f"the whole log of {device}:\n{log.strip()}"
            return SourceError(match[3].strip(), at, source_line=text, details=details)
    return SourceError(f"{device} does not compile it", Span(filename), details=log.strip())


# -- finding devices ---------------------------------------------------------------------------------------------------


@once
def _enumerate() -> tuple[ClDevice, ...]:
    cl = pyopencl()
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        return ()  # a loader without any driver
    found = []
    for p, platform in enumerate(platforms):
        try:
            listed = platform.get_devices()
        except cl.Error:
            continue  # a driver without a device
        found += [ClDevice(f"opencl:{p}:{d}", device) for d, device in enumerate(listed)]
    return tuple(found)


def enumerate_devices() -> list[ClDevice]:
    """Every OpenCL device, in the order of platforms; DeviceError if PyOpenCL is not installed."""
    return list(_enumerate())
