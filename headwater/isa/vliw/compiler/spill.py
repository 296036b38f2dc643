"""Input: a program of variables that takes too many registers. Output: the same with some in scratch memory.

A variable that is spilled is written there after each of its definitions and read back before each operation that uses
it. Variables are named by their place among all definitions, which is the same each time a program is compiled.
"""

from __future__ import annotations

from headwater.isa.vliw.compiler.build import ZERO
from headwater.isa.vliw.compiler.ir import Exit, If, Op, Region, Use, Value, operations, regions
from headwater.isa.vliw.compiler.liveness import Liveness, size
from headwater.isa.vliw.compiler.scratch import scratch_read, scratch_write
from headwater.isa.vliw.compiler.target import Target


def variables(region: Region) -> list[Value]:
    """Every variable, in the order of first definitions."""
    return list(dict.fromkeys(v for op in operations(region) for v in op.results if v is not None))


def measured(region: Region, liveness: Liveness) -> list[float]:
    """How long each variable lives for the number of its uses; inputs not at all."""
    live = liveness.live
    uses: dict[Value, int] = {}
    for op in operations(region):
        for value in [use.ref for use in op.uses if type(use.ref) is Value] + [v for v in op.results if v is not None]:
            uses[value] = uses.get(value, 0) + 1
    return [
        size(live.get(value, [])) / (1 + uses[value]) if value.fixed is None else 0.0 for value in variables(region)
    ]


def choose(lengths: list[float], count: int, spilled: frozenset[int]) -> frozenset[int]:
    """Some more variables to spill: those that live longest for the number of their uses."""
    worth = [(-length, number) for number, length in enumerate(lengths) if number not in spilled and length > 0]
    return spilled | {number for _, number in sorted(worth)[:count]}


def spill(region: Region, chosen: frozenset[int], target: Target, first: int) -> int:
    """Put variables into scratch memory from element ``first`` on; how many elements they take."""
    everyone = variables(region)
    slots = {everyone[number]: k for k, number in enumerate(sorted(chosen))}

    def place(value: Value) -> tuple[int, int, str]:
        slot = slots[value]
        return first + slot // 4, slot % 4, f"spill {slot}"

    def read_back(op: Op, placed: Region) -> None:
        for value in dict.fromkeys(use.ref for use in op.uses if type(use.ref) is Value and use.ref in slots):
            assert type(value) is Value
            element, lane, order = place(value)
            copy = Value()
            results: list[Value | None] = [copy if k == lane else None for k in range(4)]
            read = scratch_read(target, None, element, results, order)
            read.line = op.line
            placed.append(read)
            op.uses = [Use(copy, use.neg, use.abs) if use.ref is value else use for use in op.uses]

    for inner in list(regions(region)):
        placed: Region = []
        for item in inner:
            if isinstance(item, If | Exit) and item.test is not None:
                read_back(item.test, placed)
            if not isinstance(item, Op):
                placed.append(item)
                continue
            read_back(item, placed)
            placed.append(item)
            for k, value in enumerate(item.results):
                if value is None or value not in slots:
                    continue
                element, lane, order = place(value)
                copy = Value()
                item.results[k] = copy
                data = [Use(copy if n == lane else ZERO) for n in range(4)]
                write = scratch_write(data, None, element, 1 << lane, order)
                write.line = item.line
                placed.append(write)
        inner[:] = placed
    return -(-len(slots) // 4)
