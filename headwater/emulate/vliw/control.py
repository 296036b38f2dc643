"""Input: control flow and the masks of lanes. Output: loads, stores and tests of the masks, or calls of ``control.c``.

Where every instruction is always reached with as many masks pushed and as many loops around it (`nestings`), each mask
has a place that is known now, and `Known` needs no call. `Counted` counts at run time: for calls, and for programs that
push and pop as they like, which may end in a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from headwater.emulate.vliw import program as reading
from headwater.emulate.vliw.layout import CF, LOOP_LIMIT, STACK_LIMIT
from headwater.emulate.vliw.operands import LOOP_INDEX_MODE
from headwater.emulate.vliw.program import Program
from headwater.emulate.wave.builder import WaveBuilder


@dataclass(frozen=True, slots=True)
class Nesting:
    """How many masks are pushed, and for each loop around how many were when it began."""

    depth: int = 0
    loops: tuple[int, ...] = ()


class Control(Protocol):
    """Writes what changes the masks. Those that may jump return whether they do, an ``i1``."""

    def enter(self, index: int) -> bool:
        """The code of an instruction begins; false if it is known that it is never reached, and needs none."""
        ...

    def within(self, b: WaveBuilder, stop_unless: Callable[[str], None]) -> Control:
        """The same, written into another function, whose ``%w`` and ``%frame`` are the same."""
        ...

    def push(self, pc: int) -> None: ...
    def pop(self, count: int, pc: int) -> None: ...

    def jump(self, pops: int, pc: int) -> str:
        """Jump, and pop, if no lane is active."""
        ...

    def otherwise(self, pops: int, pc: int) -> str:
        """ELSE: the other lanes of the mask that was pushed last; then as `jump`."""
        ...

    def loop(self, pc: int) -> str: ...
    def loop_end(self, pc: int) -> str: ...

    def leave(self, lanes: str, continues: bool, pc: int) -> str:
        """Lanes leave the loop, or (``continues``) wait for its end."""
        ...

    def kill(self, lanes: str) -> None: ...


def nestings(program: Program) -> list[Nesting | None] | None:
    """The nesting that each instruction is reached with, None where none is ever; None if that is not known now."""
    shader = program.shader
    count = len(shader.cf)
    rows = [cf.row.name for cf in shader.cf]
    loops_read = any(
        op.index_mode == LOOP_INDEX_MODE and (op.dst_rel or any(s.rel for s in op.sources))
        for cf in shader.cf
        for group in cf.groups
        for op in group.ops
    )
    if loops_read or any(not cf.row.flags.isdisjoint(("call", "return")) for cf in shader.cf):
        return None
    found: list[Nesting | None] = [None] * count
    pending = [(0, Nesting())]
    while pending:
        index, state = pending.pop()
        if index >= count:
            continue
        if rows[index] == "LOOP_END":  # which forgets what was pushed in the loop
            if not state.loops:
                return None
            state = Nesting(state.loops[-1], state.loops)
        known = found[index]
        if known == state:
            continue
        if known is not None:
            return None
        found[index] = state
        following = _after(program, index, state)
        if following is None or any(n.depth > STACK_LIMIT or len(n.loops) > LOOP_LIMIT for _, n in following):
            return None
        pending += following
    return found


def _after(program: Program, index: int, state: Nesting) -> list[tuple[int, Nesting]] | None:
    """Where an instruction may go, and with what; None if it pops what was not pushed, or leaves no loop."""
    cf = program.shader.cf[index]
    name, pops, depth, loops = cf.row.name, cf.fields["pop_count"], state.depth, state.loops
    following = index + 1
    ways = [(following, state)]
    if cf.groups:
        depth += "push_before" in cf.row.flags
        popped = depth - reading.popped_after(cf)
        if popped < 0 or (name == "ALU_ELSE_AFTER" and not depth):
            return None
        ways = [(following, Nesting(popped, loops))]
        if reading.leaves(cf):
            ways.append((_end_of_loop(program, index), state))
    elif name in ("JUMP", "ELSE", "PUSH"):
        inside = depth + (name == "PUSH")
        if inside < pops or (name == "ELSE" and not depth):
            return None
        ways = [(following, Nesting(inside, loops)), (reading.target(cf), Nesting(inside - pops, loops))]
    elif name == "POP":
        if depth < pops:
            return None
        ways = [(following, Nesting(depth - pops, loops))]
    elif "loop" in cf.row.flags:
        ways = [(following, Nesting(depth, (*loops, depth))), (program.loops.ends[index] + 1, state)]
    elif name == "LOOP_END":
        ways = [(reading.target(cf), state), (following, Nesting(depth, loops[:-1]))]
    elif reading.leaves(cf):
        ways.append((_end_of_loop(program, index), state))
    if reading.leaves(cf) and not loops:
        return None
    return [] if reading.ends_program(cf) else ways


def _end_of_loop(program: Program, index: int) -> int:
    loop = program.loops.of(index)
    return index if loop is None else loop[1]


class Known:
    """Control flow whose nestings are known: masks are loaded and stored where they are."""

    def __init__(self, b: WaveBuilder, found: list[Nesting | None]) -> None:
        self.b = b
        self.nestings = found
        self.depth = 0
        self.loops: tuple[int, ...] = ()

    def enter(self, index: int) -> bool:
        """See `Control.enter`."""
        state = self.nestings[index]
        if state is None:
            return False
        self.depth, self.loops = state.depth, state.loops
        return True

    def within(self, b: WaveBuilder, stop_unless: Callable[[str], None]) -> Known:
        """See `Control.within`."""
        found = Known(b, self.nestings)
        found.depth, found.loops = self.depth, self.loops
        return found

    @property
    def fields(self) -> list[tuple[str, int]]:
        """What of the state means something here: fields of `layout.CF`, and their elements."""
        loops = range(len(self.loops))
        stack = [("stack", n) for n in range(self.depth)]
        return [("active", 0), ("before", 0), *stack, *((f, n) for n in loops for f in ("loop_entry", "loop_live"))]

    def _at(self, field: str, number: int = 0) -> str:
        return self.b.emit(f"getelementptr i8, ptr %frame, i64 {CF.offset[field] + 8 * number}")

    def _load(self, field: str, number: int = 0) -> str:
        return self.b.emit(f"load i64, ptr {self._at(field, number)}, align 8")

    def _store(self, value: str, field: str, number: int = 0) -> None:
        self.b.line(f"store i64 {value}, ptr {self._at(field, number)}, align 8")

    def push(self, pc: int) -> None:
        self._store(self._load("active"), "stack", self.depth)
        self.depth += 1

    def pop(self, count: int, pc: int) -> None:
        if count:
            self.depth -= count
            self._store(self._load("stack", self.depth), "active")

    def jump(self, pops: int, pc: int) -> str:
        active = self._load("active")
        idle = self.b.emit(f"icmp eq i64 {active}, 0")
        if pops:
            popped = self._load("stack", self.depth - pops)
            self._store(self.b.emit(f"select i1 {idle}, i64 {popped}, i64 {active}"), "active")
        return idle

    def otherwise(self, pops: int, pc: int) -> str:
        self._store(self._without(self._load("stack", self.depth - 1), self._load("active")), "active")
        return self.jump(pops, pc)

    def loop(self, pc: int) -> str:
        active, level = self._load("active"), len(self.loops)
        self._store(active, "loop_entry", level)
        self._store(active, "loop_live", level)
        return self.b.emit(f"icmp eq i64 {active}, 0")

    def loop_end(self, pc: int) -> str:
        level = len(self.loops) - 1
        live, entry = self._load("loop_live", level), self._load("loop_entry", level)
        more = self.b.emit(f"icmp ne i64 {live}, 0")
        self._store(self.b.emit(f"select i1 {more}, i64 {live}, i64 {entry}"), "active")
        return more

    def leave(self, lanes: str, continues: bool, pc: int) -> str:
        left = self._take("active", 0, lanes)
        if not continues:
            self._take("loop_live", len(self.loops) - 1, lanes)
        for n in range(self.loops[-1], self.depth):
            left = self.b.emit(f"or i64 {left}, {self._take('stack', n, lanes)}")
        return self.b.emit(f"icmp eq i64 {left}, 0")

    def kill(self, lanes: str) -> None:
        for field, number in self.fields:
            self._take(field, number, lanes)

    def _take(self, field: str, number: int, lanes: str) -> str:
        """Take lanes out of a mask; what is left."""
        left = self._without(self._load(field, number), lanes)
        self._store(left, field, number)
        return left

    def _without(self, mask: str, lanes: str) -> str:
        return self.b.emit(f"and i64 {mask}, {self.b.emit(f'xor i64 {lanes}, -1')}")


class Counted:
    """Control flow by calls of ``control.c``; ``stop_unless`` leaves the wavefront after a fault."""

    def __init__(self, b: WaveBuilder, stop_unless: Callable[[str], None]) -> None:
        self.b = b
        self._stop_unless = stop_unless

    def enter(self, index: int) -> bool:
        return True

    def within(self, b: WaveBuilder, stop_unless: Callable[[str], None]) -> Counted:
        """See `Control.within`."""
        return Counted(b, stop_unless)

    def flow(self, function: str, *arguments: str) -> str:
        """Call a function and stop after a fault; whether its result is 1."""
        b = self.b
        typed = ["ptr %w", "ptr %frame", *arguments]
        b.declare(f"declare hidden i32 @{function}({', '.join(a.rsplit(' ', 1)[0] for a in typed)})")
        result = b.emit(f"call i32 @{function}({', '.join(typed)})")
        self._stop_unless(b.emit(f"icmp sge i32 {result}, 0"))
        return b.emit(f"icmp eq i32 {result}, 1")

    def push(self, pc: int) -> None:
        self.flow("hw_cf_push", f"i64 {pc}")

    def pop(self, count: int, pc: int) -> None:
        self.flow("hw_cf_pop", f"i64 {count}", f"i64 {pc}")

    def jump(self, pops: int, pc: int) -> str:
        return self.flow("hw_cf_jump", f"i64 {pops}", f"i64 {pc}")

    def otherwise(self, pops: int, pc: int) -> str:
        return self.flow("hw_cf_else", f"i64 {pops}", f"i64 {pc}")

    def loop(self, pc: int) -> str:
        return self.flow("hw_cf_loop", f"i64 {pc}")

    def loop_end(self, pc: int) -> str:
        return self.flow("hw_cf_loop_end", f"i64 {pc}")

    def leave(self, lanes: str, continues: bool, pc: int) -> str:
        return self.flow("hw_cf_leave", f"i64 {lanes}", f"i64 {int(continues)}", f"i64 {pc}")

    def kill(self, lanes: str) -> None:
        self.b.declare("declare hidden void @hw_cf_kill(ptr, i64)")
        self.b.line(f"call void @hw_cf_kill(ptr %frame, i64 {lanes})")

    def call(self, following: int, pc: int) -> str:
        """Call a subroutine, unless no lane is active."""
        return self.flow("hw_cf_call", f"i64 {following}", f"i64 {pc}")
