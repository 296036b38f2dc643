"""Binaries of AMD's OpenCL 1.x driver, made here by a small writer: read, shown, and run on the reference interpreter."""

import random
import struct

import numpy as np
import pytest
from objects import (
    AMDCL_CODE,
    AMDCL_IMAGE_CODE,
    AMDCL_IMAGE_METADATA,
    AMDCL_IMAGE_USER_DATA,
    AMDCL_METADATA,
    amdcl,
    assembled,
    elf,
)

import headwater as hw
from headwater.cli import main
from headwater.emulate.gcn.reference import run_group
from headwater.emulate.gcn.reference_registers import Wave
from headwater.emulate.wave.reference_memory import FlatMemory, LocalMemory, Memories, PrivateMemory
from headwater.errors import CodeObjectError, UsageError
from headwater.isa.gcn import amdcl as convention
from headwater.isa.gcn.codeobject import load
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.model import EXEC
from headwater.isa.gcn.typed import untyped

ONE_ITEM = convention.NdRange((1, 1, 1), (1, 1, 1), (0, 0, 0), 1)


@pytest.fixture(scope="module")
def binary():
    return amdcl(assembled(AMDCL_CODE, "gfx600"), globals_=b"constants")


def test_kernel_arguments_and_user_data(binary):
    code = load(binary, "si.bin")
    assert (code.target, code.isa, code.version) == ("gfx600", "gfx6", 1)
    kernel = code.kernel("scale")
    assert [(a.name, a.offset, a.size, a.value_kind, a.type_name) for a in kernel.args] == [
        ("n", 0, 4, "by_value", "uint"),
        ("c", 16, 2, "by_value", "uchar2"),
        ("in", 32, 8, "global_buffer", "uint*"),
        ("out", 48, 8, "global_buffer", "uint*"),
    ]
    assert [(u.kind, u.slot, u.first, u.registers) for u in kernel.legacy.user_data] == [
        (convention.PTR_UAV_TABLE, 0, 2, 2),
        (convention.IMM_CONST_BUFFER, 0, 4, 4),
        (convention.IMM_CONST_BUFFER, 1, 8, 4),
    ]
    assert (kernel.vgpr_count, kernel.sgpr_count, kernel.user_sgpr_count) == (4, 28, 12)
    assert kernel.enable_workgroup_id == (True, False, False)
    assert (kernel.mode.denorm32, kernel.mode.denorm16_64, kernel.generation) == (0, 3, 6)
    start, size = kernel.legacy.constants
    assert code.image()[start : start + size] == b"constants"


def test_it_runs_by_the_drivers_calling_convention(binary):
    code = load(binary, "si.bin")
    kernel = code.kernel("scale")
    image = code.image()
    memory = FlatMemory()
    given = np.arange(128, dtype=np.uint32)
    source, target = memory.allocate(512), memory.allocate(512)
    memory.write(source, given.tobytes())
    convention.check(kernel)
    block = memory.allocate(convention.block_bytes(kernel))
    values = [struct.pack("<I", 3), bytes([9, 200]), (source, 512), (target, 512)]
    filled = convention.block(kernel, block, 0, values, {}, convention.NdRange((128, 1, 1), (64, 1, 1), (0, 0, 0), 1))
    memory.write(block, filled)
    for group in range(2):
        private = PrivateMemory(memory, memory.allocate(4096), 64)
        wave = Wave(Memories(memory, LocalMemory("LDS", bytearray(64)), private), code.isa, kernel.entry)
        wave.set_pair(EXEC, (1 << 64) - 1)
        wave.vectors[0] = np.arange(64)
        for register, value in convention.registers(kernel, block, filled).items():
            wave.scalars[register] = value
        wave.scalars[kernel.user_sgpr_count] = group
        run_group([wave], lambda address: untyped(decode(image, address, code.isa), code.isa))
    result = np.frombuffer(memory.read(target, 512), np.uint32)
    assert result.tolist() == (given * 3 + 200).tolist()


def test_buffers_with_one_descriptor_are_told_apart_by_distance(binary):
    kernel = load(amdcl(b"\0\0\x81\xbf", AMDCL_METADATA.replace("uav:13", "uav:12")), "si.bin").kernel("scale")
    near = convention.block(kernel, 0, 0, [b"1234", b"12", (0x5000, 16), (0x4000, 16)], {}, ONE_ITEM)
    assert struct.unpack_from("<I", near, 256 + 32)[0] == 0x1000
    assert struct.unpack_from("<I", near, 256 + 48)[0] == 0
    with pytest.raises(UsageError, match="too far apart"):
        convention.block(kernel, 0, 0, [b"1234", b"12", (0, 16), (1 << 40, 16)], {}, ONE_ITEM)


def test_images_and_samplers(tmp_path):
    path = tmp_path / "image.bin"
    code = assembled(AMDCL_IMAGE_CODE, "gfx600")
    # Constants, but no cbid: the table of UAVs has no entry for them, but the buffer `bias`.
    path.write_bytes(amdcl(code, AMDCL_IMAGE_METADATA, "blend", 0x1A, b"constants", AMDCL_IMAGE_USER_DATA, rsrc2=0x9A0))
    program = hw.compile(path)
    pixels = np.random.default_rng(1).integers(0, 99, (8, 16, 4)).astype(np.float32)
    out = np.zeros_like(pixels)
    sampler = hw.Sampler(normalized=True, addressing="repeat")
    program.blend[(16, 8), (16, 8)](
        hw.Image(pixels), hw.Image(out), sampler, np.array([0.25], np.float32), device="hd7970"
    )
    expected = pixels.copy()
    expected[:, 1:] += pixels[:, :-1]
    expected[..., 0] += 0.25 + (1 | 1 << 1 | 1 << 4)
    expected[..., 1] += 0x10B5
    np.testing.assert_array_equal(out, expected)


def test_constants_are_vectors_of_four_dwords_to_who_indexes_them(binary):
    kernel = load(binary, "si.bin").kernel("scale")
    values = [b"1234", b"12", (0x1000, 16), (0x2000, 16)]
    filled = convention.block(kernel, 0, 0x10000, values, {}, ONE_ITEM)
    tables = convention._tables(kernel)
    for at in (tables.const + 2 * 16, tables.uav + 10 * 32):
        base, high, records, _ = struct.unpack_from("<4I", filled, at)
        assert (base, high, records) == (0x10000 + kernel.legacy.constants[0], 16 << 16, 1)


def test_what_the_convention_lacks_is_refused():
    counter = AMDCL_METADATA.replace(";function", ";counter:count:32:0:1:64\n;function")
    with pytest.raises(UsageError, match="count is a counter"):
        convention.check(load(amdcl(b"\0\0\x81\xbf", counter), "si.bin").kernel("scale"))
    private = AMDCL_METADATA.replace("uavprivate:0", "uavprivate:64")
    with pytest.raises(UsageError, match="private memory"):
        convention.check(load(amdcl(b"\0\0\x81\xbf", private, rsrc2=0x99), "si.bin").kernel("scale"))
    # What the source declares became registers.
    convention.check(load(amdcl(b"\0\0\x81\xbf", private), "si.bin").kernel("scale"))


def test_disasm_shows_it(binary, tmp_path, capsys):
    path = tmp_path / "si.bin"
    path.write_bytes(binary)
    assert main(["disasm", str(path)]) == 0
    out = capsys.readouterr().out
    assert "binary of AMD's OpenCL 1.x driver for gfx600" in out
    assert "uchar2 c: 2 bytes at 0x10" in out
    assert "v_mul_lo_u32 v3, v3, s13" in out
    assert main(["disasm", str(path), "--format", "asm"]) == 2
    assert "cannot be assembled again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (amdcl(b"\0\0\x81\xbf", machine=7), "chips that are not known: 7"),
        (amdcl(b"\0\0\x81\xbf", AMDCL_METADATA.replace("u32:1:1:0", "u33:1:1:0")), "unknown type u33"),
        (amdcl(b"\0\0\x81\xbf", AMDCL_METADATA.replace("uav:12", "uav:x")), "damaged metadata"),
        (amdcl(b"\0\0\x81\xbf", AMDCL_METADATA + ";sampler:s:0:0:0\n"), "the sampler s is not an argument"),
        (amdcl(b"\0\0\x81\xbf", AMDCL_METADATA + ";sampler:unknown_1:99999999:1:1\n"), "damaged notes or metadata"),
        (amdcl(b"\0\0\x81\xbf", AMDCL_METADATA.replace(":16\n", ":99999999\n")), "damaged notes or metadata"),
        (
            elf(
                [
                    (".text", 1, 0, 0, b"1234", 0, 0),
                    (".symtab", 2, 0, 0, b"\0" * 16 + struct.pack("<IIIBBH", 1, 0, 4, 1, 0, 1), 3, 16),
                    (".strtab", 3, 0, 0, b"\0__ISA_&__OpenCL_f_kernel_binary\0", 0, 0),
                ],
                machine=0x3FD, is_64=False,
            ),
            "OpenCL 2.0 driver",
        ),
    ],
)  # fmt: skip
def test_faulty_binaries_are_named(data, message):
    with pytest.raises(CodeObjectError, match=message):
        load(data, "si.bin")


def test_truncated_and_corrupted_binaries_give_messages(binary):
    rng = random.Random(2)
    refused = 0
    for _ in range(600):
        changed = bytearray(binary)
        if rng.random() < 0.3:
            del changed[rng.randrange(len(changed)) :]
        for _ in range(rng.randint(0, 4)):
            if changed:
                changed[rng.randrange(len(changed))] = rng.choice((0, 255, rng.randrange(256)))
        try:
            code = load(bytes(changed), "si.bin")
            code.image()
        except CodeObjectError:
            refused += 1
    assert refused > 120
