"""headwater disasm and asm on VLIW code: images, raw machine code, text that is changed and assembled."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import headwater
from headwater.cli import main
from headwater.isa.vliw import image_files

sys.path.insert(0, str(Path(__file__).parents[1] / "isa" / "vliw"))

from vliw_samples import COMPUTE, KERNEL, LOOP, METADATA, OBJECTS, PIXEL, opencl_binary


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "k.cal"
    path.write_bytes(image_files.write(KERNEL))
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
    path.write_bytes(
        opencl_binary({"add": (image_files.write(KERNEL), METADATA), "sub": (image_files.write(KERNEL), METADATA)})
    )
    out = shown(capsys, "disasm", path)
    assert f"; {path}: add for cypress\n" in out
    assert out.count(COMPUTE) == 2
    assert shown(capsys, "disasm", path, "--kernel", "sub").count(COMPUTE) == 1
    assert "has no kernel 'mul'" in refused(capsys, "disasm", path, "--kernel", "mul")


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
    assert "has no kernel 'three'" in said
    assert "its kernels are one, two" in said


def test_lines_of_the_source_stand_in_between(capsys, tmp_path):
    path, made = tmp_path / "k.cl", tmp_path / "k.cal"
    path.write_text("kernel void k(global float *a) {\n  a[get_global_id(0)] += 1.0f;\n}\n")
    lines = shown(capsys, "disasm", path, "--device", "hd5870", "--source").splitlines()
    noted = f"; {path}:2: a[get_global_id(0)] += 1.0f;"
    assert lines.count(noted) == 1  # not where the line before was the same
    assert "ALU: ADDR" in lines[lines.index(noted) - 1]
    shown(capsys, "compile", path, "--device", "hd5870", "-o", made)
    assert "; IL:" in shown(capsys, "disasm", made, "--source")
    il = Path(__file__).parents[2] / "examples" / "matmul" / "matmul.il"
    text = shown(capsys, "disasm", il, "--device", "hd4870", "--source")
    assert f"; {il}:23: mov o0, r0.x\n07 EXP_DONE" in text
    assert "\n    ; " in text  # indented as the loop is
    listing = tmp_path / "m.isa"
    listing.write_text(text)
    shown(capsys, "asm", listing)


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
    made = image_files.read((tmp_path / "changed.cal").read_bytes())
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
    assert "--bytes is for GCN code" in refused(capsys, "disasm", file, "--bytes")
    assert "contains no line numbers" in refused(capsys, "disasm", file, "--source")
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


def test_code_that_reads_what_its_il_does_not_declare_ends_in_a_fault(capsys, tmp_path):
    path = tmp_path / "k.cal"
    path.write_bytes(image_files.write(PIXEL))
    assert "nothing is bound to" in refused(capsys, "run", path, "--device", "hd4870", "-g", "8,8")


# -- headwater compile -------------------------------------------------------------------------------------------------

CL = """kernel void add(global const float *a, global const float *b, global float *c) {
    int i = get_global_id(0); c[i] = a[i] + b[i];
}
kernel void scale(global float *c, float by) { int i = get_global_id(0); c[i] *= by; }
"""
IL = """il_ps_2_0
dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_cb cb0[1]
dcl_output_generic o0
sample_resource(0)_sampler(0) r0, vWinCoord0.xyxy
mad o0, r0, cb0[0].x, cb0[0].y
end
"""


@pytest.mark.parametrize("chip", ["hd3870", "hd4870", "hd5870", "hd6970"])
def test_opencl_is_compiled_to_an_image_that_runs(capsys, tmp_path, monkeypatch, chip):
    monkeypatch.chdir(tmp_path)
    Path("k.cl").write_text(CL)
    assert shown(capsys, "compile", "k.cl", "--device", chip) == "k.cal\n"
    assert "; k.cal: scale for " in shown(capsys, "disasm", "k.cal")
    program = headwater.compile("k.cal")
    a, b, c = np.arange(100, dtype=np.float32), np.ones(100, np.float32), np.zeros(100, np.float32)
    program.add[(100,), None](a, b, c, device=chip)
    program.scale[(100,), None](c, 3.0, device=chip)
    np.testing.assert_array_equal(c, (a + b) * 3)
    words = ["run", "k.cal", "--kernel", "scale", "ones:4", "2.5", "--device", chip]
    assert "[2.5 2.5 2.5 2.5]" in shown(capsys, *words)
    assert "choose a simulated device" in refused(capsys, *words[:-1], "cpu")


@pytest.mark.parametrize("with_il", [True, False])
def test_il_is_compiled_to_an_image_that_runs(capsys, tmp_path, monkeypatch, with_il):
    monkeypatch.chdir(tmp_path)
    Path("k.il").write_text(IL)
    assert shown(capsys, "compile", "k.il", "--target", "rv770") == "k.cal\n"
    if not with_il:  # as AMD's tools make it, or by way of assembly
        Path("k.isa").write_text(shown(capsys, "disasm", "k.cal", "--format", "asm"))
        assert shown(capsys, "asm", "k.isa") == "k.cal\n"
    program = headwater.compile("k.cal")
    source = np.arange(24, dtype=np.float32).reshape(4, 6)
    for device in ["hd4870", *(["cpu", "vega64"] if with_il else [])]:
        made = np.zeros((4, 6), np.float32)
        program.main[(6, 4), None](source, (2.0, 1.0), made, device=device)
        np.testing.assert_array_equal(made, source * 2 + 1)
    with pytest.raises(headwater.UsageError, match="machine code for rv770"):
        program.main[(6, 4), None](source, (2.0, 1.0), made, device="hd5870")
    if not with_il:
        with pytest.raises(headwater.DeviceError, match="which cpu does not run"):
            program.main[(6, 4), None](source, (2.0, 1.0), made, device="cpu")


def test_what_is_compiled_can_be_chosen(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("k.cl").write_text(CL)
    assert shown(capsys, "compile", "k.cl", "-d", "hd5870", "--kernel", "add", "--emit", "asm") == "k.isa\n"
    assert "MEM_RAT_CACHELESS_STORE_RAW" in Path("k.isa").read_text()
    assert shown(capsys, "compile", "k.cl", "-d", "hd5870", "--kernel", "add", "--emit", "ir", "-o", "-").startswith(
        "il_cs"
    )
    assert shown(capsys, "compile", "k.cl", "-d", "hd5870", "--kernel", "add", "--emit", "raw") == "k.bin\n"
    assert "more than one program: add for cypress" in refused(
        capsys, "compile", "k.cl", "-d", "hd5870", "--emit", "asm"
    )
    assert "--emit hsaco is for GCN" in refused(capsys, "compile", "k.cl", "-d", "hd5870", "--emit", "hsaco")
    assert "--emit raw is for VLIW" in refused(capsys, "compile", "k.cl", "-d", "vega64", "--emit", "raw")
    assert "did you mean 'add'" in refused(capsys, "compile", "k.cl", "-d", "hd5870", "--kernel", "ad")
    assert "are for GCN" in refused(capsys, "compile", "k.cl", "-d", "hd5870", "--largest-group", "64")
    Path("k.txt").write_text(CL)
    assert "sources end in" in refused(capsys, "compile", "k.txt", "-d", "hd5870")


def test_kernels_that_the_chip_cannot_run_are_left_out(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("k.cl").write_text(CL + "kernel void twice(global double *a) { *a *= 2; }\n")
    assert main(["compile", "k.cl", "--device", "hd5770"]) == 0
    assert "twice is left out" in capsys.readouterr().err
    assert "k.cl:5" in refused(capsys, "compile", "k.cl", "--device", "hd5770", "--kernel", "twice")


@pytest.mark.parametrize(
    ("fact", "value", "said"),
    [
        ("SQ_PGM_RESOURCES:NUM_GPRS", 130, "needs 130 registers for a work-item, Radeon HD 4870 has 128"),
        ("SQ_PGM_RESOURCES:STACK_SIZE", 600, "needs 600 entries of the control-flow stack, Radeon HD 4870 has 512"),
        ("LdsSize", 70000, "needs 70000 bytes of LDS for a work-group, Radeon HD 4870 has 16384"),
    ],
)
def test_code_that_needs_more_than_the_chip_has_is_refused(capsys, tmp_path, monkeypatch, fact, value, said):
    monkeypatch.chdir(tmp_path)
    Path("k.isa").write_text(
        f"00 EXP_DONE: PIX0, R0\nEND_OF_PROGRAM\n\nTarget = rv770\nProgramType = ps\nOutputs = 0\n{fact} = {value}\n"
    )
    assert shown(capsys, "asm", "k.isa") == "k.cal\n"
    assert said in refused(capsys, "run", "k.cal", "--device", "hd4870", "-g", "8,8")
