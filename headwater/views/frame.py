"""Input: a page as one text. Output: HTML that shows it inside a notebook, isolated from the notebook's own page."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from headwater.errors import UsageError


@dataclass(frozen=True)
class Framed:
    """A self-contained page in a frame of ``height`` pixels. Its scripts run in a sandbox: they see nothing of the
    notebook, and load nothing."""

    title: str
    page: str = field(repr=False)
    height: int = 640

    def __post_init__(self) -> None:
        if isinstance(self.height, bool) or not isinstance(self.height, int) or not 100 <= self.height <= 10_000:
            raise UsageError(f"a height is 100 to 10,000 pixels, not {self.height!r:.60}")

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts" width="100%" height="{self.height}" '
            f'style="border:0" srcdoc="{escape(self.page)}"></iframe>'
        )
