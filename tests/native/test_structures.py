"""Structures that C and Python share: both find each field in the same place, and C has no declaration of its own."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import headwater
from headwater.base.arrays import address
from headwater.base.native_library import function
from headwater.emulate.vliw import layout as vliw_layout
from headwater.emulate.watch import check, staging, trace
from headwater.emulate.wave import layout
from headwater.native import pool
from headwater.native.compile_c import compile_c
from headwater.native.launch_block import ACCESS_ERROR, BARRIER_ERROR, BLOCK, BOUND
from headwater.native.shared import link_shared
from headwater.native.structure import Struct, c_declarations
from headwater.timing import layout as timing_layout
from headwater.timing.layout import GCN
from headwater.timing.vliw_layout import VLIW

ROOT = Path(headwater.__file__).parent


def _shaders_header() -> str:
    return layout.c_header() + vliw_layout.c_header()


def _check_header() -> str:
    return staging.c_header() + check.c_header()


def _trace_header() -> str:
    return staging.c_header() + trace.c_header()


HEADERS: list[tuple[str, Callable[[], str], Sequence[Struct]]] = [
    ("native", pool.c_header, pool.SHARED),
    ("emulate", layout.c_header, layout.SHARED),
    ("emulate", _shaders_header, vliw_layout.SHARED),
    ("emulate", staging.c_header, staging.SHARED),
    ("emulate", _check_header, check.SHARED),
    ("emulate", _trace_header, trace.SHARED),
    ("timing", partial(timing_layout.c_header, GCN), GCN.shared),
    ("timing", partial(timing_layout.c_header, VLIW), VLIW.shared),
]
"""The package whose C sources begin with a header, the header, the structures that it declares."""


def _places(source: str, structures: Sequence[Struct], folder: Path) -> list[list[int]]:
    """What a C compiler says of each structure: its size, then where its fields begin."""
    numbers = [
        f"sizeof(struct {s.name}), {', '.join(f'__builtin_offsetof(struct {s.name}, {name})' for name in s.offset)}"
        for s in structures
    ]
    count = sum(1 + len(s.offset) for s in structures)
    program = f"""{source}
static const unsigned long long numbers[] = {{{", ".join(numbers)}}};
__attribute__((visibility("default"))) void places(unsigned long long *out) {{
    for (int n = 0; n < {count}; n++) out[n] = numbers[n];
}}
"""
    library = folder / "places.so"
    library.write_bytes(link_shared(compile_c(program), exports=["places"]))
    out = np.zeros(count, np.uint64)
    function(library, "places", None, (ctypes.c_void_p,))(address(out))
    left = [int(n) for n in out]
    return [[left.pop(0) for _ in range(1 + len(s.offset))] for s in structures]


@pytest.mark.parametrize(("package", "header", "structures"), HEADERS)
def test_a_c_compiler_finds_fields_where_python_does(package, header, structures, tmp_path):
    expected = [[s.size_bytes, *s.offset.values()] for s in structures]
    assert _places(header(), structures, tmp_path) == expected


def test_numpy_finds_fields_where_python_does():
    for _, _, structures in HEADERS:
        for one in structures:
            fields = one.dtype.fields
            assert fields is not None
            assert {name: fields[name][1] for name in one.offset} == one.offset
            assert one.dtype.itemsize == one.size_bytes


def test_structures_hold_others_and_are_as_wide_as_their_widest_field(tmp_path):
    inner = Struct("inner", ("u8", "first", 1), ("u64", "second", 2), align=0)
    outer = Struct(
        "outer", ("u16", "first", 3), (inner, "held", 2), ("void *", "pointer", 1), ("u32", "end", 1), align=0
    )
    found = _places(c_declarations(inner, outer), [inner, outer], tmp_path)
    assert found == [[24, 0, 8], [72, 0, 8, 56, 64]]
    assert [[s.size_bytes, *s.offset.values()] for s in (inner, outer)] == found


def test_fields_are_written_and_read_by_name():
    one = Struct("one", ("u32", "many", 3), ("i64", "single", 1), ("u8", "flag", 1))
    memory = one.filled({"many": (1, 2, 3), "single": -4})
    assert [list(one.read(memory, "many")), one.read(memory, "single"), one.read(memory, "flag")] == [[1, 2, 3], -4, 0]
    one.write(memory, {"many": 7, "flag": 5})
    assert [list(one.read(memory, "many")), one.read(memory, "single"), one.read(memory, "flag")] == [[7] * 3, -4, 5]


@pytest.mark.parametrize(("package", "header", "structures"), HEADERS)
def test_c_sources_declare_no_structure_that_python_shares_with_them(package, header, structures):
    shared = {s.name for s in (*structures, ACCESS_ERROR, BARRIER_ERROR, BOUND)}
    folder = ROOT / package
    own = [
        f"{path.relative_to(ROOT)}: struct {name}"
        for path in (*folder.rglob("*.c"), *folder.rglob("*.h"))
        for name in re.findall(r"^\s*struct\s+(\w+)\s*\{", path.read_text(encoding="utf-8"), re.MULTILINE)
        if name in shared
    ]
    assert not own


def _names(source: str) -> set[str]:
    """The numbers that a C source defines."""
    plain = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
    listed = ",".join(re.findall(r"enum\s*\{([^}]*)\}", plain)).split(",")
    enumerators = {one.partition("=")[0].strip() for one in listed} - {""}
    return enumerators | set(re.findall(r"^#define\s+(\w+)", plain, re.MULTILINE))


def _support_header() -> str:
    return layout.c_header() + layout.access_header()


LIBRARIES: list[tuple[Callable[[], str], str, Sequence[str]]] = [
    (pool.c_header, "native", ("pool.c",)),
    (_support_header, "emulate/wave", ("support.c",)),
    (vliw_layout.c_header, "emulate/vliw", ("control.c",)),
    (_check_header, "emulate/watch", ("repeats.h", "lanes.h", *check.CheckObserver.library)),
    (_trace_header, "emulate/watch", ("repeats.h", "lanes.h", *trace.TraceObserver.library)),
    *(
        (partial(timing_layout.c_header, family), "timing", (*timing_layout.HEADERS, file))
        for family, file in ((GCN, "gcn.c"), (VLIW, "vliw.c"))
    ),
]
"""A header, and the folder and names of the C sources that it stands before."""


@pytest.mark.parametrize(("header", "folder", "files"), LIBRARIES)
def test_c_sources_define_no_number_that_python_gives_them(header, folder, files):
    own = _names("".join((ROOT / folder / name).read_text(encoding="utf-8") for name in files))
    given = _names(header())
    assert given
    assert not own & given


def test_the_launch_block_is_reached_by_its_fields_names_alone():
    places = re.compile(r"\bblock\[\d|ptr %(?:launch|block), i64 \d|i64, ptr %launch")
    numbers = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in (*ROOT.rglob("*.py"), *ROOT.rglob("*.c"), *ROOT.rglob("*.h"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if places.search(line) and path.parts[-2] != "cal"
    ]
    assert not [line for line in numbers if "block[1:].replace" not in line]
    assert BLOCK.size_bytes % 64 == 0
