"""Input: an LLVM module of a program. Output: the module with all that it calls of the device library, or the error.

It knows llvmlite, as `headwater.opencl.codegen` does: only what runs in the worker process imports it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import llvmlite.binding as llvm

from headwater.errors import SourceError, Span
from headwater.llvm.ir import Module
from headwater.llvm.modules import parse
from headwater.llvm.passes.inlining import callers_first, calls_of
from headwater.opencl.platforms import Platform, is_primitive
from headwater.opencl.symbols import name_of

_SPACE_OF_POINTERS = {f"__to_{space}": f"to_{space}" for space in ("global", "local", "private")} | {
    "get_fence": "get_fence"
}
"""What clang calls for OpenCL C 2.0's functions of generic pointers (CGBuiltin.cpp), and what they are called."""


def link_library(module: llvm.ModuleRef, filename: str, platform: Platform, adapt: Callable[[str], str]) -> None:
    """Link in what the module calls of the device library, its text made fit by ``adapt``.

    Raises SourceError for calls of functions that neither the program nor the library defines.
    """
    from headwater.opencl import library

    undefined = _undefined(module, platform)
    if not platform.tells_memory:
        _refuse_questions(undefined, filename)
    if undefined:
        link_pieces(module, library.definitions(undefined, platform), adapt)
        refuse_undefined(module, filename, platform)


def link_pieces(module: llvm.ModuleRef, pieces: Iterable[str], adapt: Callable[[str], str]) -> None:
    """Link in what `library.definitions` gave, made fit by ``adapt``."""
    for text in pieces:
        module.link_in(parse(adapt(text)))


def refuse_undefined(module: llvm.ModuleRef, filename: str, platform: Platform) -> None:
    """Raise SourceError if the module calls what is defined nowhere."""
    left = _undefined(module, platform)
    if left:
        names = ", ".join(sorted(_plain_name(n) for n in left))
        raise SourceError(
            f"call of undefined function: {names}",
            Span(filename),
            hint="define it in the program, or include the file that does",
        )


def _refuse_questions(undefined: Iterable[str], filename: str) -> None:
    """Raise SourceError if the module asks which memory a generic pointer is to."""
    if asked := sorted({_plain_name(name) for name in undefined} & _SPACE_OF_POINTERS.keys()):
        raise SourceError(
            f"the address space of a generic pointer is not known at run time: {_SPACE_OF_POINTERS[asked[0]]}",
            Span(filename),
            hint="declare the pointer global, local or private, and write the function for each",
        )


def refuse_recursion(left: Iterable[str], filename: str) -> None:
    """Raise SourceError if functions are ``left`` where all that can be inlined has been."""
    names = ", ".join(sorted(_plain_name(n) for n in left))
    if names:
        raise SourceError(
            f"recursion is not supported: {names} calls itself, directly or by way of others",
            Span(filename),
            hint="OpenCL C forbids recursion (OpenCL C 1.2 specification 6.9.i); write a loop",
        )


def recursive(module: Module, kernels: Iterable[str]) -> list[str]:
    """The functions of a module that ``kernels`` come to call and that call themselves, by way of others too."""
    calls = calls_of(module)

    def reached(starts: Iterable[str]) -> set[str]:
        found: set[str] = set()
        waiting = list(starts)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(calls.get(name, ()))
        return found

    left = reached(kernels)
    for name in reversed(callers_first(module)):
        if not left.intersection(calls[name]):
            left.discard(name)
    return sorted(name for name in left if name in reached(calls.get(name, ())))


def _undefined(module: llvm.ModuleRef, platform: Platform) -> dict[str, str]:
    """Symbol -> ``declare`` line of what nobody defines."""
    return {
        f.name: str(f).strip().splitlines()[-1]
        for f in module.functions
        if f.is_declaration and not f.name.startswith("llvm.") and not is_primitive(f.name, platform)
    }


_KERNEL_BODY = "__clang_ocl_kern_imp_"
"""What clang puts before a kernel's name where another kernel calls it (CodeGenFunction.cpp)."""


def _plain_name(symbol: str) -> str:
    symbol = name_of(symbol).removeprefix(_KERNEL_BODY)
    match = re.match(r"_Z(\d+)", symbol)
    # The number counts bytes of UTF-8.
    return symbol[match.end() :].encode()[: int(match[1])].decode(errors="replace") if match else symbol
