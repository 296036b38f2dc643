"""What the code of one clause is written by: a function of its own, with the wavefront's registers and resources.

The function is ``i32 @clause.N(ptr %w, ptr %frame, i64 %active)`` and returns 0, or 1 after a fault. Vector code is put
off and written for one part of 16 lanes after the other, as for GCN (`headwater.emulate.wave.deferred`), or where
registers are in memory anyway, once in a loop over the parts (`Clause.repeated`): a quarter of the code for LLVM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headwater.chips.vliw_isas import Traits
from headwater.emulate.vliw.bindings import Bindings, Bound, Name
from headwater.emulate.vliw.control import Control
from headwater.emulate.vliw.layout import CF, LAUNCH, RESOURCE as DESCRIPTOR, SHARED_BYTES
from headwater.emulate.vliw.registers import Frame, Registers
from headwater.emulate.watch.hooks import Observer
from headwater.emulate.wave.builder import Value, WaveBuilder
from headwater.emulate.wave.deferred import Deferred
from headwater.emulate.wave.helpers import ARENA, PRIVATE, RESOURCE
from headwater.emulate.wave.layout import ARENA_SLOT, FAULT_NAMES, LANES, SLOT, WAVE
from headwater.emulate.wave.memory import Address, Shape, Slot
from headwater.emulate.wave.registers import PART_LANES, PARTS, Mask
from headwater.isa.semantics.model import Mode
from headwater.isa.vliw.model import Cf

PC_CF_SHIFT, PC_OP_BITS = 12, 3
"""A place in a shader as one number: control-flow instruction, group or fetch of its clause, slot."""


def place(cf: int, item: int = 0, slot: int = 0) -> int:
    """A place in a shader as one number, which a fault records."""
    return cf << PC_CF_SHIFT | item << PC_OP_BITS | slot


@dataclass(frozen=True, slots=True)
class Options:
    """``avx512``: this machine has it (with BW). ``full``: wavefronts begin with all lanes.

    ``flushing``: this machine's arithmetic takes and makes no denormals, so that code need not flush them.
    ``observer``: writes code that watches, see `headwater.emulate.watch.hooks`.
    """

    avx512: bool = True
    full: bool = True
    flushing: bool = True
    observer: Observer | None = None

    @property
    def attributes(self) -> str:
        """What LLVM must know of a function: it folds constants itself, and knows nothing of the machine's state."""
        return '"denormal-fp-math"="preserve-sign,preserve-sign"' if self.flushing else ""


@dataclass(slots=True)
class Resources:
    """What is bound and where its descriptor is; and what all clauses of a shader share."""

    bindings: Bindings
    order: list[Name]
    traits: Traits
    byte_atomics: bool = False
    slots: int = 0
    uses_gds: bool = False

    def descriptor(self, name: Name) -> int:
        """Byte offset of a descriptor in the launch's arguments."""
        return LAUNCH.size_bytes + DESCRIPTOR.size_bytes * self.order.index(name)

    def bound(self, name: Name) -> Bound | None:
        """What a resource is bound to."""
        return self.bindings.bound(name)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all clauses of a shader are translated with."""

    frame: Frame
    resources: Resources
    options: Options
    control: Control


class Clause(Deferred):
    """The code of one clause, or of a segment of it. ``inlined``: it becomes part of the wavefront's function, in which
    registers are values, too."""

    def __init__(self, name: str, cf: Cf, index: int, surroundings: Surroundings, *, full: bool, inlined: bool) -> None:
        super().__init__()
        resources, options = surroundings.resources, surroundings.options
        self.inlined = inlined
        self.name = name
        self.cf = cf
        self.index = index
        self.resources = resources
        self.traits = resources.traits
        self.options = options
        features = frozenset(("avx512dq",)) if options.avx512 else frozenset()
        self.b = WaveBuilder(features, flushing=options.flushing)
        self.b.start("begin")
        self.regs = Registers(self.b, surroundings.frame, merged=inlined)
        self.control = surroundings.control.within(self.b, self.stop_unless)
        self.exec = Mask("-1" if full else "%active")
        self.shapes: dict[tuple[str, str | None, str, bool], Shape] = {}
        self.compact = False
        self.repeats = False
        # AMD, R700-Family ISA, "Floating Point Rules": no denormals in single precision; doubles keep them.
        self.mode = Mode(0, 0, 3 if options.flushing else 0, 3, dx10_clamp=True, ieee=False)
        self._head: dict[str, str] = {}
        self._last: list[str] = []
        if not options.avx512:  # where accesses that are not inline keep their operands, see `helpers.load`
            self.array("%data", 4)

    @property
    def place(self) -> int:
        """The instruction's place in the shader."""
        return place(self.index)

    # ---- the function

    def text(self) -> str:
        """The function, after everything was flushed and stored."""
        blocks = self.b.blocks[1:]
        body = "\n".join(line for block in blocks for line in (f"{block.label}:", *block.lines))
        head = "\n".join(f"  {name} = {text}" for name, text in self._head.items())
        return (
            f"define internal i32 @{self.name}(ptr noalias %w, ptr noalias %frame, i64 %active) "
            f"{'alwaysinline ' if self.inlined else ''}{self.options.attributes} #0 {{\n"
            f"entry:\n{head}\n  br label %begin\n{body}\nwave.stopped:\n  ret i32 1\n}}"
        )

    def define(self, name: str, text: str) -> str:
        """A value that all of the function may use, written once at its beginning."""
        self._head.setdefault(name, text)
        return name

    def array(self, name: str, words: int) -> str:
        """Memory of the function: an array of 64 lanes of ``words`` dwords each."""
        return self.define(name, f"alloca [{words * LANES} x i32], align 64")

    # ---- the loop over parts

    def repeat(self) -> None:
        """Have the function's code written once, by `repeated`: for part 0 of where the loop stands."""
        self.repeats = True
        self.regs.base = "%part.frame"
        if not self.exec.full:
            self.exec = Mask("%part.active")

    def repeated(self, live: Iterable[int], masks: Sequence[Mask]) -> None:
        """Write what was put off as a loop over the parts, and store the registers in ``live``; ``masks``, which it
        makes a part of at a time, are whole afterwards."""
        b = self.b
        body, done = b.label("part"), b.label("parts.done")
        at = self.define("%part.at", "alloca i64, align 8")
        wholes = [self.define(f"%mask{n}.at", "alloca i64, align 8") for n in range(len(masks))]
        for variable in (at, *wholes):
            b.line(f"store i64 0, ptr {variable}, align 8")
        b.jump(body)
        b.start(body)
        b.line(f"%part.lane = load i64, ptr {at}, align 8")
        b.line("%part.bytes = shl i64 %part.lane, 2")
        b.line("%part.frame = getelementptr i8, ptr %frame, i64 %part.bytes")
        b.line("%part.active = lshr i64 %active, %part.lane")
        self.flush()
        self.regs.store(0, self.exec, live)
        for mask, whole in zip(masks, wholes, strict=True):
            piece = b.emit(f"zext i{PART_LANES} {mask.part_bits(b, 0)} to i64")
            before = b.emit(f"load i64, ptr {whole}, align 8")
            moved = b.emit(f"shl i64 {piece}, %part.lane")
            b.line(f"store i64 {b.emit(f'or disjoint i64 {before}, {moved}')}, ptr {whole}, align 8")
        following = b.emit(f"add i64 %part.lane, {PART_LANES}")
        b.line(f"store i64 {following}, ptr {at}, align 8")
        b.branch(b.emit(f"icmp ult i64 {following}, {LANES}"), body, done)
        b.start(done)
        for mask, whole in zip(masks, wholes, strict=True):
            mask.parts = [None] * PARTS
            mask.whole = b.emit(f"load i64, ptr {whole}, align 8")

    def parts(self) -> range:
        """The parts that code which was put off is written for."""
        return range(1) if self.repeats else range(PARTS)

    def of_part(self, pointer: str) -> str:
        """A pointer to dwords of all lanes, moved to those of the part that the loop stands at."""
        return self.b.emit(f"getelementptr i8, ptr {pointer}, i64 %part.bytes") if self.repeats else pointer

    # ---- faults

    def stop_unless(self, fine: str) -> None:
        """Leave if there was a fault, which has been recorded."""
        going = self.b.label("going")
        self.b.line(f"br i1 {fine}, label %{going}, label %wave.stopped, !prof !9100")
        self.b.start(going)

    def unsupported(self, pc: int) -> None:
        """Stop if any lane executes this: what is not emulated."""
        self.flush()
        b = self.b
        bits = self.exec.bits(b)
        stop, going = b.label("unsupported"), b.label("going")
        b.branch(b.emit(f"icmp ne i64 {bits}, 0"), stop, going)
        b.start(stop)
        b.declare("declare hidden i32 @hw_stop(ptr, i32, i64, i64) #1")
        b.emit(f"call i32 @hw_stop(ptr %w, i32 {FAULT_NAMES['FAULT_UNSUPPORTED']}, i64 {pc}, i64 0)")
        b.jump("wave.stopped")
        b.start(going)

    # ---- memory

    def _field(self, name: str, kind: str) -> str:
        """A field of the wavefront's structure."""
        at = self.define(f"%{name}.at", f"getelementptr i8, ptr %w, i64 {WAVE.offset[name]}")
        return self.define(
            f"%{name}", f"load {kind}, ptr {at}, align {8 if kind != 'i32' else 4}, !invariant.load !9001"
        )

    def fixed(self, name: str, how: int) -> tuple[str, Slot, int]:
        """Base, slot and ``how`` of the LDS, the GDS or private memory."""
        slot = self.define(f"%{name}.at", f"getelementptr i8, ptr %w, i64 {WAVE.offset[name]}")
        start, size = self._field(name, "i64"), self._field(f"{name}_bytes", "i64")
        return start, Slot(slot, start, size), how

    def private(self, low: str) -> Address:
        """An address in private memory, which is interleaved by dwords over the lanes."""
        base, slot, how = self.fixed("scratch", PRIVATE)
        return Address(base, low, None, how, slot)

    def arguments(self) -> str:
        """The launch's arguments."""
        return self._field("args", "ptr")

    def shared(self) -> str:
        """Where the shared registers are of the work-group's SIMD engine: groups go round the engines."""
        arguments = self.arguments()

        def size(field: str, number: int = 0) -> str:
            name = f"%{field}{number}.launch"
            at = self.define(
                f"{name}.at", f"getelementptr i8, ptr {arguments}, i64 {LAUNCH.offset[field] + 4 * number}"
            )
            return self.define(name, f"load i32, ptr {at}, align 4, !invariant.load !9001")

        def group(number: int) -> str:
            at = self.define(f"%g{number}.at", f"getelementptr i8, ptr %w, i64 {WAVE.offset['group'] + 4 * number}")
            return self.define(f"%g{number}", f"load i32, ptr {at}, align 4")

        row = self.define("%shared.planes", f"mul i32 {group(2)}, {size('groups', 1)}")
        row = self.define("%shared.row", f"add i32 {row}, {group(1)}")
        flat = self.define("%shared.rows", f"mul i32 {row}, {size('groups', 0)}")
        flat = self.define("%shared.group", f"add i32 {flat}, {group(0)}")
        engine = self.define("%shared.engine", f"urem i32 {flat}, {size('engines')}")
        wide = self.define("%shared.wide", f"zext i32 {engine} to i64")
        offset = self.define("%shared.offset", f"mul i64 {wide}, {SHARED_BYTES}")
        at = self.define("%shared.at", f"getelementptr i8, ptr {arguments}, i64 {LAUNCH.offset['shared']}")
        start = self.define("%shared.start", f"load ptr, ptr {at}, align 8, !invariant.load !9001")
        return self.define("%shared", f"getelementptr i8, ptr {start}, i64 {offset}")

    def descriptor(self, name: Name, field: str) -> str:
        """A field of a resource's descriptor, ``i64`` (start, size) or ``i32``."""
        kind = "i64" if field in ("start", "size") else "i32"
        known = f"%{name[0]}{name[1]}.{field}"
        offset = self.resources.descriptor(name) + DESCRIPTOR.offset[field]
        at = self.define(f"{known}.at", f"getelementptr i8, ptr {self.arguments()}, i64 {offset}")
        return self.define(known, f"load {kind}, ptr {at}, align 4, !invariant.load !9001")

    def resource_slot(self, name: Name) -> Slot:
        """A resource's descriptor as the slot of accesses to it."""
        start, size = self.descriptor(name, "start"), self.descriptor(name, "size")
        return Slot(f"%{name[0]}{name[1]}.start.at", start, size)

    def new_slot(self) -> str:
        """Memory of an allocation of the arena, for one instruction: two slots, as it has three words."""
        number = self.resources.slots
        self.resources.slots += 2
        cache = self._field("cache", "ptr")
        return self.define(f"%slot{number}", f"getelementptr i8, ptr {cache}, i64 {SLOT.size_bytes * number}")

    def memory(self, name: Name, bound: Bound) -> Callable[[str], Address]:
        """What makes addresses in a resource, or in the arena, of byte offsets."""
        if not bound.arena:
            slot = self.resource_slot(name)
            return lambda low: Address(slot.start, low, None, RESOURCE, slot)
        pointer = self.new_slot()

        def address(low: str) -> Address:
            b = self.b
            words = []
            for offset in ARENA_SLOT.offset.values():
                at = b.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer
                words.append(b.emit(f"load i64, ptr {at}, align 8"))
            return Address(words[2], low, None, ARENA, Slot(pointer, words[0], words[1]))

        return address

    def lane_numbers(self, part: int) -> Value:
        """The lanes' numbers in the wavefront."""
        numbers = self.b.vector("u32", range(PART_LANES * part, PART_LANES * (part + 1)))
        return (
            self.b.binary("add", numbers, self.b.resize(Value("%part.lane", "u64"), "u32")) if self.repeats else numbers
        )

    def splat(self, value: Value) -> str:
        """A value as a vector's text."""
        return self.b.splat(value, PART_LANES).text

    # ---- masks

    def new_mask(self) -> Mask:
        """A mask whose parts are computed by deferred vector code."""
        return Mask()

    def part_mask(self, mask: Mask, part: int) -> Value:
        """One part of a mask, as u1."""
        return Value(mask.part(self.b, part), "u1", PART_LANES)

    def set_active(self, bits: str) -> None:
        """Store the mask that the following instructions are executed under."""
        self.b.line(f"store i64 {bits}, ptr %frame, align 8")


assert CF.offset["active"] == 0

OMOD: Mapping[int, float] = {1: 2.0, 2: 4.0, 3: 0.5}
"""Output modifiers: factors."""
