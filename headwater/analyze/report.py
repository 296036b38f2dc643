"""Input: analyses. Output: the same as text, as a page and as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headwater.analyze.analysis import Analysis
from headwater.errors import HeadwaterError
from headwater.views.frame import Framed

SCHEMA = "headwater analyze 1"


@dataclass(frozen=True, slots=True)
class Refused:
    """A chip that cannot run a kernel (or any of a file, ``kernel`` then being its name), and why."""

    kernel: str
    device: str
    error: HeadwaterError


@dataclass(frozen=True)
class Report:
    """Analyses side by side: kernels, chips, what-ifs, in the order asked for; ``refused``: those that cannot be."""

    analyses: tuple[Analysis, ...]
    warnings: str = ""
    refused: tuple[Refused, ...] = ()

    def __iter__(self) -> Any:
        return iter(self.analyses)

    def __len__(self) -> int:
        return len(self.analyses)

    def __getitem__(self, index: int) -> Analysis:
        return self.analyses[index]

    def _repr_html_(self) -> str:
        from headwater.analyze.fragment import fragment

        return fragment(self.analyses)

    def as_json(self) -> dict[str, Any]:
        """All analyses as plain values."""
        return {
            "schema": SCHEMA,
            "analyses": [analysis.as_json() for analysis in self.analyses],
            "refused": [{"kernel": r.kernel, "device": r.device, "why": r.error.message} for r in self.refused],
        }

    def html(self) -> str:
        """One self-contained page with charts."""
        from headwater.analyze.html import page

        return page(self)

    def widget(self, height: int = 640) -> Framed:
        """The page in a frame of so many pixels, for notebooks: the buttons and tables that `html` has."""
        return Framed(f"Analysis of {', '.join(dict.fromkeys(a.name for a in self.analyses))}", self.html(), height)

    def text(self, *, width: int = 120, colour: bool = False, source: bool = False) -> str:
        """What the terminal shows."""
        from headwater.analyze.text import render

        return render(self, width=width, colour=colour, source=source)

    def __str__(self) -> str:
        return self.text()
