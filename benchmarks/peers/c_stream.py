"""The memory's limit in C, compiled when the benchmark runs.

Case "add" has copies and sums of two arrays with streaming stores, case "reduction" sums of one array's elements.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from suite.case import Case, Data

from .peer import Missing, Run

SOURCE = Path(__file__).with_name("stream.c")


def compilers() -> list[list[str]]:
    """Commands that may compile C here, best first."""
    found = [[path] for name in ("gcc", "clang", "cc") if (path := shutil.which(name))]
    try:
        import ziglang
    except ImportError:
        return found
    return [*found, [str(Path(ziglang.__file__).with_name("zig")), "cc", "-fno-sanitize=all"]]


class CStream:
    name = "C"

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="headwater-bench-")
        atexit.register(shutil.rmtree, folder, True)
        library = Path(folder) / "stream.so"
        failures = []
        for compiler in compilers():
            command = [
                *compiler,
                "-O3",
                "-march=native",
                "-shared",
                "-fPIC",
                "-pthread",
                str(SOURCE),
                "-o",
                str(library),
            ]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                self.compiler = Path(compiler[0]).name
                self.library = ctypes.CDLL(str(library))
                self.threads = len(os.sched_getaffinity(0))
                return
            failures.append(f"{compiler[0]}: {done.stderr.strip()[:200]}")
        raise Missing("no C compiler works: " + "; ".join(failures) if failures else "no C compiler")

    def describe(self) -> str:
        return f"C with streaming stores ({self.compiler} -O3 -march=native), {self.threads} threads"

    def versions(self, case: Case, data: Data) -> Mapping[str, Run]:
        names = {"add": ("a", "b", "c"), "reduction": ("values", "total")}.get(case.name)
        if names is None:
            return {}
        size, used = data[names[0]].size, self.threads
        if size % (256 * used):
            used = 1 << (used.bit_length() - 1)
        pointers = [ctypes.c_void_p(data[name].ctypes.data) for name in names]
        count, threads = ctypes.c_size_t(size), ctypes.c_int(used)

        def checked(status: int) -> None:
            if status:
                raise OSError(status, os.strerror(status))

        if case.name == "reduction":
            values, total = pointers
            return {
                "sum": lambda: checked(self.library.stream_sum(values, total, count, threads, 1)),
                "sum, 4 places at once": lambda: checked(self.library.stream_sum(values, total, count, threads, 4)),
            }
        a, b, c = pointers
        return {
            "copy": lambda: checked(self.library.stream_copy(a, c, count, threads)),
            "add": lambda: checked(self.library.stream_add(a, b, c, count, threads, 0)),
            "add, half vectors": lambda: checked(self.library.stream_add(a, b, c, count, threads, 1)),
        }


PEER = CStream
