"""Input: the processor here. Output: what translations may ask of it, and the object code that all of them are linked
with."""

from __future__ import annotations

import functools

from headwater.base import host
from headwater.emulate.wave.layout import support_source
from headwater.native.compile_c import QUICKER, X86_64_LINUX, compile_c


@functools.cache
def has_avx512() -> bool:
    """Whether this processor has what the support code's assembly is for; the compiler decides by the same flag."""
    return "avx512bw" in host.features()


@functools.cache
def keeps_registers() -> bool:
    """Whether repeats.h has assembly for this processor that calls C and keeps all registers; it decides by the same
    flags."""
    return X86_64_LINUX and bool(host.features() & {"avx512bw", "avx2"})


def support() -> bytes:
    """Object code of support.c, from the disk cache."""
    return compile_c(support_source(), QUICKER)
