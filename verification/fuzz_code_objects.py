"""Input: mutated machine code and code objects. Output: whatever the decoder, printer and loader answer but an
instruction or a proper error.

Run as ``python -m verification.fuzz_code_objects --count 1000000``. Three quarters of the inputs are instructions:
random words, and instructions of compiled kernels with some bits turned; the others are whole streams and whole code
objects, cut, spliced, and with words replaced by telling ones. Anything but a HeadwaterError, and anything that takes
long, is a defect. Exit status 1 if there is any; ``--seed`` and ``--count 1`` repeat an input.
"""

from __future__ import annotations

import os
import random
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verification import fuzzing

if TYPE_CHECKING:
    from collections.abc import Sequence

TARGETS = ("gfx600", "gfx700", "gfx803", "gfx900", "gfx906", "gfx908", "gfx90a")
KERNELS = ("add.cl", "reduction.cl", "median.cl", "hash.cl", "histogram.cl", "black_scholes.cl")
"""What is mutated: these kernels of benchmarks/suite, for all targets."""


def corpus(folder: Path) -> list[tuple[str, bytes]]:
    """(target, code object) of each kernel for each target and, of some, in other versions; kept in ``folder``."""
    from headwater.errors import HeadwaterError
    from headwater.opencl.gcn import Variant, compile_code_object

    suite = Path(__file__).parents[1] / "benchmarks" / "suite"
    for target in TARGETS:
        for name in KERNELS:
            for version in (5, 4, 6) if name == KERNELS[0] else (5,):
                path = folder / f"{target}-{version}-{name}.hsaco"
                if not path.exists():
                    try:
                        source = (suite / name).read_text()
                        made = compile_code_object(source, name, "", target, variant=Variant(version))
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

    KINDS = ("word", "word", "word", "turned", "turned", "turned", "stream", "object")

    def __init__(self, objects: Sequence[tuple[str, bytes]]) -> None:
        from headwater.chips.gcn_isas import ISAS
        from headwater.isa.gcn import codeobject
        from headwater.isa.gcn.decode import decode, decode_all
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

    def word(self, rng: random.Random) -> None:
        isa = rng.choice(self.isas)
        self._instruction(rng.getrandbits(96).to_bytes(12, "little")[: rng.choice((4, 8, 12, 12))], isa)

    def turned(self, rng: random.Random) -> None:
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

    def stream(self, rng: random.Random) -> None:
        isa, code = rng.choice(self.streams)
        data = fuzzing.mutated(rng, code, rng.choice(self.streams)[1])
        isa = isa if rng.random() < 0.7 else rng.choice(self.isas)
        for instruction in self.decode_all(data, isa):
            self.text(instruction, isa)

    def object(self, rng: random.Random) -> None:
        target, code = rng.choice(self.objects)
        data = fuzzing.mutated(rng, code, rng.choice(self.objects)[1])
        loaded = self.load(data, target)
        for kernel in loaded.kernels.values():
            self.decode(loaded.image(), kernel.entry, loaded.isa)
            loaded.line_of(kernel.entry)


def make(folder: str) -> Inputs:
    """The inputs, from the corpus in this folder."""
    return Inputs(corpus(Path(folder)))


if __name__ == "__main__":
    sys.exit(fuzzing.main("fuzz_code_objects", "Fuzz the GCN loader.", make))
