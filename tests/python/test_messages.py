"""Every wrong kernel gets one SourceError with line, column, cause and remedy."""

import math

import numpy as np
import pytest

import headwater as hw
from headwater.errors import SourceError
from headwater.runtime.python_functions import column_of, word_at
from tests.python.wrong import WRONG

HEAD = """\
def kernel(
    a: hw.array(hw.float32), b: hw.array(hw.float32, 2), v: hw.array(hw.float4), n: hw.int32, f: hw.float32,
    u: hw.uint32, width: hw.int32,
):
"""
BEFORE = HEAD.count("\n")
TABLE = np.arange(4)
TABLE.flags.writeable = False


def helper(a, b):
    return a + b


def loop(a):
    return loop(a - 1)


SPACE = {"hw": hw, "np": np, "math": math, "TABLE": TABLE, "OPEN": np.arange(4), "helper": helper, "loop": loop}


def compiled(body, tmp_path):
    path = tmp_path / "wrong_kernel.py"
    path.write_text(HEAD + "".join(f"    {line}\n" for line in body.splitlines()), encoding="utf-8")
    space = dict(SPACE)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    return hw.kernel(space["kernel"])


def test_there_are_a_hundred():
    assert len({body for body, *_ in WRONG}) >= 100


@pytest.mark.parametrize(("body", "line", "message", "remedy"), WRONG, ids=[body for body, *_ in WRONG])
def test_wrong_kernel(body, line, message, remedy, tmp_path):
    with pytest.raises(SourceError) as caught:
        compiled(body, tmp_path).specialise()
    error = caught.value
    assert error.span.file == str(tmp_path / "wrong_kernel.py")
    assert error.span.line == line + BEFORE
    assert 4 < error.span.column <= 5 + len(body.splitlines()[line - 1])
    assert error.source_line.strip() == body.splitlines()[line - 1].strip()
    assert message in error.message
    assert remedy in error.hint
    assert not error.details or body.count("\n"), error.details


def test_functions_that_call_themselves():
    @hw.kernel
    def kernel(a: hw.array(hw.float32)):
        a[0] = loop(1)

    with pytest.raises(SourceError, match="loop calls itself, and kernels have no stack") as caught:
        kernel.specialise()
    assert caught.value.span.line == loop.__code__.co_firstlineno + 1
    assert caught.value.hint == "a loop"


def test_what_only_clang_refuses_has_a_column_too():
    """The name that clang points at is found in the line of Python, or the statement's beginning is told."""

    @hw.kernel
    def large(out: hw.array(hw.float32)):
        i = hw.global_id(0)
        tile = hw.local_array(1 << 30, hw.float32)
        out[i] = tile[i]

    with pytest.raises(SourceError, match="array is too large") as told:
        large[4, None](np.zeros(4, np.float32), device="cpu")
    span, line = told.value.span, told.value.source_line
    assert line[span.column - 1 :].startswith("tile = hw.local_array")
    text = '#line 7 "f.py"\n    float tile_2[9];\n#line 9 "f.py"\n    x = 1;\n    y = 2;\n'
    assert [word_at(text, *place) for place in ((7, 11), (9, 5), (10, 5), (9, 7), (3, 1))] == ["tile", "x", "y", "", ""]
    assert [column_of(word, "    y = tile[y] + tile_3") for word in ("tile", "y", "z", "")] == [9, 5, 5, 5]
