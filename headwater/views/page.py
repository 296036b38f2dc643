"""Input: texts and numbers. Output: the parts of a page that both reports are made of, and the whole page as HTML.

Nothing is loaded from elsewhere. Charts of bars are HTML, so that their words keep their size on a small screen; those
with axes are `headwater.views.svg`. Colours are the classes of page.css.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

_HERE = Path(__file__).parent
COLOURS = (
    "#2a6fdb", "#e08a1e", "#2f9e63", "#c8372d", "#8a58c9", "#8c6b4a", "#7c8797", "#16a3b8", "#d6589f", "#a8a61c",
    "#4b5aa8", "#5fb3a1", "#b9855f", "#c9ced6",
)  # fmt: skip
"""The classes mix0, mix1 … of parts of a whole."""


def document(title: str, heading: str, under: str, body: Sequence[str], foot: str) -> str:
    """The whole page; ``under`` the heading stands a line of text. ``body`` is HTML, all else plain text."""
    style, script = ((_HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    style += "".join(f".mix{n} {{ background: {colour}; }}\n" for n, colour in enumerate(COLOURS))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>"
        f'<header><h1>{escape(heading)}</h1><p class="soft">{escape(under)}</p></header><main>{"".join(body)}</main>'
        f"<footer>{escape(foot)}</footer><script>{script}</script></body></html>\n"
    )


def one_by_one(names: Sequence[str], sections: Sequence[str]) -> str:
    """Sections of HTML of which one is shown; a button for each name, if there are several."""
    tabs = "".join(
        f'<button data-n="{n}"{" class=on" if n == 0 else ""}>{escape(name)}</button>' for n, name in enumerate(names)
    )
    shown = "".join(
        f'<section class="one{"" if n else " on"}" data-n="{n}">{section}</section>'
        for n, section in enumerate(sections)
    )
    return f"<h2>One by one</h2><nav>{tabs}</nav>{shown}" if len(names) > 1 else shown


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = (), *, code: int | None = None
) -> str:
    """A table of plain text; the columns ``numbers`` are set flush right, the column ``code`` as code is."""
    kinds = [' class="n"' if n in numbers else ' class="code"' if n == code else "" for n in range(len(heads))]

    def row(cells: Sequence[str], tag: str) -> str:
        made = (f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f'<div class="scroll"><table>{row(heads, "th")}{body}</table></div>'


def bars(rows: Iterable[tuple[str, float, str, str]]) -> str:
    """Bars beside each other: name, length (0 to 1), what stands behind it, class of the bar."""
    cells = "".join(
        f'<b>{escape(name)}</b><span class="track">'
        f'<i class="bar {kind}" style="width:{100 * min(1.0, share):.1f}%"></i></span>'
        f"<small>{escape(shown)}</small>"
        for name, share, shown, kind in rows
    )
    return f'<div class="bars">{cells}</div>'


def stack(parts: Sequence[tuple[str, float]], colours: Mapping[str, int] | None = None) -> str:
    """One bar made of parts, with its legend below: name and count. ``colours``: the number of each name's, by default
    in the order of the parts."""
    whole = sum(count for _, count in parts) or 1.0
    bar, legend = [], []
    for index, (name, count) in enumerate(parts):
        number = index if colours is None else colours.get(name, index)
        colour, share = f"mix{number % len(COLOURS)}", count / whole
        shown = f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
        bar.append(f'<i class="{colour}" style="width:{100 * share:.2f}%" title="{escape(name)} {share:.1%}"></i>')
        legend.append(f'<span><i class="{colour}"></i>{escape(name)} {shown}</span>')
    return f'<div class="stack">{"".join(bar)}</div><p class="legend">{"".join(legend)}</p>'
