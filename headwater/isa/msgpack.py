"""MessagePack bytes to dictionaries, lists, strings and numbers, and back. Strict; only what metadata uses."""

from __future__ import annotations

import struct
from typing import Any

_DEEPEST = 32
_FIXED = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
          0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}  # fmt: skip


def unpack(data: bytes) -> Any:
    """The one object that ``data`` holds. ValueError, saying where, if it holds none or something after it."""
    value, at = _value(data, 0, 0)
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes follow the object")
    return value


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(_take(data, at, size), "big")


def _take(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise ValueError(f"the data end within an object at byte {at}")
    return data[at : at + size]


def _value(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    """The object at ``at`` and where it ends (MessagePack specification, "Formats")."""
    if depth > _DEEPEST:
        raise ValueError(f"objects nest too deep at byte {at}")
    lead = _take(data, at, 1)[0]
    at += 1
    if lead < 0x80:
        return lead, at
    if lead >= 0xE0:
        return lead - 256, at
    if lead < 0x90:
        return _map(data, at, lead & 15, depth)
    if lead < 0xA0:
        return _array(data, at, lead & 15, depth)
    if lead < 0xC0:
        return _text(data, at, lead & 31)
    if lead in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[lead], at
    if lead in _FIXED:
        layout = _FIXED[lead]
        size = struct.calcsize(layout)
        return struct.unpack(layout, _take(data, at, size))[0], at + size
    if lead in (0xC4, 0xC5, 0xC6):
        size = 1 << (lead - 0xC4)
        count = _number(data, at, size)
        return _take(data, at + size, count), at + size + count
    if lead in (0xD9, 0xDA, 0xDB):
        size = 1 << (lead - 0xD9)
        return _text(data, at + size, _number(data, at, size))
    if lead in (0xDC, 0xDD):
        size = 2 << (lead - 0xDC)
        return _array(data, at + size, _number(data, at, size), depth)
    if lead in (0xDE, 0xDF):
        size = 2 << (lead - 0xDE)
        return _map(data, at + size, _number(data, at, size), depth)
    raise ValueError(f"byte {at - 1} is {lead:#x}, which starts no known object")


def _text(data: bytes, at: int, count: int) -> tuple[str, int]:
    return _take(data, at, count).decode("utf-8", "replace"), at + count


def _array(data: bytes, at: int, count: int, depth: int) -> tuple[list[Any], int]:
    values = []
    for _ in range(count):
        value, at = _value(data, at, depth + 1)
        values.append(value)
    return values, at


def _map(data: bytes, at: int, count: int, depth: int) -> tuple[dict[Any, Any], int]:
    values = {}
    for _ in range(count):
        key, at = _value(data, at, depth + 1)
        if not isinstance(key, str | int):
            raise ValueError(f"a key before byte {at} is neither text nor a number")
        values[key], at = _value(data, at, depth + 1)
    return values, at


def pack(value: Any) -> bytes:
    """The bytes of an object, as `unpack` reads them. TypeError for what metadata does not hold."""
    if value is None or isinstance(value, bool):
        return bytes([{None: 0xC0, False: 0xC2, True: 0xC3}[value]])
    if isinstance(value, int):
        if 0 <= value < 0x80:
            return bytes([value])
        return b"\xcf" + struct.pack(">Q", value) if value >= 0 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        text = value.encode()
        return b"\xdb" + struct.pack(">I", len(text)) + text
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(pack, value))
    if isinstance(value, dict):
        return b"\xdf" + struct.pack(">I", len(value)) + b"".join(pack(x) for pair in value.items() for x in pair)
    raise TypeError(f"{type(value).__name__} is no object of metadata")
