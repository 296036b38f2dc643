"""Input: an operation and its group. Output: which slots' sources its operands are, for translator and interpreter
alike."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.isa.vliw.model import AluOp, W, X

INLINE: Mapping[int, int] = {
    244: 0x00000000,  # low and high dwords of 1.0 and 0.5 as doubles
    245: 0x3FF00000,
    246: 0x00000000,
    247: 0x3FE00000,
    248: 0,
    249: 0x3F800000,
    250: 1,
    251: 0xFFFFFFFF,
    252: 0x3F000000,
}
"""Selects that are constants, with their bits (Evergreen ISA, "ALU_WORD0", SRC0_SEL)."""

SPECIAL: Mapping[int, str] = {
    227: "time_high",
    228: "time_low",
    229: "mask_high",
    230: "mask_low",
    231: "index",
    232: "zero",
    233: "zero",
    235: "index",
}
"""Selects that are the same in all lanes: "index" is the wavefront's number in its group; its place on the chip reads
as 0."""

LOOP_INDEX_MODE = 4
"""INDEX_MODE: relative to the loop's index."""

SHARED_MODE, SHARED_INDEXED_MODE = 5, 6
"""INDEX_MODE: registers that a SIMD engine's wavefronts share, lane by lane, by their numbers or relative to AR.x (AMD,
R700-Family ISA, 2.6.1, "SIMD-global GPRs")."""
SHARED_MODES = (SHARED_MODE, SHARED_INDEXED_MODE)
SHARED_LIMIT = 128
"""Shared registers that a SIMD engine can have: their numbers have seven bits."""

_REDUCED = {"X": 0, "Y": 1, "Z": 2, "W": 3}


def slot_operands(op: AluOp, by_slot: Mapping[int, AluOp]) -> dict[str, tuple[tuple[AluOp, int], ...]]:
    """For each operand of a row the operations, and the numbers of their sources, that give its dwords: one, or the
    high and the low one of a double.

    The slots of a reduction, a pair or a quad are those of the group ``by_slot``.
    """
    found: dict[str, tuple[tuple[AluOp, int], ...]] = {}
    flags = op.row.flags
    number = 0
    for operand in op.row.operands:
        name = operand.name
        if name in ("D", "D1", "PREV"):
            continue
        if name[0] in _REDUCED and name[1:].isdigit():
            owner = by_slot.get(_REDUCED[name[0]], op)
            found[name] = ((owner, int(name[1:])),)
            continue
        if "quad" in flags:
            found[name] = ((by_slot.get(X, op), number), (by_slot.get(W, op), number))
        elif "pair" in flags:
            first = by_slot.get(op.slot & ~1, op)
            second = by_slot.get(op.slot | 1, op)
            wide = operand.type in ("f64", "u64", "i64", "b64")
            found[name] = ((first, number), (second, number)) if wide else ((first, number),)
        else:
            found[name] = ((op, number),)
        number += 1
    return found
