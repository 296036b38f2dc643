"""The Brook+ oracle: its own parts, and (where a checkout of AMD's Brook+ is named) every kernel of AMD's samples."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from verification.brook_oracle import amd, cases, compare
from verification.brook_oracle.__main__ import main

HEADER = """
typedef struct PairRec {
  float  first;
  int4  second;
} Pair;
typedef struct __cpustruct_PairRec { int unused; } __cpustruct_Pair;
class __mix
{
    public:
        void operator()(const ::brook::Stream< float4 >& a, const float  w[3][2], const int  n, const ::brook::Stream<  Pair >& b);
        EXTENDCLASS();
};
class __add
{
    public:
        void operator()(const ::brook::Stream< float >& a, const ::brook::Stream< float >& t);
void operator()(const ::brook::Stream< float >& a, float  & t);
        EXTENDCLASS();
};
"""
BODY = """
void __mix::operator()(const ::brook::Stream< float4 >& a)
{
  __k.PushGatherStream(a);
  __k.PushConstantBuffer(constant_1, 2, __dim1);
  __k.PushConstant(constant_2);
  __k.PushOutput(b);
}
void __add::operator()(const ::brook::Stream< float >& a)
{
  __k.PushStream(a);
  __k.PushReduceStream(t);
}
"""


def test_generated_headers_give_kernels_and_structs() -> None:
    mix, add = amd.parse_kernels(HEADER, BODY)
    assert mix == amd.Kernel(
        "mix",
        (
            amd.Parameter("a", "gather", "float4"),
            amd.Parameter("w", "constant", "float", (3, 2)),
            amd.Parameter("n", "value", "int"),
            amd.Parameter("b", "output", "Pair"),
        ),
    )
    assert add.is_reduction
    assert amd.parse_structs(HEADER) == {"Pair": np.dtype([("first", "f4"), ("second", "i4", (4,))])}


def test_the_driver_passes_every_kind_of_argument() -> None:
    text = amd.driver_source(amd.parse_kernels(HEADER, BODY))
    assert "mix(*a0.stream, *reinterpret_cast<float (*)[3][2]>(a1.get()), *a2.get(), *a3.stream);" in text
    assert "add(*a0.stream, *a1.get());" in text  # a reduction to one value
    assert "add(*a0.stream, *a1.stream);" in text


def test_cases_have_awkward_shapes_and_are_the_same_every_time(tmp_path: Path) -> None:
    kernel = amd.Kernel("double_it", (amd.Parameter("a", "input", "float"), amd.Parameter("b", "output", "float")))
    sample = amd.Sample(tmp_path, "", (kernel,), {}, tmp_path)
    first, second = list(cases.cases(sample, kernel)), list(cases.cases(sample, kernel))
    assert [case.label for case in first] == [case.label for case in second]
    assert all(np.array_equal(x.arguments["a"], y.arguments["a"]) for x, y in zip(first, second, strict=True))
    labels = {case.label for case in first}
    assert {"1", "1021", "31x17", "2x3x2x5", "1021 part", "8 to 12"} <= labels


def test_differences_are_counted_in_units_in_the_last_place() -> None:
    one = np.array([1.0, 1024.0], np.float32)
    next_one = np.nextafter(one, np.float32(np.inf))
    assert compare.difference(one, one).ulps == 0
    assert compare.difference(one, next_one).ulps == 1
    small = np.array([1 + 2**-20, 1024.0], np.float32)
    assert compare.difference(one, small).ulps == 8
    assert compare.difference(one, small, "largest").ulps == 8 / 1024


def test_nan_and_infinity_agree_only_with_themselves() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 1.0], np.float64)
    assert compare.difference(values, values).ulps == 0
    assert compare.difference(values, np.roll(values, 1)).ulps == np.inf


def test_integers_and_structs_must_be_equal() -> None:
    kind = np.dtype([("a", "i4"), ("b", "f4")])
    x = np.array([(1, 2.0), (3, 4.0)], kind)
    y = np.array([(1, 2.0), (4, 4.0)], kind)
    assert compare.difference(x, x).ulps == 0
    found = compare.difference(x, y)
    assert found.ulps == np.inf
    assert "(1,)" in found.where


def test_every_tolerance_states_its_reason() -> None:
    assert all(tolerance.reason and tolerance.fused > 0 for tolerance in compare.TOLERANCES.values())


def test_a_folder_that_is_no_checkout_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--checkout", str(tmp_path)]) == 2
    assert "must name a checkout of hibengler/BrookPlus" in capsys.readouterr().err


CHECKOUT = os.environ.get("BROOKPLUS_CHECKOUT", "")


@pytest.mark.skipif(not CHECKOUT, reason="BROOKPLUS_CHECKOUT does not name a checkout of hibengler/BrookPlus")
@pytest.mark.timeout(900)
def test_every_kernel_of_amd_s_samples_gives_amd_s_answers(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["--checkout", CHECKOUT])
    assert status == 0, capsys.readouterr().out
