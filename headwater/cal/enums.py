"""The numbers of the CAL interface by their names, in the order of AMD's cal.h, calcl.h and cal_ext.h (CAL 8.95).

A C name is an enumeration's prefix and a member's name: ``CAL_FORMAT_FLOAT32_4`` is ``CALformat.FLOAT32_4``.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag


class CALresult(IntEnum):
    """What a function reports."""

    OK = 0
    ERROR = 1
    INVALID_PARAMETER = 2
    NOT_SUPPORTED = 3
    ALREADY = 4
    NOT_INITIALIZED = 5
    BAD_HANDLE = 6
    BAD_NAME_TYPE = 7
    PENDING = 8
    BUSY = 9
    WARNING = 10


class CALformat(IntEnum):
    """A resource's element: kind, bits of a component, components. The shorter names are those of CAL 1.0."""

    UNORM_INT8_1 = 0
    UNORM_INT8_2 = 1
    UNORM_INT8_4 = 2
    UNORM_INT16_1 = 3
    UNORM_INT16_2 = 4
    UNORM_INT16_4 = 5
    UNORM_INT32_4 = 6
    SNORM_INT8_4 = 7
    SNORM_INT16_1 = 8
    SNORM_INT16_2 = 9
    SNORM_INT16_4 = 10
    FLOAT32_1 = 11
    FLOAT32_2 = 12
    FLOAT32_4 = 13
    FLOAT64_1 = 14
    FLOAT64_2 = 15
    UNORM_INT32_1 = 16
    UNORM_INT32_2 = 17
    SNORM_INT8_1 = 18
    SNORM_INT8_2 = 19
    SNORM_INT32_1 = 20
    SNORM_INT32_2 = 21
    SNORM_INT32_4 = 22
    UNSIGNED_INT8_1 = 23
    UNSIGNED_INT8_2 = 24
    UNSIGNED_INT8_4 = 25
    SIGNED_INT8_1 = 26
    SIGNED_INT8_2 = 27
    SIGNED_INT8_4 = 28
    UNSIGNED_INT16_1 = 29
    UNSIGNED_INT16_2 = 30
    UNSIGNED_INT16_4 = 31
    SIGNED_INT16_1 = 32
    SIGNED_INT16_2 = 33
    SIGNED_INT16_4 = 34
    UNSIGNED_INT32_1 = 35
    UNSIGNED_INT32_2 = 36
    UNSIGNED_INT32_4 = 37
    SIGNED_INT32_1 = 38
    SIGNED_INT32_2 = 39
    SIGNED_INT32_4 = 40
    UNORM_SHORT_565 = 41
    UNORM_SHORT_555 = 42
    UNORM_INT10_3 = 43
    FLOAT16_1 = 44
    FLOAT16_2 = 45
    FLOAT16_4 = 46

    UBYTE_1 = UNORM_INT8_1
    UBYTE_2 = UNORM_INT8_2
    UBYTE_4 = UNORM_INT8_4
    USHORT_1 = UNORM_INT16_1
    USHORT_2 = UNORM_INT16_2
    USHORT_4 = UNORM_INT16_4
    UINT_1 = UNORM_INT32_1
    UINT_2 = UNORM_INT32_2
    UINT_4 = UNORM_INT32_4
    BYTE_1 = SNORM_INT8_1
    BYTE_2 = SNORM_INT8_2
    BYTE_4 = SNORM_INT8_4
    SHORT_1 = SNORM_INT16_1
    SHORT_2 = SNORM_INT16_2
    SHORT_4 = SNORM_INT16_4
    INT_1 = SNORM_INT32_1
    INT_2 = SNORM_INT32_2
    INT_4 = SNORM_INT32_4
    FLOAT_1 = FLOAT32_1
    FLOAT_2 = FLOAT32_2
    FLOAT_4 = FLOAT32_4
    DOUBLE_1 = FLOAT64_1
    DOUBLE_2 = FLOAT64_2


class CALtarget(IntEnum):
    """A chip family that code is compiled for. C has the first eight as ``CAL_TARGET_600`` … ``CAL_TARGET_730``."""

    R600 = 0
    RV610 = 1
    RV630 = 2
    RV670 = 3
    R7XX = 4
    RV770 = 5
    RV710 = 6
    RV730 = 7
    CYPRESS = 8
    JUNIPER = 9
    REDWOOD = 10
    CEDAR = 11
    SUMO = 12
    SUPERSUMO = 13
    WRESTLER = 14
    CAYMAN = 15
    KAUAI = 16
    BARTS = 17
    TURKS = 18
    CAICOS = 19
    TAHITI = 20
    PITCAIRN = 21
    CAPEVERDE = 22
    DEVASTATOR = 23
    SCRAPPER = 24
    TIRAN = 25
    BONAIRE = 26


class CALlanguage(IntEnum):
    """What a source is written in."""

    IL = 1


class CALprogramtype(IntEnum):
    """What assembly text is: a pixel or a compute program."""

    PS = 0
    CS = 1


class CALresallocflags(IntFlag):
    """How a resource is allocated: to be bound to ``g[]``; in cached system memory."""

    GLOBAL_BUFFER = 1
    CACHEABLE = 2


class CALextid(IntEnum):
    """The extensions."""

    D3D9 = 0x1001
    RESERVED = 0x1002
    D3D10 = 0x1003
    COUNTERS = 0x1004
    DOMAIN_PARAMS = 0x1005
    RES_CREATE = 0x1006
    COMPUTE_SHADER = 0x1007
    SAMPLER_PARAM = 0x1008
    SYNC_OBJECT = 0x8009


class CALcountertype(IntEnum):
    """What a counter counts."""

    IDLE = 0
    INPUT_CACHE_HIT_RATE = 1


class CALsamplerparam(IntEnum):
    """What can be set of a sampler."""

    DEFAULT = 0
    MIN_FILTER = 1
    MAG_FILTER = 2
    WRAP_S = 3
    WRAP_T = 4
    WRAP_R = 5
    BORDER_COLOR = 6


class CALsamplerminfilter(IntEnum):
    """How a texture that is larger than its picture is read. There are no mipmaps in CAL."""

    LINEAR = 0
    NEAREST = 1


class CALsamplermagfilter(IntEnum):
    """How a texture that is smaller than its picture is read."""

    NEAREST = 0
    LINEAR = 1


class CALsamplerwrap(IntEnum):
    """What lies beyond a texture's edges."""

    REPEAT = 0
    MIRRORED_REPEAT = 1
    CLAMP_TO_EDGE = 2
    MIRROR_CLAMP_TO_EDGE_EXT = 3
    CLAMP = 4
    MIRROR_CLAMP_EXT = 5
    CLAMP_TO_BORDER = 6
    MIRROR_CLAMP_TO_BORDER_EXT = 7


PREFIXES: dict[str, type[IntEnum] | type[IntFlag]] = {
    "CAL_RESULT_": CALresult,
    "CAL_FORMAT_": CALformat,
    "CAL_TARGET_": CALtarget,
    "CAL_LANGUAGE_": CALlanguage,
    "CAL_PROGRAM_TYPE_": CALprogramtype,
    "CAL_RESALLOC_": CALresallocflags,
    "CAL_EXT_": CALextid,
    "CAL_COUNTER_": CALcountertype,
    "CAL_SAMPLER_PARAM_": CALsamplerparam,
    "CAL_SAMPLER_MIN_": CALsamplerminfilter,
    "CAL_SAMPLER_MAG_": CALsamplermagfilter,
    "CAL_SAMPLER_WRAP_": CALsamplerwrap,
}
"""C's prefix of each enumeration's members."""

C_NAMES = {
    "CAL_FORMAT_32BIT_TYPELESS": CALformat.UNSIGNED_INT32_1,
    "CAL_TARGET_600": CALtarget.R600,
    "CAL_TARGET_610": CALtarget.RV610,
    "CAL_TARGET_630": CALtarget.RV630,
    "CAL_TARGET_670": CALtarget.RV670,
    "CAL_TARGET_7XX": CALtarget.R7XX,
    "CAL_TARGET_770": CALtarget.RV770,
    "CAL_TARGET_710": CALtarget.RV710,
    "CAL_TARGET_730": CALtarget.RV730,
    "CAL_FALSE": 0,
    "CAL_TRUE": 1,
    "CAL_EVENT_INVALID": 0,
    "CAL_ASIC_INFO_MAX_LEN": 128,
    "CAL_DIM_BUFFER": 0,
    "CAL_DIM_1D": 1,
    "CAL_DIM_2D": 2,
}
"""What C has besides, by its whole names."""


def constant(name: str) -> int | None:
    """The value of a C name such as ``CAL_FORMAT_FLOAT_4``; None if there is none of that name."""
    if name in C_NAMES:
        return C_NAMES[name]
    for prefix, kind in PREFIXES.items():
        member = name.removeprefix(prefix)
        if member != name and member in kind.__members__:
            found: int = kind.__members__[member]
            return found
    return None
