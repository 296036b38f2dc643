"""Vector values that stay as they lie in memory, in several layouts, against one lane, NumPy and PoCL."""

import numpy as np
import pytest
from kernel_runs import Layout, differences, on_pocl, source, verify

from benchmarks.forced_layouts import build
from headwater import Local

FILE = "packed.cl"
N = 75
LAYOUTS = (Layout(1), None, Layout(8), Layout(16, 2), Layout(4, 2, 1, 0))
"""One lane, what the runtime chooses, and registers that are filled once, by halves and several times over."""


@pytest.fixture
def rng():
    return np.random.default_rng(21)


def integers(rng, *shape, dtype=np.int32, low=0, high=100):
    return rng.integers(low, high, shape).astype(dtype)


def everywhere(kernel, sizes, local, args):
    """The results of all layouts, which PoCL's are compared with, too."""
    found = verify(FILE, kernel, sizes, local, args, layouts=LAYOUTS)
    theirs = on_pocl(FILE, kernel, sizes, local, args)
    if theirs is not None:
        assert differences(theirs, found) == []
    return found


def test_bytes_stay_in_one_register(rng):
    a, b = (integers(rng, N, 4, dtype=np.uint8, high=256) for _ in range(2))
    out = everywhere("extremes", (N,), None, [a, b, np.zeros_like(a)])[2]
    assert (out == np.maximum(a, b) - np.minimum(a, b) + np.arange(1, 5, dtype=np.uint8)).all()


def test_conversions_and_uniform_vectors(rng):
    a, b = (integers(rng, N, 4, dtype=np.uint8, high=256) for _ in range(2))
    weights = np.array([0.5, 0.25, 2.0, -1.0], np.float32)
    out = everywhere("blend", (N,), None, [a, b, np.zeros_like(a), weights, N - 3])[2]
    mixed = (a.astype(np.float32) - b) * weights + b
    assert (out[: N - 3] == np.clip(np.trunc(mixed), 0, 255)[: N - 3]).all()
    assert not out[N - 3 :].any()


def test_masks_of_lanes_hold_for_their_components(rng):
    everywhere(
        "masked",
        (N,),
        None,
        [integers(rng, N, 8, dtype=np.int16), np.zeros((N, 8), np.int16), integers(rng, N, high=9)],
    )


def test_swizzles_and_single_components(rng):
    a = rng.normal(size=(N, 4)).astype(np.float32)
    p = integers(rng, N, 4, dtype=np.uint8, high=256)
    args = [a, np.zeros((2 * N, 4), np.float32), np.zeros(N, np.uint32), p]
    words = everywhere("swizzles", (N,), None, args)[2]
    q = p[:, [2, 1, 0, 3]] + np.uint8(7)
    assert (words == (q.copy().view(np.uint32)[:, 0] ^ q[:, 1])).all()


def test_vectors_at_any_place(rng):
    a = rng.normal(size=(4 * N, 4)).astype(np.float32)
    b, c = integers(rng, 4 * N, 4, dtype=np.uint8), integers(rng, 4 * N, 4, dtype=np.int16)
    index = rng.permutation(N).astype(np.int32)
    outs = [np.zeros((4 * N, 4), dtype) for dtype in (np.float32, np.uint8, np.int16)]
    x, y, z = everywhere("places", (N,), None, [a, b, c, index, *outs, N])[4:]
    i = np.arange(N)
    assert (x[3 * i + 1] == a[2 * i] + a[index] - a[N - 1 - i]).all()
    assert (y[2 * i] == b[index] + b[3 * i]).all()
    assert (y[2 * index + 1] == np.maximum(b[index], b[i])).all()
    assert (z[index] == c[index[N - 1 - i]] * c[i]).all()


@pytest.mark.parametrize("group", [5, 75])
def test_whole_vectors_live_across_barriers(rng, group):
    a = integers(rng, N, 4)
    verify(FILE, "across_barriers", (N,), (group,), [a, np.zeros_like(a), Local(16 * group)], layouts=LAYOUTS)


def test_taken_apart(rng):
    f = rng.normal(size=(N + 1, 4)).astype(np.float32)
    a = integers(rng, N, 4) | 1  # it divides by the last two bits
    verify(FILE, "taken_apart", (N,), None, [a, np.zeros_like(a), np.zeros(N, np.float32), f], layouts=LAYOUTS)


def test_neighbours(rng):
    image = integers(rng, 12, 40, 4, dtype=np.uint8, high=256)
    out = everywhere("neighbours", (38, 10), None, [image, np.zeros_like(image), 40])[1]
    wide = image.astype(int)
    most = np.max([wide[1 + dy : 11 + dy, 1 + dx : 39 + dx] for dy in (-1, 0, 1) for dx in (-1, 1)], axis=0)
    assert (out[1:-1, 1:-1] == (most + wide[1:-1, 1:-1] + 1) // 2).all()


def test_wide_vectors(rng):
    a, b = (integers(rng, N, 16, dtype=np.uint8, high=256) for _ in range(2))
    halves = rng.normal(size=(N, 2))
    args = [a, b, np.zeros_like(a), np.zeros((N, 16), np.uint16), halves]
    _, _, out, sums, after = everywhere("wide", (N,), None, args)
    assert (out == np.minimum(a.astype(int) + b, 255) & 254).all()
    assert (sums == a.astype(int) + b[:, ::-1]).all()
    assert (after == a[:, :2] * 0.5 - halves).all()


def test_scalar_operations_on_all_components(rng):
    a = rng.normal(size=(N, 4)).astype(np.float32)
    everywhere("by_hand", (N,), None, [a, np.zeros_like(a), np.zeros(N, np.float32)])


def test_private_arrays_lie_element_by_element(rng):
    a = integers(rng, N, 4, dtype=np.uint8, high=256)
    everywhere("kept", (N,), None, [a, np.zeros_like(a)])


def test_loads_of_neighbours(rng):
    data, numbers = integers(rng, 4 * N, dtype=np.uint8, high=256), integers(rng, 4 * N)
    index = rng.permutation(N).astype(np.int32)
    args = [data, numbers, index, np.zeros(N, np.int32), np.zeros(N, np.int32)]
    _, after, _, sums, others = everywhere("loads_of_neighbours", (N,), None, args)
    assert (sums == data.reshape(N, 4) @ np.array([1, 3, 5, 7])).all()
    expected = numbers.reshape(N, 4).copy()
    expected[:, 2] = expected[:, 0] * expected[:, 1]
    expected[:, 0] = expected[:, 2] - expected[:, 3]
    assert (after.reshape(N, 4) == expected).all()
    assert (others == expected[index] @ np.array([1, 10, 100, 1000])).all()


@pytest.mark.parametrize("layout", [Layout(1), Layout(16)])
def test_indices_that_wrap_around(layout):
    try:
        data = np.zeros(1 << 32, np.uint8)  # of which only the ends are ever touched
    except MemoryError:
        pytest.skip("no room for 4 GiB of addresses")
    first = np.arange((1 << 30) - 37, (1 << 30) + 27)
    at = (4 * first) % (1 << 32)
    data[at], data[at + 1] = np.arange(64), np.arange(64)[::-1] * 2
    out = np.zeros(64, np.uint8)
    kernel = build(source(FILE), layout).kernels["wrapping"]
    kernel.prepare((64,), None, (int(first[0]),))([data, out], None, None).wait()
    assert (out == data[at] + data[at + 1]).all()
