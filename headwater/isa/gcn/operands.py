"""Input: a form, a row and one of its operands. Output: what reads that operand from an instruction's bits.

The tables' ``@`` lines say which field holds an operand, and of what kind it is. ``KINDS`` says how each kind is read:
what a kind allows, a row's register file may restrict (``D:b32@s``). Rules of the scalar operands: AMD, "Vega" ISA
Reference Guide, §3 and §5; of SDWA and DPP §6.6 and §13; earlier guides for what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeAlias, TypeVar

from headwater.chips.gcn_isas import Traits
from headwater.isa.gcn.model import (
    LITERAL,
    VCC,
    Constant,
    Destination,
    Literal,
    OperandSpec,
    Place,
    Register,
    Source,
    Value,
)
from headwater.isa.semantics.types import TYPE_BITS

T = TypeVar("T")
Fields: TypeAlias = Mapping[str, int]
Layout: TypeAlias = tuple[tuple[str, int, int], ...]
"""Name, lowest bit and mask of each field."""

# Types of two values in one operand.
_PAIRS = frozenset(("v2f16", "v2i16", "v2u16", "v2b16", "v2f32", "v2b32"))
_FLOATS = frozenset(("f16", "bf16", "f32", "f64", "v2f16", "v2bf16", "v2f32"))
_VCC_PAIR = Register("s", VCC, 2)
_NO_SADDR = 0x7F
_LDS_DIRECT = 254
_MOST_REMEMBERED = 4096

RELEVANT_FLAGS = frozenset(("atomic", "cmpswap", "fmods", "gather", "mix", "op_sel", "store"))
"""Flags of rows on which it depends how an operand is read."""


class BadOperandError(Exception):
    """An operand's encoding is reserved; the decoder adds the address."""


def type_dwords(type_: str) -> int:
    """Registers of an operand type."""
    return max(1, TYPE_BITS[type_] // 32)


# Registers and values by their numbers.


@lru_cache(4096)
def scalar_register(traits: Traits, code: int, dwords: int) -> Register:
    """The scalar registers from encoding ``code`` on. Raises BadOperandError.

    Of a pair or more of SGPRs the lowest bits of the number are taken as 0, as the hardware does.
    """
    if code >= 128:
        raise BadOperandError(f"no scalar register has the encoding {code}")
    trap = traits.first_trap_register
    first = code & -min(dwords, 4) if dwords > 1 and (code < 102 or trap <= code < 124) else code
    for low, high in traits.scalar_groups:
        if low <= first < high and first + dwords <= high and first % min(dwords, 4) == 0:
            return Register("s", first, dwords)
    raise BadOperandError(f"no {dwords * 32}-bit scalar register has the encoding {code}")


def _vector_register(file: str, index: int, dwords: int) -> Register:
    if index + dwords > 256:
        raise BadOperandError(f"{file}[{index}:{index + dwords - 1}] goes beyond the last register, {file}255")
    return Register(file, index, dwords)


def _value(traits: Traits, code: int, dwords: int, literal: Literal | None) -> Value:
    """A source of nine bits, or of eight."""
    if code >= 256:
        return _vector_register("v", code - 256, dwords)
    if code == LITERAL:
        if literal is None:
            raise BadOperandError("this encoding cannot have a literal")
        return literal
    if code < 128:
        return scalar_register(traits, code, dwords)
    if code <= 208 or 240 <= code <= 247 or (code == 248 and traits.has_inverse_two_pi):
        return Constant(code)
    if 251 <= code <= 253 or (235 <= code <= 239 and traits.has_apertures):
        return Register("s", code, dwords)
    if code == _LDS_DIRECT and dwords == 1 and traits.has_lds_direct:
        return Register("s", code, 1)
    raise BadOperandError(f"the source operand encoding {code} is reserved")


def _restricted(value: Value, file: str) -> Value:
    """``value`` if it is of the register file that the row asks for; a constant counts as scalar."""
    if isinstance(value, Register):
        if value.file == "v" and file == "a":
            return _vector_register("a", value.index, value.dwords)
        if value.file == file or (file == "v" and value.index == _LDS_DIRECT):
            return value
    elif file == "s":
        return value
    raise BadOperandError(f"this operand must be a {'scalar' if file == 's' else 'vector'} register")


# Kinds of operands.

Read: TypeAlias = Callable[[Fields, "Literal | None"], "Value | tuple[Value, str] | None"]
"""Fields, and the literal that follows, in; the value out, with its type where that is not the row's. None: absent."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand in a form, of rows with these flags of ``RELEVANT_FLAGS``.

    ``layout``: the form's fields. ``short``: it has 32 bits, so that literals may follow.
    """

    traits: Traits
    form: str
    flags: frozenset[str]
    spec: OperandSpec
    place: Place
    layout: Layout
    short: bool

    @property
    def field(self) -> str:
        """The field that holds it."""
        return self.place.field

    @property
    def dwords(self) -> int:
        """Registers of its type."""
        return type_dwords(self.spec.type)

    @property
    def is_dest(self) -> bool:
        """Whether it is written."""
        return self.place.role == "result"

    def has(self, field: str) -> bool:
        """Whether the form has this field."""
        return any(name == field for name, _, _ in self.layout)


def _sgpr(o: Operand) -> Read:
    """Scalar registers."""
    traits, field, scale, dwords = o.traits, o.field, o.place.scale, o.dwords
    return lambda fields, literal: scalar_register(traits, fields[field] * scale, dwords)


def _scalar(o: Operand) -> Read:
    """Scalar registers, constants, or the literal."""
    traits, field, dwords = o.traits, o.field, o.dwords
    return lambda fields, literal: _value(traits, fields[field], dwords, literal)


def _source(o: Operand) -> Read:
    """Nine bits: a vector register or what ``scalar`` is. Masks are scalar registers."""
    if o.spec.type == "mask":
        return _sgpr(o)
    traits, field, dwords, file = o.traits, o.field, o.dwords, o.spec.file
    if file:
        return lambda fields, literal: _restricted(_value(traits, fields[field], dwords, literal), file)
    return _scalar(o)


def _vector(o: Operand) -> Read:
    """Nine bits of which a vector register is made, or LDS_DIRECT."""
    traits, field, dwords = o.traits, o.field, o.dwords
    return lambda fields, literal: _restricted(_value(traits, fields[field], dwords, None), "v")


def _vgpr(o: Operand) -> Read:
    """Vector registers; scalar ones for a mask or a row that says so, and then a source may be a constant as well."""
    traits, field, dwords, file = o.traits, o.field, o.dwords, o.spec.file or "v"
    if o.spec.type != "mask" and file != "s":
        return lambda fields, literal: _vector_register(file, fields[field], dwords)
    return _sgpr(o) if o.is_dest else lambda fields, literal: _value(traits, fields[field], dwords, None)


def _vcc(o: Operand) -> Read:
    """VCC, which no field holds."""
    return lambda fields, literal: _VCC_PAIR


def _literal(o: Operand) -> Read:
    """The literal, which is always there."""
    return lambda fields, literal: literal


def _sdwa(o: Operand) -> Read:
    """A vector register, or as the field s0 or s1 says a scalar source."""
    traits, field, dwords, flag = o.traits, o.field, o.dwords, f"s{o.place.position}"

    def read(fields: Fields, literal: Literal | None) -> Value:
        if fields.get(flag):
            return _value(traits, fields[field], dwords, None)
        return _vector_register("v", fields[field], dwords)

    return read


def _sdwa_mask(o: Operand) -> Read:
    """VCC, or as the field sd says other scalar registers."""
    traits, field = o.traits, o.field
    return lambda fields, literal: scalar_register(traits, fields[field], 2) if fields.get("sd") else _VCC_PAIR


# Matrix operations: which operands are accumulation registers.


def _matrix_file(fields: Fields) -> str:
    return "a" if fields.get("acc_cd", 1) else "v"


def _matrix(o: Operand) -> Read:
    """The result of a matrix operation."""
    field, dwords = o.field, o.dwords
    return lambda fields, literal: _vector_register(_matrix_file(fields), fields[field], dwords)


def _factor(o: Operand) -> Read:
    """A factor of a matrix operation."""
    field, dwords, bit = o.field, o.dwords, o.place.position

    def read(fields: Fields, literal: Literal | None) -> Value:
        if fields[field] < 256:
            raise BadOperandError("a matrix operation's factors are vector registers")
        return _vector_register("a" if fields["acc"] >> bit & 1 else "v", fields[field] - 256, dwords)

    return read


_FORMAT_DWORDS = (8, 8, 6, 6, 4)
"""Registers of a factor in each format: fp8, bf8, fp6, bf6, fp4 (as LLVM 22 prints them)."""


def _sized_factor(o: Operand) -> Read:
    """A factor of a matrix operation, in the format that the field cbsz gives for the first and blgp for the second."""
    field, bit, format_field = o.field, o.place.position, ("cbsz", "blgp")[o.place.position]

    def read(fields: Fields, literal: Literal | None) -> tuple[Value, str]:
        if fields[field] < 256:
            raise BadOperandError("a matrix operation's factors are vector registers")
        if fields[format_field] >= len(_FORMAT_DWORDS):
            raise BadOperandError(f"{format_field} {fields[format_field]} is reserved")
        dwords = _FORMAT_DWORDS[fields[format_field]]
        file = "a" if fields["acc"] >> bit & 1 else "v"
        return _vector_register(file, fields[field] - 256, dwords), f"b{32 * dwords}"

    return read


def _addend(o: Operand) -> Read:
    """The addend of a matrix operation: registers of the result's file, or a constant."""
    traits, field, dwords = o.traits, o.field, o.dwords

    def read(fields: Fields, literal: Literal | None) -> Value:
        if fields[field] >= 256:
            return _vector_register(_matrix_file(fields), fields[field] - 256, dwords)
        value = _value(traits, fields[field], dwords, None)
        if not isinstance(value, Constant):
            raise BadOperandError("a matrix operation's addend is no scalar register")
        return value

    return read


# Memory.


def _file(fields: Fields) -> str:
    return "a" if fields.get("acc") else "v"


def _data(o: Operand) -> Read:
    """Vector registers, or as the field acc says accumulation registers."""
    field, dwords = o.field, o.dwords
    return lambda fields, literal: _vector_register(_file(fields), fields[field], dwords)


def _buffer_data(o: Operand) -> Read:
    """As ``data``; a result has one register more for residency, or none at all where it goes to LDS."""
    field, dwords, is_dest = o.field, o.dwords, o.is_dest

    def read(fields: Fields, literal: Literal | None) -> Value | None:
        if is_dest and fields.get("lds"):
            return None
        return _vector_register(_file(fields), fields[field], dwords + (fields.get("tfe", 0) if is_dest else 0))

    return read


def _image_data(o: Operand) -> Read:
    """As ``data``, as many registers as the fields say."""
    field, flags, traits = o.field, o.flags, o.traits
    return lambda fields, literal: _vector_register(
        _file(fields), fields[field], _image_data_dwords(flags, fields, traits)
    )


def _image_data_dwords(flags: frozenset[str], fields: Fields, traits: Traits) -> int:
    """Data registers of an image instruction: one for each channel of dmask, half as many for packed halves."""
    dwords = 4 if "gather" in flags else max(1, fields["dmask"].bit_count())
    if "atomic" in flags:
        # One or two registers to combine with; for a comparison as many again.
        swap = 2 if "cmpswap" in flags else 1
        return (dwords if dwords in (swap, 2 * swap) else swap) + fields.get("tfe", 0)
    if fields.get("d16") and not traits.pads_image_halves:
        dwords = (dwords + 1) // 2
    # A warning of the level of detail comes in the same register as what tells of residency.
    warned = fields.get("lwe", 0) if "store" not in flags else 0
    return dwords + (fields.get("tfe", 0) | warned)


def _image(o: Operand) -> Read:
    """The descriptor of an image, half as long where r128 says so."""
    traits, field, scale, dwords = o.traits, o.field, o.place.scale, o.dwords

    def read(fields: Fields, literal: Literal | None) -> Value | tuple[Value, str]:
        if fields.get("r128"):
            return scalar_register(traits, fields[field] * scale, 4), "b128"
        return scalar_register(traits, fields[field] * scale, dwords)

    return read


def _saddr(o: Operand) -> Read:
    """The scalar base of an address, if there is one."""
    base = _sgpr(o)
    return lambda fields, literal: None if fields["saddr"] == _NO_SADDR else base(fields, literal)


def _global_address(o: Operand) -> Read:
    """An address, or beside a scalar base an offset of 32 bits."""
    field, dwords = o.field, o.dwords

    def read(fields: Fields, literal: Literal | None) -> Value | tuple[Value, str]:
        if fields["saddr"] == _NO_SADDR:
            return _vector_register("v", fields[field], dwords)
        return _vector_register("v", fields[field], 1), "u32"

    return read


def _scratch_address(o: Operand) -> Read:
    """An address, if it has no scalar base, or the field sve says so."""
    field, dwords = o.field, o.dwords
    if o.has("sve"):
        return lambda fields, literal: _vector_register("v", fields[field], dwords) if fields["sve"] else None
    return lambda fields, literal: (
        _vector_register("v", fields[field], dwords) if fields["saddr"] == _NO_SADDR else None
    )


def _buffer_address(o: Operand) -> Read:
    """Index and offset, one of them, or nothing; or an address of 64 bits."""
    field = o.field

    def read(fields: Fields, literal: Literal | None) -> tuple[Value, str] | None:
        count = 2 if fields.get("addr64") else fields["offen"] + fields["idxen"]
        if not count:
            return None
        return _vector_register("v", fields[field], count), "b64" if count == 2 else "u32"

    return read


def _smem_offset(o: Operand) -> Read:
    """The register that holds an offset, if one does: beside the immediate one since gfx9, before in its place."""
    traits, field = o.traits, o.field

    def read(fields: Fields, literal: Literal | None) -> Value | None:
        if fields.get("soffset_en"):
            return scalar_register(traits, fields[field], 1)
        return None if fields["imm"] else scalar_register(traits, fields["offset"] & 0x7F, 1)

    return read


def _smrd_offset(o: Operand) -> Read:
    """The register that holds an offset, if one does."""
    traits, field = o.traits, o.field
    return lambda fields, literal: (
        None if fields["imm"] or literal is not None else scalar_register(traits, fields[field], 1)
    )


def _export(o: Operand) -> Read:
    """A vector register, if it is exported."""
    field, bit = o.field, int(o.spec.name[1])
    return lambda fields, literal: _vector_register("v", fields[field], 1) if fields["en"] >> bit & 1 else None


KINDS: Mapping[str, tuple[Callable[[Operand], Read], tuple[str, ...]]] = {
    "sgpr": (_sgpr, ()),
    "scalar": (_scalar, ()),
    "source": (_source, ()),
    "vector": (_vector, ()),
    "vgpr": (_vgpr, ()),
    "vcc": (_vcc, ()),
    "literal": (_literal, ()),
    "dpp": (_vgpr, ()),
    "sdwa": (_sdwa, ("s0", "s1")),
    "sdwa_mask": (_sdwa_mask, ("sd",)),
    "matrix": (_matrix, ("acc_cd",)),
    "factor": (_factor, ("acc",)),
    "sized_factor": (_sized_factor, ("acc", "cbsz", "blgp")),
    "addend": (_addend, ("acc_cd",)),
    "data": (_data, ("acc",)),
    "buffer_data": (_buffer_data, ("acc", "lds", "tfe")),
    "image_data": (_image_data, ("acc", "dmask", "d16", "tfe", "lwe")),
    "image": (_image, ("r128",)),
    "saddr": (_saddr, ()),
    "global_address": (_global_address, ("saddr",)),
    "scratch_address": (_scratch_address, ("saddr", "sve")),
    "buffer_address": (_buffer_address, ("addr64", "offen", "idxen")),
    "smem_offset": (_smem_offset, ("soffset_en", "imm", "offset")),
    "smrd_offset": (_smrd_offset, ("imm",)),
    "export": (_export, ("en",)),
}
"""Kind of an operand in a register → how it is read, and which fields it depends on beside its own."""

IMMEDIATES = frozenset(
    "decimal number hex label hwreg waitcnt message gpr_index end parameter attribute target".split()
)
"""Kinds of operands that are fields themselves: the printer knows what to write for them."""


# Modifiers, and what is made of all that.

Modify: TypeAlias = Callable[[Fields], dict[str, Any]]
_SOURCE_BITS = ("neg", "abs", "op_sel", "op_sel_hi", "op_sel_hi2", "neg_hi")


def _modifiers(o: Operand) -> Modify | None:
    """The attributes of the operand that fields say; None where it has none."""
    if not o.field or o.form not in _MODIFIERS or (o.form.startswith("SDWA") and o.spec.type == "mask"):
        return None
    return _MODIFIERS[o.form](o)


def _vop3_modifiers(o: Operand) -> Modify:
    halves = "op_sel" in o.flags
    if o.is_dest:
        return lambda fields: {"op_sel": fields.get("op_sel", 0) >> 3 if halves else 0}
    index = o.place.position
    signs = o.spec.type in _FLOATS or "fmods" in o.flags
    return lambda fields: {
        "neg": bool(signs and fields["neg"] >> index & 1),
        "abs": bool(signs and fields.get("abs", 0) >> index & 1),
        "op_sel": fields.get("op_sel", 0) >> index & 1 if halves else 0,
    }


def _interpolation_modifiers(o: Operand) -> Modify:
    if o.is_dest:
        return lambda fields: {"op_sel": fields.get("op_sel", 0) >> 3}
    bit = o.place.position
    return lambda fields: {"neg": bool(fields["neg"] >> bit & 1), "abs": bool(fields["abs"] >> bit & 1)}


def _vop3p_modifiers(o: Operand) -> Modify | None:
    if o.is_dest:
        return None
    index = o.place.position
    is_mix = "mix" in o.flags

    def modify(fields: Fields) -> dict[str, Any]:
        high = bool(fields["neg_hi"] >> index & 1)
        op_sel_hi = (fields["op_sel_hi"] | fields["op_sel_hi2"] << 2) >> index & 1
        made: dict[str, Any] = {
            "neg": bool(fields["neg"] >> index & 1),
            "abs": is_mix and high,
            "op_sel": fields["op_sel"] >> index & 1,
            "op_sel_hi": op_sel_hi,
            "neg_hi": high and not is_mix,
        }
        if is_mix and op_sel_hi:
            made["type"] = "v2f16"  # of registers and inline constants
        return made

    return modify


def _lane_modifiers(o: Operand) -> Modify:
    if o.is_dest:
        return lambda fields: {"sel": fields.get("dst_sel", 6), "unused": fields.get("dst_unused", 2)}
    prefix = f"src{o.place.position}"
    signs = o.spec.type in _FLOATS or (o.form == "DPP" and "fmods" in o.flags)
    return lambda fields: {
        "neg": signs and bool(fields[f"{prefix}_neg"]),
        "abs": signs and bool(fields[f"{prefix}_abs"]),
        "sext": not signs and bool(fields.get(f"{prefix}_sext")),
        "sel": fields.get(f"{prefix}_sel", 6),
    }


_MODIFIERS: Mapping[str, Callable[[Operand], Modify | None]] = {
    "VOP3": _vop3_modifiers,
    "VOP3B": _vop3_modifiers,
    "VOP3_INTERP": _interpolation_modifiers,
    "VOP3P": _vop3p_modifiers,
    "SDWA": _lane_modifiers,
    "SDWA_VOPC": _lane_modifiers,
    "DPP": _lane_modifiers,
}


class Reader(dict[int, "T | None"], Generic[T]):
    """The operand by those bits of the instruction on which it depends (``bits``): made when they first come up.

    ``of`` makes it of fields; with a literal, which is not among them, it has to be called each time.
    """

    def __init__(self, layout: Layout, of: Callable[[Fields, Literal | None], T | None]) -> None:
        super().__init__()
        self.bits = sum(mask << low for _, low, mask in layout)
        self.layout = layout
        self.of = of

    def __missing__(self, word: int) -> T | None:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        made = self[word] = self.of({name: word >> low & mask for name, low, mask in self.layout}, None)
        return made


def _reader(o: Operand, make: Callable[[str, Value, dict[str, Any]], T]) -> Reader[T]:
    kind, fields = KINDS[o.place.kind]
    read, modify = kind(o), _modifiers(o)
    # An atomic returns what was in memory only where it is asked to, by a bit that those of LDS lack.
    returns = o.is_dest and "atomic" in o.flags and o.has("glc")
    needed = {o.field, *fields} | ({"glc"} if returns else set())
    if modify is not None:
        index = o.place.position
        needed |= {*_SOURCE_BITS, f"src{index}_neg", f"src{index}_abs", f"src{index}_sext", f"src{index}_sel"}
        needed |= {"dst_sel", "dst_unused"}

    def operand(values: Fields, literal: Literal | None) -> T | None:
        if returns and not values["glc"]:
            return None
        value = read(values, literal)
        if value is None:
            return None
        value, type_ = value if isinstance(value, tuple) else (value, o.spec.type)
        attributes = {} if modify is None else modify(values)
        return make(attributes.pop("type", type_), value, attributes)

    layout = tuple(field for field in o.layout if field[0] in needed)
    return Reader(layout, operand)


def source_reader(o: Operand) -> Reader[Source]:
    """What reads an operand that the instruction reads."""

    def make(type_: str, value: Value, attributes: dict[str, Any]) -> Source:
        # By default of a pair of values the high one is the high one.
        attributes.setdefault("op_sel_hi", int(type_ in _PAIRS))
        place = o.place
        return Source(
            o.spec.name, type_, value, role=place.role, position=place.position, dpp=place.kind == "dpp", **attributes
        )

    return _reader(o, make)


def dest_reader(o: Operand) -> Reader[Destination]:
    """What reads an operand that the instruction writes."""

    def make(type_: str, value: Value, attributes: dict[str, Any]) -> Destination:
        assert isinstance(value, Register)
        return Destination(o.spec.name, type_, value, **attributes)

    return _reader(o, make)


def literal_marks(o: Operand) -> list[tuple[int, int]]:
    """Bits of the instruction, and their values with which the operand is a literal; empty if it never is one."""
    at = {name: (low, mask) for name, low, mask in o.layout}
    if o.place.kind == "literal":
        return [(0, 0)]
    if o.place.kind in ("scalar", "source") and o.short:
        low, mask = at[o.field]
        return [(mask << low, LITERAL << low)]
    if o.place.kind == "smrd_offset" and o.traits.has_scalar_load_literal:
        low, mask = at[o.field]
        immediate, _ = at["imm"]
        return [(mask << low | 1 << immediate, LITERAL << low)]
    return []
