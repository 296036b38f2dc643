"""Input: the stepper's state. Output: lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from headwater.errors import UsageError
from headwater.step.machine import ENDED
from headwater.step.stops import Breakpoint

if TYPE_CHECKING:
    from headwater.step import Place, Stepper, Watchpoint

_TYPES = {"u32": np.uint32, "i32": np.int32, "f32": np.float32, "hex": np.uint32}
_ROW = 8
_AROUND = 3
_WIDEST = 110


def line(text: str, style: str = "") -> list[Text]:
    """One line."""
    return [Text(text, style)]


def table(rows: Sequence[tuple[str, str]]) -> list[Text]:
    """Two columns."""
    width = max((len(first) for first, _ in rows), default=0)
    return [Text.assemble((first.ljust(width), "bold"), "  ", second) for first, second in rows]


def where(stepper: Stepper) -> list[Text]:
    """Why a run has stopped, whose turn it is, the source line and the instruction."""
    machine, place = stepper.machine, stepper.place
    lines = []
    if stepper.stop.text:
        number = f" {stepper.stop.number}" if stepper.stop.number else ""
        style = "bold red" if stepper.fault is not None else "bold"
        lines.append(Text(f"{stepper.stop.reason}{number}: {stepper.stop.text}", style))
    if not machine.waves:
        return lines
    wave = machine.waves[stepper.wave]
    mask = machine.active(wave)
    state = "" if wave.state != ENDED else ", ended"
    lines.append(
        Text(
            f"work-group {stepper.group_text()}, wavefront {stepper.wave} of {len(machine.waves)}{state}, "
            f"{mask.bit_count()} lanes ({mask:#x}), instruction {stepper.position:,}",
            "dim",
        )
    )
    if place is not None:
        lines += _source_line(stepper, place)
        lines.append(_instruction(stepper, place, current=True))
    return lines


def _is_source(stepper: Stepper, place: Place) -> bool:
    return bool(place.line) and PurePath(place.file).name == PurePath(stepper.machine.filename).name


def _source_line(stepper: Stepper, place: Place) -> list[Text]:
    if not place.line:
        return []
    texts = stepper.machine.source_lines
    text = texts[place.line - 1] if _is_source(stepper, place) and place.line <= len(texts) else ""
    return [Text(f"{PurePath(place.file).name}:{place.line}:  {text.strip()}")]


def _instruction(stepper: Stepper, place: Place, *, current: bool) -> Text:
    stops = any(place.address in point.addresses and not point.line for point in stepper.breakpoints.values())
    mark = "=>" if current else "* " if stops else "  "
    text = place.text if len(place.text) <= _WIDEST else f"{place.text[:_WIDEST]}…"
    return Text(f"{mark} {place.label:>7}  {text}", "bold" if current else "")


def listing(stepper: Stepper, count: int) -> list[Text]:
    """Instructions around the place, with their lines of the source where these change."""
    code, place = stepper.machine.code, stepper.place
    at = next((n for n, one in enumerate(code) if place is not None and one.address == place.address), 0)
    first = max(at - count // 2, 0)
    lines, known = [], 0
    for one in code[first : first + count]:
        if one.line and one.line != known:
            known = one.line
            lines += [Text(str(text), "dim") for text in _source_line(stepper, one)]
        lines.append(_instruction(stepper, one, current=place is not None and one.address == place.address))
    return lines


def source(stepper: Stepper) -> list[Text]:
    """Lines of the source around the place. UsageError where they are not known."""
    place, texts = stepper.place, stepper.machine.source_lines
    if place is None or not _is_source(stepper, place) or not texts:
        raise UsageError("this instruction belongs to no line of the source", hint="list shows the instructions")
    first = max(place.line - 1 - _AROUND, 0)
    lines = {p.line for p in stepper.breakpoints.values()}
    return [
        Text(
            f"{'=>' if n == place.line else '* ' if n in lines else '  '} {n:>4}  {text}",
            "bold" if n == place.line else "",
        )
        for n, text in enumerate(texts[first : place.line + _AROUND], first + 1)
    ]


def added(point: Breakpoint | Watchpoint) -> list[Text]:
    """What was set."""
    if isinstance(point, Breakpoint):
        count = len(point.addresses)
        where_ = f"line {point.line}" if point.line else point.text
        return line(f"breakpoint {point.number} at {where_}: {count} instruction{'s' * (count != 1)}")
    return line(f"watchpoint {point.number} on {point.text}")


def stops(stepper: Stepper) -> list[Text]:
    """Breakpoints and watchpoints."""
    points: list[Breakpoint | Watchpoint] = [*stepper.breakpoints.values(), *stepper.watchpoints.values()]
    if not points:
        return line("no breakpoints")
    return table([(str(p.number), f"{p.text}, hit {p.hits} time{'s' * (p.hits != 1)}") for p in points])


def wavefronts(stepper: Stepper) -> list[Text]:
    """The wavefronts of the work-group: state, lanes, where they are."""
    rows = []
    for one in stepper.state(registers=False, memory=0)["wavefronts"]:
        mark = "=>" if one["number"] == stepper.wave else "  "
        at = f" at {one['label']}" if one["label"] else ""
        of = f", line {one['line']}" if one["line"] else ""
        rows.append((f"{mark} {one['number']}", f"{one['state']}{at}{of}, exec {one['exec']}"))
    return table(rows)


def scalars(stepper: Stepper) -> list[Text]:
    """Registers that are the same in all lanes."""
    machine = stepper.machine
    wave = machine.waves[stepper.wave]
    cells = [f"{name:>16} {machine.scalar(wave, name):#x}".ljust(36) for name in machine.scalars]
    return [Text("".join(cells[n : n + 3]).rstrip()) for n in range(0, len(cells), 3)]


def lane(stepper: Stepper, number: int) -> list[Text]:
    """All vector registers of one lane."""
    machine = stepper.machine
    wave = machine.waves[stepper.wave]
    cells = []
    for name, place in machine.vectors.items():
        word = machine.vector(wave, place)[number : number + 1]
        cells.append(f"{name:>8} {int(word[0]):#010x} {_short(word.view(np.float32)[0])}".ljust(34))
    executes = "executes" if machine.active(wave) >> number & 1 else "does not execute"
    return [
        Text(f"lane {number} {executes}", "dim"),
        *(Text("".join(cells[n : n + 3]).rstrip()) for n in range(0, len(cells), 3)),
    ]


def _short(value: Any) -> str:
    return f"{float(value):.6g}"


def _shown(words: np.ndarray[Any, Any], kind: str) -> list[str]:
    if kind and kind not in _TYPES:
        raise UsageError(f"there is no type {kind!r}", hint=f"types are {', '.join(_TYPES)}")
    if kind in ("", "hex"):
        return [f"{int(word):#x}" for word in words]
    values = np.asarray(words, np.uint32).view(_TYPES[kind])
    return [_short(value) if kind == "f32" else str(value) for value in values]


def number(name: str, value: int, kind: str = "") -> list[Text]:
    """One number: in all types if none is asked for."""
    if kind and value >> 32:
        raise UsageError(f"{name} has more than 32 bits", hint=f"print {name}, without a type")
    if kind:
        return line(f"{name} = {_shown(np.array([value], np.uint32), kind)[0]}")
    text = f"{name} = {value:#x} = {value}"
    if value < 1 << 32:
        text += f" = {_short(np.array([value], np.uint32).view(np.float32)[0])}f"
    return line(text)


def grid(name: str, words: np.ndarray[Any, Any], mask: int, kind: str) -> list[Text]:
    """A register's 64 lanes in rows of 8; lanes that do not execute are dim and in brackets."""
    cells = _shown(words, kind)
    active = [bool(mask >> n & 1) for n in range(len(cells))]
    cells = [cell if on else f"({cell})" for cell, on in zip(cells, active, strict=True)]
    width = max(map(len, cells))
    lines = [Text(f"{name}, {sum(active)} of {len(cells)} lanes execute", "dim")]
    for row in range(0, len(cells), _ROW):
        text = Text(f"{row:>4}  ", "dim")
        for n in range(row, row + _ROW):
            text.append(f"{cells[n]:>{width}}  ", "" if active[n] else "dim")
        text.rstrip()
        lines.append(text)
    return lines


def elements(name: str, values: np.ndarray[Any, Any], first: int) -> list[Text]:
    """Elements of memory in rows of 8, with the number of each row's first."""
    cells = [_short(value) if values.dtype.kind == "f" else str(value) for value in values]
    if not cells:
        return line(f"{name}: nothing")
    width = max(map(len, cells))
    return [
        Text(
            f"{name}[{first + row}]".rjust(len(name) + 8)
            + "  "
            + "  ".join(f"{c:>{width}}" for c in cells[row : row + _ROW])
        )
        for row in range(0, len(cells), _ROW)
    ]


def memories(stepper: Stepper) -> list[Text]:
    """The memory of the launch."""
    rows = [("lds", f"{len(stepper.machine.lds):,} bytes")]
    for one in stepper.machine.memories:
        kind = "" if one.element is None else f" of {one.element.name}"
        rows.append((one.name, f"{one.nbytes:,} bytes{kind} at {one.start:#x}{'' if one.writable else ', read only'}"))
    return table(rows)
