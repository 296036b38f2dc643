"""Input: OpenCL kernels as images. Output: kernels of a VLIW device, which put buffers in the arena and arguments in
constant buffers.

How arguments are passed depends on who compiled: `headwater.il.from_llvm` says it of our own kernels; LLVM's r600 back
end has arguments in constant buffer 0, AMD's OpenCL 1.x in constant buffer 1.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array, aligned_bytes
from headwater.emulate.vliw.bindings import Bindings, Bound, Name
from headwater.emulate.wave.launched import SimulatedTask
from headwater.emulate.wave.layout import round_up
from headwater.errors import LaunchError, UsageError
from headwater.opencl.kernels import KernelInfo
from headwater.runtime import signature
from headwater.runtime.checking import check_wanted
from headwater.runtime.host.memory import forbidden, memory_of
from headwater.runtime.images import Image
from headwater.runtime.interface import DeviceProgram
from headwater.runtime.shapes import Size
from headwater.runtime.simulated import printf_memory
from headwater.runtime.simulated.arguments import check_arguments
from headwater.runtime.simulated.kernel import SimulatedKernel
from headwater.runtime.vliw.device import CONSTANT_FETCH, TEXT_FETCH, ShaderKernel, check_limits, machine_of
from headwater.runtime.vliw.dwords import in_whole_dwords
from headwater.runtime.vliw.images import image_of
from headwater.runtime.vliw.launch import ARENA, Arena, Inputs, Packed, ShaderLaunch, Sizes, View

if TYPE_CHECKING:
    from headwater.emulate.watch.hooks import Watcher
    from headwater.il.from_llvm import CompiledKernels, IlKernel
    from headwater.isa.vliw.image import ShaderImage
    from headwater.opencl.kernels import ArgInfo
    from headwater.runtime.vliw.device import VliwDevice

_LLVM_ARGUMENTS = 36
"""Where LLVM's arguments begin in constant buffer 0, behind groups, global and local size (LLVM, AMDGPUUsage)."""
_WORDS = 1 << 32
_AMD_VIEWS, _AMD_BYTES = 142, 8
"""Fetch resource of AMD's view 0, and the id of its view of bytes; the others are fetched by the numbers of their words
(as the programs that AMD's OpenCL 1.x compiled for Cypress do: view 11 is resource 153)."""
_DOMAIN_WIDTH = 4096
"""Pixels of a row of the domain that work-items of R600 and R700 are laid out in."""


@dataclass(frozen=True)
class Convention:
    """How a kernel gets its arguments: the constant buffer, where they begin there, and each one's place from then on.

    ``data``: the program's constants; ``local_bytes``: LDS in front of ``__local`` arguments; ``lines``: of the source,
    for each line of IL; ``formats``: of printf, see `headwater.runtime.simulated.printf_memory`; ``written``: the
    numbers of the arguments through which it may write, None if they are not known.
    """

    bank: int
    start: int
    places: tuple[int, ...]
    data: bytes
    local_bytes: int
    lines: tuple[int, ...] = ()
    formats: tuple[str, ...] = ()
    written: tuple[int, ...] | None = None


def build(device: VliwDevice, source: str, filename: str, options: str, only: tuple[str, ...] = ()) -> DeviceProgram:
    """Compile OpenCL C for a VLIW chip: to IL now, each kernel on to machine code when it is first launched. ``only``:
    these kernels, if any are named."""
    from headwater.il import from_llvm

    @functools.cache
    def made(checked: bool) -> CompiledKernels:
        return from_llvm.kernels(source, device.chip, filename, options, checked=checked, only=only)

    def version(name: str) -> Callable[[bool], IlKernel]:
        return lambda checked: made(checked).kernels[name]

    first = made(check_wanted())
    found = {
        name: CompiledKernel(device, one.info, version(name), source, filename, options)
        for name, one in first.kernels.items()
    }
    return DeviceProgram(device, found, first.warnings, first.variable_bytes)


def kernels(device: VliwDevice, images: Sequence[ShaderImage], filename: str) -> Mapping[str, ShaderKernel]:
    """The kernels of images from a file. UsageError for CAL programs, whose arrays no image describes."""
    from headwater.runtime.simulated.arguments import argument

    found = {}
    for image in images:
        if image.abi == "cal":
            raise UsageError(
                f"{filename} is a CAL program, which does not say what its arrays are",
                hint="load it by headwater.cal.calModuleLoad, or run the IL that it was made from",
            )
        infos = tuple(argument(one.arg, number) for number, one in enumerate(image.args))
        info = KernelInfo(image.name, infos, image.group_size)
        found[image.name] = ImageKernel(device, info, image, filename)
    return found


class _OpenClKernel(ShaderKernel, SimulatedKernel):
    """An OpenCL kernel, whoever compiled it."""

    __slots__ = ()

    def checker(self) -> Watcher:
        from headwater.emulate.vliw.check import opencl_checker

        return opencl_checker()


class ImageKernel(_OpenClKernel):
    """An OpenCL kernel as an image that another compiler made."""

    __slots__ = ("image",)

    def __init__(self, device: VliwDevice, info: KernelInfo, image: ShaderImage, filename: str) -> None:
        super().__init__(device, info, "", filename, "")
        check_limits(image, device.chip)
        self.image = image

    def watched(
        self,
        global_size: Size,
        local_size: Size | None,
        offset: Size = (),
        watcher: Watcher | None = None,
        lds_bytes: int = 0,
    ) -> ShaderLaunch:
        shape, start = self.shape(global_size, local_size, offset)
        bank, first = (0, _LLVM_ARGUMENTS) if self.image.abi == "llvm" else (1, 0)
        places = tuple(one.arg.offset for one in self.image.args)
        convention = Convention(bank, first, places, self.image.data, self.image.lds_bytes)
        return launch(self, self.image, convention, shape, start, watcher)


class CompiledKernel(_OpenClKernel):
    """An OpenCL kernel that is compiled by way of IL, which ``version`` gives, also of code for checks."""

    __slots__ = ("_version",)

    def __init__(
        self,
        device: VliwDevice,
        info: KernelInfo,
        version: Callable[[bool], IlKernel],
        source: str,
        filename: str,
        options: str,
    ) -> None:
        super().__init__(device, info, source, filename, options)
        self._version = version

    def watched(
        self,
        global_size: Size,
        local_size: Size | None,
        offset: Size = (),
        watcher: Watcher | None = None,
        lds_bytes: int = 0,
    ) -> ShaderLaunch:
        device = self.device
        edited = device.edited_image(self.info.name)
        il = self._version(watcher is not None and watcher.checked_code and edited is None)
        il.require(self.program_filename, self.program_source)
        if edited is not None:
            check_arguments(self.info, len(edited.args))
            image = edited
        else:
            with il.placed(self.program_filename, self.program_source):
                image = replace(image_of(il.text, device.chip, f"{self.info.name}.il"), abi="headwater")
        shape, start = self.shape(global_size, local_size, offset)
        known = il.slots, il.data, il.local_bytes, il.lines, il.formats, il.written
        convention = Convention(1, 0, *known)
        return launch(self, image, convention, shape, start, watcher)


def launch(
    kernel: ShaderKernel,
    image: ShaderImage,
    convention: Convention,
    shape: Sizes,
    start: tuple[int, int, int],
    watcher: Watcher | None = None,
) -> ShaderLaunch:
    """An OpenCL kernel with its sizes fixed: called with the kernel's arguments. ``start``: the first work-item."""
    device = kernel.device
    if prod(shape.whole) >= _WORDS or any(sum(pair) >= _WORDS for pair in zip(shape.whole, start, strict=True)):
        size = " x ".join(map(str, shape.whole[: shape.dimensions]))
        raise LaunchError(
            f"{size} work-items: {device.chip.name} counts them in 32 bits",
            hint="launch parts, one after the other",
        )
    machine = replace(machine_of(image), lds_bytes=convention.local_bytes)
    bound: dict[Name, Bound] = {("constant", bank): Bound() for bank in (0, 1)}
    bound |= {("fetch", CONSTANT_FETCH + bank): Bound(stride=16) for bank in (0, 1)}
    if image.abi == "llvm":
        bound["fetch", TEXT_FETCH] = Bound()
    if image.abi == "amd":
        views = [view for view in image.uavs if view != _AMD_BYTES]
        bound |= {("fetch", _AMD_VIEWS + view): replace(ARENA, stride=4) for view in views}
    laid_out = _as_domain(shape) if image.kind == "ps" else shape
    passing = OpenClArguments(kernel.info, image, convention, shape, start)
    return ShaderLaunch(kernel, machine, device.chip, laid_out, Bindings(bound, {}, ARENA), passing, watcher)


class OpenClArguments:
    """How an OpenCL kernel gets its arguments: those of a launch of ``asked`` work-items from ``start`` on."""

    in_line = True

    def __init__(
        self, info: KernelInfo, image: ShaderImage, convention: Convention, asked: Sizes, start: tuple[int, int, int]
    ) -> None:
        self.convention = convention
        self._info = info
        self._image = image
        self._asked = asked
        self._start = start
        ends = (at + _size(arg) for arg, at in zip(info.args, convention.places, strict=True))
        self.packed = Packed(convention.places, round_up(max([16, *ends]), 16))

    def source_line(self, line: int) -> int:
        return self.convention.lines[line - 1] if 0 < line <= len(self.convention.lines) else 0

    def called(
        self, launch: ShaderLaunch, item: tuple[int, int, int], group: tuple[int, int, int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        count = self._asked.dimensions
        if self._image.kind == "ps":
            flat = item[1] * launch.sizes.whole[0] + item[0]
            x, y, _ = self._asked.whole
            item = flat % x, flat // x % y, flat // x // y
            a, b, c = (at // size for at, size in zip(item, self._asked.local, strict=True))
            group = a, b, c
        whole = tuple(at + first for at, first in zip(item, self._start, strict=True))
        return whole[:count], group[:count]

    def prepared(self, launch: ShaderLaunch, args: Sequence[Any]) -> tuple[SimulatedTask, Inputs]:
        """A task, with the arguments in the arena and in constant buffers."""
        task = launch.host.pack(args)
        arena = Arena()
        packed = bytearray(task.args[launch.descriptors : launch.descriptors + self.packed.nbytes])
        for index, where in self._places(task, arena, args).items():
            at = self.convention.places[index]
            packed[at : at + 8] = struct.pack("<II", where, 0)
        task.printf = task.keep(printf_memory.new_memory()) if self.convention.formats else None
        return task, Inputs(self._constants(bytes(packed), arena, task, launch.sizes.whole[0]), arena)

    def printed(self, task: SimulatedTask) -> list[str]:
        return [] if task.printf is None else printf_memory.show(task.printf, self.convention.formats)

    def _places(self, task: SimulatedTask, arena: Arena, args: Sequence[Any]) -> dict[int, int]:
        """The addresses in the arena of buffers and of images' descriptions, by the arguments' numbers."""
        memories: dict[int, Array] = {}
        for index, (value, arg) in enumerate(zip(args, self._info.args, strict=True)):
            if arg.kind == "image":
                value.refuse_unread()
                memories[index] = value.array
            elif arg.kind in ("buffer", "constant") and value is not None:
                memories[index] = memory_of(value, task)
        places = {}
        for index, (memory, first) in in_whole_dwords(task, memories).items():
            arg, given = self._info.args[index], memories[index]
            image = arg.kind == "image"
            name = f"the pixels of `{arg.name}`" if image else f"`{signature.declaration(arg)}`"
            no_access = forbidden(args[index])
            where = arena.add(name, memory, writable=bool(given.flags.writeable), forbidden=no_access) + first
            element = given.itemsize if image else arg.pointee_bytes
            if where % min(4, element & -element):
                raise LaunchError(
                    f"{name} begins at no multiple of {min(4, element & -element)} bytes, and other arguments are over "
                    "the same memory",
                    hint="the chip accesses whole dwords; give the arguments arrays of their own",
                )
            places[index] = self._described(task, arena, arg, args[index], where) if image else where
        return places

    def _described(self, task: SimulatedTask, arena: Arena, arg: ArgInfo, value: Image, pixels: int) -> int:
        """The address of an image's description, which has that of its pixels."""
        description = task.keep(value.descriptor.copy())
        description[0] = pixels
        return arena.add(f"the descriptor of `{arg.name}`", description.view(np.uint8), writable=False)

    def _constants(self, packed: bytes, arena: Arena, task: SimulatedTask, row: int) -> dict[Name, View]:
        """The constant buffers with sizes and arguments, as the image's calling convention has them. ``row``:
        work-items of a row of the grid or domain."""
        shape, convention = self._asked, self.convention
        if self._image.abi == "llvm":
            head = struct.pack("<9I", *shape.groups, *shape.whole, *shape.local)
            return {("constant", 0): _view(head + packed), ("fetch", TEXT_FETCH): _view(convention.data)}
        data = 0
        if convention.data and self._image.abi == "headwater":
            memory = task.keep(aligned_bytes(round_up(len(convention.data), 4)))
            memory[: len(convention.data)] = np.frombuffer(convention.data, np.uint8)
            data = arena.add("the program's constants", memory, writable=False)
        records = 0 if task.printf is None else arena.add("printf's memory", task.printf, writable=True)
        vectors = [(*shape.whole, shape.dimensions), (*shape.local, 0), (*shape.groups, 0)]
        if self._image.abi == "amd":  # the offset's place is that of the later chips' programs, see amdcl.block
            none = (0, 0, 0, 0)
            offset = (*self._start, prod(self._start[: shape.dimensions]) & 0xFFFFFFFF)
            vectors += [none, none, none, offset, none, none, offset]
        else:
            vectors += [(*self._start, 0), (data, row, prod(shape.whole), records)]
        head = b"".join(struct.pack("<4I", *vector) for vector in vectors)
        found = {("constant", 0): _view(head), ("constant", 1): _view(packed)}
        return found | {
            ("fetch", CONSTANT_FETCH + bank): replace(found["constant", bank], stride=16) for bank in (0, 1)
        }


def _as_domain(shape: Sizes) -> Sizes:
    """Work-items as pixels, one after the other in rows."""
    count = prod(shape.whole)
    width = min(max(round_up(count, 64), 64), _DOMAIN_WIDTH)
    return Sizes((width, -(-count // width), 1), (64, 1, 1), dimensions=2)


def _view(data: bytes) -> View:
    return View(np.frombuffer(data or bytes(16), np.uint8))


def _size(arg: ArgInfo) -> int:
    """Bytes that an argument is packed in by the launcher: a host's pointer has 8."""
    return 8 if arg.kind in ("buffer", "constant", "local", "image") else arg.size_bytes
