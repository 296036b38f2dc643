"""Traces of small launches on VLIW chips, whose accesses can be counted by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

import headwater as hw
from headwater.emulate.recorded import statistics
from headwater.emulate.vliw.clause import PC_CF_SHIFT
from headwater.emulate.vliw.raster import NO_QUAD, rasterised
from headwater.emulate.vliw.watch import tiled_bytes
from headwater.emulate.watch.hooks import watching
from headwater.emulate.watch.stats import is_lds, is_vector
from headwater.emulate.watch.trace import Recording, read
from headwater.emulate.watch.trace_format import LINEAR, LIST, UNIFORM
from headwater.runtime.vliw.launch import ShaderLaunch, Sizes

SOURCE = """
kernel void add(global const float *a, global const float *b, global float *c) {
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}
kernel void strided(global const int *in, global int *out) {
  size_t i = get_global_id(0);
  out[i] = in[i * 16];
}
kernel void divergent(global volatile int *out) {
  int i = get_global_id(0), sum = 0;
  for (int k = 0; k < (i & 3) * 8; k++) sum = sum * 3 + out[i];
  out[i] = sum;
}
kernel void update(global int *out) { atomic_add(out, 1); }
"""
LOCAL = """
kernel void conflicts(global int *out, int step) {
  local int tile[64 * 32];
  int i = get_local_id(0);
  tile[i * step] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = tile[((63 - i) * step)];
}
kernel void turns(global int *out, int count) {
  local int tile[256];
  int i = get_local_id(0);
  for (int k = 0; k < count; k++) {
    tile[i] = out[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[255 - i];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
"""
PICTURE = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
sample_resource(0)_sampler(0) r0, vWinCoord0.xy00
add o0, r0, r0
ret_dyn
end
"""
DEVICES = ("hd3870", "hd4870", "hd5870", "hd6970")


@pytest.fixture(scope="module", params=DEVICES)
def program(request):
    return hw.device(request.param).build(SOURCE, "traced.cl")


def record(program, kernel, sizes, args, path=None):
    recordings = []

    def make():
        recordings.append(Recording(path))
        return recordings[-1]

    with watching(make):
        program.kernels[kernel].prepare(*sizes)(args, None, None).wait()
    (recording,) = recordings
    return recording


def accesses(recording, wanted):
    return [a for row in statistics(recording).instructions for a in row.did.accesses if wanted(a)]


def test_consecutive_floats_touch_four_lines(program):
    a, b, c = np.ones(256, np.float32), np.ones(256, np.float32), np.zeros(256, np.float32)
    recording = record(program, "add", ((256,), (64,)), [a, b, c])
    found = accesses(recording, is_vector)
    assert (c == 2).all()
    assert [x.writes for x in found] == [False, False, True]
    assert all((x.requests, x.lanes, x.lines, x.used_bytes) == (4, 256, 16, 1024) for x in found)
    units = [site.unit for site in recording.tables.sites]
    assert units[:2] == ["vertex", "vertex"]
    assert units[2] in ("rat", "memory")


def test_stride_of_a_line_touches_a_line_for_each_lane(program):
    recording = record(program, "strided", ((128,), (64,)), [np.zeros(2048, np.int32), np.zeros(128, np.int32)])
    load, store = accesses(recording, is_vector)
    assert (load.requests, load.lines, load.moved_bytes, load.used_bytes) == (2, 128, 8192, 512)
    assert store.lines == 8


def test_lanes_and_divergence(program):
    recording = record(program, "divergent", ((64,), (64,)), [np.ones(64, np.int32)])
    found = statistics(recording)
    assert found.wavefronts == 1
    # Lanes stay in the loop for 0, 8, 16 or 24 turns: 48, 32 and 16 of 64 are in it for 8 turns each.
    (load,) = [a for a in accesses(recording, is_vector) if not a.writes]
    assert load.lanes == 8 * (48 + 32 + 16)
    assert 0.4 < found.total.utilisation < 0.9
    assert found.total.divergence > 0.5
    assert {line for _, line in found.lines} >= {12, 13}


def test_all_that_ran_is_counted(program):
    recording = record(program, "add", ((256,), (64,)), [np.ones(256, np.float32) for _ in range(3)])
    found = statistics(recording)
    assert found.total.count == recording.launch.wave_instructions
    assert sum(row.count for row in found.classes.values()) == found.total.count
    width = recording.launch.chip.compute.vliw_width
    assert found.total.slots == width * found.classes["ALU group"].count
    assert 0 < found.total.packing <= 1
    assert found.clauses["fetch clause"] == 4
    text = found.as_json()
    assert text["total"]["packing"] == round(found.total.packing, 6)
    assert text["instructions"][0]["place"] == "00.0"


def test_atomic_updates_are_told(program):
    if program.device.name in ("hd3870", "hd4870"):
        pytest.skip("no atomic operations")
    out = np.zeros(1, np.int32)
    (access,) = accesses(record(program, "update", ((128,), (64,)), [out]), is_vector)
    assert out[0] == 128
    assert (access.atomic, access.writes, access.lanes, access.lines) == (True, True, 128, 2)


@pytest.mark.parametrize("device", ["hd5870", "hd6970"])
@pytest.mark.parametrize(("step", "cycles"), [(1, 2), (2, 4), (3, 2), (32, 64)])
def test_bank_conflicts(device, step, cycles):
    program = hw.device(device).build(LOCAL, "local.cl")
    recording = record(program, "conflicts", ((64,), (64,)), [np.zeros(64, np.int32), np.int32(step)])
    store, load = accesses(recording, is_lds)
    assert (store.cycles, load.cycles) == (cycles, cycles)
    assert store.least_cycles == 2


def test_sixteen_banks():
    """A chip with half the banks takes twice the cycles."""
    program = hw.device("hd5450").build(LOCAL, "local.cl")
    recording = record(program, "conflicts", ((64,), (64,)), [np.zeros(64, np.int32), np.int32(1)])
    assert [(a.cycles, a.least_cycles) for a in accesses(recording, is_lds)] == [(4, 4), (4, 4)]


def test_wavefronts_that_take_turns(tmp_path):
    """Wavefronts of a group stop at barriers, and each has a path of its own."""
    program = hw.device("hd5870").build(LOCAL, "local.cl")
    out = np.arange(512, dtype=np.int32)
    record(program, "turns", ((512,), (256,)), [out, np.int32(3)], tmp_path / "t")
    waves = list(read(tmp_path / "t"))
    assert [(w.group, w.index) for w in waves] == [(g, n) for g in range(2) for n in range(4)]
    assert len({w.path.tobytes() for w in waves}) == 1
    turns = [n for n, site in enumerate(waves[0].sites) if site.unit == "lds" and site.writes]
    assert all(sum(int(r["repeat"]) for r in w.of_site(turns[0])) == 3 for w in waves)


def test_a_file_holds_what_happened(program, tmp_path):
    path = tmp_path / "add.trace"
    recording = record(program, "add", ((256,), (128,)), [np.ones(256, np.float32) for _ in range(3)], path)
    trace = read(path)
    header = trace.header
    assert trace.kernel == "add"
    assert (header["machine"], header["lanes"], header["wavefront_size"]) == ("vliw", 64, 64)
    assert header["target"] == recording.launch.chip.target
    assert header["mode"] == "compute"
    assert [one["nbytes"] for one in header["allocations"]] == [1024, 1024, 1024]
    waves = list(trace)
    assert [(w.group, w.index) for w in waves] == (
        [(n, 0) for n in range(4)] if header["waves_per_group"] == 1 else [(0, 0), (0, 1), (1, 0), (1, 1)]
    )
    firsts = [int(w.of_site(0)["first"][0]) for w in waves]
    assert [f - firsts[0] for f in firsts] == [0, 4, 8, 12]
    one = waves[0].of_site(0)[0]
    # Each quad of lanes is in one line.
    assert (one["active"], one["count"], one["repeat"], one["cycles"]) == (64, 4, 1, 16)
    assert one["site"] & LINEAR
    assert not one["site"] & (LIST | UNIFORM)
    members = [at >> PC_CF_SHIFT for segment in trace.segments for at in segment.addresses]
    assert sorted(members) == list(range(len(recording.launch.machine.shader.cf)))
    for segment in trace.segments:
        inside = {at >> PC_CF_SHIFT for at in segment.addresses}
        assert {trace.sites[n].address >> PC_CF_SHIFT for n in segment.sites} <= inside


def test_addresses_are_the_same_in_every_run(program, tmp_path):
    texts = []
    for n in range(2):
        path = tmp_path / f"{n}.trace"
        keep = np.zeros(1000 * n + 1)  # moves what is allocated next
        record(program, "strided", ((512,), (64,)), [np.zeros(8192, np.int32), np.zeros(512, np.int32)], path)
        texts.append([(w.group, w.memory.tobytes(), w.path.tobytes(), w.lines.tobytes()) for w in read(path)])
        del keep
    assert texts[0] == texts[1]


@pytest.mark.parametrize("device", DEVICES)
def test_pictures_lie_in_tiles(device, tmp_path):
    """Wavefronts are blocks of 8 × 8 pixels, and of 16-byte elements such a block is 16 lines, one for each quad. Parts
    of blocks are put together."""
    source = tmp_path / "p.il"
    source.write_text(PICTURE)
    program = hw.compile(source, device=device)
    picture = np.random.default_rng(1).random((20, 40, 4), np.float32)
    out = np.zeros_like(picture)
    recordings = []
    with watching(lambda: recordings.append(Recording(tmp_path / "t")) or recordings[-1]):
        program.main[(40, 20), None](i0=picture, o0=out)
    assert (out == picture + picture).all()
    trace = read(tmp_path / "t")
    assert trace.header["local_size"] == [8, 8, 1]
    texture, target = trace.header["resources"]
    assert (texture["name"], texture["layout"], texture["pitch"], texture["element_bytes"]) == (
        "fetch 0", "tiled", 40, 16,
    )  # fmt: skip
    assert [site.unit for site in trace.sites] == ["texture", "export"]
    waves = list(trace)
    assert len(waves) == 13
    for site, resource in ((0, texture), (1, target)):
        found = [w.of_site(site)[0] for w in waves]
        assert [int(r["first"]) - resource["address"] // 64 for r in found[:10]] == [16 * n for n in range(10)]
        assert [int(r["count"]) for r in found] == [16] * 12 + [8]
        assert [int(r["active"]) for r in found] == [64] * 12 + [32]
        assert [int(r["cycles"]) for r in found] == [16] * 12 + [8]  # a cycle for each quad
    statistic = statistics(recordings[0])
    assert statistic.mode == "pixel"
    assert {line for _, line in statistic.lines} == {5, 6}


@pytest.mark.parametrize(
    ("width", "height", "wavefronts"),
    [(40, 24, 15), (40, 20, 13), (1000, 1, 32), (64, 2, 2), (100, 2, 4), (1, 64, 2), (3, 3, 1), (17, 9, 3), (8, 7, 1)],
)
def test_the_rasteriser_fills_wavefronts_with_quads(width, height, wavefronts):
    quads, turns = rasterised(width, height)
    assert quads.shape == (wavefronts, 16)
    made = quads[quads != NO_QUAD]
    assert len(made) == len(set(made.tolist())) == -(-width // 2) * -(-height // 2)
    assert (quads[turns[:-1]] != NO_QUAD).all()  # only the last one is not full
    assert sorted(turns.tolist()) == list(range(wavefronts))
    # A domain of height 2 is made of 32 × 2 (Technical Overview, ATI Stream Computing, 2.4.2).
    if (width, height) == (64, 2):
        assert (quads == [[16 * wavefront + x for x in range(16)] for wavefront in range(2)]).all()


def test_blocks_follow_a_hierarchical_z():
    quads, turns = rasterised(32, 32)
    corners = [(int(q) & 0xFFFF, int(q) >> 16) for q in quads[turns, 0]]
    assert corners[:8] == [(0, 0), (4, 0), (0, 4), (4, 4), (8, 0), (12, 0), (8, 4), (12, 4)]
    assert [(int(q) & 0xFFFF, int(q) >> 16) for q in quads[0, :6]] == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0)]


def test_faults_name_the_pixel():
    """Of a recorded launch, too, whose lanes are quads."""
    sizes = Sizes((20, 20, 1), (8, 8, 1), (100, 200, 0), 2)

    def place(group, lane):
        fake = SimpleNamespace(sizes=sizes, wavefronts=rasterised(20, 20))
        return ShaderLaunch.work_item(fake, group, lane)

    assert place((0, 0, 0), 3) == (101, 201, 0)
    assert place((1, 0, 0), 4) == (110, 200, 0)
    assert place((1, 1, 0), 0) == (
        116,
        200,
        0,
    )  # the first one that is put together: of the block behind two whole ones


def test_bytes_of_tiles():
    assert tiled_bytes(40, 20, 1, 16) == 40 * 24 * 16
    assert tiled_bytes(9, 8, 3, 4) == 16 * 8 * 3 * 4
