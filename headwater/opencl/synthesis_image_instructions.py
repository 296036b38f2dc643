"""Input: the parts of an image's coordinate. Output: IR that calls LLVM's intrinsics for GCN's image instructions.

An image is the address of its descriptor (T#, or V# for ``image1d_buffer_t``) in constant memory, and a sampler that of
its own (S#), see `headwater.runtime.gcn.images`. LLVM loads both into scalar registers, in a loop over the wavefront's
values where they are not the same for all work-items. Values are floats here: instructions do not look at their type.
"""

from __future__ import annotations

from typing import NamedTuple

from headwater.opencl import samplers
from headwater.opencl.synthesis_base import Body

SAMPLERS = "__hw_samplers"
"""The table of the descriptors of all samplers, of which LLVM takes those of literals for constants."""
_TABLE = f"[{1 << samplers.BITS} x <4 x i32>]"
_ALL = "i32 15"  # all four components: LLVM leaves out those that nobody wants
_USUAL = "i32 0, i32 0"  # no status (texfailctrl), the usual caching


class Coordinates(NamedTuple):
    """``parts`` of LLVM type ``element`` (float or i32): x, y, z, layer, as far as the image has them."""

    element: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """As operands."""
        return ", ".join(f"{self.element} {part}" for part in self.parts)


def samplers_table() -> str:
    """The definition of `SAMPLERS`."""
    rows = (samplers.words(bits) for bits in range(1 << samplers.BITS))
    text = ", ".join(f"<4 x i32> <{', '.join(f'i32 {word}' for word in row)}>" for row in rows)
    return f"@{SAMPLERS} = internal unnamed_addr addrspace(4) constant {_TABLE} [{text}], align 16"


def literal(body: Body, bits: str) -> str:
    """The sampler of these bits, which are a constant where this is inlined. Higher ones have no meaning."""
    row = body.emit(f"and i32 {bits}, {(1 << samplers.BITS) - 1}")
    return body.emit(f"getelementptr {_TABLE}, ptr addrspace(4) @{SAMPLERS}, i64 0, i32 {row}")


def _image(body: Body) -> str:
    return "<8 x i32> " + body.emit("load <8 x i32>, ptr addrspace(4) %0, align 32")


def _buffer(body: Body) -> str:
    return "<4 x i32> " + body.emit("load <4 x i32>, ptr addrspace(4) %0, align 16")


def load(body: Body, shape: str, at: Coordinates) -> str:
    """Without a sampler; ``shape`` is 1d, 2d, 3d, 1darray or 2darray."""
    name = f"llvm.amdgcn.image.load.{shape}.v4f32.i32.v8i32"
    return body.emit(f"call <4 x float> @{name}({_ALL}, {at.text}, {_image(body)}, {_USUAL})")


def sample(body: Body, shape: str, at: Coordinates) -> str:
    """By the sampler %1. Whole coordinates are never normalised."""
    whole = at.element == "i32"
    if whole:
        at = Coordinates("float", tuple(body.emit(f"sitofp i32 {part} to float") for part in at.parts))
    sampler = "<4 x i32> " + body.emit("load <4 x i32>, ptr addrspace(4) %1, align 16")
    name = f"llvm.amdgcn.image.sample.lz.{shape}.v4f32.f32.v8i32.v4i32"
    operands = f"{_ALL}, {at.text}, {_image(body)}, {sampler}, i1 {'true' if whole else 'false'}, {_USUAL}"
    return body.emit(f"call <4 x float> @{name}({operands})")


def store(body: Body, shape: str, at: Coordinates, value: str) -> None:
    """All four components."""
    name = f"llvm.amdgcn.image.store.{shape}.v4f32.i32.v8i32"
    body.line(f"call void @{name}(<4 x float> {value}, {_ALL}, {at.text}, {_image(body)}, {_USUAL})")


_NO_OFFSETS = "i32 0, i32 0, i32 0"  # beside the index; the usual caching


def load_buffer(body: Body, at: Coordinates) -> str:
    """An element of ``image1d_buffer_t``."""
    name = "llvm.amdgcn.struct.buffer.load.format.v4f32"
    return body.emit(f"call <4 x float> @{name}({_buffer(body)}, {at.text}, {_NO_OFFSETS})")


def store_buffer(body: Body, at: Coordinates, value: str) -> None:
    """An element of ``image1d_buffer_t``."""
    name = "llvm.amdgcn.struct.buffer.store.format.v4f32"
    body.line(f"call void @{name}(<4 x float> {value}, {_buffer(body)}, {at.text}, {_NO_OFFSETS})")
