"""Every operation's result on random and on awkward operands, held against NumPy."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import headwater
from headwater.il.table import UNTRANSLATED, operations

F, I, U, D = np.float32, np.int32, np.uint32, np.float64  # noqa: E741
EDGES = np.array(
    [0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFFE, 0x00FF00FF, 0x00FFFFFF, 0x3F800000],
    np.uint32,
)  # fmt: skip
FLOATS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.25, 1e-3, 100.75, -7.9, 65504.0], np.float32)


def mask(condition):
    return np.where(condition, np.uint32(0xFFFFFFFF), np.uint32(0))


def dx9(a, b):
    return np.where((a == 0) | (b == 0), F(0), a * b).astype(F)


def high(a, b, kind):
    return ((a.astype(kind) * b.astype(kind)) >> kind(32)).astype(np.uint32)


def signed24(a):
    return (a.astype(np.int64) << 40) >> 40


def dot(a, b, n):
    total = F(0)
    for k in range(n):
        total = total + dx9(a, b)[..., k]
    return np.repeat(total[..., None], 4, -1)


def bits_of(function):
    return lambda a: np.vectorize(function, otypes=[np.uint32])(a)


def align(high_word, low, n):
    whole = (high_word.astype(np.uint64) << np.uint64(32)) | low
    return (whole >> n.astype(np.uint64)).astype(np.uint32)


def extract(width, offset, a, *, sign):
    width, offset = int(width) & 31, int(offset) & 31
    if width == 0:
        return 0
    if sign:
        a = int(a) - (1 << 32) if int(a) >> 31 else int(a)
    kept = (int(a) >> offset) & ((1 << width) - 1)
    if sign and kept >> (width - 1):
        kept -= 1 << width
    return kept & 0xFFFFFFFF


def insert(width, offset, a, base):
    width, offset = int(width) & 31, int(offset) & 31
    field = ((1 << width) - 1) << offset
    return ((int(a) << offset) & field | int(base) & ~field) & 0xFFFFFFFF


def sad(a, b):
    total = np.zeros_like(a)
    for byte in range(0, 32, 8):
        x, y = ((v >> U(byte)) & U(255) for v in (a, b))
        total += np.where(x > y, x - y, y - x)
    return total


def saturated(low, high_value, kind):
    def convert(a):
        a = np.where(np.isnan(a), 0, np.trunc(a.astype(np.float64)))
        return np.clip(a, low, high_value).astype(np.int64).astype(kind)

    return convert


v = np.vectorize
EXPECTED = {
    "mov": lambda a: a, "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": dx9, "mul_ieee": lambda a, b: a * b,
    "mad": lambda a, b, c: dx9(a, b) + c, "mad_ieee": lambda a, b, c: a * b + c,
    "fma": lambda a, b, c: (a.astype(D) * b.astype(D) + c.astype(D)).astype(F),
    "min": lambda a, b: np.where(a < b, a, b), "max": lambda a, b: np.where(a >= b, a, b),
    "min_ieee": np.minimum, "max_ieee": np.maximum, "abs": np.abs, "frc": lambda a: a - np.floor(a),
    "flr": np.floor, "trc": np.trunc, "rnd": np.rint, "round_nearest": np.rint, "round_neginf": np.floor,
    "round_plusinf": np.ceil, "round_posinf": np.ceil, "round_z": np.trunc, "mod": np.fmod, "sgn": np.sign,
    "clamp": lambda a, b, c: np.fmin(np.fmax(a, b), c), "lrp": lambda a, b, c: a * b + (F(1) - a) * c,
    "dp2": lambda a, b: dot(a, b, 2), "dp3": lambda a, b: dot(a, b, 3), "dp4": lambda a, b: dot(a, b, 4),
    "dp2_ieee": lambda a, b: dot(a, b, 2), "dp3_ieee": lambda a, b: dot(a, b, 3), "dp4_ieee": lambda a, b: dot(a, b, 4),
    "crs": lambda a, b: np.concatenate([np.cross(a[..., :3], b[..., :3]), np.zeros_like(a[..., :1])], -1),
    "cmov": lambda a, b, c: np.where(a.view(F) != 0, b, c), "cmov_logical": lambda a, b, c: np.where(a != 0, b, c),
    "eq": lambda a, b: mask(a == b), "ne": lambda a, b: mask(a != b), "lt": lambda a, b: mask(a < b),
    "ge": lambda a, b: mask(a >= b), "gt": lambda a, b: mask(a > b), "le": lambda a, b: mask(a <= b),
    "iadd": lambda a, b: a + b, "isub": lambda a, b: a - b, "imul": lambda a, b: a * b, "umul": lambda a, b: a * b,
    "imad": lambda a, b, c: a * b + c, "umad": lambda a, b, c: a * b + c,
    "imul_high": lambda a, b: high(a.view(I), b.view(I), np.int64), "umul_high": lambda a, b: high(a, b, np.uint64),
    "imin": lambda a, b: np.minimum(a.view(I), b.view(I)), "imax": lambda a, b: np.maximum(a.view(I), b.view(I)),
    "umin": np.minimum, "umax": np.maximum, "inegate": lambda a: U(0) - a, "iand": np.bitwise_and, "and": np.bitwise_and,
    "ior": np.bitwise_or, "ixor": np.bitwise_xor, "inot": np.bitwise_not, "ishl": lambda a, b: a << (b & U(31)),
    "ishr": lambda a, b: a.view(I) >> (b & U(31)).view(I), "ushr": lambda a, b: a >> (b & U(31)),
    "ieq": lambda a, b: mask(a == b), "ine": lambda a, b: mask(a != b), "ilt": lambda a, b: mask(a.view(I) < b.view(I)),
    "ige": lambda a, b: mask(a.view(I) >= b.view(I)), "ult": lambda a, b: mask(a < b), "uge": lambda a, b: mask(a >= b),
    "udiv": lambda a, b: np.where(b == 0, U(0xFFFFFFFF), a // np.maximum(b, U(1))),
    "umod": lambda a, b: np.where(b == 0, U(0xFFFFFFFF), a % np.maximum(b, U(1))),
    "imul24": lambda a, b: (signed24(a) * signed24(b)).astype(np.uint32),
    "imul24_high": lambda a, b: ((signed24(a) * signed24(b)) >> 32).astype(np.uint32),
    "imad24": lambda a, b, c: (signed24(a) * signed24(b)).astype(np.uint32) + c,
    "umul24": lambda a, b: (a & U(0xFFFFFF)) * (b & U(0xFFFFFF)),
    "umul24_high": lambda a, b: high(a & U(0xFFFFFF), b & U(0xFFFFFF), np.uint64),
    "umad24": lambda a, b, c: (a & U(0xFFFFFF)) * (b & U(0xFFFFFF)) + c,
    "icarry": lambda a, b: (a + b < a).astype(U), "iborrow": lambda a, b: (a < b).astype(U),
    "icbits": bits_of(lambda a: int(a).bit_count()),
    "ffb_hi": bits_of(lambda a: 32 - int(a).bit_length() if a else 0xFFFFFFFF),
    "ffb_lo": bits_of(lambda a: (int(a) & -int(a)).bit_length() - 1 if a else 0xFFFFFFFF),
    "ffb_shi": bits_of(lambda a: (lambda x: 32 - x.bit_length() if x else 0xFFFFFFFF)(
        (~int(a) & 0xFFFFFFFF) if int(a) >> 31 else int(a))),
    "ubit_reverse": bits_of(lambda a: int(f"{int(a):032b}"[::-1], 2)),
    "ubit_extract": v(lambda w, o, a: extract(w, o, a, sign=False), otypes=[U]),
    "ibit_extract": v(lambda w, o, a: extract(w, o, a, sign=True), otypes=[U]),
    "ubit_insert": v(insert, otypes=[U]),
    "bitalign": lambda a, b, c: align(a, b, c & U(31)), "bytealign": lambda a, b, c: align(a, b, (c & U(3)) * U(8)),
    "sad": lambda a, b, c: sad(a, b) + c, "sad_hi": lambda a, b, c: (sad(a, b) << U(16)) + c,
    "u4lerp": lambda a, b, c: sum(
        (((((a >> U(k)) & U(255)) + ((b >> U(k)) & U(255)) + ((c >> U(k)) & U(1))) >> U(1)) << U(k)) for k in (0, 8, 16, 24)
    ),
    **{f"unpack{k}": functools.partial(lambda k, a: ((a >> U(8 * k)) & U(255)).astype(F), k) for k in range(4)},
    "ftoi": saturated(-(2**31), 2**31 - 1, I), "ftou": saturated(0, 2**32 - 1, U),
    "itof": lambda a: a.view(I).astype(F), "utof": lambda a: a.astype(F),
    "f2f16": lambda a: a.astype(np.float16).view(np.uint16).astype(U),
    "f162f": lambda a: (a & U(0xFFFF)).astype(np.uint16).view(np.float16).astype(F),
}  # fmt: skip
ROUGH = {
    "exp": np.exp2, "exp_vec": np.exp2, "log": np.log2, "log_vec": np.log2, "exn": np.exp, "ln": np.log, "pow": np.power,
    "sqrt": np.sqrt, "sqrt_vec": np.sqrt, "rsq_vec": lambda a: 1 / np.sqrt(a), "rcp_vec": lambda a: 1 / a,
    "rsq": lambda a: 1 / np.sqrt(a), "rcp": lambda a: 1 / a, "div": lambda a, b: a / b, "sin": np.sin, "sin_vec": np.sin,
    "cos": np.cos, "cos_vec": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "len": lambda a: np.repeat(np.sqrt((a[..., :3] ** 2).sum(-1))[..., None], 4, -1),
    "dist": lambda a, b: np.repeat(np.sqrt(((a - b)[..., :3] ** 2).sum(-1))[..., None], 4, -1),
    "nrm": lambda a: a / np.sqrt((a[..., :3] ** 2).sum(-1))[..., None],
    "dst": lambda a, b: np.stack([a[..., 0] * 0 + 1, a[..., 1] * b[..., 1], a[..., 2], b[..., 3]], -1),
    "dp2add": lambda a, b, c: np.repeat((a * b)[..., :2].sum(-1)[..., None] + c[..., :1], 4, -1),
}  # fmt: skip
DOUBLES = {
    "dadd": lambda a, b: a + b, "dsub": lambda a, b: a - b, "dmul": lambda a, b: a * b, "ddiv": lambda a, b: a / b,
    "dmin": np.fmin, "dmax": np.fmax, "dmov": lambda a: a, "dabs": np.abs, "dfrac": lambda a: a - np.floor(a),
    "dsqrt": lambda a: np.sqrt(np.abs(a)), "drcp": lambda a: 1 / a, "deq": lambda a, b: a == b, "dne": lambda a, b: a != b,
    "dlt": lambda a, b: a < b, "dge": lambda a, b: a >= b,
}  # fmt: skip


def run(name, sources, *, modifiers="", marks=""):
    """One operation over arrays of (n, 4), each a texture."""
    return run_all([f"{name}{modifiers}"], [len(sources)], sources, marks)[0]


def run_all(names, counts, sources, marks=""):
    """Up to eight operations over the first `counts` of the sources, each to an output of its own."""
    lines = ["il_ps_2_0", "dcl_input_position_interp(linear_noperspective) v0.xy__"]
    lines += [f"dcl_output_generic o{k}" for k in range(len(names))]
    lines += [f"dcl_resource_id({k})_type(1d,unnorm)_fmtx(float)" for k in range(len(sources))]
    lines += [f"sample_resource({k})_sampler(0) r{k + 1}, v0.x" for k in range(len(sources))]
    for k, (name, count) in enumerate(zip(names, counts, strict=True)):
        lines.append(f"{name} r0, {', '.join(f'r{n + 1}{marks}' for n in range(count))}")
        lines.append(f"mov o{k}, r0")
    program = headwater.compile("\n".join([*lines, "end"]) + "\n")
    outs = [np.zeros((1, len(sources[0]), 4), np.uint32) for _ in names]
    program.main[(len(sources[0]), 1), None](*sources, *outs, device="cpu")
    return [out[0] for out in outs]


@functools.cache
def together(table, position):
    """The results of eight operations of a table, and what they worked on: one program is quicker than eight."""
    names = sorted(TABLES[table])[position * 8 : position * 8 + 8]
    counts = [len(operations()[name].sources) for name in names]
    sources = {"integers": words(4, 1), "floats": reals(3, 2), "rough": reals(3, 4, positive=True), "doubles": pairs()}[
        table
    ]
    sources = sources[: max(counts)]
    return sources, dict(zip(names, run_all(names, counts, sources), strict=True))


def outcome(table, name):
    """An operation's sources and its result."""
    sources, results = together(table, sorted(TABLES[table]).index(name) // 8)
    return sources[: len(operations()[name].sources)], results[name]


def words(count, seed):
    rng = np.random.default_rng(seed)
    grid = np.array(np.meshgrid(*[EDGES] * count, indexing="ij")).reshape(count, -1)
    picks = rng.integers(0, grid.shape[1], 300)
    extra = rng.integers(0, 1 << 32, (count, 212), dtype=np.uint32)
    return [np.concatenate([g[picks], e]).reshape(-1, 4) for g, e in zip(grid, extra, strict=True)]


def reals(count, seed, *, positive=False):
    rng = np.random.default_rng(seed)
    grid = np.array(np.meshgrid(*[FLOATS] * count, indexing="ij")).reshape(count, -1)
    picks = rng.integers(0, grid.shape[1], 300)
    extra = (rng.standard_normal((count, 212)) * 10).astype(F)
    made = [np.concatenate([g[picks], e]).reshape(-1, 4) for g, e in zip(grid, extra, strict=True)]
    return [np.abs(m) % F(0.9) + F(0.05) for m in made] if positive else made


def pairs():
    rng = np.random.default_rng(5)
    made = [np.abs(rng.standard_normal((64, 2)) * 100) for _ in range(2)]
    made[1][:8] = made[0][:8]
    made[1][8:16] *= -1
    return made


INTEGERS = {name: f for name, f in EXPECTED.items() if operations()[name].sources[0] in "iub" and name != "mov"}
REALS = {name: f for name, f in EXPECTED.items() if name not in INTEGERS}
TABLES = {"integers": INTEGERS, "floats": REALS, "rough": ROUGH, "doubles": DOUBLES}


@pytest.mark.parametrize("table", ["integers", "floats"])
def test_exact(table):
    for name, function in TABLES[table].items():
        sources, got = outcome(table, name)
        with np.errstate(all="ignore"):
            expected = np.ascontiguousarray(function(*sources))
        if operations()[name].result in "fF":
            np.testing.assert_array_equal(got.view(F), expected.astype(F), err_msg=name)
        else:
            np.testing.assert_array_equal(got, expected.view(np.uint32).reshape(got.shape), err_msg=name)


def test_close():
    for name, function in ROUGH.items():
        sources, got = outcome("rough", name)
        expected = function(*[s.astype(D) for s in sources])
        np.testing.assert_allclose(got.view(F), expected, rtol=2e-6, atol=1e-6, err_msg=name)


def test_doubles():
    for name, function in DOUBLES.items():
        sources, got = outcome("doubles", name)
        expected = function(*[s[:, 0] for s in sources])
        if operations()[name].result == "S":
            np.testing.assert_array_equal(got, np.repeat(mask(expected)[:, None], 4, 1), err_msg=name)
        else:
            values = got.view(D)
            np.testing.assert_array_equal(values[:, 0], values[:, 1])  # the pair stands in .xy and in .zw
            np.testing.assert_allclose(values[:, 0], expected, rtol=3e-16, err_msg=name)


def test_fused_and_scaled_doubles():
    rng = np.random.default_rng(6)
    a, b, c = (rng.standard_normal((64, 2)) for _ in range(3))
    np.testing.assert_allclose(run("dmad", [a, b, c]).view(D)[:, 0], (a * b + c)[:, 0], rtol=1e-12)
    power = np.zeros((64, 4), np.int32)
    power[:, 0] = rng.integers(-20, 20, 64)
    np.testing.assert_array_equal(run("dldexp", [a, power]).view(D)[:, 0], np.ldexp(a[:, 0], power[:, 0]))
    np.testing.assert_array_equal(run("f2d", [a.astype(F).repeat(2, 1)]).view(D)[:, 0], a.astype(F)[:, 0])
    np.testing.assert_array_equal(run("d2f", [a]).view(F)[:, 0], a[:, 0].astype(F))


@pytest.mark.parametrize(
    ("zero_rule", "expected"),
    [("infinity", np.inf), ("zero", 0.0), ("fltmax", np.finfo(F).max), ("inf_else_max", np.inf)],
)
def test_division_by_zero(zero_rule, expected):
    one, zero = np.ones((1, 4), F), np.zeros((1, 4), F)
    assert run("div", [one, zero], modifiers=f"_zeroop({zero_rule})").view(F)[0, 0] == F(expected)


@pytest.mark.parametrize("relation", ["ne", "eq", "ge", "gt", "le", "lt"])
def test_relations(relation):
    compare = {"ne": np.not_equal, "eq": np.equal, "ge": np.greater_equal, "gt": np.greater, "le": np.less_equal,
               "lt": np.less}[relation]  # fmt: skip
    a, b, c = reals(3, 7)
    b[:20] = a[:20]
    got = run("set", [a, b], modifiers=f"_relop({relation})").view(F)
    np.testing.assert_array_equal(got, compare(a, b).astype(F))
    got = run("cmp", [a, b, c], modifiers=f"_relop({relation})_cmpval(0.5)").view(F)
    np.testing.assert_array_equal(got, np.where(compare(a, F(0.5)), b, c))


def test_result_modifiers():
    a, b = reals(2, 8)
    for modifier, scale in (("x2", 2), ("x4", 4), ("x8", 8), ("d2", 0.5), ("d4", 0.25), ("d8", 0.125)):
        np.testing.assert_array_equal(run("add", [a, b], modifiers=f"_{modifier}").view(F), (a + b) * F(scale))
    np.testing.assert_array_equal(run("add", [a, b], modifiers="_sat").view(F), np.clip(a + b, F(0), F(1)))
    np.testing.assert_array_equal(run("mov", [a], modifiers="_sat").view(F), np.clip(a, F(0), F(1)))


def test_source_modifiers():
    (a,) = reals(1, 9)
    a[a == 0] = 1
    for marks, function in (
        ("_abs", np.abs), ("_neg(xyzw)", np.negative), ("_abs_neg(xyzw)", lambda x: -np.abs(x)),
        ("_invert", lambda x: F(1) - x), ("_bias", lambda x: x - F(0.5)), ("_x2", lambda x: x * F(2)),
        ("_bx2", lambda x: (x - F(0.5)) * F(2)), ("_sign", np.sign), ("_sat", lambda x: np.clip(x, F(0), F(1))),
    ):  # fmt: skip
        np.testing.assert_array_equal(run("mov", [a], marks=marks).view(F), function(a), err_msg=marks)
    expected = a * np.array([1, -1, 1, -1], F)
    np.testing.assert_array_equal(run("mov", [a], marks=".xyzw_neg(yw)").view(F), expected)
    x, y = words(2, 10)
    np.testing.assert_array_equal(run("iadd", [x, y], marks="_neg(xyzw)"), U(0) - x - y)
    expected = np.where(np.arange(4) == 1, U(0) - x, x) + np.where(np.arange(4) == 1, U(0) - y, y)
    np.testing.assert_array_equal(run("iadd", [x, y], marks="_neg(y)"), expected)


def test_every_translated_operation_is_tested():
    elsewhere = {"fma", "transpose", "cmp", "set", "dmad", "d_muladd", "dldexp", "dfrexp", "dmovc", "drsq",
                 "f2d", "d2f", "dtoi", "dtou", "itod", "utod", "f2u4", "expp", "logp", "sincos", "lit", "reflect", "faceforward", "sad4", "mova",
                 "invariant_move"}  # fmt: skip
    plain = {n for n, o in operations().items() if o.result in "fiubFSD" and o.meaning not in (UNTRANSLATED, "")}
    plain = {n for n in plain if not n.startswith(("uav_", "lds_", "gds_"))}
    assert plain <= {*EXPECTED, *ROUGH, *DOUBLES, *elsewhere}
