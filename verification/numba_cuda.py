"""Whether numba-cuda's own examples run on `headwater.cuda`, unchanged: the tests of its documentation's examples.

    pip download --no-deps numba-cuda
    python -m verification.numba_cuda numba_cuda-….whl [--device vega64] [--only test_matmul.py]

A file passes if it has tests and all of them do. What they import of ``numba`` is `headwater.cuda`, what is needed of
numba's test support, and for ``numba.jit``, which compiles for the processor, Python itself. ``test_ffi`` (C++ code)
and ``test_cg`` (cooperative groups) are not expected to pass.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import sys
import tempfile
import types
import unittest
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import headwater as hw

FOLDER = "numba_cuda/numba/cuda/tests/doc_examples"
NOT_EXPECTED = ("test_ffi.py", "test_cg.py")


def _kept(what: Any = None, *_: Any, **__: Any) -> Any:
    """A decorator that skips nothing, with or without a reason."""
    return what if callable(what) else lambda function: function


@contextlib.contextmanager
def _captured() -> Iterator[io.StringIO]:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        yield text


class _Any(types.ModuleType):
    """A module in which every name that is asked for, and not there, skips nothing."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return _kept


def stand_in() -> None:
    """Have ``numba`` mean `headwater.cuda` to what is imported from here on."""
    cuda = importlib.import_module("headwater.cuda")
    numba = types.ModuleType("numba")
    numba.cuda, numba.jit, numba.njit = cuda, _kept, _kept  # type: ignore[attr-defined]
    testing, tests, support = _Any("numba.cuda.testing"), _Any("numba.cuda.tests"), _Any("numba.cuda.tests.support")
    testing.CUDATestCase = unittest.TestCase  # type: ignore[attr-defined]
    support.captured_stdout = _captured  # type: ignore[attr-defined]
    names = {"numba": numba, "numba.cuda": cuda, "numba.cuda.testing": testing, "numba.cuda.tests": tests}
    sys.modules.update({**names, "numba.cuda.tests.support": support})
    for name in ("random", "types"):
        sys.modules[f"numba.cuda.{name}"] = importlib.import_module(f"headwater.cuda.{name}")


def run(path: Path) -> tuple[unittest.TestResult, str]:
    """The tests of a file, and what they said."""
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    said = io.StringIO()
    result = unittest.TestResult()
    with contextlib.redirect_stdout(said):
        try:
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
            suite = unittest.defaultTestLoader.loadTestsFromModule(module)
            functions = [value for name, value in vars(module).items() if name.startswith("test_") and callable(value)]
            suite.addTests(map(unittest.FunctionTestCase, functions))
            suite.run(result)
        except Exception as error:
            result.errors.append((unittest.TestCase(), f"{type(error).__name__}: {error}"))
    return result, said.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="of numba-cuda")
    parser.add_argument("--device", default="cpu", help="a device's name (default: cpu)")
    parser.add_argument("--only", default="", help="one file's name")
    options = parser.parse_args()
    stand_in()
    good = wrong = 0
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(options.wheel) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if name.startswith(FOLDER)])
        files = [path for path in sorted(Path(folder, FOLDER).glob("test_*.py")) if options.only in ("", path.name)]
        for path in files:
            with hw.device(options.device):
                result, _ = run(path)
            faults = [*result.errors, *result.failures]
            passes = not faults and result.testsRun > len(result.skipped)
            good += passes
            wrong += not passes and path.name not in NOT_EXPECTED
            expected = " (not expected to pass)" if path.name in NOT_EXPECTED else ""
            print(f"{path.name:26} {'passes' if passes else 'wrong'}: {result.testsRun} tests{expected}")
            for _, text in faults:
                print("    " + text.strip().splitlines()[-1][:160])
    print(f"{good} of {len(files)} files pass on {options.device}")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
