"""What translating a kernel needs at any instruction: registers, masks, the options, and how to look up memory or stop.

`Translator` passes in everywhere; what has been written is in its builder. `headwater.emulate.gcn.translate`
makes a whole function of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.emulate.gcn.program import Program
from headwater.emulate.gcn.watch import Watch
from headwater.emulate.wave.builder import Value, WaveBuilder
from headwater.emulate.wave.deferred import Deferred
from headwater.emulate.wave.layout import FAULT_NAMES
from headwater.emulate.wave.memory import Shape, Slot
from headwater.emulate.wave.outlined import Outlined
from headwater.emulate.wave.registers import Mask, Registers
from headwater.isa.gcn.model import EXEC
from headwater.isa.semantics.model import Mode

if TYPE_CHECKING:
    from headwater.emulate.watch.hooks import Observer


@dataclass(frozen=True, slots=True)
class Options:
    """How to translate. ``full``: every wavefront begins with all lanes (groups of a multiple of 64 work-items).
    ``avx512``: this machine has AVX-512 (with BW).

    ``count``: count wave-instructions. ``observer``: gets what happens, see `headwater.emulate.watch.hooks`.
    """

    full: bool = True
    avx512: bool = True
    count: bool = True
    observer: Observer | None = None


@dataclass(slots=True)
class Translator(Deferred):
    """The state of the translation of one kernel."""

    program: Program
    mode: Mode
    """The static MODE where the translation stands."""
    options: Options
    private_registers: bool = False
    """Whether buffer instructions may access private memory (the kernel has some)."""
    private_descriptor: int = -1
    """The first of the scalar registers by which they surely do, if there are any."""

    b: WaveBuilder = field(default_factory=WaveBuilder)
    regs: Registers = field(init=False)
    watch: Watch | None = field(init=False)
    """Tells the observer, if there is one."""
    slots: int = 0
    """Memories of an allocation that instructions have."""
    slot_pointers: dict[int, str] = field(default_factory=dict)
    """Names of those in the wavefront's structure, by their place there."""
    split: set[int] = field(default_factory=set)
    """Scalar registers (even numbers) of which the halves of the pair are also used alone."""
    after: tuple[int, int, int] = (0, 0, 0)
    """What is live after the instruction that is being translated."""
    shapes: dict[tuple[str, str | None, str, bool], Shape] = field(default_factory=dict)
    """What is known of registers of addresses in the block that is being translated."""
    hides_chains: bool = False
    """Whether long chains of integer operations are cut, for the sake of compile time: see `vector.CHAIN`."""
    chains: dict[int, int] = field(default_factory=dict)
    """Vector registers of the block that integer operations have made, and how many in a row."""
    compact: bool = False
    """Whether memory instructions of the block are only calls: short code, for what is not in a loop."""
    in_frame: bool = False
    """Whether registers live in the wavefront's frame, not in stack slots that LLVM makes SSA values of."""
    outlined: Outlined | None = None
    """Functions that compute long instructions, where these are not to be inline."""
    uses_matrices: bool = False
    uses_buffers: bool = False
    """Whether it hands buffers' descriptors to support.c."""
    uses_texels: bool = False
    """Whether it calls texels.c."""
    indexed_registers: int = 0
    """Room for so many vector registers is wanted, of which M0 picks one."""
    condition: str = ""
    """Whether the branch that ends the block is taken."""
    jump_target: str = "0"
    """Where the indirect jump that ends the block goes: an address."""

    def __post_init__(self) -> None:
        Deferred.__init__(self)
        self.regs = Registers(self.b, lambda base: base in self.split, self.flush)
        observer = self.options.observer
        self.watch = None if observer is None else Watch(observer, self.program, self.b, self.regs, self.flush)

    # ---- writing registers

    def exec_mask(self) -> Mask:
        """EXEC as it is now."""
        return self.regs.mask(EXEC)

    def masked(self, register: int) -> bool:
        """Whether a vector register's old value is still wanted in lanes that EXEC excludes."""
        return not self.regs.exec_full and bool(self.after[2] >> register & 1)

    # ---- memory

    def new_slot(self) -> str:
        """Memory of an allocation, for one instruction."""
        self.slots += 1
        return f"%slot{self.slots - 1}"

    def fixed_slot(self, offset: int) -> str:
        """A slot in the wavefront's structure: one of the memories that do not change."""
        return self.slot_pointers.setdefault(offset, f"%fixed{offset}")

    def slot_values(self, slot: str) -> tuple[str, str]:
        """Start and size of a slot's allocation."""
        invariant = ", !invariant.load !9001" if slot.startswith("%fixed") else ""
        start = self.b.emit(f"load i64, ptr {slot}, align 8{invariant}")
        second = self.b.emit(f"getelementptr i8, ptr {slot}, i64 8")
        return start, self.b.emit(f"load i64, ptr {second}, align 8{invariant}")

    def slot_now(self, pointer: str) -> Slot:
        """A slot with its allocation as it is where the instruction begins."""
        return Slot(pointer, *self.slot_values(pointer))

    def check_scalar(self, address: str, nbytes: int, how: int, pc: int, slot: str) -> None:
        """Stop unless an access by the whole wavefront lies in one allocation."""
        b = self.b
        start, size = self.slot_values(slot)
        offset = b.emit(f"sub i64 {address}, {start}")
        limit = b.intrinsic("usub.sat", "u64", Value(size, "u64"), Value(str(nbytes - 1), "u64")).text
        inside = b.emit(f"icmp ult i64 {offset}, {limit}")
        fast, slow = b.label("inside"), b.label("look")
        b.line(f"br i1 {inside}, label %{fast}, label %{slow}, !prof !9100")
        b.start(slow)
        b.declare("declare hidden i32 @hw_scalar(ptr, i64, i64, i32, i64, ptr) #1")
        found = b.emit(f"call i32 @hw_scalar(ptr %w, i64 {address}, i64 {nbytes}, i32 {how}, i64 {pc}, ptr {slot})")
        b.line(f"br i1 {b.emit(f'icmp ne i32 {found}, 0')}, label %{fast}, label %wave.stopped, !prof !9100")
        b.start(fast)

    def stop_unless(self, fine: str) -> None:
        """Leave if there was a fault, which has been recorded."""
        going = self.b.label("going")
        self.b.line(f"br i1 {fine}, label %{going}, label %wave.stopped, !prof !9100")
        self.b.start(going)

    def stop(self, kind: str, pc: int, detail: str = "0") -> None:
        """Record a fault and leave. Ends the LLVM block."""
        b = self.b
        b.declare("declare hidden i32 @hw_stop(ptr, i32, i64, i64) #1")
        b.emit(f"call i32 @hw_stop(ptr %w, i32 {FAULT_NAMES[kind]}, i64 {pc}, i64 {detail})")
        b.jump("wave.stopped")
