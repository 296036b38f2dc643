"""Traces of small launches, whose accesses can be counted by hand."""

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.emulate.recorded import statistics
from headwater.emulate.watch.hooks import watching
from headwater.emulate.watch.stats import is_lds, is_vector
from headwater.emulate.watch.trace import FIRST_ADDRESS, Recording, read
from headwater.emulate.watch.trace_format import CHUNK, LINEAR, LIST, MAGIC, UNIFORM
from headwater.timing.replay import Replayer
from headwater.timing.simulate import machine_of

SOURCE = """
kernel void add(global const float *a, global const float *b, global float *c) {
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}
kernel void strided(global const int *in, global int *out) {
  size_t i = get_global_id(0);
  out[i] = in[i * 16];
}
kernel void conflicts(global int *out, int step) {
  local int tile[64 * 32];
  int i = get_local_id(0);
  tile[i * step] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = tile[((63 - i) * step)];
}
kernel void divergent(global volatile int *out) {
  int i = get_global_id(0), sum = 0;
  for (int k = 0; k < (i & 3) * 8; k++) sum = sum * 3 + out[i];
  out[i] = sum;
}
kernel void own_places(global const int *at, global int *out, local int *tile) {
  int i = get_local_id(0);
  tile[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (at[i] >= 0) out[i] = tile[at[i]];
}
kernel void any_byte(global const int *at, global const char *data, global int *out) {
  int i = get_local_id(0);
  if (at[i] >= 0) out[i] = *(global const int *)(data + at[i]);
}
"""


@pytest.fixture(scope="module")
def program():
    return hw.device("vega64").build(SOURCE, "traced.cl")


def record(program, kernel, global_size, local_size, args, path=None):
    recording = Recording(path)
    program.kernels[kernel].watched(global_size, local_size, (), recording)(args, None, None).wait()
    return recording


def accesses(recording, wanted):
    return [a for row in statistics(recording).instructions for a in row.did.accesses if wanted(a)]


def test_consecutive_floats_touch_four_lines(program):
    a, b, c = np.ones(256, np.float32), np.ones(256, np.float32), np.zeros(256, np.float32)
    found = accesses(record(program, "add", (256,), (64,), [a, b, c]), is_vector)
    assert (c == 2).all()
    assert [x.writes for x in found] == [False, False, True]
    assert all((x.requests, x.lanes, x.lines, x.used_bytes) == (4, 256, 16, 1024) for x in found)


def test_stride_of_a_line_touches_a_line_for_each_lane(program):
    recording = record(program, "strided", (128,), (64,), [np.zeros(2048, np.int32), np.zeros(128, np.int32)])
    load, store = accesses(recording, is_vector)
    assert (load.requests, load.lines, load.moved_bytes, load.used_bytes) == (2, 128, 8192, 512)
    assert store.lines == 8


@pytest.mark.parametrize(("step", "cycles"), [(1, 2), (2, 4), (3, 2), (16, 32), (32, 64)])
def test_bank_conflicts(program, step, cycles):
    """32 banks of a dword; each half of a wavefront takes as many cycles as its fullest bank has dwords."""
    recording = record(program, "conflicts", (64,), (64,), [np.zeros(64, np.int32), np.int32(step)])
    store, load = accesses(recording, is_lds)
    assert (store.cycles, load.cycles) == (cycles, cycles)
    assert store.least_cycles == min(cycles, 2)


@pytest.mark.parametrize(("words", "least"), [(64, 0), (64, -60), (256, 0), (16384, 0), (16384, -9000)])
def test_bank_conflicts_of_any_addresses(program, words, least):
    """Lanes that want the same dword share it; ``least`` below 0: some lanes want none."""
    for seed in range(5):
        at = np.random.default_rng(seed).integers(least, words, 64).astype(np.int32)
        args = [at, np.zeros(64, np.int32), hw.Local(4 * words)]
        load = accesses(record(program, "own_places", (64,), (64,), args), is_lds)[-1]
        halves = [np.unique(half[half >= 0]) for half in (at[:32], at[32:])]
        assert load.cycles == sum(np.bincount(half % 32, minlength=32).max() for half in halves)


def test_lanes_and_divergence(program):
    recording = record(program, "divergent", (64,), (64,), [np.ones(64, np.int32)])
    found = statistics(recording)
    assert found.wavefronts == 1
    # Lanes stay in the loop for 0, 8, 16 or 24 turns: 48, 32 and 16 of 64 are in it for 8 turns each.
    (load,) = [a for a in accesses(recording, is_vector) if not a.writes]
    assert load.lanes == 8 * (48 + 32 + 16)
    assert 0.4 < found.total.utilisation < 0.9
    assert found.total.divergence > 0.5


def test_instructions_are_those_that_ran(program):
    launch = program.kernels["add"].watched((256,), (64,), (), Recording())
    launch([np.ones(256, np.float32) for _ in range(3)], None, None).wait()
    found = statistics(launch.watcher)
    assert found.total.count == launch.wave_instructions
    assert sum(row.count for row in found.classes.values()) == found.total.count
    assert found.as_json()["total"]["lines"] == 48
    assert {line for _, line in found.lines} >= {4}


def test_a_file_holds_what_happened(program, tmp_path):
    path = tmp_path / "add.trace"
    record(program, "add", (256,), (128,), [np.ones(256, np.float32) for _ in range(3)], path)
    trace = read(path)
    assert trace.kernel == "add"
    assert trace.header["global_size"] == [256, 1, 1]
    waves = list(trace)
    assert [(w.group, w.index) for w in waves] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    loads = [n for n, site in enumerate(trace.sites) if site.kind == "global" and not site.writes]
    firsts = [int(w.of_site(loads[0])["first"][0]) for w in waves]
    assert [f - firsts[0] for f in firsts] == [0, 4, 8, 12]
    one = waves[0].of_site(loads[0])[0]
    assert (one["active"], one["count"], one["repeat"]) == (64, 4, 1)
    assert one["site"] & LINEAR
    assert not one["site"] & (LIST | UNIFORM)
    assert [int(n) for n in waves[0].path["active"]] == [64] * len(waves[0].path)


def test_wavefronts_alike_are_one_chunk(program, tmp_path):
    """Distances are recorded once; a wavefront that does something else gets records of its own."""
    count = 64 * 64
    arrays = [np.zeros(count, np.float32) for _ in range(3)]
    record(program, "add", (count,), (256,), arrays, tmp_path / "add")
    trace = read(tmp_path / "add")
    waves = list(trace)
    assert [(w.group, w.index) for w in waves] == [(n // 4, n % 4) for n in range(64)]
    (store,) = [n for n, site in enumerate(trace.sites) if site.writes]
    firsts = [int(w.of_site(store)["first"][0]) for w in waves]
    assert firsts == [firsts[0] + 4 * n for n in range(64)]
    assert (tmp_path / "add").stat().st_size < 64 * 128  # 64 chunks would have more than 200 bytes each
    out = np.zeros(count, np.int32)
    recording = record(program, "strided", (count,), (256,), [np.zeros(16 * count, np.int32), out], tmp_path / "far")
    found = [w.memory[w.memory["count"] == 64] for w in read(tmp_path / "far")]
    assert sum(int(f["count"].sum()) for f in found) == accesses(recording, is_vector)[0].lines == count


def test_addresses_are_the_same_in_every_run(program, tmp_path):
    texts = []
    for n in range(2):
        path = tmp_path / f"{n}.trace"
        keep = np.zeros(1000 * n + 1)  # moves what is allocated next
        record(program, "strided", (512,), (64,), [np.zeros(8192, np.int32), np.zeros(512, np.int32)], path)
        texts.append([(w.group, w.memory.tobytes(), w.path.tobytes(), w.lines.tobytes()) for w in read(path)])
        del keep
    assert texts[0] == texts[1]


def test_lists_tell_lines_relative_to_the_first(program, tmp_path):
    path = tmp_path / "strided.trace"
    record(program, "strided", (64,), (64,), [np.zeros(1 << 16, np.int32), np.zeros(64, np.int32)], path)
    (wave,) = read(path)
    assert len(wave.lines) == 0  # lines of a stride of one line follow each other
    source = "kernel void far(global const int *in, global int *out) { int i = get_global_id(0); out[i] = in[i * 64]; }"
    made = hw.device("vega64").build(source, "far.cl")
    record(made, "far", (64,), (64,), [np.zeros(1 << 12, np.int32), np.zeros(64, np.int32)], path)
    (wave,) = read(path)
    assert wave.lines.tolist() == list(range(0, 256, 4))


@pytest.mark.parametrize(
    ("most", "step", "least"),
    [(1 << 20, 4, 0), (1 << 20, 1, 0), (4096, 1, 0), (1 << 20, 4, -500000), (1 << 24, 4, 0), (1 << 24, 1, -(1 << 23))],
)
def test_lists_have_each_line_once_in_the_order_of_lanes(program, tmp_path, most, step, least):
    data = np.zeros(max(most, 1 << 20) + 4, np.int8)  # of 4 MiB and more, lines do not fit 16 bits
    for seed in range(5):
        at = np.random.default_rng(seed).integers(least // step, most // step, 64).astype(np.int32) * step
        path = tmp_path / "trace"
        recording = record(program, "any_byte", (64,), (64,), [at, data, np.zeros(64, np.int32)], path)
        active = at[at >= 0]
        touched = dict.fromkeys(int(line) for x in active for line in (x // 64, (x + 3) // 64))
        (wave,) = read(path)
        loads = [n for n, x in enumerate(recording.tables.sites) if x.kind in ("global", "flat") and not x.writes]
        (found,) = wave.of_site(loads[1])
        (place,) = (a["address"] for a in read(path).header["allocations"] if "`const char *data`" in a["name"])
        assert (found["active"], found["count"]) == (len(active), len(touched))
        assert found["site"] & LIST
        assert (wave.lines + found["first"] - place // 64).astype(np.int64).tolist() == list(touched)
        chip, replayer = chips.find("vega64"), Replayer(read(path), machine_of(recording.launch))
        assert replayer.run(chip, replayer.table(chip)).sums["load_lines"] == len(touched) + 4  # and those of `at`


@pytest.mark.parametrize("turns", [1, 510, 511, 512, 513, 100_000])
def test_what_is_run_often_in_a_row_is_one_record(tmp_path, turns):
    """Small numbers are told in one word of the file, large ones in two."""
    source = """
kernel void turn(global float *out, int n) {
  float x = 1;
  for (int i = 0; i < n; i++) x = x * 0.5f + 1;
  out[get_global_id(0)] = x;
}"""
    made, path = hw.device("vega64").build(source, "turn.cl", options="-cl-fast-relaxed-math"), tmp_path / "trace"
    recording = record(made, "turn", (128,), (64,), [np.zeros(128, np.float32), np.int32(turns)], path)
    waves = list(read(path))
    assert [w.group for w in waves] == [0, 1]
    for wave in waves:
        ran = np.bincount(wave.path["segment"], wave.path["repeat"], len(recording.tables.segments))
        assert (2 * ran).tolist() == recording.totals.segments[:, 0].tolist()
        assert (wave.path["active"] == 64).all()
    assert waves[0].path["repeat"].max() >= turns // 64
    chip, replayer = chips.find("vega64"), Replayer(read(path), machine_of(recording.launch))
    assert replayer.run(chip, replayer.table(chip)).sums["instructions"] == statistics(recording).total.count


LOOPS = """
kernel void loops(global int *out, int n, int m) {
  int i = get_global_id(0), x = 0;
  for (int k = 0; k < n; k++) {
    if (i + k & 1) x = x * 3 + k;
#pragma nounroll
    for (int j = 0; j < m; j++)
      if (x + j & 2) x = x * 5 + 1;
  }
  out[i] = x;
}"""


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
@pytest.mark.parametrize(("n", "m"), [(1, 700), (600, 1), (40, 30)])
def test_loops_of_several_segments_are_told_once(tmp_path, device, n, m):
    """Lanes do as the model here says, in the path that is read and in the replay of it."""
    made, path = hw.device(device).build(LOOPS, "loops.cl"), tmp_path / "trace"
    recording = Recording(path)
    out = np.zeros(128, np.int32)
    launch = made.kernels["loops"].prepare((128,), (64,)).watched(recording)
    launch([out, np.int32(n), np.int32(m)], None, None).wait()
    segments = len(recording.tables.segments)
    found, lanes = np.zeros(segments, np.int64), np.zeros(segments, np.int64)
    for wave in read(path):
        found += np.bincount(wave.path["segment"], wave.path["repeat"], segments).astype(np.int64)
        active = wave.path["repeat"] * wave.path["active"].astype(np.int64)
        lanes += np.bincount(wave.path["segment"], active, segments).astype(np.int64)
    assert found.tolist() == recording.totals.segments[:, 0].tolist()
    assert lanes.tolist() == recording.totals.segments[:, 1].tolist()
    assert found.max() >= 2 * n * m  # of each wavefront
    x = np.zeros(128, np.int64)
    for k in range(n):
        x = np.where(np.arange(128) + k & 1, x * 3 + k, x)
        for j in range(m):
            x = np.where(x + j & 2, x * 5 + 1, x)
        x &= 0xFFFFFFFF
    assert out.astype(np.uint32).tolist() == x.tolist()
    chip, replayer = chips.find(device), Replayer(read(path), machine_of(recording.launch))
    assert replayer.run(chip, replayer.table(chip)).sums["groups"] == 2
    assert path.stat().st_size < 20_000  # a word for each record would be more than 20 KiB


@pytest.mark.parametrize("words", [0, 9])
def test_a_loop_of_a_path_that_leads_nowhere_is_told(tmp_path, words):
    """A word that has itself run again, or what lies before the path."""
    path = tmp_path / "trace"
    made = hw.device("vega64").build(LOOPS, "loops.cl")
    recording = record(made, "loops", (64,), (64,), [np.zeros(64, np.int32), np.int32(40), np.int32(30)], path)
    data = bytearray(path.read_bytes())
    start = 16 + int.from_bytes(data[8:16], "little")
    (count,) = np.frombuffer(data, CHUNK.dtype, 1, start)["path"]
    path_words = np.frombuffer(data, np.uint32, count, start + CHUNK.size_bytes)
    (at,) = np.flatnonzero(path_words >> 16 & 127 == 127)[:1]
    path_words[at] = path_words[at] & 0xFFFF0000 | (words and int(at) + words)
    path.write_bytes(data)
    with pytest.raises(hw.UsageError, match="the trace is damaged"):
        list(read(path))
    chip, replayer = chips.find("vega64"), Replayer(read(path), machine_of(recording.launch))
    assert replayer.run(chip, replayer.table(chip)).sums["instructions"] < statistics(recording).total.count


def test_wavefronts_with_the_same_lists_are_one_chunk(tmp_path):
    """The lists of those alike are told once, and not for the one whose lines are others."""
    source = """
kernel void far(global const int *in, global int *out) {
  int i = get_global_id(0), step = get_group_id(0) == 40 ? 32 : 64;
  out[i] = in[i * step];
}"""
    made, groups, path = hw.device("vega64").build(source, "far.cl"), 64, tmp_path / "far.trace"
    args = [np.zeros(4096 * groups, np.int32), np.zeros(64 * groups, np.int32)]
    recording = record(made, "far", (64 * groups,), (64,), args, path)
    for wave in read(path):
        (load,) = wave.memory[wave.memory["count"] == 64]
        step = 2 if wave.group == 40 else 4
        assert int(load["first"]) == FIRST_ADDRESS // 64 + wave.group * 64 * step
        assert wave.lines.tolist() == list(range(0, 64 * step, step))
    assert path.stat().st_size < 64 * 200  # each list has 256 bytes
    chip, replayer = chips.find("vega64"), Replayer(read(path), machine_of(recording.launch))
    assert replayer.run(chip, replayer.table(chip)).sums["load_lines"] == 64 * groups


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_wavefronts_with_lists_of_their_own(tmp_path, device, threads, monkeypatch):
    """Near places and far ones, lists of other lengths, and now and then lanes that follow each other."""
    monkeypatch.setenv("HEADWATER_THREADS", threads)
    source = """
kernel void pick(global const int *near, global const int *far, global const int *in, global int *out) {
  int i = get_global_id(0);
  out[i] = in[near[i]] + in[far[i]];
}"""
    rng, groups, count = np.random.default_rng(8), 600, 1 << 21
    near = (rng.integers(0, 40, (groups, 64)) * 16 + 100 * np.arange(groups)[:, None]).astype(np.int32)
    far = rng.integers(0, count, (groups, 64)).astype(np.int32)
    far[rng.random(groups) < 0.05] = np.arange(64)
    near[rng.random(groups) < 0.05] = 16 * np.arange(64)
    data, out, path = rng.integers(0, 1 << 30, count).astype(np.int32), np.zeros(64 * groups, np.int32), tmp_path / "t"
    recording = Recording(path)
    launch = hw.device(device).build(source, "pick.cl").kernels["pick"].prepare((64 * groups,), (64,))
    launch.watched(recording)([near.reshape(-1), far.reshape(-1), data, out], None, None).wait()
    assert (out.reshape(groups, 64) == data[near] + data[far]).all()
    trace = read(path)
    place = trace.header["allocations"][2]["address"]
    total = 0
    for wave in trace:
        lists = []
        at = 0
        for access in wave.memory[wave.memory["site"] & LIST != 0]:
            lines = wave.lines[at : at + access["count"]] + access["first"]
            at += access["count"]
            lists.append(lines.tolist())
        wanted = [
            list(dict.fromkeys(((place + 4 * some[wave.group].astype(np.int64)) // 64).tolist()))
            for some in (near, far)
        ]
        total += sum(map(len, wanted))
        for lines in lists:
            assert lines in wanted
        assert len(lists) == sum(lines != list(range(lines[0], lines[0] + len(lines))) for lines in wanted)
    reads = [n for n, site in enumerate(trace.sites) if site.kind == "global" and site.nbytes == 4 and not site.writes]
    assert recording.totals.sites[reads, 2].sum() == total + 8 * groups  # and those of `near` and `far`
    chip, replayer = chips.find(device), Replayer(trace, machine_of(recording.launch))
    assert replayer.run(chip, replayer.table(chip)).sums["load_lines"] == total + 8 * groups
    assert path.stat().st_size < groups * (2 * 8 + 132 + 256 + 50)  # lists, and what begins them


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
@pytest.mark.parametrize("seed", range(3))
def test_lists_go_on_behind_wavefronts_between(tmp_path, device, seed):
    """Wavefronts with the lists of those before, with others, and with none but a path too long to be compared."""
    source = """
kernel void pick(global const int *in, global int *out, global const int *kinds, global int *more) {
  int kind = kinds[get_group_id(0) * 16], l = get_local_id(0);
  if (kind < 3) out[get_global_id(0)] = in[get_group_id(0) * 64 + l * 32 + (l == 63 ? kind * 16 : 0)];
  else
#pragma nounroll
    for (int k = 0; k < 100; k++)
      if (kinds[k * 16] & 1) out[get_global_id(0)] = k;
      else more[get_global_id(0)] = k;
}"""
    rng, groups, path = np.random.default_rng(seed), 300, tmp_path / "picked"
    kinds = rng.choice(4, groups, p=[0.5, 0.1, 0.1, 0.3]).astype(np.int32)
    data, out = np.arange(64 * groups + 4096, dtype=np.int32), np.zeros(64 * groups, np.int32)
    recording, lanes = Recording(path), np.arange(64)
    launch = hw.device(device).build(source, "pick.cl").kernels["pick"].prepare((64 * groups,), (64,))
    launch.watched(recording)([data, out, np.repeat(kinds, 16), np.zeros_like(out)], None, None).wait()
    trace = read(path)
    place = trace.header["allocations"][0]["address"]
    for wave, kind in zip(trace, kinds.tolist(), strict=True):
        lists = wave.memory[wave.memory["site"] & LIST != 0]
        assert len(lists) == (kind < 3)
        if kind < 3:
            wanted = (place + 4 * (64 * wave.group + 32 * lanes + (lanes == 63) * 16 * kind)) // 64
            assert (wave.lines + lists["first"][0]).tolist() == wanted.tolist()


@pytest.mark.parametrize("within", [1, 2, 3, 5])
def test_a_loop_goes_on_in_the_next_buffer(tmp_path, within):
    """Of two buffers one behind the other, the first of which ends in the middle of a loop."""
    source = """
kernel void on(global const int *a, global const int *b, global int *out, int turns) {
  int sum = 0;
#pragma nounroll
  for (int k = 0; k < turns; k++) sum += a[k * 64 + get_local_id(0)];
  out[get_global_id(0)] = sum;
}"""
    both, out = np.zeros(64 * 6, np.int32), np.zeros(64, np.int32)
    recording = Recording(tmp_path / "on")
    launch = hw.device("vega64").build(source, "on.cl").kernels["on"].prepare((64,), (64,))
    for turns in range(within, 7):
        launch.watched(recording)([both[: 64 * within], both[64 * within :], out, turns], None, None).wait()
        trace = read(tmp_path / "on")
        first, second = (one["address"] // 64 for one in trace.header["allocations"][:2])
        (wave,) = trace
        (site,) = (n for n, one in enumerate(trace.sites) if one.kind == "global" and not one.writes)
        lines = [int(r["first"]) + n * int(r["stride"]) for r in wave.of_site(site) for n in range(r["repeat"])]
        assert lines == [first + 4 * n if n < within else second + 4 * (n - within) for n in range(turns)]


@pytest.mark.parametrize("rest", [1, 2, 3, 5])
def test_wavefronts_go_on_in_the_next_buffer(tmp_path, rest):
    """The same of wavefronts, of which each tenth does otherwise."""
    source = """
kernel void on(global const int *a, global const int *b, global int *out, global const int *kinds) {
  int i = get_global_id(0);
  if (kinds[get_group_id(0) * 16]) out[i] = 1;
  else out[i] = a[i];
}"""
    groups, within = 60, 40 + rest
    kinds = (np.arange(groups) % 10 == 9).astype(np.int32)
    both, out = np.zeros(64 * groups, np.int32), np.zeros(64 * groups, np.int32)
    recording = Recording(tmp_path / "on")
    launch = hw.device("vega64").build(source, "on.cl").kernels["on"].prepare((64 * groups,), (64,))
    launch.watched(recording)([both[: 64 * within], both[64 * within :], out, np.repeat(kinds, 16)], None, None).wait()
    trace = read(tmp_path / "on")
    first, second = (one["address"] // 64 for one in trace.header["allocations"][:2])
    (site,) = (n for n, one in enumerate(trace.sites) if one.kind == "global" and not one.writes)
    for wave, other in zip(trace, kinds.tolist(), strict=True):
        n = wave.group
        wanted = [] if other else [first + 4 * n if n < within else second + 4 * (n - within)]
        assert wave.of_site(site)["first"].tolist() == wanted


def test_lists_that_end_too_early_are_told(tmp_path):
    source = (
        "kernel void pick(global const int *at, global int *out) { out[get_global_id(0)] = out[at[get_global_id(0)]]; }"
    )
    path, at = tmp_path / "trace", np.random.default_rng(2).integers(0, 4096, 4096).astype(np.int32)
    made = hw.device("vega64").build(source, "pick.cl")
    recording = record(made, "pick", (4096,), (64,), [at, np.zeros(4096, np.int32)], path)
    data = bytearray(path.read_bytes())
    start = 16 + int.from_bytes(data[8:16], "little")
    head = np.frombuffer(data, CHUNK.dtype, 1, start)[0]
    assert head["last"] == 3
    lines = start + CHUNK.size_bytes + 4 * int(head["path"]) + 16 * int(head["memory"])
    size = 4 * int(head["lines"])
    data[lines : lines + size] = np.full(size // 4, 255 << 24, np.uint32).tobytes()  # more lines in each than there are
    path.write_bytes(data)
    with pytest.raises(hw.UsageError, match="the trace is damaged"):
        list(read(path))
    chip, replayer = chips.find("vega64"), Replayer(read(path), machine_of(recording.launch))
    with pytest.raises(hw.UsageError, match="the trace"):
        replayer.run(chip, replayer.table(chip))


def test_wavefronts_that_do_otherwise_than_those_before(tmp_path):
    """Loops of other lengths and steps, and such that lead from one allocation to the next."""
    source = """
kernel void walk(global const int *in, global const int *more, global const int4 *ways, global int *out) {
  int4 way = ways[get_group_id(0)];
  int i = get_local_id(0), sum = more[0];
#pragma nounroll
  for (int k = 0; k < way.y; k++) sum += in[way.x + k * way.z + i];
  out[get_global_id(0)] = sum;
}"""
    rng, groups, count = np.random.default_rng(3), 96, 1 << 14
    ways = np.zeros((groups, 4), np.int32)
    for n in range(groups):
        repeats = n % 8 and rng.random() < 0.8  # mostly as before, but for where it begins
        step, turns = ways[n - 1, [2, 1]] if repeats else (16 * rng.integers(-3, 12), rng.integers(0, 40))
        ways[n] = 64 * n + 4096, turns, step, 0
    ways[40:44] = [[count - 512, 16, 64, 0]] * 4
    data, path = np.arange(2 * count, dtype=np.int32), tmp_path / "walk"
    out = np.zeros(64 * groups, np.int32)
    record(
        hw.device("vega64").build(source, "walk.cl"),
        "walk",
        (64 * groups,),
        (64,),
        [data[:count], data[count:], ways, out],
        path,
    )
    trace = read(path)
    first, second = (a["address"] // 64 for a in trace.header["allocations"][:2])
    (load,) = [
        n for n, site in enumerate(trace.sites) if site.kind == "global" and site.nbytes == 4 and not site.writes
    ]
    for wave, (start, turns, step, _) in zip(trace, ways.tolist(), strict=True):
        wanted = [start + k * step for k in range(turns)]
        lines = [first + x // 16 if x < count else second + (x - count) // 16 for x in wanted]
        found = [
            (int(a["first"]) + k * int(a["stride"])) & 0xFFFFFFFF
            for a in wave.of_site(load)
            for k in range(a["repeat"])
        ]
        assert found == lines
        assert out[64 * wave.group] == sum(wanted) + count


def test_local_memory_at_two_places(tmp_path):
    """Two accesses of an instruction, of which one is a read beside the update; on a chip they are replayed."""
    source = r"""
kernel void pairs(global uint *out) {
  local uint held[256];
  uint i = get_local_id(0), at = (uint)(size_t)held + 4 * i, before;
  for (int k = 0; k < 4; k++) held[64 * k + i] = 100 * k + i;
  ulong both;
  __asm volatile("s_mov_b32 m0, -1\n ds_add_src2_u32 %1 offset:64\n"
                 "ds_wrxchg2st64_rtn_b32 %0, %1, %2, %2 offset0:2 offset1:3\n s_waitcnt lgkmcnt(0)"
                 : "=&v"(both) : "v"(at), "v"(i) : "memory");
  out[i] = held[i];
  out[64 + i] = (uint)both;
  out[128 + i] = both >> 32;
}"""
    made, path, out = hw.device("vega64").build(source, "pairs.cl"), tmp_path / "pairs", np.zeros(192, np.uint32)
    recording = record(made, "pairs", (64,), (64,), [out], path)
    lanes = np.arange(64)
    assert out.tolist() == [*(100 + 2 * lanes), *(200 + lanes), *(300 + lanes)]
    sites = [(site.writes, site.nbytes) for site in read(path).sites if site.kind == "lds" and site.atomic]
    assert sites == [(False, 4), (True, 4), (True, 4), (True, 4)]
    chip, replayer = chips.find("vega64"), Replayer(read(path), machine_of(recording.launch))
    assert replayer.run(chip, replayer.table(chip)).sums["instructions"] == statistics(recording).total.count
    checked = np.zeros(192, np.uint32)
    made.kernels["pairs"].prepare((64,), (64,), check=True)([checked], None, None).wait()
    assert checked.tolist() == out.tolist()


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
@pytest.mark.parametrize("seed", range(3))
def test_wavefronts_at_the_ends_of_rows_have_lanes_of_their_own(tmp_path, device, seed):
    """Masks without the first lanes or the last, and steps between lanes, that come back, and such that do not."""
    source = """
kernel void row(global const int *in, global int *out, global const int4 *ways) {
  int4 way = ways[get_group_id(0)];
  int l = get_local_id(0), found = 0;
  if (l >= way.x && l < way.y) found = in[way.z + (l * way.w & 4095)];
  out[get_global_id(0)] = found;
}"""
    rng, groups, path = np.random.default_rng(seed), 120, tmp_path / "rows"
    row, left, right, usual = (
        rng.integers(2, 9),
        rng.integers(1, 8),
        rng.integers(57, 64),
        rng.choice([1, 1, 2, 16, 17]),
    )
    ways = np.zeros((groups, 4), np.int32)
    for n in range(groups):
        lanes = (left * (n % row == 0), right if n % row == row - 1 else 64)
        lanes = lanes if rng.random() < 0.9 else rng.integers(0, 65, 2)
        step = usual if rng.random() < 0.9 else rng.choice([0, 1, 3, 33])
        ways[n] = *lanes, 64 * n + rng.choice([0, 0, 0, 1, 16]), step
    data, out = np.arange(64 * groups + 8192, dtype=np.int32), np.zeros(64 * groups, np.int32)
    recording = Recording(path)
    launch = hw.device(device).build(source, "row.cl").kernels["row"].prepare((64 * groups,), (64,))
    launch.watched(recording)([data, out, ways], None, None).wait()
    trace = read(path)
    place = trace.header["allocations"][0]["address"]
    (load,) = [
        n for n, site in enumerate(trace.sites) if site.kind == "global" and site.nbytes == 4 and not site.writes
    ]
    for wave, (start, end, first, step) in zip(trace, ways.tolist(), strict=True):
        lanes = np.arange(start, max(start, end))
        touched = list(dict.fromkeys(((place + 4 * (first + (lanes * step & 4095))) // 64).tolist()))
        found = wave.of_site(load)
        assert [int(a["active"]) for a in found if a["active"]] == [len(lanes)] * bool(len(lanes))
        for access in found[found["active"] > 0]:
            if access["site"] & LIST:  # no other access of the kernel has one
                assert (wave.lines + access["first"]).tolist() == touched
            else:
                assert list(range(access["first"], access["first"] + access["count"])) == touched


@pytest.mark.parametrize("check", [False, True])
def test_launches_in_a_row_by_threads_that_come_late(program, check):
    """A thread may find the task of a launch that has ended, and take part in the next one, more than once."""
    kernel, out = program.kernels["conflicts"], np.zeros(4096, np.int32)
    sizes = (4096,), (64,)
    launch = kernel.prepare(*sizes, check=True) if check else kernel.watched(*sizes, (), Recording(None))
    for _ in range(200):
        launch([out, np.int32(1)], None, None).wait()
    assert out.tolist() == list(range(63, -1, -1)) * 64


def test_launches_inside_are_watched(program):
    recordings = []

    def record_one():
        recordings.append(Recording())
        return recordings[-1]

    compiled = hw.compile(SOURCE, device="vega64")
    data = np.ones(64, np.float32)
    with watching(record_one):
        compiled.add[(64,), (64,)](data, data, np.zeros(64, np.float32), device="vega64")
    compiled.add[(64,), (64,)](data, data, np.zeros(64, np.float32), device="vega64")
    assert [r.totals is not None for r in recordings] == [True]


@pytest.mark.parametrize("chip", ["vega64", "hd5870"])
def test_watching_goes_before_checks_of_the_environment(chip, monkeypatch):
    monkeypatch.setenv("HEADWATER_CHECK", "1")
    recordings = []

    def record_one():
        recordings.append(Recording())
        return recordings[-1]

    compiled = hw.compile(SOURCE, device=chip)
    data = np.ones(64, np.float32)
    with watching(record_one):
        compiled.add[(64,), (64,)](data, data, np.zeros(64, np.float32), device=chip)
        with pytest.raises(hw.UsageError, match="cannot be checked while"):
            compiled.add[(64,), (64,)](data, data, np.zeros(64, np.float32), device=chip, check=True)
    assert [r.totals is not None for r in recordings] == [True]


def test_damaged_files_are_told(program, tmp_path):
    path = tmp_path / "a.trace"
    record(program, "add", (64,), (64,), [np.ones(64, np.float32) for _ in range(3)], path)
    good = path.read_bytes()
    for data, message in (
        (b"something else", "is not a trace"),
        (MAGIC[:7] + b"9" + good[8:], "version 9"),
        (good[:20], "header is damaged"),
        (good[:-4], "the trace is damaged"),
        (good + b"1234", "ends in the middle"),
    ):
        path.write_bytes(data)
        with pytest.raises(hw.UsageError, match=message):
            list(read(path))
    with pytest.raises(hw.UsageError, match="cannot read the trace"):
        read(tmp_path / "missing")


def test_a_trace_that_cannot_be_written_is_told(program, tmp_path):
    with pytest.raises(hw.UsageError, match="cannot write the trace"):
        record(program, "add", (64,), (64,), [np.ones(64, np.float32) for _ in range(3)], tmp_path / "no" / "folder")
