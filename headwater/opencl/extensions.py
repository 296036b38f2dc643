"""Input: what a device can do. Output: the extensions and optional features of OpenCL C that it has, by name and as
clang's flags.

The one place that says so: macros of programs, built-in functions that clang declares, and what the OpenCL platform
tells a host all come from here, and a program that tests `#ifdef cl_khr_…` sees the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.chips.gcn_isas import traits_of

if TYPE_CHECKING:
    from headwater.chips import Chip


@dataclass(frozen=True)
class Abilities:
    """What is optional in OpenCL C and a device has.

    ``doubles``: arithmetic in double precision. ``writes``: memory is written byte by byte, with atomic operations, and
    images are: R600 and R700 write whole words, and textures are read alone. Halves, which all devices compute in
    float, want it for their stores. ``long_atomics``: of 64 bits. ``local_memory``: work-groups share memory.
    ``sub_groups``: there are functions of them. ``generic``: a pointer may be to memory of any kind, which is known
    when it is used. ``variables``: of the program, in global memory, can be written.
    """

    doubles: bool = True
    writes: bool = True
    long_atomics: bool = True
    local_memory: bool = True
    sub_groups: bool = True
    generic: bool = True
    variables: bool = True


ALL = Abilities()
"""The cpu device's, and the device library's own code."""


def of_processor(processor: str) -> Abilities:
    """Those of a GCN chip, by LLVM's name."""
    return Abilities(generic=traits_of(processor).has_flat)


def of_chip(chip: Chip) -> Abilities:
    """Those of a chip; of a VLIW chip, what its file says."""
    if chip.features is None:
        return of_processor(chip.target)
    return Abilities(
        doubles=chip.has_float64,
        writes=chip.features.unordered_views > 0,
        long_atomics=False,
        local_memory=chip.features.shared_local_memory,
        sub_groups=False,
        generic=False,
        variables=False,
    )


_EXTENSIONS = {
    "cl_khr_fp64": "doubles",
    "cl_khr_fp16": "writes",
    "cl_khr_3d_image_writes": "writes",
    "cl_khr_byte_addressable_store": "writes",
    "cl_khr_global_int32_base_atomics": "writes",
    "cl_khr_global_int32_extended_atomics": "writes",
    "cl_khr_local_int32_base_atomics": "local_memory",
    "cl_khr_local_int32_extended_atomics": "local_memory",
    "cl_khr_int64_base_atomics": "long_atomics",
    "cl_khr_int64_extended_atomics": "long_atomics",
    "cl_khr_subgroups": "sub_groups",
}
_FEATURES = {
    "__opencl_c_fp64": "doubles",
    "__opencl_c_images": "writes",
    "__opencl_c_3d_image_writes": "writes",
    "__opencl_c_read_write_images": "writes",
    "__opencl_c_generic_address_space": "generic",
    "__opencl_c_program_scope_global_variables": "variables",
    "__opencl_c_atomic_order_acq_rel": "writes",
    "__opencl_c_atomic_order_seq_cst": "writes",
    "__opencl_c_atomic_scope_device": "writes",
    "__opencl_c_atomic_scope_all_devices": "writes",
    "__opencl_c_work_group_collective_functions": "local_memory",
    "__opencl_c_subgroups": "sub_groups",
}
_ALWAYS = "__opencl_c_int64"
_OF_COMPILER = "__cl_clang_bitfields"
"""Bit-fields, after a pragma of this name: an extension of clang's, which needs nothing of a device."""


def extensions(abilities: Abilities) -> list[str]:
    """The extensions of the language, in alphabetical order."""
    return sorted(name for name, ability in _EXTENSIONS.items() if getattr(abilities, ability))


def features(abilities: Abilities) -> list[str]:
    """The optional features of OpenCL C 3.0, by the names of their macros, in alphabetical order."""
    return sorted([_ALWAYS, *(name for name, ability in _FEATURES.items() if getattr(abilities, ability))])


def flags(abilities: Abilities) -> tuple[str, ...]:
    """clang's flags: what of them it knows is declared and defined, and nothing else."""
    names = ",".join(f"+{name}" for name in (_OF_COMPILER, *extensions(abilities), *features(abilities)))
    images = "-D__IMAGE_SUPPORT__=1" if abilities.writes else "-U__IMAGE_SUPPORT__"
    return "-Xclang", f"-cl-ext=-all,{names}", images
