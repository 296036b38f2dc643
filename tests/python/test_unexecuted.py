"""Kernels of a text that is read, not executed: the same as those of a file that is, and nothing of it ever runs."""

import builtins
from contextlib import nullcontext

import pytest

import headwater as hw
from headwater.base.recursion import deep_recursion
from headwater.errors import HeadwaterError, SourceError, UsageError
from headwater.python.unexecuted import MOST_DEPTH
from headwater.runtime.python import program_text, unexecuted_text

WHOLE = '''\
"""A file with all that is read."""
from __future__ import annotations

import math
from dataclasses import dataclass

import headwater as hw
import numpy as np
from headwater import float32 as real

SCALE = 2.5 * math.pi
COUNT: int = 4 << 2
STEPS = (1, 2, COUNT)


@dataclass
class Particle:
    """What moves."""

    place: hw.float32
    speed: real = 1.0


def helper(a, b=3):
    return a * b + COUNT


@hw.kernel(group=(64,))
def scale(a: hw.array(hw.float32), out: real[:], grid: hw.float32[:, :], ps: hw.array(Particle), n: hw.int32):
    tile = hw.local_array(64, hw.float32)
    i = hw.global_id(0)
    tile[hw.local_id(0)] = a[i]
    hw.barrier()
    if i < len(out):
        out[i] = helper(tile[3]) * SCALE + math.sin(n) + hw.cl.rsqrt(a[i]) + np.float32(2) + grid[i, 1]
        ps[i].place += Particle(1.0).speed + STEPS[1]


@hw.kernel
def second(v: hw.array(hw.float4), s: hw.local(hw.int32), b: int, f: float):
    v[b].xy = hw.float2(f, min(f, 1.0))
'''


def kernel(body="a[0] = 1.0", above="", decorator="@hw.kernel", parameters="a: hw.float32[:]"):
    return f"import math\nimport headwater as hw\n{above}\n{decorator}\ndef k({parameters}):\n    {body}\n"


def test_a_text_gives_what_executing_it_gives():
    whole = WHOLE.replace("from __future__ import annotations\n", "")  # dataclasses do not find their names then
    assert unexecuted_text(whole, "whole.py") == program_text(whole, "whole.py")
    assert "mad" not in unexecuted_text(WHOLE, "whole.py", "second")


@pytest.mark.parametrize("text_of", [program_text, unexecuted_text])
def test_options_that_a_text_cannot_hold_are_refused(text_of):
    text = kernel(decorator='@hw.kernel(options="-cl-mad-enable")')
    with pytest.raises(UsageError, match=r"k of k\.py has options='-cl-mad-enable'") as caught:
        text_of(text, "k.py")
    assert "--options" in str(caught.value.hint)


ATTACKS = {
    "an import": "import os",
    "an import of a part": "import numpy.ctypeslib",
    "an import under a name": "import subprocess as math",
    "a relative import": "from . import secrets",
    "a member that is not of kernels": "from numpy import load",
    "a statement": "ran('x')",
    "a condition": "if ran('x'): pass",
    "a loop": "for i in (1,): ran(i)",
    "an exception": "try: ran(1)\nexcept Exception: pass",
    "a value": "N = ran(1)",
    "an attribute of a value": "N = (1).bit_length()",
    "a builtin": "N = eval('ran(1)')",
    "a method of a text": "N = 'x'.format(ran(1))",
    "a formatted text": "N = f'{ran(1)}'",
    "a lambda": "N = (lambda: ran(1))()",
    "a comprehension": "N = [ran(i) for i in (1,)]",
    "a huge power": "N = 9 ** 9 ** 9 ** 9",
    "a huge shift": "N = 1 << 10 ** 9",
    "tuples of tuples": "T = (1, 1)\n" + "T = (T, T)\n" * 40,
    "a huge number": f"N = {'9' * 400}",
    "a repeated text": "N = 'x' * 10 ** 10",
    "a repeated tuple": "N = (1,) * 10 ** 10",
    "inner names": "N = math.__loader__",
    "inner names of functions": "def f(a): return a\nN = f.__globals__",
    "inner names in bodies": "def f(a): return print.__self__",
    "underscores in names": "def __getattr__(a): return a",
    "a class with a base": "@hw.kernel\nclass C(int): pass",
    "a metaclass": "class C(metaclass=ran): pass",
    "a class with methods": "from dataclasses import dataclass\n@dataclass\nclass C:\n    def f(self): ran(1)",
    "a class's field": "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: ran(1)",
    "a field's default": "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: hw.int32 = ran(1)",
    "a field of a text": "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: 'ran(1)'",
    "a decorator": "@ran\ndef f(a): return a",
    "a decorator's argument": "@hw.kernel(group=ran(1))\ndef f(a: hw.int32[:]): a[0] = 1",
    "two decorators": "@ran\n@hw.kernel\ndef f(a: hw.int32[:]): a[0] = 1",
    "a default": "def f(a, b=ran(1)): return a",
    "a default by name": "def f(a, *, b=ran(1)): return a",
    "an annotation": "def f(a: ran(1)): return a",
    "an annotation as a text": "def f(a: 'ran(1)'): return a",
    "an annotation of the headwater module": "def f(a: hw.compile): return a",
    "the module itself": "N = hw.device('cpu')",
    "a number of a text": "N = hw.int32('7')",
    "a stream kernel": "@hw.stream_kernel\ndef f(a): return a",
    "an async function": "async def f(a): return a",
    "a deletion": "del hw",
    "many parts": "\n".join("N = 1" for _ in range(10_000)),
    "deep brackets": f"N = {'(' * 500}1{')' * 500}",
    "a deep sum": "N = " + "-" * 20_000 + "1",
    "a long sum": "N = 1" + " + 1" * 2000,
    "a number of many digits": f"N = [0x{'f' * 5000}]",
    "a vector of many": "N = hw.vector(hw.float32, 10 ** 18)",
    "an array of no dimensions": "def f(a: hw.float32[()]): return a",
    "a class of types": "import numpy as np\ndef f(a: np.number): return a",
    "no text": "N = \0",
}
BODIES = {
    "a call": "ran(1)",
    "a builtin": "a[0] = eval('ran(1)')",
    "an import": "import os",
    "a huge power": "a[0] = 9 ** 9 ** 9 ** 9",
    "a huge shift": "a[0] = 1 << 1000000000",
    "a repeated text": "print('x' * 10000000000)",
    "a huge product": f"a[0] = {' * '.join(['(1 << 4000)'] * 4)}",
    "a number of many digits": f"a[0] = 0x{'f' * 5000}",
    "a long range": "for i in range(1 << 70): a[0] = 1.0",
    "a long sum": f"a[0] = a[0]{' + a[0]' * 1000}",
    "many branches": "if a[0] > 0: a[0] = 1.0\n" + "    elif a[0] > 1: a[0] = 1.0\n" * 900,
    "inner functions of the vocabulary": "hw.barrier.run()",
    "inner functions of OpenCL C's": "a[0] = hw.cl.dot.run(a[0], a[0])",
    "inner objects of a function": "a[0] = k.headwater_source",
    "an attribute": "a[0] = math.nothing",
    "a function of a module": "a[0] = math.factorial(100000)",
    "a member of the headwater module": "hw.compile('x')",
    "a walrus": "a[0] = (b := ran(1))",
    "an inner function": "def f(): ran(1)",
    "an inner class": "class C:\n        x = ran(1)",
    "a default of an inner function": "def f(a=ran(1)): pass",
}


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS)
def test_statements_are_not_executed(text, monkeypatch):
    ran = []
    monkeypatch.setattr(builtins, "ran", ran.append, raising=False)
    with pytest.raises(SourceError) as told:
        unexecuted_text(kernel(above=text), "k.py")
    assert told.value.span.file == "k.py"
    assert not ran


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_bodies_are_not_executed(body, monkeypatch):
    ran = []
    monkeypatch.setattr(builtins, "ran", ran.append, raising=False)
    with pytest.raises(SourceError) as told:
        unexecuted_text(kernel(body), "k.py")
    assert told.value.span.file == "k.py"
    assert not ran


def test_how_deep_a_text_may_nest_does_not_depend_on_the_interpreters_limit():
    """A compiler process and a translation in another thread raise that."""
    for terms, fits in ((MOST_DEPTH - 20, True), (MOST_DEPTH, False)):
        for raised in (False, True):
            limit = deep_recursion() if raised else nullcontext()
            with limit, nullcontext() if fits else pytest.raises(SourceError, match="nested more than"):
                unexecuted_text(kernel(f"a[0] = a[0]{' + a[0]' * terms}"), "k.py")


def test_nothing_of_a_text_is_called_when_it_is_translated(monkeypatch):
    """Not even the functions that it makes."""
    text = kernel("b = f(a[0])\n    a[0] = b", "def f(x):\n    return x / 0.0")
    assert "f(" in unexecuted_text(text, "k.py")


def test_wrong_kernels_are_told_at_their_place():
    with pytest.raises(SourceError) as told:
        unexecuted_text(kernel("b = hw.int32(1)\n    b = hw.int64(2)"), "k.py")
    assert (told.value.span.file, told.value.span.line) == ("k.py", 7)
    assert "b is int32" in told.value.message
    accented = kernel(above="é = 1; N = é + no")
    for text in (kernel("é = 1.0; a[0] = é + no"), f"# \f\x1c\u2028\n{accented}"):
        with pytest.raises(SourceError, match="there is no no") as told:
            unexecuted_text(text, "k.py")
        line = text.split("\n")[told.value.span.line - 1]
        assert (told.value.source_line, line[told.value.span.column - 1 :]) == (line, "no")
    with pytest.raises(HeadwaterError, match="no kernels of which all parameters are annotated"):
        unexecuted_text(kernel(parameters="a"), "k.py")


def test_kernels_of_a_text_run():
    text = unexecuted_text(kernel("a[hw.global_id(0)] = 2.0"), "k.py")
    out = hw.stream(shape=4)
    hw.compile(text).k[4, None](out, device="cpu")
    assert out.read().tolist() == [2, 2, 2, 2]
