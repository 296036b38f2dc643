"""Loops in which work-items walk through memory of their own: which they are, that they are vectorised and right."""

import numpy as np
import pytest

from benchmarks.forced_layouts import build, run
from headwater.llvm.gathers import EMULATED_GATHERS, QUICK_GATHERS, SLOW_GATHERS
from headwater.llvm.ir import Module
from headwater.opencl import codegen, host
from headwater.vectorise.analysis.inner_loops import llvm_vectorised_loops
from headwater.vectorise.analysis.shapes import Shapes
from headwater.vectorise.layout import Layout
from headwater.vectorise.plan.launch_layout import choose_group, choose_layout
from headwater.vectorise.prepare.kernel import read_kernel

PARTS = """
kernel void part(global const int *a, global int *b, int m)
{
    int first = get_global_id(0) * m;
    for (int i = 0; i < m; ++i) b[first + i] = %s;
}
"""
SUMS = """
kernel void part(global const int *a, global int *b, int m)
{
    int first = get_global_id(0) * m;
    int total = %s;
    for (int i = 0; i < m; ++i) total %s;
    b[first] = total;
}
"""
BACKWARDS = """
kernel void part(global const int *a, global int *b, int m)
{
    int first = get_global_id(0) * m;
    for (int i = m - 1; i > 0; --i) b[first + i] = %s;
}
"""
WALKS = {
    "map": PARTS % "a[first + i] * 3 + i",
    "in place": PARTS % "b[first + i] + a[first]",
    "two places": PARTS % "a[first + i] ^ a[i]",
    "total": SUMS % ("7", "+= a[first + i]"),
    "greatest": SUMS % ("-5", "= max(total, a[first + i])"),
    "down": BACKWARDS % "b[first + i - 1] + 1",
}
OTHERS = {
    "behind": PARTS.replace("i = 0", "i = 1") % "b[first + i - 1] + 1",
    "apart": PARTS % "a[first + 2 * i & 1023]",
    "looked up": PARTS % "a[a[first + i] & 255]",
    "in turn": SUMS % ("1", "= total * 3 + a[first + i]"),
    "so far": SUMS % ("1", "+= a[first + i], b[first + i] = total"),
    "beside each other": PARTS.replace("first + i", "first").replace("* m", "") % "a[first] + i",
}


def loops(source):
    module = host.load(source, "walks.cl")
    kernel = read_kernel(Module(module.text("part")), "part")
    return llvm_vectorised_loops(kernel.function, kernel.cfg, Shapes(kernel.function, kernel.cfg, Layout(16), {}))


@pytest.mark.parametrize("name", WALKS)
def test_loops_that_walk(name):
    assert len(loops(WALKS[name])) == 1


@pytest.mark.parametrize("name", OTHERS)
def test_loops_that_do_not(name):
    assert not loops(OTHERS[name])


@pytest.mark.parametrize("gathers", [QUICK_GATHERS, SLOW_GATHERS, EMULATED_GATHERS])
def test_their_work_items_run_one_by_one_in_groups_for_all_threads(gathers, monkeypatch):
    """Gathered by lanes, in one group of up to 16384, they took 18 times as long on two cores."""
    monkeypatch.setattr(codegen, "gathers", lambda: gathers)
    module = host.load(WALKS["map"], "walks.cl")
    facts = codegen._facts(read_kernel(Module(module.text("part")), "part"))
    assert facts.scalar_pays
    for items, group in ((1, 1), (8, 1), (64, 1), (4096, 64), (1 << 22, 16384)):
        assert choose_group(facts, (items, 1, 1)) == (group, 1, 1)


ROWS = """
kernel void rows(global const float *a, global float *b, int n)
{
    int row = get_global_id(0);
    float sum = %s;
    for (int i = 0; i < n; ++i) sum += a[row * n + i]%s;
    b[row] = sum;
}
"""


@pytest.mark.parametrize(
    ("source", "gathers", "group", "layout"),
    [
        # Lanes that each go through memory of their own: one row of them, or none.
        (ROWS % ("0", ""), QUICK_GATHERS, 256, Layout(16, 1, 0, 0)),
        (ROWS % ("0", " * b[row * n + i]"), QUICK_GATHERS, 256, Layout(1, 4, 0, 0)),
        (ROWS % ("0", ""), SLOW_GATHERS, 256, Layout(1, 4, 0, 0)),
        (ROWS % ("0", ""), SLOW_GATHERS, 2, Layout(1, 1, 0, 1)),
    ],
)
def test_rows_of_work_items_that_go_through_memory_of_their_own(source, gathers, group, layout, monkeypatch):
    monkeypatch.setattr(codegen, "gathers", lambda: gathers)
    module = host.load(source, "rows.cl")
    facts = codegen._facts(read_kernel(Module(module.text("rows")), "rows"))
    assert facts.streams
    assert not facts.llvm_vectorises
    assert choose_layout(facts, (group, 1, 1), 64) == layout


@pytest.mark.parametrize("layout", [None, Layout(1), Layout(1, 4, 0, 0), Layout(16), Layout(8, 2)], ids=str)
@pytest.mark.parametrize("name", [*WALKS, *OTHERS])
@pytest.mark.parametrize("m", [1, 5, 64, 129])
def test_they_give_the_same_results(name, layout, m):
    items = 24
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-999, 999, items * m + 1024, np.int32) for _ in range(2))
    source = WALKS.get(name) or OTHERS[name]
    expected = expected_parts(name, a, b.copy(), items, m)
    found = run(build(source, layout), "part", (items,), None, [a, b, np.int32(m)])[1]
    np.testing.assert_array_equal(found, expected)


def expected_parts(name, a, b, items, m):
    for item in range(items):
        first = item if name == "beside each other" else item * m
        values = range(m)
        if name in ("total", "greatest"):
            own = a[first : first + m]
            b[first] = 7 + own.sum(dtype=np.int32) if name == "total" else max(-5, own.max())
        elif name == "so far":
            b[first : first + m] = 1 + np.cumsum(a[first : first + m], dtype=np.int32)
            b[first] = b[first + m - 1]
        elif name == "in turn":
            total = 1
            for i in values:
                total = (total * 3 + int(a[first + i])) & 0xFFFFFFFF
            b[first] = np.uint32(total).astype(np.int32)
        elif name == "down":
            b[first + 1 : first + m] = b[first : first + m - 1] + 1
        elif name == "behind":
            b[first + 1 : first + m] = b[first] + np.arange(1, m)
        elif name == "beside each other":
            b[first] = a[first] + m - 1
        else:
            for i in values:
                b[first + i] = element(name, a, b, first, i)
    return b


def element(name, a, b, first, i):
    if name == "map":
        return a[first + i] * 3 + i
    if name == "in place":
        return b[first + i] + a[first]
    if name == "two places":
        return a[first + i] ^ a[i]
    return a[(first + 2 * i) & 1023] if name == "apart" else a[a[first + i] & 255]
