#!/usr/bin/env python3
"""Takes the specks out of a photograph with a 3x3 median filter, three ways.

Salt and pepper is strewn over the photograph; the simple OpenCL kernel, the one with four pixels per work-item, and the
Brook+ kernel take it out again. The picture shows the photograph as it was, spoilt, and filtered.
"""

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


def packed(rgb: np.ndarray) -> np.ndarray:
    """(height, width, 3) bytes as (height, width) uint32 with red in the lowest byte and alpha 255."""
    rgba = np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)])
    return np.ascontiguousarray(rgba).view("<u4")[..., 0]


def unpacked(image: np.ndarray) -> np.ndarray:
    """The reverse of :func:`packed`: (height, width, 3) bytes."""
    return np.ascontiguousarray(image.astype("<u4", copy=False)).view(np.uint8).reshape(*image.shape, 4)[..., :3]


def speckled(image: np.ndarray, share: float, seed: int = 0) -> np.ndarray:
    """A copy with this share of the pixels turned black or white."""
    rng = np.random.default_rng(seed)
    chance = rng.random(image.shape)
    spoilt = image.copy()
    spoilt[chance < share] = 0xFF000000
    spoilt[chance < share / 2] = 0xFFFFFFFF
    return spoilt


def simple(image: np.ndarray, device: str | None = None) -> np.ndarray:
    """The simple kernel of median.cl on a (height, width) uint32 image."""
    height, width = image.shape
    result = np.empty_like(image)
    kernel = hw.compile(HERE / "median.cl").medianfilter_rgba
    kernel[(width, height), None](image, result, width, height, device=device).wait()
    return result


def four_pixels(image: np.ndarray, device: str | None = None) -> np.ndarray:
    """The kernel of median.cl with four pixels per work-item; the width is a multiple of 4."""
    height, width = image.shape
    result = np.empty_like(image)
    kernel = hw.compile(HERE / "median.cl").medianfilter_rgba_x4
    kernel[(width // 4, height), None](image, result, width, height, device=device).wait()
    return result


def brook(image: np.ndarray, device: str | None = None) -> np.ndarray:
    """The Brook+ kernel of median.br."""
    height, width = image.shape
    return hw.compile(HERE / "median.br").median(image, width, height, shape=image.shape, device=device)


def main() -> None:
    parser = options(__doc__, "median.png")
    parser.add_argument("picture", type=Path, nargs="?", default=photograph(), help="your own instead of the package's")
    arguments = parser.parse_args()
    rgb = np.asarray(Image.open(arguments.picture).convert("RGB"))
    rgb = rgb[:, : rgb.shape[1] // 4 * 4]
    image = packed(rgb)
    spoilt = speckled(image, 0.08)

    for name, filtered in (("simple", simple), ("4 pixels per work-item", four_pixels), ("Brook+", brook)):
        result, seconds = timed(lambda filtered=filtered: filtered(spoilt, arguments.device))
        error = np.abs(unpacked(result).astype(float) - rgb).mean()
        print(f"{name:24} {seconds * 1e3:8.3f} ms, mean difference from the original {error:.2f} of 255")
    spoilt_error = np.abs(unpacked(spoilt).astype(float) - rgb).mean()
    print(f"{'unfiltered':24} {'':11}, mean difference from the original {spoilt_error:.2f} of 255")
    save_picture(arguments.output, np.hstack([rgb, unpacked(spoilt), unpacked(result)]))


if __name__ == "__main__":
    start(main)
