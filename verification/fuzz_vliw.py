"""Input: mutated VLIW code, images and assembly. Output: whatever their readers answer but a program or a proper error.

Run as ``python -m verification.fuzz_vliw --count 1000000``. The inputs are ALU words and fetches, random ones and those
of real kernels with some bits turned; whole shaders and image files, cut, spliced, and with words replaced by telling
ones; and texts with characters, words and lines changed. What is accepted must come back the same: a shader from its
encoding and from its exact text. Exit status 1 if anything else happens; ``--seed`` and ``--count 1`` repeat an input.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from verification import fuzzing

_TESTS = Path(__file__).parents[1] / "tests" / "isa" / "vliw"
_MOST_STREAM_BYTES = 3000
"""Of the shaders' code: longer ones resemble these."""
_WORDS = (
    "R0.x", "R127.w", "R128.x", "T0.y", "KC0[0].x", "KC3[31].w", "PV.x", "PS", "____", "-", "|", "1.5f", "0x", "(", ")",
    "ADDR(32)", "CNT(1)", "ADDR(99999999999)", "POP_CNT(9)", "x:", "t:", "99", "00", "END_OF_PROGRAM", "LITERAL(x,1)",
    "VEC_120", "CLAMP", "ALU:", "TEX:", "JUMP", "RESERVED(1)", "Target = cypress", "\t", "é", ",", ".", ".x", "[A0.x]",
)  # fmt: skip


class Inputs:
    """Makes the input of each seed from real code, and gives it to what must take it."""

    KINDS = ("word", "turned", "turned", "fetch", "stream", "stream", "image", "text")

    def __init__(self, folder: str) -> None:
        sys.path.insert(0, str(_TESTS))
        from vliw_samples import CASES, KERNEL, METADATA, OBJECTS, PIXEL, opencl_binary

        from headwater.chips.vliw_isas import GENERATION_OF_TARGET, GENERATIONS
        from headwater.isa.vliw import assembly, decode, encode, image_files, image_text, printer, table

        self.decode, self.encode, self.assembly, self.printer = decode, encode, assembly, printer
        self.images, self.image_text, self.generations = image_files, image_text, GENERATIONS
        self.shaders = [(GENERATION_OF_TARGET[target], code) for _, target, code, _ in CASES]
        self.shaders += [(made.generation, made.code) for made in (PIXEL, KERNEL)]
        self.shaders = [(generation, code) for generation, code in self.shaders if len(code) < _MOST_STREAM_BYTES]
        binary = opencl_binary({"add": (image_files.write(KERNEL), METADATA)}, b"constants")
        self.files = [image_files.write(PIXEL), image_files.write(KERNEL), image_files.write(PIXEL, KERNEL), binary]
        self.files += [path.read_bytes() for path in sorted(OBJECTS.iterdir())]
        decoded = [(generation, decode.decode(code, generation)) for generation, code in self.shaders]
        self.texts = [(generation, printer.text(shader, exact=True)) for generation, shader in decoded]
        self.texts = [(generation, text) for generation, text in self.texts if len(text) < 2 * _MOST_STREAM_BYTES]
        self.names = [row.mnemonic for row in table.rows()]

    def word(self, rng: random.Random) -> None:
        """A group from random words."""
        self._group(rng.getrandbits(64 * 8).to_bytes(64, "little"), rng)

    def turned(self, rng: random.Random) -> None:
        """A group from words of a shader with bits turned."""
        _, code = rng.choice(self.shaders)
        at = rng.randrange(len(code) // 8) * 8
        number = int.from_bytes(code[at : at + 64].ljust(64, b"\0"), "little")
        for _ in range(rng.randint(0, 4)):
            number ^= 1 << rng.randrange(128)
        self._group(number.to_bytes(64, "little"), rng)

    def _group(self, code: bytes, rng: random.Random) -> None:
        generation = rng.choice(self.generations)
        group = self.decode.alu_group(code, generation, 0, len(code))
        if not self.printer.group_text(group, generation):
            raise AssertionError("a group without a text")

    def fetch(self, rng: random.Random) -> None:
        """A fetch from random words."""
        generation = rng.choice(self.generations)
        found = self.decode.fetch(rng.getrandbits(128).to_bytes(16, "little"), generation, 0, rng.random() < 0.2)
        if not self.printer.fetch_text(found, generation):
            raise AssertionError("a fetch without a text")

    def stream(self, rng: random.Random) -> None:
        """A shader's code, mutated."""
        generation, code = rng.choice(self.shaders)
        data = fuzzing.mutated(rng, code, rng.choice(self.shaders)[1])
        generation = generation if rng.random() < 0.7 else rng.choice(self.generations)
        shader = self.decode.decode(data, generation)
        self.printer.text(shader)
        if self.decode.decode(self.encode.encode(shader), generation) != shader:
            raise AssertionError("another shader from its encoding")
        if self.assembly.parse(self.printer.text(shader, exact=True), generation) != shader:
            raise AssertionError("another shader from its text")

    def image(self, rng: random.Random) -> None:
        """A file, mutated."""
        data = fuzzing.mutated(rng, rng.choice(self.files), rng.choice(self.files))
        self.images.is_image(data)
        for found in self.images.read_all(data):
            self.image_text.text(found)
            if self.images.read(self.images.write(found)) != found:
                raise AssertionError("another image from what was written")

    def text(self, rng: random.Random) -> None:
        """A listing with characters, words and lines changed."""
        generation, text = rng.choice(self.texts)
        changed = self._changed(rng, text)
        generation = generation if rng.random() < 0.9 else rng.choice(self.generations)
        if rng.random() < 0.2:
            self.image_text.text(self.image_text.parse(changed, "cypress"))
            return
        shader = self.assembly.parse(changed, generation)
        if self.assembly.parse(self.printer.text(shader, exact=True), generation) != shader:
            raise AssertionError("another shader from its text")

    def _changed(self, rng: random.Random, text: str) -> str:
        for _ in range(rng.choice((1, 1, 2, 4))):
            lines = text.split("\n")
            at = rng.randrange(len(lines))
            words = lines[at].split(" ")
            place = rng.randrange(len(words))
            how = rng.randrange(8)
            if how == 0:
                words[place] = rng.choice(_WORDS)
            elif how == 1:
                words[place] = rng.choice(self.names)
            elif how == 2:
                words.insert(place, rng.choice(_WORDS))
            elif how == 3 and words[place]:
                cut = rng.randrange(len(words[place]))
                words[place] = (
                    words[place][:cut] + chr(rng.choice((32, 48, 120, 40, 0, 0x130))) + words[place][cut + 1 :]
                )
            elif how == 4:
                del words[place]
            elif how == 5:
                words = rng.choice(lines).split(" ")
            elif how == 6:
                words[place] += str(rng.choice(fuzzing.TELLING))
            else:
                words = words[:place]
            lines[at] = " ".join(words)
            text = "\n".join(lines)
        return text


def make(folder: str) -> Inputs:
    """The inputs; there is nothing to keep in the folder."""
    return Inputs(folder)


if __name__ == "__main__":
    sys.exit(fuzzing.main("fuzz_vliw", "Fuzz the readers of VLIW code, images and assembly.", make))
