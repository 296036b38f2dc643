"""Input: ATI IL, or images made of it. Output: a program whose kernel `main` runs on any device: by way of OpenCL C, or
on VLIW chips as their machine code.

A kernel takes IL's own names: textures ``i0, i1, …``, constant buffers ``cb0, …``, views ``uav0, …``, the global buffer
``g`` and outputs ``o0, …``, as arrays of 4- or 8-byte numbers (a double is two lanes). A texture's or output's array is
(height, width) or (height, width, lanes) with 1, 2 or 4 lanes; in one dimension (width,) or (width, lanes).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.errors import LaunchError, LimitError, Span
from headwater.opencl.kernels import ArgInfo, KernelInfo
from headwater.runtime.interface import Device, DeviceProgram, Queue, current, resolve
from headwater.runtime.program import ClProgram, Kernel, Launcher, Program, with_simulate
from headwater.runtime.shapes import ENTRY
from headwater.runtime.signature import count_error, prototype
from headwater.runtime.streams import Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.chips import Chip
    from headwater.il.translation import Parameter, StepNeeded, Translation
    from headwater.isa.vliw.image import ShaderImage
    from headwater.runtime.events import Event

_ELEMENT_BYTES = 16  # constant and global buffers are made of four 32-bit lanes
_TYPES = {"resource": "float4*", "constant": "float4*", "global": "float4*", "uav": "uint*", "output": "float4*"}


class IlProgram(Program["IlKernel"]):
    """An ATI IL program: one kernel, ``main``; ``translation.source`` is its OpenCL C.

    With ``images`` of it, VLIW chips run their machine code as it is, and ``source`` may be "": then only they run it.
    """

    language = "il"

    def __init__(
        self, source: str, filename: str, options: str, device: Device | None, images: Sequence[ShaderImage] = ()
    ) -> None:
        from headwater.il.cached_translation import translation_of
        from headwater.il.translation import Translation

        self.source = source
        self.filename = filename
        self.options = options
        if source or not images:
            self.translation = translation_of(source, filename)
        else:
            from headwater.runtime.vliw.il import parameters_of

            self.translation = Translation("", parameters_of(images[0]), images[0].group_size)
        self.opencl = _Translated(source, self.translation, filename, options, device, images)
        self.kernels = {ENTRY: IlKernel(self)}


class _Translated(ClProgram):
    """The OpenCL C of an IL program, which VLIW devices do not see: they get the program itself, compiled for them."""

    def __init__(
        self,
        text: str,
        translation: Translation,
        filename: str,
        options: str,
        device: Device | None,
        images: Sequence[ShaderImage],
    ) -> None:
        self._images = images
        self._text = text
        self._translation = translation
        self._filename = filename
        super().__init__(translation.source, f"{filename}.cl", options, device)

    def on(self, device: Device | str | None = None) -> DeviceProgram:
        target = resolve(device) if device is not None else current() or self.default_device
        chip = getattr(target, "chip", None)
        if chip is None or not chip.is_vliw:
            if not self._text:
                from headwater.runtime.devices import does_not_run

                raise does_not_run(self._filename, self._images[0].target, target)
            self._translation.require(self._filename)
            step = self._translation.step
            if step is not None and target not in self.built and (step.pixels or target.kind == "opencl"):
                what = f"right where a wavefront of 64 is in step, which OpenCL does not promise of {target.name}"
                if step.pixels:
                    what = "which pixels these are is the chip's choice: blocks of 8 x 8 on the cpu device"
                warnings.warn(f"{self._filename}:{step.later}: {step}: {what}", stacklevel=2)
            return super().on(target)
        built = self.built.get(target)
        if built is None:
            from headwater.il.translation import KERNEL
            from headwater.runtime.vliw.device import VliwDevice
            from headwater.runtime.vliw.il import build

            assert isinstance(target, VliwDevice)
            arguments: list[ArgInfo] = []
            for parameter in self._translation.parameters:
                size = ArgInfo(f"{parameter.name}_size", "value", "int4", 16, "read", 0, "int4")
                arguments += [_argument(parameter), size]
            info = KernelInfo(KERNEL, tuple(arguments), self._translation.group)
            edited = target.edited_image(ENTRY)
            image = self._image(chip) if edited is None else replace(edited, il=self._text)
            made = build(target, image, self._translation.parameters, info, self._filename)
            built = self.built[target] = made
        return built

    def _image(self, chip: Chip) -> ShaderImage:
        """The program's machine code for a chip: the file's, or compiled now where it was no file of machine code."""
        if not self._images:
            from headwater.runtime.vliw.images import image_of

            return image_of(self._text, chip, self._filename)
        return next((image for image in self._images if image.target == chip.target), self._images[0])


class IlKernel(Kernel):
    """``main`` of an IL program: ``kernel[domain](arrays…)`` runs it, as an OpenCL C kernel is run.

    The domain of a pixel shader is (width, height); a compute shader's is its number of work-items, its work-group the
    one that it declares. Arrays go in the order of ``info`` or by name; outputs are written in place.
    """

    def __init__(self, program: IlProgram) -> None:
        from headwater.il.translation import KERNEL

        self.program = program
        self.name = ENTRY
        self.parameters = program.translation.parameters
        self.inner = program.opencl[KERNEL]
        self.info = KernelInfo(ENTRY, tuple(_argument(p) for p in self.parameters), program.translation.group)

    @property
    def sizes_source(self) -> str:
        """What tells a command line how many dimensions a launch has: OpenCL C that asks for as many."""
        return f"void {ENTRY}() {{ get_global_id({self.dimensions - 1}); }}"

    @property
    def dimensions(self) -> int:
        """Of a launch's domain: those that a group has, and two of pixels."""
        group = self.program.translation.group
        return 2 if group is None else max(d for d in range(1, 4) if d == 1 or group[d - 1] > 1)

    def __getitem__(self, key: Any) -> Launcher:
        inner = self.inner[key]

        def launch(*args: Any, **options: Any) -> Event:
            named = {p.name: options.pop(p.name) for p in self.parameters if p.name in options}
            step = self.program.translation.step
            if step is not None:
                self._warn_of_step(step, options)
            queue = options.get("queue")
            if isinstance(queue, Queue) and any(map(_has_gaps, (*args, *named.values()))):
                queue.wait()  # what its launches write to these arrays is copied now
            try:
                return inner(*self.arguments(args, named), **options)
            except LimitError as error:
                if step is not None and error.span is None:
                    error.span = Span(self.program.filename, step.later)
                    error.message += f", and {step}"
                raise

        launch.__name__ = launch.__qualname__ = f"{self.name}[{key}]"
        return with_simulate(launch, self.program.opencl.default_device)

    def _warn_of_step(self, step: StepNeeded, options: dict[str, Any]) -> None:
        """Say, in a checked run on the cpu, what the program relies on: the chips' checks see whether that happens."""
        from headwater.runtime.checking import check_wanted

        check = options.get("check")
        device = options.get("device")
        target = resolve(device) if device is not None else current() or self.program.opencl.default_device
        if target.kind == "cpu" and (check_wanted() if check is None else check):
            warnings.warn(
                f"{self.program.filename}:{step.later}: {step}: correct only if a wavefront of 64 runs in lockstep, "
                "as here and on the chips; a checked run on hd5870 reports whether they do",
                stacklevel=3,
            )

    def __call__(self, *args: Any, **options: Any) -> Event:
        group = self.program.translation.group
        domain = "width, height"
        if group is not None:  # a compute shader: work-items, in whole groups
            sizes = [f"{256 // group[0] * group[0] or group[0]}", *(str(4 * size) for size in group[1:])]
            domain = ", ".join(sizes[: self.dimensions]) + ("," if self.dimensions == 1 else "")
        raise LaunchError(
            f"{self.program.filename} is an IL program and needs a domain, its number of "
            + ("pixels" if group is None else f"work-items, in groups of {group}"),
            hint=f"program.{ENTRY}[({domain})](…)",
        )

    def arguments(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """The translated kernel's arguments: every array with its size behind it."""
        names = [p.name for p in self.parameters]
        twice = [name for name in names[: len(args)] if name in named]
        if twice:
            raise LaunchError(f"argument {twice[0]!r} of {self.name} is given twice")
        values = dict(zip(names, args, strict=False)) | named
        if len(args) > len(names) or len(values) < len(names):
            raise count_error(self.info, len(args) + len(named))
        made: list[Any] = []
        for parameter in self.parameters:
            made += _lanes_and_size(parameter, values[parameter.name])
        return made

    def __repr__(self) -> str:
        return f"<Kernel {prototype(self.info)}>"


def _argument(parameter: Parameter) -> ArgInfo:
    access = "read" if parameter.role in ("resource", "constant") else "read_write"
    if parameter.role == "output":
        access = "write"
    kind = _TYPES[parameter.role]
    return ArgInfo(parameter.name, "buffer", kind, 8, access, 4 if kind == "uint*" else _ELEMENT_BYTES, kind)  # type: ignore[arg-type]


def _has_gaps(value: object) -> bool:
    """Whether it is an array that has to be copied to be contiguous."""
    return isinstance(value, np.ndarray) and not value.flags.c_contiguous


def _lanes_and_size(parameter: Parameter, value: Any) -> tuple[Any, tuple[int, int, int, int]]:
    """An array as 32-bit lanes, and the four numbers that the kernel wants to know of it."""
    name = parameter.name
    written = parameter.role not in ("resource", "constant")
    if not isinstance(value, (np.ndarray, Stream)):
        if written:
            raise LaunchError(f"{name} is written: pass an array or a stream, not a {type(value).__name__}")
        value = _numbers(name, value)
    dtype = value.dtype
    if dtype.kind not in "fiuc" or dtype.itemsize not in (4, 8):
        raise LaunchError(
            f"{name} has elements of {dtype}; IL's lanes have 32 bits", hint="convert with .astype('f4') or 'i4'"
        )
    per_number = dtype.itemsize // 4
    nbytes = int(value.nbytes)
    if parameter.role in ("constant", "global"):
        if nbytes % _ELEMENT_BYTES:
            raise LaunchError(f"{name} has {nbytes} bytes; its elements have four lanes, {_ELEMENT_BYTES} bytes each")
        if nbytes < parameter.elements * _ELEMENT_BYTES:
            raise LaunchError(f"{name} has {nbytes // _ELEMENT_BYTES} elements, the program reads {parameter.elements}")
        size = (nbytes // _ELEMENT_BYTES, 1, 4, nbytes)
    else:
        size = (*_extent(parameter, value.shape, per_number), nbytes)
    if isinstance(value, Stream):
        return Stream(value.device, (nbytes // 4,), np.uint32, value.buffer), size
    if _has_gaps(value):
        if written:
            raise LaunchError(f"{name} is written and must be C-contiguous", hint="pass np.ascontiguousarray(…)")
        value = np.ascontiguousarray(value)
    return value.reshape(-1).view(np.uint32), size


def _extent(parameter: Parameter, shape: tuple[int, ...], per_number: int) -> tuple[int, int, int]:
    """Width, height and lanes of a texture, output or view."""
    name = parameter.name
    if parameter.role == "uav":
        dims = shape if len(shape) == 3 else (*shape, 1) if len(shape) == 2 else (1, *shape, 1)
    elif parameter.dimensions == 1:
        if len(shape) == 3 and shape[0] == 1:
            shape = shape[1:]
        if len(shape) not in (1, 2):
            raise LaunchError(f"{name} has one dimension: pass (width,) or (width, lanes), not {shape}")
        dims = (1, *shape) if len(shape) == 2 else (1, *shape, 1)
    else:
        if len(shape) == 1:
            shape = (1, *shape)
        if len(shape) not in (2, 3):
            raise LaunchError(f"{name} has two dimensions: pass (height, width) or (height, width, lanes), not {shape}")
        dims = (*shape, 1) if len(shape) == 2 else shape
    height, width, numbers = dims[0], dims[1], dims[2]
    lanes = numbers * per_number
    if lanes not in (1, 2, 4):
        raise LaunchError(f"an element of {name} has {lanes} lanes", hint="1, 2 or 4 lanes of 32 bits")
    return width, height, lanes


def _numbers(name: str, value: Any) -> np.ndarray[Any, Any]:
    """Plain Python numbers as 32-bit lanes: whole ones as int or uint, others as float, each by itself; constants are
    padded to four. LaunchError for anything else, and for whole numbers of more than 32 bits."""
    try:
        items = np.array(value, dtype=object).reshape(-1).tolist()
    except (ValueError, TypeError):
        items = []
    lanes = np.zeros(-(-len(items) // 4) * 4, np.uint32)
    for at, number in enumerate(items):
        if isinstance(number, (int, np.integer)) and not isinstance(number, bool):
            if not -(1 << 31) <= number < 1 << 32:
                raise LaunchError(f"{name} takes numbers of 32 bits, not {number}")
            lanes[at] = int(number) & 0xFFFFFFFF
        elif isinstance(number, (float, np.floating)):
            with np.errstate(over="ignore"):
                lanes.view(np.float32)[at] = number
        else:
            items = []
            break
    if not items:
        raise LaunchError(f"{name} takes an array, a stream or a list of numbers, not a {type(value).__name__}")
    return lanes
