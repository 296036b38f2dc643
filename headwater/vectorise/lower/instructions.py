"""Input: one work-item's instruction. Output: the function that writes it for all lanes and rows of a chunk."""

from __future__ import annotations

import re

from headwater.errors import InternalError
from headwater.llvm.ir import BINARY, CASTS, Inst
from headwater.llvm.types import LOCAL_SPACE, PRIVATE_SPACE
from headwater.vectorise.analysis.shapes import PRIMITIVE
from headwater.vectorise.lower.access_checks import check_memory
from headwater.vectorise.lower.arithmetic import (
    write_address,
    write_binary,
    write_cast,
    write_elementwise,
    write_select,
    write_unary,
)
from headwater.vectorise.lower.calls import write_lane_calls
from headwater.vectorise.lower.components import write_component, write_field, write_shuffle
from headwater.vectorise.lower.intrinsics import write_intrinsic, write_reduction
from headwater.vectorise.lower.loads import write_load
from headwater.vectorise.lower.merged_atomics import write_atomic
from headwater.vectorise.lower.packed import write_packed
from headwater.vectorise.lower.state import Lowering
from headwater.vectorise.lower.stores import write_store

_IGNORED = re.compile(r"llvm\.(lifetime\.|assume$|experimental\.noalias|dbg\.|debugtrap$|invariant\.)")


def write_instruction(ctx: Lowering, inst: Inst) -> None:
    """Write one instruction of the kernel for all lanes and rows."""
    op = inst.op
    if inst.name in ctx.plan.fixed or op == "fence":
        return
    if op in ("load", "store", "atomicrmw", "cmpxchg"):
        write_memory(ctx, inst)
    elif inst.name in ctx.plan.packed:
        write_packed(ctx, inst)
    elif op in BINARY:
        write_binary(ctx, inst)
    elif op in CASTS:
        write_cast(ctx, inst)
    elif op in ("icmp", "fcmp"):
        flags = "samesign " if "samesign" in inst.flags else inst.fast_math
        write_elementwise(ctx, inst, f"{op} {flags}{inst.detail}")
    elif op in ("fneg", "freeze"):
        write_unary(ctx, inst)
    elif op == "select":
        write_select(ctx, inst)
    elif op == "getelementptr":
        write_address(ctx, inst)
    elif op in ("extractelement", "insertelement"):
        write_component(ctx, inst)
    elif op == "shufflevector":
        write_shuffle(ctx, inst)
    elif op in ("extractvalue", "insertvalue"):
        write_field(ctx, inst)
    elif op == "call":
        _write_call(ctx, inst)
    else:
        raise InternalError(f"cannot vectorise LLVM instruction {op!r}")


def _write_call(ctx: Lowering, inst: Inst) -> None:
    name = inst.detail
    if _IGNORED.match(name) or PRIMITIVE.match(name):
        return
    if name.startswith("llvm.vector.reduce."):
        write_reduction(ctx, inst, name.split(".")[3])
    elif name.startswith(("llvm.mem", "llvm.trap", "llvm.prefetch")) or not name.startswith("llvm."):
        write_lane_calls(ctx, inst)
    else:
        write_intrinsic(ctx, inst)


def write_memory(ctx: Lowering, inst: Inst) -> None:
    """Write a load, a store or an atomic operation, with its checks."""
    place = 1 if inst.op == "store" else 0
    pointer = inst.args[place]
    accessed = inst.args[0].ty if inst.op == "store" else inst.ty
    if inst.op == "cmpxchg":
        accessed = inst.args[1].ty
    if accessed.kind in ("struct", "array"):
        raise InternalError(f"cannot vectorise an access to a whole {accessed.kind}")
    if pointer.ty.space not in (PRIVATE_SPACE, LOCAL_SPACE):
        inst.align = min(inst.align, accessed.scalar.size_bytes)
    if ctx.plan.variant.checked:
        check_memory(ctx, inst)
    if inst.op == "load":
        write_load(ctx, inst, pointer)
    elif inst.op == "store":
        write_store(ctx, inst, inst.args[0], pointer)
    else:
        write_atomic(ctx, inst)
