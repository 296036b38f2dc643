"""The Core Math Library beside SciPy, in turn in one process: medians and ratios.

    python benchmarks/acml.py [--rounds 31]          # this processor
    python benchmarks/acml.py --chips hd4850,hd5870  # products on simulated chips beside published rates
    python benchmarks/acml.py --chips hd4850 --tune  # every candidate, to choose the block in headwater/acml/tuned.toml
    python benchmarks/acml.py --split 200            # matmul of random shapes beside the better of processor and GPU
    python benchmarks/acml.py --transforms 60 --rounds 5  # the same of Fourier transforms; about 2 s each
    python benchmarks/acml.py --gpu [--tune]         # products and transforms of streams on an OpenCL GPU beside CuPy's

ACML's C names are compared with SciPy's wrappers of the same routines over the same memory in Fortran's order. A chip's
rate is that of the cycle model for one product whose result is checked against NumPy.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg
from scipy.linalg import blas, lapack

from headwater import acml
from headwater.acml.costs import best
from headwater.acml.offload import LEAST
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


def by(way: Any, a: Any, b: Any) -> Any:
    """A product by one way, with all that it moves."""
    return way.product(a, way.keep(b))


def a_product(rng: np.random.Generator, number: int, ways: Any) -> tuple[str, Any, dict[str, Callable[[], Any]]]:
    """One of float32 or float64 of a random shape: its text, the chosen ways, and the calls to time."""
    from headwater.acml import split

    m, n, k = (int(extent) for extent in np.exp(rng.uniform(np.log(8), np.log(6000), 3)))
    dtype = np.dtype(np.float32 if number % 2 else np.float64)
    a, b = (rng.random(shape).astype(dtype) for shape in ((m, k), (k, n)))
    chosen = ways[:1]
    if len(ways) > 1 and m * n * k >= split.small(dtype.char):
        chosen = split.decided(m, n, k, dtype.char).chosen
    sides = {way.name: partial(by, way, a, b) for way in ways} | {"ours": partial(acml.matmul, a, b)}
    return f"{m} {n} {k} {dtype.name}", chosen, sides | {"again": partial(by, chosen[0], a, b)}


def a_transform(rng: np.random.Generator, number: int, ways: Any) -> tuple[str, Any, dict[str, Callable[[], Any]]]:
    """Like `a_product`: some sequences of random length, real or complex, of either precision, of at most 2 million
    numbers: a transform of more takes a processor most of a second, and is timed some twenty times."""
    name = ("fft", "rfft")[number // 2 % 2]
    count, n = int(np.exp(rng.uniform(0, np.log(300)))), int(np.exp(rng.uniform(np.log(32), np.log(1 << 20))))
    count = max(1, min(count, (1 << 21) // n))
    dtype = np.dtype(np.float32 if number % 2 else np.float64)
    x = rng.random((count, n)).astype(dtype if name == "rfft" else np.result_type(dtype, np.complex64))
    sides: dict[str, Callable[[], Any]] = {way.name: partial(way.transform, name, x) for way in ways}
    ours = partial(getattr(acml, name), x)
    for _ in range(2 * len(ways)):
        ours()  # each way is tried twice
    times = {way.name: best(sides[way.name], 2) for way in ways}
    chosen = [min(ways, key=lambda way: times[way.name])] if x.size >= LEAST else ways[:1]
    return f"{name} {count} x {n} {x.dtype.name}", chosen, sides | {"ours": ours, "again": sides[chosen[0].name]}


def split(count: int, rounds: int, case: Any) -> list[dict[str, Any]]:
    """Random cases by `headwater.acml` beside each way alone, transfers included, and beside the chosen way again,
    which tells how much a ratio varies where there is no difference. A row is printed when it is measured, the summary
    at the end, also if the process is interrupted or terminated."""
    from headwater.acml import split

    ways = split.present()
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    print("better way's time / ours, also of the first calls; the case, chosen ways, and median times", flush=True)
    terminated = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for number in range(count):
            rows.append(a_row(rounds, ways, *case(rng, number, ways)))
    except KeyboardInterrupt:
        print(f"stopped in case {len(rows) + 1} of {count}")
    finally:
        signal.signal(signal.SIGTERM, terminated)
    if rows:
        summarize(rows, ways)
    return rows


def a_row(rounds: int, ways: Any, text: str, chosen: Any, sides: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Time a case for about 1.5 s, print it, and return its figures."""
    until = time.perf_counter() + 1.5
    for side in sides.values():  # GPUs get memory and kernels
        side()
    times: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(6 * rounds):
        late = time.perf_counter() > until
        if (turn >= 4 and late) or (turn >= max(rounds, 8) and min(times["ours"]) > 1e-3):
            break
        names = list(sides)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            if times[name] and times[name][-1] < 5e-3:
                sides[name]()  # caches and threads are this side's own when it is timed
            begin = time.perf_counter()
            sides[name]()
            times[name].append(time.perf_counter() - begin)
    later = {name: statistics.median(values[-max(rounds // 2, 4) :]) for name, values in times.items()}
    better = min(later[way.name] for way in ways)
    row = {
        "case": text, "chosen": [way.name for way in chosen],
        "first": min(times[way.name][0] for way in ways) / times["ours"][0],
        "ratio": better / later["ours"], "same": later[chosen[0].name] / later["again"],
        "lost": later[chosen[0].name] / better, **later,
    }  # fmt: skip
    texts = (f"{name} {value * 1e6:.0f} µs" for name, value in later.items())
    print(f"{row['ratio']:.3f} {row['first']:.2f} {text} by {'+'.join(row['chosen'])}:", *texts, flush=True)
    return row


def summarize(rows: list[dict[str, Any]], ways: Any) -> None:
    """Print how many ratios are out of bounds, and the worst cases."""
    ratios, same, lost = (np.array([row[name] for row in rows], float) for name in ("ratio", "same", "lost"))
    slow = np.array([row["ours"] for row in rows], float) >= 1e-3
    print(f"ways: {', '.join(way.name for way in ways)}; better way's time / ours, of {len(rows)} cases")
    for label, part in (("all", ratios), ("of 1 ms and more", ratios[slow]), ("shorter", ratios[~slow]),
                        ("one way twice", same)):  # fmt: skip
        if len(part):
            print(f"{label:18}{len(part):5}  median {np.median(part):.3f}  least {part.min():.3f}  "
                  f"below 0.97: {(part < 0.97).sum()}  above 1.03: {(part > 1.03).sum()}")  # fmt: skip
    print(f"chosen together: {sum(len(row['chosen']) > 1 for row in rows)}; chosen though another was faster: "
          f"{(lost > 1).sum()}, at most {lost.max():.2f} times slower")  # fmt: skip
    for row in sorted(rows, key=lambda row: float(row["ratio"]))[:6]:
        print(f"{row['ratio']:.3f} {row['case']}", flush=True)


def on_gpu(tune: bool, rounds: int) -> list[dict[str, object]]:
    """Products and transforms of data on a GPU: our OpenCL kernels beside cuBLAS and cuFFT through CuPy, where it is
    installed. ``tune``: all tiles of the kernel for GPUs, at each size; a ratio is CuPy's time by ours."""
    import headwater as hw
    from headwater.acml.streams import fourier, products
    from headwater.acml.streams.fourier_blocks import RUNS, blocks
    from headwater.acml.streams.programs import empty

    device = hw.device("gpu")
    try:
        import cupy
    except ImportError:
        cupy = None
    print(device.description, device.driver)
    rng, rows = np.random.default_rng(0), []

    def seconds(call: Callable[[], object], finish: Callable[[], object]) -> float:
        found = []
        for number in range(-1, rounds):
            calls = 1 if number < 0 or (found[-1:] and found[-1] > 5e-3) else 5
            finish()
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            finish()
            found.append((time.perf_counter() - begin) / calls)
        return statistics.median(found[1:])

    def show(what: str, text: str, ours: float, theirs: float, work: float, error: float) -> None:
        ratio = f"{theirs / ours:8.3f}" if theirs else f"{'–':>8}"
        print(f"{what:24}{text:34}{ours * 1e6:10.0f}µs{work / ours / 1e12:8.2f} T/s{ratio}{error:9.0e}", flush=True)
        rows.append({"what": what, "how": text, "ours": ours, "cupy": theirs, "error": error})

    print(f"{'what':24}{'how':34}{'ours':>12}{'':12}{'CuPy/ours':>8}{'error':>9}")
    for letter, n in product("fdF", (256, 1024, 4096)):
        dtype = np.dtype(letter)
        x, y = (rng.standard_normal((n, n)).astype(dtype) for _ in range(2))
        a, b = hw.stream(x, device=device), hw.stream(y, device=device)
        c, theirs = empty(a, (n, n)), 0.0
        if cupy is not None:
            p, q = cupy.asarray(x), cupy.asarray(y)
            theirs = seconds(lambda p=p, q=q: p @ q, cupy.cuda.Device().synchronize)
        tiles = [products.tile(device, dtype, n, n, n)]
        if tune:
            likely = products.likely(dtype, n >= products.LARGE)
            tiles += [cut for cut in (*likely, *products.candidates(dtype)) if cut not in tiles]
        wanted = x[:64].astype(complex if letter == "F" else float) @ y
        for cut in tiles:
            try:
                products.gemm(1.0, products.matrix(a), products.matrix(b), 0.0, products.matrix(c), cut)
                error = float(np.abs(c.read()[:64] - wanted).max())
                ours = seconds(
                    lambda a=a, b=b, c=c, cut=cut: products.gemm(
                        1.0, products.matrix(a), products.matrix(b), 0.0, products.matrix(c), cut
                    ),
                    device.finish,
                )
            except hw.HeadwaterError as refused:
                print(f"{letter} {n} {cut}: {refused}")
                continue
            text = f"{cut.rows} x {cut.columns}, group {cut.group}, depth {cut.depth}{' *' if cut == tiles[0] else ''}"
            show(f"product {dtype.name} {n}", text, ours, theirs, 2.0 * n**3 * (4 if letter == "F" else 1), error)
    for letter, shape in product("FD", ((4096, 64), (256, 4096), (64, 10000), (1, 1 << 20), (4, 1 << 22))):
        dtype = np.dtype(letter)
        z = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
        s, n, theirs = hw.stream(z, device=device), shape[1], 0.0
        if cupy is not None:
            g = cupy.asarray(z)
            theirs = seconds(lambda g=g: cupy.fft.fft(g), cupy.cuda.Device().synchronize)
        wanted = np.fft.fft(z[:1].astype(complex))
        work, scale = 5.0 * z.size * np.log2(n), float(np.abs(wanted).max())
        limits = device.local_memory_bytes, device.max_group_size
        ways: dict[str, Any] = {"passes of 4": None, "": fourier.passes(n, True, dtype, device)}
        if tune:
            for split_parts, run in product((False, True), RUNS):
                steps = blocks(n, dtype, *limits, True, split_parts, run)
                if steps not in ways.values():
                    ways[f"run {run}, {'split' if split_parts else 'whole'}"] = steps
        for way, steps in ways.items():
            call = partial(fourier.by_passes, s, n, 1, 1, 1.0, steps) if way else partial(np.fft.fft, s)
            try:
                error = float(np.abs(call().read()[:1] - wanted).max()) / scale
                ours = seconds(call, device.finish)
            except hw.HeadwaterError as refused:
                print(f"{letter} {shape} {way}: {refused}")
                continue
            radices = " ".join("·".join(map(str, block.stages)) for block in steps or ())
            show(f"fft {dtype.name} {shape[0]}x{n}", f"{radices or 'small'} {way}", ours, theirs, work, error)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--chips", default="", help="simulated chips instead of this processor")
    parser.add_argument("--tune", action="store_true", help="every candidate of a chip's kernel")
    parser.add_argument("--split", type=int, default=0, help="so many random shapes of products by any way")
    parser.add_argument("--transforms", type=int, default=0, help="so many random transforms by any way")
    parser.add_argument("--gpu", action="store_true", help="products and transforms of data on an OpenCL GPU")
    parser.add_argument("--size", type=int, default=0, help="rows and columns of a chip's product")
    parser.add_argument("--json", default="", help="write all measurements to this file")
    args = parser.parse_args()
    if args.split:
        rows = split(args.split, args.rounds, a_product)
    elif args.transforms:
        rows = split(args.transforms, args.rounds, a_transform)
    elif args.gpu:
        rows = on_gpu(args.tune, args.rounds)
    elif args.chips:
        rows = chips(args.chips.split(","), args.tune, args.size)
    else:
        rows = processor(args.rounds)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
