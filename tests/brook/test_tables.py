from pathlib import Path

import pytest

from headwater import brook
from headwater.brook import lalr, translate
from headwater.errors import SourceError

TABLES = Path(brook.__file__).with_name("grammar.json")


def test_the_tables_are_those_of_the_grammar():
    pytest.importorskip("lark")
    from headwater.brook.tabulate import tables

    assert TABLES.read_text(encoding="utf-8") == tables(), "run python -m headwater.brook.tabulate"


class Echo:
    def __getattr__(self, name):
        return lambda *children: (name, *children)


def test_a_fault_names_what_could_follow():
    with pytest.raises(lalr.Unexpected) as caught:
        lalr.parse("kernel void f(float a<>) { a = ; }", "unit", Echo())
    assert (caught.value.token, caught.value.token.line, caught.value.token.column) == (";", 1, 32)
    assert {"NAME", "INTEGER", "LPAR"} <= caught.value.accepted
    assert "RBRACE" not in caught.value.accepted


def test_tokens_carry_their_places():
    (member,) = [
        child for child in lalr.parse("struct S {\n  float x;\n};", "struct_unit", Echo())[1] if child[0] == "member"
    ]
    name = member[-1]
    assert (name, name.type, name.line, name.column) == ("x", "NAME", 2, 9)


def test_a_sum_of_many_terms_is_refused_as_too_deep():
    terms = 80_000  # if the list of terms were copied for each, this test would last half a minute and more
    with pytest.raises(SourceError, match="too deeply"):
        translate("kernel void k(float a<>, out float b<>) { b = a" + " + a" * terms + "; }", "k.br")
