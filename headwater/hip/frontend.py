"""Input: HIP source text and options. Output: LLVM IR as that of OpenCL C and what each kernel's arguments are.

clang compiles the device's half of the language for the machine that is asked for. Work-item functions, barriers and
mathematics have the names of OpenCL C's built-ins in our header, so that the device library defines them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.base import temporary
from headwater.errors import DeviceError, SourceError, Span, UsageError
from headwater.hip import host_api
from headwater.hip.printf import with_opencl_printf
from headwater.hip.signatures import Kernel, is_dynamic_local, kernels_of
from headwater.llvm.ir import Body, Global, Module
from headwater.llvm.text import (
    accesses_volatile,
    with_names,
    without_comdat,
    without_field,
    without_metadata,
    without_words,
)
from headwater.opencl import clang, includes
from headwater.opencl.kernels import HIP_OPTION
from headwater.opencl.library_calls import with_library_calls
from headwater.opencl.platforms import SPIR
from headwater.opencl.symbols import symbol_of
from headwater.vectorise import DYNAMIC_LOCAL

INCLUDE = Path(__file__).with_name("include")
HEADER = INCLUDE / "headwater_hip.h"
DEFAULT_STD = "c++17"
STANDARDS = ("c++11", "c++14", "c++17", "c++20", "c++23")
_MOST_LOCAL_BYTES = 1 << 22
"""More than any group's local memory: what `extern __shared__` is taken to hold until a launch says it."""

_COMMON = (
    "-cc1",
    "-x",
    "hip",
    "-fcuda-is-device",
    "-aux-triple",
    "x86_64-unknown-linux-gnu",
    "-nostdsysteminc",
    "-internal-isystem",
    str(INCLUDE),
    "-include",
    str(HEADER),
    "-fdeclspec",
    "-fno-builtin",
    "-Werror=format-insufficient-args",  # printf would print what happens to lie behind its arguments
    "-fhip-kernel-arg-name",
    "-fno-threadsafe-statics",
    "-O2",
    "-disable-llvm-passes",
    "-discard-value-names",
    "-emit-llvm",
    "-debug-info-kind=limited",
    "-dwarf-version=5",
    "-fdebug-compilation-dir=.",
    "-main-file-name",
    "kernel.hip",
    "-ferror-limit",
    "19",
)
# SPIR-V's device code has kernels whose pointers are to global memory; its layout is spir64's.
_HOST = ("-triple", "spirv64-unknown-unknown")
_STEP = "__hw_in_step_volatile_64x1"


@dataclass(frozen=True)
class Options:
    """Options, taken apart: ``flags`` for clang, whether ``-g`` was among them."""

    flags: tuple[str, ...]
    debug: bool = False


_PLAIN = {"-w": "-w", "-Werror": "-Werror", "-munsafe-fp-atomics": "-munsafe-fp-atomics"}
_FAST = (
    "-menable-no-infs",
    "-menable-no-nans",
    "-funsafe-math-optimizations",
    "-fno-signed-zeros",
    "-mreassociate",
    "-freciprocal-math",
    "-ffast-math",
)
_IGNORED = ("-O0", "-O1", "-O2", "-O3", "-Ofast", "--cuda-device-only", "--offload-device-only", "-fgpu-rdc")
_KNOWN = "-D -I -U -std= -g -w -Werror -ffast-math -ffp-contract= -munsafe-fp-atomics"


def parse_options(options: str) -> Options:
    """Options as of hipcc as clang's flags; UsageError names an unknown or incomplete one."""
    try:
        words = iter(shlex.split(options.removeprefix(HIP_OPTION)))
    except ValueError as error:
        raise UsageError(
            f"options {options!r} cannot be split into words: {error}", hint="balance the quotes"
        ) from None
    flags: list[str] = []
    std, contract, debug = DEFAULT_STD, "fast-honor-pragmas", False
    for word in words:
        if word[:2] in ("-D", "-I", "-U"):
            value = word[2:] or next(words, "")
            if not value:
                raise UsageError(f"option {word} needs a value", hint=f"write {word} VALUE or {word}VALUE")
            flags += [word[:2], os.path.abspath(value) if word[:2] == "-I" else value]
        elif word.startswith("-std="):
            std = word.removeprefix("-std=").replace("gnu++", "c++")
            if std not in STANDARDS:
                raise UsageError(f"option {word}: no such version of C++", hint="one of " + ", ".join(STANDARDS))
        elif word.startswith("-ffp-contract="):
            contract = word.removeprefix("-ffp-contract=")
            if contract not in ("on", "off", "fast", "fast-honor-pragmas"):
                raise UsageError(f"option {word} is none of on, off, fast")
        elif word in ("-ffast-math", "-use_fast_math", "--use_fast_math"):
            flags += _FAST
        elif word == "-g":
            debug = True
        elif word in _PLAIN:
            flags.append(_PLAIN[word])
        elif word not in _IGNORED:
            raise UsageError(f"unknown option {word!r} for HIP", hint=f"known: {_KNOWN}")
    return Options((*flags, f"-std={std}", f"-ffp-contract={contract}"), debug)


def compile_to_ir(
    source: str,
    filename: str,
    options: str = "",
    *,
    debug: bool = False,
    target: Sequence[str] = SPIR.clang,
    timeout: float = clang.TIMEOUT_SECONDS,
) -> clang.Frontend:
    """As `headwater.opencl.clang.compile_to_ir`, for HIP: IR for spir64, or for the GCN chip that ``target`` names.

    Raises SourceError at clang's first error, with what to do where the host's half of HIP is called, DeviceError for
    targets that HIP is not compiled for here, UsageError for bad options.
    """
    parsed = parse_options(options)
    on_host = tuple(target[: len(SPIR.clang)]) == SPIR.clang
    folder = os.path.dirname(os.path.abspath(filename))
    cwd = folder if os.path.isdir(folder) else None
    flags = [*_COMMON, *(_HOST if on_host else _chip(target)), *parsed.flags]
    if cwd is not None:
        flags += ["-iquote", cwd]
    found: tuple[str, ...] = ()
    with temporary.folder() as listings:
        if includes.present(source):
            words = [
                f"-I{value}" for option, value in zip(parsed.flags, parsed.flags[1:], strict=False) if option == "-I"
            ]
            looked_at = includes.looked_at(source, filename, words)
            listing = Path(listings) / "includes"
            flags += ["-dependency-file", str(listing), "-MT", "kernel", "-sys-header-deps"]
        done = clang.run_clang([*flags, "-o", "-", "-"], clang.numbered(source, filename), cwd=cwd, timeout=timeout)
        messages = done.stderr.decode(errors="replace")
        if done.returncode:
            raise host_api.explained(clang.source_error(messages, source, filename, cwd), source)
        if includes.present(source):
            read = clang.included(listing, source, filename, cwd)
            found = tuple(sorted(looked_at | {path for path in read if not path.startswith(str(INCLUDE))}))
    module = Module(with_names(done.stdout.decode(), symbol_of))
    calling = SPIR.calling if on_host else ""
    with_opencl_printf(module, source, filename, calling=calling, any_strings=on_host)
    kernels = kernels_of(module)
    _refuse_unset(module, source, filename)
    if on_host and not debug:  # checks run work-items one by one
        _keep_in_step(module)
    _as_opencl(module, kernels, keep_lines=debug or parsed.debug, on_host=on_host)
    with_library_calls(module, calling)
    return clang.Frontend(str(module), {kernel.info.name: kernel.info for kernel in kernels}, messages, found)


def _chip(target: Sequence[str]) -> tuple[str, ...]:
    """cc1's flags for the driver's ``target``."""
    words = list(target)
    if "amdgcn-amd-amdhsa" not in words:
        raise DeviceError(
            "HIP is compiled for GCN and CDNA chips and for the cpu device only",
            hint="choose such a chip (vega64, mi250x), or write OpenCL C, which all devices take",
        )
    named = {word.partition("=")[0]: word.partition("=")[2] for word in words if word.startswith("-m")}
    return (
        *("-triple", "amdgcn-amd-amdhsa", "-target-cpu", named["-mcpu"]),
        f"-mcode-object-version={named['-mcode-object-version']}",
    )


# ---------------------------------------------------------------------------------------------- IR as OpenCL C's

_HIDDEN_PREFIX = "hip."
_HOUSEKEEPING = ("__hip_cuid_",)
_METADATA_SECTION = 'section "llvm.metadata"'
_MERGED = ("linkonce_odr", "weak_odr", "linkonce", "weak")
_VISIBILITIES = ("hidden", "protected")


def _keep_in_step(module: Module) -> None:
    """Wavefronts exchange values through volatile shared memory without a barrier, as on hardware: where a function has
    volatile accesses, it says so (`headwater.vectorise.prepare.kernel`)."""
    for body in module.bodies.values():
        at = next((n for n, line in enumerate(body.lines) if accesses_volatile(line)), None)
        if at is not None:
            body.replace({at: [f"  call spir_func void @{_STEP}()", body.lines[at]]})
            module.declare(f"declare spir_func void @{_STEP}() convergent nounwind")


def _as_opencl(module: Module, kernels: Sequence[Kernel], *, keep_lines: bool, on_host: bool) -> None:
    """clang's module for HIP becomes one as of OpenCL C: kernels by their names, all else internal, no debug
    information but lines, one place for local memory of which the launch says the size."""
    module.heading = [line for line in module.heading if not line.startswith("$")]  # comdats
    dynamic = {name: known for name in module.globals if (known := _dynamic(module, name)) is not None}
    for name, line in list(module.globals.items()):
        if name[1:].startswith(_HOUSEKEEPING) or _METADATA_SECTION in line or (on_host and name in dynamic):
            del module.globals[name]
        else:
            module.globals[name] = _own_variable(module, name)
    for name, line in module.declares.items():
        module.declares[name] = without_words(line, _VISIBILITIES)
    for body in module.bodies.values():
        body.head = without_comdat(without_words(body.head, (*_VISIBILITIES, *_MERGED)))
        _reduce_places(body, keep_lines=keep_lines)
    if keep_lines:
        for name, node in module.metadata.items():
            node = node.replace("emissionKind: FullDebug", "emissionKind: LineTablesOnly")
            module.metadata[name] = without_field(node, "retainedNodes")  # there are none with line tables alone
    else:
        module.metadata.pop("!llvm.dbg.cu", None)
        module.globals = {name: without_metadata(line, "dbg") for name, line in module.globals.items()}
        module.declares = {name: without_metadata(line, "dbg") for name, line in module.declares.items()}
    names = {kernel.symbol: symbol_of(kernel.info.name) for kernel in kernels}
    # The library has functions of such names, and what a program defines itself is another's.
    names |= {name: _HIDDEN_PREFIX + name for name in module.bodies if name not in names}
    if dynamic and on_host:
        align = max(16, *(known.align for known in dynamic.values()))
        names |= {name[1:]: DYNAMIC_LOCAL for name in dynamic}
        kind = f"[{_MOST_LOCAL_BYTES} x i8]"
        whole = f"@{DYNAMIC_LOCAL} = internal addrspace(3) global {kind} undef, align {align}"
        module.globals = {f"@{DYNAMIC_LOCAL}": whole} | module.globals
    module.rename(names)
    if on_host:
        module.heading = [line for line in module.heading if not line.startswith("target ")]
        module.heading += SPIR.heading.splitlines()


def _dynamic(module: Module, name: str) -> Global | None:
    return module.variable(name) if is_dynamic_local(module, name) else None


def _own_variable(module: Module, name: str) -> str:
    """The line of a variable that no other file has, or may replace."""
    known = module.variable(name)
    if known is None:
        return module.globals[name]
    left = (*_VISIBILITIES, *_MERGED, "internal", "externally_initialized")
    words = [word for word in known.head.split() if word not in left]
    own = words and words[0] in ("local_unnamed_addr", "unnamed_addr", f"addrspace({known.space})")
    head = " ".join(["internal", *words] if own else [word for word in known.head.split() if word not in left[:2]])
    return f"{name} = {head} {without_comdat(module.globals[name].removeprefix(f'{name} = {known.head}'))}"


def _reduce_places(body: Body, *, keep_lines: bool) -> None:
    """Leave away what debuggers want to know of variables, and of lines unless these are to stay."""
    changes: dict[int, list[str]] = {}
    for number, line in enumerate(body.lines):
        if "#dbg_" in line and not body.operations[number] and "#dbg_label" not in line:
            changes[number] = []
        elif not keep_lines and "!dbg" in line:
            changes[number] = [without_metadata(line, "dbg")]
    body.replace(changes)
    if not keep_lines:
        body.head = without_metadata(body.head, "dbg")


_WITHOUT_VALUE = re.compile(r"__constant__[^;={}()]*?\b(\w+)\s*(?:\[[^\]]*\]\s*)*;")


def _refuse_unset(module: Module, source: str, filename: str) -> None:
    """SourceError for variables that only the host could give a value."""
    for symbol in module.globals:
        known = module.variable(symbol)
        if known is None or not known.is_external or is_dynamic_local(module, symbol):
            continue
        raise SourceError(
            f"{symbol[1:]} is declared extern, and defined nowhere",
            Span(filename),
            hint="define it in the program: other files are not linked to it",
        )
    for place in _WITHOUT_VALUE.finditer(source):
        name = place[1]
        own = re.compile(rf"(?:_ZL?\d+)?{name}")
        if not any(own.fullmatch(symbol[1:]) and _is_unset(module, symbol) for symbol in module.globals):
            continue
        line = source.count("\n", 0, place.start(1)) + 1
        column = place.start(1) - (source.rfind("\n", 0, place.start(1)) + 1) + 1
        raise SourceError(
            f"__constant__ {name} has no value: the host would set it (hipMemcpyToSymbol)",
            Span(filename, line, column),
            hint="give it its value in the source, or make it a const pointer argument of the kernel",
            source_line=source.splitlines()[line - 1],
        )


def _is_unset(module: Module, symbol: str) -> bool:
    """Whether it waits for the host to give it its value."""
    known = module.variable(symbol)
    if known is None or "externally_initialized" not in known.head.split():
        return False
    return known.initialiser.startswith(("zeroinitializer", "undef"))
