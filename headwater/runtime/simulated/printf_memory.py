"""Input: what a GPU's kernel left in printf's memory, and its formats. Output: the text to print.

The protocol is ROCm's, so that code objects of its compilers print too. The memory begins with two uints, the bytes
used beyond these 8 and the bytes in all; records follow. A record is a uint, the number of its format, and the
arguments, each in a multiple of 4 bytes, strings themselves among them. Formats are in the code object's metadata,
``amdhsa.printf``: number, count of arguments, the bytes of each and the text, with colons between them and in the text
``\\n`` and the like and ``\\72`` for a colon (LLVM, AMDGPUPrintfRuntimeBinding).
"""

from __future__ import annotations

import re
import struct
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headwater.base.arrays import Array, aligned_bytes
from headwater.errors import KernelFault
from headwater.opencl.check_findings import MARK
from headwater.opencl.printf import Piece, Specifier, parse, render

MEMORY_BYTES = 1 << 20
"""The least CL_DEVICE_PRINTF_BUFFER_SIZE of the full profile (OpenCL 1.2 specification, table 4.3)."""
HEADER_BYTES = 8
_SIZE = re.compile(r"(\d+):")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "v": "\v", "t": "\t", "\\": "\\"}
_FLOATS = {2: "<e", 4: "<f", 8: "<d"}


class Format(NamedTuple):
    """One printf of a program: its pieces and the bytes of each argument in a record."""

    pieces: tuple[Piece, ...]
    sizes: tuple[int, ...]


def new_memory() -> Array:
    """Memory of `MEMORY_BYTES` for a launch's records, with its header."""
    memory = aligned_bytes(MEMORY_BYTES)
    memory[:] = 0  # LLVM's code leaves out the zeros that end a string of 4, 8, … bytes
    memory[:HEADER_BYTES].view(np.uint32)[:] = 0, MEMORY_BYTES - HEADER_BYTES
    return memory


def show(memory: Array, entries: Sequence[str]) -> list[str]:
    """Write to standard output what a launch printed, but not what code for checks has found, which is returned.
    KernelFault if the records make no sense.

    Warns, by `RuntimeWarning`, of output that did not fit into the memory and is lost.
    """
    used = int(memory[:4].view(np.uint32)[0])
    findings: list[str] = []
    if used:
        records = bytes(memory[: min(HEADER_BYTES + used, memory.nbytes)])
        printed = texts(records, entries)
        findings = [one for one in printed if one.startswith(MARK)]
        print("".join(one for one in printed if not one.startswith(MARK)), end="")
        if (lost := lost_bytes(records)) and not findings:
            warnings.warn(
                f"printf's memory of {MEMORY_BYTES:,} bytes was full: records of {lost:,} bytes more are lost; "
                "print from fewer work-items, or run on the cpu device, which has no such limit",
                RuntimeWarning,
                stacklevel=2,
            )
    return findings


def read_formats(entries: Sequence[str]) -> dict[int, Format]:
    """Number -> format, from the metadata; entries that are none are left out.

    LLVM counts all arguments of a call, but has sizes, and stores values, only of those that the format asks for.
    """
    found: dict[int, Format] = {}
    for entry in entries:
        number, _, rest = entry.partition(":")
        count, _, rest = rest.partition(":")
        if not (number.isdigit() and count.isdigit()):
            continue
        sizes: list[int] = []
        while len(sizes) < int(count) and (size := _SIZE.match(rest)):
            sizes.append(int(size[1]))
            rest = rest[size.end() :]
        found[int(number)] = Format(parse(_unescape(rest)), tuple(sizes))
    return found


def lost_bytes(memory: bytes) -> int:
    """The bytes of records that did not fit into the memory."""
    used, size = struct.unpack_from("<II", memory)
    return max(HEADER_BYTES + int(used) - int(size), 0)


def text(memory: bytes, entries: Sequence[str]) -> str:
    """What was printed; ``entries`` of the metadata. KernelFault if the records make no sense."""
    return "".join(texts(memory, entries))


def texts(memory: bytes, entries: Sequence[str]) -> list[str]:
    """The same, record by record."""
    known = read_formats(entries)
    used, size = struct.unpack_from("<II", memory)
    end = min(HEADER_BYTES + used, size, len(memory))
    at, out = HEADER_BYTES, []
    while at + 4 <= end:
        (number,) = struct.unpack_from("<I", memory, at)
        if not number and HEADER_BYTES + used > size:
            break  # left free by the first record that did not fit; LLVM numbers formats from 1
        form = known.get(number)
        if form is None:
            raise KernelFault(
                f"printf's memory holds a record of format {number} at byte {at}, and the program has no such format",
                hint="a store of the kernel may have gone astray: run with --check",
            )
        length = 4 + sum(form.sizes)
        if at + length > end:
            break
        out.append(_record(memory, at + 4, form))
        at += length
    return out


def _record(memory: bytes, at: int, form: Format) -> str:
    slots: list[int] = []
    strings: list[str] = []
    conversions = [piece for piece in form.pieces if isinstance(piece, Specifier)]
    for piece, size in zip(conversions, form.sizes, strict=False):
        data = memory[at : at + size]
        at += size
        if piece.conversion == "s":
            # Our compiler ends strings of 0, 4, 8, … bytes with a byte 1, see headwater/opencl/codegen_gcn.py.
            strings.append(data.split(b"\0", 1)[0].removesuffix(b"\1").decode("utf-8", "replace"))
            slots.append(len(strings))
            continue
        # Three components take the room of four (OpenCL C 1.2 specification 6.1.5).
        width = size // (4 if piece.components == 3 else piece.components)
        for index in range(piece.components):
            part = data[index * width : (index + 1) * width]
            if piece.conversion in "fFeEgGaA" and width in _FLOATS:
                part = struct.pack("<d", struct.unpack(_FLOATS[width], part)[0])
            slots.append(int.from_bytes(part, "little"))
    missing = sum(piece.components for piece in conversions) - len(slots)
    slots += [0] * max(missing, 0)
    return render(form.pieces, slots.__getitem__, lambda index: strings[index - 1])


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        word = match[1]
        return chr(int(word, 8)) if word[0].isdigit() else _ESCAPES[word]

    return re.sub(r"\\([0-7]{2,3}|[abfnrvt\\])", character, text)
