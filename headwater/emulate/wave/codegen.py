"""Input: the text of a translated kernel. Output: object code for this machine.

It knows llvmlite, as `headwater.opencl.codegen` does: only what runs in the worker process imports it.
"""

from __future__ import annotations

import functools

import llvmlite.binding as llvm

from headwater.emulate.wave.layout import LARGE_KERNEL
from headwater.llvm.modules import emit_object, host_processor, host_target, limit_code_generation, limit_passes, parse


@functools.cache
def machine() -> llvm.TargetMachine:
    """LLVM's code generator for shared libraries of this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # calls of the support code are inline assembly
    target = llvm.Target.from_default_triple()
    processor, features = host_processor()
    return target.create_target_machine(cpu=processor, features=features, opt=2, reloc="pic", codemodel="default")


def prepare() -> None:
    """Make what the first compilation would have to wait for, by compiling nothing."""
    compile_wave("", 0)


def compile_wave(text: str, size: int, *, mostly_calls: bool = False) -> bytes:
    """Optimise and compile the module that ``text`` is the body of; ``size`` is the kernel's number of instructions,
    ``mostly_calls``: its time is that of what it calls, so that the order of its own code matters little."""
    limit_passes(text)
    large = size > REGISTERS_AS_VALUES
    fast = not mostly_calls
    limit_code_generation(large=large, first_scheduler=fast, second_scheduler=fast and not large)
    module = parse(_whole(text))
    _optimise(module, quick=size >= LARGE_KERNEL)
    return emit_object(module, machine())


REGISTERS_AS_VALUES = 1500
"""Instructions up to which registers are values for LLVM (`vliw.translate.INLINE_OPERATIONS`); later in memory.
Blocks then have hundreds of loads and stores: of LLVM 22's 5.9 s for a shader of 4,062 operations, 1.7 s were the
second scheduler's and 1.7 s those of merging their order. Without that scheduler, long straight-line kernels run slower
by 1 to 6 % on a Zen 4."""


def optimised(text: str, size: int) -> str:
    """The module's text after the passes, to look at."""
    module = parse(_whole(text))
    _optimise(module, quick=size >= LARGE_KERNEL)
    return str(module)


def _whole(text: str) -> str:
    target = host_target()
    bits = 8 * target.vector_bytes
    # With a frame pointer the stack can be aligned, and no spilled register lies in two cache lines.
    attributes = (
        f'nounwind "target-cpu"="{target.cpu}" "target-features"="{target.features}" '
        f'"frame-pointer"="all" "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" "no-builtins"'
    )
    return "\n".join(
        (
            f'target datalayout = "{target.data_layout}"',
            f'target triple = "{target.triple}"',
            text,
            "!9001 = !{}",
            f"attributes #0 = {{ noredzone {attributes} }}",
            "attributes #1 = { cold nounwind }",
        )
    )


def _optimise(module: llvm.ModuleRef, *, quick: bool) -> None:
    tm = machine()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(tm, options)
    first = llvm.create_new_module_pass_manager()
    first.add_always_inliner_pass()  # the clauses of small VLIW shaders
    first.add_global_dead_code_eliminate_pass()
    first.run(module, builder)
    if quick:
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.run(module, builder)
        return
    simplify = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            simplify.run(function, builder)
