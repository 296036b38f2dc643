"""A GCN kernel's blocks and one of its loops pass in; how often the loop's body runs, where the code itself tells, out.

Scalar registers are followed as numbers through the code before the loop, and as ``start + step × iteration`` through
its body. A loop that leaves at one place, by a comparison of such a register with a number, has a count that is a
fact. Numbers come from constants and from arguments whose values the caller gives. Everything else is said to be
unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.emulate.program import BasicBlock, Program, effects, registers
from headwater.isa.gcn.model import SCC, Constant, Instruction, Literal, Register, constant_bits

_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Affine:
    """``start + step × iteration``, modulo 2³²."""

    start: int
    step: int = 0


State = dict[int, Affine]
"""Scalar register -> what it holds; registers that are not known are absent."""


@dataclass(frozen=True, slots=True)
class Trip:
    """``count`` None: not known, and ``why`` says what stands in the way."""

    count: int | None
    why: str


class Trips:
    """Trip counts of a program's loops. ``arguments``: dwords of the kernarg segment by offset, as far as given;
    ``kernarg``: the first of the two scalar registers that hold its address, -1 if there is none."""

    def __init__(self, program: Program, kernarg: int, arguments: Mapping[int, int]) -> None:
        self._blocks: Sequence[BasicBlock] = list(program.blocks.values())
        self._index = {block.address: n for n, block in enumerate(self._blocks)}
        self._program = program
        self._kernarg = kernarg
        self._arguments = arguments
        self._before: list[list[int]] = [[] for _ in self._blocks]
        for number, block in enumerate(self._blocks):
            for follower in program.after(block):
                self._before[self._index[follower.address]].append(number)
        self._out: dict[int, State] = {}
        self._constants()

    # -- numbers before loops ------------------------------------------------------------------------------------------

    def _constants(self) -> None:
        """What is known at the end of each block, whichever way it was reached."""
        entry = self._index[self._program.entry]
        waiting = [entry]
        rounds = 0
        while waiting and rounds < 50 * len(self._blocks) + 100:
            rounds += 1
            number = waiting.pop(0)
            state = self._merged([p for p in self._before[number] if p in self._out]) if number != entry else {}
            for instruction in self._blocks[number].instructions:
                self._run(instruction, state)
            if self._out.get(number) != state:
                self._out[number] = state
                waiting += [self._index[f.address] for f in self._program.after(self._blocks[number])]

    def _merged(self, blocks: Sequence[int]) -> State:
        states = [self._out[b] for b in blocks]
        if not states:
            return {}
        return {r: v for r, v in states[0].items() if all(other.get(r) == v for other in states[1:])}

    def _value(self, value: object, state: State) -> Affine | None:
        if isinstance(value, Constant):
            return Affine(constant_bits(value.code, "b32"))
        if isinstance(value, Literal):
            return Affine(value.bits)
        if isinstance(value, Register) and value.file == "s":
            return state.get(value.index)
        return None

    def _run(self, instruction: Instruction, state: State) -> None:
        """Follow an instruction: what it writes is known anew, or no more."""
        e = effects(instruction)
        name = instruction.row.name
        made = self._result(name, instruction, state)
        loaded = self._pair(name, instruction, state) or self._loaded(name, instruction)
        for register in registers(e.scalar_write):
            if register != SCC:
                state.pop(register, None)
        if made is not None and instruction.dests:
            state[instruction.dests[0].register.index] = made
        state.update(loaded)

    def _pair(self, name: str, instruction: Instruction, state: State) -> State:
        """Both halves of what s_mov_b64 writes."""
        source = instruction.source("S0")
        if name != "s_mov_b64" or source is None:
            return {}
        first = instruction.dests[0].register.index
        value = source.value
        if isinstance(value, Constant):
            bits = constant_bits(value.code, "b64")
            return {first: Affine(bits & _MASK), first + 1: Affine(bits >> 32)}
        if isinstance(value, Register) and value.file == "s":
            return {first + n: state[value.index + n] for n in (0, 1) if value.index + n in state}
        return {}

    def _loaded(self, name: str, instruction: Instruction) -> State:
        base = instruction.source("ADDR")
        if not name.startswith("s_load_dword") or base is None or base.value != Register("s", self._kernarg, 2):
            return {}
        offset = instruction.fields.get("offset", 0)
        scale = 4 if self._program.isa in ("gfx6", "gfx7") else 1
        first = instruction.dests[0].register
        return {
            first.index + n: Affine(self._arguments[scale * offset + 4 * n] & _MASK)
            for n in range(first.dwords)
            if scale * offset + 4 * n in self._arguments
        }

    def _result(self, name: str, instruction: Instruction, state: State) -> Affine | None:
        if not instruction.dests or instruction.dests[0].register.file != "s":
            return None
        first, second = (instruction.source(n) for n in ("S0", "S1"))
        a = self._value(first.value, state) if first is not None else None
        b = self._value(second.value, state) if second is not None else None
        if name in ("s_movk_i32", "s_addk_i32", "s_mulk_i32"):
            number = instruction.fields.get("simm16", 0)
            number -= (number >> 15) << 16
            if name == "s_movk_i32":
                return Affine(number & _MASK)
            old = state.get(instruction.dests[0].register.index)
            if old is None:
                return None
            if name == "s_addk_i32":
                return Affine((old.start + number) & _MASK, old.step)
            return Affine((old.start * number) & _MASK, old.step * number)
        if name in ("s_mov_b32", "v_readfirstlane_b32"):
            return a
        if a is None or b is None:
            return None
        if name in ("s_add_i32", "s_add_u32"):
            return Affine((a.start + b.start) & _MASK, a.step + b.step)
        if name in ("s_sub_i32", "s_sub_u32"):
            return Affine((a.start - b.start) & _MASK, a.step - b.step)
        if name == "s_mul_i32" and not (a.step and b.step):
            return Affine((a.start * b.start) & _MASK, a.step * b.start + b.step * a.start)
        if name == "s_lshl_b32" and not b.step:
            return Affine((a.start << (b.start & 31)) & _MASK, a.step << (b.start & 31))
        if a.step or b.step:
            return None
        simple = {
            "s_and_b32": a.start & b.start,
            "s_or_b32": a.start | b.start,
            "s_xor_b32": a.start ^ b.start,
            "s_lshr_b32": a.start >> (b.start & 31),
            "s_ashr_i32": (_signed(a.start) >> (b.start & 31)) & _MASK,
            "s_min_i32": min(_signed(a.start), _signed(b.start)) & _MASK,
            "s_max_i32": max(_signed(a.start), _signed(b.start)) & _MASK,
            "s_min_u32": min(a.start, b.start),
            "s_max_u32": max(a.start, b.start),
        }
        return Affine(simple[name]) if name in simple else None

    # -- one loop ------------------------------------------------------------------------------------------------------

    def of(self, header: int, members: frozenset[int]) -> Trip:
        """The trips of the loop of these blocks, by their indices in the program."""
        leaving = [b for b in members if any(f not in members for f in self._after(b))]
        if len(leaving) != 1:
            return Trip(None, "it ends at several places" if leaving else "it has no end")
        last = leaving[0]
        chain = self._always(header, last, members)
        if chain is None:
            return Trip(None, "its end is not reached in every iteration")
        start = self._merged([p for p in self._before[header] if p not in members and p in self._out])
        state: State = dict(start)
        steps = self._steps(header, members, start)
        for register in list(state):
            if register in steps:
                step = steps[register]
                if step is None:
                    del state[register]
                else:
                    state[register] = Affine(state[register].start, step)
        ends: tuple[Affine, Affine, str, bool] | None = None
        for number in chain:
            # What blocks beside the way write is not known after them.
            for instruction in self._blocks[number].instructions:
                if effects(instruction).scalar_write >> SCC & 1:
                    ends = self._comparison(instruction, state)
                self._run(instruction, state)
        branch = self._blocks[last].instructions[-1]
        if branch.row.name not in ("s_cbranch_scc0", "s_cbranch_scc1"):
            kind = "lanes" if "exec" in branch.row.name or "vcc" in branch.row.name else "something else"
            return Trip(None, f"{kind} decide when it ends")
        if ends is None:
            return Trip(None, "what it compares is not known before it runs")
        taken_out = branch.target is not None and self._index.get(branch.target, -1) not in members
        leaves_when = (branch.row.name == "s_cbranch_scc1") == taken_out
        left, right, relation, unsigned = ends
        count = iterations(left, right, relation, unsigned, leaves_when)
        if count is None:
            return Trip(None, "what it compares is not known before it runs")
        top = last == header and len(members) > 1 and header not in self._after(last)
        number = count if top else count + 1
        limit = right if left.step else left
        step = left.step or right.step
        goal = limit.start if unsigned else _signed(limit.start)
        return Trip(number, f"a scalar counter goes to {goal} in steps of {step:+d}")

    def _after(self, block: int) -> list[int]:
        return [self._index[f.address] for f in self._program.after(self._blocks[block])]

    def _always(self, header: int, last: int, members: frozenset[int]) -> list[int] | None:
        """The blocks that every iteration runs before it may end, in order; None if some iteration goes past the end
        test."""
        if not all(self._cut(header, latch, last, members) for latch in self._latches(header, members)):
            return None
        return [
            b
            for b in self._in_order(header, members)
            if b == last or (self._cut(header, last, b, members) and b != last)
        ]

    def _latches(self, header: int, members: frozenset[int]) -> list[int]:
        return [b for b in members if header in self._after(b)]

    def _cut(self, source: int, goal: int, through: int, members: frozenset[int]) -> bool:
        """Whether every way from ``source`` to ``goal`` inside the loop passes ``through``."""
        if through in (source, goal):
            return True
        seen, waiting = {source}, [source]
        while waiting:
            for follower in self._after(waiting.pop()):
                if follower == goal:
                    return False
                if follower in members and follower not in (source, through) and follower not in seen:
                    seen.add(follower)
                    waiting.append(follower)
        return True

    def _in_order(self, header: int, members: frozenset[int]) -> list[int]:
        order: list[int] = []
        seen = {header}
        stack = [(header, iter(self._after(header)))]
        while stack:
            node, rest = stack[-1]
            for follower in rest:
                if follower in members and follower not in seen:
                    seen.add(follower)
                    stack.append((follower, iter(self._after(follower))))
                    break
            else:
                order.append(node)
                stack.pop()
        return order[::-1]

    def _steps(self, header: int, members: frozenset[int], start: State) -> dict[int, int | None]:
        """Registers that the loop writes -> by how much an iteration changes them; None where that is not one number.

        A register counts only if a single addition of a number, in every iteration, is all that writes it.
        """
        writers: dict[int, list[tuple[int, Instruction]]] = {}
        for number in members:
            for instruction in self._blocks[number].instructions:
                for register in registers(effects(instruction).scalar_write):
                    if register != SCC:
                        writers.setdefault(register, []).append((number, instruction))
        fixed: State = {r: v for r, v in start.items() if r not in writers}
        latches = self._latches(header, members)
        found: dict[int, int | None] = {}
        for register, places in writers.items():
            found[register] = None
            if len(places) != 1:
                continue
            number, instruction = places[0]
            if not all(self._cut(header, latch, number, members) for latch in latches):
                continue
            probe = {**fixed, register: Affine(0)}
            made = self._result(instruction.row.name, instruction, probe)
            reads = instruction.row.name == "s_addk_i32" or any(
                isinstance(s.value, Register) and s.value.index == register for s in instruction.sources
            )
            single = instruction.dests and instruction.dests[0].register == Register("s", register, 1)
            twice = self._result(instruction.row.name, instruction, {**fixed, register: Affine(1)})
            if (
                made is not None
                and twice is not None
                and reads
                and single
                and twice.start - made.start in (1, 1 - 2**32)
            ):
                found[register] = _signed(made.start)
        return found

    def _comparison(self, instruction: Instruction, state: State) -> tuple[Affine, Affine, str, bool] | None:
        name = instruction.row.name
        first, second = (instruction.source(n) for n in ("S0", "S1"))
        if name.startswith("s_cmpk_"):
            number = instruction.fields.get("simm16", 0)
            if name.endswith("i32"):
                number -= (number >> 15) << 16
            left = self._value(first.value, state) if first is not None else None
            if left is None and instruction.fields.get("sdst") is not None:
                left = state.get(instruction.fields["sdst"])
            right: Affine | None = Affine(number & _MASK)
        elif name.startswith("s_cmp_") and first is not None and second is not None:
            left, right = self._value(first.value, state), self._value(second.value, state)
        else:
            return None
        if left is None or right is None:
            return None
        relation = name.split("_")[2]
        return left, right, relation, name.endswith(("u32", "u64"))


def _signed(bits: int) -> int:
    bits &= _MASK
    return bits - (1 << 32) if bits >> 31 else bits


def iterations(left: Affine, right: Affine, relation: str, unsigned: bool, leaves_when: bool) -> int | None:
    """The first iteration, from 0, whose comparison comes out as ``leaves_when``; None if that cannot be said."""
    step = left.step - right.step
    if relation in ("eq", "lg"):
        difference = _signed(right.start - left.start)
        if (relation == "eq") == leaves_when:
            if step == 0:
                return 0 if difference == 0 else None
            count, rest = divmod(difference, step)
            return count if rest == 0 and count >= 0 else None
        return 0 if difference else (1 if step else None)
    a, b = (x.start & _MASK if unsigned else _signed(x.start) for x in (left, right))
    if not leaves_when:
        relation = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}[relation]
    # Leave when a + step·i RELATION b.
    if relation in ("lt", "le"):
        a, b, step = -a, -b, -step
    bound = b + 1 if relation in ("gt", "lt") else b
    if a >= bound:
        return 0
    return -(-(bound - a) // step) if step > 0 else None
