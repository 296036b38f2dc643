"""headwater disasm and asm on VLIW code: images, raw machine code, text that is changed and assembled."""

import json
import sys
from pathlib import Path

import pytest

from headwater.cli import main
from headwater.isa.vliw import image

sys.path.insert(0, str(Path(__file__).parents[1] / "isa_vliw"))

from vliw_samples import COMPUTE, KERNEL, LOOP, METADATA, OBJECTS, PIXEL, opencl_binary


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "k.cal"
    path.write_bytes(image.write(KERNEL))
    return path


def shown(capsys, *words):
    assert main([*map(str, words)]) == 0
    return capsys.readouterr().out


def refused(capsys, *words):
    assert main([*map(str, words)]) == 2
    return capsys.readouterr().err


def test_an_image_is_disassembled(capsys, file):
    out = shown(capsys, "disasm", file)
    assert COMPUTE in out
    assert "SQ_PGM_RESOURCES:NUM_GPRS       = 4\n" in out
    assert "Target                          = cypress\n" in out


def test_raw_code_is_disassembled(capsys, tmp_path):
    path = tmp_path / "k.bin"
    path.write_bytes(PIXEL.code)
    for chip in (("--target", "rv770"), ("--device", "hd4870")):
        assert LOOP in shown(capsys, "disasm", path, *chip)
    assert "address 0x" in refused(capsys, "disasm", path, "--target", "cayman")


def test_llvm_objects_and_opencl_binaries_are_disassembled(capsys, tmp_path):
    assert "Name                            = aes\n" in shown(capsys, "disasm", OBJECTS / "aes_cypress.o")
    path = tmp_path / "k.elf"
    path.write_bytes(opencl_binary({"add": (image.write(KERNEL), METADATA), "sub": (image.write(KERNEL), METADATA)}))
    out = shown(capsys, "disasm", path)
    assert f"; {path}: add for cypress\n" in out
    assert out.count(COMPUTE) == 2
    assert shown(capsys, "disasm", path, "--kernel", "sub").count(COMPUTE) == 1
    assert "has no program mul" in refused(capsys, "disasm", path, "--kernel", "mul")


def test_il_is_compiled_first(capsys):
    il = Path(__file__).parents[2] / "examples" / "matmul" / "matmul.il"
    out = shown(capsys, "disasm", il, "--device", "hd4870")
    assert "Target                          = rv770\n" in out
    assert "EXP_DONE: PIX0" in out


def test_opencl_is_compiled_first(capsys, tmp_path):
    path = tmp_path / "k.cl"
    path.write_text("kernel void one(global int *a) { a[get_global_id(0)] = 1; }\nkernel void two(global int *a) {}\n")
    out = shown(capsys, "disasm", path, "--device", "hd5870", "--kernel", "one")
    assert "MEM_RAT_CACHELESS_STORE_RAW" in out
    assert "Name                            = one\n" in out
    assert "Abi                             = headwater\n" in out
    said = refused(capsys, "disasm", path, "--device", "hd5870", "--kernel", "three")
    assert "has no program three" in said
    assert "it has one, two" in said


def test_json(capsys, file):
    (program,) = json.loads(shown(capsys, "disasm", file, "--json"))["programs"]
    assert (program["target"], program["gprs"], program["uavs"]) == ("cypress", 4, [1, 11])
    first = program["control_flow"][0]
    assert first["text"] == "ALU: ADDR(32) CNT(9) KCACHE0(CB0:0-15) KCACHE1(CB1:16-47)"
    assert first["groups"][3] == ["x: GROUP_BARRIER"]


def test_text_is_changed_and_assembled(capsys, file, tmp_path):
    text = shown(capsys, "disasm", file, "--format", "asm")
    changed = tmp_path / "changed.isa"
    changed.write_text(text.replace("ADD_INT     R0.w", "SUB_INT     R0.w"))
    assert shown(capsys, "asm", changed) == f"{tmp_path / 'changed.cal'}\n"
    made = image.read((tmp_path / "changed.cal").read_bytes())
    assert made.gprs == 4
    assert made.code != KERNEL.code
    assert "SUB_INT     R0.w" in shown(capsys, "disasm", tmp_path / "changed.cal")


def test_a_listing_alone_is_assembled(capsys, tmp_path):
    path = tmp_path / "k.isa"
    path.write_text(LOOP)
    shown(capsys, "asm", path, "--device", "hd4870", "--emit", "raw")
    assert (tmp_path / "k.bin").read_bytes() == PIXEL.code
    assert "the text does not say what chip it is for" in refused(capsys, "asm", path)
    path.write_text(LOOP.replace("FRACT", "FRACK"))
    assert f"{path}:5:13: error: r700 has no ALU operation FRACK" in refused(capsys, "asm", path, "--target", "rv770")


def test_what_does_not_go_together(capsys, file, tmp_path):
    assert "--source and --bytes are for GCN code" in refused(capsys, "disasm", file, "--bytes")
    assert "holds code for cypress, not cayman" in refused(capsys, "disasm", file, "--target", "cayman")
    path = tmp_path / "k.isa"
    path.write_text(LOOP)
    assert "code objects are for GCN chips" in refused(capsys, "asm", path, "--target", "rv770", "--emit", "obj")
    assert "--emit raw is for VLIW chips" in refused(capsys, "asm", path, "--target", "gfx906", "--emit", "raw")


def test_edited_code_of_an_opencl_kernel_runs(capsys, tmp_path):
    source, listing, image_file = tmp_path / "k.cl", tmp_path / "k.isa", tmp_path / "k.cal"
    source.write_text("kernel void twice(global const float *a, global float *b) {\n"
                      "    b[get_global_id(0)] = a[get_global_id(0)] * 2.0f + 0.25f;\n}\n")  # fmt: skip
    for chip in ("hd3870", "hd5870"):
        text = shown(capsys, "disasm", source, "--device", chip, "--format", "asm")
        assert text.count("(0x3E800000") == 1
        listing.write_text(text.replace("(0x3E800000", "(0x3F000000"))
        shown(capsys, "asm", listing, "-o", image_file)
        shown(capsys, "run", image_file, "arange:8", "--device", chip, "-o", tmp_path / "b.csv")
        values = [float(word) for word in (tmp_path / "b.csv").read_text().split()]
        assert values == [2 * number + 0.5 for number in range(8)]


def test_a_cal_program_is_refused_by_run(capsys, tmp_path):
    path = tmp_path / "k.cal"
    path.write_bytes(image.write(PIXEL))
    assert "headwater.cal" in refused(capsys, "run", path, "--device", "hd4870", "-g", "8,8")
