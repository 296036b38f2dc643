"""Input: a module of kernels. Output: the same module with code that reports accesses at addresses which are no
multiple of what the accessed type needs (OpenCL C specification 6.1.5, 6.2.5 and 6.12.7).

clang writes each access with the alignment that its type has: 1 for members of packed structures, an element's for
vloadn. LLVM proves most addresses to be aligned and leaves the tests out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headwater.llvm.ir import Body, Inst, Module
from headwater.llvm.passes.definedness import DECLARATION, IF, reporting, source_files
from headwater.llvm.text import FINDING, alignment, arguments_of
from headwater.opencl.mangle import MangleError, Pointer, Scalar, Vector, demangle

MISALIGNED = 10
"""What is wrong (`headwater.opencl.check_findings`)."""

_VECTOR = re.compile(r"v(?:load|store)(a?)(?:_half)?(2|3|4|8|16)?(?:_rt[ezpn])?")
_LOCAL = 3
_CHECKED_BYTES = 4
"""Accesses of chips to local memory are tested by `headwater.emulate.watch` up to this alignment."""


def with_alignment_tested(module: Module) -> None:
    """Test the accesses of kernels of OpenCL C: what other languages' pointers are to is not known to be aligned, so
    that each of their accesses would have a test. Functions have to be inlined already."""
    sources = source_files(module)
    chip = "-A5" in module.data_layout
    tested = False
    for body in module.bodies.values():
        if "!kernel_arg_type " not in body.head:
            continue
        changes: dict[int, list[str]] = {}
        variables = {inst.name for _, inst in body.having("alloca")}
        for number, inst in body.having("load", "store", "atomicrmw", "cmpxchg", "call"):
            if not inst.site:  # code of checks
                continue
            tests: list[str] = []
            for pointer, bytes_ in accesses(body, number, inst, chip):
                if bytes_ > 1 and "%" in pointer and pointer.rpartition(" ")[2] not in variables:
                    tests += _test(module, sources, inst, pointer, bytes_, f"{number}.{len(tests)}")
            if tests:
                changes[number] = [*tests, body.lines[number]]
        tested |= body.replace(changes)
    if tested and f"{FINDING}_if" not in module.bodies:
        module.add(f"{DECLARATION}\n{IF}")


def accesses(body: Body, number: int, inst: Inst, chip: bool) -> Iterator[tuple[str, int]]:
    """The pointers that an instruction accesses memory by, with their types, and the alignments that they need."""
    if inst.op == "call":
        if inst.detail.startswith(("llvm.memcpy.", "llvm.memmove.")):
            stated = arguments_of(body.lines[number])
            for value, text in zip(inst.args[:2], stated, strict=False):
                yield f"{value.ty} {value.text}", alignment(text)
        else:
            yield from _by_function(inst, chip)
        return
    pointer = inst.args[inst.op == "store"]
    if (inst.args[0].ty if inst.op == "store" else inst.ty).kind == "ptr":  # events, whose variables clang aligns less
        return
    watched = inst.op in ("atomicrmw", "cmpxchg") or (pointer.ty.space == _LOCAL and inst.align <= _CHECKED_BYTES)
    if not (chip and watched):
        yield f"{pointer.ty} {pointer.text}", inst.align


def _by_function(inst: Inst, chip: bool) -> Iterator[tuple[str, int]]:
    try:
        name, parameters = demangle(inst.detail)
    except MangleError:
        return
    vector = _VECTOR.fullmatch(name)
    if len(parameters) != len(inst.args) or not (vector or (name.startswith("atom") and not chip)):
        return
    for parameter, value in zip(parameters, inst.args, strict=True):
        if not isinstance(parameter, Pointer):
            continue
        element = parameter.pointee.element if isinstance(parameter.pointee, Vector) else parameter.pointee
        size = element.bytes if isinstance(element, Scalar) else 1
        if vector and vector[1]:
            width = int(vector[2] or 1)
            size *= 4 if width == 3 else width
        yield f"{value.ty} {value.text}", size


def _test(module: Module, sources: list[str], inst: Inst, pointer: str, bytes_: int, name: str) -> list[str]:
    """Code that reports an access if its address is no multiple of so many bytes."""
    address = f"i{module.address_bits}"
    flag = f"%hw.misaligned.{name}"
    return [
        f"  {flag}.at = ptrtoint {pointer} to {address}",
        f"  {flag}.low = and {address} {flag}.at, {bytes_ - 1}",
        f"  {flag} = icmp ne {address} {flag}.low, 0",
        reporting(module, sources, inst.site, flag, MISALIGNED, bytes_),
    ]


__all__ = ["MISALIGNED", "accesses", "with_alignment_tested"]
