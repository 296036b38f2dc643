"""Input: a kernel. Output: a rough estimate of what a vector's worth of work-items costs, vectorised and one by one."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.llvm.cfg import Cfg
from headwater.llvm.gathers import Gathers
from headwater.llvm.ir import Function, Inst
from headwater.llvm.types import LOCAL_SPACE
from headwater.vectorise.analysis.inner_loops import llvm_vectorised_loops, streams
from headwater.vectorise.analysis.merged_atomic_candidates import merged_candidates
from headwater.vectorise.analysis.ordered_branches import ordered_exits
from headwater.vectorise.analysis.shapes import LANE, Shape, Shapes
from headwater.vectorise.layout import Layout

LANES = 16
"""The estimate is for 16 lanes: one 512-bit vector of 32-bit values."""

TRIPS = 16.0
"""What a loop is taken to run; only the ratio of code inside and outside of loops matters."""

# Cycles, from timings of this package's benchmark kernels on a Zen 5 core (benchmarks/cpu.py): an item's own
# instructions issue three a cycle, an atomic takes 5.5 a lane in the loop over active lanes and 1.2 where all lanes are
# active.
SCALAR_COST = 0.3
ATOMIC_COST = 1.2
WIDE_COST = 1.5
STRIDED_COST = 1.0 * LANES
PIECE_COST, PIECE_BYTES = (
    1.5,
    16,
)  # one load of so many bytes of a lane's vector, and the shuffle that joins it to others
LANE_LOOP_COST = 5.5 * LANES
LANES_UNROLLED_COST = 1.2 * LANES
LOCAL_LOOP_COST = 2.0 * LANES
"""Atomics on local memory in the loop over active lanes, which need no lock (a histogram of what passes a test, half
of the values, Zen 4: 1 ns a value, and 7.3 one by one, where nobody can predict the test)."""
MERGED_ATOMIC_COST = 2.0 * LANES
"""All lanes' atomics on one address, merged: running sums of the lanes, and a part of the locked operation, which
several vectors share (a count that numbers its items, Emerald Rapids)."""
LOCKED_COST = 18.0
"""Cycles of an atomic on global memory that nobody else wants (Emerald Rapids: 6.2 ns)."""
DIVISION_COST, ONE_DIVISOR_COST, CONSTANT_DIVISOR_COST = 40.0, 10.0, 4.0
"""Vector divisions of up to 32 bits: two quotients of eight doubles, which keep the divider for 16 cycles each;
products with one divisor's reciprocal; LLVM's products with a constant's. Twice that for 64 bits, as doubles, too."""
SINGLE_DIVISION_COST, LONG_DIVISION_COST = 6.0, 10.0
"""Cycles of a scalar division of up to 32 bits, and of 64 (uops.info, Alder Lake P)."""
DOWN_PAYS = 0.7
"""Part of the cost along x, or one by one, from which on lanes along y are worth it: one cannot see from the code how
memory lies. A product of matrices by rows of ``float4``, the second one transposed, comes out at 0.57 and takes a
quarter of the time; no other kernel of the benchmarks, and none of PolyBench's, is below 1.1."""
WHOLE_PAYS = 0.75
"""Part of the cost by lanes from which on a kernel that gathers vectors runs one by one, where what it does to a vector
is one operation. A product of matrices by rows of ``float4``, groups of 64 × 1, comes out at 0.68 and takes a tenth."""
STREAM_COST = 1.2
"""Cycles a lane where each lane goes through memory of its own: 16 lanes read as many cache lines, which often meet in
few sets (sums of 512 floats in rows, Emerald Rapids: 1.2 times as long as four rows of work-items one by one; sliding
sums, which store too, 6 times)."""
SMALL_GATHER_COST = 2.0
"""Cycles a lane for elements of less than 32 bits, for which there are no gathers (substitution by a table of bytes,
Emerald Rapids: 1.8 times as long as four rows of work-items one by one)."""
LLVM_VECTORISED_COST = 0.25
"""What an instruction costs in a loop that LLVM vectorises, in those of others that run one by one."""
BARRIER_COST = 20.0
DIVERGENCE = 1.3

_FREE = frozenset(
    ("phi", "br", "ret", "unreachable", "fence", "alloca", "extractelement", "insertelement", "shufflevector")
)
WORD_BYTES = 4
_DIVISIONS = frozenset(("udiv", "sdiv", "urem", "srem"))
LONGEST_BY_FLOATS = 32
"""Bits of the longest integers that are divided as floats."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles for 16 work-items: side by side (``vector``) and one after the other (``scalar``), by components; whether
    the latter is better (``scalar_pays``); whether lanes may leave some loop at different trips; whether each streams
    through its own memory in some (``streams``), whether LLVM vectorises all innermost loops (``llvm_vectorises``),
    and whether all count in one place of global memory (``counts_in_one_place``)."""

    vector: float
    scalar: float
    scalar_pays: bool
    masked_loops: bool
    streams: bool
    llvm_vectorises: bool
    counts_in_one_place: bool


def estimate(function: Function, cfg: Cfg, shapes: Shapes, gathers: Gathers) -> Cost:
    """Estimate one kernel, whose shapes are those of `LANES` lanes, every loop taken to run `TRIPS` times."""
    ordered = ordered_exits(function, cfg, shapes)
    vector = scalar = whole = 0.0
    gathered = False
    by_llvm, private = llvm_vectorised_loops(function, cfg, shapes), streams(function, cfg, shapes)
    merged, counts_in_one_place = merged_candidates(function, shapes), False
    for name in cfg.order:
        weight, divergence = 1.0, 1.0
        alone = LLVM_VECTORISED_COST if name in by_llvm else 1.0
        loop = cfg.loop_of[name]
        while loop is not None:
            weight *= TRIPS
            divergence = DIVERGENCE if shapes.divergent_loop(loop) and loop.header not in ordered else divergence
            loop = loop.parent
        for inst in function.blocks[name].insts:
            if inst.op == "barrier":
                vector += weight * BARRIER_COST
                scalar += weight * BARRIER_COST * LANES
                whole += weight * BARRIER_COST * LANES
            elif inst.name in merged:
                vector += weight * divergence * MERGED_ATOMIC_COST
                shared = inst.args[0].ty.space != LOCAL_SPACE
                counts_in_one_place |= shared
                single = weight * LANES * (LOCKED_COST if shared else ATOMIC_COST)
                scalar += single
                whole += single
            elif inst.op not in _FREE:
                width = inst.ty.count if inst.ty.kind == "vec" else 1
                vector += (
                    weight * divergence * _vector_cost(inst, width, shapes, gathers, private, masked=divergence > 1.0)
                )
                single = weight * alone * SCALAR_COST * LANES
                single *= ATOMIC_COST / SCALAR_COST if inst.op in ("atomicrmw", "cmpxchg") else 1.0
                single *= _single_division(inst) / SCALAR_COST if inst.op in _DIVISIONS else 1.0
                scalar += width * single
                whole += width * single if inst.op in _DIVISIONS else single
                gathered |= width > 1 and inst.op == "load" and _gathers(shapes.shape(inst.args[0]))
    pays = scalar < vector or (gathered and whole < WHOLE_PAYS * vector)
    masked_loops = any(shapes.divergent_loop(loop) and loop.header not in ordered for loop in cfg.loops)
    innermost = {loop.header for loop in cfg.loops if not any(other.parent is loop for other in cfg.loops)}
    return Cost(
        vector, scalar, pays, masked_loops, bool(private), bool(by_llvm) and innermost <= by_llvm, counts_in_one_place
    )


def down_width(function: Function, cfg: Cfg, private: dict[str, int], across: Cost, gathers: Gathers) -> int:
    """0, or if a kernel without barriers should have its lanes along y, the components that each of them loads at once:
    so many times fewer lanes fill a register. ``across``: what it costs with lanes along x."""
    shapes = Shapes(function, cfg, Layout(LANES, lane_dim=1, row_dim=0), dict(private))
    down = estimate(function, cfg, shapes, gathers)
    if down.masked_loops or down.vector >= DOWN_PAYS * min(across.vector, across.scalar):
        return 0
    loads = [i for name in cfg.order for i in function.blocks[name].insts if i.op == "load"]
    return min((max(1, i.ty.count) for i in loads if shapes.shape(i.args[0]).deps & LANE), default=1)


def _gathers(pointer: Shape) -> bool:
    return bool(pointer.deps & LANE) and pointer.stride is None


def _vector_cost(
    inst: Inst, width: int, shapes: Shapes, gathers: Gathers, private: frozenset[str], *, masked: bool
) -> float:
    """``width``: components, which cost the same each unless a lane's are loaded at once; ``private``: `streams`."""
    if inst.op == "load" and width > 1 and not masked and _gathers(shapes.shape(inst.args[0])):
        pieces = -(-inst.ty.size_bytes // PIECE_BYTES)
        return LANES * min(width * gathers.whole, pieces * PIECE_COST)
    return width * _component_cost(inst, shapes, gathers, private, masked=masked)


def _component_cost(inst: Inst, shapes: Shapes, gathers: Gathers, private: frozenset[str], *, masked: bool) -> float:
    if inst.op in ("atomicrmw", "cmpxchg"):
        looped = LOCAL_LOOP_COST if inst.args[0].ty.space == LOCAL_SPACE else LANE_LOOP_COST
        return looped if masked else LANES_UNROLLED_COST
    if inst.op in ("load", "store"):
        pointer = shapes.shape(inst.args[-1])
        if not pointer.deps & LANE:
            return SCALAR_COST
        accessed = inst.ty if inst.op == "load" else inst.args[0].ty
        if pointer.stride is None:
            each = gathers.masked if masked else gathers.whole
            each = max(each, SMALL_GATHER_COST) if accessed.scalar.size_bytes < WORD_BYTES else each
            return LANES * (max(each, STREAM_COST) if inst.args[-1].text in private and not masked else each)
        size = accessed.size_bytes
        return WIDE_COST if abs(pointer.stride) <= 4 * size else STRIDED_COST
    shape = shapes.of.get(inst.name)
    if shape is None or not shape.varying:
        return SCALAR_COST
    bits = max(inst.ty.scalar.bits, *(v.ty.scalar.bits for v in inst.args), 0) if inst.args else 32
    if inst.op in _DIVISIONS:
        return _division_cost(inst, bits, shapes)
    return 2.0 if bits > 32 else 1.0


def _division_cost(inst: Inst, bits: int, shapes: Shapes) -> float:
    if not inst.args[1].is_local:
        return CONSTANT_DIVISOR_COST
    each = DIVISION_COST if shapes.shape(inst.args[1]).deps & LANE else ONE_DIVISOR_COST
    return each if bits <= LONGEST_BY_FLOATS else 2 * each


def _single_division(inst: Inst) -> float:
    if not inst.args[1].is_local:
        return 3 * SCALAR_COST  # a product, a shift and what goes with them
    return SINGLE_DIVISION_COST if inst.ty.scalar.bits <= LONGEST_BY_FLOATS else LONG_DIVISION_COST
