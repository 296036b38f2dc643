"""Every wrong kernel gets one SourceError with line, column, cause and remedy."""

import math

import numpy as np
import pytest

import headwater as hw
from headwater.errors import SourceError
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
