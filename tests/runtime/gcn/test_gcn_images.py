"""Kernels with image instructions, as AMD's compiler makes them: image and sampler arguments bound by the metadata."""

from __future__ import annotations

import numpy as np
import pytest

import headwater as hw
from headwater.emulate.recorded import statistics
from headwater.emulate.watch.trace import Recording
from headwater.errors import KernelFault, LaunchError
from headwater.opencl.gcn_build import assemble

DEVICES = {"gfx803": "r9-nano", "gfx900": "vega64", "gfx906": "mi50"}
_FRAME = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.text
.globl k
.p2align 8
.type k,@function
k:
s_load_dwordx4 s[4:7], s[0:1], 0x0
s_load_dwordx2 s[8:9], s[0:1], 0x10
s_waitcnt lgkmcnt(0)
s_load_dwordx8 s[12:19], s[4:5], 0x0
s_load_dwordx8 s[20:27], s[6:7], 0x0
s_load_dwordx4 s[28:31], s[8:9], 0x0
s_waitcnt lgkmcnt(0)
{body}
s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_system_vgpr_workitem_id 1
.amdhsa_next_free_vgpr 32
.amdhsa_next_free_sgpr 40
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 24
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 40
    .vgpr_count: 32
    .max_flat_workgroup_size: 256
    .args:
      - {{.name: in, .size: 8, .offset: 0, .value_kind: image, .access: read_only, .type_name: '{first}'}}
      - {{.name: out, .size: 8, .offset: 8, .value_kind: image, .access: write_only, .type_name: '{second}'}}
      - {{.name: s, .size: 8, .offset: 16, .value_kind: sampler, .type_name: 'sampler_t'}}
...
.end_amdgpu_metadata
"""

# A group of 8 × 8: read at the coordinates times s[34:35], s[36:37], store at the work-item's place.
_SAMPLE = """
v_cvt_f32_u32 v2, v0
v_cvt_f32_u32 v3, v1
v_mul_f32 v2, {scale}, v2
v_mul_f32 v3, {scale}, v3
v_add_f32 v2, {more}, v2
v_add_f32 v3, {more}, v3
image_sample_lz v[4:7], v[2:3], s[12:19], s[28:31] dmask:0xf{unorm}
s_waitcnt vmcnt(0)
image_store v[4:7], v[0:1], s[20:27] dmask:0xf unorm
"""
_COPY = """
image_load v[4:7], v[0:1], s[12:19] dmask:0xf unorm
s_waitcnt vmcnt(0)
image_store v[4:7], v[0:1], s[20:27] dmask:0xf unorm
"""


def code_of(body, target="gfx900", first="image2d_t", second="image2d_t"):
    return assemble(_FRAME.format(target=target, body=body, first=first, second=second), "images.s", target).code


def program(tmp_path, body, target="gfx900", **types):
    path = tmp_path / "images.hsaco"
    path.write_bytes(code_of(body, target, **types))
    return hw.compile(path, device=DEVICES[target])


def kernel(body):
    return hw.device("vega64").load(code_of(body), "images.hsaco").kernels["k"]


def ran(text, device, *args):
    """OpenCL C on a device, for 8 × 8 work-items."""
    hw.device(device).build(text, "k.cl").kernels["k"].prepare((8, 8), (8, 8))(args, None, None).wait()


def pixels(seed, dtype=np.uint8, shape=(8, 8, 4)):
    rng = np.random.default_rng(seed)
    if dtype == np.float32:
        return rng.random(shape, np.float32)
    return rng.integers(0, np.iinfo(dtype).max, shape).astype(dtype)


def at_an_odd_place(array):
    """A copy that does not begin where a descriptor can say."""
    memory = np.zeros(array.nbytes + 512, np.uint8)
    start = (16 - memory.ctypes.data) % 256
    moved = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[:] = array
    assert moved.ctypes.data % 256 == 16
    return moved


@pytest.mark.parametrize("target", DEVICES)
def test_images_are_loaded_and_stored(tmp_path, target):
    source, target_ = pixels(1), at_an_odd_place(np.zeros((8, 8, 4), np.uint8))
    program(tmp_path, _COPY, target).k[(8, 8), (8, 8)](hw.Image(source), hw.Image(target_), hw.Sampler())
    assert (target_ == source).all()


def test_launches_in_a_queue_see_what_those_before_them_wrote(tmp_path):
    first = pixels(1)
    second, third = (at_an_odd_place(np.zeros((8, 8, 4), np.uint8)) for _ in range(2))
    copy = program(tmp_path, _COPY)
    with hw.Queue("vega64") as queue:
        for source, result in ((first, second), (second, third)):
            copy.k[(8, 8), (8, 8)](hw.Image(source), hw.Image(result), hw.Sampler(), queue=queue)
    assert (third == first).all()


@pytest.mark.parametrize("order", ["rgba", "bgra", "argb", "abgr"])
def test_channel_orders(tmp_path, order):
    source, result = pixels(2), np.zeros((8, 8, 4), np.float32)
    program(tmp_path, _COPY).k[(8, 8), (8, 8)](hw.Image(source, order), hw.Image(result), hw.Sampler())
    colours = np.stack([source[..., order.index(c)] for c in "rgba"], axis=-1)
    assert np.allclose(result, colours / 255, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32, np.int8, np.int32, np.uint32])
def test_channel_types_are_converted_as_the_cpu_does(tmp_path, dtype):
    source = pixels(3, np.uint16 if dtype in (np.float16, np.float32) else dtype).astype(dtype)
    letter = {"f": "f", "i": "i", "u": "ui" if np.dtype(dtype).itemsize == 4 else "f"}[np.dtype(dtype).kind]
    result = np.zeros((8, 8, 4), {"f": np.float32, "i": np.int32, "ui": np.uint32}[letter])
    expected = np.zeros_like(result)
    text = f"""kernel void k(read_only image2d_t in, write_only image2d_t out, sampler_t s) {{
      int2 at = (int2)(get_global_id(0), get_global_id(1));
      write_image{letter}(out, at, read_image{letter}(in, s, at));
    }}"""
    ran(text, "cpu", hw.Image(source), hw.Image(expected), hw.Sampler())
    program(tmp_path, _COPY).k[(8, 8), (8, 8)](hw.Image(source), hw.Image(result), hw.Sampler())
    assert np.allclose(result, expected, rtol=2e-7, atol=0)


ADDRESSING = [("clamp_to_edge", False), ("clamp", False), ("repeat", True), ("mirrored_repeat", True), ("clamp", True)]


@pytest.mark.parametrize("filter_", ["nearest", "linear"])
@pytest.mark.parametrize(("addressing", "normalized"), ADDRESSING)
def test_samplers_do_what_the_cpu_does(tmp_path, addressing, normalized, filter_):
    """Nearest: the same. Linear: the hardware's weights have 8 bits, so a colour may be off by 1/256 for each axis."""
    source = pixels(4)
    sampler = hw.Sampler(normalized, addressing, filter_)
    scale, more = (0.21875, -0.34375) if normalized else (1.75, -2.125)
    result, expected = np.zeros((8, 8, 4), np.float32), np.zeros((8, 8, 4), np.float32)
    text = f"""kernel void k(read_only image2d_t in, write_only image2d_t out, sampler_t s) {{
      int2 at = (int2)(get_global_id(0), get_global_id(1));
      write_imagef(out, at, read_imagef(in, s, convert_float2(at) * {scale}f + {more}f));
    }}"""
    ran(text, "cpu", hw.Image(source), hw.Image(expected), sampler)
    body = _SAMPLE.format(scale=_literal(scale), more=_literal(more), unorm="" if normalized else " unorm")
    program(tmp_path, body).k[(8, 8), (8, 8)](hw.Image(source), hw.Image(result), sampler)
    if filter_ == "nearest":
        assert np.allclose(result, expected, rtol=2e-7, atol=0)
    else:
        assert np.abs(result - expected).max() <= 2 / 256
        assert np.abs(result - expected).max() < np.abs(result - np.roll(expected, 1, 0)).max() / 8


def _literal(value):
    return f"0x{int(np.float32(value).view(np.uint32)):08x}"


def test_kernels_of_ours_run_beside_image_instructions(tmp_path):
    text = """kernel void k(read_only image2d_t in, write_only image2d_t out, sampler_t s, global float4 *o) {
      int2 at = (int2)(get_global_id(0), get_global_id(1));
      o[at.y * 8 + at.x] = read_imagef(in, s, at) + read_imagef(in, CLK_FILTER_NEAREST | CLK_ADDRESS_CLAMP, at - 1);
      write_imagef(out, at, read_imagef(in, s, at).yxwz);
    }"""
    source = pixels(5)
    results = []
    for device in ("cpu", "vega64"):
        out, o = np.zeros((8, 8, 4), np.uint8), np.zeros((64, 4), np.float32)
        ran(text, device, hw.Image(source), hw.Image(out), hw.Sampler(), o)
        results.append((out, o))
    assert (results[0][0] == results[1][0]).all()
    assert np.allclose(results[0][1], results[1][1], rtol=1e-6)


BUILT_INS = """
typedef int v4i __attribute__((ext_vector_type(4)));
__attribute__((target("extended-image-insts")))
kernel void k(read_only image2d_t in, sampler_t s, global float4 *o) {
  int x = get_global_id(0), y = get_global_id(1);
  const constant void *p = __builtin_astype(in, const constant void *);
  __amdgpu_texture_t t = *(const private __amdgpu_texture_t *)&p;
  v4i sampler = *__builtin_astype(s, const constant v4i *);
  o[y * 8 + x] = 2 * __builtin_amdgcn_image_load_2d_v4f32_i32(15, x, y, t, 0, 0)
      + __builtin_amdgcn_image_sample_lz_2d_v4f32_f32(15, x + 0.75f, y + 0.5f, t, sampler, true, 0, 0);
}
"""


@pytest.mark.parametrize("device", ["hd7970", "r9-290x", "r9-nano", "vega64", "mi50"])
def test_built_ins_make_image_instructions(device):
    """What LLVM makes of clang's built-in functions, on every generation."""
    source, out = pixels(12, np.float32), np.zeros((64, 4), np.float32)
    ran(BUILT_INS, device, hw.Image(source), hw.Sampler(False, "clamp", "linear"), out)
    right = np.concatenate([source[:, 1:], np.zeros((8, 1, 4), np.float32)], axis=1)
    expected = 2 * source + np.float32(0.75) * source + np.float32(0.25) * right
    assert np.allclose(out.reshape(8, 8, 4), expected, rtol=3e-7, atol=1e-7)


def test_an_image_buffer_is_read_by_a_formatted_load(tmp_path):
    body = """
v_lshl_add_u32 v2, v1, 3, v0
buffer_load_format_xyzw v[4:7], v2, s[12:15], 0 idxen
s_waitcnt vmcnt(0)
image_store v[4:7], v[0:1], s[20:27] dmask:0xf unorm
"""
    source, result = pixels(6, shape=(50, 4)), np.full((8, 8, 4), 9, np.float32)
    read = program(tmp_path, body, first="image1d_buffer_t").k
    read[(8, 8), (8, 8)](hw.Image(source, dimensions="1d"), hw.Image(result), hw.Sampler())
    flat = result.reshape(64, 4)
    assert np.allclose(flat[:50], source / 255, atol=1e-7)
    assert (flat[50:] == 0).all()


def test_an_image_is_described_once_for_each_way_of_reading_it(tmp_path):
    image, result = hw.Image(pixels(6, shape=(64, 4)), dimensions="1d"), np.zeros((8, 8, 4), np.float32)
    line = """
v_lshl_add_u32 v2, v1, 3, v0
image_load v[4:7], v2, s[12:19] dmask:0xf unorm
s_waitcnt vmcnt(0)
image_store v[4:7], v[0:1], s[20:27] dmask:0xf unorm
"""
    buffer = line.replace(
        "image_load v[4:7], v2, s[12:19] dmask:0xf unorm", "buffer_load_format_xyzw v[4:7], v2, s[12:15], 0 idxen"
    )
    (tmp_path / "line").mkdir()
    (tmp_path / "buffer").mkdir()
    readers = {
        "line": program(tmp_path / "line", line, first="image1d_t").k,
        "buffer": program(tmp_path / "buffer", buffer, first="image1d_buffer_t").k,
    }
    known = {}
    for name in ("line", "buffer", "line", "buffer"):
        result[:] = 9
        readers[name][(8, 8), (8, 8)](image, hw.Image(result), hw.Sampler())
        assert np.allclose(result.reshape(64, 4), image.array / 255, atol=1e-7)
        made = {key: memory.tobytes() for key, memory in image.hardware.items()}
        assert known.items() <= made.items()
        known = made
    assert len(known) == 2


def test_what_lies_outside_is_dropped(tmp_path):
    source, result = pixels(7, shape=(5, 6, 4)), np.zeros((8, 8, 4), np.uint8)
    program(tmp_path, _COPY).k[(8, 8), (8, 8)](hw.Image(source), hw.Image(result), hw.Sampler())
    assert (result[:5, :6] == source).all()
    assert not result[5:].any()
    assert not result[:, 6:].any()
    small = np.zeros((3, 4, 4), np.uint8)
    program(tmp_path, _COPY).k[(8, 8), (8, 8)](hw.Image(source), hw.Image(small), hw.Sampler())
    assert (small == source[:3, :4]).all()


def test_a_descriptor_beyond_the_pixels_is_a_fault(tmp_path):
    """Twice as wide as the image is: the last rows are in no allocation."""
    body = "s_bitset1_b32 s14, 5\ns_or_b32 s16, s16, 0x1e000" + _COPY  # width 40; pitch 16
    with pytest.raises(
        KernelFault, match=r"work-item \(\d+, \d+\) of k reads 4 bytes .*`in`(.|\n)*image_load v\[4:7\]"
    ):
        program(tmp_path, body).k[(8, 8), (8, 8)](
            hw.Image(pixels(8)), hw.Image(np.zeros((8, 8, 4), np.uint8)), hw.Sampler()
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("s_or_b32 s15, s15, 0x900000", r"swizzle mode 9(.|\n)*image_load(.|\n)*hint: only linear images"),
        ("s_or_b32 s15, s15, 0xe0000000", r"multisampled"),
        ("s_mov_b32 s15, 0", r"type 0, which is not an image's"),
        ("s_bitset1_b32 s18, 21", r"compressed image"),
        ("s_and_b32 s13, s13, 0xfc0fffff\ns_or_b32 s13, s13, 0x2300000", r"data format BC1"),
        ("s_or_b32 s13, s13, 0x1c000000", r"number format float with the data format 8_8_8_8"),
    ],
)
def test_descriptors_that_are_refused(tmp_path, change, message):
    with pytest.raises(KernelFault, match=message):
        program(tmp_path, f"{change}\n{_COPY}").k[(8, 8), (8, 8)](
            hw.Image(pixels(9)), hw.Image(np.zeros((8, 8, 4), np.uint8)), hw.Sampler()
        )


def test_pixels_of_three_channels_get_a_fourth(tmp_path):
    source, result = pixels(13, shape=(8, 8, 3)), np.zeros((8, 8, 3), np.uint8)
    wide = np.zeros((8, 8, 4), np.float32)
    copy = program(tmp_path, _COPY).k[(8, 8), (8, 8)]
    copy(hw.Image(source, "rgb"), hw.Image(result, "rgb"), hw.Sampler())
    copy(hw.Image(source, "rgb"), hw.Image(wide), hw.Sampler())
    assert (result == source).all()
    assert np.allclose(wide[..., :3], source / 255, atol=1e-7)
    assert (wide[..., 3] == 1).all()


def test_images_without_a_descriptor_are_refused(tmp_path):
    copy = program(tmp_path, _COPY).k[(8, 8), (8, 8)]
    out = hw.Image(np.zeros((8, 8, 4), np.uint8))
    with pytest.raises(LaunchError, match="does not fit"):
        copy(hw.Image(np.zeros((1, 20000, 4), np.uint8)), out, hw.Sampler())


_ONE_PIXEL = """
v_mov_b32 v2, 3
v_mov_b32 v3, 2
v_mov_b32 v4, 1.0
v_mov_b32 v5, v0
v_mov_b32 v6, v0
v_mov_b32 v7, v0
image_store v[4:7], v[2:3], s[20:27] dmask:0xf unorm
"""


def test_checks_see_what_image_instructions_do():
    images = [hw.Image(pixels(10)), hw.Image(np.zeros((16, 8, 4), np.float32)), hw.Sampler()]
    launch = kernel(_COPY).prepare((8, 8), (8, 8), check=True)
    launch(images, None, None).wait()
    launch = kernel(_ONE_PIXEL).prepare((8, 16), (8, 8), check=True)
    with pytest.raises(KernelFault, match=r"data race(.|\n)*writes 16 bytes"):
        launch(images, None, None).wait()


def test_traces_have_what_image_instructions_access():
    """A linear filter reads four texels; whole coordinates and a half have the same weight for each."""
    body = _SAMPLE.format(scale=_literal(1.0), more=_literal(2.0), unorm=" unorm")
    recording = Recording()
    images = [hw.Image(pixels(11, shape=(16, 16, 4))), hw.Image(np.zeros((8, 8, 4), np.float32))]
    kernel(body).watched((8, 8), (8, 8), (), recording)(
        [*images, hw.Sampler(False, "clamp", "linear")], None, None
    ).wait()
    accesses = [a for row in statistics(recording).instructions for a in row.did.accesses if a.kind != "scalar"]
    reads, writes = ([a for a in accesses if a.writes == way and a.lanes] for way in (False, True))
    assert sum(a.lanes for a in reads) == 4 * 64
    assert sum(a.used_bytes for a in reads) == 4 * 64 * 4
    assert [(a.lanes, a.used_bytes) for a in writes] == [(64, 64 * 16)]
