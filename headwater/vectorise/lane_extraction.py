"""Vector values in; single lanes of them as scalars out, where lanes are taken one by one (atomics)."""

from __future__ import annotations

from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import GENERIC_SPACE, I32, Type
from headwater.vectorise.arithmetic import Arithmetic
from headwater.vectorise.shapes import LANE

WORD = I32
"""Small elements are loaded so many at a time and shifted out: the two ports that load are what atomics wait for."""

_STEPS = frozenset(("getelementptr", "zext", "sext"))
"""What is as cheap once a lane on scalars, where x86 has it for nothing in addresses, as on vectors."""


class Apart(Arithmetic):
    """Takes vector values apart."""

    def find_apart(self) -> None:
        """Note what atomics' operands are made of, and which loads of small elements can wait for them."""
        # By block: what a step is made of need not be known outside of its own.
        self.steps: dict[tuple[str, str], Inst] = {}
        self.apart: dict[str, Inst] = {}
        for name in self.cfg.order:
            insts = self.function.blocks[name].insts
            defined = {i.name: (place, i) for place, i in enumerate(insts) if i.name}
            for place, atomic in enumerate(insts):
                if atomic.op not in ("atomicrmw", "cmpxchg"):
                    continue
                work = list(atomic.args)
                while work:
                    at, inst = defined.get(work.pop().text, (0, None))
                    if inst is None or inst.ty.kind == "vec":
                        continue
                    if inst.op in _STEPS and self.shapes.interleave_factor(inst.args[0].text) == 1:
                        self.steps[name, inst.name] = inst
                        work += inst.args
                    elif _is_small_load(inst) and not any(_may_write(i, inst) for i in insts[at : place + 1]):
                        self.apart[inst.name] = inst

    def lane_value(self, value: Value, row: int, lane: int) -> str:
        """One lane of a scalar-typed value."""
        shape = self.shapes.shape(value)
        if not shape.deps & LANE:
            return self.part(value, row)
        if self.forms(shape) == ("s",):
            base = self.part(value, row)
            assert shape.stride is not None
            if not lane:
                return base
            if value.ty.kind == "ptr":
                return self.writer.let(f"getelementptr i8, {value.ty} {base}, i64 {lane * shape.stride}")
            return self.writer.let(f"add {value.ty} {base}, {lane * shape.stride}")
        inst = self.steps.get((self.block, value.text))
        key = (value.text, lane, row, "l")
        if inst is None:
            return self._from_word(value, row, lane) or self._from_memory(value, row, lane)
        if key not in self.cache:
            self.cache[key] = self._lane_of_step(inst, row, lane)
        return self.cache[key]

    def _from_memory(self, value: Value, row: int, lane: int) -> str:
        """A lane of a vector that is put into memory for that: volatile, or LLVM would take it from the register.

        An addition to memory at an address that comes right from a vector register takes a Zen 4 7.4 ns (a histogram of
        masked words, which takes 0.8 so).
        """
        key = (value.text, 0, row, "m")
        wide = self.lanes_of(value.ty)
        if value.ty.text == "i1":  # LLVM packs their bits
            return self.writer.let(f"extractelement {wide} {self.part(value, row, 'v')}, i64 {lane}")
        if key not in self.cache:
            self.spills += 1
            self.writer.store_slot(f"apart.{self.spills}", wide, self.part(value, row, "v"))
            self.cache[key] = f'%"apart.{self.spills}"'
        at = self.writer.let(f"getelementptr {value.ty}, ptr {self.cache[key]}, i64 {lane}")
        return self.writer.let(f"load volatile {value.ty}, ptr {at}")

    def offset(self, pointer_type: Type, pointer: str, offset_bytes: int) -> str:
        if not offset_bytes:
            return pointer
        index = f"i64 {offset_bytes}"
        return self.writer.let(f"getelementptr i8, {pointer_type} {pointer}, {index}")

    def lane_addresses(self, pointer: Value, row: int) -> list[str]:
        shape = self.shapes.shape(pointer)
        lanes = range(self.layout.lanes)
        if shape.stride is not None and "g" not in self.forms(shape):
            base = self.part(pointer, row)
            return [self.offset(pointer.ty, base, lane * shape.stride) for lane in lanes]
        addresses = f"{self.lanes_of(pointer.ty)} {self.part(pointer, row, 'v')}"
        return [self.writer.let(f"extractelement {addresses}, i64 {lane}") for lane in lanes]

    def _lane_of_step(self, inst: Inst, row: int, lane: int) -> str:
        texts = [self.lane_value(v, row, lane) for v in inst.args]
        if inst.op == "getelementptr":
            operands = ", ".join(f"{v.ty} {text}" for v, text in zip(inst.args, texts, strict=True))
            return self.writer.let(f"getelementptr {inst.source}, {operands}")
        return self.writer.let(f"{inst.op} {inst.args[0].ty} {texts[0]} to {inst.ty}")

    def fetch(self, atomic: Inst, row: int) -> None:
        """Load what an atomic's operands are made of in one row. More rows would not stay in registers, and spills take
        the port for stores, which atomics keep busy."""
        work = list(atomic.args)
        while work:
            value = work.pop()
            if (self.block, value.text) in self.steps:
                work += self.steps[self.block, value.text].args
            base = self.cache.get((value.text, 0, row, "at"))
            if base is None:
                continue
            inst = self.apart[value.text]
            pointer = inst.args[0].ty
            for word in range(self.layout.lanes * inst.ty.size_bytes // WORD.size_bytes):
                key = (value.text, word, row, "w")
                if key not in self.cache:
                    at = self.writer.let(f"getelementptr {WORD}, {pointer} {base}, i64 {word}")
                    self.cache[key] = self.writer.let(f"load {WORD}, {pointer} {at}, align {inst.align}")

    def _from_word(self, value: Value, row: int, lane: int) -> str:
        size = value.ty.size_bytes
        word, rest = divmod(lane * size, WORD.size_bytes)
        text = self.cache.get((value.text, word, row, "w"))
        if text is None:
            return ""
        if rest:
            text = self.writer.let(f"lshr {WORD} {text}, {8 * rest}")
        return self.writer.let(f"trunc {WORD} {text} to {value.ty}")


def _is_small_load(inst: Inst) -> bool:
    return inst.op == "load" and inst.ty.text in ("i8", "i16") and not {"volatile", "atomic"} & set(inst.flags)


def _may_write(inst: Inst, load: Inst) -> bool:
    """Whether ``inst`` may change what ``load`` reads: memory of another address space it cannot."""
    if inst.op == "call":
        return not inst.detail.startswith(("__hw_", "llvm.")) or inst.detail.startswith("llvm.mem")
    if inst.op in ("store", "atomicrmw", "cmpxchg"):
        spaces = {inst.args[1 if inst.op == "store" else 0].ty.space, load.args[0].ty.space}
        return len(spaces) == 1 or GENERIC_SPACE in spaces
    return inst.op == "fence"
