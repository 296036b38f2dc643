"""A Triton kernel: a filter that smooths an image and keeps its edges."""

import triton
import triton.language as tl


@triton.jit
def bilateral(image, out, width, height, contrast, BLOCK: tl.constexpr, RADIUS: tl.constexpr):
    """A pixel becomes the mean of its neighbours, weighted by how near their brightness is to its own."""
    row = tl.program_id(1)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < width
    own = tl.load(image + row * width + columns, mask=inside)
    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    weights = tl.zeros((BLOCK,), dtype=tl.float32)
    for down in range(-RADIUS, RADIUS + 1):
        y = tl.minimum(tl.maximum(row + down, 0), height - 1)
        for right in range(-RADIUS, RADIUS + 1):
            x = tl.minimum(tl.maximum(columns + right, 0), width - 1)
            value = tl.load(image + y * width + x, mask=inside)
            difference = (value - own) / contrast
            weight = tl.exp(-difference * difference)
            sums += weight * value
            weights += weight
    tl.store(out + row * width + columns, sums / weights, mask=inside)
