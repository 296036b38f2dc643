"""Python objects pass in and out of pipes between a process and the workers that it started."""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any, Final

_HEADER: Final = struct.Struct("<Q")
"""A message's length in bytes; its pickle follows."""


def send(pipe: IO[bytes], message: object) -> None:
    """Write a message whole."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    pipe.write(_HEADER.pack(len(data)) + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """The next message. EOFError where there is none, or only a part of one."""
    header = pipe.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise EOFError
    (size,) = _HEADER.unpack(header)
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)
