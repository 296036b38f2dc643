"""A kernel of a code object in; the native code that emulates it, in a shared library in the disk cache, out."""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.base import cache, host, temporary
from headwater.base.freshness import native_state
from headwater.errors import InternalError

if TYPE_CHECKING:
    from headwater.emulate.hooks import Observer
    from headwater.isa.gcn.objects import CodeObject
    from headwater.opencl.worker import Worker

SYMBOL = "hw_entry"
_FORMAT = "emulate 2"
_LIBRARY, _FACTS = "kernel.so", "kernel.json"


class NativeKernel(NamedTuple):
    """Native code of a kernel: ``library`` with the entry `SYMBOL` that support.c describes.

    ``frame_bytes``: of each wavefront of a group; ``cache_slots``: see `headwater.emulate.layout`;
    ``instruction_count``: the GCN instructions that were translated; ``uses_gds``: it must be run by one thread;
    ``uses_texels``: it has image or formatted buffer instructions; ``uses_gws``: its groups synchronise; ``observed``:
    the observer's facts.
    """

    library: Path
    frame_bytes: int
    cache_slots: int
    instruction_count: int
    uses_gds: bool
    uses_texels: bool
    uses_gws: bool
    observed: Any = None


def native_kernel(code: CodeObject, name: str, *, full: bool, observer: Observer | None = None) -> NativeKernel:
    """The kernel ``name`` translated, from the disk cache or by the compiler.

    ``full``: for groups of a multiple of 64 work-items only. Raises InternalError if LLVM cannot compile it.
    """
    watched = "" if observer is None else observer.name
    key = cache.key(_FORMAT, native_state(__name__), code.digest, name, str(full), watched)
    entry = cache.get(key)
    if entry is None:
        entry = cache.put(key, _build(code, name, full, observer))
    facts: dict[str, Any] = json.loads((entry / _FACTS).read_bytes())
    return NativeKernel(entry / _LIBRARY, **facts)


def _build(code: CodeObject, name: str, full: bool, observer: Observer | None) -> dict[str, bytes]:
    from headwater.emulate.translate import Options, translate_kernel
    from headwater.opencl.shared import link_shared
    from headwater.opencl.worker import WORKER

    # The compiler process gets ready for this machine's code while the kernel is translated.
    threading.Thread(target=_prepare, args=(WORKER,), daemon=True).start()
    made = translate_kernel(code, name, Options(full=full, avx512=has_avx512(), observer=observer))
    compiled: bytes = WORKER.call("emulate.codegen:compile_wave", made.text, made.instruction_count)
    facts = {
        "frame_bytes": made.frame_bytes,
        "cache_slots": made.cache_slots,
        "instruction_count": made.instruction_count,
        "uses_gds": made.uses_gds,
        "uses_texels": made.uses_texels,
        "uses_gws": made.uses_gws,
        "observed": None if observer is None else observer.facts(),
    }
    objects = [compiled, support()]
    if made.uses_texels:
        from headwater.emulate import texels

        objects.append(texels.support())
    if observer is not None:
        objects += observer.objects()
    return {_LIBRARY: link_shared(*objects), _FACTS: json.dumps(facts).encode()}


def _prepare(worker: Worker) -> None:
    with suppress(Exception):  # the process may be ended meanwhile; the call that matters will tell
        worker.start("emulate.codegen")
        worker.call("emulate.codegen:prepare")


@functools.cache
def has_avx512() -> bool:
    """Whether this processor has what the support code's assembly is for; the compiler decides by the same flag."""
    return "avx512bw" in host.features()


@functools.cache
def keeps_registers() -> bool:
    """Whether again.h has assembly for this processor that calls C and keeps all registers; it decides by the same
    flags."""
    return bool(_TARGET) and bool(host.features() & {"avx512bw", "avx2"})


def support() -> bytes:
    """Object code of support.c, from the disk cache."""
    from headwater.emulate.layout import c_header

    return compile_c(c_header() + (Path(__file__).with_name("support.c")).read_text(), QUICKER)


QUICKER = "-finline-hint-functions"
"""For C whose functions say where they are to be inlined: clang takes 0.6 to 0.8 of the time, and code is as fast."""


def compile_c(source: str, *options: str) -> bytes:
    """C for this machine, without a library, as object code; from the disk cache. ``options``: further ones of clang.
    Raises InternalError."""
    key = cache.key(_FORMAT, "C", native_state(__name__), *options, source)
    with _COMPILING_LOCK:
        mine = _COMPILING.setdefault(key, threading.Lock())
    with mine:  # who asks while another thread compiles it finds it on the disk then
        entry = cache.get(key)
        if entry is None:
            entry = cache.put(key, {"code.o": _compile_c(source, *options)})
    return (entry / "code.o").read_bytes()


_COMPILING: dict[str, threading.Lock] = {}
"""By key of the cache: held while it is compiled."""
_COMPILING_LOCK = threading.Lock()


def _compile_c(source: str, *options: str) -> bytes:
    import subprocess

    from headwater.opencl.clang import zig_path

    with temporary.folder() as folder:
        target = os.path.join(folder, "code.o")
        command = [
            str(zig_path()),
            "clang",
            "-x",
            "c",
            *_TARGET,
            f"-march={host.level()}",
            "-O2",
            "-ffreestanding",
            "-fPIC",
        ]
        command += ["-fno-stack-protector", "-nostdinc", *options, "-c", "-o", target, "-"]
        done = subprocess.run(command, input=source, capture_output=True, text=True)
        if done.returncode:
            raise InternalError(f"compiling the emulator's support code failed: {done.stderr.strip()[-500:]}")
        return Path(target).read_bytes()


_TARGET = ("-target", "x86_64-linux-gnu") if sys.platform == "linux" and os.uname().machine == "x86_64" else ()
