"""What docs/command-line.md tells scripts: the keys of --json, exit codes, and what a failure prints."""

import json
import re
from pathlib import Path

import pytest

from headwater.cli import COMMANDS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
RUNS = {
    "run": [
        ["vadd.cl", "a.npy", "b.npy", "--verify", "vega64", "--time", "--repeat", "2"],
        ["sum.br", "a.npy", "b.npy", "--kernel", "add"],
    ],
    "simulate": [["vadd.cl", "a.npy", "b.npy", "-d", "vega64", "--repeat", "2"]],
    "stats": [["vadd.cl", "a.npy", "b.npy", "-d", "vega64"], ["vadd.cl", "a.npy", "b.npy", "-d", "hd5870"]],
    "occupancy": [["-d", "vega64", "--curve", "group"]],
    "disasm": [["vadd.cl", "-d", "vega64"], ["vadd.cl", "-d", "hd5870"]],
    "check": [["wrong.cl"]],
    "explain": [["occupancy"], ["--list"]],
    "validate": [["stream-2m-alu"]],
    "devices": [["--chips"]],
    "cache": [["show"]],
}


def documented(command):
    text = PAGE.read_text(encoding="utf-8")
    (entry,) = re.findall(rf"^- `{command}`: (.*?)(?=^- |^$)", text, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`(\w+)`", entry))


# Objects whose keys are names of a chip's parts or of its makers' counters, or numbers.
NAMED = {"causes", "wave_causes", "classes", "clauses", "busy", "constant_buffers", "counters"}


def inner_keys(value, of=""):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from () if of in NAMED else (name,)
            yield from inner_keys(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from inner_keys(inner, of)


@pytest.mark.parametrize("command", RUNS)
def test_every_key_that_is_printed_is_documented(folder, headwater, command):
    (folder / "wrong.cl").write_text("kernel void k(global int *x) { x[0] = y; }")
    for words in RUNS[command]:
        ran = headwater(command, *words, "--json")
        assert ran.code == (2 if command == "check" else 0), ran.err
        found = json.loads(ran.out)
        first = found[0] if isinstance(found, list) else found
        keys = set(first)
        for inner in ("launches", "program", "seconds", "verify"):
            part = first.get(inner)
            part = part[0] if isinstance(part, list) else part
            keys |= set(part) if isinstance(part, dict) else set()
        assert keys <= documented(command)
        assert set(inner_keys(found)) <= set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))


def test_the_page_names_every_command_with_json(headwater):
    said = set(re.findall(r"^- `(\w+)`: ", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    takes = {name for name in COMMANDS if "  --json  " in headwater(name, "--help").out}
    assert takes == said


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["run", "none.cl", "zeros:3"], "UsageError"),
        (["run", "vadd.cl", "a.npy", "b.npy", "-d", "none"], "DeviceError"),
        (["check", "none.cl"], "UsageError"),
        (["devices", "none"], "UsageError"),
    ],
)
def test_failures_are_objects_too(folder, headwater, words, kind):
    ran = headwater(*words, "--json")
    error = json.loads(ran.out)["error"]
    assert (ran.code, error["exit_code"], error["type"]) == (2, 2, kind)
    assert error["message"] in ran.err


def test_a_fault_of_a_source_has_its_place(folder, headwater):
    (folder / "wrong.cl").write_text("kernel void k(global int *x) {\n  x[0] = y;\n}\n")
    error = json.loads(headwater("run", "wrong.cl", "zeros:3", "--json").out)["error"]
    assert (error["type"], error["file"], error["line"], error["column"]) == ("SourceError", "wrong.cl", 2, 10)


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_what_kernels_print_is_no_json(folder, headwater, device):
    (folder / "print.cl").write_text('kernel void k(global int *x) { printf("x[0] is %d\\n", x[0]); x[0] = 5; }')
    ran = headwater("run", "print.cl", "zeros:1", "--json", "-d", device)
    assert json.loads(ran.out)["outputs"][0]["value"] == 5
    assert "x[0] is 0" in ran.err
