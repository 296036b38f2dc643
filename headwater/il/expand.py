"""Input: a `Program` with operations that others can say. Output: the same program without them.

They are integers of 64 bits, products with matrices, loads and stores of bytes and shorts, Direct3D 9's constants of
one bit and its division of coordinates, and a few names. What stands for one is IL text, with ``{t}`` the first of
some registers that the program does not use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from headwater.errors import SourceError, Span
from headwater.il.model import LANES, Function, Index, Instruction, Modifier, Operand, Program, Register

MATRICES = {"4x4": (4, 4), "4x3": (4, 3), "3x4": (3, 4), "3x3": (3, 3), "3x2": (3, 2)}
"""Lanes of the vector and rows of the matrix, as Direct3D 9's m4x4 … m3x2 have them."""
_LITERALS = (
    ("numbers", (0, 1, 31, 32)),
    ("sizes", (8, 16, 0xFF, 0xFFFF)),
    ("places", (3, 0xFFFFFFFC, 0, 0)),
    ("turns", (0x3E22F983, 0x3F000000, 0x40C90FDB, 0xC0490FDB)),  # 1 / 2π, 1/2, 2π, -π
)
_PARTS = 3
"""Registers that an expansion may use, from ``{t}`` on."""

_LESS = """
{order}lt r{t}.__z_, r{t}.yyyy, r{u}.yyyy
ieq r{t}.___w, r{t}.yyyy, r{u}.yyyy
ult r{t}.x___, r{t}.xxxx, r{u}.xxxx
iand r{t}.x___, r{t}.xxxx, r{t}.wwww
ior r{t}.x___, r{t}.xxxx, r{t}.zzzz
"""
_CHOICE = (
    """
mov r{v}.xy__, r{t}.xyxy
"""
    + _LESS
    + """
cmov_logical r{t}, r{t}.xxxx, {yes}.xyxy, {no}.xyxy
"""
)
_EQUAL = """
ieq r{t}.xy__, r{t}.xyxy, r{u}.xyxy
iand r{t}.x___, r{t}.xxxx, r{t}.yyyy
"""
_PRODUCT = """
umul_high r{t}.__z_, r{t}.xxxx, r{u}.xxxx
umad r{t}.__z_, r{t}.xxxx, r{u}.yyyy, r{t}.zzzz
umad r{t}._y__, r{t}.yyyy, r{u}.xxxx, r{t}.zzzz
umul r{t}.x___, r{t}.xxxx, r{u}.xxxx
"""
_RIGHT = """
{kind}shr r{t}.__z_, r{t}.yyyy, r{u}.xxxx
{fill}
iadd r{v}.x___, r{t}.yyyy, r{t}.yyyy
inot r{v}._y__, r{u}.xxxx
ishl r{v}.x___, r{v}.xxxx, r{v}.yyyy
ushr r{t}.x___, r{t}.xxxx, r{u}.xxxx
ior r{t}.x___, r{t}.xxxx, r{v}.xxxx
iand r{u}.x___, r{u}.xxxx, {numbers}.wwww
cmov_logical r{t}.xy__, r{u}.xxxx, r{t}.zwzw, r{t}.xzxz
"""
_WIDE = {
    "i64add": """
icarry r{t}.__z_, r{t}.xxxx, r{u}.xxxx
iadd r{t}.xy__, r{t}.xyxy, r{u}.xyxy
iadd r{t}._y__, r{t}.yyyy, r{t}.zzzz
""",
    "i64sub": """
iborrow r{t}.__z_, r{t}.xxxx, r{u}.xxxx
isub r{t}.xy__, r{t}.xyxy, r{u}.xyxy
isub r{t}._y__, r{t}.yyyy, r{t}.zzzz
""",
    "i64negate": """
inot r{t}.xy__, r{t}.xyxy
icarry r{t}.__z_, r{t}.xxxx, {numbers}.yyyy
iadd r{t}.x___, r{t}.xxxx, {numbers}.yyyy
iadd r{t}._y__, r{t}.yyyy, r{t}.zzzz
""",
    "i64mul": _PRODUCT,
    "u64mul": _PRODUCT,
    "i64eq": _EQUAL,
    "i64ne": _EQUAL + "inot r{t}.x___, r{t}.xxxx\n",
    "i64lt": _LESS.replace("{order}", "i"),
    "u64lt": _LESS.replace("{order}", "u"),
    "i64ge": _LESS.replace("{order}", "i") + "inot r{t}.x___, r{t}.xxxx\n",
    "u64ge": _LESS.replace("{order}", "u") + "inot r{t}.x___, r{t}.xxxx\n",
    **{
        f"{kind}64{name}": _CHOICE.replace("{order}", kind).replace("{yes}", yes).replace("{no}", no)
        for kind in "iu"
        for name, yes, no in (("min", "r{v}", "r{u}"), ("max", "r{u}", "r{v}"))
    },
    "i64shl": """
ishl r{t}.__z_, r{t}.xxxx, r{u}.xxxx
ishl r{t}._y__, r{t}.yyyy, r{u}.xxxx
ushr r{v}.x___, r{t}.xxxx, {numbers}.yyyy
inot r{v}._y__, r{u}.xxxx
ushr r{v}.x___, r{v}.xxxx, r{v}.yyyy
ior r{t}._y__, r{t}.yyyy, r{v}.xxxx
mov r{t}.___w, {numbers}.xxxx
iand r{u}.x___, r{u}.xxxx, {numbers}.wwww
cmov_logical r{t}.xy__, r{u}.xxxx, r{t}.wzwz, r{t}.zyzy
""",
    "i64shr": _RIGHT.replace("{kind}", "i").replace("{fill}", "ishr r{t}.___w, r{t}.yyyy, {numbers}.zzzz"),
    "u64shr": _RIGHT.replace("{kind}", "u").replace("{fill}", "mov r{t}.___w, {numbers}.xxxx"),
}
"""Each on the pairs r{t}.xy and r{u}.xy; the result is r{t}.xy, of a comparison r{t}.x."""


def expanded(program: Program, filename: str = "<source>", keep: Collection[str] = ()) -> Program:
    """The program without them, but for the mnemonics ``keep``; the program itself if it has none. SourceError for what
    none of them can be."""
    bodies = (program.declarations, program.body, *(f.body for f in program.functions))
    if not any(_stands_for_others(made, keep) for body in bodies for made in body):
        return program
    return _Expander(program, filename, keep).program()


def _stands_for_others(made: Instruction, keep: Collection[str]) -> bool:
    if made.mnemonic in keep:
        return False
    if made.mnemonic in _METHODS or made.mnemonic in _WIDE or made.mnemonic == "defb":
        return True
    return any(modifier.name == "divcomp" for operand in made.operands for modifier in operand.modifiers)


class _Expander:
    def __init__(self, program: Program, filename: str, keep: Collection[str]) -> None:
        self.old = program
        self.filename = filename
        self.keep = keep
        registers = [operand.register for body in _bodies(program) for made in body for operand in made.operands]
        self.first = max((r.number or 0 for r in registers if r.kind == "r"), default=-1) + 8  # behind matrices
        literal = max((r.number or 0 for r in registers if r.kind == "l"), default=-1) + 1
        self.literals = {name: f"l{literal + k}" for k, (name, _) in enumerate(_LITERALS)}
        self.bits: dict[int, Register] = {}
        self.declared = [_literal(literal + k, words) for k, (_, words) in enumerate(_LITERALS)]
        self.next_literal = literal + len(_LITERALS)
        self.made = Instruction("end", line=1)

    def error(self, message: str, hint: str = "") -> SourceError:
        return SourceError(message, Span(self.filename, self.made.line, self.made.column), hint=hint)

    def program(self) -> Program:
        old = self.old
        declarations: list[Instruction] = []
        for made in old.declarations:
            if made.mnemonic == "defb":
                self.define(made)
            else:
                declarations.append(made)
        body = tuple(self.body(old.body))
        functions = tuple(Function(f.number, tuple(self.body(f.body)), f.line) for f in old.functions)
        return replace(old, declarations=(*declarations, *self.declared), body=body, functions=functions)

    def define(self, made: Instruction) -> None:
        """A constant of one bit becomes a literal, 1.0 or 0."""
        word = 0x3F800000 if made.values[0] else 0
        self.declared.append(_literal(self.next_literal, (word,) * 4))
        self.bits[made.operands[0].register.number or 0] = Register("l", self.next_literal)
        self.next_literal += 1

    def body(self, lines: tuple[Instruction, ...]) -> Iterator[Instruction]:
        for old in lines:
            self.made = old
            made = replace(old, operands=tuple(self.named(operand) for operand in old.operands))
            before: list[Instruction] = []
            operands = []
            for place, operand in enumerate(made.operands):
                divided, kept = self.divided(operand, self.first + _PARTS + place)
                before += divided
                operands.append(kept)
            yield from before
            made = replace(made, operands=tuple(operands))
            method = _METHODS.get(made.mnemonic)
            if made.mnemonic in self.keep:
                yield made
            elif method is not None:
                yield from method(self, made)
            elif made.mnemonic in _WIDE:
                yield from self.wide(made)
            else:
                yield made

    # -- pieces --------------------------------------------------------------------------------------------------------

    def named(self, operand: Operand) -> Operand:
        if operand.register.kind != "b":
            return operand
        return replace(operand, register=self.bits[operand.register.number or 0])

    def divided(self, operand: Operand, temporary: int) -> tuple[list[Instruction], Operand]:
        """``_divComp(y)`` and its kin: the lanes before the named one are divided by it."""
        at = next((k for k, m in enumerate(operand.modifiers) if m.name == "divcomp"), None)
        if at is None:
            return [], operand
        by = operand.modifiers[at].arguments[0] if operand.modifiers[at].arguments else ""
        if by not in ("y", "z", "w"):
            raise self.error(
                f"_divComp({by}) is not supported", "y, z or w; other divisors are set outside of the program"
            )
        count = LANES.index(by)
        here = Register("r", temporary)
        mask = LANES[:count] + "_" * (4 - count)
        lines = [
            self.instruction("mov", Operand(here, "xyzw"), replace(operand, modifiers=operand.modifiers[:at])),
            self.instruction("div", Operand(here, mask), Operand(here, "xyzw"), Operand(here, by * 4)),
        ]
        return lines, Operand(here, "xyzw", operand.modifiers[at + 1 :], operand.column)

    def instruction(self, name: str, *operands: Operand, modifiers: tuple[Modifier, ...] = ()) -> Instruction:
        return Instruction(name, modifiers, operands, (), self.made.line, self.made.column)

    def written(self, text: str) -> list[Instruction]:
        """The instructions of a text of this module."""
        from headwater.il.parser import parse

        t = self.first
        names = {"t": str(t), "u": str(t + 1), "v": str(t + 2), **self.literals}
        for name, word in names.items():
            text = text.replace(f"{{{name}}}", word)
        lines = parse(f"il_cs_2_0\n{text.strip()}\nend\n").body
        return [replace(line, line=self.made.line, column=self.made.column) for line in lines]

    def temporary(self, lanes: str, number: int = 0) -> Operand:
        return Operand(Register("r", self.first + number), lanes)

    def literal(self, name: str, lane: str) -> Operand:
        return Operand(Register("l", int(self.literals[name][1:])), lane * 4)

    def integer(self, operand: Operand, mask: str) -> Instruction:
        """The first lane of an integer source, into a lane of ``{t}``."""
        everywhere = (
            Modifier("neg", (LANES,)) if m.name == "neg" else m
            for m in operand.modifiers
            if m.name != "neg" or not m.arguments or "x" in m.arguments[0]
        )
        first = replace(operand, lanes=(operand.lanes or LANES)[0] * 4, modifiers=tuple(everywhere))
        return self.instruction("ior", self.temporary(mask), first, self.literal("numbers", "x"))

    def pairs(self, made: Instruction) -> Iterator[Instruction]:
        """The sources of an operation on 64 bits, into ``{t}`` and ``{u}``."""
        for number, source in enumerate(made.operands[1:]):
            if source.modifiers:
                raise self.error(f"{made.mnemonic}: sources of 64 bits take no modifiers", "i64negate negates")
            yield self.instruction("mov", self.temporary("xy__", number), source)

    # -- operations ----------------------------------------------------------------------------------------------------

    def wide(self, made: Instruction) -> Iterator[Instruction]:
        yield from self.pairs(made)
        yield from self.written(_WIDE[made.mnemonic])
        compares = made.mnemonic[3:] in ("eq", "ne", "lt", "ge")
        yield self.instruction("mov", made.operands[0], self.temporary("xxxx" if compares else "xyxy"))

    def product(self, made: Instruction) -> Iterator[Instruction]:
        """mmul: a vector's dot products with a matrix's rows."""
        target, vector, matrix = made.operands
        size = made.modifier("matrix")
        lanes, rows = MATRICES[size.arguments[0]] if size is not None else MATRICES["4x4"]
        for row in range(rows):
            mask = "".join(lane if k == row else "_" for k, lane in enumerate(LANES))
            operand = replace(matrix, register=row_of(matrix.register, row))
            yield self.instruction(f"dp{lanes}", self.temporary(mask), vector, operand)
        kept = tuple(m for m in made.modifiers if m.name != "matrix")
        whole = target.lanes or "xyzw"
        mask = "".join(lane if LANES[k] != lane or k < rows else "_" for k, lane in enumerate(whole))
        yield self.instruction("mov", replace(target, lanes=mask), self.temporary("xyzw"), modifiers=kept)

    def reduced(self, made: Instruction) -> Iterator[Instruction]:
        """pireduce: an angle in -π to π."""
        yield self.instruction("mov", self.temporary("xyzw"), made.operands[1])
        yield from self.written("mad_ieee r{t}, r{t}, {turns}.xxxx, {turns}.yyyy\nfrc r{t}, r{t}")
        last = (self.temporary("xyzw"), self.literal("turns", "z"), self.literal("turns", "w"))
        yield replace(made, mnemonic="mad_ieee", operands=(made.operands[0], *last))

    def both(self, made: Instruction) -> Iterator[Instruction]:
        """dxsincos, whose last two sources are coefficients of Direct3D 9's."""
        yield replace(made, mnemonic="sincos", operands=made.operands[:2])

    def renamed(self, made: Instruction) -> Iterator[Instruction]:
        yield replace(made, mnemonic="mov")

    def nothing(self, made: Instruction) -> Iterator[Instruction]:
        return iter(())

    def called(self, made: Instruction) -> Iterator[Instruction]:
        """callnz."""
        yield replace(made, mnemonic="ifnz", values=())
        yield replace(made, mnemonic="call", operands=())
        yield self.instruction("endif")

    def loaded(self, made: Instruction) -> Iterator[Instruction]:
        """A load of a byte or short, of zeros or signs above it."""
        space, kind = _space_and_kind(made)
        target, address = made.operands
        is_byte = kind.endswith("byte")
        here = self.temporary("xxxx")
        if space == "uav":
            modifiers = (*made.modifiers, Modifier("size", ("byte" if is_byte else "short",)))
            yield self.instruction("uav_arena_load", self.temporary("x___"), address, modifiers=modifiers)
        else:
            self.without_structure(made)
            yield self.integer(address, "_y__")
            yield from self.written("iand r{t}.x___, r{t}.yyyy, {places}.yyyy")
            yield self.instruction("lds_load", self.temporary("x___"), here, modifiers=made.modifiers)
            yield from self.written(
                "iand r{t}._y__, r{t}.yyyy, {places}.xxxx\nishl r{t}._y__, r{t}.yyyy, {places}.xxxx\n"
                "ushr r{t}.x___, r{t}.xxxx, r{t}.yyyy"
            )
        if kind.startswith("u"):
            yield self.instruction("iand", target, here, self.literal("sizes", "z" if is_byte else "w"))
        else:
            width = self.literal("sizes", "x" if is_byte else "y")
            yield self.instruction("ibit_extract", target, width, self.literal("numbers", "x"), here)

    def stored(self, made: Instruction) -> Iterator[Instruction]:
        """A store of a byte or short."""
        space, kind = _space_and_kind(made)
        address, value = made.operands
        if space == "uav":
            modifiers = (*made.modifiers, Modifier("size", (kind,)))
            yield self.instruction("uav_arena_store", address, value, modifiers=modifiers)
            return
        self.without_structure(made)
        lane = "zzzz" if kind == "byte" else "wwww"
        yield self.integer(address, "x___")
        yield self.integer(value, "_y__")
        yield from self.written(
            "iand r{t}.__z_, r{t}.xxxx, {places}.xxxx\nishl r{t}.__z_, r{t}.zzzz, {places}.xxxx\n"
            f"iand r{{t}}._y__, r{{t}}.yyyy, {{sizes}}.{lane}\nishl r{{t}}._y__, r{{t}}.yyyy, r{{t}}.zzzz\n"
            f"ishl r{{t}}.___w, {{sizes}}.{lane}, r{{t}}.zzzz\niand r{{t}}.x___, r{{t}}.xxxx, {{places}}.yyyy"
        )
        sources = (self.temporary("xxxx"), self.temporary("wwww"), self.temporary("yyyy"))
        yield self.instruction("lds_mskor", *sources, modifiers=made.modifiers)

    def without_structure(self, made: Instruction) -> None:
        number = made.number("id")
        if any(d.mnemonic == "dcl_struct_lds" and d.number("id") == number for d in self.old.declarations):
            raise self.error(f"{made.mnemonic}: LDS {number} has a structure", f"dcl_lds_id({number}) bytes")


def _space_and_kind(made: Instruction) -> tuple[str, str]:
    """lds and ubyte of lds_load_ubyte; uav and short of uav_short_store."""
    words = made.mnemonic.split("_")
    return words[0], words[2] if words[0] == "lds" else words[1]


def row_of(register: Register, row: int) -> Register:
    """The register that many behind one: a matrix's row."""
    if register.index is not None:
        index = register.index
        return replace(register, index=Index(index.register, index.lane, index.offset + row))
    return replace(register, number=(register.number or 0) + row)


_METHODS: dict[str, Callable[[_Expander, Instruction], Iterator[Instruction]]] = {
    "mmul": _Expander.product,
    "pireduce": _Expander.reduced,
    "dxsincos": _Expander.both,
    "invariant_move": _Expander.renamed,
    "nop": _Expander.nothing,
    "callnz": _Expander.called,
    **{
        f"{space}load_{kind}" if space == "lds_" else f"uav_{kind}_load": _Expander.loaded
        for space in ("lds_", "uav_")
        for kind in ("byte", "ubyte", "short", "ushort")
    },
    **dict.fromkeys(("lds_store_byte", "lds_store_short", "uav_byte_store", "uav_short_store"), _Expander.stored),
}


def _bodies(program: Program) -> Iterator[tuple[Instruction, ...]]:
    yield from (program.declarations, program.body, *(f.body for f in program.functions))


def _literal(number: int, words: tuple[int, ...]) -> Instruction:
    return Instruction("dcl_literal", (), (Operand(Register("l", number)),), words)
