"""One side's process. Input: commands from the benchmark through a pipe. Output: times and results."""

from __future__ import annotations

import math
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import peers
from peers.peer import Peer, Run
from suite import CASES
from suite.case import Data

WARM_UP_SECONDS = 1.2
"""Each version runs at least twice and about this long before it is timed: Headwater's large launches try their ways
through memory meanwhile."""
QUICK_WARM_UP_SECONDS = 0.3

SAMPLE_SECONDS = 0.02
"""A sample repeats the work until it takes about this long, so that the clock and one wake-up do not matter."""

SETTLE_SECONDS = 0.03
"""Before a sample it runs untimed for about this long, until what the side before left behind is over: OpenMP's threads
spin for 10 ms after a loop, and a processor that idled beside a single thread takes milliseconds to come back."""

SLOW_SECONDS = 1.0
SLOW_SAMPLES = 3
"""A version that takes longer than the first is sampled in so many rounds only: its median is far from the others'."""


@dataclass
class Prepared:
    data: Data
    runs: dict[str, Run]
    seconds: dict[str, float]
    """Each version's fastest run while warming up."""


def timed(run: Run, repeats: int = 1) -> float:
    """Seconds per run, over ``repeats`` runs in a row."""
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


def first_results(peer: Peer, name: str, quick: bool, folder: Path) -> dict[str, str | float]:
    """Runs every version once on fresh data and saves its outputs as ``<version index>-<output>.npy``."""
    case = CASES[name]
    outcome: dict[str, str | float] = {}
    data = case.make(quick)
    for index, (version, run) in enumerate(peer.versions(case, data).items()):
        for key, value in case.make(quick).items():
            data[key][...] = value
        outcome[version] = timed(run)
        for output in case.outputs:
            np.save(folder / f"{index}-{output}.npy", data[output])
    return outcome


def prepare(peer: Peer, name: str, quick: bool) -> Prepared:
    """The case's data and versions, warmed up, with the repeats that make one sample."""
    case = CASES[name]
    data = case.make(quick)
    runs = dict(peer.versions(case, data))
    fastest_runs = {}
    for version, run in runs.items():
        run()
        spent, fastest = 0.0, math.inf
        while spent < (QUICK_WARM_UP_SECONDS if quick else WARM_UP_SECONDS) or math.isinf(fastest):
            seconds = timed(run)
            spent += seconds
            fastest = min(fastest, seconds)
        fastest_runs[version] = fastest
    return Prepared(data, runs, fastest_runs)


def sample(prepared: Prepared, turn: int) -> dict[str, float]:
    """One timed sample of every version, after runs that bring this side's data and code back into the caches."""
    times = {}
    for version, run in prepared.runs.items():
        expected = prepared.seconds[version]
        if expected > SLOW_SECONDS and turn >= SLOW_SAMPLES:
            continue
        if expected < SLOW_SECONDS:
            timed(run, max(1, math.ceil(SETTLE_SECONDS / expected)))
        times[version] = timed(run, max(1, math.ceil(SAMPLE_SECONDS / expected)))
    return times


def serve(side: str, connection: Connection) -> None:
    """Answers commands until the pipe closes; every answer is ("ok", value), ("missing", text) or ("failed", text)."""

    def answer(kind: str, value: Any) -> None:
        connection.send((kind, value))

    try:
        peer = peers.start(side)
        answer("ok", peer.describe())
    except peers.Missing as error:
        answer("missing", str(error))
        return
    except Exception as error:
        answer("failed", f"{type(error).__name__}: {error}")
        return

    prepared: Prepared | None = None
    while True:
        try:
            command, arguments = connection.recv()
        except EOFError:
            return
        try:
            if command == "check":
                prepared = None
                answer("ok", first_results(peer, *arguments))
            elif command == "prepare":
                prepared = prepare(peer, *arguments)
                answer("ok", None)
            elif command == "sample":
                assert prepared is not None
                answer("ok", sample(prepared, *arguments))
            else:
                prepared = None
                answer("ok", None)
        except Exception as error:
            prepared = None
            text = " ".join(str(error).split()) or traceback.format_exc(limit=3)
            answer("failed", f"{type(error).__name__}: {text[:400]}")
