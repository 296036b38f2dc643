"""Input: divergent branches. Output: those that lanes leave in their order, so that scalar tests decide whether any
does.

The loop over a strided index, ``for (i = get_local_id(0); i < n; i += get_local_size(0))``, is divergent, but only its
last trip parts the lanes. Until then it can run without masks. So can a kernel behind ``if (get_global_id(0) >= n)
return;``, but for one chunk.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.llvm.cfg import Cfg
from headwater.llvm.ir import Function, Inst, Value
from headwater.llvm.types import PRIVATE_SPACE
from headwater.vectorise.analysis.shapes import LANE, ROW, Shapes
from headwater.vectorise.layout import Layout

_OPPOSITE = {
    "slt": "sge",
    "sge": "slt",
    "sgt": "sle",
    "sle": "sgt",
    "ult": "uge",
    "uge": "ult",
    "ugt": "ule",
    "ule": "ugt",
}


@dataclass(frozen=True, slots=True)
class OrderedTest:
    """``predicate(left, right)``, which holds for all lanes between two if it holds for both.

    ``strided`` is the operand that steps by ``stride`` from lane to lane; None if all lanes of a row have the same.
    """

    predicate: str
    left: Value
    right: Value
    strided: Value | None
    stride: int


def ordered_exits(function: Function, cfg: Cfg, shapes: Shapes) -> dict[str, OrderedTest]:
    """The tests to go on of the divergent one-block loops that are left in the order of the lanes, by header."""
    found = {}
    for loop in cfg.loops:
        if shapes.divergent_loop(loop) and loop.blocks == {loop.header}:
            tests = tests_towards(function, loop.header, loop.header, shapes)
            if tests is not None and len(tests) == 1 and tests[0].strided is not None:
                found[loop.header] = tests[0]
    return found


def entry_guard(function: Function, cfg: Cfg, shapes: Shapes) -> list[OrderedTest] | None:
    """The tests that a work-item must pass to do anything at all (``if (i >= n) return;``), if they are ordered."""
    block = function.blocks[cfg.entry]
    if len(cfg.succs[cfg.entry]) != 2 or not shapes.divergent(cfg.entry):
        return None
    if any(i.op in ("store", "atomicrmw", "cmpxchg") or _has_effects(i) for i in block.insts):
        return None
    idle = [t for t in block.term.labels if [i.op for i in function.blocks[t].insts] == ["ret"]]
    if len(idle) != 1:
        return None
    return tests_towards(function, cfg.entry, next(t for t in block.term.labels if t != idle[0]), shapes)


def _has_effects(inst: Inst) -> bool:
    return inst.op == "call" and not inst.detail.startswith(("llvm.", "__hw_"))


def uneven_loops(function: Function, cfg: Cfg) -> frozenset[str]:
    """Headers of the loops whose trips may differ between work-items that would be side by side."""
    if cfg.irreducible:
        return frozenset()
    shapes = Shapes(function, cfg, Layout(2), {})
    return frozenset(loop.header for loop in cfg.loops if shapes.divergent_loop(loop))


def restartable(function: Function, cfg: Cfg) -> frozenset[str]:
    """Extensions that run before any work-item of a chunk has changed anything that outlives it: giving up there costs
    no more than running it again. Blocks that some lanes pass by are run in ``cfg.order``, so that a block may have
    behind it what no way leads to it from."""
    changed = {name for name in cfg.order if any(_leaves_traces(i) for i in function.blocks[name].insts)}
    after: set[str] = set()
    work = [target for name in changed for target in cfg.succs[name]]
    while work:
        name = work.pop()
        if name not in after:
            after.add(name)
            work.extend(cfg.succs[name])
    names: set[str] = set()
    for name in cfg.order:
        if name in after:
            continue
        for inst in function.blocks[name].insts:
            if _leaves_traces(inst):
                return frozenset(names)
            if inst.op in ("sext", "zext"):
                names.add(inst.name)
    return frozenset(names)


def _leaves_traces(inst: Inst) -> bool:
    if inst.op == "store":
        return inst.args[1].ty.space != PRIVATE_SPACE
    if inst.op == "call" and inst.detail.startswith("llvm.mem"):
        return inst.args[0].ty.space != PRIVATE_SPACE
    return inst.op in ("atomicrmw", "cmpxchg", "barrier", "fence") or _has_effects(inst)


def tests_towards(function: Function, name: str, towards: str, shapes: Shapes) -> list[OrderedTest] | None:
    """The ordered tests that all must hold for a lane to go from a block to its successor ``towards``."""
    block = function.blocks[name]
    defined = {i.name: i for i in block.insts if i.name}

    def collect(value: Value, *, holds: bool) -> list[OrderedTest] | None:
        inst = defined.get(value.text)
        if inst is None:
            return None
        if inst.op == "icmp":
            test = _ordered(inst, shapes, holds=holds)
            return None if test is None else [test]
        first = inst.args[0]
        both = inst.op == "and" or (inst.op == "select" and inst.args[2].text == "false")
        either = inst.op == "or" or (inst.op == "select" and inst.args[1].text == "true")
        if inst.ty.text != "i1" or not (both if holds else either):
            return None
        second = inst.args[2] if inst.op == "select" and not holds else inst.args[1]
        a, b = collect(first, holds=holds), collect(second, holds=holds)
        return None if a is None or b is None else a + b

    return collect(block.term.args[0], holds=block.term.labels[0] == towards)


def _ordered(inst: Inst, shapes: Shapes, *, holds: bool) -> OrderedTest | None:
    predicate = inst.detail if holds else _OPPOSITE.get(inst.detail, "")
    left, right = inst.args
    of_left, of_right = shapes.shape(left), shapes.shape(right)
    if left.ty.kind == "int" and not (of_left.deps | of_right.deps) & LANE:
        return OrderedTest(predicate, left, right, None, 0) if predicate else None
    if predicate not in _OPPOSITE:
        return None
    for stepping, fixed in ((left, of_right), (right, of_left)):
        shape = shapes.shape(stepping)
        if shape.strided and not shape.guarded and not fixed.deps:
            # Rows along another dimension have values of their own; along the lanes they go on where a row ends.
            if shape.deps & ROW and shapes.layout.row_dim != shapes.layout.lane_dim:
                return None
            assert shape.stride is not None
            # That counting wraps around is told by where it ends, if it cannot come round again.
            span = abs(shape.stride) * shapes.layout.lanes * shapes.layout.rows
            if stepping.ty.kind != "int" or span >> stepping.ty.bits:
                return None
            return OrderedTest(predicate, left, right, stepping, shape.stride)
    return None
