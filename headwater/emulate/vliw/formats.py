"""Input: elements as memory holds them. Output: lanes of 32 bits, and back: code for one part's lanes."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.emulate.vliw.bindings import Format
from headwater.emulate.wave import lower_float
from headwater.emulate.wave.builder import Value, WaveBuilder
from headwater.emulate.wave.registers import PART_LANES
from headwater.isa.semantics.model import Mode
from headwater.isa.semantics.types import float_bits

ONE = 0x3F800000


def pieces(nbytes: int) -> list[tuple[int, int]]:
    """How an element of some bytes is accessed: offsets and sizes."""
    if nbytes == 3:
        return [(0, 2), (2, 1)]
    if nbytes == 6:
        return [(0, 4), (4, 2)]
    return [(0, nbytes)]


def _float(b: WaveBuilder, value: float) -> Value:
    return b.constant("f32", float_bits(value, "f32"))


def unpacked(b: WaveBuilder, format_: Format, dwords: Sequence[Value]) -> list[Value]:
    """The lanes of an element, u32 each; ``dwords``: what was loaded, of 1 and 2 bytes zero-extended."""
    if format_.nbytes == 3:
        dwords = [b.binary("or", dwords[0], b.binary("shl", dwords[1], b.constant("u32", 16)))]
    result = []
    position = 0
    for width in format_.widths:
        whole = dwords[position // 32]
        shift = position % 32
        result.append(_unpacked(b, format_.kind, whole, shift, width))
        position += width
    return result


def _unpacked(b: WaveBuilder, kind: str, whole: Value, shift: int, width: int) -> Value:
    if width == 32 and kind in ("f", "u", "i"):
        return whole
    signed = kind in ("i", "sn", "is")
    if signed:
        field = b.bitcast(whole, "i32")
        if shift + width < 32:
            field = b.binary("shl", field, b.constant("i32", 32 - width - shift))
        if width < 32:
            field = b.binary("ashr", field, b.constant("i32", 32 - width))
    else:
        field = b.binary("lshr", whole, b.constant("u32", shift)) if shift else whole
        if shift + width < 32:
            field = b.binary("and", field, b.constant("u32", (1 << width) - 1))
    if kind in ("u", "i"):
        return b.bitcast(field, "u32")
    if kind == "f":
        half = b.bitcast(b.resize(field, "u16"), "f16")
        return b.bitcast(lower_float.convert(b, half, "f32", Mode()), "u32")
    number = lower_float.convert(b, field, "f32", Mode())
    if kind in ("un", "sn"):
        largest = (1 << (width - (kind == "sn"))) - 1
        number = b.binary("fdiv", number, _float(b, float(largest)))
        if kind == "sn":
            below = b.compare("fcmp olt", number, _float(b, -1.0))
            number = b.select(below, _float(b, -1.0), number)
    return b.bitcast(number, "u32")


def packed(b: WaveBuilder, format_: Format, lanes: Sequence[Value]) -> list[Value]:
    """An element's dwords of its lanes; one of 1 or 2 bytes is in the low bits."""
    total = sum(format_.widths)
    words: list[Value | None] = [None] * max((total + 31) // 32, 1)
    position = 0
    for width, lane in zip(format_.widths, lanes, strict=False):
        field = _packed(b, format_.kind, lane, width)
        shift, at = position % 32, position // 32
        if width < 32:
            field = b.binary("and", field, b.constant("u32", (1 << width) - 1))
        if shift:
            field = b.binary("shl", field, b.constant("u32", shift))
        known = words[at]
        words[at] = field if known is None else b.binary("or", known, field)
        position += width
    return [b.splat(word if word is not None else b.constant("u32", 0), PART_LANES) for word in words]


def _packed(b: WaveBuilder, kind: str, lane: Value, width: int) -> Value:
    if width == 32 and kind in ("f", "u", "i"):
        return lane
    if kind == "f":
        half = lower_float.narrow(b, b.bitcast(lane, "f32"), "f16")
        return b.resize(b.bitcast(half, "u16"), "u32")
    if kind == "u":
        return b.intrinsic("umin", "u32", lane, b.constant("u32", (1 << width) - 1))
    if kind == "i":
        number = b.bitcast(lane, "i32")
        number = b.intrinsic("smin", "i32", number, b.constant("i32", (1 << (width - 1)) - 1))
        number = b.intrinsic("smax", "i32", number, b.constant("i32", -(1 << (width - 1))))
        return b.bitcast(number, "u32")
    signed = kind == "sn"
    largest = (1 << (width - signed)) - 1
    number = b.bitcast(lane, "f32")
    low = _float(b, -1.0 if signed else 0.0)
    number = b.select(b.compare("fcmp ogt", number, low), number, low)
    number = b.select(b.compare("fcmp olt", number, _float(b, 1.0)), number, _float(b, 1.0))
    if width == 32:
        wide = b.let("f64", number.lanes, f"fpext {number.typed} to <{number.lanes} x double>")
        scaled = b.intrinsic("rint", "f64", b.binary("fmul", wide, b.constant("f64", float_bits(largest, "f64"))))
        op = "fptosi" if signed else "fptoui"
        return b.let("u32", number.lanes, f"{op} {scaled.typed} to <{number.lanes} x i32>")
    scaled = b.intrinsic("rint", "f32", b.binary("fmul", number, _float(b, float(largest))))
    return b.let("u32", number.lanes, f"fptosi {scaled.typed} to <{number.lanes} x i32>")
