"""Input: LDS instructions that only exchange registers between lanes. Output: the code that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.emulate.gcn.vector import put
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.memory import vector
from headwater.emulate.wave.registers import PART, PART_LANES, PART_MASK, PARTS, Mask, number
from headwater.isa.gcn.model import Instruction, Register

if TYPE_CHECKING:
    from headwater.emulate.gcn.translator import Translator

_POINTERS = f"<{PART_LANES} x ptr>"


def translate(t: Translator, instruction: Instruction) -> bool:
    """Translate ds_swizzle_b32, ds_bpermute_b32 and ds_permute_b32; False for everything else."""
    name = instruction.row.name
    if name not in ("ds_swizzle_b32", "ds_bpermute_b32", "ds_permute_b32"):
        return False
    t.flush()
    dest = number(instruction.dests[0].register)
    exec_mask = t.exec_mask()
    masked = t.masked(dest)
    if name == "ds_swizzle_b32":
        results = _swizzle(t, instruction, exec_mask)
    elif name == "ds_bpermute_b32":
        results = _gather(t, instruction, exec_mask)
    else:
        results = _scatter(t, instruction, exec_mask)
    for part, value in enumerate(results):
        put(t, dest, part, value, exec_mask, masked, None)
    return True


def _register(instruction: Instruction, name: str) -> int:
    source = instruction.source(name)
    assert source is not None
    assert isinstance(source.value, Register)
    return number(source.value)


def _active(t: Translator, register: int, exec_mask: Mask) -> list[str]:
    """A register's parts, 0 in lanes that EXEC excludes."""
    b = t.b
    values = [t.regs.vector(register, part) for part in range(PARTS)]
    if exec_mask.full:
        return values
    return [
        b.emit(f"select {PART_MASK} {exec_mask.part(b, part)}, {PART} {value}, {PART} zeroinitializer")
        for part, value in enumerate(values)
    ]


def swizzle_sources(offset: int) -> list[int]:
    """The lane that each of 64 lanes reads (AMD, Vega ISA Reference Guide, "DS_SWIZZLE_B32")."""
    if offset & 0x8000:
        return [(lane & ~3) + (offset >> 2 * (lane & 3) & 3) for lane in range(LANES)]
    keep, set_, flip = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return [(lane & 32) | (((lane & keep) | set_) ^ flip) for lane in range(LANES)]


def _swizzle(t: Translator, instruction: Instruction, exec_mask: Mask) -> list[str]:
    b = t.b
    address = instruction.source("ADDR")
    values = _active(t, _register(instruction, "ADDR" if address is not None else "S0"), exec_mask)
    sources = swizzle_sources(instruction.fields["offset"])
    results = []
    for part in range(PARTS):
        mine = sources[part * PART_LANES : (part + 1) * PART_LANES]
        first, second = min(s // PART_LANES for s in mine), max(s // PART_LANES for s in mine)
        picks = [s % PART_LANES + (PART_LANES if s // PART_LANES != first else 0) for s in mine]
        results.append(b.emit(f"shufflevector {PART} {values[first]}, {PART} {values[second]}, {PART} {vector(picks)}"))
    return results


def _places(t: Translator, instruction: Instruction, part: int) -> str:
    """Pointers to the lanes of the array ``%data`` that the address register names."""
    b = t.b
    address = Value(t.regs.vector(_register(instruction, "ADDR"), part), "u32", PART_LANES)
    moved = b.binary("add", address, Value(str(instruction.fields["offset"]), "u32"))
    place = b.binary("and", moved, Value(str(4 * (LANES - 1)), "u32"))
    return b.emit(f"getelementptr i8, ptr %data, {PART} {place.text}")


def _gather(t: Translator, instruction: Instruction, exec_mask: Mask) -> list[str]:
    b = t.b
    for part, value in enumerate(_active(t, _register(instruction, "DATA"), exec_mask)):
        here = b.emit(f"getelementptr i8, ptr %data, i64 {4 * PART_LANES * part}")
        b.line(f"store {PART} {value}, ptr {here}, align 64")
    name = f"llvm.masked.gather.v{PART_LANES}i32.v{PART_LANES}p0"
    b.declare(f"declare {PART} @{name}({_POINTERS}, {PART_MASK}, {PART})")
    return [
        b.emit(
            f"call {PART} @{name}({_POINTERS} align 4 {_places(t, instruction, part)}, {PART_MASK} splat (i1 true), "
            f"{PART} zeroinitializer)"
        )
        for part in range(PARTS)
    ]


def _scatter(t: Translator, instruction: Instruction, exec_mask: Mask) -> list[str]:
    b = t.b
    source = _register(instruction, "DATA")
    values = [t.regs.vector(source, part) for part in range(PARTS)]
    places = [b.emit(f"getelementptr i8, ptr %data, i64 {4 * PART_LANES * part}") for part in range(PARTS)]
    for place in places:
        b.line(f"store {PART} zeroinitializer, ptr {place}, align 64")
    name = f"llvm.masked.scatter.v{PART_LANES}i32.v{PART_LANES}p0"
    b.declare(f"declare void @{name}({PART}, {_POINTERS}, {PART_MASK})")
    for part, value in enumerate(values):
        lanes = exec_mask.part(b, part)
        targets = _places(t, instruction, part)
        b.line(f"call void @{name}({PART} {value}, {_POINTERS} align 4 {targets}, {PART_MASK} {lanes})")
    return [b.emit(f"load {PART}, ptr {place}, align 64") for place in places]
