"""Input: a checked kernel. Output: the OpenCL C of its body function and of its ``__kernel`` entries.

The body becomes a function on one element; every entry finds its element, loads the inputs, calls the body and stores
the outputs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headwater.brook.affine import (
    EXACT_FLOAT,
    Affine,
    Between,
    ClippedIndex,
    PositionIndex,
    TiledLoop,
    position_indices,
    tiled_loops,
    whole_domain,
)
from headwater.brook.conditions import Test
from headwater.brook.context import KernelInfo
from headwater.brook.emit_body import POSITION, POSTFIX, BodyEmitter, Lines, Storage
from headwater.brook.emit_text import offset_text, shape_name, tile_name
from headwater.brook.model import Arg, Entry, Role, Variant
from headwater.brook.naming import Names
from headwater.brook.support import Support
from headwater.brook.types import COMPONENTS, VOID, Symbol, Type

_SUFFIXES = ("_shape", "_shift", "_map", "_value", "_at", "_tile")
"""What is put after parameters' names to name what belongs to them."""
TILE_GROUP = 256
"""Work-items in a group, and elements in a tile, of ``linear_tiled``: every GPU allows it."""
_TILE_BYTES = 16 << 10
"""Local memory for tiles; devices have 32 KiB at least (OpenCL C 1.1 specification, full profile)."""


@dataclass
class Draft:
    """An entry under construction."""

    symbol: str
    variant: Variant
    args: list[Arg]
    declarations: list[str]
    lines: list[str]


class KernelEmitter:
    """Prints one kernel. ``module_names`` are the names at file scope."""

    body_emitter: type[BodyEmitter] = BodyEmitter

    def __init__(self, kernel: KernelInfo, module_names: Names, support: Support, storage: Storage) -> None:
        self.kernel = kernel
        self.module_names = module_names
        self.support = support
        self.storage = storage
        parameters = kernel.parameters
        made = {f"{p.name}{suffix}" for p in parameters for suffix in _SUFFIXES}
        self.names = Names({s.name for s in [*parameters, *kernel.locals, *kernel.shared]}, made)
        for symbol in [*parameters, *kernel.locals, *kernel.shared]:
            symbol.c_name = self.names.user(symbol.name)
        self.inputs = [p for p in parameters if p.kind == "input"]
        self.outputs = [p for p in parameters if p.kind == "output"]
        self.shared = kernel.shared
        self.near, self.clipped = position_indices(kernel) if not kernel.group_size else ({}, {})
        self.indices: dict[int, PositionIndex | ClippedIndex] = {**self.near, **self.clipped}
        self.inside_name = ""
        self.known_name = ""
        self.tiled_name = ""
        self.tiled: list[TiledLoop] = []
        self.tiles: list[Symbol] = []
        self.condition = self._condition()

    # ---- the body

    def body(self) -> Lines:
        """The body as a function; its name is ``kernel.c_name`` from then on."""
        kernel = self.kernel
        kernel.c_name = self.module_names.fresh(f"{kernel.name}_body")
        lines = self.function(kernel.c_name, {})
        if kernel.result == VOID and any(p.kind in {"output", "scatter"} for p in kernel.parameters):
            if self.near:
                self.inside_name = self.known_name = self.module_names.fresh(f"{kernel.name}_inside")
                lines.add()
                lines.add("/* The same where gathers near the position stay inside their arrays. */")
                lines.extend(self.function(self.inside_name, self.near))
            if self.clipped and self.condition is not None:
                self.known_name = self.module_names.fresh(f"{kernel.name}_known")
                lines.add()
                lines.add("/* The same where the host has shown that these and others stay inside. */")
                lines.extend(self.function(self.known_name, self.indices))
            self._find_tiles()
        if self.tiles:
            self.tiled_name = self.module_names.fresh(f"{kernel.name}_tiled")
            lines.add()
            lines.add("/* The same with the elements that all work-items read in turn brought to local memory. */")
            lines.extend(self.function(self.tiled_name, self.indices, self.tiled))
        return lines

    def _find_tiles(self) -> None:
        """Which loops to tile, and the arrays that have tiles."""
        kernel = self.kernel
        if self.condition is None or kernel.uses_position or not self.outputs or kernel.scatters:
            return
        loops = tiled_loops(kernel, self.near)
        tiles = list(dict.fromkeys(symbol for loop in loops for symbol in loop.gathers.values()))
        if sum(self._value_bytes(symbol.type) for symbol in tiles) * TILE_GROUP <= _TILE_BYTES:
            self.tiled, self.tiles = loops, tiles

    def _condition(self) -> tuple[Test, ...] | None:
        """What makes all indices in ``indices`` good in a whole domain; None if nothing does."""
        tests: list[Test] = []
        for found in self.indices.values():
            shown = whole_domain(found)
            if shown is None:
                return None
            tests += shown
        for array, other in self._same_shapes().items():
            tests += [(f"shape.{array.name}.{c}", f"shape.{other.name}.{c}", "==") for c in COMPONENTS[: array.rank]]
        return tuple(dict.fromkeys(tests))

    def _same_shapes(self) -> dict[Symbol, Symbol]:
        """Arrays that are indexed alike, whose places are then computed once: each to the first of its kind."""
        forms: dict[Symbol, set[tuple[str, Affine | Between]]] = {}
        for found in self.indices.values():
            if found.array.rank > 1:
                forms.setdefault(found.array, set()).add((found.dimension, found.value))
        first: dict[frozenset[tuple[str, Affine | Between]], Symbol] = {}
        same = {array: first.setdefault(frozenset(form), array) for array, form in forms.items()}
        return {array: other for array, other in same.items() if array is not other and array.rank == other.rank}

    def function(
        self, name: str, unclamped: Mapping[int, PositionIndex | ClippedIndex], tiled: Sequence[TiledLoop] = ()
    ) -> Lines:
        kernel = self.kernel
        statements = self.body_emitter(
            kernel, self.names, self.support, self.storage, unclamped, tiled, TILE_GROUP
        ).body()
        lines = Lines()
        parameters = [self._body_parameter(p) for p in kernel.parameters]
        parameters += [f"__local {s.type.name} *{s.c_name}" for s in self.shared]
        if tiled:
            parameters += [f"__local {s.type.name} *{tile_name(s)}" for s in self.tiles]
        if kernel.uses_position:
            parameters.append(f"const int4 {POSITION}")
        result = kernel.result.name if kernel.result != VOID else "void"
        lines.add(f"{result} {name}({', '.join(parameters) or 'void'})", kernel.node.line)
        lines.add("{")
        lines.extend(statements)
        lines.add("}")
        return lines

    def _inside_calls(self, call: str, position: str, end: str) -> list[str]:
        """The call of the body, without clamping where all gathers near the position stay inside their arrays.

        The test for the whole domain, up to position ``end``, is the same for all work-items; that for each of them is
        not, and costs more where many run in lockstep.
        """
        inside = f"    {self.inside_name}{call.removeprefix(self.kernel.c_name)};"
        values = [found.value for found in self.near.values() if found.value.base != "counter"]
        tests: list[str] = []
        if all(value.low >= 0 for value in values):
            tests.append(self._inside_test(end, True))
        if any(value.low or value.high or value.factor > 1 or value.divisor > 1 for value in values):
            tests.append(self._inside_test(position, False))
        lines: list[str] = []
        for test in tests:
            lines += [f"{'} else ' if lines else ''}if ({test}) {{", inside]
        return [*lines, "} else {", f"    {call};", "}"]

    def _inside_test(self, position: str, is_end: bool) -> str:
        """Whether all gathers near a position, or near all positions before it (``is_end``), stay inside."""
        bounds: dict[tuple[str, str, str, int, int, bool], tuple[int, int, bool]] = {}
        for found in self.near.values():
            value = found.value
            base = f"{position}.{value.base}"
            if value.bound is not None:
                base = (
                    BodyEmitter(self.kernel, self.names, self.support, self.storage).expression(value.bound).at(POSTFIX)
                )
            beyond = not value.closed if value.base == "counter" else is_end
            extent = f"{shape_name(found.array)}.{found.dimension}"
            key = (extent, base, value.base, value.factor, value.divisor, beyond)
            low, high, floating = bounds.get(key, (value.low, value.high, False))
            bounds[key] = min(low, value.low), max(high, value.high), floating or value.floating
        tests: list[str] = []
        for (extent, place, base, factor, divisor, beyond), (low, high, floating) in bounds.items():
            relation = "<=" if beyond else "<"
            # Written so that nothing overflows: positions are below 2**31, and so are extents.
            if low < 0 and base != "counter":
                first = f"{place} / {divisor}" if divisor > 1 else place
                tests.append(f"{first} >= {-(low // factor)}")
            if divisor > 1:
                last = f"({place} - 1)" if beyond else place
                tests.append(f"{last} / {divisor} < {extent}{offset_text(-high)}")
            elif factor > 1:
                rounded = f"({extent}{offset_text(factor - 1 - high)})" if high != factor - 1 else extent
                tests.append(f"{place} {relation} {rounded} / {factor}")
            elif high < 0:
                tests.append(f"{place}{offset_text(high)} {relation} {extent}")
            else:
                tests.append(f"{place} {relation} {extent}{offset_text(-high)}")
            if floating:
                tests.append(f"{place} {relation} {(EXACT_FLOAT - max(high, 0)) // factor}")
        return " && ".join(dict.fromkeys(tests))

    def _body_parameter(self, symbol: Symbol) -> str:
        pointee = self.storage.pointee(symbol.type)
        match symbol.kind:
            case "output" | "reduce":
                return f"{symbol.type.name} *{symbol.c_name}"
            case "gather":
                return f"__global const {pointee} *{symbol.c_name}, const int4 {shape_name(symbol)}"
            case "scatter":
                return f"__global {pointee} *{symbol.c_name}, const int4 {shape_name(symbol)}"
            case "constant":
                return f"__constant {pointee} *{symbol.c_name}"
        return f"const {symbol.type.name} {symbol.c_name}"

    # ---- the entries

    def entries(self) -> list[tuple[Entry, Lines]]:
        """All entries that the kernel offers; none for one that only other kernels can call."""
        kernel = self.kernel
        if kernel.result != VOID:
            return []
        if any(not p.stream for p in self.outputs) or not (self.outputs or kernel.scatters):
            return []
        if kernel.group_size:
            return [self._group("group"), self._group("group_mapped")]
        is_inside = self.condition is not None and bool(self.known_name)
        if kernel.uses_position:
            inside = [self._grid_inside()] if is_inside or not self.indices else []
            return [self._grid("grid"), *inside, self._grid("mapped")]
        entries = [self._linear()]
        if is_inside:
            entries.append(self._linear_inside())
        if self.tiles:
            entries.append(self._linear_tiled())
        if self._is_coarsenable():
            entries.append(self._linear4())
        return [*entries, self._grid("mapped")]

    def _is_coarsenable(self) -> bool:
        streams = [p for p in self.kernel.parameters if p.kind in {"input", "output"}]
        others = {p.kind for p in self.kernel.parameters} - {"input", "output", "value", "constant"}
        return (
            not others
            and bool(self.outputs)
            and all(p.type.width == 1 and p.type.base in {"float", "int", "uint"} for p in streams)
        )

    def entry_names(self) -> Names:
        """Names for one entry: its parameters' names and those made from them are taken."""
        return Names({f"{p.c_name}{suffix}" for p in self.kernel.parameters for suffix in ("", *_SUFFIXES)})

    def start(self, variant: Variant) -> Draft:
        """An entry with the arguments that all variants share: the kernel's own parameters, in order."""
        entry = Draft(self.module_names.fresh(f"{self.kernel.name}_{variant}"), variant, [], [], [])
        for p in self.kernel.parameters:
            pointee = self.storage.pointee(p.type)
            match p.kind:
                case "input" | "gather":
                    self.argument(entry, p.kind, p.c_name, p, f"__global const {pointee} *restrict")
                case "output" | "scatter":
                    self.argument(entry, p.kind, p.c_name, p, f"__global {pointee} *restrict")
                case "reduce":
                    self.argument(entry, "output", p.c_name, p, f"__global {pointee} *restrict")
                case "constant":
                    self.argument(entry, "constant", p.c_name, p, f"__constant {pointee} *")
                case _ if p.type.is_struct:
                    self.argument(entry, "struct", p.c_name, p, f"__global const {pointee} *restrict")
                case _:
                    self.argument(entry, "value", p.c_name, p, f"const {p.type.name}")
            if p.kind in {"gather", "scatter"}:
                self.argument(entry, "shape", shape_name(p), p, "const int4")
        return entry

    def argument(self, entry: Draft, role: Role, name: str, parameter: Symbol | None, declared: str) -> None:
        size = 0
        if role == "value" and parameter is not None:
            size = parameter.type.element.value_bytes
        elif role in {"shape", "domain", "origin"}:
            size = 16
        elif role == "count":
            size = 4
        elif role == "local" and parameter is not None:
            size = self._value_bytes(parameter.type)
        entry.args.append(
            Arg(role, name, parameter.name if parameter else "", declared.replace(" *restrict", " *"), size)
        )
        entry.declarations.append(f"{declared}{'' if declared.endswith('*') else ' '}{name}")

    def _value_bytes(self, type_: Type) -> int:
        """Bytes of a value in local memory."""
        if not type_.is_struct:
            return type_.element.value_bytes
        # An upper bound for any alignment OpenCL C may give the struct's members.
        struct = self.storage.structs[type_.base]
        return (
            sum(max(16, self._value_bytes(Type(f.type.base, f.type.width, f.type.is_struct))) for f in struct.fields)
            + 16
        )

    def finish(self, entry: Draft, group: int = 0, condition: tuple[Test, ...] | None = None) -> tuple[Entry, Lines]:
        """The entry and its text; ``group``: the work-items in a group that it insists on."""
        attribute = f"__attribute__((reqd_work_group_size({group}, 1, 1))) " if group else ""
        lines = Lines()
        line = self.kernel.node.line
        lines.add(f"__kernel {attribute}void {entry.symbol}({'' if entry.declarations else 'void)'}", line)
        for position, declaration in enumerate(entry.declarations):
            lines.add(f"    {declaration}{',' if position + 1 < len(entry.declarations) else ')'}", line)
        lines.add("{")
        for text in entry.lines:
            lines.add(f"    {text}" if text and not text.startswith("#") else text, line if text else 0)
        lines.add("}")
        return Entry(entry.symbol, entry.variant, tuple(entry.args), condition or (), group), lines

    def guard(self, test: str) -> list[str]:
        return ["#ifndef HW_EXACT_RANGE", f"if ({test}) return;", "#endif"]

    def _process(
        self,
        place: Callable[[Symbol], str],
        position: str = "",
        guard: str = "",
        end: str = "",
        known: Callable[[str], str] | None = None,
    ) -> list[str]:
        """Load the inputs, call the body, store the outputs of one element.

        ``place`` gives a stream's index, ``position`` is the element's, and ``end`` is one past the domain's last.
        ``known`` makes of the body's call that of the function for good indices, if they are known to be.
        """
        lines = [self.zeroed(p) for p in self.outputs]
        same = self._same_shapes() if known else None
        call = self.call(lambda p: self.storage.load(p.c_name, place(p), p.type).text, position, same=same)
        if known:
            lines.append(f"{known(call)};")
        elif self.inside_name:
            lines += self._inside_calls(call, position, end)
        else:
            lines.append(f"{call};")
        for p in self.outputs:
            lines.append(guard + self.storage.store(p.c_name, place(p), p.type, f"{p.c_name}_value") + ";")
        return lines

    def zeroed(self, p: Symbol) -> str:
        if p.type.is_struct:
            return f"{p.type.name} {p.c_name}_value = {{ 0 }};"
        zero = {"float": "0.0f", "double": "0.0"}.get(p.type.base, "0")
        return f"{p.type.name} {p.c_name}_value = {zero if p.type.width == 1 else f'({p.type.name})({zero})'};"

    def call(
        self,
        load: Callable[[Symbol], str],
        position: str = "",
        results: Callable[[Symbol], str] | None = None,
        same: Mapping[Symbol, Symbol] | None = None,
    ) -> str:
        """The body's call. ``same``: arrays that have the extents of others."""
        arguments: list[str] = []
        for p in self.kernel.parameters:
            match p.kind:
                case "input":
                    arguments.append(load(p))
                case "output" | "reduce":
                    arguments.append(results(p) if results else f"&{p.c_name}_value")
                case "gather" | "scatter":
                    arguments += self._array_arguments(p, shape_name(same.get(p, p) if same else p))
                case "value" if p.type.is_struct:
                    arguments.append(self._struct_argument(p))
                case _:
                    arguments.append(p.c_name)
        arguments += [s.c_name for s in self.shared]
        if self.kernel.uses_position:
            arguments.append(position)
        return f"{self.kernel.c_name}({', '.join(arguments)})"

    def _array_arguments(self, symbol: Symbol, shape: str) -> list[str]:
        """What the body is passed for a gather or scatter array."""
        return [symbol.c_name, shape]

    def _struct_argument(self, symbol: Symbol) -> str:
        """What the body is passed for a struct that is a value."""
        return self.storage.load(symbol.c_name, "0", symbol.type).text

    # ---- element by element

    def _linear(self) -> tuple[Entry, Lines]:
        entry = self.start("linear")
        names = self.entry_names()
        count, i = names.fresh("count"), names.fresh("i")
        self.argument(entry, "count", count, None, "const int")
        entry.lines = [
            f"const int {i} = get_global_id(0);",
            *self.guard(f"{i} >= {count}"),
            *self._process(lambda _: i),
        ]
        return self.finish(entry)

    def _linear_inside(self) -> tuple[Entry, Lines]:
        """As ``linear``, where the condition holds."""
        entry = self.start("linear_inside")
        names = self.entry_names()
        count, i = names.fresh("count"), names.fresh("i")
        self.argument(entry, "count", count, None, "const int")
        entry.lines = [
            f"const int {i} = get_global_id(0);",
            *self.guard(f"{i} >= {count}"),
            *self._process(lambda _: i, known=self._inside),
        ]
        return self.finish(entry, condition=self.condition)

    def _linear_tiled(self) -> tuple[Entry, Lines]:
        """As ``linear_inside``, with tiles. Surplus work-items run too, as all must reach the barriers."""
        entry = self.start("linear_tiled")
        names = self.entry_names()
        count, i, at = names.fresh("count"), names.fresh("i"), names.fresh("at")
        self.argument(entry, "count", count, None, "const int")
        tiles = ", ".join(tile_name(s) for s in self.tiles)
        entry.lines = [
            *(f"__local {s.type.name} {tile_name(s)}[{TILE_GROUP}];" for s in self.tiles),
            f"const int {i} = get_global_id(0);",
            f"const int {at} = min({i}, {count} - 1);",
            *self._process(
                lambda _: at,
                guard=f"if ({i} < {count}) ",
                known=lambda call: f"{self.tiled_name}{call.removeprefix(self.kernel.c_name)[:-1]}, {tiles})",
            ),
        ]
        return self.finish(entry, TILE_GROUP, self.condition)

    def _inside(self, call: str) -> str:
        """The call of the body as one of the function for good indices, if the body has any."""
        return f"{self.known_name or self.kernel.c_name}{call.removeprefix(self.kernel.c_name)}"

    def _linear4(self) -> tuple[Entry, Lines]:
        entry = self.start("linear4")
        names = self.entry_names()
        count, four, i = names.fresh("count"), names.fresh("four"), names.fresh("i")
        self.argument(entry, "count", count, None, "const int")
        vectors = {p.name: names.fresh(f"{p.c_name}4") for p in self.inputs}
        parts = {(p.name, c): names.fresh(f"{p.c_name}_{c}") for p in self.outputs for c in "xyzw"}
        lines = [f"const int {four} = get_global_id(0);", f"if ({four} < {count} / 4) {{"]
        for p in self.inputs:
            lines.append(
                f"    const {p.type.base}4 {vectors[p.name]} = ((__global const {p.type.base}4 *){p.c_name})[{four}];"
            )
        for p in self.outputs:
            zero = "0.0f" if p.type.base == "float" else "0"
            lines.append(f"    {p.type.base} {', '.join(f'{parts[p.name, c]} = {zero}' for c in 'xyzw')};")
        for c in "xyzw":
            call = self.call(functools.partial(_component, vectors, c), results=functools.partial(_address, parts, c))
            lines.append(f"    {call};")
        for p in self.outputs:
            whole = ", ".join(parts[p.name, c] for c in "xyzw")
            lines.append(f"    ((__global {p.type.base}4 *){p.c_name})[{four}] = ({p.type.base}4)({whole});")
        lines.append(f"}} else if ({four} == {count} / 4) {{")
        lines.append(f"    for (int {i} = 4 * {four}; {i} < {count}; ++{i}) {{")
        lines += [f"        {text}" for text in self._process(lambda _: i)]
        lines += ["    }", "}"]
        entry.lines = lines
        return self.finish(entry)

    def _grid(self, variant: Variant) -> tuple[Entry, Lines]:
        """One work-item for each position: streams of the domain's shape (``grid``), or found by their tables
        (``mapped``).
        """
        entry = self.start(variant)
        names = self.entry_names()
        use = self.support.use
        domain, p, i = names.fresh("domain"), names.fresh("p"), names.fresh("i")
        self.argument(entry, "domain", domain, None, "const int4")
        lines = [f"const int4 {p} = {use('hw_grid')}({domain});", *self.guard(f"{use('hw_outside')}({p}, {domain})")]
        if variant == "grid":
            if self.inputs or self.outputs:
                lines.append(f"const int {i} = {use('hw_index')}({p}, {domain});")
            lines += self._process(lambda _: i, p, end=domain)
        else:
            origin = names.fresh("origin")
            self.argument(entry, "origin", origin, None, "const int4")
            lines += self._places(entry, names, p, domain)
            position = names.fresh("position")
            lines.append(f"const int4 {position} = {p} + {origin};")
            end = names.fresh("end")
            if self.inside_name and all(
                found.value.low >= 0 or found.value.base == "counter" for found in self.near.values()
            ):
                lines.append(f"const int4 {end} = {domain} + {origin};")
            lines += self._process(lambda s: f"{s.c_name}_at", position, end=end)
        entry.lines = lines
        return self.finish(entry)

    def _grid_inside(self) -> tuple[Entry, Lines]:
        """As ``grid`` for one or two dimensions, where the condition holds."""
        entry = self.start("grid_inside")
        names = self.entry_names()
        domain, p, i = names.fresh("domain"), names.fresh("p"), names.fresh("i")
        self.argument(entry, "domain", domain, None, "const int4")
        lines = [
            f"const int4 {p} = (int4)((int)get_global_id(0), (int)get_global_id(1), 0, 0);",
            *self.guard(f"{p}.x >= {domain}.x || {p}.y >= {domain}.y"),
        ]
        if self.inputs or self.outputs:
            lines.append(f"const int {i} = {p}.y * {domain}.x + {p}.x;")
        entry.lines = [*lines, *self._process(lambda _: i, p, known=self._inside)]
        plane: tuple[Test, ...] = (("domain.z", 1, "=="), ("domain.w", 1, "=="))
        return self.finish(entry, condition=plane + (self.condition or ()))

    def _places(self, entry: Draft, names: Names, p: str, domain: str) -> list[str]:
        lines: list[str] = []
        for symbol in [*self.inputs, *self.outputs]:
            table = f"{symbol.c_name}_map"
            self.argument(entry, "map", table, symbol, "__global const int *restrict")
            lines.append(f"const int {symbol.c_name}_at = {self.support.use('hw_mapped')}({table}, {p}, {domain});")
        return lines

    def _group(self, variant: Variant) -> tuple[Entry, Lines]:
        """Compute mode: linear work-items in groups. Surplus ones run too, as all must reach the barriers."""
        entry = self.start(variant)
        names = self.entry_names()
        use = self.support.use
        domain, i, p, count = (names.fresh(name) for name in ("domain", "i", "p", "count"))
        self.argument(entry, "domain", domain, None, "const int4")
        lines = [f"__local {s.type.name} {s.c_name}[{s.sizes[0]}];" for s in self.shared]
        lines += [
            f"const int {i} = get_global_id(0);",
            f"const int {count} = {domain}.x * {domain}.y * {domain}.z * {domain}.w;",
        ]
        guard = f"if ({i} < {count}) "
        position = f"{use('hw_unravel')}({i}, {domain})"
        if variant == "group":
            if self.inputs or self.outputs:
                lines.append(f"const int {p} = min({i}, {count} - 1);")
            lines += self._process(lambda _: p, position, guard)
        else:
            origin = names.fresh("origin")
            self.argument(entry, "origin", origin, None, "const int4")
            if self.inputs or self.outputs:
                lines.append(f"const int4 {p} = {use('hw_unravel')}(min({i}, {count} - 1), {domain});")
            lines += self._places(entry, names, p, domain)
            lines += self._process(lambda s: f"{s.c_name}_at", f"{position} + {origin}", guard)
        entry.lines = lines
        return self.finish(entry, self.kernel.group_size)


def _component(vectors: dict[str, str], component: str, stream: Symbol) -> str:
    return f"{vectors[stream.name]}.{component}"


def _address(parts: dict[tuple[str, str], str], component: str, stream: Symbol) -> str:
    return f"&{parts[stream.name, component]}"
