"""Operations that others stand for, those of the global data share, and what is refused by name: on the cpu device and on
VLIW chips."""

from __future__ import annotations

import numpy as np
import pytest

import headwater
from headwater import chips
from headwater.errors import HeadwaterError, ResourceError, SourceError
from headwater.il.expand import expanded
from headwater.il.parser import parse
from headwater.il.printer import text
from headwater.il.refused import refusals
from headwater.il.table import operations
from headwater.isa.vliw.compiler import compile_program

F, U = np.float32, np.uint32
EVERYWHERE = ("cpu", "hd3870", "hd4870", "hd5870", "hd6970")
SHARING = ("cpu", "hd5870", "hd6970")
PIXELS = "il_ps_2_0\ndcl_input_position_interp(linear_noperspective) vWinCoord0.xy__\ndcl_output_generic o0\n"
ITEMS = "il_cs_2_0\ndcl_num_thread_per_group 64\n"
WORDS = np.array(
    [0, 1, 2, 5, 31, 32, 33, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 1 << 63,
     0xFFFFFFFF00000000, 0xFFFFFFFFFFFFFFFF, 0x123456789ABCDEF0], np.uint64
)  # fmt: skip
MASK = (1 << 64) - 1


def signed(value):
    return value - (1 << 64) if value >> 63 else value


WIDE = {
    "i64add": lambda a, b: a + b, "i64sub": lambda a, b: a - b, "i64mul": lambda a, b: a * b,
    "u64mul": lambda a, b: a * b, "i64negate": lambda a: -a,
    "i64max": lambda a, b: max(signed(a), signed(b)), "i64min": lambda a, b: min(signed(a), signed(b)),
    "u64max": max, "u64min": min,
    "i64shl": lambda a, b: a << (b & 63), "i64shr": lambda a, b: signed(a) >> (b & 63), "u64shr": lambda a, b: a >> (b & 63),
}  # fmt: skip
COMPARED = {
    "i64eq": lambda a, b: a == b, "i64ne": lambda a, b: a != b, "i64lt": lambda a, b: signed(a) < signed(b),
    "i64ge": lambda a, b: signed(a) >= signed(b), "u64lt": lambda a, b: a < b, "u64ge": lambda a, b: a >= b,
}  # fmt: skip


def launch(source, device, sizes, *arrays):
    program = headwater.compile(source, language="il", device=device)
    program.main[sizes](*arrays, device=device)


def drawn(body, device, *inputs, width=8, height=4, declared=""):
    out = np.zeros((height, width, 4), F)
    launch(f"{PIXELS}{declared}{body}\nend\n", device, ((width, height), None), *inputs, out)
    return out


def run_items(body, device, declared, *arrays, count=128):
    launch(f"{ITEMS}{declared}{body}\nend\n", device, ((count,), (64,)), *arrays)


# ---- integers of 64 bits


@pytest.mark.parametrize("device", EVERYWHERE)
def test_integers_of_64_bits(device):
    rng = np.random.default_rng(3)
    picked = rng.choice(WORDS, (40, 2))
    values = np.concatenate([picked, rng.integers(0, 1 << 63, (24, 2), dtype=np.uint64) * U(2) + U(1)])
    given = np.ascontiguousarray(values).view(U).reshape(1, 64, 4)
    texture = "dcl_resource_id(0)_type(2d,unnorm)_fmtx(uint)_fmty(uint)_fmtz(uint)_fmtw(uint)\n"
    names = [*WIDE, *COMPARED]
    for first in range(0, len(names), 8):
        some = names[first : first + 8]
        lines = ["sample_resource(0)_sampler(0) r1, vWinCoord0.xyxx"]
        for k, name in enumerate(some):
            sources = "r1.xy, r1.zw" if len(operations()[name].sources) == 2 else "r1.xy"
            lines += [f"{name} r2{'.zw' if k % 2 and name in WIDE else '.xy'}, {sources}", f"mov o{k}, r2"]
        declared = texture + "".join(f"dcl_output_generic o{k}\n" for k in range(1, len(some)))
        outs = [np.zeros((1, 64, 4), U) for _ in some]
        launch(f"{PIXELS}{declared}" + "\n".join(lines) + "\nend\n", device, ((64, 1), None), given, *outs)
        for k, (name, out) in enumerate(zip(some, outs, strict=True)):
            for (a, b), got in zip(values.tolist(), out[0], strict=True):
                if name in COMPARED:
                    assert got[0] == (0xFFFFFFFF if COMPARED[name](a, b) else 0), (name, hex(a), hex(b))
                else:
                    two = len(operations()[name].sources) == 2
                    expected = (WIDE[name](a, b) if two else WIDE[name](a)) & MASK
                    at = 2 if k % 2 else 0
                    assert int(got[at]) | int(got[at + 1]) << 32 == expected, (name, hex(a), hex(b))


def test_64_bits_take_no_modifiers_and_whole_pairs():
    with pytest.raises(SourceError, match=r"i64add: sources of 64 bits take no modifiers"):
        expanded(parse(PIXELS + "i64add r0.xy, r1_neg(xy), r2\nend\n"))
    with pytest.raises(SourceError, match=r"i64add writes 64 bits, to \.xy or \.zw"):
        drawn("i64add r0.yz, r1, r2\nmov o0, r0", "cpu")


# ---- matrices, angles, coordinates, names


@pytest.mark.parametrize("device", EVERYWHERE)
@pytest.mark.parametrize(
    ("size", "lanes", "rows"), [("4x4", 4, 4), ("4x3", 4, 3), ("3x4", 3, 4), ("3x3", 3, 3), ("3x2", 3, 2)]
)
def test_a_vector_times_a_matrix(device, size, lanes, rows):
    matrix = np.arange(16, dtype=F).reshape(4, 4) - 5
    body = f"mov r0, vWinCoord0.xyxy\nmov r1, r0.1111\nmmul_matrix({size})_x2 r0, r0, cb0[1]\nmov o0, r0"
    got = drawn(body, device, np.concatenate([np.full((1, 4), 99, F), matrix]), declared="dcl_cb cb0[5]\n")
    y, x = np.mgrid[0:4, 0:8].astype(F) + F(0.5)
    vector = np.stack([x, y, x, y], -1)
    expected = vector.copy()
    expected[..., :rows] = 2 * vector[..., :lanes] @ matrix[:rows, :lanes].T
    np.testing.assert_array_equal(got, expected)


def test_a_matrix_must_be_there_whole():
    with pytest.raises(SourceError, match="c1 is not defined"):
        drawn("def c0, 1.0, 2.0, 3.0, 4.0\nmmul_matrix(3x2) r0, r1, c0\nmov o0, r0", "cpu")
    with pytest.raises(SourceError, match=r"_matrix\(2x2\)"):
        drawn("mmul_matrix(2x2) r0, r1, r2\nmov o0, r0", "cpu")


@pytest.mark.parametrize("device", EVERYWHERE)
def test_older_names(device):
    body = """
defb b0, 1
defb b1, 0
pireduce r0.x___, vWinCoord0.xxxx
dxsincos r1, vWinCoord0.x, c0, c0
invariant_move r2, vWinCoord0.xyxy
mov r3.x, r2.xyxy_divComp(y)
mov r2.zw, r1.xyxy
nop
callnz b0, 1
callnz b1, 1
ifnz b1
mov r0.x, r2.0000
endif
mov o0.x, r0.x
mov o0._y__, r3.x
mov o0.__zw, r2
endmain
func 1
add r3.x___, r3.xxxx, r3.1111
ret
endfunc"""
    got = drawn("def c0, 0, 0, 0, 0\n" + body, device, width=12)
    y, x = np.mgrid[0:4, 0:12].astype(np.float64) + 0.5
    reduced = (x + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(got, np.stack([reduced, x / y + 1, np.cos(x), np.sin(x)], -1), atol=3e-6)


def test_what_divides_coordinates_must_be_told():
    with pytest.raises(SourceError, match=r"_divComp\(unknown\)"):
        drawn("mov o0, vWinCoord0_divComp(unknown)", "cpu")


# ---- bytes and shorts


@pytest.mark.parametrize("device", SHARING)
@pytest.mark.parametrize("space", ["lds", "uav"])
def test_bytes_and_shorts(device, space):
    declared = "dcl_raw_uav_id(0)\ndcl_lds_id(1) 512\ndcl_literal l0, 1, 2, 3, 0x1FF\ndcl_literal l1, 4, 16, 64, 128\n"
    names = {"uav": "uav_{0}_store_id(1)", "lds": "lds_store_{0}_id(1)"}
    loads = {"uav": "uav_{0}_load_id(1)", "lds": "lds_load_{0}_id(1)"}
    declared += "dcl_typeless_uav_id(1)_stride(4)_length(4)_access(read_write)\n" if space == "uav" else ""
    body = f"""
imul r0.x, vTid0.x, l0.z
iadd r0.x, r0.x, vTid0.x
imul r0.y, vTid0.x, l0.w
{names[space].format("byte")} r0.x, r0.y
fence_threads_lds_memory
iadd r1.x, r0.x, l0.x
{names[space].format("byte")} r1.x, r0.y
iadd r1.x, r0.x, l0.y
{names[space].format("short")} r1.x, r0.y_neg(x)
fence_threads_lds_memory
{loads[space].format("byte")} r2.x, r0.x
iadd r1.x, r0.x, l0.x
{loads[space].format("ubyte")} r2._y__, r1.x
iadd r1.x, r0.x, l0.y
{loads[space].format("short")} r2.__z_, r1.x
{loads[space].format("ushort")} r2.___w, r1.x
ishl r3.x, vTid0.x, l1.x
uav_raw_store_id(0) mem0, r3.x, r2"""
    out = np.zeros((64, 4), U)
    more = [np.zeros(64, U)] if space == "uav" else []
    run_items(body, device, declared, out, *more, count=64)
    value = np.arange(64) * 0x1FF
    expected = np.stack(
        [value.astype(np.int8), value.astype(np.uint8), (-value).astype(np.int16), (-value).astype(np.uint16)], -1
    )
    np.testing.assert_array_equal(out.view(np.int32), expected)
    if space == "uav":
        bytes_ = np.stack([value, value, -value, -value >> 8], -1).astype(np.uint8)
        np.testing.assert_array_equal(more[0].view(np.uint8).reshape(64, 4), bytes_)


@pytest.mark.parametrize("device", SHARING)
def test_bits_are_set_under_a_mask(device):
    declared = "dcl_raw_uav_id(0)\ndcl_lds_id(1) 256\ndcl_literal l0, 2, 0xFF00, 0x5A00, 0xFFFF0000\ndcl_literal l1, 8, 0, 0, 0\n"
    body = """
ishl r0.x, vTid0.x, l0.x
mov r1.x, vTid0.x
lds_store_id(1) r0.x, l0.w
lds_mskor_id(1) r0.x, l0.y, l0.z
lds_read_mskor_resource(1) r2.x, r0.x, l0.y, r1.x
lds_load_id(1) r2._y__, r0.x
ishl r0.x, r0.x, l1.y
iadd r0.x, r0.x, r0.x
uav_raw_store_id(0) mem0.xy, r0.x, r2"""
    out = np.zeros((64, 2), U)
    run_items(body, device, declared, out, count=64)
    np.testing.assert_array_equal(out[:, 0], 0xFFFF5A00)
    np.testing.assert_array_equal(out[:, 1], 0xFFFF0000 | np.arange(64))


def test_byte_of_a_structure_is_refused():
    with pytest.raises(SourceError, match="lds_load_byte: LDS 1 has a structure"):
        expanded(parse(ITEMS + "dcl_struct_lds_id(1) 16, 4\nlds_load_byte_id(1) r0, r1.x\nend\n"))


# ---- the global data share


@pytest.mark.parametrize("device", ["hd5870", "hd6970"])
def test_work_groups_share_the_global_data_share(device):
    declared = """dcl_raw_uav_id(0)
dcl_gds_id(1) 64
dcl_struct_gds_id(2) 8, 4
dcl_literal l0, 1, 4, 8, 1000
dcl_literal l1, 0, 2, 60, 4
"""
    body = """
gds_read_add_id(1) r1.x, l1.x, l0.x
gds_add_id(1) l0.y, l0.y
gds_umax_id(1) l0.z, vaTid0.x
mov r2, l1.yw
gds_read_inc_resource(2) r1._y__, r2, l0.w
gds_load_id(2) r1.__z_, r2
gds_read_cmp_xchg_id(1) r1.___w, l1.z, vaTid0.x, l1.x
ishl r0.x, vaTid0.x, l1.w
uav_raw_store_id(0) mem0, r0.x, r1"""
    count = 320
    out = np.zeros((count, 4), U)
    run_items(body, device, declared, out, count=count)
    np.testing.assert_array_equal(np.sort(out[:, 0]), np.arange(count))  # each work-item its own ticket
    np.testing.assert_array_equal(np.sort(out[:, 1]), np.arange(count))
    assert out[:, 2].max() == count
    assert (out[:, 3] == 0).sum() in (1, 2)  # who came first, and whoever found its number 0
    again = np.zeros((count, 4), U)
    run_items(body, device, declared, again, count=count)
    np.testing.assert_array_equal(again, out)  # it begins as 0 with each launch


def test_the_global_data_share_is_refused_elsewhere():
    source = ITEMS + "dcl_gds_id(1) 64\ngds_add_id(1) r0.x, r0.y\nmov g[r0.x], r0\nend\n"
    with pytest.raises(SourceError, match="dcl_gds: OpenCL C knows no data share of all work-groups"):
        launch(source, "cpu", ((64,), (64,)), np.zeros((4, 4), F))
    with pytest.raises(SourceError, match="gds_add: Radeon HD 4870 has no data share of all work-groups"):
        compile_program(parse(source), chips.find("hd4870"))
    with pytest.raises(SourceError, match="GDS 3 is not declared"):
        compile_program(parse(source.replace("gds_add_id(1)", "gds_add_id(3)")), chips.find("hd5870"))
    with pytest.raises(HeadwaterError, match="65540 bytes of GDS: Radeon HD 5870 has 65536"):
        compile_program(parse(source.replace("_id(1) 64", "_id(1) 65540")), chips.find("hd5870"))


# ---- the rest


def test_what_pixels_and_work_items_cannot_have_is_refused_by_name():
    for name in refusals():
        with pytest.raises(SourceError, match=f"{name} is not supported: "):
            parse(f"{PIXELS}{name}_resource(1) r0, r1\nend\n")
    assert not set(refusals()) & set(operations())


def test_cached_loads_and_typed_declarations_are_read():
    source = ITEMS + "dcl_typed_uav_id(1)_type(2d)_fmtx(float)\ndcl_raw_uav_id(11)\n"
    source += "uav_raw_load_id(11)_cached r0, r1.x\nuav_load_id(1) r0, r1\nuav_store_id(1) r1, r0\nend\n"
    read = parse(source)
    assert parse(text(read)) == read
    for chip in ("hd5870", "hd6970"):
        compile_program(read, chips.find(chip))
    with pytest.raises(SourceError, match=r"_access\(private\)"):
        launch(ITEMS + "dcl_typeless_uav_id(8)_stride(4)_length(400)_access(private)\nend\n", "cpu", ((64,), (64,)))


# ---- modifiers that mean the same everywhere


@pytest.mark.parametrize("device", EVERYWHERE)
def test_nothing_saturates_to_a_nan(device):
    texture = "dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\n"
    given = np.tile(np.array([np.nan, -2, 0.25, 7], F), (4, 8, 1))
    body = """sample_resource(0)_sampler(0) r0, vWinCoord0.xy
mov_sat r1.x___, r0.xxxx
sample_resource(0)_sampler(0)_sat r2, vWinCoord0.xy
ftoi r3, vWinCoord0
load_resource(0)_d2 r3, r3
pow r1._y__, r0.yyyy, r0.yyyy
mov r1.__z_, r2.wwww
mov r1.___w, r3.wwww
add r1.x___, r1.xxxx, r2.xxxx
add r1.x___, r1.xxxx, r0.x_sat
mov o0, r1"""
    got = drawn(body, device, given, declared=texture)
    np.testing.assert_array_equal(got, np.tile(np.array([0, np.nan, 1, 3.5], F), (4, 8, 1)))


@pytest.mark.parametrize("device", [*EVERYWHERE, "vega64"])
def test_extremes_of_nan_and_of_zeros(device):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5], F)
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    texture = "dcl_resource_id({0})_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\n"
    body = """sample_resource(0)_sampler(0) r0, vWinCoord0.xy
min r1.x___, r0.xxxx, r0.yyyy
max r1._y__, r0.xxxx, r0.yyyy
min_ieee r1.__z_, r0.xxxx, r0.yyyy
max_ieee r1.___w, r0.xxxx, r0.yyyy
clamp r2, r0.xxxx, r0.yyyy, r0.1111
%s"""
    given = np.stack([a, b, a, b], 1).reshape(1, -1, 4)
    declared = texture.format(0)
    got = drawn(body % "mov o0, r1", device, given, width=a.size, height=1, declared=declared)[0]
    least = np.where((a == 0) & (b == 0), np.where(np.signbit(a), a, b), np.fmin(a, b))
    most = np.where((a == 0) & (b == 0), np.where(np.signbit(a), b, a), np.fmax(a, b))
    clamped = np.fmin(most, F(1))
    for wanted, found in zip((np.where(a < b, a, b), np.where(a >= b, a, b), least, most), got.T, strict=True):
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found)[wanted == 0], np.signbit(wanted)[wanted == 0])
    got = drawn(body % "mov o0, r2", device, given, width=a.size, height=1, declared=declared)[0, :, 0]
    np.testing.assert_array_equal(got, clamped)
    np.testing.assert_array_equal(np.signbit(got)[clamped == 0], np.signbit(clamped)[clamped == 0])


@pytest.mark.parametrize("device", EVERYWHERE)
def test_lanes_that_are_always_one_are_scaled_too(device):
    body = "dcl_literal l0, 2.0, -3.0, 4.0, 0.0\ndst_d8 o0, l0.zxyz, l0.xzzy"
    np.testing.assert_array_equal(drawn(body, device, width=1, height=1)[0, 0], [0.125, 1.0, -0.375, -0.375])
    body = "dcl_literal l0, 2.0, -3.0, 4.0, 0.0\npow o0, l0.xyyw, l0.zxww"
    np.testing.assert_allclose(drawn(body, device, width=1, height=1)[0, 0], [16, np.nan, 1, 1], rtol=1e-6)


@pytest.mark.parametrize("device", EVERYWHERE)
def test_vectors_of_no_length(device):
    body = """mov r0, vWinCoord0.0000
nrm_zeroop(zero) r1, r0
nrm_zeroop(fltmax) r2, r0
nrm r3, r0
nrm_nrm4 r4, r0.1111
mov o0.x___, r1
mov o0._y__, r2
mov o0.__z_, r3
mov o0.___w, r4"""
    got = drawn(body, device)
    np.testing.assert_array_equal(got[..., :3], np.tile(np.array([0, 0, np.nan], F), (4, 8, 1)))
    np.testing.assert_allclose(got[..., 3], 0.5, rtol=1e-6)


@pytest.mark.parametrize("device", EVERYWHERE)
def test_doubles_by_zero(device):
    declared = (
        "".join(f"dcl_output_generic o{k}\n" for k in range(1, 4)) + "dcl_literal l0, 0, 0xC0000000, 0, 0x80000000\n"
    )
    lines = []
    for k, rule in enumerate(("zero", "fltmax", "infinity", "inf_else_max")):
        lines += [f"ddiv_zeroop({rule}) r0.xy, l0.xy, l0.zw", f"drcp_zeroop({rule}) r0.zw, l0.zw", f"mov o{k}, r0"]
    outs = [np.zeros((1, 8, 4), U) for _ in range(4)]
    launch(PIXELS + declared + "\n".join(lines) + "\nend\n", device, ((8, 1), None), *outs)
    largest = np.finfo(np.float64).max
    expected = [[0, 0], [largest, -largest], [np.inf, -np.inf], [np.inf, -np.inf]]
    for out, pair in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(out.view(np.float64)[0], np.tile(pair, (8, 1)))


@pytest.mark.parametrize("device", ["cpu", "hd4870", "hd5870"])
def test_reciprocals_of_subnormal_doubles(device):
    x = np.array([5e-324, -(2.0**-1023), 1e-308, 2.0**-1022])
    texture = "dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\n"
    body = "sample_resource(0)_sampler(0) r0, vWinCoord0.xy\ndrcp r1.xy, r0.xy\ndrcp r1.zw, r0.zw\nmov o0, r1"
    got = drawn(body, device, x.view(F).reshape(1, 2, 4), width=2, height=1, declared=texture)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(got.view(np.float64).ravel(), 1 / x, rtol=5e-16)


@pytest.mark.parametrize("device", ["cpu", "hd5870"])
def test_the_sign_of_either_zero_is_zero(device):
    values = np.array([0.0, -0.0, np.nan, -2.0], F)
    texture = "dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\n"
    body = "sample_resource(0)_sampler(0) r0, vWinCoord0.xy\nmov o0, r0_sign"
    got = drawn(body, device, values.reshape(1, 1, 4), width=1, height=1, declared=texture).ravel()
    assert got.view(U).tolist() == [0, 0, 0, 0xBF800000]


@pytest.mark.parametrize("line", ["iadd_sat r0, r1, r2", "dadd_x2 r0.xy, r1.xy, r2.xy", "ftoi_d4 r0, r1"])
def test_what_is_no_float_is_not_scaled(line):
    with pytest.raises(SourceError, match=r"is for results of float, \w+ gives none"):
        drawn(line + "\nmov o0, r0", "cpu")


@pytest.mark.parametrize("device", EVERYWHERE)
def test_an_integer_is_negated_after_its_sign_bit_is_cleared(device):
    body = "ftoi r0, vWinCoord0\niadd r0, r0_neg(xyzw), r0_abs_neg(xyzw)\nitof r0, r0\nmov o0, r0"
    x = np.arange(8)
    got = drawn(body, device)[0, :, 0].astype(np.int64)
    expected = (-x - x).astype(np.int64)
    np.testing.assert_array_equal(got, expected)
    body = "ftoi r0, vWinCoord0_neg(xyzw)\ninegate r1, r0_abs_neg(xyzw)\nmov o0, r1"
    got = drawn(body, device).view(U)[0, :, 0]
    np.testing.assert_array_equal(got, (-x).astype(np.int32).view(U) & U(0x7FFFFFFF))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("iadd r0, r1_x2, r2", "an integer"),
        ("dadd r0.xy, r1.xy_abs, r2.xy", "a double"),
        ("itof r0, r1_sat", "an integer"),
    ],
)
def test_what_is_no_float_takes_no_modifiers_of_float(line, what):
    with pytest.raises(SourceError, match=rf"_\w+ is for sources of float, this is {what}"):
        drawn(line + "\nmov o0, r0", "cpu")


# ---- what a texture unit's coordinates reach


def test_textures_and_domains_are_as_large_as_a_chip_has_them():
    texture = "dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\n"
    body = "sample_resource(0)_sampler(0) r0, vWinCoord0.xy\nmov o0, r0"
    with pytest.raises(ResourceError, match=r"i0: 8193 x 1 elements; Radeon HD 4870 has .* up to 8192 x 8192"):
        drawn(body, "hd4870", np.zeros((1, 8193), F), declared=texture)
    with pytest.raises(ResourceError, match=r"the domain: 1 x 8193 elements"):
        drawn(body, "hd4870", np.zeros((1, 1), F), declared=texture, width=1, height=8193)
    got = drawn(body, "hd5870", np.ones((1, 8193), F), declared=texture, width=4, height=1)
    np.testing.assert_array_equal(got[0, :, 0], 1)
    body = "dcl_raw_srv_id(0)\nmov r1, vWinCoord0.0000\nsrv_raw_load_id(0) r0, r1.x\nmov o0, r0"
    assert (drawn(body, "hd4870", np.ones(9000, F), width=2, height=1) == 1).all()
