"""Input: a call of a built-in function with printed arguments. Output: the OpenCL C expression that does the same."""

from __future__ import annotations

from headwater.brook.support import Support
from headwater.brook.types import Type

_UNARY, _POSTFIX, _MULTIPLY, _EQUAL = 13, 14, 12, 8
_SAME_NAME = frozenset(
    {
        "exp",
        "log",
        "sqrt",
        "rsqrt",
        "cos",
        "sin",
        "acos",
        "asin",
        "floor",
        "round",
        "fmod",
        "pow",
    }
)


def call_builtin(
    name: str, arguments: list[str], type_: Type, support: Support, *, ordered: bool = False
) -> tuple[str, int]:
    """The text of the call and the level of its outermost operator; ``type_`` is the arguments' type.

    ``ordered``: of ``clamp``, the bounds are numbers of which the first is not above the second.
    """
    joined = ", ".join(arguments)
    real = type_.base in {"float", "double"}
    if name in {"max", "min", "clamp"}:
        if not real:
            return f"{name}({joined})", _POSTFIX
        if name == "clamp":
            return f"{support.clamp(type_, ordered=ordered)}({joined})", _POSTFIX
        return f"{support.extreme(name, type_)}({joined})", _POSTFIX
    if name == "normalize":
        return f"{support.normalize(type_)}({joined})", _POSTFIX
    if name in _SAME_NAME:
        return f"{name}({joined})", _POSTFIX
    if name == "lerp":
        return f"mix({joined})", _POSTFIX
    if name == "frac":
        return f"{support.frac(type_)}({joined})", _POSTFIX
    if name in {"isfinite", "isinf", "isnan"}:
        if type_.width == 1:
            return f"({type_.name}){name}({joined})", _UNARY
        return f"convert_{type_.name}({name}({joined}) & 1)", _POSTFIX
    if name == "abs":
        if real:
            return f"fabs({joined})", _POSTFIX
        return f"as_{type_.name}(abs({joined}))", _POSTFIX
    if name == "sign":
        return (f"{support.sign(type_)}({joined})" if real else _integer_sign(joined, type_)), _POSTFIX
    if name == "dot":
        if type_.width == 1:
            product = " * ".join(_operand(argument) for argument in arguments)
            return (
                (product, _MULTIPLY)
                if type_.base in {"float", "double", "int", "uint"}
                else (f"({type_.base})({product})", _UNARY)
            )
        return f"{'dot' if real else support.dot(type_)}({joined})", _POSTFIX
    if name == "cross":
        return f"{'cross' if real else support.cross(type_)}({joined})", _POSTFIX
    # any() and all() of OpenCL C look at the sign bit, which masks have set.
    if type_.condition:
        return f"{name}({joined})", _POSTFIX
    zero = {"float": "0.0f", "double": "0.0"}.get(type_.base, "0")
    return f"{name}({_operand(joined)} != ({type_.name})({zero}))", _POSTFIX


def _integer_sign(argument: str, type_: Type) -> str:
    if type_.base.startswith("u"):
        return f"min({argument}, ({type_.name})(1))"
    return f"clamp({argument}, ({type_.name})(-1), ({type_.name})(1))"


def _operand(text: str) -> str:
    return text if text.isidentifier() else f"({text})"
