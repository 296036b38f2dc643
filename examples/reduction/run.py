#!/usr/bin/env python3
"""Sums and extremes by Brook+ reductions and by OpenCL C; charts a photograph's brightness row by row."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import headwater as hw
from headwater.data import photograph

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import options, save_chart, start, timed

HERE = Path(__file__).resolve().parent
GROUP = 256
GROUPS = 64


def opencl_sum(values: np.ndarray, device: str | None = None) -> float:
    """The sum of float32 values by reduction.cl."""
    kernel = hw.compile(HERE / "reduction.cl").sum
    partial, total = np.empty(GROUPS, np.float32), np.empty(1, np.float32)
    shared = hw.Local(4 * GROUP)
    kernel[(GROUPS * GROUP,), (GROUP,)](values, partial, values.size, shared, device=device).wait()
    kernel[(GROUP,), (GROUP,)](partial, total, GROUPS, shared, device=device).wait()
    return float(total[0])


def brook_sum(values: np.ndarray, device: str | None = None) -> float:
    """The same by reduction.br."""
    return float(hw.compile(HERE / "reduction.br").total(values, device=device))


def rows(image: np.ndarray, kernel: str, device: str | None = None) -> np.ndarray:
    """A partial reduction of reduction.br ("total", "greatest" or "least"): one result per row of the image."""
    program = hw.compile(HERE / "reduction.br")
    return getattr(program, kernel)(image, shape=(image.shape[0], 1), device=device)[:, 0]


def main() -> None:
    parser = options(__doc__, "reduction.png")
    parser.add_argument("--count", type=int, default=10_000_000, help="numbers to sum (default: %(default)s)")
    arguments = parser.parse_args()
    values = np.random.default_rng(0).random(arguments.count, np.float32)
    exact = values.sum(dtype=np.float64)
    for name, version in (("Brook+", brook_sum), ("OpenCL C", opencl_sum)):
        total, seconds = timed(lambda version=version: version(values, arguments.device))
        rate = values.nbytes / seconds / 1e9
        print(f"{name:10} {seconds * 1e3:8.2f} ms, {rate:.1f} GB/s, relative error {abs(total / exact - 1):.1e}")
    grey = np.asarray(Image.open(photograph()).convert("L"), np.float32)
    series = {
        "greatest": rows(grey, "greatest", arguments.device),
        "mean": rows(grey, "total", arguments.device) / grey.shape[1],
        "least": rows(grey, "least", arguments.device),
    }
    save_chart(arguments.output, "Brightness of the photograph's rows", np.arange(grey.shape[0]), series, "row")


if __name__ == "__main__":
    start(main)
