"""Whether translator and interpreter give VALU instructions of GFX9 the results that AMD's documents do, for every
modifier and inline constant.

    python -m verification.valu_modifiers [--target gfx90a] [--every 1] [--only fma_mix] [--show 20]

Each operation of `verification.valu_values` is tried in its forms (VOP1/2/C, VOP3, VOP3P, SDWA, DPP), every operand
with every inline constant and with registers, each with every combination of its own modifiers (neg, abs, sext, op_sel,
op_sel_hi, neg_lo, neg_hi, selections), the other modifiers (clamp, omod, op_sel of the result, dst_sel, dst_unused)
drawn anew for each. LLVM's assembler encodes the texts and says what a constant's text is worth for a type: what it
refuses is no instruction. Values are NumPy's. ``--every N`` tries each Nth. Exit status 1 if any differ.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

import headwater
from headwater.chips.gcn_isas import ISA_OF_TARGET, TRAITS
from headwater.emulate.gcn.reference import step
from headwater.emulate.gcn.reference_registers import Wave
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.reference_memory import FlatMemory, LocalMemory, Memories, PrivateMemory
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.model import EXEC, VCC, Row
from headwater.isa.gcn.table import rows
from headwater.opencl.gcn_build import assemble
from verification.isa_instructions import _FRAME, CHIPS
from verification.isa_sweep import assemble as encoded
from verification.valu_values import OPERATIONS, Operation

Array = Any

INTEGERS: Final = (0, 1, 2, 3, 15, 16, 31, 32, 63, 64, -1, -2, -15, -16)
FLOATS: Final = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494")
SELECTIONS: Final = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
CONTROLS: Final[dict[str, Callable[[int], int]]] = {
    "quad_perm:[3,0,0,1]": lambda n: n // 4 * 4 + (3, 0, 0, 1)[n % 4],
    "row_shl:1": lambda n: n + 1 if n % 16 < 15 else -1,
    "row_shr:3": lambda n: n - 3 if n % 16 > 2 else -1,
    "row_ror:5": lambda n: n // 16 * 16 + (n - 5) % 16,
    "row_mirror": lambda n: n // 16 * 16 + 15 - n % 16,
    "row_half_mirror": lambda n: n // 8 * 8 + 7 - n % 8,
    "wave_shl:1": lambda n: n + 1 if n < 63 else -1,
    "row_bcast:15": lambda n: n // 16 * 16 - 1 if n > 15 else -1,
}
"""Where lane n of a DPP operand comes from; -1: from nowhere."""

MODES: Final = {
    "denormals": (".amdhsa_float_denorm_mode_32 3", 0x3F0),
    "flush": (
        ".amdhsa_ieee_mode 0\n.amdhsa_float_denorm_mode_32 0\n.amdhsa_float_denorm_mode_16_64 0",
        0x100,
    ),
}
"""Of MODE: how the kernel says it, and its bits. Only in the second are there result modifiers (omod)."""

SMALLEST: Final = {"f16": 2.0**-14, "f32": 2.0**-126, "f64": 2.0**-1022}
FLOAT: Final[dict[str, Any]] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
WHOLE: Final[dict[str, Any]] = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}


_MASK: Final = 0x5A0FF0C396E1B44D
"""VCC, where an instruction reads it, and the complement of the scalar registers that take its place."""

_SATURATES: Final = re.compile(
    r"(pk_)?(add|sub|subrev|mad|mad_legacy)_[iu](16|32)|mad_[iu]32_[iu](24|16)|dot\d_.*|dot\dc_i32.*|mul_[iu]32_[iu]24"
    r"|(add|sub|subrev|addc|subb|subbrev)_co_u32|m?sad_.*|m?qsad_.*|mad_[iu]64_[iu]32"
)
"""Operations on whole numbers whose results clamp limits to what the type holds: LLVM's "Syntax of AMDGPU Instruction
Modifiers", clamp. AMD's documents give saturation of sums only; of products' low halves (v_pk_mul_lo_u16) and shifts
neither says what it is."""


@dataclass
class Operand:
    """An operand with its own modifiers; ``constant`` as text, empty for a register."""

    constant: str = ""
    neg: int = 0
    abs: int = 0
    sext: int = 0
    op_sel: int = 0
    op_sel_hi: int = 1
    neg_hi: int = 0
    sel: str = "DWORD"


@dataclass
class Variation:
    """An instruction to try. ``shown``: "carry" if the second result is looked at, "upper" for bits 64 to 127."""

    name: str
    operation: Operation
    form: str
    operands: list[Operand]
    mode: str = "denormals"
    clamp: int = 0
    omod: str = ""
    high: int = 0
    dst_sel: str = "DWORD"
    unused: str = "UNUSED_PAD"
    control: str = ""
    bound: int = 0
    row_mask: int = 15
    bank_mask: int = 15
    shown: str = ""
    code: bytes = field(default=b"", repr=False)

    @property
    def preserves(self) -> bool:
        """Whether the result's other half stays (v_mac_f16: by LLVM's `zeroesHigh16BitsOfDest`)."""
        return "mix" in self.name or self.form == "OP_SEL" or self.name in ("mac_f16", "fmac_f16")

    @property
    def is_mask(self) -> bool:
        """Whether what is looked at is a mask."""
        return self.operation.types[0] == "mask" or self.shown == "carry"

    def text(self) -> str:
        """As assembly: operands in v[8:9], v[10:11] and v[12:13], the result in v[20:21] or s[20:21]."""
        types = (self.operation.types[0], *self.operation.explicit)
        wide = {"f64", "u64", "i64", "r64", "p32f", "p32b", "2f32"}
        mask = "vcc" if self.form == "SHORT" else "s[20:21]"
        result = mask if types[0] == "mask" else "v[20:21]" if types[0] in wide else "v20"
        carry = "s[18:19]" if self.form in ("VOP3", "VOP3_ONLY") else "vcc"
        if types[0] == "u128":
            result = "v[20:23]"
        parts = [result, carry] if self.operation.carry else [result]
        signs = types[1][0] not in "p2"
        for n, (operand, kind) in enumerate(zip(self.operands, types[1:], strict=True)):
            place = f"v[{8 + 2 * n}:{9 + 2 * n}]" if kind in wide else f"v{8 + 2 * n}"
            one = operand.constant or place
            if kind == "u128":
                one = "v[12:15]"
            if kind == "carry":
                one = "s[22:23]" if self.form == "VOP3" else "vcc"
            if one == FLOATS[-1] and kind in ("f64", "u64", "i64", "r64"):
                one = "0.15915494309189532"  # as LLVM prints 1/2π of doubles; a shorter one is a literal
            if operand.sext:
                one = f"sext({one})"
            if signs and operand.abs:
                one = f"|{one}|"
            if signs and operand.neg:
                one = f"-{one}" if operand.abs else f"neg({one})"
            parts.append(one)
        suffix = {"VOP3": "_e64", "SDWA": "_sdwa", "DPP": "_dpp", "SHORT": "_e32"}.get(self.form, "")
        words = [f"v_{self.name}{suffix} {', '.join(parts)}"]
        if self.form == "DPP":
            words += [self.control, f"row_mask:{self.row_mask:#x} bank_mask:{self.bank_mask:#x}"]
            words += ["bound_ctrl:0"] * self.bound
            return " ".join(words)
        lists = {"op_sel": [o.op_sel for o in self.operands], "op_sel_hi": [o.op_sel_hi for o in self.operands]}
        lists |= {"neg_lo": [o.neg for o in self.operands], "neg_hi": [o.neg_hi for o in self.operands]}
        if self.form == "OP_SEL":
            words.append(f"op_sel:[{','.join(map(str, [*lists['op_sel'], self.high]))}]")
        elif types[0] == "b8":
            words.append(f"op_sel:[0,0,{self.high & 1},{self.high >> 1}]")
        elif self.form == "PACKED":
            chosen = lists if not signs or self.name.startswith("pk") else dict(list(lists.items())[:2])
            default = {"op_sel": 0, "op_sel_hi": 1, "neg_lo": 0, "neg_hi": 0}
            words += [
                f"{name}:[{','.join(map(str, values))}]"
                for name, values in chosen.items()
                if any(v != default[name] for v in values) or "mix" in self.name
            ]
        words += ["clamp"] * self.clamp + [self.omod] * bool(self.omod)
        if self.form == "SDWA":
            if types[0] != "mask":
                words.append(f"dst_sel:{self.dst_sel} dst_unused:{self.unused}")
            words += [f"src{n}_sel:{o.sel}" for n, o in enumerate(self.operands)]
        return " ".join(words)


# ---- variations ------------------------------------------------------------------------------------------------------


def variations(name: str, row: Row, rng: random.Random) -> Iterator[Variation]:
    """All of an operation; what LLVM's assembler does not take is among them."""
    operation = OPERATIONS[name]
    types = operation.explicit
    floats = any(t in (*FLOAT, "r16", "r32", "r64") for t in operation.types)
    if row.encoding == "VOP3P":
        forms = ["PACKED"]
    elif row.encoding == "VOP3":
        forms = ["OP_SEL" if "op_sel" in row.flags else "VOP3_ONLY"]
    else:
        forms = ["SHORT", "VOP3", *(["SDWA", "DPP"] if not name.startswith("pk_") else [])]
    # LLVM's assembler takes v_pk_fmac_f16 with SDWA, which its documents do not describe.
    for form, mode in itertools.product(forms, MODES if floats else ("denormals",)):
        for n, kind in enumerate(types):
            plain = form in ("SDWA", "DPP") or kind in ("carry", "u128") or (kind == "2f16" and form != "PACKED")
            for constant in ("",) if plain else ("", *map(str, INTEGERS), *FLOATS):
                for own in _own(form, kind, name):
                    operands = [Operand(**rng.choice(_own(form, t, name))) for t in types]
                    operands[n] = Operand(constant=constant, **own)
                    one = _rest(Variation(name, operation, form, operands, mode), rng)
                    yield one
                    if operation.carry and form != "DPP":
                        yield replace(one, shown="carry")
                    if operation.types[0] == "u128":
                        yield replace(one, shown="upper")


def _own(form: str, kind: str, name: str) -> list[dict[str, Any]]:
    """The modifiers that an operand of this kind may have in a form."""
    if kind == "carry":
        return [{}]
    signed = kind in ("f16", "f32", "f64", "r16", "r32", "r64", "mix")
    signs: dict[str, Sequence[Any]] = {"neg": (0, 1), "abs": (0, 1)} if signed else {}
    if OPERATIONS[name].carry and "abs" in signs:  # the second result's place is that of abs
        signs = {"neg": (0, 1)}
    choices: dict[str, Sequence[Any]] = {}
    if form in ("VOP3", "VOP3_ONLY", "DPP"):
        choices = dict(signs)
    elif form == "OP_SEL":
        choices = signs | ({"op_sel": (0, 1)} if kind.endswith("16") else {})
    elif form == "SDWA":
        choices = (signs or {"sext": (0, 1)}) | {"sel": SELECTIONS}
    elif form == "PACKED" and (name.startswith("pk_") or kind == "2f16") and kind != "p32b":
        choices = {"op_sel": (0, 1), "op_sel_hi": (0, 1)} if kind != "2f16" else {}  # which LLVM does not take
        choices |= {"neg": (0, 1), "neg_hi": (0, 1)} if kind.endswith("f") or kind == "2f16" else {}
    elif form == "PACKED" and (kind == "mix" or kind == "p32b"):
        choices = signs | {"op_sel": (0, 1), "op_sel_hi": (0, 1)}
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def _rest(one: Variation, rng: random.Random) -> Variation:
    """The modifiers that are not an operand's, drawn."""
    result = one.operation.types[0]
    if one.form not in ("SHORT", "DPP") and (
        result in (*FLOAT, "p16f", "p32f", "pair") or _SATURATES.fullmatch(one.name)
    ):
        one.clamp = int(rng.random() < 0.4)
    if one.form in ("VOP3", "VOP3_ONLY", "SDWA") and result in FLOAT and rng.random() < 0.6:
        one.omod = rng.choice(["mul:2", "mul:4", "div:2"])
    if one.form == "OP_SEL" and result in ("f16", "i16", "u16"):
        one.high = rng.randrange(2)
    if result == "b8":
        one.high = rng.randrange(4)
    if one.form == "SDWA":
        whole = ("WORD_0", "WORD_1", "DWORD") if result == "f16" else ("DWORD",)
        one.dst_sel = rng.choice(whole if one.operation.approximate else SELECTIONS)  # bytes are not compared roughly
        one.unused = rng.choice(["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"])
    if one.form == "DPP":
        one.control, one.bound = rng.choice(list(CONTROLS)), rng.randrange(2)
        one.row_mask, one.bank_mask = (rng.choice([15, 15, 10, 6]) for _ in range(2))
    return one


# ---- values ----------------------------------------------------------------------------------------------------------


def constant_bits(text: str, kind: str) -> int:
    """What an inline constant is worth to an operand: 64 bits, of which narrower types take the low ones."""
    if "." not in text:
        return int(text) & 0xFFFFFFFFFFFFFFFF
    number = 0.15915494309189532 if text.startswith("0.159") else float(text)  # 1/2π as LLVM has it
    if kind in ("f64", "u64", "i64", "r64"):
        return int(np.float64(number).view(np.uint64))
    if kind in ("f16", "r16", "p16f", "h16", "s16", "half"):
        return int(np.float16(number).view(np.uint16))
    return int(np.float32(number).view(np.uint32))


def _edges(kind: str) -> list[int]:
    """Bits of numbers that are worth a try."""
    if kind in FLOAT:
        number, info = FLOAT[kind], np.finfo(FLOAT[kind])
        values = [0.0, 1.0, 0.5, 2.0, 1 / 3, 3.7, 2.5, 100.25, float(info.max), float(info.tiny), np.inf, np.nan, 1e-3]
        values += [float(info.tiny) / 4, 127.5, 31.0, 7.999, float(info.smallest_subnormal), 1.5 * float(info.tiny)]
        values += [float(info.max) ** 0.25, float(info.max) ** -0.25, float(info.max) ** 0.5, float(info.max) ** -0.5]
        values += [300.125, 65535.5, 0.0625, 240.0, 248.0]
        with np.errstate(over="ignore"):
            return [int(number(x).view(WHOLE[kind])) for v in values for x in (v, -v)]
    return [0, 1, 2, 31, 32, 33, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
            0x00FF00FF, 0x80007FFF, 0x12345678, 0xFFFF0000, 0x7FFFFF, 0x800000, 4, 8, 16, 64, 512, 0x3FF,
            0x0B0A0908, 0x0F0E0D0C, 0x090C0005, 0xFF0A080B]  # fmt: skip


def _codes(kind: str) -> list[int]:
    """Bits of a float of every class of v_cmp_class."""
    width = int(kind[1:])
    number = WHOLE[f"f{width}"]
    fraction_bits = {16: 10, 32: 23, 64: 52}[width]
    top = (1 << (width - 1)) - (1 << fraction_bits)
    found = [
        0,
        1,
        (1 << fraction_bits) - 1,
        1 << fraction_bits,
        top - 1,
        top,
        top + 1,
        top + (1 << (fraction_bits - 1)),
    ]
    return [int(number(code | sign << (width - 1))) for code in found for sign in range(2)]


def inputs(types: Sequence[str], rng: np.random.Generator) -> Array:
    """Registers v8 to v15 for operands of these types, and for what is in the destination: u32[8][64]."""
    result = rng.integers(0, 1 << 32, (8, LANES), np.uint64).astype(np.uint32)

    def drawn(kind: str) -> Array:
        edges = np.array(_codes(kind) if kind[0] == "r" else _edges(kind), np.uint64)
        return edges[rng.integers(0, len(edges), LANES)]

    def ordinary(kind: str) -> Array:
        values = rng.standard_normal(LANES) * 10.0 ** rng.integers(-2, 3, LANES)
        return values.astype(FLOAT[kind]).view(WHOLE[kind]).astype(np.uint64)

    def some(kind: str) -> Array:
        first, second = drawn(kind), ordinary(kind) if kind in FLOAT else result[6].astype(np.uint64)
        return np.where(rng.integers(0, 2, LANES) == 0, first, second)

    for n, kind in enumerate((*types, *["u32"] * (3 - len(types)), types[-1])):
        kind = {
            "mix": "f16",
            "h16": "u32",
            "p16f": "f16",
            "2f16": "f16",
            "p32f": "f32",
            "i16": "u32",
            "u16": "u32",
        }.get(kind, "u32" if kind in ("carry", "u128") else kind)
        if kind in ("f16", "r16"):
            result[2 * n] = some(kind) | some(kind) << np.uint64(16)
        elif kind in ("f64", "r64"):
            whole = some(kind)
            result[2 * n], result[2 * n + 1] = whole & np.uint64(0xFFFFFFFF), whole >> np.uint64(32)
        else:
            result[2 * n], result[2 * n + 1] = some(kind), some(kind)
    if len(types) == 3 and len({*types}) == 1 and types[0] in FLOAT:  # as in a division, and for equal ones of three
        chosen = rng.integers(0, 4, LANES)
        for n in (1, 2):
            result[:2] = np.where(chosen == n, result[2 * n : 2 * n + 2], result[:2])
    return result


def _number(raw: Array, kind: str) -> Array:
    """Bits as the number that they are for a type."""
    if kind in FLOAT:
        return raw.astype(WHOLE[kind]).view(FLOAT[kind]).astype(np.float64)
    if kind == "u64":
        return raw.astype(np.uint64)
    if kind == "i64":
        return raw.astype(np.uint64).view(np.int64)
    width = 16 if kind.endswith("16") else 32
    if kind == "r64":
        return raw.astype(np.uint64).view(np.int64)
    low = raw.astype(np.int64) & ((1 << width) - 1)
    return low - (low >> (width - 1) << width) if kind[0] in "is" else low


def _signs(raw: Array, kind: str, *, neg: int, absolute: int) -> Array:
    """abs, then neg, of an operand's bits."""
    if kind not in FLOAT and kind[0] != "r":
        return raw
    sign = np.uint64(1 << (int(kind[1:]) - 1))
    if absolute:
        raw = raw & ~sign
    return raw ^ sign if neg else raw


def _selected(raw: Array, operand: Operand, is_signed: bool) -> Array:
    """SDWA's selection, extended."""
    unit, _, place = operand.sel.partition("_")
    if unit == "DWORD":
        return raw
    width = 8 if unit == "BYTE" else 16
    part = (raw.astype(np.int64) >> (width * int(place))) & ((1 << width) - 1)
    if is_signed:
        part = part - (part >> (width - 1) << width)
    return (part & 0xFFFFFFFF).astype(np.uint64)


class Expected:
    """What a variation leaves in v[20:21] (or in the mask) and which lanes say so."""

    def __init__(self, one: Variation, registers: Array) -> None:
        self.one = one
        low, high = registers[0::2].astype(np.uint64), registers[1::2].astype(np.uint64)
        self.wide = low | high << np.uint64(32)
        self.certain = np.ones(LANES, bool)
        self.old = self.wide[3]

    def numbers(self, kinds: Sequence[str]) -> list[Array]:
        """The operands that an operation computes with; pairs give two each."""
        found: list[Array] = []
        lanes = np.arange(LANES)
        masks = {"vcc": _MASK, "carry": ~_MASK if self.one.form == "VOP3" else _MASK}
        for n, kind in enumerate(kinds):  # those that no text names come last
            if kind in masks:
                found.append(np.array([masks[kind] >> lane & 1 for lane in range(LANES)]))
            elif kind in ("lane", "clamp"):
                found.append(lanes if kind == "lane" else self.one.clamp)
            elif kind == "2f16":
                found += [self.operand(n, "p16f", part) for part in range(2)]
            elif kind == "u128":
                found += [self.wide[2], self.wide[3]]
            else:
                found.append(self.operand(n, kind))
        return found

    def operand(self, n: int, kind: str, part: int = 0) -> Array:
        """The number of operand ``n`` for the low (0) or the high (1) result."""
        operand = self.one.operands[n]
        form = self.one.form
        if operand.constant:
            raw = np.full(LANES, constant_bits(operand.constant, kind), np.uint64)
        else:
            raw = self.wide[n]
        if form == "DPP" and n == 0:
            from_ = np.array([CONTROLS[self.one.control](lane) for lane in range(LANES)])
            raw = np.where(from_ < 0, np.uint64(0), raw[np.maximum(from_, 0)])
        if form == "SDWA":
            raw = _selected(raw & np.uint64(0xFFFFFFFF), operand, bool(operand.sext))
        neg, absolute = operand.neg, operand.abs
        if kind == "mix":
            half = operand.op_sel_hi
            if operand.constant:
                raw = np.full(LANES, constant_bits(operand.constant, "half" if half else "f32"), np.uint64)
            raw = raw >> np.uint64(16 * operand.op_sel) if half else raw
            kind = "f16" if half else "f32"
        elif kind in ("p16f", "p16i", "p16u"):
            chosen = operand.op_sel_hi if part else operand.op_sel
            raw, neg = raw >> np.uint64(16 * chosen), operand.neg_hi if part else operand.neg
            kind = {"f": "f16", "i": "i16", "u": "u16"}[kind[3]]
        elif kind in ("p32f", "p32b"):
            chosen = operand.op_sel_hi if part else operand.op_sel
            raw = raw >> np.uint64(32 * chosen) if not operand.constant else raw
            neg = operand.neg_hi if part else operand.neg
            kind = "f32" if kind[3] == "f" else "u32"
        elif form == "OP_SEL" and kind in ("f16", "i16", "u16"):
            raw = raw >> np.uint64(16 * operand.op_sel)
        number = _number(_signs(raw, kind, neg=neg, absolute=absolute), kind)
        # Which operations flush operands when MODE says so, the documents do not say; approximate ones always do.
        if kind in FLOAT and (self.one.mode == "flush" or (kind == "f32" and self.one.operation.approximate)):
            self.certain &= ~((np.abs(number) < SMALLEST[kind]) & (number != 0))
        return number

    def rounded(self, value: Array, kind: str) -> Array:
        """A result as bits of its type, after the result's modifiers."""
        one = self.one
        if kind in FLOAT:
            number = value.astype(FLOAT[kind])
            small = np.abs(number.astype(np.float64)) < SMALLEST[kind] * (4 if one.mode == "flush" else 0)
            if one.operation.approximate and kind == "f32":
                self.certain &= (np.abs(number) >= np.float32(SMALLEST[kind])) | (number == 0)
            if one.mode == "flush":
                self.certain &= ~(small & (number != 0))
                number = number * FLOAT[kind]({"mul:2": 2, "mul:4": 4, "div:2": 0.5, "": 1}[one.omod])
                if one.omod:
                    self.certain &= number != 0  # the sign of zero
            if one.clamp:
                number = np.where(np.isnan(number), FLOAT[kind](0), np.clip(number, FLOAT[kind](0), FLOAT[kind](1)))
                number = np.where(number == 0, FLOAT[kind](0), number).astype(FLOAT[kind])
            return number.view(WHOLE[kind]).astype(np.uint64)
        if kind == "pair" and one.clamp:
            halves = np.stack([value & 0xFFFF, value >> 16]).astype(np.uint16).view(np.float16)
            limited = np.where(np.isnan(halves), np.float16(0), np.clip(halves, np.float16(0), np.float16(1)))
            low, high = np.where(limited == 0, np.float16(0), limited).view(np.uint16).astype(np.uint64)
            return low | high << np.uint64(16)
        if kind in ("u64", "pair", "2f32", "u128"):
            return value.astype(np.uint64)
        width = 16 if kind.endswith("16") else 32
        if one.clamp:
            low = -(1 << (width - 1)) if kind[0] == "i" else 0
            value = np.clip(value, low, low + (1 << width) - 1)
        return (value.astype(np.int64) & ((1 << width) - 1)).astype(np.uint64)

    def bits(self) -> Array:
        """The destination: 64 bits a lane; of a mask, 0 or 1."""
        one = self.one
        result, *kinds = one.operation.types
        with np.errstate(all="ignore"):
            if result in ("p16f", "p16i", "p16u", "p32f", "p32b"):
                kind = {"p16f": "f16", "p16i": "i16", "p16u": "u16", "p32f": "f32", "p32b": "u32"}[result]
                parts = []
                for part in range(2):
                    numbers = [self.operand(n, k, part) for n, k in enumerate(kinds)]
                    if result == "p32b":  # the low result is the first operand's, the high one the second's
                        operand = one.operands[part]
                        at = np.uint64(32 * operand.op_sel)
                        raw = np.full(LANES, constant_bits(operand.constant or "0", "u32"), np.uint64)
                        raw = raw if operand.constant else self.wide[part] >> at
                        parts.append(raw & np.uint64(0xFFFFFFFF))
                        continue
                    if one.operation.accumulates:
                        numbers.append(_number(self.old >> np.uint64(16 * part), kind))
                    parts.append(self.rounded(one.operation.compute(*numbers), kind))
                width = np.uint64(32 if result.startswith("p32") else 16)
                whole = parts[0] | parts[1] << width
                return whole if width == 32 else whole | self.old >> np.uint64(32) << np.uint64(32)
            numbers = self.numbers(kinds)
            if one.operation.accumulates:
                numbers.append(_number(self.old, result))
                if one.mode == "flush" and result in FLOAT:
                    self.certain &= (np.abs(numbers[-1]) >= SMALLEST[result]) | (numbers[-1] == 0)
            if one.operation.settled:
                self.certain &= one.operation.settled(*numbers)
            if one.shown == "carry":
                assert one.operation.carry
                return one.operation.carry(*numbers).astype(np.uint64)
            flushing = one.operation.flushing if one.mode == "flush" else None
            value = (flushing or one.operation.compute)(*numbers)
            if result == "u128":
                value = value[one.shown == "upper"]
            if result == "mask":
                return value.astype(np.uint64)
            bits = self.rounded(value, result)
        return self.placed(bits, result)

    def placed(self, bits: Array, result: str) -> Array:
        """A result where it goes, with what stays of the destination."""
        one, old = self.one, self.old
        upper = old >> np.uint64(32) << np.uint64(32)
        if result in ("f64", "u64", "2f32", "u128"):
            return bits
        if result == "b8":
            at = np.uint64(8 * one.high)
            return old & ~(np.uint64(255) << at) | (bits & np.uint64(255)) << at
        if one.form == "SDWA":
            unit, _, place = one.dst_sel.partition("_")
            if unit != "DWORD":
                width = 8 if unit == "BYTE" else 16
                at = width * int(place)
                part = bits.astype(np.int64) & ((1 << width) - 1)
                extended = part - (part >> (width - 1) << width) if one.unused == "UNUSED_SEXT" else part
                moved = (extended << at) & 0xFFFFFFFF
                if one.unused == "UNUSED_PRESERVE":
                    moved = moved | (old.astype(np.int64) & 0xFFFFFFFF & ~(((1 << width) - 1) << at))
                bits = moved.astype(np.uint64)
        elif self.one.preserves and result in ("f16", "i16", "u16"):
            high = one.high or "mixhi" in one.name
            other = old & np.uint64(0xFFFF if high else 0xFFFF0000)
            bits = (bits << np.uint64(16) if high else bits) | other
        done = bits | upper
        if one.form == "DPP":
            lanes = np.arange(LANES)
            from_ = np.array([CONTROLS[one.control](lane) for lane in range(LANES)])
            on = (one.row_mask >> (lanes // 16)) & 1 & (one.bank_mask >> (lanes % 16 // 4)) == 1
            on &= (from_ >= 0) | bool(one.bound)
            done = np.where(on, done, old)
        return done


def same(one: Variation, got: Array, want: Array) -> Array:
    """Per lane: equal, both NaNs, or as near as the chips are."""
    equal = got == want
    result = one.operation.types[0]
    if one.is_mask:
        return equal
    for kind, at in _floats_of(one):
        width = {"f16": 16, "f32": 32, "f64": 64}[kind]
        mask = np.uint64((1 << width) - 1)
        g, w = (((x >> np.uint64(at)) & mask).astype(WHOLE[kind]).view(FLOAT[kind]) for x in (got, want))
        rest = ~(mask << np.uint64(at)) if width < 64 else np.uint64(0)
        near = np.isnan(g) & np.isnan(w)
        if one.operation.approximate:
            with np.errstate(all="ignore"):
                a, b = g.astype(np.float64), w.astype(np.float64)
                unit = np.maximum(np.spacing(np.abs(w)).astype(np.float64), np.finfo(FLOAT[kind]).eps / 8)
                near |= np.abs(a - b) <= one.operation.approximate * unit
        equal |= near & (got & rest == want & rest)
        if result.startswith("p"):
            got = np.where(near, (got & rest) | (want & ~rest), got)
            equal |= got == want
    return equal


def _floats_of(one: Variation) -> list[tuple[str, int]]:
    """Floats in the destination and the bit where each begins."""
    result = one.operation.types[0]
    if one.form == "SDWA" and result in FLOAT:
        whole = one.dst_sel == "DWORD" or (result == "f16" and one.dst_sel.startswith("WORD"))
        return [(result, 16 if one.dst_sel == "WORD_1" else 0)] if whole else []
    if result in FLOAT:
        return [(result, 16 if one.high or "mixhi" in one.name else 0)]
    halves = [("f16", 0), ("f16", 16)]
    return {"p16f": halves, "pair": halves, **{key: [("f32", 0), ("f32", 32)] for key in ("p32f", "2f32")}}.get(
        result, []
    )


# ---- running ---------------------------------------------------------------------------------------------------------


def kernel_text(found: Sequence[Variation], target: str) -> str:
    """Assembly that runs variations of one mode on registers that the first argument holds."""
    lines = ["s_load_dwordx4 s[4:7], s[0:1], 0x0", "v_lshlrev_b32 v1, 3, v0", "v_lshlrev_b32 v0, 2, v0"]
    lines += ["s_waitcnt lgkmcnt(0)"]
    for n in range(8):
        lines += [f"global_load_dword v{8 + n}, v0, s[4:5] offset:{256 * n}"]
    lines += ["s_waitcnt vmcnt(0)"]
    for one in found:
        words = [int.from_bytes(one.code[at : at + 4], "little") for at in range(0, len(one.code), 4)]
        if {"vcc", "carry"} & {*one.operation.types}:
            lines += [f"s_mov_b32 vcc_{half}, {_MASK >> at & 0xFFFFFFFF:#x}" for half, at in (("lo", 0), ("hi", 32))]
            lines += ["s_not_b64 s[22:23], vcc"]
        lines += ["v_mov_b32 v20, v14", "v_mov_b32 v21, v15", *(f".long {word:#x}" for word in words)]
        if one.shown == "upper":
            lines += ["v_mov_b32 v20, v22", "v_mov_b32 v21, v23"]
        if one.is_mask:
            lines += ["s_mov_b64 s[20:21], exec", "s_mov_b64 exec, -1"] * ("cmpx" in one.name)
            lines += [f"v_mov_b32 v{20 + n}, {_mask(one, n)}" for n in range(2)]
        lines += ["global_store_dwordx2 v1, v[20:21], s[6:7]", "s_add_u32 s6, s6, 0x200", "s_addc_u32 s7, s7, 0"]
    text = _FRAME.format(target=target, body="\n".join(lines), mode=MODES[found[0].mode][0], lds=0)
    if TRAITS[ISA_OF_TARGET[target]].has_unified_registers:
        text = text.replace(".amdhsa_next_free_vgpr 64", ".amdhsa_next_free_vgpr 64\n.amdhsa_accum_offset 64")
    return text


def _mask(one: Variation, half: int) -> str:
    """The register of a mask's half."""
    if one.shown == "carry":
        return f"s{18 + half}" if one.form.startswith("VOP3") else ("vcc_lo", "vcc_hi")[half]
    return ("vcc_lo", "vcc_hi")[half] if one.form == "SHORT" and "cmpx" not in one.name else f"s{20 + half}"


def translated(found: Sequence[Variation], registers: Array, target: str) -> Array:
    """v[20:21] of each variation on a simulated chip: u64[variation][64]."""
    code = assemble(kernel_text(found, target), "variations.s", target).code
    results = np.zeros((len(found), LANES, 2), np.uint32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "variations.hsaco"
        path.write_bytes(code)
        headwater.compile(path, device=CHIPS[target]).k[(LANES,), (LANES,)](
            registers.reshape(-1).copy(), results.reshape(-1)
        )
    return results.view(np.uint64)[..., 0]


def interpreted(one: Variation, registers: Array, target: str) -> Array:
    """The same of the interpreter."""
    memory = FlatMemory()
    isa = ISA_OF_TARGET[target]
    memories = Memories(memory, LocalMemory("LDS", bytearray(4)), PrivateMemory(memory, 0, 0))
    wave = Wave(memories, isa, mode=MODES[one.mode][1])
    wave.scalars[EXEC : EXEC + 2] = 0xFFFFFFFF
    wave.vectors[8:16] = registers
    wave.vectors[20:22] = registers[6:8]
    for first, mask in ((VCC, _MASK), (22, ~_MASK)):
        wave.scalars[first : first + 2] = [mask & 0xFFFFFFFF, mask >> 32 & 0xFFFFFFFF]
    step(wave, decode(one.code + bytes(8), 0, isa))
    if one.is_mask:
        first = EXEC if "cmpx" in one.name else VCC if _mask(one, 0) == "vcc_lo" else int(_mask(one, 0)[1:])
        return wave.scalars[first : first + 2].astype(np.uint32)[None].repeat(LANES, 0).view(np.uint64)[:, 0].copy()
    first = 22 if one.shown == "upper" else 20
    return wave.vectors[first].astype(np.uint64) | wave.vectors[first + 1].astype(np.uint64) << np.uint64(32)


def compared(one: Variation, got: Array, registers: Array, who: str) -> str:
    """What differs, in words; an empty string if nothing does."""
    expected = Expected(one, registers)
    want = expected.bits()
    if one.is_mask:
        got = (got >> np.arange(LANES, dtype=np.uint64)) & np.uint64(1)
    wrong = ~same(one, got, want) & expected.certain
    if not wrong.any():
        return ""
    lane = int(np.flatnonzero(wrong)[0])
    operands = ", ".join(f"{int(expected.wide[n][lane]):x}" for n in range(len(one.operands)))
    return (
        f"{one.text()} [{one.mode}]: {who} {int(got[lane]):x}, expected {int(want[lane]):x} of ({operands}), "
        f"destination before {int(expected.old[lane]):x}; {int(wrong.sum())} lanes"
    )


def taken(target: str, seed: int, every: int, only: str) -> tuple[list[Variation], set[str]]:
    """The variations that LLVM's assembler takes, and the operations of the target without an entry."""
    isa = ISA_OF_TARGET[target]
    rng = random.Random(seed)
    found, missing = [], set()
    for row in rows(isa):
        if row.encoding not in ("VOP1", "VOP2", "VOP3", "VOP3P", "VOPC") or row.name.startswith(("v_mfma", "v_smfmac")):
            continue
        name = row.name.removeprefix("v_")
        if name not in OPERATIONS:
            missing.add(row.name)
        elif only in name:
            found += list(variations(name, row, rng))[rng.randrange(every) :: every]
    for one, code in zip(found, encoded(isa, [one.text() for one in found]), strict=True):
        one.code = code or b""
    return [one for one in found if one.code], missing


def check(target: str, seed: int = 1, every: int = 1, only: str = "", batch: int = 400) -> Iterator[tuple[int, str]]:
    """Try them: how many variations of a batch, and what differs among them, in lines."""
    found, _ = taken(target, seed, every, only)
    key = {id(one): (one.mode, one.operation.explicit) for one in found}
    numbers = np.random.default_rng(seed)
    for (_, types), group in itertools.groupby(sorted(found, key=lambda o: key[id(o)]), key=lambda o: key[id(o)]):
        members = list(group)
        for start in range(0, len(members), batch):
            part = members[start : start + batch]
            registers = inputs(types, numbers)
            lines = []
            for one, got in zip(part, translated(part, registers, target), strict=True):
                lines.append(compared(one, got, registers, "translated"))
                lines.append(compared(one, interpreted(one, registers, target), registers, "interpreted"))
            yield len(part), "\n".join(filter(None, lines))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m verification.valu_modifiers", description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="gfx90a", choices=("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942"))
    parser.add_argument("--every", type=int, default=1, help="try each Nth variation (default: all)")
    parser.add_argument("--only", default="", help="operations with this in their names")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=1, help="differences of an operation that are printed (default: 1)")
    options = parser.parse_args()
    tried = 0
    wrong: Counter[str] = Counter()
    for count, lines in check(options.target, options.seed, options.every, options.only):
        tried += count
        for line in lines.splitlines():
            name = line.split()[0]
            wrong[name] += 1
            if wrong[name] <= options.show:
                print(line, flush=True)
    missing = taken(options.target, options.seed, 1 << 30, "")[1]
    print(f"without an entry: {' '.join(sorted(missing))}")
    print(f"{tried:,} instructions of {options.target}: {sum(wrong.values()):,} differ, of {len(wrong)} operations")
    return 1 if wrong or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
