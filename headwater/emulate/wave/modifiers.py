"""Input: operands and results as registers hold them. Output: operands and results with their modifiers."""

from __future__ import annotations

from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.wave import lower_float
from headwater.emulate.wave.builder import Value, WaveBuilder
from headwater.isa.gcn.model import Row, Source
from headwater.isa.semantics.model import Mode
from headwater.isa.semantics.types import BITS, float_bits, is_float

PAIRS = ("v2f16", "v2i16", "v2u16", "v2b16", "v2f32", "v2b32")
"""The table's operand types whose two halves op_sel and op_sel_hi choose."""

_OMOD = {1: 2.0, 2: 4.0, 3: 0.5}


def source(
    b: WaveBuilder,
    value: Value,
    type_: str,
    neg: bool,
    absolute: bool,
    sext: bool = False,
    sel: int = 6,
    op_sel: int = 0,
) -> Value:
    """A source of the language's ``type_`` from its register's bits (u32 or u64).

    ``sel`` and ``sext`` are SDWA's selection, ``op_sel`` takes the high half of a 16-bit operand.
    """
    width = BITS[type_]
    if sel != 6:
        value = _selected(b, value, sel, sext)
    elif width == 16 and op_sel:
        value = b.binary("lshr", b.bitcast(value, "u32"), b.constant("u32", 16))
    if width < BITS[value.type]:
        value = b.resize(b.bitcast(value, f"u{BITS[value.type]}"), f"u{width}")
    return _signed(b, b.bitcast(value, type_), neg, absolute)


def packed_source(b: WaveBuilder, value: Value, type_: str, operand: Source) -> Value:
    """A packed source as twice as many elements of ``type_``, the low one of each lane first."""
    elements = b.reshape(value, f"u{BITS[type_]}")
    picks = (operand.op_sel, operand.op_sel_hi)
    if picks != (0, 1):
        lanes = elements.lanes // 2
        elements = b.shuffle(elements, None, [2 * lane + pick for lane in range(lanes) for pick in picks])
    if (operand.neg or operand.neg_hi) and is_float(type_):
        sign = 1 << (BITS[type_] - 1)
        mask = [sign if operand.neg else 0, sign if operand.neg_hi else 0] * (elements.lanes // 2)
        elements = b.binary("xor", elements, b.vector(elements.type, mask))
    return b.bitcast(elements, type_)


def pair_source(b: WaveBuilder, value: Value, operand: Source) -> Value:
    """A source whose halves the expression names: its bits (u32 or u64) with op_sel and signs applied to each half."""
    half = BITS[value.type] // 2
    float_type = f"f{half}" if operand.type[2] == "f" else f"u{half}"
    if value.lanes == 1:
        value = b.splat(value, 2)  # reshaping wants a vector
        pair = b.reshape(packed_source(b, value, float_type, operand), f"u{2 * half}")
        return b.let(pair.type, 1, f"extractelement {pair.typed}, i64 0")
    return b.reshape(packed_source(b, value, float_type, operand), f"u{2 * half}")


def mixed_source(b: WaveBuilder, value: Value, operand: Source) -> Value:
    """A source of v_mad_mix: op_sel_hi makes it the half that op_sel names, converted to f32."""
    if not operand.op_sel_hi:
        return source(b, value, "f32", operand.neg, operand.abs)
    half = source(b, value, "f16", False, False, op_sel=operand.op_sel)
    return _signed(b, lower_float.convert(b, half, "f32", Mode()), operand.neg, operand.abs)


def result(b: WaveBuilder, value: Value, clamp: bool, omod: int, mode: Mode) -> Value:
    """A float result with output modifier and clamp.

    The hardware leaves omod out in IEEE mode and where denormal results are kept (LLVM, SIFoldOperands); clamp makes a
    NaN 0 if MODE.DX10_CLAMP is set (AMD, Vega ISA Reference Guide, "MODE register fields").
    """
    type_ = value.type
    if omod and not mode.ieee and not mode.denorm(type_) & 2:
        wide = lower_float.widen(b, value)
        factor = b.constant(wide.type, float_bits(_OMOD[omod], wide.type))
        # A negative zero becomes a positive one.
        scaled = b.binary("fadd", b.binary("fmul", wide, factor), b.constant(wide.type, 0))
        before, value = value, lower_float.flush(b, lower_float.narrow(b, scaled, type_))
        if mode.half_overflow and type_ == "f16":
            value = lower_float.limited_half(b, value, [before])
    if clamp:
        wide = lower_float.widen(b, value)
        zero, one = b.constant(wide.type, 0), b.constant(wide.type, float_bits(1.0, wide.type))
        low = b.select(b.compare("fcmp ogt" if mode.dx10_clamp else "fcmp ugt", wide, zero), wide, zero)
        value = lower_float.narrow(b, b.select(b.compare("fcmp ogt", low, one), one, low), type_)
    return value


def sdwa_dest(b: WaveBuilder, value: Value, old: Value, sel: int, unused: int) -> Value:
    """The register's new bits (u32): ``value`` in the bytes that ``sel`` names.

    ``unused`` 0 clears the others, 1 extends the sign upwards, 2 keeps those of ``old``.
    """
    width = BITS[value.type]
    wide = b.resize(b.bitcast(value, f"u{width}"), "u32")
    if sel == 6:
        return wide
    bits, at = (8, 8 * sel) if sel < 4 else (16, 16 * (sel - 4))
    mask = ((1 << bits) - 1) << at
    if unused == 1:
        top = b.binary("shl", wide, b.constant("u32", 32 - bits))
        return b.binary("shl", b.binary("ashr", top, b.constant("u32", 32 - bits)), b.constant("u32", at))
    placed = b.binary("and", b.binary("shl", wide, b.constant("u32", at)), b.constant("u32", mask))
    if unused == 0:
        return placed
    return b.binary("or", placed, b.binary("and", b.bitcast(old, "u32"), b.constant("u32", ~mask)))


def high_half(row: Row, isa: str) -> str:
    """What a 16-bit result does to its register's other half: "zero", "keep", or "high": it is written there itself.

    gfx8 clears it; gfx9 does so except for what it encodes anew (LLVM, GCNSubtarget::zeroesHigh16BitsOfDest).
    """
    if "high_half" in row.flags:
        return "high"
    if not TRAITS[isa].keeps_high_halves:
        return "zero"
    new = row.encoding in ("VOP3", "VOP3P") and "clears_half" not in row.flags
    return "keep" if new or "keeps_half" in row.flags else "zero"


def _selected(b: WaveBuilder, value: Value, sel: int, sext: bool) -> Value:
    bits, at = (8, 8 * sel) if sel < 4 else (16, 16 * (sel - 4))
    value = b.bitcast(value, "u32")
    if sext:
        top = b.binary("shl", value, b.constant("u32", 32 - bits - at)) if at + bits < 32 else value
        return b.binary("ashr", top, b.constant("u32", 32 - bits))
    shifted = b.binary("lshr", value, b.constant("u32", at)) if at else value
    return b.binary("and", shifted, b.constant("u32", (1 << bits) - 1)) if at + bits < 32 else shifted


def _signed(b: WaveBuilder, value: Value, neg: bool, absolute: bool) -> Value:
    """``value`` with its sign removed, then inverted; only floats and untyped bits have such modifiers."""
    if not (neg or absolute) or value.type[0] == "i":
        return value
    width = BITS[value.type]
    bits = b.bitcast(value, f"u{width}")
    sign = 1 << (width - 1)
    if absolute:
        bits = b.binary("and", bits, b.constant(bits.type, sign - 1))
    if neg:
        bits = b.binary("xor", bits, b.constant(bits.type, sign))
    return b.bitcast(bits, value.type)
