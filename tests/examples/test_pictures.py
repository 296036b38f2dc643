"""The pictures' example computes what it says, and its script writes files that move."""

import numpy as np
import pytest
from PIL import Image


@pytest.mark.parametrize("scene", ["fractal", "bodies", "fluid", "shader"])
def test_scenes_move(example, scene, tmp_path, monkeypatch, capsys):
    import sys

    path = tmp_path / "deep" / "scene.gif"
    monkeypatch.setattr(sys, "argv", ["run.py", scene, "--size", "24", "--frames", "3", "--to", str(path)])
    example.main()
    assert "3 pictures" in capsys.readouterr().out
    with Image.open(path) as opened:
        assert opened.size == (24, 24)
        assert opened.n_frames == 3
        frames = []
        for number in range(3):
            opened.seek(number)
            frames.append(np.asarray(opened.convert("RGB")))
    assert all(np.ptp(frame) > 50 for frame in frames)
    assert not np.array_equal(frames[0], frames[2])


def test_stream_kernels_are_what_python_makes_of_them(example):
    assert np.array_equal(
        example.julia(0.3, 0.5, 1 / 16, 20, shape=(16, 16)), example.julia.python(0.3, 0.5, 1 / 16, 20, shape=(16, 16))
    )
    field = np.random.default_rng(1).random((9, 8, 4), np.float32)
    for kernel, more in ((example.carried, (2.0,)), (example.relaxed, ()), (example.projected, ())):
        want = kernel.python(field, *more, shape=(9, 8))
        assert np.allclose(kernel(field, *more, shape=(9, 8)), want, rtol=1e-5, atol=1e-6)


def test_the_flow_has_less_divergence_after_its_projection(example):
    field = np.random.default_rng(2).random((16, 16, 4), np.float32)
    field[..., 3] = 0

    def divergence(made):
        return np.abs(made[1:-1, 2:, 0] - made[1:-1, :-2, 0] + made[2:, 1:-1, 1] - made[:-2, 1:-1, 1])[2:-2, 2:-2].sum()

    made = field
    for _ in range(60):
        made = example.relaxed(made, shape=(16, 16))
    assert divergence(example.projected(made, shape=(16, 16))) < 0.9 * divergence(field)


def test_the_shader_draws_waves(example):
    drawn = example.shader(16, None)(0)
    y, x = np.mgrid[:16, :16]
    want = 0.5 + 0.5 * np.sin(0.05 * (np.stack([x, y]) + 0.5))
    assert np.allclose(drawn[..., 0], want[0], atol=1e-4)
    assert np.allclose(drawn[..., 2], want[0] * want[1], atol=1e-4)
