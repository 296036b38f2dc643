"""Input: a prepared module. Output: the same, with what is known of both of two values not computed anew of the one
selected from them.

A sorting network that orders by a key computes it of every value that it has just swapped: ``f(c ? a : b)``. Where
``f(a)`` and ``f(b)`` are there already, one selection ``c ? f(a) : f(b)`` takes the place of all that ``f`` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from headwater.llvm.ir import BINARY, Body, Inst, Module, label_of
from headwater.llvm.text import names_in

_PURE = BINARY | frozenset("fneg trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp bitcast".split())
_FUNCTIONS = frozenset(
    "fmuladd fma fabs sqrt floor ceil trunc rint round abs minnum maxnum umin smin umax smax fshl fshr".split()
)
_INTRINSIC = "llvm."


class _Choice(NamedTuple):
    """A condition, and the values chosen by it."""

    condition: str
    yes: str
    no: str


def chosen_once(module: Module) -> None:
    """Select what is known."""
    for body in module.bodies.values():
        if "select" in body.operations:
            _function(body)


def _function(body: Body) -> None:
    changes: dict[int, list[str]] = {}
    known: dict[object, str] = {}
    choices: dict[str, _Choice] = {}
    deep: set[str] = set()  # what is selected in place of several operations, one after the other
    shallow: set[str] = set()  # and in place of one: that is as long
    unused: dict[int, Inst] = {}  # what may go if nobody uses its result
    for number, operation in enumerate(body.operations):
        if not operation:
            if label_of(body.lines[number]):
                known, choices = {}, {}  # another block: what this one has need not have been computed
            continue
        inst = _read(body, number, operation)
        if inst is None:
            continue
        unused[number] = inst
        if inst.op == "select":
            condition, yes, no = inst.args
            choices[inst.name] = _Choice(condition.text, yes.text, no.text)
            continue
        operands = [value.text for value in inst.args]
        if inst.ty.text != "i1" and (choice := _choice(inst, known, choices)) is not None:
            choices[inst.name] = choice
            if not shallow.isdisjoint(operands) or not deep.isdisjoint(operands):
                deep.add(inst.name)
                selected = f"select i1 {choice.condition}, {inst.ty} {choice.yes}, {inst.ty} {choice.no}"
                changes[number] = [f"  {inst.name} = {selected}"]
            else:
                shallow.add(inst.name)
        known[_computation(inst)] = inst.name
    if changes:
        body.replace(changes | _without_unused(body, unused, changes))


def _read(body: Body, number: int, operation: str) -> Inst | None:
    """The instruction in a line if it is a selection by one bit, or depends on nothing but its operands; constants that
    are computed or splat are left alone."""
    if operation == "select":
        inst = body.inst(number)
        if inst is None or inst.flags or inst.args[0].ty.kind == "vec" or not inst.args[0].is_local:
            return None
    elif operation in _PURE or (operation == "call" and "@llvm." in body.lines[number]):
        inst = body.inst(number)
        if inst is None or inst.attached or (operation == "call" and inst.detail.split(".")[1] not in _FUNCTIONS):
            return None
    else:
        return None
    plain = inst.ty.kind in ("int", "float") or inst.ty.scalar.kind in ("int", "float") or inst.ty.text == "ptr"
    return inst if plain and not any("(" in value.text or "," in value.text for value in inst.args) else None


def _computation(inst: Inst, choices: Mapping[str, str] | None = None) -> object:
    """What is the same for two instructions if their results are; with other values in place of some operands."""
    texts = [value.text if choices is None else choices.get(value.text, value.text) for value in inst.args]
    return inst.op, inst.flags, inst.detail, inst.ty.text, *texts, *(value.ty.text for value in inst.args)


def _choice(inst: Inst, known: Mapping[object, str], choices: Mapping[str, _Choice]) -> _Choice | None:
    """What the operation comes to if its operands have been selected by one condition from what it is known of."""
    chosen = {value.text: choices[value.text] for value in inst.args if value.text in choices}
    for condition in dict.fromkeys(choice.condition for choice in chosen.values()):
        own = {name: choice for name, choice in chosen.items() if choice.condition == condition}
        yes = known.get(_computation(inst, {name: choice.yes for name, choice in own.items()}))
        no = known.get(_computation(inst, {name: choice.no for name, choice in own.items()}))
        if yes is not None and no is not None:
            return _Choice(condition, yes, no)
    return None


def _without_unused(body: Body, unused: Mapping[int, Inst], changes: Mapping[int, list[str]]) -> dict[int, list[str]]:
    """No lines for operations and selections whose results nobody uses, now that there are ``changes``."""
    lines = [changes.get(number, (line,))[0] for number, line in enumerate(body.lines)]
    uses = Counter(name for line in lines for name in names_in(line.partition(" = ")[2] or line))
    gone: dict[int, list[str]] = {}
    for number in sorted(unused, reverse=True):
        if not uses[unused[number].name]:
            uses.subtract(names_in(lines[number].partition(" = ")[2]))
            gone[number] = []
    return gone
