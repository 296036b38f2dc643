"""What NaN, infinities, signed zeros and numbers beyond an integer's range come to, on devices of each kind.

The formulas are those of AMD's CPU run-time 1.4.1, except where ``docs/brook.md`` lists a departure.
"""

import numpy as np
import pytest

from headwater.runtime.brook.program import load

CHIPS = ("cpu", "hd4870", "hd5870", "vega64")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 0.5, -2.5, 3e9, -3e9, 1e30)
LITERALS = ("0.0{} / 0.0{}", "1.0{} / 0.0{}", "-1.0{} / 0.0{}", "0.0{}", "-0.0{}", "1.5{}")
DTYPES = {"float": np.dtype("f4"), "double": np.dtype("f8")}
TWO = {
    "max": lambda a, b: np.where(a > b, a, b),
    "min": lambda a, b: np.where(a < b, a, b),
    "fmod": np.fmod,
    "lerp": lambda a, b: a + a.dtype.type(0.25) * (b - a),
    "clamp": lambda a, b: np.where(a > 1, a.dtype.type(1), np.where(a < b, b, a)),
}
ONE = {
    "sign": lambda a: np.where(a == 0, 0, np.where(a < 0, -1, 1)).astype(a.dtype),
    "round": lambda a: np.copysign(np.floor(np.abs(a) + 0.5), a),
    "floor": np.floor,
    "frac": lambda a: a - np.floor(a),
    "abs": np.abs,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def assert_same(got, wanted, message=""):
    """NaN is NaN, and a zero has its sign."""
    wanted = np.asarray(wanted, got.dtype)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, err_msg=message)
    real = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got)[real], np.signbit(wanted)[real], message)


def pairs(dtype):
    a, b = (grid.ravel() for grid in np.meshgrid(np.array(SPECIAL, dtype), np.array(SPECIAL, dtype)))
    return np.ascontiguousarray(a), np.ascontiguousarray(b)


@pytest.mark.parametrize("device", CHIPS)
@pytest.mark.parametrize("type_", ["float", "double", "float2"])
def test_functions_of_two_numbers(type_, device):
    base, width = type_.rstrip("2"), 2 if type_.endswith("2") else 1
    low, bound = (f"{type_}({x}, {x})" if width > 1 else x for x in ("0.25", "1.0"))
    suffix = "f" if base == "float" else ""
    if suffix:
        low, bound = low.replace("0.25", "0.25f"), bound.replace("1.0", "1.0f")
    calls = {**{name: f"{name}(a, b)" for name in TWO}, "lerp": f"lerp(a, b, {low})", "clamp": f"clamp(a, b, {bound})"}
    outs = ", ".join(f"out {type_} {name}_<>" for name in TWO)
    body = " ".join(f"{name}_ = {call};" for name, call in calls.items())
    kernel = load(f"kernel void f({type_} a<>, {type_} b<>, {outs}) {{ {body} }}", "x.br").f
    a, b = pairs(DTYPES[base])
    shape = (len(a) // width, width) if width > 1 else (len(a),)
    for name, got in zip(TWO, kernel(a.reshape(shape), b.reshape(shape), device=device), strict=True):
        assert_same(got.ravel(), TWO[name](a, b), name)


@pytest.mark.parametrize("device", CHIPS)
@pytest.mark.parametrize("base", ["float", "double"])
def test_functions_of_one_number(base, device):
    outs = ", ".join(f"out {base} {name}_<>" for name in ONE)
    body = " ".join(f"{name}_ = {name}(a);" for name in ONE)
    kernel = load(f"kernel void f({base} a<>, {outs}) {{ {body} }}", "x.br").f
    a = np.array(SPECIAL, DTYPES[base])
    for name, got in zip(ONE, kernel(a, device=device), strict=True):
        assert_same(got, ONE[name](a), name)


@pytest.mark.parametrize("device", CHIPS)
@pytest.mark.parametrize("base", ["float", "double"])
def test_functions_of_literals(base, device):
    numbers = [text.replace("{}", "f" if base == "float" else "") for text in LITERALS]
    cases = [(name, a, b) for name in ("max", "min") for a in numbers for b in numbers]
    cases += [("sign", a, "") for a in numbers]
    lines = [f"if (p == {at}) o = {name}({a}{b and ', '}{b});" for at, (name, a, b) in enumerate(cases)]
    text = f"kernel void f(out {base} o<>) {{ int p; p = instance().x; o = ({base})0; {' '.join(lines)} }}"
    got = load(text, "x.br").f(shape=len(cases), device=device)
    values = dict(zip(numbers, np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1.5], DTYPES[base]), strict=True))
    for (name, a, b), value in zip(cases, got, strict=True):
        wanted = TWO[name](values[a], values[b]) if b else ONE[name](values[a])
        assert_same(np.array([value]), [wanted], f"{name}({a}, {b})")


@pytest.mark.parametrize("device", CHIPS)
def test_normalize_squares_as_it_stands(device):
    kernel = load("kernel void f(float2 v<>, out float2 n<>) { n = normalize(v); }", "x.br").f
    v = np.array([[3, 4], [0, 0], [-0.0, 0], [np.inf, -1], [np.nan, 1], [1e30, -1e30]], "f4")
    wanted = np.array([[0.6, 0.8], [np.nan] * 2, [np.nan] * 2, [np.nan, -0.0], [np.nan] * 2, [0, -0.0]], "f4")
    assert_same(kernel(v, device=device), wanted)


@pytest.mark.parametrize("device", CHIPS)
@pytest.mark.parametrize("base", ["float", "double"])
def test_integers_take_the_nearest_number_that_they_can_hold(base, device):
    types = ("int", "uint", "char", "uchar", "short", "ushort")
    outs = ", ".join(f"out {type_} {type_}_<>, out {type_}2 {type_}_v<>" for type_ in types)
    body = " ".join(f"{type_}_ = ({type_})a; {type_}_v = ({type_}2){base}2(a, -a);" for type_ in types)
    a = np.array([*SPECIAL, 300, 2**31, -(2**31) - 4096, 2**32 + 1e6], DTYPES[base])

    def saturated(values, low, high):
        return np.clip(np.trunc(np.nan_to_num(values.astype("f8"), posinf=1e99, neginf=-1e99)), low, high)

    got = load(f"kernel void f({base} a<>, {outs}) {{ {body} }}", "x.br").f(a, device=device)
    for type_, single, pair in zip(types, got[::2], got[1::2], strict=True):
        for values, found in ((a, single), (a, pair[:, 0]), (-a, pair[:, 1])):
            if type_ == "uint":
                wanted = saturated(values, 0, 2**32 - 1).astype("u4")
            else:
                wanted = saturated(values, -(2**31), 2**31 - 1).astype("i4").astype(found.dtype)
            np.testing.assert_array_equal(found, wanted, type_)


@pytest.mark.parametrize("device", CHIPS)
def test_nan_compares_false_and_decides_as_true(device):
    source = """kernel void f(float a<>, float b<>, out float l<>, out float g<>, out float e<>, out float n<>, out float t<>)
    { l = a <= b; g = !(a < b); e = a == b; n = a != b; t = a ? (any(float2(a, b)) ? 1.0f : 2.0f) : 3.0f; }"""
    a, b = pairs("f4")
    l, g, e, n, t = load(source, "x.br").f(a, b, device=device)  # noqa: E741
    for got, wanted in ((l, a <= b), (g, ~(a < b)), (e, a == b), (n, a != b), (t, np.where(a != 0, 1, 3))):
        np.testing.assert_array_equal(got, wanted)
