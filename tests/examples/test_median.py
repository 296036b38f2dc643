"""The median filter example's three kernels pick the pixel of median luminance."""

import numpy as np
import pytest
from PIL import Image

WEIGHTS = np.array([0.3, 0.59, 0.11])


def luminance(example, image):
    return example.unpacked(image) @ WEIGHTS


def expected_luminance(example, image, edge):
    light = np.pad(luminance(example, image), 1, mode="edge")
    height, width = image.shape
    shifts = [light[y : y + height, x : x + width] for y in range(3) for x in range(3)]
    median = np.median(shifts, axis=0)
    if edge == "copied":
        inner = median[1:-1, 1:-1].copy()
        median = luminance(example, image)
        median[1:-1, 1:-1] = inner
    return median


@pytest.fixture
def image():
    return np.random.default_rng(1).integers(0, 1 << 32, (37, 52), np.uint32)


@pytest.mark.parametrize(("version", "edge"), [("simple", "copied"), ("four_pixels", "copied"), ("brook", "clamped")])
def test_result_has_median_luminance(example, image, version, edge):
    result = getattr(example, version)(image)
    assert np.allclose(luminance(example, result), expected_luminance(example, image, edge), atol=1e-3)


@pytest.mark.parametrize("version", ["simple", "four_pixels", "brook"])
def test_result_is_one_of_the_neighbours(example, image, version):
    result = getattr(example, version)(image)
    padded = np.pad(image, 1, mode="edge")
    height, width = image.shape
    neighbours = [padded[y : y + height, x : x + width] for y in range(3) for x in range(3)]
    assert np.any(np.array(neighbours) == result, axis=0).all()


@pytest.mark.parametrize("shape", [(3, 4), (1, 8), (2, 4), (5, 8)])
def test_four_pixels_agree_with_simple_on_small_images(example, shape):
    # Grey levels all different, so that no two pixels have the same luminance.
    levels = np.random.default_rng(2).permutation(200)[: shape[0] * shape[1]].astype(np.uint32)
    image = (levels * 0x010101 + 0xFF000000).astype(np.uint32).reshape(shape)
    assert np.array_equal(example.four_pixels(image), example.simple(image))


def test_script_removes_specks_and_writes_a_picture(run_main):
    text, picture = run_main()
    errors = {
        line.split("  ")[0]: float(line.split("original ")[1].split()[0])
        for line in text.splitlines()
        if "orig" in line
    }
    assert errors["simple"] < errors["unfiltered"] / 2
    assert Image.open(picture).size == (1800, 400)
