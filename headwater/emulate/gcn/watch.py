"""Reports the blocks, accesses and barriers of a GCN kernel to an observer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headwater.emulate.gcn.program import BasicBlock, Program, effects, meaning
from headwater.emulate.watch.hooks import AccessOrigin
from headwater.emulate.wave.layout import LANES
from headwater.isa.gcn.model import EXEC, Instruction

if TYPE_CHECKING:
    from headwater.emulate.watch.hooks import LaneAccess, Observer
    from headwater.emulate.wave.builder import WaveBuilder
    from headwater.emulate.wave.registers import Registers


class Watch:
    """Reports to an observer what a translation does; ``flush`` writes the deferred vector code."""

    def __init__(
        self, observer: Observer, program: Program, b: WaveBuilder, regs: Registers, flush: Callable[[], None]
    ) -> None:
        self._observer = observer
        self._program = program
        self._b = b
        self._regs = regs
        self._flush = flush
        self._headers: set[int] | None = None
        self.takes_values = observer.takes_values

    def block(self, block: BasicBlock) -> None:
        """A basic block begins."""
        if block.address == self._program.entry:
            self._observer.begin(self._b)
        self._begin_segment(block, 0)

    def after(self, block: BasicBlock, at: int) -> None:
        """The block's instruction number ``at`` has been translated; if it is a vector one, perhaps only deferred.

        A new segment begins where EXEC changed, if vector instructions of the block follow.
        """
        if _ends_segment(block, at):
            self._begin_segment(block, at + 1)
        # Where ``sub_group_barrier`` was (library/gcn/subgroup.cl).
        if block.instructions[at].row.name == "s_setprio":
            self._flush()
            self._observer.in_step(self._b)

    def access(self, instruction: Instruction, access: LaneAccess) -> None:
        """A part's lanes are about to access memory."""
        self._observer.on_access(self._b, _origin(instruction), access)

    def scalar_access(self, instruction: Instruction, address: str, nbytes: int, writes: bool) -> None:
        """The wavefront is about to access memory with one address (``i64``)."""
        self._observer.on_scalar_access(self._b, _origin(instruction), address, nbytes, writes, self._active())

    def barrier(self, instruction: Instruction) -> None:
        """The wavefront is at a barrier."""
        self._observer.on_barrier(self._b, instruction.address, self._active())

    def _active(self) -> str:
        """The active lanes, an ``i64``."""
        return "-1" if self._regs.mask(EXEC).full else self._regs.pair(EXEC)

    def _begin_segment(self, block: BasicBlock, at: int) -> None:
        addresses = [i.address for i in block.instructions[at:]]
        if self._regs.mask(EXEC).full or not self._observer.takes_segments:
            active = str(LANES)
        else:
            active = self._b.count_bits(self._regs.pair(EXEC))
        self._observer.open_segment(block.address, addresses, active, first=at == 0)
        # All of a block are run if the first one is: they are reported as one.
        if any(_ends_segment(block, n) for n in range(at, len(block.instructions))):
            return
        if self._headers is None:
            self._headers = _loop_headers(self._program)
        itself = block.address in block.successors or block.end == "indirect"
        self._observer.on_segments(self._b, repeats=itself, loops=block.address in self._headers)


def _ends_segment(block: BasicBlock, at: int) -> bool:
    """Whether EXEC changes with the block's instruction number ``at``, for vector instructions that follow."""
    if not effects(block.instructions[at]).exec_change:
        return False
    return any(effects(i).vector_write or effects(i).vector_read for i in block.instructions[at + 1 :])


def _loop_headers(program: Program) -> set[int]:
    """Blocks of which each way that comes back to where it was passes one."""
    blocks = program.blocks.values()
    if any(block.end == "indirect" for block in blocks):
        return set(program.blocks)
    return {a for block in blocks for a in block.successors if a <= block.address}


def _origin(instruction: Instruction) -> AccessOrigin:
    row, address = instruction.row, instruction.address
    if "atomic" in row.flags:
        return AccessOrigin(address, address, True, meaning(instruction).update)
    return AccessOrigin(address, address, False, volatile="load" in row.flags and bool(instruction.fields.get("glc")))
