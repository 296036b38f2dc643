"""What an ATI IL program is made of, as plain values that can be compared and printed."""

from __future__ import annotations

from dataclasses import dataclass, field

LANES = "xyzw"


@dataclass(frozen=True, slots=True)
class Index:
    """What stands in a register's brackets: ``register.lane + offset``, or the offset alone."""

    register: Register | None
    lane: str
    offset: int


@dataclass(frozen=True, slots=True)
class Register:
    """``r12``, ``cb0[3]``, ``x0[r1.x + 4]``, ``vTid0``: a kind, a number (None where none is written), an index."""

    kind: str
    number: int | None = None
    index: Index | None = None


@dataclass(frozen=True, slots=True)
class Modifier:
    """One ``_name`` or ``_name(argument, …)`` behind a mnemonic or a register."""

    name: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operand:
    """A register as an instruction uses it.

    ``lanes``: a source's swizzle (letters ``xyzw01``) or a destination's mask (``xyzw_01``), both of four letters;
    "" where none was written. ``column`` counts from 1 and takes no part in comparisons.
    """

    register: Register
    lanes: str = ""
    modifiers: tuple[Modifier, ...] = ()
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Instruction:
    """A line of the program: ``mnemonic`` is the operation's name in the table, without its modifiers.

    ``operands``: the destination first where there is one. ``values``: numbers that are no registers (a literal's four
    words as bits, a function's number, a case's value, a size).
    """

    mnemonic: str
    modifiers: tuple[Modifier, ...] = ()
    operands: tuple[Operand, ...] = ()
    values: tuple[int, ...] = ()
    line: int = field(default=0, compare=False)
    column: int = field(default=1, compare=False)

    def modifier(self, name: str) -> Modifier | None:
        """The modifier of that name, if the instruction carries it."""
        return next((m for m in self.modifiers if m.name == name), None)

    def number(self, name: str) -> int:
        """The number in the parentheses of a modifier: 2 of ``_resource(2)``; 0 if it is not there."""
        found = self.modifier(name)
        if found is None or not found.arguments:
            return 0
        word = found.arguments[0]
        return int(word, 16 if word[:2] in ("0x", "0X") else 10)


@dataclass(frozen=True, slots=True)
class Function:
    """``func number … ret``: its body, the closing ``ret`` and ``endfunc`` left out."""

    number: int
    body: tuple[Instruction, ...]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Program:
    """A shader: ``kind`` is ps, cs, …; ``version`` "2_0" or ""; declarations in order, then main code and functions."""

    kind: str
    version: str
    declarations: tuple[Instruction, ...]
    body: tuple[Instruction, ...]
    functions: tuple[Function, ...] = ()

    def function(self, number: int) -> Function | None:
        """The function of that number."""
        return next((f for f in self.functions if f.number == number), None)
