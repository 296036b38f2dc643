"""Every version of the matrix multiply example gives NumPy's product."""

from pathlib import Path

import numpy as np
import pytest

import headwater


@pytest.mark.parametrize("version", ["loops", "scalar", "float4", "brook_scalar", "brook_float4"])
@pytest.mark.parametrize("sizes", [(4, 4, 4), (5, 12, 8), (33, 20, 36)])
def test_product_of_any_shape(example, version, sizes):
    n, k, m = sizes
    rng = np.random.default_rng(n)
    a, b = rng.random((n, k), np.float32), rng.random((k, m), np.float32)
    assert np.allclose(getattr(example, version)(a, b), a @ b, rtol=1e-5)


@pytest.mark.parametrize("sizes", [(16, 16, 16), (32, 48, 64)])
def test_product_by_tiles(example, sizes):
    n, k, m = sizes
    rng = np.random.default_rng(n)
    a, b = rng.random((n, k), np.float32), rng.random((k, m), np.float32)
    assert np.allclose(example.tiled(a, b), a @ b, rtol=1e-5)


def test_script_reports_every_version(example, run_main):
    text, picture = run_main("--size", "64")
    assert all(name in text for name in example.VERSIONS)
    assert picture.stat().st_size > 1000


def test_il(example):
    rng = np.random.default_rng(3)
    a, b = rng.random((9, 13), np.float32), rng.random((13, 7), np.float32)
    product = np.zeros((9, 7), np.float32)
    headwater.compile(Path(example.__file__).with_name("matmul.il")).main[(7, 9), None](a, b, (13.0,), product)
    np.testing.assert_allclose(product, a @ b, rtol=1e-5)
