"""Where a function's definition ends in its file: the same as `inspect` finds, by way of its indentation."""

import ast
import importlib.util
import inspect

import pytest

from headwater.errors import UsageError
from headwater.python.source import source_of

TEXT = '''
import functools


def kept(other):
    return lambda function: function


def plain(a):
    a[0] = 1
# a comment that ends nothing
    a[1] = 2



def signature(
    a,
    b=(
1, 2),
):
    """Text that
is indented by less
    """
    a[0] = (
b[0] +
    1)


class Inside:
    @functools.cache
    # between
    def decorated(a):
        if a:

            return a \\
+ 1

    def last(a): return a


def one_line(a): return a
after = 1


@kept(plain)
@kept(
    plain
)
def several(a):
	return a
chosen = lambda a: a
'''


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    path = tmp_path_factory.mktemp("definitions") / "some_definitions.py"
    path.write_text(TEXT, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("some_definitions", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("name", ["plain", "signature", "Inside.decorated", "Inside.last", "one_line", "several"])
def test_definitions_are_those_that_inspect_finds(module, name):
    function = module
    for part in name.split("."):
        function = getattr(function, part)
    function = vars(function).get("__wrapped__", function) if name == "Inside.decorated" else function
    lines, first = inspect.getsourcelines(function)
    whole = ast.parse(TEXT)
    expected = next(n for n in ast.walk(whole) if getattr(n, "name", "") == function.__name__)
    found = source_of(function)
    assert list(found.lines) == lines
    assert ast.dump(found.tree, include_attributes=True) == ast.dump(expected, include_attributes=True)
    assert found.first == first
    assert found.line(found.tree.lineno).lstrip().startswith("def " + name.rpartition(".")[2])


def test_what_is_not_written_with_def_is_refused(module):
    with pytest.raises(UsageError, match="is not written with def"):
        source_of(module.chosen)
