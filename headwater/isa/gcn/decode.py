"""Machine code passes in, ``Instruction`` passes out; what no GPU of that generation executes is a ``DecodeError``.

Bits that an encoding leaves unused are not looked at, as the hardware does not look at them either. Rules of the scalar
operands: AMD, "Vega" ISA Reference Guide, §3 and §5; of SDWA and DPP §6.6 and §13; earlier guides for what differs.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from headwater.chips.gcn_isas import TRAITS, Traits
from headwater.errors import DecodeError
from headwater.isa.gcn import table
from headwater.isa.gcn.encodings import forms_by_prefix, layouts
from headwater.isa.gcn.model import (
    LITERAL,
    TYPE_BITS,
    VCC,
    Constant,
    Destination,
    Instruction,
    Literal,
    Register,
    Row,
    Source,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable

DWORDS = {kind: max(1, bits // 32) for kind, bits in TYPE_BITS.items()}
# Types of two values in one operand.
PAIRS = frozenset(("v2f16", "v2i16", "v2u16", "v2b16", "v2f32", "v2b32"))
FLOATS = frozenset(("f16", "f32", "f64", "v2f16", "v2f32"))

_VCC_PAIR = Register("s", VCC, 2)
_NO_SADDR = 0x7F
_SDWA, _DPP = 249, 250
"""Sources that announce a second word."""


class _BadOperandError(Exception):
    """An operand's encoding is reserved; ``decode`` adds the address."""


@lru_cache(4096)
def scalar_register(traits: Traits, code: int, dwords: int) -> Register:
    """The scalar registers from encoding ``code`` (below 128) on.

    Of a pair or more of SGPRs the lowest bits of the number are taken as 0, as the hardware does.
    """
    trap = traits.first_trap_register
    first = code & -min(dwords, 4) if dwords > 1 and (code < 102 or trap <= code < 124) else code
    for low, high in traits.scalar_groups:
        if low <= first < high and first + dwords <= high and first % min(dwords, 4) == 0:
            return Register("s", first, dwords)
    raise _BadOperandError(f"no {dwords * 32}-bit scalar register has the encoding {code}")


@lru_cache(8192)
def _scalar_value(traits: Traits, code: int, dwords: int) -> Register | Constant:
    if code < 128:
        return scalar_register(traits, code, dwords)
    if code <= 208 or 240 <= code <= 247 or (code == 248 and traits.has_inverse_two_pi):
        return Constant(code)
    if 251 <= code <= 253 or (235 <= code <= 239 and traits.has_apertures):
        return Register("s", code, dwords)
    if code == 254 and dwords == 1 and traits.has_lds_direct:
        return Register("s", code, 1)
    raise _BadOperandError(f"the source operand encoding {code} is reserved")


@lru_cache(16384)
def _vector_register(file: str, index: int, dwords: int) -> Register:
    if index + dwords > 256:
        raise _BadOperandError(f"{file}[{index}:{index + dwords - 1}] goes beyond the last register, {file}255")
    return Register(file, index, dwords)


@lru_cache(65536)
def _source(
    name: str,
    kind: str,
    value: Value,
    neg: bool = False,
    absolute: bool = False,
    sext: bool = False,
    sel: int = 6,
    op_sel: int = 0,
    op_sel_hi: int | None = None,
    neg_hi: bool = False,
) -> Source:
    """``op_sel_hi`` unless given is what VOP3P has by default: of a pair of values the high one is the high one."""
    if op_sel_hi is None:
        op_sel_hi = int(kind in PAIRS)
    return Source(name, kind, value, neg, absolute, sext, sel, op_sel, op_sel_hi, neg_hi)


@lru_cache(16384)
def _dest(name: str, kind: str, register: Register, sel: int = 6, unused: int = 2, op_sel: int = 0) -> Destination:
    return Destination(name, kind, register, sel, unused, op_sel)


def _image_data_dwords(row: Row, fields: dict[str, int], traits: Traits) -> int:
    """Data registers of an image instruction: one for each channel of dmask, half as many for packed halves."""
    dwords = 4 if "gather" in row.flags else max(1, fields["dmask"].bit_count())
    if "atomic" in row.flags:
        # One or two registers to combine with; for a comparison as many again.
        swap = 2 if "cmpswap" in row.name else 1
        return (dwords if dwords in (swap, 2 * swap) else swap) + fields.get("tfe", 0)
    if fields.get("d16") and not traits.pads_image_halves:
        dwords = (dwords + 1) // 2
    # A warning of the level of detail comes in the same register as what tells of residency.
    warned = fields.get("lwe", 0) if "store" not in row.flags else 0
    return dwords + (fields.get("tfe", 0) | warned)


class _Decoder:
    """Decodes one generation's code; made once for each."""

    def __init__(self, isa: str) -> None:
        self.isa = isa
        self.traits = TRAITS[isa]
        self.layouts = {
            form: tuple((name, low, (1 << width) - 1) for name, (low, width) in fields.items())
            for form, fields in layouts(isa).items()
        }
        handlers: dict[str, Callable[[int, bytes, int, int], Instruction]] = {
            "": self._reserved,
            **dict.fromkeys(("SOP2", "SOP1", "SOPC"), self._sop),
            "SOPK": self._sopk,
            "SOPP": self._sopp,
            "SMRD": self._smrd,
            "SMEM": self._smem,
            **dict.fromkeys(("VOP2", "VOP1", "VOPC"), self._vop),
            "VOP3": self._vop3,
            "VOP3P": self._vop3p,
            "DS": self._ds,
            "FLAT": self._flat,
            **dict.fromkeys(("MUBUF", "MTBUF"), self._buffer),
            "MIMG": self._image,
            "EXP": self._export,
            "VINTRP": self._interpolate,
        }
        self.vop3_op = next((low, mask) for name, low, mask in self.layouts["VOP3"] if name == "op")
        self.forms = forms_by_prefix(isa)
        self.handlers = tuple(handlers[form] for form in self.forms)
        self._rows: dict[tuple[str, int], Row | None] = {}
        self._vop3_rows: dict[int, Row | None] = {}

    def decode(self, code: bytes, offset: int, base: int) -> Instruction:
        word = int.from_bytes(code[offset : offset + 4], "little")
        if offset < 0 or offset + 4 > len(code):
            raise DecodeError("the code ends within an instruction", base + offset)
        try:
            return self.handlers[word >> 23](word, code, offset, base + offset)
        except _BadOperandError as error:
            raise DecodeError(f"{error} (first word {word:#010x}, as {self.isa})", base + offset, hint=_HINT) from None

    # What the handlers are made of.

    def _fields(self, form: str, word: int) -> dict[str, int]:
        return {name: (word >> low) & mask for name, low, mask in self.layouts[form]}

    def _row(self, encoding: str, opcode: int) -> Row:
        key = encoding, opcode
        if key not in self._rows:
            self._rows[key] = table.find(self.isa, encoding, opcode)
        row = self._rows[key]
        if row is None:
            raise _BadOperandError(f"{encoding} has no operation {opcode:#x}")
        return row

    def _long(self, word: int, code: bytes, offset: int) -> int:
        """The instruction's 64 bits."""
        second = code[offset + 4 : offset + 8]
        if len(second) < 4:
            raise _BadOperandError("the code ends within an instruction")
        return word | int.from_bytes(second, "little") << 32

    def _value(self, code: int, dwords: int, literal: Literal | None) -> Value:
        """A source of nine bits, or of eight."""
        if code >= 256:
            return _vector_register("v", code - 256, dwords)
        if code == LITERAL:
            if literal is None:
                raise _BadOperandError("this encoding cannot have a literal")
            return literal
        return _scalar_value(self.traits, code, dwords)

    def _literal(self, code: bytes, offset: int) -> Literal:
        return Literal(self._long(0, code, offset) >> 32)

    def _reserved(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        raise _BadOperandError("reserved encoding")

    # Scalar forms.

    def _sop(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        form = self.forms[word >> 23]
        fields = self._fields(form, word)
        row = self._row(form, fields["op"])
        ssrc0, ssrc1 = fields["ssrc0"], fields.get("ssrc1", 0)
        literal = None
        size = 4
        if ssrc0 == LITERAL or (ssrc1 == LITERAL and form != "SOP1" and row.operands[-1].name != "IMM"):
            literal = self._literal(code, offset)
            size = 8
        dests: list[Destination] = []
        sources: list[Source] = []
        for spec in row.operands:
            name, kind = spec.name, spec.type
            if name == "D":
                register = scalar_register(self.traits, fields["sdst"], DWORDS[kind])
                dests.append(_dest("D", kind, register))
            elif name == "S0":
                sources.append(_source("S0", kind, self._value(ssrc0, DWORDS[kind], literal)))
            elif name == "S1":
                sources.append(_source("S1", kind, self._value(ssrc1, DWORDS[kind], literal)))
        return Instruction(address, size, row, form, tuple(dests), tuple(sources), fields)

    def _sopk(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        fields = self._fields("SOPK", word)
        row = self._row("SOPK", fields["op"])
        size = 4
        target = None
        dests: list[Destination] = []
        sources: list[Source] = []
        for spec in row.operands:
            name, kind = spec.name, spec.type
            if name in ("D", "S0"):
                register = scalar_register(self.traits, fields["sdst"], DWORDS[kind])
                if name == "D":
                    dests.append(_dest("D", kind, register))
                else:
                    sources.append(_source("S0", kind, register))
            elif name == "K":
                size = 8
                sources.append(_source("K", kind, self._literal(code, offset)))
            elif name == "LABEL":
                target = _branch_target(address, fields["simm16"])
        return Instruction(address, size, row, "SOPK", tuple(dests), tuple(sources), fields, target)

    def _sopp(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        fields = self._fields("SOPP", word)
        row = self._row("SOPP", fields["op"])
        is_branch = bool(row.operands) and row.operands[0].name == "LABEL"
        target = _branch_target(address, fields["simm16"]) if is_branch else None
        return Instruction(address, 4, row, "SOPP", (), (), fields, target)

    def _scalar_memory(
        self, row: Row, form: str, fields: dict[str, int], address: int, size: int, offsets: tuple[Source, ...]
    ) -> Instruction:
        """Operands of SMEM and SMRD; ``offsets`` are the registers or the literal that give an offset."""
        data = fields["sdata"] if form == "SMEM" else fields["sdst"]
        dests: list[Destination] = []
        sources: list[Source] = []
        for spec in row.operands:
            name, kind = spec.name, spec.type
            if name == "D":
                if "atomic" not in row.flags or fields["glc"]:
                    dests.append(_dest("D", kind, scalar_register(self.traits, data, DWORDS[kind])))
            elif name == "DATA":
                sources.append(_source("DATA", kind, scalar_register(self.traits, data, DWORDS[kind])))
            elif name == "ADDR":
                register = scalar_register(self.traits, fields["sbase"] * 2, DWORDS[kind])
                sources.append(_source("ADDR", kind, register))
            elif name == "OFFSET":
                sources += offsets
        return Instruction(address, size, row, form, tuple(dests), tuple(sources), fields)

    def _smrd(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        fields = self._fields("SMRD", word)
        row = self._row("SMEM", fields["op"])
        fields["offset_bytes"] = 0
        size = 4
        offsets: tuple[Source, ...] = ()
        if row.operands and row.operands[-1].name == "OFFSET":
            if fields["imm"]:
                fields["offset_bytes"] = fields["offset"] * 4
            elif fields["offset"] == LITERAL and self.traits.has_scalar_load_literal:
                literal = self._literal(code, offset)
                fields["offset_bytes"] = literal.bits * 4
                fields["literal"] = literal.bits
                size = 8
            else:
                value = scalar_register(self.traits, _below(fields["offset"], 128), 1)
                offsets = (_source("SOFFSET", "u32", value),)
        return self._scalar_memory(row, "SMRD", fields, address, size, offsets)

    def _smem(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        fields = self._fields("SMEM", self._long(word, code, offset))
        row = self._row("SMEM", fields["op"])
        fields["offset_bytes"] = 0
        offsets: tuple[Source, ...] = ()
        if row.operands and row.operands[-1].name == "OFFSET":
            register = -1
            if fields["imm"]:
                value = fields["offset"]
                # Of 21 bits, signed, where it is not of 20.
                fields["offset_bytes"] = value - (1 << 21) if value >> 20 else value
            elif not fields.get("soffset_en"):
                register = fields["offset"] & 0x7F
            if fields.get("soffset_en"):
                register = fields["soffset"]
            if register >= 0:
                offsets = (_source("SOFFSET", "u32", scalar_register(self.traits, register, 1)),)
        return self._scalar_memory(row, "SMEM", fields, address, 8, offsets)

    # Vector ALU forms.

    def _vop(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        form = self.forms[word >> 23]
        fields = self._fields(form, word)
        row = self._row(form, fields["op"])
        src0 = fields["src0"]
        if src0 in (_SDWA, _DPP) and row.operands:
            if src0 == _SDWA and not row.flags.isdisjoint(self.traits.sdwa):
                return self._sdwa(row, form, fields, self._long(word, code, offset), address)
            if src0 == _DPP and not row.flags.isdisjoint(self.traits.dpp):
                return self._dpp(row, fields, self._long(word, code, offset), address)
        literal = None
        size = 4
        if row.operands and (src0 == LITERAL or any(spec.name == "K" for spec in row.operands)):
            literal = self._literal(code, offset)
            size = 8
        dests: list[Destination] = []
        sources: list[Source] = []
        for spec in row.operands:
            name, kind, file = spec.name, spec.type, spec.file
            dwords = DWORDS[kind]
            value: Value
            if name == "D":
                if kind == "mask":
                    register = _VCC_PAIR
                elif file == "s":
                    register = scalar_register(self.traits, _below(fields["vdst"], 128), dwords)
                else:
                    register = _vector_register(file or "v", fields["vdst"], dwords)
                dests.append(_dest("D", kind, register))
            elif name == "D1":
                dests.append(_dest("D1", kind, _VCC_PAIR))
            elif name == "S0":
                value = self._value(src0, dwords, literal)
                if file:
                    value = _restricted(value, file)
                sources.append(_source("S0", kind, value))
            elif name == "S1":
                if file == "s":
                    value = self._value(fields["vsrc1"], dwords, None)
                else:
                    value = _vector_register("v", fields["vsrc1"], dwords)
                sources.append(_source("S1", kind, value))
            elif name == "S2":
                sources.append(_source("S2", kind, _VCC_PAIR))
            elif name == "K" and literal is not None:
                sources.append(_source("K", kind, literal))
        return Instruction(address, size, row, form, tuple(dests), tuple(sources), fields)

    def _sdwa(self, row: Row, form: str, short: dict[str, int], word: int, address: int) -> Instruction:
        layout = "SDWA_VOPC" if form == "VOPC" else "SDWA"
        fields = short | self._fields(layout, word)
        if form == "VOP1":
            # There is no second source, whatever its bits say.
            fields["src1_sel"] = 6
        if fields.get("dst_sel") == 7 or 7 in (fields["src0_sel"], fields["src1_sel"]) or fields.get("dst_unused") == 3:
            raise _BadOperandError("reserved SDWA selection")
        return self._with_lanes(row, "SDWA", fields, address)

    def _dpp(self, row: Row, short: dict[str, int], word: int, address: int) -> Instruction:
        fields = short | self._fields("DPP", word)
        _check_dpp(fields["dpp_ctrl"], self.traits)
        return self._with_lanes(row, "DPP", fields, address)

    def _with_lanes(self, row: Row, form: str, fields: dict[str, int], address: int) -> Instruction:
        """An instruction whose second word picks parts of lanes or other lanes; fields that a form lacks pick all."""
        dests: list[Destination] = []
        sources: list[Source] = []
        for spec in row.operands:
            name, kind = spec.name, spec.type
            dwords = DWORDS[kind]
            if name == "D" and kind == "mask":
                register = scalar_register(self.traits, fields["sdst"], 2) if fields.get("sd") else _VCC_PAIR
                dests.append(_dest("D", kind, register))
            elif name == "D":
                register = _vector_register("v", fields["vdst"], dwords)
                dests.append(_dest("D", kind, register, fields.get("dst_sel", 6), fields.get("dst_unused", 2)))
            elif name == "D1":
                dests.append(_dest("D1", kind, _VCC_PAIR))
            elif name == "S2":
                sources.append(_source("S2", kind, _VCC_PAIR))
            else:
                index = name[1]
                number = fields["vsrc0"] if index == "0" else fields["vsrc1"]
                value: Value
                if fields.get(f"s{index}"):
                    value = self._value(number, dwords, None)
                else:
                    value = _vector_register("v", number, dwords)
                signs = kind in FLOATS or (form == "DPP" and "fmods" in row.flags)
                sources.append(
                    _source(
                        name,
                        kind,
                        value,
                        neg=signs and bool(fields[f"src{index}_neg"]),
                        absolute=signs and bool(fields[f"src{index}_abs"]),
                        sext=not signs and bool(fields.get(f"src{index}_sext")),
                        sel=fields.get(f"src{index}_sel", 6),
                    )
                )
        return Instruction(address, 8, row, form, tuple(dests), tuple(sources), fields)

    def _vop3_row(self, opcode: int) -> Row:
        """VOP3's own rows, and those that the shorter forms' rows imply."""
        if opcode not in self._vop3_rows:
            row = table.find(self.isa, "VOP3", opcode)
            if row is None:
                vop1 = self.traits.vop3_of_vop1
                if opcode < 0x100:
                    implied = table.find(self.isa, "VOPC", opcode)
                elif opcode < 0x140:
                    implied = table.find(self.isa, "VOP2", opcode - 0x100)
                elif vop1 <= opcode < vop1 + 0x80:
                    implied = table.find(self.isa, "VOP1", opcode - vop1)
                elif 0x270 <= opcode < 0x273 and self.traits.has_long_interpolation:
                    implied = table.find(self.isa, "VINTRP", opcode - 0x270)
                else:
                    implied = None
                row = implied if implied is not None and "e64" in implied.flags else None
            self._vop3_rows[opcode] = row
        found = self._vop3_rows[opcode]
        if found is None:
            raise _BadOperandError(f"VOP3 has no operation {opcode:#x}")
        return found

    def _vop3(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        word = self._long(word, code, offset)
        row = self._vop3_row((word >> self.vop3_op[0]) & self.vop3_op[1])
        flags = row.flags
        if "interp" in flags:
            return self._vop3_interpolate(row, word, address)
        has_carry = "vop3b" in flags
        fields = self._fields("VOP3B" if has_carry else "VOP3", word)
        neg, absolute = fields["neg"], fields.get("abs", 0)
        op_sel = fields.get("op_sel", 0) if "op_sel" in flags else 0
        dests: list[Destination] = []
        sources: list[Source] = []
        for spec in row.operands:
            name, kind, file = spec.name, spec.type, spec.file
            dwords = DWORDS[kind]
            if name == "D":
                if kind == "mask" or file == "s":
                    register = scalar_register(self.traits, _below(fields["vdst"], 128), dwords)
                else:
                    register = _vector_register("v", fields["vdst"], dwords)
                dests.append(_dest("D", kind, register, 6, 2, op_sel >> 3))
            elif name == "D1":
                dests.append(_dest("D1", kind, scalar_register(self.traits, fields["sdst"], 2)))
            else:
                index = ord(name[1]) - 48
                code9 = fields[f"src{index}"]
                if kind == "mask":
                    code9 = _below(code9, 128)
                value = self._value(code9, dwords, None)
                if file:
                    value = _restricted(value, file)
                if kind in FLOATS or "fmods" in flags:
                    sources.append(
                        _source(
                            name, kind, value, bool(neg >> index & 1), bool(absolute >> index & 1), False, 6,
                            op_sel >> index & 1,
                        )
                    )  # fmt: skip
                else:
                    sources.append(_source(name, kind, value, False, False, False, 6, op_sel >> index & 1))
        return Instruction(address, 8, row, "VOP3", tuple(dests), tuple(sources), fields)

    def _vop3_interpolate(self, row: Row, word: int, address: int) -> Instruction:
        fields = self._fields("VOP3_INTERP", word)
        if not self.traits.has_long_interpolation:
            raise _BadOperandError("VOP3 has no interpolation")
        dest = _dest(
            "D", row.operands[0].type, _vector_register("v", fields["vdst"], 1), 6, 2, fields.get("op_sel", 0) >> 3
        )
        sources = []
        for spec in row.operands[1:]:
            if spec.name in ("S0", "S2"):
                index = int(spec.name[1])
                value = _restricted(self._value(fields[f"src{index}"], 1, None), "v")
                neg, absolute = fields["neg"] >> (index or 1) & 1, fields["abs"] >> (index or 1) & 1
                sources.append(_source(spec.name, spec.type, value, bool(neg), bool(absolute)))
        return Instruction(address, 8, row, "VOP3", (dest,), tuple(sources), fields)

    def _vop3p(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        word = self._long(word, code, offset)
        row = self._row("VOP3P", (word >> 16) & 0x7F)
        if "mfma" in row.flags or "accvgpr" in row.flags:
            return self._mfma(row, word, address)
        fields = self._fields("VOP3P", word)
        op_sel, op_sel_hi = fields["op_sel"], fields["op_sel_hi"] | fields["op_sel_hi2"] << 2
        neg, neg_hi = fields["neg"], fields["neg_hi"]
        is_mix = "mix" in row.flags
        dest = row.operands[0]
        sources: list[Source] = []
        for index, spec in enumerate(row.operands[1:]):
            value = self._value(fields[f"src{index}"], DWORDS[spec.type], None)
            high = bool(neg_hi >> index & 1)
            kind = "v2f16" if is_mix and op_sel_hi >> index & 1 else spec.type  # of registers and inline constants
            sources.append(
                _source(
                    spec.name, kind, value, bool(neg >> index & 1), is_mix and high, False, 6,
                    op_sel >> index & 1, op_sel_hi >> index & 1, high and not is_mix,
                )
            )  # fmt: skip
        dests = (_dest("D", dest.type, _vector_register("v", fields["vdst"], DWORDS[dest.type])),)
        return Instruction(address, 8, row, "VOP3P", dests, tuple(sources), fields)

    def _mfma(self, row: Row, word: int, address: int) -> Instruction:
        """Matrix operations and moves from and to accumulation registers."""
        fields = self._fields("MFMA", word)
        acc = fields["acc"]
        spec = row.operands[0]
        is_matrix = "mfma" in row.flags
        if is_matrix:
            file = "a" if fields.get("acc_cd", 1) else "v"
        else:
            file = spec.file or "v"
        dest = _dest("D", spec.type, _vector_register(file, fields["vdst"], DWORDS[spec.type]))
        sources: list[Source] = []
        for index, spec in enumerate(row.operands[1:]):
            code = fields[f"src{index}"]
            dwords = DWORDS[spec.type]
            value: Value
            if code >= 256:
                if index == 2:
                    source_file = file
                else:
                    source_file = spec.file or ("a" if is_matrix and acc >> index & 1 else "v")
                value = _vector_register(source_file, code - 256, dwords)
            elif index < 2 and (is_matrix or spec.file):
                raise _BadOperandError("a matrix operation's factors are vector registers")
            else:
                value = self._value(code, dwords, None)
                if is_matrix and not isinstance(value, Constant):
                    raise _BadOperandError("a matrix operation's addend is no scalar register")
            sources.append(_source(spec.name, spec.type, value))
        return Instruction(address, 8, row, "VOP3P", (dest,), tuple(sources), fields)

    # Memory forms.

    def _ds(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        fields = self._fields("DS", self._long(word, code, offset))
        row = self._row("DS", fields["op"])
        fields["offset"] = fields["offset0"] | fields["offset1"] << 8
        file = "a" if fields.get("acc") else "v"
        dests: list[Destination] = []
        sources: list[Source] = []
        for spec in row.operands:
            name, kind = spec.name, spec.type
            if name == "D":
                dests.append(_dest("D", kind, _vector_register(file, fields["vdst"], DWORDS[kind])))
            elif name == "ADDR":
                sources.append(_source("ADDR", kind, _vector_register("v", fields["addr"], 1)))
            else:
                number = fields["data0"] if name == "DATA" else fields["data1"]
                sources.append(_source(name, kind, _vector_register(file, number, DWORDS[kind])))
        return Instruction(address, 8, row, "DS", tuple(dests), tuple(sources), fields)

    def _flat(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        fields = self._fields("FLAT", self._long(word, code, offset))
        form = ("FLAT", "SCRATCH", "GLOBAL", "")[fields.get("seg", 0)]
        if not form:
            raise _BadOperandError("reserved segment of a flat instruction")
        row = self._row(form, fields["op"])
        if form != "FLAT" and fields["offset"] >> 12:
            fields["offset"] -= 1 << 13
        elif form == "FLAT":
            # Flat addresses have no offset before gfx9 and twelve bits of it since.
            fields.setdefault("offset", 0)
            if fields["offset"] >> 12:
                raise _BadOperandError("a flat address has no negative offset")
        saddr = fields.get("saddr", _NO_SADDR) if form != "FLAT" else _NO_SADDR
        file = "a" if fields.get("acc") else "v"
        dests: list[Destination] = []
        sources: list[Source] = []
        for spec in row.operands:
            name, kind = spec.name, spec.type
            if name == "D":
                if "atomic" not in row.flags or fields["glc"]:
                    dests.append(_dest("D", kind, _vector_register(file, fields["vdst"], DWORDS[kind])))
            elif name == "DATA":
                sources.append(_source("DATA", kind, _vector_register(file, fields["data"], DWORDS[kind])))
            elif name == "SADDR":
                if saddr != _NO_SADDR:
                    register = scalar_register(self.traits, saddr, DWORDS[kind])
                    sources.append(_source("SADDR", kind, register))
            elif saddr == _NO_SADDR:
                sources.append(_source("ADDR", kind, _vector_register("v", fields["addr"], DWORDS[kind])))
            elif form == "GLOBAL":
                # With a scalar base the vector register is a 32-bit offset.
                sources.append(_source("ADDR", "u32", _vector_register("v", fields["addr"], 1)))
        return Instruction(address, 8, row, form, tuple(dests), tuple(sources), fields)

    def _buffer(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        form = self.forms[word >> 23]
        fields = self._fields(form, self._long(word, code, offset))
        row = self._row(form, fields["op"])
        file = "a" if fields.get("acc") else "v"
        extra = fields.get("tfe", 0)
        if fields.get("lds") and ("load" not in row.flags or DWORDS[row.operands[0].type] > 1):
            raise _BadOperandError(f"{row.name} cannot write to LDS")
        dests: list[Destination] = []
        sources: list[Source] = []
        for spec in row.operands:
            name, kind = spec.name, spec.type
            dwords = DWORDS[kind]
            if name == "D":
                if fields.get("lds") or ("atomic" in row.flags and not fields["glc"]):
                    continue
                dests.append(_dest("D", kind, _vector_register(file, fields["vdata"], dwords + extra)))
            elif name == "DATA":
                sources.append(_source("DATA", kind, _vector_register(file, fields["vdata"], dwords)))
            elif name == "ADDR":
                count = 2 if fields.get("addr64") else fields["offen"] + fields["idxen"]
                if count:
                    register = _vector_register("v", fields["vaddr"], count)
                    sources.append(_source("ADDR", "b64" if count == 2 else "u32", register))
            elif name == "RSRC":
                sources.append(_source("RSRC", kind, scalar_register(self.traits, fields["srsrc"] * 4, 4)))
            else:
                sources.append(_source("SOFFSET", kind, self._value(fields["soffset"], 1, None)))
        return Instruction(address, 8, row, form, tuple(dests), tuple(sources), fields)

    def _image(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        fields = self._fields("MIMG", self._long(word, code, offset))
        row = self._row("MIMG", fields["op"])
        file = "a" if fields.get("acc") else "v"
        dwords = _image_data_dwords(row, fields, self.traits)
        dests: list[Destination] = []
        sources: list[Source] = []
        for spec in row.operands:
            name, kind = spec.name, spec.type
            if name == "D":
                if "atomic" not in row.flags or fields["glc"]:
                    dests.append(_dest("D", kind, _vector_register(file, fields["vdata"], dwords)))
            elif name == "DATA":
                sources.append(_source("DATA", kind, _vector_register(file, fields["vdata"], dwords)))
            elif name == "ADDR":
                sources.append(_source("ADDR", kind, _vector_register("v", fields["vaddr"], DWORDS[kind])))
            elif name == "RSRC":
                short = fields.get("r128", 0)
                register = scalar_register(self.traits, fields["srsrc"] * 4, 4 if short else 8)
                sources.append(_source("RSRC", "b128" if short else kind, register))
            else:
                register = scalar_register(self.traits, fields["ssamp"] * 4, 4)
                sources.append(_source("SAMP", kind, register))
        return Instruction(address, 8, row, "MIMG", tuple(dests), tuple(sources), fields)

    # Export and interpolation.

    def _export(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        fields = self._fields("EXP", self._long(word, code, offset))
        row = self._row("EXP", 0)
        sources = tuple(
            _source(f"S{index}", "b32", _vector_register("v", fields[f"vsrc{index}"], 1))
            for index in range(4)
            if fields["en"] >> index & 1
        )
        return Instruction(address, 8, row, "EXP", (), sources, fields)

    def _interpolate(self, word: int, code: bytes, offset: int, address: int) -> Instruction:
        fields = self._fields("VINTRP", word)
        row = self._row("VINTRP", fields["op"])
        dests = (_dest("D", "f32", _vector_register("v", fields["vdst"], 1)),)
        sources: tuple[Source, ...] = ()
        if row.operands[1].name == "S0":
            sources = (_source("S0", "f32", _vector_register("v", fields["vsrc"], 1)),)
        return Instruction(address, 4, row, "VINTRP", dests, sources, fields)


_HINT = "is this the GPU the code was made for, and does an instruction start at this address?"


def _branch_target(address: int, simm16: int) -> int:
    return address + 4 + 4 * ((simm16 ^ 0x8000) - 0x8000)


def _below(code: int, limit: int) -> int:
    if code >= limit:
        raise _BadOperandError(f"no scalar register has the encoding {code}")
    return code


def _restricted(value: Value, file: str) -> Value:
    """``value`` if it is of the register file that the row asks for; a constant counts as scalar."""
    if isinstance(value, Register):
        if value.file == "v" and file == "a":
            return _vector_register("a", value.index, value.dwords)
        if value.file == file or (file == "v" and value.index == 254):
            return value
    elif file == "s":
        return value
    raise _BadOperandError(f"this operand must be a {'scalar' if file == 's' else 'vector'} register")


def _check_dpp(control: int, traits: Traits) -> None:
    is_valid = (
        control < 0x100
        or 0x101 <= control <= 0x10F
        or 0x111 <= control <= 0x11F
        or 0x121 <= control <= 0x12F
        or control in (0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x142, 0x143)
        or (traits.has_row_newbcast and 0x150 <= control <= 0x15F)
    )
    if not is_valid:
        raise _BadOperandError(f"dpp_ctrl {control:#x} is reserved")


@cache
def _decoder(isa: str) -> _Decoder:
    return _Decoder(isa)


def decode(code: bytes, offset: int, isa: str, base: int = 0) -> Instruction:
    """The instruction at ``code[offset:]``; its address is ``base + offset``. ``isa`` is one of ``model.ISAS``."""
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
