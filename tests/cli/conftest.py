"""What the command line's tests share: a folder with data and kernels, and a way to run a command in this process."""

from dataclasses import dataclass

import numpy as np
import pytest
from PIL import Image

from headwater.cli import main

VADD = """\
__kernel void vadd(__global const float *a, __global const float *b, __global float *c, int n)
{
    int i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}
"""

INVERT = """\
__kernel void invert(__global uint *id, __global uint *od, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        od[y * width + x] = id[y * width + x] ^ 0x00ffffffu;
}
__kernel void scale(__global float *data, float factor) { data[get_global_id(0)] *= factor; }
"""

SUM_BR = """\
kernel void add(float a<>, float b<>, out float c<>)
{
    c = a + b;
}
reduce void total(float a<>, reduce float r<>)
{
    r += a;
}
"""


@dataclass
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with kernels and data in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vadd.cl").write_text(VADD)
    (tmp_path / "invert.cl").write_text(INVERT)
    (tmp_path / "sum.br").write_text(SUM_BR)
    np.save("a.npy", np.arange(100, dtype=np.float32))
    np.save("b.npy", np.full(100, 0.5, np.float32))
    pixels = np.random.default_rng(0).integers(0, 256, (30, 44, 3), np.uint8)
    Image.fromarray(pixels).save("in.png")
    return tmp_path


@pytest.fixture
def headwater(capfd):
    """Run ``headwater WORDS…`` in this process."""

    def run(*words):
        capfd.readouterr()
        code = main([str(word) for word in words])
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
