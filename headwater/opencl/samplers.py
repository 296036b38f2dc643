"""Input: the bits of OpenCL's ``sampler_t`` (CLK_…). Output: the descriptor (S#) that GCN's image instructions take.

Sources: AMD, Southern Islands to "Vega" ISA reference guides, "Sampler Resource Descriptor"; all generations have these
fields in the same places (`headwater.isa.gcn.resources.SAMPLER`, against which a test holds what is here).
"""

from __future__ import annotations

BITS = 6
"""Of ``sampler_t``: normalised coordinates 1, addressing 2 to 14, filter 16 (nearest) or 32 (linear)."""
_ADDRESSING, _NORMALIZED, _LINEAR = 14, 1, 0x20
_WRAP, _MIRROR, _LAST_TEXEL, _BORDER = 0, 1, 2, 6
_CLAMPS = {0: _LAST_TEXEL, 2: _LAST_TEXEL, 4: _BORDER, 6: _WRAP, 8: _MIRROR}
"""What addressing of OpenCL (CLK_ADDRESS_…) is to the hardware, as AMD's run-time has it."""
_MOST_DETAIL = 4095


def words(bits: int) -> tuple[int, int, int, int]:
    """The descriptor of a sampler: four dwords. Its border is transparent black: ``dst_sel`` of images without alpha
    makes 1 of that."""
    clamp = _CLAMPS.get(bits & _ADDRESSING, _LAST_TEXEL)
    unnormalized = 0 if bits & _NORMALIZED else 1
    linear = 1 if bits & _LINEAR else 0
    return clamp | clamp << 3 | clamp << 6 | unnormalized << 15, _MOST_DETAIL << 12, linear << 20 | linear << 22, 0
