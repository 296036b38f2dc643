"""A kernel's accesses in; a function that tells whether some work-item of a launch makes one outside of its array out.

For each place of a kernel (`headwater.opencl.spmd.bounds.Site`) a few work-items are tried: the first and the last
along each dimension, as far as the conditions around the place let them come, on the first and the last trip of the
loops around it. Of each it is computed, as the kernel does it, whether it comes to the place and where it accesses
memory. What cannot be computed from arguments and sizes counts as not reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from headwater.opencl.spmd.bounds import Access, Counts, Site, necessary, primitive, sites
from headwater.opencl.spmd.cfg import Cfg, Loop
from headwater.opencl.spmd.entry import argument_places, load_arguments, load_launch
from headwater.opencl.spmd.ir import BINARY, Function, Inst, Param, Value
from headwater.opencl.spmd.types import Type

MOST_INSTRUCTIONS = 160
"""Of a place, beyond which it is not asked for."""

MOST_TRIES = 128
"""Work-items and trips that are looked at for one place."""

_MOST_REMAINDERS = 2

TOLD = 4
"""Numbers behind the sizes that the function tells of an access: its offset in bytes, and the work-item's global id."""

_INTEGER = BINARY - {"fadd", "fsub", "fmul", "fdiv", "frem"}
_DIVISIONS = frozenset(("udiv", "sdiv", "urem", "srem"))
_EXTREMES = {"smin": "slt", "smax": "sgt", "umin": "ult", "umax": "ugt"}
_BOOLEANS = {"true": True, "false": False}
_SIZES = {"global_size": "gsz", "num_groups": "ngr", "global_offset": "off", "enqueued_local_size": "els"}
_FAR = 1 << 62
"""What 64-bit counters and limits stay below, so that differences of two do not wrap around."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The text of the functions; the accesses by number; the positions of the arguments whose sizes decide, and are
    passed, and those of the arguments whose values do."""

    text: str
    accesses: tuple[Access, ...] = ()
    sized: tuple[int, ...] = ()
    values: tuple[int, ...] = ()


def write_bounds(symbol: str, function: Function, cfg: Cfg, locals_bytes: Sequence[int]) -> Bounds:
    """The function ``symbol``, called with the launch block, the args block and an int64 array.

    The array holds 0 or 1, the bytes of the arguments in `Bounds.sized`, and room for `TOLD` numbers, which are written
    if it begins with 1. What comes back is 0, or the number of an access, counted from 1, that some work-item makes
    outside of its array. ``locals_bytes``: the sizes of the last parameters, which are __local variables.
    """
    arguments = len(function.params) - len(locals_bytes)
    counts = Counts(function, cfg)
    codes: list[_Code] = []
    for site in sites(function, cfg, arguments):
        code = _Place(function, cfg, counts, site).write(len(codes))
        if code is not None:
            codes.append(code)
    if not codes:
        return Bounds("")
    accesses = tuple(access for code in codes for access in code.accesses)
    own = function.params[:arguments]
    used = {name for code in codes for name in code.parameters}
    looked_at = [position for position, param in enumerate(own) if param.name in used]
    values = tuple(i for i in looked_at if own[i].ty.kind != "ptr" or own[i].by_value is not None)
    sized = tuple(sorted({access.position for access in accesses if access.position >= 0} | {*looked_at} - {*values}))
    fixed = {p.name: size for p, size in zip(function.params[arguments:], locals_bytes, strict=True)}
    entry = _entry(symbol, codes, own, sized, fixed)
    return Bounds("\n\n".join([*(text for code in codes for text in code.texts), entry]), accesses, sized, values)


@dataclass(frozen=True, slots=True)
class _Code:
    """The functions of one place, its accesses in the order of their numbers, and the parameters that they look at."""

    name: str
    texts: tuple[str, ...]
    accesses: tuple[Access, ...]
    parameters: frozenset[str]


_IDS = tuple(f"{kind}{dim}" for kind in ("off", "els", "gsz", "ngr") for dim in range(3))


def _entry(
    symbol: str, codes: Sequence[_Code], own: Sequence[Param], sized: Sequence[int], fixed: dict[str, int]
) -> str:
    lines = [f"define i32 @{symbol}(ptr %launch, ptr noalias %args, ptr noalias %scratch) #1 {{", "entry:"]
    load_launch(lines)
    loaded = load_arguments(argument_places(list(own))[0], [], lines)
    lines += ["  %told = alloca [4 x i64]"]
    rooms = {}
    for number, position in enumerate(sized, 1):
        lines.append(f"  %size{number}.p = getelementptr i64, ptr %scratch, i64 {number}")
        lines.append(f"  %size{number} = load i64, ptr %size{number}.p")
        rooms[own[position].name] = f"i64 %size{number}"
    rooms |= {name: f"i64 {size}" for name, size in fixed.items()}
    first, ends = 0, []
    for number, code in enumerate(codes):
        names = [p.name for p in own]
        given = [text for name, text in zip(names, loaded, strict=True) if name in code.parameters]
        room = [rooms[root] for root in _roots(code.accesses)]
        texts = ", ".join([*given, *(f"i64 %{name}" for name in _IDS), *room, "ptr %told"])
        lines += [
            f"  %at{number} = call i32 @{code.name}({texts})",
            f"  %found{number} = icmp ne i32 %at{number}, 0",
            f"  %which{number} = add i32 %at{number}, {first}",
            f"  br i1 %found{number}, label %outside, label %inside{number}",
            f"inside{number}:",
        ]
        ends.append(f"[ %which{number}, %{f'inside{number - 1}' if number else 'entry'} ]")
        first += len(code.accesses)
    lines += ["  ret i32 0", "outside:", f"  %which = phi i32 {', '.join(ends)}"]
    lines += ["  %flag = load i64, ptr %scratch", "  %tells = icmp ne i64 %flag, 0"]
    lines += ["  br i1 %tells, label %tell, label %leave", "tell:"]
    lines += [f"  %to = getelementptr i64, ptr %scratch, i64 {len(sized) + 1}"]
    for number in range(TOLD):
        lines.append(f"  %from{number} = getelementptr i64, ptr %told, i64 {number}")
        lines.append(f"  %number{number} = load i64, ptr %from{number}")
        lines.append(f"  %to{number} = getelementptr i64, ptr %to, i64 {number}")
        lines.append(f"  store i64 %number{number}, ptr %to{number}")
    lines += ["  br label %leave", "leave:", "  ret i32 %which", "}"]
    return "\n".join(lines)


def _roots(accesses: Iterable[Access]) -> list[str]:
    """The parameters that accesses go through, each once."""
    return list(dict.fromkeys(access.root for access in accesses))


class _Lines:
    """Instructions of one function under way."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.lines: list[str] = []

    def let(self, text: str) -> str:
        name = f"%{self.prefix}{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def pick(self, condition: str, yes: str, no: str) -> str:
        """A select of 64-bit numbers."""
        return yes if yes == no else self.let(f"select i1 {condition}, i64 {yes}, i64 {no}")

    def least(self, a: str, b: str) -> str:
        return self.pick(self.let(f"icmp slt i64 {a}, {b}"), a, b)

    def most(self, a: str, b: str) -> str:
        return self.pick(self.let(f"icmp sgt i64 {a}, {b}"), a, b)

    def both(self, *conditions: str) -> str:
        """i1: whether all hold."""
        known = [c for c in dict.fromkeys(conditions) if c != "true"]
        if "false" in known:
            return "false"
        return reduce(lambda a, b: self.let(f"and i1 {a}, {b}"), known) if known else "true"

    def either(self, *conditions: str) -> str:
        """i1: whether one holds."""
        known = [c for c in dict.fromkeys(conditions) if c != "false"]
        if "true" in known:
            return "true"
        return reduce(lambda a, b: self.let(f"or i1 {a}, {b}"), known) if known else "false"


@dataclass(slots=True)
class _Values:
    """Writes what computes a work-item's numbers; without ``items``, only those that are the same for all.

    ``loops``: those around the place, whose trips are the first or, where ``%last<n>`` is set, the last. ``valid``:
    what must hold for the numbers to be the kernel's. ``kinds``: ids that are looked at. ``parameters``: the same.
    ``remainders``: numbers that are computed by cutting others off, by a remainder or a mask.
    """

    function: Function
    cfg: Cfg
    counts: Counts
    out: _Lines
    items: bool
    loops: tuple[Loop, ...] = ()
    known: dict[str, str | None] = field(default_factory=dict)
    offsets: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    trips: dict[str, str | None] = field(default_factory=dict)
    reached: dict[str, str] = field(default_factory=dict)
    valid: list[str] = field(default_factory=list)
    kinds: set[tuple[str, int]] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    params: dict[str, Param] = field(default_factory=dict)
    remainders: list[Inst] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.params = {p.name: p for p in self.function.params}

    # Numbers.

    def value(self, value: Value) -> str | None:
        """The text of an integer, a truth or a pointer that is compared; None if it is not known."""
        if not value.is_local:
            text = value.text
            if value.ty.kind == "ptr":  # SPIR's null pointers are the generic one, cast
                return "null" if text == "null" or " null to ptr" in text else None
            return text if text.lstrip("-").isdigit() or text in _BOOLEANS else None
        name = value.text
        if name not in self.known:
            self.known[name] = None  # what it depends on itself for is not known
            if len(self.out.lines) <= MOST_INSTRUCTIONS:
                self.known[name] = self._define(name)
        return self.known[name]

    def wide(self, value: Value, *, signed: bool = True) -> str | None:
        """The same in 64 bits."""
        text = self.value(value)
        if text is None or value.ty.bits == 64:
            return text
        if text in _BOOLEANS or value.ty.kind != "int" or value.ty.bits > 64:
            return None
        if not value.is_local:
            return text if signed else str(int(text) % (1 << value.ty.bits))
        return self.out.let(f"{'sext' if signed else 'zext'} {value.ty} {text} to i64")

    def _define(self, name: str) -> str | None:
        inst = self.counts.defs.get(name)
        if inst is None:
            return self._parameter(name)
        if inst.op == "load":
            return self._copied(inst)
        if inst.op == "extractelement":
            return self._component(inst)
        if inst.ty.kind != "int" or inst.ty.bits > 64:
            return None
        if inst.op == "call":
            return self._called(inst)
        if inst.op == "phi":
            return self._phi(inst)
        if inst.op == "freeze":
            return self.value(inst.args[0])
        rule = _RULES.get(inst.op)
        if rule is None or any(v.ty.kind == "vec" for v in inst.args):
            return None
        texts = [self.value(v) for v in inst.args]
        known = [text for text in texts if text is not None]
        return rule(self, inst, known) if len(known) == len(texts) else None

    def _parameter(self, name: str) -> str | None:
        param = self.params.get(name)
        if param is None or param.by_value is not None or (param.ty.kind == "int" and param.ty.bits > 64):
            return None
        self.parameters.add(name)
        return parameter_text(name)

    def _copied(self, inst: Inst) -> str | None:
        """A number in a struct that is passed by value, if nothing is written there."""
        offset, pointer = 0, inst.args[0]
        while (step := self.counts.defs.get(pointer.text)) is not None:
            if step.op != "getelementptr" or len(step.args) != 2 or not step.args[1].text.isdigit():
                return None
            offset += step.source.size_bytes * int(step.args[1].text)
            pointer = step.args[0]
        param = self.params.get(pointer.text)
        if param is None or param.by_value is None or inst.ty.kind != "int" or inst.ty.bits > 64:
            return None
        if not self._only_read(param.name):
            return None
        self.parameters.add(param.name)
        at = self.out.let(f"getelementptr i8, {param.ty} {parameter_text(param.name)}, i64 {offset}")
        return self.out.let(f"load {inst.ty}, {param.ty} {at}, align 1")

    def _only_read(self, name: str) -> bool:
        derived = {name}
        for block in self.cfg.order:
            for inst in self.function.blocks[block].insts:
                uses = [place for place, v in enumerate(inst.args) if v.text in derived]
                if uses and inst.op == "getelementptr" and uses == [0]:
                    derived.add(inst.name)
                elif uses and inst.op != "load":
                    return False
        return True

    def _component(self, inst: Inst) -> str | None:
        """A component of a vector that is passed."""
        vector, place = inst.args
        param = self.params.get(vector.text)
        if param is None or inst.ty.kind != "int" or not place.text.isdigit():
            return None
        self.parameters.add(param.name)
        return self.out.let(f"extractelement {vector.ty} {parameter_text(param.name)}, i64 {place.text}")

    def _called(self, inst: Inst) -> str | None:
        found = primitive(inst)
        if found is not None:
            return self.id(*found)
        if inst.detail == "__hw_work_dim":
            return None
        kind = inst.detail.split(".")[1] if inst.detail.startswith("llvm.") else ""
        if kind in _EXTREMES or kind in ("usub", "abs"):
            texts = [self.value(v) for v in inst.args[: 1 if kind == "abs" else 2]]
            a, b = texts[0], texts[-1]
            if a is None or b is None:
                return None
            ty = inst.ty
            if kind == "abs":
                less, negative = self.out.let(f"icmp slt {ty} {a}, 0"), self.out.let(f"sub {ty} 0, {a}")
                return self.out.let(f"select i1 {less}, {ty} {negative}, {ty} {a}")
            if kind == "usub":
                if ".sat." not in inst.detail:
                    return None
                less, rest = self.out.let(f"icmp ult {ty} {a}, {b}"), self.out.let(f"sub {ty} {a}, {b}")
                return self.out.let(f"select i1 {less}, {ty} 0, {ty} {rest}")
            first = self.out.let(f"icmp {_EXTREMES[kind]} {ty} {a}, {b}")
            return self.out.let(f"select i1 {first}, {ty} {a}, {ty} {b}")
        return None

    def id(self, kind: str, dim: int) -> str | None:
        """An id or size."""
        if kind in _SIZES:
            return f"%{_SIZES[kind]}{dim}"
        if not self.items:
            return None
        self.kinds.add((kind, dim))
        if kind == "global_id":
            return f"%gid{dim}"
        name = f"{kind} {dim}"
        if name not in self.known:
            out = self.out
            position = out.let(f"sub i64 %gid{dim}, %off{dim}")
            group = out.let(f"udiv i64 {position}, %els{dim}")
            origin = out.let(f"mul i64 {group}, %els{dim}")
            left = out.let(f"sub i64 %gsz{dim}, {origin}")
            self.known[f"group_id {dim}"] = group
            self.known[f"local_id {dim}"] = out.let(f"sub i64 {position}, {origin}")
            self.known[f"local_size {dim}"] = out.least(left, f"%els{dim}")
        return self.known.get(name)

    def _binary(self, inst: Inst, texts: list[str]) -> str | None:
        a, b = texts
        ty = inst.ty
        if inst.op in ("urem", "and") and ty.bits > 1:
            self.remainders.append(inst)
        if inst.op in ("shl", "lshr", "ashr") and not b.isdigit():
            b = self.out.let(f"and {ty} {b}, {ty.bits - 1}")
        if inst.op in _DIVISIONS:
            if b.isdigit() and int(b) > 0:
                return self.out.let(f"{inst.op} {ty} {a}, {b}")
            # A quotient by 0, or by -1, is not asked for.
            divides = self.out.let(f"icmp ugt {ty} {self.out.let(f'add {ty} {b}, 1')}, 1")
            self.valid.append(divides)
            b = self.out.let(f"select i1 {divides}, {ty} {b}, {ty} 1")
        return self.out.let(f"{inst.op} {ty} {a}, {b}")

    def _cast(self, inst: Inst, texts: list[str]) -> str | None:
        source = inst.args[0].ty
        if source.kind != "int" or source.bits > 64:
            return None
        return self.out.let(f"{inst.op} {source} {texts[0]} to {inst.ty}")

    def _compare(self, inst: Inst, texts: list[str]) -> str | None:
        ty = inst.args[0].ty
        if ty.kind == "ptr":  # of two arrays nobody says whether they are one
            return self.out.let(f"icmp {inst.detail} {ty} {texts[0]}, null") if texts[1] == "null" else None
        return self.out.let(f"icmp {inst.detail} {ty} {texts[0]}, {texts[1]}") if ty.kind == "int" else None

    def _select(self, inst: Inst, texts: list[str]) -> str | None:
        condition, yes, no = texts
        return self.out.let(f"select i1 {condition}, {inst.ty} {yes}, {inst.ty} {no}")

    # Loops.

    def _phi(self, inst: Inst) -> str | None:
        loop = next((one for one in self.loops if inst.name in self._headers(one)), None)
        if loop is None:
            return None
        start = self.counts.start(inst, loop)
        first = self.value(start) if start is not None else None
        trip = self.trip(loop)
        if first is None or trip is None:
            return first
        step = self.counts.step(inst, loop)
        if step is None or step[2]:  # cut somewhere, which is looked into for the loop's own counter only
            return self._own_counter(inst, loop, trip, first)
        return self._went_on(inst.ty, first, trip, step[0], subtracts=step[1])

    def _own_counter(self, inst: Inst, loop: Loop, trip: str, first: str) -> str | None:
        count = self.counts.count(loop)
        if count is None or count.phi.name != inst.name:
            return None
        return self._went_on(inst.ty, first, trip, count.step, subtracts=count.subtracts)

    def _went_on(self, ty: Type, first: str, trip: str, step: Value, *, subtracts: bool) -> str | None:
        """A number on trip ``trip``, where it goes on by ``step`` from trip to trip."""
        by = self.value(step)
        if by is None:
            return None
        number = trip if ty.bits == 64 else self.out.let(f"trunc i64 {trip} to {ty}")
        way = self.out.let(f"mul {ty} {number}, {by}")
        return self.out.let(f"{'sub' if subtracts else 'add'} {ty} {first}, {way}")

    def _headers(self, loop: Loop) -> set[str]:
        return {phi.name for phi in self.function.blocks[loop.header].phis}

    def trip(self, loop: Loop) -> str | None:
        """The number of the trip that is looked at, from 0, in 64 bits; None if it can only be the first."""
        name = loop.header
        if name not in self.trips:
            self.trips[name] = None
            last = self._last_trip(loop)
            if last is not None:
                number, holds = last
                flag = f"%last{self.loops.index(loop)}"
                self.valid.append(self.out.let(f"select i1 {flag}, i1 {holds}, i1 true"))
                self.trips[name] = self.out.pick(flag, number, "0")
        return self.trips[name]

    def _last_trip(self, loop: Loop) -> tuple[str, str] | None:
        """The number of a loop's last trip, and whether it is known to be that."""
        count = self.counts.count(loop)
        if count is None:
            return None
        out, order = self.out, count.order
        signed = order[0] != "u"
        start, limit = self.wide(count.start, signed=signed), self.wide(count.limit, signed=signed)
        by = self.wide(count.step)
        if start is None or limit is None or by is None or order == "eq":
            return None
        if count.subtracts:
            by = out.let(f"sub i64 0, {by}")
        down = order[1:] in ("gt", "ge") or (order == "ne" and by.startswith("-"))
        inclusive = order[1:] in ("le", "ge")
        if not count.tests_next and loop.exits[0][0] == loop.latch:
            if order != "ne":
                return None
            inclusive = True  # the counter of this trip is tested at its end
        if down:
            start, limit, by = limit, start, out.let(f"sub i64 0, {by}")
        distance = out.let(f"sub i64 {limit}, {start}")
        forward = out.let(f"icmp sgt i64 {by}, 0")
        step = out.pick(forward, by, "1")
        enough = out.let(f"icmp {'sge' if inclusive else 'sgt'} i64 {distance}, 0")
        near = [self._within(number, _FAR) for number in (start, limit)]
        conditions = [forward, enough, *near]
        if count.narrow:
            conditions += [self._not_negative(number, 1 << (count.narrow - 1)) for number in (start, limit)]
        if order == "ne":
            conditions.append(out.let(f"icmp eq i64 {out.let(f'urem i64 {distance}, {step}')}, 0"))
        reach = distance if inclusive else out.let(f"sub i64 {distance}, 1")
        return out.let(f"udiv i64 {reach}, {step}"), out.both(*conditions)

    def _within(self, number: str, far: int) -> str:
        return self.out.let(f"icmp ult i64 {self.out.let(f'add i64 {number}, {far}')}, {2 * far}")

    def _not_negative(self, number: str, most: int) -> str:
        return self.out.let(f"icmp ule i64 {number}, {most}")

    # Addresses.

    def offset(self, pointer: Value) -> tuple[str, str] | None:
        """The parameter that a pointer is computed from, and the bytes from there."""
        name = pointer.text
        if name not in self.offsets:
            self.offsets[name] = None
            if len(self.out.lines) <= MOST_INSTRUCTIONS:
                self.offsets[name] = self._offset(name)
        return self.offsets[name]

    def _offset(self, name: str) -> tuple[str, str] | None:
        if name in self.params:
            return name, "0"
        inst = self.counts.defs.get(name)
        if inst is None:
            return None
        if inst.op in ("addrspacecast", "bitcast", "freeze"):
            return self.offset(inst.args[0])
        if inst.op == "getelementptr":
            base = self.offset(inst.args[0])
            way = self._distance(inst)
            return (base[0], self._sum(base[1], way)) if base is not None and way is not None else None
        if inst.op == "select":
            condition, yes, no = self.value(inst.args[0]), self.offset(inst.args[1]), self.offset(inst.args[2])
            if condition is None or yes is None or no is None or yes[0] != no[0]:
                return None
            return yes[0], self.out.pick(condition, yes[1], no[1])
        if inst.op == "phi":
            return self._walking(inst)
        return None

    def _walking(self, inst: Inst) -> tuple[str, str] | None:
        """A pointer that a loop moves on."""
        loop = next((one for one in self.loops if inst.name in self._headers(one)), None)
        start = self.counts.start(inst, loop) if loop is not None else None
        first = self.offset(start) if start is not None else None
        if loop is None or first is None or (trip := self.trip(loop)) is None:
            return first
        step = self.counts.defs.get(inst.args[inst.labels.index(loop.latch)].text)
        if step is None or step.op != "getelementptr" or step.args[0].text != inst.name:
            return None
        if not all(self.counts.invariant(v, loop) for v in step.args[1:]):
            return None
        way = self._distance(step)
        return None if way is None else (first[0], self._sum(first[1], self.out.let(f"mul i64 {trip}, {way}")))

    def _distance(self, inst: Inst) -> str | None:
        """By how many bytes a getelementptr moves."""
        total, ty = "0", inst.source
        for position, value in enumerate(inst.args[1:]):
            if position and ty.kind == "struct":
                field_number = int(value.text)
                total = self._sum(total, str(ty.layout[0][field_number]))
                ty = ty.fields[field_number]
                continue
            if position:
                if ty.elem is None:
                    return None
                ty = ty.elem
            if value.ty.kind != "int" or (index := self.wide(value)) is None:
                return None
            size = ty.size_bytes
            if index.lstrip("-").isdigit():
                total = self._sum(total, str(int(index) * size))
            else:
                total = self._sum(total, self.out.let(f"mul i64 {index}, {size}") if size != 1 else index)
        return total

    def _sum(self, a: str, b: str) -> str:
        if a == "0":
            return b
        if b == "0":
            return a
        return self.out.let(f"add i64 {a}, {b}")

    # Control flow.

    def reach(self, block: str) -> str:
        """i1: whether the work-item is known to come to a block."""
        if block not in self.reached:
            self.reached[block] = "false"
            if len(self.out.lines) <= MOST_INSTRUCTIONS:
                self.reached[block] = self._reach(block)
        return self.reached[block]

    def _reach(self, block: str) -> str:
        cfg = self.cfg
        if block == cfg.entry:
            return "true"
        home = block
        while cfg.idom[home] != home and cfg.post_dominates(block, cfg.idom[home]):
            home = cfg.idom[home]
        if home != block:
            return self.reach(home)
        ways = []
        for above in cfg.preds[block]:
            loop = cfg.loop_of[above]
            if cfg.index[above] < cfg.index[block] and (loop is None or block in loop):
                ways.append(self.out.both(self.reach(above), self._taken(above, block)))
        return self.out.either(*ways)

    def _taken(self, above: str, below: str) -> str:
        term = self.function.blocks[above].term
        return self.holds(term.args[0], term.labels[0] == below) if term.op == "br" and term.args else "true"

    def holds(self, condition: Value, wanted: bool) -> str:
        """i1: whether a condition is known to hold, or known not to."""
        known = self.value(condition)
        if known in _BOOLEANS:
            return "true" if _BOOLEANS[known] == wanted else "false"
        if known is not None:
            return known if wanted else self.out.let(f"xor i1 {known}, true")
        inst = self.counts.defs.get(condition.text)
        if inst is None or inst.ty.text != "i1":
            return "false"
        if inst.op == "freeze":
            return self.holds(inst.args[0], wanted)
        if inst.op == "xor" and inst.args[1].text == "true":
            return self.holds(inst.args[0], not wanted)
        if inst.op in ("and", "or"):
            join = self.out.both if (inst.op == "and") == wanted else self.out.either
            return join(*(self.holds(one, wanted) for one in inst.args))
        if inst.op == "select":
            first, yes, no = inst.args
            return self.out.either(
                self.out.both(self.holds(first, True), self.holds(yes, wanted)),
                self.out.both(self.holds(first, False), self.holds(no, wanted)),
            )
        return "false"


_RULES: dict[str, Callable[[_Values, Inst, list[str]], str | None]] = {
    **dict.fromkeys(_INTEGER, _Values._binary),
    "trunc": _Values._cast,
    "sext": _Values._cast,
    "zext": _Values._cast,
    "icmp": _Values._compare,
    "select": _Values._select,
}


def parameter_text(name: str) -> str:
    """A kernel's parameter in the functions written here: unnamed values have numbers of their own in each function."""
    return '%"p.' + name[1:].strip('"') + '"'


# -- which work-items --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """A number as a sum: ids with constant factors, numbers that are the same for all work-items, and a constant."""

    ids: tuple[tuple[tuple[str, int], int], ...]
    rest: tuple[tuple[int, Value], ...]
    constant: int

    def plus(self, other: _Line, factor: int = 1) -> _Line:
        ids = dict(self.ids)
        for key, times in other.ids:
            ids[key] = ids.get(key, 0) + factor * times
        rest = self.rest + tuple((factor * times, value) for times, value in other.rest)
        return _Line(tuple((k, n) for k, n in ids.items() if n), rest, self.constant + factor * other.constant)

    def times(self, factor: int) -> _Line:
        return _Line((), (), 0).plus(self, factor)


class _Place:
    """Writes the functions of one site."""

    def __init__(self, function: Function, cfg: Cfg, counts: Counts, site: Site) -> None:
        self.function, self.cfg, self.counts, self.site = function, cfg, counts, site
        self.uniform = _Values(function, cfg, counts, _Lines("u"), items=False)
        self.out = self.uniform.out

    def write(self, number: int) -> _Code | None:
        """The code; None if nothing is known of the accesses."""
        item = _Values(self.function, self.cfg, self.counts, _Lines("t"), items=True, loops=self.site.loops)
        reach = item.reach(self.site.block)
        if reach == "false":
            return None
        found: list[tuple[Access, str]] = []
        for access in self.site.accesses:
            offset = item.offset(access.pointer)
            if offset is not None and offset[0] == access.root:
                found.append((access, offset[1]))
        if not found or len(item.out.lines) > MOST_INSTRUCTIONS:
            return None
        name = f"outside.{number}"
        counted = [f"%last{i}" for i, loop in enumerate(self.site.loops) if item.trips.get(loop.header) is not None]
        tries = self._tries(item)
        parameters = frozenset(item.parameters | self.uniform.parameters)
        accesses = tuple(access for access, _ in found)
        texts = (
            self._item(name, item, reach, found, parameters),
            self._driver(name, tries, counted, accesses, parameters),
        )
        return _Code(name, texts, accesses, parameters)

    def _signature(self, parameters: frozenset[str], accesses: Iterable[Access]) -> list[tuple[str, str]]:
        """Types and names of what both functions take."""
        own = [(str(p.ty), parameter_text(p.name)) for p in self.function.params if p.name in parameters]
        return [
            *own,
            *(("i64", f"%{name}") for name in _IDS),
            *(("i64", f"%room{i}") for i in range(len(_roots(accesses)))),
            ("ptr", "%told"),
        ]

    def _item(
        self,
        name: str,
        item: _Values,
        reach: str,
        found: Sequence[tuple[Access, str]],
        parameters: frozenset[str],
    ) -> str:
        """The function for one work-item: the number of an access that it makes outside, from 1, or 0."""
        out = item.out
        roots = _roots(access for access, _ in found)
        which, where = "0", "0"
        for number, (access, offset) in reversed(list(enumerate(found, 1))):
            room = out.let(f"sub i64 %room{roots.index(access.root)}, {access.bytes}")
            none = out.let(f"icmp slt i64 {room}, 0")
            beyond = out.let(f"icmp ugt i64 {offset}, {room}")
            outside = out.either(none, beyond)
            which = out.let(f"select i1 {outside}, i32 {number}, i32 {which}")
            where = out.pick(outside, offset, where)
        comes = out.both(reach, *item.valid)
        which = out.let(f"select i1 {comes}, i32 {which}, i32 0")
        ids = [("i64", f"%gid{dim}") for dim in range(3)]
        flags = [("i1", f"%last{i}") for i in range(len(self.site.loops))]
        parts = [*self._signature(parameters, (access for access, _ in found)), *ids, *flags]
        head = f"define internal i32 @{name}.item({', '.join(f'{ty} {text}' for ty, text in parts)}) #0 {{"
        return "\n".join([head, *out.lines, f"  store i64 {where}, ptr %told", f"  ret i32 {which}", "}"])

    def _driver(
        self,
        name: str,
        tries: Sequence[Sequence[str]],
        counted: Sequence[str],
        accesses: Sequence[Access],
        parameters: frozenset[str],
    ) -> str:
        """The function that tries the work-items ``tries``, of each dimension, and the trips of ``counted`` loops."""
        parts = self._signature(parameters, accesses)
        lines = [f"define internal i32 @{name}({', '.join(f'{ty} {text}' for ty, text in parts)}) #1 {{", "entry:"]
        tables = [f"  %table{dim} = alloca [{len(items)} x i64]" for dim, items in enumerate(tries)]
        lines += [*tables, *self.out.lines]
        for dim, items in enumerate(tries):
            for at, text in enumerate(items):
                lines.append(f"  %place{dim}.{at} = getelementptr i64, ptr %table{dim}, i64 {at}")
                lines.append(f"  store i64 {text}, ptr %place{dim}.{at}")
        total = len(tries[0]) * len(tries[1]) * len(tries[2]) << len(counted)
        lines += ["  br label %try", "try:", "  %n = phi i64 [ 0, %entry ], [ %n.next, %next ]"]
        rest = "%n"
        for dim, items in enumerate(tries):
            lines += [
                f"  %at{dim} = urem i64 {rest}, {len(items)}",
                f"  %rest{dim} = udiv i64 {rest}, {len(items)}",
                f"  %from{dim} = getelementptr i64, ptr %table{dim}, i64 %at{dim}",
                f"  %gid{dim} = load i64, ptr %from{dim}",
            ]
            rest = f"%rest{dim}"
        for number, flag in enumerate(counted):
            lines += [f"  {flag}.b = lshr i64 {rest}, {number}", f"  {flag} = trunc i64 {flag}.b to i1"]
        flags = [f"%last{i}" for i in range(len(self.site.loops))]
        passed = [*parts, *(("i64", f"%gid{dim}") for dim in range(3))]
        passed += [("i1", flag if flag in counted else "false") for flag in flags]
        lines += [
            f"  %found = call i32 @{name}.item({', '.join(f'{ty} {text}' for ty, text in passed)})",
            "  %outside = icmp ne i32 %found, 0",
            "  br i1 %outside, label %tell, label %next",
            "next:",
            "  %n.next = add i64 %n, 1",
            f"  %more = icmp ult i64 %n.next, {total}",
            "  br i1 %more, label %try, label %leave",
            "tell:",
        ]
        for dim in range(3):
            lines.append(f"  %told{dim} = getelementptr i64, ptr %told, i64 {dim + 1}")
            lines.append(f"  store i64 %gid{dim}, ptr %told{dim}")
        return "\n".join([*lines, "  ret i32 %found", "leave:", "  ret i32 0", "}"])

    def _tries(self, item: _Values) -> list[list[str]]:
        """Global ids to try, of each dimension."""
        limits = _Limits(self, item)
        found = [limits.items(dim) for dim in range(3)]
        loops = sum(item.trips.get(loop.header) is not None for loop in self.site.loops)
        while len(found[0]) * len(found[1]) * len(found[2]) << loops > MOST_TRIES:
            longest = max(found, key=len)
            longest.pop()
        return found

    def line(self, value: Value, depth: int = 12) -> _Line | None:
        """A number as a sum; None if it is none."""
        if value.ty.kind != "int" or depth == 0:
            return None
        if not value.is_local:
            return _Line((), (), int(value.text)) if value.text.lstrip("-").isdigit() else None
        if self.uniform.value(value) is not None:
            return _Line((), ((1, value),), 0)
        inst = self.counts.defs.get(value.text)
        if inst is None:
            return None
        if inst.op == "call":
            found = primitive(inst)
            return _Line(((found, 1),), (), 0) if found is not None else None
        if inst.op in ("trunc", "sext", "zext", "freeze"):
            return self.line(inst.args[0], depth - 1)
        if inst.op in ("add", "sub") or (inst.op == "or" and "disjoint" in inst.flags):
            a, b = self.line(inst.args[0], depth - 1), self.line(inst.args[1], depth - 1)
            return a.plus(b, -1 if inst.op == "sub" else 1) if a is not None and b is not None else None
        if inst.op in ("mul", "shl") and inst.args[1].text.isdigit():
            number = int(inst.args[1].text)
            a = self.line(inst.args[0], depth - 1)
            return a.times(number if inst.op == "mul" else 1 << min(number, 62)) if a is not None else None
        if inst.op == "xor" and inst.args[1].text == "-1":
            a = self.line(inst.args[0], depth - 1)
            return _Line((), (), -1).plus(a, -1) if a is not None else None
        return None

    def sum(self, line: _Line, *, signed: bool) -> str | None:
        """The text of what a sum has besides ids."""
        total = str(line.constant)
        for times, value in line.rest:
            text = self.uniform.wide(value, signed=signed)
            if text is None:
                return None
            part = text if times == 1 else self.out.let(f"mul i64 {text}, {times}")
            total = part if total == "0" else self.out.let(f"add i64 {total}, {part}")
        return total


class _Limits:
    """The first and last ids, of each kind, that the conditions around a site let come there."""

    def __init__(self, place: _Place, item: _Values) -> None:
        self.place, self.item, self.out = place, item, place.out
        self.low: dict[tuple[str, int], str] = {}
        self.high: dict[tuple[str, int], str] = {}
        self.told: set[tuple[str, int]] = set()
        for dim in range(3):
            last = self.out.let(f"add i64 %off{dim}, %gsz{dim}")
            self._begin(("global_id", dim), f"%off{dim}", self.out.let(f"sub i64 {last}, 1"))
            self._begin(("local_id", dim), "0", self.out.let(f"sub i64 %els{dim}, 1"))
            self._begin(("group_id", dim), "0", self.out.let(f"sub i64 %ngr{dim}, 1"))
        for inst, order in necessary(place.site.block, place.function, place.cfg, place.counts.defs):
            self._learn(inst, order)

    def _begin(self, key: tuple[str, int], low: str, high: str) -> None:
        self.low[key], self.high[key] = low, high

    def items(self, dim: int) -> list[str]:
        """Global ids to try, those that are likeliest to reach outside first."""
        kinds = {kind for kind, d in self.item.kinds if d == dim}
        if not kinds:
            return [f"%off{dim}"]
        low, high = self.low["global_id", dim], self.high["global_id", dim]
        ends = [high, low]
        if kinds == {"global_id"}:
            return [*ends, *self._strided(dim), *self._cut(dim)]
        corners = []
        for group in (self.high["group_id", dim], self.low["group_id", dim]):
            origin = self.out.let(f"mul i64 {group}, %els{dim}")
            origin = self.out.let(f"add i64 {origin}, %off{dim}")
            for local in (self.high["local_id", dim], self.low["local_id", dim]):
                item = self.out.let(f"add i64 {origin}, {local}")
                corners.append(self._inside(item, dim))
        return [*corners, high] if ("global_id", dim) in self.told else corners

    def _inside(self, item: str, dim: int) -> str:
        """A global id, or the nearest one that there is."""
        last = self.out.let(f"add i64 %off{dim}, %gsz{dim}")
        return self.out.most(self.out.least(item, self.out.let(f"sub i64 {last}, 1")), f"%off{dim}")

    def _strided(self, dim: int) -> list[str]:
        """The work-item that makes the last trip of all, in a loop from the global id on by the global size."""
        found = []
        for loop in self.place.site.loops:
            count = self.place.counts.count(loop)
            if count is None or count.order[1:] not in ("lt", "le") or count.subtracts:
                continue
            start = self.place.line(count.start)
            step, limit = self.place.uniform.wide(count.step), self.place.uniform.wide(count.limit)
            if start is None or start.ids != ((("global_id", dim), 1),) or step is None or limit is None:
                continue
            rest = self.place.sum(start, signed=True)
            if rest is None:
                continue
            out = self.out
            first = out.let(f"add i64 %off{dim}, {rest}")
            reach = out.let(f"sub i64 {limit}, {first}")
            reach = out.let(f"sub i64 {reach}, 1") if count.order[1:] == "lt" else reach
            some = out.both(out.let(f"icmp sge i64 {reach}, 0"), out.let(f"icmp sgt i64 {step}, 0"))
            left = out.let(f"urem i64 {reach}, {out.pick(some, step, '1')}")
            found.append(self._inside(out.let(f"add i64 %off{dim}, {out.pick(some, left, '0')}"), dim))
        return found

    def _cut(self, dim: int) -> list[str]:
        """The first work-items whose ids, cut by a remainder or mask, are the largest that there are."""
        found = []
        for inst in self.item.remainders[:_MOST_REMAINDERS]:
            line, most = self.place.line(inst.args[0]), self.place.uniform.wide(inst.args[1], signed=False)
            if line is None or most is None or line.ids != ((("global_id", dim), 1),):
                continue
            rest = self.place.sum(line, signed=True)
            if rest is not None:
                most = self.out.let(f"sub i64 {most}, 1") if inst.op == "urem" else most
                found.append(self._inside(self.out.let(f"sub i64 {most}, {rest}"), dim))
        return found

    def _learn(self, inst: Inst, order: str) -> None:
        """Narrow the ids by a comparison that holds at the site."""
        if inst.args[0].ty.kind != "int":
            return
        left, right = self.place.line(inst.args[0]), self.place.line(inst.args[1])
        if left is None or right is None:
            return
        whole = left.plus(right, -1)  # compared with 0
        if len(whole.ids) != 1 or whole.ids[0][0] not in self.low:
            return
        key, factor = whole.ids[0]
        unsigned = order[0] == "u"
        rest = self.place.sum(_Line((), whole.rest, whole.constant), signed=not unsigned)
        if rest is None:
            return
        kind = order if order in ("eq", "ne") else order[1:]
        if unsigned and left.ids and kind in ("lt", "le") and left.constant < 0 and not left.rest and factor == 1:
            # (x - 1) < n, of unsigned numbers: x is 1 at least.
            self._at_least(key, str(-left.constant))
        if factor < 0:
            factor, kind = -factor, {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(kind, kind)
        else:
            rest = self.out.let(f"sub i64 0, {rest}")
        # Now: factor * id kind rest.
        if kind == "eq":
            number = self._floor(rest, factor)
            self._at_least(key, number)
            self._at_most(key, number)
        elif kind == "ne":
            self._not(key, self._floor(rest, factor))
        elif kind in ("lt", "le"):
            most = self.out.let(f"sub i64 {rest}, 1") if kind == "lt" else rest
            self._at_most(key, self._floor(most, factor))
        else:
            below = self.out.let(f"sub i64 {rest}, 1") if kind == "ge" else rest
            self._at_least(key, self.out.let(f"add i64 {self._floor(below, factor)}, 1"))

    def _floor(self, number: str, factor: int) -> str:
        """A quotient, rounded down."""
        if factor == 1:
            return number
        quotient, left = self.out.let(f"sdiv i64 {number}, {factor}"), self.out.let(f"srem i64 {number}, {factor}")
        negative = self.out.let(f"icmp slt i64 {left}, 0")
        return self.out.pick(negative, self.out.let(f"sub i64 {quotient}, 1"), quotient)

    def _at_most(self, key: tuple[str, int], number: str) -> None:
        self.told.add(key)
        self.high[key] = self.out.most(self.out.least(self.high[key], number), self.low[key])

    def _at_least(self, key: tuple[str, int], number: str) -> None:
        self.told.add(key)
        self.low[key] = self.out.least(self.out.most(self.low[key], number), self.high[key])

    def _not(self, key: tuple[str, int], number: str) -> None:
        self.told.add(key)
        low, high = self.low[key], self.high[key]
        out = self.out
        self.low[key] = out.pick(out.let(f"icmp eq i64 {low}, {number}"), out.let(f"add i64 {low}, 1"), low)
        self.high[key] = out.pick(out.let(f"icmp eq i64 {high}, {number}"), out.let(f"sub i64 {high}, 1"), high)
        for limits in (self.low, self.high):  # where one id is all there is
            limits[key] = out.most(out.least(limits[key], high), low)
