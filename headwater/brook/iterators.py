"""Input: the ends of an iterator stream. Output: its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headwater.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

_PLANE = 2
_MOST_COMPONENTS = 4


def iterator(
    start: float | Sequence[float], end: float | Sequence[float], shape: int | Sequence[int]
) -> np.ndarray[Any, np.dtype[Any]]:
    """The values of BrookGPU's ``iter float2 it<h, w> = iter(start, end)``, for a kernel's ``iter`` parameter.

    Numbers at equal distances from ``start`` on; ``end`` itself is not reached: ``iterator(0, 8, 4)`` is 0, 2, 4, 6.
    Vectors of two to four components run along one dimension; in a plane, ``shape`` (h, w), they have two, of which
    the first runs along the rows. UsageError for other shapes.
    """
    import numpy as np

    first, last = (np.atleast_1d(np.asarray(one, np.float32)) for one in (start, end))
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if first.ndim != 1 or first.shape != last.shape or first.size > _MOST_COMPONENTS:
        raise UsageError(
            f"an iterator runs between two numbers or vectors of one length, not from {start!r} to {end!r}",
            hint="iterator((0, 0), (width, height), (height, width))",
        )
    if len(extents) not in (1, _PLANE) or any(n < 1 for n in extents):
        raise UsageError(f"an iterator has one or two dimensions, not the shape {extents}")
    if len(extents) == _PLANE and first.size != _PLANE:
        raise UsageError(
            f"an iterator of two dimensions has two components, not {first.size}",
            hint="the first runs along the rows, the second along the columns",
        )
    # Of BrookGPU's run-times, the CPU's added a millionth to each, lest an index fall below a whole number.
    parts = [np.arange(n, dtype=np.float32) / np.float32(n) for n in reversed(extents)]
    if len(extents) == 1:
        values = first + (last - first) * parts[0][:, None]
        return values[:, 0] if np.ndim(start) == 0 else values
    along, down = (a + (b - a) * part for a, b, part in zip(first, last, parts, strict=True))
    return np.stack(np.broadcast_arrays(along[None, :], down[:, None]), axis=-1)
