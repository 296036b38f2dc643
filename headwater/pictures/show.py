"""Input: a stream, or a function that computes one after the other. Output: pictures in a window, a notebook or a file.

Pictures are copies: what is on a device is read back when it is looked at, after what its default queue holds.
"""

from __future__ import annotations

import base64
import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from headwater.base.arrays import Array
from headwater.base.numbers import whole
from headwater.errors import UsageError
from headwater.pictures.pixels import Colours, pixels

MOST_COLUMNS = 160
"""Characters that a picture in a terminal is wide at most."""
_SLOWEST, _FASTEST = 0.02, 1000
"""Pictures a second: PNG files hold durations of up to 65 seconds, those of WebP whole milliseconds."""


class Picture:
    """Pixels to look at: ``pixels`` has them as (height, width, 4) uint8. Notebooks show it."""

    def __init__(self, made: Array) -> None:
        self.pixels = made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file whose ending says the format: .png, .webp, .bmp, …; it is complete before it has its name."""
        from headwater.base.writing import write

        buffer = io.BytesIO()
        image = _image(self.pixels)
        format_ = _format(path)
        with _naming_file(path):
            (image.convert("RGB") if format_ in ("JPEG", "BMP") else image).save(buffer, format_)
        write({Path(path): buffer.getvalue()})

    def png(self) -> bytes:
        """The picture as a PNG file's bytes."""
        buffer = io.BytesIO()
        _image(self.pixels).save(buffer, "PNG")
        return buffer.getvalue()

    def text(self, columns: int = 80) -> str:
        """The picture for a terminal with 24 bits of colour: two pixels one above the other are a character."""
        height, width = self.pixels.shape[:2]
        across = max(1, min(columns, MOST_COLUMNS, width))
        down = max(2, round(height * across / width) // 2 * 2)
        rows = np.arange(down) * height // down
        small = self.pixels[rows[:, None], np.arange(across) * width // across].astype(np.uint16)
        solid = small[:, :, :3] * small[:, :, 3:] // 255
        lines = []
        for upper, lower in zip(solid[::2], solid[1::2], strict=True):
            cells = [
                f"\x1b[38;2;{a[0]};{a[1]};{a[2]}m\x1b[48;2;{b[0]};{b[1]};{b[2]}m▀"
                for a, b in zip(upper.tolist(), lower.tolist(), strict=True)
            ]
            lines.append("".join(cells) + "\x1b[0m")
        return "\n".join(lines)

    def _repr_png_(self) -> bytes:
        return self.png()

    def __repr__(self) -> str:
        return f"<Picture of {self.pixels.shape[1]} × {self.pixels.shape[0]} pixels>"


class Animation:
    """Pictures one after the other, ``fps`` a second. Notebooks show it."""

    def __init__(self, pictures: Sequence[Picture], fps: float) -> None:
        self.pictures, self.fps = list(pictures), fps

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that moves: .gif, .png or .webp."""
        _save_moving(path, iter(self.pictures), self.fps)

    def _repr_html_(self) -> str:
        buffer = io.BytesIO()
        _write_moving(buffer, "PNG", iter(self.pictures), self.fps)
        return f'<img alt="animation" src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}">'

    def __len__(self) -> int:
        return len(self.pictures)

    def __repr__(self) -> str:
        return f"<Animation of {len(self.pictures)} pictures>"


def show(
    value: Any,
    to: Any = None,
    *,
    limits: tuple[float, float] | None = None,
    colours: Colours = "grey",
    title: str = "Headwater",
) -> Picture:
    """Show a stream, an array, or what a colour output of CAL holds. The picture is returned, and notebooks show it.

    ``to``: a path, to which the picture is written; ``"terminal"``; ``"window"``, which stays until it is closed (extra
    ``show``); a canvas of rendercanvas, which is drawn to. By default a terminal, if the program's output is one.
    ``limits``, ``colours``: see `headwater.pictures.pixels.pixels`, which also says what can be shown.
    """
    picture = Picture(pixels(value, limits, colours))
    target = _target(to)
    if target == "terminal":
        _print(picture)
    elif target == "window" or _is_canvas(target):
        _to_canvas(iter([picture]), target, title, 30.0)
    elif target is not None:
        picture.save(target)
    return picture


def animate(
    step: Callable[[int], Any],
    frames: int | None = None,
    to: Any = None,
    *,
    fps: float = 30.0,
    limits: tuple[float, float] | None = None,
    colours: Colours = "grey",
    title: str = "Headwater",
) -> Animation | None:
    """Show what ``step(0)``, ``step(1)``, … give, each as soon as it is computed.

    ``to``: as for `show`; files are .gif, .png or .webp. Without it the pictures are kept and returned, and notebooks
    show them. ``frames``: how many; without it a window or terminal goes on until it is closed or interrupted.
    ``fps``: pictures a second at most. ``limits``: give them, or each picture has its own.
    """
    if frames is not None and (whole(frames) or 0) < 1:
        raise UsageError(f"frames is the number of pictures, not {frames!r}")
    if not isinstance(fps, (int, float, np.integer, np.floating)) or not _SLOWEST <= fps <= _FASTEST:
        raise UsageError(f"fps is a number of pictures a second, from {_SLOWEST} to {_FASTEST}, not {fps!r}")
    fps = float(fps)

    def made() -> Iterator[Picture]:
        number = 0
        while frames is None or number < frames:
            yield Picture(pixels(step(number), limits, colours))
            number += 1

    if to is None:
        if frames is None:
            raise UsageError("an animation in memory needs a number of frames", hint='frames=100, or to="window"')
        return Animation(list(made()), fps)
    if to == "terminal":
        _play(made(), fps)
    elif to == "window" or _is_canvas(to):
        _to_canvas(made(), to, title, fps)
    elif frames is None:
        raise UsageError("an animation in a file needs a number of frames", hint="frames=100")
    else:
        _save_moving(to, made(), fps)
    return None


def _target(to: Any) -> Any:
    if to is not None:
        return to
    if "ipykernel" in sys.modules:
        return None
    return "terminal" if sys.stdout is not None and sys.stdout.isatty() else None


def _is_canvas(to: Any) -> bool:
    return hasattr(to, "request_draw") and hasattr(to, "get_context")


# -- files -------------------------------------------------------------------------------------------------------------


def _image(made: Array) -> Any:
    from PIL import Image

    return Image.fromarray(made, "RGBA")


def _format(path: str | os.PathLike[str]) -> str:
    from PIL import Image

    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"pictures are not shown on {path!r:.60}", hint='a path, "terminal", "window" or a canvas')
    ending = Path(path).suffix.lower()
    format_ = Image.registered_extensions().get(ending)
    if format_ is None or format_ not in Image.SAVE:
        raise UsageError(f"no picture is written to {os.fspath(path)}", hint=".png, .webp, .bmp, .jpg, .gif")
    return format_


@contextmanager
def _naming_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of which file a format cannot hold the pictures."""
    try:
        yield
    except (ValueError, OSError, OverflowError, RuntimeError) as error:
        raise UsageError(
            f"no picture is written to {os.fspath(path)}: {error}", hint="another format: .png, .webp, .gif"
        ) from None


def _save_moving(path: Any, pictures: Iterator[Picture], fps: float) -> None:
    from headwater.base.writing import write

    format_ = _format(path)
    if format_ not in ("GIF", "PNG", "WEBP"):
        raise UsageError(f"{os.fspath(path)} cannot hold an animation", hint="write .gif, .png or .webp")
    buffer = io.BytesIO()
    _write_moving(buffer, format_, pictures, fps)
    write({Path(path): buffer.getvalue()})


def _write_moving(buffer: io.BytesIO, format_: str, pictures: Iterator[Picture], fps: float) -> None:
    first = next(pictures)
    rest: Any = (_image(_as_large(picture, first)) for picture in pictures)
    if format_ == "PNG":
        rest = list(rest)  # Pillow goes over them twice
    loop = {"loop": 0} if format_ != "WEBP" else {"loop": 0, "lossless": True}
    _image(first.pixels).save(buffer, format_, save_all=True, append_images=rest, duration=1000 / fps, **loop)


def _as_large(picture: Picture, first: Picture) -> Array:
    if picture.pixels.shape != first.pixels.shape:
        raise UsageError(f"{picture!r} and {first!r} cannot be in one file", hint="give all pictures the same size")
    return picture.pixels


# -- terminals ---------------------------------------------------------------------------------------------------------


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return 80


def _print(picture: Picture) -> None:
    _write(sys.stdout, picture.text(_columns()) + "\n")


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def _play(pictures: Iterator[Picture], fps: float) -> None:
    """Pictures in one place of a terminal, until they end or the user interrupts."""
    due = time.perf_counter()
    lines = 0
    try:
        for picture in pictures:
            text = picture.text(_columns())
            _write(sys.stdout, (f"\x1b[{lines}A" if lines else "") + text + "\n")
            lines = text.count("\n") + 1
            due = max(due + 1 / fps, time.perf_counter() - 1)
            time.sleep(max(0.0, due - time.perf_counter()))
    except KeyboardInterrupt:
        _write(sys.stdout, "\x1b[0m")


# -- windows -----------------------------------------------------------------------------------------------------------


def _to_canvas(pictures: Iterator[Picture], to: Any, title: str, fps: float) -> None:
    """Pictures in a window or on a canvas. On a canvas that is given, its owner's loop draws them."""
    first = next(pictures)
    canvas, run = (to, None) if _is_canvas(to) else _window(first.pixels.shape, title)
    context = canvas.get_context("bitmap")
    latest: list[Picture | None] = [first]

    def draw() -> None:
        picture = latest[0] or next(pictures, None)
        latest[0] = None
        if picture is not None:
            context.set_bitmap(picture.pixels)

    if hasattr(canvas, "set_update_mode"):
        canvas.set_update_mode("continuous", max_fps=fps)
    canvas.request_draw(draw)
    if run is not None:
        run()


def _window(shape: Sequence[int], title: str) -> tuple[Any, Callable[[], None]]:
    try:
        from rendercanvas.auto import RenderCanvas, loop
    except ImportError as error:
        raise UsageError(
            f"there is no window to show pictures in: {error}",
            hint='pip install "headwater[show]", and a window system; to="picture.png" writes a file',
        ) from None
    return RenderCanvas(title=title, size=(shape[1], shape[0])), loop.run
