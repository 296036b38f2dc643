"""The cpu device: compiles OpenCL C for this machine's processor and runs it on all cores."""

from __future__ import annotations

import ctypes
import functools
import platform
import re
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headwater.base.once import once
from headwater.base.version import VERSION
from headwater.errors import LaunchError, LimitError
from headwater.native import pool as _pool
from headwater.runtime.cpu.launch import CpuLaunch
from headwater.runtime.host.device import HostDevice
from headwater.runtime.host.kernel import LaunchableKernel
from headwater.runtime.host.launch import Grid
from headwater.runtime.interface import DeviceProgram
from headwater.runtime.shapes import Size, check_sizes, offset_of, sizes, three
from headwater.runtime.values import refuse_lds

if TYPE_CHECKING:
    from headwater.opencl.host import HostModule, KernelCode
    from headwater.opencl.kernels import AccessLine, KernelInfo

MAX_GROUP_SIZE = 4096  # work-items; a group's local memory and frames should fit a core's cache
MAX_ID = 1 << 31  # ids are below it, which makes 32-bit index arithmetic exact (`headwater.opencl.codegen.ID_RANGE`)


class CpuDevice(HostDevice):
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
    def compute_units(self) -> int:
        return _pool.pool().size

    @property
    def max_group_size(self) -> int:
        return MAX_GROUP_SIZE

    def build(self, source: str, filename: str, options: str = "", only: tuple[str, ...] = ()) -> DeviceProgram:
        from headwater.opencl import host

        module = host.load(source, filename, options).instance()
        _pool.prepare()
        checked = functools.cache(lambda: host.load(source, filename, options, check=True).instance())
        return cpu_program(self, module, checked, source, filename, options)


class CpuKernel(LaunchableKernel):
    """A kernel compiled for the cpu; ``checked()`` gives its module compiled with checks."""

    __slots__ = ("_checked", "_module")

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
        super().__init__(device, info, source, filename, options)
        self._module = module
        self._checked = checked

    def access_lines(self) -> list[AccessLine]:
        """Where the source has the accesses that are tested before launches (`HostModule.access_lines`)."""
        module: HostModule = self._checked()
        return module.access_lines(self.info.name)

    def make(self, global_size: Size, local_size: Size | None, offset: Size, check: bool, lds_bytes: int) -> CpuLaunch:
        if lds_bytes:
            from headwater.opencl.clang import is_hip

            if not is_hip(self.options):  # OpenCL C has no such memory
                refuse_lds(self.info.name, self.device.name, lds_bytes)
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
            code = module.specialise(*asked)
        except LimitError:
            from headwater.opencl.memory_limits import located_at_largest

            with located_at_largest(self.program_source, self.program_filename, self.options):
                raise
        first = three(start, 0)

        def grid(code: KernelCode) -> Grid:
            return Grid(three(whole), code.local_size, first, len(whole))

        def careful() -> CpuLaunch:
            plain = module.specialise(*asked, guarded=False)
            return CpuLaunch(self, plain, grid(plain), check, None, group)

        launch = CpuLaunch(self, code, grid(code), check, careful, group)
        if code.counters and not check:
            from headwater.runtime.cpu.privatised import PrivateTables, PrivatisedCounters

            def counting() -> CpuLaunch:
                private = module.specialise(*asked, privatised=True)
                return CpuLaunch(self, private, grid(private), check, careful, group, PrivateTables(private.counters))

            launch.privatised = PrivatisedCounters(self.info.args, code.counters, whole, counting)
        return launch


class _WithLocalMemory:
    """A module whose kernels have ``nbytes`` of local memory in each group behind what they declare."""

    def __init__(self, module: HostModule, nbytes: int) -> None:
        self._module: Any = module
        self._nbytes = nbytes

    def specialise(self, *sizes: Any, **how: bool) -> Any:
        """As `HostModule.specialise`."""
        code = self._module.specialise(*sizes, **how)
        whole = code.static_local_bytes + self._nbytes
        return code._replace(static_local_bytes=whole, dynamic_local_bytes=self._nbytes)


def cpu_program(
    device: CpuDevice, module: HostModule, checked: Any, source: str, filename: str, options: str
) -> DeviceProgram:
    """The kernels of a compiled module; ``checked()`` gives the module compiled with checks."""
    kernels = {
        name: CpuKernel(device, info, module, checked, source, filename, options)
        for name, info in module.kernels.items()
    }
    return DeviceProgram(device, kernels, getattr(module, "warnings", ""), getattr(module, "variable_bytes", 0))


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


@once
def cpu_device() -> CpuDevice:
    """The one cpu device."""
    return CpuDevice()
