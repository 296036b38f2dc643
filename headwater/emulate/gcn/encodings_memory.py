"""Input: memory instructions of every encoding. Output: where each part's lanes access memory, and the code that does
it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.gcn import accesses, atomics, exchange, frame_accesses, lds_pairs, texels
from headwater.emulate.gcn.accesses import Access, Place, RangedAccess
from headwater.emulate.gcn.control import scalar_operand, special, write_scalar
from headwater.emulate.gcn.program import meaning
from headwater.emulate.gcn.vector import put, vector_fetch, writers
from headwater.emulate.wave.atomics import Update, array_place, update_lanes
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.helpers import BUFFER, FLAT, GDS, LDS, PRIVATE, WRITE
from headwater.emulate.wave.layout import PRIVATE_APERTURE
from headwater.emulate.wave.lower_llvm import lower
from headwater.emulate.wave.memory import GDS_SLOT, LDS_SLOT, LIKELY, PRIVATE_SLOT, Address, PartAccess, vector
from headwater.emulate.wave.registers import PART, PART_LANES, PARTS, number
from headwater.isa.gcn import images, residency
from headwater.isa.gcn.model import M0, Instruction, Register, Source

if TYPE_CHECKING:
    from headwater.emulate.gcn.translator import Translator

_PRIVATE_SHIFT = 6
"""A private dword takes this power of two times as much space: it is interleaved over 64 lanes."""
_MOST_PRIVATE = (1 << 32 - _PRIVATE_SHIFT) - 4
"""Where a work-item's private memory ends at the latest, so that 32 bits hold a place in the wavefront's."""


# ---- scalar memory ---------------------------------------------------------------------------------------------------


def scalar_memory(t: Translator, instruction: Instruction) -> None:
    """SMEM and SMRD."""
    what = meaning(instruction)
    if not what.assignments and not any(e.kind == "store" for e in what.effects):
        return
    if "atomic" in instruction.row.flags:
        _scalar_atomic(t, instruction)
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
    if t.watch is not None:
        t.watch.scalar_access(instruction, address, nbytes, writes)
    stored = [t.regs.scalar(register.index + n) for n in range(register.dwords)] if writes else []
    kind = f"i{64 if register.dwords % 2 == 0 else 32}"
    step = 2 if kind == "i64" else 1

    def whole() -> list[str]:
        t.check_scalar(address, nbytes, int(writes), instruction.address, slot)
        place = b.emit(f"inttoptr i64 {address} to ptr")
        if writes:
            _put_scalars(t, stored, place)
            return []
        return _take(t, place, kind, register.dwords // step)

    values = _ranged_scalars(t, instruction, address, nbytes, stored, slot, kind, whole)
    for n, value in enumerate(values):
        if step == 2:
            t.regs.set_pair(register.index + 2 * n, value)
        else:
            t.regs.set_scalar(register.index + n, value)


def _put_scalars(t: Translator, words: Sequence[str], place: str) -> None:
    for n, word in enumerate(words):
        here = t.b.emit(f"getelementptr i8, ptr {place}, i64 {4 * n}")
        t.b.line(f"store i32 {word}, ptr {here}, align 4")


def _take(t: Translator, place: str, kind: str, count: int) -> list[str]:
    """So many numbers of a kind from a place on."""
    b, step = t.b, int(kind[1:]) // 8
    places = (b.emit(f"getelementptr i8, ptr {place}, i64 {step * n}") if n else place for n in range(count))
    return [b.emit(f"load {kind}, ptr {here}, align 4") for here in places]


def _ranged_scalars(
    t: Translator,
    instruction: Instruction,
    address: str,
    nbytes: int,
    stored: Sequence[str],
    slot: str,
    kind: str,
    whole: Callable[[], list[str]],
) -> list[str]:
    """A scalar access: ``whole`` if there is no buffer or all is inside of it, else dword by dword. What lies beyond
    NUM_RECORDS, times the stride if there is one, is loaded as 0, and not stored (AMD, RDNA 3 ISA, "Scalar Memory
    Reads"; the older guides are silent)."""
    base = instruction.source("ADDR")
    assert base is not None
    assert isinstance(base.value, Register)
    if base.value.dwords != 4:
        return whole()
    writes = bool(stored)
    start, offset, size, inside = _in_buffer(t, base.value, address, nbytes)
    how = (WRITE if writes else 0) | (BUFFER if accesses.is_checked(t) else 0)

    def by_dword() -> list[str]:
        _put_scalars(t, stored, "%data")
        _by_dword(t, instruction, (start, offset, size), nbytes, how, slot)
        return [] if writes else _take(t, "%data", kind, nbytes * 8 // int(kind[1:]))

    return accesses.either(t, inside, whole, by_dword, f", {LIKELY}", kind)


def _by_dword(
    t: Translator, instruction: Instruction, place: tuple[str, str, str], nbytes: int, how: int, slot: str
) -> None:
    """Access a buffer, of which ``place`` says start, offset and bytes, dword by dword by way of ``%data``."""
    b = t.b
    b.declare("declare hidden i32 @hw_scalar_part(ptr, i64, i64, i64, i32, i32, i64, ptr, ptr) #1")
    start, offset, size = place
    arguments = f"i64 {start}, i64 {offset}, i64 {size}, i32 {nbytes // 4}, i32 {how}"
    fine = b.emit(f"call i32 @hw_scalar_part(ptr %w, {arguments}, i64 {instruction.address}, ptr {slot}, ptr %data)")
    t.stop_unless(b.emit(f"icmp ne i32 {fine}, 0"))


def _in_buffer(t: Translator, descriptor: Register, address: str, nbytes: int) -> tuple[str, str, str, str]:
    """The start of a descriptor's buffer, an access's offset in it, the buffer's bytes, and whether the whole access is
    inside."""
    b = t.b
    start = b.emit(f"and i64 {t.regs.pair(descriptor.index)}, {(1 << 48) - 4}")
    offset = b.emit(f"sub i64 {address}, {start}")
    stride = b.emit(f"and i32 {b.emit(f'lshr i32 {t.regs.scalar(descriptor.index + 1)}, 16')}, 16383")
    step = b.intrinsic("umax", "u32", Value(stride, "u32"), Value("1", "u32"))
    records = b.resize(Value(t.regs.scalar(descriptor.index + 2), "u32"), "u64")
    size = b.binary("mul", records, b.resize(step, "u64"))
    limit = b.intrinsic("usub.sat", "u64", size, Value(str(nbytes - 1), "u64")).text
    return start, offset, size.text, b.emit(f"icmp ult i64 {offset}, {limit}")


def _scalar_atomic(t: Translator, instruction: Instruction) -> None:
    """s_atomic_… and s_buffer_atomic_…: lane 0 updates memory for the wavefront. Outside of a buffer nothing is
    updated, and 0 returned, as by stores and loads."""
    t.flush()
    b, what, nbytes = t.b, meaning(instruction), atomics.updated_bytes(instruction)
    address = _scalar_address(t, instruction)
    slot = t.new_slot()
    data, base, dest = instruction.source("DATA"), instruction.source("ADDR"), instruction.dest("D")
    assert data is not None
    assert base is not None
    assert isinstance(data.value, Register)
    assert isinstance(base.value, Register)
    if t.watch is not None:
        t.watch.scalar_access(instruction, address, nbytes, True)
    words = [t.regs.scalar(data.value.index + n) for n in range(data.value.dwords)]
    layout = {"DATA": (0, len(words))}

    def update() -> list[str]:
        b.line(f"store i64 {address}, ptr %addresses, align 64")
        for n, word in enumerate(words):
            b.line(f"store i32 {word}, ptr {array_place(b, '%data', n, '0')}, align 4")
        update = Update(what, t.mode, nbytes, 0, slot, instruction.address, layout)
        update_lanes(t, update, "1", keep_old=True)
        places = (array_place(b, "%before", n, "0") for n in range(nbytes // 4))
        return [b.emit(f"load i32, ptr {place}, align 4") for place in places]

    if base.value.dwords == 4:
        start, offset, size, inside = _in_buffer(t, base.value, address, nbytes)

        def outside() -> list[str]:
            if accesses.is_checked(t):  # which reports it
                _by_dword(t, instruction, (start, offset, size), nbytes, WRITE | BUFFER, slot)
            return ["0"] * (nbytes // 4)

        before = accesses.either(t, inside, update, outside, kind="i32")
    else:
        before = update()
    if dest is not None:
        for n, word in enumerate(before):
            t.regs.set_scalar(dest.register.index + n, word)


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
    is_wide = row.operands[0].type in ("b96", "b128")  # only gfx950 has these to LDS
    to_lds = row.encoding == "MUBUF" and fields.get("lds") and not is_wide
    if fields.get("tfe") or (fields.get("lds") and (formatted is not None or not to_lds)):
        t.flush()
        t.stop("FAULT_UNSUPPORTED", instruction.address)
        t.b.start(t.b.label("unreachable"))
        return
    access: Access
    if row.encoding == "SCRATCH":
        access = PrivateAccess(t, instruction, *_scratch_place(t, instruction))
    elif row.encoding == "MUBUF" and not fields.get("addr64"):
        if "atomic" in row.flags:
            accesses.buffer_atomic(t, instruction)
            return
        if t.private_registers and frame_accesses.translate_spilled(t, instruction):
            return
        if _is_private(t, instruction):
            access = _private_buffer(t, instruction)
        else:
            access = BufferAccess(t, instruction) if t.private_registers else RangedAccess(t, instruction)
    else:
        place = place_of(t, instruction)
        if not to_lds and "atomic" not in row.flags and frame_accesses.translate(t, instruction, place):
            return
        access = Access(t, instruction, place)
    if "atomic" in row.flags:
        if not lds_pairs.translate(t, instruction, place_of(t, instruction)):
            atomics.translate(t, instruction, place_of(t, instruction))
        return
    writes = "store" in row.flags
    exec_mask = t.exec_mask()
    fetches = {}
    for source in instruction.sources:
        if source.name in what.reads and isinstance(source.value, Register):
            fetches[source.name] = vector_fetch(t, source.value)
    for name in sorted(what.reads - fetches.keys()):
        dest = instruction.dest(name)
        if dest is not None:
            fetches[name] = vector_fetch(t, dest.register)
        else:
            fixed = special(t, instruction, name)
            fetches[name] = lambda part, fixed=fixed: fixed  # type: ignore[misc]
    write = writers(t, instruction, exec_mask)
    mode = t.mode
    stored = Access(t, instruction, _load_to_lds_place(t, instruction)) if to_lds else None
    # What a check touches of a load it then has prefetched for all parts, not for the last alone.
    access.reported_ahead = not to_lds and t.watch is not None and t.watch.takes_values and type(access) is Access

    def report(part: int) -> None:
        begun = access.begin(part, exec_mask)
        if not writes:
            access.report_loads(begun.one)
            return
        begun.put = access.report_store
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

    if access.reported_ahead:
        t.at_once(report)
    if writes or to_lds:
        t.at_once(thunk)
    else:
        t.later(thunk, loads=True)


def _all_is_resident(t: Translator, status: Register) -> None:
    """Write the status that tfe asks for."""
    exec_mask, register = t.exec_mask(), number(status)
    masked = t.masked(register)
    t.later(lambda part: put(t, register, part, "zeroinitializer", exec_mask, masked, None))


# ---- addresses -------------------------------------------------------------------------------------------------------


def place_of(t: Translator, instruction: Instruction) -> Place:
    """Where an instruction accesses LDS, GDS or global memory. Scalar parts of the address are read now."""
    encoding = instruction.row.encoding
    if encoding == "DS":
        return _ds_place(t, instruction)
    if encoding in ("MUBUF", "MTBUF"):
        return _buffer_by_address(t, instruction)
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
    wraps = TRAITS[t.program.isa].wraps_lds_addresses
    return lambda part: Address(start, t.regs.vector(first, part), None, how, slot, offset, wraps)


def _load_to_lds_place(t: Translator, instruction: Instruction) -> Place:
    """Where a buffer load with ``lds`` stores: M0, the instruction's offset, and a dword for each lane (AMD, Vega ISA
    Reference Guide, "Memory Buffer Load to LDS")."""
    b = t.b
    slot = t.slot_now(t.fixed_slot(LDS_SLOT))
    m0 = b.emit(f"and i32 {t.regs.scalar(M0)}, 65535")
    start = b.emit(f"add i64 {slot.start}, {b.emit(f'zext i32 {m0} to i64')}")
    lanes = [vector([4 * (part * PART_LANES + n) for n in range(PART_LANES)]) for part in range(PARTS)]
    return lambda part: Address(start, lanes[part], None, LDS, slot, instruction.fields["offset"])


def _buffer_by_address(t: Translator, instruction: Instruction) -> Place:
    """A buffer instruction with addr64, which looks at no NUM_RECORDS: its addresses have 64 bits."""
    b = t.b
    slot = t.slot_now(t.new_slot())
    _, base, soffset = accesses.resource(t, instruction)
    if soffset.text != "0":
        base = b.emit(f"add i64 {base}, {b.resize(soffset, 'u64').text}")
    if instruction.fields["offset"]:
        base = b.emit(f"add i64 {base}, {instruction.fields['offset']}")
    address = instruction.source("ADDR")
    assert address is not None
    assert isinstance(address.value, Register)
    first = number(address.value)
    return lambda part: Address(base, t.regs.vector(first, part), t.regs.vector(first + 1, part), 0, slot)


# ---- private memory --------------------------------------------------------------------------------------------------


def _scratch_place(t: Translator, instruction: Instruction) -> tuple[str, Callable[[int], str]]:
    """Private memory by SCRATCH instructions: where the wavefront's begins, and each lane's offset in bytes."""
    b = t.b
    start = t.slot_now(t.fixed_slot(PRIVATE_SLOT)).start
    offset = instruction.fields.get("offset", 0)
    address, base = instruction.source("ADDR"), instruction.source("SADDR")
    if base is not None:
        value = scalar_operand(t, base)
        assert isinstance(value, Value)
        # A negative offset of a scalar base faults (LLVM, AMDGPU.td, FeatureNegativeScratchOffsetBug).
        if address is not None:
            assert isinstance(address.value, Register)
            lanes, moved = number(address.value), b.splat(_moved_private(t, value, offset), PART_LANES)
            return (
                start,
                lambda part: (
                    b.intrinsic("uadd.sat", "u32", Value(t.regs.vector(lanes, part), "u32", PART_LANES), moved).text
                ),
            )
        whole = b.splat(_moved_private(t, value, offset) if offset >= 0 else _NOWHERE, PART_LANES).text
        return start, lambda part: whole
    if address is None:
        return start, _lane_offsets(t, None, Value(str(offset), "u32") if offset >= 0 else _NOWHERE)
    assert isinstance(address.value, Register)
    first = number(address.value)
    return start, lambda part: _moved_private(t, Value(t.regs.vector(first, part), "u32", PART_LANES), offset).text


_NOWHERE = Value("-4", "u32")
"""An offset that is in no work-item's private memory."""


def _moved_private(t: Translator, base: Value, offset: int) -> Value:
    """``base`` and ``offset``, or `_NOWHERE` if the sum has no 32 bits: a base is unsigned, and sums do not wrap around
    (LLVM, AMDGPUISelDAGToDAG.cpp, isFlatScratchBaseLegal)."""
    b = t.b
    if offset >= 0:
        return b.intrinsic("uadd.sat", "u32", base, Value(str(offset), "u32")) if offset else base
    below = b.compare("icmp ult", base, Value(str(-offset), "u32"))
    return b.select(below, _NOWHERE, b.binary("add", base, Value(str(offset), "u32")))


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

    conditional = True

    def __init__(
        self,
        t: Translator,
        instruction: Instruction,
        start: str,
        offsets: Callable[[int], str],
        fixed: int | None = None,
    ) -> None:
        """``offsets`` gives a part's, in bytes from ``start``; ``fixed``: all lanes', if they have one."""
        super().__init__(t, instruction, lambda part: self._dword(part, 0))
        self.start = start
        self.offsets = offsets
        self.fixed = fixed
        self.slot = t.slot_now(t.fixed_slot(PRIVATE_SLOT))

    def _dword(self, part: int, more: int) -> Address:
        """Where the dword lies that holds a lane's byte."""
        b = self.t.b
        offset = Value(self.offsets(part), "u32", PART_LANES)
        if more:
            offset = b.binary("add", offset, Value(str(more), "u32"))
        # What is far beyond stays beyond when it is shifted.
        offset = b.intrinsic("umin", "u32", offset, Value(str(_MOST_PRIVATE), "u32"))
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

    def _crosses_dwords(self, one: PartAccess, offset: int, nbytes: int) -> str | None:
        """Whether a lane's access crosses dwords, which are not adjacent; None if none does."""
        b = self.t.b
        if nbytes == 1:
            return None
        if self.fixed is not None:
            begin = (self.fixed + offset) % 4
            if begin == 0 or begin + nbytes <= 4:
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
        crosses = self._crosses_dwords(one, offset, nbytes)
        if crosses is None:
            return [self._load_dwords(one, offset, nbytes)]
        crossing, aligned, done = b.label("crossing"), b.label("aligned"), b.label("joined")
        b.line(f"br i1 {crosses}, label %{crossing}, label %{aligned}")
        known = self.t.shapes
        b.start(crossing)
        first = one.load_anywhere(self._flat(one.part, offset), nbytes)
        first_end = b.block.label
        b.jump(done)
        b.start(aligned)
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
            self.report(one, place, min(nbytes, 4), writes=False)
            words += one.load(place, ((0, 4),))[0]
        if nbytes < 4:
            b = self.t.b
            moved = b.binary("lshr", Value(words[0], "u32", PART_LANES), self._shift(one.part, offset))
            words = [b.binary("and", moved, Value(str((1 << 8 * nbytes) - 1), "u32")).text]
        return words

    def store(self, one: PartAccess, offset: int, nbytes: int, values: list[str]) -> None:
        b = self.t.b
        crosses = self._crosses_dwords(one, offset, nbytes)
        if crosses is None:
            self._store_dwords(one, offset, nbytes, values)
            return
        crossing, aligned, done = b.label("crossing"), b.label("aligned"), b.label("joined")
        b.line(f"br i1 {crosses}, label %{crossing}, label %{aligned}")
        known = self.t.shapes
        b.start(crossing)
        one.store_anywhere(self._flat(one.part, offset), nbytes, values)
        b.jump(done)
        b.start(aligned)
        self.t.shapes = dict(known)
        self._store_dwords(one, offset, nbytes, values)
        self.t.shapes = known
        b.jump(done)
        b.start(done)

    def _store_dwords(self, one: PartAccess, offset: int, nbytes: int, values: list[str]) -> None:
        b = self.t.b
        for n, value in enumerate(values):
            place = self._dword(one.part, offset + 4 * n)
            self.report(one, place, min(nbytes, 4), writes=True)
            if nbytes < 4:
                shift = self._shift(one.part, offset)
                ones = Value(str((1 << 8 * nbytes) - 1), "u32")
                hole = b.binary("xor", b.binary("shl", b.splat(ones, PART_LANES), shift), Value("-1", "u32"))
                old = Value(one.load(place, ((0, 4),))[0][0], "u32", PART_LANES)
                new = b.binary("and", Value(value, "u32", PART_LANES), ones)
                value = b.binary("or", b.binary("and", old, hole), b.binary("shl", new, shift)).text
            one.store(place, 4, [value])


class BufferAccess(RangedAccess):
    """A buffer instruction of a kernel that has private memory: the descriptor's swizzle bit says, when it runs,
    whether it accesses that."""

    conditional = True

    def __init__(self, t: Translator, instruction: Instruction) -> None:
        super().__init__(t, instruction)
        self.private = _private_buffer(t, instruction)

    def load(self, one: PartAccess, pieces: Sequence[tuple[int, int]]) -> list[list[str]]:
        usual = self.usual(one)
        self.private.offsets(one.part)  # registers are read where both ways see them

        def private() -> list[str]:
            (values,) = self.private.load(one, pieces)
            return values

        def buffer() -> list[str]:
            (values,) = self.load_by(usual, one, pieces)
            return values

        return [accesses.either(self.t, self.swizzled, private, buffer)]

    def store(self, one: PartAccess, offset: int, nbytes: int, values: list[str]) -> None:
        usual = self.usual(one)
        self.private.offsets(one.part)

        def private() -> list[str]:
            self.private.store(one, offset, nbytes, values)
            return []

        def buffer() -> list[str]:
            self.store_by(usual, one, nbytes, values)
            return []

        accesses.either(self.t, self.swizzled, private, buffer)


def _is_private(t: Translator, instruction: Instruction) -> bool:
    """Whether a buffer instruction surely accesses private memory."""
    source, fields = instruction.source("RSRC"), instruction.fields
    assert source is not None
    assert isinstance(source.value, Register)
    return source.value.index == t.private_descriptor and not fields["idxen"] and not fields.get("lds")


def _private_buffer(t: Translator, instruction: Instruction) -> PrivateAccess:
    """A buffer instruction's access of private memory."""
    b, fields = t.b, instruction.fields
    _, base, soffset = accesses.resource(t, instruction)
    if soffset.text != "0":
        base = b.emit(f"add i64 {base}, {b.resize(soffset, 'u64').text}")
    fixed = fields["offset"]
    address = instruction.source("ADDR") if fields["offen"] else None
    offsets = _lane_offsets(t, address, Value(str(fixed), "u32"))
    return PrivateAccess(t, instruction, base, offsets, fixed if address is None else None)


__all__ = ["place_of", "put", "scalar_memory", "vector_memory"]
