"""Input: the operations of a block. Output: clauses of groups, of fetches and of writes, in an order that keeps every
dependence.

Fetches are issued as soon and as many together as their addresses allow, since a wavefront waits for a whole clause of
them; groups are filled by a list, longest way to the block's end first, registers permitting.
"""

from __future__ import annotations

import heapq
from collections.abc import Container

from headwater.errors import LimitError, Span
from headwater.isa.vliw import table
from headwater.isa.vliw.compiler.group import Packer
from headwater.isa.vliw.compiler.ir import (
    ALU,
    FETCH,
    GLOBAL,
    INDEXED_READS,
    INDEXED_WRITES,
    LOCAL,
    MEMORY,
    PREDICATE,
    QUEUED,
    WIDE,
    Clause,
    Const,
    Exit,
    If,
    Kcache,
    Loop,
    Op,
    Ref,
    Region,
    Special,
    Use,
    Value,
)
from headwater.isa.vliw.compiler.liveness import Liveness, holds
from headwater.isa.vliw.compiler.ready import Node, Ready, pops
from headwater.isa.vliw.compiler.target import Target
from headwater.isa.vliw.model import ALU_KINDS, LDS_OQ_A_POP, LDS_OQ_B_POP

_FETCH_HEIGHT = 24
"""What a fetch adds to the way to the block's end, in groups: a change of clause and the cache's latency."""
FULL_SHARE = 0.6
"""Of a work-item's components: what may be live before fetches wait for what is there to be used."""
_FILLED_SHARE = 0.8
"""Of a work-item's components: what may be live before slots of a group stay empty rather than take further ones."""
_WIDEST_GROUP = 7
"""64-bit words of a group: five operations, four literals."""
_BY_VERTEX_CACHE = table.names(("VTX", "MEM_RD", "MEM_DSR", "MEM_DSW"))
"""What the vertex cache fetches, on chips that have one."""
_MOST_USERS = 16
"""Accesses by one load of the address register: all of them have to be in its clause."""
_MOST_BETWEEN = 8
"""Operations that lead from one result of an LDS read to what takes the other from its queue: all have to be in the
read's clause."""
_MOST_OPERANDS = 8
"""What an operation reads of one value at most: DOT4's, and those of operations on doubles in four slots."""
_MOST_TRIED = 200
"""Operations that are tried for one group: where thousands are ready, all in slot t say, it is as full as it gets."""
_FREE_SCALARS = 24
"""Values that may be live before the order of groups is chosen by registers rather than by length."""

_CONSTANTS = 4
"""Constants among what crowds a group, behind the four components."""


def schedule(region: Region, target: Target, share: float = FULL_SHARE) -> Region:
    """The program with its operations in clauses: items are `Clause`, `If`, `Loop` and `Exit`. ``share``: see
    `FULL_SHARE`."""
    liveness = Liveness(region)
    packer = Packer(target)
    return _Scheduler(target, liveness, packer, share).region(region)


class _Scheduler:
    def __init__(self, target: Target, liveness: Liveness, packer: Packer, share: float) -> None:
        self.target = target
        self.full = int(4 * target.gprs * share)
        self.most = int(4 * target.gprs * _FILLED_SHARE)
        self.liveness = liveness
        self.packer = packer
        self.living = _Living(liveness)

    def region(self, region: Region) -> Region:
        result: Region = []
        block: list[Op] = []
        for item in region:
            if isinstance(item, Op):
                block.append(item)
                continue
            test = item.test if isinstance(item, (If, Exit)) else None
            if block or test is not None:
                result += self.block(block, test, self.liveness.place(item) - 1, item)
                block = []
            if isinstance(item, If):
                item.then, item.other = self.region(item.then), self.region(item.other)
            elif isinstance(item, Loop):
                item.body = self.region(item.body)
            result.append(item)
        if block:
            result += self.block(block, None, self.liveness.place(block[-1]), None)
        return result

    def block(self, ops: list[Op], test: Op | None, gap: int, item: object) -> list[Clause]:
        """A block's clauses; ``gap`` is the one behind its last operation."""
        live = self.liveness.live
        after = self.liveness.place(item) if item is not None else gap
        first = (self.liveness.place(ops[0]) - 1) if ops else gap
        self.remaining: dict[Value, int] = {}
        # The gap behind an exit lacks what is live only where it leads: the one before it has that, too, with what the
        # test reads. Behind an if's test are both its sides.
        behind = after if test is not None and isinstance(item, If) else gap
        for op in (*ops, *([test] if test is not None else [])):
            for ref, _, _ in op.uses:
                if type(ref) is Value:
                    self.remaining[ref] = self.remaining.get(ref, 0) + 1
        load = self.packer.load
        load[:] = [0, 0, 0, 0]
        self.inside = self.living.at(first)
        self.live = len(self.inside)
        for value in self.inside:
            if value.chan >= 0:
                load[value.chan] += 1
        for value in self.remaining:
            if holds(live.get(value, []), behind):
                self.remaining[value] += 1
        self.kept = {v for op in ops for v in op.results if v is not None and holds(live.get(v, []), behind)}
        nodes = _graph(_expanded(ops, self.remaining), test)
        return _Block(self, nodes).run()


class _Living:
    """What is live at one gap after another."""

    def __init__(self, liveness: Liveness) -> None:
        spans = ((value, gaps, k) for value, gaps in liveness.live.items() for k in range(0, len(gaps), 2))
        # In the order of their beginnings; numbers keep values from being compared.
        self.coming = sorted((-gaps[k], -number, gaps[k + 1], v) for number, (v, gaps, k) in enumerate(spans))
        self.ends: list[tuple[int, int, Value]] = []
        self.values: set[Value] = set()

    def at(self, gap: int) -> set[Value]:
        """What is live at a gap, not before the one that was asked for last."""
        while self.ends and self.ends[0][0] <= gap:
            self.values.discard(heapq.heappop(self.ends)[2])
        while self.coming and -self.coming[-1][0] <= gap:
            _, number, end, value = self.coming.pop()
            if end > gap:
                heapq.heappush(self.ends, (end, number, value))
                self.values.add(value)
        return set(self.values)


class _Block:
    """The scheduling of one block."""

    def __init__(self, scheduler: _Scheduler, nodes: list[Node]) -> None:
        self.target = scheduler.target
        self.packer = scheduler.packer
        self.scheduler = scheduler
        self.left = len(nodes)
        self.full = scheduler.full
        self.clauses: list[Clause] = []
        self.alu = Ready(self.gain)
        self.fetches: dict[str, list[tuple[int, int, Node]]] = {}  # by the kind of their clause, heaps
        self.writes: list[Node] = []
        self.stores = 0  # how many of the writes read nothing back
        self.freeing = 0  # how many are for the registers' sake
        self.due: dict[Node, int] = {}  # what the open clause still has to see, and its words at most
        self.later: list[Node] = []
        for node in [node for node in nodes if node.waits == 0]:
            self.ready(node)

    def ready(self, node: Node) -> None:
        kind = node.op.kind
        if kind == FETCH:
            waiting = self.fetches.setdefault(self.fetch_kind(node.op), [])
            heapq.heappush(waiting, (-node.height, node.order, node))
        elif kind == MEMORY:
            self.writes.append(node)
            self.stores += not node.op.results
            self.freeing += _frees(node.op)
        elif node.op.name == "FENCE":
            self.left -= 1
            node.placed = True
            for follower in (*node.strict, *node.weak):
                follower.waits -= 1
                if follower.waits == 0:
                    self.ready(follower)
        else:
            self.alu.add(node)

    def done(self, node: Node) -> None:
        """A node has its place: what may stand in the same group is free, the rest is when the group ends."""
        self.left -= 1
        node.placed = True
        self.later += node.strict
        for follower in node.weak:
            follower.waits -= 1
            if follower.waits == 0:
                self.ready(follower)
        self.count(node.op)

    def close_group(self) -> None:
        later, self.later = self.later, []
        for follower in later:
            follower.waits -= 1
            if follower.waits == 0:
                self.ready(follower)

    def count(self, op: Op) -> None:
        """Keep the number of live values."""
        scheduler = self.scheduler
        inside, remaining, load = scheduler.inside, scheduler.remaining, self.packer.load
        changed = self.alu.changed
        for value in op.results:
            if value is not None and value not in inside:
                inside.add(value)
                changed(value)
                scheduler.live += 1
                if value.chan >= 0:
                    load[value.chan] += 1
        for ref, _, _ in op.uses:
            if type(ref) is Value and ref in remaining:
                remaining[ref] -= 1
                if remaining[ref] <= _MOST_OPERANDS:
                    changed(ref)
                if remaining[ref] == 0 and ref in inside and ref not in scheduler.kept:
                    inside.discard(ref)
                    scheduler.live -= 1
                    if ref.chan >= 0:
                        load[ref.chan] -= 1

    def run(self) -> list[Clause]:
        while self.left:
            self.close_group()
            before = self.left
            if (self.stores and self.is_full()) or self.freeing:
                self.write_run()  # what is written frees its registers
            elif self.fetches and self.fetches_first():
                self.fetch_clause()
            elif self.alu.nodes:
                self.alu_clause()
            elif self.fetches:
                self.fetch_clause()
            elif self.writes:
                self.write_run()
            assert self.left < before or not self.left or self.alu.nodes or self.fetches or self.writes or self.later, (
                "operations wait for one another"
            )
        return self.clauses

    def is_full(self) -> bool:
        """Whether registers are so short that what is there is to be used up before more is fetched."""
        return self.scheduler.live > self.full

    def fetches_first(self) -> bool:
        """Whether to fetch before further groups; there is something to fetch."""
        if self.alu.nodes and self.is_full():
            gain = self.alu.most_gain()
            return gain < 0 and any(self.gain(waiting[0][2].op) >= gain for waiting in self.fetches.values())
        return not self.alu.feeding

    def room(self) -> int:
        """How many reads of four components may be under way."""
        return max((self.full - self.scheduler.live) // 4, 1)

    # -- fetches and writes --------------------------------------------------------------------------------------------

    def fetch_kind(self, op: Op) -> str:
        """Which clause a fetch belongs to: chips without a vertex cache fetch vertices by the texture units."""
        if op.name in GLOBAL:
            return "gds"
        vertex = op.name in _BY_VERTEX_CACHE
        return "vtx" if vertex and self.target.has_flow("VTX") else "tex"

    def fetch_clause(self) -> None:
        kind = min(self.fetches, key=lambda kind: self.fetches[kind][0][:2])
        clause = Clause(kind)
        waiting = self.fetches[kind]
        chosen: list[Node] = []
        room = self.room()
        while waiting and len(chosen) < self.target.fetches:
            if len(chosen) >= room and self.gain(waiting[0][2].op) < 0:
                break  # what is fetched takes more registers than the addresses that it was fetched by
            chosen.append(heapq.heappop(waiting)[2])
        if not waiting:
            del self.fetches[kind]
        chosen.sort(key=lambda node: node.order)
        clause.ops += [node.op for node in chosen]
        for node in chosen:
            for value in node.op.results:
                self.settle(value)
            self.done(node)
        self.clauses.append(clause)

    def settle(self, value: Value | None) -> None:
        """Give a fetch's result a component."""
        if value is None or value.chan >= 0:
            return
        taken = {m.chan for m in value.vector.members} if value.vector is not None else set()
        load = self.packer.load
        value.chan = min((c for c in range(4) if c not in taken), key=lambda c: load[c])

    def write_run(self) -> None:
        self.writes.sort(key=lambda node: node.order)
        clause = Clause("write")
        stores = [node for node in self.writes if not node.op.results]
        done = stores or self.writes[: self.room()]  # R600 reads scratch memory by such instructions, too
        chosen = set(done)
        self.writes = [node for node in self.writes if node not in chosen]
        self.stores -= len(stores)
        self.freeing -= sum(_frees(node.op) for node in done)
        clause.ops += [node.op for node in done]
        for node in done:
            for value in node.op.results:
                self.settle(value)
            self.done(node)
        self.clauses.append(clause)

    # -- groups --------------------------------------------------------------------------------------------------------

    def alu_clause(self) -> None:
        packer = self.packer
        packer.begin_clause()
        clause = Clause("alu")
        room = self.target.alu_slots
        while self.alu.nodes:
            if clause.groups and not self.due:
                if room < _WIDEST_GROUP:
                    break
                if self.fetches and self.fetches_first():
                    break
            if not self.fill(room):
                if clause.groups and not self.due:
                    break
                self.relieve()
                continue
            group = packer.finish_group()
            room -= group.words
            clause.groups.append(group)
            if any(slot.op.kind == PREDICATE for slot in group.filled):
                clause.predicate = True
            self.close_group()
        clause.windows = list(packer.windows)
        self.clauses.append(clause)

    def fill(self, room: int) -> bool:
        """Fill a group from what is ready; whether anything fitted. ``room``: the clause's words that are left."""
        packer, ready = self.packer, self.alu
        feeding = ready.feeding > 0
        full = self.scheduler.live > self.scheduler.most
        ready.begin(self.scheduler.live > _FREE_SCALARS, bool(self.fetches) and self.is_full())
        placed_any = False
        due = bool(self.due)
        ready.sort()
        while len(ready.tried) < _MOST_TRIED and (node := ready.pop()) is not None:
            if placed_any and (full or (feeding and not node.feeds)) and self.gain(node.op) < 0:
                continue
            if node.op.name in ("MOVA_INT", "GROUP_BARRIER") and (self.due or due):
                continue  # a barrier would end what keeps the queues
            if self.put(node, room):
                before = len(ready.nodes)
                self.done(node)
                placed_any = True
                if all(slot is not None for slot in packer.group.slots[: packer.slots]):
                    break
                if len(ready.nodes) != before:
                    ready.sort()  # an operation that may share the group has become ready
        ready.end()
        return placed_any

    def put(self, node: Node, room: int) -> bool:
        """Place an operation, if what the clause then still has to see fits into its words and constants, too."""
        packer = self.packer
        if not packer.has_slot(node.op):
            return False
        words = packer.group.words + packer.words(node.op)
        due = self.due
        opened = node.opens
        windows = packer.windows
        if opened:
            due = {**due, **{n: packer.words(n.op) for n in _waited_for(opened, node) if n not in due}}
            locked = packer.locked(use.ref for n in due for use in n.op.uses)
            if locked is None:
                return False
            packer.windows = locked
        if words + sum(due.values()) - due.get(node, 0) > room or not packer.place(node.op):
            packer.windows = windows
            return False
        self.due = due
        due.pop(node, None)
        self.alu.remove(node)
        return True

    def gain(self, op: Op) -> int:
        """Registers that an operation frees, less those that it takes."""
        remaining, inside = self.scheduler.remaining, self.scheduler.inside
        found = 0
        reads: dict[Value, int] = {}
        for ref, _, _ in op.uses:
            if type(ref) is Value:
                reads[ref] = reads.get(ref, 0) + 1
        for value, count in reads.items():
            if remaining.get(value, 0) == count:
                found += 1
        for result in op.results:
            if result is not None and result not in inside:
                found -= 1
        return found

    def relieve(self) -> None:
        """No operation fits an empty group: its operands crowd one component, or the constants' ports or windows. Copy
        one of them elsewhere."""
        node = next((node for node in self.alu.nodes if node in self.due), next(iter(self.alu.nodes)))
        op = node.op
        words = self.packer.words(op) + sum(self.packer.words(n.op) for n in _waited_for(node.opens, node))
        if words > self.target.alu_slots:
            raise LimitError(
                f"{op.name} and what has to be in its clause take {words} words, a clause of "
                f"{self.target.chip.name} has {self.target.alu_slots}",
                Span("", op.line),
            )
        crowds: dict[int, list[Ref]] = {}  # by component; constants under a number of their own
        for ref in dict.fromkeys(use.ref for use in op.uses):
            if type(ref) in (Value, Kcache):
                crowds.setdefault(ref.chan if type(ref) is Value else _CONSTANTS, []).append(ref)
        crowd = max(crowds.values(), key=len, default=[])
        assert len(crowd) > 1, f"{op!r} fits no group"
        old = crowd[-1]
        new = Value()
        new.chan = min(range(4), key=lambda c: len(crowds.get(c, ())))
        move = Op("MOV", [Use(old)], [new], line=op.line)
        self.alu.remove(node)
        op.uses = [Use(new, use.neg, use.abs) if use.ref == old else use for use in op.uses]
        mover = Node(move, node.order)
        mover.height = node.height + 1
        mover.strict.append(node)
        node.earlier.append(mover)
        node.waits += 1
        if node in self.due:
            self.due[mover] = self.packer.words(move)
            self.due[node] -= self.due[mover]
        self.scheduler.remaining[new] = sum(1 for use in op.uses if use.ref is new)
        self.left += 1
        self.alu.add(mover)


# -- dependences -------------------------------------------------------------------------------------------------------


def _expanded(ops: list[Op], remaining: dict[Value, int]) -> list[Op]:
    """LDS reads with the queue's pop behind them; relative accesses with the address register's load before them."""
    found: list[Op] = []
    address: Op | None = None
    users = 0
    read: set[tuple[int, int]] = set()  # the constants' element that the accesses by one load of it share
    for at, op in enumerate(ops):
        if op.name in INDEXED_READS | INDEXED_WRITES:
            index = op.uses[-1]
            fields = dict(op.fields or {})
            order = f"{op.order} {fields['chan']}"
            access = Op(
                "MOV", op.uses[:-1], list(op.results), fields=fields, order=order, effect=op.effect, line=op.line
            )
            what = "read" if op.name in INDEXED_READS else "write"
            if type(index.ref) is Const:
                fields["base"] += index.ref.bits
                access.relative = f"direct {what}"
            else:
                constants = {(u.ref.buffer, u.ref.element) for u in access.uses if type(u.ref) is Kcache}
                if address is None or address.uses[0].ref is not index.ref or users == _MOST_USERS or constants - read:
                    address = Op("MOVA_INT", [index], [None], line=op.line)
                    found.append(address)
                    users, read = 0, constants
                users += 1
                access.relative = what
            found.append(access)
            continue
        address = None
        if op.name in QUEUED:
            found.append(Op(op.name, op.uses, [], fields=op.fields, order=op.order, effect=True, line=op.line))
            queues = (LDS_OQ_A_POP, LDS_OQ_B_POP)
            for k, (queue, result) in enumerate(zip(queues, op.results, strict=False)):
                pop = Use(Special(queue))
                reader = _reader(ops, at, result, op.results[:k], remaining)
                if reader is not None and (k == 0 or (len(found) and found[-1].name == op.name)):
                    reader.uses = [Use(pop.ref, u.neg, u.abs) if u.ref is result else u for u in reader.uses]
                else:
                    found.append(Op("MOV", [pop], [result], order="queue", effect=True, line=op.line))
            continue
        found.append(op)
    return found


_NEVER_POPS = LOCAL | table.names(ALU_KINDS, "kill", "mova", "barrier") | {"ARRAY_READ", "ARRAY_WRITE"}


def _reader(
    ops: list[Op], at: int, value: Value | None, others: list[Value | None], remaining: dict[Value, int]
) -> Op | None:
    """The operation that alone reads what an LDS read gives, if it can take it from the queue itself: before anything
    else uses the queue, ends the clause or waits for constants, and not long after the read's ``others``."""
    if value is None or remaining.get(value, 0) != 1:
        return None
    led = set(others)
    between = 0
    for k in range(at + 1, len(ops)):
        op = ops[k]
        if op.kind in (FETCH, MEMORY) or op.name == "FENCE" or op.name in _NEVER_POPS:
            return None
        constants = any(type(u.ref) is Kcache for u in op.uses)
        if any(use.ref is value for use in op.uses):
            return op if op.kind == ALU and op.name not in _IN_T and not constants else None
        if any(use.ref in led or type(use.ref) is Special for use in op.uses):
            led.update(op.results)
            between += 1
            if constants or between > _MOST_BETWEEN:
                return None
    return None


_IN_T = frozenset(
    "EXP_IEEE LOG_IEEE RECIP_IEEE RECIPSQRT_IEEE SQRT_IEEE SIN COS MULLO_INT MULHI_INT MULLO_UINT MULHI_UINT "
    "RECIP_UINT FLT_TO_UINT INT_TO_FLT UINT_TO_FLT FLT_TO_INT RECIP_64 RECIPSQRT_64 SQRT_64".split()
)


def _after(node: Node, earlier: Node, *, strict: bool) -> None:
    if earlier is not node:
        node.earlier.append(earlier)
        (earlier.strict if strict else earlier.weak).append(node)
        node.waits += 1


def _waited_for(due: list[Node], opener: Node) -> list[Node]:
    """Operations and all that has to be placed before them, but for ``opener``."""
    found: dict[Node, None] = dict.fromkeys(due)
    work = list(due)
    while work:
        for earlier in work.pop().earlier:
            if not earlier.placed and earlier is not opener and earlier not in found:
                found[earlier] = None
                work.append(earlier)
    return list(found)


def _graph(ops: list[Op], test: Op | None) -> list[Node]:
    """The operations with what each has to wait for, and heights."""
    nodes: list[Node] = []
    writer: dict[Value, Node] = {}
    readers: dict[Value, list[Node]] = {}
    last_effect: dict[str, Node] = {}
    since: dict[str, list[Node]] = {}
    address: Node | None = None
    address_users: dict[Node, None] = {}
    takers: set[Node] = set()
    issue: Node | None = None
    seen_of_issues: set[Node] = set()
    seen_of_addresses: set[Node] = set()
    last_pop: dict[int, Node] = {}

    for order, op in enumerate(ops):
        node = Node(op, order)
        nodes.append(node)
        for ref, _, _ in op.uses:
            if type(ref) is Value:
                if ref in writer:
                    _after(node, writer[ref], strict=True)
                readers.setdefault(ref, []).append(node)
        for value in op.results:
            if value is None:
                continue
            if value in writer:
                _after(node, writer[value], strict=True)
            for reader in readers.pop(value, ()):
                # A fetch or write reads its registers in a clause of its own, which has to come first.
                _after(node, reader, strict=reader.op.kind in (FETCH, MEMORY) or op.kind in (FETCH, MEMORY))
            writer[value] = node
        for ref, _, _ in op.uses:
            if type(ref) is Special:  # the queue gives what was read first
                if ref.sel in last_pop:
                    _after(node, last_pop[ref.sel], strict=True)
                last_pop[ref.sel] = node
        if op.order and op.order != "queue":
            _order(node, last_effect, since)
        if op.name == "MOVA_INT":
            for user in address_users:
                _after(node, user, strict=False)
            address, address_users = node, {}
        elif op.relative in ("read", "write"):
            assert address is not None
            _owed(node, address, address_users, seen_of_addresses)
            address_users[node] = None
        elif pops(op):
            assert issue is not None
            _owed(node, issue, takers, seen_of_issues)
            takers.add(node)
        if op.name in QUEUED:
            issue = node
    if test is not None:
        node = Node(test, len(ops))
        nodes.append(node)
        for ref, _, _ in test.uses:
            if type(ref) is Value and ref in writer:
                _after(node, writer[ref], strict=True)
        for other in nodes[:-1]:
            if not other.strict and not other.weak:
                _after(node, other, strict=other.op.kind in (FETCH, MEMORY))
    for node in reversed(nodes):
        height = 0
        feeds = False
        for follower in node.strict:
            height = max(height, follower.height + 1)
            feeds = feeds or follower.op.kind == FETCH or (follower.op.kind in (ALU, WIDE) and follower.feeds)
        for follower in node.weak:
            height = max(height, follower.height)
        node.height = height + (_FETCH_HEIGHT if node.op.kind == FETCH else 0)
        node.feeds = feeds and node.op.kind in (ALU, WIDE)
    return nodes


def _owed(node: Node, first: Node, others: Container[Node], seen: set[Node]) -> None:
    """Put an operation behind the one that it must share a clause with, and that one behind what would hold it back:
    whatever came before, and of what has come since the clauses that it waits for. ``seen``: what was looked at for
    ``first`` and those like it, each of which waits for the one before."""
    for earlier in list(node.earlier):
        if earlier is first or earlier in others:
            continue
        if earlier.order < first.order:
            _after(first, earlier, strict=True)
        else:
            for other in _clauses_before(earlier, seen):
                _after(first, other, strict=True)
    _after(node, first, strict=True)


def _clauses_before(node: Node, seen: set[Node]) -> list[Node]:
    """The fetches and writes that an operation waits for, directly or not, but for what was ``seen``."""
    found: list[Node] = []
    work = [node]
    while work:
        for earlier in work.pop().earlier:
            if earlier not in seen:
                seen.add(earlier)
                work.append(earlier)
                if earlier.op.kind in (FETCH, MEMORY):
                    found.append(earlier)
    return found


def _frees(op: Op) -> bool:
    """Whether it is a write for the registers' sake."""
    return op.name == "MEM_SCRATCH" and not op.results


def _order(node: Node, last: dict[str, Node], since: dict[str, list[Node]]) -> None:
    """Keep the order of accesses to one memory: reads may change places with reads only."""
    kind = node.op.order
    kinds = list(set(last) | set(since)) if kind == "all" else [kind, "all"]
    if node.op.effect:
        for one in kinds:
            for earlier in since.get(one, ()):
                _after(node, earlier, strict=True)
            if one in last:
                _after(node, last[one], strict=True)
        if kind == "all":
            since.clear()
            last.clear()
        since[kind] = []
        last[kind] = node
    else:
        for one in kinds:
            if one in last:
                _after(node, last[one], strict=True)
        since.setdefault(kind, []).append(node)
