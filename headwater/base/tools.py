"""Input: a tool's name. Output: the function of a higher package that does the work, imported when first asked for.

Kernels of `headwater.runtime` have methods (``report``, ``simulate``) that the analyzer and the cycle model implement,
which are above it. Whoever assembles the packages says which function a tool is (``headwater/__init__.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_PLACES: dict[str, str] = {}


def provide(tool: str, place: str) -> None:
    """Say that ``tool`` is the function at ``place``, "package.module:function"."""
    _PLACES[tool] = place


def tool(name: str) -> Callable[..., Any]:
    """The function of a tool. InternalError if nobody provides it."""
    if name not in _PLACES:
        from headwater.errors import InternalError  # imports more than ``import headwater`` may take

        raise InternalError(f"nothing provides {name!r}")
    module, _, function = _PLACES[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
