"""Functions of the semantics language that are written in it. Input: names. Output: their definitions as Python syntax
trees.

A parameter without a type takes that of the first typed argument. ``@raw`` functions keep denormals and
round to nearest, whatever MODE says. A call ``f(x)`` finds ``f_u`` or ``f_i`` where there is no ``f``, by the kind of
the first typed argument.

What the hardware only approximates (rcp, rsq, sqrt: AMD documents one unit in the last place, 2²⁹ units for f64) is
rounded correctly here; v_exp, v_log, v_sin and v_cos are the polynomials below, within two units (tests/emulate hold
them to that). Their coefficients are minimax fits, made for this file.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

_GENERAL = '''
# ---- integers

def bit_field_u(x, offset: u32, width: u32):
    return (x >> offset) & ((1 << width) - 1)

def bit_field_i(x, offset: u32, width: u32):
    field = (x >> offset) & ((1 << width) - 1)
    return (field ^ (1 << (width - 1))) - (1 << (width - 1))

def byte(x, n: u32):
    return u32((x >> (n << 3)) & 255)

def mul_high_u(a: u32, b: u32):
    return u32((u64(a) * u64(b)) >> 32)

def mul_high_i(a: i32, b: i32):
    return i32((i64(a) * i64(b)) >> 32)

def low_24_i(x: i32):
    return (x << 8) >> 8

def median(a, b, c):
    return max(min(a, b), min(max(a, b), c))

def distance(a, b):
    return max(a, b) - min(a, b)

def saturate_i32(x: i64):
    return i32(min(max(x, -2147483648), 2147483647))

def saturate_u32(x: u64):
    return u32(min(x, 4294967295))

def sum_u32(a: u32, b: u32, limited: u1):
    """a + b, of which ``limited`` keeps the largest number if it is too large."""
    sum = a + b
    return 4294967295 if limited and sum < a else sum

def sum_u16(a: u32, b: u32, limited: u1):
    sum = a + b
    return u16(65535) if limited and sum > 65535 else u16(sum)

def sign_run_i(x):
    other = x ^ (x >> 63)
    return -1 if other == 0 else i32(clz(other))

def sad_bytes(a: u32, b: u32):
    near = distance(byte(a, 0), byte(b, 0)) + distance(byte(a, 1), byte(b, 1))
    return near + distance(byte(a, 2), byte(b, 2)) + distance(byte(a, 3), byte(b, 3))

def masked_distance(a: u32, b: u32):
    return 0 if b == 0 else distance(a, b)

def masked_sad_bytes(a: u32, b: u32):
    near = masked_distance(byte(a, 0), byte(b, 0)) + masked_distance(byte(a, 1), byte(b, 1))
    return near + masked_distance(byte(a, 2), byte(b, 2)) + masked_distance(byte(a, 3), byte(b, 3))

def lerp_byte(a: u32, b: u32, c: u32, n: u32):
    return ((byte(a, n) + byte(b, n) + (byte(c, n) & 1)) >> 1) << (n << 3)

def lerp_bytes(a: u32, b: u32, c: u32):
    return lerp_byte(a, b, c, 0) | lerp_byte(a, b, c, 1) | lerp_byte(a, b, c, 2) | lerp_byte(a, b, c, 3)

def permuted_byte(data: u64, selector: u32):
    plain = u32(data >> ((selector & 7) << 3)) & 255
    sign = 255 if (u32(data >> (((selector & 3) << 4) + 15)) & 1) != 0 else 0
    special = sign if selector < 12 else (0 if selector == 12 else 255)
    return u8(plain if selector < 8 else special)

def put_byte(x: u32, value: u32, n: u32):
    at = (n & 3) << 3
    return (x & ~(255 << at)) | (value << at)

def dot4_i8(a: u32, b: u32):
    x = i32(i8(a)) * i32(i8(b)) + i32(i8(a >> 8)) * i32(i8(b >> 8))
    return x + i32(i8(a >> 16)) * i32(i8(b >> 16)) + i32(i8(a >> 24)) * i32(i8(b >> 24))

def dot4_u8(a: u32, b: u32):
    return byte(a, 0) * byte(b, 0) + byte(a, 1) * byte(b, 1) + byte(a, 2) * byte(b, 2) + byte(a, 3) * byte(b, 3)

def nibble_product_i(a: i32, b: i32, n: u32):
    return bit_field(a, n, 4) * bit_field(b, n, 4)

def dot8_i4(a: i32, b: i32):
    x = nibble_product_i(a, b, 0) + nibble_product_i(a, b, 4) + nibble_product_i(a, b, 8)
    y = nibble_product_i(a, b, 12) + nibble_product_i(a, b, 16) + nibble_product_i(a, b, 20)
    return x + y + nibble_product_i(a, b, 24) + nibble_product_i(a, b, 28)

def nibble_product_u(a: u32, b: u32, n: u32):
    return bit_field(a, n, 4) * bit_field(b, n, 4)

def dot8_u4(a: u32, b: u32):
    x = nibble_product_u(a, b, 0) + nibble_product_u(a, b, 4) + nibble_product_u(a, b, 8)
    y = nibble_product_u(a, b, 12) + nibble_product_u(a, b, 16) + nibble_product_u(a, b, 20)
    return x + y + nibble_product_u(a, b, 24) + nibble_product_u(a, b, 28)

def any_in_quads(x):
    pairs = x | (x >> 1)
    return (pairs | (pairs >> 2)) & 1229782938247303441

def whole_quads_u32(x: u32):
    return u32(any_in_quads(u64(x))) * 15

def whole_quads_u64(x: u64):
    return any_in_quads(x) * 15

def quad_mask(x: u64):
    a = any_in_quads(x)
    b = (a | (a >> 3)) & 217020518514230019
    c = (b | (b >> 6)) & 4222189076152335
    d = (c | (c >> 12)) & 1095216660735
    return (d | (d >> 24)) & 65535

def replicate_bits(x: u32):
    a = u64(x)
    b = (a | (a << 16)) & 281470681808895
    c = (b | (b << 8)) & 71777214294589695
    d = (c | (c << 4)) & 1085102592571150095
    e = (d | (d << 2)) & 3689348814741910323
    f = (e | (e << 1)) & 6148914691236517205
    return f | (f << 1)

# ---- floats

def mad(a: f32, b: f32, c: f32):
    """v_mad_f32 rounds twice and never keeps denormals (LLVM, User Guide for AMDGPU Backend, on v_mad_f32)."""
    return flush(flush(flush(a) * flush(b)) + flush(c))

def mul_legacy(a: f32, b: f32):
    return 0.0 if (a == 0.0) | (b == 0.0) else a * b

def mul_lit(a: f32, b: f32, c: f32):
    lowest = as_f32(u32(0xFF7FFFFF))
    return lowest if isnan(b) | isnan(c) | (b <= lowest) | (c <= 0.0) else mul_legacy(a, b)

def median_float(a, b, c):
    """The larger of the two that are left without the first that equals the largest: of -0, 0 and 0 it may be either
    zero. With a NaN the least of the others (AMD, "CDNA3" ISA Reference Guide, V_MED3_F32)."""
    least = min(min(a, b), c)
    largest = max(max(a, b), c)
    middle = max(b, c) if largest == a else (max(a, c) if largest == b else max(a, b))
    return least if isnan(a) | isnan(b) | isnan(c) else middle

def clamped_half(x: u16, clamp: u1, dx10: u1):
    """The bits of an f16, which ``clamp`` limits to 0 to 1; a NaN becomes 0 if ``dx10``."""
    nan = (x & 0x7FFF) > 0x7C00
    inside = 0 if nan or x > 0x7FFF else min(x, 0x3C00)
    return x if not clamp or (nan and not dx10) else inside

@raw
def recip(x):
    return 1.0 / x

@raw
def recip_sqrt(x):
    return 1.0 / sqrt(x)

@raw
def square_root(x):
    return sqrt(x)

def small_code(code: u32, bits: u32, limited: u1):
    """A code of seven bits with the sign of a float's bits. What is too large, infinity as well, is NaN, or the largest
    number if ``limited``, as with FP16_OVFL (ROCm/rocm-systems, rocjitsu, data_types.h)."""
    large = (bits & 0x7FFFFFFF) >= 0x7F800000 or code > 127
    size = 127 if large else code
    nothing = (bits & 0x7FFFFFFF) > 0x7F800000 or (large and not limited)
    return 128 if nothing else (0 if size == 0 else size | ((bits >> 24) & 128))

@raw
def sum_bf16(a: u32, b: u32):
    sum = as_u32(as_f32(a << 16) + as_f32(b << 16))
    rounded = (sum + 0x7FFF + ((sum >> 16) & 1)) >> 16
    return (sum >> 16) | 64 if (sum & 0x7FFFFFFF) > 0x7F800000 else rounded

def sum_f16(a: u32, b: u32):
    sum = as_u16(as_f16(u16(a)) + as_f16(u16(b)))
    second = u16(b | 0x200) if (b & 0x7FFF) > 0x7C00 else sum
    return u16(a | 0x200) if (a & 0x7FFF) > 0x7C00 else second

def sum_f16_pair(a: u32, b: u32):
    return concat(sum_f16(a, b), sum_f16(a >> 16, b >> 16))

def sum_bf16_pair(a: u32, b: u32):
    return (sum_bf16(a & 65535, b & 65535) & 65535) | (sum_bf16(a >> 16, b >> 16) << 16)

@raw
def infinite_to_zero(x: f32):
    return as_f32(as_u32(x) & 0x80000000) if (as_u32(x) & 0x7FFFFFFF) == 0x7F800000 else x

@raw
def exp2_f32(x: f32):
    """2ˣ for results that are normal; smaller ones may be rounded twice, which v_exp_f32 flushes."""
    y = -160.0 if x < -160.0 else (160.0 if x > 160.0 else x)
    n = rint(y)
    r = y - n
    p = fma(r, 0.00015453163359779865, 0.0013390863314270973)
    q = fma(r, fma(r, fma(r, p, 0.009618083015084267), 0.055503569543361664), 0.24022650718688965)
    value = fma(r, fma(r, q, 0.6931471824645996), 1.0)
    k = sat_i32(n)
    half = k >> 1
    return value * as_f32((half + 127) << 23) * as_f32((k - half + 127) << 23)

@raw
def log2_f32(x: f32):
    """log₂ x, for an x that is no denormal."""
    bits = as_i32(x)
    e = (bits - 0x3F3504F3) >> 23
    t = as_f32(bits - (e << 23)) - 1.0
    a = fma(t, -0.11070724576711655, 0.18354937434196472)
    b = fma(t, fma(t, fma(t, a, -0.18939059972763062), 0.20493274927139282), -0.2398717850446701)
    c = fma(t, fma(t, fma(t, b, 0.2885568141937256), -0.3606850206851959), 0.48089829087257385)
    d = t * t * fma(t, c, -0.7213475108146667)
    tail = fma(t, 1.925963033500011e-08, d)
    value = f32(e) + fma(t, 1.4426950216293335, tail)
    infinite = as_f32(u32(0x7F800000))
    positive = x if (x == infinite) | isnan(x) else value
    return -infinite if x == 0.0 else (as_f32(u32(0x7FC00000)) if x < 0.0 else positive)

@raw
def quarter_turn(x: f32):
    """What is left of x after the nearest quarter of a turn."""
    return fma(rint(x * 4.0), -0.25, x)

@raw
def sin_near(r: f32):
    z = r * r
    p = fma(z, fma(z, fma(z, 41.589542388916016, -76.70128631591797), 81.60523223876953), -41.34170150756836)
    return fma(r, 6.2831854820251465, r * fma(z, p, -1.7484555314695172e-07))

@raw
def cos_near(r: f32):
    z = r * r
    p = fma(z, fma(z, fma(z, 59.42410659790039, -85.44882202148438), 64.93936920166016), -19.739208221435547)
    return fma(z, p, 1.0)

@raw
def sin_turns(x: f32):
    """sin 2πx; 0 beyond ±256 (AMD, "Graphics Core Next Architecture, Generation 3" ISA, V_SIN_F32)."""
    quarter = sat_i32(rint(x * 4.0))
    r = quarter_turn(x)
    value = sin_near(r) if (quarter & 1) == 0 else cos_near(r)
    return 0.0 if abs(x) > 256.0 else (value if (quarter & 2) == 0 else -value)

@raw
def cos_turns(x: f32):
    """cos 2πx; 1 beyond ±256."""
    quarter = sat_i32(rint(x * 4.0))
    r = quarter_turn(x)
    value = cos_near(r) if (quarter & 1) == 0 else sin_near(r)
    return 1.0 if abs(x) > 256.0 else (value if ((quarter + 1) & 2) == 0 else -value)

# From gfx9 on every x is in range; the sine and the cosine of infinities are NaN, zeros positive, and the sine of -0 is
# -0 (AMD, "CDNA3" ISA Reference Guide, V_SIN_F32 and V_COS_F32; LLVM relies on it: SITargetLowering::LowerTrig).

@raw
def within_turn(x: f32):
    """x without whole turns, exactly; NaN for infinities."""
    return x if abs(x) < 1.0 else x - trunc(x)

@raw
def sin_all_turns(x: f32):
    return x if x == 0.0 else sin_turns(within_turn(x)) + 0.0

@raw
def cos_all_turns(x: f32):
    return cos_turns(within_turn(x)) + 0.0

@raw
def norm_i16(x: f32):
    inside = -1.0 if x < -1.0 else (1.0 if x > 1.0 else x)
    return sat_i16(rint(inside * 32767.0))

@raw
def norm_u16(x: f32):
    inside = 0.0 if x < 0.0 else (1.0 if x > 1.0 else x)
    return sat_u16(rint(inside * 65535.0))

def to_byte(x: f32):
    return min(sat_u32(rint(x)), 255)

# Faces of a cube: 0 and 1 along x, 2 and 3 along y, 4 and 5 along z.

def along_z(x: f32, y: f32, z: f32):
    return (abs(z) >= abs(x)) & (abs(z) >= abs(y))

def cube_id(x: f32, y: f32, z: f32):
    across = (3.0 if y < 0.0 else 2.0) if abs(y) >= abs(x) else (1.0 if x < 0.0 else 0.0)
    return (5.0 if z < 0.0 else 4.0) if along_z(x, y, z) else across

def cube_sc(x: f32, y: f32, z: f32):
    across = x if abs(y) >= abs(x) else (z if x < 0.0 else -z)
    return (-x if z < 0.0 else x) if along_z(x, y, z) else across

def cube_tc(x: f32, y: f32, z: f32):
    across = (-z if y < 0.0 else z) if abs(y) >= abs(x) else -y
    return -y if along_z(x, y, z) else across

def cube_ma(x: f32, y: f32, z: f32):
    across = y if abs(y) >= abs(x) else x
    return (z if along_z(x, y, z) else across) * 2.0

@raw
def trig_preop(x: f64, segment: u32):
    """53 bits of 2/π, where the segment and an x too large for the first of them say (AMD, Vega ISA Reference Guide,
    V_TRIG_PREOP_F64)."""
    exponent = u32(as_u64(x) >> 52) & 0x7FF
    shift = (segment & 31) * 53 + (exponent - 1077 if exponent > 1077 else 0)
    scale = -53 - as_i32(shift) + (128 if exponent >= 1968 else 0)
    return ldexp(f64(two_over_pi(shift)), scale)
'''

# For each float type: {T} its name, {U} its bits' type, {W} its width, {M} bits of the mantissa, {E} the largest
# exponent field, {B} the exponent's bias, {LOW} the bits but the sign, {ONE} the number just below 1; {UNDER}: a
# quotient's exponent from which on it is 0, {OVER}: whether one that is no number was too large.
_OF_FLOATS = '''
@raw
def finite_{T}(x: {T}):
    largest = as_{T}(({U}({E}) << {M}) - 1)
    return largest if x > largest else (-largest if x < -largest else x)

@raw
def fract_{T}(x: {T}):
    """x − ⌊x⌋, below 1 also where rounding would make it 1."""
    part = x - floor(x)
    return as_{T}({U}({ONE})) if part >= 1.0 else part

def exponent_{T}(x: {T}):
    return i32((as_{U}(x) >> {M}) & {E})

def frexp_exp_{T}(x: {T}):
    size = as_{U}(abs(x))
    field = exponent_{T}(x)
    small = {W} - i32(clz(size)) - ({B} - 1 + {M})
    return 0 if (size == 0) | (field == {E}) else (small if field == 0 else field - ({B} - 1))

def frexp_mant_{T}(x: {T}):
    """In [½, 1), the sign kept; zeros, infinities and NaNs as they are (NaNs quiet)."""
    size = as_{U}(abs(x))
    field = exponent_{T}(x)
    fraction = size << (clz(size) - ({W} - 1 - {M})) if field == 0 else size
    sign = as_{U}(x) & ~{LOW}
    mantissa = as_{T}(sign | ({U}({B} - 1) << {M}) | (fraction & ((1 << {M}) - 1)))
    return quiet(x) if (size == 0) | (field == {E}) else mantissa

def class_{T}(x: {T}, mask: u32):
    size = as_{U}(abs(x))
    infinite = {U}({E}) << {M}
    normal = size >= {U}(1) << {M}
    number = (3 if size == 0 else (2 if not normal else 1)) if size < infinite else 0
    negative = (as_{U}(x) & ~{LOW}) != 0
    rank = 2 + number if negative else 9 - number
    loud = 1 if (as_{U}(x) & ({U}(1) << ({M} - 1))) != 0 else 0
    return ((mask >> (u32(loud) if size > infinite else u32(rank))) & 1) != 0

def div_fixup_{T}(quotient: {T}, denominator: {T}, numerator: {T}):
    """The quotient with the sign and the special cases of numerator / denominator.

    Steps of a division that overflows end in a NaN, which stands for infinity here.
    """
    sign = (as_{U}(numerator) ^ as_{U}(denominator)) & ~{LOW}
    n = as_{U}(abs(numerator))
    d = as_{U}(abs(denominator))
    infinite = {U}({E}) << {M}
    nan = infinite | ({U}(1) << ({M} - 1)) | ~{LOW}
    invalid = ((n == 0) & (d == 0)) | ((n == infinite) & (d == infinite))
    huge = (d == 0) | (n == infinite)
    tiny = (d == infinite) | (n == 0)
    gap = exponent_{T}(numerator) - exponent_{T}(denominator)
    over = as_{U}(abs(quotient)) | sign
    plain = sign if gap < {UNDER} else (sign | infinite if isnan(quotient) & {OVER} else over)
    special = sign | infinite if huge else (sign if tiny else plain)
    result = as_{T}(nan if invalid else special)
    return quiet(numerator) if isnan(numerator) else (quiet(denominator) if isnan(denominator) else result)
'''

# Floats of eight bits without infinities, whose negative zero is the one NaN (LLVM, APFloat.h, Float8E4M3FNUZ and
# Float8E5M2FNUZ): {T} the name, {S} the bits of an f32's fraction beyond theirs. Numbers below {LEAST} (bits of an f32)
# are denormal: added to {ROUND} their last place is that of the sum; {WHOLE} makes it bit {S} of an integer. For random
# rounding as many of S1's upper bits are added as are cut off then (AMD, "CDNA3" ISA Reference Guide, V_CVT_SR_FP8_F32
# and V_CVT_SR_BF8_F32).
_OF_SMALL_FLOATS = """
@raw
def f32_of_{T}(x: u32):
    value = as_u32(as_f32((x & 127) << {S}) * {SCALE}) | ((x & 128) << 24)
    return as_f32(u32(0x7FC00000) if x == 128 else value)

@raw
def {T}_of_f32(x: f32, limited: u1):
    size = as_u32(x) & 0x7FFFFFFF
    tiny = as_u32(as_f32(size) + {ROUND}) - {ROUND_BITS}
    code = ((size + ((1 << ({S} - 1)) - 1) + ((size >> {S}) & 1)) >> {S}) - {LESS}
    return small_code(tiny if size < {LEAST} else code, as_u32(x), limited)

@raw
def {T}_of_f32_random(x: f32, random: u32, limited: u1):
    size = as_u32(x) & 0x7FFFFFFF
    tiny = sat_u32(as_f32(size if size < {LEAST} else 0) * {WHOLE}) + (random >> (32 - {S}))
    code = ((size + (random >> (32 - {S}))) >> {S}) - {LESS}
    return small_code(tiny >> {S} if size < {LEAST} else code, as_u32(x), limited)
"""

# Division in steps: {NEAR} exponents apart are too many, {LOST} is the exponent below which a numerator loses
# bits, {UP} what numbers are scaled by (AMD, Vega ISA Reference Guide, V_DIV_SCALE_F32 and V_DIV_SCALE_F64).
_OF_DIVISION = '''
def reciprocal_denormal_{T}(x: {T}):
    size = as_{U}(abs(x))
    return (size > ({U}({E} - 2) << {M})) & (size < ({U}({E}) << {M}))

@raw
def quotient_denormal_{T}(numerator: {T}, denominator: {T}):
    """Of a normal denominator, whether the quotient is below all normal numbers."""
    tiny = denormal_{T}(numerator)
    normal = ldexp(numerator, {UP}) if tiny else numerator
    gap = exponent_{T}(normal) - exponent_{T}(denominator) - (i32({UP}) if tiny else 0)
    low = ({U}(1) << {M}) - 1
    less = (as_{U}(normal) & low) < (as_{U}(denominator) & low)
    finite = exponent_{T}(denominator) < {E}
    return finite & ((gap < 1 - {B}) | ((gap == 1 - {B}) & less))

def far_apart_{T}(numerator: {T}, denominator: {T}):
    return exponent_{T}(numerator) - exponent_{T}(denominator) >= {NEAR}

@raw
def zero_in_{T}(denominator: {T}, numerator: {T}):
    return (denominator == 0.0) | (numerator == 0.0)

def denormal_{T}(x: {T}):
    return (exponent_{T}(x) == 0) & (as_{U}(abs(x)) != 0)

@raw
def div_scaled_{T}(denominator: {T}, numerator: {T}):
    """Whether v_div_fmas has to undo a scaling."""
    lost = quotient_denormal_{T}(numerator, denominator)
    scaled = far_apart_{T}(numerator, denominator) | ((not denormal_{T}(denominator)) & lost)
    return (not zero_in_{T}(denominator, numerator)) & scaled

@raw
def div_scale_{T}(x: {T}, denominator: {T}, numerator: {T}):
    """x, which is the denominator or the numerator, scaled so that no step of the division loses bits.

    Where quotient and reciprocal are both denormal AMD's text scales the denominator up, by which it may become
    infinite; the division comes out right if it is scaled down.
    """
    up = ldexp(x, {UP})
    is_denominator = as_{U}(x) == as_{U}(denominator)
    is_numerator = as_{U}(x) == as_{U}(numerator)
    below = quotient_denormal_{T}(numerator, denominator)
    above = reciprocal_denormal_{T}(denominator)
    small = up if exponent_{T}(numerator) <= {LOST} else x
    low = (up if is_numerator else x) if below else small
    down = ldexp(x, -{UP})
    high = ((down if is_denominator else x) if below else down) if above else low
    usual = up if denormal_{T}(denominator) else high
    result = (up if is_denominator else x) if far_apart_{T}(numerator, denominator) else usual
    nan = as_{T}(({U}({E}) << {M}) | ({U}(1) << ({M} - 1)))
    return nan if zero_in_{T}(denominator, numerator) else result

@raw
def div_fmas_{T}(a: {T}, b: {T}, c: {T}):
    """a·b + c scaled back, as if rounded once: a denormal in the middle of two is decided by what fma rounded off."""
    near = fma(a, b, c)
    error = fma(a, b, c - near)
    power = i32({UP}) if exponent_{T}(c) > {B} else i32(-{UP})
    scaled = ldexp(near, power)
    rest = near - ldexp(scaled, 0 - power)
    further = ((rest > 0.0) & (error > 0.0)) | ((rest < 0.0) & (error < 0.0))
    outward = (as_{U}(near) ^ as_{U}(rest)) <= {LOW}
    other = as_{T}(as_{U}(scaled) + 1 if outward else as_{U}(scaled) - 1)
    return other if further & (abs(rest) == as_{T}({U}({HALF}))) else scaled
'''

_FORMATS = (
    {"T": "f16", "U": "u16", "W": 16, "M": 10, "E": 31, "B": 15, "ONE": 0x3BFF, "LOW": 0x7FFF}
    | {"UNDER": -99, "OVER": False},
    {"T": "f32", "U": "u32", "W": 32, "M": 23, "E": 255, "B": 127, "ONE": 0x3F7FFFFF, "LOW": 0x7FFFFFFF}
    | {"UNDER": -150, "OVER": True},
    {"T": "f64", "U": "u64", "W": 64, "M": 52, "E": 2047, "B": 1023, "ONE": (1022 << 52) + (1 << 52) - 1}
    | {"LOW": (1 << 63) - 1, "UNDER": -1075, "OVER": True},
)
# {HALF}: bits of half the smallest denormal, scaled up.
_DIVISIONS = {
    "f32": {"NEAR": 96, "LOST": 23, "UP": 64, "HALF": (127 - 150 + 64) << 23},
    "f64": {"NEAR": 768, "LOST": 53, "UP": 128, "HALF": (1023 - 1075 + 128) << 52},
}


def _small_float(name: str, fraction_bits: int, bias: int) -> dict[str, object]:
    more, place = 23 - fraction_bits, bias - 1 + fraction_bits
    return {"T": name, "S": more, "LESS": (127 - bias) << fraction_bits, "LEAST": (128 - bias) << 23} | {
        "SCALE": 2.0 ** (127 - bias),
        "ROUND": 2.0 ** (23 - place),
        "ROUND_BITS": (150 - place) << 23,
        "WHOLE": 2.0 ** (more + place),
    }


_SMALL_FLOATS = _small_float("fp8", 3, 8), _small_float("bf8", 2, 16)


_FUNCTION = re.compile(r"^(?:@raw\n)?def (\w+)\(.*\n(?: .*\n|\n)*", re.MULTILINE)


def _filled(template: str, values: dict[str, object]) -> str:
    for name, value in values.items():
        template = template.replace("{" + name + "}", str(value))
    return template


@lru_cache(maxsize=1)
def _texts() -> dict[str, str]:
    """Each function's text by its name."""
    text = _GENERAL
    for values in _FORMATS:
        text += _filled(_OF_FLOATS, values)
        if values["T"] in _DIVISIONS:
            text += _filled(_OF_DIVISION, values | _DIVISIONS[str(values["T"])])
    for small in _SMALL_FLOATS:
        text += _filled(_OF_SMALL_FLOATS, small)
    return {m[1]: m[0] for m in _FUNCTION.finditer(text)}


@lru_cache(maxsize=256)
def _parsed(name: str) -> ast.FunctionDef:
    definition = ast.parse(_texts()[name]).body[0]
    assert isinstance(definition, ast.FunctionDef)
    return definition


def function(name: str, type_: str = "") -> ast.FunctionDef | None:
    """The definition of a function of the prelude, or of its form for ``type_``; None where there is none."""
    for candidate in (name, f"{name}_{type_[:1]}", f"{name}_{type_}"):
        if candidate in _texts():
            return _parsed(candidate)
    return None
