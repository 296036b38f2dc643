"""Calls of Brook+ kernels against NumPy: every kind of argument, shape and result, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headwater as hw

SOURCE = """
typedef struct PairRec { float first; float second; } Pair;
typedef struct MixedRec { int key; float4 where; double weight; } Mixed;

kernel void sum(float a<>, float b<>, out float c<>) { c = a + b; }
kernel void saxpy(float a, float x<>, float y<>, out float z<>) { z = a * x + y; }
kernel void scale4(float4 a<>, float4 by, out float4 b<>) { b = a * by; }
kernel void scale3(float3 a<>, float3 by, out float3 b<>) { b = a * by; }
kernel void scale2(double2 a<>, double2 by, out double2 b<>) { b = a * by; }
kernel void add_chars(char4 a<>, char4 b<>, out char4 c<>) { c = a + b; }
kernel void add_uchars(uchar a<>, uchar b<>, out uchar c<>) { c = a + b; }
kernel void add_shorts(short3 a<>, short3 b<>, out short3 c<>) { c = a + b; }
kernel void add_ushorts(ushort2 a<>, ushort2 b<>, out ushort2 c<>) { c = a + b; }
kernel void add_uints(uint a<>, uint b<>, out uint c<>) { c = a + b; }
kernel void add_doubles(double a<>, double b, out double c<>) { c = a + b; }
kernel void divide(int a<>, int b<>, out int q<>, out int r<>) { q = a / b; r = a % b; }
kernel void position(out int4 p<>) { p = instance(); }
kernel void whereis(float a<>, out float4 p<>) { p = indexof(a); }
kernel void transpose(float a[][], out float b<>) { int2 i = instance().xy; b = a[i.x][i.y]; }
kernel void pick(int i<>, float a[], out float b<>) { b = a[i]; }
kernel void pick3(int4 i<>, float a[][][], out float b<>) { b = a[i.z][i.y][i.x]; }
kernel void weigh(float a<>, float w[3][2], out float b<>)
{ b = a * (w[0][0] + w[0][1] + w[1][0] + w[1][1] + w[2][0] + 10.0f * w[2][1]); }
kernel void spread(float a<>, int i<>, out float b[]) { b[i] = a; }
kernel void bump(out int a[]) { int i = instance().x; a[i] = a[i] + 1; }
kernel void first(Pair p<>, out float f<>) { f = p.first - p.second; }
kernel void make(float a<>, float b<>, out Pair p<>) { p.first = a; p.second = b; }
kernel void shift(Pair by, float a<>, out float b<>) { b = a * by.first + by.second; }
kernel void mixed(Mixed m<>, out Mixed n<>) { n.key = m.key + 1; n.where = m.where; n.weight = m.weight; }
kernel void ten(float a<>, out float o0<>, out float o1<>, out float o2<>, out float o3<>, out float o4<>,
                out float o5<>, out float o6<>, out float o7<>, out float o8<>, out float o9<>)
{ o0 = a; o1 = a + 1.0f; o2 = a + 2.0f; o3 = a + 3.0f; o4 = a + 4.0f;
  o5 = a + 5.0f; o6 = a + 6.0f; o7 = a + 7.0f; o8 = a + 8.0f; o9 = a + 9.0f; }
kernel float twice(float a) { return a + a; }
kernel void uses_twice(float a<>, out float b<>) { b = twice(a); }
reduce void total(float a<>, reduce float t<>) { t += a; }
reduce void largest(int a<>, reduce int m<>) { m = max(m, a); }
reduce void total4(float4 a<>, reduce float4 t<>) { t += a; }
reduce void total_double(double a<>, reduce double t<>) { t += a; }
kernel void mirror(float a<>, int width, out float b[][]) { int2 i = instance().xy; b[i.y][width - 1 - i.x] = a; }
Attribute[GroupSize(16)]
kernel void place_in_group(float a<>, out float4 b[][])
{ int2 i = instance().xy; b[i.y][i.x] = float4((float)i.x, (float)i.y, (float)instanceInGroup().x, a); }
Attribute[GroupSize(64)]
kernel void reverse_groups(float4 a<>, out float4 b[])
{
    shared float4 l[64];
    int i = instance().x;
    int j = instanceInGroup().x;
    l[instanceInGroup().x] = a;
    syncGroup();
    b[i] = l[63 - j];
}
"""


@pytest.fixture(scope="module", params=["cpu", "opencl"])
def device(request: pytest.FixtureRequest) -> str:
    """The cpu, and an OpenCL device where one works."""
    return "cpu" if request.param == "cpu" else str(request.getfixturevalue("opencl_device"))


@pytest.fixture(scope="module")
def program() -> Any:
    return hw.compile(SOURCE, language="brook")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1405)


SHAPES = [(1,), (7,), (1021,), (1, 1), (5, 13), (31, 17), (3, 4, 5), (2, 3, 2, 5)]


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_streams_of_every_rank(program: Any, device: str, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    a, b = floats(rng, *shape), floats(rng, *shape)
    assert np.array_equal(program.sum(a, b, device=device), a + b)


def test_arguments_by_name_and_values(program: Any, device: str, rng: np.random.Generator) -> None:
    x, y = floats(rng, 101), floats(rng, 101)
    z = program.saxpy(2.5, y=y, x=x, device=device)
    assert z.dtype == np.float32
    assert np.allclose(z, 2.5 * x + y, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 255, 1027])
def test_vectors_are_a_last_axis(program: Any, device: str, rng: np.random.Generator, n: int) -> None:
    four, three, two = floats(rng, n, 4), floats(rng, n, 3), rng.normal(size=(n, 2))
    assert np.array_equal(program.scale4(four, (1, 2, 3, 4), device=device), four * np.float32([1, 2, 3, 4]))
    assert np.array_equal(program.scale3(three, np.float32([1, 2, 3]), device=device), three * np.float32([1, 2, 3]))
    assert np.array_equal(program.scale2(two, [0.5, -3.0], device=device), two * np.array([0.5, -3.0]))


@pytest.mark.parametrize(
    ("name", "dtype", "width"),
    [
        ("add_chars", np.int8, 4),
        ("add_uchars", np.uint8, 0),
        ("add_shorts", np.int16, 3),
        ("add_ushorts", np.uint16, 2),
        ("add_uints", np.uint32, 0),
    ],
)
@pytest.mark.parametrize("shape", [(1,), (13,), (9, 31)])
def test_integers_wrap_around(
    program: Any, device: str, rng: np.random.Generator, name: str, dtype: Any, width: int, shape: tuple[int, ...]
) -> None:
    limits = np.iinfo(dtype)
    whole = (*shape, width) if width else shape
    a, b = (rng.integers(limits.min, limits.max, whole, dtype, endpoint=True) for _ in range(2))
    got = getattr(program, name)(a, b, device=device)
    assert got.dtype == dtype
    assert np.array_equal(got, a + b)


def test_doubles(program: Any, device: str, rng: np.random.Generator) -> None:
    a = rng.normal(size=77)
    assert np.array_equal(program.add_doubles(a, 1 / 3, device=device), a + 1 / 3)


def test_division_truncates_and_the_remainder_has_the_dividend_s_sign(program: Any, device: str) -> None:
    a, b = np.array([7, -7, 7, -7], np.int32), np.array([3, 3, -3, -3], np.int32)
    quotient, remainder = program.divide(a, b, device=device)
    assert quotient.tolist() == [2, -2, -2, 2]
    assert remainder.tolist() == [1, -1, 1, -1]


def test_instance_counts_x_first(program: Any, device: str) -> None:
    got = program.position(shape=(2, 3, 4, 5), device=device)
    w, z, y, x = np.indices((2, 3, 4, 5))
    assert np.array_equal(got, np.stack([x, y, z, w], axis=-1))


def test_indexof_gives_floats(program: Any, device: str) -> None:
    got = program.whereis(np.zeros((4, 6), np.float32), device=device)
    y, x = np.indices((4, 6))
    assert np.array_equal(got, np.stack([x, y, 0 * x, 0 * x], axis=-1).astype(np.float32))


def test_gather_arrays(program: Any, device: str, rng: np.random.Generator) -> None:
    a, i = floats(rng, 5, 9), rng.integers(0, 37, 100).astype(np.int32)
    assert np.array_equal(program.transpose(a, shape=(9, 5), device=device), a.T)
    line = floats(rng, 37)
    assert np.array_equal(program.pick(i, line, device=device), line[i])
    cube = floats(rng, 3, 4, 5)
    j = np.stack([rng.integers(0, n, 50) for n in (5, 4, 3, 1)], axis=-1).astype(np.int32)
    assert np.array_equal(program.pick3(j, cube, device=device), cube[j[:, 2], j[:, 1], j[:, 0]])


def test_constant_arrays(program: Any, device: str, rng: np.random.Generator) -> None:
    a = floats(rng, 10)
    assert np.allclose(program.weigh(a, [[1, 2], [3, 4], [5, 0.5]], device=device), a * 20, rtol=1e-6)
    with pytest.raises(hw.UsageError, match=r"`float w\[3\]\[2\]`: its sizes are \(3, 2\)"):
        program.weigh(a, np.zeros((2, 3), np.float32), device=device)


def test_scatter_arrays_start_as_zeros_or_as_given(program: Any, device: str, rng: np.random.Generator) -> None:
    a, i = floats(rng, 20), rng.permutation(20).astype(np.int32)
    expected = np.zeros(20, np.float32)
    expected[i] = a
    assert np.array_equal(program.spread(a, i, device=device), expected)
    counts = np.arange(33, dtype=np.int32)
    got = program.bump(out=counts, device=device)
    assert got is counts
    assert np.array_equal(counts, np.arange(33) + 1)
    assert np.array_equal(program.bump(shape=5, device=device), np.ones(5))


def test_a_scatter_kernel_runs_over_its_out_array(program: Any, device: str, rng: np.random.Generator) -> None:
    # Brook+: the domain is the output's; inputs are resized to it.
    a, i = floats(rng, 8), np.arange(0, 16, 2, dtype=np.int32)
    got = program.spread(a, i, shape=16, device=device)
    assert np.array_equal(got[::2], a)
    assert not got[1::2].any()


def test_structs(program: Any, device: str, rng: np.random.Generator) -> None:
    pair, mixed = program.structs["Pair"], program.structs["Mixed"]
    p = np.zeros(19, pair)
    p["first"], p["second"] = floats(rng, 19), floats(rng, 19)
    assert np.array_equal(program.first(p, device=device), p["first"] - p["second"])
    made = program.make(p["first"].copy(), p["second"].copy(), device=device)
    assert made.dtype == pair
    assert np.array_equal(made, p)
    a = floats(rng, 5)
    assert np.allclose(program.shift((2.0, 1.0), a, device=device), 2 * a + 1)
    assert np.allclose(program.shift({"second": 1.0, "first": 2.0}, a, device=device), 2 * a + 1)
    assert np.allclose(program.shift(np.array((2, 1), pair), a, device=device), 2 * a + 1)
    m = np.zeros((3, 5), mixed)
    m["key"], m["where"], m["weight"] = rng.integers(0, 99, (3, 5)), floats(rng, 3, 5, 4), rng.normal(size=(3, 5))
    n = program.mixed(m, device=device)
    assert np.array_equal(n["key"], m["key"] + 1)
    assert np.array_equal(n["where"], m["where"])
    assert np.array_equal(n["weight"], m["weight"])


def test_more_than_eight_outputs(program: Any, device: str, rng: np.random.Generator) -> None:
    a = floats(rng, 3, 11)
    outs = program.ten(a, device=device)
    assert len(outs) == 10
    for n, out in enumerate(outs):
        assert np.array_equal(out, a + np.float32(n))


def test_kernels_that_call_kernels(program: Any, device: str, rng: np.random.Generator) -> None:
    a = floats(rng, 6)
    assert np.array_equal(program.uses_twice(a, device=device), a + a)
    with pytest.raises(hw.UsageError, match="can only be called by other kernels"):
        program.twice(1.0)


@pytest.mark.parametrize(
    ("before", "after", "indices"),
    [
        (10, 5, [0, 2, 4, 6, 8]),
        (5, 10, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
        (8, 12, [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7]),
    ],
)
def test_inputs_of_other_sizes_are_resized(
    program: Any, device: str, before: int, after: int, indices: list[int]
) -> None:
    a, b = np.arange(before, dtype=np.float32), np.full(after, 0.5, np.float32)
    assert np.array_equal(program.sum(a, b, shape=after, device=device), np.float32(indices) + 0.5)


def test_resize_in_two_dimensions(program: Any, device: str, rng: np.random.Generator) -> None:
    a, b = floats(rng, 4, 3), floats(rng, 8, 9)
    assert np.array_equal(program.sum(a, b, shape=(8, 9), device=device), a.repeat(2, 0).repeat(3, 1) + b)


def test_a_domain_restricts_what_is_written(program: Any, device: str, rng: np.random.Generator) -> None:
    a, b, c = floats(rng, 6, 8), floats(rng, 6, 8), floats(rng, 6, 8)
    expected = np.zeros((6, 8), np.float32)
    expected[1:4, 2:7] = (a + b)[1:4, 2:7]
    assert np.array_equal(program.sum(a, b, domain=((1, 2), (4, 7)), device=device), expected)
    kept = np.where(expected != 0, expected, c)
    assert np.array_equal(program.sum(a, b, domain=((1, 2), (4, 7)), out=c, device=device), kept)
    line = program.position(shape=10, domain=(3, 5), device=device)
    assert line[:, 0].tolist() == [0, 0, 0, 3, 4, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("count", [1, 2, 17, 256, 257, 4096, 100_003, 1 << 20])
def test_full_reductions(program: Any, device: str, rng: np.random.Generator, count: int) -> None:
    a = rng.integers(-8, 8, count).astype(np.float32)
    total = program.total(a, device=device)
    assert isinstance(total, np.float32)
    assert total == a.sum()
    i = rng.integers(-(10**9), 10**9, count).astype(np.int32)
    assert program.largest(i, device=device) == i.max()


def test_reductions_of_vectors_and_doubles(program: Any, device: str, rng: np.random.Generator) -> None:
    a = rng.integers(-8, 8, (60, 7, 4)).astype(np.float32)
    assert np.array_equal(program.total4(a, device=device), a.sum((0, 1)))
    d = rng.integers(-8, 8, (100, 1000)).astype(np.float64)
    assert program.total_double(d, device=device) == d.sum()


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        ((60,), (12,)),
        ((60,), (60,)),
        ((12, 12), (4, 3)),
        ((12, 12), (12, 1)),
        ((12, 12), (1, 12)),
        ((4, 6, 5), (2, 3, 1)),
        ((33, 64), (33, 1)),
        ((33, 64), (11, 1)),
        ((7, 360), (7, 2)),
        ((3, 5, 1024), (3, 5, 1)),
    ],
)
def test_partial_reductions(
    program: Any, device: str, rng: np.random.Generator, shape: tuple[int, ...], target: tuple[int, ...]
) -> None:
    a = rng.integers(-8, 8, shape).astype(np.float32)
    blocks = a.reshape([n for m, k in zip(target, shape, strict=True) for n in (m, k // m)])
    expected = blocks.sum(tuple(range(1, 2 * len(shape), 2)))
    assert np.array_equal(program.total(a, shape=target, device=device), expected)


def test_compute_mode(program: Any, device: str, rng: np.random.Generator) -> None:
    a = floats(rng, 256, 4)
    got = program.reverse_groups(a, device=device)
    assert np.array_equal(got, a.reshape(4, 64, 4)[:, ::-1].reshape(256, 4))


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (16, 5), (9, 32)])
def test_scatter_and_compute_mode_over_arrays_that_are_not_square(
    program: Any, device: str, rng: np.random.Generator, shape: tuple[int, int]
) -> None:
    a = floats(rng, *shape)
    assert np.array_equal(program.mirror(a, shape[1], device=device), a[:, ::-1])
    y, x = np.indices(shape)
    item = np.arange(a.size).reshape(shape) % 16
    assert np.array_equal(program.place_in_group(a, device=device), np.stack([x, y, item, a], -1).astype(np.float32))


# -- arrays as they come -----------------------------------------------------------------------------------------------


def test_views_copies_and_lists(program: Any, device: str, rng: np.random.Generator) -> None:
    a, b = floats(rng, 20, 30), floats(rng, 20, 30)
    assert np.array_equal(program.sum(a[::2, ::3], b[::2, ::3], device=device), (a + b)[::2, ::3])
    assert np.array_equal(program.sum(a.T, b.T, device=device), (a + b).T)
    assert np.array_equal(program.sum(a[1, 1:], b[1, 1:], device=device), (a + b)[1, 1:])
    assert np.array_equal(program.sum([1, 2.5], [3, 4], device=device), [4, 6.5])
    assert np.array_equal(program.sum(a.astype(">f4"), b, device=device), a + b)


def test_out_arrays_that_are_views_are_written_in_place(program: Any, device: str, rng: np.random.Generator) -> None:
    a, b, whole = floats(rng, 5), floats(rng, 5), np.zeros(10, np.float32)
    assert program.sum(a, b, out=whole[::2], device=device).base is whole
    assert np.array_equal(whole[::2], a + b)
    assert not whole[1::2].any()


def test_repeated_calls_with_changing_shapes_and_values(program: Any, device: str, rng: np.random.Generator) -> None:
    for n in [5, 9, 5, 9, 1000, 5]:
        x, y = floats(rng, n), floats(rng, n)
        for a in (1, 2):
            assert np.allclose(program.saxpy(a, x, y, device=device), a * x + y, rtol=1e-6, atol=1e-6)


def test_streams_stay_on_their_device(program: Any, device: str, rng: np.random.Generator) -> None:
    a, b = floats(rng, 6, 8), floats(rng, 6, 8)
    first, second = hw.stream(a, device=device), hw.stream(b, device=device)
    c = program.sum(first, second)
    assert isinstance(c, hw.Stream)
    d = program.sum(c, b)  # arrays and streams mix
    assert isinstance(d, hw.Stream)
    assert np.array_equal(d.read(), a + b + b)
    assert program.total(hw.stream(np.ones((4, 5), np.float32), device=device)) == 20
    target = hw.stream((6, 8), device=device)
    assert program.sum(first, b, out=target) is target
    assert np.array_equal(np.asarray(target), a + b)
    with hw.Queue(device) as queue:
        e = program.sum(c, second, queue=queue)
        f = program.sum(e, second, queue=queue)
    assert np.array_equal(f.read(), a + b + b + b)


def test_sub_streams_are_read_and_written_in_place(program: Any, device: str, rng: np.random.Generator) -> None:
    a, b = floats(rng, 6, 8), floats(rng, 3, 4)
    whole, part = hw.stream(a, device=device), hw.stream(b, device=device)
    assert np.array_equal(program.sum(whole.domain((1, 2), (4, 6)), part).read(), a[1:4, 2:6] + b)
    target = hw.stream((6, 8), device=device)
    program.sum(part, part, out=target.domain((2, 3), (5, 7)))
    expected = np.zeros((6, 8), np.float32)
    expected[2:5, 3:7] = b + b
    assert np.array_equal(target.read(), expected)


def test_the_event_of_the_last_call_tells_its_time(program: Any, device: str) -> None:
    program.sum(np.ones(1000, np.float32), np.ones(1000, np.float32), device=device)
    assert program.sum.last_event.seconds > 0


# -- what is refused ---------------------------------------------------------------------------------------------------

A = np.ones(4, np.float32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.sum(A), r"sum takes 2 arguments \(a, b\), 1 given, b missing; it is declared sum\(float a<>, "),
        (lambda p: p.sum(A, A, A), r"sum takes 2 arguments \(a, b\), 3 given[^$]*out streams are not passed"),
        (lambda p: p.sum(A, A, A, b=A), r"sum takes 2 arguments"),
        (lambda p: p.sum(A, a=A), r"argument 'a' is given twice"),
        (lambda p: p.sum(A, A, c=A), r"sum has no argument 'c'[^$]*out="),
        (lambda p: p.sum(A, A.astype(np.float64)), r"`float b<>`: got float64 of shape \(4,\), expected float: float32"),
        (lambda p: p.sum(A, "text"), r"`float b<>`: stream expected: a str is not an array"),
        (lambda p: p.sum(A, ["x"]), r"`float b<>`: this list is not an array of float"),
        (lambda p: p.sum(A, A.reshape(2, 2)), r"different shapes"),
        (lambda p: p.sum(A, A.reshape(2, 2), shape=4), r"`float b<>`: shape \(2, 2\) .* than 'c'"),
        (lambda p: p.sum(A[:0], A[:0]), r"`float a<>`: its shape is \(0,\): a stream needs at least one element"),
        (lambda p: p.sum(np.ones((1,) * 5, np.float32), A), r"`float a<>`: its shape has 5 dimensions"),
        (lambda p: p.sum(np.float32(1), A), r"`float a<>`: [^$]*0 dimensions"),
        (lambda p: p.scale4(A, (1, 2, 3, 4)), r"`float4 a<>`: got float32 of shape \(4,\), expected float4"),
        (lambda p: p.scale4(A.reshape(1, 4), (1, 2)), r"`float4 by`: got tuple \(1, 2\), expected 4 numbers"),
        (lambda p: p.scale4(A.reshape(1, 4), "abcd"), r"`float4 by`: got str"),
        (lambda p: p.saxpy("2", A, A), r"`float a`: got str 2, expected a number"),
        (lambda p: p.pick3(np.zeros((2, 4), np.int32), A), r"`float a\[\]\[\]\[\]`: it has 3 dim[^$]* given 1"),
        (lambda p: p.position(), r"`out int4 p<>`: no input stream gives its shape[^$]*shape="),
        (lambda p: p.position(shape=(2, 0)), r"shape is \(2, 0\): a stream needs at least one element"),
        (lambda p: p.position(shape=(1 << 16, 1 << 15)), r"2147483648 elements; a stream holds fewer"),
        (lambda p: p.position(shape=2.5), r"shape is 2.5"),
        (lambda p: p.position(shape=(1,) * 5), r"5 dimensions"),
        (lambda p: p.sum(A, A, domain=(2, 2)), r"domain \(2,\) to \(2,\) is empty or not inside"),
        (lambda p: p.sum(A, A, domain=(0, 5)), r"not inside the output of shape \(4,\)"),
        (lambda p: p.sum(A, A, domain=3), r"domain is 3; expected \(start, end\)"),
        (lambda p: p.total(A, domain=(0, 1)), r"reduction"),
        (lambda p: p.total(A, shape=3), r"cannot reduce shape \(4,\) to \(3,\)"),
        (lambda p: p.sum(A, A, out=np.zeros(4)), r"`out float c<>`: got float64"),
        (lambda p: p.sum(A, A, out=[0.0] * 4), r"sum has 1 out \(c\), out= has 4"),
        (lambda p: p.sum(A, A, out={"d": A}), r"sum has no out 'd'"),
        (lambda p: p.sum(A, A, out=A), r"`out float c<>`: it shares memory with `float a<>`"),
        (lambda p: p.spread(A.reshape(2, 2), np.zeros((2, 2), np.int32)), r"`out float b\[\]`: it has 1 dimension"),
        (lambda p: p.first(A), r"`Pair p<>`: got float32[^$]*structs\['Pair'\]"),
        (lambda p: p.shift((1, 2, 3), A), r"`Pair by`: cannot be made from \(1, 2, 3\): 2 members expected, 3 given"),
        (lambda p: p.sum[4](A, A), r"Brook\+ kernel: its size comes from its streams"),
        (lambda p: p.summ, r"no kernel 'summ'[^$]*sum"),
        (lambda p: p.sum(A, A, device="no such chip"), r"no such chip"),
    ],
)  # fmt: skip
def test_wrong_calls_are_refused_with_one_clear_message(program: Any, call: Any, message: str) -> None:
    with pytest.raises(hw.HeadwaterError, match=message):
        call(program)


def test_huge_arrays_are_refused_before_they_are_copied(program: Any) -> None:
    huge = np.broadcast_to(np.float32(1), (1 << 17, 1 << 16))
    with pytest.raises(hw.UsageError, match=r"8589934592 elements; a stream holds fewer"):
        program.sum(huge, huge)


def test_an_endless_kernel_is_stopped_by_its_time_limit() -> None:
    spin = "kernel void spin(float a<>, out float b<>) { float x = a; while (x >= 0.0f) { x = 2.0f - x; } b = x; }\n"
    with pytest.raises(hw.KernelFault, match=r"^spin was stopped: .* time limit of 0\.2 s"):
        hw.compile(spin, language="brook").spin(np.ones(100, np.float32), device="cpu", time_limit=0.2)


def test_read_only_outs_are_refused(program: Any) -> None:
    out = np.zeros(4, np.float32)
    out.flags.writeable = False
    with pytest.raises(hw.UsageError, match="read-only"):
        program.sum(A, A, out=out)


def test_aliasing_is_allowed_where_the_environment_permits_it(
    program: Any, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRT_PERMIT_READ_WRITE_ALIASING", "1")
    a = np.arange(9, dtype=np.float32)
    program.sum(a, a, out=a, device=device)
    assert np.array_equal(a, 2 * np.arange(9))
