"""What the OpenCL platform's calls cost a host in C, next to the same launches by the Python API.

    python benchmarks/icd.py [--device cpu] [--elements 67108864] [--json]

Both sides run in turn in processes of their own, several times; medians are printed. `launch` is a small launch that is
waited for, `enqueue` one that is not, `argument` and `count` are clSetKernelArg and a change of a reference count,
`add` is a sum of two arrays and `start` the time from loading the library to the list of devices, with a warm cache.
`build` is a small program that no cache has, from its source to the end of its first launch.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from headwater.icd import library
from headwater.native import toolchain

SOURCE = """kernel void add(global const float *a, global const float *b, global float *c) {
  size_t i = get_global_id(0); c[i] = a[i] + b[i]; }"""
ROUNDS = 5


def python_side(device: str, elements: int) -> dict[str, float]:
    """Microseconds of the same launches by the Python API."""
    import headwater as hw

    program = hw.compile(SOURCE, device=device)
    a, b, c = (hw.stream((np.arange(elements) % 1000).astype(np.float32) * k, device=device) for k in (1, 2, 3))

    def median(call: Callable[[], object], count: int) -> float:
        times = []
        for _ in range(count):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e6

    def build() -> None:
        text = SOURCE.replace("b[i];", f"b[i] * {time.monotonic_ns() // 1000}.0f;")
        hw.compile(text, device=device).add[(64,), (64,)](a, b, c)

    return {
        "build": median(build, 11),
        "launch": median(lambda: program.add[(64,), (64,)](a, b, c), 2000),
        "add": median(lambda: program.add[(elements,)](a, b, c), 15),
    }


def host(folder: str) -> str:
    """The C side, compiled."""
    here = Path(__file__).parent
    text = (library.FOLDER / "dispatch.c").read_text(encoding="utf-8")
    names = re.findall(r"\b(?:CALL|NONE)\((\w+)\)", text[text.index("#define ALL(") : text.index("#define DECLARE")])
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        places.setdefault(name, place)
    vendor = "".join(f"#define AT_{name} {place}\n" for name, place in places.items())
    files = library.generated() | {"vendor.h": vendor}
    files["cl_api.h"] = (library.FOLDER / "cl_api.h").read_text(encoding="utf-8")
    files["host.c"] = (here / "icd_host.c").read_text(encoding="utf-8")
    for name, content in files.items():
        Path(folder, name).write_text(content, encoding="utf-8")
    done = toolchain.cc(["-O2", "-o", "host", "host.c", "-ldl"], folder)
    if done.returncode:
        raise SystemExit(done.stderr.decode(errors="replace"))
    return os.path.join(folder, "host")


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--elements", type=int, default=64 << 20)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--python-side", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.python_side:
        print(json.dumps(python_side(options.device, options.elements)))
        return 0
    root = str(Path(__file__).resolve().parents[1])
    environ = {**os.environ, "HEADWATER_ICD_DEVICES": options.device, "HEADWATER_PYTHON": sys.executable}
    environ |= {"HEADWATER_PYTHONPATH": root, "PYTHONPATH": root}
    sides: dict[str, dict[str, list[float]]] = {"platform": defaultdict(list), "python": defaultdict(list)}
    with tempfile.TemporaryDirectory() as folder:
        program, built = host(folder), str(library.build())
        other = [sys.executable, __file__, "--python-side", "--device", options.device]
        for _ in range(ROUNDS):
            size = str(options.elements)
            said = subprocess.run(
                [program, built, size], env=environ, capture_output=True, text=True, check=True
            ).stdout
            for line in said.splitlines():
                name, value = line.split()
                sides["platform"][name].append(float(value))
            found = json.loads(
                subprocess.run(
                    [*other, "--elements", size], env=environ, capture_output=True, text=True, check=True
                ).stdout
            )
            for name, value in found.items():
                sides["python"][name].append(value)
    medians = {side: {name: statistics.median(times) for name, times in found.items()} for side, found in sides.items()}
    if options.json:
        print(json.dumps(medians))
        return 0
    ours, python = medians["platform"], medians["python"]
    print(f"start                 {ours['start'] / 1e6:8.2f} s")
    print(f"build                 {ours['build'] / 1e3:8.1f} ms, by the Python API {python['build'] / 1e3:.1f} ms")
    print(f"launch and wait       {ours['launch']:8.2f} µs, by the Python API {python['launch']:.2f} µs")
    print(f"enqueue               {ours['enqueue']:8.2f} µs")
    print(f"set an argument       {ours['argument']:8.3f} µs")
    print(f"change a count        {ours['count']:8.3f} µs")
    print(f"a + b                 {ours['add'] / python['add']:8.3f} times the Python API's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
