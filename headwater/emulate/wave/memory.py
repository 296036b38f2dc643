"""Input: memory instructions. Output: loads, stores and atomic updates of one part's lanes, each checked against its
allocation.

An address is ``base + (high << 32 | low)``: one number for the wavefront and one or two registers of lanes. Local,
private and global data share addresses are host addresses, too: of their memory in the wavefront's structure. What
the inline code tests is said in docs/emulator.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from headwater.emulate.wave import helpers
from headwater.emulate.wave.builder import Value, WaveBuilder
from headwater.emulate.wave.helpers import ARENA, GDS, LDS, PRIVATE, dwords
from headwater.emulate.wave.layout import WAVE
from headwater.emulate.wave.registers import PART, PART_LANES, PART_MASK, Mask

_BITS = f"i{PART_LANES}"
assert PART_LANES == 16
_PERMUTE = "llvm.x86.avx512.permvar.si.512"
LIKELY = "!prof !9100"


@dataclass(frozen=True, slots=True)
class Slot:
    """Memory of an allocation, and what was in it when the instruction began: ``start`` and ``size`` as ``i64``."""

    pointer: str
    start: str
    size: str


@dataclass(frozen=True, slots=True)
class Address:
    """Where the lanes of a part access memory; ``how`` as in `headwater.emulate.wave.helpers`.

    ``low``: an ``<16 x i32>`` value. ``high`` likewise, or None for 0. ``offset`` is added to ``low`` in 32 bits, in
    the memories of the wavefront, whose addresses wrap there; on Southern Islands (not ``wraps``) an address below 0 is
    outside whatever is added (LLVM, AMDGPUDAGToDAGISel::isDSOffsetLegal).
    """

    base: str
    low: str
    high: str | None
    how: int
    slot: Slot
    offset: int = 0
    wraps: bool = True

    def moved(self, b: WaveBuilder, nbytes: int) -> Address:
        """The same, further by a constant."""
        if nbytes == 0:
            return self
        if self.fixed:
            return replace(self, offset=self.offset + nbytes)
        if self.how & ARENA:  # where the base is not known yet, the address alone says where
            return replace(self, offset=nbytes).settled(b)
        return replace(self, base=b.binary("add", Value(self.base, "u64"), Value(str(nbytes), "u64")).text)

    def settled(self, b: WaveBuilder) -> Address:
        """The same without an offset."""
        if not self.offset:
            return self
        low, more = Value(self.low, "u32", PART_LANES), Value(str(self.offset), "u32")
        moved = b.binary("add", low, more) if self.wraps else b.intrinsic("uadd.sat", "u32", low, more)
        return replace(self, low=moved.text, offset=0)

    @property
    def fixed(self) -> bool:
        """Whether it is in one of the memories of the wavefront, behind which a few bytes may be read."""
        return bool(self.how & (LDS | PRIVATE | GDS))


@dataclass(slots=True)
class Shape:
    """How the addresses of a part's lanes lie to each other: what is known of one register.

    ``low``: the first lane's, ``i32``; ``first``: its address without the base, ``i64``. ``delta``: each lane's
    distance from it, if ``near``.
    """

    low: str
    first: str
    delta: str
    near: str | None
    flags: dict[str, str]


class Processor(Protocol):
    """What of this machine translated code depends on."""

    @property
    def avx512(self) -> bool: ...


class Context(Protocol):
    """What accesses are written by: a translator.

    ``shapes``: what is known of registers of addresses where it stands; ``compact``: accesses are calls only.
    """

    @property
    def b(self) -> WaveBuilder: ...
    @property
    def shapes(self) -> dict[tuple[str, str | None, str, bool], Shape]: ...
    @property
    def compact(self) -> bool: ...
    @property
    def options(self) -> Processor: ...

    def stop_unless(self, fine: str) -> None:
        """Leave if there was a fault, which has been recorded."""


class PartAccess:
    """Loads and stores of one part of an instruction's lanes."""

    def __init__(self, t: Context, part: int, exec_mask: Mask, pc: int) -> None:
        self.t = t
        self.b = t.b
        self.part = part
        self.exec_mask = exec_mask
        self.full = exec_mask.full
        self.mask = exec_mask.part(t.b, part)
        self.bits = exec_mask.part_bits(t.b, part)
        self.pc = pc

    # ---- how addresses lie

    def _shape(self, at: Address) -> Shape:
        """What is known of a register of addresses; found once in a block."""
        key = at.low, at.high, self.mask, at.fixed
        known = self.t.shapes.get(key)
        if known is not None:
            return known
        b = self.b
        low = b.emit(f"extractelement {PART} {at.low}, i64 0")
        first = b.emit(f"zext i32 {low} to i64")
        near = None
        if at.high is not None:
            high = b.emit(f"extractelement {PART} {at.high}, i64 0")
            wide = b.emit(f"shl i64 {b.emit(f'zext i32 {high} to i64')}, 32")
            first = b.emit(f"or disjoint i64 {wide}, {first}")
            near = b.emit(f"icmp eq {PART} {at.high}, {self._splat(high)}")
        delta = b.emit(f"sub {PART} {at.low}, {self._splat(low)}")
        flags = {}
        if not at.fixed:
            # Otherwise a lane beyond 4 GiB would seem to be near.
            flags["low"] = b.emit(f"icmp ult i32 {low}, {2**32 - 16 * PART_LANES}")
        known = self.t.shapes[key] = Shape(low, first, delta, near, flags)
        return known

    def _flag(self, shape: Shape, name: str, test: Callable[[], str], *, exact: bool = False) -> str:
        """Whether a test holds for all lanes that EXEC selects, the first among them; ``exact``: it selects all."""
        b = self.b
        name = f"{name} exact" if exact else name
        known = shape.flags.get(name)
        if known is not None:
            return known
        lanes = test()
        if shape.near is not None:
            lanes = b.emit(f"and {PART_MASK} {lanes}, {shape.near}")
        bits = b.emit(f"bitcast {PART_MASK} {lanes} to {_BITS}")
        if not self.full:
            if exact:
                bits = b.emit(f"and {_BITS} {bits}, {self.bits}")
            else:
                # The first lane's bit of the mask must be set, as its address is compared with.
                others = b.emit(f"xor {_BITS} {self.bits}, -1")
                bits = b.emit(f"or {_BITS} {bits}, {others}")
                bits = b.emit(f"and {_BITS} {bits}, {b.emit(f'or {_BITS} {self.bits}, -2')}")
        known = b.emit(f"icmp eq {_BITS} {bits}, -1")
        if "low" in shape.flags:
            known = b.emit(f"and i1 {known}, {shape.flags['low']}")
        shape.flags[name] = known
        return known

    def _follow(self, shape: Shape, step: int) -> str:
        """Whether each lane's address is ``step`` bytes after its predecessor's."""
        wanted = vector([step * n for n in range(PART_LANES)])
        test = f"icmp eq {PART} {shape.delta}, {wanted}"
        return self._flag(shape, f"step {step}", lambda: self.b.emit(test), exact=step != 4)

    def _is_uniform(self, shape: Shape) -> str:
        """Whether all lanes have one address."""
        return self._flag(shape, "same", lambda: self.b.emit(f"icmp eq {PART} {shape.delta}, zeroinitializer"))

    def _places(self, shape: Shape) -> str:
        """Each lane's place among the 16 dwords from the first lane's on; large if it is outside of them."""
        if "places" not in shape.flags:
            b = self.b
            name = f"llvm.fshr.v{PART_LANES}i32"
            b.declare(f"declare {PART} @{name}({PART}, {PART}, {PART})")
            d = f"{PART} {shape.delta}"
            shape.flags["places"] = b.emit(f"call {PART} @{name}({d}, {d}, {PART} splat (i32 2))")
        return shape.flags["places"]

    def _window(self, shape: Shape) -> str:
        """Whether all lanes' dwords are among those 16."""
        places = self._places(shape)
        return self._flag(shape, "window", lambda: self.b.emit(f"icmp ult {PART} {places}, splat (i32 {PART_LANES})"))

    def _address(self, at: Address, shape: Shape) -> str:
        b = self.b
        first = shape.first
        if at.offset and not at.wraps:
            first = b.emit(f"add i64 {first}, {at.offset}")
        elif at.offset:
            first = b.emit(f"zext i32 {b.emit(f'add i32 {shape.low}, {at.offset}')} to i64")
        return first if at.base == "0" else b.emit(f"add i64 {first}, {at.base}")

    def _inside(self, at: Address, address: str, nbytes: int) -> str:
        """Whether ``nbytes`` bytes from an address on are in the allocation."""
        b = self.b
        offset = b.emit(f"sub i64 {address}, {at.slot.start}")
        limit = b.intrinsic("usub.sat", "u64", Value(at.slot.size, "u64"), Value(str(nbytes - 1), "u64")).text
        return b.emit(f"icmp ult i64 {offset}, {limit}")

    def _splat(self, scalar: str) -> str:
        return self.b.splat(Value(scalar, "u32"), PART_LANES).text

    # ---- loads

    def load(self, at: Address, pieces: Sequence[tuple[int, int]]) -> list[list[str]]:
        """For each piece, an offset from the address and a number of bytes, the dwords that each lane loads.

        Those of 1 or 2 bytes are zero-extended. In lanes that EXEC excludes they hold anything.
        """
        b = self.b
        if self.t.compact:
            return [self.load_anywhere(at.moved(b, o), n) for o, n in pieces]
        offset, nbytes = pieces[0]
        small = nbytes < 4
        permute = self.t.options.avx512 and not small
        first = at.moved(b, offset)
        shape = self._shape(first)
        address = self._address(first, shape)
        slow, done = b.label("slow"), b.label("loaded")
        found: list[tuple[list[list[str]], str]] = []
        ahead = pieces[-1][0] - offset
        # With the permutation, several pieces are "near" if they are anything.
        if (len(pieces) == 1 or (len(pieces) == 2 and ahead > 0 and not permute)) and not (permute and nbytes == 4):
            masked = not self.full and nbytes == 4
            inside = self._inside(first, address, nbytes * PART_LANES + ahead)
            good = b.emit(f"and i1 {self._follow(shape, nbytes)}, {inside}")
            run = b.label("run")
            rest = b.label("other") if nbytes >= 4 or not permute else slow
            self._prepare(first, shape, permute=permute)
            b.line(f"br i1 {good}, label %{run}, label %{rest}, {LIKELY}")
            b.start(run)
            place = b.emit(f"inttoptr i64 {address} to ptr")
            runs = []
            for at_offset, count in pieces:
                more = at_offset - offset
                here = b.emit(f"getelementptr i8, ptr {place}, i64 {more}") if more else place
                runs.append(self._load_run(here, count, masked=masked))
            found.append((runs, b.block.label))
            b.jump(done)
            b.start(rest)
        last = max(o + 4 * dwords(n) for o, n in pieces) - offset
        if permute:
            good = b.emit(f"and i1 {self._window(shape)}, {self._window_inside(first, shape, address, last - 4)}")
        else:
            good = b.emit(
                f"and i1 {self._is_uniform(shape)}, {self._inside(first, address, last if not small else nbytes)}"
            )
        near = b.label("near")
        b.line(f"br i1 {good}, label %{near}, label %{slow}, {LIKELY}")
        b.start(near)
        place = b.emit(f"inttoptr i64 {address} to ptr")
        values = []
        for at_offset, count in pieces:
            here = place if at_offset == offset else b.emit(f"getelementptr i8, ptr {place}, i64 {at_offset - offset}")
            values.append(self._load_near(here, count, shape) if permute else self._load_one(here, count))
        found.append((values, b.block.label))
        b.jump(done)
        b.start(slow)
        values = [self.load_anywhere(at.moved(b, o), n) for o, n in pieces]
        found.append((values, b.block.label))
        b.jump(done)
        b.start(done)
        return [
            [
                b.emit(f"phi {PART} " + ", ".join(f"[{values[n][d]}, %{label}]" for values, label in found))
                for d in range(dwords(nbytes))
            ]
            for n, (_, nbytes) in enumerate(pieces)
        ]

    def _prepare(self, at: Address, shape: Shape, *, permute: bool) -> None:
        """Write now what later branches need of a shape, where all of them see it."""
        if permute:
            self._window(shape)
            if at.fixed:
                self._span(shape)
        else:
            self._is_uniform(shape)

    def _span(self, shape: Shape) -> str:
        """Bytes from the first lane's address to the end of what lanes use, if they are near: 4 if it is one dword."""
        if "span" not in shape.flags:
            same = self._is_uniform(shape)
            shape.flags["span"] = self.b.emit(f"select i1 {same}, i64 4, i64 {4 * PART_LANES}")
        return shape.flags["span"]

    def _window_inside(self, at: Address, shape: Shape, address: str, more: int) -> str:
        """Whether what lanes load, if they are near, is in the allocation, up to ``more`` bytes further too."""
        b = self.b
        if not at.fixed:
            return self._inside(at, address, 4 * PART_LANES + more)
        # What lies behind these memories may be read, but not used: the lanes' own dwords must be inside.
        offset = b.emit(f"sub i64 {address}, {at.slot.start}")
        end = b.emit(f"add i64 {offset}, {self._span(shape)}")
        if more:
            end = b.emit(f"add i64 {end}, {more}")
        return b.emit(f"icmp ule i64 {end}, {at.slot.size}")

    def _load_near(self, place: str, nbytes: int, shape: Shape) -> list[str]:
        """Dwords of lanes that are near: 16 are loaded from the first lane's on, and each lane picks its own."""
        b = self.b
        b.declare(f"declare {PART} @{_PERMUTE}({PART}, {PART})")
        values = []
        for d in range(dwords(nbytes)):
            here = place if d == 0 else b.emit(f"getelementptr i8, ptr {place}, i64 {4 * d}")
            run = b.emit(f"load {PART}, ptr {here}, align 1")
            values.append(b.emit(f"call {PART} @{_PERMUTE}({PART} {run}, {PART} {self._places(shape)})"))
        return values

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

    def load_anywhere(self, at: Address, nbytes: int) -> list[str]:
        """Each lane's dwords, wherever they lie."""
        at = at.settled(self.b)
        fine, values = helpers.load(self.b, at, self._mask32(), self._info(at, nbytes), nbytes, self.t.options.avx512)
        self.t.stop_unless(fine)
        return values

    def _mask32(self) -> str:
        return "65535" if self.full else self.b.emit(f"zext {_BITS} {self.bits} to i32")

    def _info(self, at: Address, nbytes: int) -> int:
        """What does not change from run to run: see `hw_load_part`."""
        return self.pc << 32 | nbytes << 16 | self.part * PART_LANES << 8 | at.how

    # ---- stores

    def store(self, at: Address, nbytes: int, values: Sequence[str]) -> None:
        """Store each lane's dwords, or the low ``nbytes`` of them."""
        b = self.b
        if self.t.compact:
            self.store_anywhere(at, nbytes, values)
            return
        shape = self._shape(at)
        a0 = self._address(at, shape)
        masked = not self.full and nbytes == 4
        good = b.emit(f"and i1 {self._follow(shape, nbytes)}, {self._inside(at, a0, nbytes * PART_LANES)}")
        fast, slow, done = b.label("fast"), b.label("slow"), b.label("stored")
        b.line(f"br i1 {good}, label %{fast}, label %{slow}, {LIKELY}")
        b.start(fast)
        self._store_run(b.emit(f"inttoptr i64 {a0} to ptr"), nbytes, values, masked=masked)
        b.jump(done)
        b.start(slow)
        self.store_anywhere(at, nbytes, values)
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

    def store_anywhere(self, at: Address, nbytes: int, values: Sequence[str]) -> None:
        """Store each lane's dwords, wherever they shall lie."""
        at = at.settled(self.b)
        info = self._info(at, nbytes) | helpers.WRITE
        self.t.stop_unless(helpers.store(self.b, at, self._mask32(), info, values, self.t.options.avx512))


def interleaved(b: WaveBuilder, values: Sequence[str]) -> tuple[str, str]:
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
