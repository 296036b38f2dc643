"""Input: a launch on a VLIW chip. Output: what a replay needs to know of it; see `headwater.timing.machine.Machine`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from headwater.base.arrays import address
from headwater.chips.occupancy import Needs, Occupancy
from headwater.chips.vliw_isas import GENERATION_OF_TARGET
from headwater.emulate.vliw.raster import Wavefronts, rasterised
from headwater.errors import UsageError
from headwater.isa.vliw import printer
from headwater.isa.vliw.cost import group_flops
from headwater.timing.layout import Memory
from headwater.timing.vliw_layout import VLIW
from headwater.timing.vliw_rules import (
    ALU,
    BLOCK_BYTES,
    FETCH,
    GROUP,
    Table,
    chip_numbers,
    locked_blocks,
    program_bytes,
    shared_registers,
)

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.emulate.watch.trace import Totals, Trace
    from headwater.isa.vliw.model import Shader
    from headwater.runtime.vliw.launch import ShaderLaunch
    from headwater.timing.machine import Line, Steps


class VliwMachine:
    """The shader of a launch."""

    family = VLIW

    def __init__(self, launch: ShaderLaunch) -> None:
        self.digest: str = launch.machine.digest
        self.content = self.digest
        self.shader: Shader = launch.machine.shader
        self._filename: str = launch.kernel.program_filename
        self._lines = {
            (index, number): launch.line_of(index, number)
            for index, cf in enumerate(self.shader.cf)
            for number in range(max(1, len(cf.groups), len(cf.fetches)))
        }
        self._drawn = launch.mode == "pixel"
        """Whether wavefronts are made by the rasteriser, from quads."""
        self._rasterised: Wavefronts | None = None
        self._table: Table | None = None
        self._described: tuple[Sequence[str], Sequence[Line]] | None = None

    def needs(self, trace: Trace) -> Needs:
        header = trace.header
        group = int(header["wavefront_size"]) if self._drawn else prod(header["local_size"])
        gprs, stack = max(1, int(header["gprs"])), int(header["stack_entries"])
        return Needs(group, gprs, 0, int(header["lds_bytes"]), stack, shared_registers(self.shader))

    def groups(self, trace: Trace) -> int:
        if self._drawn:
            return len(self._wavefronts(trace).turns)
        sizes = zip(trace.header["global_size"], trace.header["local_size"], strict=True)
        return prod(-(-whole // part) for whole, part in sizes)

    def _wavefronts(self, trace: Trace) -> Wavefronts:
        if self._rasterised is None:
            self._rasterised = rasterised(*trace.header["global_size"][:2])
        return self._rasterised

    def table(self, trace: Trace, chip: Chip) -> Table:
        generation = GENERATION_OF_TARGET.get(chip.target)
        if generation != trace.header["generation"]:
            raise UsageError(
                f"the trace is of {trace.header['target']}, and {chip.name} is a {chip.target}",
                hint="record the kernel on a chip with the same instruction set",
            )
        if self._table is None:
            self._table = Table(trace.segments, trace.sites, self.shader)
        return self._table

    def numbers(self, trace: Trace, chip: Chip, held: Occupancy) -> Memory:
        turns = address(self._wavefronts(trace).turns) if self._drawn else 0
        waves, size = int(trace.header["waves_per_group"]), prod(trace.header["local_size"])
        return chip_numbers(chip, held, waves, size, program_bytes(self.shader), turns)

    def command_bytes(self) -> int:
        return program_bytes(self.shader) + BLOCK_BYTES * len(locked_blocks(self.shader))

    def described(self, table: Steps) -> tuple[Sequence[str], Sequence[Line]]:
        if self._described is None:
            shader = self.shader
            heads = printer.cf_texts(shader)
            texts: list[str] = []
            lines: list[Line] = []
            for at, kind in zip(table.addresses, table.ops["kind"].tolist(), strict=True):
                index, number = at >> 12, (at & 0xFFF) >> 3
                cf = shader.cf[index]
                if kind == GROUP:
                    text = " | ".join(line.strip() for line in printer.group_text(cf.groups[number], shader.generation))
                elif kind == FETCH:
                    text = printer.fetch_text(cf.fetches[number], shader.generation)
                else:
                    text = f"{index:02d} {heads[index]}"
                    text += f" from group {number}" if kind == ALU and number else ""
                line = self._lines.get((index, number), 0)
                texts.append(text)
                lines.append((self._filename, line) if line else None)
            self._described = texts, lines
        return self._described

    def flops(self, trace: Trace, totals: Totals, table: Steps) -> int:
        assert isinstance(table, Table)
        lanes, found = totals.segments[:, 1].tolist(), 0
        for at, kind, segment in zip(table.addresses, table.ops["kind"].tolist(), table.segment_of, strict=True):
            if kind == GROUP:
                group = self.shader.cf[at >> 12].groups[(at & 0xFFF) >> 3]
                found += lanes[segment] * group_flops(group, self.shader.generation)
        return found
