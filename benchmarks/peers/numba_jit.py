"""Numba's side: each case's loops as its users write them, `@njit(parallel=True)` with exact floating point."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from suite.case import Case, Data

from .peer import Missing, Run


class Numba:
    name = "Numba"

    def describe(self) -> str:
        try:
            import numba
            from numba.core.config import USING_SVML
        except ImportError as error:
            raise Missing(f"Numba is not installed: {error}") from error

        @numba.njit(parallel=True)
        def start_threads(n):
            total = 0
            for i in numba.prange(n):
                total += i
            return total

        start_threads(100)
        svml = "with SVML" if USING_SVML else "without SVML"
        return (
            f"Numba {numba.__version__}, llvmlite {version('llvmlite')}, {numba.get_num_threads()} threads "
            f"({numba.threading_layer()}), {svml}"
        )

    def versions(self, case: Case, data: Data) -> Mapping[str, Run]:
        return {name: (lambda function=function: function(data)) for name, function in case.numba().items()}


PEER = Numba
