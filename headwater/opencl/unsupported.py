"""Input: the front end's module. Output: an error where clang accepts something that no device can run.

Every device refuses the same: what LLVM would stop at for one target, or link for none, is not left to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from headwater.errors import SourceError, Span
from headwater.llvm.ir import Body, Inst, Module, result_of
from headwater.llvm.text import (
    attachment,
    callee_of,
    calls_value,
    element_count,
    symbols_in,
    variable_declared,
    without_addresses,
)
from headwater.llvm.types import PRIVATE_SPACE
from headwater.opencl.source_locations import Places
from headwater.opencl.symbols import name_of

MOST_BYTES = 1 << 31
"""Bytes from which on no variable can be placed: clang refuses them by itself where pointers have 32 bits, and code of
this machine reaches its constants by offsets of 31."""

_BLOCK = "_block_invoke"
"""Ends the names of blocks' functions, before a number (clang, CGBlocks.cpp)."""
_OF_STACKS = ("frameaddress", "returnaddress", "addressofreturnaddress", "sponentry", "stacksave", "thread.pointer")
"""LLVM's intrinsics that ask about a stack or a thread."""
_WIDE = "i128"
_CONVERTED = ("udiv", "sdiv", "urem", "srem", "uitofp", "sitofp", "fptoui", "fptosi")
_SPACE_ATTRIBUTE = re.compile(r"\b(?:__)?address_space(?:__)?\s*\(\s*(\w*)\s*\)")
_SPACES = {"1", "3"}
"""Of global and local memory for clang's every target that is used here; the others' numbers differ."""


def refuse(
    module: Module, source: str, filename: str, debug_module: Callable[[], Module], *, is_part: bool = False
) -> None:
    """Raise SourceError for the first thing that no device can run. ``debug_module``: the module with full debug
    information, which takes another run of clang. ``is_part``: of a program, whose other units may define variables."""
    for found in _faults(module, is_part):
        message, hint, where = found
        span, text = where(Places(debug_module(), source, filename))
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


def without_weak(module: Module) -> None:
    """Definitions that another file's may replace become plain ones: there is no other file."""
    for body in module.bodies.values():
        body.head = _plain("define", body.head)
    for name, line in module.globals.items():
        module.globals[name] = _plain(f"{name} =", line)


def _plain(start: str, line: str) -> str:
    for weak in ("weak_odr", "weak"):
        line = line.replace(f"{start} {weak} ", f"{start} ", 1) if line.startswith(f"{start} {weak} ") else line
    return line


def without_addresses_of_blocks(module: Module) -> None:
    """Null for the addresses of blocks' functions: clang calls them by name, and stores the address beside what a block
    captures for `enqueue_kernel` and for calls that `refuse` finds."""
    if not _has_blocks(module):
        return
    for body in module.bodies.values():
        lines = {number: without_addresses(line, _BLOCK) for number, line in enumerate(body.lines) if _BLOCK in line}
        body.replace({number: [line] for number, line in lines.items()})
    for name, line in module.globals.items():
        module.globals[name] = without_addresses(line, _BLOCK)


def _has_blocks(module: Module) -> bool:
    return any(_BLOCK in name for name in module.bodies)


_Where = Callable[[Places], tuple[Span, str]]


def _faults(module: Module, is_part: bool) -> Iterator[tuple[str, str, _Where]]:
    """Message, hint and where to look for the place."""
    if any(line.startswith("module asm ") for line in module.heading):
        hint = "write it in OpenCL C; GCN chips take assembly inside of functions"
        yield "assembly outside of functions", hint, lambda p: p.of_text(r"\b(?:__asm__|__asm|asm)\b")
    for symbol, line in module.globals.items():
        known = module.variable(symbol) if " extern" in line and not is_part else None
        if known is not None and known.is_external:
            yield (
                f"{name_of(symbol[1:])} is declared extern, and defined nowhere",
                "define it in the program: other files are not linked to it",
                _use_of(symbol[1:]),
            )
    for symbol in module.globals:
        if module.is_alias(symbol):
            name = name_of(symbol[1:])
            hint = "call the function itself"
            yield f"{name} is declared as an alias, which OpenCL C does not have", hint, _word(name)
    if not module.globals.keys().isdisjoint(("@llvm.global_ctors", "@llvm.global_dtors")):
        hint = "call the function in the kernels"
        yield (
            "nothing runs before or after a program's kernels",
            hint,
            lambda p: p.of_text(r"\b_*(?:con|de)structor_*\b"),
        )
    if _has_blocks(module) and any(calls_value(line) for line in _lines(module, "call")):
        hint = "call a block in the function that it is written in, or write a function"
        yield "a block that is given to a function cannot be called there", hint, _instruction("call", calls_value)
    if any(element_count(line) for line in _lines(module, "alloca")):
        hint = "declare an array of a constant size; pass sizes with -D"
        where = _instruction("alloca", lambda line: element_count(line) != "")
        yield "stack memory whose size is only known at run time", hint, where
    for called in module.declares:
        if called.removeprefix("llvm.").startswith(_OF_STACKS) and called.startswith("llvm."):
            where = _instruction("call", lambda line, called=called: callee_of(line) == called)  # type: ignore[misc]
            yield f"work-items have no stack that can be looked at ({called})", "leave it out", where
    if any(_is_wide(inst) for body in module.bodies.values() for _, inst in body.having(*_CONVERTED, within=_WIDE)):
        hint = "write long or ulong, of 64 bits: OpenCL C reserves long long for 128"
        yield "integers of 128 bits are neither divided nor converted", hint, _wide_instruction
    yield from _large(module)


def _lines(module: Module, operation: str) -> Iterator[str]:
    """The lines of the instructions that do something."""
    for body in module.bodies.values():
        yield from body.doing(operation)


def _is_wide(inst: Inst) -> bool:
    return _WIDE in (inst.ty.text, inst.args[0].ty.text)


class Variable(NamedTuple):
    """A variable of the program or a function: its name, the function's ("": the program's), the number of its address
    space on spir64, and its bytes without what is left between its parts."""

    name: str
    function: str
    space: int
    least_bytes: int


def variables(module: Module) -> Iterator[Variable]:
    """Every variable whose type is known."""
    for name in module.globals:
        known = module.variable(name)
        if known is not None:
            yield Variable(name, "", known.space, known.ty.least_bytes)
    for body in module.bodies.values():
        for line in body.doing("alloca"):
            yield Variable(result_of(line), body.name, PRIVATE_SPACE, module.allocated(line).least_bytes)


def _large(module: Module) -> Iterator[tuple[str, str, _Where]]:
    """Variables that are too large for any memory."""
    for variable in variables(module):
        if variable.least_bytes >= MOST_BYTES:
            hint = f"a variable has less than {MOST_BYTES >> 30} GiB; pass a buffer"
            yield f"array is too large ({variable.least_bytes} bytes)", hint, declaration(variable)


def _instruction(operation: str, wanted: Callable[[str], bool]) -> _Where:
    """Where the first instruction of a kind stands, by what it does and its line."""

    def where(places: Places) -> tuple[Span, str]:
        for body in places.module.bodies.values():
            for line in body.doing(operation):
                if wanted(line):
                    if "!dbg" in line:
                        return places.of_instruction(line)
                    if node := _declared(body, result_of(line)):
                        return places.of_node(node)
        return Span(places.filename), ""

    return where


def _wide_instruction(places: Places) -> tuple[Span, str]:
    for body in places.module.bodies.values():
        for number, inst in body.having(*_CONVERTED, within=_WIDE):
            if _is_wide(inst) and inst.site:
                return places.of_instruction(body.lines[number])
    return Span(places.filename), ""


def _declared(body: Body, name: str) -> str:
    """The node that says where a function's variable is declared; "" if none does."""
    found = (node for variable, node in map(variable_declared, body.lines) if variable == name)
    return next(found, "")


def _word(name: str) -> _Where:
    return lambda places: places.of_text(rf"\b{re.escape(name)}\b")


def _use_of(symbol: str) -> _Where:
    """Where a function uses what has a symbol; else where the source names it first."""

    def where(places: Places) -> tuple[Span, str]:
        for body in places.module.bodies.values():
            for line in body.lines:
                if "!dbg" in line and symbol in symbols_in(line):
                    return places.of_instruction(line)
        return _word(name_of(symbol))(places)

    return where


def declaration(variable: Variable) -> _Where:
    """Where a variable is declared."""

    def where(places: Places) -> tuple[Span, str]:
        if variable.function:
            body = places.module.bodies.get(variable.function)
            node = _declared(body, variable.name) if body is not None else ""
        else:
            node = attachment(places.module.globals.get(variable.name, ""), "dbg")
        if node:
            return places.of_node(node)
        return _word(name_of(variable.name[1:]).rpartition(".")[2])(places)

    return where
