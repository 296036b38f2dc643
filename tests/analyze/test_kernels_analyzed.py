"""Kernels on GCN chips: loops and their trips, costs, advice, views, and what is refused."""

import json
import re

import pytest

import headwater
from headwater import chips
from headwater.analyze.code import Code
from headwater.analyze.sources import build, from_text
from headwater.cli import main
from headwater.errors import LaunchError, SourceError, UsageError

MATMUL = """kernel void mm(global const float *a, global const float *b, global float *c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  float s = 0;
  for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
  c[y * n + x] = s;
}
"""
ADD = "kernel void add(global const float *a, global const float *b, global float *c) {\n  int i = get_global_id(0);\n  c[i] = a[i] + b[i];\n}\n"


def analyzed(text, device="vega64", **options):
    return headwater.analyze(text, device=device, **options)[0]


# ---- loops -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["hd7970", "r9-290x", "rx480", "vega64", "mi250x"])
def test_a_trip_count_from_an_argument(device):
    (loop,) = analyzed(MATMUL, device, arguments={"n": 1024}).code.loops
    assert (loop.trip, loop.known, loop.lines) == (1024, "proved", (4, 4))
    (loop,) = analyzed(MATMUL, device).code.loops
    assert (loop.trip, loop.known) == (1, "unknown")


@pytest.mark.parametrize(
    ("head", "trips"),
    [
        ("for (int k = 0; k < 100; k++)", 100),
        ("for (int k = 100; k > 0; k--)", 100),
        ("for (int k = 3; k <= 99; k += 4)", 25),
        ("for (uint k = 7; k < 1000; k += 10)", 100),
        ("for (int k = -50; k != 50; k++)", 100),
    ],
)
def test_trip_counts_from_constants(head, trips):
    text = f"kernel void k(global volatile float *a) {{\n  int i = get_global_id(0);\n#pragma unroll 1\n  {head} a[i] += k;\n}}\n"
    (loop,) = analyzed(text).code.loops
    assert (loop.trip, loop.known) == (trips, "proved")


def test_a_loop_that_lanes_decide_about_is_not_guessed():
    text = """kernel void k(global int *a) {
      int i = get_global_id(0), n = a[i], s = 0;
      while (n > 1) { n = n % 2 ? 3 * n + 1 : n / 2; s++; }
      a[i] = s;
    }"""
    analysis = analyzed(text)
    assert all(loop.known == "unknown" for loop in analysis.code.loops)
    assert analysis.advice[0].name == "unknown loops"
    assert "--trip L1=N" in analysis.advice[0].do


def test_a_trip_count_that_is_given():
    once, often = (analyzed(MATMUL, trips={"L1": n}) for n in (1, 64))
    assert often.code.loops[0].known == "given"
    assert often.work.fetches == 64 * once.work.fetches
    with pytest.raises(UsageError, match="no loop 'L7'"):
        analyzed(MATMUL, trips={"L7": 3})


def test_loops_of_blur_multiply():
    """A loop in a loop."""
    text = """kernel void k(global volatile int *a) {
      #pragma unroll 1
      for (int j = 0; j < 5; j++)
      #pragma unroll 1
        for (int i = 0; i < 7; i++) a[i] = j;
    }"""
    analysis = analyzed(text)
    assert sorted(loop.trip for loop in analysis.code.loops) == [5, 7]
    assert analysis.work.writes == 35


# ---- counts ----------------------------------------------------------------------------------------------------------


def test_what_an_addition_moves():
    analysis = analyzed(ADD, size=1 << 20)
    assert (analysis.work.read_bytes, analysis.work.write_bytes, analysis.work.flops) == (8, 4, 1)
    assert analysis.estimate.bound_by == "memory"
    assert analysis.estimate.seconds == pytest.approx(12 * 2**20 / (484e9 * analysis.chip.stream_efficiency))
    assert analysis.estimate.roofline.intensity == pytest.approx(1 / 12)


def test_registers_are_the_code_objects():
    from headwater.isa.gcn.codeobject import load
    from headwater.opencl.gcn import compile_code_object

    kernel = load(compile_code_object(MATMUL, "k.cl", "", "gfx900").code, "k").kernel("mm")
    code = build(from_text(MATMUL, "opencl", "k.cl"), chips.find("vega64")).code("mm")
    assert (code.vgprs, code.sgprs) == (kernel.vgpr_count, kernel.sgpr_count)
    assert max(step.live for step in code.steps) <= code.vgprs


def test_arithmetic_is_counted():
    text = """kernel void k(global double *a, global float *b) {
      int i = get_global_id(0);
      a[i] = a[i] * 3.0 + 1.0;
      b[i] = native_sin(b[i]);
    }"""
    analysis = analyzed(text)
    assert analysis.metric("float64").value >= 1
    assert analysis.metric("transcendental").value >= 1
    rates = {
        step.text.split("_e")[0].split(" ")[0]: step.cost.rate for step in analysis.code.steps if step.kind == "VALU"
    }
    assert rates["v_fma_f64"] == "float64_fma"


def test_double_precision_is_slower_where_the_board_says_so():
    text = """kernel void k(global double *a) {
      int i = get_global_id(0);
      double x = a[i];
      #pragma unroll
      for (int n = 0; n < 64; n++) x = fma(x, x, 1.0);
      a[i] = x;
    }"""
    gaming, compute = analyzed(text, "vega64"), analyzed(text, "mi60")
    cycles = [a.work.alu_cycles for a in (gaming, compute)]
    assert cycles[0] > 6 * cycles[1]
    assert any(item.name == "double precision" for item in gaming.advice)
    assert not any(item.name == "double precision" for item in compute.advice)


def test_local_memory():
    text = """kernel void k(global float *a) {
      local float l[64];
      int i = get_local_id(0);
      l[i] = a[i];
      barrier(CLK_LOCAL_MEM_FENCE);
      a[i] = l[63 - i];
    }"""
    analysis = analyzed(text, group=64)
    assert analysis.needs.lds_bytes == 256
    assert analysis.work.local_cycles > 0


def test_code_survives_json():
    code = analyzed(MATMUL).code
    assert Code.from_json(json.loads(json.dumps(code.to_json()))) == code


# ---- the lecture's kernels, compiled ---------------------------------------------------------------------------------

MATVEC = """
kernel void matvec(global const float *A, global const float *x, global float *b, int vectors) {
  local float batch[WG * NB * NM];
  int i = get_local_id(0), base = get_group_id(0) * WG * NB * NM;
  for (int k = 0; k < NB * NM; k++) batch[i + WG * k] = x[base + i + WG * k];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int v = 0; v < NB; v++)
    for (int row = 0; row < NM; row++) {
      float sum = 0;
      for (int column = 0; column < NM; column++) sum += A[row * NM + column] * batch[(i * NB + v) * NM + column];
      b[base + (i * NB + v) * NM + row] = sum;
    }
}
"""


@pytest.mark.parametrize(
    ("group", "batch", "occupancy", "limit"),
    [(128, 32, 0.05, "LDS"), (128, 1, 0.8, "work-groups"), (256, 1, 1.0, "wavefronts")],
)
def test_batched_matrix_vector_products(group, batch, occupancy, limit):
    """AMD, GPU occupancy on GFX9: V0, V1 and V2 (V0's 64 KB leave 2 of 40 wavefronts)."""
    analysis = analyzed(MATVEC, options=f"-D WG={group} -D NB={batch} -D NM=4", group=group)
    assert analysis.needs.lds_bytes == group * batch * 16
    assert analysis.occupancy.occupancy == pytest.approx(occupancy)
    assert limit in analysis.occupancy.limited_by


# ---- advice ----------------------------------------------------------------------------------------------------------


def advice(*args, **options):
    return {item.name: item for item in analyzed(*args, **options).advice}


def test_a_group_that_is_no_multiple_of_the_wavefront():
    item = advice(ADD, group=100)["group size"]
    assert "128 instead of 100" in item.do
    assert item.gain == pytest.approx(1.28)


def test_scalar_fetches_that_could_be_one():
    text = """kernel void k(global const volatile float *a, global float *b) {
      int i = 4 * get_global_id(0);
      b[i / 4] = a[i] + a[i + 1] + a[i + 2] + a[i + 3];
    }"""
    item = advice(text)["vector fetch"]
    assert "4 loads of 4 bytes" in item.because
    assert "vector fetch" not in advice(ADD)


def test_float4_is_advised_only_where_it_helps():
    assert "float4" in advice(ADD)
    wide = ADD.replace("float *", "float4 *")
    assert "float4" not in advice(wide)


def test_small_domains():
    assert "256 are fewer" in advice(ADD, size=256, group=64)["domain"].because
    assert "domain" not in advice(ADD)


def test_a_register_cliff():
    text = (
        "kernel void k(global float *a) { int i = get_global_id(0) * 20; float v[20];\n"
        + "".join(f" v[{n}] = a[i + {n * 999}];\n" for n in range(20))
        + "".join(f" a[i + {n}] = v[{19 - n}] * v[{n}];\n" for n in range(20))
        + "}"
    )
    item = advice(text).get("register cliff")
    analysis = analyzed(text)
    granule = -(-analysis.code.vgprs // 4) * 4
    assert (item is not None) == (256 // granule != 256 // (granule + 4) and granule + 4 > 24)


def test_advice_has_numbers_and_explained_metrics():
    from headwater.analyze.glossary import metrics

    for text in (ADD, MATMUL, MATVEC.replace("WG", "128").replace("NB", "32").replace("NM", "4")):
        for item in analyzed(text).advice:
            assert re.search(r"\d", item.because + item.do), item
            assert item.metric in metrics()


# ---- views -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def kernel_file(tmp_path):
    path = tmp_path / "k.cl"
    path.write_text(MATMUL)
    return path


def test_text_in_full(kernel_file, capsys):
    assert main(["analyze", str(kernel_file), "-d", "vega64", "--arg", "n=64", "--global", "512,512", "--source"]) == 0
    shown = capsys.readouterr().out
    assert "mm on Radeon RX Vega 64 (gfx900)" in shown
    assert "512 × 512 work-items" in shown
    assert re.search(r"L1 +4–4 +64 +proved", shown)
    assert "    4  for (int k = 0; k < n; k++)" in shown
    assert "v_fma_f32" in shown
    assert "alu_fetch_ratio" in shown


def test_chips_side_by_side(kernel_file, capsys):
    names = ["hd7970", "r9-290x", "rx480", "vega64", "mi100"]
    words = [word for name in names for word in ("-d", name)]
    assert main(["analyze", str(kernel_file), *words]) == 0
    shown = capsys.readouterr().out
    assert "Instinct MI100" in shown
    assert "run once" in shown


def test_what_if_marks_differences(kernel_file, capsys):
    words = ["analyze", str(kernel_file), "-d", "vega64", "--arg", "n=64", "--set", "memory_clock_mhz=1890"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^seconds .* -4\d%$", shown, re.MULTILINE)  # the bus turns around no faster
    assert not re.search(r"^vgprs .*%$", shown, re.MULTILINE)


def test_two_files(tmp_path, capsys):
    one, two = tmp_path / "one.cl", tmp_path / "two.cl"
    one.write_text(ADD)
    two.write_text(ADD.replace("float *", "float4 *").replace("void add", "void add4"))
    assert main(["analyze", str(one), str(two), "-d", "vega64"]) == 0
    shown = capsys.readouterr().out
    assert "add, Radeon RX Vega 64" in shown
    assert "add4, Radeon RX Vega 64" in shown
    assert "+300%" in shown


def test_json_has_the_documented_schema(kernel_file, capsys):
    from headwater.analyze.glossary import metrics

    assert main(["analyze", str(kernel_file), "-d", "vega64", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "headwater analyze 1"
    (analysis,) = data["analyses"]
    assert set(analysis["metrics"]) <= set(metrics())
    assert {
        "kernel",
        "device",
        "target",
        "occupancy",
        "launch",
        "estimate",
        "paths",
        "loops",
        "lines",
        "code",
        "advice",
        "assumptions",
    } <= set(analysis)
    assert set(analysis["paths"]) == {"minimum", "average", "maximum"}
    page = (headwater_root() / "docs" / "analyzer.md").read_text()
    for key in analysis:
        assert f"`{key}`" in page, key


def headwater_root():
    from pathlib import Path

    return Path(__file__).resolve().parents[2]


def test_the_page_is_self_contained(kernel_file, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["analyze", str(kernel_file), "-d", "vega64", "-d", "hd7970", "--html", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert not re.search(r'(?:src|href)="|url\(|@import', text)
    assert set(re.findall(r"https?://[^\"'< ]*", text)) <= {"http://www.w3.org/2000/svg"}
    assert text.count("<svg") == 8  # occupancy over three resources and the roofline, for each chip
    assert text.count('<div class="bars">') == 3
    assert "for (int k = 0; k &lt; n; k++)" in text
    assert 'data-l="' in text
    from html.parser import HTMLParser

    class Balanced(HTMLParser):
        def __init__(self):
            super().__init__()
            self.stack = []

        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "br", "line", "rect", "circle", "polyline", "polygon"):
                self.stack.append(tag)

        def handle_endtag(self, tag):
            if tag not in ("line", "rect", "circle", "polyline", "polygon"):
                while self.stack[-1] in ("li", "p") and self.stack[-1] != tag:
                    self.stack.pop()
                assert self.stack.pop() == tag

    Balanced().feed(text)


def test_a_second_look_is_remembered(kernel_file, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path / "cache"))
    words = ["analyze", str(kernel_file), "-d", "vega64"]
    assert main(words) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr("headwater.analyze.entry.analyze", lambda *a, **k: pytest.fail("analyzed again"))
    assert main(words) == 0
    assert capsys.readouterr().out == first
    kernel_file.write_text(MATMUL + "\n")
    with pytest.raises(BaseException, match="analyzed again"):
        main(words)


# ---- Brook+ and programs ---------------------------------------------------------------------------------------------


def test_brook_kernels_by_their_own_lines(tmp_path, capsys):
    path = tmp_path / "saxpy.br"
    path.write_text("kernel void saxpy(float x<>, float y<>, float a, out float z<>) {\n  z = a * x + y;\n}\n")
    analysis = analyzed(str(path))
    assert analysis.name == "saxpy"
    assert analysis.code.kernel == "saxpy_linear4"
    assert any(step.line == (str(path), 2) and step.via is not None for step in analysis.code.steps)
    assert list(analysis.built.texts) == [str(path), f"{path}.cl"]


def test_programs_and_kernels_of_python():
    program = headwater.compile(ADD.replace("void add", "void sum"))
    assert headwater.analyze(program.sum, device="mi50")[0].name == "sum"
    assert len(headwater.analyze(program, device=["mi50", "vega64"])) == 2


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-d", "vega46"], "did you mean vega64"),
        ([], "which chip?"),
        (["-d", "vega64", "--kernel", "mmm"], "did you mean 'mm'"),
        (["-d", "vega64", "--local", "2048"], "has 1 to 1024"),
        (["-d", "vega64", "--global", "0"], "one to three numbers from 1"),
        (["-d", "vega64", "--hit", "2"], "0 to 1"),
        (["-d", "vega64", "--trip", "L1"], "NAME=WHOLE NUMBER"),
        (["-d", "vega64", "--lds", "100000"], "bytes of LDS"),
        (["-d", "vega64", "--set", "speed=1"], "no figure 'speed'"),
    ],
)
def test_bad_words(words, message, kernel_file, capsys):
    assert main(["analyze", str(kernel_file), *words]) == 2
    assert message in capsys.readouterr().err


def test_files_that_are_none(tmp_path, capsys):
    assert main(["analyze", str(tmp_path / "none.cl"), "-d", "vega64"]) == 2
    assert "cannot read" in capsys.readouterr().err
    other = tmp_path / "notes.txt"
    other.write_text("hello")
    assert main(["analyze", str(other), "-d", "vega64"]) == 2
    assert "cannot tell the language" in capsys.readouterr().err


def test_a_kernel_that_does_not_compile():
    with pytest.raises(SourceError, match="undeclared"):
        analyzed("kernel void k(global float *a) { a[0] = b; }")


def test_a_kernel_that_does_not_fit():
    text = "__attribute__((reqd_work_group_size(1024,1,1))) kernel void k(global float *a) { a[0] = 1; }"
    analysis = analyzed(text)
    assert analysis.group == (1024, 1, 1)
    with pytest.raises(UsageError, match="reqd_work_group_size"):
        analyzed(text, group=64)
    with pytest.raises(LaunchError, match="32768"):
        analyzed(ADD, "hd7970", lds_bytes=40000)


def test_some_chips_refuse():
    text = "kernel void k(global double *a) { int i = get_global_id(0); a[i] *= 2.0; }"
    report = headwater.analyze(text, device=["hd5770", "hd5870", "vega64"])
    assert [a.chip.name for a in report] == ["Radeon HD 5870", "Radeon RX Vega 64"]
    (refused,) = report.refused
    assert refused.device == "Radeon HD 5770"
    assert "double precision" in str(report)
    assert report.as_json()["refused"][0]["device"] == "Radeon HD 5770"
    with pytest.raises(SourceError, match="double precision"):
        analyzed(text, "hd5770")


def test_each_chip_side_by_side_has_its_advice(kernel_file, capsys):
    assert main(["analyze", str(kernel_file), "-d", "vega64", "-d", "hd5870"]) == 0
    text = capsys.readouterr().out
    for report in headwater.analyze(str(kernel_file), device=["vega64", "hd5870"]):
        told = text.partition(f"  {report.chip.name}:\n")[2]
        assert told
        for item in [item for item in report.advice if item.metric != "trip"][:3]:
            assert " ".join(item.do.split()) in " ".join(told.split())
