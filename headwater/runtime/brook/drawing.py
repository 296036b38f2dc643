"""Input: passes of pixel shaders. Output: a call that runs them on an emulated R600 or R700 with a kernel's arguments.

Elements of one, two and four scalars are texels where they are. Structs, elements of three components, streams that are
resized or parts of others, and scatter arrays are brought to memory that a shader can use, and back, as Brook+'s
run-time did it with its own copies.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array, address, aligned_bytes
from headwater.brook.model import Arg, BrookModule, ElementType, Leaf, Parameter, leaves
from headwater.brook.pixel_support import ADDRESS_TRANSLATION
from headwater.emulate.vliw.bindings import Format
from headwater.emulate.watch import unwritten
from headwater.errors import UsageError
from headwater.runtime.brook.arguments import Element, declaration
from headwater.runtime.brook.pixels import Layout, Pass, Surface
from headwater.runtime.checking import check_wanted
from headwater.runtime.host.memory import HostBuffer
from headwater.runtime.vliw.device import LoadedShader, bound_views, domain_sizes, grid_sizes, load
from headwater.runtime.vliw.launch import ARENA, Arena, Inputs, View

if TYPE_CHECKING:
    from headwater.il.from_llvm import IlKernel
    from headwater.isa.vliw.image import ShaderImage
    from headwater.runtime.events import Event
    from headwater.runtime.interface import Queue
    from headwater.runtime.vliw.device import VliwDevice

_ELEMENT_BYTES = 16
"""Of the global buffer and of constant buffers."""
_NO_TEXEL = 3
"""Components that no texture or output has."""


class Shaders:
    """The pixel shaders of a module, compiled for a device: two ways, see ``ADDRESS_TRANSLATION``. ``source``: the
    Brook+ text."""

    def __init__(self, module: BrookModule, source: str, device: VliwDevice, options: str) -> None:
        self.module = module
        self.source = source
        self.device = device
        self.options = options
        self._kernels: dict[tuple[str, bool], IlKernel] = {}
        self._loaded: dict[tuple[str, bool], tuple[LoadedShader, IlKernel]] = {}

    def loaded(self, symbol: str, translated: bool) -> tuple[LoadedShader, IlKernel]:
        """A shader of passes that are expected, ready to be run, and what it was made of. SourceError for what the chip
        has no instructions for."""
        found = self._loaded.get((symbol, translated))
        if found is None:
            from headwater.runtime.vliw.images import image_of

            kernel = self._kernels[symbol, translated]
            kernel.require(f"{self.module.filename}.cl", self.module.source)
            image = self._edited(symbol, translated) or image_of(kernel.text, self.device.chip, f"{symbol}.il")
            lines = tuple(tuple(self._line(kernel, line) for line in one) for one in image.lines)
            image = replace(image, name=symbol, abi="headwater", lds_bytes=kernel.local_bytes, lines=lines)
            shader = load(image, self.device.chip, self.module.filename, self.device)
            shader.owner.program_source = self.source
            found = self._loaded[symbol, translated] = shader, kernel
        return found

    def _edited(self, symbol: str, translated: bool) -> ShaderImage | None:
        """A shader's machine code that was changed. UsageError where it is not that of the two ways."""
        image = self.device.edited_image(symbol)
        if image is not None and translated:
            raise UsageError(
                f"the changed code of {symbol} has streams as they lie in textures, and these are longer than one row",
                hint=f"streams of up to {self.device.stream_texels} elements, or of two dimensions",
            )
        return image

    def expect(self, passes: Sequence[Pass]) -> None:
        """Compile the shaders of passes together, and no others: a file has two for each kernel of Brook+, and most
        programs call few of them."""
        from headwater.il import from_llvm

        wanted = {(one.entry.symbol, one.translated): None for one in passes}
        for translated in (False, True):
            only = tuple(s for s, way in wanted if way is translated and (s, way) not in self._kernels)
            if only:
                options = f"-D {ADDRESS_TRANSLATION} {self.options}" if translated else self.options
                name = f"{self.module.filename}.cl"
                made = from_llvm.kernels(self.module.source, self.device.chip, name, options, only=only).kernels
                self._kernels |= {(symbol, translated): kernel for symbol, kernel in made.items()}

    def fit(self, passes: Sequence[Pass]) -> bool:
        """Whether the one global buffer is enough: a scatter array is in it, or tables of built-in functions."""
        return not any(
            self._kernels[one.entry.symbol, one.translated].data
            for one in passes
            if any(arg.role == "scatter" for arg in one.entry.args)
        )

    def _line(self, kernel: IlKernel, line: int) -> int:
        """The line of Brook+ that a line of IL came from; 0 if it is not known."""
        line = kernel.lines[line - 1] if 0 < line <= len(kernel.lines) else 0
        return self.module.line_map[line - 1] if 0 < line <= len(self.module.line_map) else 0


class Drawing:
    """Passes with all that does not change from call to call. Called with a parameter's memory or value each."""

    def __init__(
        self, shaders: Shaders, passes: Sequence[Pass], parameters: Sequence[Parameter], check: bool | None = None
    ) -> None:
        self.check = check
        self.passes = passes
        self.structs = shaders.module.structs
        self.numbers = {p.name: number for number, p in enumerate(parameters)}
        self.types = {p.name: p.type for p in parameters}
        self.elements = {p.name: Element(p.type, self.structs) for p in parameters}
        self.labels = {p.name: f"`{declaration(p)}`" for p in parameters}
        self.is_reduction = any(p.kind == "reduce" for p in parameters)
        self._shaders = [shaders.loaded(one.entry.symbol, one.translated) for one in passes]

    def __call__(self, args: Sequence[Any], queue: Queue | None = None, time_limit: float | None = None) -> Event:
        """Run; see `headwater.runtime.interface.Prepared`."""
        if queue is not None and self._copies:
            queue.wait()  # for what is copied now
            queue = None
        call = _Call(self, args)
        event: Event | None = None
        for number, (one, (shader, kernel)) in enumerate(zip(self.passes, self._shaders, strict=True)):
            views = call.views(one, kernel.slots, is_last=number + 1 == len(self.passes))
            arena = Arena()
            if kernel.data:
                views["cb0"] = _tables(kernel.data, arena)
            bound = bound_views(views)
            sizes = [domain_sizes(*rectangle) for rectangle in one.rectangles]
            for size in sizes or [grid_sizes(shader.image, (one.groups,), None)]:
                if event is not None and queue is None:
                    event.wait()
                others = ARENA if kernel.data else None
                launch = shader.launch(
                    size, bound, {}, others, check=check_wanted() if self.check is None else self.check
                )
                event = launch((Inputs(bound, arena),), queue, time_limit)
        assert event is not None
        if call.finish:
            event.wait()
            for end in call.finish:
                end()
        return event

    @functools.cached_property
    def _copies(self) -> bool:
        """Whether memory is brought to another form before and after the passes."""
        if self.is_reduction and len(self.passes) > 1:
            return True
        for one in self.passes:
            for arg in one.entry.args:
                if arg.role in ("input", "gather", "output") and not self.is_direct(arg.param, one.surfaces[arg.param]):
                    return True
                if arg.role == "scatter" and self.elements[arg.param].bytes != _ELEMENT_BYTES:
                    return True
        return False

    def is_direct(self, param: str, surface: Surface) -> bool:
        """Whether a parameter's elements are texels where they lie."""
        type_ = self.types[param]
        return surface.place is None and not type_.is_struct and type_.width != _NO_TEXEL

    def leaves(self, param: str) -> list[Leaf]:
        """The textures or outputs that a parameter is."""
        return leaves(self.types[param], self.structs)


class _Call:
    """One call: what its shaders are bound to, and what is to be done when they have ended."""

    def __init__(self, drawing: Drawing, args: Sequence[Any]) -> None:
        self.drawing = drawing
        self.args = args
        self.finish: list[Callable[[], None]] = []
        self.textures: dict[str, list[View]] = {}

    def views(self, one: Pass, slots: Sequence[int], *, is_last: bool) -> dict[str, View]:
        """What a pass is bound to, by IL's names. What passes of a reduction write is read by the next ones."""
        views = {"cb1": View(self._arguments(one, slots))}
        written: list[View] = []
        for arg in one.entry.args:
            if arg.role == "constant" and arg.slot >= 0:
                views[f"cb{arg.slot}"] = View(_widened(self._elements(arg.param)))
            elif arg.role == "scatter":
                views["g"] = self._global(arg.param)
            elif arg.role in ("input", "gather"):
                surface = one.surfaces[arg.param]
                if arg.param not in self.textures:
                    self.textures[arg.param] = self._read(arg.param, surface)
                width, height = surface.layout.width, surface.layout.height
                for k, view in enumerate(self.textures[arg.param]):
                    views[f"i{arg.slot + k}"] = replace(view, width=width, height=height)
            elif arg.role == "output":
                written = self._written(
                    arg.param, one.surfaces[arg.param], is_kept=not self.drawing.is_reduction or is_last
                )
                views |= {f"o{arg.slot + k}": view for k, view in enumerate(written)}
        if self.drawing.is_reduction:
            self.textures = {arg.param: written for arg in one.entry.args if arg.role == "input"}
        return views

    def _memory(self, param: str) -> Array:
        value = self.args[self.drawing.numbers[param]]
        memory = value.memory if isinstance(value, HostBuffer) else np.asarray(value)
        return memory.reshape(-1).view(np.uint8)

    def _elements(self, param: str) -> Array:
        """A parameter's elements: one dimension of structs, or two of scalars."""
        element = self.drawing.elements[param]
        memory = self._memory(param).view(element.dtype)
        return memory if element.is_struct else memory.reshape(-1, *(element.axis or (1,)))

    def _view(self, param: str, texels: Array, type_: ElementType, layout: Layout) -> View:
        kind, bits = texels.dtype.kind, min(32, 8 * texels.dtype.itemsize)
        lanes = type_.lanes + (type_.lanes == _NO_TEXEL)
        label = self.drawing.labels[param]
        return View(texels, Format(lanes, bits, kind), layout.width, layout.height, dimensions=2, label=label)

    def _read(self, param: str, surface: Surface) -> list[View]:
        """A stream or array as textures."""
        if self.drawing.is_direct(param, surface):
            texels = self._memory(param).view(self.drawing.elements[param].dtype)
            return [self._view(param, texels, self.drawing.types[param], surface.layout)]
        elements = self._elements(param)
        if surface.place is not None:
            elements = elements[surface.place]
        views = []
        for path, type_ in self.drawing.leaves(param):
            texels = _texels(len(elements), type_)
            texels[:, : type_.width] = _part(elements, path)
            views.append(self._view(param, texels, type_, surface.layout))
        return views

    def _written(self, param: str, surface: Surface, *, is_kept: bool) -> list[View]:
        """A stream as outputs; ``is_kept``: they are the parameter itself, not what a later pass reads."""
        if is_kept and self.drawing.is_direct(param, surface):
            return self._read(param, surface)
        parts = self.drawing.leaves(param)
        made = [_texels(surface.layout.count, type_) for _, type_ in parts]
        if is_kept:
            self.finish.append(lambda: self._bring_back(param, surface, made))
        return [
            self._view(param, texels, type_, surface.layout) for texels, (_, type_) in zip(made, parts, strict=True)
        ]

    def _bring_back(self, param: str, surface: Surface, made: Sequence[Array]) -> None:
        elements = self._elements(param)
        unwritten.written(address(elements))
        where = slice(None) if surface.place is None else surface.place
        for texels, (path, type_) in zip(made, self.drawing.leaves(param), strict=True):
            _part(elements, path)[where] = texels[:, : type_.width]

    def _global(self, param: str) -> View:
        """A scatter array as the global buffer, each element in one of 128 bits."""
        label = self.drawing.labels[param]
        if self.drawing.elements[param].bytes == _ELEMENT_BYTES:
            return View(self._memory(param), stride=_ELEMENT_BYTES, label=label)
        elements = self._elements(param)
        wide = _widened(elements)
        unwritten.written(address(elements))
        self.finish.append(lambda: _narrow(wide, elements))
        return View(wide, stride=_ELEMENT_BYTES, label=label)

    def _arguments(self, one: Pass, slots: Sequence[int]) -> Array:
        """Constant buffer 1."""
        own = [arg for arg in one.entry.args if arg.slot < 0]
        packed = np.zeros(max([_ELEMENT_BYTES, *(slot + 2 * _ELEMENT_BYTES for slot in slots)]), np.uint8)
        for arg, slot in zip(own, slots, strict=True):
            value = self._value(arg) if arg.role == "value" else np.array(one.numbers[arg.role, arg.param], np.int32)
            data = np.frombuffer(value.tobytes(), np.uint8)
            packed[slot : slot + len(data)] = data
        return packed

    def _value(self, arg: Arg) -> Array:
        if arg.member:
            return _part(self._elements(arg.param), arg.member)
        return np.array(self.args[self.drawing.numbers[arg.param]], self.drawing.elements[arg.param].dtype)


def _tables(data: bytes, arena: Arena) -> View:
    """Constant buffer 0, which tells where the program's own constants are."""
    memory = aligned_bytes(-(-len(data) // 4) * 4)
    memory[: len(data)] = np.frombuffer(data, np.uint8)
    head = np.zeros((5, 4), np.uint32)
    head[4, 0] = arena.add("the program's constants", memory, writable=False)  # cb0[4].x: `headwater.il.from_llvm`
    return View(head)


def _texels(count: int, type_: ElementType) -> Array:
    """Memory for a texture: three components take four lanes."""
    return np.zeros((count, 4 if type_.width == _NO_TEXEL else type_.width), type_.scalar_dtype)


def _part(elements: Array, path: Sequence[str]) -> Array:
    """A member of elements, with an axis for its components."""
    for name in path:
        elements = elements[name]
    return elements if elements.ndim > 1 else elements[:, None]


def _widened(elements: Array) -> Array:
    """Scalars as words in elements of 128 bits."""
    wide = np.zeros((len(elements), 4), np.uint32)
    if elements.itemsize < wide.itemsize:
        elements = elements.astype(np.int32)
    held = np.ascontiguousarray(elements).view(np.uint32)
    wide[:, : held.shape[1]] = held
    return wide


def _narrow(wide: Array, elements: Array) -> None:
    """The way back."""
    lanes = elements.shape[1] * max(1, elements.itemsize // wide.itemsize)
    held = np.ascontiguousarray(wide[:, :lanes])
    elements[...] = held.astype(elements.dtype) if elements.itemsize < wide.itemsize else held.view(elements.dtype)
