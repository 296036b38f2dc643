"""Input: a checked kernel. Output: those of its gather indices that are the position plus a bounded offset.

Most gathers of Brook+ programs read near the thread's own position. Far from the border such an index needs no
clamping, and without it neighbouring threads visibly read neighbouring elements, which is what makes them fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from headwater.brook import ast
from headwater.brook.conditions import Test
from headwater.brook.context import KernelInfo
from headwater.brook.folding import integer_constant
from headwater.brook.types import COMPONENTS, Symbol

_LARGEST = 1 << 20
"""Offsets and factors beyond this are not worth a test."""
EXACT_FLOAT = 1 << 24
"""Integers up to here are exact in single precision."""


@dataclass(frozen=True)
class Affine:
    """``factor * base / divisor + offset`` with an offset in ``[low, high]``.

    ``base`` is a component of the position (a letter), a loop's counter (``"counter"``), or nothing (``""``, a number).
    A counter runs from ``least`` up to ``bound``, an expression of arguments passed by value, which is itself included
    where ``closed``. ``floating``: computed in float, which is exact below 2**24. A divisor above 1 goes with a factor
    of 1.
    """

    base: str
    factor: int
    low: int
    high: int
    floating: bool = False
    divisor: int = 1
    least: int = 0
    bound: ast.Expression | None = None
    closed: bool = False

    def plus(self, other: Affine) -> Affine | None:
        """The sum, where at most one side depends on anything."""
        if self.base and other.base:
            return None
        one, number = (self, other) if self.base else (other, self)
        return _bounded(
            replace(
                one, low=one.low + number.low, high=one.high + number.high, floating=one.floating or number.floating
            )
        )

    def times(self, factor: int) -> Affine | None:
        """The product with a number that is not negative."""
        if factor < 0 or (self.divisor > 1 and factor != 1):
            return None
        return _bounded(replace(self, factor=self.factor * factor, low=self.low * factor, high=self.high * factor))

    def over(self, divisor: int) -> Affine | None:
        """The quotient by a positive number, of a bare component of the position."""
        plain = self.base in set(COMPONENTS) and self.factor == 1 and not (self.low or self.high or self.floating)
        return replace(self, divisor=divisor) if plain and self.divisor == 1 and 0 < divisor <= _LARGEST else None


@dataclass(frozen=True)
class Between:
    """Anything from ``low`` to ``high``, which are parts of tests (see ``conditions``)."""

    low: Test
    high: Test

    def plus(self, number: int) -> Between:
        """The sum with a number."""
        return Between((*self.low, *_offset(number)), (*self.high, *_offset(number)))


Value = Affine | Between | None


@dataclass(frozen=True)
class ClippedIndex:
    """A gather's index that ``max`` and ``min`` or an argument confine: good if its ends are."""

    array: Symbol
    dimension: str
    value: Between


@dataclass(frozen=True)
class PositionIndex:
    """A gather's index of that form: dimension ``dimension`` (a component letter, x fastest) of ``array``."""

    array: Symbol
    dimension: str
    value: Affine


def whole_domain(found: PositionIndex | ClippedIndex) -> tuple[Test, ...] | None:
    """The tests that show an index to be inside its array for every position of a domain that starts at 0.

    None if it is outside for some position of any domain.
    """
    ends = _ends(found.value)
    if ends is None:
        return None
    tests: list[Test] = []
    if isinstance(found.value, Affine) and found.value.floating:
        tests.append((*ends.high, EXACT_FLOAT, "<="))
    match ends.low:
        case (int(number),):
            if number < 0:
                return None
        case _:
            tests.append((0, *ends.low, "<="))
    return (*tests, (*ends.high, f"shape.{found.array.name}.{found.dimension}", "<"))


def _ends(value: Affine | Between) -> Between | None:
    """The least and the greatest value in a whole domain."""
    if isinstance(value, Between):
        return value
    if not value.base:
        return Between((value.low,), (value.high,))
    if value.base == "counter":
        bound = argument_tokens(value.bound) if value.bound is not None else None
        if bound is None:
            return None
        last = (*bound, *_offset(0 if value.closed else -1))
    else:
        last = (f"domain.{value.base}", 1, "-")
    if value.factor > 1:
        last = (*last, value.factor, "*")
    if value.divisor > 1:
        last = (*last, value.divisor, "/")
    return Between((value.factor * value.least + value.low,), (*last, *_offset(value.high)))


def _clip(operator: str, left: Affine | Between | None, right: Affine | Between | None) -> Between | None:
    """The least or greatest (``min``, ``max``) of two values; None where that says nothing of use."""
    one = None if left is None or (isinstance(left, Affine) and left.floating) else _ends(left)
    two = None if right is None or (isinstance(right, Affine) and right.floating) else _ends(right)
    if one is None or two is None:
        return None
    if operator == "max":
        lows = [low[0] for low in (one.low, two.low) if len(low) == 1 and isinstance(low[0], int)]
        low = (max(lows),) if lows and (len(lows) == 2 or max(lows) >= 0) else (*one.low, *two.low, operator)
        return Between(low, (*one.high, *two.high, operator))
    if any(len(low) == 1 and isinstance(low[0], int) and low[0] < 0 for low in (one.low, two.low)):
        return None
    return Between((*one.low, *two.low, operator), (*one.high, *two.high, operator))


def _offset(number: int) -> Test:
    """What adds a number."""
    return () if number == 0 else (number, "+") if number > 0 else (-number, "-")


def argument_tokens(node: ast.Expression) -> Test | None:
    """An expression of arguments passed by value as part of a test; None where it takes a swizzle apart twice."""
    constant = integer_constant(node)
    if constant is not None:
        return (constant,)
    match node:
        case ast.Name():
            return (f"value.{node.name}",) if node.type.width == 1 else None
        case ast.Member(operand=ast.Name(name=name)) if len(node.name) == 1:
            return (f"value.{name}.{node.name}",)
        case ast.Binary():
            left, right = argument_tokens(node.left), argument_tokens(node.right)
            return None if left is None or right is None else (*left, *right, node.operator)
    return None


def _bounded(value: Affine) -> Affine | None:
    return value if max(abs(value.low), abs(value.high), value.factor) <= _LARGEST else None


@dataclass(frozen=True)
class TiledLoop:
    """A counted loop that all work-items run alike and in which they read the same elements one after the other.

    ``gathers``: the arrays read at the counter, by ``id`` of the index expression.
    """

    node: ast.For
    counter: Symbol
    bound: ast.Expression
    closed: bool
    gathers: dict[int, Symbol]


def tiled_loops(kernel: KernelInfo, near: Mapping[int, PositionIndex]) -> list[TiledLoop]:
    """The loops of a kernel whose elements a work-group may bring to local memory tile by tile.

    They are at the kernel's top level, step by one up to an argument, and nothing leaves them or the kernel early, so
    that all work-items reach the same barriers.
    """
    if any(isinstance(statement, ast.Return) for statement in _all_statements(kernel.node.body)):
        return []
    return list(_tiled_loops(kernel.node.body, near))


def _tiled_loops(block: ast.Block, near: Mapping[int, PositionIndex]) -> Iterator[TiledLoop]:
    for node in block.body:
        if isinstance(node, ast.Block):
            yield from _tiled_loops(node, near)
        if not isinstance(node, ast.For) or _breaks(node.body) or not _steps_by_one(node.step):
            continue
        counter = _counter(node)
        if counter is None or counter[1].bound is None or counter[0] in _written(node.body):
            continue
        symbol, value = counter
        gathers: dict[int, Symbol] = {}
        for statement in _all_statements(node.body):
            for own in _own_expressions(statement):
                for expression in _subexpressions(own):
                    if isinstance(expression, ast.Index) and len(expression.indices) == 1:
                        found = near.get(id(expression.indices[0]))
                        if found is not None and found.array.rank == 1 and found.value == value:
                            gathers[id(expression.indices[0])] = found.array
        if gathers and value.bound is not None:
            yield TiledLoop(node, symbol, value.bound, value.closed, gathers)


def _breaks(node: ast.Statement) -> bool:
    """Whether a loop's body may leave the loop."""
    if isinstance(node, (ast.For, ast.While, ast.DoWhile)):
        return False
    if isinstance(node, ast.Jump):
        return node.keyword == "break"
    return any(_breaks(inner) for inner in _inner_statements(node))


def _steps_by_one(step: ast.Expression | None) -> bool:
    return isinstance(step, ast.Unary) or (isinstance(step, ast.Assign) and integer_constant(step.value) == 1)


def has_uneven_loops(kernel: KernelInfo) -> bool:
    """Whether a loop may run longer for one element than for another."""
    loops = [s for s in _all_statements(kernel.node.body) if isinstance(s, (ast.While, ast.DoWhile, ast.For))]
    return any(not isinstance(s, ast.For) or _counter(s) is None or _breaks(s.body) for s in loops) or any(
        has_uneven_loops(callee) for callee in kernel.calls
    )


def position_indices(kernel: KernelInfo) -> tuple[dict[int, PositionIndex], dict[int, ClippedIndex]]:
    """The position indices of a kernel's gathers, by ``id`` of the index expression, and the confined ones that can be
    good in a whole domain.
    """
    finder = _Finder(kernel)
    finder.statements(kernel.node.body.body)
    return finder.found, finder.clipped


class _Finder:
    def __init__(self, kernel: KernelInfo) -> None:
        self.written = _written(kernel.node.body)
        self.known: dict[Symbol, list[Value]] = {}
        self.found: dict[int, PositionIndex] = {}
        self.clipped: dict[int, ClippedIndex] = {}

    # ---- statements

    def statements(self, body: list[ast.Statement]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.Statement) -> None:
        match node:
            case ast.Block():
                self.statements(node.body)
            case ast.Declaration():
                for declarator in node.declarators:
                    if declarator.initializer is not None and declarator.symbol is not None:
                        self._visit(declarator.initializer)
                        if declarator.symbol not in self.written:
                            self.known[declarator.symbol] = self._values(declarator.initializer)
            case ast.For():
                self._for(node)
            case _:
                for expression in _own_expressions(node):
                    self._visit(expression)
                for inner in _inner_statements(node):
                    self._statement(inner)

    def _for(self, node: ast.For) -> None:
        if isinstance(node.start, ast.Declaration):
            self._statement(node.start)
        elif node.start is not None:
            self._visit(node.start)
        counter = _counter(node)
        if counter is not None and counter[0] not in _written(node.body):
            symbol, values = counter
            before = self.known.get(symbol)
            self.known[symbol] = [values]
            self._statement(node.body)
            if before is None:
                del self.known[symbol]
            else:
                self.known[symbol] = before
        else:
            self._statement(node.body)
        for expression in (node.condition, node.step):
            if expression is not None:
                self._visit(expression)

    # ---- expressions

    def _visit(self, node: ast.Expression) -> None:
        for expression in _subexpressions(node):
            if not isinstance(expression, ast.Index) or not isinstance(expression.array, ast.Name):
                continue
            symbol = expression.array.symbol
            if symbol is None or symbol.kind != "gather" or len(expression.indices) != symbol.rank:
                continue
            for place, index in enumerate(expression.indices):
                value = self._values(index)[0]
                dimension = COMPONENTS[symbol.rank - 1 - place]
                if isinstance(value, Between):
                    clipped = ClippedIndex(symbol, dimension, value)
                    if whole_domain(clipped) is not None:
                        self.clipped[id(index)] = clipped
                elif value is not None and _is_useful(value):
                    self.found[id(index)] = PositionIndex(symbol, dimension, value)

    def _values(self, node: ast.Expression) -> list[Value]:
        """What is known of each component of a value."""
        width = max(node.type.width, 1)
        constant = integer_constant(node)
        if constant is not None:
            return [_bounded(Affine("", 0, constant, constant))] * width
        if width == 1 and _is_argument(node):
            tokens = argument_tokens(node)
            return [None if tokens is None else Between(tokens, tokens)]
        match node:
            case ast.Number(floating=True):
                number = float(node.text.rstrip("fF"))
                if number.is_integer() and abs(number) <= _LARGEST:
                    return [Affine("", 0, int(number), int(number), True)]
            case ast.Call(function="instance"):
                return [Affine(c, 1, 0, 0) for c in COMPONENTS]
            case ast.IndexOf():
                return [Affine(c, 1, 0, 0, True) for c in COMPONENTS]
            case ast.Name() if node.symbol in self.known:
                return self.known[node.symbol]
            case ast.Member() if not node.operand.type.is_struct:
                values = self._values(node.operand)
                return [values[COMPONENTS.index(c)] for c in node.name]
            case ast.Construct() if not node.type.is_struct:
                return [self._values(argument)[0] for argument in node.arguments]
            case ast.Cast() | ast.Convert() if node.operand.type.width == width and not node.operand.type.condition:
                if {node.type.base, node.operand.type.base} <= {"int", "float"}:
                    floating = node.type.base == "float"
                    return [_with_floating(value, floating) for value in self._values(node.operand)]
            case ast.Binary(operator="/") if node.type.base == "int":
                divisor = integer_constant(node.right)
                if divisor is not None:
                    return [
                        value.over(divisor) if isinstance(value, Affine) else None for value in self._values(node.left)
                    ]
            case ast.Call(function="max" | "min") if node.type.base == "int":
                left, right = (self._values(argument) for argument in node.arguments)
                return [_clip(node.function, one, two) for one, two in zip(left, right, strict=True)]
            case ast.Binary(operator="+" | "-" | "*"):
                return self._arithmetic(node, width)
        return [None] * width

    def _arithmetic(self, node: ast.Binary, width: int) -> list[Value]:
        result: list[Value] = []
        for left, right in zip(self._values(node.left), self._values(node.right), strict=True):
            if left is None or right is None or isinstance(right, Between):
                result.append(None)
            elif isinstance(left, Between):
                is_number = not right.base and right.low == right.high and not right.floating
                sign = {"+": 1, "-": -1}.get(node.operator)
                result.append(left.plus(sign * right.low) if is_number and sign else None)
            elif node.operator == "+":
                result.append(left.plus(right))
            elif node.operator == "-":
                result.append(None if right.base else left.plus(Affine("", 0, -right.high, -right.low, right.floating)))
            elif not left.base and left.low == left.high:
                result.append(right.times(left.low))
            elif not right.base and right.low == right.high:
                result.append(left.times(right.low))
            else:
                result.append(None)
        return result


def _with_floating(value: Value, floating: bool) -> Value:
    """A value after a conversion: once in float, its exactness keeps its limit."""
    if isinstance(value, Between):
        return None if floating else value
    if value is None or not floating or value.floating:
        return value
    return replace(value, floating=True)


def _is_useful(value: Affine) -> bool:
    """Whether it is worth a test that an index with this value is good."""
    if not value.base or value.factor < 1 or (value.floating and value.low != value.high):
        return False
    return value.base != "counter" or (not value.floating and value.factor * value.least + value.low >= 0)


def _counter(node: ast.For) -> tuple[Symbol, Affine] | None:
    """The variable of ``for (i = low; i < bound; ++i)`` and what it is in the body."""
    symbol: Symbol | None = None
    low: int | None = None
    match node.start:
        case ast.Assign(operator="=", target=ast.Name()):
            assert isinstance(node.start.target, ast.Name)
            symbol, low = node.start.target.symbol, integer_constant(node.start.value)
        case ast.Declaration(declarators=[ast.Declarator()]):
            declarator = node.start.declarators[0]
            symbol, low = declarator.symbol, integer_constant(declarator.initializer)
    if symbol is None or low is None or symbol.kind != "local" or symbol.type.name != "int" or abs(low) > _LARGEST:
        return None
    match node.step:
        case ast.Unary(operator="++" | "x++", operand=ast.Name(symbol=stepped)) if stepped is symbol:
            pass
        case ast.Assign(operator="+=", target=ast.Name(symbol=stepped)) if stepped is symbol:
            step = integer_constant(node.step.value)
            if step is None or not 1 <= step <= _LARGEST:
                return None
        case _:
            return None
    match node.condition:
        case ast.Binary(operator="<" | "<=", left=ast.Name(symbol=tested), right=right) if tested is symbol:
            closed = node.condition.operator == "<="
            bound = integer_constant(right)
            if bound is not None:
                high = bound if closed else bound - 1
                return None if low > high or high > _LARGEST else (symbol, Affine("", 0, low, high))
            if _is_argument(right):
                return symbol, Affine("counter", 1, 0, 0, least=low, bound=right, closed=closed)
    return None


def _is_argument(node: ast.Expression) -> bool:
    """Whether an int expression holds only numbers and arguments passed by value: the caller can compute it."""
    match node:
        case ast.Number(floating=False):
            return node.type.name == "int"
        case ast.Name():
            return node.symbol is not None and node.symbol.kind == "value" and node.symbol.type.base == "int"
        case ast.Member():
            return not node.operand.type.is_struct and _is_argument(node.operand)
        case ast.Binary(operator="+" | "-" | "*" | "/"):
            return node.type.name == "int" and _is_argument(node.left) and _is_argument(node.right)
    return False


def _written(node: ast.Statement) -> set[Symbol]:
    """The variables that a statement may change after their declaration."""
    found: set[Symbol] = set()
    for statement in _all_statements(node):
        for own in _own_expressions(statement):
            for expression in _subexpressions(own):
                targets: list[ast.Expression] = []
                if isinstance(expression, ast.Assign):
                    targets = [expression.target]
                elif isinstance(expression, ast.Unary) and expression.operator.endswith(("++", "--")):
                    targets = [expression.operand]
                elif isinstance(expression, ast.Call) and expression.writes:
                    targets = expression.arguments
                for target in targets:
                    while isinstance(target, ast.Member):
                        target = target.operand
                    if isinstance(target, ast.Name) and target.symbol is not None:
                        found.add(target.symbol)
    return found


def _all_statements(node: ast.Statement) -> Iterator[ast.Statement]:
    yield node
    for inner in _inner_statements(node):
        yield from _all_statements(inner)


def _inner_statements(node: ast.Statement) -> list[ast.Statement]:
    match node:
        case ast.Block():
            return node.body
        case ast.If():
            return [node.yes] if node.no is None else [node.yes, node.no]
        case ast.While() | ast.DoWhile():
            return [node.body]
        case ast.For():
            return [node.body] if not isinstance(node.start, ast.Declaration) else [node.start, node.body]
    return []


def _own_expressions(node: ast.Statement) -> list[ast.Expression]:
    """The expressions that belong to a statement itself."""
    parts: list[ast.Expression | None] = []
    match node:
        case ast.Declaration():
            parts = [declarator.initializer for declarator in node.declarators]
        case ast.Evaluate():
            parts = [node.expression]
        case ast.If() | ast.While() | ast.DoWhile():
            parts = [node.condition]
        case ast.For():
            parts = [node.condition, node.step]
            if isinstance(node.start, ast.Expression):
                parts.append(node.start)
        case ast.Return():
            parts = [node.value]
    return [part for part in parts if part is not None]


def _subexpressions(node: ast.Expression) -> Iterator[ast.Expression]:
    """An expression and all inside it."""
    yield node
    match node:
        case ast.Unary() | ast.Cast() | ast.Convert() | ast.Member():
            yield from _subexpressions(node.operand)
        case ast.Binary():
            yield from _subexpressions(node.left)
            yield from _subexpressions(node.right)
        case ast.Assign():
            yield from _subexpressions(node.target)
            yield from _subexpressions(node.value)
        case ast.Conditional():
            for part in (node.condition, node.yes, node.no):
                yield from _subexpressions(part)
        case ast.Construct() | ast.Call():
            for argument in node.arguments:
                yield from _subexpressions(argument)
        case ast.Index():
            for index in node.indices:
                yield from _subexpressions(index)
