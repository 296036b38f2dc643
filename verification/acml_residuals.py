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
from verification.acml_spectra import general, hermitian, schur, squares

LINEAR, SINGULAR = 30.0, 35.0
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


def mixed(kind: str) -> None:
    """?drvab and ?drvac: factors of single precision whose solutions are refined."""
    if kind not in "dz":
        return
    single = {"d": "s", "z": "c"}[kind]
    for n, nrhs in product(SIZES, RIGHT):
        a, x, ld = matrix(kind, n, n), matrix(kind, n, nrhs), max(n, 1)
        definite = np.asfortranarray(a @ a.conj().T + np.eye(n, dtype=a.dtype))
        for end, whole, front, pivots in (("gesv", a, (), (np.zeros(n, np.int32),)), ("posv", definite, ("L",), ())):
            b, found, turns = np.asfortranarray(whole @ x), np.zeros_like(x, order="F"), np.zeros(1, np.int32)
            name = single + end
            info = getattr(acml, kind + name)(
                *front, n, nrhs, whole.copy(order="F"), ld, *pivots, b, ld, found, ld, turns
            )
            residual = exact(b) - exact(whole) @ exact(found)
            note(name, residual, norm(whole) * norm(found) * max(n, 1) ** 0.5, kind, LINEAR, info or int(turns[0] < 0))


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


def singular_values(kind: str) -> None:
    call = lambda name, *args: getattr(acml, kind + name)(*args)  # noqa: E731
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

    def scaled(name: str, whole: Any, make: Any, store: Any, factors: list[Any]) -> None:
        """FACT = E of a matrix whose rows (and columns) differ by powers of 10: solved, and again with its factors.

        ``make(fact, array)``: the arguments before the right side, ``array`` being the matrix as ``store`` holds it.
        ``factors``: r and c, or s alone.
        """
        sizes = 10.0 ** np.linspace(-4, 4, n)
        whole = np.asfortranarray((whole * sizes[:, None] * (sizes if len(factors) == 1 else 1)).astype(whole.dtype))
        b = np.asfortranarray((exact(whole) @ exact(x)).astype(whole.dtype))
        array = store(whole).copy(order="F")
        first = np.zeros_like(x)
        for fact in "EF":
            end = tail(b.copy(order="F"))
            arguments = make(fact, array)
            info = getattr(acml, kind + name)(*arguments, *end)
            found = end[2]
            equed = next(a for a in arguments if isinstance(a, np.ndarray) and a.dtype.kind == "S")[0].decode()
            rows, columns = (factors * 2)[:2] if len(factors) == 1 else factors
            rows = rows if equed in "RBY" else np.ones(n, real)
            columns = columns if equed in "CBY" else np.ones(n, real)
            inner = exact(whole) * rows[:, None] * columns
            solution = exact(found) / columns[:, None]
            scale = norm(inner) * norm(solution) * n
            note(name, exact(b) * rows[:, None] - inner @ solution, scale, kind, LINEAR, info)
            note(name, (store(inner.astype(whole.dtype)) - array), norm(inner), kind, LINEAR)  # A is scaled
            note(name, np.array([equed == "N" and n > 1]), 1, kind, LINEAR)
            first = found if fact == "E" else first
            note(name, found - first, max(norm(first), 1e-300), kind, LINEAR)

    for kl, ku in ((0, 0), (1, 0), (2, 1), (3, 4)):
        whole = np.tril(np.triu(a, -kl), ku)
        check(kind, x, "gbsv", whole, n, kl, ku, nrhs, band(whole, kl, ku, 2 * kl + ku + 1), 2 * kl + ku + 1,
              pivots, "B", ld)  # fmt: skip
        kept = [np.zeros((2 * kl + ku + 1, n), a.dtype, order="F"), 2 * kl + ku + 1, pivots, np.full(1, b"N"),
                np.zeros(n, real), np.zeros(n, real)]  # fmt: skip
        expert("gbsvx", whole, lambda fact, w=whole, p=kl, q=ku, k=kept: [
            fact, "N", n, p, q, nrhs, band(w, p, q, p + q + 1), p + q + 1, *k])  # fmt: skip
        scaled("gbsvx", whole, lambda fact, ab, p=kl, q=ku, k=kept: [fact, "N", n, p, q, nrhs, ab, p + q + 1, *k],
               lambda w, p=kl, q=ku: band(w, p, q, p + q + 1), kept[-2:])  # fmt: skip
    kept = [np.zeros_like(a), ld, pivots, np.full(1, b"N"), np.zeros(n, real), np.zeros(n, real)]
    expert("gesvx", a, lambda fact, k=kept, a=a: [fact, "N", n, nrhs, a.copy(order="F"), ld, *k])
    scaled("gesvx", a, lambda fact, a, k=kept: [fact, "N", n, nrhs, a, ld, *k], np.asfortranarray, kept[-2:])
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
            scaled("pbsvx", whole, lambda fact, ab, k=kept, u=uplo, kd=kd: [fact, u, n, kd, nrhs, ab, kd + 1, *k],
                   lambda w, p=below, q=above, rows=kd + 1: band(w, p, q, rows), kept[-1:])  # fmt: skip
        check(kind, x, "ppsv", hermitian, uplo, n, nrhs, packed(hermitian, uplo), "B", ld)
        ap = packed(hermitian, uplo)
        kept = [np.zeros_like(ap), np.full(1, b"N"), np.zeros(n, real)]
        expert("ppsvx", hermitian, lambda fact, k=kept, p=ap, u=uplo: [fact, u, n, nrhs, p.copy(), *k])
        scaled("ppsvx", hermitian, lambda fact, ap, k=kept, u=uplo: [fact, u, n, nrhs, ap, *k],
               lambda w, u=uplo: packed(w, u), kept[-1:])  # fmt: skip
        kept = [np.zeros_like(a), ld, np.full(1, b"N"), np.zeros(n, real)]
        expert("posvx", hermitian, lambda fact, k=kept, h=hermitian, u=uplo: [
            fact, u, n, nrhs, h.copy(order="F"), ld, *k])  # fmt: skip
        scaled("posvx", hermitian, lambda fact, a, k=kept, u=uplo: [fact, u, n, nrhs, a, ld, *k],
               lambda w, u=uplo: np.asfortranarray(np.triu(w) if u == "U" else np.tril(w)), kept[-1:])  # fmt: skip
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
        for group in (vectors, matrix_vectors, products, solutions, mixed, stored, least_squares, factors,
                      singular_values, hermitian, general, schur, squares):  # fmt: skip
            group(kind)
    for name, ratio in sorted(worst.items()):
        print(f"{name:8} largest ratio {ratio:6.3f} of the threshold")
    print(*failures[:20], sep="\n")
    print(f"{sum(count.values())} ratios, {len(failures)} above their threshold or with an INFO")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
