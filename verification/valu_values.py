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
    denormals, if something inside is flushed, too."""

    types: tuple[str, ...]
    compute: Callable[..., Array]
    approximate: int = 0
    accumulates: bool = False
    flushing: Callable[..., Array] | None = None


OPERATIONS: Final[dict[str, Operation]] = {}


def add(
    names: str,
    types: str,
    compute: Callable[..., Array],
    approximate: int = 0,
    accumulates: bool = False,
    flushing: Callable[..., Array] | None = None,
) -> None:
    """Enter operations (with spaces between their names), of ``types`` (the result's first)."""
    for name in names.split():
        OPERATIONS[name] = Operation(tuple(types.split()), compute, approximate, accumulates, flushing)


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
    """Of floats; the smallest number if one is a NaN."""
    nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    return np.where(nan, least(least(a, b), c), most(least(a, b), least(most(a, b), c)))


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


def classes(x: Array, denormal_below: float) -> Array:
    """The bit of v_cmp_class for each: 0, 1 NaN; 2 -inf; 3 -normal; 4 -denormal; 5 -0; 6 0; … 9 inf."""
    size = np.abs(x)
    kind = np.select([np.isinf(x), size >= denormal_below, size > 0], [9, 8, 7], 6)
    return np.where(np.isnan(x), 1, np.where(np.signbit(x), 11 - kind, kind))


# ---- operations ------------------------------------------------------------------------------------------------------

for _t, _round, _last, _tiny in (
    ("f16", half, 1 - 2.0**-11, 2.0**-14),
    ("f32", single, float(np.nextafter(np.float32(1), np.float32(0))), 2.0**-126),
    ("f64", lambda x: x, float(np.nextafter(1.0, 0.0)), 2.0**-1022),
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
        f"cmp_class_{_t} cmpx_class_{_t}", f"mask {_t} {'h16' if _t == 'f16' else 'u32'}",
        lambda x, mask, tiny=_tiny: (mask >> classes(x, tiny)) & 1 != 0,
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
add("sin_f16", "f16 f16", lambda x: np.where(np.abs(x) > 256, 0.0, np.sin(2 * np.pi * x)), 4)  # out of range: 0
add("cos_f16", "f16 f16", lambda x: np.where(np.abs(x) > 256, 1.0, np.cos(2 * np.pi * x)), 4)  # out of range: 1
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
add("add_co_u32", "u32 u32 u32", lambda a, b: a + b)
add("sub_co_u32", "u32 u32 u32", lambda a, b: a - b)
add("subrev_co_u32", "u32 u32 u32", lambda a, b: b - a)
add("mad_u64_u32", "u64 u32 u32 u64", lambda a, b, c: a.astype(np.uint64) * b.astype(np.uint64) + c)
add("mad_i64_i32", "u64 i32 i32 u64", lambda a, b, c: (a * b).view(np.uint64) + c)
add("pack_b32_f16", "u32 f16 f16", lambda a, b: pair(half_bits(a), half_bits(b)))
add("dot2_i32_i16", "i32 u32 u32 i32", lambda a, b, c: dot(a, b, 16, True) + c)
add("dot2_u32_u16", "u32 u32 u32 u32", lambda a, b, c: dot(a, b, 16, False) + c)
add("dot4_i32_i8", "i32 u32 u32 i32", lambda a, b, c: dot(a, b, 8, True) + c)
add("dot4_u32_u8", "u32 u32 u32 u32", lambda a, b, c: dot(a, b, 8, False) + c)
add("dot8_i32_i4", "i32 u32 u32 i32", lambda a, b, c: dot(a, b, 4, True) + c)
add("dot8_u32_u4", "u32 u32 u32 u32", lambda a, b, c: dot(a, b, 4, False) + c)
