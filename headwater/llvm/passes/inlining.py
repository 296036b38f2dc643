"""Input: a module. Output: the same with all functions but kernels to be inlined wherever they are called.

Work-items have no stack for calls: neither a chunk of them on the cpu device nor what VLIW chips and our GCN code run.
"""

from __future__ import annotations

from headwater.llvm.ir import Module

_REFUSED = ("noinline ", "optnone ", "alwaysinline ")


def inlined(module: Module) -> None:
    """Say of every function that LLVM is to inline it, whatever the program says."""
    for name, group in module.attribute_groups.items():
        if any(word in group for word in _REFUSED):
            words = [word for word in group.split(" ") if f"{word} " not in _REFUSED]
            module.attribute_groups[name] = " ".join(words)
    for body in module.bodies.values():
        if not body.is_kernel:
            body.add_attribute("alwaysinline")
