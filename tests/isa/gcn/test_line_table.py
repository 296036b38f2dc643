"""Line tables of every version of DWARF, as clang writes them."""

import subprocess

import pytest

from headwater.isa.gcn.line_table import LineTable
from headwater.native.toolchain import zig_path

SOURCE = """#include "sub/inner.h"
int outer(int x) {
  for (int i = 0; i < x; i++) x += inner(i) * 3;
  return x;
}
"""
INNER = "static __attribute__((noinline)) int inner(int x) {\n  return x * 3 / 7;\n}\n"


@pytest.fixture(scope="module", params=[2, 3, 4, 5])
def library(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dwarf")
    (folder / "sub").mkdir()
    (folder / "sub" / "inner.h").write_text(INNER)
    (folder / "outer.c").write_text(SOURCE)
    version = f"-gdwarf-{request.param}"
    words = [str(zig_path()), "cc", "-target", "x86_64-linux-musl", "-O1", version, "-nostdlib", "-shared"]
    subprocess.run([*words, "-o", "outer.so", "outer.c"], cwd=folder, check=True, capture_output=True)
    return (folder / "outer.so").read_bytes()


def test_lines_and_files_of_each_version(library):
    table = LineTable(library)
    found = {table.find(row[0])[:2] for row in table._rows if table.find(row[0])}
    names = {(name.replace("\\", "/").rsplit("/", 2)[-1], line) for name, line in found}
    assert {("outer.c", 2), ("outer.c", 3), ("outer.c", 4), ("inner.h", 2)} <= names
    assert all(name.endswith("sub/inner.h") for name, _ in found if "inner" in name)


def test_nothing_stands_behind_the_last_line(library):
    table = LineTable(library)
    assert table.find(table._addresses[-1] + 1000) is None
    assert table.find(-1) is None


def test_damaged_tables_are_no_tables(library):
    assert LineTable(library)._rows
    for damaged in (library[: len(library) // 2], library[:100], b""):
        assert LineTable(damaged)._rows == []
