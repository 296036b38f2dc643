"""The other commands: overview, devices, cache, brcc, bench and demo."""

import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from headwater.cli import COMMANDS


def test_help_shows_every_command(headwater):
    ran = headwater("--help")
    assert ran.code == 0
    assert all(f"  {name} " in ran.out for name in COMMANDS)
    assert headwater().out == ran.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_teaches_by_examples(headwater, command):
    ran = headwater(command, "--help")
    assert ran.code == 0
    assert f"headwater {command}" in ran.out
    assert "examples:" in ran.out
    assert headwater("help", command).out == ran.out


def test_version(headwater):
    from headwater import __version__

    assert headwater("--version").out == f"headwater {__version__}\n"


def test_an_unknown_command_suggests_the_nearest(headwater):
    ran = headwater("devcies")
    assert ran.code == 2
    assert "did you mean devices?" in ran.err
    assert "headwater run k.cl" in headwater("k.cl").err


def test_devices_lists_the_cpu_first(headwater):
    ran = headwater("devices", "--json")
    rows = json.loads(ran.out)
    assert rows[0]["name"] == "cpu"
    assert sum(row["default"] for row in rows) == 1
    assert all(row["compute_units"] >= 1 and row["memory_bytes"] > 0 for row in rows)
    assert "cpu" in headwater("devices").out


def test_cache_shows_and_clears(headwater, tmp_path, monkeypatch):
    from headwater.base import cache

    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    cache.put("abcdef", {"x": b"12345"})
    shown = json.loads(headwater("cache", "--json").out)
    assert shown["entries"] == 1
    assert str(tmp_path) in shown["path"]
    assert "1 entry" in headwater("cache").out
    assert json.loads(headwater("cache", "clear", "--json").out)["removed"] == 1
    assert json.loads(headwater("cache", "--json").out)["entries"] == 0
    assert headwater("cache", "burn").code == 2


def test_brcc_writes_opencl_and_a_python_module(folder, headwater):
    ran = headwater("brcc", "sum.br")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.split() == ["sum.cl", "sum.py"]
    assert "kernel void" in (folder / "sum.cl").read_text()
    script = "import numpy as np, sum as s; print(s.add(np.ones(3, np.float32), np.ones(3, np.float32)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.stdout == "[2. 2. 2.]\n", done.stderr


def test_brcc_tells_other_languages(folder, headwater):
    (folder / "k.cl").write_text("kernel void f(global float *a) { a[0] = 1; }")
    ran = headwater("brcc", "k.cl")
    assert ran.code == 2
    assert ran.err.startswith("headwater: error: k.cl is OpenCL C; brcc translates Brook+\n  hint: headwater run k.cl")


def test_brcc_takes_the_old_flags(folder, headwater):
    (folder / "sub").mkdir()
    ran = headwater("brcc", "-k", "-r", "-p", "cal", "-w", "2", "-o", "sub/out", "sum.br")
    assert (ran.code, ran.err) == (0, "")
    assert (folder / "sub" / "out.cl").exists()
    assert headwater("brcc", "-Z", "sum.br").code == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./-dash.br", "'-dash' is no name of a module that Python imports\n  hint: choose another: -o dash\n"),
        ("a-b.br", "'a-b' is no name of a module that Python imports\n  hint: choose another: -o a_b\n"),
        ("1d.br", "'1d' is no name of a module that Python imports\n  hint: choose another: -o kernels_1d\n"),
        ("class.br", "'class' is no name of a module that Python imports\n  hint: choose another: -o kernels_class\n"),
        (
            "copy.br",
            "copy.py would stand in the way of another module, copy\n  hint: choose another: -o kernels_copy\n",
        ),
    ],
)
def test_brcc_refuses_names_that_python_cannot_import(folder, headwater, name, message):
    source = (folder / "sum.br").rename(folder / name)
    ran = headwater("brcc", name)
    assert (ran.code, ran.err) == (2, f"headwater: error: {message}")
    assert headwater("brcc", "-o", message.rpartition(" ")[2].strip(), name).code == 0
    assert source.exists()


def test_brcc_writes_nothing_if_the_source_is_wrong(folder, headwater):
    (folder / "bad.br").write_text("kernel void k(float a<>, out float b<>) { b = a + 1; }\n")
    ran = headwater("brcc", "sum.br", "bad.br")
    assert ran.code == 2
    assert ran.err.startswith("headwater: bad.br:1:")
    assert not (folder / "sum.cl").exists()


def test_bench_refuses_what_it_cannot_do(headwater):
    assert headwater("bench", "--rounds", "none").code == 2
    assert headwater("bench", "--device", "hd9999").code == 2


def test_bench_names_the_kernels_that_there_are():
    command = [sys.executable, "-m", "headwater", "bench", "--kernels", "nosuch"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: --kernels: no nosuch; there are add, saxpy, ")


def test_demo_writes_a_picture_and_prints_a_table(folder, headwater):
    ran = headwater("demo", "--options-count", "10k", "-o", "demo.png")
    assert (ran.code, ran.err) == (0, "")
    assert "median filter and Black-Scholes on " in ran.out
    assert ran.out.count("Brook+") == ran.out.count("OpenCL C") - 1 == 2
    assert Image.open("demo.png").size == (1207, 400)


def test_demo_cleans_the_picture_and_prices_rightly(folder, headwater):
    report = json.loads(headwater("demo", "--options-count", "10k", "--json").out)
    quality = [line["quality"] for line in report["lines"]]
    for text in quality[:3]:
        before, after = (float(word) for word in text.split() if word.replace(".", "").isdigit())
        assert after > before + 10
    for text in quality[3:5]:
        assert float(text.split("±")[1]) < 2e-4


def test_demo_takes_a_picture_of_ones_own(folder, headwater):
    ran = headwater("demo", "in.png", "--options-count", "1k", "-o", "own.png")
    assert (ran.code, ran.err) == (0, "")
    assert headwater("demo", "nothere.png").code == 2
    Image.fromarray(np.zeros((2, 2), np.uint8)).save("tiny.png")
    assert "too small" in headwater("demo", "tiny.png").err


def test_half_blocks_keep_the_proportions():
    from headwater.cli.terminal import half_blocks

    text = half_blocks(np.full((40, 80, 3), (1, 2, 3), np.uint8), width=20)
    assert len(text.splitlines()) == 5
    assert text.count("▀") == 100
    assert "38;2;1;2;3" in text
