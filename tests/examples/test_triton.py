"""The Triton example smooths as NumPy does; its compiled kernel needs no Triton."""

import numpy as np
import pytest


def reference(image, contrast, radius):
    sums, weights = np.zeros(image.shape), np.zeros(image.shape)
    around = np.pad(image.astype(float), radius, mode="edge")
    for down in range(2 * radius + 1):
        for right in range(2 * radius + 1):
            value = around[down : down + image.shape[0], right : right + image.shape[1]]
            weight = np.exp(-(((value - image) / contrast) ** 2))
            sums += weight * value
            weights += weight
    return sums / weights


@pytest.fixture
def image():
    return np.random.default_rng(1).uniform(0, 255, (9, 300)).astype(np.float32)


def test_the_stored_kernel(example, image):
    result, time = example.stored(image, 30.0)
    assert np.allclose(result, reference(image, 30, example.RADIUS), atol=1e-3)
    assert time > 0


def test_triton(example, image):
    pytest.importorskip("triton.language")
    result, time = example.smoothed(image, 30.0)
    assert np.allclose(result, reference(image, 30, example.RADIUS), atol=1e-3)
    assert time > 0


def test_script_reports_and_writes_a_picture(run_main):
    text, picture = run_main()
    assert "µs on the chip" in text
    assert picture.stat().st_size > 1000
