"""Input: atomic operations. Output: one operation for each active lane, in the order of lanes."""

from __future__ import annotations

from headwater.errors import InternalError
from headwater.llvm.ir import Inst
from headwater.llvm.types import LOCAL_SPACE, Type
from headwater.vectorise.lower.forms import components_of, lanes_of, rows_of
from headwater.vectorise.lower.lane_extraction import lane_value, load_words
from headwater.vectorise.lower.lane_loops import (
    each_lane,
    lane_operands,
    load_spilled,
    operand_of_lane,
    spill,
    store_spilled_lane,
)
from headwater.vectorise.lower.masks import block_mask
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import set_part

_COMPARING = {"max": "sgt", "min": "slt", "umax": "ugt", "umin": "ult"}

_ARITHMETIC = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "fadd": "fadd", "fsub": "fsub"}


def write_lane_atomics(ctx: Lowering, inst: Inst) -> None:
    """Write an atomic for one active lane after the other."""
    fields = components_of(inst.ty)
    for row in range(ctx.plan.layout.rows):
        mask = block_mask(ctx, row)
        if mask is None and ctx.plan.layout.lanes > 1:
            _atomic_every_lane(ctx, inst, row)
            continue
        operands = lane_operands(ctx, inst.args, row)
        results = []
        if ctx.plan.layout.lanes > 1:
            results = [spill(ctx, "zeroinitializer", ty) for ty in fields]
        with each_lane(ctx, mask) as lane:
            texts = [operand_of_lane(ctx, o, lane) for o in operands]
            found = atomic_operation(ctx, inst, texts)
            for c, ty in enumerate(fields):
                if results:
                    store_spilled_lane(ctx, results[c], ty, lane, found[c])
                else:
                    ctx.writer.store_slot(f"atomic.{ctx.spills}.{c}", ty, found[c])
        if not inst.name:
            continue
        shape = ctx.plan.shapes.of[inst.name]
        for c, ty in enumerate(fields):
            if results:
                set_part(ctx, inst, row, "v", load_spilled(ctx, results[c], ty), c)
            elif row in rows_of(ctx, shape):
                text = ctx.writer.load_slot(f"atomic.{ctx.spills}.{c}", ty)
                set_part(ctx, inst, row, "s", text, c)
        ctx.spills += 1


def _atomic_every_lane(ctx: Lowering, inst: Inst, row: int) -> None:
    """All lanes one after the other, their operands computed as scalars as far as that is cheap."""
    fields = components_of(inst.ty)
    results = ["poison"] * len(fields)
    load_words(ctx, inst, row)
    for lane in range(ctx.plan.layout.lanes):
        texts = [lane_value(ctx, value, row, lane) for value in inst.args]
        for c, (ty, text) in enumerate(zip(fields, atomic_operation(ctx, inst, texts), strict=True)):
            lanes = lanes_of(ctx, ty)
            results[c] = ctx.writer.let(f"insertelement {lanes} {results[c]}, {ty} {text}, i64 {lane}")
    for c, text in enumerate(results):
        set_part(ctx, inst, row, "v", text, c)


def atomic_operation(ctx: Lowering, inst: Inst, texts: list[str]) -> list[str]:
    """Write one atomic of one work-item with these operands; gives the fields of its result."""
    pointer = inst.args[0].ty
    ty = inst.args[1].ty
    align = f"align {inst.align or ty.size_bytes}"
    if pointer.space == LOCAL_SPACE:
        return _local_atomic(ctx, inst, texts, pointer, ty, align)
    if inst.op == "cmpxchg":
        text = ctx.writer.let(
            f"cmpxchg {pointer} {texts[0]}, {ty} {texts[1]}, {ty} {texts[2]} monotonic monotonic, {align}"
        )
        return [ctx.writer.let(f"extractvalue {inst.ty} {text}, {c}") for c in (0, 1)]
    return [ctx.writer.let(f"atomicrmw {inst.detail} {pointer} {texts[0]}, {ty} {texts[1]} monotonic, {align}")]


def _local_atomic(ctx: Lowering, inst: Inst, texts: list[str], pointer: Type, ty: Type, align: str) -> list[str]:
    old = ctx.writer.let(f"load {ty}, {pointer} {texts[0]}, {align}")
    done: list[str] = []
    if inst.op == "cmpxchg":
        same = ctx.writer.let(f"icmp eq {ty} {old}, {texts[1]}")
        new = ctx.writer.let(f"select i1 {same}, {ty} {texts[2]}, {ty} {old}")
        done = [same]
    elif inst.detail == "xchg":
        new = texts[1]
    elif inst.detail in _ARITHMETIC:
        new = ctx.writer.let(f"{_ARITHMETIC[inst.detail]} {ty} {old}, {texts[1]}")
    elif inst.detail == "nand":
        both = ctx.writer.let(f"and {ty} {old}, {texts[1]}")
        new = ctx.writer.let(f"xor {ty} {both}, -1")
    elif inst.detail in _COMPARING:
        more = ctx.writer.let(f"icmp {_COMPARING[inst.detail]} {ty} {old}, {texts[1]}")
        new = ctx.writer.let(f"select i1 {more}, {ty} {old}, {ty} {texts[1]}")
    elif inst.detail in ("fmax", "fmin"):
        name = f"llvm.{inst.detail[1:]}num.f{ty.bits}"
        ctx.writer.declare(name, f"declare {ty} @{name}({ty}, {ty})")
        new = ctx.writer.let(f"call {ty} @{name}({ty} {old}, {ty} {texts[1]})")
    else:
        raise InternalError(f"unknown atomic operation {inst.detail!r} on local memory")
    ctx.writer.line(f"store {ty} {new}, {pointer} {texts[0]}, {align}")
    return [old, *done]
