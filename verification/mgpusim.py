"""Whether the gfx942 kernels that MGPUSim ships as code objects give NumPy's results on a simulated MI300X.

    python -m verification.mgpusim --checkout DIR [--device mi300a] [--only kmeans]

DIR is a checkout of sarchlab/mgpusim. Its objects are as clang leaves them, not linked. Each line names a kernel and
its largest difference; exit status 1 if one is larger than rounding allows, or a kernel does not run, or none has the
name asked for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import headwater as hw
from headwater.errors import HeadwaterError

Array = np.ndarray[Any, Any]
ROUNDING: Final = 2e-4
"""Of sums of some hundred products in float32, and of the hardware's reciprocals and roots, relative to the largest."""
RNG = np.random.default_rng(1)


@dataclass(frozen=True)
class Run:
    """Launches of a kernel: ``path`` in amd/benchmarks; work-items in all and in a group; ``calls``, the arguments of
    each; ``expected``, arrays of these with what they shall hold afterwards."""

    path: str
    kernel: str
    whole: tuple[int, ...]
    group: tuple[int, ...]
    calls: list[tuple[Any, ...]]
    expected: list[tuple[Array, Array]]
    lds: int = 0


def floats(*shape: int) -> Array:
    return RNG.random(shape, np.float32)


def like(array: Array) -> Array:
    return np.zeros_like(array)


def launch(path: str, kernel: str, whole: Any, group: Any, *args: Any, **expected: Array) -> Run:
    """One launch; ``expected``: by the argument's number as ``a3``."""
    wholes, groups = (tuple(np.atleast_1d(sizes).tolist()) for sizes in (whole, group))
    return Run(path, kernel, wholes, groups, [args], [(args[int(name[1:])], one) for name, one in expected.items()])


# ------------------------------------------------------------------------------------------------------- AMD APP SDK


def sdk() -> Iterator[Run]:
    n = 256
    array = RNG.integers(0, 2**32, n, np.uint32)
    passes = [(array, stage, step, 1) for stage in range(8) for step in range(stage + 1)]
    yield Run("amdappsdk/bitonicsort/kernels", "BitonicSort", (n // 2,), (64,), passes, [(array, np.sort(array))])
    values = floats(n)
    walsh = np.array([[(-1) ** (i & j).bit_count() for j in range(n)] for i in range(n)], np.float32) @ values
    steps = [(values, 1 << k) for k in range(8)]
    yield Run("amdappsdk/fastwalshtransform/kernels", "fastWalshTransform", (n // 2,), (64,), steps, [(values, walsh)])
    nodes = 32
    distances = RNG.integers(1, 200, (nodes, nodes)).astype(np.uint32)
    np.fill_diagonal(distances, 0)
    shortest, way = distances.astype(np.int64), np.zeros((nodes, nodes), np.uint32)
    for k in range(nodes):
        through = shortest[:, k : k + 1] + shortest[k]
        way = np.where(through < shortest, k, way).astype(np.uint32)
        shortest = np.minimum(shortest, through)
    paths = np.zeros((nodes, nodes), np.uint32)
    yield Run(
        "amdappsdk/floydwarshall/kernels",
        "floydWarshallPass",
        (nodes, nodes),
        (16, 16),
        [(distances, paths, nodes, k) for k in range(nodes)],
        [(distances, shortest.astype(np.uint32)), (paths, way)],
    )
    a, b, c = floats(32, 32), floats(32, 32), np.zeros((32, 32), np.float32)
    yield launch(
        "amdappsdk/matrixmultiplication/kernels",
        "mmmKernel_local",
        (8, 8),
        (8, 8),
        a,
        b,
        c,
        32,
        floats(256, 4),
        a2=a @ b,
    )
    source, turned = floats(128, 128), np.zeros((128, 128), np.float32)
    made = launch(
        "amdappsdk/matrixtranspose/kernels", "matrixTranspose", (32, 32), (8, 8),
        turned, source, floats(4), 32, 32, 4, 0, 0, a0=source.T.copy(),
    )  # fmt: skip
    yield Run(made.path, made.kernel, made.whole, made.group, made.calls, made.expected, lds=8 * 8 * 4 * 16)
    bodies, speeds, dt, soft = floats(64, 4), floats(64, 4), np.float32(0.01), np.float32(0.05)
    away = bodies[None] - bodies[:, None]
    inverse = 1 / np.sqrt((away[..., :3] ** 2).sum(-1) + soft)
    pull = ((bodies[None, :, 3] * inverse**3)[..., None] * away).sum(1)
    moved = bodies + speeds * dt + pull * np.float32(0.5) * dt * dt
    moved[:, 3] = bodies[:, 3]
    yield launch(
        "amdappsdk/nbody/nbody", "nbody_sim", 64, 64,
        bodies, speeds, 64, dt, soft, floats(64, 4), like(bodies), like(bodies), a6=moved, a7=speeds + pull * dt,
    )  # fmt: skip
    picture, mask, wide = RNG.integers(0, 100, (18, 34)).astype(np.uint32), floats(3, 3), 32
    found = sum(picture[y : y + 16, x : x + 32] * mask[y, x] for y in range(3) for x in range(3)) + np.float32(0.5)
    yield launch(
        "amdappsdk/simpleconvolution/kernels", "simpleNonSeparableConvolution", 512, 64,
        picture, mask, np.zeros((16, 32), np.int32), wide, 16, 3, 3, 34, a2=found.astype(np.int32),
    )  # fmt: skip
    x, y = floats(16, 32), floats(16, 32)
    yield launch(
        "amdappsdk/vectoradd/native/vectoradd", "_Z15vectoradd_floatPfPKfS1_ii", (32, 16), (16, 4),
        like(x), x, y, 32, 16, a0=x + y,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------- neural networks


def windows(height: int, width: int, size: int, stride: int, pad: int) -> Iterator[tuple[int, int, slice, slice]]:
    """Place of each pooled value, and the rows and columns that it comes from."""
    for ph in range((height + 2 * pad - size) // stride + 1):
        for pw in range((width + 2 * pad - size) // stride + 1):
            top, left = ph * stride - pad, pw * stride - pad
            yield (
                ph,
                pw,
                slice(max(top, 0), min(top + size, height)),
                slice(max(left, 0), min(left + size, width)),
            )


def pooling() -> Iterator[Run]:
    n, channels, height, width, size, stride, pad = 2, 4, 8, 8, 3, 2, 1
    pictures = floats(n, channels, height, width)
    places = list(windows(height, width, size, stride, pad))
    pooled = height // stride
    mean, most, at = (np.zeros((n, channels, pooled, pooled), kind) for kind in (np.float32, np.float32, np.int32))
    slopes = floats(n, channels, pooled, pooled)
    of_mean, of_most = like(pictures), like(pictures)
    for ph, pw, rows, columns in places:
        part = pictures[:, :, rows, columns]
        mean[:, :, ph, pw] = part.sum((2, 3)) / size**2
        of_mean[:, :, rows, columns] += (slopes[:, :, ph, pw] / size**2)[..., None, None]
        flat = part.reshape(n, channels, -1)
        most[:, :, ph, pw], best = flat.max(2), flat.argmax(2)
        y, x = rows.start + best // part.shape[3], columns.start + best % part.shape[3]
        planes = np.arange(n * channels).reshape(n, channels)
        at[:, :, ph, pw] = planes * height * width + y * width + x
        np.add.at(of_most.reshape(-1), at[:, :, ph, pw].astype(np.intp), slopes[:, :, ph, pw])
    shape = n, channels, height, width, pooled, pooled, size, size, stride, stride, pad, pad
    path = "dnn/gputensor/"
    yield launch(
        f"{path}avgpooling", "AvgPoolForward", mean.size, 64, mean.size, pictures, *shape, like(mean), a14=mean
    )
    yield launch(
        f"{path}avgpooling", "AvgPoolBackward", pictures.size, 64,
        pictures.size, slopes, *shape, like(pictures), a14=of_mean,
    )  # fmt: skip
    yield launch(
        f"{path}maxpooling", "MaxPoolForward", most.size, 64,
        most.size, pictures, *shape, like(most), like(at), a14=most, a15=at,
    )  # fmt: skip
    yield launch(
        f"{path}maxpooling", "MaxPoolBackward", pictures.size, 64,
        pictures.size, slopes, at, *shape, like(pictures), a15=of_most,
    )  # fmt: skip


def layers() -> Iterator[Run]:
    path = "dnn/gputensor/"
    guesses, labels = floats(8, 16) + np.float32(0.1), RNG.integers(0, 16, 8).astype(np.int32)
    is_label = np.arange(16) == labels[:, None]
    for name, expected in (
        ("cross_entropy_derivative", np.where(is_label, -1 / guesses, np.float32(0))),
        ("softmax_cross_entropy_derivative", guesses - is_label.astype(np.float32)),
    ):
        yield launch(f"{path}cross_entropy", name, 128, 64, like(guesses), guesses, labels, 8, 16, a0=expected)
    a, b, c, alpha, beta = floats(32, 48), floats(48, 32), floats(32, 32), np.float32(1.5), np.float32(0.5)
    for name in ("gemm", "gemm_old"):
        yield launch(
            f"{path}gemm", name, (32, 32), (16, 16),
            32, 32, 48, alpha, beta, a, b, c, like(c), a8=alpha * (a @ b) + beta * c,
        )  # fmt: skip
    batch, channels, height, width, mask, pad, stride = 2, 3, 8, 8, 3, 1, 1
    pictures = floats(batch, channels, height, width)
    framed = np.pad(pictures, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    columns = np.stack(
        [framed[:, c, y : y + height, x : x + width].reshape(-1) for c in range(3) for y in range(3) for x in range(3)]
    )
    pairs = (width, height), (mask, mask), (stride, stride), (pad, pad), (1, 1)  # uint2, which the object calls 64 bits
    shape = *(x | y << 32 for x, y in pairs), channels, batch
    yield launch(f"{path}im2col", "im2col", 128, 64, pictures, like(columns), *shape, a1=columns)
    yield launch(f"{path}im2col", "im2col_2d", (128, 27), (64, 1), pictures, like(columns), *shape, a1=columns)
    x = floats(100)
    repeated = np.tile(x, 3)[:256]
    yield launch(f"{path}repeat", "repeat", 256, 64, np.zeros(257, np.float32)[:256], x, 100, 255, a0=repeated)
    x = floats(200) - np.float32(0.5)
    yield launch("dnn/layer_benchmarks/relu/kernels", "ReLUForward", 256, 64, 200, x, like(x), a2=np.maximum(x, 0))


def operators() -> Iterator[Run]:
    path = "dnn/gputensor/operator"
    x = floats(4, 8, 4)
    sizes = np.array(x.shape, np.int32)
    indices = np.zeros((128, 3), np.int32), np.zeros((128, 3), np.int32)
    order = np.array([2, 0, 1], np.int32)
    turned = x.transpose(order).copy()
    yield launch(
        path, "transpose_tensor", 128, 64, x, like(turned), sizes, np.array(turned.shape, np.int32), order, *indices, 3,
        a1=turned,
    )  # fmt: skip
    yield launch(path, "rotate_tensor", 128, 64, x, like(x), sizes, sizes, *indices, 3, a1=x[:, ::-1, ::-1].copy())
    small = floats(2, 4, 4)
    wide = np.zeros((2, 8, 8), np.float32)
    wide[:, ::2, ::2] = small
    yield launch(
        path, "dilate_tensor", 128, 64, small, like(wide), np.array(small.shape, np.int32),
        np.array(wide.shape, np.int32), np.array([2, 2], np.int32), *indices, 3, a1=wide,
    )  # fmt: skip
    y = floats(4, 8, 16)
    yield launch(
        path, "sum_one_axis", 64, 64, y, np.zeros((4, 16), np.float32), np.array(y.shape, np.int32),
        np.array([4, 16], np.int32), 3, 1, *indices, a1=y.sum(1),
    )  # fmt: skip
    a, b, n = floats(128) + np.float32(0.1), floats(128) + np.float32(0.1), 128
    last = n - 1
    yield launch(path, "softmax_exp", n, 64, a, like(a), n, a1=np.exp(a))
    sums = floats(8) + np.float32(1)
    yield launch(path, "softmax_div", n, 64, a, like(a), sums, n, 8, a1=a / np.repeat(sums, 16))
    three, four = np.float32(3), np.float32(4)
    yield launch(path, "scaleAdd", n, 64, like(a), a, b, three, four, last, a0=three * a + four * b)
    yield launch(path, "mul", n, 64, like(a), a, b, last, a0=a * b)
    smooth, fast, rate = np.float32(0.9), np.float32(0.99), np.float32(0.1)
    history = smooth * a + (1 - smooth) * b * b
    params = floats(128)
    expected = params - rate * b / (np.sqrt(history) + np.float32(1e-6))
    yield launch(path, "rmsProp", n, 64, params, b, a.copy(), smooth, rate, last, a0=expected, a2=history)
    speed, params = floats(128), floats(128)
    v, s = smooth * speed + (1 - smooth) * b, fast * a + (1 - fast) * b * b
    expected = params - rate * v / (np.sqrt(s) + np.float32(1e-8))
    yield launch(path, "adam", n, 64, params, b, a.copy(), speed, smooth, fast, rate, last, a0=expected, a2=s, a3=v)
    x = floats(100) - np.float32(0.5)
    yield launch(path, "reluForward", n, 64, x, like(x), 100, a1=np.maximum(x, 0))
    slopes = floats(100)
    yield launch(path, "reluBackward", n, 64, x, slopes, like(x), 100, a2=np.where(x > 0, slopes, np.float32(0)))


# --------------------------------------------------------------------------------------------- Hetero-Mark and others


def encrypted(blocks: Array, keys: Array, table: Array) -> Array:
    """AES's rounds as the kernel has them: 13 whole ones and the last."""
    words = keys.astype(">u4").view(np.uint8).reshape(-1, 16)
    state: Array = blocks ^ words[0]
    rows = np.array([0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11])
    for number in range(1, 15):
        state = table[state][:, rows]
        if number < 14:
            a = state.reshape(-1, 4, 4)
            b = (a << 1) ^ np.where(a & 0x80, 0x1B, 0).astype(np.uint8)
            n, p, q = (np.roll(a, -k, 2) for k in (1, 2, 3))
            state = (b ^ np.roll(b, -1, 2) ^ n ^ p ^ q).reshape(-1, 16)
        state = state ^ words[number]
    return state


def heteromark() -> Iterator[Run]:
    blocks, keys = RNG.integers(0, 256, (64, 16), np.uint8), RNG.integers(0, 2**32, 60, np.uint32)
    table = RNG.permutation(256).astype(np.uint8)
    yield launch("heteromark/aes/kernels", "Encrypt", 64, 64, blocks, keys, table, a0=encrypted(blocks, keys, table))
    taps, signal, before = floats(16), floats(256), floats(16)
    expected = np.convolve(np.concatenate([before[1:], signal]), taps)[15 : 15 + 256]
    yield launch("heteromark/fir/kernels", "FIR", 256, 64, like(signal), taps, signal, before, 16, a0=expected)
    features, centres = floats(5, 200), floats(4, 5)
    nearest = ((features.T[:, None] - centres[None]) ** 2).sum(2).argmin(1).astype(np.int32)
    path = "heteromark/kmeans/kernels"
    yield launch(path, "kmeans_kernel_compute", 256, 64, features, centres, like(nearest), 200, 4, 5, 0, 0, a2=nearest)
    rows = features.T.copy()
    yield launch(path, "kmeans_kernel_swap", 256, 64, rows, like(features), 200, 5, a1=features)
    matrix, offsets, columns, values = sparse(16, 16)
    x = floats(16)
    yield launch(
        "heteromark/pagerank/kernels", "PageRankUpdateGpu", 16 * 64, 64,
        16, offsets.astype(np.uint32), columns.astype(np.uint32), values, x, like(x), a5=matrix @ x,
    )  # fmt: skip


def sparse(rows: int, width: int) -> tuple[Array, Array, Array, Array]:
    """A matrix, and the same by rows: where they begin, columns, values."""
    matrix = np.where(RNG.random((rows, width)) < 0.4, floats(rows, width), np.float32(0))
    there = matrix != 0
    offsets = np.concatenate([[0], there.sum(1).cumsum()]).astype(np.int32)
    return matrix, offsets, np.nonzero(there)[1].astype(np.int32), matrix[there]


def others() -> Iterator[Run]:
    a, x, y = floats(100, 80), floats(80), floats(100)
    for path, names in (("atax", ("atax_kernel1", "atax_kernel2")), ("bicg", ("bicgKernel1", "bicgKernel2"))):
        yield launch(f"polybench/{path}/kernels", names[0], 128, 64, a, x, like(y), 100, 80, a2=a @ x)
        across = (a, like(x), y) if path == "atax" else (a, y, like(x))
        made = a.T @ y
        yield launch(
            f"polybench/{path}/kernels", names[1], 128, 64, *across, 100, 80, **{"a1" if path == "atax" else "a2": made}
        )
    yield from needleman_wunsch()
    matrix, offsets, columns, values = sparse(100, 64)
    x = floats(64)
    yield launch(
        "shoc/spmv/kernels", "spmv_csr_scalar_kernel", 128, 64,
        values, x, columns, offsets, 100, np.zeros(100, np.float32), a5=matrix @ x,
    )  # fmt: skip
    none, levels = 2**32 - 1, np.full(100, 2**32 - 1, np.uint32)
    levels[RNG.integers(0, 100, 10)] = 3
    _, offsets, columns, _ = sparse(100, 100)
    following = levels.copy()
    for vertex in np.nonzero(levels == 3)[0]:
        near = columns[offsets[vertex] : offsets[vertex + 1]]
        following[near[following[near] == none]] = 4
    yield launch(
        "shoc/bfs/kernels", "BFS_kernel_warp", 128, 64,
        levels, offsets.astype(np.uint32), columns.astype(np.uint32), 32, 32, 100, 3, np.zeros(1, np.int32),
        a0=following, a7=np.ones(1, np.int32),
    )  # fmt: skip
    work = (floats(4, 512) + 1j * floats(4, 512)).astype(np.complex64)
    yield launch(
        "shoc/fft/kernels",
        "fft1D_512",
        256,
        64,
        work.view(np.float32),
        a0=np.fft.fft(work).astype(np.complex64).view(np.float32),
    )
    source = floats(64, 40)
    copied = np.zeros((64, 48), np.float32)
    copied[:, 3:33] = source[:, 5:35]
    yield launch(
        "shoc/stencil2d/kernels", "CopyRect", 64, 64, np.zeros((64, 48), np.float32), 3, 48, source, 5, 40, 30, 64,
        a0=copied,
    )  # fmt: skip
    data = floats(18, 80)
    centre, cardinal, diagonal = (np.float32(w) for w in (0.25, 0.15, 0.05))
    inner = {(dy, dx): data[1 + dy : 17 + dy, 1 + dx : 65 + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)}
    expected = np.zeros_like(data)
    expected[1:17, 1:65] = sum(
        (centre, cardinal, diagonal)[abs(dy) + abs(dx)] * part for (dy, dx), part in inner.items()
    )
    yield launch(
        "shoc/stencil2d/kernels", "StencilKernel", (1, 64), (1, 64), data, like(data), 16, centre, cardinal, diagonal,
        a1=expected,
    )  # fmt: skip


def needleman_wunsch() -> Iterator[Run]:
    size, block, penalty = 128, 64, 10
    scores = RNG.integers(-4, 12, (size + 1, size + 1)).astype(np.int32)
    table = np.zeros((size + 1, size + 1), np.int32)
    table[0], table[:, 0] = -penalty * np.arange(size + 1), -penalty * np.arange(size + 1)
    started, whole = table.copy(), table.copy()
    for y in range(1, size + 1):
        for x in range(1, size + 1):
            whole[y, x] = max(whole[y - 1, x - 1] + scores[y, x], whole[y, x - 1] - penalty, whole[y - 1, x] - penalty)
    fixed = size + 1, penalty
    wide = size // block

    def after(blocks: list[tuple[int, int]]) -> Array:
        part = started.copy()
        for y, x in blocks:
            here = slice(1 + y * block, 1 + (y + 1) * block), slice(1 + x * block, 1 + (x + 1) * block)
            part[here] = whole[here]
        return part

    first, both = after([(0, 0)]), after([(0, 0), (0, 1), (1, 0)])
    last = (block, wide, size, 0, 0)
    table = first.copy()
    yield Run(
        "rodinia/nw/kernels", "nw_kernel1", (2 * block,), (block,),
        [(scores, table, like(table), *fixed, 2, *last)], [(table, both)],
    )  # fmt: skip
    table = both.copy()
    yield Run(
        "rodinia/nw/kernels", "nw_kernel2", (block,), (block,),
        [(scores, table, like(table), *fixed, 1, *last)], [(table, whole)],
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- runs

GROUPS: Final[tuple[Callable[[], Iterator[Run]], ...]] = (sdk, pooling, layers, operators, heteromark, others)


def difference(got: Array, expected: Array) -> float:
    """The largest, relative to the largest value; whole numbers differ or do not."""
    if got.dtype.kind in "iu":
        return float((got != expected).any())
    scale = max(float(np.abs(expected).max()), 1e-30)
    return float(np.abs(got.astype(np.float64) - expected).max()) / scale


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.mgpusim", description=__doc__.splitlines()[0])
    parser.add_argument("--checkout", type=Path, required=True, help="a checkout of sarchlab/mgpusim")
    parser.add_argument("--device", default="mi300x", help="a chip of gfx942 (default: mi300x)")
    parser.add_argument("--only", default="", help="kernels with this in their name")
    options = parser.parse_args()
    ran = wrong = 0
    for run in (run for group in GROUPS for run in group()):
        if options.only not in f"{run.path} {run.kernel}":
            continue
        ran += 1
        name = run.path if run.path.endswith("vectoradd") else f"{run.path}_gfx942"
        try:
            kernel = getattr(
                hw.compile(options.checkout / "amd" / "benchmarks" / f"{name}.hsaco", device=options.device), run.kernel
            )
            for args in run.calls:
                kernel[run.whole, run.group](*args, **({"lds": run.lds} if run.lds else {}))
            worst = float(np.max([difference(got, expected) for got, expected in run.expected]))  # NaN if one is
        except HeadwaterError as error:
            print(f"{run.kernel}: {error}")
            wrong += 1
            continue
        wrong += not worst < ROUNDING
        print(f"{run.kernel}: {'differs' if not worst < ROUNDING else 'right'}, {worst:.1e}", flush=True)
    print(f"{ran} kernels, {wrong} wrong")
    return 1 if wrong or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
