"""Halves are NumPy's where the processor has no instructions for them: every half, and floats around each."""

import ctypes

import numpy as np
import pytest

import headwater as hw
from headwater.llvm.passes.soft_halves import HALVES_OF_DOUBLES, SOFT_HALVES

WRAPPERS = """
declare double @llvm.fabs.f64(double)
define void @widen(ptr %from, ptr %to, i64 %n) { entry: br label %again again:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  %at = getelementptr half, ptr %from, i64 %i
  %x = load half, ptr %at
  %y = call float @__extendhfsf2(half %x)
  %out = getelementptr float, ptr %to, i64 %i
  store float %y, ptr %out
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %again, label %end end: ret void }
"""
NARROW = """
define void @narrow_TYPE(ptr %from, ptr %to, i64 %n) { entry: br label %again again:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  %at = getelementptr TYPE, ptr %from, i64 %i
  %x = load TYPE, ptr %at
  %y = call half @NAME(TYPE %x)
  %out = getelementptr half, ptr %to, i64 %i
  store half %y, ptr %out
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %again, label %end end: ret void }
"""


def test_halves_convert_as_numpy_has_them():
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = SOFT_HALVES + HALVES_OF_DOUBLES + WRAPPERS
    for kind, name in (("float", "__truncsfhf2"), ("double", "__truncdfhf2")):
        text += NARROW.replace("TYPE", kind).replace("NAME", name)
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine()
    with llvm.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()

        def run(name, values, to):
            out = np.zeros(len(values), to)
            function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
            function(engine.get_function_address(name))(values.ctypes.data, out.ctypes.data, len(values))
            return out

        halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
        wide = run("widen", halves, np.float32)
        assert np.array_equal(wide, halves.astype(np.float32), equal_nan=True)
        assert np.array_equal(np.signbit(wide), np.signbit(halves))

        generator = np.random.default_rng(1)
        # Each half, the middles between neighbours, what is just beside them, and any bits.
        with np.errstate(all="ignore"):
            exact = halves.astype(np.float64)
            middles = (exact[:-1] + exact[1:]) / 2
            singles = np.concatenate([exact, middles]).astype(np.float32)
            near = [singles, np.nextafter(singles, np.float32(np.inf)), np.nextafter(singles, np.float32(-np.inf))]
            floats = np.concatenate([*near, generator.integers(0, 1 << 32, 200_000, np.uint32).view(np.float32)])
            closer = np.concatenate([middles * (1 + 2.0**-50), middles * (1 - 2.0**-50), middles])
            doubles = np.concatenate(
                [exact, closer, generator.integers(0, 1 << 64, 99_999, np.uint64).view(np.float64)]
            )
            for name, values in (("narrow_float", floats), ("narrow_double", doubles)):
                got, expected = run(name, values, np.float16), values.astype(np.float16)
                wrong = (got.view(np.uint16) != expected.view(np.uint16)) & ~np.isnan(expected)
                assert not wrong.any(), (name, values[wrong][:5], got[wrong][:5], expected[wrong][:5])
                assert np.isnan(got[np.isnan(expected)]).all()


ARITHMETIC = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF
kernel void from_doubles(global const double *x, global half *out)
{
    out[get_global_id(0)] = (half)x[get_global_id(0)];
}
kernel void steps(global const half *a, global const half *b, global half *out)
{
    int i = get_global_id(0);
    half product = a[i] * b[i], sum = product + b[i];
    out[i] = sum - a[i] / product;
}
kernel void vectors(global const half4 *a, global const half4 *b, global half4 *out)
{
    int i = get_global_id(0);
    out[i] = (a[i] * b[i] + (half)0.25h) * (half4)(1.5h, 2, 3, 0.75h) - b[i];
}
"""


@pytest.mark.parametrize("device", ["cpu", "hd7970", "r9-290x", "vega64"])
def test_doubles_become_halves(device):
    rng = np.random.default_rng(2)
    x = rng.standard_normal(4096) * 2.0 ** rng.integers(-30, 18, 4096)
    out = np.zeros(len(x), np.float16)
    hw.compile(ARITHMETIC, device=device).from_doubles[(len(x),), (64,)](x, out)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, x.astype(np.float16))


@pytest.mark.parametrize("device", ["cpu", "hd7970", "r9-290x", "vega64"])
def test_every_operation_on_halves_is_rounded(device):
    """Also on chips that compute with floats."""
    a, b = np.random.default_rng(3).standard_normal((2, 4096)).astype(np.float16)
    program = hw.compile(ARITHMETIC, device=device)
    out = np.zeros_like(a)
    program.steps[(4096,), (64,)](a, b, out)
    np.testing.assert_array_equal(out, a * b + b - a / (a * b))
    a, b, out = (x.reshape(-1, 4) for x in (a, b, out))
    program.vectors[(1024,), (64,)](a, b, out)
    factors = np.array([1.5, 2, 3, 0.75], np.float16)
    np.testing.assert_array_equal(out, (a * b + np.float16(0.25)) * factors - b)
