"""Input: values of a kernel. Output: their value numbers in each row of a chunk, equal where the values surely are.

Rows along y of a stencil read the same lines: what is ``image[(y + 1) * width + x]`` in one row is ``image[y * width +
x]`` in the next. Whole numbers are polynomials of what is not computed from others, modulo two to their bits, so that
it does not matter where anything wraps around; an extension is one of those that it extends, and nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.llvm.cfg import Cfg
from headwater.llvm.ir import Function, Inst, Value
from headwater.vectorise.analysis.cost import LANES
from headwater.vectorise.analysis.shapes import LANE, PER_ITEM, PRIMITIVE, ROW, Shapes
from headwater.vectorise.analysis.sums_of_products import MOST_PRODUCTS, Sum, add, multiply
from headwater.vectorise.layout import Layout
from headwater.vectorise.prepare.combine import writes

POINTER_BITS = 64

MOST_FACTORS = 4
"""A value that is the sum of products of more factors is an atom."""

SHARED = 0.25
"""Part of the loads that rows along y must share. Two rows of a five-point stencil share a third (Zen 4: 0.93 of the
time of two that follow each other along x), of a 3 × 3 median about half (0.79)."""

OPERATIONS = frozenset(("add", "sub", "mul", "shl", "or", "trunc", "sext", "zext", "getelementptr"))


class RowValues:
    """The scalar integers and addresses of one function in a chunk whose rows lie along dimension ``row_dim``."""

    def __init__(self, function: Function, shapes: Shapes, row_dim: int) -> None:
        self._defs = {i.name: i for block in function.blocks.values() for i in block.insts if i.name}
        self._shapes = shapes
        self._row_dim = row_dim
        self._known: dict[tuple[str, int], Sum] = {}
        self._atoms: dict[str, str] = {}
        self._extended: dict[str, tuple[int, Sum]] = {}

    def name(self, inst: Inst, row: int) -> str:
        """The name of lane 0's value in a row; '' if it is one that no other row can have."""
        if inst.op not in OPERATIONS or not _is_number(Value(inst.ty, inst.name)):
            return ""
        return f"{inst.ty} {_text(self._of(Value(inst.ty, inst.name), row))}"

    def address(self, pointer: Value, row: int) -> str:
        """The name of the address that lane 0 has in a row."""
        return _text(self._of(pointer, row))

    def _of(self, value: Value, row: int) -> Sum:
        if not value.is_local:
            number = value.text.removeprefix("-").isdigit()
            return _modulo({(): int(value.text)}, _bits(value)) if number else {(f"{value.ty} {value.text}",): 1}
        row = row if self._shapes.shape(value).deps & ROW else 0
        known = self._known.get((value.text, row))
        if known is None:
            inst = self._defs.get(value.text)
            found = None if inst is None or not _is_number(value) else self._computed(inst, row)
            if found is None or len(found) > MOST_PRODUCTS or max(map(len, found), default=0) > MOST_FACTORS:
                found = {(f"{value.text}@{row}",): 1}
            known = self._known[value.text, row] = _modulo(found, _bits(value))
        return known

    def _computed(self, inst: Inst, row: int) -> Sum | None:
        """The value before it is cut to its bits; None if it is an atom."""
        if inst.op == "call" and (match := PRIMITIVE.match(inst.detail)):
            steps = match[1] in PER_ITEM and int(match[2]) == self._row_dim
            return {(inst.detail,): 1, (): row if steps else 0}
        if inst.op == "getelementptr":
            return self._address(inst, row)
        if inst.op not in OPERATIONS or not all(_is_number(v) for v in inst.args):
            return None
        parts = [self._of(v, row) for v in inst.args]
        if inst.op in ("add", "sub") or (inst.op == "or" and "disjoint" in inst.flags):
            return add(parts[0], parts[1], -1 if inst.op == "sub" else 1)
        if inst.op == "mul":
            return multiply(*parts)
        if inst.op == "shl" and inst.args[1].text.isdigit():
            return multiply(parts[0], {(): 1 << int(inst.args[1].text)})
        if inst.op == "trunc":
            return self._cut(parts[0], inst.ty.bits)
        if inst.op in ("sext", "zext"):
            # What is known not to be negative in active lanes is extended either way in lane 0, by its shape.
            op = f"nneg {self._shapes.of[inst.name].strided}" if "nneg" in inst.flags else inst.op
            whole = f"{op} {inst.args[0].ty} ({_text(parts[0])})"
            atom = self._atoms.setdefault(whole, f"extended {len(self._atoms)}")
            self._extended[atom] = inst.args[0].ty.bits, parts[0]
            return {(atom,): 1}
        return None

    def _cut(self, value: Sum, bits: int) -> Sum | None:
        """A polynomial of which only the lower bits are wanted: those of what an extension extends are the same."""
        total: Sum = {}
        for product, count in value.items():
            term: Sum = {(): count}
            for atom in product:
                width, inner = self._extended.get(atom, (0, {}))
                part: Sum | None = {(atom,): 1}
                if width >= bits:
                    part = self._cut(inner, bits)
                if part is None or len(term) * len(part) > MOST_PRODUCTS:
                    return None
                term = multiply(term, part)
            total = add(total, term)
        return total

    def _address(self, inst: Inst, row: int) -> Sum | None:
        total, ty = self._of(inst.args[0], row), inst.source
        for position, index in enumerate(inst.args[1:]):
            if position:
                if ty.elem is None:  # a struct
                    return None
                ty = ty.elem
            number = index.ty.kind == "int" and (index.ty.bits == POINTER_BITS or not index.is_local)
            if not number:  # others are extended
                return None
            total = add(total, multiply(self._of(index, row), {(): ty.size_bytes}))
        return total


def rows_share(function: Function, cfg: Cfg, private: Mapping[str, int]) -> bool:
    """Whether a kernel without loops has work-items read much of what those at the next y read, too."""
    if cfg.loops:
        return False
    shapes = Shapes(function, cfg, Layout(LANES, 2, 0, 1), dict(private))
    values = RowValues(function, shapes, 1)
    loads = shared = 0
    for name in cfg.order:
        rows: tuple[set[str], set[str]] = (set(), set())
        for inst in function.blocks[name].insts:
            if writes(inst):
                break
            if inst.op == "load" and not inst.flags and shapes.shape(inst.args[0]).deps & LANE:
                for row, names in enumerate(rows):
                    names.add(f"{inst.ty} {values.address(inst.args[0], row)}")
        loads += len(rows[0])
        shared += len(rows[0] & rows[1])
    return shared >= max(1, SHARED * loads)


def _is_number(value: Value) -> bool:
    return value.ty.kind in ("int", "ptr")


def _bits(value: Value) -> int:
    return value.ty.bits if value.ty.kind == "int" else POINTER_BITS


def _modulo(value: Sum, bits: int) -> Sum:
    reduced = {product: count % (1 << bits) for product, count in value.items()}
    return {product: count for product, count in reduced.items() if count}


def _text(value: Sum) -> str:
    return " + ".join(f"{count}*{'*'.join(product)}" for product, count in sorted(value.items()))
