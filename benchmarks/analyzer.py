"""How long an analysis of one kernel for ten chips takes, cold and warm; and, with --mca, llvm-mca beside the analyzer.

    python -m benchmarks.analyzer [--rounds N]
    python -m benchmarks.analyzer --mca

Cold: nothing in the cache, a fresh process; warm: the same command again. Python's own compiled modules are there in
both, as after an installation. Times are of the whole command, by the wall and in CPU seconds of it and its children.
llvm-mca is LLVM's (any version that knows gfx900).
"""

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHIPS = "hd7970 hd7870 r9-290x r9-fury-x rx480 vega64 radeon-vii mi60 mi100 mi250x".split()
KERNEL = ROOT / "benchmarks" / "suite" / "black_scholes.cl"
ADD = """kernel void add(global const float4 *a, global const float4 *b, global float4 *c) {
  int i = get_global_id(0);
  c[i] = a[i] + b[i];
}"""
POLYNOMIAL = """kernel void polynomial(global float *a) {
  int i = get_global_id(0);
  float x = a[i], s = 1;
#pragma unroll
  for (int k = 0; k < 64; k++) s = fma(s, x, 0.5f);
  a[i] = native_recip(s);
}"""
PRODUCT = """kernel void mm(global const float *a, global const float *b, global float *c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  float s = 0;
  for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
  c[y * n + x] = s;
}"""
MCA = next(
    filter(
        None,
        (shutil.which(name) for name in ("llvm-mca", *(f"llvm-mca-{version}" for version in range(22, 13, -1)))),
    ),
    "",
)
MCA_KERNELS = (("add", ADD, {}), ("polynomial", POLYNOMIAL, {}), ("mm", PRODUCT, {"n": 1024}))


def command(cache, bytecode):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"HEADWATER_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": bytecode}
    words = [sys.executable, "-m", "headwater", "analyze", str(KERNEL), *(w for name in CHIPS for w in ("-d", name))]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr.decode()
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def speed(rounds):
    cold, warm = [], []
    with tempfile.TemporaryDirectory() as bytecode:
        for turn in range(rounds + 1):
            with tempfile.TemporaryDirectory() as cache:
                found = command(cache, bytecode), command(cache, bytecode)
            if turn:  # the first leaves bytecode for the others
                cold.append(found[0])
                warm.append(found[1])
    load = os.getloadavg()[0]
    for name, found in (("cold", cold), ("warm", warm)):
        wall, used = (statistics.median(values) for values in zip(*found, strict=True))
        print(f"{name}: {wall:.2f} s by the wall, {used:.2f} CPU seconds (median of {rounds}; load {load:.1f})")


def simulated(text):
    """llvm-mca's report; version 14 ends with SIGSEGV every second time, whatever its input."""
    for _ in range(20):
        words = [MCA, "-mtriple=amdgcn", "-mcpu=gfx900", "-iterations=1", "-"]
        done = subprocess.run(words, input=text, capture_output=True, text=True)
        if done.returncode == 0:
            return done
    sys.exit(f"llvm-mca fails: {done.stderr}")


def mca():
    if not MCA:
        sys.exit("llvm-mca is not here: install LLVM")
    from headwater import analyze

    print(f"{'':12}{'llvm-mca':>22}   analyzer")
    heads = ("instructions", "cycles", "instructions", "ALU", "issue", "with waits")
    print(f"{'kernel':12}" + "".join(f"{head:>14}" for head in heads) + "  bound by")
    for name, text, arguments in MCA_KERNELS:
        (a,) = analyze(text, device="vega64", kernel=name, arguments=arguments)
        lines = [step.text for step in a.code.steps if not step.text.startswith(("s_cbranch", "s_branch"))]
        done = simulated("\n".join(lines) + "\n")
        said = {
            key: int(value) for key, value in re.findall(r"^(Instructions|Total Cycles): +(\d+)", done.stdout, re.M)
        }
        work = a.work
        waits = work.issue_cycles + work.waits * a.chip.latencies.memory_cycles
        numbers = (
            said["Instructions"],
            4 * said["Total Cycles"],
            work.steps,
            work.alu_cycles,
            work.issue_cycles,
            waits,
        )
        print(f"{name:12}" + "".join(f"{number:>14,.0f}" for number in numbers) + f"  {a.estimate.bound_by}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mca", action="store_true")
    args = parser.parse_args()
    if args.mca:
        mca()
    else:
        speed(args.rounds)


if __name__ == "__main__":
    main()
