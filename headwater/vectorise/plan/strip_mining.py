"""Input: a kernel and the layout of its chunks. Output: the loops that are strip-mined, and how many rows at a time.

A work-group that is one chunk needs no switching at barriers, but 8 or 16 rows of it keep more in a loop than a
processor has registers, and each trip stores and loads the rest. All lanes and rows run such a loop together, and
between two barriers no work-item waits for another: so a strip of rows may run it to its end before the next one
begins. A step of n-body in groups of 128 takes about 0.7 of the time (Zen 4, AVX-512; `benchmarks.layouts`).
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.llvm.cfg import Cfg, Loop
from headwater.llvm.gathers import Gathers
from headwater.llvm.ir import BINARY, CASTS, Function, Inst
from headwater.llvm.types import LOCAL_SPACE, PRIVATE_SPACE
from headwater.vectorise.analysis.linearisation import ENTRY_MASK, Linear
from headwater.vectorise.analysis.row_count import WORTHWHILE, Flow
from headwater.vectorise.analysis.shapes import LANE, Shapes
from headwater.vectorise.analysis.throughput import Names, held, names, region
from headwater.vectorise.plan.launch_layout import vector_lanes, vector_registers

_SIMPLE = (
    BINARY
    | CASTS
    | set("load store getelementptr icmp fcmp select fneg freeze phi br".split())
    | {"extractelement", "insertelement", "shufflevector"}
)


@dataclass(frozen=True, slots=True)
class Strips:
    """``rows`` of a chunk run ``loop`` at a time; ``before`` is the block that it is entered from."""

    loop: Loop
    rows: int
    before: str


def find_strips(
    function: Function, cfg: Cfg, shapes: Shapes, linear: Linear, vector_bytes: int, gathers: Gathers
) -> dict[str, Strips]:
    """The loops that are better run by strips of rows, by header; all that can be, where the layout says so."""
    layout = shapes.layout
    found: dict[str, Strips] = {}
    if layout.lanes == 1 or layout.rows == 1:
        return found
    vectors, registers = max(1, layout.lanes // vector_lanes(vector_bytes)), vector_registers(vector_bytes)
    known: Names | None = None
    for loop in cfg.loops:
        if not _can_be_parted(function, cfg, shapes, linear, loop):
            continue
        rows = layout.strip
        if not rows:
            known = known or names(function)
            flow = region(function, shapes, gathers, loop, [b for b in cfg.order if b in loop], known.uses)
            flow = flow._replace(held=held(function, shapes, loop, known.definitions))
            rows = _best_rows(flow, layout.rows, vectors, registers)
        if rows < layout.rows:
            (before,) = (b for b in cfg.preds[loop.header] if b not in loop)
            found[loop.header] = Strips(loop, rows, before)
    return found


def _best_rows(flow: Flow, rows: int, vectors: int, registers: int) -> int:
    """The most rows, of ``vectors`` registers each, whose values stay in registers, or cost little where they do not.

    They part all ``rows`` evenly.
    """
    choices = [r for r in range(1, rows + 1) if rows % r == 0]
    cycles = {r: flow.cycles(r * vectors, registers) for r in choices}
    enough = WORTHWHILE * min(cycles.values())
    return max(r for r in choices if cycles[r] <= enough)


def _can_be_parted(function: Function, cfg: Cfg, shapes: Shapes, linear: Linear, loop: Loop) -> bool:
    """Whether all work-items run the loop together, alone with memory that is near, and leave it at one place."""
    if len(loop.exits) != 1 or any(other.parent is loop for other in cfg.loops) or shapes.divergent_loop(loop):
        return False
    source, target = loop.exits[0]
    if linear.next.get((source, target)) != target:
        return False
    for name in loop.blocks:
        if linear.mask_class[name] != ENTRY_MASK or shapes.divergent(name) or name in linear.skip:
            return False
        if not all(_is_simple(inst, shapes) for inst in function.blocks[name].insts):
            return False
    return True


def _is_simple(inst: Inst, shapes: Shapes) -> bool:
    shape = shapes.of.get(inst.name)
    if shape is not None and (shape.guarded or inst.name in shapes.assumed):
        return False
    if inst.op == "call":
        return inst.detail.startswith("llvm.") and not inst.detail.startswith(
            ("llvm.mem", "llvm.trap", "llvm.prefetch")
        )
    if inst.op not in _SIMPLE or {"volatile", "atomic"} & set(inst.flags):
        return False
    if inst.op in ("load", "store"):
        # Strips would bring lines that rows share from far memory once for each of them.
        pointer = inst.args[1 if inst.op == "store" else 0]
        near = pointer.ty.space in (LOCAL_SPACE, PRIVATE_SPACE)
        return near or not shapes.shape(pointer).deps & LANE
    return True
