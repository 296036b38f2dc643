"""Input: a module as the vectoriser writes it. Output: the same with reciprocal square roots by AVX-512's estimate.

The library's ``rsqrt`` may be 2 ulp off (OpenCL C 1.2 specification, 7.4) and says so by a quotient ``fdiv afn``. A
root and a quotient of 16 floats keep an Intel's divider for 24 cycles; the estimate, good to 2**-14 (Intel, Software
Developer's Manual, VRSQRT14PS), and a step of Newton's take about 5. It is used for single floats and for vectors of
any length, so a result does not depend on how work-items are laid out. LLVM's own estimates are of 12 bits in vectors
shorter than 16, and make NaN of 0 and infinity.
"""

from __future__ import annotations

from headwater.llvm.builder import Block, Builder
from headwater.llvm.ir import Body, Inst, Module

_WIDEST = 16  # floats of a register
_EXPONENT = 1 << 23
"""One in the exponent of a float, as an integer: whole numbers are subtracted by any of a Zen 4's four units, floats
multiplied by two, which have all the rest to do (n-body 0.93 of the time of a product by 0.5)."""


def with_estimated_roots(module: Module) -> None:
    """Change such quotients."""
    for body in module.bodies.values():
        _function(module, body)


def _function(module: Module, body: Body) -> None:
    quotients = {number: inst for number, inst in body.having("fdiv", within=" fdiv afn ") if _is_reciprocal(inst)}
    if not quotients:
        return
    roots = {inst.name: inst.args[0].text for _, inst in body.calls("llvm.sqrt.") if inst.args[0].is_local}
    changes: dict[int, list[str]] = {}
    count = 0
    for number, inst in quotients.items():
        if inst.args[1].text in roots:
            count += 1
            steps = _Steps(f"%hw.root.{count}")
            if steps.write(inst.name, inst.ty.text, roots[inst.args[1].text]):
                changes[number] = steps.lines
                for line in steps.declarations.values():
                    module.declare(line)
    body.replace(changes)


def _is_reciprocal(inst: Inst) -> bool:
    one = inst.args[0].splat or inst.args[0]
    return inst.flags == ("afn",) and inst.ty.scalar.text == "float" and one.text == "1.000000e+00"


class _Steps(Builder[Block]):
    """Writes one reciprocal root; its values' names begin with ``stem``."""

    def __init__(self, stem: str) -> None:
        super().__init__(Block, hint=f"{stem.removeprefix('%')}.", first=0)

    def write(self, name: str, ty: str, x: str) -> bool:
        """Define ``name`` as 1 / sqrt(``x``); False for vectors that do not come in halves."""
        lanes = 1 if ty == "float" else int(ty[1:].split()[0])
        guess = self._estimate(x, lanes)
        if guess is None:
            return False

        def all_lanes(value: str) -> str:
            return value if lanes == 1 else f"splat (float {value})"

        fma = f"@llvm.fma.{'' if lanes == 1 else f'v{lanes}'}f32"
        self.declare(f"declare {ty} {fma}({ty}, {ty}, {ty})")
        one = all_lanes("1.000000e+00")
        near = self.emit(f"fneg {ty} {self.emit(f'fmul {ty} {x}, {guess}')}")
        error = self.emit(f"call {ty} {fma}({ty} {near}, {ty} {guess}, {ty} {one})")
        part = self._half(guess, ty, lanes)
        better = self.emit(f"call {ty} {fma}({ty} {part}, {ty} {error}, {ty} {guess})")
        # 0 and infinity times their roots' reciprocals are NaN, but those the estimate gives as they are.
        known = self.emit(f"fcmp ord {ty} {error}, {'0.000000e+00' if lanes == 1 else 'zeroinitializer'}")
        test = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.line(f"{name} = select {test} {known}, {ty} {better}, {ty} {guess}")
        return True

    def _half(self, x: str, ty: str, lanes: int) -> str:
        """Half of an estimate, which is a normal number wherever the result hangs on it: one less in the exponent."""
        bits, step = ("i32", str(_EXPONENT)) if lanes == 1 else (f"<{lanes} x i32>", f"splat (i32 {_EXPONENT})")
        number = self.emit(f"bitcast {ty} {x} to {bits}")
        return self.emit(f"bitcast {bits} {self.emit(f'sub {bits} {number}, {step}')} to {ty}")

    def _estimate(self, x: str, lanes: int) -> str | None:
        if lanes == 1:
            vector = self.emit(f"insertelement <4 x float> zeroinitializer, float {x}, i64 0")
            estimate = self._estimate(vector, 4)
            return self.emit(f"extractelement <4 x float> {estimate}, i64 0")
        ty = f"<{lanes} x float>"
        if lanes > _WIDEST:
            if lanes % 2:
                return None
            halves = [
                self._estimate(self._pick(x, lanes, range(start, start + lanes // 2)), lanes // 2)
                for start in (0, lanes // 2)
            ]
            if None in halves:
                return None
            of = f"<{lanes // 2} x float>"
            return self.emit(f"shufflevector {of} {halves[0]}, {of} {halves[1]}, {_places(range(lanes))}")
        whole = next(n for n in (4, 8, _WIDEST) if n >= lanes)
        if whole != lanes:
            wide = self._estimate(self._pick(x, lanes, [min(i, lanes - 1) for i in range(whole)]), whole)
            assert wide is not None
            return self._pick(wide, whole, range(lanes))
        mask = f"i{max(8, lanes)}"
        function = f"@llvm.x86.avx512.rsqrt14.ps.{32 * lanes}"
        self.declare(f"declare {ty} {function}({ty}, {ty}, {mask})")
        return self.emit(f"call {ty} {function}({ty} {x}, {ty} zeroinitializer, {mask} -1)")

    def _pick(self, value: str, lanes: int, places: range | list[int]) -> str:
        ty = f"<{lanes} x float>"
        return self.emit(f"shufflevector {ty} {value}, {ty} poison, {_places(places)}")


def _places(places: range | list[int]) -> str:
    return f"<{len(places)} x i32> <{', '.join(f'i32 {place}' for place in places)}>"
