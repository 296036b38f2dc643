"""HIP source text and options pass in; LLVM IR as that of OpenCL C and what each kernel's arguments are pass out.

clang compiles the device's half of the language for the machine that is asked for. Work-item functions, barriers and
mathematics have the names of OpenCL C's built-ins in our header, so that the device library defines them.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.base import temporary
from headwater.errors import DeviceError, SourceError, Span, UsageError
from headwater.hip import host_api
from headwater.hip.signatures import Kernel, kernels_of
from headwater.opencl import clang, includes
from headwater.opencl.kernels import HIP_OPTION
from headwater.opencl.library_calls import with_library_calls
from headwater.opencl.platforms import SPIR
from headwater.opencl.symbols import symbol_of, with_plain_symbols
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
            read = clang.included(listing.read_text(errors="surrogateescape"), cwd)
            found = tuple(sorted(looked_at | {path for path in read if not path.startswith(str(INCLUDE))}))
    text, strings = _without_strings(done.stdout.decode())
    text = with_plain_symbols(text)
    kernels = kernels_of(text)
    _refuse_unset(text, source, filename)
    ir = _as_opencl(text, kernels, keep_lines=debug or parsed.debug, on_host=on_host)
    ir = with_library_calls(ir, SPIR.calling if on_host else "")
    ir = _STRING.sub(lambda m: strings[int(m[0][2:-1])], ir)
    return clang.Frontend(ir, {kernel.info.name: kernel.info for kernel in kernels}, messages, found)


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

_STRING = re.compile(r'\bc"[^"]*"')
"""A constant's bytes (LLVM Language Reference, "Complex Constants"); a quote in it is written \\22."""


def _without_strings(text: str) -> tuple[str, list[str]]:
    """IR with numbers for its strings, and the strings: what is between their quotes is data, whatever it is."""
    numbers = itertools.count()
    return _STRING.sub(lambda _: f'c"{next(numbers)}"', text), _STRING.findall(text)


_HOUSEKEEPING = re.compile(r'^@(?:[^\n]* section "llvm\.metadata"[^\n]*|__hip_cuid_\w* = [^\n]*)\n', re.MULTILINE)
_COMDAT = re.compile(r"^\$[^\n]*comdat[^\n]*\n", re.MULTILINE)
_IN_COMDAT = re.compile(r",? comdat(?:\([^)\n]*\))?(?=[ ,\n])")
_MERGED_FUNCTION = re.compile(r"^define (?:linkonce_odr|weak_odr|linkonce|weak) ", re.MULTILINE)
_OWN_VARIABLE = re.compile(
    r"^(@[\w.$-]+ = )(?:linkonce_odr |weak_odr |linkonce |weak |internal )?(?=(?:local_)?(?:unnamed_addr )?addrspace)",
    re.MULTILINE,
)
_DEFINED = re.compile(r"^define [^@\n]*@([\w.$-]+)\(", re.MULTILINE)
_DYNAMIC = re.compile(
    r"^@([\w.$-]+) = (?:external |hidden |protected |dso_local )*addrspace\(3\) global \[0 x [^\n]*?"
    r"(?:, align (\d+))?\n",
    re.MULTILINE,
)
_UNDEFINED = re.compile(r"^@([\w.$-]+) = external (?!addrspace\(3\) global \[0 x)[^\n]*", re.MULTILINE)
_VARIABLE_PLACE = re.compile(r"^ *#dbg_(?!label)[^\n]*\n", re.MULTILINE)
_VARIABLES = re.compile(r", retainedNodes: !\d+")
_DEBUG = re.compile(r",? !dbg !\d+")
_VISIBILITY = re.compile(r"^((?:define|declare|@[\w.$-]+ =)[^@\n]*?)\b(?:hidden|protected) ", re.MULTILINE)
_HIDDEN_PREFIX = "hip."


def _as_opencl(text: str, kernels: Sequence[Kernel], *, keep_lines: bool, on_host: bool) -> str:
    """clang's IR for HIP as that of OpenCL C looks: kernels by their names, all else internal, no debug information but
    lines, one place for local memory of which the launch says the size."""
    text = _IN_COMDAT.sub("", _COMDAT.sub("", _HOUSEKEEPING.sub("", text)))
    text = _VISIBILITY.sub(r"\1", text).replace(" externally_initialized ", " ")
    text = _OWN_VARIABLE.sub(r"\1internal ", _MERGED_FUNCTION.sub("define ", text))
    text = _VARIABLE_PLACE.sub("", text)
    if not keep_lines:
        text = re.sub(r"^!llvm\.dbg\.cu = .*\n", "", _DEBUG.sub("", text), flags=re.MULTILINE)
    else:
        text = text.replace("emissionKind: FullDebug", "emissionKind: LineTablesOnly")
        text = _VARIABLES.sub("", text)  # LLVM takes it that there are none with line tables alone
    names = {kernel.symbol: symbol_of(kernel.info.name) for kernel in kernels}
    # The library has functions of such names, and what a program defines itself is another's.
    others = {name: _HIDDEN_PREFIX + name for name in _DEFINED.findall(text) if name not in names}
    names |= others
    dynamic = _DYNAMIC.findall(text)
    if dynamic and on_host:
        align = max(int(align or 1) for _, align in dynamic)
        text = _DYNAMIC.sub("", text)
        names |= {name: DYNAMIC_LOCAL for name, _ in dynamic}
        whole = (
            f"@{DYNAMIC_LOCAL} = internal addrspace(3) global [{_MOST_LOCAL_BYTES} x i8] undef, align {max(align, 16)}"
        )
        text = text.replace("\n\n", f"\n\n{whole}\n", 1)
    text = re.sub(r"@([\w.$-]+)", lambda m: f"@{names.get(m[1], m[1])}", text)
    if on_host:
        heading = dict(zip(("target datalayout", "target triple"), SPIR.heading.splitlines(), strict=True))
        for start, line in heading.items():
            text = re.sub(rf"^{start} = .*$", line, text, flags=re.MULTILINE)
    return text


_WITHOUT_VALUE = re.compile(r"__constant__[^;={}()]*?\b(\w+)\s*(?:\[[^\]]*\]\s*)*;")


def _refuse_unset(text: str, source: str, filename: str) -> None:
    """SourceError for variables that only the host could give a value."""
    for found in _UNDEFINED.finditer(text):
        raise SourceError(
            f"{found[1]} is declared extern, and defined nowhere",
            Span(filename),
            hint="define it in the program: other files are not linked to it",
        )
    for place in _WITHOUT_VALUE.finditer(source):
        name = place[1]
        if not re.search(rf"^@(?:_ZL?\d+)?{name} = [^\n]*externally_initialized [^\n]*(?:zeroinit|undef)", text, re.M):
            continue
        line = source.count("\n", 0, place.start(1)) + 1
        column = place.start(1) - (source.rfind("\n", 0, place.start(1)) + 1) + 1
        raise SourceError(
            f"__constant__ {name} has no value: the host would set it (hipMemcpyToSymbol)",
            Span(filename, line, column),
            hint="give it its value in the source, or make it a const pointer argument of the kernel",
            source_line=source.splitlines()[line - 1],
        )
