"""Input: a plan of kernels, chips and figures. Output: a table with a row for each point.

The package is called as a function: ``headwater.sweep("plan.toml", "results")``. docs/sweep.md describes plans, stores
and tables.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.sweep.table import Table


class _Callable(ModuleType):
    """This module, which is called as ``headwater.sweep(…)``: importing a part of it must not hide the function."""

    def __call__(self, plan: Any, results: Any, **options: Any) -> Table:
        """See `headwater.sweep.entry.sweep`."""
        from headwater.sweep.entry import sweep

        return sweep(plan, results, **options)


sys.modules[__name__].__class__ = _Callable
