"""A side of the comparison. Input: a case. Output: runnable versions of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from suite.case import Case, Data

Run = Callable[[], None]
"""Does the case's work once and returns when the results are in the case's arrays."""


class Missing(Exception):
    """This side cannot run here; the message says what is lacking."""


class Peer(Protocol):
    """One side, living in a process of its own."""

    name: str

    def describe(self) -> str:
        """Name, version and what matters of the configuration; raises :class:`Missing`."""

    def versions(self, case: Case, data: Data) -> Mapping[str, Run]:
        """The case's formulations on this side, compiled or ready to be on their first run; empty where it has none."""
