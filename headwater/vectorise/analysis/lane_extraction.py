"""Input: a kernel. Output: what the operands of its atomics are made of, so that lanes can be taken as scalars one by
one."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.llvm.cfg import Cfg
from headwater.llvm.ir import Function, Inst
from headwater.llvm.types import GENERIC_SPACE
from headwater.vectorise.analysis.shapes import Shapes

_STEPS = frozenset(("getelementptr", "zext", "sext"))
"""What is as cheap once a lane on scalars, where x86 has it for nothing in addresses, as on vectors."""


@dataclass(frozen=True, slots=True, eq=False)
class LaneExtraction:
    """``steps``: operations that are computed for each lane as a scalar, by block and name: what they are computed from
    need not be known outside of their own block. ``loads``: loads of small elements that can wait for the atomics."""

    steps: dict[tuple[str, str], Inst]
    loads: dict[str, Inst]


def plan_lane_extraction(function: Function, cfg: Cfg, shapes: Shapes) -> LaneExtraction:
    """Find what atomics' operands are made of, and which loads of small elements can wait for them."""
    found = LaneExtraction({}, {})
    for name in cfg.order:
        insts = function.blocks[name].insts
        defined: dict[str, tuple[int, Inst]] = {}
        for place, atomic in enumerate(insts):
            if atomic.op not in ("atomicrmw", "cmpxchg"):
                continue
            defined = defined or {i.name: (at, i) for at, i in enumerate(insts) if i.name}
            work = list(atomic.args)
            while work:
                at, inst = defined.get(work.pop().text, (0, None))
                if inst is None or inst.ty.kind == "vec":
                    continue
                if inst.op in _STEPS and shapes.interleave_factor(inst.args[0].text) == 1:
                    found.steps[name, inst.name] = inst
                    work += inst.args
                elif _is_small_load(inst) and not any(_may_write(i, inst) for i in insts[at : place + 1]):
                    found.loads[inst.name] = inst
    return found


def _is_small_load(inst: Inst) -> bool:
    return inst.op == "load" and inst.ty.text in ("i8", "i16") and not {"volatile", "atomic"} & set(inst.flags)


def _may_write(inst: Inst, load: Inst) -> bool:
    """Whether ``inst`` may change what ``load`` reads: memory of another address space it cannot."""
    if inst.op == "call":
        return not inst.detail.startswith(("__hw_", "llvm.")) or inst.detail.startswith("llvm.mem")
    if inst.op in ("store", "atomicrmw", "cmpxchg"):
        spaces = {inst.args[1 if inst.op == "store" else 0].ty.space, load.args[0].ty.space}
        return len(spaces) == 1 or GENERIC_SPACE in spaces
    return inst.op == "fence"
