"""Input: an operation with its operands. Output: its value without executing it, if that is known.

Only what the machine would compute bit for bit: single precision flushes denormal numbers, MUL and MULADD make zero of
zero times anything.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from headwater.isa.vliw import table
from headwater.isa.vliw.compiler.ir import ALU, THREE_SOURCES, Const, Op, Ref, Use, Value

ALL_ONES = 0xFFFFFFFF
SIGN = 0x80000000
ONE = 0x3F800000
_FLOAT = struct.Struct("<f")
_BITS = struct.Struct("<I")

COMMUTATIVE = table.names(("OP2",), "commutes")
FLOAT_SOURCES = frozenset(
    "ADD MUL MUL_IEEE MAX MIN MAX_DX10 MIN_DX10 SETE SETGT SETGE SETNE SETE_DX10 SETGT_DX10 SETGE_DX10 SETNE_DX10 "
    "FRACT TRUNC CEIL RNDNE FLOOR FLT_TO_INT FLT_TO_UINT EXP_IEEE LOG_IEEE LOG_CLAMPED RECIP_IEEE RECIPSQRT_IEEE "
    "SQRT_IEEE SIN COS MULADD MULADD_IEEE FMA DOT4 DOT4_IEEE MOV FLT_TO_INT_TRUNC FLT_TO_INT_FLOOR".split()
)
"""Operations all of whose sources are floats: they take the modifiers of a negation or absolute value."""

MASKS = frozenset(
    "SETE_INT SETNE_INT SETGT_INT SETGE_INT SETGT_UINT SETGE_UINT SETE_DX10 SETNE_DX10 SETGT_DX10 SETGE_DX10".split()
)
"""Comparisons that give all ones or zero."""
_INVERSE = {
    "SETE_INT": ("SETNE_INT", False),
    "SETNE_INT": ("SETE_INT", False),
    "SETGT_INT": ("SETGE_INT", True),
    "SETGE_INT": ("SETGT_INT", True),
    "SETGT_UINT": ("SETGE_UINT", True),
    "SETGE_UINT": ("SETGT_UINT", True),
    "SETE_DX10": ("SETNE_DX10", False),
    "SETNE_DX10": ("SETE_DX10", False),
}
"""What a comparison is when it fails, and whether its operands change places (floats of an order have none: NaN)."""


def to_float(bits: int) -> float:
    """The number that 32 bits are."""
    value: float = _FLOAT.unpack(_BITS.pack(bits))[0]
    return value


def to_bits(value: float) -> int:
    """A number rounded to single precision, as bits; denormal numbers become 0."""
    try:
        bits: int = _BITS.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        bits = 0x7F800000 if value > 0 else 0xFF800000
    return bits & SIGN if not bits & 0x7F800000 else bits


def signed(bits: int) -> int:
    """32 bits as a two's-complement number."""
    return bits - (1 << 32) if bits & SIGN else bits


def _mask(condition: bool) -> int:
    return ALL_ONES if condition else 0


def _flushed(bits: int) -> float:
    return to_float(bits if bits & 0x7F800000 else bits & SIGN)


def _product(a: int, b: int) -> float:
    x, y = _flushed(a), _flushed(b)
    return 0.0 if x == 0 or y == 0 else x * y


def _to_int(value: float, low: int, high: int) -> int:
    if math.isnan(value):
        return 0
    return max(low, min(high, math.trunc(value) if math.isfinite(value) else (high if value > 0 else low))) & ALL_ONES


def _whole(function: Callable[[float], int]) -> Callable[[int], int]:
    def fold(a: int) -> int:
        value = _flushed(a)
        if not math.isfinite(value):
            return a
        return to_bits(math.copysign(float(function(value)), value) if not function(value) else float(function(value)))

    return fold


_CONSTANT: dict[str, Callable[..., int]] = {
    "MOV": lambda a: a,
    "ADD": lambda a, b: to_bits(_flushed(a) + _flushed(b)),
    "MUL": lambda a, b: to_bits(_product(a, b)),
    "MUL_IEEE": lambda a, b: to_bits(_flushed(a) * _flushed(b)),
    "TRUNC": _whole(math.trunc),
    "FLOOR": _whole(math.floor),
    "CEIL": _whole(math.ceil),
    "RNDNE": _whole(round),
    "ADD_INT": lambda a, b: (a + b) & ALL_ONES,
    "SUB_INT": lambda a, b: (a - b) & ALL_ONES,
    "AND_INT": lambda a, b: a & b,
    "OR_INT": lambda a, b: a | b,
    "XOR_INT": lambda a, b: a ^ b,
    "NOT_INT": lambda a: a ^ ALL_ONES,
    "LSHL_INT": lambda a, b: (a << (b & 31)) & ALL_ONES,
    "LSHR_INT": lambda a, b: a >> (b & 31),
    "ASHR_INT": lambda a, b: (signed(a) >> (b & 31)) & ALL_ONES,
    "MAX_INT": lambda a, b: max(signed(a), signed(b)) & ALL_ONES,
    "MIN_INT": lambda a, b: min(signed(a), signed(b)) & ALL_ONES,
    "MAX_UINT": max,
    "MIN_UINT": min,
    "MULLO_INT": lambda a, b: (a * b) & ALL_ONES,
    "MULLO_UINT": lambda a, b: (a * b) & ALL_ONES,
    "MULHI_UINT": lambda a, b: (a * b) >> 32,
    "MULHI_INT": lambda a, b: ((signed(a) * signed(b)) >> 32) & ALL_ONES,
    "SETE_INT": lambda a, b: _mask(a == b),
    "SETNE_INT": lambda a, b: _mask(a != b),
    "SETGT_INT": lambda a, b: _mask(signed(a) > signed(b)),
    "SETGE_INT": lambda a, b: _mask(signed(a) >= signed(b)),
    "SETGT_UINT": lambda a, b: _mask(a > b),
    "SETGE_UINT": lambda a, b: _mask(a >= b),
    "SETE_DX10": lambda a, b: _mask(_flushed(a) == _flushed(b)),
    "SETNE_DX10": lambda a, b: _mask(_flushed(a) != _flushed(b)),
    "SETGT_DX10": lambda a, b: _mask(_flushed(a) > _flushed(b)),
    "SETGE_DX10": lambda a, b: _mask(_flushed(a) >= _flushed(b)),
    "CNDE_INT": lambda a, b, c: b if a == 0 else c,
    "CNDGT_INT": lambda a, b, c: b if signed(a) > 0 else c,
    "CNDGE_INT": lambda a, b, c: b if signed(a) >= 0 else c,
    "INT_TO_FLT": lambda a: to_bits(signed(a)),
    "UINT_TO_FLT": lambda a: to_bits(a),
    "FLT_TO_INT": lambda a: _to_int(_flushed(a), -(1 << 31), (1 << 31) - 1),
    "FLT_TO_UINT": lambda a: _to_int(_flushed(a), 0, ALL_ONES),
    "BFE_UINT": lambda a, b, c: (a >> (b & 31)) & ((1 << (c & 31)) - 1),
}


def constant(name: str, uses: list[Use], clamp: bool, omod: int) -> int | None:
    """The bits that an operation on constants gives, or None."""
    function = _CONSTANT.get(name)
    if function is None or clamp or omod:
        return None
    values = []
    for ref, neg, absolute in uses:
        if type(ref) is not Const:
            return None
        bits = ref.bits & ~SIGN if absolute else ref.bits
        values.append(bits ^ SIGN if neg else bits)
    return function(*values)


def definition(ref: Ref, name: str = "") -> Op | None:
    """The operation that computes a value, if it is a plain one (of that name)."""
    if type(ref) is not Value or ref.op is None:
        return None
    op = ref.op
    if op.kind != ALU or op.clamp or op.omod or (name and op.name != name):
        return None
    return op


def composed(outer: Use, inner: Use) -> Use:
    """The modifiers of a read applied to something that has modifiers."""
    if outer.abs:
        return Use(inner.ref, outer.neg, True)
    return Use(inner.ref, outer.neg != inner.neg, inner.abs)


def with_modifiers(name: str, uses: list[Use]) -> list[Use]:
    """The operands of an operation on floats with negations and absolute values of its sources taken in."""
    if name not in FLOAT_SOURCES:
        return uses
    found = uses
    for k, use in enumerate(uses):
        op = definition(use.ref, "MOV")
        if op is None:
            continue
        merged = composed(use, op.uses[0])
        if (merged.neg or merged.abs or type(merged.ref) is Value) and not (merged.abs and name in THREE_SOURCES):
            if found is uses:
                found = list(uses)
            found[k] = merged
    return found


def inverse(op: Op) -> tuple[str, list[Use]] | None:
    """A comparison that holds where this one does not, or None where there is none."""
    found = _INVERSE.get(op.name)
    if found is None:
        return None
    return found[0], op.uses[::-1] if found[1] else op.uses


def simplified(name: str, uses: list[Use]) -> Use | tuple[str, list[Use]] | None:
    """A shorter way to the same bits: an operand, or another operation; None where there is none."""
    rule = _RULES.get(name)
    return rule(uses) if rule is not None else None


Simpler = Use | tuple[str, list[Use]] | None


def _const(use: Use) -> int | None:
    return use.ref.bits if type(use.ref) is Const and not use.neg and not use.abs else None


def _number(bits: int) -> Use:
    return Use(Const(bits & ALL_ONES))


def _add_int(uses: list[Use]) -> Simpler:
    a, b = uses
    c = _const(b)
    if c == 0:
        return a
    if c is not None:
        op = definition(a.ref, "ADD_INT")
        if op is not None and (inner := _const(op.uses[1])) is not None:
            return "ADD_INT", [op.uses[0], _number(c + inner)]
        op = definition(a.ref, "SUB_INT")
        if op is not None and (inner := _const(op.uses[0])) is not None:
            return "SUB_INT", [_number(c + inner), op.uses[1]]
        return None
    for x, y in ((a, b), (b, a)):
        op = definition(y.ref, "SUB_INT")
        if op is not None and _const(op.uses[0]) == 0:
            return "SUB_INT", [x, op.uses[1]]
    return None


def _sub_int(uses: list[Use]) -> Simpler:
    a, b = uses
    c = _const(b)
    if c is not None:
        return "ADD_INT", [a, _number(-c)]
    if a == b:
        return _number(0)
    if _const(a) == ALL_ONES:
        return "NOT_INT", [b]
    op = definition(b.ref, "SUB_INT")
    if op is not None and _const(op.uses[0]) == 0:
        return "ADD_INT", [a, op.uses[1]]
    return None


def _and_int(uses: list[Use]) -> Simpler:
    a, b = uses
    c = _const(b)
    if c == 0 or a == b:
        return b
    if c == ALL_ONES:
        return a
    if c == 0x7FFFFFFF:
        return "MOV", [Use(a.ref, False, True)]
    if c is not None:
        op = definition(a.ref, "AND_INT")
        if op is not None and (inner := _const(op.uses[1])) is not None:
            return "AND_INT", [op.uses[0], _number(c & inner)]
    if c == ONE:
        return _as_float(a)
    return None


_TO_FLOAT = {"SETE_DX10": "SETE", "SETNE_DX10": "SETNE", "SETGT_DX10": "SETGT", "SETGE_DX10": "SETGE"}


def _as_float(mask: Use) -> Simpler:
    """1.0 where a mask is set, 0 elsewhere."""
    op = definition(mask.ref)
    if op is not None and op.name in _TO_FLOAT:
        return _TO_FLOAT[op.name], op.uses
    return None


def _or_int(uses: list[Use]) -> Simpler:
    a, b = uses
    c = _const(b)
    if c == 0 or a == b:
        return a
    return b if c == ALL_ONES else None


def _xor_int(uses: list[Use]) -> Simpler:
    a, b = uses
    c = _const(b)
    if c == 0:
        return a
    if a == b:
        return _number(0)
    if c == SIGN:
        return "MOV", [Use(a.ref, True)]
    if c == ALL_ONES:
        return "NOT_INT", [a]
    return None


def _not_int(uses: list[Use]) -> Simpler:
    op = definition(uses[0].ref)
    if op is None:
        return None
    if op.name == "NOT_INT":
        return op.uses[0]
    return inverse(op)


def _shift(uses: list[Use]) -> Simpler:
    c = _const(uses[1])
    if c is not None and not c & 31:
        return uses[0]
    return _number(0) if _const(uses[0]) == 0 else None


def _lshr(uses: list[Use]) -> Simpler:
    found = _shift(uses)
    c = _const(uses[1])
    if found is None and c is not None:
        op = definition(uses[0].ref, "LSHL_INT")
        if op is not None and _const(op.uses[1]) == c:
            return "AND_INT", [op.uses[0], _number(ALL_ONES >> (c & 31))]
    return found


def _mul_int(uses: list[Use]) -> Simpler:
    c = _const(uses[1])
    if c == 0:
        return uses[1]
    if c == 1:
        return uses[0]
    if c is not None and not c & (c - 1):
        return "LSHL_INT", [uses[0], _number(c.bit_length() - 1)]
    return None


def _mulhi_uint(uses: list[Use]) -> Simpler:
    c = _const(uses[1])
    if c is not None and not c & (c - 1):
        return "LSHR_INT", [uses[0], _number(33 - c.bit_length())] if c > 1 else [uses[1], uses[1]]
    return None


def _mul_ieee(uses: list[Use]) -> Simpler:
    for x, y in (uses, uses[::-1]):
        c = _const(y)
        if c == ONE:
            return "MOV", [x]
        if c == ONE | SIGN:
            return "MOV", [Use(x.ref, not x.neg, x.abs)]
    return None


def _sete_int(uses: list[Use]) -> Simpler:
    if uses[0] == uses[1]:
        return _number(ALL_ONES)
    if _const(uses[1]) == 0:
        op = definition(uses[0].ref)
        if op is not None:
            return inverse(op)
    return None


def _setne_int(uses: list[Use]) -> Simpler:
    if uses[0] == uses[1]:
        return _number(0)
    if _const(uses[1]) == 0:
        op = definition(uses[0].ref)
        if op is not None and op.name in MASKS:
            return uses[0]
    return None


def _setge_uint(uses: list[Use]) -> Simpler:
    if _const(uses[1]) == 0 or uses[0] == uses[1]:
        return _number(ALL_ONES)
    if _const(uses[1]) == 1:
        return "SETNE_INT", [uses[0], _number(0)]
    return None


def _setgt_uint(uses: list[Use]) -> Simpler:
    if _const(uses[0]) == 0 or uses[0] == uses[1]:
        return _number(0)
    if _const(uses[1]) == 0:
        return "SETNE_INT", [uses[0], uses[1]]
    if _const(uses[0]) == 1:
        return "SETE_INT", [uses[1], _number(0)]
    return None


def _cnde_int(uses: list[Use]) -> Simpler:
    """``c == 0 ? a : b``."""
    condition, a, b = uses
    if a == b:
        return a
    known = _const(condition)
    if known is not None:
        return a if known == 0 else b
    op = definition(condition.ref)
    if op is None:
        return None
    if op.name in MASKS and _const(a) == 0 and _const(b) == ALL_ONES:
        return condition
    if op.name in _TO_FLOAT and _const(a) == 0 and _const(b) == ONE:
        return _TO_FLOAT[op.name], op.uses
    if op.name == "NOT_INT":
        inner = definition(op.uses[0].ref)
        if inner is not None and inner.name in MASKS:
            return "CNDE_INT", [op.uses[0], b, a]
    return _selected(op, a, b)


def _selected(op: Op, a: Use, b: Use) -> Simpler:
    """``comparison with 0 fails ? a : b`` as a selection by the number that is compared."""
    if len(op.uses) != 2:
        return None
    x, y = op.uses
    against = _const(y)
    if against == 0:
        found = {
            "SETE_INT": ("CNDE_INT", [x, b, a]),
            "SETNE_INT": ("CNDE_INT", [x, a, b]),
            "SETGT_INT": ("CNDGT_INT", [x, b, a]),
            "SETGE_INT": ("CNDGE_INT", [x, b, a]),
            "SETE_DX10": ("CNDE", [x, b, a]),
            "SETNE_DX10": ("CNDE", [x, a, b]),
            "SETGT_DX10": ("CNDGT", [x, b, a]),
            "SETGE_DX10": ("CNDGE", [x, b, a]),
        }.get(op.name)
        return None if found is not None and x.abs else found
    if _const(x) == 0 and not y.abs:
        minus = Use(y.ref, not y.neg)
        return {
            "SETE_INT": ("CNDE_INT", [y, b, a]),
            "SETNE_INT": ("CNDE_INT", [y, a, b]),
            "SETGT_INT": ("CNDGE_INT", [y, a, b]),
            "SETGE_INT": ("CNDGT_INT", [y, a, b]),
            "SETE_DX10": ("CNDE", [y, b, a]),
            "SETNE_DX10": ("CNDE", [y, a, b]),
            "SETGT_DX10": ("CNDGT", [minus, b, a]),
            "SETGE_DX10": ("CNDGE", [minus, b, a]),
        }.get(op.name)
    return None


def _select(uses: list[Use]) -> Simpler:
    return uses[1] if uses[1] == uses[2] else None


def _int_to_flt(uses: list[Use]) -> Simpler:
    """Of a pixel's position it is no use to go by way of integers: it is neither large nor NaN."""
    op = definition(uses[0].ref)
    if op is None or op.name not in ("FLT_TO_INT", "FLT_TO_INT_TRUNC"):
        return None
    inner = op.uses[0]
    truncated = definition(inner.ref, "TRUNC")
    if truncated is not None:
        inner = truncated.uses[0]
    if type(inner.ref) is Value and inner.ref.position:
        return "TRUNC", [inner]
    add = definition(inner.ref, "ADD")
    if add is None or inner.neg or inner.abs:
        return None
    position, offset = add.uses
    if type(position.ref) is not Value or not position.ref.position or type(offset.ref) is not Const:
        return None
    moved = to_float(offset.ref.bits)
    if not abs(moved) < 65536.0:
        return None
    return inner if moved % 1.0 == 0.5 else ("TRUNC", [inner])


_INTEGRAL = frozenset(("TRUNC", "FLOOR", "CEIL", "RNDNE", "INT_TO_FLT", "UINT_TO_FLT"))


def _round(uses: list[Use]) -> Simpler:
    op = definition(uses[0].ref)
    if op is not None and op.name in _INTEGRAL:
        return "MOV", [uses[0]]
    return None


def inserted(name: str, uses: list[Use]) -> Simpler:
    """A choice bit by bit as BFI_INT, which Evergreen has: ``m & a | ~m & b``, ``(a ^ b) & m ^ b``."""
    if name not in ("OR_INT", "XOR_INT"):
        return None
    for one, two in (uses, uses[::-1]):
        both = definition(one.ref, "AND_INT")
        if both is None:
            continue
        if name == "XOR_INT":
            for mask, mixed in (both.uses, both.uses[::-1]):
                mix = definition(mixed.ref, "XOR_INT")
                if mix is not None and two in mix.uses:
                    return "BFI_INT", [mask, mix.uses[mix.uses[0] == two], two]
            continue
        rest = definition(two.ref)
        if rest is None:
            continue
        for mask, kept in (both.uses, both.uses[::-1]):
            other = _without(rest, mask)
            if other is not None:
                return "BFI_INT", [mask, kept, other]
    return None


def _without(op: Op, mask: Use) -> Use | None:
    """The number of which an operation takes the bits outside of a mask."""
    if op.name == "AND_INT":
        for inverse_mask, number in (op.uses, op.uses[::-1]):
            outside = definition(inverse_mask.ref, "NOT_INT")
            if outside is not None and outside.uses[0] == mask:
                return number
    if op.name == "XOR_INT":
        for part, number in (op.uses, op.uses[::-1]):
            inside = definition(part.ref, "AND_INT")
            if inside is not None and mask in inside.uses and number in inside.uses:
                return number
    return None


_RULES: dict[str, Callable[[list[Use]], Simpler]] = {
    "ADD_INT": _add_int,
    "SUB_INT": _sub_int,
    "AND_INT": _and_int,
    "OR_INT": _or_int,
    "XOR_INT": _xor_int,
    "NOT_INT": _not_int,
    "LSHL_INT": _shift,
    "LSHR_INT": _lshr,
    "ASHR_INT": _shift,
    "INT_TO_FLT": _int_to_flt,
    "TRUNC": _round,
    "FLOOR": _round,
    "CEIL": _round,
    "RNDNE": _round,
    "MULLO_INT": _mul_int,
    "MULLO_UINT": _mul_int,
    "MULHI_UINT": _mulhi_uint,
    "MUL_IEEE": _mul_ieee,
    "SETE_INT": _sete_int,
    "SETNE_INT": _setne_int,
    "SETGE_UINT": _setge_uint,
    "SETGT_UINT": _setgt_uint,
    "CNDE_INT": _cnde_int,
    "CNDE": _select,
    "CNDGT": _select,
    "CNDGE": _select,
    "CNDGT_INT": _select,
    "CNDGE_INT": _select,
}
