"""Input: atomic operations. Output: a loop over the active lanes that updates memory one lane after the other.

Other threads run other work-groups, so global memory is updated by the host's atomics; LDS and GDS by plain code, as a
work-group is run by one thread. (Kernels that use the GDS run on one thread.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from headwater.emulate.wave.builder import Value, WaveBuilder
from headwater.emulate.wave.helpers import GDS, LDS, WRITE
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.lower_llvm import Wide, lower
from headwater.emulate.wave.memory import Address
from headwater.emulate.wave.registers import PART, PART_LANES
from headwater.isa.semantics.model import Mode, Semantics
from headwater.isa.semantics.types import BITS

_RMW = {"add", "sub", "and", "or", "xor", "umin", "umax", "min", "max", "xchg", "uinc_wrap", "udec_wrap"}
_LONG = f"<{PART_LANES} x i64>"


def reported_operands(what: Semantics, operands: Sequence[str]) -> Sequence[str]:
    """An atomic instruction's operands, dwords in the order of its registers, as observers get them: what is
    compared with, or the mask, comes second, which the LDS' instructions have first. None of other instructions."""
    if what.update not in ("cmpxchg", "mskor"):
        return ()
    half = len(operands) // 2
    return [*operands[half:], *operands[:half]] if what.comparand == "DATA" else operands


class Context(Protocol):
    """What the loop over lanes is written by: a translator."""

    @property
    def b(self) -> WaveBuilder: ...

    def stop_unless(self, fine: str) -> None:
        """Leave if there was a fault."""


@dataclass(frozen=True, slots=True)
class Update:
    """An update of ``nbytes`` bytes of memory for each lane by the instruction at ``pc``, in memory of kind ``how`` (of
    `headwater.emulate.wave.helpers`) with the table's ``slot``. ``layout``: where an operand's dwords are among those
    of ``%data``, first and how many."""

    what: Semantics
    mode: Mode
    nbytes: int
    how: int
    slot: str
    pc: int
    layout: Mapping[str, tuple[int, int]]


def update_lanes(t: Context, update: Update, bits: str, *, keep_old: bool) -> None:
    """The loop over the lanes of ``bits``, an ``i64``: their addresses are in the array ``%addresses``, their operands
    in ``%data``. What memory held is left in ``%before`` if ``keep_old``."""
    b, nbytes = t.b, update.nbytes

    def one(lane: str, lane32: str) -> None:
        address = b.emit(f"load i64, ptr {b.emit(f'getelementptr i64, ptr %addresses, i64 {lane}')}")
        pointer = pointer_to(t, address, nbytes, update.how | WRITE, update.pc, lane32, update.slot)
        operands = {name: _lane_data(t, lane, first, count) for name, (first, count) in update.layout.items()}
        old = _update(t, update, pointer, operands)
        if keep_old:
            words = [old] if nbytes == 4 else [
                b.emit(f"trunc i64 {old} to i32"),
                b.emit(f"trunc i64 {b.emit(f'lshr i64 {old}, 32')} to i32"),
            ]  # fmt: skip
            for n, word in enumerate(words):
                b.line(f"store i32 {word}, ptr {array_place(b, '%before', n, lane)}")

    each_lane(t, bits, one)


def each_lane(t: Context, bits: str, one: Callable[[str, str], None]) -> None:
    """A loop over the lanes of ``bits``, an ``i64``: ``one`` writes its body for a lane, an ``i64`` and an ``i32``."""
    b = t.b
    start, head, body, done = b.block.label, b.label("lanes"), b.label("lane"), b.label("updated")
    b.jump(head)
    b.start(head)
    left = b.fresh("left")
    rest = b.fresh("rest")
    phi = len(b.block.lines)
    b.line("")
    b.branch(b.emit(f"icmp eq i64 {left}, 0"), done, body)
    b.start(body)
    lane = b.intrinsic("cttz", "u64", Value(left, "u64"), extra=("i1 true",)).text
    b.line(f"{rest} = and i64 {left}, {b.emit(f'add i64 {left}, -1')}")
    one(lane, b.emit(f"trunc i64 {lane} to i32"))
    end = b.block.label
    b.jump(head)
    head_block = next(block for block in b.blocks if block.label == head)
    head_block.lines[phi] = f"  {left} = phi i64 [{bits}, %{start}], [{rest}, %{end}]"
    b.start(done)


def pointer_to(t: Context, address: str, nbytes: int, how: int, pc: int, lane: str, slot: str) -> str:
    """Where an address, an ``i64``, lies, if the ``lane``, an ``i32``, may access it; else the wavefront stops."""
    b = t.b
    b.declare("declare hidden i64 @hw_place(ptr, i64, i64, i32, i64, i32, ptr) #1")
    arguments = f"i64 {address}, i64 {nbytes}, i32 {how}, i64 {pc}, i32 {lane}, ptr {slot}"
    found = b.emit(f"call i64 @hw_place(ptr %w, {arguments})")
    t.stop_unless(b.emit(f"icmp ne i64 {found}, 0"))
    return b.emit(f"inttoptr i64 {found} to ptr")


def array_place(b: WaveBuilder, array: str, dword: int, lane: str) -> str:
    """A pointer to a lane's dword in an array of 64 lanes a dword."""
    here = b.emit(f"getelementptr i32, ptr {array}, i64 {lane}")
    return b.emit(f"getelementptr i8, ptr {here}, i64 {4 * LANES * dword}")


def wide_addresses(b: WaveBuilder, at: Address) -> str:
    """A part's addresses as 64-bit numbers."""
    low = b.emit(f"zext {PART} {at.low} to {_LONG}")
    if at.high is not None:
        high = b.emit(f"shl {_LONG} {b.emit(f'zext {PART} {at.high} to {_LONG}')}, splat (i64 32)")
        low = b.emit(f"or disjoint {_LONG} {high}, {low}")
    return b.binary("add", Value(low, "u64", PART_LANES), Value(at.base, "u64")).text


def put_array(b: WaveBuilder, array: str, dword: int, part: int, value: str) -> None:
    """Store a part's dwords in an array of 64 lanes a dword."""
    here = b.emit(f"getelementptr i8, ptr {array}, i64 {4 * (LANES * dword + PART_LANES * part)}")
    b.line(f"store {PART} {value}, ptr {here}, align 64")


def _lane_data(t: Context, lane: str, first: int, count: int) -> Wide:
    """One lane's operand from the array."""
    b = t.b
    words = []
    here = b.emit(f"getelementptr i32, ptr %data, i64 {lane}")
    for n in range(first, first + count):
        there = b.emit(f"getelementptr i8, ptr {here}, i64 {4 * LANES * n}")
        words.append(Value(b.emit(f"load i32, ptr {there}"), "u32"))
    if count == 1:
        return words[0]
    if count == 2:
        high = b.binary("shl", b.resize(words[1], "u64"), Value("32", "u64"))
        return b.binary("or disjoint", high, b.resize(words[0], "u64"))
    return tuple(words)


def _update(t: Context, update: Update, pointer: str, operands: dict[str, Wide]) -> str:
    """Update one lane's place in memory; what was there, as ``i32`` or ``i64``."""
    b, what, nbytes = t.b, update.what, update.nbytes
    shared = not update.how & (LDS | GDS)
    kind = f"i{8 * nbytes}"
    simple = what.atomic
    data = operands.get("DATA")
    if shared and simple in _RMW and isinstance(data, Value) and BITS[data.type] == 8 * nbytes:
        return b.emit(f"atomicrmw {simple} ptr {pointer}, {kind} {data.text} monotonic, align {nbytes}")

    def new_value(old: str) -> str:
        memory = Value(old, f"u{8 * nbytes}")
        # Memory rounds to nearest, whatever MODE says.
        plain = replace(update.mode, round32=0, round16_64=0)
        lowered = lower(b, what, operands | {"MEM": memory}, plain).results["MEM"]
        assert isinstance(lowered, Value)
        return b.bitcast(lowered, memory.type).text

    if not shared:
        old = b.emit(f"load {kind}, ptr {pointer}, align 1")
        b.line(f"store {kind} {new_value(old)}, ptr {pointer}, align 1")
        return old
    first = b.emit(f"load atomic {kind}, ptr {pointer} monotonic, align {nbytes}")
    before, attempt, done = b.block.label, b.label("attempt"), b.label("exchanged")
    b.jump(attempt)
    b.start(attempt)
    seen, old = b.fresh("seen"), b.fresh("old")
    phi = len(b.block.lines)
    b.line("")
    exchanged = b.emit(
        f"cmpxchg ptr {pointer}, {kind} {old}, {kind} {new_value(old)} monotonic monotonic, align {nbytes}"
    )
    b.line(f"{seen} = extractvalue {{ {kind}, i1 }} {exchanged}, 0")
    end = b.block
    b.branch(b.emit(f"extractvalue {{ {kind}, i1 }} {exchanged}, 1"), done, attempt)
    block = next(x for x in b.blocks if x.label == attempt)
    block.lines[phi] = f"  {old} = phi {kind} [{first}, %{before}], [{seen}, %{end.label}]"
    b.start(done)
    return old
