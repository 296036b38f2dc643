"""Counters of AMD's profilers, classes, clauses, modifiers, units and waits are found under their own names."""

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.analyze.code import VLIW_CLASSES
from headwater.analyze.explain import counters, explain, terms
from headwater.emulate.recorded import statistics
from headwater.emulate.watch.hooks import watching
from headwater.emulate.watch.trace import Recording
from headwater.isa.gcn.cost import UNITS
from headwater.isa.vliw import names
from headwater.timing import Recorded, layout, vliw_layout

SOURCE = """\
kernel void steps(global const float *x, global float *y)
{
    local float t[2048];
    int l = get_local_id(0);
    t[l * 32] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    float s = t[l * 32];
    if (l % 2) s = s * 3 + 1;
    y[get_global_id(0)] = s;
}
"""


@pytest.fixture(scope="module", params=["vega64", "hd5870"])
def found(request):
    program = hw.compile(SOURCE, language="opencl")
    x = np.ones(1 << 13, np.float32)
    launch = program.steps[(1 << 13,), (64,)]
    report = Recorded(lambda: launch(x, x.copy(), device=request.param)).launches[0].report(chips.find(request.param))
    recordings = []

    def record():
        recordings.append(Recording())
        return recordings[-1]

    with watching(record):
        launch(x, x.copy(), device=request.param)
    return report, statistics(recordings[0])


def test_results_have_every_counter_of_the_family_and_explain_knows_it(found):
    report, counted = found
    got = report.counters | counted.counters
    family = "vliw" if report.chip.is_vliw else "gcn"
    assert set(got) == {name for name, row in counters().items() if row.get("family", family) == family}
    assert report.as_json()["counters"] == report.counters
    for name in got:
        (one,) = [text for text in explain(name) if text.kind == "counter"]
        assert one.heading.startswith(f"{name}: counter")


def test_counters_say_what_the_report_says(found):
    report, counted = found
    got = report.counters | counted.counters
    assert got["Wavefronts"] == report.wavefronts == 128
    busy = {unit.name: 100 * unit.busy for unit in report.units}
    assert got["LDSBankConflict"] > 0
    assert got["LDSBankConflict"] < busy["LDS"]
    if report.chip.is_vliw:
        assert got["ALUBusy"] == busy["stream cores"]
        assert (got["FetchInsts"], got["WriteInsts"]) == (1, 1)
        assert got["ALUFetchRatio"] == got["ALUInsts"] > 5
        assert 20 < got["ALUPacking"] < 100
        assert got["FastPath"] + got["CompletePath"] == 32  # KiB: all of y once, in whole lines
        assert got["PathUtilization"] == 100
    else:
        assert got["VALUBusy"] == busy["vector ALU"]
        assert (got["VFetchInsts"], got["VWriteInsts"], got["LDSInsts"]) == (1, 1, 2)
        assert got["SFetchInsts"] >= 2
        assert 32 <= got["FetchSize"] < 40  # KiB: x once, code and arguments
        assert got["WriteSize"] == 0  # y lies in the L2
    assert 50 <= got["VALUUtilization"] <= 100


def test_every_class_clause_modifier_unit_and_wait_has_its_text(found):
    report, _ = found
    words = [*UNITS, *VLIW_CLASSES, *names.FLAGS.values(), *names.FIELD_WORDS.values()]
    words += [
        *filter(None, names.VECTOR_SWIZZLES),
        *filter(None, names.SCALAR_SWIZZLES),
        "UPDATE_EXEC_MASK",
        "PV",
        "QA.pop",
    ]
    words += [word for _, word in (*layout.CAUSES, *vliw_layout.CAUSES, *vliw_layout.CLAUSES)]
    words += [*report.causes, *(unit.name for unit in report.units), "quad_perm", "dst_sel", "glc", "offen", "*2"]
    for word in dict.fromkeys(words):
        assert explain(word), word
    assert {term["kind"] for term in terms().values()} == {"class", "clause", "modifier", "unit", "wait"}
