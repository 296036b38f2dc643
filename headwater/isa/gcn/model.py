"""What a decoded GCN instruction is: the table's row, registers, constants, operands; nothing here computes on lanes.

Names follow AMD's "Vega" Instruction Set Architecture Reference Guide: the scalar operand encodings 0…255 of its
chapter on scalar operands index the scalar register file here, so VCC is ``Register("s", 106, 2)``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from headwater.isa.semantics.types import TYPE_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headwater.isa.cost import Cost

T = TypeVar("T")
_UNKNOWN: Any = object()

# Scalar operand encodings with a name of their own.
VCC, M0, EXEC = 106, 124, 126
SHARED_BASE, SHARED_LIMIT, PRIVATE_BASE, PRIVATE_LIMIT, POPS_EXITING_WAVE_ID = 235, 236, 237, 238, 239
VCCZ, EXECZ, SCC, LDS_DIRECT, LITERAL = 251, 252, 253, 254, 255


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """One operand of a row. ``file`` is "s", "v" or "a" where the row, not the encoding, decides the register file.

    ``name``: D, D1 (destinations), S0, S1, S2, DATA, DATA1, ADDR, SADDR, RSRC, SAMP, SOFFSET, SIMM, LABEL.
    A destination that is read as well (v_mac_f32, s_cmovk_i32) has the row's flag ``reads_d``.
    """

    name: str
    type: str
    file: str = ""


ROLES = ("result", "source", "literal", "address", "sampler", "data", "immediate")
"""What an operand is to its instruction. A ``literal`` is a factor in the code, ``data`` what a memory instruction
stores, an ``immediate`` a field that is no register."""


FLOWS = frozenset(("exit", "barrier", "jump", "call", "indirect", "branch"))
"""Flags of rows, at most one each: where control goes after it. To the wavefront's end; on when other wavefronts are
there; to the label; to an address in a register and back; to one in a register; to the label or on."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a form has an operand: the field ("" for none), its kind, and what the field's number is multiplied by; its
    role of `ROLES`, and its number among the operands of that role."""

    field: str
    kind: str
    scale: int = 1
    role: str = "source"
    position: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One operation of the table; ``opcodes`` maps an ISA of ``ISAS`` to the opcode, and lacks those without it.

    ``derived``: what has been computed of it, by the name of what computes it (`Row.once`)."""

    name: str
    encoding: str
    opcodes: Mapping[str, int]
    operands: tuple[OperandSpec, ...]
    flags: frozenset[str]
    cost: Cost
    semantics: str
    derived: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def once(self, name: str, make: Callable[[Row], T]) -> T:
        """``make`` of this row, computed when it is first asked for; ``name`` says what it is."""
        known: T | None = self.derived.get(name, _UNKNOWN)
        if known is _UNKNOWN:
            known = self.derived[name] = make(self)
        return cast("T", known)


@dataclass(frozen=True, slots=True)
class Register:
    """``dwords`` consecutive registers of the scalar ("s"), vector ("v") or accumulation ("a") file.

    The scalar file is indexed by the operand encoding: 0…101 SGPRs (…103 on gfx6/7), VCC 106, TTMP 108… or 112…,
    M0 124, EXEC 126, and the read-only SHARED_BASE 235 … SCC 253, LDS_DIRECT 254.
    """

    file: str
    index: int
    dwords: int


@dataclass(frozen=True, slots=True)
class Constant:
    """An inline constant, by its encoding: 128…208 integers, 240…248 floats. ``constant_bits`` gives its value."""

    code: int


@dataclass(frozen=True, slots=True)
class Literal:
    """The 32 bits that follow the instruction (or, in v_madmk and s_setreg_imm32, belong to it)."""

    bits: int


Value: TypeAlias = "Register | Constant | Literal"


@dataclass(frozen=True, slots=True)
class Source:
    """An operand read. ``sel``: SDWA selection (0…3 byte, 4 and 5 word, 6 all); ``op_sel``: which half of a 16-bit
    operand of VOP3, or of VOP3P's low result; ``op_sel_hi`` and ``neg_hi``: VOP3P's high result. ``role`` and
    ``position`` are those of the form's `Place`; ``dpp``: lanes read it from others, as the field dpp_ctrl says."""

    name: str
    type: str
    value: Value
    neg: bool = False
    abs: bool = False
    sext: bool = False
    sel: int = 6
    op_sel: int = 0
    op_sel_hi: int = 0
    neg_hi: bool = False
    role: str = "source"
    position: int = 0
    dpp: bool = False


@dataclass(frozen=True, slots=True)
class Destination:
    """An operand written. ``sel`` and ``unused`` (0 zero, 1 sign-extend, 2 preserve) are SDWA's; ``op_sel`` is VOP3's
    high half."""

    name: str
    type: str
    register: Register
    sel: int = 6
    unused: int = 2
    op_sel: int = 0


INDEX_SOURCES, INDEX_DEST = (1, 2, 4), 8
"""Bits of the mode of s_set_gpr_idx_on: M0 is added to the number of the first, second and third source, of the
destination (AMD, "Vega" ISA Reference Guide, "VGPR Indexing")."""


def index_bit(operand: Source | Destination) -> int:
    """The bit of that mode for an operand; 0 if there is none."""
    if isinstance(operand, Destination):
        return INDEX_DEST
    return INDEX_SOURCES[operand.position] if operand.role == "source" and operand.position < len(INDEX_SOURCES) else 0


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction at a byte address. ``form`` is the encoding it uses (VOP2's row may come as VOP3, SDWA, DPP);
    ``fields`` holds the encoding's raw fields by their documented names (lower case), whether printed or not;
    ``target`` is a branch's byte address."""

    address: int
    size_bytes: int
    row: Row
    form: str
    dests: tuple[Destination, ...]
    sources: tuple[Source, ...]
    fields: Mapping[str, int]
    target: int | None = None
    effects: Any = field(default=None, init=False, compare=False, repr=False)
    """What `headwater.emulate` has found that it reads and writes."""

    def sources_of(self, role: str) -> Iterator[Source]:
        """The sources of a role of `ROLES`, in the row's order."""
        return (source for source in self.sources if source.role == role)

    def source(self, name: str) -> Source | None:
        """The source called ``name``, or None where this instruction lacks it (``off``, no sampler, …)."""
        for source in self.sources:
            if source.name == name:
                return source
        return None

    def dest(self, name: str) -> Destination | None:
        """The destination called ``name``, or None."""
        for dest in self.dests:
            if dest.name == name:
                return dest
        return None


# The inline constants 240…248; 248 is 1/(2π), of gfx8 and later.
FLOAT_CONSTANTS = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 0.15915494309189532)
_HALVES = {"f16", "b16", "v2f16", "v4f16"}
_PAIRS = {"v2f32", "v2b32"}


@lru_cache(1024)
def constant_bits(code: int, kind: str) -> int:
    """The bits of inline constant ``code`` (128…208, 240…248) as an operand of type ``kind``, zero-extended.

    They are 32 bits, of which op_sel and op_sel_hi may take either half, where the operand has 16: integers are
    sign-extended, a float is a half with zeros above it, or for integer operations single precision (LLVM,
    AMDGPUBaseInfo.cpp, getInlineEncodingV216; llvm-project PR 76522 and 198005). Both halves of packed single
    precision get the constant (AMD, rocjitsu: ROCm/rocm-systems PR 10589). Else it is as wide as the operand.
    """
    width = max(TYPE_BITS[kind], 32)
    if kind in _PAIRS:
        return constant_bits(code, "b32") * 0x1_0000_0001
    if code <= 208:
        value = code - 128 if code <= 192 else 192 - code
        return value & ((1 << width) - 1)
    value_float = FLOAT_CONSTANTS[code - 240]
    if kind in _HALVES:
        if code == 248:
            return 0x3118
        return int.from_bytes(struct.pack("<e", value_float), "little")
    if width == 64:
        if code == 248:
            return 0x3FC45F306DC9C882
        return int.from_bytes(struct.pack("<d", value_float), "little")
    if code == 248:
        return 0x3E22F983
    return int.from_bytes(struct.pack("<f", value_float), "little")
