"""Input: a kernel's function. Output: through which of its pointer arguments it may write.

Each pointer is followed from what it is made of. What was loaded or is made of a number may point anywhere.
"""

from __future__ import annotations

from headwater.il.from_llvm.constants import LOCAL, PRIVATE
from headwater.llvm.ir import Function, Value

_ANYWHERE = 1
_FIRST = 1
"""The bit of the first argument."""
_SAME = frozenset(("getelementptr", "freeze", "bitcast", "addrspacecast", "phi", "select"))
_OWN = frozenset((LOCAL, PRIVATE))


def written(function: Function) -> tuple[int, ...] | None:
    """The numbers of the arguments, sorted; None if it cannot be determined."""
    made: dict[str, int] = {}
    for number, param in enumerate(function.params):
        if param.ty.kind == "ptr" and param.ty.space not in _OWN and "byref" not in param.attributes:
            made[param.name] = 1 << _FIRST + number
        elif param.ty.kind == "ptr":
            made[param.name] = 0

    def of(value: Value) -> int:
        if value.ty.kind == "vec" and value.ty.scalar.kind == "ptr":
            return _ANYWHERE
        if value.ty.kind != "ptr" or value.ty.space in _OWN:
            return 0
        if value.is_local:
            return made.get(value.text, 0)
        named = "@" in value.text or value.text == "null" or value.is_undefined
        return 0 if named else _ANYWHERE  # a variable of the program or no pointer at all; else a number

    instructions = [inst for block in function.blocks.values() for inst in block.insts]
    for inst in instructions:
        if inst.ty.kind == "ptr" and inst.op not in _SAME and inst.op not in ("alloca", "call"):
            made[inst.name] = _ANYWHERE
    before = None
    while before != made:
        before = dict(made)
        for inst in instructions:
            if inst.op in _SAME and inst.ty.kind == "ptr":
                for value in inst.args:
                    made[inst.name] = made.get(inst.name, 0) | of(value)
    found = 0
    for inst in instructions:
        if inst.op == "store":
            found |= of(inst.args[-1])
        elif inst.op in ("atomicrmw", "cmpxchg"):
            found |= of(inst.args[0])
        elif inst.op == "call":
            for value in inst.args:
                found |= of(value)
    if found & _ANYWHERE:
        return None
    return tuple(number for number in range(len(function.params)) if found >> _FIRST + number & 1)
