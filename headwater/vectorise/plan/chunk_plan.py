"""Input: control flow, shapes and a variant. Output: everything that is decided before a chunk function is written."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.llvm.cfg import Cfg
from headwater.llvm.ir import Function
from headwater.vectorise.analysis.lane_extraction import LaneExtraction, plan_lane_extraction
from headwater.vectorise.analysis.linearisation import Linear
from headwater.vectorise.analysis.loop_prefetching import PrefetchPlan, plan_prefetches
from headwater.vectorise.analysis.merged_atomic_candidates import merged_candidates
from headwater.vectorise.analysis.ordered_branches import OrderedTest, ordered_exits
from headwater.vectorise.analysis.row_value_numbering import RowValues
from headwater.vectorise.analysis.shapes import PRIMITIVE, Shape, Shapes
from headwater.vectorise.analysis.stop_polls import polled_loops
from headwater.vectorise.layout import Layout
from headwater.vectorise.plan.chunk_interface import MEMORY_BOUNDS, PRIMITIVE_PARAM
from headwater.vectorise.plan.packing import packed_values
from headwater.vectorise.plan.row_loops import RowLoop, find_row_loops
from headwater.vectorise.plan.strip_mining import Strips

FRAME_ALIGN_BYTES = 64
"""Saved values start on cache lines; 64 bytes is also the widest vector register."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Which code to write: ``masked`` chunks may be partly outside the work-group; ``resumable`` ones stop at barriers;
    ``checked`` ones test every access; ``streaming`` names pointer parameters stored around the caches on demand;
    ``sizes``: for checked code, the pointer types and bytes of __local variables, constants and struct arguments.
    ``uneven``: headers of loops whose trips differ from work-item to work-item, in code for one at a time. ``lines``:
    streaming stores begin at cache lines, as lines of chunks are begun so that they do. ``unmasked_gathers``: the
    processor has no gathers and scatters with masks. ``strips``: loops that some rows run after the others, by header.
    ``fetches``: loads that go through memory in order may be prefetched."""

    name: str
    masked: bool = False
    resumable: bool = False
    checked: bool = False
    streaming: frozenset[str] = frozenset()
    sizes: dict[str, tuple[str, int]] = field(default_factory=dict, hash=False)
    uneven: frozenset[str] = frozenset()
    lines: bool = False
    unmasked_gathers: bool = False
    strips: dict[str, Strips] = field(default_factory=dict, hash=False)
    fetches: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class ChunkPlan:
    """What the functions of `headwater.vectorise.lower` follow when they write one variant of a kernel.

    ``guard``: the tests that all lanes must pass before the chunk does anything, or None. ``crossing``: values that are
    used outside of the block that defines them, which live in slots. ``packed``: vector values that stay whole.
    ``fixed``: the text of values that are at hand everywhere, by row (parameters, ids, places of private arrays).
    ``roots``: the parameter or private array that each pointer is computed from, where that is one.
    ``private_sizes``: the bytes of a work-item's private arrays; ``private_offsets``: where those of all lanes and rows
    begin in a frame; ``private_frame_bytes``: what they take of it, where they must outlive a stop at a barrier.
    ``row_numbers``: names of what rows may share, where they lie along a dimension of their own. ``homes``: by block,
    the joins whose masks and values begin empty at its end. ``polled``: blocks that test for a stop. ``ordered``: the
    tests of loops that lanes leave in their order, by header. ``extraction``, ``prefetches`` and ``row_loops``: see
    their modules.
    ``merged_atomics``: atomics of all lanes that go as one, and whether their results are used.
    """

    function: Function
    cfg: Cfg
    shapes: Shapes
    linear: Linear
    layout: Layout
    variant: Variant
    guard: list[OrderedTest] | None
    crossing: frozenset[str]
    packed: frozenset[str]
    fixed: dict[str, list[str]]
    roots: dict[str, str]
    private_sizes: dict[str, int]
    private_offsets: dict[str, int]
    private_frame_bytes: int
    row_numbers: RowValues | None
    homes: dict[str, list[str]]
    polled: set[str]
    ordered: dict[str, OrderedTest]
    extraction: LaneExtraction
    prefetches: PrefetchPlan
    row_loops: dict[str, RowLoop]
    merged_atomics: dict[str, bool]


def plan_chunk(linear: Linear, variant: Variant, guard: list[OrderedTest] | None = None) -> ChunkPlan:
    """Plan one variant of the kernel that ``linear`` is of."""
    function, cfg, shapes = linear.function, linear.cfg, linear.shapes
    layout = shapes.layout
    crossing = _crossing_values(function, cfg)
    row_loops = find_row_loops(linear, crossing) if not variant.masked else {}
    ordered = ordered_exits(function, cfg, shapes)
    asked = {v.text for loop in row_loops.values() for v in (loop.test.left, loop.test.right) if v.is_local}
    for strips in variant.strips.values():  # each strip asks anew for what the first trip begins with
        begins = (phi.args[phi.labels.index(strips.before)] for phi in function.blocks[strips.loop.header].phis)
        asked |= {value.text for value in begins if value.is_local}
    homes: dict[str, list[str]] = {}
    for block in cfg.order[1:]:
        loop = cfg.loop_of[block]
        if loop is None or loop.header != block:
            homes.setdefault(cfg.home_of_initialisation(block), []).append(block)
    sizes = {i.name: i.source.size_bytes for name in cfg.order for i in function.blocks[name].insts if i.op == "alloca"}
    offsets, end = {}, 0
    for name, size in sizes.items():
        offsets[name] = end
        end += -(-size * layout.lanes * layout.rows // FRAME_ALIGN_BYTES) * FRAME_ALIGN_BYTES
    return ChunkPlan(
        function=function,
        cfg=cfg,
        shapes=shapes,
        linear=linear,
        layout=layout,
        variant=variant,
        guard=guard,
        crossing=frozenset(crossing | asked),
        packed=frozenset() if variant.checked else packed_values(function, cfg, shapes),
        fixed=_fixed_values(function, cfg, shapes),
        roots=_pointer_roots(function, cfg, variant.sizes),
        private_sizes=sizes,
        private_offsets=offsets,
        private_frame_bytes=end if variant.resumable else 0,
        row_numbers=RowValues(function, shapes, layout.row_dim) if layout.row_dim != layout.lane_dim else None,
        homes=homes,
        polled=polled_loops(function, cfg),
        ordered=ordered,
        extraction=plan_lane_extraction(function, cfg, shapes),
        prefetches=plan_prefetches(function, cfg, shapes, ordered, variant.uneven, wanted=variant.fetches),
        row_loops=row_loops,
        merged_atomics=merged_candidates(function, shapes) if layout.lanes > 1 else {},
    )


def private_name(array: str, row: int) -> str:
    """The name of the pointer to lane 0's copy of a private array in a row."""
    return f'%"private {array[1:]} {row}"'.replace('""', '"')


def _fixed_values(function: Function, cfg: Cfg, shapes: Shapes) -> dict[str, list[str]]:
    """Values that are at hand everywhere, by row: parameters, work-item ids and the places of private arrays."""
    fixed: dict[str, list[str]] = {p.name: [p.name] for p in function.params}
    for name in cfg.order:
        for inst in function.blocks[name].insts:
            if inst.op not in ("alloca", "call"):
                continue
            rows = range(shapes.layout.rows if shapes.of.get(inst.name, Shape()).by_row else 1)
            if inst.op == "alloca":
                fixed[inst.name] = [private_name(inst.name, row) for row in rows]
            elif inst.detail == "__hw_work_dim":
                fixed[inst.name] = ["%dim"]
            elif inst.detail in MEMORY_BOUNDS:
                fixed[inst.name] = [MEMORY_BOUNDS[inst.detail]]
            elif PRIMITIVE.match(inst.detail):
                fixed[inst.name] = [_id_name(inst.detail, shapes.layout, row) for row in rows]
    return fixed


def _id_name(primitive: str, layout: Layout, row: int) -> str:
    """The text of a work-item function's value (lane 0's along the lanes)."""
    match = PRIMITIVE.match(primitive)
    assert match is not None
    kind, dim = PRIMITIVE_PARAM[match[1]], int(match[2])
    if kind in ("gid", "lid") and dim == layout.row_dim and layout.rows > 1:
        return f"%{kind}{dim}.{row}"
    return f"%{kind}{dim}"


def _pointer_roots(function: Function, cfg: Cfg, variables: dict[str, tuple[str, int]]) -> dict[str, str]:
    """The parameter, variable or private array that each pointer is computed from, where that is one."""
    roots = {p.name: p.name for p in function.params if p.ty.kind == "ptr"}
    roots |= {name: name for name in variables}
    pointers = [i for name in cfg.order for i in function.blocks[name].insts if i.ty.kind == "ptr"]
    changed = True
    while changed:  # a loop's pointer is what it is where the loop is entered, until it turns out to be more
        changed = False
        for inst in pointers:
            if inst.op == "alloca":
                found = inst.name
            elif inst.op in ("getelementptr", "addrspacecast", "freeze", "select", "phi"):
                sources = inst.args[inst.op == "select" :] if inst.op in ("select", "phi") else inst.args[:1]
                known = {roots.get(v.text, "?" if v.is_local else "") for v in sources} - {"?"}
                found = known.pop() if len(known) == 1 else "" if known else "?"
            else:
                found = ""
            if found != roots.get(inst.name, "?"):
                roots[inst.name] = found
                changed = True
    return {name: root for name, root in roots.items() if root not in ("", "?")}


def _crossing_values(function: Function, cfg: Cfg) -> set[str]:
    """Values used outside the block that defines them; phis live in slots always."""
    defined: dict[str, str] = {}
    for name in cfg.order:
        for inst in function.blocks[name].insts:
            if inst.name:
                defined[inst.name] = name
    crossing: set[str] = set()
    for name in cfg.order:
        for inst in function.blocks[name].insts:
            for position, value in enumerate(inst.args):
                home = defined.get(value.text)
                used_in = inst.labels[position] if inst.op == "phi" else name
                if home is not None and home != used_in:
                    crossing.add(value.text)
    return crossing
