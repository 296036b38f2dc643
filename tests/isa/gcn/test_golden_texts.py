"""Decoder and printer against texts that LLVM made (verification/isa_sweep.py --golden writes the file)."""

from pathlib import Path

import pytest

from headwater.chips.gcn_isas import ISAS
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.printer import text

LINES = [
    line.split(" ", 2)
    for line in Path(__file__).with_name("golden.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_is_printed_as_llvm_does(isa):
    wrong = []
    count = 0
    for line_isa, code, expected in LINES:
        if line_isa != isa:
            continue
        count += 1
        instruction = decode(bytes.fromhex(code), 0, isa)
        shown = text(instruction, isa)
        if shown != expected or instruction.size_bytes != len(code) // 2:
            wrong.append((code, shown, expected))
    assert count > 30
    assert wrong == []


def test_the_golden_texts_reach_nearly_every_operation():
    from headwater.isa.gcn import table

    seen = set()
    for isa, code, _ in LINES:
        seen.add(decode(bytes.fromhex(code), 0, isa).row.name)
    missing = {row.name for row in table.rows()} - seen
    # LLVM knows neither of these two on gfx6, the only generation that has them.
    assert missing == {"buffer_atomic_rsub", "buffer_atomic_rsub_x2"}, sorted(missing)
