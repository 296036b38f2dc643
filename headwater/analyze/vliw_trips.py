"""Input: a VLIW shader, a launch and a loop of the shader. Output: how often the loop's body runs, as far as the code
and the launch determine it.

As in `trips`: components of registers are followed as ``start + step × iteration``; a loop that leaves at one place by
a comparison of such a component with a number has a count that is a fact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from headwater.analyze.launch import Array
from headwater.analyze.trips import NOBODY, Trip, across, chance, iterations, signed
from headwater.emulate.wave.evaluate_numpy import evaluate
from headwater.isa.semantics.model import Mode
from headwater.isa.semantics.types import is_integer
from headwater.isa.vliw.model import HALF, KCACHE_STARTS, LITERAL, MINUS_ONE_INT, ONE, ONE_INT, PS, PV, ZERO
from headwater.isa.vliw.semantics import semantics

if TYPE_CHECKING:
    from headwater.analyze.launch import Launch
    from headwater.isa.vliw.model import AluGroup, AluOp, Cf, Fetch, Shader, Source

_MASK = 0xFFFFFFFF
_INLINE = {ZERO: 0, ONE: 0x3F800000, ONE_INT: 1, MINUS_ONE_INT: _MASK, HALF: 0x3F000000}
_OPPOSITE = {"eq": "ne", "ne": "eq", "gt": "le", "le": "gt", "ge": "lt", "lt": "ge"}
_KCACHE_LENGTH = 32
_MASKED = 7
_PLAIN_MODE = Mode()
# Operations with operands called floats of which nothing but bits are asked, or that numbers of work-items are made by.
_PLAIN = {"CNDE_INT", "FLT_TO_INT", "FLT_TO_INT_TRUNC", "FLT_TO_INT_FLOOR"}
_PIXEL_ROW = 8192
"""Width of a domain whose work-items are numbered across it: what the HD 4000's largest is (AMD, CAL Programming
Guide, "Device attributes")."""

Place = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """``start + step × iteration``, modulo 2³²: uint32, of one element or of one for each work-item. ``launch``:
    whether the launch decided it."""

    start: Array
    step: Array | None = None
    launch: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """``left RELATION right``, all ones or a true predicate where it holds."""

    left: Affine
    right: Affine
    relation: str
    unsigned: bool

    def holds(self) -> Array | None:
        """Where it does; None if that changes from iteration to iteration."""
        if self.left.step is not None or self.right.step is not None:
            return None
        a, b = ((s.start.astype(np.int64) if self.unsigned else signed(s.start)) for s in (self.left, self.right))
        found = {"eq": a == b, "ne": a != b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b}[self.relation]
        return np.asarray(found)


Value = Affine | Comparison


def number(bits: int, *, launch: bool = False) -> Affine:
    """A number that is the same everywhere."""
    return Affine(np.array([bits & _MASK], np.uint32), None, launch)


@dataclass(frozen=True)
class Start:
    """What a shader begins with: ``values`` of registers' components, ``constants`` by buffer, element and component;
    ``live``: which lanes have a work-item, wavefronts × lanes (None: no launch is known); ``whole``: these are all of
    the launch's wavefronts."""

    values: Mapping[Place, Affine] = field(default_factory=dict)
    constants: Mapping[tuple[int, int, int], Affine] = field(default_factory=dict)
    live: Array | None = None
    whole: bool = False


def start_of(launch: Launch | None, known: Mapping[tuple[int, int, int], int], lanes: int, *, pixel: bool) -> Start:
    """What a kernel from OpenCL C begins with in a launch (`headwater.il.from_llvm` says where). ``known``: constants
    that the caller gives; ``lanes`` of a wavefront."""
    constants = {place: number(bits) for place, bits in known.items()}
    if launch is None:
        return Start({}, constants)
    whole = [n * g for n, g in zip(launch.groups, launch.group, strict=True)]
    rows = (whole, launch.group, launch.groups, (0, 0, 0))
    constants |= {(0, row, c): number(rows[row][c], launch=True) for row in range(4) for c in range(3)}
    constants[0, 0, 3] = number(launch.dimensions, launch=True)
    sample = launch.sample(lanes)
    if not pixel:
        places = {(0, c): np.broadcast_to(ids, sample.live.shape) for c, ids in enumerate(sample.local)}
        places |= {(1, c): np.broadcast_to(ids, sample.live.shape) for c, ids in enumerate(sample.group)}
        values = {place: Affine(np.ascontiguousarray(ids).ravel(), None, True) for place, ids in places.items()}
        return Start(values, constants, sample.live, sample.whole)
    # Work-items are numbered along the rows of a domain.
    group = sample.group[0] + launch.groups[0] * (sample.group[1] + launch.groups[1] * sample.group[2])
    local = np.arange(len(group), dtype=np.int64)[:, None] % (-(-prod(launch.group) // lanes))
    item = (group.astype(np.int64) * prod(launch.group) + local * lanes + np.arange(lanes)).ravel()
    ends = (item % _PIXEL_ROW, item // _PIXEL_ROW)
    values = {
        (0, c): Affine((n.astype(np.float32) + np.float32(0.5)).view(np.uint32), None, True) for c, n in enumerate(ends)
    }
    constants[0, 4, 1] = number(_PIXEL_ROW, launch=True)
    constants[0, 4, 2] = number(prod(launch.size), launch=True)
    return Start(values, constants, sample.live, sample.whole)


class _State:
    """What the components of registers hold, the previous group's results among them."""

    def __init__(self, values: Mapping[Place, Value], constants: Mapping[tuple[int, int, int], Affine]) -> None:
        self.values = dict(values)
        self.constants = constants
        self.last: dict[int, Value] = {}
        self.predicate: Comparison | None = None

    def source(self, source: Source, cf: Cf) -> Value | None:
        if source.rel or source.abs or source.neg:
            return None
        if source.sel == LITERAL:
            return number(source.literal or 0)
        if source.sel in _INLINE:
            return number(_INLINE[source.sel])
        if source.sel == PV:
            return self.last.get(source.chan)
        if source.sel == PS:
            return self.last.get(4)
        for window, start in enumerate(KCACHE_STARTS):
            if start <= source.sel < start + _KCACHE_LENGTH:
                bank, line = cf.fields[f"kcache_bank{window}"], cf.fields[f"kcache_addr{window}"]
                return self.constants.get((bank, 16 * line + source.sel - start, source.chan))
        return self.values.get((source.sel, source.chan)) if source.sel < KCACHE_STARTS[0] else None

    def group(self, group: AluGroup, cf: Cf) -> None:
        results: dict[int, Value] = {}
        written: dict[Place, Value | None] = {}
        for op in group.ops:
            made = self.result(op, cf)
            if made is not None:
                results[op.slot] = made
            if "pred" in op.row.flags:
                self.predicate = made if isinstance(made, Comparison) else None
            if op.write and op.row.kind != "LDS":
                written[op.dst_gpr, op.dst_chan] = made if not (op.dst_rel or op.clamp or op.pred_sel) else None
        for place, value in written.items():
            if value is None:
                self.values.pop(place, None)
            else:
                self.values[place] = value
        self.last = results

    def result(self, op: AluOp, cf: Cf) -> Value | None:
        name = op.row.name
        found = [self.source(source, cf) for source in op.sources[: op.row.nsrc]]
        if any(value is None for value in found) or op.omod or not found:
            return None
        if name == "MOV":
            return found[0]
        what = semantics(op.row)
        if what.comparison is not None and is_integer(type_ := what.comparison[1].type):
            return self._compared(found, what.comparison[0], type_[0] == "u")
        numbers = [_bits(value) for value in found]
        values = [value for value in numbers if value is not None]
        if len(values) != len(found):
            return None
        if any(value.step is not None for value in values):
            return _combined(name, values)
        kinds = {o.type for o in op.row.operands}
        if what.unsupported or what.effects or what.accesses or (any("f" in k for k in kinds) and name not in _PLAIN):
            return None
        names = [operand.name for operand in op.row.inputs]
        if len(names) != len(values) or what.reads - set(names):  # LDS atomics read memory
            return None
        made = evaluate(what, {n: v.start for n, v in zip(names, values, strict=True)}, _PLAIN_MODE).results.get("D")
        if not isinstance(made, np.ndarray) or made.dtype != np.uint32:
            return None
        return Affine(made, None, any(value.launch for value in values))

    @staticmethod
    def _compared(found: list[Value | None], relation: str, unsigned: bool) -> Value | None:
        left, right = found[0], found[1]
        if isinstance(left, Comparison) and isinstance(right, Affine) and relation in ("eq", "ne"):
            if right.step is not None or right.start.any():
                return None
            # A comparison of a comparison's result with 0: itself, or its opposite.
            return (
                left if relation == "ne" else Comparison(left.left, left.right, _OPPOSITE[left.relation], left.unsigned)
            )
        if isinstance(left, Affine) and isinstance(right, Affine):
            return Comparison(left, right, relation, unsigned)
        return None


def _bits(value: Value | None) -> Affine | None:
    """A value as a number: a comparison's result is all ones where it holds."""
    if not isinstance(value, Comparison):
        return value
    holds = value.holds()
    if holds is None:
        return None
    return Affine(np.where(holds, np.uint32(_MASK), np.uint32(0)), None, value.left.launch or value.right.launch)


def _combined(name: str, values: list[Affine]) -> Affine | None:
    """The sum, difference or product of two values, of which at least one has a step."""
    if len(values) < 2:
        return None
    a, b = values[:2]
    zero = np.zeros(1, np.uint32)
    ends = [value.step if value.step is not None else zero for value in (a, b)]
    launch = a.launch or b.launch
    if name == "ADD_INT":
        return Affine(a.start + b.start, ends[0] + ends[1], launch)
    if name == "SUB_INT":
        return Affine(a.start - b.start, ends[0] - ends[1], launch)
    if name == "LSHL_INT" and b.step is None:
        return Affine(a.start << (b.start & 31), ends[0] << (b.start & 31), launch)
    if name in ("MULLO_INT", "MULLO_UINT") and (a.step is None or b.step is None):
        return Affine(a.start * b.start, ends[0] * b.start + a.start * ends[1], launch)
    return None


def trips_of(shader: Shader, first: int, last: int, start: Start, *, tail: bool) -> Trip:
    """The trips of the loop whose body is the control-flow instructions ``first`` to ``last``.

    The number of times that the whole body runs: one more than it goes back if it is tested last (``tail``).
    """
    body = range(first, last + 1)
    inner = [n for n in range(first + 1, last) if "loop" in shader.cf[n].row.flags]
    breaks = [n for n in body if "break" in shader.cf[n].row.flags]
    breaks = [n for n in breaks if not any(start_ < n < _end(shader, start_) for start_ in inner)]
    if len(breaks) != 1:
        return Trip(None, "it ends at several places" if breaks else "nothing ends it that is known")
    place = breaks[0]
    before = _State(start.values, start.constants)
    own = first - ("loop" not in shader.cf[first].row.flags)  # its LOOP instruction is not run again
    entering = _through(before, shader, 0, own, start.live)
    steps = _steps(shader, body, before)
    values: dict[Place, Value] = {}
    for register, value in before.values.items():
        if register not in steps:
            values[register] = value
        elif isinstance(value, Affine) and (step := steps[register]) is not None:
            values[register] = Affine(value.start, step.start, value.launch or step.launch)
    state = _State(values, start.constants)
    _through(state, shader, first, place + 1, None)
    test = state.predicate
    if test is None:
        return Trip(None, "what it compares is not known before it runs")
    # ALU_BREAK: lanes that the predicate turned off leave. JUMP and LOOP_BREAK: those that it let through do.
    leaves_when = shader.cf[place].row.kind == "CF"
    counts = iterations(test.left, test.right, test.relation, test.unsigned, leaves_when)
    return _trip(test, np.where(counts < 0, counts, counts + tail), entering)


def _trip(test: Comparison, counts: Array, entering: Array | None) -> Trip:
    unknown = Trip(None, "what it compares is not known before it runs")
    launch = test.left.launch or test.right.launch
    counter, limit = (test.left, test.right) if test.left.step is not None else (test.right, test.left)
    if counter.step is None:
        return unknown
    step, goal = signed(counter.step), limit.start.astype(np.int64) if test.unsigned else signed(limit.start)
    if counts.size == 1:
        if counts[0] < 0:
            return unknown
        return Trip(int(counts[0]), f"a counter goes to {goal[0]} in steps of {step[0]:+d}", launch)
    if entering is None:
        return unknown
    counts = counts.reshape(entering.shape)
    taking = entering.any(axis=1)
    if bool((counts[entering] < 0).any()):
        return unknown
    why = f"each work-item's counter goes to {across(goal)} in steps of {across(step)}"
    if not taking.any():
        return Trip(0, NOBODY, True)
    longest = np.where(entering, counts, 0).max(axis=1)[taking]
    low, high = int(longest.min()), int(longest.max())
    spread = "" if low == high else f"; wavefronts run it {low:,} to {high:,} times"
    whole = int((longest[:, None] * entering[taking]).sum())
    share = int(counts[entering].sum()) / whole if whole else 1.0
    mean = float(longest.mean())
    return Trip(int(mean) if mean == int(mean) else mean, why + spread, True, share)


@dataclass
class _Way:
    """What is found on the way through a shader: the lanes that run each control-flow instruction, as far as known, and
    of jumps that are known the share of the wavefronts that take them. ``whole``: these are all wavefronts."""

    whole: bool = False
    lanes: dict[int, Array] = field(default_factory=dict)
    chances: dict[tuple[int, int], float] = field(default_factory=dict)


def way_of(shader: Shader, start: Start) -> tuple[list[float], dict[tuple[int, int], float]]:
    """The mean share of a wavefront's work-items that each control-flow instruction is run for, and which share of the
    wavefronts goes from one to another, where the launch decides that."""
    way = _Way(start.whole)
    _through(_State(start.values, start.constants), shader, 0, len(shader.cf), start.live, way)
    shares = [1.0] * len(shader.cf)
    for index, lanes in way.lanes.items():
        live = int(start.live[lanes.any(axis=1)].sum()) if start.live is not None else 0
        shares[index] = int(lanes.sum()) / live if live else 1.0
    return shares, way.chances


def _through(
    state: _State, shader: Shader, first: int, stop: int, live: Array | None, way: _Way | None = None
) -> Array | None:
    """Follow the code from ``first`` to before ``stop``: what only some work-items did is not known after it. The lanes
    that come to ``stop``, as far as known."""
    lanes = live
    closing: dict[int, list[range]] = {}
    # Jumps over what follows, innermost last: where to, which lanes came, and which of them did not jump.
    skipping: list[tuple[int, Array | None, Array | None]] = []
    for index in range(first, stop + 1):
        for region in closing.pop(index, ()):
            _forget(state, shader, region)
        skipped: tuple[Array | None, Array | None] = None, None
        while skipping and skipping[-1][0] == index:
            skipped = skipping.pop()[1:]
            lanes = skipped[0]
        if index == stop:
            break
        cf = shader.cf[index]
        flags = cf.row.flags
        _follow(state, cf)
        if way is not None and lanes is not None:
            way.lanes[index] = lanes
        if "loop" in flags and index > first:
            own = range(index, _end(shader, index) + 1)
            _forget(state, shader, own)
            closing.setdefault(own.stop, []).append(own)
        elif "jump" in flags and index < (target := cf.fields["addr"]):
            closing.setdefault(target, []).append(range(index, target))
            if cf.row.name == "JUMP":
                stays = state.predicate.holds() if state.predicate is not None else None
            else:
                stays = None if skipped[1] is None else ~skipped[1]
            skipping.append((target, lanes, stays))
            after = _narrowed(lanes, stays)
            if way is not None and lanes is not None and after is not None and stays is not None:
                came, left = int(lanes.any(axis=1).sum()), int(after.any(axis=1).sum())
                unsure = not way.whole or any(entry[2] is None for entry in skipping[:-1])
                if came:
                    way.chances[index, target] = chance(came - left, came, sure=not unsure)
                    way.chances[index, index + 1] = chance(left, came, sure=way.whole)
            lanes = after
    return lanes


def _narrowed(lanes: Array | None, holds: Array | None) -> Array | None:
    if lanes is None or holds is None:
        return lanes
    return lanes & (holds.reshape(lanes.shape) if holds.size > 1 else holds[0])


def _forget(state: _State, shader: Shader, region: range) -> None:
    for number_ in region:
        cf = shader.cf[number_]
        for group in cf.groups:
            for op in group.ops:
                if op.write and op.row.kind != "LDS":
                    state.values.pop((op.dst_gpr, op.dst_chan), None)
        for fetch in cf.fetches:
            for place in _fetched(fetch):
                state.values.pop(place, None)


def _follow(state: _State, cf: Cf) -> None:
    state.last = {}
    for group in cf.groups:
        state.group(group, cf)
    for fetch in cf.fetches:
        for place in _fetched(fetch):
            state.values.pop(place, None)


def _fetched(fetch: Fetch) -> set[Place]:
    """The components that a fetch writes."""
    fields = fetch.fields
    return {(fields["dst_gpr"], n) for n, c in enumerate("xyzw") if fields[f"dst_sel_{c}"] != _MASKED}


def _steps(shader: Shader, body: range, before: _State) -> dict[Place, Affine | None]:
    """Components that the loop writes -> by how much an iteration changes them, where that is one number."""
    writers: dict[Place, list[tuple[AluOp, Cf]]] = {}
    fetched: set[Place] = set()
    for number_ in body:
        cf = shader.cf[number_]
        for group in cf.groups:
            for op in group.ops:
                if op.write and op.row.kind != "LDS":
                    writers.setdefault((op.dst_gpr, op.dst_chan), []).append((op, cf))
        for fetch in cf.fetches:
            fetched |= _fetched(fetch)
    found: dict[Place, Affine | None] = dict.fromkeys(fetched)
    fixed = {place: value for place, value in before.values.items() if place not in writers}
    zero = np.zeros(1, np.uint32)
    for place, ops in writers.items():
        found[place] = None
        if len(ops) == 1 and place not in fetched:
            op, cf = ops[0]
            probes = [Affine(number(n).start, zero) for n in (0, 1)]
            made = [_State({**fixed, place: probe}, before.constants).result(op, cf) for probe in probes]
            start, after = made
            if (
                isinstance(start, Affine)
                and isinstance(after, Affine)
                and start.step is not None
                and bool((after.start - start.start == 1).all())
            ):
                found[place] = Affine(start.start, None, start.launch)
    return found


def _end(shader: Shader, start: int) -> int:
    depth = 0
    for index in range(start, len(shader.cf)):
        flags = shader.cf[index].row.flags
        depth += ("loop" in flags) - ("endloop" in flags)
        if depth == 0:
            return index
    return len(shader.cf)
