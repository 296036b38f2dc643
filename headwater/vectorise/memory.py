"""Memory instructions: one work-item's access in, the cheapest access for all lanes and rows of a chunk out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from headwater.errors import InternalError
from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import I1, I32, I64, LOCAL_SPACE, PRIVATE_SPACE, Type, int_type, vec_type
from headwater.vectorise.layout import LINE_BYTES
from headwater.vectorise.merged_atomics import Together
from headwater.vectorise.packing import MAX_STEP
from headwater.vectorise.shapes import LANE, ROW

WORD_BYTES = (4, 8)
"""Sizes of vectors that gathers and scatters move as one integer."""

STREAM_ALIGN_BYTES = 16
"""Streaming stores are written in 16-byte pieces, the least alignment that they need on x86, where they do not fill
cache lines, or vectors, and lines of chunks are not begun so that they do (Zen 4: a + b 1.05 times as long; five-point
stencil 4 % slower)."""

NOWHERE = "nowhere"
"""The slot that lanes that are off read and write where gathers and scatters have no masks: for those LLVM makes a
branch of each lane, which are guessed wrongly (Emerald Rapids held to AVX2: 3.4 times as long)."""
LARGEST = I64

WORD = I32
"""What small elements are moved as where masks tell items apart."""


class Memory(Together):
    """Writes loads and stores."""

    def write_memory(self, inst: Inst) -> None:
        place = 1 if inst.op == "store" else 0
        pointer = inst.args[place]
        accessed = inst.args[0].ty if inst.op == "store" else inst.ty
        if inst.op == "cmpxchg":
            accessed = inst.args[1].ty
        if accessed.kind in ("struct", "array"):
            raise InternalError(f"cannot vectorise an access to a whole {accessed.kind}")
        if pointer.ty.space not in (PRIVATE_SPACE, LOCAL_SPACE):
            inst.align = min(inst.align, accessed.scalar.size_bytes)
        if self.variant.checked:
            self.check_memory(inst)
        if inst.op == "load":
            self._load(inst, pointer)
        elif inst.op == "store":
            self._store(inst, inst.args[0], pointer)
        else:
            self.write_atomics(inst)

    # How lanes' addresses lie.

    def _step(self, pointer: Value, accessed: Type) -> int | None:
        """Elements from one lane's address to the next; None if that is no constant."""
        stride = self.shapes.shape(pointer).stride
        size = accessed.scalar.size_bytes
        return stride // size if stride is not None and stride % size == 0 else None

    def _is_wide(self, step: int | None, count: int, pointer: Value) -> bool:
        if step is None or pointer.text in self.shapes.interleaved:
            return step == 1 and pointer.text in self.shapes.interleaved
        return count <= step <= max(count, MAX_STEP) or (step == -1 and count == 1)

    def _wide_mask(self, mask: str | None, step: int, count: int) -> str | None:
        """The mask of a wide access: each lane's ``count`` of every ``step`` elements."""
        if step == count:
            if mask is None or step == 1:
                return mask
            order = ", ".join(f"i32 {lane}" for lane in range(self.layout.lanes) for _ in range(step))
            total = self.layout.lanes * step
            return self.writer.let(
                f"shufflevector {self.mask_type} {mask}, {self.mask_type} poison, <{total} x i32> <{order}>"
            )
        pattern = ", ".join(
            f"i1 {'true' if c < count else 'false'}" for _ in range(self.layout.lanes) for c in range(step)
        )
        if mask is None:
            return f"<{pattern}>"
        wide = self._wide_mask(mask, step, step)
        total = self.layout.lanes * step
        return self.writer.let(f"and <{total} x i1> {wide}, <{pattern}>")

    def _intrinsic_name(self, name: str, value: Type, pointer: Type) -> str:
        letter = {"float": "f", "int": "i", "ptr": "p"}[value.scalar.kind]
        bits = value.scalar.space if letter == "p" else value.scalar.bits
        suffix = f"{letter}{bits}"
        if value.scalar.text == "bfloat":
            suffix = "bf16"
        lanes = f"v{value.count}"
        at = f"{'v' + str(pointer.count) if pointer.kind == 'vec' else ''}p{pointer.scalar.space}"
        return f"llvm.masked.{name}.{lanes}{suffix}.{at}"

    def masked_load(self, ty: Type, pointer_type: Type, pointer: str, mask: str, align: int, name: str = "load") -> str:
        if name == "gather" and mask != self.all_lanes and self.variant.apart:
            pointer, mask = self._or_nowhere(pointer_type, pointer, mask), self.all_lanes
        name = self._intrinsic_name(name, ty, pointer_type)
        flags = f"<{ty.count} x i1>"
        self.writer.declare(name, f"declare {ty} @{name}({pointer_type}, {flags}, {ty})")
        return self.writer.let(
            f"call {ty} @{name}({pointer_type} align {align} {pointer}, {flags} {mask}, {ty} poison)"
        )

    def masked_store(
        self, ty: Type, value: str, pointer_type: Type, pointer: str, mask: str, align: int, name: str = "store"
    ) -> None:
        if name == "scatter" and mask != self.all_lanes and self.variant.apart:
            pointer, mask = self._or_nowhere(pointer_type, pointer, mask), self.all_lanes
        name = self._intrinsic_name(name, ty, pointer_type)
        flags = f"<{ty.count} x i1>"
        self.writer.declare(name, f"declare void @{name}({ty}, {pointer_type}, {flags})")
        self.writer.line(f"call void @{name}({ty} {value}, {pointer_type} align {align} {pointer}, {flags} {mask})")

    def _or_nowhere(self, pointers: Type, addresses: str, mask: str) -> str:
        """The addresses, for lanes that are off that of a place of no meaning."""
        self.writer.slots.setdefault(NOWHERE, LARGEST)
        space = pointers.scalar.space
        at = f'%"{NOWHERE}"'
        if space:
            at = self.writer.let(f"addrspacecast ptr {at} to {pointers.scalar}")
        nowhere = self.splat(at, pointers.scalar)
        return self.writer.let(f"select <{pointers.count} x i1> {mask}, {pointers} {addresses}, {pointers} {nowhere}")

    @property
    def all_lanes(self) -> str:
        return "splat (i1 true)"

    # Loads.

    def _load(self, inst: Inst, pointer: Value) -> None:
        for row, rows in self.access_rows([pointer]):
            if not self.shapes.shape(pointer).deps & LANE:
                self._load_shared(inst, pointer, row, rows)
            elif "g" in self.forms(self.shapes.shape(pointer)):
                self._load_guarded(inst, pointer, row, rows)
            else:
                step = self._step(pointer, inst.ty)
                wide = self._is_wide(step, len(self.components(inst.ty)), pointer)
                self.set_pieces(inst, row, self._load_lanes(inst, pointer, row, rows, wide))
                if wide and inst.name in self.ahead and self.access_mask(rows) is None:
                    self.note_ahead(inst, pointer, row)
                if inst.name in self.walked and self.access_mask(rows) is None:
                    self.note_walked(inst, pointer, row)
                if wide and step == 1 and inst.name in self.apart and self.access_mask(rows) is None:
                    self.cache[inst.name, 0, row, "at"] = self.part(pointer, row)

    def _load_shared(self, inst: Inst, pointer: Value, row: int, rows: list[int]) -> None:
        """One address for all lanes of the row."""
        mask = self.access_mask(rows)
        address = self.part(pointer, row)
        ty = inst.ty
        if mask is not None and self.shapes.shape(pointer).deps & ROW:
            some = self.any_lane(mask)
            if ty.kind == "vec":
                flags = self.writer.let(f"insertelement <1 x i1> poison, i1 {some}, i64 0")
                order = ", ".join("i32 0" for _ in range(ty.count))
                flags = self.writer.let(
                    f"shufflevector <1 x i1> {flags}, <1 x i1> poison, <{ty.count} x i32> <{order}>"
                )
                loaded = self.masked_load(ty, pointer.ty, address, flags, inst.align)
            else:
                flags = self.writer.let(f"insertelement <1 x i1> poison, i1 {some}, i64 0")
                vector = self.masked_load(vec_type(1, ty), pointer.ty, address, flags, inst.align)
                loaded = self.writer.let(f"extractelement <1 x {ty}> {vector}, i64 0")
        else:
            volatile = "volatile " if {"volatile", "atomic"} & set(inst.flags) else ""
            loaded = self.writer.let(f"load {volatile}{ty}, {pointer.ty} {address}, align {inst.align}")
        if ty.kind != "vec":
            self.set_part(inst, row, "s", loaded)
            return
        if inst.name in self.packed:
            self.set_whole(inst, row, loaded)
            return
        for c in range(ty.count):
            text = self.writer.let(f"extractelement {ty} {loaded}, i64 {c}")
            self.set_part(inst, row, "s", text, c)

    def _load_guarded(self, inst: Inst, pointer: Value, row: int, rows: list[int]) -> None:
        """The stride holds only if the guard does: both ways, chosen at run time."""
        count = len(self.components(inst.ty))
        if not self._is_wide(self._step(pointer, inst.ty), count, pointer):
            self.set_pieces(inst, row, self._load_lanes(inst, pointer, row, rows, False))
            return
        self.access_mask(rows)  # read the masks before the ways part
        guard = self.part(pointer, row, "g")
        self.part(pointer, row, "s")
        self.part(pointer, row, "v")
        names = [self.writer.fresh_label(hint) for hint in ("wide", "lanes", "loaded")]
        self.writer.branch(self.writer.let(f"freeze i1 {guard}"), names[0], names[1])
        found: list[list[str]] = []
        ends: list[str] = []
        for label, wide in ((names[0], True), (names[1], False)):
            self.writer.start(label)
            with self.aside():
                found.append(self._load_lanes(inst, pointer, row, rows, wide))
            ends.append(self.writer.out.label)
            self.writer.jump(names[2])
        self.writer.start(names[2])
        together = []
        for number, (_, _, ty) in enumerate(self.pieces(inst.name, inst.ty, self.shapes.of[inst.name])):
            choices = ", ".join(f'[ {texts[number]}, %"{end}" ]' for texts, end in zip(found, ends, strict=True))
            together.append(self.writer.let(f"phi {ty} {choices}"))
        self.set_pieces(inst, row, together)

    def _load_lanes(self, inst: Inst, pointer: Value, row: int, rows: list[int], wide: bool) -> list[str]:
        """The value's pieces: all of it if it is kept whole, else its components."""
        if inst.name in self.packed:
            return [self._load_whole(inst, pointer, row, rows, wide)]
        return self._load_components(inst, pointer, row, rows, wide)

    def _load_whole(self, inst: Inst, pointer: Value, row: int, rows: list[int], wide: bool) -> str:
        """All lanes' vectors in memory order: what is one after the other in memory is one load."""
        mask = self.access_mask(rows)
        ty, lanes = inst.ty, self.layout.lanes
        step = self._step(pointer, ty)
        if pointer.text in self.shapes.interleaved:
            return self.interleave(self._load_components(inst, pointer, row, rows, wide), ty.scalar, lanes)
        if wide and step == ty.count:
            return self._load_items(ty.scalar, step, pointer, row, mask, inst.align)
        if not wide and ty.size_bytes in WORD_BYTES:
            word = int_type(8 * ty.size_bytes)
            pointers, flags = self.lanes_of(pointer.ty), mask or self.all_lanes
            addresses = self.part(pointer, row, "v")
            words = self.masked_load(self.lanes_of(word), pointers, addresses, flags, inst.align, "gather")
            return self.writer.let(f"bitcast {self.lanes_of(word)} {words} to {self.whole_type(ty)}")
        if not wide and mask is None:
            places = self.lane_addresses(pointer, row)
            return self.join(
                [self.writer.let(f"load {ty}, {pointer.ty} {at}, align {inst.align}") for at in places], ty
            )
        return self.interleave(self._load_components(inst, pointer, row, rows, wide), ty.scalar, lanes)

    def _load_components(self, inst: Inst, pointer: Value, row: int, rows: list[int], wide: bool) -> list[str]:
        mask = self.access_mask(rows)
        parts = self.components(inst.ty)
        elem = parts[0]
        lanes = self.layout.lanes
        size = elem.size_bytes
        align = min(inst.align, size) if pointer.text in self.shapes.interleaved else inst.align
        step = self._step(pointer, inst.ty)
        stride = self.shapes.shape(pointer).stride
        if not wide and mask is None and stride is not None and "g" not in self.forms(self.shapes.shape(pointer)):
            return [self._load_strided(inst, pointer, row, elem, c, stride) for c in range(len(parts))]
        if not wide:
            addresses = self.part(pointer, row, "v")
            pointers = self.lanes_of(pointer.ty)
            spread = size * (lanes if pointer.text in self.shapes.interleaved else 1)
            return [
                self.masked_load(
                    self.lanes_of(elem),
                    pointers,
                    self._offset_lanes(pointer.ty, addresses, c * spread),
                    mask or self.all_lanes,
                    self._component_align(inst.align, size, c),
                    "gather",
                )
                for c in range(len(parts))
            ]
        assert step is not None
        base = self.part(pointer, row)
        volatile = "volatile " if {"volatile", "atomic"} & set(inst.flags) else ""
        if pointer.text in self.shapes.interleaved:
            return [
                self._load_wide(elem, lanes, pointer.ty, self.offset(pointer.ty, base, c * size * lanes), mask, align)
                for c in range(len(parts))
            ]
        if step == -1:
            first = self.offset(pointer.ty, base, -size * (lanes - 1))
            backwards = self._reverse(mask, I1) if mask is not None else None
            return [self._reverse(self._load_wide(elem, lanes, pointer.ty, first, backwards, align), elem)]
        total = lanes * step
        if mask is not None and self._word(elem, step, len(parts)) is not None:
            vector = self._load_items(elem, step, pointer, row, mask, align)
        else:
            wide_mask = self._wide_mask(mask, step, len(parts))
            vector = self._load_wide(elem, total, pointer.ty, base, wide_mask, align, volatile)
        if step == 1:
            return [vector]
        return [self.take_component(vector, elem, total, c, step, lanes) for c in range(len(parts))]

    def _load_strided(self, inst: Inst, pointer: Value, row: int, elem: Type, component: int, stride: int) -> str:
        """One load a lane at a known distance, which is faster than a gather (and needs no address vector)."""
        base = self.part(pointer, row)
        spread = elem.size_bytes * (self.layout.lanes if pointer.text in self.shapes.interleaved else 1)
        align = self._component_align(inst.align, elem.size_bytes, component)
        vector = "poison"
        for lane in range(self.layout.lanes):
            at = self.offset(pointer.ty, base, lane * stride + component * spread)
            one = self.writer.let(f"load {elem}, {pointer.ty} {at}, align {align}")
            vector = self.writer.let(f"insertelement {self.lanes_of(elem)} {vector}, {elem} {one}, i64 {lane}")
        return vector

    @staticmethod
    def _component_align(align: int, size: int, component: int) -> int:
        return align if component == 0 else min(align, size)

    def _offset_lanes(self, pointer_type: Type, addresses: str, offset_bytes: int) -> str:
        if not offset_bytes:
            return addresses
        return self.writer.let(f"getelementptr i8, {self.lanes_of(pointer_type)} {addresses}, i64 {offset_bytes}")

    def _word(self, elem: Type, step: int, count: int) -> Type | None:
        """What small elements that share a lane of a mask are moved as: words have masks on every processor, bytes only
        with AVX-512, and without each would take a branch of its own."""
        bits = elem.bits * step
        if step != count or elem.kind == "ptr" or elem.bits >= WORD.bits or bits % WORD.bits:
            return None
        return WORD

    def _load_items(self, elem: Type, step: int, pointer: Value, row: int, mask: str | None, align: int) -> str:
        """Every lane's ``step`` elements, which follow each other; ``mask``: the lanes whose are wanted."""
        lanes, address = self.layout.lanes, self.part(pointer, row)
        word = self._word(elem, step, step) if mask is not None else None
        if word is None:
            return self._load_wide(elem, lanes * step, pointer.ty, address, self._wide_mask(mask, step, step), align)
        each = elem.bits * step // word.bits
        flags = self._wide_mask(mask, each, each)
        words = self._load_wide(word, lanes * each, pointer.ty, address, flags, align)
        return self.writer.let(f"bitcast {vec_type(lanes * each, word)} {words} to {vec_type(lanes * step, elem)}")

    def _load_wide(
        self, elem: Type, count: int, pointer_type: Type, address: str, mask: str | None, align: int, volatile: str = ""
    ) -> str:
        ty = vec_type(count, elem)
        if mask is None:
            return self.writer.let(f"load {volatile}{ty}, {pointer_type} {address}, align {align}")
        return self.masked_load(ty, pointer_type, address, mask, align)

    def _reverse(self, vector: str, elem: Type) -> str:
        lanes = self.layout.lanes
        order = ", ".join(f"i32 {i}" for i in reversed(range(lanes)))
        ty = self.lanes_of(elem)
        return self.writer.let(f"shufflevector {ty} {vector}, {ty} poison, <{lanes} x i32> <{order}>")

    # Stores.

    def _store(self, inst: Inst, value: Value, pointer: Value) -> None:
        shape = self.shapes.shape(pointer)
        for row, rows in self.access_rows([value, pointer]):
            if not shape.deps & LANE:
                self._store_shared(inst, value, pointer, row, rows)
                continue
            wide = self._is_wide(self._step(pointer, value.ty), len(self.components(value.ty)), pointer)
            if "g" in self.forms(shape) and wide:
                self._store_guarded(inst, value, pointer, row, rows)
            else:
                self._store_lanes(inst, value, pointer, row, rows, wide)

    def _store_shared(self, inst: Inst, value: Value, pointer: Value, row: int, rows: list[int]) -> None:
        """All lanes write to one address: the last one's value stays."""
        mask = self.access_mask(rows)
        lane_form = bool(self.shapes.shape(value).deps & LANE)
        if mask is None:
            self._store_one(inst, value, pointer, row, str(self.layout.lanes - 1) if lane_form else "")
            return
        with self.writer.when(self.any_lane(mask), "store"), self.aside():
            self._store_one(inst, value, pointer, row, self._last_lane(mask) if lane_form else "")

    def _last_lane(self, mask: str) -> str:
        """i64: the number of the highest lane in a mask that is not empty."""
        lanes = self.layout.lanes
        bits = self.writer.let(f"bitcast {self.mask_type} {mask} to i{lanes}")
        self.writer.declare(f"llvm.ctlz.i{lanes}", f"declare i{lanes} @llvm.ctlz.i{lanes}(i{lanes}, i1)")
        zeros = self.writer.let(f"call i{lanes} @llvm.ctlz.i{lanes}(i{lanes} {bits}, i1 true)")
        last = self.writer.let(f"sub i{lanes} {lanes - 1}, {zeros}")
        return last if lanes == 64 else self.writer.let(f"zext i{lanes} {last} to i64")

    def _store_one(self, inst: Inst, value: Value, pointer: Value, row: int, lane: str) -> None:
        parts = self.components(value.ty)
        texts = []
        in_one = not lane and value.text in self.packed
        for c, ty in enumerate(parts if not in_one else []):
            if lane:
                vector = self.part(value, row, "v", c)
                texts.append(self.writer.let(f"extractelement {self.lanes_of(ty)} {vector}, i64 {lane}"))
            else:
                texts.append(self.part(value, row, "s", c))
        if in_one:
            whole = self.whole(value, row)
        else:
            whole = texts[0] if value.ty.kind != "vec" else self.interleave(texts, parts[0], 1)
        volatile = "volatile " if {"volatile", "atomic"} & set(inst.flags) else ""
        address = self.part(pointer, row)
        self.writer.line(f"store {volatile}{value.ty} {whole}, {pointer.ty} {address}, align {inst.align}")

    def _store_guarded(self, inst: Inst, value: Value, pointer: Value, row: int, rows: list[int]) -> None:
        self.access_mask(rows)
        guard = self.part(pointer, row, "g")
        self.part(pointer, row, "s")
        self.part(pointer, row, "v")
        if value.text in self.packed:
            self.whole(value, row)
        else:
            for c in range(len(self.components(value.ty))):
                self.part(value, row, "v", c)
        names = [self.writer.fresh_label(hint) for hint in ("wide", "lanes", "stored")]
        self.writer.branch(self.writer.let(f"freeze i1 {guard}"), names[0], names[1])
        for label, wide in ((names[0], True), (names[1], False)):
            self.writer.start(label)
            with self.aside():
                self._store_lanes(inst, value, pointer, row, rows, wide)
            self.writer.jump(names[2])
        self.writer.start(names[2])

    def _store_lanes(self, inst: Inst, value: Value, pointer: Value, row: int, rows: list[int], wide: bool) -> None:
        whole = value.text in self.packed
        if not (whole and self._store_whole(inst, value, pointer, row, rows, wide)):
            self._store_components(inst, value, pointer, row, rows, wide)

    def _store_whole(self, inst: Inst, value: Value, pointer: Value, row: int, rows: list[int], wide: bool) -> bool:
        """Store all lanes' vectors in memory order; False if there is nothing to win."""
        mask = self.access_mask(rows)
        ty = value.ty
        step = self._step(pointer, ty)
        if pointer.text in self.shapes.interleaved:
            return False
        if wide and step == ty.count:
            self._store_items(inst, ty.scalar, step, self.whole(value, row), pointer, row, mask)
        elif not wide and ty.size_bytes in WORD_BYTES:
            words = self.lanes_of(int_type(8 * ty.size_bytes))
            text = self.writer.let(f"bitcast {self.whole_type(ty)} {self.whole(value, row)} to {words}")
            addresses = self.part(pointer, row, "v")
            flags = mask or self.all_lanes
            self.masked_store(words, text, self.lanes_of(pointer.ty), addresses, flags, inst.align, "scatter")
        elif not wide and mask is None:
            self._store_each(inst, ty, self.whole(value, row), pointer, row)
        else:
            return False
        return True

    def _store_each(self, inst: Inst, ty: Type, text: str, pointer: Value, row: int) -> None:
        """One store a lane; around the caches where these fill whole cache lines."""
        stride = self.shapes.shape(pointer).stride
        places = self.lane_addresses(pointer, row)
        ones = [
            self.shuffle(text, "poison", self.whole_type(ty), list(range(first, first + ty.count)))
            for first in range(0, self.layout.lanes * ty.count, ty.count)
        ]

        def store(suffix: str) -> None:
            for one, at in zip(ones, places, strict=True):
                self.writer.line(f"store {ty} {one}, {pointer.ty} {at}, {suffix}")

        lines = ty.size_bytes % LINE_BYTES == 0 and stride is not None and stride % LINE_BYTES == 0
        if lines and self.root_param(pointer) in self.variant.streaming:
            self._stream_or_not(pointer.ty, self.part(pointer, row), [LINE_BYTES], inst.align, store)
        else:
            store(f"align {inst.align}")

    def _store_contiguous(
        self, inst: Inst, elem: Type, count: int, text: str, pointer: Value, row: int, mask: str | None
    ) -> None:
        address = self.part(pointer, row)
        if mask is None and self.root_param(pointer) in self.variant.streaming:
            self._store_streaming(elem, count, text, pointer.ty, address, inst.align)
        else:
            self._store_wide(elem, count, text, pointer.ty, address, mask, inst.align)

    def _store_items(
        self, inst: Inst, elem: Type, step: int, text: str, pointer: Value, row: int, mask: str | None
    ) -> None:
        """Every lane's ``step`` elements, side by side in ``text``; ``mask``: the lanes whose are stored."""
        count = self.layout.lanes * step
        word = self._word(elem, step, step) if mask is not None else None
        if word is None:
            flags = self._wide_mask(mask, step, step)
            self._store_contiguous(inst, elem, count, text, pointer, row, flags)
            return
        each = elem.bits * step // word.bits
        words = vec_type(self.layout.lanes * each, word)
        cast = self.writer.let(f"bitcast {vec_type(count, elem)} {text} to {words}")
        flags = self._wide_mask(mask, each, each)
        self._store_contiguous(inst, word, words.count, cast, pointer, row, flags)

    def _store_components(
        self, inst: Inst, value: Value, pointer: Value, row: int, rows: list[int], wide: bool
    ) -> None:
        mask = self.access_mask(rows)
        parts = self.components(value.ty)
        elem = parts[0]
        size = elem.size_bytes
        lanes = self.layout.lanes
        texts = [self.part(value, row, "v", c) for c in range(len(parts))]
        side_by_side = pointer.text in self.shapes.interleaved
        stride = self.shapes.shape(pointer).stride
        if not wide and mask is None and stride is not None and "g" not in self.forms(self.shapes.shape(pointer)):
            self._store_strided(inst, texts, elem, pointer, row, stride)
            return
        if not wide:
            addresses = self.part(pointer, row, "v")
            spread = size * (lanes if side_by_side else 1)
            for c, text in enumerate(texts):
                at = self._offset_lanes(pointer.ty, addresses, c * spread)
                align = self._component_align(inst.align, size, c)
                self.masked_store(
                    self.lanes_of(elem), text, self.lanes_of(pointer.ty), at, mask or self.all_lanes, align, "scatter"
                )
            return
        base = self.part(pointer, row)
        step = self._step(pointer, value.ty)
        assert step is not None
        if side_by_side:
            for c, text in enumerate(texts):
                at = self.offset(pointer.ty, base, c * size * lanes)
                self._store_wide(elem, lanes, text, pointer.ty, at, mask, min(inst.align, size))
            return
        if step == -1:
            first = self.offset(pointer.ty, base, -size * (lanes - 1))
            backwards = self._reverse(mask, I1) if mask is not None else None
            self._store_wide(elem, lanes, self._reverse(texts[0], elem), pointer.ty, first, backwards, inst.align)
            return
        vector = texts[0] if step == 1 else self.interleave(texts + ["poison"] * (step - len(texts)), elem, lanes)
        if self._word(elem, step, len(parts)) is not None:
            self._store_items(inst, elem, step, vector, pointer, row, mask)
            return
        wide_mask = self._wide_mask(mask, step, len(parts))
        self._store_contiguous(inst, elem, lanes * step, vector, pointer, row, wide_mask)

    def _store_strided(self, inst: Inst, texts: list[str], elem: Type, pointer: Value, row: int, stride: int) -> None:
        """One store a lane at a known distance, in lane order, which is faster than a scatter."""
        base = self.part(pointer, row)
        spread = elem.size_bytes * (self.layout.lanes if pointer.text in self.shapes.interleaved else 1)
        for lane in range(self.layout.lanes):
            for c, text in enumerate(texts):
                at = self.offset(pointer.ty, base, lane * stride + c * spread)
                one = self.writer.let(f"extractelement {self.lanes_of(elem)} {text}, i64 {lane}")
                align = self._component_align(inst.align, elem.size_bytes, c)
                self.writer.line(f"store {elem} {one}, {pointer.ty} {at}, align {align}")

    def _store_wide(
        self, elem: Type, count: int, text: str, pointer_type: Type, address: str, mask: str | None, align: int
    ) -> None:
        ty = vec_type(count, elem)
        if mask is None:
            self.writer.line(f"store {ty} {text}, {pointer_type} {address}, align {align}")
        else:
            self.masked_store(ty, text, pointer_type, address, mask, align)

    def _store_streaming(self, elem: Type, count: int, text: str, pointer_type: Type, address: str, align: int) -> None:
        """Around the caches if the launch asks for it and the address allows it."""
        ty = vec_type(count, elem)

        def store(suffix: str) -> None:
            self.writer.line(f"store {ty} {text}, {pointer_type} {address}, {suffix}")

        whole = gcd(count * elem.size_bytes, LINE_BYTES)
        if self.variant.lines and whole == LINE_BYTES:
            needs_bytes = [LINE_BYTES]
        else:
            needs_bytes = sorted({max(whole, STREAM_ALIGN_BYTES), STREAM_ALIGN_BYTES}, reverse=True)
        self._stream_or_not(pointer_type, address, needs_bytes, align, store)

    def _stream_or_not(
        self, pointer_type: Type, address: str, needs_bytes: Sequence[int], align: int, store: Callable[[str], None]
    ) -> None:
        """Write ``store`` for each alignment, the first one that the address has being taken, and for the caches; it is
        given what follows the address in a store."""
        number = self.writer.let(f"ptrtoint {pointer_type} {address} to i64")
        stored = self.writer.fresh_label("stored")
        for needed in needs_bytes:
            low = self.writer.let(f"and i64 {number}, {needed - 1}")
            aligned = self.writer.let(f"icmp eq i64 {low}, 0")
            wanted = self.writer.let(f"and i1 {aligned}, %stream")
            names = [self.writer.fresh_label(hint) for hint in ("stream", "cached")]
            self.writer.branch(wanted, *names)
            self.writer.start(names[0])
            store(f"align {needed}, !nontemporal !9000")
            self.writer.jump(stored)
            self.writer.start(names[1])
        store(f"align {align}")
        self.writer.jump(stored)
        self.writer.start(stored)

    def root_param(self, pointer: Value) -> str:
        """The kernel parameter that a pointer was computed from, or empty."""
        return self.roots.get(pointer.text, "")
