"""What `--check` finds on VLIW chips: the same as on a GCN one, with the source's lines."""

import re

import numpy as np
import pytest

import headwater as hw

SOURCE = """
kernel void reverse(global float *x) {
  local float held[256];
  int l = get_local_id(0);
  held[l] = x[get_global_id(0)];
  x[get_global_id(0)] = held[get_local_size(0) - 1 - l];
}
kernel void fixed_reverse(global float *x) {
  local float held[256];
  int l = get_local_id(0);
  held[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] = held[get_local_size(0) - 1 - l];
}
kernel void unwritten(global float *x) {
  local float held[256];
  int l = get_local_id(0);
  if (l < 100) held[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] = held[get_local_size(0) - 1 - l];
}
kernel void diverge(global float *x) {
  if (get_local_id(0) % 3) barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] += 1;
}
kernel void missed(global float *x) {
  if (get_local_id(0) < 64) barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] += 1;
}
kernel void neighbour(global float4 *x) {
  x[get_global_id(0)] = x[get_global_id(0) + 1 < get_global_size(0) ? get_global_id(0) + 1 : 0];
}
kernel void same(global float *x) { x[0] = 1; }
kernel void different(global float *x) { x[0] = get_global_id(0); }
kernel void tree(global float *x) {
  local float held[256];
  int l = get_local_id(0);
  held[l] = x[get_global_id(0)];
  for (int n = 128; n; n /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < n) held[l] += held[l + n];
  }
  if (l == 0) x[get_global_id(0)] = held[0];
}
kernel void counted(global int *x) { atomic_add(x + 1, 1); }
kernel void half_counted(global int *x) { if (get_global_id(0) & 1) atomic_add(x, 1); else x[0] = 3; }
kernel void bytes(global uchar *x) { x[get_global_id(0)] = x[get_global_id(0)] + 1; }
kernel void copy(global float *from, global float *to) { to[get_global_id(0)] = from[get_global_id(0)]; }
"""
CLEAN = ("fixed_reverse", "tree", "same", "counted", "bytes")
WRONG = ("reverse", "unwritten", "diverge", "missed", "neighbour", "different", "half_counted")
KINDS = ("data race", "no work-item of its group has written", "does not reach a barrier", "ends without")
PIXELS = ("neighbour", "same", "different")
"""Those that run on an HD 4000, too."""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("check") / "wrong.cl"
    path.write_text(SOURCE)
    return hw.compile(str(path))


def findings(program, name, chip):
    """The kinds and lines that a checked launch is told of: who meets whom first is the order of instructions."""
    x = np.random.default_rng(1).random(4096, np.float32)
    x = x.view(np.int32 if "counted" in name else np.uint8 if name == "bytes" else np.float32)
    try:
        program[name][(1024,), (256,)](x, device=chip, check=True)
    except hw.KernelFault as fault:
        text = str(fault)
        found = re.findall(r"(?:wrong\.cl:(\d+)[:0-9]*: error: (?:headwater: )?)?(.*)", text)
        return sorted((line, kind) for line, message in found for kind in KINDS if kind in message)
    return []


@pytest.mark.parametrize("chip", ["hd5870", "hd6970", "hd4870"])
@pytest.mark.parametrize("name", [*CLEAN, *WRONG])
def test_findings_are_those_of_a_gcn_chip(program, name, chip):
    if chip == "hd4870" and name not in PIXELS:
        pytest.skip("needs what an HD 4000 lacks")
    found = findings(program, name, chip)
    assert found == findings(program, name, "vega64")
    assert bool(found) == (name in WRONG)


def test_memory_that_nobody_has_written(program):
    device = hw.device("hd5870")
    empty, result = device.allocate(4096), np.zeros(1024, np.float32)
    with pytest.raises(hw.KernelFault, match=r"work-item \(0\) of copy reads 4 bytes at byte 0 of .*nothing has been"):
        program["copy"][(1024,), None](empty, result, device=device, check=True)
    program["copy"][(1024,), None](np.ones(1024, np.float32), empty, device=device, check=True)
    program["copy"][(1024,), None](empty, result, device=device, check=True)
    assert (result == 1).all()


def test_pixel_shaders_are_refused(tmp_path, monkeypatch):
    (tmp_path / "one.br").write_text("kernel void one(float a<>, out float b<>) { b = a; }")
    brook = hw.compile(str(tmp_path / "one.br"), device="hd4870")
    (tmp_path / "one.il").write_text("il_ps_2_0\ndcl_output_generic o0\ndcl_literal l0, 1, 1, 1, 1\nmov o0, l0\nend\n")
    il = hw.compile(str(tmp_path / "one.il"), device="hd5870")
    monkeypatch.setenv("HEADWATER_CHECK", "1")
    with pytest.raises(hw.UsageError, match="Brook\\+ kernels on Radeon HD 4870 cannot be checked"):
        brook.one(np.zeros(4, np.float32))
    with pytest.raises(hw.UsageError, match="IL programs on Radeon HD 5870 cannot be checked"):
        il.main[(4, 4), None](np.zeros((4, 4, 4), np.float32))
