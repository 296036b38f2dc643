"""A module for GCN in; the same with other strings in calls of printf where LLVM would garble them, out.

LLVM writes a format's line feed as backslash and n but leaves a backslash alone: here it becomes \\134. And it does not
store the zeros that end a string of 0, 4, 8, … bytes, although it makes room for them: a byte 1 is put after.
`headwater.runtime.simulated.printf_memory` puts both right.
"""

from __future__ import annotations

from headwater.llvm.ir import Module
from headwater.llvm.text import first_symbol, with_symbols

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
