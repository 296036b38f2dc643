"""What a VLIW shader is: the table's rows, ALU groups, fetches, control flow; nothing here computes on lanes.

Names follow AMD's R600, R700, Evergreen and HD 6900 instruction set documents: a shader is a list of control-flow (CF)
instructions, some of which start a clause of ALU groups or of fetches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from headwater.chips.vliw_isas import TRAITS, Traits
from headwater.isa.cost import Cost

MOST_GROUP = 1024
"""Work-items of a work-group, the most of any chip."""
MOST_WORK_ITEMS = 1 << 31
"""Work-items or pixels of a launch: larger ones are refused, so that no number of a work-item is negative."""
MOST_ROWS = MOST_WORK_ITEMS // 4096
"""Rows of a domain: OpenCL's work-items on R600 and R700 are laid out in rows of 4096, IL's domains have fewer."""

SLOT_NAMES = "xyzwt"
X, Y, Z, W, T = range(5)

# Source selects with a name of their own (Evergreen ISA, "ALU_WORD0", SRC0_SEL).
KCACHE_STARTS = (128, 160, 256, 288)
"""The first select of each locked constant cache window; each has 32 vec4. Windows 2 and 3: Evergreen and later."""
LDS_OQ_A, LDS_OQ_B, LDS_OQ_A_POP, LDS_OQ_B_POP = 219, 220, 221, 222
ZERO, ONE, ONE_INT, MINUS_ONE_INT, HALF, LITERAL, PV, PS = 248, 249, 250, 251, 252, 253, 254, 255
CLAUSE_TEMPORARIES = (124, 125, 126, 127)
"""GPR numbers that T0…T3 are encoded as, where the shader has clause temporaries."""

KINDS = (
    "OP2", "OP3", "LDS", "CF", "CF_ALU", "GWS", "EXPORT", "MEM", "RAT", "TEX", "VTX", "SEM", "GDS", "MEM_RD",
    "MEM_DSW", "MEM_DSR", "RAT_INST",
)  # fmt: skip
"""Kinds of rows. OP2, OP3, LDS are ALU operations; TEX … MEM_DSR fetches; RAT_INST what a RAT instruction does; the
others control flow."""
ALU_KINDS = ("OP2", "OP3", "LDS")
FETCH_KINDS = ("TEX", "VTX", "SEM", "GDS", "MEM_RD", "MEM_DSW", "MEM_DSR")


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """One operand of a row's semantics: D, S0…S2 (of a reduction over the four slots X0, X1, … W1), ADDR, DATA."""

    name: str
    type: str


_RESULTS = ("D", "D1")
"""The names of operands that are written; all others are read."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One operation of the table; rows are equal only to themselves.

    ``name`` is the instruction set documents', ``mnemonic`` what the vendor's disassembler prints for it.
    ``opcodes`` maps a generation to the opcode and lacks those without it. ``slots`` maps it to where an ALU operation
    may issue: "any", "vec" (x…w), "trans" (t), "vec4" (takes x…w together), "replicated" (Cayman: in x, y and z, and
    in w where w is written). Doubles: flags ``pair`` (slots x y or z w) and ``quad`` (x…w).
    """

    name: str
    mnemonic: str
    kind: str
    opcodes: Mapping[str, int]
    operands: tuple[OperandSpec, ...]
    nsrc: int
    slots: Mapping[str, str]
    flags: frozenset[str]
    cost: Cost
    semantics: str

    @property
    def result(self) -> OperandSpec | None:
        """What the operation gives, None if it gives nothing. LDS operations may give a second one."""
        return next((operand for operand in self.operands if operand.name in _RESULTS), None)

    @property
    def inputs(self) -> tuple[OperandSpec, ...]:
        """What the operation reads, in the order of its sources."""
        return tuple(operand for operand in self.operands if operand.name not in _RESULTS)


class Fields(Mapping[str, int]):
    """An encoding's fields by their documented names, lower case; a name that was not given reads as 0.

    Only fields that are not 0 are kept and iterated, so that equal encodings compare equal.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, int] = MappingProxyType({})) -> None:
        self._values = {name: int(value) for name, value in values.items() if value}

    def __getitem__(self, name: str) -> int:
        value = self._values.get(name)
        if value is None:
            from headwater.isa.vliw.encodings import FIELD_NAMES

            if name not in FIELD_NAMES:
                raise KeyError(name)
            return 0
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Fields):
            return self._values == other._values
        return isinstance(other, Mapping) and self == Fields(other)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Fields({self._values})"


@dataclass(frozen=True, slots=True)
class Source:
    """An ALU operand as encoded: ``sel`` 0…127 GPR, 128… constant cache, 219… LDS queues, 248…255 inline constants,
    literal, PV, PS. ``literal`` are the 32 bits where ``sel`` is LITERAL, whose dword of the group is ``chan``."""

    sel: int
    chan: int = 0
    neg: bool = False
    abs: bool = False
    rel: bool = False
    literal: int | None = None


@dataclass(frozen=True, slots=True)
class AluOp:
    """One operation of a group, in ``slot`` 0…4 (x y z w t).

    ``sources`` are the row's ``nsrc``, followed by those that the encoding has beyond them only where they are not
    all 0. ``omod`` is EXECUTE_MASK_OP where Cayman's operation updates the execution mask; ``dst_gpr`` is MOVA_DST in
    Cayman's MOVA_INT. ``lds_offset`` (0…63, in dwords) and the LDS queues belong to kind LDS, which has no
    destination GPR. OP3 always writes and has no ``abs``, ``omod`` and updates.
    """

    row: Row
    slot: int
    sources: tuple[Source, ...] = ()
    dst_gpr: int = 0
    dst_chan: int = 0
    write: bool = True
    dst_rel: bool = False
    clamp: bool = False
    omod: int = 0
    bank_swizzle: int = 0
    pred_sel: int = 0
    update_exec_mask: bool = False
    update_pred: bool = False
    index_mode: int = 0
    fog_merge: bool = False
    lds_offset: int = 0


@dataclass(frozen=True, slots=True)
class AluGroup:
    """Operations that issue together, in the order x y z w t, and their literals (0, 2 or 4 dwords as encoded)."""

    ops: tuple[AluOp, ...]
    literals: tuple[int, ...] = ()

    @property
    def slots(self) -> int:
        """64-bit slots of the ALU clause that the group takes, its literals among them."""
        return len(self.ops) + len(self.literals) // 2


@dataclass(frozen=True, slots=True)
class Fetch:
    """An instruction of a fetch clause: texture, vertex, data share or memory read."""

    row: Row
    fields: Mapping[str, int] = field(default_factory=Fields)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", _fields(self.fields))


@dataclass(frozen=True, slots=True)
class Cf:
    """A control-flow instruction with the clause that it starts.

    ``fields`` lacks what `encode` computes: ADDR and COUNT of a clause, the opcode. A jump's ``addr`` is the index of
    a CF instruction in `Shader.cf`, counting ALU_EXT as none: its windows are fields ``kcache_bank2`` … of the ALU
    clause that it extends. ``address`` is where the clause was found, in 64-bit words from the shader's start; it is
    kept by `encode` if given, and is not compared.
    """

    row: Row
    fields: Mapping[str, int] = field(default_factory=Fields)
    groups: tuple[AluGroup, ...] = ()
    fetches: tuple[Fetch, ...] = ()
    address: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", _fields(self.fields))


@dataclass(frozen=True, slots=True)
class Shader:
    """A program: control flow, in order."""

    generation: str
    cf: tuple[Cf, ...]

    @property
    def traits(self) -> Traits:
        """What the generation has."""
        return TRAITS[self.generation]


def _fields(values: Mapping[str, int]) -> Fields:
    return values if isinstance(values, Fields) else Fields(values)
