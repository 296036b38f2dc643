"""Reductions of Brook+ against NumPy, over every way in which they are launched; sub-streams where whole arrays go."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.runtime.brook import call_plans
from headwater.runtime.brook.plan import plan_reduction

SOURCE = """
reduce void total(float a<>, reduce float t<>) { t += a; }
reduce void bits(uint3 a<>, reduce uint3 t<>) { t ^= a; }
reduce void last(int a<>, reduce int t<>) { if (a != 0) t = a; }
reduce void chain(uint2 a<>, reduce uint2 t<>) { uint x = t.x * a.x; t.y = t.y * a.x + a.y; t.x = x; }
reduce void at_least(float a<>, float low, reduce float t<>) { t = max(t, max(a, low)); }
typedef struct SpanRec { int low; int high; } Span;
reduce void hull(Span a<>, reduce Span t<>) { t.low = min(t.low, a.low); t.high = a.high; }
kernel void pick(int i<>, float a[], out float b<>) { b = a[i]; }
kernel void corner(float2 a[][], out float2 b<>) { int2 i = instance().xy; b = a[i.y][i.x]; }
kernel void weigh(float a<>, float w[3][2], out float b<>) { b = a * (w[0][0] + w[2][1]); }
kernel void spread(float a<>, int i<>, out float b[]) { b[i] = a; }
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
    return np.random.default_rng(1406)


def tiles(array: np.ndarray, rank: int, target: tuple[int, ...]) -> np.ndarray:
    """The elements that each result is made of, in order: shape (*target, elements, …)."""
    shape, rest = array.shape[:rank], array.shape[rank:]
    padded = (1,) * (rank - len(target)) + target
    split = array.reshape([n for m, k in zip(padded, shape, strict=True) for n in (m, k // m)] + list(rest))
    axes = [*range(0, 2 * rank, 2), *range(1, 2 * rank, 2), *range(2 * rank, 2 * rank + len(rest))]
    return split.transpose(axes).reshape(*target, -1, *rest)


def last(values: np.ndarray) -> np.ndarray:
    """The last number that is not zero; the first element where all are."""
    place = values.shape[-1] - 1 - (values[..., ::-1] != 0).argmax(-1)
    return np.take_along_axis(values, place[..., None], -1)[..., 0]


def chain(values: np.ndarray) -> np.ndarray:
    """One after the other, x -> x * a + b, modulo 2**32."""
    items = np.moveaxis(values, -2, 0)
    return reduce(lambda t, a: np.stack([t[..., 0] * a[..., 0], t[..., 1] * a[..., 0] + a[..., 1]], -1), items)


SHAPES = [
    ((5,), None),
    ((100_003,), None),
    ((66_000,), None),
    ((257,), None),
    ((70, 3000), None),
    ((70, 3000), (3000,)),
    ((71, 5000), (1, 5000)),
    ((999, 7), (7,)),
    ((4096, 4), (4,)),
    ((3001, 16), (16,)),
    ((3000, 3), (2, 3)),
    ((4099, 1), (1, 1)),
    ((6, 1009), (6, 1)),
    ((64, 31), (64, 1)),
    ((9, 96), (9, 1)),
    ((9, 96), (9, 3)),
    ((3, 40, 11), (3, 1, 11)),
    ((3, 40, 11), (3, 10, 11)),
    ((3, 40, 11), (1, 1, 11)),
    ((12, 40, 8), (3, 1, 8)),
    ((12, 40, 8), (3, 1, 4)),
    ((12, 40, 8), (3, 20, 8)),
    ((2, 9, 4, 70), (2, 1, 1, 70)),
    ((2, 9, 4, 70), (2, 3, 4, 70)),
    ((2, 9, 4, 70), (2, 9, 1, 70)),
    ((2, 9, 4, 70), (1, 1, 1, 1)),
    ((513, 257), (257,)),
    ((8200, 130), (130,)),
    ((2, 2, 3), (2, 1, 3)),
    ((17, 17), (17, 17)),
]


@pytest.mark.parametrize(("shape", "target"), SHAPES)
def test_operands_are_all_folded_and_in_order(
    program: Any, device: str, rng: np.random.Generator, shape: tuple[int, ...], target: tuple[int, ...] | None
) -> None:
    rank, wanted = len(shape), target or (1,)

    def check(name: str, a: np.ndarray, expected: np.ndarray, *values: float) -> None:
        got = getattr(program, name)(a, *values, shape=target, device=device)
        np.testing.assert_array_equal(got, expected if target else expected[0], err_msg=name)

    a = rng.integers(-8, 8, shape).astype(np.float32)
    check("total", a, tiles(a, rank, wanted).sum(-1))
    if target != shape:  # what is one element is not folded
        check("at_least", a, np.maximum(tiles(a, rank, wanted).max(-1), 7.5), 7.5)
    u = rng.integers(0, 2**32, (*shape, 3), np.uint32)
    check("bits", u, np.bitwise_xor.reduce(tiles(u, rank, wanted), -2))
    i = rng.integers(-50, 50, shape).astype(np.int32) * (rng.random(shape) < 0.02)
    check("last", i.astype(np.int32), last(tiles(i.astype(np.int32), rank, wanted)))
    if math.prod(shape) < 300_000:
        c = rng.integers(0, 2**32, (*shape, 2), np.uint32) | 1
        check("chain", c, chain(tiles(c, rank, wanted)))


@pytest.mark.parametrize(
    ("shape", "target"),
    [((100_003,), None), ((257,), None), ((71, 5000), (5000,)), ((4096, 4), (4,)), ((64, 31), (64, 1))],
)
def test_launches_as_gpus_get_them_fold_in_order(
    monkeypatch: pytest.MonkeyPatch,
    opencl_device: str,
    rng: np.random.Generator,
    shape: tuple[int, ...],
    target: tuple[int, ...] | None,
) -> None:
    monkeypatch.setattr(call_plans, "_is_gpu", lambda device: True)
    program = hw.compile(SOURCE, language="brook", device=opencl_device)
    c = rng.integers(0, 2**32, (*shape, 2), np.uint32) | 1
    expected = chain(tiles(c, len(shape), target or (1,)))
    np.testing.assert_array_equal(program.chain(c, shape=target), expected if target else expected[0])
    a = rng.integers(-8, 8, shape).astype(np.float32)
    expected = tiles(a, len(shape), target or (1,)).sum(-1)
    np.testing.assert_array_equal(program.total(a, shape=target), expected if target else expected[0])


def test_structs_are_reduced(program: Any, device: str, rng: np.random.Generator) -> None:
    spans = np.zeros((600, 5), program.structs["Span"])
    spans["low"], spans["high"] = rng.integers(-99, 99, (2, 600, 5))
    got = program.hull(spans, shape=(5,), device=device)
    np.testing.assert_array_equal(got["low"], spans["low"].min(0))
    np.testing.assert_array_equal(got["high"], spans["high"][-1])
    assert program.hull(spans, device=device)["high"] == spans["high"][-1, -1]


def test_every_plan_of_columns_keeps_its_promises() -> None:
    """What `reduce_columns` asks for: no stretch without a full first row; partial results that fit their buffer."""
    program = hw.compile(SOURCE, language="brook")
    for name in ("total", "last"):
        signature = program.module.kernels[name]
        source, result = (next(p for p in signature.parameters if p.kind == k) for k in ("input", "reduce"))
        for gpu in (False, True):
            for rows in (*range(2, 90), 127, 1000, 1021, 65536, 1_000_003):
                for inner in (1, 2, 3, 16, 255, 256, 257, 5000):
                    for outer in (1, 3, 100_000):
                        if rows * inner * outer >= 2**31:
                            continue
                        launches, partial = plan_reduction(
                            signature, source, result, (outer, rows, inner), (outer, 1, inner), gpu
                        )
                        if launches[0].entry.variant == "reduce_columns":
                            check_columns(launches, partial, outer, rows, inner)


def check_columns(launches: tuple[Any, ...], partial: int, outer: int, rows: int, inner: int) -> None:
    plane = rows * inner
    for number, launch in enumerate(launches):
        fixed = {arg.role: slot.fixed for arg, slot in zip(launch.entry.args, launch.slots, strict=True)}
        width, stretches, planes, segment = fixed["domain"]
        lines = -(-plane // width)
        run = -(-lines // stretches)
        assert planes == outer
        assert fixed["count"] == plane
        assert (stretches - 1) * run < plane // width
        assert launch.global_size[0] // launch.local_size[0] * segment >= width
        assert launch.global_size[1:] == (stretches, outer)
        assert width % inner == 0
        plane = stretches * width
        if number + 1 < len(launches):
            assert partial == outer * plane
    assert plane == inner


# -- sub-streams where arrays are wanted whole -------------------------------------------------------------------------


def test_sub_streams_are_gathered_from(program: Any, device: str, rng: np.random.Generator) -> None:
    a = rng.random(2000, np.float32)
    part = hw.stream(a, device=device).domain(37, 1000)
    i = rng.integers(0, 963, 500).astype(np.int32)
    np.testing.assert_array_equal(program.pick(i, part), a[37:1000][i])
    beyond = np.array([-5, 962, 963, 5000], np.int32)
    np.testing.assert_array_equal(program.pick(beyond, part), a[37:1000][[0, 962, 962, 962]])
    b = rng.random((9, 8, 2), np.float32)
    got = program.corner(hw.stream(b, device=device).domain((2, 3), (7, 8)), shape=(5, 5))
    np.testing.assert_array_equal(got, b[2:7, 3:8])
    w = rng.random((6, 4), np.float32)
    x = rng.random(10, np.float32)
    got = program.weigh(x, hw.stream(w, device=device).domain((1, 1), (4, 3)))
    np.testing.assert_allclose(got, x * (w[1, 1] + w[3, 2]), rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "start", "end", "target"),
    [
        ((5000,), 3, 4999, None),
        ((5000,), 32, 4128, (4,)),
        ((60, 70), (0, 0), (60, 70), (70,)),
        ((60, 70), 32, 60, (70,)),
        ((60, 70), (3, 5), (59, 69), (64,)),
        ((60, 70), (3, 5), (59, 69), (56, 1)),
        ((4, 50, 70), (1, 2, 3), (4, 50, 67), (3, 1, 64)),
        ((3, 4, 5, 70), (1, 1, 2, 3), (3, 4, 5, 67), None),
        ((3, 4, 5, 70), (2, 1, 2), (3, 2, 3), None),
    ],
)
def test_sub_streams_are_reduced(
    program: Any, device: str, rng: np.random.Generator, shape: Any, start: Any, end: Any, target: Any
) -> None:
    a = rng.integers(-8, 8, shape).astype(np.float32)
    part = hw.stream(a, device=device).domain(start, end)
    inside = a[part.index]
    expected = tiles(inside, inside.ndim, target or (1,)).sum(-1)
    got = np.asarray(program.total(part, shape=target))
    np.testing.assert_array_equal(got, expected if target else expected[0])
    c = rng.integers(0, 2**32, (*shape, 2), np.uint32)
    part = hw.stream(c, device=device).domain(start, end)
    expected = chain(tiles(c[part.index], inside.ndim, target or (1,)))
    got = np.asarray(program.chain(part, shape=target))
    np.testing.assert_array_equal(got, expected if target else expected[0])


def test_a_compact_sub_stream_shares_memory_only_where_it_is_one_run(device: str) -> None:
    whole = hw.stream(np.arange(64 * 64, dtype=np.float32).reshape(64, 64), device=device)
    for start, end, is_run in (((32, 0), (40, 64), True), ((5, 32), (6, 64), True), ((0, 0), (2, 32), False)):
        part = whole.domain(start, end)
        compact = part.compact()
        np.testing.assert_array_equal(compact.read(), part.read())
        whole.write(whole.read() + 1)
        shared = (compact.read() == part.read()).all()
        assert shared == (is_run and device == "cpu")


def test_sub_streams_see_what_the_queue_writes_before(program: Any, device: str) -> None:
    base = hw.stream((4096,), device=device)
    i = hw.stream(np.arange(4096, dtype=np.int32), device=device)
    ones = hw.stream(np.ones(4096, np.float32), device=device)
    with hw.Queue(device) as queue:
        program.pick(i, ones, out=base, queue=queue)
        got = program.total(base.domain(7, 4000), shape=(1,), queue=queue)
    assert got.read()[0] == 3993


def test_what_sub_streams_cannot_be_is_said(program: Any, device: str) -> None:
    whole = hw.stream((10, 2), device=device)
    x, i = np.ones(4, np.float32), np.arange(4, dtype=np.int32)
    with pytest.raises(hw.LaunchError, match=r"`out float b\[\]`: a sub-stream has no array of its own to write to"):
        program.spread(x, i, out=hw.stream(10, device=device).domain(2, 8))
    with pytest.raises(hw.LaunchError, match=r"a sub-stream has no array of its own to write to"):
        program.total(hw.stream((40, 5), device=device), out=whole.domain((0, 0), (5, 1)))
    with pytest.raises(hw.LaunchError, match="divides the components of a float2"):
        program.corner(hw.stream((9, 8, 2), device=device).domain((0, 0, 0), (9, 8, 1)), shape=(9, 8))
    with pytest.raises(hw.LaunchError, match=r"its sizes are \(3, 2\)"):
        program.weigh(x, whole.domain((0, 0), (2, 2)))
