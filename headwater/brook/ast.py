"""The syntax tree of Brook+ kernels: what the parser builds and the checker annotates, what the emitter reads.

Places are 1-based lines and columns of the prepared text; ``SourceText.span`` turns them into the user's. The checker
fills in
``Expression.type`` and wraps operands in ``Convert`` where a conversion takes place, so that after it nothing is
implicit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.brook.types import VOID, Symbol, Type


@dataclass(eq=False)
class Node:
    """Anything with a place."""

    line: int
    column: int


@dataclass(eq=False)
class Expression(Node):
    """A value; ``type`` is set by the checker."""

    type: Type = field(default=VOID, init=False)


@dataclass(eq=False)
class Number(Expression):
    """A literal as written."""

    text: str
    floating: bool


@dataclass(eq=False)
class Name(Expression):
    """A variable, parameter or array."""

    name: str
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class Unary(Expression):
    """``- + ! ~`` and the prefix and postfix steps; ``operator`` of a postfix step is ``"x++"`` or ``"x--"``."""

    operator: str
    operand: Expression


@dataclass(eq=False)
class Binary(Expression):
    """Two operands; ``,`` included."""

    operator: str
    left: Expression
    right: Expression


@dataclass(eq=False)
class Assign(Expression):
    """``=`` and ``+=`` and its like."""

    operator: str
    target: Expression
    value: Expression


@dataclass(eq=False)
class Conditional(Expression):
    """``condition ? yes : no``."""

    condition: Expression
    yes: Expression
    no: Expression


@dataclass(eq=False)
class Cast(Expression):
    """``(type) operand``."""

    type_name: str
    operand: Expression


@dataclass(eq=False)
class Construct(Expression):
    """``float4(a, b, c, d)``, or braces as an initialiser (``type_name`` empty until checked)."""

    type_name: str
    arguments: list[Expression]


@dataclass(eq=False)
class Call(Expression):
    """A built-in function or another kernel; ``writes``: a kernel with outputs, so that calling it changes
    something.
    """

    function: str
    arguments: list[Expression]
    writes: bool = field(default=False, init=False)


@dataclass(eq=False)
class IndexOf(Expression):
    """``indexof(stream)``."""

    stream: str


@dataclass(eq=False)
class Member(Expression):
    """A swizzle or a struct's member."""

    operand: Expression
    name: str


@dataclass(eq=False)
class Index(Expression):
    """An array's element; ``indices`` are in source order, slowest first, once checked one for each dimension."""

    array: Expression
    indices: list[Expression]


@dataclass(eq=False)
class Convert(Expression):
    """A conversion that the checker put in; never written by the user."""

    operand: Expression


@dataclass(eq=False)
class Statement(Node):
    """Anything in a block."""


@dataclass(eq=False)
class Specifiers:
    """The words before a declarator: a type's name and qualifiers with their places."""

    type_name: str
    qualifiers: list[tuple[str, int, int]]
    line: int
    column: int

    def has(self, qualifier: str) -> bool:
        """Whether the qualifier was written."""
        return any(word == qualifier for word, _, _ in self.qualifiers)


@dataclass(eq=False)
class Declarator(Node):
    """One name of a declaration. ``sizes`` is None where there are no brackets; an entry is None for ``[]``."""

    name: str
    sizes: list[Expression | None] | None
    initializer: Expression | None
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class Declaration(Statement):
    """``type a = 1, b;``"""

    specifiers: Specifiers
    declarators: list[Declarator]


@dataclass(eq=False)
class Block(Statement):
    """``{ … }``; ``end_line`` is the closing brace's."""

    body: list[Statement]
    end_line: int


@dataclass(eq=False)
class If(Statement):
    """``if (condition) yes else no``."""

    condition: Expression
    yes: Statement
    no: Statement | None


@dataclass(eq=False)
class While(Statement):
    """``while (condition) body``."""

    condition: Expression
    body: Statement


@dataclass(eq=False)
class DoWhile(Statement):
    """``do body while (condition);``"""

    body: Statement
    condition: Expression


@dataclass(eq=False)
class For(Statement):
    """``for (start; condition; step) body``."""

    start: Declaration | Expression | None
    condition: Expression | None
    step: Expression | None
    body: Statement


@dataclass(eq=False)
class Jump(Statement):
    """``break`` or ``continue``."""

    keyword: str


@dataclass(eq=False)
class Return(Statement):
    """``return value;``"""

    value: Expression | None


@dataclass(eq=False)
class Evaluate(Statement):
    """An expression as a statement; None for a lone semicolon."""

    expression: Expression | None


@dataclass(eq=False)
class ParameterNode(Node):
    """A kernel's parameter. ``stream``: written with ``<>``; ``extents``: expressions inside it; ``sizes`` as in
    ``Declarator``.
    """

    specifiers: Specifiers
    name: str
    stream: bool
    extents: list[Expression]
    sizes: list[Expression | None] | None


@dataclass(eq=False)
class KernelNode(Node):
    """A kernel with its place at its name."""

    specifiers: Specifiers
    name: str
    parameters: list[ParameterNode]
    body: Block
    attribute: tuple[str, list[Expression], int, int] | None
    lost: frozenset[str] = field(default=frozenset(), init=False)
    """Words of its statements that could not be read."""


@dataclass(eq=False)
class MemberNode(Node):
    """Struct members declared together."""

    specifiers: Specifiers
    names: list[tuple[str, int, int]]


@dataclass(eq=False)
class StructNode(Node):
    """A struct by the names that it can be called."""

    tag: str
    alias: str
    members: list[MemberNode]


@dataclass(eq=False)
class TypedefNode(Node):
    """``typedef float real;``"""

    specifiers: Specifiers
    name: str
