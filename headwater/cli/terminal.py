"""Input: rows and pixels. Output: tables and small pictures on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any, Literal

from headwater.files import Array

_WIDEST = 1000


def print_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", numbers: Sequence[int] = ()
) -> None:
    """Print a table; ``numbers`` are the columns set flush right."""
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )
    for index, head in enumerate(heads):
        least = max(map(cell_len, [head, *(row[index] for row in rows)])) if index in numbers else None
        justify: Literal["left", "right"] = "right" if index in numbers else "left"
        table.add_column(head, justify=justify, no_wrap=index in numbers, min_width=least)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    # Into a file or pipe a table is as wide as its columns need, and 120 if longer texts can be wrapped.
    console = Console()
    if not sys.stdout.isatty():
        wide = console.options.update(width=_WIDEST)
        console = Console(width=max(120, min(table.__rich_measure__(console, wide).minimum, _WIDEST)))
    with console.capture() as made:
        console.print(table)
    # Printed here, as Rich would end the process itself where the reader of a pipe has gone.
    print(*(line.rstrip() for line in made.get().splitlines()), sep="\n")


def shows_colour() -> bool:
    """Whether stdout is a terminal that shows 24-bit colour."""
    if "NO_COLOR" in os.environ or not sys.stdout.isatty():
        return False
    return os.environ.get("COLORTERM", "") in ("truecolor", "24bit") or "256color" in os.environ.get("TERM", "")


def half_blocks(pixels: Array, width: int = 0) -> str:
    """A small picture as text: two pixels a character, the upper as foreground and the lower as background of ``▀``.

    ``pixels``: (rows, columns, 3) of uint8; ``width`` in characters, by default what the terminal has, 100 at most.
    """
    import numpy as np
    from PIL import Image

    columns = min(width or min(shutil.get_terminal_size().columns, 100), pixels.shape[1])
    rows = max(2, round(pixels.shape[0] * columns / pixels.shape[1] / 2) * 2)
    small: Any = np.asarray(Image.fromarray(pixels).resize((columns, rows), Image.Resampling.LANCZOS))
    lines = []
    for upper, lower in zip(small[::2], small[1::2], strict=True):
        cells = (
            f"\x1b[38;2;{u[0]};{u[1]};{u[2]};48;2;{v[0]};{v[1]};{v[2]}m▀" for u, v in zip(upper, lower, strict=True)
        )
        lines.append("".join(cells) + "\x1b[0m")
    return "\n".join(lines)
