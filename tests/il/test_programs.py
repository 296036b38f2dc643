"""Whole programs: control flow, functions, memory, and what a launch takes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import headwater
from headwater.errors import LaunchError, SourceError
from headwater.il.parser import parse
from headwater.il.to_opencl import to_opencl

PIXELS = "il_ps_2_0\ndcl_input_position_interp(linear_noperspective) vWinCoord0.xy__\n"
GROUP = "il_cs_2_0\ndcl_num_thread_per_group 64\n"


def pixels(body, width=8, height=4, lanes=4, declarations="", **arrays):
    source = f"{PIXELS}dcl_output_generic o0\n{declarations}\n{body}\nend\n"
    out = np.zeros((height, width, lanes), np.float32)
    headwater.compile(source).main[(width, height), None](**arrays, o0=out, device="cpu")
    return out


def test_position_is_the_pixels_centre():
    out = pixels("mov o0, vWinCoord0.xy01")
    y, x = np.mgrid[:4, :8]
    np.testing.assert_array_equal(out, np.stack([x + 0.5, y + 0.5, 0 * x, 0 * x + 1], -1).astype(np.float32))


def test_registers_begin_as_zeros_where_they_may_be_read_before_they_are_written():
    """r1, r2 and r8 are written first; the others partly, in a block, by what reads them, or are an index before."""
    body = """mov r1, l0
iadd r2, r1, l0
mov r3.xy__, l0
iadd r4, r4, l0
if_logicalnz r5.x
mov r6, l0
mov r1, l0
endif
mov x0[r7.x + 0], l0
mov r7, l0
mov r8, x0[r2.x + 0]
mov r5, l0
iadd r0, r3, r4
iadd r0, r0, r6
iadd r0, r0, r8
mov o0, r0"""
    declared = "dcl_output_generic o0\ndcl_literal l0, 1, 2, 3, 4\ndcl_indexed_temp_array x0[2]"
    code = to_opencl(parse(f"{PIXELS}{declared}\n{body}\nend\n")).source
    (registers,) = re.findall(r"^    uint4 (r\d.*);$", code, re.MULTILINE)
    assert registers == "r0, r1, r2, r3 = 0u, r4 = 0u, r5 = 0u, r6 = 0u, r7 = 0u, r8"
    out = pixels(body, declarations=declared.partition("\n")[2])
    # r3 + r4 + r6 + r8, of which r6 is never written, and x0's elements are l0 and zeros
    np.testing.assert_array_equal(out[0, 0].view(np.uint32), [2, 4, 3, 4])


def test_masks_and_swizzles():
    out = pixels("mov r0, l0.wzyx\nmov r0._y_1, l0.0x11\nmov o0, r0", declarations="dcl_literal l0, 1.0, 2.0, 3.0, 4.0")
    np.testing.assert_array_equal(out[0, 0], [4, 1, 2, 1])


def test_loops_functions_and_early_returns():
    declarations = "dcl_literal l0, 0, 1, 10, 5"
    body = """mov r0.x, l0.x
mov r1.x, l0.x
whileloop
    ige r2.x, r0.x, l0.z
    break_logicalnz r2.x
    iadd r0.x, r0.x, l0.y
    ieq r2.x, r0.x, l0.w
    continue_logicalnz r2.x
    call 7
endloop
itof o0, r1.x
endmain
func 7
    ilt r3.x, l0.w, r0.x
    if_logicalz r3.x
        iadd r1.x, r1.x, l0.y
        ret_dyn
    endif
    iadd r1.x, r1.x, r0.x
    ret
endfunc"""
    assert pixels(body, declarations=declarations)[0, 0, 0] == 4 + 6 + 7 + 8 + 9 + 10


def test_switch():
    body = """ftoi r0.x, vWinCoord0.x
switch r0.x
    case 0
        mov r1, l0.x
        break
    case 1
    case 2
        mov r1, l0.y
        break
    default
        mov r1, l0.z
        break
endswitch
mov o0, r1"""
    out = pixels(body, declarations="dcl_literal l0, 10.0, 20.0, 30.0, 0.0")
    np.testing.assert_array_equal(out[0, :5, 0], [10, 20, 20, 30, 30])


def test_textures_clamp_and_fill_missing_lanes():
    picture = np.arange(32, dtype=np.float32).reshape(4, 8)
    body = "sample_resource(0)_sampler(0)_aoffimmi(1,-1,0) r0, vWinCoord0.xy\nmov o0, r0"
    declarations = "dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)"
    out = pixels(body, declarations=declarations, i0=picture)
    expected = picture[np.maximum(np.arange(4) - 1, 0)][:, np.minimum(np.arange(8) + 1, 7)]
    np.testing.assert_array_equal(out[..., 0], expected)
    np.testing.assert_array_equal(out[..., 1:], np.broadcast_to(np.float32([0, 0, 1]), (4, 8, 3)))


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_lanes_of_textures_and_outputs(lanes):
    picture = np.random.default_rng(0).random((4, 8, lanes), np.float32)
    declarations = "dcl_resource_id(0)_type(2d)_fmtx(float)"
    body = "mul r0.xy, vWinCoord0.xy, l0.xy\nsample_resource(0)_sampler(0) o0, r0.xy"
    declarations += "\ndcl_literal l0, 0.125, 0.25, 0.0, 0.0"
    np.testing.assert_array_equal(pixels(body, lanes=lanes, declarations=declarations, i0=picture), picture)


def test_constants_and_indexed_temporaries():
    body = """mov x0[0], cb0[0]
mov x0[1], cb0[1]
ftoi r0.x, vWinCoord0.x
iand r0.x, r0.x, l0.x
mov o0, x0[r0.x]"""
    constants = np.arange(8, dtype=np.float32)
    declarations = "dcl_cb cb0[2]\ndcl_indexed_temp_array x0[2]\ndcl_literal l0, 1, 1, 1, 1"
    out = pixels(body, declarations=declarations, cb0=constants)
    np.testing.assert_array_equal(out[1, :2], constants.reshape(2, 4))


def test_global_buffer():
    source = f"""{PIXELS}dcl_literal l0, 8, 0, 0, 0
ftoi r0.xy, vWinCoord0.xy
imad r0.x, r0.y, l0.x, r0.x
mov r1, g[r0.x]
add g[r0.x].xy__, r1, r1
end
"""
    g = np.arange(128, dtype=np.float32).reshape(32, 4)
    expected = g.copy()
    expected[:, :2] *= 2
    headwater.compile(source).main[(8, 4), None](g, device="cpu")
    np.testing.assert_array_equal(g, expected)


def test_local_data_share_of_r700():
    source = f"""{GROUP}dcl_lds_size_per_thread 4
dcl_literal l0, 63, 0, 0, 0
mov r0.x, vTid0.x
lds_write_vec mem.x___, r0.xxxx
fence_threads_lds
isub r1.x, l0.x, r0.x
mov r1.y, l0.y
lds_read_vec r2, r1.xy
mov g[vaTid0.x], r2.x
end
"""
    g = np.zeros((128, 4), np.uint32)
    headwater.compile(source).main[(128,), None](g, device="cpu")
    np.testing.assert_array_equal(g[:, 0], np.tile(np.arange(63, -1, -1), 2))


def test_local_data_share_of_evergreen_and_atomics():
    source = f"""{GROUP}dcl_lds_id(1) 256
dcl_raw_uav_id(0)
dcl_literal l0, 2, 1, 15, 0
ishl r0.x, vTid0.x, l0.x
lds_store_id(1) r0.x, l0.w
fence_threads_lds
iand r1.x, vTid0.x, l0.z
ishl r1.x, r1.x, l0.x
lds_add_id(1) r1.x, l0.y
fence_threads_lds
lds_load_id(1) r2.x, r0.x
ishl r3.x, vaTid0.x, l0.x
uav_raw_store_id(0) mem.x___, r3.x, r2.x
uav_read_add_id(0) r4.x, r3.x, l0.y
end
"""
    uav = np.zeros(64, np.uint32)
    headwater.compile(source).main[(64,), None](uav, device="cpu")
    np.testing.assert_array_equal(uav, np.where(np.arange(64) < 16, 5, 1))


def test_a_value_of_local_memory_that_its_loop_reads_once_and_leaves_behind():
    source = f"""{GROUP}dcl_lds_id(1) 256
dcl_raw_uav_id(0)
dcl_literal l0, 2, 1, 10, 0
ishl r0.x, vTid0.x, l0.x
lds_store_id(1) r0.x, vTid0.x
fence_threads_lds
mov r1.x, l0.w
whileloop
lds_load_id(1) r2.x, r0.x
iadd r1.x, r1.x, r2.x
ige r3.x, r1.x, l0.z
break_logicalnz r3.x
iadd r1.x, r1.x, l0.y
endloop
iadd r1.x, r1.x, r2.x
ishl r3.x, vaTid0.x, l0.x
uav_raw_store_id(0) mem.x___, r3.x, r1.x
end
"""
    uav = np.zeros(64, np.uint32)
    headwater.compile(source).main[(64,), None](uav, device="cpu")
    own = np.arange(64)
    turns = -(-11 // (own + 1))  # each adds its own, and one if another follows
    np.testing.assert_array_equal(uav, turns * (own + 1) - 1 + own)


def test_discarded_pixels_keep_the_output():
    body = "lt r0.x, vWinCoord0.x, l0.x\ndiscard_logicalnz r0.x\nmov o0, l0.x"
    out = pixels(body, declarations="dcl_literal l0, 4.0, 0.0, 0.0, 0.0")
    np.testing.assert_array_equal(out[0, :, 0], [0, 0, 0, 0, 4, 4, 4, 4])


def test_transpose():
    body = "\n".join(f"mov r{10 + k}, cb0[{k}]" for k in range(4)) + "\ntranspose r10, r10\nmov o0, r12"
    out = pixels(body, declarations="dcl_cb cb0[4]", cb0=np.arange(16, dtype=np.float32))
    np.testing.assert_array_equal(out[0, 0], [2, 6, 10, 14])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "takes 2 arguments"),
        ({"i0": np.zeros((4, 8), np.float16), "o0": np.zeros((4, 8), np.float32)}, "i0 has elements of float16"),
        ({"i0": np.zeros((4, 8, 3), np.float32), "o0": np.zeros((4, 8), np.float32)}, "i0 has 3 lanes"),
        ({"i0": np.zeros((4, 8), np.float32), "o0": [1.0, 2.0]}, "o0 is written: pass an array"),
        ({"i0": np.zeros((4, 8), np.float32), "o0": np.zeros((8, 8), np.float32)[:, ::2]}, "must be C-contiguous"),
    ],
)
def test_wrong_arguments(arrays, message):
    source = f"{PIXELS}dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)\ndcl_output_generic o0\n"
    program = headwater.compile(source + "sample_resource(0)_sampler(0) o0, vWinCoord0.xy\nend\n")
    with pytest.raises(LaunchError) as caught:
        program.main[(8, 4), None](**arrays)
    assert message.replace("i0 has 3", "an element of i0 has 3") in str(caught.value) or message in str(caught.value)


def test_untranslated_operations_are_refused_with_their_place():
    with pytest.raises(SourceError) as caught:
        headwater.compile(f"{PIXELS}dcl_output_generic o0\nnoise o0, vWinCoord0.x\nend\n")
    assert "noise is not supported" in str(caught.value)
    assert caught.value.hint == "no document states its numbers"
    assert caught.value.span.line == 4


@pytest.mark.parametrize(("lanes", "missing"), [(1, [0, 0, 1]), (2, [0, 1]), (4, [])])
def test_typed_views_have_lanes_as_textures_do(lanes, missing):
    source = f"""{GROUP}dcl_uav_id(0)_type(2d)_fmtx(float)
dcl_literal l0, 63, 0, 0, 0
isub r0.x, l0.x, vTid0.x
mov r0.y, l0.y
uav_load_id(0) r1, r0.xy
mov g[vaTid0.x], r1
end
"""
    view = np.random.default_rng(1).random((1, 60, lanes), np.float32)
    g = np.ones((64, 4), np.float32)
    headwater.compile(source).main[(64,), None](view, g, device="cpu")
    np.testing.assert_array_equal(g[4:, :lanes], view[0, ::-1])
    np.testing.assert_array_equal(g[4:, lanes:], np.broadcast_to(np.float32(missing), (60, 4 - lanes)))
    np.testing.assert_array_equal(g[:4], 0)  # beyond the view


def test_scalar_integers_are_negated_as_integers():
    for lane, expected in (("x", 1000 - 64 * 5), ("y", 1000 + 64 * 5)):  # a scalar is the swizzle's first place
        source = f"{GROUP}dcl_raw_uav_id(0)\ndcl_literal l0, 0, 5, 0, 0\nuav_add_id(0) l0.x, l0.y_neg({lane})\nend\n"
        uav = np.full(1, 1000, np.int32)
        headwater.compile(source).main[(64,), None](uav, device="cpu")
        assert uav[0] == expected


def test_what_cannot_be_read_is_told_with_its_line():
    with pytest.raises(SourceError) as caught:
        headwater.compile(f"{PIXELS}dcl_output_generic o0\nmov r0, p1\nmov o0, r0\nend\n")
    assert (caught.value.message, caught.value.span.line) == ("reading p is not supported", 4)
