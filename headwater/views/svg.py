"""Input: numbers. Output: small charts as inline SVG. Colours are the page's CSS classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log10

_WIDTH, _HEIGHT = 360, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 24, 14, 34


def _plain(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def staircase(
    points: Sequence[tuple[int, float]], now: tuple[float, float] | None, label: str, *, title: str = ""
) -> str:
    """Occupancy (0 to 1) over a resource, as steps; ``now``: where the kernel stands."""
    if not points:
        return ""
    low, high = 0.0, float(points[-1][0])
    wide, tall = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x(value: float) -> float:
        return _LEFT + wide * (value - low) / (high - low or 1.0)

    def y(value: float) -> float:
        return _TOP + tall * (1 - value)

    line = []
    before = 0.0
    for value, share in points:
        line += [f"{_plain(x(before))},{_plain(y(share))}", f"{_plain(x(value))},{_plain(y(share))}"]
        before = value
    out = [_open(title or label)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        out.append(
            f'<line class="grid" x1="{_LEFT}" y1="{_plain(y(share))}" x2="{_WIDTH - _RIGHT}" y2="{_plain(y(share))}"/>'
        )
        out.append(f'<text class="tick" x="{_LEFT - 6}" y="{_plain(y(share) + 4)}" text-anchor="end">{share:g}</text>')
    for part in range(5):
        tick = low + (high - low) * part / 4
        out.append(
            f'<text class="tick" x="{_plain(x(tick))}" y="{_HEIGHT - 18}" text-anchor="middle">{tick:,.0f}</text>'
        )
    area = f"{_plain(x(low))},{_plain(y(0))} {' '.join(line)} {_plain(x(high))},{_plain(y(0))}"
    out.append(f'<polygon class="area" points="{area}"/><polyline class="curve" points="{" ".join(line)}"/>')
    if now is not None:
        at, share = now
        out.append(
            f'<line class="now" x1="{_plain(x(at))}" y1="{_TOP}" x2="{_plain(x(at))}" y2="{_plain(y(0))}"/>'
            f'<circle class="dot" cx="{_plain(x(at))}" cy="{_plain(y(share))}" r="4"><title>'
            f"{at:,.0f}: {share:.3g}</title></circle>"
        )
    out.append(f'<text class="axis" x="{_LEFT + wide / 2:g}" y="{_HEIGHT - 3}" text-anchor="middle">')
    out.append(f"{escape(label)}</text></svg>")
    return "".join(out)


def roofline(points: Sequence[tuple[str, float, float]], peak_gflops: float, bandwidth: float, ridge: float) -> str:
    """Attainable GFLOP/s over FLOP a byte, both logarithmic; ``points``: name, intensity, GFLOP/s."""
    width, height = 2 * _WIDTH, 260
    wide, tall = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    known = [point for point in points if point[1] > 0 and point[2] > 0]
    low = min([ridge / 100, *(p[1] / 2 for p in known)])
    high = max([ridge * 10, *(p[1] * 2 for p in known)])
    bottom = min([peak_gflops / 1000, *(p[2] / 2 for p in known)])
    left, right, down, up = floor(log10(low)), ceil(log10(high)), floor(log10(bottom)), ceil(log10(peak_gflops * 1.2))

    def x(value: float) -> float:
        return _LEFT + wide * (log10(value) - left) / (right - left)

    def y(value: float) -> float:
        return _TOP + tall * (1 - (log10(value) - down) / (up - down))

    out = [_open("roofline", width, height)]
    for power in range(left, right + 1):
        at = _plain(x(10.0**power))
        out.append(f'<line class="grid" x1="{at}" y1="{_TOP}" x2="{at}" y2="{height - _BOTTOM}"/>')
        out.append(f'<text class="tick" x="{at}" y="{height - 18}" text-anchor="middle">{10.0**power:g}</text>')
    for power in range(down, up + 1):
        at = _plain(y(10.0**power))
        out.append(f'<line class="grid" x1="{_LEFT}" y1="{at}" x2="{width - _RIGHT}" y2="{at}"/>')
        out.append(
            f'<text class="tick" x="{_LEFT - 6}" y="{_plain(float(at) + 4)}" text-anchor="end">{10.0**power:,g}</text>'
        )
    start = max(10.0**left, 10.0**down / bandwidth)
    roof = [(start, start * bandwidth), (ridge, peak_gflops), (10.0**right, peak_gflops)]
    line = " ".join(f"{_plain(x(a))},{_plain(y(b))}" for a, b in roof)
    out.append(f'<polyline class="curve" points="{line}"/>')
    out.append(
        f'<text class="tick" x="{width - _RIGHT}" y="{_plain(y(peak_gflops) - 6)}" text-anchor="end">'
        f"{peak_gflops:,.0f} GFLOP/s, {bandwidth:g} GB/s, ridge {ridge:.3g}</text>"
    )
    for name, intensity, gflops in known:
        right_half = x(intensity) > width * 0.7
        anchor, shift = ("end", -8) if right_half else ("start", 8)
        out.append(
            f'<circle class="dot" cx="{_plain(x(intensity))}" cy="{_plain(y(gflops))}" r="5"/>'
            f'<text class="name" x="{_plain(x(intensity) + shift)}" y="{_plain(y(gflops) + 16)}" '
            f'text-anchor="{anchor}">'
            f"{escape(name)}: {gflops:,.3g}</text>"
        )
    out.append(
        f'<text class="axis" x="{_LEFT + wide / 2:g}" y="{height - 3}" text-anchor="middle">'
        "floating-point operations a byte of memory traffic → GFLOP/s</text></svg>"
    )
    return "".join(out)


def curves(
    found: Sequence[tuple[str, Sequence[tuple[float, float]]]], across: str, shown: Callable[[float], str]
) -> str:
    """Values over a figure, from 0 on: a curve with its name for each of ``found``; ``shown``: a value as text."""
    width, height = 2 * _WIDTH, 300
    wide, tall = width - _LEFT - 150, height - _TOP - _BOTTOM
    everything = [point for _, points in found for point in points]
    left, right = min(x for x, _ in everything), max(x for x, _ in everything)
    most = max(y for _, y in everything) or 1.0

    def x(value: float) -> float:
        return _LEFT + wide * (value - left) / ((right - left) or 1.0)

    def y(value: float) -> float:
        return _TOP + tall * (1 - value / most)

    out = [_open(across, width, height)]
    for part in range(5):
        level, at = most * part / 4, left + (right - left) * part / 4
        height_of = _plain(y(level))
        out.append(f'<line class="grid" x1="{_LEFT}" y1="{height_of}" x2="{_LEFT + wide:g}" y2="{height_of}"/>')
        out.append(
            f'<text class="tick" x="{_LEFT - 6}" y="{_plain(y(level) + 4)}" text-anchor="end">{shown(level)}</text>'
        )
        out.append(f'<text class="tick" x="{_plain(x(at))}" y="{height - 18}" text-anchor="middle">{at:,.4g}</text>')
    for number, (name, points) in enumerate(found):
        colour = _COLOURS[number % len(_COLOURS)]
        line = " ".join(f"{_plain(x(a))},{_plain(y(b))}" for a, b in points)
        out.append(f'<polyline class="curve" style="stroke:{colour}" points="{line}"/>')
        out += [
            f'<circle cx="{_plain(x(a))}" cy="{_plain(y(b))}" r="3" fill="{colour}">'
            f"<title>{escape(name)}: {a:g}, {escape(shown(b))}</title></circle>"
            for a, b in points
        ]
        end = points[-1]
        if len(points) > 1:
            out.append(
                f'<text class="name" x="{_plain(x(end[0]) + 8)}" y="{_plain(y(end[1]) + 4)}">{escape(name[:24])}</text>'
            )
    out.append(f'<text class="axis" x="{_LEFT + wide / 2:g}" y="{height - 3}" text-anchor="middle">')
    out.append(f"{escape(across)}</text></svg>")
    return "".join(out)


def series(points: Sequence[tuple[int, float]], most: float, label: str) -> str:
    """Values over cycles, as steps of one width; the dashed line is the ``most`` that is possible."""
    width, height = 1000, 130
    high = max(most, max(value for _, value in points), 1e-9)
    step = points[1][0] if len(points) > 1 else max(points[-1][0], 1)
    scale = width / (points[-1][0] + step)

    def y(value: float) -> str:
        return _plain(height - value / high * (height - 10))

    steps = " ".join(f"L{_plain(at * scale)},{y(value)} H{_plain((at + step) * scale)}" for at, value in points)
    return (
        f'<svg class="series" viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{escape(label)}</title>'
        f'<path class="area" d="M0,{height} {steps} V{height} Z"/>'
        f'<line class="now" x1="0" x2="{width}" y1="{y(most)}" y2="{y(most)}"/></svg>'
    )


def _open(title: str, width: int = _WIDTH, height: int = _HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{escape(title)}</title>'
    )


_SIDE, _MARGIN = 560, 60
_COLOURS = ("#2a6fbb", "#c8553d", "#2f8f5b", "#8a4fae", "#b8860b", "#4a4a4a")


def scatter(points: Sequence[tuple[float, float, str, bool, str]], across: str, up: str) -> str:
    """Points of (x, y, kind, hollow, name) on logarithmic axes of the same length, a colour for each kind, with the
    diagonal and a quarter to both sides. A picture of its own, with all its styles."""
    values = [value for x, y, *_ in points for value in (x, y)]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    high = max(high, low + 1)
    wide = _SIDE - 2 * _MARGIN

    def at(value: float) -> float:
        return wide * (log10(value) - low) / (high - low)

    def x(value: float) -> str:
        return _plain(_MARGIN + min(max(at(value), 0.0), wide))

    def y(value: float) -> str:
        return _plain(_SIDE - _MARGIN - min(max(at(value), 0.0), wide))

    kinds = list(dict.fromkeys(kind for _, _, kind, _, _ in points))
    colour = {kind: _COLOURS[n % len(_COLOURS)] for n, kind in enumerate(kinds)}
    font = 'font-family="sans-serif" font-size="12"'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIDE + 130} {_SIDE}" {font}>',
        f'<rect width="{_SIDE + 130}" height="{_SIDE}" fill="#fff"/>',
    ]
    bottom, top = 10.0**low, 10.0**high
    for power in range(low, high + 1):
        value = 10.0**power
        shown = f"{value:,.0f}" if power >= 0 else f"{value:g}"
        out.append(
            f'<path d="M{x(value)},{y(bottom)}V{y(top)}M{x(bottom)},{y(value)}H{x(top)}" stroke="#ddd"/>'
            f'<text x="{x(value)}" y="{_SIDE - _MARGIN + 18}" text-anchor="middle">{shown}</text>'
            f'<text x="{_MARGIN - 6}" y="{float(y(value)) + 4:g}" text-anchor="end">{shown}</text>'
        )
    for factor, dash in ((1.0, ""), (1.25, "4 4"), (0.8, "4 4")):
        first, last = max(bottom, bottom / factor), min(top, top / factor)
        out.append(
            f'<line x1="{x(first)}" y1="{y(first * factor)}" x2="{x(last)}" y2="{y(last * factor)}" stroke="#888" '
            f'stroke-dasharray="{dash}"/>'
        )
    for left, right, kind, hollow, name in points:
        fill = "none" if hollow else colour[kind]
        out.append(
            f'<circle cx="{x(left)}" cy="{y(right)}" r="3.5" fill="{fill}" fill-opacity="0.7" stroke="{colour[kind]}">'
            f"<title>{escape(name)}: {left:,.4g}, {right:,.4g} {escape(kind)}</title></circle>"
        )
    for n, kind in enumerate(kinds):
        height = _MARGIN + 18 * n
        out.append(f'<circle cx="{_SIDE - 30}" cy="{height}" r="4" fill="{colour[kind]}"/>')
        out.append(f'<text x="{_SIDE - 20}" y="{height + 4}">{escape(kind)}</text>')
    height = _MARGIN + 18 * len(kinds)
    out.append(f'<circle cx="{_SIDE - 30}" cy="{height}" r="4" fill="none" stroke="#444"/>')
    out.append(f'<text x="{_SIDE - 20}" y="{height + 4}">fitted</text>')
    middle = _SIDE / 2
    out.append(f'<text x="{middle:g}" y="{_SIDE - 14}" text-anchor="middle">{escape(across)}</text>')
    out.append(f'<text transform="translate(16 {middle:g}) rotate(-90)" text-anchor="middle">{escape(up)}</text></svg>')
    return "\n".join(out) + "\n"


def lines_and_dots(
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    points: Sequence[tuple[int, float, float, str]],
    across: str,
    up: str,
) -> str:
    """Lines over one axis, one for each of ``series`` (name, points in order); ``points``: of a series' number, x, y
    and what they are, as dots. An axis whose numbers are all above 0, and far apart, is logarithmic."""
    width, height = 2 * _WIDTH, 300
    wide, tall = width - _LEFT - _RIGHT - 20, height - _TOP - _BOTTOM
    every = [place for _, line in series for place in line] + [(x, y) for _, x, y, _ in points]
    x_axis, y_axis = _Axis([x for x, _ in every], False), _Axis([y for _, y in every], True)

    def x(value: float) -> str:
        return _plain(_LEFT + 20 + wide * x_axis.share(value))

    def y(value: float) -> str:
        return _plain(_TOP + tall * (1 - y_axis.share(value)))

    out = [_open(f"{up} over {across}", width, height)]
    for tick in y_axis.ticks():
        out.append(f'<line class="grid" x1="{_LEFT + 20}" y1="{y(tick)}" x2="{width - _RIGHT}" y2="{y(tick)}"/>')
        out.append(
            f'<text class="tick" x="{_LEFT + 14}" y="{float(y(tick)) + 4:g}" text-anchor="end">{tick:.3g}</text>'
        )
    for tick in x_axis.ticks():
        out.append(f'<text class="tick" x="{x(tick)}" y="{height - 18}" text-anchor="middle">{tick:g}</text>')
    for number, at, value, name in points:
        colour = _COLOURS[number % len(_COLOURS)]
        out.append(f'<circle cx="{x(at)}" cy="{y(value)}" r="2.5" fill="{colour}" fill-opacity="0.45">'
                   f"<title>{escape(name)}</title></circle>")  # fmt: skip
    for number, (_, line) in enumerate(series):
        places = " ".join(f"{x(at)},{y(value)}" for at, value in line)
        colour = _COLOURS[number % len(_COLOURS)]
        out.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
    out.append(f'<text class="axis" x="{_LEFT + 20 + wide / 2:g}" y="{height - 3}" text-anchor="middle">')
    out.append(f"{escape(across)} → {escape(up)}</text></svg>")
    names = [
        f'<span><i style="background:{_COLOURS[number % len(_COLOURS)]}"></i>{escape(name)}</span>'
        for number, (name, _) in enumerate(series)
    ]
    return "".join(out) + (f'<p class="legend">{"".join(names)}</p>' if len(series) > 1 else "")


class _Axis:
    """From the least to the greatest of numbers, or from 0; logarithmic where they are far apart."""

    def __init__(self, values: Sequence[float], from_zero: bool) -> None:
        low, high = min(values), max(values)
        self.logarithmic = low > 0 and high / low > 30
        if not self.logarithmic and from_zero:
            low = min(low, 0.0)
        self.low, self.high = (low, high) if low < high else (low, low + (abs(low) or 1.0))

    def share(self, value: float) -> float:
        """Where a number lies, from 0 to 1."""
        if self.logarithmic:
            return (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Four to nine round numbers."""
        if self.logarithmic:
            powers = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
            found = [part * 10.0**power for power in powers for part in ((1, 2, 5) if len(powers) < 4 else (1,))]
        else:
            rough = (self.high - self.low) / 5
            step = 10.0 ** floor(log10(rough))
            step *= next(part for part in (1, 2, 5, 10) if part * step >= rough)
            found = [step * number for number in range(ceil(self.low / step), floor(self.high / step) + 1)]
        slack = 1e-9 * abs(self.high)
        return [tick for tick in found if self.low - slack <= tick <= self.high + slack]
