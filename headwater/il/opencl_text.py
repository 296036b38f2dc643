"""Values as texts pass in; pieces of OpenCL C about them pass out."""

from __future__ import annotations

import re
from pathlib import Path

from headwater.il.translation import Parameter


def preludes(code: str) -> str:
    """The functions of our own that a translation calls, whole files of them."""
    folder = Path(__file__).parent
    names = ["prelude.cl", "prelude_memory.cl"]
    if re.search(r"\bil_(double|pair|frexp)\(", code):
        names.append("prelude_double.cl")
    if re.search(r"\bil_dsx\(|\bil_dsy\(", code):
        names.append("prelude_quad.cl")
    if re.search(r"\bil_(to|from)_half\(", code):
        names.append("prelude_half.cl")
    if re.search(r"\bil_[gl]_atomic_", code):
        names.append("prelude_atomic.cl")
    return "".join((folder / name).read_text(encoding="utf-8") + "\n" for name in names)


def pointer_type(parameter: Parameter) -> str:
    """The type of a parameter's pointer."""
    return {
        "resource": "__global const uint *",
        "constant": "__global const uint4 *",
        "global": "__global uint4 *",
        "uav": "__global uint *",
        "output": "__global uint *",
    }[parameter.role]


def number_of(function: str, dimension: int) -> str:
    """One of the work-item's numbers, by the end of OpenCL C's name for it."""
    return f"(uint)get_{function}({dimension})"


def items_of(group: tuple[int, int, int] | None) -> int:
    """The work-items of a group."""
    return group[0] * group[1] * group[2] if group is not None else 1


def each_lane(marks: list[bool], word: int) -> str:
    """A word in the lanes that are marked, 0 in the others."""
    if all(marks):
        return f"0x{word:X}u"
    return f"(uint4)({', '.join(f'0x{word:X}u' if mark else '0u' for mark in marks)})"


def picked(value: str, lanes: str) -> str:
    """Lanes of a value."""
    simple = re.fullmatch(r"[\w>-]+(?:\.[xyzw]{4})?|\w+\(.*\)", value) and _balanced(value)
    return f"{value}.{lanes}" if simple else f"({value}).{lanes}"


def _balanced(value: str) -> bool:
    """Whether the value's first parenthesis is closed by its last character, as in ``f(a)`` but not ``f(a) + g(b)``."""
    depth = 0
    for position, mark in enumerate(value):
        depth += (mark == "(") - (mark == ")")
        if depth == 0 and mark == ")" and position < len(value) - 1:
            return False
    return True
