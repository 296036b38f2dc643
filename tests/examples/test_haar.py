"""The Haar wavelet example transforms there and back."""

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def image():
    return np.random.default_rng(3).random((24, 40), np.float32) * 255


def test_bands_of_one_level(example, image):
    result = example.analyze(image, 1)
    a, b, c, d = image[::2, ::2], image[::2, 1::2], image[1::2, ::2], image[1::2, 1::2]
    assert np.allclose(result[:12, :20], (a + b + c + d) / 2, atol=1e-3)
    assert np.allclose(result[:12, 20:], (a - b + c - d) / 2, atol=1e-3)
    assert np.allclose(result[12:, :20], (a + b - c - d) / 2, atol=1e-3)
    assert np.allclose(result[12:, 20:], (a - b - c + d) / 2, atol=1e-3)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_synthesis_undoes_analysis(example, image, levels):
    assert np.allclose(example.synthesize(example.analyze(image, levels), levels), image, atol=1e-2)


def test_transform_keeps_the_sum_of_squares(example, image):
    assert np.sum(example.analyze(image, 3) ** 2) == pytest.approx(np.sum(image**2), rel=1e-4)


def test_script_reports_the_loss_and_writes_a_picture(run_main):
    text, picture = run_main("--levels", "2", "--keep", "0.1")
    ratio = float(text.split("ratio ")[1].split()[0])
    assert 25 < ratio < 60
    assert Image.open(picture).size == (1800, 400)
