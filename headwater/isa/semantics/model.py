"""What a text of the semantics language means: typed expression trees over an instruction's operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.errors import InternalError
from headwater.isa.semantics.types import BITS, is_float

CROSS_LANE = ("lane", "first_lane", "writelane", "gather", "scatter", "swizzle")
"""Primitives that take values from other lanes: the engines do them."""

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
"""Operations whose result is a condition."""


class SemanticsError(InternalError):
    """A text of the table that does not parse or type-check: a defect of the table."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An expression: ``op`` with its result's type and arguments.

    ``op`` is a primitive's name, or "operand" (``name``), "constant" (``bits``) or "convert"/"as". ``raw`` marks float
    operations that ignore MODE: denormals are kept and results rounded to nearest. ``weak`` marks literals, whose type
    the place settles.
    """

    op: str
    type: str
    args: tuple[Node, ...] = ()
    name: str = ""
    bits: int = 0
    raw: bool = False
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """What an instruction does beside assigning: ``kind`` is the function's name, ``args`` its values, ``text`` the
    string given to it (``unsupported``)."""

    kind: str
    args: tuple[Node, ...] = ()
    text: str = ""
    type: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """One access to memory: ``kind`` is "load" or "store"; without ``offset`` it is at the instruction's own address,
    with one at its base and these bytes (LDS instructions with two addresses)."""

    kind: str
    type: str
    offset: Node | None


@dataclass(frozen=True, slots=True)
class Semantics:
    """A row's meaning. ``assignments`` are (target, value) over the old state, to be committed together."""

    assignments: tuple[tuple[str, Node], ...]
    effects: tuple[Effect, ...]
    reads: frozenset[str]
    vector: bool
    packed: bool
    """Destination and sources are pairs (v2f16, …): the tree is evaluated for both elements of each lane."""

    types: Mapping[str, str]
    """The language's type of each operand (of each element, if packed)."""

    ignores_exec: bool = False
    """v_writelane and the like: D is written whatever EXEC says."""

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Loads in the order in which they are evaluated, then stores. Atomics have none: see `atomic`."""
        found: dict[int, Access] = {}
        stack = [node for _, node in reversed(self.assignments)]
        while stack:
            node = stack.pop()
            if node.op == "load":
                found.setdefault(id(node), Access("load", node.type, node.args[0] if node.args else None))
            stack.extend(reversed(node.args))
        stores = [
            Access("store", e.type, e.args[1] if len(e.args) > 1 else None) for e in self.effects if e.kind == "store"
        ]
        return (*found.values(), *stores)

    @property
    def is_atomic(self) -> bool:
        """Whether memory is read and written as one operation."""
        return self._new_memory is not None

    @property
    def _new_memory(self) -> Node | None:
        """What an atomic instruction writes to memory."""
        return next((node for target, node in self.assignments if target == "MEM"), None)

    @property
    def atomic(self) -> str:
        """LLVM's ``atomicrmw`` operation that MEM's new value is, with DATA as its operand, or an empty string: then it
        is an expression over MEM and the operands."""
        if self._new_memory is None:
            return ""
        node, update = _settled(self._new_memory), self.update
        if update == "xchg":
            return update if node.name == "DATA" else ""
        if is_float(node.type) or [_plain(arg) for arg in node.args] != ["MEM", "DATA"]:
            return ""
        unsigned = update in ("inc_wrap", "dec_wrap") or (update in ("min", "max") and node.type[0] == "u")
        return f"u{update}" if unsigned else update

    @property
    def update(self) -> str:
        """What an atomic instruction makes of memory: "xchg", "cmpxchg", "mskor" (the bits of a mask are replaced),
        "min", "max", the operation of MEM and an operand ("and", "or", "xor", "add", "sub", "inc_wrap", "dec_wrap"), or
        "other". An empty string where nothing is atomic."""
        return self._update[0]

    @property
    def comparand(self) -> str:
        """The operand with which a compare-and-swap compares memory, or which is the mask of a masked one; an empty
        string where that is part of an operand, and for other updates."""
        return self._update[1]

    @property
    def _update(self) -> tuple[str, str]:
        node = self._new_memory
        if node is None:
            return "", ""
        node = _settled(node)
        if node.op == "select":
            condition, new, _ = node.args
            left, right = (_plain(arg) for arg in condition.args)
            if condition.op == "eq" and left == "MEM":
                return "cmpxchg", right
            if condition.op in ("lt", "gt") and {left, right} == {"MEM", _plain(new)}:
                return ("min" if (condition.op == "lt") == (left == _plain(new)) else "max"), ""
        if node.op == "or" and (kept := _settled(node.args[0])).op == "and" and kept.args[1].op == "not":
            return "mskor", _plain(kept.args[1].args[0])
        if node.op == "operand":
            return "xchg", ""
        simple = "MEM" in (operands := [_plain(arg) for arg in node.args]) and all(operands)
        return node.op.removeprefix("f") if simple else "other", ""

    @property
    def comparison(self) -> tuple[str, Node, Node] | None:
        """Of an instruction whose result is a comparison of an operand: "eq", "ne", "lt", "le", "gt" or "ge", and the
        two sides. The result is PRED where there is one, else D or SCC, as a condition or as all ones and 0."""
        results = dict(self.assignments)
        node = results.pop("PRED", None)
        if node is None:
            if len(results) != 1:
                return None
            ((target, node),) = results.items()
            if target not in ("D", "SCC"):
                return None
            if node.op == "select" and all(arg.op == "constant" for arg in node.args[1:]):
                condition, yes, no = node.args
                node = condition if (yes.bits, no.bits) == ((1 << BITS[yes.type]) - 1, 0) else node
        if node.op not in COMPARISONS or not _plain(node.args[0]):
            return None
        left, right = node.args
        return node.op, left, right

    @property
    def cross(self) -> str:
        """The primitive that takes values from other lanes, if D is computed by one, or an empty string."""
        node = next((n for target, n in self.assignments if target == "D"), None)
        while node is not None and node.op == "as":
            node = node.args[0]
        return node.op if node is not None and node.op in CROSS_LANE else ""

    @property
    def jumps_if(self) -> tuple[str, bool] | None:
        """Of a branch that asks whether an operand is 0: the operand, and whether it jumps where that is another
        number. None for those that jump always or never."""
        found = self.effect("branch")
        if found is None or found.args[0].op not in ("operand", "not", "eq", "ne"):
            return None
        asked = found.args[0]
        return _plain(asked if asked.op == "operand" else asked.args[0]), asked.op in ("operand", "ne")

    def float_inputs(self) -> list[tuple[str, str]]:
        """The floats that are read, and their types."""
        return [(name, type_) for name, type_ in sorted(self.types.items()) if name in self.reads and is_float(type_)]

    def effect(self, kind: str) -> Effect | None:
        """The effect of this kind, or None."""
        return next((e for e in self.effects if e.kind == kind), None)

    @property
    def unsupported(self) -> str:
        """Why the instruction cannot be executed, or an empty string."""
        found = self.effect("unsupported")
        return found.text if found else ""


@dataclass(frozen=True, slots=True)
class Mode:
    """The fields of the MODE register that arithmetic depends on, and what integer clamp does.

    ``round32``, ``round16_64``: 0 to nearest even, 1 up, 2 down, 3 to zero. ``denorm32``, ``denorm16_64``: bit 0 keeps
    denormal inputs, bit 1 denormal results. ``half_overflow``: FP16_OVFL, what is too large for an f16 or for a float
    of eight bits becomes the largest number (AMD, Vega ISA Reference Guide, "MODE register fields"; for eight bits its
    "CDNA3" ISA Reference Guide).
    """

    round32: int = 0
    round16_64: int = 0
    denorm32: int = 3
    denorm16_64: int = 3
    dx10_clamp: bool = True
    ieee: bool = True
    half_overflow: bool = False
    generation: int = 9
    """6 to 9, for what the generations do differently under the same mode."""

    def denorm(self, type_: str) -> int:
        """The denormal bits that hold for a float type."""
        return self.denorm32 if type_ == "f32" else self.denorm16_64

    def rounding(self, type_: str) -> int:
        """The rounding mode that holds for a float type."""
        return self.round32 if type_ == "f32" else self.round16_64


def _settled(node: Node) -> Node:
    """What a node's bits are, whatever they are taken for."""
    while node.op == "as":
        node = node.args[0]
    return node


def _plain(node: Node) -> str:
    """The operand whose bits a node is, or an empty string."""
    node = _settled(node)
    return node.name if node.op == "operand" else ""
