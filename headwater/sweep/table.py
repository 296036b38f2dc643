"""Input: the rows of a store. Output: a table, and its files for other programs.

Rows are in the order of their points' values, so that the same points make the same table however they were computed.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.base import writing
from headwater.errors import UsageError
from headwater.sweep.rows import ERROR, wanted

if TYPE_CHECKING:
    from headwater.sweep.store import Store

SUFFIXES: Final = (".csv", ".npz", ".npy", ".parquet", ".json", ".html")
_STATE: Final = "state"


@dataclass(frozen=True)
class Table:
    """Columns by name, all of one length: first the values of the points (`keys` of them), then their figures.

    A column of numbers has None where a row has no such figure. Rows that failed have a text in ``error``.
    """

    columns: dict[str, list[Any]]
    keys: int

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> list[Any]:
        """A column. UsageError, with the nearest name, if there is none."""
        if name not in self.columns:
            import difflib

            close = difflib.get_close_matches(name, self.columns, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(self.columns)}"
            raise UsageError(f"the table has no column {name!r}", hint=hint)
        return self.columns[name]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row by its columns' names, without what it has not."""
        for values in zip(*self.columns.values(), strict=True):
            yield {name: value for name, value in zip(self.columns, values, strict=True) if value is not None}

    def best(self, column: str = "seconds") -> dict[str, Any] | None:
        """The row with the least figure, None if no row has it."""
        found = [(value, n) for n, value in enumerate(self[column]) if value is not None] if len(self) else []
        if not found:
            return None
        return {name: values[min(found)[1]] for name, values in self.columns.items()}

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Columns as arrays: whole numbers as int64, others as float64 with NaN where there is none, texts as texts."""
        return {name: _array(values) for name, values in self.columns.items()}

    def array(self) -> np.ndarray[Any, Any]:
        """One array with a field for each column."""
        found = self.arrays()
        whole = np.empty(len(self), [(name, column.dtype) for name, column in found.items()])
        for name, column in found.items():
            whole[name] = column
        return whole

    def pandas(self) -> Any:
        """A DataFrame. UsageError where pandas is not installed."""
        try:
            import pandas
        except ImportError:
            raise UsageError("pandas is not installed", hint="pip install pandas") from None
        return pandas.DataFrame(self.columns)

    def arrow(self) -> Any:
        """A pyarrow.Table. UsageError where pyarrow is not installed."""
        try:
            import pyarrow
        except ImportError:
            raise UsageError("pyarrow, which writes Parquet, is not installed", hint="pip install pyarrow") from None
        return pyarrow.table({name: _of_one_type(values) for name, values in self.columns.items()})

    def csv(self) -> str:
        """Text with a heading; numbers as Python writes them, so that they are read back as they were."""
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        out.writerow(self.columns)
        out.writerows(zip(*self.columns.values(), strict=True))
        return text.getvalue()

    def save(self, path: Path | str) -> None:
        """Write the table in the format of the path's suffix. UsageError if there is none of that suffix, or it cannot
        be written."""
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            raise UsageError(f"{path}: tables are written as {', '.join(SUFFIXES)}")
        if suffix == ".csv":
            writing.write({path: self.csv()})
        elif suffix == ".html":
            from headwater.sweep.plots import html

            writing.write({path: html(self, path.stem)})
        elif suffix == ".json":
            writing.write({path: json.dumps(list(self.rows()), ensure_ascii=False, indent=1) + "\n"})
        else:
            writing.write({path: self._binary(suffix)})

    def _binary(self, suffix: str) -> bytes:
        data = io.BytesIO()
        if suffix == ".npz":
            np.savez(data, **self.arrays())  # type: ignore[arg-type]
        elif suffix == ".npy":
            np.save(data, self.array())
        else:
            table = self.arrow()
            from pyarrow import parquet

            parquet.write_table(table, data)
        return data.getvalue()


def table(store: Store, record: Sequence[str] = (), *, old: bool = False) -> Table:
    """The rows of a store. ``record``: which figures (all: ``()``); ``old``: also rows that are not current, each with
    its ``state``."""
    found = list(store.rows(old=old))
    keys: dict[str, None] = {}
    figures: dict[str, None] = {}
    for row in found:
        keys |= dict.fromkeys(row["at"])
        figures |= dict.fromkeys(row["found"])
    order: list[str] = [name for name in ("kernel", "device") if name in keys]
    order += sorted(keys.keys() - set(order))
    chosen = sorted((name for name in figures if not record or wanted(name, record)), key=_figure_order)
    found.sort(key=lambda row: [_rank(row["at"].get(name)) for name in order])
    columns: dict[str, list[Any]] = {name: [row["at"].get(name) for row in found] for name in order}
    for name in chosen:
        columns[f"{name}_" if name in columns else name] = [row["found"].get(name) for row in found]
    if old:
        columns[_STATE] = [row[_STATE] for row in found]
    return Table(columns, len(order))


_FIRST: Final = ("seconds", "cycles", "gflops", "system_seconds", "bottleneck")


def _figure_order(name: str) -> tuple[int, int, str]:
    if name in _FIRST:
        return 0, _FIRST.index(name), name
    return 2 if name == ERROR else 1, 0, name


def _rank(value: Any) -> tuple[int, float, str]:
    if value is None:
        return 0, 0.0, ""
    if isinstance(value, str):
        return 2, 0.0, value
    return 1, float(value), ""


def _of_one_type(values: list[Any]) -> list[Any]:
    """A column whose values have one type: numbers, or texts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds <= {str}:
        return values
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]


def _array(values: list[Any]) -> np.ndarray[Any, Any]:
    column = _of_one_type(values)
    kinds = {type(value) for value in column if value is not None}
    if str in kinds or not kinds:
        return np.array(["" if value is None else value for value in column], np.str_)
    if kinds == {int} and None not in column and all(-(1 << 63) <= value < 1 << 63 for value in column):
        return np.array(column, np.int64)
    return np.array([np.nan if value is None else value for value in column], np.float64)


# ---------------------------------------------------------------------------------------------------------- comparing


@dataclass(frozen=True)
class Comparison:
    """How two tables differ: points that only one has, and those whose ``column`` differs by more than a tolerance,
    each with the values of its point and both figures."""

    only_first: list[dict[str, Any]]
    only_second: list[dict[str, Any]]
    changed: list[tuple[dict[str, Any], Any, Any]]
    same: int

    def __bool__(self) -> bool:
        return bool(self.only_first or self.only_second or self.changed)


def compared(first: Table, second: Table, column: str = "seconds", tolerance: float = 0.0) -> Comparison:
    """Compare the points of two tables. ``tolerance``: how far figures may be apart, as a part of the first's."""
    a, b = (_by_point(one, column) for one in (first, second))
    changed: list[tuple[dict[str, Any], Any, Any]] = []
    same = 0
    for key in a.keys() & b.keys():
        before, after = a[key], b[key]
        if before == after or (
            isinstance(before, (int, float))
            and isinstance(after, (int, float))
            and abs(after - before) <= tolerance * abs(before)
        ):
            same += 1
        else:
            changed.append((dict(key), before, after))
    changed.sort(key=lambda one: [_rank(value) for value in one[0].values()])
    gone, new = ([dict(key) for key in sorted(x.keys() - y.keys(), key=_key_rank)] for x, y in ((a, b), (b, a)))
    return Comparison(gone, new, changed, same)


def _key_rank(key: tuple[tuple[str, Any], ...]) -> list[tuple[int, float, str]]:
    return [_rank(value) for _, value in key]


def _by_point(table: Table, column: str) -> dict[tuple[tuple[str, Any], ...], Any]:
    names = list(table.columns)[: table.keys]
    figures = table[column] if len(table) and column in table.columns else [None] * len(table)
    errors = table.columns.get(ERROR, [None] * len(table))
    found = {}
    for n in range(len(table)):
        values = ((name, table.columns[name][n]) for name in names)
        key = tuple((name, value) for name, value in sorted(values, key=lambda one: one[0]) if value is not None)
        found[key] = errors[n] if figures[n] is None else figures[n]
    return found
