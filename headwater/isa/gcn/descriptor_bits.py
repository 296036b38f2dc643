"""Input: the bits of a kernel descriptor. Output: the fields of a `KernelObject` that they are."""

from __future__ import annotations

from typing import Any

from headwater.isa.gcn.objects import USER_REGISTERS


def enabled(properties: int, rsrc1: int, rsrc2: int) -> dict[str, Any]:
    """The fields of `KernelObject` that the descriptor's bits say; version 2 has the same bits."""
    return {
        **{f"enable_{name}": bool(properties >> bit & 1) for bit, (name, _) in enumerate(USER_REGISTERS)},
        "user_sgpr_count": rsrc2 >> 1 & 31,
        "enable_workgroup_id": (bool(rsrc2 >> 7 & 1), bool(rsrc2 >> 8 & 1), bool(rsrc2 >> 9 & 1)),
        "enable_workgroup_info": bool(rsrc2 >> 10 & 1),
        "enable_wave_offset": bool(rsrc2 & 1),
        "workitem_id_count": min(rsrc2 >> 11 & 3, 2) + 1,
        "float_mode": rsrc1 >> 12 & 255,
        "dx10_clamp": bool(rsrc1 >> 21 & 1),
        "ieee": bool(rsrc1 >> 23 & 1),
    }
