"""Input: atomic instructions. Output: code that updates memory for each active lane.

Addresses and operands go through arrays, of which the loop over the lanes in `headwater.emulate.wave.atomics` reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headwater.emulate.gcn.program import meaning
from headwater.emulate.gcn.vector import put
from headwater.emulate.watch.hooks import LaneAccess
from headwater.emulate.wave.atomics import (
    Update,
    pointer_to,
    put_array,
    reported_operands,
    update_lanes,
    wide_addresses,
)
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.helpers import GDS, LDS, WRITE
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.memory import GDS_SLOT, LDS_SLOT, Address
from headwater.emulate.wave.registers import PART, PART_LANES, PARTS, Mask, number
from headwater.isa.gcn.model import EXEC, M0, Instruction, Register
from headwater.isa.semantics.types import BITS

if TYPE_CHECKING:
    from headwater.emulate.gcn.translator import Translator

_LONG = f"<{PART_LANES} x i64>"


def translate(t: Translator, instruction: Instruction, place: Callable[[int], Address]) -> None:
    """One atomic instruction of any encoding."""
    t.flush()
    b = t.b
    how, slot = 0, ""
    for part in range(PARTS):  # addresses, one lane after the other
        at = place(part).settled(b)
        how, slot = at.how, at.slot.pointer
        report(t, instruction, part, at, t.exec_mask())
        wide = wide_addresses(b, at)
        here = b.emit(f"getelementptr i8, ptr %addresses, i64 {8 * PART_LANES * part}")
        b.line(f"store {_LONG} {wide}, ptr {here}, align 64")
    update_places(t, instruction, how, slot, "-1" if t.exec_mask().full else t.regs.pair(EXEC))


def _operands(instruction: Instruction) -> tuple[dict[str, tuple[int, int]], list[int]]:
    """The registers of an instruction's data, and where among them those of each operand are: first and how many."""
    layout: dict[str, tuple[int, int]] = {}
    registers: list[int] = []
    for source in instruction.sources:
        if source.role == "data" and isinstance(source.value, Register):
            layout[source.name] = len(registers), source.value.dwords
            registers += range(number(source.value), number(source.value) + source.value.dwords)
    return layout, registers


def report(t: Translator, instruction: Instruction, part: int, at: Address, lanes: Mask) -> None:
    """Report to the observer that a part's lanes are about to update what lies at an address."""
    if t.watch is not None:
        registers = [t.regs.vector(register, part) for register in _operands(instruction)[1]]
        values = reported_operands(meaning(instruction), registers)
        nbytes = updated_bytes(instruction)
        t.watch.access(instruction, LaneAccess(part, at, nbytes, lanes, writes=True, values=values, ahead=True))


def updated_bytes(instruction: Instruction) -> int:
    """Bytes of memory that an atomic instruction updates for a lane."""
    targets = dict(meaning(instruction).assignments)
    return BITS[targets["MEM"].type] // 8 if "MEM" in targets else 4


def updates_halves(instruction: Instruction) -> bool:
    """Whether an atomic instruction may update 16 bits of global memory by the dword that they lie in: an addition of
    two halves, of which one is 0, or a comparison that leaves one as it was."""
    if "atomic" not in instruction.row.flags or updated_bytes(instruction) != 4 or instruction.row.encoding == "DS":
        return False
    what = meaning(instruction)
    return what.update == "cmpxchg" or "16_pair" in instruction.row.semantics


def update_places(t: Translator, instruction: Instruction, how: int, slot: str, bits: str) -> None:
    """Update memory for the lanes of ``bits``, an ``i64``, whose addresses are in ``%addresses``."""
    dest = instruction.dest("D")
    nbytes = updated_bytes(instruction)
    layout, registers = _operands(instruction)
    for n, register in enumerate(registers):
        for part in range(PARTS):
            put_array(t.b, "%data", n, part, t.regs.vector(register, part))
    what = meaning(instruction)
    update = Update(what, t.mode, nbytes, how, slot, instruction.address, layout)
    update_lanes(t, update, bits, keep_old=dest is not None)
    if dest is not None:
        take_before(t, instruction, min(dest.register.dwords, nbytes // 4))


def take_before(t: Translator, instruction: Instruction, dwords: int) -> None:
    """Write what memory held, which is in ``%before``, to the destination."""
    b = t.b
    first = number(instruction.dests[0].register)
    exec_mask = t.exec_mask()
    for n in range(dwords):
        masked = t.masked(first + n)
        for part in range(PARTS):
            here = b.emit(f"getelementptr i8, ptr %before, i64 {4 * (LANES * n + PART_LANES * part)}")
            value = b.emit(f"load {PART}, ptr {here}, align 64")
            put(t, first + n, part, value, exec_mask, masked, None)


def count(t: Translator, instruction: Instruction) -> None:
    """ds_append and ds_consume: the number of active lanes is added to a counter, or taken from it, and every lane gets
    what it was (AMD, Vega ISA Reference Guide, "DS_APPEND"). M0 has the address, as LLVM puts it there."""
    t.flush()
    b = t.b
    effect = meaning(instruction).effect("count")
    assert effect is not None
    how = GDS if instruction.fields.get("gds") else LDS
    slot = t.slot_now(t.fixed_slot(GDS_SLOT if how == GDS else LDS_SLOT))
    base = b.emit(f"zext i32 {b.emit(f'and i32 {t.regs.scalar(M0)}, 65535')} to i64")
    base = b.emit(f"add i64 {base}, {instruction.fields['offset']}")
    address = b.emit(f"add i64 {slot.start}, {base}")
    lanes = t.regs.pair(EXEC)
    first = b.emit(f"and i64 {lanes}, {b.emit(f'sub i64 0, {lanes}')}")
    if t.watch is not None:
        for part in range(PARTS):
            at = Address(address, "zeroinitializer", None, how, slot)
            t.watch.access(instruction, LaneAccess(part, at, 4, Mask(first), writes=True))
    start, some, done = b.block.label, b.label("some"), b.label("counted")
    b.branch(b.emit(f"icmp eq i64 {lanes}, 0"), done, some)
    b.start(some)
    lane = b.emit(f"trunc i64 {b.intrinsic('cttz', 'u64', Value(lanes, 'u64'), extra=('i1 true',)).text} to i32")
    pointer = pointer_to(t, address, 4, how | WRITE, instruction.address, lane, slot.pointer)
    old = b.emit(f"load i32, ptr {pointer}, align 1")
    b.declare("declare i64 @llvm.ctpop.i64(i64)")
    active = b.emit(f"trunc i64 {b.emit(f'call i64 @llvm.ctpop.i64(i64 {lanes})')} to i32")
    operation = "add" if effect.text == "up" else "sub"
    b.line(f"store i32 {b.emit(f'{operation} i32 {old}, {active}')}, ptr {pointer}, align 1")
    end = b.block.label
    b.jump(done)
    b.start(done)
    before = b.splat(Value(b.emit(f"phi i32 [0, %{start}], [{old}, %{end}]"), "u32"), PART_LANES).text
    register = number(instruction.dests[0].register)
    exec_mask, masked = t.exec_mask(), t.masked(register)
    for part in range(PARTS):
        put(t, register, part, before, exec_mask, masked, None)
