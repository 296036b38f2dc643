"""How a launch's work-items are grouped and laid out: groups that nobody sees, single chunks, lanes along y, masks."""

import numpy as np
import pytest

import headwater as hw
from headwater.opencl import host
from headwater.vectorise.analysis.row_count import NO_FLOW
from headwater.vectorise.layout import Layout
from headwater.vectorise.plan.launch_layout import (
    FLAT_GROUP_ITEMS,
    KernelFacts,
    choose_group,
    choose_layout,
    masked_layout,
)


def facts(*, size=50, dims=(0,), masked_loops=False):
    return KernelFacts(
        arg_offsets=(0,),
        args_bytes=16,
        static_local_bytes=0,
        has_barrier=True,
        flat=False,
        has_loop=True,
        masked_loops=masked_loops,
        scalar_pays=False,
        size=size,
        dims=dims,
        unbounded=False,
        streaming=(),
        reducible=True,
        private_bytes=0,
        flow=NO_FLOW,
        down_width=0,
        rows_share=False,
        line_items=0,
        in_lines=False,
        streams=False,
        llvm_vectorises=False,
        counts_in_one_place=False,
        counters=(),
        traps=False,
        fits=False,
    )


@pytest.mark.parametrize("vector_bytes", [32, 64])
@pytest.mark.parametrize("group", [(64, 1, 1), (256, 1, 1), (16, 16, 1), (32, 8, 1)])
def test_a_group_of_up_to_256_work_items_is_one_chunk(group, vector_bytes):
    layout = choose_layout(facts(dims=(0, 1)), group, vector_bytes)
    assert layout.steps == group


def test_what_is_too_much_code_is_several():
    assert choose_layout(facts(), (512, 1, 1), 32) == Layout(8, 4, 0, 0)
    assert choose_layout(facts(), (256, 1, 1), 16) == Layout(4, 4, 0, 0)  # 64 vectors
    assert choose_layout(facts(size=200), (256, 1, 1), 32) == Layout(8, 2, 0, 0)
    assert choose_layout(facts(masked_loops=True), (256, 1, 1), 32) == Layout(8, 2, 0, 0)


def test_a_large_group_of_few_rows_has_all_of_them_in_a_chunk():
    assert choose_layout(facts(dims=(0, 1)), (64, 16, 1), 64) == Layout(16, 16, 0, 1)


ROWS = """
kernel void rows(global const float4 *a, global const float4 *b, global float *c, int n)
{
    int x = get_global_id(0), y = get_global_id(1);
    float4 sum = 0;
    for (int k = 0; k < n; ++k) {
        float4 v = a[y * n + k];
        sum += v * b[4 * x * n + k];
        sum += v * b[(4 * x + 1) * n + k];
        sum += v * b[(4 * x + 2) * n + k];
        sum += v * b[(4 * x + 3) * n + k];
    }
    c[y * get_global_size(0) + x] = sum.x + sum.y + sum.z + sum.w;
}
"""


def test_lanes_lie_where_fewer_loads_gather():
    facts = host.load(ROWS, "rows.cl").facts("rows")
    assert facts.down_width == 4
    assert choose_layout(facts, (32, 32, 1), 64).lane_dim == 1
    assert choose_layout(facts, (64, 1, 1), 64) == Layout(1, 4, 0, 0)  # no lanes: each has vectors of its own
    assert choose_layout(facts, (64, 2, 1), 64).lane_dim == 0
    for group, vector_bytes in (((64, 4, 1), 64), ((64, 2, 1), 32)):  # lanes of float4 that fill a register
        layout = choose_layout(facts, group, vector_bytes)
        assert (layout.lanes, layout.lane_dim) == (group[1], 1)


def test_lanes_that_lie_along_y_give_the_same_results():
    n, width, height = 5, 12, 37
    rng = np.random.default_rng(3)
    a = rng.integers(-8, 8, (height, n, 4)).astype(np.float32)
    b = rng.integers(-8, 8, (4 * width, n, 4)).astype(np.float32)
    c = np.zeros((height, width), np.float32)
    program = hw.compile(ROWS, device="cpu")
    program.rows[(width, height), None](a, b, c, n)
    expected = np.einsum("ykc,xrkc->yx", a, b.reshape(width, 4, n, 4))
    assert (c == expected).all()


def test_masked_chunks_of_long_code_have_fewer_rows():
    along = Layout(16, 8, 0, 0)
    assert masked_layout(along, 50, has_barrier=False) == along
    assert masked_layout(along, 200, has_barrier=False) == Layout(16, 4, 0, 0)
    assert masked_layout(along, 900, has_barrier=False) == Layout(16, 1, 0, 0)
    assert masked_layout(along, 900, has_barrier=True) == along
    assert masked_layout(Layout(16, 8), 900, has_barrier=False) == Layout(16, 8)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 63, 64, 65, 200])
def test_masked_chunks_with_fewer_rows_run_every_work_item_once(n):
    lines = "x = x * 3.0f + i; x = fabs(x - 7.0f);" * 60  # 190 instructions: masked chunks of 4 rows, not 8
    source = f"kernel void f(global float *a, int n) {{ int i = get_global_id(0); if (i < n) {{ float x = a[i]; {lines} a[i] = x; }} }}"
    program = hw.compile(source, language="opencl", device="cpu")
    a = np.arange(256, dtype=np.float32) % 5
    expected = a.copy()
    for i in range(n):
        x = np.float64(a[i])
        for _ in range(60):
            x = np.float64(np.float32(x * 3.0 + i))
            x = abs(np.float64(np.float32(x - 7.0)))
        expected[i] = x
    program.f[(256,), None](a, np.int32(n)).wait()
    np.testing.assert_allclose(a, expected, rtol=1e-4)


GROUPED = """
kernel void paths(global int *d, int n, int k)
{
    int i = get_global_id(1), j = get_global_id(0), way = d[i * n + k] + d[k * n + j];
    if (way < d[i * n + j]) d[i * n + j] = way;
}
kernel void turned(global const int *a, global int *b, int n)
{
    b[get_global_id(0) * n + get_global_id(1)] = a[get_global_id(1) * n + get_global_id(0)];
}
kernel void counted(global const int *a, global int *count) { if (a[get_global_id(0)] > 3) atomic_inc(count); }
kernel void seen(global int *a) { a[get_global_id(0)] = get_local_id(0); }
kernel void looped(global int *a, int n) { for (int i = 0; i < n; i++) a[get_global_id(0)] *= i; }
"""


def test_groups_that_nobody_sees_are_lines():
    found = {
        name: host.load(GROUPED, "grouped.cl").facts(name) for name in ("paths", "turned", "counted", "seen", "looped")
    }
    assert [name for name, facts in found.items() if facts.in_lines] == ["paths"]
    paths = found["paths"]
    assert choose_group(paths, (1024, 1024, 1), (16, 16, 1)) == (1024, 16, 1)
    assert choose_group(paths, (1024, 256, 1), (16, 16, 1)) == (1024, 4, 1)  # so that 64 are left
    assert choose_group(paths, (64, 64, 1), (16, 16, 1)) == (64, 4, 1)
    assert choose_group(paths, (1 << 20, 1, 1), (64, 1, 1)) == (FLAT_GROUP_ITEMS, 1, 1)
    for name in ("turned", "counted", "seen", "looped"):
        assert choose_group(found[name], (1024, 1024, 1), (16, 16, 1)) == (16, 16, 1)


@pytest.mark.parametrize(("n", "group"), [(64, (16, 16)), (96, (8, 4)), (120, (1, 120)), (100, (32, 16)), (7, (3, 3))])
def test_a_launch_in_lines_has_the_right_answer_and_tells_the_group_that_was_asked_for(n, group):
    d = np.random.default_rng(n).integers(0, 1000, (n, n)).astype(np.int32)
    program = hw.compile(GROUPED, device="cpu", options="-cl-std=CL2.0")
    expected = d.copy()
    for k in (0, n // 2, n - 1):
        event = program.paths[(n, n), group](d, n, k)
        event.wait()
        assert event.local_size == group
        row, column = expected[k].copy(), expected[:, k].copy()
        expected = np.minimum(expected, column[:, None] + row)
        np.testing.assert_array_equal(d, expected)
