"""Input: a VLIW kernel and what its resources are. Output: the native code that emulates it, in a shared library in the
disk cache."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.base import cache
from headwater.base.freshness import native_state, state_of
from headwater.base.garbage import uncollected
from headwater.emulate.vliw.bindings import Bindings, Name
from headwater.emulate.vliw.kernel import Kernel
from headwater.emulate.vliw.layout import c_header
from headwater.emulate.wave import layout
from headwater.emulate.wave.support import has_avx512
from headwater.native.compile_c import QUICKER, compile_c

if TYPE_CHECKING:
    from headwater.emulate.watch.hooks import Observer

SYMBOL = "hw_entry"
_FORMAT = "emulate vliw 1"
_LIBRARY, _FACTS = "kernel.so", "kernel.json"


@dataclass(frozen=True)
class NativeShader:
    """Native code of a shader: ``library`` with the entry that support.c describes.

    ``order``: the resources, in the order in which their descriptors follow the launch's sizes in its arguments;
    ``constants``: the vec4 that each constant buffer must have at least; ``quads``: wavefronts are to be made of whole
    quads of pixels; ``shared``: it has registers that wavefronts share. The rest as in `emulate.native.NativeKernel`.
    """

    library: Path
    frame_bytes: int
    cache_slots: int
    uses_gds: bool
    flushing: bool
    order: tuple[Name, ...]
    constants: dict[int, int]
    quads: bool
    shared: bool
    observed: Any = None


def native_shader(kernel: Kernel, bindings: Bindings, *, full: bool, observer: Observer | None = None) -> NativeShader:
    """A kernel translated, from the disk cache or by the compiler; ``full``: all wavefronts have all lanes.

    Raises InternalError if LLVM cannot compile it, HeadwaterError if its control flow makes no sense.
    """
    facts_of = f"{kernel.kind} {kernel.gprs} {kernel.clause_temporaries} {kernel.byte_atomics}"
    watched = "" if observer is None else observer.name
    key = cache.key(
        _FORMAT, native_state(__name__), kernel.digest, facts_of, bindings.key(), str(full), watched, state_of(observer)
    )
    entry = cache.get(key)
    if entry is None:
        entry = cache.put(key, _build(kernel, bindings, full, observer))
    facts: dict[str, Any] = json.loads((entry / _FACTS).read_bytes())
    facts["order"] = tuple((space, number) for space, number in facts["order"])
    facts["constants"] = {int(bank): count for bank, count in facts["constants"].items()}
    return NativeShader(entry / _LIBRARY, **facts)


def _build(kernel: Kernel, bindings: Bindings, full: bool, observer: Observer | None) -> dict[str, bytes]:
    from headwater.emulate.vliw.clause import Options
    from headwater.emulate.vliw.translate import translate
    from headwater.native.shared import link_shared
    from headwater.native.worker import WORKER

    WORKER.start("emulate.wave.codegen")
    with uncollected():
        made = translate(kernel, bindings, Options(has_avx512(), full, flushing=has_avx512(), observer=observer))
    compiled: bytes = WORKER.call("emulate.wave.codegen:compile_wave", made.text, made.size)
    facts = {
        "frame_bytes": made.frame_bytes,
        "cache_slots": made.cache_slots,
        "uses_gds": made.uses_gds,
        "flushing": made.flushing,
        "order": made.order,
        "constants": made.constants,
        "quads": made.quads,
        "shared": made.shared,
        "observed": None if observer is None else observer.facts(),
    }
    objects = [] if observer is None else observer.objects()
    return {_LIBRARY: link_shared(compiled, support(), *objects), _FACTS: json.dumps(facts).encode()}


def support() -> bytes:
    """Object code of support.c and control.c, from the disk cache."""
    parts = layout.support_source(), c_header(), Path(__file__).with_name("control.c").read_text()
    return compile_c("".join(parts), QUICKER)
