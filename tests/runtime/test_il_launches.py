"""What an IL program says to launches of a wrong shape: its own name, and what would be right."""

import numpy as np
import pytest

import headwater as hw

LINE = """il_cs_2_0
dcl_num_thread_per_group 64
dcl_raw_uav_id(0)
dcl_literal l0, 4, 1, 2, 3
umul r0.x, vaTid0.x, l0.x
uav_raw_store_id(0) mem0.x___, r0.x, vaTid0.x
end
"""
RECTANGLE = LINE.replace("group 64", "group 8, 8")
PIXELS = "il_ps_2_0\ndcl_output_generic o0\ndcl_literal l0, 1.0, 2.0, 3.0, 4.0\nmov o0, l0\nend\n"


@pytest.fixture
def out():
    return np.zeros(256, np.uint32)


@pytest.mark.parametrize(
    ("source", "unit", "hint"),
    [
        (LINE, r"work-items, in groups of \(64, 1, 1\)", "program.main[(256,)](…)"),
        (RECTANGLE, r"work-items, in groups of \(8, 8, 1\)", "program.main[(256, 32)](…)"),
        (PIXELS, "pixels", "program.main[(width, height)](…)"),
    ],
)
def test_a_call_without_a_domain(source, unit, hint, out):
    with pytest.raises(hw.LaunchError, match=f"needs a domain, its number of {unit}") as caught:
        hw.compile(source, "il").main(out)
    assert caught.value.hint == hint


@pytest.mark.parametrize("device", ["cpu", "hd5870"])
def test_the_hinted_launch_runs(device, out):
    hw.compile(LINE, "il", device=device).main[(256,)](out)
    assert out.tolist() == list(range(256))


@pytest.mark.parametrize("device", ["cpu", "hd5870"])
@pytest.mark.parametrize(
    ("key", "message", "hint"),
    [
        (((100,), None), "groups of (64,) do not divide", "launch (128,)"),
        (((16, 16), None), "groups of (64, 1) do not divide", "launch (64, 16)"),
        (((256,), (32,)), "main requires groups of (64, 1, 1), not (32,)", "pass that group size, or None"),
    ],
)
def test_a_domain_that_groups_do_not_divide(device, key, message, hint, out):
    with pytest.raises(hw.LaunchError) as caught:
        hw.compile(LINE, "il", device=device).main[key](out)
    assert message in caught.value.message
    assert caught.value.hint.startswith(hint)
    assert "-cl-std" not in caught.value.hint
    assert key[1] is not None or "pass None" not in caught.value.hint


def test_kernels_in_opencl_c_are_told_of_a_later_version(out):
    kernel = hw.compile("kernel void k(global uint *o) { o[get_global_id(0)] = 1; }", device="cpu").k
    with pytest.raises(hw.LaunchError) as caught:
        kernel[(100,), (64,)](out)
    assert "pass None as the group size, or build with -cl-std=CL2.0" in caught.value.hint


CONSTANTS = LINE.replace("dcl_raw", "dcl_cb cb0[2]\ndcl_raw").replace("r0.x, vaTid0.x\n", "r0.x, cb0[1].x\n")


def test_each_number_of_a_list_has_the_type_of_its_own(out):
    """A fraction makes none of the whole numbers beside it a float."""
    main = hw.compile(CONSTANTS, "il", device="cpu").main
    for given, bits in ((128, 128), (-1, 0xFFFFFFFF), (0xFFFFFFFE, 0xFFFFFFFE), (1.5, 0x3FC00000)):
        main[(256,)]([64.0, 0.5, 0, 0, given, 0, 0], out)
        assert set(out.tolist()) == {bits}


@pytest.mark.parametrize("wrong", [[1 << 32, 0, 0, 0] * 2, [True] * 8, [[1], [2, 3]], ["1"], [], [None]])
def test_lists_of_what_is_no_number_of_32_bits(wrong, out):
    with pytest.raises(hw.LaunchError, match="cb0 takes"):
        hw.compile(CONSTANTS, "il", device="cpu").main[(256,)](wrong, out)
