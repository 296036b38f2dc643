"""Input: operations on 32-bit lanes. Output: IL instructions, each with as many lanes as fit one register."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headwater.il.model import LANES, Index, Instruction, Modifier, Operand, Register

_LITERAL_LANES = 4
_RECENT_LITERALS = 64
"""Literals that are looked at for room, or for the same words: of a program with thousands, all take too long."""


@dataclass(frozen=True, slots=True)
class Lane:
    """32 bits: a lane of a register, or a constant (no register), perhaps without its sign bit or with it flipped."""

    register: Register | None = None
    lane: str = "x"
    bits: int = 0
    negative: bool = False
    absolute: bool = False

    @property
    def plain(self) -> bool:
        """Whether its bits are those that stand there."""
        return not (self.negative or self.absolute)


def constant(value: int) -> Lane:
    """The low 32 bits of a number as a lane."""
    return Lane(bits=value & 0xFFFFFFFF)


def negated(lane: Lane) -> Lane:
    """The lane with its sign bit flipped."""
    if lane.register is None:
        return Lane(bits=lane.bits ^ 0x80000000)
    return replace(lane, negative=not lane.negative)


def absolute(lane: Lane) -> Lane:
    """The lane with its sign bit cleared."""
    if lane.register is None:
        return Lane(bits=lane.bits & 0x7FFFFFFF)
    return replace(lane, negative=False, absolute=True)


def buffer_lane(number: int, element: int, lane: str) -> Lane:
    """A lane of a constant buffer."""
    return Lane(Register("cb", number, Index(None, "", element)), lane)


class Builder:
    """Instructions in order, the registers and the literals that they use."""

    def __init__(self) -> None:
        self.code: list[Instruction] = []
        self.line = 0
        self._registers = 0
        self.literals: list[list[int]] = []
        self._literal_of: dict[int, int] = {}

    def new(self, count: int) -> list[Lane]:
        """Lanes of fresh registers, each register filled from x on."""
        out: list[Lane] = []
        while len(out) < count:
            register = Register("r", self._registers)
            self._registers += 1
            out += [Lane(register, lane) for lane in LANES[: count - len(out)]]
        return out

    # -- instructions --------------------------------------------------------------------------------------------------

    def put(
        self,
        mnemonic: str,
        *operands: Operand,
        modifiers: Sequence[Modifier] = (),
        values: tuple[int, ...] = (),
    ) -> None:
        """One instruction, as it is."""
        self.code.append(Instruction(mnemonic, tuple(modifiers), operands, values, line=self.line))

    def each(
        self, mnemonic: str, *sources: Sequence[Lane], floats: bool = False, modifiers: Sequence[Modifier] = ()
    ) -> list[Lane]:
        """An operation that works lane by lane; ``floats``: it takes signs as modifiers of its sources."""
        made = self.new(len(sources[0]))
        self.into(made, mnemonic, *sources, floats=floats, modifiers=modifiers)
        return made

    def into(
        self,
        targets: Sequence[Lane],
        mnemonic: str,
        *sources: Sequence[Lane],
        floats: bool = False,
        modifiers: Sequence[Modifier] = (),
    ) -> None:
        """The same, into given lanes. Lanes whose operands stand in the same registers make one instruction."""
        if not floats:
            sources = tuple(self.plain(source) for source in sources)
        waiting = list(range(len(targets)))
        while waiting:
            group = [waiting[0]]
            for k in waiting[1:]:
                if self._same_target(targets, group, k) and all(self._same_source(s, group, k) for s in sources):
                    group.append(k)
            waiting = [k for k in waiting if k not in group]
            target = targets[group[0]]
            assert target.register is not None
            places = {targets[k].lane: k for k in group}
            mask = "".join(lane if lane in places else "_" for lane in LANES)
            operands = [Operand(target.register, mask)]
            operands += [self.operand({lane: source[k] for lane, k in places.items()}) for source in sources]
            self.put(mnemonic, *operands, modifiers=modifiers)

    @staticmethod
    def _same_target(targets: Sequence[Lane], group: list[int], k: int) -> bool:
        first = targets[group[0]]
        return targets[k].register == first.register and all(targets[g].lane != targets[k].lane for g in group)

    @staticmethod
    def _same_source(source: Sequence[Lane], group: list[int], k: int) -> bool:
        one, other = source[group[0]], source[k]
        if one.register != other.register:
            return False
        return one.negative == other.negative and one.absolute == other.absolute

    def plain(self, lanes: Sequence[Lane]) -> list[Lane]:
        """The lanes, those with another sign moved to where it is their own."""
        signed = [k for k, lane in enumerate(lanes) if not lane.plain]
        if not signed:
            return list(lanes)
        made = iter(self.each("mov", [lanes[k] for k in signed], floats=True))
        return [next(made) if k in signed else lane for k, lane in enumerate(lanes)]

    # -- operands ------------------------------------------------------------------------------------------------------

    def operand(self, lanes: dict[str, Lane]) -> Operand:
        """A source that has these lanes at these places; they are all of one register, or constants."""
        first = next(iter(lanes.values()))
        if first.register is None:
            register, letters = self._literal([lane.bits for lane in lanes.values()])
        else:
            register, letters = first.register, [lane.lane for lane in lanes.values()]
        placed = dict(zip(lanes, letters, strict=True))
        swizzle = "".join(placed.get(place, letters[0]) for place in LANES)
        modifiers = []
        if first.absolute:
            modifiers.append(Modifier("abs"))
        if first.negative:
            modifiers.append(Modifier("neg", ("xyzw",)))
        return Operand(register, swizzle, tuple(modifiers))

    def scalar(self, lane: Lane) -> Operand:
        """A source for an operation that takes one lane."""
        return self.operand(dict.fromkeys(LANES, lane))

    def vector(self, lanes: Sequence[Lane], *, floats: bool = False) -> Operand:
        """A source whose first lanes are these, up to four; they are gathered in one register if they are not."""
        if not floats:
            lanes = self.plain(lanes)
        first = lanes[0]
        if not all(self._same_source(lanes, [0], k) for k in range(len(lanes))) or (
            first.register is None and len({lane.bits for lane in lanes}) > _LITERAL_LANES
        ):
            made = self.new(len(lanes))
            self.into(made, "mov", lanes, floats=True)
            lanes = made
        return self.operand(dict(zip(LANES, lanes, strict=False)))

    def target(self, lanes: Sequence[Lane]) -> Operand:
        """A destination: lanes of one register, in order."""
        first = lanes[0]
        assert first.register is not None
        written = {lane.lane for lane in lanes}
        return Operand(first.register, "".join(lane if lane in written else "_" for lane in LANES))

    def _literal(self, words: list[int]) -> tuple[Register, list[str]]:
        """A literal with these words, and where in it each is."""
        wanted = list(dict.fromkeys(words))
        recent = range(max(0, len(self.literals) - _RECENT_LITERALS), len(self.literals))
        with_room = (k for k in recent if len({*self.literals[k], *wanted}) <= _LITERAL_LANES)
        number = self._literal_of.get(wanted[0]) if recent.start and len(wanted) == 1 else None
        if number is None:
            number = next(with_room, len(self.literals))
        if number == len(self.literals):
            self.literals.append([])
        held = self.literals[number]
        held += [word for word in wanted if word not in held]
        self._literal_of |= dict.fromkeys(wanted, number)
        return Register("l", number), [LANES[held.index(word)] for word in words]

    def literal_declarations(self) -> Iterable[Instruction]:
        """What declares the literals."""
        for number, held in enumerate(self.literals):
            words = (*held, *([0] * (_LITERAL_LANES - len(held))))
            yield Instruction("dcl_literal", (), (Operand(Register("l", number)),), words)
