"""What the cycle model costs: a first simulation with nothing in the cache, replay of kernels that compute and of those
bound by memory, a report from the source, traces of different lengths, and a kernel of 10⁹ instructions; or kernels
bound by memory alone, or a sweep over chips. Prints processor time, and time on the clock where it says so; nothing is
in the cache when it begins.

Usage: python -m benchmarks.timing [--large] | --memory | --sweep [CHIPS]

The variants of the sweep on the command line: headwater simulate … --sweep compute.compute_units=8:104:13
--sweep clock_mhz=1000,1500 --sweep memory.gigabytes_per_second=200:800:4
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import headwater
from headwater import chips
from headwater.timing import Recorded
from headwater.timing.sweep import sweep, variants

SOURCE = """
kernel void mm(global const float *x, global const float *y, global float *z, int n) {
  local float tx[16][16], ty[16][16];
  int c = get_local_id(0), r = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    tx[r][c] = x[row * n + k + c];
    ty[r][c] = y[(k + r) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 16; i++) sum += tx[r][i] * ty[i][c];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  z[row * n + column] = sum;
}
kernel void plain(global const float *x, global const float *y, global float *z, int n) {
  int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; k++) sum += x[row * n + k] * y[k * n + column];
  z[row * n + column] = sum;
}
kernel void copy(global const float4 *x, global float4 *y) { y[get_global_id(0)] = x[get_global_id(0)]; }
kernel void gather(global const int *at, global const float *x, global float *y) {
  int i = get_global_id(0);
  y[i] = x[at[i]];
}
kernel void scatter(global const int *at, global const float *x, global float *y) {
  int i = get_global_id(0);
  y[at[i]] = x[i];
}
kernel void chain(global float *y, int n) {
  float s = get_global_id(0);
  for (int k = 0; k < n; k++) { s = s * 1.5f + 1; s = s * 0.5f + 2; s = s * 1.5f + 3; s = s * 0.5f + 4; }
  y[get_global_id(0)] = s;
}
"""


def _seconds() -> float:
    """Processor time of this process and those that it waited for."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def _peak() -> float:
    """The most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", action="store_true", help="only kernels that are bound by memory")
    parser.add_argument(
        "--sweep", type=int, nargs="?", const=100, metavar="CHIPS", help="only the tiled product on so many chips"
    )
    parser.add_argument("--large", action="store_true", help="also a kernel of 10^9 instructions: a minute or more")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["HEADWATER_CACHE_DIR"] = cache
        if args.memory:
            _memory()
        elif args.sweep:
            _sweep(args.sweep)
        else:
            _measure(args.large)


def _cold() -> None:
    """The whole of ``headwater simulate`` on a matrix product of 512, in a process of its own with an empty cache; but
    with Python's bytecode, which an installed package has."""
    with tempfile.TemporaryDirectory() as folder:
        plain = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        plain["PYTHONPYCACHEPREFIX"] = str(Path(folder, "bytecode"))
        source = Path(folder, "mm.cl")
        source.write_text(SOURCE)
        sizes = ["x=random:512x512", "y=random:512x512", "n=512", "--local", "16,16"]
        command = [sys.executable, "-m", "headwater", "simulate", str(source), "--kernel", "mm", *sizes]

        def run(name: str, cache: str) -> None:
            environment = {**plain, "HEADWATER_CACHE_DIR": str(Path(folder, cache))}
            subprocess.run([*command, "--device", name], env=environment, check=True, stdout=subprocess.DEVNULL)

        for name in ("vega64", "hd5870"):
            run(name, "of the run that writes bytecode")
            start, wall = _seconds(), time.perf_counter()
            run(name, name)
            clock = time.perf_counter() - wall
            print(
                f"headwater simulate, matrix product of 512 on {name}, nothing cached: {clock:.2f} s on the clock, "
                f"{_seconds() - start:.2f} s of processors"
            )


def _measure(large: bool) -> None:
    _cold()
    start = _seconds()
    first = headwater.compile("kernel void one(global int *a) { a[0] = 1; }", language="opencl", device="vega64")
    first.one[(64,), (64,)].simulate(np.zeros(64, np.int32), device="vega64")
    print(f"the engine, made once on a machine, and a kernel of one line: {_seconds() - start:.2f} s")
    begin, wall = _seconds(), time.perf_counter()
    program = headwater.compile(SOURCE, language="opencl", device="vega64")
    vega = chips.find("vega64")
    n = 512
    x, z = np.ones((n, n), np.float32), np.zeros((n, n), np.float32)
    y = np.zeros(1 << 18, np.float32)

    def recorded(name: str) -> Recorded:
        if name == "chain":
            return Recorded(lambda: program.chain[(y.size,), (256,)](y, 1024, device="vega64"))
        return Recorded(lambda: program[name][(n, n), (16, 16)](x, x, z, n, device="vega64"))

    for name in ("mm", "plain", "chain"):
        start = _seconds()
        made = recorded(name)
        middle = _seconds()
        report: Any = made.launches[0].report(vega)
        end = _seconds()
        rate = report.instructions / (end - middle) / 1e6
        costs = f"emulated in {middle - start:5.2f} s, replayed in {end - middle:5.2f} s, {rate:5.1f} M/s"
        print(f"{name:6} {report.instructions / 1e6:7.1f} M instructions: {costs}; {report.microseconds:9.1f} µs")
        if name == "mm":
            print(
                f"       source to report: {_seconds() - begin:.2f} s, {time.perf_counter() - wall:.2f} s on the clock"
            )
    _vliw()
    _memory()
    print(f"memory of this process at most {_peak():.0f} MiB")
    _lengths(program)
    if large:
        _large(program)


def _sweep(many: int) -> None:
    """The product on the chips that run Vega 64's code, and on that chip with other figures, ``many`` in all."""
    vega, n = chips.find("vega64"), 512
    program = headwater.compile(SOURCE, language="opencl", device="vega64")
    x, z = np.ones((n, n), np.float32), np.zeros((n, n), np.float32)
    recorded = Recorded(lambda: program.mm[(n, n), (16, 16)](x, x, z, n, device="vega64"))
    recorded.reports(vega)  # makes the engine
    figures = ["compute.compute_units=8:104:13", "clock_mhz=1000,1500", "memory.gigabytes_per_second=200:800:4"]
    chosen = [chip for chip in chips.all_chips() if chip.target == vega.target] + variants(vega, figures)
    before, begin, wall = _peak(), _seconds(), time.perf_counter()
    found = [reports[0] for reports in sweep(recorded, chosen[:many])]
    spent, clock = _seconds() - begin, time.perf_counter() - wall
    best = min(found, key=lambda one: one.seconds)
    print(
        f"{len(found)} chips: {spent:.1f} s of processors, {clock:.1f} s on the clock with {os.cpu_count()} cores; "
        f"memory at most {_peak():.0f} MiB, {before:.0f} before; the fastest is {best.chip.name}, "
        f"{best.microseconds:.1f} µs"
    )


def _vliw() -> None:
    """The same on HD 5870, in ALU groups, fetches and control-flow instructions."""
    program, chip = headwater.compile(SOURCE, language="opencl", device="hd5870"), chips.find("hd5870")
    n = 512
    x, z, y = np.ones((n, n), np.float32), np.zeros((n, n), np.float32), np.zeros(1 << 18, np.float32)
    runs: dict[str, tuple[Any, tuple[Any, ...]]] = {
        **{name: (program[name][(n, n), (16, 16)], (x, x, z, n)) for name in ("mm", "plain")},
        "chain": (program.chain[(y.size,), (256,)], (y, 1024)),
    }
    for name, (run, arguments) in runs.items():
        start = _seconds()
        launch = Recorded(partial(run, *arguments, device="hd5870")).launches[0]
        middle = _seconds()
        report = launch.report(chip)
        end = _seconds()
        costs = f"emulated in {middle - start:5.2f} s, replayed in {end - middle:5.2f} s"
        rate = f"{report.instructions / (end - middle) / 1e6:5.1f} M/s"
        print(f"{name:6} {report.instructions / 1e6:7.1f} M groups and others on HD 5870: {costs}, {rate}")


def _memory() -> None:
    """Kernels bound by memory on both: float4 that follow each other, and 64 lanes' places at random."""
    items, many = 1 << 21, 1 << 22
    wide = np.ones((items, 4), np.float32)
    order = np.random.default_rng(1).permutation(many).astype(np.int32)
    line = np.ones(many, np.float32)
    for name in ("vega64", "hd5870"):
        program, chip = headwater.compile(SOURCE, language="opencl", device=name), chips.find(name)
        runs: dict[str, tuple[int, tuple[Any, ...]]] = {
            "copy": (items, (wide, np.zeros_like(wide))),
            "gather": (many, (order, line, np.zeros_like(line))),
            "scatter": (many, (order, line, np.zeros_like(line))),
        }
        for kernel, (size, arguments) in runs.items():
            launch = Recorded(partial(program[kernel][(size,), (256,)], *arguments, device=name)).launches[0]
            replayer, best = launch.replayer, float("inf")
            table = replayer.table(chip)
            for _ in range(3):
                start = _seconds()
                sums = replayer.run(chip, table).sums
                best = min(best, _seconds() - start)
            lines = sums["load_lines"] + sums["store_lines"]
            print(
                f"{kernel:7} on {name}: {sums['instructions'] / 1e6:5.2f} M instructions, {lines / 1e6:5.2f} M cache "
                f"lines, replayed in {best:5.3f} s: {sums['instructions'] / best / 1e6:5.1f} M/s, "
                f"{1e9 * best / lines:4.0f} ns a line"
            )


def _replayed(program: Any, items: int, turns: int) -> tuple[int, float]:
    """Instructions of a launch of ``chain``, and seconds of its replay."""
    y = np.zeros(items, np.float32)
    launch = Recorded(lambda: program.chain[(y.size,), (256,)](y, turns, device="vega64")).launches[0]
    start = _seconds()
    report = launch.report(chips.find("vega64"))
    return report.instructions, _seconds() - start


def _lengths(program: Any) -> None:
    """Traces that differ in length only: a million instructions should always take as long."""
    for items, turns in ((1 << 18, 128), (1 << 18, 512), (1 << 20, 128), (1 << 20, 512)):
        count, seconds = _replayed(program, items, turns)
        what = f"{items:,} work-items, {turns} turns: {count / 1e6:6.1f} M instructions"
        print(f"{what}, {seconds:5.2f} s, {1e9 * seconds / count:5.1f} ns for each")


def _large(program: Any) -> None:
    before = _peak()
    count, seconds = _replayed(program, 1 << 22, 2200)
    print(f"{count / 1e9:.2f} G instructions: {seconds:.1f} s; memory at most {_peak():.0f} MiB, {before:.0f} before")


if __name__ == "__main__":
    main()
