#!/usr/bin/env python3
"""How fast simulated VLIW chips are: VLIW groups a second and core, over OpenCL kernels compiled for each.

    python benchmarks/emulate_vliw.py [--device hd5870] [--device hd6970] [--rounds 5] [--json FILE]

A group is up to five operations on a wavefront's lanes; fetches and control flow are counted as one each. Rates are
over the processor time of all threads, so that other work on the machine matters less.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import headwater as hw

KERNELS = Path(__file__).with_name("emulate_kernels.cl")
ITEMS = 1 << 20
CASES = {
    "add": ((ITEMS,), lambda: [np.ones(ITEMS, np.float32) for _ in range(3)]),
    "hash": ((65536,), lambda: [np.zeros(65536, np.uint32), 200]),
    "fmas": ((65536,), lambda: [np.zeros(65536, np.float32), 400]),
    "mandelbrot": ((65536,), lambda: [np.zeros(65536, np.int32), 256]),
}


def measure(device: hw.Device, kernel: str, rounds: int) -> dict[str, float]:
    """Groups of one launch and how many a second and core."""
    size, arguments = CASES[kernel]
    program = device.build(KERNELS.read_text(), str(KERNELS))
    launch = program.kernels[kernel].prepare(size, None)
    args = arguments()
    launch(args).wait()
    seconds = []
    for _ in range(rounds):
        before = time.process_time()
        launch(args).wait()
        seconds.append(time.process_time() - before)
    count = launch.wave_instructions  # type: ignore[attr-defined]
    return {"groups": count, "rate": count / statistics.median(seconds), "best": count / min(seconds)}


def main() -> None:
    """Print a line for each device and kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="simulated VLIW chips (hd5870 and hd6970)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    found = {}
    for name in chosen.device or ["hd5870", "hd6970"]:
        for kernel in CASES:
            result = found[f"{name} {kernel}"] = measure(hw.device(name), kernel, chosen.rounds)
            print(f"{name:10} {kernel:12} {result['rate'] / 1e6:8.1f} M groups/s a core", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
