#!/usr/bin/env python3
"""How fast simulated VLIW chips are: VLIW groups a second and core, over OpenCL kernels compiled for each.

    python benchmarks/emulate_vliw.py [--device hd5870] [--device hd6970] [--rounds 5] [--watching] [--json FILE]

A group is up to five operations on a wavefront's lanes; fetches and control flow are counted as one each. Rates are
over the processor time of a single thread, so that other work on the machine matters less. --watching prints only what
--check and traces cost over a plain launch, in processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import headwater as hw
from benchmarks.emulate import cpu_seconds, in_turn, watched_launches
from headwater.emulate.watch.trace import Recording

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


def watching(device: hw.Device, rounds: int) -> None:
    """Print the processor time of checked and of recorded launches over that of plain ones."""
    program = device.build(KERNELS.read_text(), str(KERNELS))
    print(f"{f'processor time on {device.name}':32} {'ms':>8} {'--check':>9} {'totals':>9} {'trace file':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (sizes, args) in watched_launches().items():
            plain = program.kernels[name].prepare(*sizes)
            recorded = [plain.watched(Recording(path)) for path in (None, Path(folder) / "trace")]  # type: ignore[attr-defined]
            checked = program.kernels[name].prepare(*sizes, check=True)
            launches = dict(zip(("plain", "check", "totals", "file"), (plain, checked, *recorded), strict=True))

            def timed(launch: Any, args: list[Any] = args) -> float:
                start = cpu_seconds()
                launch(args, None, None).wait()
                return cpu_seconds() - start

            times = in_turn({side: lambda one=one: timed(one) for side, one in launches.items()}, rounds)
            ratios = [times[side] / times["plain"] for side in ("check", "totals", "file")]
            costs = f"{ratios[0]:8.2f}x {ratios[1]:8.2f}x {ratios[2]:10.2f}x"
            print(f"{name:32} {times['plain'] * 1e3:8.2f} {costs}", flush=True)


def main() -> None:
    """Print a line for each device and kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="simulated VLIW chips (hd5870 and hd6970)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--watching", action="store_true", help="only what --check and traces cost")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    os.environ.setdefault("HEADWATER_THREADS", "1")  # those that wait for the next launch would count as work
    found = {}
    for name in chosen.device or ["hd5870", "hd6970"]:
        if chosen.watching:
            watching(hw.device(name), chosen.rounds)
            continue
        for kernel in CASES:
            result = found[f"{name} {kernel}"] = measure(hw.device(name), kernel, chosen.rounds)
            print(f"{name:10} {kernel:12} {result['rate'] / 1e6:8.1f} M groups/s a core", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
