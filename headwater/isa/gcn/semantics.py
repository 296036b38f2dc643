"""Input: the semantics column of the instruction tables. Output: typed expression trees over the operands.

The language is a subset of Python's, read with `ast`: statements separated by ``;``, each an assignment to a
destination (``D``, ``D1``, ``SCC``, ``VCC``, ``EXEC``, ``M0``, ``PC``, ``MEM``, …) or to a temporary, or a call of an
effect (``store(…)``, ``branch(…)``, ``nop()``, …). In vector rows it speaks of one lane, masks being that lane's bit;
in scalar rows of the wavefront. A name read after it was assigned has its new value, before that the old one.
What modifiers, SDWA, DPP, clamp, omod and EXEC do around the expression is the engines' part.

Types are those of `BITS`. Integer and float literals take the type that the place wants. Operators
want operands of one type, except that a shift's amount may be of any; a shift by the width or more gives 0 or the sign.
``T(x)`` converts by value (integers by the source's signedness, floats to T rounded as MODE says), ``as_T(x)``
reinterprets. Functions written in the language itself are in `headwater.isa.gcn.prelude`.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from headwater.errors import InternalError
from headwater.isa.gcn.model import Row

BITS: Mapping[str, int] = {
    "u1": 1,
    **{f"{kind}{bits}": bits for kind in "ui" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": bits for bits in (96, 128, 160, 256, 512, 1024)},
    "f16": 16,
    "f32": 32,
    "f64": 64,
}
"""Bits of the types. ``u1`` is a condition, or one lane's bit of a mask; those above 64 bits are only moved."""

CROSS_LANE = ("lane", "first_lane", "writelane", "gather", "scatter", "swizzle")
"""Primitives that take values from other lanes: the engines do them."""

FLOATS = ("f16", "f32", "f64")

TARGETS = ("D", "D1", "S0", "SCC", "VCC", "EXEC", "M0", "PC", "MEM", "PRED", "KILL", "AR", "IDX0", "IDX1")

SPECIAL_TYPES: Mapping[str, str] = {
    **{"SCC": "u1", "M0": "u32", "PC": "u64", "CLAMP": "u1", "LANE": "u32", "FP16_OVFL": "u1", "DX10_CLAMP": "u1"},
    **{"PRED": "u1", "KILL": "u1", "AR": "i32", "IDX0": "i32", "IDX1": "i32"},
}
"""Names that every row may read. ``CLAMP`` is the instruction's bit, ``FP16_OVFL`` and ``DX10_CLAMP`` are those of
MODE, ``LANE`` is the lane's number, ``PC`` the address of the following instruction; VCC and EXEC are ``u1`` in vector
rows and ``u64`` in scalar ones. The VLIW machines have ``PRED`` and ``KILL`` (what PRED_SET… and KILL… decide for a
lane), ``AR`` and the two CF indices."""

SETTINGS = ("CLAMP", "FP16_OVFL", "DX10_CLAMP")
"""Those that are no operands: an evaluation is given the instruction's bits and MODE apart."""

FIELDS = ("OFFSET", "OFFSET0", "OFFSET1", "SSRC1", "SIMM16", "CHAN", "OP_SEL")
"""Fields of the instruction that a text may read as constants of type u32 (SIMM16: i32). ``CHAN``: the VLIW machines'
DST_CHAN."""

VECTOR_ENCODINGS = ("VOP", "DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG", "EXP", "VINTRP", "VLIW")


class SemanticsError(InternalError):
    """A text of the table that does not parse or type-check: a defect of the table."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An expression: ``op`` with its result's type and arguments.

    ``op`` is a primitive's name, or "operand" (``name``), "constant" (``bits``) or "convert"/"as". ``raw`` marks float
    operations that ignore MODE: denormals are kept and results rounded to nearest. ``elements`` is 2 where the
    expression stands for both halves of packed operands.
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
        return any(target == "MEM" for target, _ in self.assignments)

    @property
    def atomic(self) -> str:
        """LLVM's ``atomicrmw`` operation that MEM's new value is, with DATA as its operand, or an empty string: then it
        is an expression over MEM and the operands."""
        node = next((n for target, n in self.assignments if target == "MEM"), None)
        return _atomic(node) if node else ""

    @property
    def exchange(self) -> tuple[Node, Node] | None:
        """Of a compare-and-swap on integers what memory is compared with and what it becomes if they are equal."""
        node = next((n for target, n in self.assignments if target == "MEM"), None)
        if node is None or node.op != "select" or node.args[0].op != "eq" or is_float(node.type):
            return None
        condition, new, old = node.args
        return (condition.args[1], new) if _plain(old) == "MEM" == _plain(condition.args[0]) else None

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
        node = next((n for target, n in self.assignments if target == "MEM"), None)
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
        if node.op not in _COMPARISONS.values() or not _plain(node.args[0]):
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


def is_float(type_: str) -> bool:
    """Whether a type is a float."""
    return type_ in FLOATS


def is_integer(type_: str) -> bool:
    """Whether a type is an integer that can be computed with."""
    return type_ not in FLOATS and BITS[type_] <= 64


def operand_type(kind: str, vector: bool) -> tuple[str, int]:
    """The language's type of a table's operand type, and how many elements are packed in it (1 or 2)."""
    if kind == "mask":
        return ("u1" if vector else "u64"), 1
    if kind in ("v2f16", "v2i16", "v2u16", "v2b16", "v2f32", "v2b32"):
        return kind[2:].replace("b", "u"), 2
    if kind in ("i24", "u24"):
        return f"{kind[0]}32", 1
    if kind in ("label", "simm16"):
        return "i32", 1
    if kind == "b1":
        return "u1", 1
    plain = kind.replace("b", "u") if kind[0] == "b" else kind
    if plain in BITS:
        return plain, 1
    from headwater.isa.gcn.model import TYPE_BITS

    return f"u{TYPE_BITS[kind]}", 1


@lru_cache(maxsize=4096)
def parse(name: str, encoding: str, operands: tuple[tuple[str, str], ...], text: str) -> Semantics:
    """The meaning of a text, whose operands are pairs of name and type of a table. Raises SemanticsError."""
    vector = encoding.startswith(VECTOR_ENCODINGS)
    types: dict[str, str] = {}
    counts: dict[str, int] = {}
    for operand, kind in operands:
        types[operand], counts[operand] = operand_type(kind, vector)
    packed = counts.get("D", 1) == 2 and all(counts[operand] == 2 for operand in types if operand in ("S0", "S1", "S2"))
    if not packed:
        # Halves are reached by .lo and .hi, so that the operand itself is its 32 or 64 bits.
        types = {o: t if counts[o] == 1 else f"u{2 * BITS[t]}" for o, t in types.items()}
    parser = Parser(name, types, {o: operand_type(k, vector)[0] for o, k in operands}, vector)
    return parser.parse(text, packed)


def semantics(row: Row) -> Semantics:
    """The meaning of a row of the table. Raises SemanticsError where its text is not well-typed."""
    return parse(row.name, row.encoding, tuple((o.name, o.type) for o in row.operands), row.semantics)


@dataclass
class Parser:
    """Reads one row's text."""

    row: str
    types: dict[str, str]
    halves: dict[str, str]
    vector: bool
    reads: set[str] = field(default_factory=set)
    loads: int = 0
    raw: bool = False

    def parse(self, text: str, packed: bool) -> Semantics:
        """All statements of ``text``."""
        try:
            statements = ast.parse(text.replace(";", "\n").replace("\n ", "\n").strip()).body
        except SyntaxError as error:
            raise self.error(f"cannot be read: {error.msg}: {text}") from None
        names: dict[str, Node] = {}
        assigned: dict[str, Node] = {}
        effects: list[Effect] = []
        ignores_exec = False
        for statement in statements:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                target = statement.targets[0].id
                wanted = self.type_of(target) if target in TARGETS else ""
                value = self.expression(statement.value, names, wanted)
                if wanted:
                    value = self.fit(value, wanted, f"{target} =")
                    assigned[target] = value
                    ignores_exec |= value.op == "writelane"
                names[target] = value
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                effects.append(self.effect(statement.value, names))
            else:
                raise self.error(f"is neither an assignment nor a call: {ast.unparse(statement)}")
        return Semantics(
            tuple(assigned.items()),
            tuple(effects),
            frozenset(self.reads),
            self.vector,
            packed,
            self.types,
            ignores_exec,
        )

    def error(self, what: str) -> SemanticsError:
        """An error that names the row."""
        return SemanticsError(f"semantics of {self.row}: {what}")

    def type_of(self, name: str) -> str:
        """The type of an operand or special name; an empty string where there is none such."""
        if name in self.types:
            return self.types[name]
        if name in ("VCC", "EXEC"):
            return "u1" if self.vector else "u64"
        if name == "MEM":
            # DATA of a compare-and-swap is twice as wide as the memory.
            return self.types.get("D", "") or self.types.get("DATA", "")
        if name in FIELDS:
            return "i32" if name == "SIMM16" else "u32"
        return SPECIAL_TYPES.get(name, "")

    def effect(self, call: ast.Call, names: dict[str, Node]) -> Effect:
        """A statement that is a call."""
        kind = call.func.id if isinstance(call.func, ast.Name) else ""
        if kind not in EFFECTS:
            raise self.error(f"has no effect {ast.unparse(call.func)}")
        text = "".join(a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
        args = [a for a in call.args if not (isinstance(a, ast.Constant) and isinstance(a.value, str))]
        type_ = ""
        if kind == "second":
            type_ = _type_name(args.pop(0))
            self.types = {**self.types, "MEM": type_, "OTHER": type_}
        if kind == "store":
            first = args.pop(0)
            type_ = _type_name(first)
            if not type_:
                raise self.error(f"store wants a type first, not {ast.unparse(first)}")
        nodes = []
        for i, a in enumerate(args):
            wanted = type_ if kind == "store" and i == 0 else "u1" if kind == "branch" else "u32"
            nodes.append(self.settle(self.expression(a, names, wanted), wanted))
        low, high = EFFECTS[kind]
        if not low <= len(nodes) <= high:
            raise self.error(f"{kind} with {len(nodes)} values")
        if kind == "store":
            nodes[0] = self.fit(nodes[0], type_, "store")
        return Effect(kind, tuple(nodes), text, type_)

    def fit(self, value: Node, wanted: str, where: str) -> Node:
        """``value`` as the target's type: equal bits are reinterpreted, everything else is an error."""
        value = self.settle(value, wanted)
        if BITS[value.type] != BITS[wanted]:
            raise self.error(f"{where} takes {wanted}, not {value.type}")
        return value if value.type == wanted else Node("as", wanted, (value,))

    def settle(self, value: Node, wanted: str) -> Node:
        """A literal as what the place wants, or its default."""
        if not value.weak:
            return value
        if value.name == "float":
            type_ = wanted if is_float(wanted) else "f32"
            return Node(
                "constant", type_, bits=float_bits(struct.unpack("<d", struct.pack("<Q", value.bits))[0], type_)
            )
        if is_float(wanted):
            return Node("constant", wanted, bits=float_bits(float(value.bits), wanted))
        type_ = wanted or "u32"
        if not -(1 << (BITS[type_] - 1)) <= value.bits < 1 << BITS[type_]:
            raise self.error(f"{value.bits} does not fit {type_}")
        return Node("constant", type_, bits=value.bits & ((1 << BITS[type_]) - 1))

    def expression(self, tree: ast.expr, names: Mapping[str, Node], wanted: str = "") -> Node:
        """One expression; ``wanted`` is the type of the place, for literals."""
        if isinstance(tree, ast.Constant):
            if isinstance(tree.value, bool):
                return Node("constant", "u1", bits=int(tree.value))
            if isinstance(tree.value, int):
                return Node("literal", "", bits=tree.value, weak=True)
            if isinstance(tree.value, float):
                bits = struct.unpack("<Q", struct.pack("<d", tree.value))[0]
                return Node("literal", "", bits=bits, name="float", weak=True)
            raise self.error(f"has a literal {tree.value!r}")
        if isinstance(tree, ast.Name):
            return self.name(tree.id, names)
        if isinstance(tree, ast.Attribute) and isinstance(tree.value, ast.Name) and tree.attr in ("lo", "hi"):
            return self.half(tree.value.id, tree.attr, names)
        if isinstance(tree, ast.BinOp):
            return self.binary(tree, names, wanted)
        if isinstance(tree, ast.UnaryOp):
            return self.unary(tree, names, wanted)
        if isinstance(tree, ast.Compare):
            if len(tree.ops) != 1:
                raise self.error(f"has a chained comparison: {ast.unparse(tree)}")
            a, b = self.pair(tree.left, tree.comparators[0], names, "", ast.unparse(tree))
            op = _COMPARISONS[type(tree.ops[0])]
            return Node(op, "u1", (a, b), raw=self.raw)
        if isinstance(tree, ast.BoolOp):
            parts = [self.condition(v, names) for v in tree.values]
            op = "and" if isinstance(tree.op, ast.And) else "or"
            result = parts[0]
            for part in parts[1:]:
                result = Node(op, "u1", (result, part))
            return result
        if isinstance(tree, ast.IfExp):
            condition = self.condition(tree.test, names)
            yes, no = self.pair(tree.body, tree.orelse, names, wanted, ast.unparse(tree))
            return Node("select", yes.type, (condition, yes, no))
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.keywords:
            return self.call(tree.func.id, tree.args, names, wanted)
        raise self.error(f"uses a construct that the language does not have: {ast.unparse(tree)}")

    def name(self, name: str, names: Mapping[str, Node]) -> Node:
        """A temporary, an operand or a special name."""
        if name in names:
            return names[name]
        type_ = self.type_of(name)
        if not type_:
            raise self.error(f"reads {name}, which is not an operand")
        if name not in SETTINGS:
            self.reads.add(name)
        # One node for each operand, so that what is shared stays shared.
        return _operand(name, type_)

    def half(self, name: str, which: str, names: Mapping[str, Node]) -> Node:
        """``S0.lo``, ``S0.hi``: half of a packed operand, or of any value of 16, 32 or 64 bits."""
        value = self.name(name, names)
        if value.type == "u128":
            words = (0, 1) if which == "lo" else (2, 3)
            return Node("concat", "u64", tuple(_word(value, n) for n in words))
        if value.weak or BITS[value.type] not in (16, 32, 64):
            raise self.error(f"{name}.{which}: {value.type} has no halves")
        bits = BITS[value.type] // 2
        type_ = self.halves.get(name, "") if name not in names else ""
        if not type_ or BITS[type_] != bits:
            type_ = f"u{bits}"
        part = Node("convert", f"u{bits}", (value if which == "lo" else _shift_right(value, bits),))
        return part if type_ == part.type else Node("as", type_, (part,))

    def condition(self, tree: ast.expr, names: Mapping[str, Node]) -> Node:
        """An expression of type u1."""
        value = self.settle(self.expression(tree, names, "u1"), "u1")
        if value.type != "u1":
            raise self.error(f"wants a condition, not {value.type}: {ast.unparse(tree)}")
        return value

    def pair(
        self, left: ast.expr, right: ast.expr, names: Mapping[str, Node], wanted: str, where: str
    ) -> tuple[Node, Node]:
        """Two operands of one type."""
        a = self.expression(left, names, wanted)
        b = self.expression(right, names, wanted if a.weak else a.type)
        if not b.weak and a.type != b.type:
            a = self.expression(left, names, b.type)  # its literals take the other's type
        if a.weak and b.weak:
            a = self.settle(a, wanted)
        if a.weak:
            a = self.settle(a, b.type)
        b = self.settle(b, a.type)
        if a.type != b.type:
            raise self.error(f"mixes {a.type} and {b.type}: {where}")
        return a, b

    def binary(self, tree: ast.BinOp, names: Mapping[str, Node], wanted: str) -> Node:
        """An operator with two operands."""
        where = ast.unparse(tree)
        if isinstance(tree.op, ast.LShift | ast.RShift):
            a = self.settle(self.expression(tree.left, names, wanted), wanted)
            n = self.settle(self.expression(tree.right, names, "u32"), "u32")
            if not is_integer(a.type) or not is_integer(n.type) or "u1" in (a.type, n.type):
                raise self.error(f"shifts {a.type} by {n.type}: {where}")
            op = "shl" if isinstance(tree.op, ast.LShift) else "ashr" if a.type[0] == "i" else "lshr"
            return Node(op, a.type, (a, n))
        a, b = self.pair(tree.left, tree.right, names, wanted, where)
        op = _OPERATORS.get(type(tree.op), "")
        if not op:
            raise self.error(f"uses an operator that the language does not have: {where}")
        if op in ("and", "or", "xor"):
            if is_float(a.type):
                raise self.error(f"{op} of floats: {where}")
        elif a.type == "u1" or BITS[a.type] > 64:
            raise self.error(f"{op} of {a.type}: {where}")
        return Node(("f" if is_float(a.type) else "") + op, a.type, (a, b), raw=self.raw)

    def unary(self, tree: ast.UnaryOp, names: Mapping[str, Node], wanted: str) -> Node:
        """``-x``, ``~x``, ``not x``."""
        if isinstance(tree.op, ast.USub) and isinstance(tree.operand, ast.Constant):
            return self.expression(ast.Constant(-tree.operand.value), names, wanted)  # type: ignore[operator]
        if isinstance(tree.op, ast.Not):
            return Node("not", "u1", (self.condition(tree.operand, names),))
        value = self.settle(self.expression(tree.operand, names, wanted), wanted)
        if isinstance(tree.op, ast.Invert) and not is_float(value.type):
            return Node("not", value.type, (value,))
        if isinstance(tree.op, ast.USub) and value.type != "u1":
            return Node("fneg" if is_float(value.type) else "neg", value.type, (value,))
        raise self.error(f"uses a construct that the language does not have: {ast.unparse(tree)}")

    def call(self, name: str, trees: list[ast.expr], names: Mapping[str, Node], wanted: str) -> Node:
        """A conversion, a primitive or a function of the prelude."""
        if name == "load":
            return self.load(trees, names)
        if name in BITS and len(trees) == 1:
            value = self.settle(self.expression(trees[0], names, name), name)
            if BITS[value.type] > 64 or BITS[name] > 64 or (name == "u1" and value.type != "u1"):
                raise self.error(f"{name} of {value.type}")
            return value if value.type == name else Node("convert", name, (value,), raw=self.raw)
        if name.startswith("as_") and name[3:] in BITS and len(trees) == 1:
            return self.fit(self.expression(trees[0], names, name[3:]), name[3:], name)
        if name in PRIMITIVES:
            args = [self.expression(t, names) for t in trees]
            return self.apply(name, args, wanted)
        from headwater.isa.gcn.prelude import function

        args = [self.expression(t, names) for t in trees]
        definition = function(name, next((a.type for a in args if not a.weak), wanted))
        if definition is None:
            raise self.error(f"calls {name}, which is not known")
        return self.inline(name, definition, args, wanted)

    def load(self, trees: list[ast.expr], names: Mapping[str, Node]) -> Node:
        """``load(type)`` or ``load(type, byte offset)``: what memory holds at the instruction's address."""
        type_ = _type_name(trees[0]) if trees else ""
        if not type_ or len(trees) > 2:
            raise self.error("load wants a type and at most an offset")
        args = tuple(self.settle(self.expression(t, names, "u32"), "u32") for t in trees[1:])
        self.loads += 1
        return Node("load", type_, args, name=str(self.loads))

    def apply(self, name: str, args: list[Node], wanted: str) -> Node:
        """A primitive, whose rule settles literals and gives the result's type."""
        rule = PRIMITIVES[name]
        strong = next((a.type for a in args if not a.weak), wanted)
        try:
            types, result = rule(tuple(a.type for a in args), strong)
        except (ValueError, IndexError, KeyError) as error:
            shown = ", ".join(a.type or "literal" for a in args)
            raise self.error(f"{name}({shown}): {error}") from None
        settled = tuple(self.settle(a, t) for a, t in zip(args, types, strict=True))
        for a, t in zip(settled, types, strict=True):
            if t and a.type != t:
                raise self.error(f"{name} takes {', '.join(types)}, not {', '.join(s.type for s in settled)}")
        return Node(name, result, settled, raw=self.raw)

    def inline(self, name: str, definition: ast.FunctionDef, args: list[Node], wanted: str) -> Node:
        """The body of a prelude's function with its parameters bound."""
        params = definition.args.args
        if len(params) != len(args):
            raise self.error(f"{name} takes {len(params)} values, not {len(args)}")
        strong = next((a.type for a in args if not a.weak), wanted)
        local: dict[str, Node] = {}
        for param, a in zip(params, args, strict=True):
            type_ = param.annotation.id if isinstance(param.annotation, ast.Name) else strong
            value = self.settle(a, type_)
            if param.annotation is not None and value.type != type_:
                if BITS[value.type] != BITS[type_] or is_float(type_) != is_float(value.type):
                    raise self.error(f"{name} takes {type_} for {param.arg}, not {value.type}")
                value = Node("as", type_, (value,))
            local[param.arg] = value
        before, self.raw = (
            self.raw,
            self.raw or any(isinstance(d, ast.Name) and d.id == "raw" for d in definition.decorator_list),
        )
        try:
            for statement in definition.body:
                if isinstance(statement, ast.Return) and statement.value is not None:
                    return self.settle(self.expression(statement.value, local, wanted), wanted)
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    local[statement.targets[0].id] = self.settle(self.expression(statement.value, local, ""), "")
                elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                    raise self.error(f"{name} has a statement that the language does not have")
        finally:
            self.raw = before
        raise self.error(f"{name} returns nothing")


@lru_cache(maxsize=1024)
def _operand(name: str, type_: str) -> Node:
    return Node("operand", type_, name=name)


def _atomic(node: Node) -> str:
    """The ``atomicrmw`` operation of MEM's new value."""
    node = _settled(node)
    plain = [_plain(a) for a in node.args]
    if node.op == "operand" and node.name == "DATA":
        return "xchg"
    if plain == ["MEM", "DATA"]:
        names = {"fadd": "fadd", "add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor"}
        if node.op in names:
            return names[node.op]
        if node.op in ("min", "max") and not is_float(node.type):
            return ("u" if node.type[0] == "u" else "") + node.op
    if plain == ["MEM", "DATA"] and node.op in ("inc_wrap", "dec_wrap"):
        return "u" + node.op
    return ""


def _settled(node: Node) -> Node:
    """What a node's bits are, whatever they are taken for."""
    while node.op == "as":
        node = node.args[0]
    return node


def _plain(node: Node) -> str:
    """The operand whose bits a node is, or an empty string."""
    node = _settled(node)
    return node.name if node.op == "operand" else ""


def _shift_right(value: Node, bits: int) -> Node:
    unsigned = f"u{BITS[value.type]}"
    plain = value if value.type == unsigned else Node("as", unsigned, (value,))
    return Node("lshr", unsigned, (plain, Node("constant", "u32", bits=bits)))


def _word(value: Node, n: int) -> Node:
    return Node("word", "u32", (value, Node("constant", "u32", bits=n)))


def _type_name(tree: ast.expr) -> str:
    name = tree.id if isinstance(tree, ast.Name) else ""
    name = name.replace("b", "u") if name.startswith("b") else name
    return name if name in BITS else ""


def float_bits(value: float, type_: str) -> int:
    """A float's bits in a format, rounded to nearest."""
    code = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}[type_]
    return int(struct.unpack(code[1], struct.pack(code[0], value))[0])


_OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
_COMPARISONS: dict[type, str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}

EFFECTS: Mapping[str, tuple[int, int]] = {
    "nop": (0, 0),
    "store": (1, 2),
    "branch": (1, 1),
    "end": (0, 0),
    "barrier": (0, 0),
    "trap": (0, 1),
    "sendmsg": (0, 0),
    "unsupported": (0, 0),
    "setreg": (1, 1),
    "index_source": (0, 0),
    "index_dest": (0, 0),
    "gpr_index": (1, 1),
    "image": (0, 0),
    "format": (0, 0),
    "count": (1, 1),
    "mfma": (0, 0),
    "gws": (1, 2),
    "halves": (2, 2),
    "second": (0, 0),
}
"""Effects and how many values each takes (types and strings apart). ``store(T, value[, byte offset])``;
``branch(condition)`` to the instruction's target; ``setreg(value)`` the field that SIMM16 names;
``image("…")``, ``format("…")``: see `headwater.isa.gcn.images`; ``count("up" or "down", address)``: D is what memory
holds, to which the number of active lanes is added, or from which it is taken, once for all; ``index_source()``,
``index_dest()``: M0 is added to the register's number; ``gpr_index(n)``: VGPR indexing mode;
``gws("barrier", resource, value)``: global wave synchronisation; ``halves(first, second)``: the halves of MEM lie so
many bytes from the address; ``second(T)``: MEM is a T, and so is OTHER, at a second place that the address leads to."""

Rule = Callable[[tuple[str, ...], str], tuple[tuple[str, ...], str]]


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _same(count: int, kinds: str, result: str = "") -> Rule:
    """``count`` operands of one type of ``kinds`` ("f" floats, "n" integers); the result is of it or ``result``."""

    def rule(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
        _need(len(types) == count, f"takes {count} values")
        ok = ("f" in kinds and is_float(strong)) or (
            "n" in kinds and strong in BITS and is_integer(strong) and strong != "u1"
        )
        _need(ok, "is not for this type")
        return (strong,) * count, result or strong

    return rule


def _fixed(takes: tuple[str, ...], result: str) -> Rule:
    """Operands of given types."""

    def rule(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
        _need(len(types) == len(takes), f"takes {len(takes)} values")
        return takes, result

    return rule


def _ldexp(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    _need(len(types) == 2 and is_float(types[0]), "takes a float and an i32")
    return (types[0], "i32"), types[0]


def _concat(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    total = sum(BITS[t] for t in types)
    _need(len(types) >= 2 and f"u{total}" in BITS, "joins values to 16, 32, 64, … bits")
    return types, f"u{total}"


def _lane(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    _need(len(types) == 2, "takes a value and a lane")
    return (types[0], "u32"), types[0]


def _wide_word(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    _need(len(types) == 2 and BITS[types[0]] > 64, "takes a wide value and a number")
    return (types[0], "u32"), "u32"


def _same_bits(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    _need(len(types) == 1, "takes one value")
    return types, types[0]


def _writelane(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    _need(len(types) == 3, "takes the old value, a value and a lane")
    return (types[0], types[0], "u32"), types[0]


def _convert(result: str, kinds: tuple[str, ...]) -> Rule:
    def rule(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
        _need(len(types) == 1 and types[0] in kinds, f"takes one of {', '.join(kinds)}")
        return types, result

    return rule


PRIMITIVES: Mapping[str, Rule] = {
    # floats, obeying MODE: inputs and results flushed where it says so
    "fma": _same(3, "f"),
    "sqrt": _same(1, "f"),
    "rint": _same(1, "f"),
    "floor": _same(1, "f"),
    "ceil": _same(1, "f"),
    "trunc": _same(1, "f"),
    "ldexp": _ldexp,
    # smaller, larger: for floats the hardware's v_min and v_max (a NaN loses against a number, -0 < +0; in IEEE mode a
    # signalling NaN wins, made quiet)
    "min": _same(2, "fn"),
    "max": _same(2, "fn"),
    # bits of floats; MODE does not matter
    "abs": _same(1, "fn"),
    "isnan": _same(1, "f", "u1"),
    "quiet": _same(1, "f"),
    "flush": _same(1, "f"),  # denormals become zeros of their sign, whatever MODE says
    # conversions of floats to integers: towards zero, saturating, 0 for NaN
    "sat_i16": _convert("i16", FLOATS),
    "sat_u16": _convert("u16", FLOATS),
    "sat_i32": _convert("i32", FLOATS),
    "sat_u32": _convert("u32", FLOATS),
    "f16_rtz": _convert("f16", ("f32",)),
    # integers
    "popcount": _same(1, "n"),
    "ctz": _same(1, "n"),  # the width for 0
    "clz": _same(1, "n"),
    "bitreverse": _same(1, "n"),
    "add_saturating": _same(2, "n"),
    "sub_saturating": _same(2, "n"),
    "inc_wrap": _same(2, "n"),  # 0 after the second operand, and after everything above it
    "dec_wrap": _same(2, "n"),  # the second operand after 0, and after everything above it
    "two_over_pi": _fixed(("u32",), "u64"),  # 53 bits of the 1201 of 2/π, after as many as the operand says
    "concat": _concat,  # the first argument is lowest
    "word": _wide_word,  # one dword of a value too wide to compute with
    # across lanes
    "lane": _lane,  # the value of one lane, the same for all
    "writelane": _writelane,
    "gather": _lane,  # each lane takes another's value; 0 from lanes that EXEC excludes
    "scatter": _lane,  # each lane gives its value to another; the highest lane wins, 0 where none gives
    "first_lane": _same_bits,  # of the first lane in EXEC, or of lane 0
    "swizzle": _lane,  # ds_swizzle's pattern is the second operand
    "getreg": _fixed((), "u32"),  # the field of a hardware register that SIMM16 names
    "memtime": _fixed((), "u64"),
    "realtime": _fixed((), "u64"),
}
"""The functions that both evaluators implement, with their type rules."""
