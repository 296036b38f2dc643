"""What programs write by hand and LLVM makes intrinsics of, on VLIW chips: comparisons, saturation, funnel shifts, means
and overflows of integers, scalars and vectors. Expected values are Python's."""

import numpy as np
import pytest

import headwater as hw

CHIPS = ("hd2600-xt", "hd4870", "hd5870", "hd6970")
BITS = {"char": 8, "short": 16, "int": 32, "long": 64}
SCALARS = {
    "(x > y) - (x < y)": lambda x, y, b: (x > y) - (x < y),
    "(ux > uy) - (ux < uy)": lambda x, y, b: (x % 2**b > y % 2**b) - (x % 2**b < y % 2**b),
    "x < y ? -1 : x > y ? 1 : 0": lambda x, y, b: (x > y) - (x < y),
    "x < 0 ? -1 : x > 0": lambda x, y, b: (x > 0) - (x < 0),
    "(U)(ux + uy) < ux ? (U)~(U)0 : (U)(ux + uy)": lambda x, y, b: min(x % 2**b + y % 2**b, 2**b - 1),
    "ux > uy ? (U)(ux - uy) : (U)0": lambda x, y, b: max(x % 2**b - y % 2**b, 0),
    "x < (T)-100 ? (T)-100 : x > (T)100 ? (T)100 : x": lambda x, y, b: max(-100, min(x, 100)),
    "(U)((ux & (U)(ux - 1)) == 0 && ux != 0)": lambda x, y, b: (x % 2**b).bit_count() == 1,
    "(U)(ux << s | ux >> (U)(B - s & (B - 1)))": lambda x, y, b: rotated(x % 2**b, y % b, b),
    "(U)(s ? ux << s | uy >> (U)(B - s) : ux)": lambda x, y, b: ((x % 2**b << b | y % 2**b) << y % b) >> b,
    "(U)((U)(ux & uy) + (U)((U)(ux ^ uy) >> 1))": lambda x, y, b: (x % 2**b + y % 2**b) >> 1,
    "x < 0 ? (U)-ux : ux": lambda x, y, b: abs(x),
    "add_sat(x, y)": lambda x, y, b: saturated(x + y, b),
    "sub_sat(x, y)": lambda x, y, b: saturated(x - y, b),
    "hadd(x, y)": lambda x, y, b: (x + y) >> 1,
    "abs_diff(x, y)": lambda x, y, b: abs(x - y),
    "mul_hi(x, y)": lambda x, y, b: (x * y) >> b,
}
VECTORS = {
    "select((V)0, (V)1, x > y) - select((V)0, (V)1, x < y)": SCALARS["(x > y) - (x < y)"],
    "(x < y) - (x > y)": lambda x, y, b: (x > y) - (x < y),
    "min(max(x, (V)-100), (V)100)": SCALARS["x < (T)-100 ? (T)-100 : x > (T)100 ? (T)100 : x"],
    "rotate(x, y)": lambda x, y, b: rotated(x % 2**b, y % b, b),
    "add_sat(x, y)": SCALARS["add_sat(x, y)"],
    "sub_sat(x, y)": SCALARS["sub_sat(x, y)"],
    "(x & y) + ((x ^ y) >> (V)1)": SCALARS["hadd(x, y)"],
    "rhadd(x, y)": lambda x, y, b: (x + y + 1) >> 1,
    "mul_hi(x, y)": SCALARS["mul_hi(x, y)"],
    "max(x, -x)": lambda x, y, b: x if x == -(2 ** (b - 1)) else abs(x),
}
OVERFLOWS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
}


def rotated(x, by, bits):
    return (x << by | x >> (bits - by)) % 2**bits


def saturated(x, bits):
    return max(-(2 ** (bits - 1)), min(x, 2 ** (bits - 1) - 1))


def operands(bits):
    """64 pairs of signed numbers, the extremes among them."""
    top = 2 ** (bits - 1)
    rng = np.random.default_rng(bits)
    x = [0, 0, 1, -1, -top, -top, top - 1, top - 1, top - 1, -top, 5, -5, 99, -101]
    y = [0, 1, 0, -1, -1, top - 1, 1, top - 1, -top, -top, 5, 5, 100, -100]
    more = rng.integers(-top, top, (2, 50), dtype=np.int64)
    return [*x, *more[0].tolist()], [*y, *more[1].tolist()]


def outputs(body, count, bits, chip):
    x, y = operands(bits)
    source = f"kernel void k(global const long *a, global const long *b, global ulong *o) {{ size_t i = get_global_id(0); {body} }}"
    out = np.zeros((count, 64), np.uint64)
    program = hw.compile(source, language="opencl", device=chip)
    program.k[(64,), (64,)](np.array(x, np.int64), np.array(y, np.int64), out, device=chip)
    return x, y, out


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", BITS)
def test_scalars(name, chip):
    bits = BITS[name]
    names = f"#define T {name}\n#define U u{name}\n#define B {bits}\n"
    body = "T x = a[i], y = b[i]; U ux = (U)x, uy = (U)y, s = uy & (U)(B - 1);"
    body += "".join(f"o[{n} * 64 + i] = (U)({text});" for n, text in enumerate(SCALARS))
    x, y, found = outputs(f"\n{names}\n{body}", len(SCALARS), bits, chip)
    for row, (text, of) in zip(found, SCALARS.items(), strict=True):
        assert row.tolist() == [of(*pair, bits) % 2**bits for pair in zip(x, y, strict=True)], text


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", BITS)
def test_vectors(name, chip):
    """Of four, whose components are the values from here on."""
    bits = BITS[name]
    four = ", ".join(f"(T){{0}}[i + {n} & 63]" for n in range(4))
    body = f"#define T {name}\n#define V {name}4\nV x = (V)({four.format('a')}), y = (V)({four.format('b')});"
    body += "".join(
        f"{{ V r = {text}; o[{2 * n} * 64 + i] = (u{name})r.x; o[{2 * n + 1} * 64 + i] = (u{name})r.w; }}"
        for n, text in enumerate(VECTORS)
    )
    x, y, found = outputs(f"\n{body}", 2 * len(VECTORS), bits, chip)
    for n, (text, of) in enumerate(VECTORS.items()):
        wanted = [of(*pair, bits) % 2**bits for pair in zip(x, y, strict=True)]
        assert found[2 * n].tolist() == wanted, text
        assert found[2 * n + 1].tolist() == wanted[3:] + wanted[:3], f"{text}, fourth component"


@pytest.mark.parametrize("chip", CHIPS)
def test_upper_halves_of_products_of_64_bits(chip):
    """By parts of 32 bits, of which LLVM makes one product of 128."""
    body = """ulong x = a[i], y = b[i], xl = x & 0xFFFFFFFF, xh = x >> 32, yl = y & 0xFFFFFFFF, yh = y >> 32;
        ulong m = xh * yl + (xl * yl >> 32), q = xl * yh + (m & 0xFFFFFFFF);
        o[i] = xh * yh + (m >> 32) + (q >> 32);"""
    x, y, found = outputs(body, 1, 64, chip)
    assert found[0].tolist() == [(p % 2**64) * (q % 2**64) >> 64 for p, q in zip(x, y, strict=True)]


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", ["int", "uint", "long", "ulong"])
def test_overflows(name, chip):
    bits, signed = BITS[name.removeprefix("u")], name[0] != "u"
    body = f"{name} x = a[i], y = b[i], r; ulong over;" + "".join(
        f"over = __builtin_{op}_overflow(x, y, &r); o[{2 * n} * 64 + i] = over; o[{2 * n + 1} * 64 + i] = (ulong)r;"
        for n, op in enumerate(OVERFLOWS)
    )
    x, y, found = outputs(body, 2 * len(OVERFLOWS), bits, chip)
    pairs = list(zip(x, y, strict=True)) if signed else [(p % 2**bits, q % 2**bits) for p, q in zip(x, y, strict=True)]
    low = -(2 ** (bits - 1)) if signed else 0
    for n, (op, of) in enumerate(OVERFLOWS.items()):
        exact = [of(*pair) for pair in pairs]
        assert found[2 * n].tolist() == [not low <= value < low + 2**bits for value in exact], op
        assert [value % 2**bits for value in found[2 * n + 1].tolist()] == [value % 2**bits for value in exact], op
