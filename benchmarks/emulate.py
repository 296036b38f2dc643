#!/usr/bin/env python3
"""How fast a simulated chip is, and how much memory it takes, next to PoCL's native code and to Oclgrind.

    python benchmarks/emulate.py [--device vega64] [--rounds 7] [--watching] [--json FILE]

Sides take turns in every round, and medians are printed. Rates "a core" are over the processor time of all threads, so
that other work on the machine matters less; the rest is wall time. PoCL runs the same OpenCL C as native code, Oclgrind
interprets its LLVM IR; a side that is not installed is named as missing. --watching prints only what --check and
traces cost over a plain launch, in processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import headwater as hw
from headwater.emulate.watch.trace import Recording

KERNELS = Path(__file__).with_name("emulate_kernels.cl")
POCL = "opencl:Portable"
SIDE = 512
"""Rows and columns of the matrices."""
ITEMS = 1 << 20
COMPUTE = {"hash": 200, "fmas": 400, "mandelbrot": 256}
"""Compute-bound kernels, and how often they loop."""
COMPUTE_ITEMS = 65536
REPEATS = 3
"""Launches in a row where short ones are compared."""
OCLGRIND_SIDE, OCLGRIND_ITEMS = 128, 65536
"""Oclgrind gets smaller problems, whose rates are compared: the large ones would take it minutes."""
TINY_SIDE = 16
"""A problem that shows what starting Oclgrind takes."""

FIRST_ANSWER = """
import time
import numpy as np
import headwater as hw
out = np.zeros(256, np.uint32)
source = open({path!r}).read()
program = hw.compile(source, language="opencl", options="-D SALT={salt}", device={device!r})
program.medium[(256,), (64,)](out, 2, device={device!r})
now = time.monotonic()
assert out.any()
print(now)
"""
MEMORY = """
import resource
import sys
import numpy as np
import headwater as hw
items = {items}
program = hw.compile(open({path!r}).read(), language="opencl", device={device!r})
arrays = [np.ones(items, np.float32) for _ in range(3)]
program.add[(items,), (256,)](*arrays, device={device!r})
assert (arrays[2] == 2).all()
try:  # ru_maxrss counts what the parent had when it forked
    (peak,) = [int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")]
except (OSError, ValueError):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(peak)
"""


@dataclass
class Line:
    """One measured thing: what each side gave, larger being better if ``rate``."""

    what: str
    unit: str
    sides: dict[str, float]
    rate: bool = True

    def ratio(self, ours: str, side: str) -> float:
        """How many times as good ours is."""
        mine, theirs = self.sides[ours], self.sides[side]
        return mine / theirs if self.rate else theirs / mine


def cpu_seconds() -> float:
    """Processor time of this process, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def in_turn(sides: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of what each side returns, each called once a round after one call that is not counted."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        order = list(sides)
        for name in order[number % len(order) :] + order[: number % len(order)]:
            value = sides[name]()
            if number:
                found[name].append(value)
    return {name: statistics.median(values) for name, values in found.items()}


class Oclgrind:
    """Oclgrind's kernel runner, on simulation files that are written here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = shutil.which("oclgrind-kernel")

    def seconds(self, kernel: str, sizes: tuple[str, str], arguments: list[str]) -> float:
        """Wall time of a process that runs the kernel: the median of three, after one that finds its files on disk."""
        simulation = self.folder / "run.sim"
        simulation.write_text("\n".join([str(KERNELS), kernel, *sizes, "", *arguments, ""]))
        times = []
        for _ in range(4):
            start = time.perf_counter()
            subprocess.run([str(self.path), str(simulation)], check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        return statistics.median(times[1:])

    def matmul(self, side: int) -> float:
        """Wall time of a matrix product."""
        arrays = [f"<size={4 * side * side} float fill={n}>" for n in (1, 2, 0)]
        return self.seconds("matmul", (f"{side} {side} 1", "16 16 1"), [*arrays, f"<size=4 int fill={side}>"])

    def add(self, items: int) -> float:
        """Wall time of a sum."""
        arrays = [f"<size={4 * items} float fill={n}>" for n in (1, 2, 0)]
        return self.seconds("add", (f"{items} 1 1", "256 1 1"), arrays)


def launcher(device: str, kernel: str, sizes: tuple[Any, Any], args: list[Any]) -> Any:
    """A launch of the benchmark's kernel, its data on the device, that waits for its end."""
    chosen = hw.device(device)
    program = chosen.build(KERNELS.read_text(), KERNELS.name)
    own = [chosen.upload(a) if isinstance(a, np.ndarray) and chosen.kind == "opencl" else a for a in args]
    launch = program.kernels[kernel].prepare(*sizes)

    def run() -> None:
        launch(own, None, None).wait()
        chosen.finish()

    run.launch = launch  # type: ignore[attr-defined]
    return run


def wall(run: Callable[[], None]) -> Callable[[], float]:
    def once() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return once


def compute_rates(device: str, rounds: int) -> list[Line]:
    """Wave-instructions a second and core, of kernels that do little but compute."""
    lines = []
    for kernel, turns in COMPUTE.items():
        out = np.zeros(COMPUTE_ITEMS, np.float32 if kernel == "fmas" else np.uint32 if kernel == "hash" else np.int32)
        run = launcher(device, kernel, ((COMPUTE_ITEMS,), (256,)), [out, np.int32(turns)])

        def once(run: Any = run) -> float:
            start = cpu_seconds()
            run()
            return float(run.launch.wave_instructions / (cpu_seconds() - start) / 1e6)

        lines.append(Line(f"{kernel}, a core", "M wave-instr./s", in_turn({device: once}, rounds)))
    return lines


def watched_launches() -> dict[str, tuple[tuple[Any, Any], list[Any]]]:
    """Launches whose watching is measured: kernel, sizes and arguments."""
    rng = np.random.default_rng(1)
    side = int(ITEMS**0.5)

    def floats(count: int) -> Any:
        return rng.random(count, np.float32)

    line, compute = ((ITEMS,), (256,)), ((COMPUTE_ITEMS,), (256,))
    return {
        "hash": (compute, [np.zeros(COMPUTE_ITEMS, np.uint32), np.int32(COMPUTE["hash"])]),
        "fmas": (compute, [floats(COMPUTE_ITEMS), np.int32(COMPUTE["fmas"])]),
        "mandelbrot": (compute, [np.zeros(COMPUTE_ITEMS, np.int32), np.int32(COMPUTE["mandelbrot"])]),
        "add": (line, [floats(ITEMS), floats(ITEMS), floats(ITEMS)]),
        "stencil": (line, [floats(ITEMS), floats(ITEMS), np.int32(side)]),
        "gather": (line, [rng.integers(0, ITEMS, ITEMS, np.int32), floats(ITEMS), floats(ITEMS)]),
        "walk": (line, [rng.integers(0, ITEMS, ITEMS, np.int32), floats(2 * ITEMS)]),
        "permuted": (line, [rng.permutation(ITEMS).astype(np.int32), floats(ITEMS)]),
        "transpose": (((side, side), (16, 16)), [floats(side * side), floats(side * side)]),
        "reduce": (line, [floats(ITEMS), floats(ITEMS // 256)]),
        "histogram": (((ITEMS // 16,), (256,)), [rng.integers(0, 1 << 32, ITEMS, np.uint32), np.zeros(256, np.uint32)]),
        "matmul": (((side // 4, side // 4), (16, 16)), [*(floats(side * side // 16) for _ in range(3)), side // 4]),
    }


def watching(device: str, rounds: int) -> None:
    """Print the processor time of checked and of recorded launches over that of plain ones."""
    program = hw.device(device).build(KERNELS.read_text(), KERNELS.name)
    print(f"{'processor time of a plain launch':32} {'ms':>8} {'--check':>9} {'totals':>9} {'trace file':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (sizes, args) in watched_launches().items():
            kernel = program.kernels[name]
            launches = {
                "plain": kernel.prepare(*sizes),
                "--check": kernel.prepare(*sizes, check=True),
                "totals": kernel.watched(*sizes, (), Recording(None)),
                "trace file": kernel.watched(*sizes, (), Recording(Path(folder) / "trace")),
            }

            def timed(launch: Any, args: list[Any] = args) -> float:
                start = cpu_seconds()
                for _ in range(REPEATS):
                    launch(args, None, None).wait()
                return (cpu_seconds() - start) / REPEATS

            times = in_turn({side: lambda launch=launch: timed(launch) for side, launch in launches.items()}, rounds)
            plain = times["plain"]
            ratios = [times[side] / plain for side in ("--check", "totals", "trace file")]
            print(f"{name:32} {plain * 1e3:8.2f} {ratios[0]:8.2f}x {ratios[1]:8.2f}x {ratios[2]:10.2f}x", flush=True)


def matmul(device: str, rounds: int, sides: list[str], oclgrind: Oclgrind | None) -> Line:
    """Multiply-adds a second of the tiled matrix product."""
    rng = np.random.default_rng(1)
    a, b = (rng.random((SIDE, SIDE), np.float32) for _ in range(2))
    runs: dict[str, Callable[[], float]] = {}
    for side in sides:
        c = np.zeros((SIDE, SIDE), np.float32)
        run = launcher(side, "matmul", ((SIDE, SIDE), (16, 16)), [a, b, c, np.int32(SIDE)])
        runs[side] = wall(run)
        if side == device:
            run()
            assert np.allclose(c, a @ b, rtol=1e-4), "the emulated product is wrong"
    found = {side: SIDE**3 / seconds / 1e6 for side, seconds in in_turn(runs, rounds).items()}
    if oclgrind is not None:
        tiny, large = oclgrind.matmul(TINY_SIDE), oclgrind.matmul(OCLGRIND_SIDE)
        found["Oclgrind"] = (OCLGRIND_SIDE**3 - TINY_SIDE**3) / max(large - tiny, 1e-9) / 1e6
    return Line(f"tiled matrix product, {SIDE}", "M multiply-adds/s", found)


def addition(rounds: int, sides: list[str], oclgrind: Oclgrind | None) -> Line:
    """Milliseconds of a + b."""
    a, b = np.ones(ITEMS, np.float32), np.ones(ITEMS, np.float32)
    runs = {
        side: wall(launcher(side, "add", ((ITEMS,), (256,)), [a, b, np.zeros(ITEMS, np.float32)])) for side in sides
    }
    found = {side: seconds * 1e3 for side, seconds in in_turn(runs, rounds).items()}
    if oclgrind is not None:
        tiny, large = oclgrind.add(256), oclgrind.add(OCLGRIND_ITEMS)
        found["Oclgrind"] = (large - tiny) / (OCLGRIND_ITEMS - 256) * ITEMS * 1e3
    return Line(f"a + b over {ITEMS} floats, warm", "ms", found, rate=False)


def first_answers(rounds: int, sides: list[str]) -> list[Line]:
    """Seconds from the start of a process to the answer of a kernel of 300 instructions that is new, or known."""
    cold: dict[str, Callable[[], float]] = {}
    warm: dict[str, Callable[[], float]] = {}
    salts = iter(range(1, 1_000_000))
    folders = []

    def measured(side: str, salt: int, folder: str) -> float:
        environment = {**os.environ, "HEADWATER_CACHE_DIR": folder, "XDG_CACHE_HOME": folder}
        environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
        # An installed package has its bytecode.
        environment["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        text = FIRST_ANSWER.format(path=str(KERNELS), salt=salt, device=side)
        start = time.monotonic()
        done = subprocess.run([sys.executable, "-c", text], env=environment, check=True, capture_output=True, text=True)
        return float(done.stdout.split()[-1]) - start

    for side in sides:
        folder = tempfile.mkdtemp(prefix="headwater-")
        folders.append(folder)
        # The device library and the emulator's own code are there; the kernel is not.
        cold[side] = lambda side=side, folder=folder: measured(side, next(salts), folder)
        warm[side] = lambda side=side, folder=folder: measured(side, 0, folder)
    try:
        return [
            Line("new kernel of 300 instructions, source to answer", "s", in_turn(cold, rounds), rate=False),
            Line("known kernel, source to answer", "s", in_turn(warm, rounds), rate=False),
        ]
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def memory(device: str) -> Line:
    """Peak memory beyond that of a tiny launch, over the bytes of the kernel's buffers."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}

    def peak(items: int) -> int:
        text = MEMORY.format(path=str(KERNELS), items=items, device=device)
        done = subprocess.run([sys.executable, "-c", text], env=environment, check=True, capture_output=True, text=True)
        return int(done.stdout.split()[-1])

    items = 16 * ITEMS
    peak(256)
    base, full = peak(256), peak(items)
    buffers = 3 * 4 * items
    return Line(
        f"memory of a + b over {buffers >> 20} MiB of buffers",
        "x buffers",
        {device: (full - base) / buffers},
        rate=False,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="vega64", help="a simulated chip (default vega64)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds (default 7)")
    parser.add_argument("--json", type=Path, help="keep the figures there")
    parser.add_argument("--watching", action="store_true", help="only what --check and traces cost")
    parser.add_argument("--quick", action="store_true", help="one round, small: tests the benchmark")
    options = parser.parse_args()
    if options.quick:
        global SIDE, ITEMS, COMPUTE_ITEMS
        SIDE, ITEMS, COMPUTE_ITEMS, options.rounds = 64, 1 << 14, 4096, 1
    if hw.device(options.device).kind != "simulated":
        raise hw.UsageError(f"{options.device} is not a simulated chip")
    if options.watching:
        # Threads that wait for the next launch count as work, of plain launches only where a check runs in one thread.
        os.environ.setdefault("HEADWATER_THREADS", "1")
        watching(options.device, options.rounds)
        return 0
    sides = [options.device]
    missing = []
    try:
        hw.device(POCL)
        sides.append(POCL)
    except hw.DeviceError:
        missing.append("PoCL (pip: pocl-binary-distribution and pyopencl)")
    with tempfile.TemporaryDirectory() as folder:
        oclgrind: Oclgrind | None = Oclgrind(Path(folder))
        if oclgrind is not None and oclgrind.path is None:
            oclgrind = None
            missing.append("Oclgrind (Debian: oclgrind)")
        lines = compute_rates(options.device, options.rounds)
        lines.append(matmul(options.device, options.rounds, sides, oclgrind))
        lines.append(addition(options.rounds, sides, oclgrind))
        lines += first_answers(min(options.rounds, 5), sides)
        lines.append(memory(options.device))
    print(f"{options.device} on {platform.processor() or platform.machine()}, {os.cpu_count()} processors")
    for name in missing:
        print(f"missing: {name}")
    for line in lines:
        print(f"{line.what:50} {line.sides[options.device]:10.4g} {line.unit}")
        for side, value in line.sides.items():
            if side != options.device:
                name = "PoCL" if side == POCL else side
                print(
                    f"    {name:46} {value:10.4g} {line.unit:18} ours {line.ratio(options.device, side):.3g} x as good"
                )
    if options.json is not None:
        rows = [
            {
                "what": x.what,
                "unit": x.unit,
                "sides": x.sides,
                "ratios": {s: x.ratio(options.device, s) for s in x.sides},
            }
            for x in lines
        ]
        record = {"benchmark": "emulate", "device": options.device, "date": time.strftime("%Y-%m-%d")}
        options.json.write_text(json.dumps({**record, "missing": missing, "lines": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
