"""Input: a module. Output: the same with all functions but kernels to be inlined wherever they are called.

LLVM takes functions in a module's order. Callers stand first, so that what is inlined has nothing inlined in it yet;
otherwise the last of a chain of calls is copied once for each of the others.

Work-items have no stack for calls: neither a chunk of them on the cpu device nor what VLIW chips and our GCN code run.
"""

from __future__ import annotations

from headwater.llvm.ir import Module
from headwater.llvm.text import symbols_in, without_flags

_REFUSED = ("noinline", "optnone", "alwaysinline")


def inlined(module: Module) -> None:
    """Say of every function that LLVM is to inline it, whatever the program says."""
    for name, group in module.attribute_groups.items():
        module.attribute_groups[name] = without_flags(group, _REFUSED)
    for body in module.bodies.values():
        if not body.is_kernel:
            body.add_attribute("alwaysinline")
    module.order(callers_first(module))


def calls_of(module: Module) -> dict[str, list[str]]:
    """The functions of a module, with those of them that each mentions."""
    bodies = module.bodies
    return {
        name: [called for called in dict.fromkeys(symbols_in("\n".join(body.lines))) if called in bodies]
        for name, body in bodies.items()
    }


def callers_first(module: Module) -> list[str]:
    """The functions of a module, each before those that it calls, but for recursion; else in their order."""
    calls = calls_of(module)
    seen: set[str] = set()
    callees_first: list[str] = []
    for root in reversed(list(calls)):
        path = [] if root in seen else [(root, reversed(calls[root]))]
        seen.add(root)
        while path:
            name, left = path[-1]
            called = next((one for one in left if one not in seen), None)
            if called is None:
                callees_first.append(name)
                path.pop()
            else:
                seen.add(called)
                path.append((called, reversed(calls[called])))
    return callees_first[::-1]
