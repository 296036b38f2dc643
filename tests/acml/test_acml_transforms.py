"""ACML's Fourier transforms and vector maths against NumPy and mpmath."""

import pickle
from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("scipy")
from headwater import acml
from headwater.acml import quick
from headwater.acml.vector import FUNCTIONS, ULPS
from headwater.errors import UsageError


def numbers(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return np.asfortranarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape))


@pytest.mark.parametrize("n", [1, 2, 7, 30, 101])
def test_one_dimension_both_directions_and_scale(n):
    x = numbers(n)
    y = x.copy()
    assert acml.zfft1d(0, n, y, None) == 0
    assert (y == x).all()
    assert acml.zfft1d(-1, n, y, None) == 0
    assert np.allclose(y, np.fft.fft(x, norm="ortho"))
    assert acml.zfft1d(1, n, y, None) == 0
    assert np.allclose(y, x)
    result = np.zeros(3 * n, complex)
    assert acml.zfft1dx(-2, 0.5, False, n, x, 1, result, 3, None) == 0
    assert np.allclose(result[::3], 0.5 * np.fft.fft(x))
    single = x.astype(np.complex64)
    assert acml.cfft1d(-1, n, single, None) == 0
    assert np.allclose(single, np.fft.fft(x, norm="ortho"), atol=1e-5)


def test_many_sequences_and_more_dimensions():
    x = numbers(6, 5)  # five sequences of six, end to end
    y = x.copy(order="F")
    assert acml.zfft1m(-1, 5, 6, y, None) == 0
    assert np.allclose(y, np.fft.fft(x, axis=0, norm="ortho"))
    spread = np.zeros(200, complex)
    assert acml.zfft1mx(-1, 1.0, False, 5, 6, x, 1, 6, spread, 5, 1, None) == 0
    assert np.allclose(spread[:30].reshape(6, 5), np.fft.fft(x, axis=0))
    y = x.copy(order="F")
    assert acml.zfft2d(-1, 6, 5, y, None) == 0
    assert np.allclose(y, np.fft.fft2(x, norm="ortho"))
    y, turned = x.copy(order="F"), np.zeros((5, 6), complex, order="F")
    assert acml.zfft2dx(1, 2.0, True, False, 6, 5, y, 1, 6, turned, 1, 5, None) == 0
    assert np.allclose(turned.T, 2 * np.fft.ifft2(x) * 30)
    x = numbers(4, 3, 5)
    y = x.copy(order="F")
    assert acml.zfft3d(-1, 4, 3, 5, y, None) == 0
    assert np.allclose(y, np.fft.fftn(x, norm="ortho"))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_real_sequences_as_hermitian_ones(n):
    x = np.random.default_rng(n).standard_normal(n)
    y, full = x.copy(), np.fft.fft(x, norm="ortho")
    assert acml.dzfft(1, n, y, None) == 0
    assert np.allclose(y[: n // 2 + 1], full.real[: n // 2 + 1])
    for j in range(1, (n - 1) // 2 + 1):
        assert np.isclose(y[n - j], full.imag[j])
    y[n // 2 + 1 :] *= -1
    assert acml.zdfft(1, n, y, None) == 0
    assert np.allclose(y, x)
    many = np.asfortranarray(np.random.default_rng(n).standard_normal((n, 3)).astype(np.float32))
    single = many.copy(order="F")
    assert acml.scfftm(3, n, single, None) == 0
    assert np.allclose(single[0], many.sum(axis=0) / n**0.5, atol=1e-5)


def test_wrong_arguments_of_transforms():
    x = numbers(8)
    before = x.copy()
    assert acml.zfft1d(5, 8, x, None) == -1
    assert acml.zfft1d(-1, 0, x, None) == -2
    assert acml.zfft2d(-1, 2, -4, x, None) == -3
    with pytest.raises(UsageError, match="zfft1d: x has 8 elements, and 9 are needed"):
        acml.zfft1d(-1, 9, x, None)
    with pytest.raises(UsageError, match="cfft1d: x is a NumPy array of complex64"):
        acml.cfft1d(-1, 8, x, None)
    with pytest.raises(UsageError, match="zfft1mx: y is written and shares memory with x"):
        acml.zfft1mx(-1, 1.0, 0, 1, 6, x[:6], 1, 6, x[2:], 1, 6, None)
    with pytest.raises(UsageError, match="zfft1mx: increments of x give elements of two sequences one place"):
        acml.zfft1mx(-1, 1.0, 1, 2, 4, x, 1, 1, x, 1, 1, None)
    assert (x == before).all()


def test_usual_calls_are_compiled_and_others_general():
    if quick.library() is None:
        pytest.skip("without a compiler, or on another Python, all calls are general")
    private = any(find_spec(name) for name in ("scipy.fft._pocketfft", "scipy.fft._duccfft"))
    for name in ("zfft1d", "cfft1d", "vrda_exp", "vrs4_logf", "matmul"):
        function = getattr(acml, name)
        assert type(function) is type(len) or ("fft" in name and not private)
        assert pickle.loads(pickle.dumps(function)) == function
    x = np.linspace(0.1, 90, 1003)
    long = np.full((2006, 2), -1.0)
    for name in ("exp", "log", "sin", "cos", "log2", "log10"):
        for y in (np.zeros(1005), long[:, 0]):  # the second has gaps: it takes the general way
            getattr(acml, f"vrda_{name}")(1003, x, y)
            assert (y[:1003] == getattr(np, name)(x)).all()
            assert y[1003] in (0, -1)
    shifted = x.copy()
    acml.vrda_exp(1002, shifted[:-1], shifted[1:])  # overlaps, as NumPy's may
    assert (shifted[1:] == np.exp(x[:-1])).all()
    z = np.exp(1j * x)
    for mode, wanted in ((-1, np.fft.fft(z, norm="ortho")), (2, z)):
        assert acml.zfft1d(mode, 1003, z, None) == 0
        assert np.allclose(z, wanted)


def ulps(found, exact, dtype):
    """Errors in units of the last place of the exact result rounded to the type."""
    rounded = np.array([float(value) for value in exact])
    spacing = np.spacing(np.abs(rounded).astype(dtype)).astype(np.float64)
    import mpmath

    return max(float(abs(mpmath.mpf(float(f)) - e) / s) for f, e, s in zip(found, exact, spacing, strict=True))


@pytest.mark.parametrize(("name", "kind"), ULPS)
def test_vector_maths_is_as_accurate_as_stated(name, kind):
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(3)
    dtype = np.float64 if kind == "d" else np.float32
    n, suffix = 600, "" if kind == "d" else "f"
    limits = {"sin": (-1000, 1000), "cos": (-1000, 1000), "exp": (-80, 80)}.get(name, (1e-3, 1e3))
    x = rng.uniform(*limits, n).astype(dtype)
    y = np.zeros(n, dtype)
    with mpmath.workprec(120):
        if name == "pow":
            other = rng.uniform(-8, 8, n).astype(dtype)
            acml.vrsa_powf(n, x, other, y)
            exact = [mpmath.power(mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in zip(x, other, strict=True)]
        else:
            getattr(acml, f"vr{kind}a_{name}{suffix}")(n, x, y)
            function = {"log2": lambda v: mpmath.log(v, 2), "log10": mpmath.log10}.get(name) or getattr(mpmath, name)
            exact = [function(mpmath.mpf(float(value))) for value in x]
        assert ulps(y, exact, dtype) <= ULPS[name, kind]


def test_vector_maths_names_and_lengths():
    x, y, z = np.array([0.5, 1.0, 2.0, 4.0]), np.zeros(4), np.zeros(4)
    acml.vrda_sincos(4, x, y, z)
    assert (y == np.sin(x)).all()
    assert (z == np.cos(x)).all()
    acml.vrda_exp(2, x, x)  # in place, the first two
    assert (x == [*np.exp([0.5, 1.0]), 2.0, 4.0]).all()
    acml.vrd2_log2(x[2:], y[:2])
    assert (y[:2] == [1, 2]).all()
    assert acml.fastexp(0.0) == 1
    assert acml.fastpow(2.0, 10.0) == 1024
    single = np.array([2, 3], np.float32)
    acml.vrsa_powxf(2, single, 2.0, single)
    assert (single == [4, 9]).all()
    with pytest.raises(UsageError, match="vrda_log: y has 4 elements, and 5 are needed"):
        acml.vrda_log(5, np.ones(5), y)
    with pytest.raises(UsageError, match="vrda_log: n is -1"):
        acml.vrda_log(-1, x, y)
    with pytest.raises(UsageError, match="vrda_log: x is an array of one dimension of float64"):
        acml.vrda_log(1, single, y)
    for call, message in (
        (lambda: acml.fastexp("a"), "fastexp: an argument is a real number, not 'a'"),
        (lambda: acml.fastexp(np.ones(3)), "fastexp: an argument is a real number, not array"),
        (lambda: acml.fastpow(1.0), "fastpow takes 2 arguments, not 1"),
        (lambda: acml.fastsin(1.0, 2.0), "fastsin takes 1 arguments, not 2"),
        (lambda: acml.vrsa_powxf(2, single, single, single), "vrsa_powxf: y is a real number, not array"),
        (lambda: acml.zfft1dx(-1, "a", True, 4, numbers(4), 1, None, 1, None), "zfft1dx: scale is a real number"),
    ):
        with pytest.raises(UsageError, match=message):
            call()
    special = np.array([np.inf, np.nan, -0.0])
    acml.vrda_exp(3, special, z[:3])
    assert z[0] == np.inf
    assert np.isnan(z[1])
    assert z[2] == 1
    assert set(FUNCTIONS) >= {"sin", "cos", "exp", "log"}
