"""What `--check` finds on VLIW chips: the same as on a GCN one, with the source's lines."""

import re
from contextlib import nullcontext

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.emulate.watch.hooks import watching
from headwater.emulate.watch.trace import Recording
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
    """The kinds and lines that a checked launch reports: which pair comes first is the order of instructions."""
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


def test_what_an_unchecked_launch_wrote(program):
    device = hw.device("hd5870")
    for first in ({}, {"watched": True}):
        empty, result = device.allocate(4096), np.zeros(1024, np.float32)
        with watching(lambda: Recording(None)) if first else nullcontext():
            program["copy"][(1024,), None](np.ones(1024, np.float32), empty, device=device)
        program["copy"][(1024,), None](empty, result, device=device, check=True)
        assert (result == 1).all()


BROOK = """
kernel void spread(float a<>, int where<>, out float b[]) {
  b[where] = a;
}
kernel void plus(float a<>, out float b<>) { b = a + 1.0f; }
kernel void other(float a[], out float b<>) {
  int i = instance().x;
  b = a[i ^ 1];
}
reduce void total(float a<>, reduce float s<>) { s += a; }
kernel void both(float3 a<>, out float3 b<>) { b = a + a; }
"""


@pytest.mark.parametrize("chip", ["hd4870", "hd2600-xt"])
def test_brook_kernels_that_draw(tmp_path, monkeypatch, chip):
    (tmp_path / "draw.br").write_text(BROOK)
    program, a = hw.compile(str(tmp_path / "draw.br"), device=chip), np.random.default_rng(1).random(512, np.float32)
    places = np.arange(512, dtype=np.int32)
    monkeypatch.setenv("HEADWATER_CHECK", "1")
    assert (program.plus(a) == a + 1).all()
    assert np.isclose(program.total(np.ones((300, 500), np.float32)), 150000)
    assert (program.both(np.ones((300, 3), np.float32)) == 2).all()
    assert (program.spread(a, places[::-1].copy(), out=np.zeros(512, np.float32)) == a[::-1]).all()
    program.spread(np.ones(512, np.float32), places // 2, out=np.zeros(512, np.float32))  # the same value
    with pytest.raises(hw.KernelFault) as caught:
        program.spread(a, places // 2, out=np.zeros(512, np.float32))
    text = str(caught.value)
    assert "draw.br:3: error: data race: work-item (1, 0) of spread" in text
    assert "writes 4 bytes at byte 0 of `out float b[]`, which work-item (0, 0) writes too" in text
    assert "b[where] = a;" in text
    assert "hint: pixels are drawn in any order" in text
    monkeypatch.setenv("BRT_PERMIT_READ_WRITE_ALIASING", "1")
    own = a.copy()
    program.plus(own, out=own)
    assert (own == a + 1).all()
    with pytest.raises(hw.KernelFault, match="data race"):
        program.other(own, out=own)


DRAWN = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_literal l0, 0.5, 0.5, 0.5, 0.5
ftoi r0, vWinCoord0.xyyy
mov g[r0.{column}], vWinCoord0.xxxx
mov o0, l0
end
"""
COMPUTED = """il_cs_2_0
dcl_num_thread_per_group 256
dcl_raw_uav_id(0)
dcl_lds_id(0) 1024
dcl_literal l0, 4, 2, 255, 0
imul r0.x, vTidInGrp0.x, l0.x
lds_store_id(0) r0.x, vTidInGrp0.x
{fence}
ixor r1.x, vTidInGrp0.x, l0.z
imul r1.x, r1.x, l0.x
lds_load_id(0) r2.x, r1.x
imul r3.x, vAbsTid0.x, l0.x
uav_raw_store_id(0) mem.x___, r3.x, r2.x
end
"""


@pytest.mark.parametrize("chip", ["hd4870", "hd5870", "hd6970"])
def test_il_pixel_shaders(tmp_path, chip):
    path, held, drawn = tmp_path / "drawn.il", np.zeros((64, 4), np.float32), np.zeros((16, 16, 4), np.float32)
    path.write_text(DRAWN.format(column="x"))  # pixels of a column write the same
    hw.compile(str(path), device=chip).main[(16, 16), None](held, drawn, check=True)
    assert (drawn == 0.5).all()
    path.write_text(DRAWN.format(column="y"))
    with pytest.raises(hw.KernelFault, match=r"drawn\.il:6: error: data race: .* of resource g"):
        hw.compile(str(path), device=chip).main[(16, 16), None](held, drawn, check=True)


@pytest.mark.parametrize("chip", ["hd5870", "hd6970"])
def test_il_compute_shaders(tmp_path, chip):
    path, out = tmp_path / "computed.il", np.zeros(512, np.uint32)
    path.write_text(COMPUTED.format(fence="fence_threads_lds"))
    hw.compile(str(path), device=chip).main[(512,), (256,)](out, check=True)
    assert (out.reshape(2, 256) == np.arange(255, -1, -1)).all()
    path.write_text(COMPUTED.format(fence=""))
    with pytest.raises(hw.KernelFault) as caught:
        hw.compile(str(path), device=chip).main[(512,), (256,)](out, check=True)
    assert "of main reads 4 bytes at byte" in str(caught.value)
    assert "of local memory" in str(caught.value)


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
