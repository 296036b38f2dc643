"""Forms of IL from before and after R700's time, and what pixels know of their neighbours: on the cpu device and on a
VLIW chip of each generation."""

from __future__ import annotations

import numpy as np
import pytest

import headwater
from headwater import chips
from headwater.errors import HeadwaterError, LimitError, SourceError
from headwater.il.checker import check
from headwater.il.legacy import modern
from headwater.il.parser import parse
from headwater.il.printer import text
from headwater.isa.vliw.compiler import compile_program

F, U = np.float32, np.uint32
EVERYWHERE = ("cpu", "hd3870", "hd4870", "hd5870", "hd6970")
SHARING = ("cpu", "hd5870", "hd6970")
"""Where LDS is shared freely, and views are."""
PIXELS = "il_ps_2_0\ndcl_input_position_interp(linear_noperspective) vWinCoord0.xy__\ndcl_output_generic o0\n"
TEXTURE = "dcl_resource_id({0})_type({1})_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\n"


def launch(source, device, sizes, *arrays):
    program = headwater.compile(source, language="il", device=device)
    program.main[sizes](*arrays, device=device)


def drawn(body, device, *inputs, width=7, height=5, declared=""):
    out = np.zeros((height, width, 4), F)
    launch(f"{PIXELS}{declared}{body}\nend\n", device, ((width, height), None), *inputs, out)
    return out


def places(width=7, height=5):
    y, x = np.mgrid[0:height, 0:width].astype(F)
    return x, y


def quad_slopes(value, *, fine):
    """The differences of a function of whole pixels, which may lie beyond the domain."""
    x, y = places()
    left, top = x // 2 * 2, y // 2 * 2
    row, column = (y, x) if fine else (top, left)
    return value(left + 1, row) - value(left, row), value(column, top + 1) - value(column, top)


# ---- derivatives


@pytest.mark.parametrize("device", EVERYWHERE)
@pytest.mark.parametrize("fine", ["", "_fine"])
def test_derivatives_are_differences_within_quads(device, fine):
    body = f"mul r0, vWinCoord0.xxxx, vWinCoord0.xyxy\ndsx{fine} r1.xy, r0\ndsy{fine} r1.__zw, r0\nmov o0, r1"
    if fine and device in ("hd3870", "hd4870"):
        with pytest.raises(SourceError, match=r"dsx_fine: .* has derivatives for whole quads only"):
            drawn(body, device)
        return
    got = drawn(body, device)
    square = quad_slopes(lambda x, y: (x + F(0.5)) ** 2, fine=bool(fine))
    product = quad_slopes(lambda x, y: (x + F(0.5)) * (y + F(0.5)), fine=bool(fine))
    expected = np.stack([square[0], product[0], square[1], product[1]], -1)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("device", EVERYWHERE)
def test_derivatives_of_derivatives_in_functions_and_branches(device):
    body = """mov r0, vWinCoord0.yxyx
call 1
mov r3, r1
if_logicalnz r3.y
    mul r0, vWinCoord0.xxxx, r3.yyyy
    call 1
endif
fwidth r2, r1
mov o0.xy, r1.xxxx
mov o0.__zw, r2.xxxx
endmain
func 1
mul r1, r0, vWinCoord0
dsx r1, r1
ret
endfunc"""
    got = drawn(body, device)
    # First the slope of x y, which is y all over a quad, of its first row; then that of x x y.
    _, y = places()
    second = quad_slopes(lambda x, y: (x + F(0.5)) ** 2, fine=False)[0] * (y // 2 * 2 + F(0.5))
    np.testing.assert_array_equal(got[..., 0], second)
    np.testing.assert_array_equal(got[..., 2], np.zeros_like(second))


@pytest.mark.parametrize("device", EVERYWHERE)
def test_a_discarded_pixel_still_has_its_value(device):
    body = """dcl_literal l0, 0, 1.0, 1, 0
ftoi r0, vWinCoord0
and r0, r0, l0.zzzz
discard_logicalnz r0.x
mul r1, vWinCoord0, vWinCoord0
dsx o0, r1.xxxx"""
    got = drawn(body, device)[..., 0]
    x, _ = places()
    slopes = quad_slopes(lambda x, y: (x + F(0.5)) ** 2, fine=False)[0]
    np.testing.assert_array_equal(got, np.where(x % 2 == 1, F(0), slopes))


def test_derivatives_in_loops_are_for_chips():
    body = """dcl_literal l0, 0, 1, 3, 0
mov r1, l0.xxxx
whileloop
    break_logicalz l0.x
    dsx r0, vWinCoord0
endloop
mov o0, r0"""
    with pytest.raises(SourceError, match="dsx within a loop: OpenCL C cannot read neighbouring pixels there"):
        drawn(body, "cpu")
    counted = body.replace("break_logicalz l0.x", "ige r2, r1, l0.zzzz\nbreak_logicalnz r2.x\niadd r1, r1, l0.yyyy")
    np.testing.assert_array_equal(drawn(counted, "hd5870")[..., :2], np.broadcast_to(F([1, 0]), (5, 7, 2)))


def test_derivatives_want_pixels():
    with pytest.raises(SourceError, match="dsx is for pixel shaders"):
        check(parse("il_cs_2_0\ndcl_num_thread_per_group 64\ndsx r0, r1\nend\n"))


@pytest.mark.parametrize("device", ["cpu", "hd3870", "hd5870"])
def test_an_object_has_its_number_in_the_domain(device):
    got = drawn("mov o0, vObjIndex0.x", device, width=100, height=3)[..., 0]
    np.testing.assert_array_equal(got, np.arange(300, dtype=F).reshape(3, 100))


# ---- Direct3D 9's forms


@pytest.mark.parametrize("device", EVERYWHERE)
def test_counted_loops(device):
    body = """def i0, 3, 1, 2, 0
def i1, 2, 0, 1, 0
def c0, 0.5, 0.25, 0.0, 0.0
dcl_literal l0, 4, 7, 1, 0
dcl_cb cb0[8]
loop i0
    mov r1, cb0[aL.x + 1]
    loop i1
        add r2, r2, c0.xxxx
        continue_logicalnz l0.z
        add r2, r2, c0.yyyy
    endloop
    add r0, r0, r1
endloop
loop i0
    add r3, r3, c0.xxxx
    break_logicalnz l0.x
endloop
mov o0.x, r0.xxxx
mov o0._y, r2.xxxx
mov o0.__z, r3.xxxx
mov o0.___w, c0.yyyy"""
    values = np.arange(32, dtype=F).reshape(8, 4)
    got = drawn(body, device, values, width=2, height=1)
    np.testing.assert_array_equal(got[0, 0], F([values[[2, 4, 6], 0].sum(), 3.0, 0.5, 0.25]))


@pytest.mark.parametrize("device", EVERYWHERE)
def test_address_registers(device):
    body = """dcl_cb cb0[8]
mul r0, vWinCoord0.xxxx, vWinCoord0.xxxx
mova a0.xy, r0
mov o0, cb0[a0.x + 1]"""
    values = np.arange(32, dtype=F).reshape(8, 4)
    got = drawn(body, device, values, width=2, height=1)  # 0.25 and 2.25
    np.testing.assert_array_equal(got[0], values[[1, 3]])


def test_constants_have_to_be_defined():
    with pytest.raises(SourceError, match="i0 is not defined"):
        check(parse("il_ps_2_0\nloop i0\nendloop\nend\n"))
    with pytest.raises(SourceError, match="c1 is not defined"):
        check(parse("il_ps_2_0\nmov r0, c1\nend\n"))


def test_older_forms_are_printed_and_read_back():
    source = "il_ps_2_0\ndcl_global_flags refactoringAllowed|enableDoublePrecisionFloatOps\ndef i0, 3, 1, 2, 0\n"
    program = parse(f"{source}loop i0\nmova a0.x, r1\nmov r0, x0[aL.x + 1]\nendloop\nend\n")
    assert parse(text(program)) == program
    assert "dcl_global_flags refactoringAllowed|enableDoublePrecisionFloatOps" in text(program)
    assert {made.mnemonic for made in modern(program).body} >= {"whileloop", "endloop"}
    with pytest.raises(SourceError, match="no modifier _nonsense"):
        parse("il_ps_2_0\ndcl_global_flags nonsense\nend\n")


# ---- operations of vertices and light


@pytest.mark.parametrize("device", EVERYWHERE)
def test_vector_operations(device):
    rng = np.random.default_rng(3)
    inputs = [rng.standard_normal((5, 7, 4)).astype(F) for _ in range(4)]
    declared = "".join(TEXTURE.format(k, "2d,unnorm") for k in range(4))
    reads = "".join(f"sample_resource({k})_sampler(0) r{k}, vWinCoord0\n" for k in range(4))
    a, b, c, d = (x.astype(np.float64) for x in inputs)

    def dot(x, y):
        return (x * y)[..., :3].sum(-1)[..., None]

    sines = np.stack([np.cos(a[..., 0]), np.sin(a[..., 0]), 0 * a[..., 0], 0 * a[..., 0]], -1)
    with np.errstate(invalid="ignore"):
        power = np.where((a[..., 0] > 0) & (a[..., 1] > 0), np.abs(a[..., 1]) ** a[..., 3], 0)
    for operation, expected in (
        ("reflect r4, r0, r1", a - 2 * dot(a, b) * b),
        ("faceforward r4, r0, r1, r2", np.where(dot(b, c) < 0, a, -a)),
        ("det r4, r0", np.broadcast_to(np.linalg.det(np.stack([a, b, c, d], -2))[..., None], a.shape)),
        ("sincos r4, r0", sines),
        ("lit r4, r0", np.stack([1 + 0 * power, np.maximum(a[..., 0], 0), power, 1 + 0 * power], -1)),
        ("expp r4, r0", np.exp2(a)),
        ("logp r4, r0_abs", np.log2(np.abs(a))),
    ):
        got = drawn(f"{reads}{operation}\nmov o0, r4", device, *inputs, declared=declared)
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-5, err_msg=operation)


@pytest.mark.parametrize("device", EVERYWHERE)
def test_sums_of_absolute_differences_of_sixteen_bytes(device):
    rng = np.random.default_rng(4)
    a, b = (rng.integers(0, 1 << 32, (5, 7, 4), dtype=U) for _ in range(2))
    declared = "".join(TEXTURE.format(k, "2d,unnorm") for k in range(2)) + "dcl_literal l0, 7, 7, 7, 7\n"
    reads = "".join(f"sample_resource({k})_sampler(0) r{k}, vWinCoord0\n" for k in range(2))
    got = drawn(f"{reads}sad4 o0, r0, r1, l0.x", device, a, b, declared=declared).view(U)
    bytes_a, bytes_b = (x.view(np.uint8).astype(int) for x in (a, b))
    expected = 7 + np.abs(bytes_a - bytes_b).sum(-1)
    np.testing.assert_array_equal(got, np.broadcast_to(expected[..., None], got.shape))


# ---- textures


@pytest.mark.parametrize("device", EVERYWHERE)
@pytest.mark.parametrize("unnormalised", [True, False])
def test_levels_and_gathers(device, unnormalised):
    texels = np.arange(5 * 7 * 4, dtype=F).reshape(5, 7, 4)
    declared = TEXTURE.format(0, "2d,unnorm" if unnormalised else "2d") + "dcl_literal l0, 9.0, 0.142857149, 0.2, 1.0\n"
    scaled = "mov r0, vWinCoord0\n" if unnormalised else "mul r0, vWinCoord0.xyxy, l0.yzyz\n"
    y, x = np.mgrid[0:5, 0:7]
    for operation in ("sample_l{} o0, r0, l0.x", "sample_b{} o0, r0, l0.x", "sample_g{} o0, r0, l0, l0"):
        name = operation.format("_resource(0)_sampler(0)_aoffimmi(1,-1,0)")
        got = drawn(scaled + name, device, texels, declared=declared)
        np.testing.assert_array_equal(got, texels[np.clip(y - 1, 0, 4), np.clip(x + 1, 0, 6)], err_msg=name)
    got = drawn(f"{scaled}fetch4_resource(0)_sampler(0)_aoffimmi(0.75,-0.25,0) o0, r0" if unnormalised else
                f"{scaled}fetch4_resource(0)_sampler(0)_aoffimmi(1.0,-1.0,0) r1, r0\nmov o0, r1", device, texels,
                declared=declared)  # fmt: skip
    if unnormalised:
        left, top = x, y - 1
    else:
        return  # which of the texels a corner belongs to is a matter of rounding
    corners = [(left, top + 1), (left + 1, top + 1), (left + 1, top), (left, top)]
    expected = np.stack([texels[np.clip(v, 0, 4), np.clip(u, 0, 6), 0] for u, v in corners], -1)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("device", EVERYWHERE)
@pytest.mark.parametrize("lanes", [1, 4])
def test_loads_beyond_a_texture_give_0(device, lanes):
    texels = np.random.default_rng(2).random((3, 4, lanes), F)
    line = np.random.default_rng(3).random((4, lanes), F)
    declared = (
        TEXTURE.format(0, "2d") + TEXTURE.format(1, "1d") + "dcl_literal l0, -2, -1, 0, 0\ndcl_output_generic o1\n"
    )
    body = """ftoi r0, vWinCoord0
iadd r0, r0, l0
load_resource(0)_aoffimmi(1,0,0) o0, r0
load_resource(1)_aoffimmi(1,0,0) o1, r0.xwww"""
    out = [np.zeros((5, 7, 4), F) for _ in range(2)]
    launch(f"{PIXELS}{declared}{body}\nend\n", device, ((7, 5), None), texels, line, *out)
    whole = [np.concatenate([a, np.zeros((*a.shape[:-1], 4 - lanes), F)], -1) for a in (texels, line)]
    if lanes == 1:
        whole[0][..., 3] = whole[1][..., 3] = 1.0
    expected = np.zeros((2, 5, 7, 4), F)
    expected[0, 1:4, 1:5], expected[1, :, 1:5] = whole
    np.testing.assert_array_equal(out, expected)


def test_comparisons_with_depth_are_refused():
    with pytest.raises(HeadwaterError, match="sample_c is not supported"):
        drawn("sample_c_resource(0)_sampler(0) o0, vWinCoord0, r0.x", "cpu", np.zeros((5, 7, 4), F),
              declared=TEXTURE.format(0, "2d,unnorm"))  # fmt: skip


# ---- buffers and LDS with structure


@pytest.mark.parametrize("device", EVERYWHERE)
def test_buffers_that_are_only_read(device):
    words = np.arange(256, dtype=U)
    declared = "dcl_raw_srv_id(0)\ndcl_struct_srv_id(1) 12\ndcl_literal l0, 4, 8, 1, 0\n"
    body = """ftoi r0, vWinCoord0
imul r1, r0, l0.xxxx
srv_raw_load_id(0) r2, r1.x
mov r3.x, r0.xxxx
mov r3._y, l0.yyyy
srv_struct_load_id(1) r4.xy, r3
mov o0.xy, r2.xwww
mov o0.__zw, r4.xyxy"""
    got = drawn(body, device, words, words + 1000, width=7, height=1, declared=declared).view(U)[0]
    x = np.arange(7)
    np.testing.assert_array_equal(got, np.stack([x, x + 3, 1000 + 3 * x + 2, 1000 + 3 * x + 3], -1))


@pytest.mark.parametrize("device", SHARING)
def test_structures_in_lds_and_views(device):
    body = """il_cs_2_0
dcl_num_thread_per_group 64
dcl_struct_lds_id(1) 12, 64
dcl_struct_uav_id(0) 20
dcl_literal l0, 4, 63, 8, 1
mov r0, vTidInGrp0
mov r0._y, l0.xxxx
lds_store_id(1) r0.xy, r0.x
lds_store_vec_id(1) mem._y, r0.x, l0.x, r0.xxxx
mov r1.x, r0.xxxx
mov r1._y, r1.0000
lds_store_id(1) r1.xy, r0.x
lds_add_id(1) r1.xy, l0.w
fence_threads_lds
inot r2, r0.xxxx
iadd r2, r2, l0.yyyy
iadd r2, r2, l0.wwww
mov r3.x, r2.xxxx
mov r3._y, r1.0000
lds_load_id(1) r4.x, r3.xy
lds_load_vec_id(1) r5, r2.x, r1.0
mov r6.x, vaTid0.xxxx
mov r6._y, l0.zzzz
mov r7.x, r4.xxxx
mov r7._y, r5.zzzz
uav_struct_store_id(0) mem.xy, r6.xy, r7
mov r6._y, r1.0000
uav_add_id(0) r6.xy, l0.w
uav_read_add_id(0) r8.x, r6.xy, l0.x
end
"""
    out = np.zeros((64, 5), U)
    launch(body, device, ((64,), (64,)), out)
    lane = np.arange(64)
    np.testing.assert_array_equal(out[:, 0], np.full(64, 5))
    np.testing.assert_array_equal(out[:, 2], 63 - lane + 1)
    np.testing.assert_array_equal(out[:, 3], 63 - lane)


# ---- registers that a SIMD engine's wavefronts share

SHARED = """il_cs_2_0
dcl_num_thread_per_group 64
dcl_shared_temp sr[3]
init_shared_registers
dcl_literal l0, 1, 2, 0, 0
iadd sr0.x___, sr0.x, l0.x
mov r0.x, vTGroupid0.xxxx
iand r1.x, r0.xxxx, l0.xxxx
iadd r1.x, r1.xxxx, l0.xxxx
iadd sr[r1.x]._y, sr[r1.x].yyyy, vTidInGrp0.xxxx
fence_sr
mov r2.x, sr0.xxxx
mov r2._y, sr[r1.x].yyyy
mov r2.__z, sr[2].yyyy
mov r2.___w, sr1.yyyy
mov g[vaTid0.x], r2
end
"""


@pytest.mark.parametrize("device", ["hd4870", "hd5870", "hd6970"])
def test_shared_registers_are_each_engines_and_lanes(device):
    engines = chips.find(device).compute.compute_units
    groups = 3 * engines + 5
    memory = np.zeros((64 * groups, 4), U)
    launch(SHARED, device, ((64 * groups,), (64,)), memory)
    got = memory.reshape(groups, 64, 4)
    group, lane = np.arange(groups)[:, None], np.arange(64)
    turn = group // engines + 1  # how often a group has been on the group's engine
    mine = np.array([(np.arange(g % engines, g + 1, engines) % 2 == g % 2).sum() for g in range(groups)])[:, None]
    np.testing.assert_array_equal(got[..., 0], np.broadcast_to(turn, (groups, 64)))
    np.testing.assert_array_equal(got[..., 1], mine * lane)
    even, odd = got[..., 3], got[..., 2]
    np.testing.assert_array_equal(even + odd, turn * lane)


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cpu", "OpenCL C knows no registers that a SIMD engine's wavefronts share"),
        ("hd3870", "has no compute shaders"),
    ],
)
def test_shared_registers_are_refused_elsewhere(device, message):
    with pytest.raises(HeadwaterError, match=message):
        launch(SHARED, device, ((64,), (64,)), np.zeros((64, 4), U))


def test_shared_registers_are_declared():
    for line, message in (
        ("mov r0, sr0", "no shared registers are declared"),
        ("dcl_shared_temp sr[2]\nmov sr2, r0", "sr2 is beyond the 2"),
    ):
        with pytest.raises(SourceError, match=message):
            check(parse(f"il_cs_2_0\ndcl_num_thread_per_group 64\n{line}\nend\n"))


# ---- what is only declared, and limits


@pytest.mark.parametrize("device", EVERYWHERE)
def test_the_pixels_place_is_declared_as_direct3d_9_did(device):
    out = np.zeros((2, 3, 4), F)
    declared = "dclpi_x(0)_y(0)_z(-)_w(-)_center_centered vWinCoord0\ndcl_output_usage(generic) o0\n"
    source = f"il_ps_3_0\n{declared}mov o0, vWinCoord0.xyxy\nend\n"
    assert text(parse(source)) == source
    launch(source, device, ((3, 2), None), out)
    assert out.tolist() == [[[x + 0.5, y + 0.5] * 2 for x in range(3)] for y in range(2)]


@pytest.mark.parametrize("line", ["dclpi_x(*)_y(*)_center_centered v1", "dclpi_x(*)_y(*)_center vWinCoord0"])
def test_other_values_of_pixels_are_not_interpolated(line):
    with pytest.raises(SourceError, match="CAL interpolates nothing else") as caught:
        check(parse(f"il_ps_3_0\n{line}\nend\n"), "k.il")
    assert str(caught.value.span) == "k.il:2:1"


VIEWS = """il_cs_2_0
dcl_num_thread_per_group 64
dcl_raw_uav_id(0)
dcl_{0}
dcl_literal l0, 4, 0, 0, 0
ishl r1.x, vAbsTidFlat.x, l0.x
uav_raw_load_id(0) r2, r1.x
iadd r2, r2, r2
uav_raw_store_id({1}) mem, r1.x, r2
end
"""


@pytest.mark.parametrize("device", ["cpu", "hd4870", "hd5870", "hd6970"])
def test_views_that_nothing_uses_are_left_out(device):
    data = np.arange(256, dtype=np.int32).reshape(64, 4)
    launch(VIEWS.format("arena_uav_id(8)", 0), device, ((64,), (64,)), data)
    assert (data.ravel() == 2 * np.arange(256)).all()


ARENA = """il_cs_2_0
dcl_num_thread_per_group 64
dcl_arena_uav_id(3)
dcl_literal l0, 4, 0xffff8765, 3, 0
umul r1.x, vAbsTidFlat.x, l0.x
uav_arena_store_id(3)_size({size}) r1.x, l0.y
uav_arena_load_id(3)_size(dword) r2.x, r1.x
uav_arena_store_id(3)_size(dword) r1.x, l0.z
uav_arena_load_id(3)_size({size}) r2.y, r1.x
mov g[vAbsTidFlat.x], r2.xy00
end
"""


@pytest.mark.parametrize(("size", "stored"), [("short", 0x11118765), ("byte", 0x11111165)])
@pytest.mark.parametrize("device", ["cpu", "hd5870", "hd6970", "hd7970", "vega64"])
def test_elements_of_an_arena_may_be_read_by_another_size(device, size, stored):
    left = np.zeros((64, 4), np.uint32)
    arena = np.full(64, 0x11111111, np.uint32)
    program = headwater.compile(ARENA.format(size=size), language="il", device=device)
    program.main[(64,), (64,)](g=left, uav3=arena, device=device)
    assert (left == [stored, 3, 0, 0]).all()
    assert (arena == 3).all()


@pytest.mark.parametrize(
    ("chip", "source", "message", "place"),
    [
        ("hd4870", VIEWS.format("raw_uav_id(1)", 1), "(uav0, uav1): Radeon HD 4870 has one global buffer", "9:1"),
        ("hd5870", VIEWS.format("raw_uav_id(12)", 12), "uav 12: Radeon HD 5870 has 12 views", "9:1"),
        ("hd3870", VIEWS.format("cb cb0[1]", 0), "has no compute shaders", "1:1"),
        ("hd5870", VIEWS.format("lds_id(0) 40000", 0), "40000 bytes of LDS", "4:1"),
        ("hd5870", VIEWS.format("cb cb17[4]", 0), "cb17: Radeon HD 5870", "4:1"),
        ("hd5870", VIEWS.format("cb cb0[5000]", 0), "a constant buffer of 5000 elements", "4:1"),
        ("hd5870", VIEWS.format("indexed_temp_array x0[5000]", 0), "5000 elements of scratch memory", "4:1"),
        ("hd5870", VIEWS.replace("group 64", "group 512").format("cb cb0[1]", 0), "runs no work-group of 512", "2:1"),
    ],
)
def test_limits_of_chips_are_told_at_what_exceeds_them(chip, source, message, place):
    if "x0[" in source:
        source = source.replace("iadd r2, r2, r2\n", "mov x0[r1.x], r2\nmov r2, x0[r2.x]\n")
    with pytest.raises(LimitError) as caught:
        compile_program(parse(source), chips.find(chip), "k.il")
    assert message in caught.value.message
    assert str(caught.value.span) == f"k.il:{place}"
