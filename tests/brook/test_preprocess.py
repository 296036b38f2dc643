import pytest

from headwater.brook import translate
from headwater.brook.options import parse_options
from headwater.brook.preprocess import preprocess
from headwater.errors import SourceError


def text(source, options="-pp"):
    return preprocess(source, "x.br", parse_options(options)).text


def error(source, options="-pp"):
    with pytest.raises(SourceError) as caught:
        preprocess(source, "x.br", parse_options(options)).faults.raise_all()
    return str(caught.value).split("\n")[0]


def test_comments_become_blanks_of_the_same_shape():
    assert text("a/*b\nc*/d // e\nf") == "a   \n   d     \nf"
    assert text('s = "/* no */ // no";') == 's = "/* no */ // no";'


def test_line_ends_of_all_systems():
    assert text("a\r\nb\rc") == "a\nb\nc"


def test_a_macro_is_replaced_in_words_only():
    assert text("#define N 4\nN NN N_ 4N (N)") == "\n4 NN N_ 4N (4)"


def test_macros_nest_and_later_definitions_count():
    assert text("#define A B\n#define B 1\nA\n#define B 2\nA\n#undef B\nA") == "\n\n1\n\n2\n\nB"


def test_an_empty_macro_disappears():
    assert text("#define INLINE\nINLINE x") == "\n x"


def test_conditions_choose_lines():
    source = "#ifdef A\na\n#else\nb\n#endif\n#ifndef A\nc\n#endif\n#if 0\nd\n#endif\n#if N\ne\n#endif"
    assert text(source, "-pp -D A -D N=2").split() == ["a", "e"]
    assert text(source, "-pp").split() == ["b", "c"]


def test_conditions_nest_inside_what_is_left_out():
    source = "#ifdef X\n#ifdef Y\na\n#else\nb\n#endif\n#else\nc\n#endif"
    assert text(source).split() == ["c"]


def test_definitions_in_what_is_left_out_do_not_count():
    assert text("#ifdef X\n#define N 1\n#endif\nN").split() == ["N"]


def test_without_pp_directives_are_passed_over_and_macros_of_the_options_replaced():
    assert text("#include <a>\n#define N 2 \\\n  3\nN M", "-D M=7") == "\n\n\nN 7"


def test_spaces_around_the_sign_are_allowed():
    assert text("  #  define N 1\nN") == "\n1"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("#include <a>", "x.br:1:2: error: Brook+'s preprocessor does not know #include"),
        ("#if 1\n#elif 2\n#endif", "x.br:2:2: error: Brook+'s preprocessor does not know #elif"),
        ("#pragma x", "x.br:1:2: error: Brook+'s preprocessor does not know #pragma"),
        ("#line 4", "x.br:1:2: error: Brook+'s preprocessor does not know #line"),
        ("#error x", "x.br:1:2: error: Brook+'s preprocessor does not know #error"),
        ("#define F(x) x", "x.br:1:2: error: macro 'F' has parameters, which Brook+'s preprocessor does not know"),
        ("#define", "x.br:1:2: error: #define needs a name"),
        ("#define A \\\n 1", "x.br:1:2: error: a directive must stand on one line"),
        ("#if A + 1\n#endif", "x.br:1:2: error: #if takes an integer or a name, not 'A + 1'"),
        ("#if\n#endif", "x.br:1:2: error: #if needs an integer or a name"),
        ("#ifdef\n#endif", "x.br:1:2: error: #ifdef needs one name"),
        ("#else", "x.br:1:2: error: #else without #if"),
        ("#endif", "x.br:1:2: error: #endif without #if"),
        ("#if 1\n#else\n#else\n#endif", "x.br:3:2: error: a second #else for the same #if"),
        ("a\n#if 1", "x.br:2:2: error: this condition has no #endif"),
    ],
)
def test_wrong_directives(source, message):
    assert error(source) == message


def test_directives_inside_a_kernel_choose_its_statements():
    source = "kernel void f(float a<>, out float b<>)\n{\n#ifdef TWICE\n    b = a + a;\n#else\n    b = a;\n#endif\n}\n"
    assert "*b = a + a;" in translate(source, "x.br", "-pp -D TWICE").source
    assert "*b = a;" in translate(source, "x.br", "-pp").source


def test_an_include_that_is_passed_over_is_told():
    source = '#include <stdio.h>\n  #include "types.h"\nkernel void f(float a<>, out float b<>) { b = a; }'
    warning = 'x.br:2:3: warning: #include "types.h" is passed over: kernels see only what this file itself defines'
    assert translate(source, "x.br").warnings == (warning,)
    assert translate(source, "x.br", "-x").warnings == (warning,)
    assert translate(source, "x.br", "-w 0").warnings == ()


@pytest.mark.parametrize("statement", ["Vec3 v;", "b = length3(a);", "b = LIMIT;"])
def test_what_an_include_may_have_defined_is_told_with_it(statement):
    with pytest.raises(SourceError) as caught:
        translate(f'#include "types.h"\nkernel void f(float a<>, out float b<>) {{ b = a; {{ {statement} }} }}', "x.br")
    assert (
        caught.value.hint
        == '#include "types.h" of line 1 is passed over: kernels see only what this file itself defines'
    )
