"""Integer divisions of lanes in; divisions and products of floats, which vectors have, out.

Integers that floats hold exactly have exact quotients: one that is no whole number is farther from the next one than
half of its last place. So do 64-bit ones where they are small, which is looked at when they are divided.
"""

from __future__ import annotations

from headwater.llvm.ir import Inst
from headwater.llvm.types import DOUBLE, FLOAT, I1, I64, Type
from headwater.vectorise.cost import LONGEST_BY_FLOATS
from headwater.vectorise.packed import Packed
from headwater.vectorise.shapes import LANE

SMALL_BITS = 50
"""Of 64-bit integers that are divided as doubles: two less than a double's 53 for `Divisions._by_one_number`, one more
for what turns them into doubles."""
_MAGIC, _MAGIC_BITS = "6755399441055744.0", 0x4338000000000000
"""1.5 * 2 ** 52, whose last bit is 1: added to the bits of it, an integer of up to 51 bits and sign is added to it."""


def _floats_for(ty: Type) -> Type:
    """Floats that have at least two bits more than integers of this type: 24 or 53."""
    return FLOAT if ty.bits <= 16 else DOUBLE


class Divisions(Packed):
    """Writes integer divisions, which never trap: by zero, and of the least integer by -1, they give any number.

    OpenCL C 1.2 specification 6.3.a: such a division "will result in an unspecified value".
    """

    def widened(self, inst: Inst) -> str:
        """The form in which the result is computed without regard to its stride."""
        return "v" if self.shapes.of[inst.name].deps & LANE else "s"

    def divide(self, inst: Inst) -> None:
        """Write a division by what is no constant, or a constant that asks for care."""
        form = self.widened(inst)
        alike = not self.shapes.shape(inst.args[1]).deps & LANE
        for component, ty in enumerate(self.components(inst.ty)):
            for row in self.rows(self.shapes.of[inst.name]):
                a = self.part(inst.args[0], row, form, component)
                b = self.part(inst.args[1], row, "s" if alike else form, component)
                if form == "s":
                    text = self._one(inst.op, ty, a, b)
                elif ty.bits <= LONGEST_BY_FLOATS:
                    by = self._by_one_number if alike else self._by_numbers
                    text = by(inst.op, ty, a, b)
                else:
                    text = self._long(inst.op, ty, a, b, alike=alike)
                self.set_part(inst, row, form, text, component)

    # Divisions by what cannot be divided by become ones by 1.

    def _one(self, op: str, ty: Type, a: str, b: str) -> str:
        # Idle lanes' operands may be poison, and dividing by that may trap.
        a, b = (self.writer.let(f"freeze {ty} {text}") for text in (a, b))
        return self.writer.let(f"{op} {ty} {a}, {self._harmless(op, ty, a, b, lanes=False)}")

    def _harmless(self, op: str, ty: Type, a: str, b: str, *, lanes: bool) -> str:
        """``b``, or 1 where it cannot divide ``a``."""
        wide, flag = (self.lanes_of(ty), self.lanes_of(I1)) if lanes else (ty, I1)
        one, minus, least = (f"splat ({ty} {n})" if lanes else str(n) for n in (1, -1, -(1 << (ty.bits - 1))))
        bad = self.writer.let(f"icmp eq {wide} {b}, {'zeroinitializer' if lanes else '0'}")
        if op[0] == "s":
            overflow = self.writer.let(f"icmp eq {wide} {a}, {least}")
            negative = self.writer.let(f"icmp eq {wide} {b}, {minus}")
            overflow = self.writer.let(f"and {flag} {overflow}, {negative}")
            bad = self.writer.let(f"or {flag} {bad}, {overflow}")
        return self.writer.let(f"select {flag} {bad}, {wide} {one}, {wide} {b}")

    # Up to 32 bits.

    def _by_numbers(self, op: str, ty: Type, a: str, b: str) -> str:
        """Each lane by a number of its own."""
        wide, floats = self.lanes_of(ty), self.lanes_of(_floats_for(ty))
        b = self._harmless(op, ty, a, b, lanes=True)
        x = self.writer.let(f"{op[0]}itofp {wide} {a} to {floats}")
        y = self.writer.let(f"{op[0]}itofp {wide} {b} to {floats}")
        quotient = self.writer.let(f"fdiv {floats} {x}, {y}")
        return self._quotient_or_rest(op, ty, a, b, self.writer.let(f"fpto{op[0]}i {floats} {quotient} to {wide}"))

    def _by_one_number(self, op: str, ty: Type, a: str, b: str) -> str:
        """All lanes by a scalar."""
        wide, scalar = self.lanes_of(ty), _floats_for(ty)
        b = self._not_zero(ty, b)
        x = self.writer.let(f"{op[0]}itofp {wide} {a} to {self.lanes_of(scalar)}")
        quotient = self._times_reciprocal(op, ty, scalar, x, b)
        whole = self.writer.let(f"fpto{op[0]}i {self.lanes_of(scalar)} {quotient} to {wide}")
        if op[0] == "s":  # the least integer by -1 is none: any number, but one that does no harm
            whole = self.writer.let(f"freeze {wide} {whole}")
        return self._quotient_or_rest(op, ty, a, self.splat(b, ty), whole)

    def _not_zero(self, ty: Type, b: str) -> str:
        zero = self.writer.let(f"icmp eq {ty} {b}, 0")
        return self.writer.let(f"select i1 {zero}, {ty} 1, {ty} {b}")

    def _times_reciprocal(self, op: str, ty: Type, scalar: Type, x: str, b: str) -> str:
        """Lanes of floats by a scalar integer, as a product with its reciprocal, whose whole part is right.

        With half of 1 added to its size, a dividend's quotient is at least 0.5 / b from any whole number, and the two
        roundings move it by less: relatively by 2 ** (1 - p), p being the floats' bits, two more than the dividend's.
        """
        floats = self.lanes_of(scalar)
        divisor = self.writer.let(f"{op[0]}itofp {ty} {b} to {scalar}")
        reciprocal = self.splat(self.writer.let(f"fdiv {scalar} 1.0, {divisor}"), scalar)
        half = f"splat ({scalar} 0.5)"
        if op[0] == "s":
            name = f"llvm.copysign.v{self.layout.lanes}f{scalar.bits}"
            self.writer.declare(name, f"declare {floats} @{name}({floats}, {floats})")
            half = self.writer.let(f"call {floats} @{name}({floats} {half}, {floats} {x})")
        larger = self.writer.let(f"fadd {floats} {x}, {half}")
        return self.writer.let(f"fmul {floats} {larger}, {reciprocal}")

    def _quotient_or_rest(self, op: str, ty: Type, a: str, b: str, quotient: str) -> str:
        if op.endswith("div"):
            return quotient
        wide = self.lanes_of(ty)
        product = self.writer.let(f"mul {wide} {quotient}, {b}")
        return self.writer.let(f"sub {wide} {a}, {product}")

    # 64 bits.

    def _long(self, op: str, ty: Type, a: str, b: str, *, alike: bool) -> str:
        """As doubles if all lanes' operands are small, else lane by lane. ``b`` is a scalar if it is ``alike``."""
        wide, writer = self.lanes_of(ty), self.writer
        a = writer.let(f"freeze {wide} {a}")
        b = writer.let(f"freeze {ty if alike else wide} {b}")
        every = self.splat(b, ty) if alike else b
        whole = self._as_doubles(op, ty, a, b, alike=alike)
        self.spills += 1
        slot = f"quotient.{self.spills}"
        writer.store_slot(slot, wide, self._quotient_or_rest(op, ty, a, every, whole))
        with writer.when(self.any_lane(self._large(op, ty, a, every)), "large"):
            safe = self._harmless(op, ty, a, every, lanes=True)
            writer.store_slot(slot, wide, writer.let(f"{op} {wide} {a}, {safe}"))
        return writer.load_slot(slot, wide)

    def _large(self, op: str, ty: Type, a: str, b: str) -> str:
        """Lanes of which one of the operands has more than `SMALL_BITS`."""
        wide, bits = self.lanes_of(ty), SMALL_BITS
        if op[0] == "s":
            a, b = (self.writer.let(f"add {wide} {text}, splat ({ty} {1 << SMALL_BITS})") for text in (a, b))
            bits += 1
        both = self.writer.let(f"or {wide} {a}, {b}")
        return self.writer.let(f"icmp ugt {wide} {both}, splat ({ty} {(1 << bits) - 1})")

    def _as_doubles(self, op: str, ty: Type, a: str, b: str, *, alike: bool) -> str:
        """The quotient of small integers; any number of others."""
        doubles, wide = self.lanes_of(DOUBLE), self.lanes_of(ty)
        x = self._small_as_double(a)
        if alike:
            quotient = self._times_reciprocal(op, ty, DOUBLE, x, self._not_zero(ty, b))
        else:
            quotient = self.writer.let(f"fdiv {doubles} {x}, {self._small_as_double(b)}")
        name = f"llvm.trunc.v{self.layout.lanes}f64"
        self.writer.declare(name, f"declare {doubles} @{name}({doubles})")
        whole = self.writer.let(f"call {doubles} @{name}({doubles} {quotient})")
        moved = self.writer.let(f"fadd {doubles} {whole}, splat (double {_MAGIC})")
        bits = self.writer.let(f"bitcast {doubles} {moved} to {wide}")
        return self.writer.let(f"sub {wide} {bits}, splat ({ty} {_MAGIC_BITS})")

    def _small_as_double(self, integers: str) -> str:
        wide, doubles = self.lanes_of(I64), self.lanes_of(DOUBLE)
        moved = self.writer.let(f"add {wide} {integers}, splat (i64 {_MAGIC_BITS})")
        bits = self.writer.let(f"bitcast {wide} {moved} to {doubles}")
        return self.writer.let(f"fsub {doubles} {bits}, splat (double {_MAGIC})")
