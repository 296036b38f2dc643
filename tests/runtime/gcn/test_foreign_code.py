"""Code objects as HIP's and Triton's compilers make them: no types in the metadata, and local memory by the launch."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import LaunchError, ResourceError
from headwater.opencl.gcn_build import assemble

# s[0:1] the array, s2 a number, s3 the bytes of dynamic local memory as the hidden argument says them. Each lane writes
# its id to local memory and reads its neighbour's back.
TEXT = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.text
	.globl f
	.p2align 8
	.type f,@function
f:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	s_mov_b32 m0, -1
	v_lshlrev_b32_e32 v1, 2, v0
	v_lshlrev_b32_e32 v2, 3, v0
	ds_write_b32 v1, v0 offset:16
	v_xor_b32_e32 v3, 4, v1
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v4, v3 offset:16
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v5, s2
	v_add_u32_e32 v4, s3, v4
	global_store_dwordx2 v2, v[4:5], s[0:1]
	s_endpgm
.Lend:
	.size f, .Lend-f
	.section .rodata,"a",@progbits
	.p2align 6
	.amdhsa_kernel f
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 8
		.amdhsa_group_segment_fixed_size 16
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_kernarg_size 16
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.version: [1,2]
amdhsa.target: amdgcn-amd-amdhsa--gfx906
amdhsa.kernels:
  - .name: f
    .symbol: f.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 16
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 6
    .max_flat_workgroup_size: 64
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global
      - .size: 4
        .offset: 8
        .value_kind: by_value
      - .size: 4
        .offset: 12
        .value_kind: hidden_dynamic_lds_size
...
	.end_amdgpu_metadata
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "f.hsaco"
    path.write_bytes(assemble(TEXT, "f.s").code)
    return path


@pytest.fixture(scope="module")
def kernel(code):
    return hw.compile(code, device="mi50").f


def test_a_launch_gives_local_memory(kernel):
    out = np.zeros((64, 2), np.uint32)
    kernel[(64,), (64,)](out, 7, lds=256)
    assert (out[:, 0] == (np.arange(64) ^ 1) + 256).all()  # the hidden argument is without the 16 bytes of the kernel
    assert (out[:, 1] == 7).all()


def test_checked_runs_and_the_cycle_model_have_it_too(kernel):
    out = np.zeros((64, 2), np.uint32)
    kernel[(64,), (64,)](out, 7, lds=256, check=True)
    assert (out[:, 0] == (np.arange(64) ^ 1) + 256).all()
    small = kernel[(64,), (64,)].simulate(np.zeros((64, 2), np.uint32), 7, lds=256)
    large = kernel[(64,), (64,)].simulate(np.zeros((64, 2), np.uint32), 7, lds=32768)
    assert large.held.work_groups < small.held.work_groups


def test_without_it_the_access_is_outside(kernel):
    with pytest.raises(hw.KernelFault, match="local memory"):
        kernel[(64,), (64,)](np.zeros((64, 2), np.uint32), 7)


def test_more_than_the_chip_has_is_refused(kernel):
    with pytest.raises(ResourceError, match=r"f needs 65552 bytes of local memory a group"):
        kernel[(64,), (64,)](np.zeros((64, 2), np.uint32), 7, lds=65536)
    for wrong in (-1, 2.5, "256"):
        with pytest.raises(LaunchError, match="lds is a number of bytes"):
            kernel[(64,), (64,)](np.zeros((64, 2), np.uint32), 7, lds=wrong)


@pytest.mark.parametrize("device", ["hd5870", "cpu"])
def test_vliw_chips_and_opencl_c_on_the_cpu_have_none(device):
    k = hw.compile("kernel void k(global int *o) { o[0] = 1; }", device=device).k
    with pytest.raises(LaunchError, match=f"cannot be given lds=4 on {device}"):
        k[1, None](np.zeros(1, np.int32), lds=4)


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64", "uint16"])
def test_untyped_pointers_take_any_array(kernel, dtype):
    out = np.zeros(512 // np.dtype(dtype).itemsize, dtype)
    kernel[(64,), (64,)](out, 7, lds=256)
    assert (out.view(np.uint32)[1::2] == 7).all()


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (np.float32(1.5), 0x3FC00000),
        (np.int32(-2), 0xFFFFFFFE),
        (-1, 0xFFFFFFFF),
        (4294967295, 0xFFFFFFFF),
        (np.int64(5), 5),
        (np.array([3.0], np.float32), 0x40400000),
        (True, 1),
    ],
)
def test_untyped_numbers_take_what_has_their_size(kernel, value, bits):
    out = np.zeros((64, 2), np.uint32)
    kernel[(64,), (64,)](out, value, lds=256)
    assert (out[:, 1] == bits).all()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, r"does not say whether 1.5 should be passed as a float"),
        (np.float64(1.5), r"4 bytes expected, .* has 8"),
        (1 << 32, r"4294967296 does not fit 4 bytes"),
        ("1", r"a number is expected, str"),
    ],
)
def test_others_are_refused(kernel, value, message):
    with pytest.raises(LaunchError, match=message):
        kernel[(64,), (64,)](np.zeros((64, 2), np.uint32), value, lds=256)


def test_the_command_line_takes_both(code, capsys):
    from headwater.cli import main

    words = [str(code), "--device", "mi50", "--global", "64", "--local", "64", "--lds", "256"]
    assert main(["run", *words, "argument1=zeros:512", "argument2=1.5", "-o", f"{code.parent}/out.npy"]) == 0
    assert (np.load(code.parent / "out.npy").view(np.uint32).ravel()[1::2] == 0x3FC00000).all()
    assert main(["run", *words[:-1], "some", "argument1=zeros:128", "argument2=1"]) == 2
    assert "a number of bytes is expected" in capsys.readouterr().err
