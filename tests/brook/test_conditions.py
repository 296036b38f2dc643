"""Conditions of entries: what the translator asks for, and how hosts evaluate it."""

import pytest

from headwater.brook import translate
from headwater.brook.conditions import holds, remaining
from tests.brook import corpus_files

HALVES = ("domain.x", 1, "-", 2, "/", "shape.a.x", "<")
COUNT = ("value.n", 2, "*", "shape.a.x", "<=")


def condition(kernel, variant):
    entry = translate(corpus_files.read("gather"), "gather.br").kernels[kernel].entry(variant)
    return entry.condition if entry else None


def test_tests_without_values_are_decided_once():
    assert remaining((HALVES,), {"domain.x": 8, "shape.a.x": 4}) == ()
    assert remaining((HALVES,), {"domain.x": 9, "shape.a.x": 4}) is None


def test_tests_with_values_wait_for_them():
    assert remaining((HALVES, COUNT), {"domain.x": 8, "shape.a.x": 4}) == (("value.n", 2, "*", 4, "<="),)
    (left,) = remaining((COUNT,), {"shape.a.x": 4})
    assert [holds(left, {"value.n": n}.__getitem__) for n in (-9, 2, 3)] == [True, True, False]


@pytest.mark.parametrize("test", [(2**31 - 1, 1, "+", 5, "<"), (-(2**31), -1, "*", 5, "<"), (1, 0, "/", 5, "<")])
def test_what_an_int_cannot_hold_never_counts_as_inside(test):
    assert not holds(test, int)


@pytest.mark.parametrize(("left", "right", "quotient"), [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3)])
def test_division_truncates(left, right, quotient):
    assert holds((left, right, "/", quotient, "=="), int)


def test_an_index_before_the_position_has_no_entry_without_tests():
    assert condition("stencil", "grid_inside") is None
    assert condition("two", "grid_inside") is None


def test_arrays_indexed_alike_must_have_one_shape():
    source = "kernel void f(float a[][], float b[][], float c[][], out float d<>) {\n"
    source += "int2 p = instance().xy; d = a[p.y][p.x] + b[p.y][p.x] + c[p.x][p.y]; }"
    tests = translate(source, "f.br").kernels["f"].entry("grid_inside").condition
    assert ("shape.b.x", "shape.a.x", "==") in tests
    assert ("shape.b.y", "shape.a.y", "==") in tests
    assert ("shape.c.x", "shape.a.x", "==") not in tests


def test_a_float_index_is_inside_only_where_floats_are_exact():
    tests = condition("nested", "grid_inside")
    assert [remaining(tests, {"shape.b.x": n, **_domain(n)}) for n in (1 << 24, (1 << 24) + 2)] == [(), None]


def _domain(x):
    return {"domain.x": x, "domain.y": 1, "domain.z": 1, "domain.w": 1}


def test_clamping_by_hand_is_seen():
    source = "kernel void f(float a[], int w, out float b<>) { int x = instance().x; b = a[max(x - 1, 0)] + %s; }"
    kept = translate(source % "a[min(x + 1, w - 1)]", "f.br").kernels["f"].entry("grid_inside").condition
    (left, right) = remaining(kept, {"shape.a.x": 5, **_domain(5)})
    assert [holds(left, {"value.w": w}.__getitem__) for w in (0, 1, 5, 6)] == [False, True, True, True]
    assert [holds(right, {"value.w": w}.__getitem__) for w in (0, 1, 5, 6)] == [True, True, True, False]
    below = translate(source % "a[min(x - 1, w - 1)]", "f.br").kernels["f"].entry("grid_inside").condition
    assert remaining(below, {"shape.a.x": 5, **_domain(5)}) == ()


LOOPS = {
    "break": "for (j = 0; j < n; j += 1) { if (b[j] > a) break; c += b[j]; }",
    "return": "if (a > 1.0f) return; for (j = 0; j < n; j += 1) { c += b[j]; }",
    "branch": "if (a > 1.0f) { for (j = 0; j < n; j += 1) { c += b[j]; } }",
    "step": "for (j = 0; j < n; j += 2) { c += b[j]; }",
    "changed counter": "for (j = 0; j < n; j += 1) { c += b[j]; j += 1; }",
    "offset": "for (j = 0; j < n; j += 1) { c += b[j + 1]; }",
}


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS)
def test_only_loops_that_all_threads_run_alike_are_tiled(body):
    source = "kernel void f(float a<>, float b[], int n, out float c<>) { int j; c = a; %s }"
    assert translate(source % body, "f.br").kernels["f"].entry("linear_tiled") is None
    even = "for (j = 0; j < n; j += 1) { if (b[j] > a) continue; c += b[j]; }"
    tiled = translate(source % even, "f.br").kernels["f"].entry("linear_tiled")
    assert tiled.group == 256
    assert tiled.condition == (("value.n", 1, "-", "shape.b.x", "<"),)


def test_kernels_say_whether_loops_run_unevenly():
    source = "kernel void f(float a<>, int n, out float b<>) { int j; b = a; %s }"
    loops = {"for (j = 0; j < n; ++j) b += a;": False, "while (b < 9.0f) b += 1.0f;": True, "": False}
    for body, uneven in loops.items():
        assert translate(source % body, "f.br").kernels["f"].uneven is uneven
