"""Input: a function's blocks. Output: its loops, dominators, control dependences and a loop-compact order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.llvm.ir import Function

END = "<end>"


@dataclass(slots=True, eq=False)
class Loop:
    """A natural loop in simplified form: one latch, one entry edge into the header."""

    header: str
    latch: str
    blocks: set[str]
    parent: Loop | None = None
    exits: list[tuple[str, str]] = field(default_factory=list)

    def __contains__(self, block: str) -> bool:
        return block in self.blocks


def reverse_postorder(roots: Sequence[str], successors: Mapping[str, Iterable[str]]) -> list[str]:
    """The blocks reachable from the roots, each before its successors (back edges apart)."""
    seen: set[str] = set()
    order: list[str] = []
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(tuple(successors[root])))]
        while stack:
            block, rest = stack[-1]
            for target in rest:
                if target not in seen:
                    seen.add(target)
                    stack.append((target, iter(tuple(successors[target]))))
                    break
            else:
                order.append(block)
                stack.pop()
    order.reverse()
    return order


def immediate_dominators(root: str, successors: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Cooper, Harvey and Kennedy, 'A Simple, Fast Dominance Algorithm' (2001). The root maps to itself."""
    order = reverse_postorder([root], successors)
    index = {block: i for i, block in enumerate(order)}
    preds: dict[str, list[str]] = {block: [] for block in order}
    for block in order:
        for target in successors[block]:
            preds[target].append(block)
    idom = {root: root}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            new = ""
            for pred in preds[block]:
                if pred not in idom:
                    continue
                if not new:
                    new = pred
                    continue
                other = pred
                while new != other:
                    while index[new] > index[other]:
                        new = idom[new]
                    while index[other] > index[new]:
                        other = idom[other]
            if idom.get(block) != new:
                idom[block] = new
                changed = True
    return idom


def subtrees(parents: Mapping[str, str]) -> dict[str, range]:
    """Numbers such that a node's subtree, itself first, has those in its range. The root is its own parent."""
    children: dict[str, list[str]] = {}
    stack = []
    for node, parent in parents.items():
        if node == parent:
            stack.append(node)
        else:
            children.setdefault(parent, []).append(node)
    order = []
    while stack:
        node = stack.pop()
        order.append(node)
        stack += children.get(node, ())
    sizes = dict.fromkeys(order, 1)
    for node in reversed(order):
        if parents[node] != node:
            sizes[parents[node]] += sizes[node]
    return {node: range(number, number + sizes[node]) for number, node in enumerate(order)}


class Cfg:
    """Control-flow facts of one function.

    ``order`` lists the reachable blocks so that a block follows all its predecessors (back edges apart) and the blocks
    of a loop are contiguous; ``index`` is its inverse. ``irreducible`` tells that a cycle is not a natural loop.
    """

    def __init__(self, function: Function) -> None:
        self.entry = next(iter(function.blocks))
        every = {name: block.successors for name, block in function.blocks.items()}
        reachable = reverse_postorder([self.entry], every)
        self.succs: dict[str, tuple[str, ...]] = {b: tuple(dict.fromkeys(every[b])) for b in reachable}
        self.preds: dict[str, list[str]] = {b: [] for b in reachable}
        for block, targets in self.succs.items():
            for target in targets:
                self.preds[target].append(block)
        self.idom = immediate_dominators(self.entry, self.succs)
        self._dominated = subtrees(self.idom)
        self._by_dominance = sorted(self._dominated, key=lambda block: self._dominated[block].start)
        self.loop_of: dict[str, Loop | None] = dict.fromkeys(reachable)
        self.loops: list[Loop] = []
        self.irreducible = False
        self._find_loops(reachable)
        if self.irreducible:  # run one work-item at a time, which asks for no more than some order
            self.loops = []
            self.loop_of = dict.fromkeys(reachable)
        self.order: list[str] = reachable if self.irreducible else self._compact_order(None, self.entry)
        self.index = {block: i for i, block in enumerate(self.order)}
        if not self.irreducible:
            self._post_dominance()

    def dominates(self, above: str, block: str) -> bool:
        return self._dominated[block].start in self._dominated[above]

    def dominated(self, block: str) -> list[str]:
        """The block and all that it dominates, in `order`."""
        found = self._dominated[block]
        return sorted(self._by_dominance[found.start : found.stop], key=self.index.__getitem__)

    def post_dominates(self, below: str, block: str) -> bool:
        return self._post_dominated[block].start in self._post_dominated[below]

    def joins(self, block: str) -> bool:
        """Whether it post-dominates any other."""
        return len(self._post_dominated[block]) > 1

    def _find_loops(self, reachable: list[str]) -> None:
        headers: dict[str, list[str]] = {}
        position = self._position = {b: i for i, b in enumerate(reachable)}
        for block in reachable:
            for target in self.succs[block]:
                if self.dominates(target, block):
                    headers.setdefault(target, []).append(block)
                elif position[target] <= position[block]:
                    self.irreducible = True
                    return
        for header, latches in headers.items():
            body = {header}
            work = list(latches)
            while work:
                block = work.pop()
                if block not in body:
                    body.add(block)
                    work.extend(self.preds[block])
            self.loops.append(Loop(header, latches[0], body))
            if len(latches) != 1:
                self.irreducible = True
        self.loops.sort(key=lambda loop: -len(loop.blocks))
        for loop in self.loops:  # outer loops first, so the innermost one stays
            loop.parent = self.loop_of[loop.header]
            for block in loop.blocks:
                self.loop_of[block] = loop
        for loop in self.loops:
            inside = sorted(loop.blocks, key=position.__getitem__)
            loop.exits = [(b, t) for b in inside for t in self.succs[b] if t not in loop.blocks]

    def _node_at(self, level: Loop | None, block: str) -> str | None:
        """The block, or the header of the inner loop, that stands for ``block`` among the nodes of ``level``."""
        loop = self.loop_of[block]
        if loop is level:
            return block
        while loop is not None and loop.parent is not level:
            loop = loop.parent
        return loop.header if loop is not None else None

    def _compact_order(self, level: Loop | None, root: str) -> list[str]:
        """Dominator-tree preorder of one loop level, inner loops collapsed into their headers, then expanded."""
        members = list(self.succs) if level is None else sorted(level.blocks, key=self._position.__getitem__)
        edges: dict[str, list[str]] = {}
        for block in members:
            node = self._node_at(level, block)
            assert node is not None
            targets = edges.setdefault(node, [])
            for target in self.succs[block]:
                if target == root or (level is not None and target not in level.blocks):
                    continue
                to = self._node_at(level, target)
                if to is not None and to != node and to not in targets:
                    targets.append(to)
        idom = immediate_dominators(root, edges)
        topological = reverse_postorder([root], edges)
        children: dict[str, list[str]] = {}
        for node in topological:
            if node != root:
                children.setdefault(idom[node], []).append(node)
        out: list[str] = []
        stack = [root]
        while stack:
            node = stack.pop()
            inner = self.loop_of[node]
            if inner is not None and inner is not level and inner.header == node and node != (level and level.header):
                while inner.parent is not level:
                    assert inner.parent is not None
                    inner = inner.parent
                out.extend(self._compact_order(inner, node))
            else:
                out.append(node)
            stack.extend(reversed(children.get(node, [])))
        return out

    def _post_dominance(self) -> None:
        """Post-dominators where each loop is taken to run once and to leave through every one of its exits."""
        forward: dict[str, list[str]] = {b: [] for b in self.order}
        loops = {loop.header: loop for loop in self.loops}
        for block in self.order:
            for target in self.succs[block]:
                if self.index[target] > self.index[block]:
                    forward[block].append(target)
                else:
                    forward[block] += [t for _, t in loops[target].exits]
            if not forward[block]:
                forward[block].append(END)
            forward[block] = list(dict.fromkeys(forward[block]))
        backward: dict[str, list[str]] = {b: [] for b in [*self.order, END]}
        for block, targets in forward.items():
            for target in targets:
                backward[target].append(block)
        self.ipdom = immediate_dominators(END, backward)
        self._post_dominated = subtrees(self.ipdom)
        self.controls: dict[str, set[str]] = {b: set() for b in [*self.order, END]}
        for block, targets in forward.items():
            if len(targets) < 2:
                continue
            for target in targets:
                runner = target
                while runner not in (self.ipdom[block], END):
                    self.controls[runner].add(block)
                    runner = self.ipdom[runner]

    def same_level_dominators(self, block: str) -> Iterable[str]:
        """Strict dominators of ``block`` in its own innermost loop, nearest first."""
        up = block
        while self.idom[up] != up:
            up = self.idom[up]
            if self.loop_of[up] is self.loop_of[block]:
                yield up

    def home_of_initialisation(self, block: str) -> str:
        """The nearest strict dominator that is not in a deeper loop: where what its edges collect is reset."""
        up = self.idom[block]
        while (loop := self.loop_of[up]) is not None and block not in loop:
            up = self.idom[up]
        return up
