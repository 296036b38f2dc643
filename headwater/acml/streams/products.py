"""Input: streams. Output: their matrix products on the device."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from functools import cache
from itertools import product
from math import inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from headwater.acml.costs import best, kept
from headwater.acml.streams.programs import empty, floats, groups, on_device, operand, program, scalar, type_of
from headwater.errors import HeadwaterError, ResourceError, UsageError
from headwater.runtime import Device, Stream, stream


@dataclass(frozen=True)
class Tile:
    """How a kernel of `gemm.cl` is cut: each work-item makes ``rows`` x ``columns`` elements, a group is ``group``
    squared, and ``depth`` is how much of the inner dimension is in local memory (0: none). ``buffered``: by the kernel
    for GPUs, which reads memory by vectors of 16 bytes, the next tiles while it multiplies these."""

    rows: int
    columns: int
    group: int
    depth: int
    buffered: bool = False


@dataclass(frozen=True)
class Matrix:
    """A matrix in a stream's memory: element (i, j) is at ``at`` + i ``row`` + j ``column``."""

    stream: Stream
    rows: int
    columns: int
    at: int
    row: int
    column: int
    conjugate: bool = False

    @property
    def T(self) -> Matrix:  # noqa: N802
        """Transposed, over the same memory."""
        return Matrix(self.stream, self.columns, self.rows, self.at, self.column, self.row, self.conjugate)

    @property
    def H(self) -> Matrix:  # noqa: N802
        """Transposed and conjugated, over the same memory."""
        return Matrix(self.stream, self.columns, self.rows, self.at, self.column, self.row, not self.conjugate)

    @property
    def last(self) -> int:
        """Where its last element is."""
        return self.at + max(self.rows - 1, 0) * self.row + max(self.columns - 1, 0) * self.column

    def part(self, rows: slice, columns: slice) -> Matrix:
        """Rows and columns from start to before stop."""
        at = self.at + rows.start * self.row + columns.start * self.column
        counts = rows.stop - rows.start, columns.stop - columns.start
        return Matrix(self.stream, *counts, at, self.row, self.column, self.conjugate)


def matrix(value: Stream, start: int = 0) -> Matrix:
    """The last two dimensions of a stream as a matrix (a vector is a column), from element ``start`` on."""
    rows, columns = value.shape[-2:] if value.ndim > 1 else (value.shape[0], 1)
    return Matrix(value, rows, columns, start, columns, 1)


VECTORS = {"f": ("float4", 4), "d": ("double2", 2), "F": ("float4", 2), "D": ("double2", 1)}
"""A type's vector of 16 bytes, and how many elements that is."""


@dataclass(frozen=True)
class Layout:
    """What the code of the kernel for GPUs depends on, beside its tile: whether neighbours in memory are along the
    columns of each matrix, whether all can be read by vectors, and which are conjugated."""

    a_columns: bool
    b_columns: bool
    c_columns: bool
    aligned: bool
    a_conjugate: bool
    b_conjugate: bool

    @staticmethod
    def of(a: Matrix, b: Matrix, c: Matrix) -> Layout:
        """That of three matrices."""
        width = VECTORS[c.stream.dtype.char][1]
        steps = [a.at, a.row if a.column == 1 else a.column, b.at, b.row if b.column == 1 else b.column, c.at, c.row]
        aligned = c.column == 1 and not any(number % width for number in steps)
        return Layout(a.column == 1, b.column == 1, c.column == 1, aligned, a.conjugate, b.conjugate)

    def options(self, dtype: np.dtype[Any]) -> str:
        """What `gemm.cl` is compiled with."""
        vector, width = VECTORS[dtype.char]
        return (
            f" -D BUFFERED -D V={vector} -D WIDTH={width}{' -D ALIGNED' if self.aligned else ''}"
            f"{' -D A_ALONG_K' if self.a_columns else ''}{'' if self.b_columns else ' -D B_ALONG_K'}"
        )


def candidates(dtype: np.dtype[Any]) -> list[Tile]:
    """Tiles of the kernel for GPUs: those that are whole vectors and take at most 48 KiB of local memory."""
    width = VECTORS[dtype.char][1]
    found = []
    for group, rows, columns, depth in product((8, 16), (2, 4, 8), (2, 4, 8), (8, 16, 32)):
        cut = Tile(rows, columns, group, depth, True)
        vectors = [depth * side * group // width for side in (rows, columns)]
        nbytes = 2 * depth * ((rows + columns) * group + 32 // dtype.itemsize) * dtype.itemsize
        fits = nbytes <= 48 * 1024 and rows * columns * dtype.itemsize <= 512
        whole = rows % width == columns % width == 0 and not any(count % group**2 for count in vectors)
        if fits and whole and rows >= columns and rows * columns >= 8:
            found.append(cut)
    return found


TRIED = 256
"""Products of at least so many rows and columns are cut on a GPU as was measured to be fastest there."""
LARGE = 1536
"""From so many rows and columns on, larger tiles are tried: they read less, and there are enough for every compute
unit."""
_MEASURED = (1024, 2048)
"""Rows and columns of the products that are measured: below `LARGE`, and from it on."""


def likely(dtype: np.dtype[Any], large: bool) -> list[Tile]:
    """Tiles that may be the fastest for products on a GPU: the fastest ones of an H200 (`benchmarks/acml.py --gpu
    --tune`), of 1024 and, ``large``, of 4096 rows and columns. The first one is not buffered."""
    tiles = {
        "f": [((4, 4, 16, 16), (8, 4, 8, 16)), ((8, 8, 16, 8), (8, 8, 8, 16))],
        "d": [((8, 4, 8, 8), (8, 4, 8, 16)), ((8, 4, 16, 8), (8, 8, 8, 8))],
        "F": [((4, 4, 16, 16), (8, 2, 16, 16)), ((4, 4, 16, 16), (8, 8, 16, 8))],
        "D": [((4, 4, 16, 8), (4, 2, 16, 8))] * 2,
    }
    return [_plain(dtype, TRIED), *(Tile(*sizes, True) for sizes in tiles[dtype.char][large])]


@cache
def fastest(device: Device, dtype: np.dtype[Any], large: bool) -> Tile:
    """Of the likely tiles for sizes from `TRIED` on, or from `LARGE` on, the one that was fastest on the device,
    measured once and kept. One whose results differ from the first one's, or that the driver refuses, is out. The
    first one where the device has no memory for the products that are measured."""
    size = _MEASURED[large]

    def measured() -> dict[str, Any]:
        rng = np.random.default_rng(0)
        kinds: list[tuple[Matrix, Matrix, Matrix]] = []
        for (m, n, k), turned in (((size,) * 3, False), ((129, 131, 27), True)):  # whole vectors, and none
            one = 1 + 0.5j if dtype.kind == "c" else 1
            a, b, c = ((rng.standard_normal(shape) * one).astype(dtype) for shape in ((m, k), (k, n), (m, n)))
            on = [stream(np.ascontiguousarray(x.T if turned else x), device=device) for x in (a, b, c)]
            p, q, r = (matrix(s).T if turned else matrix(s) for s in on)
            kinds.append((p, q, r))
        scale = 1e3 * np.finfo(dtype).eps * sqrt(size)

        def results(cut: Tile) -> list[Any]:
            for a, b, c in kinds:
                gemm(1.0, a, b, 0.0, c, cut)
            return [c.stream.read() for _, _, c in kinds]

        def time(cut: Tile) -> float:
            return best(lambda: _timed(*kinds[0], cut), 3)

        plain, *others = likely(dtype, large)
        wanted, seconds = results(plain), [time(plain)]
        for cut in others:
            try:
                found = results(cut)
                right = all(np.allclose(x, y, rtol=scale, atol=scale) for x, y in zip(found, wanted, strict=True))
                seconds.append(time(cut) if right else inf)
            except HeadwaterError:
                seconds.append(inf)
        return {"tile": seconds.index(min(seconds))}

    names = "tile", device.name, device.description, device.driver, dtype.name, repr((size, likely(dtype, large)))
    try:
        number = int(kept(names, measured)["tile"])
    except ResourceError:
        number = 0
    return likely(dtype, large)[number]


@cache
def is_right(device: Device, dtype: np.dtype[Any], cut: Tile, layout: Layout) -> bool:
    """Whether the driver's code for a tile and a layout gives what the plain kernel gives; found once and kept. Drivers
    have faults: PoCL 3.0 was right for aligned matrices and wrong for others."""

    def found() -> dict[str, Any]:
        rng = np.random.default_rng(0)
        m, n, k = 129, 131, 59  # whole tiles and vectors, and parts of them
        gap = 4 if layout.aligned else 1  # rows begin at its multiples; of no type has a vector more elements

        def made(rows: int, columns: int, along: bool, conjugate: bool) -> Matrix:
            shape = -(-rows // gap) * gap, -(-columns // gap) * gap
            value = rng.standard_normal(shape) * (1 + 0.5j if dtype.kind == "c" else 1)
            held = matrix(stream(np.ascontiguousarray(value if along else value.T, dtype), device=device))
            whole = replace(held if along else held.T, conjugate=conjugate)
            return whole.part(slice(0, rows), slice(0, columns))

        a = made(m, k, layout.a_columns, layout.a_conjugate)
        b = made(k, n, layout.b_columns, layout.b_conjugate)
        start = made(m, n, layout.c_columns, False)
        results = []
        try:
            for tile in (_plain(dtype, TRIED), cut):
                c = replace(start, stream=start.stream.copy())
                gemm(1.0, a, b, 0.0, c, tile)
                gemm(1.0, a, b, 1.0, c, tile)
                results.append(c.stream.read())
        except HeadwaterError:
            return {"right": False}
        scale = 1e3 * np.finfo(dtype).eps * sqrt(k)
        return {"right": bool(np.allclose(results[0], results[1], rtol=scale, atol=scale))}

    names = device.name, device.description, device.driver, dtype.name, repr(astuple(cut)), repr(layout)
    source = Path(__file__).with_name("gemm.cl").read_text(encoding="utf-8")
    return bool(kept(("layout", source, *names), found)["right"])


def _timed(a: Matrix, b: Matrix, c: Matrix, cut: Tile) -> None:
    gemm(1.0, a, b, 0.0, c, cut)
    c.stream.device.finish()


def tile(device: Device, dtype: np.dtype[Any], m: int, n: int, k: int) -> Tile:
    """How products of such a size are cut on the device."""
    if device.kind == "opencl" and device.is_gpu and min(m, n) >= TRIED and k >= 64:
        return fastest(device, dtype, min(m, n) >= LARGE)
    if not device.has_local_memory:
        return Tile(4, 4, 8, 0)
    if device.name == "cpu":
        return Tile(4, 64 // dtype.itemsize * 2, 4, 0)
    return _plain(dtype, min(m, n))


def _plain(dtype: np.dtype[Any], least: int) -> Tile:
    side = 4 if least >= 64 else 1
    return Tile(side, side, 16, 8 if dtype.itemsize >= 16 else 16)


def gemm(alpha: Any, a: Matrix, b: Matrix, beta: Any, c: Matrix, cut: Tile | None = None) -> None:
    """c = alpha a b + beta c on the device of the streams; c is not read where beta is 0."""
    device, dtype = c.stream.device, c.stream.dtype
    kind = type_of(c.stream, "gemm")
    m, n, k = c.rows, c.columns, a.columns
    if not m or not n:
        return
    for value in (a, b, c):
        if value.last >= 2**31:
            raise ResourceError(
                f"a matrix with {value.last + 1} elements: the kernels count them with 32 bits",
                hint="cut the problem in parts",
            )
    chosen = cut is None
    cut = cut or tile(device, dtype, m, n, k)
    layout = None
    if cut.buffered:
        layout = Layout.of(a, b, c)
        has_gaps = 1 not in (a.row, a.column) or 1 not in (b.row, b.column)
        if has_gaps or (chosen and not is_right(device, dtype, cut, layout)):
            layout, cut = None, _plain(dtype, LARGE)
    options = f"-D T={kind} -D RM={cut.rows} -D RN={cut.columns} -D GROUP={cut.group}"
    options += f" -D DEPTH={cut.depth}" if cut.depth else ""
    options += " -D COMPLEX" if dtype.kind == "c" else ""
    options += " -D CONJUGATE_A" if a.conjugate else ""
    options += " -D CONJUGATE_B" if b.conjugate else ""
    if layout is not None:
        options += layout.options(dtype)
    kernel = program("gemm.cl", options, device).gemm
    size = groups(-(-n // cut.columns), cut.group), groups(-(-m // cut.rows), cut.group)
    kernel[size, (cut.group, cut.group) if cut.depth else None](
        *(m, n, k, scalar(alpha, dtype)),
        *(floats(a.stream), a.at, a.row, a.column),
        *(floats(b.stream), b.at, b.row, b.column),
        *(scalar(beta, dtype), floats(c.stream), c.at, c.row, c.column),
        device=device,
    )


def matmul(a: Any, b: Any) -> Stream:
    """The product as `numpy.matmul` defines it, of streams, or of a stream and an array; it stays on the device."""
    device = next(value.device for value in (a, b) if isinstance(value, Stream))
    a, b = operand(a), operand(b)
    dtype = np.result_type(a.dtype, b.dtype)
    x, y = on_device(a, device, dtype), on_device(b, device, dtype)
    type_of(x, "matmul")
    if not x.ndim or not y.ndim:
        raise UsageError("matmul takes vectors and matrices, not numbers")
    p = Matrix(x, 1, x.shape[0], 0, 0, 1) if x.ndim == 1 else matrix(x)
    q = matrix(y)
    if p.columns != q.rows:
        raise UsageError(f"matmul: shapes {x.shape} and {y.shape} do not fit")
    outer = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    kept = (*(() if x.ndim == 1 else (p.rows,)), *(() if y.ndim == 1 else (q.columns,)))
    found = empty(x, (*outer, *kept))
    counts = [np.broadcast_to(_starts(s.shape), outer).ravel() for s in (x, y)]
    for at, (first, second) in enumerate(zip(*counts, strict=True)):
        c = Matrix(found, p.rows, q.columns, at * p.rows * q.columns, q.columns, 1)
        gemm(
            1.0,
            Matrix(x, p.rows, p.columns, int(first), p.row, p.column),
            Matrix(y, q.rows, q.columns, int(second), q.row, q.column),
            0.0,
            c,
        )
    return found


def _starts(shape: tuple[int, ...]) -> Any:
    """Where each matrix of a stack begins."""
    outer, size = shape[:-2], int(np.prod(shape[-2:]))
    return np.arange(int(np.prod(outer)), dtype=np.int64).reshape(outer) * size
