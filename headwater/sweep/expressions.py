"""Input: an expression of a plan and the values of a point. Output: what the expression comes to.

Plans come from files, which may be a stranger's: an expression is read as a tree, of which only arithmetic, comparisons
and a few functions are carried out. It can neither reach objects' attributes nor take long or much memory.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from headwater.errors import UsageError

MOST_CHARACTERS: Final = 1000
_MOST_BITS: Final = 256
"""Of whole numbers: results beyond are refused."""
_MOST_DIGITS: Final = 300
"""That round may leave or take away: about as many as the largest float has."""


def _rounded(number: Any, digits: int = 0) -> Any:
    """Python's round. Of a whole number it would compute 10 to the power of the digits."""
    if abs(digits) > _MOST_DIGITS:
        raise UsageError(f"round takes {_MOST_DIGITS} digits at most")
    return round(number, digits) if digits else round(number)


_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARED: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "int": int,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round": _rounded,
    "sqrt": math.sqrt,
}
_HOLE: Final = re.compile(r"\{([^{}]*)\}")


@functools.lru_cache(maxsize=4096)
def parsed(text: str) -> ast.expr:
    """The tree of an expression. UsageError if it is none."""
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"the expression {text[:40]!r}… has more than {MOST_CHARACTERS} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"{text!r} is no expression", hint="tile * tile <= 256, say") from None


def value(text: str, names: Mapping[str, Any]) -> Any:
    """What the expression comes to with these names: numbers and texts. UsageError for what it may not have, and for
    what cannot be computed."""
    try:
        return _value(parsed(text), names)
    except UsageError as error:
        raise UsageError(f"{text!r}: {error.message}", hint=error.hint) from None
    except (ArithmeticError, ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{text!r}: {error}") from None


def holds(text: str, names: Mapping[str, Any]) -> bool:
    """Whether a constraint is satisfied."""
    return bool(value(text, names))


def filled(template: str, names: Mapping[str, Any]) -> str:
    """A text with each ``{expression}`` replaced by what it comes to."""
    return _HOLE.sub(lambda match: _written(value(match[1], names)), template) if "{" in template else template


def names_in(text: str) -> set[str]:
    """The names of values that an expression asks for, those of figures as ``table.name``."""
    found: set[str] = set()

    def look(node: ast.AST) -> None:
        dotted = _dotted(node)
        if dotted is not None:
            found.add(dotted)
        elif isinstance(node, ast.Call):
            for argument in node.args:
                look(argument)
        else:
            for child in ast.iter_child_nodes(node):
                look(child)

    try:
        look(parsed(text))
    except RecursionError:
        raise UsageError(f"the expression {text[:40]!r}… is nested too deeply") from None
    return found


def names_in_template(template: str) -> set[str]:
    """The names that the expressions of a template ask for."""
    return {name for hole in _HOLE.findall(template) for name in names_in(hole)}


def _written(found: Any) -> str:
    if isinstance(found, float) and found.is_integer() and abs(found) < 2**53:
        return str(int(found))
    return str(found)


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return None


def _value(node: ast.AST, names: Mapping[str, Any]) -> Any:
    name = _dotted(node)
    if name is not None:
        try:
            return names[name]
        except KeyError:
            known = ", ".join(sorted(names)[:20])
            raise UsageError(f"there is no value {name!r}", hint=f"there are {known}" if known else "") from None
    match node:
        case ast.Constant(value=bool() | int() | float() | str()):
            return node.value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _binary(op, _value(left, names), _value(right, names))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand, names))
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, names) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, names) for part in parts)
        case ast.IfExp(test=test, body=body, orelse=other):
            return _value(body if _value(test, names) else other, names)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(_value(part, names) for part in parts)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARED for op in ops):
            before = _value(left, names)
            for comparison, operand in zip(ops, others, strict=True):
                after = _value(operand, names)
                if not _COMPARED[type(comparison)](before, after):
                    return False
                before = after
            return True
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if function in FUNCTIONS:
            return _bounded(FUNCTIONS[function](*(_value(argument, names) for argument in arguments)))
    raise UsageError(
        f"{ast.unparse(node)[:60]} is not allowed in a plan",
        hint=f"numbers, values' names, + - * / // % **, comparisons, and, or, not, if; {', '.join(FUNCTIONS)}",
    )


def _binary(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(left, (str, tuple)) or isinstance(right, (str, tuple)):
        raise UsageError("only numbers can be computed with")
    if isinstance(op, ast.Pow) and isinstance(left, int) and right * max(1, abs(left)).bit_length() > _MOST_BITS:
        raise UsageError(f"{left} ** {right} is too large")
    return _bounded(_BINARY[type(op)](left, right))


def _bounded(found: Any) -> Any:
    if isinstance(found, complex):
        raise UsageError("that is no real number")
    if isinstance(found, int) and abs(found).bit_length() > _MOST_BITS:
        raise UsageError("the number is too large")
    return found
