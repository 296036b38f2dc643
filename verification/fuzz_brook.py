"""Input: seeds. Output: whether random Brook+ kernels give what AMD's compiler and CPU run-time of 1.4.1 give.

``python -m verification.fuzz_brook --checkout DIR [--count N] [--seed S] [--device cpu] [--work DIR]``

DIR is a checkout of hibengler/BrookPlus (see ``brook_oracle/README.md``). A seed makes a file of kernels; each runs on
random data. Products and sums are rounded one by one, as in AMD's C++, and every bit must agree. On simulated chips,
kernels have no quotients and roots. The exit status is 0 if kernels agree and none differs, 1 if not, 2 if AMD's tools
do not run.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import headwater as hw
from verification.brook_oracle.amd import Sample, Toolchain, ToolError
from verification.brook_oracle.cases import Case
from verification.brook_oracle.compare import difference
from verification.brook_oracle.ours import call, rounded_one_by_one, signature_fault
from verification.random_brook import Maker, arguments

KERNELS = 24
"""Of a file: AMD's compiler and C++ take seconds for one, whatever is in it."""
CALLS = 3


def faults(tools: Toolchain, sample: Sample, program: Any, seed: int, device: str) -> Iterator[tuple[str, str]]:
    """Each kernel's name, and what is wrong with it: nothing if it agrees."""
    for kernel in sample.kernels:
        if not kernel.name.startswith("k"):
            continue
        signature = program.kernels[kernel.name].signature
        found = signature_fault(sample, kernel, signature)
        for number in range(CALLS):
            if found:
                break
            arrays, shapes = arguments(kernel, sample, seed + number)
            if kernel.is_reduction:
                shapes["r"] = (1,) * len(shapes["s"])
            expected = tools.run(sample, kernel, arrays, shapes)
            try:
                got = call(program, sample, kernel, Case(f"call {number}", arrays, shapes), device)
            except hw.HeadwaterError as error:
                found = f"call {number}: {error}"
                break
            for name, wanted in expected.items():
                worst = difference(wanted, np.asarray(got[name]))
                if worst.ulps:
                    found = f"call {number}: {name} {worst.where}"
        yield kernel.name, found


def accepts(tools: Toolchain, text: str, options: str) -> bool:
    """Whether AMD's compiler takes a file: some expressions end it by a segmentation fault."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "one.br").write_text(text)
        command = [tools.brcc, "-p", "cpu", *options.split(), "one.br"]
        subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
        return Path(folder, "one.cpp").exists()


def examine(tools: Toolchain, seed: int, device: str, count: int, *, weak: bool) -> Iterator[tuple[str, str, str]]:
    """Of a file: "agrees", "differs", "refused" (by AMD) or "fails", with a kernel's name and what is wrong."""
    made = Maker(seed, count, weak=weak, divides=device == "cpu")
    options = "-a" if weak else ""
    accepted = [kernel for kernel in made.kernels if accepts(tools, f"{made.helpers_text}\n{kernel}", options)]
    path = tools.work / f"random-{seed}.br"
    sample = None
    while sample is None:
        text = "\n".join([made.helpers_text, *accepted])
        path.write_text(text)
        try:
            sample = tools.compile(path, options)
        except ToolError as error:  # C++ that does not compile: the compiler's, or its headers'
            wrong = set(re.findall(r"__(k\d+)_cpu_inner", str(error)))
            left = [kernel for kernel in accepted if not any(f" {name}(" in kernel for name in wrong)]
            if len(left) == len(accepted):
                yield "refused", "the file", str(error)
                return
            accepted = left
    yield from [("refused", "", "")] * (count - len(accepted))
    try:
        program = rounded_one_by_one(hw.compile(text, language="brook", options=f"{options} -w 0"))
        for name, fault in faults(tools, sample, program, seed, device):
            yield ("differs" if fault else "agrees"), name, fault
    except hw.HeadwaterError as error:
        yield "fails", "", str(error)


def main() -> int:
    """Run; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m verification.fuzz_brook", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--checkout", type=Path, required=True, help="a checkout of hibengler/BrookPlus")
    add("--count", type=int, default=40, help=f"files of {KERNELS} kernels (default 40)")
    add("--kernels", type=int, default=KERNELS, help=f"kernels of a file (default {KERNELS})")
    add("--weak", action="store_true", help="with weak typing (-a)")
    add("--seed", type=int, default=0, help="the first file's seed; the next ones count on (default 0)")
    add("--device", default="cpu", help="the device that runs Headwater's side (default cpu)")
    add("--work", type=Path, default=Path(tempfile.gettempdir()) / "headwater-fuzz-brook", help="for AMD's programs")
    chosen = parser.parse_args()
    counts: Counter[str] = Counter()
    try:
        chosen.work.mkdir(parents=True, exist_ok=True)
        tools = Toolchain(chosen.checkout.resolve(), chosen.work.resolve())
        for seed in range(chosen.seed, chosen.seed + chosen.count):
            for status, name, fault in examine(tools, seed, chosen.device, chosen.kernels, weak=chosen.weak):
                counts[status] += 1
                if fault:
                    print(f"seed {seed} {name} {status}: {fault}", flush=True)
    except ToolError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(", ".join(f"{count} {status}" for status, count in counts.items()))
    return 1 if counts["differs"] or counts["fails"] or not counts["agrees"] else 0


if __name__ == "__main__":
    sys.exit(main())
