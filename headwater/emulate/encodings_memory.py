"""Memory instructions of every encoding in; where each part's lanes access memory, and the code that does it, out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headwater.emulate import atomics, exchange, texels, two_places
from headwater.emulate.builder import Value
from headwater.emulate.control import scalar_operand, special, write_scalar
from headwater.emulate.helpers import FLAT, GDS, LDS, PRIVATE
from headwater.emulate.layout import PRIVATE_APERTURE
from headwater.emulate.lower_llvm import EffectValues, Wide, lower
from headwater.emulate.memory import GDS_SLOT, LDS_SLOT, PRIVATE_SLOT, Address, PartAccess, vector
from headwater.emulate.program import meaning
from headwater.emulate.registers import PART, PART_LANES, PARTS, Mask
from headwater.emulate.vector import number, put, vector_fetch, writers
from headwater.isa.gcn import images, residency
from headwater.isa.gcn.model import M0, Instruction, Register, Source
from headwater.isa.gcn.semantics import BITS

if TYPE_CHECKING:
    from headwater.emulate.translate import Translator

Place = Callable[[int], Address]
"""Gives a part's address."""

_PRIVATE_SHIFT = 6
"""A private dword takes this power of two times as much space: it is interleaved over 64 lanes."""


# ---- scalar memory ---------------------------------------------------------------------------------------------------


def scalar_memory(t: Translator, instruction: Instruction) -> None:
    """SMEM and SMRD."""
    what = meaning(instruction)
    if not what.assignments and not any(e.kind == "store" for e in what.effects):
        return
    if "load" not in instruction.row.flags and "store" not in instruction.row.flags:
        _clock(t, instruction)
        return
    b = t.b
    writes = "store" in instruction.row.flags
    if writes:
        t.flush()
    address = _scalar_address(t, instruction)
    slot = t.new_slot()
    dwords = instruction.source("DATA") if writes else None
    register = dwords.value if dwords is not None else instruction.dests[0].register
    assert isinstance(register, Register)
    nbytes = 4 * register.dwords
    if t.options.observer is not None:
        t.options.observer.scalar_access(t, instruction, address, nbytes, writes)
    if writes:
        assert dwords is not None
        t.check_scalar(address, nbytes, 1, instruction.address, slot)
        place = b.emit(f"inttoptr i64 {address} to ptr")
        for n in range(register.dwords):
            here = b.emit(f"getelementptr i8, ptr {place}, i64 {4 * n}")
            b.line(f"store i32 {t.regs.scalar(register.index + n)}, ptr {here}, align 4")
        return
    t.check_scalar(address, nbytes, 0, instruction.address, slot)
    place = b.emit(f"inttoptr i64 {address} to ptr")
    values = []
    step = 2 if register.dwords % 2 == 0 else 1
    for n in range(0, register.dwords, step):
        here = b.emit(f"getelementptr i8, ptr {place}, i64 {4 * n}") if n else place
        values.append(b.emit(f"load i{32 * step}, ptr {here}, align 4"))
    for n, value in enumerate(values):
        if step == 2:
            t.regs.set_pair(register.index + 2 * n, value)
        else:
            t.regs.set_scalar(register.index + n, value)


def _scalar_address(t: Translator, instruction: Instruction) -> str:
    """Where a scalar instruction accesses memory."""
    b = t.b
    base = instruction.source("ADDR")
    assert base is not None
    register = base.value
    assert isinstance(register, Register)
    offset = Value(str(instruction.fields["offset_bytes"]), "u64")
    moving = instruction.source("SOFFSET")
    if moving is not None:
        value = scalar_operand(t, moving)
        assert isinstance(value, Value)
        offset = b.binary("add", b.resize(value, "u64"), offset)
    start = t.regs.pair(register.index)
    if register.dwords == 4:
        start = b.emit(f"and i64 {start}, {(1 << 48) - 1}")
    # Both low bits of the offset and of the base are ignored.
    total = b.emit(f"add i64 {start}, {offset.text}")
    return b.emit(f"and i64 {total}, -4")


def _clock(t: Translator, instruction: Instruction) -> None:
    t.b.declare("declare i64 @llvm.readcyclecounter()")
    value = t.b.emit("call i64 @llvm.readcyclecounter()")
    write_scalar(t, instruction.dests[0].register, Value(value, "u64"))


# ---- vector memory ---------------------------------------------------------------------------------------------------


def vector_memory(t: Translator, instruction: Instruction) -> None:
    """DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG."""
    row = instruction.row
    if images.texels(instruction) is None and not instruction.fields.get("lds"):
        instruction, status = residency.without_status(instruction)
        if status is not None:
            vector_memory(t, instruction)
            _all_is_resident(t, status)
            return
    what = meaning(instruction)
    if exchange.translate(t, instruction):
        return
    fields = instruction.fields
    formatted = images.texels(instruction)
    if formatted is not None and not fields.get("lds"):
        texels.translate(t, instruction, formatted)
        return
    if what.effect("count") is not None:
        atomics.count(t, instruction)
        return
    if not what.assignments and not any(e.kind == "store" for e in what.effects):
        return
    to_lds = row.encoding == "MUBUF" and fields.get("lds")
    if fields.get("tfe") or (fields.get("lds") and (formatted is not None or not to_lds)):
        t.flush()
        t.stop("FAULT_UNSUPPORTED", instruction.address)
        t.b.start(t.b.label("unreachable"))
        return
    access: Access
    if row.encoding == "SCRATCH":
        access = PrivateAccess(t, instruction, *_scratch_place(t, instruction))
    elif row.encoding == "MUBUF" and not fields.get("addr64") and t.private_registers:
        access = BufferAccess(t, instruction)
    else:
        access = Access(t, instruction, place_of(t, instruction))
    if "atomic" in row.flags:
        if not two_places.translate(t, instruction, place_of(t, instruction)):
            atomics.translate(t, instruction, place_of(t, instruction))
        return
    writes = "store" in row.flags
    exec_mask = t.exec_mask()
    fetches = {}
    for source in instruction.sources:
        if source.name in what.reads and isinstance(source.value, Register):
            fetches[source.name] = vector_fetch(t, source.value)
    for name in what.reads - fetches.keys() - {"CLAMP"}:
        dest = instruction.dest(name)
        if dest is not None:
            fetches[name] = vector_fetch(t, dest.register)
        else:
            fixed = special(t, instruction, name)
            fetches[name] = lambda part, fixed=fixed: fixed  # type: ignore[misc]
    write = writers(t, instruction, exec_mask)
    mode = t.mode
    stored = Access(t, instruction, _load_to_lds_place(t, instruction)) if to_lds else None
    observer = t.options.observer
    # What a check touches of a load it then has prefetched for all parts, not for the last alone.
    access.told_ahead = not to_lds and observer is not None and observer.takes_values and type(access) is Access

    def tell(part: int) -> None:
        begun = access.begin(part, exec_mask)
        if not writes:
            access.tell_loads(begun.one)
            return
        begun.put = access.tell
        begun.store_all(lower(t.b, what, {name: get(part) for name, get in fetches.items()}, mode).effects)

    def thunk(part: int) -> None:
        operands = {name: get(part) for name, get in fetches.items()}
        begun = access.begin(part, exec_mask)
        lowered = lower(t.b, what, operands, mode, load=begun.load)
        if stored is not None:
            value = lowered.results["D"]
            assert isinstance(value, Value)
            stored.begin(part, exec_mask).store("u32", value, None)
            return
        begun.store_all(lowered.effects)
        for target, value in lowered.results.items():
            write[target](part, value, None)

    if access.told_ahead:
        t.at_once(tell)
    if writes or to_lds:
        t.at_once(thunk)
    else:
        t.later(thunk, loads=True)


def _all_is_resident(t: Translator, status: Register) -> None:
    """Write what tfe tells."""
    exec_mask, register = t.exec_mask(), number(status)
    masked = t.masked(register)
    t.later(lambda part: put(t, register, part, "zeroinitializer", exec_mask, masked, None))


class Access:
    """An instruction's loads and stores at the places that ``place`` gives."""

    several_ways = False
    """Whether each part is accessed in one of several ways, which is found when it runs."""

    def __init__(self, t: Translator, instruction: Instruction, place: Place) -> None:
        self.t = t
        self.instruction = instruction
        self.place = place
        loads = [access for access in meaning(instruction).accesses if access.kind == "load"]
        self.pieces = [
            (0 if access.offset is None else two_places.constant(instruction, access.offset), BITS[access.type] // 8)
            for access in loads
        ]
        """What it loads, in order."""
        self.told_ahead = False
        """Whether `tell` or `tell_loads` is called for all parts before they are accessed."""

    def begin(self, part: int, exec_mask: Mask) -> PartOfAccess:
        """What one part's lanes do."""
        return PartOfAccess(self, part, exec_mask)

    def load(self, one: PartAccess, pieces: Sequence[tuple[int, int]]) -> list[list[str]]:
        """For each piece, bytes from the instruction's address and a size, its dwords."""
        at = self.place(one.part)
        if not self.told_ahead:
            for offset, nbytes in pieces:
                self._watch(one, at.moved(self.t.b, offset), nbytes, writes=False)
        return one.load(at, pieces)

    def store(self, one: PartAccess, offset: int, nbytes: int, values: list[str]) -> None:
        """The same for stores."""
        at = self.place(one.part).moved(self.t.b, offset)
        if not self.told_ahead:
            self._watch(one, at, nbytes, writes=True, values=values)
        one.store(at, nbytes, values)

    def tell_loads(self, one: PartAccess) -> None:
        """Only tell the observer of what is loaded."""
        at = self.place(one.part)
        for offset, nbytes in self.pieces:
            self._watch(one, at.moved(self.t.b, offset), nbytes, writes=False)

    def tell(self, one: PartAccess, offset: int, nbytes: int, values: list[str]) -> None:
        """Only tell the observer of a store."""
        self._watch(one, self.place(one.part).moved(self.t.b, offset), nbytes, writes=True, values=values)

    def _watch(self, one: PartAccess, at: Address, nbytes: int, *, writes: bool, values: Sequence[str] = ()) -> None:
        observer = self.t.options.observer
        if observer is not None:
            lanes, ahead, apart = one.exec_mask, self.told_ahead, self.several_ways
            observer.access(self.t, self.instruction, one.part, at, nbytes, writes, lanes, values, ahead, apart)


class PartOfAccess:
    """Loads and stores as the semantics' types say."""

    def __init__(self, access: Access, part: int, exec_mask: Mask) -> None:
        self.access = access
        self._waiting: list[list[str]] = []
        self.one = PartAccess(access.t, part, exec_mask, access.instruction.address)
        self.b = access.t.b
        self.put: Callable[[PartAccess, int, int, list[str]], None] = access.store

    def store_all(self, effects: Sequence[EffectValues]) -> None:
        """The stores among an instruction's effects."""
        for effect in effects:
            if effect.kind == "store":
                offset = effect.values[1] if len(effect.values) > 1 else None
                assert offset is None or isinstance(offset, Value)
                self.store(effect.type, effect.values[0], offset)

    def _offset(self, offset: Value | None) -> int:
        """Two-address instructions give constants; the field ``offset`` is part of the place already."""
        return 0 if offset is None else int(offset.text)

    def load(self, type_: str, offset: Value | None) -> Wide:
        """A value of a type of the semantics."""
        nbytes = BITS[type_] // 8
        b = self.b
        if not self._waiting:  # all that the instruction loads is loaded together
            self._waiting = self.access.load(self.one, self.access.pieces)
        words = self._waiting.pop(0)
        values = [Value(w, "u32", PART_LANES) for w in words]
        if nbytes < 4:
            return b.bitcast(b.resize(values[0], f"u{8 * nbytes}"), type_)
        if nbytes == 4:
            return b.bitcast(values[0], type_)
        if nbytes == 8:
            low, high = (v.text for v in values)
            picks = vector([n + half * PART_LANES for n in range(PART_LANES) for half in (0, 1)])
            both = b.emit(f"shufflevector {PART} {low}, {PART} {high}, <{2 * PART_LANES} x i32> {picks}")
            joined = b.emit(f"bitcast <{2 * PART_LANES} x i32> {both} to <{PART_LANES} x i64>")
            return b.bitcast(Value(joined, "u64", PART_LANES), type_)
        return tuple(values)

    def store(self, type_: str, value: Wide, offset: Value | None) -> None:
        """Store a value of a type of the semantics."""
        b = self.b
        nbytes = BITS[type_] // 8
        if isinstance(value, tuple):
            words = [b.splat(b.bitcast(v, "u32"), PART_LANES).text for v in value]
        else:
            value = b.splat(value, PART_LANES)
            if nbytes == 8:
                pieces = b.reshape(value, "u32")
                words = [b.shuffle(pieces, None, range(half, 2 * PART_LANES, 2)).text for half in (0, 1)]
            else:
                whole = b.bitcast(value, f"u{8 * nbytes}")
                words = [b.resize(whole, "u32").text]
        self.put(self.one, self._offset(offset), nbytes, words)


# ---- addresses -------------------------------------------------------------------------------------------------------


def place_of(t: Translator, instruction: Instruction) -> Place:
    """Where an instruction accesses LDS, GDS or global memory. Scalar parts of the address are read now."""
    encoding = instruction.row.encoding
    if encoding == "DS":
        return _ds_place(t, instruction)
    if encoding in ("MUBUF", "MTBUF"):
        return _buffer_place(t, instruction)
    b = t.b
    slot = t.slot_now(t.new_slot())
    offset = instruction.fields.get("offset", 0)
    how = FLAT if encoding == "FLAT" else 0
    address, base = instruction.source("ADDR"), instruction.source("SADDR")
    assert address is not None
    assert isinstance(address.value, Register)
    first = number(address.value)
    if base is not None:
        assert isinstance(base.value, Register)
        start = t.regs.pair(base.value.index)
        total = b.emit(f"add i64 {start}, {offset}") if offset else start
        return lambda part: Address(total, t.regs.vector(first, part), None, how, slot)
    return lambda part: Address(str(offset), t.regs.vector(first, part), t.regs.vector(first + 1, part), how, slot)


def _ds_place(t: Translator, instruction: Instruction) -> Place:
    b = t.b
    gds = bool(instruction.fields.get("gds"))
    slot = t.slot_now(t.fixed_slot(GDS_SLOT if gds else LDS_SLOT))
    start = slot.start
    elsewhere = {"offset2", "src2"} & instruction.row.flags
    offset = 0 if elsewhere else instruction.fields["offset"]
    address = instruction.source("ADDR")
    how = GDS if gds else LDS
    if address is None:  # ds_read_addtid_b32: M0 and the lane's number
        m0 = b.emit(f"and i32 {t.regs.scalar(M0)}, 65535")
        start = b.emit(f"add i64 {start}, {b.emit(f'zext i32 {m0} to i64')}")
    if address is None:
        return lambda part: Address(
            start, vector([4 * (part * PART_LANES + n) for n in range(PART_LANES)]), None, how, slot, offset
        )
    assert isinstance(address.value, Register)
    first = number(address.value)
    return lambda part: Address(start, t.regs.vector(first, part), None, how, slot, offset)


def _load_to_lds_place(t: Translator, instruction: Instruction) -> Place:
    """Where a buffer load with ``lds`` stores: M0, the instruction's offset, and a dword for each lane (AMD, Vega ISA
    Reference Guide, "Memory Buffer Load to LDS")."""
    b = t.b
    slot = t.slot_now(t.fixed_slot(LDS_SLOT))
    m0 = b.emit(f"and i32 {t.regs.scalar(M0)}, 65535")
    start = b.emit(f"add i64 {slot.start}, {b.emit(f'zext i32 {m0} to i64')}")
    lanes = [vector([4 * (part * PART_LANES + n) for n in range(PART_LANES)]) for part in range(PARTS)]
    return lambda part: Address(start, lanes[part], None, LDS, slot, instruction.fields["offset"])


def _resource(t: Translator, instruction: Instruction) -> tuple[int, str, str]:
    """A buffer's descriptor: the first register's number, its base address with the scalar offset, its size field."""
    b = t.b
    source, scalar = instruction.source("RSRC"), instruction.source("SOFFSET")
    assert source is not None
    assert isinstance(source.value, Register)
    index = source.value.index
    # 48 bits; compilers also put differences there, to which the vector address is added.
    base = b.emit(f"ashr i64 {b.emit(f'shl i64 {t.regs.pair(index)}, 16')}, 16")
    if scalar is not None:
        value = scalar_operand(t, scalar)
        assert isinstance(value, Value)
        if value.text != "0":
            base = b.emit(f"add i64 {base}, {b.resize(value, 'u64').text}")
    return index, base, t.regs.scalar(index + 2)


def _buffer_place(t: Translator, instruction: Instruction) -> Place:
    """A buffer that is not swizzled. What lies beyond its size is not told apart from what lies beyond its
    allocation."""
    b = t.b
    fields = instruction.fields
    slot = t.slot_now(t.new_slot())
    index, base, _ = _resource(t, instruction)
    if fields["offset"]:
        base = b.emit(f"add i64 {base}, {fields['offset']}")
    address = instruction.source("ADDR")
    if address is None:
        zeros = "zeroinitializer"
        return lambda part: Address(base, zeros, None, 0, slot)
    assert isinstance(address.value, Register)
    first = number(address.value)
    if fields.get("addr64"):
        return lambda part: Address(base, t.regs.vector(first, part), t.regs.vector(first + 1, part), 0, slot)
    if not fields["idxen"]:
        return lambda part: Address(base, t.regs.vector(first, part), None, 0, slot)
    stride = b.emit(f"and i32 {b.emit(f'lshr i32 {t.regs.scalar(index + 1)}, 16')}, 16383")

    def place(part: int) -> Address:
        steps = Value(t.regs.vector(first, part), "u32", PART_LANES)
        offset = b.binary("mul", steps, Value(stride, "u32"))
        if fields["offen"]:
            offset = b.binary("add", offset, Value(t.regs.vector(first + 1, part), "u32", PART_LANES))
        return Address(base, offset.text, None, 0, slot)

    return place


# ---- private memory --------------------------------------------------------------------------------------------------


def _scratch_place(t: Translator, instruction: Instruction) -> tuple[str, Callable[[int], str]]:
    """Private memory by SCRATCH instructions: where the wavefront's begins, and each lane's offset in bytes."""
    b = t.b
    start = t.slot_now(t.fixed_slot(PRIVATE_SLOT)).start
    offset = instruction.fields.get("offset", 0)
    address, base = instruction.source("ADDR"), instruction.source("SADDR")
    fixed = Value(str(offset), "u32")
    if base is not None:
        value = scalar_operand(t, base)
        assert isinstance(value, Value)
        fixed = b.binary("add", value, fixed)
    return start, _lane_offsets(t, address if base is None else None, fixed)


def _lane_offsets(t: Translator, address: Source | None, fixed: Value) -> Callable[[int], str]:
    b = t.b
    if address is None:
        whole = b.splat(fixed, PART_LANES).text
        return lambda part: whole
    assert isinstance(address.value, Register)
    first = number(address.value)
    return lambda part: b.binary("add", Value(t.regs.vector(first, part), "u32", PART_LANES), fixed).text


class PrivateAccess(Access):
    """A lane's private memory: dword n of lane l is dword ``64 n + l`` of the wavefront's."""

    several_ways = True

    def __init__(self, t: Translator, instruction: Instruction, start: str, offsets: Callable[[int], str]) -> None:
        super().__init__(t, instruction, lambda part: self._dword(part, 0))
        self.start = start
        self.offsets = offsets
        self.slot = t.slot_now(t.fixed_slot(PRIVATE_SLOT))

    def _dword(self, part: int, more: int) -> Address:
        """Where the dword lies that holds a lane's byte."""
        b = self.t.b
        offset = Value(self.offsets(part), "u32", PART_LANES)
        if more:
            offset = b.binary("add", offset, Value(str(more), "u32"))
        aligned = b.binary("and", offset, Value("-4", "u32"))
        spread = b.binary("shl", aligned, Value(str(_PRIVATE_SHIFT), "u32"))
        lanes = Value(vector([4 * (part * PART_LANES + n) for n in range(PART_LANES)]), "u32", PART_LANES)
        return Address(self.start, b.binary("add", spread, lanes).text, None, PRIVATE, self.slot)

    def _shift(self, part: int, more: int) -> Value:
        """Bits by which a smaller value stands from its dword's low end."""
        b = self.t.b
        offset = b.binary("add", Value(self.offsets(part), "u32", PART_LANES), Value(str(more), "u32"))
        inside = b.binary("and", offset, Value("3", "u32"))
        return b.binary("shl", inside, Value("3", "u32"))

    def _apart(self, one: PartAccess, offset: int, nbytes: int) -> str | None:
        """Whether a lane's access crosses dwords, which lie apart; None if none does."""
        b = self.t.b
        if nbytes == 1:
            return None
        value = b.binary("add", Value(self.offsets(one.part), "u32", PART_LANES), Value(str(offset), "u32"))
        inside = b.binary("and", value, Value("3", "u32")).text
        test = "icmp ne <16 x i32> {}, zeroinitializer" if nbytes >= 4 else "icmp eq <16 x i32> {}, splat (i32 3)"
        bits = b.emit(f"bitcast <16 x i1> {b.emit(test.format(inside))} to i16")
        return b.emit(f"icmp ne i16 {b.emit(f'and i16 {bits}, {one.bits}')}, 0")

    def _flat(self, part: int, more: int) -> Address:
        """The same place by its flat address: the slow way of memory moves what crosses dwords byte by byte."""
        b = self.t.b
        ahead = b.emit(f"ashr i64 {b.emit(f'sub i64 {self.start}, {self.slot.start}')}, {_PRIVATE_SHIFT}")
        base = b.emit(f"add i64 {ahead}, {PRIVATE_APERTURE << 32}")
        offset = b.binary("add", Value(self.offsets(part), "u32", PART_LANES), Value(str(more), "u32"))
        return Address(base, offset.text, None, FLAT, self.slot)

    def load(self, one: PartAccess, pieces: Sequence[tuple[int, int]]) -> list[list[str]]:
        ((offset, nbytes),) = pieces
        b = self.t.b
        apart = self._apart(one, offset, nbytes)
        if apart is None:
            return [self._load_dwords(one, offset, nbytes)]
        odd, even, done = b.label("apart"), b.label("aligned"), b.label("joined")
        b.line(f"br i1 {apart}, label %{odd}, label %{even}")
        known = self.t.shapes
        b.start(odd)
        first = one.load_anywhere(self._flat(one.part, offset), nbytes)
        first_end = b.block.label
        b.jump(done)
        b.start(even)
        self.t.shapes = dict(known)  # what is found on one way does not hold on the other
        second = self._load_dwords(one, offset, nbytes)
        self.t.shapes = known
        second_end = b.block.label
        b.jump(done)
        b.start(done)
        pairs = zip(first, second, strict=True)
        return [[b.emit(f"phi {PART} [{x}, %{first_end}], [{y}, %{second_end}]") for x, y in pairs]]

    def _load_dwords(self, one: PartAccess, offset: int, nbytes: int) -> list[str]:
        words = []
        for at in range(0, max(nbytes, 4), 4):
            place = self._dword(one.part, offset + at)
            self._watch(one, place, min(nbytes, 4), writes=False)
            words += one.load(place, ((0, 4),))[0]
        if nbytes < 4:
            b = self.t.b
            moved = b.binary("lshr", Value(words[0], "u32", PART_LANES), self._shift(one.part, offset))
            words = [b.binary("and", moved, Value(str((1 << 8 * nbytes) - 1), "u32")).text]
        return words

    def store(self, one: PartAccess, offset: int, nbytes: int, values: list[str]) -> None:
        b = self.t.b
        apart = self._apart(one, offset, nbytes)
        if apart is None:
            self._store_dwords(one, offset, nbytes, values)
            return
        odd, even, done = b.label("apart"), b.label("aligned"), b.label("joined")
        b.line(f"br i1 {apart}, label %{odd}, label %{even}")
        known = self.t.shapes
        b.start(odd)
        one.store_anywhere(self._flat(one.part, offset), nbytes, values)
        b.jump(done)
        b.start(even)
        self.t.shapes = dict(known)
        self._store_dwords(one, offset, nbytes, values)
        self.t.shapes = known
        b.jump(done)
        b.start(done)

    def _store_dwords(self, one: PartAccess, offset: int, nbytes: int, values: list[str]) -> None:
        b = self.t.b
        for n, value in enumerate(values):
            place = self._dword(one.part, offset + 4 * n)
            self._watch(one, place, min(nbytes, 4), writes=True)
            if nbytes < 4:
                shift = self._shift(one.part, offset)
                ones = Value(str((1 << 8 * nbytes) - 1), "u32")
                hole = b.binary("xor", b.binary("shl", b.splat(ones, PART_LANES), shift), Value("-1", "u32"))
                old = Value(one.load(place, ((0, 4),))[0][0], "u32", PART_LANES)
                new = b.binary("and", Value(value, "u32", PART_LANES), ones)
                value = b.binary("or", b.binary("and", old, hole), b.binary("shl", new, shift)).text
            one.store(place, 4, [value])


class BufferAccess(Access):
    """A buffer instruction of a kernel that has private memory: the descriptor's swizzle bit tells, when it runs,
    whether it accesses that."""

    several_ways = True

    def __init__(self, t: Translator, instruction: Instruction) -> None:
        super().__init__(t, instruction, _buffer_place(t, instruction))
        b = t.b
        index, base, _ = _resource(t, instruction)
        high = t.regs.scalar(index + 1)
        self.swizzled = b.emit(f"icmp slt i32 {high}, 0")
        fixed = Value(str(instruction.fields["offset"]), "u32")
        address = instruction.source("ADDR") if instruction.fields["offen"] else None
        self.private = PrivateAccess(t, instruction, base, _lane_offsets(t, address, fixed))

    def load(self, one: PartAccess, pieces: Sequence[tuple[int, int]]) -> list[list[str]]:
        b = self.t.b
        inside, outside, done = b.label("private"), b.label("buffer"), b.label("loaded")
        self.place(one.part)  # registers are read where both ways see them
        self.private.offsets(one.part)
        b.branch(self.swizzled, inside, outside)
        known = self.t.shapes
        b.start(inside)
        self.t.shapes = dict(known)  # what is found on one way does not hold on the other
        (first,) = self.private.load(one, pieces)
        first_end = b.block.label
        b.jump(done)
        b.start(outside)
        self.t.shapes = dict(known)
        (second,) = super().load(one, pieces)
        self.t.shapes = known
        second_end = b.block.label
        b.jump(done)
        b.start(done)
        return [
            [
                b.emit(f"phi {PART} [{x}, %{first_end}], [{y}, %{second_end}]")
                for x, y in zip(first, second, strict=True)
            ]
        ]

    def store(self, one: PartAccess, offset: int, nbytes: int, values: list[str]) -> None:
        b = self.t.b
        inside, outside, done = b.label("private"), b.label("buffer"), b.label("stored")
        self.place(one.part)
        self.private.offsets(one.part)
        b.branch(self.swizzled, inside, outside)
        known = self.t.shapes
        b.start(inside)
        self.t.shapes = dict(known)
        self.private.store(one, offset, nbytes, values)
        b.jump(done)
        b.start(outside)
        self.t.shapes = dict(known)
        super().store(one, offset, nbytes, values)
        self.t.shapes = known
        b.jump(done)
        b.start(done)


__all__ = ["place_of", "put", "scalar_memory", "vector_memory"]
