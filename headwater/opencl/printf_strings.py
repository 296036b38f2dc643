"""Input: a module for GCN. Output: the same with other strings in calls of printf where LLVM would garble them.

LLVM writes a format's line feed as backslash and n but leaves a backslash alone: here it becomes \\134. And it does not
store the zeros that end a string of 0, 4, 8, … bytes, although it makes room for them: a byte 1 is put after.
`headwater.runtime.simulated.printf_memory` puts both right.
"""

from __future__ import annotations

import json

from headwater.llvm.ir import Module
from headwater.llvm.text import first_symbol, string_bytes, with_symbols
from headwater.opencl.printf import Specifier, parse

_CONSTANTS = 4
"""The address space of what may be printed."""


def with_printable_strings(module: Module) -> None:
    """Give calls of printf copies of such formats and strings."""
    for body in module.bodies.values():
        changes = {}
        for number, inst in body.calls("printf("):
            named = [first_symbol(value.text) if value.ty.space == _CONSTANTS else "" for value in inst.args]
            form, strings = named[0], {name: _printable(module, name) for name in named[1:] if name}
            if form:
                before, _, rest = body.lines[number].partition("@printf(")
                start = rest.find(form)
                after = with_symbols(rest[start + len(form) :], strings)
                copy = _printable(module, form, is_format=True)
                changes[number] = [f"{before}@printf({rest[:start]}{copy}{after}"]
        body.replace(changes)


def printed_variable(module: Module) -> str:
    """The format, as a literal, of a call of printf that prints a string which is no constant; "" if there is none."""
    for body in module.bodies.values():
        for _, inst in body.calls("printf("):
            form, *values = inst.args
            known = module.variable(first_symbol(form.text)) if first_symbol(form.text) in module.globals else None
            if known is None or not known.initialiser.startswith('c"'):
                continue
            text = string_bytes(known.initialiser).split(b"\0", 1)[0].decode("utf-8", "replace")
            conversions = [part for part in parse(text) if isinstance(part, Specifier)]
            for conversion, value in zip(conversions, values, strict=False):
                if conversion.conversion == "s" and value.is_local:
                    return json.dumps(text, ensure_ascii=False)
    return ""


def _printable(module: Module, name: str, *, is_format: bool = False) -> str:
    """The name of the string to print in the place of one; its own if it may stay."""
    known = module.variable(name) if name in module.globals else None
    if known is None or known.ty.elem is None or known.ty.elem.text != "i8":
        return name
    size = known.ty.count
    if size == 1 and known.initialiser.startswith("zeroinitializer"):
        written, rest = "", known.initialiser.removeprefix("zeroinitializer")
    elif known.initialiser.startswith('c"'):
        written, _, rest = known.initialiser[2:].partition('"')
        written = written.removesuffix("\\00")
    else:
        return name
    backslashes = written.count("\\\\")
    if is_format and backslashes:
        size, written = size + 3 * backslashes, written.replace("\\\\", "\\\\134")
    elif not is_format and (size - 1) % 4 == 0:
        size, written = size + 1, written + "\\01"
    else:
        return name
    copy = f"@__hw_{'format' if is_format else 'string'}.{name[1:].lstrip('.')}"
    module.globals[copy] = f'{copy} = {known.head}[{size} x i8] c"{written}\\00"{rest}'
    return copy
