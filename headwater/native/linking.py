"""Input: relocatable ELF objects for a GPU. Output: a shared object that a loader takes, or why there is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from headwater.base import temporary
from headwater.native import toolchain

_TIME_S: Final = 60.0
"""An object of some MB takes a tenth of a second."""
_SAID: Final = 500
"""Characters of the linker's message that are kept: its end has the summary."""


def linked(*objects: bytes) -> bytes | str:
    """What lld makes of the objects, or what it says of them. DeviceError if it cannot be started."""
    with temporary.folder() as folder:
        sources = [os.path.join(folder, f"{number or 'kernel'}.o") for number in range(len(objects))]
        target = os.path.join(folder, "kernel.hsaco")
        for source, code in zip(sources, objects, strict=True):
            Path(source).write_bytes(code)
        try:
            done = toolchain.run(["ld.lld", "-shared", "--no-undefined", "-o", target, *sources], timeout=_TIME_S)
        except subprocess.TimeoutExpired:
            return f"the linker did not end in {_TIME_S:.0f} s"
        if done.returncode:
            return done.stderr.decode(errors="replace").replace(folder + os.sep, "").strip()[-_SAID:]
        return Path(target).read_bytes()
