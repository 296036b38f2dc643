"""Input: blocks and their successors. Output: loops, and how often each block runs on the shortest, mean and longest
path.

A loop is a strongly connected part of the graph; its header is where it is entered. Loops are found outermost first,
each by taking away the edges back to the header of the one around it (so code with several entries to a loop, which no
compiler for these chips makes, is still read as some loop).

A path runs each loop as often as its trip count says. The mean path takes every branch either way equally often,
but passes no loop by and does not end before anything was written (`likelihoods`); the longest goes where the most
cycles are, as a wavefront does whose work-items part at every branch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Mode = Literal["minimum", "average", "maximum"]
MODES: tuple[Mode, ...] = ("minimum", "average", "maximum")


@dataclass(frozen=True, slots=True)
class Cycle:
    """A loop as the graph has it: its header, all its blocks, and the index of the loop around it or -1."""

    header: int
    blocks: frozenset[int]
    parent: int


def components(nodes: frozenset[int], after: Callable[[int], Sequence[int]]) -> list[frozenset[int]]:
    """Strongly connected parts (Tarjan, without recursion), in reverse topological order."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    found: list[frozenset[int]] = []
    for root in sorted(nodes):
        if root in index:
            continue
        work = [(root, iter(after(root)))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for follower in rest:
                if follower not in nodes:
                    continue
                if follower not in index:
                    index[follower] = low[follower] = len(index)
                    stack.append(follower)
                    on_stack.add(follower)
                    work.append((follower, iter(after(follower))))
                    break
                if follower in on_stack:
                    low[node] = min(low[node], index[follower])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = set()
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        part.add(member)
                        if member == node:
                            break
                    found.append(frozenset(part))
    return found


def find_loops(successors: Sequence[Sequence[int]]) -> tuple[Cycle, ...]:
    """The loops of a graph that is entered at node 0, outer before inner ones, else by header."""
    found: list[Cycle] = []
    waiting: list[tuple[frozenset[int], int, int]] = [(_reachable(successors), -1, -1)]
    while waiting:
        nodes, cut, parent = waiting.pop(0)

        def after(node: int, cut: int = cut) -> Sequence[int]:
            return [n for n in successors[node] if n != cut]

        parts = []
        for part in components(nodes, after):
            if len(part) == 1 and next(iter(part)) not in after(next(iter(part))):
                continue
            entries = {n for m in range(len(successors)) if m not in part for n in successors[m] if n in part}
            header = 0 if 0 in part else min(entries, default=min(part))
            parts.append((header, part))
        for header, part in sorted(parts):
            waiting.append((part, header, len(found)))
            found.append(Cycle(header, part, parent))
    return tuple(found)


def _reachable(successors: Sequence[Sequence[int]]) -> frozenset[int]:
    seen = {0} if successors else set()
    waiting = list(seen)
    while waiting:
        for follower in successors[waiting.pop()]:
            if follower not in seen:
                seen.add(follower)
                waiting.append(follower)
    return frozenset(seen)


class Paths:
    """How often each block runs. ``weights``: what a run of each block costs, by which paths are chosen; ``likely``:
    how often an edge is taken by the mean path, relative to its block's other ones (1 if absent)."""

    def __init__(
        self,
        successors: Sequence[Sequence[int]],
        loops: Sequence[Cycle],
        trips: Sequence[float],
        weights: Sequence[float],
        likely: Mapping[tuple[int, int], float] | None = None,
    ) -> None:
        self._successors = successors
        self._loops = loops
        self._trips = trips
        self._weights = weights
        self._likely = likely or {}
        self._children: dict[int, list[int]] = {}
        for number, loop in enumerate(loops):
            self._children.setdefault(loop.parent, []).append(number)
        self._solved: dict[tuple[int, Mode], dict[int, float]] = {}

    def visits(self, mode: Mode) -> list[float]:
        """Runs of each block, from the kernel's entry to an end."""
        if not self._successors:
            return []
        whole = self._walk(-1, 0, _reachable(self._successors), mode, None)
        return [whole.get(block, 0.0) for block in range(len(self._successors))]

    def _cost(self, visits: Mapping[int, float]) -> float:
        return sum(self._weights[block] * count for block, count in visits.items())

    def _loop(self, number: int, mode: Mode) -> dict[int, float]:
        """Runs of each block of a loop, for one time that it is reached."""
        key = number, mode
        if key not in self._solved:
            loop, trip = self._loops[number], self._trips[number]
            latches = frozenset(b for b in loop.blocks if loop.header in self._successors[b])
            once = self._walk(number, loop.header, loop.blocks, mode, latches)
            made = {block: trip * count for block, count in once.items()}
            leaving = frozenset(b for b in loop.blocks if any(n not in loop.blocks for n in self._successors[b]))
            if leaving and not leaving & latches:
                # Tested at the head: the way to the exit is gone once more.
                for block, count in self._walk(number, loop.header, loop.blocks, mode, leaving).items():
                    made[block] = made.get(block, 0.0) + count
            self._solved[key] = made
        return self._solved[key]

    def _walk(
        self, region: int, entry: int, nodes: frozenset[int], mode: Mode, goals: frozenset[int] | None
    ) -> dict[int, float]:
        """Runs of blocks on one way through a region, from its entry to a goal (None: to where nothing follows)."""
        item = {block: block for block in nodes}
        inner: dict[int, int] = {}
        for child in self._children.get(region, ()):
            name = -1 - child
            inner[name] = child
            for block in self._loops[child].blocks:
                item[block] = name
        edges: dict[int, list[int]] = {}
        chance: dict[tuple[int, int], float] = {}
        for block in sorted(nodes):
            for follower in self._successors[block]:
                if follower in nodes and not (region >= 0 and follower == entry):
                    a, b = item[block], item[follower]
                    if a != b:
                        chance[a, b] = max(chance.get((a, b), 0.0), self._likely.get((block, follower), 1.0))
                        if b not in edges.setdefault(a, []):
                            edges[a].append(b)
        order = _topological(item[entry], edges)
        cost_of = {name: self._loop(inner[name], mode) if name in inner else {name: 1.0} for name in order}
        if goals is None:
            ends = {name for name in order if not edges.get(name)}
        else:
            ends = {item[b] for b in goals} & set(order)
        if not ends:
            ends = {order[-1]}
        if mode == "average":
            return self._mean(order, edges, cost_of, ends, chance)
        best: dict[int, tuple[float, int | None]] = {order[0]: (self._cost(cost_of[order[0]]), None)}
        for name in order:
            if name not in best or (goals is not None and name in ends and mode == "minimum"):
                continue
            here = best[name][0]
            for follower in edges.get(name, ()):
                total = here + self._cost(cost_of[follower])
                old = best.get(follower)
                if old is None or (total < old[0] if mode == "minimum" else total > old[0]):
                    best[follower] = (total, name)
        pick = min if mode == "minimum" else max
        at: int | None = pick((name for name in ends if name in best), key=lambda name: best[name][0])
        made: dict[int, float] = {}
        while at is not None:
            for block, count in cost_of[at].items():
                made[block] = made.get(block, 0.0) + count
            at = best[at][1]
        return made

    @staticmethod
    def _mean(
        order: list[int],
        edges: Mapping[int, list[int]],
        cost_of: Mapping[int, Mapping[int, float]],
        ends: set[int],
        chance: Mapping[tuple[int, int], float],
    ) -> dict[int, float]:
        share = dict.fromkeys(order, 0.0)
        share[order[0]] = 1.0
        leads = set(ends)
        for name in reversed(order):
            if any(follower in leads for follower in edges.get(name, ())):
                leads.add(name)
        made: dict[int, float] = {}
        for name in order:
            onward = [follower for follower in edges.get(name, ()) if follower in leads]
            whole = sum(chance[name, follower] for follower in onward)
            for follower in onward:
                share[follower] += share[name] * (chance[name, follower] / whole if whole else 1 / len(onward))
            for block, count in cost_of[name].items():
                made[block] = made.get(block, 0.0) + share[name] * count
        return made


def _topological(entry: int, edges: Mapping[int, Sequence[int]]) -> list[int]:
    """The nodes reachable from the entry, each before those that follow it (the graph has no loops)."""
    order: list[int] = []
    seen = {entry}
    stack = [(entry, iter(edges.get(entry, ())))]
    while stack:
        node, rest = stack[-1]
        for follower in rest:
            if follower not in seen:
                seen.add(follower)
                stack.append((follower, iter(edges.get(follower, ()))))
                break
        else:
            order.append(node)
            stack.pop()
    order.reverse()
    return order


def likelihoods(
    successors: Sequence[Sequence[int]],
    loops: Sequence[Cycle],
    writes: Sequence[bool],
    accesses: Sequence[bool] | None = None,
) -> dict[tuple[int, int], float]:
    """Edges that the mean path leaves aside: past a loop that it could run, and out of the kernel before anything was
    written where the other way writes. ``writes`` and ``accesses``: which blocks write, and which access memory at
    all: a way past a loop that does so is no way past it but another way."""
    headers = {loop.header for loop in loops}
    busy = accesses if accesses is not None else writes
    reached: dict[int, frozenset[int]] = {}

    def reach(block: int) -> frozenset[int]:
        if block not in reached:
            seen, waiting = {block}, [block]
            while waiting:
                for follower in successors[waiting.pop()]:
                    if follower not in seen:
                        seen.add(follower)
                        waiting.append(follower)
            reached[block] = frozenset(seen)
        return reached[block]

    def leads_into_loop(block: int, origin: int) -> bool:
        for _ in range(4):
            if block in headers:
                return not any(loop.header == block and origin in loop.blocks for loop in loops)
            if len(successors[block]) != 1:
                return False
            block = successors[block][0]
        return False

    def only_joins(block: int, other: int) -> bool:
        """Whether a way does nothing before it comes to where the other one comes, too."""
        for _ in range(4):
            if block in reach(other):
                return True
            if busy[block] or len(successors[block]) != 1:
                return False
            block = successors[block][0]
        return False

    found: dict[tuple[int, int], float] = {}
    for block, after in enumerate(successors):
        if len(after) != 2 or after[0] == after[1]:
            continue
        writing = [any(writes[b] for b in reach(follower)) for follower in after]
        for index in (0, 1):
            here, other = after[index], after[1 - index]
            into = leads_into_loop(other, block) and not leads_into_loop(here, block)
            if (into and only_joins(here, other)) or (writing[1 - index] and not writing[index]):
                found[block, here] = 0.0
    return found
