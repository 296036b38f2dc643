"""Input: a module. Output: the same with all functions but kernels to be inlined wherever they are called.

Work-items have no stack for calls: neither a chunk of them on the cpu device nor what VLIW chips and our GCN code run.
"""

from __future__ import annotations

from headwater.llvm.ir import Module
from headwater.llvm.text import without_flags

_REFUSED = ("noinline", "optnone", "alwaysinline")


def inlined(module: Module) -> None:
    """Say of every function that LLVM is to inline it, whatever the program says."""
    for name, group in module.attribute_groups.items():
        module.attribute_groups[name] = without_flags(group, _REFUSED)
    for body in module.bodies.values():
        if not body.is_kernel:
            body.add_attribute("alwaysinline")
