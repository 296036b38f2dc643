"""Input: an IL program. Output: the first two accesses that rely on the work-items of a wavefront running in lockstep.

On the chips all work-items of a wavefront execute an instruction before any executes the next one. If one work-item
reads what another has written, or writes what another has read, the order of the program decides, without a fence. On
devices without lockstep such a program gives other results. Addresses are compared as far as they are known
(`headwater.il.lane_values`); accesses whose addresses are not known to differ are assumed to conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwater.il.accesses import Access, Conflict, Pending
from headwater.il.checker import POSITION_KINDS, THREAD_KINDS, Facts
from headwater.il.lane_values import WAVEFRONT, Form, Numbers, Symbol, computed, merged
from headwater.il.model import Instruction, Operand, Program, Register
from headwater.il.table import operations

_TILE = 8
"""A wavefront of pixels is a square of so many a side."""
_LEAST_STEPS, _MOST_LOOKS = 3_000, 16
"""Instructions that are analysed, those of loops repeatedly, and analyses of each on average, before accesses are
assumed to conflict."""
_ONE = 0x3F800000
_INTEGERS = "iuSU"
_LESS = {"ilt": True, "ult": True, "ige": False, "uge": False}
_SHARED = {"uav": "uav", "lds": "LDS "}
_BY_MASK = (
    *("uav_raw_store", "uav_struct_store", "lds_store_vec"),
    *("uav_raw_load", "uav_struct_load", "lds_load_vec"),
)
"""What accesses as many words as the destination's mask has lanes."""
Key = tuple[str, int, str]


def first_conflict(program: Program, facts: Facts) -> Conflict | None:
    """The first such accesses of a program in its modern form, None if there are none."""
    if not (facts.uavs or facts.uses_global or facts.lds_bytes or facts.lds_dwords_per_thread):
        return None
    analysis = _Analysis(program, facts)
    try:
        analysis.run()
    except _Found as found:
        return found.conflict
    return None


class _Found(Exception):
    def __init__(self, conflict: Conflict) -> None:
        super().__init__()
        self.conflict = conflict


class _State:
    """What registers have: changes on top of what they had ``below``."""

    __slots__ = ("below", "own")

    def __init__(self, below: _State | None, own: dict[Key, Form] | None = None) -> None:
        self.below = below
        self.own = {} if own is None else own

    def get(self, key: Key) -> Form | None:
        state: _State | None = self
        while state is not None:
            if key in state.own:
                return state.own[key]
            state = state.below
        return None

    def changes(self, base: _State) -> dict[Key, Form]:
        """All that is on top of a state below."""
        found: dict[Key, Form] = {}
        state: _State | None = self
        while state is not None and state is not base:
            found = {**state.own, **found}
            state = state.below
        return found


_Way = tuple[dict[Key, Form], bool]
"""The changes of registers on a way, and whether all of a wavefront take it together."""


@dataclass
class _Loop:
    """A loop, or a switch, that is being looked at: the state that it began in, how deep in branches it stands, and the
    ways that lead out of it or to another trip."""

    base: _State
    depth: int
    is_switch: bool = False
    left: list[_Way] = field(default_factory=list)
    continued: list[_Way] = field(default_factory=list)
    below: list[tuple[Form, int, bool]] = field(default_factory=list)
    """What is below a number in each trip, or the loop ends; whether that is before the trip accesses memory."""
    accesses: int = 0
    """How many were noted before it."""


class _Analysis:
    def __init__(self, program: Program, facts: Facts) -> None:
        self.program = program
        self.facts = facts
        self.symbols = self.invariants = 0
        self.known: dict[Any, Form] = {}
        group = facts.group or (WAVEFRONT, 1, 1)
        self.needed = _needed(program)
        self.main = _that_matter(program.body, self.needed)
        self.functions = {f.number: _that_matter(f.body, self.needed) for f in program.functions}
        self.items = group[0] * group[1] * group[2] if program.kind == "cs" else WAVEFRONT
        self.numbers: Numbers = np.arange(self.items, dtype=np.int64)
        self.state: _State | None = _State(None)
        self.pending = Pending(self.items)
        self.loops: list[_Loop] = []
        self.branches: list[bool] = []  # whether all of a wavefront take the same way, of each that is open
        self.steps = self.noted = 0
        whole = len(self.main) + sum(map(len, self.functions.values()))
        self.most_steps = max(_LEAST_STEPS, _MOST_LOOKS * whole)
        self.less: dict[Symbol, tuple[Form, int, bool]] = {}
        """Results of comparisons with a number: what is compared, the number, and whether the result is that it is less
        or that it is not."""

    def run(self) -> None:
        self.body(self.main)

    # -- values --------------------------------------------------------------------------------------------------------

    def fresh(self, uniform: bool, *, scaled: bool = False) -> Form:
        self.symbols += 1
        return Form(np.zeros(self.items, np.int64), ((Symbol(self.symbols, uniform, scaled), 1),))

    def constant(self, number: int) -> Form:
        known = self.known.get(number)
        if known is None:
            wrapped = (number + (1 << 31)) % (1 << 32) - (1 << 31)
            known = self.known[number] = Form(np.full(self.items, wrapped, np.int64))
        return known

    def remembered(self, key: Any, uniform: bool = True) -> Form:
        """What is not known and never changes."""
        if key not in self.known:
            self.invariants += 1
            symbol = Symbol(-self.invariants, uniform)  # below those that belong to a trip of a loop
            self.known[key] = Form(np.zeros(self.items, np.int64), ((symbol, 1),))
        return self.known[key]

    def number_of_item(self, kind: str, lane: int) -> Form:
        """A lane of one of the work-item's numbers."""
        which = THREAD_KINDS[kind]
        known = self.known.get(("item", which, lane))
        if known is None:
            known = self.known["item", which, lane] = self._number_of_item(which, lane)
        return known

    def _number_of_item(self, which: str, lane: int) -> Form:
        group = self.facts.group
        if group is None:
            wave = self.remembered("wavefront")
            if which in ("local_flat", "global_flat"):
                return Form(self.numbers).plus(wave if which == "local_flat" else self.remembered("all before"))
            return self.remembered((which, lane), uniform=which.startswith("group"))
        if which.endswith("_flat"):
            local = Form(self.numbers)
            before = self.remembered("group_flat")
            return {
                "local_flat": local,
                "group_flat": before,
                "global_flat": before.times(self.items).plus(local),
            }[which]
        if lane == 3:
            return self.constant(0)
        place = self.numbers // int(np.prod(group[:lane], dtype=np.int64)) % group[lane]
        local, before = Form(place), self.remembered(("group", lane))
        return {"local": local, "group": before, "global": before.times(group[lane]).plus(local)}[which]

    def position(self, lane: int) -> Form:
        if lane > 1:
            return self.constant(0 if lane == 2 else _ONE)
        place = self.numbers % _TILE if lane == 0 else self.numbers // _TILE
        tile = self.remembered(("tile", lane)).times(_TILE)
        return Form(place, tile.symbols, half=True)

    def register(self, register: Register, lane: str, made: Instruction) -> Form:
        """A lane of a register, as far as it is known. What is read from memory is noted elsewhere."""
        if lane in "01":
            return self.constant(_ONE if lane == "1" else 0)
        kind, number, place = register.kind, register.number or 0, "xyzw".index(lane)
        if kind == "l":
            return self.constant(self.facts.literals[number][place])
        if kind in THREAD_KINDS:
            return self.number_of_item(kind, place)
        if kind in POSITION_KINDS:
            return self.position(place)
        if kind == "vObjIndex":
            return self.remembered("vObjIndex", uniform=False)
        if kind in ("r", "o"):
            assert self.state is not None
            return self.state.get((kind, number, lane)) or self.constant(0)
        if kind == "cb":
            index = self.index(register, made)
            if (at := index.constant) is not None:
                return self.remembered(("cb", number, at, lane))
            return self.fresh(index.uniform)
        return self.fresh(False)

    def index(self, register: Register, made: Instruction) -> Form:
        assert register.index is not None
        offset = register.index.offset
        if register.index.register is None:
            return self.constant(offset)
        return self.register(register.index.register, register.index.lane or "x", made).moved(offset)

    def source(self, operand: Operand, letter: str, position: int, made: Instruction) -> Form:
        """What a source has in one of its places."""
        lanes = operand.lanes or "xyzw"
        form = self.register(operand.register, lanes[position], made)
        for modifier in operand.modifiers:
            marked = modifier.arguments[0] if modifier.arguments else "xyzw"
            if modifier.name == "neg" and letter in _INTEGERS:
                form = form.times(-1) if "xyzw"[position] in marked else form
            else:
                form = self.fresh(form.uniform)
        return form

    # -- control flow --------------------------------------------------------------------------------------------------

    def body(self, body: tuple[Instruction, ...]) -> None:
        at = 0
        while at < len(body):
            at = self.statement(body, at)

    def block(self, body: tuple[Instruction, ...], at: int, *ends: str) -> int:
        """Look at instructions up to one of these."""
        while body[at].mnemonic not in ends:
            at = self.statement(body, at)
        return at

    def statement(self, body: tuple[Instruction, ...], at: int) -> int:
        made = body[at]
        name = made.mnemonic
        self.steps += 1
        if self.steps > self.most_steps:
            raise _Found(Conflict("memory", made, made))
        if name in ("whileloop", "loop"):
            return self.loop(body, at)
        if name == "switch":
            return self.switch(body, at)
        if name.startswith("if"):
            return self.branch(body, at)
        if self.state is None:
            return at + 1
        if name.startswith(("break", "continue")):
            self.jump(made)
        elif name.startswith("call"):
            self.call(made)
        elif name.startswith("ret"):
            if not operations()[name].sources:
                self.state = None
        elif name.startswith(("discard", "kill")):
            pass
        else:
            self.plain(made)
        return at + 1

    def is_uniform_branch(self, made: Instruction) -> bool:
        """Whether all work-items of a wavefront decide the same at an instruction with a condition."""
        letters = operations()[made.mnemonic].sources
        uniform = True
        for letter, operand in zip(letters, made.operands, strict=False):
            self.read(operand, made)
            uniform &= self.source(operand, letter, 0, made).uniform
        return uniform

    def branch(self, body: tuple[Instruction, ...], at: int) -> int:
        base = self.state
        uniform = base is None or self.is_uniform_branch(body[at])
        self.branches.append(uniform)
        ways: list[_Way] = []
        self.state = None if base is None else _State(base)
        at = self.block(body, at + 1, "else", "endif")
        self.arrive(ways, base, uniform)
        self.state = None if base is None else _State(base)
        if body[at].mnemonic == "else":
            at = self.block(body, at + 1, "endif")
        self.arrive(ways, base, uniform)
        self.branches.pop()
        self.state = self.joined(base, ways)
        return at + 1

    def arrive(self, ways: list[_Way], base: _State | None, uniform: bool) -> None:
        """Continue where branches join."""
        if self.state is not None and base is not None:
            ways.append((self.state.changes(base), uniform))

    def joined(self, base: _State | None, ways: list[_Way]) -> _State | None:
        """The state where branches join that started from ``base``, which it becomes; None if there are none."""
        if base is None or not ways:
            return None
        zero = self.constant(0)
        uniform = all(way for _, way in ways)
        for key in sorted({key for changes, _ in ways for key in changes}):
            before = base.get(key) or zero
            forms = [changes.get(key, before) for changes, _ in ways]
            base.own[key] = merged(forms, self.fresh, uniform=uniform)
        return base

    def jump(self, made: Instruction) -> None:
        """break or continue, of all or by a condition."""
        leaves = made.mnemonic.startswith("break")
        loop = next(one for one in reversed(self.loops) if leaves or not one.is_switch)
        conditional = bool(operations()[made.mnemonic].sources)
        uniform = all(self.branches[loop.depth :])
        if conditional:
            uniform = self.is_uniform_branch(made) and uniform
        assert self.state is not None
        (loop.left if leaves else loop.continued).append((self.state.changes(loop.base), uniform))
        if leaves and conditional and len(self.branches) == loop.depth and made.mnemonic.startswith("break_logical"):
            symbols = self.source(made.operands[0], "U", 0, made).symbols
            known = self.less.get(symbols[0][0]) if len(symbols) == 1 else None
            if known is not None and known[2] == made.mnemonic.endswith("_logicalz"):
                loop.below.append((*known[:2], self.noted == loop.accesses))
        if not conditional:
            self.state = None

    def call(self, made: Instruction) -> None:
        function = self.functions[made.values[0]]
        base = self.state
        assert base is not None
        uniform = not made.operands or self.is_uniform_branch(made)
        ways: list[_Way] = [({}, uniform)] if made.operands else []
        self.branches.append(uniform)
        loops, self.loops = self.loops, []
        self.state = _State(base)
        self.body(function)
        if any(inner.mnemonic.startswith("ret") for inner in function):  # and come back with what they had then
            changed = sorted(self.assigned(function) & self.needed)
            ways.append(({key: self.fresh(False) for key in changed}, True))
        else:
            self.arrive(ways, base, uniform)
        self.loops = loops
        self.branches.pop()
        self.state = self.joined(base, ways)

    def switch(self, body: tuple[Instruction, ...], at: int) -> int:
        base = self.state
        uniform = base is None or self.is_uniform_branch(body[at])
        self.branches.append(uniform)
        self.loops.append(_Loop(base or _State(None), len(self.branches), is_switch=True))
        self.state = None
        at += 1
        while body[at].mnemonic != "endswitch":
            if body[at].mnemonic not in ("case", "default"):
                at = self.statement(body, at)
                continue
            if base is not None:  # from the head, or from the case before
                ways: list[_Way] = [({}, uniform)]
                self.arrive(ways, base, uniform)
                self.state = self.joined(_State(base), ways)
            at += 1
        loop = self.loops.pop()
        self.arrive(loop.left, base, uniform)
        self.branches.pop()
        self.state = self.joined(base, [*loop.left, ({}, uniform)])
        return at + 1

    def loop(self, body: tuple[Instruction, ...], at: int) -> int:
        end = _end_of_loop(body, at)
        base = self.state
        if base is None:
            return end + 1
        before = self.pending
        changed = sorted(self.assigned(body[at + 1 : end]) & self.needed)
        zero = self.constant(0)
        varying: set[Key] = set()
        while True:
            # What a register has is what it had before the loop and the sum of its changes, which all work-items share
            # as far as is seen.
            self.pending = before.copy()
            first_symbol = self.symbols
            sums = {key: self.fresh(key not in varying) for key in changed}
            head = {k: s if k in varying else (base.get(k) or zero).plus(s) for k, s in sums.items()}
            loop = self.trip(body, at, end, base, head)
            uniform = all(way for _, way in loop.continued)
            wrong, steps = set(), {}
            for key in changed:
                if key in varying:
                    continue
                changes = [way.get(key, head[key]).plus(head[key], -1) for way, _ in loop.continued]
                is_uniform_source = all(change.same(changes[0]) for change in changes)
                if not all(change.uniform and (is_uniform_source or uniform) for change in changes):
                    wrong.add(key)
                elif changes and is_uniform_source and (step := changes[0].constant) is not None:
                    steps[sums[key].symbols[0][0]] = step
            if not wrong:
                break
            varying |= wrong
        self.pending.let_trips_pass(first_symbol, steps, _most_trips(loop, steps))
        loop = self.trip(body, at, end, base, head)  # which conflicts with what the first has left
        self.state = self.joined(base, loop.left)
        uniform = all(way for _, way in loop.left)
        for key in changed if self.state is not None else ():
            form = base.get(key)
            if form is not None and any(symbol.number > first_symbol for symbol, _ in form.symbols):
                base.own[key] = self.fresh(uniform and form.uniform)
        return end + 1

    def trip(self, body: tuple[Instruction, ...], at: int, end: int, base: _State, head: dict[Key, Form]) -> _Loop:
        self.loops.append(_Loop(base, len(self.branches), accesses=self.noted))
        self.state = _State(base, dict(head))
        stopped = self.block(body[: end + 1], at + 1, "endloop")
        assert stopped == end
        loop = self.loops.pop()
        self.arrive(loop.continued, base, True)
        return loop

    def assigned(self, body: Sequence[Instruction]) -> set[Key]:
        """The registers' lanes that instructions write, those of functions that they call among them."""
        found: set[Key] = set()
        for made in body:
            operation = operations()[made.mnemonic]
            if made.mnemonic.startswith("call"):
                found |= self.assigned(self.functions[made.values[0]])
            elif operation.has_result:
                found |= _written(made.operands[0])
            elif "r" in operation.sources:  # of several registers that follow each other
                for operand in made.operands:
                    first = operand.register.number or 0
                    found |= {("r", first + k, lane) for k in range(4) for lane in "xyzw"}
        return found

    # -- instructions --------------------------------------------------------------------------------------------------

    def plain(self, made: Instruction) -> None:
        if made.mnemonic == "fence":
            if made.modifier("threads") is not None:
                self.pending.clear()
            return
        for operand in made.operands:
            self.read(operand, made)
        for access in self.accesses(made):
            self.note(access)
        operation = operations()[made.mnemonic]
        if not operation.has_result:
            for key in self.assigned((made,)) & self.needed:
                self.put(key, self.fresh(False))
            return
        target = made.operands[0]
        if target.register.kind == "g":
            self.note(self.global_access(target.register, "w", made, _extent(target.lanes)))
        keys = _written(target)
        if not any(key in self.needed for key in keys):
            return
        scaled = any(m.name not in ("prec", "ieee", "cached") for m in made.modifiers)
        letters = operation.sources
        sources = list(zip(letters, made.operands[1:], strict=False))
        whole = operation.result in ("F", "S", "D", "L") or operation.meaning == "" or "r" in letters
        whole = whole or made.mnemonic.startswith(("uav_", "lds_", "srv_"))
        for position, lane in enumerate(target.lanes or "xyzw"):
            key = (target.register.kind, target.register.number or 0, "xyzw"[position])
            if lane == "_" or key not in self.needed:
                continue
            if lane in "01":
                self.put(key, self.constant(_ONE if lane == "1" else 0))
                continue
            places = [(letter, operand, 0 if letter in "FSU" else position) for letter, operand in sources]
            form = None
            if not whole and not scaled:
                forms = [self.source(operand, letter, place, made) for letter, operand, place in places]
                form = computed(made.mnemonic, forms, self.fresh)
            if form is None:
                form = self.fresh(all(self.is_uniform_source(letter, operand, made) for letter, operand in sources))
                if made.mnemonic in _LESS:
                    a, b = (self.source(operand, letter, place, made) for letter, operand, place in places)
                    if (limit := b.constant) is not None:
                        self.less[form.symbols[0][0]] = (a, limit, _LESS[made.mnemonic])
            self.put(key, form)

    def is_uniform_source(self, letter: str, operand: Operand, made: Instruction) -> bool:
        """Whether all work-items have the same source, in every lane."""
        if letter in "r#?":
            return False
        count = 1 if letter in "FSU" else 4
        return all(self.source(operand, letter, position, made).uniform for position in range(count))

    def put(self, key: Key, form: Form) -> None:
        assert self.state is not None
        self.state.own[key] = form

    def note(self, access: Access) -> None:
        """Compare an access with those that no fence parts it from."""
        self.noted += 1
        if (found := self.pending.add(access)) is not None:
            raise _Found(found)

    # -- memory --------------------------------------------------------------------------------------------------------

    def read(self, operand: Operand, made: Instruction) -> None:
        """Note that a source is read from the global buffer."""
        is_target = bool(made.operands) and operand is made.operands[0] and operations()[made.mnemonic].has_result
        if operand.register.kind == "g" and not is_target:
            places = sorted("xyzw".index(lane) for lane in operand.lanes or "xyzw" if lane in "xyzw")
            if places:
                extent = (4 * places[0], 4 * (places[-1] - places[0] + 1))
                self.note(self.global_access(operand.register, "r", made, extent))

    def global_access(self, register: Register, kind: str, made: Instruction, extent: tuple[int, int]) -> Access:
        at = self.index(register, made).times(16)
        return Access("g", kind, at.moved(extent[0]), extent[1], made)

    def accesses(self, made: Instruction) -> Iterator[Access]:
        """What an instruction for memory accesses."""
        name, facts = made.mnemonic, self.facts
        if name == "lds_write_vec":
            own = facts.lds_dwords_per_thread
            start, size = _extent(made.operands[0].lanes)
            first = self.number_of_item("vTidInGrpFlat", 0).times(4 * own)
            yield Access("LDS", "w", first.moved(4 * made.number("lOffset") + start), size, made)
        elif name == "lds_read_vec":
            own = facts.lds_dwords_per_thread
            thread, dword = (self.source(made.operands[1], "u", lane, made) for lane in (0, 1))
            known = made.modifier("neighborExch") is None
            yield Access("LDS", "r", thread.times(4 * own).plus(dword.times(4)) if known else None, 16, made)
        elif name.startswith(("lds_", "uav_")):
            yield self.shared_access(made)

    def shared_access(self, made: Instruction) -> Access:
        name, facts = made.mnemonic, self.facts
        operation = operations()[name]
        space = name[:3]
        number = made.number("id") or (made.number("resource") if space == "lds" else 0)
        buffer = f"{_SHARED[space]}{number}"
        atomic = operation.meaning.startswith("atomic_")
        stores = "store" in name
        kind = "a" if atomic else "w" if stores else "r"
        operands = made.operands[operation.has_result :]
        stride = 0
        if space == "lds":
            stride = facts.lds_strides.get(number, 0)
        elif facts.uavs[number].kind == "struct":
            stride = facts.uavs[number].stride_bytes
        at: Form | None = self.source(operands[0], "u", 0, made)
        assert at is not None
        if name in ("lds_load_vec", "lds_store_vec"):
            at = at.times(stride or 1).plus(self.source(operands[1], "u", 0, made))
        elif stride:
            at = at.times(stride).plus(self.source(operands[0], "u", 1, made))
        elif name in ("uav_load", "uav_store"):
            row = self.source(operands[0], "u", 1, made)
            # Rows are as long as the view is wide; its elements have up to 16 bytes, and no other accesses are of it.
            across = at.times(16)
            at = across if row.constant == 0 else None
            if at is None and row.constant is not None:
                at = across.plus(self.remembered(("row", number, row.constant)))
        start, size = 0, 16
        if atomic or name in ("lds_load", "lds_store") or "arena" in name:
            size = 4
        elif name in _BY_MASK:
            start, size = _extent(made.operands[0].lanes)
        elif any(word in name for word in ("byte", "short")):
            size = 4  # by way of the word
        if at is not None:
            at = at.moved(start)
        return Access(buffer, kind, at, size, made)


def _most_trips(loop: _Loop, steps: dict[Symbol, int]) -> int:
    """How many trips may lie between two accesses of a loop at the most, 0 where that is not known."""
    found = []
    for form, limit, comes_first in loop.below:
        if len(form.symbols) == 1 and bool((form.numbers == form.numbers[0]).all()):
            symbol, times = form.symbols[0]
            step = steps.get(symbol, 0) * times
            if step > 0 and symbol in steps:
                trips = -((int(form.numbers[0]) - limit) // step)
                found.append(max(1, trips - 1 if comes_first else trips))
    return min(found, default=0)


def _extent(mask: str) -> tuple[int, int]:
    """The first byte and the number of bytes that a store by a mask writes of an element."""
    lanes = [place for place, lane in enumerate(mask or "xyzw") if lane != "_"]
    return (4 * lanes[0], 4 * (lanes[-1] - lanes[0] + 1)) if lanes else (0, 0)


def _end_of_loop(body: tuple[Instruction, ...], at: int) -> int:
    depth = 0
    for place in range(at, len(body)):
        depth += body[place].mnemonic in ("whileloop", "loop")
        depth -= body[place].mnemonic == "endloop"
        if not depth:
            return place
    raise AssertionError


def _written(target: Operand) -> set[Key]:
    """The lanes of a register that an instruction with this destination writes."""
    register = target.register
    if register.kind not in ("r", "o"):
        return set()
    places = [place for place, lane in enumerate(target.lanes or "xyzw") if lane != "_"]
    return {(register.kind, register.number or 0, "xyzw"[place]) for place in places}


def _read_by(register: Register, lanes: str) -> set[Key]:
    """The lanes of registers that a source is made of, those of its index among them."""
    found: set[Key] = set()
    if register.kind in ("r", "o"):
        found |= {(register.kind, register.number or 0, lane) for lane in lanes if lane in "xyzw"}
    if register.index is not None and register.index.register is not None:
        found |= _read_by(register.index.register, register.index.lane or "x")
    return found


def _needed(program: Program) -> set[Key]:
    """The lanes of registers by which addresses and conditions are told, of which alone something has to be known."""
    roots: set[Key] = set()
    writers: dict[tuple[str, int | None], list[Instruction]] = {}
    for body in (program.body, *(function.body for function in program.functions)):
        for made in body:
            has_result = operations()[made.mnemonic].has_result
            if has_result:
                target = made.operands[0].register
                writers.setdefault((target.kind, target.number), []).append(made)
            for operand in made.operands:
                if (index := operand.register.index) is not None and index.register is not None:
                    roots |= _read_by(index.register, index.lane or "x")
            if not has_result or made.mnemonic.startswith(("lds_", "uav_")):
                for operand in made.operands[has_result:]:
                    roots |= _read_by(operand.register, operand.lanes or "xyzw")
    found: set[Key] = set()
    waiting = list(roots)
    while waiting:
        key = waiting.pop()
        if key in found:
            continue
        found.add(key)
        for made in writers.get(key[:2], ()):
            if key in _written(made.operands[0]):
                waiting += _sources_of(made, "xyzw".index(key[2]))
    return found


def _sources_of(made: Instruction, place: int) -> set[Key]:
    """What one lane of an instruction's result is made of."""
    operation = operations()[made.mnemonic]
    whole = operation.result in ("F", "S", "D", "L") or not operation.meaning or "r" in operation.sources
    found: set[Key] = set()
    for letter, operand in zip(operation.sources, made.operands[1:], strict=False):
        lanes = operand.lanes or "xyzw"
        found |= _read_by(operand.register, lanes if whole or letter in "FSUDL" else lanes[place])
    return found


def _that_matter(body: tuple[Instruction, ...], needed: set[Key]) -> tuple[Instruction, ...]:
    """The instructions of a body that access memory, order it, branch, or write what is needed."""

    def matters(made: Instruction) -> bool:
        if not operations()[made.mnemonic].has_result or made.mnemonic.startswith(("lds_", "uav_")):
            return True
        if any(operand.register.kind == "g" for operand in made.operands):
            return True
        target = made.operands[0]
        return not needed.isdisjoint(_written(target))

    return tuple(made for made in body if matters(made))
