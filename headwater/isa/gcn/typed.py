"""Input: a typed buffer instruction. Output: where its format is of whole dwords, the untyped one that does the same.

Compilers for Southern Islands load and store plain data by typed instructions with formats of 32-bit elements, which
convert nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.isa.gcn import table
from headwater.isa.gcn.semantics import semantics

if TYPE_CHECKING:
    from headwater.isa.gcn.model import Instruction

# BUF_DATA_FORMAT -> 32-bit elements (Southern Islands ISA guide, "Buffer resource descriptor").
_ELEMENTS = {4: 1, 11: 2, 13: 3, 14: 4}
# BUF_NUM_FORMAT of 32-bit elements that are not converted: unsigned and signed integers, floats.
_PLAIN = frozenset((4, 5, 7))
_DWORDS = {1: "dword", 2: "dwordx2", 3: "dwordx3", 4: "dwordx4"}


def untyped(instruction: Instruction, isa: str) -> Instruction:
    """The ``buffer_load_dword…`` or ``buffer_store_dword…`` that an MTBUF instruction amounts to; others unchanged."""
    if instruction.form != "MTBUF" or (what := semantics(instruction.row).effect("format")) is None:
        return instruction
    components, *width = what.text.split()
    if width:  # of 16 bits
        return instruction
    fields, wanted = instruction.fields, len(components)
    elements = _ELEMENTS.get(fields["dfmt"], 0)
    is_load = "load" in instruction.row.flags
    if fields["nfmt"] not in _PLAIN or elements < wanted or (elements != wanted and not is_load) or fields.get("tfe"):
        return instruction
    row = table.named(isa, "MUBUF", f"buffer_{'load' if is_load else 'store'}_{_DWORDS[wanted]}")
    return instruction if row is None else replace(instruction, row=row, form="MUBUF")
