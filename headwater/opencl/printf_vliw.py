"""The front end's r600 IR with calls of printf passes in; it with stores of records in their place, and their formats,
pass out.

Records and formats are those of `headwater.runtime.simulated.printf_memory`: LLVM writes them for GCN chips itself, but
not for r600. A call whose format, or one of whose strings, is no literal stays as it is, to be refused at its line.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from headwater.llvm.builder import Block, Builder
from headwater.llvm.text import split, string_bytes
from headwater.opencl.printf import Specifier, parse

_CALL = re.compile(
    r"^  (?P<name>%[\w.]+) = (?:tail )?call i32 \(ptr addrspace\(4\), \.\.\.\) @printf\((?P<arguments>.*)\)"
    r"(?: #\d+)?(?P<debug>, !dbg !\d+)?$",
    re.MULTILINE,
)
_TEXT = re.compile(r'^@([\w.$]+) = [^\n]*constant \[\d+ x i8\] (?:c"([^"]*)"|zeroinitializer)', re.MULTILINE)
_FUNCTION = re.compile(r"^define .*?^\}", re.MULTILINE | re.DOTALL)
_WIDENED = re.compile(r"^  (%[\w.]+) = fpext (float|half) (%[\w.]+) to double", re.MULTILINE)
_ARGUMENT = re.compile(
    r"(?P<type><[^>]*>|ptr(?: addrspace\(\d+\))?|\w+) "
    r"(?:(?:noundef|signext|zeroext|nofpclass\(\w+\)|range\([^)]*\)) )*(?P<value>.*)"
)
_VECTOR = re.compile(r"<(\d+) x (\w+)>")
_NARROW = {"i8": ("zext", "i32"), "i16": ("zext", "i32"), "half": ("fpext", "float")}
"""What is stored as words of its own, and how it becomes that."""
_BYTES = {"i32": 4, "float": 4, "i64": 8, "double": 8}
_RECORD = "declare ptr addrspace(1) @__hw_printf_record(i32, i32)"
Argument = tuple[str, str]
"""Type and value."""


def with_records(text: str) -> tuple[str, tuple[str, ...]]:
    """The module's text, and the entries that ``amdhsa.printf`` would have for its records."""
    texts = {name: string_bytes(body).split(b"\0", 1)[0] for name, body in _TEXT.findall(text)}
    made = _Records(texts)
    text = _FUNCTION.sub(lambda m: made.function(m[0]), text)
    return ("\n".join([text, *made.writers, _RECORD]) if made.entries else text), tuple(made.entries)


class _Records:
    def __init__(self, texts: dict[str, bytes]) -> None:
        self.texts = texts
        self.entries: list[str] = []
        self.writers: list[str] = []

    def function(self, body: str) -> str:
        if "@printf(" not in body:
            return body
        widened = {name: (kind, value) for name, kind, value in _WIDENED.findall(body)}
        return _CALL.sub(lambda m: self.call(m, widened) or m[0], body)

    def call(self, match: re.Match[str], widened: dict[str, Argument]) -> str | None:
        """A call of the function that writes this call's record; None if the call is to stay."""
        form, *arguments = (_argument(part) for part in split(match["arguments"]))
        known = self.texts.get(form[1].removeprefix("@"))
        if known is None:
            return None
        conversions = [p for p in parse(known.decode("utf-8", "replace")) if isinstance(p, Specifier)]
        stored: list[Argument] = []
        sizes: list[int] = []
        for conversion, argument in zip(conversions, arguments, strict=False):
            if conversion.conversion == "s":
                string = self.texts.get(argument[1].removeprefix("@"))
                if string is None:
                    return None
                words = list(_words(string))
                stored += [("i32", str(word)) for word in words]
                sizes.append(4 * len(words))
            else:
                # What C widens to a double is told as it was: the chip need not have doubles.
                stored.append(_constant(widened.get(argument[1], argument)))
                sizes.append(_size(stored[-1][0]))
        number = len(self.entries) + 1
        self.entries.append(_entry(number, known, sizes))
        self.writers.append(_writer(number, stored, 4 + sum(sizes)))
        given = ", ".join(f"{kind} {value}" for kind, value in stored if value.startswith("%"))
        return f"  {match['name']} = call i32 @__hw_printf.{number}({given}){match['debug'] or ''}"


def _argument(text: str) -> Argument:
    match = _ARGUMENT.fullmatch(text)
    assert match is not None, text
    return match["type"], match["value"]


def _constant(argument: Argument) -> Argument:
    """A double that is known as the integer with its bits."""
    kind, value = argument
    if kind != "double" or value.startswith("%"):
        return argument
    bits = int(value, 16) if value.startswith("0x") else struct.unpack("<q", struct.pack("<d", float(value)))[0]
    return "i64", str(bits)


def _stored(kind: str) -> tuple[str, str, str]:
    """An argument's type as it is stored, the component's and how it becomes that: "" if it is that already."""
    vector = _VECTOR.fullmatch(kind)
    element = vector[2] if vector else kind
    if element.startswith("ptr"):
        return "i32", "i32", "ptrtoint"
    how, wide = _NARROW.get(element, ("", element))
    return (f"<{vector[1]} x {wide}>" if vector else wide), wide, how


def _size(kind: str) -> int:
    """Bytes in a record; three components have the room of four (OpenCL C 1.2 specification 6.1.5)."""
    vector = _VECTOR.fullmatch(kind)
    count = int(vector[1]) if vector else 1
    return (4 if count == 3 else count) * _BYTES[_stored(kind)[1]]


def _writer(number: int, stored: list[Argument], size: int) -> str:
    """The function that writes a record and gives printf's value: 0, or -1 where there is no room (6.12.13.1)."""
    parameters: list[str] = []
    b = Builder(Block)
    b.line(f"%at = call ptr addrspace(1) @__hw_printf_record(i32 {number}, i32 {size})")
    b.line("%full = icmp eq ptr addrspace(1) %at, null")
    b.branch("%full", "lost", "room")
    b.start("room")
    at = 0
    for place, (kind, value) in enumerate(stored):
        if value.startswith("%"):
            value = f"%a{place}"
            parameters.append(f"{kind} {value}")
        whole, _, how = _stored(kind)
        if how:
            b.line(f"%w{place} = {how} {kind} {value} to {whole}")
            value = f"%w{place}"
        b.line(f"%p{place} = getelementptr i8, ptr addrspace(1) %at, i32 {at}")
        b.line(f"store {whole} {value}, ptr addrspace(1) %p{place}, align 4")
        at += _size(kind)
    b.line("ret i32 0")
    b.start("lost")
    b.line("ret i32 -1")
    return b.function(f"define internal i32 @__hw_printf.{number}({', '.join(parameters)}) alwaysinline")


def _entry(number: int, text: bytes, sizes: list[int]) -> str:
    """Number, count, sizes and text, the latter with what would break it as escapes."""
    escaped = text.decode("utf-8", "replace").replace("\\", "\\\\").replace("\n", "\\n").replace(":", "\\72")
    return ":".join([str(number), str(len(sizes)), *map(str, sizes), escaped])


def _words(text: bytes) -> Iterator[int]:
    """A string and the zero behind it in words."""
    filled = text + bytes(4 - len(text) % 4)
    return (word for (word,) in struct.iter_unpack("<I", filled))
