"""Test ratios of linear algebra: a residual and its scale in; the worst ratio of each routine kept.

A ratio is a residual by the size of the problem, the norms of its matrices, and the precision of the type, as
netlib's programs define it (LAPACK Working Note 41).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
rng = np.random.default_rng(0)
worst: dict[str, float] = {}
failures: list[str] = []
count: Counter[str] = Counter()


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
    ratio = norm(np.atleast_2d(residual)) / max(scale * np.finfo(TYPES[kind]).eps / 2, 1e-300) if residual.size else 0.0
    worst[name] = max(worst.get(name, 0.0), ratio / threshold)
    count[name] += 1
    if info or not ratio < threshold:
        failures.append(f"{kind}{name}: ratio {ratio:.3g} of {threshold}, INFO {info}")


def exact(a: Any) -> Any:
    return a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble)


def triangle(a: Any, uplo: str, hermitian: bool) -> Any:
    half = np.triu(a, 1) if uplo == "U" else np.tril(a, -1)
    diagonal = np.diag(np.diag(a).real if hermitian else np.diag(a))
    return half + diagonal + (half.conj() if hermitian else half).T


def band(a: Any, kl: int, ku: int, rows: int) -> Any:
    """A matrix in LAPACK's band storage, ``rows`` - kl - ku - 1 free rows first."""
    n = a.shape[1]
    found = np.zeros((rows, n), a.dtype, order="F")
    for j in range(n):
        for i in range(max(0, j - ku), min(len(a), j + kl + 1)):
            found[rows - 1 - kl + i - j, j] = a[i, j]
    return found


def packed(a: Any, uplo: str) -> Any:
    """One triangle by columns."""
    n = len(a)
    columns = [a[: j + 1, j] if uplo == "U" else a[j:, j] for j in range(n)]
    return np.concatenate([*columns, np.zeros(1, a.dtype)])[: n * (n + 1) // 2].copy()
