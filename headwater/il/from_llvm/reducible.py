"""Input: a function. Output: one whose every loop is entered in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.il.from_llvm.structure import Graph
from headwater.llvm.ir import Block, Function, Inst, Value
from headwater.llvm.types import VOID, int_type


def reducible(function: Function) -> Function:
    """The same function if all is well; else with a block before each loop that chooses where to go in.

    The new block has a phi that says for each way in where it leads, and phis in place of the entered blocks' own.
    """
    for count in range(64):
        successors = {name: block.successors for name, block in function.blocks.items()}
        graph = Graph(successors, next(iter(function.blocks)))
        function = Function(
            function.name, function.params, {name: function.blocks[name] for name in graph.order}, function.metadata
        )
        _drop_unreachable(function)
        header = graph.irreducible()
        if header is None:
            return function
        _dispatch(function, graph, _entries(graph, header), count)
    raise AssertionError("loops with several entries remain")


def _drop_unreachable(function: Function) -> None:
    """Phis no longer name blocks that nobody reaches."""
    for block in function.blocks.values():
        for phi in block.phis:
            kept = [(a, label) for a, label in zip(phi.args, phi.labels, strict=True) if label in function.blocks]
            phi.args, phi.labels = [a for a, _ in kept], tuple(label for _, label in kept)


def _entries(graph: Graph, header: str) -> list[str]:
    """The blocks by which the innermost cycles through ``header`` that have several entries are entered.

    A cycle with one entry is a loop as it should be: what else is in it is looked at without that entry.
    """
    within = set(graph.order)
    while True:
        cycle = _reached(graph.successors, header, within) & _reached(graph.predecessors, header, within)
        found = [
            name for name in graph.order if name in cycle and any(p not in cycle for p in graph.predecessors[name])
        ]
        if len(found) != 1:
            return found
        within = cycle - set(found)


def _reached(neighbours: Mapping[str, Sequence[str]], start: str, within: set[str]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for name in neighbours[waiting.pop()]:
            if name in within and name not in seen:
                seen.add(name)
                waiting.append(name)
    return seen


def _dispatch(function: Function, graph: Graph, entries: list[str], count: int) -> None:
    """Lead all ways to the entries through a chain of new blocks; each but the last asks for one of them."""
    blocks = function.blocks
    number = int_type(32)
    names = [f"%hw.enter.{count}.{k}" for k in range(len(entries) - 1)]
    selector = f"%hw.way.{count}"
    sources: list[tuple[str, int]] = []  # block that jumps, which entry it wants
    doubled: dict[tuple[str, int], str] = {}
    for k, entry in enumerate(entries):
        for source in graph.predecessors[entry]:
            # A source gets a block of its own for each entry, so that the new block's phis can tell them apart.
            middle = f"%hw.from.{count}.{len(doubled)}"
            doubled[source, k] = middle
            blocks[middle] = Block(middle, [Inst("br", VOID, labels=(names[0],))])
            term = blocks[source].term
            term.labels = tuple(middle if label == entry else label for label in term.labels)
            sources.append((middle, k))
    first = Block(names[0])
    labels = tuple(middle for middle, _ in sources)
    first.insts.append(Inst("phi", number, selector, [Value(number, str(k)) for _, k in sources], labels=labels))
    for k, entry in enumerate(entries):
        came_from = names[k] if k < len(names) else names[-1]
        for phi in blocks[entry].phis:
            moved = f"{phi.name}.hw.{count}"
            incoming = dict(zip(phi.labels, phi.args, strict=True))
            values = [
                incoming[source] if wanted == k else Value(phi.ty, "undef")
                for (source, wanted), _ in zip(doubled, sources, strict=True)
            ]
            first.insts.append(Inst("phi", phi.ty, moved, values, labels=labels))
            phi.args, phi.labels = [Value(phi.ty, moved)], (came_from,)
    truth = int_type(1)
    for k, name in enumerate(names):
        block = first if k == 0 else Block(name)
        test = f"%hw.is.{count}.{k}"
        block.insts.append(Inst("icmp", truth, test, [Value(number, selector), Value(number, str(k))], detail="eq"))
        other = names[k + 1] if k + 1 < len(names) else entries[-1]
        block.insts.append(Inst("br", VOID, args=[Value(truth, test)], labels=(entries[k], other)))
        blocks[name] = block
