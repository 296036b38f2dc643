"""Input: checked expressions and kernels. Output: what is known about them before they run."""

from __future__ import annotations

from headwater.brook import ast
from headwater.brook.context import KernelInfo
from headwater.brook.types import literal_integer

_COMMUTATIVE = frozenset({"+", "*", "&", "|", "^"})


def integer_constant(node: ast.Expression | None) -> int | None:
    """The value of an expression of integer literals; None for anything else."""
    match node:
        case ast.Number(floating=False):
            try:
                return literal_integer(node.text)
            except ValueError:
                return None
        case ast.Unary(operator="-" | "+"):
            value = integer_constant(node.operand)
            return None if value is None else -value if node.operator == "-" else value
        case ast.Convert():
            return integer_constant(node.operand)
        case ast.Binary():
            left, right = integer_constant(node.left), integer_constant(node.right)
            if left is None or right is None or max(abs(left), abs(right)) >= 1 << 32:
                return None
            match node.operator:
                case "+":
                    return left + right
                case "-":
                    return left - right
                case "*":
                    return left * right
                case "/" if right > 0 and left >= 0:
                    return left // right
                case "%" if right > 0 and left >= 0:
                    return left % right
                case "<<" if 0 <= right < 32 and left >= 0:
                    return left << right
    return None


def floating_constant(node: ast.Expression) -> float | None:
    """The value of a number, with or without a sign, where an ``int`` can hold it; None for anything else."""
    match node:
        case ast.Number():
            value = float(node.text.rstrip("fF")) if node.floating else integer_constant(node)
            return float(value) if value is not None and abs(value) < 1 << 31 else None
        case ast.Unary(operator="-" | "+"):
            value = floating_constant(node.operand)
            return None if value is None else -value if node.operator == "-" else value
        case ast.Convert() if node.operand.type.width == node.type.width:
            return floating_constant(node.operand)
    return None


def owner_offset(node: ast.Expression, stride: int) -> int | None:
    """The offset of an index of the form ``stride * instanceInGroup().x + offset``; None where it has another form."""
    terms = _linear(node)
    return terms[1] if terms is not None and terms[0] == stride else None


def _linear(node: ast.Expression) -> tuple[int, int] | None:
    """``(a, b)`` of an index that is literally ``a * instanceInGroup().x + b``."""
    constant = integer_constant(node)
    if constant is not None:
        return 0, constant
    match node:
        case ast.Convert():
            return _linear(node.operand)
        case ast.Member(name="x", operand=ast.Call(function="instanceInGroup")):
            return 1, 0
        case ast.Binary(operator="+" | "-"):
            left, right = _linear(node.left), _linear(node.right)
            if left is None or right is None:
                return None
            sign = 1 if node.operator == "+" else -1
            return left[0] + sign * right[0], left[1] + sign * right[1]
        case ast.Binary(operator="*"):
            left, right = _linear(node.left), _linear(node.right)
            if left is None or right is None or (left[0] and right[0]):
                return None
            return left[0] * right[1] + right[0] * left[1], left[1] * right[1]
    return None


def folds_commutatively(kernel: KernelInfo) -> bool:
    """Whether a reduction's body is one of the common folds whose operands may change places.

    Recognised: ``b += a`` (also ``* & | ^``), ``b = b + a``, ``b = max(a, b)``, each on whole values or single
    components.
    Others are folded in order.
    """
    accumulator = next(p.name for p in kernel.parameters if p.kind == "reduce")
    element = next(p.name for p in kernel.parameters if p.kind == "input")
    statements = [s for s in kernel.node.body.body if not (isinstance(s, ast.Evaluate) and s.expression is None)]
    return bool(statements) and all(_commutative_statement(s, accumulator, element) for s in statements)


def _commutative_statement(node: ast.Statement, accumulator: str, element: str) -> bool:
    if not isinstance(node, ast.Evaluate) or not isinstance(node.expression, ast.Assign):
        return False
    assign = node.expression
    part = _part(assign.target)
    if part is None or part[0] != accumulator:
        return False
    wanted = {(accumulator, part[1]), (element, part[1])}
    if assign.operator != "=":
        return assign.operator[:-1] in _COMMUTATIVE and _part(assign.value) == (element, part[1])
    match assign.value:
        case ast.Binary(operator=operator, left=left, right=right) if operator in _COMMUTATIVE:
            return {_part(left), _part(right)} == wanted
        case ast.Call(function="max" | "min", arguments=[first, second]):
            return {_part(first), _part(second)} == wanted
    return False


def _part(node: ast.Expression) -> tuple[str, str] | None:
    match node:
        case ast.Name():
            return node.name, ""
        case ast.Member(operand=ast.Name(name=name)):
            return name, node.name
    return None
