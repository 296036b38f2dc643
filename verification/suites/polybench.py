"""The programs of PolyBench-ACC's OpenCL version (cavazos-lab/PolyBench-ACC), at sizes that an emulator likes.

Sizes are no multiples of the work-groups' where the kernels test their bounds. Initial values are random, not those of
the original drivers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from verification.suites.case import Case, Data, Launch, Make, floats, zeros

_FOLDER = "PolyBench-ACC/OpenCL/"
_KERNELS = _FOLDER + "linear-algebra/kernels/"
_SOLVERS = _FOLDER + "linear-algebra/solvers/"
_STENCILS = _FOLDER + "stencils/"
N, M, K, L = 60, 76, 44, 52
"""Rows, columns, and two more extents of matrices."""
ALPHA, BETA = 1.5, 0.75
PLANE = (32, 8)
"""The work-group of kernels over a matrix, as the originals have it."""
LINE = (64,)


def _up(size: int, group: int) -> int:
    return -(-size // group) * group


def line(kernel: str, size: int, *args: object) -> Launch:
    """A launch over ``size`` work-items, rounded up to whole groups."""
    return Launch(kernel, (_up(size, LINE[0]),), LINE, args)


def plane(kernel: str, columns: int, rows: int, *args: object) -> Launch:
    return Launch(kernel, (_up(columns, PLANE[0]), _up(rows, PLANE[1])), PLANE, args)


def _double(data: Data, *names: str) -> list[np.ndarray]:
    return [data[name].astype(np.float64) for name in names]


def _gemm(d: Data) -> Mapping[str, np.ndarray]:
    a, b, c = _double(d, "a", "b", "c")
    return {"c": BETA * c + ALPHA * a @ b}


def _two_products(d: Data) -> Mapping[str, np.ndarray]:
    a, b, c, out = _double(d, "a", "b", "c", "d")
    return {"d": BETA * out + (ALPHA * a @ b) @ c}


def _three_products(d: Data) -> Mapping[str, np.ndarray]:
    a, b, c, e = _double(d, "a", "b", "c", "d")
    return {"g": (a @ b) @ (c @ e)}


def _atax(d: Data) -> Mapping[str, np.ndarray]:
    a, x = _double(d, "a", "x")
    return {"y": a.T @ (a @ x)}


def _bicg(d: Data) -> Mapping[str, np.ndarray]:
    a, p, r = _double(d, "a", "p", "r")
    return {"q": a @ p, "s": a.T @ r}


def _gemver(d: Data) -> Mapping[str, np.ndarray]:
    a, u1, v1, u2, v2, y, z = _double(d, "a", "u1", "v1", "u2", "v2", "y", "z")
    a = a + np.outer(u1, v1) + np.outer(u2, v2)
    x = BETA * a.T @ y + z
    return {"a": a, "x": x, "w": ALPHA * a @ x}


def _gesummv(d: Data) -> Mapping[str, np.ndarray]:
    a, b, x = _double(d, "a", "b", "x")
    return {"y": ALPHA * a @ x + BETA * b @ x}


def _mvt(d: Data) -> Mapping[str, np.ndarray]:
    a, x1, x2, y1, y2 = _double(d, "a", "x1", "x2", "y1", "y2")
    return {"x1": x1 + a @ y1, "x2": x2 + a.T @ y2}


def _syrk(d: Data) -> Mapping[str, np.ndarray]:
    a, c = _double(d, "a", "c")
    return {"c": BETA * c + ALPHA * a @ a.T}


def _syr2k(d: Data) -> Mapping[str, np.ndarray]:
    a, b, c = _double(d, "a", "b", "c")
    return {"c": BETA * c + ALPHA * (a @ b.T + b @ a.T)}


def _doitgen(d: Data) -> Mapping[str, np.ndarray]:
    a, c4 = _double(d, "a", "c4")
    return {"a": a @ c4}


def _covariance(d: Data) -> Mapping[str, np.ndarray]:
    (data,) = _double(d, "data")
    data = data - data.mean(0)
    return {"symmat": data.T @ data}


def _correlation(d: Data) -> Mapping[str, np.ndarray]:
    (data,) = _double(d, "data")
    data = (data - data.mean(0)) / (np.sqrt(len(data)) * data.std(0))
    found = data.T @ data
    np.fill_diagonal(found, 1.0)
    found[-1, -1] = 0.0  # the kernel leaves out the last diagonal element
    return {"symmat": found}


def _gramschmidt(d: Data) -> Mapping[str, np.ndarray]:
    (a,) = _double(d, "a")
    q, r = np.linalg.qr(a)
    signs = np.sign(np.diag(r))
    return {"q": q * signs, "r": r * signs[:, None]}


def _lu(d: Data) -> Mapping[str, np.ndarray]:
    (a,) = _double(d, "a")
    for k in range(len(a)):
        a[k, k + 1 :] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return {"a": a}


def _convolution(d: Data) -> Mapping[str, np.ndarray]:
    a, b = _double(d, "a", "b")
    weights = np.array([[0.2, 0.5, -0.8], [-0.3, 0.6, -0.9], [0.4, 0.7, 0.10]])
    rows, columns = a.shape
    inner = sum(weights[i, j] * a[i : rows - 2 + i, j : columns - 2 + j] for i in range(3) for j in range(3))
    b[1:-1, 1:-1] = inner
    return {"b": b}


def _jacobi_line(d: Data) -> Mapping[str, np.ndarray]:
    (a,) = _double(d, "a")
    for _ in range(STEPS):
        a[1:-1] = float(np.float32(0.33333)) * (a[:-2] + a[1:-1] + a[2:])
    return {"a": a}


def _jacobi_plane(d: Data) -> Mapping[str, np.ndarray]:
    (a,) = _double(d, "a")
    for _ in range(STEPS):
        a[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
    return {"a": a}


def _fdtd(d: Data) -> Mapping[str, np.ndarray]:
    fict, ex, ey, hz = _double(d, "fict", "ex", "ey", "hz")
    ex, ey = ex[:-1].reshape(N, M), ey[:-M].reshape(N, M)
    for t in range(STEPS):
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ey[0] = fict[t]
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return {"hz": hz}


STEPS = 6
"""Time steps of the stencils."""
_SQUARE: dict[str, Make] = {"a": floats(N, N)}


def _dominant(rng: np.random.Generator) -> np.ndarray:
    """A matrix that needs no pivots."""
    return (rng.uniform(0, 1, (N, N)) + N * np.eye(N)).astype(np.float32)


def _adi_steps() -> list[Launch]:
    steps = []
    for _ in range(2):
        steps += [line(f"adi_kernel{k}", N, "a", "b", "x", N) for k in (1, 2, 3)]
        steps += [line("adi_kernel4", N, "a", "b", "x", i, N) for i in range(1, N)]
        steps.append(line("adi_kernel5", N, "a", "b", "x", N))
        steps += [line("adi_kernel6", N, "a", "b", "x", i, N) for i in range(N - 2)]
    return steps


CASES = (
    Case(
        "polybench/gemm",
        _KERNELS + "gemm/gemm.cl",
        {"a": floats(N, K), "b": floats(K, M), "c": floats(N, M)},
        [plane("gemm", M, N, "a", "b", "c", ALPHA, BETA, N, M, K)],
        ("c",),
        expected=_gemm,
    ),
    Case(
        "polybench/2mm",
        _KERNELS + "2mm/2mm.cl",
        {"a": floats(N, K), "b": floats(K, M), "c": floats(M, L), "d": floats(N, L), "tmp": zeros(N, M)},
        [
            plane("mm2_kernel1", M, N, "tmp", "a", "b", N, M, K, L, ALPHA, BETA),
            plane("mm2_kernel2", L, N, "tmp", "c", "d", N, M, K, L, ALPHA, BETA),
        ],
        ("d",),
        expected=_two_products,
    ),
    Case(
        "polybench/3mm",
        _KERNELS + "3mm/3mm.cl",
        {
            **{"a": floats(N, K), "b": floats(K, M), "c": floats(M, 36), "d": floats(36, L)},
            **{"e": zeros(N, M), "f": zeros(M, L), "g": zeros(N, L)},
        },
        [
            plane("mm3_kernel1", M, N, "a", "b", "e", N, M, K),
            plane("mm3_kernel2", L, M, "c", "d", "f", M, L, 36),
            plane("mm3_kernel3", L, N, "e", "f", "g", N, L, M),
        ],
        ("g",),
        expected=_three_products,
    ),
    Case(
        "polybench/atax",
        _KERNELS + "atax/atax.cl",
        {"a": floats(N, M), "x": floats(M), "y": zeros(M), "tmp": zeros(N)},
        [line("atax_kernel1", N, "a", "x", "tmp", N, M), line("atax_kernel2", M, "a", "y", "tmp", N, M)],
        ("y",),
        expected=_atax,
    ),
    Case(
        "polybench/bicg",
        _KERNELS + "bicg/bicg.cl",
        {"a": floats(N, M), "p": floats(M), "q": zeros(N), "r": floats(N), "s": zeros(M)},
        [line("bicgKernel1", N, "a", "p", "q", N, M), line("bicgKernel2", M, "a", "r", "s", N, M)],
        ("q", "s"),
        expected=_bicg,
    ),
    Case(
        "polybench/doitgen",
        _KERNELS + "doitgen/doitgen.cl",
        {"a": floats(8, 20, 36), "c4": floats(36, 36), "sum": zeros(8, 20, 36)},
        [plane(f"doitgen_kernel{k}", 36, 20, 8, 20, 36, "a", "c4", "sum", r) for r in range(8) for k in (1, 2)],
        ("a",),
        expected=_doitgen,
    ),
    Case(
        "polybench/gemver",
        _KERNELS + "gemver/gemver.cl",
        {
            **_SQUARE,
            **{name: floats(N) for name in ("u1", "v1", "u2", "v2", "y", "z")},
            **{"x": zeros(N), "w": zeros(N)},
        },
        [
            plane("gemver_kernel1", N, N, "a", "v1", "v2", "u1", "u2", N),
            line("gemver_kernel2", N, "a", "x", "y", "z", BETA, N),
            line("gemver_kernel3", N, "a", "x", "w", ALPHA, N),
        ],
        ("a", "x", "w"),
        expected=_gemver,
    ),
    Case(
        "polybench/gesummv",
        _KERNELS + "gesummv/gesummv.cl",
        {**_SQUARE, "b": floats(N, N), "x": floats(N), "y": zeros(N), "tmp": zeros(N)},
        [line("gesummv_kernel", N, "a", "b", "x", "y", "tmp", ALPHA, BETA, N)],
        ("y",),
        expected=_gesummv,
    ),
    Case(
        "polybench/mvt",
        _KERNELS + "mvt/mvt.cl",
        {**_SQUARE, **{name: floats(N) for name in ("x1", "x2", "y1", "y2")}},
        [line("mvt_kernel1", N, "a", "x1", "y1", N), line("mvt_kernel2", N, "a", "x2", "y2", N)],
        ("x1", "x2"),
        expected=_mvt,
    ),
    Case(
        "polybench/syrk",
        _KERNELS + "syrk/syrk.cl",
        {"a": floats(N, N), "c": floats(N, N)},
        [plane("syrk_kernel", N, N, "a", "c", ALPHA, BETA, N, N)],
        ("c",),
        expected=_syrk,
    ),
    Case(
        "polybench/syr2k",
        _KERNELS + "syr2k/syr2k.cl",
        {"a": floats(N, N), "b": floats(N, N), "c": floats(N, N)},
        [plane("syr2k_kernel", N, N, "a", "b", "c", ALPHA, BETA, N, N)],
        ("c",),
        expected=_syr2k,
    ),
    Case(
        "polybench/gramschmidt",
        _SOLVERS + "gramschmidt/gramschmidt.cl",
        {"a": floats(N, K), "r": zeros(K, K), "q": zeros(N, K)},
        [
            step
            for k in range(K)
            for step in (
                line("gramschmidt_kernel1", 1, "a", "r", "q", k, N, K),
                line("gramschmidt_kernel2", N, "a", "r", "q", k, N, K),
                line("gramschmidt_kernel3", K, "a", "r", "q", k, N, K),
            )
        ],
        ("q", "r"),
        expected=_gramschmidt,
        tolerance=2e-3,  # the unmodified recurrence loses orthogonality with the matrix's condition
    ),
    Case(
        "polybench/lu",
        _SOLVERS + "lu/lu.cl",
        {"a": _dominant},
        [
            step
            for k in range(N - 1)
            for step in (
                line("lu_kernel1", N - k - 1, "a", k, N),
                plane("lu_kernel2", N - k - 1, N - k - 1, "a", k, N),
            )
        ],
        ("a",),
        expected=_lu,
    ),
    Case(
        "polybench/covariance",
        _FOLDER + "datamining/covariance/covariance.cl",
        {"data": floats(N, M), "mean": zeros(M), "symmat": zeros(M, M)},
        [
            line("mean_kernel", M, "mean", "data", float(N), M, N),
            plane("reduce_kernel", M, N, "mean", "data", M, N),
            line("covar_kernel", M, "symmat", "data", M, N),
        ],
        ("symmat",),
        expected=_covariance,
    ),
    Case(
        "polybench/correlation",
        _FOLDER + "datamining/correlation/correlation.cl",
        {"data": floats(N, M), "mean": zeros(M), "std": zeros(M), "symmat": zeros(M, M)},
        [
            line("mean_kernel", M, "mean", "data", float(N), M, N),
            line("std_kernel", M, "mean", "std", "data", float(N), 0.005, M, N),
            plane("reduce_kernel", M, N, "mean", "std", "data", float(N), M, N),
            line("corr_kernel", M, "symmat", "data", M, N),
        ],
        ("symmat",),
        expected=_correlation,
    ),
    Case(
        "polybench/adi",
        _STENCILS + "adi/adi.cl",
        {"a": floats(N, N), "b": floats(N, N, low=4.0, high=5.0), "x": floats(N, N)},
        _adi_steps(),
        ("x", "b"),
    ),
    Case(
        "polybench/convolution-2d",
        _STENCILS + "convolution-2d/2DConvolution.cl",
        {"a": floats(N, M), "b": zeros(N, M)},
        [plane("Convolution2D_kernel", M, N, "a", "b", N, M)],
        ("b",),
        expected=_convolution,
    ),
    Case(
        "polybench/convolution-3d",
        _STENCILS + "convolution-3d/3DConvolution.cl",
        # The kernel stores outside the volume where a work-item lies beyond its edge, so that sizes are whole groups.
        {"a": floats(12, 24, 64), "b": zeros(12, 24, 64)},
        [Launch("Convolution3D_kernel", (64, 24), PLANE, ("a", "b", 12, 24, 64, i)) for i in range(1, 11)],
        ("b",),
    ),
    Case(
        "polybench/jacobi-1d",
        _STENCILS + "jacobi-1d-imper/jacobi1D.cl",
        {"a": floats(1000), "b": zeros(1000)},
        [line(f"runJacobi1D_kernel{k}", 1000, "a", "b", 1000) for _ in range(STEPS) for k in (1, 2)],
        ("a",),
        expected=_jacobi_line,
    ),
    Case(
        "polybench/jacobi-2d",
        _STENCILS + "jacobi-2d-imper/jacobi2D.cl",
        {"a": floats(N, N), "b": zeros(N, N)},
        [plane(f"runJacobi2D_kernel{k}", N, N, "a", "b", N) for _ in range(STEPS) for k in (1, 2)],
        ("a",),
        expected=_jacobi_plane,
    ),
    Case(
        "polybench/fdtd-2d",
        _STENCILS + "fdtd-2d/fdtd2d.cl",
        {"fict": floats(STEPS), "ex": floats(N * M + 1), "ey": floats((N + 1) * M), "hz": floats(N, M)},
        [
            step
            for t in range(STEPS)
            for step in (
                plane("fdtd_kernel1", M, N, "fict", "ex", "ey", "hz", t, N, M),
                plane("fdtd_kernel2", M, N, "ex", "ey", "hz", N, M),
                plane("fdtd_kernel3", M, N, "ex", "ey", "hz", N, M),
            )
        ],
        ("hz",),
        expected=_fdtd,
    ),
)
