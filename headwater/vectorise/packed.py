"""Vector values that stay whole, all lanes' components in memory order in one vector; and the ways between the forms.

Which ones do says `headwater.vectorise.packing`. The whole of a value has the form ``p`` and no component of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from headwater.errors import InternalError
from headwater.llvm.ir import BINARY, CASTS, Inst, Value
from headwater.llvm.types import I1, Type, vec_type
from headwater.vectorise.chunk_values import Parts
from headwater.vectorise.shapes import LANE, ROW, Shape

MANGLED = re.compile(r"\.(v\d+)?((?:f|i|bf|p)\d+)(?=\.|$)")
SCALAR_OPERAND = {"llvm.abs": 1, "llvm.ctlz": 1, "llvm.cttz": 1, "llvm.is": 1, "llvm.powi": 1}
"""Intrinsics whose operand at this place is one scalar whatever the width (LLVM Language Reference)."""


class Packed(Parts):
    """Writes whole values and what takes components out of them or puts them together."""

    def part(self, value: Value, row: int = 0, form: str = "s", component: int = 0) -> str:
        if form != self.own_form or value.text not in self.packed:
            return super().part(value, row, form, component)
        row = row if self.shapes.shape(value).deps & ROW else 0
        key = (value.text, component, row, form)
        if key not in self.cache:
            count = value.ty.count
            total = self.layout.lanes * count
            whole = self.whole(value, row)
            self.cache[key] = self.take_component(whole, value.ty.scalar, total, component, count, self.layout.lanes)
        return self.cache[key]

    def whole_type(self, ty: Type) -> Type:
        """The type of all lanes' values of one type side by side."""
        if self.layout.lanes == 1:
            return ty
        return vec_type(self.layout.lanes * max(1, ty.count), ty.scalar)

    def whole(self, value: Value, row: int) -> str:
        """All lanes' components of a value side by side."""
        shape = self.shapes.shape(value)
        if not value.is_local:
            return self._whole_constant(value)
        if value.ty.kind != "vec":
            return self.part(value, row, self.own_form)
        key = (value.text, 0, row if shape.deps & ROW else 0, "p")
        if key not in self.cache:
            if value.text in self.packed:
                text = self.writer.load_slot(self._slot(*key), self.whole_type(value.ty))
            else:
                form = "v" if shape.deps & LANE else "s"
                parts = [self.part(value, row, form, c) for c in range(value.ty.count)]
                text = self.interleave(parts, value.ty.scalar, self.layout.lanes if form == "v" else 1)
                if form == "s" and self.layout.lanes > 1:
                    text = self._repeat(text, value.ty)
            self.cache[key] = text
        return self.cache[key]

    def set_whole(self, inst: Inst, row: int, text: str) -> None:
        """Define a value by all its lanes' components."""
        key = (inst.name, 0, row, "p")
        self.cache[key] = text
        if inst.name in self.crossing:
            self.writer.store_slot(self._slot(*key), self.whole_type(inst.ty), text)

    def pieces(self, name: str, ty: Type, shape: Shape) -> Iterator[tuple[int, str, Type]]:
        """What a value is kept in: component, form and type."""
        if name in self.packed:
            yield 0, "p", self.whole_type(ty)
            return
        for component, own in enumerate(self.components(ty)):
            for form in self.forms(shape):
                yield component, form, self.form_type(own, form)

    def set_pieces(self, inst: Inst, row: int, texts: Iterable[str]) -> None:
        """Define a value that differs from lane to lane: by all of it, or by its components."""
        for component, text in enumerate(texts):
            if inst.name in self.packed:
                self.set_whole(inst, row, text)
            else:
                self.set_part(inst, row, "v", text, component)

    def _whole_constant(self, value: Value) -> str:
        texts = [value.component(c).text for c in range(value.ty.count)] if value.ty.kind == "vec" else [value.text]
        if len(set(texts)) == 1:
            text = texts[0]
            return text if text in ("poison", "undef") else f"splat ({value.ty.scalar} {text})"
        return "<" + ", ".join(f"{value.ty.scalar} {text}" for text in texts * self.layout.lanes) + ">"

    def _repeat(self, vector: str, ty: Type) -> str:
        order = list(range(ty.count)) * self.layout.lanes
        return self.shuffle(vector, "poison", ty, order)

    @property
    def own_form(self) -> str:
        """The form of values of a lane's own."""
        return "v" if self.layout.lanes > 1 else "s"

    def each_component(self, lanes: str, ty: Type, count: int) -> str:
        """A value of each lane for each of its ``count`` components."""
        key = (lanes, count, 0, "p")
        if key not in self.cache:
            order = [lane for lane in range(self.layout.lanes) for _ in range(count)]
            self.cache[key] = self.shuffle(lanes, "poison", self.lanes_of(ty), order)
        return self.cache[key]

    def shuffle(self, a: str, b: str, ty: Type, order: list[int]) -> str:
        """Components of two vectors of one type; -1 for any."""
        mask = ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in order)
        return self.writer.let(f"shufflevector {ty} {a}, {ty} {b}, <{len(order)} x i32> <{mask}>")

    def join(self, vectors: list[str], ty: Type) -> str:
        """Vectors of one type one after the other; their number is a power of two."""
        count = ty.count
        while len(vectors) > 1:
            order = list(range(2 * count))
            now = vec_type(count, ty.scalar)
            vectors = [self.shuffle(a, b, now, order) for a, b in zip(vectors[::2], vectors[1::2], strict=True)]
            count *= 2
        return vectors[0]

    def interleave(self, parts: list[str], ty: Type, lanes: int) -> str:
        """Component vectors (or scalars, ``lanes`` 1) to one vector with each lane's components side by side."""
        count = len(parts)
        if lanes == 1:
            vector = "poison"
            for i, text in enumerate(parts):
                vector = self.writer.let(f"insertelement <{count} x {ty}> {vector}, {ty} {text}, i64 {i}")
            return vector
        filled = parts + ["poison"] * ((1 << (count - 1).bit_length()) - count)
        joined = self.join(filled, vec_type(lanes, ty))
        order = [c * lanes + lane for lane in range(lanes) for c in range(count)]
        return self.shuffle(joined, "poison", vec_type(len(filled) * lanes, ty), order)

    def take_component(self, vector: str, ty: Type, total: int, component: int, step: int, lanes: int) -> str:
        """Every ``step``-th element from ``component`` on: one component of interleaved lanes."""
        if lanes == 1:
            return self.writer.let(f"extractelement <{total} x {ty}> {vector}, i64 {component}")
        return self.shuffle(vector, "poison", vec_type(total, ty), [i * step + component for i in range(lanes)])

    # Instructions.

    def write_packed(self, inst: Inst) -> None:
        """An instruction, neither phi nor access, whose value is kept whole."""
        for row in self.rows(self.shapes.of[inst.name]):
            self.set_whole(inst, row, self._packed_result(inst, row))

    def _packed_result(self, inst: Inst, row: int) -> str:
        op = inst.op
        ty = self.whole_type(inst.ty)
        if op == "select":
            return self._packed_select(inst, row)
        if op == "insertelement":
            return self._packed_insert(inst, row)
        if op == "shufflevector":
            return self._packed_shuffle(inst, row)
        if op == "call":
            return self._packed_call(inst, row)
        source = self.whole_type(inst.args[0].ty)
        texts = ", ".join(self.whole(v, row) for v in inst.args)
        if op in CASTS:
            flags = "".join(f + " " for f in inst.flags if f in ("nuw", "nsw", "nneg")) + inst.fast_math
            return self.writer.let(f"{op} {flags}{source} {texts} to {ty}")
        if op in ("icmp", "fcmp"):
            flags = "samesign " if "samesign" in inst.flags else inst.fast_math
            return self.writer.let(f"{op} {flags}{inst.detail} {source} {texts}")
        if op in BINARY or op in ("fneg", "freeze"):
            flags = "".join(f + " " for f in inst.flags if f in ("nuw", "nsw", "exact", "disjoint")) + inst.fast_math
            return self.writer.let(f"{op} {flags}{ty} {texts}")
        raise InternalError(f"cannot keep the vectors of LLVM instruction {op!r} whole")

    def _packed_select(self, inst: Inst, row: int) -> str:
        condition, yes, no = inst.args
        ty = self.whole_type(inst.ty)
        choices = f"{ty} {self.whole(yes, row)}, {ty} {self.whole(no, row)}"
        flag = vec_type(ty.count, I1)
        if condition.ty.kind == "vec":
            test = self.whole(condition, row)
        elif self.shapes.shape(condition).deps & LANE:
            test = self.each_component(self.part(condition, row, "v"), I1, inst.ty.count)
        else:
            return self.writer.let(f"select {inst.fast_math}i1 {self.part(condition, row)}, {choices}")
        return self.writer.let(f"select {inst.fast_math}{flag} {test}, {choices}")

    def _packed_insert(self, inst: Inst, row: int) -> str:
        vector, value, index = inst.args
        count, place = vector.ty.count, int(index.text)
        ty = self.whole_type(inst.ty)
        if self.layout.lanes == 1 and place < count:
            item = f"{value.ty} {self.part(value, row)}"
            return self.writer.let(f"insertelement {ty} {self.whole(vector, row)}, {item}, i64 {place}")
        new = self.each_component(self.part(value, row, "v"), value.ty, count)
        if place >= count:
            return "poison"
        if vector.is_undefined:
            self.spread.add(inst.name)
            return new
        old = self.whole(vector, row)
        order = [i + (ty.count if i % count == place else 0) for i in range(ty.count)]
        return self.shuffle(old, new, ty, order)

    def _packed_shuffle(self, inst: Inst, row: int) -> str:
        first, second = inst.args
        if first.text in self.spread and set(inst.indices) <= {0} and inst.ty == first.ty:
            return self.whole(first, row)
        count = first.ty.count
        total = count * self.layout.lanes
        # Where lane 0's elements are in the two vectors of all lanes; each further lane's are ``count`` elements on.
        places = [i if i < count else i - count + total for i in inst.indices]
        order = [i if i < 0 else i + lane * count for lane in range(self.layout.lanes) for i in places]
        a = self.whole(first, row)
        b = "poison" if second.is_undefined else self.whole(second, row)
        return self.shuffle(a, b, self.whole_type(first.ty), order)

    def _packed_call(self, inst: Inst, row: int) -> str:
        """An LLVM intrinsic that works element by element."""
        ty = self.whole_type(inst.ty)
        stem = inst.detail.split(".")
        scalar_place = SCALAR_OPERAND.get(".".join(stem[:2]), -1)
        name = MANGLED.sub(lambda m: f".v{ty.count}{m[2]}", inst.detail)
        if stem[1] == "powi":
            name = re.sub(r"\.v\d+(i\d+)$", r".\1", name)
        args, types = [], []
        for place, value in enumerate(inst.args):
            scalar = place == scalar_place
            own = value.ty if scalar else self.whole_type(value.ty)
            args.append(f"{own} {self.part(value, row) if scalar else self.whole(value, row)}")
            types.append(str(own))
        self.writer.declare(name, f"declare {ty} @{name}({', '.join(types)})")
        return self.writer.let(f"call {inst.fast_math}{ty} @{name}({', '.join(args)})")
