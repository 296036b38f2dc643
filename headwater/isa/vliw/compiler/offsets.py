"""Input: a program in static single assignment form. Output: the same with constants that are added to addresses in the
offsets of fetches and LDS operations.

IL's addresses are 32 bits and wrap. A fetch's do not: an index outside of the resource is outside before the offset is
added (AMD, R700-Family ISA, "Vertex Fetch"; Direct3D asks for 0 there), and of an LDS operation nothing says that they
do: on Southern Islands an address below 0 fails whatever the offset (LLVM, SIISelLowering and AMDGPUISelDAGToDAG,
isDSOffsetLegal). So a constant moves only where what is left cannot wrap: where it is known to be small enough
(`ranges`), or where nothing lies below the constant (``start`` of a view's declaration).
"""

from __future__ import annotations

from headwater.il.checker import Facts
from headwater.isa.vliw.compiler import fold
from headwater.isa.vliw.compiler.ir import Const, If, Kcache, Loop, Op, Ref, Region, Use, Value
from headwater.isa.vliw.compiler.ranges import Ranges
from headwater.isa.vliw.compiler.resources import CONSTANTS, GLOBAL_BYTES, GLOBAL_ELEMENTS, RETURNS, UAVS

_MAX_OFFSET = 0xFFFF
"""OFFSET of a vertex fetch, in bytes (AMD, Evergreen-Family ISA, VTX_WORD2)."""
MAX_LDS_OFFSET = 63
"""IDX_OFFSET of an LDS operation, in dwords (AMD, Evergreen-Family ISA, ALU_WORD0_LDS_IDX_OP)."""
_ELEMENT_BYTES = 16


def move_offsets(region: Region, facts: Facts) -> None:
    """Move what can be moved; what was added is left without use."""
    _Mover(Ranges(region), facts).region(region, {})


class _Mover:
    def __init__(self, ranges: Ranges, facts: Facts) -> None:
        self.ranges = ranges
        self.facts = facts

    def region(self, region: Region, registers: dict[Kcache, Value]) -> None:
        """``registers``: constants of buffers that are in a register already."""
        placed: Region = []
        for item in region:
            if isinstance(item, If):
                self.region(item.then, dict(registers))
                self.region(item.other, dict(registers))
            elif isinstance(item, Loop):
                self.region(item.body, dict(registers))
            elif isinstance(item, Op) and item.fields is not None:
                if item.name == "FETCH":
                    self.fetch(item, placed, registers)
                elif "lds_offset" in item.fields:
                    self.lds(item, placed, registers)
            placed.append(item)
        region[:] = placed

    def fetch(self, op: Op, placed: Region, registers: dict[Kcache, Value]) -> None:
        fields = op.fields or {}
        resource = fields["buffer_id"]
        elements = resource == GLOBAL_ELEMENTS or CONSTANTS <= resource < RETURNS
        unit = _ELEMENT_BYTES if elements and not fields.get("const_buf_no_stride") else 1
        if resource >= RETURNS:
            return
        base, added = self.split(op.uses[0].ref, self.start(resource))
        offset = fields["offset"] + added * unit
        if added and offset <= _MAX_OFFSET:
            op.uses = [Use(self.register(base, op, placed, registers))]
            op.fields = {**fields, "offset": offset}

    def lds(self, op: Op, placed: Region, registers: dict[Kcache, Value]) -> None:
        fields = op.fields or {}
        base, added = self.split(op.uses[0].ref, 0)
        offset = fields["lds_offset"] + added // 4
        if added and added % 4 == 0 and offset <= MAX_LDS_OFFSET:
            op.uses = [Use(self.register(base, op, placed, registers)), *op.uses[1:]]
            op.fields = {**fields, "lds_offset": offset}

    def start(self, resource: int) -> int:
        """The byte of a view that its memory begins at, at the least."""
        if resource == GLOBAL_BYTES:
            return min((view.start for view in self.facts.uavs.values()), default=0)
        view = self.facts.uavs.get(resource - UAVS) if UAVS <= resource < CONSTANTS else None
        return view.start if view is not None else 0

    def split(self, address: Ref, start: int) -> tuple[Ref, int]:
        """An address as a value and a constant without whose wrap around they give it."""
        op = fold.definition(address, "ADD_INT")
        if op is not None:
            base, added = op.uses
            if type(added.ref) is Const and type(base.ref) in (Value, Kcache) and not (base.neg or base.abs):
                number = added.ref.bits
                if number <= start or self.ranges.of(base.ref)[1] + number <= fold.ALL_ONES:
                    return base.ref, number
        return address, 0

    def register(self, ref: Ref, op: Op, placed: Region, registers: dict[Kcache, Value]) -> Value:
        """A value in a register, of which an address must be."""
        if type(ref) is Value:
            return ref
        assert type(ref) is Kcache
        if ref not in registers:
            value = registers[ref] = Value()
            value.op = Op("MOV", [Use(ref)], [value], line=op.line)
            placed.append(value.op)
        return registers[ref]
