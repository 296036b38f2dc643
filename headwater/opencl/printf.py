"""Input: a printf format and its argument slots. Output: the text to print (OpenCL C 1.2 specification 6.12.13)."""

from __future__ import annotations

import ctypes
import math
import re
import struct
from collections.abc import Callable
from typing import NamedTuple

# %[flags][width][.precision][vector][length]conversion; no asterisks in OpenCL C (6.12.13.3).
# HIP has C's lengths beside these.
_SPECIFIER = re.compile(
    r"%([-+ #0]*)(\d{0,4})(?:\.(\d{0,4}))?(?:v(2|3|4|8|16))?(hh|hl|h|ll?|[zjt])?([diouxXfFeEgGaAcsp%])"
)
_BITS = {"hh": 8, "h": 16, "": 32, "hl": 32, **dict.fromkeys(("l", "ll", "z", "j", "t"), 64)}


class Specifier(NamedTuple):
    """One conversion: flags, minimum width, precision (None: not given), components, bits of an integer, letter."""

    flags: str
    width: int
    precision: int | None
    components: int
    bits: int
    conversion: str


Piece = str | Specifier


def parse(format: str) -> tuple[Piece, ...]:
    """A format as literal texts and conversions. What is no valid conversion stays literal text."""
    pieces: list[Piece] = []
    position = 0
    for match in _SPECIFIER.finditer(format):
        flags, width, precision, vector, length, conversion = match.groups()
        pieces.append(format[position : match.start()])
        position = match.end()
        if conversion == "%":
            pieces.append("%")
            continue
        digits = None if precision is None else int(precision or "0")
        bits = _BITS[length or ""]
        pieces.append(Specifier(flags, int(width or 0), digits, int(vector or 1), bits, conversion))
    pieces.append(format[position:])
    return tuple(piece for piece in pieces if piece != "")


def render(pieces: tuple[Piece, ...], slot: Callable[[int], int], string: Callable[[int], str]) -> str:
    """The text. ``slot(i)`` is the i-th argument slot as an unsigned int, ``string`` reads the string there."""
    out: list[str] = []
    index = 0
    for piece in pieces:
        if isinstance(piece, str):
            out.append(piece)
            continue
        parts = []
        for _ in range(piece.components):
            parts.append(_convert(piece, slot(index), string))
            index += 1
        out.append(",".join(parts))  # 6.12.13.2: the components are separated by commas
    return "".join(out)


def slots_used(pieces: tuple[Piece, ...]) -> int:
    """How many argument slots a format reads."""
    return sum(piece.components for piece in pieces if not isinstance(piece, str))


def strings_in(pieces: tuple[Piece, ...]) -> list[int]:
    """The argument slots that a format reads as addresses of strings."""
    specifiers = [piece for piece in pieces if not isinstance(piece, str)]
    return [
        sum(before.components for before in specifiers[:n]) for n, one in enumerate(specifiers) if one.conversion == "s"
    ]


def _convert(spec: Specifier, raw: int, string: Callable[[int], str]) -> str:
    letter = spec.conversion
    if letter in "fFeEgGaA":
        return _float(spec, struct.unpack("<d", raw.to_bytes(8, "little"))[0])
    if letter == "s":
        text = string(raw) if raw else "(null)"
        return _pad(spec, text if spec.precision is None else text[: spec.precision])
    if letter == "c":
        return _pad(spec, chr(raw & 0xFF))
    if letter == "p":
        return _pad(spec, hex(raw))
    value = raw & ((1 << spec.bits) - 1)
    if letter in "di" and value >> (spec.bits - 1):
        value -= 1 << spec.bits
    return _integer(spec, value)


def _pad(spec: Specifier, text: str) -> str:
    return text.ljust(spec.width) if "-" in spec.flags else text.rjust(spec.width)


def _sign(spec: Specifier, negative: bool) -> str:
    return "-" if negative else "+" if "+" in spec.flags else " " if " " in spec.flags else ""


def _zero_pad(spec: Specifier, lead: str, digits: str) -> str:
    """Sign or prefix, then zeros if asked for, then digits, in the minimum width."""
    if "0" in spec.flags and "-" not in spec.flags:
        return lead + digits.rjust(spec.width - len(lead), "0")
    return _pad(spec, lead + digits)


def _integer(spec: Specifier, value: int) -> str:
    letter = spec.conversion
    digits = {"o": "o", "x": "x", "X": "X"}.get(letter, "d")
    text = format(abs(value), digits)
    if spec.precision is not None:
        text = "" if value == 0 and spec.precision == 0 else text.rjust(spec.precision, "0")
    lead = _sign(spec, value < 0) if letter in "di" else ""
    if "#" in spec.flags:
        if letter == "o" and not text.startswith("0"):
            text = "0" + text
        elif letter in "xX" and value:
            lead = "0" + letter
    if spec.precision is not None:  # C99 7.19.6.1: a precision switches the flag 0 off
        return _pad(spec, lead + text)
    return _zero_pad(spec, lead, text)


def _float(spec: Specifier, value: float) -> str:
    letter = spec.conversion
    lead = _sign(spec, math.copysign(1.0, value) < 0)
    magnitude = abs(value)
    if not math.isfinite(value):
        text = "nan" if math.isnan(value) else "inf"
        return _pad(spec, lead + (text.upper() if letter.isupper() else text))
    if letter in "aA":
        text = _hexadecimal(magnitude, spec.precision, "#" in spec.flags)
        lead, text = lead + "0x", text[2:]
        return _zero_pad(spec, lead.upper(), text.upper()) if letter == "A" else _zero_pad(spec, lead, text)
    alternate = "#" if "#" in spec.flags else ""
    precision = 6 if spec.precision is None else spec.precision
    return _zero_pad(spec, lead, f"%{alternate}.{precision}{letter}" % magnitude)


def _hexadecimal(value: float, precision: int | None, point: bool) -> str:
    """C99's ``%a`` of a finite number that is not negative."""
    mantissa, _, exponent = value.hex().partition("p")
    whole, _, fraction = mantissa[2:].partition(".")
    fraction = fraction.ljust(13, "0")
    if precision is None:
        fraction = fraction.rstrip("0")
    elif precision < 13:
        # Round to nearest even at the requested hexadecimal digit, carrying into the whole part.
        shift = 4 * (13 - precision)
        bits = int(whole + fraction, 16)
        half, low = 1 << (shift - 1), bits & ((1 << shift) - 1)
        bits >>= shift
        bits += low > half or (low == half and bits & 1)
        text = format(bits, f"0{precision + 1}x")
        whole, fraction = text[: len(text) - precision], text[len(text) - precision :]
    else:
        fraction = fraction.ljust(precision, "0")
    return f"0x{whole}{'.' if fraction or point else ''}{fraction}p{exponent}"


CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)


def callback(formats: tuple[str, ...], write: Callable[[str], object]) -> ctypes._FuncPointer:
    """The C function ``void (int64_t format_id, uint8_t *slots)`` that formats and hands the text to ``write``."""
    parsed = tuple(parse(format) for format in formats)

    def print_one(index: int, slots: int | None) -> None:
        if not 0 <= index < len(parsed) or slots is None:
            return
        pieces = parsed[index]
        values = (ctypes.c_uint64 * max(slots_used(pieces), 1)).from_address(slots)
        write(render(pieces, values.__getitem__, _c_string))

    return CALLBACK(print_one)


def _c_string(address: int) -> str:
    return ctypes.string_at(address).decode("utf-8", "replace")
