"""Input: a chip and words like ``memory_clock_mhz=1200``. Output: the changed chip, and what was changed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from headwater.chips import Chip
from headwater.chips.checks import check
from headwater.errors import UsageError


@dataclass(frozen=True, slots=True)
class Change:
    """One figure that was changed; ``implied``: because another one was (bandwidth follows the memory's clock)."""

    table: str
    name: str
    before: float
    after: float
    implied: bool = False

    def __str__(self) -> str:
        return f"{self.table}.{self.name} {self.before:g} → {self.after:g}"


def changed(chip: Chip, words: Sequence[str]) -> tuple[Chip, tuple[Change, ...]]:
    """The chip with figures set as ``table.name=value`` or ``table_name=value`` say; the name alone where it is clear.

    The memory's bandwidth follows its clock and bus unless it is set itself. Raises UsageError, with the nearest names
    or the range, for what there is not or cannot be.
    """
    settings = [_setting(chip, word) for word in words]
    named = {(table, name) for table, name, _ in settings}
    changes: list[Change] = []
    for table, name, value in settings:
        chip, change = _replaced(chip, table, name, value)
        changes.append(change)
        follows = (table, name) in (("memory", "clock_mhz"), ("memory", "bus_bits"))
        if follows and ("memory", "gigabytes_per_second") not in named:
            rate = chip.memory.gigabytes_per_second * change.after / change.before
            chip, implied = _replaced(chip, "memory", "gigabytes_per_second", rate)
            changes.append(replace(implied, implied=True))
    if changes:
        described = ", ".join(
            f"{c.name if c.table == 'compute' else c.table + ' ' + c.name} {c.after:g}"
            for c in changes
            if not c.implied
        )
        chip = replace(chip, name=f"{chip.name} with {described}")
        check(chip)
    return chip, tuple(changes)


def figures(chip: Chip, family: str = "") -> dict[str, tuple[str, str]]:
    """Every name that a figure of the chip, or of those of another ``family``, can be set by -> its table and field."""
    found: dict[str, tuple[str, str]] = {}
    single: dict[str, list[tuple[str, str]]] = {}
    for part in fields(chip):
        table = getattr(chip, part.name)
        if not is_dataclass(table):
            continue
        for figure in fields(table):
            if "range" in figure.metadata and figure.metadata["only"] in ("", family or chip.family):
                place = part.name, figure.name
                found[f"{part.name}.{figure.name}"] = place
                found[f"{part.name}_{figure.name}"] = place
                single.setdefault(figure.name, []).append(place)
    for name, places in single.items():
        if len(places) == 1:
            found.setdefault(name, places[0])
    found["clock_mhz"] = "compute", "clock_mhz"
    return found


def unknown_figure(name: str, chip: Chip) -> UsageError:
    """The error for a ``name`` that is none of a chip's figures: of these it names those that begin so, else alike."""
    known, plain = figures(chip), name.strip().lower().replace("-", "_")
    other, called = ("gcn", "GCN and CDNA") if chip.is_vliw else ("vliw", "VLIW")
    if plain in figures(chip, other):
        return UsageError(f"{chip.name} has no figure {name!r}", hint=f"it is one of {called} chips")
    close = [one for one in known if one.startswith(plain)][:3] or difflib.get_close_matches(plain, known, 3, 0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else "headwater devices CHIP lists the figures"
    return UsageError(f"a chip has no figure {name!r}", hint=hint)


def _setting(chip: Chip, word: str) -> tuple[str, str, float]:
    name, equals, text = word.partition("=")
    name = name.strip().lower().replace("-", "_")
    known = figures(chip)
    if not equals:
        raise UsageError(f"--set takes NAME=VALUE, not {word!r}", hint="--set memory_clock_mhz=1200, say")
    if name not in known:
        raise unknown_figure(name, chip)
    try:
        value = float(text.replace("_", ""))
    except ValueError:
        raise UsageError(f"{name} takes a number, not {text!r}") from None
    return *known[name], value


def _replaced(chip: Chip, table: str, name: str, value: float) -> tuple[Chip, Change]:
    part: Any = getattr(chip, table)
    figure = next(f for f in fields(part) if f.name == name)
    allowed = figure.metadata["range"]
    before = getattr(part, name)
    if not allowed.low <= value <= allowed.high:
        unit = f" {allowed.unit}" if allowed.unit else ""
        raise UsageError(f"{table}.{name} is {allowed.low:g} to {allowed.high:g}{unit}, not {value:g}")
    if isinstance(before, int):
        if value != int(value):
            raise UsageError(f"{table}.{name} takes a whole number, not {value:g}")
        value = int(value)
    return replace(chip, **{table: replace(part, **{name: value})}), Change(table, name, before, value)
