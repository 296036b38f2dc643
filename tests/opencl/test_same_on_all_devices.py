"""What OpenCL C every device takes, with the same results, and what every device refuses, at the same place."""

import numpy as np
import pytest

import headwater as hw
from headwater.cli import main

DEVICES = ("cpu", "hd4870", "hd5870", "hd7970", "vega64")


def ran(source, device, *more, kernel="k", options=""):
    """What a kernel of one int array, and ``more``, leaves there in 4 work-items."""
    out = np.zeros(8, np.int32)
    program = hw.compile(source, device=device, options=options)
    program[kernel][(4,), (4,)](out, *more, device=device)
    return out.tolist()


# ---------------------------------------------------------------------------------------------- taken


@pytest.mark.parametrize("device", DEVICES)
def test_pointers_to_other_types_are_a_warning(device):
    source = """kernel void k(global int *o) {
  global float *numbers = o;
  numbers[get_global_id(0)] = 2;
}"""
    program = hw.compile(source, device=device)
    assert "warning: incompatible pointer types" in program.warnings
    assert ran(source, device) == [0x40000000] * 4 + [0] * 4


def test_warnings_are_shown_where_a_kernel_is_run(tmp_path, capsys):
    (tmp_path / "k.cl").write_text("kernel void k(global ushort *o) {\n  global uint *w = o;\n  *w = 7;\n}\n")
    assert main(["run", str(tmp_path / "k.cl"), "zeros:4", "-g", "1"]) == 0
    assert "k.cl:2:16: warning: incompatible pointer types" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "k.cl"), "zeros:4", "-g", "1", "-q"]) == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize("device", DEVICES)
def test_a_program_may_have_no_kernels(device):
    assert hw.compile("int helper(int x) { return x + 1; }\n", language="opencl", device=device).kernels == {}


def test_no_image_is_made_of_a_program_without_kernels(tmp_path, capsys):
    (tmp_path / "none.cl").write_text("int helper(int x) { return x + 1; }\n")
    assert main(["compile", str(tmp_path / "none.cl"), "--device", "hd5870"]) == 2
    assert "none.cl has no kernels" in capsys.readouterr().err


UNNAMED = """struct hidden;
kernel void k(global int *o, struct { int q[3]; } v, global const struct { int x; float y; } *s,
              global struct hidden *h, global struct inner { int z; } *n, global struct { char c[4]; } (*p)[3]) {
  o[get_global_id(0)] = v.q[1] + 10 * s[get_global_id(0)].x + n[1].z + p[1][2].c[3] + (h == 0);
}"""


@pytest.mark.parametrize("device", DEVICES)
def test_structures_without_a_name_can_be_parameters(device):
    value = np.array([(1, 7, 3)], np.dtype("i4,i4,i4", align=True))
    pairs = np.array([(1, 0), (2, 0), (3, 0), (4, 0)], np.dtype("i4,f4", align=True))
    rows = np.zeros((2, 3, 4), np.int8)
    rows[1, 2, 3] = 2
    more = (value[0], pairs, None, np.array([5, 6], np.int32), rows)
    assert ran(UNNAMED, device, *more)[:4] == [26, 36, 46, 56]


NAMES = """struct Größe { int länge; };
constant int größte[2] = {4, 5};
__attribute__((overloadable)) int hälfte(int ä) { struct Größe é; é.länge = ä + größte[1]; return é.länge; }
__attribute__((overloadable)) int hälfte(float ä) { return 0; }
kernel void größe(global int *größer, int \\u00f1) {
  größer[get_global_id(0)] = hälfte(größer[get_global_id(0)]) + \\u00f1;
}
kernel void k(global int *o) { größe(o, 2); }
"""


@pytest.mark.parametrize("device", DEVICES)
def test_names_may_have_any_letters(device):
    program = hw.compile(NAMES, device=device)
    assert list(program.kernels) == ["größe", "k"]
    assert [a.name for a in program.größe.info.args] == ["größer", "ñ"]
    assert ran(NAMES, device, 3, kernel="größe")[:4] == [8] * 4
    assert ran(NAMES, device)[:4] == [7] * 4


@pytest.mark.parametrize("device", ["hd5870", "vega64"])
def test_names_with_any_letters_go_through_machine_code_and_its_text(device, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cl").write_text(NAMES)
    assert main(["compile", "k.cl", "--device", device, "--kernel", "größe", "-o", "k.bin"]) == 0
    capsys.readouterr()
    assert main(["disasm", "k.bin", "--format", "asm"]) == 0
    (tmp_path / "k.txt").write_text(capsys.readouterr().out)
    assert main(["asm", "k.txt", "-o", "again.bin"]) == 0
    for made in ("k.bin", "again.bin"):
        capsys.readouterr()
        assert main(["run", made, "zeros:4", "3", "--kernel", "größe", "-g", "4", "--device", device]) == 0
        assert "größer, int32 4, 8 to 8" in capsys.readouterr().out


def test_assembly_in_a_kernel_of_any_name():
    source = """kernel void größe(global int *o) {
  int r;
  __asm__ volatile("v_mov_b32 %0, 7" : "=v"(r));
  o[get_global_id(0)] = r;
}"""
    assert ran(source, "vega64", kernel="größe")[:4] == [7] * 4
