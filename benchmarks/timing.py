"""What the cycle model costs: replay, a report from the source, traces of different lengths, a sweep over chips, and a
kernel of 10⁹ instructions. Prints processor time; nothing is in the cache when it begins.

Usage: python -m benchmarks.timing [--chips 100] [--large]

The same sweep on the command line, a hundred chips: headwater simulate … --sweep compute.compute_units=8:106:50
--sweep clock_mhz=1000,1500
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from functools import partial
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
kernel void chain(global float *y, int n) {
  float s = get_global_id(0);
  for (int k = 0; k < n; k++) { s = s * 1.5f + 1; s = s * 0.5f + 2; s = s * 1.5f + 3; s = s * 0.5f + 4; }
  y[get_global_id(0)] = s;
}
"""


def _seconds() -> float:
    """Processor time of this process and those that it waited for."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--chips", type=int, default=0, help="replay the tiled product on so many variants of Vega 64")
    parser.add_argument("--large", action="store_true", help="also a kernel of 10^9 instructions: a minute or more")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["HEADWATER_CACHE_DIR"] = cache
        _measure(args.chips, args.large)


def _measure(many: int, large: bool) -> None:
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
            kept = made
    _vliw()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory of this process at most {peak:.0f} MiB")
    _lengths(program)
    if large:
        _large(program)
    if many:
        sizes = ",".join(str(8 + 2 * n) for n in range(-(-many // 2)))
        chosen = variants(vega, [f"compute.compute_units={sizes}", "clock_mhz=1000,1500"])[:many]
        begin, wall = _seconds(), time.perf_counter()
        found = [reports[0] for reports in sweep(kept, chosen)]
        best = min(found, key=lambda one: one.seconds)
        print(
            f"{len(found)} chips: {_seconds() - begin:.1f} s of processors, {time.perf_counter() - wall:.1f} s on the "
            f"clock with {os.cpu_count()} cores; the fastest is {best.chip.name}, {best.microseconds:.1f} µs"
        )


def _vliw() -> None:
    """The same on HD 5870, in ALU groups, fetches and control-flow instructions; a copy is bound by memory."""
    program, chip = headwater.compile(SOURCE, language="opencl", device="hd5870"), chips.find("hd5870")
    n = 512
    x, z, wide = np.ones((n, n), np.float32), np.zeros((n, n), np.float32), np.ones((1 << 21, 4), np.float32)
    out, y = np.zeros_like(wide), np.zeros(1 << 18, np.float32)
    runs: dict[str, tuple[Any, tuple[Any, ...]]] = {
        **{name: (program[name][(n, n), (16, 16)], (x, x, z, n)) for name in ("mm", "plain")},
        "copy": (program.copy[(1 << 21,), (256,)], (wide, out)),
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
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    count, seconds = _replayed(program, 1 << 22, 2200)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{count / 1e9:.2f} G instructions: {seconds:.1f} s; memory at most {peak:.0f} MiB, {before:.0f} before")


if __name__ == "__main__":
    main()
