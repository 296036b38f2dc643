"""Input: the tests. Output: whether they pass with memory that is overwritten as soon as it is freed.

``python -m verification.poisoned [ARGUMENT OF PYTEST …]``

Native code that is given the address of an array which nobody keeps reads what was there before, mostly: such a fault
shows only once something else lies there. Here NumPy's data comes from an allocator of our own (poisoned.c; NumPy's
NEP 49): new memory is filled with C5, freed memory with A5, and it is not given out again for some time. A test also
fails if freed memory was written to, or memory before the beginning or behind the end of an array. Python's own objects
are overwritten by ``PYTHONMALLOC=debug`` (with DD), the C library's memory by ``MALLOC_PERTURB_``, in processes that
tests start, too. The exit status is pytest's. It takes about twice as long as the tests alone; `-n 4` and the names of
test files work as with pytest.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ROOM = 64 << 20
"""Bytes of freed memory that wait before they are given back."""
FREED = 0xA5
_WHERE = ("after they were freed", "beyond an end")
_EXPORTS = ("hw_begin", "hw_malloc", "hw_calloc", "hw_realloc", "hw_free", "hw_look")
_SET_HANDLER = 304
"""PyDataMem_SetHandler's place in NumPy's table of functions (numpy/_core/code_generators/numpy_api.py)."""
_installed = contextvars.ContextVar("poisoned", default=False)


class _Handler(ctypes.Structure):
    """PyDataMem_Handler (numpy/ndarraytypes.h)."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in ("malloc", "calloc", "realloc", "free")),
    )


def _python() -> ctypes.PyDLL:
    """Python's own functions, whose types nobody else sees: ``ctypes.pythonapi`` is everybody's."""
    return ctypes.PyDLL(None)


@functools.cache
def _allocator() -> tuple[ctypes.CDLL, Any, _Handler]:
    """The compiled allocator, and its capsule with what that points at."""
    from headwater.native.compile_c import compile_c
    from headwater.native.shared import library_name, link_shared

    code = compile_c(Path(__file__).with_suffix(".c").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="headwater-") as folder:
        path = Path(folder) / library_name()
        path.write_bytes(link_shared(code, exports=_EXPORTS))
        library = ctypes.CDLL(str(path))
    system = ctypes.CDLL(None)

    def place(function: Any) -> int:
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    library.hw_begin.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong)
    library.hw_begin(place(system.malloc), place(system.free), ROOM)
    library.hw_look.restype = ctypes.POINTER(ctypes.c_long)
    functions = (place(getattr(library, f"hw_{name}")) for name in ("malloc", "calloc", "realloc", "free"))
    handler = _Handler(b"poisoned", 1, None, *functions)
    new = _python().PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return library, new(ctypes.addressof(handler), b"mem_handler", None), handler


def install() -> None:
    """Have NumPy's data in this thread's context come from the allocator."""
    import numpy as np

    if _installed.get():
        return
    get = _python().PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get(np._core._multiarray_umath._ARRAY_API, None)
    function = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_SET_HANDLER]
    ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(function)(_allocator()[1])
    _installed.set(True)


def found() -> tuple[int, int, int]:
    """Arrays that were written to after they were freed; beyond an end; how many were freed."""
    counts = _allocator()[0].hw_look()
    return counts[0], counts[1], counts[2]


# -- pytest's plugin ---------------------------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """Install the allocator, in threads that are started later, too."""
    install()
    run = threading.Thread.run

    def poisoned(self: threading.Thread) -> None:
        install()
        run(self)

    threading.Thread.run = poisoned  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test in which memory was written that is none fails."""
    install()
    before = found()[:2]
    result = yield
    changes = [
        f"{now - then} array(s) written {where}"
        for then, now, where in zip(before, found()[:2], _WHERE, strict=True)
        if now > then
    ]
    if changes:
        pytest.fail(" and ".join(changes))
    return result


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What the allocator saw, where it was this process's."""
    freed, beyond, count = found()
    terminalreporter.write_line(
        f"poisoned: {count:,} arrays freed, {freed} written afterwards, {beyond} written beyond an end"
    )


def main(arguments: list[str]) -> int:
    """Run pytest under the allocator."""
    environment = {**os.environ, "PYTHONMALLOC": "debug", "MALLOC_PERTURB_": str(FREED)}
    command = [sys.executable, "-m", "pytest", "-p", "verification.poisoned", *(arguments or ["tests"])]
    return subprocess.run(command, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
