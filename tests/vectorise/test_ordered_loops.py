"""Loops over strided indices: unmasked until the first lane leaves, whatever the direction, the step and the type."""

import numpy as np
import pytest

import headwater as hw
from headwater.opencl.host import HostModule
from headwater.vectorise.layout import Layout

SOURCE = """
kernel void up(global const int *a, global int *sums, int n)
{
    int own = 0;
    for (int i = get_local_id(0); i < n; i += get_local_size(0)) own = own * 3 + a[i];
    sums[get_global_id(0)] = own;
}
kernel void down(global const int *a, global int *sums, int n)
{
    int own = 0;
    for (int i = n - 1 - (int)get_local_id(0); i >= 0; i -= (int)get_local_size(0)) own = own * 3 + a[i];
    sums[get_global_id(0)] = own;
}
kernel void every_third(global const int *a, global int *sums, int n)
{
    int own = 0;
    for (uint i = 3 * get_local_id(0); i < (uint)n; i += 7 * get_local_size(0)) own = own * 3 + a[i];
    sums[get_global_id(0)] = own;
}
kernel void wraps(global const int *a, global int *sums, int n)
{
    // Some lanes start below 0 in an unsigned index: they are beyond n at once, the others are not.
    int own = 0;
    for (uint i = get_local_id(0) - 5u; i < (uint)n; i += get_local_size(0)) own = own * 3 + a[i];
    sums[get_global_id(0)] = own;
}
kernel void wraps_twice(global const int *a, global int *sums, int n)
{
    int own = 0;
    for (uint i = (uint)get_local_id(0) * 0x08000001u; i < (uint)n; i += get_local_size(0)) own = own * 3 + a[i];
    sums[get_global_id(0)] = own;
}
kernel void pointers(global const int *a, global int *sums, int n)
{
    int own = 0;
    for (global const int *p = a + get_local_id(0); p < a + n; p += get_local_size(0)) own = own * 3 + *p;
    sums[get_global_id(0)] = own;
}
kernel void once_at_least(global const int *a, global int *sums, int n)
{
    int own = 0, i = get_local_id(0);
    do { own = own * 3 + a[i]; i += 64; } while (i <= n - 2);
    sums[get_global_id(0)] = own;
}
"""
GROUP = 64


def visited(name, lane, n):
    if name in ("up", "pointers"):
        return range(lane, n, GROUP)
    if name == "down":
        return range(n - 1 - lane, -1, -GROUP)
    if name == "every_third":
        return range(3 * lane, n, 7 * GROUP)
    if name == "wraps":
        return range(lane - 5, n, GROUP) if lane >= 5 else ()
    if name == "wraps_twice":
        return range(lane * 0x08000001 % 2**32, n, GROUP)
    return [lane, *range(lane + 64, n - 1, 64)]


@pytest.mark.parametrize(
    "layout", [None, Layout(1), Layout(16), Layout(16, 4, 0, 0), Layout(8, 8, 0, 0), Layout(64)], ids=str
)
@pytest.mark.parametrize("name", ["up", "down", "every_third", "wraps", "wraps_twice", "pointers", "once_at_least"])
def test_every_lane_visits_its_elements(name, layout, monkeypatch):
    if layout is not None:
        monkeypatch.setattr(HostModule, "layout", lambda *_: layout)
    a = np.random.default_rng(8).integers(0, 100, 1000).astype(np.int32)
    program = hw.compile(f"{SOURCE}// {layout}", device="cpu")
    for n in (0, 1, 40, 63, 64, 65, 200, 640, 1000):
        sums = np.zeros(2 * GROUP, np.int32)
        program.kernels[name][(2 * GROUP,), (GROUP,)](a, sums, np.int32(n)).wait()
        expected = []
        for lane in range(GROUP):
            own = 0
            for i in visited(name, lane, n):
                own = (own * 3 + int(a[i])) % 2**32
            expected.append(own)
        assert (sums.view(np.uint32).reshape(2, GROUP) == np.array(expected, np.uint64)).all(), n
