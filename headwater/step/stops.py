"""Input: where a user wants to stop, as text. Output: breakpoints and watchpoints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any

import numpy as np

from headwater.base.numbers import natural
from headwater.errors import UsageError
from headwater.step.machine import Machine, Place

_LINE = re.compile(r"(?:(?P<file>[^:]*[^:\d][^:]*):)?(?P<line>\d+)")
_PART = re.compile(r"(?P<name>.+?)\[(?P<first>\d+)(?::(?P<last>\d+))?\]")


@dataclass(frozen=True)
class Stop:
    """Why a run has stopped. ``reason``: start, step, breakpoint, watchpoint, barrier, difference, group (its end),
    end (of the launch), fault, interrupt, limit; ``number``: of the breakpoint or watchpoint, else 0; ``text``: for
    people."""

    reason: str
    text: str = ""
    number: int = 0

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"reason": self.reason, "text": self.text, "number": self.number}


@dataclass
class Breakpoint:
    """Where to stop before an instruction is run: at a source ``line`` that a wavefront comes to, at instructions with
    a ``label``, or with a ``mnemonic``. ``wave``: only this wavefront of each work-group, -1 for all."""

    number: int
    text: str
    line: int = 0
    file: str = ""
    addresses: frozenset[int] = frozenset()
    wave: int = -1
    hits: int = 0

    def at(self, place: Place, before: Place | None) -> bool:
        """Whether a wavefront is to stop at a place: of a line if it comes to it from ``before``, which is of another
        line or further on."""
        if place.address not in self.addresses:
            return False
        if not self.line or before is None or place.address <= before.address:
            return True
        return (before.file, before.line) != (place.file, place.line)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "number": self.number,
            "kind": "line" if self.line else "instruction",
            "text": self.text,
            "file": self.file,
            "line": self.line,
            "addresses": sorted(self.addresses),
            "wavefront": self.wave,
            "hits": self.hits,
        }


@dataclass
class Watchpoint:
    """Bits whose change stops a run: of a register of one wavefront, or bytes of memory. ``lanes``: of a vector
    register; ``start``, ``nbytes``: of memory called ``name``, or of "lds"."""

    number: int
    text: str
    name: str
    kind: str
    wave: int = 0
    lanes: slice = field(default_factory=lambda: slice(None))
    start: int = 0
    nbytes: int = 0
    hits: int = 0

    def value(self, machine: Machine) -> bytes:
        """What it is now."""
        if self.kind == "memory":
            data = machine.lds if self.name == "lds" else machine.memory(self.name).data
            return bytes(data[self.start : self.start + self.nbytes])
        if self.wave >= len(machine.waves):
            return b""
        wave = machine.waves[self.wave]
        if self.kind == "scalar":
            return machine.scalar(wave, self.name).to_bytes(8, "little")
        return np.asarray(machine.vector(wave, machine.vectors[self.name])[self.lanes]).tobytes()

    def change(self, before: bytes, after: bytes) -> str:
        """What has changed, for people."""
        if self.kind == "scalar":
            old, new = (int.from_bytes(data, "little") for data in (before, after))
            return f"{self.text}: {old:#x} -> {new:#x}"
        words = [np.frombuffer(data[: len(data) // 4 * 4], np.uint32) for data in (before, after)]
        if len(words[0]) != len(words[1]) or not len(words[0]):
            return f"{self.text} has changed"
        changed = np.flatnonzero(words[0] != words[1])
        if not len(changed):
            return f"{self.text} has changed"
        first = int(changed[0])
        at = f"lane {first + (self.lanes.start or 0)}" if self.kind == "vector" else f"byte {self.start + 4 * first}"
        more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
        return f"{self.text}: {int(words[0][first]):#x} -> {int(words[1][first]):#x} at {at}{more}"

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"number": self.number, "text": self.text, "kind": self.kind, "name": self.name, "hits": self.hits}


def breakpoint_at(machine: Machine, number: int, where: str, wave: int = -1) -> Breakpoint:
    """The breakpoint that ``where`` means: a line (``12``, ``file.cl:12``), an instruction by its label in the listing
    (``@1c``, ``@03.2``), or a mnemonic or the beginning of one (``s_barrier``, ``ds_*``). UsageError if there is no
    such place."""
    text = where.strip()
    code = machine.code
    if text.startswith("@"):
        label = text[1:].lower().removeprefix("0x")
        found = frozenset(p.address for p in code if p.label.lower() == label or p.label.lower().split(".")[0] == label)
        if not found:
            raise UsageError(f"there is no instruction at {text}", hint=f"they are {_range(code)}; list shows them")
        return Breakpoint(number, text, addresses=found, wave=wave)
    matched = _LINE.fullmatch(text)
    if matched:
        return _at_line(machine, number, text, matched["file"] or "", element_number(matched["line"]), wave)
    wanted = text.lower()
    names = sorted({name.lower() for place in code for name in place.mnemonics})
    chosen = {n for n in names if n == wanted or (wanted.endswith("*") and n.startswith(wanted[:-1]))}
    if not chosen:
        close = get_close_matches(wanted, names, 3)
        hint = f"did you mean {', '.join(close)}?" if close else f"its mnemonics are {', '.join(names)}"
        raise UsageError(f"no instruction of {machine.kernel} is a {text}", hint=hint)
    found = frozenset(p.address for p in code if any(name.lower() in chosen for name in p.mnemonics))
    return Breakpoint(number, text, addresses=found, wave=wave)


def _at_line(machine: Machine, number: int, text: str, file: str, line: int, wave: int) -> Breakpoint:
    name = file or PurePath(machine.filename).name
    places = [p for p in machine.code if p.line == line and PurePath(p.file).name == PurePath(name).name]
    if not places:
        lines = sorted({p.line for p in machine.code if p.line and PurePath(p.file).name == PurePath(name).name})
        if not lines:
            raise UsageError(
                f"the code of {machine.kernel} names no line of {name}", hint="break at a mnemonic or @label"
            )
        near = min(lines, key=lambda one: (abs(one - line), one))
        raise UsageError(f"no code was made of line {line} of {name}", hint=f"the next that has some is {near}")
    return Breakpoint(number, text, line, places[0].file, frozenset(p.address for p in places), wave)


def element_number(digits: str) -> int:
    """What digits stand for. UsageError for more of them than any memory has elements."""
    found = natural(digits)
    if found is None:
        raise UsageError(f"{digits[:20]}… is no number of a line or an element")
    return found


def _range(code: Sequence[Place]) -> str:
    return f"@{code[0].label} to @{code[-1].label}" if code else "none"


def watchpoint_on(machine: Machine, number: int, what: str, wave: int) -> Watchpoint:
    """The watchpoint that ``what`` means: a register (``v3``, ``v3[5]`` a lane, ``R1.x``, ``s4``, ``exec``), elements
    of memory by its name (``y[10]``, ``y[10:20]``), bytes of local memory (``lds[16:32]``). UsageError for others."""
    text = what.strip()
    matched = _PART.fullmatch(text)
    name, first, last = (text, None, None) if matched is None else (matched["name"], matched["first"], matched["last"])
    begin = element_number(first) if first is not None else 0
    end = element_number(last) if last is not None else begin + 1
    vector = next((known for known in machine.vectors if known.lower() == name.lower()), None)
    if vector is not None:
        lanes = slice(begin, end) if first is not None else slice(0, 64)
        if end > 64 or end <= begin:
            raise UsageError(f"{text}: lanes are 0 to 63")
        return Watchpoint(number, text, vector, "vector", wave, lanes)
    scalar = next((known for known in machine.scalars if known.lower() == name.lower()), None)
    if scalar is not None and first is None:
        return Watchpoint(number, text, scalar, "scalar", wave)
    nbytes = len(machine.lds) if name == "lds" else machine.memory(name).nbytes
    size = 1
    if name != "lds":
        element = machine.memory(name).element
        size = element.itemsize if element is not None else 1
    if first is None:
        begin, end = 0, nbytes // size
    if end * size > nbytes or end <= begin:
        raise UsageError(f"{text}: {name} has {nbytes // size} elements of {size} byte{'s' * (size != 1)}")
    return Watchpoint(number, text, name, "memory", wave, start=begin * size, nbytes=(end - begin) * size)
