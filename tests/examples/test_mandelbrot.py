"""The Mandelbrot example counts escape steps as NumPy does."""

import numpy as np
import pytest
from PIL import Image


def expected(left, top, step, shape, limit):
    y, x = np.mgrid[: shape[0], : shape[1]].astype(np.float32)
    cx = np.float32(left) + x * np.float32(step)
    cy = np.float32(top) - y * np.float32(step)
    zx, zy, count = np.zeros_like(cx), np.zeros_like(cx), np.zeros(shape, np.int32)
    for _ in range(limit):
        alive = zx * zx + zy * zy < 4
        count[alive] += 1
        zx, zy = np.where(alive, zx * zx - zy * zy + cx, zx), np.where(alive, 2 * zx * zy + cy, zy)
    return count


@pytest.mark.parametrize("version", ["brook", "opencl"])
@pytest.mark.parametrize("shape", [(1, 1), (33, 47), (64, 64)])
def test_escape_times_match_numpy(example, version, shape):
    window = (-2.2, 1.2, 2.4 / max(shape), shape, 60)
    escaped = getattr(example, version)(*window)
    assert escaped.shape == shape
    # Contracted multiply-adds round differently: a few points on the edge escape a step earlier or later.
    assert np.mean(escaped != expected(*window)) < 0.02


def test_points_inside_never_escape(example):
    assert (example.brook(-0.1, 0.1, 0.01, (20, 20), 100) == 100).all()


def test_script_writes_a_picture(run_main):
    text, picture = run_main("--size", "96x64", "--limit", "50")
    assert "million steps a second" in text
    assert Image.open(picture).size == (96, 64)
