"""Input: OpenCL C or assembly. Output: a code object with AMD GCN machine code, and its kernels.

What `headwater.opencl.gcn` does where the cache has nothing. It is apart because launches of known code wait for
each import.
"""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headwater.base.freshness import digests
from headwater.chips.gcn_isas import traits_of
from headwater.errors import HeadwaterError, InternalError, SourceError, Span, UsageError
from headwater.llvm.ir import Module
from headwater.llvm.text import for_processor
from headwater.opencl import extensions, includes, tables, units
from headwater.opencl.assembly import has_assembly, located_at_calls
from headwater.opencl.gcn import CODE_OBJECT_VERSIONS, DEFAULT_VERSION, CodeOptions, GcnBuild, Settings, processor_of
from headwater.opencl.kernels import KernelInfo
from headwater.opencl.memory_limits import exceeded, located_at_largest
from headwater.opencl.platforms import GCN_TRIPLE, gcn

if TYPE_CHECKING:
    from headwater.opencl.clang import Frontend

_WORKER_MODULE = "opencl.codegen_gcn"


def build(source: str, filename: str, options: str, settings: Settings) -> GcnBuild:
    """Compile OpenCL C: see `headwater.opencl.gcn.compile_code_object`."""
    from headwater.native.worker import WORKER

    WORKER.start(_WORKER_MODULE)
    processor, version = settings.processor, settings.version
    made = front(source, filename, options, processor, version)
    kernels = _chosen(made.kernels, settings.only, filename)
    separate_tables = settings.emit == "hsaco" and not settings.checked
    ir = made.ir if separate_tables else made.whole()
    with located_at_calls(source, filename, lambda: made.ir), located_at_largest(source, filename, options):
        code, note = _generate(ir, [k.symbol for k in kernels.values()], filename, source, settings)
    if settings.emit == "hsaco":
        machine = ("-target", GCN_TRIPLE, f"-mcpu={processor}", f"-mcode-object-version={version}")
        code = link(code, *([tables.object_code(made.tables, machine)] if separate_tables and made.tables else []))
    return GcnBuild(code, processor, kernels, made.warnings + note, digests(made.includes), made.variable_bytes)


# What makes clang's IR depend on the processor: macros, built-ins and features that only some have, assembly. Files
# that are included may have any of it.
_OF_PROCESSOR = re.compile(
    r"__gfx|__GFX|__amdgcn|__AMDGCN|__AMDGPU|FP_FAST_FMA|__builtin_|__has_|-x hip|\basm\b|__asm|\btarget\b"
    r"|#[ \t]*include"
)
_OPTIONAL_PARTS = "-cl-std=CL3"
"""In which alone processors differ by `headwater.opencl.extensions`."""


@dataclass
class _Fronts:
    """The front end's result for one source, which processors share that differ in nothing it knows of."""

    lock: threading.Lock
    front: Frontend | None = None


_fronts: dict[tuple[str, ...], _Fronts] = {}
_fronts_lock = threading.Lock()
_MOST_FRONTS = 4


def front(source: str, filename: str, options: str, processor: str, version: int = DEFAULT_VERSION) -> Frontend:
    """clang's IR. The same for all processors but for the attributes that name them, for float's denormals, which GFX9
    and later keep, and for generic pointers, which OpenCL C 3.0 makes optional: what one processor's is made from
    serves others."""
    from headwater.opencl import clang

    optional = extensions.flags(extensions.of_processor(processor))

    def compiled() -> Frontend:
        flags = (*gcn(version).clang, f"-mcpu={processor}", f"-mcode-object-version={version}")
        return clang.compile_to_ir(source, filename, options, debug=True, target=(*flags, *optional))

    traits = traits_of(processor)
    if processor in traits.with_clang_features or _OF_PROCESSOR.search(source) or _OF_PROCESSOR.search(options):
        return compiled()
    key = (
        source,
        filename,
        options,
        str(version),
        str(traits.generation >= 9),
        *(optional if _OPTIONAL_PARTS in options else ()),
    )
    with _fronts_lock:
        while len(_fronts) >= _MOST_FRONTS and key not in _fronts:
            del _fronts[next(iter(_fronts))]
        mine = _fronts.setdefault(key, _Fronts(threading.Lock()))
    with mine.lock:
        if mine.front is None:
            mine.front = compiled()
            return mine.front
    # Without features, LLVM takes those that the processor has.
    module = Module(mine.front.ir)
    for name, group in module.attribute_groups.items():
        module.attribute_groups[name] = for_processor(group, processor)
    return replace(mine.front, ir=str(module))


def _generate(ir: str, kernels: list[str], filename: str, source: str, settings: Settings) -> tuple[bytes, str]:
    """Code, and what is to be said of it. Where LLVM fails for no fault of the program, it is asked again, so that the
    defect that it met is not in the way, and then for ever less optimised code."""
    from headwater.native.worker import LLVM_STOPPED, WORKER

    # LLVM as a library has no assembler for the text between the quotes of asm(): then the whole goes through clang's.
    emit = "obj" if settings.emit == "hsaco" else settings.emit
    written = emit == "obj" and has_assembly(ir)

    plain = CodeOptions(
        settings.processor, settings.version, settings.largest_group, "asm" if written else emit, settings.checked
    )

    def attempt(**around: Any) -> bytes:
        code: bytes = WORKER.call(f"{_WORKER_MODULE}:compile", ir, kernels, filename, replace(plain, **around))
        if written:
            name = f"{filename}, as assembly"
            text = _UNQUOTED.sub(r'\1"\2"', code.decode())
            try:
                return assemble(text, name, settings.processor, version=settings.version, emit="obj").code
            except SourceError as error:
                raise _in_the_source(error, text, filename, source) from None
        return code

    first: InternalError | None = None
    around: dict[str, bool | int] = {}
    cautions = iter(_CAUTIONS)
    note = ""
    while True:
        try:
            return attempt(**around), note
        except InternalError as error:
            first = first or error
            refused = _refused(error, source, filename, settings.processor)
            if refused is not error or not error.message.startswith((LLVM_STOPPED, _NO_CODE)):
                raise refused from error
            known = next((way for said, way in _WORKAROUNDS if said in error.message and way not in around), None)
            if known and "caution" not in around:
                around[known] = True
                continue
            level, what = next(cautions, (0, ""))
            if not what:
                raise first from error
            around["caution"] = level
            note = (
                f"{filename}: note: LLVM fails at optimised code for {settings.processor} (a defect of LLVM's): {what}."
                " Its results are right, but its instructions, registers and time say little of optimised code\n"
            )


_NO_CODE = "LLVM cannot make code"
# What LLVM says at its defects that are known, and the way around each: `codegen_gcn.compile` tells.
_WORKAROUNDS = (
    ("Not a min/max opcode", "plain_minima"),
    ("isReg() && ", "opaque_indices"),
)
_CAUTIONS = (
    (1, "code is generated without optimisation"),
    (2, "the kernel is compiled without optimisation"),
)
# LLVM quotes names with letters beyond ASCII, which its assembler wants, but here.
_UNQUOTED = re.compile(r"^(\s*\.amdhsa_kernel )(\S*[^\x00-\x7f]\S*)$", re.MULTILINE)
# What LLVM says before it ends the process, where the fault is the program's: "error: k.cl:1:0: local memory (80000)".
_REFUSAL = re.compile(r"error: (?P<file>.+?):(?P<line>\d+):\d+: (?:in function \S+ \S+: )?(?P<message>.*)")
_TOO_MUCH_LOCAL = re.compile(
    r"error: (?P<file>.+?):\d+:\d+: local memory \((?P<needed>\d+)\) exceeds limit \((?P<most>\d+)\) in function "
    r"'(?P<kernel>[^']+)'"
)
# Chips before gfx7 have no flat instructions, and OpenCL 2.0 allows pointers of which only the run tells the space.
_GENERIC = re.compile(
    r"Cannot select: .*(?:load|store|ATOMIC).* (?P<file>\S+?):(?P<line>\d+):\d+(?: @|$|\n)", re.IGNORECASE
)
_REFUSAL_HINTS = (
    ("stack frame size", "private arrays of a work-item are too large"),
    ("scratch", "private arrays of a work-item are too large"),
)


def _in_the_source(error: SourceError, text: str, filename: str, source: str) -> SourceError:
    """An error in the text between the quotes of asm(), at the source's line that the assembly names before it."""
    before = text.splitlines()[: error.span.line if error.span is not None else 0]
    place = next((found for line in reversed(before) if (found := _LOC.match(line))), None)
    if place is None:
        return error
    line = int(place[1])
    shown = units.line_of(source, filename, filename, line)
    said = f"{error.message}: {error.source_line.strip()}"
    return SourceError(said, Span(filename, line, int(place[2])), hint=error.hint, source_line=shown)


_LOC = re.compile(r"\s*\.loc\s+\d+\s+(\d+)\s+(\d+)")


def _refused(error: InternalError, source: str, filename: str, processor: str) -> HeadwaterError:
    if found := _TOO_MUCH_LOCAL.search(error.message):
        needed, most = int(found["needed"]), int(found["most"])
        return exceeded(found["kernel"], "local", needed, most, processor, found["file"])
    if found := _REFUSAL.search(error.message):
        message = found["message"]
        hint = next((hint for start, hint in _REFUSAL_HINTS if message.startswith(start)), "")
    elif (found := _GENERIC.search(error.message)) and not traits_of(processor).has_flat:
        message, hint = "access by a pointer of unknown address space", "say of every pointer global, local or private"
    else:
        return error
    line, known, name = int(found["line"]), os.path.basename(filename), os.path.basename(found["file"])
    return SourceError(
        f"{message}, on {processor}",
        Span(found["file"], line),
        source_line=units.line_of(source, known, name, line),
        hint=hint,
    )


def _chosen(kernels: dict[str, KernelInfo], only: tuple[str, ...], filename: str) -> dict[str, KernelInfo]:
    for name in only:
        if name not in kernels:
            import difflib

            close = difflib.get_close_matches(name, kernels, 1)
            known = f"its kernels are {', '.join(kernels)}" if kernels else "it has no kernels"
            hint = f"did you mean {close[0]}? {known}" if close else known
            raise UsageError(f"{filename} has no kernel {name!r}", hint=hint)
    return {name: kernels[name] for name in only} if only else kernels


def link(*objects: bytes) -> bytes:
    """A code object that a loader takes, from relocatable object code. Raises InternalError."""
    from headwater.native.linking import linked

    made = linked(*objects)
    if isinstance(made, str):
        raise InternalError(f"linking the code object failed: {made}")
    return made


def assemble(text: str, filename: str, target: str = "", *, version: int = 0, emit: str = "hsaco") -> GcnBuild:
    """Object code ("obj") or a code object ("hsaco") from assembly text, by LLVM's assembler.

    ``target`` and ``version`` may be left out if the text says ``.amdgcn_target`` and ``.amdhsa_code_object_version``.
    Raises SourceError with line and column for errors in the text, UsageError if the target is unknown.
    """
    from headwater.opencl import clang

    said = re.search(r'^\s*\.amdgcn_target\s+"[^"]*?-(gfx\w+)[^"]*"', text, re.MULTILINE)
    if not target and said is None:
        raise UsageError(
            f"{filename} does not say what chip it is for", hint='give --target, or write .amdgcn_target "…--gfx906"'
        )
    processor = processor_of(target or (said[1] if said else ""))
    if said and processor_of(said[1]) != processor:
        line = text.count("\n", 0, said.start(1)) + 1
        raise SourceError(
            f"this is assembly for {said[1]}, and {processor} is asked for",
            Span(filename, line),
            source_line=text.splitlines()[line - 1],
            hint="change the directive, or leave --target out",
        )
    stated = re.search(r"^\s*\.amdhsa_code_object_version\s+(\d+)", text, re.MULTILINE)
    chosen = version or (int(stated[1]) if stated else DEFAULT_VERSION)
    if chosen not in CODE_OBJECT_VERSIONS:
        raise UsageError(f"there is no code object version {chosen} here", hint="choose 4, 5 or 6")
    arguments = ["-x", "assembler", "-target", GCN_TRIPLE, f"-mcpu={processor}", f"-mcode-object-version={chosen}"]
    arguments += ["-nogpulib", "-fno-color-diagnostics", "-Wno-unused-command-line-argument", "-c", "-o", "-", "-"]
    includes.refuse_assembled(text, filename)
    done = clang.run_clang(arguments, text)
    messages = done.stderr.decode(errors="replace").replace("<stdin>:", f"{filename}:")
    if done.returncode:
        raise clang.source_error(messages, text, filename)
    code = link(done.stdout) if emit == "hsaco" else done.stdout
    return GcnBuild(code, processor, {}, messages, {})
