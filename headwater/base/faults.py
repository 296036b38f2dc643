"""Input: faults found one by one. Output: one error that lists them all."""

from __future__ import annotations

from headwater.errors import SourceError, Span

_MOST = 20
"""Faults that are reported; clang stops at as many."""


class Consequence(SourceError):
    """What goes wrong only because of a fault that has been reported: it is not reported itself."""


class Faults:
    """The faults of one file, as far as they have been found. ``with faults:`` reports the one that ends the block."""

    def __init__(self) -> None:
        self.found: list[SourceError] = []
        self.count = 0
        """Of the faults found, consequences of others included."""
        self.lost: set[str] = set()
        """Names whose declarations could not be read: nothing more is said of them."""

    def report(self, fault: SourceError) -> None:
        """Remember a fault."""
        self.count += 1
        if not isinstance(fault, Consequence):
            self.found.append(fault)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: object) -> bool:
        if not isinstance(fault, SourceError):
            return False
        self.report(fault)
        return True

    def raise_all(self) -> None:
        """Raise one SourceError for all faults found, the first of the text first; nothing happens if there are
        none."""
        if not self.found:
            return
        first, *others = sorted(self.found, key=lambda fault: fault.span or Span(""))
        if not others:
            raise first
        texts = [str(fault) for fault in others[: _MOST - 1]]
        if len(others) >= _MOST:
            left = len(others) - _MOST + 1
            texts.append(f"… and {left} more error{'s' * (left > 1)}")
        raise SourceError(
            first.message, first.span, hint=first.hint, source_line=first.source_line, details="\n".join(texts)
        )
