"""Input: where an instruction's lanes access memory. Output: its loads and stores as the semantics' types say. Those of
buffers are of the lanes whose places NUM_RECORDS allows.

Mostly all lanes are inside of a buffer that lies in memory as it is counted; code tests that, and accesses memory as
other instructions do. For everything else support.c goes lane by lane, by the rules in buffers.h: lanes outside load 0,
and store nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.gcn import atomics, lds_pairs
from headwater.emulate.gcn.control import scalar_operand
from headwater.emulate.gcn.program import meaning
from headwater.emulate.watch.hooks import LaneAccess
from headwater.emulate.wave.atomics import put_array
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.helpers import BUFFER as IN_BUFFER
from headwater.emulate.wave.layout import BUFFER, BUFFER_FLAGS, LANES, trait_bits
from headwater.emulate.wave.lower_llvm import EffectValues, Wide
from headwater.emulate.wave.memory import LIKELY, Address, PartAccess, vector
from headwater.emulate.wave.registers import PART, PART_LANES, PART_MASK, PARTS, Mask, number
from headwater.isa.gcn.model import EXEC, Instruction, Register
from headwater.isa.semantics.types import BITS

if TYPE_CHECKING:
    from headwater.emulate.gcn.translator import Translator

Place = Callable[[int], Address]
"""Gives a part's address."""
_HALF = 1 << 31
_ALL = (1 << 32) - 1


def resource(t: Translator, instruction: Instruction) -> tuple[int, str, Value]:
    """A buffer's descriptor: the first register's number, its base address, and the scalar offset, an ``i32``."""
    b = t.b
    source, scalar = instruction.source("RSRC"), instruction.source("SOFFSET")
    assert source is not None
    assert isinstance(source.value, Register)
    index = source.value.index
    # 48 bits; compilers also put differences there, to which the vector address is added.
    base = b.emit(f"ashr i64 {b.emit(f'shl i64 {t.regs.pair(index)}, 16')}, 16")
    value: object = Value("0", "u32") if scalar is None else scalar_operand(t, scalar)
    assert isinstance(value, Value)
    return index, base, b.bitcast(value, "u32")


class Offsets:
    """What lanes add to a buffer's base: an index and an offset, or neither."""

    def __init__(self, t: Translator, instruction: Instruction) -> None:
        self.t = t
        address, fields = instruction.source("ADDR"), instruction.fields
        first = 0
        if address is not None:
            assert isinstance(address.value, Register)
            first = number(address.value)
        self._index = first if fields["idxen"] else None
        self._offset = first + bool(fields["idxen"]) if fields["offen"] else None

    def index(self, part: int) -> str | None:
        """A part's indices, if there are any."""
        return None if self._index is None else self.t.regs.vector(self._index, part)

    def offset(self, part: int) -> str | None:
        """The same for offsets."""
        return None if self._offset is None else self.t.regs.vector(self._offset, part)


class Access:
    """An instruction's loads and stores at the places that ``place`` gives."""

    conditional = False
    """Whether each part is accessed in one of several ways, which is found when it runs."""

    def __init__(self, t: Translator, instruction: Instruction, place: Place) -> None:
        self.t = t
        self.instruction = instruction
        self.place = place
        loads = [access for access in meaning(instruction).accesses if access.kind == "load"]
        self.pieces = [
            (0 if access.offset is None else lds_pairs.constant(instruction, access.offset), BITS[access.type] // 8)
            for access in loads
        ]
        """What it loads, in order."""
        self.reported_ahead = False
        """Whether `report_store` or `report_loads` is called for all parts before they are accessed."""

    def begin(self, part: int, exec_mask: Mask) -> PartOfAccess:
        """What one part's lanes do."""
        return PartOfAccess(self, part, exec_mask)

    def load(self, one: PartAccess, pieces: Sequence[tuple[int, int]]) -> list[list[str]]:
        """For each piece, bytes from the instruction's address and a size, its dwords."""
        at = self.place(one.part)
        if not self.reported_ahead:
            for offset, nbytes in pieces:
                self.report(one, at.moved(self.t.b, offset), nbytes, writes=False)
        return one.load(at, pieces)

    def store(self, one: PartAccess, offset: int, nbytes: int, values: list[str]) -> None:
        """The same for stores."""
        at = self.place(one.part).moved(self.t.b, offset)
        if not self.reported_ahead:
            self.report(one, at, nbytes, writes=True, values=values)
        one.store(at, nbytes, values)

    def report_loads(self, one: PartAccess) -> None:
        """Only report to the observer what is loaded."""
        at = self.place(one.part)
        for offset, nbytes in self.pieces:
            self.report(one, at.moved(self.t.b, offset), nbytes, writes=False)

    def report_store(self, one: PartAccess, offset: int, nbytes: int, values: list[str]) -> None:
        """Only report to the observer a store."""
        self.report(one, self.place(one.part).moved(self.t.b, offset), nbytes, writes=True, values=values)

    def report(self, one: PartAccess, at: Address, nbytes: int, *, writes: bool, values: Sequence[str] = ()) -> None:
        """Report an access of a part's lanes to the observer."""
        if self.t.watch is not None:
            lanes, ahead = self.reported_lanes(one), self.reported_ahead
            access = LaneAccess(one.part, at, nbytes, lanes, writes, values, ahead, self.conditional)
            self.t.watch.access(self.instruction, access)

    def reported_lanes(self, one: PartAccess) -> Mask:
        """The lanes of a part whose accesses are reported."""
        return one.exec_mask


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
        if not self._waiting:  # all that the instruction loads is loaded at once
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


def either(
    t: Translator,
    condition: str,
    one: Callable[[], list[str]],
    other: Callable[[], list[str]],
    how: str = "",
    kind: str = PART,
) -> list[str]:
    """Code that goes one of two ways by an ``i1``; each way's values, joined behind them."""
    b = t.b
    first, second, done = b.label("one"), b.label("other"), b.label("joined")
    b.line(f"br i1 {condition}, label %{first}, label %{second}{how}")
    known = t.shapes
    found = []
    for label, way in ((first, one), (second, other)):
        b.start(label)
        t.shapes = dict(known)  # what is found on one way does not hold on the other
        found.append((way(), b.block.label))
        b.jump(done)
    t.shapes = known
    b.start(done)
    (values, end), (others, other_end) = found
    pairs = zip(values, others, strict=True)
    return [b.emit(f"phi {kind} [{x}, %{end}], [{y}, %{other_end}]") for x, y in pairs]


class RangedAccess(Access):
    """An access by a descriptor with NUM_RECORDS."""

    def __init__(self, t: Translator, instruction: Instruction) -> None:
        b = t.b
        self.offsets_of = Offsets(t, instruction)
        self.number, base, soffset = resource(t, instruction)
        self.words = [t.regs.scalar(self.number + n) for n in range(4)]
        self.soffset = soffset
        self.slot = t.slot_now(t.new_slot())
        start = base if soffset.text == "0" else b.emit(f"add i64 {base}, {b.resize(soffset, 'u64').text}")
        fixed = instruction.fields["offset"]
        self.start = b.emit(f"add i64 {start}, {fixed}") if fixed else start
        self.stride = b.emit(f"and i32 {b.emit(f'lshr i32 {self.words[1]}, 16')}, 16383")
        super().__init__(t, instruction, self._place)
        self.nbytes = self.pieces[0][1] if self.pieces else _stored_bytes(instruction)
        self._limits()
        self._lanes = Mask()
        """The active lanes that are inside as usual, as far as parts are known."""

    def _place(self, part: int) -> Address:
        """Where a lane's bytes lie if they do as they are counted."""
        b = self.t.b
        index, offset = self.offsets_of.index(part), self.offsets_of.offset(part)
        low = offset or "zeroinitializer"
        if index is not None:
            steps = b.binary("mul", Value(index, "u32", PART_LANES), Value(self.stride, "u32"))
            low = steps.text if offset is None else b.binary("add", steps, Value(offset, "u32", PART_LANES)).text
        return Address(self.start, low, None, 0, self.slot)

    def _limits(self) -> None:
        """What indices and offsets must be below for all to be as usual, and whether it is not whatever they are. What
        they refuse may still be inside."""
        t, b, fields = self.t, self.t.b, self.instruction.fields
        traits = TRAITS[t.program.isa]
        records = Value(self.words[2], "u32")
        self.swizzled = b.emit(f"icmp slt i32 {self.words[1]}, 0")
        numbered = b.emit(f"icmp ne i32 {b.emit(f'and i32 {self.words[3]}, {1 << 23}')}, 0")
        self.unusual = b.emit(f"or i1 {self.swizzled}, {numbered}")
        wide = b.resize(records, "u64")
        more = b.binary("add", b.resize(self.soffset, "u64"), Value(str(self.nbytes - 1 + fields["offset"]), "u64"))
        room = b.resize(b.intrinsic("usub.sat", "u64", wide, more), "u32").text
        strided = b.emit(f"icmp ne i32 {self.stride}, 0")
        self.index_limit, self.offset_limit = str(_ALL), room
        if not fields["idxen"]:
            if (
                not traits.counts_by_index and not traits.counts_buffer_bytes
            ):  # counts elements, of which this is the first
                some = b.emit(f"and i1 {strided}, {b.emit(f'icmp ne i32 {records.text}, 0')}")
                self.offset_limit = b.emit(f"select i1 {some}, i32 {_ALL}, i32 {room}")
            return
        step = b.intrinsic("umax", "u32", Value(self.stride, "u32"), Value("1", "u32")).text
        nearest = b.emit(f"udiv i32 {_HALF}, {step}")  # indices whose elements begin below 2 GiB
        counted = records.text
        if traits.counts_buffer_bytes:  # bytes are counted, of what lies behind 32 bits too
            room_left = b.emit(f"lshr i32 {room}, 1")
            counted = b.emit(f"udiv i32 {room_left}, {step}")
            self.offset_limit = b.emit(f"select i1 {strided}, i32 {room_left}, i32 {room}")
        else:
            self.offset_limit = b.emit(f"select i1 {strided}, i32 {_HALF}, i32 {room}")
        least = b.intrinsic("umin", "u32", Value(nearest, "u32"), Value(counted, "u32")).text
        self.index_limit = b.emit(f"select i1 {strided}, i32 {least}, i32 {_ALL}")

    def usual(self, one: PartAccess) -> str:
        """Whether all of a part's active lanes are inside as usual, ``i1``."""
        b = self.t.b
        fine: str | None = None
        for lanes, limit in (
            (self.offsets_of.offset(one.part), self.offset_limit),
            (self.offsets_of.index(one.part), self.index_limit),
        ):
            bound = b.splat(Value(limit, "u32"), PART_LANES).text
            below = b.emit(f"icmp ult {PART} {lanes or 'zeroinitializer'}, {bound}")
            fine = below if fine is None else b.emit(f"and {PART_MASK} {fine}, {below}")
        inside = b.emit(f"bitcast {PART_MASK} {fine} to i{PART_LANES}")
        outside = b.emit(f"and i{PART_LANES} {b.emit(f'xor i{PART_LANES} {inside}, -1')}, {one.bits}")
        none = b.emit(f"icmp eq i{PART_LANES} {outside}, 0")
        if self.t.watch is not None:
            self._lanes.parts[one.part] = b.emit(f"and {PART_MASK} {fine}, {one.mask}")
        return b.emit(f"and i1 {none}, {b.emit(f'xor i1 {self.unusual}, true')}")

    def put_descriptor(self) -> None:
        """Write down the instruction as buffers.h wants it."""
        put_descriptor(self.t, self.instruction, self.words, self.soffset)

    def _by_lane(self, part: int) -> Address:
        """The address of a part for support.c, and the descriptor where it wants it."""
        self.put_descriptor()
        base = self.t.b.emit("ptrtoint ptr %buffer to i64")
        offset, index = self.offsets_of.offset(part), self.offsets_of.index(part)
        return Address(base, offset or "zeroinitializer", index, IN_BUFFER, self.slot)

    def reported_lanes(self, one: PartAccess) -> Mask:
        """Those that are inside as usual."""
        return self._lanes

    def load(self, one: PartAccess, pieces: Sequence[tuple[int, int]]) -> list[list[str]]:
        return self.load_by(self.usual(one), one, pieces)

    def load_by(self, usual: str, one: PartAccess, pieces: Sequence[tuple[int, int]]) -> list[list[str]]:
        """Load, all lanes at once where that is usual."""
        ((_, nbytes),) = pieces
        at = self._place(one.part)
        self.report(one, at, nbytes, writes=False)

        def whole_part() -> list[str]:
            (values,) = one.load(at, pieces)
            return values

        def by_lane() -> list[str]:
            return one.load_anywhere(self._by_lane(one.part), nbytes)

        return [either(self.t, usual, whole_part, by_lane, f", {LIKELY}")]

    def store(self, one: PartAccess, offset: int, nbytes: int, values: list[str]) -> None:
        self.store_by(self.usual(one), one, nbytes, values)

    def store_by(self, usual: str, one: PartAccess, nbytes: int, values: list[str]) -> None:
        """The same for stores."""
        at = self._place(one.part)
        self.report(one, at, nbytes, writes=True, values=values)

        def whole_part() -> list[str]:
            one.store(at, nbytes, values)
            return []

        def by_lane() -> list[str]:
            one.store_anywhere(self._by_lane(one.part), nbytes, values)
            return []

        either(self.t, usual, whole_part, by_lane, f", {LIKELY}")


def put_descriptor(t: Translator, instruction: Instruction, resource_words: Sequence[str], soffset: Value) -> None:
    """Write a buffer instruction down in ``%buffer`` as buffers.h wants it."""
    b, fields = t.b, instruction.fields
    t.uses_buffers = True
    on = {"indexed": fields["idxen"], "formatted": "dfmt" in fields, "checked": is_checked(t)}
    words = [(f"i32 {word}", BUFFER.offset["resource"] + 4 * n) for n, word in enumerate(resource_words)]
    words += [
        (soffset.typed, BUFFER.offset["soffset"]),
        (f"i32 {fields['offset']}", BUFFER.offset["offset"]),
        (f"i32 {trait_bits(TRAITS[t.program.isa])}", BUFFER.offset["traits"]),
        (f"i32 {sum(1 << n for n, name in enumerate(BUFFER_FLAGS) if on[name])}", BUFFER.offset["flags"]),
    ]
    for word, at in words:
        b.line(f"store {word}, ptr {b.emit(f'getelementptr i8, ptr %buffer, i64 {at}')}, align 4")


def _stored_bytes(instruction: Instruction) -> int:
    """Bytes of a lane that a store moves."""
    return max((BITS[effect.type] // 8 for effect in meaning(instruction).effects if effect.kind == "store"), default=4)


def is_checked(t: Translator) -> bool:
    """Whether accesses outside of a buffer are reported."""
    return t.watch is not None and t.watch.takes_values


def buffer_atomic(t: Translator, instruction: Instruction) -> None:
    """An atomic instruction on a buffer: lanes outside change nothing, and get 0."""
    t.flush()
    b = t.b
    access = RangedAccess(t, instruction)
    nbytes = atomics.updated_bytes(instruction)
    access.put_descriptor()
    offsets = access.offsets_of
    for part in range(PARTS):
        for n, lanes in enumerate((offsets.offset(part), offsets.index(part))):
            put_array(b, "%before", n, part, lanes or "zeroinitializer")
    active = "-1" if t.exec_mask().full else t.regs.pair(EXEC)
    b.declare("declare hidden i32 @hw_buffer_lanes(ptr, ptr, i64, ptr, i64, i64, ptr) #1")
    fine = b.emit(
        f"call i32 @hw_buffer_lanes(ptr %w, ptr %buffer, i64 {active}, ptr %before, i64 {nbytes}, "
        f"i64 {instruction.address}, ptr %addresses)"
    )
    t.stop_unless(b.emit(f"icmp ne i32 {fine}, 0"))
    inside = b.emit("load i64, ptr %buffer, align 8")
    for part in range(PARTS):
        atomics.report(t, instruction, part, access.place(part), Mask(inside))
    b.line(f"call void @llvm.memset.p0.i64(ptr align 64 %before, i8 0, i64 {8 * LANES}, i1 false)")
    b.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    atomics.update_places(t, instruction, 0, access.slot.pointer, inside)


assert BUFFER.offset["lanes"] == 0
