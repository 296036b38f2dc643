"""Input: makers of bad inputs. Output: how many were accepted, refused, and answered otherwise: what the fuzzers share.

A maker has ``KINDS``, and for each a method that makes an input from a random generator and gives it to what must take
it. Anything but a HeadwaterError, and anything that takes long, is a defect.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import random
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from verification import isolated

INPUT_SECONDS = 2.0
"""The longest that an input may take; a code object of 30 KB takes some milliseconds."""
CHUNK = 5000
"""Inputs that one process answers at a time."""
TELLING = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    0x10,
    0x3F,
    0x40,
    0x7F,
    0x80,
    0xFF,
    0x100,
    0xFFF,
    0x1000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
)
"""Words at which sizes and offsets overflow, or nearly."""


class Maker(Protocol):
    """Makes the input of each seed, and gives it to what must take it."""

    KINDS: tuple[str, ...]
    """The methods, by turns."""


@dataclass
class Tally:
    """What became of the inputs: how many each kind had, how many were accepted, and the defects by seed."""

    inputs: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    defects: dict[int, str] = field(default_factory=dict)


def mutated(rng: random.Random, code: bytes, other: bytes) -> bytes:
    """``code``, cut, spliced with ``other``, with bits turned and words replaced by telling ones."""
    data = bytearray(code)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(max(1, len(data)))
        if rng.random() < 0.4:
            at = min(at, rng.choice((64, 256, 1024)))  # headers lie in front
        how = rng.randrange(7)
        if not data:
            return bytes(data)
        at = min(at, len(data) - 1)
        if how == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            data[at] = rng.randrange(256)
        elif how == 2:
            size, mark = rng.choice(((4, "<I"), (8, "<Q"), (2, "<H")))
            at &= -size
            data[at : at + size] = struct.pack(mark, rng.choice(TELLING) & ((1 << 8 * size) - 1))
        elif how == 3:
            del data[at:]
        elif how == 4:
            start = rng.randrange(max(1, len(other)))
            length = rng.choice((4, 16, 64, 512))
            data[at : at + length] = other[start : start + length]
        elif how == 5:
            del data[at : at + rng.choice((1, 4, 8, 64))]
        else:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 8))))
    return bytes(data)


def _try_one(maker: Maker, seed: int, tally: Tally) -> None:
    """HeadwaterErrors are what a bad input deserves; any other exception leaves."""
    from headwater.errors import HeadwaterError

    kind = maker.KINDS[seed % len(maker.KINDS)]
    tally.inputs[kind] += 1
    try:
        getattr(maker, kind)(random.Random(seed))
    except HeadwaterError as error:
        if not str(error).strip():
            raise AssertionError("an error without a message") from error
        return
    tally.accepted[kind] += 1


def _too_long(_: int, __: FrameType | None) -> None:
    raise TimeoutError(f"takes more than {INPUT_SECONDS:g} s of processor time")


@functools.cache
def _made(make: Callable[[str], Maker], folder: str) -> Maker:
    return make(folder)


def run(seeds: range, make: Callable[[str], Maker], folder: str) -> Tally:
    """Give the inputs of these seeds to what must take them."""
    faulthandler.enable()
    maker = _made(make, folder)
    tally = Tally()
    signal.signal(signal.SIGPROF, _too_long)
    for seed in seeds:
        signal.setitimer(signal.ITIMER_PROF, INPUT_SECONDS)
        try:
            _try_one(maker, seed, tally)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            tally.defects[seed] = f"{type(error).__name__}: {str(error)[:200]} ({where})"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return tally


def main(name: str, description: str, make: Callable[[str], Maker]) -> int:
    """The command: ``make`` is given the folder of its corpus, and called in each process. 1 if there are defects."""
    parser = argparse.ArgumentParser(prog=f"python -m verification.{name}", description=description)
    parser.add_argument("--count", type=int, default=100_000, help="how many inputs (default 100000)")
    parser.add_argument("--seed", type=int, default=0, help="the first input's seed (default 0)")
    parser.add_argument("--corpus", type=Path, help="a folder for the compiled kernels (default: in the cache)")
    options = parser.parse_args()
    folder = options.corpus
    if folder is None:
        from headwater.base import cache

        folder = cache.current().directory / name
    folder.mkdir(parents=True, exist_ok=True)
    make(str(folder))
    began = time.monotonic()
    total = Tally()
    end = options.seed + options.count
    chunks = [range(at, min(at + CHUNK, end)) for at in range(options.seed, end, CHUNK)]
    function: Callable[[Any], Any] = functools.partial(run, make=make, folder=str(folder))
    done = 0
    for chunk, tally in isolated.each(function, chunks, CHUNK * INPUT_SECONDS, batch=40):
        if isinstance(tally, isolated.Died):
            # One of these: each by itself.
            for (seed,), alone in isolated.each(function, [range(s, s + 1) for s in chunk], 60.0, batch=500):
                if isinstance(alone, isolated.Died):
                    total.defects[seed] = alone.reason
            tally = Tally()
        total.inputs += tally.inputs
        total.accepted += tally.accepted
        for seed, what in tally.defects.items():
            if len(total.defects) < 50:
                print(f"seed {seed}: {what}", flush=True)
            total.defects[seed] = what
        done += len(chunk)
        rate = done / (time.monotonic() - began)
        print(f"{done} inputs, {len(total.defects)} defects, {rate:.0f} a second", file=sys.stderr, flush=True)
    for kind, count in sorted(total.inputs.items()):
        print(f"{kind}: {count} inputs, {total.accepted[kind]} accepted")
    print(f"{options.count} inputs, {len(total.defects)} defects")
    return 1 if total.defects else 0
