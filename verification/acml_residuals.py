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

TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
LINEAR, EIGEN, SINGULAR, BLAS = 30.0, 60.0, 35.0, 16.0
SIZES, RIGHT = (0, 1, 2, 3, 5, 10, 50), (1, 2, 15)
rng = np.random.default_rng(0)
worst: dict[str, float] = {}
failures: list[str] = []
count = 0


def matrix(kind: str, m: int, n: int, condition: float = 2.0) -> Any:
    """A random matrix of that condition number and of norm 1."""
    made = rng.standard_normal((m, n)) + (1j * rng.standard_normal((m, n)) if kind in "cz" else 0)
    if m and n:
        u, s, vt = np.linalg.svd(made, full_matrices=False)
        made = u * np.geomspace(1, 1 / condition, len(s)) @ vt
    return np.asfortranarray(made.astype(TYPES[kind]))


def norm(a: Any) -> float:
    return float(np.abs(a).sum(0).max(initial=0))


def note(name: str, residual: Any, scale: float, kind: str, threshold: float, info: int | None = 0) -> None:
    global count
    ratio = norm(np.atleast_2d(residual)) / max(scale * np.finfo(TYPES[kind]).eps / 2, 1e-300) if residual.size else 0.0
    worst[name] = max(worst.get(name, 0.0), ratio / threshold)
    count += 1
    if info or not ratio < threshold:
        failures.append(f"{kind}{name}: ratio {ratio:.3g} of {threshold}, INFO {info}")


def exact(a: Any) -> Any:
    return a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble)


def triangle(a: Any, uplo: str, hermitian: bool) -> Any:
    half = np.triu(a, 1) if uplo == "U" else np.tril(a, -1)
    diagonal = np.diag(np.diag(a).real if hermitian else np.diag(a))
    return half + diagonal + (half.conj() if hermitian else half).T


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


def products(kind: str) -> None:
    call = lambda name, *args: getattr(acml, kind + name)(*args)  # noqa: E731
    op = {"N": lambda a: a, "T": lambda a: a.T, "C": lambda a: a.conj().T}
    for m, n, k, ta, tb in product((0, 1, 2, 3, 5, 9), (0, 1, 3, 9), (0, 1, 2, 9), "NTC", "NTC"):
        for alpha, beta in product((0.0, 1.0, 0.7), (0.0, 1.0, 1.3)):
            a, b = matrix(kind, *((m, k) if ta == "N" else (k, m))), matrix(kind, *((k, n) if tb == "N" else (n, k)))
            c = matrix(kind, m, n)
            wanted = alpha * op[ta](exact(a)) @ op[tb](exact(b)) + beta * exact(c)
            gauge = abs(alpha) * op[ta](abs(exact(a))) @ op[tb](abs(exact(b))) + abs(beta) * abs(exact(c))
            call("gemm", ta, tb, m, n, k, alpha, a, max(len(a), 1), b, max(len(b), 1), beta, c, max(m, 1))
            note(
                "gemm",
                (abs(wanted - c) / np.maximum(gauge, 1e-30)).reshape(-1)[:, None].max(0, initial=0),
                2,
                kind,
                BLAS,
            )


def main() -> int:
    for kind in "sdcz":
        for group in (products, solutions, factors, spectra):
            group(kind)
    for name, ratio in sorted(worst.items()):
        print(f"{name:8} largest ratio {ratio:6.3f} of the threshold")
    print(*failures[:20], sep="\n")
    print(f"{count} ratios, {len(failures)} above their threshold or with an INFO")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
