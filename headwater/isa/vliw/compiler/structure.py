"""Input: an IL program's lines. Output: its statements as a tree, every call inlined.

What IL can say and the tree cannot is rewritten: a return in the middle becomes a flag and the ifs behind it, a switch
becomes ifs, or a loop of one trip where cases fall through or break from within.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from headwater.errors import SourceError, Span
from headwater.il.model import Instruction, Operand, Program
from headwater.isa.vliw.compiler.environment import Key

MAX_STATEMENTS = 200_000
"""Inlined statements that a program may have, of which 10,000 take the compiler and the emulator some 20 s; a clause of
128 slots each would still reach them."""


@dataclass(frozen=True, slots=True)
class Flag:
    """Whether a flag of the compiler's own is set (``when``) or not."""

    number: int
    when: bool = True


@dataclass(frozen=True, slots=True)
class Cases:
    """Whether a switch's operand is one of some values (``when``) or none of them."""

    made: Instruction
    operand: Operand
    values: tuple[int, ...]
    when: bool = True


Condition: TypeAlias = Instruction | Flag | Cases


@dataclass(frozen=True, slots=True)
class SetFlag:
    """A flag of the compiler's own gets a value."""

    number: int
    value: int


@dataclass(eq=False, slots=True)
class Branch:
    """An if; ``assigned``: the variables that it assigns and that may be read behind it, see `scopes`."""

    condition: Condition
    then: list[Node]
    other: list[Node]
    assigned: set[Key] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class Repeat:
    """A loop without end; ``assigned``: the variables that it assigns and that may be read in another turn or behind
    it, see `scopes`."""

    body: list[Node]
    assigned: set[Key] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class Leave:
    """break, continue or ret, where the condition says so."""

    kind: str
    condition: Condition | None = None


Node: TypeAlias = "Instruction | SetFlag | Branch | Repeat | Leave"

_NEVER, _MAYBE, _ALWAYS = range(3)
_OPEN_IF = ("if_logicalnz", "if_logicalz", "ifnz", "ifc")


def build(program: Program, filename: str) -> list[Node]:
    """The main program as a tree, its returns gone. SourceError for an inlined program beyond `MAX_STATEMENTS`."""
    return _Builder(program, filename).main()


def refuse_long(program: Program, filename: str) -> None:
    """SourceError for a main program that is too long before its functions are inlined: looking at all of it takes
    long."""
    count = 0
    for made in program.body:
        count += made.mnemonic not in _NO_STATEMENTS
        if count > MAX_STATEMENTS:
            raise _too_long(made, filename, "")


_NO_STATEMENTS = frozenset(("else", "endif", "endloop", "endswitch", "case", "default", "endmain", "end"))


def _too_long(made: Instruction, filename: str, inlined: str) -> SourceError:
    return SourceError(
        f"{inlined}the program has more than {MAX_STATEMENTS} statements, the most that are compiled for a VLIW chip",
        Span(filename, made.line, made.column),
        hint="calls are inlined: make it call less often" if inlined else "make several programs of it",
    )


class _Builder:
    def __init__(self, program: Program, filename: str) -> None:
        self.program = program
        self.filename = filename
        self.flags = 0
        self.bodies: dict[int, tuple[list[Node], int]] = {}
        self.count = 0
        self.lines: tuple[Instruction, ...] = ()
        self.at = 0

    def main(self) -> list[Node]:
        return self.body(self.program.body)

    def body(self, lines: tuple[Instruction, ...]) -> list[Node]:
        """Main code or a function, without its returns."""
        outside = self.lines, self.at
        self.lines, self.at = lines, 0
        nodes = self.block(())
        self.lines, self.at = outside
        flag = self.new_flag()
        lowered, returns = self.without_returns(nodes, flag, False)
        return lowered if returns == _NEVER else [SetFlag(flag, 0), *lowered]

    def new_flag(self) -> int:
        self.flags += 1
        return self.flags

    def counted(self, amount: int, made: Instruction) -> None:
        self.count += amount
        if self.count > MAX_STATEMENTS:
            raise _too_long(made, self.filename, "with its functions in place of their calls " if self.bodies else "")

    def function(self, number: int, made: Instruction) -> list[Node]:
        known = self.bodies.get(number)
        if known is None:
            found = self.program.function(number)
            assert found is not None
            before = self.count
            body = self.body(found.body)
            known = self.bodies[number] = body, self.count - before
        else:
            self.counted(known[1], made)
        return known[0]

    # -- blocks --------------------------------------------------------------------------------------------------------

    def block(self, ends: tuple[str, ...]) -> list[Node]:
        """Statements up to one of the ends, which is not taken."""
        nodes: list[Node] = []
        while self.at < len(self.lines) and self.lines[self.at].mnemonic not in ends:
            made = self.lines[self.at]
            self.at += 1
            self.counted(1, made)
            name = made.mnemonic
            if name in _OPEN_IF:
                then = self.block(("else", "endif"))
                other: list[Node] = []
                if self.lines[self.at].mnemonic == "else":
                    self.at += 1
                    other = self.block(("endif",))
                self.at += 1
                nodes.append(Branch(made, then, other))
            elif name == "whileloop":
                nodes.append(Repeat(self.block(("endloop",))))
                self.at += 1
            elif name == "switch":
                nodes += self.switch(made)
            elif name.startswith(("break", "continue", "ret")):
                kind = next(k for k in ("break", "continue", "ret") if name.startswith(k))
                nodes.append(Leave(kind, made if made.operands else None))
            elif name == "call":
                nodes += self.function(made.values[0], made)
            elif name.startswith("call"):
                nodes.append(Branch(made, list(self.function(made.values[0], made)), []))
            else:
                nodes.append(made)
        return nodes

    # -- switches ------------------------------------------------------------------------------------------------------

    def switch(self, made: Instruction) -> list[Node]:
        cases: list[tuple[tuple[int, ...], bool, list[Node]]] = []
        while self.lines[self.at].mnemonic != "endswitch":
            values: list[int] = []
            default = False
            while self.lines[self.at].mnemonic in ("case", "default"):
                label = self.lines[self.at]
                default = default or label.mnemonic == "default"
                values += label.values
                self.at += 1
            body = self.block(("case", "default", "endswitch"))
            if values or default:
                cases.append((tuple(values), default, body))
        self.at += 1
        known = tuple(value for values, _, _ in cases for value in values)

        def test(values: tuple[int, ...], default: bool) -> Cases:
            if default:
                return Cases(made, made.operands[0], tuple(v for v in known if v not in values), when=False)
            return Cases(made, made.operands[0], values)

        if all(_closed(body, last=k == len(cases) - 1) for k, (_, _, body) in enumerate(cases)):
            chain: list[Node] = []
            ordered = [c for c in cases if not c[1]] + [c for c in cases if c[1]]
            for labels, default, body in reversed(ordered):
                kept = body[:-1] if body and _is_break(body[-1]) else body
                chain = list(kept) if default else [Branch(test(labels, False), kept, chain)]
            return chain
        running, continued = self.new_flag(), self.new_flag()
        inside: list[Node] = []
        for labels, default, body in cases:
            inside.append(Branch(test(labels, default), [SetFlag(running, 1)], []))
            inside.append(Branch(Flag(running), self.without_continues(body, continued), []))
        loop = Repeat([*inside, Leave("break")])
        return (
            [SetFlag(running, 0), SetFlag(continued, 0), loop, Leave("continue", Flag(continued))]
            if _continues([n for _, _, body in cases for n in body])
            else [SetFlag(running, 0), loop]
        )

    def without_continues(self, nodes: list[Node], flag: int) -> list[Node]:
        """Continues of the loop around a switch, as breaks of the switch that set a flag."""
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, Leave) and node.kind == "continue":
                leaving: list[Node] = [SetFlag(flag, 1), Leave("break")]
                found += leaving if node.condition is None else [Branch(node.condition, leaving, [])]
            elif isinstance(node, Branch):
                then, other = self.without_continues(node.then, flag), self.without_continues(node.other, flag)
                found.append(Branch(node.condition, then, other))
            else:
                found.append(node)
        return found

    # -- returns -------------------------------------------------------------------------------------------------------

    def without_returns(self, nodes: list[Node], flag: int, in_loop: bool) -> tuple[list[Node], int]:
        """The nodes with each return as the setting of a flag, what follows it skipped; whether they return."""
        found: list[Node] = []
        returns = _NEVER
        for k, node in enumerate(nodes):
            if isinstance(node, Leave) and node.kind == "ret":
                if node.condition is not None:
                    rest = [Branch(node.condition, [Leave("ret")], []), *nodes[k + 1 :]]
                    more, then = self.without_returns(rest, flag, in_loop)
                    return found + more, then
                found.append(SetFlag(flag, 1))
                if in_loop:
                    found.append(Leave("break"))
                return found, _ALWAYS
            if isinstance(node, Branch):
                then_nodes, then = self.without_returns(node.then, flag, in_loop)
                other_nodes, other = self.without_returns(node.other, flag, in_loop)
                if then == other == _NEVER:
                    found.append(Branch(node.condition, then_nodes, other_nodes))
                    continue
                if in_loop:
                    found.append(Branch(node.condition, then_nodes, other_nodes))
                    returns = _MAYBE
                    if then == other == _ALWAYS:
                        return found, _ALWAYS
                    continue
                rest, after = self.without_returns(nodes[k + 1 :], flag, in_loop)
                if then == _ALWAYS and other != _MAYBE:
                    merged = Branch(node.condition, then_nodes, other_nodes + (rest if other == _NEVER else []))
                    return [*found, merged], _ALWAYS if other == _ALWAYS or after == _ALWAYS else _MAYBE
                if other == _ALWAYS and then == _NEVER:
                    merged = Branch(node.condition, then_nodes + rest, other_nodes)
                    return [*found, merged], _ALWAYS if after == _ALWAYS else _MAYBE
                found.append(Branch(node.condition, then_nodes, other_nodes))
                if rest:
                    found.append(Branch(Flag(flag, False), rest, []))
                return found, _MAYBE
            if isinstance(node, Repeat):
                body, inner = self.without_returns(node.body, flag, True)
                found.append(Repeat(body))
                if inner == _NEVER:
                    continue
                returns = _MAYBE
                if in_loop:
                    found.append(Leave("break", Flag(flag)))
                    continue
                rest, _ = self.without_returns(nodes[k + 1 :], flag, in_loop)
                if rest:
                    found.append(Branch(Flag(flag, False), rest, []))
                return found, _MAYBE
            found.append(node)
            if isinstance(node, Leave) and node.condition is None:
                return found, returns
        return found, returns


def _is_break(node: Node) -> bool:
    return isinstance(node, Leave) and node.kind == "break" and node.condition is None


def _closed(body: list[Node], *, last: bool) -> bool:
    """Whether a case ends by its last statement and breaks nowhere else."""
    ends = bool(body) and isinstance(body[-1], Leave) and body[-1].condition is None
    if not ends and not last:
        return False
    return not _breaks(body[:-1] if body and _is_break(body[-1]) else body)


def _breaks(nodes: list[Node]) -> bool:
    return any(
        (isinstance(n, Leave) and n.kind == "break")
        or (isinstance(n, Branch) and (_breaks(n.then) or _breaks(n.other)))
        for n in nodes
    )


def _continues(nodes: list[Node]) -> bool:
    return any(
        (isinstance(n, Leave) and n.kind == "continue")
        or (isinstance(n, Branch) and (_continues(n.then) or _continues(n.other)))
        for n in nodes
    )
