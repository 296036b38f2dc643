"""One answer to the question what language a source is in, for every caller."""

import pytest

import headwater as hw
from headwater import sources
from headwater.analyze.sources import from_text

TEXTS = [
    ("il_ps_2_0\nend\n", "il"),
    ("; a comment\nil_cs_2_0\nend\n", "il"),
    ("kernel void s(float a<>, out float b<>) { b = a; }", "brook"),
    ("kernel void f(float x<10>, out float y<10>) { y = x; }", "brook"),
    ("kernel void g(float i<>, float a[], out float b<>) { b = a[i]; }", "brook"),
    ("reduce void r(float a<>, reduce float b<>) { b += a; }", "brook"),
    ("kernel void k() {}", "opencl"),
    ("/* not a stream: float a<> */\nkernel void k(__global float *a) { a[0] = 1; }", "opencl"),
    ("// il_ps_2_0\n__kernel void k(__global float *a) { a[0] = 1 < 2 && 3 > 2; }", "opencl"),
    ("__kernel void k(__global int *a) { a[0] = 0; }", "opencl"),
]


@pytest.mark.parametrize(("text", "language"), TEXTS)
def test_compile_and_analyze_read_a_text_as_the_same_language(text, language):
    assert sources.language_of(text, "<source>") == language
    assert from_text(text).language == language


@pytest.mark.parametrize(("text", "language"), [t for t in TEXTS if t[1] != "il" or "cs" not in t[0]])
def test_a_program_has_that_language(text, language):
    if language != "il":
        assert hw.compile(text).language == language


def test_what_the_caller_says_goes_before_the_suffix_and_that_before_the_text():
    text = "kernel void k() {}"
    assert sources.language_of(text, "k.br") == "brook"
    assert sources.language_of(text, "K.BR") == "brook"
    assert sources.language_of(text, "k.br", "OpenCL C") == "opencl"
    with pytest.raises(hw.UsageError, match="unknown language 'fortran'"):
        sources.language_of(text, "k.cl", "fortran")


def test_a_text_that_tells_nothing_is_refused_alike():
    for call in (hw.compile, from_text):
        with pytest.raises(hw.UsageError, match="cannot tell the language"):
            call("int x;\n")


def test_machine_code_is_known_by_its_first_bytes_or_its_name():
    assert sources.is_machine_code(b"\x7fELF\x02", "kernel.bin")
    assert sources.is_machine_code(b"", "kernel.hsaco")
    assert not sources.is_machine_code(b"kernel", "kernel.cl")
