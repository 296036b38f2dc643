"""The analyzer and the cycle model charge every instruction of every target the same cycles, units and operations."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from headwater import chips
from headwater.analyze import gcn as analyzer
from headwater.analyze.code import Step
from headwater.analyze.costs import work_of_step
from headwater.chips.gcn_isas import ISA_OF_TARGET, ISAS
from headwater.emulate.watch.staging import Segment, Site
from headwater.emulate.watch.trace import Totals
from headwater.isa.gcn import table
from headwater.isa.gcn.model import Instruction
from headwater.timing import rules
from headwater.timing.flops import flops_of
from headwater.timing.layout import OP

SEGMENT, ONCE = (Segment(0, (0,), (), True),), Totals(np.array([[1, 64, 1, 0]], np.uint64), np.zeros((0, 4), np.uint64))
"""One instruction that a wavefront ran once, with all lanes."""
CHIPS = sorted(name for name in chips.names() if not chips.find(name).is_vliw)


def charged_by_the_engine(instruction: Instruction, step: Step, chip: chips.Chip) -> Any:
    """What the cycle model's table says of an instruction: unit and cycles."""
    op = np.zeros(1, OP.dtype)[0]
    nbytes = (step.read_bytes or step.write_bytes) // max(1, step.accesses)
    kind = {"local": "lds", "scratch": "private", "scalar": "scalar"}.get(step.space, "global")
    site = Site(instruction.address, kind, nbytes, bool(step.write_bytes), step.atomic)
    rules.Table._fill(op, instruction, [0] if nbytes else [], [site], chip, 0)
    return op


@pytest.mark.parametrize("isa", [isa for isa in ISAS if isa != "gfx950"])  # no chip has that
def test_cycles_of_every_row(isa: str) -> None:
    """On each chip that runs the instruction set."""
    names = [name for name in CHIPS if ISA_OF_TARGET[chips.find(name).target] == isa]
    assert names
    for row in table.rows(isa):
        if row.encoding == "SOPP":  # waits and branches: the engine knows each by its immediate
            continue
        instruction = Instruction(0, 4, row, row.encoding, (), (), defaultdict(int))
        space, read, write, accesses = analyzer._memory(instruction)
        step = Step(0, row.name, row.cost.unit, row.cost, 1, space, read, write, accesses, "atomic" in row.flags)
        for name in names:
            chip = chips.find(name)
            work, op = work_of_step(step, chip), charged_by_the_engine(instruction, step, chip)
            where = row.name, name
            if row.cost.unit == "VALU":
                assert work.alu_cycles == op["other" if row.cost.rate == "matrix" else "cycles"], where
                assert 64 * work.flops == flops_of(SEGMENT, ONCE, [instruction]), where
            elif row.cost.unit in ("SALU", "SMEM"):
                assert work.scalar_cycles == op["cycles"], where
            elif row.cost.unit == "LDS":
                assert step.space not in ("local", "global share") or work.local_cycles == op["other"], where
            elif row.cost.unit == "VMEM" and read + write:
                scattered = work_of_step(step, chip, coalesced=False)
                assert (work.fetch_cycles, scattered.fetch_cycles) == (op["cycles"], op["other"]), where
