#!/usr/bin/env python3
"""Times Brook+ kernels, as Headwater translates them, against hand-written OpenCL C on an OpenCL device.

Needs NumPy, PyOpenCL and Lark only: the device's driver compiles. All data stay on the device; kernels are timed by the
device's events, in turn, and the median counts. The hand-written side gets the best of several work-group sizes.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import headwater as hw

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
HAND = Path(__file__).with_name("gpu_kernels.cl")

SUM = """
kernel void sum(float a<>, float b<>, out float c<>)
{
    c = a + b;
}
"""

LINE_SIZES: tuple[tuple[int, ...] | None, ...] = ((256,), (128,), (512,), None)
PLANE_SIZES: tuple[tuple[int, ...] | None, ...] = ((16, 16), (32, 8), (64, 4), (128, 1), None)


@dataclass
class Bench:
    """The device under both names: Headwater's, and a raw PyOpenCL context with a queue that keeps times."""

    device: Any
    raw: cl.Device
    context: cl.Context
    queue: cl.CommandQueue
    rounds: int

    def upload(self, array: np.ndarray) -> cl.Buffer:
        buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, array.nbytes)
        cl.enqueue_copy(self.queue, buffer, np.ascontiguousarray(array))
        return buffer

    def room(self, nbytes: int) -> cl.Buffer:
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, nbytes)

    def download(self, buffer: cl.Buffer, like: np.ndarray) -> np.ndarray:
        result = np.empty_like(like)
        cl.enqueue_copy(self.queue, result, buffer)
        return result

    def stream(self, array: np.ndarray) -> Any:
        return hw.stream(array, device=self.device)


@dataclass
class Hand:
    """One hand-written kernel: source, name, arguments, sizes; ``outs`` are the buffers that hold its results."""

    label: str
    source: Path
    kernel: str
    args: Sequence[Any]
    global_size: tuple[int, ...]
    local_sizes: Sequence[tuple[int, ...] | None]
    outs: Sequence[cl.Buffer]


@dataclass
class Pair:
    """A Brook+ call that leaves its results in streams, and what was written by hand for the same."""

    name: str
    call: Callable[[], Any]
    kernel: Any
    outs: Sequence[Any]
    hands: Sequence[Hand]
    nbytes: float = 0.0
    rtol: float = 1e-4
    atol: float = 1e-4
    different: float = 0.0
    """Share of elements that may differ by more: escape times and medians of equal luminance."""


@dataclass
class Timing:
    """Medians in seconds."""

    name: str
    ours: float
    hands: dict[str, float] = field(default_factory=dict)
    nbytes: float = 0.0
    right: bool = True

    def ratio(self, label: str) -> float:
        return self.hands[label] / self.ours


def event_seconds(event: cl.Event) -> float:
    event.wait()
    return (event.profile.end - event.profile.start) * 1e-9


def launchers(bench: Bench, hand: Hand) -> list[Callable[[], float]]:
    """One timed launch for each work-group size that the device accepts."""
    program = cl.Program(bench.context, hand.source.read_text()).build()
    found: list[Callable[[], float]] = []
    for local in hand.local_sizes:
        if local is not None and any(g % part for g, part in zip(hand.global_size, local, strict=True)):
            continue
        kernel = cl.Kernel(program, hand.kernel)
        kernel.set_args(*hand.args)

        def launch(kernel: cl.Kernel = kernel, local: tuple[int, ...] | None = local) -> float:
            return event_seconds(cl.enqueue_nd_range_kernel(bench.queue, kernel, hand.global_size, local))

        try:
            launch()
        except cl.Error:  # a group size beyond the device's limit
            continue
        found.append(launch)
    if not found:
        raise SystemExit(f"{hand.label}: no work-group size runs on this device")
    return found


def agree(bench: Bench, pair: Pair) -> bool:
    """Whether every hand-written kernel left what the Brook+ kernel left."""
    right = True
    for hand in pair.hands:
        for stream, buffer in zip(pair.outs, hand.outs, strict=True):
            ours = stream.read()
            theirs = bench.download(buffer, ours)
            wrong = ~np.isclose(ours, theirs, rtol=pair.rtol, atol=pair.atol)
            if wrong.mean() > pair.different:
                print(f"  {pair.name}: WRONG, {wrong.mean():.2%} of the elements differ from {hand.label}")
                right = False
    return right


def measure(bench: Bench, pair: Pair) -> Timing:
    """Checks a pair, then times its sides in turn."""
    pair.call()
    hands = {hand.label: launchers(bench, hand) for hand in pair.hands}
    right = agree(bench, pair)
    ours: list[float] = []
    theirs: dict[str, list[list[float]]] = {label: [[] for _ in group] for label, group in hands.items()}
    for _ in range(3):
        pair.call()
    for _ in range(bench.rounds):
        pair.call()
        ours.append(pair.kernel.last_event.seconds)
        for label, group in hands.items():
            for times, launch in zip(theirs[label], group, strict=True):
                times.append(launch())
    best = {label: min(statistics.median(times) for times in group) for label, group in theirs.items()}
    return Timing(pair.name, statistics.median(ours), best, pair.nbytes, right)


# -- the pairs ---------------------------------------------------------------------------------------------------------


def sum_pair(bench: Bench, n: int) -> Pair:
    rng = np.random.default_rng(1)
    a = rng.random(n, np.float32)
    b = np.roll(a, 1)
    program = hw.compile(SUM, language="brook", device=bench.device)
    streams = bench.stream(a), bench.stream(b), hw.stream((n,), np.float32, device=bench.device)
    raw_a, raw_b = bench.upload(a), bench.upload(b)
    raw_scalar, raw_float4 = bench.room(a.nbytes), bench.room(a.nbytes)
    return Pair(
        f"sum, 2^{n.bit_length() - 1} floats",
        lambda: program.sum(streams[0], streams[1], out=streams[2]),
        program.sum,
        [streams[2]],
        [
            Hand("float4", HAND, "sum_float4", (raw_a, raw_b, raw_float4), (n // 4,), LINE_SIZES, [raw_float4]),
            Hand("scalar", HAND, "sum_scalar", (raw_a, raw_b, raw_scalar), (n,), LINE_SIZES, [raw_scalar]),
        ],
        nbytes=3.0 * a.nbytes,
    )


def black_scholes_pair(bench: Bench, n: int) -> Pair:
    rng = np.random.default_rng(2)
    spot, strike = rng.uniform(10, 200, (2, n)).astype(np.float32)
    years = rng.uniform(0.1, 5, n).astype(np.float32)
    program = hw.compile(EXAMPLES / "black_scholes/black_scholes.br", device=bench.device)
    ins = [bench.stream(x) for x in (spot, strike, years)]
    outs = [hw.stream((n,), np.float32, device=bench.device) for _ in range(2)]
    rate, volatility = np.float32(0.03), np.float32(0.25)
    raw = [bench.upload(x) for x in (spot, strike, years)]
    raw_outs = [bench.room(spot.nbytes) for _ in range(2)]
    args = (*raw, rate, volatility, *raw_outs, np.int32(n))
    source = EXAMPLES / "black_scholes/black_scholes.cl"
    return Pair(
        "black_scholes",
        lambda: program.black_scholes(*ins, float(rate), float(volatility), out=outs),
        program.black_scholes,
        outs,
        [Hand("hand", source, "black_scholes", args, (n,), LINE_SIZES, raw_outs)],
        nbytes=5.0 * spot.nbytes,
        atol=1e-2,
    )


def mandelbrot_pair(bench: Bench, n: int) -> Pair:
    program = hw.compile(EXAMPLES / "mandelbrot/mandelbrot.br", device=bench.device)
    out = hw.stream((n, n), np.int32, device=bench.device)
    left, top, step = np.float32(-2.0), np.float32(1.25), np.float32(2.5 / n)
    raw = bench.room(4 * n * n)
    args = (raw, left, top, step, np.int32(n), np.int32(n), np.int32(500))
    source = EXAMPLES / "mandelbrot/mandelbrot.cl"
    return Pair(
        "mandelbrot",
        lambda: program.mandelbrot(float(left), float(top), float(step), 500, out=out),
        program.mandelbrot,
        [out],
        [Hand("hand", source, "mandelbrot", args, (n, n), PLANE_SIZES, [raw])],
        different=0.02,
    )


def matmul_pair(bench: Bench, n: int, vectors: bool) -> Pair:
    rng = np.random.default_rng(3)
    a, b = rng.random((2, n, n), np.float32)
    program = hw.compile(EXAMPLES / "matmul/matmul.br", device=bench.device)
    source = EXAMPLES / "matmul/matmul.cl"
    raw_a, raw_b, raw_c = bench.upload(a), bench.upload(b), bench.room(a.nbytes)
    args = (raw_a, raw_b, raw_c, np.int32(n), np.int32(n), np.int32(n))
    if vectors:
        shape = (n, n // 4, 4)
        ins = [bench.stream(x.reshape(shape)) for x in (a, b)]
        out = hw.stream(shape, np.float32, device=bench.device)
        hand = Hand("hand", source, "matmult_float4", args, (n // 4, n), PLANE_SIZES, [raw_c])
        kernel, inner = program.matmult_float4, n // 4
    else:
        ins = [bench.stream(x) for x in (a, b)]
        out = hw.stream((n, n), np.float32, device=bench.device)
        hand = Hand("hand", source, "matmult", args, (n, n), PLANE_SIZES, [raw_c])
        kernel, inner = program.matmult, n
    name = "matmul, float4" if vectors else "matmul"
    return Pair(name, lambda: kernel(*ins, inner, out=out), kernel, [out], [hand], rtol=1e-3)


def nbody_pair(bench: Bench, n: int) -> Pair:
    rng = np.random.default_rng(4)
    position = rng.uniform(-1, 1, (n, 4)).astype(np.float32)
    position[:, 3] = 1 / n
    velocity = rng.uniform(-0.1, 0.1, (n, 4)).astype(np.float32)
    velocity[:, 3] = 0
    program = hw.compile(EXAMPLES / "nbody/nbody.br", device=bench.device)
    ins = [bench.stream(x) for x in (position, velocity)]
    outs = [hw.stream((n, 4), np.float32, device=bench.device) for _ in range(2)]
    raw_ins = [bench.upload(x) for x in (position, velocity)]
    raw_outs = [bench.room(position.nbytes) for _ in range(2)]
    dt, softening = np.float32(0.01), np.float32(0.01)
    source = EXAMPLES / "nbody/nbody.cl"
    hands = [
        Hand(
            f"groups of {group}",
            source,
            "step_bodies",
            (*raw_ins, *raw_outs, np.int32(n), dt, softening, cl.LocalMemory(16 * group)),
            (n,),
            [(group,)],
            raw_outs,
        )
        for group in (64, 128, 256)
    ]
    return Pair(
        "nbody",
        lambda: program.step_bodies(ins[0], ins[1], ins[0], n, float(dt), float(softening), out=outs),
        program.step_bodies,
        outs,
        hands,
        rtol=1e-3,
        atol=1e-3,
    )


def median_pair(bench: Bench, n: int) -> Pair:
    # The frame's edges are treated differently by the two: the picture's rim is one grey, so that both agree.
    image = np.random.default_rng(5).integers(0, 1 << 32, (n, n), np.uint32)
    for rim in (np.s_[:2], np.s_[-2:], np.s_[:, :2], np.s_[:, -2:]):
        image[rim] = 0xFF808080
    program = hw.compile(EXAMPLES / "median/median.br", device=bench.device)
    stream, out = bench.stream(image), hw.stream((n, n), np.uint32, device=bench.device)
    source = EXAMPLES / "median/median.cl"
    raw, raw_simple, raw_four = bench.upload(image), bench.room(image.nbytes), bench.room(image.nbytes)
    sizes = (np.int32(n), np.int32(n))
    return Pair(
        "median",
        lambda: program.median(stream, n, n, out=out),
        program.median,
        [out],
        [
            Hand("simple", source, "medianfilter_rgba", (raw, raw_simple, *sizes), (n, n), PLANE_SIZES, [raw_simple]),
            Hand("x4", source, "medianfilter_rgba_x4", (raw, raw_four, *sizes), (n // 4, n), PLANE_SIZES, [raw_four]),
        ],
        nbytes=2.0 * image.nbytes,
        different=0.02,
    )


def haar_pairs(bench: Bench, n: int) -> list[Pair]:
    image = np.random.default_rng(6).random((n, n), np.float32)
    half = (n // 2, n // 2)
    program = hw.compile(EXAMPLES / "haar/haar.br", device=bench.device)
    whole, back = bench.stream(image), hw.stream((n, n), np.float32, device=bench.device)
    bands = [hw.stream(half, np.float32, device=bench.device) for _ in range(4)]
    raw, raw_back = bench.upload(image), bench.room(image.nbytes)
    raw_bands = [bench.room(image.nbytes // 4) for _ in range(4)]
    return [
        Pair(
            "haar, analyze",
            lambda: program.analyze(whole, out=bands),
            program.analyze,
            bands,
            [Hand("hand", HAND, "haar_analyze", (raw, *raw_bands), half, PLANE_SIZES, raw_bands)],
            nbytes=2.0 * image.nbytes,
        ),
        Pair(
            "haar, synthesize",
            lambda: program.synthesize(*bands, out=back),
            program.synthesize,
            [back],
            [Hand("hand", HAND, "haar_synthesize", (*raw_bands, raw_back), (n, n), PLANE_SIZES, [raw_back])],
            nbytes=2.0 * image.nbytes,
        ),
    ]


def scan_pair(bench: Bench, n: int) -> Pair:
    source = np.random.default_rng(7).integers(-100, 100, n, np.int32)
    program = hw.compile(EXAMPLES / "prefix_sum/prefix_sum.br", device=bench.device)
    stream, out = bench.stream(source), hw.stream((n,), np.int32, device=bench.device)
    raw, raw_out = bench.upload(source), bench.room(source.nbytes)
    return Pair(
        "prefix_sum, one step",
        lambda: program.scan_step(stream, 1024, out=out),
        program.scan_step,
        [out],
        [Hand("hand", HAND, "scan_step", (raw, np.int32(1024), raw_out), (n,), LINE_SIZES, [raw_out])],
        nbytes=2.0 * source.nbytes,
        rtol=0,
        atol=0,
    )


def reduction_timing(bench: Bench, n: int) -> Timing:
    """A full reduction takes several launches and brings one number back: both sides by the clock on the wall."""
    values = np.random.default_rng(8).random(n, np.float32)
    program = hw.compile(EXAMPLES / "reduction/reduction.br", device=bench.device)
    stream = bench.stream(values)
    raw = bench.upload(values)
    built = cl.Program(bench.context, (EXAMPLES / "reduction/reduction.cl").read_text()).build()
    raw_total, total = bench.room(4), np.empty(1, np.float32)
    queue = cl.CommandQueue(bench.context, bench.raw)

    def by_hand(group: int, groups: int) -> Callable[[], float]:
        first, second = cl.Kernel(built, "sum"), cl.Kernel(built, "sum")
        partial = bench.room(4 * groups)
        first.set_args(raw, partial, np.int32(n), cl.LocalMemory(4 * group))
        second.set_args(partial, raw_total, np.int32(groups), cl.LocalMemory(4 * group))

        def run(_keep: cl.Buffer = partial) -> float:  # a kernel does not keep its buffers alive
            cl.enqueue_nd_range_kernel(queue, first, (group * groups,), (group,))
            cl.enqueue_nd_range_kernel(queue, second, (group,), (group,))
            cl.enqueue_copy(queue, total, raw_total)
            return float(total[0])

        return run

    ways = [by_hand(256, groups) for groups in (256, 1024, 2048)]
    exact = values.sum(dtype=np.float64)
    results = [float(program.total(stream)), *(way() for way in ways)]
    right = all(abs(result / exact - 1) < 1e-4 for result in results)
    if not right:
        print(f"  reduction: WRONG, {results} instead of {exact}")
    ours: list[float] = []
    theirs: list[list[float]] = [[] for _ in ways]
    for _ in range(bench.rounds + 2):
        ours.append(wall(lambda: program.total(stream)))
        for times, way in zip(theirs, ways, strict=True):
            times.append(wall(way))
    best = min(statistics.median(times[2:]) for times in theirs)
    return Timing("reduction (wall clock)", statistics.median(ours[2:]), {"hand": best}, float(values.nbytes), right)


def wall(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def overhead(bench: Bench, launches: int = 2000) -> dict[str, float]:
    """Microseconds per launch of an empty-handed kernel: waited for one by one, and put in without waiting."""
    text = "__kernel void touch(__global float *a, int n) { if (get_global_id(0) < n) a[get_global_id(0)] = n; }"
    stream = hw.stream(np.zeros(64, np.float32), device=bench.device)
    launch = hw.compile(text, language="opencl", device=bench.device).touch[(64,), (64,)]
    queue = cl.CommandQueue(bench.context, bench.raw)
    raw = bench.upload(np.zeros(64, np.float32))
    kernel = cl.Kernel(cl.Program(bench.context, text).build(), "touch")
    n = np.int32(64)

    def ours_waiting() -> None:
        for _ in range(launches):
            launch(stream, 64).wait()

    def ours_streaming() -> None:
        for _ in range(launches):
            event = launch(stream, 64)
        event.wait()

    def raw_waiting() -> None:
        for _ in range(launches):
            kernel(queue, (64,), (64,), raw, n).wait()

    def raw_streaming() -> None:
        for _ in range(launches):
            kernel(queue, (64,), (64,), raw, n)
        queue.finish()

    works = {
        "Headwater, each waited for": ours_waiting,
        "PyOpenCL, each waited for": raw_waiting,
        "Headwater, without waiting": ours_streaming,
        "PyOpenCL, without waiting": raw_streaming,
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(6):
        for name, work in works.items():
            times[name].append(wall(work) / launches * 1e6)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def copy_bandwidth(bench: Bench, nbytes: int) -> float:
    """Bytes a second, read and written, of the driver's own copy between two buffers."""
    source, target = bench.room(nbytes), bench.room(nbytes)
    cl.enqueue_fill_buffer(bench.queue, source, np.zeros(1, np.float32), 0, nbytes).wait()
    times = [event_seconds(cl.enqueue_copy(bench.queue, target, source)) for _ in range(bench.rounds)]
    return 2 * nbytes / statistics.median(times)


def open_device(name: str, rounds: int) -> Bench:
    device = hw.device(name)
    if device.kind != "opencl":
        raise SystemExit(f"{name} is the {device.kind} device; give an OpenCL device, see `headwater devices`")
    queue = hw.Queue(device).backend
    raw_queue = cl.CommandQueue(queue.context, queue.device, properties=cl.command_queue_properties.PROFILING_ENABLE)
    return Bench(device, queue.device, queue.context, raw_queue, rounds)


def report(timings: list[Timing]) -> str:
    lines = [
        "| kernel | Brook+ by Headwater, ms | by hand, ms | GB/s | times as fast as by hand |",
        "|---|---|---|---|---|",
    ]
    for t in timings:
        hands = ", ".join(f"{label} {s * 1e3:.4f}" for label, s in t.hands.items())
        ratios = ", ".join(f"{label} {t.ratio(label):.3f}" for label in t.hands)
        rate = f"{t.nbytes / t.ours / 1e9:.0f}" if t.nbytes else "-"
        lines.append(f"| {t.name}{'' if t.right else ' (WRONG)'} | {t.ours * 1e3:.4f} | {hands} | {rate} | {ratios} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="gpu", help="as `headwater devices` lists them (default: %(default)s)")
    parser.add_argument("--rounds", type=int, metavar="N", help="timed rounds (default 25; 3 with --quick)")
    parser.add_argument("--quick", action="store_true", help="small data: a test of the benchmark itself")
    parser.add_argument("--json", metavar="FILE", help="also write everything measured to FILE")
    arguments = parser.parse_args()
    quick = arguments.quick
    bench = open_device(arguments.device, arguments.rounds or (3 if quick else 25))
    print(f"Device: {bench.raw.name.strip()}; platform {bench.raw.platform.version}; driver {bench.raw.driver_version}")
    print(f"PyOpenCL {cl.VERSION_TEXT}, NumPy {np.__version__}, Headwater {hw.__version__}, {bench.rounds} rounds\n")

    copied = copy_bandwidth(bench, 1 << (22 if quick else 30))
    print(f"The driver's copy between buffers: {copied / 1e9:.0f} GB/s read and written.", flush=True)

    makers: list[Callable[[], Sequence[Pair]]] = [
        lambda: [sum_pair(bench, 1 << (20 if quick else 28))],
        lambda: [black_scholes_pair(bench, 1 << (14 if quick else 24))],
        lambda: [mandelbrot_pair(bench, 128 if quick else 4096)],
        lambda: [matmul_pair(bench, 128 if quick else 2048, vectors=False)],
        lambda: [matmul_pair(bench, 128 if quick else 2048, vectors=True)],
        lambda: [nbody_pair(bench, 512 if quick else 65536)],
        lambda: [median_pair(bench, 128 if quick else 4096)],
        lambda: haar_pairs(bench, 128 if quick else 8192),
        lambda: [scan_pair(bench, 1 << (14 if quick else 26))],
    ]
    timings: list[Timing] = []
    for make in makers:
        start = time.perf_counter()
        for pair in make():
            timings.append(measure(bench, pair))
            print(f"{pair.name}: {timings[-1].ours * 1e3:.4f} ms", file=sys.stderr, flush=True)
        print(f"  ({time.perf_counter() - start:.1f} s)", file=sys.stderr, flush=True)
    timings.append(reduction_timing(bench, 1 << (14 if quick else 28)))
    print(report(timings))

    against_best = [t.ours / min(t.hands.values()) for t in timings]
    mean = math.exp(-statistics.fmean(math.log(r) for r in against_best))
    total = timings[0]
    print(f"\nGeometric mean against the best hand-written kernel of each: {mean:.3f} ({len(timings)} kernels)")
    print(f"sum: {total.ratio('float4'):.1%} of the float4 kernel, {total.ratio('scalar'):.3f} x the scalar kernel")
    launch_times = overhead(bench, 100 if quick else 2000)
    for name, microseconds in launch_times.items():
        print(f"launch, {name}: {microseconds:.2f} microseconds")
    if arguments.json:
        record = {
            "benchmark": "gpu",
            "device": bench.raw.name.strip(),
            "platform": bench.raw.platform.version,
            "driver": bench.raw.driver_version,
            "date": time.strftime("%Y-%m-%d"),
            "rounds": bench.rounds,
            "copy_bytes_per_second": copied,
            "kernels": [vars(t) for t in timings],
            "geometric_mean": mean,
            "launch_microseconds": launch_times,
        }
        Path(arguments.json).write_text(json.dumps(record, indent=1))
    return 0 if all(t.right for t in timings) else 1


if __name__ == "__main__":
    sys.exit(main())
