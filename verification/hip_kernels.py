"""Runs kernels of HeCBench's HIP programs on devices and compares them with NumPy.

A program's own sources are read from the checkout. Its kernels, and what they call, are cut out of them: the host's
half of HIP is not compiled here.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import headwater as hw
from headwater.errors import HeadwaterError

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(1)

# ---- kernels alone -------------------------------------------------------------------------------------------------

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
_DEVICE = re.compile(r"__global__|__device__|__constant__")
_TYPE = re.compile(r"\b(?:typedef|struct|union|enum|class|using)\b")
_CONSTANT = re.compile(r"\s*(?:static )?const")
_HOST = re.compile(r"<<<|\bstruct option\b|\bstd::(?:vector|string|map|chrono)|\bhip[A-Z]|\bhipcub")


def kernels_alone(text: str) -> str:
    """The directives, types, constants and device functions of C++ text."""
    kept = []
    for part in _parts(_COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)):
        head = part.partition("{")[0]
        if part.lstrip().startswith("#"):
            if not re.match(r"\s*#\s*include", part):
                kept.append(part)
        elif _HOST.search(part):
            continue
        elif _DEVICE.search(part) or ("(" not in head and (_TYPE.search(head) or _CONSTANT.match(part))):
            kept.append(part)
    return "".join(kept)


def _parts(text: str) -> Iterator[str]:
    """Directives and declarations at the top level."""
    start = at = depth = 0
    while at < len(text):
        letter = text[at]
        if letter == "#" and depth == 0 and not text[start:at].strip():
            end = re.compile(r"(?:[^\n\\]|\\.)*(?:\n|\Z)", re.DOTALL).match(text, at)
            assert end is not None
            yield end[0]
            start = at = end.end()
            continue
        if letter in "\"'" and (quoted := _TEXT.match(text, at)):
            at = quoted.end()
            continue
        depth += (letter in "{(") - (letter in "})")
        at += 1
        if depth == 0 and letter == "}":
            head = text[start:at].partition("{")[0]
            if _TYPE.search(head) or "=" in head:
                at = text.index(";", at) + 1
            yield text[start:at] + "\n"
            start = at
        elif depth == 0 and letter == ";":
            yield text[start:at] + "\n"
            start = at


# ---- cases -----------------------------------------------------------------------------------------------------------

Answer = Callable[[list[Any]], dict[int, Array]]
"""From the arguments as given to the arguments, by position, as the kernel is to leave them."""


@dataclass(frozen=True)
class Case:
    """One launch: the program's folder and file, the kernel, work-items, a group's, its arguments and the answer."""

    program: str
    file: str
    kernel: str
    size: tuple[int, ...]
    group: tuple[int, ...]
    arguments: list[Any]
    answer: Answer
    tolerance: float = 0.0
    lds: int = 0
    before: str = ""
    after: str = ""


def _floats(*shape: int) -> Array:
    return RNG.random(shape, np.float32)


def _doubles(*shape: int) -> Array:
    return RNG.random(shape)


def _bytes(count: int) -> Array:
    return RNG.integers(0, 256, count).astype(np.uint8)


def _ints(count: int, low: int = -1000, high: int = 1000) -> Array:
    return RNG.integers(low, high, count).astype(np.int32)


_SIZES = "const size_t, const size_t *, const size_t *"


def _instance(kernel: str, types: str) -> str:
    """The declaration that makes a kernel of a template."""
    return f"template __global__ void {kernel}({types});\n"


def cases() -> Iterator[Case]:
    """All of them."""
    n = 1000
    line, group = (1024,), (256,)
    # -- element by element
    yield Case(
        "triad",
        "triad.cu",
        "triad",
        line,
        group,
        [_floats(1024), _floats(1024), np.zeros(1024, np.float32), 2.5],
        lambda a: {2: a[0] + np.float32(2.5) * a[1]},
        1e-6,
    )
    yield Case(
        "haversine",
        "distance.cu",
        "compute_haversine_distance",
        line,
        group,
        [_doubles(n, 4) * 90, np.zeros(n), n],
        _haversine,
        1e-12,
        before="#define DEGREE_TO_RADIAN (M_PI / 180.0)\n#define EARTH_RADIUS_KM 6371.0\n#include <math.h>\n",
    )
    yield Case(
        "nn",
        "nearestNeighbor.cu",
        "nn",
        line,
        group,
        [n, 0.25, 0.5, _floats(n, 2), np.zeros(n, np.float32)],
        lambda a: {4: np.hypot(a[3][:, 0] - a[1], a[3][:, 1] - a[2])},
        1e-6,
        before="struct LatLong { float lat, lng; };\n",
    )
    yield Case(
        "glu",
        "main.cu",
        "glu_kernel",
        (512,),
        group,
        [4, 25, 5, _floats(4, 2, 25, 5), np.zeros((4, 25, 5), np.float32)],
        lambda a: {4: a[3][:, 0] / (1 + np.exp(-a[3][:, 1]))},
        1e-6,
    )
    for name in ("MRCGradient", "MRCGradient2", "MRCGradient3"):
        yield Case(
            "mrc",
            "main.cu",
            name,
            line,
            group,
            [
                n,
                RNG.choice([-1, 1], n).astype(np.int32),
                _floats(n),
                _floats(n),
                _floats(n),
                0.1,
                np.zeros(n, np.float32),
                np.zeros(n, np.float32),
            ],
            _mrc,
            1e-6,
        )
    for number in range(1, 7):
        yield Case(
            "popcount",
            "main.cu",
            f"pc{number}",
            line,
            group,
            [RNG.integers(0, 2**63, n).astype(np.uint64), np.zeros(n, np.int32), n],
            lambda a: {1: np.array([int(x).bit_count() for x in a[0]], np.int32)},
        )
    yield Case(
        "mriQ",
        "computeQ.cu",
        "ComputePhiMag_GPU",
        line,
        group,
        [_floats(n), _floats(n), np.zeros(n, np.float32), n],
        lambda a: {2: a[0] ** 2 + a[1] ** 2},
        1e-6,
        after="NO_CONSTANT",
    )
    yield Case(
        "background-subtract",
        "main.cu",
        "findMovingPixels",
        line,
        group,
        [n, _bytes(n), _bytes(n), _bytes(n), _bytes(n), _bytes(n)],
        _moving,
    )
    yield Case(
        "background-subtract",
        "main.cu",
        "updateBackground",
        line,
        group,
        [n, _bytes(n), (_bytes(n) // 128) * 255, _bytes(n)],
        lambda a: {3: np.where(a[2] == 0, (0.92 * a[3] + 0.08 * a[1]).astype(np.uint8), a[3])},
    )
    # -- stencils, images
    plate = _doubles(30, 30)
    yield Case(
        "heat", "heat.cu", "solve", line, group, [30, 0.1, 0.1, 0.1, 0.2, 0.2, plate, np.zeros((30, 30))], _heat, 1e-12
    )
    yield Case("heat", "heat.cu", "initial_value", line, group, [30, 1 / 31, 1.0, np.zeros((30, 30))], _initial, 1e-12)
    yield Case(
        "heat2d",
        "main.cu",
        "dev_lapl_iter",
        line,
        group,
        [np.zeros((32, 32), np.float32), _floats(32, 32), 0.1, 0.6, 32, 32],
        _laplace,
        1e-6,
    )
    yield Case(
        "stencil1d", "stencil_1d.cu", "stencil_1d", line, group, [_ints(1280), np.zeros(1024, np.int32)], _stencil
    )
    yield Case(
        "sobel",
        "kernels.cu",
        "sobel_filter",
        (64, 32),
        (16, 16),
        [_bytes(64 * 32 * 4).reshape(32, 64, 4), np.zeros((32, 64, 4), np.uint8), 64, 32],
        _sobel,
        1,
    )
    # -- shared memory
    yield Case("reverse", "main.cu", "reverse", group, group, [_ints(256), 256], lambda a: {0: a[0][::-1]})
    yield Case(
        "damage",
        "kernel.h",
        "damage_of_node",
        line,
        group,
        [
            n,
            RNG.integers(-1, 3, 1024).astype(np.int32),
            np.array([256, 300, 400, 500], np.int32),
            np.zeros(4, np.int32),
            np.zeros(4),
        ],
        _damage,
        1e-12,
        lds=1024,
    )
    yield Case(
        "channelShuffle",
        "main.cu",
        "ChannelShuffleNHWCKernel",
        line,
        group,
        [6, 8, _floats(4, 48), np.zeros((4, 48), np.float32)],
        lambda a: {3: a[2].reshape(4, 6, 8).transpose(0, 2, 1).reshape(4, 48)},
        after=_instance("ChannelShuffleNHWCKernel<float, 64>", "const int, const int, const float *, float *"),
    )
    yield Case(
        "fwt",
        "kernels.cu",
        "fwtBatch1Kernel",
        (512,),
        (128,),
        [np.zeros(2048, np.float32), _floats(2048), 9],
        _walsh,
        1e-4,
        lds=2048,
    )
    # -- loops, matrices
    yield Case(
        "blas-gemm",
        "main.cu",
        "matrix_mul",
        (48, 32),
        (16, 16),
        [_floats(30, 20), _floats(20, 40), _floats(30, 40), 30, 20, 40, 2.0, 0.5],
        lambda a: {2: 2 * a[0] @ a[1] + a[2] / 2},
        1e-5,
        after=_instance("matrix_mul<float>", "float *, float *, float *, int, int, int, float, float"),
    )
    yield Case(
        "hellinger",
        "main.cu",
        "hellinger",
        (48, 32),
        (16, 16),
        [_floats(30, 20) / 20, _floats(20, 40) / 20, np.zeros((30, 40), np.float32), 30, 20, 40],
        lambda a: {2: np.sqrt(1 - np.sqrt(a[0][:, :, None] * a[1][None]).sum(1))},
        1e-5,
    )
    yield Case(
        "minkowski",
        "main.cu",
        "minkowski",
        (48, 32),
        (16, 16),
        [_floats(30, 20), _floats(20, 40), np.zeros((30, 40), np.float32), 3.0, 1 / 3],
        lambda a: {2: (abs(a[0][:, :, None] - a[1][None]) ** 3).sum(1) ** (1 / 3)},
        1e-5,
        before="namespace std {}\n",
        after=_instance("minkowski<30, 20, 40>", "const float *, const float *, float *, float, float"),
    )
    yield Case(
        "matrix-rotate",
        "main.cu",
        "rotate_matrix_parallel",
        (64,),
        (64,),
        [_floats(40, 40), 40],
        lambda a: {0: np.rot90(a[0], -1)},
    )
    yield Case(
        "softmax",
        "main.cu",
        "softMax",
        line,
        group,
        [n, 12, _floats(n, 12), np.zeros((n, 12), np.float32)],
        lambda a: {3: np.exp(a[2]) / np.exp(a[2]).sum(1, keepdims=True)},
        1e-5,
        after="NO_GROUPS",
    )
    yield Case(
        "kmeans",
        "cluster.cu",
        "feature_transpose",
        line,
        group,
        [np.zeros((5, n), np.float32), _floats(n, 5), 5, n],
        lambda a: {0: a[1].T},
        before="#include <float.h>\n",
    )
    yield Case(
        "kmeans",
        "cluster.cu",
        "find_membership",
        line,
        group,
        [_floats(5, n), _floats(7, 5), np.zeros(n, np.int32), 7, 5, n],
        lambda a: {2: ((a[0].T[:, None] - a[1][None]) ** 2).sum(2).argmin(1).astype(np.int32)},
        before="#include <float.h>\n",
    )
    yield Case(
        "pcc",
        "device.cu",
        "ker",
        line,
        group,
        [_floats(30, 30), np.zeros(435, np.float32), 30],
        lambda a: {1: a[0].T[np.triu_indices(30, 1)]},
    )
    yield Case(
        "page-rank",
        "main.cu",
        "map",
        (64,),
        (64,),
        [
            RNG.integers(0, 2, (50, 50)).astype(np.int32),
            _floats(50),
            np.zeros((50, 50), np.float32),
            RNG.integers(1, 9, 50).astype(np.uint32),
            50,
        ],
        lambda a: {2: a[0] * (a[1] / a[3].astype(np.float32))[:, None]},
        1e-6,
    )
    yield Case(
        "page-rank",
        "main.cu",
        "reduce",
        (64,),
        (64,),
        [_floats(50), _floats(50, 50), 50, np.zeros(50, np.float32)],
        lambda a: {0: 0.15 / 50 + 0.85 * a[1].sum(0)},
        1e-5,
    )
    yield Case(
        "simpleSpmv",
        "kernels.cu",
        "mv_dense",
        line,
        group,
        [30, _floats(30, 30), _floats(30), np.zeros(30, np.float32)],
        lambda a: {3: a[1] @ a[2]},
        1e-5,
        before="#define REAL float\n",
    )
    yield Case(
        "thomas",
        "cuThomasBatch.cu",
        "cuThomasBatch",
        group,
        group,
        [_doubles(20, 200), _doubles(20, 200) + 3, _doubles(20, 200), _doubles(20, 200), 20, 200],
        _thomas,
        1e-9,
    )
    # -- atomics, votes, shuffles
    yield Case("bitonic-sort", "main.cu", "bitonic_sort", line, group, [2, 1, _ints(1024)], _bitonic)
    yield Case(
        "hausdorff",
        "main.cu",
        "computeDistance",
        line,
        group,
        [_floats(n, 2), _floats(70, 2), np.zeros(1, np.float32), n, 70],
        lambda a: {2: ((a[0][:, None] - a[1][None]) ** 2).sum(2).min(1).max(keepdims=True)},
        1e-6,
        before="#include <limits>\n",
    )
    yield Case(
        "michalewicz",
        "main.cu",
        "eval",
        line,
        group,
        [_floats(n, 5) * 3, np.zeros(1, np.float32), n, 5],
        _michalewicz,
        1e-4,
        before="#include <math.h>\n",
    )
    yield Case(
        "bfs",
        "bfs.cu",
        "Kernel2",
        line,
        group,
        [np.zeros(n, np.int8), np.arange(n).astype(np.int8) & 1, np.zeros(n, np.int8), np.zeros(1, np.int8), n],
        lambda a: {0: a[1], 1: a[1] * 0, 2: a[1], 3: np.ones(1, np.int8)},
    )
    yield Case(
        "vote",
        "kernels.h",
        "VoteAnyKernel1",
        group,
        group,
        [_ints(256, 0, 2).astype(np.uint32), np.zeros(256, np.uint32), 2],
        lambda a: {1: a[0].reshape(4, 64).any(1).repeat(64).astype(np.uint32)},
    )
    yield Case(
        "bscan",
        "main-wave64.cu",
        "binary_scan",
        group,
        group,
        [np.zeros(256, np.int32), _ints(256)],
        lambda a: {0: (np.cumsum(a[1] > 0) - (a[1] > 0)).astype(np.int32)},
    )
    yield Case(
        "simpleSpmv",
        "kernels.cu",
        "vector_mv_csr",
        (16, 32),
        (16, 16),
        _csr(),
        _spmv,
        1e-5,
        before="#define REAL float\n",
        after=_instance("vector_mv_csr<16>", f"{_SIZES}, const float *, const float *, float *"),
    )


def _haversine(a: list[Any]) -> dict[int, Array]:
    ay, ax, by, bx = np.radians(a[0]).T
    inner = np.sin((by - ay) / 2) ** 2 + np.sin((bx - ax) / 2) ** 2 * np.cos(ay) * np.cos(by)
    return {1: 2 * 6371.0 * np.arcsin(np.sqrt(inner))}


def _mrc(a: list[Any]) -> dict[int, Array]:
    far = -a[1] * (a[2] - a[3]) + np.float32(0.1) < 0
    return {6: np.where(far, 0, -a[1] * a[4]), 7: np.where(far, 0, a[1] * a[4])}


def _moving(a: list[Any]) -> dict[int, Array]:
    now, one, two, limit = (x.astype(int) for x in a[1:5])
    return {5: np.where((abs(now - one) > limit) | (abs(now - two) > limit), 255, 0).astype(np.uint8)}


def _heat(a: list[Any]) -> dict[int, Array]:
    p = np.pad(a[6], 1)
    return {7: 0.2 * a[6] + 0.2 * (p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1])}


def _initial(a: list[Any]) -> dict[int, Array]:
    wave = np.sin(np.pi * np.arange(1, 31) / 31)
    return {3: wave[:, None] * wave}


def _laplace(a: list[Any]) -> dict[int, Array]:
    u = a[1]
    around = sum(np.roll(u, shift, axis) for shift in (-1, 1) for axis in (0, 1))
    return {0: np.float32(0.6) * u + np.float32(0.1) * around}


def _stencil(a: list[Any]) -> dict[int, Array]:
    padded = np.concatenate([np.zeros(7, np.int32), a[0]])
    return {1: np.convolve(padded, np.ones(15, np.int32), "valid")[:1024].astype(np.int32)}


def _sobel(a: list[Any]) -> dict[int, Array]:
    x = a[0].astype(np.float32)
    rows = x[:-2] + 2 * x[1:-1] + x[2:]
    columns = x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]
    size = np.sqrt((rows[:, :-2] - rows[:, 2:]) ** 2 + (columns[:-2] - columns[2:]) ** 2) / 2
    result = np.zeros_like(a[0])
    result[1:-1, 1:-1] = size.clip(0, 255).astype(np.uint8)
    return {1: result}


def _damage(a: list[Any]) -> dict[int, Array]:
    there = (np.where(np.arange(1024) < a[0], a[1], -1) != -1).reshape(4, 256).sum(1)
    return {3: there.astype(np.int32), 4: 1 - there / a[2]}


def _walsh(a: list[Any]) -> dict[int, Array]:
    x = a[1].reshape(4, 512).astype(np.float64)
    bits = np.arange(512)
    signs = np.array([[1 - 2 * (int(i & j).bit_count() & 1) for i in bits] for j in bits])
    return {0: (x @ signs).ravel()}


def _thomas(a: list[Any]) -> dict[int, Array]:
    low, diagonal, high, right = (x.copy() for x in a[:4])
    found = np.empty_like(right)
    for system in range(200):
        m = np.diag(diagonal[:, system]) + np.diag(low[1:, system], -1) + np.diag(high[:-1, system], 1)
        found[:, system] = np.linalg.solve(m, right[:, system])
    return {3: found}


def _bitonic(a: list[Any]) -> dict[int, Array]:
    pairs = np.sort(a[2].reshape(-1, 2), 1)
    pairs[1::2] = pairs[1::2, ::-1]
    return {2: pairs.ravel()}


def _michalewicz(a: list[Any]) -> dict[int, Array]:
    x = a[0].astype(np.float64)
    terms = np.sin(x) * np.sin(np.arange(1, 6) * x * x / np.pi) ** 20
    return {1: np.minimum(-terms.sum(1).max(keepdims=True), 0)}


def _csr() -> list[Any]:
    counts = RNG.integers(0, 40, 32)
    rows = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
    columns = RNG.integers(0, 50, int(rows[-1])).astype(np.uint64)
    return [32, rows, columns, _floats(columns.size), _floats(50), np.zeros(32, np.float32)]


def _spmv(a: list[Any]) -> dict[int, Array]:
    products = a[3].astype(np.float64) * a[4][a[2].astype(int)]
    edges = a[1].astype(int)
    return {5: np.array([products[low:high].sum() for low, high in pairwise(edges)])}


# ---- running them ----------------------------------------------------------------------------------------------------


def run(case: Case, checkout: Path, device: str) -> str:
    """What is wrong with a case on a device; "" if nothing is."""
    text = kernels_alone((checkout / "src" / f"{case.program}-hip" / case.file).read_text(errors="replace"))
    if case.after == "NO_CONSTANT":
        text = text.replace("__constant__ __device__ kValues ck", "__device__ kValues ck")
    elif case.after == "NO_GROUPS":
        text = text[: text.index("__global__\nvoid softMax2")]
    else:
        text += case.after
    given = [value.copy() if isinstance(value, np.ndarray) else value for value in case.arguments]
    expected = case.answer(case.arguments)
    try:
        kernel = hw.compile(case.before + text, language="hip", options="-w", device=device)[case.kernel]
        kernel[case.size, case.group](*given, **({"lds": case.lds} if case.lds else {}))
    except HeadwaterError as error:
        return str(error).splitlines()[0]
    for position, wanted in expected.items():
        got = given[position].reshape(wanted.shape)
        if not np.allclose(got, wanted, rtol=case.tolerance, atol=case.tolerance):
            off = np.abs(got.astype(np.float64) - wanted).max()
            return f"argument {position + 1} is off by up to {off:g}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True, help="a checkout of zjin-lcf/HeCBench")
    parser.add_argument("--device", action="append", help="devices (default: cpu and mi250x)")
    parser.add_argument("--only", default="", help="programs whose names have this in them")
    arguments = parser.parse_args()
    wrong = total = 0
    for case in cases():
        if arguments.only not in case.program:
            continue
        total += 1
        found = {device: run(case, arguments.checkout, device) for device in arguments.device or ("cpu", "mi250x")}
        wrong += any(found.values())
        results = ", ".join(f"{device}: {text or 'right'}" for device, text in found.items())
        print(f"{case.program:20} {case.kernel:36} {results}", flush=True)
    print(f"{total - wrong} of {total} kernels are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
