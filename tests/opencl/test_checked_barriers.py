"""Checked runs name the barriers that only some work-items of a work-group reach, and no others."""

import numpy as np
import pytest
from kernel_runs import source

from benchmarks.forced_layouts import build, run
from headwater.errors import KernelFault

FILE = "barriers.cl"


def line_of(text):
    lines = source(FILE).splitlines()
    (number,) = (n for n, line in enumerate(lines, 1) if text in line)
    return number


def results(kernel, n, *, check, size=(128,), group=(32,), values=None):
    b = np.arange(128, dtype=np.int32) if values is None else np.array(values, np.int32)
    (out,) = run(build(source(FILE), None, "-cl-std=CL2.0", FILE), kernel, size, group, [b, np.int32(n)], check=check)
    return out


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("kernel", ["uniform_loop", "unrolled_loop", "uniform_branch", "group_function"])
def test_uniform_barriers_raise_no_alarm(kernel, n):
    np.testing.assert_array_equal(results(kernel, n, check=True), results(kernel, n, check=False))


@pytest.mark.parametrize("kernel", ["uniform_loop", "uniform_branch", "group_function"])
def test_smaller_groups_at_the_edge_raise_no_alarm(kernel):
    for check in (False, True):
        results(kernel, 3, check=check, size=(100,))


CASES = {
    "divergent_branch": (
        (7, {}),
        "// first",
        (
            "work-item (0) of divergent_branch waits at this barrier, but work-item (7) of the same work-group waits at the "
            "barrier in line {second}, column"
        ),
    ),
    "early_return": (
        (77, {}),
        "// after the return",
        "work-item (64) of early_return waits at this barrier, but work-item (77) of the same work-group has ended",
    ),
    "trip_counts": (
        (0, {"values": [3] * 50 + [2] + [3] * 77}),
        "// in the loop",
        "work-item (32) of trip_counts waits at this barrier, but work-item (50) of the same work-group has ended",
    ),
    "leaves_loop": (
        (9, {}),
        "// each time",
        (
            "work-item (0) of leaves_loop waits at this barrier, but work-item (9) of the same work-group waits at the "
            "barrier in line {after}, column"
        ),
    ),
    "two_calls": (
        (3, {}),
        "void sync(void)",
        (
            "work-item (0) of two_calls waits at this barrier, but work-item (3) of the same work-group waits at it in "
            "another call of the function that it is in"
        ),
    ),
    "group_function_by_some": (
        (5, {}),
        "// by some",
        "work-item (0) of group_function_by_some waits at this barrier, but work-item (5) of the same work-group has",
    ),
    "planes": (
        (64 + 7, {"size": (4, 4, 8), "group": (4, 2, 2)}),
        "if (g < n)",
        "work-item (0, 0, 4) of planes waits at this barrier, but work-item (3, 1, 4) of the same work-group has ended",
    ),
}


@pytest.mark.parametrize("kernel", CASES)
def test_divergence_is_named(kernel):
    (n, options), line, message = CASES[kernel]
    with pytest.raises(KernelFault) as caught:
        results(kernel, n, check=True, **options)
    text = str(caught.value)
    assert message.format(second=line_of("// second"), after=line_of("// after the loop")) in text
    assert int(text.split(":")[1]) - line_of(line) == (kernel == "planes")
    assert "every work-item of a work-group must reach the same barriers" in text


def test_divergent_kernels_pass_where_all_agree():
    for kernel, n in (("divergent_branch", 32), ("early_return", 128), ("leaves_loop", 99), ("two_calls", 99)):
        np.testing.assert_array_equal(results(kernel, n, check=True), results(kernel, n, check=False))
    values = np.repeat([3, 1, 4, 2], 32)
    np.testing.assert_array_equal(
        results("trip_counts", 0, check=True, values=values), results("trip_counts", 0, check=False, values=values)
    )


def test_access_out_of_bounds_before_a_barrier_is_told_as_such():
    code = """
kernel void k(global int *b, int n) {
  if (get_local_id(0) == 3) b[n] = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  b[get_global_id(0)] = 2;
}"""
    b = np.zeros(16, np.int32)
    with pytest.raises(KernelFault, match=r"work-item \(3\) of k writes 4 bytes"):
        run(build(code), "k", (16,), (16,), [b, np.int32(40)], check=True)
