"""Two devices beside one: Black-Scholes, Monte Carlo and n-body by `hw.map`, with data that stay on the devices.

    python -m benchmarks.map [--devices opencl:0:0,opencl:0:1] [--scale 1.0] [--rounds 5] [--json]

Each round times one device with the whole and all devices with their parts, one after the other; the ratio is that of
medians. Results are compared. n-body passes its positions from device to device in each step, by way of this machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import headwater as hw
from headwater.runtime.devices import devices as known_devices

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
MONTE_CARLO = """
kernel void paths(uint seed<>, int steps, float drift, float spread, out float payoff<>) {
  uint state = seed * 747796405u + 2891336453u;
  float logarithm = 0.0f;
  int k;
  for (k = 0; k < steps; k += 1) {
    float sum = 0.0f;
    int j;
    for (j = 0; j < 4; j += 1) {
      state = state * 1664525u + 1013904223u;
      sum += (float)(state >> 8u) * 5.9604645e-8f;
    }
    logarithm += drift + spread * (sum - 2.0f) * 1.7320508f;
  }
  payoff = max(exp(logarithm) - 1.0f, 0.0f);
}
reduce void total(float value<>, reduce float sum<>) { sum += value; }
"""


def black_scholes(count: int, devices: list[str]) -> tuple[Callable[[], None], Callable[[], np.ndarray]]:
    """Prices of ``count`` options; twenty launches a round."""
    kernel = hw.compile(EXAMPLES / "black_scholes" / "black_scholes.br").black_scholes
    block = np.random.default_rng(0).uniform(0.5, 2.0, 1 << 20).astype(np.float32)
    some = np.resize(block, count)
    inputs = [hw.spread(part, devices) for part in (some, some[::-1], some)]
    outs = [hw.spread(np.zeros(count, np.float32), devices) for _ in range(2)]

    def launch() -> None:
        for _ in range(20):
            hw.map(kernel, *inputs, 0.02, 0.3, out=outs)
        outs[0].wait()

    return launch, lambda: outs[0].read()[:: max(1, count // 65536)]


def monte_carlo(count: int, devices: list[str]) -> tuple[Callable[[], None], Callable[[], np.ndarray]]:
    """The mean payoff of ``count`` paths of 256 steps; the sum is a reduction."""
    program = hw.compile(MONTE_CARLO, "brook")
    seeds = hw.spread(np.arange(count, dtype=np.uint32), devices)
    payoff = hw.spread(np.zeros(count, np.float32), devices)
    mean: list[float] = []

    def launch() -> None:
        hw.map(program.paths, seeds, 256, -0.0001, 0.01, out=payoff)
        mean[:] = [float(hw.map(program.total, payoff)) / count]

    return launch, lambda: np.array(mean, np.float32)


def nbody(count: int, devices: list[str]) -> tuple[Callable[[], None], Callable[[], np.ndarray]]:
    """Two steps of all pairs; after each, all devices get all positions."""
    kernel = hw.compile(EXAMPLES / "nbody" / "nbody.br").step_bodies
    rng = np.random.default_rng(1)
    first = np.concatenate([rng.uniform(-1, 1, (count, 3)), np.full((count, 1), 1 / count)], 1).astype(np.float32)
    state = [hw.spread(first, devices), hw.spread(np.zeros((count, 4), np.float32), devices)]

    def launch() -> None:
        for _ in range(2):
            state[:] = hw.map(kernel, *state, state[0].read(), count, 0.01, 1e-3)
        state[0].wait()

    return launch, lambda: state[0].read()


def measure(make: Callable[..., tuple], count: int, devices: list[str], rounds: int) -> dict[str, float]:
    sides = {1: make(count, devices[:1]), len(devices): make(count, devices)}
    for launch, _ in sides.values():
        launch()
    found = [result() for _, result in sides.values()]
    assert np.allclose(found[0], found[-1], rtol=1e-4), "the devices' results differ from one device's"
    times: dict[int, list[float]] = {number: [] for number in sides}
    for _ in range(rounds):
        for number, (launch, _) in sides.items():
            start = time.perf_counter()
            launch()
            times[number].append(time.perf_counter() - start)
    medians = {number: statistics.median(seconds) for number, seconds in times.items()}
    return {"one_ms": medians[1] * 1e3, "all_ms": medians[len(devices)] * 1e3,
            "ratio": medians[1] / medians[len(devices)]}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", help="names, separated by commas (default: the first two OpenCL GPUs)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of elements (default: 1)")
    parser.add_argument("--rounds", type=int, default=5, help="(default: 5)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    devices = options.devices.split(",") if options.devices else [
        device.name for device in known_devices() if device.kind == "opencl" and device.is_gpu
    ][:2]  # fmt: skip
    if len(devices) < 2:
        parser.error(f"two devices are wanted, {len(devices)} found: --devices cpu,vega64")
    sizes = {
        "black_scholes": (black_scholes, 1 << 28),
        "monte_carlo": (monte_carlo, 1 << 28),
        "nbody": (nbody, 1 << 19),
    }
    results = {}
    for name, (make, count) in sizes.items():
        results[name] = measure(make, max(256, int(count * options.scale) // 256 * 256), devices, options.rounds)
        if not options.json:
            row = results[name]
            print(
                f"{name}: one {row['one_ms']:.1f} ms, all {row['all_ms']:.1f} ms, {row['ratio']:.3f} times", flush=True
            )
    if options.json:
        print(json.dumps({"devices": devices, **results}))


if __name__ == "__main__":
    main()
