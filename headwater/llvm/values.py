"""The model of LLVM IR's functions: blocks, instructions and their operands, as `headwater.llvm.reader` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from headwater.llvm.types import VOID, Type

FAST_MATH = frozenset("fast nnan ninf nsz arcp contract afn reassoc".split())
BINARY = frozenset("add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split())
CASTS = frozenset(
    "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr inttoptr bitcast "
    "addrspacecast".split()
)
_FLOAT = re.compile(r"-?\d+\.\d+(e[+-]\d+)?|0x[0-9A-F]+")
_NONZERO_DIGIT = re.compile(r"[1-9A-Fa-f]")


@dataclass(slots=True, eq=False)
class Value:
    """An operand: a local name (``%x``) or a constant's text. ``elems`` are a vector constant's components."""

    ty: Type
    text: str
    elems: tuple[Value, ...] | None = None

    @property
    def is_local(self) -> bool:
        return self.text.startswith("%")

    @property
    def is_undefined(self) -> bool:
        return self.text in ("undef", "poison")

    @property
    def is_nonzero(self) -> bool:
        """Whether it is a constant number other than zero."""
        digits = self.text.partition("e")[0].removeprefix("0x")
        return not self.is_local and not self.is_undefined and _NONZERO_DIGIT.search(digits) is not None

    @property
    def is_float_number(self) -> bool:
        """Whether it is a float's or a double's number, as LLVM writes them."""
        return _FLOAT.fullmatch(self.text) is not None

    @property
    def is_expression(self) -> bool:
        """Whether it is a constant that an instruction could compute, see `Module.constant_expression`."""
        return self.elems is None and self.text.endswith(")")

    @property
    def splat(self) -> Value | None:
        """The component of a vector constant whose components are all the same value, written once."""
        return self.elems[0] if self.elems is not None and self.text.startswith("splat") else None

    def component(self, index: int) -> Value:
        """Component ``index`` of a vector constant."""
        if self.elems is not None:
            return self.elems[index]
        if self.is_expression:  # such as a bitcast of a vector with other components
            return Value(self.ty.scalar, f"extractelement ({self.ty} {self.text}, i64 {index})")
        return zero_of(self.ty.scalar) if self.text == "zeroinitializer" else Value(self.ty.scalar, self.text)


def zero_of(ty: Type) -> Value:
    """The zero constant of a scalar type."""
    text = {"int": "0", "float": "0.000000e+00", "ptr": "null"}.get(ty.kind, "zeroinitializer")
    return Value(ty, "false" if ty.text == "i1" else text)


@dataclass(slots=True, eq=False)
class Inst:
    """One instruction. ``name`` is its result (``%x``) or empty; the other fields depend on ``op``.

    ``detail`` holds: the predicate of icmp/fcmp, the callee of call, the source type text of getelementptr is in
    ``source``; the operation of atomicrmw; the number of
    alloca's address space; ``indices`` those of extractvalue/insertvalue/shufflevector masks. ``site``
    is the same for copies of one instruction and differs between the places where a function was inlined. ``attached``
    is its metadata as it is written: ``, !dbg !7``.
    """

    op: str
    ty: Type
    name: str = ""
    args: list[Value] = field(default_factory=list)
    flags: tuple[str, ...] = ()
    detail: str = ""
    source: Type = VOID
    align: int = 0
    labels: tuple[str, ...] = ()
    indices: tuple[int, ...] = ()
    line: int = 0
    column: int = 0
    site: str = ""
    attached: str = ""

    def attachment(self, kind: str) -> str:
        """The node of its metadata of a kind (``dbg``), "" if it has none."""
        _, found, rest = self.attached.partition(f", !{kind} ")
        return rest.partition(",")[0] if found else ""

    @property
    def fast_math(self) -> str:
        return "".join(f + " " for f in self.flags if f in FAST_MATH)


@dataclass(slots=True, eq=False)
class Block:
    """A basic block; the last instruction is its terminator (br, ret or unreachable)."""

    name: str
    insts: list[Inst] = field(default_factory=list)

    @property
    def term(self) -> Inst:
        return self.insts[-1]

    @property
    def phis(self) -> Iterator[Inst]:
        for inst in self.insts:
            if inst.op != "phi":
                return
            yield inst

    @property
    def successors(self) -> tuple[str, ...]:
        return self.term.labels


@dataclass(slots=True, eq=False)
class Param:
    """A function's parameter; ``by_value`` is the type of a struct that is passed as a pointer to a copy."""

    ty: Type
    name: str
    attributes: str
    by_value: Type | None = None


@dataclass(slots=True, eq=False)
class Function:
    """A function: its parameters, and its blocks by name, the entry block first."""

    name: str
    params: list[Param]
    blocks: dict[str, Block]
    metadata: str = ""

    def predecessors(self) -> dict[str, list[str]]:
        preds: dict[str, list[str]] = {name: [] for name in self.blocks}
        for block in self.blocks.values():
            for target in dict.fromkeys(block.successors):
                preds[target].append(block.name)
        return preds


@dataclass(frozen=True, slots=True)
class Global:
    """A global variable. ``head``: what stands before its type, ``initialiser``: what stands behind it, as they are
    written; ``align``: 0 where it does not say it."""

    name: str
    ty: Type
    head: str
    initialiser: str
    space: int
    align: int

    @property
    def is_external(self) -> bool:
        """Whether it is defined elsewhere."""
        words = self.head.split()
        return "external" in words or "extern_weak" in words

    @property
    def is_constant(self) -> bool:
        """Whether nobody writes it."""
        return self.head.endswith("constant ")
