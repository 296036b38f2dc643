"""The table of ATI IL's operations, read from ``operations.txt`` when first wanted."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

RESULT_MODIFIERS = frozenset(("sat", "x2", "x4", "x8", "d2", "d4", "d8", "prec"))
"""What may be done to a floating-point result as it is written: clamp to 0..1, scale; ``prec`` allows no reordering."""

UNTRANSLATED = "?"
_NO_COMPARISON = "CAL's samplers have no comparison; compare what sample gives"
WHY_UNTRANSLATED = {
    "noise": "no document states its numbers",
    **dict.fromkeys(("sample_c", "sample_c_lz", "sample_c_l", "sample_c_b", "sample_c_g"), _NO_COMPARISON),
    "dcl_persistent": "no document states what is preserved",
}
"""Why an operation is read and printed but runs nowhere."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A row: see the head of ``operations.txt`` for the letters of ``result`` and ``sources``."""

    name: str
    result: str
    sources: tuple[str, ...]
    modifiers: frozenset[str]
    meaning: str

    @property
    def is_declaration(self) -> bool:
        """Whether it declares rather than does something."""
        return self.name.startswith(("dcl_", "init_")) or self.name in ("def", "defb", "dclpi")

    @property
    def has_result(self) -> bool:
        """Whether its first operand is a destination."""
        return self.result != "-"


@functools.cache
def operations() -> dict[str, Operation]:
    """Every operation by its name."""
    found: dict[str, Operation] = {}
    for line in Path(__file__).with_name("operations.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        name, result, sources, modifiers, meaning = (
            part.strip().replace("\\|", "|") for part in re.split(r"(?<!\\)\|", line)
        )
        assert name not in found, name
        found[name] = Operation(name, result, tuple(sources.split()), frozenset(modifiers.split()), meaning)
    return found
