"""Input: a program's linked module. Output: the module with names for its variables that all of its libraries share.

OpenCL's program-scope variables live as long as the program, and all of its kernels use the same ones. But each kernel
becomes a library of its own, and another one for groups of another shape. So each library defines all variables, as
symbols that others may define, too, and libraries are loaded such that the first definition counts for all: on Linux.
"""

from __future__ import annotations

from headwater.base.cache import digest
from headwater.llvm.ir import Module

_PREFIX = "hw.variable."
_SPACE = " addrspace(1) "
_OWN = ("dso_local ", "internal ", "local_unnamed_addr ", "unnamed_addr ")


def variables(module: Module) -> list[str]:
    """The variables in global memory that a module defines, without the @."""
    return [
        name[1:]
        for name, line in module.globals.items()
        if f"{_SPACE}global " in line.partition('"')[0] and " external " not in line.partition(_SPACE)[0]
    ]


def variable_bytes(module: Module) -> int:
    """The size of those variables."""
    return sum(module.global_bytes(f"@{name}") for name in variables(module))


def share_variables(module: Module, text: str) -> None:
    """Rename the variables in global memory; ``text``: the program's. Other programs of the same text are its further
    `instance`s."""
    found = variables(module)
    if not found:
        return
    program = digest(text.encode("utf-8", "surrogateescape"))[:24]
    names = {name: f"{_PREFIX}{program}.{number}" for number, name in enumerate(found)}
    module.rename(names)
    for name in names.values():
        line = module.globals[f"@{name}"]
        head, space, rest = line.partition(_SPACE)
        for word in _OWN:
            head = f"{head} ".replace(f" {word}", " ").rstrip()
        module.globals[f"@{name}"] = f"{head}{space}{rest}"


def has_variables(text: str) -> bool:
    """Whether a module has such variables."""
    return f"@{_PREFIX}" in text


def shared_by(text: str) -> str:
    """What the names of a module's variables have in common, empty if it has none. Sources of one meaning share it."""
    return text.partition(f"@{_PREFIX}")[2].partition(".")[0]


def instance(text: str, number: int) -> str:
    """The module of another program of the same text: it has variables of its own. ``number``: from 1 on."""
    return text.replace(f"@{_PREFIX}", f"@{_PREFIX}{number}.")
