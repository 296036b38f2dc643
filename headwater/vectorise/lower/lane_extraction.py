"""Input: vector values. Output: single lanes of them as scalars, where lanes are taken one by one (atomics)."""

from __future__ import annotations

from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import I32, Type
from headwater.vectorise.analysis.shapes import LANE
from headwater.vectorise.lower.forms import forms_of, lanes_of
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.values import part

WORD = I32
"""Small elements are loaded so many at a time and shifted out: the two ports that load are what atomics wait for."""


def lane_value(ctx: Lowering, value: Value, row: int, lane: int) -> str:
    """One lane of a scalar-typed value."""
    shape = ctx.plan.shapes.shape(value)
    if not shape.deps & LANE:
        return part(ctx, value, row)
    if forms_of(ctx, shape) == ("s",):
        base = part(ctx, value, row)
        assert shape.stride is not None
        if not lane:
            return base
        if value.ty.kind == "ptr":
            return ctx.writer.let(f"getelementptr i8, {value.ty} {base}, i64 {lane * shape.stride}")
        return ctx.writer.let(f"add {value.ty} {base}, {lane * shape.stride}")
    inst = ctx.plan.extraction.steps.get((ctx.block, value.text))
    key = (value.text, lane, row, "l")
    if inst is None:
        return _from_word(ctx, value, row, lane) or _from_memory(ctx, value, row, lane)
    if key not in ctx.cache:
        ctx.cache[key] = _lane_of_step(ctx, inst, row, lane)
    return ctx.cache[key]


def _from_memory(ctx: Lowering, value: Value, row: int, lane: int) -> str:
    """A lane of a vector that is put into memory for that: volatile, or LLVM would take it from the register.

    An addition to memory at an address that comes right from a vector register takes a Zen 4 7.4 ns (a histogram of
    masked words, which takes 0.8 so).
    """
    key = (value.text, 0, row, "m")
    wide = lanes_of(ctx, value.ty)
    if value.ty.text == "i1":  # LLVM packs their bits
        return ctx.writer.let(f"extractelement {wide} {part(ctx, value, row, 'v')}, i64 {lane}")
    if key not in ctx.cache:
        ctx.spills += 1
        ctx.writer.store_slot(f"apart.{ctx.spills}", wide, part(ctx, value, row, "v"))
        ctx.cache[key] = f'%"apart.{ctx.spills}"'
    at = ctx.writer.let(f"getelementptr {value.ty}, ptr {ctx.cache[key]}, i64 {lane}")
    return ctx.writer.let(f"load volatile {value.ty}, ptr {at}")


def offset_address(ctx: Lowering, pointer_type: Type, pointer: str, offset_bytes: int) -> str:
    """An address some bytes further on."""
    if not offset_bytes:
        return pointer
    index = f"i64 {offset_bytes}"
    return ctx.writer.let(f"getelementptr i8, {pointer_type} {pointer}, {index}")


def lane_addresses(ctx: Lowering, pointer: Value, row: int) -> list[str]:
    """The addresses of all lanes in a row, as scalars."""
    shape = ctx.plan.shapes.shape(pointer)
    lanes = range(ctx.plan.layout.lanes)
    if shape.stride is not None and "g" not in forms_of(ctx, shape):
        base = part(ctx, pointer, row)
        return [offset_address(ctx, pointer.ty, base, lane * shape.stride) for lane in lanes]
    addresses = f"{lanes_of(ctx, pointer.ty)} {part(ctx, pointer, row, 'v')}"
    return [ctx.writer.let(f"extractelement {addresses}, i64 {lane}") for lane in lanes]


def _lane_of_step(ctx: Lowering, inst: Inst, row: int, lane: int) -> str:
    texts = [lane_value(ctx, v, row, lane) for v in inst.args]
    if inst.op == "getelementptr":
        operands = ", ".join(f"{v.ty} {text}" for v, text in zip(inst.args, texts, strict=True))
        return ctx.writer.let(f"getelementptr {inst.source}, {operands}")
    return ctx.writer.let(f"{inst.op} {inst.args[0].ty} {texts[0]} to {inst.ty}")


def load_words(ctx: Lowering, atomic: Inst, row: int) -> None:
    """Load what an atomic's operands are made of in one row. More rows would not stay in registers, and spills take
    the port for stores, which atomics keep busy."""
    work = list(atomic.args)
    while work:
        value = work.pop()
        if (ctx.block, value.text) in ctx.plan.extraction.steps:
            work += ctx.plan.extraction.steps[ctx.block, value.text].args
        base = ctx.cache.get((value.text, 0, row, "at"))
        if base is None:
            continue
        inst = ctx.plan.extraction.loads[value.text]
        pointer = inst.args[0].ty
        for word in range(ctx.plan.layout.lanes * inst.ty.size_bytes // WORD.size_bytes):
            key = (value.text, word, row, "w")
            if key not in ctx.cache:
                at = ctx.writer.let(f"getelementptr {WORD}, {pointer} {base}, i64 {word}")
                ctx.cache[key] = ctx.writer.let(f"load {WORD}, {pointer} {at}, align {inst.align}")


def _from_word(ctx: Lowering, value: Value, row: int, lane: int) -> str:
    size = value.ty.size_bytes
    word, rest = divmod(lane * size, WORD.size_bytes)
    text = ctx.cache.get((value.text, word, row, "w"))
    if text is None:
        return ""
    if rest:
        text = ctx.writer.let(f"lshr {WORD} {text}, {8 * rest}")
    return ctx.writer.let(f"trunc {WORD} {text} to {value.ty}")
