"""Input: the front end's IR of a program, with line tables. Output: which memory its barriers order.

The machine code of a barrier does not show it; `headwater.emulate.watch.check` asks.
"""

from __future__ import annotations

import os
import re

from headwater.errors import Span
from headwater.llvm.ir import Module
from headwater.llvm.text import callee_of
from headwater.opencl.source_locations import Places

LOCAL, GLOBAL = 1, 2
"""CLK_LOCAL_MEM_FENCE and CLK_GLOBAL_MEM_FENCE (header.h)."""
_BARRIER = re.compile(r"_Z\d+(?:work_group_)?barrierj")
_FENCE = re.compile(r"_Z\d+(?:(?:read_|write_)?mem_fence|atomic_work_item_fence)j")


def barrier_fences(ir: str, source: str, filename: str) -> dict[Span, int]:
    """Of each barrier that orders only local or only global memory, where it stands and which, `LOCAL` or `GLOBAL`.

    Memory that a fence of its own is for somewhere in the program counts as ordered by all barriers. So does all memory
    where flags are 0 or no constants.
    """
    module = Module(ir)
    places, found, fenced = Places(module, source, filename), dict[Span, int](), 0
    for body in module.bodies.values():
        for number, operation in enumerate(body.operations):
            line = body.lines[number]
            if operation != "call" or "!dbg" not in line:
                continue
            callee = callee_of(line)
            if not _FENCE.match(callee) and not _BARRIER.match(callee):
                continue
            call = body.inst(number)
            given = call.args[0].text if call is not None else ""
            flags = (int(given) if given.isdecimal() else 0) & (LOCAL | GLOBAL) or LOCAL | GLOBAL
            if _FENCE.match(callee):
                fenced |= flags
            else:
                place = places.of_instruction(line)[0]
                found[place] = found.get(place, 0) | flags
    return {place: flags for place, flags in found.items() if flags | fenced != LOCAL | GLOBAL}


def flags_at(fences: dict[Span, int], place: Span) -> int:
    """Which memory is ordered by the barriers at a place, which may have no column; 0: it is not known, or all."""
    flags = 0
    for other, orders in fences.items():
        same = os.path.basename(other.file) == os.path.basename(place.file) and other.line == place.line
        if same and place.column in (0, other.column):
            flags |= orders
    return flags


__all__ = ["GLOBAL", "LOCAL", "barrier_fences", "flags_at"]
