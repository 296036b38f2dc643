"""Input: operations on i64 and double, two lanes each. Output: IL on halves or on pairs of lanes."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.il.from_llvm.builder import Lane, absolute, constant, negated
from headwater.il.from_llvm.context import Context

Pair = tuple[Lane, Lane]
"""Low and high word."""


def pairs(lanes: Sequence[Lane]) -> list[Pair]:
    """The lanes of components of 64 bits, two by two."""
    return list(zip(lanes[::2], lanes[1::2], strict=True))


def flat(values: Sequence[Pair]) -> list[Lane]:
    """The way back."""
    return [lane for pair in values for lane in pair]


# -- integers ----------------------------------------------------------------------------------------------------------


def add(c: Context, a: Pair, b: Pair) -> Pair:
    """a + b: the comparison that tells of a carry is -1."""
    low = c.one("iadd", a[0], b[0])
    high = c.one("iadd", a[1], b[1])
    if 0 in (a[0].bits if a[0].register is None else 1, b[0].bits if b[0].register is None else 1):
        return low, high  # nothing is carried
    carry = c.one("ult", low, b[0])  # all ones, which is -1
    return low, c.one("isub", high, carry)


def subtract(c: Context, a: Pair, b: Pair) -> Pair:
    """a - b."""
    borrow = c.one("ult", a[0], b[0])
    high = c.one("isub", a[1], b[1])
    return c.one("isub", a[0], b[0]), c.one("iadd", high, borrow)


def multiply(c: Context, a: Pair, b: Pair) -> Pair:
    """a * b, the low 64 bits."""
    low = c.one("umul", a[0], b[0])
    high = c.one("umul_high", a[0], b[0])
    for x, y in ((a[0], b[1]), (a[1], b[0])):
        if not any(lane.register is None and lane.bits == 0 for lane in (x, y)):
            high = c.one("iadd", high, c.one("umul", x, y))
    return low, high


def multiply_checked(c: Context, a: Pair, b: Pair) -> tuple[Pair, Lane]:
    """a * b without signs, the low 64 bits, and whether there are more."""
    low, high = c.one("umul", a[0], b[0]), c.one("umul_high", a[0], b[0])
    over = c.one("iand", c.one("ine", a[1], 0), c.one("ine", b[1], 0))
    for x, y in ((a[0], b[1]), (a[1], b[0])):
        over = c.one("ior", over, c.one("ine", c.one("umul_high", x, y), 0))
        part = c.one("umul", x, y)
        high = c.one("iadd", high, part)
        over = c.one("ior", over, c.one("ult", high, part))
    return (low, high), over


def integer_magnitude(c: Context, a: Pair) -> Pair:
    """abs of 64 bits; the least number stays."""
    return select(c, c.one("ilt", a[1], 0), subtract(c, (constant(0), constant(0)), a), a)


def logic(c: Context, mnemonic: str, a: Pair, b: Pair) -> Pair:
    """and, or, xor of both words."""
    low, high = c.one(mnemonic, a[0], b[0]), c.one(mnemonic, a[1], b[1])
    return low, high


def shift(c: Context, op: str, a: Pair, by: Pair) -> Pair:
    """shl, lshr or ashr of 64 bits."""
    low, high = a
    amount = by[0]
    if amount.register is None:
        return _shift_constant(c, op, a, amount.bits & 63)
    left = op == "shl"
    right = "ishr" if op == "ashr" else "ushr"
    rest = c.one("isub", 31, c.one("iand", amount, 31))
    far = c.one("iand", amount, 32)
    if left:
        crossed = c.one("ushr", c.one("ushr", low, 1), rest)
        near_high = c.one("ior", c.one("ishl", high, amount), crossed)
        near_low = c.one("ishl", low, amount)
        return c.choose(far, constant(0), near_low), c.choose(far, near_low, near_high)
    crossed = c.one("ishl", c.one("ishl", high, 1), rest)
    near_low = c.one("ior", c.one("ushr", low, amount), crossed)
    near_high = c.one(right, high, amount)
    fill = c.one("ishr", high, 31) if op == "ashr" else constant(0)
    return c.choose(far, near_high, near_low), c.choose(far, fill, near_high)


def _shift_constant(c: Context, op: str, a: Pair, by: int) -> Pair:
    low, high = a
    if by == 0:
        return a
    if op == "shl":
        if by >= 32:
            return constant(0), c.one("ishl", low, by - 32)
        crossed = c.one("ushr", low, 32 - by)
        return c.one("ishl", low, by), c.one("ior", c.one("ishl", high, by), crossed)
    right = "ishr" if op == "ashr" else "ushr"
    if by >= 32:
        return c.one(right, high, by - 32), c.one("ishr", high, 31) if op == "ashr" else constant(0)
    crossed = c.one("ishl", high, 32 - by)
    return c.one("ior", c.one("ushr", low, by), crossed), c.one(right, high, by)


def compare(c: Context, predicate: str, a: Pair, b: Pair) -> Lane:
    """icmp of 64 bits."""
    if predicate in ("eq", "ne"):
        mixed = c.one("ior", c.one("ixor", a[0], b[0]), c.one("ixor", a[1], b[1]))
        return c.one("ieq" if predicate == "eq" else "ine", mixed, 0)
    sign, order = predicate[0], predicate[1:]
    if order in ("gt", "le"):
        a, b = b, a
    less = c.one("ilt" if sign == "s" else "ult", a[1], b[1])
    same = c.one("ieq", a[1], b[1])
    low = c.one("ult", a[0], b[0])
    result = c.one("ior", less, c.one("iand", same, low))
    return result if order in ("lt", "gt") else c.one("inot", result)


def select(c: Context, condition: Lane, a: Pair, b: Pair) -> Pair:
    """One of two by a truth value."""
    return c.choose(condition, a[0], b[0]), c.choose(condition, a[1], b[1])


def leading_zeros(c: Context, a: Pair) -> Lane:
    """clz of 64 bits, 64 for 0."""
    high, low = zeros(c, "ffb_hi", a[1]), zeros(c, "ffb_hi", a[0])
    return c.choose(c.one("ine", a[1], 0), high, c.one("iadd", low, 32))


def trailing_zeros(c: Context, a: Pair) -> Lane:
    """ctz of 64 bits, 64 for 0."""
    high, low = zeros(c, "ffb_lo", a[1]), zeros(c, "ffb_lo", a[0])
    return c.choose(c.one("ine", a[0], 0), low, c.one("iadd", high, 32))


def zeros(c: Context, mnemonic: str, lane: Lane) -> Lane:
    """Zeros above the first one (ffb_hi) or below the last one (ffb_lo), 32 if there is none."""
    return c.one("umin", c.one(mnemonic, lane), 32)


# -- double ------------------------------------------------------------------------------------------------------------


def arithmetic(c: Context, mnemonic: str, *sources: Pair) -> Pair:
    """An operation of doubles with a double as its result."""
    b = c.builder
    made = b.new(2)
    operands = [b.vector(source) for source in sources]
    b.put(mnemonic, b.target(made), *operands)
    return made[0], made[1]


def relation(c: Context, mnemonic: str, a: Pair, b: Pair) -> Lane:
    """A comparison of doubles."""
    made = c.builder.new(1)
    first, second = c.builder.vector(a), c.builder.vector(b)
    c.builder.put(mnemonic, c.builder.target(made), first, second)
    return made[0]


def compare_double(c: Context, predicate: str, a: Pair, b: Pair) -> Lane:
    """fcmp of doubles."""
    if predicate in ("ord", "uno"):
        result = c.one("ior", relation(c, "dne", a, a), relation(c, "dne", b, b))
        return result if predicate == "uno" else c.one("inot", result)
    if predicate == "one":
        return c.one("ior", relation(c, "dlt", a, b), relation(c, "dlt", b, a))
    if predicate == "ueq":
        return c.one("inot", compare_double(c, "one", a, b))
    if predicate == "oeq":
        return relation(c, "deq", a, b)
    if predicate == "une":
        return relation(c, "dne", a, b)
    if predicate[0] == "u":
        opposite = {"ult": "oge", "ule": "ogt", "ugt": "ole", "uge": "olt"}[predicate]
        return c.one("inot", compare_double(c, opposite, a, b))
    if predicate in ("ogt", "ole"):
        a, b = b, a
    return relation(c, "dlt" if predicate in ("olt", "ogt") else "dge", a, b)


def opposite_sign(a: Pair) -> Pair:
    """fneg."""
    return a[0], negated(a[1])


def magnitude(a: Pair) -> Pair:
    """fabs."""
    return a[0], absolute(a[1])
