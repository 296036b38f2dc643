"""How many pictures a second are computed and shown: pixels equal to the arrays, on canvases and in textures.

    python benchmarks/pictures.py [--size 1024] [--frames 60] [--device cpu] [--json]

``computed``: stream kernels in Python that compute a picture. ``shown``: the same by `hw.animate` on a canvas of
rendercanvas that draws to memory. ``in a texture``: the same drawn into a texture of wgpu and read back from it, on
whatever adapter there is (software such as lavapipe, too); ``there and back``: numbers to a texture or buffer and to a
stream again. Needs the extra show. What is drawn or read is compared with the array that it came from, and a difference
ends the program.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import headwater as hw
from headwater.pictures.pixels import pixels


@hw.stream_kernel
def waves(time: hw.float32, step: hw.float32):
    """Two waves that cross, between -1 and 1."""
    here = hw.instance()
    return 0.5 * (math.sin(here.x * step + time) + math.sin(here.y * step * 0.7 - time))


@hw.stream_kernel
def julia(real: hw.float32, imaginary: hw.float32, step: hw.float32, limit: hw.int32):
    """How soon z -> z^2 + c escapes."""
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


def scenes(size: int, device: str) -> dict[str, tuple[Callable[[int], Any], tuple[float, float], str]]:
    """What computes a picture, its limits and its colours."""
    wave = hw.stream(shape=(size, size), device=device)
    counts = hw.stream(shape=(size, size), dtype=np.int32, device=device)

    def fractal(frame: int) -> Any:
        angle = 0.05 * frame
        real, imaginary = 0.7885 * math.cos(angle), 0.7885 * math.sin(angle)
        return julia(real, imaginary, 1 / size, 64, out=counts, device=device)

    def ripples(frame: int) -> Any:
        return waves(0.1 * frame, 20 / size, out=wave, device=device)

    return {"waves": (ripples, (-1, 1), "grey"), "fractal": (fractal, (0, 64), "heat")}


def rate(step: Callable[[int], Any], frames: int) -> float:
    """Calls a second, after two."""
    for number in range(2):
        step(number)
    start = time.perf_counter()
    for number in range(frames):
        step(number)
    return frames / (time.perf_counter() - start)


def equal(found: Any, expected: np.ndarray) -> None:
    if not np.array_equal(np.asarray(found), expected):
        raise SystemExit("what was drawn is not what was computed")


def on_canvas(size: int, frames: int, device: str) -> dict[str, float]:
    """Pictures a second that a canvas gets."""
    from rendercanvas.offscreen import OffscreenRenderCanvas

    found = {}
    for name, (step, limits, colours) in scenes(size, device).items():
        found[f"{name} computed"] = rate(step, frames)
        canvas = OffscreenRenderCanvas(size=(size, size), pixel_ratio=1)
        hw.animate(step, to=canvas, limits=limits, colours=colours)
        drawn = [canvas.draw() for _ in range(2)]
        start = time.perf_counter()
        drawn += [canvas.draw() for _ in range(frames)]
        found[f"{name} shown"] = frames / (time.perf_counter() - start)
        for number in (0, frames + 1):
            equal(drawn[number], pixels(step(number), limits, colours))
    return found


def in_textures(size: int, frames: int, device: str) -> dict[str, float]:
    """Pictures a second that a texture gets, and copies there and back."""
    import wgpu

    adapter = wgpu.gpu.request_adapter_sync(power_preference="low-power")
    gpu = adapter.request_device_sync()
    print(f"# {adapter.info['device']}")
    usage = wgpu.TextureUsage.COPY_DST | wgpu.TextureUsage.COPY_SRC
    texture = gpu.create_texture(size=(size, size, 1), format="rgba8unorm", usage=usage)
    numbers = gpu.create_texture(size=(size, size, 1), format="r32float", usage=usage)
    both = wgpu.BufferUsage.COPY_DST | wgpu.BufferUsage.COPY_SRC
    buffer = gpu.create_buffer(size=4 * size * size, usage=both)
    found = {}
    drawn: list[Any] = [None]
    for name, (step, limits, colours) in scenes(size, device).items():

        def draw(number: int, step: Any = step, limits: Any = limits, colours: Any = colours) -> None:
            hw.to_wgpu(step(number), texture, gpu.queue, limits=limits, colours=colours)
            drawn[0] = hw.from_wgpu(texture, gpu.queue)

        found[f"{name} in a texture"] = rate(draw, frames)
        equal(drawn[0], pixels(step(frames - 1), limits, colours))
    stream = scenes(size, device)["waves"][0](1)
    for name, target, given in (("texture", numbers, {}), ("buffer", buffer, {"shape": (size, size)})):

        def there_and_back(_: int, target: Any = target, given: Any = given) -> Any:
            hw.to_wgpu(stream, target, gpu.queue)
            return hw.from_wgpu(target, gpu.queue, device=device, **given)

        found[f"{name} there and back"] = rate(there_and_back, frames)
        equal(there_and_back(0), np.asarray(stream))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1024, help="pixels across (default: 1024)")
    parser.add_argument("--frames", type=int, default=60, help="pictures of a measurement (default: 60)")
    parser.add_argument("--device", default="cpu", help="what computes them (default: cpu)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    given = options.size, options.frames, options.device
    found = {**on_canvas(*given), **in_textures(*given)}
    if options.json:
        print(json.dumps(found))
        return
    for name, number in found.items():
        print(f"{name:24} {number:8.1f} a second")


if __name__ == "__main__":
    main()
