"""IL programs' tests of other devices, run on VLIW chips: what stands in for `headwater.compile` there."""

from __future__ import annotations

CHIPS = ("hd3870", "hd4870", "hd5870", "hd6970")
"""One chip of each generation, all with double precision."""


class OnChip:
    """A program whose launches go to a chip, whatever device they name."""

    def __init__(self, source, chip, compile_program):
        self.program = compile_program(source, language="il", device=chip)
        self.chip = chip
        self.main = self

    def __getitem__(self, sizes):
        launch = self.program.main[sizes]
        return lambda *arrays, device=None, **named: launch(*arrays, **named, device=self.chip)
