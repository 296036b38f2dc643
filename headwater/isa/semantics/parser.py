"""Input: the semantics column of the instruction tables. Output: typed expression trees over the operands.

The language is a subset of Python's, read with `ast`: statements separated by ``;``, each an assignment to a
destination (``D``, ``D1``, ``SCC``, ``VCC``, ``EXEC``, ``M0``, ``PC``, ``MEM``, …) or to a temporary, or a call of an
effect (``store(…)``, ``branch(…)``, ``nop()``, …). In vector rows it speaks of one lane, masks being that lane's bit;
in scalar rows of the wavefront. A name read after it was assigned has its new value, before that the old one.
What modifiers, SDWA, DPP, clamp, omod and EXEC do around the expression is the engines' part.

Types are those of `BITS`. Integer and float literals take the type that the place wants. Operators
want operands of one type, except that a shift's amount may be of any; a shift by the width or more gives 0 or the sign.
``T(x)`` converts by value (integers by the source's signedness, floats to T rounded as MODE says), ``as_T(x)``
reinterprets. Functions written in the language itself are in `headwater.isa.semantics.prelude`.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from headwater.isa.semantics.model import Effect, Node, Semantics, SemanticsError
from headwater.isa.semantics.primitives import EFFECTS, PRIMITIVES
from headwater.isa.semantics.types import BITS, TYPE_BITS, float_bits, is_float, is_integer

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
        from headwater.isa.semantics.prelude import function

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
