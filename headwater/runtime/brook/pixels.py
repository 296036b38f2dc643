"""Input: a Brook+ kernel's pixel shaders and the shapes of its arguments. Output: what a call runs on R600 or R700.

What a shader finds where is described in `headwater.brook.model`, "Pixel shaders". This module decides how streams lie
in two dimensions and which pixels run; `headwater.runtime.brook.drawing` runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt, prod

import numpy as np

from headwater.base.arrays import Array
from headwater.brook.model import BrookSignature, Entry, Parameter, extents
from headwater.runtime.brook.arguments import Shape
from headwater.runtime.brook.plan import (
    Domain,
    View,
    address_table,
    check_streams,
    check_target,
    checked_domain,
)

_LEAST_ROW = 64
"""Elements below which a stream that is rolled up has one row (Brook+ 1.4.1, address translation)."""
_NO_SHIFT = 31
_NATURAL_RANK = 2
Rectangle = tuple[int, int, int, int]
"""x, y, width and height, in pixels."""


@dataclass(frozen=True)
class Layout:
    """A stream in two dimensions: ``count`` elements, row by row. ``shift``: see `headwater.brook.model`."""

    width: int
    height: int
    count: int
    shift: int = _NO_SHIFT

    @property
    def rectangles(self) -> tuple[Rectangle, ...]:
        """The pixels where there are elements: all rows, or all that are full and what is in the last one."""
        rest = self.count % self.width
        if not rest:
            return ((0, 0, self.width, self.height),)
        last = (0, self.height - 1, rest, 1)
        return (last,) if self.height == 1 else ((0, 0, self.width, self.height - 1), last)


@dataclass(frozen=True)
class Surface:
    """A parameter's memory as textures or outputs.

    ``place``: the elements of its array that are texels, in order; None if they are all there are.
    """

    layout: Layout
    place: Array | None = None


@dataclass(frozen=True)
class Pass:
    """One pixel shader over rectangles of its domain.

    ``surfaces``: of streams and arrays; ``numbers``: the values of arguments with the roles shift, shape, domain,
    origin and tile, by role and parameter. ``translated``: with `ADDRESS_TRANSLATION`. ``groups``: work-groups of a
    compute shader, which has no rectangles.
    """

    entry: Entry
    translated: bool
    rectangles: tuple[Rectangle, ...]
    surfaces: Mapping[str, Surface]
    numbers: Mapping[tuple[str, str], int | tuple[int, ...]]
    groups: int = 0


def plan_map(
    kernel: BrookSignature, views: Mapping[str, View], domain: Domain | None, texels: int
) -> tuple[Pass, ...] | None:
    """The passes of a kernel that is not a reduction; None if it cannot run so, as textures are too small, say.

    ``views``: of every parameter with memory; ``texels``: a texture's side. LaunchError if the views do not fit.
    """
    whole = views[kernel.domain_from].shape
    check_streams(kernel, views, whole)
    start, end = checked_domain(kernel, domain, whole)
    run = tuple(b - a for a, b in zip(start, end, strict=True))
    surfaces, numbers, translated = _arrays(kernel.parameters, views, texels)
    streams = [p for p in kernel.parameters if p.kind in ("input", "output")]
    in_place = all(views[p.name].is_whole and views[p.name].shape == whole for p in streams)
    window = in_place and natural(whole, texels) is not None and not translated and not kernel.group_size
    shape = whole if window else run
    translated = translated or natural(shape, texels) is None
    layout = rolled(shape, texels) if translated else natural(shape, texels)
    if layout is None or any(surface is None for surface in surfaces.values()):
        return None
    for p in streams:
        view = views[p.name]
        same = view.is_whole and view.shape == shape
        surfaces[p.name] = Surface(layout, None if same else _places(whole, view, start, end))
    if window:
        x, y = (*reversed(start), 0)[:_NATURAL_RANK]
        width, height, _, _ = extents(run)
        rectangles: tuple[Rectangle, ...] = ((x, y, width, height),)
    else:
        rectangles = layout.rectangles
    numbers |= {
        ("shift", ""): layout.shift,
        ("domain", ""): extents(shape),
        ("origin", ""): (0, 0, 0, 0) if window else extents(start, 0),
    }
    known = {name: surface for name, surface in surfaces.items() if surface is not None}
    if kernel.group_size:
        groups = -(-prod(run) // kernel.group_size)
        return tuple(Pass(entry, translated, (), known, numbers, groups) for entry in kernel.entries)
    return tuple(Pass(entry, translated, rectangles, known, numbers) for entry in kernel.entries)


def plan_reduction(
    kernel: BrookSignature, source: Parameter, result: Parameter, shape: Shape, target: Shape | None, texels: int
) -> tuple[Pass, ...] | None:
    """The passes of a reduction, each of which divides extents by prime factors, as Brook+ did; None if textures are
    too small.

    The order of operands stays: where it matters one dimension is folded after the other, the fastest first.
    """
    padded = (1,) * len(shape) if target is None else check_target(kernel, result, shape, target)
    (entry,) = kernel.entries
    passes: list[Pass] = []
    while not passes or shape != padded:
        divisors = [_least_divisor(n // m) for n, m in zip(shape, padded, strict=True)]
        if not kernel.commutative:
            last = max((axis for axis, n in enumerate(divisors) if n > 1), default=0)
            divisors = [n if axis == last else 1 for axis, n in enumerate(divisors)]
        after = tuple(n // divisor for n, divisor in zip(shape, divisors, strict=True))
        translated = natural(shape, texels) is None
        before, behind = ((rolled if translated else natural)(one, texels) for one in (shape, after))
        if before is None or behind is None:
            return None
        numbers: dict[tuple[str, str], int | tuple[int, ...]] = {
            ("shift", ""): behind.shift,
            ("domain", ""): extents(after),
            ("tile", source.name): extents(tuple(divisors)),
            ("shift", source.name): before.shift,
            ("shape", source.name): extents(shape),
        }
        surfaces = {source.name: Surface(before), result.name: Surface(behind)}
        passes.append(Pass(entry, translated, behind.rectangles, surfaces, numbers))
        shape = after
    return tuple(passes)


def natural(shape: Shape, texels: int) -> Layout | None:
    """A stream of one or two dimensions as it is; None for others and where a texture is too small."""
    if len(shape) > _NATURAL_RANK or max(shape) > texels:
        return None
    width, height, _, _ = extents(shape)
    return Layout(width, height, width * height)


def rolled(shape: Shape, texels: int) -> Layout | None:
    """A stream's elements in rows of a power of two of them: about as many rows, if a texture can have so many (Brook+
    1.4.1, address translation)."""
    count = prod(shape)
    width = 1 << (isqrt(count).bit_length() - 1)
    if width < _LEAST_ROW and count <= texels:
        return Layout(count, 1, count)
    if -(-count // width) > texels:
        width = 1 << (texels.bit_length() - 1)
    height = -(-count // width)
    return Layout(width, height, count, width.bit_length() - 1) if height <= texels else None


def _arrays(
    parameters: Sequence[Parameter], views: Mapping[str, View], texels: int
) -> tuple[dict[str, Surface | None], dict[tuple[str, str], int | tuple[int, ...]], bool]:
    """Surfaces of gather arrays (None: too large), numbers that tell of arrays, and whether addresses are to be
    translated."""
    surfaces: dict[str, Surface | None] = {}
    numbers: dict[tuple[str, str], int | tuple[int, ...]] = {}
    gathers = [p for p in parameters if p.kind == "gather"]
    translated = any(p.rank == 1 and natural(views[p.name].shape, texels) is None for p in gathers)
    for p in gathers:
        shape = views[p.name].shape
        is_rolled = p.rank > _NATURAL_RANK or (p.rank == 1 and translated)
        layout = rolled(shape, texels) if is_rolled else natural(shape, texels)
        surfaces[p.name] = None if layout is None else Surface(layout)
        numbers["shift", p.name] = _NO_SHIFT if layout is None else layout.shift
    for p in parameters:
        if p.kind in ("gather", "scatter"):
            numbers["shape", p.name] = extents(views[p.name].shape)
    return surfaces, numbers, translated


def _places(whole: Shape, view: View, start: Shape, end: Shape) -> Array:
    """Where in a stream's memory its elements for the executed domain are, in the domain's order."""
    table = address_table(whole, view, start, end)
    run = extents(tuple(b - a for a, b in zip(start, end, strict=True)))
    places = np.zeros((1, 1, 1, 1), np.int64)
    at = 0
    for axis, n in enumerate(run):
        part = table[at : at + n]
        places = places + part.reshape([-1 if 3 - axis == k else 1 for k in range(4)])
        at += n
    return places.reshape(-1)


def _least_divisor(n: int) -> int:
    """The smallest prime factor; 1 of 1."""
    return next((k for k in range(2, isqrt(n) + 1) if n % k == 0), n)
