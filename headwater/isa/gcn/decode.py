"""Input: machine code. Output: ``Instruction``; what no GPU of that generation executes is a ``DecodeError``.

The tables declare forms and rows. How a row is read in a form (`_Plan`) is worked out when such an instruction first
comes up. Bits that an encoding leaves unused are not looked at, as the hardware does not look at them either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Final, TypeAlias

from headwater.chips.gcn_isas import TRAITS, Traits
from headwater.errors import DecodeError
from headwater.isa.gcn import table
from headwater.isa.gcn.encodings import forms_by_prefix, layouts
from headwater.isa.gcn.model import Destination, Instruction, Literal, OperandSpec, Row, Source
from headwater.isa.gcn.operands import (
    KINDS,
    RELEVANT_FLAGS,
    BadOperandError,
    Layout,
    Operand,
    Reader,
    dest_reader,
    literal_marks,
    source_reader,
    type_dwords,
)

_SDWA: Final = 249
_DPP: Final = 250
"""What announces a second word, as VOP's source."""
_SRC0: Final = 0x1FF
_SECOND_WORDS: Final = ("SDWA", "SDWA_VOPC", "DPP")
# Rows of an encoding that are written in a form of their own: the flag that says so, and the form.
_FORM_OF_FLAG: Final = {
    "VOP3": {"interp": "VOP3_INTERP", "vop3b": "VOP3B"},
    "VOP3P": {"mfma": "MFMA", "f8f6f4": "F8F6F4", "smfmac": "SMFMAC", "accvgpr": "ACCVGPR"},
}
_PREFIXED: Final = {"ld_scale": "VOP3PX"}
"""The flag of rows that are the first 64 bits of what is one instruction of 128 where certain others follow, and the
encoding of these."""
_IS_SCALED: Final = 1
"""In place of abid: that an instruction belongs to the scales before it."""
_FORM_OF_SEGMENT: Final = ("FLAT", "SCRATCH", "GLOBAL")
_ENCODING_OF_FORM: Final = {
    **dict.fromkeys(("VOP3_INTERP", "VOP3B"), "VOP3"),
    **dict.fromkeys(("MFMA", "F8F6F4", "SMFMAC", "ACCVGPR"), "VOP3P"),
    "SDWA_VOPC": "SDWA",
}
"""What an instruction in these forms says that it has."""

_Finish: TypeAlias = "Callable[[dict[str, int], Literal | None, Row, Traits], None]"

_OperandKey: TypeAlias = tuple[str, OperandSpec, frozenset[str], str]
"""Form, operand, flags; the encoding before a second word."""


@dataclass(slots=True)
class _Plan:
    """How instructions of one row in one form are read.

    ``literals``: a literal follows if for one of these pairs the bits of the first have the values of the second.
    ``finish`` checks fields, and computes some of others. ``extended``: the plans of instructions with a second word,
    by what announces it. ``prefixes``: the encoding of the instructions of 128 bits of which this one may be the
    beginning.
    """

    row: Row
    form: str
    layout: Layout
    dests: tuple[Reader[Destination], ...]
    sources: tuple[Reader[Source], ...]
    literals: tuple[tuple[int, int], ...]
    is_branch: bool
    finish: _Finish | None
    extended: dict[int, _Plan] = field(default_factory=dict)
    prefixes: str = ""


class _Encoding(dict[int, _Plan]):
    """The plans of one encoding's rows, by those bits of the first word that tell them apart (``bits``)."""

    def __init__(self, decoder: _Decoder, name: str) -> None:
        super().__init__()
        self.decoder = decoder
        self.name = name
        layout = decoder.layouts.get(name, ())
        self.size_bytes = _size_bytes(layout)
        self.bits = sum(mask << low for name, low, mask in layout if name in ("op", "seg"))

    def __missing__(self, word: int) -> _Plan:
        plan = self[word] = self.decoder.plan(self.name, word)
        return plan


class _Decoder:
    """Decodes one generation's code; made once for each."""

    def __init__(self, isa: str) -> None:
        self.isa = isa
        self.traits = TRAITS[isa]
        self.layouts: dict[str, Layout] = {
            form: tuple((name, low, (1 << width) - 1) for name, (low, width) in fields.items())
            for form, fields in layouts(isa).items()
        }
        self.dests: dict[_OperandKey, Reader[Destination]] = {}
        self.sources: dict[_OperandKey, Reader[Source]] = {}
        self.longer: dict[int, _Plan | None] = {}
        prefixes = forms_by_prefix(isa)
        encodings = {name: _Encoding(self, name) for name in set(prefixes)}
        self.encodings = tuple(encodings[name] for name in prefixes)

    def decode(self, code: bytes, offset: int, base: int) -> Instruction:
        if offset < 0 or offset + 4 > len(code):
            raise DecodeError("the code ends within an instruction", base + offset)
        word = int.from_bytes(code[offset : offset + 4], "little")
        try:
            return self._decode(word, code, offset, base + offset)
        except BadOperandError as error:
            raise DecodeError(f"{error} (first word {word:#010x}, as {self.isa})", base + offset, hint=_HINT) from None

    def _decode(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        encoding = self.encodings[word >> 23]
        size_bytes = encoding.size_bytes
        if size_bytes == 8:
            word |= _second_word(code, offset) << 32
        plan = encoding[word & encoding.bits]
        if plan.extended and word & _SRC0 in plan.extended:
            plan = plan.extended[word & _SRC0]
            word |= _second_word(code, offset) << 32
            size_bytes = 8
        if plan.prefixes and (longer := self._longer(plan.prefixes, code, offset + 8)) is not None:
            plan = longer
            word |= int.from_bytes(code[offset + 8 : offset + 16], "little") << 64
            size_bytes = 16
        literal = None
        for bits, mark in plan.literals:
            if word & bits == mark:
                literal = Literal(_second_word(code, offset))
                size_bytes = 8
        fields = {name: word >> low & mask for name, low, mask in plan.layout}
        if plan.finish is not None:
            plan.finish(fields, literal, plan.row, self.traits)
        dests = [dest for read in plan.dests if (dest := read[word & read.bits]) is not None]
        if literal is None:
            sources = [source for read in plan.sources if (source := read[word & read.bits]) is not None]
        else:
            sources = [source for read in plan.sources if (source := read.of(fields, literal)) is not None]
        target = _branch_target(address, fields["simm16"]) if plan.is_branch else None
        return Instruction(address, size_bytes, plan.row, plan.form, tuple(dests), tuple(sources), fields, target)

    def _longer(self, encoding: str, code: bytes, offset: int) -> _Plan | None:
        """How an instruction of 128 bits is read, the second 64 of which are at ``offset``; None where it is none."""
        word = int.from_bytes(code[offset : offset + 8], "little")
        is_whole = offset + 8 <= len(code) and self.encodings[(word & 0xFFFFFFFF) >> 23].name == "VOP3P"
        if not is_whole or word >> 11 & 0xF != _IS_SCALED:
            return None
        opcode = word >> 16 & 0x7F
        if opcode not in self.longer:
            row = table.find(self.isa, encoding, opcode)
            self.longer[opcode] = None if row is None else self._plan(row, encoding, self.layouts[encoding])
        return self.longer[opcode]

    def plan(self, encoding: str, word: int) -> _Plan:
        """How the instruction with this first word is read, of which only the bits are set that say what it is."""
        if not encoding:
            raise BadOperandError("reserved encoding")
        fields = {name: word >> low & mask for name, low, mask in self.layouts[encoding] if low < 32}
        form = encoding
        if "seg" in fields:
            if fields["seg"] >= len(_FORM_OF_SEGMENT):
                raise BadOperandError("reserved segment of a flat instruction")
            form = _FORM_OF_SEGMENT[fields["seg"]]
        rows, opcode = "SMEM" if form == "SMRD" else form, fields.get("op", 0)
        row = self._vop3_row(opcode) if form == "VOP3" else table.find(self.isa, rows, opcode)
        if row is None:
            raise BadOperandError(f"{rows} has no operation {opcode:#x}")
        for flag, other in _FORM_OF_FLAG.get(form, {}).items():
            if flag in row.flags:
                form = other
        plan = self._plan(row, form, self.layouts[form])
        plan.prefixes = next((other for flag, other in _PREFIXED.items() if flag in row.flags), "")
        if row.operands:
            for announced, flags in ((_SDWA, self.traits.sdwa), (_DPP, self.traits.dpp)):
                if form == row.encoding and not flags.isdisjoint(row.flags):
                    second = "DPP" if announced == _DPP else "SDWA_VOPC" if form == "VOPC" else "SDWA"
                    plan.extended[announced] = self._plan(row, second, self.layouts[form] + self.layouts[second])
        return plan

    def _plan(self, row: Row, form: str, layout: Layout) -> _Plan:
        places = table.form(form)
        is_short = _size_bytes(layout) == 4
        flags = row.flags & RELEVANT_FLAGS
        dests: list[Reader[Destination]] = []
        sources: list[Reader[Source]] = []
        marks: list[tuple[int, int]] = []
        for spec in row.operands:
            place = places[spec.name]
            if place.kind not in KINDS:
                continue
            operand = Operand(self.traits, form, flags, spec, place, layout, is_short)
            # Rows share what reads the same operand, so that what it has remembered serves all of them.
            key = form, spec, flags, row.encoding if form in _SECOND_WORDS else ""
            if operand.is_dest:
                if key not in self.dests:
                    self.dests[key] = dest_reader(operand)
                dests.append(self.dests[key])
            else:
                if key not in self.sources:
                    self.sources[key] = source_reader(operand)
                sources.append(self.sources[key])
                marks += literal_marks(operand)
        kinds = {places[spec.name].kind for spec in row.operands}
        finish = _finish_no_offset if form in _OFFSET_KINDS and _OFFSET_KINDS[form] not in kinds else _FINISH.get(form)
        name = _ENCODING_OF_FORM.get(form, form)
        return _Plan(row, name, layout, tuple(dests), tuple(sources), tuple(marks), "label" in kinds, finish)

    def _vop3_row(self, opcode: int) -> Row | None:
        """VOP3's own rows, and those that the shorter forms' rows imply."""
        row = table.find(self.isa, "VOP3", opcode)
        if row is not None:
            return row
        vop1 = self.traits.vop3_of_vop1
        if opcode < 0x100:
            row = table.find(self.isa, "VOPC", opcode)
        elif opcode < 0x140:
            row = table.find(self.isa, "VOP2", opcode - 0x100)
        elif vop1 <= opcode < vop1 + 0x80:
            row = table.find(self.isa, "VOP1", opcode - vop1)
        elif 0x270 <= opcode < 0x273 and self.traits.has_long_interpolation:
            row = table.find(self.isa, "VINTRP", opcode - 0x270)
        return row if row is not None and "e64" in row.flags else None


def _size_bytes(layout: Layout) -> int:
    highest = max((low for _, low, _ in layout), default=0)
    return 4 if highest < 32 else 8 if highest < 64 else 16


def _second_word(code: bytes, offset: int) -> int:
    second = code[offset + 4 : offset + 8]
    if len(second) < 4:
        raise BadOperandError("the code ends within an instruction")
    return int.from_bytes(second, "little")


# Fields that are checked, or computed of others.


def _finish_no_offset(fields: dict[str, int], literal: Literal | None, row: Row, traits: Traits) -> None:
    fields["offset_bytes"] = 0


def _finish_smrd(fields: dict[str, int], literal: Literal | None, row: Row, traits: Traits) -> None:
    fields["offset_bytes"] = 0
    if literal is not None:
        fields["offset_bytes"] = literal.bits * 4
        fields["literal"] = literal.bits
    elif fields["imm"]:
        fields["offset_bytes"] = fields["offset"] * 4


def _finish_smem(fields: dict[str, int], literal: Literal | None, row: Row, traits: Traits) -> None:
    fields["offset_bytes"] = 0
    if fields["imm"]:
        value = fields["offset"]
        # Of 21 bits, signed, where it is not of 20.
        fields["offset_bytes"] = value - (1 << 21) if value >> 20 else value


def _finish_ds(fields: dict[str, int], literal: Literal | None, row: Row, traits: Traits) -> None:
    fields["offset"] = fields["offset0"] | fields["offset1"] << 8


def _finish_flat(fields: dict[str, int], literal: Literal | None, row: Row, traits: Traits) -> None:
    # Flat addresses have no offset before gfx9 and twelve bits of it since.
    fields.setdefault("offset", 0)
    if fields["offset"] >> 12:
        raise BadOperandError("a flat address has no negative offset")


def _finish_segment(fields: dict[str, int], literal: Literal | None, row: Row, traits: Traits) -> None:
    if fields["offset"] >> 12:
        fields["offset"] -= 1 << 13


def _finish_buffer(fields: dict[str, int], literal: Literal | None, row: Row, traits: Traits) -> None:
    widths = (1, 3, 4) if traits.has_wide_lds_loads else (1,)
    if fields.get("lds") and ("load" not in row.flags or type_dwords(row.operands[0].type) not in widths):
        raise BadOperandError(f"{row.name} cannot write to LDS")


def _finish_sdwa(fields: dict[str, int], literal: Literal | None, row: Row, traits: Traits) -> None:
    if row.encoding == "VOP1":
        # There is no second source, whatever its bits say.
        fields["src1_sel"] = 6
    if fields.get("dst_sel") == 7 or 7 in (fields["src0_sel"], fields["src1_sel"]) or fields.get("dst_unused") == 3:
        raise BadOperandError("reserved SDWA selection")
    if "no_dst_sel" in row.flags and (fields["dst_sel"], fields["dst_unused"]) != (6, 0):
        raise BadOperandError(f"{row.name} writes its whole destination")


def _finish_dpp(fields: dict[str, int], literal: Literal | None, row: Row, traits: Traits) -> None:
    control = fields["dpp_ctrl"]
    is_valid = (
        control < 0x100
        or 0x101 <= control <= 0x10F
        or 0x111 <= control <= 0x11F
        or 0x121 <= control <= 0x12F
        or control in (0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x142, 0x143)
        or (traits.has_row_newbcast and 0x150 <= control <= 0x15F)
    )
    if not is_valid:
        raise BadOperandError(f"dpp_ctrl {control:#x} is reserved")


_OFFSET_KINDS: Final = {"SMRD": "smrd_offset", "SMEM": "smem_offset"}
"""The kind of the operand that rows of these forms have if they take an offset."""
_FINISH: Final[dict[str, _Finish]] = {
    "SMRD": _finish_smrd,
    "SMEM": _finish_smem,
    "DS": _finish_ds,
    "FLAT": _finish_flat,
    **dict.fromkeys(("GLOBAL", "SCRATCH"), _finish_segment),
    **dict.fromkeys(("MUBUF", "MTBUF"), _finish_buffer),
    **dict.fromkeys(("SDWA", "SDWA_VOPC"), _finish_sdwa),
    "DPP": _finish_dpp,
}

_HINT = "is this the GPU the code was made for, and does an instruction start at this address?"


def _branch_target(address: int, simm16: int) -> int:
    return address + 4 + 4 * ((simm16 ^ 0x8000) - 0x8000)


@cache
def _decoder(isa: str) -> _Decoder:
    return _Decoder(isa)


def decode(code: bytes, offset: int, isa: str, base: int = 0) -> Instruction:
    """The instruction at ``code[offset:]``; its address is ``base + offset``. ``isa`` is one of
    `headwater.chips.gcn_isas.ISAS`."""
    return _decoder(isa).decode(code, offset, base)


def decode_all(code: bytes, isa: str, start: int = 0, end: int | None = None, base: int = 0) -> list[Instruction]:
    """All instructions of ``code[start:end]``, one after the other."""
    one = _decoder(isa).decode
    limit = len(code) if end is None else end
    instructions = []
    offset = start
    while offset < limit:
        instruction = one(code, offset, base)
        instructions.append(instruction)
        offset += instruction.size_bytes
    return instructions
