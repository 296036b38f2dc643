"""A compiled library's functions, or one clean error that says which library."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import pytest

from headwater.base import native_library
from headwater.errors import ResourceError
from headwater.native.compile_c import compile_c
from headwater.native.shared import library_name, link_shared

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="libraries are linked for this system")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / library_name()
    code = compile_c('__attribute__((visibility("default"))) int hw_seven(int more) { return 7 + more; }')
    path.write_bytes(link_shared(code, exports=["hw_seven"]))
    return path


def test_function_has_the_types_that_are_given(library: Path) -> None:
    assert native_library.function(library, "hw_seven", ctypes.c_int, (ctypes.c_int,))(1) == 8


def test_missing_function_is_told(library: Path) -> None:
    with pytest.raises(ResourceError, match=r"has no function hw_eight.*\n.*cache clear"):
        native_library.function(library, "hw_eight", None, ())


@pytest.mark.parametrize("code", [b"", b"no library at all" * 100])
def test_damaged_library_is_told(tmp_path: Path, code: bytes) -> None:
    path = tmp_path / library_name()
    path.write_bytes(code)
    with pytest.raises(ResourceError, match=f"cannot load the compiled code {path}"):
        native_library.function(path, "hw_seven", None, ())


def test_library_on_a_file_system_without_execution_is_loaded_from_memory(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, statvfs = ctypes.CDLL, os.statvfs

    def refusing(path: str, mode: int) -> ctypes.CDLL:
        if path == str(library):
            raise OSError(f"{path}: failed to map segment from shared object")
        return real(path, mode)

    class NoExecution:
        f_flag = os.ST_NOEXEC

    monkeypatch.setattr(ctypes, "CDLL", refusing)
    with pytest.raises(ResourceError, match="failed to map"):
        native_library.function(library, "hw_seven", ctypes.c_int, (ctypes.c_int,))
    monkeypatch.setattr(os, "statvfs", lambda path: NoExecution if path == str(library) else statvfs(path))
    assert native_library.function(library, "hw_seven", ctypes.c_int, (ctypes.c_int,))(2) == 9
