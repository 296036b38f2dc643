"""A kernel of tests/opencl/kernels, sizes and arguments in; its results, equal under every layout of work-items, out."""

from __future__ import annotations

import functools
import zlib
from pathlib import Path

import numpy as np

from benchmarks.forced_layouts import LAYOUTS, build, differences, pocl, run
from headwater.opencl.spmd.layout import Layout

KERNELS = Path(__file__).parent / "kernels"
NON_UNIFORM = "-cl-std=CL2.0"
"""Option that allows work-groups at the edge to be smaller."""


@functools.cache
def source(file):
    return (KERNELS / file).read_text()


@functools.cache
def program(file, layout, options):
    return build(source(file), layout, options, file)


def picked_layouts(name, count):
    """The layouts that a kernel is run in: one lane, what the runtime chooses, and ``count`` others, spread over tests."""
    start = zlib.crc32(name.encode())
    step = 3  # coprime to their number, so that neighbours differ in kind
    forced = LAYOUTS[1:]
    return [LAYOUTS[0], None, *(forced[(start + step * k) % len(forced)] for k in range(count))]


def verify(file, kernel, global_size, local_size, args, *, layouts=3, options="", offset=(), close=None, results=None):
    """Run the kernel in several layouts; all must agree in every bit (``close``: to so many ULP-like relative parts).

    Returns the arrays as one lane at a time left them. ``results`` picks, from the arrays, those that are defined.
    """
    expected = None
    if isinstance(layouts, int):
        layouts = picked_layouts(kernel, layouts)
    for layout in layouts:
        found = run(program(file, layout, options), kernel, global_size, local_size, args, offset=offset, time_limit=60)
        found = found if results is None else results(found)
        if expected is None:
            expected = found
        elif close is None:
            assert differences(expected, found) == [], f"{kernel} in {layout or 'the chosen layout'}"
        else:
            for a, b in zip(expected, found, strict=True):
                np.testing.assert_allclose(b, a, rtol=close, err_msg=f"{kernel} in {layout or 'the chosen layout'}")
    return expected


def on_pocl(file, kernel, global_size, local_size, args, *, options=""):
    """The arrays that the kernel leaves on PoCL; None where there is no PoCL."""
    device = pocl()
    if device is None:
        return None
    return run(device.build(source(file), file, options), kernel, global_size, local_size, args)


__all__ = ["LAYOUTS", "NON_UNIFORM", "Layout", "differences", "on_pocl", "verify"]
