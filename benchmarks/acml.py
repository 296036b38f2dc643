"""The Core Math Library beside SciPy, in turn in one process: medians and ratios.

    python benchmarks/acml.py [--rounds 31]          # this processor
    python benchmarks/acml.py --chips hd4850,hd5870  # products on simulated chips beside published rates
    python benchmarks/acml.py --chips hd4850 --tune  # every candidate, to choose the block in headwater/acml/tuned.toml

ACML's C names are compared with SciPy's wrappers of the same routines over the same memory in Fortran's order. A chip's
rate is that of the cycle model for one product whose result is checked against NumPy.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import scipy.fft
import scipy.linalg
from scipy.linalg import blas, lapack

from headwater import acml
from headwater.acml.random import Generator


def pairs(n: int) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Name -> ours and SciPy's, for matrices of n x n and vectors of n squared."""
    rng = np.random.default_rng(n)
    a, b = (np.asfortranarray(rng.standard_normal((n, n))) for _ in range(2))
    c, work, x = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    z = rng.standard_normal(n * n) + 1j * rng.standard_normal(n * n)
    line, out = np.abs(z), np.zeros(n * n)
    pivots = np.zeros(n, np.int32)

    def ours_solve() -> object:
        work[...], x[...] = a, b
        return acml.dgesv(n, n, work, n, pivots, x, n)

    def scipys_solve() -> object:
        work[...], x[...] = a, b
        return lapack.dgesv(work, x, overwrite_a=1, overwrite_b=1)

    def ours_lu() -> object:
        work[...] = a
        return acml.dgetrf(n, n, work, n, pivots)

    def scipys_lu() -> object:
        work[...] = a
        return lapack.dgetrf(work, overwrite_a=1)

    def ours_fft() -> object:
        z[...] = line
        return acml.zfft1d(-1, n * n, z, None)

    def scipys_fft() -> object:
        z[...] = line
        z[...] = scipy.fft.fft(z, norm="ortho")
        return z

    return {
        "dgemm": (
            lambda: acml.dgemm("N", "N", n, n, n, 1.0, a, n, b, n, 0.0, c, n),
            lambda: blas.dgemm(1.0, a, b, 0.0, c, overwrite_c=1),
        ),
        "dgetrf": (ours_lu, scipys_lu),
        "dgesv": (ours_solve, scipys_solve),
        "solve": (lambda: acml.solve(a, b), lambda: scipy.linalg.solve(a, b)),
        "matmul": (lambda: acml.matmul(a, b), lambda: np.matmul(a, b)),
        "zfft1d": (ours_fft, scipys_fft),
        "vrda_exp": (lambda: acml.vrda_exp(n * n, line, out), lambda: np.exp(line, out=out)),
    }


def numbers(n: int) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Name -> our random numbers and NumPy's."""
    philox, numpys = Generator("philox", 1), np.random.Generator(np.random.Philox(key=1))
    twister, legacy = Generator("mt19937", 1), np.random.RandomState(1)
    return {
        "philox": (lambda: philox.random(n), lambda: numpys.random(n)),
        "philox gaussian": (lambda: philox.gaussian(n, 0.0, 1.0), lambda: numpys.standard_normal(n)),
        "mt19937": (lambda: twister.random(n), lambda: legacy.random(n)),
    }


def medians(sides: tuple[Callable[[], object], Callable[[], object]], rounds: int) -> tuple[float, float]:
    """Median seconds of a call of each, in turn; another one begins each round."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(-3, rounds):
        for at in (0, 1) if number % 2 else (1, 0):
            begin = time.perf_counter()
            sides[at]()
            if number >= 0:
                times[at].append(time.perf_counter() - begin)
    return statistics.median(times[0]), statistics.median(times[1])


def processor(rounds: int) -> list[dict[str, object]]:
    print(f"{'routine':18}{'n':>9}{'ours':>12}{'SciPy':>12}{'SciPy / ours':>14}")
    rows = []
    for n, made in [*((n, pairs(n)) for n in (8, 32, 128, 512)), (1_000_000, numbers(1_000_000))]:
        for name, sides in made.items():
            ours, theirs = medians(sides, rounds)
            rows.append({"routine": name, "n": n, "ours": ours, "scipy": theirs})
            print(f"{name:18}{n:9}{ours * 1e6:10.1f}µs{theirs * 1e6:10.1f}µs{theirs / ours:14.2f}", flush=True)
    return rows


def chips(names: list[str], tune: bool, size: int) -> list[dict[str, object]]:
    from headwater.acml import tuned

    print(f"{'chip':10}{'routine':9}{'block':>28}{'GFLOP/s':>9}{'of peak':>9}{'published':>11}{'ratio':>7}{'error':>9}")
    rows = []
    for entry in tuned.table():
        if entry.chip not in names:
            continue
        for kernel in tuned.candidates(entry) if tune else (entry.kernel,):
            rate, error = tuned.simulate(entry, kernel, size)
            published = (
                f"{entry.published:11.0f}{rate / entry.published:7.2f}" if entry.published else f"{'–':>11}{'–':>7}"
            )
            block = ", ".join(f"{key} {value}" for key, value in kernel.items())
            found = f"{rate:9.0f}{rate / entry.peak:9.1%}{published}{error:9.0e}"
            print(f"{entry.chip:10}{entry.routine:9}{block:>28}{found}", flush=True)
            rows.append({"chip": entry.chip, "routine": entry.routine, "kernel": kernel, "rate": rate})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--chips", default="", help="simulated chips instead of this processor")
    parser.add_argument("--tune", action="store_true", help="every candidate of a chip's kernel")
    parser.add_argument("--size", type=int, default=0, help="rows and columns of a chip's product")
    parser.add_argument("--json", default="", help="write all measurements to this file")
    args = parser.parse_args()
    rows = chips(args.chips.split(","), args.tune, args.size) if args.chips else processor(args.rounds)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
