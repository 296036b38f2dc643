"""Input: a kernel and chips. Output: a report of its machine code, its limits and its estimated time on each chip.
Nothing is run.

The package is called as a function: ``headwater.analyze("median.cl", device=["hd4870", "vega64"])``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.analyze.report import Report


class _Callable(ModuleType):
    """This module, which is called as ``headwater.analyze(…)``: importing a part of it must not hide the function."""

    def __call__(self, source: Any, **options: Any) -> Report:
        """See `headwater.analyze.entry.analyze`."""
        from headwater.analyze.entry import analyze

        return analyze(source, **options)


sys.modules[__name__].__class__ = _Callable
