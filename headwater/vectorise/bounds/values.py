"""Input: a work-item. Output: LLVM IR that computes which places of a kernel it reaches and which addresses it has
there.

What cannot be computed from arguments and sizes is not known, and counts as not reached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from headwater.llvm.builder import Block, Builder
from headwater.llvm.cfg import Cfg, Loop
from headwater.llvm.ir import BINARY, Function, Inst, Param, Value
from headwater.llvm.types import Type
from headwater.vectorise.bounds.accesses import Counts, primitive
from headwater.vectorise.lower.entry import LAUNCH_VECTORS, ArgPlace

MOST_INSTRUCTIONS = 160
"""Of a place in a kernel, beyond which it is not asked for."""

_INTEGER = BINARY - {"fadd", "fsub", "fmul", "fdiv", "frem"}
_DIVISIONS = frozenset(("udiv", "sdiv", "urem", "srem"))
_EXTREMES = {"smin": "slt", "smax": "sgt", "umin": "ult", "umax": "ugt"}
_BOOLEANS = {"true": True, "false": False}
_SIZES = {"global_size": "gsz", "num_groups": "ngr", "global_offset": "off", "enqueued_local_size": "els"}
_FAR = 1 << 62
"""What 64-bit counters and limits stay below, so that differences of two do not wrap around."""

TAKEN = "ptr %launch, ptr %args, ptr %sizes"
"""What all functions take: the launch block, the args block and the array of sizes."""


@dataclass(slots=True)
class Frame:
    """What all functions of a kernel share: its parameters with their places in the args block, and the positions of
    the arguments whose bytes lie in the array of sizes, in the order that they lie there."""

    places: dict[str, ArgPlace]
    sized: list[int] = field(default_factory=list)

    def room(self, position: int) -> int:
        """Where the bytes of an argument lie in the array."""
        if position not in self.sized:
            self.sized.append(position)
        return 1 + self.sized.index(position)


class Lines(Builder[Block]):
    """Instructions of one function under way, which has the parameters `TAKEN`."""

    def __init__(self, prefix: str, frame: Frame) -> None:
        super().__init__(Block, hint=prefix, first=0)
        self.frame = frame
        self.named: dict[str, str] = {}

    def let(self, text: str) -> str:
        name = self.named.get(text)
        if name is None:
            name = self.named[text] = self.emit(text)
        return name

    def size(self, kind: str, dim: int) -> str:
        """A number of the launch block: off, els, gsz or ngr."""
        return self._load("i64", "%launch", LAUNCH_VECTORS[kind] + 8 * dim)

    def argument(self, name: str) -> str:
        """What is passed to the kernel for a parameter; the address of a struct that is passed by value."""
        place = self.frame.places[name]
        if place.kind == "byval":
            return self.let(f"getelementptr i8, ptr %args, i64 {place.offset}")
        return self._load(str(place.param.ty), "%args", place.offset)

    def room(self, position: int, fixed: int) -> str:
        """The bytes of an argument; ``fixed`` of a __local variable, which has none."""
        return str(fixed) if position < 0 else self._load("i64", "%sizes", 8 * self.frame.room(position))

    def _load(self, ty: str, base: str, offset: int) -> str:
        return self.let(f"load {ty}, ptr {self.let(f'getelementptr i8, ptr {base}, i64 {offset}')}")

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
class Values:
    """Writes what computes a work-item's numbers; without ``items``, only those that are the same for all.

    ``loops``: those around the place, whose trips are the first or, where ``%last<n>`` is set, the last. ``valid``:
    what must hold for the numbers to be the kernel's. ``kinds``: ids that are looked at. ``parameters``: the same.
    ``mixed``: numbers that are computed from others by a remainder, a mask or an exclusive or.
    """

    function: Function
    cfg: Cfg
    counts: Counts
    out: Lines
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
    mixed: list[Inst] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.params = {p.name: p for p in self.function.params}

    # Numbers.

    def value(self, value: Value) -> str | None:
        """The text of an integer, a truth, or a pointer or float that is compared; None if it is not known."""
        if not value.is_local:
            text = value.text
            if value.ty.kind == "ptr":  # SPIR's null pointers are the generic one, cast
                return "null" if text == "null" or " null to ptr" in text else None
            if value.ty.kind == "float":
                return text if value.is_float_number else None
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
        place = self.out.frame.places.get(name)
        if param is None or place is None or place.kind != "plain" or param.ty.kind not in ("int", "float", "ptr"):
            return None
        if not 1 < (param.ty.bits or 64) <= 64:
            return None
        self.parameters.add(name)
        return self.out.argument(name)

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
        at = self.out.let(f"getelementptr i8, ptr {self.out.argument(param.name)}, i64 {offset}")
        return self.out.let(f"load {inst.ty}, ptr {at}, align 1")

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
        return self.out.let(f"extractelement {vector.ty} {self.out.argument(param.name)}, i64 {place.text}")

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
            return self.out.size(_SIZES[kind], dim)
        if not self.items:
            return None
        self.kinds.add((kind, dim))
        if kind == "global_id":
            return f"%gid{dim}"
        name = f"{kind} {dim}"
        if name not in self.known:
            out = self.out
            position = out.let(f"sub i64 %gid{dim}, {out.size('off', dim)}")
            group = out.let(f"udiv i64 {position}, {out.size('els', dim)}")
            origin = out.let(f"mul i64 {group}, {out.size('els', dim)}")
            left = out.let(f"sub i64 {out.size('gsz', dim)}, {origin}")
            self.known[f"group_id {dim}"] = group
            self.known[f"local_id {dim}"] = out.let(f"sub i64 {position}, {origin}")
            self.known[f"local_size {dim}"] = out.least(left, out.size("els", dim))
        return self.known.get(name)

    def _binary(self, inst: Inst, texts: list[str]) -> str | None:
        a, b = texts
        ty = inst.ty
        if inst.op in ("urem", "and", "xor") and ty.bits > 1:
            self.mixed.append(inst)
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

    def _compare_floats(self, inst: Inst, texts: list[str]) -> str | None:
        ty = inst.args[0].ty
        return self.out.let(f"fcmp {inst.detail} {ty} {texts[0]}, {texts[1]}") if ty.bits in (32, 64) else None

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
        if step is None or step.narrow:  # cut somewhere, which is looked into for the loop's own counter only
            return self._own_counter(inst, loop, trip, first)
        return self._went_on(inst.ty, first, trip, step.by, subtracts=step.subtracts)

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
        return self.holds(term.args[0], wanted=term.labels[0] == below) if term.op == "br" and term.args else "true"

    def holds(self, condition: Value, *, wanted: bool) -> str:
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
            return self.holds(inst.args[0], wanted=wanted)
        if inst.op == "xor" and inst.args[1].text == "true":
            return self.holds(inst.args[0], wanted=not wanted)
        if inst.op in ("and", "or"):
            join = self.out.both if (inst.op == "and") == wanted else self.out.either
            return join(*(self.holds(one, wanted=wanted) for one in inst.args))
        if inst.op == "select":
            first, yes, no = inst.args
            return self.out.either(
                self.out.both(self.holds(first, wanted=True), self.holds(yes, wanted=wanted)),
                self.out.both(self.holds(first, wanted=False), self.holds(no, wanted=wanted)),
            )
        return "false"


_RULES: dict[str, Callable[[Values, Inst, list[str]], str | None]] = {
    **dict.fromkeys(_INTEGER, Values._binary),
    "trunc": Values._cast,
    "sext": Values._cast,
    "zext": Values._cast,
    "icmp": Values._compare,
    "fcmp": Values._compare_floats,
    "select": Values._select,
}
