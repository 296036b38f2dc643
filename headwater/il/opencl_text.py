"""Input: values as texts. Output: pieces of OpenCL C about them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from headwater.il.translation import KERNEL, Parameter

_FILES = tuple(f"prelude{part}.cl" for part in ("", "_memory", "_double", "_quad", "_half", "_atomic"))
_NAME = re.compile(r"\bil_\w+")


class _Function(NamedTuple):
    """A function of our own; ``head`` is what is said of it and of those that follow it up to an empty line."""

    name: str
    head: str
    text: str


@cache
def _library() -> tuple[str, tuple[_Function, ...]]:
    """What every translation begins with, and the functions that it may call, each behind those that it calls."""
    folder = Path(__file__).parent
    start, functions = "", []
    for name in _FILES:
        for group in (folder / name).read_text(encoding="utf-8").split("\n\n"):
            head, *texts = re.split(r"^(?=\w+ il_\w+\()", group.rstrip("\n") + "\n", flags=re.M)
            start += "" if texts else head
            functions += [_Function(_NAME.findall(text)[0], head, text) for text in texts]
    return start, tuple(functions)


def preludes(code: str) -> str:
    """The functions of our own that a translation calls."""
    text, functions = _library()
    called = set(_NAME.findall(code))
    for function in reversed(functions):
        if function.name in called:
            called.update(_NAME.findall(function.text))
    head = None
    for function in functions:
        if function.name in called:
            text += ("" if function.head == head else "\n" + function.head) + function.text
            head = function.head
    return text + "\n"


_SHARED = re.compile(r"(?<!volatile )(__(?:global|local) (?:(?:const )?u(?:int|short|char)|uint4) \*)")
_VECTOR_LOAD = re.compile(r"\bvload4\(0, data \+ at\)")
_VECTOR_STORE = re.compile(r"\bvstore([24])\((\w+)(?:\.xy)?, 0, data \+ at\);")
_STEP = """\
#ifdef HEADWATER_CPU
void __hw_in_step_{0}(void); /* the work-items of a wavefront do one instruction before any does the next */
#else
#define __hw_in_step_{0}()
#endif
"""


def in_step(code: str, *, pixels: bool) -> str:
    """A translation whose accesses to memory are made as they are written, by work-items of a wavefront in step: here
    (see `headwater.vectorise.plan.launch_layout`), and on devices whose wavefronts are."""
    shape = "8x8" if pixels else "64x1"
    # No function of OpenCL C's takes a pointer to volatile memory and moves a vector.
    code = _VECTOR_LOAD.sub("(uint4)(data[at], data[at + 1], data[at + 2], data[at + 3])", code)
    code = _VECTOR_STORE.sub(_store_by_words, code)
    code = _SHARED.sub(r"volatile \1", code)
    head, name, rest = code.partition(f"__kernel void {KERNEL}(")
    at = rest.index("{\n") + 2
    start = head.rindex("typedef struct {")
    head = head[:start] + _STEP.format(shape) + "\n" + head[start:]
    return f"{head}{name}{rest[:at]}    __hw_in_step_{shape}();\n{rest[at:]}"


def _store_by_words(match: re.Match[str]) -> str:
    stores = (f"data[at + {n}] = {match[2]}.{component};" for n, component in enumerate("xyzw"[: int(match[1])]))
    return f"{{ {' '.join(stores)} }}"


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
