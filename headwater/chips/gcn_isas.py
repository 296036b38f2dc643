"""What one instruction set of GCN and CDNA chips does differently from another, one row each: the only place that knows
them by name. Which instructions a set has, and their encodings, stand in the instruction tables.

Sources: AMD's Instruction Set Architecture guides (Southern Islands, Sea Islands, GCN3, Vega, MI100, MI200); LLVM, User
Guide for AMDGPU Backend; what comes from elsewhere says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_PAIRS: dict[int, str] = {106: "vcc", 126: "exec"}
_PAIRS_GFX8: dict[int, str] = {102: "flat_scratch", 104: "xnack_mask"}
_TRAP_PAIRS: dict[int, str] = {108: "tba", 110: "tma"}


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """An instruction set.

    ``targets``: LLVM's processors that have it ("Processors"). ``generation``: 6 to 9.

    ``with_clang_features``: of the targets, those for which clang names features that LLVM does not give them by itself
    (XNACK).

    ``scalar_groups``: ranges of numbers of scalar registers that no operand of several registers crosses.
    ``named_pairs``: the first numbers of pairs that have a name. ``first_trap_register``: TTMP0.
    ``has_inverse_two_pi``: the inline constant 1/(2π). ``has_apertures``: sources that hold the limits of shared and
    private memory. ``has_lds_direct``: the source LDS_DIRECT.

    ``has_scalar_load_literal``: the offset of a scalar load may be a literal. ``most_vmcnt``: what s_waitcnt can let
    VMCNT be. ``sdwa``, ``dpp``: the rows' flags of instructions that may have a second word for parts of lanes, or for
    other lanes. ``has_row_newbcast``: that broadcast of DPP. ``vop3_of_vop1``: VOP3's opcode of VOP1's first operation.
    ``has_long_interpolation``: VOP3 interpolates. ``has_sdwa_masks``: compares of SDWA write any pair of scalar
    registers, elsewhere VCC. ``last_message``: of s_sendmsg, beside MSG_SYSMSG. ``last_hardware_register``: of
    s_getreg. ``has_half_overflow_mode``: FP16_OVFL of MODE.

    ``vgpr_granule``: in what steps descriptors of kernels count VGPRs ("compute_pgm_rsrc1"). ``has_unified_registers``:
    AGPRs are the upper part of the VGPRs' file. ``has_accumulation_file``: there are as many AGPRs as VGPRs, in a file
    of their own. ``packs_work_item_ids``: v0 holds all three. ``preloads_arguments``: into SGPRs ("Preloaded Kernel
    Arguments").

    ``has_flat``: addresses of memory of any kind ("Does not support generic address space"). ``has_halves``:
    instructions on halves. ``rounds_doubles``: V_FLOOR_F64 and its like. ``has_legacy_minima``: V_MIN_LEGACY_F32 and
    V_MAX_LEGACY_F32. ``has_fma_mix``: V_FMA_MIXLO_F16 and its like. ``keeps_high_halves``: some 16-bit results leave
    their register's upper half alone (LLVM, GCNSubtarget::zeroesHigh16BitsOfDest).
    ``wraps_lds_addresses``: sums of address and offset wrap around (LLVM, isDSOffsetLegal). ``has_unaligned_lds``:
    accesses to LDS at any address (LLVM, FeatureUnalignedDSAccess).

    ``has_swizzle_modes``: images have them, elsewhere tiling indices. ``has_compressed_images``: descriptors of images
    may ask for compression. ``samples_images``: there are image instructions that filter (CDNA2 and later have none).
    ``has_signed_ogl_formats``: SNORM_OGL, where -1 is the least number.
    ``pads_image_halves``: a half of an image takes a register of its own.
    ``counts_buffer_bytes``: NUM_RECORDS of a buffer with a stride counts bytes where elements are not swizzled.
    ``counts_by_index``: NUM_RECORDS counts elements only for instructions with an index, and the offset of the
    instruction is part of what wraps around (ROCm/rocm-systems, PR 10928).

    ``shows_gds``: LLVM prints the bit gds of LDS instructions that may go without it.
    ``has_wide_lds_loads``: loads that go to LDS may be of three and four dwords.

    ``has_cache_scopes``: what other sets call glc, slc and scc are sc0, nt and sc1 ("Memory Model gfx942").
    ``has_architected_scratch``: the hardware knows where a wavefront's private memory is, and the kernel is not told
    ("Initial Kernel Execution State").
    """

    name: str
    targets: tuple[str, ...]
    generation: int
    scalar_groups: tuple[tuple[int, int], ...]
    with_clang_features: tuple[str, ...] = ()
    named_pairs: Mapping[int, str] = field(default_factory=lambda: _PAIRS | _PAIRS_GFX8)
    first_trap_register: int = 108
    has_inverse_two_pi: bool = True
    has_apertures: bool = True
    has_lds_direct: bool = True
    has_scalar_load_literal: bool = False
    most_vmcnt: int = 63
    sdwa: frozenset[str] = frozenset(("sdwa",))
    dpp: frozenset[str] = frozenset(("dpp",))
    has_row_newbcast: bool = False
    vop3_of_vop1: int = 0x140
    has_long_interpolation: bool = True
    has_sdwa_masks: bool = True
    last_message: int = 10
    last_hardware_register: int = 19
    has_half_overflow_mode: bool = True
    vgpr_granule: int = 4
    has_unified_registers: bool = False
    has_accumulation_file: bool = False
    packs_work_item_ids: bool = False
    preloads_arguments: bool = False
    has_flat: bool = True
    has_halves: bool = True
    rounds_doubles: bool = True
    has_legacy_minima: bool = False
    has_fma_mix: bool = False
    keeps_high_halves: bool = True
    wraps_lds_addresses: bool = True
    has_unaligned_lds: bool = True
    has_swizzle_modes: bool = True
    has_compressed_images: bool = True
    samples_images: bool = True
    has_signed_ogl_formats: bool = False
    pads_image_halves: bool = False
    counts_buffer_bytes: bool = False
    counts_by_index: bool = True
    shows_gds: bool = True
    has_wide_lds_loads: bool = False
    has_cache_scopes: bool = False
    has_architected_scratch: bool = False


_TOP = ((124, 125), (126, 128))
_OF_PAIRS = ((106, 108), (108, 110), (110, 112), (112, 124), *_TOP)
_OF_GFX9 = ((0, 102), (102, 104), (104, 106), (106, 108), (108, 124), *_TOP)
_OLD: dict[str, Any] = {
    "last_hardware_register": 7,
    "has_half_overflow_mode": False,
    "first_trap_register": 112,
    "has_apertures": False,
    "most_vmcnt": 15,
    "has_unaligned_lds": False,
    "has_swizzle_modes": False,
    "counts_by_index": False,
}
_OLDEST: dict[str, Any] = {
    **_OLD,
    "last_message": 3,
    "has_inverse_two_pi": False,
    "sdwa": frozenset(),
    "dpp": frozenset(),
    "vop3_of_vop1": 0x180,
    "has_long_interpolation": False,
    "has_halves": False,
    "has_legacy_minima": True,
    "has_compressed_images": False,
    "has_signed_ogl_formats": True,
}
_UNIFIED: dict[str, Any] = {
    "has_fma_mix": True,
    "has_lds_direct": False,
    "samples_images": False,
    "dpp": frozenset(("dpp", "dpp90a")),
    "has_row_newbcast": True,
    "vgpr_granule": 8,
    "has_unified_registers": True,
    "packs_work_item_ids": True,
    "preloads_arguments": True,
}
_CDNA3: dict[str, Any] = {
    "last_hardware_register": 20,
    "has_cache_scopes": True,
    "has_architected_scratch": True,
}
TRAITS: Mapping[str, Traits] = {
    row.name: row
    for row in (
        Traits(
            "gfx6",
            ("gfx600", "gfx601", "gfx602"),
            6,
            ((0, 104), *_OF_PAIRS),
            named_pairs=_PAIRS | _TRAP_PAIRS,
            has_flat=False,
            rounds_doubles=False,
            wraps_lds_addresses=False,
            **_OLDEST,
        ),
        Traits(
            "gfx7",
            ("gfx700", "gfx701", "gfx702", "gfx703", "gfx704", "gfx705"),
            7,
            ((0, 104), (104, 106), *_OF_PAIRS),
            named_pairs=_PAIRS | _TRAP_PAIRS | {104: "flat_scratch"},
            has_scalar_load_literal=True,
            **_OLDEST,
        ),
        Traits(
            "gfx8",
            ("gfx801", "gfx802", "gfx803", "gfx805", "gfx810"),
            8,
            ((0, 102), (102, 104), (104, 106), *_OF_PAIRS),
            with_clang_features=("gfx801",),
            named_pairs=_PAIRS | _TRAP_PAIRS | _PAIRS_GFX8,
            sdwa=frozenset(("sdwa", "sdwa8")),
            has_sdwa_masks=False,
            last_message=4,
            keeps_high_halves=False,
            pads_image_halves=True,
            counts_buffer_bytes=True,
            **_OLD,
        ),
        Traits("gfx900", ("gfx900", "gfx902", "gfx904", "gfx909", "gfx90c"), 9, _OF_GFX9),
        Traits("gfx906", ("gfx906",), 9, _OF_GFX9, has_fma_mix=True),
        Traits("gfx908", ("gfx908",), 9, _OF_GFX9, has_accumulation_file=True, has_fma_mix=True),
        Traits("gfx90a", ("gfx90a",), 9, _OF_GFX9, **_UNIFIED),
        Traits(
            "gfx942",
            ("gfx942",),
            9,
            _OF_GFX9,
            **_UNIFIED,
            **_CDNA3,
        ),
        Traits(
            "gfx950",
            ("gfx950",),
            9,
            _OF_GFX9,
            **_UNIFIED,
            **_CDNA3,
            shows_gds=False,
            has_wide_lds_loads=True,
        ),
    )
}
"""The instruction sets that the tables tell apart, oldest first."""

ISAS = tuple(TRAITS)
ISA_OF_TARGET: Mapping[str, str] = {target: row.name for row in TRAITS.values() for target in row.targets}
"""The instruction set of each of LLVM's processors."""


def traits_of(target: str) -> Traits:
    """Those of LLVM's processor ``target``, such as "gfx906". Raises KeyError for others."""
    return TRAITS[ISA_OF_TARGET[target]]
