"""Programs in Numba-CUDA's words, on the cpu device and on chips."""

import numpy as np
import pytest

import headwater as hw
from headwater import cuda
from headwater.cuda.random import (
    create_xoroshiro128p_states,
    xoroshiro128p_normal_float32,
    xoroshiro128p_uniform_float64,
)
from headwater.errors import LaunchError, SourceError, UsageError

FACTOR = 2
WEIGHTS = np.array([1.0, 10.0, 100.0])


@cuda.jit(device=True)
def weighted(value, index):
    return value * WEIGHTS[index % 3]


@cuda.jit
def blocks(values, out):
    tile = cuda.shared.array(shape=8, dtype=cuda.float64)
    own = cuda.local.array(2, cuda.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    own[0] = cuda.blockIdx.x * cuda.blockDim.x + t
    own[1] = cuda.gridDim.x
    tile[t] = values[i]
    cuda.syncthreads()
    out[i] = weighted(tile[cuda.blockDim.x - 1 - t], i) + own[0] * 1000 + own[1]


@pytest.mark.parametrize("device", ["cpu", "vega64"])
def test_blocks_of_threads(device):
    values = np.arange(24.0)
    with hw.device(device):
        out = cuda.device_array_like(values)
        blocks[3, 8](cuda.to_device(values), out)
    i = np.arange(24)
    assert (out.copy_to_host() == values.reshape(3, 8)[:, ::-1].ravel() * WEIGHTS[i % 3] + i * 1000 + 3).all()
    assert weighted(2.0, 1) == 20


@cuda.jit
def constant(out):
    out[cuda.grid(1)] = FACTOR


def test_constants_are_those_of_the_first_launch(monkeypatch):
    out = np.zeros(4, np.int32)
    constant[1, 4](out)
    monkeypatch.setattr(__import__(__name__, fromlist=["FACTOR"]), "FACTOR", 3)
    constant[2, 2](out)
    assert out.tolist() == [2] * 4


@cuda.jit("void(int32[:, :], int32)")
def corners(a, n):
    x, y = cuda.grid(2)
    width, height = cuda.gridsize(2)
    if x < a.shape[1] and y < a.shape[0]:
        a[y, x] = n * (x + 10 * y) + width * height
        cuda.atomic.max(a, (0, 0), 7)


def test_two_dimensions_and_signatures():
    a = np.zeros((3, 5), np.int32)
    corners[(2, 1), (4, 4)](a, 2)
    expected = 2 * (np.arange(5) + 10 * np.arange(3)[:, None]) + 32
    assert (a == expected).all()
    with pytest.raises(LaunchError, match=r"argument 1, a, of corners"):
        corners[1, 1](np.zeros((3, 5)), 2)


@cuda.jit
def average(a, b, steps):
    i = cuda.grid(1)
    grid = cuda.cg.this_grid()
    for step in range(steps):
        if step % 2 == 0:
            now, then = a, b
        else:
            now, then = b, a
        then[i] = (now[i] + now[(i + 1) % len(now)]) / 2
        grid.sync()


def test_a_grid_that_synchronises_is_one_block():
    start = np.random.default_rng(1).random(700)
    a, b = cuda.to_device(start), cuda.to_device(start)
    average.forall(700)(a, b, 5)
    expected = start
    for _ in range(5):
        expected = (expected + np.roll(expected, -1)) / 2
    assert np.allclose(b.copy_to_host(), expected, rtol=1e-14)
    with pytest.raises(LaunchError, match="synchronises its grid, which is one block of threads"):
        average[7, 100](a, b, 5)


@cuda.jit(cuda.void(cuda.types.CPointer(cuda.uint8), cuda.uint32))
def increment(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] += 1


def test_addresses():
    x = cuda.to_device(np.arange(4, dtype=np.uint8))
    increment[1, 32](x.__cuda_array_interface__["data"][0], len(x))
    assert x.copy_to_host().tolist() == [1, 2, 3, 4]
    with pytest.raises(UsageError, match="no device array begins at address 0x40"):
        increment[1, 32](0x40, 4)


@cuda.jit
def turned(values):
    tile = cuda.shared.array(0, cuda.float32)
    t = cuda.threadIdx.x
    tile[t] = values[t]
    cuda.syncthreads()
    values[t] = tile[cuda.blockDim.x - 1 - t]


def test_streams_events_and_shared_memory_of_the_launch():
    values = cuda.to_device(np.arange(16, dtype=np.float32))
    stream, before, after = cuda.stream(), cuda.event(), cuda.event()
    before.record(stream)
    turned[1, 16, stream, 64](values)
    after.record(stream)
    assert values.copy_to_host(stream=stream).tolist() == list(range(15, -1, -1))
    assert before.elapsed_time(after) > 0
    cuda.synchronize()


def test_reductions():
    total = cuda.reduce(added)
    values = np.arange(5000, dtype=np.float64)
    assert total(cuda.to_device(values)) == values.sum()
    assert total(values, init=5.0) == values.sum() + 5
    assert cuda.Reduce(larger)(values.astype(np.int32), size=77) == 76


def added(a, b):
    return a + b


def larger(a, b):
    return max(a, b)


@cuda.jit
def draw(states, uniform, normal):
    i = cuda.grid(1)
    uniform[i] = xoroshiro128p_uniform_float64(states, i)
    normal[i] = xoroshiro128p_normal_float32(states, i)


def test_random_numbers():
    states = create_xoroshiro128p_states(20_000, seed=3)
    uniform, normal = np.empty(20_000), np.empty(20_000, np.float32)
    draw.forall(20_000)(states, uniform, normal)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.01
    assert abs(normal.mean()) < 0.03
    assert abs(normal.std() - 1) < 0.03
    again = np.empty(20_000)
    draw.forall(20_000)(create_xoroshiro128p_states(20_000, seed=3), again, normal)
    assert (again == uniform).all()


@cuda.jit
def warp(a, out):
    i = cuda.grid(1)
    v = a[i]
    out[i] = v + cuda.warpsize * 100
    cuda.syncwarp()
    if cuda.all_sync(-1, v >= 0) and not cuda.any_sync(0xFFFFFFFF, v > 63):
        out[i] += 10000 * (cuda.popc(v) + cuda.laneid // 64)


def test_warp_functions_over_wavefronts():
    a, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    with hw.device("vega64"):
        warp[1, 64](a, out)
    assert out.tolist() == [v + 6400 + 10000 * v.bit_count() for v in range(64)]


def test_what_64_lanes_do_not_allow():
    @cuda.jit
    def ballot(out):
        out[0] = cuda.ballot_sync(0xFFFFFFFF, True)

    with pytest.raises(SourceError, match="one bit for each of 32 lanes, and wavefronts have 64"):
        ballot[1, 32](np.zeros(1, np.int32))

    @cuda.jit
    def shuffle(out):
        out[0] = cuda.shfl_xor_sync(0xFFFFFFFF, 1, 1)

    with pytest.raises(SourceError, match="sub-groups have no shuffles here"):
        shuffle[1, 32](np.zeros(1, np.int32))
    with pytest.raises(UsageError, match=r"cuda\.jit takes no max_registers="):
        cuda.jit(max_registers=16)
