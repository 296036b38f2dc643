"""What a replay needs to know of a launch's machine code, for both families; and the implementation for GCN.

A `Machine` stands for the code that was traced. It says what the code needs of a compute unit, what each instruction
costs on a chip, and how instructions are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headwater.base import cache
from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.chips.occupancy import Needs, Occupancy
from headwater.errors import UsageError
from headwater.timing import rules
from headwater.timing.flops import flops_of
from headwater.timing.layout import GCN, Family, Memory

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.emulate.watch.trace import Totals, Trace
    from headwater.isa.gcn.objects import CodeObject

Line = tuple[str, int] | None


class Steps(Protocol):
    """A kernel's instructions for the engine: ``ops`` and ``segments``, structured arrays as its C file has them, and
    the ``addresses`` of the ops."""

    @property
    def ops(self) -> np.ndarray[Any, Any]: ...
    @property
    def segments(self) -> np.ndarray[Any, Any]: ...
    @property
    def addresses(self) -> Sequence[int]: ...


class Machine(Protocol):
    """Code that was traced."""

    family: Family
    digest: str
    content: str
    """Of what runs, whatever its line table says: a digest, too."""

    def needs(self, trace: Trace) -> Needs:
        """What a compute unit must have for a work-group."""
        ...

    def groups(self, trace: Trace) -> int:
        """How many work-groups were launched."""
        ...

    def table(self, trace: Trace, chip: Chip) -> Steps:
        """What the instructions cost on the chip. UsageError if it has another instruction set."""
        ...

    def numbers(self, trace: Trace, chip: Chip, held: Occupancy) -> Memory:
        """The chip for the engine; ``held`` says how many work-groups a compute unit takes."""
        ...

    def command_bytes(self) -> int:
        """What a launch puts into the command queue beside its call."""
        ...

    def described(self, table: Steps) -> tuple[Sequence[str], Sequence[Line]]:
        """Each op's text and source line."""
        ...

    def flops(self, trace: Trace, totals: Totals, table: Steps) -> int:
        """Floating-point operations of the launch."""
        ...


class GcnMachine:
    """A kernel of a code object."""

    family = GCN

    def __init__(self, code: CodeObject) -> None:
        self.code = code
        self.digest: str = code.digest
        self.content: str = cache.digest(code.image())
        self._described: tuple[Sequence[str], Sequence[Line]] | None = None

    def needs(self, trace: Trace) -> Needs:
        header = trace.header
        size = prod(header["local_size"])
        return Needs(size, int(header["vgprs"]), int(header["sgprs"]), int(header["lds_bytes"]))

    def groups(self, trace: Trace) -> int:
        sizes = zip(trace.header["global_size"], trace.header["local_size"], strict=True)
        return prod(-(-whole // part) for whole, part in sizes)

    def table(self, trace: Trace, chip: Chip) -> rules.Table:
        target = trace.header["target"]
        if ISA_OF_TARGET.get(chip.target) != ISA_OF_TARGET.get(target):
            raise UsageError(
                f"the trace is of {target}, and {chip.name} is a {chip.target}",
                hint="record the kernel on a chip with the same instruction set",
            )
        base = next((a["address"] for a in trace.header["allocations"] if a["name"] == "the code object"), 0)
        return rules.Table(trace.segments, trace.sites, self.code, chip, base)

    def numbers(self, trace: Trace, chip: Chip, held: Occupancy) -> Memory:
        return rules.chip_numbers(chip, held)

    def command_bytes(self) -> int:
        return 0  # a dispatch packet has addresses of code and arguments, which are in memory

    def described(self, table: Steps) -> tuple[Sequence[str], Sequence[Line]]:
        from headwater.isa.gcn.listing import labelled

        assert isinstance(table, rules.Table)
        if self._described is None:
            lines = [self.code.line_of(i.address) for i in table.instructions]
            found = [None if line is None or line[1] == 0 else line[:2] for line in lines]
            self._described = [labelled(i, self.code.isa) for i in table.instructions], found
        return self._described

    def flops(self, trace: Trace, totals: Totals, table: Steps) -> int:
        assert isinstance(table, rules.Table)
        return flops_of(trace.segments, totals, table.instructions)
