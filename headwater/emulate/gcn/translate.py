"""Input: a kernel's program. Output: the text of an LLVM function that runs a wavefront of it.

One GCN basic block becomes one LLVM block or several. Scalar instructions are written at once; vector instructions
are put off, and a run of them is then written for the first 16 lanes, for the next 16, and so on, so that a part's
values stay in machine registers from one instruction to the next. What ends a run: a scalar instruction that needs a
mask of it, a store after loads, whatever looks across lanes, and the end of the block.

A wavefront that reaches a barrier stores its live registers in its frame and returns; called again it goes on there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.emulate.gcn import (
    atomics,
    chunks,
    control,
    encodings_memory,
    gws,
    matrix,
    private_descriptor,
    texels,
    vector,
)
from headwater.emulate.gcn.constants import Known, known_scalars
from headwater.emulate.gcn.dispatch import abi_of
from headwater.emulate.gcn.program import (
    LARGE_PROGRAM,
    BasicBlock,
    Program,
    full_after,
    live_before_each,
    meaning,
    read_program,
    registers as bits_of,
)
from headwater.emulate.gcn.provenance import provenance
from headwater.emulate.gcn.translator import Options, Translator
from headwater.emulate.wave.layout import (
    AT_BARRIER,
    AT_GWS,
    BUFFER,
    ENDED,
    LANES,
    LARGE_KERNEL,
    STOPPED,
    WAVE,
)
from headwater.emulate.wave.outlined import Outlined
from headwater.emulate.wave.registers import PART, PART_LANES, PARTS
from headwater.isa.gcn.model import EXEC, SCC, Instruction
from headwater.isa.gcn.typed import untyped
from headwater.isa.semantics.model import Mode
from headwater.native import launch_block

if TYPE_CHECKING:
    from headwater.isa.gcn.objects import CodeObject

FRAME_HEADER_BYTES = 64
"""Byte offset of the stop field in the launch block."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The functions' texts, ``common`` to all what they need, and what the launcher must know of it.

    ``frame_bytes``: what a wavefront keeps while it waits at a barrier; ``cache_slots``: memories of the last
    allocation.
    """

    functions: Mapping[str, str]
    common: str
    frame_bytes: int
    cache_slots: int
    instruction_count: int
    uses_gds: bool = False
    uses_texels: bool = False
    uses_gws: bool = False
    updates_dwords: bool = False
    uses_matrices: bool = False

    @property
    def text(self) -> str:
        """Everything as one module."""
        return self.modules(1)[0]

    def modules(self, most: int) -> list[str]:
        """At most so many modules, that are compiled apart and linked; fewer where that would take longer."""
        length = sum(map(len, self.functions.values()))
        count = max(1, min(most, len(self.functions), length // LEAST_MODULE))
        return chunks.modules(self.functions, self.common, count)


LEAST_MODULE = 500_000
"""Bytes of IR that are worth a process of their own: LLVM takes about a second."""


def translate_kernel(code: CodeObject, name: str, options: Options) -> Translation:
    """Translate the kernel ``name`` of a code object."""
    kernel = code.kernels[name]

    def in_text(address: int) -> bool:
        return bool(code.text_start <= address < code.text_end)

    program = read_program(
        lambda address: untyped(code.instruction(address), code.isa), kernel.entry, code.isa, in_text
    )
    observer = options.observer
    if observer is not None and observer.takes_pointers:
        known = provenance(program, kernel, code.target)
        if known is not None:
            observer.pointers(known.written, known.still)
    private = kernel.private_segment_bytes > 0 or kernel.dynamic_stack
    descriptor = abi_of(kernel, code.target).private_buffer if private else -1
    if descriptor >= 0 and not private_descriptor.is_kept(program, descriptor):
        descriptor = -1
    return translate(program, kernel.mode, options, private_registers=private, descriptor=descriptor)


def translate(
    program: Program, mode: Mode, options: Options, *, private_registers: bool = False, descriptor: int = -1
) -> Translation:
    """Translate a kernel whose MODE is ``mode`` where it begins; ``private_registers``, ``descriptor``: see
    `Translator`."""
    return _Function(Translator(program, mode, options, private_registers, descriptor), program).write()


@dataclass(slots=True)
class _Function:
    """The function that is being written; ``t``: what it is written by, with the builder of its text."""

    t: Translator
    program: Program
    frame_bytes: int = FRAME_HEADER_BYTES
    resume: list[tuple[int, str]] = field(default_factory=list)
    """The labels at which it goes on after barriers, by their numbers from 1 on."""
    resumed: dict[int, int] = field(default_factory=dict)
    """The addresses of the blocks there."""
    modes: Mapping[int, Mode] = field(default_factory=dict)
    """The static MODE of blocks, where it is not that of the entry."""
    entry_mode: Mode = field(init=False)
    constants: Mapping[int, Known] = field(default_factory=dict)
    """Scalar registers of known numbers, where a block begins."""

    def __post_init__(self) -> None:
        self.entry_mode = self.t.mode

    # ---- the whole function

    def write(self) -> Translation:
        """Write the function ``hw_wave`` and all that it needs."""
        self._find_split_pairs()
        self.modes = control.modes(self.program, self.t.mode)
        compact = compact_blocks(self.program)
        self.constants = known_scalars(self.program)
        matrices = has_matrices(self.program)
        self.t.in_frame = is_large(self.program) or matrices
        self.t.outlined = Outlined(self.t.b) if matrices else None
        self.t.hides_chains = self.t.options.avx512 and self.program.instruction_count >= LARGE_KERNEL
        body = self.t.b
        for block in self.program.blocks.values():
            self.t.compact = block.address in compact
            self._block(block)
        definitions, initial = self._entry()
        first, *rest = body.blocks
        del first
        if self.t.in_frame:
            starts = {label_of(address): number for number, address in enumerate(self.program.blocks)}
            resumed = {number: label_of(address) for number, address in self.resumed.items()}
            entry = label_of(self.program.entry)
            functions = chunks.functions(definitions, initial, rest, starts, entry, resumed)
        else:
            text = "\n".join(line for block in rest for line in (f"{block.label}:", *block.lines))
            head = self._head(definitions, initial)
            head = f"define hidden i32 @{chunks.WHOLE}(ptr noalias %w) #0 {{\n{head}"
            functions = {chunks.WHOLE: f"{head}\n{text}\n{self._exits()}\n}}"}
        common = "\n\n".join([*body.declarations.values(), '!9100 = !{!"branch_weights", i32 2000, i32 1}'])
        return Translation(
            functions,
            common,
            self.frame_bytes,
            self.t.slots,
            self.program.instruction_count,
            any(i.fields.get("gds") for block in self.program.blocks.values() for i in block.instructions),
            self.t.uses_texels,
            any(gws.ends(block) for block in self.program.blocks.values()),
            any(atomics.updates_halves(i) for block in self.program.blocks.values() for i in block.instructions),
            self.t.uses_matrices,
        )

    def _find_split_pairs(self) -> None:
        for block in self.program.blocks.values():
            for instruction in block.instructions:
                registers = [s.value for s in instruction.sources] + [d.register for d in instruction.dests]
                for register in registers:
                    if getattr(register, "file", "") != "s":
                        continue
                    index, count = register.index, register.dwords  # type: ignore[union-attr]
                    if index & 1:
                        self.t.split.add(index & ~1)
                        index, count = index + 1, count - 1
                    if count & 1:
                        self.t.split.add(index + count - 1 & ~1)
        self.t.split.add(124)  # M0, alone
        self.t.split.discard(EXEC)

    def _head(self, definitions: Sequence[str], initial: Sequence[str]) -> str:
        """The function's beginning: stack slots, initial registers, and where to go on after a barrier."""
        lines = ["entry:", *(f"  {line}" for line in definitions), "  store i64 0, ptr %count"]
        if self.resume:
            cases = " ".join(f"i32 {number}, label %{label}" for number, label in self.resume)
            lines += ["  %resume = load i32, ptr %resume.at", f"  switch i32 %resume, label %begin [{cases}]"]
        else:
            lines.append("  br label %begin")
        return "\n".join([*lines, "begin:", *initial, f"  br label %{label_of(self.program.entry)}"])

    def _entry(self) -> tuple[list[str], list[str]]:
        """Names that the code uses (slots, pointers), as lines ``%name = …``; and what gives registers their first
        values."""
        entry = self.program.blocks[self.program.entry]
        out: list[str] = []
        emit = out.append
        initial: list[str] = []
        for slot, kind, index in self.t.regs.scalar_slots(entry.scalar_in | 3 << EXEC):
            if index == EXEC:
                continue
            initial.append(self._initial_scalar(slot, kind, index))
        for register in bits_of(entry.active_in | entry.inactive_in):
            for part in range(PARTS):
                slot = self.t.regs.vector_slot(register, part)
                if register < 3:
                    place = (register * LANES + part * PART_LANES) * 4
                    initial.append(
                        f"  %id{register}.{part}.at = getelementptr i8, ptr %ids, i64 {place}\n"
                        f"  %id{register}.{part} = load {PART}, ptr %id{register}.{part}.at, align 64\n"
                        f"  store {PART} %id{register}.{part}, ptr {slot}"
                    )
                else:
                    initial.append(f"  store {PART} zeroinitializer, ptr {slot}")
        self.t.regs.slots.setdefault(f"p{EXEC}", "i64")
        position = FRAME_HEADER_BYTES
        slots: list[str] = []
        for name, kind in sorted(self.t.regs.slots.items(), key=_frame_order):
            if self.t.in_frame:
                slots.append(f"%{name} = getelementptr i8, ptr %frame.ptr, i64 {position}")
                position += PART_LANES * 4 if kind == PART else 8
            else:
                emit(f"%{name} = alloca {kind}{', align 64' if kind == PART else ''}")
        self.frame_bytes = max(self.frame_bytes, position)
        emit("%count = alloca i64")
        if self.t.uses_matrices:
            emit(f"%matrices = alloca [{3 * matrix.ARRAY_REGISTERS * LANES} x i32], align 64")
        if self.t.uses_buffers:
            out += self._written_often("buffer", BUFFER.size_bytes)
        if self.t.uses_texels:
            out += self._written_often("texels", texels.TEXELS.size_bytes)
        if self.t.indexed_registers:
            emit(f"%registers = alloca [{self.t.indexed_registers} x {PART}], align 64")
        emit(f"%addresses = alloca [{LANES} x i64], align 64")
        emit(f"%data = alloca [{4 * LANES} x i32], align 64")
        emit(f"%before = alloca [{4 * LANES} x i32], align 64")
        for offset, pointer in self.t.slot_pointers.items():
            emit(f"{pointer} = getelementptr i8, ptr %w, i64 {offset}")
        emit(f"%cache.at = getelementptr i8, ptr %w, i64 {WAVE.offset['cache']}")
        emit("%cache = load ptr, ptr %cache.at, !invariant.load !9001")
        for number in range(self.t.slots):
            emit(f"%slot{number} = getelementptr i8, ptr %cache, i64 {16 * number}")
        emit(f"%block.at = getelementptr i8, ptr %w, i64 {WAVE.offset['block']}")
        emit("%block = load ptr, ptr %block.at, !invariant.load !9001")
        emit(launch_block.field("stop", "%block", "%stop"))
        for name in ("code", "frame"):
            emit(f"%{name}.at = getelementptr i8, ptr %w, i64 {WAVE.offset[name]}")
            emit(f"%{name} = load i64, ptr %{name}.at, !invariant.load !9001")
        emit("%frame.ptr = inttoptr i64 %frame to ptr")
        for line in slots:
            emit(line)
        emit(f"%ids.at = getelementptr i8, ptr %w, i64 {WAVE.offset['ids']}")
        emit("%ids = load ptr, ptr %ids.at, !invariant.load !9001")
        emit(f"%alone.at = getelementptr i8, ptr %w, i64 {WAVE.offset['alone']}")
        emit(f"%resume.at = getelementptr i8, ptr %w, i64 {WAVE.offset['resume']}")
        if self.t.options.full:
            initial.append(f"  store i64 -1, ptr %p{EXEC}")
        else:
            emit(f"%exec.at = getelementptr i8, ptr %w, i64 {WAVE.offset['exec']}")
            initial += ["  %exec.first = load i64, ptr %exec.at", f"  store i64 %exec.first, ptr %p{EXEC}"]
        return out, initial

    def _written_often(self, name: str, nbytes: int) -> list[str]:
        """Memory that many instructions write before they call something. LLVM's instruction combining looks at all
        uses of an ``alloca`` whenever it removes one (22.1: `visitAllocSite`), and not behind this intrinsic."""
        self.t.b.declare("declare ptr @llvm.launder.invariant.group.p0(ptr)")
        return [
            f"%{name}.own = alloca [{nbytes} x i8], align 64",
            f"%{name} = call ptr @llvm.launder.invariant.group.p0(ptr %{name}.own)",
        ]

    def _initial_scalar(self, slot: str, kind: str, index: int) -> str:
        if index == SCC or index >= 32:
            return f"  store {kind} 0, ptr {slot}"
        place = WAVE.offset["sgprs"] + 4 * index
        name = f"%init{index}"
        return (
            f"  {name}.at = getelementptr i8, ptr %w, i64 {place}\n"
            f"  {name} = load {kind}, ptr {name}.at\n"
            f"  store {kind} {name}, ptr {slot}"
        )

    def _exits(self) -> str:
        total = WAVE.offset["wave_instructions"]

        def leave(label: str, value: int) -> str:
            name = label.replace(".", "")
            return (
                f"{label}:\n"
                f"  %{name}.n = load i64, ptr %count\n"
                f"  %{name}.at = getelementptr i8, ptr %w, i64 {total}\n"
                f"  %{name}.old = load i64, ptr %{name}.at\n"
                f"  %{name}.sum = add i64 %{name}.old, %{name}.n\n"
                f"  store i64 %{name}.sum, ptr %{name}.at\n"
                f"  ret i32 {value}"
            )

        exits = {
            "wave.ended": ENDED,
            "wave.waits": AT_BARRIER,
            "wave.stopped": STOPPED,
            "wave.synchronises": AT_GWS,
        }
        return "\n".join(leave(label, value) for label, value in exits.items())

    # ---- blocks

    def _block(self, block: BasicBlock) -> None:
        t, b, regs = self.t, self.t.b, self.t.regs
        b.start(label_of(block.address))
        regs.begin(self.constants.get(block.address, {}))
        t.shapes = {}
        t.chains.clear()
        t.mode = self.modes.get(block.address, self.entry_mode)
        full = block.full_in if t.options.full else 0
        states = live_before_each(self.program, block)
        if t.options.count and block.instructions:
            counted = b.emit("load i64, ptr %count")
            b.line(f"store i64 {b.emit(f'add i64 {counted}, {len(block.instructions)}')}, ptr %count")
        if t.watch is not None:
            t.watch.block(block)
        for at, instruction in enumerate(block.instructions):
            regs.exec_full = full >> EXEC & 3 == 3
            t.after = states[at + 1]
            self.instruction(instruction)
            if t.watch is not None:
                t.watch.after(block, at)
            full = full_after(instruction, full) if t.options.full else 0
        t.flush()
        scalars, active, inactive = states[-1]
        regs.end(scalars, active | inactive)
        self._leave(block)

    def _leave(self, block: BasicBlock) -> None:
        """The end of a block, after everything live has been stored."""
        b = self.t.b
        if block.end == "fault":
            self.t.stop("FAULT_UNSUPPORTED", block.address)
            return
        if block.end == "exit":
            b.jump("wave.ended")
            return
        if block.end == "indirect":
            control.indirect(self.t, block)
            return
        if any(a <= block.address for a in block.successors):
            # A loop: it may be asked to stop.
            value = b.emit("load atomic i64, ptr %stop monotonic, align 8")
            going = b.label("going")
            b.line(f"br i1 {b.emit(f'icmp eq i64 {value}, 0')}, label %{going}, label %wave.stopped, !prof !9100")
            b.start(going)
        if block.end == "barrier":
            self._barrier(block)
        elif block.end == "branch":
            b.branch(self.t.condition, *(label_of(a) for a in block.successors))
        else:
            b.jump(label_of(block.successors[0]))

    def _barrier(self, block: BasicBlock) -> None:
        b = self.t.b
        following = self.program.blocks[block.successors[0]]
        number = len(self.resume) + 1
        save, resume = f"wait.{number}", f"resume.{number}"
        synchronises = gws.ends(block)
        if synchronises:
            b.jump(save)
        else:
            alone = b.emit("load i32, ptr %alone.at, !invariant.load !9001")
            b.branch(b.emit(f"icmp ne i32 {alone}, 0"), label_of(following.address), save)
        b.start(save)
        places = [] if self.t.in_frame else self._frame_places(following)
        for slot, kind, place in places:
            at = b.emit(f"getelementptr i8, ptr %frame.ptr, i64 {place}")
            b.line(f"store {kind} {b.emit(f'load {kind}, ptr {slot}')}, ptr {at}")
        b.line(f"store i32 {number}, ptr %resume.at")
        b.jump("wave.synchronises" if synchronises else "wave.waits")
        b.start(resume)
        for slot, kind, place in places:
            at = b.emit(f"getelementptr i8, ptr %frame.ptr, i64 {place}")
            b.line(f"store {kind} {b.emit(f'load {kind}, ptr {at}')}, ptr {slot}")
        b.jump(label_of(following.address))
        self.resume.append((number, resume))
        self.resumed[number] = following.address

    def _frame_places(self, following: BasicBlock) -> list[tuple[str, str, int]]:
        """Where each register goes that lives on after a barrier: stack slot, type, offset in the frame."""
        places: list[tuple[str, str, int]] = []
        position = FRAME_HEADER_BYTES
        for register in bits_of(following.active_in | following.inactive_in):
            for part in range(PARTS):
                places.append((self.t.regs.vector_slot(register, part), PART, position))
                position += PART_LANES * 4
        for slot, kind, _ in self.t.regs.scalar_slots(following.scalar_in):
            places.append((slot, kind, position))
            position += 8
        self.frame_bytes = max(self.frame_bytes, position)
        return places

    # ---- instructions

    def instruction(self, instruction: Instruction) -> None:
        """Translate one instruction; those that end a block are done by `_leave`."""
        what = meaning(instruction)
        encoding = instruction.row.encoding
        if what.unsupported or control.is_trap(instruction):
            self.t.flush()
            kind = "FAULT_TRAP" if control.is_trap(instruction) else "FAULT_UNSUPPORTED"
            self.t.stop(kind, instruction.address)
            self.t.b.start(self.t.b.label("unreachable"))
        elif what.effect("gws") is not None:
            gws.translate(self.t, instruction)
        elif MATRIX_FLAGS & instruction.row.flags:
            matrix.translate(self.t, instruction)
        elif encoding in ("SOP1", "SOP2", "SOPC", "SOPK", "SOPP"):
            control.scalar(self.t, instruction)
        elif encoding == "SMEM":
            encodings_memory.scalar_memory(self.t, instruction)
        elif encoding in vector.MEMORY_ENCODINGS:
            encodings_memory.vector_memory(self.t, instruction)
        else:
            vector.translate(self.t, instruction)


def _frame_order(slot: tuple[str, str]) -> tuple[bool, list[int], str]:
    """Vector registers by number and part, then scalar ones."""
    name, kind = slot
    return kind != PART, [int(n) for n in name[1:].split(".")] if kind == PART else [], name


INLINE_ACCESSES = 60
"""Memory instructions of a kernel that all have their usual case inline; of larger ones, those in loops."""
LOOP_ACCESSES = 200
"""In loops, how many may."""


MATRIX_FLAGS = frozenset({"mfma", "smfmac"})

LARGE_FRAMES = 300
"""Registers saved at barriers from which on, as for programs of more than `LARGE_PROGRAM` instructions, the time that
LLVM takes for registers that are SSA values across blocks is too long: it grows with both."""


def is_large(program: Program) -> bool:
    """Whether a kernel's registers had better stay in memory from block to block."""
    saved = 0
    for block in program.blocks.values():
        if block.end == "barrier":
            following = program.blocks[block.successors[0]]
            saved += (following.active_in | following.inactive_in).bit_count()
    return program.instruction_count > LARGE_PROGRAM or saved > LARGE_FRAMES


def has_matrices(program: Program) -> bool:
    """Whether there are matrix instructions, which work on registers in memory."""
    return any(MATRIX_FLAGS & i.row.flags for block in program.blocks.values() for i in block.instructions)


def compact_blocks(program: Program) -> set[int]:
    """Addresses of the blocks whose memory instructions are to be calls, for the sake of compile time."""
    loops = [(a, block.address) for block in program.blocks.values() for a in block.successors if a <= block.address]
    inside, outside = 0, 0
    result: set[int] = set()
    for address, block in program.blocks.items():
        count = sum(i.row.encoding in vector.MEMORY_ENCODINGS for i in block.instructions)
        if any(first <= address <= last for first, last in loops):
            inside += count
        else:
            outside += count
            result.add(address)
    if inside > LOOP_ACCESSES:
        return set(program.blocks)
    return result if inside + outside > INLINE_ACCESSES else set()


def label_of(address: int) -> str:
    """The LLVM block of the code at an address."""
    return f"at.{address:x}"
