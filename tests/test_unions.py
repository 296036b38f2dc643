"""Values of different kinds are different values.

Named tuples are equal if their fields are, whatever they are called: where a table's key may be of several kinds, one
kind's entry would be found for another.
"""

import importlib
import itertools
import pkgutil
import types
import typing

import headwater
from headwater.isa.vliw.compiler import ir


def modules():
    for found in pkgutil.walk_packages(headwater.__path__, "headwater."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def unions(module):
    """The unions that a module gives names to, written as types or as texts."""
    named = getattr(module, "__annotations__", {})
    for name, value in list(vars(module).items()):
        if isinstance(value, str) and "TypeAlias" in str(named.get(name, "")):
            value = eval(value, {**vars(typing), **vars(module)})
        if isinstance(value, types.UnionType) or typing.get_origin(value) is typing.Union:
            yield f"{module.__name__}.{name}", typing.get_args(value)


def clashes(kinds):
    """Pairs of named tuples that can be equal: with fields of the same types, one after another."""
    tuples = [kind for kind in kinds if isinstance(kind, type) and hasattr(kind, "_fields")]
    fields = [(kind, tuple(map(str, kind.__annotations__.values()))) for kind in tuples]
    return [(a, b) for (a, x), (b, y) in itertools.combinations(fields, 2) if x == y]


def test_no_union_has_named_tuples_that_are_equal_across_kinds():
    found = dict(named for module in modules() for named in unions(module))
    assert "headwater.isa.vliw.compiler.ir.Ref" in found
    assert {name: pairs for name, kinds in found.items() if (pairs := clashes(kinds))} == {}


class Apple(typing.NamedTuple):
    number: int


class Pear(typing.NamedTuple):
    weight: int


def test_named_tuples_of_the_same_types_would_be_found():
    assert Apple(5) == Pear(5)
    assert clashes((Apple, Pear, int)) == [(Apple, Pear)]


def test_a_constant_is_no_queue():
    assert ir.Const(5) != ir.Special(5)
    assert len({ir.Use(ir.Const(5)), ir.Use(ir.Special(5))}) == 2
