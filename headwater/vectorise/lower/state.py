"""The state of lowering one variant of a kernel: the plan it follows and what has been written so far."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from headwater.llvm.ir import Inst
from headwater.vectorise.lower.writer import Writer
from headwater.vectorise.plan.chunk_plan import ChunkPlan
from headwater.vectorise.plan.strip_mining import Strips

Formats = dict[tuple[str, tuple[bool, ...]], int]
"""The number of each format of printf: a global's name, and which slots of its arguments are addresses."""


@dataclass(slots=True, eq=False)
class Prefetches:
    """Prefetches of the current block that are still to be written (address, locality), the addresses of all blocks
    that are prefetched from, and whether any prefetch has been written."""

    pending: list[tuple[str, int]] = field(default_factory=list)
    bases: set[str] = field(default_factory=set)
    written: bool = False


@dataclass(slots=True, eq=False)
class Suspensions:
    """Where chunks stop at barriers: the blocks that save and restore, by pairs of labels, and the barriers."""

    labels: list[tuple[str, str]] = field(default_factory=list)
    barriers: list[Inst] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Lowering:
    """The state that all functions of this package write to; they take it as ``ctx``.

    ``cache`` has the parts of values that are known at this point of the current ``block``: the text of (value,
    component, row, form). Forms are ``s`` (the scalar that all lanes share, or lane 0's of a strided value), ``v`` (one
    vector element per lane), ``g`` (the guard of a stride) and ``p`` (all components of all lanes, for the values in
    ``plan.packed``); masks and lanes' own values are kept there under forms of their own.

    ``in_row``: the body of a loop over rows is being written, for row 0. ``strip_loop`` and ``strip``: the loop that is
    written for some rows at a time, and these rows. ``unmasked``: code is being written that all lanes run. ``splats``:
    packed values of which one component is defined and all have been made equal to it. ``spills``: how many slots of
    memory have been numbered.
    """

    plan: ChunkPlan
    formats: Formats
    writer: Writer = field(default_factory=Writer)
    block: str = ""
    cache: dict[tuple[str, int, int, str], str] = field(default_factory=dict)
    in_row: bool = False
    strip_loop: Strips | None = None
    strip: range | None = None
    unmasked: bool = False
    splats: set[str] = field(default_factory=set)
    spills: int = 0
    prefetches: Prefetches = field(default_factory=Prefetches)
    suspensions: Suspensions = field(default_factory=Suspensions)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Values made inside are not known outside: they need not dominate what follows."""
        kept = dict(self.cache)
        yield
        self.cache = kept
