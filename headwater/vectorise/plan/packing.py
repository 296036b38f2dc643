"""Input: a kernel's vector values. Output: those that are best kept whole, all lanes' components in memory order.

A ``uchar4`` of 16 work-items is one register of 64 bytes if it stays as it lies in memory, and four registers of 16
bytes if each component gets its own, which takes shuffles at every load and store. Operations that treat all components
alike do not care. Those that take single components out do: values that are connected by operations are kept whole
together, if that saves more shuffles than it costs.
"""

from __future__ import annotations

from headwater.llvm.cfg import Cfg
from headwater.llvm.ir import BINARY, CASTS, Function, Inst, Value
from headwater.vectorise.analysis.cost import TRIPS
from headwater.vectorise.analysis.shapes import LANE, Shapes

MAX_STEP = 4
"""Accesses every ``MAX_STEP`` elements or closer go through one wide access and a shuffle, others lane by lane."""

VECTOR_BITS = 512
"""What a register is taken to hold; only proportions matter."""

_DIVISIONS = frozenset(("udiv", "sdiv", "urem", "srem"))
_SIMPLE = (BINARY | CASTS | {"icmp", "fcmp", "select", "fneg", "freeze", "phi", "load", "shufflevector"}) - _DIVISIONS


def packed_values(function: Function, cfg: Cfg, shapes: Shapes) -> frozenset[str]:
    """The names of the vector values that are kept whole. Costs are in shuffles of a register."""
    return _Packing(function, cfg, shapes).choose()


class _Packing:
    def __init__(self, function: Function, cfg: Cfg, shapes: Shapes) -> None:
        self.cfg = cfg
        self.shapes = shapes
        self.lanes = shapes.layout.lanes
        self.insts = [(name, i) for name in cfg.order for i in function.blocks[name].insts]
        self.parent = {i.name: i.name for _, i in self.insts if i.name and self._can_stay_whole(i)}
        self.costs = dict.fromkeys(self.parent, 0.0)
        self.weight = {name: self._weight(name) for name in cfg.order}

    def choose(self) -> frozenset[str]:
        if not self.parent:
            return frozenset()
        taken: dict[str, dict[int, float]] = {name: {} for name in self.parent}
        split: dict[str, dict[str, float]] = {name: {} for name in self.parent}
        for block, inst in self.insts:
            weight = self.weight[block]
            if inst.name in self.parent:
                self.costs[inst.name] += weight * self._cost(inst)
            for place, value in enumerate(inst.args):
                if value.text in self.parent:
                    if inst.name in self.parent:
                        self._join(inst.name, value.text)
                    else:
                        self._count_use(inst, place, value, weight, taken[value.text])
                elif inst.name in self.parent and value.ty.kind == "vec" and self.shapes.shape(value).deps & LANE:
                    joined = self._by_component(value.ty.count, value.ty.scalar.bits)
                    split[inst.name][value.text] = weight * joined
        total: dict[str, float] = {}
        for name, cost in self.costs.items():
            root = self._root(name)
            total[root] = total.get(root, 0.0) + cost + sum(taken[name].values()) + sum(split[name].values())
        return frozenset(name for name in self.parent if total[self._root(name)] < 0.0)

    def _weight(self, name: str) -> float:
        weight, loop = 1.0, self.cfg.loop_of[name]
        while loop is not None:
            weight, loop = weight * TRIPS, loop.parent
        return weight

    def _can_stay_whole(self, inst: Inst) -> bool:
        ty = inst.ty
        if ty.kind != "vec" or ty.scalar.kind not in ("int", "float") or ty.count & (ty.count - 1):
            return False
        shape = self.shapes.of.get(inst.name)
        if shape is None or (self.lanes > 1 and not shape.deps & LANE):
            return False
        if inst.op == "load":
            return ty.scalar.bits >= 8
        if inst.op == "insertelement":
            return not inst.args[2].is_local
        if inst.op == "call":
            return inst.detail.startswith("llvm.") and not inst.detail.startswith(("llvm.vector.", "llvm.masked."))
        return inst.op in _SIMPLE

    def _registers(self, bits: int) -> int:
        return -(-self.lanes * bits // VECTOR_BITS)

    def _component(self, count: int, bits: int) -> float:
        """What it takes to get one component out of a whole value: it is selected by halving."""
        return max(1.0, (count.bit_length() - 1) * self.lanes * bits / VECTOR_BITS)

    def _by_component(self, count: int, bits: int) -> float:
        return count * self._component(count, bits)

    def _cost(self, inst: Inst) -> float:
        """What computing this value whole costs more than by components."""
        count, bits = inst.ty.count, inst.ty.scalar.bits
        whole = self._registers(count * bits)
        if inst.op == "load":
            return self._access_cost(inst.args[0], count, inst.ty.scalar.size_bytes)
        if inst.op == "shufflevector":
            splat = len(set(inst.indices)) == 1  # the one component of a vector that has no other
            return 0.0 if splat or inst.indices == tuple(range(count)) else float(whole)
        if inst.op == "insertelement":
            return (1.0 if inst.args[0].is_undefined else 2.0) * whole
        if inst.op == "phi":
            return 0.0
        if inst.op == "bitcast" and inst.args[0].ty.kind == "vec" and inst.args[0].ty.count == count:
            return 0.0
        if inst.op == "bitcast":
            return -self._by_component(count, bits)
        cost = float(whole - count * self._registers(bits))
        if inst.op == "select" and inst.args[0].ty.kind != "vec":
            cost += float(whole) if self.shapes.shape(inst.args[0]).deps & LANE else 0.0
        return cost

    def _access_cost(self, pointer: Value, count: int, size: int) -> float:
        """What one access to whole vectors costs more than accesses to their components."""
        if self.lanes == 1:
            return 1.0 - count
        stride = self.shapes.shape(pointer).stride
        if stride == count * size and pointer.text not in self.shapes.interleaved:
            return -self._by_component(count, 8 * size)
        if pointer.text in self.shapes.interleaved or (stride is not None and 0 < stride <= MAX_STEP * size):
            return self._by_component(count, 8 * size)
        return -0.25 * (count - 1) * self.lanes

    def _count_use(self, inst: Inst, place: int, value: Value, weight: float, taken: dict[int, float]) -> None:
        count, bits = value.ty.count, value.ty.scalar.bits
        if inst.op == "extractelement" and not inst.args[1].is_local:
            taken[int(inst.args[1].text)] = weight * self._component(count, bits)
        elif inst.op == "store" and place == 0 and self.shapes.shape(inst.args[1]).deps & LANE:
            cost = self._access_cost(inst.args[1], count, value.ty.scalar.size_bytes)
            taken[-1] = taken.get(-1, 0.0) + weight * cost
        elif inst.op == "bitcast":
            taken[-1] = taken.get(-1, 0.0) - weight * self._by_component(count, bits)
        else:
            for component in range(count):
                taken[component] = weight * self._component(count, bits)

    def _root(self, name: str) -> str:
        while self.parent[name] != name:
            self.parent[name] = name = self.parent[self.parent[name]]
        return name

    def _join(self, a: str, b: str) -> None:
        self.parent[self._root(a)] = self._root(b)
