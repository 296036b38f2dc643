"""Input: the front end's IR of a program, with line tables. Output: the source positions of accesses that machine code
does not distinguish: volatile and atomic ones, and copies of structures with padding.

`headwater.emulate.watch.check` asks for them when it has found something.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from headwater.errors import Span
from headwater.opencl.source_locations import Places

_NODE = re.compile(r"^(!\d+) = (!\{.*\})$", re.MULTILINE)
_VOLATILE = re.compile(r"^  (?:%\S+ = load|store) (?:atomic )?volatile ")
_ATOMIC = re.compile(r"@_Z\d+atomic_(?:load|store|flag_clear|init)")
_COPY = re.compile(r"call void @llvm\.memcpy\.[^\n]*?, i(?:32|64) (\d+), i1[^\n]*!tbaa\.struct (!\d+)")
_OF_THREE = re.compile(r"^  %\S+ = load <4 x (\w+)>")
_BYTES = {"i8": 1, "i16": 2, "half": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}
_NARROWED = re.compile(r"^  %\S+ = shufflevector <4 x \w+> %\S+, <4 x \w+> poison, <3 x i32>")


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
        return any(self._is_gap_from(start, gone, nbytes) for start in range(self.size))

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
    nodes, at = dict(_NODE.findall(ir)), Places(ir, source, filename)
    found = AccessPlaces()
    lines = ir.splitlines()
    for number, line in enumerate(lines):
        if "!dbg" not in line:
            continue
        if _VOLATILE.match(line):
            found.volatile[at.of_instruction(line)[0]] = [True]
        elif _ATOMIC.search(line):
            found.atomic[at.of_instruction(line)[0]] = [True]
        elif copy := _COPY.search(line):
            layout = _layout(int(copy[1]), nodes[copy[2]], nodes)
            found.copies.setdefault(at.of_instruction(line)[0], []).append(layout)
        elif (loaded := _OF_THREE.match(line)) and _NARROWED.match(lines[number + 1]):
            size = _BYTES.get(loaded[1], 8)
            three = Layout(4 * size, ((0, 3 * size),), ())
            found.copies.setdefault(at.of_instruction(line)[0], []).append(three)
    return found


def _layout(size: int, node: str, nodes: dict[str, str]) -> Layout:
    """From a !tbaa.struct node: offset, size and type of each member."""
    known: list[tuple[int, int]] = []
    mixed: list[tuple[int, int]] = []
    for first, nbytes, tag in re.findall(r"i64 (\d+), i64 (\d+), (!\d+)", node):
        target = re.match(r"!\{(!\d+),", nodes.get(tag, ""))
        is_mixed = target is not None and '"omnipotent char"' in nodes.get(target[1], "")
        (mixed if is_mixed else known).append((int(first), int(first) + int(nbytes)))
    return Layout(size, tuple(known), tuple(mixed))


__all__ = ["AccessPlaces", "Layout", "access_places"]
