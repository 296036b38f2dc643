"""Transforms of arrays by the processor or a GPU, whichever was faster; another device stands for the GPU."""

from functools import partial

import numpy as np
import pytest

pytest.importorskip("scipy")
import scipy.fft

from headwater import acml
from headwater.acml import costs, offload, split

SHAPE = (2, 4, 5)


class Gpu(split.DeviceWay):
    """The cpu device, which counts its transforms."""

    def __init__(self):
        super().__init__(split.resolve("cpu"))
        self.calls = 0

    def transform(self, name, x, *args, **options):
        self.calls += 1
        return super().transform(name, x, *args, **options)


@pytest.fixture
def gpu(monkeypatch):
    made = Gpu()
    monkeypatch.setattr(split, "present", lambda: (split._processor(), made))
    monkeypatch.setattr(offload, "_choice", offload.lru_cache(offload._choice.__wrapped__))
    monkeypatch.setattr("headwater.acml.offload.LEAST", 20)
    for name in ("fft", "ifft", "rfft", "irfft", "fft2", "fftn", "rfftn", "irfftn"):  # functions know the least size
        monkeypatch.setattr(acml, name, acml.places.find(name))
    return made


def numbers(dtype):
    rng = np.random.default_rng(3)
    found = rng.standard_normal(SHAPE)
    return (found + 1j * rng.standard_normal(SHAPE) if np.dtype(dtype).kind == "c" else found).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("fft", (), {}),
        ("fft", (7, 1), {"norm": "ortho"}),
        ("ifft", (), {"axis": 0, "n": 3}),
        ("fft2", (), {"axes": (0, 2)}),
        ("fft2", ((-1, 7),), {"overwrite_x": True}),
        ("irfft", (), {"axis": 1}),
        ("irfftn", (), {"norm": "forward"}),
    ],
)
def test_a_gpus_transforms_are_scipys(gpu, dtype, name, args, options):
    x = numbers(dtype)
    wanted = getattr(scipy.fft, name)(x.copy(), *args, **options)
    for _ in range(2 * offload.TRIES + 1):
        found = getattr(acml, name)(x.copy(), *args, **options)
        assert (type(found), found.dtype, found.shape) == (np.ndarray, wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=20 * np.finfo(dtype).eps)
    assert gpu.calls >= offload.TRIES


@pytest.mark.parametrize("fast", ["gpu", "processor"])
def test_the_way_that_was_fastest_is_kept(gpu, monkeypatch, fast):
    clock, x = [0.0], numbers(np.complex64)
    monkeypatch.setattr(offload.time, "perf_counter", lambda: clock[0])

    def taking(seconds, inner):
        def call(*args, **options):
            clock[0] += seconds
            return inner(*args, **options)

        return call

    monkeypatch.setattr(gpu, "transform", taking(1 if fast == "gpu" else 3, gpu.transform))
    scipys = taking(2, scipy.fft.fft)
    for _ in range(9):
        offload.transform("fft", scipys, (x,), {})
    assert gpu.calls == (9 - offload.TRIES if fast == "gpu" else offload.TRIES)


@pytest.mark.parametrize("error", [MemoryError, ValueError])
def test_what_a_gpu_cannot_do_is_the_processors(gpu, monkeypatch, error):
    calls, x = [], numbers(np.float64)

    def transform(*args, **options):
        calls.append(1)
        raise error("not here")

    monkeypatch.setattr(gpu, "transform", transform)
    for _ in range(6):
        np.testing.assert_array_equal(acml.rfft(x), scipy.fft.rfft(x))
    assert len(calls) == 1


def test_wrong_calls_and_other_types_are_scipys(gpu):
    x = numbers(np.float64)
    for _ in range(4):
        with pytest.raises(ValueError, match=r"(?i)invalid number of data points"):
            acml.fft(x, 0)
    for other in (x.astype(int), x.astype(">f8"), x.astype(np.longdouble), x[:1, :1], np.ma.masked_array(x)):
        assert acml.fft(other).dtype == scipy.fft.fft(other).dtype
    assert (acml.fft(x, workers=2) == scipy.fft.fft(x)).all()
    assert gpu.calls == 0


def test_what_scipy_refuses_no_gpu_gets(gpu, monkeypatch):
    x = numbers(np.complex64)
    monkeypatch.setattr(gpu, "transform", lambda name, x: scipy.fft.rfft(x.real))  # as CuPy's does
    for _ in range(4):
        with pytest.raises(TypeError, match="real sequence"):
            acml.rfft(x)


def test_results_of_another_type_or_shape_are_scipys(gpu, monkeypatch):
    x = numbers(np.float64)
    for _ in range(4):
        assert acml.fftn(x, axes=()).dtype == np.float64  # the device's is complex
    assert gpu.calls == 1
    monkeypatch.setattr(gpu, "transform", lambda name, x, s: scipy.fft.fftn(x, (3, 4)))  # CuPy takes -1 for a bound
    for _ in range(4):
        assert acml.fftn(x, (-1, -1)).shape == SHAPE


@pytest.mark.parametrize("module", [offload, split])
def test_another_thread_may_take_the_last_trial(gpu, monkeypatch, module):
    class Raced(list):
        """A list that another thread empties after one has looked whether there is something."""

        def __bool__(self):
            was = len(self) > 0
            self.clear()
            return was

    if module is offload:
        choice = offload.Choice(split.present())
        call = partial(choice, "fft", scipy.fft.fft, (numbers(np.float64),), {})
        call()
    else:
        monkeypatch.setattr(split, "of", lambda way, dtype: costs.Costs(1e-6, 1e9, ((1e4, 1e9), (1e9, 1e10))))
        monkeypatch.setattr(split, "sharing", lambda ways: 1.0)
        choice = split.Choice(8, 8, 8, "d")
        call = partial(choice, np.eye(8), np.eye(8))
    choice.left = Raced(choice.left[:1])
    for _ in range(3):
        assert isinstance(call(), np.ndarray)
