"""The library's kernels on an OpenCL device, whose driver compiles them itself."""

import numpy as np
import pytest

import headwater as hw
from headwater.acml.random import NAMES, Generator
from headwater.acml.streams import products
from headwater.errors import DeviceError

pytest.importorskip("scipy")
pytest.importorskip("pyopencl")


@pytest.fixture(scope="module")
def device():
    try:
        return hw.device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))


def test_products_transforms_and_solutions(device):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((70, 33)), rng.standard_normal((33, 65))
    found = np.matmul(hw.stream(a, device=device), hw.stream(b, device=device))
    assert found.device is device
    assert np.allclose(found.read(), a @ b)
    z = rng.standard_normal((3, 97)) + 1j
    assert np.allclose(np.fft.fft(hw.stream(z, device=device)).read(), np.fft.fft(z))
    square = a[:33] + 33 * np.eye(33)
    assert np.allclose(square @ np.linalg.solve(hw.stream(square, device=device), b).read(), b)
    assert np.allclose(np.exp(hw.stream(a, device=device)).read(), np.exp(a))


def test_a_buffered_product_of_matrices_without_aligned_rows(device):
    """PoCL 3.0 was right for aligned ones only."""
    m, n, k = 17, 18, 7
    x, y = (np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
    c = hw.stream(np.full((m, n), np.nan, np.float32), device=device)
    a, b = (products.matrix(hw.stream(value, device=device)) for value in (x, y))
    products.gemm(1.0, a, b, 0.0, products.matrix(c), products.Tile(4, 4, 4, 4, True))
    assert np.allclose(c.read(), x @ y, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_sequences_are_those_of_the_cpu_device(device, name):
    there, here = Generator(name, 3, device=device), Generator(name, 3)
    assert (there.random(1000).read() == here.random(1000)).all()
    assert (there.gaussian(300, 0.0, 1.0).read() == here.gaussian(300, 0.0, 1.0)).all()
