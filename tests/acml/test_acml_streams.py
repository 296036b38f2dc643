"""Products, factorizations, transforms and functions of elements of streams, on the cpu device and simulated chips."""

import math
from itertools import product

import numpy as np
import pytest

pytest.importorskip("scipy")
import scipy.fft

import headwater as hw
from headwater import acml
from headwater.acml.streams import fourier, fourier_blocks, products
from headwater.acml.streams.products import Tile, gemm, likely, matrix
from headwater.errors import DeviceError, ResourceError, UsageError

TYPES = (np.float32, np.float64, np.complex64, np.complex128)


def numbers(dtype, *shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else made).astype(dtype)


def close(found, wanted, dtype, times=50):
    found = found.read() if isinstance(found, hw.Stream) else found
    assert found.dtype == dtype
    assert found.shape == wanted.shape
    error = np.abs(found - wanted).max(initial=0) / max(np.abs(wanted).max(initial=0), 1)
    assert error <= times * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((1, 1), (1, 1)),
        ((5, 3), (3, 4)),
        ((70, 33), (33, 65)),
        ((6,), (6, 3)),
        ((4, 6), (6,)),
        ((6,), (6,)),
        ((3, 4, 5), (5, 2)),
        ((2, 1, 4, 5), (3, 5, 2)),
        ((3, 0), (0, 4)),
        ((0, 3), (3, 2)),
    ],
)
def test_matmul_is_numpys_and_stays_on_the_device(dtype, first, second):
    a, b = numbers(dtype, *first), numbers(dtype, *second, seed=1)
    found = np.matmul(hw.stream(a), hw.stream(b))
    assert isinstance(found, hw.Stream)
    close(found, np.matmul(a, b), dtype)
    close(np.matmul(hw.stream(a), b), np.matmul(a, b), dtype)  # an array joins


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("cut", [Tile(4, 16, 4, 0), Tile(2, 3, 8, 4), Tile(4, 4, 16, 8), Tile(1, 1, 16, 16)])
def test_kernels_of_all_shapes_take_transposes_parts_and_beta(dtype, cut):
    a, b, c = numbers(dtype, 40, 30), numbers(dtype, 40, 50, seed=1), numbers(dtype, 60, 70, seed=2)
    on = [hw.stream(array) for array in (a, b, c)]
    part = matrix(on[2]).part(slice(10, 40), slice(5, 55))
    wanted = c.copy()
    wanted[10:40, 5:55] = 2 * a.conj().T @ b - 3 * c[10:40, 5:55]
    gemm(2.0, matrix(on[0]).H, matrix(on[1]), -3.0, part, cut)
    close(on[2], wanted, dtype)
    c[10:40, 5:55] = np.nan  # not read where beta is 0
    on[2].write(c)
    gemm(1.0, matrix(on[0]).T, matrix(on[1]), 0.0, part, cut)
    close(on[2].read()[10:40, 5:55], a.T @ b, dtype)


@pytest.mark.parametrize("device", ["hd4870", "hd5870", "vega64"])
def test_products_on_simulated_chips(device):
    a, b = numbers(np.float32, 37, 20), numbers(np.float32, 20, 41, seed=1)
    found = np.matmul(hw.stream(a, device=device), hw.stream(b, device=device))
    assert found.device.name != "cpu"
    close(found, a @ b, np.float32)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 11, 13, 17, 30, 49, 64, 97, 120, 1009])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_transforms_of_any_length(n, dtype):
    x = numbers(dtype, 3, n, 2)
    for name in ("fft", "ifft"):
        found = getattr(np.fft, name)(hw.stream(x), axis=1)
        wanted = getattr(np.fft, name)(x.astype(complex), axis=1)
        assert found.dtype == dtype
        assert np.linalg.norm(found.read() - wanted) <= 6 * np.finfo(dtype).eps * np.linalg.norm(wanted)


@pytest.mark.parametrize(
    "name",
    [
        "fft",
        "ifft",
        "rfft",
        "irfft",
        "hfft",
        "ihfft",
        "fft2",
        "ifft2",
        "rfft2",
        "irfft2",
        "fftn",
        "ifftn",
        "rfftn",
        "irfftn",
        "hfft2",
        "ihfftn",
    ],
)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_the_back_end_of_scipy(name, norm):
    real = name in ("rfft", "rfft2", "rfftn", "ihfft", "ihfftn")
    x = numbers(np.float64 if real else np.complex128, 4, 6, 10)
    wanted = getattr(scipy.fft, name)(x, norm=norm)
    with scipy.fft.set_backend(acml.backend("cpu")):
        close(getattr(scipy.fft, name)(x, norm=norm), wanted, wanted.dtype)
    with scipy.fft.set_backend(acml.backend()):
        found = getattr(scipy.fft, name)(hw.stream(x), norm=norm)
        assert isinstance(found, hw.Stream)
        close(found, wanted, wanted.dtype)
        assert isinstance(getattr(scipy.fft, name)(x, norm=norm), np.ndarray)


def test_the_back_end_leaves_what_it_has_not_to_others():
    x = numbers(np.float64, 12)
    wanted = scipy.fft.dct(x)
    scipy.fft.set_global_backend(acml.backend("cpu"))  # in SciPy's place
    try:
        assert np.allclose(scipy.fft.dct(x), wanted)
        close(scipy.fft.fft(x), np.fft.fft(x), np.complex128)
        with pytest.raises(NotImplementedError, match="plan"):
            scipy.fft.fft(x, plan=object())
    finally:
        scipy.fft.set_global_backend("scipy")
    other = type("Other", (), {"__ua_domain__": "numpy.scipy.fft", "__ua_function__": lambda *args: "other's"})
    with scipy.fft.set_backend(other), scipy.fft.set_backend(acml.backend()):
        assert scipy.fft.dct(x) == scipy.fft.fft(x) == "other's"


def test_transforms_cut_and_pad_and_refuse():
    x = numbers(np.float64, 4, 10)
    with scipy.fft.set_backend(acml.backend("cpu")):
        for n in (3, 10, 16):
            close(scipy.fft.fft(x, n), np.fft.fft(x, n), np.complex128)
            close(scipy.fft.irfft(x, n, axis=0), np.fft.irfft(x, n, axis=0), np.float64)
        close(scipy.fft.fftn(x, (3, 12)), np.fft.fftn(x, (3, 12)), np.complex128)
        with pytest.raises(ValueError, match="invalid number of data points"):
            scipy.fft.fft(x, 0)
        with pytest.raises(TypeError, match="real sequence"):
            scipy.fft.rfft(x + 1j)
        assert scipy.fft.dct(x).shape == x.shape  # left to SciPy


@pytest.mark.parametrize("device", ["hd4870", "vega64"])
def test_transforms_on_simulated_chips(device):
    for n in (12, 17):
        x = numbers(np.complex64, 2, n)
        close(np.fft.fft(hw.stream(x, device=device)), np.fft.fft(x).astype(np.complex64), np.complex64, 10)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 5, 64, 150])
def test_factorizations_and_solutions(dtype, n):
    a, b, tall = numbers(dtype, n, n), numbers(dtype, n, 3, seed=1), numbers(dtype, n + 20, n, seed=2)
    a += n * np.eye(n, dtype=dtype)
    close(np.linalg.solve(hw.stream(a), hw.stream(b)), np.linalg.solve(a, b), dtype)
    close(acml.solve(hw.stream(a), b[:, 0].copy()), np.linalg.solve(a, b[:, 0]), dtype)
    definite = (a @ a.conj().T + n * np.eye(n)).astype(dtype)
    close(np.linalg.cholesky(hw.stream(definite)), np.linalg.cholesky(definite), dtype)
    factors, pivots = acml.lu_factor(hw.stream(tall))
    found, order = factors.read(), np.arange(n + 20)
    for i, p in enumerate(pivots):
        order[[i, p]] = order[[p, i]]
    close((np.tril(found, -1) + np.eye(n + 20, n, dtype=dtype)) @ np.triu(found[:n]), tall[order], dtype, 50 + 2 * n)
    assert np.abs(np.tril(found, -1)).max(initial=0) <= 2  # pivots are the largest of their columns
    for x in (tall, np.ascontiguousarray(tall.T)):
        q, r = (part.read() for part in np.linalg.qr(hw.stream(x)))
        close(q @ r, x, dtype)
        close(q.conj().T @ q, np.eye(q.shape[1]), dtype)
        assert not np.tril(r, -1).any()


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_of_scipy_have_its_defaults_on_streams(dtype):
    n = 70
    a = numbers(dtype, n, n)
    full = a @ a.conj().T + n * np.eye(n, dtype=dtype)
    other = np.full((n, n), np.nan, dtype)  # the triangle that is not read
    for upper in (False, True):
        half = np.triu(full) + np.tril(other, -1) if upper else np.tril(full) + np.triu(other, 1)
        close(np.linalg.cholesky(hw.stream(half), upper=upper), np.linalg.cholesky(half, upper=upper), dtype)
        found = acml.cholesky(hw.stream(half), lower=not upper, check_finite=False)
        close(found, acml.cholesky(full, lower=not upper), dtype)
    close(acml.cholesky(hw.stream(full)), acml.cholesky(full), dtype)
    for m, columns in ((70, 3), (3, 70), (3, 0), (0, 3)):
        x = numbers(dtype, m, columns)
        for options in ({}, {"mode": "economic"}):
            q, r = (part.read() for part in acml.qr(a=hw.stream(x), **options))
            assert [q.shape, r.shape] == [part.shape for part in acml.qr(x, **options)]
            close(q @ r, x, dtype)
            close(q.conj().T @ q, np.eye(q.shape[1], dtype=dtype), dtype)
    (r,) = acml.qr(hw.stream(a), mode="r")
    close(r, acml.qr(hw.stream(a))[1].read(), dtype)


def test_options_of_scipy_on_streams():
    a, b = numbers(np.float64, 4, 4) + 4 * np.eye(4), numbers(np.float64, 4)
    s = hw.stream(a)
    close(acml.solve(s, b, False, True, True, assume_a="gen"), acml.solve(a, b), np.float64)
    close(acml.lu_factor(s, True)[0], acml.lu_factor(a)[0], np.float64)
    close(acml.cholesky(hw.stream(a @ a.T), True, True), acml.cholesky(a @ a.T, True), np.float64)
    for wrong in ({"transposed": True}, {"assume_a": "pos"}, {"lower": True}):
        with pytest.raises(UsageError, match=f"solve: {next(iter(wrong))} is .*; of streams it is"):
            acml.solve(s, b, **wrong)
    with pytest.raises(UsageError, match="qr: pivoting is True; of streams it is False"):
        acml.qr(s, pivoting=True)
    with pytest.raises(UsageError, match="lu_factor: got an unexpected keyword argument 'p'"):
        acml.lu_factor(s, p=1)


def test_types_of_scipy_on_streams():
    a = np.array([[3, 1], [1, 2]])
    for dtype, wanted in ((np.int8, np.float64), (np.uint64, np.float64), (bool, np.float64), (np.float16, np.float32)):
        found = acml.solve(hw.stream((np.eye(2) if dtype is bool else a).astype(dtype)), np.ones(2, dtype))
        assert found.dtype == wanted
        close(found, np.linalg.solve(np.eye(2) if dtype is bool else a, np.ones(2)), wanted)
    with pytest.raises(UsageError, match="solve: streams of float128 are not computed with"):
        acml.solve(hw.stream(a.astype(float)), np.ones(2, np.longdouble))
    with pytest.raises(UsageError, match="solve: streams of <U1 are not computed with"):
        acml.solve(hw.stream(a.astype(float)), np.array(["a", "b"]))


def test_what_numpy_takes_is_taken_beside_streams():
    a, rows = numbers(np.float64, 3, 3), [[1.0, 2.0, 3.0]]
    s = hw.stream(a)
    close(np.matmul(rows, s), np.matmul(rows, a), np.float64)
    assert np.allclose(np.dot(s, 2.0), np.dot(a, 2.0))
    close(np.linalg.solve(s, rows[0]), np.linalg.solve(a, rows[0]), np.float64)
    stack = numbers(np.float64, 2, 3, 3)
    assert np.allclose(np.linalg.solve(hw.stream(stack), s), np.linalg.solve(stack, a))
    whole = np.array([[2, 1], [1, 3]])
    for function in (np.linalg.cholesky, np.linalg.inv):
        assert np.allclose(function(hw.stream(whole)), function(whole))
    assert np.allclose(np.linalg.solve(hw.stream(whole), whole), np.eye(2))
    assert np.allclose(np.linalg.qr(hw.stream(whole))[1], np.linalg.qr(whole)[1])
    for function in (np.modf, np.frexp):
        for found, wanted in zip(function(s), function(a), strict=True):
            close(found, wanted, wanted.dtype) if wanted.dtype.kind == "f" else np.testing.assert_equal(
                found.read(), wanted
            )


def test_transforms_of_ints_are_of_doubles_and_lengths_are_whole():
    for dtype in (np.int8, np.uint16, np.bool_, np.int64, np.float16):
        x = np.arange(8).astype(dtype)
        for name in ("fft", "rfft", "irfft", "hfft"):
            wanted = getattr(acml, name)(x)
            close(getattr(acml, name)(hw.stream(x)), wanted, wanted.dtype)
    for dtype in (">f4", ">f8", ">c8", ">c16"):
        x = np.arange(8).astype(dtype)
        wanted = np.fft.fft(x)
        close(np.fft.fft(hw.stream(x)), wanted, wanted.dtype)
    s = hw.stream(np.ones((4, 2)))
    for n, error in ((2.5, TypeError), (-1, ValueError), (0, ValueError)):
        for function in (np.fft.fft, np.fft.irfft):
            with pytest.raises(error):
                function(s, n)
    assert np.fft.fftn(s, s=(-1, 3), axes=(0, 1)).shape == (4, 3)
    with pytest.raises(UsageError, match="fft: streams are transformed with n, axis"):
        acml.fft(s, 2, -1, None, True)


@pytest.mark.skipif(np.finfo(np.longdouble).bits == 64, reason="no long doubles here")
def test_long_doubles_keep_their_precision_or_are_refused():
    x = np.arange(8, dtype=np.longdouble) / 3
    assert (np.fft.fft(hw.stream(x)) == np.fft.fft(x)).all()
    for function in (acml.fft, acml.rfft):
        with pytest.raises(UsageError, match="streams of float128 are not transformed"):
            function(hw.stream(x))


def test_axes_that_numpy_transforms_twice():
    x, stream = numbers(np.float64, 4, 4), hw.stream(numbers(np.float64, 4, 4))
    for name in ("fftn", "irfftn", "rfftn"):
        for s in (None, (3, 6), (6, 3)):
            wanted = getattr(np.fft, name)(x, s, axes=(1, 1))
            close(getattr(np.fft, name)(stream, s, axes=(1, 1)), wanted, wanted.dtype)
        with pytest.raises(ValueError, match="axes must be unique"):
            getattr(acml, name)(stream, axes=(1, 1))


@pytest.mark.parametrize("device", ["cpu", "hd4850"])
def test_numbers_that_are_not_finite_are_refused_as_by_scipy(device):
    bad = np.eye(3, dtype=np.float32)
    bad[1, 2] = np.inf
    a, b = (hw.stream(value, device=device) for value in (np.eye(3, dtype=np.float32), bad))
    for call in (acml.lu_factor, acml.qr, lambda x, **o: acml.solve(a, x, **o), lambda x, **o: acml.solve(x, a, **o)):
        with pytest.raises(ValueError, match="infs or NaNs"):
            call(b)
    acml.qr(b, check_finite=False)
    assert acml.solve(a, np.ones(3, np.float32), check_finite=False).read().tolist() == [1, 1, 1]


def test_matrices_that_have_no_factors():
    singular, nothing = hw.stream(np.ones((3, 3))), np.zeros((3, 0))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        np.linalg.solve(singular, nothing)
    assert acml.solve(singular, nothing).shape == (3, 0)  # as SciPy, which does not look at the matrix
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        np.linalg.solve(hw.stream(np.zeros((3, 3))), hw.stream(np.ones(3)))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        np.linalg.cholesky(hw.stream(-np.eye(3)))
    with pytest.raises(UsageError, match=r"solve: a square matrix is needed, not one of shape \(2, 3\)"):
        np.linalg.solve(hw.stream(np.ones((2, 3))), hw.stream(np.ones(2)))
    with pytest.raises(UsageError, match=r"matmul: shapes \(2, 3\) and \(2, 3\) do not fit"):
        np.matmul(hw.stream(np.ones((2, 3))), hw.stream(np.ones((2, 3))))
    with pytest.raises(UsageError, match="streams of int64 are not computed with"):
        np.matmul(hw.stream(np.ones((2, 2), int)), hw.stream(np.ones((2, 2), int)))


def test_products_on_a_chip_factorize_there():
    a, b = numbers(np.float32, 80, 80) + 80 * np.eye(80, dtype=np.float32), numbers(np.float32, 80, 2, seed=1)
    found = np.linalg.solve(hw.stream(a, device="vega64"), hw.stream(b, device="vega64"))
    assert found.device.name != "cpu"
    close(found, np.linalg.solve(a, b), np.float32)


def test_functions_of_elements():
    x = np.abs(numbers(np.float64, 3, 5)) + 0.5
    s = hw.stream(x)
    for function in (np.exp, np.log, np.log2, np.log10, np.sin, np.cos, np.tan, np.sqrt, np.floor, np.negative, np.abs):
        close(function(s), function(x), np.float64, 4)
    z = numbers(np.complex64, 4)
    for function in (np.add, np.subtract, np.multiply):
        close(function(hw.stream(z), hw.stream(z[::-1].copy())), function(z, z[::-1]), np.complex64)
        close(function(s, 2), function(x, 2), np.float64)
        close(function(x, s), function(x, x), np.float64)
    close(np.divide(1.0, s), 1 / x, np.float64)
    single = hw.stream(x.astype(np.float32))
    assert np.multiply(single, 2.0).dtype == np.float32  # Python's numbers do not change the type
    broadcast = np.add(s, np.ones(5))  # no kernel: through arrays, and a stream again
    assert isinstance(broadcast, hw.Stream)
    close(broadcast, x + np.ones(5), np.float64)


def test_other_functions_of_numpy_get_arrays():
    x = numbers(np.float64, 3, 5)
    s = hw.stream(x)
    assert np.sum(s) == np.sum(x)
    assert (np.concatenate([s, s]) == np.concatenate([x, x])).all()
    assert np.allclose(s, x)
    with pytest.raises(TypeError):
        np.add(s, s, out=x)
    with pytest.raises(TypeError):
        np.add.reduce(s)


def test_tiles_for_gpus_multiply_matrices_of_any_layout():
    dtype, (m, n, k) = np.dtype(np.float64), (34, 18, 11)
    cut = products.Tile(4, 2, 8, 8, True)
    assert cut in products.candidates(dtype)
    x, y = numbers(dtype, m, k), numbers(dtype, k, n)
    for turned in (False, True):
        a, b = (hw.stream(np.ascontiguousarray(v.T if turned else v)) for v in (x, y))
        c = hw.stream(np.ones((n, m) if turned else (m, n)))
        p, q, r = (products.matrix(s).T if turned else products.matrix(s) for s in (a, b, c))
        for beta, wanted in ((0.0, 2 * x @ y), (0.5, 3 * x @ y)):
            products.gemm(2.0, p, q, beta, r, cut)
            close(c.read().T if turned else c.read(), wanted, dtype)


def test_the_fastest_right_tile_is_measured_once_and_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(products, "_MEASURED", (32, 48))
    plain, refused, wrong, good = (products.Tile(1, columns, 2, 0) for columns in (1, 2, 3, 4))
    monkeypatch.setattr(products, "likely", lambda dtype, large: [plain, refused, wrong, good])
    seconds, calls, gemm = iter([3.0, 2.0, 1.0, 2.0]), [], products.gemm

    def counted(alpha, a, b, beta, c, cut):
        calls.append(cut)
        if cut is refused:
            raise UsageError("too many registers")
        gemm(2 * alpha if cut is wrong else alpha, a, b, beta, c, cut)

    monkeypatch.setattr(products, "gemm", counted)
    monkeypatch.setattr(products, "best", lambda call, times: next(seconds))
    device, dtype = hw.device("cpu"), np.dtype(np.float32)
    for _ in range(2):
        products.fastest.cache_clear()
        assert products.fastest(device, dtype, False) is good
        assert calls == [plain, plain, refused, wrong, wrong, good, good]
    assert products.fastest(device, dtype, True) is plain  # the larger product has times of its own
    products.fastest.cache_clear()
    for kind, large in product(TYPES, (False, True)):
        assert all(cut in products.candidates(np.dtype(kind)) for cut in likely(np.dtype(kind), large)[1:])


def test_tiles_are_not_measured_where_there_is_no_memory_for_it(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    products.fastest.cache_clear()

    def none_left(*args, **options):
        raise ResourceError("out of device memory")

    monkeypatch.setattr(products, "stream", none_left)
    dtype = np.dtype(np.float64)
    assert products.fastest(hw.device("cpu"), dtype, True) == likely(dtype, True)[0]
    products.fastest.cache_clear()


def test_elements_that_32_bits_cannot_count_are_refused_before_the_product():
    a, c = (hw.stream(numbers(np.float32, 2, 2)) for _ in range(2))
    before = c.read()
    far = products.Matrix(a, 2, 2, 0, 2**31 - 1, 1)
    with pytest.raises(ResourceError, match="a matrix with 2147483649 elements: the kernels count them with 32 bits"):
        products.gemm(1.0, products.matrix(a), far, 0.0, products.matrix(c))
    assert (c.read() == before).all()


@pytest.mark.parametrize("fault", [None, "wrong", "refused"])
def test_a_layout_that_a_driver_compiles_wrongly_is_left_to_the_plain_kernel(monkeypatch, tmp_path, fault):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    dtype, cut, used = np.dtype(np.complex64), products.Tile(2, 2, 8, 8, True), []
    monkeypatch.setattr(products, "tile", lambda *args: cut)
    program = products.program

    def compiled(file, options, device):
        used.append("BUFFERED" in options)
        if used[-1] and fault == "refused":
            raise DeviceError("too many registers")
        if used[-1] and fault == "wrong":
            options = options.replace(" -D CONJUGATE_A", "")
        return program(file, options, device)

    monkeypatch.setattr(products, "program", compiled)
    x, y = numbers(dtype, 11, 5), numbers(dtype, 11, 7)
    products.is_right.cache_clear()
    for _ in range(2):
        c = hw.stream(np.zeros((5, 7), dtype))
        used.clear()
        products.gemm(1.0, products.matrix(hw.stream(x)).H, products.matrix(hw.stream(y)), 0.0, products.matrix(c))
        close(c.read(), x.conj().T @ y, dtype)
        assert used[-1] == (fault is None)
    assert len(used) == 1  # the trial is over
    products.is_right.cache_clear()


def test_a_trial_of_a_layout_has_parts_of_vectors_and_sums(monkeypatch):
    device, dtype, cut, fault = hw.device("cpu"), np.dtype(np.float32), products.Tile(4, 4, 8, 8, True), ""
    layout = products.Layout(True, True, True, True, False, False)

    def faulty(alpha, a, b, beta, c, cut):
        if cut.buffered:
            assert products.Layout.of(a, b, c) == layout
            if fault == "parts":
                whole = slice(0, c.columns // 4 * 4)
                b, c = (part.part(slice(0, part.rows), whole) for part in (b, c))
            beta = 0.0 if fault == "sums" else beta
        gemm(alpha, a, b, beta, c, cut)

    monkeypatch.setattr(products, "gemm", faulty)
    monkeypatch.setattr(products, "kept", lambda names, found: found())
    for fault in ("", "parts", "sums"):
        products.is_right.cache_clear()
        assert products.is_right(device, dtype, cut, layout) == (not fault)
    products.is_right.cache_clear()


def test_passes_for_gpus_are_measured_once_and_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(fourier, "_MEASURED", ((3, 12), (1, 16)))
    monkeypatch.setattr(fourier, "is_right", lambda *args: True)
    device = hw.device("cpu")
    # small passes, one pass whole and split, and a pass of each run
    times = iter([2.0, 3.0, 1.0, 4.0, 2.0, 3.0, 1.0, 3.0, 2.0, 4.0, 2.0, 3.0])
    monkeypatch.setattr(fourier, "best", lambda call, count: next(times))
    for dtype, faster in ((np.complex64, True), (np.complex128, False)):
        for _ in range(2):  # from the cache then
            fourier.measured.cache_clear()
            found = fourier.measured(device, np.dtype(dtype))
            assert found["pays"] is faster
            assert found["split"]
            assert {int(run): cost for run, cost in found["costs"].items()} == {128: 4.0, 64: 2.0, 32: 3.0}
    fourier.measured.cache_clear()


def test_one_pass_is_compared_with_one_pass(monkeypatch, tmp_path):
    """On a device whose local memory holds 4,096 numbers in halves only."""
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(fourier, "_MEASURED", ((2, 4096), (1, 8192)))
    monkeypatch.setattr(fourier, "_limits", lambda device: (32768, 256))
    monkeypatch.setattr(fourier, "is_right", lambda *args: True)
    monkeypatch.setattr(fourier, "best", lambda call, count: 1.0)
    seconds, seen = fourier._seconds, []

    def spied(on, n, split, run):
        seen.append((on.shape, split, *seconds(on, n, split, run)))
        return seen[-1][2:]

    monkeypatch.setattr(fourier, "_seconds", spied)
    fourier.measured.cache_clear()
    found = fourier.measured(hw.device("cpu"), np.dtype(np.complex64))
    fourier.measured.cache_clear()
    assert seen[:2] == [((4, 2048), False, 1.0, 1), ((4, 2048), True, 1.0, 1)]
    assert found["costs"] == {128: 0.5, 64: 0.5, 32: 0.5}  # of two


def test_lengths_get_the_passes_that_take_least():
    limits, dtype, costs = (49152, 1024), np.dtype(np.complex64), {128: 1.0, 64: 1.4, 32: 1.9}

    def radices(n, near=True, split=False, costs=costs):
        return [block.radix for block in fourier_blocks.chosen(n, dtype, limits, near, split, costs)]

    (whole,), (split,) = (fourier_blocks.chosen(4096, dtype, limits, True, way, costs) for way in (False, True))
    assert (whole.split, split.split) == (False, True)
    assert radices(8192) == [8192]  # split, because it would not fit
    assert radices(8192, near=False) == [128, 64]
    assert radices(1 << 20) == [1024, 1024]
    assert radices(1 << 22) == [256, 128, 128]
    assert radices(1 << 22, costs={128: 1.0, 64: 1.4, 32: 1.4}) == [2048, 2048]


@pytest.mark.parametrize("fault", ["other", "nan", "backward", "refused", ""])
def test_blocks_that_a_driver_compiles_wrongly_are_not_used(monkeypatch, fault):
    device, dtype, by_passes = hw.device("cpu"), np.dtype(np.complex64), fourier.by_passes
    steps = fourier.blocks(12, dtype, 32768, 256, True, False)

    def faulty(value, n, inner, direction, scale, large):
        if large and fault == "refused":
            raise DeviceError("too many registers")
        found = by_passes(value, n, inner, direction, scale, large)
        if not large or not fault or (fault == "backward" and direction > 0):
            return found
        return hw.stream(found.read() * (np.nan if fault == "nan" else 1.01))

    monkeypatch.setattr(fourier, "by_passes", faulty)
    fourier.is_right.cache_clear()
    assert fourier.is_right(device, dtype, (1, 12), steps) == (not fault)
    fourier.is_right.cache_clear()


@pytest.mark.parametrize(
    ("n", "inner", "local_bytes", "split", "count"),
    [(48, 1, 8192, False, 1), (48, 1, 8192, True, 1), (48, 1, 192, True, 2), (26, 5, 512, True, 2)],
)
def test_blocks_for_gpus_transform_any_axis(n, inner, local_bytes, split, count):
    steps = fourier.blocks(n, np.dtype(np.complex64), local_bytes, 64, inner == 1, split, 32)
    assert len(steps) == count
    x = numbers(np.complex64, 3, n, inner)
    forward = fourier.by_passes(hw.stream(x), n, inner, 1, 1.0, steps)
    close(forward, np.fft.fft(x, axis=1), np.complex64)
    close(fourier.by_passes(forward, n, inner, -1, 1.0 / n, steps), x, np.complex64)


def test_blocks_cover_lengths_of_small_primes():
    for n, near, split in product(
        (2, 8, 16, 1000, 4096, 1 << 20, 13 * 11 * 7 * 5 * 3 * 2, 1 << 24), (True, False), (True, False)
    ):
        for dtype, limit in product((np.dtype(np.complex64), np.dtype(np.complex128)), (32768, 40960, 65536)):
            steps = fourier.blocks(n, dtype, limit, 256, near, split)
            assert math.prod(block.radix for block in steps) == n
            assert [block.done for block in steps] == [
                math.prod(block.radix for block in steps[:at]) for at in range(len(steps))
            ]
            for block in steps:
                assert math.prod(block.stages) == block.radix
                assert block.held >= max(block.stages)
                whole = near and len(steps) == 1  # `data` of fourier_blocks.cl
                places = block.columns * (n + n // 16) if whole else block.radix * (block.columns + 1)
                assert places * dtype.itemsize // (2 if block.split else 1) <= limit
    dtype = np.dtype(np.complex64)
    assert fourier.blocks(17, dtype, 32768, 256, True, False) is None
    assert fourier.blocks(1, dtype, 32768, 256, True, False) is None
    assert fourier.blocks(16, dtype, 32, 256, True, False) is None  # no memory for two columns
