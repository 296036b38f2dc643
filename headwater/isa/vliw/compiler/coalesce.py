"""Input: a program in static single assignment form. Output: the same with variables in place of phis.

Every way into a phi gets a copy; a phi's value and its copies become one variable wherever they are not live at once,
and so do a copy's two sides. Then the values that fetches and exports name together are given a common register, by
copies where they cannot have it as they are.
"""

from __future__ import annotations

from headwater.isa.vliw.compiler.ir import (
    FETCH,
    MEMORY,
    PAIRED,
    QUADS,
    WIDE,
    Const,
    Exit,
    If,
    Loop,
    Op,
    Phi,
    Region,
    Use,
    Value,
    Vector,
    ends,
    regions,
)
from headwater.isa.vliw.compiler.liveness import Gaps, Liveness, add, overlap

_ADDRESSED = frozenset(("FETCH", "READ_SCRATCH"))
"""Fetches whose first operand is an address, which has to be in a register."""
_ONE_BITS = 0x3F800000


class _Webs:
    """Values that have become one variable, by union and find, with what the variable's live set is."""

    def __init__(self, live: dict[Value, Gaps]) -> None:
        self.live = live
        self.parent: dict[Value, Value] = {}

    def find(self, value: Value) -> Value:
        parent = self.parent
        while (up := parent.get(value)) is not None:
            above = parent.get(up)
            if above is not None:
                parent[value] = above
            value = up
        return value

    def join(self, one: Value, two: Value) -> bool:
        """Make two variables one, if they are never live at once and nothing else forbids it."""
        a, b = self.find(one), self.find(two)
        if a is b:
            return True
        live_a, live_b = self.live.get(a, []), self.live.get(b, [])
        if overlap(live_a, live_b) or (a.chan >= 0 and b.chan >= 0 and a.chan != b.chan) or (a.fixed and b.fixed):
            return False
        if b.fixed:
            a, b = b, a
        if a.chan < 0:
            a.chan = b.chan
        self.parent[b] = a
        few, many = sorted((live_a, live_b), key=len)
        add(many, few)
        self.live[a] = many
        return True


def leave_ssa(region: Region) -> None:
    """Put variables in place of phis."""
    copies = _add_copies(region)
    webs = _Webs(Liveness(region).live)
    live = webs.live
    torn = [phi for phi, values in copies if any(overlap(live.get(phi.value, []), live.get(v, [])) for v in values)]
    if torn:
        _isolate(region, torn)
        webs = _Webs(Liveness(region).live)
    for phi, values in copies:
        for value in values:
            joined = webs.join(phi.value, value)
            assert joined, "a phi's copies are live at once"
    moves = _plain_moves(region)
    for op in sorted(moves, key=lambda op: -moves[op]):
        source = op.uses[0].ref
        assert type(source) is Value
        webs.join(op.result, source)
    _rename(region, webs)


def _add_copies(region: Region) -> list[tuple[Phi, list[Value]]]:
    """A copy for each way into each phi; the phis with their copies."""
    found: list[tuple[Phi, list[Value]]] = []
    before: dict[int, list[Op]] = {}  # what goes before an item

    def copy(phi: Phi, way: int, values: list[Value]) -> Op:
        value = Value()
        op = Op("MOV", [phi.uses[way]], [value])
        value.op = op
        phi.uses[way] = Use(value)
        values.append(value)
        return op

    def visit(inner: Region) -> None:
        for item in inner:
            if isinstance(item, If):
                visit(item.then)
                visit(item.other)
                for phi in item.phis:
                    values: list[Value] = []
                    for k, side in enumerate((item.then, item.other)):
                        if not ends(side):
                            side.append(copy(phi, k, values))
                    found.append((phi, values))
            elif isinstance(item, Loop):
                for phi in item.phis:
                    values = []
                    before.setdefault(id(item), []).append(copy(phi, 0, values))
                    for k, way in enumerate(item.continues):
                        before.setdefault(id(way), []).append(copy(phi, k + 1, values))
                    found.append((phi, values))
                for phi in item.exit_phis:
                    values = []
                    for k, way in enumerate(item.breaks):
                        before.setdefault(id(way), []).append(copy(phi, k, values))
                    found.append((phi, values))
                visit(item.body)

    visit(region)
    for inner in list(regions(region)):
        if any(id(item) in before for item in inner):
            placed: Region = []
            for item in inner:
                placed += before.get(id(item), ())
                placed.append(item)
            inner[:] = placed
    return found


def _isolate(region: Region, torn: list[Phi]) -> None:
    """Give phis a value of their own, from which the one that is read is copied where control has joined."""
    wanted = {id(phi): phi for phi in torn}
    for inner in list(regions(region)):
        placed: Region = []
        for item in inner:
            placed.append(item)
            phis = item.phis if isinstance(item, If) else item.exit_phis if isinstance(item, Loop) else []
            placed += [_own_value(phi) for phi in phis if id(phi) in wanted]
            if isinstance(item, Loop):
                item.body[:0] = [_own_value(phi) for phi in item.phis if id(phi) in wanted]
        inner[:] = placed


def _own_value(phi: Phi) -> Op:
    read, phi.value = phi.value, Value()
    op = Op("MOV", [Use(phi.value)], [read])
    read.op = op
    return op


def is_copy(op: Op) -> bool:
    """Whether an operation only copies a value."""
    if op.name != "MOV" or op.clamp or op.omod or op.fields or op.results[0] is None:
        return False
    ref, neg, absolute = op.uses[0]
    return type(ref) is Value and not neg and not absolute


def _plain_moves(region: Region) -> dict[Op, int]:
    """The copies, with how deep they are in loops."""
    found: dict[Op, int] = {}

    def visit(inner: Region, depth: int) -> None:
        for item in inner:
            if isinstance(item, Op):
                if is_copy(item):
                    found[item] = depth
            elif isinstance(item, If):
                visit(item.then, depth)
                visit(item.other, depth)
            elif isinstance(item, Loop):
                visit(item.body, depth + 1)

    visit(region, 0)
    return found


def _rename(region: Region, webs: _Webs) -> None:
    """Name each variable by one value, and drop copies of a variable to itself."""

    def renamed(use: Use) -> Use:
        ref = use.ref
        return Use(webs.find(ref), use.neg, use.abs) if type(ref) is Value and ref in webs.parent else use

    for inner in regions(region):
        kept: Region = []
        for item in inner:
            if isinstance(item, Op):
                item.uses = [renamed(use) for use in item.uses]
                item.results = [None if r is None else webs.find(r) for r in item.results]
                if is_copy(item) and item.uses[0].ref is item.results[0]:
                    continue
            elif isinstance(item, If):
                item.phis = []
            elif isinstance(item, Loop):
                item.phis, item.exit_phis = [], []
            if isinstance(item, (If, Exit)) and item.test is not None:
                item.test.uses = [renamed(use) for use in item.test.uses]
            kept.append(item)
        inner[:] = kept


# -- common registers --------------------------------------------------------------------------------------------------


def vectors(op: Op) -> list[tuple[list[int], bool]]:
    """The reads of an operation that must be of one register: indices of its uses, and whether their place says which
    component each has to be."""
    if op.kind == FETCH:
        return [(list(range(len(op.uses))), False)]
    if op.kind == MEMORY:
        found = [([0, 1, 2, 3], op.name != "EXPORT")]
        if len(op.uses) > 4:
            found.append((list(range(4, len(op.uses))), True))
        return found
    return []


def bind_vectors(region: Region) -> None:
    """Give values that an operation names together a common register, with copies where need be."""
    parity = 0
    for inner in list(regions(region)):
        placed: Region = []
        for item in inner:
            if not isinstance(item, Op):
                placed.append(item)
                continue
            for indices, in_place in vectors(item):
                _load_constants(item, indices, placed)
                _bind_reads(item, indices, in_place, placed)
            placed.append(item)
            if item.kind == FETCH:
                in_place = item.name == "LOCAL_DS_READ"  # it has a write mask, but no selects
                _bind_results(item, [k if in_place else -1 for k in range(len(item.results))], placed, True)
            elif item.kind == MEMORY:
                _bind_results(item, list(range(len(item.results))), placed, True)
            elif item.kind == WIDE and item.name in PAIRED:
                parity ^= 2
                _bind_results(item, _pair_places(item, parity), placed, False)
            elif item.kind == WIDE and item.name in QUADS:
                _bind_results(item, [0, 1], placed, False)
                if item.name != "MUL_64":  # of three sources: such slots always write, so z and w need a place, too
                    item.results = [*item.results, None, None][:4]
                    for k, value in enumerate(item.results):
                        if value is None:
                            item.results[k] = Value()
                            item.results[k].chan = k  # type: ignore[union-attr]
        inner[:] = placed


def _pair_places(op: Op, parity: int) -> list[int]:
    """The components of a pair's results: those that one has already, or the pair whose turn it is."""
    for k, value in enumerate(op.results):
        if value is not None and value.chan >= 0 and value.chan % 2 == k:
            parity = value.chan - k
            break
    return [parity, parity + 1][: len(op.results)]


def _load_constants(op: Op, indices: list[int], placed: Region) -> None:
    """Put what turned out to be constant in registers, but for the 0 and 1 that fetches and exports select instead of
    a component, and for what is not written."""
    for k in indices:
        use = op.uses[k]
        if type(use.ref) is Value:
            continue
        selected = type(use.ref) is Const and use.ref.bits in (0, _ONE_BITS) and not use.neg and not use.abs
        if op.kind == MEMORY and op.name != "EXPORT":
            written = k >= 4 or (not op.results and bool((op.fields or {}).get("comp_mask", 15) >> k & 1))
            selected = not written
        elif op.name in _ADDRESSED and k == 0:
            selected = False
        if selected:
            continue
        new = Value()
        placed.append(Op("MOV", [use], [new], line=op.line))
        op.uses[k] = Use(new)


def _bind_reads(op: Op, indices: list[int], in_place: bool, placed: Region) -> None:
    """Make reads be of one register. Values that can be there as they are stay; if the copies of the others find no
    room beside them, all are copied."""
    values: dict[tuple[Value, int], list[int]] = {}  # what is read, and as which component: the uses that do
    for place, k in enumerate(indices):
        ref = op.uses[k].ref
        if type(ref) is Value:
            values.setdefault((ref, place if in_place else -1), []).append(k)
    united: list[Value] = []
    others: list[tuple[Value, int]] = []
    for value, chan in values:
        if value not in united and _in_one_register(united, value, chan):
            united.append(value)
        else:
            others.append((value, chan))
    if len(united) < len(values):
        size = {id(m): m for v in united for m in (v.vector.members if v.vector is not None else [v])}
        free = {m.chan for m in size.values() if m.chan >= 0}
        crowded = len(size) + len(others) > 4 or any(chan in free for _, chan in others)
        if crowded or any(v.fixed is not None for v in united):
            united, others = [], list(values)
    for value, chan in others:
        new = Value()
        new.chan = chan
        placed.append(Op("MOV", [Use(value)], [new], line=op.line))
        united.append(new)
        for k in values[value, chan]:
            op.uses[k] = Use(new)
    _unite(united)


def _in_one_register(members: list[Value], value: Value, chan: int) -> bool:
    """Whether a value can be in the register that others are in; its component is then settled."""
    if value.fixed is not None:
        if any(m.fixed is None or m.fixed[0] != value.fixed[0] for m in members):
            return False
        if chan >= 0 and value.chan != chan:
            return False
        return not any(m.chan == value.chan for m in members)
    if any(m.fixed is not None for m in members):
        return False
    if chan >= 0 and value.chan not in (-1, chan):
        return False
    settled = chan if chan >= 0 else value.chan
    everyone: dict[Value, int] = {}
    for member in (*members, value):
        for one in member.vector.members if member.vector is not None else [member]:
            everyone[one] = settled if one is value else one.chan
    if len(everyone) > 4:
        return False
    used = [c for c in everyone.values() if c >= 0]
    if len(set(used)) != len(used):
        return False
    value.chan = settled
    return True


def _unite(members: list[Value]) -> None:
    everyone: dict[Value, None] = {}
    for member in members:
        for one in member.vector.members if member.vector is not None else [member]:
            everyone[one] = None
    if len(everyone) < 2:
        return
    vector = Vector(list(everyone))
    for one in everyone:
        one.vector = vector


def _bind_results(op: Op, chans: list[int], placed: Region, united: bool) -> None:
    """Results in one register (``united``), each in its component where that is given."""
    members: list[Value] = []
    others: list[int] = []
    for k, value in enumerate(op.results):
        if value is None:
            continue
        if united:
            fits = value not in members and value.fixed is None and _in_one_register(members, value, chans[k])
        else:
            fits = value.chan in (-1, chans[k]) and not _taken(value, chans[k]) and value not in members
            if fits:
                value.chan = chans[k]
        if fits:
            members.append(value)
        else:
            others.append(k)
    if united and others:  # a register of their own for all, lest the copies find no room
        members, others = [], [k for k, value in enumerate(op.results) if value is not None]
    for k in others:
        old, new = op.results[k], Value()
        new.chan = chans[k]
        op.results[k] = new
        placed.append(Op("MOV", [Use(new)], [old], line=op.line))
        members.append(new)
    if united:
        _unite(members)


def _taken(value: Value, chan: int) -> bool:
    """Whether another value of the same register has that component."""
    return value.vector is not None and any(m is not value and m.chan == chan for m in value.vector.members)
