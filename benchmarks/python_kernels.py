"""What kernels in Python cost: a launch beside the same OpenCL C kernel's, translation, and the first result.

    python benchmarks/python_kernels.py [--rounds 200] [--json]

A launch's sides are timed in turn in one run; medians are printed, and their difference and ratio. ``translate``: from
a function's text to OpenCL C, a kernel of 100 lines. ``first``: a new process from before ``import headwater`` to the
result of a small kernel, with an empty cache (cold) and with a filled one (warm); NumPy's import is among them.
``cpu``: the same in time of the thread or process itself, which other work on the machine changes less; use the other
figures on an idle machine only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import headwater as hw

FACTOR = 2
SOURCE = """
kernel void scale(global const float *a, global float *b, float factor, int n) {
  int i = get_global_id(0);
  if (i < n) b[i] = a[i] * factor * 2;
}
"""
FIRST = """
import time
start, cpu = time.perf_counter(), time.process_time()
import numpy as np
import headwater as hw

@hw.kernel
def scale(a, b, factor):
    i = hw.global_id(0)
    b[i] = a[i] * factor

b = np.empty(100, np.float32)
scale[100, None](np.ones(100, np.float32), b, 3.0)
assert b[99] == 3
print(time.perf_counter() - start, time.process_time() - cpu)
"""
LONG = "import headwater as hw\n\n\ndef long(a, b, n):\n    i = hw.global_id(0)\n    x = a[i]\n    k = 0\n" + "".join(
    f"    if x > {number} and k < n:\n        x = x * 0.5 + b[(i + {number}) % n]\n        k += i // 3\n"
    for number in range(31)
) + "    b[i] = x + k\n"  # fmt: skip


@hw.kernel
def scale(a, b, factor, n):
    i = hw.global_id(0)
    if i < n:
        b[i] = a[i] * factor * FACTOR


def launches(rounds: int) -> dict[str, float]:
    theirs = hw.compile(SOURCE).scale
    a, b = np.ones(64, np.float32), np.empty(64, np.float32)
    sides = {"opencl": theirs[64, None], "python": scale[64, None]}
    for launch in sides.values():
        for _ in range(100):
            launch(a, b, 0.5, 64)
    clocks = {"us": time.perf_counter, "cpu_us": time.thread_time}
    times: dict[tuple[str, str], list[float]] = {(name, unit): [] for name in sides for unit in clocks}
    for _ in range(rounds):
        for name, launch in sides.items():
            starts = [clock() for clock in clocks.values()]
            for _ in range(200):
                launch(a, b, 0.5, 64)
            for (unit, clock), start in zip(clocks.items(), starts, strict=True):
                times[name, unit].append((clock() - start) / 200 * 1e6)
    medians = {key: statistics.median(found) for key, found in times.items()}
    found = {f"launch_{name}_{unit}": median for (name, unit), median in medians.items()}
    for unit in clocks:
        found[f"difference_{unit}"] = medians["python", unit] - medians["opencl", unit]
    return {**found, "ratio": medians["python", "cpu_us"] / medians["opencl", "cpu_us"]}


def translation(rounds: int) -> dict[str, float]:
    from headwater.python import types

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long_kernel.py"
        path.write_text(LONG, encoding="utf-8")
        space: dict[str, object] = {}
        exec(compile(LONG, str(path), "exec"), space)
        times = []
        for _ in range(rounds + 1):  # the first imports the translator
            kernel = hw.kernel(space["long"])
            start, cpu = time.perf_counter(), time.thread_time()
            kernel.translation((types.array(types.FLOAT32), types.array(types.FLOAT32), types.INT32))
            times.append((time.perf_counter() - start, time.thread_time() - cpu))
    wall, cpu = (statistics.median(column) * 1e3 for column in zip(*times[1:], strict=True))
    return {"translate_lines": float(LONG.count("\n")), "translate_ms": wall, "translate_cpu_ms": cpu}


def first(rounds: int) -> dict[str, float]:
    found: dict[str, list[list[float]]] = {"cold": [], "warm": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "first.py"
            script.write_text(FIRST, encoding="utf-8")
            environment = {**os.environ, "HEADWATER_CACHE_DIR": str(Path(folder) / "cache"),
                           "PYTHONPYCACHEPREFIX": str(Path(folder) / "modules")}  # fmt: skip
            environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled as those of an installed package
            other = {**environment, "HEADWATER_CACHE_DIR": str(Path(folder) / "other")}
            subprocess.run([sys.executable, str(script)], env=other, capture_output=True, check=True)
            for name in found:
                ran = subprocess.run(
                    [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True
                )
                found[name].append([float(word) for word in ran.stdout.split()])
    columns = {name: list(zip(*times, strict=True)) for name, times in found.items()}
    of = (("s", 0), ("cpu_s", 1))
    return {f"first_{name}_{unit}": statistics.median(c[n]) for name, c in columns.items() for unit, n in of}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="of launches (default: 200)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    found = {**launches(options.rounds), **translation(max(options.rounds // 10, 5)), **first(5)}
    if options.json:
        print(json.dumps(found))
        return
    for name, number in found.items():
        print(f"{name:20} {number:10.3f}")


if __name__ == "__main__":
    main()
