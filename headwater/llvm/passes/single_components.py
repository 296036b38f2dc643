"""Input: a module whose variables are values. Output: the same, with operations on vectors of which one component is
used computed of that component alone.

LLVM's instruction combiner finds that, too, but goes one operation back at a time, and looks at all that are before it
each time: 11 s for a chain of 10,000 (LLVM 22, InstCombineVectorOps.cpp, cheapToScalarize).
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.llvm.ir import BINARY, Body, Inst, Module, result_of
from headwater.llvm.text import names_in

_ALL = -1


def with_single_components(module: Module) -> bool:
    """Take such operations apart; whether there were any."""
    return module.each(_function)


def _function(body: Body) -> bool:
    vectors = {inst.name: inst for _, inst in body.having(*BINARY, "bitcast", within=" <") if by_component(inst)}
    if not vectors:
        return False
    places: dict[str, int] = {}
    used: dict[str, int] = dict.fromkeys(vectors, 0)  # a bit for each component
    for number, operation in enumerate(body.operations):
        line = body.lines[number]
        result = result_of(line)
        if result in vectors:
            places[result] = number
            continue
        taken = taken_components(body, number) if operation in ("extractelement", "shufflevector") else None
        if taken is None:
            taken = dict.fromkeys(names_in(line), _ALL)
        for name, components in taken.items():
            if name in used:
                used[name] |= components
    pending = [name for name, components in used.items() if components]
    while pending:
        inst = vectors[pending.pop()]
        for value in inst.args:
            known = used.get(value.text)
            if known is not None and known | used[inst.name] != known:
                used[value.text] |= used[inst.name]
                pending.append(value.text)
    single = {name: bits.bit_length() - 1 for name, bits in used.items() if bits > 0 and not bits & (bits - 1)}
    return body.replace({places[name]: _scalar(vectors[name], component, single) for name, component in single.items()})


def by_component(inst: Inst) -> bool:
    """Whether a component of the result depends on those of the operands with the same number."""
    return inst.ty.kind == "vec" and all(
        value.ty.kind == "vec" and value.ty.count == inst.ty.count for value in inst.args
    )


def taken_components(body: Body, number: int) -> dict[str, int] | None:
    """The components that an instruction takes of each of its operands, where they are known."""
    inst = body.inst(number)
    assert inst is not None
    if inst.op == "extractelement":
        vector, index = inst.args
        return {vector.text: 1 << int(index.text)} if index.text.isdecimal() else None
    taken: dict[str, int] = {}
    for number, value in enumerate(inst.args[:2]):
        first, count = number * value.ty.count, value.ty.count
        wanted = sum(1 << one - first for one in {*inst.indices} if first <= one < first + count)
        taken[value.text] = taken.get(value.text, 0) | wanted
    return taken


def _name(vector: str, hint: str = "one") -> str:
    """The name of a vector's only component."""
    return f'%"{hint}.{vector[2:]}' if vector[1] == '"' else f"%{hint}.{vector[1:]}"


def _scalar(inst: Inst, component: int, single: dict[str, int]) -> Iterator[str]:
    """An operation on one component."""
    texts = []
    for number, value in enumerate(inst.args):
        if value.text in single:
            texts.append(_name(value.text))
        elif value.is_local:
            texts.append(_name(inst.name, f"operand.{number}"))
            yield f"  {texts[-1]} = extractelement {value.ty} {value.text}, i64 {component}"
        else:
            texts.append(value.component(component).text)
    flags = "".join(f"{flag} " for flag in inst.flags)
    target = f" to {inst.ty.scalar}" if inst.op == "bitcast" else ""
    kind, one = inst.args[0].ty.scalar, _name(inst.name)
    yield f"  {one} = {inst.op} {flags}{kind} {', '.join(texts)}{target}{inst.attached}"
    yield f"  {inst.name} = insertelement {inst.ty} poison, {inst.ty.scalar} {one}, i64 {component}"
