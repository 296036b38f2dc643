"""Input: LDS instructions that update memory at two places, or by what lies at a second one. Output: a loop over the
lanes.

``ds_wrxchg2_…``: of each lane, both places are read before either is written. ``ds_…_src2_…``: a lane's second place is
some dwords from its first, by the instruction's offset or the upper bits of the address (AMD, "Vega" ISA Reference
Guide, "LDS & GDS Instructions": DS_ADD_SRC2_U32).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.emulate.gcn import atomics
from headwater.emulate.gcn.program import meaning
from headwater.emulate.watch.hooks import LaneAccess
from headwater.emulate.wave.atomics import array_place, each_lane, pointer_to, put_array, wide_addresses
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.helpers import WRITE
from headwater.emulate.wave.lower_llvm import lower
from headwater.emulate.wave.memory import Address
from headwater.emulate.wave.registers import PART_LANES, PARTS, number
from headwater.isa.gcn.model import EXEC, Instruction, Register
from headwater.isa.semantics.model import Node
from headwater.isa.semantics.types import BITS

if TYPE_CHECKING:
    from headwater.emulate.gcn.translator import Translator

Place = Callable[[int], Address]
FIRST_BITS = 17
"""Of an address whose upper bits say where the second place is: those of the first."""


def distance(instruction: Instruction) -> int | None:
    """Bytes from the first place of ``ds_…_src2_…`` to the second; None if the upper bits of the address say it."""
    offset = instruction.fields["offset"]
    if offset >> 15:
        return None
    return 4 * (offset - (1 << 15 if offset >> 14 else 0))


def constant(instruction: Instruction, node: Node) -> int:
    """An offset of a two-address instruction: a field times a constant."""
    if node.op == "constant":
        return node.bits
    if node.op == "operand":
        return int(instruction.fields[node.name.lower()])
    assert node.op == "mul", f"an offset made by {node.op}"
    return constant(instruction, node.args[0]) * constant(instruction, node.args[1])


def translate(t: Translator, instruction: Instruction, place: Place) -> bool:
    """Translate such an instruction; False for everything else."""
    what = meaning(instruction)
    if what.effect("halves") is not None:
        _exchange(t, instruction, place)
    elif "OTHER" in what.reads:
        _by_second(t, instruction, place)
    else:
        return False
    return True


def _exchange(t: Translator, instruction: Instruction, place: Place) -> None:
    """The two halves of what the lanes exchange lie apart."""
    t.flush()
    b = t.b
    what = meaning(instruction)
    nbytes = BITS[what.types["DATA"]] // 8
    effect = what.effect("halves")
    assert effect is not None
    offsets = [constant(instruction, node) for node in effect.args]
    how, slot = _addresses(t, instruction, place, [(offset, True) for offset in offsets], nbytes)
    for name, first in (("DATA", 0), ("DATA1", nbytes // 4)):
        source = instruction.source(name)
        assert source is not None
        assert isinstance(source.value, Register)
        for n in range(nbytes // 4):
            for part in range(PARTS):
                put_array(b, "%data", first + n, part, t.regs.vector(number(source.value) + n, part))

    def one(lane: str, lane32: str) -> None:
        base = b.emit(f"load i64, ptr {b.emit(f'getelementptr i64, ptr %addresses, i64 {lane}')}")
        pointers = [
            pointer_to(t, b.emit(f"add i64 {base}, {offset}"), nbytes, how | WRITE, instruction.address, lane32, slot)
            for offset in offsets
        ]
        words = [(pointer, 4 * n) for pointer in pointers for n in range(nbytes // 4)]
        places = [b.emit(f"getelementptr i8, ptr {pointer}, i64 {n}") for pointer, n in words]
        for n, there in enumerate(places):
            _put_word(t, "%before", n, lane, b.emit(f"load i32, ptr {there}, align 1"))
        for n, there in enumerate(places):
            b.line(f"store i32 {_word(t, '%data', n, lane)}, ptr {there}, align 1")

    each_lane(t, "-1" if t.exec_mask().full else t.regs.pair(EXEC), one)
    atomics.take_before(t, instruction, 2 * nbytes // 4)


def _by_second(t: Translator, instruction: Instruction, place: Place) -> None:
    t.flush()
    b = t.b
    what = meaning(instruction)
    type_ = what.types["MEM"]
    nbytes = BITS[type_] // 8
    fixed = distance(instruction)
    firsts: list[Address] = []
    for part in range(PARTS):
        at = place(part)
        low = Value(at.low, "u32", PART_LANES)
        if fixed is None:
            far = b.binary("ashr", b.bitcast(low, "i32"), Value(str(FIRST_BITS), "i32"))
            more = b.binary("shl", far, Value("2", "i32")).text
            at = replace(at, low=b.binary("and", low, Value(str((1 << FIRST_BITS) - 1), "u32")).text)
        else:
            more = b.splat(Value(str(fixed), "i32"), PART_LANES).text
        put_array(b, "%data", 0, part, more)
        firsts.append(at)
        if t.watch is not None:
            there = b.binary("add", Value(at.low, "u32", PART_LANES), Value(more, "u32", PART_LANES)).text
            t.watch.access(instruction, LaneAccess(part, replace(at, low=there), nbytes, t.exec_mask()))
    how, slot = _addresses(t, instruction, lambda part: firsts[part], [(0, True)], nbytes)

    def one(lane: str, lane32: str) -> None:
        base = b.emit(f"load i64, ptr {b.emit(f'getelementptr i64, ptr %addresses, i64 {lane}')}")
        more = b.emit(f"sext i32 {_word(t, '%data', 0, lane)} to i64")
        other = pointer_to(t, b.emit(f"add i64 {base}, {more}"), nbytes, how, instruction.address, lane32, slot)
        here = pointer_to(t, base, nbytes, how | WRITE, instruction.address, lane32, slot)
        kind = f"i{8 * nbytes}"
        values = {
            name: b.bitcast(Value(b.emit(f"load {kind}, ptr {pointer}, align 1"), f"u{8 * nbytes}"), type_)
            for name, pointer in (("OTHER", other), ("MEM", here))
        }
        # Memory rounds to nearest, whatever MODE says.
        new = lower(b, what, values, replace(t.mode, round32=0, round16_64=0)).results["MEM"]
        assert isinstance(new, Value)
        b.line(f"store {kind} {b.bitcast(new, f'u{8 * nbytes}').text}, ptr {here}, align 1")

    each_lane(t, "-1" if t.exec_mask().full else t.regs.pair(EXEC), one)


def _addresses(
    t: Translator, instruction: Instruction, place: Place, reported: list[tuple[int, bool]], nbytes: int
) -> tuple[int, str]:
    """Keep each lane's address, and report accesses so many bytes further, and whether they write, to the observer.

    Returns what memory it is, and its slot.
    """
    b = t.b
    how, slot = 0, ""
    for part in range(PARTS):
        at = place(part).settled(b)
        how, slot = at.how, at.slot.pointer
        if t.watch is not None:
            for offset, writes in reported:
                moved = at.moved(b, offset).settled(b)
                t.watch.access(instruction, LaneAccess(part, moved, nbytes, t.exec_mask(), writes))
        here = b.emit(f"getelementptr i8, ptr %addresses, i64 {8 * PART_LANES * part}")
        b.line(f"store <{PART_LANES} x i64> {wide_addresses(b, at)}, ptr {here}, align 64")
    return how, slot


def _word(t: Translator, array: str, dword: int, lane: str) -> str:
    return t.b.emit(f"load i32, ptr {array_place(t.b, array, dword, lane)}")


def _put_word(t: Translator, array: str, dword: int, lane: str, value: str) -> None:
    t.b.line(f"store i32 {value}, ptr {array_place(t.b, array, dword, lane)}")
