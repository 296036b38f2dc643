"""LLVM IR text in, modules out; optimised modules in, object code for this machine out.

It knows llvmlite, as `headwater.opencl.codegen` does: only what runs in the worker process imports it. All code
generators share it; nothing is imported here that takes long, as the first kernel waits for it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import llvmlite.binding as llvm

from headwater.errors import InternalError


@dataclass(frozen=True)
class Target:
    """The machine that code is made for."""

    triple: str
    data_layout: str
    cpu: str
    features: str
    vector_bytes: int


def parse(text: str) -> llvm.ModuleRef:
    """A module from its text; InternalError if LLVM refuses it, as all of it is generated."""
    try:
        return llvm.parse_assembly(text)
    except RuntimeError as error:
        raise InternalError(f"LLVM refuses the generated IR: {error}") from error


SLOW_JUMPS = frozenset(("skylake", "skylake-avx512", "cascadelake"))
"""LLVM's names of processors that decode a jump anew each time if it touches the end of 32 bytes (Intel, Mitigations
for Jump Conditional Code Erratum). Where the jumps of short loops fell made up to 1.3 times between equal kernels."""


@functools.cache
def machine() -> llvm.TargetMachine:
    """LLVM's code generator for this machine.

    Constants lie within reach of an instruction's operand ("small"); a register for their table's address is not lost.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    processor, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    if processor in SLOW_JUMPS:
        llvm.set_option("", "-x86-branches-within-32B-boundaries")
    return target.create_target_machine(cpu=processor, features=features, opt=3, reloc="pic", codemodel="small")


@functools.cache
def host_target() -> Target:
    """This machine, as LLVM sees it."""
    tm = machine()
    features = llvm.get_host_cpu_features()
    vector_bytes = 64 if features.get("avx512f") else 32 if features.get("avx2") else 16
    return Target(tm.triple, str(tm.target_data), llvm.get_host_cpu_name(), features.flatten(), vector_bytes)


def emit_object(module: llvm.ModuleRef, tm: llvm.TargetMachine) -> bytes:
    """Object code of an optimised module for this machine."""
    from headwater.opencl.bit_select import without_masked_bit_selects
    from headwater.opencl.high_products import without_high_products

    text = str(module)
    changed = without_high_products(text)
    if host_target().vector_bytes == 64:
        changed = without_masked_bit_selects(changed)
    module = module if changed is text else parse(changed)
    return bytes(tm.emit_object(module))
