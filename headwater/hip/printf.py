"""Input: HIP's module with calls of C's printf. Output: the module with OpenCL C's, whose format strings are
literals."""

from __future__ import annotations

from headwater.errors import SourceError, Span
from headwater.llvm.ir import Inst, Module
from headwater.llvm.text import first_symbol, string_bytes
from headwater.opencl.printf import parse, strings_in

_NAME = "printf"


def with_opencl_printf(module: Module, source: str, filename: str, *, calling: str, any_strings: bool) -> None:
    """C++ casts strings to generic pointers: OpenCL C's printf takes them without. ``calling``: the convention of
    built-ins, with a blank. ``any_strings``: %s prints strings that are no literals, too.

    Raises SourceError, with its line, for what must be a literal and is none.
    """
    if _NAME not in module.declares:
        return
    space = 0
    for body in module.bodies.values():
        changes: dict[int, list[str]] = {}
        for number, inst in body.calls(f"{_NAME}("):
            literals = [_literal(module, value.text) for value in inst.args]
            form = module.variable(literals[0]) if literals[0] else None
            if form is None:
                raise _fault("the format of printf must be a string literal", inst, source, filename)
            text = string_bytes(form.initialiser).decode("utf-8", "replace") if form.initialiser[0] == "c" else ""
            strings = strings_in(parse(text))
            if not any_strings and not all(literals[1 + slot] for slot in strings if 1 + slot < len(literals)):
                raise _fault("on chips printf prints string literals by %s", inst, source, filename)
            space = form.space
            values = [
                f"ptr addrspace({space}) {literal}" if literal else f"{value.ty} {value.text}"
                for literal, value in zip(literals, inst.args, strict=True)
            ]
            result = f"  {inst.name} = " if inst.name else "  "
            place = f", !dbg {inst.site}" if inst.site else ""
            kind = f"call {calling}i32 (ptr addrspace({space}), ...)"
            changes[number] = [f"{result}{kind} @{_NAME}({', '.join(values)}){place}"]
        body.replace(changes)
    del module.declares[_NAME]
    module.declare(f"declare {calling}i32 @{_NAME}(ptr addrspace({space}), ...)")


def _literal(module: Module, text: str) -> str:
    """The string of which an operand is the pointer, or a cast of that; "" for other operands."""
    symbol = first_symbol(text)
    known = module.variable(symbol) if symbol in module.globals else None
    if known is None or not known.initialiser.startswith(('c"', "zeroinitializer")):
        return ""
    return symbol if text in (symbol, f"addrspacecast (ptr addrspace({known.space}) {symbol} to {_to(text)}") else ""


def _to(text: str) -> str:
    return text.rpartition(" to ")[2]


def _fault(message: str, inst: Inst, source: str, filename: str) -> SourceError:
    lines = source.splitlines()
    return SourceError(
        message,
        Span(filename, inst.line, inst.column),
        hint="write each one out in a call of its own",
        source_line=lines[inst.line - 1] if 0 < inst.line <= len(lines) else "",
    )
