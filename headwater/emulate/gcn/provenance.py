"""Input: a kernel's machine code. Output: through which of its pointer arguments it may write.

Each register is followed along all paths with what its value may be made from: pointers among the arguments, memory,
or neither. A pointer plus a number that was loaded is that pointer moved, as C has it, and 32 bits are a number. What
may be a pointer that was loaded, or cannot be known, makes the answer None: then any argument may be written through.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headwater.emulate.gcn.dispatch import abi_of
from headwater.emulate.gcn.program import Program, effects, keeps_old, live_before_each, meaning, registers
from headwater.isa.gcn.model import PRIVATE_BASE, PRIVATE_LIMIT, SHARED_BASE, SHARED_LIMIT, Instruction, Register, Row
from headwater.isa.gcn.semantics import semantics
from headwater.isa.semantics.model import Node

if TYPE_CHECKING:
    from headwater.emulate.gcn.program import BasicBlock
    from headwater.isa.gcn.objects import KernelArg, KernelObject

LOADED: Final = 1
"""64 bits that were loaded, or part of them: numbers, or a pointer that nothing is known of."""
_KERNARG, _NEAR_KERNARG, _OWN = 2, 4, 8
"""The address of the kernarg segment; the same moved; private or local memory."""
_FIRST = 4
"""The bit of the first pointer among the arguments."""
_VECTOR = 256
"""Where vector registers begin in a state, accumulation registers behind them: see `program.Effects`."""
_APERTURES = frozenset({SHARED_BASE, SHARED_LIMIT, PRIVATE_BASE, PRIVATE_LIMIT})
_MEMORY = frozenset({"SMEM", "SMRD", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG", "DS"})
_HIDDEN_NUMBERS = ("offset", "block_count", "group_size", "remainder", "grid_dims", "lds_size", "none")

State = dict[int, int]
"""By register, those that hold anything of the above."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """``written``: the numbers of the arguments through which may be written, hidden ones counted. ``still``: the
    addresses of loads that read through others."""

    written: frozenset[int]
    still: frozenset[int]


def provenance(program: Program, kernel: KernelObject, target: str) -> Provenance | None:
    """What a kernel writes through; None if that is not known."""
    if kernel.legacy is not None:
        return None
    return _Follow(program, kernel, target).result()


class _Follow:
    def __init__(self, program: Program, kernel: KernelObject, target: str) -> None:
        self.program = program
        self.dwords = _argument_dwords(kernel.args)
        self.every = sum(1 << _FIRST + n for n in range(len(kernel.args))) | LOADED
        abi = abi_of(kernel, target)
        self.entry: State = {}
        if abi.kernarg >= 0:
            self.entry.update(dict.fromkeys(range(abi.kernarg, abi.kernarg + 2), _KERNARG))
        if abi.private_buffer >= 0:
            self.entry.update(dict.fromkeys(range(abi.private_buffer, abi.private_buffer + 4), _OWN))
        first, count = kernel.preload
        self.entry.update((abi.preload + n, self.dwords.get(first + n, 0)) for n in range(count))
        self.written = 0
        self.unknown = False
        self.read: dict[int, int] = {}
        """By a load's address in the code, the arguments that it may read through; those of which that is not known are
        not there."""

    def result(self) -> Provenance | None:
        before: dict[int, State] = {self.program.entry: self.entry}
        waiting = dict.fromkeys(before)
        while waiting and not self.unknown:
            address = next(iter(waiting))
            del waiting[address]
            block = self.program.blocks[address]
            state = dict(before[address])
            self._block(block, state)
            for follower in self.program.after(block):
                known = before.get(follower.address)
                joined = dict(state) if known is None else _joined(known, state)
                if joined != known:
                    before[follower.address] = joined
                    waiting[follower.address] = None
        if self.unknown:
            return None
        still = frozenset(address for address, bits in self.read.items() if not bits & self.written)
        return Provenance(frozenset(registers(self.written >> _FIRST)), still)

    def _block(self, block: BasicBlock, state: State) -> None:
        live = live_before_each(self.program, block)
        for n, instruction in enumerate(block.instructions):
            made = self._made(instruction, state)
            # What a write leaves in lanes that EXEC excludes counts if it is read again.
            kept = live[n + 1][2]
            for register, bits in made.items():
                if register >= _VECTOR and kept >> (register - _VECTOR) & 1:
                    bits |= state.get(register, 0)
                if bits:
                    state[register] = bits
                else:
                    state.pop(register, None)

    def _made(self, instruction: Instruction, state: State) -> State:
        """What the registers that an instruction writes hold then."""
        e = effects(instruction)
        made = dict.fromkeys(registers(e.scalar_write), 0)
        made |= dict.fromkeys((_VECTOR + r for r in registers(e.vector_write | e.lanes_write)), 0)
        if instruction.row.encoding in _MEMORY:
            self._memory(instruction, state, made)
            return made
        sources = [self._held(s.value, state) for s in instruction.sources if s.type != "mask"]
        if instruction.fields.get("indexed"):
            # Which of the registers M0 means is not known.
            sources = [_any(state, registers(e.scalar_read), registers(e.vector_read))]
        what = meaning(instruction)
        found = _sum(sources) if instruction.row.once("sums", _is_sum) else _union(sources)
        if found & _KERNARG and not instruction.row.once("moves", _moves):
            found = found & ~_KERNARG | _NEAR_KERNARG
        targets = [d for d in instruction.dests if d.type != "mask"]
        for dest in targets:
            old = self._held(dest.register, state) if keeps_old(instruction, dest.name, what) else 0
            made.update(dict.fromkeys(_numbers(dest.register), found | old))
        if e.lanes_write:
            made |= {r: found | state.get(r, 0) for r in made if r >= _VECTOR}
        written = {target for target, _ in what.assignments}
        for source in instruction.sources:
            if source.name in written and isinstance(source.value, Register):  # v_swap_b32
                made.update(dict.fromkeys(_numbers(source.value), found))
        if instruction.fields.get("indexed"):
            made = {r: found | state.get(r, 0) for r in made}
        return made

    def _memory(self, instruction: Instruction, state: State, made: State) -> None:
        """A memory instruction: note where it writes or reads, and say in ``made`` what it loads."""
        row = instruction.row
        where = self._address(instruction, state)
        if row.encoding == "DS":  # some exchange registers between lanes
            loaded = LOADED if sum(dest.register.dwords for dest in instruction.dests) > 1 else 0
            bits = loaded | _union(self._held(s.value, state) for s in instruction.sources)
            made.update(dict.fromkeys(made, bits))
            return
        known = where & ~(LOADED | _KERNARG | _NEAR_KERNARG)
        if "store" in row.flags or "atomic" in row.flags:
            if row.encoding != "SCRATCH":
                self.written |= known & ~_OWN
                self.unknown |= where != known or not known
        elif where == known and known and not known & _OWN:
            self.read[instruction.address] = known
        else:
            self.read.pop(instruction.address, None)
        if where == _KERNARG and row.encoding in ("SMEM", "SMRD") and instruction.source("SOFFSET") is None:
            first = instruction.fields["offset_bytes"] // 4
            for dest in instruction.dests:
                made.update((r, self.dwords.get(first + n, 0)) for n, r in enumerate(_numbers(dest.register)))
            return
        if sum(dest.register.dwords for dest in instruction.dests) < 2:
            return  # too narrow for a pointer
        bits = self.every if where & (_KERNARG | _NEAR_KERNARG) else LOADED
        made.update(dict.fromkeys(made, bits))

    def _address(self, instruction: Instruction, state: State) -> int:
        """What an instruction's address is made from."""
        parts = []
        for source in instruction.sources_of("address"):
            if isinstance(source.value, Register):
                value = source.value
                # Of a buffer's descriptor, the address; the rest is its size and format.
                parts.append(self._held(Register(value.file, value.index, min(value.dwords, 2)), state))
        return _sum(parts)

    def _held(self, value: object, state: State) -> int:
        if not isinstance(value, Register):
            return 0
        if value.file == "s" and value.index in _APERTURES:
            return _OWN
        return _union(state.get(r, 0) for r in _numbers(value))


def _numbers(register: Register) -> range:
    """A register's dwords, as a state has them."""
    start = register.index + {"s": 0, "v": _VECTOR, "a": 2 * _VECTOR}[register.file]
    return range(start, start + register.dwords)


def _moves(row: Row) -> bool:
    """Whether an operation's result is its source as it is, that of the first active lane perhaps."""
    node = dict(semantics(row).assignments).get("D")
    while node is not None and node.op in ("as", "first_lane"):
        node = node.args[0]
    return node is not None and node.op == "operand"


def _is_sum(row: Row) -> bool:
    """Whether an operation's result, if it is not clamped, is a sum or difference of operands, which may be scaled."""
    values = dict(semantics(row).assignments)
    node = values.get("D") or values.get("SDST")
    while node is not None and node.op in ("as", "convert", "select"):
        node = node.args[-1]
    return node is not None and node.op in ("add", "sub") and _is_linear(node)


def _is_linear(node: Node) -> bool:
    """Whether a value is made of operands and numbers by additions, and of products."""
    if node.op in ("operand", "constant", "mul", "shl"):
        return True
    return node.op in ("as", "convert", "add", "sub") and all(map(_is_linear, node.args))


def _union(parts: Iterable[int]) -> int:
    found = 0
    for part in parts:
        found |= part
    return found


def _sum(parts: Iterable[int]) -> int:
    """What a sum is made from: a number that was loaded is added to a pointer, if there is one."""
    parts = list(parts)
    pointer = any(part & ~LOADED for part in parts)
    return _union(part for part in parts if not pointer or part != LOADED)


def _any(state: State, scalars: Iterable[int], vectors: Iterable[int]) -> int:
    return _union(state.get(r, 0) for r in (*scalars, *(_VECTOR + v for v in vectors)))


def _joined(one: State, other: State) -> State:
    return {r: one.get(r, 0) | other.get(r, 0) for r in one.keys() | other.keys()}


def _argument_dwords(args: Iterable[KernelArg]) -> State:
    """What the dwords of the kernarg segment hold: only pointers count."""
    found: State = {}
    for number, arg in enumerate(args):
        kind = arg.value_kind
        if kind in ("by_value", "dynamic_shared_pointer") or any(part in kind for part in _HIDDEN_NUMBERS):
            continue
        if kind.startswith("hidden_"):
            bits = _OWN if kind in ("hidden_private_base", "hidden_shared_base") else LOADED
        else:
            bits = 1 << _FIRST + number
        for dword in range(arg.offset // 4, (arg.offset + arg.size + 3) // 4):
            found[dword] = found.get(dword, 0) | bits
    return found
