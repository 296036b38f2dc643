"""Input: OpenCL C and arguments. Output: what its kernel leaves in them under a given layout of work-items, or on
PoCL."""

from __future__ import annotations

import copy
import functools
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from headwater.opencl import host
from headwater.opencl.host import HostModule
from headwater.runtime.cpu.device import cpu_device, cpu_program
from headwater.runtime.interface import Device, DeviceProgram
from headwater.vectorise.layout import Layout

LAYOUTS = (
    Layout(1),
    Layout(1, 4, 0, 0),
    Layout(4),
    Layout(16),
    Layout(64),
    Layout(8, 2),
    Layout(16, 4),
    Layout(4, 1, 1, 0),
    Layout(8, 2, 1, 0),
    Layout(4, 2, 2, 1),
    Layout(16, 4, 0, 0),
    Layout(4, 8, 0, 0),
    Layout(4, 8, 0, 0, strip=2),
    Layout(8, 4, strip=1),
)
"""Lanes and rows of every kind: scalar, narrow, one and several vector registers, rows, along each dimension, rows
that follow each other along the lanes, and rows that run loops some after the others."""
OF_EACH_KIND = (
    LAYOUTS
    if os.environ.get("HEADWATER_TEST_LAYOUTS") == "all"
    else tuple(LAYOUTS[n] for n in (0, 3, 2, 8, 9, 5, 12, 4))
)
"""One lane, one vector register, a narrow one, lanes along y and along z, rows, rows that run loops some after the
others, several registers. Every layout with HEADWATER_TEST_LAYOUTS=all."""


class ForcedModule(HostModule):
    """A module whose kernels are laid out as told, not as the runtime would choose."""

    forced: Layout

    def layout(self, kernel: str, *sizes: Any) -> Layout:
        return self.forced if self.facts(kernel).reducible else Layout(1)


def forced(module: HostModule, layout: Layout) -> ForcedModule:
    """The same compiled module with another layout; nothing that was made for one is used for another."""
    clone = copy.copy(module)
    clone.__class__ = ForcedModule
    assert isinstance(clone, ForcedModule)
    clone._built = {}
    clone.forced = layout
    return clone


def build(source: str, layout: Layout | None = None, options: str = "", filename: str = "kernel.cl") -> DeviceProgram:
    """The program for the cpu device, in the layouts that it chooses or in ``layout``."""
    module = host.load(source, filename, options)
    if layout is not None:
        module = forced(module, layout)
    return cpu_program(
        cpu_device(), module, lambda: host.load(source, filename, options, check=True), source, filename, options
    )


@functools.cache
def pocl() -> Device | None:
    """PoCL's CPU device, if there is one."""
    from headwater.runtime.opencl import device as opencl

    if not opencl.available():
        return None
    for device in opencl.enumerate_devices():
        if device.cl_device.platform.name == "Portable Computing Language":
            return device
    return None


def run(
    program: DeviceProgram,
    kernel: str,
    global_size: Sequence[int],
    local_size: Sequence[int] | None,
    args: Sequence[Any],
    *,
    offset: Sequence[int] = (),
    time_limit: float | None = None,
    check: bool = False,
) -> list[np.ndarray]:
    """Launch the kernel on copies of ``args``; returns the arrays among them afterwards. ``check``: in checked code.

    Where the cpu device's threads can count for themselves, they do, however little there is to count.
    """
    own = [a.copy() if isinstance(a, np.ndarray) and a.ndim else a for a in args]
    local = None if local_size is None else tuple(local_size)
    prepared = program.kernels[kernel].prepare(tuple(global_size), local, tuple(offset), check=check)
    if getattr(prepared, "privatised", None) is not None:
        prepared.privatised.most_bytes = sys.maxsize
    prepared(own, None, time_limit).wait()
    return [a for a in own if isinstance(a, np.ndarray) and a.ndim]


def differences(expected: Sequence[np.ndarray], found: Sequence[np.ndarray], *, flushed: bool = False) -> list[str]:
    """Where arrays differ in any bit, NaNs apart, which are all alike.

    ``flushed``: the found ones come from a device that takes and makes floats below normal numbers as 0.
    """
    out = []
    for number, (a, b) in enumerate(zip(expected, found, strict=True)):
        if flushed and a.dtype == np.float32:
            a = np.where(np.abs(a) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), a), a)
        if a.tobytes() == b.tobytes():
            continue
        same = a == b
        if a.dtype.kind == "f":
            same |= np.isnan(a) & np.isnan(b)
            same &= (np.signbit(a) == np.signbit(b)) | np.isnan(a)
        where = np.argwhere(~same)
        if len(where):
            at = tuple(int(i) for i in where[0])
            out.append(f"array {number}: {len(where)} of {a.size} differ, first at {at}: {a[at]!r} became {b[at]!r}")
    return out
