"""Input: coordinates of one part's lanes. Output: the elements of a texture there, or what a filter makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from headwater.emulate.vliw.bindings import Bound, Name, Sampler
from headwater.emulate.vliw.clause import Clause
from headwater.emulate.vliw.elements import accessing, four, load
from headwater.emulate.vliw.watch import Watch
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.registers import PART_LANES
from headwater.isa.semantics.types import float_bits

_EXTENTS = ("width", "height", "depth")


class Texture:
    """A texture resource, read by the lanes of one part."""

    def __init__(self, c: Clause, name: Name, bound: Bound, part: int, pc: int, watch: Watch) -> None:
        self.c = c
        self.b = c.b
        self.name = name
        self.bound = bound
        self.part = part
        self.pc = pc
        self.watch = watch
        self.address = c.memory(name, bound)

    def _extent(self, axis: int) -> Value:
        return Value(self.c.descriptor(self.name, _EXTENTS[axis]), "u32")

    def load(self, coordinates: Sequence[Value], offsets: Sequence[int]) -> list[Value]:
        """The element at whole coordinates; 0 outside of the texture."""
        b = self.b
        axes = self.bound.dimensions
        whole = [
            b.splat(b.binary("add", x, b.constant("u32", n)) if n else x, PART_LANES)
            for x, n in zip(coordinates[:axes], offsets[:axes], strict=True)
        ]
        return self._element(whole, None)

    def _element(self, whole: Sequence[Value], border: Sequence[float] | None) -> list[Value]:
        """The element at whole coordinates, u32; outside 0, or the border's colour."""
        b = self.b
        inside = None
        for axis, x in enumerate(whole):
            test = b.compare("icmp ult", x, self._extent(axis))
            inside = test if inside is None else b.binary("and", inside, test)
        assert inside is not None
        element = whole[0]
        for x, pitch in zip(whole[1:], ("pitch", "slice"), strict=False):
            row = b.binary("mul", x, Value(self.c.descriptor(self.name, pitch), "u32"))
            element = b.binary("add", element, row)
        low = b.binary("mul", element, b.constant("u32", self.bound.format.nbytes))
        low = b.select(inside, low, b.constant("u32", 0))
        at, format_ = self.address(low.text), self.bound.format
        self.watch.report_tiled(self.part, at, self.name, whole, format_.nbytes, accessing(self.c, self.part, inside))
        values = load(self.c, at, format_, self.part, inside, self.pc)
        if border is None or not any(border):
            return values
        return [
            b.select(inside, value, b.constant("u32", float_bits(colour, "f32")))
            for value, colour in zip(values, border, strict=True)
        ]

    def sample(
        self, coordinates: Sequence[Value], normalised: Sequence[bool], offsets: Sequence[float], sampler: Sampler
    ) -> list[Value]:
        """The nearest element, or the linear mean of its neighbours."""
        b = self.b
        axes = self.bound.dimensions
        places = []
        for axis in range(axes):
            x = b.splat(b.bitcast(coordinates[axis], "f32"), PART_LANES)
            places.append(self._scaled(x, axis, normalised[axis], offsets[axis], sampler.wrap[axis]))
        border = sampler.border if "border" in sampler.wrap[:axes] else None
        if not sampler.linear:
            whole = [self._wrapped(self._floor(x), axis, sampler.wrap[axis]) for axis, x in enumerate(places)]
            return self._element(whole, border)
        lows, weights = [], []
        for x in places:
            moved = b.binary("fsub", x, self._float(0.5))
            low = self._floor(moved)
            lows.append(low)
            weights.append(b.binary("fsub", moved, low))
        total: list[Value] | None = None
        for corner in product((0, 1), repeat=axes):
            whole, weight = [], None
            for axis, high in enumerate(corner):
                at = b.binary("fadd", lows[axis], self._float(1.0)) if high else lows[axis]
                whole.append(self._wrapped(at, axis, sampler.wrap[axis]))
                share = weights[axis] if high else b.binary("fsub", self._float(1.0), weights[axis])
                weight = share if weight is None else b.binary("fmul", weight, share)
            assert weight is not None
            lanes = [b.binary("fmul", b.bitcast(v, "f32"), weight) for v in self._element(whole, border)]
            total = lanes if total is None else [b.binary("fadd", t, v) for t, v in zip(total, lanes, strict=True)]
        assert total is not None
        count = self.bound.format.lanes
        return four(self.c, [b.bitcast(v, "u32") for v in total[:count]])

    def _float(self, value: float) -> Value:
        return self.b.constant("f32", float_bits(value, "f32"))

    def _size(self, axis: int) -> Value:
        return self.b.let("f32", 1, f"uitofp i32 {self._extent(axis).text} to float")

    def _floor(self, x: Value) -> Value:
        return self.b.intrinsic("floor", "f32", x)

    def _scaled(self, x: Value, axis: int, normalised: bool, offset: float, wrap: str) -> Value:
        """A coordinate in elements; one that repeats is brought into the texture first."""
        b = self.b
        if wrap == "repeat":
            unit = x if normalised else b.binary("fdiv", x, self._size(axis))
            unit = b.binary("fsub", unit, self._floor(unit))
            x = b.binary("fmul", unit, self._size(axis))
        elif wrap == "mirror":
            unit = x if normalised else b.binary("fdiv", x, self._size(axis))
            half = b.binary("fmul", unit, self._float(0.5))
            twice = b.binary("fmul", b.binary("fsub", half, self._floor(half)), self._float(2.0))
            beyond = b.compare("fcmp ogt", twice, self._float(1.0))
            unit = b.select(beyond, b.binary("fsub", self._float(2.0), twice), twice)
            x = b.binary("fmul", unit, self._size(axis))
        elif normalised:
            x = b.binary("fmul", x, self._size(axis))
        return b.binary("fadd", x, self._float(offset)) if offset else x

    def _wrapped(self, x: Value, axis: int, wrap: str) -> Value:
        """A whole coordinate as a number of elements; outside of the texture only if there is a border."""
        b = self.b
        size = self._size(axis)
        low, high = self._float(0.0), b.binary("fsub", size, self._float(1.0))
        if wrap == "border":
            low, high = self._float(-1.0), size
        elif wrap == "repeat":
            x = b.select(b.compare("fcmp olt", x, low), high, x)
            x = b.select(b.compare("fcmp ogt", x, high), low, x)
        x = b.select(b.compare("fcmp ogt", x, low), x, low)
        x = b.select(b.compare("fcmp olt", x, high), x, high)
        return b.let("u32", PART_LANES, f"fptosi {b.splat(x, PART_LANES).typed} to <{PART_LANES} x i32>")
