"""Every metric, mnemonic and field can be explained, and what is wrong with a source is found, in all languages."""

import json
import re
from pathlib import Path

import pytest

from headwater.analyze import check as checking, explain as explaining
from headwater.analyze.glossary import metrics
from headwater.analyze.sources import from_text
from headwater.chips.gcn_isas import ISAS
from headwater.cli import main
from headwater.isa.gcn import encodings as gcn_encodings, table as gcn_table
from headwater.isa.vliw import table as vliw_table
from headwater.isa.vliw.encodings import FIELD_NAMES

ROOT = Path(__file__).resolve().parents[2]


def test_every_metric_has_all_that_a_reader_needs():
    for entry in metrics().values():
        assert all((entry.title, entry.definition, entry.threshold, entry.consequence, entry.source)), entry.name
        (found,) = explaining.explain(entry.name)
        assert found.kind == "metric"


def test_every_metric_of_the_report_is_in_the_glossary():
    source = "".join(path.read_text() for path in sorted((ROOT / "headwater" / "analyze").glob("*.py")))
    names = set(re.findall(r'Metric\(\s*"(\w+)"', source)) | {"gprs", "vgprs"}
    assert len(names) > 20
    assert names <= set(metrics())


def test_every_gcn_instruction_is_explained():
    for row in gcn_table.rows():
        found = explaining.explain(row.name)
        assert any(one.kind == "instruction" for one in found), row.name
        assert all(text for one in found for _, text in one.lines), row.name


def test_every_vliw_instruction_is_explained():
    for row in vliw_table.rows():
        for name in (row.name, row.mnemonic, row.name.lower()):
            assert any(one.kind == "instruction" for one in explaining.explain(name)), name


def test_flags_are_those_of_the_family():
    for flags, rows in ((explaining._GCN_FLAGS, gcn_table.rows()), (explaining._VLIW_FLAGS, vliw_table.rows())):
        assert set(flags) <= {flag for row in rows for flag in row.flags}


def test_every_field_is_explained():
    assert [name for name in FIELD_NAMES if explaining.field_text("vliw", name) is None] == []
    gcn = {
        str(name)
        for isa in ISAS
        for layout in gcn_encodings.layouts(isa).values()
        for name in getattr(layout, "fields", layout)
    }
    assert len(gcn) > 50
    assert [name for name in sorted(gcn) if explaining.field_text("gcn", name) is None] == []


def test_suffixes_and_case():
    assert explaining.explain("v_fma_f32_e64") == explaining.explain("V_FMA_F32")
    (found,) = explaining.explain("muladd_ieee")
    assert ("does", "D = S0 * S1 + S2") in found.lines
    assert explaining.explain("ALU:fetch ratio")[0].heading.startswith("alu_fetch_ratio")


def test_on_the_command_line(capsys):
    assert main(["explain", "alu_fetch_ratio", "BURST_COUNT", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [one["kind"] for one in data] == ["metric", "field"]
    assert main(["explain", "Ocupancy"]) == 2
    assert "did you mean occupancy" in capsys.readouterr().err
    assert main(["explain", "--list"]) == 0
    assert "alu_fetch_ratio  ALU:fetch ratio" in capsys.readouterr().out
    assert main(["explain"]) == 2


# ---- check -----------------------------------------------------------------------------------------------------------


def found(text, language):
    return [(d.line, d.column, d.severity) for d in checking.check(from_text(text, language, f"k.{language}"))]


def test_all_errors_of_opencl_with_their_places():
    text = "kernel void f(global float *a) {\n  int i = get_globl_id(0);\n  a[i] = foo;\n}\n"
    assert found(text, "opencl") == [(2, 11, "error"), (3, 10, "error")]


def test_warnings_are_no_errors(tmp_path, capsys):
    path = tmp_path / "k.cl"
    path.write_text("kernel void f(global float *a) {\n  a[0] == 1;\n}\n")
    assert main(["check", str(path)]) == 0
    assert f"{path}:2:8: warning: " in capsys.readouterr().out


def test_brook():
    assert found("kernel void s(float a<>, out float c<>) {\n  c = a + d;\n}\n", "brook")[0][0] == 2
    assert found("kernel void s(float a<>, out float c<>) {\n  c = ;\n}\n", "brook") == [(2, 7, "error")]


def test_il():
    assert found("il_ps_2_0\ndcl_output_generic o0\nmvo o0, r1\nend\n", "il")[0][:2] == (3, 1)


def test_what_is_right():
    for path in [*ROOT.glob("examples/*/*.cl"), *ROOT.glob("examples/*/*.br")][:6]:
        assert main(["check", str(path)]) == 0


def test_json_and_standard_input(capsys, monkeypatch):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("kernel void f(global float *a) { a[0] = b; }"))
    assert main(["check", "-", "--language", "opencl", "--json"]) == 2
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["file"], one["line"], one["column"], one["severity"]) == ("<stdin>", 1, 41, "error")


@pytest.mark.parametrize(
    ("text", "language"),
    [("il_ps_2_0\nend\n", "il"), ("kernel void s(float a<>) {}", "brook"), ("kernel void k() {}", "opencl")],
)
def test_languages_are_told_apart(text, language):
    assert from_text(text).language == language
