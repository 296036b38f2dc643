"""Input: typed operands. Output: typed OpenCL C, with Python's meaning of the operators.

Integers narrower than 32 bits compute as int32, as in C; wider ones as themselves. Literals take the type of what they
meet. Where a floating-point type meets an integer, the floating-point type wins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

from headwater.python.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    SIZE,
    UINT32,
    UNKNOWN,
    WEAK_FLOAT,
    WEAK_INT,
    Scalar,
    Special,
    Type,
    Vector,
)


class Refused(Exception):
    """Something that the language does not have; the statement's place is added where it is caught."""

    def __init__(self, message: str, hint: str = "", node: Any = None) -> None:
        super().__init__(message)
        self.message, self.hint, self.node = message, hint, node


class Unclear(Exception):
    """An expression with something whose fault has been reported already."""


ATOM, UNARY, MULTIPLY, ADD, SHIFT, COMPARE, EQUAL, AND, XOR, OR, LOGICAL_AND, LOGICAL_OR, TERNARY = range(13, 0, -1)
"""How tightly operators of C bind."""


@dataclass(slots=True, eq=False)
class Expr:
    """A value: its type, its C text and how tightly that binds. ``value``: of a constant. ``positive``: it is not
    below 0. ``pure``: it may be computed twice. ``static``: the Python object that it is, for what is no value of a
    kernel. ``parts``: of a tuple. ``array``: what there is to know of an array. Nobody changes one: it is not frozen
    because thousands are made, and making a frozen one takes three times as long."""

    type: Type
    text: str = ""
    binds: int = ATOM
    value: Any = None
    positive: bool = False
    pure: bool = True
    static: Any = None
    parts: tuple[Expr, ...] = ()
    array: Any = None

    def within(self, binds: int) -> str:
        """The text as an operand of what binds so tightly."""
        return self.text if self.binds >= binds else f"({self.text})"


WEAK: Final = (WEAK_INT, WEAK_FLOAT)
LITERALS: Final = (WEAK_INT, WEAK_FLOAT, BOOL)
"""Types of constants whose operations Python itself computes."""
_MOST_BITS: Final = 4096
"""Of whole numbers in between; Python writes no more than 4,300 digits."""


def constant(value: Any) -> Expr:
    """A literal or a constant number of Python's. Refused for whole numbers far beyond what types hold."""
    if isinstance(value, bool):
        return Expr(BOOL, "true" if value else "false", value=value, positive=True)
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise Refused("this whole number is beyond what types hold")
        return Expr(WEAK_INT, str(value), value=value, positive=value >= 0)
    return Expr(WEAK_FLOAT, repr(value), value=float(value), positive=value >= 0)


def literal(value: Any, kind: Scalar) -> Expr:
    """A number as a literal of C of the type ``kind``. Refused if the type does not hold it."""
    if kind.kind == "b":
        return Expr(BOOL, "true" if value else "false", value=bool(value), positive=True)
    if kind.kind == "f":
        try:
            number = float(value)
        except OverflowError:
            raise Refused(f"this whole number is beyond what {kind.name} holds") from None
        if not math.isfinite(number):
            text = "NAN" if math.isnan(number) else "INFINITY" if number > 0 else "-INFINITY"
            binds = UNARY if text[0] == "-" else ATOM
            return Expr(kind, text if kind.bits == 32 else f"({kind.c}){text}", binds, value=number)
        text = repr(number)
        text += {16: "h", 32: "f"}.get(kind.bits, "")
        return Expr(kind, text, UNARY if text[0] == "-" else ATOM, value=number, positive=number >= 0)
    number = int(value)
    low, high = kind.limits
    if not low <= number <= high:
        wider = next((t for t in ("uint32", "int64", "uint64") if _fits(number, t)), None)
        hint = f"hw.{wider}({number}) says that it is larger" if wider else "no type of 64 bits holds it"
        raise Refused(f"{number} does not fit {kind.name}, which holds {low} to {high}", hint)
    suffix = {("i", 64): "L", ("u", 64): "UL", ("u", 32): "u"}.get((kind.kind, kind.bits), "")
    if number == low < 0 and kind.bits >= 32:
        return Expr(kind, f"({number + 1}{suffix} - 1)", value=number)
    text = f"{number}{suffix}" if kind.bits >= 32 else f"({kind.c}){number}"
    return Expr(kind, text, UNARY if number < 0 or kind.bits < 32 else ATOM, value=number, positive=number >= 0)


def _fits(number: int, name: str) -> bool:
    from headwater.python.types import SCALARS

    low, high = SCALARS[name].limits
    return low <= number <= high


def default_of(kind: Type) -> Type:
    """The type of a variable that has been assigned values of ``kind`` only."""
    return {WEAK_INT: INT32, WEAK_FLOAT: FLOAT32, SIZE: INT32}.get(kind, kind) if isinstance(kind, Special) else kind


def settled(e: Expr) -> Expr:
    """The value with a type of its own: literals as int32 or float32, sizes as int32."""
    if e.type == SIZE:
        return cast(e, INT32)
    if e.type in WEAK:
        wanted = default_of(e.type)
        assert isinstance(wanted, Scalar)
        return convert(e, wanted)
    return e


def cast(e: Expr, kind: Type) -> Expr:
    """``(kind)e`` in C. A size that may be below 0 is one only as an int: as a size_t it has wrapped around."""
    if e.type == SIZE and not e.positive and kind != INT32:
        e = cast(e, INT32)
    text = f"({kind.c}){e.within(UNARY)}"  # type: ignore[attr-defined]
    return Expr(kind, text, UNARY, positive=e.positive and _keeps_sign(e.type, kind), pure=e.pure)


def _keeps_sign(source: Type, target: Type) -> bool:
    if source == SIZE:
        return True  # sizes and ids are below 2**31
    if not isinstance(source, Scalar) or not isinstance(target, Scalar):
        return False
    return source.kind == "b" or target.kind in "uf" or (source.kind == "i" and source.bits <= target.bits)


def number(e: Expr) -> bool:
    """Whether it is one number."""
    return isinstance(e.type, Scalar) or e.type in WEAK or e.type == SIZE


def convert(e: Expr, kind: Type) -> Expr:
    """The value as ``kind``, as an assignment to such an element converts it. Refused if there is no such thing."""
    if e.type == kind:
        return e
    if UNKNOWN in (e.type, kind):
        raise Unclear
    if isinstance(kind, Vector):
        if number(e):
            part = convert(e, kind.element)
            return Expr(kind, f"({kind.c})({part.text})", UNARY, pure=e.pure)
    elif isinstance(kind, Scalar) and number(e):
        if e.value is not None and e.type in WEAK:
            if e.type == WEAK_FLOAT and kind.kind in "iu" and not float(e.value).is_integer():
                raise Refused(f"{e.value} is no whole number, and {kind.name} holds only such", "int(…) cuts it off")
            return literal(e.value, kind)
        if e.type in WEAK:
            return replace(e, type=kind, value=None)
        if kind.kind == "b":
            return truth(e)
        return cast(e, kind)
    raise Refused(f"{named(e)} is no {kind.name}", _why_not(e, kind))


def _why_not(e: Expr, kind: Type) -> str:
    if isinstance(e.type, Vector) and isinstance(kind, Scalar):
        return "take a component: .x, .y, …"
    if isinstance(e.type, Vector) and isinstance(kind, Vector):
        return f"hw.{kind.name}(…) makes one"
    return ""


def named(e: Expr) -> str:
    """What messages call an operand: by its type, or as a literal."""
    if e.type in WEAK and e.value is not None:
        return repr(e.value)
    if e.static is not None and e.type == UNKNOWN:
        return f"{getattr(e.static, '__name__', e.static)!s:.40}"
    return "int32" if e.type == SIZE else e.type.name


def truth(e: Expr) -> Expr:
    """Whether a number is not 0, as a bool."""
    if e.type == BOOL:
        return e
    if e.value is not None and e.type in WEAK:
        return constant(bool(e.value))
    if not number(e):
        raise Refused(f"{named(e)} is neither true nor false", "compare it with something")
    zero = "0" if e.type in (WEAK_INT, SIZE) else literal(0, e.type if isinstance(e.type, Scalar) else FLOAT32).text
    return Expr(BOOL, f"{e.within(EQUAL + 1)} != {zero}", EQUAL, pure=e.pure, positive=True)


def _computes_as(kind: Scalar) -> Scalar:
    return INT32 if kind.kind in "biu" and kind.bits < 32 else kind


def common_type(a: Type, b: Type, what: str) -> Type:
    """The type in which two operands are computed with. Refused where that would have to be guessed."""
    if UNKNOWN in (a, b):
        raise Unclear
    if a == b and not isinstance(a, Scalar):
        return a
    a, b = INT32 if a is SIZE else a, INT32 if b is SIZE else b
    if isinstance(a, Vector) or isinstance(b, Vector):
        if isinstance(a, Vector) and isinstance(b, Vector):
            if a == b:
                return a
            raise Refused(f"{what} of {a.name} and {b.name}", f"convert one: hw.{a.name}(…)")
        wide, other = (a, b) if isinstance(a, Vector) else (b, a)
        assert isinstance(wide, Vector)
        if isinstance(other, Scalar) or other in WEAK:
            if wide.element.kind in "iu" and (other == WEAK_FLOAT or (isinstance(other, Scalar) and other.kind == "f")):
                raise Refused(f"{what} of {wide.name} and {other.name}", "convert one of them")
            return wide
    if a in WEAK and b in WEAK:
        return WEAK_FLOAT if WEAK_FLOAT in (a, b) else WEAK_INT
    if a in WEAK or b in WEAK:
        weak, strong = (a, b) if a in WEAK else (b, a)
        if isinstance(strong, Scalar):
            strong = _computes_as(strong)
            if weak == WEAK_FLOAT and strong.kind != "f":
                return FLOAT64 if strong.bits == 64 else FLOAT32
            return strong
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        a, b = _computes_as(a), _computes_as(b)
        if a == b:
            return a
        if "f" in (a.kind, b.kind):
            if a.kind == b.kind:
                return a if a.bits > b.bits else b
            return a if a.kind == "f" else b
        if a.kind == b.kind or {a.kind: a, b.kind: b}["i"].bits > {a.kind: a, b.kind: b}["u"].bits:
            return a if a.bits > b.bits else b
        signed, unsigned = (a, b) if a.kind == "i" else (b, a)
        raise Refused(
            f"{what} of {a.name} and {b.name}, of which neither holds the other's numbers",
            f"convert one: hw.{unsigned.name}(…), hw.{signed.name}(…)",
        )
    raise Refused(f"{what} of {a.name} and {b.name}", "")


def _one_sign(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Two integers of which one is unsigned: the other as unsigned, if it is not below 0."""
    if a.type is b.type or not isinstance(a.type, Scalar) or not isinstance(b.type, Scalar):
        return a, b
    if {a.type.kind, b.type.kind} == {"i", "u"}:
        signed, unsigned = (a, b) if a.type.kind == "i" else (b, a)
        kind = unsigned.type
        assert isinstance(kind, Scalar)
        assert isinstance(signed.type, Scalar)
        if signed.positive and 32 <= kind.bits >= signed.type.bits:
            return (convert(a, kind), b) if a is signed else (a, convert(b, kind))
    return a, b


_SYMBOLS: Final = {
    "+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY, "//": MULTIPLY, "%": MULTIPLY, "<<": SHIFT, ">>": SHIFT,
    "&": AND, "|": OR, "^": XOR, "**": MULTIPLY,
}  # fmt: skip
_FOLD: Final = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "**": lambda a, b: a**b,
}  # fmt: skip


def _joined(a: Expr, symbol: str, b: Expr, kind: Type, positive: bool = False) -> Expr:
    binds = _SYMBOLS[symbol]
    left = a.within(SHIFT if symbol in "&|^" and a.binds > AND else binds)
    text = f"{left} {symbol} {b.within(binds + 1)}"
    return Expr(kind, text, binds, positive=positive, pure=a.pure and b.pure)


def binary(symbol: str, a: Expr, b: Expr, need: Any) -> Expr:
    """``a symbol b`` as Python means it. ``need(name)``: asks for a function of `headwater.python.helpers` and gives
    its name."""
    if a.value is not None and b.value is not None and a.type in LITERALS and b.type in LITERALS:
        return _folded(symbol, a, b)
    if not (isinstance(a.type, Vector) or number(a)) or not (isinstance(b.type, Vector) or number(b)):
        if UNKNOWN in (a.type, b.type) and not (a.static or b.static):
            raise Unclear
        raise Refused(f"{named(a)} {symbol} {named(b)} is not in the language", "operands are numbers and vectors")
    if symbol in ("<<", ">>"):
        return _shifted(symbol, a, b)
    if symbol in "&|^" and a.type == b.type == BOOL:
        return replace(_joined(a, symbol, b, BOOL, True), type=BOOL)
    if SIZE in (a.type, b.type) and (made := _sizes(symbol, a, b)) is not None:
        return made
    if a.type is SIZE:
        a = cast(a, INT32)
    if b.type is SIZE:
        b = cast(b, INT32)
    a, b = _one_sign(a, b)
    kind = common_type(a.type, b.type, symbol)
    element = kind.element if isinstance(kind, Vector) else kind
    floating = element == WEAK_FLOAT or (isinstance(element, Scalar) and element.kind == "f")
    if symbol in "&|^" and floating:
        raise Refused(f"{named(a)} {symbol} {named(b)}: bits are of integers", "int(…) makes one")
    if symbol == "**":
        return _power(a, b, kind, need)
    if symbol == "/" and not floating:
        if isinstance(kind, Vector):
            raise Refused(f"{named(a)} / {named(b)} of whole numbers gives fractions", "convert to a vector of floats")
        kind = FLOAT64 if isinstance(kind, Scalar) and kind.bits == 64 else FLOAT32
    positive = a.positive and b.positive
    if kind in WEAK:
        return Expr(kind, "0", positive=positive)  # of variables whose type is not known yet
    if isinstance(kind, Vector):
        if symbol in ("//", "%"):
            raise Refused(f"{symbol} of vectors", "of each component")
        a, b = (e if isinstance(e.type, Vector) else convert(e, kind.element) for e in (a, b))
        return _joined(a, symbol, b, kind)
    assert isinstance(kind, Scalar)
    divisor = b.value
    a, b = convert(a, kind), convert(b, kind)
    unsigned = kind.kind == "u"
    if symbol == "//" or (symbol == "%"):
        if divisor == 0 and kind.kind != "f":
            raise Refused(f"{symbol} by 0", "")
        if kind.kind == "f":
            helper = need(f"{'floordiv' if symbol == '//' else 'modulo'}_{kind.c}")
            return Expr(kind, f"{helper}({a.text}, {b.text})", pure=a.pure and b.pure)
        return _floored(symbol, a, b, kind, divisor, positive or unsigned, need)
    if symbol == "&":
        positive = a.positive or b.positive
    return _joined(a, symbol, b, kind, unsigned or (positive and symbol != "-"))


def _folded(symbol: str, a: Expr, b: Expr) -> Expr:
    x, y = a.value, b.value
    if (symbol == "<<" and y > _MOST_BITS) or (
        symbol == "**" and isinstance(x, int) and abs(y) * max(x.bit_length(), 1) > _MOST_BITS
    ):
        raise Refused(f"{x} {symbol} {y} is beyond what types hold", "")
    try:
        made = _FOLD[symbol](x, y)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise Refused(f"{x} {symbol} {y}: {error}", "") from None
    if isinstance(made, complex):
        raise Refused(f"{x} {symbol} {y} is a complex number, which kernels have none of", "")
    return constant(made)


def _sizes(symbol: str, a: Expr, b: Expr) -> Expr | None:
    """Sums and products with sizes stay of 64 bits, which the next assignment cuts off; halves of sizes, too."""
    small = all(e.type in (SIZE, INT32, WEAK_INT) for e in (a, b))
    if not small or any(e.type == WEAK_INT and e.value is None for e in (a, b)):
        return None
    if symbol in "+-*":
        a, b = (literal(e.value, INT32) if e.type == WEAK_INT else e for e in (a, b))
        return _joined(a, symbol, b, SIZE, a.positive and b.positive and symbol != "-")
    if symbol in ("//", "%") and a.type == SIZE and a.positive and b.type == WEAK_INT and b.value > 0:
        return _joined(a, symbol[0], literal(b.value, INT32), SIZE, True)
    return None


def _shifted(symbol: str, a: Expr, b: Expr) -> Expr:
    a, b = settled(a), settled(b)
    for e in (a, b):
        if not isinstance(e.type, Scalar) or e.type.kind == "f":
            raise Refused(f"{named(a)} {symbol} {named(b)}: bits are of integers", "int(…) makes one")
    assert isinstance(a.type, Scalar)
    kind = _computes_as(a.type)
    if b.value is not None and not 0 <= b.value < kind.bits:
        raise Refused(f"{symbol} by {b.value} of {kind.name}, which has {kind.bits} bits", "")
    return _joined(convert(a, kind), symbol, b, kind, kind.kind == "u" or (a.positive and symbol == ">>"))


def _floored(symbol: str, a: Expr, b: Expr, kind: Scalar, divisor: Any, plain: bool, need: Any) -> Expr:
    """Division of integers that rounds down, and the rest that has the sign of the divisor."""
    positive = plain or (symbol == "%" and b.positive)
    if plain:
        return _joined(a, symbol[0], b, kind, True)
    if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        if symbol == "//":
            shift = divisor.bit_length() - 1
            return _joined(a, ">>", Expr(INT32, str(shift)), kind, a.positive) if shift else a
        return _joined(a, "&", literal(divisor - 1, kind), kind, True)
    helper = need(f"{'floordiv' if symbol == '//' else 'modulo'}_{kind.c}")
    return Expr(kind, f"{helper}({a.text}, {b.text})", positive=positive, pure=a.pure and b.pure)


def _power(a: Expr, b: Expr, kind: Type, need: Any) -> Expr:
    if isinstance(kind, Vector):
        raise Refused("** of vectors", "hw.cl.pow of two vectors of floats")
    exponent = b.value if b.type in (WEAK_INT, WEAK_FLOAT) else None
    power_of = None if exponent is None or abs(exponent) >= 2**31 else float(exponent)
    if b.type == WEAK_INT and isinstance(a.type, Scalar):
        base = _computes_as(a.type)
        if base.kind != "f" and exponent is not None and exponent < 0:
            base = FLOAT64 if base.bits == 64 else FLOAT32
        if exponent is not None and base.kind != "f" and exponent > base.bits * 2:
            exponent = None
        a = convert(a, base)
        if exponent is not None and a.pure and a.binds == ATOM and 1 <= exponent <= 4:
            return Expr(base, " * ".join([a.text] * exponent), MULTIPLY, positive=a.positive or exponent % 2 == 0)
        if base.kind == "f":
            power = convert(settled(b), INT32)
            return Expr(base, f"pown({a.text}, {power.text})", pure=a.pure and b.pure)
        kind = base
    if kind in WEAK:
        return Expr(kind, "0")
    assert isinstance(kind, Scalar)
    if kind.kind != "f":
        x, y = convert(a, kind), convert(b, kind)
        return Expr(kind, f"{need(f'power_{kind.c}')}({x.text}, {y.text})", pure=a.pure and b.pure)
    x = convert(a, kind)
    if exponent == 0.5:
        return Expr(kind, f"sqrt({x.text})", pure=a.pure)
    if power_of is not None and power_of.is_integer():
        return Expr(kind, f"pown({x.text}, {int(power_of)})", pure=a.pure)
    if isinstance(b.type, Scalar) and b.type.kind in "iu" and b.type.bits <= 32 and b.type != UINT32:
        return Expr(kind, f"pown({x.text}, {convert(b, INT32).text})", pure=a.pure and b.pure)
    return Expr(kind, f"pow({x.text}, {convert(b, kind).text})", pure=a.pure and b.pure)


def compare(symbol: str, a: Expr, b: Expr) -> Expr:
    """A comparison of two numbers; a signed one is below any unsigned number if it is below 0."""
    if a.value is not None and b.value is not None and a.type in LITERALS and b.type in LITERALS:
        made = {"<": a.value < b.value, "<=": a.value <= b.value, ">": a.value > b.value, ">=": a.value >= b.value,
                "==": a.value == b.value, "!=": a.value != b.value}[symbol]  # fmt: skip
        return constant(made)
    if UNKNOWN in (a.type, b.type) and not (a.static or b.static):
        raise Unclear
    if not number(a) or not number(b):
        hint = "of its components" if isinstance(a.type, Vector) or isinstance(b.type, Vector) else "compare numbers"
        raise Refused(f"{named(a)} {symbol} {named(b)} is not in the language", hint)
    a, b = (cast(e, INT32) if e.type == SIZE else e for e in (a, b))
    a, b = _one_sign(a, b)
    if {getattr(e.type, "kind", "") for e in (a, b)} == {"i", "u"} and all(e.type.bits <= 32 for e in (a, b)):  # type: ignore[attr-defined]
        kind: Type = INT64 if 32 in (a.type.bits, b.type.bits) else INT32  # type: ignore[attr-defined]
    else:
        kind = common_type(a.type, b.type, symbol)
    if kind not in WEAK:
        a, b = convert(a, kind), convert(b, kind)
    binds = EQUAL if symbol in ("==", "!=") else COMPARE
    text = f"{a.within(binds + 1)} {symbol} {b.within(binds + 1)}"
    return Expr(BOOL, text, binds, pure=a.pure and b.pure, positive=True)


def unary(symbol: str, e: Expr) -> Expr:
    """``-e``, ``+e``, ``~e`` and ``not e``."""
    if symbol == "not":
        tested = truth(e)
        return constant(not tested.value) if tested.value is not None else replace(
            tested, text=f"!{tested.within(UNARY)}", binds=UNARY
        )  # fmt: skip
    if e.value is not None and e.type in LITERALS:
        if symbol == "~" and isinstance(e.value, float):
            raise Refused(f"~{e.value}: bits are of integers")
        return constant({"-": lambda v: -v, "+": lambda v: +v, "~": lambda v: ~v}[symbol](e.value))
    if e.type == SIZE:
        e = cast(e, INT32)
    if isinstance(e.type, Vector):
        kind: Type = e.type
    elif isinstance(e.type, Scalar):
        kind = _computes_as(e.type)
        if symbol == "-" and e.type.kind == "u" and e.type.bits >= 32:
            raise Refused(f"-{e.type.name} is below 0, which {e.type.name} does not hold", "convert it to int64 before")
        e = convert(e, kind)
    elif e.type in WEAK:
        return replace(e, positive=False)
    elif e.type == UNKNOWN and e.static is None:
        raise Unclear
    else:
        raise Refused(f"{symbol}{named(e)} is not in the language", "operands are numbers and vectors")
    element = kind.element if isinstance(kind, Vector) else kind
    assert isinstance(element, Scalar)
    if symbol == "~" and element.kind == "f":
        raise Refused(f"~{named(e)}: bits are of integers", "int(…) makes one")
    if symbol == "+":
        return e
    return Expr(kind, f"{symbol}{e.within(UNARY + 1)}", UNARY, pure=e.pure)
