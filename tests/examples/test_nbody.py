"""The n-body example moves bodies as the same step in double precision does."""

import numpy as np
import pytest
from PIL import Image

DT, SOFTENING = 0.01, 0.002


def expected(position, velocity):
    place, mass = position[:, :3].astype(float), position[:, 3].astype(float)
    away = place[None] - place[:, None]
    pull = mass / (np.sum(away**2, axis=-1) + SOFTENING) ** 1.5
    speed = velocity[:, :3] + DT * np.einsum("ij,ijc->ic", pull, away)
    return place + DT * speed, speed


@pytest.mark.parametrize("version", ["brook", "opencl"])
@pytest.mark.parametrize("count", [64, 320])
def test_step_matches_double_precision(example, version, count):
    position, velocity = example.disc(count)
    after, speed = getattr(example, version)(position, velocity, DT, SOFTENING)
    expected_after, expected_speed = expected(position, velocity)
    assert np.allclose(after[:, :3], expected_after, atol=1e-5)
    assert np.allclose(speed[:, :3], expected_speed, atol=1e-4)
    assert np.array_equal(after[:, 3], position[:, 3])


def test_brook_takes_any_number_of_bodies(example):
    position, velocity = (a[:37].copy() for a in example.disc(64))
    after, _ = example.brook(position, velocity, DT, SOFTENING)
    assert np.allclose(after[:, :3], expected(position, velocity)[0], atol=1e-5)


@pytest.mark.parametrize("language", ["brook", "opencl"])
def test_script_draws_four_moments(run_main, language):
    text, picture = run_main("--bodies", "128", "--steps", "3", "--language", language)
    assert "interactions a second" in text
    assert Image.open(picture).size == (4 * 360, 360)
