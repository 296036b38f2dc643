"""What a code object is once it has been read: kernels with their arguments, machine code, relocations.

Classes only: reading is `headwater.isa.gcn.codeobject`'s, and what has been read is kept, so that a launch of known
code needs nothing but these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.base import cache
from headwater.errors import CodeObjectError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.isa.gcn.amdcl import Legacy
    from headwater.isa.gcn.model import Instruction
    from headwater.isa.semantics.model import Mode


PROLOGUE_BYTES = 256
"""What precedes the entry of kernels with preloaded arguments (LLVM, AMDGPUUsage, "Preloaded Kernel Arguments")."""


USER_REGISTERS = (
    ("private_segment_buffer", 4),
    ("dispatch_ptr", 2),
    ("queue_ptr", 2),
    ("kernarg_segment_ptr", 2),
    ("dispatch_id", 2),
    ("flat_scratch_init", 2),
    ("private_segment_size", 1),
)
"""What user SGPRs hold, in order: names, by bits of the descriptor's properties, and how many registers."""


class KernelArg(NamedTuple):
    """An argument, hidden ones included: where it lies in the kernarg segment and what it is.

    ``value_kind`` and ``address_space`` as in the metadata of version 3 ("by_value", "global_buffer",
    "dynamic_shared_pointer", "hidden_global_offset_x", …; "global", "local", "constant", …).
    """

    name: str
    offset: int
    size: int
    value_kind: str
    address_space: str = ""
    type_name: str = ""
    access: str = ""
    is_const: bool = False


class KernelObject(NamedTuple):
    """A kernel: what its descriptor and its metadata say. Addresses are those of the code object's image."""

    name: str
    entry: int
    """Address of the first instruction that is run."""
    code_end: int
    args: tuple[KernelArg, ...]
    kernarg_bytes: int
    group_segment_bytes: int
    private_segment_bytes: int
    dynamic_stack: bool
    vgpr_count: int
    sgpr_count: int
    agpr_count: int
    user_sgpr_count: int
    enable_private_segment_buffer: bool
    enable_dispatch_ptr: bool
    enable_queue_ptr: bool
    enable_kernarg_segment_ptr: bool
    enable_dispatch_id: bool
    enable_flat_scratch_init: bool
    enable_private_segment_size: bool
    enable_workgroup_id: tuple[bool, bool, bool]
    enable_workgroup_info: bool
    enable_wave_offset: bool
    workitem_id_count: int
    """How many of the VGPRs 0 to 2 hold work-item ids: 1 to 3."""
    float_mode: int
    """The MODE register's low byte: rounding and denormals."""
    dx10_clamp: bool
    ieee: bool
    accum_offset: int
    """gfx90a: the first of the accumulation registers among all."""
    generation: int
    reqd_group_size: tuple[int, int, int] | None = None
    max_flat_group: int = 0
    wavefront: int = 64
    rsrc: tuple[int, int, int] = (0, 0, 0)
    """COMPUTE_PGM_RSRC1, 2 and 3."""
    properties: int = 0
    preload: tuple[int, int] = (0, 0)
    """Which dwords of the arguments are put into user SGPRs, after all others: the first, and how many."""
    legacy: Legacy | None = None
    """The other calling convention, of the OpenCL 1.x driver's binaries."""

    @property
    def start(self) -> int:
        """Address of its code: where arguments are preloaded, that of the prologue, which old firmware runs and the
        hardware as it is described here skips."""
        return self.entry - PROLOGUE_BYTES if self.preload[1] else self.entry

    @property
    def mode(self) -> Mode:
        """The MODE register that the kernel starts with, as the meanings of instructions take it."""
        from headwater.isa.semantics.model import Mode

        bits = self.float_mode
        rounding, denormals = bits & 15, bits >> 4
        half_overflow = bool(self.rsrc[0] >> 26 & 1)
        return Mode(
            *(rounding & 3, rounding >> 2, denormals & 3, denormals >> 2),
            self.dx10_clamp,
            self.ieee,
            half_overflow,
            self.generation,
        )


class Function(NamedTuple):
    """Machine code of which a file says nothing but the name. Addresses are those of the code object's image."""

    name: str
    entry: int
    code_end: int

    @property
    def start(self) -> int:
        """Address of its code."""
        return self.entry


class Relocation(NamedTuple):
    """64 bits at ``offset`` of the image that are to hold the image's address plus ``value``."""

    offset: int
    value: int


@dataclass(eq=False)
class CodeObject:
    """A code object in the form that all its kinds are read into. Compared and hashed by identity."""

    filename: str
    code: bytes
    """The ELF file, without a bundle around it."""
    target: str
    isa: str
    version: int
    """Of the code object, 2 to 6; 1 for the binaries of the OpenCL 1.x driver; 0 for files without kernels."""
    kernels: dict[str, KernelObject]
    text_start: int
    text_end: int
    relocations: tuple[Relocation, ...] = ()
    printf_formats: tuple[str, ...] = ()
    has_writable_data: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    loads: tuple[tuple[int, bytes, int], ...] = ()
    """The segments: address, bytes in the file, bytes in memory."""
    functions: tuple[Function, ...] = ()
    """What a file without kernels has."""
    is_linked: bool = True

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_instructions"}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the ELF file."""
        return cache.digest(self.code)

    @cached_property
    def _image(self) -> bytes:
        image = bytearray(max((address + size for address, _, size in self.loads), default=0))
        for address, data, _ in self.loads:
            image[address : address + len(data)] = data
        return bytes(image)

    def image(self) -> bytes:
        """All segments at their addresses, from address 0 on, zeros between and behind them."""
        return self._image

    @cached_property
    def _instructions(self) -> dict[int, Instruction]:
        return {}

    def code_of(self, kernel: str) -> bytes:
        """The machine code of a kernel."""
        found = self.kernels[kernel]
        return self._image[found.start : found.code_end]

    def instruction(self, address: int) -> Instruction:
        """The instruction at an address, decoded when it is first asked for. DecodeError if there is none."""
        found = self._instructions.get(address)
        if found is None:
            from headwater.isa.gcn.decode import decode

            found = self._instructions[address] = decode(self._image, address, self.isa)
        return found

    @cached_property
    def _lines(self) -> Any:
        from headwater.isa.gcn.line_table import LineTable

        return LineTable(self.code)

    def line_of(self, address: int) -> tuple[str, int, int] | None:
        """File, line and column that the instruction at ``address`` was made from; None without debug information."""
        if not self.is_linked:  # its line table has no addresses yet
            return None
        found: tuple[str, int, int] | None = self._lines.find(address)
        return found

    def part(self, name: str) -> KernelObject | Function:
        """The kernel, or function of a file without kernels, called ``name``; CodeObjectError as `kernel`."""
        return next((one for one in self.functions if one.name == name), None) or self.kernel(name)

    def kernel(self, name: str) -> KernelObject:
        """The kernel called ``name``; CodeObjectError, naming those there are, if there is none."""
        if name not in self.kernels:
            import difflib

            close = difflib.get_close_matches(name, self.kernels, 1)
            known = f"its kernels are {', '.join(self.kernels)}"
            if not self.kernels:
                known = f"its functions are {', '.join(one.name for one in self.functions)}"
            raise CodeObjectError(
                f"{self.filename}: the file has no kernel {name!r}",
                hint=f"did you mean {close[0]}? {known}" if close else known,
            )
        return self.kernels[name]
