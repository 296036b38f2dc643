"""Input: a module with calls of ``__hw_vliw_…`` functions. Output: the same with their constant numbers in the names.

Such a function reads one of several textures, say, by a number that the machine code has in the instruction. To LLVM
the number is an argument: it makes one call of those in both arms of an ``if`` and chooses the number. It does not make
one call of two functions.
"""

from __future__ import annotations

from headwater.llvm.ir import Module
from headwater.llvm.text import arguments_of

PREFIX = "__hw_vliw_"
_NUMBERS = {"sample": 1, "constant": 2, "output": 1, "lds_read": 1, "lds_write": 2}
"""How many of a function's first arguments are such numbers, by its name without the lanes."""


def parts_of(name: str) -> tuple[str, list[int]]:
    """A function's name without the prefix, and the numbers that are part of it."""
    stem, *numbers = name.removeprefix(PREFIX).split(".")
    return stem, [int(number) for number in numbers]


def number_calls(module: Module) -> None:
    """Put the numbers into the functions' names, where they are constant."""
    for body in module.bodies.values():
        changes: dict[int, list[str]] = {}
        for number, inst in body.calls(PREFIX):
            count = _NUMBERS.get(inst.detail.removeprefix(PREFIX).rstrip("1234"), 0)
            numbers = [value.text for value in inst.args[:count]]
            declared = module.declares.get(inst.detail)
            if not count or declared is None or not all(one.isdigit() for one in numbers):
                continue
            name = ".".join([inst.detail, *numbers])
            changes[number] = [_with_arguments(body.lines[number], inst.detail, name, count)]
            module.declare(_with_arguments(declared, inst.detail, name, count))
        body.replace(changes)


def _with_arguments(line: str, old: str, new: str, count: int) -> str:
    """The line of a call, or a declaration, of another function without the first ``count`` arguments."""
    arguments = arguments_of(line)
    head, _, rest = line.partition(f"@{old}(")
    return f"{head}@{new}({', '.join(arguments[count:])}{rest[len(', '.join(arguments)) :]}"
