"""VLIW chips: clauses, groups, fetches, writes and loops of IL, OpenCL C and Brook+; occupancy by registers and stack."""

import json

import pytest

import headwater
from headwater import chips
from headwater.analyze.code import Code
from headwater.analyze.domain import minimum_items
from headwater.chips.occupancy import Needs, next_steps, occupancy
from headwater.cli import main
from headwater.errors import LaunchError

VLIW = ["hd2600-xt", "hd3870", "hd4870", "hd5870", "hd6970"]
MULADD = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
dcl_resource_id(1)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
sample_resource(0)_sampler(0) r5, vWinCoord0.xyxx
sample_resource(1)_sampler(1) r6, vWinCoord0.xyxx
mad r3, r5, r6, r5
mov o0, r3
end
"""
LOOP = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
dcl_literal l0, 0, 1, 100, 3
mov r0.x, l0.x
mov r3, l0.x
mov r1, vWinCoord0
whileloop
  ige r4.x, r0.x, l0.z
  break_logicalnz r4.x
  itof r1.x, r0.x
  sample_resource(0)_sampler(0) r5, r1
  add r3.x, r5.x, r3.x
  iadd r0.x, r0.x, l0.STEP
endloop
mov o0, r3
end
"""
PRODUCT = """kernel void mm(global const float *a, global const float *b, global float *c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  float s = 0;
  for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
  c[y * n + x] = s;
}
"""


def analyzed(text, device, **options):
    return headwater.analyze(text, device=device, **options)[0]


@pytest.mark.parametrize("device", VLIW)
def test_what_a_pixel_shader_is_made_of(device):
    a = analyzed(MULADD, device)
    assert a.code.family == "vliw"
    assert a.code.pixel
    kinds = [step.kind for step in a.code.steps]
    assert (kinds.count("fetch"), kinds.count("ALU"), kinds.count("write")) == (2, 1, 1)
    assert a.work.flops == 8  # four multiply-additions
    assert a.work.operations == 4
    assert (a.work.read_bytes, a.work.write_bytes) == (32, 16)
    assert a.metric("packing").value == pytest.approx(4 / a.chip.compute.vliw_width)
    assert a.metric("clauses").value >= 3
    assert a.code.scratch_bytes == 0


def test_the_estimate_by_hand_on_the_hd_4870():
    a = analyzed(MULADD, "hd4870", size=(1024, 1024))
    terms = {term.name: term.seconds for term in a.estimate.terms}
    assert terms["ALU"] == pytest.approx(2**20 / 160 / 750e6)
    assert terms["fetch"] == pytest.approx(2**20 * 2 / 40 / 750e6)
    assert terms["memory"] == pytest.approx(2**20 * 48 / (115.2e9 * a.chip.stream_efficiency))
    assert a.alu_fetch_ratio == pytest.approx(0.125)
    assert a.balance == 4
    assert a.launch.minimum_items == minimum_items(chips.find("hd4870")) == 1280


@pytest.mark.parametrize("device", VLIW)
@pytest.mark.parametrize(("step", "trips"), [("y", 100), ("w", 34)])
def test_trip_counts_of_il(device, step, trips):
    (loop,) = analyzed(LOOP.replace("STEP", step), device).code.loops
    assert (loop.trip, loop.known) == (trips, "proved")


def test_a_loop_runs_its_body_as_often_as_it_says():
    a = analyzed(LOOP.replace("STEP", "y"), "hd5870")
    assert a.work.fetches == 100
    given = analyzed(LOOP.replace("STEP", "y"), "hd5870", trips={"L1": 7})
    assert given.work.fetches == 7


@pytest.mark.parametrize("device", ["hd4870", "hd5870", "hd6970"])
def test_opencl_by_its_own_lines(device):
    a = analyzed(PRODUCT, device, arguments={"n": 1024}, kernel="mm")
    (loop,) = a.code.loops
    assert (loop.trip, loop.known, loop.lines) == (1024, "proved", (4, 4))
    assert a.work.fetches == pytest.approx(2048, abs=4)
    assert "ATI IL" in a.built.via
    via = {step.via[0] for step in a.code.steps if step.via is not None}
    assert via == {"mm.il"}
    assert "uav_raw_load" in a.built.texts["mm.il"] or "g[" in a.built.texts["mm.il"]
    assert Code.from_json(json.loads(json.dumps(a.code.to_json()))) == a.code


def test_brook_on_every_generation():
    text = "kernel void saxpy(float x<>, float y<>, float a, out float z<>) {\n  z = a * x + y;\n}\n"
    report = headwater.analyze(text, device=["hd3870", "hd5870", "vega64"], language="brook")
    assert [a.name for a in report] == ["saxpy"] * 3
    assert [a.code.family for a in report] == ["vliw", "vliw", "gcn"]
    assert "hd" in str(report).lower()
    assert report.html().count("<section") == 3


def test_quads_are_advised_about():
    names = [item.name for item in analyzed(MULADD, "hd3870", size=(4096, 1)).advice]
    assert "quads" in names


# ---- occupancy -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "gprs", "wavefronts"),
    [
        ("hd4870", 10, 24),
        ("hd4870", 25, 10),
        ("hd5870", 25, 9),
        ("hd5870", 62, 4),
        ("hd3870", 25, 7),
        ("hd6970", 62, 4),
    ],
)
def test_wavefronts_by_registers(device, gprs, wavefronts):
    """Registers of the SIMD engine over those of a work-item: 256 on the HD 4870, 248 on Evergreen."""
    found = occupancy(chips.find(device), Needs(64, gprs))
    assert found.wavefronts == wavefronts
    assert found.limited_by == (("GPRs",) if gprs > 10 else ("wavefronts",))


def test_the_stack_limits_too():
    found = occupancy(chips.find("hd3870"), Needs(64, 4, stack=16))
    assert (found.wavefronts, found.limited_by) == (16, ("stack",))
    (step,) = next_steps(found)
    assert (step.resource, step.at_most) == ("stack", 15)


def test_what_a_vliw_chip_lacks():
    with pytest.raises(LaunchError, match="SGPRs of a wavefront: Radeon HD 5870 has none"):
        occupancy(chips.find("hd5870"), Needs(64, 4, 16))
    with pytest.raises(LaunchError, match="stack entries of a wavefront: Radeon RX Vega 64 has none"):
        occupancy(chips.find("vega64"), Needs(64, 4, stack=1))
    with pytest.raises(LaunchError, match="bytes of LDS of a work-group: Radeon HD 3870 has none"):
        occupancy(chips.find("hd3870"), Needs(64, 4, 0, 64))


def test_occupancy_on_the_command_line(capsys):
    assert main(["occupancy", "--device", "hd5870", "--vgprs", "25", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["wavefronts"] == 9
    assert data["limited_by"] == ["GPRs"]


def test_an_image_file(tmp_path):
    """What a compiler made is analyzed as it is, on the chip that it is for."""
    from headwater.errors import UsageError
    from headwater.il.parser import parse
    from headwater.isa.vliw import image_files
    from headwater.isa.vliw.compiler import compile_program
    from headwater.isa.vliw.encode import encode
    from headwater.isa.vliw.image import ShaderImage

    chip = chips.find("hd5870")
    made = compile_program(parse(LOOP.replace("STEP", "y"), "k.il"), chip)
    path = tmp_path / "k.elf"
    path.write_bytes(
        image_files.write(
            ShaderImage(chip.target, made.kind, encode(made.shader), gprs=made.gprs, stack_entries=made.stack_entries)
        )
    )
    a = analyzed(str(path), "hd5870")
    assert (a.code.vgprs, a.code.stack_entries) == (made.gprs, made.stack_entries)
    assert a.code.loops[0].trip == 100
    assert a.work.fetches == 100
    with pytest.raises(UsageError, match="holds code for cypress"):
        analyzed(str(path), "hd6970")


def test_kernels_that_a_chip_lacks_something_for():
    text = "kernel void f(global float *a) { a[get_global_id(0)] *= 2; }\nkernel void d(global double *a) { a[get_global_id(0)] *= 2; }"
    report = headwater.analyze(text, device="hd5770")
    assert [a.name for a in report] == ["f"]
    assert [r.kernel for r in report.refused] == ["d"]
    with pytest.raises(headwater.SourceError, match="double precision"):
        headwater.analyze(text, device="hd5770", kernel="d")


def test_reasons_name_the_chip_that_was_asked_for():
    """Boards with the same code find it in the cache, with what an earlier board was refused for."""
    text = "kernel void f(global int *a) { a[get_global_id(0)] *= 2; }\nkernel void l(global int *a, local int *b) { *a = *b; }"
    for name in ("firestream9250", "hd4850", "hd4870"):
        (refused,) = headwater.analyze(text, device=name).refused
        assert refused.error.message.endswith(f"on {chips.find(name).name}")


def test_stores_of_single_dwords_take_channels_longer():
    """AMD, APP OpenCL Programming Guide, tables 4.5 and 4.7: 96 GB/s of floats copied on HD 5870, 127 of float4. To the
    first the rate of stores is fitted."""
    text = "kernel void copy(global const T *a, global T *b) { b[get_global_id(0)] = a[get_global_id(0)]; }"
    one, four = (analyzed(text.replace("T ", f"{kind} "), "hd5870", size=1 << 24) for kind in ("float", "float4"))
    assert one.estimate.bound_by == "stores"
    assert one.estimate.gigabytes_per_second == pytest.approx(96, rel=0.06)
    assert four.estimate.bound_by == "memory"
    assert four.estimate.gigabytes_per_second == pytest.approx(127, rel=0.12)
    assert "float4" in [advice.name for advice in one.advice]
    # Pixels are written by render back-ends, GCN's stores go through caches.
    assert analyzed(text.replace("T ", "float "), "vega64").work.store_cycles == 0


def test_an_atomic_function_on_local_memory():
    kernel = """kernel void enqueue(global const int *cost, global int *queue, global int *tail, int limit) {
      local int count, base;
      int g = get_global_id(0), l = get_local_id(0), slot = -1;
      if (l == 0) count = 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (cost[g] < limit) slot = atomic_inc(&count);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (l == 0) base = atomic_add(tail, count);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (slot >= 0) queue[base + slot] = g;
    }
    """
    a = analyzed(kernel, "hd5870")
    assert sum(step.space == "local" for step in a.code.steps) == 5


@pytest.mark.parametrize("device", ["hd5870", "hd6970"])
@pytest.mark.parametrize(("statement", "atomic"), [("atomic_xchg(a, 1)", 1), ("atomic_add(a, 1)", 1), ("*a = 1", 0)])
def test_which_writes_are_atomic(device, statement, atomic):
    a = analyzed(f"kernel void f(global int *a) {{ {statement}; }}", device)
    assert [step.atomic for step in a.code.steps if step.kind == "write"] == [bool(atomic)]


def test_a_read_of_two_words_of_local_memory_counts_twice():
    kernel = """kernel void f(global float *a) {
      local float tile[65];
      int l = get_local_id(0);
      tile[l] = a[l];
      barrier(CLK_LOCAL_MEM_FENCE);
      a[l] = tile[l] + tile[l + 1];
    }
    """
    steps = [step for step in analyzed(kernel, "hd5870").code.steps if step.space == "local" and step.read_bytes]
    assert any("LDS_READ2_RET" in step.text for step in steps)
    assert sum(step.read_bytes for step in steps) == 8
    assert sum(step.accesses for step in steps) == 2
