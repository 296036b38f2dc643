#!/usr/bin/env python3
"""Times how soon a new process has its first result: import, cold cache, warm cache; medians over fresh processes.

"cold" begins with an empty cache directory, "new kernel" with the device library in the cache but not this kernel,
"warm" with everything in the cache. Times run from the start of the process to the first checked result. Python's own
bytecode is there in all of them, as it is once a package has been installed or used, whatever the environment says.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

IMPORT = "import time; t = time.perf_counter(); import headwater; print(time.perf_counter() - t)"

BASELINE = "import time, numpy; print(time.monotonic())"
"""What no program with arrays can do without: Python and NumPy."""

OPENCL = """
import time
import numpy as np
import headwater as hw
a = np.arange(1000, dtype=np.float32)
b = np.empty_like(a)
source = "__kernel void work(__global const float *a, __global float *b) {{ int i = get_global_id(0); b[i] = {body}; }}"
program = hw.compile(source, language="opencl", options="-D SALT=0", device="cpu")
program.work[(a.size,), None](a, b).wait()
now = time.monotonic()
assert np.allclose(b, {check}, rtol=1e-4), b
print(now)
"""

BROOK = """
import time
import numpy as np
import headwater as hw
spot = np.linspace(50, 150, 1000, dtype=np.float32)
strike, years = np.full_like(spot, 100), np.full_like(spot, {years})
program = hw.compile({path!r}, options="-D SALT=0", device="cpu")
call, put = program.black_scholes(spot, strike, years, 0.03, 0.25)
now = time.monotonic()
assert np.allclose(call - put, spot - 100 * np.exp(-0.03 * {years}), atol=1e-2)
print(now)
"""

FILTER = """
import time
import numpy as np
import headwater as hw
image = np.arange(64 * 48, dtype=np.uint32).reshape(48, 64)
result = np.empty_like(image)
program = hw.compile({path!r}, options="-D SALT=0", device="cpu")
program.medianfilter_rgba[(64, 48), None](image, result, 64, 48).wait()
now = time.monotonic()
assert np.array_equal(result[0], image[0])
print(now)
"""

PROGRAMS = {
    "OpenCL C, a * 2 + 1": OPENCL.format(body="a[i] * 2 + 1", check="a * 2 + 1"),
    "OpenCL C with exp and log": OPENCL.format(body="exp(-a[i]) + log(a[i] + 1)", check="np.exp(-a) + np.log(a + 1)"),
    "OpenCL C, median.cl": FILTER.format(path=str(ROOT / "examples/median/median.cl")),
    "Brook+, black_scholes.br": BROOK.format(path=str(ROOT / "examples/black_scholes/black_scholes.br"), years=1.0),
}


def run(program: str, cache: Path) -> float:
    """Seconds from the start of a new process to the time that the program prints."""
    environment = {**os.environ, "HEADWATER_CACHE_DIR": str(cache)}
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"a measured program failed:\n{done.stderr}")
    return float(done.stdout) - start


def seconds_printed(program: str) -> float:
    """The number that the program prints, in a new process."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(done.stdout)


def measure(rounds: int) -> dict[str, dict[str, list[float]]]:
    """Times by program and state of the cache; every round goes through all of them."""
    times: dict[str, dict[str, list[float]]] = {name: {"cold": [], "new kernel": [], "warm": []} for name in PROGRAMS}
    times["import headwater"] = {"": []}
    times["Python and NumPy alone"] = {"": []}
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ.update(PYTHONPATH=str(ROOT), PYTHONPYCACHEPREFIX=f"{folder}/bytecode")
        run(BASELINE, Path(folder))
        seconds_printed(IMPORT)
        libraries = {}
        for name, program in PROGRAMS.items():
            # A cache that knows the library units that the program needs, but not the program: made by its sibling.
            libraries[name] = Path(folder) / f"library-{len(libraries)}"
            run(sibling(program), libraries[name])
        for _ in range(rounds):
            times["import headwater"][""].append(seconds_printed(IMPORT))
            times["Python and NumPy alone"][""].append(run(BASELINE, Path(folder)))
            for name, program in PROGRAMS.items():
                cache = Path(folder) / "cache"
                times[name]["cold"].append(run(program, cache))
                times[name]["warm"].append(run(program, cache))
                shutil.rmtree(cache)
                shutil.copytree(libraries[name], cache)
                times[name]["new kernel"].append(run(program, cache))
                shutil.rmtree(cache)
    return times


def sibling(program: str) -> str:
    """The same program as far as its needs go, but another one for the cache: with another macro defined."""
    return program.replace("SALT=0", "SALT=1")


def report(times: dict[str, dict[str, list[float]]]) -> str:
    lines = ["| what | cache | median s | min s | max s |", "|---|---|---|---|---|"]
    for name, states in times.items():
        for state, values in states.items():
            middle = statistics.median(values)
            lines.append(f"| {name} | {state} | {middle:.3f} | {min(values):.3f} | {max(values):.3f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rounds", type=int, default=9, metavar="N", help="fresh processes each (default: %(default)s)"
    )
    parser.add_argument("--json", metavar="FILE", help="also write everything measured to FILE")
    arguments = parser.parse_args()
    times = measure(max(1, arguments.rounds))
    print(report(times))
    if arguments.json:
        record: dict[str, Any] = {"benchmark": "startup", "date": time.strftime("%Y-%m-%d"), "seconds": times}
        Path(arguments.json).write_text(json.dumps(record, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
