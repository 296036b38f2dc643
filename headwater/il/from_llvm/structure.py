"""Input: the blocks of a function. Output: the same code as nested ifs and loops.

ATI IL has no jumps. A block that one branch leads to stands where that branch is. A block where ways meet stands behind
the branch that dominates it: whoever jumps there falls through to it, and if others fall through too, bound for
somewhere else, a flag tells who enters. What a loop leaves for stands behind the loop, in the same way; a way out of
several loops sets its flag and breaks out of each. A graph whose loops can be entered in two places is made reducible
first, by a block that all entries lead to and that branches on where they came for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Flag = tuple[str, str]
"""What is jumped to: ("to", block), or ("again", header) for the next iteration of an outer loop."""


@dataclass(slots=True)
class Code:
    """A block's instructions, without the branch at its end."""

    block: str


@dataclass(slots=True)
class Edge:
    """What going from one block to another assigns: the second one's phis."""

    source: str
    target: str


@dataclass(slots=True)
class If:
    """A branch on the condition at the end of ``block``, or on a flag."""

    condition: str | Flag
    then: list[Node] = field(default_factory=list)
    otherwise: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Loop:
    """A loop without a condition."""

    body: list[Node]


@dataclass(slots=True)
class Jump:
    """Out of the innermost loop ("break"), or to its next iteration ("continue")."""

    kind: str


@dataclass(slots=True)
class Set:
    """A flag is raised or lowered."""

    flag: Flag
    value: bool


_END: Flag = ("to", "")
"""Where those go who return."""

Node = Code | Edge | If | Loop | Jump | Set


@dataclass
class Graph:
    """Blocks in order of a depth-first search (reverse postorder), their successors, and what is derived of them."""

    successors: dict[str, tuple[str, ...]]
    entry: str
    order: list[str] = field(init=False)
    predecessors: dict[str, list[str]] = field(init=False)
    dominator: dict[str, str] = field(init=False)
    number: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.order = _reverse_postorder(self.successors, self.entry)
        self.number = {name: place for place, name in enumerate(self.order)}
        self.predecessors = {name: [] for name in self.order}
        for name in self.order:
            for target in dict.fromkeys(self.successors[name]):
                self.predecessors[target].append(name)
        self.dominator = self._dominators()

    def _dominators(self) -> dict[str, str]:
        """Immediate dominators (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm)."""
        found = {self.entry: self.entry}
        changed = True
        while changed:
            changed = False
            for name in self.order[1:]:
                known = [p for p in self.predecessors[name] if p in found]
                new = known[0]
                for other in known[1:]:
                    a, b = new, other
                    while a != b:
                        while self.number[a] > self.number[b]:
                            a = found[a]
                        while self.number[b] > self.number[a]:
                            b = found[b]
                    new = a
                if found.get(name) != new:
                    found[name] = new
                    changed = True
        return found

    def dominates(self, above: str, below: str) -> bool:
        """Whether every way to ``below`` leads by ``above``."""
        while self.number[below] > self.number[above]:
            below = self.dominator[below]
        return below == above

    def retreating(self) -> list[tuple[str, str]]:
        """Edges that lead back in the order."""
        number = self.number
        return [(a, b) for a in self.order for b in dict.fromkeys(self.successors[a]) if number[b] <= number[a]]

    def irreducible(self) -> str | None:
        """A block that a way leads back to which does not dominate that way's beginning, if there is one."""
        return next((b for a, b in self.retreating() if not self.dominates(b, a)), None)


def _reverse_postorder(successors: dict[str, tuple[str, ...]], entry: str) -> list[str]:
    seen = {entry}
    out: list[str] = []
    stack = [(entry, iter(reversed(successors[entry])))]
    while stack:
        name, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(reversed(successors[target]))))
                break
        else:
            out.append(name)
            stack.pop()
    return out[::-1]


def structure(successors: dict[str, tuple[str, ...]], entry: str) -> list[Node]:
    """The nested form of a reducible graph whose blocks have at most two successors, the first one for true."""
    made = _Structurer(Graph(successors, entry))
    nodes, _ = made.block(entry)
    return _pruned(nodes, made.tested)


class _Structurer:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tested: set[Flag] = set()
        self.loop_of: dict[str, str] = {}
        """Block -> header of the innermost loop that it is in."""
        self.outer: dict[str, str | None] = {}
        """Header -> header of the loop around its loop."""
        self._find_loops()
        self.exits: dict[str, list[Flag]] = {header: [] for header in self.outer}
        self.inside: dict[str, list[str]] = {name: [] for name in graph.order}
        self.after: dict[str, list[str]] = {header: [] for header in self.outer}
        self.placed: set[str] = set()
        self._place()

    # -- what is where -------------------------------------------------------------------------------------------------

    def _find_loops(self) -> None:
        graph = self.graph
        members: dict[str, set[str]] = {}
        for tail, header in graph.retreating():
            body = members.setdefault(header, {header})
            waiting = [tail]
            while waiting:
                name = waiting.pop()
                if name not in body:
                    body.add(name)
                    waiting += graph.predecessors[name]
        headers = sorted(members, key=lambda header: len(members[header]))
        for header in headers:  # the smallest first: the first that has a block is its innermost loop
            for name in members[header]:
                self.loop_of.setdefault(name, header)
        for k, header in enumerate(headers):
            around = (other for other in headers[k + 1 :] if header in members[other] and other != header)
            self.outer[header] = next(around, None)

    def loops(self, name: str) -> list[str]:
        """The headers of the loops around a block, the innermost first."""
        found: list[str] = []
        header = self.loop_of.get(name)
        while header is not None:
            found.append(header)
            header = self.outer[header]
        return found

    def _place(self) -> None:
        """Where blocks stand that do not stand in the branch which leads to them."""
        graph = self.graph
        for name in graph.order[1:]:
            above = graph.dominator[name]
            around = self.loops(name)
            left = [header for header in self.loops(above) if header not in around]
            forward = [p for p in graph.predecessors[name] if graph.number[p] < graph.number[name]]
            if left:
                self.after[left[-1]].append(name)
            elif forward != [above]:
                self.inside[above].append(name)
            else:
                continue
            self.placed.add(name)

    # -- code ----------------------------------------------------------------------------------------------------------

    def block(self, name: str) -> tuple[list[Node], list[Flag]]:
        """A block with all that stands in its place, and where those go who fall through at its end."""
        if name not in self.outer:
            return self.straight(name)
        body, left = self.straight(name)
        assert not left, left
        leaves = list(dict.fromkeys(self.exits[name]))
        asked = dict.fromkeys([*leaves, *(("to", other) for other in self.after[name])])
        nodes: list[Node] = [Set(flag, False) for flag in asked]
        nodes.append(Loop(body))
        around = self.outer[name]
        stay: list[Flag] = []
        for flag in leaves:
            kind, target = flag
            if kind == "again" and target == around:
                nodes += self.taken(flag, leaves, [Jump("continue")])
            elif around is not None and (kind == "again" or around not in self.loops(target)):
                self.exits[around].append(flag)
                nodes += self.taken(flag, leaves, [Jump("break")])
            else:
                stay.append(flag)
        more, left = self.behind(self.after[name], stay)
        return nodes + more, left

    def taken(self, flag: Flag, coming: Sequence[Flag], nodes: list[Node]) -> list[Node]:
        """What only those do who come with a flag; if nobody comes with another one, no question is asked."""
        if list(coming) == [flag]:
            return nodes
        self.tested.add(flag)
        return [If(flag, nodes)]

    def straight(self, name: str) -> tuple[list[Node], list[Flag]]:
        """A block and what stands behind it in the same loop."""
        targets = self.graph.successors[name]
        nodes: list[Node] = [Code(name)]
        nodes += [Set(("to", inner), False) for inner in self.inside[name]]
        coming: list[Flag] = []
        if len(targets) == 2:
            then, left = self.jump(name, targets[0])
            otherwise, right = self.jump(name, targets[1])
            nodes.append(If(name, then, otherwise))
            coming = [*left, *(flag for flag in right if flag not in left)]
        elif targets:
            more, coming = self.jump(name, targets[0])
            nodes += more
        else:
            coming = [_END]
        more, coming = self.behind(self.inside[name], coming)
        return nodes + more, coming

    def behind(self, names: Sequence[str], coming: list[Flag]) -> tuple[list[Node], list[Flag]]:
        nodes: list[Node] = []
        for name in names:
            flag = ("to", name)
            if flag not in coming:
                continue  # nobody goes there but by way of a loop that never ends
            more, left = self.block(name)
            nodes += self.taken(flag, coming, more)
            coming = [f for f in coming if f != flag]
            coming += [f for f in left if f not in coming]
        return nodes, coming

    def jump(self, source: str, target: str) -> tuple[list[Node], list[Flag]]:
        nodes: list[Node] = [Edge(source, target)]
        around = self.loop_of.get(source)
        back = target in self.outer and target in self.loops(source)
        if back and target == around:
            return [*nodes, Jump("continue")], []
        flag: Flag = ("again" if back else "to", target)
        if back or (around is not None and around not in self.loops(target)):
            assert around is not None
            self.exits[around].append(flag)
            return [*nodes, Set(flag, True), Jump("break")], []
        if target in self.placed:
            return [*nodes, Set(flag, True)], [flag]
        more, left = self.block(target)
        return nodes + more, left


def _pruned(nodes: list[Node], tested: set[Flag], *, last: bool = False) -> list[Node]:
    """Without flags that nobody looks at, and ``continue`` at a loop's end. ``last``: a loop ends behind the nodes."""
    out: list[Node] = []
    kept = [node for node in nodes if not (isinstance(node, Set) and node.flag not in tested)]
    for place, node in enumerate(kept):
        at_end = last and place == len(kept) - 1
        if isinstance(node, If):
            node.then = _pruned(node.then, tested, last=at_end)
            node.otherwise = _pruned(node.otherwise, tested, last=at_end)
        elif isinstance(node, Loop):
            node.body = _pruned(node.body, tested, last=True)
        elif isinstance(node, Jump) and node.kind == "continue" and at_end:
            continue
        out.append(node)
    return out
