"""Input: the totals of a recorded launch of a shader. Output: what its groups, fetches and control flow did.

A row is an ALU group, a fetch, or a control-flow instruction without a clause. A clause whose wavefront has no active
lane is skipped, and counts as its control-flow instruction alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from headwater.chips.checks import BANK_BYTES
from headwater.emulate.vliw.clause import PC_CF_SHIFT, PC_OP_BITS, place
from headwater.emulate.watch.stats import InstructionRow, Statistics, Work, accesses, summed
from headwater.isa.vliw.printer import cf_texts, fetch_text, group_text

if TYPE_CHECKING:
    from headwater.emulate.vliw.launched import ObservedShaderLaunch
    from headwater.emulate.watch.staging import Tables
    from headwater.emulate.watch.trace import Totals
    from headwater.isa.vliw.model import AluGroup, Cf

CLASSES: Final = ("ALU group", "texture fetch", "vertex fetch", "data share", "scratch", "export", "memory", "flow")
_FETCHES: Final = {
    "TEX": "texture fetch",
    "VTX": "vertex fetch",
    "SEM": "vertex fetch",
    "MEM_RD": "scratch",
    **dict.fromkeys(("GDS", "MEM_DSW", "MEM_DSR"), "data share"),
}
_EMPTY: Final = frozenset(("ALU_NOP", "GROUP_BARRIER"))
"""Operations that are none."""


def of_shader(launch: ObservedShaderLaunch, tables: Tables, totals: Totals) -> Statistics:
    """What a recorded launch did."""
    rows = sorted(_rows(launch, tables, totals), key=lambda row: row.address)
    sizes = launch.sizes
    clauses: dict[str, int] = {}
    for index, (times, idle) in _runs(tables, totals).items():
        cf = launch.machine.shader.cf[index]
        name = _clause(cf)
        clauses[name] = clauses.get(name, 0) + times - (idle if name != "flow" else 0)
    return Statistics(
        launch.info.name,
        launch.chip.target,
        sizes.whole[: sizes.dimensions],
        sizes.local[: sizes.dimensions],
        int(totals.segments[0, 0]) if len(totals.segments) else 0,
        **summed(rows, CLASSES),
        mode=launch.mode,
        clauses=clauses,
    )


def _runs(tables: Tables, totals: Totals) -> dict[int, tuple[int, int]]:
    """For each control-flow instruction how often it ran, and how often without lanes."""
    return {
        address >> PC_CF_SHIFT: (int(sums[0]), int(sums[3]))
        for segment, sums in zip(tables.segments, totals.segments, strict=True)
        for address in segment.addresses
    }


def _clause(cf: Cf) -> str:
    if cf.groups:
        return "ALU clause"
    if cf.fetches:
        return "fetch clause"
    return {"EXPORT": "export", "MEM": "memory", "RAT": "memory"}.get(cf.row.kind, "flow")


def _rows(launch: ObservedShaderLaunch, tables: Tables, totals: Totals) -> Iterator[InstructionRow]:
    shader = launch.machine.shader
    texts = cf_texts(shader)
    members: dict[int, list[int]] = {}
    for number, site in enumerate(tables.sites):
        members.setdefault(_row_of(launch, site.address), []).append(number)

    def row(index: int, item: int, label: str, text: str, kind: str, did: Work) -> InstructionRow:
        at = place(index, item)
        numbers = members.get(at, ())
        cycle_bytes = BANK_BYTES * launch.local_banks
        did.accesses = accesses([(tables.sites[n], totals.sites[n]) for n in numbers], cycle_bytes)
        line = launch.line_of(index, item)
        file = launch.kernel.source_file
        known = (file, line, 0) if file and line else None
        return InstructionRow(at, label, text, kind, known, did)

    for segment, sums in zip(tables.segments, totals.segments, strict=True):
        times, lanes, full, idle = (int(n) for n in sums)
        ran = times - idle
        for address in segment.addresses:
            index = address >> PC_CF_SHIFT
            cf = shader.cf[index]
            for item, group in enumerate(cf.groups):
                did = _group(group, launch.chip.compute.vliw_width, ran, lanes, full)
                text = "; ".join(" ".join(line.split()) for line in group_text(group, shader.generation))
                yield row(index, item, f"{index:02}.{item}", text, "ALU group", did)
            for item, fetch in enumerate(cf.fetches):
                kind, did = _FETCHES[fetch.row.kind], Work(ran, lanes, full)
                yield row(index, item, f"{index:02}.{item}", fetch_text(fetch, shader.generation), kind, did)
            if not cf.groups and not cf.fetches:
                kind = _clause(cf)
                did = Work(times if kind == "flow" else ran, lanes, full, idle if kind == "flow" else 0)
                yield row(index, 0, f"{index:02}", texts[index], kind, did)


def _row_of(launch: ObservedShaderLaunch, address: int) -> int:
    """The row that has a site: its group's or fetch's, or for all elements of a burst its instruction's."""
    cf = launch.machine.shader.cf[address >> PC_CF_SHIFT]
    bits = PC_OP_BITS if cf.groups or cf.fetches else PC_CF_SHIFT
    return address >> bits << bits


def _group(group: AluGroup, width: int, ran: int, lanes: int, full: int) -> Work:
    did = Work(ran, lanes, full, valu=ran, valu_lanes=lanes, valu_full=full)
    did.operations = ran * sum(op.row.name not in _EMPTY for op in group.ops)
    did.slots = ran * width
    return did
