"""Input: values. Output: the instructions that compute them from a kernel's parameters and a launch's sizes alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headwater.llvm.ir import BINARY, CASTS, Inst, Value

MAX_INSTRUCTIONS = 64
"""What takes more is not worth it: it is computed once for every line of a work-group, or at each launch."""

_PURE = (BINARY - {"fdiv", "frem"}) | CASTS | {"getelementptr", "select", "icmp", "freeze"}
"""Integer divisions among them, which the vectoriser writes so that they never trap."""


def pure_slice(
    values: Iterable[Value], defined: Mapping[str, Inst], primitives: Callable[[Inst], bool]
) -> tuple[Inst, ...] | None:
    """What computes the values, operands first; None if that is too much, or not pure.

    ``primitives``: the calls that may be among them.
    """
    found: dict[str, Inst] = {}
    work = [(value, False) for value in values]
    while work:
        value, ready = work.pop()
        inst = defined.get(value.text)
        if inst is None or value.text in found:
            continue
        if ready:
            found[value.text] = inst
            continue
        pure = primitives(inst) if inst.op == "call" else inst.op in _PURE
        if not pure or inst.ty.kind == "vec" or len(found) > MAX_INSTRUCTIONS:
            return None
        work.append((value, True))
        work.extend((a, False) for a in inst.args)
    return tuple(found.values())
