"""Input: a chip. Output: what of it a recorded launch depends on.

Machine code and what the emulator records of it follow from these figures. All others (clocks, counts of units, caches,
memory, what limits how many wavefronts are resident) are the replay's, so that one recording serves all their values.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.chips.vliw_isas import GENERATION_OF_TARGET

if TYPE_CHECKING:
    from headwater.chips.model import Chip

BANKS: Final = "local_memory.banks"
"""Of which conflicts are counted: of no effect on a launch without local memory."""
_REPLAYED: Final = frozenset(
    ("stack_entries", "texture_units", "render_back_ends", "wavefronts", "flow_instructions", "export_buffer_elements")
)
"""Figures of VLIW chips' `Features` that neither the compiler's choices nor results depend on."""


def recorded_figures(chip: Chip) -> dict[str, Any]:
    """What a compiler and the emulator look at, by name. A recording serves another chip if all these are equal."""
    compute = chip.compute
    found = {
        "the instruction set": ISA_OF_TARGET.get(chip.target) or GENERATION_OF_TARGET[chip.target],
        "compute.wavefront_size": compute.wavefront_size,
        "compute.work_group_size": compute.work_group_size,
        BANKS: chip.local_memory.banks,
    }
    if chip.features is not None:
        features = {one.name: getattr(chip.features, one.name) for one in fields(chip.features)}
        found |= {f"features.{name}": value for name, value in features.items() if name not in _REPLAYED}
        found |= {
            "doubles": chip.has_float64,
            "fused multiply-additions": chip.rates.float32_fma > 0,
            "compute.vliw_width": compute.vliw_width,
            "registers.vgprs_per_wavefront": chip.registers.vgprs_per_wavefront,
        }
    return found
