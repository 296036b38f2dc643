"""Whether Triton's tutorials 01 to 06 and 08 are right on simulated chips, unmodified but for two lines.

    python -m verification.triton_tutorials DIR [--chip mi100 mi250x mi300x] [--only 03 08] [--tests EXPRESSION]
                                            [--benchmarks]

DIR is python/tutorials of a checkout of triton-lang/triton. Each row is of a process of its own, which executes
``import headwater.triton`` and ``headwater.triton.activate(chip)`` and then the script. Some of the scripts print what
they computed and do not compare it; what they leave is compared here then. 06 is run by pytest, as its checks are
tests: those that ``--tests`` chooses. Benchmarks (``triton.testing.Mark.run``), whose sizes are for GPUs, are left out
without ``--benchmarks``. Exit status 1 if a script fails or is wrong.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
TESTS: Final = "test_op and triton-fp16-bwd and 64-128-2-1"
"""Of 06: heads of 64 numbers, 128 positions, two heads; causal and not. Forwards, and backwards."""

CHECKS: Final = {
    "01": "assert torch.equal(output_triton, output_torch)",
    "02": "",
    "03": "assert torch.allclose(triton_output, torch_output, atol=1e-2, rtol=0)",
    "04": """
assert torch.equal(output, output2) and not torch.equal(output, output3)
for one in (output, output3):
    kept = one != 0
    assert torch.allclose(one[kept], x[kept] / (1 - p))
one = dropout(x, x_keep, p)
assert torch.allclose(one, torch.where(x_keep != 0, x / (1 - p), torch.zeros_like(x)))
""",
    "05": "",
    "08": "",
}
"""What is executed when a script has ended; 02, 05 and 08 compare by themselves."""
BEFORE: Final = {
    "05": """
import torch
plain = torch.nn.functional.layer_norm
torch.nn.functional.layer_norm = lambda x, shape, w, b, eps: plain(x.double(), shape, w.double(), b.double(), eps)
"""
}
"""What is executed before a script. On a CPU PyTorch adds halves in half precision, so that 05's tolerance of 0.01 is
less than the error of the sums that it compares with; these are of double precision here."""

SCRIPT: Final = """
import os, sys
import headwater.triton
headwater.triton.activate({chip!r})
if not {benchmarks}:
    import triton.testing
    triton.testing.Mark.run = lambda *given, **named: None
exec({before!r})
source = open({file!r}, encoding="utf-8").read()
names = {{"__name__": "__main__", "__file__": {file!r}}}
exec(compile(source, {file!r}, "exec"), names)
exec({check!r}, names)
"""
CONFTEST: Final = """
import headwater.triton
headwater.triton.activate({chip!r})
def pytest_configure(config):
    config.addinivalue_line("markers", "enable_warmup: of Triton's own test suite")
"""


def command(file: Path, chip: str, tests: str, benchmarks: bool, folder: Path) -> list[str]:
    """The process that runs a tutorial."""
    number = file.name[:2]
    if number in CHECKS:
        script = SCRIPT.format(
            chip=chip, file=str(file), check=CHECKS[number], benchmarks=benchmarks, before=BEFORE.get(number, "")
        )
        return [sys.executable, "-c", script]
    (folder / "conftest.py").write_text(CONFTEST.format(chip=chip))
    copy = folder / file.name
    copy.write_bytes(file.read_bytes())
    return [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(copy), "-k", tests]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m verification.triton_tutorials", description=__doc__.splitlines()[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--chip", nargs="+", default=["mi100", "mi250x", "mi300x"])
    parser.add_argument("--only", nargs="+", default=sorted([*CHECKS, "06"]), metavar="NUMBER")
    parser.add_argument("--tests", default=TESTS, help=f"of 06, as pytest's -k has them (default: {TESTS})")
    parser.add_argument("--benchmarks", action="store_true", help="run them, too")
    options = parser.parse_args()
    files = [file for number in options.only for file in sorted(options.folder.glob(f"{number}-*.py"))]
    if not files:
        parser.error(f"{options.folder} has no tutorials {', '.join(options.only)}")
    wrong = 0
    for file in files:
        for chip in options.chip:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            with tempfile.TemporaryDirectory() as name:
                done = subprocess.run(
                    command(file.resolve(), chip, options.tests, options.benchmarks, Path(name)),
                    env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
                    capture_output=True, text=True, cwd=name,
                )  # fmt: skip
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = sum(after[:2]) - sum(before[:2])
            wrong += done.returncode != 0
            last = [*done.stdout.split("\n"), ""]
            said = next((line for line in reversed(last) if "passed" in line or "failed" in line), "")
            print(
                f"{file.stem:24} {chip:8} {'WRONG' if done.returncode else 'right'} {used:8.1f} s  {said}", flush=True
            )
            if done.returncode:
                print((done.stdout + done.stderr)[-3000:], flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
