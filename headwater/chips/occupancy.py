"""Input: a chip and what a kernel needs of its compute units. Output: how many wavefronts can be resident.

A compute unit takes a whole work-group or none (AMD, Vega Instruction Set Architecture, 2.3), so every limit is counted
in work-groups; the smallest counts. Registers are given out per wavefront, in granules, from each SIMD's file; LDS per
work-group, in granules, from the compute unit's. A work-group of one wavefront needs no barrier and is not counted
against the limit on work-groups (AMD, GPU occupancy on GFX9, Frontier Application Readiness workshop, 2019).

A SIMD engine of a VLIW chip is reckoned with as a compute unit of one SIMD: its registers are of four components each
("GPRs"), its control-flow stack is shared by its wavefronts (AMD, OpenCL Programming Guide, "Register Allocation";
Linux kernel, drivers/gpu/drm/radeon).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from headwater.chips import Chip
from headwater.errors import LaunchError

Resource = Literal["wavefronts", "work-groups", "VGPRs", "SGPRs", "LDS", "GPRs", "stack"]


@dataclass(frozen=True, slots=True)
class Needs:
    """What one kernel takes: work-items of a group, registers of a wavefront, LDS bytes of a group.

    ``sgprs`` counts those that the hardware adds for VCC and the like, as a code object's header does. ``stack``:
    entries of a VLIW chip's control-flow stack that a wavefront may need. ``shared_vgprs``: of a SIMD's register file
    that all its wavefronts share, once for each lane (AMD, Technical Overview, ATI Stream Computing, 1.6).
    """

    group: int = 64
    vgprs: int = 1
    sgprs: int = 0
    lds_bytes: int = 0
    stack: int = 0
    shared_vgprs: int = 0


@dataclass(frozen=True, slots=True)
class Limit:
    """How many work-groups of a kernel one resource of a compute unit holds; ``asked`` and ``given``: with granules."""

    resource: Resource
    work_groups: int
    asked: int
    given: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Step:
    """A change that lets more wavefronts be resident: the resource, the most that it may be, and what comes of it."""

    resource: Resource
    at_most: int
    wavefronts: int
    occupancy: float


@dataclass(frozen=True)
class Occupancy:
    """``wavefronts`` and ``work_groups`` resident in a compute unit; ``occupancy``: of the ``wavefront_slots``.

    ``limits``: every resource's, the tightest first; ``limited_by``: those that hold no more than is resident.
    """

    chip: Chip
    needs: Needs
    wavefronts_per_group: int
    work_groups: int
    wavefronts: int
    wavefront_slots: int
    limits: tuple[Limit, ...]

    @property
    def occupancy(self) -> float:
        """Resident wavefronts as a share of those that the compute unit could hold, 0 to 1."""
        return self.wavefronts / self.wavefront_slots

    @property
    def wavefronts_per_simd(self) -> int:
        """Wavefronts on the fullest SIMD: they are dealt out in turn."""
        return -(-self.wavefronts // self.chip.compute.simds_per_compute_unit)

    @property
    def limited_by(self) -> tuple[Resource, ...]:
        """The resources that keep another work-group out."""
        return tuple(limit.resource for limit in self.limits if limit.work_groups == self.work_groups)


def _vector(chip: Chip) -> Resource:
    return "GPRs" if chip.is_vliw else "VGPRs"


def _granules(asked: int, granule: int) -> int:
    return -(-asked // granule) * granule


def occupancy(chip: Chip, needs: Needs) -> Occupancy:
    """How many wavefronts of such a kernel a compute unit of the chip holds.

    Raises LaunchError, with the limit, for what the chip cannot hold at all.
    """
    _possible(chip, needs)
    compute, registers, local = chip.compute, chip.registers, chip.local_memory
    per_group = -(-needs.group // compute.wavefront_size)
    slots = compute.simds_per_compute_unit * compute.wavefronts_per_simd
    limits = [Limit("wavefronts", slots // per_group, per_group, per_group, slots)]
    if per_group > 1:
        limit = compute.work_groups_per_compute_unit
        limits.append(Limit("work-groups", limit, 1, 1, limit))
    files: tuple[tuple[Resource, int, int, int], ...] = (
        (_vector(chip), needs.vgprs, registers.vgpr_granule, registers.vgprs - needs.shared_vgprs),
        ("SGPRs", needs.sgprs, registers.sgpr_granule, registers.sgprs),
        ("stack", needs.stack, 1, chip.features.stack_entries if chip.features is not None else 0),
    )
    for resource, asked, granule, capacity in files:
        if asked:
            given = _granules(asked, granule)
            held = compute.simds_per_compute_unit * (capacity // given)
            limits.append(Limit(resource, held // per_group, asked, given, capacity))
    if needs.lds_bytes:
        given = _granules(needs.lds_bytes, local.granule_bytes)
        limits.append(Limit("LDS", local.bytes // given, needs.lds_bytes, given, local.bytes))
    limits.sort(key=lambda limit: limit.work_groups)
    groups = limits[0].work_groups
    if groups == 0:
        tightest = limits[0]
        raise LaunchError(
            f"a work-group of {needs.group} work-items does not fit a compute unit of {chip.name}: "
            f"{per_group} wavefronts with {tightest.given} {_of(tightest.resource)} each",
            hint=f"a SIMD has {tightest.capacity}: use fewer or a smaller work-group",
        )
    return Occupancy(chip, needs, per_group, groups, groups * per_group, slots, tuple(limits))


def _of(resource: Resource) -> str:
    return "entries of the stack" if resource == "stack" else resource


def _possible(chip: Chip, needs: Needs) -> None:
    registers = chip.registers
    for what, asked, low, high in (
        ("work-items of a work-group", needs.group, 1, chip.compute.work_group_size),
        (f"{_vector(chip)} of a wavefront", needs.vgprs, 0, registers.vgprs_per_wavefront),
        (f"shared {_vector(chip)}", needs.shared_vgprs, 0, registers.vgprs_per_wavefront if chip.features else 0),
        ("SGPRs of a wavefront", needs.sgprs, 0, _granules(registers.sgprs_per_wavefront, registers.sgpr_granule)),
        ("bytes of LDS of a work-group", needs.lds_bytes, 0, chip.local_memory.work_group_bytes),
        (
            "stack entries of a wavefront",
            needs.stack,
            0,
            chip.features.stack_entries if chip.features is not None else 0,
        ),
    ):
        if not low <= asked <= high:
            raise LaunchError(f"{asked} {what}: {chip.name} has {f'{low} to {high}' if high else 'none'}")


def next_steps(result: Occupancy) -> tuple[Step, ...]:
    """For each resource of the kernel that can be lowered alone: the most that it may be for more wavefronts."""
    found = []
    chip, needs = result.chip, result.needs
    fields: tuple[tuple[Resource, str], ...] = (
        (_vector(chip), "vgprs"),
        ("SGPRs", "sgprs"),
        ("LDS", "lds_bytes"),
        ("stack", "stack"),
    )
    for resource, name in fields:
        if resource not in result.limited_by:
            continue
        now = getattr(needs, name)
        low, high = 0, now - 1  # the answer is where holding more begins: it only grows as the need falls
        while low < high:
            middle = (low + high + 1) // 2
            if occupancy(chip, replace(needs, **{name: middle})).wavefronts > result.wavefronts:
                low = middle
            else:
                high = middle - 1
        better = occupancy(chip, replace(needs, **{name: low}))
        if better.wavefronts > result.wavefronts:
            found.append(Step(resource, low, better.wavefronts, better.occupancy))
    return tuple(found)


def curve(chip: Chip, needs: Needs, name: str, values: Iterable[int]) -> list[tuple[int, float]]:
    """Occupancy with ``name`` ("group", "vgprs", "sgprs", "lds_bytes", "stack") at each value; 0 where it does not
    fit."""
    points = []
    for value in values:
        try:
            points.append((value, occupancy(chip, replace(needs, **{name: value})).occupancy))
        except LaunchError:
            points.append((value, 0.0))
    return points
