"""What `--check` finds on VLIW chips: the same as on a GCN one, with the source's lines."""

import re

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.il import from_llvm

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


POINTERS = """
kernel void add(global const float *a, global const float *b, global float *c) {
  int i = get_global_id(0);
  c[i] = a[i] + b[i];
}
kernel void either(global int *a, global int *b, global const int *which, global const int *from) {
  int i = get_global_id(0);
  global int *to = which[i] ? a : b;
  to[i] = from[which[i] * 3];
}
kernel void walks(global int *to, global const int *from, local int *own, int n) {
  for (global int *p = to; p < to + n; p += 64) own[get_local_id(0)] += *from++, *p = own[get_local_id(0)];
}
kernel void through_memory(global uint *links, global const int *a) { *(global int *)links[get_global_id(0)] = a[0]; }
kernel void counts(global const uint *data, global uint *own, global uint *all) {
  atomic_inc(&own[data[get_global_id(0)] & 7]);
  if (data[0]) atomic_add(all, 1);
}
kernel void scatter(global const int *from, global int *to, int offset) {
  int i = get_global_id(0);
  to[i + offset] = from[i];
}
kernel void mirror(global const int *in, global int *out) {
  out[get_global_id(0)] = in[get_global_size(0) - 1 - get_global_id(0)];
}
kernel void says(global const int *in, global int *out) {
  if (in[get_global_id(0)] == 5) printf("%d\\n", (int)get_global_id(0));
}
"""
WRITTEN = {
    **{"add": (2,), "either": (0, 1), "walks": (0,), "through_memory": None, "counts": (1, 2), "scatter": (1,)},
    **{"mirror": (1,), "says": ()},
}


def test_arguments_that_are_written_through():
    made = from_llvm.kernels(POINTERS, chips.find("hd5870"), "pointers.cl").kernels
    assert {name: made[name].written for name in WRITTEN} == WRITTEN
    again = from_llvm.kernels(POINTERS, chips.find("hd5870"), "pointers.cl").kernels  # from the cache
    assert {name: again[name].written for name in WRITTEN} == WRITTEN


def run(name, *args):
    device = hw.device("hd5870")
    device.build(POINTERS, "pointers.cl").kernels[name].prepare((1024,), (64,), check=True)(args, None, None).wait()


def test_reads_are_kept_of_what_is_written(capfd):
    """A buffer that is only read through one argument may be written through another."""
    one, other = np.arange(1024, dtype=np.int32), np.zeros(1024, np.int32)
    run("mirror", one, other)
    assert (other == one[::-1]).all()
    with pytest.raises(hw.KernelFault, match="data race"):
        run("mirror", one, one)
    which = one % 2
    run("either", one.copy(), other, which, one)
    with pytest.raises(hw.KernelFault, match="data race"):
        run("either", one, other, which, one)
    run("says", np.arange(1024, dtype=np.int32), other)
    assert capfd.readouterr().out == "5\n"


def test_a_store_that_ends_up_in_what_is_only_read():
    """A buffer lies before the other in the chip's memory."""
    one, other = np.zeros(4096, np.int32), np.zeros(4096, np.int32)
    run("scatter", one, other, 3072)
    with pytest.raises(
        hw.KernelFault, match=r"work-item \(0\) of scatter writes 4 bytes at byte \d+ of `const int \*from`"
    ):
        run("scatter", one, other, -2048)
