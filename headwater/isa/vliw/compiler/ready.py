"""Input: operations of a block that are ready. Output: the most urgent of them: a list scheduler's ready list."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from headwater.isa.vliw.compiler.ir import QUEUED, Op, Special, Value


class Node:
    """An operation that is to be scheduled, and what has to wait for it; ``order``: its number in the block."""

    __slots__ = (
        "earlier", "feeds", "gain", "height", "op", "order", "placed", "strict", "urgent", "version", "waits", "weak",
    )  # fmt: skip

    def __init__(self, op: Op, order: int) -> None:
        self.op = op
        self.order = order
        self.strict: list[Node] = []  # what has to come in a later group
        self.weak: list[Node] = []  # what may come in the same group
        self.earlier: list[Node] = []  # what it has to wait for
        self.waits = 0
        self.height = 0
        self.feeds = False
        self.placed = False
        # While it is ready: see `Ready`.
        self.gain = 0
        self.urgent = False
        self.version = 0

    @property
    def opens(self) -> list[Node]:
        """What has to come in the same clause: the accesses by an address register's load, the takers of an LDS read's
        results."""
        name = self.op.name
        if name == "MOVA_INT" or name in QUEUED:
            return [n for n in self.strict if n.op.relative in ("read", "write") or pops(n.op)]
        return []


class Ready:
    """The operations of ALU clauses that may be placed, the most urgent first.

    The most urgent comes first: what takes from a queue, then what fetches wait for, then, as long as few values are
    live, what has the longest way to the block's end, else what frees most registers. Where registers are short, what
    fetches wait for comes behind what frees registers. A heap is in each of these orders, the last one from the first
    time that it is asked for; an entry is good if it has its node's version.
    """

    def __init__(self, gain: Callable[[Op], int]) -> None:
        self.nodes: dict[Node, None] = {}  # in the order in which they became ready
        self.feeding = 0  # how many of them fetches wait for
        self._gain = gain
        self._touching: dict[Value, dict[Node, None]] = {}
        self._stale: dict[Node, None] = {}
        self._late: list[Node] = []
        self._by_height: list[_Entry] = []
        self._by_gain: list[_Entry] = []
        self._by_gain_alone: list[_Entry] | None = None
        self._heap = self._by_height
        self._feeds = True
        self._aside: list[_Entry] = []
        self.tried: set[Node] = set()  # in the group that is being filled
        self._pushed = count(1)  # no two entries are equal, although copies of operands have their reader's order

    def add(self, node: Node) -> None:
        """An operation has become ready."""
        self.nodes[node] = None
        self.feeding += node.feeds
        node.urgent = bool(node.op.relative or pops(node.op))
        node.gain = self._gain(node.op)
        for value in _touched(node.op):
            self._touching.setdefault(value, {})[node] = None
        if node.feeds and not self._feeds:
            self._late.append(node)
        self._push(node)

    def remove(self, node: Node) -> None:
        """An operation is placed, or has to wait again."""
        del self.nodes[node]
        self.feeding -= node.feeds
        node.version = 0
        self._stale.pop(node, None)
        for value in _touched(node.op):
            touching = self._touching.get(value)
            if touching is not None:
                touching.pop(node, None)
                if not touching:
                    del self._touching[value]

    def changed(self, value: Value) -> None:
        """How often a value is still read has changed, or whether it has a register."""
        self._stale.update(self._touching.get(value, {}))

    def begin(self, crowded: bool, full: bool) -> None:
        """A group is begun."""
        self._heap = self._alone() if full else self._by_gain if crowded else self._by_height
        self._feeds = self.feeding > 0
        late, self._late = self._late, []
        for node in late:
            if node in self.nodes:
                self._push(node)

    def most_gain(self) -> int:
        """How many registers the operation frees that frees most; one must be there."""
        self.sort()
        heap = self._alone()
        while heap[0][-2] != heap[0][-1].version or heap[0][-1] not in self.nodes:
            heapq.heappop(heap)
        return -heap[0][1]

    def _alone(self) -> list[_Entry]:
        """The operations in the order for when registers are short."""
        if self._by_gain_alone is None:
            self._by_gain_alone = [self._short_of_registers(node) for node in self.nodes]
            heapq.heapify(self._by_gain_alone)
        return self._by_gain_alone

    def _short_of_registers(self, node: Node) -> _Entry:
        if node.urgent:
            return (-2, 0, 0, node.order, node.version, node)
        return (-1, -node.gain, -node.height, node.order, node.version, node)

    def sort(self) -> None:
        """Bring the order up to date."""
        stale, self._stale = self._stale, {}
        for node in stale:
            if node in self.tried:
                self._stale[node] = None
                continue
            gain = self._gain(node.op)
            if gain != node.gain:
                node.gain = gain
                self._push(node)

    def pop(self) -> Node | None:
        """The most urgent operation that was not tried in this group."""
        heap = self._heap
        while heap:
            entry = heapq.heappop(heap)
            node = entry[-1]
            if entry[-2] == node.version and node in self.nodes:
                self._aside.append(entry)
                self.tried.add(node)
                return node
        return None

    def end(self) -> None:
        """The group is as full as it gets."""
        for entry in self._aside:
            node = entry[-1]
            if entry[-2] == node.version and node in self.nodes:
                heapq.heappush(self._heap, entry)
        self._aside.clear()
        self.tried.clear()

    def _push(self, node: Node) -> None:
        node.version = next(self._pushed)
        if self._by_gain_alone is not None:
            heapq.heappush(self._by_gain_alone, self._short_of_registers(node))
        if node.urgent:
            entry = (-2, 0, 0, node.order, node.version, node)
            heapq.heappush(self._by_height, entry)
            heapq.heappush(self._by_gain, entry)
            return
        feeds = -1 if node.feeds and self._feeds else 0
        how = node.order, node.version, node
        heapq.heappush(self._by_height, (feeds, -node.height, -node.gain, *how))
        heapq.heappush(self._by_gain, (feeds, -node.gain, -node.height, *how))


_Entry: TypeAlias = "tuple[int, int, int, int, int, Node]"


def _touched(op: Op) -> list[Value]:
    """The values that an operation reads or writes."""
    return [use.ref for use in op.uses if type(use.ref) is Value] + [v for v in op.results if v is not None]


def pops(op: Op) -> int:
    """How many results of LDS reads an operation takes from their queues."""
    return sum(type(use.ref) is Special for use in op.uses)
