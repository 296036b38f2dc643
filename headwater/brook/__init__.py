"""The Brook+ 1.4 kernel language. Input: the text of a ``.br`` file. Output: OpenCL C with the description of its
kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.brook.model import BrookModule as BrookModule
    from headwater.brook.translator import translate as translate

__all__ = ["BrookModule", "translate"]


def __getattr__(name: str) -> Any:
    if name == "translate":
        from headwater.brook.translator import translate

        return translate
    if name == "BrookModule":
        from headwater.brook.model import BrookModule

        return BrookModule
    raise AttributeError(f"module 'headwater.brook' has no attribute {name!r}")
