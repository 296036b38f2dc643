"""Two sources agree: the passes of matrix instructions, and the rates that AMD states for chips and types."""

from __future__ import annotations

import re

import pytest

from headwater import chips
from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.isa.gcn import table
from headwater.isa.gcn.cost import PASS_CYCLES

SHAPE = re.compile(r"v_mfma_[fi]\d+_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?(.+)")
TYPES = {
    **{"f64": "float64", "f32": "float32", "xf32": "xf32", "f16": "float16", "bf16": "bfloat16", "bf16_1k": "bfloat16"},
    **{"fp8_fp8": "float8", "i8": "int8"},
}


def _best_rates(isa: str) -> dict[str, int]:
    """Of each type, operations a cycle of four SIMDs, by the instruction with the highest rate."""
    found: dict[str, int] = {}
    for row in table.rows(isa):
        match = SHAPE.fullmatch(row.name)
        if match is None or match[5] not in TYPES:
            continue
        rows, columns, depth = (int(match[n]) for n in (1, 2, 3))
        blocks = int(match[4] or 1)
        rate = 4 * 2 * rows * columns * depth * blocks // (PASS_CYCLES * row.cost.number)
        kind = TYPES[match[5]]
        found[kind] = max(found.get(kind, 0), rate)
    return found


@pytest.mark.parametrize("name", ["mi100", "mi250x", "mi300x"])
def test_rates_follow_from_passes(name: str) -> None:
    chip = chips.find(name)
    stated = {kind: rate for kind, rate in chip.rates.matrix.items() if rate}
    assert _best_rates(ISA_OF_TARGET[chip.target]) == stated
    assert len(stated) >= 4
