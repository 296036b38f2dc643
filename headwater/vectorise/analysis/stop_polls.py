"""Input: a kernel's loops. Output: the blocks that test whether the launch is being stopped."""

from __future__ import annotations

from headwater.llvm.cfg import Cfg, Loop
from headwater.llvm.ir import Function, Inst


def polled_loops(function: Function, cfg: Cfg) -> set[str]:
    """Blocks that test for a stop: the headers of all loops but the innermost counted ones, which end soon."""
    if cfg.irreducible:
        return {t for b in cfg.order for t in cfg.succs[b] if cfg.index[t] <= cfg.index[b]}
    parents = {id(loop.parent) for loop in cfg.loops if loop.parent is not None}
    return {lp.header for lp in cfg.loops if id(lp) in parents or not _is_counted(function, lp)}


def _is_counted(function: Function, loop: Loop) -> bool:
    """Whether some exit compares a counter that moves by a constant with something that the loop does not change."""
    defs = {i.name: i for b in loop.blocks for i in function.blocks[b].insts if i.name}
    for source, _ in loop.exits:
        term = function.blocks[source].term
        test = defs.get(term.args[0].text) if term.args else None
        if test is None or test.op != "icmp":
            continue
        inside = [defs[v.text] for v in test.args if v.text in defs]
        if len(inside) == 1 and _is_counter(inside[0], defs, loop):
            return True
    return False


def _is_counter(inst: Inst, defs: dict[str, Inst], loop: Loop) -> bool:
    if inst.op in ("trunc", "sext", "zext") and inst.args[0].text in defs:
        return _is_counter(defs[inst.args[0].text], defs, loop)
    if inst.op in ("add", "sub") and inst.args[0].text in defs and not inst.args[1].is_local:
        inst = defs[inst.args[0].text]
    if inst.op != "phi":
        return False
    for value, source in zip(inst.args, inst.labels, strict=True):
        if source == loop.latch:
            step = defs.get(value.text)
            return (
                step is not None
                and step.op in ("add", "sub")
                and not step.args[1].is_local
                and (step.args[0].text == inst.name)
            )
    return False
