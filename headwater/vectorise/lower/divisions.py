"""Input: integer divisions of lanes. Output: divisions and products of floats, which vectors have.

Integers that floats hold exactly have exact quotients: one that is no whole number is farther from the next one than
half of its last place. So do 64-bit ones where they are small, which is tested when they are divided.
"""

from __future__ import annotations

from headwater.llvm.ir import Inst
from headwater.llvm.types import DOUBLE, FLOAT, I1, I64, Type
from headwater.vectorise.analysis.cost import LONGEST_BY_FLOATS
from headwater.vectorise.analysis.shapes import LANE
from headwater.vectorise.lower.forms import components_of, lanes_of, rows_of, wide_form
from headwater.vectorise.lower.masks import any_lane
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part, set_part, splat

SMALL_BITS = 50
"""Of 64-bit integers that are divided as doubles: two less than a double's 53 for `Divisions._by_one_number`, one more
for what turns them into doubles."""

_MAGIC, _MAGIC_BITS = "6755399441055744.0", 0x4338000000000000
"""1.5 * 2 ** 52, whose last bit is 1: added to the bits of it, an integer of up to 51 bits and sign is added to it."""


def divide(ctx: Lowering, inst: Inst) -> None:
    """Write a division by what is no constant, or a constant that asks for care."""
    form = wide_form(ctx, inst)
    uniform = not ctx.plan.shapes.shape(inst.args[1]).deps & LANE
    for component, ty in enumerate(components_of(inst.ty)):
        for row in rows_of(ctx, ctx.plan.shapes.of[inst.name]):
            a = part(ctx, inst.args[0], row, form, component)
            b = part(ctx, inst.args[1], row, "s" if uniform else form, component)
            if form == "s":
                text = _scalar_division(ctx, inst.op, ty, a, b)
            elif ty.bits <= LONGEST_BY_FLOATS:
                text = (_by_scalar if uniform else _by_lanes)(ctx, inst.op, ty, a, b)
            else:
                text = _long_division(ctx, inst.op, ty, a, b, uniform=uniform)
            set_part(ctx, inst, row, form, text, component)


def _scalar_division(ctx: Lowering, op: str, ty: Type, a: str, b: str) -> str:
    # Idle lanes' operands may be poison, and dividing by that may trap.
    a, b = (ctx.writer.let(f"freeze {ty} {text}") for text in (a, b))
    return ctx.writer.let(f"{op} {ty} {a}, {_safe_divisor(ctx, op, ty, a, b, lanes=False)}")


def _safe_divisor(ctx: Lowering, op: str, ty: Type, a: str, b: str, *, lanes: bool) -> str:
    """``b``, or 1 where it cannot divide ``a``."""
    wide, flag = (lanes_of(ctx, ty), lanes_of(ctx, I1)) if lanes else (ty, I1)
    one, minus, least = (f"splat ({ty} {n})" if lanes else str(n) for n in (1, -1, -(1 << (ty.bits - 1))))
    bad = ctx.writer.let(f"icmp eq {wide} {b}, {'zeroinitializer' if lanes else '0'}")
    if op[0] == "s":
        overflow = ctx.writer.let(f"icmp eq {wide} {a}, {least}")
        negative = ctx.writer.let(f"icmp eq {wide} {b}, {minus}")
        overflow = ctx.writer.let(f"and {flag} {overflow}, {negative}")
        bad = ctx.writer.let(f"or {flag} {bad}, {overflow}")
    return ctx.writer.let(f"select {flag} {bad}, {wide} {one}, {wide} {b}")


def _by_lanes(ctx: Lowering, op: str, ty: Type, a: str, b: str) -> str:
    """Each lane by a number of its own."""
    wide, floats = lanes_of(ctx, ty), lanes_of(ctx, _floats_for(ty))
    b = _safe_divisor(ctx, op, ty, a, b, lanes=True)
    x = ctx.writer.let(f"{op[0]}itofp {wide} {a} to {floats}")
    y = ctx.writer.let(f"{op[0]}itofp {wide} {b} to {floats}")
    quotient = ctx.writer.let(f"fdiv {floats} {x}, {y}")
    return _quotient_or_rest(ctx, op, ty, a, b, ctx.writer.let(f"fpto{op[0]}i {floats} {quotient} to {wide}"))


def _by_scalar(ctx: Lowering, op: str, ty: Type, a: str, b: str) -> str:
    """All lanes by a scalar."""
    wide, scalar = lanes_of(ctx, ty), _floats_for(ty)
    b = _not_zero(ctx, ty, b)
    x = ctx.writer.let(f"{op[0]}itofp {wide} {a} to {lanes_of(ctx, scalar)}")
    quotient = _times_reciprocal(ctx, op, ty, scalar, x, b)
    whole = ctx.writer.let(f"fpto{op[0]}i {lanes_of(ctx, scalar)} {quotient} to {wide}")
    if op[0] == "s":  # the least integer by -1 is none: any number, but one that does no harm
        whole = ctx.writer.let(f"freeze {wide} {whole}")
    return _quotient_or_rest(ctx, op, ty, a, splat(ctx, b, ty), whole)


def _not_zero(ctx: Lowering, ty: Type, b: str) -> str:
    zero = ctx.writer.let(f"icmp eq {ty} {b}, 0")
    return ctx.writer.let(f"select i1 {zero}, {ty} 1, {ty} {b}")


def _times_reciprocal(ctx: Lowering, op: str, ty: Type, scalar: Type, x: str, b: str) -> str:
    """Lanes of floats by a scalar integer, as a product with its reciprocal, whose whole part is right.

    With half of 1 added to its size, a dividend's quotient is at least 0.5 / b from any whole number, and the two
    roundings move it by less: relatively by 2 ** (1 - p), p being the floats' bits, two more than the dividend's.
    """
    floats = lanes_of(ctx, scalar)
    divisor = ctx.writer.let(f"{op[0]}itofp {ty} {b} to {scalar}")
    reciprocal = splat(ctx, ctx.writer.let(f"fdiv {scalar} 1.0, {divisor}"), scalar)
    half = f"splat ({scalar} 0.5)"
    if op[0] == "s":
        name = f"llvm.copysign.v{ctx.plan.layout.lanes}f{scalar.bits}"
        ctx.writer.declare(name, f"declare {floats} @{name}({floats}, {floats})")
        half = ctx.writer.let(f"call {floats} @{name}({floats} {half}, {floats} {x})")
    larger = ctx.writer.let(f"fadd {floats} {x}, {half}")
    return ctx.writer.let(f"fmul {floats} {larger}, {reciprocal}")


def _quotient_or_rest(ctx: Lowering, op: str, ty: Type, a: str, b: str, quotient: str) -> str:
    if op.endswith("div"):
        return quotient
    wide = lanes_of(ctx, ty)
    product = ctx.writer.let(f"mul {wide} {quotient}, {b}")
    return ctx.writer.let(f"sub {wide} {a}, {product}")


def _long_division(ctx: Lowering, op: str, ty: Type, a: str, b: str, *, uniform: bool) -> str:
    """As doubles if all lanes' operands are small, else lane by lane. ``b`` is a scalar if it is ``uniform``."""
    wide, writer = lanes_of(ctx, ty), ctx.writer
    a = writer.let(f"freeze {wide} {a}")
    b = writer.let(f"freeze {ty if uniform else wide} {b}")
    every = splat(ctx, b, ty) if uniform else b
    whole = _as_doubles(ctx, op, ty, a, b, uniform=uniform)
    ctx.spills += 1
    slot = f"quotient.{ctx.spills}"
    writer.store_slot(slot, wide, _quotient_or_rest(ctx, op, ty, a, every, whole))
    with writer.when(any_lane(ctx, _large(ctx, op, ty, a, every)), "large"):
        safe = _safe_divisor(ctx, op, ty, a, every, lanes=True)
        writer.store_slot(slot, wide, writer.let(f"{op} {wide} {a}, {safe}"))
    return writer.load_slot(slot, wide)


def _large(ctx: Lowering, op: str, ty: Type, a: str, b: str) -> str:
    """Lanes of which one of the operands has more than `SMALL_BITS`."""
    wide, bits = lanes_of(ctx, ty), SMALL_BITS
    if op[0] == "s":
        a, b = (ctx.writer.let(f"add {wide} {text}, splat ({ty} {1 << SMALL_BITS})") for text in (a, b))
        bits += 1
    both = ctx.writer.let(f"or {wide} {a}, {b}")
    return ctx.writer.let(f"icmp ugt {wide} {both}, splat ({ty} {(1 << bits) - 1})")


def _as_doubles(ctx: Lowering, op: str, ty: Type, a: str, b: str, *, uniform: bool) -> str:
    """The quotient of small integers; any number of others."""
    doubles, wide = lanes_of(ctx, DOUBLE), lanes_of(ctx, ty)
    x = _small_as_double(ctx, a)
    if uniform:
        quotient = _times_reciprocal(ctx, op, ty, DOUBLE, x, _not_zero(ctx, ty, b))
    else:
        quotient = ctx.writer.let(f"fdiv {doubles} {x}, {_small_as_double(ctx, b)}")
    name = f"llvm.trunc.v{ctx.plan.layout.lanes}f64"
    ctx.writer.declare(name, f"declare {doubles} @{name}({doubles})")
    whole = ctx.writer.let(f"call {doubles} @{name}({doubles} {quotient})")
    moved = ctx.writer.let(f"fadd {doubles} {whole}, splat (double {_MAGIC})")
    bits = ctx.writer.let(f"bitcast {doubles} {moved} to {wide}")
    return ctx.writer.let(f"sub {wide} {bits}, splat ({ty} {_MAGIC_BITS})")


def _small_as_double(ctx: Lowering, integers: str) -> str:
    wide, doubles = lanes_of(ctx, I64), lanes_of(ctx, DOUBLE)
    moved = ctx.writer.let(f"add {wide} {integers}, splat (i64 {_MAGIC_BITS})")
    bits = ctx.writer.let(f"bitcast {wide} {moved} to {doubles}")
    return ctx.writer.let(f"fsub {doubles} {bits}, splat (double {_MAGIC})")


def _floats_for(ty: Type) -> Type:
    """Floats that have at least two bits more than integers of this type: 24 or 53."""
    return FLOAT if ty.bits <= 16 else DOUBLE
