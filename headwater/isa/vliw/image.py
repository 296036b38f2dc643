"""One program for the VLIW machines, with what a launch must know of it: ``ShaderImage``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from headwater.base.garbage import uncollected
from headwater.chips.vliw_isas import GENERATION_OF_TARGET, TRAITS, Traits
from headwater.errors import CodeObjectError
from headwater.isa.gcn.objects import KernelArg
from headwater.isa.vliw.decode import decode
from headwater.isa.vliw.model import Shader

EM_CAL_OBJECT, EM_CAL_IMAGE, EM_AMDGPU = 0x7C, 0x7D, 224
OSABI_CAL = 100


@dataclass(frozen=True, slots=True)
class Argument:
    """An OpenCL kernel's argument with its place: ``offset`` in bytes of constant buffer 1 (AMD's ABI), ``resource``
    the id of a pointer's UAV, constant buffer or image, -1 for none."""

    arg: KernelArg
    resource: int = -1


@dataclass(frozen=True, slots=True)
class ShaderImage:
    """One program for one chip, with what the driver must know to start it.

    ``kind``: "ps" for pixel, "cs" for compute shaders. Ids are those of IL: ``resources`` i#, ``outputs`` o#, ``uavs``
    uav#, ``constant_buffers`` cb# with the number of vec4s; ``samplers`` maps a resource to its sampler.
    ``scratch_bytes`` are per work-item, ``lds_bytes`` per work-group. ``abi``: who calls it, and so where arguments
    are: "headwater" (docs/vliw.md), "amd" (OpenCL 1.x), "llvm", or "cal" (none). ``data`` are bytes that the code
    reads: the constants of AMD's OpenCL programs, the whole text section of LLVM's (its fetch resource 2);
    ``constants`` are the literal registers that the driver loads (4,096 bytes of float4, 512 of int4, 128 of bool).
    ``lines`` has a source line for each group or fetch of each CF instruction, if known.
    """

    target: str
    kind: str
    code: bytes
    name: str = "main"
    gprs: int = 0
    stack_entries: int = 0
    clause_temporaries: int = 0
    lds_bytes: int = 0
    scratch_bytes: int = 0
    constant_buffers: Mapping[int, int] = field(default_factory=dict)
    resources: tuple[int, ...] = ()
    samplers: Mapping[int, int] = field(default_factory=dict)
    outputs: tuple[int, ...] = ()
    uavs: tuple[int, ...] = ()
    uses_global: bool = False
    group_size: tuple[int, int, int] | None = None
    abi: str = "cal"
    byte_atomics: bool = False
    """Atomics of RATs are given byte addresses, as LLVM does, not the number of a dword."""
    args: tuple[Argument, ...] = ()
    data: bytes = b""
    constants: bytes = b""
    il: str = ""
    lines: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if any(number >> 32 for number in (self.lds_bytes, self.scratch_bytes, *(self.group_size or ()))):
            raise CodeObjectError(
                f"{self.name} wants {self.lds_bytes} bytes of LDS, {self.scratch_bytes} bytes of scratch memory and "
                f"work-groups of {self.group_size}: no chip has so much",
                hint="the file is damaged",
            )

    @property
    def generation(self) -> str:
        """The generation of the target."""
        return GENERATION_OF_TARGET[self.target]

    @property
    def traits(self) -> Traits:
        """What the generation has."""
        return TRAITS[self.generation]

    @property
    def has_global_name(self) -> bool:
        """Whether memory is bound to g[]: not where a view stands for the one global buffer, before Evergreen."""
        return self.uses_global and not (self.uavs and not self.traits.has_random_access_targets)

    @property
    def shader(self) -> Shader:
        """The decoded program. Raises DecodeError."""
        return _shader(self.code, self.generation)


@lru_cache(64)
def _shader(code: bytes, generation: str) -> Shader:
    with uncollected():
        return decode(code, generation)
