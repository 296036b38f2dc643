"""Input: reads and writes of a wavefront's registers. Output: LLVM values, with loads and stores only where blocks
meet.

Every register has a stack slot that LLVM turns into SSA values. Inside a basic block the current values are kept
here, and what was changed and is still live is stored at the block's end. Vector registers and lane masks are kept in
parts of `PART_LANES` lanes, one machine register wide, because vector code is written for one part after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headwater.emulate.wave.builder import Value, WaveBuilder
from headwater.emulate.wave.layout import LANES, PRIVATE_APERTURE, SHARED_APERTURE, VECTOR_LANES
from headwater.isa.gcn.model import (
    EXEC,
    EXECZ,
    PRIVATE_BASE,
    PRIVATE_LIMIT,
    SCC,
    SHARED_BASE,
    SHARED_LIMIT,
    VCC,
    VCCZ,
    Register,
)

PART_LANES = VECTOR_LANES
PARTS = LANES // PART_LANES
PART = f"<{PART_LANES} x i32>"
PART_MASK = f"<{PART_LANES} x i1>"
FULL_PART = "splat (i1 true)"
ACC = 256
"""Where accumulation registers begin in the numbering of vector registers."""


class Mask:
    """64 bits, one a lane: as one number (``whole``), as one ``i1`` vector for each part, or as both."""

    __slots__ = ("parts", "whole")

    def __init__(self, whole: str | None = None) -> None:
        self.whole = whole
        self.parts: list[str | None] = [None] * PARTS

    @property
    def full(self) -> bool:
        """Whether it is known now that all bits are set."""
        return self.whole == "-1"

    def part(self, b: WaveBuilder, number: int) -> str:
        """The ``i1`` vector of one part. Written where the builder stands."""
        known = self.parts[number]
        if known is None:
            if self.full:
                known = FULL_PART
            else:
                bits = self.part_bits(b, number)
                known = b.emit(f"bitcast i{PART_LANES} {bits} to {PART_MASK}")
            self.parts[number] = known
        return known

    def part_bits(self, b: WaveBuilder, number: int) -> str:
        """One part as an integer."""
        if self.full:
            return "-1"
        if self.whole is not None:
            shifted = self.whole if number == 0 else b.emit(f"lshr i64 {self.whole}, {number * PART_LANES}")
            return b.emit(f"trunc i64 {shifted} to i{PART_LANES}")
        known = self.parts[number]
        assert known is not None, "a mask that is not computed yet"
        return b.emit(f"bitcast {PART_MASK} {known} to i{PART_LANES}")

    @property
    def known(self) -> bool:
        """Whether `bits` can be written: false while vector code that makes it is waiting."""
        return self.whole is not None or all(p is not None for p in self.parts)

    def bits(self, b: WaveBuilder) -> str:
        """The mask as one ``i64``."""
        if self.whole is None:
            total = ""
            for number in range(PARTS):
                piece = b.emit(f"zext i{PART_LANES} {self.part_bits(b, number)} to i64")
                if number:
                    moved = b.emit(f"shl i64 {piece}, {number * PART_LANES}")
                    total = b.emit(f"or disjoint i64 {total}, {moved}")
                else:
                    total = piece
            self.whole = total
        return self.whole


def number(register: Register) -> int:
    """A vector or accumulation register's place in the numbering of `Registers`."""
    return register.index + (ACC if register.file == "a" else 0)


class Registers:
    """The registers of the code that is being translated.

    ``split``: scalar registers (even numbers) of which the two halves of the pair are also used alone. ``flush`` is
    called before the value of a mask is read that waiting vector code makes.
    """

    def __init__(self, b: WaveBuilder, split: Callable[[int], bool], flush: Callable[[], None]) -> None:
        self.b = b
        self._split = split
        self._flush = flush
        self.slots: dict[str, str] = {}
        """The stack slots in use: name to LLVM type."""
        self._scalar: dict[int, str] = {}
        self._pair: dict[int, Mask] = {}
        self._scc: str | None = None
        self._vector: list[dict[int, Value]] = [{} for _ in range(PARTS)]
        self._wide: list[dict[int, Value]] = [{} for _ in range(PARTS)]
        self._changed_scalars: set[int] = set()
        self._changed_vectors: set[int] = set()
        self._scc_changed = False
        self.exec_full = False
        """Whether EXEC is known to be all ones where the translation stands."""

    # ---- blocks

    def begin(self, scalars: Mapping[int, int]) -> None:
        """Forget all values but those of ``scalars``, which are known: a block begins."""
        self._scalar = {index: str(bits) for index, bits in scalars.items()}
        self._pair.clear()
        self._scc = None
        for part in range(PARTS):
            self._vector[part].clear()
            self._wide[part].clear()
        self._changed_scalars.clear()
        self._changed_vectors.clear()
        self._scc_changed = False

    def end(self, scalars_live: int, vectors_live: int) -> None:
        """Store what has changed and is live: a block ends."""
        for index in sorted(self._changed_scalars):
            if scalars_live >> index & 1 or (not self._halves(index) and scalars_live >> (index ^ 1) & 1):
                self._store_scalar(index)
        if self._scc_changed and scalars_live >> SCC & 1 and self._scc is not None:
            self.b.line(f"store i1 {self._scc}, ptr {self._slot('scc', 'i1')}")
        for register in sorted(self._changed_vectors):
            if vectors_live >> register & 1:
                self.write_back(register)

    def _slot(self, name: str, llvm: str) -> str:
        self.slots.setdefault(name, llvm)
        return f"%{name}"

    def vector_slot(self, register: int, part: int) -> str:
        """The stack slot of a part of a vector register."""
        return self._slot(f"v{register}.{part}", PART)

    def scalar_slots(self, live: int) -> Iterable[tuple[str, str, int]]:
        """Slot, type and register number of all live scalar registers."""
        done = set()
        for index in range(256):
            if not live >> index & 1:
                continue
            if index == SCC:
                yield self._slot("scc", "i1"), "i1", index
            elif index >= 128:
                continue
            elif self._halves(index):
                yield self._slot(f"s{index}", "i32"), "i32", index
            elif index & ~1 not in done:
                done.add(index & ~1)
                yield self._slot(f"p{index & ~1}", "i64"), "i64", index & ~1

    # ---- scalars

    def _halves(self, index: int) -> bool:
        """Whether a scalar register has a slot of its own; otherwise its pair has one."""
        return self._split(index & ~1)

    def _store_scalar(self, index: int) -> None:
        if self._halves(index):
            self.b.line(f"store i32 {self.scalar(index)}, ptr {self._slot(f's{index}', 'i32')}")
        elif index & 1 == 0 or index - 1 not in self._changed_scalars:
            base = index & ~1
            self.b.line(f"store i64 {self.pair(base)}, ptr {self._slot(f'p{base}', 'i64')}")

    def scalar(self, index: int) -> str:
        """A 32-bit scalar operand by its encoding, as ``i32``."""
        special = self._special(index)
        if special is not None:
            return b_trunc(self.b, special)
        known = self._scalar.get(index)
        if known is not None:
            return known
        base = index & ~1
        if base in self._pair or not self._halves(index):
            whole = self.pair(base)
            piece = whole if index == base else self.b.emit(f"lshr i64 {whole}, 32")
            known = self.b.emit(f"trunc i64 {piece} to i32")
        else:
            known = self.b.emit(f"load i32, ptr {self._slot(f's{index}', 'i32')}")
        self._scalar[index] = known
        return known

    def pair(self, index: int) -> str:
        """A 64-bit scalar operand, as ``i64``."""
        special = self._special(index)
        if special is not None:
            return special
        if index & 1:
            return self._joined(index)
        mask = self._pair.get(index)
        if mask is None:
            if index in self._scalar or index + 1 in self._scalar or self._halves(index):
                whole = self._joined(index)
            else:
                whole = self.b.emit(f"load i64, ptr {self._slot(f'p{index}', 'i64')}")
            mask = self._pair[index] = Mask(whole)
        if not mask.known:
            self._flush()
        return mask.bits(self.b)

    def _joined(self, index: int) -> str:
        low = self.b.emit(f"zext i32 {self.scalar(index)} to i64")
        high = self.b.emit(f"zext i32 {self.scalar(index + 1)} to i64")
        moved = self.b.emit(f"shl i64 {high}, 32")
        return self.b.emit(f"or disjoint i64 {moved}, {low}")

    def _special(self, index: int) -> str | None:
        if index < 128:
            return None
        b = self.b
        if index == SCC:
            return b.emit(f"zext i1 {self.scc()} to i64")
        if index in (VCCZ, EXECZ):
            zero = b.emit(f"icmp eq i64 {self.pair(VCC if index == VCCZ else EXEC)}, 0")
            return b.emit(f"zext i1 {zero} to i64")
        apertures = {
            SHARED_BASE: SHARED_APERTURE << 32,
            SHARED_LIMIT: SHARED_APERTURE << 32 | 0xFFFFFFFF,
            PRIVATE_BASE: PRIVATE_APERTURE << 32,
            PRIVATE_LIMIT: PRIVATE_APERTURE << 32 | 0xFFFFFFFF,
        }
        return str(apertures.get(index, 0))

    def set_scalar(self, index: int, value: str) -> None:
        """Write 32 bits."""
        base = index & ~1
        if base in self._pair or not self._halves(index):
            other = self.scalar(index ^ 1)
            self._pair.pop(base, None)
            self._scalar[index ^ 1] = other
        self._scalar[index] = value
        self._changed_scalars.add(index)
        if base == EXEC:
            self.exec_full = False

    def set_pair(self, index: int, value: str | Mask) -> None:
        """Write 64 bits, of one number or of a mask."""
        if index & 1:
            mask = value if isinstance(value, Mask) else Mask(value)
            if not mask.known:
                self._flush()
            whole = mask.bits(self.b)
            self.set_scalar(index, self.b.emit(f"trunc i64 {whole} to i32"))
            high = self.b.emit(f"lshr i64 {whole}, 32")
            self.set_scalar(index + 1, self.b.emit(f"trunc i64 {high} to i32"))
            return
        self._scalar.pop(index, None)
        self._scalar.pop(index + 1, None)
        self._pair[index] = value if isinstance(value, Mask) else Mask(value)
        self._changed_scalars |= {index, index + 1}

    def mask(self, index: int) -> Mask:
        """A pair as a mask of lanes, whose parts may still be waiting."""
        if index == EXEC and self.exec_full:
            return Mask("-1")
        if index >= 128 or index & 1:
            return Mask(self.pair(index))
        if index not in self._pair:
            self.pair(index)
        return self._pair[index]

    def scc(self) -> str:
        """SCC as ``i1``."""
        if self._scc is None:
            self._scc = self.b.emit(f"load i1, ptr {self._slot('scc', 'i1')}")
        return self._scc

    def set_scc(self, value: str) -> None:
        """Write SCC."""
        self._scc = value
        self._scc_changed = True

    # ---- vectors

    def vector(self, register: int, part: int) -> str:
        """A part of a vector register, as dwords."""
        value = self.value(register, part)
        if value.type != "u32":
            value = self._vector[part][register] = self.b.bitcast(value, "u32")
        return value.text

    def value(self, register: int, part: int) -> Value:
        """A part of a vector register, of the 32-bit type that it was written as."""
        known = self._vector[part].get(register)
        if known is None:
            text = self.b.emit(f"load {PART}, ptr {self.vector_slot(register, part)}")
            known = self._vector[part][register] = Value(text, "u32", PART_LANES)
        return known

    def set_vector(self, register: int, part: int, value: str | Value) -> None:
        """Write a part of a vector register, all its lanes."""
        self._vector[part][register] = value if isinstance(value, Value) else Value(value, "u32", PART_LANES)
        self._changed_vectors.add(register)
        self._wide[part].pop(register, None)
        self._wide[part].pop(register - 1, None)

    def consecutive(self, first: int, count: int) -> str:
        """Where so many vector registers begin in the frame, in which their numbers are their order."""
        for register in range(first, first + count):
            for part in range(PARTS):
                self.vector_slot(register, part)
        return self.vector_slot(first, 0)

    def write_back(self, register: int) -> None:
        """Store a vector register, all its lanes, if its slot does not have what it holds."""
        if register in self._changed_vectors:
            for part in range(PARTS):
                self.b.line(f"store {self._vector[part][register].typed}, ptr {self.vector_slot(register, part)}")
            self._changed_vectors.discard(register)

    def written(self, register: int) -> None:
        """Forget what a vector register held: its slot was written."""
        for part in range(PARTS):
            for known in (self._vector[part], self._wide[part]):
                known.pop(register, None)
            self._wide[part].pop(register - 1, None)
        self._changed_vectors.discard(register)

    def wide(self, register: int, part: int) -> Value:
        """Two vector registers as 64-bit elements."""
        known = self._wide[part].get(register)
        if known is None:
            low, high = self.vector(register, part), self.vector(register + 1, part)
            picks = ", ".join(f"i32 {n}, i32 {n + PART_LANES}" for n in range(PART_LANES))
            both = self.b.emit(f"shufflevector {PART} {low}, {PART} {high}, <{2 * PART_LANES} x i32> <{picks}>")
            joined = self.b.emit(f"bitcast <{2 * PART_LANES} x i32> {both} to <{PART_LANES} x i64>")
            known = self._wide[part][register] = Value(joined, "u64", PART_LANES)
        return known

    def set_wide(self, register: int, part: int, value: Value) -> None:
        """Write two vector registers from 64-bit elements."""
        for half in (0, 1):
            self.set_vector(register + half, part, half_of(self.b, value, half))
        self._wide[part][register] = value


def half_of(b: WaveBuilder, value: Value, half: int) -> str:
    """The low (0) or high (1) dwords of 64-bit elements."""
    pieces = 2 * PART_LANES
    dwords = b.emit(f"bitcast {value.typed} to <{pieces} x i32>")
    picks = ", ".join(f"i32 {2 * n + half}" for n in range(PART_LANES))
    return b.emit(f"shufflevector <{pieces} x i32> {dwords}, <{pieces} x i32> poison, {PART_MASK_PICKS} <{picks}>")


PART_MASK_PICKS = f"<{PART_LANES} x i32>"


def b_trunc(b: WaveBuilder, whole: str) -> str:
    """The low 32 bits of an ``i64``, which may be a constant."""
    if whole.lstrip("-").isdigit():
        return str(int(whole) & 0xFFFFFFFF)
    return b.emit(f"trunc i64 {whole} to i32")
