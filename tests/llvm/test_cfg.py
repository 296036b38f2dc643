"""Dominance, against its definition by paths."""

import random

import pytest

from headwater.llvm.cfg import Cfg, subtrees
from headwater.llvm.ir import Module


def function(edges):
    """A function whose blocks lead where the lists say."""
    lines = ["define void @k(i1 %c) {"]
    for block, targets in enumerate(edges):
        labels = [f"label %b{target}" for target in targets]
        ends = ["ret void", f"br {', '.join(labels)}", f"br i1 %c, {', '.join(labels)}"]
        lines += [f"b{block}:", f"  {ends[len(targets)]}"]
    return Module("\n".join([*lines, "}", ""])).function("k")


def reached(edges, without):
    """The blocks that the entry leads to on ways that do not touch a block."""
    seen, work = set(), [0] if without != 0 else []
    while work:
        block = work.pop()
        if block not in seen:
            seen.add(block)
            work += [target for target in edges[block] if target != without]
    return seen


def sequence(length):
    """Ifs one after another: a condition, its then and its join."""
    edges = []
    for k in range(length):
        at = 3 * k
        edges += [[at + 1, at + 2], [at + 2], [at + 3]]
    return [*edges, []]


@pytest.mark.parametrize("seed", range(20))
def test_a_block_dominates_what_cannot_be_reached_without_it(seed):
    chance = random.Random(seed)
    size = chance.randrange(3, 14)
    edges = [sorted(chance.sample(range(k + 1, size), min(chance.randrange(1, 3), size - 1 - k))) for k in range(size)]
    cfg = Cfg(function(edges))
    every = reached(edges, None)
    for above in every:
        lost = every - reached(edges, above)
        assert {below for below in every if cfg.dominates(f"%b{above}", f"%b{below}")} == lost
        assert cfg.dominated(f"%b{above}") == [name for name in cfg.order if int(name[2:]) in lost]


def test_what_follows_an_if_post_dominates_it():
    cfg = Cfg(function(sequence(3)))
    assert cfg.post_dominates("%b2", "%b0")
    assert cfg.post_dominates("%b9", "%b0")
    assert not cfg.post_dominates("%b1", "%b0")
    assert not cfg.post_dominates("%b0", "%b2")
    assert not cfg.joins("%b1")
    assert cfg.joins("%b2")


def test_subtrees_are_ranges_of_numbers():
    found = subtrees({"c": "b", "a": "a", "b": "a", "d": "a"})
    assert {len(numbers) for numbers in found.values()} == {4, 2, 1}
    assert found["a"] == range(4)
    assert set(found["c"]) < set(found["b"])
    assert not set(found["d"]) & set(found["b"])
