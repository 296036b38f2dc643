"""A sweep's page of plots: what its lines, dots, bars and tables show, and that it loads nothing."""

import re
from html.parser import HTMLParser

import pytest

from headwater.sweep.plots import MOST_DOTS, html
from headwater.sweep.table import Table
from headwater.views import svg


def made(rows, keys=3):
    names = list(rows[0])
    return Table({name: [row.get(name) for row in rows] for name in names}, keys)


def rows():
    return [
        {"kernel": kernel, "device": device, "clock_mhz": clock, "n": n,
         "seconds": n * base / clock, "gflops": clock / base, "error": None}
        for kernel, base in (("first", 1.0), ("<second>", 2.0))
        for device in ("vega64", "hd5870")
        for clock in (800, 1200, 1600)
        for n in (16, 32)
    ]  # fmt: skip


class Checked(HTMLParser):
    """Fails on tags that are not closed, and collects what would be loaded."""

    def __init__(self):
        super().__init__()
        self.open, self.loaded = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.loaded += [value for name, value in attributes if name in ("src", "href")]

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing():
    page = html(made(rows(), 4), "results & more")
    checked = Checked()
    checked.feed(page)
    assert checked.open == []
    assert checked.loaded == []
    assert "results &amp; more" in page
    assert "&lt;second&gt; on vega64" in page
    assert "<second>" not in page
    assert "24 points, 0 failed" in page


def test_lines_are_the_best_of_what_else_varies():
    page = html(made(rows(), 4), "t")
    seconds, gflops = page.split("<h2>gflops</h2>")
    over_clock = re.search(r"<title>seconds over clock_mhz</title>.*?</svg>", seconds, re.DOTALL)[0]
    assert over_clock.count("<polyline") == 4  # kernels × chips
    assert over_clock.count("<circle") == 24  # all points
    assert "<title>seconds over n</title>" in seconds
    assert "<title>gflops over clock_mhz</title>" in gflops
    least = re.findall(r"<b>([^<]*)</b>.*?<small>([^<]*)</small>", seconds.split("by kernel, least")[1], re.DOTALL)
    assert least[:2] == [("first", "0.01"), ("&lt;second&gt;", "0.02")]
    greatest = re.findall(r"<b>([^<]*)</b>.*?<small>([^<]*)</small>", gflops.split("by kernel, greatest")[1], re.DOTALL)
    assert greatest[0] == ("first", "1600")


def test_places_on_a_plot_are_in_proportion():
    shown = svg.lines_and_dots([("a", [(0, 0), (1, 5), (2, 10)])], [], "x", "y")
    places = [tuple(map(float, pair.split(","))) for pair in re.search(r'points="([^"]+)"', shown)[1].split()]
    assert places[1][0] == pytest.approx((places[0][0] + places[2][0]) / 2, abs=0.02)
    assert places[1][1] == pytest.approx((places[0][1] + places[2][1]) / 2, abs=0.02)
    assert places[0][1] > places[2][1]
    far = svg.lines_and_dots([("a", [(1, 1), (10, 10), (100, 100)])], [], "x", "y")
    places = [tuple(map(float, pair.split(","))) for pair in re.search(r'points="([^"]+)"', far)[1].split()]
    assert places[1][0] == pytest.approx((places[0][0] + places[2][0]) / 2, abs=0.02)  # logarithmic


@pytest.mark.parametrize(
    "line", [[(3, 7)], [(0, 0), (0, 0)], [(-5, -1), (5, 1)], [(1e-9, 1e-12), (1e9, 1e12)], [(1, 1e-300), (2, 1e-299)]]
)
def test_axes_of_any_numbers(line):
    shown = svg.lines_and_dots([("a", line)], [], "x", "y")
    assert "nan" not in shown
    assert 'class="tick"' in shown


def test_missing_figures_failures_and_many_points():
    many = [{"device": "vega64", "n": n, "seconds": None if n % 2 else n / 10, "error": "no" if n % 2 else None}
            for n in range(1, 2 * MOST_DOTS + 6)]  # fmt: skip
    page = html(made(many, 2), "t")
    assert f"{len(many):,} points, {len(many) // 2 + 1:,} failed" in page
    assert "<circle" not in page
    assert page.count("<polyline") == 1
    assert "Least time" in page
    empty = html(Table({"kernel": [], "seconds": []}, 1), "t")
    assert "0 points" in empty


def test_tables_are_saved_as_pages(tmp_path):
    made(rows(), 4).save(tmp_path / "clocks.html")
    text = (tmp_path / "clocks.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "<title>clocks</title>" in text


def test_pandas_and_parquet_hold_the_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = made(rows(), 4)
    frame = table.pandas()
    assert list(frame.columns) == list(table.columns)
    assert frame.groupby("kernel")["seconds"].min().to_dict() == {"first": 0.01, "<second>": 0.02}
    table.save(tmp_path / "t.parquet")
    back = parquet.read_table(tmp_path / "t.parquet").to_pydict()
    assert back == {name: list(values) for name, values in table.columns.items()}
    assert pandas.read_parquet(tmp_path / "t.parquet")["clock_mhz"].tolist() == table["clock_mhz"]
