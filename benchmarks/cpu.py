#!/usr/bin/env python3
"""Times Headwater's cpu device, PoCL, Numba and NumPy on the same kernels in turn and prints ratios.

Every side lives in a process of its own with the same data; rounds go through the sides one after the other, so that a
slow spell of the machine meets them all. Results are compared before anything is timed. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from peers import MODULES
from suite import CASES
from suite.case import Case
from worker import serve

REFERENCE_ORDER = ("numpy", "numba", "pocl", "headwater")
"""Results are compared with those of the first of these that has any."""

PROCESSORS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
"""What `--processor` takes: levels of x86-64, without AVX, with AVX2, with AVX-512."""

LIBRARY = "BLAS"
"""Versions whose names begin so call an optimised library; they are shown but left out of `best`."""


@dataclass
class Side:
    """The parent's end of one side's process."""

    name: str
    process: Any
    connection: Any
    description: str = ""
    trouble: str = ""
    died: bool = False

    @property
    def alive(self) -> bool:
        return not self.trouble

    def ask(self, command: str, *arguments: Any) -> Any:
        """The answer's value, or None with :attr:`trouble` or the case's failure set by the caller."""
        self.connection.send((command, arguments))
        return self.receive()

    def receive(self) -> Any:
        try:
            kind, value = self.connection.recv()
        except EOFError:
            self.process.join()
            self.trouble = f"process died with exit code {self.process.exitcode}"
            self.died = bool(self.description)
            raise SideFailed(self.trouble) from None
        if kind == "ok":
            return value
        if kind == "missing":
            self.trouble = value
        raise SideFailed(value)


class SideFailed(Exception):
    """A side could not do what it was asked; the message is its own."""


@dataclass
class Result:
    """What one case gave: times per side and version, and what went wrong."""

    case: Case
    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    work: float = 0.0
    unit: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        self.title = self.title or self.case.title

    def median(self, side: str, version: str) -> float:
        return statistics.median(self.times[side][version])

    def best(self, side: str) -> tuple[str, float] | None:
        """The side's fastest version that is no library call, with its median seconds."""
        own = {v: self.median(side, v) for v in self.times.get(side, {}) if not v.startswith(LIBRARY)}
        return min(own.items(), key=lambda item: item[1]) if own else None


def start_side(name: str) -> Side:
    """A new process for the side, with its description or, where it cannot run, its trouble."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(name, there), daemon=True)
    process.start()
    there.close()
    side = Side(name, process, here)
    try:
        side.description = side.receive()
    except SideFailed as error:
        side.trouble = str(error)
    return side


def restarted(sides: list[Side]) -> list[Side]:
    """The sides, those whose process died in the case before with a new one: a crash costs a side that case only."""
    return [start_side(side.name) if side.died else side for side in sides]


def check(case: Case, sides: list[Side], quick: bool, result: Result) -> None:
    """Runs every version once and compares its outputs with the reference's; fills in failures and wrong results."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as root:
        versions: dict[str, list[str]] = {}
        for side in sides:
            folder = Path(root) / side.name
            folder.mkdir()
            try:
                versions[side.name] = list(side.ask("check", case.name, quick, folder))
            except SideFailed as error:
                result.failures[side.name] = str(error)
        chosen = next((s for s in REFERENCE_ORDER if versions.get(s)), None)
        if chosen is None:
            return
        for output in case.outputs:
            reference = np.load(Path(root) / chosen / f"0-{output}.npy")
            for side_name, names in versions.items():
                for index, version in enumerate(names):
                    if side_name == "c" and version == "copy":
                        continue
                    mine = np.load(Path(root) / side_name / f"{index}-{output}.npy", mmap_mode="r")
                    if not case.matches(mine, reference):
                        result.wrong.append(f"{side_name}, {version}: {output} differs from {chosen}'s")


def run_case(case: Case, sides: list[Side], rounds: int, quick: bool) -> Result:
    """Checks and times one case on every side that can do it."""
    result = Result(case)
    data = case.make(quick)
    result.work, result.unit = case.work(data)
    result.title = small_title(case.title, data) if quick else case.title
    check(case, [s for s in sides if s.alive], quick, result)
    ready = []
    for side in sides:
        if not side.alive or side.name in result.failures:
            continue
        try:
            side.ask("prepare", case.name, quick)
            ready.append(side)
        except SideFailed as error:
            result.failures[side.name] = str(error)
    for turn in range(rounds if ready else 0):
        # Every round has an order of its own, so that none always follows the same neighbour.
        for side in random.Random(turn).sample(ready, len(ready)):
            if not side.alive or side.name in result.failures:
                continue
            try:
                for version, seconds in side.ask("sample", turn).items():
                    result.times.setdefault(side.name, {}).setdefault(version, []).append(seconds)
            except SideFailed as error:
                result.failures[side.name] = str(error)
                result.times.pop(side.name, None)
    for side in ready:
        if side.alive:
            try:
                side.ask("release")
            except SideFailed as error:
                result.failures[side.name] = str(error)
    return result


def small_title(title: str, data: Mapping[str, np.ndarray]) -> str:
    """A case's title with the size of its largest array in ``data``, which is smaller than the title's sizes say."""
    largest = max(data.values(), key=lambda array: array.nbytes)
    first, *rest = title.split(", ")
    kept = [part for part in rest if not any(sign.isdigit() for sign in part)]
    return ", ".join([first, *kept, f"{' x '.join(map(str, largest.shape))} {largest.dtype}"])


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def ratio(result: Result, other: str, subject: str = "headwater") -> float | None:
    """How many times as fast as ``other`` the subject was, by each one's best version."""
    ours, theirs = result.best(subject), result.best(other)
    return theirs[1] / ours[1] if ours and theirs else None


def milliseconds(result: Result, side: str) -> str:
    best = result.best(side)
    if side in result.failures:
        return "failed"
    return f"{best[1] * 1e3:.2f}" if best else "-"


def table(results: list[Result], sides: list[Side]) -> str:
    """The report's tables as Markdown text."""
    others = [s.name for s in sides if s.name not in ("headwater", "c")]
    subject = next((s for s in sides if s.name == "headwater"), None)
    lines = ["Medians in milliseconds of each side's fastest version; `x side` = its time / Headwater's.", ""]
    head = ["kernel", "headwater", *others, "rate", *(f"x {o}" for o in others), "x best"]
    lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in results:
        ours = r.best("headwater")
        rate = f"{r.work / ours[1]:.4g} {r.unit}" if ours else "-"
        factors = [ratio(r, o) for o in others]
        known = [f for f in factors if f is not None]
        cells = [r.title, milliseconds(r, "headwater"), *(milliseconds(r, o) for o in others), rate]
        cells += [f"{f:.2f}" if f is not None else "-" for f in factors]
        cells.append(f"{min(known):.2f}" if known else "-")
        lines.append("| " + " | ".join(cells) + " |")
    if subject is not None and subject.description:
        means = [[f for r in results if (f := ratio(r, o)) is not None] for o in others]
        cells = ["**geometric mean**", *[""] * (len(others) + 2)]
        cells += [f"**{geometric_mean(m):.2f}** ({len(m)})" if m else "-" for m in means]
        lines.append("| " + " | ".join([*cells, ""]) + " |")
    lines += ["", *limits(results), *every_version(results)]
    return "\n".join(lines)


def limits(results: list[Result]) -> list[str]:
    """How near a + b and the reduction come to what C reaches on this machine in the same run."""
    lines = []
    for r in results:
        if "c" not in r.times or r.case.name not in ("add", "reduction"):
            continue
        moved = r.work * 1e9
        if r.case.name == "add":
            copy = moved * 2 / 3 / r.median("c", "copy")
            add = moved / min(r.median("c", version) for version in r.times["c"] if version != "copy")
            known = {"copy": copy, "a + b": add}
            lines.append(
                f"Memory limit by streaming C: copy {copy / 1e9:.1f} GB/s, a + b, the better one, {add / 1e9:.1f} GB/s."
            )
        else:
            known = {"sum": moved / min(r.median("c", version) for version in r.times["c"])}
            lines.append(f"Reading by C, its better sum: {known['sum'] / 1e9:.1f} GB/s.")
        for side in r.times:
            best = r.best(side)
            if side != "c" and best:
                reached = moved / best[1]
                shares = ", ".join(f"{reached / rate:.1%} of C's {what}" for what, rate in known.items())
                lines.append(f"{r.case.title.split(',')[0]} on {side}: {reached / 1e9:.1f} GB/s = {shares}.")
    return [*lines, ""] if lines else []


def every_version(results: list[Result]) -> list[str]:
    lines = ["| kernel | side | version | median ms | min ms | max ms |", "|---|---|---|---|---|---|"]
    for r in results:
        for side, versions in r.times.items():
            for version, times in versions.items():
                low, middle, high = min(times) * 1e3, statistics.median(times) * 1e3, max(times) * 1e3
                lines.append(f"| {r.case.name} | {side} | {version} | {middle:.3f} | {low:.3f} | {high:.3f} |")
    return lines


def as_json(results: list[Result], sides: list[Side], arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "benchmark": "cpu",
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "rounds": arguments.rounds,
        "quick": arguments.quick,
        "processor": arguments.processor or "native",
        "sides": {s.name: s.description or f"missing: {s.trouble}" for s in sides},
        "kernels": {
            r.case.name: {
                "title": r.title,
                "work": r.work,
                "unit": r.unit,
                "seconds": {
                    s: {v: {"median": statistics.median(t), "all": t} for v, t in versions.items()}
                    for s, versions in r.times.items()
                },
                "failures": r.failures,
                "wrong": r.wrong,
            }
            for r in results
        },
    }


def machine() -> str:
    """The processor by name, its cores that this process may use, the system and Python."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        name = found[0] if found else name
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores, {platform.system()}, Python {platform.python_version()}"


def hold_to(processor: str) -> None:
    """Make the compilers of the sides that are started from now on use no more than this processor's instructions."""
    os.environ["HEADWATER_CPU"] = processor
    # Numba's own names for it; without features of its own, what LLVM knows of the named processor holds.
    os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = processor, ""


def refuse(text: str) -> NoReturn:
    """End with a message of one line: ``headwater bench`` passes on what it is given, and its usage is another."""
    print(f"error: {text}", file=sys.stderr)
    sys.exit(2)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", metavar="NAME,…", help=f"only these of: {', '.join(CASES)}")
    parser.add_argument("--sides", metavar="NAME,…", help=f"only these of: {', '.join(MODULES)}")
    parser.add_argument("--rounds", type=int, metavar="N", help="timed rounds per kernel (default 11; 3 with --quick)")
    parser.add_argument(
        "--quick", action="store_true", help="small data and few rounds: a test of the benchmark itself"
    )
    parser.add_argument(
        "--processor",
        choices=PROCESSORS,
        help="compile Headwater's and Numba's kernels for this lesser processor (the other sides are as they are)",
    )
    parser.add_argument("--json", metavar="FILE", help="also write everything measured to FILE")
    arguments = parser.parse_args()
    for option, known in (("kernels", CASES), ("sides", MODULES)):
        chosen = (getattr(arguments, option) or ",".join(known)).split(",")
        unknown = [c for c in chosen if c not in known]
        if unknown:
            refuse(f"--{option}: no {', '.join(unknown)}; there are {', '.join(known)}")
        setattr(arguments, option, chosen)
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 11)
    if arguments.rounds < 1:
        refuse("--rounds: at least 1")
    return arguments


def main() -> int:
    arguments = parse()
    if arguments.processor:
        hold_to(arguments.processor)
    sides = [start_side(name) for name in arguments.sides]
    held = f" Headwater and Numba compile for {arguments.processor}." if arguments.processor else ""
    print(f"Machine: {machine()}; {arguments.rounds} rounds.{held}")
    for side in sides:
        print(f"- {side.name}: {side.description if side.alive else 'MISSING, ' + side.trouble}")
    print(flush=True)
    results = []
    for name in arguments.kernels:
        print(f"{name} …", file=sys.stderr, end="", flush=True)
        sides = restarted(sides)
        result = run_case(CASES[name], sides, arguments.rounds, arguments.quick)
        summary = ", ".join(f"{s} {b[1] * 1e3:.2f}" for s in result.times if (b := result.best(s)))
        print(f" {summary} ms", file=sys.stderr, flush=True)
        for side_name, failure in result.failures.items():
            print(f"  {side_name} failed: {failure}", file=sys.stderr)
        for message in result.wrong:
            print(f"  WRONG RESULT: {message}", file=sys.stderr)
        results.append(result)
    print(table(results, sides))
    broken = [f"- {r.case.name}, {s}: {text}" for r in results for s, text in r.failures.items()]
    broken += [f"- {r.case.name}: {text}" for r in results for text in r.wrong]
    if broken:
        print("\nFailures:", *broken, sep="\n")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(as_json(results, sides, arguments), indent=1))
    for side in sides:
        side.connection.close()
        side.process.join(5)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
