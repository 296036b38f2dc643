"""The Brook+ 1.4 kernel language: the text of a ``.br`` file passes in, OpenCL C with the description of its kernels passes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.brook.model import BrookModule as BrookModule
    from headwater.brook.translate import translate as translate

__all__ = ["BrookModule", "translate"]


def __getattr__(name: str) -> Any:
    if name == "translate":
        import headwater.brook.translate as module

        # The package's attribute is the function; the submodule of that name stays reachable through sys.modules.
        globals()["translate"] = module.translate
        return module.translate
    if name == "BrookModule":
        from headwater.brook.model import BrookModule

        return BrookModule
    raise AttributeError(f"module 'headwater.brook' has no attribute {name!r}")
