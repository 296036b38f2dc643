"""Transforms of arrays by the processor or a GPU, whichever was faster; another device stands for the GPU."""

import numpy as np
import pytest

pytest.importorskip("scipy")
import scipy.fft

from headwater import acml
from headwater.acml import offload, split

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
    for name in ("fft", "ifft", "rfft", "irfft", "fft2", "rfftn", "irfftn"):  # functions know the least size
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
        ("irfft", (), {"axis": 1}),
        ("irfftn", (), {"norm": "forward"}),
    ],
)
def test_a_gpus_transforms_are_scipys(gpu, dtype, name, args, options):
    x = numbers(dtype)
    wanted = getattr(scipy.fft, name)(x, *args, **options)
    for _ in range(2 * offload.TRIES + 1):
        found = getattr(acml, name)(x, *args, **options)
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
    assert gpu.calls <= 1
