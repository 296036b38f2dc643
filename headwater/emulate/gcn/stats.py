"""Input: the totals of a recorded launch and its code object. Output: what its instructions, lanes and accesses
were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.chips.checks import BANK_BYTES
from headwater.emulate.watch.stats import InstructionRow, Statistics, Work, accesses, summed
from headwater.isa.gcn.cost import UNITS
from headwater.isa.gcn.printer import text

if TYPE_CHECKING:
    from headwater.emulate.gcn.launched import ObservedGcnLaunch
    from headwater.emulate.watch.staging import Tables
    from headwater.emulate.watch.trace import Totals
    from headwater.isa.gcn.objects import CodeObject


def of_kernel(launch: ObservedGcnLaunch, tables: Tables, totals: Totals) -> Statistics:
    """What a recorded launch did."""
    rows = _instructions(launch.code, tables, totals, BANK_BYTES * launch.local_banks)
    global_size, local_size, _ = launch.sizes
    entry = [s for s in tables.segments if s.block == launch.machine_kernel.entry and s.first]
    dims = launch.work_dim
    return Statistics(
        launch.machine_kernel.name,
        launch.code.target,
        global_size[:dims],
        local_size[:dims],
        int(totals.segments[tables.segments.index(entry[0]), 0]) if entry else 0,
        **summed(rows, UNITS),
    )


def _instructions(code: CodeObject, tables: Tables, totals: Totals, cycle_bytes: int) -> tuple[InstructionRow, ...]:
    sites: dict[int, list[int]] = {}
    for number, site in enumerate(tables.sites):
        sites.setdefault(site.address, []).append(number)
    rows = []
    for segment, sums in zip(tables.segments, totals.segments, strict=True):
        times, lanes, full, idle = (int(n) for n in sums)
        for address in segment.addresses:
            instruction = code.instruction(address)
            kind = instruction.row.cost.unit
            did = Work(times, lanes, full, idle)
            if kind == "VALU":
                did.valu, did.valu_lanes, did.valu_full = times, lanes, full
            numbers = sites.get(address, ())
            did.accesses = accesses([(tables.sites[n], totals.sites[n]) for n in numbers], cycle_bytes)
            line = code.line_of(address)
            shown = text(instruction, code.isa)
            rows.append(InstructionRow(address, f"{address:x}", shown, kind, line, did))
    return tuple(sorted(rows, key=lambda row: row.address))
