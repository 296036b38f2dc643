"""Atomics of all work-items on one place: one for a chunk, the same answers in every layout as one after the other."""

import numpy as np
import pytest

from benchmarks.forced_layouts import OF_EACH_KIND as LAYOUTS, build, run
from headwater.llvm.ir import Module
from headwater.opencl import host
from headwater.vectorise.analysis.merged_atomic_candidates import merged_candidates
from headwater.vectorise.analysis.shapes import Shapes
from headwater.vectorise.layout import Layout
from headwater.vectorise.prepare.kernel import read_kernel

FOLDS = """
kernel void fold(global const TYPE *x, global TYPE *to)
{
    int i = get_global_id(0);
    TYPE value = x[i];
    atom_add(&to[0], value);
    atom_sub(&to[1], value);
    if (value > 3) atom_inc(&to[2]);
    if (value > 100) atom_dec(&to[3]); /* none is */
    atom_min(&to[4], value);
    atom_max(&to[5], value);
    if (i % 3) atom_and(&to[6], value | 8);
    for (int k = 0; k < (i & 3); ++k) atom_xor(&to[7], value + k);
    atom_or(&to[8], (TYPE)1 << (i & 15));
}
"""
KINDS = {"int": np.int32, "uint": np.uint32, "long": np.int64, "ulong": np.uint64}
TICKETS = """
kernel void give(global const int *x, global int *found, global int *total)
{
    int i = get_global_id(0) + get_global_size(0) * get_global_id(1);
    if (x[i] > LEAST) found[i] = OPERATION;
}
"""
LOCAL = """
kernel void number(global const int *x, global int *found, global int *counts)
{
    local int count[2];
    int l = get_local_id(0), i = get_global_id(0);
    if (l < 2) count[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    found[i] = x[i] > 4 ? atomic_inc(&count[0]) : -1;
    atomic_max(&count[1], x[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 2) counts[2 * get_group_id(0) + l] = count[l];
}
"""
ONE_A_ROW = """
kernel void rows(global const int *x, global int *sums, global int *found)
{
    int i = get_global_id(0) + get_global_size(0) * get_global_id(1);
    atomic_add(&sums[get_global_id(1)], x[i]);
    if (x[i] & 1) found[i] = atomic_inc(&sums[get_global_id(1) + get_global_size(1)]);
}
"""


def numbers(count):
    return np.random.default_rng(count).integers(0, 10, count).astype(np.int32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_folds_are_those_of_work_items_one_by_one(kind, layout):
    n = 1003
    x = numbers(n).astype(KINDS[kind])
    to = np.full(9, 50, KINDS[kind])
    _, to = run(build(FOLDS.replace("TYPE", kind), layout), "fold", (n,), None, [x, to])
    i = np.arange(n)
    steps = [x + k for k in range(3)]
    xors = np.bitwise_xor.reduce([np.bitwise_xor.reduce(steps[k][(i & 3) > k]) for k in range(3)])
    want = [
        50 + x.sum(),
        50 - int(x.sum()),
        50 + (x > 3).sum(),
        50,
        0,
        50,
        50 & np.bitwise_and.reduce((x | 8)[i % 3 != 0]),
        50 ^ xors,
        50 | 0xFFFF,
    ]
    bits = 8 * x.itemsize
    assert [int(v) % 2**bits for v in to] == [int(w) % 2**bits for w in want]


@pytest.mark.parametrize(
    "operation", ["atomic_add(total, x[i] + 1)", "atomic_sub(total, x[i] + 1)", "atomic_inc(total)"]
)
@pytest.mark.parametrize("least", [4, -1, 50])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_each_work_item_finds_what_those_before_it_left(operation, least, layout):
    size = (61, 13)
    x = numbers(size[0] * size[1])
    found, total = np.full(x.size, -7, np.int32), np.array([5], np.int32)
    source = TICKETS.replace("LEAST", str(least)).replace("OPERATION", operation)
    _, found, total = run(build(source, layout), "give", size, None, [x, found, total])
    on = x > least
    steps = np.ones(x.size, np.int32) if "inc" in operation else x + 1
    steps = -steps if "sub" in operation else steps
    assert total[0] == 5 + steps[on].sum()
    assert (found[~on] == -7).all()
    order = np.argsort(np.sign(steps[0]) * found[on])
    in_turn = np.append(found[on][order], total[0])
    assert in_turn[0] == (5 if on.any() else total[0])
    assert (np.diff(in_turn) == steps[on][order]).all()


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_counters_in_local_memory(layout):
    x = numbers(640)
    found, counts = np.zeros(640, np.int32), np.zeros((10, 2), np.int32)
    _, found, counts = run(build(LOCAL, layout), "number", (640,), (64,), [x, found, counts])
    for group, values, count in zip(found.reshape(10, 64), x.reshape(10, 64), counts, strict=True):
        assert count.tolist() == [(values > 4).sum(), values.max()]
        assert (group[values <= 4] == -1).all()
        assert sorted(group[values > 4]) == list(range(count[0]))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_place_for_each_row(layout):
    x = numbers(70 * 9)
    sums, found = np.zeros(18, np.int32), np.full(70 * 9, -1, np.int32)
    _, sums, found = run(build(ONE_A_ROW, layout), "rows", (70, 9), None, [x, sums, found])
    by_row = x.reshape(9, 70)
    assert sums.tolist() == [*by_row.sum(1), *(by_row & 1).sum(1)]
    for values, numbered in zip(by_row, found.reshape(9, 70), strict=True):
        assert sorted(numbered[values & 1 == 1]) == list(range((values & 1).sum()))


@pytest.mark.parametrize(
    ("statement", "merged"),
    [
        ("atomic_add(to, i)", False),
        ("x[i] = atomic_add(to, i)", True),
        ("x[i] = atomic_sub(&to[x[0]], i)", True),
        ("atomic_max(to, i)", False),
        ("x[i] = atomic_max(to, i)", None),
        ("atomic_xchg(to, i)", None),
        ("atomic_add(&to[i], 1)", None),
        ("atomic_add(&to[x[i]], 1)", None),
        ("atomic_cmpxchg(to, i, 1)", None),
        ("atomic_xchg((global float *)to, 1.0f)", None),
    ],
)
def test_which_operations_are_one_and_whether_results_are_used(statement, merged):
    text = f"kernel void k(global int *x, global int *to) {{ int i = get_global_id(0); {statement}; }}"
    kernel = read_kernel(Module(host.load(text, "k.cl").text("k")), "k")
    shapes = Shapes(kernel.function, kernel.cfg, Layout(16), {})
    assert list(merged_candidates(kernel.function, shapes).values()) == ([] if merged is None else [merged])
