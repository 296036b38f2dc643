"""Input: texts and numbers. Output: what a notebook shows of an object: a fragment of HTML without scripts.

Colours follow the notebook's theme where it says what they are (JupyterLab's variables), else the browser's. All text
is escaped, and the styles reach nothing outside of the fragment.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from headwater.base.arrays import Array
from headwater.views.page import table

_STYLE = """
.hw-nb{--ink:var(--jp-content-font-color1,#1c2330);--soft:var(--jp-content-font-color2,#5b6678);
--band:var(--jp-layout-color2,#eef1f5);--line:var(--jp-border-color2,#dde2ea);--blue:#2a6fdb;color:var(--ink);
font:13px/1.45 system-ui,sans-serif;max-width:1000px}
@media(prefers-color-scheme:dark){.hw-nb{--ink:var(--jp-content-font-color1,#e4e8ef);
--soft:var(--jp-content-font-color2,#97a3b6);--band:var(--jp-layout-color2,#1c222c);
--line:var(--jp-border-color2,#323b49);--blue:#6ea8ff}}
.hw-nb p{margin:4px 0}.hw-nb small,.hw-nb .legend{color:var(--soft)}
.hw-nb table{border-collapse:collapse;margin:6px 0;color:inherit}
.hw-nb th,.hw-nb td{padding:2px 12px 2px 0;text-align:left;border-bottom:1px solid var(--line);background:none}
.hw-nb th{color:var(--soft);font-weight:600}.hw-nb td.n,.hw-nb th.n{text-align:right;font-variant-numeric:tabular-nums}
.hw-nb pre{background:var(--band);color:var(--ink);padding:8px;overflow:auto;max-height:26em;margin:4px 0}
.hw-nb .scroll{overflow-x:auto}.hw-nb .bars{display:grid;
grid-template-columns:fit-content(30%) minmax(60px,360px) auto;gap:2px 10px;align-items:center}
.hw-nb .bars b{font-weight:400;text-align:right}.hw-nb .track{background:var(--band);height:11px}
.hw-nb .bar{display:block;height:100%;background:var(--blue)}
.hw-nb .stack{display:flex;height:16px;background:var(--band);overflow:hidden}
.hw-nb .legend{display:flex;flex-wrap:wrap;gap:2px 14px}
.hw-nb .legend i{display:inline-block;width:10px;height:10px;margin-right:5px}
"""


def fragment(*parts: str) -> str:
    """HTML in a box of its own, with its styles. ``parts`` are HTML."""
    from headwater.views.page import COLOURS

    colours = "".join(f".hw-nb .mix{n}{{background:{colour}}}" for n, colour in enumerate(COLOURS))
    return f'<div class="hw-nb"><style>{_STYLE}{colours}</style>{"".join(parts)}</div>'


def heading(title: str, under: str = "") -> str:
    """A line in bold with one of small print behind it."""
    return f"<p><b>{escape(title)}</b>{f' <small>{escape(under)}</small>' if under else ''}</p>"


def listing(summary: str, text: str) -> str:
    """A text that opens when it is asked for."""
    return f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"


def kernel(title: str, under: str, arguments: Sequence[Sequence[str]], source: str) -> str:
    """A kernel: what it is, its arguments (name, type, how it is accessed), its source."""
    rows = table(("argument", "type", "access"), arguments) if arguments else ""
    return fragment(heading(title, under), rows, listing("source", source) if source else "")


_CORNER = 8


def array(title: str, under: str, values: Array | None) -> str:
    """An array's outline, and if its ``values`` are given the first rows and columns of its last two dimensions."""
    if values is None or values.dtype.kind not in "biuf" or not values.size:
        return fragment(heading(title, under))
    shown = values
    while shown.ndim > 2:
        shown = shown[0]
    corner = np.atleast_2d(shown)[:_CORNER, :_CORNER]
    cells = [[f"{value:.6g}" if values.dtype.kind == "f" else str(value) for value in row] for row in corner]
    heads = [str(n) for n in range(corner.shape[1])]
    more = " …" if corner.size < values.size else ""
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    ends = f"{finite.min()} to {finite.max()}" if finite.size else ""
    return fragment(
        heading(title, under), table(heads, cells, range(len(heads))), f"<small>{escape(ends)}{more}</small>"
    )
