"""Input: a chip. Output: what the compiler must know of it, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.chips.model import Chip
from headwater.chips.vliw_isas import GENERATION_OF_TARGET, TRAITS, Traits
from headwater.errors import UsageError
from headwater.isa.vliw import table
from headwater.isa.vliw.model import ALU_KINDS


@dataclass(frozen=True, slots=True)
class Target:
    """A chip as the compiler sees it; the limits are those of `headwater.chips.model.Features`."""

    chip: Chip
    name: str
    traits: Traits
    gprs: int
    clause_temporaries: int
    alu_slots: int
    fetches: int
    constant_windows: int
    has_float64: bool
    has_fma: bool
    vertex_cache: bool
    relative_addressing_bug: bool
    constant_buffer_elements: int
    stack_entry_bug: bool
    loop_push_bug: bool
    stack_elements_per_entry: int
    stack_entries: int

    def has(self, name: str) -> bool:
        """Whether there is an ALU operation of this name."""
        return any(table.named(self.generation, kind, name) for kind in ALU_KINDS)

    def has_flow(self, name: str) -> bool:
        """Whether there is an instruction of control flow of this name."""
        return any(table.named(self.generation, kind, name) for kind in ("CF", "CF_ALU"))

    @property
    def generation(self) -> str:
        """The generation's name, by which the instruction tables know it."""
        return self.traits.name

    @property
    def has_alu_break(self) -> bool:
        """Whether a clause can end in a break or continue; chips whose clauses fail at a stack entry's end had better
        not."""
        return self.has_flow("ALU_BREAK") and not self.stack_entry_bug


def target_of(chip: Chip) -> Target:
    """What the compiler wants to know. UsageError for a chip that is no VLIW chip."""
    features = chip.vliw
    if features is None or chip.target not in GENERATION_OF_TARGET:
        raise UsageError(f"{chip.name} is not a VLIW chip", hint="VLIW chips: HD 2400 to HD 6970")
    return Target(
        chip=chip,
        name=chip.target,
        traits=TRAITS[GENERATION_OF_TARGET[chip.target]],
        gprs=chip.registers.vgprs_per_wavefront,
        clause_temporaries=features.clause_temporaries,
        alu_slots=features.alu_slots_per_clause,
        fetches=features.fetches_per_clause,
        constant_windows=features.constant_lines,
        has_float64=chip.has_float64,
        has_fma=chip.rates.float32_fma > 0,
        vertex_cache=features.vertex_cache,
        relative_addressing_bug=features.relative_addressing_bug,
        constant_buffer_elements=features.constant_buffer_elements,
        stack_entry_bug=features.stack_entry_bug,
        loop_push_bug=features.loop_push_bug,
        stack_elements_per_entry=features.stack_elements_per_entry,
        stack_entries=features.stack_entries,
    )
