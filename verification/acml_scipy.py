"""SciPy's own tests of `scipy.fft` and `scipy.linalg`, with the Core Math Library's functions in place of SciPy's.

    python -m verification.acml_scipy [fft] [linalg] [streams] [--device cpu] [-k EXPRESSION] [--file lapack]…

``fft``: transforms of arrays go through ``acml.backend(DEVICE)``, so our kernels make them. ``linalg``: each function
that `headwater.acml` has under SciPy's name stands in `scipy.linalg`. ``streams``: likewise, and ``solve``,
``lu_factor``, ``cholesky`` and ``qr`` get their matrix as a stream on the device and their results are read, so our
factorizations make them (the test files that are about these). ``--file``: only that test file of SciPy's. A test that
does not pass is named with its reason: ``refused`` (an error of ours names what is not supported), ``SciPy too`` (it
does not pass without us), ``known`` (`KNOWN` says why), or ``differs``. Only the last count as problems.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg

import headwater as hw
from headwater import acml
from headwater.acml.places import USUAL
from headwater.errors import HeadwaterError

_OF_FACTORIZATIONS = ("basic", "batch", "decomp", "decomp_lu", "decomp_cholesky")
PACKAGES = {
    "fft": ["scipy.fft"],
    "linalg": ["scipy.linalg"],
    "streams": [f"scipy.linalg.tests.test_{name}" for name in _OF_FACTORIZATIONS],
}
FACTORIZATIONS = ("solve", "lu_factor", "cholesky", "qr")
KNOWN = {
    "test_ill_condition_warning": "solve of streams gives no LinAlgWarning",
    "test_multiprocess": "0 is compared with 2e-15 of ours without an absolute error",
    "test_hrectangular": "an element is 0 here and 1e-15 in LAPACK, and the test allows no absolute error",
    "test_overwrite_args": "arrays whose overwriting is allowed are not overwritten by streams",
    "test_exactly_singular_gh22263": "the error is NumPy's, Singular matrix, with a capital letter",
}
"""Tests that differ, by what is written in docs/acml.md or by rounding."""


class Results:
    """A plugin of pytest: what became of each test, and with which error; ``backend`` is for `scipy.fft`."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.outcomes: Counter[str] = Counter()
        self.reasons: dict[str, tuple[bool, str]] = {}

    @pytest.fixture(autouse=True)
    def _with_backend(self) -> Iterator[None]:
        if self.backend is None:
            yield
            return
        scipy.fft.set_global_backend(self.backend)
        try:
            yield
        finally:
            scipy.fft.set_global_backend("scipy")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[None]:
        report: Any = yield
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.outcome] += 1
        if report.outcome == "failed":
            error = call.excinfo.value
            text = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")
            self.reasons[item.nodeid] = isinstance(error, HeadwaterError), text[:200]
        return report


def on_device(name: str, device: str) -> Callable[..., Any]:
    """The function of `scipy.linalg` of that name, made by our kernels: the matrix is a stream, results are read."""
    function = getattr(acml, name)

    def read(value: Any) -> Any:
        return value.read() if isinstance(value, hw.Stream) else value

    @wraps(getattr(scipy.linalg, name))
    def call(a: Any, *args: Any, **options: Any) -> Any:
        found = function(hw.stream(np.asarray(a), device=device), *args, **options)
        return tuple(map(read, found)) if isinstance(found, tuple) else read(found)

    return call


def substitute(kind: str, device: str) -> Any:
    """Put our functions in place of SciPy's, before the test files import them; the back end for `scipy.fft`."""
    if kind == "fft":
        return acml.backend(device)
    for name, module in USUAL.items():
        if module == "scipy.linalg":
            setattr(scipy.linalg, name, getattr(acml, name))
    for name in FACTORIZATIONS if kind == "streams" else ():
        setattr(scipy.linalg, name, on_device(name, device))
    return None


def run(kind: str, arguments: list[str], device: str | None, files: list[str]) -> Results:
    """The tests of a kind in this process, or those of some files only; ``device`` None: without us."""
    results = Results(substitute(kind, device) if device else None)
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--no-summary", "--tb=no", "-W", "ignore"]
    package = PACKAGES[kind][0].partition(".tests")[0]
    which = [f"{package}.tests.test_{name}" for name in files] or PACKAGES[kind]
    pytest.main([*quiet, "-c", os.devnull, "--pyargs", *which, *arguments], plugins=[results])
    return results


def alone(kind: str, names: list[str], files: list[str]) -> set[str]:
    """Those of some tests that do not pass without us either."""
    k = " or ".join(sorted({name.rpartition("::")[2].partition("[")[0] for name in names}))
    command = [sys.executable, "-m", "verification.acml_scipy", kind, "--alone", "-k", k]
    command += [part for name in files for part in ("--file", name)]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return {line.removeprefix("alone ") for line in lines if line.startswith("alone ")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="*", choices=[*PACKAGES, []], help="which tests; all by default")
    parser.add_argument("--device", default="cpu", help="where our kernels run")
    parser.add_argument("-k", default="", help="only tests that match, as pytest has it")
    parser.add_argument("--file", action="append", default=[], help="only this test file, such as lapack")
    parser.add_argument("--alone", action="store_true", help="without us: name the tests that do not pass")
    args = parser.parse_args()
    kinds = args.kind or list(PACKAGES)
    chosen = ["-k", args.k] if args.k else []
    if len(kinds) > 1:  # what one kind puts into SciPy is not taken out again
        options = ["--device", args.device, *chosen, *(f"--file={name}" for name in args.file)]
        return max(subprocess.call([sys.executable, "-m", "verification.acml_scipy", kind, *options]) for kind in kinds)
    (kind,) = kinds
    results = run(kind, chosen, None if args.alone else args.device, args.file)
    if args.alone:
        print("\n" + "\n".join(f"alone {name}" for name in results.reasons))
        return 0
    without = alone(kind, list(results.reasons), args.file) if results.reasons else set()
    counts: Counter[str] = Counter()
    print()
    for name, (ours, text) in results.reasons.items():
        known = next((KNOWN[test] for test in KNOWN if f"::{test}" in name), "")
        verdict = "SciPy too" if name in without else "refused" if ours else "known" if known else "differs"
        counts[verdict] += 1
        print(f"{verdict}: {name.rpartition('scipy/')[2]}: {known or text}")
    total = ", ".join(f"{count} {name}" for name, count in sorted(results.outcomes.items(), reverse=True))
    print(
        f"{kind} with SciPy {scipy.__version__}: {total}; {', '.join(f'{v} {k}' for k, v in counts.items()) or 'none'}"
    )
    return int(counts["differs"] > 0)


if __name__ == "__main__":
    sys.exit(main())
