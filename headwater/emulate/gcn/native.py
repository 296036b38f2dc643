"""Input: a kernel of a code object. Output: the native code that emulates it, in a shared library in the disk cache."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.base import cache
from headwater.base.freshness import native_state, state_of
from headwater.base.garbage import uncollected
from headwater.emulate.wave.support import has_avx512, support

if TYPE_CHECKING:
    from headwater.emulate.watch.hooks import Observer
    from headwater.isa.gcn.objects import CodeObject
    from headwater.native.worker import Worker

SYMBOL = "hw_entry"
_FORMAT = "emulate 3"
_LIBRARY, _FACTS = "kernel.so", "kernel.json"


class NativeKernel(NamedTuple):
    """Native code of a kernel: ``library`` with the entry `SYMBOL` that support.c describes.

    ``frame_bytes``: of each wavefront of a group; ``cache_slots``: see `headwater.emulate.wave.layout`;
    ``instruction_count``: the GCN instructions that were translated; ``uses_gds``: it must be run by one thread;
    ``uses_texels``: it has image or formatted buffer instructions; ``uses_gws``: its groups synchronise;
    ``updates_dwords``: see `headwater.emulate.gcn.atomics.updates_halves`; ``observed``: the observer's facts.
    """

    library: Path
    frame_bytes: int
    cache_slots: int
    instruction_count: int
    uses_gds: bool
    uses_texels: bool
    uses_gws: bool
    updates_dwords: bool
    observed: Any = None


def native_kernel(code: CodeObject, name: str, *, full: bool, observer: Observer | None = None) -> NativeKernel:
    """The kernel ``name`` translated, from the disk cache or by the compiler.

    ``full``: for groups of a multiple of 64 work-items only. Raises InternalError if LLVM cannot compile it.
    """
    watched = "" if observer is None else observer.name
    key = cache.key(_FORMAT, native_state(__name__), code.digest, name, str(full), watched, state_of(observer))
    known = _known.get(key)
    if known is not None and known.library.exists():
        return known
    entry = cache.get(key)
    if entry is None:
        entry = cache.put(key, _build(code, name, full, observer))
    facts: dict[str, Any] = json.loads((entry / _FACTS).read_bytes())
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    found = _known[key] = NativeKernel(entry / _LIBRARY, **facts)
    return found


_known: dict[str, NativeKernel] = {}
"""What this process has had from the cache, by its key: each size of launches asks, and reading an entry takes long."""
_MOST_KNOWN = 1024


def _build(code: CodeObject, name: str, full: bool, observer: Observer | None) -> dict[str, bytes]:
    from headwater.emulate.gcn.translate import translate_kernel
    from headwater.emulate.gcn.translator import Options
    from headwater.native.pool import thread_count
    from headwater.native.shared import link_shared
    from headwater.native.worker import MOST_WORKERS, WORKER, call_concurrently

    # The compiler process gets ready for this machine's code while the kernel is translated.
    threading.Thread(target=_prepare, args=(WORKER,), daemon=True).start()
    with uncollected():
        made = translate_kernel(code, name, Options(full=full, avx512=has_avx512(), observer=observer))
        modules = made.modules(min(thread_count(), MOST_WORKERS))
    compiled = call_concurrently(
        "emulate.wave.codegen:compile_wave",
        [(module, made.instruction_count) for module in modules],
        mostly_calls=made.uses_matrices,
    )
    facts = {
        "frame_bytes": made.frame_bytes,
        "cache_slots": made.cache_slots,
        "instruction_count": made.instruction_count,
        "uses_gds": made.uses_gds,
        "uses_texels": made.uses_texels,
        "uses_gws": made.uses_gws,
        "updates_dwords": made.updates_dwords,
        "observed": None if observer is None else observer.facts(),
    }
    objects = [*compiled, support()]
    if made.uses_texels:
        from headwater.emulate.gcn import texels

        objects.append(texels.support())
    if observer is not None:
        objects += observer.objects()
    return {_LIBRARY: link_shared(*objects), _FACTS: json.dumps(facts).encode()}


def _prepare(worker: Worker) -> None:
    with suppress(Exception):  # the process may be ended meanwhile; the call that matters will raise
        worker.start("emulate.wave.codegen")
        worker.call("emulate.wave.codegen:prepare")
