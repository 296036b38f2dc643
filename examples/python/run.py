#!/usr/bin/env python3
"""Runs kernels that are written in Python: one over work-items and its like over streams, and compares their results
with NumPy's.

`kernels.py` has kernels over work-items, `streams.py` stream kernels; both become the other examples' machine code.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import kernels
import streams
from support import start


def over_work_items(count: int, device: str | None) -> float:
    """The largest error of saxpy over work-items."""
    x, y = np.random.default_rng(0).random((2, count), np.float32)
    want = 2.0 * x + y
    kernels.saxpy[count, None](x, y, 2.0, device=device)
    return float(np.abs(y - want).max())


def over_streams(rows: int, device: str | None) -> float:
    """The largest error of a matrix product over streams."""
    a, b = np.random.default_rng(1).random((2, rows, rows), np.float32)
    made = streams.matmult(a, b, rows, shape=(rows, rows), device=device)
    return float(np.abs(made - a @ b).max())


def reduced(count: int, device: str | None) -> float:
    """The error of a sum of whole numbers, which is exact."""
    values = np.arange(count, dtype=np.float32) % 8
    return abs(float(streams.total(values, device=device)) - float(values.sum()))


def main() -> None:
    """Run them all and print their errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="cpu, gpu, a chip, … (default: HEADWATER_DEVICE, else cpu)")
    arguments = parser.parse_args()
    print(f"saxpy over work-items: largest error {over_work_items(10_000, arguments.device):.3g}")
    print(f"matrix product over streams: largest error {over_streams(64, arguments.device):.3g}")
    print(f"sum of a stream: error {reduced(10_000, arguments.device):.3g}")


if __name__ == "__main__":
    start(main)
