"""Input: a checkout of AMD's Brook+ (``--checkout DIR``). Output: a table of kernels that agree with Headwater or not.

``python -m verification.brook_oracle --checkout DIR [--device cpu] [--sample NAME] [--kernel NAME] [--work DIR] [--json
FILE] [--fused]``

The exit status is 0 if every kernel of every sample compiles and agrees, 1 if not, 2 if the oracle cannot run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

import headwater as hw
from verification.brook_oracle.amd import Kernel, Sample, Toolchain, ToolError, samples
from verification.brook_oracle.cases import cases
from verification.brook_oracle.compare import EXACT, TOLERANCES, difference
from verification.brook_oracle.ours import call, rounded_one_by_one, signature_fault

Status = Literal["agrees", "differs", "unsupported"]


@dataclass(frozen=True)
class Outcome:
    """One kernel: how many calls were compared, the worst differences in ULPs, and what went wrong first.

    ``strict``: with products and sums rounded each for itself; ``fused``: as kernels run by default.
    """

    sample: str
    kernel: str
    status: Status
    calls: int = 0
    strict: float = 0.0
    fused: float = 0.0
    note: str = ""


def examine(tools: Toolchain, sample: Sample, kernel: Kernel, programs: Sequence[Any], device: str) -> Outcome:
    """Compare all calls of one kernel. ``programs``: the sample without fused products and sums, or None, and with."""
    name = sample_name(tools, sample.path)
    ours = programs[1].kernels.get(kernel.name)
    if ours is None or not ours.signature.launchable:
        return Outcome(name, kernel.name, "unsupported", note="the kernel cannot be called")
    fault = signature_fault(sample, kernel, ours.signature)
    if fault:
        return Outcome(name, kernel.name, "differs", note=fault)
    tolerance = TOLERANCES.get(kernel.name, EXACT)
    calls, worst, notes = 0, [0.0, 0.0], []
    for case in cases(sample, kernel):
        expected = tools.run(sample, kernel, case.arguments, case.shapes, domain=case.domain, full=case.full)
        for mode, allowed in enumerate((tolerance.strict, tolerance.fused)):
            if programs[mode] is None:
                continue
            try:
                got = call(programs[mode], sample, kernel, case, device)
            except hw.HeadwaterError as error:
                text = " ".join(str(error).split())
                return Outcome(name, kernel.name, "unsupported", calls, *worst, f"{case.label}: {text}")
            for out, wanted in expected.items():
                found = difference(wanted, np.asarray(got[out]), tolerance.of)
                if found.ulps > allowed:
                    notes.append(f"{case.label}, {('strict', 'fused')[mode]}: {out} {found.where}")
                worst[mode] = max(worst[mode], found.ulps)
        calls += 1
    return Outcome(name, kernel.name, "differs" if notes else "agrees", calls, *worst, notes[0] if notes else "")


def sample_name(tools: Toolchain, path: Path) -> str:
    """``CPP/apps/BlackScholes/black_scholes``."""
    return str(path.relative_to(tools.checkout / "samples").with_suffix(""))


def examine_sample(tools: Toolchain, path: Path, device: str, only: str | None, *, fused_only: bool) -> list[Outcome]:
    """Compare all kernels of one sample."""
    sample = tools.compile(path)
    wanted = [kernel for kernel in sample.kernels if only in (None, kernel.name)]
    try:
        fused = hw.compile(path, language="brook", options=sample.options)
        strict = rounded_one_by_one(fused)
    except hw.HeadwaterError as error:
        text = " ".join(str(error).split())
        return [Outcome(sample_name(tools, path), kernel.name, "unsupported", note=text) for kernel in wanted]
    programs = (None if fused_only else strict, fused)
    return [examine(tools, sample, kernel, programs, device) for kernel in wanted]


def line(outcome: Outcome) -> str:
    """One row of the table."""
    tolerance = TOLERANCES.get(outcome.kernel, EXACT)
    columns = ""
    for worst, allowed in ((outcome.strict, tolerance.strict), (outcome.fused, tolerance.fused)):
        columns += f"{worst:9.4g} of {allowed:<6g}"
    name = f"{outcome.sample} {outcome.kernel}"
    return f"{name:100} {outcome.calls:5} {columns} {outcome.status:11} {outcome.note}".rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the oracle; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m verification.brook_oracle", description=__doc__.splitlines()[0])
    parser.add_argument("--checkout", type=Path, required=True, help="a checkout of hibengler/BrookPlus")
    parser.add_argument("--device", default="cpu", help="the device that runs Headwater's side (default: cpu)")
    parser.add_argument("--sample", help="only samples whose path contains this")
    parser.add_argument("--kernel", help="only kernels of this name")
    parser.add_argument(
        "--work",
        type=Path,
        default=Path(tempfile.gettempdir()) / "headwater-brook-oracle",
        help="where AMD's programs and answers are kept (default: %(default)s)",
    )
    parser.add_argument(
        "--fused", action="store_true", help="only as kernels run by default, which takes half the time"
    )
    parser.add_argument("--json", type=Path, help="also write the outcomes to this file")
    chosen = parser.parse_args(arguments)
    began = time.perf_counter()
    outcomes: list[Outcome] = []
    count = 0
    try:
        tools = Toolchain(chosen.checkout.resolve(), chosen.work.resolve())
        paths = [path for path in samples(tools.checkout) if not chosen.sample or chosen.sample in str(path)]
        print(f"{'sample and kernel':100} calls {'strict, allowed':19}{'fused, allowed':19}")
        for path in paths:
            found = examine_sample(tools, path, chosen.device, chosen.kernel, fused_only=chosen.fused)
            count += bool(found)
            for outcome in found:
                print(line(outcome), flush=True)
            outcomes += found
    except (ToolError, hw.DeviceError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if not outcomes:
        print("error: no such sample or kernel", file=sys.stderr)
        return 2
    totals = Counter(outcome.status for outcome in outcomes)
    print(
        f"{count} samples, {len(outcomes)} kernels, {sum(outcome.calls for outcome in outcomes)} calls on "
        f"{chosen.device}: {totals['agrees']} agree, {totals['differs']} differ, {totals['unsupported']} unsupported "
        f"({time.perf_counter() - began:.0f} s)"
    )
    used = sorted({outcome.kernel for outcome in outcomes} & set(TOLERANCES))
    for kernel in used:
        tolerance = TOLERANCES[kernel]
        limits = f"{tolerance.strict:g}, fused {tolerance.fused:g} ULP of the {tolerance.of}"
        print(f"  {kernel}: {limits}: {tolerance.reason}")
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")
    return 0 if totals["agrees"] == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
