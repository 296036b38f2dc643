"""Input: a kernel's code. Output: its accesses, the conditions that they are under and how the loops around them count.

What is said of an access holds for work-items that are named: such a one executes it, at such an address. No interval
is ever estimated. So a launch that is refused does access memory outside of an array; of others nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.llvm.cfg import Cfg, Loop
from headwater.llvm.ir import Function, Inst, Value
from headwater.llvm.types import Type
from headwater.vectorise.analysis.shapes import PRIMITIVE

MOST_SITES = 6
"""Places in a kernel's control flow whose accesses are asked for: each takes LLVM some 0.5 ms."""

MOST_ACCESSES = 12
"""Accesses of such a place: reads of stencils, say, of which the outermost come first and last."""

MOST_LOOPS = 3
"""Loops around an access: each doubles the number of trips that are looked at."""

_POINTER_STEPS = ("getelementptr", "addrspacecast", "bitcast", "freeze")


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """An access of ``bytes`` bytes at ``pointer``, which is computed from the parameter ``root``.

    ``position``: of that parameter among the kernel's arguments; -1: it is a __local variable.
    """

    root: str
    position: int
    pointer: Value
    bytes: int
    writes: bool
    line: int = 0
    column: int = 0


@dataclass(slots=True, eq=False)
class Site:
    """Accesses that a work-item executes all or none of: in ``block`` or in blocks that run exactly where that does."""

    block: str
    loops: tuple[Loop, ...]
    accesses: list[Access] = field(default_factory=list)


def sites(function: Function, cfg: Cfg, arguments: int) -> list[Site]:
    """The places where something is accessed, those of writes to arguments first, those of __local variables last.

    The kernel's first ``arguments`` parameters are passed.
    """
    if cfg.irreducible:
        return []
    roots = pointer_roots(function, cfg, arguments)
    found: dict[str, Site] = {}
    for name in cfg.order:
        for inst in function.blocks[name].insts:
            for access in _accesses(inst, roots):
                home = _home(cfg, name)
                loops = tuple(_around(cfg, home))
                if len(loops) <= MOST_LOOPS:
                    found.setdefault(home, Site(home, loops)).accesses.append(access)
    defs = {inst.name: inst for name in cfg.order for inst in function.blocks[name].insts if inst.name}
    for site in found.values():
        site.accesses = _outermost(site.accesses, defs)
    return sorted(found.values(), key=_last)[:MOST_SITES]


def _last(site: Site) -> tuple[bool, bool]:
    """Greater for places that matter less."""
    passed = [access for access in site.accesses if access.position >= 0]
    return not passed, not any(access.writes for access in passed or site.accesses)


def pointer_roots(function: Function, cfg: Cfg, arguments: int) -> dict[str, tuple[str, int]]:
    """Of each pointer that is computed from one parameter: that, and its position, -1 for __local variables."""
    roots = {
        param.name: (param.name, position if position < arguments else -1)
        for position, param in enumerate(function.params)
        if param.ty.kind == "ptr" and param.by_value is None
    }
    for name in cfg.order:
        for inst in function.blocks[name].insts:
            if inst.ty.kind != "ptr":
                continue
            if inst.op in _POINTER_STEPS and inst.args[0].text in roots:
                roots[inst.name] = roots[inst.args[0].text]
            elif inst.op in ("select", "phi"):
                # A loop's pointer is known where it begins; where it leads on, it is known once its first is.
                sources = [v.text for v in (inst.args[1:] if inst.op == "select" else inst.args)]
                known = {roots[source] for source in sources if source in roots}
                if len(known) == 1 and (inst.op == "phi" or all(source in roots for source in sources)):
                    roots[inst.name] = known.pop()
    return roots


def accessed_bytes(ty: Type) -> int:
    """Bytes that a load or store of a type touches: of vectors of three components those of three."""
    if ty.kind == "vec":
        assert ty.elem is not None
        return ty.elem.size_bytes * ty.count
    return ty.size_bytes


def _accesses(inst: Inst, roots: Mapping[str, tuple[str, int]]) -> Iterator[Access]:
    """What an instruction accesses of what is passed to the kernel."""
    touched: list[tuple[Value, int, bool]] = []
    if inst.op == "load":
        touched = [(inst.args[0], accessed_bytes(inst.ty), False)]
    elif inst.op == "store":
        touched = [(inst.args[1], accessed_bytes(inst.args[0].ty), True)]
    elif inst.op in ("atomicrmw", "cmpxchg"):
        touched = [(inst.args[0], accessed_bytes(inst.args[1].ty), True)]
    elif inst.op == "call" and inst.detail.startswith("llvm.mem") and inst.args[2].text.isdigit():
        length = int(inst.args[2].text)
        touched = [(inst.args[0], length, True)]
        if inst.args[1].ty.kind == "ptr":
            touched.append((inst.args[1], length, False))
    for pointer, nbytes, writes in touched:
        root = roots.get(pointer.text)
        if root is not None and nbytes > 0:
            yield Access(*root, pointer, nbytes, writes, inst.line, inst.column)


def _home(cfg: Cfg, block: str) -> str:
    """The first block of its own loop that runs exactly where ``block`` does."""
    home = block
    for above in cfg.same_level_dominators(block):
        if not cfg.post_dominates(block, above):
            break
        home = above
    return home


def _around(cfg: Cfg, block: str) -> Iterator[Loop]:
    """The loops that a block is in, the innermost first."""
    loop = cfg.loop_of[block]
    while loop is not None:
        yield loop
        loop = loop.parent


def _outermost(accesses: Sequence[Access], defs: Mapping[str, Inst]) -> list[Access]:
    """The accesses less those that lie between others at constant distances, and less repeated ones; writes first."""
    ends: dict[tuple[str, str, bool], list[tuple[int, int, Access]]] = {}
    for access in accesses:
        base, offset = _constant_part(access.pointer, defs)
        ends.setdefault((access.root, base, access.writes), []).append((offset, offset + access.bytes, access))
    kept: list[Access] = []
    for group in ends.values():
        kept += dict.fromkeys((min(group, key=lambda one: one[0])[2], max(group, key=lambda one: one[1])[2]))
    kept.sort(key=lambda access: not access.writes)
    half = MOST_ACCESSES // 2
    return kept if len(kept) <= MOST_ACCESSES else kept[:half] + kept[-half:]


def _constant_part(pointer: Value, defs: Mapping[str, Inst]) -> tuple[str, int]:
    """A pointer as another one and constant bytes."""
    offset = 0
    while True:
        inst = defs.get(pointer.text)
        if inst is None or inst.op != "getelementptr" or len(inst.args) != 2:
            return pointer.text, offset
        index = inst.args[1].text
        if not index.lstrip("-").isdigit():
            return pointer.text, offset
        offset += inst.source.size_bytes * int(index)
        pointer = inst.args[0]


# -- counted loops -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Count:
    """How a loop counts that ends by nothing but this: ``phi`` goes from ``start`` by ``step``.

    It goes on while ``order`` ("slt", "ult", "ne" …) holds of the tested number and ``limit``; the tested number is the
    counter of this trip, ``tests_next`` that of the next. ``subtracts``: the step is taken away. ``narrow``: bits that
    the number is cut to somewhere on its way round, 0 if it is nowhere; then it must stay within them.
    """

    phi: Inst
    start: Value
    step: Value
    subtracts: bool
    limit: Value
    order: str
    tests_next: bool
    narrow: int


_SWAPPED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}
_OPPOSITE = {"gt": "le", "le": "gt", "ge": "lt", "lt": "ge"}


@dataclass(frozen=True, slots=True)
class Step:
    """How a number goes on from trip to trip: by what, whether that is subtracted, and `Count.narrow`."""

    by: Value
    subtracts: bool
    narrow: int


class Counts:
    """The counters of a function's loops."""

    def __init__(self, function: Function, cfg: Cfg) -> None:
        self.function, self.cfg = function, cfg
        self.defs: dict[str, Inst] = {}
        self.block_of: dict[str, str] = {}
        for name in cfg.order:
            for inst in function.blocks[name].insts:
                if inst.name:
                    self.defs[inst.name], self.block_of[inst.name] = inst, name

    def invariant(self, value: Value, loop: Loop) -> bool:
        """Whether a value is the same on all trips of a loop, as it is made before it."""
        return not value.is_local or self.block_of.get(value.text, "") not in loop.blocks

    def start(self, phi: Inst, loop: Loop) -> Value | None:
        """What a header's phi is on the first trip."""
        sources = [source for source in phi.labels if source not in loop]
        return phi.args[phi.labels.index(sources[0])] if len(sources) == 1 else None

    def step(self, phi: Inst, loop: Loop) -> Step | None:
        """How a header's integer goes on from trip to trip."""
        if loop.latch not in phi.labels:
            return None
        following, narrow = self._stripped(phi.args[phi.labels.index(loop.latch)])
        inst = self.defs.get(following.text)
        if inst is None or inst.op not in ("add", "sub"):
            return None
        for place, by in ((0, 1), (1, 0)):
            counter, cut = self._stripped(inst.args[place])
            if counter.text == phi.name and self.invariant(inst.args[by], loop) and (place == 0 or inst.op == "add"):
                return Step(inst.args[by], inst.op == "sub", min((n for n in (narrow, cut) if n), default=0))
        return None

    def count(self, loop: Loop) -> Count | None:
        """How a loop with one exit counts; None if that is not known."""
        if len(loop.exits) != 1 or loop.exits[0][0] not in (loop.latch, loop.header):
            return None
        source, target = loop.exits[0]
        term = self.function.blocks[source].term
        test = self.defs.get(term.args[0].text) if term.op == "br" and term.args else None
        if test is None or test.op != "icmp" or test.args[0].ty.kind != "int":
            return None
        order = test.detail if term.labels[1] == target else _opposite(test.detail)
        for place in (0, 1):
            limit = test.args[1 - place]
            if not self.invariant(limit, loop):
                continue
            tested, cut = self._stripped(test.args[place])
            for phi in self.function.blocks[loop.header].phis:
                step, start = self.step(phi, loop) if phi.ty.kind == "int" else None, self.start(phi, loop)
                if step is None or start is None:
                    continue
                following, _ = self._stripped(phi.args[phi.labels.index(loop.latch)])
                tests_next = tested.text == following.text and source == loop.latch
                if tests_next or tested.text == phi.name:
                    narrow = min((n for n in (step.narrow, cut) if n), default=0)
                    swapped = order if place == 0 else _swapped(order)
                    return Count(phi, start, step.by, step.subtracts, limit, swapped, tests_next, narrow)
        return None

    def _stripped(self, value: Value) -> tuple[Value, int]:
        """A number without its extensions and cuts, and the bits that it is cut to, or 0."""
        narrow = 0
        while True:
            inst = self.defs.get(value.text)
            if inst is None or inst.ty.kind != "int":
                return value, narrow
            if inst.op == "trunc":
                narrow = min(narrow or inst.ty.bits, inst.ty.bits)
            elif inst.op in ("ashr", "lshr") and inst.args[1].text.isdigit():
                shifted = self.defs.get(inst.args[0].text)
                if shifted is None or shifted.op != "shl" or shifted.args[1].text != inst.args[1].text:
                    return value, narrow
                bits = inst.ty.bits - int(inst.args[1].text)
                narrow = min(narrow or bits, bits)
                inst = shifted
            elif inst.op not in ("sext", "zext", "freeze"):
                return value, narrow
            value = inst.args[0]


def _opposite(order: str) -> str:
    return {"eq": "ne", "ne": "eq"}.get(order) or order[0] + _OPPOSITE[order[1:]]


def _swapped(order: str) -> str:
    return order if order in ("eq", "ne") else order[0] + _SWAPPED[order[1:]]


# -- conditions --------------------------------------------------------------------------------------------------------


def comparisons(condition: Value, defs: Mapping[str, Inst], *, holds: bool) -> Iterator[tuple[Inst, str]]:
    """The comparisons that are known to hold where a condition does (or does not), each with its order."""
    inst = defs.get(condition.text)
    if inst is None or inst.ty.text != "i1":
        return
    if inst.op == "icmp":
        yield inst, inst.detail if holds else _opposite(inst.detail)
    elif inst.op == "freeze":
        yield from comparisons(inst.args[0], defs, holds=holds)
    elif inst.op == "xor" and inst.args[1].text == "true":
        yield from comparisons(inst.args[0], defs, holds=not holds)
    elif inst.op == ("and" if holds else "or"):
        for one in inst.args:
            yield from comparisons(one, defs, holds=holds)
    elif inst.op == "select" and inst.args[2 if holds else 1].text == ("false" if holds else "true"):
        yield from comparisons(inst.args[0], defs, holds=holds)
        yield from comparisons(inst.args[1 if holds else 2], defs, holds=holds)


def necessary(block: str, function: Function, cfg: Cfg, defs: Mapping[str, Inst]) -> Iterator[tuple[Inst, str]]:
    """The comparisons that hold wherever a block runs."""
    below = block
    while cfg.idom[below] != below:
        above = cfg.idom[below]
        term = function.blocks[above].term
        if term.op == "br" and term.args and cfg.preds[below] == [above]:
            yield from comparisons(term.args[0], defs, holds=term.labels[0] == below)
        below = above


def primitive(inst: Inst) -> tuple[str, int] | None:
    """The kind and dimension of an id or size."""
    match = PRIMITIVE.match(inst.detail) if inst.op == "call" else None
    return (match[1], int(match[2])) if match is not None else None
