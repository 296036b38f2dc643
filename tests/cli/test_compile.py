"""headwater compile, asm and devices: machine code without a GPU, and what is said of wrong input."""

import json
import subprocess
import sys

import pytest

HSACO = b"\x7fELF\x02\x01\x01\x40"  # ELF64, little endian, the HSA's operating system


def test_compile_writes_a_code_object_beside_the_source(headwater, folder):
    ran = headwater("compile", "vadd.cl", "--device", "vega64")
    assert (ran.code, ran.out, ran.err) == (0, "vadd.hsaco\n", "")
    code = (folder / "vadd.hsaco").read_bytes()
    assert code.startswith(HSACO)
    assert b"vadd.kd" in code


@pytest.mark.parametrize(
    ("kind", "suffix", "holds"),
    [("ir", "ll", b"amdgpu_kernel void @vadd"), ("asm", "s", b"s_endpgm"), ("obj", "o", b"vadd.kd")],
)
def test_what_is_emitted_can_be_chosen(headwater, folder, kind, suffix, holds):
    assert headwater("compile", "vadd.cl", "--target", "gfx906", "--emit", kind).out == f"vadd.{suffix}\n"
    assert holds in (folder / f"vadd.{suffix}").read_bytes()


def test_kernels_are_chosen_and_macros_defined(headwater, folder):
    (folder / "two.cl").write_text(
        "kernel void one(global int *a) { *a = N; }\nkernel void two(global int *a) { *a = 2; }\n"
    )
    arguments = ["compile", "two.cl", "-d", "tahiti", "--emit", "asm", "-D", "N=77", "-o", "out.s"]
    assert headwater(*arguments, "--kernel", "one").code == 0
    text = (folder / "out.s").read_text()
    assert "0x4d" in text
    assert ".globl\tone" in text
    assert ".globl\ttwo" not in text
    ran = headwater(*arguments, "--kernel", "tow")
    assert ran.code == 2
    assert "two.cl has no kernel 'tow'\n  hint: did you mean two? its kernels are one, two" in ran.err


def test_assembly_is_edited_and_assembled_again(headwater, folder):
    headwater("compile", "vadd.cl", "--target", "gfx900", "-o", "first.hsaco")
    headwater("compile", "vadd.cl", "--target", "gfx900", "--emit", "asm")
    text = (folder / "vadd.s").read_text()
    ran = headwater("asm", "vadd.s", "-o", "second.hsaco")
    assert (ran.code, ran.out, ran.err) == (0, "second.hsaco\n", "")
    first, second = ((folder / f"{name}.hsaco").read_bytes() for name in ("first", "second"))
    at, size = _section(first, b".text")
    at_again, size_again = _section(second, b".text")
    assert first[at : at + size] == second[at_again : at_again + size_again]
    (folder / "vadd.s").write_text(text.replace("v_add_f32", "v_sub_f32"))
    headwater("asm", "vadd.s", "-o", "third.hsaco")
    third = (folder / "third.hsaco").read_bytes()
    assert len(third) == len(second)
    assert third != second


def _section(elf, name):
    """Offset and bytes of a section of an ELF64 file."""
    table, size = int.from_bytes(elf[40:48], "little"), int.from_bytes(elf[58:60], "little")
    count, names = int.from_bytes(elf[60:62], "little"), int.from_bytes(elf[62:64], "little")
    heads = [elf[table + i * size : table + (i + 1) * size] for i in range(count)]
    at = int.from_bytes(heads[names][24:32], "little")
    for head in heads:
        start = at + int.from_bytes(head[:4], "little")
        if elf[start : elf.index(b"\0", start)] == name:
            return int.from_bytes(head[24:32], "little"), int.from_bytes(head[32:40], "little")
    raise AssertionError(name)


def test_faults_of_assembly_have_a_place(headwater, folder):
    (folder / "k.s").write_text('.amdgcn_target "amdgcn-amd-amdhsa--gfx900"\nk:\n  v_ad_f32 v0, v1, v2\n  s_endpgm\n')
    ran = headwater("asm", "k.s")
    assert ran.code == 2
    assert ran.err.startswith("headwater: k.s:3:3: error: invalid instruction")
    assert "      v_ad_f32 v0, v1, v2\n      ^" in ran.err
    assert not (folder / "k.hsaco").exists()
    ran = headwater("asm", "k.s", "--target", "gfx906")
    assert "k.s:1: error: this is assembly for gfx900, and gfx906 is asked for" in ran.err
    (folder / "k.s").write_text("s_endpgm\n")
    assert "k.s does not say what chip it is for" in headwater("asm", "k.s").err
    assert headwater("asm", "k.s", "-d", "mi100", "--emit", "obj").out == "k.o\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vadd.cl"], "no chip to compile for is given\n  hint: --device vega64, say, or --target gfx906"),
        (["vadd.cl", "--target", "gfx1030"], "there is no target 'gfx1030'"),
        (["vadd.cl", "--device", "vega46"], "there is no chip 'vega46'\n  hint: did you mean vega64?"),
        (["vadd.cl", "-d", "vega64", "--target", "gfx900"], "argument --target: not allowed with argument --device/-d"),
        (["vadd.cl", "-d", "vega64", "--largest-group", "2000"], "a work-group cannot have 2000 work-items"),
        (["none.cl", "-d", "vega64"], "cannot read none.cl: No such file or directory"),
        (["sum.br", "-d", "vega64"], "sum.br is Brook+, and this compiles OpenCL C\n  hint: headwater brcc sum.br"),
        (["vadd.cl", "-d", "vega64", "-o", "none/x"], "cannot write none/x: the directory none does not exist"),
        (["vadd.cl", "-d", "vega64", "--options=-cl-fast"], "unknown build option '-cl-fast'"),
    ],
)
def test_wrong_input_is_told(headwater, folder, arguments, message):
    ran = headwater("compile", *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_python_is_not_read_as_opencl(headwater, folder):
    (folder / "sum.py").write_text("import headwater as hw\n")
    ran = headwater("compile", "sum.py", "-d", "vega64")
    assert ran.code == 2
    assert "sum.py is Python, and this compiles OpenCL C\n  hint: a kernel's attribute opencl" in ran.err


def test_errors_in_the_source_have_a_place(headwater, folder):
    (folder / "bad.cl").write_text("kernel void k(global int *a) {\n  a[0] = b;\n}\n")
    ran = headwater("compile", "bad.cl", "-d", "vega64")
    assert ran.err.startswith("headwater: bad.cl:2:10: error: use of undeclared identifier 'b'")


def test_a_result_can_be_piped(folder):
    command = [sys.executable, "-m", "headwater", "compile", "-", "-d", "hd7970"]
    done = subprocess.run(command, input=(folder / "vadd.cl").read_bytes(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(HSACO)


# ------------------------------------------------------------------------------------------------ devices


def test_devices_lists_the_chips(headwater):
    rows = {row["name"]: row for row in json.loads(headwater("devices", "--json", "--chips").out)}
    assert "cpu" not in rows
    vega = rows["vega64"]
    assert (vega["kind"], vega["target"], vega["compute_units"], vega["chip"]) == ("simulated", "gfx900", 64, "Vega 10")
    out = headwater("devices", "--chips").out
    assert "Radeon RX Vega 64" in out
    assert "gfx90a" in out


def test_devices_shows_one_chip_in_full(headwater, tmp_path):
    out = headwater("devices", "Vega 64").out
    assert out.startswith(
        "Radeon RX Vega 64: Vega 10, Vega (GCN 5), target gfx900\n  peak 12665 GFLOP/s, 792 in double"
    )
    assert "  l2_bytes                        4 194 304 bytes\n" in out
    assert json.loads(headwater("devices", "vega64", "--json").out)["caches"]["l2_banks"] == 16
    (tmp_path / "mine.toml").write_text('base = "mi50"\n[compute]\nclock_mhz = "fast"\n')
    ran = headwater("devices", str(tmp_path / "mine.toml"))
    assert ran.code == 2
    assert "mine.toml:3: error: compute.clock_mhz is 'fast'" in ran.err


def test_listing_chips_imports_little():
    code = "import sys; from headwater.cli import main; main(['devices', '--chips', '--json']); sys.stderr.write(repr(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "rich", "pyopencl", "llvmlite", "headwater.runtime"} & set(eval(done.stderr))
