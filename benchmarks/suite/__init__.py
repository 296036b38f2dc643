"""The benchmark cases, in the order in which they are run and reported."""

from __future__ import annotations

from . import (
    add,
    black_scholes,
    convolution,
    hash,
    histogram,
    hotspot,
    luminance_median,
    mandelbrot,
    matmul,
    median,
    nbody,
    reduction,
    saxpy,
    scan,
    spmv,
    transpose,
)
from .case import Case

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        add.CASE,
        saxpy.CASE,
        black_scholes.CASE,
        mandelbrot.CASE,
        matmul.NAIVE,
        matmul.TILED,
        reduction.CASE,
        median.CASE,
        luminance_median.CASE,
        nbody.CASE,
        histogram.LOCAL,
        histogram.GLOBAL,
        transpose.CASE,
        scan.CASE,
        spmv.CASE,
        hotspot.CASE,
        convolution.CASE,
        hash.CASE,
    )
}
