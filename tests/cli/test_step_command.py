"""``headwater step``: scripts, JSON, and what it says where it cannot work."""

import json

import numpy as np
import pytest


def script(folder, text):
    (folder / "look.txt").write_text(text)
    return "--commands look.txt"


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_a_script_sees_known_values_and_results_are_those_of_run(headwater, folder, device):
    look = script(folder, "break 5; continue  # at the sum\nprint a[7:9]\nstep; where\nback line; goto 0; print c[7]")
    done = headwater(*f"step vadd.cl a.npy b.npy --device {device} -o c.npy {look}".split())
    assert done.code == 0, done.err
    assert "breakpoint 1" in done.out
    assert "c[i] = a[i] + b[i];" in done.out
    assert "a[7]  7  8" in done.out
    assert done.out.rstrip().splitlines()[-2].split() == ["c[7]", "0"]
    assert np.array_equal(np.load("c.npy"), np.arange(100, dtype=np.float32) + 0.5)


def test_json_is_a_line_for_each_command(headwater, folder):
    look = script(folder, "break s_endpgm; continue; print v0 u32")
    done = headwater(*f"step vadd.cl a.npy b.npy --device vega64 --json {look}".split())
    assert done.code == 0, done.err
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [one["command"] for one in answers] == ["where", "break s_endpgm", "continue", "print v0 u32"]
    state = answers[2]["state"]
    assert state["stop"] == {"reason": "breakpoint", "text": "s_endpgm: s_endpgm", "number": 1}
    memory = next(one for one in state["memories"] if one["name"] == "c")
    assert memory["elements"] == [n + 0.5 for n in range(64)]
    assert len(state["vectors"]["v0"]) == 64


def test_quit_leaves_without_results(headwater, folder):
    done = headwater(*f"step vadd.cl a.npy b.npy --device hd6970 -o c.npy {script(folder, 'stepi 3; quit')}".split())
    assert done.code == 0
    assert not (folder / "c.npy").exists()


def test_every_command_answers(headwater, folder):
    lines = [
        "help", "list 4", "source", "waves", "regs", "lane 3", "lds", "memory", "break", "clause", "barrier", "goto 2",
        "watch c[1]", "break v_add_f32", "break", "continue", "back stop", "delete 1", "wave 0", "differ 0 1", "leave",
    ]  # fmt: skip
    look = script(folder, "\n".join(lines))
    done = headwater(*f"step vadd.cl a.npy b.npy --device vega64 --json {look}".split())
    assert done.code == 0, done.err
    answers = {one["command"]: one["lines"] for one in map(json.loads, done.out.splitlines())}
    assert list(answers) == ["where", *dict.fromkeys(lines)]
    assert all(answers[line] for line in lines if line != "delete 1")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--device cpu", "cpu is not a simulated chip"),
        ("--device vega64 --commands none.txt", "cannot read none.txt"),
    ],
)
def test_what_cannot_be_stepped_is_refused(headwater, folder, words, said):
    done = headwater(*f"step vadd.cl a.npy b.npy {words}".split())
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("stepp", "did you mean step?"),
        ("step 0", "at least one is expected"),
        ("print", "print takes a register or memory"),
        ("print v0 f99", "there is no type 'f99'"),
        ("print nothing", "there is no memory called 'nothing'"),
        ("differ 0", "two lanes are expected"),
        ("goto 100000", "the launch has"),
        ("group 7", "there is no work-group (7, 0, 0)"),
        ("wave 9", "the work-group has no wavefront 9"),
        ("back", "this is the beginning of the launch"),
        ("break 2 wave x", "the number of a wavefront is expected"),
        ("print 'v0", "No closing quotation"),
    ],
)
def test_wrong_commands_end_a_script_with_a_word_that_helps(headwater, folder, command, said):
    done = headwater(*f"step vadd.cl a.npy b.npy --device vega64 {script(folder, command)}".split())
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
