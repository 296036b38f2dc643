#!/usr/bin/env python3
"""Draws the Mandelbrot set, or any part of it, in Brook+ and in OpenCL C."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import headwater as hw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import heat, options, save_picture, start, timed

HERE = Path(__file__).resolve().parent


def brook(
    left: float, top: float, step: float, shape: tuple[int, int], limit: int, device: str | None = None
) -> np.ndarray:
    """Escape times by mandelbrot.br for points ``step`` apart from the upper left corner on; (height, width) int32."""
    return hw.compile(HERE / "mandelbrot.br").mandelbrot(left, top, step, limit, shape=shape, device=device)


def opencl(
    left: float, top: float, step: float, shape: tuple[int, int], limit: int, device: str | None = None
) -> np.ndarray:
    """The same by mandelbrot.cl."""
    height, width = shape
    escaped = np.empty(shape, np.int32)
    kernel = hw.compile(HERE / "mandelbrot.cl").mandelbrot
    kernel[(width, height), None](escaped, left, top, step, width, height, limit, device=device).wait()
    return escaped


def main() -> None:
    parser = options(__doc__, "mandelbrot.png")
    parser.add_argument(
        "--centre", type=complex, default=-0.75 + 0j, help="in the complex plane (default: %(default)s)"
    )
    parser.add_argument("--width", type=float, default=3.5, help="of the rectangle shown (default: %(default)s)")
    parser.add_argument("--size", default="1280x960", help="of the picture (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=500, help="steps at most (default: %(default)s)")
    arguments = parser.parse_args()
    columns, rows = (int(n) for n in arguments.size.split("x"))
    step = arguments.width / columns
    left = arguments.centre.real - arguments.width / 2
    top = arguments.centre.imag + step * rows / 2

    for name, version in (("Brook+", brook), ("OpenCL C", opencl)):
        escaped, seconds = timed(
            lambda version=version: version(left, top, step, (rows, columns), arguments.limit, arguments.device)
        )
        print(f"{name:10} {seconds * 1e3:8.2f} ms, {escaped.sum() / seconds / 1e6:.0f} million steps a second")
    shade = np.where(escaped < arguments.limit, np.log1p(escaped) / np.log1p(arguments.limit), 0)
    save_picture(arguments.output, heat(shade))


if __name__ == "__main__":
    start(main)
