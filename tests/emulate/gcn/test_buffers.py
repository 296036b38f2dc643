"""Buffers: which lanes' places NUM_RECORDS allows, by hand-worked rules for each generation, and that the translated code
does as the interpreter does on descriptors of any bits.

AMD, "Southern Islands", "GCN3" and "Vega" ISA Reference Guides, "Buffer Addressing" and "Range checking"; gem5's calcAddr of
GCN3; what a gfx950 does, in AMD's ROCm/rocm-systems, PR 10928.
"""

import random

import numpy as np
import pytest
from gcn_snippets import make_wave, run
from translated_runs import Fault, both, random_inputs, referred, whole

import headwater as hw
from headwater.emulate.wave.reference_memory import FlatMemory
from headwater.errors import KernelFault
from headwater.opencl.gcn_build import assemble

OLD, GFX8, NEW = ("gfx600", "gfx701"), ("gfx803",), ("gfx900", "gfx90a")


def loaded(text, target, records, *, stride=0, high=0x27000, offset=0, index=0, soffset=0):
    """What lane 0 gets in v8 and the following, from 64 dwords 1000, 1001, …"""
    memory = FlatMemory()
    base = memory.allocate(256)
    memory.write(base, np.arange(1000, 1064, dtype=np.uint32).tobytes())
    wave = make_wave(target, memory)
    wave.set_pair(0, base | stride << 48)
    wave.set_pair(2, records | high << 32)
    wave.scalars[8] = soffset
    wave.vectors[1], wave.vectors[2], wave.vectors[3] = offset, index, offset
    wave.vectors[8:12] = 7
    run(f"{text}\ns_waitcnt vmcnt(0)", target, wave)
    return wave.vectors[8:12, 0].tolist()


RAW = "buffer_load_dword v8, v1, s[0:3], 0 offen"


@pytest.mark.parametrize("target", OLD + GFX8 + NEW)
def test_bytes_are_counted_without_a_stride(target):
    assert loaded(RAW, target, 128, offset=124)[0] == 1031
    assert loaded(RAW, target, 128, offset=128)[0] == 0
    assert loaded(RAW, target, 127, offset=124)[0] == 0  # it must end within
    assert loaded(RAW + " offset:4", target, 128, offset=124)[0] == 0
    assert loaded("buffer_load_dword v8, off, s[0:3], 0 offset:64", target, 64)[0] == 0
    assert loaded("buffer_load_ubyte v8, v1, s[0:3], 0 offen", target, 127, offset=126)[0] == 0
    assert loaded("buffer_load_ubyte v8, v1, s[0:3], 0 offen", target, 125, offset=124)[0] == 1031 & 255
    # Triton's masked lanes.
    assert loaded(RAW, target, 0x7FFFFFFE, offset=0x80000000)[0] == 0
    # The scalar offset counts.
    assert loaded("buffer_load_dword v8, v1, s[0:3], s8 offen", target, 128, offset=64, soffset=60)[0] == 1031
    assert loaded("buffer_load_dword v8, v1, s[0:3], s8 offen", target, 128, offset=64, soffset=64)[0] == 0


@pytest.mark.parametrize("target", OLD + GFX8 + NEW)
def test_dwords_are_tested_each(target):
    """ "Vega" ISA Reference Guide, "Range checking", note 3: load/store-dword-x{2,3,4} range-check each dword."""
    text = "buffer_load_dwordx4 v[8:11], v1, s[0:3], 0 offen"
    assert loaded(text, target, 40, offset=32) == [1008, 1009, 0, 0]
    assert loaded(text, target, 256, offset=0xFFFFFFF8) == [0, 0, 0, 0]  # offsets are not negative


@pytest.mark.parametrize("target", NEW)
def test_with_an_index_elements_are_counted(target):
    both_given = "buffer_load_dword v8, v[2:3], s[0:3], 0 idxen offen"
    assert loaded(both_given, target, 4, stride=16, index=3, offset=4)[0] == 1013
    assert loaded(both_given, target, 4, stride=16, index=4, offset=4)[0] == 0
    assert loaded(both_given, target, 4, stride=16, index=3, offset=64)[0] == 1028  # the offset is not looked at
    assert loaded(both_given, target, 32, index=9, offset=28)[0] == 1007  # no stride: bytes
    assert loaded(both_given, target, 32, index=9, offset=32)[0] == 0
    assert loaded(RAW, target, 32, stride=16, offset=28)[0] == 1007  # no index: bytes
    assert loaded(RAW, target, 32, stride=16, offset=32)[0] == 0
    # The vector's and the instruction's offset wrap together.
    assert loaded(RAW + " offset:8", target, 32, offset=0xFFFFFFFC)[0] == 1001


@pytest.mark.parametrize("target", OLD)
def test_a_stride_counts_elements_on_the_first_generations(target):
    both_given = "buffer_load_dword v8, v[2:3], s[0:3], 0 idxen offen"
    assert loaded(both_given, target, 4, stride=16, index=3, offset=4)[0] == 1013
    assert loaded(both_given, target, 4, stride=16, index=4, offset=4)[0] == 0
    assert loaded(RAW, target, 1, stride=16, offset=100)[0] == 1025
    assert loaded(RAW, target, 0, stride=16, offset=100)[0] == 0
    assert (
        loaded(RAW + " offset:8", target, 32, offset=0xFFFFFFFC)[0] == 0
    )  # negative offsets fail the test before gfx9


def test_bytes_are_counted_on_gfx8_unless_swizzled():
    both_given = "buffer_load_dword v8, v[2:3], s[0:3], 0 idxen offen"
    assert loaded(both_given, "gfx803", 64, stride=16, index=3, offset=12)[0] == 1015
    assert loaded(both_given, "gfx803", 60, stride=16, index=3, offset=12)[0] == 0
    assert loaded(both_given, "gfx803", 4, stride=16, index=3, offset=12)[0] == 0
    # Elements of 4 bytes, 8 indices together: dword 1 of index 3 is dword 8 + 3.
    swizzled = {"stride": 16 | 1 << 15, "high": 0x27000 | 1 << 19, "index": 3, "offset": 4}
    assert loaded(both_given, "gfx803", 4, **swizzled)[0] == 1011
    assert loaded(both_given, "gfx803", 3, **swizzled)[0] == 0
    assert loaded(both_given, "gfx803", 4, **swizzled | {"offset": 16})[0] == 0


@pytest.mark.parametrize("target", OLD + GFX8 + NEW)
def test_stores_and_atomics_outside_are_dropped(target):
    load = "\ns_waitcnt vmcnt(0)\ns_mov_b32 s2, 256\nbuffer_load_dwordx4 v[8:11], off, s[0:3], 0 offset:32"
    store = "v_mov_b32 v9, 8\nv_mov_b32 v10, 9\nv_mov_b32 v11, 10\nbuffer_store_dwordx4 v[8:11], v1, s[0:3], 0 offen"
    assert loaded(store + load, target, 40, offset=32) == [7, 8, 1010, 1011]
    add = "buffer_atomic_add v8, v1, s[0:3], 0 offen glc"
    assert loaded(add, target, 40, offset=36)[0] == 1009
    assert loaded(add, target, 40, offset=40)[0] == 0
    assert loaded(add + load, target, 36, offset=36)[1] == 1009
    double = "buffer_atomic_add_x2 v[8:9], v1, s[0:3], 0 offen"
    assert loaded(double + load, target, 36, offset=32)[:2] == [1008, 1009]  # all or nothing


@pytest.mark.parametrize("target", OLD + GFX8 + NEW)
def test_scalar_loads_outside_are_zero(target):
    step = 1 if target in OLD else 4
    text = f"s_buffer_load_dwordx4 s[4:7], s[0:3], {8 * step}\ns_waitcnt lgkmcnt(0)\n"
    text += "".join(f"v_mov_b32 v{8 + n}, s{4 + n}\n" for n in range(4))
    assert loaded(text, target, 40) == [1008, 1009, 0, 0]
    assert loaded(text, target, 5, stride=8) == [1008, 1009, 0, 0]
    assert loaded(text, target, 32) == [0, 0, 0, 0]


# ---- the translated code ---------------------------------------------------------------------------------------------

LOADS = (
    "buffer_load_dword v{0}", "buffer_load_dwordx2 v[{0}:{1}]", "buffer_load_dwordx4 v[{0}:{3}]", "buffer_load_ubyte v{0}",
    "buffer_load_sshort v{0}",
)  # fmt: skip
STORES = (
    "buffer_store_dword v4",
    "buffer_store_dwordx2 v[4:5]",
    "buffer_store_dwordx4 v[4:7]",
    "buffer_store_short v4",
)
ATOMICS = ("buffer_atomic_add v{0}", "buffer_atomic_umax_x2 v[{0}:{1}]", "buffer_atomic_cmpswap v[{0}:{1}]")


def random_snippet(rng, target):
    """Loads, stores and atomics by descriptors of all kinds, of the 8192 bytes of input."""
    lines = []
    for n in range(8):
        first = 20 + 4 * n
        stride, swizzle, tid = rng.choice([0, 0, 4, 16, 12]), rng.random() < 0.2, rng.random() < 0.2
        records = rng.choice([0, 1, 7, 40, 64, 100, 1000, 4096])
        if swizzle or tid:
            records = rng.choice([0, 5, 16, 40])
        high = rng.randrange(2) << 21 | tid << 23 | 1 << 19 | 4 << 12
        lines += [
            "s_mov_b32 s16, s0",
            f"s_or_b32 s17, s1, {hex(stride << 16 | swizzle << 31)}",
            f"s_mov_b32 s18, {records}",
            f"s_mov_b32 s19, {high}",
            f"s_mov_b32 s20, {rng.choice([0, 0, 4, 60])}",
            f"v_and_b32 v52, {rng.choice([0xFF, 0x3FC, 0x8000003C, 0xFFFFFFFF]):#x}, v{rng.randrange(4, 20)}",
            f"v_and_b32 v53, {rng.choice([7, 31, 0x3C, 0xFFFFFFFF]):#x}, v{rng.randrange(4, 20)}",
            f"v_lshlrev_b32 v54, {rng.choice([2, 3])}, v0",
            "v_mov_b32 v56, v53",
            "v_mov_b32 v57, v54",
        ]
        where = rng.choice(["off", "v52", "v54", "v53 idxen", "v[56:57] both", "v0 idxen", "v[52:53] both"])
        place, _, how = where.partition(" ")
        flags = {"": "offen" if place != "off" else "", "idxen": "idxen", "both": "idxen offen"}[how]
        # Where the halves of 64 bits lie in a swizzled buffer is left open.
        updates = [text for text in ATOMICS if not (swizzle and "x2" in text)]
        text = rng.choice([*LOADS * 2, *STORES, *updates]).format(*range(first, first + 4))
        flags += f" offset:{rng.choice([0, 4, 12, 64])}" + (" glc" if "atomic" in text else "")
        lines.append("s_mov_b64 s[22:23], exec")
        if rng.random() < 0.25:
            lines.append(f"s_and_b64 exec, exec, {rng.choice(['0xff00ff', '-2', '1'])}")
        scalar = rng.choice(["0", "s20"])
        lines += [f"{text}, {place}, s[16:19], {scalar} {flags}", "s_waitcnt vmcnt(0)", "s_mov_b64 exec, s[22:23]"]
    scalar = f"s_buffer_load_dwordx4 s[24:27], s[16:19], {rng.choice([0, 4, 16])}"
    return "\n".join([*lines, "s_mov_b32 s19, 0x27000", scalar, "s_waitcnt lgkmcnt(0)", "v_mov_b32 v19, s25"])


@pytest.mark.parametrize("target", ["gfx600", "gfx803", "gfx900", "gfx90a"])
def test_translator_and_interpreter_agree(target):
    rng = random.Random(f"buffers {target}")
    tried = 0
    for seed in range(5):
        inputs = random_inputs(seed, (0, 4, 60, 0x80000010, 0xFFFFFFFC, 100))
        snippet, lanes = random_snippet(rng, target), rng.choice([64, 64, 40])
        try:
            got, wanted = both(snippet, inputs, lanes=lanes, target=target)
        except Fault:  # inside of the buffer by its descriptor, outside of the memory
            with pytest.raises(KernelFault):
                referred(whole(snippet, target), inputs, lanes, target)
            continue
        tried += 1
        assert (got == wanted).all(), snippet
    assert tried


# ---- launches --------------------------------------------------------------------------------------------------------

KERNEL = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.amdhsa_code_object_version 5
.globl k
.p2align 8
.type k,@function
k:
s_load_dwordx2 s[0:1], s[{kernarg}:{kernarg}+1], 0x0
s_mov_b32 s2, 128
s_mov_b32 s3, 0x27000
v_lshlrev_b32_e32 v1, 2, v0
v_mov_b32 v3, 7
s_waitcnt lgkmcnt(0)
{body}
s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_next_free_vgpr 8
.amdhsa_next_free_sgpr 16
{more}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - {{.name: x, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global, .type_name: 'float*'}}
...
.end_amdgpu_metadata
"""
LOAD = "buffer_load_dword v3, v1, s[0:3], 0 offen\ns_waitcnt vmcnt(0)\nv_add_f32 v3, 1.0, v3\nglobal_store_dword v1, v3, s[0:1]"


def launched(tmp_path, body, *, check=False, target="gfx906", device="mi50"):
    more = ".amdhsa_accum_offset 8" if target == "gfx90a" else ""
    text = KERNEL.format(target=target, body=body, kernarg=0, more=more)
    path = tmp_path / "k.hsaco"
    path.write_bytes(assemble(text, "k.s", target).code)
    x = np.arange(64, dtype=np.float32)
    hw.compile(str(path), device=device).k[(64,), (64,)](x, device=device, check=check)
    return x


def test_loads_beyond_the_records_are_zero(tmp_path):
    x = launched(tmp_path, LOAD)
    assert x.tolist() == [n + 1 for n in range(32)] + [1] * 32


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (LOAD, r"work-item \(32\) of k reads 4 bytes at byte 128 of a buffer of 128"),
        (
            "buffer_store_dwordx2 v[2:3], v1, s[0:3], 0 offen",
            r"\(31\) of k writes 4 bytes at byte 128 of a buffer of 128",
        ),
        ("buffer_atomic_add v3, v1, s[0:3], 0 offen", r"\(32\) of k writes 4 bytes at byte 128 of a buffer of 128"),
        (
            "s_or_b32 s1, s1, 0x40000\ns_mov_b32 s2, 16\nbuffer_load_dword v3, v1, s[0:3], 0 idxen",
            r"of an element beyond the 16 of a buffer",
        ),
        (
            "tbuffer_load_format_x v3, v1, s[0:3], dfmt:1, nfmt:0, 0 offen",
            r"reads 1 byte at byte 128 of a buffer of 128",
        ),
        ("s_buffer_load_dwordx2 s[4:5], s[0:3], 0x7c", r"reads 4 bytes beyond byte 128 of a buffer"),
        ("s_buffer_atomic_add s4, s[0:3], 0x80", r"writes 4 bytes beyond byte 128 of a buffer"),
    ],
)
def test_a_check_tells_what_is_beyond(tmp_path, body, told):
    launched(tmp_path, body)
    with pytest.raises(KernelFault, match=told):
        launched(tmp_path, body, check=True)


def test_a_check_knows_lanes_that_have_nothing_to_do(tmp_path):
    body = "v_cmp_gt_u32 vcc, 20, v0\nv_or_b32 v4, 0x80000000, v1\nv_cndmask_b32 v4, v4, v1, vcc\ns_nop 4\n"
    body += "buffer_store_dword v3, v4, s[0:3], 0 offen"
    plain, checked = (launched(tmp_path, body, check=check).view(np.uint32) for check in (False, True))
    assert (plain == checked).all()
    assert (plain[:20] == 7).all()
    assert (plain[20:].view(np.float32) == np.arange(20, 64)).all()
