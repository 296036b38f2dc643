"""Test ratios of BLAS by ACML's names, with sizes, increments and factors as netlib's ?blat1, ?blat2 and ?blat3 have.

Each result is compared with one of long doubles; an element's scale is the same sum of absolute values.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from headwater import acml
from verification.acml_ratios import TYPES, band, exact, matrix, note, packed

BLAS = 16.0
OP: Any = {"N": lambda a: a, "T": lambda a: a.T, "C": lambda a: a.conj().T}
FACTORS = (0.0, 1.0, 0.7)


def compare(kind: str, name: str, found: Any, wanted: Any, gauge: Any) -> None:
    """The largest error of an element by its scale; an element whose scale is 0 has to be right."""
    parts = abs(exact(np.atleast_1d(found)) - wanted) / np.maximum(gauge, np.finfo(TYPES[kind]).tiny)
    note(name, np.array([parts.max(initial=0)]), 2, kind, BLAS)


def spaced(x: Any, step: int) -> Any:
    """A vector's memory with an increment; a negative one begins at the end."""
    made = np.full(max((len(x) - 1) * abs(step) + 1, 0) if len(x) else 0, 7, x.dtype)
    made[:: abs(step)] = x if step > 0 else x[::-1]
    return made


def read(memory: Any, n: int, step: int) -> Any:
    """The vector in such memory."""
    found = memory[:: abs(step)][:n]
    return found if step > 0 else found[::-1]


def vectors(kind: str) -> None:
    """BLAS 1."""
    real = kind in "sd"
    for n, incx, incy in product((0, 1, 2, 4, 9), (1, 2, -2), (1, -1, 3)):
        x, y = (matrix(kind, n, 1)[:, 0] for _ in range(2))
        p, q, alpha = exact(x), exact(y), 0.7

        def call(name: str, *args: Any) -> Any:
            return getattr(acml, name)(*args)

        memory = spaced(y, incy)
        call(f"{kind}axpy", n, alpha, spaced(x, incx), incx, memory, incy)
        factor = exact(np.array(alpha, TYPES[kind]))
        compare(kind, "axpy", read(memory, n, incy), factor * p + q, abs(factor * p) + abs(q))
        for name, first in (("dot", p),) if real else (("dotu", p), ("dotc", p.conj())):
            found = call(kind + name, n, spaced(x, incx), incx, spaced(y, incy), incy)
            compare(kind, name, np.array(found), (first * q).sum(), abs(p * q).sum() * max(n, 1))
        for name in ("copy", "swap"):
            left, right = spaced(x, incx), spaced(y, incy)
            call(kind + name, n, left, incx, right, incy)
            compare(kind, name, read(right, n, incy), p, 0 * abs(p))
            compare(kind, name, read(left, n, incx), q if name == "swap" else p, 0 * abs(p))
        left, right = spaced(x, incx), spaced(y, incy)
        c, s = 0.6, 0.8
        call({"c": "csrot", "z": "zdrot"}.get(kind, f"{kind}rot"), n, left, incx, right, incy, c, s)
        c, s = (exact(np.array(value, TYPES[kind]).real) for value in (c, s))
        compare(kind, "rot", read(left, n, incx), c * p + s * q, abs(c * p) + abs(s * q))
        compare(kind, "rot", read(right, n, incy), c * q - s * p, abs(c * q) + abs(s * p))
        if incx > 0:
            memory = spaced(x, incx)
            call(f"{kind}scal", n, alpha, memory, incx)
            compare(kind, "scal", read(memory, n, incx), factor * p, abs(factor * p))
            prefix = {"c": "sc", "z": "dz"}.get(kind, kind)
            found = np.array(call(f"{prefix}nrm2", n, spaced(x, incx), incx))
            size = np.sqrt((abs(p) ** 2).sum())
            compare(kind, "nrm2", found, size, size * max(n, 1))
            ones = (abs(p.real) + abs(p.imag)).sum()
            compare(kind, "asum", np.array(call(f"{prefix}asum", n, spaced(x, incx), incx)), ones, ones * max(n, 1))
            largest = int((abs(x.real) + abs(x.imag)).argmax()) + 1 if n else 0
            compare(kind, "amax", np.array(call(f"i{kind}amax", n, spaced(x, incx), incx), float), largest, 0)


def matrix_vectors(kind: str) -> None:
    """BLAS 2."""
    complex_ = kind in "cz"

    def call(name: str, *args: Any) -> Any:
        return getattr(acml, kind + name)(*args)

    def close(name: str, y: Any, alpha: Any, a: Any, x: Any, beta: Any) -> Any:
        """What alpha a x + beta y is compared by."""
        wanted = alpha * exact(a) @ exact(x) + beta * exact(y)
        return wanted, abs(alpha) * abs(exact(a)) @ abs(exact(x)) + abs(beta) * abs(exact(y))

    def number(value: float) -> Any:
        return exact(np.array(value, TYPES[kind]))[()]

    for m, n, (incx, incy), alpha, beta in product(
        (0, 1, 3, 9), (0, 2, 5), ((1, 1), (2, -1), (-2, 3)), FACTORS, (0.0, 1.0, 1.3)
    ):
        for trans in "NTC":
            a = matrix(kind, m, n)
            rows, columns = (m, n) if trans == "N" else (n, m)
            x, y = matrix(kind, columns, 1)[:, 0], matrix(kind, rows, 1)[:, 0]
            for name, kl, ku in (("gemv", m, n), ("gbmv", 1, 2)):
                whole = np.triu(np.tril(a, ku), -kl)
                memory = spaced(y, incy)
                form = (a, max(m, 1)) if name == "gemv" else (kl, ku, band(whole, kl, ku, kl + ku + 1), kl + ku + 1)
                call(name, trans, m, n, *(form[:-2]), alpha, *form[-2:], spaced(x, incx), incx, beta, memory, incy)
                if m and n:
                    wanted, gauge = close(name, y, number(alpha), OP[trans](whole), x, number(beta))
                    compare(kind, name, read(memory, rows, incy), wanted, gauge * (columns + 1))
        x, y, a = matrix(kind, m, 1)[:, 0], matrix(kind, n, 1)[:, 0], matrix(kind, m, n)
        for name, right in (("geru", y), ("gerc", y.conj())) if complex_ else (("ger", y),):
            out = a.copy(order="F")
            call(name, m, n, alpha, spaced(x, incx), incx, spaced(y, incy), incy, out, max(m, 1))
            made = number(alpha) * np.outer(exact(x), exact(right))
            compare(kind, name, out, made + exact(a), abs(made) + abs(exact(a)))
    for n, uplo, (incx, incy), alpha, beta in product(
        (0, 1, 2, 5, 9), "UL", ((1, 1), (2, -1), (-2, 3)), FACTORS, (0.0, 1.3)
    ):
        full = matrix(kind, n, n)
        kd = min(2, max(n - 1, 0))
        whole = np.triu(full) if uplo == "U" else np.tril(full)
        diagonal = np.diag(np.diag(full).real if complex_ else np.diag(full)).astype(full.dtype)
        off = whole - np.diag(np.diag(whole))
        hermitian = np.asfortranarray(off + diagonal + off.conj().T)
        banded = np.triu(np.tril(hermitian, kd), -kd)
        sides = (0, kd) if uplo == "U" else (kd, 0)
        x, y = (matrix(kind, n, 1)[:, 0] for _ in range(2))
        for name, form, what in (
            ("hemv" if complex_ else "symv", (hermitian, max(n, 1)), hermitian),
            ("hpmv" if complex_ else "spmv", (packed(hermitian, uplo),), hermitian),
            ("hbmv" if complex_ else "sbmv", (band(banded, *sides, kd + 1), kd + 1), banded),
        ):
            memory = spaced(y, incy)
            before = (kd,) if name[1] == "b" else ()
            call(name, uplo, n, *before, alpha, *form, spaced(x, incx), incx, beta, memory, incy)
            wanted, gauge = close(name, y, number(alpha), what, x, number(beta))
            compare(kind, name, read(memory, n, incy), wanted, gauge * (n + 1))
        p, q = exact(x), exact(y)
        first = number(alpha) * np.outer(p, p.conj())
        second = number(alpha) * (np.outer(p, q.conj()) + np.outer(q, p.conj()))
        mask = (np.triu if uplo == "U" else np.tril)(np.ones((n, n), bool))
        for name, made in (("her", first), ("her2", second)) if complex_ else (("syr", first), ("syr2", second)):
            vectors_ = (spaced(x, incx), incx) + ((spaced(y, incy), incy) if name.endswith("2") else ())
            out, flat = hermitian.copy(order="F"), packed(hermitian, uplo)
            call(name, uplo, n, alpha, *vectors_, out, max(n, 1))
            call(name.replace("sy", "sp").replace("he", "hp"), uplo, n, alpha, *vectors_, flat)
            wanted, gauge = exact(hermitian) + made, 4 * (abs(made) + abs(exact(hermitian)))
            compare(kind, name, out[mask], wanted[mask], gauge[mask])
            compare(kind, name, flat, packed(wanted, uplo), packed(gauge, uplo))
        for trans, diag in product("NTC", "NU"):
            triangle_ = whole + (n + 1) * np.eye(n, dtype=whole.dtype)
            unit = triangle_ - np.diag(np.diag(triangle_)) + np.eye(n) if diag == "U" else triangle_
            close_band = np.triu(np.tril(unit, kd), -kd)
            for name, form, what in (
                ("tr", (triangle_.copy(order="F"), max(n, 1)), unit),
                ("tp", (packed(triangle_, uplo),), unit),
                ("tb", (band(np.triu(np.tril(triangle_, kd), -kd), *sides, kd + 1), kd + 1), close_band),
            ):
                before = (kd,) if name == "tb" else ()
                memory = spaced(x, incx)
                call(f"{name}mv", uplo, trans, diag, n, *before, *form, memory, incx)
                wanted, gauge = close(name, x, 1, OP[trans](what.astype(whole.dtype)), x, 0)
                compare(kind, f"{name}mv", read(memory, n, incx), wanted, gauge * (n + 1))
                call(f"{name}sv", uplo, trans, diag, n, *before, *form, memory, incx)  # and back
                inverse = abs(np.linalg.inv(OP[trans](what.astype(complex)))) if n else np.zeros((0, 0))
                compare(kind, f"{name}sv", read(memory, n, incx), p, inverse @ gauge * (2 * n + 2))


def products(kind: str) -> None:
    """BLAS 3."""
    complex_ = kind in "cz"

    def call(name: str, *args: Any) -> Any:
        return getattr(acml, kind + name)(*args)

    def number(value: float) -> Any:
        return exact(np.array(value, TYPES[kind]))[()]

    for m, n, k, ta, tb in product((0, 1, 2, 3, 5, 9), (0, 1, 3, 9), (0, 1, 2, 9), "NTC", "NTC"):
        for alpha, beta in product(FACTORS, (0.0, 1.0, 1.3)):
            a, b = matrix(kind, *((m, k) if ta == "N" else (k, m))), matrix(kind, *((k, n) if tb == "N" else (n, k)))
            c = matrix(kind, m, n)
            wanted = number(alpha) * OP[ta](exact(a)) @ OP[tb](exact(b)) + number(beta) * exact(c)
            gauge = abs(alpha) * OP[ta](abs(exact(a))) @ OP[tb](abs(exact(b))) + abs(beta) * abs(exact(c))
            call("gemm", ta, tb, m, n, k, alpha, a, max(len(a), 1), b, max(len(b), 1), beta, c, max(m, 1))
            compare(kind, "gemm", c, wanted, gauge)
    for m, n, side, uplo, alpha in product((0, 1, 3, 9), (0, 2, 5), "LR", "UL", FACTORS):
        size = m if side == "L" else n
        full, b, c = matrix(kind, size, size), matrix(kind, m, n), matrix(kind, m, n)
        half = np.triu(full) if uplo == "U" else np.tril(full)
        strict = half - np.diag(np.diag(half))
        for name in ("symm", "hemm") if complex_ else ("symm",):
            diagonal = np.diag(np.diag(half).real if name == "hemm" else np.diag(half))
            whole = exact(strict + (strict.conj() if name == "hemm" else strict).T + diagonal)
            out = c.copy(order="F")
            call(name, side, uplo, m, n, alpha, half.copy(order="F"), max(size, 1), b, max(m, 1), 1.3, out, max(m, 1))
            made = whole @ exact(b) if side == "L" else exact(b) @ whole
            sums = abs(whole) @ abs(exact(b)) if side == "L" else abs(exact(b)) @ abs(whole)
            wanted = number(alpha) * made + number(1.3) * exact(c)
            compare(kind, name, out, wanted, (abs(alpha) * sums + 1.3 * abs(exact(c))) * 2)
        for trans, diag in product("NTC", "NU"):
            safe = np.asfortranarray(half + (size + 1) * np.eye(size, dtype=half.dtype))
            what = safe - np.diag(np.diag(safe)) + np.eye(size) if diag == "U" else safe
            factor = OP[trans](exact(what.astype(half.dtype)))
            out = b.copy(order="F")
            args = side, uplo, trans, diag, m, n
            call("trmm", *args, alpha, safe, max(size, 1), out, max(m, 1))
            made = factor @ exact(b) if side == "L" else exact(b) @ factor
            sums = abs(factor) @ abs(exact(b)) if side == "L" else abs(exact(b)) @ abs(factor)
            compare(kind, "trmm", out, number(alpha) * made, 2 * abs(alpha) * sums)
            if alpha:
                call("trsm", *args, 1.0, safe, max(size, 1), out, max(m, 1))
                inverse = abs(np.linalg.inv(factor.astype(complex))) if size else np.zeros((0, 0))
                gauge = inverse @ (abs(alpha) * sums) if side == "L" else (abs(alpha) * sums) @ inverse
                compare(kind, "trsm", out, number(alpha) * exact(b), gauge * (2 * size + 2))
    for n, k, uplo, alpha, beta in product((0, 1, 3, 9), (0, 2, 9), "UL", FACTORS, (0.0, 1.3)):
        mask = (np.triu if uplo == "U" else np.tril)(np.ones((n, n), bool))
        for family, adjoint in (("sy", "T"), ("he", "C")) if complex_ else (("sy", "T"),):
            for trans in ("N", adjoint):
                a, b = (matrix(kind, *((n, k) if trans == "N" else (k, n))) for _ in range(2))
                c = matrix(kind, n, n)
                if family == "he":
                    c = np.asfortranarray(c + c.conj().T)
                p, q = (exact(value) if trans == "N" else OP[adjoint](exact(value)) for value in (a, b))
                lda = max(len(a), 1)
                for name, made, sums in (
                    (f"{family}rk", p @ OP[adjoint](p), abs(p) @ abs(p).T),
                    (
                        f"{family}r2k",
                        p @ OP[adjoint](q) + q @ OP[adjoint](p),
                        2 * abs(p) @ abs(q).T + 2 * abs(q) @ abs(p).T,
                    ),
                ):
                    out = c.copy(order="F")
                    second = (b, lda) if name.endswith("2k") else ()
                    call(name, uplo, trans, n, k, alpha, a, lda, *second, beta, out, max(n, 1))
                    wanted = number(alpha) * made + number(beta) * exact(c)
                    gauge = abs(alpha) * sums + abs(beta) * abs(exact(c))
                    compare(kind, name, out[mask], wanted[mask], 2 * gauge[mask])
