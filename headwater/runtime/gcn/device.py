"""Input: a chip's name. Output: a `GcnDevice`, which runs OpenCL C and code objects by emulating that chip."""

from __future__ import annotations

import functools
import sys
import threading
from copy import copy
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

from headwater.base.arrays import aligned_bytes
from headwater.base.once import once_property
from headwater.emulate.wave.layout import GWS_RESOURCES
from headwater.errors import UsageError
from headwater.runtime.gcn.launch import ArgumentPassing, GcnLaunch, KernargSegment
from headwater.runtime.host.launch import Grid
from headwater.runtime.interface import DeviceProgram
from headwater.runtime.shapes import Size, check_sizes, offset_of, sizes, three
from headwater.runtime.simulated.device import SimulatedDevice
from headwater.runtime.simulated.kernel import SimulatedKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.base.arrays import Array
    from headwater.emulate.watch.hooks import Watcher
    from headwater.isa.gcn.objects import CodeObject
    from headwater.opencl.gcn import GcnBuild, Variant
    from headwater.opencl.kernels import KernelInfo

_MISS_SECONDS = 0.02  # finding a code object in the cache takes less
_OBJECT_FILE = "object.pickle"
EDITED = "the changed code"
"""What messages call it."""
DEFAULT_GROUP = 256
"""Work-items of a group that kernels are compiled for unless a launch has larger ones: AMD's default."""


class GcnDevice(SimulatedDevice):
    """A GCN or CDNA chip that is not there."""

    @once_property
    def gws(self) -> Array:
        """Counters and flags of global wave synchronisation: what a launch leaves there, the next one finds."""
        memory = aligned_bytes(GWS_RESOURCES * 8)
        memory[:] = 0
        return memory

    def build(self, source: str, filename: str, options: str = "", only: tuple[str, ...] = ()) -> DeviceProgram:
        """Compile OpenCL C to the chip's machine code."""
        from headwater.opencl.gcn import Variant
        from headwater.runtime.checking import check_wanted

        @functools.cache
        def made(largest_group: int, checked: bool) -> GcnBuild:
            variant = Variant(largest_group=largest_group, checked=checked)
            return _compiled(source, filename, options, self.outline.target, only, variant)

        @functools.cache
        def loaded(largest_group: int, checked: bool) -> CodeObject:
            return _load_own(made(largest_group, checked).code, filename)

        def version(group: int, checked: bool) -> CodeObject:
            # Kernels that were compiled twice would have two sets of the program's variables.
            small = group <= DEFAULT_GROUP and not loaded(DEFAULT_GROUP, checked).has_writable_data
            return loaded(DEFAULT_GROUP if small else self.max_group_size, checked)

        compiled = made(DEFAULT_GROUP, check_wanted())
        if not compiled.kernels:  # as clBuildProgram takes it
            return DeviceProgram(self, {}, compiled.warnings, compiled.variable_bytes)
        loaded(DEFAULT_GROUP, check_wanted())

        versions: dict[str, Callable[[int, bool], CodeObject]] = dict.fromkeys(compiled.kernels, version)
        if self.edited:
            versions = {name: self._edited(name, info, version) for name, info in compiled.kernels.items()}
        kernels = {
            name: GcnKernel(self, info, versions[name], source, filename, options)
            for name, info in compiled.kernels.items()
        }
        return DeviceProgram(self, kernels, compiled.warnings, compiled.variable_bytes)

    def _edited(
        self, name: str, info: KernelInfo, compiled: Callable[[int, bool], CodeObject]
    ) -> Callable[[int, bool], CodeObject]:
        """A kernel's code object: the changed one, where that has the kernel."""
        from headwater.runtime.simulated.arguments import check_arguments, kernel_info

        code = _load_own(self.edited, EDITED)
        self._check_target(code, EDITED)
        known = name in code.kernels
        if known:
            check_arguments(info, len(kernel_info(code.kernels[name]).args))

        def version(group: int, checked: bool) -> CodeObject:
            self.launched.add(name)
            return code if known else compiled(group, checked)

        return version

    def load(self, code: bytes, filename: str) -> DeviceProgram:
        """The kernels of a code object. UsageError if it was made for another chip's instructions."""
        from headwater.runtime.simulated.arguments import kernel_info

        loaded = _load_own(code, filename)
        self._check_target(loaded, filename)
        kernels = {
            name: GcnKernel(self, kernel_info(kernel), lambda group, checked: loaded, "", filename, "")
            for name, kernel in loaded.kernels.items()
        }
        return DeviceProgram(self, kernels)

    def _check_target(self, code: CodeObject, filename: str) -> None:
        from headwater.chips.gcn_isas import ISA_OF_TARGET

        if ISA_OF_TARGET.get(code.target) != ISA_OF_TARGET.get(self.chip.target):
            raise UsageError(
                f"{filename} holds machine code for {code.target}, and {self.name} is a {self.chip.target}",
                hint=f"run it on a device with {code.target}, if headwater devices --chips has one",
            )


class GcnKernel(SimulatedKernel):
    """A kernel in machine code of the chip; native code for it is made, or found in the cache, when first launched."""

    __slots__ = ("_version",)
    takes_lds = True
    device: GcnDevice

    def __init__(
        self, device: GcnDevice, info: KernelInfo, version: Any, source: str, filename: str, options: str
    ) -> None:
        super().__init__(device, info, source, filename, options)
        self._version = version

    def checker(self) -> Watcher:
        from headwater.emulate.gcn.check import checker

        return checker()

    def watched(
        self,
        global_size: Size,
        local_size: Size | None,
        offset: Size = (),
        watcher: Watcher | None = None,
        lds_bytes: int = 0,
    ) -> GcnLaunch:
        from headwater.emulate.gcn.dispatch import default_group

        whole = sizes(global_size, "global size")
        group = check_sizes(self.info, whole, local_size, self.options, self.device.max_group_size, lds_bytes)
        start = offset_of(offset, whole)
        full = three(whole)
        local = default_group(full, DEFAULT_GROUP) if group is None else three(group)
        code = self._version(prod(local), watcher is not None and watcher.checked_code)
        grid = Grid(full, local, three(start, 0), len(whole))
        return GcnLaunch(self, code, grid, self._convention(code), watcher, lds_bytes)

    def _convention(self, code: CodeObject) -> ArgumentPassing:
        kernel = code.kernels[self.info.name]
        if kernel.legacy is None:
            return KernargSegment()
        from headwater.runtime.gcn.legacy import ConstantBuffers

        return ConstantBuffers(kernel)


def _compiled(
    source: str, filename: str, options: str, target: str, only: tuple[str, ...], variant: Variant
) -> GcnBuild:
    from headwater.opencl.gcn import compile_code_object

    # If it is not in the cache the compiler process will work on it, and the translator be wanted: import that by then.
    importing = threading.Timer(_MISS_SECONDS, import_module, ("headwater.emulate.gcn.translate",))
    importing.daemon = True
    importing.start()
    try:
        return compile_code_object(source, filename, options, target, only=only, variant=variant)
    finally:
        importing.cancel()


def _load_own(code: bytes, filename: str) -> CodeObject:
    """The code object for one more program: if it has variables, they are that program's own."""
    loaded = _load(code, filename)
    return copy(loaded) if loaded.has_writable_data else loaded


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
