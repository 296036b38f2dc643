"""BLAS and LAPACK under ACML's names: results against NumPy, and what wrong arguments give."""

import ctypes
import gc
import inspect
import pickle
import weakref

import numpy as np
import pytest

pytest.importorskip("scipy")
from headwater import acml
from headwater.acml import native, quick, routines
from headwater.errors import UsageError

TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


def matrix(kind, rows, columns, seed=0):
    """Random numbers in Fortran's order."""
    rng = np.random.default_rng([seed, rows, columns])
    made = rng.standard_normal((rows, columns))
    if kind in "cz":
        made = made + 1j * rng.standard_normal((rows, columns))
    return np.asfortranarray(made.astype(TYPES[kind]))


def close(kind, found, wanted, times=200):
    """Whether results agree to a few roundings of sums of the size that occurs here."""
    eps = np.finfo(TYPES[kind]).eps
    return np.abs(found - wanted).max(initial=0) <= times * eps * max(1, np.abs(wanted).max(initial=0))


def op(array, letter):
    return {"N": array, "T": array.T, "C": array.conj().T}[letter]


def symmetric(a, uplo, hermitian=False):
    half = np.triu(a, 1) if uplo == "U" else np.tril(a, -1)
    diagonal = np.diag(np.diag(a).real if hermitian else np.diag(a))
    return half + diagonal + (half.conj() if hermitian else half).T


def test_usual_calls_are_compiled_and_others_general(monkeypatch):
    if quick.library() is None:
        pytest.skip("without a compiler, or on another Python, all calls are general")
    assert type(acml.dgemm) is type(len)
    assert pickle.loads(pickle.dumps(acml.dgemm)) == acml.dgemm
    assert str(inspect.signature(acml.dscal)) == "(n, alpha, x, incx)"
    routine, calls = native.routine("dgesvd"), []
    monkeypatch.setattr(routine, "_prepare", lambda args: calls.append(args) or routine._pointers(*args))
    a, s, u, vt = matrix("d", 3, 3), np.zeros(3), np.zeros((3, 3), order="F"), np.zeros((3, 3), order="F")
    wanted = a.copy()
    assert acml.dgesvd("A", "A", 3, 3, a, 3, s, u, 3, vt, 3) == 0  # asks for its workspace
    assert close("d", u @ np.diag(s) @ vt, wanted)
    assert not calls


def test_every_row_of_the_tables_has_its_routine_in_scipy():
    for name in routines.rows():
        made = native.routine(name)
        assert made.load() is not None
        parameters = made.row.parameters
        assert [p.position for p in parameters] == list(range(1, len(parameters) + 1))
        capsule = __import__(f"scipy.linalg.cython_{made.row.library}", fromlist=["x"]).__pyx_capi__[name]
        declared = str(capsule).split("(", 1)[1].rsplit(")", 1)[0].split(",")
        assert len(declared) == len(parameters) + made.row.info, name
        for text, p in zip(
            declared, parameters, strict=False
        ):  # ints, characters and numbers are where the row has them
            is_int = p.kind in ("int", "any", "leading", "increment", "size") or p.type == "i" or p.letters.isdigit()
            is_char = (p.kind == "flag" and not p.letters.isdigit()) or p.type == "b"
            assert ("int *" in text) == is_int or p.name == "bwork" or p.takes, (name, p.name, text)
            assert ("char *" in text) == is_char, (name, p.name, text)


@pytest.mark.parametrize("kind", "sdcz")
@pytest.mark.parametrize("ta", "NTC")
@pytest.mark.parametrize("tb", "NTC")
def test_gemm(kind, ta, tb):
    m, n, k = 5, 7, 3
    a, b, c = (
        matrix(kind, *((m, k) if ta == "N" else (k, m))),
        matrix(kind, *((k, n) if tb == "N" else (n, k))),
        matrix(kind, m, n),
    )
    alpha, beta = (0.5 - 2j, 1 + 1j) if kind in "cz" else (0.5, -2.0)
    wanted = alpha * op(a, ta) @ op(b, tb) + beta * c
    getattr(acml, f"{kind}gemm")(ta, tb, m, n, k, alpha, a, a.shape[0], b, b.shape[0], beta, c, m)
    assert close(kind, c, wanted)


@pytest.mark.parametrize("kind", "sdcz")
def test_gemm_of_parts_of_larger_arrays(kind):
    whole_a, whole_b, whole_c = (matrix(kind, 20, 20, seed) for seed in range(3))
    before = whole_c.copy()
    a, b, c = whole_a[2:7, 3:6], whole_b[1:4, 5:12], whole_c[4:9, 6:13]
    wanted = a @ b
    getattr(acml, f"{kind}gemm")("n", "n", 5, 7, 3, 1.0, a, 20, b, 20, 0.0, c, 20)
    assert close(kind, c, wanted)
    before[4:9, 6:13] = c
    assert (before == whole_c).all()


@pytest.mark.parametrize("kind", "sdcz")
@pytest.mark.parametrize("incx", [1, 2, -3])
def test_vectors_with_increments(kind, incx):
    n, step = 4, abs(incx)
    x, y = matrix(kind, 12, 1).ravel(), matrix(kind, 12, 1, 1).ravel()
    used = x[: (n - 1) * step + 1 : step][:: 1 if incx > 0 else -1]
    wanted = 2 * used + y[:n]
    getattr(acml, f"{kind}axpy")(n, 2.0, x, incx, y, 1)
    assert close(kind, y[:n], wanted)
    dots = {"s": ("sdot",), "d": ("ddot",), "c": ("cdotu", "cdotc"), "z": ("zdotu", "zdotc")}[kind]
    for name in dots:
        first = used.conj() if name.endswith("c") else used
        assert close(kind, getattr(acml, name)(n, x, incx, y, 1), first @ y[:n])
    assert not getattr(acml, dots[0])(0, x, incx, y, 1)
    norm = getattr(acml, {"s": "snrm2", "d": "dnrm2", "c": "scnrm2", "z": "dznrm2"}[kind])
    assert close(
        kind,
        norm(
            n,
            x,
            step,
        ),
        np.linalg.norm(used),
    )
    largest = getattr(acml, f"i{kind}amax")(n, x, step)
    parts = np.abs(used.real) + np.abs(used.imag)
    assert parts[:: 1 if incx > 0 else -1][largest - 1] == parts.max()


@pytest.mark.parametrize("kind", "sdcz")
@pytest.mark.parametrize("uplo", "UL")
def test_symmetric_and_triangular_products(kind, uplo):
    m, n = 5, 4
    a, b, c = matrix(kind, m, m), matrix(kind, m, n), matrix(kind, m, n, 3)
    full, before = symmetric(a, uplo), c.copy()
    getattr(acml, f"{kind}symm")("L", uplo, m, n, 1.0, a, m, b, m, 2.0, c, m)
    assert close(kind, c, full @ b + 2 * before)
    if kind in "cz":
        getattr(acml, f"{kind}hemm")("L", uplo, m, n, 1.0, a, m, b, m, 0.0, c, m)
        assert close(kind, c, symmetric(a, uplo, hermitian=True) @ b)
        made = np.asfortranarray(np.zeros((m, m), TYPES[kind]))
        getattr(acml, f"{kind}herk")(uplo, "N", m, n, 1.0, b, m, 0.0, made, m)
        assert close(kind, symmetric(made, uplo, hermitian=True), b @ b.conj().T)
    made = np.asfortranarray(np.zeros((m, m), TYPES[kind]))
    getattr(acml, f"{kind}syrk")(uplo, "N", m, n, 1.0, b, m, 0.0, made, m)
    assert close(kind, symmetric(made, uplo), b @ b.T)
    triangle = np.triu(a) if uplo == "U" else np.tril(a)
    triangle = np.asfortranarray(triangle + 4 * np.eye(m)).astype(TYPES[kind], order="F")
    solved = b.copy(order="F")
    getattr(acml, f"{kind}trsm")("L", uplo, "N", "N", m, n, 1.0, triangle, m, solved, m)
    assert close(kind, triangle @ solved, b)
    getattr(acml, f"{kind}trmm")("L", uplo, "N", "N", m, n, 1.0, triangle, m, solved, m)
    assert close(kind, solved, b)
    x, y = b[:, 0].copy(), c[:, 0].copy()
    getattr(acml, f"{kind}gemv")("T", m, m, 1.0, a, m, x, 1, 0.0, y, 1)
    assert close(kind, y, a.T @ x)


@pytest.mark.parametrize("kind", "sdcz")
@pytest.mark.parametrize("n", [1, 7, 40])
def test_drivers_solve_and_decompose(kind, n):
    a, b = matrix(kind, n, n), matrix(kind, n, 3)
    call = {name: getattr(acml, kind + name) for name in ("gesv", "posv", "gels", "gesdd", "gesvd", "geev", "gelsd")}
    real = np.dtype(TYPES[kind]).type(0).real.dtype
    x, ipiv = b.copy(order="F"), np.zeros(n, np.int32)
    assert call["gesv"](n, 3, a.copy(order="F"), n, ipiv, x, n) == 0
    assert close(kind, a @ x, b, 2000)
    definite = np.asfortranarray(a @ a.conj().T + n * np.eye(n)).astype(TYPES[kind], order="F")
    x = b.copy(order="F")
    assert call["posv"]("L", n, 3, definite.copy(order="F"), n, x, n) == 0
    assert close(kind, definite @ x, b, 2000)
    tall, x = matrix(kind, 2 * n, n, 5), matrix(kind, 2 * n, 3, 6)
    wanted = np.linalg.lstsq(tall, x, rcond=None)[0]
    also, s, rank = x.copy(order="F"), np.zeros(n, real), np.zeros(1, np.int32)
    assert call["gels"]("N", 2 * n, n, 3, tall.copy(order="F"), 2 * n, x, 2 * n) == 0
    assert close(kind, x[:n], wanted, 2000)
    assert call["gelsd"](2 * n, n, 3, tall.copy(order="F"), 2 * n, also, 2 * n, s, -1.0, rank) == 0
    assert rank[0] == n
    assert close(kind, also[:n], wanted, 2000)
    for name, jobs in (("gesdd", ("S",)), ("gesvd", ("S", "S"))):
        u, vt = matrix(kind, 2 * n, n), matrix(kind, n, n)
        assert call[name](*jobs, 2 * n, n, tall.copy(order="F"), 2 * n, s, u, 2 * n, vt, n) == 0
        assert close(kind, u * s @ vt, tall, 500)
        assert close(kind, u.conj().T @ u, np.eye(n), 500)
    values, vectors = np.zeros(n, real), definite.copy(order="F")
    name = "heevd" if kind in "cz" else "syevd"
    assert getattr(acml, kind + name)("V", "U", n, vectors, n, values) == 0
    assert close(kind, definite @ vectors, vectors * values, 2000)
    z, isuppz, found = matrix(kind, n, n), np.zeros(2 * n, np.int32), np.zeros(1, np.int32)
    name = "heevr" if kind in "cz" else "syevr"
    info = getattr(acml, kind + name)(
        "V", "A", "U", n, definite.copy(order="F"), n, 0, 0, 1, n, 0.0, found, values, z, n, isuppz
    )
    assert (info, found[0]) == (0, n)
    assert close(kind, definite @ z, z * values, 2000)
    left, right, work = matrix(kind, n, n), matrix(kind, n, n), a.copy(order="F")
    if kind in "cz":
        w = np.zeros(n, TYPES[kind])
        assert call["geev"]("N", "V", n, work, n, w, left, n, right, n) == 0
        assert close(kind, a @ right, right * w, 2000)
    else:
        wr, wi = np.zeros(n, real), np.zeros(n, real)
        assert call["geev"]("N", "N", n, work, n, wr, wi, left, n, right, n) == 0
        assert close(kind, np.sort_complex(wr + 1j * wi), np.sort_complex(np.linalg.eigvals(a)), 20000)


@pytest.mark.parametrize("row", [0, 3, -1, 100])
def test_pivots_of_rows_that_are_not_there(row):
    """LAPACK does not look at them: it would leave its arrays."""
    a, b = np.eye(2, order="F"), np.ones((2, 1), order="F")
    pivots = np.array([1, row], np.int32)
    assert acml.dgetrs("N", 2, 1, a, 2, pivots, b, 2) == -6
    assert acml.dgbtrs("N", 2, 0, 0, 1, np.ones((1, 2), order="F"), 1, pivots, b, 2) == -8
    assert acml.dgetri(2, a, 2, pivots) == -4
    assert acml.dsytrs("U", 2, 1, a, 2, pivots, b, 2) == -6
    assert acml.dgetrs("N", 2, 1, a, 2, np.array([1, 2], np.int32), b, 2) == 0


@pytest.mark.parametrize("general", [False, True])
def test_pivots_that_lead_out_of_arrays(general):
    """Blocks of one row, and of tridiagonal matrices exchanges with rows that are not the next."""
    a, b = np.eye(4, order="F"), np.ones((4, 1), order="F")
    d, e = np.ones(4), np.zeros(3)
    sytrs, gttrs = (getattr(acml, name) for name in ("dsytrs", "dgttrs"))
    if general:
        sytrs, gttrs = sytrs.__self__.general, gttrs.__self__.general
    wrong = [[1, -2, 3, 4], [-1, -1, -1, 4], [1, 2, 3, -4], [-1, 2, -1, 4]]
    assert [sytrs("U", 4, 1, a, 4, np.array(rows, np.int32), b, 4) for rows in wrong] == [-6] * 4
    wrong = [[1, 2, 1, 4], [3, 2, 3, 4], [1, 2, 3, 3]]
    assert [gttrs("N", 4, 1, e, d, e, e[:2], np.array(rows, np.int32), b, 4) for rows in wrong] == [-8] * 3
    assert (b == 1).all()
    assert gttrs("N", 4, 1, e, d, e, e[:2], np.array([1, 3, 3, 4], np.int32), b, 4) == 0
    swap = np.asfortranarray(np.eye(4)[[1, 0, 2, 3]])
    assert sytrs("L", 4, 1, swap, 4, np.array([-2, -2, 3, 4], np.int32), b, 4) == 0


def test_expert_drivers_test_what_a_factorization_left():
    a, b = np.array([[4.0, 1], [2, 3]], order="F"), np.ones((2, 1), order="F")
    af, x, pivots, equed = (
        np.zeros((2, 2), order="F"),
        np.zeros((2, 1), order="F"),
        np.zeros(2, np.int32),
        np.full(1, b"N"),
    )
    r, c, rcond, ferr, berr = (np.zeros(size) for size in (2, 2, 1, 1, 1))

    def solve(fact, equed=equed):
        return acml.dgesvx(fact, "N", 2, 1, a, 2, af, 2, pivots, equed, r, c, b, 2, x, 2, rcond, ferr, berr)

    assert solve("N") == solve("F") == 0
    assert np.allclose(a @ x, b)
    pivots[1] = 9
    assert solve("F") == -9
    with pytest.raises(UsageError, match="equed is an array of <U1") as error:
        solve("N", np.array(["N"]))
    assert "equed.astype('|S1')" in error.value.hint


@pytest.mark.parametrize("kind", "sdcz")
def test_schur_forms_put_chosen_eigenvalues_first(kind):
    n, seen = 6, []
    a, b, vs, sdim = matrix(kind, n, n), matrix(kind, n, n, 1), matrix(kind, n, n), np.zeros(1, np.int32)
    w = [np.zeros(n, TYPES[kind]) for _ in range(1 if kind in "cz" else 2)]

    def left(*parts):
        seen.append(parts)
        return parts[0].real < 0

    t = a.copy(order="F")
    assert getattr(acml, f"{kind}gees")("V", "S", left, n, t, n, sdim, *w, vs, n) == 0
    assert 0 < sdim[0] < n
    assert ((w[0].real < 0) == (np.arange(n) < sdim[0])).all()
    assert close(kind, vs @ t @ vs.conj().T, a, 1000)
    assert all(len(parts) == len(w) and type(parts[0]) is (complex if kind in "cz" else float) for parts in seen)
    seen.clear()
    s, t, vsr, beta = a.copy(order="F"), b.copy(order="F"), vs.copy(order="F"), np.zeros(n, TYPES[kind])
    ends = [np.zeros(2, w[0].real.dtype) for _ in range(2)]
    call = getattr(acml, f"{kind}ggesx")
    assert call("V", "V", "S", left, "B", n, s, n, t, n, sdim, *w, beta, vs, n, vsr, n, *ends) == 0
    assert ((w[0].real < 0) == (np.arange(n) < sdim[0])).all()
    assert {len(parts) for parts in seen} == {len(w) + 1}
    assert (ends[0] > 0).all()
    assert close(kind, vs @ s @ vsr.conj().T, a, 1000)


def test_a_choice_that_fails_leaves_the_arrays():
    n, calls = 4, []
    whole = matrix("d", 8, 8)
    a, vs, sdim, w = whole[1:5, 2:6], matrix("d", n, n), np.full(1, 7, np.int32), (np.ones(n), np.ones(n))
    before = whole.copy(), vs.copy()

    def fails(re, im):
        calls.append(re)
        raise KeyError(im)

    with pytest.raises(KeyError):
        acml.dgees("V", "S", fails, n, a, 8, sdim, *w, vs, n)
    assert len(calls) == 1
    assert (whole == before[0]).all()
    assert (vs == before[1]).all()
    assert (w[0] == 1).all()
    assert sdim[0] == 7
    for choice in (None, 1):
        with pytest.raises(UsageError, match="dgees: select is a function of 2 numbers, not "):
            acml.dgees("V", "S", choice, n, a, 8, sdim, *w, vs, n)
    assert acml.dgees("V", "N", None, n, a, 8, sdim, *w, vs, n) == sdim[0] == 0


def test_a_choice_leaves_no_copies_behind():
    n = 4
    a = matrix("d", n, n)
    seen = weakref.ref(a)
    gc.disable()
    try:
        w, vs = (np.zeros(n), np.zeros(n)), matrix("d", n, n)
        assert acml.dgees("V", "S", lambda re, im: re < 0, n, a, n, np.zeros(1, np.int32), *w, vs, n) == 0
        del a
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("general", [False, True])
def test_a_banded_pair_of_one_row(general):
    """LAPACK asks for less workspace than it uses, and computes nothing with that."""
    call = acml.dsbgvd.__self__.general if general else acml.dsbgvd
    w, z = np.zeros(1), np.zeros(1)
    assert call("V", "U", 1, 0, 0, np.full(1, 6.0), 1, np.full(1, 4.0), 1, w, z, 1) == 0
    assert (w[0], z[0]) == (1.5, 0.5)


@pytest.mark.parametrize("kind", "sz")
def test_netlibs_ratios_of_drivers(kind, monkeypatch):
    """Of a few small problems, equilibrated ones among them; `python -m verification.acml_residuals` has them all."""
    from verification import acml_ratios, acml_residuals, acml_spectra

    found = []
    for module in (acml_residuals, acml_spectra):
        monkeypatch.setattr(module, "product", lambda *values: [(5, *(v[-1] for v in values[1:]))])
    monkeypatch.setattr(acml_ratios, "failures", found)
    for group in (acml_spectra.hermitian, acml_spectra.general, acml_spectra.schur, acml_residuals.mixed):
        group(kind)
    acml_residuals.systems(kind, 5, 2)
    assert {"gesvx", "sbgvx" if kind == "s" else "hbgvx", "ggevx", "ggesx"} <= set(acml_ratios.worst)
    assert not found


@pytest.mark.parametrize("kind", "sdcz")
def test_factorizations(kind):
    m, n = 9, 6
    a = matrix(kind, m, n)
    lu, ipiv = a.copy(order="F"), np.zeros(n, np.int32)
    assert getattr(acml, f"{kind}getrf")(m, n, lu, m, ipiv) == 0
    product = (np.tril(lu, -1)[:, :n] + np.eye(m, n)) @ np.triu(lu[:n])
    order = np.arange(m)
    for i, p in enumerate(ipiv):
        order[[i, p - 1]] = order[[p - 1, i]]
    assert close(kind, product, a[order])
    q, tau = a.copy(order="F"), np.zeros(n, TYPES[kind])
    assert getattr(acml, f"{kind}geqrf")(m, n, q, m, tau) == 0
    r = np.triu(q[:n])
    letters = "un" if kind in "cz" else "or"
    applied = a.copy(order="F")
    trans = "C" if kind in "cz" else "T"
    assert getattr(acml, f"{kind}{letters}mqr")("L", trans, m, n, n, q, m, tau, applied, m) == 0
    assert close(kind, np.triu(applied[:n]), r)
    assert getattr(acml, f"{kind}{letters}gqr")(m, n, n, q, m, tau) == 0
    assert close(kind, q @ r, a)
    norm = getattr(acml, f"{kind}lange")("1", m, n, a, m)
    assert close(kind, norm, np.linalg.norm(a, 1))


def test_info_counts_arguments_as_lapack_does_and_nothing_is_written():
    n = 4
    a, b, ipiv = matrix("d", n, n), matrix("d", n, 2), np.full(n, 7, np.int32)
    before = a.copy(), b.copy(), ipiv.copy()
    assert acml.dgesv(-1, 2, a, n, ipiv, b, n) == -1
    assert acml.dgesv(n, -2, a, n, ipiv, b, n) == -2
    assert acml.dgesv(n, 2, a, n - 1, ipiv, b, n) == -4
    assert acml.dgesv(n, 2, a, n, ipiv, b, 1) == -7
    assert acml.dpotrf("x", n, a, n) == -1
    assert acml.dsyev("N", "Q", n, a, n, np.zeros(n)) == -2
    for now, then in zip((a, b, ipiv), before, strict=True):
        assert (now == then).all()
    assert acml.dpotrf("L", 2, np.asfortranarray([[1.0, 2], [2, 1]]), 2) == 2  # not positive definite
    singular = np.zeros((2, 2), order="F")
    assert acml.dgesv(2, 1, singular, 2, np.zeros(2, np.int32), np.ones(2), 2) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: "X"}, "dgemm: transa is 'X', not one of N, T, C"),
        ({2: -1}, "dgemm: m is -1, and a size is at least 0"),
        ({4: 2**31}, "dgemm: k is 2147483648, and sizes have 32 bits"),
        ({4: 2.5}, "dgemm: k is a whole number, not 2.5"),
        ({7: 3}, "dgemm: lda is 3, and a has 4 rows"),
        ({12: 0}, "dgemm: ldc is 0, and c has 4 rows"),
        ({5: "1"}, "dgemm: alpha is a number, not '1'"),
        ({5: 1j}, "dgemm: alpha is a number, not 1j"),
        (
            {6: np.zeros((4, 4), np.float32, order="F")},
            "dgemm: a is an array of float32, and the routine's are of float64",
        ),
        ({6: np.zeros((4, 3), order="F")}, "dgemm: a has 12 elements, and 16 are needed"),
        ({6: np.zeros((4, 4))}, "dgemm: a is not in Fortran's order"),
        ({6: [1.0]}, "dgemm: a is a NumPy array of float64, not list"),
        ({7: 5}, "dgemm: a has 16 elements, and 19 are needed"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_written(change, message):
    a, b, c = (matrix("d", 4, 4, seed) for seed in range(3))
    before = c.copy()
    args = ["N", "N", 4, 4, 4, 1.0, a, 4, b, 4, 0.0, c, 4]
    for at, value in change.items():
        args[at] = value
    with pytest.raises(UsageError) as error:
        acml.dgemm(*args)
    assert error.value.message == message
    assert (c == before).all()


def test_results_do_not_share_memory_with_operands():
    a = matrix("d", 4, 4)
    with pytest.raises(UsageError, match="c is written and shares memory with a"):
        acml.dgemm("N", "N", 4, 4, 4, 1.0, a, 4, matrix("d", 4, 4), 4, 0.0, a, 4)
    both = np.arange(8.0)  # x and y lie between each other
    acml.dswap(4, both, 2, both[1:], 2)
    assert (both == [1, 0, 3, 2, 5, 4, 7, 6]).all()
    locked = matrix("d", 4, 4)
    locked.flags.writeable = False
    with pytest.raises(UsageError, match="c is written and cannot be"):
        acml.dgemm("N", "N", 4, 4, 4, 1.0, a, 4, a, 4, 0.0, locked, 4)
    with pytest.raises(UsageError, match="takes 13 arguments, not 1"):
        acml.dgemm("N")


def test_sizes_of_zero_and_nan():
    empty, c = np.zeros((0, 0), order="F"), matrix("d", 3, 3)
    wanted = 2 * c
    acml.dgemm("N", "N", 3, 3, 0, 1.0, empty, 3, empty, 1, 2.0, c, 3)
    assert (c == wanted).all()
    assert acml.dgesv(0, 0, empty, 1, np.zeros(0, np.int32), empty, 1) == 0
    assert acml.dgeev("N", "N", 0, empty, 1, np.zeros(0), np.zeros(0), empty, 1, empty, 1) == 0
    a = np.asfortranarray(np.eye(3))
    a[1, 1] = np.nan
    acml.dgemm("N", "N", 3, 3, 3, 1.0, a, 3, a, 3, 0.0, c, 3)
    assert np.isnan(c[1, 1])
    assert c[0, 0] == 1


def test_names_of_scipy_work_on_arrays_and_unknown_names_are_refused():
    a, b = matrix("d", 5, 5), matrix("d", 5, 2)
    assert close("d", a @ acml.solve(a, b), b, 1000)
    assert close("d", acml.ifft(acml.fft(b, axis=0), axis=0), b)
    assert not hasattr(acml, "dgemmm")
    assert {"dgemm", "zheevd", "fft", "vrda_exp", "zfft1d", "solve"} <= set(dir(acml))


ONE = np.asfortranarray(np.eye(2))


@pytest.mark.parametrize("flag", [None, 7, ["N"]])
def test_flags_are_letters(flag):
    c = np.zeros((2, 2), order="F")
    with pytest.raises(UsageError, match="dgemm: transa is a letter, not "):
        acml.dgemm(flag, "N", 2, 2, 2, 1.0, ONE, 2, ONE, 2, 0.0, c, 2)
    with pytest.raises(UsageError, match=r"transa is b'.xff', not one of N, T, C"):
        acml.dgemm(b"\xff", "N", 2, 2, 2, 1.0, ONE, 2, ONE, 2, 0.0, c, 2)
    acml.dgemm(b"N", "No", 2, 2, 2, 1.0, ONE, 2, ONE, 2, 0.0, c, 2)
    assert (c == np.eye(2)).all()
    assert acml.dsygv(12, "N", "U", 2, c, 2, ONE, 2, np.zeros(2)) == -1  # not 1
    assert acml.dsygv(1, "N", "U", 2, c, 2, ONE, 2, np.zeros(2)) == 0


@pytest.mark.parametrize("size", [2.0**31, 1e12, -5.0, float("nan")])
def test_workspaces_of_more_elements_than_32_bits_count_are_refused_before_the_call(size):
    """-5: LAPACK's own sum of the size wraps around."""
    calls = []

    @ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 9)
    def dsyev(*pointers):
        calls.append(ctypes.c_int.from_address(pointers[7]).value)
        ctypes.c_double.from_address(pointers[6]).value = size

    stub = native.Routine(routines.row("dsyev"))
    stub._function = dsyev
    address = ctypes.cast(dsyev, ctypes.c_void_p).value
    quickly = quick.compiled(stub.row, quick.Planned(), address, stub._dtypes, stub.general)
    for call in (quickly or stub.general, stub.general):
        with pytest.raises(UsageError, match=r"dsyev: work would have .* elements, and sizes have 32 bits"):
            call("N", "U", 2, ONE.copy("F"), 2, np.zeros(2))
    assert set(calls) == {-1}  # asked for the size, and no more


def test_the_plan_of_a_call_cannot_be_replaced():
    planned = acml.dgemm.__self__
    with pytest.raises(AttributeError):
        del planned.plan
    planned.plan = 0
    c = np.zeros((2, 2), order="F")
    acml.dgemm("N", "N", 2, 2, 2, 1.0, ONE, 2, ONE, 2, 0.0, c, 2)
    assert (c == ONE).all()
    del planned.plan
    with pytest.raises(AttributeError):
        acml.matmul.__self__.plan = 0


def test_types_of_functions_that_all_libraries_share_are_left_alone():
    assert acml.dgemm
    for name in ("PyCFunction_NewEx", "PyCapsule_GetName", "PyCapsule_GetPointer"):
        assert getattr(ctypes.pythonapi, name).restype is ctypes.c_int


@pytest.mark.parametrize("alpha", [10**400, "1", None, [1.0, 2.0]])
def test_numbers_are_numbers(alpha):
    c = np.zeros((2, 2), order="F")
    with pytest.raises(UsageError, match="gemm: alpha is a number, not "):
        acml.dgemm("N", "N", 2, 2, 2, alpha, ONE, 2, ONE, 2, 0.0, c, 2)
