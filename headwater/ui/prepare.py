"""Puts what every kernel shares (engines, device libraries, run-time code) into the cache.

The page's workers only read the cache, as what they compile must reach nobody else. So this process, which takes
nothing from a browser, compiles what is the same for all of them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from headwater.base import cache
from headwater.base.freshness import code_state

_KERNEL: Final = """\
kernel void prepared(global float *y, global const float *x, float a) {
    int i = get_global_id(0);
    y[i] = sin(a * x[i]) + y[i];
}
"""
_FILES: Final = {"prepared.cl": {"text": _KERNEL}}
_WORDS: Final = ["y=ones:256", "x=arange:256", "a=2"]


def prepare(folder: Path) -> None:
    """Run a kernel on the cpu device, and on a chip of each instruction set that is not prepared yet; ``folder`` is for
    its files."""
    from headwater import chips
    from headwater.ui import tasks

    if hasattr(os, "nice"):
        os.nice(10)  # who is typing goes first
    of_target = {chips.find(name).target: name for name in reversed(chips.names())}
    os.chdir(folder)
    for device in ("cpu", *of_target.values()):
        key = cache.key("prepared for the page", code_state("headwater"), device)
        if cache.get(key) is not None:
            continue
        given = {"files": _FILES, "main": "prepared.cl", "words": _WORDS, "device": device, "devices": [device]}
        answer = tasks.answer("run" if device == "cpu" else "simulate", given, folder)
        if "value" in answer:
            cache.keep(key, {"done": b"1"})


if __name__ == "__main__":
    prepare(Path(sys.argv[1]))
