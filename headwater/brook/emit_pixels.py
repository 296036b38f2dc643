"""Input: a checked kernel. Output: the OpenCL C of pixel shaders for R600 and R700.

The body is printed as for buffers; only how elements are reached differs. Input streams and gather arrays are textures,
out streams colour outputs, a scatter array is the global buffer, constant arrays are constant buffers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headwater.brook import ast
from headwater.brook.context import KernelInfo
from headwater.brook.emit_body import ASSIGN, COMMA, BodyEmitter, Code, Lines, Storage, array_symbol
from headwater.brook.emit_kernels import Draft, KernelEmitter
from headwater.brook.emit_text import array_extents, row_major, shape_name
from headwater.brook.model import Arg, Entry, Leaf, Role, leaves
from headwater.brook.naming import Names
from headwater.brook.pixel_support import ADDRESS_TRANSLATION, PixelSupport, words
from headwater.brook.types import VOID, Symbol, Type

MOST_OUTPUTS = 8
"""Colour outputs of a pixel shader (AMD, R600 ISA, EXPORT)."""
FIRST_CONSTANTS = 2
"""The first constant buffer for arrays: those before it hold sizes and arguments."""
_PLANE = 2


@dataclass
class PixelStorage(Storage):
    """How elements lie in the global buffer, each in one of 128 bits, and in shared memory, where a work-item has
    ``stride`` elements of its own."""

    support: PixelSupport
    shared: str
    stride: int

    def has_places(self, type_: Type) -> bool:
        return False

    def load(self, pointer: str, index: str, type_: Type, space: str = "__global") -> Code:
        if pointer == self.shared:
            return Code(f"{self.support.shared_read(type_.element)}({self.stride}, {index})")
        return Code(f"{self.support.global_read(type_.element)}({index})")

    def store(self, pointer: str, index: str, type_: Type, value: str) -> str:
        if pointer == self.shared:
            # LLVM finds that the difference, the place in the work-item's own part, is constant.
            own = f"4 * ({index} - {self.stride} * {self.support.use('__hw_vliw_thread')}())"
            write = self.support.use("__hw_vliw_lds_write")
            return f"{write}({4 * self.stride}, {own}, {words(type_.element, value)})"
        return f"{self.support.write('global_write', type_.element.lanes)}({index}, {words(type_.element, value)})"


class PixelBodyEmitter(BodyEmitter):
    """Prints the body of a kernel whose arrays are textures."""

    support: PixelSupport
    stored = frozenset({"scatter", "shared"})
    thread = "__hw_vliw_thread()"
    sync = "__hw_vliw_sync()"

    def __init__(self, kernel: KernelInfo, names: Names, support: PixelSupport, storage: Storage, *others: Any) -> None:
        shared, stride = "", 0
        for symbol in kernel.shared:
            shared, stride = symbol.c_name, symbol.sizes[0] // kernel.group_size
        super().__init__(kernel, names, support, PixelStorage(storage.structs, support, shared, stride), *others)
        if kernel.group_size:
            for name in ("__hw_vliw_thread", "__hw_vliw_sync"):
                support.use(name)

    def _read(self, node: ast.Index) -> Code:
        symbol = array_symbol(node)
        if symbol.kind == "constant":
            place, setup = self._place(node)
            code = f"{self.support.constant(symbol.type.element)}({symbol.c_name}, {_size(symbol)}, {place})"
        elif symbol.kind == "gather":
            at, setup = self._coordinates(node, symbol)
            code = f"{self.support.texel(symbol.type.element)}({symbol.c_name}, {at})"
        elif symbol.kind == "shared":
            place, setup = self._place(node)
            code = self.storage.load(symbol.c_name, place, symbol.type).text
        else:
            return super()._read(node)
        return Code(", ".join([*setup, code]), COMMA) if setup else Code(code)

    def _passed_on(self, symbol: Symbol) -> list[str]:
        if symbol.kind != "gather":
            return super()._passed_on(symbol)
        return [symbol.c_name, _shift_name(symbol), shape_name(symbol)]

    def _coordinates(self, node: ast.Index, symbol: Symbol) -> tuple[str, list[str]]:
        """Where in its texture an element is, and what must run before; the sampler confines what is outside."""
        if symbol.rank > _PLANE:
            place, setup = self._place(node)
            return f"{self.support.use('hw_address')}({_shift_name(symbol)}, {place})", setup
        if len(node.indices) < symbol.rank or symbol.rank == _PLANE:
            if len(node.indices) < symbol.rank:
                (y, x), setup = self.index_of_streams(node)
                parts = [f"(float){x}", f"(float){y}"]
            else:
                setup, parts = [], [self._coordinate(index) for index in reversed(node.indices)]
            return f"(float2)({', '.join(parts)})", setup
        (index,) = node.indices
        suffix = f"_{index.type.base}" if index.type.base in {"float", "uint"} else ""
        extent = f"{shape_name(symbol)}.x"
        text = self.expression(index).at(ASSIGN)
        return f"{self.support.use(f'hw_line{suffix}')}({_shift_name(symbol)}, {text}, {extent})", []

    def _coordinate(self, index: ast.Expression) -> str:
        code = self.expression(index)
        return code.at(ASSIGN) if index.type.base == "float" else f"(float)({code.text})"

    def _place(self, node: ast.Index) -> tuple[str, list[str]]:
        """The row-major place of an element, confined to the array."""
        symbol = array_symbol(node)
        extents = array_extents(symbol)
        if len(node.indices) < symbol.rank:
            indices, setup = self.index_of_streams(node)
            clamped = [f"{self.support.use('hw_at')}({i}, {n})" for i, n in zip(indices, extents, strict=True)]
            return row_major(clamped, extents), setup
        return row_major([self.clamped(i, n) for i, n in zip(node.indices, extents, strict=True)], extents), []


class PixelEmitter(KernelEmitter):
    """Prints one kernel, and the pixel shaders that run it."""

    support: PixelSupport
    body_emitter = PixelBodyEmitter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.shared = []  # it is no variable

    def body(self) -> Lines:
        self.kernel.c_name = self.module_names.fresh(f"{self.kernel.name}_body")
        return self.function(self.kernel.c_name, {})

    def _body_parameter(self, symbol: Symbol) -> str:
        match symbol.kind:
            case "gather":
                # The number of its texture is an argument of its own, so that it is a constant once all is inlined.
                return f"const int {symbol.c_name}, const int {_shift_name(symbol)}, const int4 {shape_name(symbol)}"
            case "scatter":
                return f"const int4 {shape_name(symbol)}"
            case "constant":
                return f"const int {symbol.c_name}"
        return super()._body_parameter(symbol)

    def _array_arguments(self, symbol: Symbol, shape: str) -> list[str]:
        return [shape] if symbol.kind == "scatter" else [symbol.c_name, _shift_name(symbol), shape]

    def _struct_argument(self, symbol: Symbol) -> str:
        return symbol.c_name

    # ---- the entries

    def entries(self) -> list[tuple[Entry, Lines]]:
        """One pixel shader, or several if there are more outs than outputs; none if a chip cannot run it so."""
        kernel = self.kernel
        if kernel.result != VOID or any(not p.stream for p in self.outputs) or not (self.outputs or kernel.scatters):
            return []
        if kernel.group_size:
            return [] if self.outputs else [self._work_groups()]
        passes = self._passes(self.outputs)
        if passes is None or (len(passes) > 1 and kernel.scatters):
            return []  # a second pass would scatter again, and may read what the first one wrote
        return [self._map(outputs) for outputs in passes]

    def _passes(self, outputs: list[Symbol]) -> list[list[Symbol]] | None:
        passes: list[list[Symbol]] = [[]]
        taken = 0
        for symbol in outputs:
            count = len(self._leaves(symbol))
            if count > MOST_OUTPUTS:
                return None
            if taken + count > MOST_OUTPUTS:
                passes.append([])
                taken = 0
            passes[-1].append(symbol)
            taken += count
        return passes

    def _start_pixel(self) -> Draft:
        """An entry with what all have: resources by number, values, shapes."""
        entry = Draft(self.module_names.fresh(f"{self.kernel.name}_pixel"), "pixel", [], [], [])
        texture, buffer = 0, FIRST_CONSTANTS
        for p in self.kernel.parameters:
            if p.kind in {"input", "gather"}:
                self._resource(entry, p, texture)
                if p.kind == "gather":
                    self.argument(entry, "shift", _shift_name(p), p, "const int")
                    entry.lines.append(f"const int {p.c_name} = {texture};")
                    self.argument(entry, "shape", shape_name(p), p, "const int4")
                texture += len(self._leaves(p))
            elif p.kind == "scatter":
                self._resource(entry, p, 0)
                self.argument(entry, "shape", shape_name(p), p, "const int4")
            elif p.kind == "constant":
                self._resource(entry, p, buffer)
                entry.lines.append(f"const int {p.c_name} = {buffer};")
                buffer += 1
            elif p.kind == "value":
                self._value(entry, p)
        return entry

    def _resource(self, entry: Draft, symbol: Symbol, slot: int) -> None:
        """What is bound to the shader under a number."""
        role: Role = "output" if symbol.kind == "reduce" else symbol.kind  # type: ignore[assignment]
        entry.args.append(Arg(role, symbol.c_name, symbol.name, symbol.type.name, slot=slot))

    def _leaves(self, symbol: Symbol) -> list[Leaf]:
        return leaves(symbol.type.element, self.storage.structs)

    def _value(self, entry: Draft, symbol: Symbol) -> None:
        """A value; a struct's members are passed one by one."""
        if not symbol.type.is_struct:
            self.argument(entry, "value", symbol.c_name, symbol, f"const {symbol.type.name}")
            return
        names, users = self.entry_names(), Names()
        entry.lines.append(f"{symbol.type.name} {symbol.c_name};")
        for path, leaf in self._leaves(symbol):
            name = names.fresh("_".join([symbol.c_name, *path]))
            self.argument(entry, "value", name, replace(symbol, type=Type(leaf.base, leaf.width)), f"const {leaf.name}")
            entry.args[-1] = replace(entry.args[-1], member=path)
            member = ".".join(users.user(part) for part in path)
            entry.lines.append(f"{symbol.c_name}.{member} = {name};")

    def _map(self, outputs: list[Symbol]) -> tuple[Entry, Lines]:
        entry = self._start_pixel()
        names = self.entry_names()
        at = names.fresh("at")
        if self.inputs:
            entry.lines.append(f"const float2 {at} = {self.support.use('hw_window')}();")
        position = ""
        if self.kernel.uses_position:
            position = names.fresh("position")
            origin = names.fresh("origin")
            entry.lines.append(f"const int4 {position} = {self._pixel(entry, names)} + {origin};")
            self.argument(entry, "origin", origin, None, "const int4")
        entry.lines += [self.zeroed(p) for p in self.outputs]
        inputs = {arg.param: arg.slot for arg in entry.args if arg.role == "input"}
        call = self.call(lambda p: f"{self.support.texel(p.type.element)}({inputs[p.name]}, {at})", position)
        entry.lines.append(f"{call};")
        slot = 0
        for p in outputs:
            slot = self._output(entry, slot, p, f"{p.c_name}_value")
        return self.finish(entry)

    def _work_groups(self) -> tuple[Entry, Lines]:
        """Compute mode, for R700: linear work-items in groups. Surplus ones run too, as all must reach the barriers."""
        entry = self._start_pixel()
        names, use = self.entry_names(), self.support.use
        shift, domain, origin, i, last, at = (
            names.fresh(name) for name in ("shift", "domain", "origin", "i", "last", "at")
        )
        self.argument(entry, "shift", shift, None, "const int")
        self.argument(entry, "domain", domain, None, "const int4")
        self.argument(entry, "origin", origin, None, "const int4")
        group = self.kernel.group_size
        entry.lines += [
            f"const int {i} = {use('__hw_vliw_group')}() * {group} + {use('__hw_vliw_thread')}();",
            f"const int {last} = min({i}, {domain}.x * {domain}.y * {domain}.z * {domain}.w - 1);",
        ]
        if self.inputs:
            place = f"{use('hw_unravel')}({last}, {domain})"
            entry.lines += [
                f"#ifdef {ADDRESS_TRANSLATION}",
                f"const float2 {at} = {use('hw_address')}({shift}, {last});",
                "#else",
                f"const float2 {at} = convert_float2({place}.xy);",
                "#endif",
            ]
        inputs = {arg.param: arg.slot for arg in entry.args if arg.role == "input"}
        position = f"{use('hw_unravel')}({i}, {domain}) + {origin}"
        call = self.call(lambda p: f"{self.support.texel(p.type.element)}({inputs[p.name]}, {at})", position)
        entry.lines.append(f"{call};")
        return self.finish(entry, group)

    def _pixel(self, entry: Draft, names: Names) -> str:
        shift, domain = names.fresh("shift"), names.fresh("domain")
        self.argument(entry, "shift", shift, None, "const int")
        self.argument(entry, "domain", domain, None, "const int4")
        return f"{self.support.use('hw_pixel')}({shift}, {domain})"

    def _output(self, entry: Draft, slot: int, symbol: Symbol, value: str) -> int:
        """Write a value to the outputs of a parameter, from ``slot`` on; the first one behind them."""
        self._resource(entry, symbol, slot)
        names = Names()
        for path, leaf in self._leaves(symbol):
            place = ".".join([value, *(names.user(part) for part in path)])
            entry.lines.append(f"{self.support.write('output', leaf.lanes)}({slot}, {words(leaf, place)});")
            slot += 1
        return slot


class PixelReductionEmitter(PixelEmitter):
    """Prints one reduction, and the pixel shader of a pass, which folds a tile to an element."""

    def entries(self) -> list[tuple[Entry, Lines]]:
        source = self.inputs[0]
        result = next(p for p in self.kernel.parameters if p.kind == "reduce")
        if len(self._leaves(source)) > MOST_OUTPUTS:
            return []
        entry = self._start_pixel()
        names, use = self.entry_names(), self.support.use
        position = self._pixel(entry, names)
        tile, corner, value, at, shift, x, y, z, w = (
            names.fresh(name) for name in ("tile", "corner", "value", "at", "source", "x", "y", "z", "w")
        )
        self.argument(entry, "tile", tile, source, "const int4")
        self.argument(entry, "shift", shift, source, "const int")
        self.argument(entry, "shape", shape_name(source), source, "const int4")
        texel = self.support.texel(source.type.element)
        index = f"{use('hw_index')}({corner} + (int4)({{}}), {shape_name(source)})"
        address = f"{use('hw_address')}({shift}, {index})"
        fold = self.call(lambda _: f"{texel}(0, {at})", results=lambda _: f"&{value}")
        entry.lines += [
            f"const int4 {corner} = {position} * {tile};",
            f"#ifdef {ADDRESS_TRANSLATION}",
            f"{source.type.name} {value} = {texel}(0, {address.format('0, 0, 0, 0')});",
            f"for (int {w} = 0; {w} < {tile}.w; ++{w})",
            f"for (int {z} = 0; {z} < {tile}.z; ++{z})",
            f"for (int {y} = 0; {y} < {tile}.y; ++{y})",
            f"for (int {x} = ({y} + {z} + {w} == 0); {x} < {tile}.x; ++{x}) {{",
            f"    const float2 {at} = {address.format(f'{x}, {y}, {z}, {w}')};",
            f"    {fold};",
            "}",
            "#else",
            f"{source.type.name} {value} = {texel}(0, (float2)((float){corner}.x, (float){corner}.y));",
            f"for (int {y} = 0; {y} < {tile}.y; ++{y})",
            f"for (int {x} = ({y} == 0); {x} < {tile}.x; ++{x}) {{",
            f"    const float2 {at} = (float2)((float)({corner}.x + {x}), (float)({corner}.y + {y}));",
            f"    {fold};",
            "}",
            "#endif",
        ]
        self._output(entry, 0, result, value)
        return [self.finish(entry)]


def _shift_name(symbol: Symbol) -> str:
    """The name of the argument that holds how an array's texture is rolled up."""
    return f"{symbol.c_name}_shift"


def _size(symbol: Symbol) -> int:
    count = 1
    for size in symbol.sizes:
        count *= size
    return count
