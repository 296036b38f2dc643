"""Input: operations on each component of vectors, one by one. Output: the same operations on whole vectors.

The device library defines ``min(a, b)`` of four components as four scalar minima, between extractions and insertions.
From every vector that is put together out of scalars this looks upwards for operations that are the same in all
components, up to whole vectors: a small relative of superword-level parallelism (Larsen and Amarasinghe, 'Exploiting
Superword Level Parallelism with Multimedia Instruction Sets', PLDI 2000).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headwater.llvm.ir import BINARY, CASTS, Function, Inst, Value
from headwater.llvm.types import I64, Type, vec_type
from headwater.vectorise.analysis.shapes import LANE, Shapes

_ELEMENTWISE = re.compile(
    r"llvm\.(?:[us](?:min|max|cmp)|abs|fma|fmuladd|(?:min|max)(?:num|imum|imumnum)|sqrt|floor|ceil|trunc|rint|nearbyint|"
    r"round|roundeven|fabs|copysign|canonicalize|[us](?:add|sub|shl)\.sat|fsh[lr]|ctpop|ctlz|cttz|bswap|bitreverse|"
    r"fpto[us]i\.sat|ldexp|is\.fpclass)\."
)
_MANGLED = re.compile(r"\.((?:f|i|bf)\d+)(?=\.|$)")
_SCALAR_OPERAND = {"llvm.abs": 1, "llvm.ctlz": 1, "llvm.cttz": 1, "llvm.is": 1}
"""Intrinsics whose operand at this place stays scalar (LLVM Language Reference)."""
_PURE = BINARY | CASTS | {"icmp", "fcmp", "select", "fneg", "freeze"}
_UNUSED = _PURE | {"extractelement", "insertelement", "shufflevector"}


def regroup(function: Function, shapes: Shapes) -> None:
    """Rewrite the function's blocks in place."""
    regrouper = _Regrouper(function, shapes)
    regrouper.run()
    regrouper.drop_unused()


class _Regrouper:
    """One function's groups. A group is a tuple of values, one for each component."""

    def __init__(self, function: Function, shapes: Shapes) -> None:
        self.function = function
        self.shapes = shapes
        self.defs: dict[str, Inst] = {}
        self.at: dict[str, tuple[str, int]] = {}
        for block in function.blocks.values():
            for index, inst in enumerate(block.insts):
                if inst.name:
                    self.defs[inst.name] = inst
                    self.at[inst.name] = (block.name, index)
        self.found: dict[tuple[str, ...], Value | None] = {}
        self.members: dict[str, tuple[str, ...]] = {}
        # What comes from whole vectors. The rest may be addresses in the making, which are better off as scalars.
        self.grounded: set[str] = set()
        self.new: dict[str, list[tuple[int, Inst]]] = {}
        self.count = 0

    def run(self) -> None:
        roots: dict[str, Value] = {}
        for name, inst in self.defs.items():
            group = self._inserted(inst) if self.shapes.shape(Value(inst.ty, name)).deps & LANE else None
            whole = self._whole(group) if group is not None else None
            if whole is not None:
                roots[name] = whole
        if not roots:
            return
        for name, insts in self.new.items():
            insts.sort(key=lambda pair: pair[0])
            block = self.function.blocks[name]
            for index in range(len(insts) - 1, -1, -1):
                block.insts.insert(insts[index][0] + 1, insts[index][1])
        for inst in self._instructions():
            inst.args = [self._end(roots, v) for v in inst.args]
        self.drop_unused()
        self._extract_for_others()

    @staticmethod
    def _end(roots: dict[str, Value], value: Value) -> Value:
        while value.text in roots:
            value = roots[value.text]
        return value

    def _instructions(self) -> Iterator[Inst]:
        for block in self.function.blocks.values():
            yield from block.insts

    def _inserted(self, inst: Inst) -> tuple[Value, ...] | None:
        """The components of a vector that is made by insertions alone."""
        if inst.op != "insertelement" or inst.ty.scalar.kind == "ptr":
            return None
        parts: dict[int, Value] = {}
        at: Inst | None = inst
        while at is not None and at.op == "insertelement" and not at.args[2].is_local:
            parts.setdefault(int(at.args[2].text), at.args[1])
            if len(parts) == inst.ty.count:
                return tuple(parts[i] for i in sorted(parts))
            at = self.defs.get(at.args[0].text)
        return None

    def _whole(self, group: tuple[Value, ...]) -> Value | None:
        """The group as one vector, or None if its members have too little in common."""
        ty = vec_type(len(group), group[0].ty)
        if group[0].ty.kind not in ("int", "float"):
            return None
        if not any(v.is_local for v in group):
            if any(v.is_undefined for v in group):
                return None
            return Value(ty, "<" + ", ".join(f"{v.ty} {v.text}" for v in group) + ">", tuple(group))
        key = tuple(v.text for v in group)
        if key not in self.found:
            self.found[key] = None  # a group that needs itself is none
            self.found[key] = self._make(group, key) or self._of_uniform(group)
        return self.found[key]

    def _make(self, group: tuple[Value, ...], key: tuple[str, ...]) -> Value | None:
        if len(set(key)) == 1:
            return self._splat(group)
        if len(set(key)) < len(key):
            return None
        insts = [self.defs.get(text) for text in key]
        first = insts[0]
        known = [i for i in insts if i is not None]
        if first is None or len(known) < len(group) or any(i.op != first.op or i.ty != first.ty for i in known):
            return None
        if first.op == "extractelement":
            return self._rearranged(known)
        return self._operation(known, key)

    def _splat(self, group: tuple[Value, ...]) -> Value:
        ty, place = vec_type(len(group), group[0].ty), self._after(group[0])
        first = self._add(place, "insertelement", ty, [Value(ty, "poison"), group[0], Value(I64, "0")])
        spread = self._add(place, "shufflevector", ty, [Value(ty, first.name), Value(ty, "poison")])
        spread.indices = (0,) * len(group)
        return Value(ty, spread.name)

    def _of_uniform(self, group: tuple[Value, ...]) -> Value | None:
        """Values that all lanes share cost little to put together."""
        if any(self.shapes.shape(v).deps & LANE for v in group):
            return None
        ty = vec_type(len(group), group[0].ty)
        order = self.shapes.cfg.index  # all of them are known where the last one is
        place = max((self._after(v) for v in group), key=lambda at: (order[at[0]], at[1]))
        vector = Value(ty, "poison")
        for index, value in enumerate(group):
            inserted = self._add(place, "insertelement", ty, [vector, value, Value(I64, str(index))])
            vector = Value(ty, inserted.name)
        return vector

    def _rearranged(self, insts: list[Inst]) -> Value | None:
        """Components of one vector, perhaps in another order."""
        source = insts[0].args[0]
        if any(i.args[0].text != source.text or i.args[1].is_local for i in insts):
            return None
        places = tuple(int(i.args[1].text) for i in insts)
        if places == tuple(range(source.ty.count)):
            self.grounded.add(source.text)
            return source
        if not source.is_local:
            return None
        args = [source, Value(source.ty, "poison")]
        shuffled = self._add(self._after(source), "shufflevector", vec_type(len(insts), source.ty.scalar), args)
        shuffled.indices = places
        self.grounded.add(shuffled.name)
        return Value(shuffled.ty, shuffled.name)

    def _operation(self, insts: list[Inst], key: tuple[str, ...]) -> Value | None:
        first = insts[0]
        if first.op == "call":
            if not _ELEMENTWISE.match(first.detail) or first.ty.kind == "struct":
                return None
        elif first.op not in _PURE:
            return None
        if any(i.detail != first.detail or self.at[i.name][0] != self.at[first.name][0] for i in insts):
            return None
        scalar_place = _SCALAR_OPERAND.get(".".join(first.detail.split(".")[:2]), -1) if first.op == "call" else -1
        args: list[Value] = []
        for place, value in enumerate(first.args):
            operands = tuple(i.args[place] for i in insts)
            if any(v.ty != value.ty for v in operands):
                return None
            one = first.op == "select" and place == 0 and len({v.text for v in operands}) == 1
            if one or place == scalar_place:
                if any(v.text != value.text for v in operands):
                    return None
                args.append(value)
                continue
            whole = self._whole(operands)
            if whole is None:
                return None
            args.append(whole)
        if not any(v.text in self.grounded for v in args):
            return None
        made = self._add(self._last(insts), first.op, vec_type(len(insts), first.ty), args)
        made.flags = tuple(f for f in first.flags if all(f in i.flags for i in insts))
        made.detail = first.detail
        if first.op == "call":
            made.detail = _MANGLED.sub(rf".v{len(insts)}\1", first.detail)
        self.members[made.name] = key
        self.grounded.add(made.name)
        return Value(made.ty, made.name)

    def _last(self, insts: list[Inst]) -> tuple[str, int]:
        """The place of the last of a group: the operands of all of them are known there."""
        return max(self.at[i.name] for i in insts)

    def _after(self, value: Value) -> tuple[str, int]:
        """The first place where a value is known; -1 is the start of a block."""
        block, index = self.at.get(value.text, (next(iter(self.function.blocks)), -1))
        insts = self.function.blocks[block].insts
        if index >= 0 and insts[index].op == "phi":
            index = sum(1 for _ in self.function.blocks[block].phis) - 1
        return block, index

    def _add(self, place: tuple[str, int], op: str, ty: Type, args: list[Value]) -> Inst:
        inst = Inst(op, ty, self._fresh(), args)
        self.new.setdefault(place[0], []).append((place[1], inst))
        return inst

    def _fresh(self) -> str:
        self.count += 1
        return f"%hwv.{self.count}"

    def drop_unused(self) -> None:
        """Drop what nothing asks for any more."""
        while True:
            used = {v.text for i in self._instructions() for v in i.args}
            dropped = False
            for block in self.function.blocks.values():
                kept = [i for i in block.insts if i.name in used or not _is_pure(i)]
                dropped |= len(kept) < len(block.insts)
                block.insts = kept
            if not dropped:
                return

    def _extract_for_others(self) -> None:
        """Members that others ask for, too, are taken out of the group, so that nothing is computed twice."""
        for block in self.function.blocks.values():
            left = {i.name for i in block.insts}
            taken: dict[str, Value] = {}
            insts: list[Inst] = []
            for inst in block.insts:
                if inst.op != "phi":
                    inst.args = [taken.get(v.text, v) for v in inst.args]
                insts.append(inst)
                for index, member in enumerate(self.members.get(inst.name, ())):
                    if member in left:
                        one = Inst("extractelement", inst.ty.scalar, self._fresh())
                        one.args = [Value(inst.ty, inst.name), Value(I64, str(index))]
                        taken[member] = Value(one.ty, one.name)
                        insts.append(one)
            block.insts = insts
            for other in self.function.blocks.values() if taken else ():
                for inst in other.insts:
                    if other is not block or inst.op == "phi":
                        inst.args = [taken.get(v.text, v) for v in inst.args]


def _is_pure(inst: Inst) -> bool:
    return inst.op in _UNUSED or (inst.op == "call" and bool(_ELEMENTWISE.match(inst.detail)))
