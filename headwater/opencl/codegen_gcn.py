"""The front end's amdgcn IR in; it with the device library, optimised, or assembly text or object code of it, out.

It knows llvmlite, as `headwater.opencl.codegen` does: only what runs in the worker process imports it.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable

import llvmlite.binding as llvm

from headwater.chips.gcn_isas import traits_of
from headwater.errors import InternalError
from headwater.llvm.modules import limit_code_generation, limit_passes, parse
from headwater.llvm.passes.gcn_phis import with_values_kept
from headwater.opencl.checked import settle, tells, with_definedness, with_printing, without_speculation
from headwater.opencl.gcn import CodeOptions
from headwater.opencl.linking import link_library, refuse_recursion
from headwater.opencl.memory_limits import exceeded
from headwater.opencl.platforms import GCN_TRIPLE, gcn, with_intrinsics
from headwater.opencl.symbols import name_of
from headwater.opencl.unsupported import variables

_NOT_INLINED = re.compile(r"\b(?:noinline|optnone) ")
# The directory and the checksum of a source would make the result depend on where it is compiled; the name is as given.
_DIFILE = re.compile(r'(!DIFile\(filename: "[^"]*"), directory: "[^"]*"[^)]*\)')
_KERNEL = re.compile(r"^define [^\n]* !reqd_work_group_size !(?P<node>\d+)[^\n]*\{\n.*?^\}", re.MULTILINE | re.DOTALL)
_LOCAL_SIZE = re.compile(r"(?:tail )?call i64 @_Z14get_local_sizej\(i32 noundef (\d+)\)(?: #\d+)?")
_UNIFORM = '"uniform-work-group-size"="true"'
_PRINTF_ALLOC = "__printf_alloc"
_PRINTF = re.compile(r"(@printf\(ptr addrspace\(4\)[^@\n]*@)([\w.]+)(.*)")
_STRING = re.compile(r"(ptr addrspace\(4\)[^@,\n]*@)([\w.]+)")
_GROUP_RANGE = re.compile(r'"amdgpu-flat-work-group-size"="1,256"')


@functools.cache
def _machine(processor: str, level: int) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(GCN_TRIPLE)
    return target.create_target_machine(cpu=processor, opt=level, reloc="pic")


def compile(ir: str, kernels: Iterable[str], filename: str, how: CodeOptions) -> bytes:
    """Link the device library in, optimise, and give back what ``how.emit`` names.

    Raises SourceError for recursion and calls of undefined functions. What LLVM refuses for good reasons, such as too
    much local memory, ends the process: the caller reads its last words.
    """
    limit_passes(ir)
    tm = _machine(how.processor, 3 if how.caution == 0 else 0)
    options = llvm.create_pipeline_tuning_options(speed_level=3 if how.caution < 2 else 0)
    builder = llvm.create_pass_builder(tm, options)
    wanted = {*kernels, _PRINTF_ALLOC}

    def optimise(ir: str) -> llvm.ModuleRef:
        prepared = _prepared(ir, how.largest_group)
        module = parse(_for_checks(prepared) if how.checked else prepared)
        link_library(module, filename, gcn(how.abi), str)
        for function in module.functions:
            if not function.is_declaration:
                function.linkage = "external" if function.name in wanted else "internal"
        first = llvm.create_new_module_pass_manager()
        first.add_always_inliner_pass()
        first.add_global_dead_code_eliminate_pass()
        first.run(module, builder)
        refuse_recursion([f.name for f in module.functions if not f.is_declaration and f.name not in wanted], filename)
        builder.getModulePassManager().run(module, builder)
        _drop(_PRINTF_ALLOC, module, builder)
        return module

    if how.checked:
        ir = with_definedness(ir, kernels, builder)
    module = optimise(ir)
    optimised = str(module)
    if tells(optimised):
        settle(module, builder)
        optimised = str(module)
    if tells(optimised):
        module = optimise(with_printing(ir))
        optimised = str(module)
    _refuse_large_frames(optimised, filename, how.processor)
    text = _of_own_memory(with_values_kept(_without_ones(optimised)))
    if not traits_of(how.processor).has_halves:
        text = _rounded_halves(text)
    if how.plain_minima:
        text = _plain_minima(text)
    if how.opaque_indices:
        text = _opaque_indices(text)
    if how.checked:
        text = _atomics_apart(text)
    if how.emit == "ir":
        return text.encode()
    if text is not optimised:
        module = parse(text)
    _limit_code_generation(text, how.caution)
    for function in module.functions:
        if (name := name_of(function.name)) != function.name:
            function.name = name
    try:
        return tm.emit_assembly(module).encode() if how.emit == "asm" else bytes(tm.emit_object(module))
    except RuntimeError as error:
        raise InternalError(f"LLVM cannot make code for {how.processor}: {error}") from error


_UPDATE = re.compile(r"^  (?:%\S+ = )?atomicrmw [^\n]*$", re.MULTILINE)
_NUMBERED = re.compile(r"^!(\d+) = ", re.MULTILINE)


def _of_own_memory(text: str) -> str:
    """The module with all atomics said to be on the chip's own, coarse-grained memory, which is all that there is here.
    For other memory, which PCI Express reaches, LLVM makes loops of compare-and-swap of all but addition and exchange
    (SIISelLowering.cpp, shouldExpandAtomicRMWInIR)."""
    if "atomicrmw" not in text:
        return text
    node = max(map(int, _NUMBERED.findall(text)), default=-1) + 1
    said = f", !amdgpu.no.fine.grained.memory !{node}, !amdgpu.no.remote.memory !{node}"
    return f"{_UPDATE.sub(lambda found: found[0] + said, text)}\n!{node} = !{{}}\n"


_MOST_PRIVATE_BYTES = ((1 << 13) - 1) * 1024 // 64
"""A work-item's part of a wavefront's scratch memory, whose size in KiB has 13 bits (LLVM, GCNSubtarget.h,
getMaxWaveScratchSize)."""
_DEFINITION = re.compile(r"^define [^\n]*?@([\w.$]+)\([^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_STRUCTS = re.compile(r"^%[^\n]* = type [^\n]*\n", re.MULTILINE)


def _refuse_large_frames(text: str, filename: str, processor: str) -> None:
    """MemoryLimitError for kernels whose private arrays are more than scratch memory holds. LLVM says so, too, but by
    then has taken the bytes of a group's arrays of 16 MiB for 0, and placed the arrays in local memory."""
    if " = alloca " not in text:
        return
    structs = "\n" + "".join(_STRUCTS.findall(text))
    for kernel, body in _DEFINITION.findall(text):
        needed = sum(variable.least_bytes for variable in variables(structs + body))
        if needed > _MOST_PRIVATE_BYTES:
            raise exceeded(name_of(kernel), "private", needed, _MOST_PRIVATE_BYTES, processor, filename)


LARGE_FUNCTION = 4_000
"""Lines of a function's optimised IR from which on passes are left out whose time grows with the square of its length:
those that rewrite sums and addresses in terms of one another, and the merging of many accesses' order. They took 16 of
LLVM 22's 18 s for 2,000 loads and 5 of 6 s for 3,000 statements, and changed the length of neither's code."""


def _limit_code_generation(text: str, caution: int) -> None:
    """Choose how code is generated for a module whose optimised IR is ``text``."""
    large = text.count("\n") > LARGE_FUNCTION and any(
        body.count("\n") > LARGE_FUNCTION for _, body in _DEFINITION.findall(text)
    )
    limit_code_generation(large=large)
    llvm.set_option("", f"-amdgpu-scalar-ir-passes={int(caution == 0 and not large)}")


def _prepared(ir: str, largest_group: int) -> str:
    """The module's text with everything inlined, and built-ins that LLVM has instructions for as those."""
    text = _DIFILE.sub(r'\1, directory: "")', ir)
    text = re.sub(r"^(attributes #\d+ = .*)$", lambda m: _NOT_INLINED.sub("", m[1]), text, flags=re.MULTILINE)
    text = _GROUP_RANGE.sub(f'"amdgpu-flat-work-group-size"="1,{largest_group}"', text)
    text = re.sub(r"^(define (?!.*\bamdgpu_kernel\b).*?\).*?) (#\d+ )", r"\1 alwaysinline \2", text, flags=re.MULTILINE)
    text = _KERNEL.sub(_with_group_size, text) if _UNIFORM in text else text
    if re.search(r"^declare .*@printf\(", text, re.MULTILINE):
        # LLVM replaces printf by what fills memory that this function provides, once optimisation has begun.
        text = _with_printable_texts(text) + f"\ndeclare ptr addrspace(1) @{_PRINTF_ALLOC}(i32)\n"
    return with_intrinsics(text)


_FLAT_GROUP = re.compile(r'"amdgpu-flat-work-group-size"="(\d+),(\d+)"')
_WAVEFRONT = 64


def _for_checks(text: str) -> str:
    """The module's text so that LLVM keeps accesses and barriers where the program has them: it leaves barriers out in
    groups that are declared to have no more work-items than a wavefront, and puts private arrays into local memory."""
    groups = _FLAT_GROUP.sub(lambda m: f'"amdgpu-flat-work-group-size"="{m[1]},{max(int(m[2]), 2 * _WAVEFRONT)}"', text)
    return without_speculation(groups)


_ATOMIC = re.compile(
    r"^  (%\S+ = atomicrmw (?:volatile )?\w+ )(ptr(?: addrspace\(\d+\))?) (%[^ ,]+|@[^ ,]+|\w+ \([^)]*\))", re.MULTILINE
)


def _atomics_apart(text: str) -> str:
    """LLVM lets one work-item of a wavefront update a place that all update, unless places may differ: it takes what an
    empty assembly text gives for that."""
    numbers = itertools.count()

    def apart(match: re.Match[str]) -> str:
        hidden = f"%hw.apart.{next(numbers)}"
        return f'  {hidden} = call {match[2]} asm "", "=v,0"({match[2]} {match[3]})\n  {match[1]}{match[2]} {hidden}'

    return _ATOMIC.sub(apart, text)


def _with_group_size(match: re.Match[str]) -> str:
    """A kernel's function with its reqd_work_group_size in place of get_local_size. LLVM sees by itself to what
    get_global_id needs of it, but only where that is loaded in one place."""
    node = re.search(rf"^!{match['node']} = !\{{i32 (\d+), i32 (\d+), i32 (\d+)\}}$", match.string, re.MULTILINE)
    sizes = node.groups() if node else ()
    return _LOCAL_SIZE.sub(lambda m: f"add i64 0, {sizes[int(m[1])]}" if int(m[1]) < len(sizes) else m[0], match[0])


def _with_printable_texts(text: str) -> str:
    """Calls of printf with other texts where LLVM would garble them, to be put right by
    `headwater.runtime.simulated.printf_memory`.

    LLVM writes a format's line feed as backslash and n but leaves a backslash alone: here it becomes \\134. And it does
    not store the zeros that end a string of 0, 4, 8, … bytes, although it makes room for them: a byte 1 is put after.
    """
    made: dict[str, str] = {}

    def other(name: str, *, is_format: bool) -> str:
        found = re.search(rf'^@{re.escape(name)} = (.*)\[(\d+) x i8\] c"(.*)\\00"(.*)$', text, re.MULTILINE)
        if found is None and (
            empty := re.search(rf"^@{re.escape(name)} = (.*)\[1 x i8\] zeroinitializer(.*)$", text, re.M)
        ):
            head, size, body, tail = empty[1], 1, "", empty[2]
        elif found is not None:
            head, size, body, tail = found[1], int(found[2]), found[3], found[4]
        else:
            return name
        backslashes = body.count("\\\\")
        if is_format and backslashes:
            size, body = size + 3 * backslashes, body.replace("\\\\", "\\\\134")
        elif not is_format and (size - 1) % 4 == 0:
            size, body = size + 1, body + "\\01"
        else:
            return name
        copy = f"__hw_{'format' if is_format else 'string'}.{name.lstrip('.')}"
        made[copy] = f'@{copy} = {head}[{size} x i8] c"{body}\\00"{tail}'
        return copy

    def call(match: re.Match[str]) -> str:
        strings = _STRING.sub(lambda m: m[1] + other(m[2], is_format=False), match[3])
        return match[1] + other(match[2], is_format=True) + strings

    text = _PRINTF.sub(call, text)
    return "\n".join([text, *made.values()])


def _drop(name: str, module: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Remove a function that has been inlined wherever it was called."""
    for function in module.functions:
        if function.name == name and not function.is_declaration:
            function.linkage = "internal"
            passes = llvm.create_new_module_pass_manager()
            passes.add_global_dead_code_eliminate_pass()
            passes.run(module, builder)


_LONG = r"(?:i64|<\d+ x i64>)"
_ONES = re.compile(rf"^  (%[\w.]+) = (?:xor {_LONG} [^\n]*-1\b|or (?:disjoint )?{_LONG} [^\n]*-\d)", re.MULTILINE)
_OR_OF = re.compile(rf"^  (%[\w.]+) = or (?:disjoint )?({_LONG}) (%[\w.]+), (%[\w.]+)", re.MULTILINE)


def _without_ones(text: str) -> str:
    """LLVM 22 takes the other operand for the result where half of a 64-bit operand of ``or`` turns out to be all ones,
    as that of a zero-extended number's complement, while it folds constants into GCN instructions. Where that may be,
    ``a | b`` is written as ``~(~a & ~b)``, which becomes v_bfi_b32."""
    ones = set(_ONES.findall(text))
    if not ones:
        return text

    def without(match: re.Match[str]) -> str:
        name, kind, left, right = match.groups()
        if left not in ones and right not in ones:
            return match[0]
        ones.add(name)
        bare, all_ones = name[1:], "-1" if kind == "i64" else "splat (i64 -1)"
        return (
            f"  %not.a.{bare} = xor {kind} {left}, {all_ones}\n  %not.b.{bare} = xor {kind} {right}, {all_ones}\n"
            f"  %both.{bare} = and {kind} %not.a.{bare}, %not.b.{bare}\n  {name} = xor {kind} %both.{bare}, {all_ones}"
        )

    return _OR_OF.sub(without, text)


_HALF = r"<\d+ x half>|half"
_OPERAND = r"<[^>]*>|splat \([^)]*\)|[^,\s]+"
_OF_HALVES = re.compile(
    rf"^  (%[^ ]+) = (fadd|fsub|fmul|fdiv) (?:[a-z]+ )*({_HALF}) ({_OPERAND}), ({_OPERAND})"
    r"(?:, !fpmath !\d+)?(, !dbg !\d+)?$",
    re.MULTILINE,
)
_FUSED_HALVES = re.compile(
    rf"^  (%[^ ]+) = [^@\n]*call (?:[a-z]+ )*({_HALF}) @llvm\.(?:fma|fmuladd)\.\w+"
    rf"\((?:{_HALF}) ({_OPERAND}), (?:{_HALF}) ({_OPERAND}), (?:{_HALF}) ({_OPERAND})\)[^\n]*?(, !dbg !\d+)?$",
    re.MULTILINE,
)


def _rounded_halves(text: str) -> str:
    """LLVM 22 computes with floats for chips without instructions for halves (before gfx8), and rounds only what is
    stored or converted: an operation then takes more of another's result than a half holds.

    A float holds more than twice a half's bits and two, so that rounding its sum, product or quotient once more gives
    what rounding once would; of a fused product and sum a double does.
    """

    def operation(match: re.Match[str]) -> str:
        name, what, kind, left, right, place = match.groups()
        bare, wide = _bare(name), kind.replace("half", "float")
        return (
            f"  %wide.a.{bare} = fpext {kind} {left} to {wide}\n  %wide.b.{bare} = fpext {kind} {right} to {wide}\n"
            f"  %wide.{bare} = {what} {wide} %wide.a.{bare}, %wide.b.{bare}{place or ''}\n"
            f"  {name} = fptrunc {wide} %wide.{bare} to {kind}{place or ''}"
        )

    def fused(match: re.Match[str]) -> str:
        name, kind, *factors, place = match.groups()
        bare, wide = _bare(name), kind.replace("half", "double")
        lines = [f"  %wide.{i}.{bare} = fpext {kind} {f} to {wide}" for i, f in enumerate(factors)]
        return "\n".join(
            [
                *lines,
                f"  %product.{bare} = fmul {wide} %wide.0.{bare}, %wide.1.{bare}",
                f"  %wide.{bare} = fadd {wide} %product.{bare}, %wide.2.{bare}",
                f"  {name} = fptrunc {wide} %wide.{bare} to {kind}{place or ''}",
            ]
        )

    return _FUSED_HALVES.sub(fused, _OF_HALVES.sub(operation, text)) if "half" in text else text


def _bare(name: str) -> str:
    """A value's name within another's."""
    return name.lstrip("%").strip('"')


_COMPARISON = re.compile(
    r"^  (%[\w.]+) = fcmp (?:[a-z]+ )*?([ou])(gt|ge|lt|le) ((?:<\d+ x )?(?:float|half)>?)"
    r" (<[^>]*>|[^,\n]+), (<[^>]*>|[^,\n]+)",
    re.MULTILINE,
)
_MIRRORED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}


def _plain_minima(text: str) -> str:
    """LLVM 22 makes V_MIN_LEGACY_F32 of a comparison and a selection of the same numbers on gfx6 and gfx7, and fails at
    a minimum of minima. It does not see that of a comparison of the negated numbers, which costs no instruction."""

    def negated(match: re.Match[str]) -> str:
        name, order, relation, kind, left, right = match.groups()
        bare = name[1:]
        return (
            f"  %neg.a.{bare} = fneg {kind} {left}\n  %neg.b.{bare} = fneg {kind} {right}\n"
            f"  {name} = fcmp {order}{_MIRRORED[relation]} {kind} %neg.a.{bare}, %neg.b.{bare}"
        )

    return _COMPARISON.sub(negated, text)


_TAKEN_AT = re.compile(r"^  (%[^ ]+) = extractelement (<\d+ x [^>]+> [^,\n]+), (i\d+) (%[^\n, ]+)", re.MULTILINE)


def _opaque_indices(text: str) -> str:
    """LLVM 22.1 fails on gfx9 at an element of a vector in registers whose index becomes a constant while code is
    generated (LLVM's pull request 179699 tells and ends that). It knows nothing of what an empty assembly text gives,
    and takes it for different in each lane."""

    def opaque(match: re.Match[str]) -> str:
        name, vector, kind, index = match.groups()
        hidden = f"%hw.opaque.{_bare(name)}"
        return (
            f'  {hidden} = call {kind} asm "", "=v,0"({kind} {index})\n'
            f"  {name} = extractelement {vector}, {kind} {hidden}"
        )

    return _TAKEN_AT.sub(opaque, text)
