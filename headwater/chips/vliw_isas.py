"""What one generation of VLIW chips does differently from another, one row a generation: the only place that knows them
by name. Which operations a generation has, and their encodings, stand in the instruction tables.

Sources: AMD, R600-Family, R700-Family, Evergreen-Family and HD 6900 Series Instruction Set Architecture documents; what
comes from elsewhere says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_COORDINATES = (
    (0, "local_x"), (1, "local_y"), (2, "local_z"), (3, "group_flat"), (4, "group_x"), (5, "group_y"), (6, "group_z"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Traits:
    """A generation.

    ``targets``: LLVM's processors of it, the oldest first (LLVM, R600Processors.td). ``slots``: operations of
    an ALU group: x, y, z, w and, of five, t. ``address_registers``: 4 where the slot of a MOVA chooses one of AR.xyzw
    and an operand's index mode names it, 1 where there is AR.x only. ``has_index_registers``: MOVA_INT's destination
    may be a register that resources are indexed by, and is no general register. ``has_shared_registers``: registers of
    all wavefronts of a SIMD, by index modes.
    ``has_mask_operations``: an operation that updates the execution mask says how, where others have an output
    modifier. ``has_fog_merge``: ALU operations have FOG_MERGE.

    ``constant_windows``: that a clause may open. ``has_constant_file``: selects from 256 on are elements of the file of
    constants, elsewhere those of the third and fourth window. ``constant_reads``: that a group may make, each of
    ``constant_read_components`` adjacent components.

    ``float_to_int``, ``float_to_uint``: the operations that convert towards zero, the first one first.
    ``angles_in_turns``: SIN and COS take turns, elsewhere radians.

    ``has_lds``: a local data share, of which a work-item writes its own part; ``has_shared_lds``: operations of ALU
    groups by which it writes any, and a data share of all work-groups. ``has_random_access_targets``: memory is written
    by RATs, elsewhere by the one global buffer. ``compare_component``: of the register that a RAT's compare-and-swap
    gets, the component that it compares with (Mesa, r600 driver, atomic operations of images). ``write_types``: what
    TYPE of a write to memory means. ``has_pixel_gradients``: derivatives of each pixel, not only of each quad.

    ``work_item_registers``: what components of the first registers hold when a compute wavefront begins.
    ``push_reserve``: elements of the control-flow stack beside those of pushes (Mesa, r600 driver,
    ``callstack_update_max_depth``). ``pixel_resources``, ``compute_resources``: the addresses of the registers that are
    told how many registers and stack entries a shader needs (SQ_PGM_RESOURCES_PS, and LS where compute shaders have
    their own; AMD, 3D Register Reference Guides).
    """

    name: str
    targets: tuple[str, ...]
    slots: int = 5
    address_registers: int = 1
    has_index_registers: bool = False
    has_shared_registers: bool = True
    has_mask_operations: bool = False
    has_fog_merge: bool = False
    constant_windows: int = 4
    has_constant_file: bool = False
    constant_reads: int = 2
    constant_read_components: int = 2
    float_to_int: tuple[str, ...] = ("FLT_TO_INT",)
    float_to_uint: tuple[str, ...] = ("FLT_TO_UINT",)
    angles_in_turns: bool = True
    has_lds: bool = True
    has_shared_lds: bool = True
    has_random_access_targets: bool = True
    compare_component: int = 3
    write_types: tuple[str, ...] = ("WRITE", "WRITE_IND", "WRITE_ACK", "WRITE_IND_ACK")
    has_pixel_gradients: bool = True
    work_item_registers: tuple[tuple[int, str], ...] = _COORDINATES
    push_reserve: int = 2
    pixel_resources: int = 0x28844
    compute_resources: int = 0x288D4

    @property
    def has_trans(self) -> bool:
        """Whether groups have the slot t."""
        return self.slots == 5

    @property
    def has_coordinates(self) -> bool:
        """Whether work-items begin with their coordinates, not only with flat numbers."""
        return self.work_item_registers is _COORDINATES

    @property
    def reads_scratch_by_writes(self) -> bool:
        """Whether scratch memory is read by MEM_SCRATCH: by those types that mean acknowledged writes elsewhere."""
        return "READ" in self.write_types


TRAITS: Mapping[str, Traits] = {
    row.name: row
    for row in (
        Traits(
            "r600",
            ("rs880", "r600", "r630", "rv670"),
            address_registers=4,
            has_shared_registers=False,
            has_fog_merge=True,
            constant_windows=2,
            has_constant_file=True,
            constant_reads=4,
            constant_read_components=1,
            angles_in_turns=False,
            has_lds=False,
            has_shared_lds=False,
            has_random_access_targets=False,
            write_types=("WRITE", "WRITE_IND", "READ", "READ_IND"),
            has_pixel_gradients=False,
            work_item_registers=((0, "local_flat"), (1, "group_flat")),
            pixel_resources=0x28850,
            compute_resources=0x28850,
        ),
        Traits(
            "r700",
            ("rv710", "rv730", "rv770"),
            constant_windows=2,
            has_constant_file=True,
            has_shared_lds=False,
            has_random_access_targets=False,
            has_pixel_gradients=False,
            work_item_registers=((0, "local_flat"), (1, "group_flat")),
            pixel_resources=0x28850,
            compute_resources=0x28850,
        ),
        Traits(
            "evergreen",
            ("cedar", "redwood", "sumo", "juniper", "cypress", "caicos", "turks", "barts"),
            float_to_int=("TRUNC", "FLT_TO_INT"),  # which rounds
            push_reserve=1,
        ),
        Traits(
            "cayman",
            ("cayman",),
            slots=4,
            has_index_registers=True,
            has_mask_operations=True,
            float_to_int=("FLT_TO_INT_TRUNC",),
            float_to_uint=("TRUNC", "FLT_TO_UINT"),
            compare_component=2,
        ),
    )
}
"""The generations that the instruction tables tell apart, oldest first."""

GENERATIONS = tuple(TRAITS)
GENERATION_OF_TARGET: Mapping[str, str] = {target: row.name for row in TRAITS.values() for target in row.targets}
"""The generation of each of LLVM's processors, the oldest first."""
