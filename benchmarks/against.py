#!/usr/bin/env python3
"""Compares this version of Headwater with another one: processor time of the same programs, both versions in turn.

    python benchmarks/against.py CHECKOUT [NAME …] [--pairs 3]

NAME is one or more of launch, startup, cpu, emulate, emulate_vliw and timing; by default all. Each measurement is a
process of its own, which runs this checkout's benchmark with the package of either version; medians over the pairs are
compared, and a geometric mean above 1 says that this version is slower. Each version has its own caches, of kernels and
of Python's bytecode, which the first, uncounted, process fills. The times of ``launch`` are on the clock, as a launch
is too short for the system's counters.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
REPEATS, LEAST_SECONDS = 3, 0.4
"""A process measures each thing so many times, and for so long, at least; the least counts."""
SIDE = 256


def least(run: Callable[[], object]) -> float:
    """The least processor time of a run, after one that is not counted."""
    run()
    found: list[float] = []
    while len(found) < REPEATS or sum(found) < LEAST_SECONDS:
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def launch() -> dict[str, float]:
    """Microseconds of launches on the cpu device."""
    from benchmarks import launch as program

    return program.cpu()


def startup() -> dict[str, float]:
    """Processor seconds of new processes and what they wait for, with an empty and with a full cache."""
    from benchmarks.startup import PROGRAMS

    def children() -> float:
        return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])

    found = {}
    for name, program in PROGRAMS.items():
        cold, warm = [], []
        for _ in range(REPEATS):
            with tempfile.TemporaryDirectory() as cache:
                environment = {**os.environ, "HEADWATER_CACHE_DIR": cache}
                for times in (cold, warm):
                    start = children()
                    subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True)
                    times.append(children() - start)
        found |= {f"{name}, cold": min(cold), f"{name}, warm": min(warm)}
    return found


def cpu() -> dict[str, float]:
    """Processor seconds of the suite's kernels on the cpu device, as Headwater's side of ``cpu.py`` runs them."""
    sys.path.insert(0, str(Path(__file__).parent))
    import peers
    from suite import CASES

    peer = peers.start("headwater")
    found = {}
    for name, case in CASES.items():
        for version, run in peer.versions(case, case.make(False)).items():
            end = time.monotonic() + 0.5
            while time.monotonic() < end:  # large launches try their access modes
                run()
            found[f"{name}, {version}"] = least(run)
    return found


def emulate() -> dict[str, float]:
    """Processor seconds of kernels on a simulated GCN chip."""
    import numpy as np

    from benchmarks.emulate import COMPUTE, COMPUTE_ITEMS, launcher

    types = {"fmas": np.float32, "hash": np.uint32, "mandelbrot": np.int32}
    found = {}
    for kernel, turns in COMPUTE.items():
        out = np.zeros(COMPUTE_ITEMS, types[kernel])
        found[kernel] = least(launcher("vega64", kernel, ((COMPUTE_ITEMS,), (256,)), [out, np.int32(turns)]))
    a, b, c = (np.ones((SIDE, SIDE), np.float32) for _ in range(3))
    sizes = ((SIDE, SIDE), (16, 16))
    return found | {"matmul": least(launcher("vega64", "matmul", sizes, [a, b, c, np.int32(SIDE)]))}


def emulate_vliw() -> dict[str, float]:
    """The same on simulated VLIW chips."""
    import headwater as hw
    from benchmarks.emulate_vliw import CASES, measure

    chips, rounds = ("hd5870", "hd6970"), 30
    rates = {
        f"{kernel} on {chip}": measure(hw.device(chip), kernel, rounds)["best"] for chip in chips for kernel in CASES
    }
    return {name: 1 / rate for name, rate in rates.items()}


def timing() -> dict[str, float]:
    """Processor seconds of the replay of traces on chips of both families."""
    import numpy as np

    import headwater as hw
    from benchmarks.timing import SOURCE
    from headwater import chips
    from headwater.timing import Recorded

    x, z, y = np.ones((SIDE, SIDE), np.float32), np.zeros((SIDE, SIDE), np.float32), np.zeros(1 << 16, np.float32)
    wide = np.ones((1 << 18, 4), np.float32)
    order, line = np.random.default_rng(1).permutation(1 << 18).astype(np.int32), np.ones(1 << 18, np.float32)
    runs: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
        **dict.fromkeys(("mm", "plain"), ((SIDE, SIDE), (16, 16), (x, x, z, SIDE))),
        "chain": ((y.size,), (256,), (y, 256)),
        "copy": ((1 << 18,), (256,), (wide, np.zeros_like(wide))),
        "gather": ((1 << 18,), (256,), (order, line, np.zeros_like(line))),
    }
    found = {}
    for name in ("vega64", "hd5870"):
        program, chip = hw.compile(SOURCE, language="opencl", device=name), chips.find(name)
        for kernel, (whole, group, arguments) in runs.items():

            def run(kernel: str = kernel, sizes: Any = (whole, group), arguments: Any = arguments) -> None:
                program[kernel][sizes](*arguments, device=name)  # noqa: B023

            recorded = Recorded(run).launches[0]
            found[f"{kernel} on {name}"] = least(lambda: recorded.report(chip))  # noqa: B023
    return found


MEASURED = {one.__name__: one for one in (launch, startup, cpu, emulate, emulate_vliw, timing)}


def compare(name: str, checkout: Path, pairs: int, caches: Path) -> float:
    """Print a benchmark's times by both versions; their geometric mean, this one's over the other's."""
    times: dict[Path, list[dict[str, float]]] = {HERE: [], checkout: []}
    for number in range(pairs + 1):
        for path in (HERE, checkout) if number % 2 else (checkout, HERE):
            own = caches / ("here" if path == HERE else "other")
            environment = {**os.environ, "PYTHONPATH": str(path), "HEADWATER_THREADS": "1"}
            environment |= {"HEADWATER_CACHE_DIR": str(own), "PYTHONPYCACHEPREFIX": f"{own}-bytecode"}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has bytecode
            command = [sys.executable, str(Path(__file__).resolve()), str(checkout), name, "--measure"]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{name} failed with the package in {path}:\n{done.stderr}")
            if number:
                times[path].append(json.loads(done.stdout))
    ratios = []
    for what in times[HERE][0].keys() & times[checkout][0].keys():
        new, old = (statistics.median(row[what] for row in times[path]) for path in (HERE, checkout))
        ratios.append((new / old, what))
    for ratio, what in sorted(ratios):
        print(f"  {what:50} {ratio:.3f}")
    mean = statistics.geometric_mean(ratio for ratio, _ in ratios)
    print(f"{name}: geometric mean {mean:.3f} of {len(ratios)}", flush=True)
    return mean


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="the other version's checkout")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MEASURED)}")
    parser.add_argument("--pairs", type=int, default=3, help="counted pairs of processes (default %(default)s)")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.names or list(MEASURED)
    if unknown := [name for name in names if name not in MEASURED]:
        parser.error(f"no benchmark is called {', '.join(unknown)}: {', '.join(MEASURED)}")
    if options.pairs < 1:
        parser.error("--pairs is at least 1")
    if not (options.checkout / "headwater").is_dir():
        parser.error(f"{options.checkout} has no package headwater")
    if options.measure:
        import headwater  # that of PYTHONPATH, before the benchmarks put this checkout's folder first

        assert headwater.__file__ is not None
        sys.path.append(str(HERE))
        print(json.dumps(MEASURED[names[0]]()))
        return 0
    caches = Path(tempfile.mkdtemp(prefix="headwater-against-"))
    try:
        for name in names:
            compare(name, options.checkout.resolve(), options.pairs, caches)
    finally:
        shutil.rmtree(caches)
    return 0


if __name__ == "__main__":
    sys.exit(main())
