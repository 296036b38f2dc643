"""Indices of 32 bits: taken not to wrap around where the launch's numbers are such, and right where they are not."""

import re

import numpy as np
import pytest

from benchmarks.forced_layouts import build, run
from headwater.llvm.ir import Module
from headwater.opencl import codegen, host
from headwater.opencl.kernels import CodeRequest
from headwater.vectorise.layout import Layout
from headwater.vectorise.prepare.kernel import read_kernel

GROUP = 64
LAYOUTS = [None, Layout(1), Layout(16), Layout(16, 4, 0, 0), Layout(8, 2)]

# Kernels whose indices are strided for sure in launches of sensible numbers: NAME, its body, where a is read.
SENSIBLE = {
    "global_ids": "for (int i = get_global_id(0); i < n; i += get_global_size(0)) COUNT(a[i]);",
    "unsigned_ids": "for (uint i = get_global_id(0); i < n; i += get_global_size(0)) COUNT(a[i]);",
    "local_ids": "for (int i = get_local_id(0); i < n; i += get_local_size(0)) COUNT(a[i]);",
    "inclusive": "for (uint i = get_local_id(0); i <= n - 1; i += get_local_size(0)) COUNT(a[i]);",
    "written_out": """for (int i = get_group_id(0) * get_local_size(0) + get_local_id(0); i < n;
        i += get_local_size(0) * get_num_groups(0)) COUNT(a[i]);""",
    "parts": """uint part = n / get_num_groups(0);
        for (uint i = get_local_id(0); i < part; i += get_local_size(0)) COUNT(a[get_group_id(0) * part + i]);""",
    "by_two": """uint size = get_local_size(0), step = 2 * size * get_num_groups(0);
        for (uint i = get_group_id(0) * (2 * size) + get_local_id(0); i < n; i += step)
            { COUNT(a[i]); if (i + size < n) COUNT(a[i + size]); }""",
    "fours": """for (int i = 4 * get_global_id(0); i < n; i += 4 * get_global_size(0))
            for (int k = 0; k < 4; k++) if (i + k < n) COUNT(a[i + k]);""",
    "rows": """uint width = 40, rows = n / width;
        for (uint y = get_group_id(0); y < rows; y += get_num_groups(0))
            for (uint x = get_local_id(0); x < width; x += get_local_size(0)) COUNT(a[y * width + x]);""",
    "constant": "for (int i = get_local_id(0); i < 500; i += get_local_size(0)) COUNT(a[i]);",
}
BARRIER = """
#define COUNT(x) atomic_add(&counts[(x) & 31], (x))
kernel void k(global const int *a, global int *sums, int n)
{
    local int counts[32];
    if (get_local_id(0) < 32) counts[get_local_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    %s
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) < 32) sums[32 * get_group_id(0) + get_local_id(0)] = counts[get_local_id(0)];
}
"""


def expected(name, a, n, groups):
    sums = np.zeros((groups, 32), np.int32)
    for group in range(groups):
        first = np.arange(group * GROUP, (group + 1) * GROUP)
        if name in ("global_ids", "unsigned_ids", "written_out"):
            mine = a[:n].reshape(-1, groups * GROUP)[:, first] if n % (groups * GROUP) == 0 else None
            assert mine is not None
        elif name in ("local_ids", "inclusive"):
            mine = a[:n]
        elif name == "parts":
            mine = a[group * (n // groups) : (group + 1) * (n // groups)]
        elif name == "by_two":
            mine = a[:n].reshape(-1, groups, 2 * GROUP)[:, group]
        elif name == "fours":
            mine = a[:n].reshape(-1, groups, 4 * GROUP)[:, group]
        elif name == "rows":
            mine = a[: n // 40 * 40].reshape(-1, 40)[group::groups]
        else:
            mine = a[:500]
        np.add.at(sums[group], mine.ravel() & 31, mine.ravel())
    return sums.ravel()


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("name", SENSIBLE)
def test_sensible_launches_have_the_right_answers(name, layout):
    groups, n = 2, 4 * GROUP * 2 * 3
    a = np.random.default_rng(3).integers(0, 1000, n).astype(np.int32)
    program = build(BARRIER % SENSIBLE[name], layout)
    (_, sums) = run(program, "k", (groups * GROUP,), (GROUP,), [a, np.zeros(groups * 32, np.int32), np.int32(n)])
    np.testing.assert_array_equal(sums, expected(name, a, n, groups))


@pytest.mark.parametrize("name", SENSIBLE)
def test_sensible_launches_have_neither_gathers_nor_tests(name):
    module = Module(host.load(BARRIER % SENSIBLE[name], "k.cl").text("k"))
    plain, guarded = (
        codegen.vectorised(
            module, read_kernel(module, "k", guarded=on), "entry", CodeRequest("k", Layout(16, 4, 0, 0))
        ).text
        for on in (False, True)
    )
    assert "lanes." in plain  # for where the stride does not hold
    assert "lanes." not in guarded
    assert ("@entry_fits" in guarded) == (name != "constant")  # that one fits always: groups are small


COUNTED = """
kernel void counted(global const int *a, global int *out, long first, int n)
{
    // Wraps around where n is within a step of 2^31, and then goes on below 0.
    int own = 0, trips = 0;
    for (int i = get_global_id(0); i < n && trips < 40; i += get_global_size(0)) {
        own = own * 3 + a[(ulong)(i - first) % 1009];
        trips++;
    }
    out[2 * get_local_id(0)] = own;
    out[2 * get_local_id(0) + 1] = trips;
}
kernel void unsigned_steps(global const int *a, global int *out, ulong first, uint n, uint step)
{
    int own = 0;
    for (uint i = get_global_id(0); i < n; i += step) own = own * 3 + a[(i + first) % 1009];
    out[get_local_id(0)] = own;
}
kernel void scaled(global const int *a, global int *out, ulong first, uint by)
{
    uint i = get_local_id(0) * 4 + by;
    out[get_local_id(0)] = a[(i + first) % 1009];
}
"""


def table(seed):
    return np.random.default_rng(seed).integers(0, 1000, 1009).astype(np.int32)


def launched(name, layout, args, offset=()):
    """The results, and whether careful code had to be made."""
    program = build(COUNTED, layout)
    launch = program.kernels[name].prepare((GROUP,), (GROUP,), offset)
    launch._other = None
    own = [a.copy() if isinstance(a, np.ndarray) and a.ndim else a for a in args]
    launch(own).wait()
    return own[1], launch._other is not None


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("room", [0, 1, 63, 64, 65, 1000])
def test_a_counter_that_wraps_around_is_seen_to(room, layout):
    n = (1 << 31) - 1 - room
    first = (1 << 31) - 1200
    a = table(5)
    args = [a, np.zeros(2 * GROUP, np.int32), np.int64(first), np.int32(n)]
    out, careful = launched("counted", layout, args, (first,))
    for lane in range(GROUP):
        own, trips, i = 0, 0, first + lane
        while i < n and trips < 40:
            own, trips = (own * 3 + int(a[(i - first) % 2**64 % 1009])) % 2**32, trips + 1
            i = (i + GROUP + 2**31) % 2**32 - 2**31
        assert (int(out[2 * lane]) % 2**32, int(out[2 * lane + 1])) == (own, trips), lane
    assert careful == (n + GROUP >= 1 << 31)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_unsigned_steps_may_wrap_around(layout):
    a = table(6)
    step = (1 << 32) // 3 + 1
    for n, by, wanted in (((2 * step + 5), step, True), (900, 7, False), (2**31 - 100, 2**30, True), (0, 5, False)):
        args = [a, np.zeros(GROUP, np.int32), np.uint64(17), np.uint32(n), np.uint32(by)]
        out, careful = launched("unsigned_steps", layout, args)
        for lane in range(GROUP):
            own, i = 0, lane
            while i < n:
                own, i = (own * 3 + int(a[(i + 17) % 1009])) % 2**32, (i + by) % 2**32
            assert int(out[lane]) % 2**32 == own, (n, lane)
        assert careful == wanted


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_sums_may_wrap_around(layout):
    a = table(7)
    for by, wanted in ((5, False), (2**31 - 4 * GROUP - 1, False), (2**31 - 9, True), (2**32 - 9, True)):
        out, careful = launched("scaled", layout, [a, np.zeros(GROUP, np.int32), np.uint64(17), np.uint32(by)])
        np.testing.assert_array_equal(out, a[((np.arange(GROUP) * 4 + by) % 2**32 + 17) % 1009])
        assert careful == wanted, by


def test_a_launch_without_work_items_is_not_asked_about():
    launch = build(COUNTED).kernels["scaled"].prepare((0,), (GROUP,))
    assert launch.code.fits
    launch([np.zeros(1, np.int32), np.zeros(1, np.int32), np.uint64(0), np.uint32(2**32 - 1)]).wait()
    assert launch._other is None


def test_code_that_is_for_all_launches_is_not_asked():
    program = build(re.sub(r"i \+= get_global_size\(0\)", "i += 1", COUNTED))
    assert program.kernels["counted"].prepare((GROUP,), (GROUP,))._fits is None
