"""Loads of a kernel that go through memory in order in; prefetches of what comes next out: half a page later, or the
next chunk's where every work-item walks through a stretch of its own, or what follows a stretch that a table tells.

The processor's own prefetchers stop at the end of a page. On a Xeon (Cascade Lake) a + b took 0.90 of its time so, a
sum 0.94, saxpy 0.97 and a five-point stencil 0.94, where prefetching lines that are in the cache already cost 1 %. On a
Zen 5 a five-point stencil takes 0.77, a 3 × 3 median of a picture in the last-level cache, too, but a + b 1.11 and
saxpy 1.04: so each launch says whether it wants them (`headwater.runtime.trials`).
"""

from __future__ import annotations

from collections.abc import Container

from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import I64
from headwater.vectorise.lane_extraction import Apart
from headwater.vectorise.layout import LINE_BYTES
from headwater.vectorise.private_streams import walked_loads, way_of
from headwater.vectorise.sums_of_products import Product, Sum, Sums

AHEAD_BYTES = 2560
"""How far ahead. On a Cascade Lake 2 to 8 KiB came out alike. On a Zen 4 exactly a page made stencils slower (3 × 3
median 1.16 of the time without prefetches, 5 × 5 convolution 1.09, five-point stencil 1.2), perhaps as loads and
prefetches then have the same place in a page; this makes them faster (0.93, 0.92, 0.92)."""

MOST_STREAMS = 8
"""A kernel that reads from more places than that does more for each element than to wait for memory."""

INTO_L1, INTO_L2 = 3, 2
"""LLVM's locality of a prefetch (LLVM Language Reference), of which x86's prefetcht0 and prefetcht1 are made. A chunk's
stretches may fill the first cache, and those of the next one, fetched into it too, drive them out (Zen 4, a prefix sum
with AVX2: 1.4 times as long as without; into the second cache 0.8)."""

BEHIND_BYTES = 1536
"""How far behind the beginning of a stretch that a table tells, of a work-item that runs alone: the next work-items'
lie there mostly, as the rows of a sparse matrix do. Rows of 16 elements on a Zen 4: 512 bytes to 3 KiB came out alike,
at 0.90 to 0.95 of the time without prefetches."""

GLOBAL_SPACE = 1

_ATOMIC = frozenset(("atomicrmw", "cmpxchg"))
"""What takes longer for an element than its memory (histogram of bytes on a Zen 5: 1.02 with prefetches)."""


class Ahead(Apart):
    """Writes prefetches, block by block."""

    def find_ahead(self, striding: Container[str]) -> None:
        """Pick the loads that go through memory in order: outside of loops, where the next chunk goes on where this one
        ends, and in the loops ``striding``, whose work-items stride through an array together."""
        self.to_fetch: list[tuple[str, int]] = []
        self.walked = walked_loads(self.function, self.cfg, self.shapes, GLOBAL_SPACE)
        self.fetched: set[str] = set()
        self.fetches_ahead = False
        sums = Sums(self.function)
        # Of loads that are a constant apart, as a stencil's along a line, the one that is first at new memory counts.
        streams: dict[tuple[str, frozenset[tuple[Product, int]]], tuple[int, str]] = {}
        for name in self.cfg.order:
            insts = self.function.blocks[name].insts
            if (self.cfg.loop_of[name] is None or name in striding) and not any(i.op in _ATOMIC for i in insts):
                for inst in insts:
                    if self._goes_on(inst):
                        place = dict(sums.of(inst.args[0]))
                        offset = place.pop((), 0)
                        key = name, frozenset(place.items())
                        streams[key] = max(streams.get(key, (offset, inst.name)), (offset, inst.name))
        worthwhile = self.variant.fetches and len(streams) <= MOST_STREAMS
        self.ahead = {load for _, load in streams.values()} if worthwhile else set()
        self.types = {p.name: p.ty for p in self.function.params}
        self.types |= {i.name: i.ty for name in self.cfg.order for i in self.function.blocks[name].insts if i.name}
        self.told = self._told_stretches(sums) if self.variant.fetches else {}

    def _told_stretches(self, sums: Sums) -> dict[str, list[Sum]]:
        """By the block before a loop: where the stretches that it goes through begin, if a table tells."""
        found: dict[str, list[Sum]] = {}
        values = {i.name: i for name in self.cfg.order for i in self.function.blocks[name].insts if i.name}
        for loop in self.cfg.loops:
            entering = [name for name in self.cfg.preds[loop.header] if name not in loop]
            if loop.header not in self.variant.uneven or loop.blocks != {loop.header} or len(entering) != 1:
                continue
            for inst in self.function.blocks[loop.header].insts:
                if inst.op != "load" or inst.args[0].ty.space != GLOBAL_SPACE:
                    continue
                way = way_of(self.function, loop, sums, inst.args[0])
                if way is None or way.step != inst.ty.size_bytes:
                    continue
                names = [name for product in way.start for name in product]
                if any(name in values and values[name].op == "load" for name in names):
                    found.setdefault(entering[0], []).append(way.start)
        return {name: starts for name, starts in found.items() if len(starts) <= MOST_STREAMS}

    def note_told(self, name: str) -> None:
        """The end of a block: prefetch what follows the stretches that are gone through in the loop behind it."""
        for start in self.told.get(name, ()):
            pointer, offset = "", str(start.get((), 0) + BEHIND_BYTES)
            for product, times in start.items():
                parts = [Value(self.types[value], value) for value in product]
                if len(parts) == 1 and parts[0].ty.kind == "ptr":
                    pointer = self.part(parts[0])
                elif product:
                    text = str(times)
                    for part in parts:
                        wide = self.part(part)
                        if part.ty != I64:
                            wide = self.writer.let(f"sext {part.ty} {wide} to i64")
                        text = self.writer.let(f"mul i64 {text}, {wide}")
                    offset = self.writer.let(f"add i64 {offset}, {text}")
            if pointer:
                at = self.writer.let(f"getelementptr i8, ptr addrspace({GLOBAL_SPACE}) {pointer}, i64 {offset}")
                self.to_fetch.append((at, INTO_L1))

    def _goes_on(self, inst: Inst) -> bool:
        if inst.op != "load" or inst.args[0].ty.space != GLOBAL_SPACE:
            return False
        shape = self.shapes.shape(inst.args[0])
        return shape.strided and not shape.guarded and shape.stride == inst.ty.size_bytes

    def note_ahead(self, inst: Inst, pointer: Value, row: int) -> None:
        """A row of an unmasked load: prefetch the lines `AHEAD_BYTES` after it at the end of the block."""
        size = self.layout.lanes * inst.ty.size_bytes
        in_line = self.layout.row_dim == self.layout.lane_dim
        if in_line and row * size % LINE_BYTES:
            return
        base = self.part(pointer, row)
        if base in self.fetched:  # for another row
            return
        self.fetched.add(base)
        for line in range(max(1, size // LINE_BYTES)):
            offset = AHEAD_BYTES + line * LINE_BYTES
            self.to_fetch.append((self.offset(pointer.ty, base, offset), INTO_L1))

    def note_walked(self, inst: Inst, pointer: Value, row: int) -> None:
        """A row of an unmasked load in stretches: prefetch what the next chunk will load there. At once: at the end of
        the block, all rows' one after the other cost more (Zen 4: a prefix sum with AVX2 1.2, with AVX-512 1.1)."""
        shape, layout = self.shapes.shape(pointer), self.layout
        assert shape.stride is not None
        items = layout.lanes * (layout.rows if layout.row_dim == layout.lane_dim else 1)
        for at in self.lane_addresses(pointer, row):
            for line in range(0, inst.ty.size_bytes, LINE_BYTES):
                self.to_fetch.append((self.offset(pointer.ty, at, items * shape.stride + line), INTO_L2))
        self.fetch_ahead()

    def fetch_ahead(self) -> None:
        """The block's prefetches, for launches that want them."""
        if not self.to_fetch:
            return
        pointer = f"ptr addrspace({GLOBAL_SPACE})"
        self.writer.declare("llvm.prefetch", f"declare void @llvm.prefetch.p{GLOBAL_SPACE}({pointer}, i32, i32, i32)")
        with self.writer.when("%ahead", "ahead"):
            for at, locality in self.to_fetch:
                self.writer.line(
                    f"call void @llvm.prefetch.p{GLOBAL_SPACE}({pointer} {at}, i32 0, i32 {locality}, i32 1)"
                )
        self.to_fetch = []
        self.fetches_ahead = True
