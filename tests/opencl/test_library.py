"""The device library defines every built-in, and those that are not maths do what the specification says."""

import re

import llvmlite.binding as llvm
import numpy as np
import pytest
from builtin_calls import GROUPS
from library_host import DTYPES, compile_function

from headwater.opencl import clang, library
from headwater.opencl.mangle import Pointer, Scalar, mangle
from headwater.opencl.platforms import SPIR, gcn

INTEGER_CODES = {
    "char": "c",
    "uchar": "h",
    "short": "s",
    "ushort": "t",
    "int": "i",
    "uint": "j",
    "long": "l",
    "ulong": "m",
}
FLOAT_CODES = {"half": "Dh", "float": "f", "double": "d"}
CODES = {**INTEGER_CODES, **FLOAT_CODES}


@pytest.mark.parametrize("group", GROUPS)
def test_every_builtin_is_defined_at_every_width(group):
    source, options = GROUPS[group]
    undefined = library.called(clang.compile_to_ir(source(), f"{group}.cl", options).ir)
    (text,) = library.definitions(undefined)
    module = llvm.parse_assembly(text)
    module.verify()
    functions = {f.name: f for f in module.functions}
    assert [name for name in undefined if name not in functions or functions[name].is_declaration] == []
    left = [name for name, f in functions.items() if f.is_declaration and not name.startswith("llvm.")]
    assert [name for name in left if not library.is_primitive(name)] == []


def test_unknown_names_are_left_out():
    assert (
        library.definitions({"_Z6mythicf": "declare float @_Z6mythicf(float)", "printf": "declare i32 @printf(...)"})
        == []
    )


def test_only_what_is_needed_is_returned():
    (text,) = library.definitions({"_Z3expf": "declare spir_func float @_Z3expf(float)"})
    assert re.findall(r"^define .*@(\w+)\(", text, re.MULTILINE) == ["_Z3expf"]
    assert "alwaysinline" in text
    assert "!" not in text


def test_units_come_from_the_disk_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(library, "_loaded", {})
    wanted = {"_Z3expf": "declare spir_func float @_Z3expf(float)"}
    first = library.definitions(wanted)
    monkeypatch.setattr(library, "_loaded", {})
    monkeypatch.setattr(clang, "run_clang", lambda *a, **k: pytest.fail("compiled again"))
    assert library.definitions(wanted) == first


@pytest.mark.parametrize("platform", [SPIR, gcn(5), gcn(4)], ids=lambda platform: platform.name)
def test_every_provided_name_is_defined_by_its_unit(platform):
    for (code, name), unit in library._providers(platform).items():
        defined = library._load({unit}, platform)[unit].definitions
        pattern = re.compile(rf"{name}|_Z{len(name)}{name}({'' if code == '*' else code}|\w)")
        assert any(pattern.match(symbol) for symbol in defined), f"{unit} does not define {name} of {code}"


# ------------------------------------------------------------------------------------------------ integers


def samples(kind, count=3000, seed=0):
    info = np.iinfo(DTYPES[INTEGER_CODES[kind]])
    rng = np.random.default_rng(seed)
    values = rng.integers(info.min, info.max, count, dtype=info.dtype, endpoint=True)
    edges = np.array([info.min, info.max, 0, 1, info.max // 2, info.min + 1, info.max - 1], dtype=info.dtype)
    small = rng.integers(0, 5, count).astype(info.dtype)
    return rng.permutation(np.concatenate([values, small, np.repeat(edges, 60)]))


def wrap(value, kind):
    bits = 8 * np.dtype(DTYPES[INTEGER_CODES[kind]]).itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] != "u" and value >> (bits - 1) else value


def limit(value, kind):
    info = np.iinfo(DTYPES[INTEGER_CODES[kind]])
    return min(max(value, int(info.min)), int(info.max))


def bits_of(kind):
    return 8 * np.dtype(DTYPES[INTEGER_CODES[kind]]).itemsize


INTEGER_FUNCTIONS = {
    "add_sat": lambda k, a, b: limit(a + b, k),
    "sub_sat": lambda k, a, b: limit(a - b, k),
    "hadd": lambda k, a, b: (a + b) >> 1,
    "rhadd": lambda k, a, b: (a + b + 1) >> 1,
    "mul_hi": lambda k, a, b: (a * b) >> bits_of(k),
    "min": lambda k, a, b: min(a, b),
    "max": lambda k, a, b: max(a, b),
    "rotate": lambda k, a, b: (
        wrap(
            (
                ((a & ((1 << bits_of(k)) - 1)) << (b % bits_of(k)))
                | ((a & ((1 << bits_of(k)) - 1)) >> (-b % bits_of(k)))
            ),
            k,
        )
        if b % bits_of(k)
        else a
    ),
    "clz": lambda k, a: bits_of(k) - (a & ((1 << bits_of(k)) - 1)).bit_length(),
    "ctz": lambda k, a: bits_of(k) if a == 0 else (a & -a).bit_length() - 1,
    "popcount": lambda k, a: (a & ((1 << bits_of(k)) - 1)).bit_count(),
    "mad_sat": lambda k, a, b, c: limit(a * b + c, k),
    "mad_hi": lambda k, a, b, c: wrap(((a * b) >> bits_of(k)) + c, k),
    "clamp": lambda k, a, b, c: min(max(a, b), c),
}


@pytest.mark.parametrize("kind", INTEGER_CODES)
def test_integer_functions(kind):
    code = INTEGER_CODES[kind]
    for name, reference in INTEGER_FUNCTIONS.items():
        count = reference.__code__.co_argcount - 1
        given = [samples(kind, seed=i) for i in range(count)]
        (got,) = compile_function(name, " ".join([code] * count), code)(*given)
        wanted = [reference(kind, *row) for row in zip(*(g.tolist() for g in given), strict=True)]
        np.testing.assert_array_equal(got, np.array(wanted, dtype=got.dtype), err_msg=f"{name} of {kind}")


@pytest.mark.parametrize("kind", INTEGER_CODES)
def test_absolute_values_are_unsigned(kind):
    code, unsigned = INTEGER_CODES[kind], INTEGER_CODES["u" + kind.removeprefix("u")]
    a, b = samples(kind), samples(kind, seed=1)
    (got,) = compile_function("abs", code, unsigned)(a)
    np.testing.assert_array_equal(got, np.array([abs(v) for v in a.tolist()], dtype=got.dtype))
    (got,) = compile_function("abs_diff", f"{code} {code}", unsigned)(a, b)
    wanted = [abs(v - w) for v, w in zip(a.tolist(), b.tolist(), strict=True)]
    np.testing.assert_array_equal(got, np.array(wanted, dtype=got.dtype))


def test_upsample_and_24_bit_products():
    (got,) = compile_function("upsample", "c h", "s")(np.array([-1, 5], np.int8), np.array([2, 255], np.uint8))
    assert got.tolist() == [-254, 1535]
    a = np.array([-(1 << 23), (1 << 23) - 1, -3], np.int32)
    (got,) = compile_function("mul24", "i i", "i")(a, np.array([3, 3, 5], np.int32))
    assert got.tolist() == [-(3 << 23), 3 * ((1 << 23) - 1), -15]


# ------------------------------------------------------------------------------------------------ conversions


def convert_reference(value, target, sat, mode):
    """The conversion in exact arithmetic (OpenCL C 1.2 specification 6.2.3); None where it is implementation-defined."""
    if isinstance(value, float):
        if not np.isfinite(value):
            if not sat:
                return None
            return 0 if np.isnan(value) else limit(int(np.sign(value)) << 80, target)
        whole = {"_rte": round, "_rtp": lambda v: int(np.ceil(v)), "_rtn": lambda v: int(np.floor(v))}.get(mode, int)(
            value
        )
        exact = limit(whole, target)
        return exact if sat or exact == whole else None
    return limit(value, target) if sat else wrap(value, target)


@pytest.mark.parametrize("target", INTEGER_CODES)
@pytest.mark.parametrize("source", CODES)
def test_conversions_to_integers(source, target):
    if source in INTEGER_CODES:
        given = samples(source, 500)
    else:
        rng = np.random.default_rng(2)
        bits = {"half": 17, "float": 66, "double": 66}[source]
        with np.errstate(over="ignore"):
            given = (rng.normal(size=3000) * np.exp2(rng.integers(-4, bits, 3000))).astype(DTYPES[CODES[source]])
        edges = [0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 255.5, -128.5, -129, 0.0, -0.0, np.inf, -np.inf, np.nan]
        given = np.concatenate([given, np.array(edges, given.dtype)])
    for sat in ("", "_sat"):
        for mode in ("", "_rte", "_rtz", "_rtp", "_rtn"):
            name = f"convert_{target}{sat}{mode}"
            (got,) = compile_function(name, CODES[source], CODES[target])(given)
            wanted = [convert_reference(v, target, sat, mode) for v in given.tolist()]
            for v, g, w in zip(given.tolist(), got.tolist(), wanted, strict=True):
                assert w is None or g == w, f"{name}({v!r}) gives {g}, not {w}"


def rounded(value, target, mode):
    """An exact integer or double rounded to a float type in a direction, by its neighbours."""
    dtype = DTYPES[FLOAT_CODES[target]]
    with np.errstate(over="ignore"):
        near = dtype(value)
        info = np.finfo(dtype)

        def exact(x):
            return int(x) if isinstance(value, int) and np.isfinite(x) else float(x)

        if mode == "_rte" or exact(near) == value:
            return near
        down = near if exact(near) < value else np.nextafter(near, dtype(-np.inf))
        up = near if exact(near) > value else np.nextafter(near, dtype(np.inf))
        assert info.bits
        return {"_rtp": up, "_rtn": down, "_rtz": down if value > 0 else up}[mode]


@pytest.mark.parametrize(
    ("source", "target"),
    [(s, "float") for s in ("int", "uint", "long", "ulong", "double")]
    + [(s, "double") for s in ("long", "ulong")]
    + [(s, "half") for s in ("float", "double", "int", "ulong")],
)
def test_conversions_to_floats_round_as_asked(source, target):
    if source in INTEGER_CODES:
        given = samples(source, 800)
    else:
        rng = np.random.default_rng(4)
        spread = {"float": 40, "half": 18}[target]
        given = (rng.normal(size=3000) * np.exp2(rng.integers(-spread, spread, 3000))).astype(DTYPES[CODES[source]])
    for mode in ("_rte", "_rtz", "_rtp", "_rtn"):
        (got,) = compile_function(f"convert_{target}{mode}", CODES[source], CODES[target])(given)
        for v, g in zip(given.tolist(), got, strict=True):
            wanted = rounded(v, target, mode)
            assert g == wanted, f"convert_{target}{mode}({v!r}) gives {g!r}, not {wanted!r}"


def test_double_to_half_rounds_once():
    # Just above a tie in half, by less than a float can hold: through float it would become the tie and round down.
    value = np.array([1.0 + 2.0**-11 + 2.0**-40])
    assert compile_function("convert_half", "d", "Dh")(value)[0][0] == np.float16(1.0 + 2.0**-10)


# ------------------------------------------------------------------------------------------------ vectors


def test_vector_comparisons_give_all_bits():
    a, b = np.array([[1.0, 2.0, np.nan]]), np.array([[1.0, 3.0, np.nan]])
    assert compile_function("isequal", "3d 3d", "3l")(a, b)[0][0, :3].tolist() == [-1, 0, 0]
    assert compile_function("isunordered", "2Dh 2Dh", "2s")(a[:, 1:], b[:, 1:])[0][0].tolist() == [0, -1]
    assert compile_function("isless", "d d", "i")(a[0, :2], b[0, :2])[0].tolist() == [0, 1]


def test_select_asks_the_top_bit_of_vectors_and_all_bits_of_scalars():
    a, b = np.array([[1.0, 2.0]], np.float32), np.array([[3.0, 4.0]], np.float32)
    assert compile_function("select", "2f 2f 2i", "2f")(a, b, np.array([[1, -1]]))[0][0].tolist() == [1.0, 4.0]
    assert compile_function("select", "f f i", "f")(a[0], b[0], np.array([1, 0]))[0].tolist() == [3.0, 2.0]


def test_any_and_all_ask_the_top_bit():
    x = np.array([[0, 1, 2, 3], [-1, 1, 1, 1], [-1, -2, -3, -4]])
    assert compile_function("any", "4i", "i")(x)[0].tolist() == [0, 1, 1]
    assert compile_function("all", "4i", "i")(x)[0].tolist() == [0, 0, 1]


def test_shuffles_use_the_low_bits_of_the_mask():
    x, y = np.array([[10, 11, 12, 13]]), np.array([[20, 21, 22, 23]])
    assert compile_function("shuffle", "4i 4j", "4i")(x, np.array([[3, 0, 7, 5]]))[0].tolist() == [[13, 10, 13, 11]]
    mask = np.array([[7, 0, 4, 11]])
    assert compile_function("shuffle2", "4i 4i 4j", "4i")(x, y, mask)[0].tolist() == [[23, 10, 20, 13]]


def test_elementwise_forms_take_scalars_for_vectors():
    x = np.array([[-1.0, 0.25, 3.0]], np.float32)
    assert compile_function("clamp", "3f f f", "3f")(x, np.zeros(1), np.ones(1))[0][0, :3].tolist() == [0.0, 0.25, 1.0]
    assert compile_function("step", "f 3f", "3f")(np.ones(1), x)[0][0, :3].tolist() == [0.0, 0.0, 1.0]


def test_geometry():
    a, b = np.array([[1.0, 2.0, 3.0]], np.float32), np.array([[4.0, -5.0, 6.0]], np.float32)
    assert compile_function("cross", "3f 3f", "3f")(a, b)[0][0, :3].tolist() == [27.0, 6.0, -13.0]
    assert compile_function("dot", "3f 3f", "f")(a, b)[0][0] == 12.0
    huge = np.array([[3e30, 4e30], [3e-30, 4e-30]], np.float32)
    np.testing.assert_allclose(compile_function("length", "2f", "f")(huge)[0], [5e30, 5e-30], rtol=3e-7)
    np.testing.assert_allclose(compile_function("normalize", "2f", "2f")(huge)[0], [[0.6, 0.8]] * 2, rtol=3e-7)
    assert compile_function("distance", "2d 2d", "d")(np.array([[1.0, 1.0]]), np.array([[4.0, 5.0]]))[0][0] == 5.0


@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize("width", [2, 3, 4])
def test_normalized_vectors_keep_their_least_components(width, kind):
    """Components of all sizes, so that many results are subnormal; within 2 + width ULP as the specification asks."""
    dtype = np.dtype(np.float32 if kind == "f" else np.float64)
    info = np.finfo(dtype)
    rng = np.random.default_rng(width)
    exponents = rng.integers(info.minexp - info.nmant, info.maxexp - 2, (2000, width))
    given = np.ldexp(rng.uniform(1, 2, exponents.shape) * rng.choice([-1, 1], exponents.shape), exponents).astype(dtype)
    exact = given.astype(np.longdouble)
    expected = exact / np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    got = compile_function("normalize", f"{width}{kind}", f"{width}{kind}")(given)[0][:, :width]
    unit = np.spacing(np.maximum(np.abs(expected).astype(dtype), info.tiny)).astype(np.longdouble)
    assert float((np.abs(got - expected) / unit).max()) <= 2 + width


def test_common_functions():
    x = np.array([-2.0, 0.0, 0.25, 5.0], np.float32)
    zero, one = np.zeros(4), np.ones(4)
    assert compile_function("smoothstep", "f f f", "f")(zero, one, x)[0].tolist() == [0.0, 0.0, 0.15625, 1.0]
    assert compile_function("mix", "f f f", "f")(zero, one * 8, x)[0].tolist() == [-16.0, 0.0, 2.0, 40.0]
    assert compile_function("sign", "f", "f")(x)[0].tolist() == [-1.0, 0.0, 1.0, 1.0]
    np.testing.assert_allclose(compile_function("degrees", "d", "d")(np.array([np.pi]))[0], 180.0, rtol=1e-15)


# ------------------------------------------------------------------------------------------------ memory


def test_half_loads_widen_exactly():
    value, memory = compile_function("vload_half", "m *Dh", "f")(np.zeros(3, np.uint64))
    assert value.dtype == np.float32
    assert memory.dtype == np.float16


@pytest.mark.parametrize(
    ("mode", "bits"),
    [
        ("_rte", [0x7C00, 0xFC00]), ("_rtz", [0x7BFF, 0xFBFF]), ("_rtp", [0x7C00, 0xFBFF]), ("_rtn", [0x7BFF, 0xFC00]),
    ],
)  # fmt: skip
def test_doubles_beyond_all_floats_round_to_half_as_asked(mode, bits):
    given = np.array([1e77, -1e77, np.inf, -np.inf, np.nan])
    got = compile_function(f"convert_half{mode}", "d", "Dh")(given)[0].view(np.uint16)
    assert got[:4].tolist() == [*bits, 0x7C00, 0xFC00]
    assert np.isnan(got[4:].view(np.float16)).all()


@pytest.mark.parametrize("mode", ["", "_rte", "_rtz", "_rtp", "_rtn"])
def test_half_stores_round_as_asked(mode):
    given = np.array([1.0003, -1.0003, 1.0009, 65519.0, 1e6, 1e-8, -1e-8], np.float32)
    store = compile_function(f"vstore_half{mode}", "f m *Dh", "v")
    _, memory = store(given, np.zeros(len(given), np.uint64))
    for v, g in zip(given.tolist(), memory, strict=True):
        assert g == rounded(v, "half", mode or "_rte"), f"{v} stored{mode} is {g}"


def test_atomics_are_single_instructions():
    symbol = mangle("atomic_max", (Pointer(Scalar("i"), 1, True), Scalar("i")))
    (text,) = library.definitions({symbol: f"declare i32 @{symbol}(ptr addrspace(1), i32)"})
    assert "atomicrmw max ptr addrspace(1) %0, i32 %1 monotonic" in text
    symbol = mangle("atomic_min", (Pointer(Scalar("j"), 3, True), Scalar("j")))
    (text,) = library.definitions({symbol: f"declare i32 @{symbol}(ptr addrspace(3), i32)"})
    assert "atomicrmw umin ptr addrspace(3)" in text
