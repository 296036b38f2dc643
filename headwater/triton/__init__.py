"""Triton programs, for chips that are not there.

`activate` makes Triton compile for a simulated chip and launch there, on PyTorch's CPU tensors and NumPy arrays; `load`
launches what Triton has compiled before, without Triton.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.runtime.interface import Device
    from headwater.triton.binary import Binary
    from headwater.triton.driver import Activation

__all__ = ["activate", "load", "milliseconds"]


def activate(device: Device | str, *, check: bool | None = None) -> Activation:
    """Let Triton's kernels run on the simulated chip ``device`` ("mi250x", …) from now on.

    ``triton.runtime.driver.active`` is a driver for the chip then, ``triton.testing.do_bench`` and ``triton.autotune``
    go by the cycle model's time. ``check``: find bad accesses and races, as in launches of other languages.

    The value may be used in a ``with`` statement, which gives Triton back what it had before.
    UsageError without Triton, DeviceError if there is no such chip or Triton does not compile for it.
    """
    from headwater.triton.driver import activated

    return activated(device, check)


def load(path: str, device: Device | str | None = None) -> Binary:
    """A kernel that Triton compiled: ``path`` is the code object (``.hsaco``) of a folder of Triton's cache, beside
    which lies its description (``.json``). ``kernel[grid](…)`` launches it; constants are compiled in, and are no
    arguments.

    ``device``: a simulated chip; one that executes the code if None. UsageError for a file that cannot be read,
    CodeObjectError for one that is no code object.
    """
    from headwater.triton.binary import from_file

    return from_file(path, device)


def milliseconds(function: Callable[[], Any]) -> float:
    """The time that the Triton kernels which ``function`` launches take on their chip, by the cycle model. NaN, with a
    warning, if that is not known: nothing was launched, or a kernel waits for other work-groups."""
    from headwater.triton import stopwatch

    return stopwatch.milliseconds(function)
