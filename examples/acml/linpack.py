"""The Linpack table: solve random systems of equations, check them as Linpack does, and print the rates.

`python examples/acml/linpack.py`, or with `--device vega64` for panels on the processor and products on a device.
"""

import argparse
import time

import numpy as np

import headwater as hw
from headwater import acml


def by_acml(a, b):
    """dgesv over memory in Fortran's order."""
    n = len(b)
    matrix, x, pivots = np.asfortranarray(a), b.copy(), np.zeros(n, np.int32)
    begin = time.perf_counter()
    info = acml.dgesv(n, 1, matrix, n, pivots, x, n)
    seconds = time.perf_counter() - begin
    if info:
        raise SystemExit(f"dgesv: INFO = {info}")
    return x, seconds


def on_device(a, b, device):
    """LU by blocks, over streams."""
    matrix, right = hw.stream(a, device=device), hw.stream(b, device=device)
    begin = time.perf_counter()
    x = acml.solve(matrix, right).read()
    return x, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="", help="cpu, gpu, vega64, …; by default SciPy's LAPACK")
    parser.add_argument("--sizes", default="100,300,1000", help="numbers of equations")
    args = parser.parse_args()

    def solve(a, b):
        return on_device(a, b, args.device) if args.device else by_acml(a, b)

    solve(np.eye(4), np.ones(4))  # loads or compiles what the first call needs
    print(f"{'N':>6} {'time':>10} {'GFLOP/s':>9} {'residual':>9}   a residual below 16 passes")
    for n in map(int, args.sizes.split(",")):
        rng = np.random.default_rng(n)
        a, b = rng.uniform(-0.5, 0.5, (n, n)), rng.uniform(-0.5, 0.5, n)
        x, seconds = solve(a, b)
        norm = np.linalg.norm
        scale = np.finfo(float).eps * (norm(a, np.inf) * norm(x, np.inf) + norm(b, np.inf)) * n
        residual = norm(a @ x - b, np.inf) / scale
        rate = (2 / 3 * n**3 + 2 * n**2) / seconds / 1e9
        print(f"{n:6} {seconds:9.4f}s {rate:9.3f} {residual:9.3f}   {'passed' if residual < 16 else 'FAILED'}")


if __name__ == "__main__":
    main()
