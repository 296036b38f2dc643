"""Input: an element of scratch memory. Output: the operation that reads or writes it."""

from __future__ import annotations

from headwater.isa.vliw.compiler.build import ZERO
from headwater.isa.vliw.compiler.ir import FETCH, MEMORY, Op, Use, Value
from headwater.isa.vliw.compiler.target import Target

WRITE_INDEXED, _READ = 1, 2  # TYPE of writes to memory; reads so are R600's


def scratch_read(target: Target, index: Use | None, base: int, results: list[Value | None], order: str) -> Op:
    """A read of an element of scratch memory: a fetch, but on R600 an instruction of control flow."""
    if not target.traits.reads_scratch_by_writes:
        fields = {"array_base": base, "indexed": int(index is not None)}
        return Op("READ_SCRATCH", [index] if index is not None else [], results, FETCH, fields=fields, order=order)
    fields = {"array_base": base, "type": _READ + (index is not None), "elem_size": 3, "comp_mask": 15}
    uses = [Use(ZERO)] * 4 + ([index] if index is not None else [])
    return Op("MEM_SCRATCH", uses, results, MEMORY, fields=fields, order=order)


def scratch_write(data: list[Use], index: Use | None, base: int, mask: int, order: str) -> Op:
    """A write of components of an element of scratch memory."""
    fields = {"array_base": base, "comp_mask": mask, "type": int(index is not None), "elem_size": 3}
    uses = [*data, index] if index is not None else data
    return Op("MEM_SCRATCH", uses, [], MEMORY, fields=fields, order=order, effect=True)
