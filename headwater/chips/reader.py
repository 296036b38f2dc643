"""Input: the text of a TOML file. Output: a checked `Chip`, or what is wrong with the file."""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from headwater.base import reading
from headwater.chips import find, model
from headwater.chips.checks import faults, wanted
from headwater.chips.families import VLIW
from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.chips.model import Chip, Family, Features, Memory, Range
from headwater.chips.vliw_isas import GENERATION_OF_TARGET
from headwater.errors import SourceError, Span, UsageError

_TABLES = {
    name: kind for name, kind in get_type_hints(Chip).items() if getattr(kind, "__module__", "") == model.__name__
}
_VLIW_TABLE = "features"
_TEXTS = ("name", "chip", "family", "generation", "target")
_KEYS = ("base", *_TEXTS, "aliases", *_TABLES, _VLIW_TABLE)


def read(path: Path) -> Chip:
    """See `headwater.chips.load`."""
    return _Reader(path).chip()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = reading.text(path)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise UsageError(f"cannot read the chip file {path}: {reason}") from None
        try:
            self.data = tomllib.loads(self.text)
        except ValueError as error:  # its own kind, or Python's of a number of too many digits
            raise self._syntax(str(error)) from None
        except RecursionError:
            raise self._syntax("brackets are nested too deeply") from None

    def chip(self) -> Chip:
        values: dict[str, Any] = {}
        self._refuse_unknown(self.data, _KEYS, "")
        for key in _TEXTS:
            values[key] = self._text(key)
        values["aliases"] = self._aliases()
        base = self._base()
        for key in _TEXTS:
            if values[key] is None:
                if base is None:
                    raise self._fault(f"the file says no {key!r}", "", key, f'add a line such as {key} = "…"')
                values[key] = getattr(base, key)
        if values["family"] not in get_args(Family):
            raise self._fault(f"family is {values['family']!r}", "", "family", 'it is "gcn" or "vliw"')
        vliw = values["family"] == VLIW
        self._check_target(values["target"], vliw=vliw)
        for key, kind in _TABLES.items():
            values[key] = self._table(key, kind, getattr(base, key) if base is not None else None)
        if vliw:
            values[_VLIW_TABLE] = self._table(_VLIW_TABLE, Features, base.features if base is not None else None)
        elif _VLIW_TABLE in self.data:
            raise self._fault("[features] is for VLIW chips", _VLIW_TABLE, "", 'this one says family = "gcn"')
        if base is not None:
            values["memory"] = self._with_bandwidth(values["memory"], base.memory)
        chip = Chip(**values, file=str(self.path))
        for fault in faults(chip):
            places = [
                (table or fault.table, key) for table, _, key in (n.rpartition(".") for n in (fault.key, *fault.others))
            ]
            table, key = next((place for place in places if place[1] in self.data.get(place[0], {})), places[0])
            raise self._fault(fault.message, table, key, fault.allowed)
        return chip

    def _base(self) -> Chip | None:
        name = self._text("base")
        if name is None:
            return None
        beside = self.path.parent / name
        try:
            return find(str(beside) if name.endswith(".toml") else name)
        except UsageError as error:
            raise self._fault(f"base: {error.message}", "", "base", error.hint) from None
        except RecursionError:
            raise self._fault("base: the files refer to each other in a circle", "", "base", "") from None

    def _text(self, key: str) -> str | None:
        value = self.data.get(key)
        if value is not None and not (isinstance(value, str) and value.strip() and value.isprintable()):
            raise self._fault(f"{key} is {value!r}", "", key, f'it is a text of one line: {key} = "…"')
        return value

    def _aliases(self) -> tuple[str, ...]:
        value = self.data.get("aliases", [])
        if not isinstance(value, list) or not all(isinstance(v, str) and v.isprintable() for v in value):
            raise self._fault(f"aliases is {value!r}", "", "aliases", 'it is a list of texts: aliases = ["…"]')
        return tuple(value)

    def _check_target(self, target: str, *, vliw: bool) -> None:
        if vliw:
            if target not in GENERATION_OF_TARGET:
                hint = f"a VLIW chip's is LLVM's name of its processor: {', '.join(GENERATION_OF_TARGET)}"
                raise self._fault(f"target is {target!r}", "", "target", hint)
        elif target not in ISA_OF_TARGET:
            hint = f"a GCN chip's is LLVM's name of its processor: {', '.join(sorted(ISA_OF_TARGET))}"
            raise self._fault(f"target is {target!r}", "", "target", hint)

    def _table(self, name: str, kind: Any, base: Any) -> Any:
        given = self.data.get(name, {})
        if not isinstance(given, dict):
            raise self._fault(f"{name} is {given!r}", "", name, f"it is a table: [{name}] and its figures below")
        known = {f.name: f for f in fields(kind)}
        self._refuse_unknown(given, known, name)
        types = get_type_hints(kind)
        values: dict[str, Any] = {}
        for key, figure in known.items():
            if key in given:
                values[key] = self._figure(name, key, given[key], types[key], figure)
            elif base is not None:
                values[key] = getattr(base, key)
            elif figure.default is MISSING:
                raise self._fault(f"the file says no {name}.{key}", name, "", wanted(figure, types[key]))
        return kind(**values)

    def _figure(self, table: str, key: str, value: Any, kind: type, figure: Field[Any]) -> Any:
        hint = wanted(figure, kind)
        if kind is str:
            if not isinstance(value, str):
                raise self._fault(f"{table}.{key} is {value!r}", table, key, hint)
            return value
        if kind is bool:
            if not isinstance(value, bool):
                raise self._fault(f"{table}.{key} is {value!r}", table, key, hint)
            return value
        limits: Range = figure.metadata["range"]
        whole = kind is int
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            raise self._fault(f"{table}.{key} is {value!r}", table, key, hint)
        if not limits.low <= value <= limits.high:
            raise self._fault(f"{table}.{key} is {value!r}", table, key, hint)
        return kind(value)

    def _refuse_unknown(self, given: Any, known: Any, table: str) -> None:
        for key in given:
            if key not in known:
                import difflib

                close = difflib.get_close_matches(key, known, 1)
                where = f"[{table}] has" if table else "a chip has"
                hint = f"did you mean {close[0]}? " if close else ""
                raise self._fault(f"{where} no {key!r}", table, key, f"{hint}it may have {', '.join(known)}")

    def _with_bandwidth(self, memory: Memory, base: Memory) -> Memory:
        """The bandwidth follows the clock and the bus unless the file says it, as with ``--set``."""
        if "gigabytes_per_second" in self.data.get("memory", {}):
            return memory
        faster = memory.clock_mhz / base.clock_mhz * memory.bus_bits / base.bus_bits
        return replace(memory, gigabytes_per_second=base.gigabytes_per_second * faster)

    def _fault(self, message: str, table: str, key: str, hint: str) -> SourceError:
        line = self._line(table, key)
        lines = self.text.splitlines()
        return SourceError(
            message,
            Span(str(self.path), line),
            hint=hint,
            source_line=lines[line - 1] if 0 < line <= len(lines) else "",
        )

    def _line(self, table: str, key: str) -> int:
        """The line where the key stands in its table, or the table begins; 0 if neither is written."""
        here, heading = "", 0
        for number, line in enumerate(self.text.splitlines(), 1):
            if found := re.match(r"\s*\[([\w.-]+)\]", line):
                here = found[1]
                heading = number if here in (table, key) else heading
            elif here == table and key and re.match(rf'\s*"?{re.escape(key)}"?\s*=', line):
                return number
        return heading

    def _syntax(self, message: str) -> SourceError:
        place = re.search(r"\(at line (\d+), column (\d+)\)", message)
        line, column = (int(place[1]), int(place[2])) if place else (0, 0)
        lines = self.text.splitlines()
        return SourceError(
            re.sub(r" \(at .*\)$", "", message),
            Span(str(self.path), line, column),
            source_line=lines[line - 1] if 0 < line <= len(lines) else "",
            hint="the file is written in TOML: key = value, under [table]",
        )
