"""A program in static single assignment form passes in; the same with reads of LDS in pairs passes out.

LDS_READ2_RET reads two dwords at once, one into each queue, where LDS_READ_RET would take two groups.
"""

from __future__ import annotations

from headwater.isa.vliw.compiler.build import number
from headwater.isa.vliw.compiler.ir import Op, Region, Use, Value, regions

READ, READ_TWO = "LDS_READ_RET", "LDS_READ2_RET"


def pair_reads(region: Region) -> None:
    """Join reads of which nothing between them needs the first or could change what they read."""
    for inner in list(regions(region)):
        placed: Region = []
        waiting: Op | None = None
        for item in inner:
            if not isinstance(item, Op):
                waiting = None
            elif item.name == READ:
                if waiting is None or any(use.ref is waiting.results[0] for use in item.uses):
                    waiting = item
                else:
                    placed.remove(waiting)
                    addresses = [_address(op, placed) for op in (waiting, item)]
                    results = [waiting.results[0], item.results[0]]
                    both = Op(READ_TWO, addresses, results, order="lds", line=item.line)
                    for value in results:
                        assert value is not None
                        value.op = both
                    placed.append(both)
                    waiting = None
                    continue
            elif waiting is not None:
                changes = item.order in ("lds", "all") and item.effect
                if changes or any(use.ref is waiting.results[0] for use in item.uses):
                    waiting = None
            placed.append(item)
        inner[:] = placed


def _address(op: Op, placed: Region) -> Use:
    """A read's address with its offset added."""
    offset = 4 * (op.fields or {}).get("lds_offset", 0)
    if not offset:
        return op.uses[0]
    value = Value()
    value.op = Op("ADD_INT", [op.uses[0], Use(number(offset))], [value], line=op.line)
    placed.append(value.op)
    return Use(value)
