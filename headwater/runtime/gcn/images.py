"""Input: an image argument and a generation. Output: what a kernel of a GCN chip gets for it.

That is an address in constant memory, where first lie what AMD's run-time puts there for image instructions, the
descriptor (T#, or V# for ``image1d_buffer_t``), channel type, channel order and width, and then the fields that
Headwater's own device library reads (`headwater/opencl/library/image.cl`): sizes and formats, and on chips without
image instructions all. A sampler is the address of its descriptor (S#); bits 4 to 9 of it are those of OpenCL's
``sampler_t``, for the same library.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from headwater.base.arrays import Array, address, aligned_bytes
from headwater.chips.gcn_isas import TRAITS
from headwater.errors import LaunchError
from headwater.isa.gcn import resources
from headwater.opencl import samplers as opencl_samplers
from headwater.runtime.images import PACKED

if TYPE_CHECKING:
    from headwater.opencl.kernels import ArgInfo
    from headwater.runtime.images import Image

DESCRIPTOR_BYTES = 64
"""What comes before the library's fields."""
_TYPES = {
    "1d": resources.IMAGE_1D, "2d": resources.IMAGE_2D, "3d": resources.IMAGE_3D,
    "1d_array": resources.IMAGE_1D_ARRAY, "2d_array": resources.IMAGE_2D_ARRAY,
}  # fmt: skip
_X, _Y, _Z, _W = (resources.SEL_X + n for n in range(4))
_SELECTS = {
    "r": (_X, 0, 0, 1), "a": (0, 0, 0, _X), "rg": (_X, _Y, 0, 1), "ra": (_X, 0, 0, _Y), "rgb": (_X, _Y, _Z, 1),
    "rgba": (_X, _Y, _Z, _W), "bgra": (_Z, _Y, _X, _W), "argb": (_Y, _Z, _W, _X), "abgr": (_W, _Z, _Y, _X),
    "intensity": (_X, _X, _X, _X), "luminance": (_X, _X, _X, 1), "depth": (_X, 0, 0, 1),
    "srgba": (_X, _Y, _Z, _W), "sbgra": (_Z, _Y, _X, _W),
}  # fmt: skip
"""dst_sel of each channel order."""
_KINDS = {
    "snorm": resources.SNORM, "unorm": resources.UNORM, "signed": resources.SINT, "unsigned": resources.UINT,
    "half": resources.FLOAT, "float": resources.FLOAT,
}  # fmt: skip
# The HSA's numbers of channel types and orders (hsa_ext_image.h), which ROCm's device library turns into OpenCL's.
_HSA_TYPES = {
    "snorm_int8": 0, "snorm_int16": 1, "unorm_int8": 2, "unorm_int16": 3, "unorm_short_555": 5, "unorm_short_565": 6,
    "unorm_int_101010": 7, "signed_int8": 8, "signed_int16": 9,
    "signed_int32": 10, "unsigned_int8": 11, "unsigned_int16": 12, "unsigned_int32": 13, "half_float": 14, "float": 15,
}  # fmt: skip
_HSA_ORDERS = {
    "a": 0, "r": 1, "rg": 3, "ra": 5, "rgb": 6, "rgba": 8, "bgra": 9, "argb": 10, "abgr": 11, "srgba": 14, "sbgra": 15,
    "intensity": 16, "luminance": 17, "depth": 18,
}  # fmt: skip
_PACKED_FORMATS = {"unorm_short_565": "5_6_5", "unorm_short_555": "1_5_5_5", "unorm_int_101010": "2_10_10_10"}
"""Blue is X in these, as in the lowest bits."""


class BoundImage:
    """An image while a launch runs. ``pixels`` is what the kernel accesses: the image's own memory or, where a pixel
    has three channels, a copy with a fourth."""

    def __init__(self, image: Image, arg: ArgInfo, isa: str, *, described: bool) -> None:
        """``described``: the kernel has image instructions. LaunchError for images that have no descriptor."""
        self.image = image
        self.copied = described and image.channel_order == "rgb" and image.channel_type not in PACKED
        self.pixels: Array = image.array
        if self.copied:
            self.pixels = aligned_bytes(image.array.nbytes // 3 * 4, 16).view(image.array.dtype)
        self.writes = arg.access != "read"
        if not described:
            image.refuse_unread()
        key = (isa if described else "", "buffer" in arg.type_name)
        known = None if self.copied else image.hardware.get(key)
        self.memory: Array = self._described(isa, arg, described=described) if known is None else known
        if not self.copied:
            image.hardware[key] = self.memory

    def _described(self, isa: str, arg: ArgInfo, *, described: bool) -> Array:
        """The memory of which the kernel gets the address."""
        image = self.image
        fields = image.descriptor.copy()
        fields[0] = address(self.pixels)
        memory = aligned_bytes(DESCRIPTOR_BYTES + fields.nbytes, DESCRIPTOR_BYTES)
        memory[:] = 0
        memory[DESCRIPTOR_BYTES:] = fields.view(np.uint8)
        if described:
            words = memory[:DESCRIPTOR_BYTES].view(np.uint32)
            make = _buffer if "buffer" in arg.type_name else _image
            made = make(image, self.pixels, isa, arg)
            words[:8] = [made >> 32 * n & 0xFFFFFFFF for n in range(8)]
            width = image.shape[-1]
            words[8:11] = _HSA_TYPES[image.channel_type], _HSA_ORDERS[image.channel_order], width
        return memory

    @property
    def address(self) -> int:
        """What the kernel gets."""
        return address(self.memory)

    def copy_in(self) -> None:
        """Give a copy what the image holds."""
        if self.copied:
            self.pixels.reshape(-1, 4)[:, :3] = self.image.array.reshape(-1, 3)

    def copy_back(self) -> None:
        """Give the image what was written to a copy."""
        if self.copied and self.writes:
            self.image.array.reshape(-1, 3)[:] = self.pixels.reshape(-1, 4)[:, :3]


def _format(image: Image) -> dict[str, int]:
    selected = _SELECTS[image.channel_order]
    if image.channel_type in PACKED:
        name = _PACKED_FORMATS[image.channel_type]
        number = next(n for n, known in resources.DATA_FORMATS.items() if known.name == name)
        selected = (_Z, _Y, _X, 1)
    else:
        channels = len({select for select in selected if select >= resources.SEL_X})
        wanted = (8 * image.array.dtype.itemsize,) * (4 if channels == 3 else channels)
        number = next(n for n, known in resources.DATA_FORMATS.items() if known.widths == wanted)
    kind = _KINDS[image.channel_type.partition("_")[0]]
    if image.channel_order.startswith("s"):
        kind = resources.SRGB
    selects = dict(zip((f"dst_sel_{axis}" for axis in "xyzw"), selected, strict=True))
    return {"data_format": number, "num_format": kind, **selects}


def _image(image: Image, pixels: Array, isa: str, arg: ArgInfo) -> int:
    """The T# of an image that lies in memory row by row."""
    fields = resources.image_fields(isa)
    layered = image.dimensions.endswith("array")
    spatial = image.shape[1:] if layered else image.shape
    width, height, depth = (*reversed(spatial), 1, 1)[:3]
    last = image.shape[0] - 1 if layered else 0
    values = _format(image) | {
        "base": address(pixels) >> 8, "base_low": address(pixels) & 255,
        "width": width - 1, "height": height - 1, "pitch": width - 1,
        "type": _TYPES[image.dimensions], "tiling": resources.linear_tiling(isa), "depth": max(depth - 1, last),
    }  # fmt: skip
    if not TRAITS[isa].has_swizzle_modes:
        values["last_array"] = last
    for name, value in values.items():
        if value >> fields[name][1]:
            raise LaunchError(
                f"`{arg.name}`: an image of {' × '.join(map(str, image.shape))} pixels does not fit into a descriptor",
                hint=f"its {name} may be {(1 << fields[name][1])} at most",
            )
    return resources.made(fields, values)


def _buffer(image: Image, pixels: Array, isa: str, arg: ArgInfo) -> int:
    """The V# of an ``image1d_buffer_t``."""
    values = _format(image)
    if values["data_format"] >> resources.BUFFER["data_format"][1]:
        raise LaunchError(
            f"`{arg.name}`: buffers on GCN chips have no elements of {image.channel_type}",
            hint="declare it image1d_t, or give each channel an element",
        )
    stride = pixels.nbytes // image.shape[0]
    # NUM_RECORDS counts elements, but bytes on gfx8 (docs/emulator.md, "Images").
    records = pixels.nbytes if TRAITS[isa].counts_buffer_bytes else image.shape[0]
    values |= {"base": address(pixels), "stride": stride, "records": records}
    return resources.made(resources.BUFFER, values)


@functools.cache
def samplers() -> Array:
    """The descriptors of all samplers, 16 bytes each, at an address of whose bits none below 10 is set."""
    memory = aligned_bytes(16 << opencl_samplers.BITS, 16 << opencl_samplers.BITS)
    words = memory.view(np.uint32).reshape(-1, 4)
    for bits in range(1 << opencl_samplers.BITS):
        words[bits] = opencl_samplers.words(bits)
    return memory


def sampler_address(bits: int) -> int:
    """What a kernel gets for a sampler."""
    return address(samplers()) + (bits << 4)
