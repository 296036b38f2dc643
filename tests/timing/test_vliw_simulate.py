"""What the cycle model says of VLIW chips: documents' statements to the cycle, and that better chips are no slower."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.chips.occupancy import Needs, occupancy
from headwater.chips.whatif import changed
from headwater.cli import main
from headwater.emulate.vliw.bindings import Bindings
from headwater.emulate.vliw.kernel import Kernel
from headwater.errors import LaunchError, UsageError
from headwater.isa.vliw.assembly import parse
from headwater.opencl.kernels import KernelInfo
from headwater.runtime.vliw.launch import Inputs, Owner, ShaderLaunch, Sizes
from headwater.timing import Recorded, Report
from headwater.timing.vliw_rules import shared_registers

HD5870 = chips.find("hd5870")
SOURCE = """
kernel void copy(global const float *x, global float *y) { int i = get_global_id(0); y[i] = x[i]; }
kernel void copy4(global const float4 *x, global float4 *y) { int i = get_global_id(0); y[i] = x[i]; }
kernel void compute(global float *y, float a, int n) {
  float s = get_global_id(0), t = s + 1, u = s + 2, v = s + 3;
  for (int k = 0; k < n; k++) {
#define TURN s = s * a + t; t = t * a + u; u = u * a + v; v = v * a + s;
    TURN TURN TURN TURN TURN TURN TURN TURN
  }
  y[get_global_id(0)] = s + t + u + v;
}
kernel void uneven(global float *y, float a, int one, int others) {
  float s = get_local_id(0);
  int n = get_local_id(0) == 0 ? one : others;
  for (int k = 0; k < n; k++) s = s * a + 1;
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
kernel void nothing(global int *y) { }
"""
PIXELS = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_literal l0, 3.0, 0.5, 2.0, 1.0
dcl_literal l1, 0, 1, 16, 0
mov r0, vWinCoord0.xyxy
mov r1.x, l1.x
whileloop
ige r1.y, r1.x, l1.z
break_logicalnz r1.y
%s
iadd r1.x, r1.x, l1.y
endloop
mov o0, r0
ret_dyn
end
""" % ("mad r0, r0.yzwx, l0.x, r0\n" * 25)


def with_(chip: Any, table: str, **figures: Any) -> Any:
    return replace(chip, **{table: replace(getattr(chip, table), **figures)})


@pytest.fixture(scope="module")
def program() -> Any:
    return hw.compile(SOURCE, language="opencl", device="hd5870")


def recorded(program: Any, kernel: str, size: int, group: int, *args: Any, device: str = "hd5870") -> Recorded:
    return Recorded(lambda: program[kernel][(size,), (group,)](*args, device=device))


def simulated(program: Any, kernel: str, size: int, group: int, *args: Any, device: str = "hd5870") -> Report:
    return recorded(program, kernel, size, group, *args, device=device).launches[0].report(chips.find(device))


@pytest.fixture(scope="module")
def stream(program: Any) -> Any:
    n = 1 << 19
    return recorded(program, "copy", n, 64, np.ones(n, np.float32), np.zeros(n, np.float32)).launches[0]


# ---- machine code, to the cycle


def cycles(body: str, wavefronts: int = 1, lds_bytes: int = 0, chip: Any = HD5870) -> int:
    """Of a shader of Evergreen on one SIMD engine; ``CF`` stands for the number of an instruction of control flow. What
    the second of two work-groups takes, which begins when the first has ended and finds its instructions in the cache.
    """
    parts = (body + "CF NOP END_OF_PROGRAM\n").split("CF ")
    text = "".join(f"{number:02d} {part}" for number, part in enumerate(parts[1:]))
    shader = parse(text, "evergreen")
    digest = hashlib.sha256(text.encode()).hexdigest()
    kernel = Kernel(lambda: shader, "cs", 8, 0, lds_bytes, 0, digest=digest, stack_entries=2)
    one = with_(chip, "compute", compute_units=1, shader_engines=1, wavefronts_per_simd=wavefronts)

    def took(groups: int) -> int:
        sizes = Sizes((64 * wavefronts * groups, 1, 1), (64 * wavefronts, 1, 1))
        launch = ShaderLaunch(Owner(None, KernelInfo("test", (), None)), kernel, HD5870, sizes, Bindings({}, {}))
        launches = Recorded(lambda: launch((Inputs({}),), None, 60)).launches
        return launches[0].report(one).cycles

    return took(2) - took(1)


def clause(groups: int) -> str:
    return "CF ALU:\n" + "".join(f"  {n} x: ADD R1.x, R1.x, R1.x\n" for n in range(groups))


def test_a_wavefront_issues_every_eighth_cycle_and_two_take_turns() -> None:
    """AMD, APP OpenCL Programming Guide, 4.11: a latency of eight cycles, which an even and an odd wavefront hide."""
    assert cycles(clause(110)) - cycles(clause(10)) == 8 * 100
    assert cycles(clause(110), 2) == pytest.approx(cycles(clause(110)), abs=8)
    assert cycles(clause(110), 4) - cycles(clause(110), 2) == pytest.approx(8 * 110, abs=16)


def test_switching_clauses_takes_forty_cycles() -> None:
    """The same, 4.14."""
    assert cycles(clause(10) + clause(10)) - cycles(clause(20)) == 40


def test_many_wavefronts_hide_it() -> None:
    one, four = cycles(clause(10) * 10, 1), cycles(clause(10) * 10, 4)
    assert one == pytest.approx(10 * (80 + 40), abs=16)
    assert four == pytest.approx(2 * 10 * 80, rel=0.04)


BRANCH = """CF ALU_PUSH_BEFORE:
  0 x: PRED_SETE_INT R2.x, R0.x, {what} UPDATE_EXEC_MASK UPDATE_PRED
CF JUMP ADDR(3)
CF ALU:
  1 x: ADD R1.x, R1.x, R1.x
CF ELSE POP_COUNT(1) ADDR(5)
CF ALU_POP_AFTER:
  2 x: ADD R1.x, R1.x, R1.x
CF ALU:
  3 x: ADD R1.x, R1.x, R1.x
"""


def test_a_branch_that_lanes_part_at_costs_both_ways() -> None:
    """Technical Overview, ATI Stream Computing, 2.3: 2t; the guide's 4.15: about 120 cycles where bodies are one group."""
    parted = cycles(BRANCH.format(what="0"))
    straight = cycles(clause(4))
    assert parted - straight == 120


def test_each_conflict_of_lds_banks_costs_a_cycle() -> None:
    """AMD, APP OpenCL Programming Guide, 4.7: two cycles for 64 dwords, 64 if all lie in a bank, a broadcast like none."""
    reads = "  {n} x: LDS_READ_RET R2.x\n  {m} x: MOV R3.x, QA.pop\n"

    def took(shift: str) -> int:
        place = f"CF ALU:\n  0 t: MULLO_INT R2.x, R0.x, {shift}\n  1 x: MOV R2.x, PS0\n"
        body = place + "".join(reads.format(n=2 + 2 * n, m=3 + 2 * n) for n in range(16))
        return cycles(body, lds_bytes=8192)

    linear, same, bank, pairs = (took(s) for s in ("4", "0", "128", "8"))
    assert same == linear
    assert pairs == linear
    assert bank - linear == 16 * (64 - 8)


def test_shared_registers_leave_fewer_for_wavefronts() -> None:
    """Technical Overview, ATI Stream Computing, 1.6: one for each lane, which all wavefronts of a SIMD engine share."""
    lines = "  0 x: ADD SR23.x, R1.x, R1.x\n  1 x: ADD R1.x, R1.x, SR7.x\n"
    shader = parse(f"00 ALU:\n{lines}01 NOP END_OF_PROGRAM\n", "evergreen")
    assert shared_registers(shader) == 24
    assert shared_registers(parse("00 ALU:\n  0 x: ADD R9.x, R1.x, R1.x\n01 NOP END_OF_PROGRAM\n", "evergreen")) == 0
    alone, shared = (occupancy(HD5870, Needs(64, 16, shared_vgprs=n)).wavefronts for n in (0, 24))
    assert (alone, shared) == (248 // 16, (248 - 24) // 16)
    with pytest.raises(LaunchError, match="24 shared VGPRs: Radeon RX Vega 64 has none"):
        occupancy(chips.find("vega64"), Needs(64, 16, shared_vgprs=24))


def test_instructions_come_from_a_cache() -> None:
    body = clause(110) * 8  # 7 KiB
    few, some, many = (cycles(body, chip=with_(HD5870, "caches", instruction_bytes=n << 10)) for n in (4, 16, 32))
    assert some == many == pytest.approx(8 * (8 * 110 + 40), abs=16)
    assert few > many + 500
    slow = with_(with_(HD5870, "caches", instruction_bytes=4096), "latencies", memory_cycles=1000)
    assert cycles(body, chip=slow) > few + 500


def test_locked_constants_come_from_a_cache() -> None:
    """Evergreen ISA, "CF_ALU_WORD0": lines of 16 constants, one or two of them in a window."""

    def body(lines: int) -> str:
        windows = [f"CF ALU: KCACHE0(CB1:{16 * n}-{16 * n + 15 + 16 * (lines - 1)})\n" for n in range(0, 40, lines)]
        return "".join(f"{head}  {n} x: ADD R1.x, R1.x, R1.x\n" for n, head in enumerate(windows))

    for lines in (1, 2):  # 10 KiB in 40 or 20 clauses
        few, some, many = (cycles(body(lines), chip=with_(HD5870, "caches", scalar_bytes=n << 10)) for n in (4, 12, 48))
        assert some == many < 40 * 50
        assert few - many > 40 // lines * 300


# ---- kernels


def test_a_stream_is_bound_by_what_writes(stream: Any, program: Any) -> None:
    report = stream.report(HD5870)
    assert report.bottleneck.startswith("Bound by the write path")
    assert report.wavefronts == (1 << 19) // 64
    assert sum(report.causes.values()) == pytest.approx(1)
    assert sum(report.wave_causes.values()) == pytest.approx(1)
    n = 1 << 17
    x, y = np.ones((n, 4), np.float32), np.zeros((n, 4), np.float32)
    wide = simulated(program, "copy4", n, 64, x, y)
    assert (x == y).all()
    assert wide.bottleneck.startswith("Bound by the memory")
    assert wide.cycles < 0.85 * report.cycles


@pytest.mark.parametrize("device", ["hd2400-xt", "hd2600-xt", "hd3870", "hd4870", "hd5450", "hd5870", "hd6970"])
def test_arithmetic_runs_at_the_chip_s_rate(device: str) -> None:
    chip = chips.find(device)
    compute = chip.compute
    program = hw.compile(SOURCE, language="opencl", device=device)
    y = np.zeros(-(-64 * compute.compute_units * 16 // 4096) * 4096, np.float32)
    report = simulated(program, "compute", y.size, 64, y, 0.5, 100, device=device)
    assert report.bottleneck.startswith("Bound by the stream cores")
    # Four operations of four or five in a group, but for those of the loop.
    assert 0.6 < report.gflops / (chip.float32_gflops * 4 / compute.vliw_width) < 1
    assert report.wavefronts * compute.wavefront_size == y.size


def test_one_lane_of_a_hundred_turns_costs_a_hundred(program: Any) -> None:
    """Technical Overview, ATI Stream Computing, 2.3: 100 t."""
    y = np.zeros(64, np.float32)
    all_long = simulated(program, "uneven", 64, 64, y, 1.5, 1000, 1000).cycles
    one_long = simulated(program, "uneven", 64, 64, y, 1.5, 1000, 10).cycles
    turns = [simulated(program, "uneven", 64, 64, y, 1.5, n, 1).cycles for n in (101, 201)]
    assert one_long == pytest.approx(all_long, rel=0.01)
    assert (one_long - turns[0]) / 899 == pytest.approx((turns[1] - turns[0]) / 100, rel=0.01)


@pytest.mark.parametrize("device", ["hd4870", "hd5870"])
def test_a_domain_one_wide_uses_half_the_hardware(device: str) -> None:
    """Technical Overview, ATI Stream Computing, 2.4: half of each quad is empty."""
    program = hw.compile(PIXELS, language="il", device=device)
    chip = with_(chips.find(device), "compute", compute_units=1, shader_engines=1)  # with many wavefronts

    def took(width: int, height: int) -> int:
        out = np.zeros((height, width, 4), np.float32)
        launches = Recorded(lambda: program.main[(width, height), None](out, device=device)).launches
        return launches[0].report(chip).cycles

    pixels = 1 << 13  # as high as an output may be
    whole = took(128, 64)
    assert took(1, pixels) / whole == pytest.approx(2, rel=0.05)
    assert took(pixels, 1) / whole == pytest.approx(2, rel=0.05)
    assert took(pixels // 2, 2) / whole == pytest.approx(1, rel=0.05)  # 2.4.2: blocks of 32 × 2
    assert took(820, 10) / whole == pytest.approx(1, rel=0.05)  # what is over of a block fills others


VERTICES = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_cb cb0[4096]
dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
ftoi r1.xy, vWinCoord0.xyyy
mov r3, cb0[r1.x]
"""
for at in range(16):
    VERTICES += f"""mov r2, cb0[r1.x + {at}]
sample_resource(0)_sampler(0)_aoffimmi({at % 4},{at // 4},0) r4, vWinCoord0.xyyy
mad r3, r3, r2, r4
"""
VERTICES += "mov o0, r3\nret_dyn\nend\n"


@pytest.mark.parametrize("device", ["hd3870", "hd4870"])
def test_vertex_fetches_have_a_cache_of_their_own(device: str) -> None:
    program = hw.compile(VERTICES, language="il", device=device)
    n = 256
    arrays = np.ones((n, n, 4), np.float32), np.ones((4096, 4), np.float32), np.zeros((n, n, 4), np.float32)
    launch = Recorded(lambda: program.main[(n, n), None](*arrays, device=device)).launches[0]
    chip = chips.find(device)
    report = launch.report(chip)
    used = {cache.name: cache for cache in report.caches}
    assert used["vertex"].lookups > 16 * n * n // 64
    assert used["vertex"].hit_rate > 0.9
    assert used["texture L1"].lookups > 16 * n * n // 64
    # Without it both take their turns at the texture units.
    without = launch.report(with_(chip, "caches", vertex_bytes=0))
    assert without.cycles > 1.3 * report.cycles
    assert "vertex" not in {cache.name for cache in without.caches}
    small = launch.report(with_(chip, "caches", vertex_bytes=1024))
    assert small.cycles >= report.cycles
    assert {cache.name: cache for cache in small.caches}["vertex"].hit_rate < used["vertex"].hit_rate


def test_simd_engines_of_r600_share_a_texture_cache() -> None:
    program = hw.compile(VERTICES, language="il", device="hd3870")
    n = 256
    arrays = np.ones((n, n, 4), np.float32), np.ones((4096, 4), np.float32), np.zeros((n, n, 4), np.float32)
    launch = Recorded(lambda: program.main[(n, n), None](*arrays, device="hd3870")).launches[0]
    shared, own = (launch.report(with_(chips.find("hd3870"), "caches", compute_units_per_l1=n)) for n in (4, 1))
    misses = [report.caches[0].lookups * (1 - report.caches[0].hit_rate) for report in (shared, own)]
    assert misses[0] < misses[1]  # what one engine brought others find there


def test_barriers_are_waited_for(program: Any) -> None:
    report = simulated(program, "barriers", 4096, 256, np.zeros(4096, np.float32), 50)
    assert report.wave_causes["barrier"] > 0.02
    assert report.wavefronts == 64


def test_a_kernel_that_does_nothing_takes_some_cycles(program: Any) -> None:
    assert 0 < simulated(program, "nothing", 4096, 64, np.zeros(1, np.int32)).cycles < 5000


def test_four_pixels_at_a_time_are_about_a_fifth_faster() -> None:
    """AMD, OpenCL on the ATI Radeon HD 4870: the median filter that makes four pixels of six 128-bit loads."""
    path = Path(__file__).parents[2] / "examples" / "median" / "median.cl"
    program = hw.compile(path.read_text(), language="opencl", device="hd4870")
    width, height = 512, 256
    image = np.random.default_rng(1).integers(0, 1 << 32, (height, width), dtype=np.uint64).astype(np.uint32)
    results = [np.zeros_like(image) for _ in range(2)]
    one, four = (
        program[name][(width // step, height), (64, 1)].simulate(image, result, width, height, device="hd4870")
        for name, step, result in zip(("medianfilter_rgba", "medianfilter_rgba_x4"), (1, 4), results, strict=True)
    )
    assert (results[0] == results[1]).all()
    assert 1.1 < one.seconds / four.seconds < 1.35


def test_chips_of_other_instructions_are_refused(stream: Any) -> None:
    with pytest.raises(UsageError, match="Radeon HD 6970 is a cayman"):
        stream.report(chips.find("hd6970"))
    with pytest.raises(UsageError, match=r"recorded with features\.stack_entry_bug False, and Radeon HD 6870 has True"):
        stream.report(chips.find("hd6870"))
    assert stream.report(changed(HD5870, ["compute_units=10", "features.texture_units=40"])[0]).cycles > 0


def test_an_interrupted_replay_tells_what_it_has(stream: Any) -> None:
    def stop(part: float) -> None:
        raise KeyboardInterrupt

    assert not stream.report(HD5870, progress=stop).complete


def test_pages_and_timelines_show_clauses(program: Any, tmp_path: Path) -> None:
    x, y = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    report = recorded(program, "copy", 4096, 256, x, y).launches[0].report(HD5870, timeline=True)
    report.save_timeline(tmp_path / "copy.json")
    events = json.loads((tmp_path / "copy.json").read_text())["traceEvents"]
    names = {event["name"] for event in events}
    assert {"ALU clause", "fetch clause", "write", "waits: fetch"} <= names
    assert any(event.get("args", {}).get("name") == "SIMD engine 0" for event in events)
    report.save_html(tmp_path / "copy.html")
    assert "clause switch" in (tmp_path / "copy.html").read_text()


def test_the_command_line_compares_chips(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "copy.cl"
    file.write_text(
        "kernel void copy(global const float *x, global float *y) { int i = get_global_id(0); y[i] = x[i]; }"
    )
    assert main(["simulate", str(file), "random:16Ki", "-d", "hd5870", "-d", "hd4870", "-d", "hd6970"]) == 0
    told = capsys.readouterr().out
    assert all(f"\n{name}: " in told for name in ("Radeon HD 5870", "Radeon HD 4870", "Radeon HD 6970"))


def test_programs_with_shared_registers_are_replayed() -> None:
    head = "il_cs_2_0\ndcl_num_thread_per_group 64\ndcl_literal l0, 1, 2, 0, 0\n"
    source = head + "dcl_shared_temp sr[3]\niadd sr0.x___, sr0.x, l0.x\nmov g[vaTid0.x], sr0.xxxx\nend\n"
    groups = 3 * HD5870.compute.compute_units + 5
    memory = np.zeros((64 * groups, 4), np.uint32)
    program = hw.compile(source, language="il", device="hd5870")
    report = program.main[(64 * groups,), (64,)].simulate(memory, device="hd5870")
    assert report.wavefronts == groups
    assert memory[0, 0] == 1
    assert memory[-1, 0] == 4
