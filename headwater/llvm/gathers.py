"""Input: processors by name. Output: what their gathers cost, measured on each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gathers:
    """A processor's gathers: cycles a lane where all are on (``whole``) and where a mask says which (``masked``);
    whether they have masks (``have_masks``). Scatters are taken to cost the same."""

    whole: float
    masked: float
    have_masks: bool


SLOW_GATHERS = Gathers(1.5, 1.5, have_masks=True)
"""AVX-512 of a Zen 5: a sparse matrix product takes 3.8 times as long by gathers as one by one."""
QUICK_GATHERS = Gathers(0.4, 0.4, have_masks=True)
"""AVX-512 of an Emerald Rapids: that product takes 0.83 to 1.0 of the time, a binary search 0.35, 16 loads that follow
each other 0.73, sums of 16 from places that a table tells 1.1 to 1.25."""
EMULATED_GATHERS = Gathers(1.5, 3.0, have_masks=False)
"""One load a lane (LLVM 22 does not choose AVX2's gathers). Masked, an Emerald Rapids held to AVX2 takes
1.3 times as long as one by one for sums from places that are computed, with 8 sums of up to 15 side by side."""
