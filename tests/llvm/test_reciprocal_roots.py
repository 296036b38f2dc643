import numpy as np
import pytest

from benchmarks.forced_layouts import LAYOUTS, build, run
from headwater.llvm.ir import Module
from headwater.llvm.passes.reciprocal_roots import with_estimated_roots

SOURCE = """
__kernel void one(__global const float *a, __global float *o) {
  int i = get_global_id(0);
  o[i] = rsqrt(a[i]);
}
__kernel void three(__global const float *a, __global float *o) {
  int i = get_global_id(0);
  vstore3(half_rsqrt(vload3(i, a)), i, o);
}
__kernel void four(__global const float4 *a, __global float4 *o) {
  int i = get_global_id(0);
  o[i] = rsqrt(a[i]);
}
__kernel void in_turn(__global const float *a, __global float *o, int part) {
  int i = get_global_id(0) * part;
  for (int k = i; k < i + part; ++k) o[k] = rsqrt(a[k]);
}
"""
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -1e-45, 1e-45, 1e-38, 3.4028235e38, 1.0, 4.0], np.float32)
BESIDE_SPECIAL = np.array([np.inf, -np.inf, 0.0, np.nan, np.nan, np.nan, np.nan], np.float32)


def arguments():
    rng = np.random.default_rng(3)
    bits = rng.integers(1, 0x7F800000, 3072 - SPECIAL.size, np.uint32)
    return np.concatenate([SPECIAL, bits.view(np.float32)])


def quotient(ty, splat):
    lanes = "" if ty == "float" else "v" + ty[1:].split()[0]
    return (
        f"define {ty} @f({ty} %x) {{\n"
        f"  %root = call afn {ty} @llvm.sqrt.{lanes}f32({ty} %x)\n"
        f"  %y = fdiv afn {ty} {splat}, %root\n"
        f"  ret {ty} %y\n"
        "}\n"
        f"declare {ty} @llvm.sqrt.{lanes}f32({ty})\n"
    )


def estimated(text):
    module = Module(text)
    with_estimated_roots(module)
    return str(module)


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 6, 8, 16, 32, 48, 64])
def test_vectors_of_any_length_become_estimates(lanes):
    llvm = pytest.importorskip("llvmlite.binding")
    one = "1.000000e+00"
    text = quotient("float", one) if lanes == 1 else quotient(f"<{lanes} x float>", f"splat (float {one})")
    changed = estimated(text)
    assert "fdiv" not in changed
    llvm.parse_assembly(changed).verify()
    assert "= call <4 x float> @llvm.x86.avx512.rsqrt14.ps.128" in changed or lanes > 4


@pytest.mark.parametrize(
    ("old", "new"), [("fdiv afn", "fdiv"), ("fdiv afn", "fdiv afn arcp"), ("1.0", "2.0"), ("%root\n", "%x\n")]
)
def test_other_quotients_stay(old, new):
    text = quotient("float", "1.000000e+00").replace(old, new)
    assert estimated(text) == str(Module(text))


@pytest.fixture(scope="module", params=[None, *LAYOUTS], ids=str)
def program(request):
    return build(SOURCE, request.param)


def test_errors_are_within_the_specifications_and_the_same_in_every_layout(program):
    a = arguments()
    _, expected = run(build(SOURCE, LAYOUTS[0]), "one", (a.size,), (64,), [a, np.zeros_like(a)])
    with np.errstate(all="ignore"):
        exact = 1 / np.sqrt(a.astype(np.float64))
    np.testing.assert_array_equal(expected[: BESIDE_SPECIAL.size], BESIDE_SPECIAL)
    finite = np.isfinite(exact) & (exact != 0)
    ulp = np.ldexp(1.0, np.frexp(exact[finite])[1] - 24)
    assert np.max(np.abs(expected[finite] - exact[finite]) / ulp) <= 2  # OpenCL C 1.2 specification, 7.4
    for kernel, items, extra in (("one", 1, []), ("three", 3, []), ("four", 4, []), ("in_turn", 16, [np.int32(16)])):
        _, found = run(program, kernel, (a.size // items,), (64,), [a, np.zeros_like(a), *extra])
        np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32), kernel)
