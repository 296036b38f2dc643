"""Input: a table of a sweep. Output: a page of plots: one file of HTML that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Final

from headwater.sweep.rows import ERROR
from headwater.sweep.table import Table
from headwater.views import page, svg

MOST_DOTS: Final = 3000
"""Dots of a plot; of more points only the best at each place are shown, as the lines show them."""
MOST_SERIES: Final = 12
_MOST_FIGURES: Final = 6
_BEST_ROWS: Final = 15
_TEXTS: Final = ("kernel", "device")


def html(table: Table, title: str) -> str:
    """The page: for each figure, its best over each value that varies, and the rows of the least time.

    Lines are of kernels and chips; where other values vary, too, each point of a line is the best of them (the greatest
    of rates, the least of others), and dots are all.
    """
    body: list[str] = []
    keys = list(table.columns)[: table.keys]
    figures = [name for name in list(table.columns)[table.keys :] if name != ERROR and _varies(table.columns[name])]
    names, groups = _series(table, keys)
    varying = [key for key in keys if key not in _TEXTS and _varies(table.columns[key])]
    numbers = [key for key in varying if all(_is_number(value) for value in table.columns[key])]
    texts = [key for key in [*_TEXTS, *varying] if key in keys and key not in numbers and _distinct(table, key) > 1]
    for figure in figures[:_MOST_FIGURES]:
        plots = [_over_number(table, key, figure, names, groups) for key in numbers]
        plots += [_over_text(table, key, figure) for key in texts]
        body.append(f"<h2>{escape(figure)}</h2>{''.join(plots)}")
    body.append(_best(table, keys, figures))
    failed = sum(value is not None for value in table.columns.get(ERROR, []))
    under = f"{len(table):,} points, {failed:,} failed; {', '.join(keys)}"
    return page.document(title, title, under, body, "headwater sweep export")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _varies(values: Sequence[Any]) -> bool:
    return len({value for value in values if value is not None}) > 1


def _distinct(table: Table, key: str) -> int:
    return len(set(table.columns[key]))


def _series(table: Table, keys: Sequence[str]) -> tuple[list[str], list[int]]:
    """The names of lines, and which one each row belongs to."""
    chosen = [key for key in _TEXTS if key in keys and _distinct(table, key) > 1]
    found: dict[str, int] = {}
    groups = []
    for row in range(len(table)):
        name = " on ".join(str(table.columns[key][row]) for key in chosen)
        groups.append(found.setdefault(name, len(found)))
    return list(found), groups


def _better(figure: str) -> Any:
    """``max`` for what is better the more it is."""
    rates = ("gflops", "occupancy", "bandwidth", "gb_per_s", "hit", "rate")
    return max if any(word in figure for word in rates) else min


def _over_number(table: Table, key: str, figure: str, names: Sequence[str], groups: Sequence[int]) -> str:
    best = _better(figure)
    lines: dict[int, dict[float, float]] = {}
    dots: list[tuple[int, float, float, str]] = []
    for row, (x, y) in enumerate(zip(table.columns[key], table.columns[figure], strict=True)):
        if not _is_number(y) or groups[row] >= MOST_SERIES:
            continue
        places = lines.setdefault(groups[row], {})
        places[x] = best(places.get(x, y), y)
        dots.append((groups[row], x, y, _named(table, row)))
    if not lines:
        return ""
    series = [(names[number], sorted(places.items())) for number, places in sorted(lines.items())]
    order = {number: at for at, number in enumerate(sorted(lines))}
    shown = [(order[number], x, y, name) for number, x, y, name in dots] if len(dots) <= MOST_DOTS else []
    left_out = len(names) - MOST_SERIES
    note = f'<p class="soft">{left_out} more series are not shown.</p>' if left_out > 0 else ""
    return svg.lines_and_dots(series, shown, key, figure) + note


def _over_text(table: Table, key: str, figure: str) -> str:
    best = _better(figure)
    found: dict[str, float] = {}
    for value, y in zip(table.columns[key], table.columns[figure], strict=True):
        if _is_number(y):
            found[str(value)] = best(found.get(str(value), y), y)
    if not found or max(found.values()) <= 0:
        return ""
    rows = sorted(found.items(), key=lambda one: one[1], reverse=best is max)[:40]
    most = max(found.values())
    made = page.bars((name, max(value, 0.0) / most, f"{value:.4g}", "mix0") for name, value in rows)
    return f"<h3>{escape(figure)} by {escape(key)}, {'greatest' if best is max else 'least'}</h3>{made}"


def _named(table: Table, row: int) -> str:
    values = ((key, table.columns[key][row]) for key in list(table.columns)[: table.keys])
    return ", ".join(f"{key} {value}" for key, value in values if value is not None)


def _best(table: Table, keys: Sequence[str], figures: Sequence[str]) -> str:
    if "seconds" not in table.columns:
        return ""
    timed = [(value, row) for row, value in enumerate(table["seconds"]) if _is_number(value)]
    heads = [*keys, *figures[:_MOST_FIGURES]]
    rows = [[_cell(table.columns[name][row]) for name in heads] for _, row in sorted(timed)[:_BEST_ROWS]]
    numbers = [at for at, name in enumerate(heads) if all(_is_number(v) or v is None for v in table.columns[name])]
    return f"<h2>Least time</h2>{page.table(heads, rows, numbers)}" if rows else ""


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
