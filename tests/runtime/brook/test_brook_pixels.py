"""Brook+ kernels as pixel shaders of R600 and R700: bit for bit what the same kernels give with buffers, or NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.brook.model import extents
from headwater.errors import KernelFault, ResourceError, SourceError
from headwater.runtime.brook.pixels import Layout, natural, plan_reduction, rolled
from headwater.runtime.brook.program import BrookProgram
from headwater.runtime.interface import resolve

SOURCE = """
typedef struct Inner_ { float a; int2 b; float3 c; } Inner;
typedef struct Outer_ { Inner p; uint u; } Outer;

kernel void line(float i<>, float a[], out float4 r<>)
{ r = float4(a[(int)i], a[i], a[(int)i - 3], a[(uint)abs(i * 2.0f)]); }

kernel void plane(float i<>, float4 a[][], out float4 r<>)
{ r = a[(int)i][i] + a[i * 0.5f][(int)i + 2] + a[indexof(r).x][indexof(r).y] + a[indexof(r).xy]; }

kernel void space(int i<>, int2 a[][][], int b[][][][], out int2 r<>)
{ int4 p = instance(); r = a[i][i + 1][i * 2] + a[p.z][p.y][p.x]; r.x += b[i][p.z][p.y][p.x]; }

kernel void nested(float a[], float b[][], out float r<>) { r = a[b[indexof(r).xy]] + b[a[b[indexof(r).xy]]][1]; }

kernel void place(out int4 r<>, out float4 f<>) { r = instance(); f = indexof(r); }

kernel void mixed(Outer q<>, Inner v, out Outer o<>, out float3 z<>)
{ o = q; o.p.a = q.p.a + v.a; o.p.b = q.p.b + v.b; o.p.c.x = v.c.z; o.u = q.u + 7u; z = q.p.c + v.c; }

kernel void ten(float a<>, float k, out float o0<>, out float o1<>, out float o2<>, out float o3<>, out float o4<>,
                out float o5<>, out float o6<>, out float o7<>, out float o8<>, out float o9<>)
{ o0 = a; o1 = a + k; o2 = a * 2.0f; o3 = a * 3.0f; o4 = a * 4.0f; o5 = a * 5.0f; o6 = a * 6.0f; o7 = a * 7.0f;
  o8 = o7 + 1.0f; o9 = o0 - o8; }

kernel void scatter(float a<>, int i<>, out float o[]) { o[i] = a; o[i] += 1.0f; }

kernel void scatter3(float3 a<>, out float3 o[][], out float r<>)
{ int4 p = instance(); o[p.x][p.y] = a; o[p.x][p.y].y = 3.0f; r = a.z; }

kernel void scatter4(float4 a<>, out float4 o[]) { int i = instance().x * 2; o[i] = a; o[i + 1].zw = a.xy; }

kernel void bytes(uchar4 a<>, short b<>, out uchar4 o[], out short r<>)
{ int i = instance().x; o[i] = a + a; r = b + b; }

kernel void constants(int i<>, float2 w[3][2], int t[5], out float2 r<>)
{ r = w[i][i + 1] + float2((float)t[i], (float)t[3]); }

kernel void two(float a<>, float b<>, out float r<>) { r = a * 100.0f + b; }

kernel void at(float a[], int i, out float r<>) { r = a[i] + a[i + 1]; }
kernel void calls(int i<>, float a[], float b[], out float r<>)
{ float x; float y; at(a, i, x); at(b, i, y); r = x * y; }

kernel void collatz(int n<>, out int r<>)
{ int k = 0; int m = n; while (m != 1) { if (m % 2 == 0) m = m / 2; else m = 3 * m + 1; k += 1; } r = k; }

kernel void maths(float x<>, out float4 r<>)
{ r = float4(sin(x * 100.0f), exp(x), log(abs(x)), pow(abs(x), 1.3f)) + float4(cos(x), sqrt(abs(x)), rsqrt(abs(x)),
  fmod(x, 0.3f)); r.x += round(x * 10.0f) + asin(x * 0.1f); }

reduce void total(int2 a<>, reduce int2 s<>) { s += a; }
reduce void largest(float3 a<>, reduce float3 s<>) { s = max(a, s); }
reduce void product(uint4 a<>, reduce uint4 s<>)
{ uint4 t = s; s.x = t.x * a.x + t.y * a.z; s.y = t.x * a.y + t.y * a.w;
  s.z = t.z * a.x + t.w * a.z; s.w = t.z * a.y + t.w * a.w; }
"""
NARROW = "\n".join(
    f"kernel void add_{t}{w}({t}{w} a<>, {t}{w} b<>, out {t}{w} c<>) {{ c = a + b; }}"
    for t in ("char", "uchar", "short", "ushort", "int", "uint", "float")
    for w in ("", 2, 3, 4)
)
DTYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4"}
RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def same_data_whatever_ran_before() -> None:
    RNG.bit_generator.state = np.random.default_rng(11).bit_generator.state


def numbers(dtype: str, *shape: int) -> Any:
    if dtype[0] == "f":
        return RNG.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, dtype, endpoint=True)


class Pair:
    """A program as pixel shaders and with buffers, on one device."""

    def __init__(self, source: str, device: str) -> None:
        self.pixels = hw.compile(source, language="brook", device=device)
        module = replace(self.pixels.module, pixels=None)
        self.buffers = BrookProgram(module, source, device=resolve(device))

    def check(self, kernel: str, *args: Any, **named: Any) -> None:
        got, want = (
            getattr(p, kernel)(*args, **{k: _copy(v) for k, v in named.items()}) for p in (self.pixels, self.buffers)
        )
        several = isinstance(got, tuple)
        for a, b in zip(got if several else (got,), want if several else (want,), strict=True):
            a, b = np.asarray(a), np.asarray(b)
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(one) for name, one in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


@pytest.fixture(scope="module")
def pair() -> Pair:
    return Pair(SOURCE, "hd4870")


def test_streams_of_every_type():
    program = hw.compile(NARROW, language="brook", device="hd2600-xt")
    for t, dtype in DTYPES.items():
        for w in ("", 2, 3, 4):
            axis = (w,) if w else ()
            for shape in ((97,), (3, 5, 7)):
                a, b = numbers(dtype, *shape, *axis), numbers(dtype, *shape, *axis)
                with np.errstate(all="ignore"):
                    assert (getattr(program, f"add_{t}{w}")(a, b) == a + b).all(), (t, w, shape)


@pytest.mark.parametrize("shape", [(1,), (9001,), (31, 17), (70, 80), (3, 50, 61), (2, 3, 4, 5)])
def test_streams_of_doubles(shape):
    source = "kernel void f(double a<>, double2 b<>, out double2 c<>) { c = b * double2(a, a); }"
    program = hw.compile(source, language="brook", device="hd3870")
    a, b = numbers("f8", *shape), numbers("f8", *shape, 2)
    assert (program.f(a, b) == a[..., None] * b).all()


EDGES = np.array([0, 1, 2.5, -1, -0.5, -3.9, 5.99, 6, 7, 1e9, -1e9, np.nan, 100, 8191, 8192, 9999.5], np.float32)


@pytest.mark.parametrize("count", [7, 8192, 8193, 20000])
def test_arrays_of_one_dimension_read_the_nearest_element_outside(pair, count):
    pair.check("line", EDGES, numbers("f4", count))


def test_arrays_in_streams_that_are_rolled_up(pair):
    i = RNG.uniform(-10, 110, (5, 41, 11)).astype(np.float32)
    pair.check("line", i, numbers("f4", 100))
    pair.check("plane", i, numbers("f4", 13, 11, 4))


def test_an_array_that_indexes_another(pair):
    pair.check(
        "nested", np.arange(30, dtype=np.float32)[::-1].copy(), RNG.uniform(0, 30, (5, 7)).astype("f4"), shape=(4, 6)
    )


def test_arrays_of_more_dimensions(pair):
    pair.check("plane", EDGES.reshape(2, 8), numbers("f4", 13, 11, 4))
    i = RNG.integers(-2, 9, (3, 4, 5)).astype(np.int32)
    pair.check("space", i, numbers("i4", 4, 5, 6, 2), numbers("i4", 2, 4, 5, 6))
    pair.check("space", i.reshape(12, 5), numbers("i4", 24, 25, 26, 2), numbers("i4", 7, 24, 5, 26))


@pytest.mark.parametrize("shape", [(1,), (9000,), (13, 17), (3, 4, 50), (2, 3, 4, 5)])
def test_positions(pair, shape):
    pair.check("place", shape=shape)
    if shape != (1,):
        pair.check("place", shape=shape, domain=(tuple(n // 4 for n in shape), tuple(n - n // 5 for n in shape)))


def test_structs_are_a_texture_for_each_member(pair):
    dtype = pair.pixels.structs["Outer"]
    value = (1.5, (3, 4), (5.0, 6.0, 7.0))
    for shape in ((10, 7), (3, 4, 5)):
        q = np.zeros(shape, dtype)
        q["p"]["a"], q["p"]["b"] = numbers("f4", *shape), numbers("i4", *shape, 2)
        q["p"]["c"], q["u"] = numbers("f4", *shape, 3), numbers("u4", *shape)
        pair.check("mixed", q, value)
    pair.check("mixed", q, value, domain=((0, 1, 2), (3, 3, 4)))


def test_more_outs_than_outputs_take_several_shaders(pair):
    assert len(pair.pixels.module.pixels.kernels["ten"].entries) == 2
    pair.check("ten", numbers("f4", 33), 2.0)
    pair.check("ten", numbers("f4", 3, 4, 5), 2.0)


def test_scatter(pair):
    pair.check("scatter", numbers("f4", 9001), RNG.permutation(9001).astype(np.int32), shape=(9001,))
    outside = (RNG.permutation(100)[:50] - 20).astype(np.int32)
    pair.check("scatter", numbers("f4", 50), outside, out={"o": numbers("f4", 50)})
    pair.check("scatter3", numbers("f4", 6, 7, 3), shape={"o": (7, 6), "r": (6, 7)})
    pair.check("scatter4", numbers("f4", 60, 4), out={"o": numbers("f4", 120, 4)})


def test_scatter_of_bytes(pair):
    a, b = numbers("u1", 50, 4), numbers("i2", 50)
    o, r = pair.pixels.bytes(a, b, shape=(50,))
    assert (o == a + a).all()
    assert (r == b + b).all()


def test_constant_arrays(pair):
    pair.check("constants", RNG.integers(-1, 5, 20).astype(np.int32), numbers("f4", 3, 2, 2), numbers("i4", 5))


def test_implicit_resize(pair):
    pair.check("two", numbers("f4", 10), numbers("f4", 15), shape=(12,))
    pair.check("two", numbers("f4", 10, 20), numbers("f4", 15, 4), shape=(12, 7))
    pair.check("two", numbers("f4", 10, 20, 3, 2), numbers("f4", 15, 4, 1, 5), shape=(12, 7, 3, 3))
    pair.check("two", numbers("f4", 10, 20), numbers("f4", 12, 7), shape=(12, 7), domain=((1, 2), (12, 5)))


def test_a_part_of_an_out_keeps_the_rest(pair):
    for shape, domain in (((12, 7), ((1, 2), (12, 5))), ((3, 40, 90), ((1, 2, 3), (3, 39, 80)))):
        out = numbers("f4", *shape)
        pair.check("two", numbers("f4", *shape), numbers("f4", *shape), out={"r": out}, domain=domain)


def test_kernels_that_call_kernels(pair):
    pair.check("calls", RNG.integers(-3, 30, 20).astype(np.int32), numbers("f4", 25), numbers("f4", 12))


def test_pixels_without_elements_do_not_run(pair):
    """They would see zeros, which this loop never ends from."""
    n = RNG.integers(1, 3000, 9001).astype(np.int32)
    pair.check("collatz", n)


def test_built_in_functions(pair):
    pair.check("maths", numbers("f4", 1000))


@pytest.mark.parametrize("shape", [(1,), (97,), (9000,), (12, 10), (3, 4, 6), (2, 3, 4, 5)])
def test_reductions_to_one_value(pair, shape):
    pair.check("total", numbers("i4", *shape, 2))
    pair.check("largest", numbers("f4", *shape, 3))
    pair.check("product", numbers("u4", *shape, 4))


@pytest.mark.parametrize(
    ("shape", "target"),
    [((12, 10), (12, 1)), ((12, 10), (3, 5)), ((12, 10), (10,)), ((12, 10), (12, 10)), ((2, 3, 4, 6), (1, 3, 2, 2))],
)
def test_reductions_to_smaller_streams(pair, shape, target):
    pair.check("total", numbers("i4", *shape, 2), shape=target)
    pair.check("product", numbers("u4", *shape, 4), shape=target)


def test_streams_parts_of_them_and_queues(pair):
    first, second = (numbers("f4", 40, 50) for _ in range(2))
    with resolve("hd4870"):
        s, t, o = hw.stream(first), hw.stream(second), hw.stream(np.zeros((40, 50), np.float32))
        pair.pixels.two(s.domain((3, 4), (23, 34)), t.domain((10, 10), (30, 40)), out=o.domain((1, 1), (21, 31)))
        want = np.zeros((40, 50), np.float32)
        want[1:21, 1:31] = pair.buffers.two(first[3:23, 4:34].copy(), second[10:30, 10:40].copy())
        assert (np.asarray(o) == want).all()
        queue = hw.Queue()
        one = pair.pixels.two(s, t, queue=queue)
        two = pair.pixels.two(one, t, queue=queue)
        part = pair.pixels.two(two.domain((0, 0), (20, 50)), t.domain((0, 0), (20, 50)), queue=queue)
        queue.wait()
        whole = pair.buffers.two(pair.buffers.two(first, second), second)
        assert (np.asarray(two) == whole).all()
        assert (np.asarray(part) == pair.buffers.two(whole[:20].copy(), second[:20].copy())).all()


def test_too_large_for_textures_runs_with_buffers(pair):
    a = numbers("f4", 3, 8193, 4)
    pair.check("plane", EDGES.reshape(2, 8), a)


def test_tables_of_built_in_functions_are_beside_textures_and_not_beside_scatter():
    tables = Pair(
        """kernel void f(float a<>, out float r<>) { r = (float)cos((double)a * 1.0e20); }
        kernel void g(float a<>, out float r[]) { r[instance().x] = (float)cos((double)a * 1.0e20); }""",
        "hd4870",
    )
    a = numbers("f4", 50)
    tables.check("f", a)
    tables.check("g", a, shape=(50,))


def test_endless_loops_are_stopped():
    program = hw.compile(
        "kernel void f(float a<>,\n  out float b<>)\n{\n  while (a != 0.5f) { }\n  b = a; }", language="brook"
    )
    with pytest.raises(KernelFault, match="longer than its time limit"):
        program.f(np.zeros(4, np.float32), device="hd4870", time_limit=0.2)


def test_doubles_are_refused_where_there_are_none():
    program = hw.compile("kernel void f(double a<>, out double b<>) { b = a * a; }", language="brook")
    with pytest.raises(SourceError, match="double precision"):
        program.f(np.ones(4), device="hd2600-xt")


def test_layouts():
    assert natural((8192,), 8192) == Layout(8192, 1, 8192)
    assert natural((8193,), 8192) is None
    assert natural((3, 4, 5), 8192) is None
    assert rolled((3, 4, 5), 8192) == Layout(60, 1, 60)
    assert rolled((10007,), 8192) == Layout(64, 157, 10007, 6)
    assert rolled((1 << 26,), 8192) == Layout(8192, 8192, 1 << 26, 13)
    assert rolled(((1 << 26) + 1,), 8192) is None
    assert rolled((10007,), 8192).rectangles == ((0, 0, 64, 156), (0, 156, 23, 1))
    assert rolled((1 << 14,), 8192).rectangles == ((0, 0, 128, 128),)


def test_passes_of_a_reduction_divide_by_prime_factors(pair):
    module = pair.pixels.module.pixels
    for name, wanted in (("total", [(6, 4), (3, 2), (1, 1)]), ("product", [(12, 4), (12, 2), (12, 1)])):
        kernel = module.kernels[name]
        source, result = kernel.parameters
        target = (1, 1) if name == "total" else (12, 1)
        passes = plan_reduction(kernel, source, result, (12, 8), target, 8192)
        assert [one.numbers["domain", ""] for one in passes] == [extents(shape) for shape in wanted]


GROUPS = """
Attribute[GroupSize(32)]
kernel void rotate(int4 a<>, int4 b[], out int o[])
{
    shared int4 l[96];
    int i = instance().x;
    l[3 * instanceInGroup().x] = a;
    l[3 * instanceInGroup().x + 2] = b[i];
    l[3 * instanceInGroup().x + 1].xy = a.zw;
    l[3 * instanceInGroup().x + 1].zw = b[i].xy;
    syncGroup();
    o[i] = l[(i * 7 + 1) % 96].x + l[3 * (31 - instanceInGroup().x) + 1].z + l[95 - instanceInGroup().x].w;
}
"""


@pytest.mark.parametrize("count", [32, 1000, 9000])
def test_work_groups_of_r700_own_parts_of_shared_memory(count):
    program = hw.compile(GROUPS, language="brook")
    a, b = numbers("i4", count, 4), numbers("i4", count + 5, 4)
    want = program.rotate(a, b, shape=(count,), device="cpu")
    whole = count // 32 * 32  # what surplus work-items put in shared memory is their own affair
    got = program.rotate(a, b, shape=(count,), device="hd4870")
    assert (got[:whole] == want[:whole]).all()


def test_work_groups_are_refused_without_compute_shaders():
    program = hw.compile(GROUPS, language="brook")
    a = numbers("i4", 64, 4)
    with pytest.raises(ResourceError, match="no compute shaders"):
        program.rotate(a, a, shape=(64,), device="hd3870")


CHOICES = """
typedef struct { float x; float4 v; int k; } S;
kernel float pick(float s, float a[], float b[]) { if (s < 4.0f) return a[s]; return b[s]; }
kernel void by_if(float s<>, float a[], float b[], out float o<>)
{ o = 0.0f; if (s < 3.0f) o = a[s]; else if (s < 6.0f) o = b[s]; }
kernel void by_expression(float s<>, float a[], float b[], out float o<>) { o = s < 4.0f ? a[s] : b[s]; }
kernel void by_call(float s<>, float a[], float b[], out float o<>)
{ if (s < 2.0f) o = pick(s, b, a); else o = pick(s, a, b) - pick(s, b, b); }
kernel void in_loop(float s<>, float a[], float b[], out float o<>)
{ int i; o = 0.0f; for (i = 0; i < 4; i++) { if (s > (float)i) o += a[s + (float)i]; else o += b[s + (float)i]; } }
kernel void of_structs(float s<>, S a[], S b[], out float o<>, out float4 p<>)
{ if (s < 4.0f) { o = a[s].x + (float)a[s].k; p = a[s].v; } else { o = b[s].x - (float)b[s].k; p = b[s].v; } }
kernel void of_constants(float s<>, float a[8], float b[8], out float o<>)
{ int i; i = (int)s; if (s < 4.0f) o = a[i]; else o = b[i]; }
"""


@pytest.mark.parametrize("device", ["hd2600-xt", "hd4870"])
def test_arrays_may_be_chosen_by_control_flow(device):
    choices = Pair(CHOICES, device)
    s, a, b = np.arange(8, dtype=np.float32), numbers("f4", 8), numbers("f4", 8)
    for name in ("by_if", "by_expression", "by_call", "in_loop", "of_constants"):
        choices.check(name, s, a, b)
    dtype = choices.pixels.structs["S"]
    structs = [np.zeros(8, dtype) for _ in range(2)]
    for one in structs:
        one["x"], one["v"], one["k"] = numbers("f4", 8), numbers("f4", 8, 4), np.arange(8)
    choices.check("of_structs", s, *structs)
