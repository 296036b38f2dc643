#!/usr/bin/env python3
"""Running totals of a long array by blocks in OpenCL C and by doubling distances in Brook+; charts a random walk."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import headwater as hw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import options, save_chart, start, timed

HERE = Path(__file__).resolve().parent
GROUP = 256


def opencl(source: np.ndarray, device: str | None = None) -> np.ndarray:
    """Inclusive prefix sums of int32 by prefix_sum.cl, for any length."""
    program = hw.compile(HERE / "prefix_sum.cl")
    shared = hw.Local(4 * GROUP)

    def scan(values: np.ndarray) -> np.ndarray:
        blocks = -(-values.size // GROUP)
        size = ((blocks * GROUP,), (GROUP,))
        result, totals = np.empty_like(values), np.empty(blocks, np.int32)
        program.scan_blocks[size](values, result, totals, values.size, shared, device=device).wait()
        if blocks > 1:
            program.add_starts[size](result, scan(totals), values.size, device=device).wait()
        return result

    return scan(source)


def brook(source: np.ndarray, device: str | None = None) -> np.ndarray:
    """The same by prefix_sum.br: about log2(length) steps, each over the whole stream."""
    step = hw.compile(HERE / "prefix_sum.br").scan_step
    distance, result = 1, source
    while distance < source.size:
        result = step(result, distance, shape=source.shape, device=device)
        distance *= 2
    return result


def main() -> None:
    parser = options(__doc__, "prefix_sum.png")
    parser.add_argument("--count", type=int, default=1_000_000, help="elements (default: %(default)s)")
    arguments = parser.parse_args()
    steps = np.random.default_rng(0).integers(-1, 2, (3, arguments.count), np.int32)
    for name, version in (("Brook+", brook), ("OpenCL C", opencl)):
        result, seconds = timed(lambda version=version: version(steps[0], arguments.device))
        right = "right" if np.array_equal(result, np.cumsum(steps[0], dtype=np.int32)) else "WRONG"
        rate = arguments.count / seconds / 1e6
        print(f"{name:10} {seconds * 1e3:8.2f} ms, {rate:.0f} million elements a second, {right}")
    shown = slice(None, None, max(1, arguments.count // 2000))
    walks = {f"walk {i + 1}": opencl(walk, arguments.device)[shown] for i, walk in enumerate(steps)}
    save_chart(
        arguments.output, "Random walks: prefix sums of -1, 0, 1", np.arange(arguments.count)[shown], walks, "step"
    )


if __name__ == "__main__":
    start(main)
