"""Programs of SHOC's OpenCL version (vetter/shoc), levels 1 and 2, at sizes that an emulator likes.

Left out: bfs_uiuc_spill (its work-groups wait for each other).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from headwater.runtime.values import Local
from verification.suites.case import Case, Data, Launch, Make, floats, ints, values, zeros

_LEVEL1 = "shoc/src/opencl/level1/"
_S3D = "shoc/src/opencl/level2/s3d/"
_SINGLE, _DOUBLE = "-DSINGLE_PRECISION", "-DK_DOUBLE_PRECISION"


def _line(kernel: str, size: int, group: int, *args: object) -> Launch:
    return Launch(kernel, (-(-size // group) * group,), (group,), args)


# -- bfs ---------------------------------------------------------------------------------------------------------------

_VERTICES, _DEGREE, _LEVELS = 600, 3, 12
_UNSEEN = np.uint32(0xFFFFFFFF)


def _levels() -> np.ndarray:
    levels = np.full(_VERTICES, _UNSEEN)
    levels[0] = 0
    return levels


def _bfs(d: Data) -> Mapping[str, np.ndarray]:
    edges = d["edges"].reshape(_VERTICES, _DEGREE)
    levels = _levels()
    frontier = np.array([0])
    for level in range(1, _LEVELS + 1):
        frontier = np.unique(edges[frontier])
        frontier = frontier[levels[frontier] == _UNSEEN]
        levels[frontier] = level
    return {"levels": levels}


# -- fft ---------------------------------------------------------------------------------------------------------------

_TRANSFORMS = 4


def _complex(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1, 512, 2).astype(np.float64).view(np.complex128)[..., 0]


def _parts(array: np.ndarray) -> np.ndarray:
    return np.stack([array.real, array.imag], -1)


def _fft(name: str, dtype: type, options: str) -> list[Case]:
    data: dict[str, Make] = {"work": floats(_TRANSFORMS, 512, 2, low=-1.0, dtype=dtype)}
    size = 64 * _TRANSFORMS
    return [
        Case(
            f"shoc/fft{name}",
            _LEVEL1 + "fft/fft.cl",
            data,
            [_line("fft1D_512", size, 64, "work")],
            ("work",),
            options,
            expected=lambda d: {"work": _parts(np.fft.fft(_complex(d["work"])))},
        ),
        Case(
            f"shoc/ifft{name}",
            _LEVEL1 + "fft/fft.cl",
            {**data, "failed": zeros(1, dtype=np.int32)},
            [
                _line("ifft1D_512", size, 64, "work"),
                _line("chk1D_512", size // 2, 64, "work", 512 * _TRANSFORMS // 2, "failed"),
            ],
            ("work", "failed"),
            options,
            expected=lambda d: {"work": _parts(np.fft.ifft(_complex(d["work"]))), "failed": np.ones(1, np.int32)},
        ),
    ]


# -- gemm --------------------------------------------------------------------------------------------------------------

_M, _N, _K = 128, 48, 64
_ALPHA, _BETA = 1.5, 0.75


def _gemm(name: str, dtype: type, options: str) -> Case:
    size, group = (_M // 64 * 16, _N // 16 * 4), (16, 4)
    factors = (dtype(_ALPHA), dtype(_BETA))

    def expected(d: Data) -> Mapping[str, np.ndarray]:
        a, b, bt, c, ct = (d[n].astype(np.float64) for n in ("a", "b", "bt", "c", "ct"))
        return {"c": _BETA * c + _ALPHA * b @ a, "ct": _BETA * ct + _ALPHA * bt.T @ a}

    return Case(
        f"shoc/gemm{name}",
        _LEVEL1 + "gemm/gemmN.cl",
        {
            "a": floats(_K, _M, dtype=dtype),
            "b": floats(_N, _K, dtype=dtype),
            "bt": floats(_K, _N, dtype=dtype),
            "c": floats(_N, _M, dtype=dtype),
            "ct": floats(_N, _M, dtype=dtype),
        },
        [
            Launch("sgemmNN", size, group, ("a", _M, "b", _K, "c", _M, _K, *factors)),
            Launch("sgemmNT", size, group, ("a", _M, "bt", _N, "ct", _M, _K, *factors)),
        ],
        ("c", "ct"),
        options,
        expected=expected,
    )


# -- md ----------------------------------------------------------------------------------------------------------------

_ATOMS, _NEAR = 512, 24


def _md(name: str, dtype: type, options: str) -> Case:
    def expected(d: Data) -> Mapping[str, np.ndarray]:
        position = d["position"].astype(np.float64)[:, :3]
        offset = position[None] - position[d["near"]]
        r2 = (offset**2).sum(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = 1 / r2
            force = inverse * inverse**3 * (1.5 * inverse**3 - 2.0)
            total = np.where((r2 < 16)[..., None], offset * force[..., None], 0).sum(0)
        return {"force": np.concatenate([total, np.zeros((_ATOMS, 1))], 1)}

    return Case(
        f"shoc/md{name}",
        _LEVEL1 + "md/md.cl",
        {
            "force": zeros(_ATOMS, 4, dtype=dtype),
            "position": floats(_ATOMS, 4, high=20.0, dtype=dtype),
            # Never the atom itself.
            "near": lambda rng: ((np.arange(_ATOMS) + rng.integers(1, _ATOMS, (_NEAR, _ATOMS))) % _ATOMS).astype(
                np.int32
            ),
        },
        [
            _line(
                "compute_lj_force",
                _ATOMS,
                64,
                *("force", "position", _NEAR, "near", dtype(16.0), dtype(1.5), dtype(2.0), _ATOMS),
            )
        ],
        ("force",),
        options,
        expected=expected,
    )


# -- md5hash -----------------------------------------------------------------------------------------------------------

_LETTERS, _LENGTH = 10, 4
_SECRET = bytes([3, 1, 4, 1])


def _digest() -> np.ndarray:
    return np.frombuffer(hashlib.md5(_SECRET).digest(), np.uint32)


# -- scan, reduction, sort ---------------------------------------------------------------------------------------------

_ITEMS, _GROUP, _GROUPS = 4096, 64, 8


def _scan(name: str, dtype: type, options: str) -> Case:
    memory = Local(2 * _GROUP * np.dtype(dtype).itemsize)
    return Case(
        f"shoc/scan{name}",
        _LEVEL1 + "scan/scan.cl",
        {"in": floats(_ITEMS, dtype=dtype), "sums": zeros(_GROUPS, dtype=dtype), "out": zeros(_ITEMS, dtype=dtype)},
        [
            _line("reduce", _GROUP * _GROUPS, _GROUP, "in", "sums", _ITEMS, memory),
            _line("top_scan", _GROUP, _GROUP, "sums", _GROUPS, memory),
            _line("bottom_scan", _GROUP * _GROUPS, _GROUP, "in", "sums", "out", _ITEMS, memory),
        ],
        ("out",),
        options,
        expected=lambda d: {"out": np.cumsum(d["in"].astype(np.float64))},
    )


def _reduction(name: str, dtype: type, options: str) -> Case:
    def expected(d: Data) -> Mapping[str, np.ndarray]:
        numbers = d["in"].astype(np.float64)
        return {"sums": numbers.reshape(-1, _GROUPS, 2 * _GROUP).sum((0, 2)), "sum": numbers.sum(keepdims=True)}

    return Case(
        f"shoc/reduction{name}",
        _LEVEL1 + "reduction/reduction.cl",
        {"in": floats(_ITEMS, dtype=dtype), "sums": zeros(_GROUPS, dtype=dtype), "sum": zeros(1, dtype=dtype)},
        [
            _line(
                "reduce",
                _GROUP * _GROUPS,
                _GROUP,
                *("in", "sums", Local(_GROUP * np.dtype(dtype).itemsize), np.uint32(_ITEMS)),
            ),
            _line("reduceNoLocal", 1, 1, "in", "sum", np.uint32(_ITEMS)),
        ],
        ("sums", "sum"),
        options,
        expected=expected,
        tolerance=1e-3 if dtype is np.float32 else None,  # one sum of them all, one after another
    )


def _sort_steps() -> list[Launch]:
    steps = []
    source, target = "keys", "other"
    for shift in range(0, 32, 4):
        args = (_ITEMS, Local(8 * _GROUP), shift)
        steps += [
            _line("reduce", _GROUP * _GROUPS, _GROUP, source, "sums", *args),
            _line("top_scan", _GROUP, _GROUP, "sums", _GROUPS, Local(8 * _GROUP)),
            _line("bottom_scan", _GROUP * _GROUPS, _GROUP, source, "sums", target, *args),
        ]
        source, target = target, source
    return steps


# -- spmv --------------------------------------------------------------------------------------------------------------

_SPARSE_ROWS, _LONGEST = 300, 40


def _lengths() -> np.ndarray:
    return (np.arange(_SPARSE_ROWS) * 7) % (_LONGEST + 1)


_NONZERO = int(_lengths().sum())


def _spmv(name: str, dtype: type, options: str) -> list[Case]:
    vector = floats(_SPARSE_ROWS, dtype=dtype)
    rows = values(lambda: np.concatenate([[0], np.cumsum(_lengths())]).astype(np.int32))

    def by_rows(d: Data) -> Mapping[str, np.ndarray]:
        row = np.repeat(np.arange(_SPARSE_ROWS), _lengths())
        products = d["val"].astype(np.float64) * d["vec"][d["cols"]]
        total = np.bincount(row, products, _SPARSE_ROWS)
        return {"out": total, "out2": total}

    def by_columns(d: Data) -> Mapping[str, np.ndarray]:
        products = d["val"].astype(np.float64) * d["vec"][d["cols"]]
        products[np.arange(_LONGEST)[:, None] >= _lengths()] = 0
        return {"out": products.sum(0)}

    matrix = ("val", "vec", "cols")
    return [
        Case(
            f"shoc/spmv-csr{name}",
            _LEVEL1 + "spmv/spmv.cl",
            {
                "val": floats(_NONZERO, dtype=dtype),
                "vec": vector,
                "cols": ints(_NONZERO, high=_SPARSE_ROWS),
                "rows": rows,
                "out": zeros(_SPARSE_ROWS, dtype=dtype),
                "out2": zeros(_SPARSE_ROWS, dtype=dtype),
            },
            [
                _line("spmv_csr_scalar_kernel", _SPARSE_ROWS, 64, *matrix, "rows", _SPARSE_ROWS, "out"),
                # A row has 32 work-items of a group of 128; the barriers want all rows of a group to exist.
                _line("spmv_csr_vector_kernel", 32 * _SPARSE_ROWS, 128, *matrix, "rows", _SPARSE_ROWS, 32, "out2"),
            ],
            ("out", "out2"),
            options,
            expected=by_rows,
        ),
        Case(
            f"shoc/spmv-ellpackr{name}",
            _LEVEL1 + "spmv/spmv.cl",
            {
                "val": floats(_LONGEST, _SPARSE_ROWS, dtype=dtype),
                "vec": vector,
                "cols": ints(_LONGEST, _SPARSE_ROWS, high=_SPARSE_ROWS),
                "lengths": values(lambda: _lengths().astype(np.int32)),
                "out": zeros(_SPARSE_ROWS, dtype=dtype),
            },
            [_line("spmv_ellpackr_kernel", _SPARSE_ROWS, 64, *matrix, "lengths", _SPARSE_ROWS, "out")],
            ("out",),
            options,
            expected=by_columns,
        ),
    ]


# -- stencil2d ---------------------------------------------------------------------------------------------------------

_TILE_ROWS, _TILE_COLUMNS, _PITCH = 8, 64, 16


def _stencil(name: str, dtype: type, options: str) -> Case:
    rows, columns = 5 * _TILE_ROWS, 2 * _TILE_COLUMNS
    padded = -(-(columns + 2) // _PITCH) * _PITCH
    weights = (dtype(0.25), dtype(0.15), dtype(0.05))

    def expected(d: Data) -> Mapping[str, np.ndarray]:
        a = d["data"].astype(np.float64)
        shifted = {(i, j): a[1 + i : rows + 1 + i, 1 + j : columns + 1 + j] for i in (-1, 0, 1) for j in (-1, 0, 1)}
        new = d["new"].astype(np.float64)
        new[1:-1, 1 : columns + 1] = sum(weights[abs(i) + abs(j)] * part for (i, j), part in shifted.items())
        return {"new": new, "copy": a}

    memory = Local((_TILE_ROWS + 2) * (_TILE_COLUMNS + 2) * np.dtype(dtype).itemsize)
    return Case(
        f"shoc/stencil2d{name}",
        _LEVEL1 + "stencil2d/stencil2d.cl",
        {
            "data": floats(rows + 2, padded, dtype=dtype),
            "new": zeros(rows + 2, padded, dtype=dtype),
            "copy": zeros(rows + 2, padded, dtype=dtype),
        },
        [
            Launch("StencilKernel", (5, columns), (1, _TILE_COLUMNS), ("data", "new", _PITCH, *weights, memory)),
            _line("CopyRect", rows + 2, 64, "copy", 0, padded, "data", 0, padded, padded, rows + 2),
        ],
        ("new", "copy"),
        f"{options} -DLROWS={_TILE_ROWS}",
        expected=expected,
    )


# -- s3d ---------------------------------------------------------------------------------------------------------------

_POINTS = 128


def _s3d(file: str, arrays: str, *args: object, kernel: str = "", single: float = 2e-4) -> list[Case]:
    """A kernel of the chemistry of combustion, alone on random data, in single and in double precision.

    ``arrays``: the ones among its arguments that it changes. ``single``: how far these may be off in single precision.
    """
    makes = {"p": (1, 1.0, 2.0), "t": (1, 0.5, 3.0), "y": (22, 0.01, 1.0), "c": (22, 0.01, 1.0)}
    makes |= {"rf": (206, 0.1, 1.0), "rb": (206, 0.1, 1.0), "eg": (32, 0.5, 1.5), "rklow": (21, 0.1, 1.0)}
    makes |= {"wdot": (22, 0.0, 1.0), "molwt": (22, 1.0, 40.0), "a": (132, 0.1, 1.0)}
    cases = []
    for name, real, tolerance, options in (
        ("", np.float32, single, _SINGLE),
        ("-double", np.float64, 1e-10, _DOUBLE),
    ):
        used = {
            str(n): floats(makes[str(n)][0], _POINTS, low=makes[str(n)][1], high=makes[str(n)][2], dtype=real)
            for n in args
            if isinstance(n, str)
        }
        numbers = [n if isinstance(n, str) else real(n) for n in args]
        step = _line(kernel or f"{file}_kernel", _POINTS, 64, *numbers)
        options = f"{options} -DN_GP={_POINTS} -DDIM=4"
        cases.append(
            Case(
                f"shoc/s3d-{file}{name}",
                f"{_S3D}{file}.cl",
                used,
                [step],
                tuple(arrays.split()),
                options,
                tolerance=tolerance,
                elementwise=True,
            )
        )
    return cases


_RATES = ("rf", "rb", "wdot", 1.5, "molwt")

CASES: tuple[Case, ...] = (
    Case(
        "shoc/bfs",
        _LEVEL1 + "bfs/bfs_iiit.cl",
        {
            "levels": values(_levels),
            "starts": values(lambda: (np.arange(_VERTICES + 1) * _DEGREE).astype(np.uint32)),
            "edges": ints(_VERTICES * _DEGREE, high=_VERTICES, dtype=np.uint32),
            "flag": zeros(1, dtype=np.int32),
        },
        [
            _line(
                "BFS_kernel_warp",
                -(-_VERTICES // 32) * 32,
                64,
                *("levels", "starts", "edges", 32, 32, np.uint32(_VERTICES), level, "flag"),
            )
            for level in range(_LEVELS)
        ],
        ("levels",),
        expected=_bfs,
    ),
    *_fft("", np.float32, _SINGLE),
    *_fft("-double", np.float64, _DOUBLE),
    _gemm("", np.float32, _SINGLE),
    _gemm("-double", np.float64, _DOUBLE),
    _md("", np.float32, _SINGLE),
    _md("-double", np.float64, _DOUBLE),
    Case(
        "shoc/md5hash",
        _LEVEL1 + "md5hash/md5.cl",
        {"index": zeros(1, dtype=np.int32), "key": zeros(8, dtype=np.uint8), "digest": zeros(4, dtype=np.uint32)},
        [
            _line(
                "FindKeyWithDigest_Kernel",
                _LETTERS ** (_LENGTH - 1),
                64,
                *_digest(),
                *(_LETTERS**_LENGTH, _LENGTH, _LETTERS, "index", "key", "digest"),
            )
        ],
        ("index", "key", "digest"),
        expected=lambda d: {"key": np.frombuffer(_SECRET + bytes(4), np.uint8), "digest": _digest()},
    ),
    _reduction("", np.float32, _SINGLE),
    _reduction("-double", np.float64, _DOUBLE),
    _scan("", np.float32, _SINGLE),
    _scan("-double", np.float64, _DOUBLE),
    Case(
        "shoc/sort",
        _LEVEL1 + "sort/sort.cl",
        {
            "keys": ints(_ITEMS, high=1 << 32, dtype=np.uint32),
            "other": zeros(_ITEMS, dtype=np.uint32),
            "sums": zeros(16 * _GROUPS, dtype=np.uint32),
        },
        _sort_steps(),
        ("keys",),
        expected=lambda d: {"keys": np.sort(d["keys"])},
    ),
    *_spmv("", np.float32, _SINGLE),
    *_spmv("-double", np.float64, _DOUBLE),
    _stencil("", np.float32, _SINGLE),
    _stencil("-double", np.float64, _DOUBLE),
    *_s3d("gr_base", "c", "p", "t", "y", "c", 100.0, 1e6, kernel="gr_base"),
    *_s3d("rdsmh", "eg", "t", "eg", 1000.0),
    *_s3d("ratt", "rf", "t", "rf", 1000.0),
    *(case for k in range(2, 10) for case in _s3d(f"ratt{k}", "rb", "t", "rf", "rb", "eg", 1000.0)),
    *_s3d("ratt10", "rklow", "t", "rklow", 1000.0),
    *_s3d("ratx", "rf rb", "t", "c", "rf", "rb", "rklow", 1000.0),
    *_s3d("ratxb", "rf rb", "t", "c", "rf", "rb", "rklow", 1000.0),
    *_s3d("ratx2", "rf", "c", "rf"),
    *_s3d("ratx4", "rb", "c", "rb"),
    *_s3d("qssa", "rf rb a", "rf", "rb", "a"),
    *_s3d("qssab", "rf rb a", "rf", "rb", "a", single=2e-3),  # differences of nearly equal numbers
    *_s3d("qssa2", "rf rb", "rf", "rb", "a"),
    *(case for k in ("", 2, 3, 6, 7, 8, 9, 10) for case in _s3d(f"rdwdot{k}", "wdot", *_RATES)),
)
