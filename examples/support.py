"""What the example scripts share: options in; pictures, charts and a table of times out."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image, ImageDraw

from headwater.errors import HeadwaterError

Result = TypeVar("Result")


def start(main: Callable[[], None]) -> None:
    """Run an example; what its device cannot do is told as the command line tells it."""
    try:
        main()
    except HeadwaterError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


def options(description: str | None, picture: str) -> argparse.ArgumentParser:
    """A parser with what every example takes: a device, and where its picture goes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="cpu, gpu, opencl:0:0, … (default: HEADWATER_DEVICE, else cpu)")
    parser.add_argument("--output", type=Path, default=Path("out") / picture, help="the picture (default: %(default)s)")
    return parser


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """The result of ``work`` and the seconds it took, the second time: the first compiles."""
    work()
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def save_picture(path: Path, pixels: np.ndarray) -> None:
    """Writes (height, width), (…, 3) or (…, 4) bytes as a picture and says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.ascontiguousarray(pixels)).save(path)
    print(f"wrote {path} ({pixels.shape[1]} x {pixels.shape[0]})")


def heat(values: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 1 as colours from black through violet and orange to light yellow; (…, 3) bytes."""
    stops = np.array([(0, 0, 8), (66, 10, 104), (147, 38, 103), (221, 81, 58), (252, 165, 10), (252, 255, 164)], float)
    place = np.clip(values, 0, 1) * (len(stops) - 1)
    below = np.minimum(place.astype(int), len(stops) - 2)
    share = (place - below)[..., None]
    return (stops[below] * (1 - share) + stops[below + 1] * share).round().astype(np.uint8)


def save_chart(path: Path, title: str, x: np.ndarray, series: Mapping[str, np.ndarray], x_label: str) -> None:
    """Writes a line chart, by matplotlib where it is installed, else a plain one by Pillow."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        import matplotlib as mpl
    except ImportError:
        _plain_chart(path, title, x, series, x_label)
    else:
        mpl.use("Agg")
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
        for name, y in series.items():
            axes.plot(x, y, label=name)
        axes.set(title=title, xlabel=x_label)
        axes.legend()
        axes.grid(alpha=0.3)
        figure.savefig(path, dpi=120)
        plt.close(figure)
    print(f"wrote {path}")


COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b")


def _plain_chart(path: Path, title: str, x: np.ndarray, series: Mapping[str, np.ndarray], x_label: str) -> None:
    width, height, left, top, right, bottom = 960, 600, 80, 40, 20, 60
    picture = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(picture)
    low_y = min(float(np.min(y)) for y in series.values())
    high_y = max(float(np.max(y)) for y in series.values())
    low_x, high_x = float(np.min(x)), float(np.max(x))

    def place(px: float, py: float) -> tuple[float, float]:
        across = (px - low_x) / ((high_x - low_x) or 1)
        up = (py - low_y) / ((high_y - low_y) or 1)
        return left + across * (width - left - right), height - bottom - up * (height - top - bottom)

    for tick in np.linspace(0, 1, 6):
        value_x, value_y = low_x + tick * (high_x - low_x), low_y + tick * (high_y - low_y)
        across, down = place(value_x, low_y)[0], place(low_x, value_y)[1]
        draw.line([(across, top), (across, height - bottom)], fill="#dddddd")
        draw.line([(left, down), (width - right, down)], fill="#dddddd")
        draw.text((across, height - bottom + 8), f"{value_x:.4g}", fill="black", anchor="ma")
        draw.text((left - 8, down), f"{value_y:.4g}", fill="black", anchor="rm")
    for index, (name, y) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        draw.line([place(float(a), float(b)) for a, b in zip(x, y, strict=True)], fill=colour, width=2)
        draw.text((left + 12, top + 8 + 16 * index), name, fill=colour)
    draw.text((width / 2, 12), title, fill="black", anchor="ma")
    draw.text((width / 2, height - 24), x_label, fill="black", anchor="ma")
    picture.save(path)
