"""Input: the front end's IR of a program to be checked. Output: IR in which LLVM keeps what checks need, with added
code that finds errors which only the program itself shows.

It knows llvmlite, as `headwater.opencl.codegen` does: only what runs in the worker process imports it.
"""

from __future__ import annotations

from collections.abc import Iterable

import llvmlite.binding as llvm

from headwater.llvm.builder import Block, Builder
from headwater.llvm.ir import Module
from headwater.llvm.modules import parse
from headwater.llvm.passes.definedness import files, followed
from headwater.llvm.passes.hidden_variables import Hidden
from headwater.llvm.passes.inlining import inlined
from headwater.llvm.text import FINDING, with_flag
from headwater.opencl.array_bounds import with_arrays_tested
from headwater.opencl.check_findings import GLOBAL_ID, format_of
from headwater.opencl.copies_in_flight import with_copies_followed
from headwater.opencl.misaligned import with_alignment_tested


def without_speculation(module: Module) -> None:
    """LLVM loads before a branch what is needed behind it, for work-items, too, that do not go there: what one of them
    reads so may be another's to write, or nobody's. It does not where it is told that something looks for races (LLVM,
    "LLVM Language Reference", sanitize_thread), and nothing else follows from that."""
    for name, group in module.attribute_groups.items():
        module.attribute_groups[name] = with_flag(group, "sanitize_thread")


def with_definedness(program: Module, kernels: Iterable[str], builder: llvm.PassBuilder) -> Module:
    """Uses of private variables before they are written, of async copies before a wait, misaligned accesses and those
    outside of an array in something larger are reported by `FINDING`."""
    inlined(program)
    module = parse(str(program))
    wanted = set(kernels)
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name in wanted else "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    hidden = Hidden()
    program = Module(str(module))
    hidden.hide(program)
    module = parse(str(program))
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.run(module, builder)
    program = Module(str(module))
    hidden.show(program)
    followed(program)
    with_copies_followed(program)
    with_alignment_tested(program)
    with_arrays_tested(program)
    return program


def settle(module: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Leave away what follows variables that turn out to be written: of arrays that only loops at the end of LLVM's
    passes made values of."""
    passes = llvm.create_new_function_pass_manager()
    passes.add_sccp_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_aggressive_dce_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def with_printing(text: str) -> str:
    """`FINDING` by printf (`headwater.opencl.check_findings`)."""
    module = Module(text)
    heads = (*module.declares.values(), *(body.head for body in module.bodies.values()))
    calling = "spir_func " if any(" spir_func " in head for head in heads) else ""
    size = f"i{module.address_bits}"
    space = 2 if calling else 4  # of constants
    where = f"ptr addrspace({space})"
    form = format_of(files(module)).encode()
    written = "".join(chr(c) if 32 <= c < 127 and c not in b'\\"' else f"\\{c:02X}" for c in form)
    lines = []
    for n in range(3):
        lines.append(f"%wide.{n} = call {calling}{size} @{GLOBAL_ID}(i32 {n})")
        lines.append(f"%id.{n} = {f'trunc i64 %wide.{n} to i32' if size == 'i64' else f'or i32 %wide.{n}, 0'}")
    values = ", ".join(
        f"i32 %{name}" for name in ("what", "file", "line", "column", "declared", "id.0", "id.1", "id.2")
    )
    lines.append(f"%printed = call {calling}i32 ({where}, ...) @printf({where} @__hw_finding_format, {values})")
    kind = f"[{len(form) + 1} x i8]"
    module.add(
        f'@__hw_finding_format = internal unnamed_addr addrspace({space}) constant {kind} c"{written}\\00", align 1'
    )
    if FINDING in module.declares:
        del module.declares[FINDING]
        b = Builder(Block)
        for line in lines:
            b.line(line)
        b.line("ret void")
        parameters = "i32 %what, i32 %file, i32 %line, i32 %column, i32 %declared"
        module.add(b.function(f"define internal void @{FINDING}({parameters}) alwaysinline"))
    module.declare(f"declare {calling}i32 @printf({where}, ...)")
    module.declare(f"declare {calling}{size} @{GLOBAL_ID}(i32) nounwind willreturn memory(none)")
    return str(module)


__all__ = ["settle", "with_definedness", "with_printing", "without_speculation"]
