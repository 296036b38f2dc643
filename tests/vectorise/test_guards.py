"""Kernels behind ``if (outside) return;``: whole chunks without masks, the chunk at the edge with them."""

import numpy as np
import pytest

import headwater as hw
from headwater.opencl.host import HostModule
from headwater.vectorise.layout import Layout

SOURCE = """
kernel void line(global const int *a, global int *b, int n)
{
    int i = get_global_id(0);
    if (i >= n) return;
    b[i] = a[i] + 1;
}
kernel void plane(global const int *a, global int *b, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height) b[y * width + x] = a[y * width + x] + 1;
}
kernel void rim(global const int *a, global int *b, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x == 0 || y == 0 || x >= width - 1 || y >= height - 1) return;
    b[y * width + x] = a[y * width + x] + 1;
}
kernel void beyond(global const int *a, global int *b, uint first)
{
    uint i = get_global_id(0) - first;
    if (i > 20u) return;
    b[i] = a[i] + 1;
}
"""
LAYOUTS = [None, Layout(1), Layout(16), Layout(16, 4, 0, 0), Layout(16, 4), Layout(8, 2, 1, 0)]


@pytest.fixture(params=LAYOUTS, ids=str)
def program(request, monkeypatch):
    if request.param is not None:
        monkeypatch.setattr(HostModule, "layout", lambda *_: request.param)
    return hw.compile(f"{SOURCE}// {request.param}", device="cpu")


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200, 256])
def test_a_line_ends_where_it_should(program, n):
    a, b = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    program.line[(256,), (64,)](a, b, n).wait()
    assert (b == np.where(a < n, a + 1, 0)).all()


@pytest.mark.parametrize(("width", "height"), [(1, 1), (64, 8), (63, 7), (40, 3), (5, 8)])
@pytest.mark.parametrize("name", ["plane", "rim"])
def test_a_plane_ends_where_it_should(program, name, width, height):
    a, b = np.arange(width * height, dtype=np.int32).reshape(height, width), np.zeros((height, width), np.int32)
    program.kernels[name][(64, 8), (64, 8)](a, b, width, height).wait()
    inside = np.ones((height, width), bool)
    if name == "rim":
        inside[[0, -1]] = inside[:, [0, -1]] = False
    assert (b == np.where(inside, a + 1, 0)).all()


@pytest.mark.parametrize("first", [0, 1, 30, 63, 100])
def test_an_unsigned_index_below_its_first_element_is_outside(program, first):
    a, b = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    program.beyond[(256,), (64,)](a, b, first).wait()
    assert (b == np.where(a <= 20, a + 1, 0)).all()
