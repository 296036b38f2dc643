"""A chip's name passes in; a `SimulatedDevice` passes out, which runs OpenCL C and code objects by emulating that
chip."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from headwater.base.arrays import aligned_bytes
from headwater.base.version import VERSION
from headwater.emulate.watch import unwritten
from headwater.emulate.wave.layout import GWS_RESOURCES
from headwater.errors import UsageError
from headwater.runtime.cpu.device import CpuDevice, CpuKernel
from headwater.runtime.cpu.launch import CpuBuffer
from headwater.runtime.gcn.launch import SimulatedLaunch
from headwater.runtime.interface import Buffer, DeviceProgram
from headwater.runtime.shapes import Size, check_sizes, offset_of, sizes, three

if TYPE_CHECKING:
    from headwater.base.arrays import Array
    from headwater.chips import Chip, Outline
    from headwater.emulate.watch.hooks import Watcher
    from headwater.isa.gcn.objects import CodeObject
    from headwater.opencl.kernels import KernelInfo

_MISS_SECONDS = 0.02  # finding a code object in the cache takes less
_OBJECT_FILE = "object.pickle"
DEFAULT_GROUP = 256
"""Work-items of a group that kernels are compiled for unless a launch has larger ones: AMD's default."""


class SimulatedDevice(CpuDevice):
    """A chip that is not there: its machine code is translated for this machine's processor. Its memory is the
    host's."""

    kind: Literal["cpu", "opencl", "simulated"] = "simulated"

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.name = Path(outline.file).stem

    @functools.cached_property
    def chip(self) -> Chip:
        """All that is known of the chip."""
        from headwater import chips

        return chips.load(self.outline.file)

    @functools.cached_property
    def gws(self) -> Array:
        """Counters and flags of global wave synchronisation: what a launch leaves there, the next one finds."""
        memory = aligned_bytes(GWS_RESOURCES * 8)
        memory[:] = 0
        return memory

    @property
    def description(self) -> str:  # type: ignore[override]
        """The board's name and its processor."""
        return f"{self.chip.name} ({self.chip.target}), emulated"

    @property
    def driver(self) -> str:
        return f"headwater {VERSION}, emulation"

    @property
    def memory_bytes(self) -> int:
        return min(self.chip.memory.bytes, super().memory_bytes or self.chip.memory.bytes)

    @property
    def compute_units(self) -> int:
        return self.chip.compute.compute_units

    @property
    def max_group_size(self) -> int:
        return self.outline.work_group_size

    def build(self, source: str, filename: str, options: str = "") -> DeviceProgram:
        """Compile OpenCL C to the chip's machine code."""
        from headwater.runtime.checking import check_wanted

        @functools.cache
        def made(largest_group: int, checked: bool) -> Any:
            return _compiled(source, filename, options, self.outline.target, largest_group, checked)

        def version(group: int, checked: bool) -> CodeObject:
            largest = DEFAULT_GROUP if group <= DEFAULT_GROUP else self.max_group_size
            return _load(made(largest, checked).code, filename)

        compiled = made(DEFAULT_GROUP, check_wanted())
        if not compiled.kernels:  # as clBuildProgram takes it
            return DeviceProgram(self, {}, compiled.warnings)
        _load(compiled.code, filename)

        kernels = {
            name: SimulatedKernel(self, info, version, source, filename, options)
            for name, info in compiled.kernels.items()
        }
        return DeviceProgram(self, kernels, compiled.warnings)

    def allocate(self, nbytes: int) -> CpuBuffer:
        buffer = super().allocate(nbytes)
        unwritten.made(buffer)
        return buffer

    def write(self, buffer: Buffer, array: Array, offset: int = 0) -> None:
        super().write(buffer, array, offset)
        _has_data(buffer)

    def copy(self, source: Buffer, target: Buffer) -> None:
        super().copy(source, target)
        _has_data(target)

    def copy_part(
        self, source: Buffer, target: Buffer, stored: Sequence[int], index: Sequence[slice], itemsize: int
    ) -> None:
        super().copy_part(source, target, stored, index, itemsize)
        _has_data(target)

    def fill(self, buffer: Buffer, pattern: bytes) -> None:
        super().fill(buffer, pattern)
        _has_data(buffer)

    def upload(self, array: Array) -> CpuBuffer:
        buffer = super().upload(array)
        _has_data(buffer)
        return buffer

    def load(self, code: bytes, filename: str) -> DeviceProgram:
        """The kernels of a code object. UsageError if it was made for another chip's instructions."""
        from headwater.runtime.gcn.arguments import kernel_info

        loaded = _load(code, filename)
        self._check_target(loaded, filename)
        kernels = {
            name: SimulatedKernel(self, kernel_info(kernel), lambda group, checked: loaded, "", filename, "")
            for name, kernel in loaded.kernels.items()
        }
        return DeviceProgram(self, kernels)

    def _check_target(self, code: CodeObject, filename: str) -> None:
        from headwater.chips.gcn_isas import ISA_OF_TARGET

        if ISA_OF_TARGET.get(code.target) != ISA_OF_TARGET.get(self.chip.target):
            raise UsageError(
                f"{filename} holds machine code for {code.target}, and {self.name} is a {self.chip.target}",
                hint=f"run it on a device with {code.target}: see headwater devices",
            )


def _has_data(buffer: Buffer) -> None:
    assert isinstance(buffer, CpuBuffer)
    unwritten.written(buffer.address)


class SimulatedKernel(CpuKernel):
    """A kernel in machine code of the chip; native code for it is made, or found in the cache, when first launched."""

    __slots__ = ("_version", "images")

    def __init__(
        self, device: SimulatedDevice, info: KernelInfo, version: Any, source: str, filename: str, options: str
    ) -> None:
        self.device: SimulatedDevice = device
        self.info = info
        self.program_source = source
        self.program_filename = filename
        self.options = options
        self._version = version
        self._prepared = {}
        self.images: dict[Any, Any] = {}
        """Code objects as they lie in memory, by themselves."""

    def prepare(
        self,
        global_size: Size,
        local_size: Size | None,
        offset: Size = (),
        *,
        check: bool | None = None,
        lds_bytes: int = 0,
    ) -> SimulatedLaunch:
        from headwater.emulate.watch.hooks import is_watched

        if is_watched():
            # Without code that nobody watches: it would be compiled for nothing.
            return cast("SimulatedLaunch", WhenCalled(self, global_size, local_size, offset, check, lds_bytes))
        launch = super().prepare(global_size, local_size, offset, check=check, lds_bytes=lds_bytes)
        assert isinstance(launch, SimulatedLaunch)
        return launch

    def _make(self, global_size: Size, local_size: Size | None, offset: Size, check: bool, lds_bytes: int) -> Any:
        if not check:
            return self.watched(global_size, local_size, offset, lds_bytes=lds_bytes)
        from headwater.emulate.gcn.check import checker

        return self.watched(global_size, local_size, offset, checker(), lds_bytes)

    def watched(
        self,
        global_size: Size,
        local_size: Size | None,
        offset: Size = (),
        watcher: Watcher | None = None,
        lds_bytes: int = 0,
    ) -> SimulatedLaunch:
        """The kernel with its sizes fixed, and code in it that tells ``watcher`` what happens; LaunchError as
        `prepare`."""
        from headwater.emulate.gcn.dispatch import default_group

        whole = sizes(global_size, "global size")
        group = check_sizes(self.info, whole, local_size, self.options, self.device.max_group_size, lds_bytes)
        start = offset_of(offset, whole)
        full = three(whole)
        local = default_group(full, DEFAULT_GROUP) if group is None else three(group)
        code = self._version(prod(local), watcher is not None and watcher.checked_code)
        return self._kind_of_launch(code)(self, code, full, local, three(start, 0), len(whole), watcher, lds_bytes)

    def _kind_of_launch(self, code: CodeObject) -> type[SimulatedLaunch]:
        if code.kernels[self.info.name].legacy is None:
            return SimulatedLaunch
        from headwater.runtime.gcn.legacy import LegacyLaunch

        return LegacyLaunch


class WhenCalled:
    """A launch that is prepared for whoever watches when it is called; ``kernel`` makes launches that are ``watched``
    and others."""

    __slots__ = ("_kernel", "_lds", "_plain", "_what")

    def __init__(
        self,
        kernel: Any,
        global_size: Size,
        local_size: Size | None,
        offset: Size,
        check: bool | None,
        lds_bytes: int = 0,
    ) -> None:
        self._kernel = kernel
        self._what = global_size, local_size, offset, check
        self._lds = {"lds_bytes": lds_bytes} if lds_bytes else {}
        self._plain: Any = None

    def __call__(self, args: Sequence[Any], queue: Any = None, time_limit: float | None = None) -> Any:
        from headwater.emulate.watch.hooks import wanted

        whole, group, offset, check = self._what
        watcher = wanted()
        if watcher is not None:
            return self._kernel.watched(whole, group, offset, watcher, **self._lds)(args, queue, time_limit)
        if self._plain is None:
            self._plain = self._kernel.prepare(whole, group, offset, check=check, **self._lds)
        return self._plain(args, queue, time_limit)


def _compiled(source: str, filename: str, options: str, target: str, largest_group: int, checked: bool) -> Any:
    from headwater.opencl.gcn import compile_code_object

    # If it is not in the cache the compiler process will work on it, and the translator be wanted: import that by then.
    importing = threading.Timer(_MISS_SECONDS, import_module, ("headwater.emulate.gcn.translate",))
    importing.daemon = True
    importing.start()
    try:
        return compile_code_object(source, filename, options, target, largest_group=largest_group, checked=checked)
    finally:
        importing.cancel()


@functools.lru_cache(maxsize=64)
def _load(code: bytes, filename: str) -> CodeObject:
    """The code object, read; what was read once is taken from the disk cache."""
    import pickle

    from headwater.base import cache
    from headwater.base.freshness import code_state

    key = cache.key("code object 1", code_state("headwater.isa.gcn.codeobject"), sys.version, filename, code)
    entry = cache.get(key)
    if entry is not None:
        kept: CodeObject = pickle.loads((entry / _OBJECT_FILE).read_bytes())
        return kept
    from headwater.isa.gcn.codeobject import load

    loaded = load(code, filename)
    cache.put(key, {_OBJECT_FILE: pickle.dumps(loaded)})
    return loaded
