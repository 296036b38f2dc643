"""Input: a kernel of tests/opencl/kernels, sizes and arguments. Output: its results, equal under every layout of
work-items."""

from __future__ import annotations

import functools
import os
import zlib
from pathlib import Path

import numpy as np

import headwater as hw
from benchmarks.forced_layouts import LAYOUTS as EVERY_LAYOUT, OF_EACH_KIND as LAYOUTS, build, differences, pocl, run
from headwater.vectorise.layout import Layout

KERNELS = Path(__file__).parent / "kernels"
NON_UNIFORM = "-cl-std=CL2.0"
"""Option that allows work-groups at the edge to be smaller."""
CHIPS = ("vega64", "mi50", "r9-nano", "firepro-w9100", "hd7970")
"""Simulated chips of five generations: gfx900, gfx906, gfx803, gfx701 and gfx600."""
FLOATS_ON_CHIPS = 3e-6
"""How far floats may be off on a chip: divisions by 2.5 units in the last place, and a * b + c may be rounded once or
twice."""
FLUSHED = 1e-30
"""What denormal floats, which chips before gfx9 take for 0, amount to in a sum of products."""


@functools.cache
def source(file):
    return (KERNELS / file).read_text()


@functools.cache
def cpu_program(file, layout, options):
    return build(source(file), layout, options, file)


def picked_layouts(name, count):
    """The layouts that a kernel is run in: one lane, what the runtime chooses, and ``count`` others, spread over tests."""
    start = zlib.crc32(name.encode())
    step = 3  # coprime to their number, so that neighbours differ in kind
    forced = EVERY_LAYOUT[1:]
    return [LAYOUTS[0], None, *(forced[(start + step * k) % len(forced)] for k in range(count))]


@functools.cache
def chip_program(file, chip, options):
    return hw.device(chip).build(source(file), file, options)


def picked_chips(name):
    """The chips that a kernel is run on: the next one of them, or those that HEADWATER_TEST_CHIPS names."""
    wanted = os.environ.get("HEADWATER_TEST_CHIPS", "")
    return CHIPS if wanted == "all" else wanted.split() or (CHIPS[zlib.crc32(name.encode()) % len(CHIPS)],)


def verify(
    file,
    kernel,
    global_size,
    local_size,
    args,
    *,
    layouts=3,
    options="",
    offset=(),
    close=None,
    results=None,
    chips=True,
):
    """Run the kernel in several layouts; all must agree in every bit (``close``: to so many ULP-like relative parts). Then
    on a simulated chip, where integers must agree in every bit, unless ``chips`` says that it leaves too much open.

    Returns the arrays as one lane at a time left them. ``results`` picks, from the arrays, those that are defined.
    """
    expected = None
    if isinstance(layouts, int):
        layouts = picked_layouts(kernel, layouts)
    for layout in layouts:
        found = run(
            cpu_program(file, layout, options), kernel, global_size, local_size, args, offset=offset, time_limit=60
        )
        found = found if results is None else results(found)
        if expected is None:
            expected = found
        elif close is None:
            assert differences(expected, found) == [], f"{kernel} in {layout or 'the chosen layout'}"
        else:
            for a, b in zip(expected, found, strict=True):
                np.testing.assert_allclose(b, a, rtol=close, err_msg=f"{kernel} in {layout or 'the chosen layout'}")
    for chip in picked_chips(kernel) if chips else ():
        program = chip_program(file, chip, options)
        found = run(program, kernel, global_size, local_size, args, offset=offset, time_limit=60)
        for a, b in zip(expected, found if results is None else results(found), strict=True):
            if a.dtype.kind == "f" or close is not None:
                tolerance = {"rtol": close or FLOATS_ON_CHIPS, "atol": FLUSHED}
                np.testing.assert_allclose(b, a, **tolerance, err_msg=f"{kernel} on {chip}")
            else:
                np.testing.assert_array_equal(b, a, err_msg=f"{kernel} on {chip}")
    return expected


def on_pocl(file, kernel, global_size, local_size, args, *, options=""):
    """The arrays that the kernel leaves on PoCL; None where there is no PoCL."""
    device = pocl()
    if device is None:
        return None
    return run(device.build(source(file), file, options), kernel, global_size, local_size, args)


__all__ = ["LAYOUTS", "NON_UNIFORM", "Layout", "differences", "on_pocl", "verify"]
