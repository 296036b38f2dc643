"""What a launch costs: microseconds of `kernel[(n,), (64,)](a, b, c, n)`, next to the same launch by PyOpenCL alone;
and on the cpu those of the same sum in Brook+, `sum(a, b)`.

    python benchmarks/launch.py [--device cpu --device opencl …] [--json]

Each device's sides are timed in turn in one run, many rounds; medians are printed. On the cpu a launch has ended when
the call returns; Brook+ calls make their result unless an `out` is given. On OpenCL devices the time is that of putting
a launch into the queue, arguments on the device; `same` is a loop that launches the same arguments again and again,
`other` swaps two streams, and `other number` counts an argument up, so that arguments must be set.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import headwater as hw

SOURCE = """
kernel void vadd(global const float *a, global const float *b, global float *c, int n) {
  int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}
kernel void twice(global float *a) { a[get_global_id(0)] *= 2; }
kernel void turn(global const float *a, global float *c, local float *t) {
  int l = get_local_id(0);
  t[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  c[get_global_id(0)] = t[get_local_size(0) - 1 - l];
}
"""
BROOK_SOURCE = "kernel void sum(float a<>, float b<>, out float c<>) { c = a + b; }"
N = 64
ROUNDS, CALLS = 400, 20  # short rounds: a busy machine takes the processor away every few milliseconds


def microseconds(sides: dict[str, Callable[[], object]], settle: Callable[[], object]) -> dict[str, float]:
    """Median time of one call of each side, in turn."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        for _ in range(50):
            side()
        settle()
    names = list(sides)
    for number in range(ROUNDS):
        # Another one begins each time, so that none is always the one that is interrupted.
        for name in names[number % len(names) :] + names[: number % len(names)]:
            side = sides[name]
            start = time.perf_counter()
            for _ in range(CALLS):
                side()
            times[name].append((time.perf_counter() - start) / CALLS * 1e6)
            settle()
    return {name: statistics.median(values) for name, values in times.items()}


def cpu() -> dict[str, float]:
    program = hw.compile(SOURCE, device="cpu")
    a, b, c = np.ones(N, np.float32), np.ones(N, np.float32), np.zeros(N, np.float32)
    streams = [hw.stream(x, device="cpu") for x in (a, b, c)]
    queue = hw.Queue("cpu")
    brook = hw.compile(BROOK_SOURCE, device="cpu")
    local = hw.Local(4 * N)
    numbers = itertools.count(N)
    sides = {
        "arrays": lambda: program.vadd[(N,), (64,)](a, b, c, N),
        "streams": lambda: program.vadd[(N,), (64,)](*streams, N),
        "another number each time": lambda: program.vadd[(N,), (64,)](a, b, c, next(numbers)),
        "in place": lambda: program.twice[(N,), (64,)](c),
        "local memory": lambda: program.turn[(N,), (64,)](a, c, local),
        "group size left open": lambda: program.vadd[(N,), None](a, b, c, N),
        "Brook+ arrays": lambda: brook.sum(a, b),
        "Brook+ arrays, out given": lambda: brook.sum(a, b, out=c),
        "Brook+ streams": lambda: brook.sum(*streams[:2]),
        "Brook+ streams, out given": lambda: brook.sum(*streams[:2], out=streams[2]),
        "queued": lambda: program.vadd[(N,), (64,)](a, b, c, N, queue=queue),
    }
    return microseconds(sides, queue.wait)


def opencl(name: str) -> dict[str, float]:
    import pyopencl as cl

    device = hw.device(name)
    program = hw.compile(SOURCE, device=device)
    a, b, c = (hw.stream(np.ones(N, np.float32), device=device) for _ in range(3))
    raw = cl.Program(device.context, SOURCE).build().vadd
    raw.set_scalar_arg_dtypes([None, None, None, np.int32])
    plain = cl.CommandQueue(device.context)
    streams = [a, b, c]
    buffers = x, y, z = [x.buffer.mem for x in streams]
    state = [0]

    def swap() -> tuple[int, int]:
        state[0] += 1
        return state[0] & 1, ~state[0] & 1

    def ours_other(queue: hw.Queue | None = None) -> None:
        i, j = swap()
        program.vadd[(N,), (64,)](streams[i], streams[j], streams[2], N, queue=queue)

    def raw_other(queue: cl.CommandQueue) -> None:
        i, j = swap()
        raw(queue, (N,), (64,), buffers[i], buffers[j], buffers[2], N)

    def ours_number() -> None:
        state[0] += 1
        program.vadd[(N,), (64,)](a, b, c, state[0])

    def raw_number() -> None:
        state[0] += 1
        raw(device.queue, (N,), (64,), x, y, z, state[0])

    quick = hw.Queue(device, profiling=False)

    def settle() -> None:
        device.finish()
        quick.wait()
        plain.finish()

    return microseconds(
        {
            "same": lambda: program.vadd[(N,), (64,)](a, b, c, N),
            "PyOpenCL same": lambda: raw(device.queue, (N,), (64,), x, y, z, N),
            "other": ours_other,
            "PyOpenCL other": lambda: raw_other(device.queue),
            "other number": ours_number,
            "PyOpenCL other number": raw_number,
            "same, queue without profiling": lambda: program.vadd[(N,), (64,)](a, b, c, N, queue=quick),
            "PyOpenCL same, queue without profiling": lambda: raw(plain, (N,), (64,), x, y, z, N),
            "other, queue without profiling": lambda: ours_other(quick),
            "PyOpenCL other, queue without profiling": lambda: raw_other(plain),
        },
        settle,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="by default cpu and every OpenCL device")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = options.device or [device.name for device in hw.devices()]
    results = {}
    for name in names:
        device = hw.device(name)
        if device.kind == "cpu":
            results[name] = {"device": device.description, **cpu()}
            continue
        try:
            results[name] = {"device": device.description, **opencl(name)}
        except hw.HeadwaterError as error:  # a driver may be installed and refuse every kernel
            if options.device:
                raise
            print(f"{name}, {device.description}: left out, {str(error).splitlines()[0]}", file=sys.stderr)
    if options.json:
        print(json.dumps(results, indent=1))
        return
    for name, row in results.items():
        print(f"{name}: {row.pop('device')}")
        for side, value in row.items():
            print(f"  {side:42} {value:8.2f} µs")
        for side in row:
            if f"PyOpenCL {side}" in row:
                print(f"  {'ratio, ' + side:42} {row[side] / row[f'PyOpenCL {side}']:8.2f}")


if __name__ == "__main__":
    main()
