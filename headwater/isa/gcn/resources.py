"""Descriptors of buffers (V#), images (T#) and samplers (S#), as data: field → (lowest bit, width), for each
generation; and what the formats that they name look like in memory.

A descriptor is taken as one little-endian integer of 128 or 256 bits. Sources: AMD, Southern Islands, Sea Islands, GCN3
and "Vega" ISA reference guides, "Buffer Resource Descriptor", "Image Resource Descriptor", "Sampler Resource
Descriptor"; values of enumerations are those of the register headers that AMD publishes with its drivers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from headwater.chips.gcn_isas import TRAITS

Fields: TypeAlias = Mapping[str, tuple[int, int]]

BUFFER: Fields = {
    "base": (0, 48), "stride": (48, 14), "swizzle": (63, 1), "records": (64, 32),
    "dst_sel_x": (96, 3), "dst_sel_y": (99, 3), "dst_sel_z": (102, 3), "dst_sel_w": (105, 3),
    "num_format": (108, 3), "data_format": (111, 4), "element_size": (115, 2), "index_stride": (117, 2),
    "add_tid": (119, 1), "type": (126, 2),
}  # fmt: skip
"""Of all generations; ``element_size`` is gone from gfx9 on, where elements are dwords."""

_IMAGE: Fields = {
    "base": (0, 40), "min_lod": (40, 12), "data_format": (52, 6), "num_format": (58, 4),
    "width": (64, 14), "height": (78, 14),
    "dst_sel_x": (96, 3), "dst_sel_y": (99, 3), "dst_sel_z": (102, 3), "dst_sel_w": (105, 3),
    "base_level": (108, 4), "last_level": (112, 4), "tiling": (116, 5), "type": (124, 4),
    "depth": (128, 13), "pitch": (141, 14), "base_array": (160, 13), "last_array": (173, 13), "min_lod_warn": (192, 12),
    "compression": (213, 1), "base_low": (224, 8),
}  # fmt: skip
"""``base_low`` is Headwater's own: bits 0 to 7 of the address, which on a chip are zero. They lie where chips have the
address of a compressed image's metadata, or nothing, so that NumPy's arrays, aligned to less, are images in place."""
_IMAGE_GFX9: Fields = {
    **{name: at for name, at in _IMAGE.items() if name != "last_array"}, "pitch": (141, 16),
}  # fmt: skip
"""``depth`` is the last slice of arrays, too; ``tiling`` is the swizzle mode."""

SAMPLER: Fields = {
    "clamp_x": (0, 3), "clamp_y": (3, 3), "clamp_z": (6, 3), "depth_compare": (12, 3), "unnormalized": (15, 1),
    "filter_mode": (29, 2), "min_lod": (32, 12), "max_lod": (44, 12), "lod_bias": (64, 14), "mag_filter": (84, 2),
    "min_filter": (86, 2), "z_filter": (88, 2), "mip_filter": (90, 2), "border": (126, 2),
}  # fmt: skip
"""Of all generations."""


def image_fields(isa: str) -> Fields:
    """The fields of one generation's T#; the upper half of one of 128 bits (r128) is zero."""
    return _IMAGE_GFX9 if TRAITS[isa].has_swizzle_modes else _IMAGE


def linear_tiling(isa: str) -> int:
    """The tiling index, or swizzle mode, of images that lie in memory row by row: the driver's tables for gfx6 to gfx8
    have "linear aligned" there; SW_LINEAR."""
    return 0 if TRAITS[isa].has_swizzle_modes else 8


def get(words: int, fields: Fields, name: str) -> int:
    """A field of a descriptor; 0 where the generation lacks it."""
    low, width = fields.get(name, (0, 0))
    return words >> low & (1 << width) - 1


def made(fields: Fields, values: Mapping[str, int]) -> int:
    """A descriptor of these values. Raises KeyError for a field that there is not."""
    words = 0
    for name, value in values.items():
        low, width = fields[name]
        assert 0 <= value < 1 << width, (name, value)
        words |= value << low
    return words


@dataclass(frozen=True, slots=True)
class DataFormat:
    """The components of an element, X first, by their bits from the low end on. AMD names them from the high end."""

    name: str
    widths: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of an element."""
        return sum(self.widths) // 8 if self.name != "X24_8_32" else 8


def _format(name: str) -> DataFormat:
    widths = tuple(int(width) for width in reversed(name.split("_")))
    return DataFormat(name, widths)


DATA_FORMATS: Mapping[int, DataFormat] = {
    **{number: _format(name) for number, name in enumerate((
        "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32",
        "16_16_16_16", "32_32_32", "32_32_32_32",
    ), 1)},
    **{number: _format(name) for number, name in enumerate((
        "5_6_5", "1_5_5_5", "5_5_5_1", "4_4_4_4", "8_24", "24_8",
    ), 16)},
    22: DataFormat("X24_8_32", (32, 8)),
    34: _format("5_9_9_9"),
}  # fmt: skip
"""Buffers have those up to 14. Those of images that are not here are compressed or have components for two pixels."""

OTHER_FORMATS: Mapping[int, str] = {
    32: "GB_GR", 33: "BG_RG", **{35 + n: f"BC{n + 1}" for n in range(7)},
}  # fmt: skip
"""Names of formats that are not read here."""

UNORM, SNORM, USCALED, SSCALED, UINT, SINT, SNORM_OGL, FLOAT, SRGB = 0, 1, 2, 3, 4, 5, 6, 7, 9
NUM_FORMATS: Mapping[int, str] = {
    UNORM: "unorm", SNORM: "snorm", USCALED: "uscaled", SSCALED: "sscaled", UINT: "uint", SINT: "sint",
    SNORM_OGL: "snorm_ogl", FLOAT: "float", SRGB: "srgb",
}  # fmt: skip

SEL_0, SEL_1, SEL_X = 0, 1, 4
"""Values of dst_sel; SEL_X and those that follow choose a component."""

# Types of images.
IMAGE_1D, IMAGE_2D, IMAGE_3D, IMAGE_CUBE, IMAGE_1D_ARRAY, IMAGE_2D_ARRAY, IMAGE_MSAA, IMAGE_MSAA_ARRAY = range(8, 16)

# What S# does with coordinates outside.
(
    WRAP, MIRROR, CLAMP_LAST_TEXEL, MIRROR_ONCE_LAST_TEXEL, CLAMP_HALF_BORDER, MIRROR_ONCE_HALF_BORDER, CLAMP_BORDER,
    MIRROR_ONCE_BORDER,
) = range(8)  # fmt: skip
POINT, BILINEAR = 0, 1
MIP_NONE, MIP_POINT, MIP_LINEAR = 0, 1, 2
BORDER_TRANSPARENT, BORDER_BLACK, BORDER_WHITE, BORDER_REGISTER = range(4)
