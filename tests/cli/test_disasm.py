"""headwater disasm: what it prints, and that what it prints can be assembled and run again."""

import json
import platform
import re
import sys
from pathlib import Path

import pytest

from headwater.cli import main
from headwater.isa.gcn.codeobject import load
from headwater.isa.gcn.listing import lines_of

sys.path.insert(0, str(Path(__file__).parents[1] / "isa" / "gcn"))

from objects import SOURCE, assembled_file, compiled, elf, version_2


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "k.cl"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def code_object(tmp_path):
    path = tmp_path / "k.hsaco"
    path.write_bytes(compiled())
    return path


def shown(capsys, *words):
    assert main(["disasm", *map(str, words)]) == 0
    return capsys.readouterr().out


def refused(capsys, *words):
    assert main(["disasm", *map(str, words)]) == 2
    return capsys.readouterr().err


def test_a_listing(capsys, code_object):
    out = shown(capsys, code_object, "--kernel", "saxpy", "--bytes")
    assert f"{code_object}: code object of version 5 for gfx906" in out
    assert re.search(r"^saxpy:  \d+ VGPRs, \d+ SGPRs, 0 bytes of LDS", out, re.MULTILINE)
    assert "    float* y: 8 bytes at 0x0" in out
    assert re.search(r"^  +[0-9a-f]+:  bf810000 +s_endpgm$", out, re.MULTILINE)
    label = re.search(r"s_cbranch_execz (\.L_[0-9a-f]+)", out)[1]
    assert f"\n{label}:\n" in out
    assert "second" not in out


def test_source_lines_stand_in_between(capsys, source):
    out = shown(capsys, source, "--device", "vega64", "--source")
    assert f"; {source}:9: barrier(CLK_LOCAL_MEM_FENCE);" in out
    before, after = out.split("barrier(CLK_LOCAL_MEM_FENCE);", 1)
    assert "s_barrier" in after.split(";")[0]
    assert "for gfx900" in before


def test_json(capsys, code_object):
    found = json.loads(shown(capsys, code_object, "--json"))
    assert (found["target"], [kernel["name"] for kernel in found["kernels"]]) == ("gfx906", ["saxpy", "second"])
    instructions = found["kernels"][0]["instructions"]
    assert instructions[-1]["text"] == "s_endpgm"
    assert {"address", "bytes", "text", "target", "form", "source"} == instructions[0].keys()
    assert instructions[0]["source"][0] == "k.cl"


def test_brook_is_compiled_first(capsys, tmp_path):
    path = tmp_path / "add.br"
    path.write_text("kernel void add(float a<>, float b<>, out float c<>) { c = a + b; }\n")
    assert "v_add_f32" in shown(capsys, path, "--target", "gfx803")


@pytest.mark.parametrize("device", ["hd3870", "hd4870"])
def test_brook_is_a_pixel_shader_before_evergreen(capsys, tmp_path, device):
    path = tmp_path / "add.br"
    path.write_text("kernel void add(float a<>, float b<>, out float c<>) { c = a + b; }\n")
    text = shown(capsys, path, "--device", device)
    assert [line.split()[1] for line in text.splitlines() if "UNNORM(XYZW)" in line] == ["SAMPLE", "SAMPLE"]
    assert "EXP_DONE: PIX0, R0.x000" in text
    assert "VFETCH" not in text


@pytest.mark.parametrize("target", ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906", "gfx90a", "gfx950"])
def test_the_assembly_assembles_to_the_same_code(capsys, tmp_path, target):
    first = tmp_path / "first.hsaco"
    first.write_bytes(compiled(target))
    text = tmp_path / "second.s"
    text.write_text(shown(capsys, first, "--format", "asm"))
    assert main(["asm", str(text)]) == 0
    before, after = load(first.read_bytes(), "a"), load(text.with_suffix(".hsaco").read_bytes(), "b")
    assert before.metadata == after.metadata
    for name, kernel in before.kernels.items():
        again = after.kernels[name]
        assert (kernel.rsrc, kernel.properties, kernel.args) == (again.rsrc, again.properties, again.args)
        old = [line.words for line in lines_of(before, kernel.entry, kernel.code_end, positions=False)]
        new = [line.words for line in lines_of(after, again.entry, again.code_end, positions=False)]
        # The distance to the table may be another: it is the only thing.
        assert len(old) == len(new)
        assert {a.split()[0] for a, b in zip(old, new, strict=True) if a != b} <= {"s_add_u32", "s_addc_u32"}


def test_edited_assembly_runs(capsys, tmp_path):
    import numpy as np

    import headwater

    path = tmp_path / "scale.cl"
    path.write_text("__kernel void scale(__global float *p) { p[get_global_id(0)] *= 3.0f; }")
    text = shown(capsys, path, "--target", "gfx900", "--format", "asm")
    assert text.count("0x40400000") == 1
    changed = tmp_path / "scale.s"
    # Five instead of three, and an instruction more: labels and symbols keep what they mean.
    changed.write_text(text.replace("0x40400000", "0x40a00000").replace("\ts_endpgm", "\ts_nop 0\n\ts_endpgm"))
    assert main(["asm", str(changed)]) == 0
    program = headwater.compile(tmp_path / "scale.hsaco", device="vega64")
    numbers = np.arange(64, dtype=np.float32)
    program.scale[(64,), None](numbers)
    assert numbers.tolist() == [5.0 * n for n in range(64)]


def test_version_2_becomes_assembly_of_a_newer_version(capsys, tmp_path):
    old = tmp_path / "old.co"
    old.write_bytes(version_2())
    text = tmp_path / "new.s"
    text.write_text(shown(capsys, old, "--format", "asm"))
    assert main(["asm", str(text)]) == 0
    kernel = load(text.with_suffix(".hsaco").read_bytes(), "new").kernel("twice")
    assert [(a.name, a.offset, a.size) for a in kernel.args] == [("out", 0, 8), ("", 8, 1), ("", 16, 8)]
    assert (kernel.private_segment_bytes, kernel.group_segment_bytes, kernel.user_sgpr_count) == (16, 32, 6)


def test_what_cannot_be_done_is_said(capsys, tmp_path, source, code_object):
    assert "no chip to compile for is given" in refused(capsys, source)
    assert "cannot read" in refused(capsys, tmp_path / "none.hsaco")
    assert "no kernel 'saxpi'" in refused(capsys, code_object, "--kernel", "saxpi")
    assert "holds code for gfx906" in refused(capsys, code_object, "--target", "gfx803")
    assert "belong to the text form" in refused(capsys, code_object, "--json", "--bytes")
    wrong = tmp_path / "wrong.co"
    wrong.write_bytes(code_object.read_bytes()[:1000])
    assert "ends within" in refused(capsys, wrong)


def test_tables_of_pointers_survive_assembly(capsys, tmp_path):
    import numpy as np

    import headwater

    path = tmp_path / "pick.cl"
    path.write_text(
        "__constant int a[4] = {10, 20, 30, 40};\n__constant int b[4] = {1, 2, 3, 4};\n"
        "__constant int *__constant tables[3] = {a, a + 2, b};\n"
        "__kernel void pick(__global int *out) { int i = get_global_id(0); out[i] = tables[i % 3][i & 1]; }\n"
    )
    text = tmp_path / "pick.s"
    text.write_text(shown(capsys, path, "--target", "gfx900", "--format", "asm"))
    assert "\t.quad b\n" in text.read_text()
    assert main(["asm", str(text)]) == 0
    result = np.zeros(6, np.int32)
    headwater.compile(text.with_suffix(".hsaco"), device="vega64").pick[(6,), None](result)
    assert result.tolist() == [10, 40, 1, 20, 30, 2]


_BY_HAND = """\
start:
  s_mov_b32 s0, 1
loop:
  s_sub_u32 s0, s0, 1
  s_cbranch_scc0 loop
  s_endpgm
.type helper,@function
helper:
  v_mov_b32 v0, 1
inside:
  s_setpc_b64 s[30:31]
.size helper, .-helper
  s_nop 5
.section .text.more,"ax",@progbits
  s_endpgm
"""


def test_functions_of_a_file_that_is_not_linked(capsys, tmp_path):
    path = tmp_path / "hand.o"
    path.write_bytes(assembled_file(_BY_HAND, "gfx900"))
    out = shown(capsys, path)
    assert out.startswith(f"{path}: machine code without kernels for gfx900\n")
    assert re.findall(r"^([\w.+]+):$", out, re.MULTILINE) == [
        "start", "loop", ".L_4", "helper", ".text+0x18", ".text.more",
    ]  # fmt: skip
    assert "       8:  s_cbranch_scc0 .L_4\n" in out
    assert "     100:  s_endpgm" in out
    (one,) = json.loads(shown(capsys, path, "--kernel", "helper", "--json"))["functions"]
    assert [line["text"] for line in one["instructions"]] == ["v_mov_b32_e32 v0, 1", "s_setpc_b64 s[30:31]"]
    assert "its functions are start, loop, helper" in refused(capsys, path, "--kernel", "helpr")
    assert "without kernels cannot be assembled again" in refused(capsys, path, "--format", "asm")
    assert "holds code for gfx900, not gfx906" in refused(capsys, path, "--target", "gfx906")


def test_code_without_metadata_or_a_named_chip(capsys, tmp_path):
    bare = elf([(".text", 1, 6, 0x100, b"\0\0\x81\xbf", 0, 0)], machine=224, os_abi=0, segments=[(1, 5, 1)])
    path = tmp_path / "bare.so"
    path.write_bytes(bare)
    assert "does not say which GPU" in refused(capsys, path)
    assert "     100:  s_endpgm" in shown(capsys, path, "--device", "fiji")
    path.write_bytes(elf([(".data", 1, 3, 0, b"1234", 0, 0)], machine=224, flags=0x2C))
    assert "has no machine code" in refused(capsys, path)


def test_code_stripped_of_its_metadata(capsys, code_object):
    whole = shown(capsys, code_object, "--kernel", "saxpy")
    data = code_object.read_bytes()
    code_object.write_bytes(data.replace(b"AMDGPU\0", b"ZZZGPU\0"))
    out = shown(capsys, code_object, "--kernel", "saxpy")
    assert "machine code without kernels for gfx906" in out
    instructions = [line for line in whole.splitlines() if re.match(r"  +[0-9a-f]+:  ", line)]
    assert [line for line in out.splitlines() if re.match(r"  +[0-9a-f]+:  ", line)] == instructions


def test_the_code_of_the_cpu_device_is_shown_as_assembly(folder, headwater):
    ran = headwater("disasm", "vadd.cl", "-d", "cpu")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("# vadd: 1048576 x 1 x 1 work-items in groups of")
    assert "hw_entry:" in ran.out
    if platform.machine() == "x86_64":
        assert "addps" in ran.out
    assert "twice:" not in ran.out
    both = headwater("disasm", "invert.cl", "-d", "cpu", "-k", "scale").out
    assert "# scale:" in both
    assert "# invert:" not in both
    assert "# add_" in headwater("disasm", "sum.br", "-d", "cpu").out
    assert "leave --json" in headwater("disasm", "vadd.cl", "-d", "cpu", "--json").err
