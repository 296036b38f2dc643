"""Instructions and how often their lanes ran pass in; floating-point operations pass out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from headwater.emulate.staging import Segment
    from headwater.emulate.trace import Totals
    from headwater.isa.gcn.model import Instruction

_ONE: Final = re.compile(r"v_(pk_)?(add|sub|subrev|mul|mul_legacy|min|max|rcp|rsq|sqrt|exp|log|sin|cos)_f(16|32|64)$")
_TWO: Final = re.compile(r"v_(pk_)?(fma|fmac|mad|mac|madmk|madak|fmamk|fmaak|mad_legacy|mac_legacy)_f(16|32|64)$")
_DOT: Final = re.compile(r"v_dot2c?_f32_f16$")
_MATRIX: Final = re.compile(r"v_mfma_f\d+_(\d+)x(\d+)x(\d+)")
"""Rows, columns and depth of a matrix instruction: multiplications and additions of a wavefront."""


def operations(name: str) -> tuple[int, int]:
    """Floating-point operations of an instruction: of each lane, and of the whole wavefront."""
    matrix = _MATRIX.match(name)
    if matrix:
        rows, columns, depth = (int(n) for n in matrix.groups())
        blocks = {(32, 32, 1): 2, (16, 16, 1): 4, (4, 4, 1): 16}.get((rows, columns, depth), 1)
        return 0, 2 * rows * columns * depth * blocks
    packed = 2 if name.startswith("v_pk_") else 1
    if _TWO.match(name):
        return 2 * packed, 0
    if _ONE.match(name):
        return packed, 0
    return (4, 0) if _DOT.match(name) else (0, 0)


def flops_of(segments: Sequence[Segment], totals: Totals, instructions: Sequence[Instruction]) -> int:
    """Of a whole launch; ``instructions``: of all segments, one after the other."""
    found, at = 0, 0
    for segment, (times, lanes, _, _) in zip(segments, totals.segments.tolist(), strict=True):
        for instruction in instructions[at : at + len(segment.addresses)]:
            of_lane, of_wave = operations(instruction.row.name)
            found += of_lane * lanes + of_wave * times
        at += len(segment.addresses)
    return found
