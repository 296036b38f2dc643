"""What the cycle model says about small kernels, and that it says the right thing when a chip changes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.cli import main
from headwater.errors import UsageError
from headwater.timing import Recorded, Report
from headwater.timing.html import page

SOURCE = """
kernel void copy(global const float *x, global float *y) { size_t i = get_global_id(0); y[i] = x[i]; }
kernel void compute(global float *y, float a, int n) {
  float s = get_global_id(0);
  for (int k = 0; k < n; k++) { s = s * a + 1; s = s * a + 2; s = s * a + 3; s = s * a + 4; }
  y[get_global_id(0)] = s;
}
kernel void uneven(global float *y, float a, int one, int others) {
  float s = get_local_id(0);
  int n = get_local_id(0) == 0 ? one : others;
  for (int k = 0; k < n; k++) s = s * a + 1;
  y[get_global_id(0)] = s;
}
kernel void banks(global int *y, int stride, int n) {
  local int memory[4096];
  int at = get_local_id(0), s = 0;
  for (int k = at; k < 4096; k += get_local_size(0)) memory[k] = k;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < n; k++) s += memory[(at * stride + k) & 4095];
  y[get_global_id(0)] = s;
}
kernel void barriers(global float *y, int n) {
  local float memory[256];
  int at = get_local_id(0);
  memory[at] = at;
  for (int k = 0; k < n; k++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float other = memory[255 - at];
    barrier(CLK_LOCAL_MEM_FENCE);
    memory[at] = other + 1;
  }
  y[get_global_id(0)] = memory[at];
}
kernel void chase(global const uint *next, global uint *y, int n) {
  uint at = get_local_id(0);
  for (int k = 0; k < n; k++) at = next[at];
  y[0] = at;
}
kernel void nothing(global int *y) {}
"""
VEGA = chips.find("vega64")


@pytest.fixture(scope="module")
def program() -> Any:
    return hw.compile(SOURCE, language="opencl", device="vega64")


def recorded(program: Any, name: str, items: int, local: int, *args: Any) -> Recorded:
    return Recorded(lambda: program[name][(items,), (local,)](*args, device="vega64"))


def simulated(program: Any, name: str, items: int, local: int, *args: Any, **options: Any) -> Report:
    report: Report = program[name][(items,), (local,)].simulate(*args, device="vega64", **options)
    return report


@pytest.fixture(scope="module")
def stream(program: Any) -> Any:
    n = 1 << 18
    return recorded(program, "copy", n, 256, np.ones(n, np.float32), np.zeros(n, np.float32)).launches[0]


def with_(chip: Any, table: str, **figures: Any) -> Any:
    return replace(chip, **{table: replace(getattr(chip, table), **figures)})


def test_a_copy_is_bound_by_memory_and_has_its_results(program: Any) -> None:
    x, y = np.arange(1 << 19, dtype=np.float32), np.zeros(1 << 19, np.float32)
    report = simulated(program, "copy", x.size, 256, x, y)
    assert (x == y).all()
    assert report.bottleneck.startswith("Bound by the memory")
    memory = report.bandwidths[0]
    assert 0.5 < memory.gigabytes_per_second / memory.possible < 1 - VEGA.memory.dram.refresh
    assert report.wavefronts == (1 << 19) // 64
    assert (report.host.bytes_in, report.host.bytes_out) == (8 << 19, 4 << 19)  # y might be read, too
    assert sum(report.causes.values()) == pytest.approx(1)
    assert sum(report.wave_causes.values()) == pytest.approx(1)


def test_arithmetic_runs_at_the_chip_s_rate(program: Any) -> None:
    y = np.zeros(64 * 4 * 4 * 64, np.float32)  # four wavefronts for each SIMD
    launch = recorded(program, "compute", y.size, 64, y, 1.5, 512).launches[0]
    report = launch.report(VEGA)
    assert report.flops >= 2 * 4 * 512 * y.size
    assert 0.75 * VEGA.float32_gflops < report.gflops < VEGA.float32_gflops
    assert report.bottleneck.startswith("Bound by the vector ALU")
    # v_fma_f32 or v_mac_f32 at half the clock: as many cycles, twice the time.
    slow = launch.report(with_(VEGA, "compute", clock_mhz=VEGA.compute.clock_mhz / 2))
    assert slow.cycles == pytest.approx(report.cycles, rel=0.02)
    assert slow.seconds == pytest.approx(2 * report.seconds, rel=0.02)


def test_half_the_lanes_of_a_wavefront_save_nothing(program: Any) -> None:
    full = simulated(program, "compute", 64, 64, np.zeros(64, np.float32), 1.5, 400).cycles
    half = simulated(program, "compute", 32, 32, np.zeros(32, np.float32), 1.5, 400).cycles
    assert half == pytest.approx(full, rel=0.02)


def test_one_lane_of_a_hundred_turns_costs_a_hundred(program: Any) -> None:
    y = np.zeros(64, np.float32)
    all_short = simulated(program, "uneven", 64, 64, y, 1.5, 1000, 1000).cycles
    one_long = simulated(program, "uneven", 64, 64, y, 1.5, 1000, 10).cycles
    assert one_long == pytest.approx(all_short, rel=0.03)


def test_bank_conflicts_cost_what_the_banks_say(program: Any) -> None:
    y = np.zeros(1024, np.int32)
    busy = {s: simulated(program, "banks", 1024, 64, y, s, 64) for s in (0, 1, 2, 32)}
    lds = {stride: report.units[4].busy * report.cycles for stride, report in busy.items()}
    reads = 16 * 64 / VEGA.compute.compute_units  # wave-reads of the loop a compute unit
    assert lds[1] - lds[0] == pytest.approx(0, abs=0.1 * reads)  # a broadcast costs as little
    assert lds[2] - lds[1] == pytest.approx(2 * reads, rel=0.05)  # 4 cycles, not 2
    assert lds[32] - lds[1] == pytest.approx(62 * reads, rel=0.05)  # 64, not 2
    assert busy[32].cycles > busy[1].cycles + 64 * 40  # of a wavefront alone, where latency hides some


def test_a_chain_of_loads_takes_the_cache_s_latency(program: Any) -> None:
    chain = np.zeros(64, np.uint32)
    times = [simulated(program, "chase", 1, 1, chain, np.zeros(1, np.uint32), n).cycles for n in (64, 320)]
    step = (times[1] - times[0]) / 256
    assert VEGA.latencies.l1_cycles < step < VEGA.latencies.l1_cycles + 60


def test_barriers_are_waited_for(program: Any) -> None:
    y = np.zeros(1024, np.float32)
    report = simulated(program, "barriers", 1024, 256, y, 50)
    assert report.wave_causes["barrier"] > 0.02
    assert report.wavefronts == 16


def test_a_kernel_that_does_nothing_takes_some_cycles(program: Any) -> None:
    report = simulated(program, "nothing", 4096, 64, np.zeros(1, np.int32))
    assert 0 < report.cycles < 5000
    assert report.wavefronts == 64


def test_a_sample_says_how_far_off_it_may_be(program: Any) -> None:
    n = 1 << 20
    launch = recorded(program, "copy", n, 64, np.ones(n, np.float32), np.zeros(n, np.float32)).launches[0]
    few = with_(VEGA, "compute", compute_units=8)
    whole, part = launch.report(few), launch.report(few, sample=0.3)
    assert whole.error == 0
    assert abs(part.cycles / whole.cycles - 1) < max(0.05, part.error)
    with pytest.raises(UsageError, match="above 0 and up to 1, not 2"):
        launch.report(few, sample=2)


def test_chips_of_other_instructions_are_refused(stream: Any) -> None:
    with pytest.raises(UsageError, match="Instinct MI100 is a gfx908"):
        stream.report(chips.find("mi100"))


def test_what_is_no_simulated_chip_is_refused(program: Any) -> None:
    with pytest.raises(UsageError, match="cpu is not a simulated chip"):
        program.copy[(64,), (64,)].simulate(np.ones(64, np.float32), np.zeros(64, np.float32), device="cpu")


def test_the_chip_is_the_one_that_a_launch_would_take(program: Any) -> None:
    x, y = np.ones((2, 64), np.float32)
    copy = program.copy[(64,), (64,)]
    assert copy.simulate(x, y).chip is VEGA
    with hw.device("mi60"):
        assert copy.simulate(x, y).chip.name == "Instinct MI60"
    there = hw.stream(x, device="vega64")
    with hw.device("mi60"):
        assert copy.simulate(there, hw.stream(y, device="vega64")).chip is VEGA


def test_options_of_other_types_are_refused(stream: Any) -> None:
    with pytest.raises(UsageError, match=r"sample is a number, not '0\.5'"):
        stream.report(VEGA, sample="0.5")
    with pytest.raises(UsageError, match=r"progress is a function .* not 5"):
        stream.report(VEGA, progress=5)


def test_a_cache_without_room_for_its_ways_is_refused(stream: Any) -> None:
    with pytest.raises(UsageError, match=r"caches\.l1_bytes is 1024"):
        stream.report(with_(VEGA, "caches", l1_bytes=1024))


def test_damaged_traces_are_told(program: Any, tmp_path: Path) -> None:
    from headwater.emulate.watch.hooks import watching
    from headwater.emulate.watch.trace import Recording, read
    from headwater.timing.machine import GcnMachine
    from headwater.timing.replay import Replayer

    kept: list[Recording] = []

    def record() -> Recording:
        kept.append(Recording(tmp_path / "a.trace"))
        return kept[-1]

    with watching(record):
        program.copy[(512,), (64,)](np.ones(512, np.float32), np.zeros(512, np.float32), device="vega64")
    data = (tmp_path / "a.trace").read_bytes()
    machine = GcnMachine(kept[0].launch.code)  # type: ignore[union-attr]
    (tmp_path / "short.trace").write_bytes(data[:-7])
    with pytest.raises(UsageError, match="damaged"):
        Replayer(read(tmp_path / "short.trace"), machine)
    start = read(tmp_path / "a.trace").start
    (tmp_path / "none.trace").write_bytes(data[:start])
    with pytest.raises(UsageError, match="8 of 8 wavefronts are missing"):
        Replayer(read(tmp_path / "none.trace"), machine)


def test_pages_and_timelines_are_written(program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    report = simulated(program, "copy", 4096, 256, x, y, timeline=True)
    report.save_timeline(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    waves = [e for e in events if e["name"].startswith("group ")]
    assert len(waves) == 16 * 4  # all groups, of four wavefronts
    assert len({e["pid"] for e in waves}) == 16
    assert any(e["name"] == "waits: vector memory" and "vmcnt" in e["args"]["at"] for e in events)
    replayed = recorded(program, "copy", 4096, 256, x, y).launches[0]
    three = replayed.report(report.chip, timeline=range(5, 8)).happenings
    assert {5, 6, 7} == set(three["unit"].tolist())
    assert np.array_equal(three, report.happenings[np.isin(report.happenings["unit"], [5, 6, 7])])
    monkeypatch.setattr("headwater.timing.simulate.TIMELINE_EVENTS", len(report.happenings) - 1)
    fewer = replayed.report(report.chip, timeline=True)
    assert len(fewer.timeline_units) == 15
    assert not fewer.timeline_cut
    assert np.array_equal(fewer.happenings, report.happenings[report.happenings["unit"] < fewer.timeline_units.stop])
    monkeypatch.setattr("headwater.timing.simulate.TIMELINE_EVENTS", 3)
    assert replayed.report(report.chip, timeline=True).timeline_cut
    for wrong in (range(60, 65), range(4, 4), range(0, 4, 2), 3):
        with pytest.raises(UsageError, match="no compute units of"):
            replayed.report(report.chip, timeline=wrong)  # type: ignore[arg-type]
    report.save_html(tmp_path / "t.html")
    text = (tmp_path / "t.html").read_text()
    assert report.bottleneck.split(":")[0] in text
    assert "Side by side" not in text
    assert repr(report) == f"<Report {report}>"
    slower = replace(report, chip=replace(report.chip, name="A & B"), seconds=2 * report.seconds)
    text = page([report, slower])
    assert text.count('<section class="one') == 2
    assert '<button data-n="1">A &amp; B</button>' in text
    assert '<i class="bar " style="width:50.0%">' in text
    assert not re.search(r'(?:src|href)="|url\(|@import', text)
    with pytest.raises(UsageError, match="has no timeline"):
        simulated(program, "copy", 64, 64, x, y).save_timeline(tmp_path / "u.json")
    with pytest.raises(UsageError, match="cannot write"):
        report.save_html(tmp_path / "missing" / "t.html")


def test_the_command_compares_chips(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "k.cl").write_text(SOURCE)
    mine = tmp_path / "mine.toml"
    mine.write_text('base = "vega64"\nname = "Slow memory"\n[memory]\ngigabytes_per_second = 48.4\n')
    words = ["simulate", str(tmp_path / "k.cl"), "--kernel", "copy", "x=ones:65536", "--local", "256"]
    assert main([*words, "--device", "vega64"]) == 0
    text = capsys.readouterr().out
    assert "copy on Radeon RX Vega 64: 65,536 work-items in groups of 256, 1,024 wavefronts" in text
    assert "k.cl:2" in text
    assert main([*words, "-d", "vega64", "-d", str(mine), "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["launches"]
    assert second["device"] == "Slow memory"
    assert second["cycles"] > 3 * first["cycles"]


def test_a_part_has_no_rate_of_the_whole(program: Any) -> None:
    y = np.zeros(1 << 16, np.float32)
    recorded = Recorded(lambda: program.compute[(y.size,), (256,)](y, 1.5, 64, device="vega64"))

    def progress(part: float) -> None:
        raise KeyboardInterrupt

    (whole,), (part,) = recorded.reports(VEGA), recorded.reports(VEGA, progress=progress)
    assert whole.flops > part.flops == part.gflops == 0


def test_what_is_interrupted_says_so(stream: Any) -> None:
    parts: list[float] = []

    def progress(part: float) -> None:
        parts.append(part)
        raise KeyboardInterrupt

    report = stream.report(VEGA, progress=progress)
    assert not report.complete
    assert len(parts) == 1
    assert "Interrupted" in page([report])


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_traffic_over_time_sums_up_to_the_bytes_moved(device: str) -> None:
    x, y = np.zeros((2, 1 << 16), np.float32)
    report = hw.compile(SOURCE).copy[x.size, None].simulate(x, y, device=device)
    step = report.traffic_series[1][0]
    last = report.cycles - report.traffic_series[-1][0]
    cycles = [step] * (len(report.traffic_series) - 1) + [min(step, last)]
    clock = report.chip.compute.clock_mhz * 1e6
    moved = sum(rate * n / clock for (_, rate), n in zip(report.traffic_series, cycles, strict=True))
    memory = next(one for one in report.bandwidths if one.name == "memory")
    assert moved == pytest.approx(memory.gigabytes_per_second * 1e9 * report.seconds, rel=0.01)
    most = report.chip.memory.gigabytes_per_second * 1e9
    assert 0.5 * most < max(rate for _, rate in report.traffic_series) <= most


def test_traffic_over_time_is_no_faster_than_slow_memory(stream: Any) -> None:
    slow = replace(VEGA, memory=replace(VEGA.memory, gigabytes_per_second=8.0))
    series = stream.report(slow).traffic_series
    assert 4e9 < max(rate for _, rate in series) <= 8e9


def test_a_replay_decodes_nothing_again(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.zeros(128, np.float32)
    of = recorded(program, "copy", 128, 64, x, x.copy())
    (first,) = of.reports(VEGA)
    monkeypatch.setattr("headwater.isa.gcn.decode.decode", lambda *_: pytest.fail("decoded again"))
    (second,) = of.reports(VEGA)
    assert second.cycles == first.cycles
