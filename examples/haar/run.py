#!/usr/bin/env python3
"""Compresses a photograph by the Haar wavelet: transform, keep the largest coefficients, transform back."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import headwater as hw
from headwater.data import photograph

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import options, save_picture, start, timed

HERE = Path(__file__).resolve().parent


def analyze(image: np.ndarray, levels: int, device: str | None = None) -> np.ndarray:
    """The transform of a float32 image whose sides 2**levels divides: averages upper left, differences around them."""
    kernel = hw.compile(HERE / "haar.br").analyze
    result = image.copy()
    height, width = image.shape
    for _ in range(levels):
        half = height // 2, width // 2
        bands = kernel(np.ascontiguousarray(result[:height, :width]), shape=half, device=device)
        ll, hl, lh, hh = bands
        result[:height, :width] = np.block([[ll, hl], [lh, hh]])
        height, width = half
    return result


def synthesize(coefficients: np.ndarray, levels: int, device: str | None = None) -> np.ndarray:
    """The image of which :func:`analyze` makes these coefficients."""
    kernel = hw.compile(HERE / "haar.br").synthesize
    result = coefficients.copy()
    for level in range(levels - 1, -1, -1):
        height, width = (side >> level for side in coefficients.shape)
        y, x = height // 2, width // 2
        bands = (result[:y, :x], result[:y, x:width], result[y:height, :x], result[y:height, x:width])
        contiguous = (np.ascontiguousarray(band) for band in bands)
        result[:height, :width] = kernel(*contiguous, shape=(height, width), device=device)
    return result


def strongest(coefficients: np.ndarray, share: float) -> np.ndarray:
    """The coefficients with all but this share of them, the largest, set to zero."""
    keep = max(1, int(share * coefficients.size))
    limit = np.partition(np.abs(coefficients).ravel(), -keep)[-keep]
    return np.where(np.abs(coefficients) >= limit, coefficients, np.float32(0))


def main() -> None:
    parser = options(__doc__, "haar.png")
    parser.add_argument("picture", type=Path, nargs="?", default=photograph(), help="your own instead of the package's")
    parser.add_argument("--levels", type=int, default=3, help="of the transform (default: %(default)s)")
    parser.add_argument("--keep", type=float, default=0.05, help="share of the coefficients (default: %(default)s)")
    arguments = parser.parse_args()
    grey = np.asarray(Image.open(arguments.picture).convert("L"), np.float32)
    multiple = 1 << arguments.levels
    grey = grey[: grey.shape[0] // multiple * multiple, : grey.shape[1] // multiple * multiple].copy()

    coefficients, seconds = timed(lambda: analyze(grey, arguments.levels, arguments.device))
    print(f"analysis, {arguments.levels} levels: {seconds * 1e3:.2f} ms")
    kept = strongest(coefficients, arguments.keep)
    back, seconds = timed(lambda: synthesize(kept, arguments.levels, arguments.device))
    print(f"synthesis: {seconds * 1e3:.2f} ms")
    error = np.sqrt(np.mean((back - grey) ** 2))
    ratio = 20 * np.log10(255 / error) if error else np.inf
    print(f"{arguments.keep:.1%} of the coefficients: peak signal-to-noise ratio {ratio:.1f} dB")
    visible = np.clip(np.abs(coefficients) * 2, 0, 255)
    averages = tuple(slice(side >> arguments.levels) for side in grey.shape)
    visible[averages] = coefficients[averages] / multiple
    save_picture(arguments.output, np.clip(np.hstack([grey, visible, back]), 0, 255).round().astype(np.uint8))


if __name__ == "__main__":
    start(main)
