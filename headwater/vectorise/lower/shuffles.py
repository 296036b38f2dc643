"""Input: vectors of lanes. Output: rearranged vectors: components side by side, taken apart, repeated or joined."""

from __future__ import annotations

from headwater.llvm.types import Type, vec_type
from headwater.vectorise.lower.forms import lanes_of
from headwater.vectorise.lower.state import Lowering


def repeat_for_lanes(ctx: Lowering, vector: str, ty: Type) -> str:
    """A work-item's whole vector, once for each lane."""
    order = list(range(ty.count)) * ctx.plan.layout.lanes
    return shuffle(ctx, vector, "poison", ty, order)


def repeat_for_components(ctx: Lowering, lanes: str, ty: Type, count: int) -> str:
    """A value of each lane for each of its ``count`` components."""
    key = (lanes, count, 0, "p")
    if key not in ctx.cache:
        order = [lane for lane in range(ctx.plan.layout.lanes) for _ in range(count)]
        ctx.cache[key] = shuffle(ctx, lanes, "poison", lanes_of(ctx, ty), order)
    return ctx.cache[key]


def shuffle(ctx: Lowering, a: str, b: str, ty: Type, order: list[int]) -> str:
    """Components of two vectors of one type; -1 for any."""
    mask = ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in order)
    return ctx.writer.let(f"shufflevector {ty} {a}, {ty} {b}, <{len(order)} x i32> <{mask}>")


def join_vectors(ctx: Lowering, vectors: list[str], ty: Type) -> str:
    """Vectors of one type one after the other; their number is a power of two."""
    count = ty.count
    while len(vectors) > 1:
        order = list(range(2 * count))
        now = vec_type(count, ty.scalar)
        vectors = [shuffle(ctx, a, b, now, order) for a, b in zip(vectors[::2], vectors[1::2], strict=True)]
        count *= 2
    return vectors[0]


def interleave(ctx: Lowering, parts: list[str], ty: Type, lanes: int) -> str:
    """Component vectors (or scalars, ``lanes`` 1) to one vector with each lane's components side by side."""
    count = len(parts)
    if lanes == 1:
        vector = "poison"
        for i, text in enumerate(parts):
            vector = ctx.writer.let(f"insertelement <{count} x {ty}> {vector}, {ty} {text}, i64 {i}")
        return vector
    filled = parts + ["poison"] * ((1 << (count - 1).bit_length()) - count)
    joined = join_vectors(ctx, filled, vec_type(lanes, ty))
    order = [c * lanes + lane for lane in range(lanes) for c in range(count)]
    return shuffle(ctx, joined, "poison", vec_type(len(filled) * lanes, ty), order)


def take_component(ctx: Lowering, vector: str, ty: Type, total: int, component: int, step: int, lanes: int) -> str:
    """Every ``step``-th element from ``component`` on: one component of interleaved lanes."""
    if lanes == 1:
        return ctx.writer.let(f"extractelement <{total} x {ty}> {vector}, i64 {component}")
    return shuffle(ctx, vector, "poison", vec_type(total, ty), [i * step + component for i in range(lanes)])
