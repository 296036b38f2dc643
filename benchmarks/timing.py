"""What the cycle model costs: replay, a report from the source, a sweep over chips. Prints processor time.

Usage: python -m benchmarks.timing [--chips 100]
"""

from __future__ import annotations

import argparse
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

import headwater
from headwater import chips
from headwater.timing import Recorded

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
    many = parser.parse_args().chips
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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory of this process at most {peak:.0f} MiB")
    if many:
        variants = [
            replace(vega, compute=replace(vega.compute, compute_units=8 + 2 * (k % 50), clock_mhz=1000 + 5.0 * k))
            for k in range(many)
        ]
        begin, wall = _seconds(), time.perf_counter()
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(kept.launches[0].report, variants))
        best = min(found, key=lambda one: one.seconds)
        print(
            f"{many} chips: {_seconds() - begin:.1f} s of processors, {time.perf_counter() - wall:.1f} s on the clock; "
            f"the fastest has {best.chip.compute.compute_units} compute units, {best.microseconds:.1f} µs"
        )


if __name__ == "__main__":
    main()
