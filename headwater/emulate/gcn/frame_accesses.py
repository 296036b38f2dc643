"""Input: loads and stores of large kernels. Output: a call for the whole wavefront that moves registers of the frame.

Where accesses are calls anyway, one for each part, with registers copied to and from arrays, made up half of the code
that LLVM had to compile. In kernels with matrix instructions all plain accesses are such calls: they run as fast as
those written out, and LLVM compiles much less code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.gcn import lds_pairs
from headwater.emulate.gcn.accesses import Place, put_descriptor, resource
from headwater.emulate.gcn.program import meaning
from headwater.emulate.watch.hooks import LaneAccess
from headwater.emulate.wave.helpers import BUFFER, PRIVATE, WRITE
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.memory import PRIVATE_SLOT
from headwater.emulate.wave.registers import PARTS, number
from headwater.isa.gcn.model import Instruction, Register
from headwater.isa.semantics.model import Node
from headwater.isa.semantics.types import BITS

if TYPE_CHECKING:
    from headwater.emulate.gcn.translator import Translator

_MOVE_WAVE = "declare hidden i32 @hw_move_wave(ptr, i64, i64, i64, ptr, ptr, ptr, ptr, ptr, i64)"
_ENCODINGS = frozenset(("DS", "GLOBAL", "FLAT"))


@dataclass(frozen=True, slots=True)
class _Moves:
    """What an instruction moves: ``nbytes`` for each lane, between its registers from ``registers[n]`` on and memory,
    ``offsets[n]`` bytes from the address. A load of less than a dword is extended by zeros."""

    writes: bool
    nbytes: int
    registers: tuple[int, ...]
    offsets: tuple[int, ...]

    @property
    def dwords(self) -> int:
        return max(self.nbytes // 4, 1)


def translate(t: Translator, instruction: Instruction, place: Place) -> bool:
    """Translate a plain load or store where it is to be a call and registers lie in the frame; False for all others."""
    source = instruction.source("ADDR")
    calls = t.compact or t.outlined is not None
    if not calls or not t.in_frame or instruction.row.encoding not in _ENCODINGS:
        return False
    if t.watch is not None and t.watch.takes_values:
        return False
    if source is None or not isinstance(source.value, Register) or not TRAITS[t.program.isa].wraps_lds_addresses:
        return False
    moves = _moves(instruction)
    if moves is None:
        return False
    t.flush()
    if t.watch is not None:
        for part in range(PARTS):
            for offset in moves.offsets:
                at = place(part).moved(t.b, offset)
                t.watch.access(instruction, LaneAccess(part, at, moves.nbytes, t.exec_mask(), moves.writes))
    b, regs = t.b, t.regs
    at = place(0)
    low = number(source.value)
    places = [regs.consecutive(low, 1), "null" if at.high is None else regs.consecutive(low + 1, 1)]
    places += [regs.consecutive(first, moves.dwords) for first in moves.registers]
    moved = [first + n for first in moves.registers for n in range(moves.dwords)]
    addresses = [low] if at.high is None else [low, low + 1]
    for register in [*addresses, *moved]:  # a load keeps what lanes have that EXEC excludes
        regs.write_back(register)
    offsets = [(at.offset + offset & 0xFFFFFFFF) << 32 * n for n, offset in enumerate(moves.offsets)]
    info = instruction.address << 32 | moves.nbytes << 16 | at.how | (WRITE if moves.writes else 0)
    mask = "-1" if t.exec_mask().full else t.exec_mask().bits(b)
    b.declare(_MOVE_WAVE)
    pointers = ", ".join(f"ptr {place}" for place in [*places, "null"][:4])
    fine = b.emit(
        f"call i32 @hw_move_wave(ptr %w, i64 {at.base}, i64 {mask}, i64 {info}, ptr {at.slot.pointer}, {pointers}, "
        f"i64 {sum(offsets)})"
    )
    t.stop_unless(b.emit(f"icmp ne i32 {fine}, 0"))
    if not moves.writes:
        for register in moved:
            regs.written(register)
    return True


def translate_spilled(t: Translator, instruction: Instruction) -> bool:
    """The same for dwords at one offset of a buffer, by which the compiler spills registers; False for all others.

    Only when it runs is it known whether the descriptor is of private memory.
    """
    fields = instruction.fields
    if not (t.compact and t.in_frame and t.watch is None) or fields["offen"] or fields["idxen"] or fields.get("lds"):
        return False
    moves = _moves(instruction)
    if moves is None or moves.nbytes % 4 or fields["offset"] % 4:
        return False
    t.flush()
    b, regs = t.b, t.regs
    first = moves.registers[0]
    b.declare(_MOVE_WAVE)
    b.declare("declare hidden i32 @hw_move_private(ptr, i64, i64, i64, ptr, ptr)")
    descriptor, base, soffset = resource(t, instruction)
    words = [regs.scalar(descriptor + n) for n in range(4)]
    registers = regs.consecutive(first, moves.dwords)
    for register in range(first, first + moves.dwords):  # a load keeps what lanes have that EXEC excludes
        regs.write_back(register)
    info = instruction.address << 32 | moves.nbytes << 16 | (WRITE if moves.writes else 0)
    mask = "-1" if t.exec_mask().full else t.exec_mask().bits(b)
    private, buffer, done = b.label("private"), b.label("buffer"), b.label("moved")
    b.line(f"br i1 {b.emit(f'icmp slt i32 {words[1]}, 0')}, label %{private}, label %{buffer}")
    b.start(private)
    start = b.emit(f"add i64 {base}, {b.resize(soffset, 'u64').text}")
    start = b.emit(f"add i64 {start}, {LANES * fields['offset']}")
    slot = t.fixed_slot(PRIVATE_SLOT)
    where = f"ptr %w, i64 {start}, i64 {mask}, i64 {info | PRIVATE}, ptr {slot}, ptr {registers}"
    fine = [b.emit(f"call i32 @hw_move_private({where})")]
    b.jump(done)
    b.start(buffer)
    put_descriptor(t, instruction, words, soffset)
    at = b.emit("ptrtoint ptr %buffer to i64")
    fine.append(
        b.emit(
            f"call i32 @hw_move_wave(ptr %w, i64 {at}, i64 {mask}, i64 {info | BUFFER}, ptr {t.new_slot()}, ptr null, "
            f"ptr null, ptr {registers}, ptr null, i64 0)"
        )
    )
    b.jump(done)
    b.start(done)
    joined = b.emit(f"phi i32 [{fine[0]}, %{private}], [{fine[1]}, %{buffer}]")
    t.stop_unless(b.emit(f"icmp ne i32 {joined}, 0"))
    if not moves.writes:
        for register in range(first, first + moves.dwords):
            regs.written(register)
    return True


def _moves(instruction: Instruction) -> _Moves | None:
    """What an instruction moves, if it does nothing else and both that it may move are as wide."""
    what = meaning(instruction)
    if any(effect.kind != "store" for effect in what.effects) or bool(what.effects) == bool(what.assignments):
        return None
    registers: list[int] = []
    if what.effects:
        for effect in what.effects:
            name = _stored(effect.args[0])
            source = None if name is None else instruction.source(name)
            if source is None or not isinstance(source.value, Register):
                return None
            registers.append(number(source.value))
    else:
        ((target, node),) = what.assignments if len(what.assignments) == 1 else (("", None),)
        dest = instruction.dest(target)
        loads = None if node is None else _loaded(node)
        if loads is None or dest is None or dest.register.file == "s":
            return None
        first = number(dest.register)
        step = max(BITS[loads[0].type] // 32, 1)
        if dest.register.dwords != step * len(loads):
            return None
        registers = [first + step * n for n in range(len(loads))]
    accesses = what.accesses
    sizes = {BITS[access.type] // 8 for access in accesses}
    if len(accesses) != len(registers) or len(sizes) != 1 or len(registers) > 2:
        return None
    offsets = [0 if a.offset is None else lds_pairs.constant(instruction, a.offset) for a in accesses]
    return _Moves(bool(what.effects), sizes.pop(), tuple(registers), tuple(offsets))


def _loaded(node: Node) -> list[Node] | None:
    """The loads that a value is made of, if it is nothing else: one, extended by zeros if it is narrow, or two."""
    if node.op == "convert" and node.type == "u32" and node.args[0].type in ("u8", "u16"):
        node = node.args[0]
    elif BITS[node.type] < 32:
        return None
    loads = list(node.args) if node.op == "concat" else [node]
    return loads if all(one.op == "load" for one in loads) else None


def _stored(node: Node) -> str | None:
    """The operand whose registers, or low bits of them, are stored."""
    if node.op == "convert" and node.type in ("u8", "u16"):
        node = node.args[0]
    return node.name if node.op == "operand" and BITS[node.type] >= 32 else None
