"""A module's text in, as the vectoriser writes it; the same with reciprocal square roots by AVX-512's estimate, out.

The library's ``rsqrt`` may be 2 ulp off (OpenCL C 1.2 specification, 7.4) and says so by a quotient ``fdiv afn``. A
root and a quotient of 16 floats keep an Intel's divider for 24 cycles; the estimate, good to 2**-14 (Intel, Software
Developer's Manual, VRSQRT14PS), and a step of Newton's take about 5. It is used for single floats and for vectors of
any length, so a result does not depend on how work-items are laid out. LLVM's own estimates are of 12 bits in vectors
shorter than 16, and make NaN of 0 and infinity.
"""

from __future__ import annotations

import re

from headwater.llvm.builder import Block, Builder

_TYPE = r"(?:float|<\d+ x float>)"
_ROOT = re.compile(
    rf"^  (%[^ ]+) = (?:tail )?call (?:[a-z]+ )*{_TYPE} @llvm\.sqrt\.[^(\n]*\({_TYPE} (?P<of>%[^ )\n]+)\)", re.MULTILINE
)
_QUOTIENT = re.compile(
    rf"^  (?P<name>%[^ ]+) = fdiv afn (?P<ty>{_TYPE}) (?:splat \(float )?1\.000000e\+00\)?, (?P<root>%[^ ,\n]+)",
    re.MULTILINE,
)
_WIDEST = 16  # floats of a register
_EXPONENT = 1 << 23
"""One in the exponent of a float, as an integer: whole numbers are subtracted by any of a Zen 4's four units, floats
multiplied by two, which have all the rest to do (n-body 0.93 of the time of a product by 0.5)."""


def with_estimated_roots(text: str) -> str:
    """The module's text with such quotients changed."""
    declares: set[str] = set()
    parts = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    changed = "".join(_function(part, declares) for part in parts)
    return changed + "".join(f"\n{line}\n" for line in sorted(declares) if line not in text)


def _function(text: str, declares: set[str]) -> str:
    roots = {m[1]: m["of"] for m in _ROOT.finditer(text)}
    count = 0

    def quotient(match: re.Match[str]) -> str:
        nonlocal count
        if match["root"] not in roots:
            return match[0]
        count += 1
        steps = _Steps(f"%hw.root.{count}", declares)
        return steps.write(match["name"], match["ty"], roots[match["root"]]) or match[0]

    return _QUOTIENT.sub(quotient, text)


class _Steps(Builder[Block]):
    """Writes one reciprocal root; its values' names begin with ``stem``."""

    def __init__(self, stem: str, declares: set[str]) -> None:
        super().__init__(Block, hint=f"{stem.removeprefix('%')}.", first=0)
        self._declares = declares

    def write(self, name: str, ty: str, x: str) -> str | None:
        """The lines that define ``name`` as 1 / sqrt(``x``); None for vectors that do not come in halves."""
        lanes = 1 if ty == "float" else int(ty[1:].split()[0])
        guess = self._estimate(x, lanes)
        if guess is None:
            return None

        def all_lanes(value: str) -> str:
            return value if lanes == 1 else f"splat (float {value})"

        fma = f"@llvm.fma.{'' if lanes == 1 else f'v{lanes}'}f32"
        self._declares.add(f"declare {ty} {fma}({ty}, {ty}, {ty})")
        one = all_lanes("1.000000e+00")
        near = self.emit(f"fneg {ty} {self.emit(f'fmul {ty} {x}, {guess}')}")
        error = self.emit(f"call {ty} {fma}({ty} {near}, {ty} {guess}, {ty} {one})")
        part = self._half(guess, ty, lanes)
        better = self.emit(f"call {ty} {fma}({ty} {part}, {ty} {error}, {ty} {guess})")
        # 0 and infinity times their roots' reciprocals are NaN, but those the estimate gives as they are.
        known = self.emit(f"fcmp ord {ty} {error}, {'0.000000e+00' if lanes == 1 else 'zeroinitializer'}")
        test = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.line(f"{name} = select {test} {known}, {ty} {better}, {ty} {guess}")
        return "\n".join(self.lines)

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
        self._declares.add(f"declare {ty} {function}({ty}, {ty}, {mask})")
        return self.emit(f"call {ty} {function}({ty} {x}, {ty} zeroinitializer, {mask} -1)")

    def _pick(self, value: str, lanes: int, places: range | list[int]) -> str:
        ty = f"<{lanes} x float>"
        return self.emit(f"shufflevector {ty} {value}, {ty} poison, {_places(places)}")


def _places(places: range | list[int]) -> str:
    return f"<{len(places)} x i32> <{', '.join(f'i32 {place}' for place in places)}>"
