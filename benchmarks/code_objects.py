"""How soon Triton's and HIP's kernels of the repository have their first result, on a cache that is empty and on one
that knows them; the slowest first.

    python -m benchmarks.code_objects [--only WORD …] [--cold 3] [--warm 0.3]

Every row is of processes of its own: from the code object (of ``.hip`` files: from the source) until the first launch
has ended, ``headwater`` being imported, with Python's bytecode, which an installed package has. Processor time is of
that and of the compiler processes, and is what remains comparable on a busy machine. Exit code 1 if a row takes longer
than ``--cold`` or ``--warm`` seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OBJECTS = ROOT / "tests/triton/objects"
CHIPS = {"gfx906": "mi50", "gfx908": "mi100", "gfx90a": "mi250x", "gfx942": "mi300x"}

LAUNCHES = {
    "scaled_sum": "kernel[4](f4(1000), f4(1000), f4(1024), 1000, np.float32(0.5))",
    "row_softmax": "kernel[5](f4(5, 300), f4(5, 300), 300)",
    "product": "kernel[2, 2](f2(64, 64), f2(64, 64), f4(64, 64), 64)",
    "large_product": "kernel[1, 1](f2(128, 128), f2(128, 128), f4(128, 128), 128)",
    "attention": "kernel[1](f2(128, 64), f2(128, 64), f2(128, 64), f4(128, 64), 128, np.float32(0.125))",
    "bilateral": "kernel[1, 8](f4(8, 256), f4(8, 256), 256, 8, np.float32(20))",
}
"""Of Triton's kernels. `f2` and `f4` make random arrays of these types."""
HIP = {
    "heat": "program.heat[(64, 64), (32, 8)](f4(64, 64), f4(64, 64), 64, 64, np.float32(0.1), lds=1360, device={})",
    "total": "program.total[(1024,), (256,)](f4(1), f4(4096), 4096, device={})",
}
"""Of examples/hip/heat.hip."""

SCRIPT = """
import resource, time
import numpy as np
import headwater as hw
import headwater.triton
rng = np.random.default_rng(1)
f4 = lambda *shape: rng.standard_normal(shape, np.float32)
f2 = lambda *shape: f4(*shape).astype(np.float16)
used = lambda: sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
start, before = time.perf_counter(), used()
{load}
done = {launch}
if done is not None:
    done.wait()
print(time.perf_counter() - start)
from headwater.native import worker
worker.stop_all()
print(used() - before)
"""
"""The processor time of processes counts when they have ended."""


def cases() -> dict[str, str]:
    """Each kernel's script."""
    found = {}
    for file in sorted([*OBJECTS.glob("*.hsaco"), *(ROOT / "examples/triton").glob("*.hsaco")]):
        name, _, target = file.stem.partition(".")
        if name in LAUNCHES:
            load = f"kernel = headwater.triton.load({str(file)!r}, {CHIPS[target]!r})"
            found[f"{name}, {CHIPS[target]}"] = SCRIPT.format(load=load, launch=LAUNCHES[name])
    load = f"program = hw.compile({str(ROOT / 'examples/hip/heat.hip')!r})"
    for name, launch in HIP.items():
        for chip in ("mi250x", "mi300x"):
            found[f"{name} (HIP), {chip}"] = SCRIPT.format(load=load, launch=launch.format(repr(chip)))
    return found


def measure(script: str, bytecode: str) -> list[float]:
    """Seconds and processor seconds on an empty cache, then on the one that the first process has filled.

    ``bytecode``: the folder of Python's.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"HEADWATER_CACHE_DIR": cache, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": bytecode}
        found: list[float] = []
        for _ in range(2):
            done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"a measured program failed:\n{done.stderr}")
            found += map(float, done.stdout.split())
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="kernels whose names have such a word")
    parser.add_argument("--cold", type=float, default=3.0, help="most seconds on an empty cache (3)")
    parser.add_argument("--warm", type=float, default=0.3, help="most seconds on a cache that knows the kernel (0.3)")
    args = parser.parse_args()
    chosen = {name: s for name, s in cases().items() if not args.only or any(word in name for word in args.only)}
    if not chosen:
        parser.error(f"no kernel's name has {' or '.join(args.only)}")
    with tempfile.TemporaryDirectory() as bytecode:
        for word in ("(HIP)", "attention"):  # of all modules that a row can need; not counted
            measure(next(script for name, script in cases().items() if word in name), bytecode)
        rows = sorted(((measure(script, bytecode), name) for name, script in chosen.items()), reverse=True)
    print("| kernel | cold s | of processor time | warm s | of processor time |\n|---|---|---|---|---|")
    fine = True
    for (cold, cold_used, warm, warm_used), name in rows:
        late = cold > args.cold or warm > args.warm
        fine &= not late
        print(f"| {name}{' !' if late else ''} | {cold:.2f} | {cold_used:.2f} | {warm:.3f} | {warm_used:.3f} |")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
