"""Input: the environment, /proc and /sys. Output: the instruction set that code for this machine may use, and its
caches.

It is this processor's own, or with HEADWATER_CPU that of an x86-64 level which more processors have: one cache of
compiled code then serves them all, and what runs on the lesser ones can be tried on a greater.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

from headwater.errors import UsageError

NATIVE = "native"
_V2 = frozenset("cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3".split())
_V3 = _V2 | frozenset("abm avx avx2 bmi1 bmi2 f16c fma movbe xsave".split())
_V4 = _V3 | frozenset("avx512bw avx512cd avx512dq avx512f avx512vl".split())
LEVELS = {"x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""Level -> its features as Linux names them (System V ABI, AMD64 supplement, table 3.1: Micro-Architecture Levels)."""


@functools.cache
def level() -> str:
    """`NATIVE`, or one of `LEVELS`, as clang and LLVM name them. UsageError if neither, or beyond this machine."""
    name = os.environ.get("HEADWATER_CPU", "").strip().lower() or NATIVE
    if name == NATIVE:
        return name
    if name not in LEVELS:
        raise UsageError(f"HEADWATER_CPU is {name!r}", hint=f"it may be {', '.join(LEVELS)} or {NATIVE}")
    if missing := LEVELS[name] - _machine():
        raise UsageError(
            f"HEADWATER_CPU is {name}, and this processor lacks {', '.join(sorted(missing))}",
            hint="choose a lower level, or unset it",
        )
    return name


@functools.cache
def features() -> frozenset[str]:
    """What code may use, as /proc/cpuinfo names it; nothing where there is no such file."""
    return _machine() & LEVELS[level()] if level() in LEVELS else _machine()


@functools.cache
def _machine() -> frozenset[str]:
    try:
        with open("/proc/cpuinfo") as file:
            return frozenset(file.read().split())
    except OSError:
        return frozenset()


LAST_LEVEL_SHARE = 16 << 20
"""Bytes of the last-level cache that a processor can have, as the system counts processors. A virtual machine is told
of all that its host has, 260 MiB for two processors of an Emerald Rapids, of which it gets some; the most that any
processor sold really has for each of its threads is 16 MiB (EPYC 9175F: 512 MiB, 32 threads)."""


@functools.cache
def caches_bytes() -> tuple[int, int]:
    """Of a core's second-level cache and of the last-level one; 1 and 16 MiB where the system does not say."""
    sizes = {}
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level, text = int((path / "level").read_text()), (path / "size").read_text().strip()
            sharing = sum(int(word, 16).bit_count() for word in (path / "shared_cpu_map").read_text().split(","))
        except (OSError, ValueError):
            continue
        scale = {"K": 1 << 10, "M": 1 << 20}.get(text[-1:], 1)
        digits = text.rstrip("KM")
        size = int(digits) * scale if digits.isdecimal() else 0
        sizes[level] = min(size, max(1, sharing) * LAST_LEVEL_SHARE)
    return sizes.get(2, 0) or 1 << 20, max(sizes.values(), default=0) or 16 << 20
