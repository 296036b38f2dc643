"""Brook+ on simulated VLIW chips: element-wise kernels, gathers, scatters, and reductions with and without local memory."""

import numpy as np
import pytest

import headwater as hw

SOURCE = """
kernel void saxpy(float4 x<>, float4 y<>, float a, out float4 r<>) { r = float4(a, a, a, a) * x + y; }
kernel void product(float n, float A[][], float B[][], out float result<>) {
  float2 at = indexof(result).xy;
  float sum = 0.0f;
  int i;
  for (i = 0; i < (int)n; i++) sum += A[(int)at.y][i] * B[i][(int)at.x];
  result = sum;
}
kernel void backwards(int a<>, out int o[]) { int i = instance().x; o[15 - i] = a; }
reduce void total(int a<>, reduce int s<>) { s += a; }
"""
CHIPS = ("hd2600-xt", "hd4870", "hd6970")


@pytest.fixture(scope="module", params=CHIPS)
def program(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("brook") / "kernels.br"
    path.write_text(SOURCE)
    return hw.compile(str(path), device=request.param)


def test_elements_gathers_and_scatters(program):
    rng = np.random.default_rng(1)
    x, y = (rng.random((6, 5, 4), np.float32) for _ in range(2))
    np.testing.assert_allclose(program.saxpy(x, y, 2.5), 2.5 * x + y, rtol=1e-6)
    a, b = (rng.random((7, 7), np.float32) for _ in range(2))
    np.testing.assert_allclose(program.product(7.0, a, b, shape=(7, 7)), a @ b, rtol=1e-5)
    a = np.arange(16, dtype=np.int32)
    assert (program.backwards(a, shape=(16,)) == a[::-1]).all()


@pytest.mark.parametrize("count", [1, 97, 360])
def test_reductions_to_one_value(program, count):
    """A prime number of elements has no stretches of equal length."""
    a = np.random.default_rng(2).integers(-1000, 1000, count).astype(np.int32)
    assert program.total(a) == a.sum()


def test_reductions_of_rows_and_columns(program):
    a = np.random.default_rng(3).integers(-1000, 1000, (12, 10)).astype(np.int32)
    assert (program.total(a, shape=(12, 1)) == a.sum(1, keepdims=True)).all()
    assert (program.total(a, shape=(3, 5)) == a.reshape(3, 4, 5, 2).sum((1, 3))).all()


ENDLESS = {
    "k.br": """
kernel void k(float a<>, out float b<>) { float s = a; for (;;) s = s * 2.0f + 1.0f; b = s; }
""",
    "reduction.br": "reduce void k(int a<>, reduce int s<>) { while (1) { } s += a; }",
    "k.cl": "kernel void k(global int *x) { while (x[0] == 0) ; x[1] = 2; }",
    "k.il": """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_literal l0, 1, 0, 0, 0
whileloop
iadd r0.x, r0.x, l0.x
endloop
mov o0, r0
endmain
end
""",
}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", ENDLESS)
def test_endless_loops_end_with_the_time_limit(chip, name, tmp_path):
    path = tmp_path / name
    path.write_text(ENDLESS[name])
    program = hw.compile(str(path), device=chip)
    if name.endswith(".br"):
        kernel, argument = program.k, np.zeros(100, np.int32 if "reduction" in name else np.float32)
    elif name.endswith(".cl"):
        kernel, argument = program.k[(64,), None], np.zeros(64, np.int32)
    else:
        kernel, argument = program.main[(8, 8), None], np.zeros((8, 8, 4), np.float32)
    with pytest.raises(hw.KernelFault, match="ran longer than its time limit"):
        kernel(argument, time_limit=0.1)
