"""IR with calls of ``__hw_vliw_…`` functions passes in, the same with their constant numbers in the names passes out.

Such a function reads one of several textures, say, by a number that the machine code has in the instruction. To LLVM
the number is an argument: it makes one call of those in both arms of an ``if`` and chooses the number. It does not make
one call of two functions.
"""

from __future__ import annotations

import re

from headwater.llvm.text import split

PREFIX = "__hw_vliw_"
_NUMBERS = {"sample": 1, "constant": 2, "output": 1, "lds_read": 1, "lds_write": 2}
"""How many of a function's first arguments are such numbers, by its name without the lanes."""
_CALL = re.compile(
    rf"(?P<head>\bcall [^\n@]*@)(?P<name>{PREFIX}(?:{'|'.join(_NUMBERS)})\d?)"
    r"\((?P<arguments>[^\n]*)\)(?P<rest>[^\n()]*)$",
    re.MULTILINE,
)
_DECLARED = re.compile(
    rf"^declare (?P<head>[^\n@]*)@(?P<name>{PREFIX}\w+)\((?P<parameters>[^\n]*)\)(?P<rest>[^\n()]*)$", re.MULTILINE
)
_NUMBER = re.compile(r"i32 (?:[a-z]\S* )*(\d+)$")


def parts_of(name: str) -> tuple[str, list[int]]:
    """A function's name without the prefix, and the numbers that are part of it."""
    stem, *numbers = name.removeprefix(PREFIX).split(".")
    return stem, [int(number) for number in numbers]


def number_calls(ir: str) -> str:
    """The module's text with the numbers in the functions' names, where they are constant."""
    declarations = {match["name"]: match for match in _DECLARED.finditer(ir)}
    made: dict[str, str] = {}

    def named(match: re.Match[str]) -> str:
        arguments = split(match["arguments"])
        count = _NUMBERS[match["name"].removeprefix(PREFIX).rstrip("1234")]
        numbers = [_NUMBER.match(argument) for argument in arguments[:count]]
        declared = declarations.get(match["name"])
        if declared is None or not all(numbers):
            return match[0]
        name = ".".join([match["name"], *(number[1] for number in numbers if number)])
        parameters = ", ".join(split(declared["parameters"])[count:])
        made[name] = f"declare {declared['head']}@{name}({parameters}){declared['rest']}"
        return f"{match['head']}{name}({', '.join(arguments[count:])}){match['rest']}"

    text = _CALL.sub(named, ir)
    return "\n".join([text, *made.values(), ""]) if made else ir
