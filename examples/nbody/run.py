#!/usr/bin/env python3
"""Lets a cold disc of bodies turn under its own gravity, in Brook+ or OpenCL C, and draws it at four times."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import headwater as hw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import heat, options, save_picture, start, timed

HERE = Path(__file__).resolve().parent
GROUP = 64

State = tuple[np.ndarray, np.ndarray]


def disc(count: int, seed: int = 0) -> State:
    """A turning disc of mass 1: positions, with the masses in w, and velocities, both (count, 4) float32."""
    rng = np.random.default_rng(seed)
    radius = np.sqrt(rng.uniform(0.02, 1, count))
    angle = rng.uniform(0, 2 * np.pi, count)
    # Within a uniform disc the enclosed mass goes with the square of the radius: this keeps it near a circle.
    speed = 0.9 * np.sqrt(radius)
    place = np.stack(
        [radius * np.cos(angle), radius * np.sin(angle), rng.normal(0, 0.02, count), np.full(count, 1 / count)]
    )
    motion = np.stack([-speed * np.sin(angle), speed * np.cos(angle), np.zeros(count), np.zeros(count)])
    return place.T.astype(np.float32, order="C"), motion.T.astype(np.float32, order="C")


def brook(position: np.ndarray, velocity: np.ndarray, dt: float, softening: float, device: str | None = None) -> State:
    """One step by nbody.br."""
    program = hw.compile(HERE / "nbody.br")
    count = position.shape[0]
    after, speed = program.step_bodies(position, velocity, position, count, dt, softening, device=device)
    return after, speed


def opencl(position: np.ndarray, velocity: np.ndarray, dt: float, softening: float, device: str | None = None) -> State:
    """One step by nbody.cl; the number of bodies is a multiple of 64."""
    count = position.shape[0]
    after, speed = np.empty_like(position), np.empty_like(velocity)
    kernel = hw.compile(HERE / "nbody.cl").step_bodies
    tile = hw.Local(16 * GROUP)
    kernel[(count,), (GROUP,)](position, velocity, after, speed, count, dt, softening, tile, device=device).wait()
    return after, speed


def density(position: np.ndarray, pixels: int = 360, reach: float = 1.6) -> np.ndarray:
    """The bodies seen from above as a (pixels, pixels, 3) picture."""
    edges = np.linspace(-reach, reach, pixels + 1)
    counts, _, _ = np.histogram2d(-position[:, 1], position[:, 0], bins=(edges, edges))
    return heat(np.log1p(counts) / np.log(6))


def main() -> None:
    parser = options(__doc__, "nbody.png")
    parser.add_argument("--bodies", type=int, default=8192, help="a multiple of 64 (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=240, help="of the simulation (default: %(default)s)")
    parser.add_argument("--language", choices=("brook", "opencl"), default="opencl")
    arguments = parser.parse_args()
    if arguments.bodies < GROUP or arguments.bodies % GROUP:
        parser.error(f"--bodies: a multiple of {GROUP}")
    step = brook if arguments.language == "brook" else opencl
    state = disc(arguments.bodies)
    dt, softening = 0.01, 0.002

    for name, version in (("Brook+", brook), ("OpenCL C", opencl)):
        _, seconds = timed(lambda version=version: version(*state, dt, softening, arguments.device))
        rate = arguments.bodies**2 / seconds / 1e9
        print(f"{name:10} {seconds * 1e3:8.2f} ms a step, {rate:.2f} billion interactions a second")
    pictures = [density(state[0])]
    for number in range(1, arguments.steps + 1):
        state = step(*state, dt, softening, arguments.device)
        if number * 3 % arguments.steps < 3 and len(pictures) < 4:
            pictures.append(density(state[0]))
    save_picture(arguments.output, np.hstack(pictures))


if __name__ == "__main__":
    start(main)
