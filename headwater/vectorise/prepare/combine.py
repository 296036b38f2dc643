"""Input: a work-item's loads of neighbouring elements. Output: loads of whole vectors, and components taken out of
them.

LLVM takes loads of vectors apart where only their components are used, and people write ``p[4 * i]``, ``p[4 * i + 1]``.
Where work-items lie further apart than that, each such load would be strided, the whole is not.
"""

from __future__ import annotations

from headwater.llvm.ir import Block, Function, Inst, Value
from headwater.llvm.types import I64, PRIVATE_SPACE, int_type, vec_type
from headwater.vectorise.analysis.shapes import LANE, Shapes

MOST_COMPONENTS = 16
"""OpenCL's longest vectors (OpenCL C 1.2 specification 6.1.2)."""

_Key = tuple[str, ...]


def combine_loads(function: Function, shapes: Shapes) -> None:
    """Rewrite the function's blocks in place."""
    combiner = _Combiner(function, shapes)
    for block in function.blocks.values():
        combiner.rewrite(block)


class _Combiner:
    def __init__(self, function: Function, shapes: Shapes) -> None:
        self.shapes = shapes
        self.defs = {i.name: i for b in function.blocks.values() for i in b.insts if i.name}
        self.count = 0

    def rewrite(self, block: Block) -> None:
        """Combine loads between which nothing is written."""
        open_loads: dict[_Key, dict[int, Inst]] = {}
        chunks: list[list[tuple[int, Inst]]] = []
        for inst in block.insts:
            if inst.op == "load" and not {"volatile", "atomic"} & set(inst.flags):
                key = self._key(inst)
                if key is not None:
                    open_loads.setdefault(key[0], {}).setdefault(key[1], inst)
            elif writes(inst):
                chunks += self._chunks(open_loads)
                open_loads = {}
        chunks += self._chunks(open_loads)
        place = {id(inst): index for index, inst in enumerate(block.insts)}
        before: dict[int, list[Inst]] = {}
        for chunk in chunks:
            first = min((inst for _, inst in chunk), key=lambda inst: place[id(inst)])
            before[place[id(first)]] = self._load(chunk, first)
        block.insts = [i for index, inst in enumerate(block.insts) for i in (*before.get(index, ()), inst)]

    def _key(self, inst: Inst) -> tuple[_Key, int] | None:
        """What loads must have in common to be of one vector, and the offset in bytes; None for other loads."""
        pointer = inst.args[0]
        shape = self.shapes.shape(pointer)
        if inst.ty.kind not in ("int", "float") or inst.ty.bits < 8 or not shape.deps & LANE:
            return None
        if pointer.ty.space == PRIVATE_SPACE:  # private arrays lie element by element already
            return None
        base, offset = self._address(pointer)
        return (inst.ty.text, *base), offset

    def _address(self, pointer: Value) -> tuple[_Key, int]:
        inst = self.defs.get(pointer.text)
        if inst is None or inst.op != "getelementptr" or len(inst.args) != 2:
            return (pointer.text,), 0
        base, index = inst.args
        size = inst.source.size_bytes
        if index.text.lstrip("-").isdigit():
            key, offset = self._address(base)
            return key, offset + size * int(index.text)
        name, number = self._index(index)
        return (base.text, name, str(size)), size * number

    def _index(self, value: Value) -> tuple[str, int]:
        """An index as what varies, and a constant that is added."""
        inst = self.defs.get(value.text)
        if inst is not None and inst.op in ("sext", "zext"):
            # The extension of a sum that does not wrap around is the sum of the extensions.
            name, number = self._sum(inst.args[0], {"disjoint", "nsw" if inst.op == "sext" else "nuw"})
            return f"{inst.op} {name}", number
        return self._sum(value, {"disjoint", "add"})

    def _sum(self, value: Value, needs: set[str]) -> tuple[str, int]:
        """A value as another and a constant; an addition must have one of the flags (``add``: none is needed)."""
        inst = self.defs.get(value.text)
        if inst is None or inst.op not in ("add", "or") or not needs & {inst.op, *inst.flags}:
            return value.text, 0
        constant = inst.args[1]
        if not constant.text.lstrip("-").isdigit():
            return value.text, 0
        return inst.args[0].text, int(constant.text)

    def _chunks(self, loads: dict[_Key, dict[int, Inst]]) -> list[list[tuple[int, Inst]]]:
        """Loads of neighbours, as many as a vector has components and as fit between two work-items' addresses."""
        found = []
        for by_offset in loads.values():
            offsets = sorted(by_offset)
            at = 0
            while at < len(offsets):
                first = by_offset[offsets[at]]
                size = first.ty.size_bytes
                stride = self.shapes.shape(first.args[0]).stride
                room = MOST_COMPONENTS if stride is None else min(MOST_COMPONENTS, abs(stride) // size)
                length = 1
                while at + length < len(offsets) and offsets[at + length] == offsets[at] + length * size:
                    length += 1
                count = 1
                while 2 * count <= min(length, room):
                    count *= 2
                if count > 1:
                    found.append([(o, by_offset[o]) for o in offsets[at : at + count]])
                at += count
        return found

    def _load(self, chunk: list[tuple[int, Inst]], first: Inst) -> list[Inst]:
        """The load of all, to stand before the first; the others become components of it."""
        made = []
        pointer = first.args[0]
        back = chunk[0][0] - next(offset for offset, inst in chunk if inst is first)
        if back:
            step = Inst(
                "getelementptr", pointer.ty, self._fresh(), [pointer, Value(I64, str(back))], source=int_type(8)
            )
            pointer = Value(step.ty, step.name)
            made.append(step)
        ty = vec_type(len(chunk), first.ty)
        whole = Inst(
            "load", ty, self._fresh(), [pointer], align=chunk[0][1].align, line=first.line, column=first.column
        )
        made.append(whole)
        for index, (_, inst) in enumerate(chunk):
            inst.op, inst.flags = "extractelement", ()
            inst.args = [Value(ty, whole.name), Value(I64, str(index))]
        return made

    def _fresh(self) -> str:
        self.count += 1
        return f"%hwl.{self.count}.v"


def writes(inst: Inst) -> bool:
    """Whether what was loaded before may be another value afterwards."""
    if inst.op == "call":
        return not inst.detail.startswith(("llvm.", "__hw_")) or inst.detail.startswith("llvm.mem")
    return inst.op in ("store", "atomicrmw", "cmpxchg", "fence", "barrier")
