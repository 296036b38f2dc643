"""Input: values of a kernel. Output: each as a sum of products, which shows what addresses have in common.

Conversions between integers are passed over as if nothing ever wrapped around, so this is for choosing what is best to
do, not for what is right.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.llvm.ir import Function, Inst, Value

Product = tuple[str, ...]
"""The names of the values that are multiplied, sorted; () is the product of none, 1."""

Sum = Mapping[Product, int]
"""The factor of each product, none of them 0."""

MOST_PRODUCTS = 16
"""A value that is the sum of more stands for itself."""

_SAME = frozenset(("sext", "zext", "trunc", "freeze", "addrspacecast"))


class Sums:
    """The values of one function as sums; addresses count bytes."""

    def __init__(self, function: Function) -> None:
        self._defs = {i.name: i for block in function.blocks.values() for i in block.insts if i.name}
        self._known: dict[str, Sum] = {}

    def of(self, value: Value) -> Sum:
        """The value as a sum."""
        if not value.is_local:
            number = value.text.lstrip("-")
            return {(): int(value.text)} if number.isdigit() and int(number) else {} if number == "0" else _one(value)
        known = self._known.get(value.text)
        if known is None:
            inst = self._defs.get(value.text)
            found = None if inst is None else self._of(inst)
            known = self._known[value.text] = _one(value) if found is None or len(found) > MOST_PRODUCTS else found
        return known

    def _of(self, inst: Inst) -> Sum | None:
        if inst.op == "getelementptr":
            return self._address(inst)
        if inst.ty.kind not in ("int", "ptr"):
            return None
        if inst.op in _SAME:
            return self.of(inst.args[0])
        if inst.op in ("add", "sub") or (inst.op == "or" and "disjoint" in inst.flags):
            return add(self.of(inst.args[0]), self.of(inst.args[1]), -1 if inst.op == "sub" else 1)
        if inst.op == "mul":
            return multiply(self.of(inst.args[0]), self.of(inst.args[1]))
        if inst.op == "shl" and inst.args[1].text.isdigit():
            return add({}, self.of(inst.args[0]), 1 << int(inst.args[1].text))
        return None

    def _address(self, inst: Inst) -> Sum | None:
        total, ty = self.of(inst.args[0]), inst.source
        for position, index in enumerate(inst.args[1:]):
            if position:
                if ty.elem is None:  # a struct
                    return None
                ty = ty.elem
            total = add(total, self.of(index), ty.size_bytes)
        return total


def add(a: Sum, b: Sum, factor: int = 1) -> Sum:
    """``a + factor * b``."""
    total = dict(a)
    for product, count in b.items():
        total[product] = total.get(product, 0) + factor * count
    return {product: count for product, count in total.items() if count}


def multiply(a: Sum, b: Sum) -> Sum:
    """``a * b``."""
    total: Sum = {}
    for left, count in a.items():
        total = add(total, {tuple(sorted(left + right)): other for right, other in b.items()}, count)
    return total


def _one(value: Value) -> Sum:
    return {(value.text,): 1}
