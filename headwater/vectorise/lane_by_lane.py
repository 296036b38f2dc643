"""Atomics, printf and what else is done one work-item after the other in; loops over the lanes of a chunk out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headwater.errors import InternalError
from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import I8, I64, LOCAL_SPACE, Type, vec_type
from headwater.native.launch_block import TRAPPED
from headwater.vectorise.checks import Checks
from headwater.vectorise.shapes import LANE, ROW

_COMPARING = {"max": "sgt", "min": "slt", "umax": "ugt", "umin": "ult"}
_ARITHMETIC = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "fadd": "fadd", "fsub": "fsub"}


class LaneByLane(Checks):
    """Writes atomics, and the calls that are made lane by lane."""

    def access_rows(self, values: list[Value]) -> list[tuple[int, list[int]]]:
        """(row to take the operands from, the rows that it stands for)."""
        everything = list(self.written_rows)
        if any(self.shapes.shape(v).deps & ROW for v in values):
            return [(row, [row]) for row in everything]
        return [(0, everything)]

    def access_mask(self, rows: list[int]) -> str | None:
        return self.union([self.mask(row) for row in rows])

    def spill(self, vector: str, ty: Type) -> str:
        """A place in memory that holds the lanes' values, to index by lane (i1 as bytes: LLVM packs its bits)."""
        self.spills += 1
        slot = f"spill.{self.spills}"
        if ty.text == "i1":
            vector = self.writer.let(f"zext {self.lanes_of(ty)} {vector} to {self.lanes_of(I8)}")
            ty = I8
        self.writer.store_slot(slot, self.lanes_of(ty), vector)
        return f'%"{slot}"'

    def _spilled_lane(self, place: str, ty: Type, lane: str) -> str:
        if ty.text == "i1":
            at = self.writer.let(f"getelementptr i8, ptr {place}, i64 {lane}")
            return self.writer.let(f"trunc i8 {self.writer.let(f'load i8, ptr {at}')} to i1")
        at = self.writer.let(f"getelementptr {ty}, ptr {place}, i64 {lane}")
        return self.writer.let(f"load {ty}, ptr {at}")

    def _spill_lane(self, place: str, ty: Type, lane: str, text: str) -> None:
        if ty.text == "i1":
            ty, text = I8, self.writer.let(f"zext i1 {text} to i8")
        at = self.writer.let(f"getelementptr {ty}, ptr {place}, i64 {lane}")
        self.writer.line(f"store {ty} {text}, ptr {at}")

    def _spilled(self, place: str, ty: Type) -> str:
        if ty.text == "i1":
            loaded = self.writer.let(f"load {self.lanes_of(I8)}, ptr {place}")
            return self.writer.let(f"trunc {self.lanes_of(I8)} {loaded} to {self.lanes_of(ty)}")
        return self.writer.let(f"load {self.lanes_of(ty)}, ptr {place}")

    @contextmanager
    def each_lane(self, mask: str | None) -> Iterator[str]:
        """Write a loop over the active lanes; yields the lane number (i64)."""
        if self.layout.lanes == 1:
            if mask is None:
                yield "0"
                return
            with self.writer.when(mask, "lane"), self.aside():
                yield "0"
            return
        writer, lanes = self.writer, self.layout.lanes
        self.spills += 1
        slot = f"left.{self.spills}"
        bits_type = vec_type(1, I64).scalar if lanes == 64 else Type(f"i{lanes}", "int", lanes)
        start = "-1" if mask is None else writer.let(f"bitcast {self.mask_type} {mask} to {bits_type}")
        writer.store_slot(slot, bits_type, start)
        head, body, after = (writer.fresh_label(h) for h in ("lane.next", "lane", "lane.end"))
        writer.jump(head)
        writer.start(head)
        left = writer.load_slot(slot, bits_type)
        writer.branch(writer.let(f"icmp ne {bits_type} {left}, 0"), body, after)
        writer.start(body)
        name = f"llvm.cttz.{bits_type}"
        writer.declare(name, f"declare {bits_type} @{name}({bits_type}, i1)")
        number = writer.let(f"call {bits_type} @{name}({bits_type} {left}, i1 true)")
        lane = number if lanes == 64 else writer.let(f"zext {bits_type} {number} to i64")
        lower = writer.let(f"sub {bits_type} {left}, 1")
        rest = writer.let(f"and {bits_type} {left}, {lower}")
        writer.store_slot(slot, bits_type, rest)
        with self.aside():
            yield lane
        writer.jump(head)
        writer.start(after)

    def _lane_values(self, values: list[Value], row: int) -> list[tuple[str, Type, bool]]:
        """Before a loop over lanes: (place or scalar, type, is a place) of each operand's components."""
        out = []
        for value in values:
            lane = bool(self.shapes.shape(value).deps & LANE)
            for c, ty in enumerate(self.components(value.ty)):
                text = self.part(value, row, "v" if lane else "s", c)
                out.append((self.spill(text, ty) if lane else text, ty, lane))
        return out

    def _at_lane(self, operand: tuple[str, Type, bool], lane: str) -> str:
        text, ty, in_memory = operand
        if not in_memory:
            return text
        return self._spilled_lane(text, ty, lane)

    def write_atomic(self, inst: Inst) -> None:
        fields = self.components(inst.ty)
        for row in range(self.layout.rows):
            mask = self.mask(row)
            if mask is None and self.layout.lanes > 1:
                self._atomic_every_lane(inst, row)
                continue
            operands = self._lane_values(inst.args, row)
            results = []
            if self.layout.lanes > 1:
                results = [self.spill("zeroinitializer", ty) for ty in fields]
            with self.each_lane(mask) as lane:
                texts = [self._at_lane(o, lane) for o in operands]
                found = self._atomic_once(inst, texts)
                for c, ty in enumerate(fields):
                    if results:
                        self._spill_lane(results[c], ty, lane, found[c])
                    else:
                        self.writer.store_slot(f"atomic.{self.spills}.{c}", ty, found[c])
            if not inst.name:
                continue
            shape = self.shapes.of[inst.name]
            for c, ty in enumerate(fields):
                if results:
                    self.set_part(inst, row, "v", self._spilled(results[c], ty), c)
                elif row in self.rows(shape):
                    text = self.writer.load_slot(f"atomic.{self.spills}.{c}", ty)
                    self.set_part(inst, row, "s", text, c)
            self.spills += 1

    def _atomic_every_lane(self, inst: Inst, row: int) -> None:
        """All lanes one after the other, their operands computed as scalars as far as that is cheap."""
        fields = self.components(inst.ty)
        results = ["poison"] * len(fields)
        self.fetch(inst, row)
        for lane in range(self.layout.lanes):
            texts = [self.lane_value(value, row, lane) for value in inst.args]
            for c, (ty, text) in enumerate(zip(fields, self._atomic_once(inst, texts), strict=True)):
                lanes = self.lanes_of(ty)
                results[c] = self.writer.let(f"insertelement {lanes} {results[c]}, {ty} {text}, i64 {lane}")
        for c, text in enumerate(results):
            self.set_part(inst, row, "v", text, c)

    def _atomic_once(self, inst: Inst, texts: list[str]) -> list[str]:
        pointer = inst.args[0].ty
        ty = inst.args[1].ty
        align = f"align {inst.align or ty.size_bytes}"
        if pointer.space == LOCAL_SPACE:
            return self._local_atomic(inst, texts, pointer, ty, align)
        if inst.op == "cmpxchg":
            text = self.writer.let(
                f"cmpxchg {pointer} {texts[0]}, {ty} {texts[1]}, {ty} {texts[2]} monotonic monotonic, {align}"
            )
            return [self.writer.let(f"extractvalue {inst.ty} {text}, {c}") for c in (0, 1)]
        return [self.writer.let(f"atomicrmw {inst.detail} {pointer} {texts[0]}, {ty} {texts[1]} monotonic, {align}")]

    def _local_atomic(self, inst: Inst, texts: list[str], pointer: Type, ty: Type, align: str) -> list[str]:
        old = self.writer.let(f"load {ty}, {pointer} {texts[0]}, {align}")
        done: list[str] = []
        if inst.op == "cmpxchg":
            same = self.writer.let(f"icmp eq {ty} {old}, {texts[1]}")
            new = self.writer.let(f"select i1 {same}, {ty} {texts[2]}, {ty} {old}")
            done = [same]
        elif inst.detail == "xchg":
            new = texts[1]
        elif inst.detail in _ARITHMETIC:
            new = self.writer.let(f"{_ARITHMETIC[inst.detail]} {ty} {old}, {texts[1]}")
        elif inst.detail == "nand":
            both = self.writer.let(f"and {ty} {old}, {texts[1]}")
            new = self.writer.let(f"xor {ty} {both}, -1")
        elif inst.detail in _COMPARING:
            more = self.writer.let(f"icmp {_COMPARING[inst.detail]} {ty} {old}, {texts[1]}")
            new = self.writer.let(f"select i1 {more}, {ty} {old}, {ty} {texts[1]}")
        elif inst.detail in ("fmax", "fmin"):
            name = f"llvm.{inst.detail[1:]}num.f{ty.bits}"
            self.writer.declare(name, f"declare {ty} @{name}({ty}, {ty})")
            new = self.writer.let(f"call {ty} @{name}({ty} {old}, {ty} {texts[1]})")
        else:
            raise InternalError(f"unknown atomic operation {inst.detail!r} on local memory")
        self.writer.line(f"store {ty} {new}, {pointer} {texts[0]}, {align}")
        return [old, *done]

    def write_call_per_lane(self, inst: Inst) -> None:
        if inst.detail == "printf":
            self._printf(inst)
            return
        if inst.detail.startswith("llvm.prefetch"):
            return
        if inst.detail == "llvm.trap":
            self._trap(inst)
            return
        if not inst.detail.startswith("llvm."):
            raise InternalError(f"call of a function that has no definition: {inst.detail}")
        types = ", ".join(str(v.ty) for v in inst.args)
        self.writer.declare(inst.detail, f"declare {inst.ty} @{inst.detail}({types})")
        if self.variant.checked and inst.detail.startswith("llvm.mem"):
            self.check_block_operation(inst)
        for row, rows in self.access_rows(inst.args):
            operands = self._lane_values(inst.args, row)
            with self.each_lane(self.access_mask(rows)) as lane:
                texts = ", ".join(f"{o[1]} {self._at_lane(o, lane)}" for o in operands)
                self.writer.line(f"call {inst.ty} @{inst.detail}({texts})")

    def _trap(self, inst: Inst) -> None:
        """End the launch, not the process."""
        for row in range(self.layout.rows):
            with self.each_lane(self.mask(row)):
                if self.variant.checked:
                    self.record_trap(inst)
                self.writer.line(f"store volatile i64 {TRAPPED}, ptr %stop, align 8")

    def _printf(self, inst: Inst) -> None:
        """Hand (format number, arguments in 8-byte slots) to the launcher's callback, work-item by work-item."""
        values = inst.args[1:]
        slots = [component.kind for value in values for component in self.components(value.ty)]
        addresses = tuple(kind == "ptr" for kind in slots)
        number = self.formats.setdefault((inst.args[0].text, addresses), len(self.formats))
        self.spills += 1
        place = f"printf.{self.spills}"
        self.writer.slots[place] = vec_type(max(1, len(slots)), I64)
        for row in range(self.layout.rows):
            operands = self._lane_values(values, row)
            with self.each_lane(self.mask(row)) as lane:
                for i, operand in enumerate(operands):
                    text = self._widen_argument(self._at_lane(operand, lane), operand[1])
                    at = self.writer.let(f'getelementptr i64, ptr %"{place}", i64 {i}')
                    self.writer.line(f"store i64 {text}, ptr {at}")
                self.writer.line(f'call void %printf(i64 {number}, ptr %"{place}")')
        if inst.name:
            self.set_part(inst, 0, "s", "0")

    def _widen_argument(self, text: str, ty: Type) -> str:
        if ty.kind == "float":
            if ty.bits < 64:
                text = self.writer.let(f"fpext {ty} {text} to double")
            return self.writer.let(f"bitcast double {text} to i64")
        if ty.kind == "ptr":
            return self.writer.let(f"ptrtoint {ty} {text} to i64")
        return text if ty.bits == 64 else self.writer.let(f"sext {ty} {text} to i64")
