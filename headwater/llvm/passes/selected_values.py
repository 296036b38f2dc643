"""A prepared module's text in; the same, with what is known of both of two values not computed anew of the one selected
from them, out.

A sorting network that orders by a key computes it of every value that it has just swapped: ``f(c ? a : b)``. Where
``f(a)`` and ``f(b)`` are there already, one selection ``c ? f(a) : f(b)`` takes the place of all that ``f`` does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

_FLAGS = r"(?:(?:nuw|nsw|exact|disjoint|nneg|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*"
_TYPE = r"<\d+ x \w+>|\w+"
_NAME = re.compile(r"%[\w.$-]+")
_PURE = re.compile(
    rf"(?:(?:add|sub|mul|shl|lshr|ashr|and|or|xor|fadd|fsub|fmul|fdiv|fneg|udiv|sdiv|urem|srem|frem) {_FLAGS}"
    rf"(?P<type>{_TYPE}) [^,!#()]+(?:, [^,!#()]+)?"
    rf"|(?:trunc|zext|sext|fptrunc|fpext|fptoui|fptosi|uitofp|sitofp|bitcast) {_FLAGS}(?:{_TYPE}) [^,!#()]+ to "
    rf"(?P<to>{_TYPE})"
    rf"|(?:tail )?call {_FLAGS}(?P<result>{_TYPE}) @llvm\.(?:fmuladd|fma|fabs|sqrt|floor|ceil|trunc|rint|round|abs|"
    r"minnum|maxnum|[us]min|[us]max|fsh[lr])\.\w+\([^()]*\)(?: #\d+)?)"
)
"""What depends on nothing but its operands, of which constants are not written with parentheses."""
_SELECT = re.compile(rf"select i1 (?P<if>%[\w.$-]+), (?P<type>{_TYPE}) (?P<a>[^,!#()]+), (?P=type) (?P<b>[^,!#()]+)")
_MADE = re.compile(r"  (?P<name>%[\w.$-]+) = (?P<rest>.*)")
_FUNCTION = re.compile(r"^define .*?^\}", re.MULTILINE | re.DOTALL)

_Choice = tuple[str, str, str]
"""A condition, and the values chosen by it."""


def chosen_once(text: str) -> str:
    """The module's text; the very same if there is nothing to do."""
    return _FUNCTION.sub(lambda match: _function(match[0]), text) if "= select i1 " in text else text


def _function(text: str) -> str:
    lines = text.split("\n")
    selected: dict[int, str] = {}  # line -> what to compute there instead
    known: dict[str, str] = {}
    choices: dict[str, _Choice] = {}
    deep: set[str] = set()  # what is selected in place of several operations, one after the other
    shallow: set[str] = set()  # and in place of one: that is as long
    for number, line in enumerate(lines):
        made = _MADE.fullmatch(line)
        if made is None:
            if line and not line.startswith(" "):
                known, choices = {}, {}  # another block: what this one has need not have been computed
            continue
        name, rest = made["name"], made["rest"]
        if select := _SELECT.match(rest):
            choices[name] = select["if"], select["a"], select["b"]
        elif pure := _PURE.fullmatch(rest):
            kind = pure["type"] or pure["to"] or pure["result"]
            operands = _NAME.findall(rest)
            if kind != "i1" and (choice := _choice(rest, operands, known, choices)) is not None:
                choices[name] = choice
                if not shallow.isdisjoint(operands) or not deep.isdisjoint(operands):
                    deep.add(name)
                    selected[number] = f"  {name} = select i1 {choice[0]}, {kind} {choice[1]}, {kind} {choice[2]}"
                else:
                    shallow.add(name)
            known[rest] = name
    if not selected:
        return text
    for number, line in selected.items():
        lines[number] = line
    return "\n".join(_used(lines))


def _choice(rest: str, operands: list[str], known: Mapping[str, str], choices: Mapping[str, _Choice]) -> _Choice | None:
    """What the operation comes to if its operands have been selected by one condition from what it is known of."""
    for condition in dict.fromkeys(choices[operand][0] for operand in operands if operand in choices):
        sides = []
        for side in (1, 2):

            def chosen(match: re.Match[str], side: int = side, condition: str = condition) -> str:
                choice = choices.get(match[0])
                return choice[side] if choice is not None and choice[0] == condition else match[0]

            sides.append(known.get(_NAME.sub(chosen, rest)))
        if sides[0] is not None and sides[1] is not None:
            return condition, sides[0], sides[1]
    return None


def _used(lines: list[str]) -> list[str]:
    """The lines without operations and selections whose results nobody uses."""
    uses = Counter(name for line in lines for name in _NAME.findall(line.partition(" = ")[2] or line))
    kept = []
    for line in reversed(lines):
        made = _MADE.fullmatch(line)
        if (
            made is not None
            and not uses[made["name"]]
            and (_PURE.fullmatch(made["rest"]) or _SELECT.match(made["rest"]))
        ):
            uses.subtract(_NAME.findall(made["rest"]))
        else:
            kept.append(line)
    return kept[::-1]
