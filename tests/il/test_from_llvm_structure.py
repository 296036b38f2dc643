"""Nested ifs and loops go the ways that the graph of blocks goes, whatever it looks like."""

import random

import pytest

from headwater.il.from_llvm.reducible import reducible
from headwater.il.from_llvm.structure import Code, Graph, If, Jump, Loop, Set, structure
from headwater.llvm.ir import Block, Function, Inst, Value
from headwater.llvm.types import I1, VOID

STEPS = 150


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Enough(Exception):
    pass


def walk_graph(successors, decide):
    """The blocks that are passed, where ``decide`` answers each branch's question by how many were passed."""
    trace, name = [], "b0"
    while len(trace) < STEPS:
        trace.append(name)
        targets = successors[name]
        if not targets:
            break
        name = targets[0] if len(targets) == 1 or decide(len(trace)) else targets[1]
    return trace


def walk_nested(nodes, decide):
    trace, flags = [], {}

    def go(nodes):
        for node in nodes:
            if isinstance(node, Code):
                trace.append(node.block)
                if len(trace) == STEPS:
                    raise _Enough
            elif isinstance(node, If):
                answer = flags[node.condition] if isinstance(node.condition, tuple) else decide(len(trace))
                go(node.then if answer else node.otherwise)
            elif isinstance(node, Loop):
                for _ in range(2 * STEPS):
                    try:
                        go(node.body)
                    except _Break:
                        break
                    except _Continue:
                        continue
                else:
                    raise AssertionError("a loop turns without a block")
            elif isinstance(node, Jump):
                raise _Break if node.kind == "break" else _Continue
            elif isinstance(node, Set):
                flags[node.flag] = node.value

    try:
        go(nodes)
    except _Enough:
        pass
    return trace


def random_graph(rng, size):
    names = [f"b{k}" for k in range(size)]
    successors = {names[-1]: ()}
    for k, name in enumerate(names[:-1]):
        targets = []
        for _ in range(rng.choice([1, 2, 2, 2])):
            if rng.random() < 0.3 and k:
                targets.append(names[rng.randrange(1, size)] if rng.random() < 0.5 else names[rng.randrange(1, k + 1)])
            else:
                targets.append(names[min(size - 1, k + 1 + int(rng.expovariate(0.7)))])
        successors[name] = tuple(dict.fromkeys(targets))
    return {name: successors[name] for name in Graph(successors, "b0").order}


def agree(successors, nodes, seed):
    for trial in range(6):
        rng = random.Random(100 * seed + trial)
        answers = [rng.random() < 0.5 for _ in range(STEPS + 1)]
        assert walk_nested(nodes, answers.__getitem__) == walk_graph(successors, answers.__getitem__), successors


@pytest.mark.parametrize("start", range(0, 1200, 300))
def test_random_graphs(start):
    seen = 0
    for seed in range(start, start + 300):
        rng = random.Random(seed)
        successors = random_graph(rng, rng.randrange(2, 14))
        if Graph(successors, "b0").irreducible() is None:
            seen += 1
            agree(successors, structure(dict(successors), "b0"), seed)
    assert seen > 200


def function_of(successors):
    blocks = {}
    for name, targets in successors.items():
        condition = [Value(I1, f"%{name}.ask")] if len(targets) == 2 else []
        blocks[name] = Block(name, [Inst("br" if targets else "ret", VOID, args=condition, labels=targets)])
    return Function("f", [], blocks)


@pytest.mark.parametrize("start", range(0, 900, 300))
def test_loops_with_several_entries_get_one(start):
    seen = 0
    for seed in range(start, start + 300):
        rng = random.Random(seed)
        successors = random_graph(rng, rng.randrange(3, 12))
        if Graph(successors, "b0").irreducible() is None:
            continue
        seen += 1
        made = reducible(function_of(successors))
        graph = Graph({name: block.successors for name, block in made.blocks.items()}, "b0")
        assert graph.irreducible() is None
        for trial in range(4):
            rng = random.Random(100 * seed + trial)
            answers = [rng.random() < 0.5 for _ in range(STEPS + 1)]
            assert walk_dispatched(made, answers) == walk_graph(successors, answers.__getitem__)[:40]
    assert seen > 20


def walk_dispatched(function, answers):
    """The function's own blocks as they are passed; the ones that were added ask for the number that a phi took on."""
    trace, name, before, values = [], "b0", "", {}
    while len(trace) < 40:
        block = function.blocks[name]
        own = not name.startswith("%hw.")
        if own:
            trace.append(name)
        new = {}
        for inst in block.phis:
            value = inst.args[inst.labels.index(before)].text
            new[inst.name] = values.get(value, value)
        values |= new
        for inst in block.insts:
            if inst.op == "icmp":
                values[inst.name] = values[inst.args[0].text] == inst.args[1].text
        targets = block.successors
        if not targets:
            break
        first = len(targets) == 1 or (answers[len(trace)] if own else values[block.term.args[0].text])
        before, name = name, targets[0 if first else 1]
    return trace


def test_a_loop_needs_no_flags():
    successors = {"b0": ("b1",), "b1": ("b2", "b3"), "b2": ("b1",), "b3": ()}
    nodes = structure(successors, "b0")
    assert not [node for node in nodes if isinstance(node, Set)]
    (loop,) = (node for node in nodes if isinstance(node, Loop))
    (branch,) = (node for node in loop.body if isinstance(node, If))
    assert [type(node) for node in branch.otherwise][-1] is Jump
    assert not any(isinstance(node, Jump) for node in branch.then)  # the loop's end is near: nothing says continue
