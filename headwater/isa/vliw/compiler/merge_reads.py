"""Input: a program in static single assignment form. Output: the same with reads merged where one instruction can do
several.

LDS_READ2_RET reads two dwords at once, one into each queue, where LDS_READ_RET would take two groups; a fetch reads up
to four dwords that follow one another.
"""

from __future__ import annotations

from headwater.isa.vliw.compiler.build import number
from headwater.isa.vliw.compiler.ir import Clause, Exit, If, Loop, Op, Region, Use, Value, regions
from headwater.isa.vliw.compiler.resources import CONSTANTS, GLOBAL_BYTES, UAVS

READ, READ_TWO = "LDS_READ_RET", "LDS_READ2_RET"
_DWORD = 13  # DATA_FORMAT of one component of 32 bits


def pair_reads(region: Region) -> None:
    """Join reads of LDS of which nothing between them needs the first or could change what they read."""
    for inner in list(regions(region)):
        placed: list[Op | Clause | If | Loop | Exit | None] = []  # None where one was that has been joined
        sums: dict[tuple[Use, int], Value] = {}
        waiting: Op | None = None
        place = 0  # of the one that waits
        for item in inner:
            if not isinstance(item, Op):
                waiting = None
            elif item.name == READ:
                if waiting is None or any(use.ref is waiting.results[0] for use in item.uses):
                    waiting, place = item, len(placed)
                else:
                    placed[place] = None
                    addresses = []
                    for op in (waiting, item):
                        address, sum_ = _address(op, sums)
                        addresses.append(address)
                        placed += sum_
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
        inner[:] = [item for item in placed if item is not None]


def _address(op: Op, sums: dict[tuple[Use, int], Value]) -> tuple[Use, list[Op]]:
    """A read's address with its offset added, and what adds it, unless that is among the ``sums`` already."""
    offset = 4 * (op.fields or {}).get("lds_offset", 0)
    if not offset:
        return op.uses[0], []
    known = sums.get((op.uses[0], offset))
    if known is not None:
        return Use(known), []
    value = sums[op.uses[0], offset] = Value()
    value.op = Op("ADD_INT", [op.uses[0], Use(number(offset))], [value], line=op.line)
    return Use(value), [value.op]


def join_fetches(region: Region) -> None:
    """Join fetches of dwords at one address and near offsets, with no write between them. Leaves aliases."""
    for inner in list(regions(region)):
        placed: Region = []
        known: dict[tuple[int, Use], list[Op]] = {}
        for item in inner:
            if not isinstance(item, Op) or (item.effect and item.order in ("global", "all")):
                known = {}
            elif _is_dwords(item):
                assert item.fields is not None
                same = known.setdefault((item.fields["buffer_id"], item.uses[0]), [])
                if any(_joined(op, item) for op in same):
                    continue
                same.append(item)
            placed.append(item)
        inner[:] = placed


def _is_dwords(op: Op) -> bool:
    if op.name != "FETCH" or op.fields is None or op.fields["data_format"] not in (0, _DWORD):
        return False
    resource = op.fields["buffer_id"]
    return (resource == GLOBAL_BYTES or UAVS <= resource < CONSTANTS) and op.fields["offset"] % 4 == 0


def _joined(into: Op, op: Op) -> bool:
    """Whether one fetch now reads what two did."""
    assert into.fields is not None
    assert op.fields is not None
    dwords: dict[int, Value] = {}
    for fetch in (into, op):
        assert fetch.fields is not None
        for k, value in enumerate(fetch.results):
            if value is not None:
                at = fetch.fields["offset"] // 4 + k
                if at in dwords:
                    value.alias = dwords[at]
                else:
                    dwords[at] = value
    first = min(dwords)
    if max(dwords) - first > 3:
        for value in op.results:
            if value is not None:
                value.alias = None
        return False
    into.fields = {**into.fields, "offset": 4 * first, "data_format": 0}
    into.results = [dwords.get(first + k) for k in range(4)]
    for value in into.results:
        if value is not None:
            value.op = into
    return True
