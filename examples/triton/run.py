#!/usr/bin/env python3
"""A photograph smoothed by a Triton kernel on a simulated Instinct MI250X, with the time that it would take there.

With Triton, the kernel is compiled and tuned for the chip; without it, what lies compiled beside it is run.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import headwater.triton
from headwater.data import photograph

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import options, save_picture, start

HERE = Path(__file__).resolve().parent
RADIUS = 3


def smoothed(image: np.ndarray, contrast: float, device: str = "mi250x") -> tuple[np.ndarray, float]:
    """The image (float32, rows by columns) smoothed by Triton's kernel on a chip, and milliseconds."""
    import triton

    sys.path.insert(0, str(HERE))
    from bilateral import bilateral

    height, width = image.shape
    out = np.empty_like(image)
    configurations = [triton.Config({"BLOCK": n}, num_warps=w) for n, w in ((64, 1), (256, 4), (256, 1))]
    tuned = triton.autotune(configurations, key=["width"])(bilateral)
    with headwater.triton.activate(device):
        launch = tuned[lambda chosen: (triton.cdiv(width, chosen["BLOCK"]), height)]
        time = headwater.triton.milliseconds(lambda: launch(image, out, width, height, contrast, RADIUS=RADIUS))
    print(f"the best of {len(configurations)}: {tuned.best_config}")
    return out, time


def stored(image: np.ndarray, contrast: float) -> tuple[np.ndarray, float]:
    """The same by bilateral.gfx90a.hsaco, in which BLOCK is 256, without Triton."""
    height, width = image.shape
    out = np.empty_like(image)
    kernel = headwater.triton.load(str(HERE / "bilateral.gfx90a.hsaco"), "mi250x")
    grid = -(-width // 256), height
    return out, headwater.triton.milliseconds(lambda: kernel[grid](image, out, width, height, np.float32(contrast)))


def main() -> None:
    parser = options(__doc__, "bilateral.png")
    parser.add_argument(
        "--contrast", type=float, default=20, help="difference that keeps an edge (default: %(default)s)"
    )
    arguments = parser.parse_args()
    plate = np.ascontiguousarray(np.asarray(Image.open(photograph()).convert("L"), np.float32))
    try:
        import triton.language  # noqa: F401
    except ImportError:
        print("Triton is not installed: the stored code object is run")
        result, time = stored(plate, arguments.contrast)
    else:
        result, time = smoothed(plate, arguments.contrast, arguments.device or "mi250x")
    height, width = plate.shape
    print(f"{width} x {height} pixels, {(2 * RADIUS + 1) ** 2} neighbours each: {time * 1e3:.1f} µs on the chip")
    save_picture(arguments.output, result.clip(0, 255).astype(np.uint8))


if __name__ == "__main__":
    start(main)
