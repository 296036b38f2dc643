"""OpenCL C as IL for VLIW chips: what it leaves when it runs (on the cpu device), what it looks like, what is refused."""

import operator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.errors import SourceError, UsageError
from headwater.il import from_llvm
from headwater.il.parser import parse
from headwater.il.printer import text as text_of
from verification.random_kernels import random_case

from .vliw_runs import run_il

N = 64
GROUPS = ("hd5870", "hd6970", "hd5770")
EVERY = (*GROUPS, "hd4870", "hd2600-xt")

KERNELS = {
    "vectors": (
        EVERY,
        """kernel void vectors(global float4 *a, global const float4 *b, float4 k) {
             size_t i = get_global_id(0);
             float4 v = a[i] * k + b[i].wzyx;
             a[i] = (float4)(v.xy - b[i].zw, fabs(v.z), -v.w) + dot(v, b[i]);
           }""",
        lambda r: [r.random((N, 4), np.float32), r.random((N, 4), np.float32), np.float32([1, 2, 3, 4])],
    ),
    "wide": (
        EVERY,
        """kernel void wide(global long *a, global const ulong *b, global float *f) {
             size_t i = get_global_id(0);
             long x = a[i], s = b[i] & 63;
             ulong y = b[i] | 1;
             a[i] = x / (long)(y >> 1 | 1) + (x << s) - (x >> s) + (long)(b[i] % y) * x + (x < (long)b[i]) + popcount(y);
             f[i] = (float)x + (float)y;
           }""",
        lambda r: [r.integers(-(2**62), 2**62, N), r.integers(0, 2**63, N).astype(np.uint64), np.zeros(N, np.float32)],
    ),
    "high_words": (
        EVERY,
        """kernel void high_words(global long *a, global const ulong *b) {
             size_t i = get_global_id(0);
             long x = a[i];
             a[i] = mul_hi(x, (long)b[i]) + (long)mad_hi(b[i], (ulong)x, b[i]) + mul_hi(x, 76L);
           }""",
        lambda r: [r.integers(-(2**63), 2**63, N), r.integers(0, 2**64, N, dtype=np.uint64)],
    ),
    "rounded_halves": (
        GROUPS,
        """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
           kernel void rounded_halves(global float *a, global const long *b) {
             size_t i = get_global_id(0);
             half2 h = convert_half2((float2)(a[i], -a[i] / 4));
             a[i] = (float)round(h).x + (float)round(h.y) + (float)convert_half(b[i] >> 40) + (float)(half)(float)b[i];
           }""",
        lambda r: [r.normal(0, 50, N).astype(np.float32), r.integers(-(2**55), 2**55, N)],
    ),
    "small": (
        GROUPS,
        """kernel void small(global uchar4 *a, global short *b, global const char *c) {
             size_t i = get_global_id(0);
             a[i] = a[i] * (uchar4)(3) + convert_uchar4_sat((int4)(b[i]));
             b[i] = (short)(b[i] / (c[i] | 1)) + (short)(c[(i * 7) % get_global_size(0)] >> 2);
           }""",
        lambda r: [
            r.integers(0, 256, (N, 4)).astype(np.uint8),
            r.integers(-3000, 3000, N).astype(np.int16),
            r.integers(-128, 128, N).astype(np.int8),
        ],
    ),
    "control": (
        EVERY,
        """kernel void control(global int *a, int limit) {
             int i = get_global_id(0), x = a[i], steps = 0;
             for (int k = 0; k < limit; k++) {
               if (x == 1) break;
               switch (x & 7) { case 1: x += 2; case 3: x ^= 5; break; case 4: continue; default: x = x * 3 + 1; }
               while (x > 1000) { x >>= 1; if (x & 1) goto out; }
               steps++;
             }
           out:
             a[i] = x * 100 + steps;
           }""",
        lambda r: [r.integers(1, 500, N).astype(np.int32), 40],
    ),
    "jumps": (
        EVERY,
        """kernel void jumps(global int *a) {
             int i = get_global_id(0), x = a[i], n = 0;
             if (x & 1) goto second;
           first:
             x += 3; n++;
             if (n > 20) goto end;
           second:
             x ^= n; n += 2;
             if (x & 4) goto first;
             if (n < 30) goto second;
           end:
             a[i] = x + n;
           }""",
        lambda r: [r.integers(0, 500, N).astype(np.int32)],
    ),
    "arrays": (
        EVERY,
        """constant int table[5] = {3, 1, 4, 1, 5};
           kernel void arrays(global const int *a, global int *o, int n) {
             int i = get_global_id(0), t[20];
             for (int k = 0; k < n; k++) t[k % 20] = a[(i + k) % n];
             for (int k = 0; k < n; k++) t[(t[k % 20] & 15) + 3] += table[k % 5] + t[k % 11];
             o[i] = t[a[i] & 15];
           }""",
        lambda r: [r.integers(0, 500, N).astype(np.int32), np.zeros(N, np.int32), N],
    ),
    "texts": (
        EVERY,
        """typedef struct { int a; char b[3]; char name[6]; float d; struct { uchar q[2]; short h; } in[2]; } S;
           constant S table[2] = {{1, {2, 3, 4}, "ab\\0zy", 5.5f, {{{1, 2}, 3}, {{4, 5}, 6}}},
                                  {6, {7, 8, 9}, "hello", 10.25f, {{{7, 8}, 9}, {{10, 11}, 12}}}};
           constant char words[2][4] = {"abc", "xyz"};
           kernel void texts(global const uint *a, global float *o) {
             int i = get_global_id(0);
             uint n = a[i], k = n & 1, m = n >> 1 & 1;
             constant S *s = table + k;
             o[i] = s->b[n % 3] + s->d + s->name[n % 5] + words[k][n % 3] + s->in[m].q[n >> 2 & 1] + s->in[m].h;
           }""",
        lambda r: [r.integers(0, 500, N).astype(np.uint32), np.zeros(N, np.float32)],
    ),
    "structs": (
        EVERY,
        """typedef struct { int a; float4 b; long c; } S;
           kernel void structs(global S *s, S k, float3 v) {
             size_t i = get_global_id(0);
             S x = s[i];
             x.a += k.a; x.b += k.b * v.xyzx; x.c -= k.c;
             s[i] = x;
           }""",
        lambda r: [
            r.integers(0, 99, N * 48).astype(np.uint8),
            np.arange(48, dtype=np.uint8),
            np.float32([1, 2, 3, 0]),
        ],
    ),
    "functions": (
        EVERY,
        """kernel void functions(global float *a, global int *b) {
             size_t i = get_global_id(0);
             float x = a[i];
             b[i] = (clz(b[i]) << 8 | popcount(b[i])) + (int)rotate((uint)b[i], 5u) + mul_hi(b[i], 77) + abs_diff(b[i], 9);
             a[i] = floor(x) + ceil(x * 3) + rint(x * 5) + round(x * 7) + fmin(x, 0.5f) + clamp(x, 0.1f, 0.2f) + fract(x, a);
           }""".replace(" + fract(x, a)", ""),
        lambda r: [r.normal(size=N).astype(np.float32) * 9, r.integers(-(2**31), 2**31, N).astype(np.int32)],
    ),
    "halves": (
        EVERY,
        """kernel void halves(global uint *a) {
             size_t i = get_global_id(0);
             float2 x = vload_half2(i, (global half *)a);
             a[i] = as_uint(x.x * 2.0f + x.y);
           }""",
        lambda r: [r.normal(size=2 * N).astype(np.float16).view(np.uint32)],
    ),
}


def direct(source, name, global_size, local_size, args):
    program = hw.device("cpu").build(source, "direct.cl")
    own = [a.copy() if isinstance(a, np.ndarray) and a.ndim else a for a in args]
    infos = program.kernels[name].info.args
    launched = [
        a.tobytes() if i.kind == "value" and isinstance(a, np.ndarray) else a for i, a in zip(infos, own, strict=True)
    ]
    program.kernels[name].prepare(global_size, local_size)(launched, None, 30.0).wait()
    return [a for a, i in zip(own, infos, strict=True) if i.kind in ("buffer", "constant")]


CASES = [(name, chip) for name, (on, _, _) in KERNELS.items() for chip in on]


@pytest.mark.parametrize(("name", "chip"), CASES)
def test_kernels_leave_what_they_leave_on_the_cpu(name, chip):
    _, source, make = KERNELS[name]
    args = make(np.random.default_rng(5))
    expected = direct(source, name, (N,), (16,), args)
    for wanted, found in zip(expected, run_il(source, name, chip, (N,), (16,), args), strict=True):
        assert wanted.tobytes() == found.tobytes()


LOCAL = """kernel void sums(global int *a, local int *part, global uint *count) {
  local uchar seen[64];
  int l = get_local_id(0), n = get_local_size(0);
  part[l] = a[get_global_id(0)];
  seen[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  seen[(l * 5) % n] = (uchar)l;
  for (int step = n / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < step) part[l] += part[l + step];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  a[get_global_id(0)] = part[0] + seen[l];
  atomic_add(count, 1u);
  atomic_max(count + 1, (uint)get_global_id(0));
}"""


@pytest.mark.parametrize("chip", GROUPS)
def test_local_memory_barriers_and_atomics(chip):
    a, count = np.arange(N, dtype=np.int32), np.zeros(2, np.uint32)
    sums, found = run_il(LOCAL, "sums", chip, (N,), (16,), [a, hw.Local(64), count])
    seen = np.zeros(16, np.int32)
    seen[(np.arange(16) * 5) % 16] = np.arange(16)
    assert (sums.reshape(-1, 16) == a.reshape(-1, 16).sum(1, keepdims=True) + seen).all()
    assert found.tolist() == [N, N - 1]


SIZES = """kernel void sizes(global int *a) {
  size_t at = (get_global_id(2) - get_global_offset(2)) * get_global_size(1) + get_global_id(1);
  at = at * get_global_size(0) + get_global_id(0) - get_global_offset(0);
  a[at] = get_local_id(0) + 10 * get_local_id(1) + 100 * get_group_id(0) + 1000 * get_group_id(1)
        + 10000 * get_num_groups(0) + 100000 * get_work_dim() + 1000000 * get_local_size(1) + 10000000 * get_global_id(0);
}"""


@pytest.mark.parametrize("chip", EVERY)
def test_work_items_know_their_places(chip):
    size, group, offset = (8, 6, 2), (4, 3, 1), (3, 0, 1)
    (found,) = run_il(SIZES, "sizes", chip, size, group, [np.zeros((2, 6, 8), np.int32)], offset=offset)
    _, y, x = np.indices((2, 6, 8))
    expected = x % 4 + 10 * (y % 3) + 100 * (x // 4) + 1000 * (y // 3) + 20000 + 300000 + 3000000 + 10000000 * (x + 3)
    assert (found == expected).all()


DOUBLES = """kernel void doubles(global double *a, global const double *b) {
  size_t i = get_global_id(0);
  a[i] = fma(a[i], b[i], floor(b[i])) + (double)(int)a[i] + sqrt(fabs(b[i])) - trunc(a[i] * 3) + (a[i] < b[i] ? 1 : 2);
}"""


@pytest.mark.parametrize("chip", ["hd5870", "hd6970", "hd4870", "hd3870"])
def test_doubles(chip):
    r = np.random.default_rng(2)
    args = [r.normal(size=N) * 40, r.normal(size=N) * 40]
    for wanted, found in zip(
        direct(DOUBLES, "doubles", (N,), (16,), args), run_il(DOUBLES, "doubles", chip, (N,), (16,), args), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def _exact_fma(a, b, c):
    """a * b + c of arrays, rounded once; not for results that are 0, infinite or NaN."""
    return np.array([float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c, strict=True)])


@pytest.mark.parametrize("chip", ["hd3870", "hd4870", "hd5870"])
def test_fma_of_double_rounds_once(chip):
    """Sums that cancel, results below the normal range, operands far apart or beyond the range, zeros and infinities."""
    source = """kernel void d(global double *a, global const double *b, global const double *c) {
      size_t i = get_global_id(0); a[i] = fma(a[i], b[i], c[i]);
    }"""
    r = np.random.default_rng(5)
    n = 2048
    a, b, c = (r.choice([-1.0, 1.0], n) * (1 + r.random(n)) * 2.0 ** r.integers(-6, 6, n) for _ in range(3))
    quarter = n // 4
    c[:quarter] = np.nextafter(-(a * b)[:quarter], r.choice([-9.0, 9.0], quarter))  # what is left are lost digits
    low = slice(quarter, 2 * quarter)
    a[low] *= 2.0**-530
    b[low] *= 2.0 ** r.integers(-540, -480, quarter)
    c[low] *= 2.0 ** r.integers(-1064, -1000, quarter)
    far = slice(2 * quarter, 3 * quarter)
    c[far] *= 2.0 ** r.integers(-900, 900, quarter)
    wanted = _exact_fma(a, b, c)
    found = run_il(source, "d", chip, (n,), (64,), [a, b, c])[0]
    assert (found == wanted).all()

    large, tiny, none, inf = 1e300, 1e-300, 0.0, np.inf
    special = [  # a, b, c, a * b + c
        (large, large, -inf, -inf), (large, -large, 1.0, -inf), (inf, 1.0, -inf, np.nan), (inf, none, 1.0, np.nan),
        (tiny, -tiny, none, -0.0), (-none, 3.0, -none, -0.0), (-none, 3.0, none, 0.0), (3.0, 2.0, -6.0, 0.0),
        (1.0, np.nan, 2.0, np.nan), (2.0, 3.0, np.nan, np.nan), (tiny, tiny, -5e-324, -5e-324),
        (tiny, tiny, 5e-324, 5e-324), (-tiny, 4e-24, 2.0**-1074, 0.0), (large, large, large, inf),
    ]  # fmt: skip
    a, b, c, wanted = (np.array(column) for column in zip(*special, strict=True))
    found = run_il(source, "d", chip, (len(a),), (len(a),), [a, b, c])[0]
    np.testing.assert_array_equal(found, wanted)
    assert (np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted)].all()


@pytest.mark.parametrize("kind", ["half", "float", "double"])
def test_classes_of_numbers(kind):
    """llvm.is.fpclass of every width, class by class."""
    tests = " | ".join(f"(__builtin_isfpclass(x[i], {1 << k}) ? {1 << k} : 0)" for k in range(10))
    several = " | ".join(f"(__builtin_isfpclass(x[i], {mask}) ? {mask << 10} : 0)" for mask in (3, 0x204, 0x198))
    source = f"""#pragma OPENCL EXTENSION cl_khr_fp16 : enable
      kernel void k(global const {kind} *x, global uint *out) {{
        size_t i = get_global_id(0); out[i] = {tests} | {several};
      }}"""
    number, whole, digits = {
        "half": (np.float16, np.uint16, 10), "float": (np.float32, np.uint32, 23), "double": (np.float64, np.uint64, 52)
    }[kind]  # fmt: skip
    top = 8 * number().itemsize - 1
    infinity = (1 << top) - (1 << digits)
    # LLVM's order: signaling NaN, quiet NaN, then from -infinity up; the smallest and largest of each class.
    positive = [(0, 0), (1, (1 << digits) - 1), (1 << digits, infinity - 1), (infinity, infinity)]
    negative = [tuple(value | 1 << top for value in pair) for pair in reversed(positive)]
    quiet = infinity | 1 << (digits - 1)
    classes = [(infinity + 1, quiet - 1), (quiet, 2 * (1 << top) - 1), *negative, *positive]
    values = np.array([value for pair in classes for value in pair], whole)
    alone = np.repeat(1 << np.arange(10), 2)
    wanted = alone | sum(np.where(alone & mask, mask << 10, 0) for mask in (3, 0x204, 0x198))
    for chip in ("hd5870",) if kind == "half" else ("hd5870", "hd4870"):
        found = run_il(source, "k", chip, (20,), (20,), [values.view(number), np.zeros(20, np.uint32)])[1]
        assert (found == wanted).all(), chip


@pytest.mark.parametrize("chip", ["hd5870", "hd6970"])
@pytest.mark.parametrize("kind", ["char", "uchar", "short", "ushort", "int", "uint", "ulong"])
def test_arithmetic_that_tells_of_overflow(chip, kind):
    operations = ["add", "sub"] + ["mul"] * (kind != "ulong")
    lines = "".join(
        f"out[i * 3 + {n}] = __builtin_{name}_overflow(a[i], b[i], &r) ? 1 : 0; made[i * 3 + {n}] = r;"
        for n, name in enumerate(operations)
    )
    source = f"""kernel void k(global const {kind} *a, global const {kind} *b, global int *out, global {kind} *made)
    {{ int i = get_global_id(0); {kind} r; {lines} }}"""
    dtype = np.dtype(
        {"char": "i1", "short": "i2", "int": "i4", "long": "i8"}[kind.lstrip("u")].replace(
            "i", "u" if kind[0] == "u" else "i"
        )
    )
    limits = np.iinfo(dtype)
    edges = [limits.min, limits.min + 1, 0, 1, 2, 3, 11, limits.max // 2, limits.max - 1, limits.max, limits.min // 2]
    a, b = (np.array(x, dtype) for x in zip(*product(edges, edges), strict=True))
    out, made = np.zeros(len(a) * 3, np.int32), np.zeros(len(a) * 3, dtype)
    hw.compile(source, language="opencl", device=chip).k[(len(a),), None](a, b, out, made, device=chip)
    for n, name in enumerate(operations):
        exact = [getattr(operator, name)(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        assert out[n::3].tolist() == [not limits.min <= x <= limits.max for x in exact], name
        assert made[n::3].tolist() == [(x - limits.min) % (1 << dtype.itemsize * 8) + limits.min for x in exact], name


@pytest.mark.parametrize(("chip", "kind"), [("hd5770", "float"), ("hd3870", "double"), ("hd5870", "double")])
def test_saturated_conversions(chip, kind):
    source = f"""#pragma OPENCL EXTENSION cl_khr_fp64 : enable
    kernel void k(global const {kind} *x, global long *s, global ulong *u, global int *i, global uint *w) {{
      size_t n = get_global_id(0);
      s[n] = convert_long_sat(x[n]); u[n] = convert_ulong_sat(x[n]);
      i[n] = convert_int_sat(x[n]); w[n] = convert_uint_sat(x[n]);
    }}"""
    ends = np.ldexp(1.0, [0, 30, 31, 32, 33, 52, 62, 63, 64, 65, 100])
    x = np.concatenate([ends, np.nextafter(ends, 0), ends * 1.2345, [0.0, 0.4, np.inf, np.nan, 1e-30]])
    x = np.concatenate([x, -x]).astype(np.float32 if kind == "float" else np.float64)
    args = [x, *(np.zeros(len(x), dtype) for dtype in (np.int64, np.uint64, np.int32, np.uint32))]
    found = run_il(source, "k", chip, (len(x),), (len(x),), args)[1:]
    for array in found:
        limits = np.iinfo(array.dtype)
        wanted = [0 if np.isnan(v) else limits.max if v > limits.max else max(v, limits.min) for v in x.tolist()]
        assert array.tolist() == [int(v) for v in wanted]


def test_conversions_between_half_and_64_bits():
    """LLVM makes one conversion of two where it can: this once went on for ever."""
    source = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void k(global const half *x, global ulong *u, global long *s, global float *f) {
      size_t n = get_global_id(0);
      u[n] = convert_ulong(fabs(x[n])); s[n] = convert_long(x[n]); f[n] = (float)convert_half(s[n]) + convert_half(u[n]);
    }"""
    x = np.float16([0, 1.5, -2.75, 100.25, -30000, 65504, 0.1])
    args = [x, np.zeros(7, np.uint64), np.zeros(7, np.int64), np.zeros(7, np.float32)]
    for chip in GROUPS:
        _, u, s, f = run_il(source, "k", chip, (7,), (7,), args)
        whole = np.trunc(x.astype(np.float64))
        assert u.tolist() == np.abs(whole).tolist()
        assert s.tolist() == whole.tolist()
        with np.errstate(over="ignore"):
            halves = whole.astype(np.float16)
            assert f.tolist() == (halves.astype(np.float32) + np.abs(halves).astype(np.float32)).tolist()


def test_quotients_and_roots_are_rounded_where_asked():
    source = """kernel void d(global float *a, global float *b, global const float *c) {
      size_t i = get_global_id(0);
      float x = a[i]; a[i] = x / b[i]; b[i] = fma(x, b[i], c[i]);
    }"""
    r = np.random.default_rng(3)
    a, b = (r.normal(size=512).astype(np.float32) for _ in range(2))
    c = np.where(r.random(512) < 0.5, -(a * b), r.normal(size=512)).astype(np.float32)
    for chip in EVERY:
        found = run_il(source, "d", chip, (512,), (64,), [a, b, c], options="-cl-fp32-correctly-rounded-divide-sqrt")
        assert (found[0] == a / b).all(), chip
        exact = (a.astype(np.longdouble) * b + c).astype(np.float32)
        assert (found[1] == exact).all(), chip


def test_quotients_that_llvm_makes_of_indices():
    """Reducing the strength of the inner loop's address leaves a remainder of 64 bits."""
    source = """kernel void k(global const int *keys, global ulong *out, uint m) {
      const uint i = get_global_id(0);
      for (int q = 0; q < (keys[i] & 7); q++)
        for (uint r = 1; r < (m & 3u) * 3u; r += 2u) out[i * 4 + (q & 3)] = (ulong)q % 5ul;
    }"""
    wanted = np.zeros((16, 4), np.uint64)
    for i in range(16):
        for q in range(i & 7):
            wanted[i, q & 3] = q % 5
    args = [np.arange(16, dtype=np.int32), np.zeros((16, 4), np.uint64), 3]
    for chip in EVERY:
        assert (run_il(source, "k", chip, (16,), (16,), args)[1] == wanted).all(), chip


def test_a_kernel_on_which_llvm_stops_is_compiled_another_way():
    """Its loops' indices, with their strength reduced, break what LLVM 22.1 asserts of loops."""
    case = random_case(3100751, plain=True)
    assert from_llvm.kernel(case.source, "k", chips.find("hd4870"), options=case.options).text


def test_vectors_stay_whole():
    made = from_llvm.kernel(
        "kernel void f(global float4 *a, float4 k) { size_t i = get_global_id(0); a[i] = a[i] * k; }",
        "f",
        chips.find("hd5870"),
    )
    lines = [line for line in made.text.splitlines() if line.startswith(("uav_raw", "mul_ieee"))]
    assert [line.split()[0] for line in lines] == ["uav_raw_load_id(11)", "mul_ieee", "uav_raw_store_id(11)"]
    assert "cb1[1].xyzw" in lines[1]
    assert "mem0.xyzw" in lines[2]


def test_text_reads_back_as_the_same_program_with_lines_of_the_source():
    made = from_llvm.kernel("\n\nkernel void f(global int *a) {\n  a[0] = a[1] / 3;\n}", "f", chips.find("hd6970"))
    program = parse(made.text)
    assert text_of(program) == made.text
    stored = next(k for k, line in enumerate(made.text.splitlines()) if "store" in line)
    assert made.lines[stored] == 4
    assert len(made.lines) == len(made.text.splitlines())


REFUSED = [
    ("hd4870", "local int t[64]; t[get_local_id(0)] = a[0]; a[1] = t[3];", "k uses local memory, on Radeon HD 4870"),
    ("hd3870", "atomic_add(a, 1);", "the kernel uses atomic operations, on Radeon HD 3870"),
    ("hd4870", "((global uchar *)a)[get_global_id(0)] = 1;", "the kernel stores a byte, and global memory is written"),
    ("hd5770", "a[0] = (int)((double)a[1] * 3.5);", "the kernel uses double precision, which this chip does not have"),
    ("hd4870", "half h = a[0]; a[1] = h;", "declaring variable of type '__private half' is not allowed"),
    ("hd4870", 'printf("%d", a[0]);', "printf is not supported, on Radeon HD 4870"),
    ("hd5870", 'printf(a[0] ? "yes" : "no");', "printf of a format or string that is not a literal, on Radeon HD 5870"),
    (
        "hd5870",
        "constant int * constant both[] = {one, two}; a[0] = both[a[1] & 1][0];",
        "a constant of the program that holds addresses, on Radeon HD 5870",
    ),
    ("hd5870", "atom_add((global long *)a, 1L);", "the device has no 'atom_add' for arguments of these types"),
    ("hd4870", "atom_inc(a);", "use of undeclared identifier 'atom_inc'"),
]


@pytest.mark.parametrize(("chip", "body", "message"), REFUSED)
def test_what_a_chip_lacks_is_refused_with_the_line(chip, body, message):
    source = (
        "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\nconstant int one[] = {1, 3}, two[] = {2, 4};\n"
        f"kernel void k(global int *a) {{\n  {body}\n}}"
    )
    with pytest.raises(SourceError) as error:
        from_llvm.kernel(source, "k", chips.find(chip), "k.cl")
    assert error.value.message.startswith(message)
    assert error.value.hint
    assert error.value.span.line == 4


def test_other_kernels_of_a_source_run():
    source = "kernel void a(global int *x) { x[0] = 1; }\nkernel void b(global int *x) { atomic_inc(x); }"
    made = from_llvm.kernels(source, chips.find("hd4870"))
    assert made.kernels["a"].refused is None
    assert made.kernels["b"].refused is not None
    with pytest.raises(UsageError, match="has no kernel 'c'"):
        from_llvm.kernel(source, "c", chips.find("hd4870"))


def test_constants_of_double_are_floats_on_chips_without():
    import headwater as hw

    source = "kernel void k(global float *a) { a[get_global_id(0)] = a[get_global_id(0)] * M_PI + M_SQRT2; }"
    program = hw.compile(source, device="hd5770")
    assert "warning: M_PI and its like are floats on Radeon HD 5770" in program.warnings
    data = np.arange(4, dtype=np.float32)
    program.k[(4,), (4,)](data, device="hd5770")
    assert np.allclose(data, np.arange(4) * np.pi + 2**0.5, rtol=1e-6)
    assert not hw.compile(source, device="hd5870").warnings


def test_loops_too_long_to_be_unrolled_stay_short():
    """A million turns were to be unrolled by 2500, for which LLVM took 20 s."""
    source = """kernel void k(global int *a) {
      int i = get_global_id(0), s = 0;
    #pragma unroll
      for (int x = 0; x < 1000000; x++)
        s += x * a[x & 63];
      a[i] = s;
    }"""
    assert from_llvm.kernel(source, "k", chips.find("hd5870")).text.count("\n") < 3000


def test_one_kernel_of_a_file_is_compiled_alone():
    """As it is with the others; a call to a function of the file's and a table are its own."""
    source = """constant int table[4] = {7, 5, 3, 1};
        int twice(int x) { return 2 * x; }
        kernel void a(global int *out) { out[get_global_id(0)] = twice(table[get_global_id(0) & 3]); }
        kernel void b(global int *out) { out[get_global_id(0)] = twice(get_global_id(0)); }"""
    chip = chips.find("hd5870")
    every = from_llvm.kernels(source, chip).kernels
    assert every.keys() == {"a", "b"}
    for name, kernel in every.items():
        assert from_llvm.kernels(source, chip, only=(name,)).kernels == {name: kernel}
