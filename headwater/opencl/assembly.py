"""Input: a program's IR. Output: errors at its inline assembly, or at calls of functions that do not exist.

Where the position is not in the IR that is compiled, the source goes through clang once more, with a line table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headwater.errors import SourceError
from headwater.llvm.ir import Module
from headwater.llvm.text import assembly_call, callee_of
from headwater.opencl.source_locations import Places
from headwater.opencl.symbols import symbol_of

_WHY = "the cpu device compiles for any"


def has_assembly(ir: str) -> bool:
    """Whether a function has inline assembly."""
    return assembly_call(ir) != ""


def refuse_assembly(source: str, filename: str, options: str, *, why: str = _WHY) -> SourceError:
    """The error for a program that has some, and ``why`` the device takes none."""
    from headwater.opencl import clang

    ir = clang.compile_to_ir(source, filename, options, debug=True).ir
    span, text = Places(Module(ir), source, filename).of_instruction(assembly_call(ir))
    return SourceError(
        f"inline assembly is of one processor's instruction set, and {why}",
        span,
        hint="write it in OpenCL C, or keep it from this device with #ifdef; GCN's own runs with --device vega64",
        source_line=text,
    )


@contextmanager
def located_at_calls(source: str, filename: str, debug_ir: Callable[[], str]) -> Iterator[None]:
    """An error of linking (`headwater.opencl.linking`) inside, which names functions behind its first colon, gets the
    place where the first of them is called. ``debug_ir``: the program's IR with a line table."""
    try:
        yield
    except SourceError as error:
        name = re.search(r": (\w+)", error.message)
        if error.span is None or error.span.line or name is None:
            raise
        module = Module(debug_ir())
        symbol = re.compile(rf"(?:_Z\d+|__\w*?)?{re.escape(symbol_of(name[1]))}\w*")
        # A kernel does nothing but call its own body, which others call too: clang's way to let kernels be called.
        bodies = [body for body in module.bodies.values() if not body.is_kernel]
        calls = (
            line
            for body in bodies
            for line, operation in zip(body.lines, body.operations, strict=True)
            if operation == "call" and symbol.fullmatch(callee_of(line))
        )
        span, text = Places(module, source, filename).of_instruction(next(calls, ""))
        raise SourceError(error.message, span, hint=error.hint, source_line=text, details=error.details) from None
