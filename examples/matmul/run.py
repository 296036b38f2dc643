#!/usr/bin/env python3
"""Multiplies matrices by each version of the ATI Stream Computing technical overview and charts what each is worth."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import headwater as hw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import options, save_chart, start, timed

HERE = Path(__file__).resolve().parent


def _opencl(
    kernel: str,
    a: np.ndarray,
    b: np.ndarray,
    global_size: tuple[int, ...],
    local_size: tuple[int, ...] | None,
    device: str | None,
) -> np.ndarray:
    (n, k), m = a.shape, b.size // a.shape[1]
    c = np.empty((n, m), np.float32)
    program = hw.compile(HERE / "matmul.cl")
    getattr(program, kernel)[global_size, local_size](a, b, c, n, k, m, device=device).wait()
    return c


def loops(a: np.ndarray, b: np.ndarray, device: str | None = None) -> np.ndarray:
    """The overview's CPU code, run by a single work-item."""
    return _opencl("matmult_loops", a, b, (1,), None, device)


def scalar(a: np.ndarray, b: np.ndarray, device: str | None = None) -> np.ndarray:
    """One element per work-item."""
    return _opencl("matmult", a, b, (b.shape[1], a.shape[0]), None, device)


def float4(a: np.ndarray, b: np.ndarray, device: str | None = None) -> np.ndarray:
    """Four elements per work-item over B transposed; the time of transposing counts."""
    transposed = np.ascontiguousarray(b.T)
    return _opencl("matmult_float4", a, transposed, (b.shape[1] // 4, a.shape[0]), None, device)


def tiled(a: np.ndarray, b: np.ndarray, device: str | None = None) -> np.ndarray:
    """16 x 16 tiles in local memory; all sizes are multiples of 16."""
    return _opencl("matmult_tiled", a, b, (b.shape[1], a.shape[0]), (16, 16), device)


def brook_scalar(a: np.ndarray, b: np.ndarray, device: str | None = None) -> np.ndarray:
    """One element per thread, in Brook+."""
    shape = (a.shape[0], b.shape[1])
    return hw.compile(HERE / "matmul.br").matmult(a, b, a.shape[1], shape=shape, device=device)


def brook_float4(a: np.ndarray, b: np.ndarray, device: str | None = None) -> np.ndarray:
    """Four elements per thread over B transposed, in Brook+; sizes are multiples of 4."""
    (n, k), m = a.shape, b.shape[1]
    streams = a.reshape(n, k // 4, 4), np.ascontiguousarray(b.T).reshape(m, k // 4, 4)
    program = hw.compile(HERE / "matmul.br")
    return program.matmult_float4(*streams, k // 4, shape=(n, m // 4), device=device).reshape(n, m)


VERSIONS = {
    "three loops, one work-item": loops,
    "an element per work-item": scalar,
    "float4, B transposed": float4,
    "tiles in local memory": tiled,
    "Brook+, an element per thread": brook_scalar,
    "Brook+, float4": brook_float4,
}


def main() -> None:
    parser = options(__doc__, "matmul.png")
    parser.add_argument("--size", type=int, default=512, help="of the square matrices (default: %(default)s)")
    arguments = parser.parse_args()
    sizes = sorted({max(16, arguments.size * part // 8 // 16 * 16) for part in (1, 2, 4, 6, 8)})
    rng = np.random.default_rng(0)
    rates: dict[str, list[float]] = {name: [] for name in VERSIONS}
    for n in sizes:
        a, b = rng.random((2, n, n), np.float32)
        print(f"{n} x {n}")
        for name, version in VERSIONS.items():
            c, seconds = timed(lambda version=version, a=a, b=b: version(a, b, arguments.device))
            error = np.abs(c / (a @ b) - 1).max()
            rates[name].append(2 * n**3 / seconds / 1e9)
            print(f"  {name:30} {seconds * 1e3:9.2f} ms {rates[name][-1]:8.2f} GFLOP/s, relative error {error:.1e}")
    series = {name: np.array(rate) for name, rate in rates.items()}
    save_chart(arguments.output, "GFLOP/s of each version", np.array(sizes), series, "size of the matrices")


if __name__ == "__main__":
    start(main)
