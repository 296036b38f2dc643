"""Input: OpenCL C source text and build options. Output: LLVM IR for spir64 and what each kernel's arguments are."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from headwater.base import reading, temporary
from headwater.errors import InternalError, ResourceError, SourceError, Span, UsageError, span_of_bytes
from headwater.llvm.ir import Module
from headwater.llvm.metadata import elements, numbers, strings
from headwater.llvm.text import type_end, unescaped, with_names
from headwater.native import limits, toolchain
from headwater.opencl import extensions, includes, tables, units, unsupported
from headwater.opencl.component_stores import with_components_stored
from headwater.opencl.kernels import (
    HIP_OPTION,
    Access as Access,
    ArgInfo as ArgInfo,
    KernelInfo as KernelInfo,
    Kind as Kind,
)
from headwater.opencl.library_calls import with_library_calls
from headwater.opencl.platforms import SPIR
from headwater.opencl.program_variables import variable_bytes
from headwater.opencl.symbols import name_of, symbol_of

HEADER = Path(__file__).with_name("header.h")
MEDIA_OPS = HEADER.with_name("amd_media_ops.h")
"""What programs get before them that have names which begin with amd_, or include files that may have such."""
DEFAULT_STD = "CL1.2"
STANDARDS = ("CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0")
TIMEOUT_SECONDS = 60.0
SECONDS_A_MEGABYTE = 1.0
"""What clang gets on top of that for each million bytes of source. Tables of 4 million bytes take 0.17 (``uint``), 0.40
(``uchar``) and 0.63 (``float``) s of processor time for each (clang 22, AMD EPYC)."""

# What every compilation has; that of a unit of the device library, which defines the built-ins, little else.
COMMON = (
    "-x",
    "cl",
    "-cl-no-stdinc",
    *extensions.flags(extensions.ALL),
    "-include",
    str(HEADER),
    "-O2",
    "-fomit-frame-pointer",
    "-Wno-unused-command-line-argument",
    "-fno-color-diagnostics",
)
# A user's program: clang declares the built-ins. No pass runs here, LLVM optimises later; -O0 would mark all optnone.
_PROGRAM = (
    *COMMON,
    "-Xclang",
    "-fdeclare-opencl-builtins",
    "-Xclang",
    "-mlong-double-64",  # OpenCL C reserves the name, and targets differ in what they mean by it
    "-Xclang",
    "-fexperimental-max-bitint-width=64",  # as wide as any device's
    "-Xclang",
    "-disable-llvm-passes",
    "-cl-kernel-arg-info",
    "-Werror=format-insufficient-args",  # printf would print what happens to lie behind its arguments
    # Errors since clang 15, warnings with the drivers' compilers, of which programs rely on it.
    "-Wno-error=incompatible-pointer-types",
    "-Wno-error=int-conversion",
    "-Wno-error=implicit-int",
)


@dataclass(frozen=True)
class Frontend:
    """What the front end makes of one source: IR text, its kernels by name, clang's warnings, and the files that it
    included, with the paths where such files were looked for in vain. ``tables``: constants that the IR only declares,
    see `headwater.opencl.tables`. ``variable_bytes``: the size of its variables in global memory, which OpenCL C has
    from 2.0 on."""

    ir: str
    kernels: dict[str, KernelInfo] = field(default_factory=dict)
    warnings: str = ""
    includes: tuple[str, ...] = ()
    tables: dict[str, tables.Table] = field(default_factory=dict)
    variable_bytes: int = 0

    def whole(self) -> str:
        """The IR with its tables."""
        return tables.with_tables(self.ir, self.tables)


# ---------------------------------------------------------------------------------------------- build options

_PLAIN = {  # options of clBuildProgram (OpenCL 3.0 API specification, 5.8.6) that clang takes as they are
    "-w",
    "-Werror",
    "-cl-single-precision-constant",
    "-cl-denorms-are-zero",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-no-signed-zeros",
    "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only",
    "-cl-fast-relaxed-math",
    "-cl-mad-enable",
    "-cl-uniform-work-group-size",
}
_BROOK = {"-a", "-pp"}
"""Options of another language, which the command line offers for all."""
# Hints to a driver that change nothing here: argument info is always made, LLVM always optimises, and accesses are
# never distinguished by type (`headwater.llvm.modules`).
_DRIVER_HINTS = {"-cl-kernel-arg-info", "-cl-opt-disable", "-cl-no-subgroup-ifp", "-cl-strict-aliasing"}
_IGNORED = _DRIVER_HINTS | {"-O0", "-O1", "-O2", "-O3"}
_CONTRACT_FAST = {"-cl-mad-enable", "-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations"}


_HIP = "hip.frontend"


def is_hip(options: str) -> bool:
    """Whether options are a HIP program's."""
    return options.startswith(HIP_OPTION)


@dataclass(frozen=True)
class Options:
    """Build options, taken apart: ``flags`` for clang, the language standard, whether ``-g`` was among them."""

    flags: tuple[str, ...] = ()
    std: str = DEFAULT_STD
    debug: bool = False


def parse_options(options: str) -> Options:
    """The option string of clBuildProgram as clang's flags; UsageError names an unknown or incomplete option."""
    try:
        words = shlex.split(options)
    except ValueError as error:
        raise UsageError(
            f"build options {options!r} cannot be split into words: {error}", hint="balance the quotes"
        ) from None
    flags: list[str] = []
    std, debug = DEFAULT_STD, False
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word[:2] in ("-D", "-I", "-U"):
            value = word[2:]
            if not value:
                if position == len(words):
                    raise UsageError(f"build option {word} needs a value", hint=f"write {word} VALUE or {word}VALUE")
                value = words[position]
                position += 1
            flags.append(word[:2] + (os.path.abspath(value) if word[:2] == "-I" else value))
        elif word.startswith("-cl-std="):
            std = word.removeprefix("-cl-std=")
            if std not in STANDARDS:
                raise UsageError(
                    f"build option {word}: no such version of OpenCL C", hint="one of " + ", ".join(STANDARDS)
                )
        elif word == "-g":
            debug = True
        elif word in _PLAIN:
            flags.append(word)
        elif word not in _IGNORED:
            import difflib

            known = [*_PLAIN, *_IGNORED, "-D", "-I", "-U", "-g", "-cl-std="]
            close = difflib.get_close_matches(word, known, 1)
            raise UsageError(
                f"unknown build option {word!r}",
                hint="it is Brook+'s: name the file .br"
                if word in _BROOK
                else f"did you mean {close[0]}?"
                if close
                else "known: " + " ".join(sorted(known)),
            )
    flags.append("-ffp-contract=fast" if _CONTRACT_FAST.intersection(words) else "-ffp-contract=on")
    return Options(tuple(flags), std, debug)


# ---------------------------------------------------------------------------------------------- running clang


_RUNAWAY = "look for runaway macros or includes in the source"
_LARGE = "pass large tables to the kernel as buffers rather than in its source"
_NO_MEMORY = (b"out of memory", b"OutOfMemory", b"bad_alloc")
"""What LLVM, zig's driver and the C++ library say."""


INCLUDE_ONLY = "HEADWATER_INCLUDE_ONLY"
"""The variable that names the only folder that sources may include files of: for who compiles what strangers write."""


@functools.cache
def _confined(folder: str) -> tuple[str, ...]:
    """clang's arguments by which it sees no files but those of a folder, Headwater's own headers and clang's: of others
    it says, as of those that do not exist, that they are not found."""
    own = [str(HEADER.parent), str(HEADER.parents[1] / "hip"), str(toolchain.zig_path().parent / "lib" / "include")]
    roots = [{"type": "directory-remap", "name": name, "external-contents": name} for name in (folder, *own)]
    overlay = {"version": 0, "case-sensitive": "true", "overlay-relative": "false", "redirecting-with": "redirect-only"}
    made = Path(temporary.make()) / "overlay.yaml"
    made.write_text(json.dumps({**overlay, "roots": roots}), encoding="utf-8")
    return ("-ivfsoverlay", str(made))


def run_clang(
    arguments: Sequence[str],
    source: str | bytes = b"",
    *,
    cwd: str | None = None,
    timeout: float = TIMEOUT_SECONDS,
    own_files: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run clang with ``source`` on its standard input; the caller judges ``returncode``.

    Where `INCLUDE_ONLY` names a folder it sees no files but that folder's, unless all that it is to read are
    ``own_files``, which Headwater made. Raises ResourceError when it takes longer than ``timeout`` seconds and
    `SECONDS_A_MEGABYTE` of source, more memory than `limits.memory_limit`, or is killed, InternalError when clang
    itself crashes.
    """
    data = source.encode("utf-8", "surrogateescape") if isinstance(source, str) else source
    allowed = timeout + SECONDS_A_MEGABYTE * (len(data) // 1_000_000)
    try:
        folder = os.environ.get(INCLUDE_ONLY, "")
        only = _confined(os.path.abspath(folder)) if folder and not own_files else ()
        first = arguments[:1] if arguments[:1] == ["-cc1"] else []  # which is the compiler itself, and must come first
        words = ["clang", *first, *only, *arguments[len(first) :]]
        done = toolchain.run(words, data, cwd=cwd, timeout=allowed)
    except subprocess.TimeoutExpired:
        hint = _LARGE if len(data) >= 1_000_000 else _RUNAWAY
        raise ResourceError(f"clang took longer than {allowed:g} s", hint=hint) from None
    if done.returncode and any(words in done.stderr for words in _NO_MEMORY):
        raise ResourceError(f"clang wanted more than {limits.memory_limit() / 2**30:.2g} GiB of memory", hint=_RUNAWAY)
    if killed := limits.killed(done.returncode):
        raise killed
    if done.returncode < 0 or b"PLEASE submit a bug report" in done.stderr:
        raise InternalError(f"clang crashed (status {done.returncode}): {done.stderr.decode(errors='replace')[-2000:]}")
    return done


def compile_to_ir(
    source: str,
    filename: str,
    options: str = "",
    *,
    debug: bool = False,
    target: Sequence[str] = SPIR.clang,
    timeout: float = TIMEOUT_SECONDS,
    is_part: bool = False,
) -> Frontend:
    """Compile OpenCL C to LLVM IR text, for the machine that the flags ``target`` say: by default spir64 (address
    spaces 0 private, 1 global, 2 constant, 3 local, 4 generic), with all extensions; `headwater.opencl.extensions` has
    the flags for fewer.

    ``filename`` is what diagnostics name, and its folder is searched for ``#include "…"``; the file need not exist.
    ``options`` are those of clBuildProgram; those that begin with "-x hip" are a HIP program's, see
    `headwater.hip.frontend`. A source of several `headwater.opencl.units` is compiled unit by unit, each by its own
    options, and linked; messages call the units ``k.unit1.cl`` and so on. One that ``is_part`` of a program may declare
    what other units define. ``debug`` adds line tables. Raises SourceError at clang's first error (all messages in
    ``details``), UsageError for bad options, DeviceError without clang, ResourceError after ``timeout`` seconds.
    """
    if is_hip(options):
        front: Callable[..., Frontend] = import_module(f"headwater.{_HIP}").compile_to_ir
        return front(source, filename, options, debug=debug, target=target, timeout=timeout)
    named = units.named(source, options, filename)
    made = [_unit(unit, name, debug, target, timeout) for name, unit in named]
    module = made[0].module if len(made) == 1 else _linked([unit.text for unit in made], filename, timeout)
    taken = tables.without_tables(module)
    unsupported.without_weak(module)
    unsupported.without_addresses_of_blocks(module)
    places = functools.partial(_ir_with_places, source, filename, options, target, timeout)
    unsupported.refuse(module, source, filename, places, is_part=is_part)
    with_components_stored(module)
    with_library_calls(module, SPIR.calling if target[: len(SPIR.clang)] == SPIR.clang else "")
    kernels = {name: info for unit in made for name, info in unit.kernels.items()}
    if len(made) > 1:
        for (file, _), unit in zip(named, made, strict=True):
            kernels |= {name: replace(info, file=file) for name, info in unit.kernels.items()}
    tables.elsewhere(module, taken)
    found = tuple(sorted({path for unit in made for path in unit.includes}))
    warnings = "".join(unit.warnings for unit in made)
    return Frontend(str(module), kernels, warnings, found, taken, variable_bytes(module))


class _Unit(NamedTuple):
    """What clang makes of one unit."""

    text: str
    module: Module
    kernels: dict[str, KernelInfo]
    warnings: str
    includes: set[str]


def _flags(source: str, options: str, target: Sequence[str]) -> list[str]:
    parsed = parse_options(options)
    flags = [*_PROGRAM, *target, f"-cl-std={parsed.std}", *parsed.flags]
    if "amd_" in source or ("#" in source and "include" in source) or "amd_" in options:
        flags += ["-include", str(MEDIA_OPS)]
    return flags


def _folder_of(filename: str) -> str | None:
    folder = os.path.dirname(os.path.abspath(filename))
    return folder if os.path.isdir(folder) else None


def _unit(unit: units.Unit, filename: str, debug: bool, target: Sequence[str], timeout: float) -> _Unit:
    source, options = unit
    parsed = parse_options(options)
    cwd = _folder_of(filename)
    flags = _flags(source, options, target)
    if debug or parsed.debug:
        flags += ["-gline-tables-only", *_HERE]
    found: set[str] = set()
    if includes.present(source):
        looked_at = includes.looked_at(source, filename, parsed.flags)
        with temporary.folder() as folder_of_listing:
            listing = Path(folder_of_listing) / "includes"
            made = [*flags, "-MD", "-MF", str(listing), *_EMIT]
            done = _run_on_program(made, source, filename, cwd, timeout)
            if done.returncode == 0:
                found = looked_at | included(listing, source, filename, cwd)
    else:
        done = _run_on_program([*flags, *_EMIT], source, filename, cwd, timeout)
    messages = done.stderr.decode(errors="replace")
    if done.returncode:
        raise source_error(messages, source, filename, cwd)
    if any("address_space" in text for text in (source, options, *map(_text_of, found))):
        _refuse_spaces(flags, source, filename, cwd, timeout)
    text = done.stdout.decode()
    module = _read(text)
    raw = _raw_kernels(module)
    _refuse_pipes(raw, source, filename)
    unknown = sorted({query for kernel in raw for query in kernel.size_queries()})
    sizes = _sizes_of(unknown, source, filename, flags, cwd, timeout) if unknown else {}
    return _Unit(text, module, {kernel.name: kernel.resolve(sizes) for kernel in raw}, messages, found)


def _read(text: str) -> Module:
    return Module(with_names(text, symbol_of))


def _linked(texts: Sequence[str], filename: str, timeout: float) -> Module:
    return _read(units.linked(texts, filename, functools.partial(run_clang, timeout=timeout, own_files=True), name_of))


def ir_with_places(source: str, filename: str, options: str = "", timeout: float = TIMEOUT_SECONDS) -> Module:
    """The module of a program for spir64 with all that debuggers want to know, by which
    `headwater.opencl.source_locations` finds what there is. SourceError for errors in the source."""
    return _ir_with_places(source, filename, options, SPIR.clang, timeout)


def _ir_with_places(source: str, filename: str, options: str, target: Sequence[str], timeout: float) -> Module:
    cwd = _folder_of(filename)
    texts = []
    for name, unit in units.named(source, options, filename):
        flags = [*_flags(*unit, target), "-w", "-g", *_HERE, *_EMIT]
        done = _run_on_program(flags, unit.source, name, cwd, timeout)
        if done.returncode:
            raise source_error(done.stderr.decode(errors="replace"), unit.source, name, cwd)
        texts.append(done.stdout.decode())
    module = _linked(texts, filename, timeout)
    unsupported.without_weak(module)
    return module


def _text_of(path: str) -> str:
    return "\n".join(reading.lines(path))


def _refuse_spaces(flags: list[str], source: str, filename: str, cwd: str | None, timeout: float) -> None:
    """`unsupported.refuse_spaces` on the source with its macros expanded."""
    text = _run_on_program([*flags, "-w", "-E", "-o", "-", "-"], source, filename, cwd, timeout).stdout.decode()

    def place(position: int) -> tuple[Span, str]:
        marks = list(re.finditer(r'^# (\d+) "(.*?)".*\n', text[:position], re.MULTILINE))
        line = int(marks[-1][1]) + text.count("\n", marks[-1].end(), position) if marks else 0
        file = marks[-1][2] if marks else filename
        lines = (source if file == filename else _text_of(os.path.join(cwd or "", file))).splitlines()
        shown = lines[line - 1] if 0 < line <= len(lines) else ""
        return Span(file, line, shown.find("address_space") + 1), shown

    unsupported.refuse_spaces(text, place)


_HERE = ("-fdebug-compilation-dir=.",)
_EMIT = ("-S", "-emit-llvm", "-o", "-", "-")


JOINED_LINES = 20_000
"""Lines in a row that end in a backslash and are empty before it, from which on they are why clang crashed: it calls
itself for each, and 200,000 of them use up a stack of 8 MiB."""

_JOINED = re.compile(rf"(?:\\[ \t\f\v]*(?:\r\n?|\n)){{{JOINED_LINES},}}")


def _run_on_program(
    arguments: Sequence[str], source: str, filename: str, cwd: str | None, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """`run_clang` on a program; SourceError if it crashed for what the program is known to have."""
    try:
        return run_clang(arguments, numbered(source, filename), cwd=cwd, timeout=timeout)
    except InternalError:
        joined = _JOINED.search(source)
        if joined is None:
            raise
        line = source.count("\n", 0, joined.start()) + 1
        raise SourceError(
            f"{joined[0].count(chr(92))} lines in a row that a backslash joins are more than clang can read",
            Span(filename, line, joined.start() - (source.rfind("\n", 0, joined.start()) + 1) + 1),
            hint="leave the empty lines out, and the backslashes at their ends",
        ) from None


def numbered(source: str, filename: str) -> str:
    """The source with its own name and line numbers, as clang is given it; a byte order mark is no part of it."""
    quoted = filename.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'#line 1 "{quoted}"\n{source.removeprefix(chr(0xFEFF))}\n'


def included(listing: Path, source: str, filename: str, cwd: str | None) -> set[str]:
    """The files of a Makefile dependency listing, absolute, without our own header; no devices, which have no end.

    SourceError without a listing: clang 22 writes none, and ends as if all were well, where it does not find a file to
    embed.
    """
    if not listing.exists():
        raise includes.embeds_nothing(source, filename)
    text = listing.read_text(errors="surrogateescape")
    words = re.findall(r"(?:\\ |[^\s\\]|\\(?!\n))+", text.partition(":")[2])
    paths = (
        os.path.normpath(os.path.join(cwd or os.getcwd(), word.replace("\\ ", " "))) for word in words if word != "-"
    )
    return {path for path in paths if path not in (str(HEADER), str(MEDIA_OPS)) and os.path.isfile(path)}


# ---------------------------------------------------------------------------------------------- diagnostics

_DIAGNOSTIC = re.compile(
    r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<level>fatal error|error): (?P<message>.*)$", re.MULTILINE
)
_PLACE = re.compile(r"^.+?:\d+:\d+: (fatal error|error|warning|note): ", re.MULTILINE)
_AMBIGUOUS_ATOMIC = re.compile(r"call to ('atom_\w+') is ambiguous")
"""What clang says of 64 bits where it declares the functions of 32 bits alone."""
_HINTS: tuple[tuple[str, str], ...] = (
    (
        r"'(atom_\w+)'",
        "the device may have no atomic operations, or none of 64 bits: test `#ifdef cl_khr_int64_base_atomics`",
    ),
    (r"call to '(\w+)' is ambiguous", "make the arguments' types equal, for example by a suffix (2.0f) or a cast"),
    (r"'(.+)' file not found", "give its folder with -I"),
    (r"unknown type name '(auto|class|template|namespace)'", "this is C++; OpenCL C is a dialect of C99"),
    (
        r"(get_\w+_linear_id|work_group_(reduce|scan|all|any|broadcast)\w*|atomic_(fetch|load|store|exchange|compare)\w*)'",
        "needs -cl-std=CL2.0 or CL3.0, and a device that has it",
    ),
    (
        r"(get_\w*sub_group\w*|sub_group_\w+)'",
        "sub-groups are there on the cpu and on simulated GCN chips (--device vega64), with -cl-std=CL2.0 or CL3.0",
    ),
    (
        r"(enqueue_\w+|get_default_queue|ndrange_[123]D|create_user_event)'",
        "kernels cannot launch kernels here: launch from the host",
    ),
    (
        r"declaring function parameter of type '.*\^",
        "a block is called where it is written; write functions and switch",
    ),
    (r"blocks support disabled", "blocks are of OpenCL C 2.0: -cl-std=CL2.0"),
    (r"unknown type name 'atomic_", "needs -cl-std=CL2.0 or CL3.0"),
    (r"requires cl_khr_fp64", "the device has no doubles: use float, or test `#ifdef cl_khr_fp64`"),
    (
        r"of type '[^']*\bhalf' is not allowed|(unknown type name|undeclared identifier) 'half\d+'",
        "the device has no halves: use float, and vload_half to read them",
    ),
    (
        r"requires __opencl_c_\w*images",
        "the device writes no images; those that are only read it takes in OpenCL C 1.2",
    ),
    (
        r"changes address space of pointer",
        "a pointer without an address space is private here: write global, local or constant before its type",
    ),
    (r"no matching function for call to '(\w+)'", "see the candidates' argument types below"),
    (
        r"bit-fields are not supported",
        "accept them by `#pragma OPENCL EXTENSION __cl_clang_bitfields : enable` before the structure",
    ),
    (r"pointers to functions are not allowed", "OpenCL C has no function pointers; use switch"),
    (
        r"variable length arrays are not supported|variable length array",
        "array sizes must be constants; pass them with -D",
    ),
    (
        r"extern(al)? linkage|non-constant .*program scope|in program scope",
        "program-scope variables are `__constant` with an initialiser",
    ),
)


def source_error(messages: str, source: str, filename: str, cwd: str | None = None) -> SourceError:
    """clang's first error, with its line of ``source`` or of the file that it names (relative to ``cwd``)."""
    found = _DIAGNOSTIC.search(messages)
    if found is None:
        first = re.search(r"error: (.*)", messages)
        return SourceError(first[1] if first else "clang refused the source", Span(filename), details=messages)
    file, line, column, message = found["file"], int(found["line"]), int(found["column"]), found["message"]
    message = _AMBIGUOUS_ATOMIC.sub(r"the device has no \1 for arguments of these types", message)
    text = units.line_of(source, filename, file, line)
    if not text and file != filename:
        path = os.path.normpath(os.path.join(cwd or os.getcwd(), file))
        lines = reading.lines(path) if _may_be_shown(path) else []
        file = path if lines else file
        text = lines[line - 1] if 0 < line <= len(lines) else ""
    return SourceError(
        message,
        span_of_bytes(file, line, column, text),
        hint=_hint(message),
        source_line=text,
        details=_others(messages, found),
    )


def _may_be_shown(path: str) -> bool:
    """Whether messages may quote a file: ``#line`` names any."""
    folder = os.environ.get(INCLUDE_ONLY, "")
    return not folder or os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def _others(messages: str, first: re.Match[str]) -> str:
    """What clang says beside the error ``first``, whose line is shown already."""
    after = _PLACE.search(messages, first.end())
    return (messages[: first.start()] + (messages[after.start() :] if after else "")).strip()


def _hint(message: str) -> str:
    unknown = re.search(r"unknown type name '(\w+)'", message)
    if unknown and (fixed := _STDINT.fullmatch(unknown[1])):  # clang would propose int8, a vector, for int8_t
        own = fixed[1] + {"8": "char", "16": "short", "32": "int", "64": "long"}[fixed[2]]
        return f"OpenCL C calls it {own}: -D {unknown[1]}={own}"
    suggestion = re.search(r"did you mean '(.+?)'\?", message)
    if suggestion:
        return f"did you mean {suggestion[1]}?"
    for pattern, hint in _HINTS:
        if re.search(pattern, message):
            return hint
    undeclared = re.search(r"use of undeclared (?:identifier|function) '(\w+)'|undeclared function '(\w+)'", message)
    if undeclared:
        import difflib

        from headwater.opencl.names import BUILTINS

        name = undeclared[1] or undeclared[2]
        if name in BUILTINS:
            return (
                "it belongs to an extension that the device does not have, or to another version of OpenCL C (-cl-std=)"
            )
        close = difflib.get_close_matches(name, BUILTINS, 1, 0.8)
        by_option = f"if it is a macro that the host defines: -D {name}=VALUE" if name.isupper() else ""
        return f"did you mean {close[0]}?" if close else by_option
    return _type_hint(unknown[1]) if unknown else ""


_LATER_TYPE = re.compile(r"memory_(?:order|scope)|queue_t|clk_event_t|ndrange_t|reserve_id_t")
_STDINT = re.compile(r"(u?)int(8|16|32|64)_t")


def _type_hint(name: str) -> str:
    """What a type that is not known may be."""
    if _LATER_TYPE.fullmatch(name):
        return "it belongs to another version of OpenCL C: -cl-std=CL3.0"
    import difflib

    types = [f"{scalar}{width}" for scalar in _SCALARS for width in ("", 2, 3, 4, 8, 16) if " " not in scalar]
    close = difflib.get_close_matches(name, types, 1, 0.75)
    return f"did you mean {close[0]}?" if close else f"if the host says what it is: -D {name}=float, for instance"


# ---------------------------------------------------------------------------------------------- kernel arguments

_SCALARS = {
    "bool": 1, "char": 1, "uchar": 1, "unsigned char": 1, "signed char": 1, "void": 1,
    "short": 2, "ushort": 2, "unsigned short": 2, "half": 2,
    "int": 4, "uint": 4, "unsigned int": 4, "float": 4,
    "long": 8, "ulong": 8, "unsigned long": 8, "double": 8,
}  # fmt: skip
_VECTOR = re.compile(r"(?P<scalar>[\w ]+?) __attribute__\(\(ext_vector_type\((?P<width>\d+)\)\)\)")
_IMAGE = re.compile(r"image\w+_t")
_IMAGE_ACCESS: dict[str, Access] = {"write_only": "write", "read_write": "read_write"}
_ARRAY = re.compile(r"(?P<element>.+?)(?P<extents>(?:\[\d+\])+)")


def _known_size(base: str) -> int | None:
    """Bytes of a type that needs no look at the program: scalar, vector (3 counts as 4), pointer, array of those."""
    base = base.strip()
    if base in _SCALARS:
        return _SCALARS[base]
    if base.endswith("*"):
        return 8
    if vector := _VECTOR.fullmatch(base):
        scalar = _known_size(vector["scalar"])
        width = int(vector["width"])
        return scalar * (4 if width == 3 else width) if scalar else None
    if array := _ARRAY.fullmatch(base):
        size = _known_size(array["element"])
        for extent in re.findall(r"\d+", array["extents"]):
            size = size * int(extent) if size is not None else None
        return size
    return None


@dataclass(frozen=True)
class _RawArg:
    name: str
    space: int
    access: str
    type_name: str
    base: str
    qualifiers: str

    @property
    def is_pointer(self) -> bool:
        return self.base.endswith("*")

    def size_query(self) -> str | None:
        """The type whose size only the program knows (a struct, an enum), if there is one."""
        if _IMAGE.fullmatch(self.base) or self.base == "sampler_t":
            return None
        type_name, base = (self.type_name, self.base)
        if self.is_pointer:
            type_name, base = type_name.removesuffix("*"), base.removesuffix("*")
        return type_name if _known_size(base) is None else None

    def resolve(self, sizes: dict[str, int]) -> ArgInfo:
        base = _VECTOR.sub(r"\g<scalar>\g<width>", self.base)
        if self.base == "sampler_t":
            return ArgInfo(self.name, "sampler", self.type_name, 4, "read", 0, base)
        if _IMAGE.fullmatch(self.base):
            return ArgInfo(self.name, "image", self.type_name, 8, _IMAGE_ACCESS.get(self.access, "read"), 0, base)
        query = self.size_query()
        # What a pointer is to may be declared and not defined.
        unknown = 1 if self.is_pointer else 0
        size = sizes.get(query, unknown) if query is not None else _known_size(self.base.removesuffix("*")) or 0
        if not self.is_pointer:
            return ArgInfo(self.name, "value", self.type_name, size, "read", 0, base)
        kind: Kind = "constant" if self.space == 2 else "local" if self.space == 3 else "buffer"
        reads = kind == "constant" or "const" in self.qualifiers.split()
        access: Access = "read" if reads else "read_write"
        return ArgInfo(self.name, kind, self.type_name, 8, access, size, base, self.qualifiers)


@dataclass(frozen=True)
class _RawKernel:
    name: str
    args: tuple[_RawArg, ...]
    reqd_group_size: tuple[int, int, int] | None
    hints: tuple[str, ...]

    def size_queries(self) -> list[str]:
        return [query for arg in self.args if (query := arg.size_query()) is not None]

    def resolve(self, sizes: dict[str, int]) -> KernelInfo:
        return KernelInfo(self.name, tuple(arg.resolve(sizes) for arg in self.args), self.reqd_group_size, self.hints)


_C_TYPES = {"i8": "char", "i16": "short", "i32": "int", "i64": "long"}


def _vec_type_hint(module: Module, node: str) -> str:
    """The attribute from clang's metadata, a value of the type and whether it is signed."""
    value, signed = elements(module.metadata[node])
    ty = module.type(value[: type_end(value, 0)])
    name = _C_TYPES.get(ty.scalar.text, ty.scalar.text)
    unsigned = "u" if ty.scalar.text in _C_TYPES and signed == "i32 0" else ""
    return f"vec_type_hint({unsigned}{name}{ty.count or ''})"


def _raw_kernels(module: Module) -> list[_RawKernel]:
    def texts(node: str) -> list[str]:
        return [unescaped(one) for one in strings(module.metadata[node])]

    kernels = []
    for body in module.bodies.values():
        if not body.is_kernel:
            continue
        attached = body.attached
        columns = (
            texts(attached["kernel_arg_name"]),
            numbers(module.metadata[attached["kernel_arg_addr_space"]]),
            texts(attached["kernel_arg_access_qual"]),
            texts(attached["kernel_arg_type"]),
            texts(attached["kernel_arg_base_type"]),
            texts(attached["kernel_arg_type_qual"]),
        )
        group = numbers(module.metadata[attached["reqd_work_group_size"]]) if "reqd_work_group_size" in attached else []
        args = tuple(_RawArg(*row) for row in zip(*columns, strict=True))
        hints = []
        if "work_group_size_hint" in attached:
            sizes = numbers(module.metadata[attached["work_group_size_hint"]])
            hints.append(f"work_group_size_hint({','.join(map(str, sizes))})")
        if "vec_type_hint" in attached:
            hints.append(_vec_type_hint(module, attached["vec_type_hint"]))
        required = (group[0], group[1], group[2]) if len(group) == 3 else None
        kernels.append(_RawKernel(name_of(body.name), args, required, tuple(hints)))
    return kernels


def _refuse_pipes(kernels: Sequence[_RawKernel], source: str, filename: str) -> None:
    """Raise SourceError if a parameter is a pipe, be it used or not."""
    for kernel in kernels:
        for arg in kernel.args:
            if "pipe" not in arg.qualifiers.split():
                continue
            found = re.search(rf"\bpipe\b[^,()]*\b{arg.name}\b", source)
            place, text = Span(filename), ""
            if found:
                line, column = (
                    source.count("\n", 0, found.start()),
                    found.start() - source.rfind("\n", 0, found.start()),
                )
                place, text = Span(filename, line + 1, column), source.split("\n")[line]
            raise SourceError(
                f"pipes are not supported: {arg.name} of {kernel.name}",
                place,
                hint="pass a buffer, and a counter that work-items increase by atomic_inc",
                source_line=text,
            )


def _sizes_of(
    types: list[str], source: str, filename: str, flags: list[str], cwd: str | None, timeout: float
) -> dict[str, int]:
    """Ask clang for ``sizeof`` of types that the program defines, by appending constants to it.

    Types without a name, and those that are declared in a kernel's parameters, are not known there: their sizes are in
    clang's list of the layouts of all structures. What is in neither, such as a structure that is declared and not
    defined, is left out.
    """
    sizes: dict[str, int] = {}
    asked = [name for name in types if "(unnamed" not in name]
    while asked:
        probes = [f"__constant unsigned long __hw_size_{i} = sizeof({name});" for i, name in enumerate(asked)]
        text = "\n".join((f'{numbered(source, filename)}#line 1 "{_PROBES}"', *probes, ""))
        done = run_clang([*flags, "-w", *_EMIT], text, cwd=cwd, timeout=timeout)
        if done.returncode == 0:
            module = Module(done.stdout.decode())
            found = ((name, module.global_value(f"@__hw_size_{index}")) for index, name in enumerate(asked))
            sizes = {name: int(size.text) for name, size in found}
            break
        wrong = {int(line) for line in re.findall(rf"^{_PROBES}:(\d+):", done.stderr.decode(errors="replace"), re.M)}
        asked = [name for line, name in enumerate(asked, 1) if line not in wrong] if wrong else []
    if len(sizes) == len(types):
        return sizes
    layouts = [*flags, "-w", "-Xclang", "-fdump-record-layouts-complete", "-fsyntax-only", "-"]
    done = run_clang(layouts, numbered(source, filename), cwd=cwd, timeout=timeout)
    listed = {name: int(size) for name, size in _LAYOUT.findall(done.stdout.decode(errors="replace"))}
    return {n: size for n in types if (size := sizes.get(n, _size_of_array(n, listed))) is not None}


_PROBES = "<sizes>"
_LAYOUT = re.compile(
    r"^\*\*\* Dumping AST Record Layout\n +0 \| (.*)\n(?:(?! +\| \[sizeof=).*\n)* +\| \[sizeof=(\d+)", re.MULTILINE
)
_SPACE = re.compile(r"^(?:__(?:global|constant|local|private) )?")
_ENUM = "enum "


def _size_of_array(name: str, sizes: dict[str, int]) -> int | None:
    """Bytes of a structure or enumeration, or an array of them. clang makes enumerations of ints."""
    name = _SPACE.sub("", name)
    if array := _ARRAY.fullmatch(name):
        size = _size_of_array(array["element"], sizes)
        for extent in re.findall(r"\d+", array["extents"]):
            size = size * int(extent) if size is not None else None
        return size
    return 4 if name.startswith(_ENUM) else sizes.get(name)
