"""Input: the front end's IR of a program, with line tables. Output: the source positions of accesses that machine code
does not distinguish: volatile and atomic ones, and copies of structures with padding.

`headwater.emulate.watch.check` asks for them when it has found something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from headwater.errors import Span
from headwater.llvm.ir import Body, Inst, Module
from headwater.llvm.metadata import copied_members
from headwater.llvm.text import attachment, callee_of
from headwater.opencl.source_locations import Places

_ATOMIC = re.compile(r"_Z\d+atomic_(?:load|store|flag_clear|init)")


@dataclass(frozen=True, slots=True)
class Layout:
    """What a copy copies: ``size`` bytes, ``fields`` the (first, behind the last) bytes of its members; of ``mixed``
    ones clang does not say what they are made of: unions, arrays and structures of these, and characters."""

    size: int
    fields: tuple[tuple[int, int], ...]
    mixed: tuple[tuple[int, int], ...]

    def is_gap(self, missing: int, nbytes: int) -> bool:
        """Whether the bytes that ``missing`` has bits of, of an access of ``nbytes`` somewhere in the copy, may lie
        between members, or be part of a mixed one."""
        gone = [n for n in range(nbytes) if missing >> n & 1]
        starts = range(self.size if nbytes < self.size else 1)
        return any(self._is_gap_from(start, gone, nbytes) for start in starts)

    def _is_gap_from(self, start: int, gone: list[int], nbytes: int) -> bool:
        places = {(start + n) % self.size for n in gone}
        if any(first <= at < last for first, last in self.fields for at in places):
            return False
        return not any(last - first <= nbytes and places.issuperset(range(first, last)) for first, last in self.mixed)


@dataclass(slots=True)
class AccessPlaces:
    """Where a program's ``volatile`` accesses are, its plain-looking ``atomic`` ones (atomic_load, atomic_store), and
    its copies of what is no plain number, with what they copy."""

    volatile: dict[Span, list[bool]] = field(default_factory=dict)
    atomic: dict[Span, list[bool]] = field(default_factory=dict)
    copies: dict[Span, list[Layout]] = field(default_factory=dict)


def access_places(ir: str, source: str, filename: str) -> AccessPlaces:
    """Read a module's text, made of ``source``."""
    module = Module(ir)
    at, found = Places(module, source, filename), AccessPlaces()
    for body in module.bodies.values():
        for number, inst in body.having("load", "store", within="!dbg"):
            if "volatile" in inst.flags:
                found.volatile[at.of_instruction(inst.attached)[0]] = [True]
            elif inst.op == "load" and (taken := _taken(inst, body, number)):
                size = inst.ty.scalar.size_bytes
                some = Layout(inst.ty.size_bytes, tuple((n * size, (n + 1) * size) for n in taken), ())
                found.copies.setdefault(at.of_instruction(inst.attached)[0], []).append(some)
        for number, operation in enumerate(body.operations):
            line = body.lines[number]
            if operation == "call" and "!dbg" in line:
                if _ATOMIC.match(callee_of(line)):
                    found.atomic[at.of_instruction(line)[0]] = [True]
                elif callee_of(line).startswith("llvm.memcpy.") and (node := attachment(line, "tbaa.struct")):
                    copy = body.inst(number)
                    assert copy is not None
                    layout = _layout(int(copy.args[2].text), copied_members(module.metadata, node))
                    found.copies.setdefault(at.of_instruction(line)[0], []).append(layout)
    return found


def _taken(inst: Inst, body: Body, number: int) -> list[int]:
    """The components that are taken of a vector which a load reads whole; none if all may be."""
    if inst.ty.kind != "vec" or body.operations[number + 1] not in ("shufflevector", "extractelement"):
        return []
    taken = body.inst(number + 1)
    if taken is None or taken.args[0].text != inst.name or (taken.op == "extractelement" and taken.args[1].is_local):
        return []
    indices = taken.indices if taken.op == "shufflevector" else [int(taken.args[1].text)]
    some = sorted({index for index in indices if 0 <= index < inst.ty.count})
    return some if len(some) < inst.ty.count else []


def _layout(size: int, members: Iterable[tuple[int, int, bool]]) -> Layout:
    """From the first byte and the size of each member, and whether it is mixed."""
    known: list[tuple[int, int]] = []
    mixed: list[tuple[int, int]] = []
    for first, nbytes, is_mixed in members:
        (mixed if is_mixed else known).append((first, first + nbytes))
    return Layout(size, tuple(known), tuple(mixed))


__all__ = ["AccessPlaces", "Layout", "access_places"]
