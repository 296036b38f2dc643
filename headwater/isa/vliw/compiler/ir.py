"""The compiler's own program: operations of the machine on scalar components, in structured control flow.

A `Value` is 32 bits a lane. While the program is in static single assignment form each value has one definition and
`Phi` stands where control flow joins; `coalesce` ends that form: values then are variables that are written as often
as is wanted. Operations carry the names of the machine's table, so that selection happens as they are built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from headwater.isa.vliw import table
from headwater.isa.vliw.model import ALU_KINDS


class Value:
    """A component of a register, of any lane.

    ``alias`` is what replaces it, once it was found to be the same. ``fixed``: the register and component in which it
    is when the program starts. ``chan``: the component that it must have, or -1. ``vector``: the values that must share
    a register with it. ``position``: it is a coordinate of a pixel's centre, an integer and a half. ``most``: of what
    the hardware gives, the greatest number that it can be.
    """

    __slots__ = ("alias", "chan", "fixed", "index", "most", "op", "position", "vector")
    _count = 0

    def __init__(self, op: Op | None = None) -> None:
        self.index = Value._count
        Value._count += 1
        self.op = op
        self.alias: Ref | None = None
        self.fixed: tuple[int, int] | None = None
        self.chan = -1
        self.vector: Vector | None = None
        self.position = False
        self.most = 0xFFFFFFFF

    def __repr__(self) -> str:
        return f"%{self.index}"


class Vector:
    """Values that one fetch or export names together: they get components of one register."""

    __slots__ = ("members",)

    def __init__(self, members: list[Value]) -> None:
        self.members = members


class Const(NamedTuple):
    """32 bits that are the same in every lane."""

    bits: int

    def __repr__(self) -> str:
        return f"#{self.bits:x}"


class Kcache(NamedTuple):
    """A component of a constant buffer's element, read through the constant cache."""

    buffer: int
    element: int
    chan: int

    def __repr__(self) -> str:
        return f"cb{self.buffer}[{self.element}].{'xyzw'[self.chan]}"


@dataclass(frozen=True, slots=True)
class Special:
    """A source select that is no register: the LDS queue. No named tuple: it would equal the `Const` of its number."""

    sel: int


Ref: TypeAlias = Value | Const | Kcache | Special


class Use(NamedTuple):
    """What an operation reads, with the modifiers of the read."""

    ref: Ref
    neg: bool = False
    abs: bool = False

    def __repr__(self) -> str:
        text = f"|{self.ref!r}|" if self.abs else repr(self.ref)
        return f"-{text}" if self.neg else text


# What an operation is, by where it goes.
ALU = "alu"  # one slot of a group
WIDE = "wide"  # several slots of a group: `Op.parts`
FETCH = "fetch"  # an instruction of a fetch clause
MEMORY = "memory"  # a control-flow instruction that exports or writes
PREDICATE = "predicate"  # the condition of an if or break: the last operation of its block

PAIRED, QUADS = table.names(ALU_KINDS, "pair"), table.names(ALU_KINDS, "quad")
"""Operations on doubles in two slots (x y or z w) and in four."""
THREE_SOURCES = table.names(("OP3",))
"""Operations without absolute values, and with no output modifier but the clamp; they always write."""
PREDICATES = table.names(ALU_KINDS, "pred")
LOCAL, GLOBAL = table.names(("LDS",)), table.names(("GDS",))
"""Operations on the local and the global data share."""
QUEUED = table.names(("LDS",), "returns")
"""Operations on the local data share that put values into the output queues."""
RETURNING = table.names(("LDS", "GDS"), "returns")
"""Operations on data shares that return what they held."""
INDEXED_READS, INDEXED_WRITES = frozenset(("ARRAY_READ", "SHARED_READ")), frozenset(("ARRAY_WRITE", "SHARED_WRITE"))
"""The compiler's own operations: accesses of an array in registers, which become moves (`schedule`)."""


@dataclass(slots=True, eq=False, repr=False)
class Op:
    """An operation.

    ``name``: of the table's row. ``uses``: what is read; ``results``: what is written, None where nothing is wanted.
    ``parts``: of a WIDE one, the indices of its uses and result slot by slot. ``fields``: encoding fields that are
    known, of fetches, exports and LDS operations. ``order``: what kind of memory it touches ("" none), ``effect``:
    whether it does more than write its results. ``relative``: the address register is read for source or destination.
    ``line``: of the IL program.
    """

    name: str
    uses: list[Use]
    results: list[Value | None]
    kind: str = ALU
    clamp: bool = field(default=False, kw_only=True)
    omod: int = field(default=0, kw_only=True)
    fields: dict[str, int] | None = field(default=None, kw_only=True)
    order: str = field(default="", kw_only=True)
    effect: bool = field(default=False, kw_only=True)
    line: int = field(default=0, kw_only=True)
    relative: str = field(default="", init=False)
    parts: tuple[tuple[tuple[int, ...], int], ...] = field(default=(), init=False)

    @property
    def result(self) -> Value:
        """The one value that it writes."""
        found = self.results[0]
        assert found is not None
        return found

    def __repr__(self) -> str:
        results = ", ".join("_" if r is None else repr(r) for r in self.results)
        extra = f" {self.fields}" if self.fields else ""
        flags = (" clamp" if self.clamp else "") + (f" omod{self.omod}" if self.omod else "")
        return f"{results} = {self.name} {', '.join(map(repr, self.uses))}{flags}{extra}"


class Phi:
    """A value that is one of ``uses``, by the way that control took."""

    __slots__ = ("uses", "value")

    def __init__(self, value: Value, uses: list[Use]) -> None:
        self.value = value
        self.uses = uses

    def __repr__(self) -> str:
        return f"{self.value!r} = phi {', '.join(map(repr, self.uses))}"


Region: TypeAlias = "list[Op | Clause | If | Loop | Exit]"


@dataclass(eq=False, slots=True)
class If:
    """``then`` where the condition's bits are not 0, ``other`` where they are. Phis: [of then, of other]."""

    condition: Use
    then: Region = field(default_factory=list)
    other: Region = field(default_factory=list)
    phis: list[Phi] = field(default_factory=list)
    test: Op | None = None  # the PREDICATE, once it is selected
    line: int = 0


@dataclass(eq=False, slots=True)
class Loop:
    """A body that repeats until a break; continues return to its start, and so does its end.

    ``phis``: at the start: [before the loop, continues…]; ``exit_phis``: behind it: [breaks…]; ways in the order of
    ``continues`` and ``breaks``.
    """

    body: Region = field(default_factory=list)
    phis: list[Phi] = field(default_factory=list)
    exit_phis: list[Phi] = field(default_factory=list)
    continues: list[Exit] = field(default_factory=list)
    breaks: list[Exit] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Exit:
    """A break or continue; with a condition, in lanes where its bits are not 0 (``when``) or are 0 (not ``when``)."""

    loop: Loop
    is_break: bool
    condition: Use | None = None
    when: bool = True
    test: Op | None = None
    direct: bool = False  # the clause of the test leaves the loop itself (ALU_BREAK, ALU_CONTINUE)
    line: int = 0


class PlacedSource(NamedTuple):
    """A source of an operation: a value's register, a constant's component, or what has a select of its own.

    ``kind``: "value", "kcache", "literal", "select" (``item`` is then (sel, chan)).
    """

    kind: str
    item: object
    neg: bool
    abs: bool


class Slot(NamedTuple):
    """What a slot does: the operation, its sources, what it writes, and in which order its registers are read."""

    op: Op
    slot: int
    sources: tuple[PlacedSource, ...]
    result: Value | None
    chan: int
    swizzle: int = 0


class Window(NamedTuple):
    """A locked part of a constant buffer: ``lines`` (1 or 2) of 16 elements from line ``first``."""

    buffer: int
    first: int
    lines: int


class Group:
    """A group that is being filled."""

    __slots__ = ("exclusive", "literals", "slots")

    def __init__(self) -> None:
        self.slots: list[Slot | None] = [None] * 5
        self.literals: list[int] = []
        self.exclusive = False  # it has a PRED_SET, KILL, MOVA or LDS operation

    @property
    def filled(self) -> list[Slot]:
        """What it has, in the order of slots."""
        return [slot for slot in self.slots if slot is not None]

    @property
    def words(self) -> int:
        """64-bit words of the clause."""
        return sum(slot is not None for slot in self.slots) + (len(self.literals) + 1) // 2


@dataclass(eq=False, slots=True)
class Clause:
    """A clause, or a run of writes: ``kind`` is alu, tex, vtx, gds or write.

    ``groups`` of an ALU clause, ``windows`` of constants that it locks; ``ops`` of the others. ``predicate``: its last
    group decides the if or exit that follows it.
    """

    kind: str
    groups: list[Group] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    predicate: bool = False


class Copier:
    """Copies of a program whose phis are gone: each with operations and values of its own."""

    def __init__(self) -> None:
        self._values: dict[Value, Value] = {}
        self._loops: dict[int, Loop] = {}

    def region(self, region: Region) -> Region:
        """A region and all in it."""
        found: Region = []
        for item in region:
            if isinstance(item, Op):
                found.append(self._op(item))
            elif isinstance(item, If):
                sides = self.region(item.then), self.region(item.other)
                found.append(If(self._use(item.condition), *sides, test=self._test(item), line=item.line))
            elif isinstance(item, Loop):
                loop = self._loops[id(item)] = Loop()
                loop.body = self.region(item.body)
                found.append(loop)
            elif isinstance(item, Exit):
                found.append(self._exit(item))
        return found

    def value(self, value: Value) -> Value:
        """What stands for a value."""
        found = self._values.get(value)
        if found is None:
            found = self._values[value] = Value()
            found.fixed, found.chan, found.most = value.fixed, value.chan, value.most
            found.position = value.position
        return found

    def _use(self, use: Use) -> Use:
        return Use(self.value(use.ref), use.neg, use.abs) if type(use.ref) is Value else use

    def _op(self, op: Op) -> Op:
        uses = [self._use(use) for use in op.uses]
        results = [None if value is None else self.value(value) for value in op.results]
        fields = None if op.fields is None else dict(op.fields)
        found = replace(op, uses=uses, results=results, fields=fields)
        found.relative, found.parts = op.relative, op.parts
        return found

    def _test(self, item: If | Exit) -> Op | None:
        return None if item.test is None else self._op(item.test)

    def _exit(self, item: Exit) -> Exit:
        loop = self._loops[id(item.loop)]
        condition = None if item.condition is None else self._use(item.condition)
        found = Exit(loop, item.is_break, condition, item.when, self._test(item), item.direct, item.line)
        (loop.breaks if item.is_break else loop.continues).append(found)
        return found


def regions(region: Region) -> Iterator[Region]:
    """A region and those inside it, outermost first."""
    work = [region]  # rather than generators in one another, whose time grows with the nesting
    while work:
        found = work.pop()
        yield found
        inside: list[Region] = []
        for item in found:
            if type(item) is If:
                inside += [item.then, item.other]
            elif type(item) is Loop:
                inside.append(item.body)
        work += reversed(inside)


def ends(region: Region) -> bool:
    """Whether control never comes out at a region's end."""
    if not region:
        return False
    last = region[-1]
    if isinstance(last, Exit):
        return last.condition is None
    if isinstance(last, If):
        return ends(last.then) and ends(last.other)
    return isinstance(last, Loop) and not last.breaks


def operations(region: Region) -> Iterator[Op]:
    """Every operation, in the order of the text."""
    for item in region:
        if isinstance(item, Op):
            yield item
        elif isinstance(item, If):
            if item.test is not None:
                yield item.test
            yield from operations(item.then)
            yield from operations(item.other)
        elif isinstance(item, Loop):
            yield from operations(item.body)
        elif isinstance(item, Exit) and item.test is not None:
            yield item.test


def dump(region: Region, depth: int = 0) -> str:
    """The program as text, for the eyes of who debugs the compiler."""
    pad = "  " * depth
    lines: list[str] = []
    for item in region:
        if isinstance(item, Op):
            lines.append(f"{pad}{item!r}")
        elif isinstance(item, If):
            lines.append(f"{pad}if {item.test or item.condition!r}")
            lines += [dump(item.then, depth + 1), f"{pad}else", dump(item.other, depth + 1)]
            lines += [f"{pad}endif", *(f"{pad}{phi!r}" for phi in item.phis)]
        elif isinstance(item, Loop):
            lines += [f"{pad}loop", *(f"{pad}  {phi!r}" for phi in item.phis), dump(item.body, depth + 1)]
            lines += [f"{pad}endloop", *(f"{pad}{phi!r}" for phi in item.exit_phis)]
        elif isinstance(item, Exit):
            sense = "" if item.when else "not "
            lines.append(f"{pad}{'break' if item.is_break else 'continue'} {sense}{item.test or item.condition!r}")
    return "\n".join(line for line in lines if line)
