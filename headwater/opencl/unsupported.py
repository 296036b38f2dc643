"""Input: the front end's IR. Output: an error where clang accepts something that no device can run.

Every device refuses the same: what LLVM would stop at for one target, or link for none, is not left to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from headwater.errors import SourceError, Span
from headwater.llvm.text import split
from headwater.opencl.source_locations import Places
from headwater.opencl.symbols import name_of

MOST_BYTES = 1 << 31
"""Bytes from which on no variable can be placed: clang refuses them by itself where pointers have 32 bits, and code of
this machine reaches its constants by offsets of 31."""

_EXTERN = re.compile(r"^@([\w.$]+) = (?:external|extern_weak) [^\n]*\b(?:global|constant) ", re.MULTILINE)
_ALIAS = re.compile(r"^@([\w.$]+) = [^\n\"]*?\b(?:alias|ifunc) ", re.MULTILINE)
_WEAK = re.compile(r"^((?:define|@[\w.$]+ =) )weak(?:_odr)? ", re.MULTILINE)
_STACK = re.compile(r"^ +%\S+ = alloca [^\n]*?, i(?:32|64) [^\n]*$", re.MULTILINE)
_SIZED = re.compile(r", i(?:32|64) (?![^\n]*})")
"""A number of elements; not a part of a structure's type, which a brace ends."""
_BLOCK = "_block_invoke"
"""Ends the names of blocks' functions, before a number (clang, CGBlocks.cpp)."""
_ADDRESS_OF_BLOCK = re.compile(
    rf'(?:addrspacecast \(ptr (?:addrspace\(\d+\) )?)?@(?:[\w.$]+|"[^"]+"){_BLOCK}\w*\b(?!\()'
    r"(?: to ptr(?: addrspace\(\d+\))?\))?"
)
_INDIRECT = re.compile(r"^ [^@\n]*\bcall (?:[\w.*<>{}\[\], ]|addrspace\(\d+\))*%[\w.]+\([^\n]*$", re.MULTILINE)
_OF_STACKS = ("frameaddress", "returnaddress", "addressofreturnaddress", "sponentry", "stacksave", "thread.pointer")
"""LLVM's intrinsics that ask about a stack or a thread."""
_WIDE = re.compile(
    r"^ [^\n]*? = (?:[us](?:div|rem)[^\n,%]* i128 |[us]itofp[^\n,%]* i128 |fpto[us]i [^\n]* to i128)[^\n]*$",
    re.MULTILINE,
)
_DECLARED = re.compile(r"\ndeclare [^@\n]*@llvm\.([\w.]+)")
_ALLOCA = re.compile(r" = alloca .*")
_GLOBAL = re.compile(r"\n@([\w.$]+) = .*?\b(?:global|constant) ")
_STRUCT = re.compile(r"\n(%[\w.$]+) = type (.*)")
_SPACE_ATTRIBUTE = re.compile(r"\b(?:__)?address_space(?:__)?\s*\(\s*(\w*)\s*\)")
_SPACES = {"1", "3"}
"""Of global and local memory for clang's every target that is used here; the others' numbers differ."""


def refuse(ir: str, source: str, filename: str, debug_ir: Callable[[], str]) -> None:
    """Raise SourceError for the first thing that no device can run. ``debug_ir``: the IR with full debug information,
    which takes another run of clang."""
    for found in _faults(ir):
        message, hint, where = found
        span, text = where(Places(debug_ir(), source, filename))
        raise SourceError(message, span, hint=hint, source_line=text)


def refuse_spaces(text: str, place: Callable[[int], tuple[Span, str]]) -> None:
    """Raise SourceError if a text, after its preprocessing, has an address space by a number that is none of OpenCL's.
    ``place``: of a position in the text."""
    for found in _SPACE_ATTRIBUTE.finditer(text):
        if found[1] not in _SPACES:
            span, line = place(found.start())
            raise SourceError(
                f"OpenCL C has no address space {found[1]}",
                span,
                hint="write __global, __local, __constant or __private",
                source_line=line,
            )


def without_weak(ir: str) -> str:
    """The IR with definitions that another file's may replace as plain ones: there is no other file."""
    return _WEAK.sub(r"\1", ir) if " weak" in ir else ir


def without_addresses_of_blocks(ir: str) -> str:
    """The IR with null for the addresses of blocks' functions: clang calls them by name, and stores the address beside
    what a block captures for `enqueue_kernel` and for calls that `refuse` finds."""
    return _ADDRESS_OF_BLOCK.sub("null", ir) if _BLOCK in ir else ir


_Where = Callable[[Places], tuple[Span, str]]


def _faults(ir: str) -> Iterator[tuple[str, str, _Where]]:
    """Message, hint and where to look for the place."""
    if "\nmodule asm " in ir:
        hint = "write it in OpenCL C; GCN chips take assembly inside of functions"
        yield "assembly outside of functions", hint, lambda p: p.of_text(r"\b(?:__asm__|__asm|asm)\b")
    for found in _EXTERN.finditer(ir) if " extern" in ir else ():
        yield (
            f"{name_of(found[1])} is declared extern, and defined nowhere",
            "define it in the program: other files are not linked to it",
            _use_of(found[1]),
        )
    for found in _ALIAS.finditer(ir) if " alias " in ir or " ifunc " in ir else ():
        name = name_of(found[1])
        yield f"{name} is declared as an alias, which OpenCL C does not have", "call the function itself", _word(name)
    if "@llvm.global_ctors" in ir or "@llvm.global_dtors" in ir:
        hint = "call the function in the kernels"
        yield (
            "nothing runs before or after a program's kernels",
            hint,
            lambda p: p.of_text(r"\b_*(?:con|de)structor_*\b"),
        )
    if _BLOCK in ir and _INDIRECT.search(ir):
        hint = "call a block in the function that it is written in, or write a function"
        yield "a block that is given to a function cannot be called there", hint, _instruction(_INDIRECT)
    if any(_SIZED.search(found[0]) for found in _ALLOCA.finditer(ir)):
        hint = "declare an array of a constant size; pass sizes with -D"
        yield "stack memory whose size is only known at run time", hint, _instruction(_STACK)
    for called in _DECLARED.findall(ir):
        if called.startswith(_OF_STACKS):
            call = re.compile(rf"^ [^\n]*\bcall [^@\n]*@llvm\.{re.escape(called)}\b[^\n]*$", re.MULTILINE)
            yield f"work-items have no stack that can be looked at (llvm.{called})", "leave it out", _instruction(call)
    if "i128" in ir and _WIDE.search(ir):
        hint = "write long or ulong, of 64 bits: OpenCL C reserves long long for 128"
        yield "integers of 128 bits are neither divided nor converted", hint, _instruction(_WIDE)
    yield from _large(ir)


class Variable(NamedTuple):
    """A variable of the program or a function: its name and the start of its definition in the IR, its bytes without
    what is left between its parts."""

    name: str
    head: str
    least_bytes: int


def variables(ir: str) -> Iterator[Variable]:
    """Every variable."""
    structs = dict(_STRUCT.findall(ir))

    @cache
    def size(text: str) -> int:
        text = text.strip()
        if text.startswith("%"):
            return size(structs.get(text, "{}"))
        if repeated := re.match(r"[<\[](\d+) x (.*)[>\]]$", text):
            return int(repeated[1]) * size(repeated[2])
        if text.startswith(("{", "<{")):
            return sum(size(field) for field in split(text.strip("<>")[1:-1]))
        number = re.match(r"i(\d+)$", text)
        return int(number[1]) // 8 if number else _BYTES.get(text, 1)

    places = [(f"@{found[1]}", found.end()) for found in _GLOBAL.finditer(ir)]
    places += [
        (ir[ir.rfind("%", 0, found.start()) : found.start()], found.start() + len(" = alloca "))
        for found in _ALLOCA.finditer(ir)
    ]
    for name, start in places:
        text = _type_at(ir, start)
        yield Variable(name, ir[ir.rfind("\n", 0, start) : start + len(text)], size(text))


def _large(ir: str) -> Iterator[tuple[str, str, _Where]]:
    """Variables that are too large for any memory."""
    for variable in variables(ir):
        if variable.least_bytes >= MOST_BYTES:
            hint = f"a variable has less than {MOST_BYTES >> 30} GiB; pass a buffer"
            yield f"array is too large ({variable.least_bytes} bytes)", hint, declaration(variable)


_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 4}


def _type_at(ir: str, start: int) -> str:
    """The type that stands at a position."""
    if ir[start] not in "<[{":
        end = re.compile(r"[\s,]").search(ir, start)
        return ir[start : end.start() if end else len(ir)]
    depth, position = 0, start
    for mark in re.compile(r"[<\[{(]|[>\]})]").finditer(ir, start):
        depth += 1 if mark[0] in "<[{(" else -1
        position = mark.end()
        if depth == 0:
            break
    return ir[start:position]


def _instruction(pattern: re.Pattern[str]) -> _Where:
    def where(places: Places) -> tuple[Span, str]:
        for found in pattern.finditer(places.ir):
            if "!dbg" in found[0]:
                return places.of_instruction(found[0])
            name = found[0].split()[0]
            if declared := re.compile(rf"#dbg_declare\(\w+[^,]* {re.escape(name)}, .*, (!\d+)\)").search(
                places.ir, found.end()
            ):
                return places.of_node(declared[1])
        return Span(places.filename), ""

    return where


def _word(name: str) -> _Where:
    return lambda places: places.of_text(rf"\b{re.escape(name)}\b")


def _use_of(symbol: str) -> _Where:
    """Where a function uses what has a symbol; else where the source names it first."""

    def where(places: Places) -> tuple[Span, str]:
        used = re.search(rf"^ [^\n]*@{re.escape(symbol)}(?![\w.$])[^\n]*!dbg[^\n]*$", places.ir, re.MULTILINE)
        return places.of_instruction(used[0]) if used else _word(name_of(symbol))(places)

    return where


def declaration(variable: Variable) -> _Where:
    """Where a variable is declared."""
    name = variable.name

    def where(places: Places) -> tuple[Span, str]:
        own = rf"#dbg_declare\(\w+[^,\n]* {re.escape(name)}, .*, (!\d+)\)"
        start = max(places.ir.find(variable.head), 0) + 1
        found = re.compile(own if name[0] == "%" else r".*!dbg (!\d+)").search(places.ir, start)
        return places.of_node(found[1]) if found else _word(name_of(name[1:]).rpartition(".")[2])(places)

    return where
