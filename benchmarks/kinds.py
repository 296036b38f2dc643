#!/usr/bin/env python3
"""Times many kinds of kernels (kinds.cl) on the cpu device and on PoCL's, launches in turn, and prints ratios.

    python benchmarks/kinds.py [--rounds 25] [--only parts,tree]

The suite of cpu.py is compared with the best that is known for each of its kernels; this is a wider net with a coarser
mesh, for kinds that the cpu device would handle badly. Data are on the devices, and group sizes mostly left open.
Results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import headwater as hw

SOURCE = Path(__file__).with_suffix(".cl")
M = 1 << 20


@dataclass(frozen=True)
class Kind:
    """A kernel's launch: global and local size, and what makes its arguments."""

    items: tuple[int, ...]
    group: tuple[int, ...] | None
    arguments: Callable[[np.random.Generator], list[Any]]


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.random(shape, np.float32)


def words(rng: np.random.Generator, count: int, most: int, dtype: type = np.int32) -> np.ndarray:
    return rng.integers(0, most, count, dtype)


KINDS = {
    "parts": Kind((256,), None, lambda r: [floats(r, M), floats(r, M), floats(r, M), np.int32(M // 256)]),
    "part_sums": Kind((4096,), None, lambda r: [words(r, M, 99), words(r, M, 99), words(r, 4096, 1), np.int32(256)]),
    "row_sums": Kind((2048,), None, lambda r: [floats(r, M), floats(r, 2048), np.int32(512)]),
    "row_maxima": Kind((2048,), None, lambda r: [floats(r, M), floats(r, 2048), np.int32(512)]),
    "unit_rows": Kind((2048,), (64,), lambda r: [floats(r, M), floats(r, M), np.int32(512)]),
    "slide_rows": Kind((1024,), None, lambda r: [floats(r, M), floats(r, M), np.int32(1024)]),
    "product_rows": Kind((512, 512), (64, 1), lambda r: [floats(r, M), floats(r, M), floats(r, M), np.int32(512)]),
    "insertion_sort": Kind((M // 16,), None, lambda r: [words(r, M, M), words(r, M, 1)]),
    "column_sums": Kind((1024,), None, lambda r: [floats(r, M), floats(r, 1024), np.int32(1024)]),
    "nearest": Kind(
        (1 << 16,), None, lambda r: [floats(r, 24 << 16), floats(r, 192), words(r, 1 << 16, 1), np.int32(1 << 16)]
    ),
    "polynomial": Kind((M,), None, lambda r: [floats(r, M), floats(r, 32), floats(r, M), np.int32(32)]),
    "blocks": Kind((1024, 1024), (8, 8), lambda r: [floats(r, M), floats(r, 64), floats(r, M), np.int32(1024)]),
    "life": Kind(
        (1024, 1024), (16, 16), lambda r: [words(r, M, 2, np.uint8), words(r, M, 1, np.uint8), np.int32(1024)]
    ),
    "grey4": Kind((M,), None, lambda r: [words(r, 4 * M, 256, np.uint8), words(r, M, 1, np.uint8)]),
    "grey3": Kind((M,), None, lambda r: [words(r, 3 * M, 256, np.uint8), words(r, M, 1, np.uint8)]),
    "gamma_curve": Kind(
        (M,), None, lambda r: [words(r, 4 * M, 256, np.uint8), words(r, 4 * M, 1, np.uint8), np.float32(0.8)]
    ),
    "substitute": Kind(
        (M // 4,),
        None,
        lambda r: [words(r, M // 4, 1 << 32, np.uint32), words(r, 256, 256, np.uint8), words(r, M // 4, 1, np.uint32)],
    ),
    "pairs": Kind(
        (1 << 14,),
        (128,),
        lambda r: [floats(r, 4 << 14), words(r, 64 << 14, 1 << 14), floats(r, 4 << 14), np.int32(64)],
    ),
    "fields": Kind((M // 8,), None, lambda r: [floats(r, 7 * M // 8), floats(r, M // 8)]),
    "find_word": Kind((M,), None, lambda r: [words(r, M + 8, 4, np.uint8) + np.uint8(114), words(r, M, 1)]),
    "functions": Kind((M,), None, lambda r: [floats(r, M), floats(r, M)]),
    "functions_double": Kind((M // 4,), None, lambda r: [r.random(M // 4), r.random(M // 4)]),
    "escape_double": Kind((512, 512), (16, 16), lambda r: [words(r, M // 4, 1), np.int32(512)]),
    "mixed": Kind((M // 2,), None, lambda r: [words(r, M // 2, 1 << 63, np.uint64), words(r, M // 2, 1, np.uint64)]),
    "darts": Kind((1 << 16,), None, lambda r: [words(r, 1 << 16, 1, np.uint32)]),
    "collatz": Kind((1 << 16,), None, lambda r: [words(r, 1 << 16, 1)]),
    "tree": Kind((M,), (256,), lambda r: [floats(r, M), floats(r, M // 256), hw.Local(1024)]),
    "relax": Kind((M // 4,), (256,), lambda r: [floats(r, M // 4), floats(r, M // 4), hw.Local(1024), hw.Local(1024)]),
    "keep": Kind((M,), None, lambda r: [words(r, M, 2), words(r, M, 1), words(r, 1, 1)]),
    "add_up": Kind((M,), None, lambda r: [words(r, M, 10), words(r, 1, 1)]),
    "keep_by_group": Kind((M,), (256,), lambda r: [words(r, M, 2), words(r, M, 1), words(r, M // 256, 1)]),
    "count_bytes": Kind((M,), None, lambda r: [words(r, M, 256, np.uint8), words(r, 256, 1)]),
    "edge_ends": Kind((M // 2,), None, lambda r: [words(r, M, 1 << 13), words(r, 1 << 13, 1)]),
    "local_bytes": Kind((1 << 15,), (256,), lambda r: [words(r, M, 256, np.uint8), words(r, 256, 1), np.int32(M)]),
    "local_words": Kind(
        (1 << 15,), (256,), lambda r: [words(r, M, 1 << 32, np.uint32), words(r, 256, 1), np.uint32(M)]
    ),
    "local_channels": Kind(
        (1 << 15,), (256,), lambda r: [words(r, 3 * M, 256, np.uint8), words(r, 768, 1), np.uint32(M)]
    ),
    "row_products": Kind(
        (1 << 17,),
        (128,),
        lambda r: [floats(r, M), floats(r, 1024), floats(r, 1024), np.int32(1024), hw.Local(512)],
    ),
    "shorter_ways": Kind((1024, 1024), (16, 16), lambda r: [words(r, M, 1000), np.int32(1024), np.int32(5)]),
}


def pocl() -> str:
    """The name of PoCL's device; ends the program if there is none."""
    for device in hw.devices():
        if device.kind == "opencl" and "pthread" in device.description:
            return device.name
    raise SystemExit("kinds.py compares with PoCL, and there is no PoCL device (Debian: pocl-opencl-icd)")


def run(name: str, programs: dict[str, Any], rounds: int) -> tuple[dict[str, float], bool]:
    """Median milliseconds of a launch on each device, and whether they agree."""
    kind = KINDS[name]
    calls: dict[str, Callable[[], None]] = {}
    results: list[list[np.ndarray]] = []
    for device, program in programs.items():
        made = [
            hw.stream(a, device=device) if isinstance(a, np.ndarray) and a.ndim else a
            for a in kind.arguments(np.random.default_rng(1))
        ]
        launch = getattr(program, name)[kind.items, kind.group]
        launch(*made).wait()
        results.append([a.read() for a in made if isinstance(a, hw.Stream)])
        calls[device] = lambda launch=launch, made=made: launch(*made).wait()  # type: ignore[misc]
    right = all(np.allclose(a, b, rtol=1e-3, atol=1e-2) for a, b in zip(*results, strict=True))
    times: dict[str, list[float]] = {device: [] for device in calls}
    for _ in range(rounds):
        for device, call in calls.items():
            call()  # the other device's launch leaves the caches to its own data
            start = time.perf_counter()
            call()
            times[device].append((time.perf_counter() - start) * 1e3)
    return {device: statistics.median(values) for device, values in times.items()}, right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25, help="timed launches of each kernel (default 25)")
    parser.add_argument("--only", metavar="NAME,…", default=",".join(KINDS), help="only these kernels")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := [name for name in names if name not in KINDS]:
        parser.error(f"there is no kernel {unknown[0]!r}; there are {', '.join(KINDS)}")
    programs = {device: hw.compile(SOURCE, device=device) for device in ("cpu", pocl())}
    ratios, wrong = [], []
    print(f"{'kernel':18}{'cpu ms':>10}{'PoCL ms':>10}{'x PoCL':>9}")
    for name in names:
        times, right = run(name, programs, options.rounds)
        ours, theirs = times.values()
        ratios.append(theirs / ours)
        wrong += [] if right else [name]
        print(f"{name:18}{ours:10.3f}{theirs:10.3f}{theirs / ours:9.2f}{'' if right else '  WRONG'}", flush=True)
    print(f"geometric mean of {len(ratios)}: {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
