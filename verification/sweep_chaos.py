"""Kill a sweep with its workers at random moments, and look for points that are lost or computed twice.

    python -m verification.sweep_chaos --moments 20 --seed 1
    python -m verification.sweep_chaos --moments 5 --dask
    python -m verification.sweep_chaos --engines

Each time the scheduler, all of its workers, both or one worker are killed (SIGKILL), and the sweep is started again.
Whatever was stored before a start must not be computed after it: no later record of it may be there. When the sweep has
come to its end, its table must be that of a sweep that nobody disturbed. ``--dask``: on a Dask cluster of this machine,
whose workers are killed. ``--engines``: the same plan on processes of
this machine, as three shards, and on Dask must make the same table.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from headwater.sweep.plan import read
from headwater.sweep.store import Store
from headwater.sweep.table import table

PLAN = """
device = ["vega64", "hd5870"]
[kernel]
source = '''kernel void f(global float *x, int turns) {
  float sum = x[get_global_id(0)];
  for (int i = 0; i < turns; i++) sum = sum * 0.5f + x[(get_global_id(0) + i * 64) & 4095];
  x[get_global_id(0)] = sum;
}'''
arguments = ["random:4096", "{turns}"]
local = 64
[values]
turns = [4, 8, 16, 32, 64]
[set]
clock_mhz = "800:1600:50"
compute.compute_units = [8, 20]
"""
POINTS = 1000
WORKING = 0.8
"""The share of kills that come when rows are being written; the others may come while workers start."""


def start(plan: Path, results: Path, *words: str) -> subprocess.Popen[bytes]:
    """A sweep in a session of its own."""
    command = [sys.executable, "-m", "headwater", "sweep", str(plan), "--results", str(results), "--workers", "2"]
    return subprocess.Popen(
        [*command, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def children(pid: int) -> list[int]:
    """Worker processes of a scheduler: those of its children that work on sweeps, or are Dask's."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if parent == pid and (b"sweep.worker" in command or b"spawn_main" in command):
            found.append(int(entry.name))
    return found


def await_rows(running: subprocess.Popen[bytes], results: Path, before: int) -> None:
    """Wait until a sweep has written a file more, or has ended."""
    while running.poll() is None and len(list((results / "rows").iterdir())) <= before:
        time.sleep(0.02)


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def times(store: Store) -> dict[bytes, int]:
    """When each row that need not be computed again was made."""
    return {key: store.time_of(key) for key in store if key in store}


def chaos(moments: int, seed: int, longest_s: float, words: tuple[str, ...] = ()) -> int:
    """The number of faults that were found."""
    draw = random.Random(seed)
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        plan, results = Path(folder, "plan.toml"), Path(folder, "results")
        plan.write_text(PLAN)
        Store(results, create=True)
        stored: dict[bytes, int] = {}
        for number in range(moments):
            running = start(plan, results, *words)
            if draw.random() < WORKING:
                await_rows(running, results, len(list((results / "rows").iterdir())))
            time.sleep(draw.uniform(0.0, longest_s))
            victims = draw.choice(("scheduler", "workers", "all", "one"))
            workers = children(running.pid)
            if victims in ("scheduler", "all"):
                kill(running.pid)
            for worker in workers[: 1 if victims == "one" else None] if victims != "scheduler" else ():
                kill(worker)
            if victims in ("workers", "one"):
                time.sleep(draw.uniform(0.1, 1.0))  # it goes on with new ones
                for worker in children(running.pid):
                    kill(worker)
                kill(running.pid)
            running.wait()
            now = times(Store(results))
            lost = [key for key in stored if key not in now]
            recomputed = [key for key in stored if key in now and now[key] != stored[key]]
            faults += len(lost) + len(recomputed)
            print(
                f"{number + 1}: {victims} killed, {len(now)} of {POINTS} stored, {len(now) - len(stored)} of them new"
                + (f", {len(lost)} LOST" if lost else "")
                + (f", {len(recomputed)} COMPUTED TWICE" if recomputed else ""),
                flush=True,
            )
            stored = now
        if start(plan, results, *words).wait():
            print("the last run FAILED")
            return faults + 1
        now = times(Store(results))
        recomputed = [key for key in stored if now.get(key) != stored[key]]
        if recomputed:
            print(f"{len(recomputed)} points of the last run LOST or COMPUTED TWICE")
        faults += len(recomputed)
        undisturbed = Path(folder, "undisturbed")
        start(plan, undisturbed).wait()
        same = table(Store(results)).csv() == table(Store(undisturbed)).csv()
        print(f"{len(now)} points at the end; the table is {'that' if same else 'NOT that'} of an undisturbed sweep")
        return faults + (not same) + (len(now) != POINTS)


def engines() -> int:
    """The number of engines whose table is another."""
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder, "plan.toml")
        plan.write_text(PLAN)
        record = read(plan).record
        for name, runs in {
            "two workers": [()],
            "three shards at once": [("--shard", f"{n}/3") for n in (1, 2, 3)],
            "Dask": [("--dask", "local")],
        }.items():
            results = Path(folder, name.replace(" ", "-"))
            Store(results, create=True)
            began = time.monotonic()
            codes = [one.wait() for one in [start(plan, results, *words) for words in runs]]
            tables[name] = table(Store(results), record).csv()
            rows = tables[name].count("\n") - 1
            print(f"{name}: exit codes {codes}, {rows} rows, {time.monotonic() - began:.0f} s", flush=True)
    first = next(iter(tables.values()))
    different = [name for name, text in tables.items() if text != first or text.count("\n") != POINTS + 1]
    print(f"{'the same tables' if not different else f'OTHER tables: {different}'}")
    return len(different)


def main() -> int:
    """Look for faults; 1 if there are any."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=4.0, help="seconds to the latest kill")
    parser.add_argument("--dask", action="store_true", help="on a Dask cluster")
    parser.add_argument("--engines", action="store_true", help="compare engines instead")
    args = parser.parse_args()
    return int(
        bool(
            engines()
            if args.engines
            else chaos(args.moments, args.seed, args.longest, ("--dask", "local") if args.dask else ())
        )
    )


if __name__ == "__main__":
    sys.exit(main())
