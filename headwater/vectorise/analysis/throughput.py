"""Input: a kernel. Output: how its hottest part uses a processor (its longest dependence chain, its work, its live
values).

Operations of one chunk that wait for each other leave a processor idle unless rows of it have others: a hash's rounds
take 29 cycles one after the other, in which six vectors of them could be worked on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headwater.llvm.cfg import Cfg, Loop
from headwater.llvm.gathers import Gathers
from headwater.llvm.ir import CASTS, Function, Inst
from headwater.vectorise.analysis.cost import LANES
from headwater.vectorise.analysis.row_count import Flow
from headwater.vectorise.analysis.shapes import LANE, Shapes

# Cycles until a result of vector operations can be used, and micro-operations that take a port, on Intel's cores from
# Haswell to Golden Cove and AMD's Zen 2 to 4 (Fog, Instruction tables); where they differ, what Intel's take.
_LATENCY = {"fadd": 4, "fsub": 4, "fmul": 4, "fdiv": 12, "frem": 40, "mul": 10, "fcmp": 4, "fptrunc": 5, "fpext": 5}
_FLOAT_CAST, _FMA, _ROOT, _MINIMUM = 4, 4, 18, 4
_OPERATIONS = {"mul": 2}
_GATHER = 20
"""Cycles until a gather of 16 lanes can be used: a binary search by one vector takes 11 ns a trip on an Emerald Rapids,
some 30 cycles with its other operations."""
_ROTATE = 3  # two shifts, which may go at once, and what puts them together
PORTS = 3.0
"""Vector operations a cycle."""
FLOAT_PORTS = 2.0
"""Those of them that may be of floating-point numbers."""

_FREE = frozenset(
    (
        "phi",
        "br",
        "ret",
        "unreachable",
        "fence",
        "alloca",
        "extractelement",
        "insertelement",
        "getelementptr",
        "barrier",
    )
)
_SINGLE_BITS = 32


class Names(NamedTuple):
    """What defines each name of a function, and how often it is used."""

    definitions: dict[str, Inst]
    uses: Counter[str]


def names(function: Function) -> Names:
    """Found once for all of a function's loops."""
    insts = [inst for block in function.blocks.values() for inst in block.insts]
    return Names({inst.name: inst for inst in insts if inst.name}, Counter(v.text for inst in insts for v in inst.args))


def flow(function: Function, cfg: Cfg, shapes: Shapes, gathers: Gathers) -> Flow:
    """The part that is nested deepest; of several, the one with the most work."""
    regions: list[tuple[Loop | None, list[str]]] = [
        (loop, [b for b in cfg.order if b in loop.blocks])
        for loop in cfg.loops
        if not any(other.parent is loop for other in cfg.loops)
    ]
    if not regions:
        regions = [(None, cfg.order)]
    deepest = max(_depth(loop) for loop, _ in regions)
    uses = names(function).uses
    flows = [
        region(function, shapes, gathers, loop, blocks, uses) for loop, blocks in regions if _depth(loop) == deepest
    ]
    return max(flows, key=lambda f: f.cycles(1, 0))


def _depth(loop: Loop | None) -> int:
    depth = 0
    while loop is not None:
        depth, loop = depth + 1, loop.parent
    return depth


def region(
    function: Function,
    shapes: Shapes,
    gathers: Gathers,
    loop: Loop | None,
    blocks: list[str],
    uses: Mapping[str, int],
) -> Flow:
    """The flow of a loop's blocks, or of all of a kernel's."""
    insts = [inst for name in blocks for inst in function.blocks[name].insts]
    operations = floats = loads = shared = 0.0
    for inst in insts:
        if inst.op == "load" and shapes.shape(inst.args[0]).deps & LANE:
            loads += _registers(inst)
        elif inst.op == "load":
            shared += 1.0
        elif _varies(inst, shapes) and inst.op not in _FREE:
            count = _registers(inst) * _operations(inst)
            operations += count
            floats += count if _is_float(inst) else 0.0
    if loop is None:
        chain, carried = max(_ready(insts, shapes, {}).values(), default=0.0), 0.0
    else:
        phis = [phi for phi in function.blocks[loop.header].phis if _varies(phi, shapes)]
        chain = max((_from_phi(insts, shapes, phi, loop) for phi in phis), default=0.0)
        carried = sum(_registers(phi) for phi in phis)
    gathered = sum(_registers(inst) for inst in insts if inst.op == "load" and _is_gather(inst, shapes))
    return Flow(
        chain=chain,
        operations=max(operations / PORTS, floats / FLOAT_PORTS),
        loads=loads,
        shared=shared,
        live=_live(function, shapes, loop, insts, uses),
        carried=carried,
        instructions=float(len(insts)),
        loop=loop is not None,
        gathers=gathered * LANES * gathers.masked,
    )


def held(function: Function, shapes: Shapes, loop: Loop, insts: Mapping[str, Inst]) -> float:
    """Vectors of 32-bit lanes that a loop uses and does not make; ``insts``: the function's, by name."""
    own = {inst.name for name in loop.blocks for inst in function.blocks[name].insts}
    used = {
        v.text for name in loop.blocks for inst in function.blocks[name].insts if inst.op != "phi" for v in inst.args
    }
    return sum(_registers(insts[name]) for name in used - own if name in insts and _varies(insts[name], shapes))


def _from_phi(insts: list[Inst], shapes: Shapes, phi: Inst, loop: Loop) -> float:
    """Cycles from a loop's value to the next trip's."""
    ready = _ready(insts, shapes, {phi.name: 0.0})
    return max(
        (
            ready[v.text]
            for v, label in zip(phi.args, phi.labels, strict=True)
            if label == loop.latch and v.text in ready
        ),
        default=0.0,
    )


def _ready(insts: Iterable[Inst], shapes: Shapes, given: dict[str, float]) -> dict[str, float]:
    """When each value that follows from what is given is there; if nothing is, all count from their loads on."""
    ready = dict(given)
    for inst in insts:
        if not inst.name or inst.name in given or not _varies(inst, shapes):
            continue
        if inst.op == "load" and not _is_gather(inst, shapes):
            continue
        sources = [ready[v.text] for v in inst.args if v.text in ready]
        if sources or not given:
            ready[inst.name] = max(sources, default=0.0) + _latency(inst)
    return ready


def _live(function: Function, shapes: Shapes, loop: Loop | None, insts: list[Inst], uses: Mapping[str, int]) -> float:
    """Vectors between their definition and their last use, at most; loads with one use are operands in memory."""
    last: dict[str, int] = {}
    for at, inst in enumerate(insts):
        for value in inst.args:
            last[value.text] = at
    if loop is not None:
        for phi in function.blocks[loop.header].phis:
            for value, label in zip(phi.args, phi.labels, strict=True):
                if label == loop.latch:
                    last[value.text] = len(insts)
    sizes: dict[str, float] = {}
    for inst in insts:
        if not inst.name or not _varies(inst, shapes) or inst.op in ("getelementptr", "icmp", "fcmp"):
            continue
        if inst.op != "load" or uses.get(inst.name, 0) > 1:
            sizes[inst.name] = _registers(inst)
    most = now = 0.0
    ends: dict[int, list[str]] = {}
    for at, inst in enumerate(insts):
        for name in ends.pop(at, ()):
            now -= sizes[name]
        if inst.name in sizes:
            now += sizes[inst.name]
            most = max(most, now)
            ends.setdefault(max(at, last.get(inst.name, len(insts))), []).append(inst.name)
    return most


def _varies(inst: Inst, shapes: Shapes) -> bool:
    shape = shapes.of.get(inst.name)
    return shape is not None and shape.varying


def _is_gather(load: Inst, shapes: Shapes) -> bool:
    pointer = shapes.shape(load.args[0])
    return bool(pointer.deps & LANE) and pointer.stride is None


def _registers(inst: Inst) -> float:
    """Vector registers of 32-bit lanes that a value takes."""
    count = max(1, inst.ty.count) if inst.ty.kind == "vec" else 1
    bits = inst.ty.scalar.bits or 64
    if bits == 1:
        bits = _SINGLE_BITS
    return max(1.0, count * bits / _SINGLE_BITS)


def _is_float(inst: Inst) -> bool:
    return (inst.op in _LATENCY and inst.op != "mul") or (inst.op == "call" and inst.ty.scalar.kind == "float")


def _operations(inst: Inst) -> float:
    if inst.op == "call" and inst.detail.startswith(("llvm.fshl", "llvm.fshr")):
        return _ROTATE
    return _OPERATIONS.get(inst.op, 1)


def _latency(inst: Inst) -> float:
    if inst.op == "call":
        name = inst.detail
        if name.startswith(("llvm.fma", "llvm.fmuladd")):
            return _FMA
        if name.startswith("llvm.sqrt"):
            return _ROOT
        if name.startswith(("llvm.fshl", "llvm.fshr")):
            return 2
        return _MINIMUM if inst.ty.scalar.kind == "float" else 1
    if inst.op in CASTS and "float" in (inst.ty.scalar.kind, inst.args[0].ty.scalar.kind) and inst.op != "bitcast":
        return _LATENCY.get(inst.op, _FLOAT_CAST)
    if inst.op == "load":
        return _GATHER
    return 0 if inst.op in ("phi", "bitcast", "getelementptr") else _LATENCY.get(inst.op, 1)
