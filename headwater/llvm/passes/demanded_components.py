"""Input: a module whose variables are values. Output: the same, with no component of a vector kept for phis alone.

A vector that is set one component at a time, each from the vector before, keeps the others' values, round every loop
that it is set in: with n loops inside each other there are about n² phis. LLVM's instruction combiner leaves out
components that nobody uses, but does not look through phis for that.
"""

from __future__ import annotations

from headwater.llvm.ir import BINARY, Body, Inst, Module, result_of
from headwater.llvm.passes.single_components import by_component, taken_components
from headwater.llvm.text import names_in

_ALL = -1
_DIVISIONS = ("udiv", "sdiv", "urem", "srem")
"""A divisor may have no component without a value, used or not."""


def with_demanded_components(module: Module) -> bool:
    """Insert into nothing where no other component is used; whether there was such a place."""
    return module.each(_function)


def _function(body: Body) -> bool:
    insertions = {i.name: (n, i) for n, i in body.having("insertelement", within=" <") if i.args[2].text.isdecimal()}
    if not insertions:
        return False
    vectors = {inst.name: inst for _, inst in insertions.values()}
    vectors |= {inst.name: inst for _, inst in body.having("phi", within=" <") if inst.ty.kind == "vec"}
    operations = set(BINARY).difference(_DIVISIONS)
    vectors |= {inst.name: inst for _, inst in body.having(*operations, within=" <") if by_component(inst)}
    used = dict.fromkeys(vectors, 0)  # a bit for each component
    for number, operation in enumerate(body.operations):
        line = body.lines[number]
        if result_of(line) in vectors:
            continue
        taken = taken_components(body, number) if operation in ("extractelement", "shufflevector") else None
        for name, components in (taken or dict.fromkeys(names_in(line), _ALL)).items():
            if name in used:
                used[name] |= components
    pending = [name for name, components in used.items() if components]
    while pending:
        inst = vectors[pending.pop()]
        for name, components in _passed_on(inst, used[inst.name]).items():
            known = used.get(name)
            if known is not None and known | components != known:
                used[name] = known | components
                pending.append(name)
    changes = {}
    for number, inst in insertions.values():
        base = inst.args[0]
        if base.is_local and not _passed_on(inst, used[inst.name])[base.text]:
            changes[number] = [body.lines[number].replace(f" {base.text},", " poison,", 1)]
    return body.replace(changes)


def _passed_on(inst: Inst, components: int) -> dict[str, int]:
    """The components of an instruction's operands that these of its result depend on."""
    if inst.op == "insertelement":
        return {inst.args[0].text: components & ~(1 << int(inst.args[2].text))}
    return {value.text: components for value in inst.args}


__all__ = ["with_demanded_components"]
