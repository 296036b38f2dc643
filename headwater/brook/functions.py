"""The built-in functions of Brook+ 1.4. Input: a name. Output: what it accepts and gives.

The accepted set is that of the original compiler (Brook+ 1.4.1, ``cgBuiltin.cpp``); all arguments of a call have one
type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_REAL = frozenset({"float", "double"})
_SIGNED = frozenset({"char", "short", "int"})
_INTEGERS = frozenset({"char", "uchar", "short", "ushort", "int", "uint"})

Result = Literal["same", "component", "condition"]


@dataclass(frozen=True)
class Function:
    """``bases`` may be the arguments' base types, in ``widths`` components; ``result`` is the argument type, one
    component, or a truth.
    """

    name: str
    arity: int
    bases: frozenset[str]
    widths: tuple[int, ...] = (1, 2, 3, 4)
    result: Result = "same"


def _table() -> dict[str, Function]:
    table: dict[str, Function] = {}
    for name in ("exp log sqrt rsqrt cos sin acos asin isfinite isinf isnan frac floor round").split():
        table[name] = Function(name, 1, _REAL)
    for name in ("pow", "fmod"):
        table[name] = Function(name, 2, _REAL)
    for name in ("clamp", "lerp"):
        table[name] = Function(name, 3, _REAL)
    table["sign"] = Function("sign", 1, _REAL | _INTEGERS)
    table["abs"] = Function("abs", 1, _REAL | _SIGNED)
    table["max"] = Function("max", 2, _REAL | _INTEGERS)
    table["min"] = Function("min", 2, _REAL | _INTEGERS)
    table["dot"] = Function("dot", 2, _REAL | _INTEGERS, result="component")
    table["normalize"] = Function("normalize", 1, _REAL, (2, 3, 4))
    table["any"] = Function("any", 1, _REAL | _INTEGERS, (2, 3, 4), "condition")
    table["all"] = Function("all", 1, _REAL | _INTEGERS, (2, 3, 4), "condition")
    table["cross"] = Function("cross", 2, frozenset({"float"}) | _SIGNED, (3,))
    return table


FUNCTIONS: dict[str, Function] = _table()

ELSEWHERE: dict[str, str] = {
    "tan": "sin(x) / cos(x)",
    "log2": "log(x) / 0.69314718f",
    "log10": "log(x) / 2.30258509f",
    "exp2": "exp(x * 0.69314718f)",
    "ceil": "-floor(-x)",
    "saturate": "clamp(x, 0.0f, 1.0f)",
    "fabs": "abs(x)",
    "length": "sqrt(dot(x, x))",
    "mix": "lerp(x, y, t)",
    "floorf": "floor(x)",
    "sqrtf": "sqrt(x)",
    "fmin": "min(x, y)",
    "fmax": "max(x, y)",
    "atan": "asin(x / sqrt(1.0f + x * x))",
}
"""Functions of other languages that Brook+ does not have, and how to write them."""

POSITION_FUNCTIONS = frozenset({"instance", "instanceInGroup", "syncGroup"})
