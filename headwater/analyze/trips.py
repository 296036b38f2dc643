"""Input: a GCN kernel's blocks and loops, and a launch. Output: how often loops run, which way branches go and how many
lanes take part, as far as the code and the launch determine it.

Registers are followed through the code (`headwater.analyze.register_values`), and as ``start + step × iteration``
through a loop's body. A loop that leaves at one place, by a comparison of such a register with a number, has a count
that is a fact: of the code and its arguments, or of the launch if work-item numbers or sizes take part. Then it is a
count for each work-item; a wavefront runs a loop as often as the work-item that stays longest. Everything else is said
to be unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headwater.analyze.launch import Array
from headwater.analyze.register_values import Lanes, State, Test, Value, gathering, number
from headwater.emulate.gcn.program import effects, registers
from headwater.isa.gcn.model import EXEC, SCC, VCC, Register
from headwater.isa.gcn.semantics import semantics

if TYPE_CHECKING:
    from headwater.analyze.flow import Cycle
    from headwater.emulate.gcn.program import BasicBlock, Program
    from headwater.isa.gcn.model import Instruction

_MASK = 0xFFFFFFFF
_MOST_ITERATIONS, _MOST_FOLLOWED = 64, 4096  # a loop's iterations, and instructions in all, followed one by one
_HARDLY = 1e-9
_ASKED = {"SCC": SCC, "VCC": VCC, "EXEC": EXEC}
"""Registers that branches ask."""
NOBODY = "no work-item of the launch comes to it"


class Affine(Protocol):
    """``start + step × iteration``, modulo 2³²: numbers from 0, or arrays of them."""

    @property
    def start(self) -> Any: ...
    @property
    def step(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Trip:
    """``count`` None: not known, and ``why`` says what stands in the way. A mean over wavefronts if ``launch``, that
    is, if the launch decides it; ``lanes``: the mean share of the work-items that take part in an iteration."""

    count: float | None
    why: str
    launch: bool = False
    lanes: float = 1.0


@dataclass(slots=True)
class _Edge:
    """What holds where one block goes on to another; ``waves``: those of the chosen wavefronts that may come by."""

    state: State
    waves: Array


class Trips:
    """A program's loops and branches. ``cycles``: its loops, by the indices of blocks."""

    def __init__(self, program: Program, cycles: Sequence[Cycle], lanes: Lanes) -> None:
        self._first = False
        self._blocks_in_order: list[int] = []
        self._blocks: Sequence[BasicBlock] = list(program.blocks.values())
        self._index = {block.address: n for n, block in enumerate(self._blocks)}
        self._followers = [[self._index[f.address] for f in program.after(block)] for block in self._blocks]
        self._cycles = cycles
        self._lanes = lanes
        self._written = [self._writes(cycle.blocks) for cycle in cycles]
        self._around: list[list[int]] = [
            sorted((n for n, c in enumerate(cycles) if block in c.blocks), key=lambda n: -len(cycles[n].blocks))
            for block in range(len(self._blocks))
        ]
        self._edges: dict[tuple[int, int], _Edge] = {}
        self._ends: dict[int, State] = {}
        self._heads: dict[int, _Edge] = {}
        self._taking: dict[int, Array | None] = {}
        self.chances: dict[tuple[int, int], float] = {}
        """Of edges (by blocks' indices) whose branch is known: the share of wavefronts that take them."""
        self._run(self._index[program.entry])
        self.found: list[Trip] = [self._trip(n) for n in range(len(cycles))]
        self.accesses: dict[int, tuple[Array, Array]] = {}
        """Address of an instruction -> the addresses that lanes give to memory there, in the first iteration of the
        loops around it, and which lanes do, where both are known."""
        if lanes.sample is not None:
            self._follow_once(self._index[program.entry])

    def lanes_of(self, block: int) -> float:
        """The mean share of a wavefront's work-items that a block is run for, 1 where that is not known."""
        share = 1.0
        active = self._taking.get(block)
        sample = self._lanes.sample
        if active is not None and sample is not None:
            waves = active.any(axis=1)
            live = int(sample.live[waves].sum())
            share = int((active & sample.live)[waves].sum()) / live if live else 1.0
        for number_ in self._around[block]:
            share *= self.found[number_].lanes
        return share

    def _follow_once(self, entry: int) -> None:
        """Go through the code again, through loops in their first iteration, and note accesses to memory."""
        kept = self._edges, self._ends, self._heads, self._taking, self.chances
        self._edges, self._ends, self._heads, self._taking, self.chances = {}, {}, {}, {}, {}
        self._first = True
        self._run(entry)
        self._first = False
        self._edges, self._ends, self._heads, self._taking, self.chances = kept

    def _note(self, instruction: Instruction, state: State) -> None:
        low = self._lanes.address(instruction, state)
        active = self._lanes.exec_lanes(state)
        if low is not None and active is not None:
            self.accesses[instruction.address] = low, active

    # -- the way through the code --------------------------------------------------------------------------------------

    def _run(self, entry: int) -> None:
        sample = self._lanes.sample
        everyone = np.ones((len(sample.live) if sample is not None else 1, 1), bool)
        self._blocks_in_order = self._order(entry)
        for block in self._blocks_in_order:
            arriving = [e for (a, b), e in self._edges.items() if b == block and not self._goes_back(a, b)]
            if block == entry:
                arriving.append(_Edge(self._lanes.start, everyone))
            if not arriving:
                continue
            coming = _merged(arriving)
            headed = [n for n, cycle in enumerate(self._cycles) if cycle.header == block]
            for loop in headed:
                self._heads[loop] = _Edge(coming.state.copy(), coming.waves)
                if not self._first:
                    coming.state = self._within(loop, coming.state)
            state = coming.state
            self._taking[block] = self._lanes.exec_lanes(state)
            for instruction in self._blocks[block].instructions:
                if self._first and instruction.row.encoding in ("GLOBAL", "FLAT", "MUBUF"):
                    self._note(instruction, state)
                self._lanes.run(instruction, state)
            self._ends[block] = state
            self._leave(block, state, coming.waves)

    def _leave(self, block: int, state: State, waves: Array) -> None:
        followers = self._followers[block]
        taken = self._taken(block, state)
        for follower in followers:
            along = waves
            if taken is not None and len(followers) == 2:
                jumps = self._index.get(self._blocks[block].instructions[-1].target or -1, -1) == follower
                along = waves & (taken if jumps else ~taken)
                known = int(np.broadcast_to(waves, along.shape).sum())
                if known and not any(follower not in self._cycles[n].blocks for n in self._around[block]):
                    sample = self._lanes.sample
                    sure = taken.size == 1 or sample is None or sample.whole
                    self.chances[block, follower] = chance(int(along.sum()), known, sure=sure)
            after = state.copy()
            for loop in reversed(self._around[block]):
                if follower not in self._cycles[loop].blocks:
                    self._forget(loop, after)
            self._edges[block, follower] = _Edge(after, along)

    def _taken(self, block: int, state: State) -> Array | None:
        """Whether each wavefront takes the branch at a block's end; None where that is not known."""
        if not self._blocks[block].instructions or self._blocks[block].end != "branch":
            return None
        asked = semantics(self._blocks[block].instructions[-1].row).jumps_if
        if asked is None:
            return None
        register = _ASKED[asked[0]]
        parts = [state.scalars.get(register + n) for n in range(1 if register == SCC else 2)]
        if any(part is None for part in parts):
            return None
        is_set = np.logical_or.reduce([part.start != 0 for part in parts if part is not None])
        return np.asarray(is_set == asked[1])

    def _order(self, entry: int) -> list[int]:
        """All blocks that can be reached, each after those before it (but for ways back)."""
        order: list[int] = []
        seen = {entry}
        stack = [(entry, iter(self._followers[entry]))]
        while stack:
            node, rest = stack[-1]
            for follower in rest:
                if follower not in seen:
                    seen.add(follower)
                    stack.append((follower, iter(self._followers[follower])))
                    break
            else:
                order.append(node)
                stack.pop()
        return order[::-1]

    def _goes_back(self, block: int, follower: int) -> bool:
        return any(c.header == follower and block in c.blocks for c in self._cycles)

    # -- loops ---------------------------------------------------------------------------------------------------------

    def _writes(self, members: frozenset[int]) -> dict[tuple[str, int], list[tuple[int, Instruction]]]:
        """Registers that these blocks write, and where."""
        found: dict[tuple[str, int], list[tuple[int, Instruction]]] = {}
        for block in members:
            for instruction in self._blocks[block].instructions:
                e = effects(instruction)
                for register in registers(e.scalar_write):
                    found.setdefault(("s", register), []).append((block, instruction))
                for register in registers(e.vector_write | e.lanes_write):
                    found.setdefault(("v", register), []).append((block, instruction))
        return found

    def _within(self, loop: int, coming: State) -> State:
        """What is known at a loop's head in any iteration."""
        written = self._written[loop]
        state = State(
            {r: v for r, v in coming.scalars.items() if ("s", r) not in written and v.step is None},
            {r: v for r, v in coming.vectors.items() if ("v", r) not in written and v.step is None},
        )
        for register in (EXEC, EXEC + 1):  # of the first iteration: lanes that leave take no part in what follows
            if register in coming.scalars:
                state.scalars[register] = coming.scalars[register]
        latches = self._latches(loop)
        for (file, register), places in written.items():
            before = (coming.scalars if file == "s" else coming.vectors).get(register)
            if len(places) != 1 or register in (SCC, EXEC, EXEC + 1):
                continue
            block, instruction = places[0]
            if not all(self._cut(loop, latch, block) for latch in latches):
                continue
            if file == "s" and self._gathers(instruction, register):
                state.tests[register] = gathering()
            elif before is not None and before.step is None:
                step = self._step(instruction, file, register, state)
                if step is not None:
                    values = state.scalars if file == "s" else state.vectors
                    values[register] = replace(before, step=step.start, launch=before.launch or step.launch)
        return state

    @staticmethod
    def _gathers(instruction: Instruction, register: int) -> bool:
        """Whether it is ``s_or_b64 s[n:n+1], …, s[n:n+1]``."""
        own = Register("s", register, 2)
        return (
            instruction.row.name == "s_or_b64"
            and instruction.dests[0].register == own
            and sum(source.value == own for source in instruction.sources) == 1
        )

    def _step(self, instruction: Instruction, file: str, register: int, fixed: State) -> Value | None:
        """By how much an instruction changes a register that it reads itself."""
        dest = instruction.dests[0].register if instruction.dests else None
        if dest is None or dest.file != file or dest.index != register or dest.dwords != 1:
            return None
        carried = {"s_addc_u32", "v_addc_co_u32", "v_addc_u32"}
        ends = []
        for start in (0, 1):
            state = fixed.copy()
            own = replace(number(start), step=np.zeros((1, 1), np.uint32))
            (state.scalars if file == "s" else state.vectors)[register] = own
            if instruction.row.name in carried:
                # Into the upper half; `Lanes` says why no carry counts.
                state.scalars.update({SCC: number(0), VCC: number(0), VCC + 1: number(0)})
            self._lanes.run(instruction, state)
            made = (state.scalars if file == "s" else state.vectors).get(register)
            if made is None or made.step is None:
                return None
            ends.append(made)
        zero, one = ends
        if bool(((one.start - zero.start) != 1).any()):
            return None
        return replace(zero, step=None)

    def _forget(self, loop: int, state: State) -> None:
        """What is not known after a loop: what changed in it. Lanes that left gather to all that came."""
        written = self._written[loop]
        head = self._heads.get(loop)
        gathered = [r for r, test in state.tests.items() if test.gathered and test.relation and r != EXEC]
        now = [state.scalars.get(EXEC + n) for n in (0, 1)]
        for values, file in ((state.scalars, "s"), (state.vectors, "v")):
            for register in [r for r in values if (file, r) in written]:
                del values[register]
        left = EXEC in state.tests
        state.tests.clear()
        if head is None:
            return
        # What the loop left alone is as it was before, in whichever iteration of a loop around it.
        for values, before, file in (
            (state.scalars, head.state.scalars, "s"), (state.vectors, head.state.vectors, "v"),
        ):  # fmt: skip
            values.update({r: v for r, v in before.items() if (file, r) not in written})
        state.tests.update({r: t for r, t in head.state.tests.items() if ("s", r) not in written})
        came = [head.state.scalars.get(EXEC + n) for n in (0, 1)]
        if came[0] is None or came[1] is None:
            return
        if ("s", EXEC) not in written or (_same(came[0], now[0]) and _same(came[1], now[1])):
            state.scalars[EXEC], state.scalars[EXEC + 1] = came[0], came[1]
        elif left:
            state.scalars[EXEC] = state.scalars[EXEC + 1] = number(0)
            for register in gathered:
                state.scalars[register], state.scalars[register + 1] = came[0], came[1]

    def _trip(self, loop: int) -> Trip:
        members = self._cycles[loop].blocks
        leaving = [b for b in members if any(f not in members for f in self._followers[b])]
        if len(leaving) != 1:
            return Trip(None, "it ends at several places" if leaving else "it has no end")
        last = leaving[0]
        if not all(self._cut(loop, latch, last) for latch in self._latches(loop)):
            return Trip(None, "its end is not reached in every iteration")
        found = self._by_steps(loop, last)
        return found if found.count is not None else self._one_by_one(loop, last) or found

    def _by_steps(self, loop: int, last: int) -> Trip:
        """From a counter that changes by one number in each iteration. ``last``: the block that the loop ends in."""
        header, members = self._cycles[loop].header, self._cycles[loop].blocks
        unknown = Trip(None, "what it compares is not known before it runs")
        state = self._ends.get(last)
        branch = self._blocks[last].instructions[-1]
        asked = semantics(branch.row).jumps_if
        if state is None or asked is None:
            return unknown
        register, jumps_if_set = _ASKED[asked[0]], asked[1]
        test = state.tests.get(register)
        if test is None or not test.relation:
            return Trip(None, "lanes decide when it ends") if register != SCC else unknown
        jumps_out = branch.target is not None and self._index.get(branch.target, -1) not in members
        if register == EXEC:
            # Lanes for which it came out true have left; the wavefront does when none is left.
            ends_when = jumps_out != jumps_if_set
            leaves_when, last_lane = True, True
            if not ends_when or not test.gathered:
                return Trip(None, "lanes decide when it ends")
        elif register == VCC:
            leaves_when = jumps_out == jumps_if_set
            last_lane = not leaves_when
        else:
            leaves_when, last_lane = jumps_out == jumps_if_set, True
        return self._counted(loop, test, leaves_when, last_lane, self._tested_first(last, header, members))

    def _one_by_one(self, loop: int, last: int) -> Trip | None:
        """By following a few iterations, of what starts known and is halved, doubled, … from one to the next."""
        header, members = self._cycles[loop].header, self._cycles[loop].blocks
        head = self._heads.get(loop)
        latches = self._latches(loop)
        always = {b for b in members if all(self._cut(loop, latch, b) for latch in latches)}
        always -= {b for b in members for n in self._around[b] if n != loop and self._cycles[n].blocks < members}
        order = [block for block in self._blocks_in_order if block in members]
        size = sum(len(self._blocks[block].instructions) for block in order)
        if head is None or size > _MOST_FOLLOWED or last not in always:
            return None
        scalars, vectors = head.state.scalars.items(), head.state.vectors.items()
        state = State({r: v for r, v in scalars if v.step is None}, {r: v for r, v in vectors if v.step is None})
        came = self._lanes.exec_lanes(state)
        staying = head.waves & came.any(axis=1, keepdims=True) if came is not None else head.waves
        if not staying.any():
            return Trip(0, NOBODY, True)
        entering = staying
        counts = np.zeros(staying.shape, np.int64)
        taking = done = 0
        launch = False
        first = self._tested_first(last, header, members)
        branch = self._blocks[last].instructions[-1]
        asked, _ = semantics(branch.row).jumps_if or ("", False)
        jumps_out = branch.target is not None and self._index.get(branch.target, -1) not in members
        for _ in range(min(_MOST_ITERATIONS, _MOST_FOLLOWED // size)):
            active = self._lanes.exec_lanes(state)
            if active is not None and came is not None:
                taking, done = taking + int((came & staying).sum()), done + int((active & staying).sum())
            leaves: Array | None = None
            for block in order:
                if block not in always:
                    self._drop(block, state)
                    continue
                for instruction in self._blocks[block].instructions:
                    self._lanes.run(instruction, state)
                if block == last:
                    leaves = self._taken(block, state)
                    scc = state.scalars.get(SCC)
                    launch |= asked != "SCC" or (scc is not None and scc.launch)
            if leaves is None:
                return None
            leaves = leaves if jumps_out else ~leaves
            counts += staying & (~leaves if first else True)
            staying = staying & ~leaves
            if not staying.any():
                found = np.broadcast_to(counts, np.broadcast_shapes(counts.shape, entering.shape))[entering]
                mean, low, high = float(found.mean()), int(found.min()), int(found.max())
                spread = "" if low == high else f": wavefronts run it {low:,} to {high:,} times"
                why = f"followed iteration by iteration{spread}"
                return Trip(int(mean) if mean == int(mean) else mean, why, launch, done / taking if taking else 1.0)
        return None

    def _drop(self, block: int, state: State) -> None:
        """Forget what a block writes that not every iteration, or not every wavefront runs."""
        for instruction in self._blocks[block].instructions:
            e = effects(instruction)
            for register in registers(e.scalar_write):
                state.scalars.pop(register, None)
            for register in registers(e.vector_write | e.lanes_write):
                state.vectors.pop(register, None)

    def _tested_first(self, last: int, header: int, members: frozenset[int]) -> bool:
        return last == header and len(members) > 1 and header not in self._followers[last]

    def _counted(self, loop: int, test: Test, leaves_when: bool, last_lane: bool, first: bool) -> Trip:
        unknown = Trip(None, "what it compares is not known before it runs")
        counts = iterations(test.left, test.right, test.relation, test.unsigned, leaves_when)
        head = self._heads[loop]
        active = self._lanes.exec_lanes(head.state)
        known = [value.where for value in (test.left, test.right) if value.where is not None]
        launch = test.left.launch or test.right.launch
        step = signed(test.left.step if test.left.step is not None else test.right.step)
        if counts.size == 1:
            if counts.flat[0] < 0 or step.size != 1:
                return unknown
            limit = test.right.start if test.left.step is not None else test.left.start
            goal = limit if test.unsigned else signed(limit)
            counter = "a scalar counter" if test.left.start.shape[1] == 1 else "a counter"
            return Trip(
                int(counts.flat[0]) + (0 if first else 1),
                f"{counter} goes to {across(goal)} in steps of {int(step.flat[0]):+d}",
                launch,
            )
        if active is None or any(bool((active & ~where).any()) for where in known):
            return unknown
        active = active & head.waves
        counts = np.broadcast_to(counts, active.shape)
        taking = active.any(axis=1)
        if bool((counts[active] < 0).any()):
            return unknown
        if not taking.any():
            return Trip(0, NOBODY, True)
        why = self._reason(test, active)
        counts = counts + (0 if first else 1)
        longest = np.where(active, counts, 0).max(axis=1)
        if not last_lane:
            longest = np.where(active, counts, np.iinfo(np.int64).max).min(axis=1)
        whole = int(longest[taking].sum())
        done = int(np.minimum(counts, longest[:, None])[active].sum())
        lanes = done / float((longest[:, None] * active)[taking].sum()) if whole else 1.0
        mean = whole / int(taking.sum())
        low, high = int(longest[taking].min()), int(longest[taking].max())
        spread = "" if low == high else f"; wavefronts run it {low:,} to {high:,} times"
        return Trip(int(mean) if mean == int(mean) else mean, why + spread, True, lanes)

    def _reason(self, test: Test, active: Array) -> str:
        counter, limit = (test.left, test.right) if test.left.step is not None else (test.right, test.left)

        def shown(value: Array) -> str:
            chosen = np.broadcast_to(value, active.shape)[active]
            return across(chosen if test.unsigned else signed(chosen))

        step = np.broadcast_to(signed(counter.step), active.shape)[active]
        return f"each work-item's counter goes to {shown(limit.start)} in steps of {across(step)}"

    def _latches(self, loop: int) -> list[int]:
        cycle = self._cycles[loop]
        return [b for b in cycle.blocks if cycle.header in self._followers[b]]

    def _cut(self, loop: int, goal: int, through: int) -> bool:
        """Whether every way from a loop's head to ``goal`` inside it passes ``through``."""
        source, members = self._cycles[loop].header, self._cycles[loop].blocks
        if through in (source, goal):
            return True
        seen, waiting = {source}, [source]
        while waiting:
            for follower in self._followers[waiting.pop()]:
                if follower == goal:
                    return False
                if follower in members and follower not in (source, through) and follower not in seen:
                    seen.add(follower)
                    waiting.append(follower)
        return True


def chance(some: int, of_all: int, *, sure: bool) -> float:
    """The share of wavefronts that take a branch; none and all only if that is ``sure``, not a matter of choice."""
    return some / of_all if sure else min(max(some / of_all, _HARDLY), 1 - _HARDLY)


def _merged(edges: Sequence[_Edge]) -> _Edge:
    """What holds whichever edge was taken; edges that no wavefront takes say nothing."""
    waves = edges[0].waves
    for edge in edges[1:]:
        waves = waves | edge.waves
    taken = [edge for edge in edges if bool(edge.waves.any())] or list(edges)
    first, *others = taken
    state = first.state.copy()
    for other in others:
        for mine, theirs in ((state.scalars, other.state.scalars), (state.vectors, other.state.vectors)):
            for register in [r for r, v in mine.items() if not _same(v, theirs.get(r))]:
                del mine[register]
        state.tests = {r: t for r, t in state.tests.items() if other.state.tests.get(r) is t}
    return _Edge(state, waves)


def _same(one: Value, other: Value | None) -> bool:
    if one is other:
        return True
    if other is None:
        return False
    return all(
        a is b or (a is not None and b is not None and np.array_equal(a, b))
        for a, b in ((one.start, other.start), (one.step, other.step), (one.where, other.where))
    )


def signed(bits: Any) -> Array:
    """The same bits as signed numbers."""
    wide = np.asarray(bits).astype(np.int64) & _MASK
    return np.asarray(wide - ((wide >> 31) << 32))


def across(values: Any) -> str:
    """The least and the greatest of numbers, as text."""
    low, high = int(np.min(values)), int(np.max(values))
    return f"{low:,}" if low == high else f"{low:,}…{high:,}"


def iterations(left: Affine, right: Affine, relation: str, unsigned: bool, leaves_when: bool) -> Array:
    """The first iteration, from 0, whose comparison comes out as ``leaves_when``; -1 where that cannot be said."""
    steps = [signed(0 if side.step is None else side.step) for side in (left, right)]
    step = steps[0] - steps[1]
    safe = np.where(step == 0, 1, step)
    a, b = (np.asarray(s.start).astype(np.int64) & _MASK if unsigned else signed(s.start) for s in (left, right))
    if relation in ("eq", "ne"):
        difference = signed(b - a)
        if (relation == "eq") == leaves_when:
            count, rest = np.divmod(difference, safe)
            met = (step != 0) & (rest == 0) & (count >= 0)
            return np.asarray(np.where(difference == 0, 0, np.where(met, count, -1)))
        return np.asarray(np.where(difference != 0, 0, np.where(step != 0, 1, -1)))
    if not leaves_when:
        relation = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}[relation]
    # Leave when a + step·i RELATION b.
    if relation in ("lt", "le"):
        a, b, step, safe = -a, -b, -step, -safe
    bound = b + 1 if relation in ("gt", "lt") else b
    return np.asarray(np.where(a >= bound, 0, np.where(step > 0, -(-(bound - a) // safe), -1)))
