"""Input: a module. Output: the same with a kernel's reqd_work_group_size in place of the size of a group.

LLVM sees by itself to what get_global_id needs of it for GCN, but only where that is loaded in one place.
"""

from __future__ import annotations

from headwater.llvm.ir import Module
from headwater.llvm.metadata import numbers

_LOCAL_SIZE = "_Z14get_local_sizej"


def with_required_sizes(module: Module) -> None:
    """Say what get_local_size gives in kernels that require it."""
    for body in module.bodies.values():
        node = body.attached.get("reqd_work_group_size")
        sizes = numbers(module.metadata[node]) if node else []
        if sizes:
            body.replace(
                {
                    number: [f"  {inst.name} = add {inst.ty} 0, {sizes[int(inst.args[0].text)]}{inst.attached}"]
                    for number, inst in body.calls(f"{_LOCAL_SIZE}(")
                    if inst.args[0].text.isdigit() and int(inst.args[0].text) < len(sizes)
                }
            )
