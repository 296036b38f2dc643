"""OpenCL C passes in; the cpu device compiles it for this machine's processor and runs it on all cores."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
import platform
import re
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import numpy as np

from headwater.base.arrays import ALIGNMENT, Array, aligned_bytes
from headwater.base.version import VERSION
from headwater.errors import LaunchError, LimitError, ResourceError, UsageError
from headwater.native import pool as _pool
from headwater.runtime.checking import check_wanted
from headwater.runtime.cpu.events import CpuQueue
from headwater.runtime.cpu.launch import CpuBuffer, CpuLaunch
from headwater.runtime.interface import Buffer, Device, DeviceKernel, DeviceProgram
from headwater.runtime.shapes import Size, check_sizes, is_empty, offset_of, sizes, three

if TYPE_CHECKING:
    from headwater.opencl.kernels import KernelInfo
    from headwater.runtime.cpu.privatised import TallyingKernel

MAX_GROUP_SIZE = 4096  # work-items; a group's local memory and frames should fit a core's cache
MAX_ID = 1 << 31  # ids are below it, which makes 32-bit index arithmetic exact (`headwater.opencl.codegen.ID_RANGE`)
_CACHED_SIZES = 512


class HostModule(Protocol):
    """What `headwater.opencl.host.load` gives."""

    @property
    def kernels(self) -> dict[str, KernelInfo]: ...

    def access_lines(self, kernel: str) -> list[tuple[int, int, bool, int, int]]:
        """Of each access that can be tested before a launch: argument, bytes, whether it writes, line and column."""
        ...

    def specialise(
        self,
        kernel: str,
        global_size: tuple[int, int, int],
        local_size: tuple[int, int, int] | None,
        work_dim: int,
        *,
        privatised: bool = False,
        guarded: bool = True,
    ) -> TallyingKernel:
        """Code for these sizes; ``privatised``: each thread counts into tallies of its own; ``guarded``: it may
        assume that 32-bit indices do not wrap around."""
        ...


class CpuDevice(Device):
    """This machine's processor."""

    name = "cpu"
    kind: Literal["cpu", "opencl", "simulated"] = "cpu"

    @property
    def description(self) -> str:  # type: ignore[override]
        """The processor's name and its number of threads."""
        return f"{_processor_name()}, {_pool.pool().size} threads"

    @property
    def driver(self) -> str:
        from importlib.metadata import PackageNotFoundError, version

        try:
            return f"headwater {VERSION}, llvmlite {version('llvmlite')}, ziglang {version('ziglang')}"
        except PackageNotFoundError:
            return f"headwater {VERSION} without its compiler"

    @property
    def memory_bytes(self) -> int:
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            return 0

    @property
    def compute_units(self) -> int:
        return _pool.pool().size

    @property
    def max_group_size(self) -> int:
        return MAX_GROUP_SIZE

    def expect_source(self) -> None:
        from headwater.native.worker import WORKER

        WORKER.start("opencl.codegen")

    def build(self, source: str, filename: str, options: str = "") -> DeviceProgram:
        from headwater.opencl import host

        module = host.load(source, filename, options)
        _pool.prepare()
        checked = functools.cache(lambda: host.load(source, filename, options, check=True))
        return cpu_program(self, module, checked, source, filename, options)

    def allocate(self, nbytes: int) -> CpuBuffer:
        if nbytes < 0:
            raise UsageError(f"a buffer cannot have {nbytes} bytes")
        try:
            return CpuBuffer(self, aligned_bytes(nbytes))
        except (MemoryError, ValueError, OverflowError):
            raise ResourceError(f"not enough memory for a buffer of {nbytes} bytes") from None

    def wrap(self, array: Array) -> CpuBuffer:
        if not array.flags.c_contiguous:
            raise UsageError("only C-contiguous arrays can be wrapped", hint="pass np.ascontiguousarray(…)")
        return CpuBuffer(self, array.reshape(-1).view(np.uint8))

    def upload(self, array: Array) -> CpuBuffer:
        buffer = self.allocate(array.nbytes)
        if array.size:
            np.copyto(buffer.memory.view(array.dtype).reshape(array.shape), array)
        return buffer

    def write(self, buffer: Buffer, array: Array, offset: int = 0) -> None:
        target = self._part(buffer, array.nbytes, offset)
        if array.size:
            np.copyto(target.view(array.dtype).reshape(array.shape), array)

    def download(self, buffer: Buffer, array: Array, offset: int = 0) -> None:
        source = self._part(buffer, array.nbytes, offset)
        if array.size:
            np.copyto(array, source.view(array.dtype).reshape(array.shape))

    def copy(self, source: Buffer, target: Buffer) -> None:
        nbytes = min(source.nbytes, target.nbytes)
        np.copyto(self._part(target, nbytes, 0), self._part(source, nbytes, 0))

    def part(self, buffer: Buffer, offset: int, nbytes: int) -> CpuBuffer | None:
        made = CpuBuffer(self, self._part(buffer, nbytes, offset))
        return None if made.address % ALIGNMENT else made

    def copy_part(
        self, source: Buffer, target: Buffer, stored: Sequence[int], index: Sequence[slice], itemsize: int
    ) -> None:
        whole = self._part(source, prod(stored) * itemsize, 0).view(f"V{itemsize}").reshape(tuple(stored))
        wanted = whole[tuple(index)]
        np.copyto(self._part(target, wanted.nbytes, 0).view(f"V{itemsize}").reshape(wanted.shape), wanted)

    def fill(self, buffer: Buffer, pattern: bytes) -> None:
        memory = self._part(buffer, buffer.nbytes, 0)
        if not any(pattern):
            memory.fill(0)
        else:
            memory.view(f"V{len(pattern)}")[:] = np.frombuffer(pattern, f"V{len(pattern)}")[0]

    def _part(self, buffer: Buffer, nbytes: int, offset: int) -> Array:
        if not isinstance(buffer, CpuBuffer):
            raise UsageError(f"this buffer is on {buffer.device.name}, not on the cpu")
        if offset < 0 or offset + nbytes > buffer.nbytes:
            raise UsageError(f"{nbytes} bytes at {offset} are not inside a buffer of {buffer.nbytes} bytes")
        return buffer.memory[offset : offset + nbytes]

    def new_queue(self, profiling: bool = True) -> CpuQueue:
        return CpuQueue()

    def finish_queue(self, backend: CpuQueue) -> None:
        backend.finish()

    def finish(self) -> None:
        """Nothing to do: launches without a queue have ended when they return."""


class CpuKernel(DeviceKernel):
    """A kernel compiled for the cpu; code for particular sizes is made, or found in the cache, when first asked for."""

    __slots__ = ("_checked", "_module", "_prepared", "options", "program_filename", "program_source")

    def __init__(
        self,
        device: CpuDevice,
        info: KernelInfo,
        module: HostModule,
        checked: Any,
        source: str,
        filename: str,
        options: str,
    ) -> None:
        self.device = device
        self.info = info
        self.program_source = source
        self.program_filename = filename
        self.options = options
        self._module = module
        self._checked = checked
        self._prepared: dict[Any, CpuLaunch] = {}

    def prepare(
        self,
        global_size: Size,
        local_size: Size | None,
        offset: Size = (),
        *,
        check: bool | None = None,
        lds_bytes: int = 0,
    ) -> CpuLaunch:
        if check is None:
            check = check_wanted()
        key: Any = (global_size, local_size, offset, check, lds_bytes)
        try:
            launch = self._prepared.get(key)
        except (TypeError, ValueError):  # lists, arrays, memory: they cannot be keys
            key = (
                sizes(global_size, "global size"),
                None if local_size is None else sizes(local_size, "group size"),
                () if is_empty(offset) else sizes(offset, "global offset"),
                check,
                lds_bytes,
            )
            launch = self._prepared.get(key)
        if launch is None:
            launch = self._make(global_size, local_size, offset, check, lds_bytes)
            if len(self._prepared) >= _CACHED_SIZES:
                self._prepared.clear()
            self._prepared[key] = launch
        return launch

    def access_lines(self) -> list[tuple[int, int, bool, int, int]]:
        """Where the source has the accesses that are tested before launches (`HostModule.access_lines`)."""
        module: HostModule = self._checked()
        return module.access_lines(self.info.name)

    def _make(self, global_size: Size, local_size: Size | None, offset: Size, check: bool, lds_bytes: int) -> CpuLaunch:
        whole = sizes(global_size, "global size")
        group = check_sizes(self.info, whole, local_size, self.options, MAX_GROUP_SIZE, lds_bytes)
        start = offset_of(offset, whole)
        if any(size + first > MAX_ID for size, first in zip(whole, start, strict=True)):
            shift = f" from offset {start}" if any(start) else ""
            raise LaunchError(
                f"the global size {whole}{shift} takes work-item ids to 2**31 or beyond in one dimension",
                hint="launch parts of it, or spread it over two dimensions",
            )
        module: Any = self._checked() if check else self._module
        if lds_bytes:
            module = _WithLocalMemory(module, lds_bytes)
        empty = prod(whole) == 0
        # Code for an empty launch is never run; any size will do to know the arguments.
        wanted = (1,) * len(whole) if empty else whole
        asked = (self.info.name, three(wanted), None if group is None or empty else three(group), len(whole))
        try:
            host = module.specialise(*asked)
        except LimitError:
            from headwater.opencl.memory_limits import located_at_largest

            with located_at_largest(self.program_source, self.program_filename, self.options):
                raise
        sizes_of_launch = (three(whole), three(start, 0), len(whole))

        def careful() -> CpuLaunch:
            return CpuLaunch(self, module.specialise(*asked, guarded=False), *sizes_of_launch, check, None, group)

        launch = CpuLaunch(self, host, *sizes_of_launch, check, careful, group)
        if host.tallies and not check:
            from headwater.runtime.cpu.privatised import PrivatisedCounters, TallyLaunch

            launch.privatised = PrivatisedCounters(
                self.info.args,
                host.tallies,
                whole,
                lambda: TallyLaunch(
                    self, module.specialise(*asked, privatised=True), *sizes_of_launch, check, careful, group
                ),
            )
        return launch


class _WithLocalMemory:
    """A module whose kernels have ``nbytes`` of local memory in each group behind what they declare."""

    def __init__(self, module: HostModule, nbytes: int) -> None:
        self._module, self._nbytes = module, nbytes

    def specialise(self, *sizes: Any, **how: bool) -> Any:
        """As `HostModule.specialise`."""
        host = cast("Any", self._module).specialise(*sizes, **how)
        whole = host.static_local_bytes + self._nbytes
        return dataclasses.replace(host, static_local_bytes=whole, dynamic_local_bytes=self._nbytes)


def cpu_program(
    device: CpuDevice, module: HostModule, checked: Any, source: str, filename: str, options: str
) -> DeviceProgram:
    """The kernels of a compiled module; ``checked()`` gives the module compiled with checks."""
    kernels = {
        name: CpuKernel(device, info, module, checked, source, filename, options)
        for name, info in module.kernels.items()
    }
    return DeviceProgram(device, kernels, getattr(module, "warnings", ""))


@functools.cache
def _processor_name() -> str:
    for name in _processor_names():
        if name.strip():
            return name.strip()
    return platform.machine()


def _processor_names() -> Iterator[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    yield match[1] if match else ""
    yield _darwin_processor() if platform.system() == "Darwin" else ""
    yield platform.processor()


def _darwin_processor() -> str:
    """``sysctl machdep.cpu.brand_string``."""
    try:
        libc = ctypes.CDLL(None)
        size = ctypes.c_size_t(256)
        text = ctypes.create_string_buffer(size.value)
        failed = libc.sysctlbyname(b"machdep.cpu.brand_string", text, ctypes.byref(size), None, ctypes.c_size_t(0))
    except (OSError, AttributeError):
        return ""
    return "" if failed else text.value.decode(errors="replace")


@functools.cache
def cpu_device() -> CpuDevice:
    """The one cpu device."""
    return CpuDevice()
