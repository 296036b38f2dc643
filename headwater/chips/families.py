"""The names of families of chips, as `Chip.family` has them."""

from __future__ import annotations

from typing import Final

VLIW: Final = "vliw"
"""Chips whose instructions are clauses of wide ones; the other family is "gcn"."""
