"""Mutated machine code and code objects in; whatever the decoder, printer and loader answer but an instruction or a
proper error, out.

Run as ``python -m benchmarks.fuzz_code_objects --count 1000000``. Three quarters of the inputs are instructions: random
words, and instructions of compiled kernels with some bits turned; the others are whole streams and whole code objects,
cut, spliced, and with words replaced by telling ones. Anything but a HeadwaterError, and anything that takes long, is a
defect. Exit status 1 if there is any; ``--seed`` and ``--count 1`` repeat an input.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import os
import random
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from benchmarks import isolated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INPUT_SECONDS = 2.0
"""The longest that an input may take; a code object of 30 KB takes some milliseconds."""
CHUNK = 5000
"""Inputs that one process answers at a time."""
TARGETS = ("gfx600", "gfx700", "gfx803", "gfx900", "gfx906", "gfx908", "gfx90a")
KERNELS = ("add.cl", "reduction.cl", "median.cl", "hash.cl", "histogram.cl", "black_scholes.cl")
"""What is mutated: these kernels of benchmarks/suite, for all targets."""
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


@dataclass
class Tally:
    """What became of the inputs: how many each kind had, how many were accepted, and the defects by seed."""

    inputs: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    defects: dict[int, str] = field(default_factory=dict)


def corpus(folder: Path) -> list[tuple[str, bytes]]:
    """(target, code object) of each kernel for each target and, of some, in other versions; kept in ``folder``."""
    from headwater.errors import HeadwaterError
    from headwater.opencl.gcn import compile_code_object

    suite = Path(__file__).parent / "suite"
    for target in TARGETS:
        for name in KERNELS:
            for version in (5, 4, 6) if name == KERNELS[0] else (5,):
                path = folder / f"{target}-{version}-{name}.hsaco"
                if not path.exists():
                    try:
                        made = compile_code_object((suite / name).read_text(), name, "", target, version=version)
                    except HeadwaterError as error:
                        print(f"{path.name}: {error.message}", file=sys.stderr)
                        continue
                    part = path.with_suffix(f".{os.getpid()}")
                    part.write_bytes(made.code)
                    part.rename(path)
    found = [(path.name.split("-")[0], path.read_bytes()) for path in sorted(folder.glob("*.hsaco"))]
    # What compilers of today do not make: version 2, and the OpenCL 1.x driver's binaries, from the tests' writer.
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "isa" / "gcn"))
    from objects import amdcl, version_2

    end = struct.pack("<I", 0xBF810000)
    return [*found, ("gfx803", version_2(end)), ("gfx600", amdcl(end, globals_=b"constants"))]


class Inputs:
    """Makes the input of each seed from the corpus, and gives it to what must take it."""

    def __init__(self, objects: Sequence[tuple[str, bytes]]) -> None:
        from headwater.isa.gcn import codeobject
        from headwater.isa.gcn.decode import decode, decode_all
        from headwater.isa.gcn.model import ISAS
        from headwater.isa.gcn.printer import text

        self.objects = objects
        self.isas = ISAS
        self.decode, self.decode_all, self.text, self.load = decode, decode_all, text, codeobject.load
        self.streams: list[tuple[str, bytes]] = []
        self.instructions: list[tuple[str, bytes]] = []
        for target, code in objects:
            loaded = codeobject.load(code, target)
            for kernel in loaded.kernels.values():
                # The first bytes of a kernel's code are enough: the rest resembles them.
                stream = loaded.image()[kernel.entry : kernel.code_end][:4096]
                self.streams.append((loaded.isa, stream))
                offset = 0
                while offset < len(stream):
                    instruction = decode(stream, offset, loaded.isa)
                    self.instructions.append((loaded.isa, stream[offset : offset + instruction.size_bytes]))
                    offset += instruction.size_bytes
                    if instruction.row.name == "s_endpgm":
                        break

    def try_one(self, seed: int, tally: Tally) -> None:
        """HeadwaterErrors are what a bad input deserves; any other exception leaves."""
        from headwater.errors import HeadwaterError

        rng = random.Random(seed)
        kinds = ("word", "word", "word", "turned", "turned", "turned", "stream", "object")
        kind = kinds[seed & 7]
        tally.inputs[kind] += 1
        try:
            getattr(self, f"_{kind}")(rng)
        except HeadwaterError as error:
            if not str(error).strip():
                raise AssertionError("an error without a message") from error
            return
        tally.accepted[kind] += 1

    def _word(self, rng: random.Random) -> None:
        isa = rng.choice(self.isas)
        self._instruction(rng.getrandbits(96).to_bytes(12, "little")[: rng.choice((4, 8, 12, 12))], isa)

    def _turned(self, rng: random.Random) -> None:
        _, code = rng.choice(self.instructions)
        number = int.from_bytes(code, "little")
        for _ in range(rng.randint(1, 4)):
            number ^= 1 << rng.randrange(8 * len(code))
        self._instruction(number.to_bytes(len(code), "little") + bytes(8), rng.choice(self.isas))

    def _instruction(self, code: bytes, isa: str) -> None:
        instruction = self.decode(code, 0, isa)
        if not 4 <= instruction.size_bytes <= len(code):
            raise AssertionError(f"an instruction of {instruction.size_bytes} bytes from {len(code)}")
        if not self.text(instruction, isa).strip():
            raise AssertionError("an instruction without a text")

    def _stream(self, rng: random.Random) -> None:
        isa, code = rng.choice(self.streams)
        data = self._mutated(rng, code, rng.choice(self.streams)[1])
        isa = isa if rng.random() < 0.7 else rng.choice(self.isas)
        for instruction in self.decode_all(data, isa):
            self.text(instruction, isa)

    def _object(self, rng: random.Random) -> None:
        target, code = rng.choice(self.objects)
        data = self._mutated(rng, code, rng.choice(self.objects)[1])
        loaded = self.load(data, target)
        for kernel in loaded.kernels.values():
            self.decode(loaded.image(), kernel.entry, loaded.isa)
            loaded.line_of(kernel.entry)

    @staticmethod
    def _mutated(rng: random.Random, code: bytes, other: bytes) -> bytes:
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


def _too_long(_: int, __: FrameType | None) -> None:
    raise TimeoutError(f"takes more than {INPUT_SECONDS:g} s of processor time")


@functools.cache
def _inputs(folder: str) -> Inputs:
    return Inputs(corpus(Path(folder)))


def run(seeds: range, folder: str) -> Tally:
    """Give the inputs of these seeds to what must take them."""
    faulthandler.enable()
    inputs = _inputs(folder)
    tally = Tally()
    signal.signal(signal.SIGPROF, _too_long)
    for seed in seeds:
        signal.setitimer(signal.ITIMER_PROF, INPUT_SECONDS)
        try:
            inputs.try_one(seed, tally)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            tally.defects[seed] = f"{type(error).__name__}: {str(error)[:200]} ({where})"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz_code_objects", description="Fuzz the GCN loader.")
    parser.add_argument("--count", type=int, default=100_000, help="how many inputs (default 100000)")
    parser.add_argument("--seed", type=int, default=0, help="the first input's seed (default 0)")
    parser.add_argument("--corpus", type=Path, help="a folder for the compiled kernels (default: in the cache)")
    options = parser.parse_args()
    folder = options.corpus
    if folder is None:
        from headwater import cache

        folder = cache.current().directory / "fuzz_code_objects"
    folder.mkdir(parents=True, exist_ok=True)
    corpus(folder)
    began = time.monotonic()
    total = Tally()
    end = options.seed + options.count
    chunks = [range(at, min(at + CHUNK, end)) for at in range(options.seed, end, CHUNK)]
    function: Callable[[Any], Any] = functools.partial(run, folder=str(folder))
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


if __name__ == "__main__":
    sys.exit(main())
