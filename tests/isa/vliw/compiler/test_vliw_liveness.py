"""Where values are live: the same as by iteration over the sets of all points, for work that grows with the text."""

import random

import pytest

from headwater.isa.vliw.compiler.ir import Const, Exit, If, Loop, Op, Use, Value, ends, operations
from headwater.isa.vliw.compiler.liveness import Liveness, holds
from tests.counted import count_calls

CONDITION = Use(Const(1))


def random_region(rng, values, loop, budget):
    """Operations on variables in nested ifs and loops; nothing stands behind what control never leaves."""
    region = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < 0.2 and budget > 0:
            sides = [random_region(rng, values, loop, budget - 1) if rng.random() < 0.7 else [] for _ in range(2)]
            item = If(CONDITION, *sides)
        elif kind < 0.4 and budget > 0:
            item = Loop()
            item.body = random_region(rng, values, item, budget - 1)
            if not ends(item.body):
                item.body.append(Exit(item, rng.random() < 0.2))
            inside = [one for one in exits(item.body) if one.is_break and one.loop is item]
            item.breaks = inside
        elif kind < 0.55 and loop is not None:
            item = Exit(loop, rng.random() < 0.7, rng.choice([None, CONDITION, CONDITION]))
        else:
            item = Op("ADD_INT", [Use(rng.choice(values)) for _ in range(2)], [rng.choice(values)])
        region.append(item)
        if ends(region):
            break
    return region


def exits(region):
    for item in region:
        if isinstance(item, Exit):
            yield item
        elif isinstance(item, If):
            yield from exits(item.then)
            yield from exits(item.other)
        elif isinstance(item, Loop):
            yield from exits(item.body)


def iterate(region, live, targets, after):
    """What is live before a region; ``after``: what is behind each operation. Loops repeat until nothing changes."""
    for item in reversed(region):
        if isinstance(item, Op):
            after[id(item)] = live
            live = live - {item.results[0]} | {use.ref for use in item.uses}
        elif isinstance(item, Exit):
            there = targets[id(item.loop), item.is_break]
            live = there if item.condition is None else live | there
        elif isinstance(item, If):
            live = iterate(item.then, live, targets, after) | iterate(item.other, live, targets, after)
        else:
            start, known = frozenset(), None
            while start != known:
                known = start
                inside = {**targets, (id(item), True): live, (id(item), False): known}
                start = iterate(item.body, frozenset(), inside, after)
            live = start
    return live


@pytest.mark.parametrize("seed", range(6))
def test_live_sets_are_those_of_an_iteration(seed):
    rng = random.Random(seed)
    for _ in range(30):
        values = [Value() for _ in range(6)]
        region = random_region(rng, values, None, 4)
        after = {}
        iterate(region, frozenset(), {}, after)
        found = Liveness(region)
        for op in operations(region):
            live = {value for value in values if holds(found.live.get(value, []), found.place(op))}
            assert live == after[id(op)] | {op.results[0]}


def nested_loops(count):
    """Each with a counter, which is live all through the loops inside."""
    total = Value()
    region = inner = [Op("MOV", [Use(Const(0))], [total])]
    for _ in range(count):
        counter, item = Value(), Loop()
        item.breaks, item.continues = [Exit(item, True, CONDITION)], [Exit(item, False)]
        step = Op("ADD_INT", [Use(counter)], [counter])
        item.body = [*item.breaks, Op("ADD_INT", [Use(total), Use(counter)], [total]), step, *item.continues]
        place = 2 if inner is not region else len(inner)
        inner[place:place] = [Op("MOV", [Use(Const(0))], [counter]), item]
        inner = item.body
    region.append(Op("EXPORT", [Use(total)], [None]))
    return region


def test_nested_loops_are_not_walked_again_for_each_around_them():
    assert count_calls(Liveness, nested_loops(60)) < 15 * count_calls(Liveness, nested_loops(6))
