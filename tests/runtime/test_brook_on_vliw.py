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
