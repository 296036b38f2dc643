"""Input: instructions. Output: text: what LLVM's disassembler prints, which its assembler reads again.

The syntax is described in LLVM, "User Guide for AMDGPU Backend", "Syntax of AMDGPU Instructions"; the sweep in
verification/isa_sweep.py and the golden texts of tests/isa hold this to LLVM's own output.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from headwater.chips.gcn_isas import TRAITS, Traits
from headwater.isa.gcn import table
from headwater.isa.gcn.model import (
    FLOAT_CONSTANTS,
    Constant,
    Instruction,
    Literal,
    Register,
    Source,
    Value,
    constant_bits,
)
from headwater.isa.semantics.types import TYPE_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SPECIALS = {
    124: "m0", 235: "src_shared_base", 236: "src_shared_limit", 237: "src_private_base", 238: "src_private_limit",
    239: "src_pops_exiting_wave_id", 251: "src_vccz", 252: "src_execz", 253: "src_scc", 254: "src_lds_direct",
}  # fmt: skip


@lru_cache(8192)
def register_name(register: Register, traits: Traits) -> str:
    """``v3``, ``s[2:3]``, ``vcc``, ``flat_scratch_lo``, …"""
    index, dwords = register.index, register.dwords
    prefix = register.file
    if prefix == "s":
        if index in _SPECIALS:
            return _SPECIALS[index]
        pair = traits.named_pairs.get(index & ~1)
        if pair:
            return pair if dwords == 2 else f"{pair}_{'hi' if index & 1 else 'lo'}"
        if index >= traits.first_trap_register:
            prefix, index = "ttmp", index - traits.first_trap_register
    if dwords == 1:
        return f"{prefix}{index}"
    return f"{prefix}[{index}:{index + dwords - 1}]"


_LONG = frozenset(("b64", "u64", "i64", "f64", "v4f64", "mask"))
# LLVM prints the halves that inline floats are for these as numbers.
_SHORT_INTEGERS = frozenset(("i16", "u16", "b16"))


def _constant(code: int, kind: str) -> str:
    if code <= 208:
        return str(code - 128 if code <= 192 else 192 - code)
    if code >= 240 and kind in _SHORT_INTEGERS:
        return f"{constant_bits(code, 'f16'):#x}"
    if code == 248:
        return "0.15915494309189532" if kind in _LONG else "0.15915494"
    return str(FLOAT_CONSTANTS[code - 240])


@lru_cache(4096)
def _literal(bits: int, kind: str, traits: Traits) -> str:
    """A literal; LLVM prints one that an inline constant could be as if it were it."""
    width = TYPE_BITS[kind]
    if width > 32 and kind not in ("v2f32", "v2b32"):
        return str(bits) if bits <= 64 else f"{bits:#x}"
    if width == 16:
        bits &= 0xFFFF
    else:
        width = 32
    signed = bits - (1 << width) if bits >> (width - 1) else bits
    if -16 <= signed <= 64:
        return str(signed)
    if kind not in _SHORT_INTEGERS:
        for code in range(240, 249 if traits.has_inverse_two_pi else 248):
            if bits == constant_bits(code, "f16" if width == 16 else "f32"):
                return _constant(code, kind)
    return f"{bits:#x}"


def _value(value: Value, kind: str, traits: Traits) -> str:
    if isinstance(value, Register):
        return register_name(value, traits)
    if isinstance(value, Literal):
        return _literal(value.bits, kind, traits)
    return _constant(value.code, kind)


def _shown_type(source: Source) -> str:
    """Outside VOP3P LLVM takes an operand of two integers for one of 32 bits."""
    return "b32" if source.type in ("v2i16", "v2u16") else source.type


def _modified(source: Source, traits: Traits) -> str:
    """A vector operand with its sign modifiers."""
    word = _value(source.value, _shown_type(source), traits)
    if source.sext:
        return f"sext({word})"
    if source.abs:
        word = f"|{word}|"
    if source.neg:
        # "-1" would be another constant than the negation of 1.
        return f"neg({word})" if isinstance(source.value, Constant) and not source.abs else f"-{word}"
    return word


_OMOD = ("", " mul:2", " mul:4", " div:2")
_SEL = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")


def _output_modifiers(fields: Mapping[str, int]) -> str:
    return (" clamp" if fields.get("clamp") else "") + _OMOD[fields.get("omod", 0)]


def _bit_list(name: str, bits: int, count: int) -> str:
    return f" {name}:[{','.join(str(bits >> index & 1) for index in range(count))}]"


def _operands(i: Instruction, traits: Traits) -> list[str]:
    """Destinations and sources, plainly, in the row's order."""
    words = [register_name(dest.register, traits) for dest in i.dests]
    words += [_modified(source, traits) for source in i.sources]
    return words


def _joined(name: str, words: list[str], tail: str = "") -> str:
    return f"{name} {', '.join(words)}{tail}" if words else f"{name}{tail}"


# Scalar forms.

_HWREGS = {
    1: "HW_REG_MODE", 2: "HW_REG_STATUS", 3: "HW_REG_TRAPSTS", 4: "HW_REG_HW_ID", 5: "HW_REG_GPR_ALLOC",
    6: "HW_REG_LDS_ALLOC", 7: "HW_REG_IB_STS", 15: "HW_REG_SH_MEM_BASES", 16: "HW_REG_TBA_LO", 17: "HW_REG_TBA_HI",
    18: "HW_REG_TMA_LO", 19: "HW_REG_TMA_HI", 20: "HW_REG_XCC_ID",
}  # fmt: skip
_MESSAGES = {1: "MSG_INTERRUPT", 2: "MSG_GS", 3: "MSG_GS_DONE", 4: "MSG_SAVEWAVE", 5: "MSG_STALL_WAVE_GEN",
             6: "MSG_HALT_WAVES", 7: "MSG_ORDERED_PS_DONE", 8: "MSG_EARLY_PRIM_DEALLOC", 9: "MSG_GS_ALLOC_REQ",
             10: "MSG_GET_DOORBELL", 15: "MSG_SYSMSG"}  # fmt: skip
_GS_OPS = ("GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT")
_SYSTEM_OPS = {1: "SYSMSG_OP_ECC_ERR_INTERRUPT", 2: "SYSMSG_OP_REG_RD", 3: "SYSMSG_OP_HOST_TRAP_ACK",
               4: "SYSMSG_OP_TTRACE_PC"}  # fmt: skip


def _hwreg(simm16: int, traits: Traits) -> str:
    register, offset, width = simm16 & 63, simm16 >> 6 & 31, (simm16 >> 11) + 1
    known = register in _HWREGS and register <= traits.last_hardware_register
    name = _HWREGS[register] if known else str(register)
    return f"hwreg({name})" if (offset, width) == (0, 32) else f"hwreg({name}, {offset}, {width})"


def _message(simm16: int, traits: Traits) -> str:
    """A message's operand: by names; by numbers where it has none; as it is where it is no message at all."""
    number, operation, stream = simm16 & 15, simm16 >> 4 & 7, simm16 >> 8 & 3
    if simm16 != number | operation << 4 | stream << 8:
        return str(simm16)
    plain = f"sendmsg({number}, {operation}, {stream})"
    if number not in _MESSAGES or traits.last_message < number < 15:
        return plain
    name = _MESSAGES[number]
    if number in (2, 3):
        if operation == 0:
            return f"sendmsg({name}, {_GS_OPS[0]})" if number == 3 and stream == 0 else plain
        return f"sendmsg({name}, {_GS_OPS[operation]}, {stream})" if operation < 4 else plain
    if number == 15:
        return f"sendmsg({name}, {_SYSTEM_OPS[operation]})" if operation in _SYSTEM_OPS and stream == 0 else plain
    return f"sendmsg({name})" if simm16 == number else plain


def waitcnt_fields(simm16: int, traits: Traits) -> tuple[int, int, int]:
    """The counters vmcnt, expcnt and lgkmcnt that s_waitcnt waits for."""
    vmcnt = (simm16 & 15 | simm16 >> 10 & 0x30) & traits.most_vmcnt
    return vmcnt, simm16 >> 4 & 7, simm16 >> 8 & 15


def _waitcnt(simm16: int, traits: Traits) -> str:
    counters = waitcnt_fields(simm16, traits)
    most = (traits.most_vmcnt, 7, 15)
    words = [
        f"{name}({count})"
        for name, count, limit in zip(("vmcnt", "expcnt", "lgkmcnt"), counters, most, strict=True)
        if count != limit or counters == most
    ]
    return " ".join(words)


def _gpr_index(mode: int, traits: Traits) -> str:
    if mode > 15:
        return f"{mode:#x}"
    names = [name for bit, name in enumerate(("SRC0", "SRC1", "SRC2", "DST")) if mode >> bit & 1]
    return f"gpr_idx({','.join(names)})"


# Kind of an operand that is a field itself → its text.
_IMMEDIATES: dict[str, Callable[[int, Traits], str]] = {
    "decimal": lambda value, traits: str(value),
    "label": lambda value, traits: str(value),
    "hex": lambda value, traits: f"{value:#x}",
    "number": lambda value, traits: str(value) if value <= 64 else f"{value:#x}",
    "end": lambda value, traits: str(value or ""),
    "hwreg": _hwreg,
    "waitcnt": _waitcnt,
    "message": _message,
    "gpr_index": _gpr_index,
}


def _immediate(i: Instruction, operand: str, traits: Traits) -> str:
    place = table.form(i.form)[operand]
    return _IMMEDIATES[place.kind](i.fields[place.field], traits)


def _scalar(i: Instruction, traits: Traits) -> str:
    words = [register_name(dest.register, traits) for dest in i.dests]
    sources = {source.name: source for source in i.sources}
    for spec in i.row.operands[len(i.dests) :]:
        source = sources.get(spec.name)
        if source is None:
            words.append(_immediate(i, spec.name, traits))
        elif source.role == "literal" and isinstance(source.value, Literal):
            # LLVM prints some as floats, which its assembler would make other bits of.
            bits = source.value.bits
            words.append(str(bits) if bits <= 64 else f"{bits:#x}")
        else:
            words.append(_value(source.value, spec.type, traits))
    return _joined(i.row.name, [word for word in words if word])


def _scalar_memory(i: Instruction, traits: Traits) -> str:
    fields = i.fields
    is_atomic = "atomic" in i.row.flags
    words = [] if is_atomic else [register_name(dest.register, traits) for dest in i.dests]
    for spec in i.row.operands:
        place = table.form(i.form)[spec.name]
        source = i.source(spec.name)
        if place.role == "immediate":
            words.append(_immediate(i, spec.name, traits))
        elif source is not None and place.kind == "sgpr":
            words.append(_value(source.value, spec.type, traits))
    if is_atomic:
        # The data's register, which is the destination's too, comes first, and once.
        words = [words[1], words[0]]
    tail = " glc" if fields.get("glc") and {"load", "store", "atomic"} & i.row.flags else ""
    if i.row.operands and i.row.operands[-1].name == "SOFFSET":
        soffset = i.source("SOFFSET")
        if soffset is not None:
            words.append(_value(soffset.value, "u32", traits))
            if fields["offset_bytes"]:
                tail = f" offset:{fields['offset_bytes']:#x}{tail}"
        elif i.form == "SMRD":
            words.append(f"{fields.get('literal', fields['offset']):#x}")
        else:
            value = fields["offset_bytes"]
            words.append(f"{value:#x}" if value >= 0 else f"-{-value:#x}")
    return _joined(i.row.name, words, tail)


# Vector ALU forms.


def _vector(i: Instruction, traits: Traits) -> str:
    row = i.row
    name = row.name
    if "e64" in row.flags and row.operands:
        name += "_e32"
    words = [register_name(dest.register, traits) for dest in i.dests]
    # The literal that v_madmk and v_madak always have is printed whole.
    for source in i.sources:
        if source.role == "literal" and isinstance(source.value, Literal):
            words.append(f"{source.value.bits:#x}")
        else:
            words.append(_value(source.value, _shown_type(source), traits))
    return _joined(name, words)


def _vop3(i: Instruction, traits: Traits) -> str:
    row, fields = i.row, i.fields
    if "interp" in row.flags:
        return _interpolate_vop3(i, traits)
    name = row.name
    if "e64" in row.flags and row.operands:
        name += "_e64"
    if "permlane" in row.flags:
        controls = ((" bound_ctrl:1", 1), (" fi:1", 0))
        tail = "".join(word for word, bit in controls if fields["op_sel"] >> bit & 1)
        return _joined(name, _operands(i, traits), tail)
    tail = ""
    if "bitop3" in row.flags:
        # The truth table's bits are where omod, abs and neg would be.
        truth = fields["omod"] << 6 | fields["abs"] << 3 | fields["neg"]
        tail = f" bitop3:{truth if truth <= 10 else hex(truth)}" if truth else ""
    op_sel = fields.get("op_sel", 0) if "op_sel" in row.flags else 0
    if op_sel:
        count = len(i.sources)
        shown = op_sel & ((1 << count) - 1) | (op_sel >> 3 & 1) << count
        tail += _bit_list("op_sel", shown, count + 1)
    elif "byte_sel" in row.flags and fields["op_sel"]:
        tail += _bit_list("op_sel", fields["op_sel"], 4)
    if "bitop3" not in row.flags and row.operands:
        tail += _output_modifiers(fields)
    return _joined(name, _operands(i, traits), tail)


def _scale_modifiers(fields: Mapping[str, int]) -> str:
    """Which bytes of their registers the two scales are; there is no third one."""
    op_sel, op_sel_hi = fields["scale_op_sel"] & 3, fields["scale_op_sel_hi"]
    return (_bit_list("op_sel", op_sel, 3) if op_sel else "") + _bit_list("op_sel_hi", op_sel_hi, 3)


def _vop3p(i: Instruction, traits: Traits) -> str:
    row, fields = i.row, i.fields
    if {"mfma", "smfmac"} & row.flags:
        words = [register_name(dest.register, traits) for dest in i.dests]
        words += [_value(source.value, source.type, traits) for source in i.sources]
        tail = _scale_modifiers(fields) if i.form == "VOP3PX" else ""
        shown = ("cbsz",) if "f8f6f4" in row.flags else ("cbsz", "abid")
        tail += "".join(f" {name}:{fields[name]}" for name in shown if fields[name])
        if fields["blgp"]:
            tail += _bit_list("neg", fields["blgp"], 3) if "blgp_signs" in row.flags else f" blgp:{fields['blgp']}"
        return _joined(row.name, words, tail)
    if "accvgpr" in row.flags:
        return _joined(row.name, _operands(i, traits))
    count = len(i.sources)
    mask = (1 << count) - 1
    is_mix = "mix" in row.flags
    words = [register_name(dest.register, traits) for dest in i.dests]
    if is_mix:
        words += [_modified(source, traits) for source in i.sources]
    else:
        words += [_value(source.value, source.type, traits) for source in i.sources]
    op_sel, op_sel_hi = fields["op_sel"] & mask, (fields["op_sel_hi"] | fields["op_sel_hi2"] << 2) & mask
    tail = _bit_list("op_sel", op_sel, count) if op_sel else ""
    if op_sel_hi != (0 if is_mix else mask):
        tail += _bit_list("op_sel_hi", op_sel_hi, count)
    if "ld_scale" in row.flags:
        return _joined(row.name, words, tail)
    if not is_mix:
        for field, label in (("neg", "neg_lo"), ("neg_hi", "neg_hi")):
            if fields[field] & mask:
                tail += _bit_list(label, fields[field], count)
    return _joined(row.name, words, tail + (" clamp" if fields["clamp"] else ""))


def _sdwa(i: Instruction, traits: Traits) -> str:
    fields = i.fields
    words = _operands(i, traits)
    tail = _output_modifiers(fields)
    if i.dests and i.dests[0].type != "mask" and "no_dst_sel" not in i.row.flags:
        tail += f" dst_sel:{_SEL[fields['dst_sel']]} dst_unused:{_UNUSED[fields['dst_unused']]}"
    tail += f" src0_sel:{_SEL[fields['src0_sel']]}"
    if i.source("S1") is not None:
        tail += f" src1_sel:{_SEL[fields['src1_sel']]}"
    # LLVM leaves the suffix of compares out where they write VCC only.
    suffix = "" if i.row.encoding == "VOPC" and not traits.has_sdwa_masks else "_sdwa"
    return _joined(i.row.name + suffix, words, tail)


def _dpp_control(control: int) -> str:
    if control < 0x100:
        return f"quad_perm:[{','.join(str(control >> shift & 3) for shift in (0, 2, 4, 6))}]"
    for first, name in ((0x100, "row_shl"), (0x110, "row_shr"), (0x120, "row_ror"), (0x150, "row_newbcast")):
        if first <= control < first + 16:
            return f"{name}:{control - first}"
    return {
        0x130: "wave_shl:1", 0x134: "wave_rol:1", 0x138: "wave_shr:1", 0x13C: "wave_ror:1", 0x140: "row_mirror",
        0x141: "row_half_mirror", 0x142: "row_bcast:15", 0x143: "row_bcast:31",
    }[control]  # fmt: skip


def _dpp(i: Instruction, traits: Traits) -> str:
    fields = i.fields
    tail = f" {_dpp_control(fields['dpp_ctrl'])} row_mask:{fields['row_mask']:#x} bank_mask:{fields['bank_mask']:#x}"
    if fields["bound_ctrl"]:
        tail += " bound_ctrl:1"
    return _joined(f"{i.row.name}_dpp", _operands(i, traits), tail)


# Memory forms.


def _cache_policy(fields: Mapping[str, int], traits: Traits) -> str:
    names = _SCOPES if traits.has_cache_scopes else _POLICIES
    return "".join(f" {shown}" for name, shown in names.items() if fields.get(name))


_POLICIES = {"glc": "glc", "slc": "slc", "scc": "scc"}
_SCOPES = {"glc": "sc0", "slc": "nt", "scc": "sc1"}


def _swizzle(offset: int) -> str:
    """The pattern of ds_swizzle_b32 as the assembler's macro."""
    if offset == 0:
        return ""
    if offset & 0xFF00 == 0x8000:
        return f" offset:swizzle(QUAD_PERM,{','.join(str(offset >> shift & 3) for shift in (0, 2, 4, 6))})"
    if offset & 0x8000:
        return f" offset:{offset}"
    and_mask, or_mask, xor_mask = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    if (and_mask, or_mask) == (31, 0) and xor_mask.bit_count() == 1:
        return f" offset:swizzle(SWAP,{xor_mask})"
    if (and_mask, or_mask) == (31, 0) and xor_mask and (xor_mask + 1).bit_count() == 1:
        return f" offset:swizzle(REVERSE,{xor_mask + 1})"
    group = 32 - and_mask
    if group > 1 and group.bit_count() == 1 and or_mask < group and xor_mask == 0:
        return f" offset:swizzle(BROADCAST,{group},{or_mask})"
    letters = ""
    for bit in (16, 8, 4, 2, 1):
        zero = bool(or_mask & bit) ^ bool(xor_mask & bit)
        one = bool((and_mask | or_mask) & bit) ^ bool(xor_mask & bit)
        letters += ("1" if zero else "0") if zero == one else "p" if one else "i"
    return f' offset:swizzle(BITMASK_PERM,"{letters}")'


def _ds(i: Instruction, traits: Traits) -> str:
    fields = i.fields
    if not i.row.operands and "gds" not in i.row.flags:
        return i.row.name
    if "swizzle" in i.row.flags:
        tail = _swizzle(fields["offset"])
    elif "offset2" in i.row.flags:
        tail = "".join(f" {name}:{fields[name]}" for name in ("offset0", "offset1") if fields[name])
    else:
        tail = f" offset:{fields['offset']}" if fields["offset"] else ""
    if (fields["gds"] and traits.shows_gds) or "gds" in i.row.flags:
        tail += " gds"
    return _joined(i.row.name, _operands(i, traits), tail)


def _flat(i: Instruction, traits: Traits) -> str:
    fields = i.fields
    words = [register_name(dest.register, traits) for dest in i.dests]
    address, data, saddr = i.source("ADDR"), i.source("DATA"), i.source("SADDR")
    words.append("off" if address is None else _value(address.value, "b64", traits))
    if data is not None:
        words.append(_value(data.value, data.type, traits))
    if i.form != "FLAT":
        words.append("off" if saddr is None else _value(saddr.value, "b64", traits))
    tail = f" offset:{fields['offset']}" if fields["offset"] else ""
    return _joined(i.row.name, words, tail + _cache_policy(fields, traits))


_DATA_FORMATS = (
    "INVALID 8 16 8_8 32 16_16 10_11_11 11_11_10 10_10_10_2 2_10_10_10 8_8_8_8 32_32 16_16_16_16 32_32_32 32_32_32_32 "
    "RESERVED_15"
).split()
_NUMBER_FORMATS = "UNORM SNORM USCALED SSCALED UINT SINT RESERVED_6 FLOAT".split()


def _typed_format(fields: Mapping[str, int], traits: Traits) -> str:
    """MTBUF's formats; LLVM leaves out what its assembler takes by default, 8 bits unsigned normalised."""
    data, number = fields["dfmt"], fields["nfmt"]
    words = []
    if data != 1:
        words.append(f"BUF_DATA_FORMAT_{_DATA_FORMATS[data]}")
    if number != 0:
        is_signed = number == 6 and traits.has_signed_ogl_formats
        words.append(f"BUF_NUM_FORMAT_{'SNORM_OGL' if is_signed else _NUMBER_FORMATS[number]}")
    return f" format:[{','.join(words)}]" if words else ""


def _buffer(i: Instruction, traits: Traits) -> str:
    fields = i.fields
    if not i.row.operands:
        return i.row.name + (_cache_policy(fields, traits) if traits.has_cache_scopes else "")
    words = []
    data = i.source("DATA")
    if data is not None:
        words.append(_value(data.value, data.type, traits))
    elif i.dests:
        words.append(register_name(i.dests[0].register, traits))
    address, resource, offset = i.source("ADDR"), i.source("RSRC"), i.source("SOFFSET")
    words.append("off" if address is None else _value(address.value, "b64", traits))
    words += [_value(source.value, source.type, traits) for source in (resource, offset) if source is not None]
    tail = _typed_format(fields, traits) if i.form == "MTBUF" else ""
    tail += "".join(f" {name}" for name in ("idxen", "offen", "addr64") if fields.get(name))
    if fields["offset"]:
        tail += f" offset:{fields['offset']}"
    tail += _cache_policy(fields, traits)
    tail += "".join(f" {name}" for name in ("tfe", "lds") if fields.get(name))
    return _joined(i.row.name, words, tail)


def _image(i: Instruction, traits: Traits) -> str:
    fields = i.fields
    words = []
    data = i.source("DATA")
    if data is not None:
        words.append(_value(data.value, data.type, traits))
    elif i.dests:
        shown = i.dests[0].register
        if fields.get("lwe") and not fields.get("tfe"):  # LLVM's assembler takes it without the warning's register
            shown = replace(shown, dwords=shown.dwords - 1)
        words.append(register_name(shown, traits))
    for name in ("ADDR", "RSRC", "SAMP"):
        source = i.source(name)
        if source is not None:
            value = source.value
            if name == "RSRC" and isinstance(value, Register):
                value = Register("s", value.index, 8)  # LLVM prints eight even where r128 says four
            words.append(_value(value, source.type, traits))
    tail = f" dmask:{fields['dmask']:#x}" if fields["dmask"] else ""
    tail += " unorm" if fields["unorm"] else ""
    tail += _cache_policy(fields, traits)
    for name in ("r128", "a16", "tfe", "lwe", "da", "d16"):
        tail += f" {name}" if fields.get(name) else ""
    return _joined(i.row.name, words, tail)


# Export and interpolation.


def _target(number: int) -> str:
    if number < 8:
        return f"mrt{number}"
    if number in (8, 9):
        return ("mrtz", "null")[number - 8]
    if 12 <= number < 16:
        return f"pos{number - 12}"
    return f"param{number - 32}" if number >= 32 else f"invalid_target_{number}"


def _export(i: Instruction, traits: Traits) -> str:
    fields = i.fields
    words = []
    for index in range(4):
        # Compressed, two halves a register: the assembler wants each of the two registers twice.
        field = f"vsrc{index // 2}" if fields["compr"] else f"vsrc{index}"
        words.append(f"v{fields[field]}" if fields["en"] >> index & 1 else "off")
    tail = "".join(f" {name}" for name in ("done", "compr", "vm") if fields[name])
    return f"exp {_target(fields['tgt'])} {', '.join(words)}{tail}"


def _attribute(fields: Mapping[str, int]) -> str:
    return f"attr{fields['attr']}.{'xyzw'[fields['attrchan']]}"


def _parameter(number: int) -> str:
    return ("p10", "p20", "p0")[number] if number < 3 else f"invalid_param_{number}"


def _interpolate(i: Instruction, traits: Traits) -> str:
    source = i.source("S0")
    word = _parameter(i.fields["vsrc"]) if source is None else _value(source.value, "f32", traits)
    suffix = "_e32" if traits.has_long_interpolation else ""
    return _joined(i.row.name + suffix, [register_name(i.dests[0].register, traits), word, _attribute(i.fields)])


def _interpolate_vop3(i: Instruction, traits: Traits) -> str:
    fields = i.fields
    words = [register_name(i.dests[0].register, traits)]
    first, last = i.source("S0"), i.source("S2")
    words.append(_parameter(fields["src0"]) if first is None else _modified(first, traits))
    words.append(_attribute(fields))
    if last is not None:
        words.append(_modified(last, traits))
    name = i.row.name + ("_e64" if "e64" in i.row.flags else "")
    return _joined(name, words, (" high" if fields["high"] else "") + _output_modifiers(fields))


_PRINTERS: dict[str, Callable[[Instruction, Traits], str]] = {
    **dict.fromkeys(("SOP2", "SOP1", "SOPC", "SOPK", "SOPP"), _scalar),
    **dict.fromkeys(("SMEM", "SMRD"), _scalar_memory),
    **dict.fromkeys(("VOP2", "VOP1", "VOPC"), _vector),
    "VOP3": _vop3,
    **dict.fromkeys(("VOP3P", "VOP3PX"), _vop3p),
    "SDWA": _sdwa,
    "DPP": _dpp,
    "DS": _ds,
    **dict.fromkeys(("FLAT", "GLOBAL", "SCRATCH"), _flat),
    **dict.fromkeys(("MUBUF", "MTBUF"), _buffer),
    "MIMG": _image,
    "EXP": _export,
    "VINTRP": _interpolate,
}


def text(instruction: Instruction, isa: str) -> str:
    """The instruction as LLVM's disassembler prints it for the ISA it was decoded as, one of
    `headwater.chips.gcn_isas.ISAS`."""
    return _PRINTERS[instruction.form](instruction, TRAITS[isa])
