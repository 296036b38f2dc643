"""What strict and weak typing accept, as AMD's brcc 1.4.1 does, and what it computes."""

import numpy as np
import pytest

from headwater.brook import translate
from headwater.errors import SourceError
from headwater.runtime.brook.program import load

CHIPS = ("cpu", "hd4870", "vega64")


def run(source, *args, options="", device="cpu", **keywords):
    """Run the last kernel of a text."""
    loaded = load(source, "inline.br", options)
    return list(loaded.kernels.values())[-1](*args, device=device, **keywords)


@pytest.mark.parametrize("device", CHIPS)
@pytest.mark.parametrize(("base", "options"), [("float", ""), ("double", ""), ("float", "-a")])
def test_a_number_decides_a_conditional_expression_as_it_does_an_if(base, options, device):
    source = f"kernel void f({base} c<>, float r<>, out float o<>) {{ o = c ? r : 1.0f; }}"
    c = np.array([0, -0.0, 0.25, -2, np.nan, np.inf, 1e-30], base.replace("float", "f4").replace("double", "f8"))
    r = np.arange(2, 9, dtype=np.float32)
    np.testing.assert_array_equal(run(source, c, r, options=options, device=device), np.where(c != 0, r, 1))


def test_weak_typing_decides_by_the_first_component():
    source = "kernel void f(float2 c<>, float r<>, out float o<>) { o = (c.x ? r : 1.0f) + (c.xx ? r : 1.0f); }"
    c = np.array([[0, 1], [1, 0]], np.float32)
    np.testing.assert_array_equal(run(source, c, np.float32([5, 5]), options="-a"), [2, 10])


def test_logical_operators_take_any_number():
    source = """kernel void f(float a<>, double d<>, int i<>, out float p<>, out float q<>, out double r<>)
    { p = !a; q = a && i; r = d && d; if (!(a || i)) p = 7.0f; }"""
    a, d, i = np.float32([0, 0, -0.0, np.nan]), np.float64([0, 2, np.nan, 1]), np.int32([0, 3, 3, 3])
    p, q, r = run(source, a, d, i)
    np.testing.assert_array_equal(p, [7, 1, 1, 0])
    np.testing.assert_array_equal(q, [0, 0, 0, 1])
    np.testing.assert_array_equal(r, [0, 1, 1, 1])


@pytest.mark.parametrize("device", CHIPS)
def test_signed_and_unsigned_integers_are_assigned_to_each_other(device):
    source = """kernel void f(uint a<>, int n, int4 v, out uint b<>, out uint4 c<>, out int d<>, out uint e<>)
    {
        uint i;
        uint s;
        int t;
        s = a;
        for (i = 0; i < a; i++) s += 1;
        b = n;
        c = v;
        d = s;
        t = -8;
        t /= 2u;
        t >>= 1u;
        e = -1;
        e ^= t;
        e = (e << n) + (1u << n) + 4294967295;
    }"""
    a = np.array([0, 3, 2**31], np.uint32)[:2]
    b, c, d, e = run(source, a, 3, [-1, 2, -3, 4], device=device)
    np.testing.assert_array_equal(b, [3, 3])
    np.testing.assert_array_equal(c, np.array([[-1, 2, -3, 4]] * 2).astype(np.uint32))
    np.testing.assert_array_equal(d, [0, 6])
    np.testing.assert_array_equal(e, [(1 << 3) + (1 << 3) - 1] * 2)


@pytest.mark.parametrize(
    "statement",
    [
        "uint t = n;",
        "b = a + n;",
        "b = a & 1;",
        "if (a < n) b = a;",
        "b = max(a, n);",
        "char c; c = n;",
        "float f; f += n;",
    ],
)
def test_signed_and_unsigned_integers_mix_nowhere_else(statement):
    with pytest.raises(SourceError):
        translate(f"kernel void f(uint a<>, int n, out uint b<>) {{ b = a; {{ {statement} }} }}", "x.br")


def test_shifts_count_signed_or_unsigned():
    source = """kernel void f(uint4 u<>, int4 i<>, out uint4 p<>, out int4 q<>)
    { p = u << i; q = (int4(-64, -64, -64, -64) >> u) + int4(1 << 2u, 0, 0, 0); }"""
    u, i = np.uint32([[1, 2, 3, 4]]), np.int32([[4, 3, 2, 31]])
    p, q = run(source, u, i)
    np.testing.assert_array_equal(p, u << i.astype(np.uint32))
    np.testing.assert_array_equal(q, [[-32 + 4, -16, -8, -4]])


@pytest.mark.parametrize("device", CHIPS)
def test_weak_typing_cuts_vectors_to_the_components_wanted(device):
    source = """kernel float2 g(float4 v) { return v; }
    kernel void f(float4 a<>, float2 w<>, out float b<>, out float2 c<>, out float2 d<>, out float4 e<>, out float2 p<>)
    {
        float2 t = indexof(a);
        float s = a;
        float4 sum = a;
        sum.xy += a;
        b = a;
        b += s + (a == a);
        c = t;
        c += a;
        d = g(a) + (a + w) + (w.x > 0.0f ? a : w) + (float2)a;
        e = sum;
        e.yz = a * 2.0f;
        p = instance();
    }"""
    a = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    w = np.float32([[100, 200], [0, 300], [-1, 400]])
    b, c, d, e, p = run(source, a, w, options="-a", device=device)
    index = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(b, a[:, 0] * 2 + 1)
    np.testing.assert_array_equal(c, np.stack([index, 0 * index], 1) + a[:, :2])
    np.testing.assert_array_equal(d, a[:, :2] * 3 + w + np.where(w[:, :1] > 0, a[:, :2], w))
    np.testing.assert_array_equal(e, np.stack([a[:, 0] * 2, a[:, 0] * 2, a[:, 1] * 2, a[:, 3]], 1))
    np.testing.assert_array_equal(p, np.stack([index, 0 * index], 1))


def test_a_vector_cut_short_is_a_warning():
    source = "kernel void f(float4 a<>, out float2 b<>) {\n    b = a;\n}"
    assert translate(source, "x.br", "-a").warnings == (
        "x.br:2:9: warning: float4 is cut to its .xy in the assignment",
    )


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("v = w;", "write float4(…) with every component: what would fill it up is not defined"),
        ("w = g(v);", "take components, as in v.xy"),
    ],
)
def test_weak_typing_neither_fills_vectors_up_nor_cuts_arguments(statement, hint):
    source = f"""kernel float2 g(float2 v) {{ return v; }}
    kernel void f(float2 a<>, out float2 w<>, out float4 v<>) {{ w = a; v = a.xyxy; {statement} }}"""
    with pytest.raises(SourceError) as caught:
        translate(source, "x.br", "-a")
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "head",
    ["kernel static void", "static kernel void", "extern kernel void", "kernel inline void", "kernel static inline void",
     "void static kernel", "__inline kernel void", "kernel volatile void"],
)  # fmt: skip
def test_words_for_the_hosts_function_may_stand_before_a_kernel(head):
    source = f"{head} f(float a<>, out float b<>) {{ register float c = a; b = c; }}"
    np.testing.assert_array_equal(run(source, np.float32([1, 2])), [1, 2])


def test_integer_literals_may_say_that_they_are_long():
    np.testing.assert_array_equal(
        run("kernel void f(out int b<>, out uint c<>) { b = 0x10L + 1l; c = 3ul; }", shape=1), [[17], [3]]
    )
