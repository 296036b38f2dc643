"""A ``ShaderImage`` as text, and such text as a ``ShaderImage``: the disassembly, then what the driver must know.

The second part is lines ``NAME = value`` as AMD's Stream KernelAnalyzer puts them behind the disassembly; names that it
has no word for are Headwater's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from headwater.chips.vliw_isas import GENERATION_OF_TARGET
from headwater.errors import SourceError, Span
from headwater.isa.vliw import assembly, printer
from headwater.isa.vliw.encode import encode
from headwater.isa.vliw.image import Argument, ShaderImage
from headwater.isa.vliw.image_cal import arguments, written_arguments

_FACT = re.compile(r"\s*([A-Za-z_][A-Za-z_:]*)\s*=\s*(.*?)\s*$")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|;.*|//.*')
"""But for what looks so in the quotes of a JSON value."""
_MOST = 0xFFFFFFFF
_NAME_WIDTH = 32


class _Fact(NamedTuple):
    """A line: how a field is written, and how it is read (ValueError where it cannot be)."""

    field: str
    write: Callable[[Any], str]
    read: Callable[[str], object]


def _integer(text: str) -> int:
    if not re.fullmatch(r"\d{1,10}|0[xX][0-9A-Fa-f]{1,8}", text) or int(text, 0 if "x" in text.lower() else 10) > _MOST:
        raise ValueError("a number of 32 bits")
    return int(text, 0 if "x" in text.lower() else 10)


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("0 or 1")
    return text == "1"


def _list(text: str) -> tuple[int, ...]:
    return tuple(_integer(word) for word in text.split())


def _mapping(text: str) -> dict[int, int]:
    pairs = [word.partition(":") for word in text.split()]
    if any(not colon for _, colon, _ in pairs):
        raise ValueError("pairs like 0:16")
    return {_integer(key): _integer(value) for key, _, value in pairs}


def _group(text: str) -> tuple[int, int, int] | None:
    if not text:
        return None
    sizes = _list(text)
    if len(sizes) != 3 or not all(0 < size <= 1024 for size in sizes):
        raise ValueError("three sizes from 1 to 1024")
    return sizes[0], sizes[1], sizes[2]


def _word(text: str) -> str:
    if not re.fullmatch(r"[^\W\d][\w.$]*", text):
        raise ValueError("a name")
    return text


def _abi(text: str) -> str:
    if text not in ("cal", "headwater", "amd", "llvm"):
        raise ValueError("cal, headwater, amd or llvm")
    return text


def _arguments(text: str) -> tuple[Argument, ...]:
    try:
        return arguments(json.loads(text))
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise ValueError("a list of arguments as headwater disasm writes it") from None


def _hexadecimal(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError("pairs of hexadecimal digits") from None


def _joined(values: tuple[int, ...] | None) -> str:
    return " ".join(map(str, values or ()))


def _pairs(values: Mapping[int, int]) -> str:
    return " ".join(f"{key}:{value}" for key, value in sorted(values.items()))


_FACTS: Mapping[str, _Fact] = {
    "Name": _Fact("name", str, _word),
    "Abi": _Fact("abi", str, _abi),
    "SQ_PGM_RESOURCES:NUM_GPRS": _Fact("gprs", str, _integer),
    "SQ_PGM_RESOURCES:STACK_SIZE": _Fact("stack_entries", str, _integer),
    "NumClauseTemps": _Fact("clause_temporaries", str, _integer),
    "LdsSize": _Fact("lds_bytes", str, _integer),
    "ScratchSize": _Fact("scratch_bytes", str, _integer),
    "ConstantBuffers": _Fact("constant_buffers", _pairs, _mapping),
    "Inputs": _Fact("resources", _joined, _list),
    "Samplers": _Fact("samplers", _pairs, _mapping),
    "Outputs": _Fact("outputs", _joined, _list),
    "Uavs": _Fact("uavs", _joined, _list),
    "GlobalBuffer": _Fact("uses_global", lambda value: str(int(value)), _flag),
    "ByteAtomics": _Fact("byte_atomics", lambda value: str(int(value)), _flag),
    "ThreadGroup": _Fact("group_size", _joined, _group),
}
# What only exact texts have, and only where there is any.
_LONG: Mapping[str, _Fact] = {
    "Arguments": _Fact("args", lambda args: json.dumps(written_arguments(args)), _arguments),
    "Data": _Fact("data", bytes.hex, _hexadecimal),
    "Constants": _Fact("constants", bytes.hex, _hexadecimal),
}
_SHOWN_ONLY = ("CodeLen",)


def text(image: ShaderImage, *, exact: bool = False, source: Callable[[int], str] | None = None) -> str:
    """The whole image; ``exact``: with arguments and data, and see `headwater.isa.vliw.printer`. Raises DecodeError.

    ``source``: what to say of a line of its IL, as comments before what that line became.
    """
    notes = _notes(image, source) if source is not None else ()
    lines = ["; --------  Disassembly --------------------", printer.text(image.shader, exact=exact, notes=notes)]
    lines += [f"; ----------------- {image.kind.upper()} Data ------------------------"]
    facts = [("Target", image.target), ("ProgramType", image.kind), ("CodeLen", f"{len(image.code)};Bytes")]
    facts += [(name, fact.write(getattr(image, fact.field))) for name, fact in _FACTS.items()]
    long = [(name, fact, getattr(image, fact.field)) for name, fact in _LONG.items()]
    facts += [(name, fact.write(value)) for name, fact, value in long if exact and value]
    lines += [f"{name:<{_NAME_WIDTH}}= {value}".rstrip() for name, value in facts]
    return "\n".join(lines) + "\n"


def _notes(image: ShaderImage, source: Callable[[int], str]) -> list[list[str]]:
    """Each line where it is another one than before."""
    last = ""
    found: list[list[str]] = []
    for lines in image.lines:
        found.append([])
        for line in lines:
            said = source(line)
            found[-1].append(f"; {said}" if said not in ("", last) else "")
            last = said or last
    return found


def parse(text: str, target: str = "", kind: str = "", filename: str = "<assembly>") -> ShaderImage:
    """The image that text says; ``target`` and ``kind`` ("ps", "cs") where it does not. Raises SourceError."""
    lines = text.splitlines()
    fields: dict[str, Any] = {}
    said = {"Target": target, "ProgramType": kind}
    for number, line in enumerate(lines):
        found = _FACT.fullmatch(_COMMENT.sub(lambda found: found[1] or "", line))
        if found is None:
            continue
        lines[number] = ""
        name, value = found[1], found[2]
        place = _Place(filename, number + 1, line, found)
        if name in said:
            if said[name] not in ("", value):
                place.fail(f"the text is for {value}, not {said[name]}", 2)
            said[name] = value
            _check(place, name, value)
        elif name in _FACTS or name in _LONG:
            fact = _FACTS.get(name) or _LONG[name]
            if fact.field in fields:
                place.fail(f"{name} is given twice", 1)
            try:
                fields[fact.field] = fact.read(value)
            except ValueError as wanted:
                place.fail(f"{name} is {wanted}, not {value or 'nothing'}", 2)
        elif name not in _SHOWN_ONLY:
            place.fail(f"{name} is not a property of an image", 1)
    if not said["Target"]:
        raise SourceError("the text does not say what chip it is for", Span(filename, 1), hint="add: Target = cypress")
    if not said["ProgramType"]:
        said["ProgramType"] = "cs" if fields.get("group_size") else "ps"
    shader = assembly.parse("\n".join(lines), GENERATION_OF_TARGET[said["Target"]], filename)
    return ShaderImage(target=said["Target"], kind=said["ProgramType"], code=encode(shader), **fields)


class _Place(NamedTuple):
    filename: str
    number: int
    line: str
    match: re.Match[str]

    def fail(self, message: str, group: int) -> NoReturn:
        raise SourceError(message, Span(self.filename, self.number, self.match.start(group) + 1), source_line=self.line)


def _check(place: _Place, name: str, value: str) -> None:
    known = tuple(GENERATION_OF_TARGET) if name == "Target" else ("ps", "cs")
    if value not in known:
        place.fail(f"{name} is one of {', '.join(known)}", 2)
