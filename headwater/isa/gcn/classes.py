"""A row of the table passes in; the class of instructions that the hardware issues it with passes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from headwater.isa.gcn.model import Row

CLASSES: Final = ("VALU", "SALU", "SMEM", "VMEM", "LDS", "branch", "other")
"""Classes of instructions that the hardware issues apart: AMD, Vega ISA Reference Guide, "Instruction scheduling"."""
_INTERNAL: Final = frozenset(("s_nop", "s_waitcnt", "s_barrier", "s_sleep", "s_endpgm", "s_setprio", "s_sendmsg"))


def kind_of(row: Row) -> str:
    """An instruction's class, of `CLASSES`."""
    if row.name.startswith(("s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call")):
        return "branch"
    if row.name in _INTERNAL or row.encoding in ("EXP", "VINTRP"):
        return "other"
    if row.encoding.startswith("SOP"):
        return "SALU"
    return {"SMEM": "SMEM", "DS": "LDS"}.get(row.encoding, "VALU" if row.encoding.startswith("VOP") else "VMEM")
