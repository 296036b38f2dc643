"""Halves convert as NumPy's where the processor has no instructions for it: every half, and floats around each."""

import ctypes

import numpy as np

from headwater.opencl.soft_halves import SOFT_HALVES

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
    text = SOFT_HALVES + WRAPPERS
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
