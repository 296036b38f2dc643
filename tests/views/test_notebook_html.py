"""What notebooks show of objects: escaped, without scripts, well-formed, in both themes."""

import importlib.util
import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.timing import Recorded
from headwater.timing.html import WAIT_COLOURS
from headwater.views.notebook import array

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "notebook"
SOURCE = """\
/* </pre><script>alert(1)</script> */
kernel void f(global const float *x, global float *y, float a) { int i = get_global_id(0); y[i] = x[i] < a ? 1 : x[i]; }
"""


class Balanced(HTMLParser):
    """Fails unless every tag is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(text):
    parser = Balanced()
    parser.feed(text)
    assert not parser.open
    assert "script" not in parser.seen
    assert "prefers-color-scheme:dark" in text
    return text


@pytest.fixture(scope="module")
def program():
    return hw.compile(SOURCE, language="opencl")


def test_kernels_show_arguments_and_their_source(program):
    text = checked(program.f._repr_html_())
    assert "<td>x</td><td>float*</td><td>read</td>" in text
    assert "&lt;script&gt;alert(1)" in text
    brook = hw.compile("kernel void g(float a<>, out float b<>) { b = a * 2.0f; }", language="brook")
    assert "float a&lt;&gt;" in checked(brook.g._repr_html_())


def test_analyses_show_chips_side_by_side(program):
    report = program.f.report(["hd5870", "vega64"], size=4096, group=64)
    text = checked(report._repr_html_())
    assert "f on Radeon HD 5870" in text
    assert "f on Radeon RX Vega 64" in text
    assert "Occupancy (share)" in text
    assert "Vega" not in checked(report[0]._repr_html_())


def test_simulations_show_causes_and_gains_and_names_of_chips_are_escaped(program, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('base = "vega64"\nname = "<img src=x onerror=alert(1)>"\n')
    x = np.ones(4096, np.float32)
    launch = Recorded(lambda: program.f[(4096,), (64,)](x, x.copy(), 2.0, device="vega64")).launches[0]
    text = checked(launch.report(chips.find(str(file)), gains=True)._repr_html_())
    assert "<img" not in text
    assert "&lt;img" in text
    assert "what if" in text


def test_a_wait_has_one_colour_on_all_pages(program):
    x = np.ones(4096, np.float32)
    launch = Recorded(lambda: program.f[(4096,), (64,)](x, x.copy(), 2.0, device="vega64")).launches[0]
    report = launch.report(chips.find("vega64"))
    few = report.__class__(**{**vars(report), "causes": {"vector memory": 0.4, "empty": 0.6}})
    for one in (report, few):
        for name, part in one.causes.items():
            if part >= 0.0005:
                assert f'<i class="mix{WAIT_COLOURS[name]}"></i>{name} ' in one._repr_html_()
    assert len(set(WAIT_COLOURS.values())) == len(WAIT_COLOURS)


def test_streams_show_values_unless_they_are_large():
    small = hw.stream(np.arange(200, dtype=np.float32).reshape(10, 20), device="cpu")
    text = checked(small._repr_html_())
    assert "Stream float32, 10 × 20" in text
    assert "0.0 to 199.0" in text
    assert ">7</td>" in text
    assert ">8</td>" not in text
    large = hw.stream(np.zeros(1 << 19, np.float32), device="cpu")
    assert "<table" not in checked(large._repr_html_())
    checked(array("<b>", "&", np.array([], np.float32)))


def test_the_examples_cells_run_and_the_notebook_is_that_of_the_script():
    spec = importlib.util.spec_from_file_location("example_notebook", EXAMPLE / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    ran = make.notebook()
    kept = json.loads((EXAMPLE / "kernels.ipynb").read_text(encoding="utf-8"))
    assert [cell["source"] for cell in ran["cells"]] == [cell["source"] for cell in kept["cells"]]
    assert (kept["nbformat"], len({cell["id"] for cell in kept["cells"]})) == (4, len(kept["cells"]))
    shown = [
        "".join(output["data"]["text/html"])
        for cell in kept["cells"]
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]
    assert len(shown) == 5
    frames = [text for text in shown if text.startswith("<iframe")]
    assert len(frames) == 1  # whose page has scripts of its own: tests/ui opens it in a browser
    for text in shown:
        if text not in frames:
            checked(text)
    assert "the same on both: True\n" in str(ran) or "the same on both: True" in str(ran)
