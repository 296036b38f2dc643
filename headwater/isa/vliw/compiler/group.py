"""Input: operations one at a time. Output: a group that can issue, with bank swizzles, literals and constants.

The constraints are those of AMD, R600-Family and R700-Family Instruction Set Architecture, "ALU Instructions": slots,
three read cycles of one register a component, ports for constants, four literals, locked windows of constants.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.isa.vliw import table
from headwater.isa.vliw.compiler import fold
from headwater.isa.vliw.compiler.ir import (
    LOCAL,
    PAIRED,
    QUADS,
    Const,
    Group,
    Kcache,
    Op,
    PlacedSource,
    Ref,
    Slot,
    Special,
    Use,
    Value,
    Window,
)  # fmt: skip
from headwater.isa.vliw.compiler.target import Target
from headwater.isa.vliw.model import (
    ALU_KINDS,
    HALF,
    LDS_OQ_A_POP,
    LDS_OQ_B_POP,
    MINUS_ONE_INT,
    ONE,
    ONE_INT,
    PS,
    PV,
    ZERO,
    T,
)

_VECTOR = ((0, 1, 2), (0, 2, 1), (1, 2, 0), (1, 0, 2), (2, 0, 1), (2, 1, 0))
_SCALAR = ((2, 1, 0), (1, 2, 2), (2, 1, 2), (2, 2, 1))
"""The cycle in which each source is read, by BANK_SWIZZLE: VEC_012 … VEC_210, and of slot t SCL_210 … SCL_221."""
_INLINE = {0: ZERO, fold.ONE: ONE, 1: ONE_INT, fold.ALL_ONES: MINUS_ONE_INT, 0x3F000000: HALF}
_MAX_LITERALS = 4
_LINE_ELEMENTS = 16
_REPLICATED_SLOTS = 3
_SLOTS = {"pair": 2, "replicated": 4, "quad": 4, "dot": 4, "vec4": 4}
"""Slots that an operation takes at most, by its class, where it is not one."""
_READS_OF_COMPONENT = 3
"""Registers of which a group reads one component: one in each cycle."""


class Packer:
    """Fills the groups of one ALU clause."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.windows: list[Window] = []
        self.group = Group()
        self.previous: dict[Value, tuple[int, int]] = {}  # what PV and PS hold
        self.load = [0, 0, 0, 0]  # values that are live, by component
        self.slots = target.traits.slots
        self._classes: dict[str, str] = {}

    def begin_clause(self) -> None:
        """Start a clause: no constants are locked, PV and PS hold nothing."""
        self.windows = []
        self.previous = {}
        self.group = Group()

    def finish_group(self) -> Group:
        """The group as it is; the next one starts."""
        done = self.group
        self.group = Group()
        self.previous = {}
        for slot in done.filled:
            if slot.result is not None and slot.op.name not in _NOT_FORWARDED:
                self.previous[slot.result] = (PS, 0) if slot.slot == T else (PV, slot.chan)
        return done

    def issue_class(self, op: Op) -> str:
        """Where an operation may go."""
        name = op.name
        known = self._classes.get(name)
        if known is None:
            if name in QUADS:
                known = "quad"
            elif name in PAIRED:
                known = "pair"
            elif name in ("DOT4", "DOT4_IEEE"):
                known = "dot"
            elif name in LOCAL or (name == "MOVA_INT" and self.target.traits.address_registers > 1):
                known = "x"  # of four address registers the slot of a MOVA chooses, and operands name AR.x
            else:
                known = table.alu(self.target.generation, name).slots[self.target.generation]
            self._classes[name] = known
        return known

    def words(self, op: Op) -> int:
        """64-bit words of a clause that an operation takes at most: slots, literals, and copies of operands that
        crowd one component."""
        slots = _SLOTS.get(self.issue_class(op), 1)
        literals = len({use.ref.bits for use in op.uses if type(use.ref) is Const})
        copies = sum(type(use.ref) is Value for use in op.uses) - _READS_OF_COMPONENT
        return slots + (literals + 1) // 2 + max(copies, 0)

    def locked(self, refs: Iterable[Ref]) -> list[Window] | None:
        """The clause's windows with those of more constants, None where there are too many."""
        windows: list[Window] | None = self.windows
        for ref in refs:
            if type(ref) is Kcache and windows is not None:
                windows = self._window(windows, ref)
        return windows

    def has_slot(self, op: Op) -> bool:
        """Whether the group has a slot for an operation of one; false saves a closer look."""
        kind, slots = self.issue_class(op), self.group.slots
        if kind == "trans":
            return slots[T] is None
        if kind == "x":
            return slots[0] is None
        return kind != "vec" or None in slots[:T]

    def place(self, op: Op) -> bool:
        """Put an operation into the group, if it has room for it."""
        group = self.group
        exclusive = op.name in _EXCLUSIVE
        if exclusive and group.exclusive:
            return False
        for slots in self._choices(op):
            if self._add(slots):
                group.exclusive = group.exclusive or exclusive
                return True
        return False

    # -- slots ---------------------------------------------------------------------------------------------------------

    def _choices(self, op: Op) -> list[list[Slot]]:
        """The ways to place an operation, the best first."""
        kind = self.issue_class(op)
        taken = self.group.slots
        if kind in ("any", "vec", "trans", "x"):
            return self._single(op, kind)
        if kind == "pair":
            return self._pairs(op)
        width = _REPLICATED_SLOTS if kind == "replicated" else 4
        result = op.results[0] if op.results else None
        if kind == "replicated" and not self._chans(result, range(width)):
            width = 4  # w is the only component left for the result
        if any(slot is not None for slot in taken[:width]):
            return []
        if kind == "quad":
            half = len(op.uses) // 2
            high, low = self._sources(op, op.uses[:half]), self._sources(op, op.uses[half:])
            results = [*op.results, None, None][:4]
            return [[Slot(op, k, low if k == 3 else high, results[k], k) for k in range(4)]]
        chans = self._chans(result, range(width))
        if kind == "dot":
            pairs = [self._sources(op, op.uses[2 * k : 2 * k + 2]) for k in range(4)]
        else:
            pairs = [self._sources(op, op.uses)] * 4
        return [[Slot(op, k, pairs[k], result if k == chan else None, k) for k in range(width)] for chan in chans[:2]]

    def _chans(self, result: Value | None, free: range | list[int]) -> list[int]:
        """Components that a result may have, the least used first."""
        if result is None:
            return list(free)
        if result.chan >= 0:
            return [result.chan] if result.chan in free else []
        taken = {m.chan for m in result.vector.members} if result.vector is not None else ()
        load = self.load
        return sorted((c for c in free if c not in taken), key=lambda c: load[c])

    def _single(self, op: Op, kind: str) -> list[list[Slot]]:
        taken = self.group.slots
        result = op.results[0] if op.results else None
        places: list[tuple[int, int]] = []  # slot and component of the result
        if op.relative.endswith("write"):
            chan = (op.fields or {})["chan"]
            places = [(chan, chan)] if taken[chan] is None else []
            result = None
        elif kind == "x":
            places = [(0, 0)] if taken[0] is None else []
            result = None
        else:
            if kind != "trans":
                chans = self._chans(result, [c for c in range(4) if taken[c] is None])
                places = [(c, c) for c in chans]
            if kind != "vec" and self.slots == 5 and taken[T] is None:
                # The hardware gives an operation to slot t only if the vector slot of its component is taken.
                free = range(4) if kind == "trans" else [c for c in range(4) if taken[c] is not None]
                if kind == "trans" or op.name not in _VECTOR_ONLY:
                    places += [(T, c) for c in self._chans(result, free)[:2]]
        if not places:
            return []
        sources = self._sources(op, op.uses)
        return [[Slot(op, slot, sources, result, chan)] for slot, chan in places]

    def _pairs(self, op: Op) -> list[list[Slot]]:
        taken = self.group.slots
        half = (len(op.uses) + 1) // 2
        high, low = self._sources(op, op.uses[:half]), self._sources(op, op.uses[half:])
        found = []
        for first in (0, 2):
            if taken[first] is None and taken[first + 1] is None:
                results = [*op.results, None][:2]
                if all(r is None or r.chan == first + k for k, r in enumerate(results)):
                    found.append([
                        Slot(op, first, high, results[0], first),
                        Slot(op, first + 1, low, results[1], first + 1),
                    ])  # fmt: skip
        return found

    # -- sources -------------------------------------------------------------------------------------------------------

    def _sources(self, op: Op, uses: list[Use]) -> tuple[PlacedSource, ...]:
        return tuple(self._source(op, use) for use in uses)

    def _source(self, op: Op, use: Use) -> PlacedSource:
        ref, neg, absolute = use
        if type(ref) is Value:
            forwarded = self.previous.get(ref)
            if forwarded is not None and not op.relative:
                return PlacedSource("select", forwarded, neg, absolute)
            return PlacedSource("value", ref, neg, absolute)
        if type(ref) is Const:
            bits = ref.bits
            select = _INLINE.get(bits)
            if select is None and op.name in fold.FLOAT_SOURCES and bits & fold.SIGN:
                select = _INLINE.get(bits ^ fold.SIGN)
                if select in (ONE, HALF):
                    neg = not neg if not absolute else neg
                else:
                    select = None
            if select is not None:
                return PlacedSource("select", (select, 0), neg, absolute)
            return PlacedSource("literal", bits, neg, absolute)
        if type(ref) is Kcache:
            return PlacedSource("kcache", ref, neg, absolute)
        assert type(ref) is Special
        return PlacedSource("select", (ref.sel, 0), neg, absolute)

    # -- constraints ---------------------------------------------------------------------------------------------------

    def _add(self, slots: list[Slot]) -> bool:
        """Add what an operation does in its slots, if literals, constants and read ports allow."""
        group = self.group
        literals = list(group.literals)
        windows = self.windows
        for slot in slots:
            for source in slot.sources:
                if source.kind == "literal":
                    if source.item not in literals:
                        assert isinstance(source.item, int)
                        literals.append(source.item)
                elif source.kind == "kcache":
                    assert isinstance(source.item, Kcache)
                    found = self._window(windows, source.item)
                    if found is None:
                        return False
                    windows = found
        if len(literals) > _MAX_LITERALS:
            return False
        everyone = group.filled + slots
        if not self._constant_ports(everyone):
            return False
        swizzles = _swizzles(everyone)
        if swizzles is None:
            return False
        for slot, swizzle in zip(everyone, swizzles, strict=True):
            group.slots[slot.slot] = slot if slot.swizzle == swizzle else slot._replace(swizzle=swizzle)
        for slot in slots:
            if slot.result is not None and slot.result.chan < 0:
                slot.result.chan = slot.chan
        group.literals = literals
        self.windows = windows
        return True

    def _window(self, windows: list[Window], constant: Kcache) -> list[Window] | None:
        line = constant.element // _LINE_ELEMENTS
        for k, (buffer, first, lines) in enumerate(windows):
            if buffer != constant.buffer:
                continue
            if first <= line < first + lines:
                return windows
            if lines == 1 and abs(line - first) == 1:
                return [*windows[:k], Window(buffer, min(line, first), 2), *windows[k + 1 :]]
        if len(windows) < self.target.constant_windows:
            return [*windows, Window(constant.buffer, line, 1)]
        return None

    def _constant_ports(self, slots: list[Slot]) -> bool:
        """R600 reads four constants' components a group, later chips two pairs of components."""
        traits = self.target.traits
        ports = {
            (c.buffer, c.element, c.chan // traits.constant_read_components)
            for slot in slots
            for source in slot.sources
            if source.kind == "kcache" and isinstance(c := source.item, Kcache)
        }
        return len(ports) <= traits.constant_reads


_VECTOR_ONLY = table.names(ALU_KINDS, "pred", "kill", "mova", "barrier")
_EXCLUSIVE = _VECTOR_ONLY | LOCAL
"""Operations of which a group has one."""
_QUEUES = ((LDS_OQ_A_POP, 0), (LDS_OQ_B_POP, 0))
_NOT_FORWARDED = PAIRED | QUADS


def _takes_queue(slot: Slot) -> bool:
    """Whether an LDS queue is read: then only VEC_012 and VEC_021 work (LLVM, ``R600InstrInfo.cpp``)."""
    return any(source.kind == "select" and source.item in _QUEUES for source in slot.sources)


def _swizzles(slots: list[Slot]) -> list[int] | None:
    """A bank swizzle for each, so that a cycle reads no component of two registers; None where there is none."""
    reads: list[tuple[list[tuple[int, Value | None]], tuple[tuple[int, ...], ...], int]] = []
    crowded = False
    seen: list[set[Value]] = [set(), set(), set(), set()]
    for slot in slots:
        mine: list[tuple[int, Value | None]] = []
        constants = 0
        in_t = slot.slot == T
        first: Value | None = None
        for k, source in enumerate(slot.sources):
            if source.kind == "value":
                value = source.item
                assert type(value) is Value
                if k == 1 and value is first:
                    continue
                if k == 0:
                    first = value
                mine.append((k, value))
                at = seen[value.chan]
                at.add(value)
                crowded = crowded or len(at) > 1
            elif in_t:
                assert source.kind != "select" or isinstance(source.item, tuple)
                if source.kind == "select" and source.item[0] in (PV, PS):  # type: ignore[index]
                    mine.append((k, None))
                else:
                    constants += 1
        if in_t and constants > 2:
            return None
        reads.append((mine, _SCALAR if in_t else _VECTOR[:2] if _takes_queue(slot) else _VECTOR, constants))
    if not crowded and not any(constants for _, _, constants in reads):
        return [0] * len(slots)
    if any(len(values) > 12 for values in seen):
        return None
    ports: dict[int, Value] = {}
    chosen: list[int] = []

    def solve(at: int) -> bool:
        if at == len(reads):
            return True
        mine, options, constants = reads[at]
        for code, cycles in enumerate(options):
            added: list[int] = []
            for k, value in mine:
                cycle = cycles[k]
                if cycle < constants:
                    break
                if value is None:
                    continue
                port = cycle * 4 + value.chan
                held = ports.get(port)
                if held is None:
                    ports[port] = value
                    added.append(port)
                elif held is not value:
                    break
            else:
                chosen.append(code)
                if solve(at + 1):
                    return True
                chosen.pop()
            for port in added:
                del ports[port]
            if not mine:
                break
        return False

    return chosen if solve(0) else None
