"""Memory instructions in; loads, stores and atomic updates of one part's lanes, each checked against its allocation,
out.

An address is ``base + (high << 32 | low)``: one number for the wavefront and one or two registers of lanes. Local,
private and global data share addresses are host addresses, too: of their memory in the wavefront's structure. What
the inline code tests is said in docs/emulator.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.emulate import helpers
from headwater.emulate.builder import Builder, Value
from headwater.emulate.helpers import dwords
from headwater.emulate.layout import WAVE
from headwater.emulate.registers import PART, PART_LANES, PART_MASK, Mask

if TYPE_CHECKING:
    from headwater.emulate.translate import Translator

_BITS = f"i{PART_LANES}"
LIKELY = "!prof !9100"


@dataclass(frozen=True, slots=True)
class Address:
    """Where the lanes of a part access memory; ``how`` and ``slot`` as in `headwater.emulate.helpers`.

    ``low``: an ``<16 x i32>`` value, or None where all lanes have the address ``base``. ``high`` likewise, or None
    for 0.
    """

    base: str
    low: str | None
    high: str | None
    how: int
    slot: str

    def moved(self, b: Builder, nbytes: int) -> Address:
        """The same, further by a constant."""
        if nbytes == 0:
            return self
        return Address(b.emit(f"add i64 {self.base}, {nbytes}"), self.low, self.high, self.how, self.slot)


class PartAccess:
    """Loads and stores of one part of an instruction's lanes."""

    def __init__(self, t: Translator, part: int, exec_mask: Mask, pc: int) -> None:
        self.t = t
        self.b = t.b
        self.part = part
        self.exec_mask = exec_mask
        self.full = exec_mask.full
        self.mask = exec_mask.part(t.b, part)
        self.bits = exec_mask.part_bits(t.b, part)
        self.pc = pc

    # ---- loads

    def load(self, at: Address, nbytes: int) -> list[str]:
        """The dwords that each lane loads, zero-extended if ``nbytes`` is 1 or 2; 0 in lanes that EXEC excludes."""
        b = self.b
        count = dwords(nbytes)
        if at.low is None:
            return self._load_same(at, nbytes)
        first, same_high, a0 = self._first(at)
        follow = self._matches(at, first, same_high, nbytes)
        fast, other, uniform, slow, done = (b.label(n) for n in ("fast", "other", "same", "slow", "loaded"))
        whole = self.full or nbytes != 4
        good = self._all_lanes(follow, exact=whole)
        inside = self._inside(at.slot, a0, nbytes * PART_LANES)
        no_wrap = b.emit(f"icmp ult i32 {first}, {2**32 - nbytes * PART_LANES}")
        safe = b.emit(f"and i1 {inside}, {no_wrap}")
        b.line(f"br i1 {b.emit(f'and i1 {good}, {safe}')}, label %{fast}, label %{other}, {LIKELY}")
        b.start(fast)
        place = b.emit(f"inttoptr i64 {a0} to ptr")
        fast_values = self._load_run(place, nbytes, masked=not whole)
        fast_end = b.block.label
        b.jump(done)

        b.start(other)
        equal = self._matches(at, first, same_high, 0)
        alike = self._all_lanes(equal, exact=False)
        single = self._inside(at.slot, a0, nbytes)
        b.line(f"br i1 {b.emit(f'and i1 {alike}, {single}')}, label %{uniform}, label %{slow}")
        b.start(uniform)
        uniform_values = self._load_one(b.emit(f"inttoptr i64 {a0} to ptr"), nbytes)
        uniform_end = b.block.label
        b.jump(done)

        b.start(slow)
        slow_values = self._load_anywhere(at, nbytes)
        slow_end = b.block.label
        b.jump(done)
        b.start(done)
        return [
            b.emit(
                f"phi {PART} [{fast_values[d]}, %{fast_end}], [{uniform_values[d]}, %{uniform_end}], "
                f"[{slow_values[d]}, %{slow_end}]"
            )
            for d in range(count)
        ]

    def _load_same(self, at: Address, nbytes: int) -> list[str]:
        b = self.b
        if self.full:
            self.t.check_scalar(at.base, nbytes, at.how, self.pc, at.slot)
            return self._load_one(b.emit(f"inttoptr i64 {at.base} to ptr"), nbytes)
        return self._load_anywhere(at, nbytes)

    def _first(self, at: Address) -> tuple[str, str | None, str]:
        """The first lane's low and high dword, and its address."""
        b = self.b
        first = b.emit(f"extractelement {PART} {at.low}, i64 0")
        offset = b.emit(f"zext i32 {first} to i64")
        high = None
        if at.high is not None:
            high = b.emit(f"extractelement {PART} {at.high}, i64 0")
            wide = b.emit(f"shl i64 {b.emit(f'zext i32 {high} to i64')}, 32")
            offset = b.emit(f"or disjoint i64 {wide}, {offset}")
        return first, high, offset if at.base == "0" else b.emit(f"add i64 {offset}, {at.base}")

    def _matches(self, at: Address, first: str, high: str | None, step: int) -> str:
        """Which lanes' addresses are ``step`` bytes after their predecessor's, counted from the first, as bits."""
        b = self.b
        wanted = self._splat(first)
        if step:
            wanted = b.emit(f"add {PART} {wanted}, {vector([step * n for n in range(PART_LANES)])}")
        result = b.emit(f"icmp eq {PART} {at.low}, {wanted}")
        if high is not None:
            other = b.emit(f"icmp eq {PART} {at.high}, {self._splat(high)}")
            result = b.emit(f"and {PART_MASK} {result}, {other}")
        return b.emit(f"bitcast {PART_MASK} {result} to {_BITS}")

    def _splat(self, scalar: str) -> str:
        return self.b.splat(Value(scalar, "u32"), PART_LANES).text

    def _all_lanes(self, bits: str, *, exact: bool) -> str:
        """Whether the bits are set for all lanes that EXEC selects, the first among them; ``exact``: it selects all."""
        b = self.b
        if self.full:
            return b.emit(f"icmp eq {_BITS} {bits}, -1")
        if exact:
            return b.emit(f"icmp eq {_BITS} {b.emit(f'and {_BITS} {bits}, {self.bits}')}, -1")
        # The first lane's bit of the mask must be set, as its address is compared with.
        others = b.emit(f"xor {_BITS} {self.bits}, -1")
        allowed = b.emit(f"or {_BITS} {bits}, {b.emit(f'and {_BITS} {others}, -2')}")
        return b.emit(f"icmp eq {_BITS} {b.emit(f'and {_BITS} {allowed}, {self._first_or_none()}')}, -1")

    def _first_or_none(self) -> str:
        """All ones if EXEC selects the first lane, else all but the first bit."""
        return self.b.emit(f"or {_BITS} {self.bits}, -2")

    def _inside(self, slot: str, address: str, nbytes: int) -> str:
        start, size = self.t.slot_values(slot)
        b = self.b
        offset = b.emit(f"sub i64 {address}, {start}")
        limit = b.intrinsic("usub.sat", "u64", Value(size, "u64"), Value(str(nbytes - 1), "u64")).text
        return b.emit(f"icmp ult i64 {offset}, {limit}")

    def _load_run(self, place: str, nbytes: int, *, masked: bool) -> list[str]:
        """Consecutive elements from ``place``."""
        b = self.b
        if nbytes < 4:
            kind = f"<{PART_LANES} x i{8 * nbytes}>"
            return [b.emit(f"zext {kind} {b.emit(f'load {kind}, ptr {place}, align 1')} to {PART}")]
        if nbytes == 4:
            if masked:
                b.declare(f"declare {PART} @llvm.masked.load.v{PART_LANES}i32.p0(ptr, {PART_MASK}, {PART})")
                call = f"call {PART} @llvm.masked.load.v{PART_LANES}i32.p0(ptr align 1 {place}, {PART_MASK} {self.mask}"
                return [b.emit(f"{call}, {PART} zeroinitializer)")]
            return [b.emit(f"load {PART}, ptr {place}, align 1")]
        count = dwords(nbytes)
        kind = f"<{PART_LANES * count} x i32>"
        run = b.emit(f"load {kind}, ptr {place}, align 1")
        return [
            b.emit(f"shufflevector {kind} {run}, {kind} poison, {PART} {vector(range(d, PART_LANES * count, count))}")
            for d in range(count)
        ]

    def _load_one(self, place: str, nbytes: int) -> list[str]:
        """The same element for all lanes."""
        b = self.b
        if nbytes < 4:
            narrow = b.emit(f"load i{8 * nbytes}, ptr {place}, align 1")
            return [self._splat(b.emit(f"zext i{8 * nbytes} {narrow} to i32"))]
        values = []
        for d in range(dwords(nbytes)):
            here = place if d == 0 else b.emit(f"getelementptr i8, ptr {place}, i64 {4 * d}")
            values.append(self._splat(b.emit(f"load i32, ptr {here}, align 1")))
        return values

    def _call(self, name: str, result: str, at: Address, data: Sequence[str] = ()) -> str:
        how = at.how | self.part * PART_LANES << 8
        low, high = at.low or "zeroinitializer", at.high or "zeroinitializer"
        arguments = (
            f"ptr %w, {PART} {low}, {PART} {high}, i64 {at.base}, {_BITS} {self.bits}, i64 {self.pc}, i32 {how}, "
            f"ptr {at.slot}"
        )
        return self.b.emit(f"call {result} @{name}({arguments}{''.join(f', {PART} {d}' for d in data)})")

    def _load_anywhere(self, at: Address, nbytes: int) -> list[str]:
        b = self.b
        name = helpers.load_helper(b, nbytes)
        helpers.intrinsics(b)
        result = helpers.load_result(nbytes)
        loaded = self._call(name, result, at)
        self.t.stop_unless(b.emit(f"extractvalue {result} {loaded}, 0"))
        return [b.emit(f"extractvalue {result} {loaded}, {d + 1}") for d in range(dwords(nbytes))]

    # ---- stores

    def store(self, at: Address, nbytes: int, values: Sequence[str]) -> None:
        """Store each lane's dwords, or the low ``nbytes`` of them."""
        b = self.b
        if at.low is None:
            self._store_anywhere(at, nbytes, values)
            return
        first, high, a0 = self._first(at)
        follow = self._matches(at, first, high, nbytes)
        whole = self.full or nbytes != 4
        good = self._all_lanes(follow, exact=whole)
        inside = self._inside(at.slot, a0, nbytes * PART_LANES)
        no_wrap = b.emit(f"icmp ult i32 {first}, {2**32 - nbytes * PART_LANES}")
        safe = b.emit(f"and i1 {inside}, {no_wrap}")
        fast, slow, done = b.label("fast"), b.label("slow"), b.label("stored")
        b.line(f"br i1 {b.emit(f'and i1 {good}, {safe}')}, label %{fast}, label %{slow}, {LIKELY}")
        b.start(fast)
        self._store_run(b.emit(f"inttoptr i64 {a0} to ptr"), nbytes, values, masked=not whole)
        b.jump(done)
        b.start(slow)
        self._store_anywhere(at, nbytes, values)
        b.jump(done)
        b.start(done)

    def _store_run(self, place: str, nbytes: int, values: Sequence[str], *, masked: bool) -> None:
        b = self.b
        if nbytes < 4:
            kind = f"<{PART_LANES} x i{8 * nbytes}>"
            b.line(f"store {kind} {b.emit(f'trunc {PART} {values[0]} to {kind}')}, ptr {place}, align 1")
        elif nbytes == 4 and masked:
            b.declare(f"declare void @llvm.masked.store.v{PART_LANES}i32.p0({PART}, ptr, {PART_MASK})")
            call = f"call void @llvm.masked.store.v{PART_LANES}i32.p0({PART} {values[0]}, ptr align 1 {place}"
            b.line(f"{call}, {PART_MASK} {self.mask})")
        elif nbytes == 4:
            b.line(f"store {PART} {values[0]}, ptr {place}, align 1")
        else:
            kind, whole = interleaved(b, values)
            b.line(f"store {kind} {whole}, ptr {place}, align 1")

    def _store_anywhere(self, at: Address, nbytes: int, values: Sequence[str]) -> None:
        name = helpers.store_helper(self.b, nbytes)
        helpers.intrinsics(self.b)
        self.t.stop_unless(self._call(name, "i1", at, values))


def interleaved(b: Builder, values: Sequence[str]) -> tuple[str, str]:
    """Registers' dwords lane by lane: type and value."""
    count = len(values)
    width = PART_LANES
    joined = list(values)
    while len(joined) & (len(joined) - 1):
        joined.append("poison")
    while len(joined) > 1:
        kind = f"<{width} x i32>"
        picks = vector(range(2 * width))
        joined = [
            b.emit(f"shufflevector {kind} {x}, {kind} {y}, <{2 * width} x i32> {picks}")
            for x, y in zip(joined[::2], joined[1::2], strict=True)
        ]
        width *= 2
    kind = f"<{PART_LANES * count} x i32>"
    order = vector([lane + d * PART_LANES for lane in range(PART_LANES) for d in range(count)])
    return kind, b.emit(f"shufflevector <{width} x i32> {joined[0]}, <{width} x i32> poison, {kind} {order}")


def vector(numbers: Sequence[int] | range) -> str:
    """A constant vector of ``i32``, without its type."""
    return f"<{', '.join(f'i32 {n}' for n in numbers)}>"


LDS_SLOT, PRIVATE_SLOT, GDS_SLOT = WAVE.offset["lds"], WAVE.offset["scratch"], WAVE.offset["gds"]
"""Where the wavefront's structure has address and size of these memories: they serve as slots that do not change."""
