"""Input: a generated kernel's condition and the numbers in it. Output: whether it holds.

A condition is a tuple of tests that must all hold. A test is in reverse Polish notation: numbers, names and the
operators ``+ - * / min max < <= ==``, the last of them a comparison: ``("domain.x", "shape.a.x", 2, "-", "<=")``.
Names are ``domain.x`` (an extent of the domain), ``shape.a.x`` (one of array ``a``), and ``value.n`` or ``value.v.y``
(an int argument, or a component of one). Nothing here imports more than the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Test = tuple[int | str, ...]

_LIMIT = 1 << 31
_OPERATORS = frozenset("+ - * / min max < <= ==".split())


def holds(test: Test, number: Callable[[str], int]) -> bool:
    """Whether a test holds, where ``number`` gives what a name stands for.

    False as well if a number on the way does not fit a kernel's 32-bit int, or something is divided by zero: then the
    kernel may compute something else.
    """
    stack: list[int] = []
    for token in test:
        if type(token) is int:
            stack.append(token)
        elif token not in _OPERATORS:
            stack.append(number(str(token)))
        else:
            right = stack.pop()
            left = stack.pop()
            if token == "<":
                return left < right
            if token == "<=":
                return left <= right
            if token == "==":
                return left == right
            value = _arithmetic(str(token), left, right)
            if value is None:
                return False
            stack.append(value)
    raise ValueError(f"test {test!r} has no comparison")


def remaining(condition: tuple[Test, ...], known: Mapping[str, int]) -> tuple[Test, ...] | None:
    """The tests that still depend on values once the names in ``known`` are, with their numbers in place; None if one
    cannot hold.
    """
    left: list[Test] = []
    for test in condition:
        placed: Test = tuple(known.get(token, token) if isinstance(token, str) else token for token in test)
        if any(isinstance(token, str) and token not in _OPERATORS for token in placed):
            left.append(placed)
        elif not holds(placed, int):
            return None
    return tuple(dict.fromkeys(left))


def _arithmetic(operator: str, left: int, right: int) -> int | None:
    """As C computes it, if it fits an int."""
    if operator == "+":
        value = left + right
    elif operator == "-":
        value = left - right
    elif operator == "*":
        value = left * right
    elif operator in ("min", "max"):
        value = min(left, right) if operator == "min" else max(left, right)
    else:
        if right == 0:
            return None
        value = abs(left) // abs(right)
        if (left < 0) != (right < 0):
            value = -value
    return value if -_LIMIT <= value < _LIMIT else None
