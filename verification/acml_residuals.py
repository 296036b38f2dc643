"""LAPACK's and BLAS' test ratios for routines by ACML's names, with the sizes and thresholds of netlib's test programs.

    python -m verification.acml_residuals

Sizes, increments, factors and thresholds: BLAS/TESTING/?blat3.in, TESTING/?test.in, sep.in and svd.in of the reference
LAPACK. A ratio is a residual by the size of the problem, the norms of its matrices, and the precision of the type, as
netlib's programs define it (LAPACK Working Note 41).
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np

from headwater import acml
from verification.acml_blas import matrix_vectors, products, vectors
from verification.acml_ratios import TYPES, band, count, exact, failures, matrix, norm, note, packed, triangle, worst

LINEAR, EIGEN, SINGULAR = 30.0, 60.0, 35.0
SIZES, RIGHT = (0, 1, 2, 3, 5, 10, 50), (1, 2, 15)


def check(kind: str, x: Any, name: str, whole: Any, *args: Any) -> None:
    """Solve for the right side of x; "A" and "B" of the arguments are copies of the matrix and the right side."""
    b = np.asfortranarray((exact(whole) @ exact(x)).astype(whole.dtype))
    found, factors = b.copy(order="F"), whole.copy(order="F")
    arrays = {"A": factors, "B": found}
    info = getattr(acml, kind + name)(*[arrays.get(v, v) if isinstance(v, str) else v for v in args])
    residual = exact(b) - exact(whole) @ exact(found)
    note(name, residual, norm(whole) * norm(found) * max(len(whole), 1), kind, LINEAR, info)


def solutions(kind: str) -> None:
    for n, nrhs, condition in product(SIZES, RIGHT, (2.0, 1e-1 / np.finfo(TYPES[kind]).eps)):
        a, x = matrix(kind, n, n, condition), matrix(kind, n, nrhs)
        hermitian = np.asfortranarray(a @ a.conj().T + np.eye(n, dtype=a.dtype) * np.finfo(a.dtype).eps * n)
        ld, pivots = max(n, 1), np.zeros(n, np.int32)

        check(kind, x, "gesv", a, n, nrhs, "A", ld, pivots, "B", ld)
        for uplo in "UL":
            if condition < 10:
                check(kind, x, "posv", hermitian, uplo, n, nrhs, "A", ld, "B", ld)
            check(kind, x, "sysv", triangle(a, uplo, False), uplo, n, nrhs, "A", ld, pivots, "B", ld)
            if kind in "cz":
                check(kind, x, "hesv", triangle(a, uplo, True), uplo, n, nrhs, "A", ld, pivots, "B", ld)


def factors(kind: str) -> None:
    call = lambda name, *args: getattr(acml, kind + name)(*args)  # noqa: E731
    for m, n in product(SIZES, SIZES):
        a, k, ld = matrix(kind, m, n), min(m, n), max(m, 1)
        lu, pivots = a.copy(order="F"), np.zeros(k, np.int32)
        info = call("getrf", m, n, lu, ld, pivots)
        rows = np.arange(m)
        for i, other in enumerate(pivots - 1):
            rows[[i, other]] = rows[[other, i]]
        made = exact(np.tril(lu[:, :k], -1) + np.eye(m, k, dtype=a.dtype)) @ exact(np.triu(lu[:k]))
        note("getrf", made - a[rows], norm(a) * max(n, 1), kind, LINEAR, info)
        qr, tau = a.copy(order="F"), np.zeros(k, a.dtype)
        info = call("geqrf", m, n, qr, ld, tau)
        q = qr[:, :k].copy(order="F")
        info = info or call("ungqr" if kind in "cz" else "orgqr", m, k, k, q, ld, tau)
        note("geqrf", exact(q.conj().T) @ exact(a) - np.triu(qr[:k]), norm(a) * max(m, 1), kind, LINEAR, info)
        note("geqrf", exact(q.conj().T) @ exact(q) - np.eye(k), max(m, 1), kind, LINEAR)


def spectra(kind: str) -> None:
    call = lambda name, *args: getattr(acml, kind + name)(*args)  # noqa: E731
    for n, uplo in product((0, 1, 2, 3, 5, 20), "UL"):
        a, ld = matrix(kind, n, n), max(n, 1)
        whole = triangle(a, uplo, True)
        for name in ("heev", "heevd") if kind in "cz" else ("syev", "syevd"):
            z, w = whole.copy(order="F"), np.zeros(n, a.real.dtype)
            info = call(name, "V", uplo, n, z, ld, w)
            note(name, exact(whole) @ exact(z) - exact(z) * w, norm(whole) * max(n, 1), kind, EIGEN, info)
            note(name, exact(z.conj().T) @ exact(z) - np.eye(n), max(n, 1), kind, EIGEN)
    rows, columns = (
        (0, 0, 1, 1, 2, 3, 10, 10, 16, 16, 30, 30, 40, 40),
        (1, 3, 1, 2, 1, 3, 10, 16, 10, 16, 30, 40, 30, 40),
    )
    for m, n in zip(rows, columns, strict=True):
        a, k = matrix(kind, m, n), min(m, n)
        for name, jobs in (("gesvd", ("A", "A")), ("gesdd", ("A",))):
            s, u = np.zeros(k, a.real.dtype), np.zeros((m, m), a.dtype, order="F")
            vt = np.zeros((n, n), a.dtype, order="F")
            info = call(name, *jobs, m, n, a.copy(order="F"), max(m, 1), s, u, max(m, 1), vt, max(n, 1))
            made = exact(u[:, :k]) * s @ exact(vt[:k])
            note(name, exact(a) - made, norm(a) * max(m, n, 1), kind, SINGULAR, info)


def least_squares(kind: str) -> None:
    """?drvls: systems with more rows than columns, and with fewer, of a matrix and of its adjoint."""
    adjoint = "C" if kind in "cz" else "T"
    for m, n, nrhs, trans in product((1, 2, 5, 50), (1, 3, 10), RIGHT, ("N", adjoint)):
        a = matrix(kind, m, n)
        whole = a if trans == "N" else a.conj().T
        rows, columns = whole.shape
        b = np.zeros((max(m, n), nrhs), a.dtype, order="F")
        b[:rows] = matrix(kind, rows, nrhs)
        found = b.copy(order="F")
        call = getattr(acml, kind + "gels")
        info = call(trans, m, n, nrhs, a.copy(order="F"), m, found, max(m, n))
        x = exact(found[:columns])
        residual = exact(b[:rows]) - exact(whole) @ x
        if rows >= columns:  # what is left is orthogonal to the columns
            residual = exact(whole.conj().T) @ residual
        note(
            "gels", residual, norm(whole) * max(norm(b), norm(x)) * max(m, n) * max(norm(whole), 1), kind, LINEAR, info
        )


def general_spectra(kind: str) -> None:
    """?drvev: eigenvectors from both sides, of length 1."""
    for n in (0, 1, 2, 3, 5, 10, 20):
        a, ld = matrix(kind, n, n), max(n, 1)
        left, right = (np.zeros((n, n), a.dtype, order="F") for _ in range(2))
        values = [np.zeros(n, a.dtype) for _ in range(1 if kind in "cz" else 2)]
        info = getattr(acml, kind + "geev")("V", "V", n, a.copy(order="F"), ld, *values, left, ld, right, ld)
        w = values[0] if kind in "cz" else values[0] + 1j * values[1]
        pairs = []
        for side in (left, right):
            made = side.astype(w.dtype)
            at = 0
            while kind in "sd" and at < n:
                if values[1][at]:
                    made[:, at] = side[:, at] + 1j * side[:, at + 1]
                    made[:, at + 1] = made[:, at].conj()
                    at += 1
                at += 1
            pairs.append(exact(made))
        u, v = pairs
        note("geev", exact(a) @ v - v * w, norm(a) * max(n, 1), kind, EIGEN, info)
        note("geev", exact(a).conj().T @ u - u * w.conj(), norm(a) * max(n, 1), kind, EIGEN, info)
        note("geev", np.sqrt((abs(v) ** 2).sum(0)) - 1, 1, kind, EIGEN)


def stored(kind: str) -> None:
    """Banded, tridiagonal and packed systems, plain drivers and expert ones (first factorizing, then with factors)."""
    for n, nrhs in product((1, 2, 5, 10, 50), RIGHT):
        systems(kind, n, nrhs)


def systems(kind: str, n: int, nrhs: int) -> None:
    """Those of n rows and so many right sides."""
    real = np.zeros(0, TYPES[kind]).real.dtype
    x, ld = matrix(kind, n, nrhs), n
    a = np.asfortranarray(matrix(kind, n, n) + 4 * np.eye(n, dtype=TYPES[kind]))
    hermitian = np.asfortranarray(a @ a.conj().T + n * np.eye(n, dtype=a.dtype))
    pivots = np.zeros(n, np.int32)

    def tail(b: Any) -> list[Any]:
        """The right side, the solution, rcond, ferr and berr of an expert driver."""
        n, nrhs = b.shape
        return [b, n, np.zeros_like(b), n, np.zeros(1, real), np.zeros(nrhs, real), np.zeros(nrhs, real)]

    def expert(name: str, whole: Any, make: Any, x: Any = x) -> None:
        """``make(fact, end)``: the arguments, with the factorization's arrays kept between two calls."""
        b = np.asfortranarray((exact(whole) @ exact(x)).astype(whole.dtype))
        for fact in "NF":
            end = tail(b.copy(order="F"))
            info = getattr(acml, kind + name)(*make(fact), *end)
            found, rcond, ferr, berr = end[2], end[4], end[5], end[6]
            scale = norm(whole) * norm(found) * len(whole)
            note(name, exact(b) - exact(whole) @ exact(found), scale, kind, LINEAR, info)
            note(name, berr, 1, kind, LINEAR)
            for at in range(found.shape[1]):  # the bound of the error holds
                error = abs(found[:, at] - x[:, at]).max() / abs(found[:, at]).max()
                note(name, np.array([max(0.0, error - 2 * ferr[at])]), 1, kind, LINEAR)
            wanted = 1 / (norm(whole) * norm(np.linalg.inv(whole.astype(np.complex128))))
            note(name, np.array([max(0.0, 0.1 - rcond[0] / wanted, 0.1 - wanted / rcond[0])]), 1, kind, LINEAR)

    for kl, ku in ((0, 0), (1, 0), (2, 1), (3, 4)):
        whole = np.tril(np.triu(a, -kl), ku)
        check(kind, x, "gbsv", whole, n, kl, ku, nrhs, band(whole, kl, ku, 2 * kl + ku + 1), 2 * kl + ku + 1,
              pivots, "B", ld)  # fmt: skip
        kept = [np.zeros((2 * kl + ku + 1, n), a.dtype, order="F"), 2 * kl + ku + 1, pivots, np.full(1, b"N"),
                np.zeros(n, real), np.zeros(n, real)]  # fmt: skip
        expert("gbsvx", whole, lambda fact, w=whole, p=kl, q=ku, k=kept: [
            fact, "N", n, p, q, nrhs, band(w, p, q, p + q + 1), p + q + 1, *k])  # fmt: skip
    kept = [np.zeros_like(a), ld, pivots, np.full(1, b"N"), np.zeros(n, real), np.zeros(n, real)]
    expert("gesvx", a, lambda fact, k=kept, a=a: [fact, "N", n, nrhs, a.copy(order="F"), ld, *k])
    whole = np.tril(np.triu(a, -1), 1)
    parts = [np.diag(whole, at).copy() for at in (-1, 0, 1)]
    check(kind, x, "gtsv", whole, n, nrhs, *(part.copy() for part in parts), "B", ld)
    kept = [np.zeros(max(n - 1, 0), a.dtype), np.zeros(n, a.dtype), np.zeros(max(n - 1, 0), a.dtype),
            np.zeros(max(n - 2, 0), a.dtype), pivots]  # fmt: skip
    expert("gtsvx", whole, lambda fact, k=kept, p=parts: [fact, "N", n, nrhs, *p, *k])
    whole = np.tril(np.triu(hermitian, -1), 1)
    parts = [np.diag(whole).real.copy(), np.diag(whole, -1).copy()]
    check(kind, x, "ptsv", whole, n, nrhs, *(part.copy() for part in parts), "B", ld)
    kept = [np.zeros(n, real), np.zeros(max(n - 1, 0), a.dtype)]
    expert("ptsvx", whole, lambda fact, k=kept, p=parts: [fact, n, nrhs, *p, *k])
    for uplo in "UL":
        for kd in (0, 1, 3):
            whole = np.tril(np.triu(hermitian, -kd), kd)
            whole = whole + n * np.eye(n, dtype=a.dtype) * norm(whole)
            below, above = (0, kd) if uplo == "U" else (kd, 0)
            ab = band(whole, below, above, kd + 1)
            check(kind, x, "pbsv", whole, uplo, n, kd, nrhs, ab.copy(order="F"), kd + 1, "B", ld)
            kept = [np.zeros_like(ab), kd + 1, np.full(1, b"N"), np.zeros(n, real)]
            expert("pbsvx", whole, lambda fact, k=kept, ab=ab, u=uplo, kd=kd: [
                fact, u, n, kd, nrhs, ab.copy(order="F"), kd + 1, *k])  # fmt: skip
        check(kind, x, "ppsv", hermitian, uplo, n, nrhs, packed(hermitian, uplo), "B", ld)
        ap = packed(hermitian, uplo)
        kept = [np.zeros_like(ap), np.full(1, b"N"), np.zeros(n, real)]
        expert("ppsvx", hermitian, lambda fact, k=kept, p=ap, u=uplo: [fact, u, n, nrhs, p.copy(), *k])
        kept = [np.zeros_like(a), ld, np.full(1, b"N"), np.zeros(n, real)]
        expert("posvx", hermitian, lambda fact, k=kept, h=hermitian, u=uplo: [
            fact, u, n, nrhs, h.copy(order="F"), ld, *k])  # fmt: skip
        for letters in ("sy", "he") if kind in "cz" else ("sy",):
            whole = np.asfortranarray(triangle(a, uplo, letters == "he"))
            flat = "sp" if letters == "sy" else "hp"
            check(kind, x, f"{flat}sv", whole, uplo, n, nrhs, packed(whole, uplo), pivots, "B", ld)
            ap = packed(whole, uplo)
            kept = [np.zeros_like(ap), pivots]
            expert(f"{flat}svx", whole, lambda fact, k=kept, p=ap, u=uplo: [fact, u, n, nrhs, p, *k])
            kept = [np.zeros_like(a), ld, pivots]
            expert(f"{letters}svx", whole, lambda fact, k=kept, w=whole, u=uplo: [fact, u, n, nrhs, w, ld, *k])


def main() -> int:
    for kind in "sdcz":
        for group in (vectors, matrix_vectors, products, solutions, stored, least_squares, factors, spectra,
                      general_spectra):  # fmt: skip
            group(kind)
    for name, ratio in sorted(worst.items()):
        print(f"{name:8} largest ratio {ratio:6.3f} of the threshold")
    print(*failures[:20], sep="\n")
    print(f"{sum(count.values())} ratios, {len(failures)} above their threshold or with an INFO")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
