"""printf: the text of every conversion equals C's, and vectors are printed as OpenCL C says."""

from __future__ import annotations

import ctypes
import struct
from ctypes.util import find_library

import pytest

from headwater.opencl import printf

LIBC = ctypes.CDLL(find_library("c"))


def slot(value: int | float) -> int:
    if isinstance(value, float):
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    return value & (2**64 - 1)


def ours(format: str, *values: int | float) -> str:
    slots = [slot(value) for value in values]
    return printf.render(printf.parse(format), slots.__getitem__, printf._c_string)


def libc(format: str, value: int | float) -> str:
    buffer = ctypes.create_string_buffer(600)
    argument = ctypes.c_double(value) if isinstance(value, float) else ctypes.c_longlong(value)
    LIBC.snprintf(buffer, ctypes.c_size_t(600), format.encode(), argument)
    return buffer.value.decode()


FLAGS = ["", "-", "+", " ", "#", "0", "-0", "+0", " 0", "#0", "-#", "+#0"]
SIZES = ["", "1", "12", ".0", ".1", ".3", "12.0", "12.4", "20.15"]


@pytest.mark.parametrize("conversion", "diouxX")
def test_integers_print_as_in_c(conversion: str) -> None:
    for flags in FLAGS:
        for size in SIZES:
            for length in ("hh", "h", "", "l"):
                for value in (0, 1, -1, 42, -12345, 2**31 - 1, -(2**31), 2**40 + 7, 255, 128):
                    format = f"[%{flags}{size}{length}{conversion}]"
                    assert ours(format, value) == libc(format, value), (format, value)


@pytest.mark.parametrize("conversion", "fFeEgGaA")
def test_floats_print_as_in_c(conversion: str) -> None:
    values = [0.0, -0.0, 1.0, -1.5, 3.14159265, 1e-5, 1e-300, 1e10, 123456.789, 0.5, 2.5, float("inf"), -float("inf")]
    for flags in FLAGS:
        for size in SIZES:
            for value in values:
                format = f"[%{flags}{size}{conversion}]"
                assert ours(format, value) == libc(format, value), (format, value)


def test_nan_prints_without_zeros() -> None:
    assert ours("%06f", float("nan")) == "   nan"


def test_characters_strings_pointers_and_percent() -> None:
    text = ctypes.create_string_buffer(b"hello")
    at = ctypes.addressof(text)
    assert ours("%c%5c%-3c|", 65, 66, 67) == "A    BC  |"
    assert ours("%s|%8s|%-7s|%.2s|", at, at, at, at) == "hello|   hello|hello  |he|"
    assert ours("%s", 0) == "(null)"
    assert ours("%p", 0x1234) == "0x1234"
    assert ours("100%% %d%%", 5) == "100% 5%"


def test_vectors_are_separated_by_commas_and_every_component_is_formatted() -> None:
    # The example of the OpenCL C 1.2 specification, 6.12.13.2.
    assert ours("f4 = %2.2v4hlf\n", 1.0, 2.0, 3.0, 4.0) == "f4 = 1.00,2.00,3.00,4.00\n"
    assert ours("uc = %#v4hhx\n", 0xFA, 0xFB, 0xFC, 0xFD) == "uc = 0xfa,0xfb,0xfc,0xfd\n"
    assert ours("%v4f", 1.0, 2.0, 3.0, 4.0) == "1.000000,2.000000,3.000000,4.000000"
    assert ours("%v2hld %d", -1, 2, 3) == "-1,2 3"
    assert ours("%v3ld", 2**40, -(2**40), 0) == "1099511627776,-1099511627776,0"
    assert ours("%4v2hlu|", 1, 2) == "   1,   2|"
    assert ours("%v16hhd", *range(16)) == ",".join(map(str, range(16)))


def test_short_lengths_wrap() -> None:
    assert ours("%hhd %hhu %hd %hu", 200, -1, 40000, -1) == "-56 255 -25536 65535"


@pytest.mark.parametrize("format", ["%", "%5", "%y", "abc%", "%v5f", "%n", "%99999d"])
def test_invalid_conversions_are_printed_as_they_stand(format: str) -> None:
    assert ours(format) == format


def test_callback_formats_slots_from_memory() -> None:
    written: list[str] = []
    function = printf.callback(("a=%d\n", "b=%f %s\n"), written.append)
    text = ctypes.create_string_buffer(b"str")
    slots = (ctypes.c_uint64 * 2)(slot(1.5), ctypes.addressof(text))
    function(1, ctypes.addressof(slots))
    number = (ctypes.c_uint64 * 1)(slot(-7))
    function(0, ctypes.addressof(number))
    function(99, ctypes.addressof(slots))
    assert written == ["b=1.500000 str\n", "a=-7\n"]
