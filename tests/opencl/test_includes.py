"""Every file that decides what a source becomes is known, also those that are not there; pipes and devices are refused."""

import os

import numpy as np
import pytest

import headwater as hw
from headwater.errors import SourceError, Span
from headwater.opencl import includes
from headwater.opencl.clang import INCLUDE_ONLY, compile_to_ir
from headwater.opencl.gcn_build import assemble

KERNEL = "kernel void k(global int *a) { a[0] = V; }\n"
ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="pipes have no names there")


def value(path, device, options=""):
    a = np.zeros(1, np.int32)
    hw.compile(path, options=options, device=device).k[1, None](a, device=device)
    return int(a[0])


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_a_changed_header_changes_the_result(tmp_path, monkeypatch, device):
    (tmp_path / "k.cl").write_text('#include "v.h"\n' + KERNEL)
    found = []
    for number in (1, 2, 1):
        (tmp_path / "v.h").write_text(f"#define V {number}\n")
        found.append(value(tmp_path / "k.cl", device))
    assert found == [1, 2, 1]


def test_a_changed_embedded_file_changes_the_result(tmp_path):
    (tmp_path / "k.cl").write_text('constant uchar t[] = {\n#embed "t.bin"\n};\n#define V t[0]\n' + KERNEL)
    found = []
    for number in (1, 2):
        (tmp_path / "t.bin").write_bytes(bytes([number]))
        found.append(value(tmp_path / "k.cl", "cpu"))
    assert found == [1, 2]


def test_the_same_name_in_another_folder_is_another_source(tmp_path, monkeypatch):
    found = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "k.cl").write_text('#include "v.h"\n' + KERNEL)
        (folder / "v.h").write_text(f"#define V {number}\n")
        monkeypatch.chdir(folder)
        found.append(value("k.cl", "cpu"))
    assert found == [1, 2]


def test_a_header_that_appears_nearer_is_taken(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "v.h").write_text("#define V 1\n")
    (tmp_path / "k.cl").write_text('#include "v.h"\n' + KERNEL)
    assert value(tmp_path / "k.cl", "cpu", f"-I {tmp_path / 'far'}") == 1
    (tmp_path / "v.h").write_text("#define V 2\n")
    assert value(tmp_path / "k.cl", "cpu", f"-I {tmp_path / 'far'}") == 2


def test_a_header_that_was_asked_for_counts(tmp_path):
    (tmp_path / "k.cl").write_text('#if __has_include("v.h")\n#define V 2\n#else\n#define V 1\n#endif\n' + KERNEL)
    assert value(tmp_path / "k.cl", "cpu") == 1
    (tmp_path / "v.h").write_text("")
    assert value(tmp_path / "k.cl", "cpu") == 2


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('#include "a.h"', ["here/a.h", "one/a.h", "two/a.h"]),
        ("#include <a.h>", ["one/a.h", "two/a.h"]),
        ("  #  import <a.h>", ["one/a.h", "two/a.h"]),
        ('/* x */ #include_next "a.h"', ["here/a.h", "one/a.h", "two/a.h"]),
        ('%:include "a.h"', ["here/a.h", "one/a.h", "two/a.h"]),
        ('#define A "a.h"\n#include A', ["here/a.h", "one/a.h", "two/a.h"]),
        ("#include B", ["one/b.h", "two/b.h"]),
        ('#include "../a.h"', ["a.h"]),
        ('#include "/none/a.h"', ["/none/a.h"]),
        ('// #include "a.h"', []),
        ('/*\n#include "a.h"\n*/', []),
        ('constant char *s = "\\"/*";\n#include "there.h" // "x"', ["here/there.h"]),
        ("#include UNKNOWN", []),
        ("#embed <a.bin> limit(4)", ["one/a.bin", "two/a.bin"]),
    ],
)
def test_places_where_files_are_looked_for(tmp_path, text, names):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "there.h").write_text("")
    flags = [f"-I{tmp_path / 'one'}", f"-I{tmp_path / 'two'}", "-DB=<b.h>"]
    found = includes.looked_at(text + "\n", str(tmp_path / "here" / "k.cl"), flags)
    if "../a.h" in text:
        found = {path for path in found if os.path.dirname(path) == str(tmp_path)}
    assert sorted(found) == sorted(str(tmp_path / name) for name in names)


def test_includes_of_includes_count(tmp_path):
    (tmp_path / "a.h").write_text('#include "b.h"\n#include "a.h"\n')
    found = includes.looked_at('#include "a.h"\n', str(tmp_path / "k.cl"), [])
    assert found == {str(tmp_path / "a.h"), str(tmp_path / "b.h")}


@ON_POSIX
@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
@pytest.mark.parametrize("directive", ['#include "{}"', "#embed <{}>", '#if __has_include("{}")\n#endif'])
def test_what_is_no_file_is_refused_at_its_place(tmp_path, directive, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.h").write_text("\n" + directive.format(name) + "\n")
    with pytest.raises(SourceError, match=f"'{name}' is a (pipe|device), not a file") as caught:
        hw.compile(f'#include "{tmp_path / "a.h"}"\n{KERNEL}', "opencl", f"-I {tmp_path} -D V=1", "cpu")
    place = caught.value.span
    assert (place.file, place.line) == (str(tmp_path / "a.h"), 2)
    assert place.column == caught.value.source_line.index(name) + 1


@ON_POSIX
@pytest.mark.parametrize("directive", [".incbin", "x: .include"])
def test_assembly_includes_files_alone(tmp_path, directive):
    os.mkfifo(tmp_path / "pipe")
    source = f'.amdgcn_target "amdgcn-amd-amdhsa--gfx900"\n{directive} "{tmp_path / "pipe"}"\n'
    with pytest.raises(SourceError, match=r"k\.s:2:\d+: error: '.*pipe' is a pipe, not a file"):
        assemble(source, "k.s")


def test_an_empty_header_may_be_the_null_device():
    a = np.zeros(1, np.int32)
    hw.compile(f'#include "{os.devnull}"\n{KERNEL}', "opencl", "-D V=7", "cpu").k[1, None](a)
    assert a[0] == 7


def test_a_file_to_embed_that_is_not_there_is_an_error_at_its_place(tmp_path):
    """clang 22 says nothing of it, ends with 0, and embeds nothing."""
    source = 'constant uchar t[] = {\n#embed "t.bin"\n};\n#define V t[0]\n' + KERNEL
    with pytest.raises(SourceError, match=r"'t\.bin' file not found") as error:
        compile_to_ir(source, str(tmp_path / "k.cl"))
    assert error.value.span == Span(str(tmp_path / "k.cl"), 2, 9)


def test_includes_are_of_one_folder_alone_where_that_is_asked_for(tmp_path, monkeypatch):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "v.h").write_text("#define V 1\n")
    compile_to_ir(f'#include "{outside / "v.h"}"\n{KERNEL}', str(inside / "k.cl"))
    monkeypatch.setenv(INCLUDE_ONLY, str(inside))
    compile_to_ir(f'#include "v.h"\n{KERNEL}', str(inside / "k.cl"))
    for name in (outside / "v.h", "../outside/v.h"):
        with pytest.raises(SourceError, match="file not found"):
            compile_to_ir(f'#include "{name}"\n{KERNEL}', str(inside / "k.cl"))
    with pytest.raises(SourceError, match="unknown type name 'foo'") as error:
        compile_to_ir(f'#line 1 "{outside / "v.h"}"\nfoo\n{KERNEL}', str(inside / "k.cl"))
    assert error.value.source_line == "foo"  # what the text has there, never the file's line
