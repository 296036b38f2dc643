"""Loops and paths of small graphs, whose numbers can be counted by hand."""

import pytest
from hypothesis import given, settings, strategies as st

from headwater.analyze.flow import MODES, Paths, find_loops, likelihoods


def visits(successors, trips=(), weights=None, likely=None):
    paths = Paths(successors, find_loops(successors), list(trips), weights or [1.0] * len(successors), likely)
    return {mode: paths.visits(mode) for mode in MODES}


def test_a_straight_line():
    found = visits([[1], [2], []])
    assert all(found[mode] == [1, 1, 1] for mode in MODES)


def test_a_branch():
    found = visits([[1, 2], [3], [3], []], weights=[1, 10, 1, 1])
    assert found["minimum"] == [1, 0, 1, 1]
    assert found["maximum"] == [1, 1, 0, 1]
    assert found["average"] == [1, 0.5, 0.5, 1]


def test_a_loop_tested_at_its_end():
    found = visits([[1], [1, 2], []], trips=[5])
    assert all(found[mode] == [1, 5, 1] for mode in MODES)


def test_a_loop_tested_at_its_head():
    found = visits([[1], [2, 3], [1], []], trips=[5])
    assert all(found[mode] == [1, 6, 5, 1] for mode in MODES)


def test_loops_in_loops():
    successors = [[1], [2], [2, 3], [1, 4], []]
    loops = find_loops(successors)
    assert [(loop.header, loop.parent) for loop in loops] == [(1, -1), (2, 0)]
    found = visits(successors, trips=[4, 3])
    assert all(found[mode] == [1, 4, 12, 4, 1] for mode in MODES)


def test_a_branch_inside_a_loop():
    found = visits([[1], [2, 3], [4], [4], [1, 5], []], trips=[10], weights=[1, 1, 7, 1, 1, 1])
    assert found["minimum"] == [1, 10, 0, 10, 10, 1]
    assert found["maximum"] == [1, 10, 10, 0, 10, 1]
    assert found["average"] == [1, 10, 5, 5, 10, 1]


def test_the_mean_path_passes_no_loop_by():
    # if (n > 0) do … while; store
    successors = [[1, 2], [1, 2], []]
    loops = find_loops(successors)
    likely = likelihoods(successors, loops, [False, False, True])
    assert visits(successors, [8], likely=likely)["average"] == [1, 8, 1]


def test_the_mean_path_does_not_leave_without_a_write():
    successors = [[1, 2], [2], []]
    likely = likelihoods(successors, (), [False, True, False])
    assert visits(successors, likely=likely)["average"] == [1, 1, 1]


def test_an_endless_loop_and_no_code():
    assert visits([[0]], trips=[3])["average"] == [3]
    assert visits([])["average"] == []


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 12).flatmap(lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=2), min_size=n, max_size=n))
)
def test_any_graph_is_walked(successors):
    """Whatever the graph, irreducible ones included: every number is finite, the shortest path costs no more than the
    longest."""
    successors = [list(dict.fromkeys(after)) for after in successors]
    loops = find_loops(successors)
    found = visits(successors, [2] * len(loops))
    for mode in MODES:
        assert all(0 <= count < 1e9 for count in found[mode])
        assert found[mode][0] >= 1
    if not loops:
        assert sum(found["minimum"]) <= sum(found["average"]) + 1e-9 <= sum(found["maximum"]) + 2e-9


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_deep_nests(depth):
    """depth loops around one block: 2 ** depth runs of it."""
    successors = [[i + 1] for i in range(depth)] + [[i, i + 1] for i in range(depth - 1, -1, -1)]
    successors = []
    for level in range(depth):
        successors.append([level + 1])
    for level in range(depth):
        successors.append([depth - 1 - level, depth + 1 + level])
    successors.append([])
    found = visits(successors, [2] * depth)
    assert found["average"][depth] == 2**depth
