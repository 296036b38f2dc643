"""Sources that the cpu device refuses, with a position and a remedy."""

import re

import pytest

import headwater as hw
from headwater.cli import main
from headwater.errors import SourceError
from headwater.opencl import host

ASSEMBLY = """kernel void f(global int *out)
{
    int x;
    __asm__ volatile ("mov $1, %0" : "=r"(x));
    out[get_global_id(0)] = x;
}
"""
WORDS = """kernel void f(global char *out)
{
    constant char *words = "call void asm \\"nop\\" ()";
    out[get_global_id(0)] = words[get_global_id(0)];
}
"""


def refused(source, filename="refused.cl", options=""):
    with pytest.raises(SourceError) as caught:
        host.load(source, filename, options)
    return caught.value


def test_inline_assembly_is_named_where_it_stands():
    error = refused(ASSEMBLY)
    assert (error.span.file, error.span.line, error.span.column) == ("refused.cl", 4, 5)
    assert "inline assembly" in error.message
    assert "__asm__ volatile" in error.source_line
    assert "OpenCL C" in error.hint


def test_inline_assembly_of_an_included_file_is_named_there(tmp_path):
    (tmp_path / "one.h").write_text('\nint one(void) { int x; __asm__("mov $1, %0" : "=r"(x)); return x; }\n')
    source = '#include "one.h"\nkernel void f(global int *out) { *out = one(); }\n'
    error = refused(source, str(tmp_path / "f.cl"))
    assert error.span.file.endswith("one.h")
    assert error.span.line == 2


def test_words_that_look_like_assembly_are_left_alone():
    assert list(host.load(WORDS, "words.cl").kernels) == ["f"]


def test_assembly_that_is_not_compiled_is_left_alone():
    source = ASSEMBLY.replace("    __asm__", "#ifdef NEVER\n    __asm__").replace("(x));", "(x));\n#endif\nx = 1;")
    assert list(host.load(source, "kept.cl").kernels) == ["f"]


def test_the_command_line_takes_assembly_for_bad_input(tmp_path, capsys):
    (tmp_path / "f.cl").write_text(ASSEMBLY)
    assert main(["run", str(tmp_path / "f.cl"), "zeros:16", "--global", "16"]) == 2
    assert re.search(r"f\.cl:4:5: error: inline assembly", capsys.readouterr().err)


def test_lines_joined_without_end_are_named():
    error = refused("kernel void g(global int *out) { *out = 1; }\n  " + "\\\n" * 200_000 + "\n")
    assert (error.span.line, error.span.column) == (2, 3)
    assert "200000 lines" in error.message
    assert error.hint


def test_many_joined_lines_are_read():
    source = "kernel void g(global int *out) { *out = 1; }\n" + "\\\n" * 5_000 + "\n"
    assert list(host.load(source, "joined.cl").kernels) == ["g"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('printf("%d %d\\n", 1)', "more '%' conversions than data arguments"),
        ('printf("%v4f %d\\n", (float4)(1))', "more '%' conversions than data arguments"),
    ],
)
def test_printf_with_too_few_arguments_is_refused(call, message):
    error = refused(f"kernel void f() {{\n  {call};\n}}")
    assert message in error.message
    assert error.span.line == 2


@pytest.mark.parametrize("call", ['printf("%s", 1)', 'printf("%v2d %d %s", (int2)(1), 2, 3.5f)'])
def test_a_number_is_no_string_to_print(call, capsys):
    """Its value would be read as an address."""
    made = hw.compile(f"kernel void f() {{ {call}; }}", language="opencl", device="cpu")
    with pytest.raises(SourceError, match="print a string by %s"):
        made.f[(1,), None]().wait()
    strings = hw.compile(
        'kernel void f() { printf("%v2d %s %d %s", (int2)(1), "a", 2, "b"); }', language="opencl", device="cpu"
    )
    strings.f[(1,), None]().wait()
    assert capsys.readouterr().out == "1,1 a 2 b"
