#!/usr/bin/env python3
"""How fast matrix instructions of simulated chips are emulated, by types of their factors.

    python benchmarks/matrices.py [--devices mi250x,mi300x] [--side 512] [--rounds 7] [--json FILE]

Medians of GFLOP/s over the processor time of all threads, so "a core"; types take turns in every round. Results are
compared with NumPy's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import headwater as hw
from benchmarks.emulate import cpu_seconds, in_turn

KERNELS = Path(__file__).with_name("matrix_kernels.cl")
TILE = 128
"""Rows and columns of a work-group's results."""


def _bfloats(numbers: Any) -> tuple[Any, Any]:
    bits = numbers.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return (bits >> np.uint32(16)).astype(np.uint16), bits.view(np.float32)


def _plain(kind: type) -> Callable[[Any], tuple[Any, Any]]:
    def convert(numbers: Any) -> tuple[Any, Any]:
        stored = numbers.astype(kind)
        return stored, stored

    return convert


TYPES = {"f16": _plain(np.float16), "bf16": _bfloats, "f32": _plain(np.float32), "f64": _plain(np.float64)}
"""What is stored of numbers, and what that is worth."""


def product(device: str, name: str, side: int) -> Callable[[], float]:
    """A product of two matrices of ``side`` rows and columns, checked once, that returns GFLOP/s a core."""
    rng = np.random.default_rng(1)
    (a, worth_a), (b, worth_b) = (TYPES[name](rng.standard_normal((side, side))) for _ in range(2))
    c = np.zeros((side, side), np.float64 if name == "f64" else np.float32)
    kernel = hw.device(device).build(KERNELS.read_text(), KERNELS.name).kernels[name]
    launch = kernel.prepare((256 * (side // TILE), side // TILE), (256, 1))
    given = [a.view(np.uint32), b.view(np.uint32), c, np.int32(side)]

    def run() -> float:
        start = cpu_seconds()
        launch(given, None, None).wait()
        return 2 * side**3 / (cpu_seconds() - start) / 1e9

    run()
    wanted = worth_a.astype(np.float64) @ worth_b.astype(np.float64).T
    assert np.allclose(c, wanted, rtol=1e-4, atol=1e-3), f"the {name} product is wrong on {device}"
    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", default="mi250x,mi300x", help="simulated chips (default %(default)s)")
    parser.add_argument("--side", type=int, default=512, help="rows, a multiple of 128 (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds (default %(default)s)")
    parser.add_argument("--json", type=Path, help="keep the figures there")
    options = parser.parse_args()
    if options.side < TILE or options.side % TILE:
        parser.error(f"--side {options.side} is not a multiple of {TILE}")
    devices = options.devices.split(",")
    try:
        for device in devices:
            hw.device(device)
    except hw.HeadwaterError as error:
        parser.error(str(error))
    found = {}
    for device in devices:
        sides = {name: product(device, name, options.side) for name in TYPES}
        found[device] = in_turn(sides, options.rounds)
        for name, rate in found[device].items():
            print(f"{device:8} {name:5} {options.side:5} {rate:8.2f} GFLOP/s a core", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps({"benchmark": "matrices", "side": options.side, "rates": found}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
