"""How long Triton's tuner takes to try 20 configurations of a product of matrices for the first time.

    python -m benchmarks.triton_tuning [--chip mi300x] [--side 512] [--most 60]

Needs Triton and PyTorch. Everything is in a process of its own with empty caches, Triton's among them: compilation by
Triton, translation of the machine code, one emulated run of each configuration, and the replays that time it. Of the
processor time, which counts all processes, Triton's compiler is shown apart. Exit code 1 if all takes longer than
``--most`` seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SCRIPT = """
import resource, time
import torch
import triton
import triton.language as tl
import headwater.triton
from headwater.native import worker

compiling = 0.0
compile_kernel = triton.compile
SIZES = [(128, 128, 32), (128, 64, 32), (64, 128, 32), (64, 64, 32), (64, 64, 64), (64, 32, 32), (32, 64, 32),
         (32, 32, 32), (128, 32, 32), (32, 128, 32)]
CONFIGS = [triton.Config({"M": m, "N": n, "K": k}, num_warps=warps) for m, n, k in SIZES for warps in (4, 8)]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def product(a, b, out, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    sums = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, n, K):
        left = tl.load(a + rows[:, None] * n + start + depth[None, :])
        right = tl.load(b + (start + depth[:, None]) * n + columns[None, :])
        sums = tl.dot(left, right, sums)
    tl.store(out + rows[:, None] * n + columns[None, :], sums)


def timed_compile(*given, **named):
    global compiling
    start = time.process_time()
    try:
        return compile_kernel(*given, **named)
    finally:
        compiling += time.process_time() - start


triton.compile = triton.compiler.compile = triton.compiler.compiler.compile = timed_compile
import triton.runtime.jit as jit
if hasattr(jit, "compile"):
    jit.compile = timed_compile
used = lambda: sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
a, b = (torch.randn(SIDE, SIDE).half() for _ in range(2))
out = torch.zeros(SIDE, SIDE)
start, before = time.perf_counter(), used()
headwater.triton.activate(CHIP)
product[lambda meta: (SIDE // meta["M"], SIDE // meta["N"])](a, b, out, SIDE)
seconds = time.perf_counter() - start
assert torch.allclose(out, a.float() @ b.float(), atol=0.05, rtol=1e-2)
worker.stop_all()
print(len(CONFIGS), seconds, used() - before, compiling, str(product.best_config).replace(" ", ""))
"""


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chip", default="mi300x", help="a simulated chip (default %(default)s)")
    parser.add_argument("--side", type=int, default=512, help="rows, a multiple of 128 (default %(default)s)")
    parser.add_argument("--most", type=float, default=60.0, help="most seconds (default %(default)s)")
    args = parser.parse_args()
    if args.side < 128 or args.side % 128:
        parser.error(f"--side {args.side} is not a multiple of 128")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tune.py"
        file.write_text(f"CHIP, SIDE = {args.chip!r}, {args.side}\n{SCRIPT}")
        caches = {"HEADWATER_CACHE_DIR": f"{folder}/headwater", "TRITON_CACHE_DIR": f"{folder}/triton"}
        environment = {**os.environ, **caches, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return 1
    count, seconds, used, compiling, best = done.stdout.split()[-5:]
    print(f"{args.chip}: {count} configurations of a product of {args.side} in {float(seconds):.1f} s")
    print(f"processor time {float(used):.1f} s, of which Triton's compiler {float(compiling):.1f} s; best: {best}")
    return int(float(seconds) > args.most)


if __name__ == "__main__":
    sys.exit(main())
