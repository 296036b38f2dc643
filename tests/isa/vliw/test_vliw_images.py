"""Images: what is written is read again, LLVM's objects and AMD's OpenCL binaries, images as text, and damage."""

import random
import struct
from dataclasses import replace

import pytest
from vliw_samples import COMPUTE, KERNEL, LOOP, METADATA, OBJECTS, PIXEL, opencl_binary

from headwater.errors import CodeObjectError, HeadwaterError, SourceError, UsageError
from headwater.isa.vliw import image_cal, image_files, image_text
from headwater.isa.vliw.image import ShaderImage


@pytest.mark.parametrize("made", [PIXEL, KERNEL, replace(KERNEL, group_size=None, abi="headwater")])
def test_image_is_read_as_it_was_written(made: ShaderImage) -> None:
    data = image_files.write(made)
    assert image_files.is_image(data)
    assert image_files.read(data) == made
    assert image_files.read(data).shader == made.shader


def test_image_for_several_chips() -> None:
    data = image_files.write(PIXEL, replace(PIXEL, target="rv670", il=""), KERNEL)
    assert [i.target for i in image_files.read_all(data)] == ["rv770", "rv670", "cypress"]
    assert image_files.read(data, target="cypress") == KERNEL
    with pytest.raises(CodeObjectError, match="has more than one program; it has main for rv770, main for rv670, add"):
        image_files.read(data)
    with pytest.raises(CodeObjectError, match="has no program for cayman"):
        image_files.read(data, target="cayman")


def test_images_that_cannot_be_written() -> None:
    with pytest.raises(UsageError, match="at most one program of a name for each chip"):
        image_files.write(PIXEL, PIXEL)
    with pytest.raises(UsageError, match="at least one program"):
        image_files.write()


def register_notes(target_machine: int, info: dict[int, int]) -> bytes:
    """A CAL image as a driver writes it: without our note, with registers alone."""
    made = bytearray(image_files.write(KERNEL if target_machine == 9 else PIXEL))
    at = made.index(b"HEADWTR\0") - 12
    size = struct.unpack_from("<I", made, at + 4)[0]
    made[at : at + 20 + size] = struct.pack("<III", 8, size, 4) + b"ATI CAL\0" + bytes(size)
    program = made.index(b"ATI CAL\0") - 12
    length = struct.unpack_from("<I", made, program + 4)[0]
    pairs = b"".join(struct.pack("<II", *item) for item in info.items())
    made[program + 20 : program + 20 + length] = pairs.ljust(length, b"\0")
    return bytes(made)


def test_registers_are_enough() -> None:
    # The program information of a pixel shader on RV770 (AMD's forum, "cal image binary information").
    found = image_files.read(register_notes(6, {0xA214: 0x72000003, 0x2301: 0x400000F0, 0x80000000: 1}))
    assert (found.kind, found.gprs, found.stack_entries, found.clause_temporaries) == ("ps", 3, 0, 4)
    found = image_files.read(register_notes(9, {0xA235: 0x0305, 0xA23A: 256, 0x80000006: 64}))
    assert (found.kind, found.gprs, found.stack_entries, found.lds_bytes) == ("cs", 5, 3, 1024)
    assert (found.group_size, found.abi, found.name) == ((64, 1, 1), "cal", "main")


@pytest.mark.parametrize("target", ["cypress", "cayman"])
def test_llvm_objects(target: str) -> None:
    data = (OBJECTS / f"aes_{target}.o").read_bytes()
    assert image_files.is_image(data)
    found = image_files.read(data)
    assert (found.target, found.kind, found.name, found.abi, found.byte_atomics) == (target, "cs", "aes", "llvm", True)
    assert found.lds_bytes == 1024
    assert found.gprs > 4
    # The table behind the code is reached by its address in the text section.
    table = len(found.code)
    assert len(found.data) == table + 1024
    literals = {value for cf in found.shader.cf for group in cf.groups for value in group.literals}
    assert table in literals


def test_opencl_binaries() -> None:
    data = opencl_binary({"add": (image_files.write(KERNEL), METADATA)}, b"constants")
    assert image_files.is_image(data)
    found = image_files.read(data)
    assert (found.name, found.abi, found.target, found.data) == ("add", "amd", "cypress", b"constants")
    assert (found.lds_bytes, found.group_size) == (1024, (64, 1, 1))
    assert [(a.arg.name, a.arg.offset, a.resource) for a in found.args] == [("out", 0, 11), ("n", 16, -1)]
    assert found.args[0].arg.type_name == "float*"


def test_il_tokens_are_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """AMD's driver has them before a chip's machine code, under another chip's number, and no registers for them."""
    written = image_cal._notes
    monkeypatch.setattr(
        image_cal, "_notes", lambda made: image_cal._note(1, b"") if made.target == "juniper" else written(made)
    )
    tokens = replace(KERNEL, target="juniper", code=bytes.fromhex("5901ff3f02010000"))
    data = opencl_binary({"add": (image_files.write(tokens, KERNEL), METADATA)})
    assert [found.target for found in image_files.read_all(data)] == ["cypress"]
    assert [found.code for found in image_files.read_all(image_files.write(tokens))] == [tokens.code]


def test_opencl_binary_without_metadata() -> None:
    data = opencl_binary({"add": (image_files.write(KERNEL), METADATA)}).replace(b"_add_metadata", b"_add_metadat_")
    with pytest.raises(CodeObjectError, match="has no arguments of the kernel add"):
        image_files.read(data)


def test_opencl_binaries_with_impossible_sizes() -> None:
    for wrong in ("hwlocal:4294967296", "hwprivate:4294967296"):
        data = opencl_binary({"add": (image_files.write(KERNEL), METADATA.replace("hwlocal:512", wrong))})
        with pytest.raises(CodeObjectError, match=r"wants .*4294967296 bytes of .*: no chip has so much"):
            image_files.read(data)
    data = opencl_binary({"add": (image_files.write(KERNEL), METADATA.replace("cws:64:1:1", "cws:64:0:1"))})
    with pytest.raises(CodeObjectError, match=r"damaged metadata of the kernel add: work-groups of \(64, 0, 1\)"):
        image_files.read(data)


def test_private_memory_of_opencl_binaries_is_whole_registers() -> None:
    private = METADATA.replace("hwlocal:512", "hwprivate:20")
    found = image_files.read(opencl_binary({"add": (image_files.write(KERNEL), private)}))
    assert found.scratch_bytes == 32
    assert image_files.read(image_files.write(found)) == found


def test_image_as_text() -> None:
    for made in (PIXEL, KERNEL):
        shown = image_text.text(made)
        plain = replace(made, constants=b"", il="", lines=(), args=(), data=b"")
        assert image_text.parse(shown) == plain
        assert image_text.text(image_text.parse(shown)) == shown
        exact = image_text.text(made, exact=True)
        assert image_text.parse(exact) == replace(made, il="", lines=())
    assert image_text.parse(LOOP, "rv770").kind == "ps"
    assert image_text.parse(COMPUTE, "cypress", "cs").kind == "cs"


@pytest.mark.parametrize("type_", ["struct (unnamed struct at a//b.cl:1:1)*", "one; two", 'quoted "//" \\', "; // "])
def test_what_looks_like_a_comment_in_quotes_is_none(type_: str) -> None:
    (argument,) = KERNEL.args
    made = replace(KERNEL, args=(replace(argument, arg=argument.arg._replace(type_name=type_)),))
    exact = image_text.text(made, exact=True).replace("ProgramType                     = cs", "ProgramType = cs ; so")
    assert image_text.parse(exact) == replace(made, il="", lines=())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("00 NOP\nEND_OF_PROGRAM", "1: error: the text does not say what chip it is for"),
        ("Target = voodoo", "1:10: error: Target is one of rs880, r600"),
        ("Target = cypress\nTarget = cayman", "2:10: error: the text is for cayman, not cypress"),
        ("Target = cypress\nLdsSize = many", "2:11: error: LdsSize is a number of 32 bits, not many"),
        ("Target = cypress\nSpeed = 3", "2:1: error: Speed is not a property of an image"),
        ("Target = cypress\nThreadGroup = 64", "2:15: error: ThreadGroup is three sizes from 1 to 1024, not 64"),
        ("Target = cypress\nUavs = 1\nUavs = 2", "3:1: error: Uavs is given twice"),
        (
            "Target = cypress\nArguments = 1",
            "2:13: error: Arguments is a list of arguments as headwater disasm writes it",
        ),
        ("Target = cypress\n00 FLY", "2:4: error: evergreen has no control-flow instruction FLY"),
    ],
)
def test_errors_in_image_text(text: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        image_text.parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\x7fELF", "ends within the ELF header"),
        (image_files.write(KERNEL)[:60], "ends within the program headers"),
        (image_files.write(KERNEL)[:-3000], "ends within"),
        (image_files.write(KERNEL).replace(b"\x02\x00\x00\x70", b"\x03\x00\x00\x70"), "has no encoding dictionary"),
        (image_files.write(KERNEL).replace(b'{"name"', b'["name"'), "has a damaged note of Headwater"),
    ],
)
def test_damaged_images(data: bytes, message: str) -> None:
    with pytest.raises(CodeObjectError, match=message):
        image_files.read_all(data)


def test_mutated_files_end_in_errors() -> None:
    rng = random.Random(7)
    files = [
        image_files.write(PIXEL),
        image_files.write(KERNEL),
        opencl_binary({"add": (image_files.write(KERNEL), METADATA)}),
    ]
    files += [(OBJECTS / "aes_cypress.o").read_bytes()]
    for _ in range(400):
        data = bytearray(rng.choice(files))
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        try:
            for found in image_files.read_all(bytes(data)):
                image_text.text(found, exact=True)
        except HeadwaterError:
            pass
