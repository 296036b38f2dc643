"""Input: loops that count in 64 bits and use 32 of them. Output: the same loops with counters of 32 bits, which keep a
stride.

Of ``for (int i = get_global_id(0); i < n; i += get_global_size(0))`` LLVM makes a counter of 64 bits, as that is what
the sum has, of which each trip takes the lower half and extends it again.
"""

from __future__ import annotations

import re

from headwater.llvm.ir import Block, Function, Inst, Value
from headwater.llvm.types import I32, I64

_IDS = re.compile(r"__hw_(?:global|local)_id_[012]$")


def narrow_recurrences(function: Function) -> None:
    """Rewrite the function's blocks in place. Its extensions must be restored (`extensions.py`)."""
    defs = {i.name: i for block in function.blocks.values() for i in block.insts if i.name}
    renamed: dict[str, str] = {}
    for block in function.blocks.values():
        for phi in list(block.phis):
            if phi.ty == I64:
                _narrow(function, phi, defs, renamed)
    if renamed:
        for block in function.blocks.values():
            for inst in block.insts:
                inst.args = [Value(v.ty, _last(v.text, renamed)) if v.text in renamed else v for v in inst.args]


def _last(name: str, renamed: dict[str, str]) -> str:
    while name in renamed:
        name = renamed[name]
    return name


def _narrow(function: Function, phi: Inst, defs: dict[str, Inst], renamed: dict[str, str]) -> None:
    """Make one counter narrow if nothing uses its upper half."""
    lower = _lower_halves(function, phi.name)
    if not lower:
        return
    halves = {inst.name for inst in lower}
    steps = [defs[v.text] for v in phi.args if v.text in defs and _steps(defs[v.text], halves, defs)]
    if not steps:
        return
    made = {id(step): _narrow_step(function, step, halves, defs, renamed, number) for number, step in enumerate(steps)}
    narrow = Inst("phi", I32, f"{phi.name}.half", labels=phi.labels)
    for number, (value, label) in enumerate(zip(phi.args, phi.labels, strict=True)):
        step = defs.get(value.text)
        if step is not None and id(step) in made:
            narrow.args.append(made[id(step)])
        else:
            before = function.blocks[label].insts
            narrow.args.append(_half(before, len(before) - 1, value, f"{phi.name}.from.{number}", defs))
    for block in function.blocks.values():
        block.insts = [narrow if i is phi else i for i in block.insts if not any(i is one for one in lower)]
    renamed.update(dict.fromkeys(halves, narrow.name))


def _lower_halves(function: Function, name: str) -> list[Inst]:
    """The truncations to 32 bits that are all there is of a value's uses; empty if there are others."""
    uses = [i for b in function.blocks.values() for i in b.insts if any(v.text == name for v in i.args)]
    return uses if all(i.op == "trunc" and i.ty == I32 for i in uses) else []


def _steps(inst: Inst, halves: set[str], defs: dict[str, Inst]) -> bool:
    """Whether it adds something to the extended lower half."""
    return inst.op in ("add", "sub") and any(_extended(v, defs) in halves for v in inst.args)


def _extended(value: Value, defs: dict[str, Inst]) -> str:
    """The value of 32 bits that one is the extension of, or nothing."""
    inst = defs.get(value.text)
    extends = inst is not None and inst.op in ("sext", "zext") and inst.args[0].ty == I32
    return inst.args[0].text if inst is not None and extends else ""


def _narrow_step(
    function: Function, step: Inst, halves: set[str], defs: dict[str, Inst], renamed: dict[str, str], number: int
) -> Value:
    """The step in 32 bits, put beside the one in 64, which stays for whoever uses all of it."""
    block, at = _place(function, step)
    args = []
    for position, value in enumerate(step.args):
        source = _extended(value, defs)
        if source:
            args.append(Value(I32, source))
        else:
            count = len(block.insts)
            args.append(_half(block.insts, at, value, f"{step.name}.of.{number}.{position}", defs))
            at += len(block.insts) - count
    narrow = Inst(step.op, I32, f"{step.name}.half.{number}", args)
    block.insts.insert(at + 1, narrow)
    taken = _lower_halves_among(function, step.name)
    for one in function.blocks.values():
        one.insts = [i for i in one.insts if not any(i is half for half in taken)]
    renamed.update({half.name: narrow.name for half in taken if half.name not in halves})
    return Value(I32, narrow.name)


def _lower_halves_among(function: Function, name: str) -> list[Inst]:
    """The truncations of a value to 32 bits."""
    insts = [i for block in function.blocks.values() for i in block.insts]
    return [i for i in insts if i.op == "trunc" and i.ty == I32 and i.args[0].text == name]


def _place(function: Function, inst: Inst) -> tuple[Block, int]:
    for block in function.blocks.values():
        for at, one in enumerate(block.insts):
            if one is inst:
                return block, at
    raise AssertionError(f"{inst.name} is in no block")


def _half(insts: list[Inst], at: int, value: Value, name: str, defs: dict[str, Inst]) -> Value:
    """The lower half of a value, by an instruction at a place in a block."""
    if not value.is_local:
        number = int(value.text) if value.text.lstrip("-").isdigit() else None
        if number is None:
            return Value(I32, value.text)
        return Value(I32, str((number + (1 << 31)) % (1 << 32) - (1 << 31)))
    inst = defs.get(value.text)
    # Ids are below 2^31.
    exact = inst is not None and inst.op == "call" and _IDS.match(inst.detail)
    insts.insert(at, Inst("trunc", I32, name, [value], ("nuw", "nsw") if exact else ()))
    return Value(I32, name)
