"""Input: streams. Output: their factorizations and solutions: panels on the processor, products on the device."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from headwater.acml.native import extension
from headwater.acml.streams.products import Matrix, gemm, matrix
from headwater.acml.streams.programs import empty, floats, groups, on_device, operand, program, type_of
from headwater.errors import UsageError
from headwater.runtime import Stream, stream

BLOCK = 64
"""Columns of a panel."""


def _kernels(value: Stream) -> Any:
    kind = type_of(value, "factorization")
    options = f"-D T={kind} -D RM=1 -D RN=1 -D GROUP=1{' -D COMPLEX' if value.dtype.kind == 'c' else ''}"
    return program("gemm.cl", options, value.device)


def _block(value: Stream, rows: slice, columns: slice) -> Any:
    """A part of a matrix as an array."""
    return value.domain((rows.start, columns.start), (rows.stop, columns.stop)).compact().read()


def _paste(value: Stream, block: Any, row: int, column: int) -> None:
    rows, columns = block.shape
    on = on_device(block, value.device, value.dtype)
    _kernels(value).paste[(groups(columns, 64), rows), None](
        floats(on), rows, columns, floats(value), row * value.shape[1] + column, value.shape[1], device=value.device
    )


def is_finite(value: Any) -> bool:
    """Whether no number of a stream or an array is infinite or NaN; a stream is tested on its device."""
    if not isinstance(value, Stream):
        return bool(np.isfinite(value).all())
    if value.dtype.kind not in "fc" or not value.size:
        return True
    found = stream(np.zeros(1, np.int32), device=value.device)
    numbers = floats(value)
    options = f"-D T={'float' if numbers.dtype == np.float32 else 'double'} -D RM=1 -D RN=1 -D GROUP=1"
    kernel = program("gemm.cl", options, value.device).find_others
    kernel[groups(numbers.size, 64), None](numbers, numbers.size, found, device=value.device)
    return not found.read()[0]


def _square(value: Any, what: str) -> None:
    if value.ndim != 2 or value.shape[0] != value.shape[1]:
        raise UsageError(f"{what}: a square matrix is needed, not one of shape {value.shape}")


def lu(value: Stream) -> tuple[Stream, Any]:
    """LU with partial pivoting as `scipy.linalg.lu_factor`: the factors, on the device, and pivots from 0, an array."""
    extension()
    if value.ndim != 2:
        raise UsageError(f"lu_factor: a matrix is needed, not a stream of shape {value.shape}")
    lapack = import_module("scipy.linalg.lapack")
    (getrf, trtri) = lapack.get_lapack_funcs(("getrf", "trtri"), dtype=value.dtype)
    a = value.copy()
    whole, (m, n) = matrix(a), a.shape
    kernels, pivots = _kernels(a), np.arange(min(m, n), dtype=np.int32)
    for j in range(0, min(m, n), BLOCK):
        end = min(j + BLOCK, m, n)
        panel, found, _ = getrf(_block(a, slice(j, m), slice(j, end)))
        _paste(a, panel, j, j)
        pivots[j:end] = found + j
        swaps = stream(pivots[j:end], device=a.device)
        for left, right in ((0, j), (end, n)):
            if left < right:
                kernels.swap_rows[groups(right - left, 64), None](
                    floats(a), n, 1, left, right, j, end, swaps, device=a.device
                )
        if end == n:
            continue
        inverse, _ = trtri(panel[: end - j], lower=1, unitdiag=1)
        lower = np.tril(inverse, -1) + np.eye(end - j, dtype=value.dtype)
        right_part = a.domain((j, end), (end, n)).compact()
        gemm(1.0, matrix(on_device(lower, a.device)), matrix(right_part), 0.0, whole.part(slice(j, end), slice(end, n)))
        below = slice(end, m)
        gemm(
            -1.0,
            whole.part(below, slice(j, end)),
            whole.part(slice(j, end), slice(end, n)),
            1.0,
            whole.part(below, slice(end, n)),
        )
    return a, pivots


def cholesky(value: Stream, lower: bool = True) -> Stream:
    """The factor of a Hermitian positive definite matrix, of which one triangle is read: L of L L^H from the lower
    one, or R of R^H R from the upper one. LinAlgError where it is not positive definite."""
    extension()
    _square(value, "cholesky")
    lapack = import_module("scipy.linalg.lapack")
    (potrf, trtri) = lapack.get_lapack_funcs(("potrf", "trtri"), dtype=value.dtype)
    a, n = value.copy(), value.shape[0]

    def turned(made: Any) -> Any:  # R is the transpose of the transposed matrix's L
        return made if lower else made.T

    whole = turned(matrix(a))
    for j in range(0, n, BLOCK):
        end = min(j + BLOCK, n)
        panel, info = potrf(turned(_block(a, slice(j, end), slice(j, end))), lower=1)
        if info:
            raise np.linalg.LinAlgError(f"{j + info}-th leading minor of the array is not positive definite")
        _paste(a, turned(panel), j, j)
        if end == n:
            break
        inverse = np.tril(trtri(panel, lower=1)[0])
        left = a.domain(*(((end, j), (n, end)) if lower else ((j, end), (end, n)))).compact()
        column = whole.part(slice(end, n), slice(j, end))
        gemm(1.0, turned(matrix(left)), matrix(on_device(inverse, a.device)).H, 0.0, column)
        gemm(-1.0, column, column.H, 1.0, whole.part(slice(end, n), slice(end, n)))
    _kernels(a).clear_triangle[(groups(n, 64), n), None](floats(a), n, n, int(lower), device=a.device)
    return a


def qr(value: Stream, full: bool = False) -> tuple[Stream, Stream]:
    """Q (m x k) and R (k x n), k = min(m, n), or m if ``full``, by blocks of Householder reflections."""
    extension()
    if value.ndim != 2:
        raise UsageError(f"qr: a matrix is needed, not a stream of shape {value.shape}")
    (geqrf,) = import_module("scipy.linalg.lapack").get_lapack_funcs(("geqrf",), dtype=value.dtype)
    a, (m, n) = value.copy(), value.shape
    k, device = min(m, n), value.device
    whole, reflections = matrix(a), []
    for j in range(0, k, BLOCK):
        end = min(j + BLOCK, k)
        panel, tau, _, _ = geqrf(_block(a, slice(j, m), slice(j, end)))
        v = np.tril(panel, -1) + np.eye(*panel.shape, dtype=a.dtype)
        t = np.zeros((end - j, end - j), a.dtype)  # I - v t v^H is the product of the panel's reflections
        for i, factor in enumerate(tau):
            t[:i, i] = -factor * (t[:i, :i] @ (v[:, :i].conj().T @ v[:, i]))
            t[i, i] = factor
        _paste(a, np.triu(panel), j, j)
        reflections.append((j, matrix(on_device(v, device)), matrix(on_device(t, device))))
        if end < n:
            _reflect(*reflections[-1][1:], whole.part(slice(j, m), slice(end, n)), adjoint=True)
    kept = m if full else k
    q = stream(np.eye(m, kept, dtype=a.dtype), device=device)
    for j, v_on, t_on in reversed(reflections):
        _reflect(v_on, t_on, matrix(q).part(slice(j, m), slice(0, kept)), adjoint=False)
    if kept == m:
        return q, a
    r = a.domain((0, 0), (k, n)).compact() if k else empty(a, (k, n))
    return q, r


def _reflect(v: Matrix, t: Matrix, c: Matrix, adjoint: bool) -> None:
    """c -= v t v^H c, or t^H for the adjoint."""
    first, second = (empty(c.stream, (v.columns, c.columns)) for _ in range(2))
    gemm(1.0, v.H, c, 0.0, matrix(first))
    gemm(1.0, t.H if adjoint else t, matrix(first), 0.0, matrix(second))
    gemm(-1.0, v, matrix(second), 1.0, c)


def solve(a: Any, b: Any) -> Stream:
    """x of a x = b for a square matrix; LinAlgError if it is singular. At least one argument is a stream."""
    device = next(value.device for value in (a, b) if isinstance(value, Stream))
    a, b = operand(a), operand(b)
    dtype = np.result_type(a.dtype, b.dtype)
    left = on_device(a, device, dtype)
    _square(left, "solve")
    if b.ndim not in (1, 2) or b.shape[0] != left.shape[0]:
        raise UsageError(f"solve: shapes {left.shape} and {b.shape} do not fit")
    factors, pivots = lu(left)
    x, n = on_device(b, device, dtype).copy(), left.shape[0]
    right = matrix(x)
    if not n:
        return x
    if not right.columns:
        if not np.diag(factors.read()).all():
            raise np.linalg.LinAlgError("Singular matrix")
        return x
    swaps = stream(pivots, device=device)
    _kernels(x).swap_rows[groups(right.columns, 64), None](
        floats(x), right.row, 1, 0, right.columns, 0, n, swaps, device=device
    )
    whole = matrix(factors)
    starts = range(0, n, BLOCK)
    for forward, order in ((True, starts), (False, reversed(starts))):
        for j in order:
            rows = slice(j, min(j + BLOCK, n))
            block = _block(factors, rows, rows)
            if not forward and not np.diag(block).all():
                raise np.linalg.LinAlgError("Singular matrix")
            triangle = np.tril(block, -1) + np.eye(len(block)) if forward else np.triu(block)
            inverse = np.linalg.inv(triangle.astype(dtype))
            others = slice(0, j) if forward else slice(rows.stop, n)
            part = right.part(rows, slice(0, right.columns))
            if others.stop > others.start:
                gemm(-1.0, whole.part(rows, others), right.part(others, slice(0, right.columns)), 1.0, part)
            made = empty(x, (rows.stop - j, right.columns))
            gemm(1.0, matrix(on_device(inverse, device, dtype)), part, 0.0, matrix(made))
            _kernels(x).paste[(groups(right.columns, 64), rows.stop - j), None](
                floats(made), rows.stop - j, right.columns, floats(x), part.at, right.row, device=device
            )
    return x
