"""Code objects of all versions are read; everything else is refused with a message."""

import random
import struct

import pytest
from objects import SOURCE, assembled_file, compiled, elf, version_2

from headwater.errors import CodeObjectError
from headwater.isa.elf import Elf
from headwater.isa.gcn.codeobject import load
from headwater.isa.gcn.codeobject_v2 import parse_yaml
from headwater.isa.msgpack import unpack


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("target", ["gfx803", "gfx906"])
def test_kernels_arguments_and_registers_of_new_code_objects(version, target):
    code = load(compiled(target, version), "k.hsaco")
    assert (code.target, code.version, list(code.kernels)) == (target, version, ["saxpy", "second"])
    saxpy = code.kernel("saxpy")
    explicit = [a for a in saxpy.args if not a.value_kind.startswith("hidden_")]
    assert [(a.name, a.offset, a.size, a.value_kind) for a in explicit] == [
        ("y", 0, 8, "global_buffer"),
        ("x", 8, 8, "global_buffer"),
        ("a", 16, 4, "by_value"),
        ("n", 20, 4, "by_value"),
        ("t", 24, 4, "dynamic_shared_pointer"),
    ]
    assert explicit[1].is_const
    assert saxpy.enable_kernarg_segment_ptr
    assert saxpy.enable_workgroup_id == (True, False, False)
    assert saxpy.kernarg_bytes >= 28
    assert code.text_start <= saxpy.entry < saxpy.code_end <= code.text_end
    assert code.kernel("second").reqd_group_size == (64, 1, 1)
    assert code.image()[saxpy.entry : saxpy.entry + 4] != b"\0\0\0\0"


def test_addresses_have_source_lines():
    code = load(compiled(), "k.hsaco")
    saxpy = code.kernel("saxpy")
    lines = {code.line_of(address)[1] for address in range(saxpy.entry, saxpy.code_end, 4) if code.line_of(address)}
    assert lines <= set(range(6, 12))
    assert code.line_of(saxpy.entry)[0] == "k.cl"
    assert "t[get_local_id(0)]" in SOURCE.splitlines()[7]
    assert 8 in lines
    assert code.line_of(0) is None


def test_a_damaged_line_table_names_no_lines():
    file = Elf(compiled(), "k.hsaco")
    section = file.section(".debug_line")
    data = bytearray(file.code)
    data[section.offset + 14 : section.offset + 40] = b"\0" * 26
    code = load(bytes(data), "k.hsaco")
    assert code.line_of(code.kernel("saxpy").entry) is None


def test_version_2():
    code = load(version_2(), "old.co")
    assert (code.target, code.isa, code.version) == ("gfx803", "gfx8", 2)
    kernel = code.kernel("twice")
    assert [(a.name, a.offset, a.size, a.value_kind, a.address_space) for a in kernel.args] == [
        ("out", 0, 8, "global_buffer", "global"),
        ("", 8, 1, "by_value", ""),
        ("", 16, 8, "hidden_global_offset_x", ""),
    ]
    assert (kernel.vgpr_count, kernel.sgpr_count, kernel.user_sgpr_count) == (5, 12, 6)
    assert (kernel.private_segment_bytes, kernel.group_segment_bytes, kernel.kernarg_bytes) == (16, 32, 24)
    assert (kernel.enable_private_segment_buffer, kernel.enable_kernarg_segment_ptr) == (True, True)
    assert kernel.reqd_group_size == (64, 1, 1)
    assert kernel.entry == 0x1100
    assert code.image()[kernel.entry :] == b"\0\0\x81\xbf"
    assert code.printf_formats == ("1:1:4:%d\\n",)


def test_a_bundle_is_opened():
    inner = compiled()
    name = b"hipv4-amdgcn-amd-amdhsa--gfx906"
    host = b"host-x86_64-unknown-linux--"
    table = struct.pack("<QQQ", 4096, 0, len(host)) + host + struct.pack("<QQQ", 4096, len(inner), len(name)) + name
    bundle = (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 2) + table).ljust(4096, b"\0") + inner
    assert load(bundle, "b.hsaco").target == "gfx906"
    with pytest.raises(CodeObjectError, match="truncated"):
        load(bundle[:40], "b.hsaco")
    with pytest.raises(CodeObjectError, match="no code for a GCN GPU"):
        load(bundle[:4096].replace(b"gfx906", b"gfx999") + inner, "b.hsaco")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"__kernel void f() {}", "is no ELF file"),
        (b"\x7fELF\2\1", "ends within the ELF header"),
        (elf([], machine=62), "another processor: x86-64"),
        (elf([], machine=190), "NVIDIA CUDA"),
        (elf([], machine=3, is_64=False), "another processor: x86"),
        (elf([], machine=224, is_64=False), "R600"),
        (elf([], machine=224, os_abi=0), "HSA runtime"),
        (elf([], machine=224, os_abi=64, kind=1), "which GPU"),
        (elf([], machine=224, os_abi=64, abi_version=3, flags=0x36), "gfx1030"),
        (elf([], machine=224, os_abi=64, abi_version=3, flags=0x2F), "nothing to load"),
        (elf([], machine=224, os_abi=64, abi_version=3), "which GPU"),
        (version_2(wavefront=5), "wavefronts of 32"),
        (version_2(yaml="- - -"), "metadata"),
    ],
)
def test_what_is_no_code_object_for_gcn_is_named(data, message):
    with pytest.raises(CodeObjectError, match=message) as caught:
        load(data, "given.co")
    assert "given.co" in str(caught.value)


def test_files_that_are_not_linked_are_linked():
    text = """
        .text
        .globl twice
        .p2align 8
        .type twice,@function
        twice: s_endpgm
        .section .rodata,"a",@progbits
        .p2align 6
        .amdhsa_kernel twice
          .amdhsa_next_free_vgpr 3
          .amdhsa_next_free_sgpr 8
          .amdhsa_accum_offset 4
        .end_amdhsa_kernel
        .amdgpu_metadata
        amdhsa.version: [1, 2]
        amdhsa.kernels:
          - {.name: twice, .symbol: twice.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .args: [],
              .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 8,
              .vgpr_count: 3, .max_flat_workgroup_size: 64}
        .end_amdgpu_metadata"""
    found = load(assembled_file(text, "gfx942"), "twice.o")
    assert list(found.kernels) == ["twice"]
    undefined = text.replace("s_endpgm", "s_getpc_b64 s[0:1]\ns_add_u32 s0, s0, away@rel32@lo+4\ns_endpgm")
    with pytest.raises(CodeObjectError, match=r"not linked, and the linker refuses it: .*undefined symbol: away"):
        load(assembled_file(undefined, "gfx942"), "twice.o")


def test_big_endian_files_are_refused():
    data = bytearray(elf([], machine=224, os_abi=64))
    data[5] = 2
    with pytest.raises(CodeObjectError, match="big-endian"):
        load(bytes(data), "k.co")


def test_a_missing_kernel_is_told_with_those_there_are():
    with pytest.raises(CodeObjectError, match="no kernel 'saxpi'") as caught:
        load(compiled(), "k.hsaco").kernel("saxpi")
    assert "did you mean saxpy?" in caught.value.hint


def test_absurd_sizes_are_refused():
    data = bytearray(compiled())
    segments_at, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    for index in range(count):
        at = segments_at + 56 * index
        if struct.unpack_from("<I", data, at)[0] == 1:
            struct.pack_into("<Q", data, at + 40, 1 << 60)
    with pytest.raises(CodeObjectError, match="absurd size"):
        load(bytes(data), "k.hsaco")


@pytest.mark.parametrize("whole", [compiled, version_2])
def test_truncated_files_give_messages(whole):
    data = whole()
    for length in [*range(0, 70), *range(70, len(data), 97)]:
        with pytest.raises(CodeObjectError):
            load(data[:length], "k.hsaco")


@pytest.mark.parametrize("whole", [compiled, version_2])
def test_corrupted_files_give_a_code_object_or_a_message(whole):
    data = whole()
    rng = random.Random(4)
    refused = 0
    for _ in range(600):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(data) if rng.random() < 0.5 else 1024)] = rng.choice(
                (0, 1, 255, rng.randrange(256))
            )
        try:
            load(bytes(changed), "k.hsaco").image()
        except CodeObjectError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("81a16101", {"a": 1}),
        ("93c0c2c3", [None, False, True]),
        ("ff", -1),
        ("cd0100", 256),
        ("d1ff00", -256),
        ("d903616263", "abc"),
        ("dc000101", [1]),
        ("cb3ff0000000000000", 1.0),
    ],
)
def test_messagepack(data, value):
    assert unpack(bytes.fromhex(data)) == value


@pytest.mark.parametrize("data", ["", "c1", "a5", "92", "8101", "0101", "dd7fffffff", "91" * 40 + "01"])
def test_messagepack_refuses(data):
    with pytest.raises(ValueError):
        unpack(bytes.fromhex(data))


def test_yaml_lists_at_the_key_own_indentation():
    assert parse_yaml("a:\n- b: 1\n  c: [ x, 'y, z' ]\n- b: 2\n") == {"a": [{"b": 1, "c": ["x", "y, z"]}, {"b": 2}]}
