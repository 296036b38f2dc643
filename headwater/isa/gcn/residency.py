"""Input: a buffer instruction with tfe. Output: the same without, and the register for the residency status.

Texture fail enable gives a load, or an atomic that returns something, one more register, behind its data: not 0 where
a partly resident resource's page is missing (AMD, "Vega" ISA Reference Guide, "Memory buffer instructions", TFE).
"""

from __future__ import annotations

from dataclasses import replace

from headwater.isa.gcn.model import Instruction, Register


def without_status(instruction: Instruction) -> tuple[Instruction, Register | None]:
    """The instruction itself, and None, if residency is not asked for."""
    dest = instruction.dest("D")
    if instruction.row.encoding != "MUBUF" or not instruction.fields.get("tfe"):
        return instruction, None
    fields = {**instruction.fields, "tfe": 0}
    if dest is None:  # a store, or an atomic that returns nothing
        return replace(instruction, fields=fields), None
    whole = dest.register
    last = whole.dwords - 1
    data = replace(dest, register=replace(whole, dwords=last))
    return replace(instruction, dests=(data,), fields=fields), replace(whole, index=whole.index + last, dwords=1)
