"""Input: an image or formatted buffer instruction. Output: what it does with which of its registers, by its row.

The last column of these rows is a call of an effect with words: ``format("xy d16")`` of buffers, ``image("sample bias
compare")`` of images; images' atomics have the text of all atomics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.isa.gcn import table
from headwater.isa.gcn.model import Register
from headwater.isa.gcn.semantics import semantics

if TYPE_CHECKING:
    from headwater.isa.gcn.model import Instruction, Row

_VECTOR_REGISTERS = 256
MOST_ADDRESS_DWORDS = 12
"""Registers of the longest address: offset, compared value, six derivatives, three coordinates, least level."""


@dataclass(frozen=True, slots=True)
class Texels:
    """What an instruction does with elements that have a format.

    ``kind``: "load", "store", "atomic", "sample", "gather", "resinfo" or "lod". ``components``: how many a formatted
    buffer access has; 0 for images, whose instructions have dmask. ``level``: "" the first, "mip" an operand says the
    level, "lod" the level of detail, "zero" it is 0, "auto" derivatives of coordinates of neighbouring lanes, "given"
    derivatives that are operands. ``raw``: components are not converted, and ``signed`` extended by their sign.
    ``halves``: components are 16 bits wide, two in a register unless ``unpacked``; ``high``: one, in its high half.
    """

    kind: str
    components: int = 0
    level: str = ""
    raw: bool = False
    signed: bool = False
    offset: bool = False
    bias: bool = False
    compare: bool = False
    clamp: bool = False
    halves: bool = False
    unpacked: bool = False
    high: bool = False


def _of_row(row: Row) -> Texels | None:
    what = semantics(row)
    found = what.effect("format") or what.effect("image")
    if found is None:
        return Texels("atomic") if row.encoding == "MIMG" and "atomic" in row.flags else None
    first, *words = found.text.split()
    if found.kind == "format":
        kind = "store" if "store" in row.flags else "load"
        halves, unpacked, high = (word in words for word in ("d16", "unpacked", "high"))
        return Texels(kind, len(first), halves=halves, unpacked=unpacked, high=high)
    levels = [word for word in words if word in ("mip", "lod", "zero", "given")]
    default = "auto" if first in ("sample", "gather", "lod") else ""
    has = {word: word in words for word in ("raw", "signed", "offset", "bias", "compare", "clamp")}
    return Texels(first, level=levels[0] if levels else default, **has)


def texels(instruction: Instruction) -> Texels | None:
    """What an instruction of MIMG, or a buffer's with a format, does; None for all others."""
    row = instruction.row
    if row.encoding not in ("MIMG", "MUBUF", "MTBUF"):
        return None
    return row.once("texels", _of_row)


def address_registers(instruction: Instruction) -> range:
    """The vector registers that the address may take. How many of an image's are read depends on its type, which the
    descriptor says."""
    address, what = instruction.source("ADDR"), texels(instruction)
    if address is None or what is None:
        return range(0)
    register = address.value
    assert isinstance(register, Register)
    count = register.dwords
    if instruction.row.encoding == "MIMG":
        count = 1
        if what.kind != "resinfo":
            count = what.offset + what.bias + what.compare + what.clamp + 3
            count += 6 if what.level == "given" else what.level in ("mip", "lod")
    return range(register.index, min(register.index + count, _VECTOR_REGISTERS))


def reads_neighbours(instruction: Instruction) -> bool:
    """Whether it looks at coordinates of other lanes, for their derivatives."""
    what = texels(instruction)
    return what is not None and what.level == "auto"


def atomic_bytes(instruction: Instruction) -> int:
    """Bytes that an image's atomic updates: dmask says whether one register or two."""
    data = instruction.source("DATA")
    assert data is not None
    assert isinstance(data.value, Register)
    dwords = data.value.dwords - instruction.fields.get("tfe", 0)
    return 4 * dwords // (2 if "cmpswap" in instruction.row.flags else 1)


def atomic_row(instruction: Instruction, isa: str) -> Row:
    """The row that says what an image's atomic does: its own, for elements of 64 bits that of a buffer's."""
    if atomic_bytes(instruction) == 4:
        return instruction.row
    row = table.named(isa, "MUBUF", instruction.row.name.replace("image_", "buffer_") + "_x2")
    assert row is not None
    return row
