"""What sweeps cost: how much of the time of several workers is used, what a point takes beyond its replay, and what it
takes to open a store of 100,000 rows.

Usage: python -m benchmarks.sweep [--workers N] [--points P] [--rows R]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from headwater.chips.whatif import changed
from headwater.sweep import entry, work
from headwater.sweep.plan import read
from headwater.sweep.store import JOB, ROW, Record, Store, hashed, model_version

SOURCE = """kernel void f(global float *x, int turns) {
  float sum = x[get_global_id(0)];
  for (int i = 0; i < turns; i++) sum = sum * 0.5f + x[(get_global_id(0) + i * 64) & 65535];
  x[get_global_id(0)] = sum;
}"""


def plan(points: int, turns: int):
    """A kernel at so many clocks: 64 turns take some tens of milliseconds to replay."""
    return read(
        {
            "device": "vega64",
            "kernel": {
                "source": SOURCE,
                "arguments": ["random:65536" if turns > 1 else "random:4096", str(turns)],
                "local": "64",
            },
            "set": {"clock_mhz": {"low": 800, "high": 1600, "count": points}},
        }
    )


def processor_s() -> float:
    """Of this process and of those that have ended."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def replayed(points: int, turns: int) -> float:
    """Processor seconds of one replay with its report, in this process."""
    ((job, places),) = plan(points, turns).grouped()
    with tempfile.TemporaryDirectory() as folder:
        prepared = work.prepare(job, places, {}, set(), Path(folder))
        recorded = work.Replays().opened(b"", lambda: prepared.traced)
        seconds = []
        for point in places[:: max(1, points // 20)]:
            began = time.process_time()
            recorded.reports(changed(point.chip, point.settings)[0])
            seconds.append(time.process_time() - began)
    return statistics.median(seconds)


def swept(points: int, turns: int, workers: int) -> tuple[float, float]:
    """Seconds on the clock from the first row to the last, a point; and processor seconds of a point, without what the
    start of workers takes."""
    first: list[float] = []

    def progress(state):
        if state.done and not first:
            first.extend((time.perf_counter(), state.done))

    with tempfile.TemporaryDirectory() as folder:
        before = processor_s()
        entry.run(plan(2, turns), Store(Path(folder, "start"), create=True), workers=workers)
        start = processor_s() - before
        before = processor_s()
        state = entry.run(
            plan(points, turns), Store(Path(folder, "r"), create=True), workers=workers, progress=progress
        )
        spent = processor_s() - before - start
        assert state.done == points
        return (time.perf_counter() - first[0]) / (points - first[1]), spent / (points - 2)


CODE = """import sys, time
from headwater.sweep.store import Store

def own():
    (line,) = (line for line in open("/proc/self/status") if line.startswith("RssAnon"))
    return int(line.split()[1])

before = own()
began = time.process_time()
store = Store(sys.argv[1])
spent = time.process_time() - began
print(len(store), spent, (own() - before) / 1024)
"""


def opened(path: Path) -> list[float]:
    """Rows of a store, processor seconds to open it and MiB of memory that this takes beside the files, which are
    mapped, in a process of its own: the median of five."""
    found = []
    for _ in range(5):
        ran = subprocess.run([sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, check=True)
        found.append([float(word) for word in ran.stdout.split()])
    return [statistics.median(column) for column in zip(*found, strict=True)]


def stores(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for count in (rows // 10, rows):
            store = Store(Path(folder, str(count)), create=True)
            slot, base, version = hashed("slot"), hashed("base"), model_version()
            records = [Record(JOB, slot, slot, base, version, json.dumps({"of": base.hex()}).encode())]
            found = {f"figure {n}": n / 7 for n in range(55)}
            for n in range(count):
                payload = json.dumps({"at": {"n": n}, "found": found}).encode()
                records.append(Record(ROW, hashed(str(n)), slot, base, version, payload))
            store.write(records)
            size = sum(one.stat().st_size for one in store.path.rglob("*.rows")) / 2**20
            there, seconds, memory = opened(store.path)
            print(
                f"{there:,.0f} rows, {size:.0f} MiB: opened in {seconds:.2f} s of a processor, "
                f"with {memory:.0f} MiB beside the mapped files"
            )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--points", type=int, default=400)
    parser.add_argument("--rows", type=int, default=100_000)
    args = parser.parse_args()
    stores(args.rows)
    alone = replayed(args.points, 1)
    _, one = swept(args.points, 1, 1)
    print(
        f"a short replay with its report: {1e3 * alone:.2f} ms of a processor; a point of a sweep: {1e3 * one:.2f} ms"
    )
    print(f"overhead of a point: {1e3 * (one - alone):.2f} ms")
    one_clock, one = swept(args.points, 64, 1)
    many_clock, many = swept(args.points, 64, args.workers)
    speed = one_clock / many_clock
    print(
        f"{args.workers} workers: {speed:.2f} times the speed of one, {speed / args.workers:.3f} a worker; "
        f"processor time of a point {many / one:.3f} times that of one worker's; {os.getloadavg()[0]:.1f} processes ran"
    )


if __name__ == "__main__":
    main()
