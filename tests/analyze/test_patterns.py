"""Cache lines and address units' cycles of accesses whose addresses the launch tells."""

import numpy as np
import pytest

import headwater
from headwater.analyze.patterns import Pattern, address_cycles, pattern
from headwater.emulate.watch.trace import Recording, read
from headwater.emulate.watch.trace_format import LINEAR, UNIFORM

ALL = np.ones((1, 64), bool)


def analyzed(text, device="vega64", **options):
    return headwater.analyze(text, device=device, **options)[0]


def accesses(text, device="vega64", **options):
    steps = analyzed(text, device, **options).code.steps
    return [s.pattern and Pattern(*s.pattern) for s in steps if s.space == "memory"]


# RRZE-HPC, gpu-benches, gpu-strides: mean cycles of a wavefront's loads of neighbours this far apart, from each fourth
# element on.
FLOATS = {2: 32.2, 3: 16.2, 4: 64.4, 5: 28.2, 9: 28.2, 14: 32.2, 15: 48.4, 16: 64.4, 17: 48.4, 19: 28.2, 31: 48.4}
DOUBLES = {1: 16.2, 4: 32.2, 5: 16.2, 8: 64.4, 10: 24.2, 11: 32.2, 13: 24.2, 16: 64.4, 25: 16.2, 30: 48.4, 31: 56.4}


@pytest.mark.parametrize(
    ("nbytes", "stride", "cycles"), [*((4, *one) for one in FLOATS.items()), *((8, *one) for one in DOUBLES.items())]
)
def test_strides_as_measured_on_mi210(nbytes, stride, cycles):
    at = (np.arange(64) * stride + np.arange(0, 32, 4)[:, None]).astype(np.uint32) * np.uint32(nbytes)
    assert address_cycles(at, np.ones(at.shape, bool), nbytes).mean() == pytest.approx(cycles, rel=0.02)


@pytest.mark.parametrize(
    ("width", "nbytes", "cycles"), [(2, 4, 48.4), (4, 4, 15.0), (8, 4, 8.06), (1, 8, 48.4), (2, 8, 24.2), (8, 8, 16.2)]
)
def test_blocks_as_measured_on_mi210(width, nbytes, cycles):
    lane = np.arange(64)
    at = lane % width + (lane // width % 32 + 1) * 4098 + np.arange(0, 32, 4)[:, None]
    at = at.astype(np.uint32) * np.uint32(nbytes)
    assert address_cycles(at, np.ones(at.shape, bool), nbytes).mean() == pytest.approx(cycles, rel=0.02)


@pytest.mark.parametrize("kind", ["uint", "ulong", "uint4"])
def test_traces_count_address_cycles_alike(kind, tmp_path):
    text = f"""kernel void k(global const int *order, global const {kind} *in, global {kind} *out) {{
      int i = get_global_id(0);
      if (i % 7) out[i] = in[order[i]];
    }}"""
    rng = np.random.default_rng(7)
    words, dtype = {"uint": (1, np.uint32), "ulong": (2, np.uint64), "uint4": (4, np.uint32)}[kind]
    runs = np.arange(64) // 4 * 36 + np.arange(64) % 4
    for order in (rng.integers(0, 4096, 64), rng.integers(0, 40, 64), np.arange(64) * 17, runs):
        recording = Recording(tmp_path / "one.trace")
        program = headwater.device("mi250x").build(text, "gather.cl")
        arguments = (order.astype(np.int32), np.zeros((4096, 4), dtype), np.zeros((64, 4), dtype))
        program.kernels["k"].watched((64,), (64,), (), recording)(arguments, None, None).wait()
        (wave,) = read(recording.path)
        (found,) = wave.memory["cycles"][wave.memory["site"] & (LINEAR | UNIFORM) == 0]
        active = (np.arange(64) % 7 != 0)[None]
        assert found == address_cycles((order * 4 * words).astype(np.uint32)[None], active, 4 * words)[0]


def test_lines_are_counted_lane_by_lane():
    rng = np.random.default_rng(3)
    for _ in range(50):
        at = rng.integers(0, 4096, (3, 64)).astype(np.uint32) * np.uint32(4)
        active = rng.random((3, 64)) < 0.5
        found = pattern(at, active, 8)
        counts = []
        for row in range(3):
            lines = {(int(a) + byte) // 64 for a, on in zip(at[row], active[row], strict=True) if on for byte in (0, 7)}
            counts.append(len(lines))
        assert found.lines == pytest.approx(np.mean(counts))
    assert pattern(at, np.zeros((3, 64), bool), 4) is None


@pytest.mark.parametrize("device", ["hd7970", "r9-290x", "rx480", "vega64", "mi100", "mi250x"])
def test_what_kernels_access(device):
    text = """kernel void k(global const float *a, global const int *order, global float *c, int w) {
      int i = get_global_id(0);
      c[i] = a[i] + a[16 * i] + a[i / 64 * 64] + a[order[i]] + a[i % 64 * w];
    }"""
    found = accesses(text, device, size=4096, arguments={"w": 4})
    lines = sorted(one.lines for one in found if one is not None)
    # In a row: c, a, order; all at one place; 16 and 64 floats apart.
    assert lines == [1, 4, 4, 4, 16, 64]
    assert found.count(None) == 1
    unknown = accesses(text, device, size=4096)
    assert unknown.count(None) == 2


def test_strided_access_costs_a_cycle_for_each_line():
    text = """kernel void k(global const float *a, global float *c, int stride) {
      c[get_global_id(0)] = a[get_global_id(0) * stride];
    }"""
    near, far = (analyzed(text, "hd7970", size=1 << 16, arguments={"stride": n}) for n in (1, 32))
    store = 16
    assert (near.work.fetch_cycles, far.work.fetch_cycles) == (4 + store, 64 + store)
    assert near.metric("line_use").value == 1
    assert far.metric("line_use").value == pytest.approx(8 / 68)
    (advice,) = [one for one in far.advice if one.name == "strides"]
    assert "the load in line 2 touches 64 cache lines of 64 bytes a wavefront, where 4 would" in advice.because
    assert advice.gain == pytest.approx(80 / 20)
    assert not [one for one in near.advice if one.name == "strides"]
    assert "all addresses follow from the launch" in far.assumptions


def test_the_first_iteration_stands_for_loops():
    text = """kernel void k(global const float *a, global float *c, int w) {
      float s = 0;
      for (int i = 0; i < w; i++) s += a[get_global_id(0) * w + i];
      c[get_global_id(0)] = s;
    }"""
    (loop,) = analyzed(text, size=4096, arguments={"w": 100}).code.loops
    assert loop.trip == 100
    assert max(one.lines for one in accesses(text, size=4096, arguments={"w": 100}) if one) == 64


def test_lanes_with_one_address_load_it_once():
    text = """kernel void k(global const float *a, global float *c) {
      int i = get_global_id(0);
      c[i] = a[i / 64 * 64] + a[i / 2];
    }"""
    assert analyzed(text, size=4096).work.read_bytes == pytest.approx(4 / 64 + 4 / 2)


def test_a_lane_s_number_is_known():
    """By v_mbcnt, which sub-groups' functions use."""
    text = """kernel void k(global int *a) {
      if (get_sub_group_local_id() == 0) a[get_global_id(0)] = 1;
    }"""
    analysis = analyzed(text, size=4096, options="-cl-std=CL2.0")
    assert analysis.work.write_bytes == pytest.approx(4 / 64)
