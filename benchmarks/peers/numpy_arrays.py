"""NumPy's and SciPy's side: each case in whole-array operations."""

from __future__ import annotations

from collections.abc import Mapping

from suite.case import Case, Data

from .peer import Missing, Run


class Numpy:
    name = "NumPy"

    def describe(self) -> str:
        try:
            import numpy as np
        except ImportError as error:
            raise Missing(f"NumPy is not installed: {error}") from error
        try:
            import scipy

            scipy_version = f"SciPy {scipy.__version__}"
        except ImportError:
            scipy_version = "SciPy missing"
        return f"NumPy {np.__version__}, {scipy_version}"

    def versions(self, case: Case, data: Data) -> Mapping[str, Run]:
        return {name: (lambda function=function: function(data)) for name, function in case.numpy().items()}


PEER = Numpy
