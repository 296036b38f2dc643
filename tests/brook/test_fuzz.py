"""Whatever the input, a translation gives a module or a SourceError, soon."""

import random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from headwater.brook import translate
from headwater.brook.brcc import python_module
from headwater.brook.model import BrookModule
from headwater.errors import SourceError
from tests.brook import corpus_files

WORDS = (
    "kernel reduce void out float float4 int uint2 double char3 a b c f S shared const Attribute [ ] ( ) { } < > <> ; , . = == + - * / %"
    " & | ^ ~ ! ? : && || << >> <<= ++ -- += 1 0x1F 2.0f 3.0 08 1e9 99999999999 instance instance() .xyzw .x indexof syncGroup() if else"
    " while do for return break continue struct typedef unsigned #define #ifdef #else #endif # \\ \n /* */ // \" ' @ $ é"
    " float4( a<> a[] a[3] a[][] float4 v = { return; GroupSize(64) goto switch sizeof namespace class template extern"
).split(" ")
OPTIONS = ["", "-a", "-pp", "-pp -a", "-D a=b", "-c"]


def attempt(source, options=""):
    try:
        module = translate(source, "fuzz.br", options)
    except SourceError as fault:
        return None if str(fault) else pytest.fail("an error without a text")
    assert BrookModule.from_json(module.to_json()) == module
    compile(python_module(module), "fuzz.py", "exec")
    return module


RELAXED = settings(deadline=2000, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


@RELAXED
@given(st.lists(st.sampled_from(WORDS), max_size=60), st.sampled_from(OPTIONS))
def test_token_soup(words, options):
    attempt(" ".join(words), options)


@settings(RELAXED, max_examples=150)
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.sampled_from(OPTIONS))
def test_token_soup_inside_a_kernel(words, options):
    attempt(
        "kernel void f(float a<>, float g[], int n, out float b<>)\n{ float c = a; " + " ".join(words) + " }", options
    )


@settings(RELAXED, max_examples=50)
@given(st.text(max_size=300), st.sampled_from(OPTIONS))
def test_any_text(text, options):
    attempt(text, options)


@settings(RELAXED, max_examples=50)
@given(st.binary(max_size=300))
def test_any_bytes_read_as_latin_1(data):
    attempt("kernel void f(out float b<>) { b = 1.0f; }" + data.decode("latin-1"))


def mutated(text, choose):
    """The text with a few pieces deleted, doubled, swapped or replaced."""
    words = text.replace("\n", " \n ").split(" ")
    for _ in range(choose.randint(1, 4)):
        at = choose.randrange(len(words))
        match choose.randrange(5):
            case 0:
                del words[at : at + choose.randint(1, 5)]
            case 1:
                words[at:at] = words[at : at + choose.randint(1, 8)]
            case 2:
                other = choose.randrange(len(words)) if words else 0
                words[at], words[other] = words[other], words[at]
            case 3:
                words[at] = choose.choice(WORDS)
            case 4:
                word = words[at]
                cut = choose.randint(0, len(word))
                words[at] = word[:cut] + choose.choice("(){}[]<>;,.=+-*&|!~?:xyzw019 \n\"'#@") + word[cut:]
        words = words or [""]
    return " ".join(words)


@settings(RELAXED, max_examples=400)
@given(st.sampled_from(corpus_files.NAMES), st.integers(0, 2**32), st.sampled_from(OPTIONS))
def test_mutated_corpus(name, seed, options):
    attempt(mutated(corpus_files.read(name), random.Random(seed)), options or corpus_files.options(name))


def test_macros_that_double_each_other_are_refused():
    defines = "\n".join(f"#define A{k} A{k + 1} A{k + 1}" for k in range(60))
    assert attempt(f"{defines}\nkernel void f(out float b<>) {{ b = A0; }}", "-pp") is None


def test_a_macro_within_itself_ends():
    assert (
        attempt("#define X Y\n#define Y X\nkernel void f(out float b<>) { float X = 1.0f; b = X; }", "-pp") is not None
    )


def test_long_files_take_linear_time():
    kernels = "\n".join(
        f"int host{k}(int n) {{ return n; }}\nkernel void f{k}(float a<>, out float b<>) {{ b = a * {k}.0f; }}"
        for k in range(400)
    )
    module = attempt(kernels)
    assert module is not None
    assert len(module.kernels) == 400


def test_a_flood_of_brackets_is_skipped():
    for flood in ("(" * 20000, "([{" * 7000, "{" * 20000, "}" * 20000, "(]" * 10000):
        attempt(f"int x = {flood};\nkernel void f(float a<>, out float b<>) {{ b = a; }}")
