"""What Brook+ reductions move: GB/s of the input, by what is folded, and whether operands have to stay in order.

    python benchmarks/reductions.py [--device cpu] [--mib 256] [--rounds 9] [--json FILE]

On streams, each side in turn in one run, medians of the wall clock. On the cpu the rate of one core is printed too,
from the processor time of all threads, which other load on the machine changes little, and NumPy's rate beside it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import headwater as hw

SOURCE = """
reduce void total(float a<>, reduce float t<>) { t += a; }
reduce void last(float a<>, reduce float t<>) { if (a != 0.0f) t = a; }
"""


def cases(count: int) -> dict[str, tuple[tuple[int, ...], tuple[int, ...] | None, int | None]]:
    """The input's shape, what it is reduced to, and NumPy's axis, of about ``count`` elements in all."""
    side = 1 << (count.bit_length() - 1) // 2
    return {
        "to one value": ((count,), None, None),
        "rows": ((count // side, side), (count // side, 1), 1),
        "columns": ((count // side, side), (side,), 0),
        "1000 columns": ((count // 1000, 1000), (1000,), 0),
        "4 columns": ((count // 4, 4), (4,), 0),
        "middle of three": ((count // (side * 64), 64, side), (count // (side * 64), 1, side), 1),
    }


def measure(sides: dict[str, Callable[[], Any]], rounds: int) -> dict[str, tuple[float, float]]:
    """Median seconds of each side: by the clock, and of all threads' processor time."""
    clock: dict[str, list[float]] = {name: [] for name in sides}
    used: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, side in sides.items():
            start, busy = time.perf_counter(), time.process_time()
            side()
            if number:  # the first round compiles
                clock[name].append(time.perf_counter() - start)
                used[name].append(time.process_time() - busy)
    return {name: (statistics.median(clock[name]), statistics.median(used[name])) for name in sides}


def run(device: str, mib: int, rounds: int) -> dict[str, Any]:
    program = hw.compile(SOURCE, device=device)
    on_cpu = hw.device(device).kind == "cpu"
    results: dict[str, Any] = {"device": hw.device(device).description, "rates": {}}
    for name, (shape, target, axis) in cases(mib << 18).items():
        array = np.random.default_rng(1).random(shape, np.float32)
        stream = hw.stream(array, device=device)

        def call(kernel: str, stream: hw.Stream = stream, target: tuple[int, ...] | None = target) -> None:
            program[kernel](stream, shape=target)
            program[kernel].last_event.wait()

        sides: dict[str, Callable[[], Any]] = {
            "any order": lambda call=call: call("total"),  # type: ignore[misc]
            "in order": lambda call=call: call("last"),  # type: ignore[misc]
        }
        if on_cpu:
            sides["NumPy"] = lambda array=array, axis=axis: array.sum(axis)  # type: ignore[misc]
        seconds = measure(sides, rounds)
        results["rates"][name] = {
            side: {"gb_per_s": array.nbytes / wall / 1e9, "gb_per_s_of_a_core": array.nbytes / busy / 1e9}
            for side, (wall, busy) in seconds.items()
        }
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--mib", type=int, default=256, help="size of the input (default 256)")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    results = run(options.device, options.mib, options.rounds)
    print(f"{options.device}: {results['device']}")
    per_core = hw.device(options.device).kind == "cpu"
    for name, sides in results["rates"].items():
        for side, rate in sides.items():
            core = f", {rate['gb_per_s_of_a_core']:7.2f} of a core" if per_core else ""
            print(f"  {name:16} {side:10} {rate['gb_per_s']:8.2f} GB/s{core}")
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
