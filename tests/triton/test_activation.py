"""Triton's own launches, benchmarks and tuning on simulated chips. Without Triton these tests are skipped."""

import os
import warnings

import numpy as np
import pytest

import headwater as hw
import headwater.triton
from headwater.errors import DeviceError

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
pytest.importorskip("triton.language")

import triton
import triton.language as tl
from kernels import beyond, first_of_each, product, row_softmax, scaled_sum


def numbers(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.mark.parametrize("chip", ["mi50", "mi100", "mi250x", "mi300x"])
def test_kernels_take_numpy_arrays(chip):
    x, y, out = numbers(1000), numbers(1000, seed=2), np.zeros(1000, np.float32)
    with headwater.triton.activate(chip):
        scaled_sum[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000, 0.5, BLOCK=256)
    assert np.allclose(out, x + np.float32(0.5) * y, rtol=1e-6, atol=1e-7)


def test_a_chip_is_given_its_own_code():
    out = np.zeros((5, 300), np.float32)
    made = []
    for chip in ("mi50", "mi250x"):
        with headwater.triton.activate(chip):
            made.append(row_softmax[(5,)](numbers(5, 300), out, 300, BLOCK=512))
    assert [kernel.metadata.target.arch for kernel in made] == ["gfx906", "gfx90a"]


def test_what_was_active_before_is_active_again():
    before = triton.testing.do_bench, triton.runtime.driver._active, triton.runtime.jit.JITFunction.run
    with headwater.triton.activate("mi50") as outer:
        with headwater.triton.activate("mi100"):
            assert triton.runtime.driver.active.get_current_target().arch == "gfx908"
        assert triton.runtime.driver.active is outer.driver
    assert before == (
        triton.testing.do_bench, triton.runtime.driver._active, triton.runtime.jit.JITFunction.run,
    )  # fmt: skip


def test_faults_name_the_line_and_the_argument():
    with headwater.triton.activate("mi250x"), pytest.raises(hw.KernelFault, match=r"kernels\.py:\d+") as fault:
        beyond[(1,)](numbers(64), np.zeros(64, np.float32), 1 << 20, BLOCK=64)
    assert "`void *x`" in str(fault.value)


def test_tuning_goes_by_simulated_time():
    kernel = triton.autotune([triton.Config({"BLOCK": n}, num_warps=1) for n in (64, 1024)], key=["n"])(scaled_sum)
    x, out = numbers(1 << 16), np.zeros(1 << 16, np.float32)
    with headwater.triton.activate("mi250x"):
        kernel[lambda meta: (triton.cdiv(1 << 16, meta["BLOCK"]),)](x, x, out, 1 << 16, 1.0)
        times = {config.kwargs["BLOCK"]: time[0] for config, time in kernel.configs_timings.items()}
        assert kernel.best_config.kwargs["BLOCK"] == min(times, key=times.get)
        again = triton.testing.do_bench(lambda: scaled_sum[(64,)](x, x, out, 1 << 16, 1.0, BLOCK=1024, num_warps=1))
    assert again == pytest.approx(times[1024], rel=0.05)
    assert np.allclose(out, 2 * x)


def test_the_chip_in_hips_words():
    with headwater.triton.activate("mi250x") as active:
        properties = active.driver.utils.get_device_properties(0)
    assert properties["multiprocessor_count"] == 110
    assert properties["max_num_regs"] == 65536
    assert properties["max_threads_per_sm"] == 2048


def test_chips_that_triton_does_not_know_are_refused():
    for name in ("vega64", "hd5870", "cpu"):
        with pytest.raises(DeviceError, match=f"Triton does not compile for {name}"):
            headwater.triton.activate(name)


# -- PyTorch -----------------------------------------------------------------------------------------------------------


@triton.jit
def copied(x, out, scale: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * scale)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def test_tensors_are_used_in_place(torch):
    x = torch.arange(128, dtype=torch.bfloat16)
    out = torch.zeros(128, dtype=torch.bfloat16)
    with headwater.triton.activate("mi250x") as active:
        assert x.device == active.driver.get_active_torch_device()
        copied[(1,)](x[64:], out, 2.0, BLOCK=64)
    assert out[:64].tolist() == [2.0 * n for n in range(64, 128)]


def test_the_matrix_product_of_tensors(torch):
    a, b = torch.randn(64, 64, dtype=torch.float16), torch.randn(64, 64, dtype=torch.float16)
    out = torch.zeros(64, 64)
    with headwater.triton.activate("mi100"):
        product[(2, 2)](a, b, out, 64, BLOCK=32, DEPTH=16)
    assert torch.allclose(out, a.float() @ b.float(), atol=1e-2)


def test_tensors_of_addresses_lead_to_tensors(torch):
    tensors = [torch.full((4,), float(n)) for n in range(3)]
    addresses = torch.tensor([t.data_ptr() for t in tensors])
    out = torch.zeros(3)
    with headwater.triton.activate("mi250x"):
        first_of_each[(3,)](addresses, out)
        assert out.tolist() == [0, 1, 2]
        del tensors
        with warnings.catch_warnings(), pytest.raises(hw.KernelFault):
            first_of_each[(3,)](addresses, out)
