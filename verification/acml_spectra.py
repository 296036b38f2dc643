"""Test ratios of all drivers for eigenvalues, generalized ones and least squares; `acml_residuals` runs them.

Residuals as netlib's programs have them (ddrvst, ddrvsg, ddrves, ddrvgg, ddrges, dlqt and dgqt of LAPACK's TESTING/EIG,
and ddrvls), thresholds as in its input files: 50 for symmetric problems, 20 for general ones, 10 for pairs of general
matrices.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from headwater import acml
from verification.acml_ratios import TYPES, band, exact, matrix, norm, note, packed, triangle

SYMMETRIC, GENERAL, PAIRS, SQUARES = 50.0, 20.0, 10.0, 30.0


def call(kind: str, name: str, *args: Any) -> Any:
    return getattr(acml, kind + name)(*args)


def real_of(kind: str) -> Any:
    return np.zeros(0, TYPES[kind]).real.dtype


def zeros(kind: str, n: int) -> Any:
    return np.zeros((n, n), TYPES[kind], order="F")


def _storages(kind: str, whole: Any, uplo: str, kd: int) -> list[tuple[str, Any, list[Any]]]:
    """Letters of a driver, the Hermitian matrix that it gets, and the arguments behind n that hold it."""
    n, banded = len(whole), np.tril(np.triu(whole, -kd), kd)
    below, above = (0, kd) if uplo == "U" else (kd, 0)
    full, flat, bands = ("he", "hp", "hb") if kind in "cz" else ("sy", "sp", "sb")
    return [
        (full, whole, [whole.copy(order="F"), max(n, 1)]),
        (flat, whole, [packed(whole, uplo)]),
        (bands, banded, [kd, band(banded, below, above, kd + 1), kd + 1]),
    ]


def _eigenpairs(kind: str, name: str, a: Any, b: Any, itype: int, w: Any, z: Any, info: int) -> None:
    """A z = w B z, A B z = w z or B A z = w z; z' B z (B's inverse for the last) is 1."""
    n = len(a)
    scale = norm(a) * max(norm(z), 1e-300) * max(norm(b) if itype > 1 else 1.0, 1.0) * max(n, 1)
    a, b, z = exact(a), exact(b), exact(z)
    residual = (a @ z - b @ z * w, a @ (b @ z) - z * w, b @ (a @ z) - z * w)[itype - 1]
    note(name, residual, scale, kind, SYMMETRIC, info)
    inner = z.conj().T @ (b @ z if itype < 3 else np.linalg.solve(b.astype(np.complex128), z.astype(np.complex128)))
    note(name, inner - np.eye(z.shape[1]), max(n, 1) * max(norm(b), 1), kind, SYMMETRIC)


def _ranges(n: int, w: Any) -> list[tuple[list[Any], Any]]:
    """Of an expert driver: range's letter, vl, vu, il, iu; and the eigenvalues that it has to find."""
    if n < 3:
        return [(["A", 0.0, 0.0, 1, n], w)]
    low, high = (w[0] + w[1]) / 2, (w[-2] + w[-1]) / 2
    return [
        (["A", 0.0, 0.0, 1, n], w),
        (["V", low, high, 1, n], w[1:-1]),
        (["I", 0.0, 0.0, 2, n - 1], w[1:-1]),
    ]


def _expert(kind: str, name: str, front: list[Any], middle: Any, whole: Any, n: int, w: Any, last: int = 1) -> None:
    """An expert driver over the ranges; ``whole``: a, b and itype; ``middle``: makes the arguments that are written."""
    for (letter, *limits), wanted in _ranges(n, w):
        found, values, z = np.zeros(1, np.int32), np.zeros(n, real_of(kind)), zeros(kind, n)
        ends = np.zeros(last * n, np.int32)
        info = call(kind, name, *front[:-1], letter, front[-1], n, *middle(), *limits, 0.0, found, values, z,
                    max(n, 1), ends)  # fmt: skip
        m = int(found[0])
        note(name, np.array([abs(m - len(wanted))]), 1, kind, SYMMETRIC, info)
        if m == len(wanted):
            scale = max(abs(w).max(initial=0), 1e-300) * max(n, 1)
            note(name, values[:m] - wanted, scale, kind, SYMMETRIC)
            _eigenpairs(kind, name, *whole, values[:m], z[:, :m], info)


def hermitian(kind: str) -> None:
    """Every driver of a Hermitian matrix, and of a pair of which the second is positive definite."""
    for n, uplo in product((0, 1, 2, 3, 5, 20), "UL"):
        kd, one = min(2, max(n - 1, 0)), np.eye(n)
        whole = triangle(matrix(kind, n, n), uplo, True)
        for letters, a, held in _storages(kind, whole, uplo, kd):

            def fresh(held: Any = held) -> list[Any]:
                return [part.copy(order="F") if isinstance(part, np.ndarray) else part for part in held]

            w = np.zeros(n, real_of(kind))
            for end in ("ev", "evd"):
                z, arguments, w = zeros(kind, n), fresh(), np.zeros(n, real_of(kind))
                tail = [] if letters in ("sy", "he") else [z, max(n, 1)]
                info = call(kind, letters + end, "V", uplo, n, *arguments, w, *tail)
                _eigenpairs(kind, letters + end, a, one, 1, w, z if tail else arguments[0], info)
                without = np.zeros(n, w.dtype)
                info = call(kind, letters + end, "N", uplo, n, *fresh(), without, *tail)
                note(letters + end, without - w, max(norm(a), 1e-300) * max(n, 1), kind, SYMMETRIC, info)
            q = [zeros(kind, n), max(n, 1)] if letters in ("sb", "hb") else []
            _expert(kind, letters + "evx", ["V", uplo], lambda f=fresh, q=q: [*f(), *q], (a, one, 1), n, w)
            if letters in ("sy", "he"):
                _expert(kind, letters + "evr", ["V", uplo], fresh, (a, one, 1), n, w, last=2)
        if kind in "sd":
            tridiagonal(kind, np.tril(np.triu(whole, -1), 1))
        root = matrix(kind, n, n)
        definite = triangle(np.asfortranarray(root @ root.conj().T + np.eye(n, dtype=root.dtype)), uplo, True)
        pairs(kind, whole, definite, uplo, kd)


def tridiagonal(kind: str, a: Any) -> None:
    n, one = len(a), np.eye(len(a))
    d, e = np.diag(a).copy(), np.diag(a, 1).copy() if n else np.zeros(0, a.dtype)
    w = d
    for name in ("stev", "stevd"):
        w, z = d.copy(), zeros(kind, n)
        info = call(kind, name, "V", n, w, e.copy(), z, max(n, 1))
        _eigenpairs(kind, name, a, one, 1, w, z, info)
    for name, last in (("stevx", 1), ("stevr", 2)):
        for (letter, *limits), wanted in _ranges(n, w):
            found, values, z = np.zeros(1, np.int32), np.zeros(n, d.dtype), zeros(kind, n)
            info = call(kind, name, "V", letter, n, d.copy(), e.copy(), *limits, 0.0, found, values, z, max(n, 1),
                        np.zeros(last * n, np.int32))  # fmt: skip
            m = int(found[0])
            note(name, np.array([abs(m - len(wanted))]), 1, kind, SYMMETRIC, info)
            if m == len(wanted):
                note(name, values[:m] - wanted, max(norm(a), 1e-300) * max(n, 1), kind, SYMMETRIC)
                _eigenpairs(kind, name, a, one, 1, values[:m], z[:, :m], info)


def pairs(kind: str, whole: Any, definite: Any, uplo: str, kd: int) -> None:
    n = len(whole)
    band_of_b = max(kd - 1, 0)
    both = zip(_storages(kind, whole, uplo, kd), _storages(kind, definite, uplo, band_of_b), strict=True)
    for (letters, a, first), (_, b, second) in both:
        is_band = letters in ("sb", "hb")
        for itype in (1,) if is_band else (1, 2, 3):

            def fresh(first: Any = first, second: Any = second, is_band: bool = is_band) -> list[Any]:
                made = [part.copy(order="F") if isinstance(part, np.ndarray) else part for part in (*first, *second)]
                return [made[0], made[3], *made[1:3], *made[4:]] if is_band else made  # ka, kb, ab, ldab, bb, ldbb

            front = ["V", uplo] if is_band else [itype, "V", uplo]
            w = np.zeros(n, real_of(kind))
            for end in ("gv", "gvd"):
                z, arguments, w = zeros(kind, n), fresh(), np.zeros(n, real_of(kind))
                tail = [] if letters in ("sy", "he") else [z, max(n, 1)]
                info = call(kind, letters + end, *front, n, *arguments, w, *tail)
                _eigenpairs(kind, letters + end, a, b, itype, w, z if tail else arguments[0], info)
            q = [zeros(kind, n), max(n, 1)] if is_band else []
            _expert(kind, letters + "gvx", front, lambda f=fresh, q=q: [*f(), *q], (a, b, itype), n, w)


def _values(kind: str, count: int, n: int) -> list[Any]:
    """Arrays of eigenvalues: real and imaginary parts, or complex ones."""
    return [np.zeros(n, TYPES[kind]) for _ in range(count + (kind in "sd"))]


def _complex(kind: str, parts: list[Any]) -> Any:
    return parts[0] + 1j * parts[1] if kind in "sd" else parts[0]


def _vectors(kind: str, w: Any, side: Any) -> Any:
    """Complex eigenvectors of what a real routine packs: pairs in two columns."""
    found, at = exact(side.astype(np.result_type(side.dtype, np.complex64))), 0
    while kind in "sd" and at < len(w):
        if w[at].imag:
            found[:, at] = side[:, at] + 1j * exact(side[:, at + 1])
            found[:, at + 1] = found[:, at].conj()
            at += 1
        at += 1
    return found


def schur(kind: str) -> None:
    """A = V T V', with the eigenvalues in the left half plane first; gees, geesx, gges, ggesx."""
    chosen = (lambda re, im: re < 0) if kind in "sd" else (lambda w: w.real < 0)
    of_pair = (lambda re, im, beta: re < 0) if kind in "sd" else (lambda alpha, beta: alpha.real < 0)
    for n, sort in product((0, 1, 2, 3, 5, 10, 20), "NS"):
        a, b, ld, sdim = matrix(kind, n, n), matrix(kind, n, n), max(n, 1), np.zeros(1, np.int32)
        conditions = [np.full(2, -1, real_of(kind)) for _ in range(2)]
        for name in ("gees", "geesx"):
            sense = [] if name == "gees" else ["B" if sort == "S" else "N"]
            t, v, w = a.copy(order="F"), zeros(kind, n), _values(kind, 1, n)
            extra = conditions if sense else []
            info = call(
                kind, name, "V", sort, chosen if sort == "S" else None, *sense, n, t, ld, sdim, *w, v, ld, *extra
            )
            values, v = _complex(kind, w), exact(v)
            note(name, exact(a) @ v - v @ exact(t), norm(a) * max(n, 1), kind, GENERAL, info)
            note(name, v.conj().T @ v - np.eye(n), max(n, 1), kind, GENERAL)
            note(name, np.tril(t, -2 if kind in "sd" else -1), 1, kind, GENERAL)
            wanted = np.sort(np.linalg.eigvals(a.astype(np.complex128)).real < 0).sum() if sort == "S" else 0
            first = (values.real < 0).nonzero()[0] if sort == "S" else np.zeros(0)
            note(name, np.array([abs(int(sdim[0]) - wanted), *(first - np.arange(len(first)))]), 1, kind, GENERAL)
            if sense == ["B"] and n:
                note(name, np.array([not 0 < conditions[0][0] <= 1 + 1e-6]), 1, kind, GENERAL)
        for name in ("gges", "ggesx"):
            sense = [] if name == "gges" else ["B" if sort == "S" else "N"]
            s, t, left, right = a.copy(order="F"), b.copy(order="F"), zeros(kind, n), zeros(kind, n)
            w, beta, extra = _values(kind, 1, n), np.zeros(n, TYPES[kind]), conditions if sense else []
            info = call(kind, name, "V", "V", sort, of_pair if sort == "S" else None, *sense, n, s, ld, t, ld, sdim, *w,
                        beta, left, ld, right, ld, *extra)  # fmt: skip
            left, right = exact(left), exact(right)
            note(name, exact(a) @ right - left @ exact(s), norm(a) * max(n, 1), kind, PAIRS, info)
            note(name, exact(b) @ right - left @ exact(t), norm(b) * max(n, 1), kind, PAIRS)
            for side in (left, right):
                note(name, side.conj().T @ side - np.eye(n), max(n, 1), kind, PAIRS)
            first = (_complex(kind, w).real < 0).nonzero()[0] if sort == "S" else np.zeros(0)
            note(name, np.array([int(sdim[0]) - len(first), *(first - np.arange(len(first)))]), 1, kind, PAIRS)


def general(kind: str) -> None:
    """Eigenvectors from both sides, balanced and not, with their condition numbers; geev, geevx, ggev, ggevx."""
    for n, balance in product((0, 1, 2, 3, 5, 10, 20), "NB"):
        a, b, ld = matrix(kind, n, n), matrix(kind, n, n), max(n, 1)
        more = [np.zeros(1, np.int32), np.zeros(1, np.int32)]
        reals = lambda size, n=n: np.zeros(size, real_of(kind))  # noqa: E731
        for name in ("geev", "geevx"):
            w, left, right = _values(kind, 1, n), zeros(kind, n), zeros(kind, n)
            front = ["V", "V"] if name == "geev" else [balance, "V", "V", "B"]
            extra = [] if name == "geev" else [*more, reals(n), reals(1), reals(n), reals(n)]
            info = call(kind, name, *front, n, a.copy(order="F"), ld, *w, left, ld, right, ld, *extra)
            values = _complex(kind, w)
            u, v = (_vectors(kind, values, side) for side in (left, right))
            note(name, exact(a) @ v - v * values, norm(a) * max(n, 1), kind, GENERAL, info)
            note(name, exact(a).conj().T @ u - u * values.conj(), norm(a) * max(n, 1), kind, GENERAL)
            note(name, np.sqrt((abs(v) ** 2).sum(0)) - 1, max(n, 1), kind, GENERAL)
            if extra:
                angle = abs((u.conj() * v).sum(0))
                note(name, extra[4] - angle, max(n, 1), kind, GENERAL)
                note(name, extra[3] - norm(a) if balance == "N" else reals(1), max(norm(a) * n, 1), kind, GENERAL)
        for name in ("ggev", "ggevx"):
            w, beta, left, right = _values(kind, 1, n), np.zeros(n, TYPES[kind]), zeros(kind, n), zeros(kind, n)
            front = ["V", "V"] if name == "ggev" else [balance, "V", "V", "B"]
            extra = [] if name == "ggev" else [*more, reals(n), reals(n), reals(1), reals(1), reals(n), reals(n)]
            info = call(kind, name, *front, n, a.copy(order="F"), ld, b.copy(order="F"), ld, *w, beta, left, ld, right,
                        ld, *extra)  # fmt: skip
            alpha = _complex(kind, w)
            size = np.maximum(np.maximum(abs(alpha), abs(beta)), 1e-300)
            u, v = (_vectors(kind, alpha, side) for side in (left, right))
            scale = max(norm(a), norm(b)) * max(n, 1)
            residual = (exact(a) @ v * beta - exact(b) @ v * alpha) / size
            note(name, residual, scale * max(norm(v), 1), kind, PAIRS, info)
            residual = (exact(a).conj().T @ u * beta.conj() - exact(b).conj().T @ u * alpha.conj()) / size
            note(name, residual, scale * max(norm(u), 1), kind, PAIRS)
            largest = (abs(v.real) + abs(v.imag)).max(0, initial=0)
            note(name, largest - 1 if balance == "N" else largest * 0, 1, kind, PAIRS)


def squares(kind: str) -> None:
    """Least squares of full rank and of less, with constraints (gglse), and of a model (ggglm)."""
    for m, n, nrhs, lacks in product((1, 2, 5, 30), (1, 3, 10), (1, 2), (0, 1)):
        k = min(m, n)
        rank = max(k - lacks, 1)
        a = np.asfortranarray(matrix(kind, m, rank) @ matrix(kind, rank, n))
        b = np.zeros((max(m, n), nrhs), a.dtype, order="F")
        b[:m] = matrix(kind, m, nrhs)
        tolerance = 100 * np.finfo(a.dtype).eps
        least = np.linalg.pinv(a.astype(np.complex128), rcond=tolerance) @ b[:m]
        for name in ("gelsy", "gelss", "gelsd"):
            found, rank_found = b.copy(order="F"), np.zeros(1, np.int32)
            kept = np.zeros(n, np.int32) if name == "gelsy" else np.zeros(k, real_of(kind))
            info = call(kind, name, m, n, nrhs, a.copy(order="F"), m, found, max(m, n), kept, tolerance, rank_found)
            x = exact(found[:n])
            residual = exact(a).conj().T @ (exact(b[:m]) - exact(a) @ x)
            scale = norm(a) * max(norm(a) * norm(x), norm(b)) * max(m, n)
            note(name, residual, scale, kind, SQUARES, info)
            note(name, np.array([rank_found[0] - rank]), 1, kind, SQUARES)
            condition = norm(np.linalg.pinv(a.astype(np.complex128), rcond=tolerance)) * max(norm(a), 1)
            note(name, x - least, condition**2 * max(norm(least), norm(b)) * max(m, n), kind, SQUARES)  # the shortest
    for m, n, p in ((3, 2, 1), (5, 5, 2), (8, 6, 6), (10, 7, 3)):
        a, constraint, c, d = matrix(kind, m, n), matrix(kind, p, n), matrix(kind, m, 1)[:, 0], matrix(kind, p, 1)[:, 0]
        x = np.zeros(n, a.dtype)
        info = call(kind, "gglse", m, n, p, a.copy(order="F"), m, constraint.copy(order="F"), p, c.copy(), d.copy(), x)
        scale = max(norm(constraint) * abs(x).max(), 1) * max(m, n, p)
        note("gglse", exact(constraint) @ exact(x) - d, scale, kind, SQUARES, info)
        free = np.linalg.svd(constraint.astype(np.complex128))[2][p:]  # directions that the constraints leave
        gradient = free @ (exact(a).conj().T @ (exact(a) @ exact(x) - c)) if len(free) else np.zeros(1)
        note("gglse", gradient, norm(a) * max(norm(a) * abs(x).sum(), 1) * max(m, n, p), kind, SQUARES)
        a, b = matrix(kind, m, n), matrix(kind, m, m)
        d, x, y = matrix(kind, m, 1)[:, 0], np.zeros(n, a.dtype), np.zeros(m, a.dtype)
        info = call(kind, "ggglm", m, n, m, a.copy(order="F"), m, b.copy(order="F"), m, d.copy(), x, y)
        scale = max(norm(a) * abs(x).sum(), norm(b) * abs(y).sum(), 1) * max(m, n)
        note("ggglm", exact(d) - exact(a) @ exact(x) - exact(b) @ exact(y), scale, kind, SQUARES, info)
        weights = np.linalg.inv(b.astype(np.complex128))
        normal = (weights @ a).conj().T @ y  # the least y is orthogonal to what x can change
        note("ggglm", normal, max(norm(weights) * norm(a) * abs(y).sum(), 1) * max(m, n), kind, SQUARES)
