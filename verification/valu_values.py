"""What VALU operations of GFX9 compute, after AMD's "Vega" and "MI300" instruction set documents, with NumPy.

One entry for each operation: the types of its result and operands, and a function of arrays. Floats of 16 and 32 bits
come as float64 and are rounded once by the caller; a function that rounds inside says so. Nothing of the package is
imported: `verification.valu_modifiers` holds translator and interpreter to this.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

Array = Any
"""An array of the lanes: float64 for floats, int64 or uint64 for whole numbers."""


class Operation(NamedTuple):
    """``types``: of the result, then of each operand; ``approximate``: units in the last place by which chips may be
    off; ``accumulates``: the destination is the last operand; ``flushing``: in place of ``compute`` where MODE flushes
    denormals, if something inside is flushed, too; ``carry``: the second result, a mask; ``settled``: the lanes of
    which the documents say what they are."""

    types: tuple[str, ...]
    compute: Callable[..., Array]
    approximate: int = 0
    accumulates: bool = False
    flushing: Callable[..., Array] | None = None
    carry: Callable[..., Array] | None = None
    settled: Callable[..., Array] | None = None

    @property
    def explicit(self) -> tuple[str, ...]:
        """The types of the operands that the text names; the others are lane numbers, VCC and the clamp bit."""
        return tuple(t for t in self.types[1:] if t not in ("lane", "vcc", "clamp"))


OPERATIONS: Final[dict[str, Operation]] = {}


def add(names: str, types: str, compute: Callable[..., Array], approximate: int = 0, **more: Any) -> None:
    """Enter operations (with spaces between their names), of ``types`` (the result's first)."""
    for name in names.split():
        OPERATIONS[name] = Operation(tuple(types.split()), compute, approximate, **more)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def single(x: Array) -> Array:
    """Rounded to float32."""
    return x.astype(np.float32).astype(np.float64)


def half(x: Array) -> Array:
    """Rounded to float16."""
    return x.astype(np.float16).astype(np.float64)


def flush(x: Array, smallest: float = 2.0**-126) -> Array:
    """Without denormals, of float32 unless ``smallest`` is another type's smallest normal number."""
    return np.where(np.abs(x) < smallest, np.copysign(0.0, x), x)


def mad_half(a: Array, b: Array, c: Array) -> Array:
    """a × b rounded to float16, plus c."""
    return half(a * b) + c


def mad_half_flushing(a: Array, b: Array, c: Array) -> Array:
    """The same where MODE flushes denormals of float16. AMD's documents speak of inputs and outputs only; LLVM, which
    uses v_mad_f16 in this mode alone, takes it for the two operations one after the other (ISD::FMAD)."""
    return flush(half(a * b), 2.0**-14) + c


def fused(a: Array, b: Array, c: Array) -> Array:
    """a × b + c of numbers with at most 24 significant bits, rounded to odd in float64: rounding to float32 or float16
    afterwards is then correct (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008)."""
    product = a * b
    total = product + c
    part = total - product
    rest = (product - (total - part)) + (c - part)
    bits = total.view(np.int64)
    towards = np.where((rest > 0) == (total > 0), 1, -1)
    inexact = (rest != 0) & np.isfinite(total) & (bits & 1 == 0)
    return np.where(inexact, (bits + towards).view(np.float64), total)


def fused_double(a: Array, b: Array, c: Array) -> Array:
    """a × b + c rounded once to float64, by rational numbers where they are finite."""
    result = a * b + c
    for lane in np.flatnonzero(np.isfinite(a) & np.isfinite(b) & np.isfinite(c)):
        exact = Fraction(a[lane]) * Fraction(b[lane]) + Fraction(c[lane])
        if exact:
            try:
                result[lane] = float(exact)
            except OverflowError:
                result[lane] = np.copysign(np.inf, float(np.sign(exact.numerator)))
    return result


def least(a: Array, b: Array) -> Array:
    """The smaller, of a number and a NaN the number, -0 below +0."""
    smaller = np.where((a < b) | ((a == b) & np.signbit(a)), a, b)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, smaller))


def most(a: Array, b: Array) -> Array:
    """The larger, of a number and a NaN the number, -0 below +0."""
    return -least(-a, -b)


def middle(a: Array, b: Array, c: Array) -> Array:
    """Of floats; the smallest number if one is a NaN ("MI300" ISA, V_MED3_F32: zeros of both signs are equal)."""
    nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    largest = most(most(a, b), c)
    other = np.where(largest == a, most(b, c), np.where(largest == b, most(a, c), most(a, b)))
    return np.where(nan, least(least(a, b), c), other)


def middle_int(a: Array, b: Array, c: Array) -> Array:
    return np.sort(np.stack([a, b, c]), axis=0)[1]


def whole(low: int, high: int, rounded: Callable[[Array], Array] = np.trunc) -> Callable[[Array], Array]:
    """To a whole number of this range; NaN gives 0."""
    return lambda x: np.clip(np.nan_to_num(rounded(x), nan=0.0, posinf=high, neginf=low), low, high).astype(np.int64)


def fraction(of: Callable[[Array], Array], below_one: float) -> Callable[[Array], Array]:
    return lambda x: np.where(np.isnan(x), x, np.minimum(of(x - np.floor(x)), below_one))


def mantissa(x: Array) -> Array:
    return np.where(np.isfinite(x), np.frexp(x)[0], x)


def exponent(x: Array) -> Array:
    return np.where(np.isfinite(x), np.frexp(x)[1], 0).astype(np.int64)


def without_zero(a: Array, b: Array) -> Array:
    """DirectX 9's product: of 0 and anything it is 0."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def bits(x: Array, width: int) -> Array:
    return x & ((1 << width) - 1)


def signed(x: Array, width: int) -> Array:
    low = bits(x, width)
    return low - ((low >> (width - 1)) << width)


def bit_field(x: Array, at: Array, width: Array) -> Array:
    """``width`` bits from ``at`` of a signed number, with their sign."""
    sign = np.where(width, (x >> (at + np.maximum(width - 1, 0))) & 1, 0)
    return ((x >> at) & ((1 << width) - 1)) - (sign << width)


def leading(x: Array) -> Array:
    """Zeros above the highest bit set of 32, -1 if none is."""
    return np.array([32 - int(v).bit_length() if v else -1 for v in bits(x, 32)])


def trailing(x: Array) -> Array:
    return np.array([(int(v) & -int(v)).bit_length() - 1 if v else -1 for v in bits(x, 32)])


def reversed_bits(x: Array) -> Array:
    return np.array([int(f"{int(v):032b}"[::-1], 2) for v in bits(x, 32)])


def ones(x: Array) -> Array:
    return np.array([int(v).bit_count() for v in bits(x, 32)])


def byte(x: Array, n: int) -> Array:
    return (x >> (8 * n)) & 255


def sad(a: Array, b: Array, masked: bool = False) -> Array:
    """Sum of the differences of bytes; ``masked``: of those whose second byte is not 0."""
    parts = [np.abs(byte(a, n) - byte(b, n)) * ((byte(b, n) != 0) if masked else 1) for n in range(4)]
    return sum(parts)


def permuted(a: Array, b: Array, c: Array) -> Array:
    """v_perm_b32: byte 0…7 of {a, b}, 8…11 the signs of its halves' words, 12 zero, above ones."""
    result = np.zeros_like(a)
    for n in range(4):
        chosen = byte(c, n)
        value = np.where(chosen < 4, (b >> (8 * (chosen & 3))) & 255, (a >> (8 * (chosen & 3))) & 255)
        for code, source, bit in ((8, b, 15), (9, b, 31), (10, a, 15), (11, a, 31)):
            value = np.where(chosen == code, np.where((source >> bit) & 1, 255, 0), value)
        value = np.where(chosen == 12, 0, np.where(chosen > 12, 255, value))
        result |= value << (8 * n)
    return result


def dot(a: Array, b: Array, width: int, is_signed: bool) -> Array:
    """Of the parts of 32 bits."""
    take = signed if is_signed else bits
    return sum(take(a >> at, width) * take(b >> at, width) for at in range(0, 32, width))


def product_high(a: Array, b: Array) -> Array:
    return np.array([(int(x) * int(y)) >> 32 for x, y in zip(a, b, strict=True)])


def norm(scale: int, low: float) -> Callable[[Array], Array]:
    return lambda x: np.rint(np.nan_to_num(np.clip(x, low, 1.0)) * scale).astype(np.int64)


def cut_to_half(x: Array) -> Array:
    """The bits of the half towards zero."""
    near = x.astype(np.float16)
    code = near.view(np.uint16).astype(np.int64)
    over = np.abs(near.astype(np.float64)) > np.abs(x)
    return np.where(over & np.isfinite(x), code - 1, code)


def half_bits(x: Array) -> Array:
    return x.astype(np.float16).view(np.uint16).astype(np.int64)


def pair(low: Array, high: Array) -> Array:
    return bits(low, 16) | bits(high, 16) << 16


def classes(code: Array, width: int, fraction_bits: int) -> Array:
    """The bit of v_cmp_class for each: 0 signalling and 1 quiet NaN; 2 -inf; 3 -normal; 4 -denormal; 5 -0; 6 0; … 9
    inf ("MI300" ISA, V_CMP_CLASS_F32)."""
    negative = (code >> (width - 1)) & 1 != 0
    top = (1 << (width - 1 - fraction_bits)) - 1
    power = (code >> fraction_bits) & top
    rest = code & ((1 << fraction_bits) - 1)
    kind = np.select([power == top, power > 0, rest > 0], [9, 8, 7], 6)
    return np.where((power == top) & (rest != 0), rest >> (fraction_bits - 1), np.where(negative, 11 - kind, kind))


# ---- operations ------------------------------------------------------------------------------------------------------

for _t, _round, _last, _fraction_bits in (
    ("f16", half, 1 - 2.0**-11, 10),
    ("f32", single, float(np.nextafter(np.float32(1), np.float32(0))), 23),
    ("f64", lambda x: x, float(np.nextafter(1.0, 0.0)), 52),
):
    _fma = fused_double if _t == "f64" else fused
    _narrow = _t != "f64"
    add(f"add_{_t}", f"{_t} {_t} {_t}", lambda a, b: a + b)
    add(f"mul_{_t}", f"{_t} {_t} {_t}", lambda a, b: a * b)
    add(f"min_{_t}", f"{_t} {_t} {_t}", least)
    add(f"max_{_t}", f"{_t} {_t} {_t}", most)
    add(f"fma_{_t}", f"{_t} {_t} {_t} {_t}", _fma)
    add(f"trunc_{_t}", f"{_t} {_t}", np.trunc)
    add(f"ceil_{_t}", f"{_t} {_t}", np.ceil)
    add(f"floor_{_t}", f"{_t} {_t}", np.floor)
    add(f"rndne_{_t}", f"{_t} {_t}", np.rint)
    add(f"fract_{_t}", f"{_t} {_t}", fraction(_round, _last))
    add(f"frexp_mant_{_t}", f"{_t} {_t}", mantissa)
    add(f"frexp_exp_{'i16' if _t == 'f16' else 'i32'}_{_t}", f"{'i16' if _t == 'f16' else 'i32'} {_t}", exponent)
    _units = 1 << 30 if _t == "f64" else 2
    add(f"rcp_{_t}", f"{_t} {_t}", lambda x: 1 / x, _units)
    add(f"sqrt_{_t}", f"{_t} {_t}", np.sqrt, _units)
    add(f"rsq_{_t}", f"{_t} {_t}", lambda x: 1 / np.sqrt(x), _units)
    if _narrow:
        add(f"sub_{_t}", f"{_t} {_t} {_t}", lambda a, b: a - b)
        add(f"subrev_{_t}", f"{_t} {_t} {_t}", lambda a, b: b - a)
        add(f"min3_{_t}", f"{_t} {_t} {_t} {_t}", lambda a, b, c: least(least(a, b), c))
        add(f"max3_{_t}", f"{_t} {_t} {_t} {_t}", lambda a, b, c: most(most(a, b), c))
        add(f"med3_{_t}", f"{_t} {_t} {_t} {_t}", middle)
        add(f"exp_{_t}", f"{_t} {_t}", np.exp2, 4)
        add(f"log_{_t}", f"{_t} {_t}", np.log2, 4)
    add(f"fmac_{_t}", f"{_t} {_t} {_t}", _fma, accumulates=True)
    _mask = "f16" if _t == "f16" else "u32"
    for _name, _compare in {
        "f": lambda a, b: np.zeros(a.shape, bool), "lt": lambda a, b: a < b, "eq": lambda a, b: a == b,
        "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "lg": lambda a, b: (a < b) | (a > b),
        "ge": lambda a, b: a >= b,
        "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "u": lambda a, b: np.isnan(a) | np.isnan(b),
        "nge": lambda a, b: ~(a >= b), "nlg": lambda a, b: ~((a < b) | (a > b)), "ngt": lambda a, b: ~(a > b),
        "nle": lambda a, b: ~(a <= b), "neq": lambda a, b: ~(a == b), "nlt": lambda a, b: ~(a < b),
        "tru": lambda a, b: np.ones(a.shape, bool),
    }.items():  # fmt: skip
        add(f"cmp_{_name}_{_t} cmpx_{_name}_{_t}", f"mask {_t} {_t}", _compare)
    add(
        f"cmp_class_{_t} cmpx_class_{_t}", f"mask r{_t[1:]} {'h16' if _t == 'f16' else 'u32'}",
        lambda x, mask, width=int(_t[1:]), m=_fraction_bits: (mask >> classes(x, width, m)) & 1 != 0,
    )  # fmt: skip

add("rcp_iflag_f32", "f32 f32", lambda x: 1 / x, 2)
add("exp_legacy_f32", "f32 f32", np.exp2, 8)
add("log_legacy_f32", "f32 f32", np.log2, 8)
add("mad_f32", "f32 f32 f32 f32", lambda a, b, c: flush(single(flush(single(flush(a) * flush(b))) + flush(c))))
add("mac_f32", "f32 f32 f32", lambda a, b, c: OPERATIONS["mad_f32"].compute(a, b, c), accumulates=True)
add(
    "mad_legacy_f32", "f32 f32 f32 f32",
    lambda a, b, c: flush(single(flush(single(without_zero(flush(a), flush(b)))) + flush(c))),
)  # fmt: skip
add("mad_f16 mad_legacy_f16", "f16 f16 f16 f16", mad_half, flushing=mad_half_flushing)
add("mac_f16", "f16 f16 f16", mad_half, accumulates=True, flushing=mad_half_flushing)
add("fma_legacy_f16", "f16 f16 f16 f16", fused)
add("pk_fmac_f16", "p16f p16f p16f", fused, accumulates=True)
for _t, _units in (("f16", 4), ("f32", 8)):
    # "MI300" ISA, V_SIN_F32: any number is in range, infinities give NaN. How exact results are is not said.
    add(f"sin_{_t}", f"{_t} {_t}", lambda x: np.sin(2 * np.pi * (x - np.trunc(x))), _units)
    add(f"cos_{_t}", f"{_t} {_t}", lambda x: np.cos(2 * np.pi * (x - np.trunc(x))), _units)
add("mul_legacy_f32", "f32 f32 f32", without_zero)
add("pk_add_f16", "p16f p16f p16f", lambda a, b: a + b)
add("pk_mul_f16", "p16f p16f p16f", lambda a, b: a * b)
add("pk_fma_f16", "p16f p16f p16f p16f", fused)
add("pk_min_f16", "p16f p16f p16f", least)
add("pk_max_f16", "p16f p16f p16f", most)
add("pk_add_f32", "p32f p32f p32f", lambda a, b: a + b)
add("pk_mul_f32", "p32f p32f p32f", lambda a, b: a * b)
add("pk_fma_f32", "p32f p32f p32f p32f", fused)
add("pk_mov_b32", "p32b p32b p32b", lambda a, b: a)
add("fma_mix_f32", "f32 mix mix mix", fused)
add("mad_mix_f32", "f32 mix mix mix", OPERATIONS["mad_f32"].compute)
add("fma_mixlo_f16 fma_mixhi_f16", "f16 mix mix mix", lambda a, b, c: single(fused(a, b, c)))
add("mad_mixlo_f16 mad_mixhi_f16", "f16 mix mix mix", OPERATIONS["mad_f32"].compute)
add("ldexp_f16", "f16 f16 s16", lambda a, b: np.ldexp(a, signed(b, 16)))
add("ldexp_f32", "f32 f32 i32", lambda a, b: np.ldexp(a, np.clip(b, -(1 << 20), 1 << 20)))
add("ldexp_f64", "f64 f64 i32", lambda a, b: np.ldexp(a, np.clip(b, -(1 << 20), 1 << 20)))

add("cvt_f32_f16", "f32 f16", lambda x: x)
add("cvt_f16_f32", "f16 f32", lambda x: x)
add("cvt_f32_f64", "f32 f64", lambda x: x)
add("cvt_f64_f32", "f64 f32", lambda x: x)
add("cvt_f32_i32 cvt_f32_u32", "f32 i32", lambda x: x.astype(np.float64))
add("cvt_f32_u32", "f32 u32", lambda x: x.astype(np.float64))
add("cvt_f64_i32", "f64 i32", lambda x: x.astype(np.float64))
add("cvt_f64_u32", "f64 u32", lambda x: x.astype(np.float64))
add("cvt_f16_u16", "f16 u16", lambda x: x.astype(np.float64))
add("cvt_f16_i16", "f16 i16", lambda x: x.astype(np.float64))
add("cvt_i32_f32", "i32 f32", whole(-(1 << 31), (1 << 31) - 1))
add("cvt_i32_f64", "i32 f64", whole(-(1 << 31), (1 << 31) - 1))
add("cvt_u32_f32", "u32 f32", whole(0, (1 << 32) - 1))
add("cvt_u32_f64", "u32 f64", whole(0, (1 << 32) - 1))
add("cvt_i16_f16", "i16 f16", whole(-(1 << 15), (1 << 15) - 1))
add("cvt_u16_f16", "u16 f16", whole(0, (1 << 16) - 1))
add("cvt_flr_i32_f32", "i32 f32", whole(-(1 << 31), (1 << 31) - 1, np.floor))
add("cvt_rpi_i32_f32", "i32 f32", whole(-(1 << 31), (1 << 31) - 1, lambda x: np.floor(x + 0.5)))
add("cvt_off_f32_i4", "f32 u32", lambda x: signed(x, 4) / 16)
for _n in range(4):
    add(f"cvt_f32_ubyte{_n}", "f32 u32", lambda x, n=_n: byte(x, n).astype(np.float64))
add("cvt_norm_i16_f16", "i16 f16", norm(32767, -1.0))
add("cvt_norm_u16_f16", "u16 f16", norm(65535, 0.0))
add("cvt_pknorm_i16_f32", "u32 f32 f32", lambda a, b: pair(norm(32767, -1.0)(a), norm(32767, -1.0)(b)))
add("cvt_pknorm_u16_f32", "u32 f32 f32", lambda a, b: pair(norm(65535, 0.0)(a), norm(65535, 0.0)(b)))
add("cvt_pknorm_i16_f16", "u32 f16 f16", lambda a, b: pair(norm(32767, -1.0)(a), norm(32767, -1.0)(b)))
add("cvt_pknorm_u16_f16", "u32 f16 f16", lambda a, b: pair(norm(65535, 0.0)(a), norm(65535, 0.0)(b)))
add("cvt_pkrtz_f16_f32", "pair f32 f32", lambda a, b: pair(cut_to_half(a), cut_to_half(b)))
add("cvt_pk_u16_u32", "u32 u32 u32", lambda a, b: pair(np.minimum(a, 65535), np.minimum(b, 65535)))
add("cvt_pk_i16_i32", "u32 i32 i32", lambda a, b: pair(np.clip(a, -32768, 32767), np.clip(b, -32768, 32767)))
add(
    "cvt_pk_u8_f32", "u32 f32 u32 u32",
    lambda a, b, c: c & ~(255 << 8 * (b & 3)) | whole(0, 255, np.rint)(a) << 8 * (b & 3),
)  # fmt: skip

add("mov_b32", "u32 u32", lambda x: x)
add("mov_b64", "u64 u64", lambda x: x)
add("not_b32", "u32 u32", lambda x: ~x)
add("bfrev_b32", "u32 u32", reversed_bits)
add("ffbh_u32", "u32 u32", leading)
add("ffbl_b32", "u32 u32", trailing)
add("ffbh_i32", "u32 i32", lambda x: np.where((x == 0) | (x == -1), -1, leading(np.where(x < 0, ~x, x))))
add("sat_pk_u8_i16", "u16 u32", lambda x: np.clip(signed(x, 16), 0, 255) | np.clip(signed(x >> 16, 16), 0, 255) << 8)

add("mul_i32_i24", "i32 i32 i32", lambda a, b: signed(a, 24) * signed(b, 24))
add("mul_hi_i32_i24", "i32 i32 i32", lambda a, b: (signed(a, 24) * signed(b, 24)) >> 32)
add("mul_u32_u24", "u32 u32 u32", lambda a, b: bits(a, 24) * bits(b, 24))
add("mul_hi_u32_u24", "u32 u32 u32", lambda a, b: (bits(a, 24) * bits(b, 24)) >> 32)
COMPARES: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "f": lambda a, b: np.zeros(a.shape, bool), "lt": np.less, "eq": np.equal, "le": np.less_equal, "gt": np.greater,
    "ne": np.not_equal, "ge": np.greater_equal, "t": lambda a, b: np.ones(a.shape, bool),
}  # fmt: skip
for _t in ("i16", "u16", "i32", "u32", "i64", "u64"):
    for _name, _compare in COMPARES.items():
        add(f"cmp_{_name}_{_t} cmpx_{_name}_{_t}", f"mask {_t} {_t}", _compare)
for _t in ("i32", "u32", "i16", "u16"):
    add(f"min_{_t}", f"{_t} {_t} {_t}", np.minimum)
    add(f"max_{_t}", f"{_t} {_t} {_t}", np.maximum)
    add(f"min3_{_t}", f"{_t} {_t} {_t} {_t}", lambda a, b, c: np.minimum(np.minimum(a, b), c))
    add(f"max3_{_t}", f"{_t} {_t} {_t} {_t}", lambda a, b, c: np.maximum(np.maximum(a, b), c))
    add(f"med3_{_t}", f"{_t} {_t} {_t} {_t}", middle_int)
    add(f"add_{_t}", f"{_t} {_t} {_t}", lambda a, b: a + b)
    add(f"sub_{_t}", f"{_t} {_t} {_t}", lambda a, b: a - b)
    add(f"subrev_{_t}", f"{_t} {_t} {_t}", lambda a, b: b - a)
for _t in ("i16", "u16"):
    add(f"mad_{_t} mad_legacy_{_t}", f"{_t} {_t} {_t} {_t}", lambda a, b, c: a * b + c)
    _p = f"p16{_t[0]}"
    add(f"pk_mad_{_t}", f"{_p} {_p} {_p} {_p}", lambda a, b, c: a * b + c)
    add(f"pk_add_{_t}", f"{_p} {_p} {_p}", lambda a, b: a + b)
    add(f"pk_sub_{_t}", f"{_p} {_p} {_p}", lambda a, b: a - b)
    add(f"pk_min_{_t}", f"{_p} {_p} {_p}", np.minimum)
    add(f"pk_max_{_t}", f"{_p} {_p} {_p}", np.maximum)
add("mul_lo_u16", "u16 u16 u16", lambda a, b: a * b)
add("pk_mul_lo_u16", "p16u p16u p16u", lambda a, b: a * b)
add("lshlrev_b16", "u16 u16 u16", lambda a, b: b << (a & 15))
add("lshrrev_b16", "u16 u16 u16", lambda a, b: b >> (a & 15))
add("ashrrev_i16", "i16 u16 i16", lambda a, b: b >> (a & 15))
add("pk_lshlrev_b16", "p16u p16u p16u", lambda a, b: b << (a & 15))
add("pk_lshrrev_b16", "p16u p16u p16u", lambda a, b: b >> (a & 15))
add("pk_ashrrev_i16", "p16i p16u p16i", lambda a, b: b >> (a & 15))
add("lshlrev_b32", "u32 u32 u32", lambda a, b: b << (a & 31))
add("lshrrev_b32", "u32 u32 u32", lambda a, b: b >> (a & 31))
add("ashrrev_i32", "i32 u32 i32", lambda a, b: b >> (a & 31))
add("and_b32", "u32 u32 u32", lambda a, b: a & b)
add("or_b32", "u32 u32 u32", lambda a, b: a | b)
add("xor_b32", "u32 u32 u32", lambda a, b: a ^ b)
add("xnor_b32", "u32 u32 u32", lambda a, b: ~(a ^ b))
add("mad_i32_i24", "i32 i32 i32 i32", lambda a, b, c: signed(a, 24) * signed(b, 24) + c)
add("mad_u32_u24", "u32 u32 u32 u32", lambda a, b, c: bits(a, 24) * bits(b, 24) + c)
add("mad_i32_i16", "i32 i16 i16 i32", lambda a, b, c: a * b + c)
add("mad_u32_u16", "u32 u16 u16 u32", lambda a, b, c: a * b + c)
add("bfe_u32", "u32 u32 u32 u32", lambda a, b, c: (a >> (b & 31)) & ((1 << (c & 31)) - 1))
add("bfe_i32", "i32 i32 u32 u32", lambda a, b, c: bit_field(a, b & 31, c & 31))
add("bfi_b32", "u32 u32 u32 u32", lambda a, b, c: (a & b) | (~a & c))
add(
    "lerp_u8", "u32 u32 u32 u32",
    lambda a, b, c: sum(((byte(a, n) + byte(b, n) + (byte(c, n) & 1)) >> 1) << 8 * n for n in range(4)),
)  # fmt: skip
add("alignbit_b32", "u32 u32 u32 u32", lambda a, b, c: ((a & 0x7FFFFFFF) << 32 | b) >> (c & 31))
add("alignbyte_b32", "u32 u32 u32 u32", lambda a, b, c: ((a & 0x7FFFFFFF) << 32 | b) >> 8 * (c & 3))
add("sad_u8", "u32 u32 u32 u32", lambda a, b, c: sad(a, b) + c)
add("sad_hi_u8", "u32 u32 u32 u32", lambda a, b, c: (sad(a, b) << 16) + c)
add("msad_u8", "u32 u32 u32 u32", lambda a, b, c: sad(a, b, masked=True) + c)
add(
    "sad_u16", "u32 u32 u32 u32",
    lambda a, b, c: np.abs(bits(a, 16) - bits(b, 16)) + np.abs((a >> 16) - (b >> 16)) + c,
)  # fmt: skip
add("sad_u32", "u32 u32 u32 u32", lambda a, b, c: np.abs(a - b) + c)
add("perm_b32", "u32 u32 u32 u32", permuted)
add("xad_u32", "u32 u32 u32 u32", lambda a, b, c: (a ^ b) + c)
add("lshl_add_u32", "u32 u32 u32 u32", lambda a, b, c: (a << (b & 31)) + c)
add("add_lshl_u32", "u32 u32 u32 u32", lambda a, b, c: bits(a + b, 32) << (c & 31))
add("add3_u32", "u32 u32 u32 u32", lambda a, b, c: a + b + c)
add("lshl_or_b32", "u32 u32 u32 u32", lambda a, b, c: (a << (b & 31)) | c)
add("and_or_b32", "u32 u32 u32 u32", lambda a, b, c: (a & b) | c)
add("or3_b32", "u32 u32 u32 u32", lambda a, b, c: a | b | c)
add("mul_lo_u32", "u32 u32 u32", lambda a, b: (a * (b & 0xFFFF)) + ((a * (b >> 16) & 0xFFFF) << 16))
add("mul_hi_u32", "u32 u32 u32", product_high)
add("mul_hi_i32", "i32 i32 i32", product_high)
add("bcnt_u32_b32", "u32 u32 u32", lambda a, b: ones(a) + b)
add("bfm_b32", "u32 u32 u32", lambda a, b: ((1 << (a & 31)) - 1) << (b & 31))
add("lshlrev_b64", "u64 u32 u64", lambda a, b: b << (a & 63).astype(np.uint64))
add("lshrrev_b64", "u64 u32 u64", lambda a, b: b >> (a & 63).astype(np.uint64))
add("ashrrev_i64", "u64 u32 u64", lambda a, b: (b.view(np.int64) >> (a & 63)).view(np.uint64))
add("lshl_add_u64", "u64 u64 u32 u64", lambda a, b, c: (a << (b & 7).astype(np.uint64)) + c)
add("add_co_u32", "u32 u32 u32", lambda a, b: a + b, carry=lambda a, b: a + b > 0xFFFFFFFF)
add("sub_co_u32", "u32 u32 u32", lambda a, b: a - b, carry=lambda a, b: b > a)
add("subrev_co_u32", "u32 u32 u32", lambda a, b: b - a, carry=lambda a, b: a > b)
add("addc_co_u32", "u32 u32 u32 carry", lambda a, b, m: a + b + m, carry=lambda a, b, m: a + b + m > 0xFFFFFFFF)
add("subb_co_u32", "u32 u32 u32 carry", lambda a, b, m: a - b - m, carry=lambda a, b, m: b + m > a)
add("subbrev_co_u32", "u32 u32 u32 carry", lambda a, b, m: b - a - m, carry=lambda a, b, m: a + m > b)


def wide_sum(a: Array, b: Array, c: Array, low: int) -> list[int]:
    """a × b + c exactly; of a signed c (``low`` is below 0) the value."""
    return [int(x) * int(y) + (int(z) + low) % (1 << 64) - -low for x, y, z in zip(a, b, c, strict=True)]


def wide_bits(values: list[int], low: int, clamp: int) -> Array:
    limited = [min(max(v, low), low + (1 << 64) - 1) if clamp else v for v in values]
    return np.array([v % (1 << 64) for v in limited], np.uint64)


# "MI300" ISA, V_MAD_I64_I32: the mask is bit 64 of the sum of 65 bits, for signed numbers the sign of the exact sum.
add(
    "mad_u64_u32", "u64 u32 u32 u64 clamp",
    lambda a, b, c, clamp: wide_bits(wide_sum(a, b, c, 0), 0, clamp),
    carry=lambda a, b, c, _: np.array([v >> 64 for v in wide_sum(a, b, c, 0)]) != 0,
)  # fmt: skip
add(
    "mad_i64_i32", "u64 i32 i32 u64 clamp",
    lambda a, b, c, clamp: wide_bits(wide_sum(a, b, c, -(1 << 63)), -(1 << 63), clamp),
    carry=lambda a, b, c, _: np.array([v < 0 for v in wide_sum(a, b, c, -(1 << 63))]),
)  # fmt: skip
add("pack_b32_f16", "u32 f16 f16", lambda a, b: pair(half_bits(a), half_bits(b)))
add("dot2_i32_i16", "i32 u32 u32 i32", lambda a, b, c: dot(a, b, 16, True) + c)
add("dot2_u32_u16", "u32 u32 u32 u32", lambda a, b, c: dot(a, b, 16, False) + c)
add("dot4_i32_i8", "i32 u32 u32 i32", lambda a, b, c: dot(a, b, 8, True) + c)
add("dot4_u32_u8", "u32 u32 u32 u32", lambda a, b, c: dot(a, b, 8, False) + c)
add("dot8_i32_i4", "i32 u32 u32 i32", lambda a, b, c: dot(a, b, 4, True) + c)
add("dot8_u32_u4", "u32 u32 u32 u32", lambda a, b, c: dot(a, b, 4, False) + c)


# ---- masks, lanes, parts of operands ---------------------------------------------------------------------------------

add("cndmask_b32", "u32 r32 r32 carry", lambda a, b, m: np.where(m, b, a))
add("mbcnt_lo_u32_b32", "u32 u32 u32 lane", lambda a, b, lane: ones(a & ((1 << np.minimum(lane, 32)) - 1)) + b)
add("mbcnt_hi_u32_b32", "u32 u32 u32 lane", lambda a, b, lane: ones(a & ((1 << np.maximum(lane - 32, 0)) - 1)) + b)
add(
    "cvt_pkaccum_u8_f32", "u32 f32 u32",
    lambda a, b, c: c & ~(255 << 8 * (b & 3)) | whole(0, 255, np.rint)(a) << 8 * (b & 3), accumulates=True,
)  # fmt: skip
add("dot2c_i32_i16", "i32 u32 u32", lambda a, b, c: dot(a, b, 16, True) + c, accumulates=True)
add("dot4c_i32_i8", "i32 u32 u32", lambda a, b, c: dot(a, b, 8, True) + c, accumulates=True)
add("dot8c_i32_i4", "i32 u32 u32", lambda a, b, c: dot(a, b, 4, True) + c, accumulates=True)


def dot_halves(a: Array, a_high: Array, b: Array, b_high: Array, c: Array) -> Array:
    """ "MI300" ISA, V_DOT2_F32_F16: the low product is added first. That each sum is rounded is the text's ``+=`` on
    floats of 32 bits; the document names no accuracy."""
    return fused(a_high, b_high, single(fused(a, b, c)))


add("dot2_f32_f16", "f32 2f16 2f16 f32", dot_halves)
add("dot2c_f32_f16", "f32 2f16 2f16", dot_halves, accumulates=True)


def sads(a: Array, b: Array, masked: bool) -> list[Array]:
    """Of the bytes of b with those from byte 0, 1, 2 and 3 of a ("MI300" ISA, V_QSAD_PK_U16_U8)."""
    return [sad(((a >> np.uint64(8 * n)) & np.uint64(0xFFFFFFFF)).astype(np.int64), b, masked) for n in range(4)]


def sums(parts: list[Array], sums_before: list[Array], width: int, clamp: int) -> Array:
    """64 bits of sums of ``width`` bits each."""
    limit = (1 << width) - 1
    totals = [p + q for p, q in zip(parts, sums_before, strict=True)]
    fields = [(np.minimum(t, limit) if clamp else t & limit).astype(np.uint64) for t in totals]
    return np.bitwise_or.reduce([f << np.uint64(width * n) for n, f in enumerate(fields)])


def fields(x: Array, width: int) -> list[Array]:
    return [((x >> np.uint64(at)) & np.uint64((1 << width) - 1)).astype(np.int64) for at in range(0, 64, width)]


for _name, _masked in (("qsad_pk_u16_u8", False), ("mqsad_pk_u16_u8", True)):
    add(
        _name, "u64 u64 u32 u64 clamp",
        lambda a, b, c, clamp, masked=_masked: sums(sads(a, b, masked), fields(c, 16), 16, clamp),
    )  # fmt: skip
add(
    "mqsad_u32_u8", "u128 u64 u32 u128 clamp",
    lambda a, b, low, high, clamp: (
        sums(sads(a, b, True)[:2], fields(low, 32), 32, clamp), sums(sads(a, b, True)[2:], fields(high, 32), 32, clamp)
    ),
)  # fmt: skip


# ---- faces of a cube ("MI300" ISA, V_CUBEID_F32 to V_CUBEMA_F32) -----------------------------------------------------


def of_face(values: Callable[[Array, Array, Array], list[Array]]) -> Callable[[Array, Array, Array], Array]:
    """The value of the face that a direction meets: 0 to 5 are +x, -x, +y, -y, +z and -z."""

    def chosen(x: Array, y: Array, z: Array) -> Array:
        along_z = (np.abs(z) >= np.abs(x)) & (np.abs(z) >= np.abs(y))
        along_y = np.abs(y) >= np.abs(x)
        face = np.where(along_z, 4 + (z < 0), np.where(along_y, 2 + (y < 0), x < 0))
        return np.choose(face, values(x, y, z))

    return chosen


add("cubeid_f32", "f32 f32 f32 f32", of_face(lambda x, y, z: [np.full(x.shape, float(n)) for n in range(6)]))
add("cubesc_f32", "f32 f32 f32 f32", of_face(lambda x, y, z: [-z, z, x, x, x, -x]))
add("cubetc_f32", "f32 f32 f32 f32", of_face(lambda x, y, z: [-y, -y, z, -z, -y, -y]))
add("cubema_f32", "f32 f32 f32 f32", of_face(lambda x, y, z: [2 * x, 2 * x, 2 * y, 2 * y, 2 * z, 2 * z]))


# ---- division in steps -----------------------------------------------------------------------------------------------


class Format(NamedTuple):
    """Of floats: bits of the fraction, bias of the exponent, the distance of exponents from which a quotient is large,
    the exponent up to which a numerator is tiny, and the power of two of scaling."""

    fraction_bits: int
    bias: int
    far: int
    tiny: int
    scale: int


FORMATS: Final = {"f32": Format(23, 127, 96, 23, 64), "f64": Format(52, 1023, 768, 53, 128)}


def field_of(x: float, form: Format) -> int:
    """The exponent's field."""
    if not np.isfinite(x):
        return 2 * form.bias + 1
    return max(int(np.frexp(x)[1]) - 1 + form.bias, 0) if x else 0


def scaled_divisor(x: float, d: float, n: float, form: Format) -> tuple[float, bool]:
    """ "MI300" ISA, V_DIV_SCALE_F32, with the number 1/d and n/d would be; and the mask. x is d or n.

    Where both 1/d and n/d are denormal the text scales the denominator up, which may make it infinite: there the
    division of LLVM (SITargetLowering::LowerFDIV32) is right only if it is scaled down, which this does.
    """
    if d == 0 or n == 0:
        return float("nan"), False
    exponents = field_of(n, form) - field_of(d, form)
    up, down = np.ldexp(x, form.scale), np.ldexp(x, -form.scale)
    if exponents >= form.far:
        return (float(up) if x == d else x), True
    if field_of(d, form) == 0:
        return float(up), False
    least_normal = Fraction(2) ** (1 - form.bias)
    finite = np.isfinite(d) and np.isfinite(n)
    low_inverse = bool(np.isfinite(d)) and 1 / abs(Fraction(d)) < least_normal
    low_quotient = finite and abs(Fraction(n) / Fraction(d)) < least_normal
    if low_inverse and low_quotient:
        return (float(down) if x == d else x), True
    if low_inverse:
        return float(down), False
    if low_quotient:
        return (float(up) if x == n else x), True
    return (float(up) if field_of(n, form) <= form.tiny else x), False


def fixed_up(q: Array, d: Array, n: Array) -> Array:
    """ "MI300" ISA, V_DIV_FIXUP_F32."""
    negative = np.signbit(d) ^ np.signbit(n)
    size = np.select(
        [np.isnan(n) | np.isnan(d), (n == 0) & (d == 0) | np.isinf(n) & np.isinf(d), (d == 0) | np.isinf(n)],
        [np.nan, np.nan, np.inf], np.where(np.isinf(d) | (n == 0), 0.0, np.abs(q)),
    )  # fmt: skip
    return np.where(negative, -size, size)


def fused_scaled(a: Array, b: Array, c: Array, mask: Array, form: Format, sum_of: Callable[..., Array]) -> Array:
    """a × b + c, times 2^±scale where the mask says: up if c is 2 or more. AMD's documents say 2^32 (2^64 for f64)
    for every c, by which no scaled division comes out; this is what the division of LLVM needs. A sum that is too
    large stays infinite; a denormal result is rounded once."""
    power = np.where(np.abs(c) >= 2, form.scale, -form.scale)
    plain = sum_of(a, b, c, 0 * power)
    large = np.abs(plain) >= (2 - 2.0 ** -(form.fraction_bits + 1)) * 2.0**form.bias
    return np.where(mask & ~large, sum_of(a, b, c, power), np.where(mask, np.copysign(np.inf, plain), plain))


def fused_double_scaled(a: Array, b: Array, c: Array, power: Array) -> Array:
    """(a × b + c) × 2^power rounded once to float64."""
    result = np.ldexp(a * b + c, power)
    for lane in np.flatnonzero(np.isfinite(a) & np.isfinite(b) & np.isfinite(c)):
        exact = (Fraction(a[lane]) * Fraction(b[lane]) + Fraction(c[lane])) * Fraction(2) ** int(power[lane])
        if exact:
            try:
                result[lane] = float(exact)
            except OverflowError:
                result[lane] = np.copysign(np.inf, float(np.sign(exact.numerator)))
    return result


for _t, _form in FORMATS.items():
    _lanes = np.vectorize(lambda x, d, n, form=_form: scaled_divisor(x, d, n, form), otypes=[float, bool])
    add(
        f"div_scale_{_t}", f"{_t} {_t} {_t} {_t}", lambda x, d, n, f=_lanes: f(x, d, n)[0],
        carry=lambda x, d, n, f=_lanes: f(x, d, n)[1], settled=lambda x, d, n: (x == d) | (x == n),
    )  # fmt: skip
    # Where the quotient is below every number the document says "underflow", which is no number. By its text a NaN
    # stays one; but the division of LLVM gets one from numbers whose quotient is too large, and has to give infinity.
    add(
        f"div_fixup_{_t}", f"{_t} {_t} {_t} {_t}", fixed_up,
        settled=lambda q, d, n, least=-_form.bias - _form.fraction_bits: ~(
            np.isnan(q) | np.isfinite(n) & np.isfinite(d) & (n != 0) & (np.frexp(n)[1] - np.frexp(d)[1] < least + 2)
        ),
    )  # fmt: skip
_f32, _f64 = FORMATS.values()
add(
    "div_fmas_f32", "f32 f32 f32 f32 vcc",
    lambda a, b, c, m: fused_scaled(a, b, c, m, _f32, lambda a, b, c, power: np.ldexp(fused(a, b, c), power)),
)  # fmt: skip
add("div_fmas_f64", "f64 f64 f64 f64 vcc", lambda a, b, c, m: fused_scaled(a, b, c, m, _f64, fused_double_scaled))
add("div_fixup_f16 div_fixup_legacy_f16", "f16 f16 f16 f16", fixed_up)


def two_over_pi(size: int) -> int:
    """⌊2/π × 2^size⌋, by Machin's formula."""
    unit = 1 << (size + 64)

    def inverse_tangent(of: int) -> int:
        total, term, n = 0, unit // of, 0
        while term:
            total += (-1) ** n * (term // (2 * n + 1))
            term, n = term // (of * of), n + 1
        return total

    pi = 4 * (4 * inverse_tangent(5) - inverse_tangent(239))
    return (2 * unit << size) // pi


def preop(x: Array, segment: Array) -> Array:
    """ "MI300" ISA, V_TRIG_PREOP_F64: 53 bits of the 1201 of 2/π."""
    digits, result = two_over_pi(1201), []
    for v, s in zip(x, segment, strict=True):
        power = field_of(float(v), FORMATS["f64"])
        shift = (int(s) & 31) * 53 + max(power - 1077, 0)
        part = ((digits << shift) >> (1201 - 53)) & ((1 << 53) - 1)
        result.append(np.ldexp(float(part), -53 - shift + (128 if power >= 1968 else 0)))
    return np.array(result)


add("trig_preop_f64", "f64 f64 u32", preop)


# ---- floats of eight bits --------------------------------------------------------------------------------------------
# "MI300" ISA, "Data formats" (FP8 and BF8: no infinities, one NaN, code 0x80) and the conversions' texts.


def value_of(code: int, fraction_bits: int, bias: int) -> float:
    if code == 0x80:
        return float("nan")
    power, rest = (code & 127) >> fraction_bits, code & ((1 << fraction_bits) - 1)
    size = np.ldexp(rest, 1 - bias - fraction_bits)
    if power:
        size = np.ldexp((1 << fraction_bits) + rest, power - bias - fraction_bits)
    return float(-size if code & 128 else size)


def eight_bits(x: Array, fraction_bits: int, bias: int, random: Array | None = None) -> Array:
    """The code of each: nearest, of two as near the even one; or the next away from zero if the bits that are cut off
    and as many of ``random``'s upper ones have a carry. Too large a number and infinity are NaN: FP16_OVFL is 0."""
    power = np.where(x == 0, 1 - bias, np.maximum(np.frexp(x)[1] - 1, 1 - bias))
    places = np.ldexp(np.abs(x), fraction_bits - power)
    steps = np.rint(places)
    if random is not None:
        cut = 23 - fraction_bits
        steps = np.floor(places + np.ldexp((random >> (32 - cut)).astype(float), -cut))
    size = np.where(np.isfinite(x), steps + np.ldexp((power + bias - 1).astype(float), fraction_bits), np.inf)
    code = np.where(size > 127, 0x80, np.minimum(size, 127)).astype(np.int64)
    return np.where((code == 0) | (code == 0x80), code, code | np.where(np.signbit(x), 128, 0))


for _t, _m, _bias in (("fp8", 3, 8), ("bf8", 2, 16)):
    _values = np.array([value_of(code, _m, _bias) for code in range(256)])
    add(f"cvt_f32_{_t}", "f32 u32", lambda x, v=_values: v[byte(x, 0)])
    add(
        f"cvt_pk_f32_{_t}", "2f32 u32",
        lambda x, v=_values: sum(
            v[byte(x, n)].astype(np.float32).view(np.uint32).astype(np.uint64) << np.uint64(32 * n) for n in range(2)
        ),
    )  # fmt: skip
    add(
        f"cvt_pk_{_t}_f32", "u16 f32 f32",
        lambda a, b, m=_m, bias=_bias: eight_bits(a, m, bias) | eight_bits(b, m, bias) << 8,
    )  # fmt: skip
    # The text adds the random bits to the fraction of the float ("wrap around on overflow") and converts to nearest;
    # of numbers that become denormal it does not say at which place the bits are added.
    add(
        f"cvt_sr_{_t}_f32", "b8 f32 u32",
        lambda x, random, m=_m, bias=_bias: eight_bits(x, m, bias, random),
        settled=lambda x, _, bias=_bias: ~(np.abs(x) < 2.0 ** (1 - bias)) | (x == 0),
    )  # fmt: skip
