"""Scripts that complete words in shells are made of the commands' own parsers."""

import shutil
import subprocess

import pytest

from headwater import chips
from headwater.cli import COMMANDS


def completed(folder, headwater, *words):
    script = headwater("completion", "bash")
    assert script.code == 0, script.err
    (folder / "completion.bash").write_text(script.out)
    line = " ".join(f"'{word}'" for word in words)
    code = f"source completion.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _headwater; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["headwater", "si"], ["simulate"]),
        (["headwater", "run", "vadd.cl", "--ker"], ["--kernel"]),
        (["headwater", "run", "invert.cl", "--kernel", ""], ["invert", "scale"]),
        (["headwater", "run", "sum.br", "-k", "t"], ["total"]),
        (["headwater", "run", "vadd.cl", "-d", "vega6"], ["vega64"]),
        (["headwater", "disasm", "vadd.cl", "--format", "j"], ["json"]),
        (["headwater", "run", "vad"], ["vadd.cl"]),
        (["headwater", "cache", "cl"], ["clear"]),
        (["headwater", "completion", "f"], ["fish"]),
        (["headwater", "run", "vadd.cl", "-o", "a.n"], ["a.npy"]),
    ],
)
def test_words_are_completed_in_bash(folder, headwater, words, wanted):
    assert completed(folder, headwater, *words) == wanted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_chip_is_in_the_script(headwater, shell):
    script = headwater("completion", shell).out
    for name in (*COMMANDS, *chips.names(), "--time-limit" if shell != "fish" else "-l time-limit"):
        assert name in script
