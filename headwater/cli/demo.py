"""Input: a device. Output: a photograph cleaned by median filters and a million priced options, with times."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from headwater.cli import crash
from headwater.cli.options import Parser, add_device_option
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.files import Array
    from headwater.runtime import Device

_USAGE = "[PICTURE] [--device DEVICE] [-o FILE] [--options-count N] [--json]"
_DESCRIPTION = """\
A demonstration. Noise is added to a photograph and removed by three median filters: the simple kernel and the one
with four pixels per work-item of AMD's OpenCL introduction, and one in Brook+. Then a million European options
are priced by the Black-Scholes formula, in Brook+ and OpenCL C, and compared with NumPy.
"""
_EXAMPLES = """\
examples:
  headwater demo
  headwater demo holiday.jpg -o cleaned.png
  headwater demo --device gpu
"""
_SPECKS = 0.08  # of all pixels
_RATE, _VOLATILITY = 0.03, 0.25  # a year's interest and standard deviation
_RUNS = 9


@dataclass(frozen=True)
class Line:
    """One row of the table: who did what in how many ``seconds`` (median), ``items`` a second, and how right it is."""

    what: str
    kernel: str
    seconds: float
    items: int
    unit: str
    quality: str


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    parser = Parser("demo", _USAGE, _DESCRIPTION, _EXAMPLES)
    parser.add_argument("picture", metavar="PICTURE", nargs="?", help="a photograph (default: one in the package)")
    add_device_option(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="headwater-demo.png", help="file for the filtered picture"
    )
    parser.add_argument("--options-count", metavar="N", default="1Mi", help="how many options to price (default 1Mi)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse(words)

    from headwater import files
    from headwater.cli.progress import progress
    from headwater.data import photograph
    from headwater.runtime.interface import resolve

    files.check_target(args.output)
    if Path(args.output).suffix.lower() not in files.PICTURES:
        raise UsageError(f"{args.output} is not a picture", hint="-o demo.png")
    count = files.shape_of(args.options_count)[0]
    device = resolve(args.device)
    begin = time.perf_counter()
    with progress("compiling and running"), crash.reported():
        before, after, lines = _filter(device, args.picture or str(photograph()))
        lines += _price(device, count)
    total = time.perf_counter() - begin
    pair = _side_by_side(before, after)
    kind = files.element("uchar3", packed=True)
    assert kind is not None
    files.write([files.Output(args.output, "demo", pair, kind)])
    if args.json:
        rows = [asdict(line) | {"per_second": line.items / line.seconds} for line in lines]
        report = {"device": device.name, "picture": args.output, "seconds": total, "lines": rows}
        print(json.dumps(report))
        return 0
    _print(device, lines, pair, args.output, total)
    return 0


def _print(device: Device, lines: Sequence[Line], pair: Array, output: str, total: float) -> None:
    from headwater.cli.terminal import half_blocks, print_table, shows_colour

    if shows_colour():
        print(half_blocks(pair))
    print_table(
        ["", "kernel", "time", "rate", "result"],
        [
            [
                line.what,
                line.kernel,
                f"{line.seconds * 1e3:.3f} ms",
                f"{line.items / line.seconds / 1e6:,.0f} M{line.unit}/s",
                line.quality,
            ]
            for line in lines
        ],
        title=f"3x3 median filter and Black-Scholes on {device.name} ({device.description})",
        numbers=(2, 3),
    )
    print(f"wrote {output}: with specks on the left, filtered on the right ({total:.1f} s in all, compiling included)")
    if sys.stdout.isatty():
        print("next: headwater run --help, or headwater bench --quick")


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What ``work`` returns, and the median seconds of some calls after the first, which compiles."""
    result = work()
    seconds = []
    for _ in range(_RUNS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return result, median(seconds)


# --------------------------------------------------------------------------------------------------------- photograph


def _filter(device: Device, name: str) -> tuple[Array, Array, list[Line]]:
    """The photograph with specks, filtered, both (rows, columns, 3) bytes; and a line for each filter."""
    import numpy as np

    from headwater import files
    from headwater.data import example
    from headwater.runtime import compile

    kind = files.element("uint")
    assert kind is not None
    clean = files.fit(files.read(name), kind)
    clean = np.ascontiguousarray(clean[:, : clean.shape[1] // 4 * 4])  # one kernel takes four pixels at a time
    height, width = clean.shape
    if width < 4 or height < 3:
        raise UsageError(f"{name} is too small for a 3 x 3 filter: {width} x {height} pixels")
    chance = np.random.default_rng(4870).random(clean.shape)
    spoilt = np.where(chance < _SPECKS / 2, np.uint32(0xFFFFFFFF), clean)
    spoilt = np.where(chance > 1 - _SPECKS / 2, np.uint32(0xFF000000), spoilt)

    program = compile(example("median/median.cl"), device=device)
    stream_program = compile(example("median/median.br"), device=device)

    def opencl(kernel: Any, columns: int) -> Array:
        result = np.zeros_like(spoilt)
        kernel[(columns, height), None](spoilt, result, width, height, device=device).wait()
        return result

    filters: dict[str, Callable[[], Array]] = {
        "OpenCL C, 1 pixel": lambda: opencl(program.medianfilter_rgba, width),
        "OpenCL C, 4 pixels": lambda: opencl(program.medianfilter_rgba_x4, width // 4),
        "Brook+": lambda: stream_program.median(spoilt, width, height, shape=spoilt.shape, device=device),
    }
    lines = []
    cleaned = spoilt
    for label, work in filters.items():
        cleaned, seconds = _timed(work)
        quality = f"PSNR {_psnr(spoilt, clean):.1f} to {_psnr(cleaned, clean):.1f} dB"
        lines.append(Line("median", label, seconds, width * height, "pixel", quality))
    return _rgb(spoilt), _rgb(cleaned), lines


def _rgb(packed: Array) -> Array:
    import numpy as np

    return np.ascontiguousarray(packed.astype("<u4").view(np.uint8).reshape(*packed.shape, 4)[..., :3])


def _psnr(image: Array, original: Array) -> float:
    """Peak signal-to-noise ratio in decibels; more is better."""
    import numpy as np

    error = float(np.mean((_rgb(image).astype(np.float64) - _rgb(original)) ** 2))
    return 99.0 if error == 0 else float(10 * np.log10(255**2 / error))


def _side_by_side(left: Array, right: Array) -> Array:
    import numpy as np

    gap = np.full((left.shape[0], max(4, left.shape[1] // 80), 3), 255, np.uint8)
    return np.concatenate([left, gap, right], axis=1)


# ------------------------------------------------------------------------------------------------------------ options


def _price(device: Device, count: int) -> list[Line]:
    """A line for each way to price ``count`` options, checked against NumPy in double precision."""
    import numpy as np

    from headwater.data import example
    from headwater.runtime import compile

    random = np.random.default_rng(1973)  # the year of Black and Scholes's article
    spot = random.uniform(10, 100, count).astype(np.float32)
    strike = random.uniform(10, 100, count).astype(np.float32)
    years = random.uniform(0.25, 5, count).astype(np.float32)
    exact = _black_scholes(*(array.astype(np.float64) for array in (spot, strike, years)))
    _, numpy_seconds = _timed(lambda: _black_scholes(spot, strike, years))

    stream_program = compile(example("black_scholes/black_scholes.br"), device=device)
    program = compile(example("black_scholes/black_scholes.cl"), device=device)

    def opencl() -> tuple[Array, Array]:
        call, put = np.empty_like(spot), np.empty_like(spot)
        launch = program.black_scholes[(count,), None]
        launch(spot, strike, years, _RATE, _VOLATILITY, call, put, count, device=device).wait()
        return call, put

    ways: dict[str, Callable[[], tuple[Array, Array]]] = {
        "Brook+": lambda: stream_program.black_scholes(spot, strike, years, _RATE, _VOLATILITY, device=device),
        "OpenCL C": opencl,
    }
    lines = []
    for label, work in ways.items():
        prices, seconds = _timed(work)
        worst = max(float(np.abs(ours - theirs).max()) for ours, theirs in zip(prices, exact, strict=True))
        quality = f"{numpy_seconds / seconds:.1f} x NumPy, ±{worst:.0e}"
        lines.append(Line("options", label, seconds, count, "option", quality))
    lines.append(Line("options", "NumPy", numpy_seconds, count, "option", "1.0 x NumPy"))
    return lines


def _black_scholes(spot: Array, strike: Array, years: Array) -> tuple[Array, Array]:
    """Call and put prices in the arrays' own precision, by the polynomial that the kernels use."""
    import numpy as np

    def normal(x: Array) -> Array:
        # Abramowitz and Stegun, Handbook of Mathematical Functions, formula 26.2.17.
        k = 1 / (1 + 0.2316419 * np.abs(x))
        poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        tail = 0.3989422804 * np.exp(-0.5 * x * x) * poly
        return np.where(x > 0, 1 - tail, tail)

    deviation = _VOLATILITY * np.sqrt(years)
    d1 = (np.log(spot / strike) + (_RATE + 0.5 * _VOLATILITY**2) * years) / deviation
    discounted = strike * np.exp(-_RATE * years)
    n1, n2 = normal(d1), normal(d1 - deviation)
    return spot * n1 - discounted * n2, discounted * (1 - n2) - spot * (1 - n1)
