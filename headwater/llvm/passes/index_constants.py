"""Input: clang's IR. Output: the same, with constants in indices of 32 bits added after these are extended.

``image[i - 1]`` extends ``i - 1``, which OpenCL C's ``int`` says does not wrap around. Where ``i`` is ``x + 1``, LLVM
makes ``x`` of the difference and forgets that: nothing shows then that the address is the one before ``image[i]``, and
rows of a chunk that share what a stencil loads (`headwater.vectorise.analysis.row_value_numbering`) do not share these.
"""

from __future__ import annotations

from collections import Counter

from headwater.llvm.ir import Body, Inst, Module
from headwater.llvm.text import names_in


def constants_outside(module: Module) -> None:
    """Add them after the extension, where nothing else wants the sum of 32 bits."""
    for body in module.bodies.values():
        _function(body)


def _function(body: Body) -> None:
    operations = body.operations
    found: list[tuple[int, Inst, Inst]] = []  # clang writes a sum and its extension one after the other
    for number, wide in body.having("sext", within=" to i64"):
        if number and operations[number - 1] in ("add", "sub") and " nsw i32 " in body.lines[number - 1]:
            total = body.inst(number - 1)
            if total is not None and wide.args[0].text == total.name and _adds_constant(total):
                found.append((number, total, wide))
    if not found:
        return
    used = Counter(name for line in body.lines for name in names_in(line))
    changes: dict[int, list[str]] = {}
    for number, total, wide in found:
        if used[total.name] == 2:  # made, extended, and nothing else
            value, constant = total.args
            # Names are numbers in order: each line keeps its own.
            changes[number - 1] = [f"  {total.name} = sext i32 {value.text} to i64{total.attached}"]
            changes[number] = [f"  {wide.name} = {total.op} nsw i64 {total.name}, {constant.text}{wide.attached}"]
    body.replace(changes)


def _adds_constant(inst: Inst) -> bool:
    value, constant = inst.args
    return value.is_local and constant.text.isdigit() and inst.flags == ("nsw",)
