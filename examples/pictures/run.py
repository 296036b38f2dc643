#!/usr/bin/env python3
"""Computes pictures and shows them while they come: a fractal, bodies, a fluid, or a pixel shader on an HD 4870.

fractal: a stream kernel in Python; bodies: n-body in Brook+; fluid: stream kernels in Python that carry ink; shader: a
pixel shader in ATI IL. `--to window` opens a window, `--to terminal` needs none; a file is .gif, .png or .webp.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import headwater as hw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import start

HERE = Path(__file__).resolve().parent

Step = Callable[[int], Any]


# -- a fractal ---------------------------------------------------------------------------------------------------------


@hw.stream_kernel
def julia(real: hw.float32, imaginary: hw.float32, step: hw.float32, limit: hw.int32):
    """How soon z -> z^2 + c escapes, with c the same for the whole picture."""
    here = hw.instance()
    x = (here.x - 0.5 / step) * step * 3.0
    y = (here.y - 0.5 / step) * step * 3.0
    count = 0
    while count < limit and x * x + y * y < 4.0:
        following = x * x - y * y + real
        y = 2.0 * x * y + imaginary
        x = following
        count += 1
    return count


def fractal(size: int, device: str | None) -> Step:
    """Julia sets along a circle."""
    out = hw.stream(np.zeros((size, size), np.int32), device=device)

    def step(frame: int) -> Any:
        angle = 0.05 * frame
        return julia(0.7885 * math.cos(angle), 0.7885 * math.sin(angle), 1 / size, 64, out=out, device=device)

    return step


# -- bodies ------------------------------------------------------------------------------------------------------------


def bodies(size: int, device: str | None) -> Step:
    """A cold disc of bodies under its own gravity, from above."""
    program = hw.compile(HERE.parent / "nbody" / "nbody.br")
    rng = np.random.default_rng(0)
    count = 1024
    radius, angle = np.sqrt(rng.uniform(0.02, 1, count)), rng.uniform(0, 2 * np.pi, count)
    speed = 0.9 * np.sqrt(radius)
    place = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(count), np.full(count, 1 / count)], 1)
    motion = np.stack([-speed * np.sin(angle), speed * np.cos(angle), np.zeros(count), np.zeros(count)], 1)
    state = [hw.stream(part.astype(np.float32), device=device) for part in (place, motion)]
    edges = np.linspace(-1.6, 1.6, size + 1)

    def step(frame: int) -> np.ndarray:
        position, velocity = state
        state[:] = program.step_bodies(position, velocity, position, count, 0.02, 1e-3)
        seen = np.asarray(state[0])
        counts, _, _ = np.histogram2d(-seen[:, 1], seen[:, 0], bins=(edges, edges))
        return np.log1p(counts).astype(np.float32)

    return step


# -- a fluid -----------------------------------------------------------------------------------------------------------


@hw.stream_kernel
def carried(field: hw.array(hw.float4, ndim=2), dt: hw.float32) -> hw.float4:
    """What the flow brings here: x and y are its velocity, z is ink, w pressure (Stam, Stable Fluids, 1999)."""
    here = hw.instance()
    now = field[here.y, here.x]
    x = here.x - dt * now.x
    y = here.y - dt * now.y
    left = math.floor(x)
    top = math.floor(y)
    u = x - left
    v = y - top
    upper = (1.0 - u) * field[top, left] + u * field[top, left + 1]
    lower = (1.0 - u) * field[top + 1, left] + u * field[top + 1, left + 1]
    made = (1.0 - v) * upper + v * lower
    return hw.float4(made.x, made.y, made.z, now.w)


@hw.stream_kernel
def relaxed(field: hw.array(hw.float4, ndim=2)) -> hw.float4:
    """A step of Jacobi's method for the pressure that takes the divergence away."""
    here = hw.instance()
    x = here.x
    y = here.y
    now = field[y, x]
    divergence = 0.5 * (field[y, x + 1].x - field[y, x - 1].x + field[y + 1, x].y - field[y - 1, x].y)
    around = field[y, x + 1].w + field[y, x - 1].w + field[y + 1, x].w + field[y - 1, x].w
    return hw.float4(now.x, now.y, now.z, 0.25 * (around - divergence))


@hw.stream_kernel
def projected(field: hw.array(hw.float4, ndim=2)) -> hw.float4:
    """The velocity without the gradient of the pressure."""
    here = hw.instance()
    x = here.x
    y = here.y
    now = field[y, x]
    right = 0.5 * (field[y, x + 1].w - field[y, x - 1].w)
    down = 0.5 * (field[y + 1, x].w - field[y - 1, x].w)
    return hw.float4(now.x - right, now.y - down, now.z, now.w)


@hw.stream_kernel
def ink(field: hw.float4):
    """How much ink there is."""
    return field.z


def fluid(size: int, device: str | None) -> Step:
    """Two jets of ink that meet."""
    first = np.zeros((size, size, 4), np.float32)
    band = slice(size * 9 // 20, size * 11 // 20)
    first[band, : size // 4, 0], first[band, : size // 4, 2] = 1.0, 1.0
    first[band, -(size // 4) :, 0], first[band, -(size // 4) :, 2] = -1.0, 1.0
    state = [hw.stream(first, device=device)]
    shape = (size, size)

    def step(frame: int) -> Any:
        field = carried(state[0], 2.0, shape=shape)
        for _ in range(12):
            field = relaxed(field, shape=shape)
        state[0] = projected(field, shape=shape)
        return ink(state[0])

    return step


# -- a pixel shader ----------------------------------------------------------------------------------------------------


def shader(size: int, device: str | None) -> Step:
    """Two waves, by a pixel shader of an HD 4870."""
    program = hw.compile(HERE / "plasma.il")
    constants = np.zeros((1, 4), np.float32)

    def step(frame: int) -> np.ndarray:
        out = np.zeros((size, size, 4), np.float32)
        constants[0, 0] = 0.2 * frame
        program.main[(size, size), None](cb0=constants, o0=out, device=device or "hd4870")
        return out

    return step


SCENES: dict[str, tuple[Callable[[int, str | None], Step], str, tuple[float, float] | None]] = {
    "fractal": (fractal, "heat", (0, 64)),
    "bodies": (bodies, "heat", (0, 2)),
    "fluid": (fluid, "grey", (0, 1)),
    "shader": (shader, "grey", None),
}
"""Scenes: what makes their steps, their colours and the numbers from darkest to brightest."""


def main() -> None:
    """Show a scene."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene", choices=SCENES, nargs="?", default="fractal")
    parser.add_argument("--device", help="cpu, gpu, a chip, … (default: HEADWATER_DEVICE, else cpu; hd4870 for shader)")
    parser.add_argument("--size", type=int, default=128, help="pixels across (default: %(default)s)")
    parser.add_argument("--frames", type=int, default=24, help="pictures (default: %(default)s)")
    parser.add_argument("--to", default="out/pictures.gif", help="window, terminal or a file (default: %(default)s)")
    arguments = parser.parse_args()
    make, colours, limits = SCENES[arguments.scene]
    if arguments.to not in ("window", "terminal"):
        Path(arguments.to).parent.mkdir(parents=True, exist_ok=True)
    step = make(arguments.size, arguments.device)
    frames = None if arguments.to == "window" else arguments.frames
    hw.animate(step, frames, arguments.to, limits=limits, colours=colours, title=arguments.scene)
    if arguments.to not in ("window", "terminal"):
        print(f"wrote {arguments.to} ({arguments.frames} pictures)")


if __name__ == "__main__":
    start(main)
